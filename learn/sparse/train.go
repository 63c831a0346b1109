package sparse

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/kernel"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/linear"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// Options adjusts Train; zero fields are the defaults.
type Options struct {
	Bound    string    `flag:"bound" default:"auto" values:"auto,tube,margin,hinge" help:"Bound of the fit: every error of a number (tube), every margin of a class, or the total hinge loss of a pair of classes; auto is tube for numbers, hinge for classes"`
	Eps      float64   `flag:"eps" min:"0" help:"The bound: of squared errors in units of the target's variance, of what margins lack of 1, of the total hinge loss. 0 is 0.05 and 0.1, which noisy rows may exceed at a price by their leave-one-out errors; of the total, 2, 5 rows in 100 or what a ridge regression has, whichever is most"`
	Sparsity float64   `flag:"sparsity" default:"0.3" min:"0" max:"0.99" help:"Where a function without a price of its support is below this share of its peak, it is to be zero: sets gamma"`
	Gamma    float64   `flag:"gamma" min:"0" help:"Price of the support in the units of the integral, in place of --sparsity"`
	Kernels  int       `flag:"kernels" min:"0" help:"Most kernels of the function, or of each pair of classes; 0 is no limit"`
	Peaks    string    `flag:"peaks" default:"joint" values:"joint,refined,fixed,dense" help:"Kernels of the model: peaks moved together with their coefficients, peaks moved one by one, peaks where they were found, or all of the integral"`
	Widths   []float64 `flag:"widths" above:"0" help:"Least and largest width, in standard deviations of the columns; one number is one width. By default 0.2 and 1.5 of the median distance"`
	Centres  int       `flag:"centres" default:"100" min:"1" help:"Candidate centres of each class, or of all numbers: that many means (k-means) of the rows"`
	L2       float64   `flag:"l2" default:"0.0001" min:"0" help:"Weight of the squared coefficients in the refit: half of them beside the mean logistic loss, or all, in units of the kernels' mean square, beside the squared errors"`

	Cells      string    `flag:"cells" default:"auto" values:"auto,grid,candidates,sample,draws" topic:"the integral" help:"Where the integral is taken: on a grid, for at most 3 columns; at candidate centres; on a fixed sample; or on fresh draws at each step. auto is grid for one column, else candidates"`
	PerAxis    int       `flag:"per_axis" default:"100" min:"1" max:"100000" topic:"the integral" help:"Cells of a grid along each column"`
	PerCentre  int       `flag:"per_centre" default:"8" min:"1" max:"10000" topic:"the integral" help:"Widths of each centre"`
	Sample     int       `flag:"sample" default:"2000" min:"1" topic:"the integral" help:"Cells of a fixed sample, or of each draw"`
	Normalise  bool      `flag:"normalise" topic:"the integral" help:"Scale the measure of the integral to 1; gamma then means another price"`
	Family     string    `flag:"family" default:"gaussian" values:"gaussian,cauchy" topic:"the integral" help:"Family of kernels"`
	Raw        bool      `flag:"raw" topic:"the integral" help:"Take columns as they are; by default they are brought to mean 0 and variance 1"`
	Method     string    `flag:"method" default:"interior" values:"interior,proximal,paper" topic:"the solver" help:"Solver of the dual: to a certified gap, by proximal steps, or by Algorithm 1 of the dissertation, both as many as --iterations"`
	Step       float64   `flag:"step" min:"0" topic:"the solver" help:"Length of their steps; 0 is by the norm of the kernels"`
	StepMu     float64   `flag:"step_mu" min:"0" topic:"the solver" help:"Length of the steps of mu, of the method paper; 0 is as --step"`
	Keep       bool      `flag:"keep" topic:"the solver" help:"Keep all peaks; by default kernels go while the training rows are fitted no worse"`
	NoConstant bool      `flag:"no_constant" topic:"the solver" help:"Fit kernels without a constant beside them"`
	Path       []float64 `flag:"path" min:"0" topic:"the solver" help:"Values of gamma to report beside, each solved from the one before"`
	Seed       uint64    `flag:"seed" default:"1" topic:"the solver" help:"Seed of the means and the draws"`
}

