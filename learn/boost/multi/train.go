package multi

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// training is one training.
type training struct {
	o        Options
	run      *run.Run // whose Best is the least maximum of the losses that are watched
	d        *boost.Data
	s        *state
	e        *Model
	families []boost.Fitter // of Options.Families
	fitters  []boost.Fitter // by slot, without families; the same one where slots share a learner
	rows     [][]int32      // by domain, for own directions
	valid    *state         // scores of the validation rows; nil without any
	// validHistory is the largest loss of a domain on them after every round.
	validHistory []float64
	watched      float64 // loss by which rounds are chosen, after the last one
	stalled      string
}

// Train minimises the objective of a Q-ensemble f(x) = Σ_l Q(l|x) Σ_j alpha_{l,j} h_{l,j}(x) over
// alpha >= 0 by coordinate descent. This is MULTIBOOST of section 4.3, in the form that the package
// comment recommends unless options say otherwise. The table of d must have sources, each with
// rows; NewData makes such data.
//
// A round costs one pass of the base learner for every slot, and some ten passes over
// the rows for every step. Memory beside the data is two numbers a row and slot.
//
// Errors: unusable data or settings, errors of the learner, and *run.InterruptedError (with
// the model so far).
func Train(d *boost.Data, opts *Options, c *run.Control) (*Model, *optim.Result, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if err := check(d); err != nil {
		return nil, nil, err
	}
	p := len(d.X.Sources)
	s := &state{p: p, y: d.Y, w: d.W, dom: d.X.Source, mass: make([]float64, p), m: make([]float64, p),
		workers: c.Goroutines()}
	for i, k := range d.X.Source {
		s.mass[k] += s.weight(i)
		s.m[k]++
	}
	if o.Objective == Max {
		o.Directions, o.Round = Own, Greedy
	}
	if o.Directions == Own {
		o.Slots = DomainsOnly
	}
	o, err := o.withDefaults(p, s.m)
	if err != nil {
		return nil, nil, err
	}
	if s.phi, err = phiOf(o.Loss); err != nil {
		return nil, nil, err
	}
	s.slots, s.penalty = p, o.Penalty
	if o.Slots == WithShared {
		s.slots++
	}
	r := &training{o: o, d: d, s: s, run: run.Begin(name, c, o.Rounds)}
	r.run.Stop.Iterations = min(r.run.Stop.Iterations, o.Rounds)
	if err := r.prepare(); err != nil {
		return nil, nil, err
	}
	return r.train()
}

// check is what training and reports ask of data.
func check(d *boost.Data) error {
	if d == nil || d.X == nil || d.X.Rows == 0 || len(d.X.Columns) == 0 {
		return fmt.Errorf("multi: %w: no rows or no columns", boost.ErrData)
	}
	if d.X.Sparse != nil {
		return fmt.Errorf("multi: %s: %w: the table is sparse; NewData makes it dense", d.X.Title(), boost.ErrData)
	}
	if len(d.Y) != d.X.Rows || d.W != nil && len(d.W) != d.X.Rows {
		return fmt.Errorf("multi: %w: %d rows, %d labels, %d weights", boost.ErrData, d.X.Rows, len(d.Y), len(d.W))
	}
	for i, v := range d.Y {
		if v != 1 && v != -1 {
			return fmt.Errorf("multi: %s: %w: %v; it must be -1 or +1", d.X.At(i), boost.ErrLabel, v)
		}
	}
	for i, w := range d.W {
		if !(w > 0) || math.IsInf(w, 1) {
			return fmt.Errorf("multi: %s: %w: the weight %v is not positive and finite (NewData leaves rows of "+
				"weight 0 out)", d.X.At(i), boost.ErrData, w)
		}
	}
	if d.X.Source != nil {
		if len(d.X.Source) != d.X.Rows {
			return fmt.Errorf("multi: %w: %d rows, %d sources", boost.ErrData, d.X.Rows, len(d.X.Source))
		}
		for i, k := range d.X.Source {
			if k < 0 || int(k) >= len(d.X.Sources) {
				return fmt.Errorf("multi: %s: %w: source %d of %d", d.X.At(i), boost.ErrData, k+1, len(d.X.Sources))
			}
		}
	}
	if err := d.X.CheckSources(); err != nil {
		return fmt.Errorf("multi: %w", err)
	}
	return nil
}

