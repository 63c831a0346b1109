package optim_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/tropica-fst/tropica/learn/optim"
)

func TestProjectionGoldens(t *testing.T) {
	box, err := optim.NewBoxSimplex(3, []float64{0.1}, []float64{0.6}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range []struct {
		set  optim.Set
		v, x []float64
	}{
		{optim.Simplex{}, []float64{0.5, 0.9, -0.2}, []float64{0.3, 0.7, 0}},
		{optim.Simplex{}, []float64{2, 0, 0}, []float64{1, 0, 0}},
		{optim.Simplex{}, []float64{0.3, 0.3, 0.3}, []float64{1. / 3, 1. / 3, 1. / 3}},
		{box, []float64{0.5, 0.9, -0.2}, []float64{0.3, 0.6, 0.1}},
	} {
		x := slices.Clone(g.v)
		g.set.Project(x)
		for k := range x {
			near(t, "projection", x[k], g.x[k], 1e-15)
		}
	}
}

func TestEmptySets(t *testing.T) {
	one := func(_ any, err error) error { return err }
	for name, err := range map[string]error{
		"low box":    one(optim.NewBoxSimplex(3, nil, []float64{0.3}, 0)),
		"high box":   one(optim.NewBoxSimplex(3, []float64{0.4}, nil, 0)),
		"crossed":    one(optim.NewBoxSimplex(2, []float64{0.6, 0}, []float64{0.5, 1}, 0)),
		"small ball": one(optim.NewSimplexBall(4, 0.49)),
		"no points":  one(optim.NewVertices(nil)),
		"polytope":   one(optim.NewPolytope(2, [][]float64{{1, 0}, {0, 1}}, []float64{0.4, 0.5})),
		"0 ≤ -1":     one(optim.NewPolytope(2, [][]float64{{0, 0}}, []float64{-1})),
	} {
		if !errors.Is(err, optim.ErrEmptySet) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"edge box":      one(optim.NewBoxSimplex(3, []float64{1. / 3}, nil, 0)),
		"edge ball":     one(optim.NewSimplexBall(4, 0.5)),
		"edge polytope": one(optim.NewPolytope(2, [][]float64{{1, 0}, {0, 1}}, []float64{0.5, 0.5})),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if one(optim.NewVertices([][]float64{{1, 0}, {1}})) == nil || one(optim.NewVertices([][]float64{{math.NaN()}})) == nil ||
		one(optim.NewPolytope(2, [][]float64{{1}}, []float64{1})) == nil || one(optim.NewPolytope(2, nil, []float64{1})) == nil {
		t.Error("malformed sets were taken")
	}
}

// nearest finds the projection onto {A x ≤ b, Σ x = 1, x ≥ 0} by trying every set of
// active constraints, and the maximum of ⟨g, ·⟩ over the vertices met on the way.
func nearest(a [][]float64, b, v, g []float64) (best []float64, top float64) {
	n := len(v)
	rows := slices.Clone(a)
	right := slices.Clone(b)
	for k := range n {
		e := make([]float64, n)
		e[k] = -1
		rows, right = append(rows, e), append(right, 0)
	}
	distance := math.Inf(1)
	top = math.Inf(-1)
	for set := range 1 << len(rows) {
		active := [][]float64{slices.Repeat([]float64{1}, n)}
		rhs := []float64{1}
		for i, row := range rows {
			if set>>i&1 == 1 {
				active, rhs = append(active, row), append(rhs, right[i])
			}
		}
		m := len(active)
		if m > n {
			continue
		}
		// x = v - Cᵀ y with C x = d: C Cᵀ y = C v - d.
		c := mat.NewDense(m, n, slices.Concat(active...))
		var gram mat.Dense
		gram.Mul(c, c.T())
		d := mat.NewVecDense(m, nil)
		d.MulVec(c, mat.NewVecDense(n, slices.Clone(v)))
		d.SubVec(d, mat.NewVecDense(m, rhs))
		var y mat.VecDense
		if err := y.SolveVec(&gram, d); err != nil {
			continue
		}
		var x mat.VecDense
		x.MulVec(c.T(), &y)
		x.SubVec(mat.NewVecDense(n, slices.Clone(v)), &x)
		ok := true
		for i, row := range rows {
			if mat.Dot(mat.NewVecDense(n, slices.Clone(row)), &x) > right[i]+1e-10 {
				ok = false
			}
		}
		if !ok {
			continue
		}
		dist := 0.0
		for k := range n {
			dist += (x.AtVec(k) - v[k]) * (x.AtVec(k) - v[k])
		}
		if dist < distance {
			distance, best = dist, slices.Clone(x.RawVector().Data)
		}
		if m == n {
			top = math.Max(top, mat.Dot(mat.NewVecDense(n, slices.Clone(g)), &x))
		}
	}
	return best, top
}

func TestPolytopeAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 4))
	met := 0
	for range 300 {
		n, m := 2+rng.IntN(4), rng.IntN(4)
		a, b := make([][]float64, m), make([]float64, m)
		for i := range a {
			a[i], b[i] = normal(rng, n), 0.5*rng.NormFloat64()
		}
		v, g := normal(rng, n), normal(rng, n)
		if rng.IntN(3) == 0 {
			for k := range v {
				v[k] *= 1e4
			}
		}
		want, top := nearest(a, b, v, g)
		s, err := optim.NewPolytope(n, a, b)
		if want == nil {
			if err == nil {
				t.Fatalf("an empty set was taken: A %v b %v", a, b)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%v, but %v is a point of A %v b %v", err, want, a, b)
		}
		met++
		x := slices.Clone(v)
		s.Project(x)
		tol := 1e-10 * math.Max(1, slices.Max(v)-slices.Min(v))
		for k := range x {
			if math.Abs(x[k]-want[k]) > tol {
				t.Fatalf("projection of %v onto A %v b %v is %v, want %v", v, a, b, x, want)
			}
		}
		y := slices.Clone(x)
		s.Project(y)
		for k := range y {
			near(t, "projection of a projection", y[k], x[k], 1e-12)
		}
		got := s.Maximize(g, x)
		dot := 0.0
		for k := range g {
			dot += g[k] * x[k]
		}
		if got < top-1e-10 || got > top+1e-9 || dot < top-1e-8 {
			t.Fatalf("maximum of %v over A %v b %v: bound %.12g, attained %.12g, want %.12g", g, a, b, got, dot, top)
		}
	}
	if met < 100 {
		t.Errorf("only %d sets were not empty", met)
	}
}

