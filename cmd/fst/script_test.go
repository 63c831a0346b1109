package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/ops"
)

// The command under its own name, and under the names of OpenFst's tools.
func TestMain(m *testing.M) {
	commands := map[string]func(){"fst": main}
	for _, t := range tools {
		commands[t.prog()] = main
	}
	testscript.Main(m, commands)
}

// The command lines of testdata/script, with what they print and write.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: filepath.Join("testdata", "script"), RequireExplicitExec: true,
		UpdateScripts: os.Getenv("TROPICA_UPDATE") != "",
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"exits": exits}})
}

// exits checks the exit status of a command: exits STATUS COMMAND ARGS...; its
// output is left for stdout and stderr.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND ARGS...")
	}
	err := ts.Exec(args[1], args[2:]...)
	status := "0"
	if err != nil {
		status = err.Error()[len("exit status "):]
	}
	if status != args[0] {
		ts.Fatalf("exit status %s, not %s", status, args[0])
	}
}

// Every tool has help with a summary, its own flags, and an example.
func TestHelp(t *testing.T) {
	for _, x := range tools {
		if x.summary == "" || x.about == "" {
			t.Errorf("%s: nothing said about it", x.name)
		}
		var out, errs bytes.Buffer
		if status := run([]string{"fst", "help", x.name}, cli.Streams{Out: &out, Err: &errs}); status != 0 ||
			errs.Len() > 0 {
			t.Fatalf("%s: %d, %s", x.name, status, errs.String())
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		last := lines[len(lines)-1]
		if !strings.HasSuffix(last, "; fst "+x.name+" --help tells what they mean.") {
			t.Errorf("%s: help ends with %q, want where the flags of all tools are explained", x.name, last)
		}
		out.Reset()
		run([]string{"fst", x.name, "--help"}, cli.Streams{Out: &out, Err: &errs})
		named := regexp.MustCompile(`--\w+`).FindAllString(
			strings.TrimSuffix(last, " --help tells what they mean."), -1)
		for _, name := range named {
			if !strings.Contains(out.String(), "\n  "+name+": type = ") {
				t.Errorf("%s: %s is named, and --help does not tell of it", x.name, name)
			}
		}
		if len(named) == 0 {
			t.Errorf("%s: no flag of all tools in %q", x.name, last)
		}
	}
}

// A panic is a message and status 1, never 2, by which a comparison tells of a difference; that of
// a goroutine of the library's comes with its own stack.
func TestPanicIsAnError(t *testing.T) {
	inner := func() (stack []byte) { return debug.Stack() }()
	for name, v := range map[string]any{"value": "index out of range", "error": errors.New("index out of range"),
		"worker": &ops.WorkerPanic{Value: "index out of range", Stack: inner}} {
		var errs bytes.Buffer
		stopped := 0
		status := guarded([]string{"/usr/bin/fstequal", "a b.fst"}, &errs, func() { stopped++ },
			func() int { panic(v) })
		if stopped != 1 {
			t.Errorf("%s: half-written files were removed %d times", name, stopped)
		}
		for _, want := range []string{"ERROR: fstequal: panic: index out of range\n", "Please report it",
			`["/usr/bin/fstequal" "a b.fst"]`, "TestPanicIsAnError"} {
			if status != 1 || !strings.Contains(errs.String(), want) {
				t.Errorf("%s: status %d, want 1 and %q in:\n%s", name, status, want, errs.String())
			}
		}
		if n := strings.Count(errs.String(), "[running]"); n != 1 {
			t.Errorf("%s: %d stacks:\n%s", name, n, errs.String())
		}
	}
	for _, status := range []int{0, 1, 2} {
		if got := guarded([]string{"fst"}, io.Discard, func() { t.Error("stopped without a panic") },
			func() int { return status }); got != status {
			t.Errorf("status %d became %d", status, got)
		}
	}
}
