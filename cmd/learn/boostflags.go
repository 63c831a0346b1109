package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/options"
	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// booster is one way of boosting with its settings, and what a command line makes of
// them.
type booster struct {
	group string
	loss  boost.Loss
	rgb   boost.RGBOptions
	gb    boost.GradientOptions
	ada   boost.AdaBoostOptions
	begun bool // settings are there, which further flags change
}

// train runs the booster.
func (b *booster) train(d *boost.Data, c boost.Control) (*boost.Ensemble, error) {
	switch b.group {
	case "rgb":
		o := b.rgb
		o.Loss, o.Control = b.loss, c
		return boost.TrainRGB(d, &o)
	case "gb":
		o := b.gb
		o.Loss, o.Control = b.loss, c
		return boost.TrainGradient(d, &o)
	}
	o := b.ada
	o.Control = c
	return boost.TrainAdaBoost(d, &o)
}

// spelt returns the whole setting as text. The same setting always gives the same text, since what
// flags set has no pointers.
func (b *booster) spelt() string {
	switch b.group {
	case "rgb":
		return fmt.Sprintf("rgb %#v %#v", b.loss, b.rgb)
	case "gb":
		return fmt.Sprintf("gb %#v %#v", b.loss, b.gb)
	}
	return fmt.Sprintf("adaboost %#v", b.ada)
}

// open reports whether the number of rounds is left to held-out rows.
func (b *booster) open() bool {
	return b.group == "rgb" && b.rgb.Rounds == 0 || b.group == "gb" && b.gb.Rounds == 0
}

// settings defines a group's flags and returns what applies those that were given
// to a booster for a table. A grid of cross-validation applies several sets of flags
// in turn.
func settings(group string, fs *flags.Set) func(b *booster, x *table.Table) error {
	var apply func(b *booster, x *table.Table) error
	switch group {
	case "rgb":
		apply = rgbSettings(fs)
	case "gb":
		apply = gbSettings(fs)
	default:
		apply = adaSettings(fs)
	}
	if group == "adaboost" {
		return func(b *booster, x *table.Table) error {
			b.loss = boost.Logistic{} // the common measure of validation and cross-validation
			if len(x.Classes) != 2 {
				return fmt.Errorf("%s: AdaBoost separates two classes; the target %q has %s (gb and rgb take any)",
					x.Name, x.TargetName, describeTarget(x))
			}
			return apply(b, x)
		}
	}
	loss := fs.Enum("loss", "auto", []string{"auto", "logistic", "logistic2", "exponential", "squared", "huber",
		"softmax"}, "Loss; auto is logistic for two classes, softmax for more, squared for numbers. logistic2 "+
		"is in base 2")
	delta := fs.Float("huber_delta", 1, "Residual from which Huber's loss is linear")
	return func(b *booster, x *table.Table) error {
		if fs.Given("huber_delta") && *loss != "huber" {
			return errors.New("flag --huber_delta has no effect: only --loss=huber reads it")
		}
		if b.loss == nil || fs.Given("loss") || fs.Given("huber_delta") {
			var err error
			if b.loss, err = lossFor(*loss, *delta, x); err != nil {
				return err
			}
		}
		return apply(b, x)
	}
}

func describeTarget(x *table.Table) string {
	if x.Classes == nil {
		return "numbers"
	}
	return fmt.Sprintf("%d classes", len(x.Classes))
}

func lossFor(name string, delta float64, x *table.Table) (boost.Loss, error) {
	if name == "auto" {
		switch {
		case x.Classes == nil:
			name = "squared"
		case len(x.Classes) > 2:
			name = "softmax"
		default:
			name = "logistic"
		}
	}
	switch name {
	case "softmax":
		if len(x.Classes) < 2 {
			return nil, fmt.Errorf("flag --loss: softmax is for classes, and the target %q has %s "+
				"(--task=classification makes classes of integers)", x.TargetName, describeTarget(x))
		}
		return score.Parse(fmt.Sprintf("softmax:%d", len(x.Classes)))
	case "huber":
		name = fmt.Sprintf("huber:%v", delta)
	}
	l, err := score.Parse(name)
	if err != nil {
		return nil, fmt.Errorf("flag --loss: %w", err)
	}
	if score.HasMargin(l) && len(x.Classes) != 2 {
		return nil, fmt.Errorf("flag --loss: %s separates two classes, and the target %q has %s", name,
			x.TargetName, describeTarget(x))
	}
	return l, nil
}

