package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/ops"
)

var _ = offer(&tool{name: "check", args: "[in.fst]", max: 1,
	own: true,
	summary: "Tries the laws of weighted machines on a machine: whether determinize keeps its relation, for " +
		"example.", about: `
The axioms of the semiring are tested on the weights of the machine. Operations that should keep
the relation, or turn it (reverse, invert), are tested on pairs of strings. Pairs of up to
--max_length labels are enumerated; longer ones, of a few hundred labels, come from random paths
and show how small errors add up. Pairs are weighed by composition and shortest distance, so that
cycles of ε count. A law that fails is printed with a witness, and makes the exit status 2. A law
that does not apply to the machine is skipped, with the reason.

  fst check in.fst
  fst run 'random.fst | rmepsilon | check --max_length=8'

Time: that of the operations, and for each law at most --max_steps arcs to find pairs and as many
to weigh them. As some operations do not end, they stop at 100000 states or eight times those of
the machine, and at 256 MiB or 32 times its memory, unless --limit_states or --limit_bytes says
otherwise. Each law ends soon after --law_timeout; passes over all arcs are not interrupted.
Where pairs were left out, the number compared is printed with the reason. A warning then says how
many laws were not tested completely. With --law_timeout=0 the output is the same on any machine.`,
	setup: func(fs *flags.Set) func(*call) error {
		length := fs.Int("max_length", 32, 6, "Symbols of input and of output strings that are enumerated, at most")
		pairs := fs.Int("max_pairs", 32, 300, "Pairs of strings at most")
		steps := fs.Int("max_steps", 64, 2_000_000, "Arcs to look at for each law, once to find pairs of "+
			"strings and once to weigh them, at most")
		lawTime := fs.Duration("law_timeout", time.Second, "Time for each law, at most; 0 is without end")
		delta := fs.Float("delta", ops.DefaultDelta, "Difference of weights to pass over")
		return func(c *call) error {
			if *length < 1 || *pairs < 1 {
				return fmt.Errorf("flags --max_length and --max_pairs: %d and %d are not both at least 1",
					*length, *pairs)
			}
			if *steps < 1 {
				return fmt.Errorf("flag --max_steps: %d is below 1", *steps)
			}
			if *lawTime < 0 {
				return fmt.Errorf("flag --law_timeout: %v is below 0", *lawTime)
			}
			t, err := c.machine(0)
			if err != nil {
				return err
			}
			lim, cancel := c.lib.limits()
			defer cancel()
			results, err := t.Check(t.m, &ops.CheckOptions{MaxLength: int(*length), MaxPairs: int(*pairs),
				MaxSteps: *steps, Delta: *delta, LawTime: *lawTime, Limits: lim})
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
						if stoppedEarly(r.Skipped) {
							cut++
						}
						fmt.Fprintf(w, "skipped  %s\n         %v\n", r.Law, r.Skipped)
					default:
						if r.Stopped != nil {
							cut++
						}
						fmt.Fprintf(w, "holds    %s (%s)\n", r.Law, comparedText(r))
					}
				}
				return nil
			}); err != nil {
				return err
			}
			if cut > 0 {
				c.Warn(c.prog, "%d of %d laws were not tried to the end, as they came to their bounds (--law_timeout, "+
					"--max_steps, --limit_states and --limit_bytes set others)", cut, len(results))
			}
			if bad > 0 {
				return errDifferent
			}
			return nil
		}
	}})

// stoppedEarly reports whether a bound ended what err ended.
func stoppedEarly(err error) bool {
	return errors.Is(err, ops.ErrLimit) || errors.Is(err, context.DeadlineExceeded)
}

// comparedText says how much was compared for a law that holds, and what was left out.
func comparedText(r ops.CheckResult) string {
	text := fmt.Sprintf("%d compared", r.Compared)
	if r.Off > 0 {
		text += fmt.Sprintf("; weights are off by %.2g at most, as rounding may make them", r.Off)
	}
	if r.Cut != "" {
		text += "; " + r.Cut
	}
	if r.Stopped != nil {
		text += fmt.Sprintf("; stopped: %v", r.Stopped)
	}
	return text
}
