package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/boost/multi"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/run"
)

// SourceOptions adjusts Sources; each zero field is the default given.
type SourceOptions struct {
	Ctx     context.Context
	Rounds  int           // T: 100
	Folds   int           // use only this many trials, the first ones; 0 is all
	MaxRows int           // of each source and part, the first ones; 0 is all
	Fresh   string        // if not "", trials are made afresh with this seed, by the same rule
	Options multi.Options // of MULTIBOOST; its rounds are Rounds
	Literal bool          // run figure 4.1 with the closed step too
	Workers int           // 0 is GOMAXPROCS. Results do not depend on it
	// Known are trials of an earlier run: those of the same set, rows, division and settings
	// are not made again.
	Known []SourceTrial
	// Save, if not nil, is called with each new trial. An error ends the run. Neither it nor
	// Known goes with options that are no settings: a learner, families or Q of one's own.
	Save func(*SourceTrial) error
	// Fitted, if not nil, is called after each model: which, of how many, and its name.
	Fitted func(all int, name string, fold int)
}

// SourceReport is one data set of table 4.1 rerun.
type SourceReport struct {
	Name    string         `json:"name"`
	Note    string         `json:"note,omitempty"`
	Sources []string       `json:"sources"`
	Rows    []int          `json:"rows"` // of each source
	Columns int            `json:"columns"`
	Rounds  int            `json:"rounds"`
	Folds   int            `json:"folds"`
	Fresh   string         `json:"fresh,omitempty"`
	MaxRows int            `json:"max_rows,omitempty"` // of each source and part
	Models  []*SourceModel `json:"models"`
	Train   float64        `json:"train_rows"` // mean over folds
	Test    float64        `json:"test_rows"`
	Seconds float64        `json:"seconds"`
}

// SourceModel is one model's errors, by fold.
type SourceModel struct {
	Name     string      `json:"name"`
	Domain   [][]float64 `json:"domain"` // by fold and source
	Uniform  []float64   `json:"uniform"`
	Agnostic []float64   `json:"agnostic"`
	Terms    []float64   `json:"terms"`
	Seconds  float64     `json:"seconds"`              // of training, all folds, Q included
	Versus   string      `json:"versus,omitempty"`     // the model it is compared with
	OfQ      []float64   `json:"q_log_loss,omitempty"` // balanced log loss of the cross-fitted Q
}

// SourceTrial is what one trial of a set came to.
type SourceTrial struct {
	Set      string        `json:"set"`
	Trial    int           `json:"trial"`
	Data     string        `json:"data"`     // fingerprint of the rows
	Division string        `json:"division"` // Fingerprint of the trial
	Settings string        `json:"settings"` // fingerprint of all that models are trained with
	Models   []SourceModel `json:"models"`   // with one entry in each list
}

// key says what a trial is of: trials with the same key are the same.
func (t *SourceTrial) key() string {
	return fmt.Sprintf("%s\x00%d\x00%s\x00%s\x00%s", t.Set, t.Trial, t.Data, t.Division, t.Settings)
}

// Names of the models of a report beside AdaBoost-1, …
const (
	AdaBoostAll   = "AdaBoost-all"
	AdaBoostTerms = "AdaBoost-all, equal terms"
	MultiBoost    = "MULTIBOOST"
	MultiEqual    = "MULTIBOOST, one term a round"
	MultiLiteral  = "MULTIBOOST, figure 4.1"
)

