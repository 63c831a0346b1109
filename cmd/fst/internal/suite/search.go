package suite

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Search is what the tools that search, simplify and compare can do.
type Search interface {
	Equivalent(a, b Machine, delta float64) (bool, error)
	Distinguish(a, b Machine, delta float64) (*ops.Distinction, error)
	RandEquivalent(a, b Machine, rng *rand.Rand, o *ops.RandEquivalentOptions) (*ops.PairDistinction, error)
	Closeness(byDefault float64) float64 // of weights that determinize and similar tools treat as equal
	Determinize(m Machine, o *ops.DeterminizeOptions, p *Pruning) (Machine, error)
	Disambiguate(m Machine, o *ops.DisambiguateOptions, p *Pruning) (Machine, error)
	Minimize(m Machine, o *ops.MinimizeOptions) (Machine, error)
	MinimizeFactored(m Machine, o *ops.MinimizeOptions) (labels, strings Machine, err error)
	RmEpsilon(m Machine, o *ops.RmEpsilonOptions, p *Pruning) error
	Prune(m Machine, p *Pruning) error
	Push(m Machine, o *ops.PushOptions) (Machine, error)
	ShortestDistance(m Machine, o *ops.ShortestDistanceOptions,
		double bool) (func(io.Writer, *fst.PotentialOptions) error, error)
	ShortestPath(m Machine, o *PathOptions, p *Pruning) (Machine, error)
	RandGen(m Machine, rng *rand.Rand, o *ops.RandGenOptions) (Machine, error)
	Describe(m Machine, o *ops.DescribeOptions) *ops.Description
	Verify(m Machine) error
	// where a log machine has a weight that is none; "" where it has not, and for others
	NonMember(m Machine) string
	WriteDOT(w io.Writer, m Machine, o *fst.DOTOptions) error
	WriteD2(w io.Writer, m Machine, o *fst.DOTOptions) error
	WriteSVG(w io.Writer, m Machine, o *fst.SVGOptions) error
}

// Pruning is what the flags --weight and --nstate of a tool gave.
type Pruning struct {
	Weight string // "" is 0̄: no threshold
	States int64  // -1 is no bound
	Delta  float64
	Format semiring.TextFormat
	Limits ops.Limits
}

// pruneOptions reads p, and reports whether it asks for anything.
func pruneOptions[W semiring.Component[W]](p *Pruning) (o ops.PruneOptions[W], asked bool, err error) {
	o = ops.PruneOptions[W]{Delta: p.Delta, Limits: p.Limits}
	if p.Weight != "" {
		w, err := parseWeight[W](p.Weight, p.Format)
		if err != nil {
			return o, false, err
		}
		if !semiring.IsZero(w) {
			o.Threshold, asked = &w, true
		}
	}
	if p.States != -1 {
		asked = true
		o.States = -1 // keeps none: what OpenFst makes of 0
		if p.States > 0 {
			o.States = int(p.States)
		}
	}
	return o, asked, nil
}

// prunedAfter is pruneOptions for a tool that prunes its result: OpenFst's --delta is then that of
// the tool, and the pruning has its default.
func prunedAfter[W semiring.Component[W]](p *Pruning) (o ops.PruneOptions[W], asked bool, err error) {
	o, asked, err = pruneOptions[W](p)
	o.Delta = ops.DefaultDelta
	return o, asked, err
}

// parseWeight reads the weight of a flag.
func parseWeight[W semiring.Component[W]](s string, format semiring.TextFormat) (w W, err error) {
	w, err = w.ParseTextFormat(strings.TrimSpace(s), format)
	if err != nil {
		return w, fmt.Errorf("flag --weight: %w", err)
	}
	if !w.Member() {
		return w, fmt.Errorf("flag --weight: %s is not a weight of arc type %s", s, w.ArcType())
	}
	return w, nil
}

// lacksPath says that what needs the path property, and how to get a machine that has it.
func (c Component[W]) lacksPath(what string) error {
	err := errLacks(c.ArcType(), "the path property (a ⊕ b is a or b)", what)
	if to := c.nearestPath(); to != "" {
		err = fmt.Errorf("%w: make a machine of tropical weights first (fst map --map_type=%s)", err, to)
	}
	return err
}

// nearestPath is the map type to the weights that have the path property and the same numbers; ""
// is none.
func (c Component[W]) nearestPath() string {
	var w W
	switch any(w).(type) {
	case semiring.Log:
		return "to_std"
	case semiring.Log64, semiring.Probability:
		return "to_tropical64"
	}
	return ""
}

