package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/tropica-fst/tropica/cmd/fst/internal/arctypes"
	"github.com/tropica-fst/tropica/cmd/fst/internal/suite"
	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/mapping"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// arg returns argument i, "" where there is none: standard input or output.
func (c *call) arg(i int) string {
	if i < len(c.args) {
		return c.args[i]
	}
	return ""
}

// Open opens a file, or within fst run a value, for reading; "" and "-" are standard input, which
// can be only one input.
func (c *call) Open(name string) (r io.ReadCloser, shown string, err error) {
	if c.pipe != nil {
		return c.pipe.open(name)
	}
	if cli.IsStandard(name) {
		if c.inputTaken {
			return nil, "standard input", errors.New("can't take two inputs from standard input")
		}
		c.inputTaken = true
	}
	return c.Streams.Open(name)
}

// machine is an fst.Expanded over some weight type.
type machine = suite.Machine

// typed is a machine with the suite of its weights.
type typed struct {
	suite.Suite
	m       machine
	fstType string
	header  *fst.Header       // of the file, where it came from one
	model   suite.LinearModel // that m is, or is to be made of
}

// machine reads the machine that argument i names.
func (c *call) machine(i int) (*typed, error) { return c.readMachine(c.arg(i)) }

func (c *call) readMachine(name string) (*typed, error) {
	if t, err := c.pipe.machine(name); t != nil || err != nil {
		// What another stage made has kept to the limits of that: only the stage's own bound it here.
		if err == nil && slices.ContainsFunc([]string{"limit_states", "limit_arcs", "limit_bytes"}, c.flags.Given) {
			shown := shownWords(name)
			if cli.IsStandard(name) {
				shown = "what " + c.pipe.source + " put out"
			}
			err = c.examine(t, shown)
		}
		return t, err
	}
	r, shown, err := c.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	s := c.stream(name, r, &fst.ReadOptions{Name: shown, Trust: c.plain})
	h, err := s.ReadHeader()
	if err != nil {
		return nil, err
	}
	su, err := arctypes.Of(h.ArcType)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	if slices.Contains(fst.LinearTypes(), h.FstType) {
		t := &typed{Suite: su, fstType: h.FstType, header: h}
		if t.model, err = su.ReadLinear(s, h); err != nil || c.models {
			return t, err
		}
		lim, cancel := c.lib.limits()
		defer cancel()
		if err := c.expandModel(t, lim); err != nil {
			return nil, err
		}
		return t, c.examine(t, shown)
	}
	if err := c.examineHeader(h, shown); err != nil {
		return nil, err
	}
	m, err := su.Read(s, h)
	if err != nil {
		return nil, err
	}
	t := &typed{Suite: su, m: m, fstType: h.FstType, header: h}
	if !c.plain {
		if outside := su.NonMember(m); outside != "" {
			c.Warn(c.prog, "%s: %s: what sums or compares weights will refuse it (no path is Infinity)",
				shown, outside)
		}
	}
	return t, c.examine(t, shown)
}

// stream reads r, or maps it where the flags say so and it is a file; a mapping lasts as
// long as the process.
func (c *call) stream(name string, r io.Reader, o *fst.ReadOptions) *fst.Stream {
	if f, isFile := r.(*os.File); isFile && *c.lib.readMode == "map" && !cli.IsStandard(name) {
		if m, err := mapping.Map(f); err == nil {
			mapped := *o
			mapped.Checked = m.Release
			return fst.NewMemoryStream(m.Bytes(), &mapped)
		}
	}
	return fst.NewStream(r, o)
}

// mutableMachine reads the machine that argument i names, for changing.
func (c *call) mutableMachine(i int) (*typed, error) {
	t, err := c.machine(i)
	if err != nil {
		return nil, err
	}
	t.m = t.Mutable(t.m)
	return t, nil
}

// twoMachines reads arguments 0 and 1, which must have one arc type.
func (c *call) twoMachines() (a, b *typed, err error) {
	if cli.IsStandard(c.arg(0)) && cli.IsStandard(c.arg(1)) {
		return nil, nil, errors.New("can't take both inputs from standard input")
	}
	if a, err = c.machine(0); err != nil {
		return nil, nil, err
	}
	if b, err = c.machine(1); err != nil {
		return nil, nil, err
	}
	if x, y := a.ArcType(), b.ArcType(); x != y {
		return nil, nil, fmt.Errorf("input machines must have the same arc type: %s is over %s, %s over %s (fst "+
			"map --map_type=to_... converts)",
			c.arg(0), x, c.arg(1), y)
	}
	return a, b, nil
}

