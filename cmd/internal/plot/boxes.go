package plot

import (
	"math"
	"slices"
)

// Box draws box plots of values, a list for each category. The box is between the quartiles with a
// line at the median. Whiskers go to the last values within one and a half times its height, and
// each value beyond has a mark. Values that are not finite are left out.
func Box(name string, values [][]float64) Series {
	s := Series{Name: name, Kind: Boxes}
	for _, list := range values {
		list = slices.DeleteFunc(slices.Clone(list), func(v float64) bool { return v-v != 0 })
		slices.Sort(list)
		q := [5]float64{math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()}
		var beyond []float64
		if len(list) > 0 {
			q[1], q[2], q[3] = quantile(list, 0.25), quantile(list, 0.5), quantile(list, 0.75)
			reach := 1.5 * (q[3] - q[1])
			q[0], q[4] = q[1], q[3]
			for _, v := range list {
				switch {
				case v < q[1]-reach || v > q[3]+reach:
					beyond = append(beyond, v)
				default:
					q[0], q[4] = math.Min(q[0], v), math.Max(q[4], v)
				}
			}
		}
		s.Low, s.High = append(s.Low, q[0]), append(s.High, q[4])
		s.from, s.Y, s.to = append(s.from, q[1]), append(s.Y, q[2]), append(s.to, q[3])
		s.beyond = append(s.beyond, beyond)
	}
	return s
}

// quantile interpolates between sorted values.
func quantile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + float64((at-float64(i))*(sorted[i+1]-sorted[i])) // not fused: other bytes elsewhere
}

func (d *drawing) drawBoxes(i int, s Series) {
	groups, mine := 0, 0
	for k, t := range d.Series {
		if t.Kind == Boxes {
			if k == i {
				mine = groups
			}
			groups++
		}
	}
	for k, y := range s.Y {
		if !d.y.ok(y) {
			continue
		}
		from, to := d.x.at(float64(k)), d.x.at(float64(k+1))
		wide := (to - from) * 0.84 / float64(groups)
		at := from + (to-from)*0.08 + wide*float64(mine)
		low, high := d.clampY(d.y.at(s.from[k])), d.clampY(d.y.at(s.to[k]))
		middle, width := at+wide/2, math.Max(wide*0.8, 1)
		d.whisker(i, point{middle, d.y.at(y)}, s.Low[k], s.High[k])
		d.bar("bar", i, middle-width/2, math.Min(low, high), width, math.Max(math.Abs(high-low), 0.5), "")
		d.out.line("axis w", middle-width/2, d.clampY(d.y.at(y)), middle+width/2, d.clampY(d.y.at(y)))
		for _, v := range s.beyond[k] {
			d.mark(i, middle, d.clampY(d.y.at(v)))
		}
	}
}
