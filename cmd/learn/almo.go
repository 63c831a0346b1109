package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/tables"
	"github.com/tropica-fst/tropica/learn/almo"
	"github.com/tropica-fst/tropica/learn/minimax"
	"github.com/tropica-fst/tropica/learn/run"
)

// almoCommands are the verbs of the learner. Those that every learner of tables has alike are
// written over the contract.
func almoCommands() []*command {
	l := almo.Learner{}
	return []*command{almoTrain, learnerPredict(l, freshTable), almoEval,
		learnerCV(l, tableLearners, freshTable),
		learnerExplain(l, freshTable), almoCurve, almoG2P, almoSequence}
}

var almoTrain = &command{
	name: "almo train", args: "train.csv", min: 1, max: 1,
	summary: "Trains one model for many losses, robust to every mixture of them.",
	about: `
Minimises the largest mixture of the --losses over the weights of a linear model
or of a network (--hidden), as a game against the weights of the objectives.
For linear models the result comes with a proof of how far it is from the best
possible (gap).

` + tables.Help + `

The report has the model's error on the training rows beside those of models trained
on one loss alone, which shows the cost of robustness. For other rows use learn almo eval.
--plot draws how the weights of the objectives moved, --plot_losses the losses.

Example: is income above 50K, by three losses at once, and the even mixture to
compare with:

  learn almo train testdata/tables/uci/adult-train.csv.gz --target income --model adult.model --plot lambda.svg
  learn almo train testdata/tables/uci/adult-train.csv.gz --target income --model even.model --mixture uniform
  learn almo eval testdata/tables/uci/adult-test.csv.gz --target income --model adult.model`,
	setup: func(fs *flags.Set) func(*call) error {
		var rows multiTable
		rows.define(fs)
		rows.defineAbsent(fs)
		t := training{workers: rows.workers}
		var a almoFlags
		t.define(fs, 20, 0)
		for _, f := range fs.Flags() {
			if f.Name == "iterations" {
				f.Usage = "Passes over the rows (steps with --batch 0; rounds of --solver newton and smoothed, by " +
					"default as many as make progress)"
			}
		}
		a.define(fs)
		picture := fs.String("plot", "", "File for a picture (SVG) of the weights of the objectives, pass by pass")
		cost := fs.Bool("cost", true, "Train on each loss alone, too, and report the errors; for networks only "+
			"when given")
		losses := fs.String("plot_losses", "", "File for a picture (SVG) of the objectives")
		return func(c *call) error {
			evaluations := 0
			var drawn gameRows
			inputs := a.inputs(c)
			err := apart(slices.Concat(inputs, places("the model", *t.model)),
				[]place{{"the picture", *picture}, {"the picture of the losses", *losses}})
			if err != nil {
				return err
			}
			err = t.run(c, "almo", inputs, func(workers int, control run.Control) (*fitted, error) {
				o, err := a.options(c)
				if err != nil {
					return nil, err
				}
				var names []string
				for _, l := range o.Losses {
					names = append(names, l.Name)
				}
				control = drawn.watch(control, names)
				tab, encoder, d, err := c.almoTable(&rows, a.Scaling)
				if err != nil {
					return nil, err
				}
				if a.Heldout > 0 {
					if d, o.Network.Heldout, err = almo.Split(d, a.Heldout, o.Seed); err != nil {
						return nil, fmt.Errorf("flag --%w", err)
					}
				}
				o.Workers, o.Control, o.Passes = workers, control, int(*t.iterations)
				if almo.OwnRounds(o.Solver) && !c.flags.Given("iterations") {
					o.Passes = 0 // as many as it makes progress by
				}
				o.Control.Recorder = run.Recorders(control.Recorder,
					run.RecorderFunc(func(r run.Row) error { evaluations = r.Evaluations; return nil }))
				f, err := minimax.Train(d, o)
				if err != nil {
					return nil, flagged(err)
				}
				f.Model.Encoder, f.Model.ClassNames = encoder, tab.Classes
				r := almo.Result(f)
				r.Evaluations = cmp.Or(evaluations, r.Evaluations)
				if f.Certified {
					r.Note = certified(o, f)
				}
				details := map[string]any{"rows": d.Rows, "features": d.Features, "objectives": f.Objectives,
					"values": f.Values, "raw": f.Raw, "lambda": f.Lambda, "worst": f.Worst, "guarantee": f.Guarantee,
					"units": o.Normalization}
				if f.Certified {
					details["gap"], details["penalized"] = f.Gap(), f.Certificate.Upper+f.Shared
				}
				if o.Normalization == minimax.Regret {
					var offsets []float64
					for _, u := range f.Model.Objectives {
						offsets = append(offsets, u.Offset)
					}
					details["offsets"] = offsets
				}
				notes := readingNotes(o)
				if d.Y == nil && o.Fixed == nil && len(o.Losses) > 1 && *cost &&
					(len(o.Hidden) == 0 || c.flags.Given("cost")) {
					r, err := costOf(d, o, f, workers)
					if err != nil {
						return nil, err
					}
					if r == nil {
						notes = append(notes, "interrupted before each loss was trained on alone: what robustness costs is "+
							"not known")
					} else {
						details["robustness"] = r
						notes = append(notes, r.note())
					}
				}
				if name := single(f); name != "" && o.Fixed == nil && len(o.Losses) > 1 &&
					o.Normalization != minimax.Regret {
					notes = append(notes, fmt.Sprintf("%s is the worst objective by itself: in these units it is the "+
						"largest; --units regret measures each by its excess over what it reaches alone", name))
				}
				if names := growing(d, o); len(names) > 0 && len(o.Losses) > 1 {
					notes = append(notes, fmt.Sprintf("--losses %s: grows with the confidence of right answers, and can "+
						"cost many errors; hinge does not", strings.Join(names, ",")))
				}
				if len(notes) > 0 {
					details["notes"] = notes // programs should know as well
				}
				return &fitted{result: r, write: f.Model.Write, details: details, notes: notes}, nil
			})
			if err != nil {
				return err
			}
			return drawn.pictures(c, *picture, *losses)
		}
	},
}

// certified says what the gap is proved of: the value of the game, penalties included, and not
// the worst mixture of losses alone.
func certified(o *minimax.Options, f *minimax.Fit) string {
	what := "the worst mixture"
	if o.Fixed != nil {
		what = "the mixture"
	}
	if o.Beta2 > 0 && o.Penalty != minimax.Constraint {
		what += ", constants weighed by --beta2 counted,"
	}
	if o.Beta1 > 0 {
		what += " plus the penalty"
	}
	note := fmt.Sprintf("certified: %s (value %.6g) is within %.3g of the least possible", what,
		f.Certificate.Upper+f.Shared, f.Gap())
	switch {
	case math.IsInf(f.OffsetGap, 1):
		note += "; what each objective reaches alone is not proved"
	case f.OffsetGap > 0:
		note += fmt.Sprintf("; what each objective reaches alone is known within %.3g", f.OffsetGap)
	}
	return note
}
