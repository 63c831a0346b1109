package structured

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/kernel"
)

// Test 3: predictions under the 0-1 loss are those of one-versus-all least squares.
func TestZeroOneIsOneVersusAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, k = 40, 4
	x, q := points(rng, n, 3), points(rng, 30, 3)
	y := make([]int, n)
	all := []int{0, 1, 2, 3}
	for i := range y {
		y[i] = rng.IntN(k)
	}
	w := fit(t, gauss, x, 0.01, nil)
	ridge := must(kernel.NewRidge(must(kernel.Gram(gauss, x, nil))(t), n, w.C, nil))(t)
	coefficients := make([]float64, n*k)
	for i, c := range y {
		coefficients[i*k+c] = 1
	}
	if err := ridge.Solve(coefficients, k); err != nil {
		t.Fatal(err)
	}
	cross := must(kernel.Cross(gauss, q, x, nil))(t)
	m := must(NewMultiClass(y, k))(t)
	finite := must(NewFinite(Losses(all, y, ZeroOne[int], 1), n, true))(t)
	alpha := must(w.Weights(ctx, q, 1))(t)
	for r := range 30 {
		score := make([]float64, k)
		for i := range n {
			for c := range k {
				score[c] += cross[r*n+i] * coefficients[i*k+c]
			}
		}
		best := 0
		for c := range score {
			if score[c] > score[best] {
				best = c
			}
		}
		a := alpha[r*n:][:n]
		d := must(m.Decode(ctx, a))(t)
		if d.Output != best {
			t.Errorf("query %d: class %d, least squares say %d", r, d.Output, best)
		}
		f := must(finite.Decode(ctx, a))(t)
		if f.Output != best {
			t.Errorf("query %d: candidate %d, least squares say %d", r, f.Output, best)
		}
		near(t, "value", d.Value, f.Value, 1e-12)
		near(t, "margin", d.Margin, f.Margin, 1e-10)
	}
	for _, sign := range signs {
		a := draw(rng, n, sign)
		d := must(m.Decode(ctx, a))(t)
		values := finite.Values(a, 1, 1)
		proved(t, sign, d, values[d.Output], slices.Min(values))
	}
}

// Ties go to the lowest number; losses that are not finite are refused.
func TestFinite(t *testing.T) {
	f := must(NewFinite([]float64{1, 0, 0, 1, 1, 0}, 2, false))(t)
	d := must(f.Decode(ctx, []float64{1, 1}))(t)
	if d.Output != 0 || d.Margin != 0 || d.Exact != ExactOverCandidates {
		t.Errorf("%+v", d)
	}
	if _, err := NewFinite([]float64{1, math.Inf(1)}, 2, false); !errors.Is(err, ErrLoss) {
		t.Errorf("infinite loss: %v", err)
	}
	if _, err := NewFinite(nil, 2, false); !errors.Is(err, ErrOutputs) {
		t.Errorf("no candidate: %v", err)
	}
	if _, err := f.Decode(ctx, []float64{1, math.NaN()}); err == nil {
		t.Error("a weight of NaN passes")
	}
	many := must(f.DecodeAll([]float64{1, 1, 0, 1}, 2, 1))(t)
	if many[0].Output != 0 || many[1].Output != 0 || many[1].Value != 0 {
		t.Errorf("%+v", many)
	}
}

// A query like no training input has the output of least mean loss, and says so.
func TestNoWeight(t *testing.T) {
	m := must(NewMultiClass([]int{2, 1, 1, 0}, 3))(t)
	d := must(Decode(ctx, m, make([]float64, 4)))(t)
	if d.Output != 1 || !d.Degenerate || d.Value != 0 {
		t.Errorf("%+v", d)
	}
}

// Test 15: true conditional probabilities give the Bayes predictor, for a loss that is not
// symmetric.
func TestFisherConsistency(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	const x, y = 6, 5
	loss := make([]float64, y*y) // [prediction][truth]
	for i := range loss {
		loss[i] = rng.Float64()
	}
	// One training output of each value: weights are the probabilities.
	f := must(NewFinite(loss, y, true))(t)
	swapped := 0
	for range x {
		p := draw(rng, y, "positive")
		best, least := 0, math.Inf(1)
		other, low := 0, math.Inf(1)
		for c := range y {
			risk, back := 0.0, 0.0
			for v := range y {
				risk += p[v] * loss[c*y+v]
				back += p[v] * loss[v*y+c]
			}
			if risk < least {
				best, least = c, risk
			}
			if back < low {
				other, low = c, back
			}
		}
		if d := must(f.Decode(ctx, p))(t); d.Output != best {
			t.Errorf("decoded %d, Bayes predicts %d", d.Output, best)
		}
		if other != best {
			swapped++
		}
	}
	if swapped == 0 {
		t.Error("the test cannot tell swapped arguments")
	}
}

