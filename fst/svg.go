package fst

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/tropica-fst/tropica/fst/internal/layered"
	"github.com/tropica-fst/tropica/semiring"
)

// SVGOptions adjusts WriteSVG; nil is the same as the zero value. Of the DOTOptions, zero Width and
// Height draw at the natural size; otherwise the drawing is made smaller, where it must be, to fit
// a page of that size, whose sides are exchanged unless Portrait is set. Exact means nothing here.
type SVGOptions struct {
	DOTOptions

	// Vertices bounds the states, and the places where drawn arcs pass a column of states or of
	// labels; beyond it the error is ErrPictureSize. Zero is no bound: beyond some thousands
	// the picture is coarser (see WriteSVG).
	Vertices int

	// Bytes bounds the memory of the layout, as it is reckoned by states, drawn arcs and labels
	// while they are gathered; beyond it the error is ErrPictureSize. Zero is no bound.
	Bytes int64

	// Ctx, where it is not nil, ends the work: WriteSVG returns its error a tenth of a second
	// or so after its end.
	Ctx context.Context

	// Labels is how many labels are shown of arcs that lead from one state to the same other
	// one, and are drawn as one; zero is 32. The count of the others is shown, too. Of a symbol
	// or a weight with more than 40 characters 39 are shown; the label has a title with all of
	// them, which viewers show under the pointer.
	Labels int
}

// ErrPictureSize reports a machine that is larger than SVGOptions.Vertices or Bytes allow for a
// picture. WriteDOT draws any machine, for other programs to lay out.
var ErrPictureSize = errors.New("too large to be laid out")

func pictureSizeError(err error) error {
	return fmt.Errorf("drawing as SVG: %w: %w", ErrPictureSize, err)
}

// WriteSVG draws f as a scalable picture, without help from other programs: states in layers from
// left to right in the order in which arcs lead from the start, which is bold; final states with a
// double border and their weight; arcs that lead from one state to the same other one as one, with
// their labels beneath one another; ε for label 0 where its table has one of the usual names for
// it, or there is none. Symbols of more than 40 characters are cut; each keeps its place, whichever
// way its script runs. Labels lie neither on states nor on one another. Where it is looked at in a
// dark surrounding, the picture is dark.
//
// The same machine always gives the same bytes. A label that its table lacks is a
// MissingSymbolError, a machine beyond SVGOptions.Vertices ErrPictureSize, and the end of
// SVGOptions.Ctx its own error; nothing is written before the whole is laid out.
//
// Cost: up to 4,000 states and drawn arcs together are laid out with all care. That takes about the
// square of their number and of the places where arcs pass layers, within a bound on steps:
// milliseconds for a hundred states, a few seconds at most. With more the picture is coarser: long
// arcs go straight ahead, and lines are less straight and cross more often. Then time is linear in
// states and arcs but for sorting, plus less than a second. Memory is about a kilobyte for each
// drawn arc: 40,000 states with two arcs each take some seconds.
func WriteSVG[W semiring.Codec[W]](w io.Writer, f Fst[W], opts *SVGOptions) error {
	o := SVGOptions{}
	if opts != nil {
		o = *opts
	}
	orDefault(&o.Labels, 32)
	orDefault(&o.RankSep, 0.4)
	orDefault(&o.NodeSep, 0.25)
	orDefault(&o.FontSize, 14)
	if err := o.checkSizes(); err != nil {
		return fmt.Errorf("drawing as SVG: %w", err)
	}
	if o.Precision == 0 && !o.Exact {
		o.Precision = 5
	}
	if o.Format == 0 {
		o.Format = 'g'
	}
	o.Acceptor = o.Acceptor && PropertiesOf(f, Acceptor).Has(Acceptor)
	d := &svgPicture{o: &o, size: float64(o.FontSize)}
	if err := d.ended(); err != nil {
		return err
	}
	if err := collectSVG(d, expanded(f), layoutOf[W]()); err != nil {
		return err
	}
	if err := Err(f); err != nil {
		return err
	}
	if err := d.lay(); err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	if err := d.write(out); err != nil {
		return err
	}
	return out.Flush()
}

// ended is the error of the context, if it has ended.
func (d *svgPicture) ended() error {
	if d.o.Ctx == nil || d.o.Ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("drawing as SVG: %w", d.o.Ctx.Err())
}

// look is ended for loops: it looks at the context once in some calls.
func (d *svgPicture) look() error {
	const often = 1 << 10
	if d.looks++; d.looks%often != 0 {
		return nil
	}
	return d.ended()
}

