package ops

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/subsets"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

// nBestInput is a reversed machine as the search for its n best paths sees it. It may be computed
// on demand. distance(q), from q to the end of the reversed machine, need only be known for states
// that have been met.
type nBestInput[W any] struct {
	op       string       // whose errors they are
	bytes    func() int64 // held by what is searched
	start    fst.StateID
	arcs     func(fst.StateID) []fst.Arc[W]
	final    func(fst.StateID) W
	distance func(fst.StateID) W
	err      func() error // asked at the end; nil: no error can happen
	endless  int64        // states never looked at before, between one complete path and the next, at which to give up; zero: there are only so many
}

// ErrEndless reports a search for distinct strings that found no next one. On a machine with cycles
// of weight 1̄ that cannot be determinized, there can be ever new sets of states at the same
// distance.
var ErrEndless = errors.New("the search for distinct strings does not come to an end: there are ever new sets of states at one distance (ask for fewer, or make the machine determinizable)")

// partial is a path from some state of the machine to its end: 24 bytes and a
// weight or two. Its arc leads to the partial path that it extends.
type partial[W any] struct {
	state  fst.StateID // where it begins; NoState when it is complete
	next   int32       // the partial path without its first arc
	weight W           // of the path
	key    W           // the weight of the best complete path through it
	arc    W           // weight of the first arc
	in     fst.Label
	out    fst.Label
}

// nShortest is the A* search of Mohri and Riley (see ShortestPath). Partial
// path k is state k+1 of OpenFst's intermediate result, 0 being its start; in
// the end the states on complete paths keep their order.
func nShortest[W PathWeight[W]](f any, o *ShortestPathOptions[W], in *nBestInput[W]) (*fst.Vector[W], error) {
	out := fst.NewVector[W](0)
	out.CopySymbols(f)
	alg := sums.NewAlgebra[W]()
	if in.start == fst.NoState {
		return out, nil
	}
	whole := in.distance(in.start)
	if whole.Equal(alg.Zero) || o.Threshold != nil && alg.Less(*o.Threshold, alg.One) || o.States < 0 {
		return out, nil
	}
	limit := alg.Zero
	if o.Threshold != nil {
		limit = whole.Times(*o.Threshold)
	}
	h := &pathHeap[W]{less: alg.Less, near: sums.NearOf[W](o.distances().delta(true))}
	h.heap = run.NewHeap(func(x, y int32) bool { return h.worse(y, x) })
	h.add(partial[W]{state: in.start, next: -1, weight: alg.One, key: whole})
	h.heap.Push(0)
	var complete []int32
	m := o.Limits.meter(in.op).AtOnce()
	bounded := o.Limits.any()
	since := int64(0)              // states looked at for the first time since a path was complete
	visits := make([]int32, 0, 64) // of each state; complete paths are counted by complete
	for h.heap.Len() > 0 {
		k := h.heap.Pop()
		p := *h.at(k)
		if bounded {
			size := run.SizeOf[W](0, 0)
			if h.kept > 0 {
				size = run.SizeOf[W](h.kept+1, int64(len(complete)+h.kept-1))
			}
			size.Bytes += h.bytes() + int64(cap(visits)+cap(complete))*4 + in.bytes()
			if err := m.Check(size); err != nil {
				return nil, err
			}
		}
		if alg.Less(limit, p.key) || o.States > 0 && h.n+1 >= o.States {
			continue
		}
		if p.state == fst.NoState {
			complete = append(complete, k)
			if bounded {
				h.keep(k)
			}
			since = 0
			if len(complete) == o.N {
				break
			}
			continue
		}
		if in.endless > 0 && p.key.Equal(alg.Zero) {
			break // nothing that is left can be completed, and it may be infinite
		}
		for len(visits) <= int(p.state) {
			visits = append(visits, 0)
		}
		if visits[p.state]++; int(visits[p.state]) > o.N {
			continue
		}
		if visits[p.state] == 1 {
			// Of each state there are no more visits than paths are asked for: only
			// ever new ones have no end.
			if since++; in.endless > 0 && since > in.endless {
				return nil, &StateError{Op: "ShortestPathUnique", State: p.state, Err: ErrEndless}
			}
		}
		arcs := in.arcs(p.state)
		final := in.final(p.state)
		for i := range arcs {
			e := &arcs[i]
			w := e.Weight.Times(p.weight)
			h.extend(partial[W]{state: e.NextState, next: k, weight: w, key: in.distance(e.NextState).Times(w),
				arc: e.Weight, in: e.ILabel, out: e.OLabel})
		}
		if !final.Equal(alg.Zero) {
			w := final.Times(p.weight)
			h.extend(partial[W]{state: fst.NoState, next: k, weight: w, key: w, arc: final})
		}
	}
	if in.err != nil {
		if err := in.err(); err != nil {
			return nil, err
		}
	}
	if bounded && h.kept > 0 {
		size := run.SizeOf[W](h.kept+1, int64(len(complete)+h.kept-1))
		size.Bytes += h.bytes() + in.bytes()
		if err := m.Check(size); err != nil {
			return nil, err
		}
	}
	h.build(out, complete)
	return out, nil
}