// p is the projection of v onto the hull exactly when no vertex is beyond it.
func TestHull(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 4))
	for range 500 {
		n := 1 + rng.IntN(5)
		points := make([][]float64, 1+rng.IntN(8))
		for j := range points {
			points[j] = normal(rng, n)
			if j > 0 && rng.IntN(4) == 0 { // the same point twice
				points[j] = slices.Clone(points[rng.IntN(j)])
			}
		}
		s, err := optim.NewVertices(points)
		if err != nil {
			t.Fatal(err)
		}
		v := normal(rng, n)
		inside := rng.IntN(3) == 0
		if inside {
			clear(v)
			for _, p := range points {
				for i := range v {
					v[i] += p[i] / float64(len(points))
				}
			}
		}
		x := slices.Clone(v)
		s.Project(x)
		for i := range x {
			if inside && math.Abs(x[i]-v[i]) > 1e-9 {
				t.Fatalf("%v is in the hull of %v, its projection is %v", v, points, x)
			}
		}
		worst := math.Inf(-1)
		for _, p := range points {
			d := 0.0
			for i := range x {
				d += (v[i] - x[i]) * (p[i] - x[i])
			}
			worst = math.Max(worst, d)
		}
		if math.Abs(worst) > 1e-9 { // zero, at the vertices of the face
			t.Fatalf("projection of %v onto the hull of %v is %v: a vertex lies beyond by %g", v, points, x, worst)
		}
	}
}

