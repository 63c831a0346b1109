package fst_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
	"github.com/tropica-fst/tropica/semiring/semiringtest"
)

// worked is the example of a vector file that OpenFst 1.7.9 wrote of
// "0 1 1 .5 / 0 1 2 1.5 / 1 2 3 2.5 / 2 3.5", an acceptor.
const worked = "d6fdb27e" + "06000000766563746f72" + "080000007374616e64617264" + "02000000" + "00000000" +
	"0300815a69000000" + "0000000000000000" + "0300000000000000" + "0000000000000000" +
	"0000807f0200000000000000" + "01000000010000000000003f01000000" + "02000000020000000000c03f01000000" +
	"0000807f0100000000000000" + "03000000030000000000204002000000" +
	"000060400000000000000000"

func workedMachine() *fst.Vector[semiring.Tropical] {
	v := &fst.Vector[semiring.Tropical]{}
	v.AddStates(2)
	v.SetStart(0)
	v.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, Weight: 0.5, NextState: 1})
	v.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 2, OLabel: 2, Weight: 1.5, NextState: 1})
	v.AddArc(1, fst.Arc[semiring.Tropical]{ILabel: 3, OLabel: 3, Weight: 2.5, NextState: 2})
	v.AddState()
	v.SetFinal(2, 3.5)
	return v
}

