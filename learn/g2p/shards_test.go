package g2p_test

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/g2p"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// The sum of shards is the objective of all words; shards that travelled have the same bits; and
// a fit of the sum is a fit of all words.
func TestShards(t *testing.T) {
	f, err := os.Open("../../testdata/g2p/ice_train.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pairs, err := g2p.ReadPairs(f, "ice")
	if err != nil {
		t.Fatal(err)
	}
	pairs = pairs[:120]
	pairs[7] = g2p.Pair{Word: "a", Phones: slices.Repeat([]string{"a"}, 65)} // is lost
	opts := &g2p.Options{Workers: 2}
	p, err := g2p.Prepare(t.Context(), pairs, opts)
	if err != nil {
		t.Fatal(err)
	}
	cuts := []int{0, 30, 31, 90, 120}
	common, err := p.MarshalCommon()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []g2p.Kind{g2p.CrossEntropy, g2p.LatentMargin, g2p.NGramMargin} {
		o := g2p.DefaultObjective(kind)
		var sums []optim.Objective
		words := 0
		rng := rand.New(rand.NewPCG(5, 5))
		x := make([]float64, p.Stats.Trained)
		for j := range x {
			x[j] = rng.NormFloat64() / 3
		}
		for k := range len(cuts) - 1 {
			s := p.Shard(cuts[k], cuts[k+1])
			words += s.Words()
			own, err := s.Objective(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			b, err := s.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			r, err := g2p.UnmarshalShard(common, b, opts)
			if err != nil {
				t.Fatal(err)
			}
			far, err := r.Objective(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			g, h := make([]float64, len(x)), make([]float64, len(x))
			v, err1 := own.Eval(x, g)
			w, err2 := far.Eval(x, h)
			if err1 != nil || err2 != nil || v != w || !cmp.Equal(g, h) {
				t.Fatalf("%v: shard %d gives other bits after its travel: %v and %v (%v, %v)", kind, k, v, w, err1, err2)
			}
			sums = append(sums, far)
		}
		if words != p.Words() || words != 119 {
			t.Errorf("%d words in shards, %d in all", words, p.Words())
		}
		sum := optim.NewReducer(optim.Shards(sums...), &optim.ReducerOptions{Workers: 1})
		whole, err := p.Objective(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		g, h := make([]float64, len(x)), make([]float64, len(x))
		v, err1 := optim.Ridge(sum, o.L2).Eval(x, g)
		w, err2 := whole.Eval(x, h)
		if err1 != nil || err2 != nil || math.Abs(v-w) > 1e-9*math.Abs(w) {
			t.Fatalf("%v: the sum is %v, all words give %v (%v, %v)", kind, v, w, err1, err2)
		}
		for j := range g {
			if math.Abs(g[j]-h[j]) > 1e-9*(1+math.Abs(h[j])) {
				t.Fatalf("%v: gradient[%d] is %v, of all words %v", kind, j, g[j], h[j])
			}
		}
		stop := run.Stop{Iterations: 5}
		_, a, err1 := p.Fit(context.Background(), o, &g2p.FitOptions{Sum: sum, Stop: stop})
		_, b, err2 := p.Fit(context.Background(), o, &g2p.FitOptions{Stop: stop})
		if err1 != nil || err2 != nil || math.Abs(a.F-b.F) > 1e-6*math.Abs(b.F) {
			t.Errorf("%v: fits end at %v and %v (%v, %v)", kind, a.F, b.F, err1, err2)
		}
	}
	if _, _, err := p.Fit(t.Context(), g2p.DefaultObjective(g2p.RiskMix), &g2p.FitOptions{Sum: optim.Func{N: p.Stats.Trained}}); err == nil {
		t.Error("the risk of a sum, without weights to start from")
	}
	if _, _, err := p.Fit(t.Context(), g2p.DefaultObjective(g2p.CrossEntropy), &g2p.FitOptions{Sum: optim.Func{N: 3}}); err == nil {
		t.Error("a sum of another size was taken")
	}
}
