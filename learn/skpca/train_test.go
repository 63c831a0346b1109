package skpca

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/kernel"
	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/run"
)

// rings is a table of two or three classes, a disc and rings around it, or of numbers. A third
// column of much variance says nothing.
func rings(n, classes int, seed uint64) *table.Table {
	rng := rand.New(rand.NewPCG(seed, 77))
	t := &table.Table{Name: "rings", Rows: n, TargetName: "y", Target: make([]float64, n)}
	for _, name := range []string{"a", "b", "nuisance"} {
		t.Columns = append(t.Columns, table.Column{Name: name, Values: make([]float32, n)})
	}
	for i := range n {
		c := rng.IntN(max(classes, 2))
		sin, cos := math.Sincos(2 * math.Pi * rng.Float64())
		r := 1 + 2*float64(c) + 0.3*rng.NormFloat64()
		t.Columns[0].Values[i], t.Columns[1].Values[i] = float32(r*cos), float32(r*sin)
		t.Columns[2].Values[i] = float32((3 + 0.1*rng.NormFloat64()) * float64(1-2*rng.IntN(2)))
		t.Target[i] = float64(c)
		if classes == 0 {
			t.Target[i] = r * r
		}
	}
	for c := range classes {
		t.Classes = append(t.Classes, string(rune('p'+c)))
	}
	return t
}

