package multi

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// The golden numbers: stumps on 100 features, three domains of 2000 rows, rho 0.5.
func TestTheorem44Golden(t *testing.T) {
	p := Theorem44(Massart(LogStumps(100, 2000), 2000), 0.5, 0.05, 3, 2000)
	near(t, "complexity and confidence", p.Complexity+p.Confidence, 0.4862837432, 1e-10)
	near(t, "correction", p.Union, 0.1325812831, 1e-10)
}

// Massart's bound against the complexity itself: all stumps on eight rows of two columns,
// all signs. The number of stumps bounds those that differ.
func TestStumpComplexity(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const m, d = 8, 2
	x := make([][]float64, d)
	for j := range x {
		x[j] = make([]float64, m)
		for i := range x[j] {
			x[j][i] = rng.NormFloat64()
		}
	}
	seen := map[[m]float64]bool{}
	for j := range d {
		for _, at := range append(slices.Clone(x[j]), math.Inf(-1)) {
			for _, s := range []float64{1, -1} {
				var h [m]float64
				for i, v := range x[j] {
					h[i] = -s
					if v <= at {
						h[i] = s
					}
				}
				seen[h] = true
			}
		}
	}
	if n := 2*d*(m-1) + 2; len(seen) != n || math.Log(float64(n)) != LogStumps(d, m) {
		t.Errorf("%d different stumps, counted %d", len(seen), n)
	}
	sum := 0.0
	for bits := range 1 << m {
		best := 0.0
		for h := range seen {
			e := 0.0
			for i, v := range h {
				e += v * float64(2*(bits>>i&1)-1)
			}
			best = max(best, e/m)
		}
		sum += best / (1 << m)
	}
	if bound := Massart(LogStumps(d, m), m); !(sum <= bound) || math.Abs(bound-0.9221) > 1e-4 {
		t.Errorf("complexity %v, bound %v", sum, bound)
	}
}

