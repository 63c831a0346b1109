package multi

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// Scores start at 0, and the constants ±1 are base predictors: where a class is rare and columns
// say nothing, no loss of a source is above that of its best constant. The unit of weights does
// not matter.
func TestNoWorseThanAConstant(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	d := mixed(3, 2, 300, 2, 0)
	rare := map[int32]int{0: 50, 1: 20}
	for i := range d.Y {
		d.Y[i] = -1
		if i%rare[d.X.Source[i]] == 0 {
			d.Y[i] = 1
		}
		for j := range d.X.Columns {
			d.X.Columns[j].Values[i] = float32(rng.NormFloat64())
		}
	}
	for _, l := range []boost.Loss{boost.Exponential{}, boost.Logistic{}} {
		train := func(d *boost.Data) []float64 {
			t.Helper()
			m, _, err := Train(d, &Options{Loss: l, Rounds: 60}, nil)
			if err != nil {
				t.Fatal(err)
			}
			f, err := m.Scores(d.X, nil)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		f := train(d)
		for k := range int32(2) {
			var y, own, constant []float64
			for i, s := range d.X.Source {
				if s == k {
					y, own = append(y, d.Y[i]), append(own, f[i])
				}
			}
			constant = slices.Repeat(l.Start(y, nil), len(y))
			if got, want := score.Mean(l, y, nil, own, 1), score.Mean(l, y, nil, constant, 1); !(got <= want) {
				t.Errorf("%s, source %d: loss %v, that of a constant %v", l.Name(), k, got, want)
			}
		}
		weighted := &boost.Data{X: d.X, Y: d.Y}
		for range d.Y {
			weighted.W = append(weighted.W, 1024)
		}
		for i, v := range train(weighted) {
			if math.Abs(v-f[i]) > 1e-9 {
				t.Errorf("%s: weights of 1024 give the score %v in place of %v", l.Name(), v, f[i])
				break
			}
		}
	}
}
