package minimax_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/minimax"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
)

// inBall returns the least value of the game over |w| ≤ radius by a search of its own, for
// w of two coordinates: a grid of the disc, finer and finer around its best point.
func inBall(t *testing.T, d *minimax.Data, o minimax.Options, radius float64) float64 {
	t.Helper()
	g, _, _, err := minimax.NewGame(d, &o)
	if err != nil {
		t.Fatal(err)
	}
	n, p := g.Dims()
	if n != 2 {
		t.Fatalf("%d coordinates", n)
	}
	zero, values := make([]float64, p), make([]float64, p)
	best := math.Inf(1)
	center, turn, depth := 0.0, 2*math.Pi, 1.0
	middle := 0.5 // of the radius
	for range 12 {
		bestAngle, bestDepth := center, middle
		for i := -20; i <= 20; i++ {
			for j := -6; j <= 6; j++ {
				angle := center + turn/40*float64(i)
				r := math.Max(0, math.Min(1, middle+depth/12*float64(j)))
				penalty, err := g.Eval([]float64{radius * r * math.Cos(angle), radius * r * math.Sin(angle)},
					zero, nil, values)
				if err != nil {
					t.Fatal(err)
				}
				if v := penalty + worstOf(values); v < best {
					best, bestAngle, bestDepth = v, angle, r
				}
			}
		}
		center, middle = bestAngle, bestDepth
		turn, depth = turn/4, depth/4
	}
	return best
}

// inPlane returns the least worst value over all w of two coordinates up to size in each: golden
// sections of one, within those of the other.
func inPlane(t *testing.T, d *minimax.Data, o minimax.Options, size float64) float64 {
	t.Helper()
	g, _, _, err := minimax.NewGame(d, &o)
	if err != nil {
		t.Fatal(err)
	}
	_, p := g.Dims()
	zero, values := make([]float64, p), make([]float64, p)
	sections := func(f func(x float64) float64) float64 {
		const share = 0.6180339887498949
		lo, hi := -size, size
		a, b := hi-share*(hi-lo), lo+share*(hi-lo)
		fa, fb := f(a), f(b)
		for range 60 {
			if fa < fb {
				hi, b, fb = b, a, fa
				a = hi - share*(hi-lo)
				fa = f(a)
			} else {
				lo, a, fa = a, b, fb
				b = lo + share*(hi-lo)
				fb = f(b)
			}
		}
		return math.Min(fa, fb)
	}
	return sections(func(b float64) float64 {
		return sections(func(w float64) float64 {
			penalty, err := g.Eval([]float64{w, b}, zero, nil, values)
			if err != nil {
				t.Fatal(err)
			}
			return penalty + worstOf(values)
		})
	})
}

func normOf(w []float64) float64 {
	sq := 0.0
	for _, v := range w {
		sq += v * v
	}
	return math.Sqrt(sq)
}

// Where the radius holds the model back the certificate is as close as without one, and
// encloses what a search of the disc finds; so it does where it does not, with a penalty
// and without.
func TestRadiusCertified(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers alone, and many: what runs side by side is in TestDeterminism")
	}
	rng := rand.New(rand.NewPCG(4, 4))
	d := &minimax.Data{Rows: 70, Features: 1, Classes: 2}
	for i := range d.Rows {
		d.Class = append(d.Class, int32(i%2))
		d.X = append(d.X, rng.NormFloat64()+1.3*float64(i%2))
	}
	const gap = 1e-4
	for _, losses := range [][]string{{"cross-entropy"}, {"zero-one", "hinge", "1-norm", "cross-entropy"},
		{"squared", "huber:0.5", "cross-entropy"}} {
		for _, radius := range []float64{0.05, 1, 8} {
			for _, beta1 := range []float64{0, 1e-3, 0.2} {
				o := minimax.Options{Losses: all(t, losses...), Radius: radius, Beta1: beta1, Gap: gap, ScoreBound: 4}
				best := inBall(t, d, o, radius)
				for _, solver := range []minimax.Solver{minimax.Auto, minimax.DualAscent, minimax.Smoothed} {
					if solver == minimax.DualAscent && beta1 == 0 && radius >= 1 {
						continue // where the radius does not hold, this is not for it
					}
					o.Solver, o.Passes = solver, 3
					if solver != minimax.Auto {
						o.Passes = 0 // which would be theirs
					}
					f, err := minimax.Train(d, &o)
					name := fmt.Sprintf("%v radius %g beta1 %g %q", losses, radius, beta1, solver)
					if err != nil {
						t.Errorf("%s: %v", name, err)
						continue
					}
					c := f.Certificate
					t.Logf("%s: %.7f [%.7f, %.7f] passes %d %v |w| %.4f λ %.3f", name, best, c.Lower, c.Upper, f.Passes,
						f.Reason, normOf(f.Model.Params), f.Lambda)
					if !f.Certified || c.Lower > best+1e-9 || c.Upper < best-1e-7 {
						t.Errorf("%s: [%v, %v], %v by search", name, c.Lower, c.Upper, best)
					}
					if !(f.Gap() <= gap*math.Max(0.01, c.Upper)) {
						t.Errorf("%s: gap %g of %g", name, f.Gap(), c.Upper)
					}
					if size := normOf(f.Model.Params); size > radius*(1+1e-9) {
						t.Errorf("%s: |w| = %g", name, size)
					}
				}
			}
		}
	}
}

