package minimax

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim/score"
)

// The bounds by hand: two rows of one feature, hinge and cross-entropy, whose Lipschitz
// constants are 1.
func TestBound(t *testing.T) {
	d := &Data{Rows: 2, Features: 1, X: []float64{3, -4}, Class: []int32{1, 0}, Classes: 2}
	f, err := Train(d, &Options{Losses: []Loss{score.Hinge(), score.CrossEntropy()}, Radius: 2, Beta1: 0.1,
		Batch: -1, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Model.Evaluate(d, 1)
	if err != nil {
		t.Fatal(err)
	}
	b, err := f.Model.Bound(d, s, 2, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	rad := 2 * math.Sqrt(9+1+16+1) / 2 // the bias counts as a feature that is 1
	most := 2 * math.Sqrt(17)          // of a score
	root := math.Sqrt(math.Log(2*2/0.05) / 4)
	vertex := max(s.Values[0]+2*rad+3*(1+most)*root, s.Values[1]+2*rad+3*math.Log1p(math.Exp(most))*root)
	cover := s.Worst + 2*rad + (1+most)*0.01 + 2*most*math.Sqrt(math.Log(math.Pow(201, 2)/0.05)/4)
	for _, q := range []struct {
		name      string
		got, want float64
	}{{"Rademacher", b.Rademacher, rad}, {"vertex", b.Vertex, vertex}, {"cover", b.Cover, cover},
		{"empirical", b.Empirical, s.Worst}} {
		if math.Abs(q.got-q.want) > 1e-12*q.want {
			t.Errorf("%s %v, by hand %v", q.name, q.got, q.want)
		}
	}
	// Ten times the examples: closer by a root.
	big := &Data{Rows: 20, Features: 1, Classes: 2}
	for range 10 {
		big.X, big.Class = append(big.X, d.X...), append(big.Class, d.Class...)
	}
	c, err := f.Model.Bound(big, s, 2, 0.05)
	if err != nil || math.Abs((c.Vertex-s.Values[0])*math.Sqrt(10)-(b.Vertex-s.Values[0])) > 1e-9 {
		t.Errorf("ten times the examples: %v, %v", c, err)
	}
	for _, q := range []struct {
		radius, delta float64
		says          string
	}{{1e-3, 0.05, "train within a radius"}, {math.Inf(1), 0.05, "norm at most"}, {2, 0, "between 0 and 1"},
		{2, math.NaN(), "between 0 and 1"}} {
		if _, err := f.Model.Bound(d, s, q.radius, q.delta); err == nil || !strings.Contains(err.Error(), q.says) {
			t.Errorf("radius %v, delta %v: %v", q.radius, q.delta, err)
		}
	}
	d.Weight = []float64{1, 2}
	if _, err := f.Model.Bound(d, s, 2, 0.05); err == nil {
		t.Error("weighted examples have a bound")
	}
}

// Several classes by hand: one-against-all means over outputs with a factor √2 after the
// contraction, softmax losses with their constant in the Euclidean norm of the row. Units
// are those of regrets, for losses without a Lipschitz constant too.
func TestBoundOfClasses(t *testing.T) {
	d := &Data{Rows: 3, Features: 1, X: []float64{2, -1, 0.5}, Class: []int32{0, 1, 2}, Classes: 3}
	const radius, delta = 0.5, 0.1
	rad := radius * math.Sqrt(4+1+1+1+0.25+1) / 3
	most := radius * math.Sqrt(4+1)
	for _, multi := range []MultiClass{OneVsAll, Softmax} {
		o := &Options{Losses: []Loss{score.ZeroOne(), score.Hinge(), score.SquaredError()}, Radius: radius,
			MultiClass: multi, Normalization: Regret, Batch: -1, Workers: 1}
		f, err := Train(d, o)
		if err != nil {
			t.Fatal(err)
		}
		s, err := f.Model.Evaluate(d, 1)
		if err != nil {
			t.Fatal(err)
		}
		b, err := f.Model.Bound(d, s, radius, delta)
		if err != nil {
			t.Fatal(err)
		}
		// Constants in the norm of the row, as √2 Σ_c sees them, and bounds, of the raw losses.
		contraction := math.Sqrt2 * 3 * rad
		lip := []float64{1 / math.Ln2 * 3 / 2 / 3, 1. / 3, 2 * (1 + most) / 3}
		bound := []float64{3. / 2 * math.Log1p(math.Exp(most)) / math.Ln2, 1 + most, (1 + most) * (1 + most)}
		if multi == Softmax {
			lip = []float64{math.Sqrt2 / math.Ln2, math.Sqrt2, 2 * (1 + most) * math.Sqrt(3)}
			bound = []float64{(math.Log(3) + 2*most) / math.Ln2, 1 + 2*most, 3 * (1 + most) * (1 + most)}
		}
		vertex, steep, high := math.Inf(-1), 0.0, 0.0
		for k, u := range f.Model.Objectives {
			vertex = max(vertex, s.Values[k]+u.Scale*(2*lip[k]*contraction+3*bound[k]*math.Sqrt(math.Log(2*3/delta)/6)))
			steep, high = max(steep, u.Scale*lip[k]), max(high, u.Scale*bound[k])
		}
		cover := s.Worst + 2*steep*contraction + high*0.01 + steep*2*most*math.Sqrt((3*math.Log(201)-math.Log(delta))/6)
		if math.Abs(b.Vertex-vertex) > 1e-12*vertex || math.Abs(b.Cover-cover) > 1e-12*cover {
			t.Errorf("%s: vertex %v, by hand %v; cover %v, by hand %v", multi, b.Vertex, vertex, b.Cover, cover)
		}
	}
}

// Targets beyond ±1 are farther from the scores, and losses there steeper.
func TestBoundOfNumbers(t *testing.T) {
	d := &Data{Rows: 2, Features: 1, X: []float64{1, 2}, Y: []float64{-7, 3}}
	f, err := Train(d, &Options{Losses: []Loss{score.SquaredError()}, Radius: 0.5, Normalization: Regret, Batch: -1, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Model.Evaluate(d, 1)
	if err != nil {
		t.Fatal(err)
	}
	b, err := f.Model.Bound(d, s, 0.5, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	most := 0.5*math.Sqrt(5) + 7 // of |s - y|
	rad := 0.5 * math.Sqrt(1+1+4+1) / 2
	want := s.Values[0] + f.Model.Objectives[0].Scale*(2*2*most*rad+3*most*most*math.Sqrt(math.Log(4)/4))
	if math.Abs(b.Vertex-want) > 1e-12*want {
		t.Errorf("vertex %v, by hand %v", b.Vertex, want)
	}
}

// The surrogate of argmax errors, C/2 times the mean of log2(1+e^{-z}), is at least the
// error on every row, and equal to it in the limit where one score ties with the right one
// and the others are far below: a smaller factor would be none.
func TestArgmaxSurrogate(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 6))
	for _, classes := range []int{3, 4, 9} {
		objectives, err := newObjectives([]Loss{score.ZeroOne()}, Raw, Surrogate, OneVsAll, classes, math.Inf(1))
		if err != nil {
			t.Fatal(err)
		}
		row := func(s []float64, class int) (surrogate, errors float64) {
			y := slices.Repeat([]float64{-1}, classes)
			y[class] = 1
			sums := []float64{0}
			var c scratch
			evaluate(objectives, OneVsAll, Surrogate, classes, s, y, []int32{int32(class)}, nil, sums, nil, &c)
			return sums[0], countErrors(classes, s, y, []int32{int32(class)}, nil)
		}
		s := make([]float64, classes)
		for range 500 {
			size := math.Exp(2 * rng.NormFloat64())
			for c := range s {
				s[c] = size * rng.NormFloat64()
			}
			class := rng.IntN(classes)
			if a, b := row(s, class); a < b {
				t.Fatalf("scores %v, class %d: the surrogate is %v, the error %v", s, class, a, b)
			}
		}
		for c := range s {
			s[c] = -60
		}
		s[0], s[1] = 0, 0
		if a, b := row(s, 0); b != 1 || math.Abs(a-1) > 1e-12 {
			t.Errorf("a tie: the surrogate is %v, the error %v", a, b)
		}
	}
}

// The curve goes from the second loss alone to the first alone, in even steps: the first
// loss falls along it and the second rises. λ of a point is the weight of the first loss
// named, in whatever order these are among the options. The robust point is on the
// diagonal, or at the end nearer to it, and no point of the curve is below it in both.
func TestTradeOff(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 2))
	d := &Data{Rows: 80, Features: 2, Classes: 2}
	for i := range d.Rows {
		d.Class = append(d.Class, int32(i%2))
		d.X = append(d.X, rng.NormFloat64()+float64(i%2), rng.NormFloat64())
	}
	one, _ := score.QNorm(1)
	const gap = 1e-4
	o := &Options{Losses: []Loss{score.Hinge(), one, score.CrossEntropy()}, Beta1: 0.01, Gap: gap, Passes: 2, Workers: 1}
	for _, q := range [][2]int{{2, 1}, {1, 2}} {
		curve, robust, err := TradeOff(d, o, q[0], q[1], 4)
		if err != nil {
			t.Fatal(err)
		}
		if len(curve) != 5 {
			t.Fatalf("%d points", len(curve))
		}
		for i, p := range curve {
			if p.Fit.Objectives[0] != o.Losses[q[0]].Name || p.Fit.Objectives[1] != o.Losses[q[1]].Name {
				t.Errorf("point %d is of %v", i, p.Fit.Objectives)
			}
			if p.Lambda != float64(i)/4 {
				t.Errorf("point %d has the weight %v", i, p.Lambda)
			}
			if i > 0 && (p.Values[0] > curve[i-1].Values[0]+gap || p.Values[1] < curve[i-1].Values[1]-gap) {
				t.Errorf("from %v to %v: the first loss must fall and the second rise", curve[i-1].Values, p.Values)
			}
			if p.Values[0] < robust.Values[0]-gap && p.Values[1] < robust.Values[1]-gap {
				t.Errorf("%v at λ %v is below the robust %v", p.Values, p.Lambda, robust.Values)
			}
			// Each point is the best for its own mixture.
			for _, r := range curve {
				at := func(x TradePoint) float64 {
					return p.Lambda*x.Values[0] + (1-p.Lambda)*x.Values[1] + x.Fit.Penalty
				}
				if at(p) > at(r)+2*gap {
					t.Errorf("λ %v: %v is worse there than %v", p.Lambda, p.Values, r.Values)
				}
			}
		}
		if !(curve[0].Values[0]-curve[4].Values[0] > 0.02) {
			t.Errorf("the ends do not differ: %v, %v", curve[0].Values, curve[4].Values)
		}
		if worst := max(robust.Values[0], robust.Values[1]); slices.ContainsFunc(curve, func(p TradePoint) bool {
			return max(p.Values[0], p.Values[1])+p.Fit.Penalty < worst+robust.Fit.Penalty-2*gap
		}) {
			t.Errorf("the robust point %v is worse than one of the curve", robust.Values)
		}
	}
	if _, _, err := TradeOff(d, o, 0, 0, 4); err == nil {
		t.Error("a trade-off of a loss with itself")
	}
}
