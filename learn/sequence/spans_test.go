package sequence

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/optim/optimtest"
	"github.com/tropica-fst/tropica/losses"
)

var spanNames = []string{"B-a", "B-b", "I-a", "I-b", "O"}

// spanExamples are random examples whose labels are those of spans.
func spanExamples(rng *rand.Rand, n int) []Example {
	examples := randomExamples(rng, n, 3, false)
	for i := range examples {
		for t := range examples[i].Labels {
			examples[i].Labels[t] = spanNames[rng.IntN(len(spanNames))]
		}
	}
	return examples
}

// Training on wrong spans: the value by enumeration, the gradient by differences, at every order
// and in every objective.
func TestSpansTrain(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 1))
	for order := 1; order <= 3; order++ {
		for _, o := range []TrainOptions{
			{Kind: SoftmaxMargin, Loss: Spans{}},
			{Kind: SoftmaxMargin, Loss: Spans{Missing: 2, Spurious: 0.5, Type: 0.7}, Gamma: -1.3},
			{Kind: MaxMargin, Beta: 2, Loss: Spans{}},
			{Kind: Risk, Loss: Spans{}},
		} {
			o.Order, o.L2, o.Labels = order, 0.2, spanNames
			t.Run(fmt.Sprintf("%v/%+v/order=%d", o.Kind, o.Loss, order), func(t *testing.T) {
				m, c, f, o := build(t, spanExamples(rng, 5), o, 2)
				w := random(rng, f.Dim())
				got, err := f.Eval(w, make([]float64, f.Dim()))
				if err != nil {
					t.Fatal(err)
				}
				if want := enumerated(t, m, c, &o, w); !(math.Abs(got-want) <= 1e-10*(1+math.Abs(want))) {
					t.Fatalf("value %v, by enumeration %v", got, want)
				}
				optimtest.CheckGradient(t, f, w, 1e-7)
			})
		}
	}
}

// The loss is what evaluations count: spans of the labels that conlleval finds, on one side only.
func TestSpansCountAsEvaluations(t *testing.T) {
	labels := strings.Fields("O B-a I-a E-a S-a B-b I-b E-b S-b . [-b ]-a I-")
	loss, err := losses.NewSpan(labels, losses.SpanCosts{})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(22, 1))
	for range 20000 {
		n := 1 + rng.IntN(6)
		u, ref := make([]int, n), make([]int, n)
		y, truth := make([]string, n), make([]string, n)
		for i := range u {
			u[i], ref[i] = rng.IntN(len(labels)), rng.IntN(len(labels))
			if rng.IntN(2) == 0 {
				u[i] = ref[i]
			}
			y[i], truth[i] = labels[u[i]], labels[ref[i]]
		}
		c := metrics.Chunks(y, truth)
		if got, want := loss.Value(u, ref), float64(c.Predicted+c.Reference-2*c.Correct); got != want {
			t.Fatalf("%v for %v: %v, counted %v", y, truth, got, want)
		}
	}
}

func TestSpansNeedLabelsOfSpans(t *testing.T) {
	_, _, err := Train(randomExamples(rand.New(rand.NewPCG(1, 1)), 3, 3, false),
		&TrainOptions{Kind: SoftmaxMargin, Loss: Spans{}})
	if err == nil || !strings.Contains(err.Error(), "none of O, B-x, I-x, E-x and S-x") {
		t.Errorf("error %v", err)
	}
	if _, err := (Spans{}).Machine([]int{0}, 2, 1); err == nil || !strings.Contains(err.Error(),
		"losses.NewSpan") {
		t.Errorf("error %v", err)
	}
}
