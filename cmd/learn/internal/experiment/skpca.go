package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/evaluate"
	"github.com/tropica-fst/tropica/learn/kernel"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/skpca"
)

// SKPCASets returns the data sets of the comparison of projections in a data folder, those named or
// all. Five are those of table 3.1. nuisance-S are 500 rows drawn: two columns decide the class,
// four say nothing and have S times their standard deviation. mnist49-patch are 3000 images of 4
// and 9 from MNIST's training file, each with a square of 6 by 6 pixels at full brightness at a
// random position.
func SKPCASets(data fs.FS, names ...string) ([]Set, error) {
	sets, err := Table31Sets(data, "sonar", "cancer", "diabetes", "semeion-even", "ocr49")
	if err != nil {
		return nil, err
	}
	drawn := func(name, note string, lacks []string, load func(seed string) (*table.Table, error)) Set {
		return Set{Name: name, Note: note, Lacks: lacks,
			Load: func() (*table.Table, []table.Trial, error) {
				t, err := load("")
				if err != nil {
					return nil, nil, err
				}
				return t, table.MakeTrials(name, t.Labels(), 1), nil
			},
			Fresh: func(t *table.Table, seed string) []table.Trial { return table.MakeTrials(name+"/"+seed, t.Labels(), 1) },
		}
	}
	for _, scale := range []float64{1, 2, 5, 10} {
		sets = append(sets, drawn(fmt.Sprintf("nuisance-%g", scale), "drawn", nil, func(string) (*table.Table, error) { return nuisance(scale), nil }))
	}
	d := folder{data}
	sets = append(sets, drawn("mnist49-patch", "MNIST with patches", d.lacks(mnistFiles("mnist")), func(string) (*table.Table, error) { return d.patches(3000) }))
	return choose(sets, func(s Set) string { return s.Name }, names)
}

// nuisance draws the rows of nuisance-S.
func nuisance(scale float64) *table.Table {
	const n = 500
	rng := rand.New(rand.NewPCG(math.Float64bits(scale), 11))
	t := &table.Table{Name: fmt.Sprintf("nuisance-%g", scale), Rows: n, TargetName: "class", Classes: []string{"-1", "+1"}, Target: make([]float64, n)}
	for j := range 6 {
		t.Columns = append(t.Columns, table.Column{Name: fmt.Sprintf("x%d", j+1), Values: make([]float32, n)})
	}
	for i := range n {
		for j := range t.Columns {
			v := rng.NormFloat64()
			if j > 1 {
				v *= scale
			}
			t.Columns[j].Values[i] = float32(v)
		}
		a, b := float64(t.Columns[0].Values[i]), float64(t.Columns[1].Values[i])
		if a+b*b-1+0.2*rng.NormFloat64() > 0 {
			t.Target[i] = 1
		}
	}
	return t
}

// patches returns the first images of 4 and 9 with a patch each, as numbers from 0 to 1.
func (d folder) patches(most int) (*table.Table, error) {
	pixels, h, w, label, train, err := d.digits("mnist")
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(4, 9))
	var images [][]byte
	var target []float64
	for i := 0; i < train && len(images) < most; i++ {
		if label[i] != 4 && label[i] != 9 {
			continue
		}
		image := append([]byte(nil), pixels[i]...)
		y, x := rng.IntN(h-5), rng.IntN(w-5)
		for r := range 6 {
			for c := range 6 {
				image[(y+r)*w+x+c] = 255
			}
		}
		images, target = append(images, image), append(target, float64((9-int(label[i]))/5))
	}
	t := pixelTable("mnist49-patch", images, target, []string{"9", "4"})
	for j := range t.Columns {
		for i := range t.Columns[j].Values {
			t.Columns[j].Values[i] /= 255
		}
	}
	return t, nil
}

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
}

// family is a list of base kernels with what their eigenfunctions depend on.
type family struct {
	name    string
	options skpca.Options
}

