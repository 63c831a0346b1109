package separable

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// The proximal step and its dual, by both ways to them, against the definitions on a grid.
func TestProximalStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	one, _ := score.QNorm(1)
	for range 400 {
		m := &mixture{corner: true}
		for _, l := range []score.Pointwise{score.CrossEntropy(), score.Hinge(), one} {
			k := 0.0
			if rng.IntN(3) > 0 {
				k = rng.Float64()
			}
			m.parts = append(m.parts, part{l.At, k})
			m.a += k * l.Multiple
			if l.Corner != nil {
				m.left, m.right = m.left+k*l.Corner[0], m.right+k*l.Corner[1]
			}
		}
		slow := *m
		slow.corner = false
		y := float64(2*rng.IntN(2) - 1)
		q := math.Exp(3 * rng.NormFloat64())
		s0, start := 4*rng.NormFloat64(), 3*rng.NormFloat64()
		s, alpha, _ := m.solve(s0, q, y, start)
		value := m.valueAt(s, y, alpha)
		near := func(what string, got, want, tol float64) {
			if !(math.Abs(got-want) <= tol*(1+math.Abs(want))) {
				t.Fatalf("%s is %v, want %v (q %v, s0 %v, y %v, mixture %+v)", what, got, want, q, s0, y, *m)
			}
		}
		near("s + q f'(s) - s0", s-q*alpha-s0, 0, 1e-6*(1+q))
		s2, alpha2, value2 := slow.solve(s0, q, y, start)
		near("s by bisection", s2, s, 1e-6*(1+q))
		near("α by bisection", alpha2, alpha, 1e-6*(1+1/q))
		// -f*(-α) = min_u f(u) + αu: nowhere on a grid is it less, and s attains it.
		for _, c := range []struct{ s, alpha, value float64 }{{s, alpha, value}, {s2, alpha2, value2}} {
			v, _ := m.at(c.s, y)
			near("f(s) + αs", v+c.alpha*c.s, c.value, 1e-6*(1+1/q)*(1+math.Abs(c.s)))
			for u := -12.0; u <= 12; u += 0.05 {
				if v, _ := m.at(u, y); v+c.alpha*u < c.value-1e-8*(1+math.Abs(c.value)) {
					t.Fatalf("-f*(-α) is at most %v, not %v (at %v)", v+c.alpha*u, c.value, u)
				}
			}
		}
		// At the same mixture nothing changes, up to the step's tolerance.
		again, _ := m.remix(m, s, y, alpha)
		near("α, remixed", again, alpha, 1e-6*(1+1/q))
	}
}

// A checkpoint, through a file, holds all that an ascent depends on, within a radius that does not
// hold; one of other rows is refused.
func TestAscentState(t *testing.T) {
	p := &Problem{X: []float64{1, 2, 3, 4, 5, 6}, Y: []float64{-1, 1, -1, 1, -1, 1}, Rows: 6, Features: 1,
		Outputs: 1, Signs: true, Workers: 1, Terms: []Term{{Loss: score.CrossEntropy(), Scale: 1},
			{Loss: score.Hinge(), Scale: 1}}}
	lambda := []float64{0.25, 0.75}
	a := NewAscent(p, make([]float64, 6), 30, 1e-3, 5)
	a.Turn(lambda)
	for range 3 {
		a.Pass()
	}
	a.rest[2], a.idle = 3, 7
	k := &run.Checkpoint{Solver: "test", Scalars: map[string]float64{}, Arrays: map[string][]float64{}}
	a.Save(k)
	var file bytes.Buffer
	if err := k.Write(&file); err != nil {
		t.Fatal(err)
	}
	k, err := run.ReadCheckpoint(&file)
	if err != nil {
		t.Fatal(err)
	}
	b := NewAscent(p, make([]float64, 6), 30, 1, 5)
	if err := b.Restore(k, lambda); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		a.Pass()
		b.Pass()
	}
	type state struct {
		Passes, Idle            int
		Beta, Floor, Bound      float64
		W, S, Alpha, Value, Mix []float64
		Rest                    []uint8
	}
	of := func(a *Ascent) state {
		return state{a.passes, a.idle, a.beta, a.floor, a.Bound(), a.w, a.s, a.alpha, a.value, a.lambda, a.rest}
	}
	if got, want := of(b), of(a); !reflect.DeepEqual(got, want) || want.Floor == 0 {
		t.Errorf("restored as %+v\nfrom %+v", got, want)
	}
	k.Arrays["alpha"] = k.Arrays["alpha"][1:]
	if err := b.Restore(k, lambda); !errors.Is(err, run.ErrOther) {
		t.Errorf("a state of five rows was taken for six: %v", err)
	}
}
