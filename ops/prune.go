package ops

import (
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

// PruneOptions adjusts Prune; nil is the same as the zero value, which keeps all
// successful paths.
type PruneOptions[W any] struct {
	// Threshold: paths worse than the best one times it go; nil is 0̄, which
	// prunes nothing by weight. One that is no member, as NaN, is an error around ErrNotMember.
	Threshold *W
	// States bounds the states that are kept, the best ones; zero is no bound,
	// negative keeps none.
	States int
	// Distances to the final states, if known already; nil: they are computed. Those that are
	// missing at the end count as 0̄, as with OpenFst: no final state is reached from there.
	Distances []W
	// Delta is the least change of a distance that is passed on, as in
	// ShortestDistance. OpenFst's tool takes 1/1024.
	Delta float64
	// Limits holds for the result, and for the bytes of f and the work space. Its
	// States is a bound that is an error to exceed, unlike the one above.
	Limits
}

// Prune deletes states and arcs of f, in place. It keeps those on a successful path as good as the
// best path times opts.Threshold, and of these the opts.States best states. States are renumbered
// in order, arcs keep theirs. A final state stays final when the path that ends there is good
// enough. With a bound on states the result may have states on no successful path, as OpenFst's
// has.
//
// Cycles that the start leads to must not be better than 1̄, else the error is
// ErrNotClosed. With Distances that are not the shortest ones the result is what they make of it.
//
// After an error, which that of a limit or of a context is too, f is as it was.
//
// Cost: that of ShortestDistance in reverse, and O((states+arcs)·log states):
// states are visited in the order of the best path through them.
func Prune[W PathWeight[W]](f *fst.Vector[W], opts *PruneOptions[W]) error {
	return prune(f, opts, f.DeleteStates)
}

// prune is Prune with a function that deletes the states.
func prune[W PathWeight[W]](f *fst.Vector[W], opts *PruneOptions[W], deleteStates func(dead []bool)) error {
	var o PruneOptions[W]
	if opts != nil {
		o = *opts
	}
	const op = "Prune"
	if err := thresholdMember(op, o.Threshold); err != nil {
		return err
	}
	alg := sums.NewAlgebra[W]()
	zero := alg.Zero
	n := f.NumStates()
	if n == 0 {
		return nil
	}
	start := f.Start()
	m := o.Limits.workspace().meter(op).AtOnce()
	size := run.SizeOf[W](n, int64(f.NumArcs()))
	var w W
	size.Bytes += int64(n) * (2*int64(unsafe.Sizeof(w)) + 10)
	if err := m.Check(size); err != nil {
		return err
	}
	beta := slices.Clone(o.Distances)
	if o.Distances == nil && o.States >= 0 && start != fst.NoState {
		var err error
		if beta, err = distancesToFinal[W, W](f, &ShortestDistanceOptions{Delta: o.Delta, Limits: Limits{Ctx: o.Ctx}}); err != nil {
			return renamed(err, op)
		}
	}
	for len(beta) < n {
		beta = append(beta, zero)
	}
	if start == fst.NoState || o.States < 0 || beta[start].Equal(zero) {
		deleteStates(slices.Repeat([]bool{true}, n))
		return nil
	}
	threshold := zero
	if o.Threshold != nil {
		threshold = *o.Threshold
	}
	p := &pruning[W]{f: f, alg: &alg, beta: beta, limit: beta[start].Times(threshold), most: o.States, meter: m,
		size: size}
	gone, err := p.visit()
	if err != nil {
		return err
	}
	if o.Limits.any() {
		m = o.Limits.meter(op)
		if err := m.CheckNow(sizeOfRest(f, &p.cuts, gone)); err != nil {
			return err
		}
	}
	known := f.KnownProperties() & keptByDeletion
	dead := f.AddState() // where the arcs that go lead until they go
	eachCut(&p.cuts, f, func(q fst.StateID, cut func(i int) bool) {
		if cut(0) {
			f.SetFinal(q, zero)
		}
		arcs := f.MutableArcs(q)
		for i := range arcs {
			if cut(1 + i) {
				arcs[i].NextState = dead
			}
		}
	})
	deleteStates(gone)
	if f.NumStates() > 0 {
		f.SetProperties(known, fst.AllProperties)
	}
	return nil
}

// pruning is the search for what is good enough, which does not touch f.
type pruning[W PathWeight[W]] struct {
	f     *fst.Vector[W]
	alg   *sums.AlgebraOf[W]
	beta  []W // distances to the final states
	limit W   // of paths
	most  int // states; 0 is any
	cuts  cutList
	meter run.Meter
	size  run.Progress
}

// visit goes through the states in the order of the best path through them, and notes in cuts what
// is beyond the limit. It returns which states it did not come to, with one more that is gone.
func (p *pruning[W]) visit() (gone []bool, err error) {
	f, alg, beta, limit := p.f, p.alg, p.beta, p.limit
	n, start := f.NumStates(), f.Start()
	alpha := slices.Repeat([]W{alg.Zero}, n)
	queue := run.NewStateHeap(n, true, beforeThrough(alpha, beta, alg))
	const (
		unseen = iota
		waiting
		visited
	)
	seen := make([]uint8, n)
	count := 0
	if !alg.Less(limit, beta[start]) {
		alpha[start] = alg.One
		seen[start] = waiting
		queue.Push(start)
		count++
	}
	for steps := 0; !queue.Empty(); steps++ {
		s := queue.Pop()
		seen[s] = visited
		if steps&1023 == 0 {
			if err := p.meter.CheckNow(p.size); err != nil {
				return nil, err
			}
		}
		as := alpha[s]
		arcs := f.Arcs(s)
		p.cuts.begin(s, len(arcs))
		if w := f.Final(s); !w.Equal(alg.Zero) && alg.Less(limit, as.Times(w)) {
			p.cuts.add(0)
		}
		for i := range arcs {
			e := &arcs[i]
			t := e.NextState
			w := as.Times(e.Weight)
			if alg.Less(limit, w.Times(beta[t])) {
				p.cuts.add(1 + i)
				continue
			}
			if alg.Less(w, alpha[t]) {
				alpha[t] = w
			}
			if seen[t] == visited || p.most > 0 && count >= p.most {
				continue
			}
			if seen[t] == unseen {
				seen[t] = waiting
				queue.Push(t)
				count++
			} else {
				queue.Update(t)
			}
		}
	}
	gone = make([]bool, n+1)
	for q, s := range seen {
		gone[q] = s != visited
	}
	gone[n] = true
	return gone, nil
}

// cutList notes what is removed of the states visited: a bit for the final weight of a state and
// one for each of its arcs. So the machine is not changed before all is known.
type cutList struct {
	states []fst.StateID // of which something goes
	bits   []uint64
	n      int         // bits in use
	q      fst.StateID // the state at hand, of which nothing goes yet
	need   int         // its bits, 0 once it is among states
	at     int         // its first bit
}

// begin begins the state q.
func (c *cutList) begin(q fst.StateID, arcs int) { c.q, c.need = q, 1+arcs }

// add notes that bit i of the state at hand goes.
func (c *cutList) add(i int) {
	if c.need > 0 {
		c.states = append(c.states, c.q)
		c.at = c.n
		c.n += c.need
		c.need = 0
		for len(c.bits) <= c.n>>6 {
			c.bits = append(c.bits, 0)
		}
	}
	i += c.at
	c.bits[i>>6] |= 1 << (i & 63)
}

// eachCut calls do for each state of f that loses something; bit i of its notes says what.
func eachCut[W semiring.Weight[W]](c *cutList, f fst.Expanded[W], do func(q fst.StateID, cut func(i int) bool)) {
	at := 0
	cut := func(i int) bool { i += at; return c.bits[i>>6]>>(i&63)&1 != 0 }
	for _, q := range c.states {
		do(q, cut)
		at += 1 + len(f.Arcs(q))
	}
}

// sizeOfRest is the size of f without the cuts and the states that are gone.
func sizeOfRest[W semiring.Weight[W]](f fst.Expanded[W], c *cutList, gone []bool) run.Progress {
	states, left := 0, int64(0)
	for q := range fst.StateID(f.NumStates()) {
		if gone[q] {
			continue
		}
		states++
		arcs := f.Arcs(q)
		for i := range arcs {
			if !gone[arcs[i].NextState] {
				left++
			}
		}
	}
	eachCut(c, f, func(q fst.StateID, cut func(i int) bool) {
		for i, e := range f.Arcs(q) {
			if cut(1+i) && !gone[e.NextState] {
				left--
			}
		}
	})
	return run.SizeOf[W](states, left)
}

// beforeThrough orders states by the best paths through them.
func beforeThrough[W semiring.Weight[W]](alpha, beta []W,
	alg *sums.AlgebraOf[W]) func(p, q fst.StateID) bool {
	switch alpha := any(alpha).(type) {
	case []semiring.Tropical:
		return costThrough(alpha, any(beta).([]semiring.Tropical))
	case []semiring.Tropical64:
		return costThrough(alpha, any(beta).([]semiring.Tropical64))
	}
	return func(p, q fst.StateID) bool { return alg.Less(alpha[p].Times(beta[p]), alpha[q].Times(beta[q])) }
}

func costThrough[T sums.Float](alpha, beta []T) func(p, q fst.StateID) bool {
	return func(p, q fst.StateID) bool { return alpha[p]+beta[p] < alpha[q]+beta[q] }
}
