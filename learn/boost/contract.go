package boost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/resilient"
	"github.com/tropica-fst/tropica/learn/run"
)

// Booster is a booster under the contract of package learner.
type Booster struct {
	name, title, about string
	options            func() any
	train              func(t, valid *table.Table, options any, c *run.Control) (*Ensemble, *optim.Result, error)
}

var _ learner.Watched[*table.Table, *learner.Scores] = (*Booster)(nil)

// Name implements learner.Learner.
func (b *Booster) Name() string { return b.name }

// Title implements learner.Learner.
func (b *Booster) Title() string { return b.title }

// About implements learner.Learner.
func (b *Booster) About() string { return b.about }

// Options implements learner.Learner.
func (b *Booster) Options() any { return b.options() }

// ChooseBy implements learner.Choosing: log-loss is steadier on small tables.
func (b *Booster) ChooseBy() string { return "log-loss" }

// Watches implements learner.Watched.
func (b *Booster) Watches() string { return "the loss" }

// Train implements learner.Learner.
func (b *Booster) Train(t *table.Table, options any, c *run.Control) (learner.Model[*table.Table,
	*learner.Scores], *optim.Result, error) {
	return b.TrainWatched(t, nil, options, c)
}

// TrainWatched implements learner.Watched.
func (b *Booster) TrainWatched(t, valid *table.Table, options any, c *run.Control) (learner.Model[*table.Table,
	*learner.Scores], *optim.Result, error) {
	if options == nil {
		options = b.options()
	}
	e, r, err := b.train(t, valid, options, saying(t, c))
	if e == nil {
		return nil, r, err
	}
	return e, r, err
}

// saying has the warnings of a run begin with the name of the table.
func saying(t *table.Table, c *run.Control) *run.Control {
	if c == nil || c.Warn == nil {
		return c
	}
	own := *c
	own.Warn = func(s string) { c.Warn(t.Name + ": " + s) }
	return &own
}

// Read implements learner.Learner.
func (b *Booster) Read(r io.Reader) (learner.Model[*table.Table, *learner.Scores], error) {
	return learner.ReadWith(Read, r)
}

// under makes a booster's training of one with settings of type S.
func under[S any](train func(t *table.Table, s *S, valid *table.Table, c *run.Control) (*Ensemble,
	*optim.Result, error)) func(t, valid *table.Table, options any, c *run.Control) (*Ensemble, *optim.Result, error) {
	return func(t, valid *table.Table, options any, c *run.Control) (*Ensemble, *optim.Result, error) {
		s, ok := options.(*S)
		if !ok {
			return nil, nil, fmt.Errorf("boost: options of type %T, not %T", options, s)
		}
		return train(t, s, valid, c)
	}
}

// data makes training and validation rows of tables; valid may be nil.
func data(t, valid *table.Table, l Loss) (d, v *Data, err error) {
	if d, err = NewData(t, l); err == nil && valid != nil {
		v, err = NewData(valid, l)
	}
	return d, v, err
}

// The boosters.
var (
	RGB = &Booster{"rgb", "regularised gradient boosting", `
Each round draws families of trees (at most n internal nodes, leaf vector of norm at
most lambda) and fits a tree of each to the gradient. It adds the one of least loss
plus beta times complexity. The default setting samples rows and columns, takes Newton
steps, and compares candidates on the left-out rows; --preset=thesis is the literal
algorithm. A run begins at the best constant. Unless --rounds is given, it has the
number of rounds with the least loss on held-out rows. The flags worth a cross-validation
are --rate (0.1, 0.3) and --columns (0.3, 1).` + aboutTables,
		func() any { return &RGBSettings{} }, under(trainRGBSettings)}

	AdaBoost = &Booster{"adaboost", "AdaBoost and LogitBoost", `
Weighted majority votes of stumps or small trees, by coordinate descent on the
exponential loss (plain; l1 and deep with penalties) or the logistic loss (logit-cd,
logit-newton). Every threshold of every column is searched. On large tables (from some
100000 rows on) --bins 255 searches those of histograms, several times faster and hardly
worse.` + aboutTables,
		func() any { return &AdaBoostSettings{} }, under(trainAdaBoostSettings)}

	Gradient = &Booster{"gb", "gradient boosting", `
Trees fitted to the gradient in turn, by Newton steps or least squares. Unless --rounds is
given, it has the number of rounds with the least loss on held-out rows.` + aboutTables,
		func() any { return &GradientSettings{} }, under(trainGradientSettings)}
)

