package boost

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// Mode says where RGB's complexity penalty acts.
type Mode string

const (
	// Select charges beta Omega~ when candidates are compared, as line 5 of figure 3.1 of
	// the thesis prints it; the step itself is not penalised.
	Select Mode = "select"
	// L1Mode charges beta |alpha| Omega~ (eq. 3.7) in the step, which is then a
	// proximal one, and in the comparison: the full objective never increases.
	L1Mode Mode = "l1"
)

// StepRule says which curvature C a step a = -D/C divides by, D being the derivative
// of the mean loss along the tree.
type StepRule string

const (
	// StepHess is the Newton step, C = mean Phi'' h². It is halved while it would
	// raise the loss of the rows it was taken from.
	StepHess StepRule = "hess"
	// StepSafe is max(C(h), lambda Cmax): the thesis' constant wherever that is
	// valid, and always one that guarantees descent.
	StepSafe StepRule = "safe"
	// StepTree is C(h) = mean C_Phi h² (eq. 3.9), the exact bound of the tree's
	// coordinate. The product of step and tree then no longer depends on lambda.
	StepTree StepRule = "tree"
	// StepLambda is lambda Cmax, Lemma A.1 as printed. It does not bound the
	// curvature where lambda > 1 and a leaf exceeds 1: with the squared loss it can
	// diverge.
	StepLambda StepRule = "lambda"
	// StepLambda2 is lambda² Cmax, which bounds the curvature of every tree of the
	// family, for every q.
	StepLambda2 StepRule = "lambda2"
	// StepLine minimises the loss along the tree.
	StepLine StepRule = "line"
)

// Hoelder selects the bound of C(h) by eq. 3.11, ‖h²‖_r ‖C_Phi‖_s with 1/r + 1/s = 1, all
// as means. They differ from C(h) only for losses whose curvature depends on
// the label.
type Hoelder string

const (
	HoelderExact  Hoelder = ""      // C(h) itself, eq. 3.9
	HoelderOneInf Hoelder = "1,inf" // mean h² · max C_Phi
	HoelderInfOne Hoelder = "inf,1" // max h² · mean C_Phi
	HoelderTwoTwo Hoelder = "2,2"   // sqrt(mean h⁴) sqrt(mean C_Phi²)
)

// Rows names the rows that a quantity is measured on.
type Rows string

const (
	HeldOut  Rows = "held-out" // rows that the round's sample left out
	Training Rows = "training" // rows that the round's trees are grown on
)

// RGBOptions adjusts TrainRGB. The zero value is the recommended setting (Newton leaves
// and steps, sampling, candidates compared on left-out rows); Thesis returns the
// literal one. Where a field says "0 is", zero stands for that default.
type RGBOptions struct {
	Loss         Loss     `json:"-"`          // nil is Logistic{}
	Rounds       int      `json:"rounds"`     // T; 0 is chosen on held-out rows, at most MostRounds
	Candidates   int      `json:"candidates"` // S, families drawn a round, with replacement; 0 is 5
	Families     []Family `json:"families"`   // nil is splits {4, 8, 16, 32} x ThesisLambdas
	Q            float64  `json:"-"`          // norm of leaf vectors, 1 to +Inf; 0 is 2
	Beta         float64  `json:"beta"`       // 0 is 0.01; negative is none
	Mode         Mode     `json:"mode"`       // "" is Select
	LearningRate float64  `json:"rate"`       // multiplies every step; 0 is 0.1

	Leaf     LeafRule        `json:"leaf"`     // "" is LeafNewton
	Step     StepRule        `json:"step"`     // "" is StepHess
	Hoelder  Hoelder         `json:"hoelder"`  // of C(h)
	Sampling Sampling        `json:"sampling"` // of families
	Scale    Normalisation   `json:"scale"`    // of complexities to [0, 1]
	Bound    ComplexityBound `json:"bound"`    // of complexities
	// charge the smallest family that holds the tree, not the one drawn
	Tight bool `json:"tight"`

	RowSample    float64 `json:"rowSample"`    // share of rows a round, without replacement; 0 is 0.6
	ColumnSample float64 `json:"columnSample"` // share of columns a round; 0 is 1 up to 50 columns, else 0.3
	Score        Rows    `json:"score"`        // rows on which candidates are compared; "" is HeldOut if any are
	StepRows     Rows    `json:"stepRows"`     // rows that the step is taken from; "" is Training

	MinRows int `json:"minRows"` // rows a leaf needs; 0 is 1 for Newton leaves, else max(5, rows/500)
	// least Σ Phi'' of a leaf, rows counted by their weights (brought to mean 1 if that is less),
	// Newton leaves only; 0 is 1, negative is none
	MinHessian float64 `json:"minHessian"`
	MinGain    float64 `json:"minGain"` // of a split, relative to the gradients' size; 0 is 1e-12

	Exact bool `json:"exact"` // search all thresholds; by default those of histograms
	Bins  int  `json:"bins"`  // of a histogram; 0 is 255, which is also the most
	// -1, 0 or +1 a column; nil is none. Leaves are then scaled radially
	Monotone []int8 `json:"monotone,omitempty"`

	// ZeroStart begins at 0, and takes Lambda of families and Beta as they are. By default a run
	// begins at the best constant. For Squared and Huber these are then in units of the spread of
	// the targets around it, sqrt(2·mean loss). Multiplying the targets by a constant multiplies
	// the model by it.
	ZeroStart bool `json:"-"`
	IdleStop  int  `json:"idleStop"` // stop after this many rounds in a row without a step; 0 is 10
	// largest step for losses without a curvature bound, and of StepLine; 0 is 16 for StepLine, else 1
	AlphaMax float64 `json:"alphaMax"`
	Seed     uint64  `json:"seed"`

	Control `json:"-"`
}