// integers reads a list of integers.
func integers(name, value string) ([]int, error) {
	var out []int
	for _, s := range list(value) {
		v, err := strconv.Atoi(s)
		if err != nil {
			return nil, fmt.Errorf("flag --%s: %q is not an integer", name, s)
		}
		out = append(out, v)
	}
	return out, nil
}

// reals reads a list of numbers, inf among them.
func reals(name, value string) ([]float64, error) {
	var out []float64
	for _, s := range list(value) {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(v) {
			return nil, fmt.Errorf("flag --%s: %q is not a number", name, s)
		}
		out = append(out, v)
	}
	return out, nil
}

// monotoneFlag defines --monotone, and returns what stores the constraints that were given.
func monotoneFlag(fs *flags.Set) func(to *[]int8, x *table.Table) error {
	value := fs.String("monotone", "", "Monotone constraints, such as age:+,price:-")
	return func(to *[]int8, x *table.Table) error {
		if !fs.Given("monotone") {
			return nil
		}
		var err error
		*to, err = monotone(*value, x)
		return err
	}
}

// monotone reads constraints such as age:+,price:-.
func monotone(value string, x *table.Table) ([]int8, error) {
	if value == "" {
		return nil, nil
	}
	out := make([]int8, len(x.Columns))
	for _, s := range list(value) {
		at := strings.LastIndexByte(s, ':')
		if at < 0 || s[at+1:] != "+" && s[at+1:] != "-" {
			return nil, fmt.Errorf("flag --monotone: %q is not a column's name, a colon, and + or -", s)
		}
		j := x.Column(s[:at])
		if j < 0 {
			return nil, fmt.Errorf("flag --monotone: there is no column %q", s[:at])
		}
		if x.Columns[j].Kind == table.Categorical {
			return nil, fmt.Errorf("flag --monotone: column %q is categorical and has no order", s[:at])
		}
		out[j] = 1
		if s[at+1:] == "-" {
			out[j] = -1
		}
	}
	return out, nil
}

// binsOfExact refuses bins of a search that has none.
func binsOfExact(fs *flags.Set) error {
	if fs.Given("exact") && fs.Given("bins") {
		return errors.New("flag --bins has no effect beside --exact, which searches all thresholds; leave one out")
	}
	return nil
}

// idleRGB refuses flags that the other settings leave without effect.
func idleRGB(fs *flags.Set, b *booster) error {
	o := &b.rgb
	bounded := b.loss == nil || !math.IsInf(b.loss.Curvature(1), 1)
	for _, f := range []struct {
		name string
		idle bool
		why  string
	}{
		{"score", o.RowSample == 1 && o.Score == boost.HeldOut, "--rows=1 leaves no row out, and candidates are " +
			"compared on the training rows"},
		{"min_hessian", o.Leaf != "" && o.Leaf != boost.LeafNewton,
			fmt.Sprintf("only --leaf=newton reads it, and the leaf rule is %s", o.Leaf)},
		{"hoelder", !bounded || slices.Contains([]boost.StepRule{boost.StepLambda, boost.StepLambda2,
			boost.StepLine}, o.Step),
			"it bounds the curvature of a tree, which this step rule or loss has no use for"},
		{"alpha_max", bounded && o.Step != boost.StepLine, "only --step=line and losses whose curvature has no " +
			"bound (exponential) read it"},
	} {
		if fs.Given(f.name) && f.idle {
			return fmt.Errorf("flag --%s has no effect: %s", f.name, f.why)
		}
	}
	return nil
}

