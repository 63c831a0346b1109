package network_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/linear"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/resilient/network"
)

// The gradient of the sum of shards is that of central differences; without hidden layers, training
// ends where the linear model does.
func TestShards(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	var texts []string
	for range 2 {
		var b strings.Builder
		b.WriteString("p,q,y\n")
		for range 150 {
			p, q := rng.NormFloat64(), rng.NormFloat64()
			class := "no"
			if p*q+p+rng.NormFloat64() > 0 {
				class = "yes"
			}
			b.WriteString(strings.Join([]string{strconv.FormatFloat(p, 'f', 4, 64), strconv.FormatFloat(q, 'f', 4, 64), class}, ",") + "\n")
		}
		texts = append(texts, b.String())
	}
	var shards []*table.Table
	var moments []*linear.Moments
	for _, text := range texts {
		x, err := table.Read(strings.NewReader(text), "t.csv", &table.Options{Target: "y"})
		if err != nil {
			t.Fatal(err)
		}
		m, err := linear.MomentsOf(x)
		if err != nil {
			t.Fatal(err)
		}
		shards, moments = append(shards, x), append(moments, m)
	}
	p, err := linear.NewPlan(shards[0], moments, false)
	if err != nil {
		t.Fatal(err)
	}
	sum := func(o *network.ShardOptions) (*network.Shards, optim.Objective) {
		s, err := network.NewShards(p, o)
		if err != nil {
			t.Fatal(err)
		}
		var list []optim.Objective
		for _, x := range shards {
			f, err := s.Shard(x, 2)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, f)
		}
		return s, optim.NewReducer(optim.Shards(list...), &optim.ReducerOptions{Workers: 1})
	}
	s, f := sum(&network.ShardOptions{Hidden: []int{5}})
	x, g := make([]float64, s.Dim()), make([]float64, s.Dim())
	for j := range x {
		x[j] = rng.NormFloat64() / 2
	}
	if _, err := f.Eval(x, g); err != nil {
		t.Fatal(err)
	}
	for j := range x {
		const h = 1e-5
		at := x[j]
		x[j] = at + h
		up, _ := f.Eval(x, nil)
		x[j] = at - h
		down, _ := f.Eval(x, nil)
		x[j] = at
		if d := (up - down) / (2 * h); math.Abs(d-g[j]) > 1e-4*(1+math.Abs(d)) {
			t.Errorf("gradient[%d] is %v, by differences %v", j, g[j], d)
		}
	}
	m, r, err := s.Train(f, nil)
	if err != nil || !(r.F < 0.55) {
		t.Errorf("a network ends at %v (%v)", r.F, err)
	}
	var file strings.Builder
	if err := m.Write(&file); err != nil {
		t.Fatal(err)
	}
	if _, err := network.Read(strings.NewReader(file.String())); err != nil {
		t.Error(err)
	}
	s, f = sum(&network.ShardOptions{Hidden: []int{0}, L2: 0.01})
	_, r, err = s.Train(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The mean with l2 is the sum with n·l2.
	var list []optim.Objective
	o := &linear.Options{L2: 0.01 * 300}
	for _, x := range shards {
		q, err := p.Shard(x, o, 1)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, q)
	}
	_, want, err := p.Train(optim.NewReducer(optim.Shards(list...), nil), o, nil)
	if err != nil || math.Abs(300*r.F-want.F) > 1e-4*want.F {
		t.Errorf("without hidden layers the mean is %v, of the linear model %v (%v)", r.F, want.F/300, err)
	}
}
