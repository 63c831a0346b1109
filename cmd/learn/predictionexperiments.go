package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/progress"
	"github.com/tropica-fst/tropica/cmd/internal/tables"
	"github.com/tropica-fst/tropica/cmd/learn/internal/experiment"
)

// predictionExperiment is an experiment of structured prediction: repetitions, tables, a
// checkpoint. define adds flags of its own, and returns what runs it.
func predictionExperiment(name, summary, about string,
	define func(fs *flags.Set) func(ctx context.Context, c *call,
		o *experiment.PredictionOptions) (*experiment.PredictionReport, error)) *command {
	return &command{
		name: "experiment " + name, args: "", min: 0, max: 0, summary: summary,
		about: about + `

A long run should have --checkpoint: the same command continues from it, to the same result.

Example:

  learn experiment ` + name + ` --quick`,
		setup: func(fs *flags.Set) func(*call) error {
			quick := fs.Bool("quick", false, "Small sizes, for a look")
			repetitions := fs.Int("repetitions", 32, 0, "Repetitions; 0 is as many as the published experiment "+
				"has, or a few with --quick")
			seed := fs.Uint("seed", 1, "Seed of all draws")
			checkpoint := fs.String("checkpoint", "", "File that keeps repetitions as they come; if it exists, "+
				"those are not made again. Remove it when the program or --quick or --seed changed")
			asJSON := fs.Bool("json", false, "Report as JSON")
			markdown := fs.Bool("markdown", false, "Report as Markdown")
			_, writeTable := tableFlag(fs)
			workersOf := workersFlag(fs)
			run := define(fs)
			return func(c *call) error {
				if *repetitions < 0 || *repetitions > 1e6 {
					return fmt.Errorf("flag --repetitions: %d is not between 0 and 1000000", *repetitions)
				}
				o := &experiment.PredictionOptions{Quick: *quick, Repetitions: int(*repetitions), Seed: *seed}
				var err error
				if o.Workers, err = workersOf(); err != nil {
					return err
				}
				var kept results[experiment.PredictionTrial]
				if err := kept.open(*checkpoint, fmt.Sprintf("%s results 1 quick=%t seed=%d", name, *quick,
					*seed)); err != nil {
					return err
				}
				o.Known, o.Save = kept.keeper(c)
				bar := progress.Start(c.Err, name)
				done := bar.Counter()
				o.Done = func(all int, what string) { done(all, "%s", what) }
				r, err := run(c.ctx, c, o)
				bar.Stop()
				if c.ctx.Err() != nil {
					return kept.interrupted("repetitions")
				}
				if err != nil {
					return err
				}
				if err := writeTable(c, r.WriteCSV); err != nil {
					return err
				}
				switch {
				case *asJSON:
					return c.json(r)
				case *markdown:
					return r.WriteMarkdown(c.Out)
				}
				return r.WriteTable(c.Out)
			}
		},
	}
}

// dataFolder opens the folder that the flag --data names.
func dataFolder(name string) (fs.FS, error) {
	if name == "" {
		return nil, errors.New("flag --data is needed: the folder with the data")
	}
	f, err := tables.Folder(name)
	if err != nil {
		return nil, fmt.Errorf("flag --data: %w", err)
	}
	return f, nil
}

var experimentRobust = predictionExperiment("robust", "Regression with outliers: Algorithm 1 with the "+
	"Cauchy loss.", `
x is uniform on [-1, 1], y = sin(6 pi x) with normal noise, and outliers in a tenth of the
points. Algorithm 1 with the Cauchy loss stands beside Nadaraya-Watson weights with the same
loss and kernel ridge regression, by the mean absolute distance to the sine.`,
	func(*flags.Set) func(context.Context, *call,
		*experiment.PredictionOptions) (*experiment.PredictionReport, error) {
		return func(ctx context.Context, _ *call, o *experiment.PredictionOptions) (*experiment.PredictionReport,
			error) {
			return experiment.Robust(ctx, o)
		}
	})

var experimentCompletion = predictionExperiment(
	"completion", "Lower halves of USPS digits from upper ones.", `
The folder --data must have usps/usps-11000.csv.gz. Algorithm 1 with the squared Hellinger
loss stands beside kernel ridge regression and dependency estimation with a Gaussian kernel
of the outputs, by both losses and by a digit classifier on the completed images. --plot
draws some of them.`,
	func(fs *flags.Set) func(context.Context, *call,
		*experiment.PredictionOptions) (*experiment.PredictionReport, error) {
		data := fs.String("data", "", "Folder with the data; needed")
		picture := fs.String("plot", "", "File for a picture of completed images (SVG)")
		return func(ctx context.Context, c *call, o *experiment.PredictionOptions) (*experiment.PredictionReport,
			error) {
			folder, err := dataFolder(*data)
			if err != nil {
				return nil, err
			}
			var sheet *experiment.CompletionSheet
			if *picture != "" {
				sheet = &experiment.CompletionSheet{}
			}
			r, err := experiment.Completion(ctx, folder, o, sheet)
			if err == nil && sheet != nil {
				err = c.Output(*picture, sheet.WriteSVG)
			}
			return r, err
		}
	})

