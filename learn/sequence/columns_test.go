package sequence

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// twins are random examples whose attributes have twins at the same positions, with the same
// values.
func twins(rng *rand.Rand, n, labels int, valued bool) []Example {
	examples := randomExamples(rng, n, labels, valued)
	for i := range examples {
		for t, row := range examples[i].Attributes {
			for _, a := range row {
				if a.Name < "a3" {
					row = append(row, Attribute{Name: "twin " + a.Name, Value: a.Value})
				}
				if a.Name < "a1" {
					row = append(row, Attribute{Name: "triplet " + a.Name, Value: a.Value})
				}
			}
			examples[i].Attributes[t] = row
		}
	}
	return examples
}

// The objective of merged columns is that of the attributes, at weights that are equal among twins;
// and so is its gradient by the sum of those.
func TestMergedColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for _, observed := range []bool{false, true} {
		for _, valued := range []bool{false, true} {
			examples := twins(rng, 30, 3, valued)
			m, c, f, o := build(t, examples, TrainOptions{Observed: observed, L2: 0.7,
				Templates: templates(t, "U:%x[0,0]")}, 2)
			k := mergeColumns(m.layout, c)
			if k == nil || k.layout.single >= m.layout.single {
				t.Fatal("nothing was merged")
			}
			g := newObjective(k.layout, k.corpus, newLossOf(&o, k.layout, k.corpus), o.L2, 2)
			g.share = k.share
			x := random(rng, g.Dim())
			w := make([]float64, f.Dim())
			k.expand(m.layout, w, x)
			gw, gx := make([]float64, len(w)), make([]float64, len(x))
			a, err := f.Eval(w, gw)
			if err != nil {
				t.Fatal(err)
			}
			b, err := g.Eval(x, gx)
			if err != nil || math.Abs(a-b) > 1e-9 {
				t.Errorf("observed %v, valued %v: %v merged, %v apart, %v", observed, valued, b, a, err)
			}
			if v, _ := g.Eval(x, nil); math.Abs(v-b) > 1e-9 {
				t.Errorf("%v without a gradient, %v with one", v, b)
			}
			// Along any direction of the columns the derivatives agree.
			dx := random(rng, g.Dim())
			dw := make([]float64, f.Dim())
			k.expand(m.layout, dw, dx)
			if p, q := dot(gw, dw), dot(gx, dx); math.Abs(p-q) > 1e-9 {
				t.Errorf("observed %v, valued %v: slope %v merged, %v apart", observed, valued, q, p)
			}
		}
	}
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// Training ends at the minimum over the weights of all attributes.
func TestTrainingWithMergedColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 2))
	examples := twins(rng, 40, 3, false)
	for _, l1 := range []float64{0, 0.2} {
		for _, workers := range []int{1, 3} {
			o := TrainOptions{L2: 0.4, L1: l1, Observed: true, Workers: workers,
				Control: run.Control{Stop: run.Stop{Relative: 1e-13}}}
			m, r, err := Train(examples, &o)
			if err != nil {
				t.Fatal(err)
			}
			_, _, f, _ := build(t, examples, o, 1)
			want, err := optim.OWLQN{L1: l1}.Minimize(f, make([]float64, f.Dim()),
				&run.Control{Stop: run.Stop{Relative: 1e-14}})
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(r.F-want.F) > 1e-8 {
				t.Errorf("l1 %v: minimum %v, without merging %v", l1, r.F, want.F)
			}
			for i, w := range m.w {
				if math.Abs(w-want.X[i]) > 1e-3 {
					t.Fatalf("l1 %v: weight %d is %v, without merging %v", l1, i, w, want.X[i])
				}
			}
		}
	}
}

