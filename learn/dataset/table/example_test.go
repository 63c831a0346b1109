package table_test

import (
	"fmt"
	"strings"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

func ExampleRead() {
	training := "age,job,from,income\n39,clerk,north,low\n50,?,south,high\n38,farmer,north,low\n"
	t, err := table.Read(strings.NewReader(training), "training.csv",
		&table.Options{Target: "income", Source: "from"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t.Rows, t.Classes, t.Target, t.Sources, t.Source)
	fmt.Println(t.Columns[1].Kind, t.Columns[1].Levels, t.Columns[1].Values)

	// Data to predict on may have their columns in any order, and levels of their own.
	_, err = table.Read(strings.NewReader("job,agee\nclerk,3x\n"), "new.csv", &table.Options{Like: t})
	fmt.Println(err)
	// Output:
	// 3 [high low] [1 0 1] [north south] [0 1 0]
	// categorical [clerk farmer] [0 NaN 1]
	// new.csv: the columns are not those of training.csv that the model was trained on; missing: "age" (the nearest is "agee"); unknown: "agee"; use Options.Drop "COLUMNS" (to leave out what is no feature)
}

func ExampleTable_Stratified() {
	t, err := table.Read(strings.NewReader("x,y\n1,a\n2,b\n3,a\n4,b\n5,a\n6,b\n"), "six.csv",
		&table.Options{Target: "y"})
	if err != nil {
		fmt.Println(err)
		return
	}
	trials, err := t.Stratified(3, 0, 1, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, trial := range trials {
		fmt.Println(len(trial.Train), t.Subset(trial.Test).ClassCounts())
	}
	// Output:
	// 4 [1 1]
	// 4 [1 1]
	// 4 [1 1]
}
