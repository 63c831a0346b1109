package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"github.com/tropica-fst/tropica/cmd/internal/clock"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/options"
	"github.com/tropica-fst/tropica/cmd/internal/progress"
	"github.com/tropica-fst/tropica/cmd/learn/internal/experiment"
	"github.com/tropica-fst/tropica/losses"
)

var experimentSampled = &command{
	name: "experiment sampled", args: "[train.conllu test.conllu]", min: 0, max: 2,
	summary: "Trains with sampled gradients of an unbanded loss, beside a banded one.",
	about: `
Trains one chain by stochastic softmax-margin steps (AdaGrad, averaged weights) with
three sources of gradients: no loss, the loss within --band of the diagonal (exact
machines), and the loss without a band, estimated by Gibbs sampling; and tests the
weights by the loss without a band. Without files, sequences are those of experiment
homologs, of 200 residues and the Smith-Waterman loss. With two files, whole sentences
are tagged, with the unit edit loss.

Examples:

  learn experiment sampled
  learn experiment sampled testdata/ud-english-ewt-sample/train.conllu.gz \
    testdata/ud-english-ewt-sample/test.conllu.gz`,
	setup: func(fs *flags.Set) func(*call) error {
		length := fs.Int("length", 32, 200, "Residues of a sequence")
		indel := fs.Float("indel", 0.01,
			"Probability of an insertion, and of a deletion, at each residue of a homolog")
		train := fs.Int("train", 32, 100, "Examples to train on; of files, 0 is all")
		test := fs.Int("test", 32, 200, "Examples to test on; of files, 0 is all")
		o := &experiment.SampledOptions{}
		options.Define(fs, o)
		asJSON := fs.Bool("json", false, "Report as JSON")
		data := &sentences{}
		data.define(fs, "")
		return func(c *call) error {
			for _, f := range []struct {
				name string
				n    int64
				low  int64
			}{{"length", *length, 2}, {"train", *train, 0}, {"test", *test, 0}} {
				if f.n < f.low {
					return fmt.Errorf("flag --%s must be at least %d", f.name, f.low)
				}
			}
			if !(*indel > 0) {
				return fmt.Errorf("flag --indel must be positive")
			}
			o.Loss, o.Clock = losses.SmithWaterman, clock.Processor
			var err error
			switch len(c.args) {
			case 0:
				task := experiment.HomologTask{Length: int(*length), Indel: *indel}
				rng := rand.New(rand.NewPCG(o.Seed, 200))
				if o.Train, err = task.Draw(int(*train), rng); err == nil {
					o.Test, err = task.Draw(int(*test), rng)
				}
			case 1:
				return fmt.Errorf("one file: give two, to train on and to test on, or none")
			default:
				o.Loss = losses.Unit
				if o.Train, _, err = data.read(c, c.args[:1]); err == nil {
					o.Test, _, err = data.read(c, c.args[1:])
				}
				if *train > 0 {
					o.Train = o.Train[:min(len(o.Train), int(*train))]
				}
				if *test > 0 {
					o.Test = o.Test[:min(len(o.Test), int(*test))]
				}
			}
			if err != nil {
				return err
			}
			bar := progress.Start(c.Err, "sampled")
			done := bar.Counter()
			o.Told = func(method string, epoch int) {
				done(3*cmp.Or(o.Epochs, 5), "%s: epoch %d", method, epoch)
			}
			r, err := experiment.Sampled(c.ctx, o)
			bar.Stop()
			if c.ctx.Err() != nil {
				return &stopped{"the experiment has no state to keep; start it again, with fewer --epochs if it takes " +
					"too long"}
			}
			if err != nil {
				return err
			}
			return c.report(*asJSON, r, r.WriteTable)
		}
	},
}
