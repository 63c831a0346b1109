package boost_test

import (
	"bytes"
	"fmt"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// A model goes to XGBoost as the JSON that its load_model reads, and comes back. XGBoost keeps
// leaf values in 32 bits; thresholds are the same.
func ExampleEnsemble_WriteXGBoost() {
	x := &table.Table{Name: "example", Rows: 100, Columns: []table.Column{{Name: "a"}}}
	d := &boost.Data{X: x}
	for i := range 100 {
		x.Columns[0].Values = append(x.Columns[0].Values, float32(i))
		d.Y = append(d.Y, map[bool]float64{true: 1, false: -1}[i%40 < 15])
	}
	ours, _, err := boost.TrainGradient(d, &boost.GradientOptions{Rounds: 10, Depth: 2}, nil)
	if err != nil {
		panic(err)
	}
	var file bytes.Buffer
	if err := ours.WriteXGBoost(&file); err != nil {
		panic(err)
	}
	schema := boost.SchemaOf(x)
	back, err := boost.ReadXGBoost(&file, &schema)
	if err != nil {
		panic(err)
	}
	f, err := ours.Scores(x, nil)
	if err != nil {
		panic(err)
	}
	g, err := back.Scores(x, nil)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s, %d rounds; row 0 scores %.5f and %.5f\n", back.Loss.Name(), back.Rounds(), f[0], g[0])
	// Output:
	// logistic, 10 rounds; row 0 scores 0.85544 and 0.85544
}
