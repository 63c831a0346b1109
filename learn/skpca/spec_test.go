package skpca

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/kernel"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// drawn is a small problem: rows whose labels depend on one column and a circle.
func drawn(rng *rand.Rand, n, d int) (*kernel.Matrix, []float64) {
	x := kernel.NewMatrix(n, d, make([]float64, n*d))
	y := make([]float64, n)
	for i := range n {
		row := x.Row(i)
		for j := range row {
			row[j] = rng.NormFloat64() * float64(d-j)
		}
		y[i] = 1
		if row[d-1]+0.3*rng.NormFloat64()+0.2*(row[0]*row[0]/float64(d*d)-1) < 0 {
			y[i] = -1
		}
	}
	return x, y
}

func gaussians(widths ...float64) []kernel.Vector {
	var out []kernel.Vector
	for _, w := range widths {
		out = append(out, kernel.Vector{Kind: kernel.Gaussian, Width: w})
	}
	return out
}

// best is the optimum of a search.
func best(t *testing.T, m *set, s *sample, gamma float64, how Search) *fit {
	t.Helper()
	f, _, err := (&searcher{set: m, sample: s, gamma: gamma, maxCells: 2000, workers: 1}).best(how, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Test 1: features have the moments μλ, are uncorrelated within a kernel, are √(uλ)v on the
// sample, and all of them give K_μ back.
func TestFeatureIdentities(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	x, y := drawn(rng, 30, 3)
	kernels := append(gaussians(1.5, 4), kernel.Vector{Kind: kernel.Linear})
	m, s := sampleOf(t, kernels, nil, x, y, 30)
	mu := []float64{0.5, 0.3, 0.2}
	want := make([]float64, 900)
	got := make([]float64, 900)
	for k, kern := range kernels {
		gram, _ := kernel.Gram[*kernel.Matrix](kern, x, nil)
		for i, v := range gram {
			want[i] += mu[k] * v
		}
		all := len(m.values[k])
		for a := range all {
			for b := range a + 1 {
				sum := 0.0
				for i := range 30 {
					sum += s.phi[k][i*all+a] * s.phi[k][i*all+b] / 30
				}
				if a == b {
					sum -= m.values[k][a]
				}
				near(t, "moment", sum, 0, 1e-9)
			}
		}
		for i := range 30 {
			for j := range 30 {
				for a := range all {
					got[i*30+j] += mu[k] * s.phi[k][i*all+a] * s.phi[k][j*all+a]
				}
			}
		}
	}
	for i := range want {
		near(t, "K_mu", got[i], want[i], 1e-7)
	}
}

// Test 2, lemma E.1: the squared norm of the projection of Σ σΦ is m Σ_I μλ(vᵀσ)²: the
// features times σ.
func TestProjectionNorm(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	x, y := drawn(rng, 20, 3)
	kernels := []kernel.Vector{{Kind: kernel.Linear}, {Kind: kernel.Polynomial, Offset: 1, Width: 3}}
	m, s := sampleOf(t, kernels, nil, x, y, 4)
	mu := []float64{0.6, 0.01}
	counts := m.topSet(mu)
	sigma := make([]float64, 20)
	for i := range sigma {
		sigma[i] = float64(1 - 2*rng.IntN(2))
	}
	left, right := 0.0, 0.0
	for k, c := range counts {
		// v_kj from the Gram matrix itself.
		gram, _ := kernel.Gram[*kernel.Matrix](kernels[k], x, nil)
		spectrum, err := kernel.Top(gram, 20, c, nil)
		if err != nil {
			t.Fatal(err)
		}
		for j := range c {
			vs, fs := 0.0, 0.0
			for i, e := range sigma {
				vs += e * spectrum.Vectors[i*c+j]
				fs += e * s.phi[k][i*len(m.values[k])+j]
			}
			right += 20 * mu[k] * spectrum.Values[j] / 20 * vs * vs
			left += mu[k] * fs * fs
		}
	}
	near(t, "norm", left, right, 1e-9)
}

// Test 3: one kernel is uncentred kernel PCA and a linear classifier; the linear kernel with
// all its features is logistic regression on the rows themselves.
func TestOneKernel(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	x, y := drawn(rng, 60, 4)
	m, s := sampleOf(t, []kernel.Vector{{Kind: kernel.Linear}}, nil, x, y, 4)
	m.lambda = math.Inf(1) // the kernel is not brought to 1
	const gamma = 0.02
	f := best(t, m, s, gamma, Exact)
	near(t, "mu", f.mu[0], 1, 1e-6)
	plain := &problem{sample: s, x: x.Data, y: y, d: 4, penalty: slices.Repeat([]float64{gamma}, 4),
		f: make([]float64, 60), g: make([]float64, 60), h: make([]float64, 60), scaled: make([]float64, 240)}
	w := make([]float64, 4)
	value, _, err := optim.Newton{Tolerance: 1e-14}.Minimize(plain, w)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "value", f.value, value, 1e-6)
	design := s.design(m.values, f.counts)
	for i := range 60 {
		a, b := 0.0, 0.0
		for j := range 4 {
			a += design[i*4+j] * f.theta[0][j]
			b += x.Row(i)[j] * w[j]
		}
		near(t, "score", a, b, 1e-5)
	}
	// Least squares on r features have a closed form: θ_j = mean(yφ_j)/(λ_j + γ/μ), since the
	// features are uncorrelated on the sample.
	m, s = sampleOf(t, gaussians(3), nil, x, y, 5)
	s.loss = score.Squared{}
	f = best(t, m, s, gamma, Exact)
	for j := range 5 {
		mean := 0.0
		for i := range 60 {
			mean += y[i] * s.phi[0][i*len(m.values[0])+j] / 60
		}
		near(t, "theta", f.theta[0][j], mean/(m.values[0][j]+gamma/f.mu[0]), 1e-8)
	}
	// Ky-Fan binds: μ = Λ/Σλ.
	m.lambda = 0.1
	f = best(t, m, s, gamma, Exact)
	near(t, "mu", f.mu[0], 0.1/m.partial(0, 5), 1e-6)
}

// Test 5: the exact search is at least as good as the local one, that as two stages, and a
// grid over μ never beats the exact one.
func TestSearches(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 5))
		x, y := drawn(rng, 40, 3)
		kernels := gaussians(2, 6)
		if seed%2 == 1 {
			kernels = []kernel.Vector{{Kind: kernel.Gaussian, Width: 2, Columns: []int{0}},
				{Kind: kernel.Gaussian, Width: 2, Columns: []int{2}}}
		}
		m, s := sampleOf(t, kernels, nil, x, y, 4)
		s.free = seed%3 == 0
		m.nu = []float64{math.Inf(1), 8, 40}[seed%3]
		if seed > 3 {
			m.lambda = 0.7
		}
		const gamma = 0.01
		exact, local, two := best(t, m, s, gamma, Exact), best(t, m, s, gamma, Local),
			best(t, m, s, gamma, TwoStage)
		if exact.value > local.value*(1+1e-6) || local.value > two.value*(1+1e-6) {
			t.Errorf("seed %d: exact %g, local %g, two stages %g", seed, exact.value, local.value, two.value)
		}
		for a := 0.01; a < 1; a += 0.01 {
			for _, total := range []float64{1, 0.7, 0.4} {
				mu := []float64{a * total, (1 - a) * total}
				if m.kyFan(mu) > m.lambda || 1/mu[0]+1/mu[1] > m.nu {
					continue
				}
				f, err := s.frozen(m.values, m.topSet(mu), mu, gamma, nil)
				if err != nil {
					t.Fatal(err)
				}
				if f.value < exact.value*(1-1e-6) {
					t.Errorf("seed %d: %g at mu %v, %g by the exact search", seed, f.value, mu, exact.value)
				}
			}
		}
	}
}