// keep counts the partial paths that the complete path k brings into the result.
func (h *pathHeap[W]) keep(k int32) {
	if n := h.n - len(h.on); n > 0 {
		h.on = append(h.on, make([]bool, n)...)
	}
	for ; k >= 0 && !h.on[k]; k = h.at(k).next {
		h.on[k] = true
		h.kept++
	}
}

// bytes is what the search holds, and what build will need for each partial path.
func (h *pathHeap[W]) bytes() int64 {
	room := int64(len(h.blocks)) << pathBits
	if len(h.blocks) == 1 {
		room = int64(cap(h.blocks[0]))
	}
	return room*int64(unsafe.Sizeof(partial[W]{})) + int64(h.heap.Room())*4 + int64(cap(h.on)) + int64(h.n)*4
}

func (h *pathHeap[W]) extend(p partial[W]) {
	h.heap.Push(h.add(p))
}

// Sizes of blocks of partial paths. A block has 8192; the first one begins with few.
const (
	pathBits = 13
	pathMask = 1<<pathBits - 1
)

// at returns partial path k.
func (h *pathHeap[W]) at(k int32) *partial[W] { return &h.blocks[k>>pathBits][k&pathMask] }

// add appends a partial path and returns its number.
func (h *pathHeap[W]) add(p partial[W]) int32 {
	b := h.n >> pathBits
	if b == len(h.blocks) {
		var block []partial[W]
		if b > 0 {
			block = make([]partial[W], 0, 1<<pathBits)
		}
		h.blocks = append(h.blocks, block)
	}
	h.blocks[b] = append(h.blocks[b], p)
	h.n++
	return int32(h.n - 1)
}

// build writes the complete paths, best first, with the ends that they share.
func (h *pathHeap[W]) build(out *fst.Vector[W], complete []int32) {
	if len(complete) == 0 {
		return
	}
	id := make([]fst.StateID, h.n)
	states := 0
	for _, k := range complete {
		for ; k >= 0 && id[k] == 0; k = h.at(k).next {
			id[k] = 1
			states++
		}
	}
	out.ReserveStates(states + 1)
	out.ReserveArcs(states + len(complete))
	out.AddState()
	out.SetStart(0)
	for k := range id {
		if id[k] != 0 {
			id[k] = out.AddState()
		}
	}
	out.SetFinal(1, semiring.One[W]())
	for _, k := range complete {
		out.AddArc(0, fst.Arc[W]{Weight: semiring.One[W](), NextState: id[k]})
	}
	for k := range id {
		if p := h.at(int32(k)); id[k] != 0 && p.next >= 0 {
			out.AddArc(id[k], fst.Arc[W]{ILabel: p.in, OLabel: p.out, Weight: p.arc, NextState: id[p.next]})
		}
	}
	p := out.KnownProperties()
	out.SetProperties(p&keptByDeletion, fst.AllProperties)
	setPathProperties(out, false)
}

// pathHeap orders partial paths by their keys. Complete paths come after partial ones of about the
// same key. So rounding in the distances cannot put a complete path before a better one that is
// still partial.
//
// Ties are popped in OpenFst's order: see heap.
type pathHeap[W semiring.Weight[W]] struct {
	// Partial paths are in blocks that stay where they are. If one array grew, the old and the new
	// one would exist at once, and earlier ones would wait for the collector.
	blocks [][]partial[W]
	n      int // partial paths
	heap   *run.Heap[int32]
	on     []bool // of each partial path: it is on a complete one; see keep
	kept   int    // how many are
	less   func(a, b W) bool
	near   func(a, b W) bool
}

// worse reports whether partial path x comes after y.
func (h *pathHeap[W]) worse(x, y int32) bool {
	px, py := h.at(x), h.at(y)
	switch xc, yc := px.state == fst.NoState, py.state == fst.NoState; {
	case xc && !yc:
		return h.less(py.key, px.key) || h.near(px.key, py.key)
	case yc && !xc:
		return h.less(py.key, px.key) && !h.near(px.key, py.key)
	}
	return h.less(py.key, px.key)
}

