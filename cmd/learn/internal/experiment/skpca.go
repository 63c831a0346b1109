package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/evaluate"
	"github.com/tropica-fst/tropica/learn/kernel"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/skpca"
)

// SKPCAOptions says what is compared. Tags are those of package learner.
type SKPCAOptions struct {
	Ctx     context.Context
	Ranks   []int     `flag:"ranks" default:"2,5,10,20" min:"1" help:"Numbers of features"`
	Nu      []float64 `flag:"nu" default:"Inf" min:"1" max:"Inf" help:"Bounds on the inverse weights to choose from, see learn skpca train"`
	Trials  int       `flag:"trials" min:"0" help:"Run only this many trials, the first ones; 0 is all"`
	Fresh   string    `flag:"fresh" help:"Seed of other trials, made by the same rule"`
	MaxRows int       `flag:"max_rows" min:"0" help:"Rows of each training part at most; 0 is all"`
	Whole   bool      `flag:"whole" help:"Compare with machines of all features too: of the best single kernel, and of all kernels with weights that fit the labels"`
	Workers int
	Done    func(all int, contestant string, trial int)
	// Known are fits of an earlier run of the same program; Save, if not nil, keeps new ones, one
	// call at a time.
	Known []ProjectionFit
	Save  func(*ProjectionFit) error
}

// ProjectionFit is what a candidate came to on one fold, with each of its penalties in turn.
type ProjectionFit struct {
	Key      string      `json:"key"` // data, fold, rank and candidate
	Measures [][]float64 `json:"measures"`
}

// candidate is one setting of a contestant, but for its penalty.
type candidate struct {
	family  int
	kernels []int // nil is all
	search  skpca.Search
	nu      float64
	whole   bool // all eigenfunctions: a machine without a projection
	mean    bool // kernel PCA of the mean of all kernels
}

// gammas are the penalties to choose from, from large to small.
var gammas = []float64{0.1, 1e-2, 1e-3, 1e-4, 1e-5}

// penalties are those of a candidate. Machines without a projection have three: more take long.
func (c candidate) penalties() []float64 {
	if c.whole {
		return gammas[1:4]
	}
	return gammas
}

// SKPCAReport is what one set came to, by rank.
type SKPCAReport struct {
	Name    string             `json:"name"`
	Note    string             `json:"note,omitempty"`
	Rows    int                `json:"rows"`
	Columns int                `json:"columns"`
	Ranks   []int              `json:"ranks"`
	Reports []*evaluate.Report `json:"reports"`
}

// projections is a comparison on one set.
type projections struct {
	o        *SKPCAOptions
	table    *table.Table
	data     string // fingerprint of the table
	families []family
	names    [][]string // of the kernels of each family
	mu       sync.Mutex // of what follows
	known    map[string]*decomposed
	measured map[string][][]float64 // by ProjectionFit.Key: contestants share fits
	unsaved  error                  // of Save
}

// decomposed is a family on the training part of a fold, with the features of its test part.
type decomposed struct {
	once sync.Once
	s    *skpca.Spectra
	test *skpca.Held
	err  error

	// Coordinates of both parts by the mean kernel, of the largest rank, or as many as there are.
	mean             sync.Once
	meanTrain, other *table.Table
	meanErr          error
	unit             float64 // of the penalties on such coordinates
}

// The contestants of every rank, and the machines without a projection.
const (
	unsupervisedName = "unsupervised"
	allColumnsName   = "all columns"
	meanName         = "mean kernel"
	uniformName      = "uniform"
	coupledName      = "coupled"
	skpcaName        = "skpca"
)

var skpcaMeasures = []string{"error", "log-loss"}