// families returns the kernels for a set: those on all columns, uncentred and centred, and
// those of groups of columns.
func families(name string, columns int) []family {
	global := []string{"linear", "gaussian:0.25", "gaussian:0.5", "gaussian:1", "gaussian:2", "polynomial:2:1", "polynomial:3:1"}
	raw := strings.HasPrefix(name, "nuisance") || name == "mnist49-patch"
	out := []family{{"all columns", skpca.Options{Kernels: global, Raw: raw}}, {"all columns, centred", skpca.Options{Kernels: global, Raw: raw, Centre: true}}}
	groups := skpca.Options{Kernels: []string{"linear", "gaussian:0.5", "gaussian:1"}, Raw: raw}
	switch {
	case name == "mnist49-patch":
		groups.Kernels, groups.Groups = []string{"gaussian:1"}, squares(28, 4)
	case name == "ocr49":
		groups.Kernels, groups.Groups = []string{"gaussian:1"}, squares(14, 2)
	case name == "semeion-even":
		groups.Kernels, groups.Groups = []string{"gaussian:1"}, squares(16, 2)
	case columns <= 12:
		groups.Kernels, groups.Groups = []string{"linear", "gaussian:1"}, []string{"each"}
	default: // runs of neighbours
		for j := 0; j < columns; j += (columns + 5) / 6 {
			groups.Groups = append(groups.Groups, fmt.Sprintf("%d-%d", j+1, min(columns, j+(columns+5)/6)))
		}
		groups.Kernels = []string{"gaussian:0.5", "gaussian:1"}
	}
	out = append(out, family{"groups of columns", groups})
	if name == "mnist49-patch" { // small ones, of which each can give one feature
		blocks := skpca.Options{Kernels: []string{"linear"}, Groups: squares(28, 7), Raw: true}
		out = append(out, family{"blocks of pixels", blocks})
		blocks.Centre = true
		out = append(out, family{"blocks of pixels, centred", blocks})
	}
	return out
}

// squares lists the pixels of parts by parts squares of an image of a side.
func squares(side, parts int) []string {
	size := side / parts
	var out []string
	for r := range parts {
		for c := range parts {
			var rows []string
			for y := range size {
				from := (r*size+y)*side + c*size
				rows = append(rows, fmt.Sprintf("%d-%d", from+1, from+size))
			}
			out = append(out, strings.Join(rows, "+"))
		}
	}
	return out
}

// candidate is one setting of a contestant.
type candidate struct {
	family  int
	kernels []int // nil is all
	search  skpca.Search
	nu      float64
	gamma   float64
	whole   bool // all eigenfunctions: a machine without a projection
}

func (c candidate) same(d candidate) bool {
	return c.family == d.family && c.whole == d.whole && c.search == d.search && c.nu == d.nu && fmt.Sprint(c.kernels) == fmt.Sprint(d.kernels)
}

// gammas are the penalties to choose from, from large to small.
var gammas = []float64{0.1, 1e-2, 1e-3, 1e-4, 1e-5}

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
	families []family
	names    [][]string // of the kernels of each family
	mu       sync.Mutex
	known    map[string]*decomposed
	measured map[string][][]float64 // by settings, rank and fold: contestants share fits
}

type decomposed struct {
	once sync.Once
	s    *skpca.Spectra
	err  error
}

// Projections compares projections to the same number of features on a set, each with its own
// choice on inner folds. They are unsupervised ones by any kernel and by those of all columns,
// uniform weights, and coupled ones. Coupled ones are also run with the single kernels, the corners
// of the set of weights, to choose from.
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
	c := &projections{o: o, table: t, families: families(s.Name, len(t.Columns))}
	report := &SKPCAReport{Name: s.Name, Note: s.Note, Rows: t.Rows, Columns: len(t.Columns), Ranks: o.Ranks}
	plan := evaluate.Plan{Measures: []string{"error", "log-loss"}, Workers: o.Workers, Against: "unsupervised"}
	for i := range trials {
		trial := evaluate.Trial{Fold: dataset.Fold{Train: trials[i].Train, Test: trials[i].Test}, Inner: trials[i].InnerFolds()}
		if o.MaxRows > 0 && len(trial.Train) > o.MaxRows { // thinned out evenly
			keep := map[int]bool{}
			var train []int
			for k := range o.MaxRows {
				train = append(train, trial.Train[k*len(trial.Train)/o.MaxRows])
				keep[train[k]] = true
			}
			trial.Train = train
			for j, f := range trial.Inner {
				trial.Inner[j] = dataset.Fold{Train: kept(f.Train, keep), Test: kept(f.Test, keep)}
			}
		}
		plan.Trials = append(plan.Trials, trial)
	}
	for f := range c.families {
		c.families[f].options.Rank = o.Ranks
		names, err := c.kernelNames(f)
		if err != nil {
			return nil, fmt.Errorf("experiment: %s: %w", s.Name, err)
		}
		c.names = append(c.names, names)
	}
	c.known, c.measured = map[string]*decomposed{}, map[string][][]float64{}
	for _, r := range o.Ranks {
		p := plan
		for _, k := range []struct {
			name string
			grid []candidate
		}{{"unsupervised", c.unsupervised(len(c.families))}, {"all columns", c.unsupervised(2)}, {"uniform", c.uniform()}, {"coupled", c.coupled()}, {"skpca", append(c.coupled(), c.unsupervised(len(c.families))...)}, {"one kernel, whole", c.whole(true)}, {"all kernels, whole", c.whole(false)}} {
			if len(k.grid) > 0 && k.grid[0].whole && !o.Whole {
				continue
			}
			p.Contestants = append(p.Contestants, c.contestant(k.name, r, k.grid))
		}
		p.Done = func(all int, contestant string, trial int) {
			if o.Done != nil {
				o.Done(all, fmt.Sprintf("rank %d, %s", r, contestant), trial)
			}
		}
		out, err := p.Run(o.Ctx)
		if err != nil {
			return nil, err
		}
		report.Reports = append(report.Reports, out)
	}
	return report, nil
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

