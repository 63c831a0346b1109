package pdt_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/ops/pdt"
	"github.com/tropica-fst/tropica/semiring"
)

// A PDT is bounded just if its expansion is finite: the stack of a bounded one is no
// higher than there are states, since no state is entered from above itself.
func TestBoundedAgainstExpansion(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	bounded := 0
	for range 600 {
		f, pairs, _ := drawPDT(rng, 1+rng.IntN(6))
		err := pdt.Bounded(f, pairs, ops.Limits{})
		_, other := ops.Materialize(pdt.NewExpander(f, pairs, &pdt.ExpandOptions{Limits: ops.Limits{States: 20000}}), ops.Limits{})
		if (err == nil) != (other == nil) {
			t.Fatalf("Bounded: %v, the expansion: %v\n%s", err, other, text(f))
		}
		if err == nil {
			bounded++
		} else if !errors.Is(err, pdt.ErrUnbounded) || !errors.Is(other, ops.ErrLimit) {
			t.Fatal(err, other)
		}
	}
	if bounded < 100 || bounded > 550 {
		t.Errorf("%d of 600 are bounded", bounded)
	}
}

// Without limits, Expand ends where the stack is not bounded, with the error of Bounded.
// In front of the states where it grows there may be more configurations than fit in memory.
func TestExpandUnbounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 4))
	bounded := 0
	for range 600 {
		f, pairs, _ := drawPDT(rng, 1+rng.IntN(12))
		want := pdt.Bounded(f, pairs, ops.Limits{})
		e, err := pdt.Expand(f, pairs, nil)
		if (err == nil) != (want == nil) || err != nil && !errors.Is(err, pdt.ErrUnbounded) {
			t.Fatalf("Bounded: %v, Expand: %v\n%s", want, err, text(f))
		}
		if bounded++; err != nil {
			bounded--
			continue
		}
		multi, err := pdt.ExpandMulti(f, pairs, slices.Repeat([]int32{2}, len(pairs)), nil) // of one stack, which is that PDT
		if err != nil {
			t.Fatal(err)
		}
		if d := ops.Compare[T](e, multi, 0); d != nil {
			t.Fatal(d)
		}
		whole, err := ops.Materialize(pdt.NewExpander(f, pairs, nil), ops.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		ops.Connect(whole)
		if d := ops.Compare[T](e, whole, 0); d != nil {
			t.Fatal(d)
		}
	}
	if bounded < 50 || bounded > 550 {
		t.Errorf("%d of 600 are bounded", bounded)
	}

	f, pairs := exponential(60)
	last := fst.StateID(60)
	f.AddArc(last, fst.Arc[T]{ILabel: 2, OLabel: 2, NextState: last})
	var state *ops.StateError
	for name, err := range map[string]error{"Bounded": pdt.Bounded(f, pairs, ops.Limits{}), "Expand": second(pdt.Expand(f, pairs, nil)),
		"ExpandMulti": second(pdt.ExpandMulti(f, pairs, slices.Repeat([]int32{1}, len(pairs)), nil))} {
		if !errors.Is(err, pdt.ErrUnbounded) || !errors.As(err, &state) || state.State != last || state.Op != "pdt."+name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[A, B any](_ A, b B) B { return b }

// A stack that would grow where nothing leads to, or where what is needed to come there
// is never on it, is bounded.
func TestBoundedOutOfReach(t *testing.T) {
	f, pairs := exponential(4)
	far := f.AddState()
	f.AddArc(far, fst.Arc[T]{ILabel: 1, OLabel: 1, NextState: far})
	if err := pdt.Bounded(f, pairs, ops.Limits{}); err != nil {
		t.Errorf("no arc leads there: %v", err)
	}
	f.AddArc(0, fst.Arc[T]{ILabel: 4, OLabel: 4, NextState: far})
	if err := pdt.Bounded(f, pairs, ops.Limits{}); err != nil {
		t.Errorf("nothing is open: %v", err)
	}
	f.AddArc(1, fst.Arc[T]{ILabel: 4, OLabel: 4, NextState: far}) // state 1 has both pairs on the stack
	for name, err := range map[string]error{"Bounded": pdt.Bounded(f, pairs, ops.Limits{}), "Expand": second(pdt.Expand(f, pairs, nil))} {
		if !errors.Is(err, pdt.ErrUnbounded) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The expansion has the strings of the balanced paths.
func TestExpandRelation(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 2))
	strings := 0
	for range 200 {
		f, pairs := drawBalanced(rng, 2+rng.IntN(7))
		ops.Project(f, ops.Input) // pathsOf goes by input labels
		e, err := pdt.Expand(f, pairs, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := pathsOf(f, pairs, 20, 20)
		got := map[string]T{}
		for p, w := range fsttest.Relation[T](e, -1) {
			s := ""
			for _, c := range p.In {
				if c != ' ' {
					s += string(rune('a' + c - '0'))
				}
			}
			got[s] = w
		}
		if len(got) != len(want) {
			t.Fatalf("strings %v, not %v\nof\n%s", got, want, text(f))
		}
		for s, w := range want {
			if got[s] != w {
				t.Fatalf("string %q has weight %v, not %v\nof\n%s", s, got[s], w, text(f))
			}
		}
		strings += len(want)
	}
	if strings < 1000 {
		t.Errorf("only %d strings", strings)
	}
}

// nested is a chain of n opening and n closing parentheses.
func nested(n int) (*fst.Vector[T], []fst.LabelPair) {
	f := fst.NewVector[T](2*n + 1)
	f.AddStates(2*n + 1)
	f.SetStart(0)
	for q := range 2 * n {
		l := fst.Label(1)
		if q >= n {
			l = 2
		}
		f.AddArc(fst.StateID(q), fst.Arc[T]{ILabel: l, OLabel: l, Weight: 1, NextState: fst.StateID(q + 1)})
	}
	f.SetFinal(fst.StateID(2*n), 0)
	return f, []fst.LabelPair{{From: 1, To: 2}}
}

// Depth is on the heap: nothing recurses with the input.
func TestDeep(t *testing.T) {
	const n = 100_000
	f, pairs := nested(n)
	e, err := pdt.Expand(f, pairs, nil)
	if err != nil || e.NumStates() != 2*n+1 {
		t.Fatalf("Expand: %d states, %v", e.NumStates(), err)
	}
	p, err := pdt.ShortestPath(f, pairs, nil)
	if err != nil || total(p) != 2*n {
		t.Fatalf("ShortestPath: weight %v, %v", total(p), err)
	}
	e, err = pdt.ExpandPruned(f, pairs, 1, nil)
	if err != nil || e.NumStates() != 2*n+1 {
		t.Fatalf("ExpandPruned: %v", err)
	}
	var rules []ops.Rule[T]
	for i := range n / 10 { // a chain of rules, each calling the next
		g := fsttest.String[T](1, fst.Label(i+11), 1)
		rules = append(rules, ops.Rule[T]{Label: fst.Label(i + 10), F: g})
	}
	for _, parser := range []pdt.Parser{pdt.LeftParser, pdt.LeftSRParser} {
		g, pairs, err := pdt.Replace(rules, 10, &pdt.ReplaceOptions{Parser: parser})
		if err != nil || len(pairs) != 1 || g.NumStates() != 4*len(rules) {
			t.Errorf("Replace: %d pairs, %d states, %v", len(pairs), g.NumStates(), err)
		}
	}
}

// exponential doubles the configurations with each pair of states.
func exponential(n int) (*fst.Vector[T], []fst.LabelPair) {
	f := fst.NewVector[T](n + 1)
	f.AddStates(n + 1)
	f.SetStart(0)
	for q := range n {
		for l := range fst.Label(2) {
			f.AddArc(fst.StateID(q), fst.Arc[T]{ILabel: 1 + l, OLabel: 1 + l, NextState: fst.StateID(q + 1)})
		}
	}
	f.SetFinal(fst.StateID(n), 0)
	return f, []fst.LabelPair{{From: 1, To: 3}, {From: 2, To: 4}}
}

func TestLimits(t *testing.T) {
	f, pairs := exponential(60)
	all := fst.NewVector[T](1)
	all.AddState()
	all.SetStart(0)
	all.SetFinal(0, 0)
	late, cancel := context.WithDeadline(context.Background(), time.Now().Add(30*time.Millisecond))
	defer cancel()
	for _, lim := range []ops.Limits{{States: 1000}, {Arcs: 1000}, {Bytes: 1 << 20}, {Ctx: late}} {
		_, err1 := pdt.Expand(f, pairs, &pdt.ExpandOptions{Limits: lim})
		_, err2 := pdt.ExpandMulti(f, pairs, []int32{1, 1}, &pdt.ExpandOptions{Limits: lim})
		_, err3 := pdt.Compose(f, all, pairs, &pdt.ComposeOptions{Filter: pdt.ExpandFilter, Limits: lim})
		for i, err := range []error{err1, err2, err3} {
			var limit *ops.LimitError
			if !errors.As(err, &limit) || lim.Ctx == nil && !errors.Is(err, ops.ErrLimit) || lim.Ctx != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%d, %+v: %v", i, lim, err)
			}
		}
	}
	searches, kinds := benchForward(4000, 3) // many more search states than the path has
	for name, lim := range map[string]ops.Limits{"states": {States: 1000}, "arcs": {Arcs: 4000}, "bytes": {Bytes: 1 << 16}} {
		_, err1 := pdt.ShortestPath(searches, kinds, &pdt.ShortestPathOptions{Limits: lim})
		_, err2 := pdt.ExpandPruned(searches, kinds, 1, &pdt.ExpandOptions{Limits: lim})
		for op, err := range map[string]error{"pdt.ShortestPath": err1, "pdt.ExpandPruned": err2} {
			var limit *ops.LimitError
			if !errors.As(err, &limit) || limit.Limit != name || limit.Op != op || limit.Built.States > 10_000 {
				t.Errorf("%s, %+v: %v", op, lim, err)
			}
		}
	}
	g, pairs := nested(1000)
	for _, lim := range []ops.Limits{{States: 100}, {Bytes: 1000}} {
		if _, err := pdt.ShortestPath(g, pairs, &pdt.ShortestPathOptions{Limits: lim}); !errors.Is(err, ops.ErrLimit) {
			t.Errorf("ShortestPath, %+v: %v", lim, err)
		}
		if _, err := pdt.Reverse[T, T](g, pairs, lim); !errors.Is(err, ops.ErrLimit) {
			t.Errorf("Reverse, %+v: %v", lim, err)
		}
		if _, _, err := pdt.Replace([]ops.Rule[T]{{Label: 9, F: g}}, 9, &pdt.ReplaceOptions{Limits: lim}); !errors.Is(err, ops.ErrLimit) {
			t.Errorf("Replace, %+v: %v", lim, err)
		}
	}
}

// A cycle that makes paths ever better, also through parentheses, is an error with
// every queue.
func TestNegativeCycle(t *testing.T) {
	for _, paren := range []bool{false, true} {
		f := fst.NewVector[T](4)
		f.AddStates(4)
		f.SetStart(0)
		f.SetFinal(3, 0)
		l := [2]fst.Label{5, 5}
		if paren {
			l = [2]fst.Label{1, 2}
		}
		f.AddArc(0, fst.Arc[T]{ILabel: l[0], OLabel: l[0], Weight: -1, NextState: 1})
		f.AddArc(1, fst.Arc[T]{ILabel: 7, OLabel: 7, NextState: 2})
		f.AddArc(2, fst.Arc[T]{ILabel: l[1], OLabel: l[1], NextState: 3})
		f.AddArc(3, fst.Arc[T]{ILabel: 9, OLabel: 9, NextState: 0})
		pairs := []fst.LabelPair{{From: 1, To: 2}}
		for _, kind := range []ops.Queue{ops.QueueFIFO, ops.QueueLIFO, ops.QueueStateOrder} {
			var state *ops.StateError
			if _, err := pdt.ShortestPath(f, pairs, &pdt.ShortestPathOptions{Queue: kind}); !errors.Is(err, ops.ErrNotClosed) || !errors.As(err, &state) {
				t.Errorf("paren %v, %v: %v", paren, kind, err)
			}
		}
	}
	if _, err := pdt.ShortestPath(fst.NewVector[T](0), nil, &pdt.ShortestPathOptions{Queue: ops.QueueTopOrder}); err == nil {
		t.Error("a queue that there is not was taken")
	}
}

// Any semiring: weights of the expansion are those of the balanced paths, summed.
func TestExpandLog(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 3))
	for range 50 {
		f, pairs := drawBalanced(rng, 2+rng.IntN(6))
		g, err := ops.Convert[semiring.Log64](f)
		if err != nil {
			t.Fatal(err)
		}
		e, err := pdt.Expand(g, pairs, nil)
		if err != nil {
			t.Fatal(err)
		}
		// The same through the grammar's own composition with all strings.
		all := fst.NewVector[semiring.Log64](1)
		all.AddState()
		all.SetStart(0)
		all.SetFinal(0, semiring.One[semiring.Log64]())
		for l := range fst.Label(3) {
			all.AddArc(0, fst.Arc[semiring.Log64]{ILabel: l + 1, OLabel: l + 1, Weight: semiring.One[semiring.Log64](), NextState: 0})
		}
		c, err := pdt.Compose(g, all, pairs, &pdt.ComposeOptions{Filter: pdt.ExpandFilter})
		if err != nil {
			t.Fatal(err)
		}
		x, err1 := ops.ShortestDistance[semiring.Log64](e, &ops.ShortestDistanceOptions{Reverse: true})
		y, err2 := ops.ShortestDistance[semiring.Log64](c, &ops.ShortestDistanceOptions{Reverse: true})
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if len(x) == 0 || len(y) == 0 {
			continue
		}
		if a, b := x[e.Start()], y[c.Start()]; !a.Near(b, 1e-9) {
			t.Fatalf("total weight %v, composed %v", a, b)
		}
	}
}
