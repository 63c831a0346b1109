package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/options"
	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/boost/multi"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// multiTable are the flags of tables with sources.
type multiTable struct{ tableFlags }

func (t *multiTable) define(fs *flags.Set) {
	t.tableFlags.define(fs)
	t.dense = true
	t.keepSource = fs.Bool("keep_source", false, "The source column is a feature as well")
}

// sources reads a table with a target and at least two sources.
func (t *multiTable) sources(c *call, name string) (*table.Table, error) {
	if *t.source == "" {
		return nil, errors.New("flag --source is needed: the column that names the domain of each row")
	}
	x, err := t.read(c, name)
	if err != nil {
		return nil, err
	}
	if x.Classification() && len(x.Classes) != 2 || !x.Classification() {
		return nil, fmt.Errorf("%s: MULTIBOOST separates two classes; the target %q has %s", x.Name, x.TargetName,
			x.DescribeTarget())
	}
	if len(x.Sources) < 2 {
		return nil, fmt.Errorf("%s: column %q: all rows are of one source, %q; with one source MULTIBOOST is "+
			"AdaBoost, which is learn adaboost", x.Name, x.SourceName, strings.Join(x.Sources, ""))
	}
	if n := len(x.Sources); n > manySources && x.Rows < rowsPerSource*n {
		return nil, fmt.Errorf("%s: column %q has %d different values (%s, %s, %s, ...) in %d rows: that is a "+
			"measurement or an identifier, not a domain with enough rows to learn from (%d or more on average "+
			"where there are more than %d domains); name another column with --source, or group its values first",
			x.Name, x.SourceName, n, x.Sources[0], x.Sources[1], x.Sources[2], x.Rows, rowsPerSource, manySources)
	}
	return x, x.CheckSources()
}

// Beyond these numbers of sources, or classes, a column must have this many rows for each, or it is
// taken for a mistake. Training a slot for each value of a measurement takes long and is
// uninformative. Reports do not list more than these one by one.
const (
	manySources   = 32
	rowsPerSource = 10
)

// writeMeanQ prints the table of mean Q while it can be read.
func writeMeanQ(w io.Writer, sources []string, q [][]float64) error {
	if len(sources) > manySources {
		_, err := fmt.Fprintf(w, "mean Q of %d sources: too many for a table here; --json has it\n", len(sources))
		return err
	}
	return multi.WriteMeanQ(w, sources, q)
}

// likeMulti reads a table of a model's form. Sources are not needed to predict; where they
// are there, they must be the model's.
func (t *multiTable) likeMulti(c *call, name string, like *table.Table, labelled,
	sourced bool) (*table.Table, error) {
	o, err := t.options()
	if err != nil {
		return nil, err
	}
	o.Like = like
	if !labelled {
		t.unread(o, !sourced)
	}
	o.KeepSource = o.KeepSource || o.Like.Column(o.Like.SourceName) >= 0
	x, err := c.openTable(name, o)
	if err != nil {
		return nil, err
	}
	if labelled && x.Target == nil {
		return nil, fmt.Errorf("%s: there is no column %q to compare predictions with; --target names another",
			x.Name, like.TargetName)
	}
	if sourced && x.Source == nil {
		return nil, fmt.Errorf("%s: there is no column %q with the source of each row; --source names another",
			x.Name, like.SourceName)
	}
	return x, nil
}

// multiModel reads a model.
func (c *call) multiModel(name string) (*multi.Model, error) {
	m, _, err := load(c, name, "multiboost train", multi.Read)
	return m, err
}

