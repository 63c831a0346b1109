package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/tropica-fst/tropica/cmd/fst/internal/suite"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
)

var _ = offer(&tool{name: "shortestdistance", args: "[in.fst [distance.txt]]", max: 2,
	looks:   true,
	summary: "Prints for each state the sum of all paths to it, or from it.", about: `
Each line is a state and the sum of the weights of all paths from the start to it (with
--reverse, from it to the final states). Over log weights sums are exact, and float64 until they
are printed; --digits=17 prints all digits, for fst reweight.
` + sumsAbout + `
  fst shortestdistance in.fst

Time O(states + arcs) for acyclic machines, O(arcs + states · log states) where no weight
is better than one, O(states · arcs) at worst over the tropical semiring.`,
	setup: func(fs *flags.Set) func(*call) error {
		delta := fs.Float32("delta", ops.ShortestDelta, "Difference of weights that counts as none")
		nstate := fs.Int("nstate", 64, -1, "State to measure from; -1 is the start")
		queue := queueFlag(fs)
		reverse := fs.Bool("reverse", false, "Distances to the final states")
		digits := fs.Int("digits", 32, 9, "Significant digits of 64-bit weights, and, beyond 9, of sums over "+
			"log; 17 read back to the same number")
		truncation := sumFlags(fs)
		return func(c *call) error {
			q, err := queue()
			if err != nil {
				return err
			}
			if *reverse && q != ops.QueueAuto {
				return errors.New("can't use non-default queue with reverse")
			}
			truncated, err := truncation()
			if err != nil {
				return err
			}
			t, err := c.machine(0)
			if err != nil {
				return err
			}
			lim, cancel := c.lib.limits()
			defer cancel()
			o := &ops.ShortestDistanceOptions{Queue: q, Reverse: *reverse, Delta: settled(*delta),
				Truncation: truncated, Limits: ops.Limits{Ctx: lim.Ctx}}
			if *nstate != -1 && !*reverse {
				if *nstate != int64(fst.StateID(*nstate)) || *nstate < 0 {
					return fmt.Errorf("flag --nstate: there is no state %d", *nstate)
				}
				o.Sources = []fst.StateID{fst.StateID(*nstate)}
			}
			d, err := t.ShortestDistance(t.m, o, *digits > 9)
			if errors.Is(err, ops.ErrNoSource) {
				return fmt.Errorf("flag --nstate: there is no state %d", *nstate)
			}
			if err != nil {
				return err
			}
			return c.Output(c.arg(1), func(w io.Writer) error {
				// Between tabs, whatever --fst_field_separator says of other text, as in OpenFst
				// and as fst reweight reads it.
				format := c.format()
				format.Digits = int(*digits)
				return d(w, &fst.PotentialOptions{Format: format})
			})
		}
	}})

var _ = offer(&tool{name: "shortestpath", args: "[in.fst [out.fst]]", max: 2,
	summary: "Finds the best paths.", about: `
The result has the --nshortest best paths, counted as sequences of arcs. The weights need the path
property. With --unique, only a best one of all paths of an acceptor with the same labels counts.
ε (label 0) is a label there: strings that differ only in the positions of ε count as different, so
remove it first. --unique compares residual weights rounded to --delta, and changes nothing for one
path.

  fst shortestpath --nshortest=10 in.fst out.fst
  fst rmepsilon in.fst | fst shortestpath --nshortest=10 --unique - out.fst

Time: a shortest distance, and O(n · states · log) for n paths at worst.`,
	setup: func(fs *flags.Set) func(*call) error {
		pruned := pruneFlags(fs, ops.ShortestDelta)
		n := fs.Int("nshortest", 32, 1, "How many paths")
		queue := queueFlag(fs)
		unique := fs.Bool("unique", false, "Of an acceptor, one path for each sequence of labels, ε being one "+
			"(fst rmepsilon first)")
		return func(c *call) error {
			q, err := queue()
			if err != nil {
				return err
			}
			t, err := c.machine(0)
			if err != nil {
				return err
			}
			lim, cancel := c.lib.limits()
			defer cancel()
			o := &suite.PathOptions{N: int(*n), Queue: q, Unique: *unique}
			if *n <= 0 {
				o.N = -1
			}
			m, err := t.ShortestPath(t.m, o, pruned(c, lim))
			if err != nil {
				return err
			}
			if *n <= 0 { // OpenFst leaves at once, before it copies the symbols
				t.SetSymbols(m, nil, nil)
			}
			return c.writeMachine(1, t, m, "")
		}
	}})

// drawFlags are those of tools that draw random paths.
type drawFlags struct {
	maxLength, npath *int64
	seed             *uint64
	sel              *string
}