func trained(t *testing.T, x *table.Table, o *Options, c *run.Control) *Model {
	t.Helper()
	m, _, err := Train(x, o, c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func wrong(t *testing.T, m *Model, x *table.Table) float64 {
	t.Helper()
	s, err := m.Predict(context.Background(), x, 1)
	if err != nil {
		t.Fatal(err)
	}
	n := 0.0
	for i, y := range x.Target {
		if s.Class(i) != int(y) {
			n++
		}
	}
	return n / float64(x.Rows)
}

// All forms of training learn the rings, and files give the same model back: predictions, features
// and explanation.
func TestTrainAndFiles(t *testing.T) {
	for name, c := range map[string]struct {
		classes int
		o       Options
		sparse  bool
		most    float64 // error
	}{
		"default": {2, Options{Rank: []int{8}}, false, 0.05},
		"strict":  {2, Options{Rank: []int{8}, Strict: true, Nu: []float64{2}}, false, 0.05},
		"hinge":   {2, Options{Rank: []int{6}, Loss: "hinge", Gamma: []float64{1e-4}}, false, 0.05},
		"squared": {2, Options{Rank: []int{8}, Loss: "squared"}, false, 0.05},
		"three":   {3, Options{Rank: []int{12}, Search: Local, Gamma: []float64{1e-5}}, false, 0.1},
		"hinge3": {3, Options{Rank: []int{10}, Kernels: []string{"gaussian", "gaussian:2"}, Loss: "hinge",
			Gamma: []float64{1e-5}}, false, 0.1},
		"landmarks": {2, Options{Rank: []int{8}, Landmarks: 40, Choice: "spread"}, false, 0.05},
		"leverage": {2, Options{Rank: []int{8}, Landmarks: 40, Choice: "leverage", Lambda: []float64{0.5}},
			false, 0.05},
		"fourier": {2, Options{Rank: []int{8}, Fourier: 400, Kernels: []string{"gaussian", "laplacian:2",
			"linear"}}, false, 0.08},
		"groups": {2, Options{Rank: []int{4}, Kernels: []string{"polynomial:2:0"},
			Groups: []string{"1-2", "each"}}, false, 0.02},
		"centre": {2, Options{Rank: []int{8}, Centre: true}, false, 0.05},
		"cosine": {2, Options{Rank: []int{8}, Scale: "cosine", Kernels: []string{"polynomial:2:1",
			"gaussian:1"}}, false, 0.05},
		"two-stage": {2, Options{Rank: []int{15}, Search: TwoStage}, false, 0.1},
		"aligned":   {2, Options{Rank: []int{8}, Search: Aligned, Nu: []float64{5}}, false, 0.1},
		"margin": {2, Options{Rank: []int{6}, Kernels: []string{"gaussian", "gaussian:0.5"}, Rho: 0.05,
			Strict: true}, false, 0.05},
		"numbers": {0, Options{Rank: []int{8}, Gamma: []float64{1e-6}}, false, 0},
		"sparse":  {2, Options{Rank: []int{8}, Raw: true}, true, 0.15},
		"constant": {2, Options{Rank: []int{5}, Strict: true,
			Kernels: []string{"constant", "polynomial:2:0"}}, false, 0.15},
	} {
		t.Run(name, func(t *testing.T) {
			train, test := rings(160, c.classes, 1), rings(150, c.classes, 2)
			if c.sparse {
				train, test = sparseTable(t, train), sparseTable(t, test)
			}
			m := trained(t, train, &c.o, nil)
			ctx := context.Background()
			p, err := m.Predict(ctx, test, 1)
			if err != nil {
				t.Fatal(err)
			}
			if c.classes > 0 {
				if e := wrong(t, m, test); e > c.most {
					t.Errorf("error %g; counts %v", e, m.Counts())
				}
				for i := range test.Rows {
					sum := 0.0
					for _, v := range p.Probability[i*c.classes : (i+1)*c.classes] {
						sum += v
					}
					near(t, "sum of probabilities", sum, 1, 1e-12)
				}
			} else {
				sq, all := 0.0, 0.0
				for i, y := range test.Target {
					sq += (p.Score[i] - y) * (p.Score[i] - y)
					all += (y - 5) * (y - 5)
				}
				if sq > 0.15*all {
					t.Errorf("squares %g of %g", sq, all)
				}
			}
			// Scores are the features times the weights.
			z, err := m.Transform(ctx, test, 2)
			if err != nil {
				t.Fatal(err)
			}
			r := len(m.Features())
			if r != c.o.Rank[0] || len(z) != r*test.Rows {
				t.Fatalf("%d features", r)
			}
			for i := range test.Rows {
				for o, theta := range m.fit.theta {
					s, at := m.fit.offset[o], 0
					for k, n := range m.Counts() {
						for range n {
							v := theta[at] * z[i*r+at] / math.Sqrt(m.fit.mu[k])
							if m.rho > 0 {
								v /= m.rho
							}
							s += v
							at++
						}
					}
					near(t, "score", p.Score[i*p.Outputs+o], s, 1e-6)
				}
			}
			var b, again bytes.Buffer
			if err := m.Write(&b); err != nil {
				t.Fatal(err)
			}
			data := slices.Clone(b.Bytes())
			n, err := Read(&b)
			if err != nil {
				t.Fatal(err)
			}
			q, err := n.Predict(ctx, test, 3)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(p, q); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(m.Explain(), n.Explain()); diff != "" {
				t.Error(diff)
			}
			if err := n.Write(&again); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(data, again.Bytes()) {
				t.Error("a model that was read is written otherwise")
			}
			for cut := 0; cut < len(data); cut += 1 + len(data)/23 {
				if _, err := Read(bytes.NewReader(data[:cut])); !errors.Is(err, model.ErrFormat) &&
					!errors.Is(err, model.ErrChecksum) {
					t.Errorf("cut after %d bytes: %v", cut, err)
				}
			}
			other := trained(t, train, &c.o, &run.Control{Workers: 1})
			var o bytes.Buffer
			if err := other.Write(&o); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(data, o.Bytes()) {
				t.Error("workers change bits")
			}
		})
	}
}

// sparseTable reads a table again from LIBSVM lines.
func sparseTable(t *testing.T, x *table.Table) *table.Table {
	t.Helper()
	var text strings.Builder
	for i := range x.Rows {
		fmt.Fprintf(&text, "%d", int(x.Target[i]))
		for j := range x.Columns {
			fmt.Fprintf(&text, " %d:%v", j+1, x.Columns[j].Values[i])
		}
		text.WriteByte('\n')
	}
	out, err := table.Read(strings.NewReader(text.String()), "x.svm", &table.Options{Format: table.LibSVM,
		Storage: table.SparseStorage, Task: table.Classification})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Coupling leaves out the directions of much variance that say nothing: with few features it
// is far better than two stages.
func TestCouplingPays(t *testing.T) {
	train, test := rings(200, 2, 3), rings(400, 2, 4)
	o := Options{Rank: []int{2}, Kernels: []string{"polynomial:2:0"}, Groups: []string{"each"}, Raw: true}
	coupled := wrong(t, trained(t, train, &o, nil), test)
	o.Search = TwoStage
	if two := wrong(t, trained(t, train, &o, nil), test); coupled > 0.03 || two < 0.2 {
		t.Errorf("error %g with coupling, %g of two stages", coupled, two)
	}
}

// Settings are chosen by cross-validation or by the bound, and a run that was interrupted
// goes on from its checkpoint to the same model.
func TestChoiceAndResume(t *testing.T) {
	x := rings(90, 2, 5)
	o := Options{Rank: []int{2, 6}, Gamma: []float64{1e-3, 10},
		Kernels: []string{"gaussian:0.5", "gaussian"}, Folds: 3}
	m := trained(t, x, &o, nil)
	if m.setting.Rank != 6 || m.setting.Gamma != 1e-3 {
		t.Errorf("chosen: %v", m.setting)
	}
	var want bytes.Buffer
	if err := m.Write(&want); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var k *run.Checkpoint
	_, _, err := Train(x, &o, &run.Control{Ctx: ctx,
		Checkpoint: func(c *run.Checkpoint) error { k = c; return nil },
		Recorder: run.RecorderFunc(func(r run.Row) error {
			if r.Iteration == 2 {
				cancel()
			}
			return nil
		})})
	var stopped *run.InterruptedError
	if !errors.As(err, &stopped) || k == nil || k.Iteration != 2 {
		t.Fatalf("%v, checkpoint %+v", err, k)
	}
	again := trained(t, x, &o, &run.Control{Resume: k})
	var got bytes.Buffer
	if err := again.Write(&got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want.Bytes(), got.Bytes()) {
		t.Error("a resumed run gives another model")
	}
	other := o
	other.Gamma = []float64{1e-3, 1}
	if _, _, err := Train(x, &other, &run.Control{Resume: k}); !errors.Is(err, run.ErrOther) {
		t.Error(err)
	}
	o.Choose, o.Strict = "bound", true
	m = trained(t, x, &o, nil)
	for _, r := range o.Rank {
		for _, g := range o.Gamma {
			one := o
			one.Rank, one.Gamma = []int{r}, []float64{g}
			if b := trained(t, x, &one, nil).Bounds(); b.Risk < m.Bounds().Risk-1e-6 {
				t.Errorf("the bound is %g for rank %d and gamma %g, and %g for what was chosen", b.Risk, r, g,
					m.Bounds().Risk)
			}
		}
	}
}

// A run that stops after any step, folds and kernels alike, goes on to the same model.
func TestResumeEveryStep(t *testing.T) {
	x := rings(90, 2, 6)
	for name, o := range map[string]Options{
		"chosen":  {Rank: []int{2, 4}, Kernels: []string{"gaussian:0.5", "gaussian", "linear"}, Folds: 2},
		"centred": {Rank: []int{4}, Centre: true},
		"trace": {Trace: []float64{0.5, 0.8}, Kernels: []string{"gaussian", "gaussian:2"}, Folds: 2,
			Search: Local},
		"landmarks": {Rank: []int{4}, Landmarks: 30, Choice: "leverage",
			Kernels: []string{"gaussian", "polynomial:2:1"}},
		"features": {Rank: []int{4}, Fourier: 60, Kernels: []string{"gaussian:0.5", "laplacian", "linear"}},
	} {
		var want bytes.Buffer
		steps := 0
		m, r, err := Train(x, &o,
			&run.Control{Recorder: run.RecorderFunc(func(run.Row) error { steps++; return nil })})
		if err != nil || steps != r.Iterations {
			t.Fatalf("%s: %d steps, %v", name, steps, err)
		}
		if err := m.Write(&want); err != nil {
			t.Fatal(err)
		}
		for stop := 1; stop < steps; stop++ {
			ctx, cancel := context.WithCancel(context.Background())
			var k *run.Checkpoint
			_, _, err := Train(x, &o, &run.Control{Ctx: ctx,
				Checkpoint: func(c *run.Checkpoint) error { k = c; return nil },
				Recorder: run.RecorderFunc(func(r run.Row) error {
					if r.Iteration == stop {
						cancel()
					}
					return nil
				})})
			var e *run.InterruptedError
			if !errors.As(err, &e) || k == nil || k.Iteration != stop {
				t.Fatalf("%s: %v, checkpoint %+v after %d steps", name, err, k, stop)
			}
			var got bytes.Buffer
			if err := trained(t, x, &o, &run.Control{Resume: k}).Write(&got); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(want.Bytes(), got.Bytes()) {
				t.Errorf("%s: a run resumed after %d of %d steps gives another model", name, stop, steps)
			}
			cut := false
			for a := range k.Arrays { // kernels that were lost
				if strings.HasPrefix(a, "eigenvalues") {
					cut = true
					delete(k.Arrays, a)
				}
			}
			if stop == steps-1 && !cut {
				t.Errorf("%s: no kernel is kept before the last step", name)
			}
			if cut {
				if _, _, err := Train(x, &o, &run.Control{Resume: k}); !errors.Is(err, run.ErrOther) {
					t.Errorf("%s: a checkpoint without eigenvalues: %v", name, err)
				}
			}
		}
	}
}

// An interrupt within a step is obeyed at once, whatever is in work. Second moments of landmarks
// are half a second of work in one piece.
func TestInterrupted(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	x := rings(1500, 2, 8)
	for j := range 60 {
		c := table.Column{Name: fmt.Sprint("more", j), Values: make([]float32, x.Rows)}
		for i := range c.Values {
			c.Values[i] = float32(rng.NormFloat64())
		}
		x.Columns = append(x.Columns, c)
	}
	for _, o := range []Options{{}, {Landmarks: 1200}, {Fourier: 1500}} {
		best := time.Hour
		for try := 0; try < 3 && best > 200*time.Millisecond; try++ { // others use the machine too
			ctx, cancel := context.WithCancel(context.Background())
			var at time.Time
			time.AfterFunc(60*time.Millisecond, func() { at = time.Now(); cancel() })
			_, _, err := Train(x, &o, &run.Control{Ctx: ctx})
			var e *run.InterruptedError
			if !errors.As(err, &e) {
				t.Fatalf("%+v: %v", o, err)
			}
			best = min(best, time.Since(at))
		}
		if best > 200*time.Millisecond {
			t.Errorf("landmarks %d, features %d: an interrupt takes %v", o.Landmarks, o.Fourier, best)
		}
	}
}

// Test 18: rows held out of a fold are in no sample. If one were, moving it far away would
// change what is measured on the others.
func TestNoLeak(t *testing.T) {
	x := rings(60, 2, 6)
	o := Options{Rank: []int{3}, Kernels: []string{"gaussian"}, Gamma: []float64{0.1, 0.01}, Folds: 3}
	measures := func(x *table.Table) []float64 {
		p, err := prepare(x, mustComplete(t, &o), 1)
		if err != nil {
			t.Fatal(err)
		}
		tr := &trainer{prepared: p, o: mustComplete(t, &o), list: mustComplete(t, &o).settings(), rank: 3,
			workers: 1}
		if tr.folds, err = x.Stratified(3, 0, 1, 1); err != nil {
			t.Fatal(err)
		}
		m, err := tr.fold(0, context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	folds, _ := x.Stratified(3, 0, 1, 1)
	far := *x
	far.Columns = slices.Clone(x.Columns)
	far.Columns[0].Values = slices.Clone(x.Columns[0].Values)
	moved := folds[0].Test[0]
	far.Columns[0].Values[moved] = 1e6
	a, b := measures(x), measures(&far)
	// One row of twenty may be judged otherwise; nothing else may.
	n := float64(len(folds[0].Test))
	for i := 0; i < len(a); i += 2 {
		if math.Abs(a[i]-b[i]) > 1/n+1e-12 {
			t.Errorf("setting %d: error %g, and %g with a test row moved", i/2, a[i], b[i])
		}
	}
	// And a training row that moves changes the measures.
	far.Columns[0].Values = slices.Clone(x.Columns[0].Values)
	far.Columns[0].Values[folds[0].Train[0]] = 1e6
	if c := measures(&far); slices.Equal(a, c) {
		t.Error("a training row has no say")
	}
}

func mustComplete(t *testing.T, o *Options) *Options {
	t.Helper()
	out := *o
	if err := complete(&out, o); err != nil {
		t.Fatal(err)
	}
	return &out
}

// Test 17: labels have no say in the eigenfunctions, and rows without a label have one.
func TestUnlabelled(t *testing.T) {
	x := rings(80, 2, 7)
	flipped := *x
	flipped.Target = slices.Clone(x.Target)
	rand.New(rand.NewPCG(1, 1)).Shuffle(80, func(i, j int) {
		flipped.Target[i], flipped.Target[j] = flipped.Target[j], flipped.Target[i]
	})
	o := Options{Rank: []int{4}, Kernels: []string{"gaussian", "gaussian:2"}}
	a, b := trained(t, x, &o, nil), trained(t, &flipped, &o, nil)
	if diff := cmp.Diff(a.spectrum, b.spectrum); diff != "" {
		t.Error(diff)
	}
	if slices.Equal(a.fit.theta[0], b.fit.theta[0]) {
		t.Error("labels have no say in theta")
	}
	part := *x
	part.Weight = slices.Repeat([]float64{1}, 80)
	for i := 30; i < 80; i++ {
		part.Weight[i] = 0
		part.Target[i] = 0
	}
	c := trained(t, &part, &o, nil)
	if diff := cmp.Diff(a.spectrum, c.spectrum); diff != "" || c.labelled != 30 || c.rows != 80 {
		t.Error("rows without a label are not in the sample", diff)
	}
	o.Independent, o.Strict = true, true
	d := trained(t, &part, &o, nil)
	if d.rows != 50 || d.labelled != 30 || !d.Bounds().Independent || !(d.Bounds().B1 > 0) {
		t.Errorf("%d and %d rows, bounds %+v", d.rows, d.labelled, d.Bounds())
	}
	found := false
	for _, s := range d.Explain() {
		for _, row := range s.Rows {
			found = found || s.Title == "bounds" && row[2] == caveatIndependent
		}
	}
	if !found {
		t.Error("the bounds have no caveat")
	}
}

// Test 15 and bad input: each error says what is wrong, where, and what would do.
func TestRefuses(t *testing.T) {
	x := rings(60, 2, 8)
	one := *x
	one.Target = make([]float64, 60)
	numbers := rings(60, 0, 8)
	flat := &table.Table{Rows: 3, TargetName: "y", Target: []float64{0, 1, 0}, Classes: []string{"a", "b"},
		Columns: []table.Column{{Name: "a", Values: []float32{5, 5, 5}}}}
	odd := *x
	odd.Columns = slices.Clone(x.Columns)
	odd.Columns[1].Values = slices.Clone(x.Columns[1].Values)
	odd.Columns[1].Values[6] = float32(math.Inf(1))
	linear := []string{"linear"}
	for name, c := range map[string]struct {
		t    *table.Table
		o    Options
		want string
	}{
		"one class": {&one, Options{}, "one class"},
		"flat":      {flat, Options{}, "no column tells two rows apart"},
		"infinite":  {&odd, Options{Raw: true}, `row 7`},
		"rank": {x, Options{Rank: []int{5}, Kernels: linear},
			"rank 5: more components than the rank of the kernel: all kernels together have 3"},
		"nu": {x, Options{Nu: []float64{1}, Kernels: []string{"linear", "gaussian"},
			Lambda: []float64{0.01}}, "the smallest lambda for this nu is"},
		"lambda":       {x, Options{Nu: []float64{1.5}, Lambda: []float64{0.05}}, "lambda"},
		"nu below":     {x, Options{Nu: []float64{0.5}}, "nu: 0.5 is out of range: it must be at least 1"},
		"kernel":       {x, Options{Kernels: []string{"cubic"}}, "there is no kernel"},
		"group":        {x, Options{Groups: []string{"9"}}, "column 9 of 3"},
		"loss":         {numbers, Options{Loss: "hinge"}, "hinge is for classes"},
		"memory":       {x, Options{Megabytes: 1, Landmarks: 0}, ""},
		"independent":  {x, Options{Independent: true}, "no row is without a label"},
		"folds":        {x, Options{Gamma: []float64{1, 2}, Folds: 61}, "choice"},
		"bound":        {numbers, Options{Gamma: []float64{1, 2}, Choose: "bound"}, "two classes"},
		"no target":    {&table.Table{Rows: 60, Columns: x.Columns}, Options{}, "no target"},
		"centre":       {x, Options{Centre: true, Fourier: 10}, "not centred"},
		"sigmoid":      {x, Options{Kernels: []string{"sigmoid:-5:0.1"}}, "eigenvalue"},
		"not a number": {x, Options{Gamma: []float64{math.NaN()}}, "gamma"},
	} {
		_, _, err := Train(c.t, &c.o, nil)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	large := rings(800, 2, 9)
	var e *kernel.MemoryError
	if _, _, err := Train(large, &Options{Megabytes: 1, Search: TwoStage}, nil); !errors.As(err, &e) ||
		e.Landmarks < 10 {
		t.Errorf("%v", err)
	} else if _, _, err := Train(large, &Options{Megabytes: 1, Landmarks: e.Landmarks, Search: TwoStage},
		nil); err != nil {
		t.Errorf("with the %d landmarks that the error names: %v", e.Landmarks, err)
	}
	// Duplicate rows and kernels of low rank are no trouble.
	double := x.Subset(append(seq(60), seq(60)...))
	if _, _, err := Train(double, &Options{Rank: []int{3}, Kernels: linear, Nu: []float64{1}}, nil); err != nil {
		t.Error(err)
	}
	m := trained(t, x, nil, nil)
	if _, err := m.Predict(context.Background(), flat, 1); err == nil {
		t.Error("rows of another form were predicted")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.Predict(ctx, x, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Kernels that depend on one another are used, with a warning.
func TestWarnsOfCopies(t *testing.T) {
	x := rings(80, 2, 8)
	warned := func(kernels ...string) bool {
		found := false
		c := &run.Control{Warn: func(s string) { found = found || strings.Contains(s, "depend on one another") }}
		trained(t, x, &Options{Rank: []int{3}, Kernels: kernels}, c)
		return found
	}
	if !warned("gaussian", "gaussian:1.0", "linear") {
		t.Error("two copies of a kernel, and no warning")
	}
	if warned("gaussian", "gaussian:0.3", "linear") {
		t.Error("a warning of different kernels")
	}
}

func seq(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func ExampleTrain() {
	t := rings(200, 2, 1)
	m, _, err := Train(t, &Options{Rank: []int{2}, Kernels: []string{"polynomial:2:0"},
		Groups: []string{"each"}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Features())
	// Output: [polynomial:2:0/1 polynomial:2:0/2]
}
