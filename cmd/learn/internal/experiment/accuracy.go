package experiment

import (
	"context"
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// AccuracyOptions adjusts Accuracy. The zero value is the whole protocol on the
// trials of the sets.
type AccuracyOptions struct {
	Boosters []string // of BoosterNames, which is the default
	Trials   []int    // numbers of trials, from 0; nil is all
	// Fresh, if not "", draws other trials, by the same rule and this seed.
	Fresh     string
	Seed      uint64 // of the boosters' draws; 0 is 1
	Quick     bool   // small grids, to see that it runs
	Hindsight bool   // test every setting, for the figure that is not nested
	Workers   int    // fits at the same time; 0 is one a processor. Results do not depend on it

	// Record has errors of other programs, in addition to those that came with this one.
	Record Record

	// Known are results of an earlier run; those of the same set, trial,
	// division, contestant and grid are not made again.
	Known []Nested
	// Save, if not nil, is called with each new result. An error ends the run.
	Save func(*Nested) error
	// Fitted, if not nil, is called after each fit, from several goroutines at once. all is the
	// largest number of fits. done is the number completed, including those saved.
	Fitted func(done, all int, set, contestant string, trial int)
}

// AccuracySet is a data set's part of an AccuracyReport.
type AccuracySet struct {
	Name    string `json:"name"`
	Note    string `json:"note,omitempty"`
	Rows    int    `json:"rows"`
	Columns int    `json:"columns"`
	Inner   int    `json:"inner_folds"` // that settings are tried on
	// Contestants have their results in the order of trials.
	Contestants []AccuracyContestant `json:"contestants"`
	// Recorded are the errors of other programs on the same divisions; without them
	// NoRecord says why.
	Recorded []Peer `json:"recorded,omitempty"`
	NoRecord string `json:"no_record,omitempty"`
	// Thesis has the figures of the thesis, nil for sets it does not have.
	Thesis *ThesisFigures `json:"thesis,omitempty"`
}

// AccuracyContestant is one booster on one set.
type AccuracyContestant struct {
	Name     string   `json:"name"`
	Settings int      `json:"settings"`
	Results  []Nested `json:"results"`
}

// Errors are the test errors of the trials, chosen by loss or by error.
func (c *AccuracyContestant) Errors(by Choice) []float64 {
	out := make([]float64, len(c.Results))
	for k, r := range c.Results {
		out[k] = r.ByLoss.Error
		if by == ByError {
			out[k] = r.ByError.Error
		}
	}
	return out
}

// Accuracy runs the protocol of table 3.1. In every trial each booster chooses its setting on inner
// folds of the training part, is trained on all of it, and tested. It uses as many inner folds as
// the size of the table allows, the first ones (see Boosters). Sets whose files are missing are an
// error; leave them out beforehand (Set.Lacks).
//
// The sets are all read before the first fit, so that mistakes show at once.
func Accuracy(ctx context.Context, sets []Set, o *AccuracyOptions) ([]AccuracySet, error) {
	if o == nil {
		o = &AccuracyOptions{}
	}
	seed := o.Seed
	if seed == 0 {
		seed = 1
	}
	type work struct {
		table       *table.Table
		trials      []table.Trial
		numbers     []int
		contestants []Contestant
		inner       int
		divisions   []string
	}
	all := 0
	works := make([]work, len(sets))
	for k, s := range sets {
		t, trials, err := s.Load()
		if err != nil {
			return nil, err
		}
		if len(t.Classes) != 2 {
			return nil, fmt.Errorf("experiment: %s: %d classes; the boosters here separate two",
				s.Name, len(t.Classes))
		}
		if o.Fresh != "" {
			trials = s.Fresh(t, o.Fresh)
		}
		w := &works[k]
		w.table, w.trials, w.numbers = t, trials, o.Trials
		if w.contestants, w.inner, err = Boosters(o.Boosters, t.Rows, len(t.Columns), seed, o.Quick); err != nil {
			return nil, err
		}
		if w.numbers == nil {
			for i := range trials {
				w.numbers = append(w.numbers, i)
			}
		}
		for j, i := range w.numbers {
			if i < 0 || i >= len(trials) || slices.Contains(w.numbers[:j], i) {
				return nil, fmt.Errorf("experiment: %s: trial %d is named twice or is not one of 0 to %d", s.Name,
					i, len(trials)-1)
			}
			w.divisions = append(w.divisions, Fingerprint(&trials[i], t.Rows))
			for c := range w.contestants {
				all += fits(&w.contestants[c], w.inner, o.Hindsight)
			}
		}
	}
	known := map[string]*Nested{}
	for k := range o.Known {
		r := &o.Known[k]
		known[r.key()] = r
	}
	counter := newCounter(all, o.Fitted)
	var out []AccuracySet
	for k, s := range sets {
		w := &works[k]
		set := AccuracySet{Name: s.Name, Note: s.Note, Rows: w.table.Rows,
			Columns: len(w.table.Columns), Inner: w.inner}
		for _, c := range w.contestants {
			set.Contestants = append(set.Contestants, AccuracyContestant{Name: c.Name, Settings: len(c.Grid)})
		}
		// Trials outside, boosters inside: a run that is cut short has pairs to compare.
		for j, i := range w.numbers {
			for c := range w.contestants {
				booster := &w.contestants[c]
				want := Nested{Set: s.Name, Contestant: booster.Name, Trial: i, Division: w.divisions[j],
					Grid: gridPrint(booster, seed, w.inner)}
				most := fits(booster, w.inner, o.Hindsight)
				r := known[want.key()]
				if r != nil && (!o.Hindsight || len(r.Hindsight) == len(booster.Grid)) {
					counter.skip(most)
				} else {
					step := counter.begin(s.Name, booster.Name, i, most)
					got, err := nest(ctx, w.table, &w.trials[i], booster, w.inner, o.Hindsight, o.Workers, step)
					if err != nil {
						if ctx.Err() != nil {
							return nil, context.Cause(ctx)
						}
						return nil, fmt.Errorf("experiment: %s: %s, trial %d: %w", s.Name, booster.Name, i, err)
					}
					counter.end()
					got.Set, got.Trial, got.Grid = s.Name, i, want.Grid
					if r = got; o.Save != nil {
						if err := o.Save(r); err != nil {
							return nil, err
						}
					}
				}
				set.Contestants[c].Results = append(set.Contestants[c].Results, *r)
			}
		}
		set.Thesis, set.Recorded, set.NoRecord = recorded(s.Name, w.numbers, w.divisions, o.Record)
		out = append(out, set)
	}
	return out, nil
}

// key says what a result is of; results with the same key are the same.
func (r *Nested) key() string {
	return fmt.Sprintf("%s\x00%s\x00%d\x00%s\x00%s", r.Set, r.Contestant, r.Trial, r.Division, r.Grid)
}
