package ops

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// Looking ahead leaves the relation as it is, and makes no more pairs; without pushing the
// trimmed machine has the same states and arcs.
func lookAheadKeepsRelation[W semiring.Approx[W]](t *testing.T, draw func(*rand.Rand) W, push bool) {
	rng := rand.New(rand.NewPCG(6, 6))
	fewer := 0
	for trial := range 500 {
		o := fsttest.Options{Epsilon: []float64{0, 0.2, 0.6}[trial%3], Labels: 4, Cyclic: trial%5 == 0, Final: 0.25}
		a, b := fsttest.Random(rng, 1+rng.IntN(7), draw, o), fsttest.Random(rng, 1+rng.IntN(5), draw, fsttest.Options{Epsilon: 0.1, Labels: 4, Final: 0.25})
		a, b = sortedSides(a, b, 1+rng.IntN(3))
		filter := []Filter{SequenceFilter, AltSequenceFilter, MatchFilter}[rng.IntN(3)]
		plain := fsttest.Must(Compose[W](a, b, &ComposeOptions{Filter: filter, KeepDead: true}))
		trimmed := fsttest.Must(Compose[W](a, b, &ComposeOptions{Filter: filter}))
		want := fsttest.Relation(plain, 5)
		for _, side := range []LookAheadSide{LookAheadAuto, LookAheadFirst, LookAheadSecond} {
			co := &ComposeOptions{Filter: filter, KeepDead: true, LookAhead: &LookAhead{Side: side, PushWeights: push}}
			eager, err := Compose[W](a, b, co)
			if err != nil {
				t.Fatal(err)
			}
			lazy, err := ComposeLazy[W](a, b, co, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, got := range []fst.Fst[W]{eager, lazy} {
				if diff := cmp.Diff(want, fsttest.Relation(got, 5), fsttest.Within[W](1e-9)); diff != "" {
					t.Fatalf("trial %d, side %d: mismatch (-want +got):\n%s", trial, side, diff)
				}
			}
			if eager.NumStates() > plain.NumStates() {
				t.Fatalf("trial %d: %d states, %d without looking ahead", trial, eager.NumStates(), plain.NumStates())
			}
			fewer += plain.NumStates() - eager.NumStates()
			co.KeepDead = false
			if got := fsttest.Must(Compose[W](a, b, co)); got.NumStates() != trimmed.NumStates() || got.NumArcs() != trimmed.NumArcs() {
				t.Fatalf("trial %d: %d states and %d arcs trimmed, want %d and %d", trial, got.NumStates(), got.NumArcs(), trimmed.NumStates(), trimmed.NumArcs())
			}
		}
	}
	if fewer < 500 {
		t.Errorf("only %d states were saved", fewer)
	}
}

func TestLookAheadKeepsRelation(t *testing.T) {
	t.Run("tropical", func(t *testing.T) { lookAheadKeepsRelation(t, drawTropical, false) })
	t.Run("log64", func(t *testing.T) { lookAheadKeepsRelation(t, drawLog64, false) })
	t.Run("tropical pushed", func(t *testing.T) { lookAheadKeepsRelation(t, drawTropical, true) })
	t.Run("probability pushed", func(t *testing.T) { lookAheadKeepsRelation(t, drawProbability, true) })
}

// lexicon is a tree of words spelled as letters, whose last arc puts out the word, closed under
// concatenation; grammar is a random model of pairs of words.
func lexicon(rng *rand.Rand, words int) *fst.Vector[semiring.Tropical] {
	v := fst.NewVector[semiring.Tropical](0)
	v.AddState()
	v.SetStart(0)
	v.SetFinal(0, 0)
	next := map[[2]fst.StateID]fst.StateID{}
	for w := range words {
		q := fst.StateID(0)
		n := 3 + rng.IntN(5)
		for i := range n {
			l := fst.Label(1 + rng.IntN(20))
			if i == n-1 {
				v.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: l, OLabel: fst.Label(w + 1), NextState: 0})
				break
			}
			k := [2]fst.StateID{q, fst.StateID(l)}
			to, ok := next[k]
			if !ok {
				to = v.AddState()
				next[k] = to
				v.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: l, NextState: to})
			}
			q = to
		}
	}
	return v
}

