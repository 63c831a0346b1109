package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/cmd/fst/internal/arctypes"
	"github.com/tropica-fst/tropica/cmd/fst/internal/suite"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
)

// tools lists the command's tools in alphabetical order, once the program has begun.
var tools []*tool

// offer adds a tool to the list: help, completion, the manual page and links follow.
func offer(t *tool) *tool {
	tools = append(tools, t)
	return t
}

func init() { slices.SortFunc(tools, func(a, b *tool) int { return strings.Compare(a.name, b.name) }) }

// inPlace makes a tool that changes one machine: in.fst and out.fst are its
// arguments. prepare defines flags and returns the change.
func inPlace(name, summary, about string, prepare func(*flags.Set) func(*call, *typed) error) *tool {
	return &tool{name: name, args: "[in.fst [out.fst]]", max: 2, summary: summary, about: about,
		setup: func(fs *flags.Set) func(*call) error {
			change := prepare(fs)
			return func(c *call) error {
				t, err := c.mutableMachine(0)
				if err != nil {
					return err
				}
				if err := change(c, t); err != nil {
					return err
				}
				return c.writeMachine(1, t, t.m, "")
			}
		}}
}

// noFlags is prepare for a change without flags.
func noFlags(change func(*call, *typed) error) func(*flags.Set) func(*call, *typed) error {
	return func(*flags.Set) func(*call, *typed) error { return change }
}

var _ = offer(inPlace("arcsort", "Sorts the arcs of each state.", `
Arcs are sorted by input label, or by output label; arcs with the same labels keep
OpenFst's order. Composition needs one of its sides sorted.

  fst arcsort --sort_type=olabel in.fst out.fst

Time O(arcs · log(arcs at a state)).`,
	func(fs *flags.Set) func(*call, *typed) error {
		by := fs.Enum("sort_type", "ilabel", []string{"ilabel", "olabel"}, "Label to sort by")
		return func(c *call, t *typed) error {
			side := ops.Input
			if *by == "olabel" {
				side = ops.Output
			}
			t.ArcSort(t.m, side, int(*c.lib.workers))
			return nil
		}
	}))

var _ = offer(inPlace("closure", "Closes a machine under concatenation: A* or A+.", `
A*(x, y) is the sum of A(x1, y1) ⊗ ... ⊗ A(xn, yn) over all ways to write x = x1...xn,
y = y1...yn with n >= 0; A+ asks for n >= 1.

  fst closure in.fst out.fst

Time O(states).`,
	func(fs *flags.Set) func(*call, *typed) error {
		plus := fs.Bool("closure_plus", false, "A+ instead of A*: do not add the empty string")
		kind := fs.Enum("closure_type", "star", []string{"star", "plus"}, "Kind of closure")
		return func(c *call, t *typed) error {
			k := ops.Star
			if *plus || *kind == "plus" {
				k = ops.Plus
			}
			lim, cancel := c.lib.limits()
			defer cancel()
			return t.Closure(t.m, k, lim)
		}
	}))

var _ = offer(inPlace("connect", "Removes states and arcs that lie on no accepting path.", `
  fst connect in.fst out.fst

Time O(states + arcs).`,
	noFlags(func(c *call, t *typed) error { t.Connect(t.m, int(*c.lib.workers)); return nil })))

var _ = offer(inPlace("invert", "Exchanges input and output labels.", `
  fst invert in.fst out.fst

Time O(states + arcs).`,
	noFlags(func(c *call, t *typed) error { t.Invert(t.m); return nil })))

var _ = offer(inPlace("project", "Makes an acceptor of the input or output labels.", `
  fst project --project_type=output in.fst out.fst

Time O(states + arcs).`,
	func(fs *flags.Set) func(*call, *typed) error {
		by := fs.Enum("project_type", "input", []string{"input", "output"}, "Side to project on")
		old := fs.Bool("project_output", false, "Project on the output: the flag of older OpenFst")
		return func(c *call, t *typed) error {
			side := ops.Input
			if *old || *by == "output" {
				side = ops.Output
			}
			t.Project(t.m, side)
			return nil
		}
	}))

var _ = offer(inPlace("topsort", "Renumbers states so that every arc goes to a higher one.", `
A cyclic machine has no such order: it is copied as it is, with a warning that names a cycle.

  fst topsort in.fst out.fst

Time O(states + arcs).`,
	noFlags(func(c *call, t *typed) error {
		err := t.TopSort(t.m)
		var cycle *ops.CycleError
		if errors.As(err, &cycle) {
			c.Warn(c.prog, "input FST is cyclic: %v", err)
			return nil
		}
		return err
	})))

