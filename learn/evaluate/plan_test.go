package evaluate_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/evaluate"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/run"
)

// numbers are the examples of these tests; settings predict each by the mean of the training
// part, shrunk towards zero.
func numbers(n int) []float64 {
	rng := rand.New(rand.NewPCG(1, 2))
	y := make([]float64, n)
	for i := range y {
		y[i] = 3 + rng.NormFloat64()
	}
	return y
}

func shrunk(y []float64, by float64, fold dataset.Fold) []float64 {
	mean := 0.0
	for _, i := range fold.Train {
		mean += y[i]
	}
	mean *= by / float64(len(fold.Train))
	square, absolute := 0.0, 0.0
	for _, i := range fold.Test {
		square += (y[i] - mean) * (y[i] - mean)
		absolute += math.Abs(y[i] - mean)
	}
	n := float64(len(fold.Test))
	return []float64{square / n, absolute / n}
}

func setting(y []float64, by float64, count *atomic.Int64) evaluate.Setting {
	name := fmt.Sprintf("by=%v", by)
	return evaluate.Setting{Name: name, Print: "mean " + name,
		Fit: func(_ context.Context, fold dataset.Fold) ([]float64, error) {
			count.Add(1)
			return shrunk(y, by, fold), nil
		}}
}

func plan(t *testing.T, y []float64, count *atomic.Int64) *evaluate.Plan {
	t.Helper()
	folds, err := dataset.KFold(len(y), 4, rand.New(rand.NewPCG(3, 4)))
	if err != nil {
		t.Fatal(err)
	}
	trials, err := evaluate.Folds(folds, func(trial int, train []int) ([]dataset.Fold, error) {
		inner, err := dataset.KFold(len(train), 3, rand.New(rand.NewPCG(uint64(trial), 5)))
		for k := range inner {
			inner[k] = dataset.Fold{Train: dataset.Pick(train, inner[k].Train),
				Test: dataset.Pick(train, inner[k].Test)}
		}
		return inner, err
	})
	if err != nil {
		t.Fatal(err)
	}
	var grid []evaluate.Setting
	for _, by := range []float64{0.5, 0.9, 1, 1.1} {
		grid = append(grid, setting(y, by, count))
	}
	return &evaluate.Plan{Measures: []string{"square", "absolute"}, Trials: trials,
		Contestants: []evaluate.Contestant{
			{Name: "shrunk", Grid: grid}, {Name: "zero", Grid: []evaluate.Setting{setting(y, 0, count)}},
			{Name: "half as far", As: "shrunk", Grid: []evaluate.Setting{setting(y, 0.25, count),
				setting(y, 0.45, count), setting(y, 0.5, count), setting(y, 0.55, count)}},
		}}
}

// byHand is the same comparison, written out.
func byHand(y []float64, p *evaluate.Plan) (chosen []string, square []float64) {
	for i := range p.Trials {
		best, least := 0.0, math.Inf(1)
		for _, by := range []float64{0.5, 0.9, 1, 1.1} {
			sum := 0.0
			for _, f := range p.Trials[i].Inner {
				sum += float64(len(f.Test)) * shrunk(y, by, f)[0]
			}
			if sum < least {
				best, least = by, sum
			}
		}
		chosen = append(chosen, fmt.Sprintf("by=%v", best))
		square = append(square, shrunk(y, best, p.Trials[i].Fold)[0])
	}
	return chosen, square
}

func TestNestedChoice(t *testing.T) {
	y := numbers(41)
	var count atomic.Int64
	p := plan(t, y, &count)
	var first *evaluate.Report
	for _, workers := range []int{1, 3} {
		p.Workers = workers
		count.Store(0)
		r, err := p.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if count.Load() != 4*(4*3+1)+4+4 {
			t.Errorf("%d fits", count.Load())
		}
		chosen, square := byHand(y, p)
		s := r.Standings[0]
		if diff := cmp.Diff(chosen, s.Chosen); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(square, s.Values[0]); diff != "" {
			t.Error(diff)
		}
		for i, c := range r.Standings[2].Chosen {
			var by, half float64
			fmt.Sscanf(s.Chosen[i], "by=%g", &by)
			fmt.Sscanf(c, "by=%g", &half)
			if math.Abs(half-by/2) > 1e-12 {
				t.Errorf("trial %d: %s beside %s", i, c, s.Chosen[i])
			}
		}
		want, err := metrics.PairedT(r.Standings[1].Values[0], s.Values[0])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, r.Standings[1].Plain[0]); diff != "" || s.Plain != nil {
			t.Errorf("%s, of the first itself: %v", diff, s.Plain)
		}
		if first == nil {
			first = r
		} else if diff := cmp.Diff(first, r); diff != "" {
			t.Errorf("with other workers:\n%s", diff)
		}
	}
}

