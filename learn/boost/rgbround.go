package boost

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// rgbRun is one training run of RGB.
type rgbRun struct {
	*training
	o       *RGBOptions
	omega   []float64 // Omega~ of each family
	draw    sampler
	fitters []Fitter // of the families with learners
	grower  *tree.Grower
	k       int     // scores a row
	unit    float64 // of lambda; its square is that of beta

	// Bounds of the second derivative: one number for all rows, or per row.
	cmax, cmean, csquare float64
	curvature            []float64

	g, h      []float64 // derivatives by the scores, a row's together
	gc, hc    []float64 // one score's
	in        []bool    // rows of the round's sample; nil is all
	columns   []int32   // columns of the round's sample; nil is all
	grown     []*growth // one a score
	fold      leafFolds
	penalties float64 // Σ |alpha| Omega~ so far
	scorer    scorer
}

// leafFolds are the sums over each growth's leaves, on the rows that trees are
// fitted to and on those that the step comes from.
type leafFolds struct {
	fit, step       []leafSums // one a score
	fitAll, stepAll float64    // weight of those rows
}

// proposal is one candidate of a round: a tree for every score.
type proposal struct {
	family int
	splits []int       // of each tree
	leaves [][]float64 // of each tree
	table  [][]float64 // values by slot of the whole growth; nil for a learner's
	values []float64   // of every row, for a learner's
	parts  []Predictor // of a learner's

	derivative, curvature float64
	step                  float64 // a
	charge                float64 // Omega~
	loss                  float64 // mean, on the rows that candidates are compared on
	score                 float64 // J
}

// Each round has its own streams of random numbers, so that a run can resume at any round, and
// sampling rows does not change which families are drawn.
const (
	familyStream = iota
	sampleStream
	streams
)

func (r *rgbRun) rng(stream int) *rand.Rand {
	return rand.New(rand.NewPCG(r.o.Seed, uint64(r.Steps())*streams+uint64(stream)))
}

func (r *rgbRun) prepare() error {
	o, d := r.o, r.d
	r.k = o.Loss.Outputs()
	r.e.Families = o.Families
	r.omega = NormalisedOmega(o.Families, o.Scale, o.Bound, len(d.X.Columns), d.Rows())
	r.draw = newSampler(o.Sampling.Probabilities(o.Families))
	r.fitters = make([]Fitter, len(o.Families))
	trees := false
	for k, f := range o.Families {
		if f.Learner == nil {
			trees = true
			continue
		}
		fitter, err := f.Learner.Prepare(r.d, r.Workers)
		if err != nil {
			return fmt.Errorf("boost: rgb: learner %s: %w", f.Learner.Name(), err)
		}
		r.fitters[k] = fitter
	}
	m := d.Rows()
	r.cmax = 0
	r.curvature = make([]float64, m)
	constant := true
	for i, y := range d.Y {
		c := o.Loss.Curvature(y)
		if !(c > 0) {
			return fmt.Errorf("boost: rgb: the %s loss has curvature %v at label %v; it must be positive",
				o.Loss.Name(), c, y)
		}
		r.curvature[i] = c
		v := score.Weight(d.W, i)
		r.cmax = max(r.cmax, c)
		r.cmean += v * c / r.total
		r.csquare += v * c * c / r.total
		constant = constant && c == r.curvature[0]
	}
	if constant {
		r.cmean, r.csquare, r.curvature = r.cmax, r.cmax*r.cmax, nil
	}
	r.g, r.h = make([]float64, m*r.k), make([]float64, m*r.k)
	if r.k > 1 {
		r.gc, r.hc = make([]float64, m), make([]float64, m)
	}
	r.grown = make([]*growth, r.k)
	if trees {
		var err error
		if r.grower, err = r.newGrower(); err != nil {
			return err
		}
	}
	r.scorer.prepare(r)
	r.penalties = r.extra["penalties"]
	return nil
}

