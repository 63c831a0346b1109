package plot

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// drawing is a chart on its way to paper.
type drawing struct {
	*Chart
	out                      document
	width, height            float64
	left, right, top, bottom float64 // of the plane, in pixels
	x, y                     *scale  // of values; with categories x has their numbers
	legend                   [][]int // series by line of the legend
	nameWidth                float64 // room for names at the ends of lines
	late                     []lateText
}

const wantTicks = 6

// measure decides where things go.
func (d *drawing) measure() {
	d.width, d.height = float64(d.Width), float64(d.Height)
	if d.Width == 0 {
		d.width = 720
	}
	d.spans()
	d.top = 14
	if d.Title != "" {
		d.top += titleSize + 6
	}
	if d.Subtitle != "" {
		d.top += fontSize + 6
	}
	d.layLegend()
	d.top += float64(len(d.legend)) * (fontSize + 8)
	if len(d.legend) > 0 {
		d.top += 6
	}
	if label := d.upLabel(); label != "" {
		d.top += fontSize + 8
	}
	d.top += 6
	d.bottom = 14 + fontSize + 8
	if d.rightLabel() != "" {
		d.bottom += fontSize + 8
	}
	if d.Height == 0 {
		d.height = 440
		if d.Horizontal {
			d.height = math.Min(maxSide, d.top+d.bottom+float64(len(d.Categories))*math.Max(
				categoryPx, 9*float64(len(d.Series))+6))
		}
	}
	// Names at the ends of lines, and of what stands at the left.
	d.right = 18
	if d.direct() {
		for _, s := range d.Series {
			d.nameWidth = math.Max(d.nameWidth, textWidth(s.Name, fontSize))
		}
		d.nameWidth = math.Min(d.nameWidth, d.width/4)
		d.right = d.nameWidth + sampleWidth + 24
	}
	d.left = 16
	if d.Horizontal {
		w := 0.0
		for _, c := range d.Categories {
			w = math.Max(w, textWidth(c, fontSize))
		}
		d.left += math.Min(w, d.width*0.4) + 8
		d.right += 40 // values at the ends of bars
	} else {
		d.y.from, d.y.to = d.height-d.bottom, d.top
		w := 0.0
		for _, t := range d.y.ticks(wantTicks) {
			w = math.Max(w, textWidth(t.label, fontSize))
		}
		d.left += w + 8
	}
	// A small picture gives its plane what is left.
	if d.width-d.left-d.right < 40 {
		d.left, d.right = d.width*0.2, d.width*0.1
	}
	if d.height-d.top-d.bottom < 30 {
		d.top, d.bottom = d.height*0.2, d.height*0.2
	}
	if d.Horizontal {
		d.x.from, d.x.to = d.top, d.height-d.bottom
		d.y.from, d.y.to = d.left, d.width-d.right
	} else {
		d.x.from, d.x.to = d.left, d.width-d.right
		d.y.from, d.y.to = d.height-d.bottom, d.top
	}
}

// upLabel is written above the upright axis, rightLabel below the other.
func (d *drawing) upLabel() string {
	if d.Horizontal {
		return d.XLabel
	}
	return d.YLabel
}

func (d *drawing) rightLabel() string {
	if d.Horizontal {
		return d.YLabel
	}
	return d.XLabel
}

// spans finds the ranges of the axes.
func (d *drawing) spans() {
	var xs, ys span
	zero := d.ZeroY
	for _, s := range d.Series {
		for _, x := range s.X {
			xs.add(x, d.LogX)
		}
		for _, list := range [][]float64{s.Y, s.Low, s.High} {
			for i, y := range list {
				if d.Categories == nil && s.Kind != Bars && !(s.X[i]-s.X[i] == 0 && (!d.LogX || s.X[i] > 0)) {
					continue
				}
				ys.add(y, d.LogY)
			}
		}
		for _, list := range s.beyond {
			for _, y := range list {
				ys.add(y, d.LogY)
			}
		}
		zero = zero || s.Kind == Bars
	}
	for _, r := range d.HRules {
		ys.add(r.At, d.LogY)
	}
	for _, r := range d.VRules {
		xs.add(r.At, d.LogX)
	}
	if zero && !d.LogY && ys.any {
		ys.add(0, false)
	}
	// The axis of values ends in ticks; the other where the data end.
	d.y = ys.axis(d.LogY, true, true, wantTicks)
	if d.Categories != nil {
		d.x = &scale{lo: 0, hi: float64(max(1, len(d.Categories)))}
	} else {
		points := slices.ContainsFunc(d.Series, func(s Series) bool { return s.Kind == Points })
		d.x = xs.axis(d.LogX, points, points, wantTicks)
		if d.XRange != nil {
			d.x = fixed(*d.XRange, d.LogX, d.x)
		}
	}
	if d.YRange != nil {
		d.y = fixed(*d.YRange, d.LogY, d.y)
	}
}

