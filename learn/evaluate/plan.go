package evaluate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/run"
)

// Trial is one division of the examples, and the folds of its training part that choose
// settings.
type Trial struct {
	dataset.Fold
	Inner []dataset.Fold // numbers of all examples, all in Fold.Train; nil without a choice
}

// Grouped returns trials that divide groups of examples: repeats times folds of them, with inner
// folds of the groups left to train on unless inner is 0. group[i] is the group of example i, from
// 0; examples of one group stay together. The error is that of dataset.KFold.
func Grouped(group []int, folds, inner, repeats int, seed uint64) ([]Trial, error) {
	groups := 0
	for _, g := range group {
		groups = max(groups, g+1)
	}
	members := func(numbers []int) []int {
		chosen := make([]bool, groups)
		for _, g := range numbers {
			chosen[g] = true
		}
		var out []int
		for i, g := range group {
			if chosen[g] {
				out = append(out, i)
			}
		}
		return out
	}
	var out []Trial
	rng := rand.New(rand.NewPCG(seed, 0))
	for range repeats {
		list, err := dataset.KFold(groups, folds, rng)
		if err != nil {
			return nil, err
		}
		for _, f := range list {
			t := Trial{Fold: dataset.Fold{Train: members(f.Train), Test: members(f.Test)}}
			if inner > 0 {
				in, err := dataset.KFold(len(f.Train), inner, rng)
				if err != nil {
					return nil, err
				}
				for _, g := range in {
					t.Inner = append(t.Inner, dataset.Fold{Train: members(dataset.Pick(f.Train, g.Train)),
						Test: members(dataset.Pick(f.Train, g.Test))})
				}
			}
			out = append(out, t)
		}
	}
	return out, nil
}

// Folds makes a trial of each fold. inner, if not nil, divides its training part further.
func Folds(folds []dataset.Fold, inner func(trial int, train []int) ([]dataset.Fold, error)) ([]Trial,
	error) {
	out := make([]Trial, len(folds))
	for i, f := range folds {
		out[i].Fold = f
		if inner != nil {
			var err error
			if out[i].Inner, err = inner(i, f.Train); err != nil {
				return nil, fmt.Errorf("evaluate: trial %d: %w", i+1, err)
			}
		}
	}
	return out, nil
}

// Setting is one way to learn, with all its constants.
type Setting struct {
	Name string
	// Print is all that the fit depends on beside the examples, as text of any form: fits of
	// an earlier run are known by it. "" is not known, and such fits are made again.
	Print string
	// Fit trains on fold.Train and returns the plan's measures on fold.Test. It is called
	// from several goroutines.
	Fit func(ctx context.Context, fold dataset.Fold) ([]float64, error)
}

// Contestant takes part in a comparison.
type Contestant struct {
	Name string
	Grid []Setting // at least one, except for a contestant with As
	// By are the measures that settings are chosen by, by number: the second decides where the
	// first is equal, and so on. nil is all, in their order.
	By []int
	// Path, if not nil, fits several settings of the grid to one fold, each starting from where the
	// one before it ended. It calls done with the measures of each, in any order. Setting.Fit is
	// then not called.
	Path func(ctx context.Context, fold dataset.Fold, settings []int,
		done func(setting int, measures []float64) error) error
	// As names a contestant before this one whose inner fits this one chooses by, and whose
	// choices it takes without a By of its own. Its grid must have as many settings; one
	// without a grid has that contestant's settings, and shares its fits. "" fits and chooses
	// for itself.
	As string
}

// Fitted is what one fit came to.
type Fitted struct {
	Contestant string    `json:"contestant"`
	Setting    string    `json:"setting"`
	Trial      int       `json:"trial"`
	Inner      int       `json:"inner"`    // fold of the trial's training part; -1 is all of that
	Print      string    `json:"settings"` // fingerprint of Setting.Print
	Division   string    `json:"division"` // of the examples: dataset.Fold.Fingerprint
	Measures   []float64 `json:"measures"`
}

