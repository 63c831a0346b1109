package separable

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/optim/score"
)

// value is φ by its definition; biases are penalised unless they have a bound.
func (p *Problem) value(w, lambda []float64, bounded bool) float64 {
	weights, biases := p.split(w)
	v := p.Beta / 2 * floats.Dot(weights, weights)
	if !bounded {
		v += p.Beta / 2 * floats.Dot(biases, biases)
	}
	for k, t := range p.Terms {
		mean := 0.0
		for i := range p.Rows {
			for c := range p.Outputs {
				s := biases[c]
				for j, x := range p.X[i*p.Features:][:p.Features] {
					s += x * weights[j*p.Outputs+c]
				}
				l, _ := t.Loss.At(s, p.Y[i*p.Outputs+c])
				mean += p.weight(i) * l
			}
		}
		v += lambda[k] * (t.Scale*mean/float64(p.Rows*p.Outputs) + t.Shift)
	}
	return v
}

func drawn(seed uint64, weighted bool) *Problem {
	rng := rand.New(rand.NewPCG(seed, 1))
	p := &Problem{Rows: 60, Features: 4, Outputs: 3, Signs: true, Beta: 0.02, Workers: 2,
		Terms: []Term{{score.CrossEntropy(), 1, 0.3}, {score.SmoothHinge(), 2, 0},
			{score.SquaredHinge(), 0.5, -0.1}}}
	for range p.Rows {
		for range p.Features {
			p.X = append(p.X, rng.NormFloat64())
		}
		for range p.Outputs {
			p.Y = append(p.Y, float64(2*rng.IntN(2)-1))
		}
		if weighted {
			p.Weight = append(p.Weight, 2*rng.Float64())
		}
	}
	return p
}

// Both solvers find the same minimum, which no change of a parameter lowers: the bound of one is
// the value of the other, and the value is that of the definition.
func TestSolversAgree(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		p, lambda := drawn(3, weighted), []float64{0.5, 0.3, 0.2}
		a := NewAscent(p, make([]float64, len(p.Y)), 0, 0, 1)
		a.Turn(lambda)
		for range 400 {
			a.Pass()
		}
		w := make([]float64, p.Dim())
		if _, _, err := NewNewton(p, 0).Minimize(t.Context(), p.Terms, w, lambda, 1e-14); err != nil {
			t.Fatal(err)
		}
		least := p.value(w, lambda, false)
		if bound := a.Bound(); bound > least+1e-12 || bound < least-1e-6 {
			t.Errorf("weighted %v: Newton's method reaches %v, dual ascent proves %v", weighted, least, bound)
		}
		if v := p.value(a.Point(), lambda, false); v < least-1e-12 || v > least+1e-5 {
			t.Errorf("weighted %v: dual ascent is at %v, Newton's method at %v", weighted, v, least)
		}
		for j := range w {
			for _, h := range []float64{-1e-4, 1e-4} {
				x := slices.Clone(w)
				if x[j] += h; p.value(x, lambda, false) < least {
					t.Errorf("weighted %v: parameter %d plus %v is better", weighted, j, h)
				}
			}
		}
	}
}

// Within a radius dual ascent stays, and proves what projected changes cannot lower; biases that
// Newton's method bounds are within their bound, and best there.
func TestConstraints(t *testing.T) {
	p, lambda := drawn(4, false), []float64{0.5, 0.3, 0.2}
	const radius = 0.3
	a := NewAscent(p, make([]float64, len(p.Y)), radius, 0, 1)
	a.Turn(lambda)
	for range 400 {
		a.Pass()
	}
	w := a.Point()
	if size := floats.Norm(w, 2); size > radius*(1+1e-12) || size < 0.99*radius {
		t.Errorf("a norm of %v within %v", size, radius)
	}
	if v, bound := p.value(w, lambda, false), a.Bound(); bound > v+1e-12 || bound < v-1e-5 {
		t.Errorf("a value of %v, and %v proved", v, bound)
	}
	const most = 0.02
	w = make([]float64, p.Dim())
	if _, _, err := NewNewton(p, most).Minimize(t.Context(), p.Terms, w, lambda, 1e-12); err != nil {
		t.Fatal(err)
	}
	least, at := p.value(w, lambda, true), 0
	_, biases := p.split(w)
	for c, b := range biases {
		if math.Abs(b) > most {
			t.Errorf("bias %d is %v", c, b)
		}
		if math.Abs(b) == most {
			at++
		}
	}
	if at == 0 {
		t.Error("no bias is at its bound")
	}
	for j := range w {
		for _, h := range []float64{-1e-4, 1e-4} {
			x := slices.Clone(w)
			x[j] += h
			if _, b := p.split(x); math.Abs(floats.Max(b)) <= most && math.Abs(floats.Min(b)) <= most &&
				p.value(x, lambda, true) < least {
				t.Errorf("parameter %d plus %v is better", j, h)
			}
		}
	}
	if NewNewton(&Problem{Rows: 1, Features: 1, Outputs: 1, X: []float64{1}, Y: []float64{1}}, 0) != nil {
		t.Error("Newton's method without a penalty")
	}
}