func bytesOf[W semiring.Codec[W]](t testing.TB, f fst.Expanded[W], opts *fst.WriteOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := fst.Write(&b, f, opts); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestBinaryGolden(t *testing.T) {
	want := fsttest.Must(hex.DecodeString(worked))
	if got := bytesOf[semiring.Tropical](t, workedMachine(), nil); !bytes.Equal(got, want) {
		t.Fatalf("wrote\n%x, want\n%x", got, want)
	}
	f, err := fst.Read[semiring.Tropical](bytes.NewReader(want), nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, f, workedMachine())
	if p := f.(*fst.Vector[semiring.Tropical]).KnownProperties(); p != 0x695a810003 {
		t.Fatalf("properties %x", p)
	}
}

// same fails unless two machines have the same states, arcs, weights (bit by
// bit but for -0 and +0) and symbols.
func same[W semiring.Codec[W]](t testing.TB, got, want fst.Expanded[W]) {
	t.Helper()
	if got.NumStates() != want.NumStates() || got.Start() != want.Start() {
		t.Fatalf("%d states, start %d; want %d, %d", got.NumStates(), got.Start(), want.NumStates(), want.Start())
	}
	for q := range fst.StateID(want.NumStates()) {
		if !got.Final(q).Equal(want.Final(q)) {
			t.Fatalf("state %d: final %v, want %v", q, got.Final(q), want.Final(q))
		}
		a, b := got.Arcs(q), want.Arcs(q)
		if len(a) != len(b) {
			t.Fatalf("state %d: %d arcs, want %d", q, len(a), len(b))
		}
		for i := range a {
			if a[i].ILabel != b[i].ILabel || a[i].OLabel != b[i].OLabel || a[i].NextState != b[i].NextState || !a[i].Weight.Equal(b[i].Weight) {
				t.Fatalf("state %d: arc %d is %v, want %v", q, i, a[i], b[i])
			}
		}
	}
	for _, s := range [][2]*fst.SymbolTable{{fst.InputSymbols(got), fst.InputSymbols(want)}, {fst.OutputSymbols(got), fst.OutputSymbols(want)}} {
		if (s[0] == nil) != (s[1] == nil) || s[0] != nil && !bytes.Equal(s[0].AppendBinary(nil), s[1].AppendBinary(nil)) {
			t.Fatalf("symbol tables differ: %v, %v", s[0], s[1])
		}
	}
}

func tropical(rng *rand.Rand) semiring.Tropical {
	return []semiring.Tropical{0, 1, 2.5, 0.1, -3, semiring.Tropical(math.Inf(1)), 123456.789, 1e-7}[rng.IntN(8)]
}
func log64(rng *rand.Rand) semiring.Log64 {
	return []semiring.Log64{0, 1, 2.5, 0.1, -3, semiring.Log64(math.Inf(1)), 1.0 / 3}[rng.IntN(7)]
}
func boolean(rng *rand.Rand) semiring.Boolean { return rng.IntN(4) != 0 }
func log32(rng *rand.Rand) semiring.Log       { return semiring.Log(tropical(rng)) }

var shapes = []fsttest.Options{
	{Epsilon: 0.2}, {Cyclic: true, Start: true}, {Acceptor: true}, {Acceptor: true, Sorted: true, Deterministic: true},
	{Degree: 12, Labels: 30, Cyclic: true}, {Cyclic: true, Epsilon: 0.6, EpsilonCycles: true},
}

var fileTypes = []fst.WriteOptions{{}, {Type: "const"}, {Type: "const", Align: true}, {Type: "const8"}, {Type: "const16"}, {Type: "const64"}, {Type: "vector", NoSymbols: true}}

func randomMachine[W semiring.Codec[W]](rng *rand.Rand, gen func(*rand.Rand) W) *fst.Vector[W] {
	v := fsttest.Random(rng, rng.IntN(9), gen, shapes[rng.IntN(len(shapes))])
	if rng.IntN(3) == 0 {
		t := fst.NewSymbolTable("in")
		for i, s := range []string{"ε", "a", "b", "c c", ""} {
			t.AddLabel(s, fst.Label(i*rng.IntN(3)))
		}
		v.SetInputSymbols(t)
	}
	if rng.IntN(3) == 0 {
		v.SetOutputSymbols(fst.SymbolsOf("-", "x", "y"))
	}
	return v
}

func TestBinaryRoundTrip(t *testing.T) {
	t.Run("standard", func(t *testing.T) { roundTrip(t, tropical, true) })
	t.Run("log", func(t *testing.T) { roundTrip(t, log32, true) })
	t.Run("log64", func(t *testing.T) { roundTrip(t, log64, true) })
}

func roundTrip[W semiring.Codec[W]](t *testing.T, gen func(*rand.Rand) W, fixed bool) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 11))
		v := randomMachine(rng, gen)
		for _, o := range fileTypes {
			if !fixed && strings.HasPrefix(o.Type, "const") {
				if err := fst.Write[W](io.Discard, v, &o); err == nil {
					t.Fatal("const file of weights without a fixed size")
				}
				continue
			}
			b := bytesOf[W](t, v, &o)
			want := v
			if o.NoSymbols {
				want = v.Clone()
				want.SetInputSymbols(nil)
				want.SetOutputSymbols(nil)
			}
			for i, r := range []io.Reader{bytes.NewReader(b), iotest.OneByteReader(bytes.NewReader(b)), iotest.DataErrReader(bytes.NewReader(b))} {
				f, err := fst.Read[W](r, nil)
				if err != nil {
					t.Fatalf("seed %d, %+v, reader %d: %v", seed, o, i, err)
				}
				same(t, f, fst.Expanded[W](want))
				truth, _ := fst.Compute[W](f, fst.AllProperties)
				if p := f.(fst.Propertied).KnownProperties(); p&^truth&^3 != 0 {
					t.Fatalf("seed %d, %+v: claims %x, true %x", seed, o, p, truth)
				}
				if again := bytesOf(t, f, &o); !bytes.Equal(again, b) {
					t.Fatalf("seed %d, %+v: written again it differs", seed, o)
				}
			}
			for cut := range b { // every cut is an error with its offset
				_, err := fst.Read[W](bytes.NewReader(b[:cut]), &fst.ReadOptions{Name: "f.fst"})
				var e *fst.BinaryError
				if !errors.As(err, &e) || e.Source != "f.fst" || e.Offset < 0 || e.Offset > int64(cut) {
					t.Fatalf("seed %d, %+v: cut at %d: %v", seed, o, cut, err)
				}
				if seed > 5 && cut > 80 {
					break
				}
			}
		}
	}
}

// A writer that could not seek leaves -1 where the number of states belongs.
func TestBinaryUnknownNumberOfStates(t *testing.T) {
	b := fsttest.Must(hex.DecodeString(worked))
	copy(b[0x32:], bytes.Repeat([]byte{0xff}, 8))
	f, err := fst.Read[semiring.Tropical](bytes.NewReader(b), nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, f, workedMachine())
	b[0x5a] = 3 // the first arc's next state
	if _, err := fst.Read[semiring.Tropical](bytes.NewReader(b), nil); err == nil {
		t.Fatal("an arc to nowhere was accepted")
	}
}

