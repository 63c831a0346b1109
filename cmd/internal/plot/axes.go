package plot

import (
	"math"
	"slices"
)

// legendGap is the room of an entry of the legend beside its name: the sample and what is around
// it.
const legendGap = sampleWidth + 20

func (d *drawing) drawLegend(y float64) {
	o := &d.out
	for _, line := range d.legend {
		x := 16.0
		y += fontSize + 8
		for _, i := range line {
			s := d.Series[i]
			switch s.Kind {
			case Bars, Boxes:
				d.bar("bar", i, x+sampleWidth-18, y-13, 18, 14, ` rx="2"`)
			case Points:
				d.mark(i, x+sampleWidth-9, y-5)
			default:
				d.sample(i, x, y-5)
			}
			name := fit(s.Name, fontSize, (d.width-32)/2)
			o.text("name", "start", x+sampleWidth+6, y-1, name)
			x += textWidth(name, fontSize) + legendGap
		}
	}
}

func (d *drawing) drawAxes() {
	o := &d.out
	l, r, t, b := d.left, d.width-d.right, d.top, d.height-d.bottom
	if d.Horizontal {
		for _, k := range d.y.ticks(wantTicks) {
			o.line("grid", k.at, t, k.at, b)
			o.text("tick", "middle", k.at, b+fontSize+6, k.label)
		}
		step := (b - t) / float64(max(1, len(d.Categories)))
		every := int(math.Ceil(fontSize / step))
		for i, c := range d.Categories {
			if i%every == 0 {
				o.text("tick", "end", l-8, t+(float64(i)+0.5)*step+4, fit(c, fontSize, l-20))
			}
		}
		o.line("axis", l, t, l, b)
	} else {
		for _, k := range d.y.ticks(wantTicks) {
			o.line("grid", l, k.at, r, k.at)
			o.text("tick", "end", l-8, k.at+4, k.label)
		}
		if d.Categories != nil {
			d.drawCategories(l, r, b)
		} else {
			end := math.Inf(-1)
			for _, k := range d.x.ticks(wantTicks + 2) {
				o.line("axis", k.at, b, k.at, b+4)
				if w := textWidth(k.label, fontSize) / 2; k.at-w > end+6 {
					o.text("tick", "middle", k.at, b+fontSize+6, k.label)
					end = k.at + w
				}
			}
		}
		o.line("axis", l, b, r, b)
		if !d.y.log && d.y.lo < 0 && d.y.hi > 0 {
			o.line("axis", l, d.y.at(0), r, d.y.at(0))
		}
	}
	o.text("label", "start", 16, t-12, fit(d.upLabel(), fontSize, d.width-32))
	o.text("label", "middle", (l+r)/2, b+2*fontSize+14, fit(d.rightLabel(), fontSize, r-l))
}

func (d *drawing) drawCategories(l, r, b float64) {
	step := (r - l) / float64(max(1, len(d.Categories)))
	widest := 0.0
	for _, c := range d.Categories {
		widest = math.Max(widest, math.Min(textWidth(c, fontSize), 90))
	}
	every := max(1, int(math.Ceil((widest+8)/step)))
	if len(d.Categories) <= 12 {
		every = 1 // each has a name, shortened if need be
	}
	for i, c := range d.Categories {
		if i%every == 0 {
			d.out.text("tick", "middle", l+(float64(i)+0.5)*step, b+fontSize+6,
				fit(c, fontSize, step*float64(every)-4))
		}
	}
}

func (d *drawing) drawRules() {
	o := &d.out
	for _, r := range d.HRules {
		if d.Horizontal || !d.y.inside(r.At) {
			continue
		}
		y := d.y.at(r.At)
		o.line("rule", d.left, y, d.width-d.right, y)
		o.text("halo", "end", d.width-d.right-4, y-5, r.Label)
	}
	for _, r := range d.VRules {
		if d.Categories != nil || !d.x.inside(r.At) {
			continue
		}
		x := d.x.at(r.At)
		o.line("rule", x, d.top, x, d.height-d.bottom)
		anchor, at := "start", x+5
		if x > (d.left+d.width-d.right)/2 {
			anchor, at = "end", x-5
		}
		o.text("halo", anchor, at, d.top+fontSize, r.Label)
	}
}

// drawNames writes the names of lines at their ends, moved apart where they would
// lie on one another.
func (d *drawing) drawNames() {
	if !d.direct() {
		return
	}
	type name struct {
		i int
		y float64
	}
	var list []name
	for i, s := range d.Series {
		for k := len(s.Y) - 1; k >= 0; k-- {
			if d.x.inside(s.X[k]) && d.y.ok(s.Y[k]) {
				y := math.Min(math.Max(d.y.at(s.Y[k]), d.top), d.height-d.bottom)
				list = append(list, name{i, y})
				break
			}
		}
	}
	slices.SortStableFunc(list, func(a, b name) int {
		switch {
		case a.y < b.y:
			return -1
		case a.y > b.y:
			return 1
		}
		return 0
	})
	const gap = fontSize + 3
	for k := 1; k < len(list); k++ {
		list[k].y = math.Max(list[k].y, list[k-1].y+gap)
	}
	low := d.height - d.bottom
	for k := len(list) - 1; k >= 0; k-- {
		list[k].y = math.Min(list[k].y, low)
		low = list[k].y - gap
	}
	for _, n := range list {
		x := d.width - d.right + 7
		d.sample(n.i, x, n.y)
		d.out.text("name "+class("f", n.i), "start", x+sampleWidth+5, n.y+4,
			fit(d.Series[n.i].Name, fontSize, d.nameWidth+4))
	}
}
