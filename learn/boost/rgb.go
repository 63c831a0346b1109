package boost

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
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
// literal one. Tags are those of package learner.
type RGBOptions struct {
	Loss         Loss     `json:"-"` // nil is Logistic{}
	Rounds       int      `json:"rounds" flag:"rounds" min:"0" help:"Rounds T (thesis: 100); 0 is as many as have the least loss on held-out rows, or on those of --valid, at most 1000"`
	Candidates   int      `json:"candidates" flag:"candidates" default:"5" min:"1" help:"Families S drawn in each round, with replacement"`
	Families     []Family `json:"families"` // nil is splits {4, 8, 16, 32} x ThesisLambdas
	Q            float64  `json:"-" flag:"q" default:"2" min:"1" max:"Inf" help:"Norm of leaf vectors, from 1 to inf"`
	Beta         float64  `json:"beta" flag:"beta" default:"0.01" min:"0" help:"Weight of the complexity penalty; the thesis chooses from 0.001,0.01,0.1,0.3,1"`
	Mode         Mode     `json:"mode" flag:"mode" default:"select" values:"select,l1" help:"Where the penalty acts: when candidates are compared, or as beta |alpha| Omega in the step too"`
	LearningRate float64  `json:"rate" flag:"rate" default:"0.1" above:"0" help:"Learning rate, which multiplies every step (thesis: 1)"`

	Leaf     LeafRule        `json:"leaf" flag:"leaf" default:"newton" values:"newton,weighted,radial,steepest" help:"Leaf values in the ball (thesis: weighted)"`
	Step     StepRule        `json:"step" flag:"step" default:"hess" values:"hess,safe,tree,lambda,lambda2,line" help:"Step rule (thesis: safe)"`
	Hoelder  Hoelder         `json:"hoelder" flag:"hoelder" zero:"exact" values:"exact|1,inf|inf,1|2,2" help:"Bound of a tree's curvature, eq. 3.11"`
	Sampling Sampling        `json:"sampling" flag:"sampling" zero:"lambda" values:"lambda,lambda-squared,uniform" help:"Probability of a family"`
	Scale    Normalisation   `json:"scale" flag:"scale" zero:"max" values:"max,minmax" help:"How complexities are brought to [0, 1]"`
	Bound    ComplexityBound `json:"bound" flag:"bound" zero:"vc" values:"vc,count" help:"Bound of the families' Rademacher complexity"`
	Tight    bool            `json:"tight" flag:"tight" help:"Charge the smallest family that holds a tree, not the one drawn"`

	RowSample    float64 `json:"rowSample" flag:"rows" default:"0.6" above:"0" max:"1" help:"Share of rows that a round is trained on, drawn without replacement (thesis: 1)"`
	ColumnSample float64 `json:"columnSample" flag:"columns" min:"0" max:"1" help:"Share of columns that a round may split on; 0 is all up to 50 columns, else 0.3 (thesis: 1)"`
	Score        Rows    `json:"score" flag:"score" default:"held-out" values:"held-out,training" help:"Rows that candidates are compared on (thesis: training)"`
	StepRows     Rows    `json:"stepRows" flag:"step_rows" default:"training" values:"training,held-out" help:"Rows that the step is taken from"`

	MinRows int `json:"minRows" flag:"min_rows" min:"0" help:"Rows a leaf needs; 0 is 1 for Newton leaves, else the larger of 5 and rows/500 (thesis: 1)"`
	// Rows count by their weights, brought to mean 1 if that is less.
	MinHessian float64 `json:"minHessian" flag:"min_hessian" default:"1" min:"0" help:"Sum of second derivatives that a Newton leaf needs"`
	MinGain    float64 `json:"minGain" flag:"min_gain" default:"1e-12" above:"0" help:"Gain that a split needs, relative to its node's score"`

	Exact bool `json:"exact" flag:"exact" help:"Search all thresholds instead of histograms"`
	Bins  int  `json:"bins" flag:"bins" default:"255" min:"2" max:"255" help:"Bins of a histogram"`
	// -1, 0 or +1 a column; nil is none. Leaves are then scaled radially
	Monotone []int8 `json:"monotone,omitempty"`

	// ZeroStart begins at 0, and takes Lambda of families and Beta as they are. By default a run
	// begins at the best constant. For Squared and Huber these are then in units of the spread of
	// the targets around it, sqrt(2·mean loss). Multiplying the targets by a constant multiplies
	// the model by it.
	ZeroStart bool    `json:"-" flag:"zero_start" help:"Begin at 0, and take lambdas and beta as they are (thesis: true); by default a run begins at the best constant, and lambdas and beta are in units of the target's spread around it with the losses squared and huber"`
	IdleStop  int     `json:"idleStop" flag:"idle_stop" default:"10" min:"1" help:"Stop after this many rounds in a row without a step"`
	AlphaMax  float64 `json:"alphaMax" flag:"alpha_max" min:"0" help:"Largest step for losses without a curvature bound and of line searches; 0 is 1, for line searches 16"`
	Seed      uint64  `json:"seed"` // of all draws

	Valid *Data `json:"-"` // rows on which the loss is watched; see package comment
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

// fill completes the settings for a table of that many rows and columns. In a study on the tables
// of the thesis sampling, Newton leaves, a learning rate and comparison on left-out rows mattered
// most. The learning rate (0.1 or 0.3) and the share of columns (0.3 or 1) are worth a
// cross-validation.
func (o *RGBOptions) fill(rows, columns int) error {
	if err := learner.Complete(o, o); err != nil {
		return fmt.Errorf("boost: rgb: %w", err)
	}
	if o.Loss == nil {
		o.Loss = Logistic{}
	}
	if o.Families == nil {
		o.Families = Grid([]int{4, 8, 16, 32}, ThesisLambdas)
	}
	if o.ColumnSample == 0 {
		o.ColumnSample = 1
		if columns > 50 {
			o.ColumnSample = 0.3
		}
	}
	if o.MinRows == 0 {
		o.MinRows = 1
		if o.Leaf != LeafNewton {
			o.MinRows = max(5, rows/500)
		}
	}
	if o.AlphaMax == 0 {
		o.AlphaMax = 1
		if o.Step == StepLine {
			o.AlphaMax = 16
		}
	}
	return nil
}

// check refuses settings that do not go together, or with a table of that many columns.
func (o *RGBOptions) check(columns int) error {
	if err := score.Usable(o.Loss); err != nil {
		return err
	}
	switch {
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
func TrainRGB(d *Data, o *RGBOptions, c *run.Control) (*Ensemble, *optim.Result, error) {
	o, err := settingsFor("rgb", d, o)
	if err != nil {
		return nil, nil, err
	}
	if err := o.fill(d.X.Rows, len(d.X.Columns)); err != nil {
		return nil, nil, err
	}
	if err := o.check(len(d.X.Columns)); err != nil {
		return nil, nil, err
	}
	if err := d.check(o.Loss); err != nil {
		return nil, nil, err
	}
	return trainRounds("rgb", d, o.Valid, &o.Rounds, o.Seed, c,
		func(d, valid *Data, c *run.Control) (*training, error) { return o.begin(d, valid, c) })
}

// begin sets up a run on rows that were checked; it makes MostRounds rounds where their number
// is open.
func (o RGBOptions) begin(d, valid *Data, c *run.Control) (*training, error) {
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
	if r.training, err = newRun("rgb", settings, d, o.Loss, start, valid, c); err != nil {
		return nil, err
	}
	if err := r.prepare(); err != nil {
		return nil, err
	}
	r.one = func() (*Progress, error) {
		if r.idle >= o.IdleStop {
			return nil, nil
		}
		return r.oneRound()
	}
	return r.training, nil
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
