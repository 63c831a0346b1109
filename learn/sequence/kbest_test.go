package sequence

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/losses"
)

// Probabilities are exp(scale·θ) over their sum, whatever the size of the scores.
func TestProbabilitiesOfAList(t *testing.T) {
	for _, c := range []struct {
		scores []float64
		scale  float64
		want   []float64
	}{
		{[]float64{math.Log(3), 0}, 1, []float64{0.75, 0.25}},
		{[]float64{math.Log(3), 0}, 2, []float64{0.9, 0.1}},
		{[]float64{1e4 + math.Log(3), 1e4}, 1, []float64{0.75, 0.25}},
		{[]float64{-1e4, -1e4 - math.Log(4)}, 1, []float64{0.8, 0.2}},
		{[]float64{1e300, -1e300}, 1, []float64{1, 0}},
		{[]float64{-1e4, -1e4 - 1e3*math.Log(4)}, 1e-3, []float64{0.8, 0.2}},
		{[]float64{-5}, 1, []float64{1}},
		{[]float64{2, 2, 2, 2}, 0.5, []float64{0.25, 0.25, 0.25, 0.25}},
		{nil, 1, nil},
	} {
		list := make([]Candidate, len(c.scores))
		for i, s := range c.scores {
			list[i].Score = s
		}
		weigh(list, c.scale)
		for i, k := range list {
			if !(math.Abs(k.Probability-c.want[i]) <= 1e-11) || k.Score != c.scores[i] {
				t.Errorf("scores %v, scale %v: %+v, expected %v", c.scores, c.scale, list, c.want)
			}
		}
	}
}

// Of labellings of one risk, the one of the better score is chosen.
func TestTiesGoToTheBetterScore(t *testing.T) {
	examples := randomExamples(rand.New(rand.NewPCG(7, 7)), 20, 3, true)
	m, _, err := Train(examples, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range examples {
		if examples[i].Len() == 0 {
			continue
		}
		labels, list, err := m.Tagger().MinRisk(&examples[i].Input, &RiskOptions{Loss: func(u, truth []string) float64 { return 0 }})
		if err != nil || len(list) < 2 {
			t.Fatal(len(list), err)
		}
		if !slices.Equal(labels, list[0].Labels) || slices.Equal(labels, list[len(list)-1].Labels) {
			t.Errorf("example %d: chose %q, the first is %q", i+1, labels, list[0].Labels)
		}
	}
}

// Options that mean nothing are refused by name.
func TestRefusedOptions(t *testing.T) {
	examples := randomExamples(rand.New(rand.NewPCG(6, 6)), 5, 3, true)
	m, _, err := Train(examples, nil)
	if err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]RiskOptions{
		"Scale NaN": {Scale: math.NaN()}, "Scale +Inf": {Scale: math.Inf(1)}, "Scale -1": {Scale: -1}, "List -1": {List: -1}, "Candidates -2": {Candidates: -2},
	} {
		if _, _, err := m.Tagger().MinRisk(&examples[1].Input, &o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, should say %q", o, err, want)
		}
	}
	for want, o := range map[string]TrainOptions{
		"template 2 is nil": {Templates: []*Template{templates(t, "U0:%x[0,0]")[0], nil}},
		"infinite or NaN":   {Rate: math.NaN()},
		"Batch -1":          {Batch: -1},
	} {
		if _, _, err := Train(examples, &o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, should say %q", o, err, want)
		}
	}
}

// A transducer's losses give the risks and the choice of the function that they are
// the values of; labellings that it has no path for have an infinite risk.
func TestMinRiskOfTransducer(t *testing.T) {
	examples := randomExamples(rand.New(rand.NewPCG(6, 7)), 12, 3, true)
	m, _, err := Train(examples, nil)
	if err != nil {
		t.Fatal(err)
	}
	edit := losses.Edit{Sub: 1.25, Ins: .5, Del: .75, Match: -.125}
	u, err := edit.Transducer(len(m.Labels()))
	if err != nil {
		t.Fatal(err)
	}
	transducer := func() *losses.Transducer {
		tr, err := losses.TropicalTransducer(u)
		if err != nil {
			t.Fatal(err)
		}
		return tr
	}
	loss := func(u, truth []string) float64 { return edit.Value(numbers(m, u), numbers(m, truth)) }
	tagger := m.Tagger()
	for i := range examples {
		in := &examples[i].Input
		want, wantList, err := tagger.MinRisk(in, &RiskOptions{List: 20, Candidates: 12, Loss: loss, Scale: .3})
		if err != nil {
			t.Fatal(err)
		}
		got, list, err := tagger.MinRisk(in, &RiskOptions{List: 20, Candidates: 12, Transducer: transducer(), Scale: .3})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("example %d: %v, with the function %v", i, got, want)
		}
		for k := range list {
			if a, b := list[k].Risk, wantList[k].Risk; math.Abs(a-b) > 1e-9 || math.IsNaN(a) != math.IsNaN(b) || math.IsNaN(a) != (k >= 12) {
				t.Errorf("example %d: risk of labelling %d is %v, with the function %v", i, k, a, b)
			}
		}
	}
	in := &examples[slices.IndexFunc(examples, func(e Example) bool { return e.Len() > 0 })].Input
	if _, _, err := tagger.MinRisk(in, &RiskOptions{Transducer: transducer(), Loss: loss}); err == nil || !strings.Contains(err.Error(), "both") {
		t.Errorf("two losses: %v", err)
	}
	u.DeleteArcs(0)
	if _, _, err := tagger.MinRisk(in, &RiskOptions{Transducer: transducer()}); !errors.Is(err, ErrNoRisk) {
		t.Errorf("a transducer without arcs: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	u, _ = edit.Transducer(len(m.Labels()))
	if _, _, err := tagger.MinRisk(in, &RiskOptions{Transducer: transducer(), Ctx: ctx}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