// Train fits a sparse function of the columns of t to the numbers of its target, or one to every
// pair of its classes. The result says how the last of the runs ended.
//
// Errors: unusable options, targets or columns; equal rows that no function within the bound can
// separate, by their positions; *optim.InfeasibleError; and those of the run. See Solve and
// Discretize for the cost of each function.
func Train(t *table.Table, opts *Options, c *run.Control) (*Model, *optim.Result, error) {
	tr, err := newTraining(t, opts, c)
	if err != nil {
		return nil, nil, err
	}
	k, err := tr.run.Taken()
	if err != nil {
		return nil, nil, fmt.Errorf("sparse: %w", err)
	}
	if k != nil {
		if err := tr.restore(k); err != nil {
			return nil, nil, err
		}
	}
	reason, err := tr.run.Loop(tr.step, tr.checkpoint)
	if err != nil {
		if !strings.HasPrefix(err.Error(), "sparse: ") {
			err = fmt.Errorf("sparse: %w", err)
		}
		return nil, nil, err
	}
	tr.result.Iterations, tr.result.Evaluations = tr.run.Steps(), tr.run.Evaluations
	tr.result.Reason = reason
	if reason == done {
		tr.result.Reason = run.GapSmall
		if tr.loose {
			tr.result.Reason = run.IterationLimit
		}
	}
	return tr.m, &tr.result, nil
}

// done ends a run whose functions are all there.
const done run.Reason = "all functions fitted"

// training is the state of Train: functions one after the other, each in stages.
type training struct {
	o       Options
	run     *run.Run
	m       *Model
	bound   optim.FitBound
	x       []float64 // all rows
	y       []float64 // numbers in units of their deviation, or classes
	weight  []float64
	rows    []int // of the table
	at      func(row int) string
	pairs   [][2]int
	result  optim.Result
	loose   bool // some run ended before it had arrived
	workers int
	stop    run.Stop          // of a solution
	means   map[int][]float64 // candidate centres by class

	// The function in work.
	stage   int // 0: without a price; then the path; then the price asked for
	peak    float64
	lambda  []float64
	pathRow [][]float64
	allowed allowed
}