func TestBoxSimplexAgainstPolytope(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 4))
	for range 300 {
		n := 1 + rng.IntN(6)
		lo, hi := make([]float64, n), make([]float64, n)
		sumLo, sumHi := 0.0, 0.0
		var a [][]float64
		var b []float64
		for k := range lo {
			lo[k] = 0.3 * rng.Float64()
			hi[k] = lo[k] + rng.Float64()
			sumLo, sumHi = sumLo+lo[k], sumHi+hi[k]
			e, f := make([]float64, n), make([]float64, n)
			e[k], f[k] = 1, -1
			a, b = append(a, e, f), append(b, hi[k], -lo[k])
		}
		s, err := optim.NewBoxSimplex(n, lo, hi, 0)
		if feasible := sumLo <= 1 && sumHi >= 1; feasible != (err == nil) {
			t.Fatalf("lo %v hi %v: %v", lo, hi, err)
		}
		if err != nil {
			continue
		}
		p, err := optim.NewPolytope(n, a, b)
		if err != nil {
			t.Fatal(err)
		}
		v, g := normal(rng, n), normal(rng, n)
		x, y := slices.Clone(v), slices.Clone(v)
		s.Project(x)
		p.Project(y)
		for k := range x {
			near(t, "projection", x[k], y[k], 1e-10)
		}
		near(t, "maximum", s.Maximize(g, x), p.Maximize(g, nil), 1e-9)
		dot := 0.0
		for k := range g {
			dot += g[k] * x[k]
		}
		near(t, "maximum attained", dot, s.Maximize(g, nil), 1e-12)
	}
	// The box [0, 1] is the simplex, and shifts do not matter.
	s, _ := optim.NewBoxSimplex(4, nil, nil, 0)
	for range 100 {
		v := normal(rng, 4)
		x, y := slices.Clone(v), slices.Clone(v)
		for k := range y {
			y[k] += 3.25
		}
		s.Project(x)
		optim.Simplex{}.Project(y)
		for k := range x {
			near(t, "box [0, 1] against the shifted simplex", x[k], y[k], 1e-14)
		}
	}
}

// The projection p onto a convex set is the point of it with ⟨v-p, z-p⟩ ≤ 0 for all
// z of it, and the maximum is attained and nowhere exceeded.
func TestSimplexBall(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 4))
	for range 100 {
		n := 2 + rng.IntN(4)
		least := 1 / math.Sqrt(float64(n))
		s, err := optim.NewSimplexBall(n, least+rng.Float64()*(1-least))
		if err != nil {
			t.Fatal(err)
		}
		v, g := normal(rng, n), normal(rng, n)
		x := slices.Clone(v)
		s.Project(x)
		z := make([]float64, n)
		top := s.Maximize(g, z)
		norm := func(x []float64) float64 {
			q := 0.0
			for _, a := range x {
				q += a * a
			}
			return math.Sqrt(q)
		}
		if norm(x) > s.Radius+1e-12 || norm(z) > s.Radius+1e-12 {
			t.Fatalf("outside the ball: %v, %v", x, z)
		}
		for range 200 {
			u := normal(rng, n)
			s.Project(u)
			d, e := 0.0, 0.0
			for k := range u {
				d += (v[k] - x[k]) * (u[k] - x[k])
				e += g[k] * u[k]
			}
			if d > 1e-9 || e > top+1e-9 {
				t.Fatalf("%v is beyond the projection %v of %v by %g, or the maximum %g by %g", u, x, v, d, top, e-top)
			}
		}
	}
}

// Maximize is the largest ⟨g, z⟩ over the set, attained where it says.
func TestMaximize(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 4))
	for range 200 {
		n := 1 + rng.IntN(5)
		q := []float64{0, 1, 1.5, 2, 4, math.Inf(1)}[rng.IntN(6)]
		for _, s := range []optim.Maximizer{optim.Simplex{Sum: 2}, optim.Ball{Q: q, Radius: 1.5}, optim.Box{Lo: []float64{-1}, Hi: []float64{2}},
			optim.Product{{optim.Ball{Radius: 1}, n - 1}, {optim.Box{Lo: []float64{-1}, Hi: []float64{1}}, 1}}} {
			g, x := normal(rng, n), make([]float64, n)
			top := s.Maximize(g, x)
			at := 0.0
			for k := range g {
				at += g[k] * x[k]
			}
			near(t, "maximum attained", at, top, 1e-9)
			y := slices.Clone(x)
			s.Project(y)
			for k := range y {
				near(t, "the maximiser is in the set", y[k], x[k], 1e-9)
			}
			for range 50 {
				z := normal(rng, n)
				s.Project(z)
				d := 0.0
				for k := range g {
					d += g[k] * z[k]
				}
				if d > top+1e-9 {
					t.Fatalf("%T: %g at %v, maximum said to be %g", s, d, z, top)
				}
			}
		}
	}
	free := optim.Product{{nil, 1}, {optim.Box{}, 1}}
	if v := free.Maximize([]float64{1, 0}, nil); !math.IsInf(v, 1) {
		t.Errorf("the maximum over all space is %v", v)
	}
	if v := free.Maximize([]float64{0, 0}, make([]float64, 2)); v != 0 {
		t.Errorf("the maximum of zero over all space is %v", v)
	}
}

