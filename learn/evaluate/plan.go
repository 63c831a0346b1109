package evaluate

import (
	"context"
	"fmt"
	"math"
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

// Folds makes a trial of each fold. inner, if not nil, divides its training part further.
func Folds(folds []dataset.Fold, inner func(trial int, train []int) ([]dataset.Fold, error)) ([]Trial, error) {
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
	Grid []Setting // at least one
	// Path, if not nil, fits several settings of the grid to one fold, each from where the
	// one before it ended: it calls done with the measures of each, in any order. Setting.Fit
	// is then not called.
	Path func(ctx context.Context, fold dataset.Fold, settings []int, done func(setting int, measures []float64) error) error
	// As names a contestant before this one whose choices this one takes: its grid must have
	// as many settings. "" chooses for itself.
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
	// Measures names what a fit returns; less is better. Settings are chosen by the first,
	// summed over inner folds by the weight of their test examples; ties go by the others in turn.
	Measures    []string
	Contestants []Contestant
	Trials      []Trial
	// Weight returns the weight of an example in sums over inner folds; nil is 1.
	Weight func(example int) float64
	// Hindsight fits every setting to every training part, and not only what was chosen:
	// Standing.Best then says what the best choice would have been.
	Hindsight bool

	Workers int // fits at the same time; 0 is GOMAXPROCS. Results do not depend on it
	// Known are fits of an earlier run on the same examples with the same measures.
	Known []Fitted
	// Save, if not nil, is called with each new fit of known settings and finite measures,
	// one call at a time. An error ends the run.
	Save func(*Fitted) error
	// Done, if not nil, is told after each fit, by several goroutines at once; all is the
	// number of fits.
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
	leader []int // by contestant: whose choices it takes; itself for most
	all    int   // fits in all
	known  map[string][]float64
	// By contestant, trial, fold (the whole training part last) and setting; nil is not fitted.
	values [][][][][]float64
	chosen [][]int // by contestant and trial

	mu sync.Mutex // of Save
}

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
		deciding = nil
		for c := range p.Contestants {
			for t := range p.Trials {
				deciding = append(deciding, &job{c, t, -1, []int{r.chosen[c][t]}, &p.Trials[t].Fold})
			}
		}
	}
	if err := r.fit(ctx, deciding); err != nil {
		return nil, err
	}
	return r.report()
}

func (r *planned) check() error {
	if len(r.Measures) == 0 || len(r.Contestants) == 0 || len(r.Trials) == 0 {
		return fmt.Errorf("evaluate: %d measures, %d contestants and %d trials: none may be zero", len(r.Measures), len(r.Contestants), len(r.Trials))
	}
	for i := range r.Trials {
		if t := &r.Trials[i]; len(t.Train) == 0 || len(t.Test) == 0 {
			return fmt.Errorf("evaluate: trial %d has %d examples to train on and %d to test on", i+1, len(t.Train), len(t.Test))
		}
		for k, f := range r.Trials[i].Inner {
			if len(f.Train) == 0 || len(f.Test) == 0 {
				return fmt.Errorf("evaluate: trial %d: inner fold %d has %d examples to train on and %d to test on", i+1, k+1, len(f.Train), len(f.Test))
			}
		}
	}
	for c, k := range r.Contestants {
		if len(k.Grid) == 0 {
			return fmt.Errorf("evaluate: %s has no setting", k.Name)
		}
		leader := c
		if k.As != "" {
			leader = slices.IndexFunc(r.Contestants[:c], func(o Contestant) bool { return o.Name == k.As })
			if leader < 0 || len(r.Contestants[leader].Grid) != len(k.Grid) {
				return fmt.Errorf("evaluate: %s takes the choices of %q, which is no contestant before it with %d settings", k.Name, k.As, len(k.Grid))
			}
			leader = r.leader[leader]
		}
		r.leader = append(r.leader, leader)
		for i := range r.Trials {
			if len(k.Grid) > 1 && len(r.Trials[i].Inner) == 0 {
				return fmt.Errorf("evaluate: %s has %d settings, and trial %d no inner folds to choose on", k.Name, len(k.Grid), i+1)
			}
		}
	}
	return nil
}

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
			if len(k.Grid) > 1 && r.leader[c] == c {
				for f := range trial.Inner {
					choosing = append(choosing, r.split(&job{c, t, f, all, &trial.Inner[f]})...)
				}
				r.all += len(trial.Inner) * len(k.Grid)
			}
			if r.Hindsight {
				deciding = append(deciding, r.split(&job{c, t, -1, all, &trial.Fold})...)
				r.all += len(k.Grid)
			} else {
				r.all++
			}
		}
	}
	return choosing, deciding
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
		return fmt.Errorf("evaluate: trial %d, %s %s: %w", j.trial+1, k.Name, k.Grid[s].Name, err)
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
	if r.Save == nil || k.Grid[s].Print == "" || slices.ContainsFunc(m, func(v float64) bool { return math.IsInf(v, 0) }) {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Save(&Fitted{k.Name, k.Grid[s].Name, j.trial, j.inner, fingerprint(k.Grid[s].Print), division, m})
}

// choose takes the setting with the least measures on inner folds, for each contestant that
// chooses for itself.
func (r *planned) choose() {
	for c := range r.Contestants {
		for t := range r.Trials {
			if r.leader[c] != c {
				r.chosen[c][t] = r.chosen[r.leader[c]][t]
				continue
			}
			var best []float64
			for s := range r.Contestants[c].Grid {
				if sums := r.sums(c, t, s); s == 0 || slices.Compare(sums, best) < 0 {
					r.chosen[c][t], best = s, sums
				}
			}
		}
	}
}

// sums weighs the measures of a setting over the inner folds of a trial.
func (r *planned) sums(c, t, s int) []float64 {
	out := make([]float64, len(r.Measures))
	total := 0.0
	for f, fold := range r.Trials[t].Inner {
		m := r.values[c][t][f][s]
		if m == nil {
			return out // no choice is to be made
		}
		n := float64(len(fold.Test))
		if r.Weight != nil {
			n = 0
			for _, i := range fold.Test {
				n += r.Weight(i)
			}
		}
		total += n
		for k, v := range m {
			out[k] += n * v
		}
	}
	for k := range out {
		out[k] /= total
	}
	return out
}