// ShortestPathUnique is ShortestPath for distinct strings. Of all paths of the acceptor f with one
// string only a best one counts. So the result has the opts.N best strings, each with its best
// weight. ε counts as a symbol of the string: remove it first (RmEpsilon) where it should not.
//
// The reversed machine is determinized as far as the search goes, with distances carried along, so
// f need not be determinizable. Residual weights are rounded to multiples of Delta, as OpenFst
// does, where the weights can be; a negative Delta compares them exactly. On a machine with cycles
// of weight 1̄ that cannot be determinized there may be ever new subsets at one distance. OpenFst
// does not come back then. Here it is ErrEndless after MaxVisits of them without a path. For N = 1
// it is ShortestPath. A transducer is ErrNotAcceptor.
//
// After M. Mohri and M. Riley, "An efficient algorithm for the n-best-strings
// problem", ICSLP 2002.
func ShortestPathUnique[W interface {
	PathWeight[W]
	semiring.Divisible[W]
	semiring.Commutative[W]
}](f fst.Expanded[W], opts *ShortestPathOptions[W]) (*fst.Vector[W], error) {
	var o ShortestPathOptions[W]
	if opts != nil {
		o = *opts
	}
	if o.N == 0 || o.N == 1 || o.N < 0 || o.N > math.MaxInt32 {
		return ShortestPath(f, opts)
	}
	if err := thresholdMember("ShortestPathUnique", o.Threshold); err != nil {
		return nil, err
	}
	known := fst.PropertiesOf[W](f, fst.Acceptor|fst.Acyclic)
	if !known.Has(fst.Acceptor) {
		return nil, fmt.Errorf("ops: ShortestPathUnique: %w", ErrNotAcceptor)
	}
	d, err := reversedDistances(f, &o)
	if err != nil {
		return nil, err
	}
	if f.Start() == fst.NoState {
		return nShortest(f, &o, &nBestInput[W]{start: fst.NoState})
	}
	r, err := reversed(f, &run.Stopwatch{Op: "ShortestPathUnique", Ctx: o.Ctx})
	if err != nil {
		return nil, err
	}
	det, err := newAcceptorDeterminizer(fst.Fst[W](r), &DeterminizeOptions{})
	if err != nil {
		return nil, err
	}
	det.m.delta = residualRounding[W](o.distances().delta(true))
	det.m.op, det.m.guard = "ShortestPathUnique", nil // it never runs to the end
	n, narcs := f.NumStates(), int64(fst.NumArcs(f))
	base := run.SizeOf[W](n+1, narcs+int64(n)).Bytes + int64(n)*int64(unsafe.Sizeof(d[0]))
	u := &uniquePaths[W]{det: det}
	det.m.added = func(subset []subsets.Element[W]) {
		sum := semiring.Zero[W]()
		for _, e := range subset {
			sum = sum.Plus(e.Residual.Times(d[e.State]))
		}
		u.distance = append(u.distance, sum)
	}
	start, err := det.Start()
	if err != nil {
		return nil, err
	}
	endless := int64(math.MaxInt64) // of a machine without cycles there are only so many sets of states
	if !known.Has(fst.Acyclic) {
		endless = o.distances().maxVisits(f.NumStates())
	}
	return nShortest(f, &o, &nBestInput[W]{
		op:       det.m.op,
		bytes:    func() int64 { return base + u.bytes() },
		start:    start,
		arcs:     func(q fst.StateID) []fst.Arc[W] { return u.at(q).arcs },
		final:    func(q fst.StateID) W { return u.at(q).final },
		distance: func(q fst.StateID) W { return u.distance[q] },
		err:      func() error { return u.err },
		endless:  endless,
	})
}

// uniquePaths is a determinized machine as far as it has been looked at.
type uniquePaths[W semiring.Divisible[W]] struct {
	det      *acceptorDeterminizer[W]
	distance []W
	states   []*uniqueState[W]
	scratch  []fst.Arc[W]
	arcs     int64 // of the states
	err      error
}

type uniqueState[W any] struct {
	final W
	arcs  []fst.Arc[W]
}

// bytes is what the subsets, their distances and their arcs take.
func (u *uniquePaths[W]) bytes() int64 {
	var w W
	m := &u.det.m
	return m.table.Bytes() + m.alg.bytes() + int64(cap(u.distance))*int64(unsafe.Sizeof(w)) +
		run.SizeOf[W](0, u.arcs).Bytes + int64(len(u.states))*48
}

func (u *uniquePaths[W]) at(q fst.StateID) *uniqueState[W] {
	for int(q) >= len(u.states) {
		u.states = append(u.states, nil)
	}
	if u.states[q] == nil {
		s := &uniqueState[W]{final: semiring.Zero[W]()}
		if u.err == nil {
			final, arcs, err := u.det.Expand(q, u.scratch[:0])
			u.scratch = arcs
			if u.err = err; err == nil {
				s.final, s.arcs = final, slices.Clone(arcs)
				u.arcs += int64(len(arcs))
			}
		}
		u.states[q] = s
	}
	return u.states[q]
}

// residualRounding rounds to multiples of delta as OpenFst does, even where weights have
// no digits left for it, since which strings tie is decided so. It is nil for zero, and for
// weights that cannot be rounded.
func residualRounding[W semiring.Weight[W]](delta float64) func(W) W {
	if _, ok := any(semiring.Zero[W]()).(semiring.Quantizable[W]); !ok || delta == 0 {
		return nil
	}
	round := func(w W) W { return any(w).(semiring.Quantizable[W]).Quantize(delta) }
	switch round := any(&round).(type) {
	case *func(semiring.Tropical) semiring.Tropical:
		*round = func(w semiring.Tropical) semiring.Tropical { return w.Quantize(delta) }
	case *func(semiring.Tropical64) semiring.Tropical64:
		*round = func(w semiring.Tropical64) semiring.Tropical64 { return w.Quantize(delta) }
	}
	return round
}