// multiPrefix reads a model for use of its first rounds, 0 being all, and checks --rounds.
func (c *call) multiPrefix(name string, rounds int64) (*multi.Model, error) {
	if rounds < 0 {
		return nil, errors.New("flag --rounds: it must not be negative")
	}
	m, err := c.multiModel(name)
	if err == nil && rounds > int64(m.Trained) {
		c.Warn(c.prog, "flag --rounds: the model has %d rounds, and all are used", m.Trained)
	}
	return m, err
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

// points reads mixtures: shares separated by commas, mixtures by semicolons.
func points(name, value string) ([][]float64, error) {
	var out [][]float64
	for _, text := range strings.Split(value, ";") {
		v, err := numbers(name, text)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// multiSettings defines the flags of MULTIBOOST and returns what applies those that were
// given to options.
func multiSettings(fs *flags.Set) func(o *multi.Options) error {
	preset := fs.Enum("preset", "default", []string{"default", "equal", "thesis"},
		"Setting that the other flags change: default; equal, which adds one term a round; thesis, the literal "+
			"algorithm of figure 4.1, which can stall")
	options.Define(fs, &multi.Options{})
	options.Define(fs, &multi.QOptions{})
	loss := fs.Enum("loss", "exponential", []string{"exponential", "logistic", "logistic2"},
		"Loss; logistic2 is in base 2")
	target := targetFlags(fs)
	splits := fs.String("splits", "1", "Internal nodes of base trees; 1 is stumps. Several numbers are "+
		"families; each slot takes the best in every round; their --l1 grows with their complexity")
	bins := fs.Int("bins", 32, 0, "Bins of a histogram for trees; 0 searches all thresholds")
	q := fs.Enum("q", "logistic", []string{"logistic", "uniform"},
		"Domain classifier Q(k|x): logistic regression, or 1/p")
	return func(o *multi.Options) error {
		if err := within(fs, counted("bins", bins, 0, 255)); err != nil {
			return err
		}
		if fs.Given("preset") {
			switch *preset {
			case "equal":
				*o = *multi.EqualTerms()
			case "thesis":
				*o = *multi.Thesis(multi.Closed)
			}
		}
		for _, to := range []any{o, &o.QOptions} {
			if err := overwrite(fs, to); err != nil {
				return err
			}
		}
		if err := idleMulti(fs, o); err != nil {
			return err
		}
		var err error
		if fs.Given("loss") {
			if o.Loss, err = score.Parse(*loss); err != nil {
				return err
			}
		}
		if fs.Given("low") || fs.Given("high") || fs.Given("vertices") {
			set, err := target()
			if err != nil {
				return err
			}
			o.Target = *set
		}
		sizes, err := integers("splits", *splits)
		if err != nil {
			return err
		}
		for _, n := range sizes {
			if n < 0 || n > 1<<16 {
				return fmt.Errorf("flag --splits: %d is out of range: it must be at least 0 and at most %d", n, 1<<16)
			}
		}
		switch {
		case !fs.Given("splits") && !fs.Given("bins"): // a grid's flags leave what was chosen before it
		case len(sizes) == 0:
			return errors.New("flag --splits: no number is given")
		case len(sizes) > 1:
			o.Learner, o.Families = nil, make([]multi.Family, len(sizes))
			for j, n := range sizes {
				o.Families[j].Learner = boost.SignTrees{Splits: n, Bins: int(*bins)} // withSources has their charges
			}
		case sizes[0] != 1 || *bins != 0:
			o.Learner, o.Families = boost.SignTrees{Splits: sizes[0], Bins: int(*bins)}, nil
		default:
			o.Learner, o.Families = nil, nil
		}
		if fs.Given("q") {
			o.Q = nil
			if *q == "uniform" {
				o.Q = uniformQ
			}
		}
		return idleQ(fs, o)
	}
}

// idleMulti refuses flags that the objective or the step asked for does not read.
func idleMulti(fs *flags.Set, o *multi.Options) error {
	objective, step := o.Objective, o.Step
	if objective == "" {
		objective = multi.SoftMax
	}
	pooled := objective != multi.Max && o.Directions == multi.Pooled
	for _, f := range []struct {
		name string
		read bool
		by   string
	}{
		{"mu", objective == multi.SoftMax, "--objective=softmax"},
		{"fixed_mu", objective == multi.SoftMax, "--objective=softmax"},
		{"literal", objective == multi.Max, "--objective=max"},
		{"step_c", step == multi.SqrtStep, "--step=sqrt"},
		{"round", objective != multi.Max || o.Round == multi.Greedy, "another objective than max"},
		{"directions", objective != multi.Max || o.Directions == multi.Own, "another objective than max"},
		{"score", objective != multi.Max, "another objective than max"},
		{"slots", pooled || o.Slots == multi.DomainsOnly, "--directions=pooled"},
		{"domain_factor", pooled && o.Slots == multi.WithShared, "a shared slot, of --directions=pooled,"},
	} {
		if fs.Given(f.name) && !f.read {
			return fmt.Errorf("flag --%s has no effect: only %s reads it, and the objective is %s, the step %s",
				f.name, f.by, objective, cmp.Or(step, "line"))
		}
	}
	return nil
}

// idleQ refuses flags for the training of a domain classifier that is not trained.
func idleQ(fs *flags.Set, o *multi.Options) error {
	if _, ok := o.Q.(multi.Uniform); !ok {
		return nil
	}
	for _, name := range []string{"q_lambda", "q_choose", "q_prior", "q_folds", "q_unlabelled_only",
		"q_temperature", "q_calibrate", "q_floor", "q_iterations", "seed"} {
		if fs.Given(name) {
			return fmt.Errorf("flag --%s has no effect: only --q=logistic reads it, and Q is uniform", name)
		}
	}
	return nil
}

// uniformQ stands for 1/p until the number of sources is known.
var uniformQ = multi.Uniform{}

// withSources fills in what waits for the table, and checks what only it can tell.
func withSources(o *multi.Options, x *table.Table) error {
	if u, ok := o.Q.(multi.Uniform); ok && u.P == 0 {
		o.Q = multi.Uniform{P: len(x.Sources)}
	}
	var sizes []int
	bins := 0
	for _, f := range o.Families {
		t := f.Learner.(boost.SignTrees) // as multiSettings made them
		sizes, bins = append(sizes, t.Splits), t.Bins
	}
	if sizes != nil {
		o.Families = multi.TreeFamilies(x, sizes, bins)
	}
	if n := float64(len(x.Sources)); o.QOptions.Floor*n > 1 {
		return fmt.Errorf("flag --q_floor: %v is out of range: %d sources have probabilities that sum to 1, so "+
			"that it must be at most %.4g", o.QOptions.Floor, len(x.Sources), 1/n)
	}
	return nil
}
