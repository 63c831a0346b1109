package main

import (
	"context"
	"fmt"
	"time"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/ops"
)

// library holds the flags that every tool takes. Those that say how OpenFst
// manages its memory and files are accepted, and their help says why they have no effect.
type library struct {
	fieldSeparator, weightSeparator, weightParentheses, readMode *string
	compatSymbols, verifyProperties, align                       *bool
	saveIPairs, saveOPairs                                       *string
	verbosity                                                    *int64
	limitStates, limitArcs, limitBytes, workers                  *int64
	timeout                                                      *time.Duration
	started                                                      time.Time
	// of the fst run that the tool is a stage of; zero is none
	latest time.Time
}

// inherit applies the flags on the command line of fst run that a stage does not set. The time
// counts from the beginning of the run, and its end applies whatever the stage says.
func (l *library) inherit(from *library, fs *flags.Set) {
	inherits := func(name string) bool { return !fs.Given(name) }
	for name, p := range map[string][2]**string{
		"fst_field_separator":    {&l.fieldSeparator, &from.fieldSeparator},
		"fst_weight_separator":   {&l.weightSeparator, &from.weightSeparator},
		"fst_weight_parentheses": {&l.weightParentheses, &from.weightParentheses},
		"fst_read_mode":          {&l.readMode, &from.readMode},
		"save_relabel_ipairs":    {&l.saveIPairs, &from.saveIPairs},
		"save_relabel_opairs":    {&l.saveOPairs, &from.saveOPairs},
	} {
		if inherits(name) {
			*p[0] = *p[1]
		}
	}
	for name, p := range map[string][2]**bool{"fst_compat_symbols": {&l.compatSymbols, &from.compatSymbols},
		"fst_verify_properties": {&l.verifyProperties, &from.verifyProperties},
		"fst_align":             {&l.align, &from.align}} {
		if inherits(name) {
			*p[0] = *p[1]
		}
	}
	for name, p := range map[string][2]**int64{"v": {&l.verbosity, &from.verbosity},
		"limit_states": {&l.limitStates, &from.limitStates}, "limit_arcs": {&l.limitArcs, &from.limitArcs},
		"limit_bytes": {&l.limitBytes, &from.limitBytes}, "workers": {&l.workers, &from.workers}} {
		if inherits(name) {
			*p[0] = *p[1]
		}
	}
	if *from.timeout > 0 {
		l.latest = from.started.Add(*from.timeout)
	}
}

func (l *library) define(fs *flags.Set, t *tool) {
	l.started = time.Now()
	l.fieldSeparator = fs.String("fst_field_separator", "\t ",
		"Characters that split fields; the first is printed")
	l.weightSeparator = fs.String("fst_weight_separator", ",",
		"Character between the parts of a composite weight")
	l.weightParentheses = fs.String("fst_weight_parentheses", "",
		"Characters around composite weights, such as ()")
	l.compatSymbols = fs.Bool("fst_compat_symbols", true, "Require symbol tables that are to agree to agree")
	l.verifyProperties = fs.Bool("fst_verify_properties", false, "Check the properties that a file claims")
	l.align = fs.Bool("fst_align", false, "Write const machines aligned to 16 bytes")
	l.saveIPairs = fs.String("save_relabel_ipairs", "", "File for input label pairs when relabeling")
	l.saveOPairs = fs.String("save_relabel_opairs", "", "File for output label pairs when relabeling")
	l.verbosity = fs.Int("v", 32, 0, "Verbosity")
	of, bytes := "of the result", "of memory for the operation"
	if t.looks {
		of, bytes = "of a machine that is read", "of what is read, all together"
	}
	l.limitStates = fs.Int("limit_states", 64, 0,
		"Stop with an error beyond this many states "+of+"; 0 is no limit")
	l.limitArcs = fs.Int("limit_arcs", 64, 0, "Stop with an error beyond this many arcs "+of+"; 0 is no limit")
	l.limitBytes = fs.Bytes("limit_bytes", 0,
		"Stop with an error beyond this many bytes "+bytes+" (500M, 2G: of 1024); 0 is no limit")
	l.workers = fs.Int("workers", 32, 1, "Threads that an operation may use, where it can use more than one; "+
		"results do not depend on it")
	l.timeout = fs.Duration("timeout", 0, "Stop with an error after this time, as in 90s; 0 is no limit. "+
		"Standard output is written when it is complete")
	fs.Bool("fst_default_cache_gc", true, "No effect here: results are computed whole, without a cache; "+
		"--limit_bytes bounds the memory")
	fs.Int("fst_default_cache_gc_limit", 64, 1<<20, "No effect here: there is no cache; --limit_bytes bounds "+
		"the memory")
	l.readMode = fs.String("fst_read_mode", "read", "How machines are read: read; map uses const machines "+
		"where they are in the file, which must not be cut off meanwhile")
	fs.Choose("fst_read_mode", "read", "map")
	fs.Bool("fst_error_fatal", true, "No effect here: an error always ends the tool, with status 1")
	fs.String("tmpdir", "/tmp", "No effect here: a result that is not complete yet is beside where it will "+
		"be, so that its place is taken at once")
	fs.Library("fst_field_separator", "fst_weight_separator", "fst_weight_parentheses", "fst_compat_symbols",
		"fst_verify_properties", "fst_align", "save_relabel_ipairs", "save_relabel_opairs", "v",
		"limit_states", "limit_arcs", "limit_bytes", "workers", "timeout",
		"fst_default_cache_gc", "fst_default_cache_gc_limit", "fst_read_mode", "fst_error_fatal", "tmpdir")
	fs.Without(t.without...)
}

func (l *library) check() error {
	if *l.fieldSeparator == "" {
		return fmt.Errorf("flag --fst_field_separator: at least one character is needed")
	}
	if len(*l.weightSeparator) != 1 {
		return fmt.Errorf("flag --fst_weight_separator: %q is not one character", *l.weightSeparator)
	}
	if n := len(*l.weightParentheses); n != 0 && n != 2 {
		return fmt.Errorf("flag --fst_weight_parentheses: %q is not two characters", *l.weightParentheses)
	}
	for name, v := range map[string]*int64{"limit_states": l.limitStates, "limit_arcs": l.limitArcs,
		"limit_bytes": l.limitBytes} {
		if *v < 0 {
			return fmt.Errorf("flag --%s: %d is negative", name, *v)
		}
	}
	if *l.workers < 1 || *l.workers > 1024 {
		return fmt.Errorf("flag --workers: %d is not within 1 and 1024", *l.workers)
	}
	return nil
}

// checkLibrary is check, with what OpenFst says and goes on.
func (c *call) checkLibrary() error {
	if mode := *c.lib.readMode; c.flags.Given("fst_read_mode") && mode != "read" && mode != "map" {
		c.Warn(c.prog, "flag --fst_read_mode: %q is none of read, map; machines are read", mode)
	}
	return c.lib.check()
}

// limits returns the bounds for operations, the time counted from the tool's start,
// and what releases their timer.
func (l *library) limits() (ops.Limits, context.CancelFunc) {
	lim := ops.Limits{States: int(*l.limitStates), Arcs: *l.limitArcs, Bytes: *l.limitBytes,
		Workers: int(*l.workers)}
	end := l.deadline()
	if end.IsZero() {
		return lim, func() {}
	}
	var cancel context.CancelFunc
	lim.Ctx, cancel = context.WithDeadline(context.Background(), end)
	return lim, cancel
}
