package main

import (
	"fmt"
	"io"

	"github.com/tropica-fst/tropica/cmd/fst/internal/arctypes"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/fst"
)

var _ = offer(&tool{name: "compile", args: "[text.fst [binary.fst]]", max: 2,
	summary: "Makes a binary machine from text.", about: `
Each line is an arc, "source destination input output [weight]" (one label with
--acceptor), or a final state, "state [weight]". The first line's source is the start.

  fst compile --isymbols=in.txt --osymbols=out.txt text.fst binary.fst

Time O(bytes of the text).`,
	setup: func(fs *flags.Set) func(*call) error {
		acceptor := fs.Bool("acceptor", false, "Lines have one label")
		negative := fs.Bool("allow_negative_labels", false, "Allow negative labels")
		arcType := fs.String("arc_type", "standard", "Type of weights: standard, log, log64, tropical64, "+
			"real64, ...")
		fs.Choose("arc_type", arctypes.Names()...)
		fstType := fs.Enum("fst_type", "vector", fst.FileTypes(), "Type to write")
		isyms := fs.String("isymbols", "", "File with the input symbols")
		osyms := fs.String("osymbols", "", "File with the output symbols")
		ssyms := fs.String("ssymbols", "", "File with the symbols of states")
		keepI := fs.Bool("keep_isymbols", false, "Store the input symbols in the machine")
		keepO := fs.Bool("keep_osymbols", false, "Store the output symbols in the machine")
		keepN := fs.Bool("keep_state_numbering", false, "Keep the numbers of states")
		return func(c *call) error {
			s, err := arctypes.Of(*arcType)
			if err != nil {
				return err
			}
			o := &fst.ReadTextOptions{Acceptor: *acceptor, KeepStateNumbering: *keepN, NegativeLabels: *negative,
				MaxStates: *c.lib.limitStates, MaxBytes: *c.lib.limitBytes,
				Separators: *c.lib.fieldSeparator, Format: c.format()}
			if o.InputSymbols, err = c.symbols(*isyms, *negative); err != nil {
				return err
			}
			if o.OutputSymbols, err = c.symbols(*osyms, *negative); err != nil {
				return err
			}
			if o.StateSymbols, err = c.symbols(*ssyms, false); err != nil { // states are no labels
				return err
			}
			r, shown, err := c.Open(c.arg(0))
			if err != nil {
				return err
			}
			defer r.Close()
			o.Name = shown
			outside := warnings{c: c, what: "weights of that kind"}
			o.NonMember = func(line int, weight string) {
				outside.add("%s, line %d: the weight %s is none of arc type %s: what sums or compares weights will "+
					"refuse it (no path is Infinity)", shown, line, weight, s.ArcType())
			}
			m, err := s.ReadText(r, o)
			outside.end()
			if err != nil {
				return err
			}
			if n := m.(interface{ NumStates() int }).NumStates(); n == 0 {
				c.Warn(c.prog, "%s holds no lines: the machine has no states", shown)
			}
			var in, out *fst.SymbolTable
			if *keepI {
				in = o.InputSymbols
			}
			if *keepO {
				out = o.OutputSymbols
			}
			s.SetSymbols(m, in, out)
			return c.writeMachine(1, &typed{Suite: s, m: m}, m, *fstType)
		}
	}})

// naming defines the flags that say how labels are shown.
func naming(fs *flags.Set) func(c *call, t *typed) (*fst.WriteTextOptions, error) {
	acceptor := fs.Bool("acceptor", false, "Show one label an arc, if the machine is an acceptor")
	negative := fs.Bool("allow_negative_labels", false, "Allow negative labels")
	numeric := fs.Bool("numeric", false, "Show numbers, even if the machine has symbols")
	showOne := fs.Bool("show_weight_one", false, "Show weights that are one too")
	isyms := fs.String("isymbols", "", "File with the input symbols")
	osyms := fs.String("osymbols", "", "File with the output symbols")
	ssyms := fs.String("ssymbols", "", "File with the symbols of states")
	digits := fs.Int("digits", 32, 9, "Significant digits of 64-bit weights; 17 read back to the same number")
	return func(c *call, t *typed) (*fst.WriteTextOptions, error) {
		if *digits < 1 || *digits > 17 {
			return nil, fmt.Errorf("flag --digits: %d is not within 1 and 17", *digits)
		}
		o := &fst.WriteTextOptions{Acceptor: *acceptor, ShowWeightOne: *showOne, Separators: *c.lib.fieldSeparator,
			Format: c.format()}
		o.Format.Digits = int(*digits)
		if *numeric {
			return o, nil
		}
		var err error
		if o.InputSymbols, err = c.symbols(*isyms, *negative); err != nil {
			return nil, err
		}
		if o.OutputSymbols, err = c.symbols(*osyms, *negative); err != nil {
			return nil, err
		}
		if o.StateSymbols, err = c.symbols(*ssyms, *negative); err != nil {
			return nil, err
		}
		if o.InputSymbols == nil {
			o.InputSymbols = fst.InputSymbols(t.m)
		}
		if o.OutputSymbols == nil {
			o.OutputSymbols = fst.OutputSymbols(t.m)
		}
		return o, nil
	}
}

var _ = offer(&tool{name: "print", args: "[binary.fst [text.fst]]", max: 2,
	looks:   true,
	summary: "Prints a binary machine as text.", about: `
The start state comes first, then the others by number; see fst compile for the lines.

  fst print --acceptor binary.fst

Time O(states + arcs).`,
	setup: func(fs *flags.Set) func(*call) error {
		named := naming(fs)
		missing := fs.String("missing_symbol", "", "Text for labels without a symbol (default: they are an error)")
		saveI := fs.String("save_isymbols", "", "File to save the input symbols to")
		saveO := fs.String("save_osymbols", "", "File to save the output symbols to")
		return func(c *call) error {
			t, err := c.machine(0)
			if err != nil {
				return err
			}
			o, err := named(c, t)
			if err != nil {
				return err
			}
			o.MissingSymbol = *missing
			if err := c.distinctTables([2]string{*saveI, *saveO}, [2]*fst.SymbolTable{o.InputSymbols, o.OutputSymbols},
				result(c.arg(1))); err != nil {
				return err
			}
			if err := c.Output(c.arg(1), func(w io.Writer) error { return t.WriteText(w, t.m, o) }); err != nil {
				return err
			}
			if err := c.saveSymbols(*saveI, o.InputSymbols); err != nil {
				return err
			}
			return c.saveSymbols(*saveO, o.OutputSymbols)
		}
	}})

// saveSymbols writes a table as text, where there is a table and a name.
func (c *call) saveSymbols(name string, t *fst.SymbolTable) error {
	if name == "" || t == nil {
		return nil
	}
	return c.Output(name, func(w io.Writer) error {
		return t.WriteText(w, &fst.SymbolTextOptions{Separators: *c.lib.fieldSeparator})
	})
}
