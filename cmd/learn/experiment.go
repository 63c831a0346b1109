package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/progress"
	"github.com/tropica-fst/tropica/cmd/learn/internal/experiment"
)

// numbers reads the value of a flag that takes numbers separated by commas.
func numbers(name, value string) ([]float64, error) {
	var out []float64
	for _, s := range strings.Split(value, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || v-v != 0 {
			return nil, fmt.Errorf("flag --%s: %q is not a finite number", name, s)
		}
		out = append(out, v)
	}
	return out, nil
}

// list splits the value of a flag at commas; "" is none.
func list(value string) []string {
	if value == "" {
		return nil
	}
	out := strings.Split(value, ",")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

var experimentHomologs = &command{
	name: "experiment homologs", args: "", min: 0, max: 0,
	summary: "Predicts native sequences from homologs and decoys, judged by Smith-Waterman score.",
	about: `
Draws native sequences of 50 residues with four homologs (substitutions,
insertions, deletions) and one decoy (the native shuffled) each. It trains a chain
to label the positions with the native's residues, by cross-entropy, a Hamming
margin, a margin of the Smith-Waterman loss and the expected Smith-Waterman loss
(risk). The last two use a band. Each objective uses the l2 and gamma that do best on
held-out sequences. Predictions are scored by their Smith-Waterman alignment with
the native: 1 a match, -1/2 all else, 50 at best.
The package comment of cmd/learn/internal/experiment defines the task.

Example (the defaults; --seeds 3 is quicker):

  learn experiment homologs --seeds 10 --band 1`,
	setup: func(fs *flags.Set) func(*call) error {
		seeds := fs.Int("seeds", 32, 10, "Draws of all the data")
		seed := fs.Uint("seed", 0, "Seed of the draws")
		length := fs.Int("length", 32, 50, "Residues of a sequence")
		homologs := fs.Int("homologs", 32, 4, "Homologs of each native")
		decoys := fs.Int("decoys", 32, 1, "Decoys of each native")
		substitution := fs.Float("substitution", 0.15, "Probability that a residue of a homolog is substituted")
		indel := fs.Float("indel", 0.01,
			"Probability of an insertion, and of a deletion, at each residue of a homolog")
		train := fs.Int("train", 32, 150, "Examples to train on")
		heldout := fs.Int("heldout", 32, 100, "Examples that choose l2 and gamma")
		test := fs.Int("test", 32, 200, "Examples to test on")
		objectives := fs.String("objectives", "cross-entropy,hamming,smith-waterman,risk",
			"Objectives; the others are compared with the first: cross-entropy, hamming, smith-waterman, risk")
		l2 := fs.String("l2", "8,32,128,512", "Values of l2 to choose from")
		gamma := fs.String("gamma", "3,10,30", "Values of gamma for the Smith-Waterman loss; the Hamming margin "+
			"has three times as much")
		band := fs.Int("band", 32, 1, "In training, alignments stay within this many positions of the diagonal")
		iterations := fs.Int("iterations", 32, 150, "Most iterations of a fit")
		asJSON := fs.Bool("json", false, "Report as JSON")
		_, writeTable := tableFlag(fs)
		workersOf := workersFlag(fs)
		return func(c *call) error {
			o := &experiment.HomologOptions{Task: experiment.HomologTask{Length: int(*length),
				Homologs: int(*homologs), Decoys: int(*decoys), Substitution: *substitution, Indel: *indel},
				Train: int(*train), Heldout: int(*heldout), Test: int(*test), Seeds: int(*seeds), Seed: *seed,
				Objectives: list(*objectives), Band: int(*band), Iterations: int(*iterations)}
			var err error
			for _, f := range []struct {
				name string
				n    int64
			}{{"seeds", *seeds}, {"length", *length}, {"homologs", *homologs}, {"decoys", *decoys}, {"train", *train},
				{"heldout", *heldout}, {"test", *test}, {"band", *band}, {"iterations", *iterations}} {
				if f.n < 1 {
					return fmt.Errorf("flag --%s must be at least 1", f.name)
				}
			}
			if o.Workers, err = workersOf(); err != nil {
				return err
			}
			if o.L2, err = numbers("l2", *l2); err != nil {
				return err
			}
			if o.Gamma, err = numbers("gamma", *gamma); err != nil {
				return err
			}
			if !(*substitution > 0) || !(*indel > 0) {
				return errors.New("flags --substitution and --indel must be positive")
			}
			bar := progress.Start(c.Err, "homologs")
			done := bar.Counter()
			o.Fitted = func(trial int, e *experiment.Entry, k experiment.Constants, heldout float64, fits int) {
				done(fits, "seed %d: %s with %v: score %.2f on held-out sequences", trial+1, e.Name, k, -heldout/2)
			}
			r, err := experiment.Homologs(c.ctx, o)
			bar.Stop()
			if c.ctx.Err() != nil {
				return &stopped{"the experiment has no state to keep; start it again, with fewer --seeds if it takes " +
					"too long"}
			}
			if err != nil {
				return err
			}
			if err := writeTable(c, r.WriteCSV); err != nil {
				return err
			}
			if *asJSON {
				return c.json(r)
			}
			return r.WriteTable(c.Out)
		}
	},
}
