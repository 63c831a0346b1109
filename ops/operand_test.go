package ops_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/ops/pdt"
	"github.com/tropica-fst/tropica/semiring"
)

var errOperand = errors.New("the operand has failed")

// endless is a machine without end, whose state q leads to q+1 under the labels 1 and
// 2; it fails at Start when failAt is -1, else when state failAt is asked for.
type endless struct {
	failAt, last fst.StateID // last is the state without arcs, if not zero
	transducer   bool
}

func (e endless) Start() (fst.StateID, error) {
	if e.failAt < 0 {
		return fst.NoState, errOperand
	}
	return 0, nil
}

func (e endless) Expand(q fst.StateID, dst []fst.Arc[semiring.Tropical]) (semiring.Tropical, []fst.Arc[semiring.Tropical], error) {
	if q >= e.failAt {
		return 0, dst, errOperand
	}
	if e.last != 0 && q == e.last {
		return 0, dst, nil
	}
	for l := fst.Label(1); l <= 2; l++ {
		o := l
		if e.transducer {
			o = 3 - l
		}
		dst = append(dst, fst.Arc[semiring.Tropical]{ILabel: l, OLabel: o, Weight: semiring.Tropical(l), NextState: q + 1})
	}
	return 5, dst, nil
}

func (e endless) lazy() *fst.Lazy[semiring.Tropical] {
	return fst.NewLazy[semiring.Tropical](e, &fst.LazyOptions{CacheBytes: 1})
}

// operations are all functions of ops and its packages that take a machine which may be
// computed on demand. Each runs to the end, and returns its error. Those that may stop
// early take delayed, the machine to be looked at, or nil.
type operation func(f fst.Fst[semiring.Tropical]) (delayed fst.Fst[semiring.Tropical], err error)

