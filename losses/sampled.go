package losses

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/losses/internal/align"
	"github.com/tropica-fst/tropica/losses/internal/gibbs"
	"github.com/tropica-fst/tropica/losses/internal/layered"
	"github.com/tropica-fst/tropica/losses/internal/sweep"
	"github.com/tropica-fst/tropica/losses/internal/units"
)

// Sampler estimates what an Evaluator computes, with an interval, for strings that are too long for
// exact machines: Gibbs sampling with Rao-Blackwell estimates. Edit and Local are the losses
// it takes, in any costs and lengths; NGram and Hamming have exact machines for long strings.
//
//	s, err := losses.NewSampler(losses.Unit, reference, 10, 200, nil)
//	var r losses.SampledResult
//	err = s.Eval(potentials, 1, losses.WantTied|losses.WantExpected, &r)
//	// r.Tied ± r.TiedError is the gradient of log Z for shared weights; r.Mixed says whether to believe it
//
// 64 chains start at exact samples of γ = 0. A site is drawn with the losses of all its symbols at
// once, from rows of the dynamic program on both sides; blocks of sites are drawn from γ = 0 and
// accepted by their loss. The probabilities of all symbols are counted instead of the one that was
// drawn. See package gibbs for the algorithm, and SampledResult for what is said of its quality.
//
// Small integer costs of order 1 or 2 run on vector kernels, for at most 32 symbols with AVX-512
// and 16 with AVX2. A sweep of 64 chains over 100 symbols of 10 then takes some 50 µs. Without
// vectors it takes about 7 times as long for unit costs, and 20 for others. All else runs in Go,
// about 50 times as long. Equal seeds give equal bits, with any of the kernels. A Sampler serves
// one goroutine; a SampledBatch has several of them on all workers.
type Sampler struct {
	loss     Loss
	edit     Edit
	local    *Local
	ref      []int
	alphabet int
	length   int
	o        SampledOptions
	units    *gibbs.Units
	own      int // the band that the loss itself has
	white    sweep.Whitening

	batch  bool         // a SampledBatch evaluates it
	learnt []gibbs.Form // what its Control learns from then
}

// SampledOptions adjust a Sampler; nil is the same as the zero value.
type SampledOptions struct {
	Sweeps int // counted sweeps of the 64 chains, blocks among them; 0 is 200, at most 1e5
	Burn   int // sweeps before those; 0 is 15, -1 none
	Block  int // sites of a block move; 0 is 16, or 32 where the model is peaked; -1 never moves blocks
	// every so many sweeps one moves blocks; 0 is 5, 3 or 2, the more often the more peaked the
	// model is
	Period int
	Steps  int // of annealing, for WantLogZ; 0 is 100
	Passes int // exact samples of 64 strings for WantRisk and WantRiskGradient; 0 is 64

	// Band is how far from the diagonal rows have cells; 0 is enough for random strings, about 21
	// for 100 symbols and 54 for 500. SampledResult.Inexact tells whether it was. -1 is all cells.
	Band int

	Seed    uint64
	Control *TiedControl // for WantTied; nil is none

	// NoIntervals leaves out the intervals of Marginals and Tied: those errors are NaN, and no cell
	// counts as rare. Marginals of 200 positions of 20 labels then take two thirds of the time.
	NoIntervals bool

	// Symbols are the symbols that the labels of each position stand for, nil where a label is its
	// symbol. With potentials that forbid what does not follow, labels are then the arcs of a
	// lattice: NewLayeredLattice makes both.
	Symbols [][]int

	Budget // Ctx is looked at between sweeps; Bytes bounds rows and counts, 0 is DefaultBytes
}

