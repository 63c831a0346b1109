package ops

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/square"
	"github.com/tropica-fst/tropica/semiring"
)

// Distinction is a string that two machines weigh differently.
type Distinction struct {
	Labels  []fst.Label
	A, B    string // printed weights of the string
	Unknown bool   // no such string was found: the machines differ, perhaps by rounding alone

	isyms *fst.SymbolTable // for String
}

func (d *Distinction) String() string {
	if d.Unknown {
		return "the weights differ, but by no more than the tolerance on any string that was tried"
	}
	return fmt.Sprintf("labels %s have weight %s in the first machine and %s in the second", shortSymbols(d.isyms, d.Labels), d.A, d.B)
}

// Equivalent reports whether two deterministic acceptors without ε give the same
// weight to every string. Weights are pushed to the start and rounded to
// multiples of delta before arcs are compared, as OpenFst does with 1/1024; zero
// compares them exactly. What a and b are not is a StateError or an error around
// ErrNotDeterministic; symbol tables that disagree are one around ErrSymbols.
//
// Pushed weights are unique for a function only if quotients are. A weight other than 0̄ that does
// not cancel (see semiring.Cancellative) is an error around ErrCapability. Over MinMax that is
// every weight but 1̄. The same error is returned for weights without the method Cancels.
//
// It joins sets of states that must be equivalent if the start states are. It ends when none is
// left to join, or when a set has final and other states. Cost: almost linear, O((|Q|+|E|)·α(|Q|)),
// and a Push of each machine with weights.
//
// After A. Aho, J. Hopcroft and J. Ullman, "The Design and Analysis of Computer
// Algorithms", 1974, section 4.8; for weights M. Mohri, "Edit-distance of weighted
// automata", Int. J. Foundations of Computer Science 14(6), 2003.
func Equivalent[W minimizable[W]](a, b fst.Expanded[W], delta float64) (bool, error) {
	if err := CompatibleSymbols("Equivalent", a, b); err != nil {
		return false, err
	}
	for i, f := range []fst.Expanded[W]{a, b} {
		if err := comparable1(f, i); err != nil {
			return false, err
		}
	}
	if fst.PropertiesOf[W](a, fst.Unweighted)&fst.PropertiesOf[W](b, fst.Unweighted)&fst.Unweighted != 0 {
		return sameLanguage(a, b), nil
	}
	for i, f := range []fst.Expanded[W]{a, b} {
		if err := cancelling("Equivalent", f, &run.Stopwatch{}); err != nil {
			return false, fmt.Errorf("%w (in the %s machine)", err, [...]string{"first", "second"}[i])
		}
	}
	table := NewEncodeTable[W](EncodeLabels | EncodeWeights)
	var encoded [2]*fst.Vector[W]
	for i, f := range []fst.Expanded[W]{a, b} {
		g := copyOf(f)
		if err := PushWeights(g, &PushOptions{Delta: delta}); err != nil {
			return false, err
		}
		encoded[i] = g
	}
	unifyWeights(delta, encoded[:]...)
	for _, g := range encoded {
		Encode(g, table)
	}
	return sameLanguage[W](encoded[0], encoded[1]), nil
}

// comparable1 refuses what Equivalent cannot compare.
func comparable1[W semiring.Weight[W]](f fst.Expanded[W], i int) error {
	which := [...]string{"first", "second"}[i]
	p := fst.PropertiesOf(fst.Fst[W](f), fst.Acceptor|fst.NoEpsilons|fst.IDeterministic)
	for q := range f.NumStates() {
		if p.Has(fst.Acceptor | fst.NoEpsilons) {
			break
		}
		for _, e := range f.Arcs(fst.StateID(q)) {
			switch {
			case e.ILabel != e.OLabel:
				return &StateError{Op: "Equivalent", State: fst.StateID(q), Err: fmt.Errorf("the %s machine is not an acceptor: arc %d:%d (project or encode it)", which, e.ILabel, e.OLabel)}
			case e.ILabel == fst.Epsilon:
				return &StateError{Op: "Equivalent", State: fst.StateID(q), Err: fmt.Errorf("the %s machine has an ε-arc (RmEpsilon removes it; fst rmepsilon)", which)}
			}
		}
	}
	if p&fst.IDeterministic == 0 {
		q, l := nondeterministic(f)
		return &StateError{Op: "Equivalent", State: q, Err: fmt.Errorf("%w: the %s has two arcs with label %s", ErrNotDeterministic, which, symbolText(fst.InputSymbols(f), l))}
	}
	return nil
}

