package plot

import "slices"

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
