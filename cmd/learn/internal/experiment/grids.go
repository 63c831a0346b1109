package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// Trainer is one setting of a booster. Several goroutines call Train, which gives the same model
// for the same data.
type Trainer struct {
	Name  string
	Train func(d *boost.Data, c *run.Control) (*boost.Ensemble, *optim.Result, error)
}

// Contestant is a booster with the settings to choose from; of equally good ones the first is
// taken.
type Contestant struct {
	Name string
	Grid []Trainer // at least one
}

// Choice says by what a setting is chosen on inner folds.
type Choice string

// The choices.
const (
	ByLoss  Choice = "loss"  // least mean loss; ties by error
	ByError Choice = "error" // least error rate; ties by loss
)

// Size classes of tables, by cells: how many settings are tried for each booster, on
// how many inner folds. They follow the recorded comparison, where XGBoost chose
// from 48 settings on five folds, 18 on two, and 6 on one.
type sizeClass int

const (
	smallTable  sizeClass = iota // up to 50,000 cells: sonar, cancer, diabetes
	mediumTable                  // up to 1,000,000: the OCR tables, higgs, semeion
	largeTable                   // more: MNIST
)

func classOf(rows, columns int) sizeClass {
	switch cells := rows * columns; {
	case cells <= 50_000:
		return smallTable
	case cells <= 1_000_000:
		return mediumTable
	}
	return largeTable
}

// inner is the number of inner folds that settings are tried on.
func (s sizeClass) inner() int { return [...]int{5, 2, 1}[s] }

// BoosterNames are the contestants of table 3.1. They are RGB with a part of its setting chosen on
// inner folds; the default preset of RGB, which chooses nothing; the literal setting of the thesis,
// beta chosen; and AdaBoost with trees of ±1. Plain gradient boosting is the control: the same
// trees and code without families, sampling and left-out rows, with XGBoost's grid.
var BoosterNames = []string{"rgb", "rgb-default", "rgb-thesis", "gb", "adaboost"}

// Boosters returns the contestants named (nil: all) for a table of that size, and
// the number of inner folds they choose on. T is 100 throughout. With quick, each
// has one to four settings.
func Boosters(names []string, rows, columns int, seed uint64, quick bool) ([]Contestant, int, error) {
	size := classOf(rows, columns)
	if len(names) == 0 {
		names = BoosterNames
	}
	var out []Contestant
	for k, name := range names {
		if slices.Contains(names[:k], name) {
			return nil, 0, fmt.Errorf("experiment: the booster %s is named twice", name)
		}
		var grid []Trainer
		switch name {
		case "rgb":
			grid = rgbGrid(size, seed, quick)
		case "rgb-default":
			grid = []Trainer{rgbTrainer("default", boost.RGBOptions{Rounds: 100, ZeroStart: true, Seed: seed})}
		case "rgb-thesis":
			grid = thesisGrid(size, seed, quick)
		case "gb":
			grid = gbGrid(size, seed, quick)
		case "adaboost":
			grid = adaGrid(size, quick)
		default:
			return nil, 0, fmt.Errorf("experiment: there is no booster %q; there are %s", name,
				strings.Join(BoosterNames, ", "))
		}
		out = append(out, Contestant{Name: name, Grid: grid})
	}
	if quick {
		return out, min(size.inner(), 2), nil
	}
	return out, size.inner(), nil
}

// rgbAxes are what the grid of RGB is made of; what they leave out is the default
// setting.
type rgbAxes struct {
	rates, columns, rows, hessians []float64
	splits                         [][]int
}

// The axes are the regularisers of the default setting, as XGBoost's were of its own. They are the
// rate, the shares of columns and rows, the least sum of second derivatives in a leaf, and for
// small tables stumps beside the default sizes. No grid is larger than XGBoost's.
//
// They were chosen by the losses and errors on inner folds of five trials of cancer, sonar,
// diabetes, ocr49 and higgs, moving one axis at a time. They were frozen before any test error with
// these grids was seen. Known by then were the study's test errors of the default setting, those of
// the default with four settings on all trials, and a run of two trials with four settings. On the
// inner folds (error in %, mean):
//
//   - rate: 0.03 to 0.05 are best on diabetes (23.6, against 25.2 at 0.1), 0.1 on higgs
//     and sonar, 0.1 to 0.3 on ocr49.
//   - rows: 0.9 instead of 0.6 lowers ocr49 from 3.0 to 2.7 at rate 0.2, and higgs from 29.4 to
//     29.1 with 20 for the least sum; sonar and cancer prefer 0.6.
//   - least sum: none or 0.1 is best on ocr49 (2.6 to 2.8, against 3.4 at 1; the norm ball already
//     bounds leaves). 5 is best on cancer (3.4 against 3.9), 10 on diabetes (24.4 against 25.2); on
//     higgs it matters little.
//   - sizes: stumps are best on diabetes (22.9), and bad elsewhere.
//   - lambda, S, the sampling of families, beta: nothing beyond noise.
var rgbGrids = [...]rgbAxes{
	smallTable: {rates: []float64{0.03, 0.1, 0.3}, columns: []float64{0.3, 1}, rows: []float64{0.6, 0.9},
		hessians: []float64{1, 5}, splits: [][]int{{4, 8, 16, 32}, {1}}},
	mediumTable: {rates: []float64{0.1, 0.2, 0.3}, columns: []float64{0.3, 0.6, 1}, rows: []float64{0.9},
		hessians: []float64{0.1, 20}, splits: [][]int{{4, 8, 16, 32}}},
	largeTable: {rates: []float64{0.2, 0.3, 0.5}, columns: []float64{0.3, 0.6}, rows: []float64{0.9},
		hessians: []float64{0.1}, splits: [][]int{{4, 8, 16, 32}}},
}

