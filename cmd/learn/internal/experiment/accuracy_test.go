package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// The trials made by rule are those that the recorded programs had: the fingerprints
// were computed from the files of splits by another program.
func TestRecordedDivisions(t *testing.T) {
	sets, err := Table31Sets(smallTables, "sonar", "cancer", "ocr17", "ocr49", "higgs")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sets {
		x, trials, err := s.Load()
		if err != nil {
			t.Fatal(err)
		}
		var numbers []int
		var divisions, other []string
		for i, trial := range trials {
			numbers = append(numbers, i)
			divisions = append(divisions, Fingerprint(&trial, x.Rows))
			other = append(other, Fingerprint(&s.Fresh(x, "other")[i], x.Rows))
		}
		thesis, peers, lacks := recorded(s.Name, numbers, divisions, nil)
		if thesis == nil || (len(peers) == 0) != (s.Name == "higgs") || (lacks == "") != (len(peers) > 0) {
			t.Errorf("%s: %v, %d programs, %q", s.Name, thesis, len(peers), lacks)
		}
		for i, trial := range s.Fresh(x, "confirm") {
			divisions[i] = Fingerprint(&trial, x.Rows)
		}
		if _, peers, _ := recorded(s.Name, numbers, divisions, nil); s.Name == "cancer" && len(peers) != 1 {
			t.Errorf("%s: %d programs on the fresh divisions on record", s.Name, len(peers))
		}
		if _, peers, lacks := recorded(s.Name, numbers, other, nil); peers != nil || lacks == "" {
			t.Errorf("%s: fresh trials are compared with the record", s.Name)
		}
	}
	if _, peers, lacks := recorded("semeion-even", nil, nil, nil); peers != nil ||
		!strings.Contains(lacks, "no other program") {
		t.Error(lacks)
	}
}

// A record of one's own gives peers to other trials.
func TestReadRecord(t *testing.T) {
	sets, err := Table31Sets(smallTables, "cancer")
	if err != nil {
		t.Fatal(err)
	}
	x, _, err := sets[0].Load()
	if err != nil {
		t.Fatal(err)
	}
	trials := sets[0].Fresh(x, "mine")
	text := fmt.Sprintf(`{"sets": [{"name": "cancer", "fresh": "mine", "divisions": [%q, %q], "tested": [%d, %d], "peers": [{"name": "other", "wrong": [7, 14]}]}]}`,
		Fingerprint(&trials[0], x.Rows), Fingerprint(&trials[1], x.Rows), len(trials[0].Test), len(trials[1].Test))
	r, err := ReadRecord(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, fresh := range []string{"mine", "yours"} {
		out, err := Accuracy(context.Background(), sets,
			&AccuracyOptions{Boosters: []string{"rgb-default"}, Trials: []int{0, 1}, Fresh: fresh, Record: r})
		if err != nil {
			t.Fatal(err)
		}
		peers := out[0].Recorded
		if fresh == "yours" && (peers != nil || out[0].NoRecord == "") || fresh == "mine" &&
			(len(peers) != 1 || peers[0].Name != "other" || peers[0].Errors[1] != 14/float64(len(trials[1].Test)) ||
				out[0].Thesis == nil) {
			t.Errorf("%s: %+v, %q", fresh, peers, out[0].NoRecord)
		}
	}
	for _, bad := range []string{"", "[]", `{"sets": [{"nome": "x"}]}`,
		`{"sets": [{"name": "x", "divisions": ["1"], "tested": []}]}`,
		`{"sets": [{"name": "x", "divisions": ["1"], "tested": [0]}]}`,
		`{"sets": [{"name": "x", "divisions": ["1"], "tested": [5], "peers": [{"name": "a", "wrong": [6]}]}]}`,
		`{"sets": [{"name": "x", "divisions": ["1"], "tested": [5], "peers": [{"name": "a", "wrong": [1, 1]}]}]}`} {
		if _, err := ReadRecord(strings.NewReader(bad)); err == nil {
			t.Errorf("%s is a record", bad)
		}
	}
}

// The means on record are those that were published with it.
func TestRecordedMeans(t *testing.T) {
	all, err := recordedSets()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]float64{"sonar": {15.40, 5.05}, "cancer": {5.08, 1.28},
		"diabetes": {24.94, 2.84}, "ocr17": {0.725, 0.51}, "ocr49": {2.975, 0.78}, "higgs": {28.80, 0.65},
		"mnist17": {0.38, 0.12}, "mnist49": {1.27, 0.18}} {
		s := all[name][0]
		var e []float64
		for i, n := range s.Peers[0].Wrong {
			e = append(e, 100*float64(n)/float64(s.Tested[i]))
		}
		mean, sd := metrics.MeanSD(e)
		if s.Peers[0].Name != "XGBoost tuned" || len(e) != 10 || math.Abs(mean-want[0]) > 0.0051 ||
			math.Abs(sd-want[1]) > 0.0051 {
			t.Errorf("%s: %s %v (%v), want %v", name, s.Peers[0].Name, mean, sd, want)
		}
	}
}

