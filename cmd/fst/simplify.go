package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/cmd/fst/internal/suite"
	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
)

const queueNames = "auto, fifo, lifo, shortest, state, top"

// queueFlag defines --queue_type.
func queueFlag(fs *flags.Set) func() (ops.Queue, error) {
	name := fs.String("queue_type", "auto", "Order in which states are relaxed: "+queueNames)
	fs.Choose("queue_type", strings.Split(queueNames, ", ")...)
	return func() (ops.Queue, error) {
		q, err := ops.ParseQueue(*name)
		if err != nil || q == ops.QueueSCC { // a name of ours
			return q, fmt.Errorf("flag --queue_type: %q is none of %s", *name, queueNames)
		}
		return q, nil
	}
}

// pruneFlags defines --weight, --nstate and --delta.
func pruneFlags(fs *flags.Set, delta float64) func(*call, ops.Limits) *suite.Pruning {
	d := fs.Float32("delta", delta, "Difference of weights that counts as none")
	nstate := fs.Int("nstate", 64, -1, "Keep this many states, the best; -1 is no bound")
	weight := fs.String("weight", "", "Keep paths within this weight of the best; empty is all")
	return func(c *call, lim ops.Limits) *suite.Pruning {
		return &suite.Pruning{Weight: *weight, States: *nstate, Delta: settled(*d), Format: c.format(), Limits: lim}
	}
}

// divergentVariable is the environment's answer where --divergent is not given, for scripts that
// call the tools as OpenFst's.
const divergentVariable = "TROPICA_DIVERGENT"

// sumFlags defines --divergent, beside --delta, for tools that sum over paths.
func sumFlags(fs *flags.Set) func() (ops.Truncation, error) {
	values := []string{"error", "truncate"}
	divergent := fs.Enum("divergent", "error", values, "What a sum that diverges is, over weights such as "+
		"log; without the flag $"+divergentVariable+" says it")
	return func() (ops.Truncation, error) {
		mode := *divergent
		if v := os.Getenv(divergentVariable); v != "" && !fs.Given("divergent") {
			if mode = v; !slices.Contains(values, v) {
				return ops.Truncation{}, fmt.Errorf("environment variable %s: %q is none of %s", divergentVariable, v,
					strings.Join(values, ", "))
			}
		}
		return ops.Truncation{Truncate: fs.Given("delta"), Divergent: mode == "truncate"}, nil
	}
}

// sumsAbout is its description in the help of these tools.
const sumsAbout = `
Over weights such as log, where ⊕ adds, sums are exact unless --delta is given: then each change of
at most so much is dropped, as OpenFst does. A sum that diverges is an error that shows the
cycle; with --divergent=truncate, or ` + divergentVariable + `=truncate in the environment, it is the number that OpenFst
comes to.
`

// closeDelta returns the flag --delta, with the given value, for tools that compare weights to
// merge states. Where it is not set it depends on the weights.
func closeDelta(fs *flags.Set, t *typed, value float64) float64 {
	if !fs.Given("delta") {
		value = t.Closeness(value)
	}
	return value
}

// closenessAbout is its description in the help of these tools.
const closenessAbout = `
Where weights are multiplied (real64, expectation), --delta is a factor less 1, and 1e-9 unless it is given.
`

// settled is a delta for shortest distances, where zero asks for the default and
// a negative number for none too small.
func settled(delta float64) float64 {
	if delta == 0 {
		return -1
	}
	return delta
}

var _ = offer(&tool{name: "determinize", args: "[in.fst [out.fst]]", max: 2,
	summary: "Makes an equivalent machine with at most one arc for each input label at a state.", about: `
ε is an ordinary label here: run fst rmepsilon first. A machine without a deterministic equivalent
is reported with two paths that prove it, where there is such a proof. Where they only make it
likely, the limit is a million states or 256 MiB of output strings, unless --limit_bytes or
--timeout is given. --limit_states bounds the result over any arc type; --nstate and --weight keep
its best part, and need the path property.
` + closenessAbout + `
  fst determinize in.fst out.fst

Time: exponential in the states of the input at worst; linear in the result.`,
	setup: func(fs *flags.Set) func(*call) error {
		pruned := pruneFlags(fs, ops.DefaultDelta)
		kind := fs.Enum("det_type", "functional", []string{"functional", "nonfunctional", "disambiguate"},
			"What a transducer may be")
		increment := fs.Bool("increment_subsequential_label", false,
			"Give the final arcs of a state different labels")
		label := fs.Int("subsequential_label", 64, 0, "Input label of the arcs that put out what is left at a "+
			"final state")
		return func(c *call) error {
			t, err := c.machine(0)
			if err != nil {
				return err
			}
			lim, cancel := c.lib.limits()
			defer cancel()
			p := pruned(c, lim)
			if *label != int64(fst.Label(*label)) {
				return fmt.Errorf("flag --subsequential_label: %d is not a label", *label)
			}
			o := &ops.DeterminizeOptions{Delta: closeDelta(fs, t, max(p.Delta, 0)),
				SubsequentialLabel: fst.Label(*label), IncrementSubsequentialLabel: *increment, Limits: lim}
			switch *kind {
			case "nonfunctional":
				o.Type = ops.DeterminizeNonFunctional
			case "disambiguate":
				o.Type = ops.DeterminizeDisambiguate
			}
			m, err := t.Determinize(t.m, o, p)
			if err != nil {
				return err
			}
			return c.writeMachine(1, t, m, "")
		}
	}})

