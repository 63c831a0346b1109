package multi

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/evaluate"
)

func TestCrossValidate(t *testing.T) {
	d := mixed(71, 2, 120, 3, 0)
	x := d.X
	x.Target = make([]float64, x.Rows)
	for i, y := range d.Y {
		x.Target[i] = (y + 1) / 2
	}
	trials, err := x.Stratified(3, 2, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	// A penalty that leaves no terms: every row is predicted to be of the first class.
	grid := []Entry{{Name: "nothing", Options: Options{L1: 100, Q: Uniform{2}}},
		{"long", Options{Rounds: 15}, "15 rounds"}}
	fits := 0
	r, err := CrossValidate(x, trials, grid, &CVOptions{Workers: 1, Done: func(all int, _ string, _ int) {
		if fits++; fits > all {
			t.Errorf("fit %d of %d", fits, all)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if fits != 3*(2*2+4) || len(r.Models) != 4 || len(r.Models[0].Chosen) != 3 ||
		r.Models[1].UniformPlain != nil || r.Models[0].AgnosticCorrected == nil {
		t.Errorf("%d fits, %+v", fits, r)
	}
	if !slices.Equal(r.Models[0].Chosen, []string{"long", "long", "long"}) {
		t.Errorf("chosen: %q", r.Models[0].Chosen)
	}
	again, err := CrossValidate(x, trials, grid, &CVOptions{Workers: 3})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r, again); d != "" {
		t.Error(d)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	// Rows of weight 0 are not there: more of them change nothing, wherever they are.
	rows := make([]int, 0, 2*x.Rows)
	for i := range x.Rows {
		rows = append(rows, i, i)
	}
	double := x.Subset(rows)
	double.Weight = make([]float64, double.Rows)
	for i := range double.Weight {
		double.Weight[i] = float64(i % 2)
	}
	divided, err := double.Stratified(3, 2, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	divided[0].Test = append(divided[0].Test, 0)
	if half, err := CrossValidate(double, divided, grid, nil); err != nil || !cmp.Equal(r, half) {
		t.Errorf("%v: %s", err, cmp.Diff(r, half))
	}
	// A run that is cut goes on from what it kept, to the same report; settings that are not
	// known are fitted again.
	stop := errors.New("cut")
	var kept []evaluate.Fitted
	_, err = CrossValidate(x, trials, grid, &CVOptions{Save: func(f *evaluate.Fitted) error {
		if kept = append(kept, *f); len(kept) == 8 {
			return stop
		}
		return nil
	}})
	if !errors.Is(err, stop) || len(kept) != 8 {
		t.Fatal(err, len(kept))
	}
	more := 0
	again, err = CrossValidate(x, trials, grid, &CVOptions{
		Known: kept, Save: func(*evaluate.Fitted) error { more++; return nil }})
	if err != nil || more != 3*(2+4)-8 {
		t.Fatalf("%v: %d fits were kept after 8 of 18", err, more)
	}
	if d := cmp.Diff(r, again); d != "" {
		t.Error(d)
	}
	// They are used: what an altered file says is what the report has.
	for i := range kept {
		kept[i].Measures[2] = 0.75 // the mean of the two sources
	}
	if again, err = CrossValidate(x, trials, grid, &CVOptions{Known: kept}); err != nil ||
		again.Models[0].Uniform[0] != 0.75 {
		t.Errorf("%v: %+v", err, again)
	}
	// One trial by hand.
	a, _ := NewData(x.Subset(trials[0].Train), boost.Exponential{})
	b, _ := NewData(x.Subset(trials[0].Test), boost.Exponential{})
	e, _, err := TrainBaseline(a, 1, 15, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, _ := e.Scores(b.X, nil)
	want, _ := ErrorRates(b, f, nil)
	if !cmp.Equal(r.Models[3].Domain[0], want.Domain) {
		t.Errorf("adaboost-2 has errors %v, want %v", r.Models[3].Domain[0], want.Domain)
	}
	for want, f := range map[string]func() error{
		"no inner folds": func() error {
			_, err := CrossValidate(x, []table.Trial{{Train: trials[0].Train, Test: trials[0].Test}}, grid, nil)
			return err
		},
		"0 settings":    func() error { _, err := CrossValidate(x, trials, nil, nil); return err },
		"has no rows":   func() error { _, _, err := TrainBaseline(a, 7, 3, nil, nil); return err },
		"no column say": func() error { y := *x; y.Source = nil; _, err := CrossValidate(&y, trials, grid, nil); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}
