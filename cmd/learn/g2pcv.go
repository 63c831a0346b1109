package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/progress"
	"github.com/tropica-fst/tropica/learn/g2p"
)

var g2pCV = &command{
	name: "g2p cv", args: "", min: 0, max: 0,
	summary: "Compares objectives on held-out words, by cross-validation.",
	about: `
Reads the words of each language from LANGUAGE_train.tsv, LANGUAGE_dev.tsv and
LANGUAGE_test.tsv in the folder (those that exist, compressed or not). It divides
them into folds, and holds out each in turn. Every objective is trained to the
same stopping rule, with the l2 and gamma that it chose on folds of the training words.
It is judged by phone error rate (PER) and word error rate (WER). A word is held out
with all its pronunciations, and counted against the nearest of them, as in learn g2p
eval. Tests are paired by word: t for the edits, McNemar's for the words.

The objectives are those of learn g2p train. hamming is the control: it separates
the effect of the margin from that of the edit distance. With --network, each objective
trains networks. It then has the constants of learn g2p train, or the one --gamma given.

Example:

  learn g2p cv --data testdata/g2p --languages ice,gre,ady`,
	setup: func(fs *flags.Set) func(*call) error {
		data := fs.String("data", "testdata/g2p", "Folder with the words")
		languages := fs.String("languages", "", "Languages, separated by commas; all that the folder has when "+
			"not given")
		objectives := fs.String("objectives", "cross-entropy,hamming,latent",
			"Objectives; the table compares the others with the first")
		folds := fs.Int("folds", 32, 5, "Folds")
		use := fs.Int("use", 32, 0, "Folds to hold out in turn; 0 is all")
		limit := fs.Int("limit", 32, 0, "Words of each language, from the first; 0 is all")
		l2 := fs.String("l2", "0.3,0.1,1", "Values of l2 to choose from")
		gamma := fs.String("gamma", "4,1", "Values of gamma to choose from")
		inner := fs.Int("inner_folds", 32, 3, "Folds of the training words on which constants are chosen")
		innerUse := fs.Int("inner_use", 32, 0, "Inner folds to hold out in turn; 0 is all")
		iterations := fs.Int("iterations", 32, 1000, "Most iterations of a fit")
		relative := fs.Float("stop", 2e-4, "Stop a fit when the objective fell by at most this fraction over "+
			"five iterations")
		seed := fs.Uint("seed", 1, "Seed of the folds")
		asJSON := fs.Bool("json", false, "Report as JSON")
		table, writeTable := tableFlag(fs)
		var p preparation
		p.define(fs)
		var n letterNetworkFlags
		n.Networks = g2p.NoNetwork
		n.define(fs)
		decode := decodeFlags(fs)
		workersOf := workersFlag(fs)
		return func(c *call) error {
			o := &g2p.CompareOptions{Folds: int(*folds), Use: int(*use), Seed: *seed}
			var err error
			if o.Workers, err = workersOf(); err != nil {
				return err
			}
			if *folds < 2 || *use < 0 || *use > *folds || *limit < 0 || *inner < 2 || *innerUse < 0 ||
				*innerUse > *inner || *iterations < 1 {
				return errors.New("flags --folds and --inner_folds must be at least 2, --use and --inner_use at most " +
					"these, --iterations at least 1, none negative")
			}
			for _, name := range list(*objectives) {
				kind, err := kindOf(name)
				if err != nil {
					return fmt.Errorf("flag --objectives: %w", err)
				}
				o.Objectives = append(o.Objectives, g2p.DefaultObjective(kind))
			}
			if !slices.ContainsFunc(o.Objectives, func(k g2p.Objective) bool { return k.Gamma != 0 }) {
				if err := c.idle("no objective has one", "gamma"); err != nil {
					return err
				}
			}
			if len(o.Objectives) == 0 {
				return errors.New("flag --objectives: none given")
			}
			d, err := decode(c, false)
			if err != nil {
				return err
			}
			o.Decode = *d
			prepare, err := p.options(0, o.Workers)
			if err != nil {
				return err
			}
			if prepare.Views.Constraint, err = c.constraint(*p.constraint); err != nil {
				return err
			}
			o.Options = *prepare
			o.Stop.Iterations, o.Stop.Relative = int(*iterations), amount(*relative)
			grid := &g2p.Grid{Folds: int(*inner), Use: int(*innerUse)}
			if grid.L2, err = numbers("l2", *l2); err != nil {
				return err
			}
			if grid.Gamma, err = numbers("gamma", *gamma); err != nil {
				return err
			}
			for _, v := range append(grid.L2[:len(grid.L2):len(grid.L2)], grid.Gamma...) {
				if v < 0 {
					return fmt.Errorf("flags --l2 and --gamma: %g is negative", v)
				}
			}
			if len(grid.L2) == 1 && len(grid.Gamma) == 1 { // nothing to choose
				for i := range o.Objectives {
					o.Objectives[i].L2 = grid.L2[0]
					if o.Objectives[i].Gamma != 0 {
						o.Objectives[i].Gamma = grid.Gamma[0]
					}
				}
				if err := c.idle("there is one value of --l2 and of --gamma, and nothing to choose", "inner_folds",
					"inner_use"); err != nil {
					return err
				}
			} else {
				o.Grid = grid
			}
			if err := n.cross(c, o, grid.Gamma); err != nil {
				return err
			}
			sets, files, err := c.languages(*data, list(*languages), int(*limit))
			if err != nil {
				return err
			}
			if err := apart(places("the data", files...), places("the table", *table)); err != nil {
				return err
			}
			bar := progress.Start(c.Err, "g2p cv")
			o.Monitor = newFoldMonitor(bar, o, len(sets))
			r, err := g2p.CrossValidate(c.ctx, sets, o)
			bar.Stop()
			if c.ctx.Err() != nil {
				return &stopped{"cross-validation has no state to keep; start it again, with --limit, --use or fewer " +
					"--languages if it takes too long"}
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
			if err := r.WriteTable(c.Out); err != nil {
				return err
			}
			fmt.Fprintf(c.Out, "%d folds; %.0f s\n", *folds, r.Seconds)
			for _, s := range r.Sections {
				for _, m := range s.Models {
					if !m.Converged {
						fmt.Fprintf(c.Out, "%s, %s: not every fit converged\n", s.Name, m.Kind)
					}
				}
			}
			return nil
		}
	},
}

// languages reads the words of languages; none given are all of the folder.
// It returns the names of the files, too.
func (c *call) languages(folder string, names []string, limit int) (sets []g2p.Dataset,
	read []string, err error) {
	parts := []string{"train", "dev", "test"}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, nil, fmt.Errorf("flag --data: %w", err)
	}
	files := map[string][]string{} // by language
	for _, part := range parts {
		for _, e := range entries {
			name := strings.TrimSuffix(e.Name(), ".gz")
			if language, ok := strings.CutSuffix(name, "_"+part+".tsv"); ok {
				files[language] = append(files[language], filepath.Join(folder, e.Name()))
			}
		}
	}
	if len(names) == 0 {
		for language := range files {
			names = append(names, language)
		}
		slices.Sort(names)
	}
	if len(names) == 0 {
		return nil, nil, fmt.Errorf("flag --data: %s has no files such as ice_train.tsv", folder)
	}
	for i, language := range names {
		if slices.Contains(names[:i], language) {
			return nil, nil, fmt.Errorf("flag --languages: %s is there twice: its words would count double, in "+
				"every test", language)
		}
		if len(files[language]) == 0 {
			return nil, nil, fmt.Errorf("flag --languages: %s has no %s_train.tsv", folder, language)
		}
		read = append(read, files[language]...)
		pairs, err := c.pairs(files[language])
		if err != nil {
			return nil, nil, err
		}
		if limit > 0 {
			pairs = g2p.Words(pairs, limit)
		}
		sets = append(sets, g2p.Dataset{Name: language, Pairs: pairs})
	}
	return sets, read, nil
}

// foldMonitor shows the progress of cross-validation: a unit of the bar is a fit.
type foldMonitor struct {
	bar  *progress.Bar
	done func(total int, format string, args ...any)
	fits int // in all
}

func newFoldMonitor(bar *progress.Bar, o *g2p.CompareOptions, sets int) *foldMonitor {
	use := o.Use
	if use == 0 {
		use = o.Folds
	}
	each := len(o.Objectives)
	if o.Grid != nil {
		inner := o.Grid.Use
		if inner == 0 {
			inner = o.Grid.Folds
		}
		for _, k := range o.Objectives {
			n := len(o.Grid.L2)
			if k.Gamma != 0 {
				n *= len(o.Grid.Gamma)
			}
			each += n * inner
		}
	}
	return &foldMonitor{bar: bar, done: bar.Counter(), fits: each * use * sets}
}

// Event implements g2p.Monitor.
func (m *foldMonitor) Event(e g2p.Event) {
	switch e.Stage {
	case g2p.Choosing, g2p.Evaluating: // after a fit
		m.done(m.fits, "%s, fold %d of %d: %v", e.Dataset, e.Fold, e.Folds, e.Objective)
	}
}