func operandTable() map[string]operation {
	type (
		T = semiring.Tropical
		F = fst.Fst[T]
	)
	// All strings over two labels, looked at by what composes with it.
	all := fst.NewVector[T](1)
	all.SetStart(all.AddState())
	all.SetFinal(0, 0)
	for l := fst.Label(1); l <= 2; l++ {
		all.AddArc(0, fst.Arc[T]{ILabel: l, OLabel: l, NextState: 0})
	}
	ops.ArcSort(all, ops.Input)
	delayed := func(l *fst.Lazy[T], err error) (F, error) {
		if err != nil {
			return nil, err
		}
		return l, nil
	}
	expander := func(e fst.Expander[T], err error) (F, error) {
		if err != nil {
			return nil, err
		}
		return fst.NewLazy(e, nil), nil
	}
	only := func(_ any, err error) (F, error) { return nil, err }
	matcher := &ops.Matcher{Kind: ops.MatchRho, Label: 77}
	return map[string]operation{
		"Compose first":      func(f F) (F, error) { return only(ops.Compose[T](f, all, nil)) },
		"Compose second":     func(f F) (F, error) { return only(ops.Compose[T](all, f, nil)) },
		"Compose both":       func(f F) (F, error) { return only(ops.Compose[T](f, f, nil)) },
		"ComposeLazy first":  func(f F) (F, error) { return delayed(ops.ComposeLazy[T](f, all, nil, nil)) },
		"ComposeLazy second": func(f F) (F, error) { return delayed(ops.ComposeLazy[T](all, f, nil, nil)) },
		"ComposeLazy matcher": func(f F) (F, error) {
			return delayed(ops.ComposeLazy[T](all, f, &ops.ComposeOptions{Second: matcher}, nil))
		},
		"ComposeLazy ahead": func(f F) (F, error) {
			return delayed(ops.ComposeLazy[T](all, f, &ops.ComposeOptions{LookAhead: &ops.LookAhead{}}, nil))
		},
		"ComposeLazy ahead, pushing": func(f F) (F, error) {
			return delayed(ops.ComposeLazy[T](f, all, &ops.ComposeOptions{LookAhead: &ops.LookAhead{Side: ops.LookAheadSecond, PushLabels: true, PushWeights: true}}, nil))
		},
		"NewComposer":     func(f F) (F, error) { c, err := ops.NewComposer[T](f, all, nil); return expander(c, err) },
		"Intersect":       func(f F) (F, error) { return only(ops.Intersect[T](all, f, nil)) },
		"Determinize":     func(f F) (F, error) { return only(ops.Determinize[T](f, nil)) },
		"DeterminizeLazy": func(f F) (F, error) { return delayed(ops.DeterminizeLazy[T](f, nil, nil)) },
		"DeterminizeLazy nonfunctional": func(f F) (F, error) {
			return delayed(ops.DeterminizeLazy[T](f, &ops.DeterminizeOptions{Type: ops.DeterminizeNonFunctional}, nil))
		},
		"FactorWeight": func(f F) (F, error) {
			return only(ops.FactorWeight[T](f, ops.FactorOne, &ops.FactorWeightOptions{KeepFinals: true}))
		},
		"FactorWeightLazy":  func(f F) (F, error) { return delayed(ops.FactorWeightLazy[T](f, halves, nil, nil)) },
		"UnionLazy":         func(f F) (F, error) { return delayed(ops.UnionLazy[T](nil, all, f)) },
		"ConcatLazy":        func(f F) (F, error) { return delayed(ops.ConcatLazy[T](nil, f, all)) },
		"ConcatLazy second": func(f F) (F, error) { return delayed(ops.ConcatLazy[T](nil, all, f)) },
		"ClosureLazy":       func(f F) (F, error) { return ops.ClosureLazy(f, ops.Star, nil), nil },
		"ClosureLazy plus":  func(f F) (F, error) { return ops.ClosureLazy(f, ops.Plus, nil), nil },
		"RmEpsilonLazy":     func(f F) (F, error) { return delayed(ops.RmEpsilonLazy[T](f, nil, nil)) },
		"RandGen": func(f F) (F, error) {
			return only(ops.RandGen[T](f, rand.New(rand.NewPCG(1, 1)), &ops.RandGenOptions{NPath: 200, MaxLength: 50}))
		},
		"ShortestDistanceLazy": func(f F) (F, error) { return only(ops.ShortestDistanceLazy[T](f, nil)) },
		"ShortestPathLazy":     func(f F) (F, error) { return only(ops.ShortestPathLazy[T](f, ops.Limits{})) },
		"Synchronize":          func(f F) (F, error) { return only(ops.Synchronize[T](f, ops.Limits{})) },
		"SynchronizeLazy":      func(f F) (F, error) { return ops.SynchronizeLazy[T](f, nil), nil },
		"IntersectLazy":        func(f F) (F, error) { return delayed(ops.IntersectLazy[T](f, all, nil, nil)) },
		"IntersectLazy second": func(f F) (F, error) { return delayed(ops.IntersectLazy[T](all, f, nil, nil)) },
		"SubtractLazy":         func(f F) (F, error) { return delayed(ops.SubtractLazy[T](f, all, nil)) },
		"Collect":              func(f F) (F, error) { return only(ops.Collect[T](f, ops.Limits{})) },
		"pdt.NewExpander":      func(f F) (F, error) { return expander(pdt.NewExpander[T](f, nil, nil), nil) },
	}
}

// halves writes a weight above 1 as two factors.
func halves(w semiring.Tropical) []ops.Factors[semiring.Tropical] {
	if w <= 1 {
		return nil
	}
	return []ops.Factors[semiring.Tropical]{{First: 1, Rest: w - 1}}
}

// look asks for n states of f, as far as they go, and returns its error.
func look(f fst.Fst[semiring.Tropical], n fst.StateID) error {
	known := f.Start()
	for q := fst.StateID(0); q <= known && q < n; q++ {
		f.Final(q)
		for _, e := range f.Arcs(q) {
			known = max(known, e.NextState)
		}
	}
	return fst.Err(f)
}

// Nothing makes a whole machine of one that has failed.
func TestOperandErrors(t *testing.T) {
	for name, op := range operandTable() {
		t.Run(name, func(t *testing.T) {
			for _, failAt := range []fst.StateID{-1, 0, 3} {
				for _, last := range []fst.StateID{0, 3} {
					f := endless{failAt: failAt, last: last}.lazy()
					if name == "ShortestPathLazy" && failAt == 3 {
						continue // the best path ends at the start: no more is asked for
					}
					delayed, err := op(f)
					if err == nil && delayed != nil {
						err = look(delayed, 100)
					}
					if !errors.Is(err, errOperand) {
						t.Errorf("an operand that fails at state %d: the error is %v", failAt, err)
					}
				}
			}
		})
	}
}

// failing is an endless machine whose error is err.
type failing struct {
	endless
	err error
}

