package structured

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/losses"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// every returns all strings of a lattice.
func every(l *Lattice) [][]int {
	var out [][]int
	l.Strings(func(s []int) bool {
		out = append(out, append([]int{}, s...))
		return true
	})
	return out
}

func randomString(rng *rand.Rand, alphabet, low, high int) []int {
	s := make([]int, low+rng.IntN(high-low+1))
	for i := range s {
		s[i] = rng.IntN(alphabet)
	}
	return s
}

// leastIn returns the least value over strings, by definition.
func leastIn(strings [][]int, value func(y []int) float64) (best []int, least float64) {
	least = math.Inf(1)
	for _, y := range strings {
		if f := value(y); f < least {
			best, least = y, f
		}
	}
	return best, least
}

// The worked counterexample of section 4.1: scaling a machine with several alignments of a
// string by a negative weight makes the worst of them count.
func TestSignRule(t *testing.T) {
	const a, b = 0, 1
	truths := [][]int{{a, b}, {b, a}, {a, a}}
	alpha := []float64{0.7, 0.5, -0.4}
	l := must(AllStrings(2, 3))(t)
	s := must(NewStrings(truths, 2, losses.Unit, nil))(t)
	value := func(y []int) float64 { return Risk(s.Loss, y, truths, alpha) }
	_, least := leastIn(every(l), value)
	near(t, "least", least, 0.4, 1e-12)
	for _, y := range [][]int{{b}, {b, b}, {b, a, b}} {
		near(t, fmt.Sprint(y), value(y), 0.4, 1e-12)
	}
	for _, method := range []Method{Auto, List, Intersection, BestFirst, KBest} {
		s := must(NewStrings(truths, 2, losses.Unit, &StringOptions{Method: method}))(t)
		d := must(s.DecodeIn(ctx, l, alpha))(t)
		near(t, string(method), d.Value, 0.4, 1e-12)
		if d.Exact != ExactOverSpace {
			t.Errorf("%s is %s", method, d.Exact)
		}
	}
	// The naive way: machines of alignments, scaled and intersected without determinization.
	u := must(losses.Unit.Transducer(2))(t)
	product := acceptor[semiring.Tropical64](l)
	for k, ref := range truths {
		m := must(ops.Compose[semiring.Tropical64](acceptor[semiring.Tropical64](l), u, nil))(t)
		ops.ArcSort(m, ops.Output)
		m = must(ops.Compose[semiring.Tropical64](m, fst.FromLabels[semiring.Tropical64](labelsOf(ref)), nil))(t)
		ops.Project(m, ops.Input)
		ops.MapWeights(m, func(w semiring.Tropical64) semiring.Tropical64 {
			if math.IsInf(float64(w), 1) {
				return w
			}
			return semiring.Tropical64(alpha[k]) * w
		})
		if err := ops.RmEpsilon(m, nil); err != nil {
			t.Fatal(err)
		}
		ops.ArcSort(m, ops.Input)
		product = must(ops.Intersect[semiring.Tropical64](product, m, nil))(t)
	}
	// It claims -0.8, below every F: for aba, whose F is 0.8, and for bab too.
	_, f, err := shortest(product)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "naive claim", f, -0.8, 1e-12)
	aba := fst.FromLabels[semiring.Tropical64](labelsOf([]int{a, b, a}))
	_, f, err = shortest(must(ops.Intersect[semiring.Tropical64](product, aba, nil))(t))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "naive claim of aba", f, -0.8, 1e-12)
	near(t, "its F", value([]int{a, b, a}), 0.8, 1e-12)
}

func labelsOf(s []int) []fst.Label {
	out := make([]fst.Label, len(s))
	for i, a := range s {
		out[i] = fst.Label(a + 1)
	}
	return out
}

// stringLosses are all kinds of losses that the engine has.
var stringLosses = map[string]StringLoss{
	"unit":           losses.Unit,
	"smith-waterman": losses.SmithWaterman,
	"costs":          losses.Edit{Match: 0.1, Sub: 1.3, Ins: 0.7, Del: 0.9},
	"tables": losses.Edit{SubTable: [][]float64{{0, 1.2}, {0.4, 0.1}}, InsTable: []float64{0.5, 0.9},
		DelTable: []float64{0.8, 0.3}},
	"local":   losses.Local{},
	"ngram":   losses.NGram{N: 2, C: 0.5},
	"hamming": losses.Hamming{},
}

