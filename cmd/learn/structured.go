package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/progress"
	"github.com/tropica-fst/tropica/cmd/internal/tables"
	"github.com/tropica-fst/tropica/cmd/learn/internal/experiment"
	"github.com/tropica-fst/tropica/learn/g2p"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/sequence"
)

var experimentObjectives = &command{
	name: "experiment objectives", args: "", min: 0, max: 0,
	summary: "One sequence model for several objectives at once, beside models of each alone.",
	about: `
Trains models of pronunciation for each of --languages (cross-entropy, margins of
wrong labels, of the edit distance and of bigrams of phones). With --train it trains a
labeller of sentences (cross-entropy, margins of the Hamming distance, the edit distance
and bigrams). It trains on each objective alone, on the even mixture, and robustly for
every mixture (almo). Objectives are measured by their regret, their excess over what each
reaches alone, penalty included. Margins are never below the cross-entropy, and without
regrets the largest of them would be the whole game. gap bounds how far a model is from
the best possible.

A long run should have --checkpoint: the same command continues from it, to the same result,
with other --languages as well if you like.

Example:

  learn experiment objectives --data testdata/g2p --languages ice,gre --words 800 \
      --train testdata/ud-english-ewt-sample/train.conllu.gz --test testdata/ud-english-ewt-sample/test.conllu.gz`,
	setup: func(fs *flags.Set) func(*call) error {
		data := fs.String("data", "testdata/g2p", "Folder with LANGUAGE_train.tsv and LANGUAGE_test.tsv")
		languages := fs.String("languages", "ice,gre", "Languages; none leaves pronunciation out")
		words := fs.Int("words", 32, 0, "Train on the first words only; 0 is all")
		train := fs.String("train", "", "Sentences to train a labeller on")
		test := fs.String("test", "", "Sentences to test it on")
		limit := fs.Int("sentences", 32, 0, "Train on the first sentences only; 0 is all")
		var d sentences
		d.define(fs, "")
		templates := fs.String("templates", autoTemplates, "Features: a file of templates (as of CRF++), "+
			"tagging, chunking, or auto")
		minCount := fs.Int("min_count", 32, 1, "Features seen less often in training are left out")
		l2 := fs.Float("l2", 1, "Weight of the squares")
		gamma := fs.Float("gamma", 2, "Weight of losses in margins")
		gap := fs.Float("gap", 1e-3, "Certified gap to stop at")
		inner := fs.Int("inner", 32, 200, "Steps of L-BFGS between certificates")
		checkpoint := fs.String("checkpoint", "", "File that keeps models as they come; if it exists, those are "+
			"not trained again. Remove it when the program changed")
		asJSON := fs.Bool("json", false, "Report as JSON")
		workersOf := workersFlag(fs)
		return func(c *call) error {
			workers, err := workersOf()
			if err != nil {
				return err
			}
			if *words < 0 || *limit < 0 || *inner < 1 || !(*l2 > 0) || !(*gamma > 0) || !(*gap > 0) {
				return errors.New("flags --words and --sentences must not be negative, --inner, --l2, --gamma and " +
					"--gap positive")
			}
			if (*train == "") != (*test == "") {
				return errors.New("flags --train and --test belong together")
			}
			if *train == "" && len(list(*languages)) == 0 {
				return errors.New("there is nothing to do: no --languages and no --train")
			}
			var kept results[experiment.StructuredCell]
			if *checkpoint != "" {
				if err := apart(places("the sentences", *train, *test),
					[]place{{"the checkpoint", *checkpoint}}); err != nil {
					return err
				}
			}
			if err := kept.open(*checkpoint, "objectives results 1"); err != nil {
				return err
			}
			var reports []*experiment.StructuredReport
			one := func(name string, train func(*experiment.StructuredOptions) (*experiment.StructuredReport,
				error)) error {
				bar := progress.Start(c.Err, name)
				so := &experiment.StructuredOptions{L2: *l2, Gamma: *gamma, Gap: *gap, Inner: int(*inner),
					Workers: workers, Watch: func(model string, row run.Row) {
						bar.Set(row.Iteration, 30, "%s, %s, round %d: objectives %.4f, λ %.2f", name, model, row.Iteration,
							saddle.RowOf(row).Values, saddle.RowOf(row).Lambda)
					}}
				so.Known, so.Save = kept.keeper(c)
				r, err := train(so)
				bar.Stop()
				if c.ctx.Err() != nil {
					return kept.interrupted("models")
				}
				if err == nil {
					reports = append(reports, r)
				}
				return err
			}
			for _, language := range list(*languages) {
				folder, err := tables.Folder(*data)
				if err != nil {
					return fmt.Errorf("flag --data: %w", err)
				}
				read := func(part string) ([]g2p.Pair, error) {
					name := language + "_" + part + ".tsv"
					f, err := folder.Open(name)
					if err != nil {
						return nil, fmt.Errorf("flag --languages: %w", err)
					}
					defer f.Close()
					return g2p.ReadPairs(f, name)
				}
				a, err := read("train")
				if err != nil {
					return err
				}
				b, err := read("test")
				if err != nil {
					return err
				}
				if *words > 0 {
					a = g2p.Words(a, int(*words))
				}
				if err := one(language, func(o *experiment.StructuredOptions) (*experiment.StructuredReport, error) {
					return experiment.Pronouncing(c.ctx, language, a, b, o)
				}); err != nil {
					return err
				}
			}
			if *train != "" {
				a, format, err := d.read(c, []string{*train})
				if err != nil {
					return err
				}
				b, _, err := d.read(c, []string{*test})
				if err != nil {
					return err
				}
				if *limit > 0 && len(a) > int(*limit) {
					a = a[:*limit]
				}
				o := &sequence.TrainOptions{MinCount: int(*minCount), Workers: workers}
				if o.Templates, err = c.templates(*templates, format); err != nil {
					return err
				}
				name := (*train)[strings.LastIndexByte(*train, '/')+1:]
				if err := one(name, func(so *experiment.StructuredOptions) (*experiment.StructuredReport, error) {
					return experiment.Tagging(c.ctx, name, a, b, o, so)
				}); err != nil {
					return err
				}
			}
			if *asJSON {
				return c.json(reports)
			}
			return c.Output("", func(w io.Writer) error {
				for i, r := range reports {
					if i > 0 {
						fmt.Fprintln(w)
					}
					if err := r.WriteTable(w); err != nil {
						return err
					}
				}
				return nil
			})
		}
	},
}
