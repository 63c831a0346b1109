package multi

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/linear"
)

// Prior says how much each domain weighs when Q is trained.
type Prior string

const (
	Balanced  Prior = ""          // all domains the same, since the target mixture is not known
	Empirical Prior = "empirical" // one for each row
)

// QOptions adjusts the default domain classifier, multinomial logistic regression. The
// labels of the rows play no part.
type QOptions struct {
	// of the penalty Lambda/2 |W|² on the mean log loss
	Lambda float64   `json:"lambda" flag:"q_lambda" default:"0.001" above:"0" help:"L2 penalty of the logistic regression"`
	Choose []float64 `json:"choose" flag:"q_choose" above:"0" help:"Penalties, separated by commas; the one with the least held-out log loss is taken"`
	Prior  Prior     `json:"prior" flag:"q_prior" zero:"balanced" values:"balanced,empirical" help:"Weight of the sources in Q: the same, or by their rows"`

	// Folds of cross-fitting: a training row's Q comes from a classifier trained on the other
	// folds. Boosting would otherwise use a Q that is overconfident on its training rows. New rows
	// get a Q trained on everything.
	Folds int `json:"folds" flag:"q_folds" default:"5" min:"1" max:"1000" help:"Folds to cross-fit Q; 1 is none"`
	// OnlyUnlabelled needs no cross-fitting.
	OnlyUnlabelled bool    `json:"only_unlabelled" flag:"q_unlabelled_only" help:"Train Q on --unlabelled alone: it is then independent of the labelled rows, as the bounds want"`
	Temperature    float64 `json:"temperature" flag:"q_temperature" default:"1" above:"0" help:"Scores of Q are divided by it"`
	Calibrate      bool    `json:"calibrate" flag:"q_calibrate" help:"Choose the temperature on held-out rows"`
	Floor          float64 `json:"floor" flag:"q_floor" default:"1e-6" min:"0" max:"1" help:"Least Q of any source"`
	Iterations     int     `json:"iterations" flag:"q_iterations" default:"60" min:"1" help:"Most iterations of L-BFGS for Q"`
	Seed           uint64  `json:"seed" flag:"seed" help:"Seed of Q's folds"`
}

func (o QOptions) withDefaults(p int) (QOptions, error) {
	if err := learner.Complete(&o, &o); err != nil {
		return o, fmt.Errorf("multi: %w", err)
	}
	if o.Floor = learner.Amount(o.Floor); !(o.Floor*float64(p) <= 1) {
		return o, fmt.Errorf("multi: the least Q is %v; of %d domains, whose probabilities sum to 1, it must be "+
			"at most %.4g", o.Floor, p, 1/float64(p))
	}
	return o, nil
}

// Logistic is the default Classifier: soft-max of linear scores of standardised columns.
type Logistic struct {
	P           int
	Bias        []float64
	Features    []linear.Feature
	W           []float64 // of standardised features, by feature and domain
	Temperature float64
	Floor       float64

	terms []linearTerm
	base  []float64
}

// linearTerm is a feature with its weights as prediction wants them: of the raw value.
type linearTerm struct {
	column, level int
	mean          float64
	w             []float64
}

func (l *Logistic) Domains() int { return l.P }

// prepare folds shifts and scales into the weights.
func (l *Logistic) prepare() {
	l.base = slices.Clone(l.Bias)
	l.terms = nil
	for j, f := range l.Features {
		w := make([]float64, l.P)
		for k := range w {
			w[k] = l.W[j*l.P+k] * f.Scale
			l.base[k] -= w[k] * f.Mean
		}
		l.terms = append(l.terms, linearTerm{f.Column, f.Level, f.Mean, w})
	}
}

// Predict stores Q of the rows. O(rows·columns·domains).
func (l *Logistic) Predict(dst []float64, x *table.Table, from int) {
	p := l.P
	n := len(dst) / p
	for i := range n {
		copy(dst[i*p:i*p+p], l.base)
	}
	for t := range l.terms {
		term := &l.terms[t]
		values, w := x.Columns[term.column].Values[from:][:n], term.w
		for i, v := range values {
			c := float64(v)
			switch {
			case v != v:
				c = term.mean
			case term.level >= 0 && int(v) == term.level:
				c = 1
			case term.level >= 0:
				continue
			}
			if c == 0 {
				continue
			}
			s := dst[i*p:][:p]
			for k := range s {
				s[k] += c * w[k]
			}
		}
	}
	for i := range n {
		l.finish(dst[i*p : i*p+p])
	}
}

