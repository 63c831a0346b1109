package ops

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/square"
	"github.com/tropica-fst/tropica/ops/internal/subsets"
	"github.com/tropica-fst/tropica/semiring"
)

// A transducer is determinized as an acceptor over its input, whose weights are pairs of an output
// string and a weight: OpenFst's gallic weights (semiring's Gallic types). Strings lie in two slabs
// and not in a Go value each, since a lexicon makes millions of them, nearly all of length 0 or 1.
// Tests compare this with the subset construction over the Gallic types.

// outputTerm is one output string with its weight, as it leaves at a final state.
type outputTerm[W any] struct {
	labels []fst.Label
	weight W
}

// outputAlgebra is a residual algebra of transducers.
type outputAlgebra[W, R any] interface {
	residuals[W, R]
	label(r R) fst.Label           // of a divisor: its one label, or ε
	weight(r R) W                  // of a divisor
	terms(r R) []outputTerm[W]     // of a final residual; none for 0̄
	rounded(q func(W) W) func(R) R // rounds residuals by q
	outputBefore(r R) []fst.Label  // of a residual, for evidence
	watch(look func() error)       // look is to be called now and then where one step or sum can take long; its error is that of failed
}

// newTransducerDeterminizer makes the Expander for the type that o asks for.
func newTransducerDeterminizer[W semiring.Divisible[W]](f fst.Fst[W], o *DeterminizeOptions) (fst.Expander[W], error) {
	switch o.Type {
	case DeterminizeFunctional:
		return newOutputDeterminizer(f, o, &outputResiduals[W]{})
	case DeterminizeDisambiguate:
		var w W
		if _, ok := any(w).(semiring.Path[W]); !ok {
			return nil, capabilityError[W]("Determinize: DeterminizeDisambiguate", "the path property")
		}
		return newOutputDeterminizer(f, o, &outputResiduals[W]{least: true})
	case DeterminizeNonFunctional:
		return newOutputDeterminizer(f, o, &outputSets[W]{})
	}
	return nil, fmt.Errorf("ops: Determinize: unknown type %d", o.Type)
}

// outputDeterminizer is the Expander of a determinized transducer. A state is a subset, the rest of
// an output string behind a final state, or the final state to which such rests lead.
type outputDeterminizer[W semiring.Divisible[W], R any, A outputAlgebra[W, R]] struct {
	m          subsetMachine[W, R, A]
	o          *DeterminizeOptions
	states     []outputState
	ofSubset   []fst.StateID // state of each subset, or NoState
	ofRest     []fst.StateID // state of each of rests, or NoState
	rests      *fst.Table[outputRest]
	left       int         // rests after the last Retain that went through them
	ofNothing  fst.StateID // state of the rest without labels
	superfinal fst.StateID
}

// outputState is a subset, or (subset -1) the rest of an output string, or the
// superfinal state (subset -2).
type outputState struct {
	subset int32
	rest   fst.StateID // number in rests; NoState of the one without labels
}

// outputRest is what is left of an output string: a label, and the rest after it, NoState where
// that has none. So a string and all that is left of it on the way take the memory of one, and not
// of its square.
type outputRest struct {
	label fst.Label
	tail  fst.StateID
}

func newOutputDeterminizer[W semiring.Divisible[W], R any, A outputAlgebra[W, R]](f fst.Fst[W], o *DeterminizeOptions, alg A) (fst.Expander[W], error) {
	d := &outputDeterminizer[W, R, A]{o: o, rests: fst.NewTable[outputRest](nil), ofNothing: fst.NoState, superfinal: fst.NoState}
	d.m = subsetMachine[W, R, A]{op: "Determinize", f: f, alg: alg, table: subsets.NewTable[R]()}
	d.m.meter = o.Limits.meter("Determinize")
	d.m.guard = newTwinsGuard(f, o.Limits, false, square.NewOutputDelays[W])
	d.m.guard.rounds(o.Delta)
	if o.Type == DeterminizeNonFunctional && d.m.guard != nil {
		d.m.guard.allOutputs = true
	}
	quantize, err := quantizer("Determinize", f, o.Delta)
	if err != nil {
		return nil, err
	}
	var round func(R) R
	if quantize != nil {
		round = alg.rounded(quantize)
	}
	d.m.round(round, proportional[W]())
	alg.watch(d.m.look)
	return d, nil
}