// dial is a booster of one constant score: rows of the class are right.
func dial(name string, score float64) Trainer {
	return Trainer{Name: name, Train: func(d *boost.Data, c *run.Control) (*boost.Ensemble, *optim.Result,
		error) {
		return &boost.Ensemble{Algorithm: "dial", Loss: boost.Logistic{}, Schema: boost.SchemaOf(d.X),
			Start: []float64{score}, Rows: d.Rows()}, nil, nil
	}}
}

// Both choices are made on the inner folds alone, on as many as asked for.
func TestNest(t *testing.T) {
	// Rows 0-3 train: fold 0 has the classes 1 1, fold 1 has 0 1; the test rows are 0 0 0.
	x := &table.Table{Name: "t", Rows: 7, Target: []float64{1, 1, 0, 1, 0, 0, 0},
		Classes: []string{"a", "b"}, TargetName: "y",
		Columns: []table.Column{{Name: "x", Values: make([]float32, 7)}}}
	trial := &table.Trial{Train: []int{0, 1, 2, 3}, Inner: []int{0, 0, 1, 1}, Test: []int{4, 5, 6}}
	// sure errs as often as mild, at a greater loss; wrong would be best on the test rows.
	c := &Contestant{Name: "dial", Grid: []Trainer{dial("wrong", -1), dial("sure", 9),
		dial("mild", 1), dial("shy", 0.01)}}
	n := 0
	r, err := nest(context.Background(), x, trial, c, 2, false, 1, func() { n++ })
	if err != nil {
		t.Fatal(err)
	}
	if r.ByLoss.Setting != "mild" || r.ByError.Setting != "mild" || r.ByError.Error != 1 || n != 4*2+1 ||
		r.Train != 4 || r.Test != 3 || r.Hindsight != nil {
		t.Errorf("%+v after %d fits", r, n)
	}
	if want := (3*math.Log1p(math.Exp(-1)) + math.Log1p(math.E)) /
		4; math.Abs(r.ByLoss.InnerLoss-want) > 1e-12 || r.ByLoss.InnerError != 0.25 {
		t.Errorf("inner loss %v, want %v", r.ByLoss.InnerLoss, want)
	}
	// Fold 0 alone has only the class 1.
	r, err = nest(context.Background(), x, trial, c, 1, true, 2, func() {})
	if err != nil || r.ByLoss.Setting != "sure" || r.ByError.Setting != "sure" ||
		!slices.Equal(r.Hindsight, []float64{0, 1, 1, 1}) {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := nest(context.Background(), x, trial, c, 3, false, 1, func() {}); err == nil ||
		!strings.Contains(err.Error(), "4 settings to choose from on 3 inner folds; the trial has 2") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := nest(ctx, x, trial, c, 2, false, 1, func() {}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Results do not depend on workers, nor on how often the run was cut and taken up.
func TestAccuracyResumes(t *testing.T) {
	sets, err := Table31Sets(smallTables, "cancer")
	if err != nil {
		t.Fatal(err)
	}
	run := func(workers, cut int, known []Nested) ([]AccuracySet, []Nested, error) {
		stop := errors.New("cut")
		var made []Nested
		all, last := 0, 0
		out, err := Accuracy(context.Background(), sets,
			&AccuracyOptions{Boosters: []string{"rgb", "gb"}, Trials: []int{3, 1}, Quick: true, Hindsight: true,
				Workers: workers, Known: known, Save: func(r *Nested) error {
					if made = append(made, *r); len(made) == cut {
						return stop
					}
					return nil
				},
				Fitted: func(d, a int, set, contestant string, trial int) {
					if workers == 1 {
						last, all = max(last, d), a
					}
				}})
		if err != nil && !errors.Is(err, stop) {
			t.Fatal(err)
		}
		if err == nil && last != all {
			t.Errorf("%d of %d fits are told", last, all)
		}
		return out, made, err
	}
	whole, made, _ := run(1, 0, nil)
	if len(made) != 4 || len(whole) != 1 || whole[0].Contestants[1].Settings != 4 ||
		whole[0].Contestants[1].Results[0].Trial != 3 {
		t.Fatalf("%d results: %+v", len(made), whole)
	}
	_, some, err := run(2, 2, nil)
	if err == nil || len(some) != 2 {
		t.Fatal(err, len(some))
	}
	// A result of another division is of no use.
	alien := some[0]
	alien.Division = "0"
	alien.ByLoss.Error = 1
	again, rest, _ := run(2, 0, append([]Nested{alien}, some...))
	if len(rest) != 2 {
		t.Errorf("%d results were made after 2 of 4", len(rest))
	}
	same := cmpopts.IgnoreFields(Nested{}, "Seconds")
	if d := cmp.Diff(whole, again, same); d != "" {
		t.Error(d)
	}

	versus, err := Compare(whole)
	if err != nil {
		t.Fatal(err)
	}
	// For each rule: two boosters against the programs on record, and rgb against gb.
	if want := 2 * (2*4 + 1); len(versus) != want {
		t.Errorf("%d tests, want %d", len(versus), want)
	}
	var text, lines bytes.Buffer
	if err := WriteAccuracy(&text, whole); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"cancer  699", "XGBoost tuned", "5.19 (0.97)",
		"rgb: at or below XGBoost tuned on ", "rgb chose from 4 settings on 2 inner folds", "not nested"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, text.String())
		}
	}
	if err := WriteAccuracyCSV(&lines, whole); err != nil ||
		bytes.Count(lines.Bytes(), []byte("\n")) != 1+2*2*2+4*2 {
		t.Errorf("%v\n%s", err, lines.String())
	}
}

