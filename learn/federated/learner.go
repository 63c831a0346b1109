package federated

import (
	"fmt"
	"io"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// Learner is the centralised problem of classification in one round under the contract of
// package learner. It reads the models of oneround and average too.
type Learner struct{}

var _ learner.Learner[*table.Table, *learner.Scores] = Learner{}

// Name implements learner.Learner.
func (Learner) Name() string { return "oneround" }

// Title implements learner.Learner.
func (Learner) Title() string { return "kernel classification by critical samples" }

// About implements learner.Learner.
func (Learner) About() string {
	return `
For two classes a sum of kernels at critical samples, found by their multipliers; for more a
vote of all pairs. Columns must be numbers, and are standardised. It is what a federated run
of one round (` + "`learn federated`" + `) is measured by: predict and eval read models of both.`
}

// Lacks implements learner.Lacking: votes of pairs are no probabilities.
func (Learner) Lacks() []string { return []string{"log-loss"} }

// Options implements learner.Learner.
func (Learner) Options() any { return &KernelOptions{} }

// Train implements learner.Learner.
func (Learner) Train(t *table.Table, options any,
	c *run.Control) (learner.Model[*table.Table, *learner.Scores], *optim.Result, error) {
	return learner.TrainWith(TrainKernel, t, options, c)
}

// Read implements learner.Learner.
func (Learner) Read(r io.Reader) (learner.Model[*table.Table, *learner.Scores], error) {
	c, err := model.Read(r, nil)
	if err != nil {
		return nil, err
	}
	if c.Kind == averageKind {
		m, err := averageOf(c)
		if err != nil {
			return nil, err
		}
		return m, nil
	}
	m, err := kernelFrom(c)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Explain implements learner.Model: the pairs of classes, and the samples of the largest
// coefficients.
func (m *KernelModel) Explain() []learner.Section {
	functions := learner.Section{Title: "pairs", Columns: []string{"-1", "+1", "samples", "price"}}
	for p, pair := range pairs(len(m.Schema.Classes)) {
		n := 0
		for _, v := range m.Coef[p] {
			if v != 0 {
				n++
			}
		}
		functions.Rows = append(functions.Rows, []any{m.Schema.Classes[pair[0]], m.Schema.Classes[pair[1]],
			n, m.Price[p]})
	}
	functions.Note = fmt.Sprintf("%d samples, %d kernels with a coefficient", len(m.X), m.Kernels())
	return []learner.Section{functions}
}

// Explain implements learner.Model: how many weights there are.
func (m *AverageModel) Explain() []learner.Section {
	return []learner.Section{{Title: "model", Columns: []string{"columns", "random features", "classes",
		"rounds"},
		Rows: [][]any{{len(m.Features), m.Options.Features, len(m.Schema.Classes), m.Options.Rounds}}}}
}

// Form is an empty table of the model's columns.
func (m *AverageModel) Form() *table.Table { return m.Schema.Table() }