// SampledResult is a Result whose numbers are estimates, each with half the width of its 95 %
// interval.
//
// LogZErrorKind is ErrorInterval. LogZ and its LogZError are NaN unless asked for; LogZ0 is exact.
//
// Intervals come from the differences of 8 groups: 16 chains in each half of the run. Where halves
// of the same chains are alike, as slow mixing makes them, they come from 4 groups of whole chains,
// and are the wider. Believe them where Mixed and BandExact hold. Cells that chains hardly ever
// visit have no interval: their error is NaN, and all that is known is that they are small, about
// .003 of a window or .05 of Tied at most. RiskGradient always has one: of a window that samples
// are expected to meet fewer than three times, it is as wide as the probability of the window
// allows.
type SampledResult struct {
	Result

	MarginalsError    [][]float64
	ExpectedError     float64
	RiskError         float64
	RiskGradientError [][]float64

	// Tied is the gradient of log Z for weights that all positions share: Marginals summed over the
	// positions of complete windows. TiedError is half its interval.
	Tied, TiedError []float64

	// TiedRisk is the gradient of Risk for such weights, where WantRiskGradient is asked for and
	// positions share windows.
	TiedRisk, TiedRiskError []float64

	Rare, RareTied int // cells of Marginals and of Tied without an interval

	// RHat is split R-hat of the loss: 1 where the chains agree. Mixed is RHat ≤ 1.05, or somewhat
	// more where there are fewer than 80 Sweeps.
	RHat  float64
	Mixed bool

	// Inexact is the share of the chains, as they stand at the end, whose loss within the band is
	// not the loss. BandExact is Inexact = 0: what is left out is then rare.
	Inexact   float64
	BandExact bool

	Accepted float64 // share of the block moves that were accepted
	Rounds   int     // of control variates that made Marginals: 0, 1 or 3
	// WantLogZ: effective share of the chains' weights; below .1 or so the interval is too narrow
	Anneal float64
}

const (
	mixedBelow = 1.05
	rareWindow = .003
	rareTied   = .05
	student63  = 1.998 // 97.5 % point of Student's distribution, of 64 chains
	mostSweeps = 100_000
	// mean probability of the likeliest label: weights of N(0, 1) have .29, three times those .78
	peakedAbove  = .6
	diffuseBelow = .35
	mostRounding = .1  // of γ L, by fixed-point costs
	controlMost  = 600 // features of a TiedControl
	sampledBytes = DefaultBytes
)

// student returns the 97.5 % point of Student's distribution with n = 3, 7, 11 … 31 degrees of
// freedom.
func student(n int) float64 { return students[n/4] }

var students = [...]float64{3.182, 2.365, 2.201, 2.131, 2.093, 2.069, 2.052, 2.040}

// NewSampler prepares a loss and a reference for strings of l symbols below alphabet. It does not
// keep ref. A band of the loss is part of the loss: it is not checked, as that of o is. Errors are
// those of loss.Machine for what means nothing, and for losses without rows.
func NewSampler(loss Loss, ref []int, alphabet, l int, o *SampledOptions) (*Sampler, error) {
	s := &Sampler{loss: loss, ref: slices.Clone(ref), alphabet: alphabet, length: l}
	if o != nil {
		s.o = *o
	}
	if err := s.o.check(); err != nil {
		return nil, err
	}
	switch x := loss.(type) {
	case Edit:
		s.edit = x.or()
		s.own = s.edit.Band
		if err := s.edit.Check(ref, alphabet, l); err != nil {
			return nil, err
		}
	case Local:
		x = x.or()
		s.local, s.own = &x, x.Band
		if err := x.Check(ref, alphabet, l); err != nil {
			return nil, err
		}
	case nil:
		return nil, errors.New("losses: sampler: the loss is nil; at γ = 0 an Evaluator is exact and fast")
	case NGram, Hamming:
		return nil, fmt.Errorf("losses: sampler: %T has an exact machine for long strings; evaluate that",
			loss)
	default:
		return nil, fmt.Errorf("losses: sampler: %T has no rows of alignments; Edit and Local have", loss)
	}
	for t, row := range s.o.Symbols {
		for k, y := range row {
			if y < 0 || y >= alphabet {
				return nil, fmt.Errorf("losses: sampler: label %d of position %d stands for symbol %d, outside the "+
					"alphabet of %d", k, t, y, alphabet)
			}
		}
	}
	if s.local == nil {
		s.units = s.edit.units(len(ref), l)
	}
	return s, nil
}