// The comparison inequality holds with factor 2, and not with the constant as printed.
func TestComparisonInequality(t *testing.T) {
	// Binary 0-1 loss: V = 11ᵀ - I has norm 1, psi norm 1.
	p := []float64{0.4, 0.6}
	g := []float64{0.5 + 1e-12, 0.5 - 1e-12}
	f := must(NewFinite([]float64{0, 1, 1, 0}, 2, true))(t)
	d := must(f.Decode(ctx, g))(t)
	risk := 1 - p[d.Output]
	excess := risk - 0.4
	surrogate := math.Sqrt(squaredDistance(g, p))
	near(t, "excess", excess, 0.2, 1e-9)
	near(t, "surrogate", surrogate, 0.1414213562, 1e-9)
	if excess <= surrogate || excess > 2*surrogate {
		t.Errorf("excess %v, surrogate %v", excess, surrogate)
	}
	rng := rand.New(rand.NewPCG(3, 2))
	for range 200 {
		a := rng.Float64()
		p, g := []float64{a, 1 - a}, []float64{a + rng.NormFloat64()/3, 1 - a + rng.NormFloat64()/3}
		d := must(f.Decode(ctx, g))(t)
		if excess := max(a, 1-a) - p[d.Output]; excess > 2*math.Sqrt(squaredDistance(g, p))+1e-12 {
			t.Errorf("p %v, g %v: excess %v", p, g, excess)
		}
	}
}

// Test 6: against all sets of labels.
func TestLabels(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	for trial := range 40 {
		l, n := 1+rng.IntN(7), 1+rng.IntN(8)
		truths := make([][]bool, n)
		for i := range truths {
			truths[i] = make([]bool, l)
			for j := range l {
				truths[i][j] = rng.IntN(3) == 0
			}
		}
		weight := draw(rng, l, "positive")
		alpha := draw(rng, n, signs[trial%3])
		least := func(loss Loss[[]bool], most int) float64 {
			f := math.Inf(1)
			for set := range 1 << l {
				y, on := make([]bool, l), 0
				for j := range l {
					if set>>j&1 != 0 {
						y[j] = true
						on++
					}
				}
				if on <= most {
					f = math.Min(f, Risk(loss, y, truths, alpha))
				}
			}
			return f
		}
		for _, most := range []int{0, 1, 2} {
			h := must(NewHamming(truths, weight, most))(t)
			d := must(h.Decode(ctx, alpha))(t)
			limit := most
			if most == 0 {
				limit = l
			}
			proved(t, "hamming", d, Risk(h.Loss, d.Output, truths, alpha), least(h.Loss, limit))
		}
		for _, loss := range []SetLoss{F1, Precision, Recall, Jaccard} {
			s := must(NewSets(truths, loss))(t)
			d := must(s.Decode(ctx, alpha))(t)
			if loss.Linear != (d.Exact == ExactOverSpace) {
				t.Errorf("%s is %s", loss.Name, d.Exact)
			}
			proved(t, loss.Name, d, Risk(s.Loss, d.Output, truths, alpha), least(s.Loss, l))
			for _, y := range truths { // a local search begins at the best of them
				if Risk(s.Loss, y, truths, alpha) < d.Value-1e-9 && l > 0 && loss.Linear {
					t.Errorf("%s: a training output is better", loss.Name)
				}
			}
		}
	}
	empty, one := []bool{false}, []bool{true}
	for _, loss := range []SetLoss{F1, Precision, Recall, Jaccard} {
		if loss.Of(empty, empty) != 0 || loss.Of(one, one) != 0 || loss.Of(empty, one) != 1 {
			t.Errorf("%s of the empty set: %v %v %v", loss.Name, loss.Of(empty, empty), loss.Of(one, one),
				loss.Of(empty, one))
		}
	}
}