var experimentRanking = predictionExperiment("ranking", "Rankings by people's features: rank loss and "+
	"feedback arc sets.", `
--set=generator draws people and ratings from latent factors. --set=movielens reads u.data,
u.user and u.item of MovieLens 100k from --data, which cannot be distributed with this program:
Algorithm 1 stands beside linear models of ratings, of pairs under the hinge loss, and of
pairs under the logistic loss. --set=sushi needs ranking/sushi-10-orders.tsv in --data, and
compares ways to find orders on small samples of voters.`,
	func(fs *flags.Set) func(context.Context, *call,
		*experiment.PredictionOptions) (*experiment.PredictionReport, error) {
		set := fs.Enum("set", "generator", []string{"generator", "sushi", "movielens"}, "Data")
		data := fs.String("data", "", "Folder with the data of sushi or movielens")
		return func(ctx context.Context, _ *call, o *experiment.PredictionOptions) (*experiment.PredictionReport,
			error) {
			if *set == "generator" {
				people, train := 300, 200
				if o.Quick {
					people, train = 120, 80
				}
				const items = 60
				var parts []experiment.RankingPart
				for _, share := range []float64{0.1, 0.4, 1} {
					parts = append(parts, experiment.RankingPart{Name: fmt.Sprintf("%d people, %d to train on, %d items, "+
						"%g %% rated", people, train, items, 100*share), Train: train,
						Draw: func(rng *rand.Rand) *experiment.Raters { return experiment.DrawRaters(people, items, share, rng) }})
				}
				return experiment.Ranking(ctx, parts, o)
			}
			folder, err := dataFolder(*data)
			if err != nil {
				return nil, err
			}
			if *set == "sushi" {
				return experiment.Sushi(ctx, folder, o)
			}
			draw, err := experiment.MovieLens(folder)
			if err != nil {
				return nil, err
			}
			return experiment.Ranking(ctx, []experiment.RankingPart{
				{Name: "MovieLens 100k, 643 people to train on", Train: 643, Draw: draw}}, o)
		}
	})

var experimentStrings = predictionExperiment("strings", "Correction of strings: random ones, or misspelt "+
	"words from a lexicon.", `
--set=random restores random strings of four letters from noisy ones, and compares methods of
decoding by what they find and prove. --set=spelling corrects misspelt words: the folder
--data must have spelling/spell-errors.tsv.gz. Algorithm 1 with the edit distance stands
beside the nearest word of the lexicon, the same weighted by frequencies, and the most
similar training input.`,
	func(fs *flags.Set) func(context.Context, *call,
		*experiment.PredictionOptions) (*experiment.PredictionReport, error) {
		set := fs.Enum("set", "random", []string{"random", "spelling"}, "Data")
		data := fs.String("data", "", "Folder with the data of spelling")
		return func(ctx context.Context, _ *call, o *experiment.PredictionOptions) (*experiment.PredictionReport,
			error) {
			if *set == "random" {
				return experiment.Correction(ctx, o)
			}
			folder, err := dataFolder(*data)
			if err != nil {
				return nil, err
			}
			return experiment.Spelling(ctx, folder, o)
		}
	})

var experimentTransduce = predictionExperiment("transduce", "Objectives of the string transducer, on tasks "+
	"judged by strings.", `
--set=inflection makes forms of lemmas: the folder --data has inflection/LANG.trn.tsv and so on,
constants are chosen on LANG.dev.tsv, and LANG.tst.tsv is the test. --set=spelling corrects
misspelt words by words of a lexicon (spelling/spell-errors.tsv.gz), with the draws of
"experiment strings". --set=ocr restores words of letters that were recognised, lost and
doubled (ocr-letters/). Margins of edits, of operations and of wrong strings, a max-margin,
cross-entropy, and cross-entropy with the expected edits, each with the constants that did best
on strings held out, are tested on the same strings.`,
	func(fs *flags.Set) func(context.Context, *call,
		*experiment.PredictionOptions) (*experiment.PredictionReport, error) {
		t := &experiment.TransduceOptions{}
		sets := experiment.TransduceSets()
		set := fs.Enum("set", sets[0], sets, "Data")
		data := fs.String("data", "", "Folder with the data; needed")
		languages := fs.String("languages", "tgl,dan,deu", "Languages of inflection")
		train := fs.Int("train", 32, 1000, "Training pairs at most, and development pairs of inflection; 0 is all")
		return func(ctx context.Context, _ *call, o *experiment.PredictionOptions) (*experiment.PredictionReport,
			error) {
			folder, err := dataFolder(*data)
			if err != nil {
				return nil, err
			}
			if *train < 0 {
				return nil, errors.New("flag --train must not be negative")
			}
			t.PredictionOptions, t.Set, t.Languages, t.Train = o, *set, list(*languages), int(*train)
			if t.Set == "inflection" && len(t.Languages) == 0 {
				return nil, errors.New("flag --languages names no language")
			}
			return experiment.Transduce(ctx, folder, t)
		}
	})
