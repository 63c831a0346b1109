package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/output"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
)

func main() {
	tuneMemory()
	settle = useProcessors
	holdTo = holdMemory
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-signals
		output.Stop()
		fmt.Fprintf(os.Stderr, "ERROR: %s: %v; no incomplete output file was written\n", progName(os.Args[0]), s)
		os.Exit(1)
	}()
	std := cli.Standard()
	status := guarded(os.Args, std.Err, output.Stop, func() int { return run(os.Args, std) })
	runtime.KeepAlive(ballast)
	std.End(progName(os.Args[0]), status)
}

// guarded returns the status of do, or 1 with a message where it panics. The runtime's own status,
// 2, would mean that a comparison found a difference. The library passes panics of its goroutines
// on to this one.
func guarded(argv []string, errs io.Writer, stop func(), do func() int) (status int) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		stop() // half-written files go
		stack := debug.Stack()
		if err, ok := v.(error); ok {
			var worker *ops.WorkerPanic
			if errors.As(err, &worker) {
				v, stack = worker.Value, worker.Stack
			}
		}
		fmt.Fprintf(errs, "ERROR: %s: panic: %v\nThis is a bug of the program, whatever it was given; no "+
			"incomplete output file was written. "+
			"Please report it with this call, its files if they may be shown, and the lines below:\n%q\nfst %s\n%s",
			progName(argv[0]), v, argv, cli.Version(), stack)
		status = 1
	}()
	return do()
}

// tuneMemory makes the collector run when garbage reaches a quarter of the live heap and the
// ballast together, unless GOGC says otherwise. The usual rule is as much as is live. The arrays of
// machines hold no pointers, so a collection traces little. Peaks are lower, for some processor
// time (most where large symbol tables are traced); compare GOGC=100 and the default with `time
// -v`. Without the ballast, which is never written and so never resident, small machines would be
// collected every megabyte or so.
func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		ballast = make([]byte, 48<<20)
		debug.SetGCPercent(25)
	}
}

// ballast counts as live until a tool that minds its memory more than its time drops it.
var ballast []byte

// holdTo is called with --limit_bytes when a machine has been read, and with the bytes of all that
// were. Only the program itself changes how the runtime collects, as with settle.
var holdTo = func(limit, read int64) {}

// holdMemory makes the collector run as often as it takes to stay near a limit, including the
// input. A quarter of the limit and 12 MB are reserved for what is copied as it grows, and for the
// runtime. Far from the limit it changes nothing. Without it, the n best paths of a machine of
// 200,000 arcs under a limit of 200 MB left the process with 620 MB.
func holdMemory(limit, read int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		most := min(float64(limit)*1.25+float64(read)+float64(len(ballast)+12<<20), 1<<62)
		debug.SetMemoryLimit(int64(most))
	}
}

// settle is called before a tool begins its work, with the number of its workers. Only the program
// itself changes how the runtime schedules, once: not a test of many calls, nor a stage of fst run.
var settle = func(workers int) {}

// useProcessors restricts the runtime to as many processors as there are workers. A collector that
// finds a second one idle marks there, which costs processor time. Worse, it waits busily, sending
// signals, until the working goroutine can be stopped, and clearing or copying a large array, where
// each page faults, takes long. Inverting a lexicon of 24 MB took from 0.08 to 0.20 s of processor
// time on two idle processors, and takes 0.065 on one.
func useProcessors(workers int) {
	if workers < runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(workers)
	}
}

// tool is one operation of the command line.
type tool struct {
	name     string // "compose": called as `fst compose` or `fstcompose`
	args     string // "in1.fst in2.fst [out.fst]"
	min, max int    // number of arguments; max < 0 is any
	summary  string // one line
	about    string // definition, what the input must satisfy, cost, an example
	own      bool   // OpenFst has no such tool: no link is made to it
	// It makes no machine of its own: --limit_states and the other limits bound its input. For
	// other tools they bound the result and the work on it.
	looks   bool
	without []string // the limits that mean nothing for it, and are no flags of it
	// setup defines the tool's flags and returns what runs with their values.
	setup func(*flags.Set) func(*call) error
}

// call is one invocation of a tool.
type call struct {
	tool  *tool
	prog  string // as in OpenFst's messages: "fstcompose"
	flags *flags.Set
	args  []string
	lib   library

	special *fst.SpecialLabel // of a phi, rho or sigma machine to be written; nil is the default
	pipe    *pipe             // of fst run, else nil
	models  bool              // linear models that are read stay models
	// of machines that are read only states and arcs are looked at, or they are passed on: what
	// their headers claim is not tested
	plain bool

	ownStates  bool // --limit_states bounds something else than what is read
	inputTaken bool // standard input is being read

	delivered int             // outputs that are complete
	read      int64           // bytes of what a tool that makes no machine has read
	input     int64           // bytes of the machines that were read, where there is --limit_bytes
	said      map[string]bool // warnings that were given, by this tool or the fst run that it is a stage of
	cli.Streams
}