// checkSizes refuses sizes that make no picture: DOT's are for Graphviz to judge.
func (o *SVGOptions) checkSizes() error {
	const inches, points = 1000, 10000
	for _, s := range []struct {
		name  string
		value float32
	}{{"width", o.Width}, {"height", o.Height}, {"distance of ranks", o.RankSep}, {"distance of nodes", o.NodeSep}} {
		if !(s.value >= 0 && s.value <= inches) {
			return fmt.Errorf("the %s is %v inches, which is not within 0 and %d", s.name, s.value, inches)
		}
	}
	if o.FontSize < 1 || o.FontSize > points {
		return fmt.Errorf("the size of letters is %d points, which is not within 1 and %d", o.FontSize, points)
	}
	return nil
}

// svgPicture is a machine as it is to be drawn, without its weight type.
type svgPicture struct {
	o      *SVGOptions
	size   float64 // of letters
	states []svgState
	arcs   []svgArc
	graph  layered.Graph
	edges  []int // the arc that each edge of graph draws
	layout *layered.Layout
	looks  int
	bytes  int64 // that the layout will hold of what was gathered
}

// What a state, a drawn arc and a label take at the height of the layout, about: a vertex with its
// neighbours, curves, edges of the simplex; beside texts. Of a chain of 200,000 states, whose
// picture takes 317 MB (fst info of it 24), --limit_bytes lets 260M pass and not 240M:
// /usr/bin/time -f %M fst draw --format=svg chain.fst.
const svgStateBytes, svgArcBytes, svgLabelBytes = 600, 750, 100

// hold counts what the layout will hold more, and is an error beyond the bound.
func (d *svgPicture) hold(bytes int) error {
	if d.bytes += int64(bytes); d.o.Bytes > 0 && d.bytes > d.o.Bytes {
		return fmt.Errorf("drawing as SVG: %w: the layout of %d states and %d arcs, which are not all, takes more than %d bytes", ErrPictureSize, len(d.states), len(d.arcs), d.o.Bytes)
	}
	return nil
}

type svgState struct {
	name, weight string
	final, start bool
	loop         int // the index of its arc, -1 is none
	width        float64
}

// svgArc is all arcs from one state to one state.
type svgArc struct {
	from, to StateID
	labels   []svgLabel
	more     int // labels not shown
	block    svgBlock
}

// svgLabel is one line of text; whole is all of it where something is cut short, and otherwise "".
type svgLabel struct{ symbols, weight, whole string }

// collectSVG gathers what is to be drawn of f, within the bounds of d.
func collectSVG[W semiring.Codec[W]](d *svgPicture, f Expanded[W], l layout) error {
	o := d.o
	n := f.NumStates()
	if o.Vertices > 0 && n > o.Vertices {
		return pictureSizeError(&layered.SizeError{Bound: o.Vertices})
	}
	var tmp []byte
	weight := func(w W) string {
		if !o.ShowWeightOne && semiring.IsOne(w) {
			return ""
		}
		tmp = appendWeight(append(tmp[:0], '/'), w, l, o.Format, o.Precision)
		return svgInfinity(string(tmp))
	}
	d.graph.Start = int(f.Start())
	first := map[StateID]int{}
	for q := range StateID(n) {
		var err error
		if tmp, err = appendName(tmp[:0], q, o.StateSymbols, Label(q), "state"); err != nil {
			return err
		}
		s := svgState{name: string(tmp), start: q == f.Start(), loop: -1}
		if w := f.Final(q); !semiring.IsZero(w) {
			s.final, s.weight = true, weight(w)
		}
		arcs := f.Arcs(q)
		// The drawn arcs go in the order of their first arc, which is the machine's.
		if len(first) > 1<<8 { // clearing takes as long as it is large
			first = map[StateID]int{}
		}
		clear(first)
		for i := range arcs {
			if err := d.look(); err != nil {
				return err
			}
			e := &arcs[i]
			k, ok := first[e.NextState]
			if !ok {
				k = len(d.arcs)
				first[e.NextState] = k
				if o.Vertices > 0 && k > o.Vertices {
					return pictureSizeError(&layered.SizeError{Bound: o.Vertices})
				}
				d.arcs = append(d.arcs, svgArc{from: q, to: e.NextState})
				if err := d.hold(svgArcBytes); err != nil {
					return err
				}
				if e.NextState == q {
					s.loop = k
				}
			}
			a := &d.arcs[k]
			if len(a.labels) == o.Labels {
				a.more++
				continue
			}
			in, whole, err := svgSymbol(q, o.InputSymbols, e.ILabel, "input label")
			if err != nil {
				return err
			}
			if !o.Acceptor {
				out, wholeOut, err := svgSymbol(q, o.OutputSymbols, e.OLabel, "output label")
				if err != nil {
					return err
				}
				in, whole = in+":"+out, whole+":"+wholeOut
			}
			wholeWeight := weight(e.Weight)
			shown := svgLabel{symbols: in, weight: svgShorten(wholeWeight)}
			if whole += wholeWeight; shown.symbols+shown.weight != whole {
				shown.whole = whole
			}
			a.labels = append(a.labels, shown)
			if err := d.hold(svgLabelBytes + len(shown.symbols) + len(shown.weight) + len(shown.whole)); err != nil {
				return err
			}
		}
		d.states = append(d.states, s)
		if err := d.hold(svgStateBytes + len(s.name)); err != nil {
			return err
		}
		if err := d.look(); err != nil {
			return err
		}
	}
	return nil
}

