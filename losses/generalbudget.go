package losses

import (
	"errors"
	"fmt"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// stages runs the operations of the general path within one budget: the memory that earlier results
// still hold reduces that of the next operation.
type stages struct {
	ops.Limits
	held   int64  // bytes of machines that are kept
	advice string // what to do about a machine that is too large
}

// newStages puts the default in place: DefaultBytes where no bytes are stated.
func newStages(lim ops.Limits) *stages {
	if lim.Bytes <= 0 {
		lim.Bytes = DefaultBytes
	}
	return &stages{Limits: lim}
}

// left is what the next operation may take. It is never 0, which would be no limit.
func (s *stages) left() ops.Limits {
	lim := s.Limits
	lim.Bytes = max(1, lim.Bytes-s.held)
	return lim
}

// hold counts a machine that is kept while others are made.
func hold[W semiring.Weight[W]](s *stages, f fst.Expanded[W]) {
	s.held += machineBytes(f)
}

// release counts it no more.
func release[W semiring.Weight[W]](s *stages, f fst.Expanded[W]) {
	s.held -= machineBytes(f)
}

// machineBytes is what a machine takes, by the count of package ops.
func machineBytes[W semiring.Weight[W]](f fst.Expanded[W]) int64 {
	return ops.SizeOf[W](f.NumStates(), int64(fst.NumArcs(f))).Bytes
}

// room returns the error of a stage that is about to need more bytes than are left.
func (s *stages) room(stage string, states int, bytes int64) error {
	if total := s.held + bytes; total > s.Bytes {
		return &BudgetError{Stage: stage, Columns: states, Bytes: total, Limit: s.Bytes, advice: s.advice}
	}
	return nil
}

// fail makes a BudgetError of an operation that met a limit on its size. A context
// that is done, and every other error, it leaves as it is.
func (s *stages) fail(stage string, err error) error {
	var over *ops.LimitError
	if !errors.As(err, &over) || !errors.Is(over.Cause, ops.ErrLimit) {
		return err
	}
	e := &BudgetError{Stage: stage, Columns: over.Built.States, Bytes: s.held + over.Built.Bytes,
		advice: s.advice, cause: err}
	if over.Limit == "bytes" {
		e.Limit = s.Bytes
	}
	return e
}

// The stages of the general path, as errors name them.
const (
	stageForeseen    = "columns of the loss"
	stageReference   = "composition of the loss with the reference"
	stageExpand      = "composition of the strings with what their labels expand to"
	stageLengths     = "separation of the strings by length"
	stageStrings     = "determinization of the strings"
	stageCompose     = "composition of the strings with the loss"
	stageRmEpsilon   = "removal of epsilons"
	stageConstant    = "union with the constant loss"
	stageDeterminize = "determinization of the loss"
	stageConvert     = "copy of the determinized loss"
	stageProduct     = "composition of the potentials with the loss"
	stageTable       = "table of the determinized loss by symbol"
	stageSums        = "sums over the composition of the potentials with the loss"
)

const (
	adviceDirect  = "the direct path (Machine) has far smaller machines for this loss; or raise the budget"
	adviceLattice = "prune the lattice, shorten the strings, or raise the budget"
	adviceMachine = "take a smaller transducer, shorter strings or fewer of them, or raise the budget"
)

// advise returns opts with a remedy for a machine that is too large. Strings of one length have
// direct constructions, and a lattice can be made smaller.
func (o *GeneralOptions) advise(y fst.Expanded[semiring.Log64]) *GeneralOptions {
	p := *o
	p.advice = adviceLattice
	if _, err := chainLength(y); err == nil && o.Expand == nil && o.Cap == nil {
		p.advice = adviceDirect
	}
	return &p
}

// editOrigin is what an automaton of an edit loss was made of. It serves to find a band when the
// automaton, or its composition with potentials, is too large.
type editOrigin struct {
	edit     Edit
	y        fst.Expanded[semiring.Log64]
	ref      []int
	alphabet int
	opts     *GeneralOptions
}

// advise names the band to try in a BudgetError. fits, if not nil, reports whether the operation
// fits a share of the budget. Its automaton is that of the first lead positions, -1 for all.
func (o *editOrigin) advise(err error, fits func(a *Automaton, lead int, share float64) error) error {
	var over *BudgetError
	if o == nil || o.opts.trial || !errors.As(err, &over) {
		return err
	}
	if over.Band = o.fitting(fits); over.Band == 0 {
		return err
	}
	over.advice = ""
	if _, err := chainLength(o.y); err == nil && o.opts.Expand == nil && o.opts.Cap == nil {
		over.advice = fmt.Sprintf("try band %d (an upper bound on the loss), or the direct path "+
			"(Edit.Machine), whose machines are far smaller, or raise the budget", over.Band)
	}
	return err
}

// fitting returns a band, narrower than that of the options if they set one, with
// which all fits the limits; 0 where none is found.
//
// Bands are tried from 1 up, as Edit.fitting does, but on this path: what fits the direct path need
// not fit here. Of strings of one length a
// first part is taken, the rest being in proportion, half as much again; a lattice is
// tried whole. All trials together have some thousands of states.
func (o *editOrigin) fitting(fits func(a *Automaton, lead int, share float64) error) int {
	const part, most = 48, 1 << 14
	y, ref, lead, share := o.y, o.ref, -1, 1.0
	if l, err := chainLength(y); err == nil && o.opts.Expand == nil && l > part {
		if lead = part; len(ref) > 2*l { // few positions for this many symbols
			lead = max(1, proportion(2*part, l, len(ref)))
		}
		head := fst.NewVector[semiring.Log64](lead + 1)
		head.AddStates(lead + 1)
		head.SetStart(0)
		for t := range fst.StateID(lead) {
			for _, a := range y.Arcs(t) {
				head.AddArc(t, a)
			}
		}
		head.SetFinal(fst.StateID(lead), semiring.One[semiring.Log64]())
		share = 1.5 * float64(l) / float64(lead)
		y, ref = head, ref[:proportion(len(ref), lead, l)]
	}
	portion := func(x float64) float64 { return max(1, x/share) }
	trial := *o.opts
	trial.trial = true
	trial.Bytes = int64(portion(float64(newStages(o.opts.Limits).Bytes)))
	if trial.Arcs > 0 {
		trial.Arcs = int64(portion(float64(trial.Arcs)))
	}
	if trial.Columns > 0 {
		trial.Columns = int(portion(float64(trial.Columns)))
	}
	top := len(ref) + longest(y)
	if o.opts.Band > 0 {
		top = min(top, o.opts.Band-1)
	}
	found, left := 0, most
	for band := 1; band <= top && left > 0; band++ {
		trial.Band, trial.States = band, left
		if o.opts.States > 0 {
			trial.States = min(left, int(portion(float64(o.opts.States))))
		}
		a, err := o.edit.Automaton(y, ref, o.alphabet, &trial)
		if err == nil && fits != nil {
			err = fits(a, lead, share)
		}
		if err != nil { // too large for the limits or for a trial, or stopped
			break
		}
		found, left = band, left-a.States()
	}
	return found
}

// outgrown returns the error of an automaton of all strings of a length whose states exceed the
// budget by far. Composition and determinization would find this out later. Other strings are not
// foreseen: clamped determinization stops soon enough.
func (o *editOrigin) outgrown() error {
	if o.opts.trial || o.opts.Band > 0 || o.edit.Band > 0 || !o.allStrings() {
		return nil
	}
	return o.outgrownColumns()
}

// allStrings reports whether the strings are all those of a length; the direct path can then decide
// at once.
func (o *editOrigin) allStrings() bool {
	l, err := chainLength(o.y)
	if err != nil || !o.opts.allPairs || l > 0 && len(o.y.Arcs(0)) < o.alphabet {
		return false
	}
	seen := make([]int, o.alphabet+1)
	for t := range fst.StateID(l) {
		n := 0
		for _, a := range o.y.Arcs(t) {
			if k := int(a.ILabel); k >= 1 && k <= o.alphabet && seen[k] != int(t)+1 {
				seen[k] = int(t) + 1
				n++
			}
		}
		if n < o.alphabet {
			return false
		}
	}
	return true
}

// outgrownColumns is outgrown where the columns of the direct path alone are beyond the budget,
// which that path foresees in a fraction of a second. It is an estimate: the automaton had from a
// fourth of those columns to all of them, see testdata/bench/NOTES.md. A state of it takes at least
// five times the bytes, as it has an arc for each symbol, and is copied once.
func (o *editOrigin) outgrownColumns() error {
	l := o.y.NumStates() - 1
	if o.edit.cells(len(o.ref), l) > 1<<20 {
		return nil // what is longer is refused before anything is composed
	}
	e := o.edit
	e.Budget = Budget{Ctx: o.opts.Ctx, Bytes: newStages(o.opts.Limits).Bytes}
	var over *BudgetError
	if _, err := built(e.columns(o.ref, o.alphabet, l)); !errors.As(err, &over) {
		return nil // and what other errors there are the path finds itself
	}
	return &BudgetError{Stage: stageForeseen, Columns: over.Columns, Bytes: over.Bytes, Limit: over.Limit,
		Length: over.Length, Layer: over.Layer, advice: o.opts.advice}
}
