package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// learners are the packages of learn that train by themselves. All other packages there are
// layers, data, or kernels, and rooms that end in test.
var learners = []string{"almo", "boost", "boost/multi", "federated", "g2p", "linear", "margin",
	"minimax", "resilient", "resilient/network", "sequence", "skpca", "sparse", "structured", "tracking",
	"transduce"}

// layers are the packages of learn that no learner is, tests' own left out.
var layers = []string{"", "boost/tree", "dataset", "dataset/dense", "dataset/table", "evaluate",
	"federated/mask", "gemm", "kernel", "learner", "metrics", "model", "nn", "nn/encoder", "optim",
	"optim/partition",
	"optim/saddle", "optim/score", "optim/separable", "run", "space", "space/lattice"}

// ownRounds are the functions that may count by the rules of a run: boosting interleaves the runs
// that choose the number of its rounds, which Loop cannot.
var ownRounds = []string{"boost.leastHeldOut"}

// stopping are the fields of run.Stop and run.Control that a loop over training counts by.
var stopping = []string{"Iterations", "Evaluations", "Gradient", "Relative", "Window", "Time", "Patience",
	"CheckpointEvery"}

// iterations returns what in a file of a learner iterates over training: loops that count by
// the fields above or report to a recorder, and steps of a run that are closed by hand, anywhere.
func iterations(name string, f *ast.File) []string {
	var found []string
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		where := name + "." + fn.Name.Name
		if slices.Contains(ownRounds, where) {
			continue
		}
		loops := 0
		var walk func(ast.Node)
		visit := func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ForStmt:
				loops++
				if n.Cond != nil {
					walk(n.Cond)
				}
				walk(n.Body)
				loops--
				return false
			case *ast.RangeStmt:
				loops++
				if s, ok := n.X.(*ast.SelectorExpr); ok && slices.Contains(stopping, s.Sel.Name) && ofControl(s.X) {
					found = append(found, where+": a loop counts by "+s.Sel.Name)
				}
				walk(n.Body)
				loops--
				return false
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok &&
					(s.Sel.Name == "Next" || loops > 0 && s.Sel.Name == "Record") && ofRun(s.X) {
					found = append(found, where+": calls "+s.Sel.Name)
				}
			case *ast.BinaryExpr:
				for _, x := range []ast.Expr{n.X, n.Y} {
					if s, ok := x.(*ast.SelectorExpr); ok && loops > 0 &&
						slices.Contains(stopping, s.Sel.Name) && ofControl(s.X) {
						found = append(found, where+": a loop counts by "+s.Sel.Name)
					}
				}
			}
			return true
		}
		walk = func(n ast.Node) { ast.Inspect(n, visit) }
		walk(fn.Body)
	}
	return found
}

// ofRun reports whether an expression is named as a run or its recorder is.
func ofRun(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name == "run" || x.Name == "r"
	case *ast.SelectorExpr:
		return x.Sel.Name == "run" || x.Sel.Name == "Run" || x.Sel.Name == "Recorder"
	}
	return false
}

// ofControl reports whether an expression is named as the settings of a run are.
func ofControl(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return slices.Contains([]string{"c", "control", "stop", "run", "r"}, x.Name)
	case *ast.SelectorExpr:
		return slices.Contains([]string{"Stop", "Control", "control", "run", "Run"}, x.Sel.Name)
	}
	return false
}

// solves reports whether a file calls what iterates in place of a learner: a solver of optim or
// below, run.Loop, or the training of another learner.
func solves(f *ast.File) bool {
	imported := map[string]bool{}
	for _, i := range f.Imports {
		p := strings.Trim(i.Path.Value, `"`)
		if rest, ok := strings.CutPrefix(p, module+"learn/"); ok {
			name := filepath.Base(rest)
			if i.Name != nil {
				name = i.Name.Name
			}
			imported[name] = strings.HasPrefix(rest, "optim") || slices.Contains(learners, rest)
		}
	}
	calls := []string{"Minimize", "Maximize", "Train", "MaxMargin", "Loop", "Descend", "FitDual",
		"Proximal", "CCCP", "Solve"}
	yes := false
	ast.Inspect(f, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		s, ok := c.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if slices.Contains(calls, s.Sel.Name) {
			yes = true
		}
		if id, ok := s.X.(*ast.Ident); ok && imported[id.Name] &&
			(id.Name == "saddle" || id.Name == "separable" || id.Name == "partition") {
			yes = true
		}
		return true
	})
	return yes
}

// learnFiles parses the files of the packages below learn that are no tests, by package.
func learnFiles(t *testing.T) map[string]map[string]*ast.File {
	t.Helper()
	root := filepath.Join("..", "..", "..", "learn")
	out := map[string]map[string]*ast.File{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if base := filepath.Base(rel); base == "testdata" || base == "asm" || strings.HasSuffix(base, "test") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		pkg := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(rel)), ".")
		if out[pkg] == nil {
			out[pkg] = map[string]*ast.File{}
		}
		out[pkg][rel] = f
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A learner calls a solver of optim, or run.Loop; nothing in it iterates over training by
// itself. Every package below learn is a learner or a layer.
func TestLearnersDoNotIterate(t *testing.T) {
	all := learnFiles(t)
	for pkg := range all {
		if slices.Contains(learners, pkg) == slices.Contains(layers, pkg) {
			t.Errorf("learn/%s is on both lists, of learners and of layers, or on none", pkg)
		}
	}
	for _, pkg := range learners {
		solved := false
		for name, f := range all[pkg] {
			solved = solved || solves(f)
			for _, what := range iterations(filepath.Base(pkg), f) {
				t.Errorf("learn/%s: %s; a solver of optim or run.Loop iterates, a learner does not", name, what)
			}
		}
		if !solved {
			t.Errorf("learn/%s calls no solver, run.Loop or learner", pkg)
		}
	}
}

// What the test above looks for is found where it is.
func TestIterations(t *testing.T) {
	parse := func(body string) *ast.File {
		f, err := parser.ParseFile(token.NewFileSet(), "",
			"package p\n\nfunc Train(c *run.Control) {\n"+body+"\n}", 0)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for body, want := range map[string]int{
		"for i := 0; i < c.Stop.Iterations; i++ { step() }": 1,
		"for range control.Stop.Iterations { step() }":      1,
		"for { if i%c.CheckpointEvery == 0 { save() } }":    1,
		"for !done { l.run.Next(step, state) }":             1,
		"for !done { c.Recorder.Record(row) }":              1,
		"r.Loop(step, state)":                               0,
		"n := c.Stop.Iterations; l.run.Loop(step, state)":   0,
		"for i := range rows { sum += f(i) }":               0,
	} {
		if got := iterations("p", parse(body)); len(got) != want {
			t.Errorf("%s: %q, want %d", body, got, want)
		}
	}
	if solves(parse("for { step() }")) || !solves(parse("r.Loop(step, state)")) {
		t.Error("calls of solvers are not told from loops")
	}
}