// Test 10: all methods against enumeration, weights of both signs. What is proved exact is the
// least; what is bounded is bounded.
func TestStringsAgainstEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for name, loss := range stringLosses {
		exact := map[Method]int{}
		for trial := range 12 {
			truths := make([][]int, 1+rng.IntN(4))
			for i := range truths {
				truths[i] = randomString(rng, 2, 1, 4)
			}
			alpha := draw(rng, len(truths), signs[trial%3])
			var l *Lattice
			if trial%2 == 0 {
				l = must(AllStrings(2, 4))(t)
			} else {
				words := make([][]int, 8)
				for i := range words {
					words[i] = randomString(rng, 2, 1, 5)
				}
				l = must(WordLattice(words, 2))(t)
			}
			for _, method := range Methods {
				if method == Position && name != "hamming" && name != "positions" {
					continue
				}
				s := must(NewStrings(truths, 2, loss, &StringOptions{Method: method}))(t)
				value := func(y []int) float64 { return Risk(s.Loss, y, truths, alpha) }
				_, least := leastIn(every(l), value)
				d, err := s.DecodeIn(ctx, l, alpha)
				if err != nil {
					t.Fatalf("%s, %s: %v", name, method, err)
				}
				if !l.Has(d.Output) {
					t.Errorf("%s, %s: %v is no candidate", name, method, d.Output)
				}
				proved(t, name+" "+string(method), d, value(d.Output), least)
				if d.Exact == l.exactness() {
					exact[method]++
				} else if method != LocalSearch {
					t.Errorf("%s, %s: %s", name, method, d.Exact)
				}
				if method == LocalSearch && d.Exact != Heuristic && d.Gap() > 1e-9 {
					t.Errorf("a local search claims to be %s", d.Exact)
				}
			}
		}
		t.Logf("%s: exact %v of 12", name, exact)
	}
}

// With a budget that ends a search, the bound still holds, and nothing false is claimed.
func TestStringsWithinBudget(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	open := 0
	for trial := range 30 {
		truths := make([][]int, 6)
		for i := range truths {
			truths[i] = randomString(rng, 3, 2, 6)
		}
		alpha := draw(rng, len(truths), signs[trial%3])
		l := must(AllStrings(3, 5))(t)
		for _, method := range []Method{BestFirst, KBest, Auto} {
			s := must(NewStrings(truths, 3, losses.Unit, &StringOptions{Method: method, Budget: 1 + rng.IntN(60)}))(t)
			value := func(y []int) float64 { return Risk(s.Loss, y, truths, alpha) }
			_, least := leastIn(every(l), value)
			d, err := s.DecodeIn(ctx, l, alpha)
			if err != nil {
				continue // nothing was reached
			}
			proved(t, string(method), d, value(d.Output), least)
			if d.Exact == Bounded {
				open++
			}
		}
		s := must(NewStrings(truths, 3, losses.Unit, &StringOptions{Method: BestFirst, Bytes: 4096}))(t)
		value := func(y []int) float64 { return Risk(s.Loss, y, truths, alpha) }
		_, least := leastIn(every(l), value)
		if d, err := s.DecodeIn(ctx, l, alpha); err == nil {
			proved(t, "little memory", d, value(d.Output), least)
		}
	}
	if open == 0 {
		t.Error("no search was ended by its budget")
	}
}

// lo ≤ what an alignment costs yet ≤ hi, for strings that go on: the bound of a prefix is below
// every string that begins with it.
func TestBoundsOfPrefixes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for name, loss := range stringLosses {
		for trial := range 60 {
			refs := [][]int{randomString(rng, 2, 0, 5)}
			alpha := draw(rng, 1, signs[trial%2*2]) // positive or negative
			r, ok := newRows(loss, refs, alpha)
			if !ok {
				break
			}
			y := randomString(rng, 2, 0, 6)
			row, next := make([]float64, r.width), make([]float64, r.width)
			r.start(row)
			for t2 := 0; ; t2++ {
				left := len(y) - t2
				short, long := max(0, left-rng.IntN(2)), left+rng.IntN(3)
				if b, v := r.bound(row, int32(short), int32(long)), alpha[0]*loss.Value(y, refs[0]); b > v+1e-9 {
					t.Errorf("%s: bound %v of %v above %v of %v (weight %v, %d to %d to come)", name, b, y[:t2], v, y,
						alpha[0], short, long)
				}
				if t2 == len(y) {
					break
				}
				r.step(next, row, y[t2])
				row, next = next, row
			}
			near(t, name+": rows", r.value(row), alpha[0]*loss.Value(y, refs[0]), 1e-12)
		}
	}
}

