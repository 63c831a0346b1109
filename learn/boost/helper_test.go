package boost

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// numeric makes a table of numeric columns named x0, x1, ...
func numeric(columns ...[]float32) *table.Table {
	t := &table.Table{Name: "test", Rows: len(columns[0])}
	for j, c := range columns {
		t.Columns = append(t.Columns, table.Column{Name: "x" + string(rune('0'+j)), Values: c})
	}
	return t
}

// golden is the example of six rows for AdaBoost.
func golden() *Data {
	return &Data{X: numeric([]float32{1, 2, 3, 4, 5, 6}), Y: []float64{1, 1, -1, -1, 1, -1}}
}

// randomData draws rows whose label depends on two columns, with noise; values are
// coarse where steps > 0, so that ties and duplicates occur.
func randomData(rng *rand.Rand, rows, columns int, steps float64) *Data {
	x := make([][]float32, columns)
	for j := range x {
		x[j] = make([]float32, rows)
		for i := range x[j] {
			v := rng.NormFloat64()
			if steps > 0 {
				v = math.Round(v*steps) / steps
			}
			x[j][i] = float32(v)
		}
	}
	d := &Data{X: numeric(x...), Y: make([]float64, rows)}
	for i := range d.Y {
		d.Y[i] = -1
		if float64(x[0][i])+float64(x[columns-1][i])*float64(x[0][i])+0.5*rng.NormFloat64() > 0 {
			d.Y[i] = 1
		}
	}
	return d
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
		t.Errorf("%s: %.12g, want %.12g", what, got, want)
	}
}

func must[T any](t *testing.T) func(v T, err error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
