package plot

import "math"

// point is a place on the paper.
type point struct{ x, y float64 }

// pieces divides a series into stretches without gaps, on the paper.
func (d *drawing) pieces(xs, ys []float64, steps bool) [][]point {
	var out [][]point
	open := false
	for i := range ys {
		if !d.x.ok(xs[i]) || !d.y.ok(ys[i]) {
			open = false
			continue
		}
		p := point{d.clampX(d.x.at(xs[i])), d.clampY(d.y.at(ys[i]))}
		if !open {
			out = append(out, nil)
			open = true
		}
		last := &out[len(out)-1]
		if n := len(*last); steps && n > 0 {
			*last = append(*last, point{p.x, (*last)[n-1].y})
		}
		*last = append(*last, p)
	}
	for k := range out {
		out[k] = thin(out[k])
	}
	return out
}

// clampX and clampY keep what lies far outside the plane from being written with
// hundreds of digits; the clip path hides it.
func (d *drawing) clampX(x float64) float64 { return math.Min(math.Max(x, -4*maxSide), 4*maxSide) }
func (d *drawing) clampY(y float64) float64 { return math.Min(math.Max(y, -4*maxSide), 4*maxSide) }

// thin omits points that cannot be seen. Of consecutive points on one pixel of x it keeps the
// first, the last, the highest and the lowest.
func thin(ps []point) []point {
	if len(ps) < 1000 {
		return ps
	}
	var out []point
	for i := 0; i < len(ps); {
		j, lo, hi := i, i, i
		for ; j < len(ps) && math.Floor(ps[j].x) == math.Floor(ps[i].x); j++ {
			if ps[j].y < ps[lo].y {
				lo = j
			}
			if ps[j].y > ps[hi].y {
				hi = j
			}
		}
		last := -1
		for _, k := range []int{i, min(lo, hi), max(lo, hi), j - 1} {
			if k > last {
				out = append(out, ps[k])
				last = k
			}
		}
		i = j
	}
	return out
}

func (d *drawing) path(ps []point, start string) {
	for i, p := range ps {
		if i == 0 {
			d.out.printf("%s", start)
		} else {
			d.out.printf("L")
		}
		d.out.coordinate(p.x)
		d.out.printf(" ")
		d.out.coordinate(p.y)
	}
}

func (d *drawing) drawLine(i int, s Series) {
	xs := s.X
	if d.Categories != nil {
		xs = centres(len(s.Y))
	}
	if d.Horizontal {
		return // a line through categories one under the other says nothing
	}
	o := &d.out
	if s.Low != nil {
		// Where a limit is missing the band has a gap, in both limits.
		low, high := gaps(s.Low, s.High, d.y.ok)
		down, up := d.pieces(xs, low, s.Kind == Steps), d.pieces(xs, high, s.Kind == Steps)
		for k := range up {
			o.printf(`<path class="band %s" d="`, class("f", i))
			d.path(up[k], "M")
			back := down[k]
			for n := len(back) - 1; n >= 0; n-- {
				d.path(back[n:n+1], "L")
			}
			o.printf("Z\"/>\n")
		}
	}
	pieces := d.pieces(xs, s.Y, s.Kind == Steps)
	if len(pieces) == 0 {
		return
	}
	o.printf(`<path class="l %s"%s d="`, class("s", i), dash(i, s))
	for _, p := range pieces {
		d.path(p, "M")
		if len(p) == 1 { // a point between gaps is a dot
			o.printf("h0")
		}
	}
	o.printf("\"/>\n")
	if d.marked(i) {
		for _, p := range pieces {
			for _, q := range p {
				d.mark(i, q.x, q.y)
			}
		}
	}
}

// gaps makes both limits NaN where either is not usable.
func gaps(low, high []float64, ok func(float64) bool) (l, h []float64) {
	l, h = make([]float64, len(low)), make([]float64, len(high))
	for i := range low {
		if l[i], h[i] = low[i], high[i]; !ok(l[i]) || !ok(h[i]) {
			l[i], h[i] = math.NaN(), math.NaN()
		}
	}
	return l, h
}

func centres(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(i) + 0.5
	}
	return out
}

// mark draws the sign of a series of points: four shapes, filled and then hollow, so that colour is
// not all that tells them apart.
func (d *drawing) mark(i int, x, y float64) {
	o := &d.out
	c := "p " + class("f", i)
	if i/4%2 == 1 {
		c = "h " + class("s", i)
	}
	switch i % 4 {
	case 0:
		o.printf(`<circle class="%s" cx="%s" cy="%s" r="3.5"/>`, c, px(x), px(y))
	case 1:
		o.printf(`<rect class="%s" x="%s" y="%s" width="6.4" height="6.4"/>`, c, px(x-3.2), px(y-3.2))
	case 2:
		o.printf(`<path class="%s" d="M%s %sl4 7h-8z"/>`, c, px(x), px(y-4.4))
	default:
		o.printf(`<path class="%s" d="M%s %sl4.3 4.3l-4.3 4.3l-4.3 -4.3z"/>`, c, px(x), px(y-4.3))
	}
	o.printf("\n")
}

