package fst_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
	"github.com/tropica-fst/tropica/semiring/semiringtest"
)

// constBytes is a const file of a random machine.
func constBytes[W semiring.Codec[W]](t testing.TB, rng *rand.Rand, states int, gen func(*rand.Rand) W, align bool) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := fst.Write(&file, fst.NewConst[W](fsttest.Random(rng, states, gen)), &fst.WriteOptions{Type: "const", Align: align}); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// readBoth reads data with and without copying, which must agree, and returns the machine.
func readBoth[W semiring.Codec[W]](t *testing.T, data []byte, opts *fst.ReadOptions) fst.Expanded[W] {
	t.Helper()
	a, errA := fst.Read[W](bytes.NewReader(data), opts)
	b, errB := fst.ReadBytes[W](data, opts)
	if (errA == nil) != (errB == nil) {
		t.Fatalf("copying: %v; in place: %v", errA, errB)
	}
	if errA != nil {
		return nil
	}
	if a.NumStates() != b.NumStates() || a.Start() != b.Start() {
		t.Fatalf("%d states from %d, in place %d from %d", a.NumStates(), a.Start(), b.NumStates(), b.Start())
	}
	for q := range fst.StateID(a.NumStates()) {
		x, y := a.Arcs(q), b.Arcs(q)
		if !a.Final(q).Equal(b.Final(q)) || len(x) != len(y) {
			t.Fatalf("state %d: final %v, in place %v; %d arcs, in place %d", q, a.Final(q), b.Final(q), len(x), len(y))
		}
		for i := range x {
			if x[i].ILabel != y[i].ILabel || x[i].OLabel != y[i].OLabel || !x[i].Weight.Equal(y[i].Weight) || x[i].NextState != y[i].NextState {
				t.Fatalf("state %d: arc %v, in place %v", q, x[i], y[i])
			}
		}
	}
	if p, q := a.(fst.Propertied).KnownProperties(), b.(fst.Propertied).KnownProperties(); p != q {
		t.Fatalf("properties %#x, in place %#x", uint64(p), uint64(q))
	}
	return b
}

func TestReadBytesAgreesWithRead(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for range 100 {
		for _, align := range []bool{false, true} {
			n := 1 + rng.IntN(40)
			for _, trust := range []bool{false, true} {
				o := &fst.ReadOptions{Trust: trust}
				readBoth[semiring.Tropical](t, constBytes(t, rng, n, semiringtest.Tropical, align), o)
				readBoth[semiring.Log](t, constBytes(t, rng, n, semiringtest.Log, align), o)
				readBoth[semiring.Log64](t, constBytes(t, rng, n, semiringtest.Log64, align), o)
			}
		}
	}
}