// sameLanguage compares deterministic acceptors; arcs of weight 0̄ are none.
// States of a are 2q+1, of b 2q+2, and 0 is the dead state of both.
func sameLanguage[W semiring.Weight[W]](a, b fst.Expanded[W]) bool {
	sets := newUnionFind(2*max(a.NumStates(), b.NumStates()) + 3)
	fs := [2]fst.Expanded[W]{a, b}
	id := func(q fst.StateID, i int) int32 {
		if q == fst.NoState {
			return 0
		}
		return 2*int32(q) + 1 + int32(i)
	}
	final := func(s int32) bool {
		return s != 0 && fst.IsFinal[W](fs[(s-1)&1], fst.StateID((s-1)>>1))
	}
	var out [2][]fst.Arc[W]
	queue := [][2]int32{{id(a.Start(), 0), id(b.Start(), 1)}}
	if final(queue[0][0]) != final(queue[0][1]) {
		return false
	}
	for len(queue) > 0 {
		pair := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if !sets.union(pair[0], pair[1]) {
			continue
		}
		for i, s := range pair {
			out[i] = out[i][:0]
			if s == 0 {
				continue
			}
			for _, e := range fs[i].Arcs(fst.StateID((s - 1) >> 1)) {
				if !semiring.IsZero(e.Weight) {
					out[i] = append(out[i], e)
				}
			}
			byLabel := func(x, y fst.Arc[W]) int { return cmp.Compare(x.ILabel, y.ILabel) }
			if !slices.IsSortedFunc(out[i], byLabel) {
				slices.SortFunc(out[i], byLabel)
			}
		}
		l, r := out[0], out[1]
		for len(l) > 0 || len(r) > 0 {
			next := [2]int32{}
			takeLeft := len(r) == 0 || len(l) > 0 && l[0].ILabel <= r[0].ILabel
			takeRight := len(l) == 0 || len(r) > 0 && r[0].ILabel <= l[0].ILabel
			if takeLeft {
				next[0], l = id(l[0].NextState, 0), l[1:]
			}
			if takeRight {
				next[1], r = id(r[0].NextState, 1), r[1:]
			}
			if final(next[0]) != final(next[1]) {
				return false
			}
			queue = append(queue, next)
		}
	}
	return true
}

// unionFind joins sets, by size and with halved paths.
type unionFind struct{ parent, size []int32 }

func newUnionFind(n int) *unionFind {
	u := &unionFind{make([]int32, n), make([]int32, n)}
	for i := range u.parent {
		u.parent[i], u.size[i] = int32(i), 1
	}
	return u
}

func (u *unionFind) find(x int32) int32 {
	for u.parent[x] != x {
		u.parent[x] = u.parent[u.parent[x]]
		x = u.parent[x]
	}
	return x
}

// union joins the sets of x and y, and reports whether they were two.
func (u *unionFind) union(x, y int32) bool {
	x, y = u.find(x), u.find(y)
	if x == y {
		return false
	}
	if u.size[x] < u.size[y] {
		x, y = y, x
	}
	u.parent[y] = x
	u.size[x] += u.size[y]
	return true
}

// Distinguish returns nil when a and b are equivalent. Otherwise it returns a string whose weights
// in a and b differ by more than delta. It searches the pairs of states that one string reaches,
// breadth first. It stops where one of them is final and the other not, or where the weights
// differ. It also goes on from a pair that two strings reach with different quotients of weights.
// The search gives up after four million pairs, with Unknown set.
func Distinguish[W minimizable[W]](a, b fst.Expanded[W], delta float64) (*Distinction, error) {
	same, err := Equivalent(a, b, delta)
	if same || err != nil {
		return nil, err
	}
	d := &distinguisher[W]{f: [2]fst.Expanded[W]{a, b}, delta: delta, ids: fst.NewTable(fst.Mix)}
	if l, ok := d.search(); ok {
		x, y := d.weigh(0, l), d.weigh(1, l)
		return &Distinction{Labels: l, A: weightText(x), B: weightText(y), isyms: cmp.Or(fst.InputSymbols(a), fst.InputSymbols(b))}, nil
	}
	return &Distinction{Unknown: true}, nil
}

