package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/tropica-fst/tropica/cmd/fst/internal/suite"
	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
)

var _ = offer(composition("difference", "Subtracts an unweighted deterministic acceptor from an "+
	"acceptor: (A−B)(x) = A(x) where B does not accept x.", `
The second machine must be unweighted, deterministic, without ε, and sorted.

  fst difference a.fst b.fst out.fst

Time O(pairs reached · arcs · log arcs).`,
	func(_ *call, a, b *typed, o *ops.ComposeOptions) (machine, error) { return a.Subtract(a.m, b.m, o) }))

// building makes a tool that builds one machine from one.
func building(name, summary, about string, prepare func(*flags.Set) func(*call, *typed,
	ops.Limits) (machine, error)) *tool {
	return &tool{name: name, args: "[in.fst [out.fst]]", max: 2, summary: summary, about: about,
		setup: func(fs *flags.Set) func(*call) error {
			build := prepare(fs)
			return func(c *call) error {
				t, err := c.machine(0)
				if err != nil {
					return err
				}
				lim, cancel := c.lib.limits()
				defer cancel()
				m, err := build(c, t, lim)
				if err != nil {
					return err
				}
				return c.writeMachine(1, t, m, "")
			}
		}}
}

var _ = offer(building("epsnormalize", "Moves ε on the input (or output) side behind all labels "+
	"of a path.", `
  fst epsnormalize in.fst out.fst

Time: ε-removal over weights that carry output strings.`,
	func(fs *flags.Set) func(*call, *typed, ops.Limits) (machine, error) {
		output := fs.Bool("eps_norm_output", false, "The output side")
		kind := fs.Enum("eps_norm_type", "input", []string{"input", "output"}, "Side")
		return func(c *call, t *typed, lim ops.Limits) (machine, error) {
			side := ops.Input
			if *output || *kind == "output" {
				side = ops.Output
			}
			return t.EpsNormalize(t.m, side, lim)
		}
	}))

var _ = offer(building("synchronize", "Makes input and output labels keep step along each path.", `
The delay between input and output must be bounded. Otherwise the error shows a cycle that
increases it, and nothing is written.

  fst synchronize in.fst out.fst

Time linear in the result.`,
	func(fs *flags.Set) func(*call, *typed, ops.Limits) (machine, error) {
		return func(c *call, t *typed, lim ops.Limits) (machine, error) { return t.Synchronize(t.m, lim) }
	}))

var _ = offer(inPlace("relabel", "Changes the labels of arcs, by symbols or by pairs of numbers.", `
  fst relabel --relabel_isymbols=new.txt in.fst out.fst
  fst relabel --relabel_ipairs=pairs.txt in.fst out.fst

With symbols, each label becomes what its symbol has in the new table; the old table is that
of --isymbols, or the machine's own. Time O(states + arcs).`,
	func(fs *flags.Set) func(*call, *typed) error {
		negative := fs.Bool("allow_negative_labels", false, "Allow negative labels")
		var side [2]struct{ old, symbols, pairs, unknown *string }
		for i, s := range []string{"i", "o"} {
			what := [...]string{"input", "output"}[i]
			side[i].old = fs.String(s+"symbols", "", "File with the "+what+" symbols (default: the machine's)")
			side[i].symbols = fs.String("relabel_"+s+"symbols", "", "File with the new "+what+" symbols")
			side[i].pairs = fs.String("relabel_"+s+"pairs", "", "File with pairs of old and new "+what+" labels")
			side[i].unknown = fs.String("unknown_"+s+"symbol", "", "Symbol for those that the new table lacks "+
				"(default: they are an error)")
		}
		return func(c *call, t *typed) error {
			tables := [2]*fst.SymbolTable{fst.InputSymbols(t.m), fst.OutputSymbols(t.m)}
			bySymbols := *side[0].symbols != "" || *side[1].symbols != ""
			var pairs [2][]fst.LabelPair
			for i, s := range side {
				var err error
				switch {
				case bySymbols:
					if pairs[i], err = c.symbolPairs(&tables[i], *s.old, *s.symbols, *s.unknown, *negative); err != nil {
						return err
					}
				case *s.pairs != "":
					if pairs[i], err = c.labelPairs(*s.pairs, *negative); err != nil {
						return err
					}
				}
			}
			if err := t.Relabel(t.m, pairs[0], pairs[1]); err != nil {
				return err
			}
			t.SetSymbols(t.m, tables[0], tables[1])
			return nil
		}
	}))

