package dense_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tropica-fst/tropica/learn/dataset/dense"
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

func read(t *testing.T, text string, o table.Options) *table.Table {
	t.Helper()
	x, err := table.Read(strings.NewReader(text), "rows.csv", &o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Numbers are scaled by the mean and standard deviation of training, by hand; a level has its
// column, missing values and levels not seen are zero, and columns may come in another order.
func TestEncoder(t *testing.T) {
	train := read(t, "a,colour,y\n1,red,p\n3,blue,q\n5,red,p\n?,blue,q\n",
		table.Options{Target: "y", Task: table.Classification})
	e, err := dense.NewEncoder(train, "")
	if err != nil {
		t.Fatal(err)
	}
	if e.Features() != 3 {
		t.Fatalf("%d features", e.Features())
	}
	d, err := e.Data(train, nil)
	if err != nil {
		t.Fatal(err)
	}
	sd := math.Sqrt(8. / 3) // of 1, 3, 5
	blue, red := []float64{1, 0}, []float64{0, 1}
	if train.Columns[1].Levels[0] == "red" {
		blue, red = red, blue
	}
	row := func(a float64, level []float64) []float64 { return append([]float64{a}, level...) }
	var want []float64
	for _, r := range [][]float64{row(-2/sd, red), row(0, blue), row(2/sd, red), row(0, blue)} {
		want = append(want, r...)
	}
	if diff := cmp.Diff(want, d.X, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int32{0, 1, 0, 1}, d.Class); diff != "" || d.Classes != 2 || d.Check() != nil {
		t.Errorf("classes %s, %v", diff, d.Check())
	}
	test := read(t, "colour,a\ngreen,5\nred,1\n", table.Options{Like: e.Table(train.Classes), Extra: true})
	if d, err = e.Data(test, train.Classes); err != nil {
		t.Fatal(err)
	}
	want = append(row(2/sd, []float64{0, 0}), row(-2/sd, red)...)
	if diff := cmp.Diff(want, d.X, cmpopts.EquateApprox(0, 1e-12)); diff != "" || d.Class != nil {
		t.Errorf("other columns: %s, classes %v", diff, d.Class)
	}
	for scaling, first := range map[dense.Scaling]float64{dense.Largest: 0.2, dense.Unchanged: 1} {
		e, err := dense.NewEncoder(train, scaling)
		if err != nil {
			t.Fatal(err)
		}
		if d, err := e.Data(train, nil); err != nil || d.X[0] != first {
			t.Errorf("%s: %v, %v", scaling, d.X[:1], err)
		}
	}
	if _, err := dense.NewEncoder(train, "other"); err == nil {
		t.Error("another scaling was taken")
	}
	if err := e.Check(4); err == nil {
		t.Error("an encoder of three numbers fits four")
	}
}

// Errors name their place, and different data have different fingerprints.
func TestData(t *testing.T) {
	good := func() *dense.Data {
		return &dense.Data{X: []float64{1, 2, 3, 4}, Rows: 2, Features: 2, Class: []int32{0, 1}, Classes: 2,
			Weight: []float64{1, 3}}
	}
	if err := good().Check(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{0.5, 1.5}, good().Weights()); diff != "" {
		t.Error(diff)
	}
	if got := good().Longest(); got != math.Sqrt(26) {
		t.Errorf("longest %v", got)
	}
	for says, change := range map[string]func(*dense.Data){
		"example 2: feature 1 is NaN": func(d *dense.Data) { d.X[2] = math.NaN() },
		"example 2: class 2 of 2":     func(d *dense.Data) { d.Class[1] = 2 },
		"example 1: weight -1":        func(d *dense.Data) { d.Weight[0] = -1 },
		"3 numbers for 2 examples":    func(d *dense.Data) { d.X = d.X[:3] },
		"of sum 0":                    func(d *dense.Data) { d.Weight = []float64{0, 0} },
		"1 targets":                   func(d *dense.Data) { d.Class = d.Class[:1] },
	} {
		d := good()
		if change(d); d.Check() == nil || !strings.Contains(d.Check().Error(), says) {
			t.Errorf("%s: %v", says, d.Check())
		}
		if d.Fingerprint() == good().Fingerprint() {
			t.Errorf("%s: the same fingerprint", says)
		}
	}
	s := good().Subset([]int{1})
	if diff := cmp.Diff(&dense.Data{X: []float64{3, 4}, Rows: 1, Features: 2, Class: []int32{1}, Classes: 2,
		Weight: []float64{3}}, s); diff != "" {
		t.Error(diff)
	}
}
