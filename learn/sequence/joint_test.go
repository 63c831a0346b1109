package sequence

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/losses"
)

// All objectives at once are each alone, and their mixed gradient is the mixture of
// theirs, with the same bits for any number of workers: at every order, with and without
// features of label pairs and weights of observed labels only.
func TestJoint(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	opts := []*TrainOptions{
		{Kind: CrossEntropy},
		{Kind: SoftmaxMargin, Gamma: 2},
		{Kind: SoftmaxMargin, Loss: losses.Unit, Gamma: 0.5},
		{Kind: SoftmaxMargin, Loss: losses.NGram{N: 2, C: 1}, Gamma: 2},
		{Kind: MaxMargin, Beta: 3},
		{Kind: Risk, Loss: losses.Unit},
	}
	for order := 1; order <= 3; order++ {
		for _, pairs := range []bool{false, true} {
			if pairs && order == 1 {
				continue
			}
			examples := randomExamples(rng, 40, 3, pairs)
			var value, mixed []float64
			for _, workers := range []int{1, 3} {
				p, err := Prepare(examples, &TrainOptions{Order: order, Workers: workers, Observed: !pairs && order == 2})
				if err != nil {
					t.Fatal(err)
				}
				j, err := p.Joint(t.Context(), opts...)
				if err != nil {
					t.Fatal(err)
				}
				w := random(rand.New(rand.NewPCG(5, 5)), p.Dim())
				c := []float64{0.25, 0, 2, 0.125, 1, 0.5}
				got, grad := make([]float64, len(opts)), make([]float64, p.Dim())
				for _, at := range [][]float64{make([]float64, p.Dim()), w} { // nothing of the first stays
					if err := j.Values(at, got, nil); err != nil {
						t.Fatal(err)
					}
				}
				if err := j.Gradient(c, grad); err != nil {
					t.Fatal(err)
				}
				want, one := make([]float64, p.Dim()), make([]float64, p.Dim())
				for k, o := range opts {
					f, err := p.Objective(o)
					if err != nil {
						t.Fatal(err)
					}
					v, err := f.Eval(w, one)
					if err != nil {
						t.Fatal(err)
					}
					if math.Abs(v-got[k]) > 1e-12*(1+math.Abs(v)) {
						t.Errorf("order %d, pairs %v, objective %d: %v, alone %v", order, pairs, k, got[k], v)
					}
					for i, x := range one {
						want[i] += c[k] * x
					}
				}
				if !near(grad, want, 1e-10) {
					t.Errorf("order %d, pairs %v: the mixed gradient is not the mixture of gradients", order, pairs)
				}
				if value == nil {
					value, mixed = got, grad
				} else if !slices.Equal(value, got) || !slices.Equal(mixed, grad) {
					t.Errorf("order %d, pairs %v: %d workers give other bits", order, pairs, workers)
				}
				// What is not needed is neither evaluated nor touched.
				need := []bool{false, true, false, false, false, false}
				some := slices.Repeat([]float64{-7}, len(opts))
				if err := j.Values(w, some, need); err != nil || some[1] != got[1] || some[0] != -7 || some[5] != -7 {
					t.Errorf("only one needed: %v, %v", some, err)
				}
			}
		}
	}
}

func TestJointStops(t *testing.T) {
	examples := randomExamples(rand.New(rand.NewPCG(7, 8)), 40, 3, false)
	p, err := Prepare(examples, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Joint(t.Context()); err == nil {
		t.Error("no objectives are accepted")
	}
	ctx, cancel := context.WithCancel(context.Background())
	j, err := p.Joint(ctx, &TrainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := j.Values(make([]float64, p.Dim()), make([]float64, 1), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled evaluation gives %v", err)
	}
}
