package fst

import (
	"bufio"
	"math"
	"strconv"

	"github.com/tropica-fst/tropica/fst/internal/layered"
)

// svgStyle holds for the picture alone, also where it is part of a page. Programs that do not
// know @media draw it light.
const svgStyle = `<style>
.fst{font-family:Helvetica,Arial,"Liberation Sans",system-ui,sans-serif}
.fst .ground{fill:#fff}
.fst text{fill:#16202b;paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}
.fst .w{fill:#5c6b7c}
.fst .s text{stroke:none}
.fst .a path{fill:none;stroke:#46566a;stroke-width:1.2;stroke-linecap:round}
.fst .a .h{fill:#46566a;stroke:none}
.fst .n{fill:#f3f6fa;stroke:#22303f;stroke-width:1.3}
.fst .i .n{stroke-width:2.8}
.fst .n.e{fill:none;stroke-width:1.3}
.fst .t{font-weight:600}
@media (prefers-color-scheme:dark){
.fst .ground{fill:#17181b}
.fst text{fill:#e8ebef;stroke:#17181b}
.fst .w{fill:#9aa7b5}
.fst .a path{stroke:#93a1b2}
.fst .a .h{fill:#93a1b2}
.fst .n{fill:#20242b;stroke:#c3ccd6}
}
</style>
`

// svgOut writes the picture.
type svgOut struct {
	*bufio.Writer
	d      *svgPicture
	unit   float64
	ox, oy float64 // of what the layout calls 0
	tmp    []byte
}

func (w *svgOut) text(s string) { w.WriteString(s) }

// number writes a coordinate with at most two digits after the point.
func (w *svgOut) number(x float64) {
	x = math.Round(x*100)/100 + 0 // +0: no negative zero
	w.tmp = strconv.AppendFloat(w.tmp[:0], x, 'f', -1, 64)
	w.Write(w.tmp)
}

func (w *svgOut) numbers(before string, x float64, rest ...any) {
	w.text(before)
	w.number(x)
	for _, r := range rest {
		switch r := r.(type) {
		case string:
			w.text(r)
		case float64:
			w.number(r)
		}
	}
}

func (w *svgOut) escaped(s string) {
	w.tmp = appendXML(w.tmp[:0], s)
	w.Write(w.tmp)
}

// place turns a place of the layout into one of the picture.
func (w *svgOut) place(p layered.Point) (x, y float64) {
	if w.d.o.Vertical {
		return p.Across + w.ox, w.oy - p.Along
	}
	return p.Along + w.ox, p.Across + w.oy
}

func (d *svgPicture) write(out *bufio.Writer) error {
	w := &svgOut{Writer: out, d: d, unit: d.size / 14}
	lo, hi := d.layout.Min, d.layout.Max
	width, height := hi.Along-lo.Along, hi.Across-lo.Across
	if d.o.Vertical {
		width, height = height, width
	}
	title := 0.0
	if d.o.Title != "" {
		title = 2 * d.size
		width = max(width, svgTextWidth(d.o.Title, 1.15*d.size))
	}
	if len(d.states) == 0 {
		width, height = max(width, 8*d.size), 2*d.size
	}
	inner := hi.Along - lo.Along
	if d.o.Vertical {
		inner = hi.Across - lo.Across
	}
	left := svgMargin + (width-inner)/2
	if d.o.Vertical {
		w.ox, w.oy = left-lo.Across, svgMargin+title+hi.Along
	} else {
		w.ox, w.oy = left-lo.Along, svgMargin+title-lo.Across
	}
	width, height = math.Ceil(width+2*svgMargin), math.Ceil(height+title+2*svgMargin)
	scale := d.scale(width, height)
	w.numbers(`<svg xmlns="http://www.w3.org/2000/svg" class="fst" role="img" width="`, width*scale, `" height="`, height*scale,
		`" viewBox="0 0 `, width, " ", height, `" font-size="`, d.size, "\">\n")
	if d.o.Title != "" {
		w.text("<title>")
		w.escaped(d.o.Title)
		w.text("</title>\n")
	}
	w.text(svgStyle)
	w.text("<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n")
	if d.o.Title != "" {
		w.numbers(`<text class="t" text-anchor="middle" x="`, width/2, `" y="`, svgMargin+1.1*d.size, `" font-size="`, 1.15*d.size, `">`)
		w.escaped(d.o.Title)
		w.text("</text>\n")
	}
	if len(d.states) == 0 {
		w.numbers(`<text text-anchor="middle" x="`, width/2, `" y="`, svgMargin+title+1.3*d.size, "\">no states</text>\n")
	}
	if err := w.shapes(); err != nil {
		return err
	}
	w.text("</svg>\n")
	return nil
}

