package fst_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// The paths, gathered by their strings, are the relation, which is enumerated
// by other code.
func TestPathsAgainstRelation(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 41))
		v := fsttest.Random(rng, rng.IntN(8), tropical, fsttest.Options{Epsilon: 0.2, Start: true})
		for _, f := range []fst.Fst[semiring.Tropical]{v, blind{v}} {
			got := map[fsttest.Pair]semiring.Tropical{}
			for p := range fst.Paths(f, nil) {
				k := fsttest.Pair{In: str(p.Input()), Out: str(p.Output())}
				if old, ok := got[k]; ok {
					got[k] = old.Plus(p.Weight)
				} else if !semiring.IsZero(p.Weight) {
					got[k] = p.Weight
				}
			}
			if diff := cmp.Diff(fsttest.Relation(f, -1), got, fsttest.Within[semiring.Tropical](1e-4)); diff != "" {
				t.Fatalf("seed %d: %s", seed, diff)
			}
		}
	}
}

// blind hides that the states can be counted.
type blind struct{ fst.Fst[semiring.Tropical] }

func str(labels []fst.Label) string { return strings.Trim(fmt.Sprint(labels), "[]") }

func TestPathsBounds(t *testing.T) {
	// 0 loops on a, and leaves to 1 (final) on b; 2 is a trap with a loop.
	v := readText[semiring.Tropical](t, "0 2 9\n0 0 1 1\n0 1 2 2\n1 0.5\n2 2 9\n", &fst.ReadTextOptions{Acceptor: true})
	collect := func(o *fst.PathsOptions) (s []string) {
		for p := range fst.Paths[semiring.Tropical](v, o) {
			s = append(s, fmt.Sprintf("%s/%v", str(p.Input()), p.Weight))
			if len(s) == 10 {
				break
			}
		}
		return s
	}
	if got, want := collect(&fst.PathsOptions{MaxArcs: 3}), []string{"1 1 2/4.5", "1 2/3.5", "2/2.5"}; !slices.Equal(got, want) {
		t.Errorf("at most three arcs: %q, want %q", got, want)
	}
	if got := collect(&fst.PathsOptions{MaxArcs: 50, MaxPaths: 2}); len(got) != 2 || len(strings.Fields(got[0])) != 50 {
		t.Errorf("two paths: %q", got)
	}
	var empty fst.Vector[semiring.Tropical]
	for range fst.Paths[semiring.Tropical](&empty, nil) {
		t.Error("a path of the empty machine")
	}
}

// A deep machine must not exhaust the stack, nor a wide trap the time.
func TestPathsDeep(t *testing.T) {
	const n = 300_000
	v := fst.NewVector[semiring.Tropical](n)
	v.AddStates(n)
	v.SetStart(0)
	for q := range fst.StateID(n - 1) {
		v.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: q + 1})
	}
	v.SetFinal(n-1, 0)
	trap := v.AddState()
	for range 64 { // 2⁶⁴ ways that end nowhere
		next := v.AddState()
		v.AddArc(trap, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: next})
		v.AddArc(trap, fst.Arc[semiring.Tropical]{ILabel: 2, OLabel: 2, NextState: next})
		trap = next
	}
	v.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: n})
	count := 0
	for p := range fst.Paths[semiring.Tropical](v, nil) {
		count += len(p.Arcs)
	}
	if count != n-1 {
		t.Fatalf("%d arcs", count)
	}
}
