package layered

import (
	"math"
	"slices"
)

// draw makes the curves.
func (l *layout) draw() *Layout {
	out := &Layout{Nodes: make([]Point, len(l.Nodes)), Edges: make([]Route, len(l.Edges))}
	for v := range l.vertices {
		x := &l.vertices[v]
		m := l.middle[x.layer]
		if v < len(l.Nodes) {
			out.Nodes[v] = Point{m, x.at}
		}
		lo, hi := Point{m - x.along, x.at - x.less}, Point{m + x.along, x.at + x.more}
		if v == 0 {
			out.Min, out.Max = lo, hi
		}
		out.Min = Point{min(out.Min.Along, lo.Along), min(out.Min.Across, lo.Across)}
		out.Max = Point{max(out.Max.Along, hi.Along), max(out.Max.Across, hi.Across)}
	}
	for i := range l.Edges {
		out.Edges[i] = l.route(i)
		if !l.spend(len(out.Edges[i].Curve)) {
			break
		}
	}
	return out
}

// route draws edge i: straight within layers, bent between them.
func (l *layout) route(i int) Route {
	var r Route
	a, b := l.ends(i)
	chain := l.chain[i]
	first, last := &l.vertices[chain[0]], &l.vertices[chain[len(chain)-1]]
	r.Curve = l.leave(a, Point{l.middle[first.layer] - l.half[first.layer], first.at}, 1)
	for j, v := range chain {
		x := &l.vertices[v]
		m, h := l.middle[x.layer], l.half[x.layer]
		r.Curve = straight(r.Curve, Point{m + h, x.at})
		if j+1 < len(chain) {
			y := &l.vertices[chain[j+1]]
			r.Curve = bend(r.Curve, Point{l.middle[y.layer] - l.half[y.layer], y.at})
		}
		if j == l.labelAt[i] {
			r.Label = Point{m, x.at}
		}
	}
	end := l.leave(b, Point{l.middle[last.layer] + l.half[last.layer], last.at}, -1)
	slices.Reverse(end) // it was drawn from the node
	r.Curve = append(r.Curve, end[1:]...)
	if l.turned[i] {
		slices.Reverse(r.Curve)
	}
	return r
}

// straight adds a line to p.
func straight(c []Point, p Point) []Point {
	a := c[len(c)-1]
	return append(c, Point{a.Along + (p.Along-a.Along)/3, a.Across + (p.Across-a.Across)/3},
		Point{p.Along - (p.Along-a.Along)/3, p.Across - (p.Across-a.Across)/3}, p)
}

// bend adds a curve to p that is level at both ends.
func bend(c []Point, p Point) []Point {
	a := c[len(c)-1]
	m := (a.Along + p.Along) / 2
	return append(c, Point{m, a.Across}, Point{m, p.Across}, p)
}

// leave draws from the border of node q to p, which lies at the border of the next layer's
// band, after it (dir 1) or before it (-1). As far as the band of the node's own layer
// reaches the line is straight, and within the node's own box, so that it meets nothing else
// there; then it bends until it is level.
func (l *layout) leave(q int, p Point, dir float64) []Point {
	x, v := &l.Nodes[q], &l.vertices[q]
	c := Point{l.middle[v.layer], v.at}
	dy := p.Across - c.Across
	if dy == 0 {
		return straight([]Point{x.border(c, Point{dir, 0})}, p)
	}
	half := l.half[v.layer]
	steep := 1.3 * math.Abs(dy) / math.Abs(p.Along-c.Along)
	room := v.more
	if dy < 0 {
		room = v.less
	}
	most := min((room+l.EdgeSep/2)/half, math.Abs(dy)/half, 1.7)
	if x.Loop.Rise > 0 && x.Loop.Less == (dy < 0) {
		// Below the label of the loop, and beside the loop itself, which leaves the shape
		// at a slope of 2.
		most = min(most, (x.HalfAcross+x.Radius+x.Loop.Rise)/(x.Loop.Along/2+2), 0.85)
	}
	slope := most * -math.Expm1(-steep/most) // so that steeper edges stay apart
	d := Point{dir, math.Copysign(slope, dy)}
	from := x.border(c, d)
	band := Point{c.Along + dir*half, c.Across + d.Across*half}
	out := []Point{from}
	if (band.Along-from.Along)*dir > 1 {
		out = straight(out, band)
	} else {
		band = from
	}
	// On along the same line, and level at p, without going beyond it across.
	reach := min(math.Abs(p.Along-band.Along)/2, math.Abs(p.Across-band.Across)/slope)
	return append(out, Point{band.Along + dir*reach, band.Across + d.Across*reach},
		Point{p.Along - dir*math.Abs(p.Along-band.Along)/2, p.Across}, p)
}

// border is where the ray from the centre c of x in direction d leaves the shape.
func (x *Node) border(c, d Point) Point {
	length := math.Hypot(d.Along, d.Across)
	d = Point{d.Along / length, d.Across / length}
	in, out := 0.0, x.HalfAlong+x.HalfAcross+2*x.Radius
	for range 48 {
		t := (in + out) / 2
		if math.Hypot(max(math.Abs(t*d.Along)-x.HalfAlong, 0), max(math.Abs(t*d.Across)-x.HalfAcross, 0)) < x.Radius {
			in = t
		} else {
			out = t
		}
	}
	return Point{c.Along + in*d.Along, c.Across + in*d.Across}
}

// Loop returns the curve of a loop at node x with centre c, as Route's.
func (x *Node) LoopCurve(c Point) []Point {
	side := 1.0
	if x.Loop.Less {
		side = -1
	}
	from, to := x.border(c, Point{-0.5, side}), x.border(c, Point{0.5, side})
	// The curve is highest in its middle, where it is three quarters of the way up to its
	// control points.
	rise := math.Abs(from.Across - c.Across)
	high := rise + (x.HalfAcross+x.Radius+x.Loop.Rise-rise)*4/3
	wide := 0.55 * x.Radius
	return []Point{from, {from.Along - wide, c.Across + side*high}, {to.Along + wide, c.Across + side*high}, to}
}