func (o *SampledOptions) check() error {
	for _, x := range []struct {
		name        string
		value, from int
	}{
		{"Sweeps", o.Sweeps, 0}, {"Burn", o.Burn, -1}, {"Block", o.Block, -1}, {"Period", o.Period, 0},
		{"Steps", o.Steps, 0}, {"Passes", o.Passes, 0}, {"Band", o.Band, -1},
	} {
		if x.value < x.from || x.value > mostSweeps {
			return fmt.Errorf("losses: sampler: %s is %d; give %d to %d", x.name, x.value, x.from, mostSweeps)
		}
	}
	if o.Sweeps == 1 || o.Period == 1 {
		return errors.New("losses: sampler: Sweeps and Period are 0 or at least 2: halves of a run are " +
			"compared, and sweeps are what is counted")
	}
	return o.Budget.check("sampler")
}

// unit reports whether e counts edits.
func (e Edit) unit() bool {
	return e.Match == 0 && e.Sub == 1 && e.Ins == 1 && e.Del == 1 && e.SubTable == nil &&
		e.InsTable == nil && e.DelTable == nil
}

// units returns the costs as small integers with a match of 0, nil where there are none. Since
// lengths are fixed, a cost on both sides of the diagonal moves to deletions and insertions by
// halves.
func (e Edit) units(m, l int) *gibbs.Units {
	if e.SubTable != nil || e.InsTable != nil || e.DelTable != nil {
		return nil
	}
	half := e.Match / 2
	unit, k, ok := units.Grid([]float64{e.Sub - e.Match, e.Ins - half, e.Del - half})
	if !ok {
		return nil
	}
	for _, x := range k {
		if x < 0 || x > 60 {
			return nil
		}
	}
	return &gibbs.Units{Sub: int(k[0]), Ins: int(k[1]), Del: int(k[2]), Unit: unit,
		Shift: half * float64(l+m)}
}

// run is one evaluation.
type run struct {
	s       *Sampler
	p       *Potentials
	gamma   float64
	model   *gibbs.Model
	align   *gibbs.Alignment
	all     bool // windows have all cells, or are the loss's own
	block   int
	period  int
	peaked  bool
	before  [][]float64 // probability of each context at γ = 0
	stopped func() error
}

// Eval estimates what want asks for, of WantMarginals, WantTied, WantExpected, WantRisk,
// WantRiskGradient, WantLogZ and WantPlain; anything else is an error. E[L] comes with the former
// two. With an error r is cleared.
//
// Cost: O(l band) operations on 64 lanes a sweep, and O(l D²) for the estimate. Risk and its
// gradient are estimated from exact samples at γ = 0: Passes times 64 of them.
func (s *Sampler) Eval(p *Potentials, gamma float64, want Want, r *SampledResult) error {
	if r == nil {
		return errors.New("losses: sampler: the result is nil; give a *SampledResult to fill")
	}
	err := s.eval(p, gamma, want, r)
	if err != nil {
		r.Result.reset()
		*r = SampledResult{Result: r.Result, MarginalsError: r.MarginalsError[:0],
			RiskGradientError: r.RiskGradientError[:0],
			Tied:              r.Tied[:0], TiedError: r.TiedError[:0], TiedRisk: r.TiedRisk[:0],
			TiedRiskError: r.TiedRiskError[:0]}
	}
	return err
}

