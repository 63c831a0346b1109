package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/margin"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/sequence"
)

var active = &command{
	name: "active", args: "pool.conll ...", min: 1, max: -1,
	summary: "Asks for the labels of the sentences that it learns most from.",
	about: `
Learns a labeller of sentences from a pool without labels. It asks about the
sentence that it is least certain of and learns from the answer. It stops when
its mean uncertainty no longer changes, or after --queries questions.

Questions are files in the folder --queue: 00012.ask is sentence 12 of the pool,
a token a line, with ? in the column of the labels. Answer with a file
00012.answer beside it, the same lines with labels instead of ?. Labels that
stay ? are not known; an empty file skips the sentence. Write the answer under
another name and rename it, so that it is not read before it is complete.

The program waits for answers. An interrupt writes its state. The same command
with --resume continues, and reads answers that have arrived in the meantime.

--labelled names sentences that are labelled already, --labels further labels.
The pool has a column for labels too, of ? or of labels. With --simulate these
answer the questions; otherwise they are not used.

Example:

  learn active testdata/ud-english-ewt-sample/train.conllu.gz --simulate --combine \
      --queries 40 --model pos.model`,
	setup: func(fs *flags.Set) func(*call) error {
		var t training
		var d sentences
		t.define(fs, 100000, 0)
		d.define(fs, "")
		options := learnerFlags(fs, func() any { return &margin.ActiveOptions{} })
		queue := fs.String("queue", "", "Folder for questions and answers")
		simulate := fs.Bool("simulate", false, "Answer from the labels of the pool")
		labelled := fs.String("labelled", "", "Sentences with labels to begin with")
		labels := fs.String("labels", "", "Labels that there are beyond those of --labelled, separated by commas")
		templates := fs.String("templates", autoTemplates, "Features: a file of templates (as of CRF++), "+
			"tagging, chunking, or auto")
		minCount := fs.Int("min_count", 32, 1, "Features seen less often in the pool are left out")
		lambda := fs.Float("lambda", 0.01, "Penalty of margins, beside the mean loss of a sentence")
		return func(c *call) error {
			if (*queue == "") == !*simulate {
				return errors.New("flags --queue and --simulate: give one of the two, where answers come from")
			}
			if !(*lambda > 0) || *minCount < 1 {
				return errors.New("flags --lambda and --min_count must be positive")
			}
			inputs := slices.Concat(places("the pool", c.args...), places("the labelled sentences", *labelled))
			return t.run(c, "active", inputs, func(workers int, control run.Control) (*fitted, error) {
				yes := true
				d.partial = &yes
				pool, format, err := d.read(c, c.args)
				if err != nil {
					return nil, err
				}
				n := len(pool)
				truth := make([][]string, n)
				for i := range pool {
					truth[i] = pool[i].Labels
					pool[i].Labels = make([]string, len(truth[i]))
				}
				o := &sequence.TrainOptions{Format: format, Partial: true, MinCount: int(*minCount),
					Labels: list(*labels), Workers: workers}
				if o.Templates, err = c.templates(*templates, format); err != nil {
					return nil, err
				}
				var known []sequence.Example
				if *labelled != "" {
					if known, _, err = d.read(c, []string{*labelled}); err != nil {
						return nil, err
					}
				}
				if *simulate {
					for i := range truth {
						for k, y := range truth[i] {
							if y == "" {
								return nil, fmt.Errorf("flag --simulate: %s: token %d has no label", pool[i].Source, k+1)
							}
							if !slices.Contains(o.Labels, y) {
								o.Labels = append(o.Labels, y)
							}
						}
					}
					slices.Sort(o.Labels)
				}
				if len(known) == 0 && len(o.Labels) == 0 {
					return nil, errors.New("no labels are known: name them by --labels, or give sentences that have some " +
						"by --labelled")
				}
				if err := foreign(pool, truth, known, o.Labels); err != nil && !*simulate {
					return nil, err
				}
				p, err := sequence.Prepare(append(slices.Clone(pool), known...), o)
				if err != nil {
					return nil, err
				}
				s, err := p.Space(false)
				if err != nil {
					return nil, err
				}
				m, err := p.Model(make([]float64, p.Dim()), "")
				if err != nil {
					return nil, err
				}
				q := &queueOf{call: c, folder: *queue, pool: pool, truth: truth, format: format,
					number: map[string]int{"": -1}}
				for k, y := range m.Labels() {
					q.number[y] = k
				}
				if err := q.open(); err != nil {
					return nil, err
				}
				ao := options().(*margin.ActiveOptions)
				ao.Margin.Lambda = *lambda
				control.Workers = workers
				control.Problem = "active " + p.Identity() + fmt.Sprintf(" lambda=%v", *lambda)
				control.Warn = func(text string) { c.Warn(c.prog, "%s", text) }
				inputs := make([]int, n)
				for i := range inputs {
					inputs[i] = i
				}
				var annotator margin.Annotator[[]int] = q
				result, r, err := margin.Active(s, inputs, s.Samples()[n:], annotator, ao, &control)
				if err != nil {
					return nil, err
				}
				if m, err = p.Model(result.Model().W, fmt.Sprintf("active, %d sentences asked for of %d, by %s; %s",
					len(result.Queries), n, ao.Measure, r.Reason)); err != nil {
					return nil, err
				}
				note := fmt.Sprintf("%d sentences of %d were annotated, and %d skipped", len(result.Data)-len(known), n,
					len(result.Queries)-len(result.Data)+len(known))
				return &fitted{result: r, write: m.Write, notes: []string{note},
					details: map[string]any{"queries": queriesOf(result.Queries, pool),
						"inferences": result.Perceptron.Report.Calls}}, nil
			})
		}
	},
}

