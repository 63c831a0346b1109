package boost

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// Control holds what every booster accepts beside its own settings; the zero value suits most
// callers.
type Control struct {
	Ctx     context.Context // cancels the run; nil is none
	Workers int             // goroutines; 0 is GOMAXPROCS. The model does not depend on it

	// Watch, if not nil, is called after each round; an error stops the run.
	Watch func(*Progress) error

	// Warn, if not nil, receives what a user should know of the data or the result. Messages are
	// sentences without a full stop: levels that trees do not distinguish, or trees without a
	// split.
	Warn func(message string)

	// Valid, if not nil, are rows on which the loss is watched. The model is the prefix of rounds
	// with the least validation loss. The run ends after Patience rounds without a new minimum; 0
	// is never, or OpenPatience where the number of rounds is left open. Their columns must be
	// those of the training rows.
	Valid    *Data
	Patience int

	// Checkpoint, if not nil, is called every CheckpointEvery rounds (0 is 10) and when the context
	// was cancelled. It may keep its arguments. An error stops the run.
	Checkpoint      func(*Checkpoint) error
	CheckpointEvery int
	// Resume, if not nil, is the checkpoint to continue from. Data and settings must be unchanged,
	// except for the number of rounds, which may be larger. The model is then bit for bit that of
	// an unbroken run.
	Resume *Checkpoint
}

// Progress is one line of a run's history.
type Progress struct {
	Round      int     // rounds finished
	Of         int     // rounds that the run has at most
	Trial      bool    // the round is one of those by which their number is chosen: it is not part of the model
	Loss       float64 // mean loss of the training rows
	Objective  float64 // with the penalties
	Valid      float64 // mean loss of the validation rows; NaN without any
	Derivative float64 // of the mean loss along the term added, penalties aside
	Curvature  float64 // C used for the step; 0 where the step has none
	Step       float64 // weight of the term added; 0 for an idle round
	Family     int     // of the term added; -1 when there are none
	Splits     int     // internal nodes of the tree added; 0 for others
	Seconds    float64 // since the run began, resumed parts included
}

// training watches one booster's rounds.
type training struct {
	Control
	run     *run.Run // whose Best is that of the validation loss
	e       *Ensemble
	d       *Data
	scores  []float64 // of the training rows
	total   float64   // of the weights
	most    int       // rounds asked for
	idle    int       // idle rounds in a row
	over    bool      // the round that is taken is the last
	valid   []float64 // scores of the validation rows
	bestOf  []Term    // the terms that gave the least validation loss
	history []Progress
	scratch []float64
	extra   map[string]float64 // numbers of the booster's own that a checkpoint keeps
}