func (f failing) Expand(q fst.StateID, dst []fst.Arc[semiring.Tropical]) (semiring.Tropical, []fst.Arc[semiring.Tropical], error) {
	final, arcs, err := f.endless.Expand(q, dst)
	if err != nil {
		err = f.err
	}
	return final, arcs, err
}

// The error of an operand is its own: operations give it their name in copies, several at once too, which the race detector watches.
func TestOperandsKeepTheirErrors(t *testing.T) {
	type T = semiring.Tropical
	table := operandTable()
	limit := func(limit string, cause error) *ops.LimitError {
		return &ops.LimitError{Op: "operand", Limit: limit, Bound: 7, Built: ops.Progress{States: 3, Bytes: 8}, Cause: cause}
	}
	for what, fresh := range map[string]func() error{
		"limit":   func() error { return limit("bytes", ops.ErrLimit) },
		"context": func() error { return limit("context", &ops.StateError{Op: "operand", State: 2, Err: context.Canceled}) },
		"state":   func() error { return &ops.StateError{Op: "operand", State: 2, Err: errOperand} },
		"cycle": func() error {
			return &ops.CycleError{Op: "operand", Cycle: []ops.ArcRef{{State: 1, Arc: 1}}, Err: ops.ErrNotClosed}
		},
		"determinize": func() error { return &ops.DeterminizeError{Limit: limit("states", ops.ErrLimit)} },
	} {
		for name, op := range table {
			err := fresh()
			before := err.Error()
			f := fst.NewLazy[T](failing{endless{failAt: 3}, err}, nil)
			look(f, 4)
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					delayed, err := op(f)
					if err == nil && delayed != nil {
						err = look(delayed, 100)
					}
					if err == nil && name != "ShortestPathLazy" { // whose best path ends at the start
						t.Errorf("%s: no error of an operand that has failed", name)
					}
				})
			}
			wg.Wait()
			if after := f.Err().Error(); after != before {
				t.Errorf("%s makes of the error of its operand\n%s: %s\nfor %s", name, what, after, before)
			}
		}
	}
}

// What is computed on demand asks for no more of an operand than it needs.
func TestOperandsWithoutEnd(t *testing.T) {
	for name, op := range operandTable() {
		t.Run(name, func(t *testing.T) {
			for _, transducer := range []bool{false, true} {
				f := endless{failAt: 100_000, transducer: transducer}.lazy()
				acceptors := strings.HasPrefix(name, "Intersect") || strings.HasPrefix(name, "Subtract")
				if !delaying(name) || transducer && acceptors {
					continue
				}
				delayed, err := op(f)
				if err == nil {
					err = look(delayed, 50)
				}
				if err != nil {
					t.Errorf("the first states ask for a hundred thousand of the operand: %v", err)
				}
			}
		})
	}
	small := ops.Limits{States: 100}
	for name, run := range map[string]func(f fst.Fst[semiring.Tropical]) error{
		"Determinize": func(f fst.Fst[semiring.Tropical]) error {
			_, err := ops.Determinize(f, &ops.DeterminizeOptions{Limits: small})
			return err
		},
		"FactorWeight": func(f fst.Fst[semiring.Tropical]) error {
			_, err := ops.FactorWeight(f, halves, &ops.FactorWeightOptions{Limits: small})
			return err
		},
		"Intersect": func(f fst.Fst[semiring.Tropical]) error {
			_, err := ops.Intersect(f, f, &ops.ComposeOptions{Limits: small})
			return err
		},
		"Synchronize": func(f fst.Fst[semiring.Tropical]) error {
			_, err := ops.Synchronize(f, small)
			return err
		},
		"Collect": func(f fst.Fst[semiring.Tropical]) error {
			_, err := ops.Collect(f, small)
			return err
		},
	} {
		if err := run(endless{failAt: 100_000}.lazy()); !errors.Is(err, ops.ErrLimit) {
			t.Errorf("%s of a machine without end: %v, not a limit", name, err)
		}
	}
}

// delaying tells whether an entry of the table looks at its operand on demand.
func delaying(name string) bool {
	return strings.Contains(name, "Lazy") && !strings.HasPrefix(name, "Shortest") || strings.HasPrefix(name, "pdt.New") || name == "NewComposer"
}