// symbolPairs reads tables and returns the pairs from the old to the new one. Where
// *attached is a table it becomes the new one.
func (c *call) symbolPairs(attached **fst.SymbolTable, oldName, newName, unknown string,
	negative bool) ([]fst.LabelPair, error) {
	old := *attached
	if oldName != "" {
		var err error
		if old, err = c.symbols(oldName, negative); err != nil {
			return nil, err
		}
	}
	if newName == "" {
		return nil, nil
	}
	to, err := c.symbols(newName, negative)
	if err != nil || old == nil {
		return nil, err
	}
	if *attached != nil {
		*attached = to
	}
	pairs, missing := old.PairsTo(to, unknown)
	for _, s := range missing { // an error where the label occurs
		l, _ := old.Find(s)
		pairs = append(pairs, fst.LabelPair{From: l, To: fst.NoLabel})
	}
	if len(missing) > 0 {
		c.Warn(c.prog, "%s lacks %d symbols, %q first", newName, len(missing), missing[0])
	}
	return pairs, nil
}

var _ = offer(&tool{name: "reweight", args: "in.fst potential.txt [out.fst]", min: 2, max: 3,
	summary: "Moves weights along paths by a potential of each state.", about: `
Each line of potential.txt is a state and a weight, as fst shortestdistance prints them. The
weights of successful paths do not change.

  fst shortestdistance --reverse in.fst potential.txt
  fst reweight in.fst potential.txt out.fst

Time O(states + arcs).`,
	setup: func(fs *flags.Set) func(*call) error {
		toFinal := toFinalFlag(fs)
		return func(c *call) error {
			t, err := c.mutableMachine(0)
			if err != nil {
				return err
			}
			f, shown, err := c.Open(c.arg(1))
			if err != nil {
				return err
			}
			defer f.Close()
			warned := false
			beyond := func(q fst.StateID) {
				if !warned {
					c.Warn(c.prog, "%s: there is no state %d; what is said of it and others like it means nothing", shown, q)
				}
				warned = true
			}
			if err := t.Reweight(t.m, f, &fst.PotentialOptions{Name: shown, Format: c.format(), Beyond: beyond},
				toFinal()); err != nil {
				return err
			}
			return c.writeMachine(2, t, t.m, "")
		}
	}})

var _ = offer(&tool{name: "encode", args: "in.fst mapper [out.fst]", min: 2, max: 3,
	summary: "Makes one label of labels or weights, and back.", about: `
Each pair of labels, or label and weight, becomes one label; the mapper file holds the table.
With --decode the mapper restores them. An encoded machine can be determinized and minimized as an
unweighted acceptor.

  fst encode --encode_labels in.fst mapper out.fst
  fst encode --decode out.fst mapper back.fst

Time O(states + arcs).`,
	setup: func(fs *flags.Set) func(*call) error {
		decode := fs.Bool("decode", false, "Decode")
		labels := fs.Bool("encode_labels", false, "Encode the output labels")
		weights := fs.Bool("encode_weights", false, "Encode the weights")
		reuse := fs.Bool("encode_reuse", false, "Go on with an existing mapper; it is written again if it has "+
			"become longer")
		return func(c *call) error {
			if !*decode {
				if err := c.distinct(result(c.arg(1)), result(c.arg(2))); err != nil {
					return err
				}
			}
			t, err := c.mutableMachine(0)
			if err != nil {
				return err
			}
			table, err := c.encodeTable(t, 1, *decode || *reuse, *labels, *weights)
			if err != nil {
				return err
			}
			if *decode {
				if err := table.Decode(t.m); err != nil {
					return err
				}
				return c.writeMachine(2, t, t.m, "")
			}
			had := table.Len()
			table.Encode(t.m)
			if *reuse && table.Len() == had { // leave the file as it is
				return c.writeMachine(2, t, t.m, "")
			}
			// Both files or neither: a machine without its mapper is lost.
			return c.Output(c.arg(1), func(w io.Writer) error {
				if err := table.Write(w); err != nil {
					return err
				}
				return c.writeMachine(2, t, t.m, "")
			})
		}
	}})

