package experiment

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/run"
)

// PredictionOptions are common to the experiments of structured prediction.
type PredictionOptions struct {
	Quick       bool // small sizes, for a look and for tests
	Repetitions int  // zero is the experiment's own
	Seed        uint64
	Workers     int // zero is one a processor. Results do not depend on it
	// Known are results of an earlier run with the same options; Save, if not nil, keeps new ones.
	Known []PredictionTrial
	Save  func(*PredictionTrial) error
	// Done, if not nil, is called after each trial.
	Done func(all int, what string)
}

// PredictionTrial is one repetition of one part of an experiment.
type PredictionTrial struct {
	Part       string             `json:"part"`
	Repetition int                `json:"repetition"`
	Methods    []PredictionMethod `json:"methods"`
}

// PredictionMethod is what one method came to in a trial.
type PredictionMethod struct {
	Name    string    `json:"name"`
	Values  []float64 `json:"values"` // by measure
	Setting string    `json:"setting,omitempty"`
}

// PredictionReport is the outcome of an experiment.
type PredictionReport struct {
	Title    string            `json:"title"`
	Measures []string          `json:"measures"`
	Parts    []PredictionPart  `json:"parts"`
	Trials   []PredictionTrial `json:"trials"`
	Notes    []string          `json:"notes,omitempty"`
}

// PredictionPart is a table of means.
type PredictionPart struct {
	Name        string          `json:"name"`
	Repetitions int             `json:"repetitions"`
	Rows        []PredictionRow `json:"rows"`
}

// PredictionRow is a method over all repetitions.
type PredictionRow struct {
	Name string    `json:"name"`
	Mean []float64 `json:"mean"`
	SD   []float64 `json:"sd"`
	// P is of the paired t-test against the first method, by measure; it has none for the first.
	P []metrics.Maybe `json:"p,omitempty"`
}

// trialDraw is the generator of a repetition of a part.
func (o *PredictionOptions) trialDraw(part string, repetition int) *rand.Rand {
	h := uint64(14695981039346656037)
	for _, b := range []byte(part) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return rand.New(rand.NewPCG(o.Seed^h, uint64(repetition)))
}

// repeat runs all repetitions of all parts, one after the other, and reports them. one may use
// workers goroutines.
func (o *PredictionOptions) repeat(ctx context.Context, title string, measures, parts []string,
	repetitions int, one func(ctx context.Context, part string, rng *rand.Rand) ([]PredictionMethod,
		error)) (*PredictionReport, error) {
	if o.Repetitions > 0 {
		repetitions = o.Repetitions
	}
	r := &PredictionReport{Title: title, Measures: measures}
	for _, part := range parts {
		for k := range repetitions {
			at := slices.IndexFunc(o.Known,
				func(t PredictionTrial) bool { return t.Part == part && t.Repetition == k })
			if at >= 0 {
				r.Trials = append(r.Trials, o.Known[at])
				continue
			}
			if ctx.Err() != nil {
				return nil, &run.InterruptedError{Name: title, Steps: len(r.Trials), Err: context.Cause(ctx)}
			}
			m, err := one(ctx, part, o.trialDraw(part, k))
			if err != nil {
				return nil, fmt.Errorf("experiment: %s, repetition %d: %w", part, k+1, err)
			}
			t := PredictionTrial{part, k, m}
			r.Trials = append(r.Trials, t)
			if o.Save != nil {
				if err := o.Save(&t); err != nil {
					return nil, err
				}
			}
			if o.Done != nil {
				o.Done(len(parts)*repetitions, fmt.Sprintf("%s, repetition %d", part, k+1))
			}
		}
	}
	for _, part := range parts {
		r.Parts = append(r.Parts, r.part(part))
	}
	return r, nil
}