// foreign finds what is no label in the column of the labels of a pool, which questions would hide.
func foreign(pool []sequence.Example, labels [][]string, known []sequence.Example, named []string) error {
	have := map[string]bool{"": true}
	for _, y := range named {
		have[y] = true
	}
	for i := range known {
		for _, y := range known[i].Labels {
			have[y] = true
		}
	}
	for i := range labels {
		for t, y := range labels[i] {
			if !have[y] {
				return fmt.Errorf("%s: token %d has %q in the column of the labels, where a pool has ? or one that is known: "+
					"--label names another column, --labels more labels", pool[i].Source, t+1, y)
			}
		}
	}
	return nil
}

// asked is a query for reports.
type asked struct {
	Source      string  `json:"sentence"`
	Skipped     bool    `json:"skipped,omitempty"`
	Uncertainty float64 `json:"mean_uncertainty"`
	Norm        float64 `json:"norm_of_weights"`
}

func queriesOf(list []margin.Query, pool []sequence.Example) []asked {
	var out []asked
	for _, q := range list {
		out = append(out, asked{pool[q.Input].Source, q.Skipped, q.Mean, q.Norm})
	}
	return out
}

// queueOf answers from files, or from the labels that the pool came with.
type queueOf struct {
	*call
	folder string // "" answers from truth
	pool   []sequence.Example
	truth  [][]string
	format sequence.Format
	number map[string]int

	warned map[string]string // by file, what was said of it
}

var _ margin.Annotator[[]int] = (*queueOf)(nil)

func (q *queueOf) open() error {
	q.warned = map[string]string{}
	if q.folder == "" {
		return nil
	}
	if err := os.MkdirAll(q.folder, 0o777); err != nil {
		return fmt.Errorf("flag --queue: %w", err)
	}
	return nil
}

func (q *queueOf) file(i int, kind string) string {
	return filepath.Join(q.folder, fmt.Sprintf("%05d.%s", i+1, kind))
}

// Ask writes questions.
func (q *queueOf) Ask(batch []int) error {
	if q.folder == "" {
		return nil
	}
	for _, i := range batch {
		err := q.Output(q.file(i, "ask"), func(w io.Writer) error {
			var b bytes.Buffer
			for _, row := range q.pool[i].Columns {
				row = slices.Clone(row)
				row[q.format.Label] = "?"
				b.WriteString(strings.Join(row, "\t") + "\n")
			}
			_, err := w.Write(b.Bytes())
			return err
		})
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(q.Err, "%s: asked about %s; waiting for %s\n", q.prog, q.pool[batch[0]].Source,
		q.file(batch[0], "answer"))
	return nil
}

// Annotate waits for an answer.
func (q *queueOf) Annotate(ctx context.Context, i int) ([]int, bool, error) {
	if q.folder == "" {
		return q.numbers(q.truth[i]), true, nil
	}
	name := q.file(i, "answer")
	for {
		labels, err := q.answer(i, name)
		switch {
		case err == nil:
			return labels, labels != nil, nil
		case !os.IsNotExist(err) && q.warned[name] != err.Error():
			q.warned[name] = err.Error()
			q.Warn(q.prog, "%v; correct it, and it is read again", err)
		}
		select {
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (q *queueOf) numbers(labels []string) []int {
	out := make([]int, len(labels))
	for k, y := range labels {
		out[k] = q.number[y]
	}
	return out
}

// answer reads a file; nil labels are those of a sentence that is skipped.
func (q *queueOf) answer(i int, name string) ([]int, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	list, err := dataset.ReadColumns(bytes.NewReader(text), name,
		&dataset.ColumnsOptions{Tabs: true, Empty: true, Columns: q.format.Columns})
	if err != nil {
		return nil, err
	}
	rows := q.pool[i].Columns
	if len(list) != 1 || len(list[0].Tokens) != len(rows) {
		return nil, fmt.Errorf("%s: one sentence of %d lines is expected, as in %s", name, len(rows),
			q.file(i, "ask"))
	}
	labels := make([]string, len(rows))
	for t, row := range list[0].Tokens {
		for k := range row {
			if k != q.format.Label && row[k] != rows[t][k] {
				return nil, fmt.Errorf("%s:%d: column %d is %q, and was %q in the question", name, list[0].Line+t, k+1,
					row[k], rows[t][k])
			}
		}
		labels[t] = row[q.format.Label]
		if slices.Contains(unlabelledWords, labels[t]) {
			labels[t] = ""
		}
		if _, ok := q.number[labels[t]]; !ok {
			return nil, fmt.Errorf("%s:%d: there is no label %q (--labels says which there are)", name,
				list[0].Line+t, labels[t])
		}
	}
	return q.numbers(labels), nil
}
