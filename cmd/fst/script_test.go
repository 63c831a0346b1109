package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
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
	}
}