func newTraining(t *table.Table, opts *Options, c *run.Control) (*training, error) {
	tr := &training{means: map[int][]float64{}}
	if err := learner.Complete(&tr.o, opts); err != nil {
		return nil, fmt.Errorf("sparse: %w", err)
	}
	o := &tr.o
	if len(o.Widths) > 2 {
		return nil, fmt.Errorf("sparse: widths: %d numbers; give the least and the largest", len(o.Widths))
	}
	var loss score.Loss = score.Squared{}
	if t != nil && t.Classes != nil {
		loss = score.Logistic{}
		if len(t.Classes) != 2 {
			loss = score.SoftMax{Classes: max(2, len(t.Classes))}
		}
	}
	switch classes := t != nil && t.Classes != nil; {
	case o.Bound == "auto" && classes:
		tr.bound = optim.HingeBound
	case o.Bound == "auto":
		tr.bound = optim.TubeBound
	case classes == (o.Bound == "tube"):
		return nil, fmt.Errorf("sparse: bound: %s does not suit the target %q; numbers have tubes, classes "+
			"margins and hinges", o.Bound, t.TargetName)
	default:
		tr.bound = optim.FitBound(o.Bound)
	}
	d, err := boost.NewData(t, loss) // rows of weight 0 are left out
	if err != nil {
		return nil, err
	}
	for i := range t.Rows {
		if score.Weight(t.Weight, i) > 0 {
			tr.rows = append(tr.rows, i)
		}
	}
	control := run.Control{}
	if c != nil {
		control = *c
	}
	if control.Resume != nil || control.Checkpoint != nil {
		control.Problem = fmt.Sprintf("sparse data=%016x %s", d.X.Fingerprint(d.Y, d.W), learner.Settings(o))
	}
	if n := t.Missing(); n > 0 {
		control.Warning(fmt.Sprintf("%d cells are missing, and count as the mean of their column", n))
	}
	control.CheckpointEvery = 1 // a step is a whole solution
	tr.stop = run.Stop{Iterations: control.Stop.Iterations, Relative: control.Stop.Relative}
	stop := control.Stop
	control.Stop = run.Stop{Time: stop.Time}
	tr.run = run.Begin("sparse", &control, math.MaxInt)
	tr.workers, tr.at = tr.run.Workers, t.At

	n := d.Rows()
	w := make([]float64, n)
	total := 0.0
	for i := range w {
		w[i] = score.Weight(d.W, i)
		total += w[i]
	}
	for i := range w {
		w[i] /= total
	}
	m := &Model{form: boost.SchemaOf(d.X), settings: learner.Settings(o), rows: n, scale: 1}
	tr.m = m
	if m.features = linear.Features(d.X, w, tr.workers); len(m.features) == 0 {
		return nil, fmt.Errorf("sparse: %s: no column tells two rows apart", d.X.Title())
	}
	if o.Raw {
		for j := range m.features {
			m.features[j].Mean, m.features[j].Scale = 0, 1
		}
	}
	if m.family, err = ParseFamily(o.Family); err != nil {
		return nil, err
	}
	if bytes := 8 * int64(n) * int64(len(m.features)); bytes > maxPoints {
		return nil, fmt.Errorf("sparse: %s: %d rows of %d features take %d MB, beyond %d MB; drop columns "+
			"or take part of the rows", d.X.Title(), n, len(m.features), bytes>>20, maxPoints>>20)
	}
	tr.x = m.points(d.X, tr.workers)
	tr.y = slices.Clone(d.Y)
	if d.W != nil {
		tr.weight = slices.Clone(d.W)
		if tr.bound != optim.HingeBound && slices.Max(d.W) > slices.Min(d.W) {
			control.Warning("weights other than 0 count alike: the bound holds for every row; --bound hinge " +
				"weighs rows")
		}
	}
	if err := tr.targets(t, w); err != nil {
		return nil, err
	}
	m.lo, m.hi, err = tr.widths()
	return tr, err
}

// maxPoints bounds the memory of the rows as numbers.
const maxPoints = 4 << 30

// targets scales numbers, and makes pairs of classes.
func (tr *training) targets(t *table.Table, w []float64) error {
	m := tr.m
	if t.Classes == nil {
		sq := 0.0
		for i, y := range tr.y {
			m.offset += w[i] * y
		}
		for i, y := range tr.y {
			sq += w[i] * (y - m.offset) * (y - m.offset)
		}
		if m.scale = math.Sqrt(sq); !(m.scale > 1e-12*math.Abs(m.offset)) || math.IsInf(m.scale, 1) {
			return fmt.Errorf("sparse: %s: the target %q has the variance %v; nothing is to be learnt", t.Title(),
				t.TargetName, sq)
		}
		for i := range tr.y {
			tr.y[i] = (tr.y[i] - m.offset) / m.scale
		}
		tr.pairs = [][2]int{{}}
		return nil
	}
	k := len(t.Classes)
	if k == 2 { // labels of Logistic are -1 and 1
		for i, y := range tr.y {
			tr.y[i] = (y + 1) / 2
		}
	}
	count := make([]int, k)
	for _, y := range tr.y {
		count[int(y)]++
	}
	for a := range k {
		for b := a + 1; b < k; b++ {
			if count[a] > 0 && count[b] > 0 {
				tr.pairs = append(tr.pairs, [2]int{a, b})
			}
		}
	}
	if len(tr.pairs) == 0 {
		return fmt.Errorf("sparse: %s: all rows are of one class of %q; two are needed", t.Title(), t.TargetName)
	}
	return nil
}

// widths returns the range of widths.
func (tr *training) widths() (lo, hi float64, err error) {
	switch w := tr.o.Widths; len(w) {
	case 1:
		return w[0], w[0], checkWidths(w[0], w[0])
	case 2:
		return w[0], w[1], checkWidths(w[0], w[1])
	}
	median, err := kernel.MedianDistance(kernel.NewMatrix(len(tr.y), len(tr.m.features), tr.x),
		kernel.Gaussian, nil, 0, tr.o.Seed)
	if err != nil {
		return 0, 0, fmt.Errorf("sparse: %w", err)
	}
	return 0.2 * median, 1.5 * median, nil
}

