package table

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/tropica-fst/tropica/learn/dataset"
)

// Trial is one division of the rows into training and test, and of the training
// rows into the folds that choose hyper-parameters.
type Trial struct {
	Train, Test []int // ascending row numbers
	Inner       []int // fold of each training row, in the order of Train; nil without inner folds
}

// InnerFolds returns the divisions of Train that the inner folds make, as row
// numbers of the whole table.
func (t *Trial) InnerFolds() []dataset.Fold {
	if len(t.Inner) == 0 {
		return nil
	}
	folds := make([]dataset.Fold, slices.Max(t.Inner)+1)
	for k, f := range t.Inner {
		for g := range folds {
			if g == f {
				folds[g].Test = append(folds[g].Test, t.Train[k])
			} else {
				folds[g].Train = append(folds[g].Train, t.Train[k])
			}
		}
	}
	return folds
}

// Deal gives each item of order a fold, 0 to k-1. It sorts the items stably by label, and gives
// them fold numbers in turn. So the folds have nearly the same number of items, and of items of
// each label. The result is by item: fold[order[i]]; items that order does not name have -1.
// Shuffle order first.
func Deal(order []int, label []int, k int) (fold []int) {
	fold = make([]int, len(label))
	for i := range fold {
		fold[i] = -1
	}
	order = slices.Clone(order)
	slices.SortStableFunc(order, func(a, b int) int { return label[a] - label[b] })
	for i, item := range order {
		fold[item] = i % k
	}
	return fold
}

// Labels are what Stratified keeps in proportion: the classes; within sources if
// there are any. Regression has the target's quartiles.
func (t *Table) Labels() []int {
	label := make([]int, t.Rows)
	switch {
	case t.Classes != nil:
		for i, y := range t.Target {
			label[i] = int(y)
		}
	case t.Target != nil:
		order := make([]int, t.Rows)
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int {
			switch {
			case t.Target[a] < t.Target[b]:
				return -1
			case t.Target[a] > t.Target[b]:
				return 1
			}
			return 0
		})
		for k, i := range order {
			label[i] = 4 * k / t.Rows
			if k > 0 && t.Target[i] == t.Target[order[k-1]] {
				label[i] = label[order[k-1]] // equal values are not told apart
			}
		}
	}
	if t.Source != nil {
		n := 1
		for _, l := range label {
			n = max(n, l+1)
		}
		for i, s := range t.Source {
			label[i] += int(s) * n
		}
	}
	return label
}

// Stratified divides the table into k folds, repeats times, and for each the rest
// into inner folds (0 for none). Classes, and sources, are in proportion in each
// fold. The seed decides everything; trial r·k+f tests on fold f of repetition r. Rows of
// weight 0 are in no trial, and the others are divided as they are without them.
func (t *Table) Stratified(k, inner, repeats int, seed uint64) ([]Trial, error) {
	if rows := t.weighted(); len(rows) < t.Rows {
		labels := &Table{Name: t.Name, Rows: len(rows), Target: pick(t.Target, rows), TargetName: t.TargetName,
			Classes: t.Classes, Source: pick(t.Source, rows), SourceName: t.SourceName, Sources: t.Sources}
		trials, err := labels.Stratified(k, inner, repeats, seed)
		for n := range trials {
			trials[n].Train, trials[n].Test = pick(rows, trials[n].Train), pick(rows, trials[n].Test)
		}
		return trials, err
	}
	if _, err := t.CheckFolds(k); err != nil {
		return nil, err
	}
	if repeats < 1 || inner < 0 || inner == 1 {
		return nil, fmt.Errorf("table: Stratified: impossible: %d repetitions, %d inner folds", repeats, inner)
	}
	label := t.Labels()
	var trials []Trial
	for r := range repeats {
		// A generator for each division: more repetitions, or inner folds, leave the
		// others as they are.
		outer := Deal(rand.New(rand.NewPCG(seed, uint64(r)<<32)).Perm(t.Rows), label, k)
		for f := range k {
			trial := divide(outer, f)
			if inner > 0 {
				if len(trial.Train) < inner {
					return nil, &Error{Name: t.Name, Msg: fmt.Sprintf("%d training rows are fewer than %d inner folds",
						len(trial.Train), inner), Err: ErrUseless}
				}
				order := slices.Clone(trial.Train)
				rng := rand.New(rand.NewPCG(seed, uint64(r)<<32|uint64(f+1)))
				rng.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
				trial.Inner = pick(Deal(order, label, inner), trial.Train)
			}
			trials = append(trials, trial)
		}
	}
	return trials, nil
}

// weighted lists the rows whose weight is not 0.
func (t *Table) weighted() []int {
	rows := make([]int, 0, t.Rows)
	for i := range t.Rows {
		if t.Weight == nil || t.Weight[i] != 0 {
			rows = append(rows, i)
		}
	}
	return rows
}

