package boost

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
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
func (b *Booster) TrainWatched(t, valid *table.Table, options any,
	c *run.Control) (learner.Model[*table.Table,
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
	*optim.Result, error)) func(t, valid *table.Table, options any, c *run.Control) (*Ensemble, *optim.Result,
	error) {
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
