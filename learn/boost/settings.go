package boost

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/resilient"
	"github.com/tropica-fst/tropica/learn/run"
)

// LossSettings choose the loss of a booster.
type LossSettings struct {
	Loss       string  `flag:"loss" default:"auto" values:"auto,logistic,logistic2,exponential,squared,huber,softmax" help:"Loss; auto is logistic for two classes, softmax for more, squared for numbers. logistic2 is in base 2"`
	HuberDelta float64 `flag:"huber_delta" default:"1" above:"0" help:"Residual from which Huber's loss is linear"`
}

// Idle implements learner.Idler.
func (s *LossSettings) Idle(given func(string) bool) error {
	if given("huber_delta") && s.Loss != "huber" {
		return errors.New("huber_delta has no effect: only --loss=huber reads it")
	}
	return nil
}

// of returns the loss for a table's target.
func (s *LossSettings) of(t *table.Table) (Loss, error) {
	name := cmp.Or(s.Loss, "auto")
	if name == "auto" {
		switch {
		case t.Classes == nil:
			name = "squared"
		case len(t.Classes) > 2:
			name = "softmax"
		default:
			name = "logistic"
		}
	}
	switch name {
	case "softmax":
		if len(t.Classes) < 2 {
			return nil, fmt.Errorf("loss: softmax is for classes, and the target %q has %s "+
				"(--task=classification makes classes of integers)", t.TargetName, t.DescribeTarget())
		}
		return score.Parse(fmt.Sprintf("softmax:%d", len(t.Classes)))
	case "huber":
		name = fmt.Sprintf("huber:%v", cmp.Or(s.HuberDelta, 1))
	}
	l, err := score.Parse(name)
	if err != nil {
		return nil, fmt.Errorf("loss: %w", err)
	}
	if score.HasMargin(l) && len(t.Classes) != 2 {
		return nil, fmt.Errorf("loss: %s separates two classes, and the target %q has %s", name,
			t.TargetName, t.DescribeTarget())
	}
	return l, nil
}

// seedOf returns a seed that an option has: 1 where it is 0, and 0 for None.
func seedOf(seed int64) uint64 { return uint64(max(cmp.Or(seed, 1), 0)) }

// constraints reads monotone constraints such as age:+ and price:- for the columns of a table.
func constraints(list []string, t *table.Table) ([]int8, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make([]int8, len(t.Columns))
	for _, s := range list {
		at := strings.LastIndexByte(s, ':')
		if at < 0 || s[at+1:] != "+" && s[at+1:] != "-" {
			return nil, fmt.Errorf("monotone: %q is not a column's name, a colon, and + or -", s)
		}
		j := t.Column(s[:at])
		if j < 0 {
			return nil, fmt.Errorf("monotone: there is no column %q", s[:at])
		}
		if t.Columns[j].Kind == table.Categorical {
			return nil, fmt.Errorf("monotone: column %q is categorical and has no order", s[:at])
		}
		out[j] = 1
		if s[at+1:] == "-" {
			out[j] = -1
		}
	}
	return out, nil
}

// idleBins refuses bins of a search that has none.
func idleBins(given func(string) bool) error {
	if given("exact") && given("bins") {
		return errors.New("bins has no effect beside --exact, which searches all thresholds; leave one out")
	}
	return nil
}

// RGBSettings are RGBOptions in words.
type RGBSettings struct {
	LossSettings
	Named string `flag:"preset" default:"default" values:"default,thesis" help:"Setting that the other flags change: default (Newton leaves, sampling, candidates compared on left-out rows) or the literal one of the thesis"`
	RGBOptions
	Splits   []int     `flag:"splits" min:"0" help:"Internal nodes n of the families, separated by commas; as the preset says (4,8,16,32)"`
	Lambdas  []float64 `flag:"lambdas" above:"0" max:"Inf" help:"Bounds lambda of the families' leaf vectors (inf is none); as the preset says (0.001,0.01,0.1,0.5,1,2,4)"`
	Monotone []string  `flag:"monotone" help:"Monotone constraints, such as age:+,price:-"`
	Seed     int64     `flag:"seed" default:"1" min:"0" help:"Seed of all draws"`
}

// Preset implements learner.Presetter.
func (s *RGBSettings) Preset(name string) {
	if s.Named = name; name == "thesis" {
		s.RGBOptions = *Thesis()
	}
}

// Idle implements learner.Idler.
func (s *RGBSettings) Idle(given func(string) bool) error {
	if err := cmp.Or(s.LossSettings.Idle(given), idleBins(given)); err != nil {
		return err
	}
	o := &s.RGBOptions
	bounded := s.LossSettings.Loss != "exponential"
	for _, f := range []struct {
		name string
		idle bool
		why  string
	}{
		{"score", o.RowSample == 1 && o.Score == HeldOut, "--rows=1 leaves no row out, and candidates are " +
			"compared on the training rows"},
		{"min_hessian", o.Leaf != "" && o.Leaf != LeafNewton,
			fmt.Sprintf("only --leaf=newton reads it, and the leaf rule is %s", o.Leaf)},
		{"hoelder", !bounded || slices.Contains([]StepRule{StepLambda, StepLambda2, StepLine}, o.Step),
			"it bounds the curvature of a tree, which this step rule or loss has no use for"},
		{"alpha_max", bounded && o.Step != StepLine, "only --step=line and losses whose curvature has no " +
			"bound (exponential) read it"},
	} {
		if given(f.name) && f.idle {
			return fmt.Errorf("%s has no effect: %s", f.name, f.why)
		}
	}
	return nil
}