// The grid of the thesis' experiments (section 3.5).
var (
	ThesisSplits  = []int{2, 4, 8, 16, 32, 64, 256}
	ThesisLambdas = []float64{0.001, 0.01, 0.1, 0.5, 1, 2, 4}
	ThesisBetas   = []float64{0.001, 0.01, 0.1, 0.3, 1}
)

// Thesis returns the literal setting of the thesis' experiments, without sampling or learning rate.
// It has the full grid of families, the selection of figure 3.1, least-squares leaves and the
// Lipschitz step. beta is chosen by cross-validation there, from ThesisBetas; S is not reported,
// and 5 here.
func Thesis() *RGBOptions {
	return &RGBOptions{
		Rounds: 100, Candidates: 5, Families: Grid(ThesisSplits, ThesisLambdas), Q: 2, Beta: 0.1,
		Mode: Select, LearningRate: 1, Leaf: LeafWeighted, Step: StepSafe,
		RowSample: 1, ColumnSample: 1, Score: Training, StepRows: Training, MinRows: 1,
		MinHessian: -1, ZeroStart: true,
	}
}

// Recommended spells out the setting that the zero value stands for on a table of that many columns
// and rows. In a study on the tables of the thesis sampling, Newton leaves, a learning rate and
// comparison on left-out rows mattered most. The learning rate (0.1 or 0.3) and the share of
// columns (0.3 or 1) are worth a cross-validation.
func Recommended(rows, columns int) *RGBOptions {
	o := &RGBOptions{}
	o.fill(rows, columns)
	return o
}

func (o *RGBOptions) fill(rows, columns int) {
	set := func(p *float64, v float64) {
		if *p == 0 {
			*p = v
		}
	}
	if o.Loss == nil {
		o.Loss = Logistic{}
	}
	if o.Candidates == 0 {
		o.Candidates = 5
	}
	if o.Families == nil {
		o.Families = Grid([]int{4, 8, 16, 32}, ThesisLambdas)
	}
	set(&o.Q, 2)
	set(&o.Beta, 0.01)
	set(&o.LearningRate, 0.1)
	set(&o.RowSample, 0.6)
	if o.Mode == "" {
		o.Mode = Select
	}
	if o.Leaf == "" {
		o.Leaf = LeafNewton
	}
	if o.Step == "" {
		o.Step = StepHess
	}
	if o.ColumnSample == 0 {
		o.ColumnSample = 1
		if columns > 50 {
			o.ColumnSample = 0.3
		}
	}
	if o.Score == "" {
		o.Score = HeldOut
	}
	if o.StepRows == "" {
		o.StepRows = Training
	}
	if o.MinRows == 0 {
		o.MinRows = 1
		if o.Leaf != LeafNewton {
			o.MinRows = max(5, rows/500)
		}
	}
	set(&o.MinHessian, 1)
	set(&o.MinGain, 1e-12)
	if o.Bins == 0 {
		o.Bins = 255
	}
	if o.IdleStop == 0 {
		o.IdleStop = 10
	}
	if o.AlphaMax == 0 {
		o.AlphaMax = 1
		if o.Step == StepLine {
			o.AlphaMax = 16
		}
	}
}