// Test 7.
func TestHistograms(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	simplex := func(m int) []float64 {
		y, sum := make([]float64, m), 0.0
		for j := range y {
			if rng.IntN(4) > 0 {
				y[j] = -math.Log(rng.Float64())
			}
			sum += y[j]
		}
		if sum == 0 {
			y[0], sum = 1, 1
		}
		for j := range y {
			y[j] /= sum
		}
		return y
	}
	gaps := map[HistogramLoss]float64{}
	for trial := range 60 {
		m, n := 2+rng.IntN(5), 1+rng.IntN(6)
		truths := make([][]float64, n)
		for i := range truths {
			truths[i] = simplex(m)
		}
		alpha := draw(rng, n, signs[trial%3])
		for _, loss := range []HistogramLoss{HellingerSq, HellingerL1, ChiSquared} {
			h := must(NewHistogram(truths, loss))(t)
			d := must(h.Decode(ctx, alpha))(t)
			if err := OnSimplex(slices.Clone(d.Output)); err != nil {
				t.Fatalf("%s: %v", loss, err)
			}
			least := math.Inf(1)
			best := make([]float64, m)
			see := func(y []float64) {
				if f := Risk(h.Loss, y, truths, alpha); f < least {
					least = f
					copy(best, y)
				}
			}
			for range 600 {
				see(simplex(m))
			}
			for j := range m { // vertices
				y := make([]float64, m)
				y[j] = 1
				see(y)
			}
			for _, y := range truths {
				see(y)
			}
			for step := 0.2; step > 1e-4; step /= 2 { // and moves from the best
				for range 60 {
					y := slices.Clone(best)
					a, b := rng.IntN(m), rng.IntN(m)
					v := math.Min(y[a], step*rng.Float64())
					y[a] -= v
					y[b] += v
					see(y)
				}
			}
			f := Risk(h.Loss, d.Output, truths, alpha)
			near(t, string(loss)+": value", d.Value, f, 1e-6)
			if d.LowerBound > least+1e-7 {
				t.Errorf("%s, %s weights: bound %v above %v", loss, signs[trial%3], d.LowerBound, least)
			}
			tolerance := 1e-6
			if loss != HellingerSq && signs[trial%3] != "positive" || loss == HellingerL1 {
				tolerance = 0.05 * norm1(alpha)
			}
			if f > least+tolerance {
				t.Errorf("%s, %s weights: value %v, a search found %v", loss, signs[trial%3], f, least)
			}
			if loss == HellingerSq && d.Exact != ExactOverSpace {
				t.Errorf("%s is %s", loss, d.Exact)
			}
			if loss == ChiSquared && signs[trial%3] == "positive" && d.Gap() > 1e-6*norm1(alpha) {
				t.Errorf("chi2 is concave, and has the gap %v", d.Gap())
			}
			gaps[loss] += d.Gap() / norm1(alpha) / 60
		}
	}
	t.Logf("mean gaps by norm: %v", gaps)
	// All v negative: a vertex.
	h := must(NewHistogram([][]float64{{0.5, 0.3, 0.2}}, HellingerSq))(t)
	if d := must(h.Decode(ctx, []float64{-1}))(t); !slices.Equal(d.Output, []float64{0, 0, 1}) {
		t.Errorf("negative weight: %v", d.Output)
	}
	// chi² = 2 - 4 Σ y z/(y+z).
	for range 20 {
		y, z := simplex(5), simplex(5)
		s := 2.0
		for j := range y {
			if y[j]+z[j] > 0 {
				s -= 4 * y[j] * z[j] / (y[j] + z[j])
			}
		}
		near(t, "chi2", ChiSquared.Of(y, z), s, 1e-12)
	}
	for _, y := range [][]float64{{0.5, 0.6}, {1.2, -0.2}, {math.NaN(), 1}} {
		if _, err := NewHistogram([][]float64{y}, HellingerSq); !errors.Is(err, ErrOutputs) {
			t.Errorf("%v passes: %v", y, err)
		}
	}
}

