package fst

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// decimals draws numbers of all kinds that weights have: any bits, short
// decimals, integers, and what lies next to a change of the number of digits.
func decimals(rng *rand.Rand) float64 {
	switch rng.IntN(6) {
	case 0:
		return float64(math.Float32frombits(rng.Uint32()))
	case 1:
		return math.Float64frombits(rng.Uint64())
	case 2:
		return float64(rng.IntN(2e9)-1e9) / math.Pow10(rng.IntN(12))
	case 3:
		return float64(float32(rng.NormFloat64() * 10))
	case 4: // halfway between two neighbours of nine digits, exactly
		return (float64(rng.IntN(1e9)) + 0.5) / float64(uint64(1)<<rng.IntN(12))
	}
	x := math.Pow10(rng.IntN(20) - 8)
	for range rng.IntN(3) {
		x = math.Nextafter(x, math.Inf(rng.IntN(3)-1))
	}
	return x
}

func TestAppendNine(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	taken := 0
	for range 1_000_000 {
		x := decimals(rng)
		if rng.IntN(2) == 0 {
			x = -x
		}
		var a, b [32]byte
		got, ok := appendNine(a[:0], x)
		if !ok {
			if len(got) != 0 {
				t.Fatalf("%g: refused, but appended %q", x, got)
			}
			continue
		}
		taken++
		if want := strconv.AppendFloat(b[:0], x, 'g', 9, 64); string(got) != string(want) {
			t.Fatalf("%x: got %s, want %s", math.Float64bits(x), got, want)
		}
	}
	if taken < 300_000 {
		t.Fatalf("only %d numbers went the fast way", taken)
	}
	for _, s := range []string{"0", "-0", "1", "0.1", "-2.5", "999999999", "0.0001", "123456.789", "1e-05", "1e+09", "9.99999999e-05"} {
		x, _ := strconv.ParseFloat(s, 64)
		got, ok := appendNine(nil, x)
		if ok != (len(s) < 12 && s != "1e-05" && s != "1e+09") || ok && string(got) != s {
			t.Errorf("%s: %q, %v", s, got, ok)
		}
	}
}

func TestParseDecimal(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	taken := 0
	for range 1_000_000 {
		x := decimals(rng)
		s := strconv.AppendFloat(nil, x, "gef"[rng.IntN(3)], rng.IntN(17), 64)
		if rng.IntN(8) == 0 { // and what is no number
			s[rng.IntN(len(s))] = "+-.eE0x5_ "[rng.IntN(10)]
		}
		got, ok := parseDecimal(s)
		if !ok {
			continue
		}
		taken++
		want, err := strconv.ParseFloat(string(s), 64)
		if err != nil || math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("%s: got %g, want %g, %v", s, got, want, err)
		}
	}
	if taken < 300_000 {
		t.Fatalf("only %d numbers went the fast way", taken)
	}
}

func TestAppendInt(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for i := range 200_000 {
		x := int32(rng.Uint32()) >> rng.IntN(32)
		if i < 3 {
			x = []int32{math.MinInt32, math.MaxInt32, 0}[i]
		}
		if got, want := string(appendInt(nil, x)), strconv.Itoa(int(x)); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
}

func BenchmarkAppendNine(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	xs := make([]float64, 4096)
	for i := range xs {
		xs[i] = float64(float32(rng.ExpFloat64() * 5))
	}
	var buf [32]byte
	b.Run("path=fast", func(b *testing.B) {
		for i := range b.N {
			appendNine(buf[:0], xs[i&4095])
		}
	})
	b.Run("path=strconv", func(b *testing.B) {
		for i := range b.N {
			strconv.AppendFloat(buf[:0], xs[i&4095], 'g', 9, 64)
		}
	})
}

func BenchmarkParseDecimal(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	xs := make([][]byte, 4096)
	for i := range xs {
		xs[i] = strconv.AppendFloat(nil, rng.ExpFloat64()*5, 'g', 9, 64)
	}
	b.Run("path=fast", func(b *testing.B) {
		for i := range b.N {
			parseDecimal(xs[i&4095])
		}
	})
	b.Run("path=strconv", func(b *testing.B) {
		for i := range b.N {
			strconv.ParseFloat(string(xs[i&4095]), 64)
		}
	})
}