func trainRGBSettings(t *table.Table, s *RGBSettings, valid *table.Table, c *run.Control) (*Ensemble,
	*optim.Result, error) {
	o := s.RGBOptions
	var err error
	if o.Loss, err = s.LossSettings.of(t); err != nil {
		return nil, nil, err
	}
	if o.Monotone, err = constraints(s.Monotone, t); err != nil {
		return nil, nil, err
	}
	o.Seed = seedOf(s.Seed)
	if len(s.Splits) > 0 || len(s.Lambdas) > 0 {
		n, l := s.Splits, s.Lambdas
		if len(n) == 0 {
			n = []int{4, 8, 16, 32}
			if s.Named == "thesis" {
				n = ThesisSplits
			}
		}
		if len(l) == 0 {
			l = ThesisLambdas
		}
		o.Families = Grid(n, l)
	}
	var d *Data
	if d, o.Valid, err = data(t, valid, o.Loss); err != nil {
		return nil, nil, err
	}
	return TrainRGB(d, &o, c)
}

// GradientSettings are GradientOptions in words.
type GradientSettings struct {
	LossSettings
	GradientOptions
	Monotone []string `flag:"monotone" help:"Monotone constraints, such as age:+,price:-"`
	Seed     int64    `flag:"seed" default:"1" min:"0" help:"Seed of all draws"`
	resilient.Options
}

// Idle implements learner.Idler.
func (s *GradientSettings) Idle(given func(string) bool) error {
	return cmp.Or(s.LossSettings.Idle(given), idleBins(given))
}

func trainGradientSettings(t *table.Table, s *GradientSettings, valid *table.Table,
	c *run.Control) (*Ensemble,
	*optim.Result, error) {
	o := s.GradientOptions
	var relaxed resilient.Options
	err := learner.Complete(&relaxed, &s.Options)
	if err == nil {
		o.Relax, err = relaxed.Relaxation()
	}
	switch {
	case err != nil:
		return nil, nil, err
	case relaxed.Folds > 0:
		return nil, nil, errors.New("resilient_folds: gb has no folds; linear, sequence and g2p have")
	case o.RelaxEvery != 0 && o.Relax == nil:
		return nil, nil, errors.New("resilient_every has no effect without --resilient")
	}
	if o.Loss, err = s.LossSettings.of(t); err != nil {
		return nil, nil, err
	}
	if o.Monotone, err = constraints(s.Monotone, t); err != nil {
		return nil, nil, err
	}
	o.Seed = seedOf(s.Seed)
	var d *Data
	if d, o.Valid, err = data(t, valid, o.Loss); err != nil {
		return nil, nil, err
	}
	return TrainGradient(d, &o, c)
}

// AdaBoostSettings are AdaBoostOptions in words.
type AdaBoostSettings struct {
	AdaBoostOptions
	Splits []int `flag:"splits" default:"1" min:"0" help:"Internal nodes of trees; for deep a list, one family each (1,2,4,8 when not given)"`
	Bins   int   `flag:"bins" min:"0" max:"255" help:"Bins of a histogram; 0 searches all thresholds, which sorts every column: from some 100000 rows on, --bins 255 is several times faster"`
}

// Idle implements learner.Idler.
func (s *AdaBoostSettings) Idle(given func(string) bool) error {
	v := cmp.Or(s.Variant, Plain)
	for _, f := range []struct {
		name string
		read bool
		by   string
	}{
		{"bound", v == Deep, "deep"},
		{"bins", v != Deep, "plain, l1, logit-cd and logit-newton"},
		{"alpha_max", v != LogitNewton, "plain, l1, deep and logit-cd"},
	} {
		if given(f.name) && !f.read {
			return fmt.Errorf("%s has no effect: only --variant=%s looks at it, and the variant is %s", f.name, f.by,
				v)
		}
	}
	return nil
}

func trainAdaBoostSettings(t *table.Table, s *AdaBoostSettings, valid *table.Table,
	c *run.Control) (*Ensemble,
	*optim.Result, error) {
	if len(t.Classes) != 2 {
		return nil, nil, fmt.Errorf("%s: AdaBoost separates two classes; the target %q has %s (gb and rgb take "+
			"any)",
			t.Name, t.TargetName, t.DescribeTarget())
	}
	o := s.AdaBoostOptions
	splits := 1
	switch {
	case o.Variant == Deep:
		if len(s.Splits) > 0 {
			o.Families = Grid(s.Splits, []float64{1})
		}
	case len(s.Splits) > 1:
		return nil, nil, fmt.Errorf("splits: one number of internal nodes is needed, not %v; only the variant "+
			"deep takes several", s.Splits)
	case len(s.Splits) == 1:
		splits = s.Splits[0]
	}
	if o.Variant == LogitNewton {
		o.Learner = RegressionTrees{Splits: splits, Bins: s.Bins}
	} else if o.Variant != Deep {
		o.Learner = SignTrees{Splits: splits, Bins: s.Bins}
	}
	d, v, err := data(t, valid, Logistic{}) // any loss of two classes has these labels
	if err != nil {
		return nil, nil, err
	}
	o.Valid = v
	return TrainAdaBoost(d, &o, c)
}
