package pdt_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/ops/pdt"
	"github.com/tropica-fst/tropica/semiring"
)

// leastDerivation is the weight of the best path whose parentheses balance, by definition: the least numbers D with D(q,q) = 0
// that no arc behind a path, and no parentheses around one behind another, can lower.
func leastDerivation(f *fst.Vector[T], pairs []fst.LabelPair) float64 {
	n := f.NumStates()
	if f.Start() == fst.NoState {
		return math.Inf(1)
	}
	d := make([][]float64, n)
	for q := range d {
		d[q] = make([]float64, n)
		for r := range d[q] {
			if r != q {
				d[q][r] = math.Inf(1)
			}
		}
	}
	closes := map[fst.Label]fst.Label{}
	paren := map[fst.Label]bool{}
	for _, p := range pairs {
		closes[p.From] = p.To
		paren[p.From], paren[p.To] = true, true
	}
	for lowered := true; lowered; {
		lowered = false
		lower := func(at *float64, w float64) {
			if w < *at {
				*at, lowered = w, true
			}
		}
		for q := range d {
			for r := range fst.StateID(n) {
				for _, a := range f.Arcs(r) {
					if !paren[a.ILabel] {
						lower(&d[q][a.NextState], d[q][r]+float64(a.Weight))
						continue
					}
					closing, opens := closes[a.ILabel]
					if !opens {
						continue
					}
					for s := range fst.StateID(n) {
						for _, b := range f.Arcs(s) {
							if b.ILabel == closing {
								lower(&d[q][b.NextState], d[q][r]+float64(a.Weight)+d[a.NextState][s]+float64(b.Weight))
							}
						}
					}
				}
			}
		}
	}
	best := math.Inf(1)
	for q := range fst.StateID(n) {
		best = min(best, d[f.Start()][q]+float64(f.Final(q)))
	}
	return best
}

// The best path is found where the stack is not bounded, too: of the least weight, and one of f whose parentheses balance.
// What OpenFst finds, where it does not give up, weighs as much.
func TestShortestPathUnbounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 7))
	unbounded, deep, empty := 0, 0, 0
	for i := range 20000 {
		f, pairs, _ := drawPDT(rng, 2+rng.IntN(12))
		if i%3 == 0 {
			f = reweighted(rng, f)
		}
		if pdt.Bounded(f, pairs, ops.Limits{}) == nil {
			continue
		}
		unbounded++
		want := leastDerivation(f, pairs)
		p, err := pdt.ShortestPath(f, pairs, &pdt.ShortestPathOptions{KeepParens: true})
		if err != nil {
			t.Fatalf("%v\n%s", err, text(f))
		}
		if p.NumStates() == 0 {
			if empty++; !math.IsInf(want, 1) {
				t.Fatalf("no path, and there is one of weight %v\n%s", want, text(f))
			}
			continue
		}
		if got := float64(total(p)); got != want {
			t.Fatalf("a path of weight %v, not %v:\n%s\nof\n%s", got, want, text(p), text(f))
		}
		if follows(t, f, p, pairs) > 1 {
			deep++
		}
		plain := fsttest.Must(pdt.ShortestPath(f, pairs, nil))
		if plain.NumStates() != p.NumStates() || total(plain) != total(p) {
			t.Fatal("without parentheses another path")
		}
	}
	t.Logf("%d unbounded, %d without a path, %d deep", unbounded, empty, deep)
	if unbounded < 1500 || unbounded-empty < 1000 || deep < 20 {
		t.Errorf("%d unbounded machines, %d without a path, %d deep: the draw is no good", unbounded, empty, deep)
	}
}

// follows checks that p is a path of f whose parentheses balance, and returns how deep they are.
func follows(t *testing.T, f, p *fst.Vector[T], pairs []fst.LabelPair) (deepest int) {
	t.Helper()
	var stack []fst.Label
	at := map[fst.StateID]bool{f.Start(): true}
	q := p.Start()
	for ; len(p.Arcs(q)) > 0; q = p.Arcs(q)[0].NextState {
		a := p.Arcs(q)[0]
		next := map[fst.StateID]bool{}
		for from := range at {
			for _, e := range f.Arcs(from) {
				if e.ILabel == a.ILabel && e.OLabel == a.OLabel && e.Weight == a.Weight {
					next[e.NextState] = true
				}
			}
		}
		at = next
		for _, pair := range pairs {
			switch {
			case a.ILabel == pair.From:
				stack = append(stack, pair.To)
				deepest = max(deepest, len(stack))
			case a.ILabel == pair.To && (len(stack) == 0 || stack[len(stack)-1] != pair.To):
				t.Fatalf("parentheses do not balance:\n%s", text(p))
			case a.ILabel == pair.To:
				stack = stack[:len(stack)-1]
			}
		}
	}
	final := false
	for from := range at {
		final = final || f.Final(from) == p.Final(q)
	}
	if len(stack) > 0 || !final {
		t.Fatalf("no path of the machine:\n%s\nof\n%s", text(p), text(f))
	}
	return deepest
}