// problem returns the rows of a pair of classes, and their numbers; all rows for numbers.
func (tr *training) problem(pair int) (*Problem, []int) {
	dim := len(tr.m.features)
	p := &Problem{Dim: dim}
	var which []int
	ab := tr.pairs[pair]
	for i, y := range tr.y {
		if tr.m.form.Classes != nil {
			switch int(y) {
			case ab[0]:
				y = -1
			case ab[1]:
				y = 1
			default:
				continue
			}
		}
		p.X = append(p.X, tr.x[i*dim:][:dim]...)
		p.Y = append(p.Y, y)
		which = append(which, i)
	}
	if tr.weight != nil && tr.bound == optim.HingeBound {
		total := 0.0
		for _, i := range which {
			total += tr.weight[i]
		}
		for _, i := range which {
			p.Weight = append(p.Weight, tr.weight[i]*float64(len(which))/total)
		}
	}
	return p, which
}

func (tr *training) eps(p *Problem) float64 {
	switch {
	case tr.o.Eps > 0:
		return tr.o.Eps
	case tr.bound == optim.TubeBound:
		return 0.05
	case tr.bound == optim.MarginBound:
		return 0.1
	}
	return math.Max(2, 0.05*float64(len(p.Y)))
}

// conflict finds equal rows that no function fits within the bound.
func (tr *training) conflict(p *Problem, which []int) error {
	seen := map[string]int{} // rows by what they are
	var key bytes.Buffer
	eps, least := tr.eps(p), 0.0
	weight := func(i int) float64 { return score.Weight(p.Weight, i) }
	type sides struct {
		mass  [2]float64
		first [2]int
	}
	masses := map[string]*sides{}
	var order []string // of masses, so that sums are the same every time
	pairOf := func(i, j int, why string) error {
		return fmt.Errorf("sparse: %s and %s are equal, but for the target: %s", tr.at(tr.rows[which[j]]),
			tr.at(tr.rows[which[i]]), why)
	}
	for i, y := range p.Y {
		key.Reset()
		for _, v := range p.X[i*p.Dim:][:p.Dim] {
			fmt.Fprintf(&key, "%x,", math.Float64bits(v+0))
		}
		k := key.String()
		j, ok := seen[k]
		switch {
		case tr.bound == optim.HingeBound:
			if masses[k] == nil {
				masses[k] = &sides{}
				order = append(order, k)
			}
			side := 0
			if y > 0 {
				side = 1
			}
			if masses[k].mass[side] == 0 {
				masses[k].first[side] = i
			}
			masses[k].mass[side] += weight(i)
		case !ok:
		case tr.bound == optim.MarginBound && p.Y[j] != y:
			return pairOf(i, j, "no function has both margins; remove one, or use --bound hinge")
		case tr.bound == optim.TubeBound && math.Abs(p.Y[j]-y) > 2*math.Sqrt(eps):
			d := (p.Y[j] - y) / 2
			return pairOf(i, j, fmt.Sprintf("no function is within eps %.4g of both; the least eps that may do "+
				"is %.4g", eps, d*d))
		}
		if !ok {
			seen[k] = i
		}
	}
	var pair *sides
	for _, k := range order {
		least += 2 * math.Min(masses[k].mass[0], masses[k].mass[1])
		if pair == nil && masses[k].mass[0] > 0 && masses[k].mass[1] > 0 {
			pair = masses[k]
		}
	}
	if tr.bound == optim.HingeBound && least >= eps {
		i, j := min(pair.first[0], pair.first[1]), max(pair.first[0], pair.first[1])
		return pairOf(j, i, fmt.Sprintf("all such rows make a total hinge loss of at least %.4g, and eps is %.4g; "+
			"correct them, or allow more", least, eps))
	}
	return nil
}

