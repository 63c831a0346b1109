package main

import (
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/fst"
)

var _ = offer(inPlace("symbols", "Attaches, removes, renumbers or saves a machine's symbol tables.", `
Labels of arcs are not touched: fst relabel does that.

  fst symbols --isymbols=in.txt --osymbols=out.txt in.fst out.fst
  fst symbols --save_isymbols=in.txt --clear_isymbols in.fst out.fst

Time O(states + arcs + symbols).`,
	func(fs *flags.Set) func(*call, *typed) error {
		negative := fs.Bool("allow_negative_labels", false, "Allow negative labels")
		var side [2]struct {
			clear                *bool
			table, relabel, save *string
		}
		for i, s := range []string{"i", "o"} {
			what := [...]string{"input", "output"}[i]
			side[i].clear = fs.Bool("clear_"+s+"symbols", false, "Remove the "+what+" symbols")
			side[i].table = fs.String(s+"symbols", "", "File with "+what+" symbols to attach")
			side[i].relabel = fs.String("relabel_"+s+"pairs", "",
				"File with pairs of old and new "+what+" labels: the table is renumbered")
			side[i].save = fs.String("save_"+s+"symbols", "", "File to save the machine's "+what+" symbols to")
		}
		verify := fs.Bool("verify", false, "Check the result")
		return func(c *call, t *typed) error {
			if err := c.withinLimits(t, t.m); err != nil { // before tables are saved
				return err
			}
			tables := [2]*fst.SymbolTable{fst.InputSymbols(t.m), fst.OutputSymbols(t.m)}
			if err := c.distinctTables([2]string{*side[0].save, *side[1].save}, tables, result(c.arg(1))); err != nil {
				return err
			}
			for i, s := range side {
				if *s.save != "" && tables[i] == nil {
					c.Warn(c.prog, "--save_%csymbols: the machine has no such symbols; nothing is saved", "io"[i])
				}
				if err := c.saveSymbols(*s.save, tables[i]); err != nil {
					return err
				}
				switch {
				case *s.table != "":
					table, err := c.symbols(*s.table, *negative)
					if err != nil {
						return err
					}
					tables[i] = table
				case *s.clear:
					tables[i] = nil
				}
				if *s.relabel != "" {
					pairs, err := c.labelPairs(*s.relabel, *negative)
					if err != nil {
						return err
					}
					if tables[i] != nil {
						lost := warnings{c: c, what: "such pairs"}
						for _, p := range pairs {
							if !tables[i].Has(p.From) {
								lost.add("flag --relabel_%cpairs: %d has no symbol that %d could get", "io"[i], p.From, p.To)
							}
						}
						lost.end()
						tables[i] = tables[i].Relabel(pairs)
					}
				}
			}
			t.SetSymbols(t.m, tables[0], tables[1])
			if *verify {
				return t.Verify(t.m)
			}
			return nil
		}
	}))

// labelPairs reads a file of label pairs: old and new label on each line, lines
// that start with # skipped.
func (c *call) labelPairs(name string, negative bool) ([]fst.LabelPair, error) {
	f, shown, err := c.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return fst.ReadLabelPairs(f, &fst.LabelPairOptions{Name: shown, Negative: negative})
}