// mayQueue refuses a queue that asks for more of the weights than they have, also
// for machines on which it would not matter.
func (c Component[W]) mayQueue(q ops.Queue) error {
	if q == ops.QueueShortestFirst && !c.HasPath() {
		return c.lacksPath("--queue_type=shortest")
	}
	return nil
}

func (Component[W]) Equivalent(a, b Machine, delta float64) (bool, error) {
	return ops.Equivalent(a.(fst.Expanded[W]), b.(fst.Expanded[W]), delta)
}

func (Component[W]) Distinguish(a, b Machine, delta float64) (*ops.Distinction, error) {
	return ops.Distinguish(a.(fst.Expanded[W]), b.(fst.Expanded[W]), delta)
}

func (Component[W]) RandEquivalent(a, b Machine, rng *rand.Rand,
	o *ops.RandEquivalentOptions) (*ops.PairDistinction, error) {
	return ops.RandEquivalent(a.(fst.Expanded[W]), b.(fst.Expanded[W]), rng, o)
}

func (Component[W]) Closeness(byDefault float64) float64 { return ops.ClosenessOf[W](byDefault) }

func (c Component[W]) Determinize(m Machine, o *ops.DeterminizeOptions, p *Pruning) (Machine, error) {
	switch _, asked, err := pruneOptions[W](p); {
	case err != nil:
		return nil, err
	case asked:
		return nil, fmt.Errorf("%w, or bound its states by --limit_states, for any arc type",
			c.lacksPath("pruning by --weight or --nstate"))
	}
	return ops.Determinize(m.(fst.Fst[W]), o)
}

func (Path[W]) Determinize(m Machine, o *ops.DeterminizeOptions, p *Pruning) (Machine, error) {
	po, asked, err := prunedAfter[W](p)
	if err != nil {
		return nil, err
	}
	if !asked {
		return ops.Determinize(m.(fst.Fst[W]), o)
	}
	return ops.DeterminizePruned(m.(fst.Expanded[W]),
		&ops.DeterminizePrunedOptions[W]{DeterminizeOptions: *o, Prune: po})
}

func (c Component[W]) Disambiguate(m Machine, o *ops.DisambiguateOptions, p *Pruning) (Machine, error) {
	switch _, asked, err := pruneOptions[W](p); {
	case err != nil:
		return nil, err
	case asked:
		return nil, fmt.Errorf("%w, or bound its states by --limit_states, for any arc type",
			c.lacksPath("pruning by --weight or --nstate"))
	}
	return ops.Disambiguate(m.(fst.Expanded[W]), o)
}

func (Path[W]) Disambiguate(m Machine, o *ops.DisambiguateOptions, p *Pruning) (Machine, error) {
	po, asked, err := prunedAfter[W](p)
	if err != nil {
		return nil, err
	}
	if !asked {
		return ops.Disambiguate(m.(fst.Expanded[W]), o)
	}
	return ops.DisambiguatePruned(m.(fst.Expanded[W]),
		&ops.DisambiguatePrunedOptions[W]{DisambiguateOptions: *o, Prune: po})
}

func (Component[W]) Minimize(m Machine, o *ops.MinimizeOptions) (Machine, error) {
	return ops.Minimize(m.(fst.Expanded[W]), o)
}

func (Component[W]) MinimizeFactored(m Machine, o *ops.MinimizeOptions) (labels, strings Machine, err error) {
	return ops.MinimizeFactored(m.(fst.Expanded[W]), o)
}

func (c Component[W]) RmEpsilon(m Machine, o *ops.RmEpsilonOptions, p *Pruning) error {
	switch _, asked, err := pruneOptions[W](p); {
	case err != nil:
		return err
	case asked && m.(fst.Fst[W]).Start() != fst.NoState: // the empty machine has nothing to prune
		return c.lacksPath("pruning by --weight or --nstate")
	}
	if err := c.mayQueue(o.Queue); err != nil {
		return err
	}
	return ops.RmEpsilon(m.(*fst.Vector[W]), o)
}

func (Path[W]) RmEpsilon(m Machine, o *ops.RmEpsilonOptions, p *Pruning) error {
	po, asked, err := prunedAfter[W](p)
	if err != nil {
		return err
	}
	if !asked {
		return ops.RmEpsilon(m.(*fst.Vector[W]), o)
	}
	return ops.RmEpsilonPruned(m.(*fst.Vector[W]),
		&ops.RmEpsilonPrunedOptions[W]{RmEpsilonOptions: *o, Prune: po})
}

func (c Component[W]) Prune(Machine, *Pruning) error { return c.lacksPath("prune") }

