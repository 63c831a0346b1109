// Package tabletest draws tables for tests.
package tabletest

import (
	"math"
	"math/rand/v2"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// Messy draws columns of all kinds: few and many values, one that is frequent, missing
// ones, constants, levels.
func Messy(rng *rand.Rand, rows int) *table.Table {
	t := &table.Table{Name: "messy", Rows: rows}
	column := func(name string, kind table.Kind, f func() float32) {
		c := table.Column{Name: name, Kind: kind, Values: make([]float32, rows)}
		for i := range c.Values {
			c.Values[i] = f()
		}
		if kind == table.Categorical {
			c.Levels = []string{"a", "b", "c", "d"}
		}
		t.Columns = append(t.Columns, c)
	}
	nan := float32(math.NaN())
	sometimes := func(p float64, v, other float32) float32 {
		if rng.Float64() < p {
			return v
		}
		return other
	}
	column("few", table.Numeric, func() float32 { return float32(rng.IntN(3)) - 1 })
	column("many", table.Numeric, func() float32 { return float32(rng.NormFloat64()) })
	column("rare", table.Numeric, func() float32 { return sometimes(0.9, 0, float32(rng.IntN(5))) })
	column("missing", table.Numeric, func() float32 { return sometimes(0.3, nan, float32(rng.IntN(4))) })
	column("mostly missing", table.Numeric, func() float32 { return sometimes(0.85, nan, float32(rng.NormFloat64())) })
	column("constant", table.Numeric, func() float32 { return 2 })
	column("levels", table.Categorical, func() float32 { return sometimes(0.2, nan, float32(rng.IntN(4))) })
	return t
}
