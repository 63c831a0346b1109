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

// The expected loss of a labelling is over what may be right: the loss is asked for it first,
// and for the truth second, in each of the forms in which a loss can be given.
func TestMinRiskOfAnAsymmetricLoss(t *testing.T) {
	examples := randomExamples(rand.New(rand.NewPCG(3, 19)), 30, 3, true)
	m, _, err := Train(examples, nil)
	if err != nil {
		t.Fatal(err)
	}
	labels := m.Labels()
	number := map[string]int{}
	for k, y := range labels {
		number[y] = k
	}
	// Taking label k where r is right costs this, and something else the other way round.
	cost := func(k, r int) float64 { return float64((5*k+r*r+1)%7) / 2 }
	sum := func(u, truth []int) float64 {
		x := 0.0
		for i := range u {
			x += cost(u[i], truth[i])
		}
		return x
	}
	names := func(y []string) []int {
		out := make([]int, len(y))
		for i := range y {
			out[i] = number[y[i]]
		}
		return out
	}
	tried, reversible := 0, 0
	for i := range examples {
		in := &examples[i].Input
		if in.Len() == 0 {
			continue
		}
		_, byNames, err := m.Tagger().MinRisk(in, &RiskOptions{List: 8, Loss: func(u, truth []string) float64 { return sum(names(u), names(truth)) }})
		if err != nil {
			t.Fatal(err)
		}
		_, byPlaces, err := m.Tagger().MinRisk(in, &RiskOptions{List: 8, Places: sum})
		if err != nil {
			t.Fatal(err)
		}
		for a := range byNames {
			want, reversed := 0.0, 0.0
			for _, r := range byNames {
				want += r.Probability * sum(names(byNames[a].Labels), names(r.Labels))
				reversed += r.Probability * sum(names(r.Labels), names(byNames[a].Labels))
			}
			if tried++; math.Abs(want-reversed) > 1e-6 {
				reversible++
			}
			for form, got := range map[string]float64{"Loss": byNames[a].Risk, "Places": byPlaces[a].Risk} {
				if math.Abs(got-want) > 1e-9 {
					t.Fatalf("%s: labelling %d of example %d has risk %v, by its definition %v (the wrong way round %v)", form, a, i, got, want, reversed)
				}
			}
		}
	}
	if reversible < tried/2 || tried < 20 {
		t.Errorf("%d of %d risks would show that the arguments are exchanged", reversible, tried)
	}
	if _, _, err := m.Tagger().MinRisk(&examples[0].Input, &RiskOptions{Places: sum, Loss: func(u, truth []string) float64 { return 0 }}); err == nil {
		t.Error("two losses are taken")
	}
}

// Lists merged through a heap are those of sorting all candidates of a position, ties included:
// by score, then by the state before.
func TestMergeIsSorting(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	for range 2000 {
		var b kbest
		var all []kbestItem
		k := 1 + rng.IntN(12)
		for range 1 + rng.IntN(7) {
			from := int32(len(b.items))
			score := 3.0
			for range rng.IntN(6) {
				score -= float64(rng.IntN(3)) // ties
				b.items = append(b.items, kbestItem{score: score})
			}
			add := float64(rng.IntN(3))
			b.offer([2]int32{from, int32(len(b.items))}, add)
			for i := from; i < int32(len(b.items)); i++ {
				all = append(all, kbestItem{b.items[i].score + add, i, 5})
			}
		}
		slices.SortStableFunc(all, func(x, y kbestItem) int { return int(y.score - x.score) })
		if got := b.merge(nil, k, 5); !slices.Equal(got, all[:min(k, len(all))]) {
			t.Fatalf("the best %d of %v: %v", k, all, got)
		}
	}
}