func rgbGrid(size sizeClass, seed uint64, quick bool) []Trainer {
	a := rgbGrids[size]
	if quick {
		a = rgbAxes{rates: []float64{0.1, 0.3}, columns: []float64{0.3, 1}, rows: a.rows[:1],
			hessians: a.hessians[:1], splits: a.splits[:1]}
	}
	var grid []Trainer
	for _, n := range a.splits {
		for _, h := range a.hessians {
			for _, m := range a.rows {
				for _, c := range a.columns {
					for _, r := range a.rates {
						o := boost.RGBOptions{Rounds: 100, ZeroStart: true, LearningRate: r, ColumnSample: c, RowSample: m,
							MinHessian: h, Families: boost.Grid(n, boost.ThesisLambdas), Seed: seed}
						grid = append(grid, rgbTrainer(fmt.Sprintf("rate=%v columns=%v rows=%v min_hessian=%v splits=%s", r, c,
							m, h, commas(n)), o))
					}
				}
			}
		}
	}
	return grid
}

func thesisGrid(size sizeClass, seed uint64, quick bool) []Trainer {
	betas := boost.ThesisBetas
	switch {
	case quick:
		betas = betas[1:2]
	case size == mediumTable:
		betas = betas[1:3] // 0.01 and 0.1: trees of 256 nodes take long
	case size == largeTable:
		betas = betas[1:2]
	}
	var grid []Trainer
	for _, b := range betas {
		o := *boost.Thesis()
		o.Beta, o.Seed = b, seed
		grid = append(grid, rgbTrainer(fmt.Sprintf("beta=%v", b), o))
	}
	return grid
}

func rgbTrainer(name string, o boost.RGBOptions) Trainer {
	return Trainer{Name: name, Train: func(d *boost.Data, c *run.Control) (*boost.Ensemble, *optim.Result,
		error) {
		return boost.TrainRGB(d, &o, c)
	}}
}

func gbGrid(size sizeClass, seed uint64, quick bool) []Trainer {
	l2s, depths, rates := []float64{0.1, 1, 4}, []int{1, 2, 4, 7}, []float64{0.01, 0.1, 0.5, 1}
	switch {
	case quick:
		l2s, depths, rates = []float64{1}, []int{2, 4}, []float64{0.1, 0.5}
	case size == mediumTable:
		depths, rates = []int{2, 4, 7}, []float64{0.1, 0.5}
	case size == largeTable:
		l2s, depths, rates = []float64{1}, []int{3, 5, 7}, []float64{0.1, 0.5}
	}
	var grid []Trainer
	for _, depth := range depths {
		for _, l2 := range l2s {
			for _, rate := range rates {
				o := boost.GradientOptions{Rounds: 100, LearningRate: rate, Depth: depth, MinRows: 1, L2: l2,
					Exact: size == smallTable, Start: []float64{0}, Seed: seed}
				grid = append(grid, Trainer{Name: fmt.Sprintf("depth=%d l2=%v rate=%v", depth, l2, rate),
					Train: func(d *boost.Data, c *run.Control) (*boost.Ensemble, *optim.Result, error) {
						return boost.TrainGradient(d, &o, c)
					}})
			}
		}
	}
	return grid
}

func adaGrid(size sizeClass, quick bool) []Trainer {
	splits, bins := []int{1, 3, 7, 15}, 0
	switch {
	case quick:
		splits, bins = []int{1, 3}, boostBins
	case size == mediumTable:
		splits, bins = []int{1, 3, 7}, boostBins
	case size == largeTable:
		splits, bins = []int{3, 15}, boostBins
	}
	var grid []Trainer
	for _, n := range splits {
		o := boost.AdaBoostOptions{Rounds: 100, Learner: boost.SignTrees{Splits: n, Bins: bins}}
		grid = append(grid, Trainer{Name: fmt.Sprintf("splits=%d", n),
			Train: func(d *boost.Data, c *run.Control) (*boost.Ensemble, *optim.Result, error) {
				return boost.TrainAdaBoost(d, &o, c)
			}})
	}
	return grid
}

const boostBins = 255

func commas(list []int) string {
	var b strings.Builder
	for k, v := range list {
		if k > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, v)
	}
	return b.String()
}
