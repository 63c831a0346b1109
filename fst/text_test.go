package fst_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

func readText[W semiring.Codec[W]](t testing.TB, s string, opts *fst.ReadTextOptions) *fst.Vector[W] {
	t.Helper()
	v, err := fst.ReadText[W](strings.NewReader(s), opts)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func textOf[W semiring.Codec[W]](t testing.TB, f fst.Fst[W], opts *fst.WriteTextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := fst.WriteText(&b, f, opts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Input, and what fstcompile and fstprint of OpenFst 1.7.9 make of it.
var textCases = []struct {
	name, in string
	acceptor bool
	keep     bool
	want     string
	props    fst.Properties
}{
	{"worked", "0 1 1 .5\n0 1 2 1.5\n1 2 3 2.5\n2 3.5\n", true, false, "0\t1\t1\t0.5\n0\t1\t2\t1.5\n1\t2\t3\t2.5\n2\t3.5\n", 0x695a810003},
	{"four states", "0 1 1 1 1\n0 2 1 1 2\n1 3 2 2 3\n2 3 2 2 1\n2 2 3 3 .5\n3 1\n", false, false,
		"0\t1\t1\t1\t1\n0\t2\t1\t1\t2\n1\t3\t2\t2\t3\n2\t3\t2\t2\t1\n2\t2\t3\t3\t0.5\n3\t1\n", 0x815a810003},
	{"empty", "", false, false, "", fst.NullProperties | 3},
	{"blank", "\n \n\t\n", false, false, "", fst.NullProperties | 3},
	{"one final", "7\n", false, false, "0\n", 0},
	{"state and weight", "0 1\n", false, false, "0\t1\n", 0},
	{"start is final first", "5\n3 5 1 1\n", false, false, "0\n1\t0\t1\t1\n", 0},
	{"renumbering", "5 7 1 1\n3 5 1 1\n7\n", false, false, "0\t1\t1\t1\n1\n2\t0\t1\t1\n", 0},
	{"kept numbers", "5 7 1 1\n3 5 1 1\n7\n", false, true,
		"5\t7\t1\t1\n0\tInfinity\n1\tInfinity\n2\tInfinity\n3\t5\t1\t1\n4\tInfinity\n6\tInfinity\n7\n", 0},
	{"dead end", "0 1 1 1\n", false, false, "0\t1\t1\t1\n1\tInfinity\n", 0},
	{"last final wins", "0 1 1 1\n1 2\n1 3\n1 0\n", false, false, "0\t1\t1\t1\n1\n", 0},
	{"weights", "0 1 1 1 Infinity\n0 1 1 1 -inf\n0 1 1 1 1e3\n0 1 1 1 .5\n0 1 1 1 5.\n0 1 1 1 +1\n0 1 1 1 1e50\n0 1 1 1 1e-50\n0 1 1 1 0x10\n0 1 1 1 -0\n1 3.14159265358979\n", false, false,
		"0\t1\t1\t1\tInfinity\n0\t1\t1\t1\t-Infinity\n0\t1\t1\t1\t1000\n0\t1\t1\t1\t0.5\n0\t1\t1\t1\t5\n0\t1\t1\t1\t1\n0\t1\t1\t1\tInfinity\n0\t1\t1\t1\n0\t1\t1\t1\t16\n0\t1\t1\t1\n1\t3.14159274\n", 0},
	{"long numbers", "0 1 1 1 0.10000000149011611938\n0 1 1 1 123456789.123456789\n0 1 1 1 1e-7\n1\n", false, false,
		"0\t1\t1\t1\t0.100000001\n0\t1\t1\t1\t123456792\n0\t1\t1\t1\t1.00000001e-07\n1\n", 0},
	{"leading zeros and spaces", "  00 \t 01  010  0010   \n1\n", false, false, "0\t1\t10\t10\n1\n", 0},
	{"no line end", "0 1 1 1\n1", false, false, "0\t1\t1\t1\n1\n", 0},
}

func TestTextCases(t *testing.T) {
	for _, c := range textCases {
		t.Run(c.name, func(t *testing.T) {
			v := readText[semiring.Tropical](t, c.in, &fst.ReadTextOptions{Acceptor: c.acceptor, KeepStateNumbering: c.keep})
			if got := textOf(t, v, &fst.WriteTextOptions{Acceptor: c.acceptor}); got != c.want {
				t.Errorf("printed %q, want %q", got, c.want)
			}
			p := v.KnownProperties()
			if c.props != 0 && p != c.props {
				t.Errorf("properties %x, want %x", p, c.props)
			}
			if truth, _ := fst.Compute(v, fst.AllProperties); p&^truth != 0 {
				t.Errorf("properties %x, of which %x is false", p, p&^truth)
			}
			crlf := readText[semiring.Tropical](t, strings.ReplaceAll(c.in, "\n", "\r\n"), &fst.ReadTextOptions{Acceptor: c.acceptor, KeepStateNumbering: c.keep})
			if got := textOf(t, crlf, &fst.WriteTextOptions{Acceptor: c.acceptor}); got != c.want {
				t.Errorf("with CRLF: printed %q, want %q", got, c.want)
			}
			marked := readText[semiring.Tropical](t, "\ufeff"+c.in, &fst.ReadTextOptions{Acceptor: c.acceptor, KeepStateNumbering: c.keep})
			if got := textOf(t, marked, &fst.WriteTextOptions{Acceptor: c.acceptor}); got != c.want {
				t.Errorf("with a byte-order mark: printed %q, want %q", got, c.want)
			}
			slow, err := fst.ReadText[semiring.Tropical](iotest.OneByteReader(strings.NewReader(c.in)), &fst.ReadTextOptions{Acceptor: c.acceptor, KeepStateNumbering: c.keep})
			if err != nil {
				t.Fatal(err)
			}
			same(t, slow, fst.Expanded[semiring.Tropical](v))
		})
	}
}

// The same cases through OpenFst's own tools: text, and the file byte by byte.
func TestTextCasesAgainstOpenFst(t *testing.T) {
	tools := fsttest.OpenFst(t)
	for _, c := range textCases {
		var flags, print []string
		if c.acceptor {
			flags, print = append(flags, "--acceptor"), append(print, "--acceptor")
		}
		if c.keep {
			flags = append(flags, "--keep_state_numbering")
		}
		out := tools.File()
		tools.Do("fstcompile", append(flags, tools.Text(c.in), out)...)
		if got := tools.Do("fstprint", append(print, out)...); got != c.want {
			t.Errorf("%s: OpenFst prints %q, want %q", c.name, got, c.want)
		}
		v := readText[semiring.Tropical](t, c.in, &fst.ReadTextOptions{Acceptor: c.acceptor, KeepStateNumbering: c.keep})
		if got, want := bytesOf[semiring.Tropical](t, v, nil), fsttest.Must(os.ReadFile(out)); !bytes.Equal(got, want) {
			t.Errorf("%s: compiled to\n%x, OpenFst to\n%x", c.name, got, want)
		}
	}
}

func TestTextAgainstOpenFst(t *testing.T) {
	t.Run("standard", func(t *testing.T) { textAgainstOpenFst(t, tropical) })
	t.Run("log64", func(t *testing.T) { textAgainstOpenFst(t, log64) })
}

func textAgainstOpenFst[W semiring.Codec[W]](t *testing.T, gen func(*rand.Rand) W) {
	tools := fsttest.OpenFst(t)
	arcType := "--arc_type=" + (*new(W)).ArcType()
	isyms, osyms, ssyms := fst.NewSymbolTable(""), fst.NewSymbolTable(""), fst.NewSymbolTable("")
	for l := range fst.Label(40) {
		isyms.AddLabel(fmt.Sprintf("in%d", l), l)
		osyms.AddLabel(fmt.Sprintf("out%d", l), l)
		ssyms.AddLabel(fmt.Sprintf("s%d", 2*l), l)
	}
	file := func(s *fst.SymbolTable) string {
		var b bytes.Buffer
		if err := s.WriteText(&b, nil); err != nil {
			t.Fatal(err)
		}
		return tools.Text(b.String())
	}
	ifile, ofile, sfile := file(isyms), file(osyms), file(ssyms)
	for seed := range uint64(15) {
		rng := rand.New(rand.NewPCG(seed, 21))
		v := fsttest.Random(rng, rng.IntN(12), gen, shapes[rng.IntN(len(shapes))])
		w := fst.WriteTextOptions{Acceptor: rng.IntN(2) == 0, ShowWeightOne: rng.IntN(2) == 0}
		flags := []string{fmt.Sprintf("--acceptor=%v", w.Acceptor), fmt.Sprintf("--show_weight_one=%v", w.ShowWeightOne)}
		r := fst.ReadTextOptions{KeepStateNumbering: rng.IntN(2) == 0}
		compile := []string{arcType, fmt.Sprintf("--keep_state_numbering=%v", r.KeepStateNumbering)}
		if rng.IntN(2) == 0 {
			w.InputSymbols, w.OutputSymbols, w.StateSymbols = isyms, osyms, ssyms
			r.InputSymbols, r.OutputSymbols, r.StateSymbols = isyms, osyms, ssyms
			names := []string{"--isymbols=" + ifile, "--osymbols=" + ofile, "--ssymbols=" + sfile}
			flags, compile = append(flags, names...), append(compile, names...)
		}
		text := textOf(t, v, &w)
		if theirs := tools.Do("fstprint", append(flags, fsttest.WriteFile[W](tools, v, nil))...); theirs != text {
			t.Fatalf("seed %d: fstprint\n%s, here\n%s", seed, theirs, text)
		}
		isAcceptor := fst.PropertiesOf(v, fst.Acceptor).Has(fst.Acceptor)
		r.Acceptor = w.Acceptor && isAcceptor
		compile = append(compile, fmt.Sprintf("--acceptor=%v", r.Acceptor))
		out := tools.File()
		tools.Do("fstcompile", append(compile, tools.Text(text), out)...)
		got := bytesOf[W](t, readText[W](t, text, &r), nil)
		if want := fsttest.Must(os.ReadFile(out)); !bytes.Equal(got, want) {
			t.Fatalf("seed %d: compiled to\n%x, OpenFst to\n%x", seed, got, want)
		}
	}
}

func TestTextRefuses(t *testing.T) {
	syms := fst.NewSymbolTable("isyms.txt")
	syms.Add("a")
	syms.AddLabel("neg", -7)
	for _, c := range []struct {
		name, in string
		opts     fst.ReadTextOptions
		want     string
	}{
		{"columns", "0 1 1 1\n0 1 1\n", fst.ReadTextOptions{}, "f.txt, line 2: 3 fields"},
		{"many columns", "0 1 1 1 1 1 1\n", fst.ReadTextOptions{}, "line 1: 7 fields"},
		{"acceptor columns", "0 1 1 1 1\n", fst.ReadTextOptions{Acceptor: true}, "line 1: 5 fields"},
		{"comment", "# a comment here now\n", fst.ReadTextOptions{}, `line 1, field 1: bad state "#": not an integer`},
		{"state", "0 s1 1 1\n", fst.ReadTextOptions{}, `line 1, field 2: bad state "s1"`},
		{"negative state", "0 -1 1 1\n", fst.ReadTextOptions{}, `field 2: bad state -1: states are numbered from 0`},
		{"label", "\n0 1 0x10 1\n", fst.ReadTextOptions{}, `line 2, field 3: bad input label "0x10": not an integer, and a symbol needs a table of input symbols`},
		{"overflow", "0 1 1 99999999999\n", fst.ReadTextOptions{}, "field 4: bad output label 99999999999: outside the range"},
		{"huge", "0 1 1 " + strings.Repeat("9", 100) + "\n", fst.ReadTextOptions{}, "field 4: bad output label"},
		{"int32 overflow", "0 1 2147483648 1\n", fst.ReadTextOptions{}, "outside the range"},
		{"negative", "0 1 -2 1\n", fst.ReadTextOptions{}, "field 3: bad input label -2: negative labels are not allowed"},
		{"negative overflow", "0 1 -2147483649 1\n", fst.ReadTextOptions{NegativeLabels: true}, "outside the range"},
		{"weight", "0 1 1 1 abc\n", fst.ReadTextOptions{}, `line 1, field 5: semiring: bad weight "abc"`},
		{"comma", "0 1,5\n", fst.ReadTextOptions{}, "line 1, field 2: "},
		{"suffix", "0 1 1 1 1.0f\n", fst.ReadTextOptions{}, "field 5"},
		{"nan", "0 1 1 1 nan\n", fst.ReadTextOptions{}, "field 5"},
		{"bad number", "0 BadNumber\n", fst.ReadTextOptions{}, "field 2"},
		{"symbol", "0 1 q 1\n", fst.ReadTextOptions{InputSymbols: syms}, `line 1, field 3: input label: the symbol "q" is not in the symbol table "isyms.txt"`},
		{"negative symbol", "0 1 1 neg\n", fst.ReadTextOptions{OutputSymbols: syms}, `field 4: output label: the symbol "neg" has the negative label -7`},
		{"state symbol", "b a 1 1\n", fst.ReadTextOptions{StateSymbols: syms}, `field 1: state "b" is not in the symbol table`},
		{"gap", "0 2000000000 1 1\n", fst.ReadTextOptions{KeepStateNumbering: true, MaxStates: 1000}, "2000000001 states would have to exist, of which the file has 2: the limit is 1000"},
		{"gap of bytes", "0 2000000000 1 1\n", fst.ReadTextOptions{KeepStateNumbering: true, MaxBytes: 1000}, "they take 40000000020 bytes, where the limit is 1000"},
		{"last state", "0 2147483647 1 1\n", fst.ReadTextOptions{KeepStateNumbering: true}, "a machine can have 2147483647"},
	} {
		c.opts.Name = "f.txt"
		_, err := fst.ReadText[semiring.Tropical](strings.NewReader(c.in), &c.opts)
		var e *fst.TextError
		if !errors.As(err, &e) || e.Source != "f.txt" || e.Line == 0 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := fst.ReadText[semiring.Tropical](iotest.ErrReader(os.ErrPermission), nil); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a reader's own error: %v", err)
	}
	if v := readText[semiring.Tropical](t, "0 1 -2147483648 2147483647\n", &fst.ReadTextOptions{NegativeLabels: true}); v.Arcs(0)[0].ILabel != -2147483648 || v.Arcs(0)[0].OLabel != 2147483647 {
		t.Errorf("labels at the limits: %v", v.Arcs(0))
	}
}

// OpenFst loses everything after a line of 8096 bytes.
func TestTextLongLines(t *testing.T) {
	pad := strings.Repeat(" ", 300_000)
	v := readText[semiring.Tropical](t, "0 1 1"+pad+"1\n1 2 2"+pad+"2 0.5"+pad+"\n2\n", nil)
	if got := textOf(t, v, nil); got != "0\t1\t1\t1\n1\t2\t2\t2\t0.5\n2\n" {
		t.Fatalf("%q", got)
	}
	name := strings.Repeat("x", 200_000)
	syms := fst.SymbolsOf("ε", name)
	v = readText[semiring.Tropical](t, "0 1 "+name+" "+name+"\n1\n", &fst.ReadTextOptions{InputSymbols: syms, OutputSymbols: syms})
	if e := v.Arcs(0)[0]; e.ILabel != 1 || e.OLabel != 1 {
		t.Fatalf("%v", e)
	}
}

func TestWriteTextOptions(t *testing.T) {
	v := readText[semiring.Log64](t, "0 1 1 2 0.1\n1 0.3333333333333333\n", nil)
	if got := textOf(t, v, &fst.WriteTextOptions{Format: semiring.TextFormat{Digits: 17}}); got != "0\t1\t1\t2\t0.10000000000000001\n1\t0.33333333333333331\n" {
		t.Errorf("17 digits: %q", got)
	}
	if got := textOf(t, v, &fst.WriteTextOptions{Separators: "|,"}); got != "0|1|1|2|0.1\n1|0.333333333\n" {
		t.Errorf("separator: %q", got)
	}
	if again := readText[semiring.Log64](t, "0|1,1|2|0.1\n1|,0.333333333\n", &fst.ReadTextOptions{Separators: "|,"}); textOf(t, again, nil) != textOf(t, v, nil) {
		t.Errorf("separators: %s", textOf(t, again, nil))
	}
	if spaced := readText[semiring.Log64](t, "0, 1, 1, 2, 0.1\n1, 0.333333333 \n", &fst.ReadTextOptions{Separators: ","}); textOf(t, spaced, nil) != textOf(t, v, nil) {
		t.Errorf("spaces beside separators: %s", textOf(t, spaced, nil))
	}
	syms := fst.SymbolsOf("ε", "a")
	var b bytes.Buffer
	err := fst.WriteText(&b, v, &fst.WriteTextOptions{InputSymbols: syms, OutputSymbols: syms})
	var missing *fst.MissingSymbolError
	if !errors.As(err, &missing) || missing.Label != 2 || missing.What != "output label" || missing.State != 0 {
		t.Errorf("missing symbol: %v", err)
	}
	if got := textOf(t, v, &fst.WriteTextOptions{InputSymbols: syms, OutputSymbols: syms, MissingSymbol: "??"}); got != "0\t1\ta\t??\t0.1\n1\t0.333333333\n" {
		t.Errorf("missing symbol: %q", got)
	}
	if err := fst.WriteText(failingWriter{}, v, nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("failing writer: %v", err)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func bigText() (string, int) {
	v := fsttest.Random(rand.New(rand.NewPCG(1, 1)), 300_000, func(rng *rand.Rand) semiring.Tropical {
		return semiring.Tropical(rng.ExpFloat64() * 3)
	}, fsttest.Options{Degree: 3, Labels: 1000, Cyclic: true})
	var b bytes.Buffer
	if err := fst.WriteText(&b, v, nil); err != nil {
		panic(err)
	}
	return b.String(), v.NumArcs()
}

func BenchmarkReadText(b *testing.B) {
	text, arcs := bigText()
	runtime.GC()
	b.ResetTimer()
	for b.Loop() {
		if _, err := fst.ReadText[semiring.Tropical](strings.NewReader(text), nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(arcs), "ns/arc")
}

func BenchmarkWriteText(b *testing.B) {
	text, arcs := bigText()
	v := fsttest.Must(fst.ReadText[semiring.Tropical](strings.NewReader(text), nil))
	for b.Loop() {
		if err := fst.WriteText(io.Discard, v, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(arcs), "ns/arc")
}

// What has no end of a line is given up, not held.
func TestReadTextOfEndlessLine(t *testing.T) {
	in := &endlessLine{}
	_, err := fst.ReadText[semiring.Tropical](in, &fst.ReadTextOptions{Name: "zero"})
	var at *fst.TextError
	if !errors.As(err, &at) || at.Line != 2 || !strings.Contains(err.Error(), "without the end of a line") {
		t.Error(err)
	}
	if in.read > 64<<20 {
		t.Errorf("%d bytes were read", in.read)
	}
}

// endlessLine is a line, and one that never ends.
type endlessLine struct{ read int }

func (r *endlessLine) Read(p []byte) (int, error) {
	clear(p)
	if r.read == 0 {
		copy(p, "0 1 1 1\n")
	}
	r.read += len(p)
	return len(p), nil
}