// encodeTable reads the table that argument i names, for machines over t, or makes a new one.
func (c *call) encodeTable(t *typed, i int, read, labels, weights bool) (suite.EncodeTable, error) {
	if read {
		f, shown, err := c.Open(c.arg(i))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return t.EncodeTable(f, shown, 0)
	}
	var kind ops.EncodeKind
	if labels {
		kind |= ops.EncodeLabels
	}
	if weights {
		kind |= ops.EncodeWeights
	}
	return t.EncodeTable(nil, "", kind)
}

var labelings = map[string]ops.Labeling{"neither": ops.LabelNeither, "input": ops.LabelInput,
	"output": ops.LabelOutput, "both": ops.LabelBoth}

var _ = offer(&tool{name: "replace", args: "root.fst rootlabel [rule1.fst label1 ...] [out.fst]",
	min: 3, max: -1, summary: "Replaces arcs by the machines that their output labels stand for.", about: `
Each rule is a machine and its label. Rules may call others, but not recursively.

  fst replace root.fst 100 name.fst 101 number.fst 102 out.fst

Time linear in the result, which may be exponential in the depth of calls.`,
	setup: func(fs *flags.Set) func(*call) error {
		called := fs.String("call_arc_labeling", "input", "Labels that stay on the arc that calls: input, "+
			"output, both, neither")
		fs.Choose("call_arc_labeling", "input", "output", "both", "neither")
		eps := fs.Bool("epsilon_on_replace", false, "ε on both arcs, whatever the other flags say")
		back := fs.String("return_arc_labeling", "neither", "Sides of the arc back that carry --return_label: "+
			"input, output, both, neither")
		fs.Choose("return_arc_labeling", "input", "output", "both", "neither")
		label := fs.Int("return_label", 64, 0, "Label of the arc back")
		return func(c *call) error {
			if *label != int64(fst.Label(*label)) {
				return fmt.Errorf("flag --return_label: %d is not a label", *label)
			}
			o := &ops.ReplaceOptions{Call: ops.LabelNeither, Return: ops.LabelNeither, ReturnLabel: fst.Label(*label)}
			if !*eps { // else what they say does not matter
				for _, l := range []struct {
					flag, name string
					to         *ops.Labeling
				}{{"call", *called, &o.Call}, {"return", *back, &o.Return}} {
					var ok bool
					if *l.to, ok = labelings[l.name]; !ok {
						return fmt.Errorf("flag --%s_arc_labeling: %q is none of input, output, both, neither", l.flag, l.name)
					}
				}
			}
			first, labels, rules, out, err := c.rules()
			if err != nil {
				return err
			}
			lim, cancel := c.lib.limits()
			defer cancel()
			o.Limits = lim
			m, err := first.Replace(labels, rules, labels[0], o)
			if err != nil {
				return err
			}
			return c.Output(out, func(w io.Writer) error { return first.Write(w, m, &fst.WriteOptions{Type: "vector"}) })
		}
	}})

// rules reads the arguments of the tools that replace: machines, each with its label,
// and the output.
func (c *call) rules() (first *typed, labels []fst.Label, rules []machine, out string, err error) {
	fail := func(err error) (*typed, []fst.Label, []machine, string, error) { return nil, nil, nil, "", err }
	for i := 0; i+1 < len(c.args); i += 2 {
		if i > 0 && cli.IsStandard(c.args[i]) && cli.IsStandard(c.args[0]) {
			return fail(errors.New("can't take two inputs from standard input"))
		}
		t, err := c.machine(i)
		if err != nil {
			return fail(err)
		}
		if first == nil {
			first = t
		} else if x, y := first.ArcType(), t.ArcType(); x != y {
			return fail(fmt.Errorf("input machines must have the same arc type: %s is over %s, %s over %s", c.args[0],
				x, c.args[i], y))
		}
		if i > 0 && !*c.lib.compatSymbols {
			c.forgetSymbols(t)
		}
		l, err := strconv.ParseInt(c.args[i+1], 10, 32)
		if err != nil {
			return fail(fmt.Errorf("argument %d: %q is not a label", i+2, c.args[i+1]))
		}
		labels, rules = append(labels, fst.Label(l)), append(rules, t.m)
	}
	if len(c.args)%2 == 1 {
		out = c.args[len(c.args)-1]
	}
	return first, labels, rules, out, nil
}
