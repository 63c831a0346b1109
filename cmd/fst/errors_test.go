package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
)

// exportedFunctions returns the names of the functions and methods that a package exports.
func exportedFunctions(t *testing.T, dir string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, path := range must1(filepath.Glob(filepath.Join(dir, "*.go"))) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.IsExported() {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}

// operationIn finds what an error says that failed: "ops: Push: ..." or "ops: pdt.Expand: ...".
var operationIn = regexp.MustCompile(`\bops: (\w+(?:\.\w+)?)?`)

// A link by the name of a tool that there is not says so; another name of the program is none.
func TestLinkToNoTool(t *testing.T) {
	for _, c := range []struct {
		words string
		want  string
	}{
		{"fstnonesuch", "no tool \"fstnonesuch\""}, {"/bin/fstnonesuch a.fst", "no tool \"fstnonesuch\""},
		{"fst-1.2 nonesuch", "no tool \"nonesuch\""}, {"fst-1.2", ""},
	} {
		var out, errs bytes.Buffer
		status := run(strings.Fields(c.words), cli.Streams{Out: &out, Err: &errs})
		if status != 1 || !strings.Contains(errs.String(), c.want) || (c.want == "") != (out.Len() > 0) {
			t.Errorf("%s: status %d, %q", c.words, status, errs.String())
		}
	}
}

// Whatever a tool fails on, its message begins with its name as it is called, and where an
// operation of the library failed, goes on with the name under which go doc has that: ops.Push,
// pdt.Expand.
func TestErrorsNameToolAndOperation(t *testing.T) {
	operations := exportedFunctions(t, filepath.Join("..", "..", "ops"))
	for name := range exportedFunctions(t, filepath.Join("..", "..", "ops", "pdt")) {
		operations["pdt."+name] = true
	}
	t.Chdir(t.TempDir())
	hostileInputs(t)
	// Machines that one operation or another refuses.
	refused := map[string]string{
		"empty": "", "cycle": "0 0 1 2 -1\n0 1 0 2 -1\n1 0 0 3\n1\n",
		"ambiguous": "0 1 1 2 1\n0 2 1 3 2\n1 1 1 2 1\n2 2 1 3 2\n1\n2\n",
		"unsorted":  "0 1 7 2 1\n0 1 3 9 1\n0 1 5 4 1\n1 2 10 10\n2\n", "epsilons": "0 1 0 0 1\n1 0 0 0 -2\n1\n",
		"parens": "0 0 10 10\n0 1 11 11\n1\n",
	}
	for name, text := range refused {
		must(os.WriteFile(name+".txt", []byte(text), 0o666))
		for _, arcType := range []string{"standard", "log"} {
			words := []string{"fstcompile", "--arc_type=" + arcType, name + ".txt", name + "-" + arcType}
			if status := run(words, cli.Streams{Out: os.Stdout, Err: os.Stderr}); status != 0 {
				t.Fatalf("%s: %d", name, status)
			}
		}
	}
	machines := must1(filepath.Glob("*-*"))
	if len(machines) < 12 {
		t.Fatalf("only %d machines", len(machines))
	}
	failures, named := 0, map[string]bool{}
	try := func(words []string) {
		t.Helper()
		emptyOut()
		var out bytes.Buffer
		status, errs := hostileCall(t, words, "", cli.Streams{In: bytes.NewReader(nil), Out: &out})
		prog := findTool(words[0]).prog()
		for line := range strings.Lines(errs) {
			level, rest, _ := strings.Cut(line, ": ")
			if rest, ok := strings.CutPrefix(rest, prog+": "); !ok || rest == "\n" ||
				!slices.Contains([]string{"ERROR", "WARNING", "INFO"}, level) {
				t.Errorf("%q: %q does not begin with the level and %s", words, line, prog)
			}
			for _, m := range operationIn.FindAllStringSubmatch(line, -1) {
				if named[m[1]] = true; !operations[m[1]] {
					t.Errorf("%q: there is no operation %q: %s", words, m[1], line)
				}
			}
		}
		if status == 1 {
			failures++
			if errs == "" && words[0] != "loss" {
				t.Errorf("%q: fails without a word", words)
			}
		}
	}
	for _, h := range allHostileTools() {
		words := strings.Fields(h.words)
		bounded := slices.Insert(slices.Clone(words), 1, bounds(words[0], "--limit_states=5000", "--timeout=5s")...)
		for _, flag := range []string{"--limit_states=1", "--limit_arcs=1", "--limit_bytes=1", "--timeout=1ns",
			"--bogus", "--limit_states=-1", "--workers=x"} {
			try(append(slices.Clone(words), flag))
		}
		for i, w := range words {
			if !strings.HasPrefix(w, "in/") {
				continue
			}
			for _, other := range append(slices.Clone(machines), "none") {
				with := slices.Clone(bounded)
				with[i+len(bounded)-len(words)] = other
				try(with)
			}
		}
	}
	if failures < 500 || len(named) < 20 {
		t.Errorf("%d failures of %d operations", failures, len(named))
	}
	t.Logf("%d failures of %d operations", failures, len(named))
}