func TestBinaryRefuses(t *testing.T) {
	good := fsttest.Must(hex.DecodeString(worked))
	for _, c := range []struct {
		name string
		at   int
		put  string // hex
		want string
	}{
		{"magic", 0, "d6fdb27f", "byte 0: not a binary machine"},
		{"type", 8, "78", "cannot be read"},
		{"long type", 4, "ffffff7f", "byte 4: a string of 2147483647 bytes"},
		{"arc type", 0x12, "78", `type "xtandard", not "standard"`},
		{"version", 0x1a, "03", "version 3"},
		{"start", 0x2a, "03", "byte 42: start state 3 of 3"},
		{"start far", 0x2a, "ffffffffffffff7f", "start state"},
		{"states", 0x32, "ffffffffffffff7f", "byte 50: 9223372036854775807 states"},
		{"many states", 0x32, "ffffff7f00000000", "byte 150: state 3: the file ends"},
		{"negative states", 0x32, "feffffffffffffff", "-2 states"},
		{"arcs", 0x3a, "ffffffffffffffff", "byte 58: -1 arcs"},
		{"NaN final", 0x42, "0000c07f", "byte 66: state 0: a weight that is BadNumber"},
		{"NaN arc", 0x56, "0000c07f", "byte 78: state 0: arc 0 has a weight that is BadNumber"},
		{"next state", 0x5a, "03", "byte 78: state 0: arc 0 goes to state 3 of 3"},
		{"negative next state", 0x5a, "ffffffff", "arc 0 goes to state -1"},
		{"arcs of a state", 0x46, "ffffff7f00000000", "state 0 has 2147483647 arcs"},
		{"many arcs of a state", 0x46, "feffff7f00000000", "byte 150: state 0: the file ends"},
		{"negative arcs of a state", 0x46, "ffffffffffffffff", "state 0 has -1 arcs"},
	} {
		b := bytes.Clone(good)
		copy(b[c.at:], fsttest.Must(hex.DecodeString(c.put)))
		_, err := fst.Read[semiring.Tropical](bytes.NewReader(b), &fst.ReadOptions{Name: "f.fst"})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "f.fst, byte ") {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := fst.Read[semiring.Tropical](strings.NewReader(""), nil); err == nil || !strings.Contains(err.Error(), "empty input") {
		t.Errorf("empty input: %v", err)
	}
	if _, err := fst.Read[semiring.Tropical](io.MultiReader(bytes.NewReader(good[:100]), iotest.ErrReader(os.ErrPermission)), nil); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a reader's own error: %v", err)
	}
	b := bytesOf[semiring.Tropical](t, workedMachine(), &fst.WriteOptions{Type: "const"})
	b[len(b)-4] = 3 // the last arc's next state
	if _, err := fst.Read[semiring.Tropical](bytes.NewReader(b), nil); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("byte %d: state 1: arc 0 goes to state 3 of 3", len(b)-16)) {
		t.Errorf("const next state: %v", err)
	}
	// Overlapping arcs would make a large machine of a small file.
	b = bytesOf[semiring.Tropical](t, workedMachine(), &fst.WriteOptions{Type: "const"})
	at := len(b) - 3*16 - 2*20 + 4 // position of state 1's arcs
	b[at]--
	if _, err := fst.Read[semiring.Tropical](bytes.NewReader(b), nil); err == nil || !strings.Contains(err.Error(), "state 1 has 1 arcs from 1 on") {
		t.Errorf("overlapping arcs: %v", err)
	}
}

