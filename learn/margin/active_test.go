package margin

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/space/spacetest"
)

func TestRobustMean(t *testing.T) {
	for _, c := range []struct {
		v    []float64
		want float64
	}{
		{[]float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 100}, 1},
		{[]float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 5},
		{[]float64{4, 4, 4}, 4},
		{[]float64{0.1, 0.1}, 0.1},
		{[]float64{7}, 7},
	} {
		if got := robustMean(c.v); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: %v, want %v", c.v, got, c.want)
		}
	}
	if v := change([]float64{1, 2, 3}, 3); !math.IsNaN(v) {
		t.Errorf("three means and a window of three have the change %v", v)
	}
	if v := change([]float64{1, 1, 1, 4}, 3); math.Abs(v-0) > 1e-12 && v <= 0 {
		t.Error(v)
	}
}

func TestMeasures(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(1, 1))
	s := finite{N: 3}
	w := []float64{0.5, -1, 2}
	rank := func(m Measure, x *input) float64 {
		t.Helper()
		r, q, err := uncertainty(ctx, s, m, x, w, 1)
		if err != nil {
			t.Fatal(err)
		}
		if m != Entropy && math.Abs(q-math.Exp(r)) > 1e-12*q {
			t.Errorf("%s: rank %v, measure %v", m, r, q)
		}
		return r
	}
	for range 30 {
		x := spacetest.RandomFinite(rng, s, 1, 6, 0)[0].X
		two := &input{Phi: x.Phi[:2], Loss: x.Loss[:2]}
		if a, b := rank(BestVsSecond, two), rank(BestVsWorst, two); math.Abs(a-b) > 1e-12 {
			t.Errorf("of two outputs: %v and %v", a, b)
		}
		one := &input{Phi: x.Phi[:1], Loss: x.Loss[:1]}
		if r, q, _ := uncertainty(ctx, s, BestVsSecond, one, w, 1); q != 0 || !math.IsInf(r, -1) {
			t.Errorf("of one output: %v", q)
		}
		// A feature that all outputs share.
		moved := &input{Loss: x.Loss}
		for _, phi := range x.Phi {
			moved.Phi = append(moved.Phi, []float64{phi[0], phi[1] + 3, phi[2]})
		}
		for _, m := range []Measure{BestVsSecond, BestVsWorst, Entropy} {
			if a, b := rank(m, x), rank(m, moved); math.Abs(a-b) > 1e-9 {
				t.Errorf("%s: %v, with a shared feature %v", m, a, b)
			}
		}
		if a, b := rank(Scoring, x), rank(Scoring, moved); math.Abs(b-a-3) > 1e-9 {
			t.Errorf("scoring: %v, with a shared feature %v", a, b)
		}
	}
	if _, _, err := uncertainty(ctx, s, "guess", &input{}, w, 1); err == nil {
		t.Error("an unknown measure was taken")
	}
}

func TestActive(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	s := finite{N: 4}
	data := planted(rng, s, 60, 0.2)
	var pool []*input
	var answers Simulation[[]int]
	for _, e := range data {
		pool, answers = append(pool, e.X), append(answers, e.A)
	}
	for _, m := range Measures {
		var first []Query
		for _, workers := range []int{1, 3} {
			r, result, err := Active(s, pool, nil, Annotator[[]int](answers),
				&ActiveOptions{Measure: string(m), Queries: 20}, &run.Control{Workers: workers})
			if err != nil || len(r.Queries) != 20 || result.Reason != run.Exhausted || len(r.Data) != 20 {
				t.Fatalf("%s: %v, %+v", m, err, result)
			}
			if first == nil {
				first = r.Queries
			} else if !slices.EqualFunc(first, r.Queries,
				func(a, b Query) bool { return a.Input == b.Input && a.Mean == b.Mean }) {
				t.Errorf("%s: other questions with %d workers", m, workers)
			}
			seen := map[int]bool{}
			for _, q := range r.Queries {
				if seen[q.Input] {
					t.Errorf("%s: input %d was asked about twice", m, q.Input)
				}
				seen[q.Input] = true
			}
		}
	}
	// Separable: uncertainty settles, and the combined model is right.
	r, result, err := Active(s, pool, nil, Annotator[[]int](answers),
		&ActiveOptions{Window: 8, Threshold: 0.02, Combine: true, Batch: 2,
			Margin: PartialOptions{Options: Options{Lambda: 1e-3}}}, nil)
	if err != nil || result.Reason != Settled || len(r.Queries) == len(pool) {
		t.Fatalf("%v, %+v after %d queries", err, result, len(r.Queries))
	}
	wrong := 0
	for _, e := range data {
		if y, _ := s.Argmax(context.Background(), e.X, r.Model().W); y.Y != e.A[0] {
			wrong++
		}
	}
	if wrong > 3 {
		t.Errorf("%d of %d are wrong after %d queries", wrong, len(data), len(r.Queries))
	}
}