// Several classes and features, with Softmax too: the certificates of two solvers that
// share nothing agree.
func TestRadiusSolversAgree(t *testing.T) {
	d := blobs(150, 6, 3, 12)
	for _, multi := range []minimax.MultiClass{minimax.OneVsAll, minimax.Softmax} {
		for _, losses := range [][]string{{"cross-entropy"}, {"zero-one", "hinge", "1-norm", "cross-entropy"}} {
			o := minimax.Options{Losses: all(t, losses...), Radius: 0.4, MultiClass: multi, Gap: 1e-3}
			f, err := minimax.Train(d, &o)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s %v: [%v %v] %v %v", multi, losses, f.Certificate.Lower, f.Certificate.Upper, f.Reason, f.Passes)
			if !(f.Gap() <= 1e-3*f.Certificate.Upper) || normOf(f.Model.Params) < 0.4*(1-1e-3) {
				t.Errorf("%s %v: gap %g at %g, |w| %g", multi, losses, f.Gap(), f.Certificate.Upper,
					normOf(f.Model.Params))
			}
			o.Solver, o.Batch, o.Passes, o.Gap, o.Steps = minimax.MirrorProx, -1, 600, 1e-5, saddle.AdaptiveSteps
			h, err := minimax.Train(d, &o)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s %v: mirror-prox [%v %v]", multi, losses, h.Certificate.Lower, h.Certificate.Upper)
			if f.Certificate.Lower > h.Certificate.Upper+1e-9 || h.Certificate.Lower > f.Certificate.Upper+1e-9 ||
				h.Certificate.Upper > 1.02*f.Certificate.Upper {
				t.Errorf("%s %v: [%v, %v] and [%v, %v]", multi, losses, f.Certificate.Lower, f.Certificate.Upper,
					h.Certificate.Lower, h.Certificate.Upper)
			}
		}
	}
}

// With the norm itself as penalty the ball that losses imply proves what a search finds: also
// where weights of zero are the best, and where the units have offsets.
func TestNormCertified(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	d := &minimax.Data{Rows: 70, Features: 1, Classes: 2}
	for i := range d.Rows {
		d.Class = append(d.Class, int32(i%2))
		d.X = append(d.X, rng.NormFloat64()+1.3*float64(i%2))
	}
	for _, losses := range [][]string{{"cross-entropy"}, {"zero-one", "hinge", "1-norm", "cross-entropy"},
		{"squared", "huber:0.5", "cross-entropy"}} {
		for _, beta1 := range []float64{1e-3, 0.2, 3} {
			for _, offset := range []float64{0, 0.3} {
				o := minimax.Options{Losses: all(t, losses...), Norm: true, Beta1: beta1, Gap: 1e-4,
					ScoreBound: 4, Passes: 3}
				if offset != 0 {
					o.Normalization = minimax.Regret
					for k := range losses {
						o.Offsets = append(o.Offsets, offset*float64(k+1))
					}
				}
				best := inPlane(t, d, o, 8)
				f, err := minimax.Train(d, &o)
				name := fmt.Sprintf("%v β_1 %g offset %g", losses, beta1, offset)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				c := f.Certificate
				if !f.Certified || c.Lower > best+1e-9 || c.Upper < best-1e-7 {
					t.Errorf("%s: [%v, %v], %v by search", name, c.Lower, c.Upper, best)
				}
				if !(f.Gap() <= 1e-4*math.Max(0.01, math.Abs(c.Upper))) {
					t.Errorf("%s: a gap of %g at %g, |w| %g", name, f.Gap(), c.Upper, normOf(f.Model.Params))
				}
			}
		}
	}
}