const aboutTables = `

Numbers of tables are float32, of some 7 digits; values that this makes equal give a warning. A
column of numbers or dates in another notation (1,5 $12 45% 31.12.2024) is an error that
names the flag which reads it; the model keeps these flags. LIBSVM files of few entries stay
sparse and cost only their entries, except where all thresholds are searched.`

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

func trainGradientSettings(t *table.Table, s *GradientSettings, valid *table.Table, c *run.Control) (*Ensemble,
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
			return fmt.Errorf("%s has no effect: only --variant=%s looks at it, and the variant is %s", f.name, f.by, v)
		}
	}
	return nil
}

func trainAdaBoostSettings(t *table.Table, s *AdaBoostSettings, valid *table.Table, c *run.Control) (*Ensemble,
	*optim.Result, error) {
	if len(t.Classes) != 2 {
		return nil, nil, fmt.Errorf("%s: AdaBoost separates two classes; the target %q has %s (gb and rgb take any)",
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

// Form implements learner.Model.
func (e *Ensemble) Form() *table.Table { return e.Schema.Table() }

// Predict implements learner.Model.
func (e *Ensemble) Predict(ctx context.Context, t *table.Table, workers int) (*learner.Scores, error) {
	f, err := e.Scores(t, &PredictOptions{Workers: workers, Ctx: ctx})
	if err != nil {
		return nil, err
	}
	p := &learner.Scores{Outputs: e.Outputs(), Score: f}
	if e.Classifies() {
		p.Probability, p.Calibrated = score.Distribution(e.Loss, f)
	}
	return p, nil
}

// Classifies reports whether the model is of classes, not of numbers.
func (e *Ensemble) Classifies() bool { return score.HasMargin(e.Loss) || e.Outputs() > 1 }

// Explain implements learner.Model: the columns that splits use, and the rows that were hardest
// where they were weighed.
func (e *Ensemble) Explain() []learner.Section {
	s := learner.Section{Title: "columns", Columns: []string{"column", "gain", "splits"}}
	for _, c := range e.Importance() {
		s.Rows = append(s.Rows, []any{c.Column, c.Gain, c.Splits})
	}
	slices.SortStableFunc(s.Rows, func(a, b []any) int { return cmp.Compare(b[1].(float64), a[1].(float64)) })
	return append([]learner.Section{s}, e.Hard.Section()...)
}

// Maker implements learner.Made; it is "" for models of none of the boosters.
func (e *Ensemble) Maker() string {
	group, _, _ := strings.Cut(e.Algorithm, "-")
	switch group {
	case "xgboost":
		return Gradient.name
	case RGB.name, AdaBoost.name, Gradient.name:
		return group
	}
	return ""
}

// First implements learner.Staged.
func (e *Ensemble) First(rounds int) (learner.Model[*table.Table, *learner.Scores], error) {
	if err := e.CheckRounds(rounds); err != nil {
		return nil, err
	}
	return e.Prefix(rounds), nil
}

// TrainingRun is how an ensemble was trained.
type TrainingRun struct {
	History  []Progress // rounds, those before it was resumed included
	Chosen   bool       // the number of rounds was chosen on held-out rows
	Choosing float64    // seconds that this took; 0 where a run was resumed after it
}

// Report is what training reports of an ensemble.
type Report struct {
	Model     string  `json:"model"`
	Algorithm string  `json:"algorithm"`
	Loss      string  `json:"loss"`
	Rows      int     `json:"rows"`
	Columns   int     `json:"columns"`
	Rounds    int     `json:"rounds"`
	Chosen    bool    `json:"rounds_chosen"` // on held-out rows, Rounds being 0 and without validation rows
	Terms     int     `json:"terms"`
	Objective any     `json:"objective"` // null where there is no round
	Training  float64 `json:"training_loss"`
	Error     float64 `json:"training_error"`   // per cent; root of the mean squared error for regression
	Valid     any     `json:"validation_loss"`  // of the model; null without validation rows
	Seconds   float64 `json:"seconds"`          // of the rounds of the model
	Choosing  float64 `json:"choosing_seconds"` // before these: of the choice of their number
}

// Report implements learner.Reporter.
func (e *Ensemble) Report(ctx context.Context, file string, t, valid *table.Table, workers int) (*learner.Report,
	error) {
	d, v, err := data(t, valid, e.Loss)
	if err != nil {
		return nil, err
	}
	o := &PredictOptions{Workers: workers, Ctx: ctx}
	f, err := e.Scores(d.X, o)
	if err != nil {
		return nil, err
	}
	r := &Report{Model: file, Algorithm: e.Algorithm, Loss: e.Loss.Name(), Rows: d.Rows(), Columns: len(t.Columns),
		Rounds: e.Rounds(), Terms: len(e.Terms), Training: score.Mean(e.Loss, d.Y, d.W, f, 1)}
	text := ""
	if r.Error = e.ErrorOf(d, f); e.Classifies() {
		text = fmt.Sprintf("error %.4g %%", r.Error)
	} else {
		text = fmt.Sprintf("RMSE %.5g", r.Error)
	}
	picture := &learner.Picture{Title: "Loss by round", Subtitle: e.Algorithm, XLabel: "round",
		YLabel: r.Loss + " loss", Curves: []learner.Curve{{Name: "training"}, {Name: "validation"}}}
	rounds := 0
	if how := e.Run; how != nil {
		r.Chosen, r.Choosing = how.Chosen, how.Choosing
		for _, p := range how.History {
			rounds, r.Seconds = p.Round, p.Seconds
			if p.Round == r.Rounds { // early stopping leaves out the last rounds
				r.Objective = p.Objective
			}
			for k, y := range []float64{p.Loss, p.Valid} {
				if c := &picture.Curves[k]; y == y {
					c.X, c.Y = append(c.X, float64(p.Round)), append(c.Y, y)
				}
			}
		}
	}
	if len(picture.Curves[1].X) == 0 {
		picture.Curves = picture.Curves[:1]
	}
	chosen := ""
	if r.Chosen {
		chosen = " (chosen on held-out rows)"
		if r.Choosing > 0 {
			chosen = fmt.Sprintf(" (chosen on held-out rows in %.1f s)", r.Choosing)
		}
	}
	lines := []string{fmt.Sprintf("%s: %d rows, %d columns; %d rounds%s, %d terms, %.1f s", r.Algorithm, r.Rows,
		r.Columns, r.Rounds, chosen, r.Terms, r.Seconds),
		fmt.Sprintf("training: loss (%s) %.5g, %s", r.Loss, r.Training, text)}
	if v != nil {
		g, err := e.Scores(v.X, o)
		if err != nil {
			return nil, err
		}
		loss := score.Mean(e.Loss, v.Y, v.W, g, 1)
		r.Valid = loss
		lines = append(lines, fmt.Sprintf("validation: loss %.5g after the best %d of %d rounds", loss, r.Rounds, rounds))
	}
	return &learner.Report{Data: r, Lines: lines, Picture: picture}, nil
}

// ErrorOf returns the error of scores of the rows of d: per cent of wrong classes, or the root of the
// mean squared error.
func (e *Ensemble) ErrorOf(d *Data, f []float64) float64 {
	if e.Classifies() {
		return 100 * score.ErrorRate(e.Loss, d.Y, d.W, f)
	}
	return metrics.RMSE(f, d.Y, d.W)
}