// Plan is a comparison that can be run.
type Plan struct {
	// Measures names what a fit returns; less is better. Settings are chosen by their means
	// over inner folds, by the weight of the test examples; see Contestant.By.
	Measures    []string
	Contestants []Contestant
	Trials      []Trial
	// Weight returns the weight of an example in means over inner folds; nil is 1.
	Weight func(example int) float64
	// EqualFolds gives all inner folds the same weight.
	EqualFolds bool
	// Hindsight fits every setting to every training part, not only the chosen ones. Standing.Best
	// then says which choice would have been best, by measure BestBy.
	Hindsight bool
	BestBy    int
	// Against names the contestant that the others are tested against; "" is the first.
	Against string

	Workers int // fits at the same time; 0 is GOMAXPROCS. Results do not depend on it
	// Known are fits of an earlier run on the same examples with the same measures.
	Known []Fitted
	// Save, if not nil, is called with each new fit of known settings and finite measures,
	// one call at a time. An error ends the run, and no call follows it.
	Save func(*Fitted) error
	// Done, if not nil, is called after each fit, from several goroutines at once. all is the
	// number of fits, where fits that contestants may share count for each.
	Done func(all int, contestant string, trial int)
}

// job is the settings of one contestant that are fitted to one fold together.
type job struct {
	contestant, trial int
	inner             int // -1: the whole training part
	settings          []int
	fold              *dataset.Fold
}

// planned is a plan in progress.
type planned struct {
	*Plan
	// By contestant; itself for most.
	leader []int // the one of As
	source []int // who makes the inner fits that it chooses by
	owner  []int // who makes the fits of its settings
	all    int   // fits in all
	tested int   // the contestant that the others are tested against
	known  map[string][]float64
	// By contestant, trial, fold (the whole training part last) and setting; nil is not fitted.
	values [][][][][]float64
	chosen [][]int // by contestant and trial

	mu      sync.Mutex // of Save
	unsaved error      // of Save
}

// FitError reports a fit that failed.
type FitError struct {
	Trial               int // from 0
	Contestant, Setting string
	Err                 error
}

func (e *FitError) Error() string {
	return fmt.Sprintf("evaluate: trial %d, %s %s: %v", e.Trial+1, e.Contestant, e.Setting, e.Err)
}

// Unwrap returns the cause.
func (e *FitError) Unwrap() error { return e.Err }

// Run makes all fits and returns what they came to. On a cancelled context the error is a
// *run.InterruptedError; what was saved by then can be Known to the next run.
func (p *Plan) Run(ctx context.Context) (*Report, error) {
	r := &planned{Plan: p, known: map[string][]float64{}}
	if err := r.check(); err != nil {
		return nil, err
	}
	for i := range p.Known {
		r.known[p.Known[i].Print+"/"+p.Known[i].Division] = p.Known[i].Measures
	}
	choosing, deciding := r.jobs()
	if err := r.fit(ctx, choosing); err != nil {
		return nil, err
	}
	r.choose()
	if !p.Hindsight { // what is left to fit is known only now
		deciding = r.decided()
	}
	if err := r.fit(ctx, deciding); err != nil {
		return nil, err
	}
	return r.report()
}

