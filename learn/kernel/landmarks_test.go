package kernel

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// With all examples as landmarks, Nystrom is exact, and with fewer its projection is what the
// landmarks span: eigenvalues never larger.
func TestLandmarks(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	x, test := random(rng, 260, 3), random(rng, 9, 3)
	copy(x.Data[3:6], x.Data[:3]) // two landmarks are equal
	k := Vector{Kind: Gaussian, Width: 1.5}
	const r = 8
	exact, err := Project(k, x, r, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := ProjectLandmarks(k, x, x, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	some, err := ProjectLandmarks(k, x, x.Subset(Draw(260, 80, 1)), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := exact.Transform(test, nil)
	b, _ := whole.Transform(test, nil)
	near(t, "trace", whole.Trace, exact.Trace, 1e-12)
	for j := range r {
		near(t, "eigenvalue", whole.Values[j], exact.Values[j], 1e-9)
		if some.Values[j] > exact.Values[j]*(1+1e-9) || some.Values[j] < exact.Values[j]*0.97 {
			t.Errorf("eigenvalue %d from some landmarks: %g, exactly %g", j, some.Values[j], exact.Values[j])
		}
		for i := range test.Rows { // up to the sign
			near(t, "coordinate", math.Abs(b[i*r+j]), math.Abs(a[i*r+j]), 1e-6)
		}
	}
	if s := some.Share(r); s <= 0.5 || s > exact.Share(r) {
		t.Errorf("share %g, exactly %g", s, exact.Share(r))
	}
}

// Coordinates have the moments and the values that the theory says, and all of them
// give the kernel back.
func TestProjection(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	x := random(rng, 40, 3)
	for _, centre := range []bool{false, true} {
		for _, k := range []Vector{{Kind: Gaussian}, {Kind: Polynomial, Offset: 1}, {Kind: Linear}} {
			p, err := Project(k, x, 40, centre, nil)
			if err != nil && !errors.Is(err, ErrRank) {
				t.Fatal(err)
			}
			if want := map[Kind]int{Gaussian: 40, Polynomial: 10, Linear: 3}[k.Kind]; !centre && p.Rank() != want {
				t.Errorf("%s: rank %d, want %d", k.Name(), p.Rank(), want)
			}
			r := p.Rank()
			z, err := p.Transform(x, nil)
			if err != nil {
				t.Fatal(err)
			}
			for a := range r {
				for b := range a + 1 {
					s := 0.0
					for i := range 40 {
						s += z[i*r+a] * z[i*r+b] / 40
					}
					want := 0.0
					if a == b {
						want = p.Values[a]
					}
					near(t, "moment", s, want, 1e-8)
				}
			}
			gram, _ := Gram(k, x, nil)
			if centre {
				NewCentring(gram, 40).Gram(gram)
			}
			for i := range 40 {
				for j := range 40 {
					near(t, "kernel of the coordinates", dot(z[i*r:(i+1)*r], z[j*r:(j+1)*r]), gram[i*40+j], 1e-8)
				}
			}
		}
	}
}

// Iterations arrive at the solution of the normal equations; all examples as landmarks are
// Ridge; and single precision is near.
func TestLandmarkRidge(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 5))
	const n, outputs, c = 2300, 2, 0.5 // more than one block of rows
	x, test := random(rng, n, 4), random(rng, 50, 4)
	k := Vector{Kind: Gaussian, Width: 2}
	y := make([]float64, n*outputs)
	for i := range n {
		y[i*2], y[i*2+1] = math.Sin(2*x.Row(i)[0])+x.Row(i)[1], rng.NormFloat64()
	}
	z := x.Subset(Draw(n, 60, 2))
	var exact []float64
	fit := func(o LandmarkOptions) []float64 {
		res, err := LandmarkRidge(k, x, z, y, outputs, c, &o)
		if err != nil {
			t.Fatal(err)
		}
		cross, _ := Cross(k, test, z, nil)
		out := make([]float64, 50*outputs)
		if o.Single {
			// Directions of little weight are damped by rounding: what counts is the objective.
			all, _ := Cross(k, x, z, nil)
			kzz, _ := Gram(k, z, nil)
			near(t, "objective", objective(all, kzz, y, res.Weights, outputs, c),
				objective(all, kzz, y, exact, outputs, c), 0.04)
			return nil
		}
		exact = res.Weights
		for i := range 50 {
			for j := range z.Rows {
				axpy(cross[i*z.Rows+j], res.Weights[j*outputs:(j+1)*outputs], out[i*outputs:(i+1)*outputs])
			}
		}
		if o.Iterations > 0 && (res.Residual > 1e-9 || res.Iterations > 90) {
			t.Errorf("residual %g after %d iterations", res.Residual, res.Iterations)
		}
		return out
	}
	direct := fit(LandmarkOptions{})
	for name, o := range map[string]struct {
		LandmarkOptions
		tolerance float64
	}{
		"iterations": {LandmarkOptions{Iterations: 100, Tolerance: 1e-9}, 1e-6},
		"single":     {LandmarkOptions{Single: true}, 0},
		"one worker": {LandmarkOptions{Options: Options{Workers: 1}}, 0},
	} {
		for i, v := range fit(o.LandmarkOptions) {
			near(t, name, v, direct[i], o.tolerance)
		}
	}
	small := x.Subset(Draw(n, 120, 3))
	part := y[:120*outputs]
	res, err := LandmarkRidge(k, small, small, part, outputs, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	gram, _ := Gram(k, small, nil)
	r, _ := NewRidge(gram, 120, c, nil)
	want := slices.Clone(part)
	if err := r.Solve(want, outputs); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		want[i] -= res.Weights[i]
	}
	for i := range 120 { // weights may differ where predictions do not
		for o := range outputs {
			d := 0.0
			for j := range 120 {
				d += gram[i*120+j] * want[j*outputs+o]
			}
			near(t, "prediction", d, 0, 1e-8)
		}
	}
}

// objective is what LandmarkRidge minimises.
func objective(knm, kmm, y, w []float64, outputs int, c float64) float64 {
	m := len(w) / outputs
	value := 0.0
	for o := range outputs {
		v := make([]float64, m)
		for j := range m {
			v[j] = w[j*outputs+o]
		}
		for i := range len(y) / outputs {
			d := dot(knm[i*m:(i+1)*m], v) - y[i*outputs+o]
			value += d * d
		}
		for j := range m {
			value += c * v[j] * dot(kmm[j*m:(j+1)*m], v)
		}
	}
	return value
}

// Landmarks that are drawn far apart, or by leverage, span more than evenly drawn ones where most
// examples lie close together. Approximate scores are near the exact ones.
func TestChoiceOfLandmarks(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 5))
	x := random(rng, 600, 2)
	for i := range 560 {
		x.Data[2*i], x.Data[2*i+1] = 0.01*x.Data[2*i], 0.01*x.Data[2*i+1]
	}
	for i := 560; i < 600; i++ {
		x.Data[2*i] += float64(i-560) * 3
	}
	k := Vector{Kind: Gaussian, Width: 1}
	const m, c = 60, 0.6
	exact, err := Leverage(k, x, x, Draw(600, 600, 1), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	gram, _ := Gram(k, x, nil)
	r, _ := NewRidge(gram, 600, c, nil)
	inv, _ := r.InverseDiagonal()
	for i, v := range exact { // K(K+cI)⁻¹ = I - c(K+cI)⁻¹
		near(t, "leverage", v, 1-c*inv[i], 1e-9)
	}
	at := Draw(600, 150, 1)
	pilot, err := Leverage(k, x, x.Subset(at), at, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range pilot {
		if v < exact[i]*0.5 {
			t.Errorf("leverage %d: %g from a pilot, %g exactly", i, v, exact[i])
		}
	}
	spread, err := Spread(k, x, m, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Compact(slices.Sorted(slices.Values(spread))); len(got) != m {
		t.Errorf("%d different ones", len(got))
	}
	lost := func(list []int) float64 { // the trace that landmarks leave out
		p, err := ProjectLandmarks(k, x, x.Subset(list), m, nil)
		if err != nil && !errors.Is(err, ErrRank) {
			t.Fatal(err)
		}
		return 1 - p.Share(p.Rank())
	}
	even := lost(Draw(600, m, 1))
	for name, list := range map[string][]int{"spread": spread, "leverage": DrawWeighted(pilot, m, 1)} {
		if v := lost(list); v > even/5 {
			t.Errorf("%s landmarks lose %g of the trace, evenly drawn ones %g", name, v, even)
		}
	}
	equal := NewMatrix(5, 1, []float64{1, 2, 1, 2, 1})
	if got, err := Spread(k, equal, 4, 1, nil); err != nil || len(got) != 2 {
		t.Errorf("%v of two different rows: %v", got, err)
	}
}

func TestKMeans(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 5))
	x := random(rng, 300, 2)
	for i := range 300 {
		x.Data[2*i] += float64(i%3) * 20
	}
	centres, of, err := KMeans(x, 3, 1, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		if of[i] != of[i%3] {
			t.Fatalf("row %d is in another cluster", i)
		}
	}
	for c := range 3 {
		mean, n := [2]float64{}, 0.0
		for i, o := range of {
			if o == c {
				mean[0], mean[1], n = mean[0]+x.Data[2*i], mean[1]+x.Data[2*i+1], n+1
			}
		}
		near(t, "centre", centres.Row(c)[0], mean[0]/n, 1e-12)
		near(t, "centre", centres.Row(c)[1], mean[1]/n, 1e-12)
	}
}

