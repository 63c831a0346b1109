package boost

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

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

// Fields implements run.Detail; see Line.
func (p *Progress) Fields() []run.Field { return nil }

// Header implements run.Lined.
func (p *Progress) Header() []string {
	return []string{"round", "loss", "objective", "validation_loss", "derivative", "curvature", "step", "family",
		"splits", "seconds"}
}

// Line implements run.Lined.
func (p *Progress) Line() []string {
	return []string{strconv.Itoa(p.Round), run.Cell(p.Loss), run.Cell(p.Objective), run.Cell(p.Valid),
		run.Cell(p.Derivative), run.Cell(p.Curvature), run.Cell(p.Step), strconv.Itoa(p.Family),
		strconv.Itoa(p.Splits),
		strconv.FormatFloat(p.Seconds, 'f', 6, 64)}
}

// String implements run.Detail, for people.
func (p *Progress) String() string {
	if p.Trial {
		return fmt.Sprintf("loss of held-out rows %.5g", p.Valid)
	}
	return fmt.Sprintf("loss %.5g", p.Loss)
}

// training is one booster's run, whose Best is that of the validation loss. It is an
// optim.Additive.
type training struct {
	*run.Run
	// one takes a round; it returns nil where there is nothing to learn.
	one     func() (*Progress, error)
	e       *Ensemble
	d       *Data
	held    *Data     // validation rows; nil without any
	scores  []float64 // of the training rows
	total   float64   // of the weights
	idle    int       // idle rounds in a row
	over    bool      // the round that is taken is the last
	valid   []float64 // scores of the validation rows
	bestOf  []Term    // the terms that gave the least validation loss
	history []Progress
	scratch []float64
	extra   map[string]float64 // numbers of the booster's own that a checkpoint keeps
}

// newRun checks what is common to all boosters and sets scores and ensemble up,
// from the checkpoint if there is one. held are the validation rows, nil for none.
func newRun(algorithm, settings string, d *Data, l Loss, start []float64, held *Data,
	c *run.Control) (*training, error) {
	if err := d.check(l); err != nil {
		return nil, err
	}
	k := l.Outputs()
	if len(start) != k {
		return nil, fmt.Errorf("boost: %s: %d start scores for a loss of %d", algorithm, len(start), k)
	}
	r := &training{total: d.total(), held: held, extra: map[string]float64{}}
	r.e = &Ensemble{Algorithm: algorithm, Settings: settings, Loss: l, Schema: SchemaOf(d.X),
		Start: start, Rows: d.Rows()}
	r.Run = run.Begin(algorithm, c, settingsOf(r.e).Rounds)
	r.Stop.Iterations = min(r.Stop.Iterations, settingsOf(r.e).Rounds)
	r.d = &Data{d.X, d.Y, d.W, r.Ctx}
	if held != nil {
		if err := held.check(l); err != nil {
			return nil, fmt.Errorf("validation rows: %w", err)
		}
		if err := r.e.Schema.Match(held.X); err != nil {
			return nil, fmt.Errorf("validation rows: %w", err)
		}
		r.valid = repeat(start, held.Rows())
		r.Best.Loss = score.Mean(l, held.Y, held.W, r.valid, 1)
	}
	r.scores = repeat(start, d.Rows())
	if r.Warn != nil {
		for _, w := range ColumnWarnings(d, settingsOf(r.e).bins()) {
			r.Warn(w)
		}
	}
	return r, r.resume()
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
	n := r.held.Rows()
	if len(r.scratch) < n {
		r.scratch = make([]float64, n)
	}
	k := r.e.Outputs()
	run.Blocks(r.Workers, n, predictBlock, func(_, from, to int) {
		h := r.scratch[from:to]
		t.Predictor.Predict(h, r.held.X, from)
		addScaled(r.valid[from*k:to*k], h, t.Weight, t.Output, k)
	})
}

// rounds learns round by round until the run ends. The ensemble is what there is by then, with the
// error if there was one.
func (r *training) rounds() (*Ensemble, *optim.Result, error) {
	f, err := optim.Descend(r.Run, r, math.NaN())
	e := r.result()
	for _, p := range r.history {
		if p.Round == e.Rounds() { // early stopping leaves out the last rounds
			f.F = p.Objective
		}
	}
	if f.F != f.F && err == nil { // no caller watched, or there is no round
		f.F = score.Mean(e.Loss, r.d.Y, r.d.W, r.scores, r.Workers)
	}
	return e, f, err
}

// Round implements optim.Additive.
func (r *training) Round(number int) (*run.Row, bool, error) {
	p, err := r.one()
	if err != nil || p == nil {
		return nil, false, err
	}
	p.Round, p.Of, p.Valid = number, r.Stop.Iterations, math.NaN()
	if r.valid != nil {
		p.Valid = score.Mean(r.e.Loss, r.held.Y, r.held.W, r.valid, r.Workers)
	}
	p.Seconds = r.Seconds()
	r.history = append(r.history, *p)
	return &run.Row{Objective: p.Objective, Step: p.Step, Detail: p}, r.over, nil
}

// Held implements optim.Additive.
func (r *training) Held() (float64, bool) {
	return r.history[len(r.history)-1].Valid, r.valid != nil
}

// Keep implements optim.Additive.
func (r *training) Keep() { r.bestOf = r.e.Terms[:len(r.e.Terms):len(r.e.Terms)] }

// unbegun is the error of a run that err ended before its first round: a *run.InterruptedError
// where the context did.
func unbegun(algorithm string, c *run.Control, err error) error {
	if ctx := c.Context(); ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return &run.InterruptedError{Name: algorithm, Err: context.Cause(ctx)}
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
	r.e.Run = &TrainingRun{History: r.history}
	return r.e
}
