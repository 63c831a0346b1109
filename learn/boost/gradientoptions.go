package boost

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/resilient"
)

// GradientOptions adjusts TrainGradient. The zero value grows trees of 31 leaves, best split first,
// with Newton leaves, L2 penalty 1, learning rate 0.1 and no sampling. The number of trees is
// chosen on held-out rows. Tags are those of package learner.
//
// MinWeight, L2, L1, Gamma and Smooth are multiplied by the mean weight of the rows, so that the
// unit of weights does not matter.
type GradientOptions struct {
	Loss         Loss    `json:"-"` // nil is Logistic{}
	Rounds       int     `json:"rounds" flag:"rounds" min:"0" help:"Rounds; 0 is as many as have the least loss on held-out rows, or on those of --valid, at most 1000"`
	LearningRate float64 `json:"rate" flag:"rate" default:"0.1" above:"0" help:"Learning rate, which multiplies every tree"`

	// LeastSquares fits trees to the negative gradient, every row counting by its
	// weight (Friedman, "Greedy function approximation", Annals of Statistics
	// 29:1189–1232, 2001); by default rows count by the second derivative, and a leaf
	// takes a Newton step. MinWeight and L2 are then none unless given.
	LeastSquares bool `json:"leastSquares" flag:"least_squares" help:"Fit trees to the gradient by least squares; by default they take Newton steps"`

	// Depth None is no limit where Leaves is 0 as well.
	Depth  int `json:"depth" flag:"depth" default:"0" min:"0" help:"Depth of trees; 0 is no limit. With it and without --leaves trees grow level by level, else best split first"`
	Leaves int `json:"leaves" flag:"leaves" min:"0" max:"1048577" help:"Leaves of trees, grown best split first; 0 is 31, and with --depth no limit"`

	MinRows   int     `json:"minRows" flag:"min_rows" min:"0" help:"Rows a leaf needs; 0 is 20, but at most a twentieth of all"`
	MinWeight float64 `json:"minWeight" flag:"min_weight" default:"1" min:"0" help:"Sum of second derivatives a leaf needs"`
	L2        float64 `json:"l2" flag:"l2" default:"1" min:"0" help:"L2 penalty of leaf values"`
	L1        float64 `json:"l1" flag:"l1" min:"0" help:"L1 penalty of leaf values"`
	Gamma     float64 `json:"gamma" flag:"gamma" min:"0" help:"Gain that a split must exceed"`

	RowSample      float64 `json:"rowSample" flag:"rows" default:"1" above:"0" max:"1" help:"Share of rows that a round is trained on, drawn without replacement"`
	ColumnSample   float64 `json:"columnSample" flag:"columns" default:"1" above:"0" max:"1" help:"Share of columns that a tree may split on"`
	ColumnsByLevel float64 `json:"columnsByLevel" flag:"columns_by_level" default:"1" above:"0" max:"1" help:"Of those, share that a level may split on"`
	ColumnsByNode  float64 `json:"columnsByNode" flag:"columns_by_node" default:"1" above:"0" max:"1" help:"Of those, share that a node may split on"`

	Exact    bool    `json:"exact" flag:"exact" help:"Search all thresholds instead of histograms"`
	Bins     int     `json:"bins" flag:"bins" default:"255" min:"1" max:"255" help:"Bins of a histogram"`
	Monotone []int8  `json:"monotone,omitempty"` // -1, 0 or +1 a column; nil is none
	OneHot   int     `json:"oneHot"`             // see tree.Options
	Smooth   float64 `json:"smooth"`             // see tree.Options

	// Start are the scores to begin at, one for each of the loss; nil is the best
	// constants.
	Start []float64 `json:"start,omitempty"`
	Seed  uint64    `json:"seed"` // of all draws

	// Relax multiplies the weight of each row by h'(loss), computed anew every RelaxEvery rounds
	// and scaled to keep the mean weight. Nil is no reweighting. Validation rows keep their
	// weights. The model lists the rows with the largest multipliers.
	Relax      resilient.Relaxation `json:"-"`
	RelaxEvery int                  `json:"relaxEvery,omitempty" flag:"resilient_every" default:"5" min:"1" help:"Rounds after which --resilient weighs the rows anew"`

	Valid *Data `json:"-"` // rows on which the loss is watched; see package comment
}

// fill completes the settings for a table of that many rows, and refuses what is out of range.
func (o *GradientOptions) fill(rows int) error {
	if o.Depth == 0 && o.Leaves == 0 {
		o.Leaves = 31
	}
	if o.LeastSquares {
		o.MinWeight, o.L2 = cmp.Or(o.MinWeight, learner.None), cmp.Or(o.L2, learner.None)
	}
	if err := learner.Complete(o, o); err != nil {
		return fmt.Errorf("boost: gb: %w", err)
	}
	if o.Loss == nil {
		o.Loss = Logistic{}
	}
	if o.MinRows == 0 {
		o.MinRows = max(1, min(20, rows/20))
	}
	if err := score.Usable(o.Loss); err != nil {
		return err
	}
	if o.Relax == nil {
		o.RelaxEvery = 0
	} else if err := resilient.Usable(o.Relax); err != nil {
		return fmt.Errorf("boost: gb: %w", err)
	}
	if l, ok := o.Relax.(resilient.Level); ok {
		return fmt.Errorf("boost: gb: the relaxation %s has no weights", l.Name())
	}
	if o.Start != nil && len(o.Start) != o.Loss.Outputs() {
		return fmt.Errorf("boost: gb: %d start scores; the %s loss has %d", len(o.Start), o.Loss.Name(),
			o.Loss.Outputs())
	}
	for _, v := range o.Start {
		if v-v != 0 {
			return fmt.Errorf("boost: gb: the start score %v is not finite", v)
		}
	}
	return nil
}

// tree returns the growers' options; all that is in units of weighted derivatives is
// multiplied by scale.
func (o *GradientOptions) tree(scale float64) tree.Options {
	smooth := o.Smooth
	if smooth == 0 {
		smooth = 1
	}
	return tree.Options{
		MaxDepth: max(o.Depth, 0), MaxLeaves: o.Leaves, DepthWise: o.Leaves == 0,
		MinRows: o.MinRows, MinWeight: max(o.MinWeight, 0) * scale, L2: max(o.L2, 0) * scale, L1: o.L1 * scale,
		Gamma:    o.Gamma * scale,
		Monotone: o.Monotone, OneHot: o.OneHot, Smooth: smooth * scale,
		ColumnsByLevel: o.ColumnsByLevel, ColumnsByNode: o.ColumnsByNode,
	}
}

func (o *GradientOptions) settings() (string, error) {
	used := *o
	// negative is none, and no limit
	used.MinWeight, used.L2, used.Depth = max(o.MinWeight, 0), max(o.L2, 0), max(o.Depth, 0)
	b, err := json.Marshal(struct {
		*GradientOptions
		Loss  string `json:"loss"`
		Relax string `json:"relax,omitempty"`
	}{&used, o.Loss.Name(), relaxName(o.Relax)})
	if err != nil {
		return "", fmt.Errorf("boost: gb: settings: %w", err)
	}
	return string(b), nil
}

func relaxName(h resilient.Relaxation) string {
	if h == nil {
		return ""
	}
	return h.Name()
}
