package experiment

import (
	"context"
	"fmt"
	"hash/fnv"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim/score"
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

// Nested is the result of one contestant in one trial. The same fits on inner
// folds make two choices: the least loss (ties by error), and the least error (ties by
// loss); settings that are equally good yield to the first of the grid.
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
	// Hindsight has the test error of every setting of the grid, when they were asked
	// for: the figure that is not nested is the least of their means.
	Hindsight []float64 `json:"hindsight,omitempty"`
	Seconds   float64   `json:"seconds"`
}

// Fingerprint names a division of the rows: 64 bits of FNV-1a over a character a
// row, '-' for a test row, else the digit of its inner fold ('0' without inner
// folds, '.' for rows that take no part), in hexadecimal.
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
func gridPrint(c *boost.Contestant, seed uint64, inner int) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d %d", c.Name, seed, inner)
	for _, s := range c.Grid {
		fmt.Fprintf(h, "\n%s", s.Name)
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// fits is how many models one trial of a contestant takes at most.
func fits(c *boost.Contestant, inner int, hindsight bool) int {
	n := len(c.Grid)
	switch {
	case n == 1:
		return 1
	case hindsight:
		return n * (inner + 1)
	}
	return n*inner + 2
}

// nest runs one trial: every setting of the grid on the first inner folds (so many
// as asked for), then on the whole training part those that were chosen, or all
// with hindsight. Each setting is judged by its own loss, which is the same for all of
// a contestant. fitted is called after each fit, by several goroutines.
func nest(ctx context.Context, t *table.Table, trial *table.Trial, c *boost.Contestant, inner int, hindsight bool, workers int, fitted func()) (*Nested, error) {
	begin := time.Now()
	folds := trial.InnerFolds()
	if len(c.Grid) > 1 && len(folds) < inner {
		return nil, fmt.Errorf("experiment: %s has %d settings to choose from on %d inner folds; the trial has %d", c.Name, len(c.Grid), inner, len(folds))
	}
	type worth struct{ loss, wrong float64 }
	// measure trains all the settings given and measures them on the test rows.
	measure := func(train, test []int, settings []int) ([]worth, error) {
		// Both losses of the contestants here, logistic and exponential, take labels
		// -1 and +1.
		d, err := boost.NewData(t.Subset(train), boost.Logistic{})
		if err != nil {
			return nil, err
		}
		x := t.Subset(test)
		y, err := boost.Labels(x, boost.Logistic{})
		if err != nil {
			return nil, err
		}
		out, errs := make([]worth, len(settings)), make([]error, len(settings))
		each(workers, len(settings), func(k int) {
			if ctx.Err() != nil {
				return
			}
			e, err := c.Grid[settings[k]].Train(d, boost.Control{Ctx: ctx, Workers: 1})
			if err != nil {
				errs[k] = fmt.Errorf("%s: %w", c.Grid[settings[k]].Name, err)
				return
			}
			f, err := e.Scores(x, &boost.PredictOptions{Workers: 1})
			if err != nil {
				errs[k] = err
				return
			}
			out[k] = worth{score.Mean(e.Loss, y, x.Weight, f, 1), score.ErrorRate(e.Loss, y, x.Weight, f)}
			fitted()
		})
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		for _, err := range errs {
			if err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	all := make([]int, len(c.Grid))
	for s := range all {
		all[s] = s
	}
	sums := make([]worth, len(c.Grid))
	if len(c.Grid) > 1 {
		rows := 0.0
		for _, f := range folds[:inner] {
			got, err := measure(f.Train, f.Test, all)
			if err != nil {
				return nil, err
			}
			n := float64(len(f.Test))
			rows += n
			for s, v := range got {
				sums[s].loss, sums[s].wrong = sums[s].loss+n*v.loss, sums[s].wrong+n*v.wrong
			}
		}
		for s := range sums {
			sums[s].loss, sums[s].wrong = sums[s].loss/rows, sums[s].wrong/rows
		}
	}
	byLoss, byError := 0, 0
	for s, v := range sums {
		a, b := sums[byLoss], sums[byError]
		if v.loss < a.loss || v.loss == a.loss && v.wrong < a.wrong {
			byLoss = s
		}
		if v.wrong < b.wrong || v.wrong == b.wrong && v.loss < b.loss {
			byError = s
		}
	}
	settings := all
	if !hindsight {
		settings = []int{byLoss}
		if byError != byLoss {
			settings = append(settings, byError)
		}
	}
	got, err := measure(trial.Train, trial.Test, settings)
	if err != nil {
		return nil, err
	}
	r := &Nested{Contestant: c.Name, Division: Fingerprint(trial, t.Rows), Train: len(trial.Train), Test: len(trial.Test)}
	for k, s := range settings {
		p := Pick{c.Grid[s].Name, got[k].wrong, got[k].loss, sums[s].wrong, sums[s].loss}
		if s == byLoss {
			r.ByLoss = p
		}
		if s == byError {
			r.ByError = p
		}
		if hindsight {
			r.Hindsight = append(r.Hindsight, got[k].wrong)
		}
	}
	r.Seconds = time.Since(begin).Seconds()
	return r, nil
}

// each calls do for 0 … n-1 on so many goroutines (0 is one a processor).
func each(workers, n int, do func(i int)) {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}