// More states than a block of checkStates, so that one behind the first is found, too.
func TestReadBytesOfManyStates(t *testing.T) {
	v := fst.NewVector[semiring.Tropical](0)
	v.AddStates(10_000)
	v.SetStart(0)
	for q := range fst.StateID(9_999) {
		v.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: q + 1})
	}
	var file bytes.Buffer
	if err := fst.Write(&file, fst.NewConst[semiring.Tropical](v), &fst.WriteOptions{Type: "const"}); err != nil {
		t.Fatal(err)
	}
	data := file.Bytes()
	o := &fst.ReadOptions{Trust: true}
	if f := readBoth[semiring.Tropical](t, data, o); f == nil {
		t.Fatal("a good file was refused")
	}
	states, arcs := len(data)-9_999*16-10_000*20, len(data)-9_999*16
	nan := math.Float32bits(float32(math.NaN()))
	for _, bad := range []struct {
		name  string
		at    int
		value uint32
	}{
		{"final weight", states + 9_000*20, nan},
		{"final weight, negative", states + 9_000*20, nan | 1<<31},
		{"place", states + 9_000*20 + 4, 1},
		{"number of arcs", states + 9_000*20 + 8, 2},
		{"number of arcs beyond all", states + 9_000*20 + 8, 1 << 31},
		{"arc's weight", arcs + 9_000*16 + 8, nan},
		{"arc's weight, negative", arcs + 9_000*16 + 8, 1<<32 - 1},
		{"next state", arcs + 9_000*16 + 12, 10_000},
		{"next state, negative", arcs + 9_000*16 + 12, 1<<32 - 1},
		{"next state, greatest", arcs + 9_000*16 + 12, 1<<31 - 1},
	} {
		spoilt := bytes.Clone(data)
		binary.LittleEndian.PutUint32(spoilt[bad.at:], bad.value)
		if f := readBoth[semiring.Tropical](t, spoilt, o); f != nil {
			t.Errorf("a wrong %s went unnoticed", bad.name)
		}
	}
	for _, fine := range []uint32{0, 1 << 31, 0x7f800000, 0xff800000, 0x7f7fffff} { // ±0, ±∞, the largest
		spoilt := bytes.Clone(data)
		binary.LittleEndian.PutUint32(spoilt[arcs+9_000*16+8:], fine)
		binary.LittleEndian.PutUint32(spoilt[arcs+9_000*16+12:], 9_999)
		if f := readBoth[semiring.Tropical](t, spoilt, o); f == nil {
			t.Errorf("weight %#x was refused", fine)
		}
	}
}

// Whatever a byte is changed to, and wherever the file ends, both ways of reading agree, and
// what they return is well formed.
func TestReadBytesOfSpoiltFiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	for _, align := range []bool{false, true} {
		data := constBytes(t, rng, 6, semiringtest.Tropical, align)
		for i := range data {
			readBoth[semiring.Tropical](t, data[:i], nil)
			for _, x := range []byte{1, 0x7f, 0x80, 0xff} {
				spoilt := bytes.Clone(data)
				spoilt[i] ^= x
				if f := readBoth[semiring.Tropical](t, spoilt, nil); f != nil {
					wellFormed[semiring.Tropical](t, f)
				}
			}
		}
	}
}

// A header may claim any number of states and arcs, also those that do not fit an int of 32 bits when they are
// multiplied by their size: the file is then too short, and never a machine of fewer arcs.
func TestReadClaimsBeyondInts(t *testing.T) {
	data := constBytes(t, rand.New(rand.NewPCG(5, 4)), 6, semiringtest.Tropical, false)
	fields := len("const") + len("standard") + 3*4 + 2*4 + 8 // the start state; the numbers of states and arcs follow
	states, arcs := fields+8, fields+16
	if n := binary.LittleEndian.Uint64(data[states:]); n != 6 {
		t.Fatalf("%d states where the header should have 6", n)
	}
	for _, at := range []int{states, arcs} {
		was := binary.LittleEndian.Uint64(data[at:])
		for _, more := range []uint64{1 << 28, 0x6666666, 0xccccccd, 1<<31 - 8, 1 << 31, 1 << 32, 1 << 33, 1 << 60} {
			spoilt := bytes.Clone(data)
			binary.LittleEndian.PutUint64(spoilt[at:], was+more)
			if readBoth[semiring.Tropical](t, spoilt, nil) != nil {
				t.Errorf("%d at byte %d, where %d is right, was taken", was+more, at, was)
			}
		}
	}

	// The arcs that a state claims, too: 2^32 more, of 8 bytes, are none when they are cut to 32 bits.
	var file bytes.Buffer
	v := fst.NewVector[semiring.Tropical](2)
	v.AddState()
	v.AddState()
	v.SetStart(0)
	v.SetFinal(1, 0)
	v.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: 1})
	if err := fst.Write[semiring.Tropical](&file, v, &fst.WriteOptions{Type: "const64"}); err != nil {
		t.Fatal(err)
	}
	data = file.Bytes()
	arcs += len("64")
	body := len(data) - 2*40 - 16
	counts := []int{arcs, body + 16, body + 40 + 8} // of the header, of state 0, and the place of those of state 1
	for _, at := range counts {
		if n := binary.LittleEndian.Uint64(data[at:]); n != 1 {
			t.Fatalf("%d at byte %d, where 1 should be", n, at)
		}
		binary.LittleEndian.PutUint64(data[at:], 1<<32+1)
	}
	if readBoth[semiring.Tropical](t, data, nil) != nil {
		t.Error("a machine of 2^32+1 arcs was read out of one")
	}
}