// Start returns the subset of the start state.
func (d *outputDeterminizer[W, R, A]) Start() (fst.StateID, error) {
	s, err := d.m.start()
	if err != nil || s == fst.NoState {
		return s, err
	}
	return d.subset(s), nil
}

func (d *outputDeterminizer[W, R, A]) subset(s fst.StateID) fst.StateID {
	for int(s) >= len(d.ofSubset) {
		d.ofSubset = append(d.ofSubset, fst.NoState)
	}
	if d.ofSubset[s] == fst.NoState {
		d.ofSubset[s] = d.add(outputState{subset: int32(s)})
	}
	return d.ofSubset[s]
}

func (d *outputDeterminizer[W, R, A]) add(s outputState) fst.StateID {
	d.states = append(d.states, s)
	return fst.StateID(len(d.states) - 1)
}

func (d *outputDeterminizer[W, R, A]) rest(labels []fst.Label) fst.StateID {
	rest := fst.NoState
	for _, l := range slices.Backward(labels) {
		rest, _ = d.rests.ID(outputRest{l, rest})
	}
	return d.ofTail(rest)
}

// ofTail returns the state of a rest.
func (d *outputDeterminizer[W, R, A]) ofTail(rest fst.StateID) fst.StateID {
	id := &d.ofNothing
	if rest != fst.NoState {
		for int(rest) >= len(d.ofRest) {
			d.ofRest = append(d.ofRest, fst.NoState)
		}
		id = &d.ofRest[rest]
	}
	if *id == fst.NoState {
		*id = d.add(outputState{subset: -1, rest: rest})
	}
	return *id
}

// end returns the superfinal state.
func (d *outputDeterminizer[W, R, A]) end() fst.StateID {
	if d.superfinal == fst.NoState {
		d.superfinal = d.add(outputState{subset: -2})
	}
	return d.superfinal
}

// count tells the subset construction what is held beside it, with n more arcs.
func (d *outputDeterminizer[W, R, A]) count(n int) {
	d.m.arcs += int64(n)
	d.m.more = len(d.states) - len(d.ofSubset)
	d.m.moreBytes = int64(cap(d.states))*int64(unsafe.Sizeof(outputState{})) + 4*int64(cap(d.ofSubset)+cap(d.ofRest)) + d.rests.Bytes()
}

// Expand returns the final weight and the arcs of q: for a subset those by
// increasing label, then those that end output strings.
func (d *outputDeterminizer[W, R, A]) Expand(q fst.StateID, dst []fst.Arc[W]) (W, []fst.Arc[W], error) {
	zero := semiring.Zero[W]()
	s := d.states[q]
	switch s.subset {
	case -2:
		return zero.One(), dst, d.m.check()
	case -1:
		if s.rest == fst.NoState {
			return zero.One(), dst, d.m.check()
		}
		rest := d.rests.Key(s.rest)
		e := fst.Arc[W]{ILabel: d.o.SubsequentialLabel, OLabel: rest.label, Weight: zero.One()}
		if rest.tail == fst.NoState {
			e.NextState = d.end()
		} else {
			e.NextState = d.ofTail(rest.tail)
		}
		d.count(1)
		return zero, append(dst, e), d.m.check()
	}
	final, arcs, err := d.m.expand(fst.StateID(s.subset))
	if err != nil {
		return zero, dst, err
	}
	for _, e := range arcs {
		dst = append(dst, fst.Arc[W]{ILabel: e.label, OLabel: d.m.alg.label(e.weight), Weight: d.m.alg.weight(e.weight), NextState: d.subset(e.next)})
	}
	before := len(dst)
	w, dst, limit := d.finish(d.m.alg.terms(final), dst)
	d.count(len(dst) - before)
	if limit != nil { // for which neither a breach of the twins property nor a large subset is a reason
		limit.Op, limit.Built = d.m.op, Progress(d.m.built())
		return zero, dst, &DeterminizeError{Limit: limit}
	}
	return w, dst, d.m.check()
}

