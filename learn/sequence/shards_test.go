package sequence_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/sequence"
)

// shardExamples are sentences whose labels follow from words, mostly.
func shardExamples(n int, seed uint64) []sequence.Example {
	rng := rand.New(rand.NewPCG(seed, 9))
	var out []sequence.Example
	for i := range n {
		e := sequence.Example{}
		for range 2 + rng.IntN(8) {
			w := rng.IntN(30)
			e.Columns = append(e.Columns, []string{fmt.Sprintf("w%d", w), "_"})
			e.Labels = append(e.Labels, "abcd"[(w+rng.IntN(2))%4:][:1])
		}
		e.Source = fmt.Sprintf("test:%d", i+1)
		out = append(out, e)
	}
	return out
}

func shardOptions(t *testing.T) *sequence.TrainOptions {
	t.Helper()
	templates, err := sequence.ParseTemplates(strings.NewReader("U0:%x[0,0]\nU1:%x[-1,0]|%x[0,0]\nU2:%x[1,0]\nB1:%x[0,0]\n"), "templates")
	if err != nil {
		t.Fatal(err)
	}
	return &sequence.TrainOptions{Templates: templates, Format: sequence.Format{Form: sequence.Columns, Columns: 2, Label: 1}, Workers: 2,
		Control: run.Control{Stop: run.Stop{Iterations: 300, Relative: 1e-12}}}
}

// planOf surveys shards, and makes their plan and the objectives.
func planOf(t *testing.T, examples []sequence.Example, cuts []int, o *sequence.TrainOptions) (*sequence.Plan, []optim.Objective) {
	t.Helper()
	var surveys []*sequence.Survey
	for k := range len(cuts) - 1 {
		s, err := sequence.SurveyOf(examples[cuts[k]:cuts[k+1]], o)
		if err != nil {
			t.Fatal(err)
		}
		surveys = append(surveys, s)
	}
	p, err := sequence.NewPlan(surveys, o)
	if err != nil {
		t.Fatal(err)
	}
	var sums []optim.Objective
	for k := range len(cuts) - 1 {
		f, err := p.Shard(examples[cuts[k]:cuts[k+1]])
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, f)
	}
	return p, sums
}

// A plan of shards numbers features as Prepare numbers those of all examples, and the sum of the
// shards is the objective of all.
func TestShards(t *testing.T) {
	examples := shardExamples(120, 1)
	for _, change := range []func(o *sequence.TrainOptions){
		func(o *sequence.TrainOptions) {},
		func(o *sequence.TrainOptions) { o.MinCount = 3 },
		func(o *sequence.TrainOptions) { o.Observed = true; o.MinCount = 2 },
		func(o *sequence.TrainOptions) { o.Labels = []string{"zz"}; o.Kind = sequence.SoftmaxMargin },
	} {
		o := shardOptions(t)
		change(o)
		p, sums := planOf(t, examples, []int{0, 31, 32, 90, 120}, o)
		whole, err := sequence.Prepare(examples, o)
		if err != nil {
			t.Fatal(err)
		}
		if p.Dim() != whole.Dim() || p.Examples() != 120 || p.Positions() != whole.Positions() {
			t.Fatalf("%d weights, %d examples, %d positions; all at once %d, 120, %d", p.Dim(), p.Examples(), p.Positions(), whole.Dim(), whole.Positions())
		}
		f, err := whole.Objective(o)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(2, 2))
		x, got, want := make([]float64, p.Dim()), make([]float64, p.Dim()), make([]float64, p.Dim())
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		v, err := optim.NewReducer(optim.Shards(sums...), &optim.ReducerOptions{Workers: 1}).Eval(x, got)
		if err != nil {
			t.Fatal(err)
		}
		w, err := f.Eval(x, want)
		if err != nil || math.Abs(v-w) > 1e-10*math.Abs(w) {
			t.Fatalf("value %v, all at once %v (%v)", v, w, err)
		}
		for j := range got {
			if math.Abs(got[j]-want[j]) > 1e-10 {
				t.Fatalf("gradient[%d] is %v, all at once %v", j, got[j], want[j])
			}
		}
		// The same plan, read back, gives the same bits.
		b, err := p.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		q, err := sequence.UnmarshalPlan(b, o)
		if err != nil {
			t.Fatal(err)
		}
		again, err := q.Shard(examples[32:90])
		if err != nil {
			t.Fatal(err)
		}
		v1, _ := sums[2].Eval(x, got)
		v2, _ := again.Eval(x, want)
		if v1 != v2 || !cmp.Equal(got, want) {
			t.Error("a plan that was read back gives other bits")
		}
	}
}

// Training on shards reaches the optimum of training on all, with the names in their places.
func TestTrainOnShards(t *testing.T) {
	examples := shardExamples(80, 3)
	o := shardOptions(t)
	p, sums := planOf(t, examples, []int{0, 20, 55, 80}, o)
	got, r, err := p.Train(optim.NewReducer(optim.Shards(sums...), nil), nil)
	if err != nil || r.Iterations == 0 {
		t.Fatal(r, err)
	}
	want, _, err := sequence.Train(examples, o)
	if err != nil {
		t.Fatal(err)
	}
	weights := func(m *sequence.Model) map[string]float64 {
		out := map[string]float64{}
		m.Weights(func(w sequence.Weight) bool { out[w.Attribute+" "+strings.Join(w.Labels, " ")] = w.Value; return true })
		return out
	}
	a, b := weights(got), weights(want)
	for name, v := range b {
		if math.Abs(a[name]-v) > 1e-3 {
			t.Errorf("%s: %v, of all at once %v", name, a[name], v)
		}
	}
	var file bytes.Buffer
	if err := got.Write(&file); err != nil {
		t.Fatal(err)
	}
	if m, err := sequence.Read(&file); err != nil || len(m.Labels()) != 4 {
		t.Error(err)
	}
}

func TestShardErrors(t *testing.T) {
	examples := shardExamples(10, 4)
	o := shardOptions(t)
	p, _ := planOf(t, examples, []int{0, 10}, o)
	other := shardExamples(1, 5)
	other[0].Labels[1] = "new"
	if _, err := p.Shard(other); err == nil || !strings.Contains(err.Error(), `test:1: token 2 has the label "new"`) {
		t.Error(err)
	}
	for _, change := range []func(o *sequence.TrainOptions){
		func(o *sequence.TrainOptions) { o.Solver = sequence.SGD },
		func(o *sequence.TrainOptions) { o.Kind = sequence.Risk },
		func(o *sequence.TrainOptions) { o.Init = &sequence.Model{} },
	} {
		o := shardOptions(t)
		change(o)
		if _, err := sequence.SurveyOf(examples, o); err == nil {
			t.Error("options that need all examples were taken")
		}
	}
	if _, err := sequence.NewPlan(nil, o); err == nil {
		t.Error("a plan of no shards")
	}
	if _, err := sequence.UnmarshalPlan([]byte("x"), o); err == nil {
		t.Error("a plan of garbage")
	}
}