// The mean error of random features falls as 1/√D, and second moments added up in any
// blocks are those of all rows.
func TestFourier(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 5))
	x := random(rng, 30, 3)
	for _, k := range []Vector{{Kind: Gaussian, Width: 1.3}, {Kind: Laplacian, Width: 2},
		{Kind: Gaussian, Columns: []int{2}}} {
		gram, _ := Gram(k, x, nil)
		mean := func(d int) float64 {
			total := 0.0
			const seeds = 24
			for seed := range uint64(seeds) {
				f, err := NewFourier(k, 3, d, seed)
				if err != nil {
					t.Fatal(err)
				}
				z, err := f.Features(x, nil)
				if err != nil {
					t.Fatal(err)
				}
				zs, _ := f.Features(sparse(x), nil)
				for i := range z {
					near(t, "sparse", zs[i], z[i], 1e-12)
				}
				for i := range 30 {
					for j := range i {
						total += math.Abs(dot(z[i*d:(i+1)*d], z[j*d:(j+1)*d]) - gram[i*30+j])
					}
				}
			}
			return total / seeds / 435
		}
		a, b := mean(64), mean(1024)
		if ratio := a / b; ratio < 3 || ratio > 5.3 || a > 0.2 {
			t.Errorf("%s: errors %g and %g of 64 and 1024 features: a ratio of %g, not 4", k.Name(), a, b, ratio)
		}
	}
	f, _ := NewFourier(Vector{Kind: Gaussian}, 3, 20, 1)
	z, _ := f.Features(x, nil)
	a, b := NewMoments(20), NewMoments(20)
	a.Add(z, 1)
	b.Add(z[:11*20], 2)
	b.Add(z[11*20:], 1)
	s, err := a.Top(5, nil)
	if err != nil {
		t.Fatal(err)
	}
	u, _ := b.Top(5, nil)
	for j := range 5 {
		near(t, "eigenvalue", u.Values[j], s.Values[j], 1e-12)
	}
	// They are the eigenvalues of the features' own linear kernel.
	p, err := Project(Vector{Kind: Linear}, NewMatrix(30, 20, z), 5, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "trace", s.Trace, p.Trace, 1e-12)
	for j := range 5 {
		near(t, "eigenvalue", s.Values[j], p.Values[j], 1e-12)
	}
	if _, err := NewFourier(Vector{Kind: Linear}, 3, 20, 1); err == nil {
		t.Error("random features of the linear kernel")
	}
}