// newGrower prepares the features for the trees of all rounds.
func (r *rgbRun) newGrower() (*tree.Grower, error) {
	o := tree.Options{MinRows: r.o.MinRows, MinGain: r.o.MinGain, Monotone: r.o.Monotone,
		Smooth: r.d.weightScale(), Workers: r.Workers, Ctx: r.Ctx}
	switch r.o.Leaf {
	case LeafSteepest:
		// Structure and leaves must want the same thing: the increase of the norm
		// dual to the ball's.
		o.Criterion, o.R = tree.DualNorm, dualExponent(r.o.Q)
	case LeafNewton:
		o.MinWeight = max(r.o.MinHessian, 0) * r.d.weightScale()
	}
	return newGrower(r.d, r.o.Exact, r.o.Bins, o)
}

// oneRound is lines 3 to 6 of figure 3.1.
func (r *rgbRun) oneRound() (*Progress, error) {
	families := r.drawFamilies()
	r.sample()
	r.scorer.gradients()
	largest := -1
	for _, k := range families {
		if r.fitters[k] == nil {
			largest = max(largest, r.o.Families[k].Splits)
		}
	}
	if largest >= 0 {
		if err := r.grow(largest); err != nil {
			return nil, err
		}
	}
	proposals := make([]*proposal, len(families))
	for j, k := range families {
		var err error
		if proposals[j], err = r.propose(k); err != nil {
			return nil, err
		}
	}
	// A Newton step is compared with no step on the rows that it was computed from. Where
	// candidates are compared on the same rows, one pass serves both.
	compared := proposals
	still := proposal{values: proposals[0].values, table: proposals[0].table}
	together := r.o.Step == StepHess && (r.in == nil || r.o.Score == r.o.StepRows)
	if together {
		compared = append(slices.Clone(proposals), &still)
	}
	losses := r.scorer.losses(compared, r.o.Score)
	for j, p := range proposals {
		loss := losses[j]
		p.loss = loss
		p.score = loss + r.beta()*p.charge
		if r.o.Mode == L1Mode {
			p.score = loss + r.beta()*math.Abs(p.step)*p.charge
		}
	}
	best := proposals[0]
	for _, p := range proposals[1:] { // in order of families: ties go to the lowest
		if p.score < best.score || p.score == best.score && p.charge < best.charge {
			best = p
		}
	}
	switch {
	case together:
		r.halve(best, losses[len(proposals)], best.loss)
	case r.o.Step == StepHess && best.step != 0:
		still.values, still.table = best.values, best.table
		losses := r.scorer.losses([]*proposal{&still, best}, r.o.StepRows)
		r.halve(best, losses[0], losses[1])
	}
	progress := &Progress{Family: best.family, Derivative: best.derivative,
		Curvature: best.curvature, Step: best.step}
	if best.step == 0 {
		r.idle++
	} else {
		r.idle = 0
		r.append(best)
		for _, n := range best.splits {
			progress.Splits += n
		}
	}
	progress.Loss = math.NaN()
	if r.Recorder != nil {
		progress.Loss = score.Mean(r.e.Loss, r.d.Y, r.d.W, r.scores, r.Workers)
	}
	progress.Objective = progress.Loss + r.beta()*r.penalties
	r.extra["penalties"] = r.penalties
	return progress, nil
}

func (r *rgbRun) beta() float64 { return max(r.o.Beta, 0) * r.unit * r.unit }

// lambda is the bound of family k, in the units of scores.
func (r *rgbRun) lambda(k int) float64 { return r.o.Families[k].Lambda * r.unit }

