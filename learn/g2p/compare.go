package g2p

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// Dataset is a named list of pairs, usually a language.
type Dataset struct {
	Name  string
	Pairs []Pair
}

// Grid lists the constants that every objective chooses from, for itself, on
// folds of the training words; all of an objective's combinations are tried.
// At one fixed l2 either of two objectives can be made to win, and a larger l2
// wants a smaller γ: they are chosen together.
type Grid struct {
	L2    []float64 // nil is {.3, .1, .03, 1}
	Gamma []float64 // for the kinds that have one; nil is {4, 1}
	Folds int       // of the training words; 0 is 3
	Use   int       // how many of these folds are held out in turn; 0 is all. 1 is a single split, for large data.
}

func (g Grid) withDefaults() Grid {
	if g.L2 == nil {
		g.L2 = []float64{0.3, 0.1, 0.03, 1}
	}
	if g.Gamma == nil {
		g.Gamma = []float64{4, 1}
	}
	if g.Folds == 0 {
		g.Folds = 3
	}
	if g.Use <= 0 || g.Use > g.Folds {
		g.Use = g.Folds
	}
	return g
}

// candidates returns the grid's versions of an objective. Of equally good ones
// the first is chosen.
func (g *Grid) candidates(o Objective) []Objective {
	var out []Objective
	for _, l2 := range g.L2 {
		o.L2 = l2
		if !o.Kind.usesGamma() {
			out = append(out, o)
			continue
		}
		for _, gamma := range g.Gamma {
			o.Gamma = gamma
			out = append(out, o)
		}
	}
	return out
}

// Stage is what an experiment is doing.
type Stage string

const (
	Preparing  Stage = "prepare"
	Choosing   Stage = "choose" // a fit of the grid was done
	Fitting    Stage = "fit"    // an iteration was done
	Evaluating Stage = "evaluate"
	Done       Stage = "done" // with a fold
)

// Event tells a Monitor where an experiment is.
type Event struct {
	Dataset   string
	Fold      int // from 1; 0 without folds
	Folds     int
	Stage     Stage
	Objective Objective // of Choosing, Fitting and Evaluating
	Row       run.Row   // of Fitting
}

// Monitor receives events, one at a time, in no particular order where folds
// run beside each other.
type Monitor interface{ Event(Event) }

// CompareOptions adjusts Compare and CrossValidate; the zero value compares
// cross-entropy, the Hamming margin and the latent margin with the constants that
// DefaultObjective gives them.
type CompareOptions struct {
	Objectives []Objective // the first is the baseline
	Grid       *Grid       // nil takes the constants of Objectives as they are; networks do so anyway
	// Networks are those of each objective. What has none, nil here, is a linear model.
	Networks []*NetworkOptions
	Options  Options
	Stop     run.Stop // see FitOptions
	Decode   DecodeOptions
	Folds    int    // of CrossValidate; 0 is 5
	Use      int    // how many of the folds are held out in turn; 0 is all
	Seed     uint64 // of the folds
	Workers  int    // 0 is GOMAXPROCS; results do not depend on it
	Monitor  Monitor
}

func (o *CompareOptions) withDefaults() (CompareOptions, error) {
	var d CompareOptions
	if o != nil {
		d = *o
	}
	if d.Objectives == nil {
		d.Objectives = []Objective{DefaultObjective(CrossEntropy), DefaultObjective(HammingMargin), DefaultObjective(LatentMargin)}
	}
	d.Objectives = slices.Clone(d.Objectives)
	for i := range d.Objectives {
		var err error
		if d.Objectives[i], err = d.Objectives[i].withDefaults(); err != nil {
			return d, err
		}
	}
	if len(d.Objectives) == 0 {
		return d, fmt.Errorf("g2p: no objectives to compare")
	}
	if d.Networks != nil && len(d.Networks) != len(d.Objectives) {
		return d, fmt.Errorf("g2p: networks for %d objectives of %d", len(d.Networks), len(d.Objectives))
	}
	if d.Grid != nil {
		g := d.Grid.withDefaults()
		d.Grid = &g
	}
	if _, err := d.Decode.withDefaults(); err != nil {
		return d, err
	}
	if d.Folds == 0 {
		d.Folds = 5
	}
	if d.Use <= 0 || d.Use > d.Folds {
		d.Use = d.Folds
	}
	d.Workers = run.WorkersOf(d.Workers)
	return d, nil
}