var _ = offer(&tool{name: "disambiguate", args: "[in.fst [out.fst]]", max: 2,
	summary: "Makes an equivalent machine with at most one accepting path for each input.", about: `
Unlike a deterministic machine, the result may have several arcs with one label at a state. Some
machines can be disambiguated that cannot be determinized. ε is an ordinary label here: run fst
rmepsilon first. A transducer must have one output for each input. --limit_states bounds the
construction over any arc type; --nstate and --weight keep the best part of its result, and need
the path property.
` + closenessAbout + `
  fst disambiguate in.fst out.fst

Time: exponential in the states of the input at worst.`,
	setup: func(fs *flags.Set) func(*call) error {
		pruned := pruneFlags(fs, ops.DefaultDelta)
		label := fs.Int("subsequential_label", 64, 0, "Input label of the arcs that put out what is left at a "+
			"final state")
		return func(c *call) error {
			t, err := c.machine(0)
			if err != nil {
				return err
			}
			lim, cancel := c.lib.limits()
			defer cancel()
			p := pruned(c, lim)
			if *label != int64(fst.Label(*label)) {
				return fmt.Errorf("flag --subsequential_label: %d is not a label", *label)
			}
			m, err := t.Disambiguate(t.m, &ops.DisambiguateOptions{Delta: closeDelta(fs, t, max(p.Delta, 0)),
				SubsequentialLabel: fst.Label(*label), Limits: lim}, p)
			if err != nil {
				return err
			}
			return c.writeMachine(1, t, m, "")
		}
	}})

var _ = offer(&tool{name: "minimize", args: "[in.fst [out1.fst [out2.fst]]]", max: 3,
	summary: "Merges equivalent states of a deterministic machine.", about: `
The input must be deterministic, with ε as an ordinary label (fst determinize). Weights and outputs
move towards the start, rounded to --delta, and states that agree within it are merged. The result
has the fewest states of all deterministic machines with its relation, with these exceptions:

A machine with cycles must have sorted arcs (fst arcsort). States whose arcs have another order are
not merged, as in OpenFst.

Over weights that do not cancel (minmax) fewer states might suffice.

Outputs of a transducer that are longer than a label get chains of arcs with input ε, whose states
count too.

With --allow_nondet states of a machine that is not deterministic are merged where their arcs
agree, which need not give the smallest machine.

With out2.fst, the output labels of out1.fst are numbers of strings, which out2.fst spells
out: their composition is the transducer.
` + closenessAbout + sumsAbout + `
  fst minimize in.fst out.fst

Time O(arcs · log states), linear for acyclic machines.`,
	setup: func(fs *flags.Set) func(*call) error {
		nondet := fs.Bool("allow_nondet", false, "Take machines that are not deterministic, over idempotent "+
			"semirings; the result need not be the smallest")
		delta := fs.Float32("delta", ops.ShortestDelta, "What weights are rounded to before they are compared")
		truncation := sumFlags(fs)
		return func(c *call) error {
			truncated, err := truncation()
			if err != nil {
				return err
			}
			if len(c.args) == 3 && cli.IsStandard(c.args[1]) && cli.IsStandard(c.args[2]) {
				return errors.New("both outputs can't be standard output")
			}
			t, err := c.machine(0)
			if err != nil {
				return err
			}
			lim, cancel := c.lib.limits()
			defer cancel()
			o := &ops.MinimizeOptions{Delta: closeDelta(fs, t, *delta), AllowNondet: *nondet, ArcOrder: true,
				Truncation: truncated, Limits: lim}
			if len(c.args) < 3 {
				m, err := t.Minimize(t.m, o)
				if err != nil {
					return err
				}
				return c.writeMachine(1, t, m, "")
			}
			m, spelling, err := t.MinimizeFactored(t.m, o)
			if errors.Is(err, ops.ErrAcceptor) { // no strings to number: the second machine is empty
				spelling = t.Empty()
				m, err = t.Minimize(t.m, o)
			}
			if err != nil {
				return err
			}
			return c.writeBoth(t, m, spelling)
		}
	}})