func (s *Sampler) eval(p *Potentials, gamma float64, want Want, r *SampledResult) error {
	if math.IsNaN(gamma) || math.IsInf(gamma, 0) {
		return fmt.Errorf("losses: γ is %v", gamma)
	}
	const served = WantMarginals | WantTied | WantExpected | WantRisk | WantRiskGradient | WantLogZ | WantPlain
	if want&^served != 0 {
		return errors.New("losses: sampler: maxima, Hessian products and bounds are not sampled; an Evaluator " +
			"has them")
	}
	if err := p.check(&s.white); err != nil {
		return err
	}
	if err := s.matches(p); err != nil {
		return err
	}
	r.clear()
	nan := math.NaN()
	r.ExpectedError, r.RiskError, r.LogZError, r.LogZErrorKind = nan, nan, nan, ErrorInterval
	r.Tied, r.TiedError, r.TiedRisk, r.TiedRiskError = r.Tied[:0], r.TiedError[:0], r.TiedRisk[:0],
		r.TiedRiskError[:0]
	r.Rare, r.RareTied = 0, 0
	r.RHat, r.Mixed, r.Inexact, r.BandExact, r.Accepted, r.Rounds, r.Anneal = nan, true, 0, true, nan, 0, nan
	if want&WantMarginals != 0 {
		r.Marginals, r.MarginalsError = shapeLike(r.Marginals, p), shapeLike(r.MarginalsError, p)
	}
	if want&WantRiskGradient != 0 {
		r.RiskGradient, r.RiskGradientError = shapeLike(r.RiskGradient, p), shapeLike(r.RiskGradientError, p)
	}
	tied := 0
	if want&WantTied != 0 {
		n, err := tiedWindows(p)
		if err != nil {
			return err
		}
		tied = n
	}
	s.white.PrepareRaw(p.rows())
	r.LogZ0 = s.white.LogZ0
	if math.IsInf(r.LogZ0, -1) || s.length == 0 {
		s.certain(gamma, r, tied)
		return nil
	}
	e := s.begin(p, gamma)
	if want&(WantMarginals|WantTied|WantExpected|WantLogZ) != 0 {
		if err := e.augmented(want, r); err != nil {
			return err
		}
	}
	if want&(WantRisk|WantRiskGradient) != 0 {
		return e.risk(want, r)
	}
	return nil
}

// certain fills in a result that needs no sample: no string is allowed, or the empty one is the
// only one.
func (s *Sampler) certain(gamma float64, r *SampledResult, tied int) {
	r.Tied, r.TiedError = make([]float64, tied), make([]float64, tied)
	for _, rows := range [][][]float64{r.Marginals, r.MarginalsError, r.RiskGradient, r.RiskGradientError} {
		sweep.ClearRows(rows)
	}
	r.LogZErrorKind, r.LogZError, r.ExpectedError, r.RiskError = ErrorExact, 0, 0, 0
	if s.length > 0 {
		r.nothing()
		return
	}
	x := s.value(nil)
	r.LogZ, r.Expected, r.Risk = gamma*x, x, x
}

func (s *Sampler) value(u []int) float64 {
	if s.local != nil {
		x := *s.local
		x.Band = s.own
		return x.Value(u, s.ref)
	}
	return s.edit.Value(u, s.ref)
}

// matches refuses potentials of another shape.
func (s *Sampler) matches(p *Potentials) error {
	if len(p.Sizes) != s.length {
		return fmt.Errorf("losses: sampler: potentials for strings of %d labels, sampler for %d",
			len(p.Sizes), s.length)
	}
	if s.o.Symbols != nil && len(s.o.Symbols) != s.length {
		return fmt.Errorf("losses: sampler: symbols of %d positions for strings of %d", len(s.o.Symbols),
			s.length)
	}
	for t, n := range p.Sizes {
		k := s.alphabet
		if s.o.Symbols != nil {
			k = len(s.o.Symbols[t])
		}
		if n != k {
			return fmt.Errorf("losses: sampler: position %d: potentials for %d labels, sampler for %d", t,
				n, k)
		}
	}
	return nil
}

// tiedWindows returns how many weights all positions share.
func tiedWindows(p *Potentials) (int, error) {
	n := 0
	for t := p.Order - 1; t < len(p.Theta); t++ {
		switch k := len(p.Theta[t]); {
		case n == 0:
			n = k
		case n != k:
			return 0, fmt.Errorf("losses: sampler: positions %d and %d have %d and %d windows, so that they share "+
				"no weights", p.Order-1, t, n, k)
		}
	}
	return n, nil
}

// begin prepares an evaluation.
func (s *Sampler) begin(p *Potentials, gamma float64) *run {
	e := &run{s: s, p: p, gamma: gamma, block: s.o.Block, period: s.o.Period}
	e.stopped = func() error { return s.o.Budget.stopped(s.length, 0) }
	e.model = &gibbs.Model{Sizes: p.Sizes, Order: p.Order, Theta: slices.Clone(p.Theta), Cond: s.white.P,
		Symbols: s.o.Symbols}
	for t := 1; t < len(p.Theta); t++ {
		if slices.Equal(p.Theta[t], e.model.Theta[t-1]) {
			e.model.Theta[t] = e.model.Theta[t-1] // engines know shared rows by their address
		}
	}
	peak := e.contexts()
	e.peaked = peak > peakedAbove
	if e.block == 0 {
		e.block = 16
		if peak > peakedAbove {
			e.block = 32
		}
	}
	if e.period == 0 {
		switch {
		case peak > peakedAbove:
			e.period = 2
		case peak < diffuseBelow:
			e.period = 5
		default:
			e.period = 3
		}
	}
	if e.block < 0 {
		e.block, e.period = 1, 0
	}
	return e
}

