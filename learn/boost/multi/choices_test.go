package multi

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/boost"
)

// mu of the soft maximum is relative to the largest loss at the start of the round, unless it
// is fixed: what a round reports of its objective is the soft maximum by that mu.
func TestMuFollowsTheLosses(t *testing.T) {
	d := mixed(3, 3, 80, 3, 0.1)
	for _, fixed := range []bool{false, true} {
		before := []float64{1, 1, 1} // Phi(0) of the exponential loss
		moved := false
		o := &Options{Mu: 4, FixedMu: fixed, Rounds: 5, Q: Func{3, softQ}}
		watch := func(p *Progress) error {
			mu := 4.0
			if !fixed {
				mu /= maxOf(before)
			}
			moved = moved || math.Abs(mu-4) > 0.1
			sum := 0.0
			for _, f := range p.Losses {
				sum += math.Exp(mu * f)
			}
			near(t, "objective", p.Objective, math.Log(sum)/mu, 1e-12)
			before = p.Losses
			return nil
		}
		watched(t, d, o, watch)
		if moved == fixed {
			t.Errorf("fixed %v, and mu moved: %v; the test needs losses that fall", fixed, moved)
		}
	}
}

// Half of the rows, A, one stump tells apart; of the others it is right on half. Slot 1 has Q =
// 0.2 on A and 0 elsewhere, slot 2 the rest. Along the stump, with the share a = 1/2 of A:
//
//	slot 1       g = -0.2 a   c = 0.04 a             g²/c = a = 0.5
//	slot 2       g = -0.8 a   c = 0.64 a + (1-a)     g²/c = 0.195
//	shared slot  g = -a       c = 1                  g²/c = 0.25
//
// so Newton's score and the derivative disagree on which slot of a domain is best, and the factor
// of domain slots 0.3 puts the shared slot before both.
func TestSlotScores(t *testing.T) {
	const rows = 80
	var source []int32
	var x []float32
	var y, q []float64
	for i := range rows {
		source = append(source, int32(i%2))
		v := float32(1)
		if i/2%2 == 0 {
			v = -1
		}
		x = append(x, v)
		label := float64(v)
		if i < rows/2 {
			q = append(q, 0.2, 0.8)
		} else {
			q = append(q, 0, 1)
			if i/4%2 == 0 {
				label = -label
			}
		}
		y = append(y, label)
	}
	d := &boost.Data{X: numeric(source, x), Y: y}
	for _, c := range []struct {
		name string
		o    Options
		want int
	}{
		{"newton", Options{Slots: DomainsOnly}, 0},
		{"derivative", Options{Slots: DomainsOnly, Score: DerivativeScore}, 1},
		{"newton with a shared slot", Options{}, 0},
		{"newton with the factor 0.3", Options{DomainFactor: 0.3}, 2},
		{"derivative with a shared slot", Options{Score: DerivativeScore}, 2},
	} {
		o := c.o
		o.Round, o.Rounds, o.QTrain = Greedy, 1, q
		got := -1
		watch := func(p *Progress) error { got = p.Terms[0].Slot; return nil }
		if watched(t, d, &o, watch); got != c.want {
			t.Errorf("%s: slot %d, want %d", c.name, got+1, c.want+1)
		}
	}
}

// A perfect predictor has no best step: it goes as far as EtaMax, which is 5 where the step
// looks at one bound and 10 where it searches the line.
func TestEtaMax(t *testing.T) {
	d := &boost.Data{X: numeric([]int32{0, 0, 0, 0}, []float32{-1, -1, 1, 1}), Y: []float64{-1, -1, 1, 1}}
	for _, c := range []struct {
		o    Options
		want float64
	}{
		{Options{}, 10}, {Options{EtaMax: 3}, 3}, {Options{Step: Closed}, 5}, {Options{Step: Closed, EtaMax: 3}, 3},
		{Options{Step: Bound, Objective: Max}, 5}, {Options{Step: Bound, Objective: Max, EtaMax: 3}, 3},
	} {
		o := c.o
		o.Rounds = 1
		near(t, "step "+string(o.Step), trained(t, d, &o).Slots[0].Terms[0].Weight, c.want, 1e-9)
	}
}