// network returns the networks of objective i, nil for a linear model.
func (o *CompareOptions) network(i int) *NetworkOptions {
	if i < len(o.Networks) {
		return o.Networks[i]
	}
	return nil
}

// candidates returns the versions of objective i that constants are chosen from.
func (o *CompareOptions) candidates(i int) []Objective {
	if o.network(i) != nil {
		return o.Objectives[i : i+1]
	}
	return o.Grid.candidates(o.Objectives[i])
}

// outcome is what one model did on held-out words.
type outcome struct {
	objective Objective
	networks  string // as Model.NetworkNames
	edits     []int  // to the nearest reference
	phones    []int  // of that reference
	converged bool
	evals     int
}

// unit is one training set with its held-out words.
type unit struct {
	dataset     string
	fold        int
	folds       int
	train, test []Pair

	models    []outcome
	reachable int
	seen      int
	outside   []string
	unseen    int
	stats     ProblemStats
}

// experiment runs units.
type experiment struct {
	o  CompareOptions
	mu sync.Mutex
}

func (x *experiment) event(u *unit, e Event) {
	if x.o.Monitor == nil {
		return
	}
	e.Dataset, e.Fold, e.Folds = u.dataset, u.fold, u.folds
	x.mu.Lock()
	defer x.mu.Unlock()
	x.o.Monitor.Event(e)
}

// run trains and tests the objectives of one unit.
func (x *experiment) run(ctx context.Context, u *unit, workers int) error {
	objectives := x.o.Objectives
	if x.o.Grid != nil {
		var err error
		if objectives, err = x.choose(ctx, u, workers); err != nil {
			return err
		}
	}
	x.event(u, Event{Stage: Preparing})
	p, err := x.prepare(ctx, u.train, workers)
	if err != nil {
		return err
	}
	held, err := newHeldOut(p.Inventory, p.Features, u.test)
	if err != nil {
		return err
	}
	u.reach(held)
	var crossEntropy *Model
	for i, o := range objectives {
		fo := &FitOptions{Stop: x.o.Stop, Workers: workers}
		if x.o.Monitor != nil {
			fo.Recorder = run.RecorderFunc(func(row run.Row) error {
				x.event(u, Event{Stage: Fitting, Objective: o, Row: row})
				return nil
			})
		}
		if o.Kind == RiskMix && crossEntropy != nil && crossEntropy.Objective.L2 == o.L2 {
			fo.Init = crossEntropy.Weights // what Fit would fit again
		}
		var m *Model
		var res *optim.Result
		if n := x.o.network(i); n != nil {
			m, res, err = p.FitNetworks(o, n, &run.Control{Ctx: ctx, Workers: workers, Recorder: fo.Recorder})
		} else if m, res, err = p.Fit(ctx, o, fo); o.Kind == CrossEntropy {
			crossEntropy = m
		}
		if err != nil {
			return err
		}
		x.event(u, Event{Stage: Evaluating, Objective: o})
		edits, phones := held.edits(m, &x.o.Decode, workers)
		u.models = append(u.models, outcome{objective: m.Objective, networks: m.NetworkNames(), edits: edits,
			phones:    phones,
			converged: res.Converged() || res.Reason == run.AllPasses, evals: res.Evaluations})
	}
	u.stats = p.Stats
	x.event(u, Event{Stage: Done})
	return nil
}

// reach keeps what is within reach of held-out words.
func (u *unit) reach(h *heldOut) {
	u.reachable, u.seen, u.outside, u.unseen = h.reachable, h.seen, h.outside, h.unseen
}

func (x *experiment) prepare(ctx context.Context, pairs []Pair, workers int) (*Problem, error) {
	o := x.o.Options
	o.Workers = workers
	return Prepare(ctx, pairs, &o)
}

