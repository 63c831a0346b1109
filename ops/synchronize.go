package ops

import (
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/graph"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// Synchronize returns a transducer with the relation of f whose paths read and write in step as
// long as both sides have labels. An arc has labels on both sides, or on neither. Only at the end
// of the path the longer string goes on alone.
//
// The delay between input and output must be bounded along the paths of f. So each cycle must have
// as many input labels as output labels. Otherwise the error is a DelayError with a cycle that
// shows it, before the work begins.
//
// A state is a state of f with the labels that one side is ahead by. States are numbered as they
// are first reached, as in OpenFst. Cost: O(states + arcs) of the result, times the largest delay
// at worst. Strings share their labels, so that memory is O(states + arcs) whatever the delay.
//
// After M. Mohri, "Edit-distance of weighted automata: general definitions and
// algorithms", Int. J. Foundations of Computer Science 14(6):957-982, 2003.
func Synchronize[W semiring.Weight[W]](f fst.Fst[W], lim Limits) (*fst.Vector[W], error) {
	g, ok := f.(fst.Expanded[W])
	if !ok { // the result has each state of f, too
		v, err := Collect(f, lim)
		if err != nil {
			return nil, renamed(err, "Synchronize")
		}
		g = v
	}
	unbounded, err := boundedDelay("Synchronize", g, lim)
	if err != nil {
		return nil, err
	}
	if unbounded != nil {
		return nil, unbounded
	}
	out, err := Materialize[W](newSynchronizer[W](g), lim)
	if err != nil {
		return nil, renamed(err, "Synchronize")
	}
	out.CopySymbols(f)
	out.LearnProperties(knownProperties(f) & (fst.Acceptor | fst.Acyclic | fst.InitialAcyclic | fst.Unweighted))
	return out, nil
}

// SynchronizeLazy is Synchronize, to be computed where it is looked at, and so also where delays
// are not bounded. cache adjusts the result's cache; nil is the default.
func SynchronizeLazy[W semiring.Weight[W]](f fst.Fst[W], cache *fst.LazyOptions) *fst.Lazy[W] {
	return fst.NewLazy[W](newSynchronizer(f), withSymbols(cache, f, f))
}

// delayed is a state of f, NoState past its end, with the strings that are still to
// be put out, as numbers.
type delayed struct {
	q       fst.StateID
	in, out int32
}

type synchronizer[W semiring.Weight[W]] struct {
	f     fst.Fst[W]
	table *fst.Table[delayed]
	words run.Words
}

func newSynchronizer[W semiring.Weight[W]](f fst.Fst[W]) *synchronizer[W] {
	return &synchronizer[W]{f: f, table: fst.NewTable[delayed](nil), words: run.NewWords()}
}

// Bytes is what the table of states and the strings take.
func (s *synchronizer[W]) Bytes() int64 { return s.table.Bytes() + s.words.Bytes() }

func (s *synchronizer[W]) id(d delayed) fst.StateID {
	id, _ := s.table.ID(d)
	return id
}

func (s *synchronizer[W]) Start() (fst.StateID, error) {
	if s.f.Start() == fst.NoState {
		return fst.NoState, fst.Err(s.f)
	}
	return s.id(delayed{q: s.f.Start()}), nil
}

func (s *synchronizer[W]) Expand(q fst.StateID, dst []fst.Arc[W]) (W, []fst.Arc[W], error) {
	zero := semiring.Zero[W]()
	d := s.table.Key(q)
	final := zero.One()
	if d.q != fst.NoState {
		final = s.f.Final(d.q)
		for _, e := range s.f.Arcs(d.q) {
			to := delayed{q: e.NextState}
			if (d.in == 0 && e.ILabel == fst.Epsilon) || (d.out == 0 && e.OLabel == fst.Epsilon) {
				to.in, to.out = s.words.Push(d.in, e.ILabel), s.words.Push(d.out, e.OLabel)
				e.ILabel, e.OLabel = fst.Epsilon, fst.Epsilon
			} else {
				e.ILabel, to.in = s.words.Pop(d.in, e.ILabel)
				e.OLabel, to.out = s.words.Pop(d.out, e.OLabel)
			}
			e.NextState = s.id(to)
			dst = append(dst, e)
		}
	}
	if (d.in != 0 || d.out != 0) && !final.Equal(zero) {
		e := fst.Arc[W]{Weight: final}
		to := delayed{q: fst.NoState}
		e.ILabel, to.in = s.words.Pop(d.in, fst.Epsilon)
		e.OLabel, to.out = s.words.Pop(d.out, fst.Epsilon)
		e.NextState = s.id(to)
		dst = append(dst, e)
		final = zero
	}
	return final, dst, fst.Err(s.f)
}

var _ fst.Retainer = (*synchronizer[semiring.Tropical])(nil)

// Retain forgets all states but live, and the strings that none of them has to put out.
func (s *synchronizer[W]) Retain(live []fst.StateID) {
	states := s.table
	s.table = fst.NewTable[delayed](nil)
	var words []int32
	for _, q := range live {
		d := states.Key(q)
		words = append(words, d.in, d.out)
	}
	var now map[int32]int32
	s.words, now = s.words.Only(words)
	for _, q := range live {
		d := states.Key(q)
		d.in, d.out = now[d.in], now[d.out]
		s.table.ID(d)
	}
}

// DelayError is the evidence that the delay between input and output of a transducer has no bound,
// so that Synchronize does not end. It is a path from the start to a cycle, and once round it,
// where one side has more labels than the other. errors.Is finds ErrUnboundedDelay.
type DelayError struct {
	Op              string
	Path            Path
	Cycle           int // arcs before the cycle begins
	Inputs, Outputs int // labels on the cycle

	// Dead is true where no accepting path goes round such a cycle: Connect takes them away.
	Dead bool

	// Shortest is true when it is proved that no other evidence is shorter, way and cycle
	// together.
	Shortest bool
}

func (e *DelayError) Error() string {
	s := fmt.Sprintf("ops: %s: the delay between input and output has no bound: the cycle from arc %d of "+
		"[%s] on, at state %d, has %d labels on the input and %d on the output, so that one side is further "+
		"ahead each time round",
		e.Op, e.Cycle, e.Path.String(), e.Path.States[e.Cycle], e.Inputs, e.Outputs)
	if e.Dead {
		s += "; no final state is reached from there, and without what leads to none (Connect) the delay is bounded"
	}
	if !e.Shortest {
		s += "; there may be a shorter way to show it"
	}
	return s
}

func (e *DelayError) Unwrap() error { return ErrUnboundedDelay }

// BoundedDelay tests whether Synchronize ends: whether there is a bound on how many labels one side
// of f can be ahead of the other, along all paths from the start. If so, it returns nil. Otherwise
// it returns a way to a cycle with more labels on one side, on accepting paths if possible. Way and
// cycle together have the fewest arcs, or few where it would take long to be certain.
//
// The delay is bounded exactly when each cycle has as many labels on either side. What a path
// without cycles adds is bounded. Round any other cycle the delay grows for ever. All cycles of a
// strongly connected component are balanced exactly when its states have delays that each arc
// changes by the difference of its labels.
//
// Cost: O(states + arcs) when the answer is yes. Otherwise it also searches from each state of
// these components, as far as the shortest evidence so far, with some ten million steps in all.
func BoundedDelay[W semiring.Weight[W]](f fst.Expanded[W], lim Limits) (*DelayError, error) {
	return boundedDelay("BoundedDelay", f, lim)
}

// delayOf is by how much an arc puts the input ahead.
func delayOf[W any](e *fst.Arc[W]) int32 {
	d := int32(0)
	if e.ILabel != fst.Epsilon {
		d++
	}
	if e.OLabel != fst.Epsilon {
		d--
	}
	return d
}

func boundedDelay[W semiring.Weight[W]](op string, f fst.Expanded[W], lim Limits) (*DelayError, error) {
	if f.Start() == fst.NoState || knownProperties(f)&(fst.Acyclic|fst.Acceptor) != 0 || !hasDelay(f) {
		return nil, nil
	}
	s := &delaySearch[W]{f: f, meter: Limits{Ctx: lim.Ctx}.meter(op)}
	var co []bool
	s.c, co = graph.FindComponents(f, nil, graph.FromStart|graph.WantCoaccess)
	found, err := s.findGrowing()
	if !found || err != nil {
		return nil, err
	}
	e := &DelayError{Op: op, Dead: !s.keepLive(co)}
	way, cycle, err := s.shortest(&e.Shortest)
	if err != nil {
		return nil, err
	}
	e.Cycle = len(way)
	arcs := make([]int32, 0, len(way)+len(cycle))
	for i, r := range append(way, cycle...) {
		arcs = append(arcs, int32(r.Arc))
		if i < e.Cycle {
			continue
		}
		arc := f.Arcs(r.State)[r.Arc]
		if arc.ILabel != fst.Epsilon {
			e.Inputs++
		}
		if arc.OLabel != fst.Epsilon {
			e.Outputs++
		}
	}
	e.Path = pathOf[W](f, f.Start(), arcs)
	return e, nil
}

// hasDelay reports whether an arc has a label on one side only.
func hasDelay[W semiring.Weight[W]](f fst.Expanded[W]) bool {
	for q := range fst.StateID(f.NumStates()) {
		arcs := f.Arcs(q)
		for i := range arcs {
			if delayOf(&arcs[i]) != 0 {
				return true
			}
		}
	}
	return false
}

// delaySearch looks for cycles with a delay.
type delaySearch[W semiring.Weight[W]] struct {
	f       fst.Expanded[W]
	c       graph.Components
	meter   run.Meter
	growing []bool // the components that have one

	// Of the search from one state:
	reached []delayPlace
	kept    [][2]int32 // of each state the places there, plus one; 0 is none
	steps   int64      // arcs looked at by all searches
}

// delayPlace is a state with the delay of a way to it.
type delayPlace struct {
	q     fst.StateID
	delay int32
	arcs  int32 // on the way
	from  int32 // the place before
	by    int32 // the arc from there
}

// findGrowing gives states delays, component by component, and finds where an arc disagrees with
// them.
func (s *delaySearch[W]) findGrowing() (found bool, err error) {
	n := s.f.NumStates()
	delay, seen := make([]int32, n), make([]bool, n)
	s.growing = make([]bool, s.c.N)
	var todo []fst.StateID
	for root := range fst.StateID(n) {
		if s.c.Of[root] < 0 || seen[root] {
			continue
		}
		seen[root] = true
		for todo = append(todo, root); len(todo) > 0; {
			p := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if err := s.meter.Check(run.Progress{}); err != nil {
				return false, err
			}
			arcs := s.f.Arcs(p)
			for i := range arcs {
				e := &arcs[i]
				q, d := e.NextState, delay[p]+delayOf(e)
				switch {
				case s.c.Of[q] != s.c.Of[p]:
				case !seen[q]:
					seen[q], delay[q] = true, d
					todo = append(todo, q)
				case delay[q] != d:
					s.growing[s.c.Of[p]], found = true, true
				}
			}
		}
	}
	return found, nil
}

// keepLive leaves only the components from which a final state is reached, if there are some.
func (s *delaySearch[W]) keepLive(co []bool) bool {
	live := make([]bool, len(s.growing))
	any := false
	for q, k := range s.c.Of {
		if k >= 0 && s.growing[k] && co[q] {
			live[k], any = true, true
		}
	}
	if any {
		s.growing = live
	}
	return any
}

// shortest returns the arcs of a way from the start and of a cycle behind it that has a delay.
func (s *delaySearch[W]) shortest(proved *bool) (way, cycle []ArcRef, err error) {
	const enough = 10_000_000 // steps
	from, order, err := s.ways()
	if err != nil {
		return nil, nil, err
	}
	s.kept = make([][2]int32, s.f.NumStates())
	best := int32(0) // arcs in all, 0 is none found
	*proved = true
	length := make([]int32, len(from)) // of the way to a state
	for _, r := range order {
		if r != s.f.Start() {
			length[r] = length[from[r].State] + 1
		}
		if best > 0 && length[r]+1 >= best {
			break
		}
		if !s.growing[s.c.Of[r]] {
			continue
		}
		if best > 0 && s.steps > enough {
			*proved = false
			break
		}
		most := int32(0)
		if best > 0 {
			most = best - 1 - length[r]
		}
		loop, err := s.cycleAt(r, most)
		if err != nil {
			return nil, nil, err
		}
		if loop != nil {
			cycle, best = loop, length[r]+int32(len(loop))
		}
	}
	for q := cycle[0].State; q != s.f.Start(); q = from[q].State {
		way = append(way, from[q])
	}
	slices.Reverse(way)
	return way, cycle, nil
}

// ways returns the arcs by which states are first reached from the start, and the states as they
// are.
func (s *delaySearch[W]) ways() (from []ArcRef, order []fst.StateID, err error) {
	from = make([]ArcRef, s.f.NumStates())
	seen := make([]bool, len(from))
	seen[s.f.Start()] = true
	order = append(order, s.f.Start())
	for head := 0; head < len(order); head++ {
		if err := s.meter.Check(run.Progress{}); err != nil {
			return nil, nil, err
		}
		for i, e := range s.f.Arcs(order[head]) {
			if !seen[e.NextState] {
				seen[e.NextState] = true
				from[e.NextState] = ArcRef{order[head], i}
				order = append(order, e.NextState)
			}
		}
	}
	return from, order, nil
}

// cycleAt returns a shortest cycle through r with a delay, or nil if none has at most the given
// number of arcs; 0 is no bound. The search is breadth first, with the first two delays of each
// state. Other delays are not needed. A way back to r cancels one delay at most, so with one of the
// first two the cycle has a delay, too, and is no longer.
func (s *delaySearch[W]) cycleAt(r fst.StateID, most int32) ([]ArcRef, error) {
	for _, p := range s.reached {
		s.kept[p.q] = [2]int32{}
	}
	s.reached = append(s.reached[:0], delayPlace{q: r, from: -1})
	s.kept[r][0] = 1
	for head := int32(0); int(head) < len(s.reached); head++ {
		at := s.reached[head]
		if most > 0 && at.arcs >= most {
			break
		}
		if err := s.meter.Check(run.Progress{}); err != nil {
			return nil, err
		}
		arcs := s.f.Arcs(at.q)
		s.steps += int64(len(arcs)) + 1
		for i := range arcs {
			e := &arcs[i]
			if s.c.Of[e.NextState] != s.c.Of[r] {
				continue
			}
			to := delayPlace{q: e.NextState, delay: at.delay + delayOf(e), arcs: at.arcs + 1, from: head, by: int32(i)}
			if to.q == r && to.delay != 0 {
				var cycle []ArcRef
				for p := to; p.from >= 0; p = s.reached[p.from] {
					cycle = append(cycle, ArcRef{s.reached[p.from].q, int(p.by)})
				}
				slices.Reverse(cycle)
				return cycle, nil
			}
			k := &s.kept[to.q]
			j := slices.Index(k[:], 0)
			if j < 0 || j == 1 && s.reached[k[0]-1].delay == to.delay {
				continue
			}
			s.reached = append(s.reached, to)
			k[j] = int32(len(s.reached))
		}
	}
	return nil, nil
}