func (o *RGBOptions) check(columns int) error {
	if err := score.Usable(o.Loss); err != nil {
		return err
	}
	if err := firstBad("rgb", []limit{
		{"Rounds", float64(o.Rounds), o.Rounds >= 0, "at least 1, or 0 for a number chosen on held-out rows"},
		{"Candidates", float64(o.Candidates), o.Candidates >= 1, "at least 1"},
		{"IdleStop", float64(o.IdleStop), o.IdleStop >= 1, "at least 1"},
		{"MinRows", float64(o.MinRows), o.MinRows >= 1, "at least 1"},
		{"Beta", o.Beta, !math.IsNaN(o.Beta) && !math.IsInf(o.Beta, 1), "finite (negative is none)"},
		{"LearningRate", o.LearningRate, o.LearningRate > 0 && !math.IsInf(o.LearningRate, 1),
			"positive and finite"},
		{"RowSample", o.RowSample, isShare(o.RowSample), "a share, above 0 and at most 1"},
		{"ColumnSample", o.ColumnSample, isShare(o.ColumnSample), "a share, above 0 and at most 1"},
		{"MinHessian", o.MinHessian, !math.IsNaN(o.MinHessian) && !math.IsInf(o.MinHessian, 1),
			"finite (negative is none)"},
		{"MinGain", o.MinGain, o.MinGain >= 0 && !math.IsInf(o.MinGain, 1), "finite and not negative"},
		{"AlphaMax", o.AlphaMax, o.AlphaMax > 0 && !math.IsInf(o.AlphaMax, 1), "positive and finite"},
		{"Bins", float64(o.Bins), o.Bins >= 2 && o.Bins <= tree.MaxBins,
			fmt.Sprintf("between 2 and %d", tree.MaxBins)},
	}); err != nil {
		return err
	}
	switch {
	case o.Mode != Select && o.Mode != L1Mode:
		return fmt.Errorf("boost: rgb: mode %q is neither select nor l1", o.Mode)
	case !slices.Contains([]LeafRule{LeafWeighted, LeafNewton, LeafRadial, LeafSteepest}, o.Leaf):
		return fmt.Errorf("boost: rgb: leaf rule %q is none of weighted, newton, radial, steepest", o.Leaf)
	case !slices.Contains([]StepRule{StepHess, StepSafe, StepTree, StepLambda, StepLambda2, StepLine}, o.Step):
		return fmt.Errorf("boost: rgb: step rule %q is none of hess, safe, tree, lambda, lambda2, line", o.Step)
	case !slices.Contains([]Hoelder{HoelderExact, HoelderOneInf, HoelderInfOne, HoelderTwoTwo}, o.Hoelder):
		return fmt.Errorf("boost: rgb: Hoelder pair %q is none of 1,inf; inf,1; 2,2", o.Hoelder)
	case !slices.Contains([]Sampling{ByLambda, ByLambdaSquared, Uniformly}, o.Sampling):
		return fmt.Errorf("boost: rgb: sampling %q is none of lambda-squared, uniform, or empty for lambda",
			o.Sampling)
	case o.Scale != ByMaximum && o.Scale != MinMax || o.Bound != VCBound && o.Bound != CountBound:
		return fmt.Errorf("boost: rgb: scale %q is not minmax, or bound %q not count", o.Scale, o.Bound)
	case !slices.Contains([]Rows{HeldOut, Training}, o.Score) ||
		!slices.Contains([]Rows{HeldOut, Training}, o.StepRows):
		return fmt.Errorf("boost: rgb: score rows %q or step rows %q are neither held-out nor training",
			o.Score, o.StepRows)
	case o.StepRows == HeldOut && o.RowSample == 1:
		return fmt.Errorf("boost: rgb: the step is to come from left-out rows, and a row sample of 1 leaves " +
			"none out")
	case o.Leaf == LeafSteepest && o.Step == StepLambda:
		return fmt.Errorf("boost: rgb: steepest leaves lie on the sphere of radius lambda, where lambda Cmax " +
			"does not bound the curvature once lambda > 1; take step safe, tree, lambda2, hess or line")
	case o.Monotone != nil && len(o.Monotone) != columns:
		return fmt.Errorf("boost: rgb: %d monotone constraints for %d columns", len(o.Monotone), columns)
	case o.Monotone != nil && o.Leaf == LeafSteepest:
		return fmt.Errorf("boost: rgb: steepest leaves cannot keep monotone constraints; take weighted, radial " +
			"or newton")
	}
	if err := checkNorm(o.Q); err != nil {
		return err
	}
	if err := checkFamilies(o.Families); err != nil {
		return err
	}
	finite := !math.IsInf(o.Loss.Curvature(1), 1)
	for k, f := range o.Families {
		switch {
		case !finite && (o.Step == StepLambda || o.Step == StepLambda2):
			return fmt.Errorf("boost: rgb: step %s divides by lambda times the curvature bound of the loss, and "+
				"the %s loss has none: its second derivative grows without limit; take line, hess, tree or safe",
				o.Step, o.Loss.Name())
		case math.IsInf(f.Lambda, 1) && (o.Leaf == LeafSteepest || o.Step == StepLambda || o.Step == StepLambda2):
			return fmt.Errorf("boost: rgb: %w: family %d has no bound lambda, which leaf rule %s with step rule %s needs", ErrFamily, k, o.Leaf, o.Step)
		case f.Learner != nil && o.Monotone != nil:
			return fmt.Errorf("boost: rgb: %w: family %d has the learner %s, which knows nothing of monotone "+
				"constraints", ErrFamily, k, f.Learner.Name())
		}
	}
	for j, v := range o.Monotone {
		if v < -1 || v > 1 {
			return fmt.Errorf("boost: rgb: monotone constraint %d of column %d is none of -1, 0, 1", v, j)
		}
	}
	return nil
}

