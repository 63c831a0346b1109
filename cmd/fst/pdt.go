package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/tropica-fst/tropica/cmd/fst/internal/suite"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/ops/pdt"
)

// parenFile is the flag that names the file of parentheses, of a PDT or an MPDT.
type parenFile struct {
	name  *string
	multi bool
}

// kind is "pdt" or "mpdt", as in the names of tools and flags.
func (p *parenFile) kind() string {
	if p.multi {
		return "mpdt"
	}
	return "pdt"
}

func defineParens(fs *flags.Set, multi bool) *parenFile {
	p := &parenFile{multi: multi}
	what := "File with a line for each pair of parentheses: the label that opens, and the one that closes"
	if multi {
		what = "File with a line for each pair of parentheses: the label that opens, the one that closes, and " +
			"their stack, 1 or 2"
	}
	p.name = fs.String(p.kind()+"_parentheses", "", what)
	return p
}

// read reads the parentheses.
func (p *parenFile) read(c *call) (suite.Parens, error) {
	var parens suite.Parens
	if *p.name == "" {
		return parens, fmt.Errorf("no parentheses are given: --%s_parentheses=FILE", p.kind())
	}
	if !p.multi {
		var err error
		parens.Pairs, err = c.labelPairs(*p.name, false)
		return parens, err
	}
	f, shown, err := c.Open(*p.name)
	if err != nil {
		return parens, err
	}
	defer f.Close()
	parens.Pairs, parens.Stacks, err = fst.ReadLabelStacks(f, &fst.LabelPairOptions{Name: shown})
	if parens.Stacks == nil {
		parens.Stacks = []int32{} // an MPDT without parentheses
	}
	return parens, err
}

// pushdown makes a tool that exists for PDTs and for MPDTs.
func pushdown(multi bool, t tool, setup func(fs *flags.Set, p *parenFile) func(*call) error) *tool {
	if multi {
		t.name = "m" + t.name
	}
	t.setup = func(fs *flags.Set) func(*call) error { return setup(fs, defineParens(fs, multi)) }
	return &t
}

const aboutMPDT = `
An MPDT has two stacks. --mpdt_parentheses lists the labels that open and close parentheses of the
first or the second. A path counts if the parentheses of each stack balance, and the second is
read only while the first is empty.
`

const aboutPDT = `
--pdt_parentheses lists the labels of a PDT that open and close parentheses. A path counts if its
parentheses balance.
`

