package multi

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// Directional derivatives of every objective against central differences, penalties and
// both losses included.
func TestDirectionalDerivatives(t *testing.T) {
	d := mixed(9, 3, 40, 3, 0.2)
	rng := rand.New(rand.NewPCG(4, 4))
	q := Func{3, softQ}
	sets := map[string]TargetSet{"simplex": {}, "box": {Lo: []float64{0.1, 0, 0.2}, Hi: []float64{0.6, 0.5, 1}},
		"vertices": {Vertices: [][]float64{{0.5, 0.5, 0}, {0, 0.2, 0.8}, {1, 0, 0}}}}
	for name, set := range sets {
		for _, kind := range []Objective{SoftMax, Max, Sum, Skewed} {
			if kind == Skewed && set.Vertices != nil || kind == Sum && name != "simplex" {
				continue
			}
			for n := range 20 {
				s := newState(d, 3, q)
				s.phi.logistic = n%2 == 0
				s.penalty = []float64{0.01, 0.02, 0.03}
				for i := range s.g {
					s.g[i] = 0.3 * rng.NormFloat64()
				}
				s.norm = 2
				s.rescore()
				h := make([]float64, d.X.Rows)
				for i := range h {
					h[i] = 2*rng.Float64() - 1
				}
				a := &aggregate{kind: kind, set: &set, mu: 7, beta: 30, m: s.m}
				r := s.ray(rng.IntN(3), h, 1)
				value := func(eta float64) float64 {
					f, _, _ := s.along(r, eta, false)
					return a.value(s.penalised(f, eta*r.cost))
				}
				f, g, dd := s.along(r, 0, true)
				s.penalised(f, 0)
				for k, v := range s.penalty {
					g[k] += v * r.cost
				}
				const e = 1e-5
				want := (value(e) - value(-e)) / (2 * e)
				near(t, name+" "+string(kind)+": derivative", a.slope(f, g), want, 1e-7)
				if kind == SoftMax && name != "box" || kind == Sum {
					want = (value(1e-3) - 2*value(0) + value(-1e-3)) / 1e-6
					near(t, name+" "+string(kind)+": second derivative", a.curvature(f, g, dd), want, 1e-4)
				}
			}
		}
	}
}

// softQ depends on the row alone.
func softQ(dst []float64, _ *table.Table, i int) {
	sum := 0.0
	for k := range dst {
		dst[k] = math.Exp(math.Sin(float64(3*i + 5*k)))
		sum += dst[k]
	}
	for k := range dst {
		dst[k] /= sum
	}
}

// F <= F_mu <= F + ln p/mu, and a large mu is the maximum.
func TestSoftMaxBetween(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	for range 200 {
		f := []float64{rng.ExpFloat64(), rng.ExpFloat64(), rng.ExpFloat64(), rng.ExpFloat64()}
		top := slices.Max(f)
		for _, mu := range []float64{0.5, 5, 50, 1e6} {
			a := &aggregate{kind: SoftMax, set: &TargetSet{}, mu: mu}
			if v := a.value(f); v < top*(1-1e-15) || v > top+math.Log(4)/mu*(1+1e-12) {
				t.Errorf("F_mu = %v at mu %v, the maximum is %v", v, mu, top)
			}
			// A box that is the simplex is the simplex.
			b := &aggregate{kind: SoftMax, set: &TargetSet{Lo: make([]float64, 4)}, mu: mu}
			near(t, "box", b.value(f), a.value(f), 1e-12)
			v := &aggregate{kind: SoftMax, set: unit(4), mu: mu}
			near(t, "vertices", v.value(f), a.value(f), 1e-12)
			for k, w := range a.weights(f) {
				near(t, "weight in a box", b.weights(f)[k], w, 1e-9)
				near(t, "weight of vertices", v.weights(f)[k], w, 1e-12)
			}
		}
	}
}

// unit has the unit vectors of p domains.
func unit(p int) *TargetSet {
	s := &TargetSet{}
	for k := range p {
		v := make([]float64, p)
		v[k] = 1
		s.Vertices = append(s.Vertices, v)
	}
	return s
}

