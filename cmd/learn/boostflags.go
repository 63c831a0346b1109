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

// set stores a flag's value when it was given.
func set[T, F any](fs *flags.Set, name string, to *T, value *F, convert func(F) T) {
	if fs.Given(name) {
		*to = convert(*value)
	}
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

func asInt(v int64) int           { return int(v) }
func same[T any](v T) T           { return v }
func negated(v float64) float64   { return amount(v) } // in the library 0 is the default, and negative is none
func named[T ~string](v string) T { return T(v) }

func rgbSettings(fs *flags.Set) func(*booster, *table.Table) error {
	preset := fs.Enum("preset", "default", []string{"default", "thesis"},
		"Setting that the other flags change: default (Newton leaves, sampling, candidates compared on left-out "+
			"rows) or the literal one of the thesis")
	rounds := fs.Int("rounds", 32, 0, "Rounds T (thesis: 100); 0 is as many as have the least loss on "+
		"held-out rows, or on those of --valid, at most 1000")
	candidates := fs.Int("candidates", 32, 5, "Families S drawn in each round")
	splits := fs.String("splits", "", "Internal nodes n of the families, separated by commas; as the preset "+
		"says (4,8,16,32)")
	lambdas := fs.String("lambdas", "", "Bounds lambda of the families' leaf vectors (inf is none); as the "+
		"preset says (0.001,0.01,0.1,0.5,1,2,4)")
	q := fs.Float("q", 2, "Norm of leaf vectors, from 1 to inf")
	beta := fs.Float("beta", 0.01, "Weight of the complexity penalty; the thesis chooses from "+
		"0.001,0.01,0.1,0.3,1")
	mode := fs.Enum("mode", "select", []string{"select", "l1"},
		"Where the penalty acts: when candidates are compared, or as beta |alpha| Omega in the step too")
	rate := fs.Float("rate", 0.1, "Learning rate (thesis: 1)")
	leaf := fs.Enum("leaf", "newton", []string{"newton", "weighted", "radial", "steepest"},
		"Leaf values in the ball (thesis: weighted)")
	step := fs.Enum("step", "hess", []string{"hess", "safe", "tree", "lambda", "lambda2", "line"},
		"Step rule (thesis: safe)")
	hoelder := fs.Enum("hoelder", "exact", []string{"exact", "1,inf", "inf,1", "2,2"},
		"Bound of a tree's curvature, eq. 3.11")
	sampling := fs.Enum("sampling", "lambda", []string{"lambda", "lambda-squared", "uniform"},
		"Probability of a family")
	scale := fs.Enum("scale", "max", []string{"max", "minmax"}, "How complexities are brought to [0, 1]")
	bound := fs.Enum("bound", "vc", []string{"vc", "count"}, "Bound of the families' Rademacher complexity")
	tight := fs.Bool("tight", false, "Charge the smallest family that holds a tree")
	rows := fs.Float("rows", 0.6, "Share of rows that a round is trained on (thesis: 1)")
	columns := fs.Float("columns", 0, "Share of columns that a round may split on; 0 is all up to 50 "+
		"columns, else 0.3 (thesis: 1)")
	score := fs.Enum("score", "held-out", []string{"held-out", "training"},
		"Rows that candidates are compared on (thesis: training)")
	stepRows := fs.Enum("step_rows", "training", []string{"training", "held-out"},
		"Rows that the step is taken from")
	minRows := fs.Int("min_rows", 32, 0, "Rows a leaf needs; 0 is 1 for Newton leaves, else the larger of 5 "+
		"and rows/500 (thesis: 1)")
	minHessian := fs.Float("min_hessian", 1, "Sum of second derivatives that a Newton leaf needs")
	minGain := fs.Float("min_gain", 1e-12, "Gain that a split needs, relative to its node's score")
	exact := fs.Bool("exact", false, "Search all thresholds instead of histograms")
	bins := fs.Int("bins", 32, 255, "Bins of a histogram, at most 255")
	mono := fs.String("monotone", "", "Monotone constraints, such as age:+,price:-")
	zeroStart := fs.Bool("zero_start", false, "Begin at 0, and take lambdas and beta as they are (thesis: "+
		"true); by default a run begins at the best constant, and lambdas and beta are in units of the target's "+
		"spread around it with the losses squared and huber")
	idle := fs.Int("idle_stop", 32, 10, "Stop after this many rounds in a row without a step")
	alphaMax := fs.Float("alpha_max", 0, "Largest step for losses without a curvature bound and of line "+
		"searches; 0 is 1, for line searches 16")
	seed := fs.Uint("seed", 1, "Seed of all draws")
	return func(b *booster, x *table.Table) error {
		if err := within(fs, counted("rounds", rounds, 0, math.MaxInt32),
			counted("candidates", candidates, 1, math.MaxInt32),
			span{flag: "q", value: *q, least: 1, most: math.Inf(1), infinite: true}, notNegative("beta", beta),
			positive("rate", rate), share("rows", rows), span{flag: "columns", value: *columns, most: 1},
			counted("min_rows", minRows, 0, math.MaxInt32), notNegative("min_hessian", minHessian),
			positive("min_gain", minGain), counted("bins", bins, 2, 255), counted("idle_stop", idle, 1, math.MaxInt32),
			notNegative("alpha_max", alphaMax)); err != nil {
			return err
		}
		o := &b.rgb
		if fs.Given("preset") || !b.begun {
			b.begun = true
			*o = boost.RGBOptions{Seed: 1}
			if *preset == "thesis" {
				*o = *boost.Thesis()
				o.Seed = 1
			}
		}
		set(fs, "rounds", &o.Rounds, rounds, asInt)
		set(fs, "candidates", &o.Candidates, candidates, asInt)
		set(fs, "q", &o.Q, q, same)
		set(fs, "beta", &o.Beta, beta, negated)
		set(fs, "mode", &o.Mode, mode, named)
		set(fs, "rate", &o.LearningRate, rate, same)
		set(fs, "leaf", &o.Leaf, leaf, named)
		set(fs, "step", &o.Step, step, named)
		set(fs, "hoelder", &o.Hoelder, hoelder,
			func(v string) boost.Hoelder { return boost.Hoelder(strings.TrimPrefix(v, "exact")) })
		set(fs, "sampling", &o.Sampling, sampling,
			func(v string) boost.Sampling { return boost.Sampling(strings.TrimSuffix(v, "lambda")) })
		set(fs, "scale", &o.Scale, scale,
			func(v string) boost.Normalisation { return boost.Normalisation(strings.TrimPrefix(v, "max")) })
		set(fs, "bound", &o.Bound, bound,
			func(v string) boost.ComplexityBound { return boost.ComplexityBound(strings.TrimPrefix(v, "vc")) })
		set(fs, "tight", &o.Tight, tight, same)
		set(fs, "rows", &o.RowSample, rows, same)
		set(fs, "columns", &o.ColumnSample, columns, same)
		set(fs, "score", &o.Score, score, named)
		set(fs, "step_rows", &o.StepRows, stepRows, named)
		set(fs, "min_rows", &o.MinRows, minRows, asInt)
		set(fs, "min_hessian", &o.MinHessian, minHessian, negated)
		set(fs, "min_gain", &o.MinGain, minGain, same)
		set(fs, "exact", &o.Exact, exact, same)
		set(fs, "bins", &o.Bins, bins, asInt)
		set(fs, "zero_start", &o.ZeroStart, zeroStart, same)
		set(fs, "idle_stop", &o.IdleStop, idle, asInt)
		set(fs, "alpha_max", &o.AlphaMax, alphaMax, same)
		set(fs, "seed", &o.Seed, seed, same)
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
		if fs.Given("monotone") {
			var err error
			o.Monotone, err = monotone(*mono, x)
			return err
		}
		return nil
	}
}

func gbSettings(fs *flags.Set) func(*booster, *table.Table) error {
	rounds := fs.Int("rounds", 32, 0, "Rounds; 0 is as many as have the least loss on held-out rows, or on "+
		"those of --valid, at most 1000")
	rate := fs.Float("rate", 0.1, "Learning rate")
	depth := fs.Int("depth", 32, 0, "Depth of trees; 0 is no limit. With it and without --leaves trees grow "+
		"level by level, else best split first")
	leaves := fs.Int("leaves", 32, 0,
		"Leaves of trees, grown best split first; 0 is 31, and with --depth no limit")
	squares := fs.Bool("least_squares", false, "Fit trees to the gradient by least squares; by default they "+
		"take Newton steps")
	minRows := fs.Int("min_rows", 32, 0, "Rows a leaf needs; 0 is 20, but at most a twentieth of all")
	minWeight := fs.Float("min_weight", 1, "Sum of second derivatives a leaf needs")
	l2 := fs.Float("l2", 1, "L2 penalty of leaf values")
	l1 := fs.Float("l1", 0, "L1 penalty of leaf values")
	gamma := fs.Float("gamma", 0, "Gain that a split must exceed")
	rows := fs.Float("rows", 1, "Share of rows that a round is trained on")
	columns := fs.Float("columns", 1, "Share of columns that a tree may split on")
	byLevel := fs.Float("columns_by_level", 1, "Of those, share that a level may split on")
	byNode := fs.Float("columns_by_node", 1, "Of those, share that a node may split on")
	exact := fs.Bool("exact", false, "Search all thresholds instead of histograms")
	bins := fs.Int("bins", 32, 255, "Bins of a histogram, at most 255")
	mono := fs.String("monotone", "", "Monotone constraints, such as age:+,price:-")
	seed := fs.Uint("seed", 1, "Seed of all draws")
	relaxation := resilientFlags(fs)
	every := fs.Int("resilient_every", 32, 5, "Rounds after which --resilient weighs the rows anew")
	return func(b *booster, x *table.Table) error {
		if err := within(fs, counted("rounds", rounds, 0, math.MaxInt32), positive("rate", rate),
			counted("depth", depth, 0, math.MaxInt32), counted("resilient_every", every, 1, math.MaxInt32),
			counted("leaves", leaves, 0, boost.MaxSplits+1), counted("min_rows", minRows, 0, math.MaxInt32),
			notNegative("min_weight", minWeight), notNegative("l2", l2), notNegative("l1", l1),
			notNegative("gamma", gamma), share("rows", rows), share("columns", columns),
			share("columns_by_level", byLevel), share("columns_by_node", byNode),
			counted("bins", bins, 1, 255)); err != nil {
			return err
		}
		o := &b.gb
		if !b.begun {
			b.begun, o.Seed = true, 1
		}
		set(fs, "rounds", &o.Rounds, rounds, asInt)
		set(fs, "rate", &o.LearningRate, rate, same)
		set(fs, "depth", &o.Depth, depth, func(v int64) int {
			if v == 0 {
				return -1
			}
			return int(v)
		})
		set(fs, "leaves", &o.Leaves, leaves, asInt)
		set(fs, "least_squares", &o.LeastSquares, squares, same)
		set(fs, "min_rows", &o.MinRows, minRows, asInt)
		set(fs, "min_weight", &o.MinWeight, minWeight, negated)
		set(fs, "l2", &o.L2, l2, negated)
		set(fs, "l1", &o.L1, l1, same)
		set(fs, "gamma", &o.Gamma, gamma, same)
		set(fs, "rows", &o.RowSample, rows, same)
		set(fs, "columns", &o.ColumnSample, columns, same)
		set(fs, "columns_by_level", &o.ColumnsByLevel, byLevel, same)
		set(fs, "columns_by_node", &o.ColumnsByNode, byNode, same)
		set(fs, "exact", &o.Exact, exact, same)
		set(fs, "bins", &o.Bins, bins, asInt)
		set(fs, "seed", &o.Seed, seed, same)
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
		if set(fs, "resilient_every", &o.RelaxEvery, every, asInt); o.RelaxEvery != 0 && o.Relax == nil {
			return errors.New("flag --resilient_every has no effect without --resilient")
		}
		if err := binsOfExact(fs); err != nil {
			return err
		}
		if fs.Given("monotone") {
			var err error
			o.Monotone, err = monotone(*mono, x)
			return err
		}
		return nil
	}
}

func adaSettings(fs *flags.Set) func(*booster, *table.Table) error {
	variant := fs.Enum("variant", "plain", []string{"plain", "l1", "deep", "logit-cd", "logit-newton"},
		"AdaBoost, with l1 penalty, DeepBoost, or LogitBoost by coordinate descent or Newton steps")
	rounds := fs.Int("rounds", 32, 100, "Rounds")
	lambda := fs.Float("lambda", 0, "Penalty on weights (l1, logit-cd), or on complexity times weight (deep)")
	beta := fs.Float("beta", 0, "Penalty on weights (deep)")
	splits := fs.String("splits", "1", "Internal nodes of trees; for deep a list, one family each (1,2,4,8 "+
		"when not given)")
	bins := fs.Int("bins", 32, 0, "Bins of a histogram; 0 searches all thresholds, which sorts every column: "+
		"from some 100000 rows on, --bins 255 is several times faster")
	bound := fs.Enum("bound", "vc", []string{"vc", "count"}, "Bound of the families' Rademacher complexity")
	alphaMax := fs.Float("alpha_max", 0, "Weight of a perfect base predictor, and the longest step without "+
		"penalty; 0 is that of half a row's error")
	return func(b *booster, x *table.Table) error {
		if err := within(fs, counted("rounds", rounds, 1, math.MaxInt32), notNegative("lambda", lambda),
			notNegative("beta", beta), counted("bins", bins, 0, 255), notNegative("alpha_max", alphaMax)); err != nil {
			return err
		}
		o := &b.ada
		if o.Rounds == 0 {
			o.Rounds = 100
		}
		set(fs, "variant", &o.Variant, variant, named)
		set(fs, "rounds", &o.Rounds, rounds, asInt)
		set(fs, "lambda", &o.Lambda, lambda, same)
		set(fs, "beta", &o.Beta, beta, same)
		set(fs, "bound", &o.Bound, bound,
			func(v string) boost.ComplexityBound { return boost.ComplexityBound(strings.TrimPrefix(v, "vc")) })
		set(fs, "alpha_max", &o.AlphaMax, alphaMax, same)
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