// Losses of n-gram counts, against enumeration.
func TestGramStrings(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 3))
	exact := map[GramLoss]int{}
	for trial := range 45 {
		truths := make([][]int, 1+rng.IntN(4))
		for i := range truths {
			truths[i] = randomString(rng, 2, 1, 5)
		}
		alpha := draw(rng, len(truths), signs[trial%3])
		l := must(AllStrings(2, 5))(t)
		n := 1 + rng.IntN(3)
		for _, loss := range []GramLoss{GramProduct, GramSquared, GramCosine} {
			g := must(NewGramStrings(truths, n, loss, nil))(t)
			value := func(y []int) float64 { return Risk(g.Loss, y, truths, alpha) }
			_, least := leastIn(every(l), value)
			d := must(g.DecodeIn(ctx, l, alpha))(t)
			proved(t, string(loss), d, value(d.Output), least)
			if d.Exact == ExactOverSpace {
				exact[loss]++
			}
			if d, err := must(NewGramStrings(truths, n, loss, &StringOptions{Budget: 3}))(t).DecodeIn(
				ctx, l, alpha); err == nil {
				proved(t, string(loss), d, value(d.Output), least)
			}
		}
	}
	if exact[GramProduct] != 45 || exact[GramSquared] != 45 || exact[GramCosine] != 45 {
		t.Errorf("exact: %v of 45", exact)
	}
}

// Strings come in the order of their weights, each once.
func TestInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 3))
	truths := [][]int{randomString(rng, 2, 3, 3), randomString(rng, 2, 4, 4)}
	alpha := []float64{0.7, -0.3}
	l := must(AllStrings(2, 4))(t)
	s := must(NewStrings(truths, 2, losses.Unit, nil))(t)
	b := must(s.product(ctx, l, truths, alpha))(t)
	last, seen := math.Inf(-1), map[string]bool{}
	for f, y := range inOrder(b, 1<<20) {
		near(t, "weight", f, Risk(s.Loss, y, truths, alpha), 1e-9)
		if f < last-1e-12 || seen[fmt.Sprint(y)] {
			t.Errorf("%v of %v after %v", f, y, last)
		}
		last = f
		seen[fmt.Sprint(y)] = true
	}
	if len(seen) != 31 {
		t.Errorf("%d strings of 31", len(seen))
	}
}

func TestLattices(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 3))
	words := make([][]int, 30)
	for i := range words {
		words[i] = randomString(rng, 3, 0, 4)
	}
	sorted := slices.Clone(words)
	slices.SortFunc(sorted, slices.Compare[[]int])
	sorted = slices.CompactFunc(sorted, slices.Equal[[]int])
	l := must(WordLattice(words, 3))(t)
	same := func(what string, got, want [][]int) {
		t.Helper()
		if !slices.EqualFunc(got, want, slices.Equal[[]int]) {
			t.Errorf("%s: %d strings, want %d", what, len(got), len(want))
		}
	}
	same("words", every(l), sorted)
	if l.Count() != float64(len(sorted)) || !l.tree {
		t.Errorf("%v strings of %d", l.Count(), len(sorted))
	}
	again := must(NewLattice(ctx, l.Acceptor(), 3))(t)
	same("through the engine", every(again), sorted)
	if again.States() > l.States() {
		t.Errorf("%d states of %d", again.States(), l.States())
	}
	space := every(must(AllStrings(3, 6))(t))
	x := []int{0, 2, 1, 1}
	within := func(strings [][]int, k float64) (out [][]int) {
		for _, y := range strings {
			if losses.Unit.Value(y, x) <= k {
				out = append(out, y)
			}
		}
		return out
	}
	same("near", every(must(Near(ctx, x, 2, 3, nil))(t)), within(space, 2))
	lex := must(NewLexicon(words, 3))(t)
	for k := range 4 {
		same("within", lex.Within(x, k), within(sorted, float64(k)))
	}
	// Only pairs of symbols that occurred, at the right ends.
	grams := must(NewGrams([][]int{{0, 1}, {1, 2, 1}}, 2))(t)
	for _, y := range every(must(Near(ctx, []int{0, 1}, 2, 3, grams))(t)) {
		if len(y) == 0 || y[0] == 2 || y[len(y)-1] != 1 {
			t.Errorf("%v has a pair that never occurred", y)
		}
		for i := range len(y) - 1 {
			if p := [2]int{y[i], y[i+1]}; p != [2]int{0, 1} && p != [2]int{1, 2} && p != [2]int{2, 1} {
				t.Errorf("%v has a pair that never occurred", y)
			}
		}
	}
	if _, err := Near(ctx, []int{5}, 0, 3, nil); !errors.Is(err, ErrEmpty) {
		t.Errorf("a symbol outside the alphabet: %v", err)
	}
	if _, err := WordLattice(nil, 3); !errors.Is(err, ErrEmpty) {
		t.Errorf("no word: %v", err)
	}
	cyclic := fst.NewVector[semiring.Log64](1)
	cyclic.AddStates(1)
	cyclic.SetStart(0)
	cyclic.AddArc(0, fst.Arc[semiring.Log64]{ILabel: 1, OLabel: 1, NextState: 0})
	if _, err := NewLattice(ctx, cyclic, 3); !errors.Is(err, losses.ErrNotLattice) {
		t.Errorf("a cycle: %v", err)
	}
}