// Projections compares projections to the same number of features on a set, each with its own
// choice on inner folds. Unsupervised ones use any single kernel, a kernel of all columns, the mean
// of the kernels of a family, or all of them side by side with equal weights. Coupled ones are also
// run with the single kernels, the corners of the set of weights, to choose from.
func Projections(s Set, o *SKPCAOptions) (*SKPCAReport, error) {
	t, trials, err := s.Load()
	if err != nil {
		return nil, err
	}
	if o.Fresh != "" {
		trials = s.Fresh(t, o.Fresh)
	}
	if o.Trials > 0 {
		trials = trials[:min(o.Trials, len(trials))]
	}
	c := &projections{o: o, table: t, families: families(s.Name, len(t.Columns)),
		data:     fmt.Sprintf("%016x", t.Fingerprint(t.Target, t.Weight)),
		measured: map[string][][]float64{}}
	for _, f := range o.Known {
		if !slices.ContainsFunc(f.Measures, func(m []float64) bool { return len(m) != len(skpcaMeasures) }) {
			c.measured[f.Key] = f.Measures
		}
	}
	report := &SKPCAReport{Name: s.Name, Note: s.Note, Rows: t.Rows, Columns: len(t.Columns), Ranks: o.Ranks}
	plan := evaluate.Plan{Measures: skpcaMeasures, Workers: o.Workers, Against: unsupervisedName}
	for i := range trials {
		plan.Trials = append(plan.Trials, thinned(&trials[i], o.MaxRows))
	}
	for f := range c.families {
		c.families[f].options.Rank = o.Ranks
		names, err := c.kernelNames(f)
		if err != nil {
			return nil, fmt.Errorf("experiment: %s: %w", s.Name, err)
		}
		c.names = append(c.names, names)
	}
	// Trial by trial, so that eigenfunctions can be forgotten after each. All fits are known at the
	// end.
	for i := range plan.Trials {
		c.known = map[string]*decomposed{}
		for _, r := range o.Ranks {
			p := plan
			p.Trials = plan.Trials[i : i+1]
			p.Contestants = c.contestants(r)
			p.Done = func(all int, contestant string, _ int) {
				if o.Done != nil {
					o.Done(all*len(plan.Trials)*len(o.Ranks), fmt.Sprintf("rank %d, %s", r, contestant), i)
				}
			}
			if _, err := p.Run(o.Ctx); err != nil {
				return nil, err
			}
		}
	}
	c.known = map[string]*decomposed{}
	for _, r := range o.Ranks {
		plan.Contestants = c.contestants(r)
		out, err := plan.Run(o.Ctx)
		if err != nil {
			return nil, err
		}
		report.Reports = append(report.Reports, out)
	}
	return report, nil
}

// thinned is a trial with at most so many training rows, taken evenly; 0 is all.
func thinned(t *table.Trial, most int) evaluate.Trial {
	trial := evaluate.Trial{Fold: dataset.Fold{Train: t.Train, Test: t.Test}, Inner: t.InnerFolds()}
	if most == 0 || len(trial.Train) <= most {
		return trial
	}
	keep := map[int]bool{}
	var train []int
	for k := range most {
		train = append(train, trial.Train[k*len(trial.Train)/most])
		keep[train[k]] = true
	}
	trial.Train = train
	for j, f := range trial.Inner {
		trial.Inner[j] = dataset.Fold{Train: kept(f.Train, keep), Test: kept(f.Test, keep)}
	}
	return trial
}

func kept(rows []int, keep map[int]bool) []int {
	var out []int
	for _, i := range rows {
		if keep[i] {
			out = append(out, i)
		}
	}
	return out
}

// kernelNames asks a small part of the table for the kernels of a family.
func (c *projections) kernelNames(f int) ([]string, error) {
	rows := make([]int, min(c.table.Rows, 300))
	for i := range rows {
		rows[i] = i * c.table.Rows / len(rows)
	}
	o := c.families[f].options
	o.Rank = []int{1}
	s, err := skpca.Decompose(c.table.Subset(rows), &o, &run.Control{Ctx: c.o.Ctx, Workers: 1})
	if err != nil {
		return nil, err
	}
	return s.Kernels(), nil
}

// contestants are those of a rank.
func (c *projections) contestants(r int) []evaluate.Contestant {
	type named struct {
		name string
		grid []candidate
	}
	single, coupled := c.unsupervised(len(c.families)), c.coupled()
	list := []named{{unsupervisedName, single}, {allColumnsName, c.unsupervised(2)},
		{meanName, c.each(candidate{search: skpca.TwoStage, nu: math.Inf(1), mean: true})},
		{uniformName, c.each(candidate{search: skpca.TwoStage, nu: math.Inf(1)})},
		{coupledName, coupled}, {skpcaName, slices.Concat(coupled, single)}}
	if c.o.Whole {
		single = slices.Clone(single)
		for i := range single {
			single[i].whole = true
		}
		list = append(list, named{"one kernel, whole", single}, named{"all kernels, whole",
			c.each(candidate{search: skpca.Local, nu: math.Inf(1), whole: true})})
	}
	var out []evaluate.Contestant
	for _, k := range list {
		out = append(out, c.contestant(k.name, r, k.grid))
	}
	return out
}

