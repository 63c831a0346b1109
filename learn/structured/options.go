package structured

import (
	"fmt"
	"slices"
	"strings"
)

// Options adjusts Train; zero fields are the defaults. Which losses there are depends on the kind
// of outputs: class: zero-one, costs. number: squared, absolute, pinball, eps-insensitive, huber,
// cauchy, geman-mcclure, fair, l2-l1, welsch, hinge, logistic. labels: hamming, f1, precision,
// recall, jaccard. histogram: hellinger, hellinger-l1, chi2. vector: squared, gaussian. ranking:
// rank, rank-normal, kendall. string: edit, smith-waterman, local, hamming, ngram-log,
// ngram-product, ngram-squared, ngram-cosine.
type Options struct {
	Loss       string    `flag:"loss" default:"auto" help:"Loss that predictions minimise. The default depends on the kind of outputs: zero-one, squared, hamming, hellinger, squared, rank or edit. Others are listed above"`
	C          float64   `flag:"loss_scale" min:"0" help:"Scale of robust losses, level of pinball, tolerance of eps-insensitive, width of gaussian, floor of ngram-log; 0 is the loss's own: 1, 0.5, 0.1, 1 and 1"`
	Kernel     string    `flag:"kernel" default:"auto" help:"Kernel of the inputs: gaussian:WIDTH, laplacian:WIDTH, linear, polynomial:DEGREE:OFFSET, or for strings ngram:LEAST-ORDER; without WIDTH the median distance times --width; auto is gaussian, or ngram:1-3"`
	Width      float64   `flag:"width" default:"1" above:"0" help:"Width of a kernel that names none, as a multiple of the median distance between rows"`
	Lambda     []float64 `flag:"lambda" above:"0" help:"Penalties; the one with the least loss on left-out examples is taken. Without any, 17 from 1e-8 to 1 times the kernel's mean"`
	Folds      int       `flag:"choice_folds" min:"0" help:"Folds to leave out when choosing lambda, at least 2; 0 leaves out single examples"`
	Estimator  string    `flag:"estimator" default:"ridge" values:"ridge,conjugate,nystrom,nadaraya-watson,neighbours" help:"Where the weights of training outputs come from"`
	Landmarks  int       `flag:"landmarks" default:"500" min:"1" help:"Training inputs that nystrom and the preconditioner of conjugate use; conjugate chooses lambda with them"`
	Neighbours int       `flag:"neighbours" default:"5" min:"1" help:"Neighbours that have a weight"`
	Bound      float64   `flag:"bound" min:"0" topic:"outputs" help:"Largest absolute number predicted; 0 is that of the training outputs"`
	Costs      []float64 `flag:"costs" topic:"outputs" help:"Costs of the loss costs: of predicting the first class, for each true one, then of the second, ..."`
	MostLabels int       `flag:"most_labels" min:"0" topic:"outputs" help:"Most labels of a prediction under the Hamming loss; 0 is any number"`
	FAS        string    `flag:"fas" default:"sift" values:"heuristic,sift,exact" topic:"outputs" help:"How orders are sought where not all rated all"`
	Candidates string    `flag:"candidates" default:"auto" values:"auto,training,lexicon,near" topic:"strings" help:"Strings to choose from: training outputs, a lexicon, or all near the input whose pairs of symbols occurred; auto is the lexicon where there is one"`
	Edits      int       `flag:"edits" min:"0" topic:"strings" help:"Candidates are within this many edits of the input; 0 is any number for a lexicon, and 2 for near"`
	Grams      int       `flag:"grams" default:"2" min:"1" topic:"strings" help:"Symbols of an n-gram of the losses ngram-..."`
	Method     string    `flag:"method" default:"auto" values:"auto,list,position,intersection,best-first,k-best,local" topic:"strings" help:"How strings are sought"`
	Budget     int       `flag:"budget" default:"20000" min:"1" topic:"strings" help:"Prefixes that are expanded, or strings rescored, for a prediction"`
	Truncate   float64   `flag:"truncate" min:"0" max:"0.5" topic:"weights" help:"Share of the absolute weights that may be left out of a prediction, for speed"`
	Clip       bool      `flag:"clip" topic:"weights" help:"Set negative eigenvalues of the kernel to zero; by default such a kernel is an error"`
	Raw        bool      `flag:"raw" topic:"weights" help:"Take columns as they are; by default they are brought to mean 0 and variance 1"`
	Seed       uint64    `flag:"seed" default:"1" topic:"weights" help:"Seed of landmarks and folds"`
}

// lossOr returns the loss that was chosen, or the default of the kind.
func (o *Options) lossOr(def string) string {
	if o.Loss == "auto" || o.Loss == "" {
		return def
	}
	return o.Loss
}

// only refuses a loss that the kind of outputs does not have.
func (o *Options) only(names ...string) error {
	if o.Loss == "auto" || o.Loss == "" || slices.Contains(names, o.Loss) {
		return nil
	}
	return fmt.Errorf("structured: loss: %q is none of these outputs, which have %s", o.Loss,
		strings.Join(names, ", "))
}