func TestWaterFilling(t *testing.T) {
	f, m := []float64{0.9, 0.7, 0.2}, []float64{100, 300, 50}
	a := &aggregate{kind: Skewed, set: &TargetSet{}, beta: 20, m: m}
	for k, want := range []float64{0.625, 0.375, 0} {
		near(t, "lambda*", a.weights(f)[k], want, 1e-12)
	}
	near(t, "value", a.value(f), 0.7375, 1e-12)
	a.beta = 1e9
	for k, w := range a.weights(f) {
		near(t, "pooled", w, m[k]/450, 1e-6)
	}
	a.beta = 1e-9
	near(t, "the maximum", a.value(f), 0.9, 1e-9)
	a.beta = 0
	near(t, "the maximum", a.value(f), 0.9, 0)
	// No share that can be had is better, in a box too.
	rng := rand.New(rand.NewPCG(2, 2))
	set := &TargetSet{Lo: []float64{0.2, 0, 0.1}, Hi: []float64{0.5, 0.6, 1}}
	a = &aggregate{kind: Skewed, set: set, beta: 20, m: m}
	best := a.value(f)
	for range 10000 {
		x := []float64{0.2 + 0.3*rng.Float64(), 0.6 * rng.Float64(), 0}
		if x[2] = 1 - x[0] - x[1]; x[2] < 0.1 {
			continue
		}
		v := dot(x, f)
		for k := range x {
			v -= 20 * x[k] * x[k] / m[k]
		}
		if v > best+1e-12 {
			t.Fatalf("%v gives %v, more than %v", x, v, best)
		}
	}
}

