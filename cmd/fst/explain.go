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
property: no two paths with one input come to states, two or twice the same, and then with one input go round cycles back to them with
different weights or outputs, arcs from one state to another with the same labels being
taken for one with the sum of their weights; an
unambiguous machine can be determinized exactly when it has it, and any machine over an
idempotent semiring when it has it. An ambiguous machine that has it not may be
determinizable for all that: each cycle is looked at for itself, not the sum of those with one input. It says
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
the square of that; --limit_states and --limit_arcs bound these pairs. What a limit or --timeout leaves open is
"not known", with the reason, the other lines are tried all the same, and the status is 1.`,
	setup: func(fs *flags.Set) func(*call) error {
		delta := fs.Float("delta", ops.DefaultDelta, "Difference of a sum from one to pass over")
		return func(c *call) error {
			t, err := c.machine(0)
			if err != nil {
				return err
			}
			lim, cancel := c.lib.limits()
			defer cancel()
			// What a limit leaves open is said where its answer would be, and the rest is tried; the first such error is the tool's.
			// A deadline leaves time for the questions that take least, which are asked first.
			var stopped error
			open := map[string]string{} // by line, why
			limited := func(line string, err error) error {
				var limit *ops.LimitError
				if !errors.As(err, &limit) {
					return err
				}
				if stopped == nil {
					stopped = err
				}
				open[line] = "not known: " + c.limitText(limit)
				return nil
			}
			delay, err := t.BoundedDelay(t.m, lim)
			if err = limited("bounded delay", err); err != nil {
				return err
			}
			var stochastic *ops.StochasticError
			sums := slices.Contains([]string{"log", "log64", "real64"}, t.ArcType())
			if sums {
				stochastic, err = t.Stochastic(t.m, *delta, lim)
				if err = limited("stochastic", err); err != nil {
					return err
				}
			}
			ambiguous, err := t.Ambiguous(t.m, lim)
			if err = limited("unambiguous", err); err != nil {
				return err
			}
			functional, err := t.Functional(t.m, lim)
			if err = limited("functional", err); err != nil {
				return err
			}
			twins, err := t.Twins(t.m, lim)
			unknown := ""                          // why
			if errors.Is(err, ops.ErrCapability) { // the weights do not cancel, or not commute
				_, why, _ := strings.Cut(strings.TrimPrefix(err.Error(), "ops: "), ": ")
				unknown = "not applicable: " + why
			} else if errors.Is(err, ops.ErrUndecided) {
				unknown = "not known: too many differences between outputs of one input"
			} else if err = limited("twins property", err); err != nil {
				return err
			}
			if why := open["twins property"]; why != "" {
				unknown = why
			}
			show := func(w io.Writer) error {
				verdict := func(name string, holds bool, evidence error) {
					if why := open[name]; why != "" {
						infoLine(w, name, why)
						return
					}
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
				infoLine(w, "determinizable", verdicts{open["unambiguous"], open["functional"]}.determinizable(functional == nil, t.HasInputEpsilons(t.m), ambiguous == nil, unknown == "", twins, t.Idempotent(), t.DeadEnd(t.m)))
				verdict("bounded delay", delay == nil, orNil(delay))
				if !sums {
					infoLine(w, "stochastic", "not applicable: no probabilities")
					return nil
				}
				verdict("stochastic", stochastic == nil, orNil(stochastic))
				return nil
			}
			if stopped == nil {
				return c.Output("", show)
			}
			if err := c.deliver("", show); err != nil { // the time may be over: what is known by now is the answer
				return err
			}
			return stopped
		}
	}}

// limitText says which limit stopped a search, and how far it had come.
func (c *call) limitText(e *ops.LimitError) string {
	at := fmt.Sprintf("at %d pairs of states and %d of arcs", e.Built.States, e.Built.Arcs)
	if e.Limit == "context" {
		return fmt.Sprintf("the time was over %s (--timeout)", at)
	}
	return fmt.Sprintf("the search stopped at more than %d %s, %s (--limit_%s)", e.Bound, e.Limit, at, e.Limit)
}

// verdicts says why ambiguity and functionality are not known, where they are not.
type verdicts struct{ ambiguous, functional string }

// determinizable is the function below where all is known that it needs, and otherwise says what is not.
func (v verdicts) determinizable(functional, epsilons, unambiguous, decided bool, twins *ops.TwinsError, idempotent bool, dead fst.StateID) string {
	switch {
	case v.functional != "": // no answer without it
		return "not known"
	case v.ambiguous != "" && functional && decided && (twins == nil && !idempotent || twins != nil && !twins.Exact):
		return "not known"
	}
	return determinizable(functional, epsilons, unambiguous && v.ambiguous == "", decided, twins, idempotent, dead)
}

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
