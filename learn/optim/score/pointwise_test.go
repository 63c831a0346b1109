package score

import (
	"math"
	"testing"
)

// Losses that have both forms are the same up to their factor: as functions of many rows, and
// of a point.
func TestPointwiseAgrees(t *testing.T) {
	huber, err := ScaledHuber(0.5)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		point  Pointwise
		rows   Loss
		factor float64
	}{
		{CrossEntropy(), Logistic{}, 1}, {ZeroOne(), Logistic{Base2: true}, 1},
		{SquaredError(), Squared{}, 2}, {huber, Huber{Delta: 0.5}, 2},
	} {
		for s := -30.0; s <= 30; s += 0.37 {
			for _, y := range []float64{-1, 1} {
				var value, slope [1]float64
				c.rows.Values(value[:], []float64{y}, []float64{s})
				c.rows.Gradients(slope[:], nil, []float64{y}, []float64{s})
				v, d := c.point.At(s, y)
				near(t, c.point.Name+" value", v, c.factor*value[0], 1e-14*(1+v))
				near(t, c.point.Name+" slope", d, c.factor*slope[0], 1e-14*(1+math.Abs(d)))
			}
		}
	}
}

func parsed(t *testing.T, names ...string) []Pointwise {
	t.Helper()
	var out []Pointwise
	for _, n := range names {
		l, err := ParsePointwise(n)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, l)
	}
	return out
}

// Derivatives against differences away from kinks; Lipschitz constants and bounds are
// nowhere exceeded; convexity is as claimed; what is relaxed lies just below.
func TestLosses(t *testing.T) {
	const b = 3.0
	for _, name := range []string{"zero-one", "hinge", "smooth-hinge", "cross-entropy", "squared-hinge",
		"squared", "1-norm", "1.5-norm", "3-norm", "huber:0.5", "ramp:1", "1-norm-prob", "2-norm-prob"} {
		l := parsed(t, name)[0]
		if l.Name != name {
			t.Errorf("%s calls itself %s", name, l.Name)
		}
		for _, y := range []float64{-1, 1} {
			bent, before := false, math.Inf(-1)
			for s := -b; s <= b; s += 0.0371 {
				v, d := l.At(s, y)
				const h = 1e-5
				up, du := l.At(s+h, y)
				down, dd := l.At(s-h, y)
				if num := (up - down) / (2 * h); math.Abs(num-d) > 1e-4 && math.Abs(du-dd) < 0.1 {
					t.Errorf("%s at s=%g y=%g: derivative %g, differences give %g", name, s, y, d, num)
				}
				if math.Abs(d) > l.Lipschitz(b)+1e-12 || v > l.Bound(b)+1e-12 || v < 0 {
					t.Errorf("%s at s=%g y=%g: %g with slope %g, beyond the bound %g or constant %g", name, s, y, v, d,
						l.Bound(b), l.Lipschitz(b))
				}
				bent, before = bent || d < before-1e-9, d
				if l.Relax != nil {
					r, _ := l.Relax(0.1).At(s, y)
					if r > v+1e-15 || r < v-0.1 {
						t.Errorf("%s at s=%g: relaxed to %g from %g", name, s, r, v)
					}
				}
			}
			if bent == l.Convex {
				t.Errorf("%s: claimed convex %v, found concave parts %v", name, l.Convex, bent)
			}
		}
	}
	for _, bad := range []string{"", "auc", "0.5-norm", "x-norm", "huber:0", "huber:x", "ramp:-1", "hinge:2"} {
		if _, err := ParsePointwise(bad); err == nil {
			t.Errorf("loss %q was found", bad)
		}
	}
	// The subgradients of the specification at the kinks.
	for _, c := range []struct {
		name string
		s, y float64
		v, d float64
	}{{"hinge", 1, 1, 0, 0}, {"hinge", 0.5, 1, 0.5, -1}, {"hinge", 0, -1, 1, 1}, {"1-norm", 1, 1, 0, 0},
		{"1-norm", -2, -1, 1, -1}, {"3-norm", 1, 1, 0, 0}} {
		v, d := parsed(t, c.name)[0].At(c.s, c.y)
		if v != c.v || d != c.d {
			t.Errorf("%s(%g, %g) = %g with slope %g, want %g and %g", c.name, c.s, c.y, v, d, c.v, c.d)
		}
	}
	// |1-z| ≥ max(0, 1-z) ≥ 1[z ≤ 0] ≤ log2(1+e^-z): the trap and the surrogate.
	zo := parsed(t, "zero-one")[0]
	for z := -3.0; z < 3; z += 0.01 {
		v, _ := zo.At(z, 1)
		if z <= 0 && v < 1 {
			t.Errorf("the surrogate at %g is %g", z, v)
		}
	}
	if v, _ := zo.At(-1000, 1); v != 1000/math.Ln2 {
		t.Errorf("the surrogate at -1000 is %g", v)
	}
	if v, _ := zo.At(1000, 1); v != 0 {
		t.Errorf("the surrogate at 1000 is %g", v)
	}
}

// Only losses of differences grow with the confidence of a right answer.
func TestPunishesConfidence(t *testing.T) {
	for name, want := range map[string]bool{
		"zero-one": false, "hinge": false, "cross-entropy": false, "smooth-hinge": false, "squared-hinge": false,
		"ramp:2": false, "1-norm-prob": false, "2-norm-prob": false,
		"1-norm": true, "1.5-norm": true, "squared": true, "huber:0.5": true, "huber:3": true,
	} {
		l := parsed(t, name)[0]
		if got := l.PunishesConfidence(); got != want {
			t.Errorf("%s: %v", name, got)
		}
		// The same by the definition: the loss rises somewhere along the margin.
		rises := false
		last := math.Inf(1)
		for s := -4.0; s <= 6; s += 0.01 {
			v, _ := l.At(s, 1)
			rises = rises || v > last+1e-12
			last = v
		}
		if rises != want {
			t.Errorf("%s rises along the margin: %v", name, rises)
		}
	}
}
