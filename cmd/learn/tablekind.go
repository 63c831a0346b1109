package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/almo"
	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/evaluate"
	"github.com/tropica-fst/tropica/learn/federated"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/linear"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/resilient/network"
	"github.com/tropica-fst/tropica/learn/skpca"
	"github.com/tropica-fst/tropica/learn/sparse"
)

// tableLearners are the learners of tables. A new one is a line here.
var tableLearners = contestants[*table.Table, *learner.Scores]{linear.Learner{}, almo.Learner{},
	skpca.Learner{}, sparse.Learner{}, federated.Learner{}, network.Learner{}, boost.RGB, boost.AdaBoost,
	boost.Gradient}

func freshTable() kind[*table.Table, *learner.Scores] { return &tableKind{} }

func tableCommands() []*command {
	var out []*command
	for _, l := range tableLearners {
		switch l.(type) {
		case almo.Learner, *boost.Booster: // which have more to say: see almoCommands and boostCommands
		default:
			out = append(out, learnerCommands(l, tableLearners, freshTable)...)
		}
	}
	return append(out, skpcaTransform)
}

// tableKind is the kind of tables.
type tableKind struct {
	flags tableFlags
	what  *string // that predict writes
}

func (*tableKind) phrases() phrases { return ofTables }

func (*tableKind) about() string {
	return `
The table is CSV, TSV, LIBSVM or IDX, compressed or not; - is standard input. Words make a
column categorical, and blanks, ? and NA are missing values. A target of words or of few
integers is a class (--task says otherwise).
`
}

func (k *tableKind) define(fs *flags.Set, training bool) {
	k.flags.define(fs)
	if training {
		k.flags.defineAbsent(fs)
	}
}

func (k *tableKind) defineWriting(fs *flags.Set) {
	k.what = fs.Enum("output", "classes", []string{"classes", "probabilities", "scores"}, "What to write")
}

func (k *tableKind) workers() (int, error) { return k.flags.workers() }

func (k *tableKind) read(c *call, name string) (*table.Table, error) {
	return k.flags.labelled(c, name)
}

func (k *tableKind) like(c *call, name string, form *table.Table, labelled bool) (*table.Table, error) {
	return k.flags.likeForm(c, name, form, labelled)
}

func (*tableKind) subset(x *table.Table, rows []int) *table.Table { return x.Subset(rows) }

func (*tableKind) weight(x *table.Table, i int) float64 {
	if x.Weight == nil {
		return 1
	}
	return x.Weight[i]
}

func (*tableKind) fingerprint(x *table.Table) string {
	return fmt.Sprintf("%016x", x.Fingerprint(x.Target, x.Weight))
}

func (*tableKind) size(x *table.Table) string {
	return fmt.Sprintf("%d rows, %d columns", x.Rows, len(x.Columns))
}

func (*tableKind) chosenBy(x *table.Table) []string {
	if x.Classes == nil {
		return []string{"RMSE", "MAE"}
	}
	return []string{"error", "log-loss"}
}

// trials reads the divisions of a file, or draws them.
func (*tableKind) trials(x *table.Table, file string, folds, inner, repeats int,
	seed uint64) ([]evaluate.Trial, error) {
	var trials []table.Trial
	var err error
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("flag --trials: %w", err)
		}
		defer f.Close()
		if trials, err = table.ReadTrials(f, file, x.Rows); err != nil {
			return nil, err
		}
	} else if trials, err = x.Stratified(folds, inner, repeats, seed); err != nil {
		return nil, err
	}
	if trials, err = x.Usable(trials, inner > 0); err != nil {
		return nil, err
	}
	out := make([]evaluate.Trial, len(trials))
	for i := range trials {
		out[i].Fold = dataset.Fold{Train: trials[i].Train, Test: trials[i].Test}
		if inner > 0 {
			out[i].Inner = trials[i].InnerFolds()
		}
	}
	return out, nil
}

// judge measures rows of positive weight. Errors are of the classes that predict names.
func (*tableKind) judge(x *table.Table, s *learner.Scores) []measured {
	if x.Classes == nil {
		return []measured{{"RMSE", metrics.RMSE(s.Score, x.Target, x.Weight), ""},
			{"MAE", metrics.MAE(s.Score, x.Target, x.Weight), ""}}
	}
	wrong := make([]float64, x.Rows)
	for i, y := range x.Target {
		if s.Class(i) != int(y) {
			wrong[i] = 1
		}
	}
	out := []measured{{"error", 100 * metrics.MAE(wrong, make([]float64, x.Rows), x.Weight), "%"}}
	if s.Probability != nil {
		out = append(out, measured{"log-loss", metrics.LogLoss(s.Probability, x.Target, x.Weight, len(x.Classes)),
			""})
	}
	if s.Outputs == 1 {
		if auc := metrics.AUC(s.Score, signs(x.Target), x.Weight); auc == auc {
			out = append(out, measured{"AUC", auc, ""})
		}
	}
	return out
}

// signs makes -1 and +1 of the classes 0 and 1.
func signs(y []float64) []float64 {
	out := make([]float64, len(y))
	for i, v := range y {
		out[i] = 2*v - 1
	}
	return out
}

// write writes a header and a line for each row. A line has the class and its probability, the
// probabilities of all classes, or the scores; for regression it has the prediction.
func (k *tableKind) write(w io.Writer, form, x *table.Table, s *learner.Scores) error {
	b := bufio.NewWriterSize(w, 1<<16)
	out := csv.NewWriter(b)
	g := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	what, n := *k.what, len(form.Classes)
	names, named := idColumns(x)
	var header []string
	switch {
	case form.Classes == nil && what == "scores":
		header = []string{"score"}
	case form.Classes == nil:
		header = []string{"prediction"}
	case what == "scores" && s.Outputs == 1:
		header = []string{"score"}
	case what == "scores":
		for _, c := range form.Classes {
			header = append(header, "score "+c)
		}
	case what == "probabilities" && s.Probability == nil:
		return errors.New("flag --output: the model's loss determines no probabilities")
	case what == "probabilities":
		header = form.Classes
	case s.Probability != nil:
		header = []string{"class", "probability"}
	default:
		header = []string{"class"}
	}
	if err := out.Write(append(names, header...)); err != nil {
		return err
	}
	for i := range x.Rows {
		row := named(i)
		switch {
		case form.Classes == nil || what == "scores":
			for _, v := range s.Score[i*s.Outputs:][:s.Outputs] {
				row = append(row, g(v))
			}
		case what == "probabilities":
			for _, v := range s.Probability[i*n:][:n] {
				row = append(row, g(v))
			}
		default:
			class := s.Class(i)
			if row = append(row, form.Classes[class]); s.Probability != nil {
				row = append(row, g(s.Probability[i*n+class]))
			}
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return errors.Join(out.Error(), b.Flush())
}