// A header that lies is not believed, unless that is asked for.
func TestBinaryLyingHeader(t *testing.T) {
	b := fsttest.Must(hex.DecodeString(worked))
	copy(b[0x22:], []byte{0x03, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f := fsttest.Must(fst.Read[semiring.Tropical](bytes.NewReader(b), nil)).(*fst.Vector[semiring.Tropical])
	truth, _ := fst.Compute(f, fst.AllProperties)
	if p := f.KnownProperties(); p != truth {
		t.Errorf("claims %x, true %x", p, truth)
	}
	copy(b[0x22:], []byte{0x03, 0, 2, 0, 0, 0, 0, 0})
	f = fsttest.Must(fst.Read[semiring.Tropical](bytes.NewReader(b), &fst.ReadOptions{Trust: true})).(*fst.Vector[semiring.Tropical])
	if p := f.KnownProperties(); p != 0x20003 {
		t.Errorf("trusted: %x", p)
	}
}

// What OpenFst writes is read here, what is written here OpenFst reads, and
// checks the properties in the header.
func TestBinaryAgainstOpenFst(t *testing.T) {
	t.Run("standard", func(t *testing.T) { againstOpenFst(t, tropical) })
	t.Run("log", func(t *testing.T) { againstOpenFst(t, log32) })
	t.Run("log64", func(t *testing.T) { againstOpenFst(t, log64) })
}

func againstOpenFst[W semiring.Codec[W]](t *testing.T, gen func(*rand.Rand) W) {
	tools := fsttest.OpenFst(t)
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 12))
		v := randomMachine(rng, gen)
		if v.InputSymbols() != nil { // two symbols of one label make OpenFst write a file that it cannot read
			v.SetInputSymbols(fst.SymbolsOf("ε", "a", "b", "c c", ""))
		}
		if seed%2 == 0 {
			fst.PropertiesOf[W](v, fst.AllProperties)
		}
		for _, o := range []fst.WriteOptions{{}, {Type: "const"}, {Type: "const", Align: true}} {
			ours := fsttest.WriteFile[W](tools, v, &o)
			tools.Do("fstinfo", "--fst_verify=false", "--fst_verify_properties", ours) // the tables lack labels
			for _, back := range [][]string{{"--fst_type=vector"}, {"--fst_type=const"}, {"--fst_type=const", "--fst_align"}} {
				theirs := tools.File()
				tools.Do("fstconvert", append(back, ours, theirs)...)
				f := fsttest.ReadFile[W](tools, theirs)
				same(t, f, fst.Expanded[W](v))
				if r := tools.Run("fstequal", "--v=1", ours, theirs); r.Exit != 0 {
					t.Fatalf("seed %d: fstequal: %d %s", seed, r.Exit, r.Stderr)
				}
				// Written again, the file is theirs byte for byte, but for
				// padding, which OpenFst leaves as it happens to be.
				write := fst.WriteOptions{Type: strings.TrimPrefix(back[0], "--fst_type="), Align: len(back) > 1}
				got, want := bytesOf(t, f, &write), fsttest.Must(os.ReadFile(theirs))
				if write.Type == "const" && (*new(W)).ArcType() == "log64" {
					continue
				}
				if f.Start() == fst.NoState && f.NumStates() > 0 {
					continue // OpenFst claims more there than is true
				}
				if !bytes.Equal(got, want) {
					t.Fatalf("seed %d, %v:\ngot  %x\nwant %x", seed, back, got, want)
				}
			}
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for _, kind := range []string{"vector", "const"} {
		b.Run(fmt.Sprintf("type=%s/arcs=900k/weight=tropical", kind), func(b *testing.B) { benchmarkRead(b, kind, tropical) })
		b.Run(fmt.Sprintf("type=%s/arcs=900k/weight=log64", kind), func(b *testing.B) { benchmarkRead(b, kind, log64) })
	}
}

func benchmarkRead[W semiring.Codec[W]](b *testing.B, kind string, gen func(*rand.Rand) W) {
	v := fsttest.Random(rand.New(rand.NewPCG(1, 1)), 300_000, gen, fsttest.Options{Degree: 3, Labels: 1000, Cyclic: true})
	data := bytesOf[W](b, v, &fst.WriteOptions{Type: kind})
	b.ResetTimer()
	for b.Loop() {
		if _, err := fst.Read[W](bytes.NewReader(data), nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(v.NumArcs()), "ns/arc")
}

func BenchmarkWrite(b *testing.B) {
	v := fsttest.Random(rand.New(rand.NewPCG(1, 1)), 300_000, tropical, fsttest.Options{Degree: 3, Labels: 1000, Cyclic: true})
	for b.Loop() {
		if err := fst.Write[semiring.Tropical](io.Discard, v, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(v.NumArcs()), "ns/arc")
}

// Weights of every kind pass through files: those that are tuples of numbers
// through the fast way too, those of no fixed size by the weight's own codec.
func TestBinaryOtherWeights(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	t.Run("tropical64", func(t *testing.T) { roundTrip(t, semiringtest.Tropical64, true) })
	t.Run("real64", func(t *testing.T) { roundTrip(t, semiringtest.Probability, true) })
	t.Run("minmax", func(t *testing.T) { roundTrip(t, semiringtest.MinMax, true) })
	t.Run("boolean", func(t *testing.T) { roundTrip(t, semiringtest.Boolean, true) })
	t.Run("expectation", func(t *testing.T) { roundTrip(t, semiringtest.Expectation, true) })
	t.Run("product", func(t *testing.T) {
		roundTrip(t, semiringtest.Product(semiringtest.Tropical, semiringtest.Log), true)
	})
	t.Run("product of two sizes", func(t *testing.T) {
		roundTrip(t, semiringtest.Product(semiringtest.Tropical, semiringtest.Log64), false)
	})
	t.Run("power", func(t *testing.T) {
		roundTrip(t, semiringtest.Power[semiring.Tropical, [3]semiring.Tropical](semiringtest.Tropical), true)
	})
	t.Run("string", func(t *testing.T) { roundTrip(t, semiringtest.StringLeft, false) })
	t.Run("gallic", func(t *testing.T) { roundTrip(t, semiringtest.GallicUnion(semiringtest.Tropical), false) })
}

// States of any number of arcs, in any order of sizes, cross the buffers of the
// reader; a header that calls them sorted is found out wherever they are not.
func TestBinaryLargeStates(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	for _, size := range []int{4095, 4096, 65_536, 65_537, 200_000} {
		for _, at := range []int{1, size / 2, size - 1, 65_535, 65_536, 131_072} {
			if at >= size {
				continue
			}
			v := fst.NewVector[semiring.Log64](2)
			v.AddStates(3)
			v.SetStart(0)
			v.SetFinal(2, 1)
			for i := range size {
				l := fst.Label(i + 10)
				if i == at {
					l -= 5
				}
				v.AddArc(1, fst.Arc[semiring.Log64]{ILabel: l, OLabel: l, Weight: 0.5, NextState: 2})
			}
			v.AddArc(0, fst.Arc[semiring.Log64]{ILabel: 1, OLabel: 1, NextState: 1})
			v.SetProperties(fst.ILabelSorted|fst.OLabelSorted|fst.Acceptor|fst.Weighted, fst.AllProperties)
			for _, o := range []fst.WriteOptions{{Type: "vector"}, {Type: "const"}} {
				if o.Type == "const" {
					fst.PropertiesOf(v, fst.AllProperties)
				}
				b := bytesOf[semiring.Log64](t, v, &o)
				for _, r := range []io.Reader{bytes.NewReader(b), iotest.HalfReader(bytes.NewReader(b))} {
					f, err := fst.Read[semiring.Log64](r, nil)
					if err != nil {
						t.Fatal(err)
					}
					same(t, f, fst.Expanded[semiring.Log64](v))
					if p := f.(fst.Propertied).KnownProperties(); p&(fst.ILabelSorted|fst.OLabelSorted) != 0 || !p.Has(fst.Acceptor|fst.Weighted) {
						t.Fatalf("%d arcs, unsorted at %d: %x", size, at, p)
					}
				}
			}
		}
	}
}

// general hides that a machine is a Vector from what is quicker with one.
type general[W semiring.Weight[W]] struct{ fst.Expanded[W] }

// Vectors whose arcs lie as in the file are written as others are, whatever the number of
// arcs of a state and the order in which states got them.
func TestWriteVectorAsOthers(t *testing.T) {
	v := fst.NewVector[semiring.Tropical](0)
	v.AddStates(400)
	v.SetStart(3)
	for _, n := range []int{5, 0, 1, 8190, 8191, 8192, 30000, 2, 500} {
		for q := range fst.StateID(20) {
			at := (q*37 + fst.StateID(n)) % 400
			for i := range min(n, 9000*(int(q)+1)) / (int(q) + 1) {
				v.AddArc(at, fst.Arc[semiring.Tropical]{ILabel: fst.Label(i), OLabel: fst.Label(at), Weight: semiring.Tropical(i) / 8, NextState: fst.StateID(i % 400)})
			}
			v.SetFinal(at, semiring.Tropical(n))
		}
	}
	var direct, through bytes.Buffer
	if err := fst.Write(&direct, v, nil); err != nil {
		t.Fatal(err)
	}
	g := general[semiring.Tropical]{v}
	if err := fst.Write(&through, g, nil); err != nil {
		t.Fatal(err)
	}
	a, err := fst.Read[semiring.Tropical](bytes.NewReader(direct.Bytes()), nil)
	if err != nil {
		t.Fatal(err)
	}
	// The headers differ in the properties that are known; nothing else may.
	const header = 4 + 4 + len("vector") + 4 + len("standard") + 4 + 4
	d, th := direct.Bytes(), through.Bytes()
	if !bytes.Equal(d[:header], th[:header]) || !bytes.Equal(d[header+8:], th[header+8:]) {
		t.Errorf("%d bytes written directly differ from %d written state by state", len(d), len(th))
	}
	if fst.NumArcs(a) != v.NumArcs() || a.NumStates() != v.NumStates() {
		t.Errorf("%d states and %d arcs come back of %d and %d", a.NumStates(), fst.NumArcs(a), v.NumStates(), v.NumArcs())
	}
}

// Text and compressed files that are taken for machines are said to be what they are.
func TestReadOtherFormats(t *testing.T) {
	for data, want := range map[string]string{
		"0 1 1 1\n":            "; it looks like text, of which fstcompile makes a machine",
		"0\t1\ta\tb\r\n":       "; it looks like text, of which fstcompile makes a machine",
		"\x1f\x8b\x08\x00rest": "; it is compressed (gzip -d)",
		"\x00\x01\x02\x03\x04": "not with 0x7eb2fdd6",
		"\x00\x00\x00\x00rest": "not with 0x7eb2fdd6",
		"a\xffbc and so on":    "not with 0x7eb2fdd6",
		// An archive of Kaldi's: a key, a blank, a machine. The rest would be text, or nothing that is known.
		"utt-ü1 \xd6\xfd\xb2\x7e and so on":                  `; it is an archive of Kaldi's, with a binary machine behind the key "utt-ü1": tail -c +9 gives the first machine, and Kaldi's fstcopy ark:FILE ark,t:- all of them as text`,
		"k \xd6\xfd\xb2\x7e":                                 `behind the key "k": tail -c +3 gives the first machine, and Kaldi's fstcopy ark:FILE ark,t:- all of them as text`,
		"utt1 \xd6\xfd\xb2":                                  "; it looks like text, of which fstcompile makes a machine",
		"utt1 \xd6\xfd\xb2\x7f":                              "; it looks like text, of which fstcompile makes a machine",
		"utt1\n \xd6\xfd\xb2\x7e":                            "; it looks like text, of which fstcompile makes a machine",
		strings.Repeat("k", 1<<10) + " \xd6\xfd\xb2\x7e and": "; it looks like text, of which fstcompile makes a machine",
	} {
		_, err := fst.Read[semiring.Tropical](strings.NewReader(data), nil)
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: %v, want %q at the end", data, err, want)
		}
		want = strings.Replace(want, "of which fstcompile makes a machine", "of which farcompilestrings makes an archive of strings, and fstcompile a machine", 1)
		want = strings.Replace(want, "not with 0x7eb2fdd6", "not an archive: it starts with 0x", 1)
		if _, err := fst.NewArchiveReader(strings.NewReader(data), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q as an archive: %v, want %q", data, err, want)
		}
	}
	// What is advised gives the machine.
	var b bytes.Buffer
	b.WriteString("key ")
	if err := fst.Write(&b, fst.FromLabels[semiring.Tropical]([]fst.Label{1, 2}), nil); err != nil {
		t.Fatal(err)
	}
	b.WriteString("next ")
	if _, err := fst.Read[semiring.Tropical](bytes.NewReader(b.Bytes()), nil); err == nil || !strings.Contains(err.Error(), "tail -c +5 gives") {
		t.Error(err)
	}
	if f, err := fst.Read[semiring.Tropical](bytes.NewReader(b.Bytes()[5-1:]), nil); err != nil || f.NumStates() != 3 {
		t.Error(f, err)
	}
}