// Test 6: P(c) is jointly convex, and turns over θ and μ end where a solver of both at once
// does; the certificate agrees.
func TestJointConvexity(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	x, y := drawn(rng, 40, 3)
	m, s := sampleOf(t, gaussians(1, 3, 8), nil, x, y, 5)
	m.nu, m.lambda = 30, 0.5
	counts := []int{1, 2, 2}
	r, err := newRegion(m, counts)
	if err != nil {
		t.Fatal(err)
	}
	const gamma = 0.02
	design := s.design(m.values, counts)
	j := &joint{sample: s, x: design, counts: counts, gamma: gamma}
	for range 200 {
		a, b := j.draw(rng, r), j.draw(rng, r)
		mid := make([]float64, len(a))
		for i := range mid {
			mid[i] = (a[i] + b[i]) / 2
		}
		if j.value(mid) > (j.value(a)+j.value(b))/2+1e-12 {
			t.Fatal("the middle lies above")
		}
	}
	f, err := s.solve(r, gamma, math.Inf(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	gap, err := f.certificate(r, gamma)
	if err != nil {
		t.Fatal(err)
	}
	if gap > 1e-4*f.value {
		t.Errorf("certificate %g of %g", gap, f.value)
	}
	// The barrier method over θ and μ together.
	rows := make([]optim.Inside, len(r.rows))
	for i, row := range r.rows {
		rows[i] = &behind{row, 5}
	}
	z := append(make([]float64, 5), r.mid...)
	both := &optim.Interior{F: j, Constraints: rows, Gap: 1e-9}
	value, _, err := both.Minimize(z)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "value", f.value, value, 2e-6)
	// Enough: a cell that cannot be below is given up, and no other.
	if g, err := s.solve(r, gamma, f.value*0.9, nil); err != nil || g != nil {
		t.Error("a cell above the bound was solved", err)
	}
	if g, err := s.solve(r, gamma, f.value*1.1, nil); err != nil || g == nil {
		t.Error("a cell below the bound was given up", err)
	}
}

// joint is the objective of P(c) as a function of θ and μ.
type joint struct {
	*sample
	x      []float64
	counts []int
	gamma  float64
}

func (j *joint) Dim() int { return 5 + len(j.counts) }

func (j *joint) draw(rng *rand.Rand, r *region) []float64 {
	z := make([]float64, 5, 8)
	for i := range z {
		z[i] = rng.NormFloat64()
	}
	for _, v := range r.mid {
		z = append(z, v*(0.5+rng.Float64()))
	}
	return z
}

func (j *joint) value(z []float64) float64 { return j.Curve(z, nil, nil) }

func (j *joint) Curve(z, grad, hess []float64) float64 {
	d := len(z)
	v := 0.0
	for i := range j.m {
		row, s := j.x[i*5:(i+1)*5], 0.0
		for k, a := range row {
			s += a * z[k]
		}
		m := j.y[0][i] * s
		v += score.Softplus(-m) / float64(j.m)
		if grad == nil {
			continue
		}
		q := score.Sigmoid(-m)
		for k, a := range row {
			grad[k] -= q * j.y[0][i] * a / float64(j.m)
			for l, b := range row[:k+1] {
				hess[k*d+l] += q * (1 - q) * a * b / float64(j.m)
			}
		}
	}
	at := 0
	for k, c := range j.counts {
		mu := z[5+k]
		if mu <= 0 {
			return math.Inf(1)
		}
		for range c {
			a := z[at]
			v += j.gamma / 2 * a * a / mu
			if grad != nil {
				grad[at] += j.gamma * a / mu
				grad[5+k] -= j.gamma / 2 * a * a / (mu * mu)
				hess[at*d+at] += j.gamma / mu
				hess[(5+k)*d+at] -= j.gamma * a / (mu * mu)
				hess[(5+k)*d+5+k] += j.gamma * a * a / (mu * mu * mu)
			}
			at++
		}
	}
	return v
}

// behind is a constraint on the coordinates after some others.
type behind struct {
	optim.Inside
	skip int
}

func (b *behind) Slack(x []float64) float64 { return b.Inside.Slack(x[b.skip:]) }

func (b *behind) AddBarrier(x []float64, weight float64, grad, hess []float64) {
	n, d := len(x)-b.skip, len(x)
	part := make([]float64, n*n)
	b.Inside.AddBarrier(x[b.skip:], weight, grad[b.skip:], part)
	for i := range n {
		for j := range i + 1 {
			hess[(b.skip+i)*d+b.skip+j] += part[i*n+j]
		}
	}
}

// Test 7: dJ/dμ is what differences say inside a cell, and J jumps where a feature changes
// place.
func TestSlopeAndJump(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	x, y := drawn(rng, 50, 3)
	kernels := []kernel.Vector{{Kind: kernel.Gaussian, Width: 2, Columns: []int{0}},
		{Kind: kernel.Gaussian, Width: 1, Columns: []int{2}}}
	m, s := sampleOf(t, kernels, nil, x, y, 4)
	const gamma = 0.05
	at := func(mu []float64, counts []int) *fit {
		f, err := s.frozen(m.values, counts, mu, gamma, nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	mu := []float64{0.45, 0.5}
	counts := m.topSet(mu)
	g := at(mu, counts).slope(gamma)
	for k := range mu {
		const e = 1e-5
		up, down := slices.Clone(mu), slices.Clone(mu)
		up[k] += e
		down[k] -= e
		want := (at(up, counts).value - at(down, counts).value) / (2 * e)
		if math.Abs(g[k]-want) > 1e-6*(1+math.Abs(want)) {
			t.Errorf("slope %d is %g, by differences %g", k, g[k], want)
		}
	}
	// The weight of kernel 0 at which its next feature enters for the last of kernel 1.
	border := mu[1] * m.values[1][counts[1]-1] / m.values[0][counts[0]]
	if next := mu[1] * m.values[1][counts[1]-1]; border*m.values[0][counts[0]] < next*0.99 {
		t.Fatal("no border")
	}
	below, above := []float64{border * (1 - 1e-9), mu[1]}, []float64{border * (1 + 1e-9), mu[1]}
	a, b := at(below, m.topSet(below)), at(above, m.topSet(above))
	if slices.Equal(a.counts, b.counts) || math.Abs(a.value-b.value) < 1e-4 {
		t.Errorf("no jump: %v and %v", a, b)
	}
}

// Test 8: the μ-step has closed forms where few constraints hold with equality.
func TestMuStep(t *testing.T) {
	m := &set{values: [][]float64{{0.5, 0.01}, {0.45, 0.01}, {0.4, 0.01}}, r: 3, lambda: math.Inf(1),
		nu: math.Inf(1), ctx: context.Background()}
	a := []float64{1, 1.2, 0.9}
	step := func() []float64 {
		r, err := newRegion(m, []int{1, 1, 1})
		if err != nil {
			t.Fatal(err)
		}
		mu, err := r.reciprocal(a, r.spread(r.mid), 1e-12)
		if err != nil {
			t.Fatal(err)
		}
		return mu
	}
	roots := 0.0
	for _, v := range a {
		roots += math.Sqrt(v)
	}
	for k, v := range step() {
		near(t, "sum alone", v, math.Sqrt(a[k])/roots, 1e-6)
	}
	// With the Ky-Fan norm: √(a/(t1 + t2 s)); the multipliers are drawn and the bounds follow.
	mu := make([]float64, 3)
	fill := func(t1, t2, t3 float64) (sum, kyfan, inverse float64) {
		for k := range mu {
			mu[k] = math.Sqrt((a[k] + t3) / (t1 + t2*m.values[k][0]))
			sum, kyfan, inverse = sum+mu[k], kyfan+mu[k]*m.values[k][0], inverse+1/mu[k]
		}
		return
	}
	// μ scales with the multipliers: of those with the ratio 2, that of sum 1.
	sum, _, _ := fill(1, 2, 0)
	_, kyfan, _ := fill(sum*sum, 2*sum*sum, 0)
	m.lambda = kyfan
	for k, v := range step() {
		near(t, "with the Ky-Fan norm", v, mu[k], 1e-5)
	}
	// And with nu.
	sum, _, _ = fill(1, 2, 5)
	_, kyfan, inverse := fill(sum*sum, 2*sum*sum, 5)
	m.lambda, m.nu = kyfan, inverse
	for k, v := range step() {
		near(t, "with nu", v, mu[k], 1e-4)
	}
}

// Tests 9 and 10: more room never makes the exact optimum worse. Constraints hold, the Ky-Fan norm
// is that of the whole spectrum, and I is the true top set.
func TestMonotoneAndFeasible(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	x, y := drawn(rng, 40, 3)
	m, s := sampleOf(t, gaussians(1, 3, 9), nil, x, y, 4)
	const gamma = 0.01
	full := make([][]float64, 3)
	for k, kern := range gaussians(1, 3, 9) {
		gram, _ := kernel.Gram[*kernel.Matrix](kern, x, nil)
		spectrum, _ := kernel.Top(gram, 40, 40, nil)
		for _, v := range spectrum.Values {
			full[k] = append(full[k], v/40)
		}
	}
	last := math.Inf(1)
	for _, lambda := range []float64{0.3, 0.5, 0.7, 1} {
		m.lambda, m.nu = lambda, 20
		f := best(t, m, s, gamma, Exact)
		if f.value > last*(1+1e-6) {
			t.Errorf("lambda %g: %g is worse than %g", lambda, f.value, last)
		}
		last = f.value
		sum, inverse := 0.0, 0.0
		var pooled []float64
		var tops []int
		for k, v := range f.mu {
			sum, inverse = sum+v, inverse+1/v
			for j, l := range full[k] {
				pooled = append(pooled, v*l)
				if j < f.counts[k] {
					tops = append(tops, len(pooled)-1)
				}
			}
		}
		kyfan, inI := 0.0, 0.0
		for _, i := range tops {
			inI += pooled[i]
		}
		slices.Sort(pooled)
		for _, v := range pooled[len(pooled)-4:] {
			kyfan += v
		}
		near(t, "Ky-Fan norm of I", inI, kyfan, 1e-9)
		if sum > 1+1e-9 || kyfan > lambda+1e-9 || inverse > 20+1e-9 {
			t.Errorf("lambda %g: sum %g, norm %g, inverse %g", lambda, sum, kyfan, inverse)
		}
	}
	last = math.Inf(1)
	m.lambda = 0.6
	for _, nu := range []float64{9.2, 10, 12, 30, math.Inf(1)} {
		m.nu = nu
		f := best(t, m, s, gamma, Exact)
		if f.value > last*(1+1e-6) {
			t.Errorf("nu %g: %g is worse than %g", nu, f.value, last)
		}
		last = f.value
	}
	// Test 11: nu = p² leaves equal weights.
	m.nu, m.lambda = 9, math.Inf(1)
	for k, v := range best(t, m, s, gamma, Exact).mu {
		near(t, fmt.Sprintf("mu_%d", k), v, 1.0/3, 1e-12)
	}
}

// Test 12: the order of kernels changes nothing, and a copy of a kernel makes nothing worse. A
// kernel times a constant is the same after scaling.
func TestKernelsPermuted(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	x, y := drawn(rng, 40, 3)
	const gamma = 0.01
	value := func(nu float64, widths ...float64) float64 {
		m, s := sampleOf(t, gaussians(widths...), nil, x, y, 4)
		m.nu = nu
		return best(t, m, s, gamma, Exact).value
	}
	near(t, "permuted", value(20, 1, 3, 9), value(20, 9, 1, 3), 1e-6)
	one, copies := value(math.Inf(1), 3), value(math.Inf(1), 3, 3)
	// Split weights cost as much as whole ones, so a copy is of no use either.
	near(t, "a copy", copies, one, 1e-6*one)
}

// Test 12, last part: a kernel times a constant is the same once it is normalised.
func TestKernelTimesConstant(t *testing.T) {
	x := rings(60, 2, 12)
	large := *x
	large.Columns = slices.Clone(x.Columns)
	for j := range large.Columns {
		large.Columns[j].Values = slices.Clone(x.Columns[j].Values)
		for i := range large.Columns[j].Values {
			large.Columns[j].Values[i] *= 8 // of the linear kernel 64
		}
	}
	o := &Options{Raw: true, Kernels: []string{"linear", "linear@1-2"}, Rank: []int{3}, Nu: []float64{2}}
	a, err := trained(t, x, o, nil).Predict(context.Background(), x, 1)
	if err != nil {
		t.Fatal(err)
	}
	b, err := trained(t, &large, o, nil).Predict(context.Background(), &large, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range a.Score {
		near(t, "score", b.Score[i], v, 1e-9)
	}
}

// Test 13: orthogonal maps of the rows change no Gaussian or linear model.
func TestRotation(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 1))
	x, y := drawn(rng, 40, 2)
	z := kernel.NewMatrix(40, 2, make([]float64, 80))
	sin, cos := math.Sincos(0.7)
	for i := range 40 {
		z.Row(i)[0], z.Row(i)[1] = cos*x.Row(i)[0]-sin*x.Row(i)[1], sin*x.Row(i)[0]+cos*x.Row(i)[1]
	}
	kernels := append(gaussians(2, 5), kernel.Vector{Kind: kernel.Linear})
	scale := []float64{1, 1, 0.02}
	ma, sa := sampleOf(t, kernels, scale, x, y, 3)
	mb, sb := sampleOf(t, kernels, scale, z, y, 3)
	ma.nu, mb.nu = 20, 20
	a, b := best(t, ma, sa, 0.01, Exact), best(t, mb, sb, 0.01, Exact)
	near(t, "value", a.value, b.value, 1e-7)
	for k := range a.mu {
		near(t, "mu", a.mu[k], b.mu[k], 1e-4)
	}
}

// Test 16: for one kernel the exact Rademacher complexity, by enumeration of all signs, lies
// between the bounds. For several, B1 and B2 are above it over every cell.
func TestBounds(t *testing.T) {
	near(t, "kappa", Kappa(1, 0.05), 9.4324, 1e-5)
	near(t, "kappa", Kappa(2, 0.05), 9.9208, 1e-5)
	near(t, "kappa", Kappa(10, 0.05), 10.9233, 1e-5)
	near(t, "theorem 7.4", StatedBound(0.5, 12, 0.1, 0.05, 3, 10000), 2.4852323262, 1e-10)
	near(t, "U = S", TransductiveBound(0.5, 3, 10000), 0.0331694134, 1e-9)
	rng := rand.New(rand.NewPCG(16, 1))
	for trial := range 6 {
		const n = 9
		x, y := drawn(rng, n, 2)
		for r := 1; r <= 4; r++ {
			m, _ := sampleOf(t, gaussians(1.5), nil, x, y, r)
			lambda := 0.8 * m.values[0][0]
			// The exact value: √(Λ/m) E √(Σ_j π_j (v_j·σ)²), over all signs.
			gram, _ := kernel.Gram[*kernel.Matrix](gaussians(1.5)[0], x, nil)
			spectrum, _ := kernel.Top(gram, n, r, nil)
			total, mean := 0.0, 0.0
			for _, v := range spectrum.Values {
				total += v
			}
			for signs := range 1 << n {
				sum := 0.0
				for j, v := range spectrum.Values {
					vs := 0.0
					for i := range n {
						vs += float64(1-2*(signs>>i&1)) * spectrum.Vectors[i*r+j]
					}
					sum += v / total * vs * vs
				}
				mean += math.Sqrt(lambda/n*sum) / (1 << n)
			}
			if low, high := LowerBound(lambda, n), TransductiveBound(lambda, 1, n); low > mean || mean > high {
				t.Errorf("r=%d: %g is not between %g and %g", r, mean, low, high)
			}
		}
		// Two kernels from a sample apart: sup over μ by a grid over all of M, all signs.
		u, _ := drawn(rng, 40, 2)
		kernels := gaussians(1, 4)
		const r, lambda = 3, 0.6
		m := &set{r: r, lambda: lambda, nu: math.Inf(1), ctx: context.Background()}
		var phi [][]float64
		for _, kern := range kernels {
			p, err := kernel.Project[*kernel.Matrix](kern, u, r, false, nil)
			if err != nil {
				t.Fatal(err)
			}
			f, _ := p.Transform(x, nil)
			m.values, phi = append(m.values, p.Values), append(phi, f)
		}
		mean := 0.0
		for signs := range 1 << n {
			var a [2][r + 1]float64
			for k := range 2 {
				for j := range r {
					s := 0.0
					for i := range n {
						s += float64(1-2*(signs>>i&1)) * phi[k][i*r+j]
					}
					a[k][j+1] = a[k][j] + s*s
				}
			}
			most := 0.0
			for g := 0; g <= 100; g++ {
				mu := []float64{float64(g) / 100, 1 - float64(g)/100}
				if top := m.kyFan(mu); top > lambda {
					mu[0], mu[1] = mu[0]*lambda/top, mu[1]*lambda/top
				}
				c := m.topSet(mu)
				most = max(most, mu[0]*a[0][c[0]]+mu[1]*a[1][c[1]])
			}
			mean += math.Sqrt(most) / n / (1 << n)
		}
		if b1, b2 := IndependentBound(m.values, phi, n, r, lambda); mean > min(b1, b2) {
			t.Errorf("trial %d: %g exactly, bounds %g and %g", trial, mean, b1, b2)
		}
	}
	// The corrected identity of proposition 7.7: ‖P_A - P_B‖ = ‖A-B‖/gap for A = diag(1+e, 1),
	// B = diag(1, 1+e).
	for _, e := range []float64{0.5, 0.01} {
		pa, _ := kernel.Top([]float64{1 + e, 0, 0, 1}, 2, 1, nil)
		pb, _ := kernel.Top([]float64{1, 0, 0, 1 + e}, 2, 1, nil)
		var d [4]float64
		for i := range 2 {
			for j := range 2 {
				d[i*2+j] = pa.Vectors[i]*pa.Vectors[j] - pb.Vectors[i]*pb.Vectors[j]
			}
		}
		low, high, err := kernel.Extremes(d[:], 2, nil)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "distance of projections", max(high, -low), e/e, 1e-12)
	}
}

// Test 14: Nystrom with all rows is exact is a test of package kernel; here a search in a ball
// puts the classifier on its border, as its multiplier would.
func TestNormBall(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 1))
	x, y := drawn(rng, 50, 3)
	m, s := sampleOf(t, gaussians(2, 5), nil, x, y, 4)
	for i := range s.phi {
		for j := range s.phi[i] {
			s.phi[i][j] /= 2
		}
	}
	q := &searcher{set: m, sample: s, maxCells: 100, workers: 1, ball: 1}
	f, _, err := q.best(Exact, nil)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "norm", f.norm, 1, 1e-6)
	for _, gamma := range []float64{1e-3, 1e-2, 0.1, 1} { // no point of the ball has less loss
		g := best(t, m, s, gamma, Exact)
		if g.norm <= 1 && g.loss < f.loss-1e-7 {
			t.Errorf("gamma %g: loss %g with norm %g, in the ball %g", gamma, g.loss, g.norm, f.loss)
		}
	}
}

// Warm starts and workers change no result.
func TestPathAndWorkers(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 1))
	x, y := drawn(rng, 60, 3)
	m, s := sampleOf(t, gaussians(1, 2, 4, 8), nil, x, y, 6)
	m.nu = 60
	var last *fit
	for _, gamma := range []float64{0.1, 0.01, 0.001} {
		q := &searcher{set: m, sample: s, gamma: gamma, maxCells: 10, workers: 1}
		cold, _, err := q.best(Exact, nil)
		if err != nil {
			t.Fatal(err)
		}
		if last, _, err = q.best(Exact, last); err != nil {
			t.Fatal(err)
		}
		near(t, "warm", last.value, cold.value, 1e-6)
		q.workers = 3
		many, _, err := q.best(Exact, nil)
		if err != nil {
			t.Fatal(err)
		}
		if many.value != cold.value || !slices.Equal(many.mu, cold.mu) ||
			!slices.Equal(many.theta[0], cold.theta[0]) {
			t.Error("workers change bits")
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	m.ctx = ctx
	if _, _, err := (&searcher{set: m, sample: s, gamma: 0.1, maxCells: 10, workers: 1}).best(Local,
		nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
