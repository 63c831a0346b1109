package optim_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// recalling is a latent risk that keeps the maximisers of its samples.
type recalling struct {
	*latent
	found []int
	kept  [][]int
	calls int // of Recall
}

func newRecalling(l *latent) *recalling {
	return &recalling{latent: l, found: make([]int, len(l.phi)), kept: make([][]int, len(l.phi))}
}

func (r *recalling) Tangent(w, a []float64) (float64, error) {
	for i, list := range r.phi {
		at, most := 0, math.Inf(-1)
		for y, phi := range list {
			if v := floats.Dot(w, phi) + r.loss[i][y]; v > most {
				at, most = y, v
			}
		}
		r.found[i] = at
	}
	return r.latent.Tangent(w, a)
}

func (r *recalling) Keep() {
	for i, y := range r.found {
		if !slices.Contains(r.kept[i], y) {
			r.kept[i] = append(r.kept[i], y)
		}
	}
}

func (r *recalling) Recall(w, a []float64) (float64, bool, error) {
	r.calls++
	clear(a)
	sum := 0.0
	for i, list := range r.kept {
		if len(list) == 0 {
			return 0, false, nil
		}
		at, most := 0, math.Inf(-1)
		for _, y := range list {
			if v := floats.Dot(w, r.phi[i][y]) + r.loss[i][y]; v > most {
				at, most = y, v
			}
		}
		sum += most / float64(len(r.kept))
		floats.AddScaled(a, 1/float64(len(r.kept)), r.phi[i][at])
	}
	return sum, true, nil
}

// What risks recall saves searches, of a bundle and of CCCP, and the result is as good.
func TestRecall(t *testing.T) {
	for seed := range uint64(4) {
		p, r := difference(seed, 80, 12, 6)
		start := []float64{1, 0, 0, -1, 0, 0.5}
		for _, norm := range []optim.Norm{optim.L2, optim.L1} {
			m := optim.Bundle{Lambda: 0.01, Norm: norm, Gap: 1e-4, Pull: 0.5}
			plain, err := m.Minimize(p, start, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			p.n = 0
			got, err := m.Minimize(newRecalling(p), start, nil, nil)
			if err != nil || got.Reason != run.GapSmall {
				t.Fatal(err, got)
			}
			if math.Abs(got.F-plain.F) > 1e-4 || got.Lower > plain.F+1e-9 {
				t.Errorf("seed %d, %s: %v to %v, plainly %v", seed, norm, got.Lower, got.F, plain.F)
			}
			if 5*p.n > 4*plain.Evaluations {
				t.Errorf("seed %d, %s: %d tangents, plainly %d", seed, norm, p.n, plain.Evaluations)
			}
		}
		c := optim.CCCP{Lambda: 0.01, Above: true, Gap: 1e-3, Pull: 0.5}
		plain, err := c.Minimize(p, r, start, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Minimize(newRecalling(p), r, start, nil, nil)
		if err != nil || got.Reason != run.ImprovementSmall {
			t.Fatal(err, got)
		}
		if 5*got.Evaluations > 4*plain.Evaluations {
			t.Errorf("seed %d: %d tangents of CCCP, plainly %d", seed, got.Evaluations, plain.Evaluations)
		}
		for k := 1; k < len(got.Outer); k++ {
			if got.Outer[k].J > got.Outer[k-1].J+1e-9 {
				t.Errorf("seed %d: J rose from %v to %v", seed, got.Outer[k-1].J, got.Outer[k].J)
			}
		}
	}
}

// breaking is a risk that is interrupted within a tangent, or while it recalls.
type breaking struct {
	*recalling
	tangents, recalls int // until then; negative is never
	cancel            func()
}

func (b *breaking) Tangent(w, a []float64) (float64, error) {
	if b.tangents--; b.tangents == 0 {
		b.cancel()
		floats.AddConst(1, a) // of no use
		return math.NaN(), context.Canceled
	}
	return b.recalling.Tangent(w, a)
}

func (b *breaking) Recall(w, a []float64) (float64, bool, error) {
	if b.recalls--; b.recalls == 0 {
		b.cancel()
		return 0, false, context.Canceled
	}
	return b.recalling.Recall(w, a)
}

// A run that is interrupted within a step goes on as if it had not been.
func TestInterruptedWithinAStep(t *testing.T) {
	p, r := difference(5, 60, 10, 5)
	start := []float64{1, 0, 0, -1, 0}
	solvers := map[string]func(p optim.Risk, c *run.Control) (*optim.CCCPResult, error){
		"cccp": func(p optim.Risk, c *run.Control) (*optim.CCCPResult, error) {
			return optim.CCCP{Lambda: 0.01, Above: true, Gap: 1e-4, Pull: 0.3}.Minimize(p, r, start, nil, c)
		},
		"bundle": func(p optim.Risk, c *run.Control) (*optim.CCCPResult, error) {
			b, err := optim.Bundle{Lambda: 0.01, Gap: 1e-5, Pull: 0.3}.Minimize(p, start, nil, c)
			if b == nil {
				return nil, err
			}
			return &optim.CCCPResult{BundleResult: *b}, err
		},
	}
	for name, solve := range solvers {
		whole := newRecalling(p)
		want, err := solve(whole, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		for _, at := range [][2]int{{2, -1}, {want.Evaluations / 2, -1}, {-1, 2}, {-1, whole.calls / 3},
			{-1, whole.calls}} {
			ctx, cancel := context.WithCancel(context.Background())
			b := &breaking{newRecalling(p), at[0], at[1], cancel}
			var kept *run.Checkpoint
			_, err := solve(b, &run.Control{Ctx: ctx, Checkpoint: func(k *run.Checkpoint) error { kept = k; return nil }})
			cancel()
			if !errors.Is(err, context.Canceled) || kept == nil {
				t.Fatalf("%s, %v: %v", name, at, err)
			}
			got, err := solve(b.recalling, &run.Control{Resume: kept})
			if err != nil || got.F != want.F || !slices.Equal(got.X, want.X) || got.Iterations != want.Iterations ||
				got.Evaluations != want.Evaluations || !slices.Equal(got.Outer, want.Outer) {
				t.Errorf("%s, %v: %v: %v after %d tangents, unbroken %v after %d", name, at, err, got.F, got.Evaluations,
					want.F, want.Evaluations)
			}
		}
	}
}