// A rule that calls itself, as many of one label as of another: it ends at once where each turn costs, and has no best path where
// each turn improves it.
func TestShortestPathGrammar(t *testing.T) {
	f := fst.NewVector[T](0)
	f.AddStates(6)
	f.SetStart(0)
	f.SetFinal(5, 0)
	pairs := []fst.LabelPair{{From: 8, To: 9}}
	f.AddArc(0, fst.Arc[T]{ILabel: 8, OLabel: 8, NextState: 1})
	f.AddArc(1, fst.Arc[T]{ILabel: 1, OLabel: 1, Weight: 1, NextState: 2}) // S -> a S b
	f.AddArc(2, fst.Arc[T]{ILabel: 8, OLabel: 8, NextState: 1})
	f.AddArc(1, fst.Arc[T]{ILabel: 3, OLabel: 3, Weight: 2, NextState: 4}) // S -> c
	f.AddArc(4, fst.Arc[T]{ILabel: 9, OLabel: 9, NextState: 3})            // from the inner one
	f.AddArc(3, fst.Arc[T]{ILabel: 2, OLabel: 2, Weight: 1, NextState: 4})
	f.AddArc(4, fst.Arc[T]{ILabel: 9, OLabel: 9, Weight: 4, NextState: 5}) // from the outermost
	p := fsttest.Must(pdt.ShortestPath(f, pairs, nil))
	if got := total(p); got != 6 {
		t.Errorf("weight %v, not 6\n%s", got, text(p))
	}
	improving := f.Clone()
	for i := range improving.MutableArcs(1) {
		improving.MutableArcs(1)[i].Weight -= 3
	}
	improving.SetProperties(0, fst.AllProperties)
	if _, err := pdt.ShortestPath(improving, pairs, nil); !errors.Is(err, ops.ErrNotClosed) {
		t.Errorf("a rule that improves itself: %v", err)
	}
	if _, err := pdt.ShortestPath(f, pairs, &pdt.ShortestPathOptions{Limits: ops.Limits{States: 3}}); !errors.Is(err, ops.ErrLimit) {
		t.Errorf("beyond a limit: %v", err)
	}
}

// With and without an order of the searches the best weight is the same, and that is known after few of the search states.
func TestShortestPathInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 8))
	paths, all, some := 0, 0, 0
	for i := range 150 {
		f, pairs := drawRecursive(rng, 20+rng.IntN(40), weightOf)
		if i%5 == 0 {
			f.AddArc(fst.StateID(rng.IntN(f.NumStates())), fst.Arc[T]{ILabel: pairs[0].From, OLabel: 1, Weight: 1, NextState: f.Start()})
		}
		best, states := pdt.RecursiveDistance(f, pairs, true)
		want, most := pdt.RecursiveDistance(f, pairs, false)
		if best != want {
			t.Fatalf("in order %v, by rounds %v\n%s", best, want, text(f))
		}
		if all, some = all+most, some+states; want < semiring.Zero[T]() {
			paths++
		}
	}
	t.Logf("%d paths, %d search states of %d", paths, some, all)
	if paths < 50 || some > all/4 {
		t.Error("the draw is no good, or the order")
	}
}

// Of thousands of states, where every search comes to most of them: the cube of their number are the ways to combine them.
func TestShortestPathLarge(t *testing.T) {
	found := 0
	for seed := range uint64(10) {
		f, pairs := benchRecursive(3000, 4, seed)
		p, err := pdt.ShortestPath(f, pairs, &pdt.ShortestPathOptions{KeepParens: true, Limits: ops.Limits{States: 100_000}})
		if err != nil {
			t.Fatal(err)
		}
		if p.NumStates() > 0 {
			found++
			follows(t, f, p, pairs)
		}
	}
	if found < 5 {
		t.Errorf("only %d have a path", found)
	}
}

// A parenthesis that costs much comes first to where one leads that costs little.
func TestShortestPathEnteredBetter(t *testing.T) {
	f := fst.NewVector[T](5)
	f.AddStates(5)
	f.SetStart(0)
	f.SetFinal(4, 0)
	add := func(q fst.StateID, l fst.Label, w T, next fst.StateID) {
		f.AddArc(q, fst.Arc[T]{ILabel: l, OLabel: l, Weight: w, NextState: next})
	}
	add(0, 8, 10, 2)
	add(0, 1, 1, 1)
	add(0, 2, 5, 4)
	add(1, 8, 0, 2)
	add(2, 3, 1, 3)
	add(3, 9, 0, 4)
	if best, _ := pdt.RecursiveDistance(f, []fst.LabelPair{{From: 8, To: 9}}, true); best != 2 {
		t.Errorf("weight %v, not 2", best)
	}
}