// contexts finds the probability of each context at γ = 0, and returns the mean over positions of
// the probability of the likeliest label given its context.
func (e *run) contexts() float64 {
	w := &e.s.white
	peak := 0.0
	at := []float64{1}
	e.before = make([][]float64, len(e.p.Sizes))
	for t, n := range e.p.Sizes {
		e.before[t] = at
		next := make([]float64, w.Contexts(t+1))
		for c, x := range at {
			row := w.P[t][c*n:][:n]
			peak += x * slices.Max(row)
			for d, y := range row {
				next[w.Follow(t, c, d)] += x * y
			}
		}
		at = next
	}
	return peak / float64(len(e.p.Sizes))
}

// engine makes the engine that suits, with its windows of cells.
func (e *run) engine(gamma float64, shared bool, seed uint64) (gibbs.Engine, error) {
	s := e.s
	a := &gibbs.Alignment{Ref: s.ref, Match: s.edit.Match, Sub: s.edit.Sub, Ins: s.edit.Ins, Del: s.edit.Del,
		SubTable: s.edit.SubTable, InsTable: s.edit.InsTable, DelTable: s.edit.DelTable}
	if s.local != nil {
		// Steps that lose more than can be gained end an alignment, whatever they lose.
		most := 2 * max(s.local.Match, s.local.Sub, 0) * float64(min(s.length, len(s.ref))+1)
		cost := func(gain float64) float64 { return -max(gain, -most) }
		*a = gibbs.Alignment{Ref: s.ref, Match: cost(s.local.Match), Sub: cost(s.local.Sub),
			Ins: cost(s.local.Ins), Del: cost(s.local.Del), Local: true}
	}
	e.align = a
	l, m := s.length, len(s.ref)
	band := s.o.Band
	switch {
	case s.own > 0:
		band = s.own
	case band < 0:
		band = l + m
	case band == 0 && s.local != nil:
		band = l + m
	case band == 0:
		band = int(math.Ceil(1.27*math.Pow(float64(max(l, m)), .6))) + 1
	}
	// Bytes hold only so wide a band: one that is at least half of what random strings take will
	// do, or is said not to.
	least := band
	if s.own == 0 && s.o.Band == 0 {
		least = (band + 1) / 2
	}
	if s.units != nil {
		for w := min(band, l+m); w >= least; w-- {
			a.First, a.Last = align.BandWindows(l, m, w)
			if s.units.Fits(e.model, a, math.Max(math.Abs(gamma), math.Abs(e.gamma))) {
				e.all = s.own > 0 || w >= l+m
				if err := e.room(shared, true); err != nil {
					return nil, err
				}
				return gibbs.NewBytes(e.model, a, *s.units, gamma, e.block, seed, shared), nil
			}
			if w > 63 {
				w = 64
			}
		}
	}
	a.First, a.Last = align.BandWindows(l, m, band)
	e.all = s.own > 0 && s.local == nil || band >= l+m
	if err := e.room(shared, false); err != nil {
		return nil, err
	}
	if x := a.Rounding(l) * math.Max(math.Abs(gamma), math.Abs(e.gamma)); x > mostRounding {
		return nil, fmt.Errorf("losses: sampler: costs of too different sizes: rounding to 2^-28 of the "+
			"greatest loss would change γ L by up to %.3g, more than %v; use costs that differ less, or an exact "+
			"machine",
			x, mostRounding)
	}
	return gibbs.NewFloats(e.model, a, gamma, e.block, seed, shared,
		func() bool { return e.stopped() != nil }), nil
}