// NewData takes labels, weights and sources from a table: boost.NewData, and every
// source must have rows.
func NewData(t *table.Table, l boost.Loss) (*boost.Data, error) {
	if t != nil { // whose stumps and Q need every cell
		var err error
		if t, err = t.Dense(0); err != nil {
			return nil, err
		}
	}
	d, err := boost.NewData(t, l)
	if err != nil {
		return nil, err
	}
	return d, check(d)
}

func (r *training) prepare() error {
	o, s, d := &r.o, r.s, r.d
	settings, err := o.settings(s.p)
	if err != nil {
		return err
	}
	n := d.X.Rows
	s.g, s.f = make([]float64, n*s.slots), make([]float64, n)
	r.e = &Model{Settings: settings, Loss: o.Loss, Schema: boost.SchemaOf(d.X),
		Sources: slices.Clone(d.X.Sources), Rows: make([]int, s.p), Shared: s.slots > s.p}
	for k, m := range s.m {
		r.e.Rows[k] = int(m)
	}
	for _, w := range boost.ColumnWarnings(d, 0) {
		r.e.warn("%s", w)
	}
	for range s.slots {
		r.e.Slots = append(r.e.Slots, r.e.slot())
	}
	learners := o.Learners
	if o.Families != nil {
		names := make([]string, len(o.Families))
		for j, f := range o.Families {
			fitter, err := f.Learner.Prepare(d, r.run.Workers)
			if err != nil {
				return fmt.Errorf("multi: family %d: learner %s: %w", j+1, f.Learner.Name(), err)
			}
			r.families, names[j] = append(r.families, fitter), f.Learner.Name()
		}
		r.e.Learners = []string{strings.Join(names, familySeparator)}
	} else if learners == nil {
		l := o.Learner
		if l == nil {
			l = Stumps{}
		}
		learners = slices.Repeat([]boost.Learner{l}, 1)
	} else if len(learners) != s.slots {
		return fmt.Errorf("multi: %d learners for %d slots", len(learners), s.slots)
	}
	for _, l := range learners {
		f, err := l.Prepare(d, r.run.Workers)
		if err != nil {
			return fmt.Errorf("multi: learner %s: %w", l.Name(), err)
		}
		r.fitters = append(r.fitters, f)
		r.e.Learners = append(r.e.Learners, l.Name())
	}
	if len(r.e.Learners) == 1 {
		r.fitters = slices.Repeat(r.fitters, s.slots)
		r.e.Learners = slices.Repeat(r.e.Learners, s.slots)
	}
	if o.Directions == Own {
		r.rows = make([][]int32, s.p)
		for i, k := range d.X.Source {
			r.rows[k] = append(r.rows[k], int32(i))
		}
	}
	was, err := r.taken()
	if err != nil {
		return err
	}
	if err := r.fitQ(was); err != nil {
		return err
	}
	if o.Valid != nil {
		if err := r.prepareValid(); err != nil {
			return err
		}
	}
	if was != nil {
		return r.resume(was)
	}
	return nil
}

// fitQ finds Q on the training rows, and the classifier for others. It takes those of the model
// that a run goes on from, nil for none.
func (r *training) fitQ(was *Model) error {
	o, s, x := &r.o, r.s, r.d.X
	p := s.p
	var q []float64
	var err error
	switch {
	case was != nil:
		q = r.run.Resume.Arrays[partQ]
		r.e.Q, r.e.CrossFitted, r.e.Apart = was.Q, was.CrossFitted, was.Apart
	case o.QTrain != nil:
		q, r.e.Q = o.QTrain, o.Q
		if err := checkQ(q, p, x); err != nil {
			return err
		}
	case o.Q != nil:
		r.e.Q = o.Q
		if q, err = qMatrix(o.Q, x, p, r.run.Workers); err != nil {
			return err
		}
	case p == 1:
		r.e.Q = Uniform{1}
		q = slices.Repeat([]float64{1}, x.Rows)
	default:
		f, err := FitQ(r.run.Ctx, x, o.Unlabelled, r.run.Workers, &o.QOptions)
		if err != nil {
			return cmp.Or(r.run.Cancelled(), err)
		}
		q, r.e.Q, r.e.CrossFitted, r.e.Apart, r.e.QLambda, r.e.QLogLoss = f.Train, f.Classifier, f.Crossed, f.Apart,
			f.Lambda, f.LogLoss
	}
	r.e.MeanQ = MeanQ(q, x.Source, p)
	for k := range p {
		if v := r.e.MeanQ[k][k]; p > 1 && v <= 1/float64(p)*(1+1e-9) {
			r.e.warn("the mean of Q(%d|x) over the rows of source %q is %.3g, no more than 1/%d: the domain "+
				"classifier does not know this source from the others", k+1, x.Sources[k], v, p)
		}
	}
	s.q = make([]float64, x.Rows*s.slots)
	fillQ(s.q, q, p, s.slots)
	return nil
}

