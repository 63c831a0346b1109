package minimax

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim/score"
)

// The smoothed hinge of rows is below it by at most half the width, has the derivative that
// differences give, and its tangents with Under lie below the hinge itself.
func TestSmoothRow(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	const outputs, rows = 4, 50
	class := make([]int32, rows)
	random := func() []float64 {
		s := make([]float64, rows*outputs)
		for i := range s {
			s[i] = 2 * rng.NormFloat64()
		}
		return s
	}
	s, u := random(), random()
	for i := range class {
		class[i] = int32(rng.IntN(outputs))
	}
	of := func(l Loss, s, ds []float64, under bool) float64 {
		o := objective{Loss: l, factor: 1, scale: 1}
		sums := []float64{0}
		evaluate([]objective{o}, Softmax, Surrogate, outputs, s, make([]float64, len(s)), class, []float64{1}, sums,
			ds, &scratch{under: under})
		return sums[0]
	}
	hard, ds := of(score.Hinge(), s, nil, false), make([]float64, len(s))
	for _, width := range []float64{1e-6, 0.1, 1, 10} {
		l := score.Hinge().Relax(width)
		v := of(l, s, ds, false)
		if v > hard+1e-12 || v < hard-rows*width/2-1e-12 {
			t.Errorf("width %g: %v of the hinge's %v", width, v, hard)
		}
		line := of(l, s, nil, true)
		for i := range s {
			line += ds[i] * (u[i] - s[i])
		}
		if above := of(score.Hinge(), u, nil, false); line > above+1e-9 {
			t.Errorf("width %g: the line below the hinge is at %v, the hinge at %v", width, line, above)
		}
		if width < 0.1 {
			continue
		}
		for i := range s {
			const h = 1e-6
			x := s[i]
			s[i] = x + h
			up := of(l, s, nil, false)
			s[i] = x - h
			down := of(l, s, nil, false)
			s[i] = x
			if num := (up - down) / (2 * h); math.Abs(num-ds[i]) > 1e-5 {
				t.Errorf("width %g: derivative %v in score %d, differences give %v", width, ds[i], i, num)
			}
		}
	}
	s[0] = math.Inf(1)
	if v := of(score.Hinge().Relax(1), s, nil, false); !math.IsInf(v, 1) {
		t.Errorf("an infinite score gives %v", v)
	}
}

// What is no number is no right answer.
func TestErrorsOfNaN(t *testing.T) {
	nan := math.NaN()
	if n := countErrors(1, []float64{nan, 1, -1, 0}, []float64{1, 1, 1, 1}, nil, nil); n != 3 {
		t.Errorf("%v errors of one output, want 3", n)
	}
	if n := countErrors(2, []float64{nan, 1, 1, nan, 1, 0, nan, nan}, nil, []int32{1, 0, 0, 0}, nil); n != 3 {
		t.Errorf("%v errors of two outputs, want 3", n)
	}
}

// The constants of objectives are those of the multiple that enters the game: differences of
// their means over the classes are nowhere steeper, measured in the largest change of a
// score, and somewhere as steep.
func TestConstantsOfClasses(t *testing.T) {
	const outputs = 5
	for _, norm := range []Normalization{Lipschitz, Bounded, Raw} {
		objectives, err := newObjectives([]Loss{score.ZeroOne(), score.CrossEntropy(), score.Hinge()}, norm,
			Surrogate, OneVsAll, outputs, 20)
		if err != nil {
			t.Fatal(err)
		}
		for k := range objectives {
			o := &objectives[k]
			value := func(z float64) float64 { // every score on the wrong side
				s, y, sums := make([]float64, outputs), make([]float64, outputs), []float64{0}
				for c := range y {
					y[c] = -1
					if c == 0 {
						y[c] = 1
					}
					s[c] = z * y[c]
				}
				evaluate([]objective{*o}, OneVsAll, Surrogate, outputs, s, y, []int32{0}, nil, sums, nil, &scratch{})
				return o.scale * sums[0]
			}
			if slope := (value(-20) - value(-19)); math.Abs(slope-o.lipschitz) > 1e-6*o.lipschitz {
				t.Errorf("%s in units %s: the constant is %v, a slope %v", o.Name, norm, o.lipschitz, slope)
			}
			if norm == Bounded && (o.lipschitz > 1+1e-12 || o.bound > 1+1e-12) {
				t.Errorf("%s: constant %v and bound %v", o.Name, o.lipschitz, o.bound)
			}
		}
	}
}
