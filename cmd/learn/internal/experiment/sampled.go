package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"text/tabwriter"
	"time"

	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/sequence"
	"github.com/tropica-fst/tropica/losses"
)

// SampledOptions says how Sampled trains. Tags are those of package learner.
type SampledOptions struct {
	Train, Test []sequence.Example
	Loss        losses.Edit          // without a band
	Gamma       float64              `flag:"gamma" default:"1" above:"0" help:"Scale of the loss in the margin"`
	Band        int                  `flag:"band" default:"1" min:"1" help:"Band of the exact machines"`
	Sweeps      int                  `flag:"sweeps" default:"60" min:"2" help:"Sweeps of 64 chains for a sampled gradient"`
	Epochs      int                  `flag:"epochs" default:"5" min:"1" help:"Passes over the training examples"`
	Rate        float64              `flag:"rate" default:"0.2" above:"0" help:"Step size of AdaGrad"`
	Seed        uint64               `flag:"seed" help:"Seed of the draws"`
	Clock       func() time.Duration // processor time
	Told        func(method string, epoch int)
}

// SampledReport is the outcome of Sampled.
type SampledReport struct {
	Tested  int             `json:"tested"`
	Longest int             `json:"longest"` // labels of a training example
	Methods []SampledMethod `json:"methods"`
}

// SampledMethod is what one source of gradients led to.
type SampledMethod struct {
	Name   string  `json:"name"`
	Steps  int     `json:"steps"`
	Millis float64 `json:"milliseconds"` // processor time of a gradient
	Loss   float64 `json:"loss"`         // mean of the exact loss on the tests
	Right  float64 `json:"right"`        // labels at their positions, per cent
	// gradients whose chains had not mixed, as the sampler reports
	Unmixed int           `json:"unmixed"`
	Inexact int           `json:"inexact"` // or that its band was too narrow
	P       metrics.Maybe `json:"p"`       // paired t of the losses against the banded margin's
	values  []float64
}

// stepper is a linear chain with AdaGrad: weights of attributes by label, and of pairs of labels.
// An attribute is the value of a column at a position, or beside it.
type stepper struct {
	labels     []string
	number     map[string]int
	attribute  map[string]int
	w, g2, sum []float64 // weights, squared gradients, and weights summed over steps
	last       []int     // the step that sum is complete up to
	step       int
	ids        [][]int
	grad       map[int]float64
}

func newStepper(examples []sequence.Example) *stepper {
	s := &stepper{number: map[string]int{}, attribute: map[string]int{}, grad: map[int]float64{}}
	for i := range examples {
		for _, y := range examples[i].Labels {
			if _, ok := s.number[y]; !ok {
				s.number[y] = len(s.labels)
				s.labels = append(s.labels, y)
			}
		}
	}
	for i := range examples {
		s.attributes(&examples[i], true)
	}
	d := len(s.labels)
	n := d*d + len(s.attribute)*d
	s.w, s.g2, s.sum, s.last = make([]float64, n), make([]float64, n), make([]float64, n), make([]int, n)
	return s
}

// attributes fills in ids.
func (s *stepper) attributes(e *sequence.Example, add bool) {
	n := len(e.Columns)
	s.ids = s.ids[:0]
	for t := range n {
		var row []int
		for c := range e.Columns[t] {
			for d := -1; d <= 1; d++ {
				value := "" // before the first position, and behind the last
				if t+d >= 0 && t+d < n {
					value = e.Columns[t+d][c]
				}
				key := fmt.Sprint(c, " ", d, " ", value)
				k, ok := s.attribute[key]
				if !ok && add {
					k, ok = len(s.attribute), true
					s.attribute[key] = k
				}
				if ok {
					row = append(row, k)
				}
			}
		}
		s.ids = append(s.ids, row)
	}
}

// score fills in potentials from weights.
func (s *stepper) score(e *sequence.Example, w []float64) *losses.Potentials {
	s.attributes(e, false)
	d, n := len(s.labels), len(e.Columns)
	p := losses.NewPotentials(d, n, 2)
	node := make([]float64, d)
	for t, row := range p.Theta {
		clear(node)
		for _, k := range s.ids[t] {
			for y, x := range w[d*d+k*d:][:d] {
				node[y] += x
			}
		}
		for i := range row {
			row[i] = node[i%d]
			if t > 0 {
				row[i] += w[i]
			}
		}
	}
	return p
}

// update takes a step along probabilities of windows minus those of the reference.
func (s *stepper) update(q [][]float64, ref []int, rate float64) {
	d := len(s.labels)
	clear(s.grad)
	node := make([]float64, d)
	pairs := make([]float64, d*d)
	for t, row := range q {
		clear(node)
		for i, x := range row {
			node[i%d] += x
			if t > 0 {
				pairs[i] += x
			}
		}
		node[ref[t]]--
		if t > 0 {
			pairs[ref[t-1]*d+ref[t]]--
		}
		for _, k := range s.ids[t] {
			for y, x := range node {
				s.grad[d*d+k*d+y] += x
			}
		}
	}
	for i, x := range pairs {
		s.grad[i] += x
	}
	s.step++
	for i, g := range s.grad {
		if math.Abs(g) < 1e-6 {
			continue
		}
		s.sum[i] += s.w[i] * float64(s.step-1-s.last[i])
		s.last[i] = s.step - 1
		s.g2[i] += g * g
		s.w[i] -= rate * g / math.Sqrt(s.g2[i])
	}
}

