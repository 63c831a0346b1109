package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/sequence"
)

// tagged are a model's labels for examples, with its errors.
type tagged struct {
	Symbols metrics.Rate
	Strings metrics.Rate
	Edits   metrics.Rate
	Chunks  metrics.ChunkCounts
	Labels  map[string]metrics.ChunkCounts // tokens
	Types   map[string]metrics.ChunkCounts // chunks
	wrong   []float64                      // positions, by example
	edits   []float64
	right   []bool // by example
}

func (d *decoder) tag(c *call, m *sequence.Model, examples []sequence.Example, workers int) (*tagged, error) {
	label, err := d.labeller(c, m)
	if err != nil {
		return nil, err
	}
	predictions := make([][]string, len(examples))
	taggers := make([]*sequence.Tagger, workers)
	err = run.Each(workers, len(examples), func(w, i int) error {
		if err := c.ctx.Err(); err != nil {
			return &stopped{"nothing was written"}
		}
		if taggers[w] == nil {
			taggers[w] = m.Tagger()
		}
		var err error
		predictions[i], err = label(taggers[w], &examples[i].Input)
		return err
	})
	if err != nil {
		if c.ctx.Err() != nil {
			err = &stopped{"nothing was written"}
		}
		return nil, err
	}
	return count(predictions, examples), nil
}

// count counts the errors of predictions.
func count(predictions [][]string, examples []sequence.Example) *tagged {
	r := &tagged{Labels: map[string]metrics.ChunkCounts{}, Types: map[string]metrics.ChunkCounts{}}
	for i, p := range predictions {
		truth := examples[i].Labels
		wrong, edits := metrics.Symbols(p, truth), metrics.Edits(p, truth)
		r.Symbols, r.Edits = r.Symbols.Add(wrong), r.Edits.Add(edits)
		r.Strings = r.Strings.Add(metrics.Strings(p, truth))
		r.Chunks = r.Chunks.Add(metrics.Chunks(p, truth))
		for k, n := range metrics.ChunksByType(p, truth) {
			r.Types[k] = r.Types[k].Add(n)
		}
		for t, y := range truth {
			n := metrics.ChunkCounts{Reference: 1}
			if p[t] == y {
				n = metrics.ChunkCounts{Correct: 1, Predicted: 1, Reference: 1}
			} else {
				r.Labels[p[t]] = r.Labels[p[t]].Add(metrics.ChunkCounts{Predicted: 1})
			}
			r.Labels[y] = r.Labels[y].Add(n)
		}
		r.wrong, r.edits = append(r.wrong, float64(wrong.Errors)), append(r.edits, float64(edits.Errors))
		r.right = append(r.right, wrong.Errors == 0)
	}
	return r
}

// modelNames splits the value of --model.
func modelNames(value string) ([]string, error) {
	names := strings.Split(value, ",")
	if len(names) > 1 && slices.Contains(names, "") {
		return nil, fmt.Errorf("flag --model: an empty name in %q; files are separated by single commas", value)
	}
	return names, nil
}

// areChunks tells labels such as B-NP and O from others.
func areChunks(labels []string) bool {
	return slices.ContainsFunc(
		labels, func(l string) bool { return strings.HasPrefix(l, "B-") || strings.HasPrefix(l, "I-") })
}

// evalScore is one model's result in a report.
type evalScore struct {
	Model         string            `json:"model"`
	Tokens        int               `json:"tokens"`
	Sequences     int               `json:"sequences"`
	TokenError    float64           `json:"token_error"`    // per cent
	SequenceError float64           `json:"sequence_error"` // per cent
	EditRate      float64           `json:"edit_rate"`      // edits by labels, per cent
	ChunkF1       *float64          `json:"chunk_f1,omitempty"`
	Converged     *bool             `json:"converged,omitempty"` // of models trained by the same command
	Labels        *classReport      `json:"labels,omitempty"`    // by token
	Spans         *classReport      `json:"spans,omitempty"`     // chunks by type
	Versus        []evalDifferences `json:"versus,omitempty"`
}

// classReport has precision, recall and F1 by class.
type classReport struct {
	Classes []classScore `json:"classes"`
	Micro   classScore   `json:"micro"` // of all together
	Macro   classScore   `json:"macro"` // the mean of the classes
}

// classScore are the figures of a class, per cent, with its numbers of tokens or chunks.
type classScore struct {
	Class     string  `json:"class"`
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	F1        float64 `json:"f1"`
	Correct   int     `json:"correct"`
	Predicted int     `json:"predicted"`
	Reference int     `json:"reference"`
	Unknown   bool    `json:"unknown_to_the_model,omitempty"`
}