func (r *planned) check() error {
	if len(r.Measures) == 0 || len(r.Contestants) == 0 || len(r.Trials) == 0 {
		return fmt.Errorf("evaluate: %d measures, %d contestants and %d trials: none may be zero", len(r.Measures),
			len(r.Contestants), len(r.Trials))
	}
	for i := range r.Trials {
		if t := &r.Trials[i]; len(t.Train) == 0 || len(t.Test) == 0 {
			return fmt.Errorf("evaluate: trial %d has %d examples to train on and %d to test on", i+1,
				len(t.Train), len(t.Test))
		}
		weight := 0.0
		for k, f := range r.Trials[i].Inner {
			if len(f.Train) == 0 || len(f.Test) == 0 {
				return fmt.Errorf("evaluate: trial %d: inner fold %d has %d examples to train on and %d to test on", i+1,
					k+1, len(f.Train), len(f.Test))
			}
			weight += r.weight(&f)
		}
		if len(r.Trials[i].Inner) > 0 && !(weight > 0) {
			return fmt.Errorf("evaluate: trial %d: the examples of inner folds weigh %v in all; settings cannot be "+
				"chosen on them", i+1, weight)
		}
	}
	measure := func(m int) bool { return m >= 0 && m < len(r.Measures) }
	if !measure(r.BestBy) {
		return fmt.Errorf("evaluate: the best is judged by measure %d of %d", r.BestBy, len(r.Measures))
	}
	if r.Against != "" {
		if r.tested = slices.IndexFunc(r.Contestants,
			func(k Contestant) bool { return k.Name == r.Against }); r.tested < 0 {
			return fmt.Errorf("evaluate: no contestant %q to test the others against", r.Against)
		}
	}
	for c, k := range r.Contestants {
		if len(k.Grid) == 0 && k.As == "" {
			return fmt.Errorf("evaluate: %s has no setting", k.Name)
		}
		for _, m := range k.By {
			if !measure(m) {
				return fmt.Errorf("evaluate: %s chooses by measure %d of %d", k.Name, m, len(r.Measures))
			}
		}
		leader, source, owner := c, c, c
		if k.As != "" {
			leader = slices.IndexFunc(r.Contestants[:c], func(o Contestant) bool { return o.Name == k.As })
			if leader < 0 || len(k.Grid) > 0 && len(r.grid(leader)) != len(k.Grid) {
				return fmt.Errorf("evaluate: %s takes the choices of %q, which is no contestant before it with %d "+
					"settings", k.Name, k.As, len(k.Grid))
			}
			source = r.source[leader]
			if len(k.Grid) == 0 {
				owner = r.owner[leader]
			}
		}
		r.leader, r.source, r.owner = append(r.leader, leader), append(r.source, source), append(r.owner, owner)
		for i := range r.Trials {
			if n := len(r.grid(c)); n > 1 && len(r.Trials[i].Inner) == 0 {
				return fmt.Errorf("evaluate: %s has %d settings, and trial %d no inner folds to choose on",
					k.Name, n, i+1)
			}
		}
	}
	return nil
}

// grid returns the settings of a contestant, which may be another's.
func (r *planned) grid(c int) []Setting { return r.Contestants[r.owner[c]].Grid }

// jobs lists what is fitted before settings are chosen, and with Hindsight what is after; it
// makes room for their values.
func (r *planned) jobs() (choosing, deciding []*job) {
	r.values = make([][][][][]float64, len(r.Contestants))
	r.chosen = make([][]int, len(r.Contestants))
	for c, k := range r.Contestants {
		r.values[c], r.chosen[c] = make([][][][]float64, len(r.Trials)), make([]int, len(r.Trials))
		all := make([]int, len(k.Grid))
		for s := range all {
			all[s] = s
		}
		for t := range r.Trials {
			trial := &r.Trials[t]
			r.values[c][t] = make([][][]float64, len(trial.Inner)+1)
			for f := range r.values[c][t] {
				r.values[c][t][f] = make([][]float64, len(k.Grid))
			}
			if len(k.Grid) > 1 && r.source[c] == c {
				for f := range trial.Inner {
					choosing = append(choosing, r.split(&job{c, t, f, all, &trial.Inner[f]})...)
				}
				r.all += len(trial.Inner) * len(k.Grid)
			}
			if !r.Hindsight {
				r.all++
			} else if len(all) > 0 {
				deciding = append(deciding, r.split(&job{c, t, -1, all, &trial.Fold})...)
				r.all += len(k.Grid)
			}
		}
	}
	return choosing, deciding
}

// decided lists the fits of the settings that were chosen, each once.
func (r *planned) decided() (jobs []*job) {
	listed := map[[3]int]bool{}
	for c := range r.Contestants {
		for t := range r.Trials {
			key := [3]int{r.owner[c], t, r.chosen[c][t]}
			if !listed[key] {
				listed[key] = true
				jobs = append(jobs, &job{key[0], t, -1, []int{key[2]}, &r.Trials[t].Fold})
			}
		}
	}
	return jobs
}

// split makes jobs of one setting each, where there is no path along them.
func (r *planned) split(j *job) []*job {
	if r.Contestants[j.contestant].Path != nil {
		return []*job{j}
	}
	var out []*job
	for _, s := range j.settings {
		one := *j
		one.settings = []int{s}
		out = append(out, &one)
	}
	return out
}

// fit makes the fits of jobs, side by side, but for those that are known.
func (r *planned) fit(ctx context.Context, jobs []*job) error {
	if ctx == nil {
		ctx = context.Background()
	}
	err := run.Each(r.Workers, len(jobs), func(_, i int) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return r.one(ctx, jobs[i])
	})
	if err != nil && ctx.Err() != nil {
		return &run.InterruptedError{Name: "comparison", Err: context.Cause(ctx)}
	}
	return err
}