// Model returns the model of that name, nil without one.
func (r *SourceReport) Model(name string) *SourceModel {
	for _, m := range r.Models {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// Sources reruns the protocol of section 4.6 on one data set. In every trial AdaBoost on each
// source and on their union, and MULTIBOOST, are tested on the test rows of every source. All use
// decision stumps and the exponential loss for T rounds. A round of MULTIBOOST adds up to p+1
// terms. It is therefore also compared with AdaBoost-all with as many rounds as it has terms, and
// run with one term a round.
//
// Nothing is chosen on test rows: the penalty of Q is the one of five with the least log loss on a
// fold of the training rows.
func Sources(set Set, opts *SourceOptions) (*SourceReport, error) {
	var o SourceOptions
	if opts != nil {
		o = *opts
	}
	if o.Rounds == 0 {
		o.Rounds = 100
	}
	if o.Ctx == nil {
		o.Ctx = context.Background()
	}
	begin := time.Now()
	t, trials, err := set.Load()
	if err != nil {
		return nil, err
	}
	if o.Fresh != "" {
		trials = set.Fresh(t, o.Fresh)
	}
	if o.Folds > 0 && o.Folds < len(trials) {
		trials = trials[:o.Folds]
	}
	if o.MaxRows > 0 {
		for i := range trials {
			trials[i].Train, trials[i].Test = firstRows(t, trials[i].Train, o.MaxRows),
				firstRows(t, trials[i].Test, o.MaxRows)
		}
	}
	r := &SourceReport{Name: set.Name, Note: set.Note, Sources: t.Sources, Rows: t.SourceCounts(),
		Columns: len(t.Columns), Rounds: o.Rounds, Folds: len(trials), Fresh: o.Fresh, MaxRows: o.MaxRows}
	p := len(t.Sources)
	for k := range p {
		r.Models = append(r.Models, &SourceModel{Name: fmt.Sprintf("AdaBoost-%d", k+1), Versus: AdaBoostAll})
	}
	r.Models = append(r.Models, &SourceModel{Name: AdaBoostAll},
		&SourceModel{Name: MultiBoost, Versus: AdaBoostAll}, &SourceModel{Name: AdaBoostTerms, Versus: AdaBoostAll},
		&SourceModel{Name: MultiEqual, Versus: AdaBoostAll})
	if o.Literal {
		r.Models = append(r.Models, &SourceModel{Name: MultiLiteral, Versus: AdaBoostAll})
	}
	settings, known, err := o.kept()
	if err != nil {
		return nil, fmt.Errorf("experiment: %s: %w", set.Name, err)
	}
	data := fmt.Sprintf("%016x", t.Fingerprint(t.Target, t.Weight))
	for f, trial := range trials {
		one := &SourceTrial{Set: set.Name, Trial: f, Data: data, Division: Fingerprint(&trial, t.Rows),
			Settings: settings}
		x := &sourceTrial{o: &o, fold: f, all: len(trials) * (len(r.Models) - 1)}
		if was := known[one.key()]; was != nil && len(was.Models) == len(r.Models) {
			one = was
			for _, m := range one.Models {
				x.fitted(m.Name)
			}
		} else {
			for _, m := range r.Models {
				one.Models = append(one.Models, SourceModel{Name: m.Name})
			}
			x.r = one
			err := x.run(t, trial)
			if err == nil && o.Save != nil {
				err = o.Save(one)
			}
			if err != nil {
				return nil, fmt.Errorf("experiment: %s: trial %d: %w", set.Name, f+1, err)
			}
		}
		if err := r.add(one); err != nil {
			return nil, fmt.Errorf("experiment: %s: trial %d: %w", set.Name, f+1, err)
		}
		r.Train += float64(len(trial.Train)) / float64(len(trials))
		r.Test += float64(len(trial.Test)) / float64(len(trials))
	}
	r.Seconds = time.Since(begin).Seconds()
	return r, nil
}

// kept returns the fingerprint of the settings, and the known trials by key.
func (o *SourceOptions) kept() (string, map[string]*SourceTrial, error) {
	if o.Known == nil && o.Save == nil {
		return "", nil, nil
	}
	m := o.Options
	if m.Loss != nil && m.Loss != (boost.Exponential{}) || m.Learner != nil || m.Learners != nil ||
		m.Families != nil || m.Q != nil || m.QTrain != nil || m.Unlabelled != nil {
		return "", nil, errors.New("trials are kept by their settings, and a loss, learners, families, Q or " +
			"unlabelled rows of one's own are none")
	}
	m.Rounds = o.Rounds
	text, err := json.Marshal(&m)
	if err != nil {
		return "", nil, err
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %v %d", text, o.Literal, o.MaxRows)
	known := map[string]*SourceTrial{}
	for i := range o.Known {
		known[o.Known[i].key()] = &o.Known[i]
	}
	return fmt.Sprintf("%016x", h.Sum64()), known, nil
}

// add appends a trial's errors to the models'.
func (r *SourceReport) add(t *SourceTrial) error {
	for k := range t.Models {
		one := &t.Models[k]
		m := r.Model(one.Name)
		if m == nil || len(one.Domain) != 1 || len(one.Domain[0]) != len(r.Sources) || len(one.Uniform) != 1 ||
			len(one.Agnostic) != 1 || len(one.Terms) != 1 {
			return fmt.Errorf("the result of %q is not one of a trial of %d sources", one.Name, len(r.Sources))
		}
		m.Domain, m.Uniform, m.Agnostic = append(m.Domain, one.Domain...), append(m.Uniform, one.Uniform...),
			append(m.Agnostic, one.Agnostic...)
		m.Terms, m.OfQ = append(m.Terms, one.Terms...), append(m.OfQ, one.OfQ...)
		m.Seconds += one.Seconds
	}
	return nil
}

// firstRows keeps the first n rows of each source.
func firstRows(t *table.Table, rows []int, n int) []int {
	taken := make([]int, len(t.Sources))
	var out []int
	for _, i := range rows {
		if k := t.Source[i]; taken[k] < n {
			taken[k]++
			out = append(out, i)
		}
	}
	return out
}

// sourceTrial runs all models of one trial.
type sourceTrial struct {
	r    *SourceTrial
	o    *SourceOptions
	fold int
	all  int // models of all trials, for progress
	test *boost.Data
	at   time.Time
}

func (x *sourceTrial) run(t *table.Table, trial table.Trial) error {
	loss := boost.Exponential{}
	d, err := multi.NewData(t.Subset(trial.Train), loss)
	if err != nil {
		return err
	}
	if x.test, err = multi.NewData(t.Subset(trial.Test), loss); err != nil {
		return err
	}
	m, err := x.boosts(d)
	if err != nil {
		return err
	}
	terms := m.Terms()
	if err := x.adaboosts(d, terms); err != nil {
		return err
	}
	return nil
}

// control is that of every training.
func (o *SourceOptions) control() *run.Control { return &run.Control{Ctx: o.Ctx, Workers: o.Workers} }

// adaboosts trains AdaBoost on each source and on all; of the latter, terms rounds give
// the comparison at equal terms.
func (x *sourceTrial) adaboosts(d *boost.Data, terms int) error {
	control := x.o.control()
	for k := range d.X.Sources {
		x.at = time.Now()
		e, _, err := multi.TrainBaseline(d, k, x.o.Rounds, nil, control)
		if err != nil {
			return err
		}
		if err := x.scoreAda(fmt.Sprintf("AdaBoost-%d", k+1), e); err != nil {
			return err
		}
	}
	x.at = time.Now()
	e, _, err := multi.TrainBaseline(d, -1, max(x.o.Rounds, terms), nil, control)
	if err != nil {
		return err
	}
	if err := x.scoreAda(AdaBoostAll, e.Prefix(x.o.Rounds)); err != nil {
		return err
	}
	return x.scoreAda(AdaBoostTerms, e.Prefix(terms))
}

func (x *sourceTrial) scoreAda(name string, e *boost.Ensemble) error {
	f, err := e.Scores(x.test.X, &boost.PredictOptions{Workers: x.o.Workers})
	if err != nil {
		return err
	}
	return x.record(name, f, len(e.Terms))
}

// boosts trains MULTIBOOST in all its settings, with one Q.
func (x *sourceTrial) boosts(d *boost.Data) (*multi.Model, error) {
	x.at = time.Now()
	o := x.o.Options
	o.Rounds = x.o.Rounds
	if o.Q == nil && o.QTrain == nil {
		q := o.QOptions
		if q.Choose == nil && q.Lambda == 0 {
			q.Choose = []float64{1e-1, 3e-2, 1e-2, 1e-3, 1e-4}
		}
		fit, err := multi.FitQ(x.o.Ctx, d.X, nil, x.o.Workers, &q)
		if err != nil {
			return nil, err
		}
		o.Q, o.QTrain = fit.Classifier, fit.Train
		m := x.r.model(MultiBoost)
		m.OfQ = append(m.OfQ, fit.LogLoss)
	}
	train := func(name string, o multi.Options) (*multi.Model, error) {
		m, _, err := multi.Train(d, &o, x.o.control())
		if err != nil {
			return nil, err
		}
		f, err := m.Scores(x.test.X, &multi.PredictOptions{Workers: x.o.Workers})
		if err != nil {
			return nil, err
		}
		return m, x.record(name, f, m.Terms())
	}
	m, err := train(MultiBoost, o)
	if err != nil {
		return nil, err
	}
	one := o
	one.Round, one.DomainFactor = multi.EqualTerms().Round, multi.EqualTerms().DomainFactor
	if _, err := train(MultiEqual, one); err != nil {
		return nil, err
	}
	if x.o.Literal {
		l := *multi.Thesis(multi.Closed)
		l.Rounds, l.Q, l.QTrain = o.Rounds, o.Q, o.QTrain
		if _, err := train(MultiLiteral, l); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// record measures scores of the test rows.
func (x *sourceTrial) record(name string, f []float64, terms int) error {
	e, err := multi.ErrorRates(x.test, f, nil)
	if err != nil {
		return err
	}
	m := x.r.model(name)
	m.Domain = append(m.Domain, e.Domain)
	m.Uniform, m.Agnostic = append(m.Uniform, e.Uniform), append(m.Agnostic, e.Agnostic)
	m.Terms = append(m.Terms, float64(terms))
	m.Seconds += time.Since(x.at).Seconds()
	x.at = time.Now()
	x.fitted(name)
	return nil
}

func (x *sourceTrial) fitted(name string) {
	if x.o.Fitted != nil && name != AdaBoostTerms {
		x.o.Fitted(x.all, name, x.fold)
	}
}

// model returns the trial's model of that name.
func (t *SourceTrial) model(name string) *SourceModel {
	for k := range t.Models {
		if t.Models[k].Name == name {
			return &t.Models[k]
		}
	}
	return nil
}

// Comparison of two models' errors over the same trials.
type Comparison struct {
	Of, With string
	Uniform  Paired
	Agnostic Paired
}

// Paired is a difference of errors with its tests.
type Paired struct {
	Difference float64 `json:"difference"` // mean; negative is better
	// two-sided: plain paired t-test over folds, which finds too much: training parts overlap
	P         metrics.Maybe `json:"p"`
	Corrected metrics.Maybe `json:"p_corrected"` // two-sided: corrected resampled one
	Won       int           `json:"won"`         // folds with a strictly smaller error
}

// Compare compares two models of the report.
func (r *SourceReport) Compare(of, with string) (*Comparison, error) {
	a, b := r.Model(of), r.Model(with)
	if a == nil || b == nil {
		return nil, fmt.Errorf("experiment: %s: there are no models %q and %q", r.Name, of, with)
	}
	pair := func(u, v []float64) (Paired, error) {
		out := Paired{P: 1, Corrected: 1}
		for i := range u {
			out.Difference += (u[i] - v[i]) / float64(len(u))
			if u[i] < v[i] {
				out.Won++
			}
		}
		if len(u) < 2 {
			return out, nil
		}
		t, err := metrics.PairedT(u, v)
		if err != nil {
			return out, err
		}
		c, err := metrics.CorrectedT(u, v, r.Test, r.Train)
		if err != nil {
			return out, err
		}
		out.P, out.Corrected = t.P, c.P
		return out, nil
	}
	c := &Comparison{Of: of, With: with}
	var err error
	if c.Uniform, err = pair(a.Uniform, b.Uniform); err != nil {
		return nil, err
	}
	c.Agnostic, err = pair(a.Agnostic, b.Agnostic)
	return c, err
}