// choose picks constants for every objective by the edits on folds of the unit's training words.
// Ties go by the words in error, then by the grid's order.
func (x *experiment) choose(ctx context.Context, u *unit, workers int) ([]Objective, error) {
	g := x.o.Grid
	words := entries(u.train)
	folds, err := dataset.KFold(len(words), g.Folds, rand.New(rand.NewPCG(x.o.Seed, uint64(u.fold)+1)))
	if err != nil {
		return nil, fmt.Errorf("g2p: folds within the training words: %w", err)
	}
	type score struct{ edits, wrong int }
	scores := make([][]score, len(x.o.Objectives))
	for i := range x.o.Objectives {
		scores[i] = make([]score, len(x.o.candidates(i)))
	}
	for _, f := range folds[:g.Use] {
		p, err := x.prepare(ctx, pick(u.train, words, f.Train), workers)
		if err != nil {
			return nil, err
		}
		held, err := newHeldOut(p.Inventory, p.Features, pick(u.train, words, f.Test))
		if err != nil {
			return nil, err
		}
		for i := range x.o.Objectives {
			if x.o.network(i) != nil { // nothing to choose
				continue
			}
			for k, c := range x.o.candidates(i) {
				m, _, err := p.Fit(ctx, c, &FitOptions{Stop: x.o.Stop, Workers: workers})
				if err != nil {
					return nil, err
				}
				edits, _ := held.edits(m, &x.o.Decode, workers)
				for _, e := range edits {
					scores[i][k].edits += e
					if e > 0 {
						scores[i][k].wrong++
					}
				}
				x.event(u, Event{Stage: Choosing, Objective: c})
			}
		}
	}
	chosen := make([]Objective, len(x.o.Objectives))
	for i := range x.o.Objectives {
		best := 0
		for k, s := range scores[i] {
			if b := scores[i][best]; s.edits < b.edits || s.edits == b.edits && s.wrong < b.wrong {
				best = k
			}
		}
		chosen[i] = x.o.candidates(i)[best]
	}
	return chosen, nil
}

// Compare trains the objectives on one list of pairs and tests them on another.
func Compare(ctx context.Context, name string, train, test []Pair, opts *CompareOptions) (*Report, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	x := &experiment{o: o}
	u := &unit{dataset: name, train: train, test: test}
	if err := x.run(ctx, u, o.Workers); err != nil {
		return nil, fmt.Errorf("g2p: %s: %w", name, err)
	}
	return newReport(&o, []*unit{u}, time.Since(begin)), nil
}

// CrossValidate compares objectives over folds of each of the data sets. Every word is held out
// once, with all its pronunciations, unless opts.Use omits folds. All words count in the pooled
// rates and tests. With a Grid, each training set chooses the constants of every objective on folds
// of its own, so that held-out words do not affect the choice.
//
// Folds run beside each other on opts.Workers goroutines.
func CrossValidate(ctx context.Context, sets []Dataset, opts *CompareOptions) (*Report, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	x := &experiment{o: o}
	var units []*unit
	for i, d := range sets {
		words := entries(d.Pairs)
		folds, err := dataset.KFold(len(words), o.Folds, rand.New(rand.NewPCG(o.Seed, uint64(i)<<32)))
		if err != nil {
			return nil, fmt.Errorf("g2p: %s: %w", d.Name, err)
		}
		for k, f := range folds[:o.Use] {
			units = append(units, &unit{dataset: d.Name, fold: k + 1, folds: len(folds),
				train: pick(d.Pairs, words, f.Train), test: pick(d.Pairs, words, f.Test)})
		}
	}
	// As many folds at once as there are workers; what is left of these works
	// within folds.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	outer := max(1, min(o.Workers, len(units)))
	errs := make([]error, len(units))
	run.Blocks(outer, len(units), 1, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			if errs[i] = x.run(ctx, units[i], max(1, o.Workers/outer)); errs[i] != nil {
				cancel(errs[i])
				return
			}
		}
	})
	for i, err := range errs {
		if err != nil && (ctx.Err() == nil || context.Cause(ctx) == err) {
			return nil, fmt.Errorf("g2p: %s, fold %d: %w", units[i].dataset, units[i].fold, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("g2p: cross-validation: %w", context.Cause(ctx))
	}
	return newReport(&o, units, time.Since(begin)), nil
}
