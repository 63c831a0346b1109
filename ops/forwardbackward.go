package ops

import (
	"errors"
	"math"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

// Passages holds the ⊕-sum of the weights of the successful paths through each arc and each final
// weight of a machine. That is α(p)⊗w⊗β(q), or that divided by the sum over all successful paths.
//
// Over Log all of these are computed in float64 and rounded one by one. Sums of a long machine are
// large beside what its arcs weigh. Take posteriors from Posteriors or ExpectedCounts, not from
// Alpha and Beta, whose rounding they would show.
type Passages[W semiring.Weight[W]] struct {
	Alpha []W // from the start to each state
	Beta  []W // from each state to the final states, final weights included
	Total W   // of all successful paths
	Final []W // of the paths that end at each state
	Flat  []W // of each arc, the arcs of state after state in their order
	first []int64
}

// Arcs returns what belongs to the arcs of q, in their order.
func (p *Passages[W]) Arcs(q fst.StateID) []W { return p.Flat[p.first[q]:p.first[q+1]] }

// ForwardBackwardOptions adjusts ForwardBackward; nil is the same as the zero
// value.
type ForwardBackwardOptions struct {
	// Delta, for machines with cycles, is as in ShortestDistance; zero is none
	// too small for weights with the path property, else ShortestDelta.
	Delta float64
	// MaxVisits is as in ShortestDistance.
	MaxVisits int64
	// Limits has Ctx, which stops a long computation, and Bytes for the distances and the
	// passages. States and Arcs mean nothing, as no machine is made.
	Limits
}

// ErrNoPath reports that a machine has no successful path, where its total
// weight was to be divided by.
var ErrNoPath = errors.New("no successful path")

// ForwardBackward returns, undivided, the weight of the paths through each arc. Over the tropical
// semirings that is the best path through it. Over Probability and the log semirings it is the mass
// that passes it, counted as often as a path does.
//
// f may have cycles if the weights are k-closed for it; errors are those of
// ShortestDistance. Where they are k-closed for what the start leads to alone, Beta is 0̄
// elsewhere. ⊗ must distribute on both sides. Weights without division serve as well as
// others. What Limits ends is a LimitError.
//
// Cost: two sweeps and one pass of the arcs, O(states + arcs) when f is acyclic.
// The algorithm is L. Baum's ("An inequality and associated maximization
// technique", Inequalities 3, 1972), on graphs as in Mohri (2002).
func ForwardBackward[W semiring.Approx[W]](f fst.Expanded[W], opts *ForwardBackwardOptions) (*Passages[W], error) {
	const op = "ForwardBackward"
	switch f := any(f).(type) {
	case fst.Expanded[semiring.Log]:
		p, err := passagesOf(op, f, opts, undivided[semiring.Log64])
		w, _ := any(p).(*Passages[W])
		return w, err
	case fst.Expanded[sums.CarriedProduct]:
		p, err := passagesOf(op, f, opts, undivided[sums.CarriedProduct64])
		w, _ := any(p).(*Passages[W])
		return w, err
	}
	return passagesOf(op, f, opts, undivided[W])
}

func undivided[D semiring.Weight[D]](_, w D) D { return w }

// Posteriors is ForwardBackward with every weight of an arc or final weight divided, on the left,
// by the total. Over Probability that is the expected number of passages of a path drawn at random
// by its weight. Over Log and Log64 it is the negative logarithm of that. Over the tropical
// semirings it is how much worse than the best path the best path through the arc is. Without
// cycles the expected number is the probability.
//
// ⊗ should be commutative; otherwise dividing on the left is what it says and no
// more. A machine without successful paths gives ErrNoPath.
func Posteriors[W interface {
	semiring.Approx[W]
	semiring.Divisible[W]
}](f fst.Expanded[W], opts *ForwardBackwardOptions) (*Passages[W], error) {
	const op = "Posteriors"
	switch f := any(f).(type) {
	case fst.Expanded[semiring.Log]:
		p, err := passagesOf(op, f, opts, semiring.Log64.DivideLeft)
		w, _ := any(p).(*Passages[W])
		return w, err
	case fst.Expanded[sums.CarriedProduct]:
		p, err := passagesOf(op, f, opts, sums.CarriedProduct64.DivideLeft)
		w, _ := any(p).(*Passages[W])
		return w, err
	}
	return passagesOf(op, f, opts, W.DivideLeft)
}

// ExpectedCounts returns, for each arc, how often a random path of f is expected to pass it. Paths
// are drawn by their weights. The counts are plain numbers. arcs holds them for the arcs of state
// after state, in their order. finals holds the chance to end at each state. logTotal is the
// logarithm of the sum over all paths. Errors are those of Posteriors.
//
// Cost: that of ForwardBackward; over Log64 one exp an arc more.
func ExpectedCounts[W interface {
	semiring.Log | semiring.Log64 | semiring.Probability
	semiring.Approx[W]
}](f fst.Expanded[W], opts *ForwardBackwardOptions) (arcs, finals []float64, logTotal float64, err error) {
	switch f := any(f).(type) {
	case fst.Expanded[semiring.Log]:
		return expectedCounts[semiring.Log, semiring.Log64](f, opts)
	case fst.Expanded[semiring.Log64]:
		return expectedCounts[semiring.Log64, semiring.Log64](f, opts)
	case fst.Expanded[semiring.Probability]:
		return expectedCounts[semiring.Probability, semiring.Probability](f, opts)
	}
	panic("ops: ExpectedCounts: no such weights") // the constraint has no others
}

// expectedCounts is ExpectedCounts with sums carried in D.
func expectedCounts[W interface {
	sums.Float
	semiring.Approx[W]
}, D interface {
	sums.Float
	semiring.Approx[D]
}](f fst.Expanded[W], opts *ForwardBackwardOptions) (arcs, finals []float64, logTotal float64, err error) {
	const op = "ExpectedCounts"
	p, w, err := forwardBackward[W, D](op, f, opts)
	if err != nil {
		return nil, nil, 0, err
	}
	if semiring.IsZero(p.total) {
		return nil, nil, 0, &StateError{Op: op, State: f.Start(), Err: ErrNoPath}
	}
	n := f.NumStates()
	arcs, finals = make([]float64, 0, fst.NumArcs(f)), make([]float64, n)
	_, real := any(p.total).(semiring.Probability)
	total := float64(p.total)
	for q := range fst.StateID(n) {
		row := f.Arcs(q)
		if err := w.Spend(1 + 4*len(row)); err != nil { // of one exp each
			return nil, nil, 0, err
		}
		a, rho := float64(p.alpha[q]), float64(f.Final(q))
		if real {
			a /= total
			finals[q] = noNaN(a * rho)
			for i := range row {
				arcs = append(arcs, noNaN(a*float64(row[i].Weight)*float64(p.beta[row[i].NextState])))
			}
			continue
		}
		finals[q] = sums.ExpNeg(a + rho - total)
		for i := range row {
			arcs = append(arcs, sums.ExpNeg(a+float64(row[i].Weight)+float64(p.beta[row[i].NextState])-total))
		}
	}
	if real {
		return arcs, finals, math.Log(total), nil
	}
	return arcs, finals, -total, nil
}

// noNaN is x, and 0 for the NaN of 0 times what is no member, which is a 0̄.
func noNaN(x float64) float64 {
	if x != x {
		return 0
	}
	return x
}

// bothSums are the distances of a machine from its start and to its final states.
type bothSums[D any] struct {
	alpha, beta []D
	total       D
}

// forwardBackward computes the distances, carried in D; one search for the order serves both. The
// stopwatch is that of what follows.
func forwardBackward[W semiring.Approx[W], D semiring.Approx[D]](op string, f fst.Expanded[W],
	opts *ForwardBackwardOptions) (*bothSums[D], *run.Stopwatch, error) {
	var o ForwardBackwardOptions
	if opts != nil {
		o = *opts
	}
	p := &bothSums[D]{total: semiring.Zero[D]()}
	w := &run.Stopwatch{Op: op, Ctx: o.Ctx, Most: o.Bytes}
	if err := w.Spend(1); err != nil {
		return nil, nil, err
	}
	if o.Bytes > 0 { // three weights, two sums and a place for each state, one weight for each arc
		var weight W
		n, size := int64(f.NumStates()), int64(unsafe.Sizeof(weight))
		both := int64(0)
		if _, same := any(p.total).(W); !same {
			both = 2 * int64(unsafe.Sizeof(p.total))
		}
		if err := w.Hold(n*(3*size+both+8) + int64(fst.NumArcs(f))*size); err != nil {
			return nil, nil, err
		}
	}
	order, err := acyclicOrder(op, f)
	if err == nil {
		if p.alpha, err = sums.SweepForward[W, D](f, order, nil, w); err != nil {
			return nil, nil, err
		}
		if err := membersOnly(op, f, p.alpha, false); err != nil {
			return nil, nil, err
		}
		if p.beta, err = sums.SweepReverse[W, D](f, order, w); err != nil {
			return nil, nil, err
		}
		if sums.OutsideOf[D]()(p.beta) >= 0 { // of a state, perhaps, that the start does not lead to
			if p.beta, err = distancesToFinal[W, D](f, &ShortestDistanceOptions{Limits: Limits{Ctx: o.Ctx}}); err != nil {
				return nil, nil, renamed(err, op)
			}
		}
	} else {
		alg := sums.NewAlgebra[W]()
		if alg.Path && o.Delta == 0 {
			o.Delta = -1
		}
		so := &ShortestDistanceOptions{Delta: o.Delta, MaxVisits: o.MaxVisits, Limits: Limits{Ctx: o.Ctx}}
		if p.alpha, err = shortestDistance[W, D](f, so); err != nil {
			return nil, nil, renamed(err, op)
		}
		if p.beta, err = distancesToFinal[W, D](f, so); err != nil {
			return nil, nil, renamed(err, op)
		}
	}
	if s := f.Start(); s != fst.NoState {
		p.total = p.beta[s]
	}
	return p, w, nil
}

// passagesOf computes the passages, divided by the total as divide does it. Where that is by
// division, there must be a total.
func passagesOf[W semiring.Approx[W], D semiring.Approx[D]](op string, f fst.Expanded[W], opts *ForwardBackwardOptions, divide func(total, w D) D) (*Passages[W], error) {
	both, w, err := forwardBackward[W, D](op, f, opts)
	if err != nil {
		return nil, err
	}
	divisor := semiring.One[D]()
	if op == "Posteriors" {
		if divisor = both.total; semiring.IsZero(divisor) {
			return nil, &StateError{Op: op, State: f.Start(), Err: ErrNoPath}
		}
	}
	p := &Passages[W]{Alpha: sums.RoundedOnly[W](both.alpha), Beta: sums.RoundedOnly[W](both.beta),
		Total: sums.Narrowing[W, D]()(both.total)}
	if err := p.fill(w, f, func() error { return fill(w, p, f, both, divisor, divide) }); err != nil {
		return nil, err
	}
	return p, nil
}

// fill makes room for the passages, computes them, and looks at what came of them.
func (p *Passages[W]) fill(watch *run.Stopwatch, f fst.Expanded[W], compute func() error) error {
	n := f.NumStates()
	p.first = make([]int64, n+1)
	p.Final = make([]W, n)
	for q := range n {
		p.first[q+1] = p.first[q] + int64(len(f.Arcs(fst.StateID(q))))
	}
	p.Flat = make([]W, p.first[n])
	if err := compute(); err != nil {
		return err
	}
	outside := sums.OutsideOf[W]()
	if outside(p.Flat) < 0 && outside(p.Final) < 0 {
		return nil
	}
	zero := semiring.Zero[W]()
	// Distances are members: what is none lies on no successful path, or was too large a
	// number.
	for q := range fst.StateID(f.NumStates()) {
		arcs := f.Arcs(q)
		for i, w := range p.Arcs(q) {
			if w.Member() {
				continue
			}
			if !p.Alpha[q].Equal(zero) && !p.Beta[arcs[i].NextState].Equal(zero) {
				return arcNotMember(watch.Op, q, i, arcs[i].Weight)
			}
			p.Arcs(q)[i] = zero
		}
		if !p.Final[q].Member() {
			if !p.Alpha[q].Equal(zero) {
				return arcNotMember(watch.Op, q, -1, f.Final(q))
			}
			p.Final[q] = zero
		}
	}
	return nil
}

// fill chooses the loop.
func fill[W semiring.Weight[W], D semiring.Weight[D]](watch *run.Stopwatch, p *Passages[W],
	f fst.Expanded[W], both *bothSums[D], total D, divide func(total, w D) D) error {
	switch p := any(p).(type) {
	case *Passages[semiring.Tropical]:
		return fillCosts(watch, p, any(f).(fst.Expanded[semiring.Tropical]),
			any(both).(*bothSums[semiring.Tropical]), any(total).(semiring.Tropical))
	case *Passages[semiring.Tropical64]:
		return fillCosts(watch, p, any(f).(fst.Expanded[semiring.Tropical64]),
			any(both).(*bothSums[semiring.Tropical64]), any(total).(semiring.Tropical64))
	case *Passages[semiring.Log]:
		return fillCosts(watch, p, any(f).(fst.Expanded[semiring.Log]), any(both).(*bothSums[semiring.Log64]),
			any(total).(semiring.Log64))
	case *Passages[semiring.Log64]:
		return fillCosts(watch, p, any(f).(fst.Expanded[semiring.Log64]), any(both).(*bothSums[semiring.Log64]),
			any(total).(semiring.Log64))
	}
	return fillAny(watch, p, f, both, total, divide)
}

func fillAny[W semiring.Weight[W], D semiring.Weight[D]](watch *run.Stopwatch, p *Passages[W],
	f fst.Expanded[W], both *bothSums[D], total D, divide func(total, w D) D) error {
	wide, narrow := sums.Widening[W, D](), sums.Narrowing[W, D]()
	for q := range fst.StateID(f.NumStates()) {
		a := both.alpha[q]
		to, arcs := p.Arcs(q), f.Arcs(q)
		if err := watch.Spend(1 + len(arcs)); err != nil {
			return err
		}
		for i := range arcs {
			to[i] = narrow(divide(total, a.Times(wide(arcs[i].Weight)).Times(both.beta[arcs[i].NextState])))
		}
		p.Final[q] = narrow(divide(total, a.Times(wide(f.Final(q)))))
	}
	return nil
}

// fillCosts is fillAny where ⊗ is + and 0̄ is ∞.
func fillCosts[T interface {
	sums.Float
	semiring.Weight[T]
}, D sums.Float](watch *run.Stopwatch, p *Passages[T], f fst.Expanded[T], both *bothSums[D], total D) error {
	inf := T(math.Inf(1))
	for q := range fst.StateID(f.NumStates()) {
		a := both.alpha[q]
		to, arcs := p.Arcs(q), f.Arcs(q)
		if err := watch.Spend(1 + len(arcs)); err != nil {
			return err
		}
		for i := range arcs {
			if to[i] = T(a + D(arcs[i].Weight) + both.beta[arcs[i].NextState] - total); to[i] != to[i] {
				to[i] = inf // ∞-∞: 0̄ annihilates
			}
		}
		if p.Final[q] = T(a + D(f.Final(q)) - total); p.Final[q] != p.Final[q] {
			p.Final[q] = inf
		}
	}
	return nil
}