// unsupervised are the projections of every single kernel of the first families.
func (c *projections) unsupervised(families int) []candidate {
	var out []candidate
	for f := range families {
		for k := range c.names[f] {
			for _, g := range gammas {
				out = append(out, candidate{family: f, kernels: []int{k}, search: skpca.TwoStage, nu: math.Inf(1), gamma: g})
			}
		}
	}
	return out
}

// uniform are the projections of all kernels of a family with equal weights.
func (c *projections) uniform() []candidate {
	var out []candidate
	for f := range c.families {
		for _, g := range gammas {
			out = append(out, candidate{family: f, search: skpca.TwoStage, nu: math.Inf(1), gamma: g})
		}
	}
	return out
}

// whole are machines without a projection, of each single kernel, or of all kernels of a family with the
// weights that fit the labels (multiple kernel learning with a bound on the sum of weights). They choose
// among three penalties: more take long.
func (c *projections) whole(single bool) []candidate {
	var out []candidate
	if !single {
		for f := range c.families {
			for _, g := range gammas[1:4] {
				out = append(out, candidate{family: f, search: skpca.Local, nu: math.Inf(1), gamma: g, whole: true})
			}
		}
		return out
	}
	for _, k := range c.unsupervised(len(c.families)) {
		if k.whole = true; slices.Contains(gammas[1:4], k.gamma) {
			out = append(out, k)
		}
	}
	return out
}

// coupled are the weights that fit the labels, for all kernels of a family.
func (c *projections) coupled() []candidate {
	var out []candidate
	for f := range c.families {
		for _, nu := range c.o.Nu {
			for _, g := range gammas {
				out = append(out, candidate{family: f, search: skpca.Local, nu: nu, gamma: g})
			}
		}
	}
	return out
}