// classesOf reports counts; of the labels of a model, unknown tells those that it does not have.
func classesOf(counts map[string]metrics.ChunkCounts, unknown func(class string) bool) *classReport {
	score := func(class string, n metrics.ChunkCounts) classScore {
		return classScore{Class: class, Precision: 100 * n.Precision(), Recall: 100 * n.Recall(), F1: 100 * n.F1(),
			Correct: n.Correct, Predicted: n.Predicted, Reference: n.Reference}
	}
	r := &classReport{Classes: []classScore{}}
	var all metrics.ChunkCounts
	r.Macro.Class = "macro"
	for _, class := range slices.Sorted(maps.Keys(counts)) {
		x := score(class, counts[class])
		x.Unknown = unknown != nil && unknown(class)
		r.Classes = append(r.Classes, x)
		all = all.Add(counts[class])
		part := float64(len(counts))
		r.Macro.Precision += x.Precision / part
		r.Macro.Recall += x.Recall / part
		r.Macro.F1 += x.F1 / part
	}
	r.Micro = score("micro", all)
	r.Macro.Correct, r.Macro.Predicted, r.Macro.Reference = all.Correct, all.Predicted, all.Reference
	return r
}

// write writes the report as a table for people.
func (r *classReport) write(w io.Writer, what string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s\tprecision %%\trecall %%\tF1 %%\tcorrect\tpredicted\treference\n", what)
	for _, x := range slices.Concat(r.Classes, []classScore{r.Micro, r.Macro}) {
		note := ""
		if x.Unknown {
			note = "\tunknown to the model"
		}
		fmt.Fprintf(t, "%s\t%.2f\t%.2f\t%.2f\t%d\t%d\t%d%s\n", x.Class, x.Precision, x.Recall, x.F1, x.Correct,
			x.Predicted, x.Reference, note)
	}
	return t.Flush()
}

// evalDifferences compares a model with another on the same sequences.
type evalDifferences struct {
	Model    string        `json:"model"`
	TokensP  metrics.Maybe `json:"p_tokens"` // paired t over sequences, of wrong positions
	EditsP   metrics.Maybe `json:"p_edits"`
	Fixed    int           `json:"fixed"` // sequences that only this model has right
	Broken   int           `json:"broken"`
	McNemarP float64       `json:"p_sequences"` // exact
}

func newEvalScore(name string, t *tagged, chunks bool) evalScore {
	s := evalScore{Model: name, Tokens: t.Symbols.Base, Sequences: t.Strings.Base,
		TokenError: 100 * t.Symbols.Value(), SequenceError: 100 * t.Strings.Value(),
		EditRate: 100 * t.Edits.Value()}
	if chunks {
		f := 100 * t.Chunks.F1()
		s.ChunkF1 = &f
	}
	return s
}

// against compares t with an earlier model.
func (s *evalScore) against(name string, t, other *tagged) {
	d := evalDifferences{Model: name, TokensP: 1, EditsP: 1, McNemarP: 1}
	if r, err := metrics.PairedT(t.wrong, other.wrong); err == nil {
		d.TokensP = r.P
	}
	if r, err := metrics.PairedT(t.edits, other.edits); err == nil {
		d.EditsP = r.P
	}
	if r, err := metrics.McNemar(other.right, t.right); err == nil {
		d.Fixed, d.Broken, d.McNemarP = r.OnlyB, r.OnlyA, r.Exact
	}
	s.Versus = append(s.Versus, d)
}

func writeScores(w io.Writer, scores []evalScore) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "model\ttokens wrong %\tsequences wrong %\tedit rate %")
	chunks := scores[0].ChunkF1 != nil
	if chunks {
		fmt.Fprint(t, "\tchunk F1")
	}
	if len(scores) > 1 {
		fmt.Fprint(t, "\tp (tokens)\tp (edits)\tsequences fixed/broken\tp (sequences)")
	}
	fmt.Fprintln(t)
	for _, s := range scores {
		fmt.Fprintf(t, "%s\t%.2f\t%.2f\t%.2f", s.Model, s.TokenError, s.SequenceError, s.EditRate)
		if chunks && s.ChunkF1 != nil {
			fmt.Fprintf(t, "\t%.2f", *s.ChunkF1)
		}
		if len(s.Versus) > 0 {
			v := s.Versus[0]
			fmt.Fprintf(t, "\t%s\t%s\t%d/%d\t%.2g", v.TokensP.Text("%.2g"), v.EditsP.Text("%.2g"), v.Fixed,
				v.Broken, v.McNemarP)
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d sequences, %d tokens%s\n", scores[0].Sequences, scores[0].Tokens,
		map[bool]string{true: "; tests are paired by sequence, against the first model"}[len(scores) > 1])
	return err
}

