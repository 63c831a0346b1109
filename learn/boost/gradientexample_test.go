package boost_test

import (
	"fmt"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

func ExampleTrainGradient() {
	x := &table.Table{Name: "example", Columns: []table.Column{{Name: "a"}, {Name: "b"}}}
	d := &boost.Data{X: x}
	for i := range 200 {
		a, b := float32(i%20), float32(i/20)
		x.Columns[0].Values = append(x.Columns[0].Values, a)
		x.Columns[1].Values = append(x.Columns[1].Values, b)
		y := -1.0
		if (a > 12) != (b > 3) { // which no single column tells
			y = 1
		}
		d.Y = append(d.Y, y)
	}
	x.Rows = 200
	e, _, err := boost.TrainGradient(d, &boost.GradientOptions{Rounds: 20, Depth: 3, LearningRate: 0.5}, nil)
	if err != nil {
		panic(err)
	}
	scores, err := e.Scores(x, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(len(e.Terms), "trees, error", score.ErrorRate(e.Loss, d.Y, nil, scores))
	// Output:
	// 20 trees, error 0
}
