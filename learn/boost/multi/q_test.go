package multi

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

func fittedQ(t *testing.T, x, u *table.Table, o *QOptions) *FittedQ {
	t.Helper()
	f, err := FitQ(context.Background(), x, u, 2, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestQSeparates(t *testing.T) {
	var source []int32
	var a, b []float32
	rng := rand.New(rand.NewPCG(3, 3))
	for k := range int32(3) {
		for range 50 {
			source = append(source, k)
			a, b = append(a, float32(10*k)+float32(rng.NormFloat64())), append(b, float32(rng.NormFloat64()))
		}
	}
	x := numeric(source, a, b)
	f := fittedQ(t, x, nil, &QOptions{Lambda: 1e-6, Iterations: 200})
	for i, s := range source {
		if v := f.Train[i*3+int(s)]; v < 0.97 {
			t.Errorf("Q(%d|x) is %v on a row of that source", s, v)
		}
	}
	// Every row has Q of every source at least at the floor.
	f = fittedQ(t, x, nil, &QOptions{Lambda: 1e-6, Floor: 0.01})
	if least := slices.Min(f.Train); least < 0.01/1.03 {
		t.Errorf("Q is %v below the floor", least)
	}
	if f := fittedQ(t, x, nil, &QOptions{Choose: []float64{100, 1e-4}}); f.Lambda != 1e-4 {
		t.Errorf("penalty %v was chosen", f.Lambda)
	}
	// Domains that are alike get 1/p.
	for i := range a {
		a[i], b[i] = a[i%50], b[i%50]
	}
	f = fittedQ(t, numeric(source, a, b), nil, &QOptions{Folds: 1})
	for _, v := range f.Train {
		near(t, "Q of identical domains", v, 1.0/3, 1e-9)
	}
}

// What unlabelled rows change is Q, and nothing else; labels do not touch it.
func TestQUnlabelled(t *testing.T) {
	d, more := mixed(1, 2, 80, 3, 0.1), mixed(2, 2, 200, 3, 0.1)
	plain := fittedQ(t, d.X, nil, nil)
	with := fittedQ(t, d.X, more.X, nil)
	if cmp.Equal(plain.Train, with.Train) || len(plain.Train) != len(with.Train) || !plain.Crossed ||
		!with.Crossed || with.Apart {
		t.Error("unlabelled rows did not change Q, or changed its form")
	}
	only := fittedQ(t, d.X, more.X, &QOptions{OnlyUnlabelled: true})
	alone := fittedQ(t, more.X, nil, &QOptions{Folds: 1})
	q := make([]float64, d.X.Rows*2)
	alone.Classifier.Predict(q, d.X, 0)
	if !only.Apart || only.Crossed {
		t.Errorf("Q of unlabelled rows alone: apart %v, crossed %v", only.Apart, only.Crossed)
	}
	for i, v := range q {
		near(t, "Q of unlabelled rows alone", only.Train[i], v, 1e-9)
	}
	m := trained(t, d, &Options{Unlabelled: more.X, Rounds: 3})
	if m.Rows[0] != 80 || m.Rows[1] != 97 {
		t.Errorf("training rows %v", m.Rows)
	}
}

// With the balanced prior a domain whose rows are all there twice changes nothing.
func TestQBalanced(t *testing.T) {
	d := mixed(4, 3, 60, 3, 0.1)
	rows := numbers(d.X.Rows)
	for i, s := range d.X.Source {
		if s == 1 {
			rows = append(rows, i)
		}
	}
	twice := d.X.Subset(rows)
	a, b := fittedQ(t, d.X, nil, &QOptions{Folds: 1, Iterations: 500}),
		fittedQ(t, twice, nil, &QOptions{Folds: 1, Iterations: 500})
	for i, v := range a.Train {
		near(t, "Q", b.Train[i], v, 1e-4)
	}
	c := fittedQ(t, twice, nil, &QOptions{Folds: 1, Prior: Empirical})
	if math.Abs(c.Train[1]-a.Train[1]) < 1e-3 {
		t.Error("the empirical prior changed nothing")
	}
	// Weights are rows.
	w := *d.X
	w.Weight = make([]float64, w.Rows)
	for i, s := range w.Source {
		w.Weight[i] = 1
		if s == 1 {
			w.Weight[i] = 2
		}
	}
	e := fittedQ(t, &w, nil, &QOptions{Folds: 1, Prior: Empirical})
	for i, v := range e.Train {
		near(t, "weighted Q", c.Train[i], v, 1e-4)
	}
}

// The gradient of the log loss vanishes where the fit ends, computed from the
// standardised columns directly.
func TestQStationary(t *testing.T) {
	d := mixed(8, 3, 70, 4, 0.1)
	d.X.Columns[2].Values[5] = float32(math.NaN())
	const lambda = 0.02
	l := fittedQ(t, d.X, nil, &QOptions{Lambda: lambda, Folds: 1, Iterations: 1000, Floor: -1}).Classifier.(*Logistic)
	q := make([]float64, d.X.Rows*3)
	l.Predict(q, d.X, 0)
	counts := d.X.SourceCounts()
	for j, f := range l.Features {
		for k := range 3 {
			g := lambda * l.W[j*3+k]
			for i, s := range d.X.Source {
				w := 1 / float64(3*counts[s])
				x := (f.Cell(d.X, i) - f.Mean) * f.Scale
				r := q[i*3+k]
				if int(s) == k {
					r--
				}
				g += w * x * r
			}
			near(t, "gradient", g, 0, 2e-4)
		}
	}
}

func TestQRefuses(t *testing.T) {
	d := mixed(1, 2, 30, 2, 0.1)
	for want, o := range map[string]*Options{
		"Q(1|x) is -1":    {Q: Func{2, func(q []float64, _ *table.Table, _ int) { q[0], q[1] = -1, 2 }}},
		"sums to 0.5":     {Q: Func{2, func(q []float64, _ *table.Table, _ int) { q[0], q[1] = 0.25, 0.25 }}},
		"knows 3 domains": {Q: Uniform{3}},
		"Q has 4 entries": {QTrain: []float64{1, 0, 1, 0}},
		"q_folds: -1 is":  {QOptions: QOptions{Folds: -1}},
		"q_lambda: -1 is": {QOptions: QOptions{Lambda: -1}},
	} {
		if _, _, err := Train(d, o, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	u := d.X.Subset([]int{0, 1})
	u.Sources = []string{"X", "Y"}
	if _, err := FitQ(t.Context(), d.X, u, 1, nil); err == nil || !strings.Contains(err.Error(), "unlabelled rows") {
		t.Error(err)
	}
	// A matrix for the training rows is no classifier for others.
	q := slices.Repeat([]float64{0.5}, 2*d.X.Rows)
	m := trained(t, d, &Options{QTrain: q, Rounds: 2})
	if _, err := m.Scores(d.X, nil); err == nil || !strings.Contains(err.Error(), "no domain classifier") {
		t.Error(err)
	}
	if f, err := m.Scores(d.X, &PredictOptions{Q: q}); err != nil || len(f) != d.X.Rows {
		t.Error(err)
	}
}

// The first principal component is gonum's.
func TestFirstComponent(t *testing.T) {
	d := mixed(13, 3, 60, 4, 0.1)
	got, share, err := FirstComponent(d.X, 2)
	if err != nil {
		t.Fatal(err)
	}
	n := d.X.Rows
	x := mat.NewDense(n, 4, nil)
	for j, c := range d.X.Columns {
		v := make([]float64, n)
		for i := range v {
			v[i] = float64(c.Values[i])
		}
		mean, sd := stat.PopMeanStdDev(v, nil)
		for i := range v {
			x.Set(i, j, (v[i]-mean)/sd)
		}
	}
	var pc stat.PC
	pc.PrincipalComponents(x, nil)
	var vec mat.Dense
	pc.VectorsTo(&vec)
	vars := pc.VarsTo(nil)
	near(t, "share", share, vars[0]/(vars[0]+vars[1]+vars[2]+vars[3]), 1e-6)
	sign := 0.0
	for i := range n {
		want := 0.0
		for j := range 4 {
			want += x.At(i, j) * vec.At(j, 0)
		}
		if sign == 0 {
			sign = math.Copysign(1, want*got[i])
		}
		near(t, "projection", got[i], sign*want, 1e-5)
	}
	if _, _, err := FirstComponent(numeric(nil, []float32{1, 1, 1}), 1); err == nil {
		t.Error("a constant table has a component")
	}
}