// Warn is that of Streams, once for each text: a table that is read for both sides has its faults
// once.
func (c *call) Warn(prog, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !c.said[text] {
		c.said[text] = true
		c.Streams.Warn(prog, "%s", text)
	}
}

// errDifferent makes a comparison exit with status 2 without a message.
var errDifferent = errors.New("the machines differ")

// run executes a command line and returns the exit status: 0, 1 for any error,
// 2 when a comparison found a difference.
func run(argv []string, std cli.Streams) int {
	name := progName(argv[0])
	words := argv[1:]
	if t := findTool(name); t != nil {
		return t.run(words, std)
	}
	if len(words) == 0 {
		if namedAsTool(name) {
			return std.Fail("fst", unknownTool(name))
		}
		overview(std.Out)
		return 1
	}
	switch word := words[0]; word {
	case "help", "--help", "-help", "-h", "--helpshort", "--helpfull":
		if len(words) > 1 {
			if words[1] == "differences" {
				return show(std, "fst", func(w io.Writer) { io.WriteString(w, differences()) })
			}
			t := findTool(words[1])
			if t == nil {
				return std.Fail("fst", unknownTool(words[1]))
			}
			return show(std, "fst", func(w io.Writer) { t.help(w, t.newCall(std), false) })
		}
		return show(std, "fst", overview)
	case "version", "--version", "-version":
		return show(std, "fst", func(w io.Writer) { fmt.Fprintln(w, "fst", cli.Version()) })
	default:
		t := findTool(word)
		switch {
		case t == nil && namedAsTool(name):
			return std.Fail("fst", unknownTool(name))
		case t == nil:
			return std.Fail("fst", unknownTool(word))
		}
		return t.run(words[1:], std)
	}
}

// namedAsTool reports whether name is such as a tool's own, though none has it.
func namedAsTool(name string) bool {
	rest, ok := strings.CutPrefix(name, "fst")
	return ok && rest != "" && !strings.ContainsFunc(rest, func(r rune) bool { return r < 'a' || r > 'z' })
}

// show prints a text, and returns the exit status.
func show(std cli.Streams, prog string, text func(io.Writer)) int {
	if err := std.Output("", func(w io.Writer) error { text(w); return nil }); err != nil {
		return std.Fail(prog, err)
	}
	return 0
}

// progName is the name that the program was called by.
func progName(argv0 string) string { return strings.TrimSuffix(filepath.Base(argv0), ".exe") }

// findTool finds a tool by its own name or the one of OpenFst's binary.
func findTool(name string) *tool {
	for _, t := range tools {
		if name == t.name || name == t.prog() {
			return t
		}
	}
	return nil
}

// prog is the name of OpenFst's binary: those for archives and pushdown transducers
// have no fst in front.
func (t *tool) prog() string {
	for _, family := range []string{"far", "pdt", "mpdt"} {
		if strings.HasPrefix(t.name, family) {
			return t.name
		}
	}
	return "fst" + t.name
}

// unknownTool says that there is no such tool, and which one may be meant.
func unknownTool(name string) error {
	if strings.HasPrefix(name, "-") {
		return fmt.Errorf("there is no tool %q: flags go behind the tool's name, as in `fst print %s a.fst`; "+
			"`fst help` lists the tools", name, name)
	}
	var names []string
	for _, t := range tools {
		names = append(names, t.name, t.prog())
	}
	if near := toolWords.Suggest(flags.Underscores(strings.ToLower(name)), names); near != "" {
		return fmt.Errorf("there is no tool %q (did you mean %s?); `fst help` lists them", name, near)
	}
	return fmt.Errorf("there is no tool %q; `fst help` lists them", name)
}

func (t *tool) newCall(std cli.Streams) *call {
	c := &call{tool: t, prog: t.prog(), flags: flags.New(), said: map[string]bool{}, Streams: std}
	c.flags.Synonyms(flagWords)
	c.lib.define(c.flags, t)
	return c
}

