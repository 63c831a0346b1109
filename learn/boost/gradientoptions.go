package boost

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/resilient"
)

// GradientOptions adjusts TrainGradient. The zero value grows trees of 31 leaves, best split first,
// with Newton leaves, L2 penalty 1, learning rate 0.1 and no sampling. The number of trees is
// chosen on held-out rows. Where a field says "0 is", zero stands for that default.
//
// MinWeight, L2, L1, Gamma and Smooth are multiplied by the mean weight of the rows, so that the
// unit of weights does not matter.
type GradientOptions struct {
	Loss         Loss    `json:"-"`      // nil is Logistic{}
	Rounds       int     `json:"rounds"` // 0 is chosen on held-out rows, at most MostRounds
	LearningRate float64 `json:"rate"`   // multiplies every tree; 0 is 0.1

	// LeastSquares fits trees to the negative gradient, every row counting by its
	// weight (Friedman, "Greedy function approximation", Annals of Statistics
	// 29:1189–1232, 2001); by default rows count by the second derivative, and a leaf
	// takes a Newton step.
	LeastSquares bool `json:"leastSquares"`

	Depth int `json:"depth"` // of a tree; 0 and negative are no limit
	// of a tree, grown best split first; 0 grows level by level where Depth is given, else it is 31
	Leaves int `json:"leaves"`

	MinRows int `json:"minRows"` // rows a leaf needs; 0 is 20, but at most a twentieth of all
	// Σ of second derivatives or weights that a leaf needs; 0 is 1 for Newton leaves, else none;
	// negative is none
	MinWeight float64 `json:"minWeight"`
	// penalty ½ L2 w² on leaf values; 0 is 1 for Newton leaves, else none; negative is none
	L2    float64 `json:"l2"`
	L1    float64 `json:"l1"`    // penalty L1 |w|
	Gamma float64 `json:"gamma"` // gain that a split must exceed

	RowSample      float64 `json:"rowSample"`      // share of rows a round, without replacement; 0 is all
	ColumnSample   float64 `json:"columnSample"`   // share of columns a tree; 0 is all
	ColumnsByLevel float64 `json:"columnsByLevel"` // of those, share a level; 0 is all
	ColumnsByNode  float64 `json:"columnsByNode"`  // of those, share a node; 0 is all

	Exact    bool    `json:"exact"`              // search all thresholds; by default those of histograms
	Bins     int     `json:"bins"`               // of a histogram; 0 is 255, which is also the most
	Monotone []int8  `json:"monotone,omitempty"` // -1, 0 or +1 a column; nil is none
	OneHot   int     `json:"oneHot"`             // see tree.Options
	Smooth   float64 `json:"smooth"`             // see tree.Options

	// Start are the scores to begin at, one for each of the loss; nil is the best
	// constants.
	Start []float64 `json:"start,omitempty"`
	Seed  uint64    `json:"seed"`

	// Relax multiplies the weight of each row by h'(loss), computed anew every RelaxEvery rounds (0
	// is 5) and scaled to keep the mean weight. Nil is no reweighting. Validation rows keep their
	// weights. The model lists the rows with the largest multipliers.
	Relax      resilient.Relaxation `json:"-"`
	RelaxEvery int                  `json:"relaxEvery,omitempty"`

	Control `json:"-"`
}

func (o *GradientOptions) fill(rows int) {
	set := func(p *float64, v float64) {
		if *p == 0 {
			*p = v
		}
	}
	newton := 1.0
	if o.LeastSquares {
		newton = 0
	}
	if o.Loss == nil {
		o.Loss = Logistic{}
	}
	if o.Depth == 0 && o.Leaves == 0 {
		o.Leaves = 31
	}
	if o.MinRows == 0 {
		o.MinRows = max(1, min(20, rows/20))
	}
	if o.Bins == 0 {
		o.Bins = tree.MaxBins
	}
	if o.Relax != nil && o.RelaxEvery == 0 {
		o.RelaxEvery = 5
	}
	set(&o.LearningRate, 0.1)
	set(&o.MinWeight, newton)
	set(&o.L2, newton)
	for _, p := range []*float64{&o.RowSample, &o.ColumnSample, &o.ColumnsByLevel, &o.ColumnsByNode} {
		set(p, 1)
	}
}

func (o *GradientOptions) check() error {
	if err := score.Usable(o.Loss); err != nil {
		return err
	}
	if err := firstBad("gb", []limit{
		{"Rounds", float64(o.Rounds), o.Rounds >= 0, "at least 1, or 0 for a number chosen on held-out rows"},
		{"MinRows", float64(o.MinRows), o.MinRows >= 1, "at least 1"},
		{"Leaves", float64(o.Leaves), o.Leaves >= 0 && o.Leaves <= MaxSplits+1,
			fmt.Sprintf("between 0 (level by level) and %d", MaxSplits+1)},
		{"LearningRate", o.LearningRate, o.LearningRate > 0 && !math.IsInf(o.LearningRate, 1),
			"positive and finite"},
		{"RowSample", o.RowSample, isShare(o.RowSample), "a share, above 0 and at most 1"},
		{"ColumnSample", o.ColumnSample, isShare(o.ColumnSample), "a share, above 0 and at most 1"},
		{"ColumnsByLevel", o.ColumnsByLevel, isShare(o.ColumnsByLevel), "a share, above 0 and at most 1"},
		{"ColumnsByNode", o.ColumnsByNode, isShare(o.ColumnsByNode), "a share, above 0 and at most 1"},
		{"MinWeight", o.MinWeight, !math.IsNaN(o.MinWeight) && !math.IsInf(o.MinWeight, 1),
			"finite (negative is none)"},
		{"L2", o.L2, !math.IsNaN(o.L2) && !math.IsInf(o.L2, 1), "finite (negative is none)"},
		{"L1", o.L1, o.L1 >= 0 && !math.IsInf(o.L1, 1), "finite and not negative"},
		{"Gamma", o.Gamma, o.Gamma >= 0 && !math.IsInf(o.Gamma, 1), "finite and not negative"},
		{"RelaxEvery", float64(o.RelaxEvery), o.RelaxEvery >= 0, "at least 1, or 0 for 5"},
		{"Bins", float64(o.Bins), o.Bins >= 1 && o.Bins <= tree.MaxBins,
			fmt.Sprintf("between 1 and %d", tree.MaxBins)},
	}); err != nil {
		return err
	}
	if o.Relax != nil {
		if err := resilient.Usable(o.Relax); err != nil {
			return fmt.Errorf("boost: gb: %w", err)
		}
		if l, ok := o.Relax.(resilient.Level); ok {
			return fmt.Errorf("boost: gb: the relaxation %s has no weights", l.Name())
		}
	}
	switch {
	case o.Start != nil && len(o.Start) != o.Loss.Outputs():
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

// limit is a number among a booster's settings, whether it is in its range, and which that is.
type limit struct {
	name  string
	value float64
	ok    bool
	want  string
}

// firstBad names the first setting out of its range, with its value and what is allowed.
func firstBad(algorithm string, limits []limit) error {
	for _, l := range limits {
		if !l.ok {
			return fmt.Errorf("boost: %s: %s is %v; it must be %s", algorithm, l.name, l.value, l.want)
		}
	}
	return nil
}

func isShare(v float64) bool { return v > 0 && v <= 1 }

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
		ColumnsByLevel: o.ColumnsByLevel, ColumnsByNode: o.ColumnsByNode, Workers: o.Workers,
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
