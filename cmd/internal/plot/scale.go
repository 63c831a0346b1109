package plot

import (
	"math"
	"strconv"
	"strings"
)

// scale places values between two pixels.
type scale struct {
	lo, hi float64 // in the units of the axis: the logarithm, if it is logarithmic
	from   float64 // pixel of lo
	to     float64 // pixel of hi
	log    bool
}

// ok reports whether a value has a place.
func (s *scale) ok(x float64) bool { return x-x == 0 && (!s.log || x > 0) }

func (s *scale) at(x float64) float64 {
	if s.log {
		x = math.Log10(x)
	}
	// In halves, so that the difference of the largest floats does not overflow.
	// The conversion keeps the product from being fused with the sum, which would give
	// other bytes on other processors.
	return s.from + float64((x/2-s.lo/2)/(s.hi/2-s.lo/2)*(s.to-s.from))
}

// inside reports whether a value is in the range of the axis, or very nearly.
func (s *scale) inside(x float64) bool {
	if !s.ok(x) {
		return false
	}
	p := s.at(x)
	return p >= math.Min(s.from, s.to)-0.01 && p <= math.Max(s.from, s.to)+0.01
}

// span collects the range of values.
type span struct {
	lo, hi float64
	any    bool
}

func (s *span) add(x float64, log bool) {
	if x-x != 0 || log && x <= 0 {
		return
	}
	if !s.any {
		s.lo, s.hi, s.any = x, x, true
	}
	s.lo, s.hi = math.Min(s.lo, x), math.Max(s.hi, x)
}

// axis makes a scale of a span. A linear one is widened to whole ticks on the sides
// where wide says so.
func (s span) axis(log, wideLo, wideHi bool, want int) *scale {
	lo, hi := s.lo, s.hi
	if !s.any {
		lo, hi = 0, 1
		if log {
			lo = 0.1
		}
	}
	if log {
		lo, hi = math.Log10(lo), math.Log10(hi)
		if hi-lo < 0.1 {
			lo, hi = lo-0.5, hi+0.5
		} else if pad := 0.03 * (hi - lo); true {
			if wideLo {
				lo -= pad
			}
			if wideHi {
				hi += pad
			}
		}
		return &scale{lo: lo, hi: hi, log: true}
	}
	if hi/2-lo/2 <= 1e-12*math.Max(math.Abs(lo), math.Abs(hi)) || hi/2-lo/2 < 1e-290 {
		pad := math.Max(math.Abs(lo)/10, 1e-280)
		if lo == 0 && hi == 0 {
			pad = 1
		}
		lo, hi = lo-pad, hi+pad
	}
	step := niceStep(lo, hi, want)
	if l := math.Floor(lo/step+1e-9) * step; wideLo && !math.IsInf(l, 0) {
		lo = l
	}
	if h := math.Ceil(hi/step-1e-9) * step; wideHi && !math.IsInf(h, 0) {
		hi = h
	}
	lo, hi = math.Max(lo, -math.MaxFloat64), math.Min(hi, math.MaxFloat64)
	return &scale{lo: lo, hi: hi}
}

// niceStep returns 1, 2 or 5 times a power of ten that gives about the wanted number of steps
// between lo and hi.
func niceStep(lo, hi float64, want int) float64 {
	raw := (hi/2 - lo/2) / (float64(want) / 2)
	if raw > math.MaxFloat64/20 {
		raw = math.MaxFloat64 / 20
	}
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	if power == 0 || math.IsInf(power, 0) {
		return raw
	}
	switch f := raw / power; {
	case f < 1.5:
		return power
	case f < 3.5:
		return 2 * power
	case f < 7.5:
		return 5 * power
	}
	return 10 * power
}

// tick is a value that the axis shows.
type tick struct {
	at    float64 // pixel
	label string
}

// ticks returns about the wanted number of values to show.
func (s *scale) ticks(want int) []tick {
	if s.log {
		return s.logTicks(want)
	}
	step := niceStep(s.lo, s.hi, want)
	var out []tick
	first := math.Ceil(s.lo/step - 1e-9)
	for k := range 4*want + 4 {
		v := (first + float64(k)) * step
		if v > s.hi+1e-9*step || math.IsInf(v, 0) {
			break
		}
		if math.Abs(v) < step/2 {
			v = 0
		}
		out = append(out, tick{s.at(v), number(v, step)})
	}
	return out
}

func (s *scale) logTicks(want int) []tick {
	var out []tick
	first, last := math.Ceil(s.lo-1e-9), math.Floor(s.hi+1e-9)
	decades := last - first + 1
	every := math.Max(1, math.Ceil(decades/float64(want)))
	place := func(e float64) float64 { return s.from + (e-s.lo)/(s.hi-s.lo)*(s.to-s.from) }
	show := func(m, e float64) {
		l := math.Log10(m) + e
		if l >= s.lo-1e-9 && l <= s.hi+1e-9 {
			out = append(out, tick{place(l), power(m, int(e))})
		}
	}
	for e := math.Floor(s.lo); e <= s.hi; e++ {
		if decades > 3 {
			if math.Mod(e-first, every) == 0 {
				show(1, e)
			}
			continue
		}
		for _, m := range []float64{1, 2, 5} {
			show(m, e)
		}
	}
	return out
}

// number writes a value with the digits that a step needs.
func number(v, step float64) string {
	if a := math.Abs(v); a >= 1e6 || step < 1e-4 {
		if v == 0 {
			return "0"
		}
		digits := max(0, int(math.Floor(math.Log10(a)))-int(math.Floor(math.Log10(step)*1.0000001)))
		return minus(strings.Replace(strconv.FormatFloat(v, 'e', min(digits, 12), 64), "e+", "e", 1))
	}
	digits := 0
	for s := step; digits < 6 && math.Abs(s-math.Round(s)) > 1e-6*step; digits++ {
		s *= 10
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if math.Abs(v) >= 10000 { // thousands apart, by a thin space
		i := strings.IndexByte(text+".", '.')
		for k := i - 3; k > 0 && text[k-1] != '-'; k -= 3 {
			text = text[:k] + "\u2009" + text[k:]
		}
	}
	return minus(text)
}

// minus writes a minus sign in place of the hyphen.
func minus(s string) string { return strings.ReplaceAll(s, "-", "\u2212") }

// power writes m·10^e as people do.
func power(m float64, e int) string {
	if e >= -3 && e <= 4 {
		return number(m*math.Pow10(e), math.Pow10(e))
	}
	sup := superscript.Replace(strconv.Itoa(e))
	if m == 1 {
		return "10" + sup
	}
	return strconv.FormatFloat(m, 'f', 0, 64) + "·10" + sup
}

// short writes a value with three digits or so, for labels on bars.
func short(v float64) string {
	a := math.Abs(v)
	if v == 0 || a >= 1e-3 && a < 1e6 {
		return minus(strconv.FormatFloat(v, 'g', int(math.Max(3, math.Ceil(math.Log10(a+1)))), 64))
	}
	m, e, _ := strings.Cut(strconv.FormatFloat(v, 'e', 1, 64), "e")
	n, _ := strconv.Atoi(e)
	return minus(strings.TrimSuffix(m, ".0")) + "·10" + superscript.Replace(strconv.Itoa(n))
}

var superscript = strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵",
	"6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")