// finish turns scores into probabilities.
func (l *Logistic) finish(s []float64) {
	top := math.Inf(-1)
	for _, v := range s {
		top = max(top, v)
	}
	sum := 0.0
	for k, v := range s {
		s[k] = math.Exp((v - top) / l.Temperature)
		sum += s[k]
	}
	total := 0.0
	for k := range s {
		s[k] = max(s[k]/sum, l.Floor)
		total += s[k]
	}
	for k := range s {
		s[k] /= total
	}
}

// FittedQ is a trained domain classifier and its values on the training rows.
type FittedQ struct {
	Classifier Classifier
	Train      []float64 // Q of the labelled rows, by row and domain, cross-fitted where that was asked for
	Lambda     float64   // chosen
	LogLoss    float64   // balanced mean of -log Q(k|x) over the labelled rows, held out where Q is cross-fitted
	Crossed    bool      // Train is cross-fitted
	Apart      bool      // Q is independent of the labelled rows
}

// FitQ trains the default domain classifier on the rows of x and of unlabelled (nil: none),
// which must have the columns and sources of x.
//
// Every domain has the same total weight unless the prior is Empirical. Means and deviations for
// standardising use those weights over all rows, so doubling all rows of a domain changes nothing.
//
// Errors: a domain without rows (in x, or with OnlyUnlabelled among the unlabelled), and
// interruption.
func FitQ(ctx context.Context, x, unlabelled *table.Table, workers int, opts *QOptions) (*FittedQ, error) {
	var o QOptions
	if opts != nil {
		o = *opts
	}
	o, err := o.withDefaults(len(x.Sources))
	if err != nil {
		return nil, err
	}
	if err := x.CheckSources(); err != nil {
		return nil, fmt.Errorf("multi: Q: %w", err)
	}
	p := len(x.Sources)
	all := x
	if unlabelled != nil {
		if err := sameForm(x, unlabelled); err != nil {
			return nil, err
		}
		if all, err = joined(x, unlabelled); err != nil {
			return nil, err
		}
	}
	if o.OnlyUnlabelled {
		if unlabelled == nil {
			return nil, fmt.Errorf("multi: Q is to be trained on unlabelled rows alone, and there are none")
		}
		if err := unlabelled.CheckSources(); err != nil {
			return nil, fmt.Errorf("multi: Q: unlabelled rows: %w", err)
		}
		o.Folds = 1
	}
	f := &qFit{ctx: ctx, workers: workers, o: o, p: p, all: all, labelled: x.Rows}
	if f.ctx == nil {
		f.ctx = context.Background()
	}
	return f.run(x)
}

// sameForm returns an error unless u has the columns and sources of x.
func sameForm(x, u *table.Table) error {
	s := boost.SchemaOf(x)
	if err := s.Match(u); err != nil {
		return fmt.Errorf("multi: unlabelled rows: %w", err)
	}
	if u.Source == nil {
		return fmt.Errorf("multi: unlabelled rows: %s: no column says which source a row is from; they are of "+
			"use only with it", u.Name)
	}
	if !slices.Equal(x.Sources, u.Sources) {
		return fmt.Errorf("multi: unlabelled rows: %s has the sources %q, the labelled rows %q; read them with "+
			"the form of the labelled table", u.Name, u.Sources, x.Sources)
	}
	return nil
}

// joined is x with the features, sources and weights of u below it.
func joined(x, u *table.Table) (*table.Table, error) {
	out := &table.Table{Name: x.Name, Rows: x.Rows + u.Rows, Sources: x.Sources, SourceName: x.SourceName}
	for j := range x.Columns {
		c := x.Columns[j]
		c.Values = slices.Concat(c.Values, u.Columns[j].Values)
		out.Columns = append(out.Columns, c)
	}
	out.Source = slices.Concat(x.Source, u.Source)
	if x.Weight != nil || u.Weight != nil {
		for _, t := range []*table.Table{x, u} {
			for i := range t.Rows {
				w := 1.0
				if t.Weight != nil {
					w = t.Weight[i]
				}
				out.Weight = append(out.Weight, w)
			}
		}
	}
	return out, nil
}

// NewLogistic returns a classifier of given weights, by feature and domain, and constants, by
// domain: one that was trained elsewhere. floor is the least Q.
func NewLogistic(features []linear.Feature, w, bias []float64, floor float64) *Logistic {
	l := &Logistic{P: len(bias), Bias: bias, W: w, Features: features, Temperature: 1, Floor: floor}
	l.prepare()
	return l
}