// finish returns the final weight of a state where the given outputs are still
// to be made, or appends the arcs that make them. One label is put out on the
// way to the superfinal state, more one by one, several strings each for itself. The
// error is that of labels that come to an end.
func (d *outputDeterminizer[W, R, A]) finish(terms []outputTerm[W], dst []fst.Arc[W]) (W, []fst.Arc[W], *LimitError) {
	zero := semiring.Zero[W]()
	label := d.o.SubsequentialLabel
	if len(terms) == 0 {
		return zero, dst, nil
	}
	if len(terms) == 1 && len(terms[0].labels) <= 1 {
		t := terms[0]
		if len(t.labels) == 0 {
			return t.weight, dst, nil
		}
		return zero, append(dst, fst.Arc[W]{ILabel: label, OLabel: t.labels[0], Weight: t.weight, NextState: d.end()}), nil
	}
	if d.o.IncrementSubsequentialLabel {
		if err := enoughLabels(label, len(terms), run.HintSubsequential); err != nil {
			return zero, dst, err
		}
	}
	for _, t := range terms {
		e := fst.Arc[W]{ILabel: label, Weight: t.weight}
		if len(t.labels) > 0 {
			e.OLabel, t.labels = t.labels[0], t.labels[1:]
		}
		e.NextState = d.rest(t.labels)
		dst = append(dst, e)
		if d.o.IncrementSubsequentialLabel {
			label++
		}
	}
	return zero, dst, nil
}

var _ fst.Retainer = (*outputDeterminizer[semiring.Tropical, outResidual[semiring.Tropical],
	*outputResiduals[semiring.Tropical]])(nil)

// Retain forgets all states but live. It keeps at most twice as many output strings as the
// residuals and rests of these states need.
func (d *outputDeterminizer[W, R, A]) Retain(live []fst.StateID) {
	old := d.states
	d.states, d.ofSubset, d.ofRest, d.ofNothing, d.superfinal = nil, nil, nil, fst.NoState, fst.NoState
	rests := d.retainRests(old, live)
	var subsets []fst.StateID
	for i, q := range live {
		s := old[q]
		if s.subset == -1 {
			s.rest = rests[i]
			d.ofTail(s.rest) // which adds the state
			continue
		}
		id := fst.StateID(len(d.states))
		switch s.subset {
		case -2:
			d.superfinal = id
		default:
			subsets = append(subsets, fst.StateID(s.subset))
			s.subset = int32(len(d.ofSubset))
			d.ofSubset = append(d.ofSubset, id)
		}
		d.states = append(d.states, s)
	}
	d.m.retain(subsets)
	d.count(0)
}

// retainRests returns the rests of the given states, and NoState for other states. It forgets the
// others when there are twice as many as last time. Each new rest then pays for two.
func (d *outputDeterminizer[W, R, A]) retainRests(states []outputState, live []fst.StateID) []fst.StateID {
	rests := make([]fst.StateID, len(live))
	for i, q := range live {
		rests[i] = states[q].rest
		if states[q].subset != -1 {
			rests[i] = fst.NoState
		}
	}
	if d.rests.Len() <= 2*d.left+retainedLeast {
		return rests
	}
	old := d.rests
	d.rests = fst.NewTable[outputRest](nil)
	moved := map[fst.StateID]fst.StateID{fst.NoState: fst.NoState}
	var chain []fst.StateID // from a rest to one that has been moved
	for i, r := range rests {
		chain = chain[:0]
		at, known := moved[r]
		for ; !known; at, known = moved[r] {
			chain = append(chain, r)
			r = old.Key(r).tail
		}
		for _, r := range slices.Backward(chain) {
			at, _ = d.rests.ID(outputRest{old.Key(r).label, at})
			moved[r] = at
		}
		rests[i] = at
	}
	d.left = d.rests.Len()
	return rests
}

// outString is a string of output labels. n = 0 is the empty string, n = 1 the label at, and n = -1
// the infinite string, 0̄. Other strings begin at at: n labels in the slab of kept strings for n >
// 1, -n in that of passing ones for n < -1.
type outString struct{ at, n int32 }

var noString = outString{n: -1}

