package boost

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim/score"
)

// Parameters that mean nothing are refused where they enter, not when the model is read back.
func TestLossParametersRefused(t *testing.T) {
	d := &Data{X: numeric([]float32{1, 2, 3, 4, 5, 6}), Y: []float64{0, 1, 0, 1, 0, 1}}
	d.X.Target, d.X.TargetName = d.Y, "y"
	for want, losses := range map[string][]Loss{
		"it must be positive and finite": {Huber{}, Huber{Delta: -1}, Huber{Delta: math.NaN()},
			Huber{Delta: math.Inf(1)}},
		"it must have 2 to": {SoftMax{}, SoftMax{Classes: 1}, SoftMax{Classes: -3},
			SoftMax{Classes: score.MaxClasses + 1}},
	} {
		for _, l := range losses {
			_, gradient := trainGradient(d, &GradientOptions{Loss: l, Rounds: 2})
			_, rgb := trainRGB(d, &RGBOptions{Loss: l, Rounds: 2})
			_, data := NewData(d.X, l)
			for by, err := range map[string]error{"TrainGradient": gradient, "TrainRGB": rgb, "NewData": data} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s with %+v: %v", by, l, err)
				}
			}
		}
	}
}

func TestNegativeRoundsRefused(t *testing.T) {
	d := golden()
	e := must[*Ensemble](t)(trainRGB(d, &RGBOptions{Rounds: 3}))
	if _, err := e.Scores(d.X, &PredictOptions{Rounds: -1}); err == nil ||
		!strings.Contains(err.Error(), "must not be negative") {
		t.Errorf("scores after -1 rounds: %v", err)
	}
	if _, err := e.Probabilities(d.X, &PredictOptions{Rounds: -1}); err == nil {
		t.Error("probabilities after -1 rounds")
	}
	if n := len(e.Prefix(-1).Terms); n != 0 {
		t.Errorf("a prefix of -1 rounds has %d terms", n)
	}
}

func TestBoundsWithoutModel(t *testing.T) {
	if _, err := Bounds(nil, golden(), nil); !errors.Is(err, ErrBound) {
		t.Error(err)
	}
}
