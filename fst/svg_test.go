package fst

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst/internal/layered"
	"github.com/tropica-fst/tropica/semiring"
)

// svgShapes is what a test looks at of a picture.
type svgShapes struct {
	nodes  [][4]float64 // left, top, right, bottom of outer borders
	texts  []string
	titles []string
	labels [][4]float64 // of the labels of arcs
	width  float64
	height float64
}

func parseSVG(t *testing.T, b []byte) (s svgShapes) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(b))
	var classes []string
	var text *[4]float64
	var written, title strings.Builder
	inTitle := false
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return s
		}
		if err != nil {
			t.Fatalf("the picture is no XML: %v\n%s", err, b)
		}
		switch x := tok.(type) {
		case xml.StartElement:
			a := map[string]string{}
			for _, attr := range x.Attr {
				a[attr.Name.Local] = attr.Value
			}
			f := func(name string) float64 {
				v, err := strconv.ParseFloat(a[name], 64)
				if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
					t.Fatalf("<%s>: %s=%q", x.Name.Local, name, a[name])
				}
				return v
			}
			classes = append(classes, a["class"])
			switch {
			case x.Name.Local == "svg":
				s.width, s.height = f("width"), f("height")
			case x.Name.Local == "circle" && a["class"] == "n":
				s.nodes = append(s.nodes, [4]float64{f("cx") - f("r"), f("cy") - f("r"), f("cx") + f("r"), f("cy") + f("r")})
			case x.Name.Local == "rect" && a["class"] == "n":
				s.nodes = append(s.nodes, [4]float64{f("x"), f("y"), f("x") + f("width"), f("y") + f("height")})
			case x.Name.Local == "title":
				inTitle = true
				title.Reset()
			case x.Name.Local == "text":
				written.Reset()
				text = &[4]float64{f("x"), f("y") - 11, f("x"), f("y") + 3}
			}
		case xml.CharData:
			if inTitle {
				title.Write(x)
			} else {
				written.Write(x)
			}
		case xml.EndElement:
			class := ""
			for _, c := range classes[:len(classes)-1] {
				class += " " + c
			}
			classes = classes[:len(classes)-1]
			if x.Name.Local == "title" {
				inTitle = false
				s.titles = append(s.titles, title.String())
			}
			if x.Name.Local == "text" {
				s.texts = append(s.texts, written.String())
				if !strings.HasPrefix(class, " fst s") { // not the name of a state
					w := svgTextWidth(written.String(), 14) / 2
					text[0], text[2] = text[0]-w, text[2]+w
					s.labels = append(s.labels, *text)
				}
			}
		}
	}
}

func meets(a, b [4]float64) bool {
	const touch = 0.02 // coordinates are rounded
	return a[0]+touch < b[2] && b[0]+touch < a[2] && a[1]+touch < b[3] && b[1]+touch < a[3]
}

// States do not overlap, labels lie neither on states nor on one another, all is within the
// picture, and every label of the machine stands in it.
func TestWriteSVG(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for trial := range 150 {
		n := 1 + rng.IntN(9)
		v := NewVector[semiring.Tropical](0)
		v.AddStates(n)
		v.SetStart(0)
		for range rng.IntN(3 * n) {
			v.AddArc(StateID(rng.IntN(n)), Arc[semiring.Tropical]{Label(rng.IntN(300)), Label(rng.IntN(9)), semiring.Tropical(rng.IntN(3)), StateID(rng.IntN(n))})
		}
		v.SetFinal(StateID(rng.IntN(n)), semiring.Tropical(rng.IntN(2)*1000))
		var b bytes.Buffer
		if err := WriteSVG(&b, v, nil); err != nil {
			t.Fatal(err)
		}
		s := parseSVG(t, b.Bytes())
		if len(s.nodes) != n {
			t.Fatalf("trial %d: %d states drawn, want %d", trial, len(s.nodes), n)
		}
		all := append(s.nodes[:len(s.nodes):len(s.nodes)], s.labels...)
		for i, x := range all {
			if x[0] < 0 || x[1] < 0 || x[2] > s.width || x[3] > s.height {
				t.Fatalf("trial %d: %v is beyond the picture (%v by %v)", trial, x, s.width, s.height)
			}
			for _, y := range all[:i] {
				if meets(x, y) {
					t.Fatalf("trial %d: %v and %v overlap\n%s", trial, x, y, b.Bytes())
				}
			}
		}
		drawn := strings.Join(s.texts, "\n")
		for q := range StateID(n) {
			for _, e := range v.Arcs(q) {
				l := func(l Label) string {
					if l == 0 {
						return "ε"
					}
					return fmt.Sprint(l)
				}
				if want := l(e.ILabel) + ":" + l(e.OLabel); !strings.Contains(drawn, want) {
					t.Fatalf("trial %d: label %s is missing", trial, want)
				}
			}
		}
		for _, o := range []*SVGOptions{{DOTOptions: DOTOptions{Vertical: true, Title: "a <title>"}}, {DOTOptions: DOTOptions{Width: 2, Height: 1}}} {
			var one, two bytes.Buffer
			if err := WriteSVG(&one, v, o); err != nil {
				t.Fatal(err)
			}
			s := parseSVG(t, one.Bytes())
			if len(s.nodes) != n || o.Width > 0 && (s.width > 96 || s.height > 192) {
				t.Fatalf("trial %d: %d states drawn, want %d, on %v by %v", trial, len(s.nodes), n, s.width, s.height)
			}
			for i, x := range s.nodes {
				for _, y := range s.nodes[:i] {
					if meets(x, y) {
						t.Fatalf("trial %d: states %v and %v overlap", trial, x, y)
					}
				}
			}
			if WriteSVG(&two, v, o); !bytes.Equal(one.Bytes(), two.Bytes()) {
				t.Fatalf("trial %d: two pictures of one machine", trial)
			}
		}
	}
}

