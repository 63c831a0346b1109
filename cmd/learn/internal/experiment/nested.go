package experiment

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/evaluate"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// Pick is a setting chosen on inner folds, and what it did on the test part after
// training on all training rows.
type Pick struct {
	Setting    string  `json:"setting"`
	Error      float64 `json:"error"` // of the test rows, as a share
	Loss       float64 `json:"loss"`  // mean of the test rows
	InnerError float64 `json:"inner_error"`
	InnerLoss  float64 `json:"inner_loss"`
}

// Nested is the result of one contestant in one trial. The same fits on inner folds make two
// choices: the least loss (ties by error), and the least error (ties by loss). Among equally good
// settings the first of the grid wins.
type Nested struct {
	Set        string `json:"set"`
	Contestant string `json:"contestant"`
	Trial      int    `json:"trial"`
	Division   string `json:"division"` // Fingerprint of the trial
	Grid       string `json:"grid"`     // fingerprint of the settings, their seed and the number of inner folds
	Train      int    `json:"train"`    // rows
	Test       int    `json:"test"`

	ByLoss  Pick `json:"by_loss"`
	ByError Pick `json:"by_error"`
	// Hindsight has the test error of every setting of the grid, when requested. The figure that is
	// not nested is the least of their means.
	Hindsight []float64 `json:"hindsight,omitempty"`
	Seconds   float64   `json:"seconds"`
}

// Fingerprint names a division of the rows. It is 64 bits of FNV-1a, in hexadecimal, over a
// character a row: '-' for a test row, else the digit of its inner fold ('0' without inner folds,
// '.' for excluded rows).
func Fingerprint(t *table.Trial, rows int) string {
	text := []byte(strings.Repeat(".", rows))
	for k, i := range t.Train {
		text[i] = '0'
		if t.Inner != nil {
			text[i] = byte('0' + t.Inner[k])
		}
	}
	for _, i := range t.Test {
		text[i] = '-'
	}
	h := fnv.New64a()
	h.Write(text)
	return fmt.Sprintf("%016x", h.Sum64())
}

// gridPrint is what makes two runs of a contestant the same.
func gridPrint(c *Contestant, seed uint64, inner int) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d %d", c.Name, seed, inner)
	for _, s := range c.Grid {
		fmt.Fprintf(h, "\n%s", s.Name)
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// fits is how many models one trial of a contestant takes at most.
func fits(c *Contestant, inner int, hindsight bool) int {
	n := len(c.Grid)
	switch {
	case n == 1:
		return 1
	case hindsight:
		return n * (inner + 1)
	}
	return n*inner + 2
}

// nest runs one trial. It fits every setting of the grid on the first inner folds, as many as
// requested, and then the chosen settings on the whole training part, or all with hindsight. Each
// setting is judged by its own loss, which is the same for all of a contestant. fitted is called
// after each fit, from several goroutines.
func nest(ctx context.Context, t *table.Table, trial *table.Trial, c *Contestant, inner int,
	hindsight bool, workers int, fitted func()) (*Nested, error) {
	begin := time.Now()
	folds := trial.InnerFolds()
	if len(c.Grid) > 1 && len(folds) < inner {
		return nil, fmt.Errorf("experiment: %s has %d settings to choose from on %d inner folds; the trial has %d",
			c.Name, len(c.Grid), inner, len(folds))
	}
	const loss, wrong = 0, 1
	p := &evaluate.Plan{Measures: []string{"loss", "error"}, Hindsight: hindsight, Workers: workers,
		Done: func(int, string, int) { fitted() }, Trials: []evaluate.Trial{
			{Fold: dataset.Fold{Train: trial.Train, Test: trial.Test}, Inner: folds[:min(inner, len(folds))]}},
		Contestants: []evaluate.Contestant{{Name: c.Name, By: []int{loss, wrong}},
			{Name: c.Name + " by error", By: []int{wrong, loss}, As: c.Name}}}
	for _, s := range c.Grid {
		p.Contestants[0].Grid = append(p.Contestants[0].Grid,
			evaluate.Setting{Name: s.Name, Fit: func(ctx context.Context, fold dataset.Fold) ([]float64, error) {
				return measure(ctx, t, fold, &s)
			}})
	}
	r, err := p.Run(ctx)
	if err != nil {
		if fit := new(evaluate.FitError); errors.As(err, &fit) { // the caller knows which trial this is
			return nil, fmt.Errorf("%s: %w", fit.Setting, fit.Err)
		}
		return nil, err
	}
	pick := func(s *evaluate.Standing) Pick {
		return Pick{s.Chosen[0], s.Values[wrong][0], s.Values[loss][0], s.Inner[wrong][0], s.Inner[loss][0]}
	}
	n := &Nested{Contestant: c.Name, Division: Fingerprint(trial, t.Rows), Train: len(trial.Train),
		Test: len(trial.Test), ByLoss: pick(&r.Standings[0]), ByError: pick(&r.Standings[1])}
	for _, s := range r.Standings[0].Settings {
		n.Hindsight = append(n.Hindsight, s[wrong][0])
	}
	n.Seconds = time.Since(begin).Seconds()
	return n, nil
}

// measure trains a setting on the training rows of a fold, and returns loss and error of the
// others.
func measure(ctx context.Context, t *table.Table, fold dataset.Fold, s *Trainer) ([]float64, error) {
	// Both losses of the contestants here, logistic and exponential, take labels
	// -1 and +1.
	d, err := boost.NewData(t.Subset(fold.Train), boost.Logistic{})
	if err != nil {
		return nil, err
	}
	x := t.Subset(fold.Test)
	y, err := boost.Labels(x, boost.Logistic{})
	if err != nil {
		return nil, err
	}
	e, _, err := s.Train(d, &run.Control{Ctx: ctx, Workers: 1})
	if err != nil {
		return nil, err
	}
	f, err := e.Scores(x, &boost.PredictOptions{Workers: 1})
	if err != nil {
		return nil, err
	}
	return []float64{score.Mean(e.Loss, y, x.Weight, f, 1), score.ErrorRate(e.Loss, y, x.Weight, f)}, nil
}