// skipping answers every third input not at all, others in part.
type skipping struct{ Simulation[[]int] }

func (s skipping) Annotate(_ context.Context, i int) ([]int, bool, error) {
	if i%3 == 0 {
		return nil, false, nil
	}
	return []int{s.Simulation[i][0], 1 - min(1, s.Simulation[i][0])}, true, nil
}

func TestActiveWithGaps(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	s := finite{N: 4}
	var pool []*input
	var answers Simulation[[]int]
	for _, e := range spacetest.RandomFinite(rng, s, 20, 5, 0) {
		pool, answers = append(pool, e.X), append(answers, e.A)
	}
	r, _, err := Active(s, pool, nil, Annotator[[]int](skipping{answers}),
		&ActiveOptions{Combine: true, Retrain: 5, Averaged: true, Threshold: learner.None}, nil)
	if err != nil {
		t.Fatal(err)
	}
	skipped := 0
	for _, q := range r.Queries {
		if q.Skipped {
			skipped++
		}
	}
	if len(r.Queries) != 20 || skipped != 7 || len(r.Data) != 13 || r.Combined == nil {
		t.Errorf("%d queries, %d skipped, %d annotated", len(r.Queries), skipped, len(r.Data))
	}
}

// slow is an annotator that waits until it is interrupted.
type slow struct{ cancel func() }

func (s slow) Annotate(ctx context.Context, _ int) ([]int, bool, error) {
	s.cancel()
	<-ctx.Done()
	return nil, false, context.Cause(ctx)
}
func (slow) Ask([]int) error { return nil }

func TestActiveInterruptedWhileItWaits(t *testing.T) {
	s := finite{N: 2}
	data := spacetest.RandomFinite(rand.New(rand.NewPCG(4, 4)), s, 3, 3, 0)
	ctx, cancel := context.WithCancel(context.Background())
	var saved *run.Checkpoint
	_, _, err := Active(s, []*input{data[0].X, data[1].X}, data[2:], Annotator[[]int](slow{cancel}), nil,
		&run.Control{Ctx: ctx, Checkpoint: func(k *run.Checkpoint) error { saved = k; return nil }})
	if !errors.Is(err, context.Canceled) || saved == nil || len(saved.Arrays["batch"]) != 1 {
		t.Errorf("%v, %+v", err, saved)
	}
}

// counting is an annotator that counts its questions.
type counting struct {
	Simulation[[]int]
	asked *int
}

func (c counting) Ask(batch []int) error { *c.asked += len(batch); return nil }

// The last batch is no larger than the questions that are left.
func TestActiveAsksNoMoreThanQueries(t *testing.T) {
	s := finite{N: 3}
	var pool []*input
	var answers Simulation[[]int]
	for _, e := range spacetest.RandomFinite(rand.New(rand.NewPCG(5, 5)), s, 12, 4, 0) {
		pool, answers = append(pool, e.X), append(answers, e.A)
	}
	asked := 0
	o := &ActiveOptions{Batch: 4, Queries: 6, Alike: 1, Threshold: learner.None}
	r, _, err := Active(s, pool, nil, Annotator[[]int](counting{answers, &asked}), o, nil)
	if err != nil || len(r.Queries) != 6 || asked != 6 {
		t.Errorf("%d questions, %d answered: %v", asked, len(r.Queries), err)
	}
}