var (
	_ = offer(composePDT(false, "Composes a pushdown transducer and a finite one.", aboutPDT+`
The finite machine lets parentheses pass. The result is a PDT with the same pairs, or, with
--compose_filter=expand, a finite machine. The first must be sorted by output label or the
second by input label (fst arcsort).

  pdtcompose --pdt_parentheses=pairs.txt grammar.pdt sentence.fst out.pdt

Time O(pairs of states reached · arcs), times the stacks with a filter that expands; that
may not end (--limit_states).`))
	_ = offer(composePDT(true, "Composes a multi-pushdown transducer and a finite one.", aboutMPDT+`
The finite machine lets parentheses pass; see pdtcompose.

  mpdtcompose --mpdt_parentheses=triples.txt in.mpdt in.fst out.mpdt

Time O(pairs of states reached · arcs), times the stacks with a filter that expands; that
may not end (--limit_states).`))
	_ = offer(expandPDT(false, "Expands a pushdown transducer to a finite one.", aboutPDT+`
The result has a state for each state and stack. The stack must be bounded, else the error says
where it grows. With --weight, paths that are worse than the best one by more are omitted and never
visited. The stack need not be bounded then, as long as each turn of what makes it grow adds to the
weight of a path; else the error says which parenthesis adds nothing. Limits then apply to the
search of pdtshortestpath, too. (Where some weights are better than 1̄ and cancel out only up to
rounding, only the limits end it.)

  pdtexpand --pdt_parentheses=pairs.txt in.pdt out.fst
  pdtexpand --pdt_parentheses=pairs.txt --weight=2.5 grammar.pdt near.fst

Time O(states + arcs) of the result, exponential in the depth of the stack at worst.`))
	_ = offer(expandPDT(true, "Expands a multi-pushdown transducer to a finite one.", aboutMPDT+`
The result has a state for each state and pair of stacks. Where all pairs are of one stack, it must
be bounded, else the error says where it grows. Where two are not bounded the result may be
infinite, which cannot be decided beforehand: see --limit_states.

  mpdtexpand --mpdt_parentheses=triples.txt in.mpdt out.fst

Time O(states + arcs) of the result.`))
	_ = offer(infoPDT(false, "Counts the parentheses of a pushdown transducer.", aboutPDT+`
  pdtinfo --pdt_parentheses=pairs.txt in.pdt

Time O(states + arcs).`))
	_ = offer(infoPDT(true, "Counts the parentheses of a multi-pushdown transducer.", aboutMPDT+`
  mpdtinfo --mpdt_parentheses=triples.txt in.mpdt

Time O(states + arcs).`))
	_ = offer(reversePDT(false, "Reverses the strings of a pushdown transducer.", aboutPDT+`
Opening and closing parentheses are exchanged; the pairs stay.

  pdtreverse --pdt_parentheses=pairs.txt in.pdt out.pdt

Time O(states + arcs).`))
	_ = offer(reversePDT(true, "Reverses the strings of a multi-pushdown transducer.", aboutMPDT+`
Opening and closing parentheses are exchanged, and so are the stacks. The pairs with their new
stacks go to --mpdt_new_parentheses.

  mpdtreverse --mpdt_parentheses=triples.txt --mpdt_new_parentheses=new.txt in.mpdt out.mpdt

Time O(states + arcs).`))
)

func composePDT(multi bool, summary, about string) *tool {
	return pushdown(multi, tool{name: "pdtcompose", args: "in1.fst in2.fst [out.fst]", min: 2, max: 3,
		summary: summary, about: about}, func(fs *flags.Set, p *parenFile) func(*call) error {
		filter := fs.String("compose_filter", "paren", "What becomes of parentheses: paren keeps them, expand "+
			"expands, expand_paren expands and keeps them")
		fs.Choose("compose_filter", "paren", "expand", "expand_paren")
		connect := fs.Bool("connect", true, "Trim the result")
		left := fs.Bool("left_"+p.kind(), true, "The first machine has the parentheses; else the second")
		return func(c *call) error {
			f, err := pdt.ParseFilter(*filter)
			if err != nil {
				return fmt.Errorf("flag --compose_filter: %w", err)
			}
			parens, err := p.read(c)
			if err != nil {
				return err
			}
			a, b, err := c.twoMachines()
			if err != nil {
				return err
			}
			if !*c.lib.compatSymbols {
				c.forgetOutputSymbols(a)
			}
			lim, cancel := c.lib.limits()
			defer cancel()
			m, err := a.ComposePDT(a.m, b.m, parens, &pdt.ComposeOptions{Filter: f, Right: !*left,
				KeepDead: !*connect, Limits: lim})
			if err != nil {
				return err
			}
			return c.writeMachine(2, a, m, "")
		}
	})
}

func expandPDT(multi bool, summary, about string) *tool {
	return pushdown(multi, tool{name: "pdtexpand", args: "in.pdt [out.fst]", max: 2,
		summary: summary, about: about}, func(fs *flags.Set, p *parenFile) func(*call) error {
		connect := fs.Bool("connect", true, "Trim the result")
		keep := fs.Bool("keep_parentheses", false, "Leave parentheses on the arcs")
		weight := new(string)
		if !multi {
			weight = fs.String("weight", "", "Leave out what is worse than the best path by more than this; the "+
				"weights need the path property")
		}
		return func(c *call) error {
			parens, err := p.read(c)
			if err != nil {
				return err
			}
			t, err := c.machine(0)
			if err != nil {
				return err
			}
			lim, cancel := c.lib.limits()
			defer cancel()
			m, err := t.ExpandPDT(t.m, parens, *weight, c.format(),
				&pdt.ExpandOptions{KeepParens: *keep, KeepDead: !*connect, Limits: lim})
			if err != nil {
				return err
			}
			return c.writeMachine(1, t, m, "")
		}
	})
}

