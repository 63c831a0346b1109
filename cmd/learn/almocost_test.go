package main

import (
	"context"
	"testing"

	"github.com/tropica-fst/tropica/learn/minimax"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// What robustness costs is each model's error, counted by hand; an interrupt leaves it out and
// is no error, since the robust model is there.
func TestCostOf(t *testing.T) {
	d := &minimax.Data{Rows: 6, Features: 1, X: []float64{-3, -1, -0.5, 1, 2, -4},
		Class: []int32{0, 0, 0, 1, 1, 1}, Classes: 2}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, units := range []minimax.Normalization{minimax.Lipschitz, minimax.Regret} {
		o := &minimax.Options{Beta1: 0.01, Normalization: units, Beta2: 0.1, Penalty: minimax.Handicap,
			Preferences: minimax.Preferences{Hi: []float64{0.5}}, Control: run.Control{Ctx: ctx}}
		f, err := minimax.Train(d, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Losses = minimax.DefaultLosses()
		o.ZeroOne = minimax.Surrogate
		r, err := costOf(d, o, f, 1)
		if err != nil || len(r.Alone) != 2 || r.Alone[0].Loss != "smooth-hinge" ||
			r.Alone[1].Loss != "cross-entropy" {
			t.Fatalf("%+v, %v", r, err)
		}
		wrong := func(m *minimax.Model) float64 {
			s, err := m.Scores(d.X, 1)
			if err != nil {
				t.Fatal(err)
			}
			n := 0.0
			for i, c := range d.Class {
				if (s[i] > 0) != (c == 1) {
					n++
				}
			}
			return n / float64(d.Rows)
		}
		if r.Error != wrong(f.Model) || r.Error == 0 {
			t.Errorf("%s: error %v, counted %v", units, r.Error, wrong(f.Model))
		}
		for _, a := range r.Alone {
			l, err := score.ParsePointwise(a.Loss)
			if err != nil {
				t.Fatal(err)
			}
			one, err := minimax.Train(d, &minimax.Options{Losses: []minimax.Loss{l}, Beta1: 0.01})
			if err != nil || a.Error != wrong(one.Model) {
				t.Errorf("%s, %s alone: error %v, counted %v (%v)", units, a.Loss, a.Error, wrong(one.Model), err)
			}
		}
		if units == minimax.Regret {
			cancel()
			if r, err := costOf(d, o, f, 1); r != nil || err != nil {
				t.Errorf("cancelled: %+v, %v", r, err)
			}
		}
	}
}
