package minimax

import (
	"math"
	"strings"
	"testing"
)

// The bounds by hand: two rows of one feature, hinge and cross-entropy, whose Lipschitz
// constants are 1.
func TestBound(t *testing.T) {
	d := &Data{Rows: 2, Features: 1, X: []float64{3, -4}, Class: []int32{1, 0}, Classes: 2}
	f, err := Train(d, &Options{Losses: []Loss{Hinge(), CrossEntropy()}, Radius: 2, Beta1: 0.1, Batch: -1, Workers: 1})
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
	}{{"Rademacher", b.Rademacher, rad}, {"vertex", b.Vertex, vertex}, {"cover", b.Cover, cover}, {"empirical", b.Empirical, s.Worst}} {
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
	}{{1e-3, 0.05, "train within a radius"}, {math.Inf(1), 0.05, "norm at most"}, {2, 0, "between 0 and 1"}, {2, math.NaN(), "between 0 and 1"}} {
		if _, err := f.Model.Bound(d, s, q.radius, q.delta); err == nil || !strings.Contains(err.Error(), q.says) {
			t.Errorf("radius %v, delta %v: %v", q.radius, q.delta, err)
		}
	}
	d.Weight = []float64{1, 2}
	if _, err := f.Model.Bound(d, s, 2, 0.05); err == nil {
		t.Error("weighted examples have a bound")
	}
}