type distinguisher[W minimizable[W]] struct {
	f     [2]fst.Expanded[W]
	delta float64
	ids   *fst.Table[uint64]
	nodes []distinctionNode[W]
}

// distinctionNode is a pair of states with the string that first reached it and
// its weights.
type distinctionNode[W any] struct {
	parent int32
	label  fst.Label
	w      [2]W
}

func (d *distinguisher[W]) differ(x, y W) bool { return !x.Equal(y) && !x.Near(y, d.delta) }

// weigh returns the weight of a string in machine i.
func (d *distinguisher[W]) weigh(i int, l []fst.Label) W {
	f := d.f[i]
	w, q := semiring.One[W](), f.Start()
	for _, x := range l {
		if q == fst.NoState {
			break
		}
		e := arcWith(f, q, x)
		if e == nil {
			return w.Zero()
		}
		w, q = w.Times(e.Weight), e.NextState
	}
	if q == fst.NoState {
		return w.Zero()
	}
	return w.Times(f.Final(q))
}

func arcWith[W any](f fst.Expanded[W], q fst.StateID, l fst.Label) *fst.Arc[W] {
	arcs := f.Arcs(q)
	for i := range arcs {
		if arcs[i].ILabel == l {
			return &arcs[i]
		}
	}
	return nil
}

func (d *distinguisher[W]) labels(n int32) []fst.Label {
	var l []fst.Label
	for ; n > 0; n = d.nodes[n].parent {
		l = append(l, d.nodes[n].label)
	}
	slices.Reverse(l)
	return l
}

// steps calls visit with the pair and the arcs for each label of either state.
func (d *distinguisher[W]) steps(key uint64, visit func(l fst.Label, to uint64, w [2]W) bool) {
	zero := semiring.Zero[W]()
	var labels []fst.Label
	q := [2]fst.StateID{fst.StateID(uint32(key >> 32)), fst.StateID(uint32(key))}
	for i, s := range q {
		if s != fst.NoState {
			for _, e := range d.f[i].Arcs(s) {
				labels = append(labels, e.ILabel)
			}
		}
	}
	slices.Sort(labels)
	for _, l := range slices.Compact(labels) {
		to, w := [2]fst.StateID{fst.NoState, fst.NoState}, [2]W{zero, zero}
		for i, s := range q {
			if s == fst.NoState {
				continue
			}
			if e := arcWith(d.f[i], s, l); e != nil && !semiring.IsZero(e.Weight) {
				to[i], w[i] = e.NextState, e.Weight
			}
		}
		if to[0] == fst.NoState && to[1] == fst.NoState {
			continue
		}
		if !visit(l, square.PairKey(to[0], to[1]), w) {
			return
		}
	}
}

func (d *distinguisher[W]) finals(key uint64) [2]W {
	out := [2]W{semiring.Zero[W](), semiring.Zero[W]()}
	for i, s := range [2]fst.StateID{fst.StateID(uint32(key >> 32)), fst.StateID(uint32(key))} {
		if s != fst.NoState {
			out[i] = d.f[i].Final(s)
		}
	}
	return out
}

const distinctionPairs = 1 << 22