// Test 8.
func TestRanking(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 2))
	const m = 5
	orders := permutations(m)
	if len(orders) != 120 {
		t.Fatal(len(orders))
	}
	for trial := range 60 {
		n := 1 + rng.IntN(5)
		truths := make([]Ratings, n)
		full, kendall, normal := trial%4 == 0, trial%5 == 4, trial%2 == 1
		for i := range truths {
			for j := range int32(m) {
				if full || rng.IntN(3) > 0 {
					truths[i].Item, truths[i].Value = append(truths[i].Item, j),
						append(truths[i].Value, float64(1+rng.IntN(5)))
				}
			}
		}
		alpha := draw(rng, n, signs[trial%3])
		// Signed differences give twice the loss less a constant: the same best orders.
		signed := func(order []int, y Ratings) float64 {
			s, f := OrderScores(order), 0.0

			for a, i := range y.Item {
				for b, j := range y.Item {
					d := y.Value[a] - y.Value[b]
					if kendall {
						d = sign(d)
					}
					f += d * (1 - sign(s[i]-s[j])) / 2
				}
			}
			return f
		}
		least, low := math.Inf(1), math.Inf(1)
		var bySigned []int
		r := must(NewRanking(truths, m, &RankingOptions{Method: FASExact, Kendall: kendall, Normal: normal}))(t)
		value := func(order []int) float64 {
			f := 0.0
			for i, a := range alpha {
				f += a * r.Loss(order, truths[i])
			}
			return f
		}
		for _, o := range orders {
			least = math.Min(least, value(o))
			g := 0.0
			for i, a := range alpha {
				if normal {
					_, total := r.LossOf(OrderScores(o), truths[i])
					a /= math.Max(total, 1e-300)
				}
				if len(truths[i].Item) > 1 {
					g += a * signed(o, truths[i])
				}
			}
			if g < low-1e-9 {
				low, bySigned = g, o
			}
		}
		near(t, "order of the signed loss", value(bySigned), least, 1e-9)
		if r.full != (full && !kendall) && trial%4 == 0 {
			t.Error("full ratings are not known to be")
		}
		costs := map[FAS]float64{}
		for _, method := range []FAS{FASHeuristic, FASSift, FASExact} {
			r := must(NewRanking(truths, m, &RankingOptions{Method: method, Kendall: kendall, Normal: normal}))(t)
			d := must(r.Decode(ctx, alpha))(t)
			proved(t, string(method), d, value(d.Output), least)
			if method == FASExact && d.Exact != ExactOverSpace {
				t.Errorf("exact is %s", d.Exact)
			}
			costs[method] = d.Value
			// The reduction, without the shortcut for full ratings, has the same value.
			w := r.Pairs(alpha)
			f := 0.0
			for a, i := range d.Output {
				for _, j := range d.Output[a+1:] {
					f += w[j*m+i]
				}
			}
			near(t, "pairs", f, d.Value, 1e-9)
		}
		if costs[FASExact] > costs[FASSift]+1e-9 || costs[FASSift] > costs[FASHeuristic]+1e-9 {
			t.Errorf("costs %v", costs)
		}
	}
	// Positions are no scores: the right order has no loss, the reversed one all of it.
	y := Ratings{[]int32{0, 1, 2}, []float64{5, 3, 1}}
	if loss, total := RankLoss(OrderScores([]int{0, 1, 2}), y); loss != 0 || total != 8 {
		t.Errorf("perfect order: %v of %v", loss, total)
	}
	if loss, _ := RankLoss(OrderScores([]int{2, 1, 0}), y); loss != 8 {
		t.Errorf("reversed order: %v", loss)
	}
	if loss, _ := RankLoss([]float64{1, 1, 1}, y); loss != 4 {
		t.Errorf("ties: %v", loss)
	}
}

func sign(v float64) float64 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}

func permutations(m int) [][]int {
	if m == 0 {
		return [][]int{{}}
	}
	var out [][]int
	for _, p := range permutations(m - 1) {
		for at := range m {
			out = append(out, slices.Insert(slices.Clone(p), at, m-1))
		}
	}
	return out
}