// A function that takes a machine computed on demand belongs into the table.
func TestOperandTableIsWhole(t *testing.T) {
	table := operandTable()
	for dir, prefix := range map[string]string{".": "", "pdt": "pdt."} {
		paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(paths) == 0 {
			t.Fatal(dir, err, fs.ErrNotExist)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || f.Recv != nil || !f.Name.IsExported() || !takesFst(f.Type) {
					continue
				}
				found := false
				for name := range table {
					found = found || strings.Fields(name)[0] == prefix+f.Name.Name
				}
				if !found {
					t.Errorf("%s takes a machine that may fail, and is not in the table of this test", prefix+f.Name.Name)
				}
			}
		}
	}
}

// takesFst tells whether a parameter is an fst.Fst, or several.
func takesFst(f *ast.FuncType) bool {
	takes := false
	for _, p := range f.Params.List {
		ast.Inspect(p.Type, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Fst" && fmt.Sprint(s.X) == "fst" {
				takes = true
			}
			return true
		})
	}
	return takes
}

// veiled is a machine that says nothing of itself.
type veiled[W any] struct{ fst.Fst[W] }

// A machine of which it is not known whether it is an acceptor is determinized as the
// one that is known is; and an arc that no acceptor has is told where it matters.
func TestDeterminizeOfUnknownMachines(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 29))
	draw := func(r *rand.Rand) semiring.Tropical { return semiring.Tropical(r.IntN(3)) }
	compared, transducers := 0, 0
	for range 400 {
		f := fsttest.Random(rng, 1+rng.IntN(7), draw, fsttest.Options{Acceptor: rng.IntN(2) == 0, Labels: 2, Epsilon: 0.1, Start: true})
		for _, kind := range []ops.DeterminizeType{ops.DeterminizeFunctional, ops.DeterminizeNonFunctional, ops.DeterminizeDisambiguate} {
			o := &ops.DeterminizeOptions{Type: kind, Limits: ops.Limits{States: 300}}
			want, err := ops.Determinize(f, o)
			got, err2 := ops.Determinize[semiring.Tropical](veiled[semiring.Tropical]{f}, o)
			if errors.Is(err, ops.ErrNotFunctional) != errors.Is(err2, ops.ErrNotFunctional) || (err == nil) != (err2 == nil) {
				t.Fatalf("%v, but for the same machine unknown %v", err, err2)
			}
			if err != nil {
				continue
			}
			if !ops.Equal(want, got, 0) {
				t.Fatalf("type %v: the same machine unknown gives another one", kind)
			}
			if compared++; !fst.PropertiesOf[semiring.Tropical](f, fst.Acceptor).Has(fst.Acceptor) {
				transducers++
			}
		}
	}
	if compared < 600 || transducers < 100 {
		t.Errorf("only %d machines compared, %d of them transducers", compared, transducers)
	}

	// Boolean has the path property, Log does not: it cannot be disambiguated.
	g := fst.NewVector[semiring.Log](2)
	g.AddStates(2)
	g.SetStart(0)
	g.AddArc(0, fst.Arc[semiring.Log]{ILabel: 1, OLabel: 1, NextState: 1})
	g.SetFinal(1, 0)
	o := &ops.DeterminizeOptions{Type: ops.DeterminizeDisambiguate}
	if _, err := ops.Determinize[semiring.Log](veiled[semiring.Log]{g}, o); err != nil {
		t.Errorf("an acceptor over log: %v", err)
	}
	g.AddArc(1, fst.Arc[semiring.Log]{ILabel: 1, OLabel: 2, NextState: 1})
	_, err := ops.Determinize[semiring.Log](veiled[semiring.Log]{g}, o)
	var at *ops.StateError
	if !errors.Is(err, ops.ErrNotAcceptor) || !errors.As(err, &at) || at.State != 1 {
		t.Errorf("an arc 1:2 of state 1: %v", err)
	}
}

// The finding that led here: a composition cut short at 20 states was determinized to
// a machine of 20 states, without an error.
func TestDeterminizeOfALimitedComposition(t *testing.T) {
	a := fst.NewVector[semiring.Tropical](2001)
	a.AddStates(2001)
	a.SetStart(0)
	for q := range fst.StateID(2000) {
		a.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: q + 1})
	}
	a.SetFinal(2000, 0)
	c := fsttest.Must(ops.ComposeLazy(a, a, &ops.ComposeOptions{Limits: ops.Limits{States: 20}}, nil))
	if det, err := ops.Determinize(c, nil); !errors.Is(err, ops.ErrLimit) {
		t.Errorf("error %v, machine %v", err, det)
	}
}
