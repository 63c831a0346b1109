package sequence_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/margin"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/sequence"
	"github.com/tropica-fst/tropica/learn/space/spacetest"
)

// tagged draws examples whose labels depend on the words and the label before; a share of the
// labels is not known.
func tagged(rng *rand.Rand, n, length, labels int, unknown float64) []sequence.Example {
	var out []sequence.Example
	for range n {
		e := sequence.Example{}
		last := 0
		for range 1 + rng.IntN(length) {
			last = (last + rng.IntN(3)) % labels
			word := last
			if rng.Float64() < 0.2 {
				word = rng.IntN(labels)
			}
			e.Attributes = append(e.Attributes, []sequence.Attribute{{Name: fmt.Sprintf("w%d", word), Value: 1}, {Name: "x", Value: rng.Float64() - 0.5}})
			y := fmt.Sprintf("L%d", last)
			if rng.Float64() < unknown {
				y = ""
			}
			e.Labels = append(e.Labels, y)
		}
		out = append(out, e)
	}
	return out
}

// every lists all labellings of n positions.
func every(n, labels int) [][]int {
	out := [][]int{{}}
	for range n {
		var next [][]int
		for _, u := range out {
			for y := range labels {
				next = append(next, append(append([]int(nil), u...), y))
			}
		}
		out = next
	}
	return out
}

func TestSpaceAgainstEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	for trial := range 12 {
		labels := 2 + trial%3
		o := &sequence.TrainOptions{Partial: true, Order: 1 + trial%2, Observed: trial%4 == 3}
		p, err := sequence.Prepare(tagged(rng, 6, 5, labels, 0.4), o)
		if err != nil {
			t.Fatal(err)
		}
		m, err := p.Model(make([]float64, p.Dim()), "")
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.Space(trial%3 == 0)
		if err != nil {
			t.Fatal(err)
		}
		w := make([]float64, s.Dim())
		for j := range w {
			w[j] = rng.NormFloat64()
		}
		if trial == 11 { // far apart: in logarithms
			for j := range w {
				w[j] *= 400
			}
		}
		for _, e := range s.Samples() {
			l := spacetest.Listed[int, []int, []int]{X: e.X, A: e.A}
			for _, u := range every(len(e.A), len(m.Labels())) {
				agrees := true
				for k, y := range e.A {
					agrees = agrees && (y < 0 || u[k] == y)
				}
				l.Outputs, l.Agree = append(l.Outputs, u), append(l.Agree, agrees)
			}
			spacetest.Check(t, s, w, l, 1e-9)
		}
	}
}