func fixed(r [2]float64, log bool, other *scale) *scale {
	if !log {
		return &scale{lo: r[0], hi: r[1]}
	}
	if r[0] <= 0 {
		return other
	}
	return &scale{lo: math.Log10(r[0]), hi: math.Log10(r[1]), log: true}
}

// layLegend divides the names of the series into lines.
func (d *drawing) layLegend() {
	if d.direct() {
		return
	}
	named := 0
	for _, s := range d.Series {
		if s.Name != "" {
			named++
		}
	}
	if named == 0 || named == 1 && len(d.Series) == 1 {
		return
	}
	room := d.width - 32
	at := room + 1
	for i, s := range d.Series {
		if s.Name == "" {
			continue
		}
		w := math.Min(textWidth(s.Name, fontSize), room/2) + legendGap
		if at+w > room {
			if len(d.legend) == 12 { // the rest has colours, but no room for names
				return
			}
			d.legend = append(d.legend, nil)
			at = 0
		}
		d.legend[len(d.legend)-1] = append(d.legend[len(d.legend)-1], i)
		at += w
	}
}

func (d *drawing) draw() {
	o := &d.out
	o.printf(`<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" width="%s" height="%s" viewBox="0 0 %s %s">`+"\n", px(d.width), px(d.height), px(d.width), px(d.height))
	title := d.Title
	if title == "" {
		title = strings.TrimSpace(d.YLabel + " " + d.XLabel)
	}
	o.printf("<title>%s</title>\n<desc>%s</desc>\n<style>\n%s</style>\n", escape(title),
		escape(d.describe()), style())
	// Pictures on one page have the same name for the plane only where it is the same.
	plane := fmt.Sprintf("plane%.0f-%.0f-%.0f-%.0f", 100*d.left, 100*d.top, 100*d.right, 100*d.bottom) +
		fmt.Sprintf("-%.0f-%.0f", d.width, d.height)
	o.printf(`<clipPath id="%s"><rect x="%s" y="%s" width="%s" height="%s"/></clipPath>`+"\n", plane,
		px(d.left-3), px(d.top-3), px(d.width-d.right-d.left+6), px(d.height-d.bottom-d.top+6))
	d.drawHatches()
	o.printf(`<rect class="ground" width="100%%" height="100%%"/>` + "\n")
	y := 14.0
	if d.Title != "" {
		y += titleSize
		o.text("title", "start", 16, y-2, fit(d.Title, titleSize, d.width-32))
		y += 6
	}
	if d.Subtitle != "" {
		y += fontSize
		o.text("sub", "start", 16, y-2, fit(d.Subtitle, fontSize, d.width-32))
		y += 6
	}
	d.drawLegend(y)
	d.drawAxes()
	o.printf(`<g clip-path="url(#%s)">`+"\n", plane)
	for i, s := range d.Series {
		switch s.Kind {
		case Bars:
			d.drawBars(i, s)
		case Boxes:
			d.drawBoxes(i, s)
		case Points:
			d.drawPoints(i, s)
		default:
			d.drawLine(i, s)
		}
	}
	o.printf("</g>\n")
	for _, t := range d.late {
		o.text("value", t.anchor, t.x, t.y, t.text)
	}
	d.drawRules()
	d.drawNames()
	if !slices.ContainsFunc(d.Series, func(s Series) bool { return slices.ContainsFunc(s.Y, d.y.ok) }) {
		o.text("sub", "middle", (d.left+d.width-d.right)/2, (d.top+d.height-d.bottom)/2, "no data")
	}
	o.printf("</svg>\n")
}