func reversePDT(multi bool, summary, about string) *tool {
	return pushdown(multi, tool{name: "pdtreverse", args: "in.pdt [out.pdt]", max: 2,
		summary: summary, about: about}, func(fs *flags.Set, p *parenFile) func(*call) error {
		turned := new(string)
		if multi {
			turned = fs.String("mpdt_new_parentheses", "", "File for the pairs with their new stacks")
		}
		return func(c *call) error {
			parens, err := p.read(c)
			if err != nil {
				return err
			}
			if multi && *turned == "" {
				return errors.New("no file for the new stacks is given: --mpdt_new_parentheses=FILE")
			}
			if err := c.distinct(*turned, result(c.arg(1))); err != nil {
				return err
			}
			t, err := c.machine(0)
			if err != nil {
				return err
			}
			lim, cancel := c.lib.limits()
			defer cancel()
			m, stacks, err := t.ReversePDT(t.m, parens, lim)
			if err != nil {
				return err
			}
			if multi {
				err := c.Output(*turned, func(w io.Writer) error { return fst.WriteLabelStacks(w, parens.Pairs, stacks) })
				if err != nil {
					return err
				}
			}
			return c.writeMachine(1, t, m, "")
		}
	})
}

func infoPDT(multi bool, summary, about string) *tool {
	return pushdown(multi, tool{name: "pdtinfo", args: "[in.pdt]", max: 1,
		looks:   true,
		summary: summary, about: about},
		func(_ *flags.Set, p *parenFile) func(*call) error {
			return func(c *call) error {
				parens, err := p.read(c)
				if err != nil {
					return err
				}
				t, err := c.machine(0)
				if err != nil {
					return err
				}
				counts, err := t.CountPDT(t.m, parens)
				if err != nil {
					return err
				}
				d := t.Describe(t.m, &ops.DescribeOptions{SizeOnly: true})
				return c.Output("", func(w io.Writer) error {
					infoLine(w, "fst type", t.fstType)
					infoLine(w, "arc type", t.ArcType())
					infoLine(w, "# of states", d.States)
					infoLine(w, "# of arcs", d.Arcs)
					if multi {
						infoLine(w, "# of levels", len(counts))
					}
					for i, x := range counts {
						// The spelling is OpenFst's: scripts look for it.
						at, level := "", ""
						if multi {
							at, level = " at levelel ", fmt.Sprintf("%d\t", i+1)
						}
						for _, l := range []struct {
							what string
							n    int
						}{
							{"# of open parentheses", x.Open}, {"# of close parentheses", x.Close},
							{"# of unique open parentheses", x.UniqueOpen}, {"# of unique close parentheses", x.UniqueClose},
							{"# of open parenthesis dest. states", x.OpenStates},
							{"# of close parenthesis source states", x.CloseStates},
						} {
							infoLine(w, l.what+at, fmt.Sprint(level, l.n))
						}
					}
					return nil
				})
			}
		})
}