// rgbSettings is the record of a run in a model file. Infinite numbers, which JSON lacks, are text.
type rgbSettings struct {
	*RGBOptions
	Families any    `json:"families"`
	Q        string `json:"q"`
	Loss     string `json:"loss"`

	BestStart bool    `json:"bestStart"`
	Unit      float64 `json:"unit,omitempty"` // of lambda and beta; 0 is 1
}

func (o *RGBOptions) settings(unit float64) (string, error) {
	used := *o
	used.Beta, used.MinHessian = max(o.Beta, 0), max(o.MinHessian, 0) // negative is none
	b, err := json.Marshal(rgbSettings{&used, familyTexts(o.Families), fmt.Sprint(o.Q), o.Loss.Name(),
		!o.ZeroStart, unit})
	if err != nil {
		return "", fmt.Errorf("boost: rgb: settings: %w", err)
	}
	return string(b), nil
}

func familyTexts(families []Family) []string {
	out := make([]string, len(families))
	for k, f := range families {
		out[k] = f.String()
	}
	return out
}

// TrainRGB is regularised gradient boosting (figure 3.1 of the thesis). Each round draws S families
// by their Lipschitz constants and fits a tree of each to the negative gradient within the family's
// norm ball. Each tree gets the step of a coordinate descent on
//
//	L(alpha) = mean Phi(y, Σ alpha_t h_t(x)) + beta Σ |alpha_t| Omega~_{I_t}        (eq. 3.7)
//
// and the round adds the candidate of least loss plus complexity.
//
// All candidates of a round come from one tree, grown best split first to the largest size drawn:
// the candidate of n splits is its first n splits. So a round costs one tree, S leaf vectors and S
// passes for the loss. Rows and columns are sampled for the round, not for the candidate, which
// keeps that true.
//
// With a loss in several scores a candidate is one tree for each, added together, each within its
// family's ball. The curvature is then that of the whole Hessian.
//
// F starts at the best constant, which bounds count among the h_t as a tree of one leaf. With
// ZeroStart it starts at 0.
//
// The zero options are the recommended setting; Thesis() is the literal one. Where Rounds is 0
// their number is chosen on held-out rows by extra runs. On a large table these take about as long
// as the model itself, on a small one six times as long.
//
// Errors: unusable data or settings, errors of user's learners, and *run.InterruptedError
// (with the model so far).
func TrainRGB(d *Data, o *RGBOptions) (*Ensemble, error) {
	o, err := settingsFor("rgb", d, o)
	if err != nil {
		return nil, err
	}
	o.fill(d.X.Rows, len(d.X.Columns))
	if err := o.check(len(d.X.Columns)); err != nil {
		return nil, err
	}
	if err := d.check(o.Loss); err != nil {
		return nil, err
	}
	return trainRounds("rgb", d, &o.Rounds, o.Seed, &o.Control,
		func(d *Data, c Control) (*booster, error) { return o.begin(d, c) })
}

// begin sets up a run on rows that were checked; it makes MostRounds rounds where their number
// is open.
func (o RGBOptions) begin(d *Data, c Control) (*booster, error) {
	o.Control = c
	if o.Rounds == 0 {
		o.Rounds = MostRounds
	}
	r := &rgbRun{o: &o, unit: 1}
	start := make([]float64, o.Loss.Outputs())
	if !o.ZeroStart {
		start = o.Loss.Start(d.Y, d.W)
		r.unit = spread(o.Loss, d, start)
	}
	unit := r.unit
	if unit == 1 {
		unit = 0 // as models of earlier programs have it
	}
	settings, err := o.settings(unit)
	if err != nil {
		return nil, err
	}
	if r.training, err = newRun("rgb", settings, d, o.Loss, start, &o.Control); err != nil {
		return nil, err
	}
	if err := r.prepare(); err != nil {
		return nil, err
	}
	return &booster{r.training, func() bool { return r.run.Steps() < o.Rounds && r.idle < o.IdleStop },
		r.oneRound}, nil
}

// spread is the unit of scores. It is that of the targets for losses that are quadratic in the
// scale of targets and scores, and 1 for the others, whose scores have a scale of their own.
func spread(l Loss, d *Data, start []float64) float64 {
	switch l.(type) {
	case Squared, Huber:
		if s := math.Sqrt(2 * score.Mean(l, d.Y, d.W, repeat(start, d.Rows()), 1)); s > 0 && !math.IsInf(s, 1) {
			return s
		}
	}
	return 1
}