var _ = offer(&tool{name: "reverse", args: "[in.fst [out.fst]]", max: 2,
	summary: "Reverses the strings of a machine.", about: `
  fst reverse in.fst out.fst

Time O(states + arcs).`,
	setup: func(fs *flags.Set) func(*call) error {
		super := fs.Bool("require_superinitial", true, "Always add a new start state")
		return func(c *call) error {
			t, err := c.machine(0)
			if err != nil {
				return err
			}
			lim, cancel := c.lib.limits()
			defer cancel()
			m, err := t.Reverse(t.m, &ops.ReverseOptions{NoSuperInitial: !*super, Limits: lim})
			if err != nil {
				return err
			}
			return c.writeMachine(1, t, m, "")
		}
	}})

var _ = offer(&tool{name: "map", args: "[in.fst [out.fst]]", max: 2,
	summary: "Changes the weights, or merges the arcs, of a machine one by one.", about: `
invert takes the reciprocal, power the power, quantize the nearest multiple of --delta,
plus and times add and multiply by --weight, to_... convert to another semiring (as
negative logarithms of probabilities), superfinal leaves one final state, arc_sum and
arc_unique merge arcs that differ only in the weight, or not at all.

  fst map --map_type=to_log in.fst out.fst

Time O(states + arcs).`,
	setup: func(fs *flags.Set) func(*call) error {
		kind := fs.Enum("map_type", "identity", suite.MapTypes, "Change")
		delta := fs.Float32("delta", ops.DefaultDelta, "Quantum of quantize")
		power := fs.Float("power", 1, "Exponent of power")
		weight := fs.String("weight", "", "Weight of plus and times; one of times, zero of plus by default")
		return func(c *call) error {
			t, err := c.mutableMachine(0)
			if err != nil {
				return err
			}
			m, err := t.MapWeights(t.m, *kind, &suite.MapOptions{Delta: *delta, Power: *power, Weight: *weight,
				Format: c.format()})
			if err != nil {
				return err
			}
			for _, s := range arctypes.All {
				if s.Owns(m) {
					return c.writeMachine(1, &typed{Suite: s, m: m}, m, "")
				}
			}
			panic("a machine without a suite")
		}
	}})

// composition makes the two tools that compose.
func composition(name, summary, about string, do func(c *call, a, b *typed, o *ops.ComposeOptions) (machine,
	error)) *tool {
	return &tool{name: name, args: "in1.fst in2.fst [out.fst]", min: 2, max: 3, summary: summary, about: about,
		setup: func(fs *flags.Set) func(*call) error {
			filter := fs.String("compose_filter", "auto", "Composition filter: alt_sequence, auto, match, "+
				"no_match, null, sequence, trivial")
			fs.Choose("compose_filter", "alt_sequence", "auto", "match", "no_match", "null", "sequence", "trivial")
			connect := fs.Bool("connect", true, "Trim the result")
			options := matcherFlags(fs)
			return func(c *call) error {
				f, err := ops.ParseFilter(*filter)
				if err != nil {
					return fmt.Errorf("flag --compose_filter: %w", err)
				}
				c.models = name == "compose"
				a, b, err := c.twoMachines()
				if err != nil {
					return err
				}
				lim, cancel := c.lib.limits()
				defer cancel()
				if err := c.expandModel(a, lim); err != nil {
					return err
				}
				inner := [2]*fst.SymbolTable{fst.OutputSymbols(a.m), fst.InputSymbols(b.m)}
				if !*c.lib.compatSymbols {
					c.forgetOutputSymbols(a)
				}
				o := &ops.ComposeOptions{Filter: f, KeepDead: !*connect, Limits: lim}
				if err := options(o, inner); err != nil {
					return err
				}
				m, err := do(c, a, b, o)
				if err != nil {
					return err
				}
				return c.writeMachine(2, a, m, "")
			}
		}}
}

var _ = offer(composition("compose", "Composes two transducers: (A∘B)(x, z) = ⊕_y A(x, y) ⊗ B(y, z).", `
The first must be sorted by output label or the second by input label (fst arcsort). Where both
sides have ε on the inner tape, a filter keeps one order of the ε-moves.

--first_matcher and --second_matcher give labels of the inner tape of a machine a special meaning:
phi:L is followed where nothing else matches (failure), and consumes nothing. rho:L matches labels
that no other arc does, sigma:L any label. epsilons:L,M,... match nothing, as ε. L is a number, or
a symbol of the machine. The machine must be sorted on that side. Files of the types phi, rho and
sigma hold their own label.

--lookahead omits pairs of states that lead nowhere as early as possible. This pays where the first
machine emits labels late, as a lexicon does. With a file of a look-ahead type (fst convert)
composition looks ahead by default, and pushes weights and labels, unless a filter is requested.

  fst compose a.fst b.fst ab.fst
  fst compose --second_matcher=phi:9 words.fst backoff.fst scored.fst
  fst compose --lookahead=auto lexicon.fst grammar.fst lg.fst

Time O(pairs reached · arcs · log arcs).`,
	(*call).composeModel))