// cells returns where the integral of a function is taken.
func (tr *training) cells(p *Problem, pair int, s *SolveOptions) error {
	o, m, dim := &tr.o, tr.m, p.Dim
	kind := o.Cells
	if kind == "auto" {
		kind = "candidates"
		if dim == 1 {
			kind = "grid"
		}
	}
	domain := Around(p.X, dim, 0, m.lo, m.hi)
	if kind != "candidates" {
		domain = Around(p.X, dim, 2*m.hi, m.lo, m.hi) // a Gaussian further away has little to say
	}
	var err error
	switch kind {
	case "grid":
		s.Cells, err = Grid(domain, o.PerAxis, o.PerCentre)
	case "sample":
		s.Cells, err = FixedSample(domain, o.Sample)
	case "draws":
		if s.Method == Interior {
			return errors.New("sparse: cells: fresh draws are for --method proximal and --method paper")
		}
		s.Draw, s.Domain, s.Seed = o.Sample, domain, o.Seed
		return nil
	default:
		// The means of a class are the same in all its pairs, whose kernels may then be the same.
		var centers []float64
		for side, class := range tr.pairs[pair] {
			if tr.m.form.Classes == nil && side == 1 {
				break
			}
			if tr.means[class] == nil {
				var x []float64
				for i, y := range p.Y {
					if tr.m.form.Classes == nil || (y > 0) == (side == 1) {
						x = append(x, p.X[i*dim:][:dim]...)
					}
				}
				c, err := KMeans(tr.run.Ctx, x, dim, o.Centres, tr.workers, o.Seed+uint64(class))
				if err != nil {
					return err
				}
				tr.means[class] = c
			}
			centers = append(centers, tr.means[class]...)
		}
		s.Cells, err = Candidates(centers, dim, m.lo, m.hi, o.PerCentre)
		if err == nil {
			s.Cells.Domain = domain
		}
	}
	if err == nil && o.Normalise {
		s.Cells.Normalise()
	}
	return err
}

// step is price. One that was interrupted leaves nothing: a run that goes on makes it again as a
// whole, from where it began.
func (tr *training) step() (*run.Row, run.Reason, error) {
	lambda, peak, path, loose, evaluations := tr.lambda, tr.peak, tr.pathRow, tr.loose, tr.run.Evaluations
	row, reason, err := tr.price()
	if err != nil {
		tr.lambda, tr.peak, tr.pathRow, tr.loose, tr.run.Evaluations = lambda, peak, path, loose, evaluations
	}
	return row, reason, err
}

