package table

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// Every number is the nearest one, as strconv finds it; ties of float32 and their
// neighbours are where a shortcut would be seen.
func TestParseNumber(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	check := func(s string) {
		t.Helper()
		want32, err32 := strconv.ParseFloat(s, 32)
		got32, fault := parseNumber([]byte(s), 32)
		if (err32 == nil) != (fault == numberFine) || err32 == nil &&
			math.Float64bits(got32) != math.Float64bits(want32) {
			t.Fatalf("%s: %v (%v), want %v (%v)", s, got32, fault, want32, err32)
		}
		want64, err64 := strconv.ParseFloat(s, 64)
		got64, fault := parseNumber([]byte(s), 64)
		if (err64 == nil) != (fault == numberFine) || err64 == nil &&
			math.Float64bits(got64) != math.Float64bits(want64) {
			t.Fatalf("%s: %v (%v), want %v (%v)", s, got64, fault, want64, err64)
		}
	}
	for _, s := range []string{"0", "-0", "+1", ".5", "5.", "1e5", "1E-5", "1e+05", "16777217",
		"16777216.0000001", "1e38", "3.4028235e38", "3.4028236e38", "1e39", "1e-45", "1e-46", "1.17549435e-38",
		"9007199254740993", "18446744073709551616", "00000000000000000000001", "1e0000000000000000001",
		"0.000000000000000000000000000000000000000000001", "1e-320", "1e310", "123456789012345678901234567890"} {
		check(s)
	}
	for range 40000 {
		x := math.Float32frombits(rng.Uint32())
		if x-x != 0 {
			continue
		}
		check(strconv.FormatFloat(float64(x), 'e', rng.IntN(19), 64))
		// Half way to the next float32, exactly and very nearly so.
		y := (float64(x) + float64(math.Nextafter32(x, 2*x))) / 2
		check(strconv.FormatFloat(y, 'g', -1, 64))
		check(strconv.FormatFloat(y, 'e', 16+rng.IntN(3), 64))
		check(strconv.FormatFloat(math.Nextafter(y, 0), 'e', 18, 64))
		z := rng.NormFloat64() * math.Pow(10, float64(rng.IntN(12)-6))
		check(strconv.FormatFloat(z, 'f', rng.IntN(20), 64))
	}
	for _, s := range []string{"", "-", ".", "e5", "1e", "1e+", "1_0", "0x1", "1.2.3", "--1", "1 2", "١"} {
		if x, fault := parseNumber([]byte(s), 64); fault != numberBad {
			t.Errorf("%q: %v %v", s, x, fault)
		}
	}
	for _, s := range []string{"inf", "-Inf", "Infinity"} {
		if _, fault := parseNumber([]byte(s), 32); fault != numberInfinite {
			t.Errorf("%q: %v", s, fault)
		}
	}
}
