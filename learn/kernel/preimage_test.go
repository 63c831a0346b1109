package kernel

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/linear"
)

// Pre-images of projected points of a noisy circle lie nearer to the circle than the points. No
// move of a pre-image brings it nearer to the projection.
func TestInverse(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	const n = 200
	x := NewMatrix(n, 2, make([]float64, 2*n))
	for i := range n {
		a := 2 * math.Pi * rng.Float64()
		x.Data[2*i], x.Data[2*i+1] = 3*math.Cos(a)+0.2*rng.NormFloat64(), 3*math.Sin(a)+0.2*rng.NormFloat64()
	}
	p, err := Project[*Matrix](Vector{Kind: Gaussian, Width: 1.5}, x, 6, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := NewInverse(p, x, nil)
	if err != nil {
		t.Fatal(err)
	}
	z, _ := p.Transform(x, nil)
	zs := NewMatrix(n, 6, z)
	got, err := v.Rows(zs, nil)
	if err != nil {
		t.Fatal(err)
	}
	off := func(x *Matrix) float64 {
		s := 0.0
		for i := range n {
			d := math.Hypot(x.Data[2*i], x.Data[2*i+1]) - 3
			s += d * d
		}
		return math.Sqrt(s / n)
	}
	if a, b := off(x), off(got); b > 0.8*a {
		t.Errorf("%g away from the circle, before %g", b, a)
	}
	// <k(row,·), projection> is Σ_j φ_j(row) z_j.
	value := func(row []float64, z []float64) float64 {
		f, _ := p.Transform(NewMatrix(1, 2, row), nil)
		return dot(f, z)
	}
	for i := range 5 {
		at := value(got.Row(i), zs.Row(i))
		for _, move := range [][2]float64{{0.01, 0}, {-0.01, 0}, {0, 0.01}, {0, -0.01}} {
			row := []float64{got.Row(i)[0] + move[0], got.Row(i)[1] + move[1]}
			if v := value(row, zs.Row(i)); v > at*(1+1e-7) {
				t.Errorf("row %d: %g nearby, %g there", i, v, at)
			}
		}
	}
	// A linear kernel of full rank gives the rows back.
	l, err := Project[*Matrix](Vector{Kind: Linear}, x, 2, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewInverse(l, x, nil)
	if err != nil {
		t.Fatal(err)
	}
	z, _ = l.Transform(x, nil)
	got, _ = w.Rows(NewMatrix(n, 2, z), nil)
	for i := range x.Data {
		near(t, "linear", got.Data[i], x.Data[i], 0.02)
	}
}

// Rows of a table are its standardised features, and sparse tables keep their zeros.
func TestRows(t *testing.T) {
	text := "1 1:2 3:1\n2 2:1\n1 1:4\n2 3:5\n"
	for _, storage := range []table.Storage{table.DenseStorage, table.SparseStorage} {
		x, err := table.Read(strings.NewReader(text), "x.svm", &table.Options{Format: table.LibSVM,
			Storage: storage})
		if err != nil {
			t.Fatal(err)
		}
		fs := linear.Features(x, []float64{0.25, 0.25, 0.25, 0.25}, 1)
		p := Rows[float64](x, fs, 1)
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		want := [4][3]float64{{2, 0, 1}, {0, 1, 0}, {4, 0, 0}, {0, 0, 5}}
		got := [4][3]float64{}
		p.each(func(i, j int, v float64) { got[i][j] = v })
		for i := range 4 {
			for j, f := range fs {
				w := want[i][j] * f.Scale
				if storage == table.DenseStorage {
					w -= f.Mean * f.Scale
				}
				near(t, "cell", got[i][j], w, 1e-6)
			}
		}
		if c, err := FeatureColumns(x, fs, []int{2, 0}); err != nil || len(c) != 2 || c[0] != 2 {
			t.Error(c, err)
		}
		if _, err := FeatureColumns(x, fs, []int{3}); err == nil {
			t.Error("a column too many")
		}
	}
}

// Forecasts grow as the work does.
func TestForecast(t *testing.T) {
	if f := GramForecast(1000, 10).Plus(TopForecast(1000, 10)); f.Bytes < 8e6 || f.Operations < 1e7 {
		t.Errorf("%+v", f)
	}
	if a, b := RidgeForecast(1000), RidgeForecast(2000); b.Operations != 8*a.Operations || b.Bytes != 4*a.Bytes {
		t.Errorf("%+v, twice the side %+v", a, b)
	}
	if s := LandmarkForecast(60000, 784, 2000).Text(1); !strings.Contains(s, "MB") {
		t.Error(s)
	}
}
