package structured

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/run"
)

// Missing cells are told, and the picture of lambda has the least loss where lambda was chosen.
func TestPicturesAndMissing(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	x := &table.Table{Name: "t", Rows: 60, TargetName: "y", Target: make([]float64, 60),
		Columns: []table.Column{{Name: "a", Values: make([]float32, 60)}}}
	for i := range 60 {
		v := 4 * rng.Float64()
		x.Columns[0].Values[i], x.Target[i] = float32(v), math.Sin(v)+0.2*rng.NormFloat64()
	}
	x.Columns[0].Values[7] = float32(math.NaN())
	warned := ""
	m, _, err := Train(&Data{Kind: Number, X: x, Names: []string{"y"}, Y: x.Target}, nil,
		&run.Control{Warn: func(s string) { warned += s }})
	if err != nil || !strings.Contains(warned, "1 cells are missing") {
		t.Fatalf("%v, warned of %q", err, warned)
	}
	p, ok := m.Picture("lambda")
	if !ok || p.Curves[0].X[slices.Index(p.Curves[0].Y, slices.Min(p.Curves[0].Y))] != m.Lambda() ||
		p.Curves[3].X[0] != m.Lambda() {
		t.Errorf("%v: %+v", ok, p)
	}
	p, ok = m.Picture("difficult")
	if !ok || len(p.Curves[0].Y) != 60 || !slices.IsSortedFunc(p.Curves[0].Y, func(a, b float64) int {
		if a > b {
			return -1
		}
		return 1
	}) {
		t.Errorf("%v: %+v", ok, p)
	}
}