func (c *projections) contestant(name string, r int, grid []candidate) evaluate.Contestant {
	e := evaluate.Contestant{Name: name}
	for _, k := range grid {
		kernels := "all"
		if k.kernels != nil {
			kernels = c.names[k.family][k.kernels[0]]
		}
		e.Grid = append(e.Grid, evaluate.Setting{Name: fmt.Sprintf("%s, %s, %s nu=%g gamma=%g", c.families[k.family].name, kernels, k.search, k.nu, k.gamma)})
	}
	e.Path = func(ctx context.Context, fold dataset.Fold, settings []int, done func(int, []float64) error) error {
		var test *table.Table
		for at := 0; at < len(settings); {
			first := grid[settings[at]]
			n := 1
			for at+n < len(settings) && grid[settings[at+n]].same(first) && grid[settings[at+n]].gamma < grid[settings[at+n-1]].gamma {
				n++
			}
			group := settings[at : at+n]
			at += n
			if test == nil {
				test = c.table.Subset(fold.Test)
			}
			measures, err := c.path(ctx, first, n, r, fold, test)
			if err != nil {
				return err
			}
			for i, m := range measures {
				if err := done(group[i], m); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return e
}

// path fits a candidate and those after it that differ in gamma alone, n in all, and measures them
// on the test part.
func (c *projections) path(ctx context.Context, first candidate, n, r int, fold dataset.Fold, test *table.Table) ([][]float64, error) {
	if first.whole {
		r = 0 // the same at every rank
	}
	key := fmt.Sprint(first, n, r, fold.Fingerprint())
	c.mu.Lock()
	known := c.measured[key]
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	s, err := c.spectra(ctx, first.family, fold, first.whole)
	if err != nil {
		return nil, err
	}
	if first.whole {
		r = s.Features(first.kernels)
	}
	o := skpca.Options{Rank: []int{r}, Nu: []float64{first.nu}, Search: first.search, Gamma: gammas[slices.Index(gammas, first.gamma):][:n]}
	var out [][]float64
	err = s.Path(&o, first.kernels, func(m *skpca.Model) error {
		p, err := m.Predict(ctx, test, 1)
		if err != nil {
			return err
		}
		wrong := 0.0
		for i, y := range test.Target {
			if p.Class(i) != int(y) {
				wrong++
			}
		}
		out = append(out, []float64{100 * wrong / float64(test.Rows), metrics.LogLoss(p.Probability, test.Target, nil, 2)})
		return nil
	})
	if isRank(err) { // a kernel of fewer features, such as a linear one of few columns
		for err = nil; len(out) < n; {
			out = append(out, []float64{100, math.MaxFloat64 / 1e6})
		}
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.measured[key] = out
	c.mu.Unlock()
	return out, nil
}

// spectra returns the eigenfunctions of a family on the training part of a fold, which are kept:
// all contestants and ranks share them.
func (c *projections) spectra(ctx context.Context, f int, fold dataset.Fold, whole bool) (*skpca.Spectra, error) {
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
	})
	return d.s, d.err
}

// WriteSKPCA writes the tables of a report: test errors in per cent, and a comparison of the
// coupled projection with the best unsupervised one, paired over trials.
func WriteSKPCA(w io.Writer, r *SKPCAReport) error {
	note := ""
	if r.Note != "" {
		note = " (" + r.Note + ")"
	}
	fmt.Fprintf(w, "%s%s: %d rows, %d columns, %d trials\n\n", r.Name, note, r.Rows, r.Columns, r.Reports[0].Trials)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "rank\tany kernel\tof all columns\tuniform weights\tcoupled\tless any\tp\tcorrected p\tskpca\tless any\tp\tcorrected p\tless all columns\tp")
	for i, rank := range r.Ranks {
		p := r.Reports[i]
		fmt.Fprint(t, rank)
		for k, s := range p.Standings {
			if k < 5 {
				fmt.Fprintf(t, "\t%s", metrics.FormatMeanSD(s.Values[0], 1, 2))
			}
			switch {
			case k < 3 || k > 4:
			case s.Plain != nil:
				fmt.Fprintf(t, "\t%+.2f\t%s\t%s", s.Plain[0].Mean, s.Plain[0].P.Text("%.3f"), s.Corrected[0].P.Text("%.3f"))
			default:
				fmt.Fprint(t, "\t-\t-\t-")
			}
		}
		if d, err := metrics.PairedT(p.Standings[4].Values[0], p.Standings[1].Values[0]); err == nil {
			fmt.Fprintf(t, "\t%+.2f\t%s", d.Mean, d.P.Text("%.3f"))
		} else {
			fmt.Fprint(t, "\t-\t-")
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i, rank := range r.Ranks {
		chosen := map[string]int{}
		for _, name := range r.Reports[i].Standings[4].Chosen {
			f, _, _ := strings.Cut(name, " gamma")
			chosen[f]++
		}
		var parts []string
		for _, name := range sortedKeys(chosen) {
			parts = append(parts, fmt.Sprintf("%s (%d)", name, chosen[name]))
		}
		fmt.Fprintf(w, "rank %d chose %s\n", rank, strings.Join(parts, "; "))
		for _, s := range r.Reports[i].Standings[5:] { // machines are of no rank, but paired with it
			if i == 0 {
				fmt.Fprintf(w, "%s: %s\n", s.Name, metrics.FormatMeanSD(s.Values[0], 1, 2))
			}
		}
	}
	return nil
}

func sortedKeys(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }

// isRank reports whether a kernel has fewer features than were asked for.
func isRank(err error) bool { return errors.Is(err, kernel.ErrRank) }