// outResidual is an output string with a weight.
type outResidual[W any] struct {
	s outString
	w W
}

// outputResiduals is the algebra of functional transducers, where sums of different strings do not
// exist. With least set it is that of disambiguation, where the string of less weight wins.
type outputResiduals[W semiring.Divisible[W]] struct {
	least      bool
	kept, pass []fst.Label
	left       int  // how many were kept when others were last forgotten
	full       bool // there are more labels than have places
}

func (*outputResiduals[W]) one() outResidual[W] { return outResidual[W]{w: semiring.One[W]()} }
func (*outputResiduals[W]) zero() outResidual[W] {
	return outResidual[W]{s: noString, w: semiring.Zero[W]()}
}
func (*outputResiduals[W]) isZero(r outResidual[W]) bool   { return semiring.IsZero(r.w) }
func (*outputResiduals[W]) sum(r outResidual[W]) W         { return r.w }
func (*outputResiduals[W]) member(r outResidual[W]) bool   { return r.w.Member() }
func (*outputResiduals[W]) vanished(r outResidual[W]) bool { return !cancels(r.w) }
func (a *outputResiduals[W]) begin()                       { a.pass = a.pass[:0] }
func (a *outputResiduals[W]) bytes() int64                 { return 4 * int64(cap(a.kept)+cap(a.pass)) }
func (*outputResiduals[W]) watch(func() error)             {} // a step takes no longer than a string is

func (a *outputResiduals[W]) failed() error {
	if a.full {
		return &LimitError{Limit: "labels", Bound: int64(run.MostLabels), Cause: ErrLimit, Hint: run.HintLabels}
	}
	return nil
}

// fits reports whether a slab has room for n labels more.
func (a *outputResiduals[W]) fits(slab []fst.Label, n int) bool {
	if len(slab)+n > run.MostLabels {
		a.full = true
		return false
	}
	return true
}

// string returns the labels of s, of length above 1.
func (a *outputResiduals[W]) string(s outString) []fst.Label {
	if s.n < 0 {
		return a.pass[s.at : s.at-s.n]
	}
	return a.kept[s.at : s.at+s.n]
}

func (a *outputResiduals[W]) step(r outResidual[W], e *fst.Arc[W]) outResidual[W] {
	r.w = r.w.Times(e.Weight)
	switch l := e.OLabel; {
	case l == fst.Epsilon || r.s == noString:
	case r.s.n == 0:
		r.s = outString{int32(l), 1}
	default:
		n := max(r.s.n, -r.s.n)
		if !a.fits(a.pass, int(n)+1) {
			return r
		}
		at := int32(len(a.pass))
		if n == 1 {
			a.pass = append(a.pass, fst.Label(r.s.at), l)
		} else {
			a.pass = append(append(a.pass, a.string(r.s)...), l)
		}
		r.s = outString{at, at - int32(len(a.pass))}
	}
	return r
}

func (a *outputResiduals[W]) stop(r outResidual[W], final W) outResidual[W] {
	if semiring.IsZero(final) {
		return a.zero()
	}
	r.w = r.w.Times(final)
	return r
}

func (a *outputResiduals[W]) sameString(s, t outString) bool {
	if s.n >= -1 && s.n <= 1 || t.n >= -1 && t.n <= 1 {
		return s == t
	}
	x, y := a.string(s), a.string(t)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] != y[i] {
			return false
		}
	}
	return true
}

// plus passes over strings of weight 0̄: no path puts them out, so that they differ from nothing.
func (a *outputResiduals[W]) plus(r, t outResidual[W]) (outResidual[W], bool) {
	switch {
	case r.s == noString || semiring.IsZero(r.w):
		return t, true
	case t.s == noString || semiring.IsZero(t.w):
		return r, true
	case a.least:
		// Ties go to the second, as OpenFst has it.
		if !r.w.Equal(t.w) && r.w.Plus(t.w).Equal(r.w) {
			return r, true
		}
		return t, true
	}
	return outResidual[W]{r.s, r.w.Plus(t.w)}, a.sameString(r.s, t.s)
}

