package boost

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

func rgbTrainer(name string, o RGBOptions) Trainer {
	return Trainer{Name: name, Settings: fmt.Sprintf("%#v", o),
		Train: func(d *Data, c Control) (*Ensemble, error) {
			o := o
			o.Control = c
			return TrainRGB(d, &o)
		}}
}

// The report holds what the fits by hand give, for any number of workers.
func TestCrossValidate(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	d := randomData(rng, 150, 3, 0)
	x := d.X
	x.Target, x.Classes = make([]float64, 150), []string{"-", "+"}
	for i, y := range d.Y {
		x.Target[i] = (y + 1) / 2
	}
	trials, err := x.Stratified(3, 2, 2, 5)
	if err != nil {
		t.Fatal(err)
	}
	contestants := []Contestant{
		{"stumps", []Trainer{{Name: "adaboost", Train: func(d *Data, c Control) (*Ensemble, error) {
			return TrainAdaBoost(d, &AdaBoostOptions{Rounds: 10, Variant: LogitCD, Control: c})
		}}}},
		{"rgb", []Trainer{rgbTrainer("short", RGBOptions{Rounds: 3}), rgbTrainer("long", RGBOptions{Rounds: 40})}},
	}
	var reports []*CVReport
	for _, workers := range []int{1, 3} {
		fits := 0
		o := &CVOptions{Workers: workers}
		if workers == 1 {
			o.Fitted = func(all int, _ string, _ int) {
				fits++
				if all != 6+6*2*3 {
					t.Errorf("%d fits", all)
				}
			}
		}
		r, err := CrossValidate(x, Logistic{}, trials, contestants, o)
		if err != nil {
			t.Fatal(err)
		}
		if workers == 1 && fits != 42 {
			t.Errorf("%d fits reported", fits)
		}
		reports = append(reports, r)
	}
	if diff := cmp.Diff(reports[0], reports[1]); diff != "" {
		t.Errorf("the report depends on the number of workers: %s", diff)
	}
	r := reports[0]
	for i, trial := range trials {
		train := must[*Data](t)(NewData(x.Subset(trial.Train), Logistic{}))
		test := x.Subset(trial.Test)
		y, _ := Labels(test, Logistic{})
		best, least := "", math.Inf(1)
		for _, s := range contestants[1].Grid {
			loss, rows := 0.0, 0.0
			for _, fold := range trial.InnerFolds() {
				e := must[*Ensemble](t)(s.Train(must[*Data](t)(NewData(x.Subset(fold.Train), Logistic{})), Control{}))
				part := x.Subset(fold.Test)
				labels, _ := Labels(part, Logistic{})
				loss += float64(part.Rows) * score.Mean(Logistic{}, labels, nil,
					must[[]float64](t)(e.Scores(part, nil)), 1)
				rows += float64(part.Rows)
			}
			if loss/rows < least {
				best, least = s.Name, loss/rows
				e := must[*Ensemble](t)(s.Train(train, Control{}))
				f := must[[]float64](t)(e.Scores(test, nil))
				if s.Name == r.Contestants[1].Chosen[i] {
					near(t, "error", r.Contestants[1].Error[i], score.ErrorRate(Logistic{}, y, nil, f), 0)
				}
			}
		}
		if best != r.Contestants[1].Chosen[i] {
			t.Errorf("trial %d: %q was chosen, %q is best", i, r.Contestants[1].Chosen[i], best)
		}
	}
	plain, _ := metrics.PairedT(r.Contestants[1].Error, r.Contestants[0].Error)
	if *r.Contestants[1].Plain != plain || r.Contestants[1].Corrected.P < plain.P {
		t.Errorf("tests %+v and %+v, want %+v", r.Contestants[1].Plain, r.Contestants[1].Corrected, plain)
	}
}