func (d *distinguisher[W]) search() (found []fst.Label, ok bool) {
	one := semiring.One[W]()
	d.ids.ID(square.PairKey(d.f[0].Start(), d.f[1].Start()))
	d.nodes = append(d.nodes, distinctionNode[W]{parent: -1, w: [2]W{one, one}})
	for n := int32(0); int(n) < len(d.nodes) && len(d.nodes) < distinctionPairs; n++ {
		key, at := d.ids.Key(fst.StateID(n)), d.nodes[n].w
		if rho := d.finals(key); d.differ(at[0].Times(rho[0]), at[1].Times(rho[1])) {
			return d.labels(n), true
		}
		d.steps(key, func(l fst.Label, to uint64, w [2]W) bool {
			next := [2]W{at[0].Times(w[0]), at[1].Times(w[1])}
			id, isNew := d.ids.ID(to)
			if isNew {
				d.nodes = append(d.nodes, distinctionNode[W]{n, l, next})
				return true
			}
			// The quotients differ when the cross products do.
			if old := d.nodes[id].w; d.differ(old[0].Times(next[1]), next[0].Times(old[1])) {
				for _, v := range d.onward(to) {
					for _, u := range [][]fst.Label{d.labels(int32(id)), append(d.labels(n), l)} {
						s := slices.Concat(u, v)
						if d.differ(d.weigh(0, s), d.weigh(1, s)) {
							found, ok = s, true
							return false
						}
					}
				}
			}
			return true
		})
		if ok {
			return found, true
		}
	}
	return nil, false
}

// onward returns a shortest string from a pair to one where a state is final.
func (d *distinguisher[W]) onward(from uint64) [][]fst.Label {
	type link struct {
		parent int
		label  fst.Label
		key    uint64
	}
	nodes := []link{{-1, 0, from}}
	seen := map[uint64]bool{from: true}
	for n := 0; n < len(nodes) && n < 1<<16; n++ {
		if rho := d.finals(nodes[n].key); !semiring.IsZero(rho[0]) || !semiring.IsZero(rho[1]) {
			var l []fst.Label
			for k := n; nodes[k].parent >= 0; k = nodes[k].parent {
				l = append(l, nodes[k].label)
			}
			slices.Reverse(l)
			return [][]fst.Label{l}
		}
		d.steps(nodes[n].key, func(l fst.Label, to uint64, _ [2]W) bool {
			if !seen[to] {
				seen[to] = true
				nodes = append(nodes, link{n, l, to})
			}
			return true
		})
	}
	return nil
}

// RandEquivalentOptions adjusts RandEquivalent; nil is the same as the zero value.
type RandEquivalentOptions struct {
	NPath     int         // how many paths to try; zero is one, negative none
	MaxLength int         // as in RandGenOptions
	Select    ArcSelector // how paths are drawn
	Delta     float64     // difference of weights to pass over; zero is none
	Limits                // of each machine that is built for a path
}

// PairDistinction is a pair of strings that two machines weigh differently.
type PairDistinction struct {
	Input, Output []fst.Label
	A, B          string // printed weights of the pair

	isyms, osyms *fst.SymbolTable // for String
}

func (d *PairDistinction) String() string {
	return fmt.Sprintf("input %s with output %s has weight %s in the first machine and %s in the second",
		shortSymbols(d.isyms, d.Input), shortSymbols(d.osyms, d.Output), d.A, d.B)
}

