package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
)

var explainTool = &tool{name: "explain", args: "[in.fst]", max: 1,
	summary: "Tells whether a machine is ambiguous, functional, determinizable, synchronizable, stochastic, and shows paths that prove it.", about: `
ambiguous: two accepting paths carry the same input labels, ε being one of them (fst rmepsilon
first). functional: no input has two outputs. twins
property: no two paths with one input go round cycles with different weights or outputs; an
unambiguous machine can be determinized exactly when it has it, and any machine over an
idempotent semiring when it has it. It says
nothing, and is not looked for, where weights do not cancel, as those of minmax, or do not commute.
determinizable: what follows from these for fst determinize; of states that lead to no
final one nothing else here speaks, and where there are some, it says so. bounded
delay: each cycle has as many labels on either side; fst synchronize ends exactly
on such machines. stochastic: over log, log64 and real64, the
final weight and the arcs of each state that the start leads to sum to one, but for --delta.

Of each the shortest evidence is shown: two paths of the fewest labels, for the twins property those of
the way in and of the cycles together (where that takes more than ten seconds or so, or
more memory than --limit_bytes, what was found by then, and it says so), for bounded delay those of the
way to a cycle and of the cycle; for
stochastic a path of the fewest arcs.

  fst explain in.fst

Time O(states² + arcs²) at worst, on the pairs that one string reaches, and for the shortest cycles
the square of that; --limit_states and --limit_arcs bound these pairs.`,
	setup: func(fs *flags.Set) func(*call) error {
		delta := fs.Float("delta", ops.DefaultDelta, "Difference of a sum from one to pass over")
		return func(c *call) error {
			t, err := c.machine(0)
			if err != nil {
				return err
			}
			lim, cancel := c.lib.limits()
			defer cancel()
			ambiguous, err := t.Ambiguous(t.m, lim)
			if err != nil {
				return err
			}
			functional, err := t.Functional(t.m, lim)
			if err != nil {
				return err
			}
			twins, err := t.Twins(t.m, lim)
			unknown := ""                          // why
			if errors.Is(err, ops.ErrCapability) { // the weights do not cancel, or not commute
				_, why, _ := strings.Cut(strings.TrimPrefix(err.Error(), "ops: "), ": ")
				unknown = "not applicable: " + why
			} else if errors.Is(err, ops.ErrUndecided) {
				unknown = "not known: too many differences between outputs of one input"
			}
			if err != nil && unknown == "" {
				return err
			}
			delay, err := t.BoundedDelay(t.m, lim)
			if err != nil {
				return err
			}
			var stochastic *ops.StochasticError
			sums := slices.Contains([]string{"log", "log64", "real64"}, t.ArcType())
			if sums {
				if stochastic, err = t.Stochastic(t.m, *delta, lim); err != nil {
					return err
				}
			}
			return c.Output("", func(w io.Writer) error {
				verdict := func(name string, holds bool, evidence error) {
					infoLine(w, name, yesNo(holds))
					if evidence != nil {
						_, what, _ := strings.Cut(strings.TrimPrefix(evidence.Error(), "ops: "), ": ") // without the operation
						fmt.Fprintf(w, "    %s\n", what)
					}
				}
				verdict("unambiguous", ambiguous == nil, orNil(ambiguous))
				verdict("functional", functional == nil, orNil(functional))
				if unknown != "" {
					infoLine(w, "twins property", unknown)
				} else {
					verdict("twins property", twins == nil, orNil(twins))
				}
				infoLine(w, "determinizable", determinizable(functional == nil, t.HasInputEpsilons(t.m), ambiguous == nil, unknown == "", twins, t.Idempotent(), t.DeadEnd(t.m)))
				verdict("bounded delay", delay == nil, orNil(delay))
				if !sums {
					infoLine(w, "stochastic", "not applicable: no probabilities")
					return nil
				}
				verdict("stochastic", stochastic == nil, orNil(stochastic))
				return nil
			})
		}
	}}

// determinizable says whether determinization ends, as far as that follows from the rest.
func determinizable(functional, epsilons, unambiguous, decided bool, twins *ops.TwinsError, idempotent bool, dead fst.StateID) string {
	switch {
	case !functional && epsilons:
		return "not known: not functional, but determinization takes ε among the inputs for a label (fst epsnormalize or rmepsilon first)"
	case !functional:
		return "n: not functional (what has several outputs can be had with --det_type=nonfunctional, which keeps them, or disambiguate)"
	case !decided:
		return "not known"
	case twins == nil && (unambiguous || idempotent) && dead != fst.NoState:
		return fmt.Sprintf("y, once fst connect has removed what leads to no final state, such as state %d", dead)
	case twins == nil && (unambiguous || idempotent):
		return "y"
	case twins == nil:
		return "not known: twins property, but ambiguous over weights that are not idempotent"
	case unambiguous || twins.Exact:
		return "n: no twins property (--weight, --nstate or --limit_states bound what would not end)"
	}
	return "not known: no twins property, but ambiguous (fst disambiguate first)"
}

// orNil is err as an error, nil if the pointer is.
func orNil[T any, P interface {
	*T
	error
}](err P) error {
	if err == nil {
		return nil
	}
	return err
}