func (r *PredictionReport) part(name string) PredictionPart {
	p := PredictionPart{Name: name}
	var trials []PredictionTrial
	for _, t := range r.Trials {
		if t.Part == name {
			trials = append(trials, t)
		}
	}
	p.Repetitions = len(trials)
	values := func(method, measure int) []float64 {
		out := make([]float64, len(trials))
		for k, t := range trials {
			out[k] = t.Methods[method].Values[measure]
		}
		return out
	}
	for m := range trials[0].Methods {
		row := PredictionRow{Name: trials[0].Methods[m].Name}
		for k := range r.Measures {
			v := values(m, k)
			mean, sd := metrics.MeanSD(v)
			row.Mean, row.SD = append(row.Mean, mean), append(row.SD, sd)
			if m > 0 {
				p := metrics.Maybe(1)
				if t, err := metrics.PairedT(values(0, k), v); err == nil {
					p = metrics.Maybe(t.P)
				}
				row.P = append(row.P, p)
			}
		}
		p.Rows = append(p.Rows, row)
	}
	return p
}

// cells are the words of a row: means with deviations, and tests against the first.
func (r *PredictionReport) cells(row *PredictionRow, many bool) []string {
	out := []string{row.Name}
	for k := range r.Measures {
		cell := fmt.Sprintf("%.4g", row.Mean[k])
		if many {
			cell += fmt.Sprintf(" ± %.2g", row.SD[k])
			if row.P != nil {
				cell += fmt.Sprintf(" (p %s)", row.P[k].Text("%.2g"))
			}
		}
		out = append(out, cell)
	}
	return out
}

// WriteTable writes the tables for people.
func (r *PredictionReport) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "%s. Mean ± standard deviation over repetitions; p of the paired t-test against the "+
		"first row.\n", r.Title)
	for _, p := range r.Parts {
		fmt.Fprintf(w, "\n%s (%d repetitions)\n", p.Name, p.Repetitions)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		line := func(cells []string) {
			for k, c := range cells {
				if k > 0 {
					fmt.Fprint(t, "\t")
				}
				fmt.Fprint(t, c)
			}
			fmt.Fprintln(t)
		}
		line(append([]string{"method"}, r.Measures...))
		for i := range p.Rows {
			line(r.cells(&p.Rows[i], p.Repetitions > 1))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(w, "\n%s\n", n)
	}
	return nil
}

// WriteMarkdown writes the tables as Markdown.
func (r *PredictionReport) WriteMarkdown(w io.Writer) error {
	fmt.Fprintf(w, "## %s\n", r.Title)
	line := func(cells []string) (err error) {
		_, err = fmt.Fprint(w, "|")
		for _, c := range cells {
			_, err = fmt.Fprintf(w, " %s |", c)
		}
		fmt.Fprintln(w)
		return err
	}
	for _, p := range r.Parts {
		fmt.Fprintf(w, "\n%s (%d repetitions)\n\n", p.Name, p.Repetitions)
		if err := line(append([]string{"method"}, r.Measures...)); err != nil {
			return err
		}
		if err := line(slices.Repeat([]string{"---"}, len(r.Measures)+1)); err != nil {
			return err
		}
		for i := range p.Rows {
			if err := line(r.cells(&p.Rows[i], p.Repetitions > 1)); err != nil {
				return err
			}
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(w, "\n%s\n", n)
	}
	return nil
}

// WriteCSV writes a line for each measure of each method of each trial.
func (r *PredictionReport) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{"part", "repetition", "method", "measure", "value", "setting"}); err != nil {
		return err
	}
	for _, t := range r.Trials {
		for _, m := range t.Methods {
			for k, v := range m.Values {
				if err := out.Write([]string{t.Part, strconv.Itoa(t.Repetition + 1), m.Name, r.Measures[k],
					strconv.FormatFloat(v, 'g', -1, 64), m.Setting}); err != nil {
					return err
				}
			}
		}
	}
	out.Flush()
	return out.Error()
}

// heldBlocks deals n examples, shuffled, to folds.
func heldBlocks(n, folds int, rng *rand.Rand) [][]int {
	out := make([][]int, folds)
	for k, i := range rng.Perm(n) {
		out[k%folds] = append(out[k%folds], i)
	}
	return out
}

// eachOf calls f for n items side by side, and stops when the context is cancelled.
func eachOf(ctx context.Context, workers, n int, f func(i int) error) error {
	return run.Each(workers, n, func(_, i int) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return f(i)
	})
}
