// Package suite erases the weight types of machines in files. A [Suite] is what the tools of
// cmd/fst can do with machines over one weight type.
//
// A weight type gets the richest suite whose constraint it meets, [Component] or
// [Path]. Nothing is instantiated here: package arctypes lists the weight types, and
// its subpackages compile the suites.
package suite

import (
	"errors"
	"fmt"
	"io"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Machine is an fst.Expanded over some weight type. A suite reads it and passes it to its own
// methods only.
type Machine any

// Suite is what the tools can do with machines over one weight type, which is erased here and
// nowhere else. Methods change their first machine in place where they return none, unless they say
// otherwise. Each file of this package has a part of it beside the methods that meet it, so that an
// operation is added in one place.
//
// A weight type gets the richest suite whose constraint it meets; what needs
// more algebra answers with an error that names it.
type Suite interface {
	Basic
	Rules
	Search
	Forms
	Pushdown
	Linear
}

// Basic is what the tools do with any machine: files, symbols, and the operations that need one
// pass.
type Basic interface {
	ArcType() string
	Owns(m Machine) bool
	Read(s *fst.Stream, h *fst.Header) (Machine, error)
	Skip(s *fst.Stream, h *fst.Header) error // passes over what Read would read
	ReadText(r io.Reader, o *fst.ReadTextOptions) (Machine, error)
	Write(w io.Writer, m Machine, o *fst.WriteOptions) error
	WriteText(w io.Writer, m Machine, o *fst.WriteTextOptions) error
	Mutable(m Machine) Machine // a machine that may be changed: m itself if it is one
	Frozen(m Machine) Machine
	Empty() Machine
	SetSymbols(m Machine, in, out *fst.SymbolTable)
	Compose(a, b Machine, o *ops.ComposeOptions) (Machine, error)
	Intersect(a, b Machine, o *ops.ComposeOptions) (Machine, error)
	Union(a, b Machine, lim ops.Limits) error
	Concat(a, b Machine, lim ops.Limits) error
	Closure(m Machine, kind ops.ClosureKind, lim ops.Limits) error
	Within(m Machine, lim ops.Limits) error // a LimitError where m is beyond lim
	Size(m Machine) ops.Progress
	Connect(m Machine, workers int)
	ArcSort(m Machine, side ops.Side, workers int)
	TopSort(m Machine) error
	Invert(m Machine)
	Project(m Machine, side ops.Side)
	Reverse(m Machine, o *ops.ReverseOptions) (Machine, error)
	MapWeights(m Machine, kind string, o *MapOptions) (Machine, error)
	Equal(a, b Machine, delta float64) *ops.Difference
	Isomorphic(a, b Machine, delta float64) (bool, error)
}

// EncodeTable encodes and decodes any number of machines.
type EncodeTable interface {
	Encode(m Machine) // in place
	Decode(m Machine) error
	Len() int // how many labels it has
	Write(w io.Writer) error
}

// Component is the suite of weights that are numbers, or tuples of them.
type Component[W semiring.Component[W]] struct{}

// Path adds what needs the path property.
type Path[W semiring.PathComponent[W]] struct{ Component[W] }

// errLacks says that a tool needs more of the weights than they have.
func errLacks(arcType, what, whatFor string) error {
	return fmt.Errorf("arc type %s lacks %s, which %s needs", arcType, what, whatFor)
}

func (Component[W]) ArcType() string { var w W; return w.ArcType() }

func (Component[W]) Read(s *fst.Stream, h *fst.Header) (Machine, error) { return fst.ReadBody[W](s, h) }

func (Component[W]) Skip(s *fst.Stream, h *fst.Header) error { return fst.SkipBody[W](s, h) }

func (Component[W]) ReadText(r io.Reader, o *fst.ReadTextOptions) (Machine, error) {
	return fst.ReadText[W](r, o)
}

func (Component[W]) Write(w io.Writer, m Machine, o *fst.WriteOptions) error {
	return fst.Write(w, m.(fst.Expanded[W]), o)
}

func (Component[W]) WriteText(w io.Writer, m Machine, o *fst.WriteTextOptions) error {
	return fst.WriteText(w, m.(fst.Fst[W]), o)
}

func (Component[W]) Mutable(m Machine) Machine {
	if v, ok := m.(*fst.Vector[W]); ok {
		return v
	}
	f := m.(fst.Expanded[W])
	return ops.MapInto(f, func(w W) W { return w })
}

func (Component[W]) Frozen(m Machine) Machine { return fst.NewConst(m.(fst.Expanded[W])) }

func (Component[W]) Empty() Machine { return fst.NewVector[W](0) }

func (Component[W]) SetSymbols(m Machine, in, out *fst.SymbolTable) {
	v := m.(*fst.Vector[W])
	v.SetInputSymbols(in)
	v.SetOutputSymbols(out)
}

func (Component[W]) Compose(a, b Machine, o *ops.ComposeOptions) (Machine, error) {
	return ops.Compose(a.(fst.Fst[W]), b.(fst.Fst[W]), o)
}

func (Component[W]) Intersect(a, b Machine, o *ops.ComposeOptions) (Machine, error) {
	return ops.Intersect(a.(fst.Fst[W]), b.(fst.Fst[W]), o)
}

func (Component[W]) Union(a, b Machine, lim ops.Limits) error {
	return ops.Union(a.(*fst.Vector[W]), b.(fst.Expanded[W]), lim)
}

func (Component[W]) Concat(a, b Machine, lim ops.Limits) error {
	return ops.Concat(a.(*fst.Vector[W]), b.(fst.Expanded[W]), lim)
}

func (Component[W]) Closure(m Machine, kind ops.ClosureKind, lim ops.Limits) error {
	return ops.Closure(m.(*fst.Vector[W]), kind, lim)
}

func (Component[W]) Within(m Machine, lim ops.Limits) error {
	return ops.CheckLimits("CheckLimits", m.(fst.Expanded[W]), lim)
}

func (Component[W]) Size(m Machine) ops.Progress {
	f := m.(fst.Expanded[W])
	return ops.SizeOf[W](f.NumStates(), int64(fst.NumArcs(f)))
}

func (Component[W]) Connect(m Machine, workers int) { ops.ConnectWorkers(m.(*fst.Vector[W]), workers) }
func (Component[W]) ArcSort(m Machine, side ops.Side, workers int) {
	ops.ArcSortWorkers(m.(*fst.Vector[W]), side, workers)
}
func (Component[W]) TopSort(m Machine) error          { return ops.TopSort(m.(*fst.Vector[W])) }
func (Component[W]) Invert(m Machine)                 { ops.Invert(m.(*fst.Vector[W])) }
func (Component[W]) Project(m Machine, side ops.Side) { ops.Project(m.(*fst.Vector[W]), side) }

func (Component[W]) Reverse(m Machine, o *ops.ReverseOptions) (Machine, error) {
	return ops.Reverse[W, W](m.(fst.Expanded[W]), o)
}

func (Component[W]) Equal(a, b Machine, delta float64) *ops.Difference {
	return ops.Compare(a.(fst.Expanded[W]), b.(fst.Expanded[W]), delta)
}

func (Component[W]) Isomorphic(a, b Machine, delta float64) (bool, error) {
	return ops.Isomorphic(a.(fst.Expanded[W]), b.(fst.Expanded[W]), delta)
}

// MapOptions are the values that fstmap's flags gave.
type MapOptions struct {
	Delta, Power float64
	Weight       string // "" is One, or Zero for plus
	Format       semiring.TextFormat
}

var MapTypes = []string{"arc_sum", "arc_unique", "identity", "input_epsilon", "invert",
	"output_epsilon", "plus", "power", "quantize", "rmweight", "superfinal", "times", "to_log", "to_log64",
	"to_standard", "to_std", "to_tropical64", "to_real64", "to_probability"}

func (c Component[W]) MapWeights(m Machine, kind string, o *MapOptions) (Machine, error) {
	v := m.(*fst.Vector[W])
	weight := func(def W) (W, error) {
		if o.Weight == "" {
			return def, nil
		}
		return parseWeight[W](o.Weight, o.Format)
	}
	if _, err := weight(semiring.One[W]()); err != nil { // refused even where it is not used
		return nil, err
	}
	switch kind {
	case "identity":
	case "arc_sum":
		ops.ArcSum(v)
	case "arc_unique":
		ops.ArcUnique(v)
	case "input_epsilon":
		ops.EpsilonLabels(v, ops.Input)
	case "output_epsilon":
		ops.EpsilonLabels(v, ops.Output)
	case "invert":
		ops.InvertWeights(v)
	case "plus":
		x, err := weight(semiring.Zero[W]())
		if err != nil {
			return nil, err
		}
		ops.PlusWeights(v, x)
	case "times":
		x, err := weight(semiring.One[W]())
		if err != nil {
			return nil, err
		}
		ops.TimesWeights(v, x)
	case "power":
		ops.PowerWeights(v, o.Power)
	case "quantize":
		ops.QuantizeWeights(v, o.Delta)
	case "rmweight":
		ops.RmWeight(v)
	case "superfinal":
		ops.SuperFinal(v, fst.Epsilon)
	case "to_std", "to_standard":
		return ops.Convert[semiring.Tropical](v)
	case "to_log":
		return ops.Convert[semiring.Log](v)
	case "to_log64":
		return ops.Convert[semiring.Log64](v)
	case "to_tropical64":
		return ops.Convert[semiring.Tropical64](v)
	case "to_real64", "to_probability":
		return ops.Convert[semiring.Probability](v)
	default:
		return nil, errors.New("unknown map type " + kind)
	}
	return v, members(v, kind)
}

// members reports where a change of weights has left the semiring. MinMax has no inverses except
// that of its least weight, and powers and products of numbers may overflow.
func members[W semiring.Component[W]](v *fst.Vector[W], kind string) error {
	for q := range v.NumStates() {
		q := fst.StateID(q)
		if w := v.Final(q); !w.Member() {
			return &ops.StateError{Op: "MapWeights", State: q, Err: fmt.Errorf("%s makes %v of the final weight, "+
				"which is no weight of %s", kind, w, w.ArcType())}
		}
		for i, a := range v.Arcs(q) {
			if !a.Weight.Member() {
				return &ops.StateError{Op: "MapWeights", State: q, Err: fmt.Errorf("%s makes %v of the weight of arc "+
					"%d, %d:%d, which is no weight of %s", kind, a.Weight, i, a.ILabel, a.OLabel, a.Weight.ArcType())}
			}
		}
	}
	return nil
}

// owns reports whether m is a machine over the suite's weights.
func (Component[W]) Owns(m Machine) bool { _, ok := m.(fst.Expanded[W]); return ok }
