package boost

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/resilient"
	"github.com/tropica-fst/tropica/learn/run"
)

// mislabelled has three classes of four columns, and says which rows have another's label.
func mislabelled(t *testing.T, n int) (*Data, []float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 8))
	x := &table.Table{Rows: n, Name: "rings", Columns: []table.Column{{Name: "a"}, {Name: "b"}, {Name: "c"},
		{Name: "d"}}, Classes: []string{"p", "q", "r"}, TargetName: "y"}
	wrong := make([]float64, n)
	for i := range n {
		r, at := 3*rng.Float64(), 2*math.Pi*rng.Float64()
		k := int(r)
		for j, v := range []float64{r * math.Cos(at), r * math.Sin(at), rng.NormFloat64(), rng.NormFloat64()} {
			x.Columns[j].Values = append(x.Columns[j].Values, float32(v))
		}
		if rng.Float64() < 0.15 {
			k, wrong[i] = (k+1+rng.IntN(2))%3, 1
		}
		x.Target = append(x.Target, float64(k))
	}
	d, err := NewData(x, SoftMax{Classes: 3})
	if err != nil {
		t.Fatal(err)
	}
	return d, wrong
}

// With h(u) = u the trees are those of ordinary boosting; with Huber rows of wrong labels come
// first.
func TestRelaxedRows(t *testing.T) {
	d, wrong := mislabelled(t, 900)
	o := GradientOptions{Loss: SoftMax{Classes: 3}, Rounds: 40, Depth: 3, Leaves: 8}
	plain, err := trainGradient(d, &o)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := plain.Scores(d.X, nil)
	o.Relax = resilient.Linear{}
	same, err := trainGradient(d, &o)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := same.Scores(d.X, nil)
	for i, v := range want {
		if math.Abs(v-got[i]) > 1e-9 {
			t.Fatalf("score %d is %v with weights of 1, %v without", i, got[i], v)
		}
	}
	for _, h := range []resilient.Relaxation{resilient.Quadratic{}, resilient.Huber{Delta: 0.5},
		resilient.CVaR{Tail: 0.5}} {
		o.Relax = h
		e, err := trainGradient(d, &o)
		if err != nil {
			t.Fatal(err)
		}
		losses, lambda, err := multipliers(h, d, e.Loss, must[[]float64](t)(e.Scores(d.X, nil)), 1)
		if err != nil {
			t.Fatal(err)
		}
		for i, at := range resilient.Rank(losses, lambda)[:5] {
			if top := e.Hard.Top[i]; top.Place != d.X.At(at) || top.Lambda != lambda[at] {
				t.Errorf("%s: row %d of the list is %+v, want %s with %v", h.Name(), i, top, d.X.At(at), lambda[at])
			}
		}
		least := 0.9
		if h.Shared() { // which leaves half of the rows out
			least = 0.8
		}
		if auc := metrics.AUC(losses, wrong, nil); auc < least {
			t.Errorf("%s: losses find wrong labels with an area of %.3f", h.Name(), auc)
		}
		var file bytes.Buffer
		if err := e.Write(&file); err != nil {
			t.Fatal(err)
		}
		if back, err := Read(&file); err != nil || !slices.Equal(back.Hard.Top, e.Hard.Top) {
			t.Errorf("%s: the list does not come back (%v)", h.Name(), err)
		}
	}
}

// A run that is taken up between two weighings gives the model of the unbroken one, byte for byte,
// and so do other numbers of workers.
func TestRelaxedResume(t *testing.T) {
	d, _ := mislabelled(t, 400)
	o := GradientOptions{Loss: SoftMax{Classes: 3}, Rounds: 17, Depth: 2, RowSample: 0.7,
		Relax: resilient.Huber{Delta: 0.4}, RelaxEvery: 5}
	text := func(c control) string {
		e, err := trainGradient(d, &o, c)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := e.Write(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	want := text(control{})
	for _, at := range []int{3, 5, 13} {
		var saved *run.Checkpoint
		var first control
		first.CheckpointEvery = at
		first.Checkpoint = func(k *run.Checkpoint) error {
			if saved == nil {
				saved = k
			}
			return nil
		}
		text(first)
		if saved == nil || saved.Iteration != at {
			t.Fatalf("no checkpoint at %d", at)
		}
		again := control{Resume: saved, Workers: 3}
		if text(again) != want {
			t.Errorf("taken up after round %d it gives another model", at)
		}
		other := o
		other.Relax = resilient.Huber{Delta: 0.5}
		if _, err := trainGradient(d, &other, again); err == nil {
			t.Errorf("a checkpoint of another relaxation is taken")
		}
	}
	for _, bad := range []GradientOptions{{Relax: resilient.Huber{}}, {Relax: resilient.Level{U: 1}},
		{Relax: resilient.Quadratic{}, RelaxEvery: -1}} {
		bad.Loss, bad.Rounds = SoftMax{Classes: 3}, 1
		if _, err := trainGradient(d, &bad); err == nil {
			t.Errorf("%s is taken", fmt.Sprint(bad.Relax, bad.RelaxEvery))
		}
	}
}
