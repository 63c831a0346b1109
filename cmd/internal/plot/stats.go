package plot

import (
	"math"
	"slices"
)

// Histogram counts values in bins of one width, from the least to the greatest, as
// shares of all (they sum to 1). bins of zero takes the rule of D. Freedman and P.
// Diaconis (1981), within 5 and 60. Values that are not finite are left out.
func Histogram(name string, values []float64, bins int) Series {
	return Histograms(bins, []string{name}, values)[0]
}

// Histograms is Histogram for several sets of values, which get the same bins. Where
// bins is zero the first set decides their width.
func Histograms(bins int, names []string, values ...[]float64) []Series {
	var all span
	for _, v := range values {
		for _, x := range v {
			all.add(x, false)
		}
	}
	edges := []float64{0}
	if all.any {
		edges = binEdges(all, finite(values[0]), bins)
	}
	out := make([]Series, len(values))
	for i, v := range values {
		out[i] = Series{Name: names[i], Kind: Bars, X: edges, Y: make([]float64, len(edges)-1)}
		if !all.any {
			continue
		}
		n := len(out[i].Y)
		lo, hi := edges[0], edges[n]
		xs := finite(v)
		for _, x := range xs {
			k := int((x/2 - lo/2) / (hi/2 - lo/2) * float64(n))
			out[i].Y[min(max(k, 0), n-1)] += 1 / float64(len(xs))
		}
	}
	return out
}

// binEdges divides a span, as many times as its values, in order, ask for.
func binEdges(s span, xs []float64, bins int) []float64 {
	lo, hi := s.lo, s.hi
	if lo == hi {
		pad := math.Max(math.Abs(lo)/20, 0.5)
		lo, hi = lo-pad, hi+pad
		bins = max(bins, 1)
	}
	if bins <= 0 {
		bins = 5
		if len(xs) > 0 {
			// In quarters: the difference of the largest floats does not overflow.
			iqr := xs[len(xs)*3/4]/4 - xs[len(xs)/4]/4
			if n := (hi/4 - lo/4) / (2 * iqr) * math.Cbrt(float64(len(xs))); iqr > 0 {
				bins = int(math.Ceil(math.Min(60, math.Max(5, n))))
			}
		}
	}
	edges := make([]float64, bins+1)
	for k := range edges {
		f := float64(k) / float64(bins)
		edges[k] = lo*(1-f) + hi*f
	}
	return edges
}

// Cumulative is the share of the values that are at most x, as steps; with margins,
// the margin distribution. Values that are not finite are left out.
func Cumulative(name string, values []float64) Series {
	xs := finite(values)
	s := Series{Name: name, Kind: Steps}
	for i, x := range xs {
		if i == 0 {
			s.X, s.Y = append(s.X, x), append(s.Y, 0)
		}
		y := float64(i+1) / float64(len(xs))
		if i > 0 && x == xs[i-1] {
			s.Y[len(s.Y)-1] = y
			continue
		}
		s.X, s.Y = append(s.X, x), append(s.Y, y)
	}
	return s
}

func finite(values []float64) []float64 {
	xs := make([]float64, 0, len(values))
	for _, v := range values {
		if v-v == 0 {
			xs = append(xs, v)
		}
	}
	slices.Sort(xs)
	return xs
}