// The heuristic costs at most half of all arcs, scores are sorted exactly, sifting never makes
// worse, and the exact order is that of enumeration.
func TestFeedbackArcs(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 2))
	orders := permutations(7)
	ratio, sifted, compared := 0.0, 0.0, 0.0
	for trial := range 25 {
		m := 7
		pairs := make([]float64, m*m)
		score := draw(rng, m, "mixed")
		for i := range m {
			for j := range m {
				if trial%5 == 0 {
					pairs[i*m+j] = math.Max(score[i]-score[j], 0)
				} else if rng.IntN(3) > 0 {
					pairs[i*m+j] = rng.NormFloat64()
				}
			}
		}
		g := newArcs(pairs, m)
		total, least := 0.0, math.Inf(1)
		for _, w := range g.w {
			total += w
		}
		for _, o := range orders {
			least = math.Min(least, g.cost(o))
		}
		all := []int{0, 1, 2, 3, 4, 5, 6}
		h := g.heuristic(all)
		if c := g.cost(h); c > total/2+1e-12 {
			t.Errorf("heuristic cost %v of %v", c, total)
		} else if least > 0 {
			ratio += c / least
		}
		before := g.cost(h)
		if _, err := g.sift(ctx, h); err != nil {
			t.Fatal(err)
		}
		after := g.cost(h)
		if after > before+1e-12 {
			t.Errorf("sifting made %v of %v", after, before)
		}
		if least > 0 {
			sifted += after / least
			compared++
		}
		near(t, "exact", g.cost(g.exact(all)), least, 1e-12)
		for _, method := range []FAS{FASHeuristic, FASSift, FASExact} {
			o, bound, _, err := g.solve(ctx, method)
			if err != nil {
				t.Fatal(err)
			}
			if bound > least+1e-9 || g.cost(o) < least-1e-9 {
				t.Errorf("%s: bound %v, cost %v, least %v", method, bound, g.cost(o), least)
			}
			if trial%5 == 0 && g.cost(o) > 1e-12 {
				t.Errorf("%s: scores are not sorted: cost %v", method, g.cost(o))
			}
			if method == FASExact {
				near(t, "solve", g.cost(o), least, 1e-12)
			}
		}
	}
	t.Logf("cost by the least: heuristic %.3f, sifted %.3f", ratio/compared, sifted/compared)
	// 20 items at once, and 60 in cycles of three, which come apart.
	const m = 20
	pairs := make([]float64, m*m)
	for i := range pairs {
		pairs[i] = rng.Float64()
	}
	g := newArcs(pairs, m)
	sift, _, _, _ := g.solve(ctx, FASSift)
	exact, bound, _, _ := g.solve(ctx, FASExact)
	if g.cost(exact) > g.cost(sift)+1e-12 || math.Abs(bound-g.cost(exact)) > 1e-9 {
		t.Errorf("20 items: exact %v (bound %v), sifted %v", g.cost(exact), bound, g.cost(sift))
	}
	big := newArcs(make([]float64, 60*60), 60)
	for c := range 20 {
		for k := range 3 {
			big.w[(3*c+k)*60+3*c+(k+1)%3] = 1
		}
		if c > 0 {
			big.w[(3*c-1)*60+3*c] = 1
		}
	}
	if o, bound, _, _ := big.solve(ctx, FASExact); bound != 20 || big.cost(o) != 20 {
		t.Errorf("20 cycles: cost %v, bound %v", big.cost(o), bound)
	}
}

// Test 4 and 9.
func TestScalars(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 2))
	for trial := range 45 {
		n := 1 + rng.IntN(8)
		y, pm := draw(rng, n, "mixed"), make([]float64, n)
		for i := range pm {
			pm[i] = float64(2*rng.IntN(2) - 1)
		}
		alpha := draw(rng, n, signs[trial%3])
		for _, loss := range ScalarLosses {
			truths := y
			if loss.margin() {
				truths = pm
			}
			c := 0.0
			if trial%2 == 1 {
				c = 0.3
			}
			s := must(NewScalar(truths, loss, &ScalarOptions{C: c}))(t)
			d := must(s.Decode(ctx, alpha))(t)
			least := math.Inf(1)
			for k := range 4001 {
				v := -s.bound + 2*s.bound*float64(k)/4000
				least = math.Min(least, s.value(alpha, v))
			}
			f := s.value(alpha, d.Output)
			near(t, "value", d.Value, f, 1e-12)
			if f > least+1e-3*norm1(alpha)*1e-3 && f > least+1e-6*norm1(alpha) {
				t.Errorf("%s: value %v, a grid has %v", loss, f, least)
			}
			if d.LowerBound > least+1e-9*norm1(alpha) {
				t.Errorf("%s: bound %v above %v", loss, d.LowerBound, least)
			}
			if math.Abs(d.Output) > s.bound {
				t.Errorf("%s: %v is out of bounds", loss, d.Output)
			}
			smooth := s.points != nil
			if !smooth && d.Exact != ExactOverSpace || smooth && loss.convex() && trial%3 == 0 &&
				d.Exact != ExactOverSpace {
				t.Errorf("%s, %s weights: %s", loss, signs[trial%3], d.Exact)
			}
			// ρ' and ρ'' are the derivatives, and slope bounds ρ'.
			if !loss.margin() {
				for range 5 {
					r := 3 * rng.NormFloat64()
					const h = 1e-5
					f0, _, _ := loss.rho(r-h, s.c)
					_, d1, dd := loss.rho(r, s.c)
					f2, d2, _ := loss.rho(r+h, s.c)
					near(t, string(loss)+"'", d1, (f2-f0)/(2*h), 1e-4)
					if loss != Absolute && loss != Pinball {
						near(t, string(loss)+"''", dd, (d2-d1)/h, 1e-2)
					}
					if math.Abs(d1) > loss.slope(s.c)+1e-12 {
						t.Errorf("%s: slope %v above %v", loss, d1, loss.slope(s.c))
					}
				}
			}
		}
	}
	// The squared loss has B/A, and not the B of kernel ridge regression.
	s := must(NewScalar([]float64{1, 2}, Squared, &ScalarOptions{Bound: 10}))(t)
	near(t, "B/A", must(s.Decode(ctx, []float64{0.25, 0.25}))(t).Output, 1.5, 1e-15)
	if d := must(s.Decode(ctx, []float64{-1, 0.5}))(t); d.Output != -10 {
		t.Errorf("A < 0: %v", d.Output) // A y² - 2By = -y²/2 here: the first of the ends
	}
	if d := must(s.Decode(ctx, []float64{-1, 0.25}))(t); d.Output != -10 && d.Output != 10 {
		t.Errorf("A < 0: %v", d.Output)
	}
	// The absolute loss is the weighted median.
	m := must(NewScalar([]float64{5, 1, 3, 2}, Absolute, nil))(t)
	if d := must(m.Decode(ctx, []float64{1, 1, 1.5, 1}))(t); d.Output != 3 {
		t.Errorf("weighted median: %v", d.Output)
	}
	if _, err := NewScalar([]float64{0, 1}, HingeLoss, nil); !errors.Is(err, ErrOutputs) {
		t.Errorf("truths 0 and 1 pass for a margin: %v", err)
	}
}

