package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
)

// noLimits are all limits, for tools that work on no machine.
var noLimits = []string{"limit_states", "limit_arcs", "limit_bytes", "timeout"}

// deadline is the end of --timeout, counted from the start of the tool, or of the fst run that it
// is a stage of; zero is none.
func (l *library) deadline() time.Time {
	end := l.latest
	if *l.timeout > 0 {
		if own := l.started.Add(*l.timeout); end.IsZero() || own.Before(end) {
			end = own
		}
	}
	return end
}

// late is an error after the deadline.
func (l *library) late() error {
	if end := l.deadline(); !end.IsZero() && !time.Now().Before(end) {
		return fmt.Errorf("stopped: %w", context.DeadlineExceeded)
	}
	return nil
}

// finish returns the error of a tool that ended with err. Ending after the deadline is an error
// too, unless the tool wrote output that says otherwise.
func (c *call) finish(err error) error {
	if c.delivered == 0 && (err == nil || errors.Is(err, errDifferent)) {
		if late := c.lib.late(); late != nil {
			err = late
		}
	}
	if errors.Is(err, context.DeadlineExceeded) && *c.lib.timeout > 0 {
		return fmt.Errorf("%w (--timeout=%v)", err, *c.lib.timeout)
	}
	if errors.Is(err, ops.ErrSymbols) && c.tool.name != "run" { // whose stages have said it
		return fmt.Errorf("%w (fst relabel --relabel_isymbols=FILE and --relabel_osymbols=FILE renumber a "+
			"machine as another table has it; --fst_compat_symbols=false goes by the numbers alone)", err)
	}
	return err
}

// Output writes a file, a value of fst run, or standard output, through f: whole or not at all, and
// not at all after --timeout. For that, where there is one, what goes to standard output is held
// until it is complete.
func (c *call) Output(name string, f func(io.Writer) error) error {
	if c.lib.deadline().IsZero() {
		return c.deliver(name, f)
	}
	if err := c.lib.late(); err != nil {
		return err
	}
	before := c.delivered
	inTime := func(w io.Writer) error {
		if err := f(&timedWriter{w, &c.lib}); err != nil {
			return err
		}
		if c.delivered > before { // what belongs with it is there already
			return nil
		}
		return c.lib.late()
	}
	if c.pipe != nil || !cli.IsStandard(name) {
		return c.deliver(name, inTime)
	}
	var held bytes.Buffer
	if err := inTime(&held); err != nil {
		return err
	}
	return c.deliver(name, func(w io.Writer) error { _, err := held.WriteTo(w); return err })
}

// deliver is Output without a look at the time.
func (c *call) deliver(name string, f func(io.Writer) error) error {
	var err error
	if c.pipe != nil {
		err = c.pipe.output(name, f)
	} else {
		err = c.Streams.Output(name, f)
	}
	if err == nil {
		c.delivered++
	}
	return err
}

// timedWriter ends the writing of a long text at the deadline.
type timedWriter struct {
	w   io.Writer
	lib *library
}

func (t *timedWriter) Write(p []byte) (int, error) {
	if err := t.lib.late(); err != nil {
		return 0, err
	}
	return t.w.Write(p)
}

// examine returns an error after the deadline, and where the machines shown to t, a tool that looks
// at machines, exceed the limits. Those are on states and arcs of each machine, and on bytes of all
// of them together.
func (c *call) examine(t *typed, shown string) error {
	if err := c.lib.late(); err != nil {
		return err
	}
	if t.m == nil { // a linear model, which has no states yet
		return nil
	}
	if most := *c.lib.limitBytes; most > 0 && c.pipe == nil {
		c.input += t.Size(t.m).Bytes
		holdTo(most, c.input)
	}
	if !c.tool.looks {
		return nil
	}
	states, arcs, most := *c.lib.limitStates, *c.lib.limitArcs, *c.lib.limitBytes
	if c.ownStates {
		states = 0
	}
	if states == 0 && arcs == 0 && most == 0 {
		return nil
	}
	size := t.Size(t.m)
	c.read += size.Bytes
	if err := beyondCounts(shown, int64(size.States), states, size.Arcs, arcs); err != nil {
		return err
	}
	return c.withinBytes(shown)
}

// examineHeader is examine before the machine is read. It rejects a file, or a machine of an
// archive, that exceeds the limits by its header, where that has the counts. Headers count states
// in all types, and arcs in const and compact ones. A count that the writer did not know is 0 or
// below, and is ignored.
func (c *call) examineHeader(h *fst.Header, shown string) error {
	compact := strings.HasPrefix(h.FstType, "compact")
	if !c.tool.looks || !compact && !strings.HasPrefix(h.FstType, "const") &&
		!slices.Contains([]string{"vector", "edit", "ngram"}, h.FstType) {
		return nil
	}
	states, arcs := *c.lib.limitStates, *c.lib.limitArcs
	if c.ownStates {
		states = 0
	}
	known := h.NumArcs
	if !compact && !strings.HasPrefix(h.FstType, "const") {
		known = 0 // means nothing there
	}
	if err := beyondCounts(shown, h.NumStates, states, known, arcs); err != nil {
		return err
	}
	const state, arc = 8, 16 // bytes that each takes at least
	if most := *c.lib.limitBytes; most > 0 && (h.NumStates > (most-c.read)/state || known > (most-c.read)/arc) {
		counts := fmt.Sprintf("%d states", h.NumStates)
		if known > 0 {
			counts += fmt.Sprintf(" and %d arcs", known)
		}
		return fmt.Errorf("what is read, with %s, has more than %d bytes, which --limit_bytes allows: its "+
			"header tells of %s", shown, most, counts)
	}
	return nil
}

// beyondCounts is an error where a machine has more states or arcs than limits, zero for none,
// allow.
func beyondCounts(shown string, states, limitStates, arcs, limitArcs int64) error {
	switch {
	case limitStates > 0 && states > limitStates:
		return fmt.Errorf("%s has more than %d states, which --limit_states allows: %d", shown, limitStates, states)
	case limitArcs > 0 && arcs > limitArcs:
		return fmt.Errorf("%s has more than %d arcs, which --limit_arcs allows: %d", shown, limitArcs, arcs)
	}
	return nil
}

// withinBytes is an error where what a tool has read so far, with shown as the last, is beyond
// --limit_bytes.
func (c *call) withinBytes(shown string) error {
	if most := *c.lib.limitBytes; most > 0 && c.read > most {
		return fmt.Errorf("what is read, with %s, has more than %d bytes, which --limit_bytes allows: %d",
			shown, most, c.read)
	}
	return nil
}

// limitedReader reads a text that a tool holds in memory as a whole, under --limit_bytes and
// --timeout.
type limitedReader struct {
	r     io.Reader
	c     *call
	shown string
}

func (l *limitedReader) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	l.c.read += int64(n)
	for _, limit := range []error{l.c.withinBytes(l.shown), l.c.lib.late()} {
		if limit != nil {
			return 0, limit
		}
	}
	return n, err
}