// newRun checks what is common to all boosters and sets scores and ensemble up,
// from the checkpoint if there is one.
func newRun(algorithm, settings string, d *Data, l Loss, start []float64, c *Control) (*training, error) {
	if err := d.check(l); err != nil {
		return nil, err
	}
	r := &training{Control: *c, d: &Data{d.X, d.Y, d.W, c.Ctx}, total: d.total(), extra: map[string]float64{}}
	r.begin(algorithm)
	k := l.Outputs()
	if len(start) != k {
		return nil, fmt.Errorf("boost: %s: %d start scores for a loss of %d", algorithm, len(start), k)
	}
	r.e = &Ensemble{Algorithm: algorithm, Settings: settings, Loss: l, Schema: SchemaOf(d.X),
		Start: start, Rows: d.Rows()}
	if r.Valid != nil {
		if err := r.Valid.check(l); err != nil {
			return nil, fmt.Errorf("validation rows: %w", err)
		}
		if err := r.e.Schema.Match(r.Valid.X); err != nil {
			return nil, fmt.Errorf("validation rows: %w", err)
		}
		r.valid = repeat(start, r.Valid.Rows())
		r.run.Best.Loss = score.Mean(l, r.Valid.Y, r.Valid.W, r.valid, 1)
	}
	r.scores = repeat(start, d.Rows())
	r.most = settingsOf(r.e).Rounds
	if r.Warn != nil {
		for _, w := range ColumnWarnings(d, settingsOf(r.e).bins()) {
			r.Warn(w)
		}
	}
	if p := r.Resume; p != nil {
		if err := r.resume(p); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// begin starts the run. Checkpoints have a kind of their own, which earlier programs read.
func (r *training) begin(algorithm string) {
	c := &run.Control{Ctx: r.Ctx, Workers: r.Workers, CheckpointEvery: r.CheckpointEvery}
	if r.Valid != nil {
		c.Stop.Patience = r.Patience
	}
	if r.Watch != nil {
		c.Recorder = run.RecorderFunc(func(run.Row) error {
			p := r.history[len(r.history)-1]
			return r.Watch(&p)
		})
	}
	if r.Checkpoint != nil {
		c.Checkpoint = func(k *run.Checkpoint) error { return r.Checkpoint(r.checkpoint(k)) }
	}
	r.run = run.Begin(algorithm, c, MostRounds)
	r.Ctx = r.run.Ctx
}

func repeat(start []float64, rows int) []float64 {
	f := make([]float64, rows*len(start))
	for i := range f {
		f[i] = start[i%len(start)]
	}
	return f
}

// addValid adds a term to the validation scores.
func (r *training) addValid(t *Term) {
	if r.valid == nil {
		return
	}
	n := r.Valid.Rows()
	if len(r.scratch) < n {
		r.scratch = make([]float64, n)
	}
	k := r.e.Outputs()
	run.Blocks(r.Workers, n, predictBlock, func(_, from, to int) {
		h := r.scratch[from:to]
		t.Predictor.Predict(h, r.Valid.X, from)
		addScaled(r.valid[from*k:to*k], h, t.Weight, t.Output, k)
	})
}

// rounds learns round by round while more says so, or until a round or the control ends the run.
// one returns nil where there is nothing to learn. The ensemble is what there is by then, with the
// error if there was one.
func (r *training) rounds(more func() bool, one func() (*Progress, error)) (*Ensemble, error) {
	for more() {
		if stop, err := r.next(one); stop || err != nil {
			return r.result(), err
		}
	}
	return r.result(), nil
}

// next learns one round, and reports whether it was the last.
func (r *training) next(one func() (*Progress, error)) (stop bool, err error) {
	reason, err := r.run.Next(func() (*run.Row, run.Reason, error) {
		p, err := one()
		if err != nil {
			return nil, "", err
		}
		if p == nil {
			return nil, run.Exhausted, nil
		}
		r.finish(p)
		if r.over {
			return &run.Row{Objective: p.Objective}, run.Exhausted, nil
		}
		return &run.Row{Objective: p.Objective}, "", nil
	}, func() (*run.Checkpoint, error) { return &run.Checkpoint{}, nil })
	return reason != "", err
}

// finish fills in what all boosters say of a round, and judges the validation rows.
func (r *training) finish(p *Progress) {
	p.Round, p.Of = r.run.Steps()+1, r.most
	p.Valid = math.NaN()
	if r.valid != nil {
		p.Valid = score.Mean(r.e.Loss, r.Valid.Y, r.Valid.W, r.valid, r.Workers)
		if r.run.Judge(p.Round, p.Valid) {
			r.bestOf = r.e.Terms[:len(r.e.Terms):len(r.e.Terms)]
		}
	}
	p.Seconds = r.run.Seconds()
	r.history = append(r.history, *p)
}

// unbegun is the error of a run that err ended before its first round: a *run.InterruptedError
// where the context did.
func (c *Control) unbegun(algorithm string, err error) error {
	if c.Ctx != nil && c.Ctx.Err() != nil && errors.Is(err, c.Ctx.Err()) {
		return &run.InterruptedError{Name: algorithm, Err: context.Cause(c.Ctx)}
	}
	return err
}

// result is the model: the best prefix where validation rows were watched.
func (r *training) result() *Ensemble {
	if r.valid != nil {
		r.e.Terms = r.bestOf
	}
	if r.Warn != nil && len(r.e.Terms) > 0 && !slices.ContainsFunc(r.e.Terms, func(t Term) bool {
		s, ok := t.Predictor.(Sized)
		return !ok || s.Splits() > 0
	}) {
		r.Warn("no tree has a split, and the model gives every row the same score: no column predicts the " +
			"target, or no split satisfies the limits on a leaf (rows, sum of second derivatives) and on the gain " +
			"of a split")
	}
	return r.e
}
