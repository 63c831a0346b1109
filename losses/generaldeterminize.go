package losses

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// determinizeClamped is determinize for the costs of a loss, with subsets clamped: see generalclamp.go. m is acyclic
// and has no ε. Its arcs are sorted in place.
//
// Subsets are made class by class, in topological order, so that those of a class are all known when its
// arcs are made, and are forgotten after. Labels that do the same in a class are followed once.
func determinizeClamped(s *stages, m *fst.Vector[semiring.Tropical64], most int) (*fst.Vector[semiring.Tropical64], error) {
	out := fst.NewVector[semiring.Tropical64](0)
	if m.Start() == fst.NoState {
		return out, nil
	}
	hold(s, m)
	defer release(s, m)
	ops.ArcSort(m, ops.Input)
	lim := s.left()
	if most > 0 && (lim.States == 0 || most < lim.States) {
		lim.States = most
	}
	b := clampedBuilder{lim: lim, out: out}
	a, err := clampAcceptor(m, lim.Bytes/8, b.room)
	if err == nil {
		b.a, b.other = a, a.bytes
		err = b.build(m.Start())
	}
	if err != nil {
		return nil, s.fail(stageDeterminize, err)
	}
	ops.Connect(out)
	return out, nil
}

// clampedBuilder makes the deterministic machine of a clampedAcceptor.
type clampedBuilder struct {
	lim    ops.Limits
	a      *clampedAcceptor
	out    *fst.Vector[semiring.Tropical64]
	tables []subsets // by class; those behind are empty
	arcs   int64     // of out
	other  int64     // bytes beside out: of the acceptor, and of subsets
}

// room returns the error of a machine that is beyond its limits with so many bytes beside it.
func (b *clampedBuilder) room(other int64) error {
	size := ops.SizeOf[semiring.Tropical64](b.out.NumStates(), b.arcs)
	size.Bytes += other
	fail := func(limit string, bound int64, cause error) error {
		return &ops.LimitError{Op: "Determinize", Limit: limit, Bound: bound, Built: size, Cause: cause}
	}
	switch lim := &b.lim; {
	case lim.States > 0 && size.States > lim.States:
		return fail("states", int64(lim.States), ops.ErrLimit)
	case lim.Arcs > 0 && size.Arcs > lim.Arcs:
		return fail("arcs", lim.Arcs, ops.ErrLimit)
	case lim.Bytes > 0 && size.Bytes > lim.Bytes:
		return fail("bytes", lim.Bytes, ops.ErrLimit)
	case size.States > math.MaxInt32>>1:
		return fail("states", math.MaxInt32>>1, ops.ErrLimit)
	case lim.Ctx != nil && lim.Ctx.Err() != nil:
		return fail("context", 0, lim.Ctx.Err())
	}
	return nil
}