var sequenceEval = &command{
	name: "sequence eval", args: "test.conll ...", min: 0, max: -1,
	summary: "Counts a model's errors on labelled sentences, and compares models.",
	about: `
Errors are counted by token, by sequence, by edit distance, and by chunks (as
the conlleval script counts them) when labels look like B-NP. Precision, recall and F1
follow by label and by type of chunk, with those of all together (micro) and their mean
over classes (macro); with several models, in the JSON report only. Labels that a model
does not know are named, and count as wrong. --model may name
several files, separated by commas: each is then compared with the first, by a
paired t-test over sequences and McNemar's test. Lines must have the columns that the
models were trained on.

Example:

  learn sequence eval test.conllu --model crf.model,edit.model --json`,
	setup: func(fs *flags.Set) func(*call) error {
		var s sentences
		var d decoder
		models := fs.String("model", "", "Files of models, separated by commas; needed")
		s.ready = true
		s.define(fs, "")
		d.define(fs)
		asJSON := fs.Bool("json", false, "Report as JSON")
		table, writeTable := tableFlag(fs)
		workersOf := workersFlag(fs)
		return func(c *call) error {
			workers, err := workersOf()
			if err != nil {
				return err
			}
			if err := d.check(c); err != nil {
				return err
			}
			names, list, err := loadAll(c, *models, *table, c.sequenceModel)
			if err != nil {
				return err
			}
			for i, m := range list {
				if f := m.Format(); f.Known() {
					if s.like.Known() && (f.Columns != s.like.Columns || f.Label != s.like.Label) {
						return fmt.Errorf("flag --model: %s was trained on other columns (%s) than %s (%s): no file is for "+
							"both; give each command one", names[i], f, strings.TrimPrefix(s.who, "the training data of "), s.like)
					}
					s.follow(m, names[i])
				}
			}
			examples, _, err := s.read(c, c.args)
			if err != nil {
				return err
			}
			chunks := slices.ContainsFunc(list, func(m *sequence.Model) bool { return areChunks(m.Labels()) })
			var results []*tagged
			var scores []evalScore
			for i, m := range list {
				t, err := d.tag(c, m, examples, workers)
				if err != nil {
					return err
				}
				results = append(results, t)
				x := newEvalScore(names[i], t, chunks)
				known := m.Labels()
				c.foreignLabels(examples, known, names[i])
				x.Labels = classesOf(t.Labels, func(y string) bool { return !slices.Contains(known, y) })
				if chunks {
					x.Spans = classesOf(t.Types, nil)
				}
				for k := range i {
					x.against(names[k], t, results[k])
				}
				scores = append(scores, x)
			}
			if err := writeTable(c, func(w io.Writer) error { return writeScoresCSV(w, scores) }); err != nil {
				return err
			}
			if *asJSON {
				return c.json(map[string]any{"models": scores})
			}
			if err := writeScores(c.Out, scores); err != nil || len(scores) > 1 {
				return err
			}
			fmt.Fprintln(c.Out)
			if err := scores[0].Labels.write(c.Out, "label"); err != nil || !chunks {
				return err
			}
			fmt.Fprintln(c.Out)
			return scores[0].Spans.write(c.Out, "chunk")
		}
	},
}

// writeScoresCSV writes scores as a table for programs, tests being against the first.
func writeScoresCSV(w io.Writer, scores []evalScore) error {
	rows := [][]string{{"model", "tokens", "sequences", "token_error", "sequence_error", "edit_rate", "chunk_f1",
		"p_tokens", "p_edits", "fixed", "broken", "p_sequences"}}
	for _, s := range scores {
		row := []string{s.Model, strconv.Itoa(s.Tokens), strconv.Itoa(s.Sequences), decimal(s.TokenError),
			decimal(s.SequenceError), decimal(s.EditRate), ""}
		if s.ChunkF1 != nil {
			row[6] = decimal(*s.ChunkF1)
		}
		if len(s.Versus) > 0 {
			v := s.Versus[0]
			row = append(row, decimal(float64(v.TokensP)), decimal(float64(v.EditsP)), strconv.Itoa(v.Fixed),
				strconv.Itoa(v.Broken), decimal(v.McNemarP))
		} else {
			row = append(row, "", "", "", "", "")
		}
		rows = append(rows, row)
	}
	return csv.NewWriter(w).WriteAll(rows)
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// tableFlag defines --csv for commands whose result is a table; the function returned
// writes it, if it was asked for.
func tableFlag(fs *flags.Set) (name *string, write func(*call, func(io.Writer) error) error) {
	name = fs.String("csv", "", "File for the table as CSV")
	return name, func(c *call, table func(io.Writer) error) error {
		if *name == "" {
			return nil
		}
		return c.Output(*name, table)
	}
}