// The objectives of partial labels: values by enumeration through the space, gradients by
// differences, for sentences as a whole and one at a time.
func TestPartialObjectives(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 7))
	examples := tagged(rng, 12, 6, 3, 0.4)
	p, err := sequence.Prepare(examples, &sequence.TrainOptions{Partial: true, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Space(false)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for _, o := range []*sequence.TrainOptions{{}, {Kind: sequence.SoftmaxMargin, Gamma: 0.7}, {Kind: sequence.MaxMargin, Beta: 2}, {Kind: sequence.MaxMargin, Solver: sequence.SGD}} {
		f, err := p.Objective(o)
		if err != nil {
			t.Fatal(err)
		}
		w := make([]float64, f.Dim())
		for j := range w {
			w[j] = rng.NormFloat64()
		}
		grad := make([]float64, f.Dim())
		got, err := f.Eval(w, grad)
		if err != nil {
			t.Fatal(err)
		}
		want := 0.0
		for _, e := range s.Samples() {
			if o.Kind == sequence.CrossEntropy {
				a, _ := s.LogZ(ctx, e.X, w, nil, 0)
				b, err := s.LogZWithin(ctx, e.X, w, e.A, nil, 0)
				if err != nil {
					t.Fatal(err)
				}
				want += a - b
			}
			if o.Kind == sequence.MaxMargin && o.Beta == 0 {
				a, _ := s.ArgmaxLoss(ctx, e.X, w, e.A)
				b, _ := s.ArgmaxWithin(ctx, e.X, w, e.A)
				want += a.Value - b.Value
			}
		}
		if want > 0 && math.Abs(got-want) > 1e-9*want {
			t.Errorf("%v: %v, want %v", o.Kind, got, want)
		}
		for range 40 {
			j := rng.IntN(len(w))
			at := w[j]
			w[j] = at + 1e-5
			up, _ := f.Eval(w, nil)
			w[j] = at - 1e-5
			down, _ := f.Eval(w, nil)
			w[j] = at
			if d := (up - down) / 2e-5; math.Abs(d-grad[j]) > 1e-5*(1+math.Abs(d)) {
				t.Errorf("%v: derivative %d is %v, by differences %v", o.Kind, j, grad[j], d)
			}
		}
	}
}

// What is partly known is learnt: with every solver, and exactly by a bundle.
func TestTrainPartial(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 7))
	examples := tagged(rng, 150, 8, 3, 0.6)
	test := tagged(rng, 60, 8, 3, 0)
	for _, o := range []*sequence.TrainOptions{{}, {Kind: sequence.MaxMargin}, {Kind: sequence.MaxMargin, Solver: sequence.Bundle, Gap: 0.01}, {Kind: sequence.MaxMargin, Solver: sequence.AdaGrad}, {Kind: sequence.SoftmaxMargin}} {
		o.Partial, o.L2 = true, 0.5
		m, r, err := sequence.Train(examples, o)
		if err != nil {
			t.Fatal(err)
		}
		wrong, all := 0, 0
		for i := range test {
			got, err := m.Tagger().Viterbi(&test[i].Input)
			if err != nil {
				t.Fatal(err)
			}
			for k := range got {
				all++
				if got[k] != test[i].Labels[k] {
					wrong++
				}
			}
		}
		if share := float64(wrong) / float64(all); share > 0.2 {
			t.Errorf("%v by %v: %.1f %% wrong; %+v", o.Kind, o.Solver, 100*share, r.Reason)
		}
	}
	for _, o := range []*sequence.TrainOptions{{Order: 3}, {Kind: sequence.Risk}} {
		o.Partial = true
		if _, _, err := sequence.Train(examples, o); err == nil {
			t.Errorf("%+v was taken with partial labels", o)
		}
	}
}

// Complete labels: the bundle's gap is certified, smoothing's certificate holds, and the
// learner of package margin comes to the same.
func TestMaxMarginIsCertified(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 7))
	examples := tagged(rng, 60, 6, 3, 0)
	o := &sequence.TrainOptions{Kind: sequence.MaxMargin, Solver: sequence.Bundle, L2: 1, Gap: 1e-4}
	p, err := sequence.Prepare(examples, o)
	if err != nil {
		t.Fatal(err)
	}
	_, r, err := p.Train()
	if err != nil || r.Reason != run.GapSmall {
		t.Fatal(err, r)
	}
	s, err := p.Space(false)
	if err != nil {
		t.Fatal(err)
	}
	n := float64(p.Examples())
	_, mr, err := margin.MaxMargin(s, s.Samples(), &margin.Options{Lambda: 1 / n, Gap: 1e-4 * r.F / n}, nil)
	if err != nil || math.Abs(n*mr.F-r.F) > 2e-4*r.F {
		t.Errorf("%v: %v, as samples %v", err, r.F, n*mr.F)
	}
	for _, beta := range []float64{0, 30} {
		_, sr, err := sequence.Train(examples, &sequence.TrainOptions{Kind: sequence.MaxMargin, Beta: beta, L2: 1})
		if err != nil {
			t.Fatal(err)
		}
		var value, least float64
		if _, err := fmt.Sscanf(sr.Note, "without smoothing the objective is %g, and for no weights below %g;", &value, &least); err != nil {
			t.Fatal(err, sr.Note)
		}
		if least > r.F*(1+1e-6) || value < r.F*(1-2e-4) || beta == 30 && value-least > 0.1*value {
			t.Errorf("beta %v: %v to %v, the least is %v", beta, least, value, r.F)
		}
	}
}