// The temperature of a calibrated Q is that of the least log loss on the labelled rows, each by
// the classifier that has not seen it. An overfitted Q wants one well above 1.
func TestQCalibrated(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 2))
	const rows, columns = 150, 25
	var source []int32
	x := make([][]float32, columns)
	for i := range rows {
		source = append(source, int32(i%3))
		for j := range x {
			x[j] = append(x[j], float32(rng.NormFloat64()))
		}
		x[0][i] += float32(i % 3)
	}
	tab := numeric(source, x...)
	plain := fittedQ(t, tab, nil, &QOptions{Lambda: 3e-3})
	hot := fittedQ(t, tab, nil, &QOptions{Lambda: 3e-3, Calibrate: true})
	temperature := hot.Classifier.(*Logistic).Temperature
	if !(temperature > 1.5) || !(hot.LogLoss < plain.LogLoss-0.1) {
		t.Fatalf("temperature %v, log loss %v, uncalibrated %v", temperature, hot.LogLoss, plain.LogLoss)
	}
	for _, factor := range []float64{0.8, 0.95, 1.05, 1.25} {
		at := fittedQ(t, tab, nil, &QOptions{Lambda: 3e-3, Temperature: factor * temperature})
		if at.LogLoss < hot.LogLoss {
			t.Errorf("log loss %v at temperature %v, calibrated %v at %v", at.LogLoss, factor*temperature,
				hot.LogLoss, temperature)
		}
	}
	// What training sees and what new rows get have the same temperature.
	same := fittedQ(t, tab, nil, &QOptions{Lambda: 3e-3, Temperature: temperature})
	for i, v := range hot.Train {
		near(t, "Q of a training row", v, same.Train[i], 1e-12)
	}
	// Without cross-fitting the classifier itself is measured, also where it is the one that
	// training sees.
	self := fittedQ(t, tab, nil, &QOptions{Lambda: 0.3, Folds: 1, Calibrate: true})
	cold := self.Classifier.(*Logistic).Temperature
	if !(cold < 0.9) {
		t.Errorf("a Q that was held back, on the rows that it was trained on, has temperature %v", cold)
	}
	fixed := fittedQ(t, tab, nil, &QOptions{Lambda: 0.3, Folds: 1, Temperature: cold})
	for i, v := range self.Train {
		near(t, "Q without cross-fitting", v, fixed.Train[i], 1e-12)
	}
}

func TestNegativeRoundsRefused(t *testing.T) {
	d := mixed(3, 2, 40, 2, 0.1)
	m := trained(t, d, &Options{Rounds: 3, Q: Uniform{2}})
	if _, err := m.Scores(d.X, &PredictOptions{Rounds: -1}); err == nil ||
		!strings.Contains(err.Error(), "must not be negative") {
		t.Errorf("scores after -1 rounds: %v", err)
	}
	if p := m.Prefix(-1); p.Terms() != 0 || p.Trained != 0 || len(p.History) != 0 {
		t.Errorf("a prefix of -1 rounds has %d terms of %d rounds", p.Terms(), p.Trained)
	}
}

// What is not there is an error, not a panic.
func TestNothingRefused(t *testing.T) {
	d := mixed(3, 2, 40, 2, 0.1)
	if _, _, err := Train(d, &Options{Rounds: 3, Q: Uniform{2},
		Learners: []boost.Learner{Stumps{}, nil, Stumps{}}}, nil); err == nil ||
		!strings.Contains(err.Error(), "slot 2 has no learner") {
		t.Errorf("a slot without learner: %v", err)
	}
	if _, _, err := FirstComponent(nil, 1); !errors.Is(err, boost.ErrData) {
		t.Errorf("the first component of nothing: %v", err)
	}
}