func TestWriteSVGSymbols(t *testing.T) {
	table := NewSymbolTable("odd")
	symbols := []string{"<eps>", "a&b", "\"</svg>", "\x00\xff", "漢字", strings.Repeat("long", 100)}
	for _, s := range symbols {
		table.Add(s)
	}
	v := NewVector[semiring.Tropical](0)
	v.AddStates(2)
	v.SetStart(0)
	v.SetFinal(1, semiring.Tropical(math.Inf(-1)))
	for l := range Label(len(symbols)) {
		v.AddArc(0, Arc[semiring.Tropical]{l, l, 0, 1})
	}
	o := &SVGOptions{DOTOptions: DOTOptions{InputSymbols: table, OutputSymbols: table, Acceptor: true}}
	var b bytes.Buffer
	if err := WriteSVG(&b, v, o); err != nil {
		t.Fatal(err)
	}
	s := parseSVG(t, b.Bytes())
	got := strings.Join(s.texts, " ")
	for _, want := range []string{"1/-∞", "ε", "a&b", "\"</svg>", "\ufffd\ufffd", "漢字", "longlonglon…"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
	v.AddArc(1, Arc[semiring.Tropical]{77, 77, 0, 1})
	var missing *MissingSymbolError
	if err := WriteSVG(io.Discard, v, o); !errors.As(err, &missing) {
		t.Errorf("error %v, want a MissingSymbolError", err)
	}
}

// Many arcs between two states are one line with some of their labels and a count; many states
// are an error before any work, where there is a bound.
func TestWriteSVGLarge(t *testing.T) {
	v := NewVector[semiring.Tropical](0)
	v.AddStates(2)
	v.SetStart(0)
	for l := range Label(100_000) {
		v.AddArc(0, Arc[semiring.Tropical]{l, l, 0, 1})
	}
	var b bytes.Buffer
	if err := WriteSVG(&b, v, nil); err != nil {
		t.Fatal(err)
	}
	if s := parseSVG(t, b.Bytes()); !strings.Contains(strings.Join(s.texts, " "), "… 99968 more") {
		t.Errorf("labels %q, without the count of the others", s.texts)
	}
	v.AddStates(5000)
	var size *layered.SizeError
	if err := WriteSVG(io.Discard, v, nil); err != nil {
		t.Errorf("without a bound: %v", err)
	}
	if err := WriteSVG(io.Discard, v, &SVGOptions{Vertices: 4000}); !errors.As(err, &size) || !errors.Is(err, ErrPictureSize) {
		t.Errorf("error %v, want that the machine is too large", err)
	}
	b.Reset()
	if err := WriteSVG(&b, NewVector[semiring.Log](0), nil); err != nil {
		t.Fatal(err)
	}
	if s := parseSVG(t, b.Bytes()); len(s.nodes) != 0 || strings.Join(s.texts, "") != "no states" {
		t.Errorf("the machine without states: %q", s.texts)
	}
}

// Sizes that make no picture are errors, not pictures of infinite width or with letters of size -3.
func TestWriteSVGSizes(t *testing.T) {
	v := NewVector[semiring.Tropical](0)
	v.AddStates(1)
	v.SetStart(0)
	inf := float32(math.Inf(1))
	for _, o := range []DOTOptions{{RankSep: inf}, {RankSep: -1}, {NodeSep: -1}, {NodeSep: 1e30}, {Width: -1}, {Height: inf},
		{FontSize: -3}, {FontSize: 1 << 30}} {
		var out strings.Builder
		err := WriteSVG(&out, v, &SVGOptions{DOTOptions: o})
		if err == nil || !strings.Contains(err.Error(), "not within") || out.Len() > 0 {
			t.Errorf("%+v: %v, %d bytes", o, err, out.Len())
		}
	}
	for _, o := range []DOTOptions{{}, {RankSep: 1000, NodeSep: 1000, Width: 1000, Height: 1000, FontSize: 10000}} {
		if err := WriteSVG(io.Discard, v, &SVGOptions{DOTOptions: o}); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// Each symbol of a label keeps its place and is seen, whatever its length and script.
func TestWriteSVGScripts(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, c := range []struct{ in, out, want string }{
		{long, "b", long[:39] + "…:b"},
		{long, long, long[:39] + "…:" + long[:39] + "…"},
		{"a", "β", "a:β"},
		{"עב", "قل", "\u2068עב\u2069:\u2068قل\u2069"}, // would be shown as output:input
		{"\u202eab", "c", "\ufffdab:c"},               // would turn the output round, too
		{"\u2069א", "c", "\u2068\ufffdא\u2069:c"},
	} {
		v := NewVector[semiring.Tropical](0)
		v.AddStates(2)
		v.SetStart(0)
		table := SymbolsOf("<eps>", c.in)
		out := SymbolsOf("<eps>", c.out)
		v.AddArc(0, Arc[semiring.Tropical]{1, 1, 0, 1})
		v.SetFinal(1, 0)
		var b bytes.Buffer
		if err := WriteSVG(&b, v, &SVGOptions{DOTOptions: DOTOptions{InputSymbols: table, OutputSymbols: out}}); err != nil {
			t.Fatal(err)
		}
		s := parseSVG(t, b.Bytes())
		if !slices.Contains(s.texts, c.want) {
			t.Errorf("%q:%q: the picture has %q, want %q", c.in, c.out, s.texts, c.want)
		}
		// What is cut short is whole in a title, and only that has one.
		if cut := c.in == long; slices.Contains(s.titles, c.in+":"+c.out) != cut || !cut && len(s.titles) > 0 {
			t.Errorf("%q:%q: titles %q", c.in, c.out, s.titles)
		}
	}
	if a, b := svgTextWidth("\u2068עב\u2069", 14), svgTextWidth("עב", 14); a != b {
		t.Errorf("isolated text is %v wide, want %v", a, b)
	}
}

// endingContext ends when it is looked at once more than left times.
type endingContext struct {
	context.Context
	left int
}

func (c *endingContext) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// The end of a context ends the work wherever it is, with the context's error.
func TestWriteSVGContext(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	rng := rand.New(rand.NewPCG(5, 5))
	const n = 3000
	v := NewVector[semiring.Tropical](0)
	v.AddStates(n)
	v.SetStart(0)
	for q := range StateID(n) {
		for range 2 {
			v.AddArc(q, Arc[semiring.Tropical]{1, 2, 0, StateID(rng.IntN(n))})
		}
	}
	whole := &endingContext{context.Background(), math.MaxInt}
	var want bytes.Buffer
	if err := WriteSVG(&want, v, &SVGOptions{Ctx: whole}); err != nil {
		t.Fatal(err)
	}
	looks := math.MaxInt - whole.left
	if looks < 100 {
		t.Errorf("the context is looked at %d times", looks)
	}
	// The last looks are between states and arcs as they are written.
	written := 0
	for left := 0; left < looks; left += min(looks/8, max(1, looks-2-left)) {
		ctx := &endingContext{context.Background(), left}
		var b bytes.Buffer
		if err := WriteSVG(&b, v, &SVGOptions{Ctx: ctx}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %d looks of %d: error %v", left, looks, err)
		}
		if ctx.left < -3 {
			t.Errorf("after %d looks of %d: looked %d times more", left, looks, -ctx.left)
		}
		if b.Len() > 0 {
			written++
		}
	}
	if written == 0 || written > 3 {
		t.Errorf("something was written in %d calls that were ended", written)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var b bytes.Buffer
	if err := WriteSVG(&b, v, &SVGOptions{Ctx: ctx}); err != nil || !bytes.Equal(b.Bytes(), want.Bytes()) {
		t.Errorf("a context that does not end: error %v, or another picture", err)
	}
	cancel()
	b.Reset()
	if err := WriteSVG(&b, v, &SVGOptions{Ctx: ctx}); !errors.Is(err, context.Canceled) || b.Len() > 0 {
		t.Errorf("error %v and %d bytes, want that the context was ended", err, b.Len())
	}
}
