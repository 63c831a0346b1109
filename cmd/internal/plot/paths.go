package plot

import (
	"fmt"
	"io"
	"math"
)

// Paths is a picture of things that move in a plane: their ways over the plane, and beside it
// one coordinate over time.
type Paths struct {
	Title, Subtitle string
	XLabel, YLabel  string // of the plane; XLabel is the one over time too
	TimeLabel       string
	Ways            []Way
	Marks           []Mark
}

// Way is a line through places, one for each time.
type Way struct {
	X, Y, T []float64
	Colour  int  // among those of series, any number from 0
	Wrong   bool // drawn thick, in a colour of its own
	Lacking bool // dashed, in that colour: it should be there
}

// Mark is a place with a ring around it.
type Mark struct {
	X, Y, T float64
	Wrong   bool
}

// wrongColour is the second colour of series, which ways that are right do not have.
const wrongColour = 1

// Write draws the picture as SVG.
func (p *Paths) Write(w io.Writer) error {
	const side, gap, left, bottom = 420.0, 70.0, 60.0, 44.0
	top := 20.0
	if p.Title != "" {
		top += titleSize + 6
	}
	if p.Subtitle != "" {
		top += fontSize + 6
	}
	var x, y, t span
	for _, way := range p.Ways {
		for i := range way.X {
			x.add(way.X[i], false)
			y.add(way.Y[i], false)
			t.add(way.T[i], false)
		}
	}
	for _, m := range p.Marks {
		x.add(m.X, false)
		y.add(m.Y, false)
		t.add(m.T, false)
	}
	for _, s := range []*span{&x, &y, &t} {
		if !s.any {
			s.add(0, false)
		}
		if s.hi == s.lo {
			s.hi++
		}
	}
	width, height := left+2*side+gap+20, top+side+bottom
	var d document
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 %s %s" width="%s" height="%s" role="img">`+"\n", px(width), px(height), px(width), px(height))
	d.printf("<title>%s</title>\n<style>%s</style>\n", escape(p.Title), style())
	d.printf(`<rect class="ground" width="%s" height="%s"/>`+"\n", px(width), px(height))
	at := 14.0
	if p.Title != "" {
		at += titleSize
		d.text("title", "start", left, at, fit(p.Title, titleSize, width-left))
		at += 6
	}
	if p.Subtitle != "" {
		at += fontSize
		d.text("", "start", left, at, fit(p.Subtitle, fontSize, width-left))
	}
	// The plane has the same scale both ways, with y downwards as in images.
	scale := side / math.Max(x.hi-x.lo, y.hi-y.lo)
	plane := func(a, b float64) (float64, float64) { return left + (a-x.lo)*scale, top + (b-y.lo)*scale }
	from := left + side + gap
	time := func(a, b float64) (float64, float64) {
		return from + (a-t.lo)/(t.hi-t.lo)*side, top + (b-x.lo)/(x.hi-x.lo)*side
	}
	for _, box := range []struct {
		at           float64
		right, up    string
		least, most  float64
		first, final float64
	}{{left, p.XLabel, p.YLabel, x.lo, x.lo + side/scale, y.lo, y.lo + side/scale},
		{from, p.TimeLabel, p.XLabel, t.lo, t.hi, x.lo, x.hi}} {
		d.printf(`<rect class="grid" x="%s" y="%s" width="%s" height="%s" fill="none"/>`+"\n", px(box.at), px(top),
			px(side), px(side))
		number := func(v float64) string { return fmt.Sprintf("%.4g", v) }
		d.text("", "start", box.at, top+side+16, number(box.least))
		d.text("", "end", box.at+side, top+side+16, number(box.most))
		d.text("", "middle", box.at+side/2, top+side+16, box.right)
		d.text("", "end", box.at-6, top+10, number(box.first))
		d.text("", "end", box.at-6, top+side, number(box.final))
		d.text("", "end", box.at-6, top+side/2, box.up)
	}
	for _, late := range []bool{false, true} { // what is wrong lies on top
		for _, way := range p.Ways {
			if (way.Wrong || way.Lacking) != late {
				continue
			}
			colour, more := way.Colour%len(lightColours), ` stroke-width="1"`
			if colour == wrongColour {
				colour = len(lightColours) - 1
			}
			if late {
				colour, more = wrongColour, ` stroke-width="3"`
			}
			if way.Lacking {
				more += ` stroke-dasharray="4 3"`
			}
			for panel := range 2 {
				d.printf(`<polyline class="s%d" fill="none"%s points="`, colour, more)
				for i := range way.X {
					a, b := plane(way.X[i], way.Y[i])
					if panel == 1 {
						a, b = time(way.T[i], way.X[i])
					}
					d.printf("%s,%s ", px(a), px(b))
				}
				d.printf("\"/>\n")
			}
		}
	}
	for _, m := range p.Marks {
		class := "axis"
		if m.Wrong {
			class = fmt.Sprintf("s%d", wrongColour)
		}
		for panel := range 2 {
			a, b := plane(m.X, m.Y)
			if panel == 1 {
				a, b = time(m.T, m.X)
			}
			d.printf(`<circle class="%s" fill="none" cx="%s" cy="%s" r="4"/>`+"\n", class, px(a), px(b))
		}
	}
	d.printf("</svg>\n")
	_, err := w.Write(d.bytes())
	return err
}