// drawFamilies returns the distinct families of S draws, ascending.
func (r *rgbRun) drawFamilies() []int {
	rng := r.rng(familyStream)
	out := make([]int, r.o.Candidates)
	for j := range out {
		out[j] = r.draw.draw(rng.Float64())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// sample draws the rows and columns of the round.
func (r *rgbRun) sample() {
	rng := r.rng(sampleStream)
	m, d := r.d.Rows(), len(r.d.X.Columns)
	if r.o.RowSample < 1 && m > 1 {
		if r.in == nil {
			r.in = make([]bool, m)
		}
		// Selection sampling (Knuth, TAOCP 3.4.2 S): exactly the number wanted, in one pass.
		need := min(max(int(math.Round(r.o.RowSample*float64(m))), 1), m-1)
		for i := range r.in {
			r.in[i] = rng.Float64()*float64(m-i) < float64(need)
			if r.in[i] {
				need--
			}
		}
	}
	if r.o.ColumnSample < 1 && d > 1 {
		n := min(max(int(math.Round(r.o.ColumnSample*float64(d))), 1), d)
		all := make([]int32, d)
		for j := range all {
			all[j] = int32(j)
		}
		for j := range n {
			k := j + rng.IntN(d-j)
			all[j], all[k] = all[k], all[j]
		}
		r.columns = all[:n]
		slices.Sort(r.columns)
	}
}

// grow makes the round's tree for each score and sums its leaves.
func (r *rgbRun) grow(splits int) error {
	m := r.d.Rows()
	r.fold = leafFolds{fit: make([]leafSums, r.k), step: make([]leafSums, r.k)}
	var out []bool
	if r.o.StepRows == HeldOut && r.in != nil {
		out = make([]bool, m)
		for i, in := range r.in {
			out[i] = !in
		}
	}
	for c := range r.k {
		g, h := r.g, r.h
		if r.k > 1 {
			g, h = r.gc, r.hc
			for i := range m {
				g[i], h[i] = r.g[i*r.k+c], r.h[i*r.k+c]
			}
		}
		t := &tree.Target{G: g, W: r.d.W, Columns: r.columns, Rows: r.scorer.rows(Training)}
		if r.o.Leaf == LeafNewton {
			t.H = h
		}
		if err := r.grower.Start(t); err != nil {
			return fmt.Errorf("boost: rgb: round %d: %w", r.Steps()+1, err)
		}
		for r.grower.Splits() < splits && r.grower.Step() {
		}
		if err := r.Ctx.Err(); err != nil {
			return fmt.Errorf("boost: rgb: round %d: %w", r.Steps()+1, err)
		}
		r.grown[c] = collect(r.grower, m, r.in, r.Workers, r.grown[c])
		r.fold.fit[c] = r.grown[c].sums(r.Workers, r.d.W, g, h, r.in)
		r.fold.step[c] = r.fold.fit[c]
		if out != nil {
			r.fold.step[c] = r.grown[c].sums(r.Workers, r.d.W, g, h, out)
		}
	}
	r.fold.fitAll = sum(r.fold.fit[0].n)
	r.fold.stepAll = sum(r.fold.step[0].n)
	return nil
}

func sum(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s
}

// propose fits a candidate of family k and takes its step.
func (r *rgbRun) propose(k int) (*proposal, error) {
	p := &proposal{family: k, charge: r.omega[k]}
	if r.fitters[k] != nil {
		if err := r.ask(p); err != nil {
			return nil, err
		}
	} else {
		r.cut(p)
	}
	r.takeStep(p)
	return p, nil
}

// cut takes the trees of family k from the round's growth.
func (r *rgbRun) cut(p *proposal) {
	f := &r.o.Families[p.family]
	p.splits = make([]int, r.k)
	p.leaves, p.table = make([][]float64, r.k), make([][]float64, r.k)
	for c, gr := range r.grown {
		n := min(f.Splits, gr.splits())
		to := gr.fold(n)
		s := r.fold.fit[c].fold(to, n)
		w := r.leafValues(gr, n, s, r.lambda(p.family))
		p.splits[c], p.leaves[c] = n, w
		table := make([]float64, len(to))
		for l, t := range to {
			table[l] = w[t]
		}
		p.table[c] = table
	}
	if r.o.Tight {
		p.charge = r.tightest(p)
	}
}

// wishes are the leaf values without the ball: mean residuals, or Newton steps, and
// the weights with which a projection counts them.
func (r *rgbRun) wishes(s leafSums) (mu, n []float64) {
	mu, n = make([]float64, len(s.n)), make([]float64, len(s.n))
	for l := range mu {
		n[l] = s.n[l]
		// A leaf without curvature (all rows in the linear part of Huber's loss) has
		// no Newton step; it takes the least-squares one.
		if r.o.Leaf == LeafNewton && s.h[l] > 1e-12*s.n[l] {
			n[l] = s.h[l]
		}
		if n[l] > 0 {
			mu[l] = -s.g[l] / n[l]
		}
	}
	return mu, n
}

func (r *rgbRun) leafValues(gr *growth, n int, s leafSums, lambda float64) []float64 {
	w := make([]float64, n+1)
	if r.o.Leaf == LeafSteepest {
		SteepestLeaves(w, s.g, r.o.Q, lambda)
		return w
	}
	mu, weights := r.wishes(s)
	switch {
	case r.o.Monotone != nil:
		// A radial step is one factor for all leaves and keeps their order; the
		// weighted one shrinks leaves differently and may not.
		for l, at := range gr.leafNodes(n) {
			mu[l] = min(max(mu[l], gr.low[at]), gr.high[at])
		}
		RadialLeaves(w, mu, r.o.Q, lambda)
	case r.o.Leaf == LeafRadial:
		RadialLeaves(w, mu, r.o.Q, lambda)
	default:
		FitLeaves(w, mu, weights, r.o.Q, lambda)
	}
	return w
}

// tightest is the least Omega~ of the families that hold the proposal's trees.
func (r *rgbRun) tightest(p *proposal) float64 {
	best := r.omega[p.family]
	for k := range r.o.Families {
		f := &r.o.Families[k]
		if f.Learner != nil || r.omega[k] >= best {
			continue
		}
		holds := true
		for c := range p.leaves {
			holds = holds && p.splits[c] <= f.Splits && Norm(p.leaves[c], r.o.Q) <= r.lambda(k)
		}
		if holds {
			best = r.omega[k]
		}
	}
	return best
}

// ask has a user's learner fit its predictors.
func (r *rgbRun) ask(p *proposal) error {
	m := r.d.Rows()
	f := &r.o.Families[p.family]
	var rows []int32
	for i, in := range r.in {
		if in {
			rows = append(rows, int32(i))
		}
	}
	p.values, p.parts, p.splits = make([]float64, m*r.k), make([]Predictor, r.k), make([]int, r.k)
	for c := range r.k {
		dir := &Direction{G: make([]float64, m), H: make([]float64, m), W: r.d.W, Rows: rows, Round: r.Steps()}
		for i := range m {
			dir.G[i], dir.H[i] = r.g[i*r.k+c], r.h[i*r.k+c]
		}
		fit, err := r.fitters[p.family].Fit(r.Ctx, dir)
		if err != nil {
			return fmt.Errorf("boost: rgb: round %d: learner %s: %w", r.Steps()+1, f.Learner.Name(), err)
		}
		if len(fit.Values) != m {
			return fmt.Errorf("boost: rgb: round %d: learner %s returned %d values for %d rows", r.Steps()+1,
				f.Learner.Name(), len(fit.Values), m)
		}
		size := Norm(fit.Values, math.Inf(1))
		if i := slices.IndexFunc(fit.Values, func(v float64) bool { return v-v != 0 }); i >= 0 {
			return fmt.Errorf("boost: rgb: round %d: %w: learner %s gives %v at %s", r.Steps()+1, ErrRange,
				f.Learner.Name(), fit.Values[i], r.d.X.At(i))
		}
		p.parts[c] = fit.Predictor
		scale := 1.0
		if lambda := r.lambda(p.family); size > lambda {
			scale = lambda / size
			p.parts[c] = scaled(fit.Predictor, scale)
		}
		for i, v := range fit.Values {
			p.values[i*r.k+c] = scale * v
		}
		p.splits[c] = splitsOf(fit.Predictor)
	}
	return nil
}

// append adds the proposal to the model.
func (r *rgbRun) append(p *proposal) {
	for c := range r.k {
		t := Term{Weight: p.step, Output: c, Family: p.family, Round: r.Steps()}
		if p.values != nil {
			t.Predictor = p.parts[c]
			for i := range r.d.Rows() {
				r.scores[i*r.k+c] += float64(p.step * p.values[i*r.k+c])
			}
		} else {
			t.Predictor = r.grown[c].tree(p.splits[c], p.leaves[c])
			slot, table := r.grown[c].slot, p.table[c]
			run.Blocks(r.Workers, len(slot), sumBlock, func(_, from, to int) {
				for i := from; i < to; i++ {
					r.scores[i*r.k+c] += float64(p.step * table[slot[i]]) // see addScaled
				}
			})
		}
		r.e.Terms = append(r.e.Terms, t)
		r.addValid(&t)
	}
	r.penalties += math.Abs(p.step) * p.charge
}