func rgbSettings(fs *flags.Set) func(*booster, *table.Table) error {
	preset := fs.Enum("preset", "default", []string{"default", "thesis"},
		"Setting that the other flags change: default (Newton leaves, sampling, candidates compared on left-out "+
			"rows) or the literal one of the thesis")
	options.Define(fs, &boost.RGBOptions{})
	splits := fs.String("splits", "", "Internal nodes n of the families, separated by commas; as the preset "+
		"says (4,8,16,32)")
	lambdas := fs.String("lambdas", "", "Bounds lambda of the families' leaf vectors (inf is none); as the "+
		"preset says (0.001,0.01,0.1,0.5,1,2,4)")
	mono := monotoneFlag(fs)
	seed := fs.Uint("seed", 1, "Seed of all draws")
	return func(b *booster, x *table.Table) error {
		o := &b.rgb
		if fs.Given("preset") || !b.begun {
			b.begun = true
			*o = boost.RGBOptions{}
			if *preset == "thesis" {
				*o = *boost.Thesis()
			}
			o.Seed = 1
		}
		if err := overwrite(fs, o); err != nil {
			return err
		}
		if fs.Given("seed") {
			o.Seed = *seed
		}
		if err := binsOfExact(fs); err != nil {
			return err
		}
		if err := idleRGB(fs, b); err != nil {
			return err
		}
		if fs.Given("splits") || fs.Given("lambdas") {
			n, err := integers("splits", *splits)
			if err != nil {
				return err
			}
			l, err := reals("lambdas", *lambdas)
			if err != nil {
				return err
			}
			if len(n) == 0 {
				n = []int{4, 8, 16, 32}
				if *preset == "thesis" {
					n = boost.ThesisSplits
				}
			}
			if len(l) == 0 {
				l = boost.ThesisLambdas
			}
			o.Families = boost.Grid(n, l)
		}
		return mono(&o.Monotone, x)
	}
}

func gbSettings(fs *flags.Set) func(*booster, *table.Table) error {
	options.Define(fs, &boost.GradientOptions{})
	mono := monotoneFlag(fs)
	seed := fs.Uint("seed", 1, "Seed of all draws")
	relaxation := resilientFlags(fs)
	return func(b *booster, x *table.Table) error {
		o := &b.gb
		if !b.begun || fs.Given("seed") {
			b.begun, o.Seed = true, *seed
		}
		if err := overwrite(fs, o); err != nil {
			return err
		}
		h, folds, err := relaxation()
		if err != nil {
			return err
		}
		if folds > 0 {
			return errors.New("flag --resilient_folds: gb has no folds; linear, sequence and g2p have")
		}
		if h != nil {
			o.Relax = h
		}
		if o.RelaxEvery != 0 && o.Relax == nil {
			return errors.New("flag --resilient_every has no effect without --resilient")
		}
		if err := binsOfExact(fs); err != nil {
			return err
		}
		return mono(&o.Monotone, x)
	}
}

func adaSettings(fs *flags.Set) func(*booster, *table.Table) error {
	options.Define(fs, &boost.AdaBoostOptions{})
	splits := fs.String("splits", "1", "Internal nodes of trees; for deep a list, one family each (1,2,4,8 "+
		"when not given)")
	bins := fs.Int("bins", 32, 0, "Bins of a histogram; 0 searches all thresholds, which sorts every column: "+
		"from some 100000 rows on, --bins 255 is several times faster")
	return func(b *booster, x *table.Table) error {
		if err := within(fs, counted("bins", bins, 0, 255)); err != nil {
			return err
		}
		o := &b.ada
		if err := overwrite(fs, o); err != nil {
			return err
		}
		n, err := integers("splits", *splits)
		if err != nil {
			return err
		}
		for _, f := range []struct {
			name string
			read bool
			by   string
		}{
			{"bound", o.Variant == boost.Deep, "deep"},
			{"bins", o.Variant != boost.Deep, "plain, l1, logit-cd and logit-newton"},
			{"alpha_max", o.Variant != boost.LogitNewton, "plain, l1, deep and logit-cd"},
		} {
			if fs.Given(f.name) && !f.read {
				return fmt.Errorf("flag --%s has no effect: only --variant=%s looks at it, and the variant is %s", f.name,
					f.by, cmp.Or(o.Variant, boost.Plain))
			}
		}
		if o.Variant == boost.Deep {
			o.Learner = nil
			if fs.Given("splits") {
				o.Families = boost.Grid(n, []float64{1})
			}
			return nil
		}
		if o.Learner != nil && !fs.Given("splits") && !fs.Given("bins") && !fs.Given("variant") {
			return nil // a grid's later flags leave what the first ones chose
		}
		if len(n) != 1 || n[0] < 0 {
			return fmt.Errorf("flag --splits: one number of internal nodes is needed, not %q; only the variant "+
				"deep takes several", *splits)
		}
		o.Learner = boost.SignTrees{Splits: n[0], Bins: int(*bins)}
		if o.Variant == boost.LogitNewton {
			o.Learner = boost.RegressionTrees{Splits: n[0], Bins: int(*bins)}
		}
		return nil
	}
}