func TestBounds(t *testing.T) {
	d := mixed(3, 3, 400, 3, 0.05)
	m := trained(t, d, &Options{Rounds: 10})
	r, err := Bounds(m, d, &BoundOptions{Lambda: []float64{0.2, 0.3, 0.5}})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range r.At {
		// With the unit vectors as cover part 2 of Theorem 4.5 is Theorem 4.4.
		near(t, "Theorem 4.5 part 2", *b.Mixed, b.Mixture, 1e-12)
		if b.Near != nil {
			t.Error("the mixture is no point of the cover, and the radius is 0")
		}
		if b.Agnostic < b.Mixture || b.AgnosticStated > b.Agnostic {
			t.Errorf("agnostic %v (as stated %v), mixture %v", b.Agnostic, b.AgnosticStated, b.Mixture)
		}
		top := math.Inf(-1)
		for _, p := range b.Domains {
			top = max(top, p.Sum)
			near(t, "sum", p.Empirical+p.Complexity+p.Union+p.Confidence, p.Sum, 1e-12)
			near(t, "as stated", p.Sum-p.Union, p.AsStated, 1e-12)
		}
		near(t, "agnostic", b.Agnostic, top, 1e-12)
	}
	if !r.Vacuous || r.Bound != 1 || !strings.Contains(strings.Join(r.Warnings, "\n"), "vacuous") ||
		!strings.Contains(strings.Join(r.Warnings, "\n"), "cross-fitted") {
		t.Errorf("vacuous %v, bound %v, warnings %q", r.Vacuous, r.Bound, r.Warnings)
	}
	// The mixture as a point of the cover, within its radius, and between other points.
	lambda := []float64{0.2, 0.3, 0.5}
	near4 := func(cover [][]float64, radius float64) MixtureBound {
		r, err := Bounds(m, d, &BoundOptions{Lambda: lambda, Cover: cover, Radius: radius, Rho: []float64{0.5}})
		if err != nil {
			t.Fatal(err)
		}
		return r.At[0]
	}
	exact := near4([][]float64{lambda}, 0)
	near(t, "a cover of one point", *exact.Near, *exact.Mixed, 1e-12)
	shifted := near4([][]float64{{0.25, 0.25, 0.5}}, 0.1)
	if shifted.Mixed != nil || shifted.Near == nil {
		t.Error("a point next to the mixture")
	}
	empirical := 0.0
	for k, l := range lambda {
		empirical += l * shifted.Domains[k].Empirical
	}
	square := 0.0
	for k, v := range []float64{0.25, 0.25, 0.5} {
		square += v * v / float64(r.Rows[k])
	}
	all := r.Rows[0] + r.Rows[1] + r.Rows[2]
	want := empirical + 0.1 + 4*(math.Sqrt(square)*math.Sqrt(2*LogStumps(3, all))+math.Sqrt(
		2*math.Log(3)*square)) + math.Sqrt(math.Log(1/0.05)*square/2)
	near(t, "part 1", *shifted.Near, want, 1e-12)
	between := near4([][]float64{{0, 0, 1}, {0.4, 0.6, 0}, {1, 0, 0}}, 0)
	if between.Mixed == nil {
		t.Error("a mixture of points of the cover was not found")
	}
	var out bytes.Buffer
	if err := r.Write(&out); err != nil || !strings.Contains(out.String(), "Warning: the bound is vacuous") {
		t.Error(err, out.String())
	}
	// Many rows, strong margins: not vacuous.
	big := mixed(4, 2, 30000, 2, 0)
	for i := range big.Y {
		big.Y[i] = -1
		if big.X.Columns[0].Values[i] > 0.6 {
			big.Y[i] = 1
		}
	}
	strong := trained(t, big, &Options{Rounds: 2, Q: Uniform{2}})
	if r, err = Bounds(strong, big, nil); err != nil || r.Vacuous || len(r.Warnings) > 0 || r.Bound > 0.5 {
		t.Errorf("bound %v, warnings %q, %v", r.Bound, r.Warnings, err)
	}
	// No margins are the default ones.
	if none, err := Bounds(strong, big, &BoundOptions{Rho: []float64{}}); err != nil ||
		len(none.At) != len(r.At) || none.Bound != r.Bound {
		t.Errorf("%+v, %v", none, err)
	}
	// What is not known must be given.
	custom := trained(t, &boost.Data{X: byRow([]int32{0, 1}), Y: []float64{1, -1}},
		&Options{Learner: dictionary{{1, 1}}, Q: TrueSource{2}, Rounds: 1})
	if _, err := Bounds(custom, &boost.Data{X: byRow([]int32{0, 1}), Y: []float64{1, -1}}, nil); err == nil {
		t.Error("bounds of an unknown class")
	}
	for _, o := range []BoundOptions{{Delta: 2}, {Rho: []float64{0}}, {Rho: []float64{1.5}, AnyRho: true},
		{Lambda: []float64{1}}, {Radius: -1}, {Cover: [][]float64{{1, 1, 1}}}} {
		if _, err := Bounds(m, d, &o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}

// Theorem B.2 is at least what Theorem 4.4 gives at the next power of 1/2 below rho, with the
// part of delta that is that power's: the argument by which it holds. What the thesis prints is
// not, and is reported beside it.
func TestTheoremB2(t *testing.T) {
	sum := func(p DomainTerms) float64 { return p.Complexity + p.Union + p.Confidence }
	const rad, delta, p, m = 0.02, 0.05, 3, 5000
	printedFails := false
	for _, rho := range []float64{1, 0.75, 0.5, 0.3, 0.25, 0.1, 0.01, 1e-4} {
		k := 1.0
		for math.Pow(2, -k) >= rho {
			k++
		}
		derived := sum(Theorem44(rad, math.Pow(2, -k), delta/(2*k*k), p, m))
		b2 := TheoremB2(rad, rho, delta, p, m)
		if sum(b2) < derived {
			t.Errorf("rho %v: %v, the derivation gives %v", rho, sum(b2), derived)
		}
		printed := 2/rho*(rad+math.Sqrt(2*math.Log(p)/m)) + math.Sqrt(math.Log(math.Log2(2/rho))/m) +
			math.Sqrt(math.Log(p/delta)/(2*m))
		printedFails = printedFails || printed < derived
		near(t, "B.2", sum(b2), 4/rho*(rad+math.Sqrt(2*math.Log(p)/m))+math.Sqrt(
			math.Log(math.Log2(2/rho))/m)+math.Sqrt(math.Log(2*p/delta)/(2*m)), 1e-9)
	}
	if !printedFails {
		t.Error("what is printed follows from Theorem 4.4 at all rho tried: then it need not be mended")
	}

	d := mixed(3, 3, 400, 3, 0.05)
	model := trained(t, d, &Options{Rounds: 10})
	lambda := []float64{0.2, 0.3, 0.5}
	any := func(o BoundOptions) *BoundReport {
		o.AnyRho = true
		r, err := Bounds(model, d, &o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := any(BoundOptions{Rho: []float64{0.25, 0.5, 1}, Lambda: lambda})
	for _, b := range r.At {
		near(t, "Theorem 4.5 part 2 for all rho", *b.Mixed, b.Mixture, 1e-12)
		for k, q := range b.Domains {
			rows := r.Rows[k]
			near(t, "sum", q.Sum, q.Empirical+q.Complexity+q.Union+q.Confidence, 1e-12)
			rad := q.Complexity * b.Rho / 4
			near(t, "parts", q.Sum-q.Empirical, sum(TheoremB2(rad, b.Rho, 0.05, 3, rows)), 1e-12)
			near(t, "as stated", q.AsStated, q.Empirical+2/b.Rho*rad+math.Sqrt(
				math.Log(math.Log2(2/b.Rho))/float64(rows))+math.Sqrt(math.Log(3/0.05)/float64(2*rows)), 1e-12)
			if rad != any(BoundOptions{Rho: []float64{1}}).At[0].Domains[k].Complexity/4 {
				t.Error("the complexity depends on rho")
			}
		}
	}
	// Delta is not shared: one rho or three, the bound is the same.
	if one := any(BoundOptions{Rho: []float64{0.5}, Lambda: lambda}).At[0]; one.Agnostic != r.At[1].Agnostic ||
		*one.Mixed != *r.At[1].Mixed {
		t.Errorf("%v and %v for one rho, %v and %v for three", one.Agnostic, *one.Mixed,
			r.At[1].Agnostic, *r.At[1].Mixed)
	}
	// Part 1 at a point that is no vertex.
	shifted := any(BoundOptions{Rho: []float64{0.5}, Lambda: lambda, Cover: [][]float64{{0.25, 0.25, 0.5}},
		Radius: 0.1}).At[0]
	empirical, square, all := 0.0, 0.0, 0
	for k, v := range []float64{0.25, 0.25, 0.5} {
		empirical += lambda[k] * shifted.Domains[k].Empirical
		square += v * v / float64(r.Rows[k])
		all += r.Rows[k]
	}
	near(t, "part 1 for all rho", *shifted.Near,
		empirical+0.1+8*(math.Sqrt(square*2*LogStumps(3, all))+math.Sqrt(2*math.Log(3)*square))+math.Sqrt(
			math.Log(math.Log2(4))*square)+math.Sqrt(math.Log(2/0.05)*square/2), 1e-12)
	var out bytes.Buffer
	if err := r.Write(&out); err != nil || !strings.Contains(out.String(), "(Theorem B.2)") ||
		!strings.Contains(out.String(), "4/rho and ln(2p/delta)") {
		t.Error(err, out.String())
	}
}

// The class of base predictors is that which the learners were offered: a model that happens to
// use small trees has the bound of the trees that it might have used.
func TestBoundsOfferedClass(t *testing.T) {
	d := mixed(5, 2, 300, 3, 0.05)
	small, large := boost.SignTrees{Splits: 1}, boost.SignTrees{Splits: 31}
	bound := func(m *Model) MixtureBound {
		r, err := Bounds(m, d, &BoundOptions{Rho: []float64{0.5}})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range r.Warnings {
			if strings.Contains(w, "taken from the trained trees") {
				t.Error(w)
			}
		}
		return r.At[0]
	}
	// A charge so high that no large tree is ever taken.
	shy := trained(t, d, &Options{Rounds: 4, Q: Uniform{2}, L1: 0.9,
		Families: []Family{{small, 1}, {large, 1e6}}})
	for _, e := range shy.Slots {
		for i := range e.Terms {
			if n := e.Terms[i].Predictor.(boost.Sized).Splits(); n > 1 {
				t.Fatalf("a tree of %d splits was taken; the test wants none", n)
			}
		}
	}
	greedy := trained(t, d, &Options{Rounds: 4, Q: Uniform{2}, Learner: large})
	a, b := bound(shy), bound(greedy)
	for k := range a.Domains {
		near(t, "complexity", a.Domains[k].Complexity, b.Domains[k].Complexity, 1e-12)
	}
	if one := bound(trained(t, d, &Options{Rounds: 4, Q: Uniform{2},
		Learner: small})); one.Agnostic >= a.Agnostic {
		t.Errorf("stumps alone %v, with trees of 31 splits on offer %v", one.Agnostic, a.Agnostic)
	}
	// The same of a saved model; and of one slot's learner that returned nothing of the kind.
	var file bytes.Buffer
	if err := shy.Write(&file); err != nil {
		t.Fatal(err)
	}
	again, err := Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	if got := bound(again); got.Agnostic != a.Agnostic {
		t.Errorf("saved and loaded %v, was %v", got.Agnostic, a.Agnostic)
	}
	again.Learners[0] = "a user's own"
	r, err := Bounds(again, d, &BoundOptions{Rho: []float64{0.5}})
	if err != nil || !strings.Contains(strings.Join(r.Warnings, "\n"), "slots [1] may return is not known") {
		t.Errorf("%v, warnings %q", err, r.Warnings)
	}
}

// The shortest vector of a hull, and what a cover makes of a mixture.
func TestShortest(t *testing.T) {
	v := shortest([][]float64{{1, 0}, {0, 1}})
	near(t, "shortest", v[0], 0.5, 1e-7)
	near(t, "shortest", v[1], 0.5, 1e-7)
	if v = shortest([][]float64{{1, 1}, {-1, 1}, {0, -3}}); math.Hypot(v[0], v[1]) > 1e-6 {
		t.Errorf("the hull has the origin, and %v is its shortest vector", v)
	}
	if v = shortest([][]float64{{2, 1}, {2, 3}}); v[0] != 2 || v[1] != 1 {
		t.Errorf("%v", v)
	}
	if mu := mixtureOf([][]float64{{1, 0}, {0.5, 0.5}}, []float64{0, 1}); mu != nil {
		t.Errorf("%v outside the hull is the mixture %v", []float64{0, 1}, mu)
	}
}

// Trees of several splits ask for sides of missing values and for sets of levels: both
// count, in Theorem 4.4 and in Theorem 4.5; so do the sets of trees of one split, which the
// stumps of this package do not have.
func TestBoundsCountLevelsAndGaps(t *testing.T) {
	plain, d := mixed(5, 2, 300, 3, 0.05), mixed(5, 2, 300, 3, 0.05)
	d.X.Columns[1].Values[4] = float32(math.NaN())
	c := &d.X.Columns[2]
	c.Kind, c.Levels = table.Categorical, []string{"a", "b", "c", "d", "e", "f", "g"}
	for i := range c.Values {
		c.Values[i] = float32(i * 7 % 11 % 7)
	}
	for _, splits := range []int{1, 3} {
		o := &Options{Rounds: 3, Q: Uniform{2}, Learner: boost.SignTrees{Splits: splits}}
		m := trained(t, d, o)
		b := BoundOptions{Rho: []float64{0.5}}
		r, err := Bounds(m, d, &b)
		if err != nil {
			t.Fatal(err)
		}
		thresholds, err := Bounds(trained(t, plain, o), plain, &b)
		if err != nil {
			t.Fatal(err)
		}
		for k, rows := range r.Rows {
			// One column, two for the gaps, and 63 divisions of seven levels.
			logN := math.Log(float64(3*(rows-1)+63+1)) + math.Ln2
			if splits == 3 {
				logN = math.Log(5) + 3*(logN-math.Ln2) + 4*math.Ln2
			}
			near(t, "complexity", r.At[0].Domains[k].Complexity, 4*Massart(logN, rows), 1e-12)
			if old := thresholds.At[0].Domains[k].Complexity; r.At[0].Domains[k].Complexity <= old {
				t.Errorf("%d splits: complexity %v with levels, %v without", splits, r.At[0].Domains[k].Complexity, old)
			}
		}
	}
}
