package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/progress"
	"github.com/tropica-fst/tropica/cmd/learn/internal/experiment"
	"github.com/tropica-fst/tropica/learn/learner"
)

// sparseParts are the experiments of section 2.4 of the dissertation, in its order.
var sparseParts = []struct {
	name string
	run  func(*experiment.SparseOptions) (*learner.Section, error)
}{
	{"widths", experiment.SparseWidths}, {"komp", experiment.SparseKOMP}, {"smoothness", experiment.SparseSmoothness},
}

var experimentSparse = &command{
	name: "experiment sparse", args: "", min: 0, max: 0,
	summary: "Reruns the experiments on sparse kernel functions, beside KOMP.",
	about: `
widths: ten Gaussians of one width; which widths are found, and with how many kernels.
komp: kernels at equal test error, beside kernel orthogonal matching pursuit.
smoothness: a signal whose frequency grows; kernels as samples become more.

Example:

  learn experiment sparse --parts komp --repeats 100`,
	setup: func(fs *flags.Set) func(*call) error {
		var names []string
		for _, p := range sparseParts {
			names = append(names, p.name)
		}
		parts := fs.String("parts", strings.Join(names, ","), "Experiments to run: "+strings.Join(names, ", "))
		repeats := fs.Int("repeats", 32, 20, "Draws of every signal")
		seed := fs.Uint("seed", 1, "Seed of the draws")
		asJSON := fs.Bool("json", false, "Report as JSON")
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
			asked := list(*parts)
			for _, p := range asked {
				if !slices.Contains(names, p) {
					return fmt.Errorf("flag --parts: there is no experiment %q; there are %s", p, strings.Join(names, ", "))
				}
			}
			var all []*learner.Section
			for _, p := range sparseParts {
				if !slices.Contains(asked, p.name) {
					continue
				}
				bar := progress.Start(c.Err, p.name)
				done := bar.Counter()
				o.Done = func(all int, what string) { done(all, "%s", what) }
				s, err := p.run(o)
				bar.Stop()
				if c.ctx.Err() != nil {
					return &stopped{"the tables that were finished are above; start the others again, with fewer --repeats if they take too long"}
				}
				if err != nil {
					return err
				}
				all = append(all, s)
				if !*asJSON {
					fmt.Fprintln(c.Out, s.Title)
					if err := writeSection(c.Out, s, 0); err != nil {
						return err
					}
					fmt.Fprintln(c.Out)
				}
			}
			if *asJSON {
				return c.json(all)
			}
			return nil
		}
	},
}
