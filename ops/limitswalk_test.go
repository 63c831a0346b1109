package ops_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unlimited are the exported functions that make or change a machine and take no Limits, each with
// why it needs none: what they make is bounded by what they are given.
var unlimited = map[string]string{
	"ops.ArcSorted":         "a copy",
	"ops.Projected":         "a copy",
	"ops.Inverted":          "a copy",
	"ops.MapInto":           "a copy over other weights",
	"ops.Convert":           "a copy over other weights",
	"ops.Decode":            "in place, labels alone",
	"ops.Relabel":           "in place, labels alone",
	"ops.TopSort":           "in place, the order alone",
	"ops.ReweightToInitial": "in place, weights and at most one state",
	"ops.ReweightToFinal":   "in place, weights and at most one state",
	"ops.ReweightLog":       "in place, weights and at most one state",
	"ops.UnionLazy":         "computed on demand; its cache is bounded",
	"ops.SubtractLazy":      "computed on demand; its cache is bounded",
	"ops.SynchronizeLazy":   "computed on demand; its cache is bounded",
	"ops.ConcatLazy":        "computed on demand; its cache is bounded",
	"ops.ClosureLazy":       "computed on demand; its cache is bounded",
}

// Every constructive operation takes Limits, by themselves or embedded in its options, and
// none a bare context: read from the sources, so that one added later is asked too.
func TestEveryConstructiveOperationTakesLimits(t *testing.T) {
	type source struct {
		pkg  string
		file *ast.File
	}
	var sources []source
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() && d.Name() == "internal" {
			return filepath.SkipDir // parts of operations
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err == nil {
			sources = append(sources, source{f.Name.Name, f})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// name returns pkg.Name of a type, without its pointer and parameters.
	var name func(pkg string, x ast.Expr) string
	name = func(pkg string, x ast.Expr) string {
		switch x := x.(type) {
		case *ast.StarExpr:
			return name(pkg, x.X)
		case *ast.IndexExpr:
			return name(pkg, x.X)
		case *ast.IndexListExpr:
			return name(pkg, x.X)
		case *ast.Ident:
			return pkg + "." + x.Name
		case *ast.SelectorExpr:
			if q, ok := x.X.(*ast.Ident); ok {
				return q.Name + "." + x.Sel.Name
			}
		}
		return ""
	}
	embeds := map[string][]string{} // by type: what it embeds
	for _, s := range sources {
		ast.Inspect(s.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if st, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range st.Fields.List {
					if len(f.Names) == 0 {
						of := s.pkg + "." + spec.Name.Name
						embeds[of] = append(embeds[of], name(s.pkg, f.Type))
					}
				}
			}
			return true
		})
	}
	var limits func(typ string, depth int) bool
	limits = func(typ string, depth int) bool {
		return typ == "ops.Limits" || depth < 5 && slices.ContainsFunc(embeds[typ], func(e string) bool { return limits(e, depth+1) })
	}
	machines := []string{"fst.Vector", "fst.Const", "fst.Lazy"}
	makes := func(fields *ast.FieldList, pkg string) bool {
		return fields != nil && slices.ContainsFunc(fields.List, func(f *ast.Field) bool { return slices.Contains(machines, name(pkg, f.Type)) })
	}
	checked, excused := 0, map[string]bool{}
	for _, s := range sources {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !f.Name.IsExported() {
				continue
			}
			of := s.pkg + "." + f.Name.Name
			takes := false
			for _, p := range f.Type.Params.List {
				takes = takes || limits(name(s.pkg, p.Type), 0)
				if name(s.pkg, p.Type) == "context.Context" {
					t.Errorf("%s takes a context: Limits hold one", of)
				}
			}
			// What changes a machine in place and cannot fail makes none larger.
			fails := false
			if f.Type.Results != nil {
				for _, r := range f.Type.Results.List {
					fails = fails || name("", r.Type) == ".error"
				}
			}
			constructive := makes(f.Type.Results, s.pkg) || fails && makes(f.Type.Params, s.pkg)
			switch _, excuse := unlimited[of]; {
			case !constructive:
			case excuse && takes:
				t.Errorf("%s takes Limits and needs no excuse", of)
			case excuse:
				excused[of] = true
			case !takes:
				t.Errorf("%s makes or changes a machine and takes no Limits", of)
			default:
				checked++
			}
		}
	}
	for of := range unlimited {
		if !excused[of] {
			t.Errorf("%s is excused, but is no constructive operation without Limits", of)
		}
	}
	if checked < 30 {
		t.Errorf("%d operations were looked at", checked)
	}
}