// fillQ copies Q and sets the shared slot's to 1.
func fillQ(dst, q []float64, p, slots int) {
	for i := 0; i*p < len(q); i++ {
		copy(dst[i*slots:], q[i*p:i*p+p])
		if slots > p {
			dst[i*slots+p] = 1
		}
	}
}

func (r *training) prepareValid() error {
	v := r.o.Valid
	if err := check(v); err != nil {
		return fmt.Errorf("validation rows: %w", err)
	}
	if err := r.e.Schema.Match(v.X); err != nil {
		return fmt.Errorf("validation rows: %w", err)
	}
	if !slices.Equal(v.X.Sources, r.e.Sources) {
		return fmt.Errorf("multi: validation rows: sources %q, the training rows have %q", v.X.Sources, r.e.Sources)
	}
	if r.e.Q == nil {
		return fmt.Errorf("multi: validation rows: %w that says what Q is on them; give Q beside QTrain", ErrNoQ)
	}
	s := r.s
	q, err := qMatrix(r.e.Q, v.X, s.p, r.run.Workers)
	if err != nil {
		return err
	}
	n := v.X.Rows
	r.valid = &state{phi: s.phi, workers: s.workers, p: s.p, slots: s.slots, y: v.Y, w: v.W, dom: v.X.Source,
		mass: make([]float64, s.p), m: make([]float64, s.p), q: make([]float64, n*s.slots),
		g: make([]float64, n*s.slots), f: make([]float64, n)}
	fillQ(r.valid.q, q, s.p, s.slots)
	for i, k := range v.X.Source {
		r.valid.mass[k] += r.valid.weight(i)
	}
	// The model without terms is no candidate, whatever its loss: it errs on every row.
	return nil
}

// name is that of the learner, in errors.
const name = "multiboost"

// chooses tells that the model is the best prefix of the rounds.
func (r *training) chooses() bool { return r.o.Best || r.valid != nil }

func (r *training) train() (*Model, *optim.Result, error) {
	f, err := optim.Descend(r.run, r, 0)
	if interrupted := new(run.InterruptedError); err != nil && !errors.As(err, &interrupted) {
		return nil, nil, err
	}
	m := r.result()
	if m.Trained > 0 {
		f.F, _ = r.o.Target.Max(m.History[m.Trained-1])
	}
	return m, f, err
}

// Round implements optim.Additive.
func (r *training) Round(number int) (*run.Row, bool, error) {
	p := &Progress{}
	round := r.smooth
	if r.o.Objective == Max {
		round = r.maximum
	}
	if err := round(p); err != nil {
		return nil, false, fmt.Errorf("multi: round %d: %w", number, err)
	}
	if len(p.Terms) == 0 {
		if r.stalled != "" {
			r.e.warn("%s", r.stalled)
		}
		return nil, false, nil
	}
	p.Sources, p.Losses = r.e.Sources, r.s.losses()
	p.Max, _ = r.o.Target.Max(p.Losses)
	r.e.History = append(r.e.History, p.Losses)
	p.Valid = math.NaN()
	r.watched = p.Max
	if r.valid != nil {
		p.Valid, _ = r.o.Target.Max(r.valid.losses())
		r.watched = p.Valid
		r.validHistory = append(r.validHistory, p.Valid)
	}
	p.Round, p.Seconds = number, r.run.Seconds()
	return &run.Row{Objective: p.Objective, Detail: p}, false, nil
}

// Held implements optim.Additive.
func (r *training) Held() (float64, bool) { return r.watched, r.chooses() }

// Keep implements optim.Additive: the run has the number of the best round.
func (r *training) Keep() {}

// result is the model: all rounds, or those up to the best.
func (r *training) result() *Model {
	r.e.Trained, r.e.ValidHistory, r.e.Seconds = r.run.Steps(), r.validHistory, r.run.Seconds()
	if r.chooses() {
		m := r.e.Prefix(r.run.Best.Step)
		m.History = r.e.History
		return m
	}
	return r.e
}