// room returns the error of rows and counts beyond the budget.
func (e *run) room(shared, bytes bool) error {
	wide := 0
	for t, first := range e.align.First {
		wide = max(wide, e.align.Last[t]-first+3)
	}
	cell := int64(4 * gibbs.Lanes)
	if bytes {
		cell /= 4
	}
	need := 2 * int64(e.s.length+1) * int64(wide) * cell
	windows := int64(0)
	for t, row := range e.p.Theta {
		if !shared || t < e.p.Order+1 {
			windows += int64(len(row))
		}
	}
	need += windows * 8 * 2 * 13 // groups, replicates and results
	limit := e.s.o.Bytes
	if limit == 0 {
		limit = sampledBytes
	}
	if need > limit {
		return fmt.Errorf("losses: sampler: rows of %d cells and %d windows take about %d bytes of the %d "+
			"allowed; take a narrower Band, WantTied in place of WantMarginals, or raise the budget: %w",
			wide, windows, need, limit, ErrBudget)
	}
	return nil
}

// augmented estimates what is asked for at γ.
func (e *run) augmented(want Want, r *SampledResult) error {
	s := e.s
	o := s.o
	control := o.Control
	if want&WantTied == 0 || control != nil && !s.controls(e.p) {
		control = nil
	}
	shared := want&WantMarginals == 0 && (control != nil || e.wide())
	engine, err := e.engine(e.gamma, shared, o.Seed)
	if err != nil {
		return err
	}
	or := func(x, d int) int {
		if x == 0 {
			return d
		}
		return max(0, x)
	}
	if want&WantLogZ != 0 {
		weights, err := gibbs.Anneal(engine, e.gamma, or(o.Steps, 100), max(2, e.period), e.stopped)
		if err != nil {
			return err
		}
		r.annealed(weights)
	} else {
		engine.Start()
	}
	if want&(WantMarginals|WantTied|WantExpected) == 0 {
		e.checkBand(engine, r)
		return nil
	}
	count := want&(WantMarginals|WantTied) != 0
	sweeps, parts := or(o.Sweeps, 200), 2
	if control != nil { // which learns the more, the more groups there are
		parts = min(max(2, sweeps/20), len(students))
	}
	sample, err := gibbs.Run(engine, &gibbs.Plan{
		Burn: or(o.Burn, 15), Sweeps: sweeps, Period: e.period, Count: count, Raw: control != nil, Parts: parts,
		Stop: e.stopped,
	})
	if err != nil {
		return err
	}
	r.Expected, r.ExpectedError, r.RHat = sample.Loss, student63*sample.LossErr, sample.RHat
	// Half chains of n sweeps differ by chance: for independent draws R-hat² is 1 + 1/n on the
	// average, and draws are correlated.
	r.Mixed = r.RHat <= max(mixedBelow, math.Sqrt(1+8/float64(sweeps)))
	if tried, taken := engine.Accepted(); tried > 0 {
		r.Accepted = float64(taken) / float64(tried)
	}
	e.checkBand(engine, r)
	n := 0.0
	for _, g := range sample.Counts {
		n += g.N
	}
	var est *gibbs.Estimate
	if count && !shared {
		errors := gibbs.TiedErrors
		switch {
		case o.NoIntervals:
			errors = gibbs.NoErrors
		case want&WantMarginals != 0:
			errors = gibbs.CellErrors
		}
		est = gibbs.Windows(e.model, sample.Counts, errors)
		r.Rounds = est.Rounds
	}
	if want&WantMarginals != 0 {
		for t, row := range est.Mean {
			copy(r.Marginals[t], row)
			if o.NoIntervals {
				fill(r.MarginalsError[t], math.NaN())
				continue
			}
			r.Rare += intervals(r.MarginalsError[t], row, est.Err[t], student(est.Degrees), rareWindow, n, 1,
				e.unseen(r.Accepted, n))
		}
	}
	if want&WantTied != 0 {
		if shared || control != nil {
			est = gibbs.Shared(e.model, sample.Counts)
			if control != nil {
				forms := gibbs.Forms(e.model, sample.Counts, sample.Raw)
				control.correct(est, forms)
				if s.batch {
					s.learnt = forms
				} else {
					control.learn(forms)
				}
			}
		}
		r.Tied = append(r.Tied, est.Tied...)
		r.TiedError = layered.Resize(r.TiedError, len(r.Tied))
		if o.NoIntervals {
			fill(r.TiedError, math.NaN())
		} else {
			r.RareTied = intervals(r.TiedError, r.Tied, est.TiedErr, student(est.TiedDegrees), rareTied, n,
				math.Inf(1), 0)
		}
	}
	return nil
}