// Test 5.
func TestOutputKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 2))
	truths := make([][]float64, 8)
	for i := range truths {
		truths[i] = draw(rng, 2, "mixed")
	}
	linear := func(a, b []float64) float64 { return a[0]*b[0] + a[1]*b[1] }
	gaussian := func(a, b []float64) float64 { return math.Exp(-squaredDistance(a, b)) }
	differ := 0
	for trial := range 20 {
		alpha := draw(rng, 8, signs[trial%3])
		for name, h := range map[string]func(a, b []float64) float64{"linear": linear, "gaussian": gaussian} {
			algorithm1 := must(NewCandidates(nil, truths, KernelLoss(h), 1))(t)
			eq6 := must(NewDependency(nil, truths, h, 1))(t)
			a, b := must(algorithm1.Decode(ctx, alpha))(t), must(eq6.Decode(ctx, alpha))(t)
			same := slices.Equal(a.Output, b.Output)
			if name == "gaussian" && !same {
				t.Errorf("normalised kernel: %v and %v", a.Output, b.Output)
			}
			if name == "linear" && !same {
				differ++
			}
		}
		// The Gaussian decoder is at least as good as any training output, and stationary.
		g := must(NewGaussian(truths, 1, 1))(t)
		d := must(g.Decode(ctx, alpha))(t)
		f := Risk(g.Loss, d.Output, truths, alpha)
		near(t, "value", d.Value, f, 1e-9)
		for _, y := range truths {
			if v := Risk(g.Loss, y, truths, alpha); v < f-1e-9 {
				t.Errorf("a training output has %v, the decoded one %v", v, f)
			}
		}
		for range 30 {
			y := slices.Clone(d.Output)
			y[0] += 1e-3 * rng.NormFloat64()
			y[1] += 1e-3 * rng.NormFloat64()
			if v := Risk(g.Loss, y, truths, alpha); v < f-1e-6 {
				t.Errorf("near the decoded output there is %v, it has %v", v, f)
			}
		}
		// Vectors in a box, against a grid.
		v := must(NewVectors(truths, 2))(t)
		e := must(v.Decode(ctx, alpha))(t)
		least := math.Inf(1)
		for i := range 81 {
			for j := range 81 {
				least = math.Min(least, Risk(v.Loss, []float64{-2 + float64(i)/20, -2 + float64(j)/20}, truths, alpha))
			}
		}
		if r := Risk(v.Loss, e.Output, truths, alpha); r > least+1e-9 {
			t.Errorf("box: %v, a grid has %v", r, least)
		}
	}
	if differ == 0 {
		t.Error("eq. (6) and Algorithm 1 never differ under the linear kernel")
	}
}
