package g2p

import (
	"fmt"
	"strings"

	"github.com/tropica-fst/tropica/learn/learner"
)

// Settings are the options of training under the contract of package learner: what words can say
// of Options, Objective and FitOptions, so that they reach a worker elsewhere. They are of linear
// models. Names, ranges and
// defaults are those of the flags of `learn g2p train`.
type Settings struct {
	Preparation

	Objective string  `flag:"objective" default:"auto" values:"auto,cross-entropy,ce,hamming,margin,ngram,latent,maxmargin" help:"What training minimises; auto is latent"`
	Gamma     float64 `flag:"gamma" default:"4" min:"0" help:"Weight of the loss"`
	L2        float64 `flag:"l2" default:"0.3" min:"0" help:"Weight of the squares"`
	Beta      float64 `flag:"beta" default:"6" above:"0" help:"Sharpness of maxmargin"`
	Solver    string  `flag:"solver" default:"lbfgs" values:"lbfgs,proximal" help:"Optimiser: lbfgs, or accelerated proximal steps along the gradient"`
	Memory    int     `flag:"memory" default:"6" min:"1" help:"Pairs that L-BFGS keeps"`
}

// Preparation are the options of alignment, features and loss machines.
type Preparation struct {
	MaxPhones       int     `flag:"max_phones" default:"2" min:"1" max:"64" help:"Most phones that one letter may stand for"`
	AlignIterations int     `flag:"align_iterations" default:"10" min:"1" help:"Iterations of expectation maximization"`
	AlignMinCount   float64 `flag:"align_min_count" default:"1" min:"0" help:"Labels of a letter with a smaller expected count are dropped, but for those without which a word could not be aligned"`
	AlignMinProb    float64 `flag:"align_min_prob" min:"0" help:"Labels of a letter with a smaller probability are never predicted; 0 is none up to 2000 words, .001 up to 20000 and .004 above"`
	Widen           int     `flag:"widen" min:"0" max:"1000" help:"Labels of similar letters that every letter learns about too; other letters' labels are otherwise only backed off to"`
	Window          int     `flag:"window" default:"3" min:"1" max:"5" help:"Letters to either side that features see"`
	Damping         float64 `flag:"damping" default:"0.6" above:"0" max:"1" help:"Value of a feature of n letters is this to the power n-1"`
	MinCount        int     `flag:"min_count" default:"1" min:"1" help:"Features seen less often in training are left out"`
	History         int     `flag:"history" min:"0" max:"8" help:"Longest n-grams of labels that score an output; 0 is none beyond neighbours"`
	PhoneHistory    int     `flag:"phone_history" min:"0" max:"8" help:"Longest n-grams of phones that score an output; 0 is none"`
	HistoryMinCount int     `flag:"history_min_count" default:"2" min:"1" help:"N-grams of labels or phones seen less often in training are left out"`
	HistoryDamping  float64 `flag:"history_damping" default:"0.6" above:"0" max:"1" help:"Value of an n-gram of n labels or phones is this to the power n-1"`
	Marks           string  `flag:"marks" help:"Marks to count in a word, such as accents: phones or characters in them, separated by commas, several that are one kind joined by +; auto finds accents and stress, none counts none; not given, it is auto up to 2000 pairs, and up to 20000 where learn g2p train has no loss machines"`
	MaxEdges        int     `flag:"max_edges" default:"40000" min:"0" help:"Budget of column edges for the loss machine of a word; 0 is none"`
}

// engineWords is how many pairs the engine aligns: its lattices of more take gigabytes.
const engineWords = 20000

// Options returns how so many pairs are prepared.
func (p *Preparation) Options(pairs int) (*Options, error) {
	var t Preparation
	if err := learner.Complete(&t, p); err != nil {
		return nil, fmt.Errorf("g2p: %w", err)
	}
	return t.options(pairs), nil
}

func (p *Preparation) options(pairs int) *Options {
	views := ViewOptions{History: p.History, Phones: p.PhoneHistory, MinCount: p.HistoryMinCount,
		Damping: p.HistoryDamping}
	if p.Marks != "" {
		views.Marks = strings.Split(p.Marks, ",")
	}
	return &Options{MaxEdges: p.MaxEdges, Views: views,
		Align: AlignOptions{MaxPhones: p.MaxPhones, Iterations: p.AlignIterations, MinCount: p.AlignMinCount,
			MinProb: p.AlignMinProb, Widen: p.Widen, Direct: pairs > engineWords},
		Features: FeatureOptions{Window: p.Window, Damping: p.Damping, MinCount: p.MinCount}}
}

// Options returns how so many pairs are prepared, and the objective.
func (s *Settings) Options(pairs int) (*Options, Objective, error) {
	var t Settings
	if err := learner.Complete(&t, s); err != nil {
		return nil, Objective{}, fmt.Errorf("g2p: %w", err)
	}
	o := t.Preparation.options(pairs)
	kind := Kind(t.Objective)
	switch t.Objective {
	case "auto":
		kind = LatentMargin
	case "cross-entropy":
		kind = CrossEntropy
	}
	f := DefaultObjective(kind)
	f.L2 = learner.Amount(t.L2)
	if f.Gamma != 0 { // it has one
		f.Gamma = learner.Amount(t.Gamma)
	}
	if kind == MaxMargin {
		f.Beta = t.Beta
	}
	f, err := f.withDefaults()
	return o, f, err
}