// price solves for the next price of the function in work, and ends with its kernels.
func (tr *training) price() (*run.Row, run.Reason, error) {
	pair := len(tr.m.functions)
	if pair == len(tr.pairs) {
		return nil, done, nil
	}
	p, which := tr.problem(pair)
	if tr.stage == 0 && tr.o.Eps > 0 { // by default such rows may exceed the bound
		if err := tr.conflict(p, which); err != nil {
			return nil, "", err
		}
	}
	s := &SolveOptions{Bound: tr.bound, Family: tr.m.family, Method: Method(tr.o.Method), Step: tr.o.Step,
		StepMu: tr.o.StepMu, Start: tr.lambda}
	if err := tr.cells(p, pair, s); err != nil {
		return nil, "", err
	}
	if err := tr.allow(p, s); err != nil {
		return nil, "", err
	}
	if tr.stage == 0 && tr.idle(p, s.Eps) {
		tr.run.Warning(fmt.Sprintf("function %d of %d: the bound %.4g is met without any kernel, and so "+
			"none is needed; a smaller --eps asks for a fit", pair+1, len(tr.pairs), s.Eps))
	}
	asked := tr.o.Gamma == 0 && learner.Amount(tr.o.Sparsity) > 0
	prices := slices.Clone(tr.o.Path)
	if asked {
		prices = append([]float64{0}, prices...)
		share := tr.o.Sparsity * tr.peak
		prices = append(prices, share*share/2)
	} else {
		prices = append(prices, tr.o.Gamma)
	}
	if s.Gamma = prices[tr.stage]; asked && tr.stage == 0 {
		s.Gap, s.Violation = 1e-3, 1e-3 // for its peak alone
	}
	control := &run.Control{Ctx: tr.run.Ctx, Workers: tr.workers, Recorder: tr.run.Live, Stop: run.Stop{}}
	if s.Method != Interior {
		control.Stop = tr.stop
	}
	sol, r, err := tr.solve(p, s, control)
	if err != nil && s.Gamma > 0 && tr.peak > 0 && errors.Is(err, optim.ErrInfeasible) {
		return nil, "", fmt.Errorf("sparse: the bound is met without a price, and not with gamma %.4g, beside "+
			"which the peak of %.4g is lost; take a gamma near %.4g", s.Gamma, tr.peak, tr.peak*tr.peak/2)
	}
	if err != nil {
		return nil, "", tr.located(err, which, s.Gamma)
	}
	tr.run.Evaluations += r.Evaluations
	tr.lambda = sol.Lambda
	if tr.peak == 0 {
		tr.peak = optim.MaxAbs(sol.Alpha)
	}
	row := &run.Row{Stage: "", Objective: sol.Primal, Detail: &Detail{Function: pair + 1,
		Functions: len(tr.pairs), Gamma: s.Gamma, Gap: sol.Gap(), Excess: sol.Excess, Support: sol.Support}}
	last := tr.stage == len(prices)-1
	if onPath := !asked || tr.stage > 0; onPath && len(tr.o.Path) > 0 {
		peaks, err := sol.Peaks(tr.run.Ctx, p, tr.o.Peaks == "fixed", tr.workers)
		if err != nil {
			return nil, "", err
		}
		tr.pathRow = append(tr.pathRow, []float64{s.Gamma, sol.Support, float64(len(peaks)), sol.Gap(),
			sol.Excess, tr.misfit(p, sol.Dense())})
	}
	if !last {
		tr.stage++
		return row, "", nil
	}
	tr.loose = tr.loose || s.Method == Interior && r.Reason != run.GapSmall
	if err := tr.finish(p, which, sol, s, pair, row); err != nil {
		return nil, "", err
	}
	tr.stage, tr.peak, tr.lambda, tr.pathRow, tr.allowed = 0, 0, nil, nil, allowed{}
	return row, "", nil
}

// idle reports whether the function 0 meets the bound.
func (tr *training) idle(p *Problem, eps float64) bool {
	d := &optim.FitDual{Bound: tr.bound, Eps: eps, Target: p.Y, Weight: p.Weight}
	return d.Excess(make([]float64, len(p.Y))) <= 0
}

// misfit is the training error: a mean square, or the share of wrong signs.
func (tr *training) misfit(p *Problem, s *Sum) float64 {
	f := make([]float64, len(p.Y))
	s.Predict(tr.workers, p.X, f)
	return (&refit{p: p, classes: tr.bound != optim.TubeBound}).err(f)
}

// located names the rows of an infeasible bound, which a large gamma makes one, too.
func (tr *training) located(err error, which []int, gamma float64) error {
	var e *optim.InfeasibleError
	if !errors.As(err, &e) {
		return err
	}
	var places []string
	for _, i := range e.Samples {
		places = append(places, tr.at(tr.rows[which[i]]))
	}
	less := ""
	if gamma > 0 {
		less = fmt.Sprintf("a gamma below %.4g, ", gamma)
	}
	return fmt.Errorf("sparse: %w: the rows hardest to fit are %s; leave --eps out for a bound within "+
		"reach, allow a larger one, %smore --centres, smaller --widths, or correct them", optim.ErrInfeasible,
		strings.Join(places, ", "), less)
}

