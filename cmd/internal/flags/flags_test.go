package flags

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type values struct {
	Connect bool
	N       int64
	Delta   float64
	Filter  string
	Out     string
	Bytes   int64
	Limit   time.Duration
	Args    []string
}

func parse(words ...string) (values, error) {
	s := New()
	connect := s.Bool("connect", true, "")
	n := s.Int("nstate", 32, -1, "")
	delta := s.Float("delta", 0.5, "")
	filter := s.Enum("compose_filter", "auto", []string{"auto", "null"}, "")
	out := s.String("out", "", "")
	bytes := s.Bytes("limit_bytes", 0, "")
	limit := s.Duration("timeout", 0, "")
	s.Synonyms(Synonyms{"max_memory": {"memory", "limit_bytes"}, "threads": {"workers"}})
	args, err := s.Parse(words)
	return values{*connect, *n, *delta, *filter, *out, *bytes, *limit, args}, err
}

func TestParse(t *testing.T) {
	def := values{Connect: true, N: -1, Delta: 0.5, Filter: "auto"}
	tests := []struct {
		line string
		want func(*values)
		err  string
	}{
		{"", func(*values) {}, ""},
		{"--connect=false a b", func(v *values) { v.Connect = false; v.Args = []string{"a", "b"} }, ""},
		{"a --noconnect b", func(v *values) { v.Connect = false; v.Args = []string{"a", "b"} }, ""},
		{"-connect false", func(v *values) { v.Connect = false }, ""},
		{"a --connect true b", func(v *values) { v.Args = []string{"a", "b"} }, ""},
		{"--connect ./false", func(v *values) { v.Args = []string{"./false"} }, ""},
		{"--noconnect true", func(v *values) { v.Connect = false; v.Args = []string{"true"} }, ""},
		{"--connect=false true", func(v *values) { v.Connect = false; v.Args = []string{"true"} }, ""},
		{"-nstate 2 x", func(v *values) { v.N = 2; v.Args = []string{"x"} }, ""},
		{"--nstate -1", func(*values) {}, ""},
		{"- -3 -.5e2", func(v *values) { v.Args = []string{"-", "-3", "-.5e2"} }, ""},
		{"x -- --delta", func(v *values) { v.Args = []string{"x", "--delta"} }, ""},
		{"--delta=1e-3 --compose_filter null", func(v *values) { v.Delta = 1e-3; v.Filter = "null" }, ""},
		{"--out= a", func(v *values) { v.Args = []string{"a"} }, ""},
		{"--out a=b", func(v *values) { v.Out = "a=b" }, ""},
		{"--timeout 1.5", func(v *values) { v.Limit = 1500 * time.Millisecond }, ""},
		{"--timeout=2m", func(v *values) { v.Limit = 2 * time.Minute }, ""},
		{"--limit_bytes=12", func(v *values) { v.Bytes = 12 }, ""},
		{"--limit_bytes 3k", func(v *values) { v.Bytes = 3 << 10 }, ""},
		{"--limit_bytes=500M", func(v *values) { v.Bytes = 500 << 20 }, ""},
		{"--limit_bytes=2G", func(v *values) { v.Bytes = 2 << 30 }, ""},
		{"--limit_bytes=-1T", func(v *values) { v.Bytes = -1 << 40 }, ""},
		{"--limit_bytes=8388608T", nil, "bytes such as"},
		{"--limit_bytes=G", nil, "bytes such as"},
		{"--limit_bytes=1.5G", nil, "bytes such as"},
		{"--limit_bytes=1GB", nil, "bytes such as"},
		{"--nstate=0x10", func(v *values) { v.N = 16 }, ""},
		{"--nstate=-010", func(v *values) { v.N = -8 }, ""},
		{"--delta=1e400", func(v *values) { v.Delta = math.Inf(1) }, ""},
		{"--nstate=1_0", nil, "not an integer"},
		{"--nstate=09", nil, "not an integer"},
		{"--compose-filter=null --limit-bytes 3k", func(v *values) { v.Filter = "null"; v.Bytes = 3 << 10 }, ""},
		{"--no-connect -compose-filter null", func(v *values) { v.Connect = false; v.Filter = "null" }, ""},
		{"--limit-byte=3", nil, "unknown flag --limit-byte (did you mean --limit_bytes?)"},
		{"--max-memory=3", nil, "unknown flag --max-memory (did you mean --limit_bytes?)"},
		{"--threads=3", nil, "unknown flag --threads (--help lists them)"},
		{"--conect", nil, "did you mean --connect?"},
		{"--nodelta", nil, "did you mean --delta?"},
		{"--cnonect", nil, "did you mean --connect?"},
		{"--otu", nil, "did you mean --out?"},
		{"--plot", nil, "unknown flag --plot (--help lists them)"},
		{"--dalai", nil, "unknown flag --dalai (--help lists them)"},
		{"--x", nil, "unknown flag --x (--help lists them)"},
		{"--comp", nil, "did you mean --compose_filter?"},
		{"--zzzzzzz", nil, "--help lists them"},
		{"--nstate=x", nil, `"x" is not an integer`},
		{"--nstate=3000000000", nil, "32 bits"},
		{"--delta nan", nil, "not a number"},
		{"--connect=maybe", nil, "true or false"},
		{"--compose_filter=bogus", nil, "none of auto, null"},
		{"--timeout=-1s", nil, "duration"},
		{"--delta", nil, "needs a value"},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			got, err := parse(strings.Fields(tt.line)...)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want one with %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := def
			tt.want(&want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("--connect=false\n-nstate\n2\n-")
	f.Fuzz(func(t *testing.T, line string) {
		got, err := parse(strings.Split(line, "\n")...)
		if err == nil && got.N != int64(int32(got.N)) {
			t.Errorf("nstate %d is not within 32 bits", got.N)
		}
	})
}

func TestIntegerBeyond64Bits(t *testing.T) {
	s := New()
	n := s.Int("n", 64, 0, "")
	for word, want := range map[string]int64{"--n=99999999999999999999": math.MaxInt64,
		"--n=-0x10000000000000000": math.MinInt64} {
		if _, err := s.Parse([]string{word}); err != nil || *n != want {
			t.Errorf("%s: %d, %v, want %d", word, *n, err, want)
		}
	}
}

// A command without flags of its own has no section for them.
func TestPrintHelpWithoutFlags(t *testing.T) {
	s := New()
	s.Bool("v", false, "")
	s.Library("v")
	var b strings.Builder
	if s.PrintHelp(&b, false); b.Len() != 0 {
		t.Errorf("help: %q", b.String())
	}
}

// Numbers and truth values are read as by C's functions, with which OpenFst 1.7.9 reads them.
func TestValuesAsInC(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		v string
		n any // int64, or nil where it is none
		u any // uint64
		x any // float64
		b any // bool
	}{
		{"0x10", int64(16), uint64(16), 16.0, nil},
		{"0X1f", int64(31), uint64(31), 31.0, nil},
		{"-0x10", int64(-16), ^uint64(15), -16.0, nil},
		{"010", int64(8), uint64(8), 10.0, nil},
		{"08", nil, nil, 8.0, nil},
		{"0", int64(0), uint64(0), 0.0, false},
		{"1", int64(1), uint64(1), 1.0, true},
		{" 5", int64(5), uint64(5), 5.0, nil},
		{"5 ", nil, nil, nil, nil},
		{"+5", int64(5), uint64(5), 5.0, nil},
		{"-5", int64(-5), ^uint64(4), -5.0, nil},
		{"--5", nil, nil, nil, nil},
		{"+-5", nil, nil, nil, nil},
		{"1e3", nil, nil, 1000.0, nil},
		{"", nil, nil, nil, true},
		{"0x", nil, nil, nil, nil},
		{"0x1g", nil, nil, nil, nil},
		{"0x1p3", nil, nil, 8.0, nil},
		{"1_0", nil, nil, nil, nil},
		{"0x_1p3", nil, nil, nil, nil},
		{"99999999999999999999", int64(math.MaxInt64), uint64(math.MaxUint64), 1e20, nil},
		{"-99999999999999999999", int64(math.MinInt64), uint64(math.MaxUint64), -1e20, nil},
		{"1e999", nil, nil, inf, nil},
		{"-infinity", nil, nil, -inf, nil},
		{"nan", nil, nil, nil, nil}, // which is refused on purpose
		{"True", nil, nil, nil, true},
		{"no", nil, nil, nil, false},
		{"on", nil, nil, nil, nil},
	} {
		s := New()
		n, u, x, b := s.Int("n", 64, 0, ""), s.Uint("u", 0, ""), s.Float("x", 0, ""), s.Bool("b", false, "")
		for name, want := range map[string]any{"n": c.n, "u": c.u, "x": c.x, "b": c.b} {
			_, err := s.Parse([]string{"--" + name + "=" + c.v})
			got := map[string]any{"n": *n, "u": *u, "x": *x, "b": *b}[name]
			if (err == nil) != (want != nil) || err == nil && got != want {
				t.Errorf("--%s=%q: %v, %v, want %v", name, c.v, got, err, want)
			}
		}
	}
}

// Hyphens may be left out of a value, not brought in.
func TestEnumHyphens(t *testing.T) {
	s := New()
	kind := s.Enum("kind", "viterbi", []string{"viterbi", "min-risk"}, "")
	for _, given := range []string{"min-risk", "minrisk"} {
		*kind = ""
		if _, err := s.Parse([]string{"--kind=" + given}); err != nil || *kind != "min-risk" {
			t.Errorf("%s: %q, %v", given, *kind, err)
		}
	}
	for _, given := range []string{"vit-erbi", "min_risk", "minrisk-", ""} {
		if _, err := s.Parse([]string{"--kind=" + given}); err == nil {
			t.Errorf("%q is accepted", given)
		}
	}
}

// The empty value of an enumeration is its default's to say, not that of the message.
func TestEnumMessage(t *testing.T) {
	s := New()
	s.Enum("type", "", []string{"", "a", "b"}, "What")
	_, err := s.Parse([]string{"--type=c"})
	if want := `flag --type: "c" is none of a, b`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	var b strings.Builder
	if s.PrintHelp(&b, false); !strings.Contains(b.String(), "What: a, b\n") {
		t.Errorf("help: %s", b.String())
	}
}

// A flag that is taken back is unknown, and not in the help.
func TestWithout(t *testing.T) {
	s := New()
	s.Bool("kept", false, "")
	s.Int("dropped", 64, 0, "")
	s.Without("dropped", "never_there")
	var help strings.Builder
	s.PrintHelp(&help, true)
	if _, err := s.Parse([]string{"--dropped=1"}); err == nil || strings.Contains(help.String(), "dropped") ||
		len(s.Flags()) != 1 {
		t.Errorf("%v; help %q", err, help.String())
	}
	if _, err := s.Parse([]string{"--kept"}); err != nil {
		t.Error(err)
	}
}
