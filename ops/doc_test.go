package ops

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The package comment names every function that takes a machine.
func TestDocNamesOperations(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	set, files := token.NewFileSet(), map[string]*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if files[name], err = parser.ParseFile(set, name, nil, parser.ParseComments); err != nil {
			t.Fatal(err)
		}
	}
	doc := files["doc.go"].Doc.Text()
	found := 0
	for _, file := range files {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !f.Name.IsExported() || !takesMachine(f) {
				continue
			}
			found++
			// ArcSorted is ArcSort that leaves its operand as it is, and so are all participles.
			if name := f.Name.Name; !regexp.MustCompile(`\b`+strings.TrimSuffix(name, "ed")+`\b`).MatchString(doc) &&
				!regexp.MustCompile(`\b`+name+`\b`).MatchString(doc) {
				t.Errorf("%s is not in the table of doc.go", name)
			}
		}
	}
	if found < 60 {
		t.Errorf("only %d functions take a machine", found)
	}
}

// takesMachine reports whether a parameter of f is a machine.
func takesMachine(f *ast.FuncDecl) (takes bool) {
	for _, p := range f.Type.Params.List {
		ast.Inspect(p.Type, func(n ast.Node) bool {
			if x, ok := n.(*ast.SelectorExpr); ok {
				name := x.Sel.Name
				takes = takes || name == "Fst" || name == "Expanded" || name == "Vector"
			}
			return true
		})
	}
	return takes
}
