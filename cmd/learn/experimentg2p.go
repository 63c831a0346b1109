package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/progress"
	"github.com/tropica-fst/tropica/cmd/learn/internal/experiment"
)

var experimentG2PNetworks = &command{
	name: "experiment g2p-networks", args: "", min: 0, max: 0,
	summary: "Compares linear models, networks and ensembles of pronunciation under several objectives.",
	about: `
Trains on LANGUAGE_train.tsv of the folder and judges on LANGUAGE_dev.tsv, or _test with
--test, as the tasks of SIGMORPHON divide them. For every objective it trains a linear model with the
constants of learn g2p train, and networks from --seeds seeds. The table has single networks,
their ensembles by averaged scores, and pooled: the string of least expected edit distance over
the best strings of all members. Rows of several runs are their means. Tests are paired by word.

A long run should have --checkpoint: results are kept in that file as they come, and the same
command continues from it.

Example:

  learn experiment g2p-networks --data testdata/g2p --languages gre --seeds 1`,
	setup: func(fs *flags.Set) func(*call) error {
		data := fs.String("data", "testdata/g2p", "Folder with the words")
		languages := fs.String("languages", "ice,gre,ady", "Languages, separated by commas")
		objectives := fs.String("objectives", "cross-entropy,hamming,latent,risk",
			"Objectives, separated by commas")
		test := fs.Bool("test", false, "Judge on the test words; the recipe was chosen on others, of ice, gre, "+
			"ady and dut")
		seeds := fs.Int("seeds", 32, 3, "Runs of the networks")
		linear := fs.Bool("linear", true, "Train linear models too")
		var n letterNetworkFlags
		n.define(fs)
		checkpoint := fs.String("checkpoint", "",
			"File that keeps results as they come; if it exists, they are not made again. Remove it when the "+
				"program changed")
		asJSON := fs.Bool("json", false, "Report as JSON")
		table, writeTable := tableFlag(fs)
		workersOf := workersFlag(fs)
		return func(c *call) error {
			if err := apart(nil, append(places("the checkpoint", *checkpoint),
				places("the table", *table)...)); err != nil {
				return err
			}
			if err := isFolder(*data, true); err != nil {
				return err
			}
			if *seeds < 1 {
				return errors.New("flag --seeds must be at least 1")
			}
			if networks, err := n.check(c, 0, nil); err != nil {
				return err
			} else if !networks {
				return errors.New("flag --network: networks are what the experiment compares")
			}
			o := &experiment.NetworksOptions{Languages: list(*languages), Seeds: int(*seeds), NoLinear: !*linear,
				Networks: n.NetworkOptions}
			if *test {
				o.Test = "test"
			}
			for _, name := range list(*objectives) {
				kind, err := kindOf(name)
				if err != nil {
					return fmt.Errorf("flag --objectives: %w", err)
				}
				o.Objectives = append(o.Objectives, kind)
			}
			if len(o.Languages) == 0 || len(o.Objectives) == 0 {
				return errors.New("flags --languages and --objectives: none given")
			}
			var err error
			if o.Workers, err = workersOf(); err != nil {
				return err
			}
			var kept results[experiment.NetworksResult]
			if err := kept.open(*checkpoint, "g2p-networks results 1 "+o.NetworksIdentity()); err != nil {
				return err
			}
			o.Known, o.Save = kept.keeper(c)
			bar := progress.Start(c.Err, "g2p-networks")
			done := bar.Counter()
			o.Done = func(all int, what string) { done(all, "%s", what) }
			r, err := experiment.PronouncingNetworks(c.ctx, os.DirFS(*data), o)
			bar.Stop()
			if c.ctx.Err() != nil {
				return kept.interrupted("results")
			}
			if err != nil {
				return err
			}
			if err := writeTable(c, r.WriteCSV); err != nil {
				return err
			}
			return c.report(*asJSON, r, r.WriteTable)
		}
	},
}