// The weights are those of the iteration with the fewest wrong labels, which a model trained for as
// many iterations has; a resumed run remembers them.
func TestDevelopmentSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	train, dev := twins(rng, 60, 4, false), randomExamples(rng, 40, 5, false) // dev has a label more
	var rows []run.Row
	o := TrainOptions{L2: 1e-3, Dev: dev, Workers: 2}
	o.Control.Stop = run.Stop{Patience: 4}
	o.Control.Recorder = run.RecorderFunc(func(r run.Row) error { rows = append(rows, r); return nil })
	var last *run.Checkpoint
	o.Control.Checkpoint, o.Control.CheckpointEvery = func(k *run.Checkpoint) error { last = k; return nil }, 1
	m, r, err := Train(train, &o)
	if err != nil {
		t.Fatal(err)
	}
	best := 0
	for i, row := range rows {
		if row.Valid != nil && (best == 0 || *row.Valid < *rows[best].Valid) {
			best = i
		}
	}
	if r.Reason != run.OutOfPatience || best == 0 || len(rows)-1 != rows[best].Iteration+4 {
		t.Fatalf("%s after %d rows, the best is %d", r.Reason, len(rows), best)
	}
	same, _, err := Train(train, &TrainOptions{L2: 1e-3,
		Control: run.Control{Stop: run.Stop{Iterations: rows[best].Iteration, Relative: -1}}})
	if err != nil {
		t.Fatal(err)
	}
	wrong, all := 0, 0
	for i := range dev {
		u, err := m.Tagger().Viterbi(&dev[i].Input)
		if err != nil {
			t.Fatal(err)
		}
		for k, y := range dev[i].Labels {
			all++
			if u[k] != y {
				wrong++
			}
		}
	}
	if got := float64(wrong) / float64(all); got != *rows[best].Valid {
		t.Errorf("the model has %v wrong, its iteration had %v", got, *rows[best].Valid)
	}
	for i, w := range same.w {
		if w != m.w[i] {
			t.Fatalf("weight %d is %v, that of %d iterations %v", i, m.w[i], rows[best].Iteration, w)
		}
	}
	// The run goes on from its last checkpoint, has no iteration left but those that patience
	// allows, and returns the same.
	o.Control.Resume, o.Control.Recorder, o.Control.Checkpoint = last, nil, nil
	o.Control.Stop = run.Stop{Patience: 4, Iterations: last.Iteration}
	again, _, err := Train(train, &o)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range again.w {
		if w != m.w[i] {
			t.Fatalf("weight %d is %v after resuming, was %v", i, w, m.w[i])
		}
	}
	if _, _, err := Train(train, &TrainOptions{Dev: []Example{{}}}); err == nil {
		t.Error("an empty development set is accepted")
	}
	for _, bad := range []TrainOptions{{Dev: dev, Solver: Proximal},
		{Control: run.Control{Stop: run.Stop{Patience: 1}}}} {
		if _, _, err := Train(train, &bad); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// Marginals by enumeration of all labellings.
func TestMarginals(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for order := 1; order <= 3; order++ {
		for _, pairs := range []bool{false, true} {
			o := TrainOptions{Order: order}
			if pairs && order == 1 {
				continue
			}
			if pairs {
				o.Templates = templates(t, "*:%x[0,0]")
			}
			examples := randomExamples(rng, 12, 3, true)
			m, c, _, _ := build(t, examples, o, 1)
			m.w = random(rng, m.layout.dim)
			tagger := m.Tagger()
			for i := range examples {
				got, err := tagger.Marginals(&examples[i].Input)
				if err != nil {
					t.Fatal(err)
				}
				n, d := len(examples[i].Labels), len(m.labels)
				want := make([]float64, n*d)
				z := 0.0
				all(n, d, func(u []int) {
					p := math.Exp(scoreOf(m, c, m.w, i, u))
					z += p
					for k, y := range u {
						want[k*d+y] += p
					}
				})
				if math.Abs(got.LogZ-math.Log(z)) > 1e-9 {
					t.Fatalf("order %d, pairs %v: log Z is %v, want %v", order, pairs, got.LogZ, math.Log(z))
				}
				for k, row := range got.P {
					for y, p := range row {
						if math.Abs(p-want[k*d+y]/z) > 1e-9 {
							t.Fatalf("order %d, pairs %v, %s: %v, want %v", order, pairs, fmt.Sprint(k, y), p, want[k*d+y]/z)
						}
					}
				}
			}
		}
	}
}
