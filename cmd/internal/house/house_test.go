package house

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/tropica-fst/tropica/"

var order = []string{"semiring", "fst", "ops", "losses", "learn", "cmd"}

// forbidden reports why a file of the part may not import path, "" if it may.
func forbidden(part, path string, isTest bool) string {
	if path == "C" {
		return "cgo"
	}
	if !isTest && part != "cmd" && (path == "os" || path == "os/exec" || path == "os/signal" ||
		path == "io/ioutil" || path == "net/http") {
		return "only cmd opens files and talks to the outside"
	}
	rest, ok := strings.CutPrefix(path, module)
	if !ok {
		return ""
	}
	to, _, _ := strings.Cut(rest, "/")
	if slices.Index(order, to) > slices.Index(order, part) {
		return "imports run the other way"
	}
	return ""
}

func TestImports(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	files := 0
	for _, part := range order {
		err := filepath.WalkDir(filepath.Join(root, part), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
					return fs.SkipDir // a module of its own, which may have what the core may not
				}
			}
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			files++
			// Packages that serve tests alone may do what tests do.
			rel := filepath.ToSlash(path)
			isTest := strings.HasSuffix(path, "_test.go") || strings.Contains(rel, "/fsttest/") ||
				strings.Contains(rel, "test/")
			for _, i := range f.Imports {
				p, err := strconv.Unquote(i.Path.Value)
				if err != nil {
					return err
				}
				if why := forbidden(part, p, isTest); why != "" {
					t.Errorf("%s imports %s: %s", rel, p, why)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 100 {
		t.Errorf("looked at %d files only", files)
	}
}

func TestForbidden(t *testing.T) {
	for _, c := range []struct {
		part, path string
		want       bool
	}{
		{"fst", module + "semiring", false}, {"fst", module + "fst/fsttest", false}, {"fst", module + "ops", true},
		{"ops", module + "learn/optim", true}, {"cmd", module + "learn/g2p", false}, {"learn", "os", true},
		{"cmd", "os", false}, {"ops", "C", true},
	} {
		if got := forbidden(c.part, c.path, false) != ""; got != c.want {
			t.Errorf("%s importing %s: forbidden %v, want %v", c.part, c.path, got, c.want)
		}
	}
}

// misplaced returns the names at the top level that have no place there, given the paths of all
// files.
func misplaced(paths []string) []string {
	allowed := append([]string{"go.mod", "go.sum", "testdata", "README.md", "LICENSE"}, order...)
	var names []string
	for _, p := range paths {
		name, _, _ := strings.Cut(p, "/")
		if !strings.HasPrefix(name, ".") && !slices.Contains(allowed, name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// The top level is fixed. Git is asked what belongs to it: programs, models and plots that a user
// makes there do not.
func TestTopLevel(t *testing.T) {
	out, err := exec.Command("git", "-C", filepath.Join("..", "..", ".."), "ls-files", "-z",
		"--full-name").Output()
	if err != nil {
		t.Skipf("git does not tell what belongs to the module: %v", err)
	}
	paths := strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
	if len(paths) < 100 {
		t.Skipf("git knows %d files only: this is a copy inside another repository", len(paths))
	}
	for _, name := range misplaced(paths) {
		t.Errorf("%s has no place at the top level", name)
	}
}

func TestMisplaced(t *testing.T) {
	got := misplaced([]string{".gitignore", "LICENSE", "README.md", "bin/fst", "bin/learn", "fst/fst.go",
		"lambda.svg", "testdata/lambda.svg"})
	if want := []string{"bin", "lambda.svg"}; !slices.Equal(got, want) {
		t.Errorf("misplaced: %q, want %q", got, want)
	}
}

// What the commands of README.md and the notes of testdata/bench write is ignored by git.
func TestIgnored(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	if err := exec.Command("git", "-C", root, "rev-parse").Run(); err != nil {
		t.Skipf("no git repository: %v", err)
	}
	for _, name := range []string{"bin/fst", "tags.model", "lambda.svg", "xgb.json", "labelled.conll",
		"cpu.prof", "runs/1.json"} {
		if err := exec.Command("git", "-C", root, "check-ignore", "-q", "--no-index", name).Run(); err != nil {
			t.Errorf("%s at the top level is not ignored: %v", name, err)
		}
	}
	for _, name := range []string{"fst/testdata/linear/00.model", "testdata/figures/edit-6.4b.svg",
		"learn/experiment/testdata/table31.json"} {
		if err := exec.Command("git", "-C", root, "check-ignore", "-q", "--no-index", name).Run(); err == nil {
			t.Errorf("%s is ignored", name)
		}
	}
}
