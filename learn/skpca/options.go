package skpca

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/kernel"
	"github.com/tropica-fst/tropica/learn/linear"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// Options adjusts Train; zero fields are the defaults. Where Rank, Trace, Lambda, Nu or Gamma list
// several values, one combination is chosen by Choose.
type Options struct {
	Rank    []int     `flag:"rank" default:"10" min:"1" help:"Features kept, of all kernels together"`
	Trace   []float64 `flag:"trace" above:"0" max:"1" help:"Features kept by share of the trace, in place of --rank: as few as hold this share of all kernels' traces at equal weights"`
	Gamma   []float64 `flag:"gamma" default:"0.001" above:"0" help:"Weight of half the squared norm of the classifier beside the mean loss"`
	Nu      []float64 `flag:"nu" default:"+Inf" min:"1" max:"Inf" help:"Bound on the sum of inverse kernel weights, in squares of the number of kernels; Inf lets kernels be left out"`
	Lambda  []float64 `flag:"lambda" default:"1" above:"0" max:"1" help:"Bound on the Ky-Fan norm, as a part of its largest value; 1 does not bind"`
	Kernels []string  `flag:"kernels" default:"linear,gaussian:0.5,gaussian:1,gaussian:2,polynomial:2:1" help:"Base kernels: linear, gaussian:WIDTH, laplacian:WIDTH, polynomial:DEGREE:OFFSET:WIDTH, constant; widths in medians of the distance, of polynomials in columns"`
	Groups  []string  `flag:"groups" help:"Groups of columns, such as 1-30+40, each of which gets all kernels too; each stands for every column"`
	Search  Search    `flag:"search" default:"auto" values:"auto,exact,local,two-stage,aligned" help:"How the features are divided over the kernels"`

	Loss   string  `flag:"loss" default:"auto" values:"auto,logistic,hinge,squared" topic:"classifier" help:"Loss; auto is logistic for classes, squared for numbers"`
	Strict bool    `flag:"strict" topic:"classifier" help:"No constant: the hypothesis set that the bounds are for"`
	Rho    float64 `flag:"rho" min:"0" topic:"classifier" help:"Margin: bounds the norm of the classifier by 1 and divides its scores by the margin, in place of gamma; 0 is a penalty"`

	Choose      string  `flag:"choose_by" default:"cv" values:"cv,bound" topic:"choice" help:"What chooses among several settings: cross-validation, or the bound on the error"`
	Folds       int     `flag:"choice_folds" default:"5" min:"2" topic:"choice" help:"Folds of cross-validation"`
	Independent bool    `flag:"independent" topic:"choice" help:"Eigenfunctions from the unlabelled rows alone, those of weight 0: the bounds that are proved need it"`
	Delta       float64 `flag:"delta" default:"0.05" above:"0" max:"1" topic:"choice" help:"Bounds hold with a probability of 1 less this"`

	Scale    string `flag:"scale" default:"max" values:"max,cosine" topic:"kernels" help:"How kernels are brought to k(x,x) of at most 1: by their largest, or each value by its examples'"`
	Centre   bool   `flag:"centre" topic:"kernels" help:"Centre the kernels on the sample, as usual kernel PCA does; the bounds are for kernels that are not"`
	Absolute bool   `flag:"absolute" topic:"kernels" help:"Take widths as they are"`
	Raw      bool   `flag:"raw" topic:"kernels" help:"Take columns as they are; by default they are brought to mean 0 and variance 1"`

	Landmarks int    `flag:"landmarks" min:"0" topic:"scale" help:"Rows that stand for all (Nystrom); 0 is all rows"`
	Choice    string `flag:"landmark_choice" default:"uniform" values:"uniform,spread,leverage" topic:"scale" help:"How landmarks are drawn"`
	Fourier   int    `flag:"fourier" min:"0" max:"1048576" topic:"scale" help:"Random features for gaussian and laplacian kernels in place of rows; 0 is none"`
	Megabytes int    `flag:"memory" default:"4096" min:"1" topic:"scale" help:"Memory that matrices may take, in MB"`
	MaxCells  int    `flag:"max_cells" default:"2000" min:"1" topic:"scale" help:"Cells up to which auto searches all of them"`
	Seed      uint64 `flag:"seed" default:"1" topic:"scale" help:"Seed of landmarks, random features and folds"`
}

// setting is one combination of constants.
type setting struct {
	Trace  float64 `json:"trace,omitempty"` // share that sets Rank, once features are known; 0 is none
	Rank   int     `json:"rank"`
	Lambda float64 `json:"lambda"` // a part of the largest Ky-Fan norm
	Nu     float64 `json:"-"`      // in squares of the number of kernels
	Gamma  float64 `json:"gamma"`
}