// each is a candidate with the kernels of every family.
func (c *projections) each(k candidate) []candidate {
	var out []candidate
	for k.family = range c.families {
		out = append(out, k)
	}
	return out
}

// unsupervised are the projections of every single kernel of the first families.
func (c *projections) unsupervised(families int) []candidate {
	var out []candidate
	for f := range families {
		for k := range c.names[f] {
			out = append(out, candidate{family: f, kernels: []int{k}, search: skpca.TwoStage, nu: math.Inf(1)})
		}
	}
	return out
}

// coupled are the weights that fit the labels, for all kernels of a family.
func (c *projections) coupled() []candidate {
	var out []candidate
	for f := range c.families {
		for _, nu := range c.o.Nu {
			out = append(out, candidate{family: f, search: skpca.Local, nu: nu})
		}
	}
	return out
}

func (c *projections) contestant(name string, r int, grid []candidate) evaluate.Contestant {
	e := evaluate.Contestant{Name: name}
	var of []candidate // of each setting
	var first []int    // setting with the candidate's first penalty
	for _, k := range grid {
		from := len(of)
		for _, g := range k.penalties() {
			e.Grid = append(e.Grid, evaluate.Setting{Name: fmt.Sprintf("%s gamma=%g", c.text(k), g)})
			of, first = append(of, k), append(first, from)
		}
	}
	e.Path = func(ctx context.Context, fold dataset.Fold, settings []int,
		done func(int, []float64) error) error {
		for at := 0; at < len(settings); {
			from, last := first[settings[at]], at
			for last+1 < len(settings) && first[settings[last+1]] == from {
				last++
			}
			measures, err := c.path(ctx, of[from], settings[last]-from+1, r, fold)
			if err != nil {
				return err
			}
			for ; at <= last; at++ {
				if err := done(settings[at], measures[settings[at]-from]); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return e
}

// text names a candidate in reports and checkpoints.
func (c *projections) text(k candidate) string {
	kernels := "all"
	switch {
	case k.kernels != nil:
		kernels = c.names[k.family][k.kernels[0]]
	case k.mean:
		kernels = "mean"
	}
	whole := ""
	if k.whole {
		whole = ", whole"
	}
	return fmt.Sprintf("%s, %s, %s nu=%g%s", c.families[k.family].name, kernels, k.search, k.nu, whole)
}

// path fits a candidate with the first n of its penalties, and measures it on the test part.
func (c *projections) path(ctx context.Context, k candidate, n, r int, fold dataset.Fold) ([][]float64,
	error) {
	if k.whole {
		r = 0 // the same at every rank
	}
	key := fmt.Sprintf("%s %s rank=%d %s", c.data, fold.Fingerprint(), r, c.text(k))
	c.mu.Lock()
	known := c.measured[key]
	c.mu.Unlock()
	if len(known) >= n {
		return known[:n], nil
	}
	out, err := c.measure(ctx, k, n, r, fold)
	if isRank(err) { // a kernel of fewer features, such as a linear one of few columns
		for err = nil; len(out) < n; {
			out = append(out, []float64{100, math.MaxFloat64 / 1e6})
		}
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.measured[key]) < len(out) {
		c.measured[key] = out
		if c.o.Save != nil && c.unsaved == nil {
			c.unsaved = c.o.Save(&ProjectionFit{key, out})
		}
	}
	return out, c.unsaved
}

// measure is path without what is known already.
func (c *projections) measure(ctx context.Context, k candidate, n, r int,
	fold dataset.Fold) ([][]float64, error) {
	d := c.spectra(ctx, k.family, fold, k.whole)
	if k.mean {
		d = c.ofMean(d, k.family, r, fold)
	}
	if d.err != nil {
		return nil, d.err
	}
	if k.whole {
		r = d.s.Features(k.kernels)
	}
	o := skpca.Options{Rank: []int{r}, Nu: []float64{k.nu}, Search: k.search,
		Gamma: slices.Clone(k.penalties()[:n])}
	if k.mean {
		for i := range o.Gamma {
			o.Gamma[i] *= d.unit
		}
	}
	var out [][]float64
	err := d.s.Judge(&o, k.kernels, d.test, func(wrong, loss float64) error {
		out = append(out, []float64{100 * wrong, loss})
		return nil
	})
	return out, err
}

// spectra returns the eigenfunctions of a family on the training part of a fold, which are kept:
// all contestants and ranks share them.
func (c *projections) spectra(ctx context.Context, f int, fold dataset.Fold, whole bool) *decomposed {
	key := fmt.Sprint(f, whole, fold.Fingerprint())
	c.mu.Lock()
	d := c.known[key]
	if d == nil {
		d = &decomposed{}
		c.known[key] = d
	}
	c.mu.Unlock()
	d.once.Do(func() {
		o := c.families[f].options
		if whole {
			o.Rank = []int{len(fold.Train)}
		}
		d.s, d.err = skpca.Decompose(c.table.Subset(fold.Train), &o, &run.Control{Ctx: ctx, Workers: 1})
		if d.err == nil {
			d.test, d.err = d.s.Hold(c.table.Subset(fold.Test))
		}
	})
	return d
}

// ofMean is kernel PCA of the mean of a family's kernels. Its coordinates become a table, on which
// the linear kernel has the same features.
func (c *projections) ofMean(d *decomposed, f, r int, fold dataset.Fold) *decomposed {
	if d.err != nil {
		return d
	}
	d.mean.Do(func() {
		d.meanTrain, d.other, d.meanErr = c.meanTables(d.s, c.families[f].options.Centre, fold)
	})
	out := &decomposed{err: d.meanErr}
	if out.err == nil && len(d.meanTrain.Columns) < r {
		out.err = fmt.Errorf("experiment: the mean kernel: %w", kernel.ErrRank)
	}
	if out.err != nil {
		return out
	}
	first := func(t *table.Table) *table.Table {
		return &table.Table{Name: t.Name, Rows: t.Rows, Columns: t.Columns[:r], TargetName: t.TargetName,
			Classes: t.Classes, Target: t.Target, Weight: t.Weight}
	}
	// The linear kernel is scaled to k(x,x) ≤ 1, the mean kernel is so already: the penalty makes
	// up for it.
	largest := 0.0
	for i := range d.meanTrain.Rows {
		square := 0.0
		for _, column := range d.meanTrain.Columns[:r] {
			square += float64(column.Values[i]) * float64(column.Values[i])
		}
		largest = max(largest, square)
	}
	out.unit = 1 / largest
	o := &skpca.Options{Kernels: []string{"linear"}, Raw: true, Rank: []int{r}}
	out.s, out.err = skpca.Decompose(first(d.meanTrain), o, &run.Control{Ctx: c.o.Ctx, Workers: 1})
	if out.err == nil {
		out.test, out.err = out.s.Hold(first(d.other))
	}
	return out
}

// meanTables are the coordinates of both parts of a fold by the mean kernel of a family.
func (c *projections) meanTables(s *skpca.Spectra, centre bool, fold dataset.Fold) (train, test *table.Table,
	err error) {
	ko := &kernel.Options{Ctx: c.o.Ctx, Workers: 1}
	train, test = c.table.Subset(fold.Train), c.table.Subset(fold.Test)
	x, err := s.Rows(train)
	if err != nil {
		return nil, nil, err
	}
	y, err := s.Rows(test)
	if err != nil {
		return nil, nil, err
	}
	p, err := kernel.Project[*kernel.Matrix](s.Mean(), x, slices.Max(c.o.Ranks), centre, ko)
	if err != nil && !isRank(err) {
		return nil, nil, err
	}
	coordinates := func(x *kernel.Matrix, t *table.Table) error {
		z, err := p.Transform(x, ko)
		if err != nil {
			return err
		}
		r := p.Rank()
		t.Columns = nil
		for j := range r {
			column := table.Column{Name: fmt.Sprint(j + 1), Values: make([]float32, t.Rows)}
			for i := range column.Values {
				column.Values[i] = float32(z[i*r+j])
			}
			t.Columns = append(t.Columns, column)
		}
		return nil
	}
	if err := coordinates(x, train); err != nil {
		return nil, nil, err
	}
	return train, test, coordinates(y, test)
}

// isRank reports whether a kernel has fewer features than were asked for.
func isRank(err error) bool { return errors.Is(err, kernel.ErrRank) }
