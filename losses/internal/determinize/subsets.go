package determinize

import (
	"math"
	"math/bits"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Acyclic determinizes m, which is acyclic and has no ε, over the algebra alg: into losses. Its
// arcs are sorted in place. The error is an *ops.LimitError where the result is beyond lim, or the
// algebra's.
//
// Subsets are made class by class, in topological order. Those of a class are all known when its
// arcs are made, and are forgotten after. Labels that do the same in a class are followed once.
// What a subset has for a label is added up in a table by target, so that no candidates are sorted.
func Acyclic[W floatWeight[W]](m *fst.Vector[W], alg LayerAlgebra,
	lim ops.Limits) (*fst.Vector[semiring.Log64], error) {
	out := fst.NewVector[semiring.Log64](0)
	if m.Start() == fst.NoState {
		return out, nil
	}
	ops.ArcSort(m, ops.Input)
	b := layeredBuilder{lim: lim, out: out}
	a, err := Layers(m, alg, b.room)
	if err != nil {
		return nil, err
	}
	b.a, b.other = a, a.bytes
	if err := b.build(); err != nil {
		return nil, err
	}
	ops.Connect(out)
	return out, nil
}

// layeredBuilder makes the deterministic machine of a layeredAcceptor.
type layeredBuilder struct {
	lim    ops.Limits
	a      *layeredAcceptor
	out    *fst.Vector[semiring.Log64]
	tables []subsets // by class; those behind are empty
	arcs   int64     // of out
	other  int64     // bytes beside out: of the acceptor, and of subsets
}

// room returns the error of a machine that is beyond its limits with so many bytes beside it.
func (b *layeredBuilder) room(other int64) error {
	size := ops.SizeOf[semiring.Log64](b.out.NumStates(), b.arcs)
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

func (b *layeredBuilder) build() error {
	classes, alg := b.a.Classes, b.a.alg
	b.tables = make([]subsets, len(classes))
	widest := 0
	for i := range classes {
		widest = max(widest, len(classes[i].States))
	}
	zero := alg.zero()
	sums := make([]float64, widest) // by state of the next class; zero where none led
	for i := range sums {
		sums[i] = zero
	}
	b.out.SetStart(b.insert(0, []layerArc{{b.a.start, alg.one()}}))
	type move struct {
		next fst.StateID
		loss float64
	}
	var moves []move
	var pairs []layerArc
	for r := range classes {
		c, t := &classes[r], &b.tables[r]
		for i := range t.len() {
			if i&63 == 0 {
				if err := b.room(b.other); err != nil {
					return err
				}
			}
			from, subset := t.ids[i], t.of(i)
			b.out.SetFinal(from, semiring.Log64(alg.loss(alg.end(subset, c.final))))
			moves = moves[:0]
			for gi := range c.groups {
				g := &c.groups[gi]
				pairs = pairs[:0]
				lo, hi := alg.gather(subset, g, sums)
				for to := lo; to <= hi; to++ {
					if w := sums[to]; w != zero {
						pairs = append(pairs, layerArc{to, w})
						sums[to] = zero
					}
				}
				if len(pairs) == 0 {
					moves = append(moves, move{next: fst.NoState})
					continue
				}
				left, divisor, err := alg.reduce(&classes[g.next], pairs)
				if err != nil {
					return err
				}
				moves = append(moves, move{b.insert(g.next, left), alg.loss(divisor)})
			}
			for _, l := range c.labels {
				if to := moves[l.group]; to.next != fst.NoState {
					b.out.AddArc(from, fst.Arc[semiring.Log64]{ILabel: l.label, OLabel: l.label,
						Weight: semiring.Log64(to.loss), NextState: to.next})
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
func (b *layeredBuilder) insert(class int32, pairs []layerArc) fst.StateID {
	t := &b.tables[class]
	before := t.bytes()
	i, isNew := t.insert(pairs)
	if isNew {
		t.ids = append(t.ids, b.out.AddState())
		b.other += t.bytes() - before
	}
	return t.ids[i]
}

// subsets numbers distinct lists of pairs in order of insertion: a wordTable for keys of any
// length.
type subsets struct {
	pairs []layerArc
	ends  []int
	ids   []fst.StateID
	slots []uint32 // number+1, 0 is empty
}

func (t *subsets) len() int { return len(t.ends) }

func (t *subsets) of(i int) []layerArc {
	begin := 0
	if i > 0 {
		begin = t.ends[i-1]
	}
	return t.pairs[begin:t.ends[i]]
}

func (t *subsets) bytes() int64 {
	return 16*int64(cap(t.pairs)) + 8*int64(cap(t.ends)) + 4*int64(cap(t.ids)+len(t.slots))
}

func hashPairs(pairs []layerArc) uint64 {
	h := uint64(len(pairs))
	for _, x := range pairs {
		hi, lo := bits.Mul64(math.Float64bits(x.Weight)^0x9e3779b97f4a7c15^h, 0xd6e8feb86659fd93^uint64(x.To))
		h = hi ^ lo
	}
	return h * 0x9e3779b97f4a7c15
}

func (t *subsets) insert(pairs []layerArc) (i int, isNew bool) {
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
func (t *subsets) probe(pairs []layerArc) (slot uint64, i int) {
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
