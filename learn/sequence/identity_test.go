package sequence

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/losses"
)

// A run is identified by everything that its result depends on, and by nothing else.
func TestIdentity(t *testing.T) {
	examples := randomExamples(rand.New(rand.NewPCG(4, 4)), 5, 3, true)
	base := TrainOptions{Order: 2, Templates: templates(t, "U0:%x[0,0]"), Kind: MaxMargin, Loss: losses.NGram{N: 2, C: 1}, Gamma: 1, Beta: 2, L2: 1, Solver: SGD, Rate: 0.1, Decay: 0.5}
	of := func(change func(*TrainOptions), examples []Example) string {
		o := base
		change(&o)
		return o.identity(examples)
	}
	same := of(func(*TrainOptions) {}, examples)
	for name, change := range map[string]func(*TrainOptions){
		"order": func(o *TrainOptions) { o.Order = 3 }, "templates": func(o *TrainOptions) { o.Templates = templates(t, "U0:%x[1,0]") },
		"objective": func(o *TrainOptions) { o.Kind = SoftmaxMargin }, "loss": func(o *TrainOptions) { o.Loss = losses.NGram{N: 2, C: 2} },
		"gamma": func(o *TrainOptions) { o.Gamma = 2 }, "beta": func(o *TrainOptions) { o.Beta = 3 }, "l2": func(o *TrainOptions) { o.L2 = 2 },
		"l1": func(o *TrainOptions) { o.L1 = 1 }, "solver": func(o *TrainOptions) { o.Solver = AdaGrad }, "rate": func(o *TrainOptions) { o.Rate = 0.2 },
		"decay": func(o *TrainOptions) { o.Decay = 0.6 }, "min_count": func(o *TrainOptions) { o.MinCount = 2 }, "observed": func(o *TrainOptions) { o.Observed = true },
	} {
		if of(change, examples) == same {
			t.Errorf("%s makes no difference", name)
		}
	}
	for name, change := range map[string]func(*TrainOptions){
		"workers": func(o *TrainOptions) { o.Workers = 3 }, "bytes": func(o *TrainOptions) { o.MachineBytes = 1 << 20 },
	} {
		if of(change, examples) != same {
			t.Errorf("%s makes a difference", name)
		}
	}
	// Gamma distinguishes every objective that has one, and none of the others.
	for kind := CrossEntropy; kind <= Risk; kind++ {
		at := func(gamma float64) string {
			return of(func(o *TrainOptions) {
				o.Kind, o.Gamma = kind, gamma
				if kind == CrossEntropy {
					o.Loss = nil
				}
			}, examples)
		}
		if differs := at(1) != at(2); differs != (kind != CrossEntropy && kind != Risk) {
			t.Errorf("%v: gamma makes a difference: %v", kind, differs)
		}
	}
	turned := slices.Clone(examples)
	slices.Reverse(turned)
	if of(func(*TrainOptions) {}, turned) == same {
		t.Error("the order of the examples makes no difference")
	}
}
