package tree

import (
	"context"
	"fmt"
	"math"
)

// Criterion says what a split is to increase; the zero value is LeastSquares.
type Criterion string

const (
	// LeastSquares is the fall of Σ G h + ½ Σ H h² that best leaf values bring, twice:
	// G²/(H+L2) of both children less that of the parent. It is the Newton gain of
	// gradient boosting, and with H as weights that of a regression tree.
	LeastSquares Criterion = ""
	// DualNorm is the increase of the norm ‖G‖_r of the leaves' sums, raised to the power r when
	// that is finite. It is for leaf values in the ball of the dual norm. Options.R is r. H and the
	// penalties do not enter.
	DualNorm Criterion = "dual-norm"
)

// Options says which trees a Grower grows. The zero value grows best first, without
// penalties, until no split has any gain.
type Options struct {
	MaxDepth  int  // edges from the root to a leaf; 0 is no limit
	MaxLeaves int  // 0 is no limit
	DepthWise bool // splits level by level; otherwise the leaf of the largest gain is next

	// least number of rows in a child; 0 is 1. Above 1 the low bits of Cell.H count rows, at the
	// cost of as many bits of H
	MinRows   int
	MinWeight float64 // Σ H in a child
	L2        float64 // penalty ½ L2 w² on each leaf value
	L1        float64 // penalty L1 |w|
	Gamma     float64 // gain that a split must exceed
	MinGain   float64 // the same, as a fraction of the parent's G²/(H+L2); 0 is 1e-12

	Criterion Criterion
	R         float64 // of DualNorm; 0 is 2; may be infinite

	// by column: +1 for values that must not fall as it grows, -1 not rise, 0 free; nil is all free
	Monotone []int8

	// Categorical columns with up to OneHot levels in a node split off one level;
	// with more, levels are ordered by G/(H+Smooth) and cut once, which finds the
	// best division in two (W. Fisher, "On grouping for maximum homogeneity", JASA
	// 53:789–798, 1958) when Smooth is small against H. Zeros are 4 and 1; a negative
	// Smooth is none.
	OneHot int
	Smooth float64

	// LevelCost is a factor of the gain that levels beyond OneHot have from noise, which is
	// subtracted from the gain of dividing a categorical column. With many levels of few rows each,
	// some division always fits the rows at hand. 0 is 1; negative is none. See levelCost.
	LevelCost float64

	ColumnsByLevel float64 // share of the columns that may split on a level; 0 is all
	ColumnsByNode  float64 // of those, share that may split a node; 0 is all

	// HistogramBytes bounds the memory in which open nodes keep histograms; nodes
	// beyond it are summed from their rows again. 0 is 256 MB.
	HistogramBytes int64
	Workers        int // goroutines; 0 is one a processor. Trees do not depend on it

	// Ctx, when it is cancelled, ends the search for splits at the next block of columns: Step
	// then makes none. nil is never cancelled.
	Ctx context.Context
}

func (o Options) withDefaults() Options {
	if o.MinRows == 0 {
		o.MinRows = 1
	}
	if o.MinGain == 0 {
		o.MinGain = 1e-12
	}
	if o.R == 0 {
		o.R = 2
	}
	if o.OneHot == 0 {
		o.OneHot = 4
	}
	switch {
	case o.Smooth == 0:
		o.Smooth = 1
	case o.Smooth < 0:
		o.Smooth = 0
	}
	switch {
	case o.LevelCost == 0:
		o.LevelCost = 1
	case o.LevelCost < 0:
		o.LevelCost = 0
	}
	if o.ColumnsByLevel == 0 {
		o.ColumnsByLevel = 1
	}
	if o.ColumnsByNode == 0 {
		o.ColumnsByNode = 1
	}
	if o.HistogramBytes == 0 {
		o.HistogramBytes = 256 << 20
	}
	return o
}

// Check returns an error that names the first option out of its range, for tables
// of that many columns.
func (o *Options) Check(columns int, categorical func(int) bool) error {
	bad := func(name string, v any, want string) error {
		return fmt.Errorf("tree: %w: %s is %v; %s", ErrData, name, v, want)
	}
	for _, n := range []struct {
		name string
		v    int
	}{{"MaxDepth", o.MaxDepth}, {"MaxLeaves", o.MaxLeaves}, {"MinRows", o.MinRows}, {"OneHot", o.OneHot},
		{"Workers", o.Workers}} {
		if n.v < 0 {
			return bad(n.name, n.v, "it must not be negative")
		}
	}
	for _, n := range []struct {
		name string
		v    float64
	}{{"MinWeight", o.MinWeight}, {"L2", o.L2}, {"L1", o.L1}, {"Gamma", o.Gamma}, {"MinGain", o.MinGain}} {
		if !(n.v >= 0) || math.IsInf(n.v, 1) {
			return bad(n.name, n.v, "it must be finite and not negative")
		}
	}
	for _, n := range []struct {
		name string
		v    float64
	}{{"ColumnsByLevel", o.ColumnsByLevel}, {"ColumnsByNode", o.ColumnsByNode}} {
		if !(n.v >= 0 && n.v <= 1) {
			return bad(n.name, n.v, "it is a share, from 0 to 1")
		}
	}
	if math.IsNaN(o.Smooth) || math.IsInf(o.Smooth, 0) {
		return bad("Smooth", o.Smooth, "it must be finite")
	}
	if math.IsNaN(o.LevelCost) || math.IsInf(o.LevelCost, 0) {
		return bad("LevelCost", o.LevelCost, "it must be finite")
	}
	if o.Criterion != LeastSquares && o.Criterion != DualNorm {
		return bad("Criterion", o.Criterion, "there is none of that name")
	}
	if o.R != 0 && !(o.R >= 1) {
		return bad("R", o.R, "norms have r from 1 to infinity")
	}
	if o.Monotone == nil {
		return nil
	}
	if len(o.Monotone) != columns {
		return bad("Monotone", fmt.Sprintf("of %d columns", len(o.Monotone)),
			fmt.Sprintf("the table has %d", columns))
	}
	for j, d := range o.Monotone {
		if d < -1 || d > 1 {
			return bad(fmt.Sprintf("Monotone[%d]", j), d, "it must be -1, 0 or +1")
		}
		if d != 0 && categorical(j) {
			return bad(fmt.Sprintf("Monotone[%d]", j), d, "a categorical column has no order")
		}
		if d != 0 && o.Criterion != LeastSquares {
			return bad(fmt.Sprintf("Monotone[%d]", j), d, "only least-squares splits can be monotone")
		}
	}
	return nil
}
