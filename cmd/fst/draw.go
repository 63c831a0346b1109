package main

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/fst"
)

// mostShown is the size of a picture, in bytes, above which a warning says so; one of 20000 states
// and 40000 arcs is 24 MB.
const mostShown = 16 << 20

// counter counts what is written to it.
type counter int64

func (n *counter) Write(p []byte) (int, error) {
	*n += counter(len(p))
	return len(p), nil
}

var _ = offer(&tool{name: "draw", args: "[binary.fst [text.dot]]", max: 2,
	looks:   true,
	summary: "Draws a machine, as SVG or in the languages of Graphviz and D2.", about: `
With --format=svg the picture is complete: states in layers, arcs between the same two states as
one, labels apart from one another. It has its natural size unless --width or --height is given;
it is then reduced as far as needed to fit. Symbols and weights of more than 40 characters are cut
short, and shown whole under the pointer. Beyond 4000 states and arcs together the picture is
coarser. --limit_states bounds the states and the places where arcs pass by others, --limit_bytes
the memory of the layout, too.

Other formats are dot, for Graphviz, and with --format=d2 D2. D2 does its own layout and accepts
no sizes except that of letters, if --fontsize is given.

  fst draw --format=svg binary.fst machine.svg
  fst draw --portrait binary.fst | dot -Tpdf > machine.pdf

Time and memory O(states + arcs) for dot and d2. For svg, up to 4000 states and arcs together,
time is about quadratic in the states and the places where arcs pass by others, but a few seconds
at most. Beyond, it is linear but for sorting: 40000 states with two arcs each take some seconds.
--timeout ends it soon.`,
	setup: func(fs *flags.Set) func(*call) error {
		named := naming(fs)
		kind := fs.Enum("format", "dot", []string{"dot", "d2", "svg"}, "What to write")
		format := fs.String("float_format", "g", "Format of numbers: e, f or g")
		fontsize := fs.Int("fontsize", 32, 14, "Size of the letters, in points")
		height := fs.Float("height", 11, "Height of the drawing, in inches")
		nodesep := fs.Float("nodesep", 0.25, "Least distance of nodes, in inches")
		portrait := fs.Bool("portrait", false, "Portrait instead of landscape")
		precision := fs.Int("precision", 32, 5, "Significant digits of numbers")
		ranksep := fs.Float("ranksep", 0.4, "Least distance of ranks, in inches")
		title := fs.String("title", "", "Title of the drawing")
		vertical := fs.Bool("vertical", false, "From bottom to top instead of from left to right")
		width := fs.Float("width", 8.5, "Width of the drawing, in inches")
		return func(c *call) error {
			const digits = 1100 // no number has more
			if *precision > digits {
				return fmt.Errorf("flag --precision: %d is more than %d", *precision, digits)
			}
			if *precision < 0 {
				*precision = 6 // as OpenFst has it
			}
			c.ownStates = *kind == "svg" // the places of the picture, more than states
			t, err := c.machine(0)
			if err != nil {
				return err
			}
			text, err := named(c, t)
			if err != nil {
				return err
			}
			o := &fst.DOTOptions{Acceptor: text.Acceptor, ShowWeightOne: text.ShowWeightOne, Vertical: *vertical,
				Portrait: *portrait, Title: *title, InputSymbols: text.InputSymbols, OutputSymbols: text.OutputSymbols,
				StateSymbols: text.StateSymbols, Width: float32(*width), Height: float32(*height),
				RankSep: float32(*ranksep), NodeSep: float32(*nodesep), FontSize: int(*fontsize), Exact: true,
				Precision: int(*precision)}
			if *format == "e" || *format == "f" { // anything else is g, as in OpenFst
				o.Format = (*format)[0]
			}
			if *kind == "svg" {
				if !fs.Given("width") && !fs.Given("height") {
					o.Width, o.Height = 0, 0
				}
				lim, cancel := c.lib.limits()
				defer cancel()
				so := &fst.SVGOptions{DOTOptions: *o, Vertices: int(min(*c.lib.limitStates, math.MaxInt32)),
					Bytes: *c.lib.limitBytes, Ctx: lim.Ctx}
				var size counter
				err := c.Output(c.arg(1),
					func(w io.Writer) error { return t.WriteSVG(io.MultiWriter(w, &size), t.m, so) })
				if err == nil && size > mostShown {
					c.Warn(c.prog, "the picture is %d MB, which viewers show slowly or not at all: fst info tells of a "+
						"machine of this size, fst shortestpath and fst prune keep what is best of it", size>>20)
				}
				if errors.Is(err, fst.ErrPictureSize) {
					return fmt.Errorf("%w (a greater --limit_states or --limit_bytes allows more; Graphviz draws what "+
						"--format=dot writes)", err)
				}
				return err
			}
			if *kind == "d2" {
				if !fs.Given("fontsize") {
					o.FontSize = 0 // D2's own
				}
				return c.Output(c.arg(1), func(w io.Writer) error { return t.WriteD2(w, t.m, o) })
			}
			return c.Output(c.arg(1), func(w io.Writer) error { return t.WriteDOT(w, t.m, o) })
		}
	}})