var _ = offer(pushdown(false, tool{name: "pdtshortestpath", args: "in.pdt [out.fst]", max: 2,
	summary: "Finds the best path of a pushdown transducer.", about: aboutPDT + `
The result is the best of these paths, found without expanding the machine. The weights need
the path property. The stack need not be bounded (rules may be recursive), but no cycle may
improve a path.

  pdtshortestpath --pdt_parentheses=pairs.txt in.pdt out.fst

Time: a shortest distance for each state that an opening parenthesis leads to. Where the stack is
not bounded these are computed together, only as far as they may be part of a best path. If some
arc is better than 1̄ they are computed completely, in rounds, which takes the cube of the states.
--limit_states and --limit_arcs bound the pairs of such a state and another that are searched, and
their arcs.`},
	func(fs *flags.Set, p *parenFile) func(*call) error {
		keep := fs.Bool("keep_parentheses", false, "Leave parentheses on the arcs")
		queue := fs.String("queue_type", "fifo", "Queue: fifo, lifo or state")
		fs.Choose("queue_type", "fifo", "lifo", "state")
		fs.Bool("path_gc", true, "No effect here: the search keeps the distances alone, and the path is found "+
			"from them")
		return func(c *call) error {
			q, ok := map[string]ops.Queue{"fifo": ops.QueueFIFO, "lifo": ops.QueueLIFO,
				"state": ops.QueueStateOrder}[*queue]
			if !ok {
				return fmt.Errorf("flag --queue_type: %q is none of fifo, lifo, state", *queue)
			}
			parens, err := p.read(c)
			if err != nil {
				return err
			}
			t, err := c.machine(0)
			if err != nil {
				return err
			}
			lim, cancel := c.lib.limits()
			defer cancel()
			m, err := t.ShortestPathPDT(t.m, parens, &pdt.ShortestPathOptions{
				Queue: q, KeepParens: *keep, Limits: lim})
			if err != nil {
				return err
			}
			return c.writeMachine(1, t, m, "")
		}
	}))

var _ = offer(&tool{name: "pdtreplace",
	args: "root.fst rootlabel [rule1.fst label1 ...] [out.pdt]", min: 3, max: -1,
	summary: "Makes a pushdown transducer of rules that call one another.", about: `
Each rule is a machine and its label. An arc with the output label of a rule calls it. Rules may be
recursive, as those of a context-free grammar are. Calls become parentheses, whose pairs go to
--pdt_parentheses. With --pdt_parser_type=left_sr, rules that call one another only at the
beginning, or only at the end, use no stack, so that the stack of a strongly regular grammar is
bounded.

  pdtreplace --pdt_parentheses=pairs.txt s.fst 1000 np.fst 1001 vp.fst 1002 out.pdt

Time O(states + arcs), and an arc for each final state of each call.`,
	setup: func(fs *flags.Set) func(*call) error {
		open := fs.String("left_paren_prefix", "(_", "What the symbols of opening parentheses begin with")
		closing := fs.String("right_paren_prefix", ")_", "What the symbols of closing parentheses begin with")
		pairsFile := fs.String("pdt_parentheses", "", "File for the pairs of parentheses")
		parser := fs.String("pdt_parser_type", "left", "Construction: left or left_sr")
		fs.Choose("pdt_parser_type", "left", "left_sr")
		first := fs.Int("start_paren_labels", 64, -1, "First label for parentheses; -1 is one more than the "+
			"highest output label")
		return func(c *call) error {
			o := &pdt.ReplaceOptions{Open: *open, Close: *closing}
			var err error
			if o.Parser, err = pdt.ParseParser(*parser); err != nil {
				return fmt.Errorf("flag --pdt_parser_type: %w", err)
			}
			if *first != -1 {
				if o.FirstParen = fst.Label(*first); int64(o.FirstParen) != *first || o.FirstParen <= 0 {
					return fmt.Errorf("flag --start_paren_labels: %d is not a positive label", *first)
				}
			}
			root, labels, rules, out, err := c.rules()
			if err != nil {
				return err
			}
			if err := c.distinct(*pairsFile, result(out)); err != nil {
				return err
			}
			lim, cancel := c.lib.limits()
			defer cancel()
			o.Limits = lim
			m, pairs, err := root.ReplacePDT(labels, rules, labels[0], o)
			if err != nil {
				return err
			}
			if *pairsFile != "" {
				if err := c.Output(*pairsFile,
					func(w io.Writer) error { return fst.WriteLabelPairs(w, pairs) }); err != nil {
					return err
				}
			}
			return c.Output(out, func(w io.Writer) error { return root.Write(w, m, &fst.WriteOptions{Type: "vector"}) })
		}
	}})