func TestReadBytesDoesNotCopy(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 3))
	data := constBytes(t, rng, 2000, semiringtest.Tropical, false)
	o := &fst.ReadOptions{Trust: true}
	r := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := fst.ReadBytes[semiring.Tropical](data, o); err != nil {
				b.Fatal(err)
			}
		}
	})
	if got := r.AllocedBytesPerOp(); got > 4096 {
		t.Errorf("%d bytes for a machine in %d bytes", got, len(data))
	}
}

func BenchmarkReadConst(b *testing.B) {
	v := fst.NewVector[semiring.Tropical](0)
	v.AddStates(200_000)
	v.SetStart(0)
	for q := range fst.StateID(199_999) {
		v.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: q + 1})
	}
	var file bytes.Buffer
	if err := fst.Write(&file, fst.NewConst[semiring.Tropical](v), &fst.WriteOptions{Type: "const"}); err != nil {
		b.Fatal(err)
	}
	data := file.Bytes()
	o := &fst.ReadOptions{Trust: true}
	b.Run("copy", func(b *testing.B) {
		for b.Loop() {
			if _, err := fst.Read[semiring.Tropical](bytes.NewReader(data), o); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/199_999, "ns/arc")
	})
	b.Run("inplace", func(b *testing.B) {
		for b.Loop() {
			if _, err := fst.ReadBytes[semiring.Tropical](data, o); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/199_999, "ns/arc")
	})
}

// Checked is told of states and arcs, each once, in order and with no gap, in parts; and an error behind the first of
// them is found where it is without.
func TestReadBytesChecked(t *testing.T) {
	const n = 120_000
	v := fst.NewVector[semiring.Tropical](n)
	v.AddStates(n)
	v.SetStart(0)
	for q := range fst.StateID(n - 1) {
		v.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: q + 1})
	}
	var file bytes.Buffer
	if err := fst.Write(&file, fst.NewConst[semiring.Tropical](v), &fst.WriteOptions{Type: "const"}); err != nil {
		t.Fatal(err)
	}
	data := file.Bytes()
	body := (n-1)*16 + n*20
	for _, trust := range []bool{false, true} {
		var told [][]byte
		o := &fst.ReadOptions{Trust: trust, Checked: func(part []byte) { told = append(told, part) }}
		if f := readBoth[semiring.Tropical](t, data, o); f == nil {
			t.Fatal("a good file was refused")
		}
		at := len(data) - body
		for i, part := range told {
			if len(part) == 0 || &part[0] != &data[at] {
				t.Fatalf("trust %v: part %d of %d is not what follows at byte %d", trust, i, len(told), at)
			}
			at += len(part)
		}
		if at != len(data) || trust && len(told) < 4 {
			t.Errorf("trust %v: %d bytes of %d in %d parts", trust, at, len(data), len(told))
		}
		spoilt := bytes.Clone(data)
		binary.LittleEndian.PutUint32(spoilt[len(spoilt)-4:], n)
		_, want := fst.ReadBytes[semiring.Tropical](spoilt, &fst.ReadOptions{Trust: trust})
		_, got := fst.ReadBytes[semiring.Tropical](spoilt, o)
		if want == nil || got == nil {
			t.Fatalf("trust %v: a wrong next state went unnoticed", trust)
		}
		if trust && got.(*fst.BinaryError).Offset != want.(*fst.BinaryError).Offset {
			t.Errorf("trust %v: %v, in parts %v", trust, want, got)
		}
	}
}