// A sketch with a search is exact over the lexicon; its shortlist begins near the best.
func TestSketch(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 3))
	words := make([][]int, 2000)
	for i := range words {
		words[i] = randomString(rng, 5, 3, 7)
	}
	lex := must(NewLexicon(words, 5))(t)
	found := 0
	for trial := range 6 {
		truths := make([][]int, 12)
		for i := range truths {
			truths[i] = words[rng.IntN(len(words))]
		}
		alpha := draw(rng, 12, signs[trial%3])
		s := must(NewStrings(truths, 5, losses.Unit, &StringOptions{Budget: 1 << 20}))(t)
		k := must(NewSketch(s, lex, &SketchOptions{Landmarks: 32, Sample: 300, Short: 50, Workers: 1}))(t)
		value := func(y []int) float64 { return Risk(s.Loss, y, truths, alpha) }
		_, least := leastIn(lex.Words(), value)
		d := must(k.Decode(ctx, alpha))(t)
		proved(t, "sketch", d, value(d.Output), least)
		if d.Exact != ExactOverCandidates {
			t.Errorf("sketch is %s", d.Exact)
		}
		if _, f := leastIn(k.Shortlist(alpha, 50), value); f < least+0.05*norm1(alpha) {
			found++
		}
	}
	if found < 4 {
		t.Errorf("the shortlist of 50 words of %d had a good one in %d of 6", len(lex.Words()), found)
	}
}

func TestStringsRefuse(t *testing.T) {
	l := must(AllStrings(2, 3))(t)
	if _, err := NewStrings([][]int{{0}}, 2, losses.NGram{N: 2}, nil); !errors.Is(err, ErrLoss) {
		t.Errorf("an n-gram loss without a floor: %v", err)
	}
	if _, err := NewStrings([][]int{{0, 2}}, 2, losses.Unit, nil); !errors.Is(err, ErrOutputs) {
		t.Errorf("a symbol outside the alphabet: %v", err)
	}
	if _, err := NewStrings([][]int{{0}}, 2, losses.Unit, &StringOptions{Method: "guess"}); err == nil {
		t.Error("a method that is none")
	}
	s := must(NewStrings([][]int{{0}}, 2, losses.Unit, nil))(t)
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	big := must(AllStrings(2, 20))(t)
	for _, method := range []Method{Auto, BestFirst, KBest, LocalSearch} {
		s := must(NewStrings([][]int{{0, 1, 1}}, 2, losses.Unit, &StringOptions{Method: method}))(t)
		if _, err := s.DecodeIn(stopped, big, []float64{-1}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, cancelled: %v", method, err)
		}
	}
	if _, err := s.DecodeIn(ctx, l, []float64{1, 2}); err == nil {
		t.Error("weights of another number pass")
	}
	if d := must(s.DecodeIn(ctx, l, []float64{0}))(t); d.Value != 0 {
		t.Errorf("no weight: %+v", d)
	}
}
