package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/options"
	"github.com/tropica-fst/tropica/cmd/internal/plot"
	"github.com/tropica-fst/tropica/cmd/internal/progress"
	"github.com/tropica-fst/tropica/cmd/learn/internal/experiment"
	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/sequence"
)

var experimentCheap = &command{
	name: "experiment cheap", args: "", min: 0, max: 0,
	summary: "Tagging and tracking from few and partial labels: margins, active learning, transfer.",
	about: `
Five tables, each with means and deviations over seeds; each seed draws
its own training sentences:

  t1  learners on complete annotations
  t2  error against the share of tokens with a label
  t3  what kept planes and coarse starts save, with 25 % of the labels
  t4  active learning by each measure: the perceptron, and margins trained on
      the sentences that it asked for
  t5  transfer from sentences of another domain to few of this one

--tasks are generator (labels of words), cells (movies of the tracking simulator,
--movies of them for learning and as many for testing), and, in the folder
--data, chunking (CoNLL-2000) and ocr (letters of handwriting):
chunking/conll2000-train.txt.gz and -test, ocr-letters/ocr-letters-train.tsv.gz
and -test; sim:STRIDE and gowt1 are movies of its folder tracking. The other
domain of t5 is made: other words of the generator, coarse tags for chunking,
letters moved by a pixel, cells of another size and speed.

A long run should have --checkpoint: the same command continues from it.

Example:

  learn experiment cheap --tables t1,t2 --seeds 2 --sentences 80`,
	setup: func(fs *flags.Set) func(*call) error {
		names := fs.String("tasks", "generator", "Tasks: generator, cells, chunking, ocr, sim:STRIDE, gowt1")
		data := fs.String("data", "", "Folder with chunking and ocr-letters")
		var o experiment.CheapOptions
		options.Define(fs, &o)
		movies := fs.Int("movies", 32, 4, "Simulated movies of each seed, for learning and for testing")
		test := fs.Int("test", 32, 1000, "Test sentences; 0 is all")
		checkpoint := fs.String("checkpoint", "", "File that keeps results as they come; if it exists, those "+
			"are not made again. Remove it when the program or the data changed")
		csv := fs.String("csv", "", "File for all results, as CSV")
		plotFile := fs.String("plot", "", "File for a picture of t2, error against the share of tokens with a "+
			"label, as SVG; of the first task")
		callsFile := fs.String("plot_inferences", "", "File for a picture of t3, objective against inferences, "+
			"as SVG; of the first seed and task")
		asJSON := fs.Bool("json", false, "Report as JSON")
		workersOf := workersFlag(fs)
		return func(c *call) error {
			if *test < 0 || *movies < 2 {
				return errors.New("flags --test and --movies: at least 0 and 2")
			}
			if err := learner.Complete(&o, &o); err != nil {
				return err
			}
			if err := apart(nil, append(places("the table", *csv),
				places("the checkpoint", *checkpoint)...)); err != nil {
				return err
			}
			asked, err := tasks("tasks", *names)
			if err != nil {
				return err
			}
			if o.Workers, err = workersOf(); err != nil {
				return err
			}
			var all []experiment.CheapTask
			for _, name := range asked {
				var t experiment.CheapTask
				switch name {
				case "generator":
					t = experiment.CheapGenerator(4*o.Sentences, 500, o.Seed+1)
				case "cells":
					t = experiment.CheapCells(int(*movies), o.Seed+1)
				case "chunking":
					t, err = c.chunkingTask(*data)
				case "ocr":
					t, err = c.ocrTask(*data)
				default:
					if what, _, _ := strings.Cut(name, ":"); what != "sim" && what != "gowt1" {
						return fmt.Errorf("flag --tasks: there is no task %q; there are generator, cells, chunking, ocr, "+
							"sim:STRIDE, gowt1", name)
					}
					var trials experiment.TrackingTask
					folder := *data
					if folder != "" {
						folder = filepath.Join(folder, "tracking")
					}
					if trials, err = trackingTask(c, name, folder, 0, 0, 0); err == nil {
						t = experiment.CheapTrials(trials, 128)
					}
				}
				if err != nil {
					return err
				}
				if *test > 0 && len(t.Test) > int(*test) {
					t.Test = t.Test[:*test]
				}
				all = append(all, t)
			}
			var kept results[experiment.CheapCell]
			if err := kept.open(*checkpoint, "cheap results 1"); err != nil {
				return err
			}
			o.Known, o.Save = kept.keeper(c)
			bar := progress.Start(c.Err, "cheap")
			done := bar.Counter()
			n := 0
			o.Done = func(cell *experiment.CheapCell) {
				n++
				done(n, "%s, seed %d, %s: %s, %g %%: error %.2f %%", cell.Task, cell.Seed, cell.Table, cell.Method,
					cell.Fraction, cell.Error)
			}
			r, err := experiment.Cheap(c.ctx, all, o)
			bar.Stop()
			if c.ctx.Err() != nil {
				return kept.interrupted("results")
			}
			if err != nil {
				return err
			}
			if *csv != "" {
				if err := c.Output(*csv, r.WriteCSV); err != nil {
					return err
				}
			}
			if *plotFile != "" {
				if err := c.Output(*plotFile,
					func(w io.Writer) error { return cheapChart(r, all[0].Name).Write(w) }); err != nil {
					return err
				}
			}
			if *callsFile != "" {
				if err := c.Output(*callsFile,
					func(w io.Writer) error { return inferencesChart(r, all[0].Name).Write(w) }); err != nil {
					return err
				}
			}
			return c.report(*asJSON, r, r.WriteTable)
		}
	},
}

