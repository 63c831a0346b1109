package semiring

import (
	"math"
	"testing"
)

// TestParseNumbers holds the text of numbers against what C's strtod takes.
func TestParseNumbers(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		text string
		want float64
	}{
		{"1", 1}, {"+1", 1}, {"-1.5", -1.5}, {".5", .5}, {"5.", 5}, {"1e3", 1000}, {"1E-2", .01},
		{"inf", inf}, {"INF", inf}, {"Infinity", inf}, {"+infinity", inf}, {"-inf", -inf}, {"-Infinity", -inf},
		{"1e400", inf}, {"-1e400", -inf}, {"1e-400", 0}, {"0x10", 16}, {"0X1.8", 1.5}, {"-0x1p4", -16}, {"0x.8p1", 1}, {"007", 7},
	} {
		got, err := Tropical64(0).ParseText(c.text)
		if err != nil || float64(got) != c.want {
			t.Errorf("ParseText(%q) = %v, %v; want %v", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{
		"", " 1", "1 ", "1,5", "1.0f", "abc", "1_0", "0x_1p0", "0x1_0", "0b1", "0o7", "0x", "0x.", "1e", "1e+", "0x1p", "+", "-", ".", "e5",
		"--1", "infin", "infinit", "nan", "NaN", "-nan", "nan(1)", "BadNumber", "1\x00", "Epsilon", "1p3",
	} {
		if got, err := Tropical64(0).ParseText(text); err == nil {
			t.Errorf("ParseText(%q) = %v, want an error", text, got)
		}
	}
}

// TestParseNumber32 has the numbers that a float32 cannot hold.
func TestParseNumber32(t *testing.T) {
	for _, c := range []struct {
		text, want string
	}{
		{"1e50", "Infinity"}, {"-1e50", "-Infinity"}, {"1e-50", "0"}, {"-1e-50", "-0"}, {"0.1", "0.100000001"}, {"123456789", "123456792"},
		{"1e-7", "1.00000001e-07"}, {"1e-45", "1.40129846e-45"}, {"3.5", "3.5"}, {"1e10", "1e+10"},
	} {
		w, err := Tropical(0).ParseText(c.text)
		if err != nil {
			t.Errorf("ParseText(%q): %v", c.text, err)
		} else if got := string(w.AppendText(nil)); got != c.want {
			t.Errorf("%q prints as %q, want %q", c.text, got, c.want)
		}
	}
	if got := string(Log64(3.14159265358979).AppendText(nil)); got != "3.14159265" {
		t.Errorf("Log64 prints as %q", got)
	}
	if got := string(Log64(0.1).AppendTextFormat(nil, TextFormat{Digits: 17})); got != "0.10000000000000001" {
		t.Errorf("Log64 with 17 digits prints as %q", got)
	}
	if got := string(Log(math.NaN()).AppendText(nil)); got != "BadNumber" {
		t.Errorf("NaN prints as %q", got)
	}
}

func TestLogAdd(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct{ a, b, want float64 }{
		{0, 0, -math.Ln2}, {inf, 3, 3}, {3, inf, 3}, {inf, inf, inf}, {-inf, 3, -inf}, {3, -inf, -inf}, {-inf, -inf, -inf},
		{-inf, inf, -inf}, {0, 50, -math.Exp(-50)}, {1, 50, 1}, {0, 800, 0}, {1, 2, 1 - math.Log1p(math.Exp(-1))},
	} {
		if got := logAdd(c.a, c.b); got != c.want {
			t.Errorf("logAdd(%v, %v) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
	for a := -4.0; a < 4; a += 1. / 16 {
		for d := 0.0; d < 60; d += 1. / 8 {
			if got, want := logAdd(a, a+d), a-math.Log1p(math.Exp(-d)); got != want {
				t.Fatalf("logAdd(%v, %v) = %v, want %v", a, a+d, got, want)
			}
		}
	}
}