// The best in hindsight can only be better than what was chosen.
func TestHindsight(t *testing.T) {
	y := numbers(30)
	var count atomic.Int64
	p := plan(t, y, &count)
	p.Hindsight = true
	r, err := p.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(4 * (4*(3+1) + 1 + 4)); count.Load() != want {
		t.Errorf("%d fits, want %d", count.Load(), want)
	}
	least := math.Inf(1)
	for _, by := range []float64{0.5, 0.9, 1, 1.1} {
		sum := 0.0
		for i := range p.Trials {
			sum += shrunk(y, by, p.Trials[i].Fold)[0]
		}
		least = min(least, sum/4)
	}
	if mean, _ := metrics.MeanSD(r.Standings[0].BestValues); math.Abs(mean-least) > 1e-12 {
		t.Errorf("best %v, want %v", mean, least)
	}
}

// A path gives what single fits give, and fits that are known are not made.
func TestPathAndKnownFits(t *testing.T) {
	y := numbers(37)
	var count atomic.Int64
	p := plan(t, y, &count)
	want, err := p.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	p = plan(t, y, &count)
	grid := p.Contestants[0].Grid
	p.Contestants[0].Path = func(ctx context.Context, fold dataset.Fold, settings []int,
		done func(int, []float64) error) error {
		for _, s := range slices.Backward(settings) {
			m, err := grid[s].Fit(ctx, fold)
			if err == nil {
				err = done(s, m)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	var saved []evaluate.Fitted
	p.Save = func(f *evaluate.Fitted) error { saved = append(saved, *f); return nil }
	got, err := p.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, known := range []int{len(saved), len(saved) / 2} {
		p = plan(t, y, &count)
		p.Known = saved[:known]
		count.Store(0)
		got, err = p.Run(context.Background())
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Error(err, diff)
		}
		if left := len(saved) - known; int(count.Load()) != left {
			t.Errorf("%d fits are made beside %d that are known", count.Load(), known)
		}
	}
}

func TestErrors(t *testing.T) {
	y := numbers(12)
	var count atomic.Int64
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		change func(p *evaluate.Plan)
		want   string
	}{
		"no trials":      {func(p *evaluate.Plan) { p.Trials = nil }, "0 trials"},
		"no setting":     {func(p *evaluate.Plan) { p.Contestants[1].Grid = nil }, "zero has no setting"},
		"no inner folds": {func(p *evaluate.Plan) { p.Trials[2].Inner = nil }, "trial 3 no inner folds"},
		"empty test": {func(p *evaluate.Plan) { p.Trials[1].Test = nil },
			"trial 2 has 9 examples to train on and 0 to test on"},
		"no weight": {func(p *evaluate.Plan) { p.Weight = func(int) float64 { return 0 } },
			"trial 1: the examples of inner folds weigh 0"},
		"no leader": {func(p *evaluate.Plan) { p.Contestants[2].As = "none" }, `choices of "none"`},
		"a failing fit": {func(p *evaluate.Plan) {
			p.Contestants[0].Grid[1].Fit = func(context.Context, dataset.Fold) ([]float64,
				error) {
				return nil, broken
			}
		}, "trial 1, shrunk by=0.9: broken"},
		"measures": {func(p *evaluate.Plan) {
			p.Contestants[0].Grid[1].Fit = func(context.Context, dataset.Fold) ([]float64,
				error) {
				return []float64{1, math.NaN()}, nil
			}
		}, "measures [1 NaN]"},
		"save": {func(p *evaluate.Plan) { p.Save = func(*evaluate.Fitted) error { return broken } }, "broken"},
	} {
		t.Run(name, func(t *testing.T) {
			p := plan(t, y, &count)
			p.Workers = 1
			c.change(p)
			if _, err := p.Run(context.Background()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestInterruptedComparison(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	y := numbers(12)
	var count atomic.Int64
	p := plan(t, y, &count)
	p.Workers = 1
	p.Done = func(int, string, int) {
		if count.Load() == 5 {
			cancel()
		}
	}
	_, err := p.Run(ctx)
	var interrupted *run.InterruptedError
	if !errors.As(err, &interrupted) || count.Load() != 5 {
		t.Errorf("%v after %d fits", err, count.Load())
	}
}
