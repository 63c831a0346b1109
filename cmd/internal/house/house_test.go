package house

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
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
	if !isTest && part != "cmd" && (path == "os" || path == "os/exec" || path == "os/signal" || path == "io/ioutil" || path == "net/http") {
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
			isTest := strings.HasSuffix(path, "_test.go") || strings.Contains(rel, "/fsttest/") || strings.Contains(rel, "test/")
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
		{"ops", module + "learn/optim", true}, {"cmd", module + "learn/g2p", false}, {"learn", "os", true}, {"cmd", "os", false}, {"ops", "C", true},
	} {
		if got := forbidden(c.part, c.path, false) != ""; got != c.want {
			t.Errorf("%s importing %s: forbidden %v, want %v", c.part, c.path, got, c.want)
		}
	}
}

// The top level is fixed.
func TestTopLevel(t *testing.T) {
	entries, err := os.ReadDir(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	allowed := append([]string{"go.mod", "go.sum", "testdata", "README.md"}, order...)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !slices.Contains(allowed, e.Name()) {
			t.Errorf("%s has no place at the top level", e.Name())
		}
	}
}