// shapes writes what the machine is of: arcs first, labels last, so that lines are under states,
// and letters over all.
func (w *svgOut) shapes() error {
	d := w.d
	for k, i := range d.edges {
		w.curve(&d.arcs[i], d.layout.Edges[k].Curve)
		if err := d.look(); err != nil {
			return err
		}
	}
	for q := range d.states {
		if s := &d.states[q]; s.loop >= 0 {
			w.curve(&d.arcs[s.loop], d.graph.Nodes[q].LoopCurve(d.layout.Nodes[q]))
		}
	}
	for q := range d.states {
		w.state(q)
		if err := d.look(); err != nil {
			return err
		}
	}
	for k, i := range d.edges {
		x, y := w.place(d.layout.Edges[k].Label)
		w.block(&d.arcs[i].block, x, y)
		if err := d.look(); err != nil {
			return err
		}
	}
	for q := range d.states {
		if s := &d.states[q]; s.loop >= 0 {
			x, y := w.place(d.layout.Nodes[q])
			n := &d.graph.Nodes[q]
			if rise := n.HalfAcross + n.Radius + n.Loop.Rise; d.o.Vertical {
				x += rise
			} else {
				y -= rise
			}
			w.block(&d.arcs[s.loop].block, x, y)
			if err := d.look(); err != nil {
				return err
			}
		}
	}
	return nil
}

// scale is what makes the picture fit the page, where there is one; 1 at most.
func (d *svgPicture) scale(width, height float64) float64 {
	const perInch = 96
	pageWidth, pageHeight := float64(d.o.Width)*perInch, float64(d.o.Height)*perInch
	if !d.o.Portrait {
		pageWidth, pageHeight = pageHeight, pageWidth
	}
	scale := 1.0
	if pageWidth > 0 {
		scale = min(scale, pageWidth/width)
	}
	if pageHeight > 0 {
		scale = min(scale, pageHeight/height)
	}
	return scale
}

// curve draws a line with an arrow's head at its end.
func (w *svgOut) curve(a *svgArc, c []layered.Point) {
	n := len(c)
	tip, from := c[n-1], c[n-2]
	if math.Hypot(tip.Along-from.Along, tip.Across-from.Across) < 1e-6 {
		from = c[n-3]
	}
	dx, dy := tip.Along-from.Along, tip.Across-from.Across
	length := math.Hypot(dx, dy)
	dx, dy = dx/length, dy/length
	long, broad := 9*w.unit, 3.3*w.unit
	at := func(along, aside float64) layered.Point {
		return layered.Point{Along: tip.Along - along*dx - aside*dy, Across: tip.Across - along*dy + aside*dx}
	}
	w.text(`<g class="a"><path d="M`)
	for i, p := range c {
		if i >= n-2 { // the line ends within the head
			p.Along, p.Across = p.Along-0.8*long*dx, p.Across-0.8*long*dy
		}
		switch {
		case i%3 == 1:
			w.text("C")
		case i > 0:
			w.text(" ")
		}
		x, y := w.place(p)
		w.numbers("", x, " ", y)
	}
	w.text(`"/><path class="h" d="M`)
	for i, p := range []layered.Point{tip, at(long, broad), at(0.8*long, 0), at(long, -broad)} {
		if i > 0 {
			w.text("L")
		}
		x, y := w.place(p)
		w.numbers("", x, " ", y)
	}
	w.text("Z\"/>")
	if a.more > 0 {
		w.text("<title>")
		w.text(strconv.Itoa(len(a.labels) + a.more))
		w.text(" arcs</title>")
	}
	w.text("</g>\n")
}

func (w *svgOut) state(q int) {
	s, n := &w.d.states[q], &w.d.graph.Nodes[q]
	x, y := w.place(w.d.layout.Nodes[q])
	w.text(`<g class="s`)
	if s.start {
		w.text(" i")
	}
	w.text(`">`)
	half := n.HalfAlong + n.HalfAcross
	shape := func(class string, r float64) {
		if half == 0 {
			w.numbers(`<circle class="`+class+`" cx="`, x, `" cy="`, y, `" r="`, r, `"/>`)
			return
		}
		w.numbers(`<rect class="`+class+`" x="`, x-half-r, `" y="`, y-r, `" width="`, 2*(half+r), `" height="`, 2*r, `" rx="`, r, `"/>`)
	}
	shape("n", n.Radius)
	if s.final {
		shape("n e", n.Radius-svgDouble*w.unit)
	}
	w.numbers(`<text text-anchor="middle" x="`, x, `" y="`, y+0.35*w.d.size, `">`)
	w.label(svgLabel{symbols: s.name, weight: s.weight})
	w.text("</text></g>\n")
}

func (w *svgOut) label(l svgLabel) {
	if l.whole != "" {
		w.text("<title>")
		w.escaped(l.whole)
		w.text("</title>")
	}
	w.escaped(l.symbols)
	if l.weight != "" {
		w.text(`<tspan class="w">`)
		w.escaped(l.weight)
		w.text("</tspan>")
	}
}

// block writes labels beside the place of a line: above it, or to its right where the
// machine is drawn upwards.
func (w *svgOut) block(b *svgBlock, x, y float64) {
	size := w.d.size
	left, top := x-b.width/2, y-svgGap*w.unit-b.height
	if w.d.o.Vertical {
		left, top = x+1.5*svgGap*w.unit, y-b.height/2
	}
	for i, column := range b.columns {
		anchor, at := "start", left
		if !w.d.o.Vertical {
			anchor, at = "middle", left+b.widths[i]/2
		}
		for j, l := range column {
			w.numbers(`<text text-anchor="`+anchor+`" x="`, at, `" y="`, top+(float64(j)+0.82)*svgLine*size, `">`)
			w.label(l)
			w.text("</text>\n")
		}
		left += b.widths[i] + svgColumnGap*size
	}
}