func (b *clampedBuilder) build(start fst.StateID) error {
	classes := b.a.classes
	b.tables = make([]subsets, len(classes))
	place := -1
	for i, q := range classes[0].states {
		if q == start {
			place = i
		}
	}
	if place < 0 {
		return fmt.Errorf("losses: the start state %d is not in the first class", start)
	}
	b.out.SetStart(b.insert(0, []clampArc{{int32(place), 0}}))
	widest := 0
	for i := range classes {
		widest = max(widest, len(classes[i].states))
	}
	least := make([]float64, widest) // by state of the next class; +Inf where none led
	for i := range least {
		least[i] = math.Inf(1)
	}
	type move struct {
		next fst.StateID
		cost float64
	}
	var moves []move
	var pairs []clampArc
	for r := range classes {
		c, t := &classes[r], &b.tables[r]
		final := b.a.final[r]
		for i := range t.len() {
			if i&63 == 0 {
				if err := b.room(b.other); err != nil {
					return err
				}
			}
			from, subset := t.ids[i], t.of(i)
			end := math.Inf(1)
			for _, x := range subset {
				end = min(end, x.cost+final[x.to])
			}
			b.out.SetFinal(from, semiring.Tropical64(end))
			moves = moves[:0]
			for gi := range c.groups {
				g := &c.groups[gi]
				pairs = pairs[:0]
				lo, hi := int32(math.MaxInt32), int32(-1)
				for _, x := range subset {
					for _, e := range g.of(int(x.to)) {
						lo, hi = min(lo, e.to), max(hi, e.to)
						least[e.to] = min(least[e.to], x.cost+e.cost)
					}
				}
				for to := lo; to <= hi; to++ {
					if w := least[to]; w <= math.MaxFloat64 {
						pairs = append(pairs, clampArc{to, w})
					}
					least[to] = math.Inf(1)
				}
				pairs = classes[g.next].clamp(pairs)
				if len(pairs) == 0 {
					moves = append(moves, move{next: fst.NoState})
					continue
				}
				cost := math.Inf(1)
				for _, x := range pairs {
					cost = min(cost, x.cost)
				}
				for j := range pairs {
					pairs[j].cost -= cost
				}
				moves = append(moves, move{b.insert(g.next, pairs), cost})
			}
			for _, l := range c.labels {
				if to := moves[l.group]; to.next != fst.NoState {
					b.out.AddArc(from, fst.Arc[semiring.Tropical64]{ILabel: l.label, OLabel: l.label, Weight: semiring.Tropical64(to.cost), NextState: to.next})
					b.arcs++
				}
			}
		}
		b.other -= t.bytes()
		*t = subsets{}
	}
	return b.room(b.other)
}

// insert returns the state of a subset of a class, a new one where it is not known.
func (b *clampedBuilder) insert(class int32, pairs []clampArc) fst.StateID {
	t := &b.tables[class]
	before := t.bytes()
	i, isNew := t.insert(pairs)
	if isNew {
		t.ids = append(t.ids, b.out.AddState())
		b.other += t.bytes() - before
	}
	return t.ids[i]
}

// subsets numbers distinct lists of pairs in order of insertion: a wordTable for keys of any length.
type subsets struct {
	pairs []clampArc
	ends  []int
	ids   []fst.StateID
	slots []uint32 // number+1, 0 is empty
}

func (t *subsets) len() int { return len(t.ends) }

func (t *subsets) of(i int) []clampArc {
	begin := 0
	if i > 0 {
		begin = t.ends[i-1]
	}
	return t.pairs[begin:t.ends[i]]
}

func (t *subsets) bytes() int64 {
	return 16*int64(cap(t.pairs)) + 8*int64(cap(t.ends)) + 4*int64(cap(t.ids)+len(t.slots))
}

func hashPairs(pairs []clampArc) uint64 {
	h := uint64(len(pairs))
	for _, x := range pairs {
		hi, lo := bits.Mul64(math.Float64bits(x.cost)^0x9e3779b97f4a7c15^h, 0xd6e8feb86659fd93^uint64(x.to))
		h = hi ^ lo
	}
	return h * 0x9e3779b97f4a7c15
}

func (t *subsets) insert(pairs []clampArc) (i int, isNew bool) {
	if 2*len(t.ends) >= len(t.slots) {
		t.slots = make([]uint32, max(16, 2*len(t.slots)))
		for i := range t.ends {
			at, _ := t.probe(t.of(i))
			t.slots[at] = uint32(i + 1)
		}
	}
	at, i := t.probe(pairs)
	if i >= 0 {
		return i, false
	}
	t.pairs = append(t.pairs, pairs...)
	t.ends = append(t.ends, len(t.pairs))
	t.slots[at] = uint32(len(t.ends))
	return len(t.ends) - 1, true
}

// probe returns the slot for a list and its number, -1 where the slot is empty.
func (t *subsets) probe(pairs []clampArc) (slot uint64, i int) {
	mask := uint64(len(t.slots) - 1)
probe:
	for at := hashPairs(pairs) & mask; ; at = (at + 1) & mask {
		if t.slots[at] == 0 {
			return at, -1
		}
		i := int(t.slots[at] - 1)
		known := t.of(i)
		if len(known) != len(pairs) {
			continue
		}
		for j, x := range known {
			if x != pairs[j] {
				continue probe
			}
		}
		return at, i
	}
}