// writeMachine writes m to argument i, as fstType ("" is vector), unless it exceeds the limits.
// They thus apply to the tools that change a machine in place, too.
func (c *call) writeMachine(i int, t *typed, m machine, fstType string) error {
	if err := c.withinLimits(t, m); err != nil {
		return err
	}
	if fstType == "" {
		fstType = "vector"
	}
	m, err := c.lookAhead(t, m, fstType, c.arg(i))
	if err != nil {
		return err
	}
	if c.pipe != nil && fstType == "vector" {
		return c.pipe.putMachine(c.arg(i), &typed{Suite: t.Suite, m: m, fstType: fstType}, *c.lib.align)
	}
	return c.Output(c.arg(i), func(w io.Writer) error {
		return t.Write(w, m, &fst.WriteOptions{Type: fstType, Align: *c.lib.align, Special: c.special})
	})
}

// result is what distinct wants to know of a name that is standard output where it is empty.
func result(name string) string {
	if name == "" {
		return "-"
	}
	return name
}

// distinct returns an error where two results of one call would go to one file, to one value of fst
// run, or to standard output, where they could not be told apart. Call it before anything is
// written; "" is a result that is not requested.
func (c *call) distinct(names ...string) error {
	for i, name := range names {
		for _, other := range names[:i] {
			if name == "-" && other == "-" {
				return errors.New("can't write both results to standard output")
			}
			same := c.pipe != nil && name == other && !cli.IsStandard(name)
			if same || c.pipe == nil && cli.SameFile(name, other) {
				return fmt.Errorf("%s is named for two results, and can hold one of them", name)
			}
		}
	}
	return nil
}

// distinctTables is distinct where two of the results are tables of symbols, which may go to one
// file if they agree.
func (c *call) distinctTables(saves [2]string, tables [2]*fst.SymbolTable, others ...string) error {
	for i, t := range tables {
		if t == nil {
			saves[i] = ""
		}
	}
	if !cli.IsStandard(saves[0]) && !cli.IsStandard(saves[1]) && fst.Compatible(tables[0], tables[1]) {
		others = append(others, saves[0])
		return errors.Join(c.distinct(others...), c.distinct(
			append(others[:len(others)-1:len(others)-1], saves[1])...))
	}
	return c.distinct(append(others, saves[:]...)...)
}

// withinLimits is an error where m, which a tool made, is beyond the limits.
func (c *call) withinLimits(t *typed, m machine) error {
	lim, cancel := c.lib.limits()
	defer cancel()
	err := t.Within(m, lim)
	var l *ops.LimitError
	if !errors.As(err, &l) {
		return err
	}
	if l.Limit == "context" {
		return fmt.Errorf("stopped: %w", l.Cause)
	}
	return fmt.Errorf("the result has more than %d %s, which --limit_%s allows: %d states, %d arcs, %d bytes",
		l.Bound, l.Limit, l.Limit, l.Built.States, l.Built.Arcs, l.Built.Bytes)
}

// format is how composite weights are written and read.
func (c *call) format() semiring.TextFormat {
	f := semiring.TextFormat{Separator: (*c.lib.weightSeparator)[0]}
	if p := *c.lib.weightParentheses; p != "" {
		f.Open, f.Close = p[0], p[1]
	}
	return f
}

// symbols reads a text symbol table; "" is none. What comes twice in it is worth a warning: the
// first of each kind, all of them with --v=1.
func (c *call) symbols(name string, negative bool) (*fst.SymbolTable, error) {
	if name == "" {
		return nil, nil
	}
	f, shown, err := c.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	again := warnings{c: c, what: "symbols that come again"}
	shared := warnings{c: c, what: "symbols for a label that has one"}
	t, err := fst.ReadSymbols(f, &fst.SymbolTextOptions{Name: shown, Separators: *c.lib.fieldSeparator,
		Negative: negative, Duplicate: func(line int, symbol string, kept, ignored int64) {
			again.add("%s, line %d: symbol %q has label %d already; %d is ignored", shown, line, symbol, kept, ignored)
		},
		Shared: func(line int, symbol string, key int64, other string) {
			shared.add("%s, line %d: label %d stands for %q already; now %q has it, too", shown, line,
				key, other, symbol)
		}})
	again.end()
	shared.end()
	return t, err
}

// warnings report what may occur many times: the first one and their number, or all of them where
// --v is above 0.
type warnings struct {
	c     *call
	what  string
	n     int
	first string
}

func (w *warnings) add(format string, args ...any) {
	if w.n++; *w.c.lib.verbosity > 0 {
		w.c.Warn(w.c.prog, format, args...)
	} else if w.n == 1 {
		w.first = fmt.Sprintf(format, args...)
	}
}

func (w *warnings) end() {
	switch {
	case w.first == "":
	case w.n == 1:
		w.c.Warn(w.c.prog, "%s", w.first)
	default:
		w.c.Warn(w.c.prog, "%s (%d %s; --v=1 lists them)", w.first, w.n, w.what)
	}
}