func grammar(rng *rand.Rand, words, states, degree int) *fst.Vector[semiring.Tropical] {
	v := fst.NewVector[semiring.Tropical](0)
	v.AddStates(states)
	v.SetStart(0)
	for q := range fst.StateID(states) {
		v.SetFinal(q, 1)
		for range degree {
			l := fst.Label(1 + rng.IntN(words))
			v.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: l, OLabel: l, Weight: semiring.Tropical(rng.IntN(40)) / 4, NextState: fst.StateID(rng.IntN(states))})
		}
	}
	return ArcSorted(v, Input)
}

// However many arcs lead from one state to where the same labels are reached, it is the labels that take memory, and bytes are bounded
// while a state is at hand.
func TestReachedLabelsOfParallelArcs(t *testing.T) {
	type W = semiring.Tropical
	const parallel, labels = 5000, 1000
	f := fst.NewVector[W](4)
	f.AddStates(4)
	f.SetStart(0)
	f.SetFinal(3, 0)
	f.AddArc(0, fst.Arc[W]{ILabel: 1, NextState: 2})
	for l := range fst.Label(2 * labels) { // 2 has all labels, and 1 every other one
		f.AddArc(2, fst.Arc[W]{ILabel: 1, OLabel: l + 1, NextState: 3})
		if l%2 == 0 {
			f.AddArc(1, fst.Arc[W]{ILabel: 1, OLabel: l + 1, NextState: 3})
		}
	}
	for l := range fst.Label(parallel) {
		f.AddArc(0, fst.Arc[W]{ILabel: l + 2, NextState: 1})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, _, err := LabelLookAhead[W](f, Output, Limits{Bytes: 1 << 20}); err != nil {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if made := after.TotalAlloc - before.TotalAlloc; made > 5<<20 {
		t.Errorf("%d bytes were made for %d arcs to a state that reaches %d labels", made, parallel, labels)
	}
	var limit *LimitError
	if _, _, err := LabelLookAhead[W](f, Output, Limits{Bytes: 10_000}); !errors.As(err, &limit) || limit.Limit != "bytes" {
		t.Errorf("with 10,000 bytes: %v", err)
	}
}

// On a lexicon most pairs are dead ends; looking ahead makes nearly the live ones alone.
func TestLookAheadOnLexicon(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	l, g := lexicon(rng, 500), grammar(rng, 500, 30, 4)
	plain := fsttest.Must(Compose[semiring.Tropical](l, g, &ComposeOptions{KeepDead: true}))
	trimmed := fsttest.Must(Compose[semiring.Tropical](l, g, nil))
	ahead := fsttest.Must(Compose[semiring.Tropical](l, g, &ComposeOptions{KeepDead: true, LookAhead: &LookAhead{}}))
	if 10*ahead.NumStates() > plain.NumStates() || ahead.NumStates() != trimmed.NumStates() {
		t.Errorf("%d states, %d of them live, %d without looking ahead", ahead.NumStates(), trimmed.NumStates(), plain.NumStates())
	}
}

// A lexicon of 5000 words and a model of 200 states: with what comes to nothing, and without.
func BenchmarkComposeLookAhead(b *testing.B) {
	for _, words := range []int{1000, 5000} {
		rng := rand.New(rand.NewPCG(8, 8))
		l, g := lexicon(rng, words), grammar(rng, words, 200, 10)
		for _, c := range []struct {
			name string
			o    *ComposeOptions
		}{{"none", nil}, {"labels", &ComposeOptions{LookAhead: &LookAhead{}}}, {"weights", &ComposeOptions{LookAhead: &LookAhead{PushWeights: true}}}} {
			b.Run(fmt.Sprintf("words=%d/ahead=%s", words, c.name), func(b *testing.B) {
				for b.Loop() {
					if _, err := Compose[semiring.Tropical](l, g, c.o); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