// describe is the text for readers who cannot see the picture.
func (d *drawing) describe() string {
	var parts []string
	for _, s := range d.Series {
		var r span
		for _, y := range s.Y {
			r.add(y, d.LogY)
		}
		name := s.Name
		if name == "" {
			name = "values"
		}
		if r.any && len(parts) < 20 {
			parts = append(parts, fmt.Sprintf("%s: %d values from %s to %s", name, len(s.Y), short(r.lo), short(r.hi)))
		}
	}
	return strings.Join(parts, "; ")
}

// class names the colour of a series for strokes (s) or fills (f).
func class(what string, i int) string { return fmt.Sprintf("%s%d", what, i%len(lightColours)) }

// dashes are the patterns of lines by series: drawn, gap, drawn, gap and so on, in pixels. No two
// are alike, and each later one leaves more gaps. Of lines that coincide, which are drawn in this
// order, every one can be seen.
var dashes = []string{"", "14 6", "10 4 2 4", "6 6", "9 3 2 3 2 9", "4 9", "2 4 2 10", "2 12"}

// dashedPattern is that of Series.Dashed.
const dashedPattern = "3 8"

// dash returns the attributes of a line that make its pattern.
func dash(i int, s Series) string {
	n := len(dashes)
	var pattern string
	switch {
	case s.Dashed:
		pattern = dashedPattern
	case i < n:
		pattern = dashes[i]
	default: // the colours begin anew, with other dashes; no line is whole, since it would hide others
		pattern = dashes[1+(i%n+i/n-1)%(n-1)]
	}
	if pattern == "" {
		return ""
	}
	return fmt.Sprintf(` stroke-linecap="butt" stroke-dasharray="%s"`, pattern)
}

// sampleWidth is the length of a line beside its name: longer than the longest pattern.
const sampleWidth = 34.0

// sample draws a short piece of the line of a series.
func (d *drawing) sample(i int, x, y float64) {
	d.out.printf(`<line class="l %s" x1="%s" y1="%s" x2="%s" y2="%s"%s/>`+"\n", class("s", i), px(x), px(y),
		px(x+sampleWidth), px(y), dash(i, d.Series[i]))
	if d.marked(i) {
		d.mark(i, x+sampleWidth/2, y)
	}
}

// marked reports whether the points of a line have marks: where they are few.
func (d *drawing) marked(i int) bool { return d.Series[i].Kind == Line && len(d.Series[i].Y) <= 25 }

// hatches are the patterns of bars by series, as paths in a square of 6 pixels, for pictures
// without colours.
var hatches = []string{"", "M0 6L6 0", "M0 0L6 6", "M0 3H6", "M3 0V6", "M0 6L6 0M0 0L6 6",
	"M0 3H6M3 0V6", "M2 3H4"}

// hatched reports whether bars have hatches: where there are bars of more than one series.
func (d *drawing) hatched() bool { return len(indices(d.Series, Bars, Boxes)) > 1 }

// bar draws a rectangle of a series, with its hatch.
func (d *drawing) bar(kind string, i int, x, y, width, height float64, more string) {
	o := &d.out
	place := fmt.Sprintf(`x="%s" y="%s" width="%s" height="%s"%s`, px(x), px(y), px(width), px(height), more)
	o.printf(`<rect class="%s %s" %s/>`+"\n", kind, class("f", i), place)
	if k := i % len(hatches); k > 0 && d.hatched() {
		o.printf(`<rect fill="url(#hatch%d)" %s/>`+"\n", k, place)
	}
}

// drawHatches defines the patterns that are used.
func (d *drawing) drawHatches() {
	if !d.hatched() {
		return
	}
	for k, path := range hatches {
		if k == 0 || !slices.ContainsFunc(indices(d.Series, Bars, Boxes),
			func(i int) bool { return i%len(hatches) == k }) {
			continue
		}
		d.out.printf(`<pattern id="hatch%d" width="6" height="6" patternUnits="userSpaceOnUse"><path class="hatch" d="%s"/></pattern>`+"\n", k, path)
	}
}

// indices returns the places of the series of some kinds.
func indices(list []Series, kinds ...Kind) (out []int) {
	for i, s := range list {
		if slices.Contains(kinds, s.Kind) {
			out = append(out, i)
		}
	}
	return out
}