func (r *planned) one(ctx context.Context, j *job) error {
	k := &r.Contestants[j.contestant]
	division := j.fold.Fingerprint()
	var open []int
	for _, s := range j.settings {
		print := fingerprint(k.Grid[s].Print)
		if m := r.known[print+"/"+division]; k.Grid[s].Print != "" && len(m) == len(r.Measures) {
			r.store(j, s, m)
			continue
		}
		open = append(open, s)
	}
	done := func(s int, m []float64) error {
		if len(m) != len(r.Measures) || slices.ContainsFunc(m, math.IsNaN) {
			return fmt.Errorf("measures %v; they must be %v, and numbers", m, r.Measures)
		}
		r.store(j, s, m)
		return r.save(j, s, division, m)
	}
	fail := func(s int, err error) error {
		return &FitError{j.trial, k.Name, k.Grid[s].Name, err}
	}
	switch {
	case len(open) == 0:
	case k.Path != nil:
		if err := k.Path(ctx, *j.fold, open, done); err != nil {
			return fail(open[0], err)
		}
		for _, s := range open {
			if *r.at(j, s) == nil {
				return fail(s, fmt.Errorf("the path left it out"))
			}
		}
	default:
		for _, s := range open {
			m, err := k.Grid[s].Fit(ctx, *j.fold)
			if err == nil {
				err = done(s, m)
			}
			if err != nil {
				return fail(s, err)
			}
		}
	}
	return nil
}

func (r *planned) at(j *job, s int) *[]float64 {
	f := j.inner
	if f < 0 {
		f = len(r.Trials[j.trial].Inner)
	}
	return &r.values[j.contestant][j.trial][f][s]
}

func (r *planned) store(j *job, s int, m []float64) {
	*r.at(j, s) = m
	if r.Done != nil {
		r.Done(r.all, r.Contestants[j.contestant].Name, j.trial)
	}
}

// save keeps a new fit of known settings; infinite measures have no place in a file of JSON.
func (r *planned) save(j *job, s int, division string, m []float64) error {
	k := &r.Contestants[j.contestant]
	if r.Save == nil || k.Grid[s].Print == "" || slices.ContainsFunc(m, infinite) {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unsaved == nil {
		r.unsaved = r.Save(&Fitted{k.Name, k.Grid[s].Name, j.trial, j.inner,
			fingerprint(k.Grid[s].Print), division, m})
	}
	return r.unsaved
}

// choose takes the setting with the least measures on inner folds, for each contestant that
// chooses for itself.
func (r *planned) choose() {
	for c, k := range r.Contestants {
		for t := range r.Trials {
			if r.leader[c] != c && k.By == nil {
				r.chosen[c][t] = r.chosen[r.leader[c]][t]
				continue
			}
			var best []float64
			for s := range r.grid(c) {
				sums := r.sums(c, t, s)
				if k.By != nil {
					sums = dataset.Pick(sums, k.By)
				}
				if s == 0 || slices.Compare(sums, best) < 0 {
					r.chosen[c][t], best = s, sums
				}
			}
		}
	}
}

// sums returns the mean measures of a setting over the inner folds of a trial; zeros without any.
func (r *planned) sums(c, t, s int) []float64 {
	out := make([]float64, len(r.Measures))
	total := 0.0
	for f, fold := range r.Trials[t].Inner {
		m := r.values[r.source[c]][t][f][s]
		if m == nil {
			return out // no choice is to be made
		}
		n := r.weight(&fold)
		total += n
		for k, v := range m {
			out[k] += n * v
		}
	}
	for k := range out {
		if len(r.Trials[t].Inner) > 0 {
			out[k] /= total
		}
	}
	return out
}

// weight returns what an inner fold counts in means.
func (r *planned) weight(fold *dataset.Fold) float64 {
	switch {
	case r.EqualFolds:
		return 1
	case r.Weight == nil:
		return float64(len(fold.Test))
	}
	sum := 0.0
	for _, i := range fold.Test {
		sum += r.Weight(i)
	}
	return sum
}