func (Path[W]) Prune(m Machine, p *Pruning) error {
	o, _, err := pruneOptions[W](p)
	if err != nil {
		return err
	}
	return ops.Prune(m.(*fst.Vector[W]), &o)
}

func (Component[W]) Push(m Machine, o *ops.PushOptions) (Machine, error) {
	if !o.Labels {
		v := m.(*fst.Vector[W])
		return v, ops.PushWeights(v, o)
	}
	return ops.Push(m.(fst.Expanded[W]), o)
}

// ShortestDistance returns what prints the distances, with double those over log as they are before
// they are rounded.
func (c Component[W]) ShortestDistance(m Machine, o *ops.ShortestDistanceOptions,
	double bool) (func(io.Writer, *fst.PotentialOptions) error, error) {
	if err := c.mayQueue(o.Queue); err != nil {
		return nil, err
	}
	n := 0
	o.Touched = &n
	f := m.(fst.Expanded[W])
	if f.Start() == fst.NoState { // nothing to print, wherever one starts
		o.Sources = nil
	}
	if f, ok := m.(fst.Expanded[semiring.Log]); ok && double {
		d, err := ops.ShortestDistanceLog64(f, o)
		if err != nil {
			return nil, err
		}
		return func(w io.Writer, o *fst.PotentialOptions) error { return fst.WritePotentials(w, d[:n], o) }, nil
	}
	d, err := ops.ShortestDistance(f, o)
	if err != nil {
		return nil, err
	}
	return func(w io.Writer, o *fst.PotentialOptions) error { return fst.WritePotentials(w, d[:n], o) }, nil
}

// PathOptions are the values of fstshortestpath's flags, except for pruning.
type PathOptions struct {
	N      int
	Queue  ops.Queue
	Unique bool
}

func (c Component[W]) ShortestPath(Machine, *PathOptions, *Pruning) (Machine, error) {
	return nil, c.lacksPath("a shortest path")
}

func (Path[W]) ShortestPath(m Machine, o *PathOptions, p *Pruning) (Machine, error) {
	po, _, err := pruneOptions[W](p)
	if err != nil {
		return nil, err
	}
	so := &ops.ShortestPathOptions[W]{N: o.N, Queue: o.Queue, Delta: po.Delta, Threshold: po.Threshold,
		States: po.States, Limits: p.Limits}
	if o.Unique {
		return ops.ShortestPathUnique(m.(fst.Expanded[W]), so)
	}
	return ops.ShortestPath(m.(fst.Expanded[W]), so)
}

func (Component[W]) RandGen(m Machine, rng *rand.Rand, o *ops.RandGenOptions) (Machine, error) {
	return ops.RandGen(m.(fst.Fst[W]), rng, o)
}

func (Component[W]) Describe(m Machine, o *ops.DescribeOptions) *ops.Description {
	return ops.Describe(m.(fst.Expanded[W]), o)
}

func (Component[W]) NonMember(m Machine) string {
	switch f := m.(type) {
	case fst.Expanded[semiring.Log]:
		return nonMember(f)
	case fst.Expanded[semiring.Log64]:
		return nonMember(f)
	}
	return ""
}

// nonMember says where f has the weight -Infinity or NaN.
func nonMember[T interface {
	~float32 | ~float64
	semiring.Codec[T]
}](f fst.Expanded[T]) string {
	least := T(math.Inf(-1))
	for q := range fst.StateID(f.NumStates()) {
		if w := f.Final(q); !(w > least) {
			return fmt.Sprintf("state %d: the final weight %s is none of arc type %s", q,
				w.AppendText(nil), w.ArcType())
		}
		arcs := f.Arcs(q)
		for i := range arcs {
			if w := arcs[i].Weight; !(w > least) {
				return fmt.Sprintf("state %d, arc %d: the weight %s is none of arc type %s", q, i,
					w.AppendText(nil), w.ArcType())
			}
		}
	}
	return ""
}

func (Component[W]) Verify(m Machine) error { return fst.Verify(m.(fst.Expanded[W]), nil) }

func (Component[W]) WriteDOT(w io.Writer, m Machine, o *fst.DOTOptions) error {
	return fst.WriteDOT(w, m.(fst.Fst[W]), o)
}

func (Component[W]) WriteD2(w io.Writer, m Machine, o *fst.DOTOptions) error {
	return fst.WriteD2(w, m.(fst.Fst[W]), o)
}

func (Component[W]) WriteSVG(w io.Writer, m Machine, o *fst.SVGOptions) error {
	return fst.WriteSVG(w, m.(fst.Fst[W]), o)
}
