package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
)

var _ = offer(&tool{name: "explain", args: "[in.fst]", max: 1,
	own: true,
	summary: "Tells whether a machine is ambiguous, functional, determinizable, synchronizable, stochastic, " +
		"and shows paths that prove it.", about: `
Prints one line for each property:

  ambiguous        Two accepting paths have the same input labels. ε counts as a label: run
                   fst rmepsilon first.
  functional       No input has two outputs.
  twins property   Two states that one input reaches (or one state twice), and whose cycles have
                   one input, have cycles of equal weight and agreeing output. Arcs between two
                   states with the same labels count as one arc with the sum of their weights.
  determinizable   What follows from these for fst determinize.
  bounded delay    Each cycle has as many input labels as output labels. fst synchronize ends
                   exactly on such machines.
  stochastic       The probabilities of the final weight and of the arcs of each state sum to 1,
                   up to --delta. This needs log, log64 or real64 weights, and counts states that
                   the start leads to. A sum that is not 1 is shown as a probability, with its weight.

A machine without cycles can always be determinized. Over an idempotent semiring, and for
unambiguous machines, the twins property makes it determinizable, and without it an unambiguous
machine is not. Other machines without it may still be determinizable, since cycles are examined
one by one and not as the sum of those with one input. The twins property is not examined where
weights do not cancel (minmax) or do not commute. States that lead to no final state count only
for determinizable, which mentions them.

The shortest evidence is shown: two paths of the fewest labels; for the twins property the fewest
labels of the way in and of the cycles together; for bounded delay those of the way to a cycle and
of the cycle; for stochastic a path of the fewest arcs. A search for the shortest evidence of
the twins property that takes more than about ten seconds, or more memory than --limit_bytes,
ends with the best found so far, and says so.

  fst explain in.fst

Time O(states² + arcs²) at worst, on the pairs that one string reaches, and for the shortest
cycles the square of that; --limit_states and --limit_arcs bound these pairs. Each line is printed
as soon as it is known, the fastest first. Each gets an equal share of what is left of --timeout.
A property that a limit or the time leaves open is "not known", with the reason. The other lines
are still computed, and the exit status is 1.`,
	setup: func(fs *flags.Set) func(*call) error {
		delta := fs.Float("delta", ops.DefaultDelta, "Difference of a sum from one to pass over")
		return func(c *call) error {
			t, err := c.machine(0)
			if err != nil {
				return err
			}
			lim, cancel := c.lib.limits()
			defer cancel()
			in := &inquiry{Limits: lim, text: c.limitText}
			if end := c.lib.deadline(); !end.IsZero() {
				in.leave = end.Add(grace(*c.lib.timeout) / 2)
			}
			var stopped error
			// the time may be over: what is known by then is the answer
			if err := c.deliver("", func(w io.Writer) (err error) {
				stopped, err = in.report(w, questionsOf(t, *delta))
				return err
			}); err != nil {
				return err
			}
			return stopped
		}
	}})

// question is a line of what explain prints.
type question struct {
	name string
	// ask returns the answer, and evidence for it if there is some. A LimitError leaves the
	// question open.
	ask func(lim ops.Limits) (answer string, evidence, err error)
}

// questionsOf are the questions about a machine, those that take least first: what they leave of
// their time is for the others.
func questionsOf(t *typed, delta float64) []question {
	proved := func(evidence, err error) (string, error, error) { return yesNo(evidence == nil), evidence, err }
	var known verdicts // of those that are asked before
	list := []question{{"bounded delay", func(lim ops.Limits) (string, error, error) {
		delay, err := t.BoundedDelay(t.m, lim)
		return proved(orNil(delay), err)
	}}, {"stochastic", func(lim ops.Limits) (string, error, error) {
		if !slices.Contains([]string{"log", "log64", "real64"}, t.ArcType()) {
			return "not applicable: weights of " + t.ArcType() + " are no probabilities that add up", nil, nil
		}
		stochastic, err := t.Stochastic(t.m, delta, lim)
		return proved(orNil(stochastic), err)
	}}, {"unambiguous", func(lim ops.Limits) (string, error, error) {
		ambiguous, err := t.Ambiguous(t.m, lim)
		known.ambiguity = verdictOf(ambiguous == nil, err)
		return proved(orNil(ambiguous), err)
	}}, {"functional", func(lim ops.Limits) (string, error, error) {
		functional, err := t.Functional(t.m, lim)
		known.functionality = verdictOf(functional == nil, err)
		return proved(orNil(functional), err)
	}}, {"twins property", func(lim ops.Limits) (string, error, error) {
		twins, err := t.Twins(t.m, lim)
		known.twins, known.noTwins = verdictOf(twins == nil, err), twins
		if errors.Is(err, ops.ErrCapability) { // the weights do not cancel, or not commute
			_, why, _ := strings.Cut(strings.TrimPrefix(err.Error(), "ops: "), ": ")
			return "not applicable: " + why, nil, nil
		}
		if errors.Is(err, ops.ErrUndecided) {
			return "not known: too many differences between outputs of one input", nil, nil
		}
		return proved(orNil(twins), err)
	}}, {concluded, func(ops.Limits) (string, error, error) {
		return known.determinizable(t), nil, nil
	}}}
	return list
}

// concluded is the question whose answer follows from the others and takes no time.
const concluded = "determinizable"

// inquiry asks questions one after the other, within limits.
type inquiry struct {
	ops.Limits
	// when to leave a question that does not come to an end by itself, some time after that of the
	// limits; zero is never
	leave time.Time
	text  func(*ops.LimitError) string // what is printed of a limit
}