// average returns the mean of the weights over the steps.
func (s *stepper) average() []float64 {
	w := make([]float64, len(s.w))
	for i := range w {
		w[i] = (s.sum[i] + s.w[i]*float64(s.step-s.last[i])) / float64(max(1, s.step))
	}
	return w
}

func (s *stepper) reference(e *sequence.Example) []int {
	ref := make([]int, len(e.Labels))
	for t, y := range e.Labels {
		k, ok := s.number[y]
		if !ok {
			k = len(s.labels) // matches nothing
		}
		ref[t] = k
	}
	return ref
}

// Sampled trains one chain by stochastic softmax-margin steps, an example a step, from three
// sources of gradients: no loss at all, the loss within a band, and the loss without a band as
// losses.Sampler estimates it; and tests the averaged weights. Examples, order, features and step
// sizes are the same.
func Sampled(ctx context.Context, o *SampledOptions) (*SampledReport, error) {
	if len(o.Train) == 0 || len(o.Test) < 2 {
		return nil, errors.New("experiment: examples to train on, and two to test on, are needed")
	}
	var set SampledOptions
	if err := learner.Complete(&set, o); err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	r := &SampledReport{Tested: len(o.Test)}
	for i := range o.Train {
		r.Longest = max(r.Longest, len(o.Train[i].Labels))
	}
	for _, name := range []string{"no loss", fmt.Sprintf("band %d", set.Band), "sampled, no band"} {
		m, err := set.method(ctx, name, len(r.Methods))
		if err != nil {
			return nil, fmt.Errorf("experiment: %s: %w", name, err)
		}
		r.Methods = append(r.Methods, *m)
	}
	base := r.Methods[1].values
	for i := range r.Methods {
		if i == 1 {
			continue
		}
		test, err := metrics.PairedT(r.Methods[i].values, base)
		if err != nil {
			return nil, err
		}
		r.Methods[i].P = test.P
	}
	return r, nil
}

// method trains and tests with one source of gradients: 0 is none of a loss, 1 the banded machine,
// 2 the sampler.
func (o *SampledOptions) method(ctx context.Context, name string, kind int) (*SampledMethod, error) {
	s := newStepper(o.Train)
	m := &SampledMethod{Name: name}
	rng := rand.New(rand.NewPCG(o.Seed, 1))
	d := len(s.labels)
	cache := make([]*losses.Machine, len(o.Train))
	ev := losses.Evaluator{Budget: losses.Budget{Ctx: ctx}}
	var exact losses.Result
	var sampled losses.SampledResult
	spent := time.Duration(0)
	for epoch := range o.Epochs {
		for _, i := range rng.Perm(len(o.Train)) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			e := &o.Train[i]
			p, ref := s.score(e, s.w), s.reference(e)
			begin := o.Clock()
			q := exact.Marginals
			switch kind {
			case 0, 1:
				if kind == 1 && cache[i] == nil {
					loss := o.Loss
					loss.Band, loss.Budget = o.Band, losses.Budget{Ctx: ctx}
					made, err := loss.Machine(ref, d, len(ref))
					if err != nil {
						return nil, err
					}
					cache[i] = made
				}
				gamma := o.Gamma
				if kind == 0 {
					gamma = 0
				}
				if err := ev.Eval(cache[i], p, gamma, losses.WantMarginals, &exact); err != nil {
					return nil, err
				}
				q = exact.Marginals
			case 2:
				sampler, err := losses.NewSampler(o.Loss, ref, d, len(ref), &losses.SampledOptions{
					Sweeps: o.Sweeps, Seed: o.Seed ^ uint64(s.step)<<20, NoIntervals: true,
					Budget: losses.Budget{Ctx: ctx},
				})
				if err != nil {
					return nil, err
				}
				if err := sampler.Eval(p, o.Gamma, losses.WantMarginals, &sampled); err != nil {
					return nil, err
				}
				if !sampled.Mixed {
					m.Unmixed++
				}
				if !sampled.BandExact {
					m.Inexact++
				}
				q = sampled.Marginals
			}
			spent += o.Clock() - begin
			s.update(q, ref, o.Rate)
		}
		if o.Told != nil {
			o.Told(name, epoch+1)
		}
	}
	m.Steps, m.Millis = s.step, 1e3*spent.Seconds()/float64(max(1, s.step))
	w := s.average()
	all, right := 0, 0
	for i := range o.Test {
		e := &o.Test[i]
		ref := s.reference(e)
		if err := ev.Eval(nil, s.score(e, w), 0, losses.WantViterbi, &exact); err != nil {
			return nil, err
		}
		x := o.Loss.Value(exact.Viterbi, ref)
		m.values = append(m.values, x)
		m.Loss += x / float64(len(o.Test))
		for t, y := range exact.Viterbi {
			all++
			if y == ref[t] {
				right++
			}
		}
	}
	m.Right = 100 * float64(right) / float64(max(1, all))
	return m, nil
}

// WriteTable writes the report for people.
func (r *SampledReport) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "gradients\tloss\tlabels right %\tprocessor ms a gradient\tnot mixed\tband inexact\tp "+
		"against the band")
	for _, m := range r.Methods {
		fmt.Fprintf(t, "%s\t%.3f\t%.2f\t%.2f\t%d\t%d\t%s\n", m.Name, m.Loss, m.Right, m.Millis, m.Unmixed,
			m.Inexact, m.P.Text("%.2g"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w,
		"%d test examples; %d steps each; the longest training example has %d labels\n", r.Tested,
		r.Methods[0].Steps, r.Longest)
	return err
}