func fill(row []float64, x float64) {
	for i := range row {
		row[i] = x
	}
}

// controls reports whether p can use the sampler's TiedControl.
func (s *Sampler) controls(p *Potentials) bool {
	c := s.o.Control
	if s.batch { // which has made it fit
		return c.size(p) == c.n && c.n > 0
	}
	return c.fits(p)
}

// wide tells that counts by position would be large.
func (e *run) wide() bool {
	n := 0
	for _, row := range e.p.Theta {
		n += len(row)
	}
	return n > 1<<21
}

// intervals stores half widths, point standard errors, NaN for rare cells, and returns the number
// of those. Numbers are at most most.
//
// A number that comes from a few visits, or from a few absences, has a skew distribution, and its
// error is small when there were too few. Two visits more are allowed for, as A. Agresti and B.
// Coull do for proportions (1998): mean²/variance is their number, and variance/mean what one adds.
//
// unseen is what one visit adds that did not come about: where the model is peaked, runs may all
// miss strings that are likely together.
func intervals(half, mean, err []float64, point, small, n, most, unseen float64) int {
	rare := 0
	for i, x := range mean {
		v := err[i]*err[i] + unseen*unseen
		if least := min(x, most-x); least > 0 {
			one := min(err[i]*err[i]/least, err[i])
			v += 2 * one * one
		}
		half[i] = point * math.Sqrt(v)
		if x < small && (err[i] > x/4 || x < 3/n) {
			half[i] = math.NaN()
			rare++
		}
	}
	return rare
}

// unseen returns the share of n samples that one visit has, where the model is peaked: it lasts
// until the next block move that is accepted; sweeps in between count.
func (e *run) unseen(accepted, n float64) float64 {
	if !e.peaked || !(accepted > 0) {
		return 0
	}
	return float64(e.period-1) / accepted / n
}

// annealed fills in log Z from the log weights of the chains.
func (r *SampledResult) annealed(w *[gibbs.Lanes]float64) {
	top := slices.Max(w[:])
	sum, square := 0.0, 0.0
	for _, x := range w {
		y := math.Exp(x - top)
		sum += y
		square += y * y
	}
	n := float64(len(w))
	r.LogZ = r.LogZ0 + top + math.Log(sum/n)
	r.Anneal = sum * sum / square / n
	r.LogZError = student63 * math.Sqrt(max(0, (square/n)/(sum/n*sum/n)-1)/(n-1))
}

// checkBand compares the losses of the chains, as they stand, with the losses without a band.
func (e *run) checkBand(engine gibbs.Engine, r *SampledResult) {
	if e.all {
		return
	}
	s := e.s
	var fast *gibbs.EditDistance
	if s.local == nil && s.edit.unit() {
		fast = gibbs.NewEditDistance(s.ref)
	}
	losses := *engine.Losses()
	u := make([]int, 0, s.length)
	scale, inexact := 1e-4*s.scale(), 0.0
	for c, x := range losses {
		u = engine.String(u[:0], c)
		if s.o.Symbols != nil {
			for t, k := range u {
				u[t] = s.o.Symbols[t][k]
			}
		}
		var exact float64
		if fast != nil {
			exact = float64(fast.Of(u))
		} else {
			exact = s.value(u)
		}
		if math.Abs(exact-x) > scale+1e-6*math.Abs(x) {
			inexact += 1. / gibbs.Lanes
		}
	}
	r.Inexact = max(r.Inexact, inexact) // at γ and at γ = 0
	r.BandExact = r.Inexact == 0
}

// scale is the size of a cost.
func (s *Sampler) scale() float64 {
	if s.local != nil {
		return max(math.Abs(s.local.Match), math.Abs(s.local.Sub), math.Abs(s.local.Ins),
			math.Abs(s.local.Del))
	}
	return s.edit.gap()
}
