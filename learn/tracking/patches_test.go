package tracking

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// The patches of a pair have its detections and hypotheses, and their best assignments are together
// the pair's. Their truth is the pair's.
func TestPatches(t *testing.T) {
	samples, s, _, err := Samples(simulated(t, "hard", 3), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 5))
	several := 0
	for _, e := range samples {
		w := make([]float64, Dim())
		for j := range w {
			w[j] = rng.NormFloat64()
		}
		whole, err := s.Argmax(context.Background(), e.X, w)
		if err != nil {
			t.Fatal(err)
		}
		patches, err := e.X.Patches(64)
		if err != nil {
			t.Fatal(err)
		}
		detections, hypotheses, truth, value, loss := 0, 0, 0, 0.0, 0.0
		for _, q := range patches {
			y, err := s.Argmax(context.Background(), q, w)
			if err != nil {
				t.Fatal(err)
			}
			detections += len(q.From) + len(q.To)
			hypotheses += len(q.Hypotheses)
			truth += len(q.Truth())
			value += y.Value
			a := q.Annotation()
			if !s.Complete(q, a) {
				t.Errorf("%s: a part of a complete annotation is not complete", q.Name)
			}
			right, err := s.ArgmaxWithin(context.Background(), q, w, a)
			if err != nil || s.Delta(q, a, right.Y) != 0 {
				t.Errorf("%s: the truth has the loss %v, %v", q.Name, s.Delta(q, a, right.Y), err)
			}
			loss += s.Delta(q, a, y.Y) * float64(len(a.Chosen))
		}
		if detections != len(e.X.From)+len(e.X.To) || hypotheses != len(e.X.Hypotheses) ||
			truth != len(e.X.Truth()) {
			t.Errorf("%s: patches have %d detections, %d hypotheses and %d true ones", e.Name, detections, hypotheses,
				truth)
		}
		if math.Abs(value-whole.Value) > 1e-9*(1+math.Abs(value)) {
			t.Errorf("%s: patches score %v together, the pair %v", e.Name, value, whole.Value)
		}
		if want := s.Delta(e.X, e.A, whole.Y) * float64(len(e.A.Chosen)); math.Abs(loss-want) > 1e-9 {
			t.Errorf("%s: patches have %v errors, the pair %v", e.Name, loss, want)
		}
		if len(patches) > 3 {
			several++
		}
	}
	if several < len(samples)/2 {
		t.Errorf("%d of %d pairs have more than 3 patches", several, len(samples))
	}
	if _, err := samples[0].X.Patches(0); err == nil || !strings.Contains(err.Error(), "must be positive") {
		t.Errorf("patches of side 0: %v", err)
	}
}