// report prints the answers as they arrive, and returns the first error that left a question open.
// Each question has an equal share of the time left when it is asked. Some questions do not check
// the clock, so each is asked in a goroutine of its own, which is abandoned when the time is up.
func (in *inquiry) report(w io.Writer, questions []question) (open, err error) {
	type answered struct {
		text          string
		evidence, err error
		panicked      *ops.WorkerPanic
	}
	answers := make(chan answered, len(questions)+1) // room for all: who is left behind ends, too
	go func() {
		defer func() {
			if v := recover(); v != nil {
				answers <- answered{panicked: &ops.WorkerPanic{Value: v, Stack: debug.Stack()}}
			}
		}()
		for i, q := range questions {
			lim, cancel := in.share(questions[i:])
			var a answered
			a.text, a.evidence, a.err = q.ask(lim)
			cancel()
			answers <- a
		}
	}()
	var over <-chan time.Time
	if !in.leave.IsZero() {
		t := time.NewTimer(time.Until(in.leave))
		defer t.Stop()
		over = t.C
	}
	left := false
	for _, q := range questions {
		var a answered
		if !left {
			select {
			case a = <-answers:
			case <-over:
				left = true
			}
		}
		if a.panicked != nil {
			panic(a.panicked)
		}
		var limit *ops.LimitError
		switch {
		case left:
			a.text, a.err = "not known: the time was over (--timeout)",
				fmt.Errorf("stopped: %w", context.DeadlineExceeded)
		case errors.As(a.err, &limit):
			a.text, a.evidence = "not known: "+in.text(limit), nil
		case a.err != nil:
			return nil, a.err
		}
		if open == nil {
			open = a.err
		}
		infoLine(w, q.name, a.text)
		if a.evidence != nil {
			_, what, _ := strings.Cut(strings.TrimPrefix(a.evidence.Error(), "ops: "), ": ") // without the operation
			fmt.Fprintf(w, "    %s\n", what)
		}
		if f, ok := w.(interface{ Flush() error }); ok {
			if err := f.Flush(); err != nil {
				return nil, err
			}
		}
	}
	return open, nil
}

// share returns the limits of the first of the questions that are left, and what releases their
// timer.
func (in *inquiry) share(left []question) (ops.Limits, context.CancelFunc) {
	n := 0
	for _, q := range left {
		if q.name != concluded {
			n++
		}
	}
	lim := in.Limits
	if lim.Ctx == nil {
		return lim, func() {}
	}
	end, ok := lim.Ctx.Deadline()
	if !ok {
		return lim, func() {}
	}
	var cancel context.CancelFunc
	lim.Ctx, cancel = context.WithTimeout(lim.Ctx, time.Until(end)/time.Duration(max(n, 1)))
	return lim, cancel
}

// limitText says which limit stopped a search, and how far it had come.
func (c *call) limitText(e *ops.LimitError) string {
	at := fmt.Sprintf("at %d pairs of states and %d of arcs", e.Built.States, e.Built.Arcs)
	if e.Limit == "context" {
		return fmt.Sprintf("the time was over %s (--timeout)", at)
	}
	return fmt.Sprintf("the search stopped at more than %d %s, %s (--limit_%s)", e.Bound, e.Limit, at, e.Limit)
}

// verdict is what is known of a property.
type verdict int8

const (
	notKnown verdict = iota
	holds
	fails
)

// verdictOf is notKnown where finding out was an error.
func verdictOf(yes bool, err error) verdict {
	switch {
	case err != nil:
		return notKnown
	case yes:
		return holds
	}
	return fails
}

// verdicts are what determinization depends on.
type verdicts struct {
	ambiguity     verdict // holds: unambiguous
	functionality verdict
	twins         verdict
	noTwins       *ops.TwinsError // the evidence where twins fails
}

// determinizable reports whether determinization of a machine ends, as far as that follows from the
// rest.
func (v verdicts) determinizable(t *typed) string {
	settled := v.ambiguity == holds || t.Idempotent() // the twins property is enough
	yes := func() string {
		if dead := t.DeadEnd(t.m); dead != fst.NoState && !t.Has(t.m, fst.Acyclic|fst.Acceptor) {
			return fmt.Sprintf("y, once fst connect has removed what leads to no final state, such as state %d", dead)
		}
		return "y"
	}
	switch {
	case t.Has(t.m, fst.IDeterministic):
		return "y" // it is deterministic
	case v.functionality == notKnown:
		return "not known"
	case v.functionality == fails && t.Has(t.m, fst.IEpsilons):
		return "not known: not functional, but determinization takes ε among the inputs for a label (fst " +
			"epsnormalize or rmepsilon first)"
	case v.functionality == fails:
		return "n: not functional (what has several outputs can be had with --det_type=nonfunctional, which " +
			"keeps them, or disambiguate)"
	case t.Has(t.m, fst.Acyclic): // finitely many strings, whatever the weights
		return yes()
	case v.twins == notKnown:
		return "not known"
	case v.twins == holds && settled:
		return yes()
	case v.twins == fails && (v.ambiguity == holds || v.noTwins.Exact):
		bounds := "--weight, --nstate or --limit_states bound"
		if !t.HasPath() {
			bounds = "--limit_states bounds"
		}
		return "n: no twins property (" + bounds + " what would not end)"
	case v.ambiguity == notKnown:
		return "not known"
	case v.twins == holds:
		return "not known: twins property, but ambiguous over weights that are not idempotent"
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
