package tree_test

import (
	"fmt"

	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// Residuals of a step function, fitted by least squares: with G = -residual a leaf's
// value is its mean residual.
func ExampleGrower() {
	x := &table.Table{Rows: 6, Columns: []table.Column{
		{Name: "age", Values: []float32{1, 2, 3, 4, 5, 6}},
		{Name: "size", Values: []float32{2, 7, 1, 8, 2, 8}},
	}}
	residual := []float64{1, 1, 1, 5, 3, 5}

	bins, err := tree.NewBins(x, nil)
	if err != nil {
		panic(err)
	}
	g, err := tree.NewGrower(bins, tree.Options{MaxLeaves: 3})
	if err != nil {
		panic(err)
	}
	target := &tree.Target{}
	for _, r := range residual {
		target.G = append(target.G, -r)
	}
	if err := g.Start(target); err != nil {
		panic(err)
	}
	for g.Step() {
		s := g.Splits()
		n := g.Nodes()[g.Nodes()[2*s].Parent]
		fmt.Printf("split %d: %s <= %v, gain %.2f\n", s, bins.Name(int(n.Column)), n.Threshold, n.Gain)
	}
	t := g.Tree(g.Splits())
	out := make([]float64, x.Rows)
	t.Predict(out, x, 0)
	fmt.Println("values:", out)
	fmt.Println("with one split:", g.Tree(1).Leaves())
	// Output:
	// split 1: age <= 3.5, gain 16.67
	// split 2: size <= 4.5, gain 2.67
	// values: [1 1 1 5 3 5]
	// with one split: [1 4.333333333333333]
}
