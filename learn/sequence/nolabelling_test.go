package sequence

import (
	"errors"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/losses"
)

// An example that is too short for its loss is named, whatever is minimised and by
// what.
func TestNoLabelling(t *testing.T) {
	var examples []Example
	for _, labels := range []string{"abc", "bca", "a", "cab"} {
		var e Example
		for _, y := range labels {
			e.Attributes = append(e.Attributes, []Attribute{{Name: "x" + string(y), Value: 1}})
			e.Labels = append(e.Labels, string(y))
		}
		examples = append(examples, e)
	}
	for _, o := range []TrainOptions{
		{Kind: Risk}, {Kind: Risk, Solver: Adam}, {Kind: SoftmaxMargin}, {Kind: SoftmaxMargin, Solver: SGD},
		{Kind: MaxMargin, Beta: 2}, {Kind: MaxMargin, Solver: AdaGrad, Batch: 4},
	} {
		o.Loss = losses.NGram{N: 2}
		_, _, err := Train(examples, &o)
		var none *NoLabellingError
		if !errors.As(err, &none) || none.Example != 2 || none.Labels != 1 || strings.Count(err.Error(), "example 3") != 1 {
			t.Errorf("%v by %v: %v", o.Kind, o.Solver, err)
		}
		o.Loss = losses.NGram{N: 2, C: 1}
		o.Control.Stop.Iterations = 2
		if _, _, err := Train(examples, &o); err != nil {
			t.Errorf("%v by %v, with a constant: %v", o.Kind, o.Solver, err)
		}
	}
}