func defineDraw(fs *flags.Set) *drawFlags {
	return &drawFlags{
		maxLength: fs.Int("max_length", 32, 1<<31-1, "Drop paths of this many arcs or more"),
		npath:     fs.Int("npath", 32, 1, "How many paths"),
		seed:      fs.Uint("seed", 0, "Seed of the random numbers (default: another one each time)"),
		sel:       fs.String("select", "uniform", "How arcs are chosen: uniform, log_prob, fast_log_prob"),
	}
}

func (d *drawFlags) rng(c *call) *rand.Rand {
	seed := *d.seed
	if !c.flags.Given("seed") {
		seed = rand.Uint64()
	}
	return rand.New(rand.NewPCG(mix(seed), mix(^seed)))
}

// mix spreads a seed over all bits, so that near seeds begin draws that have nothing to do with one
// another: the finalizer of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// selector reads --select.
func (d *drawFlags) selector() (ops.ArcSelector, error) {
	s, err := ops.ParseArcSelector(*d.sel)
	if err != nil {
		return s, fmt.Errorf("flag --select: %w", err)
	}
	return s, nil
}

// orNone is n for an option whose zero means something else.
func orNone(n int64) int {
	if n <= 0 {
		return -1
	}
	return int(n)
}

var _ = offer(&tool{name: "randgen", args: "[in.fst [out.fst]]", max: 2,
	summary: "Draws random paths.", about: `
--select=log_prob reads weights as negative logarithms of probabilities. With --weighted the
paths share their beginnings in a tree, weighted by how often they were drawn.

A path that enters cycles without an exit does not end. That is an error, which names the first
such state, unless --max_length, up to 16777216, drops the path.

  fst randgen --npath=10 --seed=1 in.fst out.fst

Time O(arcs drawn).`,
	setup: func(fs *flags.Set) func(*call) error {
		d := defineDraw(fs)
		total := fs.Bool("remove_total_weight", false, "With --weighted: divide by the number of paths")
		weighted := fs.Bool("weighted", false, "A tree weighted by counts")
		return func(c *call) error {
			sel, err := d.selector()
			if err != nil {
				return err
			}
			t, err := c.machine(0)
			if err != nil {
				return err
			}
			lim, cancel := c.lib.limits()
			defer cancel()
			m, err := t.RandGen(t.m, d.rng(c), &ops.RandGenOptions{Select: sel, NPath: orNone(*d.npath),
				MaxLength: orNone(*d.maxLength), Weighted: *weighted, RemoveTotalWeight: *total, Limits: lim})
			if err != nil {
				return err
			}
			return c.writeMachine(1, t, m, "")
		}
	}})

var _ = offer(&tool{name: "equivalent", args: "in1.fst in2.fst", min: 2, max: 2,
	looks:   true,
	summary: "Tells whether two deterministic acceptors accept the same strings with the same weights.", about: `
The exit status is 0 if they do, 2 if not; --v=1 prints a string that they weigh differently. With
--random any two transducers are compared on the strings of random paths.

  fst equivalent a.fst b.fst

Time almost linear.`,
	setup: func(fs *flags.Set) func(*call) error {
		delta := fs.Float32("delta", ops.DefaultDelta, "Difference of weights to pass over")
		random := fs.Bool("random", false, "Compare on random paths")
		d := defineDraw(fs)
		return func(c *call) error {
			sel, err := d.selector()
			if err != nil {
				return err
			}
			a, b, err := c.twoMachines()
			if err != nil {
				return err
			}
			if !*c.lib.compatSymbols {
				c.forgetSymbols(b)
			}
			lim, cancel := c.lib.limits()
			defer cancel()
			if *random {
				diff, err := a.RandEquivalent(a.m, b.m, d.rng(c), &ops.RandEquivalentOptions{NPath: orNone(*d.npath),
					MaxLength: orNone(*d.maxLength), Select: sel, Delta: *delta, Limits: lim})
				if err == nil && diff != nil {
					c.inform(diff)
					err = errDifferent
				}
				return err
			}
			same, err := a.Equivalent(a.m, b.m, *delta)
			if err != nil || same {
				return err
			}
			if *c.lib.verbosity > 0 {
				diff, err := a.Distinguish(a.m, b.m, *delta)
				if err != nil {
					return err
				}
				c.inform(diff)
			}
			return errDifferent
		}
	}})

// inform says why with --v=1.
func (c *call) inform(why fmt.Stringer) {
	if *c.lib.verbosity > 0 {
		fmt.Fprintf(c.Err, "INFO: %s: %v\n", c.prog, why)
	}
}
