package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/ops"
)

var checkTool = &tool{name: "check", args: "[in.fst]", max: 1,
	summary: "Tries the laws of weighted machines on a machine: does determinize keep its relation, and the like.", about: `
Axioms of the semiring are tried on the weights that the machine has; operations that are to
keep the relation, or to turn it (reverse, invert), on pairs of strings up to --max_length, which are
found by enumeration, and on those of some random paths of a few hundred labels, on which small errors add up;
they are weighed by composition and shortest distance, so that
cycles of ε count. A law that does not hold comes with a witness, and makes the exit status 2;
what cannot be applied to the machine is skipped, with the reason.

  fst check in.fst
  fst run 'random.fst | rmepsilon | check --max_length=8'

Time: that of the operations, and --max_pairs compositions with strings for each. As some
operations have no end, they stop at 100000 states or eight times those of the machine, and at 256 MiB or 32
times its memory, where --limit_states or --limit_bytes does not say otherwise; a warning
then says how many laws were not tried to the end.`,
	setup: func(fs *flags.Set) func(*call) error {
		length := fs.Int("max_length", 32, 6, "Symbols of input and of output strings that are enumerated, at most")
		pairs := fs.Int("max_pairs", 32, 300, "Pairs of strings at most")
		delta := fs.Float("delta", ops.DefaultDelta, "Difference of weights to pass over")
		return func(c *call) error {
			if *length < 1 || *pairs < 1 {
				return fmt.Errorf("flags --max_length and --max_pairs: %d and %d are not both at least 1", *length, *pairs)
			}
			t, err := c.machine(0)
			if err != nil {
				return err
			}
			lim, cancel := c.lib.limits()
			defer cancel()
			results, err := t.Check(t.m, &ops.CheckOptions{MaxLength: int(*length), MaxPairs: int(*pairs), Delta: *delta, Limits: lim})
			if err != nil {
				return err
			}
			bad, cut := 0, 0
			if err := c.Output("", func(w io.Writer) error {
				for _, r := range results {
					switch {
					case r.Witness != "":
						bad++
						fmt.Fprintf(w, "FAILS    %s\n         %s\n", r.Law, r.Witness)
					case r.Skipped != nil:
						if errors.Is(r.Skipped, ops.ErrLimit) {
							cut++
						}
						fmt.Fprintf(w, "skipped  %s\n         %v\n", r.Law, r.Skipped)
					case r.Off > 0:
						fmt.Fprintf(w, "holds    %s (%d compared; weights are off by %.2g at most, as rounding may make them)\n", r.Law, r.Compared, r.Off)
					default:
						fmt.Fprintf(w, "holds    %s (%d compared)\n", r.Law, r.Compared)
					}
				}
				return nil
			}); err != nil {
				return err
			}
			if cut > 0 {
				c.Warn(c.prog, "%d of %d laws were not tried to the end, as operations came to their bounds (--limit_states and --limit_bytes set others)", cut, len(results))
			}
			if bad > 0 {
				return errDifferent
			}
			return nil
		}
	}}
