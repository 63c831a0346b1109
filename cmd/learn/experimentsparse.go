package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/learn/internal/experiment"
	"github.com/tropica-fst/tropica/learn/learner"
)

type sparsePart struct {
	name string
	run  func(*experiment.SparseOptions) (*learner.Section, error)
}

// sparseParts are the experiments of section 2.4 of the dissertation, in its order.
var sparseParts = []sparsePart{
	{"widths", experiment.SparseWidths}, {"komp", experiment.SparseKOMP},
	{"smoothness", experiment.SparseSmoothness},
}

var experimentSparse = &command{
	name: "experiment sparse", args: "", min: 0, max: 0,
	summary: "Reruns the experiments on sparse kernel functions, beside KOMP.",
	about: `
widths: ten Gaussians of one width; which widths are found, and with how many kernels.
komp: kernels at equal test error, beside kernel orthogonal matching pursuit.
smoothness: a signal whose frequency grows; kernels as samples become more.
rooms: rooms from Wi-Fi signals. digits: MNIST with means of k-means as centres. Both read
a folder, --data, with uci/wifi-localization.csv and mnist/*-ubyte.gz.

A long run should have --checkpoint: the same command continues from it, to the same result.

Example:

  learn experiment sparse --parts komp --repeats 100`,
	setup: func(fs *flags.Set) func(*call) error {
		var names []string
		for _, p := range sparseParts {
			names = append(names, p.name)
		}
		parts := fs.String("parts", strings.Join(names, ","),
			"Experiments to run: "+strings.Join(names, ", ")+", rooms, digits")
		data := fs.String("data", "", "Folder with the data of rooms and digits")
		images := fs.Int("images", 32, 10000, "Training images of digits; 0 is all 60000")
		centres := fs.Int("centres", 32, 100, "Means of each digit")
		repeats := fs.Int("repeats", 32, 20, "Draws of every signal")
		seed := fs.Uint("seed", 1, "Seed of the draws")
		asJSON := fs.Bool("json", false, "Report as JSON")
		var log fitLog[experiment.SparseDraw]
		log.defineAlone(fs)
		workersOf := workersFlag(fs)
		return func(c *call) error {
			if *repeats < 1 {
				return errors.New("flag --repeats must be at least 1")
			}
			o := &experiment.SparseOptions{Ctx: c.ctx, Repeats: int(*repeats), Seed: *seed}
			var err error
			if o.Workers, err = workersOf(); err != nil {
				return err
			}
			if *images < 0 || *centres < 1 {
				return errors.New("flag --images must not be negative, and --centres at least 1")
			}
			asked, err := tasks("parts", *parts)
			if err != nil {
				return err
			}
			every := slices.Concat(sparseParts, []sparsePart{
				{"rooms", func(o *experiment.SparseOptions) (*learner.Section, error) {
					return experiment.SparseRooms(o, os.DirFS(*data))
				}},
				{"digits", func(o *experiment.SparseOptions) (*learner.Section, error) {
					return experiment.SparseDigits(o, &experiment.DigitOptions{Train: int(*images), Centres: int(*centres)},
						os.DirFS(*data))
				}},
			})
			for _, p := range asked {
				if !slices.ContainsFunc(every, func(e sparsePart) bool { return e.name == p }) {
					return fmt.Errorf("flag --parts: there is no experiment %q; there are %s, rooms, digits", p,
						strings.Join(names, ", "))
				}
				if !slices.Contains(names, p) {
					if *data == "" {
						return fmt.Errorf("flag --data is needed for %s: a folder with uci/wifi-localization.csv and "+
							"mnist/*-ubyte.gz", p)
					}
					if err := isFolder(*data, true); err != nil {
						return err
					}
				}
			}
			every = slices.DeleteFunc(every, func(p sparsePart) bool { return !slices.Contains(asked, p.name) })
			if err := log.open("learn experiment sparse 1", fmt.Sprintf("seed %d", *seed)); err != nil {
				return err
			}
			defer log.close()
			o.Known, o.Save = log.known, log.save()
			err = perSet(c, every, func(p sparsePart) string { return p.name }, *asJSON, log.interrupted,
				func(p sparsePart, done func(int, string, ...any)) (*learner.Section, error) {
					o.Done = func(all int, what string) { done(all, "%s", what) }
					return p.run(o)
				}, func(w io.Writer, s *learner.Section) error {
					defer fmt.Fprintln(w)
					fmt.Fprintln(w, s.Title)
					return writeSection(w, s, 0)
				})
			if err != nil {
				return err
			}
			return log.close()
		}
	},
}
