package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// machine is an fst.Expanded over some weight type: what a suite reads, and
// hands on to its own methods only.
type machine any

// suite is what the tools can do with machines over one weight type, which is
// erased here and nowhere else. Methods change their first machine in place
// where they return none, unless they say otherwise.
//
// A weight type gets the richest suite whose constraint it meets; what needs
// more algebra answers with an error that names it.
type suite interface {
	arcType() string
	owns(m machine) bool

	read(s *fst.Stream, h *fst.Header) (machine, error)
	readText(r io.Reader, o *fst.ReadTextOptions) (machine, error)
	write(w io.Writer, m machine, o *fst.WriteOptions) error
	writeText(w io.Writer, m machine, o *fst.WriteTextOptions) error
	mutable(m machine) machine // a machine that may be changed: m itself if it is one
	frozen(m machine) machine
	empty() machine
	addTo(a *fst.ArchiveWriter, key string, m machine, o *fst.WriteOptions) error
	setSymbols(m machine, in, out *fst.SymbolTable)

	compose(a, b machine, o *ops.ComposeOptions) (machine, error)
	intersect(a, b machine, o *ops.ComposeOptions) (machine, error)
	union(a, b machine, lim ops.Limits) error
	concat(a, b machine, lim ops.Limits) error
	closure(m machine, kind ops.ClosureKind, lim ops.Limits) error
	within(op string, m machine, lim ops.Limits) error // a LimitError where m is beyond lim
	connect(m machine)
	arcSort(m machine, side ops.Side)
	topSort(m machine) error
	invert(m machine)
	project(m machine, side ops.Side)
	reverse(m machine, o *ops.ReverseOptions) (machine, error)
	mapWeights(m machine, kind string, o *mapFlags) (machine, error)
	equal(a, b machine, delta float64) *ops.Difference
	isomorphic(a, b machine, delta float64) (bool, error)
	equivalent(a, b machine, delta float64) (bool, error)
	distinguish(a, b machine, delta float64) (*ops.Distinction, error)
	randEquivalent(a, b machine, rng *rand.Rand, o *ops.RandEquivalentOptions) (*ops.PairDistinction, error)

	determinize(m machine, o *ops.DeterminizeOptions, p *pruning) (machine, error)
	minimize(m machine, o *ops.MinimizeOptions) (machine, error)
	minimizeFactored(m machine, o *ops.MinimizeOptions) (labels, strings machine, err error)
	rmEpsilon(m machine, o *ops.RmEpsilonOptions, p *pruning) error
	prune(m machine, p *pruning) error
	push(m machine, o *ops.PushOptions) (machine, error)
	shortestDistance(m machine, o *ops.ShortestDistanceOptions) (func(io.Writer, *fst.PotentialOptions) error, error)
	shortestPath(m machine, o *pathFlags, p *pruning) (machine, error)
	randGen(m machine, rng *rand.Rand, o *ops.RandGenOptions) (machine, error)

	subtract(a, b machine, o *ops.ComposeOptions) (machine, error)
	epsNormalize(m machine, side ops.Side, lim ops.Limits) (machine, error)
	synchronize(m machine, lim ops.Limits) (machine, error)
	relabel(m machine, in, out []fst.LabelPair) error
	replace(labels []fst.Label, rules []machine, root fst.Label, o *ops.ReplaceOptions) (machine, error)
	reweight(m machine, potentials io.Reader, o *fst.PotentialOptions, toFinal bool) error
	encode(m machine, table io.Reader, name string, kind ops.EncodeKind) (write func(io.Writer) error, err error)
	decode(m machine, table io.Reader, name string) error

	ambiguous(m machine) (*ops.AmbiguousError, error)
	functional(m machine) (*ops.FunctionalError, error)
	twins(m machine) (*ops.TwinsError, error)
	describe(m machine, o *ops.DescribeOptions) *ops.Description
	verify(m machine) error
	writeDOT(w io.Writer, m machine, o *fst.DOTOptions) error
}

// component is the suite of weights that are numbers, or tuples of them.
type component[W semiring.Component[W]] struct{}

// path adds what needs the path property.
type path[W semiring.PathComponent[W]] struct{ component[W] }

// suites lists the weight types that files may have: one line each.
var suites = []suite{
	path[semiring.Tropical]{},
	component[semiring.Log]{},
	component[semiring.Log64]{},
	path[semiring.Tropical64]{},
	component[semiring.Probability]{},
	path[semiring.Boolean]{},
	path[semiring.MinMax]{},
	component[semiring.Product[semiring.Tropical, semiring.Tropical]]{},
	component[semiring.Product[semiring.Tropical, semiring.Log]]{},
	path[semiring.Lexicographic[semiring.Tropical, semiring.Tropical]]{},
	component[semiring.Expectation]{},
}