// Usable returns the trials without rows of weight 0, which neither train nor test. It is an error
// if a trial has then no row to train or to test on. So is an inner fold without any, where
// settings are to be chosen.
func (t *Table) Usable(trials []Trial, choice bool) ([]Trial, error) {
	out := slices.Clone(trials)
	for n := range out {
		if t.Weight != nil {
			out[n] = out[n].without(func(i int) bool { return t.Weight[i] == 0 })
		}
		u := &out[n]
		fail := func(what string, train, test int) error {
			return &Error{Name: t.Name, Msg: fmt.Sprintf("%s has %d rows to train on and %d to test on, rows of "+
				"weight 0 left out", what, train, test), Err: ErrUseless}
		}
		if len(u.Train) == 0 || len(u.Test) == 0 {
			return nil, fail(fmt.Sprintf("trial %d", n+1), len(u.Train), len(u.Test))
		}
		if !choice {
			continue
		}
		for f, fold := range u.InnerFolds() {
			if len(fold.Train) == 0 || len(fold.Test) == 0 {
				return nil, fail(fmt.Sprintf("inner fold %d of trial %d", f, n+1), len(fold.Train), len(fold.Test))
			}
		}
	}
	return out, nil
}

// divide makes the trial that tests on fold f; rows with fold -1 take no part.
func divide(fold []int, f int) Trial {
	var t Trial
	for i, g := range fold {
		switch {
		case g == f:
			t.Test = append(t.Test, i)
		case g >= 0:
			t.Train = append(t.Train, i)
		}
	}
	return t
}

// ByFold makes a trial of each fold: it tests on the rows of the fold and trains
// on those of the others. Rows with fold -1 take no part.
func ByFold(fold []int) []Trial {
	if len(fold) == 0 {
		return nil
	}
	trials := make([]Trial, slices.Max(fold)+1)
	for f := range trials {
		trials[f] = divide(fold, f)
	}
	return trials
}

// MakeTrials makes the trials of table 3.1's protocol: 5-fold cross-validation, repeats times, each
// training part with five inner folds. label is the class of each row. The rule and the random
// numbers are those of the recorded comparisons. Shuffle the rows as Python's random.Random(seed)
// does, with the seeds NAME/outer/REPETITION and NAME/inner/REPETITION/FOLD; then call Deal. So the
// name of a data set makes that data set's recorded trials, and a name of your own ("sonar/fresh1")
// makes fresh ones.
func MakeTrials(name string, label []int, repeats int) []Trial {
	const folds = 5
	all := make([]int, len(label))
	for i := range all {
		all[i] = i
	}
	var trials []Trial
	for r := range repeats {
		outer := dealPython(fmt.Sprintf("%s/outer/%d", name, r), all, label, folds)
		for f := range folds {
			t := divide(outer, f)
			inner := dealPython(fmt.Sprintf("%s/inner/%d/%d", name, r, f), t.Train, label, folds)
			t.Inner = pick(inner, t.Train)
			trials = append(trials, t)
		}
	}
	return trials
}

// MakeSourceFolds divides each source into folds by the same rule, with the seeds
// NAME/fold/SOURCE. source counts from 1; rows of source 0 have fold -1.
func MakeSourceFolds(name string, source, label []int, folds int) []int {
	return makeSourceFolds(name+"/fold", source, label, folds)
}

func makeSourceFolds(prefix string, source, label []int, folds int) []int {
	out := make([]int, len(source))
	for i := range out {
		out[i] = -1
	}
	for k := 1; k <= slices.Max(append([]int{0}, source...)); k++ {
		var rows []int
		for i, s := range source {
			if s == k {
				rows = append(rows, i)
			}
		}
		fold := dealPython(fmt.Sprintf("%s/%d", prefix, k), rows, label, folds)
		for _, i := range rows {
			out[i] = fold[i]
		}
	}
	return out
}

// MakeSourceTrials makes the trials of the sentiment data: repeats random
// divisions, each source tested on one part in five, with five inner folds. Seeds
// NAME/split/TRIAL/SOURCE and NAME/inner/TRIAL/SOURCE.
func MakeSourceTrials(name string, source, label []int, repeats int) []Trial {
	trials := make([]Trial, repeats)
	for r := range trials {
		outer := makeSourceFolds(fmt.Sprintf("%s/split/%d", name, r), source, label, 5)
		t := divide(outer, 0)
		in := slices.Clone(source)
		for _, i := range t.Test {
			in[i] = 0
		}
		inner := makeSourceFolds(fmt.Sprintf("%s/inner/%d", name, r), in, label, 5)
		t.Inner = pick(inner, t.Train)
		trials[r] = t
	}
	return trials
}

// MakeSourceSample draws n rows of each source, with the seeds NAME/sub/SOURCE; the
// others get source 0. Divide it with MakeSourceFolds under the name NAME-sub.
func MakeSourceSample(name string, source []int, n int) ([]int, error) {
	out := make([]int, len(source))
	for k := 1; k <= slices.Max(append([]int{0}, source...)); k++ {
		var rows []int
		for i, s := range source {
			if s == k {
				rows = append(rows, i)
			}
		}
		if len(rows) < n {
			return nil, fmt.Errorf("table: MakeSourceSample: %d rows of source %d are fewer than %d", len(rows), k, n)
		}
		for _, i := range newPythonRandom(fmt.Sprintf("%s/sub/%d", name, k)).sample(rows, n) {
			out[i] = k
		}
	}
	return out, nil
}

func dealPython(seed string, items, label []int, k int) []int {
	order := slices.Clone(items)
	newPythonRandom(seed).shuffle(order)
	return Deal(order, label, k)
}