func TestTally(t *testing.T) {
	test := func(mean, p float64) metrics.TTest { return metrics.TTest{Mean: mean, P: metrics.Maybe(p)} }
	// One-tailed as in the thesis: 0.08 of two tails is significant by the plain test.
	versus := []Versus{
		{"a", "loss", "rgb", "x", test(-1, 0.01), test(-1, 0.02)},
		{"b", "loss", "rgb", "x", test(0, 1), test(0, 1)},
		{"c", "loss", "rgb", "x", test(1, 0.08), test(1, 0.06)},
		{"d", "loss", "rgb", "x", test(1, 0.01), test(1, 0.04)},
		{"f", "loss", "rgb", "x", test(1, 0.12), test(1, 0.4)},
		{"g", "loss", "rgb", "x", test(1, math.NaN()), test(1, math.NaN())},
		{"e", "error", "rgb", "x", test(1, 0.01), test(1, 0.04)},
	}
	if got, want := Tally(versus, "rgb", "x", "loss"), "rgb: at or below x on 2 of 6; significantly above at "+
		"5% by the plain test, one-tailed: c, d; by the corrected one, two-tailed: d"; got != want {
		t.Error(got)
	}
	if got := Tally(versus, "gb", "x", "loss"); !strings.Contains(got, "no errors on record") {
		t.Error(got)
	}
}

// No grid is larger than that of the XGBoost runs on record, and all are as large as
// their axes say, each setting once.
func TestBoosters(t *testing.T) {
	for _, c := range []struct{ rows, columns, xgboost, folds int }{{768, 8, 48, 5}, {2000, 196, 18, 2},
		{13782, 400, 6, 1}} {
		for _, quick := range []bool{false, true} {
			list, inner, err := Boosters(nil, c.rows, c.columns, 1, quick)
			if err != nil || len(list) != len(BoosterNames) || !quick && inner != c.folds {
				t.Fatal(err, len(list), inner)
			}
			for _, b := range list {
				seen := map[string]bool{}
				for _, s := range b.Grid {
					seen[s.Name] = true
				}
				if len(seen) != len(b.Grid) || len(b.Grid) == 0 || len(b.Grid) > c.xgboost || b.Name == "gb" && !quick &&
					len(b.Grid) != c.xgboost {
					t.Errorf("%d x %d: %s has %d settings, %d names", c.rows, c.columns, b.Name, len(b.Grid), len(seen))
				}
			}
		}
	}
	// The preset is what a user has who chooses nothing: the zero value of the options, T = 100.
	list, _, err := Boosters([]string{"rgb-default"}, 699, 9, 7, false)
	if err != nil || len(list) != 1 || len(list[0].Grid) != 1 {
		t.Fatal(list, err)
	}
	sets, err := Table31Sets(smallTables, "cancer")
	if err != nil {
		t.Fatal(err)
	}
	x, _, err := sets[0].Load()
	if err != nil {
		t.Fatal(err)
	}
	d, err := boost.NewData(x, boost.Logistic{})
	if err != nil {
		t.Fatal(err)
	}
	var saved [2]bytes.Buffer
	for k, train := range []func() (*boost.Ensemble, *optim.Result, error){
		func() (*boost.Ensemble, *optim.Result, error) { return list[0].Grid[0].Train(d, nil) },
		func() (*boost.Ensemble, *optim.Result, error) {
			return boost.TrainRGB(d, &boost.RGBOptions{Rounds: 100, ZeroStart: true, Seed: 7}, nil)
		},
	} {
		e, _, err := train()
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Write(&saved[k]); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(saved[0].Bytes(), saved[1].Bytes()) {
		t.Error("rgb-default is not the zero value of RGBOptions but for the rounds and the start of the " +
			"recorded runs")
	}
	for _, names := range [][]string{{"rbg"}, {"gb", "rgb", "gb"}} {
		if _, _, err := Boosters(names, 1, 1, 1, false); err == nil {
			t.Errorf("%v is accepted", names)
		}
	}
}