// cheapChart draws error against the annotated fraction.
func cheapChart(r *experiment.CheapReport, task string) plot.Chart {
	chart := plot.Chart{Title: "Error against the share of labels", Subtitle: task + ", mean over seeds",
		XLabel: "tokens or detections with a label, %", YLabel: "error, %"}
	for _, m := range r.Means() {
		if m.Task != task || m.Table != "t2" {
			continue
		}
		i := slices.IndexFunc(chart.Series, func(s plot.Series) bool { return s.Name == m.Method })
		if i < 0 {
			i = len(chart.Series)
			chart.Series = append(chart.Series, plot.Series{Name: m.Method})
		}
		s := &chart.Series[i]
		s.X, s.Y = append(s.X, m.Fraction), append(s.Y, m.Error)
	}
	return chart
}

// inferencesChart draws the objective against inferences.
func inferencesChart(r *experiment.CheapReport, task string) plot.Chart {
	chart := plot.Chart{Title: "Objective against inferences", Subtitle: task + ", the first seed, after " +
		"every outer step", XLabel: "inferences", YLabel: "objective"}
	for _, cell := range r.Cells {
		if cell.Task != task || cell.Table != "t3" || cell.Seed != 1 {
			continue
		}
		s := plot.Series{Name: cell.Method}
		for _, p := range cell.Path {
			s.X, s.Y = append(s.X, p[0]), append(s.Y, p[1])
		}
		chart.Series = append(chart.Series, s)
	}
	return chart
}

func (c *call) chunkingTask(folder string) (experiment.CheapTask, error) {
	t := experiment.CheapTask{Name: "chunking", MinCount: 2}
	if folder == "" {
		return t, errors.New("flag --data: the folder of chunking is needed")
	}
	part := func(name string) ([]sequence.Example, error) {
		d := &sentences{format: new(string), label: new(string)}
		*d.format = columns
		out, _, err := d.read(c, []string{filepath.Join(folder, "chunking", "conll2000-"+name+".txt.gz")})
		return out, err
	}
	var err error
	if t.Train, err = part("train"); err != nil {
		return t, err
	}
	if t.Test, err = part("test"); err != nil {
		return t, err
	}
	t.Templates, err = c.templates("chunking", sequence.Format{Form: columns, Columns: 3, Label: 2})
	t.Shift = func(e *sequence.Example, _ *rand.Rand) {
		rows := slices.Clone(e.Columns)
		for k, row := range rows {
			row = slices.Clone(row)
			row[1] = row[1][:1] // the first letter of the tag
			rows[k] = row
		}
		e.Columns = rows
	}
	return t, err
}

func (c *call) ocrTask(folder string) (experiment.CheapTask, error) {
	t := experiment.CheapTask{Name: "ocr", MinCount: 1}
	if folder == "" {
		return t, errors.New("flag --data: the folder of ocr-letters is needed")
	}
	part := func(name string) ([]sequence.Example, error) {
		r, shown, err := c.OpenText(filepath.Join(folder, "ocr-letters", "ocr-letters-"+name+".tsv.gz"))
		if err != nil {
			return nil, err
		}
		defer r.Close()
		rows, err := dataset.ReadTSV(r, shown, &dataset.TSVOptions{Header: true})
		if err != nil {
			return nil, err
		}
		var out []sequence.Example
		word := ""
		for _, r := range rows {
			if len(r.Fields) != 4 || len(r.Fields[3]) != 128 {
				return nil, fmt.Errorf("%s:%d: a word, a position, a letter and 128 pixels are expected", shown, r.Line)
			}
			if r.Fields[0] != word {
				word = r.Fields[0]
				out = append(out, sequence.Example{Input: sequence.Input{Source: fmt.Sprintf("%s:%d", shown, r.Line)}})
			}
			e := &out[len(out)-1]
			e.Attributes, e.Labels = append(e.Attributes, pixels(r.Fields[3])), append(e.Labels, r.Fields[2])
		}
		return out, nil
	}
	var err error
	if t.Train, err = part("train"); err != nil {
		return t, err
	}
	t.Test, err = part("test")
	t.Shift = func(e *sequence.Example, _ *rand.Rand) {
		rows := slices.Clone(e.Attributes)
		for k, row := range rows {
			moved := make([]byte, 128)
			for i := range moved {
				moved[i] = '0'
			}
			for _, a := range row {
				if i, err := strconv.Atoi(strings.TrimPrefix(a.Name, "x")); err == nil && i%8 < 7 {
					moved[i+1] = '1'
				}
			}
			rows[k] = pixels(string(moved))
		}
		e.Attributes = rows
	}
	return t, err
}

// pixels are the attributes of a letter of 16 rows of 8.
func pixels(bits string) []sequence.Attribute {
	out := []sequence.Attribute{{Name: "bias", Value: 1}}
	for k := range len(bits) {
		if bits[k] == '1' {
			out = append(out, sequence.Attribute{Name: "x" + strconv.Itoa(k), Value: 1})
		}
	}
	return out
}