var _ = offer(composition("intersect", "Intersects two acceptors: (A∩B)(x) = A(x) ⊗ B(x).", `
One of them must be sorted (fst arcsort).

  fst intersect a.fst b.fst ab.fst

Time O(pairs reached · arcs · log arcs).`,
	func(_ *call, a, b *typed, o *ops.ComposeOptions) (machine, error) { return a.Intersect(a.m, b.m, o) }))

// joining makes the tools that append the second machine to the first.
func joining(name, summary, about string, do func(t *typed, a, b machine, lim ops.Limits) error) *tool {
	return &tool{name: name, args: "in1.fst in2.fst [out.fst]", min: 2, max: 3, summary: summary, about: about,
		setup: func(fs *flags.Set) func(*call) error {
			return func(c *call) error {
				a, b, err := c.twoMachines()
				if err != nil {
					return err
				}
				lim, cancel := c.lib.limits()
				defer cancel()
				a.m = a.Mutable(a.m)
				if !*c.lib.compatSymbols {
					c.forgetSymbols(b)
				}
				if err := do(a, a.m, b.m, lim); err != nil {
					return err
				}
				return c.writeMachine(2, a, a.m, "")
			}
		}}
}

var _ = offer(joining("union", "Unites two machines: (A∪B)(x, y) = A(x, y) ⊕ B(x, y).", `
  fst union a.fst b.fst ab.fst

Time O(states + arcs).`,
	func(t *typed, a, b machine, lim ops.Limits) error { return t.Union(a, b, lim) }))

var _ = offer(joining("concat", "Concatenates two machines: (AB)(x, y) = ⊕ A(x1, y1) ⊗ B(x2, y2).", `
The sum is over all ways to write x = x1x2 and y = y1y2.

  fst concat a.fst b.fst ab.fst

Time O(states + arcs).`,
	func(t *typed, a, b machine, lim ops.Limits) error { return t.Concat(a, b, lim) }))

var _ = offer(&tool{name: "equal", args: "in1.fst in2.fst", min: 2, max: 2,
	looks:   true,
	summary: "Tells whether two machines have the same states and arcs in the same order.", about: `
Exit status 0 if they have, 2 if not; --v=1 says where they differ.

  fst equal a.fst b.fst

Time O(states + arcs).`,
	setup: func(fs *flags.Set) func(*call) error {
		delta := fs.Float32("delta", ops.DefaultDelta, "Difference of weights to pass over")
		return func(c *call) error {
			c.plain = true
			a, b, err := c.twoMachines()
			if err != nil {
				return err
			}
			if d := a.Equal(a.m, b.m, *delta); d != nil {
				if *c.lib.verbosity > 0 {
					fmt.Fprintf(c.Err, "INFO: %s: %v\n", c.prog, d)
				}
				return errDifferent
			}
			return nil
		}
	}})

var _ = offer(&tool{name: "isomorphic", args: "in1.fst in2.fst", min: 2, max: 2,
	looks:   true,
	summary: "Tells whether two machines are equal up to the numbers of their states and the order of arcs.",
	about: `
Exit status 0 if they are, 2 if not.

  fst isomorphic a.fst b.fst

Time O(states + arcs · log(arcs at a state)).`,
	setup: func(fs *flags.Set) func(*call) error {
		delta := fs.Float32("delta", ops.DefaultDelta, "Difference of weights to pass over")
		return func(c *call) error {
			c.plain = true
			a, b, err := c.twoMachines()
			if err != nil {
				return err
			}
			same, err := a.Isomorphic(a.m, b.m, *delta)
			if err == nil && !same {
				err = errDifferent
			}
			return err
		}
	}})

// forgetSymbols drops the tables of a second machine, for --fst_compat_symbols=false.
func (c *call) forgetSymbols(t *typed) {
	t.m = t.Mutable(t.m)
	t.SetSymbols(t.m, nil, nil)
}

// forgetOutputSymbols drops the output table of the first machine of a composition, for
// --fst_compat_symbols=false. What its file tells of its labels stays with it.
func (c *call) forgetOutputSymbols(t *typed) {
	if fst.OutputSymbols(t.m) == nil {
		return
	}
	var addOn *fst.AddOn
	if g, ok := t.m.(interface{ AddOn() *fst.AddOn }); ok {
		addOn = g.AddOn()
	}
	t.m = t.Mutable(t.m)
	t.SetSymbols(t.m, fst.InputSymbols(t.m), nil)
	if addOn != nil {
		t.m = t.Frozen(t.m)
		t.m.(interface{ SetAddOn(*fst.AddOn) }).SetAddOn(addOn)
	}
}
