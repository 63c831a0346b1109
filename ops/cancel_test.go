package ops_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
	"github.com/tropica-fst/tropica/semiring/semiringtest"
)

// Two paths on 9 1ⁿ whose cycles weigh 5 and 3, and beside them an automaton that makes
// many subsets, so that the construction looks for a breach of the twins property. Over
// MinMax the residuals are 5 and 3 from the first arc on, and it ends.
const cyclesOf5And3 = `
0 100 9 9 5
0 101 9 9 3
100 100 1 1 5
100 102 2 2 0
101 101 1 1 3
101 102 3 3 0
102 0
0 1 8 8 0
1 1 1 1 0
1 1 2 2 0
1 2 1 1 0
2 3 1 1 0
2 3 2 2 0
3 4 1 1 0
3 4 2 2 0
4 5 1 1 0
4 5 2 2 0
5 6 1 1 0
5 6 2 2 0
6 7 1 1 0
6 7 2 2 0
7 8 1 1 0
7 8 2 2 0
8 9 1 1 0
8 9 2 2 0
9 10 1 1 0
9 10 2 2 0
10 11 1 1 0
10 11 2 2 0
11 12 1 1 0
11 12 2 2 0
12 0
`

// A machine whose weights do not cancel is not held to the twins property.
func TestDeterminizeWithoutCancellation(t *testing.T) {
	f := fsttest.Must(fst.ReadText[semiring.MinMax](strings.NewReader(cyclesOf5And3), nil))
	det, err := ops.Determinize(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	if det.NumStates() < 1024 {
		t.Errorf("%d states: the construction has not come to look for a breach", det.NumStates())
	}
	if diff := cmp.Diff(fsttest.Relation(f, 6), fsttest.Relation(det, 6), fsttest.Within[semiring.MinMax](0)); diff != "" {
		t.Errorf("the relation has changed (-before +after):\n%s", diff)
	}
	_, err = ops.Twins(f, nil)
	var at *ops.StateError
	if !errors.Is(err, ops.ErrCapability) || !errors.As(err, &at) || at.State != 0 {
		t.Errorf("Twins: %v", err)
	}
	// Over Tropical the same machine is refused with a proof.
	g := fsttest.Must(fst.ReadText[semiring.Tropical](strings.NewReader(cyclesOf5And3), nil))
	var twins *ops.TwinsError
	if _, err := ops.Determinize(g, nil); !errors.As(err, &twins) {
		t.Errorf("over tropical: %v", err)
	}
}

// Max(1, 3) and max(2, 3) are one weight of one string, and pushing does not see it.
func TestEquivalentWithoutCancellation(t *testing.T) {
	read := func(text string) *fst.Vector[semiring.MinMax] {
		return fsttest.Must(fst.ReadText[semiring.MinMax](strings.NewReader(text), nil))
	}
	a, b := read("0 1 1 1 1\n1 3\n"), read("0 1 1 1 2\n1 3\n")
	if _, err := ops.Equivalent(a, b, 0); !errors.Is(err, ops.ErrCapability) {
		t.Errorf("Equivalent: %v", err)
	}
	if _, err := ops.Distinguish(a, b, 0); !errors.Is(err, ops.ErrCapability) {
		t.Errorf("Distinguish: %v", err)
	}
	// Weights 1̄ cancel.
	c := read("0 1 1 1 -Infinity\n1 -Infinity\n")
	if same, err := ops.Equivalent(c, c.Clone(), 0); err != nil || !same {
		t.Errorf("unweighted machines: %v, %v", same, err)
	}
	// A part of a product that is 0̄ does not cancel, though the product is not 0̄.
	type P = semiring.Product[semiring.Tropical, semiring.Tropical]
	p := fst.NewVector[P](1)
	p.SetStart(p.AddState())
	p.SetFinal(0, P{First: 1, Second: semiring.Zero[semiring.Tropical]()})
	if _, err := ops.Twins(p, nil); !errors.Is(err, ops.ErrCapability) {
		t.Errorf("Twins of a product with a part 0̄: %v", err)
	}
	p.SetFinal(0, P{First: 1, Second: 2})
	if _, err := ops.Twins(p, nil); err != nil {
		t.Errorf("Twins of a product: %v", err)
	}
}

// Without cancellation a minimized machine may be larger than it need be, but it has the
// relation that it had.
func TestMinimizeWithoutCancellation(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 3))
	smaller := 0
	for range 300 {
		f := fsttest.Random(rng, 1+rng.IntN(7), semiringtest.MinMax, fsttest.Options{Acceptor: true, Labels: 2, Start: true})
		det, err := ops.Determinize(f, &ops.DeterminizeOptions{Limits: ops.Limits{States: 500}})
		if errors.Is(err, ops.ErrLimit) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		m, err := ops.Minimize(det, &ops.MinimizeOptions{Delta: -1})
		if err != nil {
			t.Fatal(err)
		}
		if m.NumStates() < det.NumStates() {
			smaller++
		}
		want := fsttest.Relation(f, 5)
		for name, got := range map[string]*fst.Vector[semiring.MinMax]{"Determinize": det, "Minimize": m} {
			if diff := cmp.Diff(want, fsttest.Relation(got, 5), fsttest.Within[semiring.MinMax](0)); diff != "" {
				t.Fatalf("%s has changed the relation (-before +after):\n%s", name, diff)
			}
		}
	}
	if smaller < 50 {
		t.Errorf("only %d machines became smaller", smaller)
	}
}