// A run that is cut goes on from the fits that it kept, to the same report; fits of other settings
// or divisions, or of settings that are not known, are made again.
func TestCrossValidateGoesOn(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	d := randomData(rng, 120, 3, 0)
	x := d.X
	x.Target, x.Classes = make([]float64, 120), []string{"-", "+"}
	for i, y := range d.Y {
		x.Target[i] = (y + 1) / 2
	}
	trials, err := x.Stratified(3, 2, 1, 5)
	if err != nil {
		t.Fatal(err)
	}
	trained := 0
	counted := func(s Trainer) Trainer {
		train := s.Train
		s.Train = func(d *Data, c Control) (*Ensemble, error) { trained++; return train(d, c) }
		return s
	}
	unnamed := rgbTrainer("c", RGBOptions{Rounds: 4})
	unnamed.Settings = ""
	contestants := []Contestant{{"rgb", []Trainer{counted(rgbTrainer("a", RGBOptions{Rounds: 2})),
		counted(rgbTrainer("b", RGBOptions{Rounds: 3}))}}, {"other", []Trainer{counted(unnamed)}}}
	whole, err := CrossValidate(x, Logistic{}, trials, contestants, &CVOptions{Workers: 1})
	if err != nil || trained != 3*(2*3+1) {
		t.Fatal(err, trained)
	}
	stop := errors.New("cut")
	var kept []CVFit
	if _, err := CrossValidate(x, Logistic{}, trials, contestants,
		&CVOptions{Workers: 1, Save: func(f *CVFit) error {
			if kept = append(kept, *f); len(kept) == 7 {
				return stop
			}
			return nil
		}}); !errors.Is(err, stop) || len(kept) != 7 {
		t.Fatal(err, len(kept))
	}
	alien := kept[0]
	alien.Division, alien.Error = "0", 1
	trained = 0
	more := 0
	again, err := CrossValidate(x, Logistic{}, trials, contestants,
		&CVOptions{Workers: 1, Known: append(kept, alien), Save: func(*CVFit) error { more++; return nil }})
	if err != nil || trained != 3*(2*3+1)-7 || more != 3*2*3-7 {
		t.Fatalf("%v: %d were trained, %d kept", err, trained, more)
	}
	if diff := cmp.Diff(whole, again); diff != "" {
		t.Error(diff)
	}
	// Of another setting nothing is known.
	trained = 0
	other := []Contestant{{"rgb", []Trainer{counted(rgbTrainer("a", RGBOptions{Rounds: 2, LearningRate: 0.3}))}}}
	if _, err := CrossValidate(x, Logistic{}, trials, other, &CVOptions{Workers: 1, Known: kept}); err != nil ||
		trained != 3 {
		t.Errorf("%v: %d of 3 were trained", err, trained)
	}
}

// The golden t-test of section 7 of the specification.
func TestGoldenT(t *testing.T) {
	r, err := metrics.PairedT([]float64{0.02, 0.01, 0.03, -0.005, 0.015}, make([]float64, 5))
	if err != nil || r.DF != 4 {
		t.Fatal(r, err)
	}
	near(t, "t", float64(r.T), 2.4188315916, 1e-9)
	near(t, "one-sided p", r.Greater(), 0.0364275298, 1e-9)
}

