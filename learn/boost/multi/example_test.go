package multi_test

import (
	"fmt"
	"strings"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/boost/multi"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// Two shops whose customers mean opposite things by the same mark: the classifier of
// sources tells them apart by their prices, and each has its own rule.
func ExampleTrain() {
	var csv strings.Builder
	csv.WriteString("price,mark,shop,good\n")
	for i := range 40 {
		mark := i % 2
		fmt.Fprintf(&csv, "%d,%d,north,%s\n", 10+i%7, mark, []string{"no", "yes"}[mark])
		fmt.Fprintf(&csv, "%d,%d,south,%s\n", 30+i%5, mark, []string{"yes", "no"}[mark])
	}
	t, err := table.Read(strings.NewReader(csv.String()), "shops.csv",
		&table.Options{Target: "good", Source: "shop"})
	if err != nil {
		panic(err)
	}
	d, err := multi.NewData(t, boost.Exponential{})
	if err != nil {
		panic(err)
	}
	m, _, err := multi.Train(d, &multi.Options{Rounds: 10}, nil)
	if err != nil {
		panic(err)
	}
	f, err := m.Scores(t, nil)
	if err != nil {
		panic(err)
	}
	e, err := multi.ErrorRates(d, f, nil)
	if err != nil {
		panic(err)
	}
	all, _, err := multi.TrainBaseline(d, -1, 10, nil, nil)
	if err != nil {
		panic(err)
	}
	g, err := all.Scores(t, nil)
	if err != nil {
		panic(err)
	}
	fmt.Printf("MULTIBOOST: errors %v in %v\n", e.Domain, m.Sources)
	fmt.Printf("AdaBoost on both: error %.2f\n", score.ErrorRate(boost.Exponential{}, d.Y, nil, g))
	// Output:
	// MULTIBOOST: errors [0 0] in [north south]
	// AdaBoost on both: error 0.49
}