func TestTargetMax(t *testing.T) {
	f := []float64{0.3, 0.9, 0.6}
	for _, c := range []struct {
		set  TargetSet
		want float64
	}{{TargetSet{}, 0.9}, {*unit(3), 0.9}, {TargetSet{Hi: []float64{1, 0.5, 0.3}}, 0.45 + 0.18 + 0.06},
		{TargetSet{Lo: []float64{0.5, 0, 0}}, 0.15 + 0.45},
		{TargetSet{Vertices: [][]float64{{1, 0, 0}, {0.5, 0, 0.5}}}, 0.45}} {
		v, lambda := c.set.Max(f)
		near(t, "maximum", v, c.want, 1e-15)
		near(t, "sum", lambda[0]+lambda[1]+lambda[2], 1, 1e-15)
	}
	for _, bad := range []TargetSet{{Lo: []float64{0.5, 0.6, 0}}, {Hi: []float64{0.3, 0.3, 0.3}},
		{Lo: []float64{0, 0}}, {Lo: []float64{-1, 0, 0}}, {Vertices: [][]float64{{1, 1, 0}}},
		{Vertices: [][]float64{{1}}}, {Vertices: [][]float64{}},
		{Vertices: [][]float64{{1, 0, 0}}, Lo: []float64{0, 0, 0}}, {Hi: []float64{math.NaN(), 1, 1}}} {
		if err := bad.Check(3); !errors.Is(err, ErrTarget) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// Lambda = one point is boosting on the weighted pooled sample with Q: the objective is the
// same sum, so the models are.
func TestSinglePointTarget(t *testing.T) {
	d := mixed(6, 3, 100, 3, 0.2)
	point := []float64{0.2, 0.5, 0.3}
	q := Func{3, softQ}
	a := trained(t, d, &Options{Target: TargetSet{Vertices: [][]float64{point}}, Q: q, Rounds: 10})
	// Sum over domains with rows weighted so that domain k has the weight lambda_k.
	w := &boost.Data{X: d.X, Y: d.Y}
	counts := d.X.SourceCounts()
	one := *d.X
	one.Source, one.Sources = make([]int32, d.X.Rows), []string{"all"}
	w.X = &one
	for _, s := range d.X.Source {
		w.W = append(w.W, point[s]/float64(counts[s]))
	}
	s := newState(d, 3, q)
	agg := &aggregate{kind: SoftMax, set: &TargetSet{Vertices: [][]float64{point}}, mu: 5}
	rng := rand.New(rand.NewPCG(1, 9))
	for i := range s.g {
		s.g[i] = rng.NormFloat64()
	}
	s.rescore()
	sum := 0.0
	for i, y := range d.Y {
		sum += w.W[i] * math.Exp(-y*s.f[i])
	}
	near(t, "objective", agg.value(s.losses()), sum, 1e-12)
	// One slot with Q = 1 is AdaBoost on that sample.
	ada, _, err := boost.TrainAdaBoost(w, &boost.AdaBoostOptions{Rounds: 10, Learner: Stumps{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	flat := trained(t, d, &Options{Target: TargetSet{Vertices: [][]float64{point}}, Q: Uniform{3}, Rounds: 10})
	got, _ := flat.Scores(d.X, nil)
	want, _ := ada.Scores(d.X, nil)
	for i := range got {
		near(t, "score", got[i], want[i], 1e-8)
	}
	if a.Terms() == 0 {
		t.Error("no terms")
	}
	// The vertices of the simplex are the simplex.
	b, c := trained(t, d, &Options{Q: q, Rounds: 8}), trained(t, d, &Options{Q: q, Rounds: 8, Target: *unit(3)})
	x, _ := b.Scores(d.X, nil)
	y, _ := c.Scores(d.X, nil)
	for i := range x {
		near(t, "score", y[i], x[i], 1e-7)
	}
}

// With a fixed mu every round lowers the objective; so it does with the sum, skewness and
// penalties, for both losses.
func TestDescent(t *testing.T) {
	d := mixed(21, 3, 120, 4, 0.15)
	for name, o := range map[string]*Options{
		"softmax": {FixedMu: true}, "logistic": {FixedMu: true, Loss: boost.Logistic{}},
		"greedy": {FixedMu: true, Round: Greedy, DomainFactor: 0.3}, "sum": {Objective: Sum},
		"skew": {Objective: Skewed, Beta: 10}, "l1": {FixedMu: true, L1: 0.2},
		"box":      {FixedMu: true, Target: TargetSet{Hi: []float64{0.5, 0.5, 0.5}}},
		"decrease": {FixedMu: true, Round: Greedy, Score: DecreaseScore},
		"own":      {FixedMu: true, Directions: Own}, "sum closed": {Objective: Sum, Step: Closed, Round: Greedy},
		"trees": {FixedMu: true, Learner: boost.SignTrees{Splits: 3}},
		"max":   {Objective: Max}, "max l1": {Objective: Max, L1: 0.1},
		"max box": {Objective: Max, Target: TargetSet{Hi: []float64{0.5, 0.5, 0.5}}},
	} {
		first, last := math.NaN(), math.Inf(1)
		o.Rounds, o.QOptions = 25, QOptions{Iterations: 20, Folds: 2}
		rounds := 0
		watch := func(p *Progress) error {
			rounds++
			if p.Objective > last*(1+1e-12) {
				t.Errorf("%s: round %d raised the objective from %v to %v", name, p.Round, last, p.Objective)
			}
			if last = p.Objective; rounds == 1 {
				first = last
			}
			return nil
		}
		m := watched(t, d, o, watch)
		if rounds < 2 || !(last < first) {
			t.Errorf("%s: %d rounds, objective %v", name, rounds, last)
		}
		for _, e := range m.Slots {
			for i := range e.Terms {
				if e.Terms[i].Weight <= 0 {
					t.Errorf("%s: weight %v", name, e.Terms[i].Weight)
				}
			}
		}
	}
	// A large penalty leaves nothing to do.
	if m := trained(t, d, &Options{L1: 100, Q: Uniform{3}}); m.Terms() != 0 {
		t.Errorf("%d terms under a large penalty", m.Terms())
	}
}

// The closed step with a penalty is the least of its bound.
func TestClosedStep(t *testing.T) {
	for _, c := range []struct{ eps, penalty float64 }{{0.2, 0}, {0.3, 0.1}, {0.1, 0.5},
		{0.45, 0.2}, {0.01, 0.02}} {
		eta := closedStep(c.eps, c.penalty, 5)
		bound := func(e float64) float64 { return (1-c.eps)*math.Exp(-e) + c.eps*math.Exp(e) + c.penalty*e }
		near(t, "step", eta, golden(bound, 0, 5, 90), 1e-6)
	}
}