// Sets without an inside, said by rows of any length: one point by different rows (which
// rounding would leave empty), rows that are the same for all points, faces. None is empty,
// points far away come to within 1e-10 of it, and to the nearest of it.
func TestPolytopesWithoutInside(t *testing.T) {
	for name, c := range map[string]struct {
		a [][]float64
		b []float64
	}{
		"touching":       {[][]float64{{0, 0x1p-15}, {0x1.8p-18, -0x1p-18}, {0, 0x1.8p-9}}, []float64{0x1p-16, 0x1p-20, 0x1.8p-10}},
		"same for all":   {[][]float64{{-16384, -16384}, {0, -0x1p-16}, {768, -768}}, []float64{-16384, -0x1p-17, 225.6}},
		"four ways":      {[][]float64{{0.00018310546875, -0.00006103515625, 0}, {0.00048828125, 0.00146484375, -0.00146484375}, {-2, -6, 0}, {0, 256, 0}}, []float64{7.416537890888444e-05, 0.00016276041666666663, -2.6666666666666665, 85.33333333333333}},
		"nearly for all": {[][]float64{{1, 1, 1 + 1e-9}, {-1, -1, -1 - 1e-9}}, []float64{1 + 3e-10, -1 - 3e-10}},
		"thirds":         {[][]float64{{3, 0, 0}, {0, 7, 0}, {0, 0, 1e-9}}, []float64{1, 7. / 3, 1e-9 / 3}},
		"a face":         {[][]float64{{1, 1, 0, 0}, {-5, -5, 0, 0}}, []float64{0.5, -2.5}},
		"largest":        {[][]float64{{1e308, -1e308, 1e308}}, []float64{0}},
	} {
		n := len(c.a[0])
		s, err := optim.NewPolytope(n, c.a, c.b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		rng := rand.New(rand.NewPCG(1, 5))
		excess := func(x []float64) float64 {
			sum, most := -1.0, 0.0
			for _, v := range x {
				sum, most = sum+v, math.Max(most, -v)
			}
			for i, row := range c.a {
				size, d := 0.0, 0.0
				for _, v := range row {
					size = math.Max(size, math.Abs(v))
				}
				for j, v := range row {
					d += v / size * x[j]
				}
				most = math.Max(most, d-c.b[i]/size)
			}
			return math.Max(most, math.Abs(sum))
		}
		var inside [][]float64
		for range 20 {
			x := normal(rng, n)
			s.Project(x)
			inside = append(inside, x)
		}
		for _, far := range []float64{1e-6, 1, 1e3, 1e7, 1e12} {
			x := normal(rng, n)
			for j := range x {
				x[j] *= far
			}
			z := slices.Clone(x)
			if s.Project(z); excess(z) > 1e-10 {
				t.Errorf("%s: %v is projected to %v, which exceeds the constraints by %v", name, x, z, excess(z))
			}
			most := s.Maximize(x, nil)
			for _, u := range inside {
				along, value := 0.0, 0.0
				for j := range u {
					along += (x[j] - z[j]) * (u[j] - z[j])
					value += x[j] * u[j]
				}
				if along > 1e-6*(1+far) || value > most+1e-10*(1+far) {
					t.Errorf("%s: %v is projected to %v: %v is nearer (%v), or has more than the maximum %v: %v", name, x, z, u, along, most, value)
				}
			}
		}
	}
	if _, err := optim.NewPolytope(2, [][]float64{{1, 0}, {0, 1}}, []float64{0.5, 0.499999999}); !errors.Is(err, optim.ErrEmptySet) {
		t.Errorf("what misses the simplex by 1e-9 is not empty: %v", err)
	}
	if _, err := optim.NewPolytope(2, [][]float64{{3, 3}}, []float64{2.9}); !errors.Is(err, optim.ErrEmptySet) {
		t.Errorf("a row that no point meets is met: %v", err)
	}
}

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %.10g, want %.10g within %g", what, got, want, tol)
	}
}