// A row of weight 0 is a row that is not there, and one of weight 3 is three: inner folds
// count by their weight.
func TestCrossValidateCountsRowsByWeight(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	d := randomData(rng, 120, 2, 0)
	x := d.X
	x.Target, x.Classes, x.Weight = make([]float64, x.Rows), []string{"-", "+"}, make([]float64, x.Rows)
	var rows, repeated []int
	for i, y := range d.Y {
		x.Target[i], x.Weight[i] = (y+1)/2, float64(rng.IntN(4))
		for range int(x.Weight[i]) {
			repeated = append(repeated, i)
		}
		if x.Weight[i] > 0 {
			rows = append(rows, i)
		}
	}
	grid := []Contestant{{"gb", []Trainer{
		{Name: "a", Train: func(d *Data, c Control) (*Ensemble, error) {
			return TrainGradient(d, &GradientOptions{Rounds: 2, MinRows: 1, L2: -1, MinWeight: -1, Control: c})
		}},
		{Name: "b", Train: func(d *Data, c Control) (*Ensemble, error) {
			return TrainGradient(d, &GradientOptions{Rounds: 20, MinRows: 1, L2: -1, MinWeight: -1,
				LearningRate: 0.5, Control: c})
		}}}}}
	report := func(x *table.Table, trials []table.Trial) *CVReport {
		t.Helper()
		r, err := CrossValidate(x, Logistic{}, trials, grid, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	trials := must[[]table.Trial](t)(x.Stratified(4, 2, 1, 3))
	whole := report(x, trials)
	near(t, "rows", float64(whole.Rows), float64(len(rows)), 0)
	// The same trials of the table in which rows stand as often as their weight says.
	y := x.Subset(repeated)
	y.Weight = nil
	at := map[int][]int{}
	for k, i := range repeated {
		at[i] = append(at[i], k)
	}
	same := make([]table.Trial, len(trials))
	for n, trial := range trials {
		for k, i := range trial.Train {
			same[n].Train = append(same[n].Train, at[i]...)
			same[n].Inner = append(same[n].Inner, slices.Repeat(trial.Inner[k:k+1], len(at[i]))...)
		}
		for _, i := range trial.Test {
			same[n].Test = append(same[n].Test, at[i]...)
		}
	}
	for _, other := range []*CVReport{report(y, same), report(x.Subset(rows), renumbered(trials, rows))} {
		a, b := whole.Contestants[0], other.Contestants[0]
		for k := range a.Error {
			near(t, "error", b.Error[k], a.Error[k], 1e-12)
			near(t, "loss", b.Loss[k], a.Loss[k], 1e-12)
		}
		if !slices.Equal(a.Chosen, b.Chosen) {
			t.Errorf("chosen: %v, without weights %v", a.Chosen, b.Chosen)
		}
	}
	for _, i := range trials[0].Test {
		x.Weight[i] = 0
	}
	if _, err := CrossValidate(x, Logistic{}, trials, grid, nil); !errors.Is(err, table.ErrUseless) {
		t.Errorf("a trial that tests on no weight: %v", err)
	}
}

// An inner fold of one row of weight 3 counts more than one of two rows of weight 1.
func TestInnerFoldsCountByWeight(t *testing.T) {
	x := numeric([]float32{1, 2, 3, 4})
	x.Target, x.Classes, x.Weight = []float64{0, 1, 1, 1}, []string{"-", "+"}, []float64{3, 1, 1, 1}
	constant := func(name string, score float64) Trainer {
		return Trainer{Name: name, Train: func(d *Data, _ Control) (*Ensemble, error) {
			return &Ensemble{Loss: Logistic{}, Schema: SchemaOf(d.X), Start: []float64{score}}, nil
		}}
	}
	trials := []table.Trial{{Train: []int{0, 1, 2}, Inner: []int{0, 1, 1}, Test: []int{3}}}
	for _, choice := range []Choice{ByLoss, ByError} {
		r, err := CrossValidate(x, Logistic{}, trials,
			[]Contestant{{"constant", []Trainer{constant("+", 1), constant("-", -1)}}}, &CVOptions{Choice: choice})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Contestants[0].Chosen; !slices.Equal(got, []string{"-"}) {
			t.Errorf("by %q: %v is chosen, though the rows of class - weigh 3 and those of + 2", choice, got)
		}
	}
}

// renumbered are trials of those rows.
func renumbered(trials []table.Trial, rows []int) []table.Trial {
	to := func(part []int) (out []int) {
		for _, i := range part {
			k, _ := slices.BinarySearch(rows, i)
			out = append(out, k)
		}
		return out
	}
	out := make([]table.Trial, len(trials))
	for n, trial := range trials {
		out[n] = table.Trial{Train: to(trial.Train), Test: to(trial.Test), Inner: trial.Inner}
	}
	return out
}

func TestCrossValidateRefuses(t *testing.T) {
	d := golden()
	x := d.X
	x.Target, x.Classes = []float64{1, 1, 0, 0, 1, 0}, []string{"-", "+"}
	trials := []table.Trial{{Train: []int{0, 1, 2, 3}, Test: []int{4, 5}}}
	grid := []Trainer{rgbTrainer("a", RGBOptions{Rounds: 2}), rgbTrainer("b", RGBOptions{Rounds: 3})}
	if _, err := CrossValidate(x, Logistic{}, trials, []Contestant{{"rgb", grid}}, nil); err == nil {
		t.Error("a choice without inner folds was made")
	}
	if _, err := CrossValidate(x, Logistic{}, trials, []Contestant{{"none", nil}}, nil); err == nil {
		t.Error("a contestant without settings was taken")
	}
	bad := Trainer{Name: "bad", Train: func(*Data, Control) (*Ensemble, error) { return nil, ErrRange }}
	if _, err := CrossValidate(x, Logistic{}, trials, []Contestant{{"bad", []Trainer{bad}}}, nil); !errors.Is(
		err, ErrRange) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := CrossValidate(x, Logistic{}, trials, []Contestant{{"rgb", grid[:1]}},
		&CVOptions{Ctx: ctx}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	r, err := CrossValidate(x, Logistic{}, trials, []Contestant{{"rgb", grid[:1]}, {"again", grid[:1]}}, nil)
	if err != nil || r.Contestants[1].Plain != nil || len(r.Contestants[0].Error) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}