// svgSymbol is a label as it is drawn, and without its being cut short.
func svgSymbol(q StateID, table *SymbolTable, l Label, what string) (shown, whole string, err error) {
	if l == Epsilon && table == nil {
		return "ε", "ε", nil
	}
	s, err := appendName(nil, q, table, l, what)
	if err != nil {
		return "", "", err
	}
	if l == Epsilon && slices.Contains([]string{"<eps>", "<epsilon>", "eps", "epsilon"}, string(s)) {
		return "ε", "ε", nil
	}
	return svgName(svgShorten(string(s))), svgName(string(s)), nil
}

func svgInfinity(s string) string {
	switch s {
	case "/Infinity":
		return "/∞"
	case "/-Infinity":
		return "/-∞"
	}
	return s
}

// The shapes, in pixels, at letters of 14.
const (
	svgDouble   = 3.5 // between the borders of a final state
	svgLoopRise = 19
	svgGap      = 4 // between a label and its line
	svgMargin   = 12
)

// lay makes the graph and has it laid out.
func (d *svgPicture) lay() error {
	unit := d.size / 14
	d.graph.Nodes = slices.Grow(d.graph.Nodes, len(d.states))
	d.graph.Edges, d.edges = slices.Grow(d.graph.Edges, len(d.arcs)), slices.Grow(d.edges, len(d.arcs))
	for i := range d.arcs {
		d.arcs[i].block = d.arrange(&d.arcs[i])
		if err := d.look(); err != nil {
			return err
		}
	}
	for i := range d.states {
		s := &d.states[i]
		s.name = svgName(s.name)
		s.width = svgTextWidth(s.name+s.weight, d.size)
		x := layered.Node{Radius: max(17*unit, min(s.width/2+5*unit, 24*unit))}
		half := max(0, s.width/2+6*unit-x.Radius)
		if s.final {
			x.Radius += svgDouble * unit
		}
		if d.o.Vertical {
			x.HalfAcross = half
		} else {
			x.HalfAlong = half
		}
		if s.loop >= 0 {
			b := &d.arcs[s.loop].block
			x.Loop = layered.Loop{Rise: svgLoopRise * unit, Along: b.width, Across: b.height + svgGap*unit, Less: true}
			if d.o.Vertical {
				x.Loop = layered.Loop{Rise: svgLoopRise * unit, Along: b.height, Across: b.width + 1.5*svgGap*unit}
			}
		}
		d.graph.Nodes = append(d.graph.Nodes, x)
	}
	for i := range d.arcs {
		a := &d.arcs[i]
		if a.from == a.to {
			continue
		}
		e := layered.Edge{From: int(a.from), To: int(a.to), Along: a.block.width, Less: a.block.height + svgGap*unit, More: 2 * unit}
		if d.o.Vertical {
			e.Along, e.Less, e.More = a.block.height, 2*unit, a.block.width+1.5*svgGap*unit
		}
		d.edges = append(d.edges, i)
		d.graph.Edges = append(d.graph.Edges, e)
	}
	var err error
	d.layout, err = layered.Lay(&d.graph, &layered.Options{
		LayerSep: (float64(d.o.RankSep)*72/2 + 6) * cmp.Or(unit, 1), NodeSep: float64(d.o.NodeSep) * 72, EdgeSep: 8 * unit,
		Vertices: d.o.Vertices, Ctx: d.o.Ctx})
	var size *layered.SizeError
	switch {
	case errors.As(err, &size):
		return pictureSizeError(err)
	case err != nil:
		return fmt.Errorf("drawing as SVG: %w", err)
	}
	return nil
}