// writeBoth writes two machines to arguments 1 and 2, both or neither.
func (c *call) writeBoth(t *typed, a, b machine) error {
	if err := c.distinct(result(c.arg(1)), result(c.arg(2))); err != nil {
		return err
	}
	for _, m := range []machine{a, b} {
		if err := c.withinLimits(t, m); err != nil {
			return err
		}
	}
	o := &fst.WriteOptions{Type: "vector"}
	return c.Output(c.arg(1), func(w io.Writer) error {
		if err := t.Write(w, a, o); err != nil {
			return err
		}
		return c.Output(c.arg(2), func(w io.Writer) error { return t.Write(w, b, o) })
	})
}

var _ = offer(inPlace("rmepsilon", "Removes the arcs with ε on both sides.", `
The result is trimmed unless --connect=false. --nstate and --weight keep its best part.
`+sumsAbout+`
  fst rmepsilon in.fst out.fst

Time O(states · ε-arcs) at worst, O(states + arcs of the result) where ε-paths are short.`,
	func(fs *flags.Set) func(*call, *typed) error {
		pruned := pruneFlags(fs, ops.ShortestDelta)
		connect := fs.Bool("connect", true, "Trim the result")
		queue := queueFlag(fs)
		truncation := sumFlags(fs)
		return func(c *call, t *typed) error {
			q, err := queue()
			if err != nil {
				return err
			}
			truncated, err := truncation()
			if err != nil {
				return err
			}
			lim, cancel := c.lib.limits()
			defer cancel()
			p := pruned(c, lim)
			return t.RmEpsilon(t.m, &ops.RmEpsilonOptions{Queue: q, KeepDead: !*connect, Delta: p.Delta,
				Truncation: truncated, Limits: lim}, p)
		}
	}))

var _ = offer(inPlace("prune", "Removes paths that are worse than the best by more than a weight.", `
A path stays if its weight is at least as good as the best path's times --weight.
--nstate bounds the states. The weights need the path property.

  fst prune --weight=10 in.fst out.fst

Time O((states + arcs) · log states).`,
	func(fs *flags.Set) func(*call, *typed) error {
		pruned := pruneFlags(fs, ops.DefaultDelta)
		return func(c *call, t *typed) error {
			lim, cancel := c.lib.limits()
			defer cancel()
			return t.Prune(t.m, pruned(c, lim))
		}
	}))

// toFinalFlag defines both generations of the flag for a direction.
func toFinalFlag(fs *flags.Set) func() bool {
	old := fs.Bool("to_final", false, "Towards the final states instead of the start")
	kind := fs.Enum("reweight_type", "to_initial", []string{"to_initial", "to_final"}, "Direction")
	return func() bool { return *old || *kind == "to_final" }
}

var _ = offer(inPlace("push", "Moves weights or output labels towards the start or the final states.", `
After pushing weights to the start, the weights that leave a state sum to one. After pushing
labels, paths output as early as possible what they must output.
`+sumsAbout+`
  fst push --push_weights in.fst out.fst

Time: a shortest distance, and O(states + arcs).`,
	func(fs *flags.Set) func(*call, *typed) error {
		delta := fs.Float32("delta", ops.DefaultDelta, "Difference of weights that counts as none")
		labels := fs.Bool("push_labels", false, "Push output labels")
		weights := fs.Bool("push_weights", false, "Push weights")
		affix := fs.Bool("remove_common_affix", false, "Drop the output that all paths begin (or end) with")
		total := fs.Bool("remove_total_weight", false, "Divide by the sum of all paths")
		toFinal := toFinalFlag(fs)
		truncation := sumFlags(fs)
		return func(c *call, t *typed) error {
			if !*labels && !*weights {
				c.Warn(c.prog, "neither --push_weights nor --push_labels is given: nothing is pushed")
				return nil
			}
			truncated, err := truncation()
			if err != nil {
				return err
			}
			lim, cancel := c.lib.limits()
			defer cancel()
			m, err := t.Push(t.m, &ops.PushOptions{Labels: *labels, KeepWeights: !*weights, ToFinal: toFinal(),
				RemoveTotalWeight: *total, RemoveCommonAffix: *affix, Delta: settled(*delta),
				Truncation: truncated, Limits: lim})
			t.m = m
			return err
		}
	}))
