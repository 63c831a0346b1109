package boost

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// Stumps is the learner of AdaBoost: decision stumps with leaves ±1, the constants
// ±1 among them. Of equals it takes the lowest column, then the lowest threshold (a
// constant before all), then +1 on the left. A round costs one pass over the
// sorted columns, or over histograms of Bins bins (up to 255) when that is not 0.
type Stumps struct{ Bins int }

func (Stumps) Name() string { return "stumps" }

// Prepare sorts or bins the columns.
func (l Stumps) Prepare(d *Data, workers int) (Fitter, error) {
	return SignTrees{Splits: 1, Bins: l.Bins}.Prepare(d, workers)
}

// SignTrees are trees of at most Splits internal nodes with leaves ±1. They are grown best split
// first to maximise the edge Σ_leaves |Σ u|, the steepest direction in the ball of the maximum
// norm. All thresholds are searched when Bins is 0, else those between bins of a histogram.
type SignTrees struct{ Splits, Bins int }

func (l SignTrees) Name() string { return fmt.Sprintf("trees:%d", l.Splits) }

// SignTreesOf reads the name of Stumps or SignTrees, as models record it: the most splits that
// their trees may have, with leaves ±1. It is not ok for the names of other learners.
func SignTreesOf(name string) (splits int, ok bool) {
	if name == (Stumps{}).Name() {
		return 1, true
	}
	text, ok := strings.CutPrefix(name, "trees:")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && n <= MaxSplits && SignTrees{Splits: n}.Name() == name
}

// Prepare sorts or bins the columns.
func (l SignTrees) Prepare(d *Data, workers int) (Fitter, error) {
	if l.Splits < 0 || l.Splits > MaxSplits {
		return nil, fmt.Errorf("boost: trees of %d splits; 0 to %d are possible", l.Splits, MaxSplits)
	}
	return newTreeFitter(d, workers, l.Splits, l.Bins, tree.Options{Criterion: tree.DualNorm, R: 1}, false)
}

// RegressionTrees fit -G by weighted least squares, or with Newton -G/H with weights H. They have
// at most Splits internal nodes, grown best split first over all thresholds when Bins is 0, else
// over those between bins of a histogram.
type RegressionTrees struct {
	Splits, Bins int
	Newton       bool
}

func (l RegressionTrees) Name() string { return fmt.Sprintf("regression-trees:%d", l.Splits) }

// Prepare sorts or bins the columns.
func (l RegressionTrees) Prepare(d *Data, workers int) (Fitter, error) {
	return newTreeFitter(d, workers, l.Splits, l.Bins, tree.Options{Smooth: d.weightScale()}, l.Newton)
}

// treeFitter grows trees for one booster.
type treeFitter struct {
	d       *Data
	workers int
	grower  *tree.Grower
	sign    bool // leaves ±1
	newton  bool
}

func newTreeFitter(d *Data, workers, splits, bins int, o tree.Options, newton bool) (Fitter, error) {
	if splits < 0 || splits > MaxSplits {
		return nil, fmt.Errorf("boost: trees of %d splits; 0 to %d are possible", splits, MaxSplits)
	}
	o.MaxLeaves, o.Workers, o.Ctx = splits+1, workers, d.ctx
	g, err := newGrower(d, bins == 0, bins, o)
	if err != nil {
		return nil, err
	}
	return &treeFitter{d, workers, g, o.Criterion == tree.DualNorm, newton}, nil
}

// newGrower returns a grower over all thresholds, or over those of histograms.
func newGrower(d *Data, exact bool, bins int, o tree.Options) (*tree.Grower, error) {
	if exact {
		g, err := tree.NewExactGrower(d.X, o)
		var e *table.Error
		if errors.As(err, &e) && d.X.Sparse != nil {
			e.Fixes = append(e.Fixes, table.Fix{Option: "Bins", Value: "255",
				Effect: "to split at the thresholds of histograms, which need no cell without a value"})
		}
		return g, err
	}
	b, err := tree.NewBins(d.X, &tree.BinOptions{Max: bins, Weights: d.W, Workers: o.Workers, Ctx: o.Ctx})
	if err != nil {
		return nil, err
	}
	return tree.NewGrower(b, o)
}

func (t *treeFitter) Fit(ctx context.Context, p *Direction) (*Fit, error) {
	m := t.d.Rows()
	target := &tree.Target{G: p.G, W: p.W, Rows: p.Rows}
	if t.newton {
		target.H = p.H
	}
	if err := t.grower.Grow(ctx, target); err != nil {
		return nil, err
	}
	var in []bool
	if p.Rows != nil {
		in = make([]bool, m)
		for _, i := range p.Rows {
			in[i] = true
		}
	}
	gr := collect(t.grower, m, in, t.workers, nil)
	s := gr.sums(t.workers, p.W, p.G, target.H, in)
	leaves := make([]float64, gr.splits()+1)
	for l := range leaves {
		size := s.n[l]
		if t.newton {
			size = s.h[l]
		}
		switch {
		case t.sign && s.g[l] > 0:
			leaves[l] = -1
		case t.sign:
			leaves[l] = 1
		case size > 0:
			leaves[l] = -s.g[l] / size
		}
	}
	fit := &Fit{Predictor: gr.tree(gr.splits(), leaves), Values: make([]float64, m), Complexity: math.NaN()}
	for i, l := range gr.slot {
		fit.Values[i] = leaves[l]
	}
	return fit, nil
}