func (t *tool) run(words []string, std cli.Streams) int {
	c := t.newCall(std)
	do := t.setup(c.flags)
	for _, w := range words {
		switch strings.TrimLeft(w, "-") {
		case "help", "helpshort", "helpfull", "version":
			if w[0] != '-' {
				continue
			}
			if strings.HasSuffix(w, "version") {
				return show(std, c.prog, func(w io.Writer) { fmt.Fprintln(w, c.prog, cli.Version()) })
			}
			// Status 1 is what OpenFst's tools return here.
			show(std, c.prog, func(out io.Writer) { t.help(out, c, !strings.HasSuffix(w, "short")) })
			return 1
		}
		if w == "--" {
			break
		}
	}
	args, err := c.flags.Parse(words)
	if err != nil {
		return std.Fail(c.prog, err)
	}
	if len(args) < t.min || t.max >= 0 && len(args) > t.max {
		fmt.Fprintf(std.Err, "ERROR: %s: %s\n", c.prog, t.wrongCount(len(args)))
		t.usage(std.Out)
		return 1
	}
	c.args = args
	if err := c.checkLibrary(); err != nil {
		return std.Fail(c.prog, err)
	}
	settle(int(*c.lib.workers))
	defer c.watch()()
	switch err := c.finish(do(c)); {
	case err == nil:
		return 0
	case errors.Is(err, errDifferent):
		return 2
	default:
		return std.Fail(c.prog, err)
	}
}

// exit ends the process; tests of many calls want to see which one it was.
var exit = os.Exit

// grace is how long after its --timeout a tool may end by itself.
var grace = func(timeout time.Duration) time.Duration { return timeout/20 + 200*time.Millisecond }

// watch ends the process when a tool has not ended by itself some time after its --timeout, since
// not all long work checks the clock. Work that checks has a better message, and so goes first. The
// returned function cancels it.
func (c *call) watch() (stop func()) {
	limit := *c.lib.timeout
	if limit <= 0 {
		return func() {}
	}
	t := time.AfterFunc(limit+grace(limit), func() {
		output.Stop()
		exit(c.Fail(c.prog, fmt.Errorf("stopped: --timeout=%v is over; no incomplete output file was written",
			limit)))
	})
	return func() { t.Stop() }
}

// wrongCount says that n arguments are too few or too many.
func (t *tool) wrongCount(n int) string {
	plural := func(n int) string {
		if n == 1 {
			return "1 argument"
		}
		return fmt.Sprintf("%d arguments", n)
	}
	if n < t.min {
		return fmt.Sprintf("%s given where %s or more are needed: %s", plural(n), plural(t.min), t.args)
	}
	return fmt.Sprintf("%s given where there are at most %d: %s", plural(n), t.max, t.args)
}

func (t *tool) usage(w io.Writer) {
	name := t.prog()
	if !slices.Contains(linked(), t) {
		name = "fst " + t.name
	}
	fmt.Fprintf(w, "%s\n\n  Usage: %s %s\n\n", t.summary, name, t.args)
}

func (t *tool) help(w io.Writer, c *call, library bool) {
	if len(c.flags.Flags()) == 0 || !slices.ContainsFunc(c.flags.Flags(),
		func(f *flags.Flag) bool { return !f.Library }) {
		t.setup(c.flags)
	}
	t.usage(w)
	if t.about != "" {
		fmt.Fprintf(w, "%s\n\n", strings.Trim(t.about, "\n"))
	}
	c.flags.PrintHelp(w, library)
	if !library {
		var common []string
		for _, name := range []string{"workers", "limit_states", "limit_arcs", "limit_bytes", "timeout"} {
			if slices.ContainsFunc(c.flags.Flags(), func(f *flags.Flag) bool { return f.Library && f.Name == name }) {
				common = append(common, "--"+name)
			}
		}
		fmt.Fprintf(w, "Besides, as all tools take them: %s and others; fst %s --help tells what they mean.\n",
			strings.Join(common, ", "), t.name)
	}
}

//go:embed doc.go
var packageComment string

// differences is the table of the package comment, which is the only one.
func differences() string {
	_, table, _ := strings.Cut(packageComment, "// The intended differences")
	table, _, _ = strings.Cut("// The intended differences"+table, "// All types of machines in files")
	var b strings.Builder
	for line := range strings.Lines(strings.TrimRight(table, "/ \n")) {
		line = strings.TrimPrefix(strings.TrimPrefix(line, "//"), " ")
		b.WriteString(strings.TrimPrefix(line, "\t"))
	}
	return b.String() + "\n"
}

// overviewUsage is how the program is called.
const overviewUsage = `  fst TOOL [flags] [arguments]     or, linked under that name, fstTOOL ...

"fst help TOOL" explains a tool, "fst help differences" lists the differences from OpenFst's tools.
A missing file name or - is standard input or output. Flags may stand before or after arguments, as
-f, --f=value or --f value, and a hyphen in a name is equivalent to an underscore. "fst --version"
prints the version of the module ("devel" if the build knows none) and the commit it was built from.`

func overview(w io.Writer) {
	fmt.Fprintf(w, "Weighted finite-state transducers, and exact gradients of losses over them.\n\n%s\n\n",
		strings.ReplaceAll(strings.Replace(overviewUsage, "  fst", "  Usage: fst", 1), `"`, "`"))
	for _, t := range tools {
		fmt.Fprintf(w, "  %-18s %s\n", t.name, t.summary)
	}
}