// suiteOf returns the suite of an arc type, under OpenFst's name for it or an
// alias.
func suiteOf(arcType string) (suite, error) {
	name := semiring.CanonicalArcType(arcType)
	i := slices.IndexFunc(suites, func(s suite) bool { return s.arcType() == name })
	if i < 0 {
		var known []string
		for _, s := range suites {
			known = append(known, s.arcType())
		}
		return nil, fmt.Errorf("unknown arc type %q (known are %s)", arcType, strings.Join(known, ", "))
	}
	return suites[i], nil
}

// errLacks says that a tool needs more of the weights than they have.
func errLacks(arcType, what, whatFor string) error {
	return fmt.Errorf("arc type %s lacks %s, which %s needs", arcType, what, whatFor)
}

func (component[W]) arcType() string { var w W; return w.ArcType() }

func (component[W]) read(s *fst.Stream, h *fst.Header) (machine, error) { return fst.ReadBody[W](s, h) }

func (component[W]) readText(r io.Reader, o *fst.ReadTextOptions) (machine, error) {
	return fst.ReadText[W](r, o)
}

func (component[W]) write(w io.Writer, m machine, o *fst.WriteOptions) error {
	return fst.Write(w, m.(fst.Expanded[W]), o)
}

func (component[W]) writeText(w io.Writer, m machine, o *fst.WriteTextOptions) error {
	return fst.WriteText(w, m.(fst.Fst[W]), o)
}

func (component[W]) mutable(m machine) machine {
	if v, ok := m.(*fst.Vector[W]); ok {
		return v
	}
	f := m.(fst.Expanded[W])
	return ops.MapInto(f, func(w W) W { return w })
}

func (component[W]) frozen(m machine) machine { return fst.NewConst(m.(fst.Expanded[W])) }

func (component[W]) empty() machine { return fst.NewVector[W](0) }

func (component[W]) setSymbols(m machine, in, out *fst.SymbolTable) {
	v := m.(*fst.Vector[W])
	v.SetInputSymbols(in)
	v.SetOutputSymbols(out)
}

func (component[W]) compose(a, b machine, o *ops.ComposeOptions) (machine, error) {
	return ops.Compose(a.(fst.Fst[W]), b.(fst.Fst[W]), o)
}

func (component[W]) intersect(a, b machine, o *ops.ComposeOptions) (machine, error) {
	return ops.Intersect(a.(fst.Fst[W]), b.(fst.Fst[W]), o)
}

func (component[W]) union(a, b machine, lim ops.Limits) error {
	return ops.Union(a.(*fst.Vector[W]), b.(fst.Expanded[W]), lim)
}

func (component[W]) concat(a, b machine, lim ops.Limits) error {
	return ops.Concat(a.(*fst.Vector[W]), b.(fst.Expanded[W]), lim)
}

func (component[W]) closure(m machine, kind ops.ClosureKind, lim ops.Limits) error {
	return ops.Closure(m.(*fst.Vector[W]), kind, lim)
}

func (component[W]) within(op string, m machine, lim ops.Limits) error {
	return ops.CheckLimits(op, m.(fst.Expanded[W]), lim)
}

func (component[W]) connect(m machine)                { ops.Connect(m.(*fst.Vector[W])) }
func (component[W]) arcSort(m machine, side ops.Side) { ops.ArcSort(m.(*fst.Vector[W]), side) }
func (component[W]) topSort(m machine) error          { return ops.TopSort(m.(*fst.Vector[W])) }
func (component[W]) invert(m machine)                 { ops.Invert(m.(*fst.Vector[W])) }
func (component[W]) project(m machine, side ops.Side) { ops.Project(m.(*fst.Vector[W]), side) }

func (component[W]) reverse(m machine, o *ops.ReverseOptions) (machine, error) {
	return ops.Reverse[W, W](m.(fst.Expanded[W]), o)
}

func (component[W]) equal(a, b machine, delta float64) *ops.Difference {
	return ops.Compare(a.(fst.Expanded[W]), b.(fst.Expanded[W]), delta)
}

func (component[W]) isomorphic(a, b machine, delta float64) (bool, error) {
	return ops.Isomorphic(a.(fst.Expanded[W]), b.(fst.Expanded[W]), delta)
}

// mapFlags are the values that fstmap's flags gave.
type mapFlags struct {
	delta, power float64
	weight       string // "" is One, or Zero for plus
	format       semiring.TextFormat
}

var mapTypes = []string{"arc_sum", "arc_unique", "identity", "input_epsilon", "invert", "output_epsilon", "plus", "power",
	"quantize", "rmweight", "superfinal", "times", "to_log", "to_log64", "to_standard", "to_std", "to_tropical64", "to_real64", "to_probability"}

func (c component[W]) mapWeights(m machine, kind string, o *mapFlags) (machine, error) {
	v := m.(*fst.Vector[W])
	weight := func(def W) (W, error) {
		if o.weight == "" {
			return def, nil
		}
		return parseWeight[W](o.weight, o.format)
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
		ops.PowerWeights(v, o.power)
	case "quantize":
		ops.QuantizeWeights(v, o.delta)
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
	return v, nil
}

// owns reports whether m is a machine over the suite's weights.
func (component[W]) owns(m machine) bool { _, ok := m.(fst.Expanded[W]); return ok }