// finish makes the kernels of a function.
func (tr *training) finish(p *Problem, which []int, sol *Solution, s *SolveOptions, pair int,
	row *run.Row) error {
	fn := function{classes: tr.pairs[pair], dense: sol.Dense(), path: tr.pathRow, gap: sol.Gap(),
		excess: sol.Excess, support: sol.Support, gamma: s.Gamma, eps: s.Eps}
	fn.difficult(sol.Lambda, func(i int) int { return tr.rows[which[i]] })
	if tr.o.Peaks == "dense" {
		fn.sum = fn.dense
	} else {
		d, err := Discretize(p, sol, tr.bound, s.Eps, &DiscreteOptions{Fixed: tr.o.Peaks == "fixed",
			Joint: tr.o.Peaks == "joint", Kernels: tr.o.Kernels, Prune: !tr.o.Keep, Intercept: !tr.o.NoConstant,
			L2: tr.o.L2, Noisy: tr.allowed.noisy}, &run.Control{Ctx: tr.run.Ctx, Workers: tr.workers})
		if err != nil {
			return err
		}
		fn.sum, fn.peaks = d.Sum, d.Peaks
		// candidates end where the rows do
		if d.Edge > 0 && (s.Cells == nil || s.Cells.Per == 1 || s.Cells.Shape != nil) {
			tr.run.Warning(fmt.Sprintf("%d of %d peaks lie on the boundary of the widths or centres: a wider "+
				"range may have better ones", d.Edge, d.Peaks))
		}
	}
	fn.error, fn.denseError = tr.misfit(p, fn.sum), tr.misfit(p, fn.dense)
	tr.m.functions = append(tr.m.functions, fn)
	row.Detail.(*Detail).Kernels = fn.sum.Len()
	tr.result.F += sol.Primal
	return nil
}

// Detail is what Train adds to its rows: one for every price of every function.
type Detail struct {
	Function, Functions         int
	Gamma, Gap, Excess, Support float64
	Kernels                     int // of a function that is done
}

// Fields implements run.Detail.
func (d *Detail) Fields() []run.Field {
	return []run.Field{{Name: "function", Value: float64(d.Function)}, {Name: "gamma", Value: d.Gamma},
		{Name: "gap", Value: d.Gap},
		{Name: "violation", Value: d.Excess}, {Name: "support", Value: d.Support},
		{Name: "kernels", Value: float64(d.Kernels)}}
}

// String implements run.Detail.
func (d *Detail) String() string {
	s := fmt.Sprintf("function %d of %d, gamma %.3g: gap %.2g, violation %.2g", d.Function, d.Functions,
		d.Gamma, d.Gap, d.Excess)
	if d.Kernels > 0 {
		s += fmt.Sprintf(", %d kernels", d.Kernels)
	}
	return s
}

// checkpoint keeps the functions that are done, as a model, and the multipliers of the one in work.
func (tr *training) checkpoint() (*run.Checkpoint, error) {
	var b bytes.Buffer
	if err := tr.m.Write(&b); err != nil {
		return nil, err
	}
	k := &run.Checkpoint{Files: map[string][]byte{"model": b.Bytes()},
		Arrays:  map[string][]float64{"lambda": slices.Clone(tr.lambda), "path": slices.Concat(tr.pathRow...)},
		Scalars: map[string]float64{"stage": float64(tr.stage), "peak": tr.peak, "value": tr.result.F}}
	if tr.loose {
		k.Scalars["loose"] = 1
	}
	return k, nil
}

func (tr *training) restore(k *run.Checkpoint) error {
	m, err := Read(bytes.NewReader(k.Files["model"]))
	if err != nil {
		return fmt.Errorf("sparse: the checkpoint's model: %w", err)
	}
	tr.m.functions = m.functions
	tr.stage, tr.peak, tr.result.F, tr.loose = int(k.Scalars["stage"]), k.Scalars["peak"],
		k.Scalars["value"], k.Scalars["loose"] == 1
	if l := k.Arrays["lambda"]; len(l) > 0 {
		tr.lambda = l
	}
	for path := k.Arrays["path"]; len(path) >= pathColumns; path = path[pathColumns:] {
		tr.pathRow = append(tr.pathRow, path[:pathColumns])
	}
	if len(m.functions) > len(tr.pairs) || tr.stage < 0 || tr.stage > len(tr.o.Path)+1 {
		return fmt.Errorf("sparse: %w: it has %d functions of %d", run.ErrOther, len(m.functions), len(tr.pairs))
	}
	return nil
}

// pathColumns are gamma, support, kernels, gap, violation, training error.
const pathColumns = 6