func (s setting) String() string {
	text := fmt.Sprintf("rank=%d lambda=%g nu=%g gamma=%g", s.Rank, s.Lambda, s.Nu, s.Gamma)
	if s.Trace > 0 {
		return fmt.Sprintf("trace=%g ", s.Trace) + text
	}
	return text
}

// follows reports whether a fit of s can start from one of v: they differ in gamma alone.
func (s setting) follows(v setting) bool {
	v.Gamma = s.Gamma
	return s == v
}

// settings lists the combinations, so that what follows another starts well from it: gamma
// changes first, from large to small.
func (o *Options) settings() []setting {
	gamma := slices.Sorted(slices.Values(o.Gamma))
	slices.Reverse(gamma)
	var sizes, out []setting
	for _, share := range slices.Sorted(slices.Values(o.Trace)) {
		sizes = append(sizes, setting{Trace: share})
	}
	if sizes == nil {
		for _, r := range slices.Sorted(slices.Values(o.Rank)) {
			sizes = append(sizes, setting{Rank: r})
		}
	}
	for _, v := range sizes {
		for _, v.Lambda = range o.Lambda {
			for _, v.Nu = range o.Nu {
				for _, v.Gamma = range gamma {
					out = append(out, v)
				}
			}
		}
	}
	return slices.Compact(out)
}

// lossOf returns the loss for a table's target; nil is the hinge loss.
func (o *Options) lossOf(t *table.Table) (score.Loss, error) {
	name := o.Loss
	if name == "auto" {
		if name = "logistic"; t.Classes == nil {
			name = "squared"
		}
	}
	if t.Classes == nil && name != "squared" {
		return nil, fmt.Errorf("skpca: loss: %s is for classes, and the target %q has numbers", name, t.TargetName)
	}
	switch name {
	case "hinge":
		return nil, nil
	case "squared":
		return score.Squared{}, nil
	}
	return score.Logistic{}, nil
}

// resolved returns the kernels in units of the features x, with their names as a user wrote
// them. n is the number of columns of the table that groups count.
func (o *Options) resolved(t *table.Table, fs []linear.Feature, x *kernel.Matrix) ([]kernel.Vector,
	[]string, error) {
	groups := []string{""}
	for _, g := range o.Groups {
		if g != "each" {
			groups = append(groups, g)
			continue
		}
		last := -1
		for i := range fs {
			if c := fs[i].Column; c != last {
				groups, last = append(groups, strconv.Itoa(c+1)), c
			}
		}
	}
	median := map[string]float64{}
	var kernels []kernel.Vector
	var names []string
	for _, g := range groups {
		for _, text := range o.Kernels {
			name := text
			if g != "" {
				if strings.Contains(text, "@") || strings.HasPrefix(text, string(kernel.Constant)) {
					continue
				}
				name += "@" + g
			}
			k, err := kernel.ParseVector(name)
			if err != nil {
				return nil, nil, fmt.Errorf("skpca: kernels: %w", err)
			}
			if k.Columns != nil {
				if k.Columns, err = kernel.FeatureColumns(t, fs, k.Columns); err != nil {
					return nil, nil, fmt.Errorf("skpca: groups: %w", err)
				}
			}
			d := len(k.Columns)
			if k.Columns == nil {
				d = x.Cols
			}
			if !o.Absolute {
				unit := float64(d)
				switch k.Kind {
				case kernel.Gaussian, kernel.Laplacian:
					key := fmt.Sprint(k.Kind == kernel.Laplacian, k.Columns)
					if median[key] == 0 {
						if median[key], err = kernel.MedianDistance(x, k.Kind, k.Columns, 0, o.Seed); err != nil {
							return nil, nil, fmt.Errorf("skpca: %s: %w", name, err)
						}
					}
					unit = median[key]
				case kernel.Linear, kernel.Constant:
					unit = 1
				}
				if k.Width == 0 {
					k.Width = 1
				}
				k.Width *= unit
			}
			k.Normal = k.Normal || o.Scale == "cosine"
			kernels, names = append(kernels, k), append(names, name)
		}
	}
	if len(kernels) > maxKernels {
		return nil, nil, fmt.Errorf("skpca: %d kernels; %d are the most", len(kernels), maxKernels)
	}
	return kernels, names, nil
}

// maxKernels bounds kernels: the conditions of a cell number their product with the rank.
const maxKernels = 1000

// nu returns the bound on Σ 1/μ.
func (s setting) nu(kernels int) float64 {
	if math.IsInf(s.Nu, 1) {
		return s.Nu
	}
	return s.Nu * float64(kernels*kernels)
}
