package ops

import (
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

// ReverseOptions adjusts Reverse; nil is the same as the zero value.
type ReverseOptions struct {
	// NoSuperInitial leaves out the new start state where f has one final state, and its weight is
	// 1̄ or it lies on no cycle. States then keep their numbers, and the final weight goes onto the
	// reversed arcs that leave the state.
	NoSuperInitial bool
	Limits
}

// Reverse returns the machine of the reversed strings: fᴿ(x₁…xₘ, y₁…yₙ) is f(xₘ…x₁, yₙ…y₁) with the
// weights' Reverse. Over a semiring whose ⊗ does not commute the result is over the reversed one.
//
// State q becomes q+1, and the new start 0 has an ε-arc to each old final state,
// with its final weight; but see ReverseOptions. The old start is the only final
// state. Arcs of a state are in order of the states, and then of the arcs, that
// they come from. O(|Q| + |E|) time, and space for the result alone.
func Reverse[W semiring.Reversible[W, R], R semiring.Weight[R]](f fst.Expanded[W], opts *ReverseOptions) (*fst.Vector[R], error) {
	if opts == nil {
		opts = &ReverseOptions{}
	}
	n := f.NumStates()
	start := f.Start()
	// All but the arcs of a new start is known before anything is made.
	m := opts.Limits.meter("Reverse")
	size := int64(unsafe.Sizeof(fst.Arc[R]{}))
	least := run.Progress{States: n, Arcs: int64(fst.NumArcs(f))}
	if !opts.NoSuperInitial {
		least.States++
	}
	least.Bytes = least.Arcs*size + int64(least.States)*32
	if err := m.CheckNow(least); err != nil {
		return nil, err
	}
	target := fst.NoState // the one final state, if it can become the start
	if opts.NoSuperInitial {
		target = onlyFinal(f)
	}
	offset := fst.StateID(1)
	if target != fst.NoState {
		offset = 0
	}
	// The in-degrees give each state its place: arcs are written once.
	total := n + int(offset)
	first := make([]int64, total+1)
	finals := 0
	for q := range n {
		for _, e := range f.Arcs(fst.StateID(q)) {
			first[e.NextState+offset]++
		}
		if offset == 1 && fst.IsFinal(f, fst.StateID(q)) {
			finals++
		}
	}
	if offset == 1 {
		first[0] = int64(finals)
	}
	sum := int64(0)
	for q := range first {
		sum, first[q] = sum+first[q], sum
	}
	if err := m.CheckNow(run.Progress{States: total, Arcs: sum, Bytes: sum*size + int64(total)*32}); err != nil {
		return nil, err
	}
	arcs := make([]fst.Arc[R], sum)
	put := func(q fst.StateID, e fst.Arc[R]) {
		arcs[first[q]] = e
		first[q]++
	}
	for q := range n {
		s := fst.StateID(q)
		if offset == 1 && fst.IsFinal(f, s) {
			put(0, fst.Arc[R]{Weight: f.Final(s).Reverse(), NextState: s + 1})
		}
		for _, e := range f.Arcs(s) {
			w := e.Weight.Reverse()
			if e.NextState == target {
				w = f.Final(target).Reverse().Times(w)
			}
			put(e.NextState+offset, fst.Arc[R]{ILabel: e.ILabel, OLabel: e.OLabel, Weight: w, NextState: s + offset})
		}
	}
	finalsR := slices.Repeat([]R{semiring.Zero[R]()}, total)
	if start != fst.NoState {
		finalsR[start+offset] = semiring.One[R]()
		if start == target {
			finalsR[start] = f.Final(start).Reverse()
		}
	}
	out := fst.VectorOf(finalsR, first[:total], arcs) // first has come to the ends
	if target == fst.NoState {
		target = 0
	}
	out.SetStart(target)
	out.CopySymbols(f)
	p := reverseProperties(knownProperties(f), offset == 1, finals > 0, start != fst.NoState)
	if offset == 0 && !semiring.IsOne(f.Final(target)) {
		p |= fst.InitialAcyclic // onlyFinal has seen that it lies on no cycle
	}
	out.SetProperties(p|factsOf(out), fst.AllProperties)
	return out, nil
}

// onlyFinal returns the one final state of f if there is exactly one, and its weight may stand on
// the arcs into it. That is so if the weight is 1̄ or the state lies on no cycle.
func onlyFinal[W semiring.Weight[W]](f fst.Expanded[W]) fst.StateID {
	only := fst.NoState
	for q := range f.NumStates() {
		if fst.IsFinal(f, fst.StateID(q)) {
			if only != fst.NoState {
				return fst.NoState
			}
			only = fst.StateID(q)
		}
	}
	if only == fst.NoState || semiring.IsOne(f.Final(only)) {
		return only
	}
	seen := make([]bool, f.NumStates())
	stack := []fst.StateID{only}
	for len(stack) > 0 {
		q := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, e := range f.Arcs(q) {
			if e.NextState == only {
				return fst.NoState
			}
			if !seen[e.NextState] {
				seen[e.NextState] = true
				stack = append(stack, e.NextState)
			}
		}
	}
	return only
}

// reverseProperties returns what is known of the reverse of a machine with properties p. super
// means that a new start was made, which has arcs if there are final states. Without a new start, a
// final weight times the weight of an arc can be 1̄, so Weighted is not kept. What is known of
// cycles is kept, since the final weight is then 1̄ or its state lies on none. OpenFst does not
// record that nothing leads to a new start. Neither does this, since it decides the shape of a
// Union.
func reverseProperties(p fst.Properties, super, finals, started bool) fst.Properties {
	out := p & (fst.Acceptor | fst.NotAcceptor | fst.Epsilons | fst.IEpsilons | fst.OEpsilons |
		fst.Unweighted | fst.Cyclic | fst.Acyclic | fst.WeightedCycles | fst.UnweightedCycles)
	if super {
		out |= p & fst.Weighted
	}
	if super && finals {
		out |= fst.Epsilons | fst.IEpsilons | fst.OEpsilons
	} else {
		out |= p & (fst.NoEpsilons | fst.NoIEpsilons | fst.NoOEpsilons)
	}
	if started && (!super || finals) {
		out |= p & fst.Accessible << 2 // what the start reached now reaches the only final state
	}
	return out
}

// backward is a machine turned round as OpenFst's Reverse does it: state q is
// q+1, and 0 leads to the final states. Weights stay as they are; products are
// taken in the other order instead, which comes to the same as reversed weights.
type backward[W semiring.Weight[W]] struct {
	first []int64
	arcs  []fst.Arc[W]
	zero  W
	end   fst.StateID // the one final state: the start of the machine itself
}

func (b *backward[W]) Start() fst.StateID { return 0 }
func (b *backward[W]) NumStates() int     { return len(b.first) - 1 }
func (b *backward[W]) Final(q fst.StateID) W {
	if q == b.end {
		return b.zero.One()
	}
	return b.zero
}
func (b *backward[W]) Arcs(q fst.StateID) []fst.Arc[W] {
	return b.arcs[b.first[q]:b.first[q+1]]
}

// reversed turns f round by counting, in two passes, unless the context of w is done.
func reversed[W semiring.Weight[W]](f fst.Expanded[W], w *run.Stopwatch) (*backward[W], error) {
	n := f.NumStates()
	b := &backward[W]{first: make([]int64, n+3), zero: semiring.Zero[W](), end: f.Start() + 1}
	at := b.first[1:] // at[q+1] is where the next arc of q+1 goes
	for q := range fst.StateID(n) {
		if !f.Final(q).Equal(b.zero) {
			at[1]++
		}
		arcs := f.Arcs(q)
		if err := w.Spend(1 + len(arcs)); err != nil {
			return nil, err
		}
		for i := range arcs {
			at[arcs[i].NextState+2]++
		}
	}
	for q := range n + 1 {
		at[q+1] += at[q]
	}
	b.arcs = make([]fst.Arc[W], at[n+1])
	for q := range fst.StateID(n) {
		if w := f.Final(q); !w.Equal(b.zero) {
			b.arcs[at[0]] = fst.Arc[W]{Weight: w, NextState: q + 1}
			at[0]++
		}
		arcs := f.Arcs(q)
		if err := w.Spend(1 + len(arcs)); err != nil {
			return nil, err
		}
		for i := range arcs {
			e := &arcs[i]
			k := &at[e.NextState+1]
			b.arcs[*k] = fst.Arc[W]{ILabel: e.ILabel, OLabel: e.OLabel, Weight: e.Weight, NextState: q + 1}
			*k++
		}
	}
	b.first = b.first[:n+2]
	return b, nil
}

// knownReversed is what OpenFst would know of the reversed machine, as far as it matters for the
// choice of a queue. OpenFst sees whether all arcs go up as it adds them. The other properties lead
// to the same distances.
func knownReversed[W semiring.Weight[W]](b *backward[W]) fst.Properties {
	if sums.IsTopSorted(fst.Expanded[W](b)) {
		return fst.TopSorted | fst.Acyclic
	}
	return fst.NotTopSorted
}
