package multi

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/run"
)

func saved(t *testing.T, m *Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The same model, byte for byte, for any number of workers, and after saving; scores of the
// training rows are those of training, when Q is the same.
func TestDeterminism(t *testing.T) {
	d := mixed(31, 3, 1500, 4, 0.15) // more rows than a block has
	for name, o := range map[string]*Options{"default": {}, "thesis": Thesis(Closed),
		"trees": {Learner: boost.SignTrees{Splits: 2}}, "uniform": {Q: Uniform{3}, Loss: boost.Logistic{}},
		"max": {Objective: Max}} {
		o.Rounds = 6
		var two []*Model
		for _, workers := range []int{1, 3} {
			m, _, err := Train(d, o, &run.Control{Workers: workers})
			if err != nil {
				t.Fatal(err)
			}
			two = append(two, m)
		}
		a, b := two[0], two[1]
		file := saved(t, a)
		if !bytes.Equal(file, saved(t, b)) {
			t.Errorf("%s: the model depends on the number of workers", name)
		}
		c, err := Read(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(file, saved(t, c)) {
			t.Errorf("%s: the file changes when it is read and written", name)
		}
		f, _ := a.Scores(d.X, &PredictOptions{Workers: 1})
		g, err := c.Scores(d.X, &PredictOptions{Workers: 2})
		if err != nil || !slices.Equal(f, g) {
			t.Errorf("%s: scores differ after reading: %v", name, err)
		}
		var staged []float64
		if err := c.Staged(d.X, nil, 2, func(round int,
			f []float64) bool {
			staged = append(staged[:0], f...)
			return true
		}); err != nil || !slices.Equal(staged, f) {
			t.Errorf("%s: the last of staged scores are others: %v", name, err)
		}
		h, _ := a.Scores(d.X, &PredictOptions{Rounds: 2})
		k, _ := a.Prefix(2).Scores(d.X, nil)
		if !slices.Equal(h, k) || slices.Equal(h, f) {
			t.Errorf("%s: rounds of prediction", name)
		}
	}
	// Losses of the history are those of predictions.
	m := trained(t, d, &Options{Q: TrueSource{3}, Rounds: 5})
	f, _ := m.Scores(d.X, nil)
	sum, n := 0.0, 0.0
	for i, s := range d.X.Source {
		if s == 2 {
			sum += math.Exp(-d.Y[i] * f[i])
			n++
		}
	}
	near(t, "loss", m.History[4][2], sum/n, 1e-12)
}

// Permuting the domains permutes the model.
func TestPermutedDomains(t *testing.T) {
	d := mixed(17, 3, 90, 3, 0.2)
	to := []int32{2, 0, 1}
	x := *d.X
	x.Source = make([]int32, x.Rows)
	for i, s := range d.X.Source {
		x.Source[i] = to[s]
	}
	e := &boost.Data{X: &x, Y: d.Y}
	a := trained(t, d, &Options{Q: Func{3, softQ}, Rounds: 8})
	b := trained(t, e, &Options{Q: Func{3, func(q []float64, x *table.Table, i int) {
		v := make([]float64, 3)
		softQ(v, x, i)
		for k := range v {
			q[to[k]] = v[k]
		}
	}}, Rounds: 8})
	f, _ := a.Scores(d.X, nil)
	g, _ := b.Scores(&x, nil)
	for i := range f {
		near(t, "score", g[i], f[i], 1e-7)
	}
	for k := range 3 {
		near(t, "mass", b.Mass()[to[k]], a.Mass()[k], 1e-7)
		near(t, "share", b.Shares()[to[k]], a.Shares()[k], 1e-7)
	}
	near(t, "shares", b.Shares()[0]+b.Shares()[1]+b.Shares()[2], 1, 1e-12)
}

// A run that ends early goes on to the model of the unbroken one; other data or settings
// are refused.
func TestResume(t *testing.T) {
	d, v := mixed(41, 3, 100, 3, 0.2), mixed(42, 3, 60, 3, 0.2)
	for name, o := range map[string]Options{"default": {}, "max": {Objective: Max, Step: Closed},
		"valid": {Valid: v}, "best": {Best: true, Objective: Max, Step: SqrtStep},
		"unlabelled": {Unlabelled: mixed(43, 3, 50, 3, 0.2).X}} {
		o.Rounds = 14
		var losses []float64 // of the validation rows
		watch := watcher(func(p *Progress) error {
			if o.Valid != nil {
				losses = append(losses, p.Valid)
			}
			return nil
		})
		train := func(o *Options, c run.Control) *Model {
			c.Recorder = watch
			m, _, err := Train(d, o, &c)
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		whole := saved(t, train(&o, run.Control{}))
		unbroken := losses
		var file bytes.Buffer
		part := o
		part.Rounds = 9
		train(&part, run.Control{CheckpointEvery: 5, Checkpoint: func(k *run.Checkpoint) error {
			file.Reset()
			return k.Write(&file)
		}})
		k, err := run.ReadCheckpoint(bytes.NewReader(file.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if k.Iteration != 5 {
			t.Errorf("%s: checkpoint of round %d", name, k.Iteration)
		}
		losses = slices.Clone(k.Arrays[partHistory])
		var last *run.Checkpoint
		if got := saved(t, train(&o, run.Control{Resume: k, CheckpointEvery: 7,
			Checkpoint: func(k *run.Checkpoint) error { last = k; return nil }})); !bytes.Equal(got, whole) {
			t.Errorf("%s: the resumed run gave another model", name)
		}
		if !slices.Equal(losses, unbroken) || o.Valid != nil &&
			!slices.Equal(last.Arrays[partHistory], unbroken[:last.Iteration]) {
			t.Errorf("%s: losses of the validation rows are %v, resumed %v, in the checkpoint after it %v", name,
				unbroken, losses, last.Arrays[partHistory])
		}
		for what, change := range map[string]func(*Options, *boost.Data){
			"settings": func(o *Options, _ *boost.Data) { o.Mu = 7 },
			"rows":     func(_ *Options, d *boost.Data) { d.Y[0] = -d.Y[0] },
			"learners": func(o *Options, _ *boost.Data) { o.Learner = boost.Stumps{} },
			"valid":    func(o *Options, _ *boost.Data) { o.Valid = mixed(43, 3, 60, 3, 0.2) },
			"rounds":   func(o *Options, _ *boost.Data) { o.Rounds = 4 },
			"names":    func(o *Options, d *boost.Data) { d.X.Columns[0].Name, o.Valid = "another", nil },
			"rows for Q": func(o *Options, _ *boost.Data) {
				if o.Unlabelled = mixed(44, 3, 50, 3, 0.2).X; name == "unlabelled" {
					o.Unlabelled = nil
				}
			},
		} {
			other, data := o, mixed(41, 3, 100, 3, 0.2)
			change(&other, data)
			if _, _, err := Train(data, &other, &run.Control{Resume: k}); !errors.Is(err, run.ErrOther) {
				t.Errorf("%s, other %s: %v", name, what, err)
			}
		}
		b := file.Bytes()
		for _, n := range []int{10, len(b) / 2, len(b) - 1} {
			if _, err := run.ReadCheckpoint(bytes.NewReader(b[:n])); err == nil {
				t.Errorf("%s: %d bytes of a checkpoint were read", name, n)
			}
		}
	}
}

func TestInterrupted(t *testing.T) {
	d := mixed(41, 3, 100, 3, 0.2)
	ctx, cancel := context.WithCancel(context.Background())
	var last *run.Checkpoint
	m, _, err := Train(d, &Options{Rounds: 100}, &run.Control{Ctx: ctx, CheckpointEvery: 1000,
		Checkpoint: func(k *run.Checkpoint) error { last = k; return nil },
		Recorder: watcher(func(p *Progress) error {
			if p.Round == 4 {
				cancel()
			}
			return nil
		})})
	var i *run.InterruptedError
	if !errors.As(err, &i) || i.Steps != 4 || m == nil || m.Trained != 4 || last == nil || last.Iteration != 4 {
		t.Errorf("%v, %v", m, err)
	}
	if m, _, err := Train(d, nil, &run.Control{Ctx: ctx}); !errors.As(err, &i) {
		t.Errorf("%v, %v", m, err)
	}
	stop := errors.New("stop")
	if _, _, err := Train(d, &Options{Q: Uniform{3}},
		&run.Control{Recorder: watcher(func(*Progress) error { return stop })}); !errors.Is(err, stop) {
		t.Error(err)
	}
}

// Validation rows choose the prefix of least largest loss, and patience ends the run.
func TestValidation(t *testing.T) {
	d, v := mixed(51, 2, 60, 3, 0.3), mixed(52, 2, 60, 3, 0.3)
	var seen []float64
	m, _, err := Train(d, &Options{Rounds: 200, Valid: v}, &run.Control{Stop: run.Stop{Patience: 15},
		Recorder: watcher(func(p *Progress) error { seen = append(seen, p.Valid); return nil })})
	if err != nil {
		t.Fatal(err)
	}
	best := 0
	for i, x := range seen {
		if x < seen[best] {
			best = i
		}
	}
	if m.Trained != best+1 || len(seen) != best+16 {
		t.Errorf("%d rounds are kept, the best of %d was %d", m.Trained, len(seen), best+1)
	}
}

// Damaged files are refused with a reason, and never crash.
func TestLoadHostile(t *testing.T) {
	file := saved(t, trained(t, mixed(1, 2, 40, 2, 0.2), &Options{Rounds: 3}))
	for n := 0; n < len(file); n += 97 {
		if _, err := Read(bytes.NewReader(file[:n])); err == nil {
			t.Fatalf("%d of %d bytes were read as a model", n, len(file))
		}
		b := slices.Clone(file)
		b[n] ^= 0x10
		if _, err := Read(bytes.NewReader(b)); err == nil {
			t.Fatalf("a model with byte %d changed was read", n)
		}
	}
	// With a right checksum, what is inside is checked.
	change := func(meta func(*fileMeta), arrays func(*model.Container)) error {
		c, err := model.Read(bytes.NewReader(file), nil)
		if err != nil {
			t.Fatal(err)
		}
		var m fileMeta
		if err := c.Meta(&m); err != nil {
			t.Fatal(err)
		}
		if meta != nil {
			meta(&m)
		}
		out := model.New(fileKind, fileVersion)
		if err := out.SetMeta(m); err != nil {
			t.Fatal(err)
		}
		for _, name := range c.Names() {
			if v, err := model.Get[float64](c, name); err == nil {
				model.Put(out, name, v)
			} else if v, err := model.Get[int32](c, name); err == nil {
				model.Put(out, name, v)
			} else if v, err := model.Get[uint8](c, name); err == nil {
				model.Put(out, name, v)
			}
		}
		if arrays != nil {
			arrays(out)
		}
		var b bytes.Buffer
		if err := out.Write(&b); err != nil {
			t.Fatal(err)
		}
		_, err = Read(&b)
		return err
	}
	if err := change(nil, nil); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func(*fileMeta){
		"sources": func(m *fileMeta) { m.Sources = nil }, "rows": func(m *fileMeta) { m.Rows = m.Rows[:1] },
		"shared": func(m *fileMeta) { m.Shared = false },
		"rounds": func(m *fileMeta) { m.Trained = 1 }, "q": func(m *fileMeta) { m.Q = "magic" },
		"user q": func(m *fileMeta) { m.Q = "user:nobody" },
	} {
		if err := change(f, nil); err == nil {
			t.Errorf("a model with other %s was read", name)
		}
	}
	// Kinds are distinguished.
	var e boost.Ensemble
	if _, err := boost.Read(bytes.NewReader(file)); err == nil {
		t.Error(e, "a model of MULTIBOOST was read as one of boost")
	}
}

// namedQ is a classifier of a user's type.
type namedQ struct{ p byte }

func (q namedQ) Domains() int { return int(q.p) }
func (q namedQ) Predict(dst []float64, x *table.Table, from int) {
	Uniform{int(q.p)}.Predict(dst, x, from)
}
func (q namedQ) MarshalBinary() ([]byte, error) { return []byte{q.p}, nil }

func TestUserClassifier(t *testing.T) {
	d := mixed(1, 2, 40, 2, 0.2)
	m := trained(t, d, &Options{Rounds: 2, Q: namedQ{2}})
	if err := m.Write(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "RegisterClassifier") {
		t.Error(err)
	}
	RegisterClassifier("even", func(b []byte) (namedQ, error) { return namedQ{b[0]}, nil })
	back, err := Read(bytes.NewReader(saved(t, m)))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(namedQ{2}, back.Q, cmp.AllowUnexported(namedQ{})); d != "" {
		t.Error(d)
	}
}

// What cannot be trained on says why; what can, is.
func TestOddData(t *testing.T) {
	d := mixed(1, 3, 40, 2, 0.2)
	x := *d.X
	x.Sources = append(slices.Clone(x.Sources), "empty")
	if _, _, err := Train(&boost.Data{X: &x, Y: d.Y}, nil, nil); err == nil ||
		!strings.Contains(err.Error(), `source "empty" has no rows`) {
		t.Error(err)
	}
	x = *d.X
	x.Source = nil
	if _, _, err := Train(&boost.Data{X: &x, Y: d.Y}, nil, nil); err == nil ||
		!strings.Contains(err.Error(), "no column says which source") {
		t.Error(err)
	}
	x = *d.X
	x.Source = slices.Clone(x.Source)
	x.Source[7] = 9
	if _, _, err := Train(&boost.Data{X: &x, Y: d.Y}, nil, nil); err == nil ||
		!strings.Contains(err.Error(), "row 8: unusable data: source 10 of 3") {
		t.Error(err)
	}
	y := slices.Clone(d.Y)
	y[3] = 0.5
	if _, _, err := Train(&boost.Data{X: d.X, Y: y}, nil, nil); !errors.Is(err, boost.ErrLabel) {
		t.Error(err)
	}
	for name, o := range map[string]*Options{
		"rounds": {Rounds: -1}, "objective": {Objective: "mean"}, "loss": {Loss: boost.Squared{}},
		"learners": {Learners: []boost.Learner{Stumps{}}}, "beta": {Beta: 1},
		"skew vertices": {Objective: Skewed, Target: *unit(3)},
		"sum target":    {Objective: Sum, Target: *unit(3)}, "penalty": {Penalty: []float64{1}},
		"mu": {Mu: math.NaN()}, "bound": {Step: Bound}, "closed block": {Step: Closed}, "score": {Score: "x"},
		"target": {Target: TargetSet{Lo: []float64{1, 1, 1}}},
	} {
		o.Q = Uniform{3}
		if _, _, err := Train(d, o, nil); err == nil {
			t.Errorf("bad %s was accepted", name)
		}
	}
	// A domain of one row, one of constant labels, and a perfect predictor.
	rows := []int{0}
	for i, s := range d.X.Source {
		if s > 0 {
			rows = append(rows, i)
		}
	}
	small := &boost.Data{X: d.X.Subset(rows)}
	for _, i := range rows {
		v := d.Y[i]
		if d.X.Source[i] == 2 {
			v = 1
		}
		small.Y = append(small.Y, v)
	}
	for _, q := range []Classifier{nil, TrueSource{3}} {
		m := trained(t, small, &Options{Q: q, Rounds: 30})
		for _, h := range m.History {
			for _, f := range h {
				if f-f != 0 {
					t.Fatalf("losses %v", h)
				}
			}
		}
		f, err := m.Scores(small.X, nil)
		if err != nil {
			t.Fatal(err)
		}
		e, err := ErrorRates(small, f, nil)
		if err != nil || q != nil && (e.Domain[0] != 0 || e.Domain[2] != 0) {
			t.Error(e, err)
		}
	}
}

// A score of zero predicts the first class, as predict does.
func TestErrorRates(t *testing.T) {
	d := &boost.Data{X: numeric([]int32{0, 0, 1, 1}, []float32{1, 2, 3, 4}), Y: []float64{1, -1, 1, -1}}
	e, err := ErrorRates(d, []float64{0, 0, 1, math.Copysign(0, -1)}, nil)
	if err != nil || !slices.Equal(e.Domain, []float64{0.5, 0}) || e.Uniform != 0.25 || e.Agnostic != 0.5 {
		t.Error(e, err)
	}
	e, err = ErrorRates(d, []float64{0, 0, 1, 0}, &TargetSet{Vertices: [][]float64{{0.5, 0.5}}})
	if err != nil || e.Agnostic != 0.25 {
		t.Error(e, err)
	}
	d.X.Sources = append(d.X.Sources, "none")
	if e, err = ErrorRates(d, []float64{1, 1, 1, 1}, nil); err != nil || !math.IsNaN(e.Domain[2]) ||
		e.Uniform != 0.5 {
		t.Error(e, err)
	}
	d.W = []float64{3, 1, 1, 1}
	if e, _ = ErrorRates(d, []float64{1, 1, 1, 1}, nil); e.Domain[0] != 0.25 {
		t.Error(e)
	}
	m := &Model{Loss: boost.Exponential{}}
	near(t, "probability", m.Probabilities([]float64{math.Log(3) / 2})[0], 0.75, 1e-12)
}