// divisor keeps the first label if all strings have it.
func (a *outputResiduals[W]) divisor(d, r outResidual[W]) outResidual[W] {
	w := d.w.Plus(r.w)
	if d.s.n == 0 || r.s.n == 0 {
		return outResidual[W]{w: w}
	}
	first := r.s
	if first.n != 1 && first != noString {
		first = outString{int32(a.string(r.s)[0]), 1}
	}
	switch {
	case d.s == noString || d.s == first:
		return outResidual[W]{first, w}
	case first == noString:
		return outResidual[W]{d.s, w}
	}
	return outResidual[W]{w: w}
}

func (a *outputResiduals[W]) divide(d, r outResidual[W]) outResidual[W] {
	r.w = d.w.DivideLeft(r.w)
	if d.s.n == 1 && r.s != noString {
		switch {
		case r.s.n == 1:
			r.s = outString{}
		case r.s.n == 2 || r.s.n == -2:
			r.s = outString{int32(a.string(r.s)[1]), 1}
		case r.s.n > 0:
			r.s = outString{r.s.at + 1, r.s.n - 1}
		default:
			r.s = outString{r.s.at + 1, r.s.n + 1}
		}
	}
	return r
}

func (a *outputResiduals[W]) equal(r, t outResidual[W]) bool {
	return a.sameString(r.s, t.s) && r.w.Equal(t.w)
}

func (a *outputResiduals[W]) appendKey(dst []byte, r outResidual[W]) []byte {
	switch {
	case r.s.n >= -1 && r.s.n <= 1:
		dst = append(dst, byte(r.s.n), byte(r.s.at), byte(r.s.at>>8), byte(r.s.at>>16), byte(r.s.at>>24))
	default:
		x := a.string(r.s)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(x)))
		for _, l := range x {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(l))
		}
	}
	return r.w.AppendKey(dst)
}

func (a *outputResiduals[W]) keep(r outResidual[W]) outResidual[W] {
	if r.s.n < -1 {
		if !a.fits(a.kept, int(-r.s.n)) {
			return r
		}
		at := len(a.kept)
		a.kept = append(a.kept, a.string(r.s)...)
		r.s = outString{int32(at), -r.s.n}
	}
	return r
}

// only forgets strings when there are twice as many labels as the last time that it did. What is
// new then pays for what is moved. Strings lie in one another, and each label is moved once.
func (a *outputResiduals[W]) only(left iter.Seq[*outResidual[W]]) {
	if len(a.kept) <= 2*a.left+retainedLeast {
		return
	}
	var strings []*outString
	for r := range left {
		if r.s.n > 1 {
			strings = append(strings, &r.s)
		}
	}
	slices.SortFunc(strings, func(s, t *outString) int { return cmp.Compare(s.at, t.at) })
	var kept []fst.Label
	end, shift := int32(0), int32(0) // what is before end has been moved, or is needed by none; the last of it by shift
	for _, s := range strings {
		if s.at > end {
			end, shift = s.at, int32(len(kept))-s.at
		}
		if to := s.at + s.n; to > end {
			kept = append(kept, a.kept[end:to]...)
			end = to
		}
		s.at += shift
	}
	a.kept, a.left = kept, len(kept)
}

func (a *outputResiduals[W]) rounded(q func(W) W) func(outResidual[W]) outResidual[W] {
	return func(r outResidual[W]) outResidual[W] {
		r.w = q(r.w)
		return r
	}
}

func (a *outputResiduals[W]) label(r outResidual[W]) fst.Label {
	if r.s.n == 1 {
		return fst.Label(r.s.at)
	}
	return fst.Epsilon
}

func (a *outputResiduals[W]) weight(r outResidual[W]) W { return r.w }

func (a *outputResiduals[W]) outputBefore(r outResidual[W]) []fst.Label {
	switch r.s.n {
	case 0, -1:
		return nil
	case 1:
		return []fst.Label{fst.Label(r.s.at)}
	}
	return a.string(r.s)
}

func (a *outputResiduals[W]) terms(r outResidual[W]) []outputTerm[W] {
	if r.s == noString || semiring.IsZero(r.w) {
		return nil
	}
	return []outputTerm[W]{{a.outputBefore(r), r.w}}
}