// RandEquivalent compares two transducers on the strings of random paths. Each path is drawn from
// one of the two at random, or from the other where one has no path. It returns the first pair of
// strings that they weigh differently, nil if none was met. nil is therefore no proof that they are
// equivalent. Any machines will do, deterministic or not, with ε or not; the symbol tables must
// agree.
//
// A pair whose weight is an infinite sum that does not settle is passed over.
//
// Cost: for each path two compositions with either machine, which is sorted
// first, and a shortest distance of what comes out.
func RandEquivalent[W semiring.Approx[W]](a, b fst.Expanded[W], rng *rand.Rand,
	opts *RandEquivalentOptions) (*PairDistinction, error) {
	var o RandEquivalentOptions
	if opts != nil {
		o = *opts
	}
	if err := CompatibleSymbols("RandEquivalent", a, b); err != nil {
		return nil, err
	}
	var sides [2]*fst.Vector[W]
	for i, f := range []fst.Expanded[W]{a, b} {
		g := copyOf(f)
		g.SetInputSymbols(nil)
		g.SetOutputSymbols(nil)
		Connect(g)
		ArcSort(g, Input)
		sides[i] = g
	}
	n := o.NPath
	if n == 0 {
		n = 1
	}
	// stopped is err, that of the context with how far this came: which part it ended is of no
	// interest.
	stopped := func(err error, paths int) error {
		if ctx := o.Ctx; ctx != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return &pathsError{LimitError{Op: "RandEquivalent", Limit: "context", Cause: ctx.Err()}, paths}
		}
		return err
	}
	// compare returns the distinction that path shows, nil if it shows none.
	compare := func(path *fst.Vector[W]) (*PairDistinction, error) {
		var sums [2]W
		for i, f := range sides {
			var err error
			if sums[i], err = pairWeight(path, f, o.Limits); errors.Is(err, ErrNotClosed) {
				return nil, nil
			} else if err != nil {
				return nil, err
			}
		}
		if sums[0].Near(sums[1], o.Delta) {
			return nil, nil
		}
		d := &PairDistinction{A: fmt.Sprint(sums[0]), B: fmt.Sprint(sums[1]),
			isyms: cmp.Or(fst.InputSymbols(a), fst.InputSymbols(b)), osyms: cmp.Or(fst.OutputSymbols(a),
				fst.OutputSymbols(b))}
		for p := range fst.Paths(path, &fst.PathsOptions{MaxPaths: 1}) {
			d.Input, d.Output = p.Input(), p.Output()
		}
		return d, nil
	}
	empty := [2]bool{sides[0].NumStates() == 0, sides[1].NumStates() == 0}
	if empty[0] && empty[1] {
		return nil, nil
	}
	for i, f := range sides {
		if n > 0 && empty[1-i] { // any path of the other will do, of whatever length
			if d, err := compare(shortestChain(f)); d != nil || err != nil {
				return d, stopped(err, 0)
			}
		}
	}
	for k := range n {
		side := rng.IntN(2)
		if empty[side] {
			side = 1 - side
		}
		path, err := RandGen(sides[side], rng, &RandGenOptions{Select: o.Select, MaxLength: o.MaxLength,
			Limits: o.Limits})
		if err != nil {
			return nil, stopped(err, k)
		}
		if d, err := compare(path); d != nil || err != nil {
			return d, stopped(err, k)
		}
	}
	return nil, nil
}

// shortestChain returns a path of the fewest arcs from the start of f to a final state as a machine
// with all weights 1̄. It returns an empty machine if there is none.
func shortestChain[W semiring.Weight[W]](f *fst.Vector[W]) *fst.Vector[W] {
	arcs, ok := pathToFinal[W](f, f.Start())
	if !ok {
		return fst.NewVector[W](0)
	}
	path := fst.NewVector[W](len(arcs) + 1)
	path.AddStates(len(arcs) + 1)
	path.SetStart(0)
	q := f.Start()
	for i, k := range arcs {
		e := f.Arcs(q)[k]
		q = e.NextState
		e.Weight, e.NextState = semiring.One[W](), fst.StateID(i+1)
		path.AddArc(fst.StateID(i), e)
	}
	path.SetFinal(fst.StateID(len(arcs)), semiring.One[W]())
	return path
}

// pathsError is a LimitError that tells how many paths had been tried.
type pathsError struct {
	limit LimitError
	paths int
}

func (e *pathsError) Error() string { return fmt.Sprintf("%v after %d paths", &e.limit, e.paths) }
func (e *pathsError) Unwrap() error { return &e.limit }

// pairWeight returns the weight that f, sorted by input, gives to the strings of
// path.
func pairWeight[W semiring.Approx[W]](path, f *fst.Vector[W], lim Limits) (w W, err error) {
	left, err := Compose(fst.Fst[W](Projected(path, Input)), f, &ComposeOptions{Limits: lim})
	if err != nil {
		return w, err
	}
	both, err := Compose(fst.Fst[W](left), ArcSorted(Projected(path, Output), Input),
		&ComposeOptions{Limits: lim})
	if err != nil {
		return w, err
	}
	if both.Start() == fst.NoState {
		return semiring.Zero[W](), nil
	}
	d, err := ShortestDistance(both, &ShortestDistanceOptions{Reverse: true, Limits: Limits{Ctx: lim.Ctx}})
	if err != nil {
		return w, err
	}
	return d[both.Start()], nil
}