func (d *drawing) drawPoints(i int, s Series) {
	xs := s.X
	if d.Categories != nil {
		xs = centres(len(s.Y))
	}
	type pixel struct{ x, y int }
	seen := map[pixel]bool{} // looked up only: its order is never used
	for k, y := range s.Y {
		if !d.x.ok(xs[k]) || !d.y.inside(y) || d.Categories == nil && !d.x.inside(xs[k]) {
			continue
		}
		p := point{d.x.at(xs[k]), d.y.at(y)}
		if d.Horizontal {
			p = point{p.y, p.x}
		}
		if s.Low != nil {
			d.whisker(i, p, s.Low[k], s.High[k])
		}
		// More than one mark on half a pixel is one mark.
		if at := (pixel{int(2 * p.x), int(2 * p.y)}); len(s.Y) < 1000 || !seen[at] {
			seen[at] = true
			d.mark(i, p.x, p.y)
		}
	}
}

// whisker draws a range through a point.
func (d *drawing) whisker(i int, p point, low, high float64) {
	if !d.y.ok(low) || !d.y.ok(high) {
		return
	}
	a, b := d.clampY(d.y.at(low)), d.clampY(d.y.at(high))
	c := "axis w"
	if d.Horizontal {
		d.out.line(c, a, p.y, b, p.y)
		d.out.line(c, a, p.y-3, a, p.y+3)
		d.out.line(c, b, p.y-3, b, p.y+3)
		return
	}
	d.out.line(c, p.x, a, p.x, b)
	d.out.line(c, p.x-3, a, p.x+3, a)
	d.out.line(c, p.x-3, b, p.x+3, b)
}

func (d *drawing) drawBars(i int, s Series) {
	base := d.y.from
	if !d.y.log {
		base = d.y.at(math.Min(math.Max(0, d.y.lo), d.y.hi))
	}
	if d.Categories == nil {
		// Histograms lie over one another, and let through what is below.
		for k, y := range s.Y {
			if !d.y.ok(y) || y == 0 || !d.x.ok(s.X[k]) || !d.x.ok(s.X[k+1]) {
				continue
			}
			x1, x2, top := d.clampX(d.x.at(s.X[k])), d.clampX(d.x.at(s.X[k+1])), d.clampY(d.y.at(y))
			d.bar("over", i, math.Min(x1, x2), math.Min(top, base), math.Max(math.Abs(x2-x1)-0.5, 0.5),
				math.Abs(base-top), "")
		}
		return
	}
	groups, mine := 0, 0
	for k, t := range d.Series {
		if t.Kind == s.Kind {
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
		wide := (to - from) * 0.78 / float64(groups)
		at := from + (to-from)*0.11 + wide*float64(mine)
		end := d.clampY(d.y.at(y))
		if d.Horizontal {
			d.bar("bar", i, math.Min(base, end), at, math.Abs(end-base), math.Max(wide-1, 0.5), "")
		} else {
			d.bar("bar", i, at, math.Min(base, end), math.Max(wide-1, 0.5), math.Abs(end-base), "")
		}
		middle := at + (wide-1)/2
		if s.Low != nil {
			p := point{middle, end}
			if d.Horizontal {
				p = point{end, middle}
			}
			d.whisker(i, p, s.Low[k], s.High[k])
		}
		d.barLabel(s, k, middle, end, wide, base)
	}
}

// barLabel writes the value at the end of a bar, where there is room for it.
func (d *drawing) barLabel(s Series, k int, middle, end, wide, base float64) {
	label := short(s.Y[k])
	if s.High != nil && d.y.ok(s.High[k]) {
		if h := d.clampY(d.y.at(s.High[k])); d.Horizontal {
			end = math.Max(end, h)
		} else {
			end = math.Min(end, h)
		}
	}
	switch {
	case d.Horizontal && wide >= fontSize-1 && end >= base:
		d.late = append(d.late, lateText{"start", end + 5, middle + 4, label})
	case !d.Horizontal && wide >= textWidth(label, fontSize)+2 && end <= base:
		d.late = append(d.late, lateText{"middle", middle, end - 5, label})
	}
}

// lateText is written after the clip of the plane has ended: it may stand out of it.
type lateText struct {
	anchor string
	x, y   float64
	text   string
}
