package ops

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// No law fails on random machines, and each is tried on some.
func checkHolds[W semiring.Component[W]](t *testing.T, draw func(*rand.Rand) W) {
	rng := rand.New(rand.NewPCG(9, 9))
	compared := map[string]int{}
	for trial := range 40 {
		f := fsttest.Random(rng, 1+rng.IntN(5), draw, fsttest.Options{Epsilon: 0.2, Cyclic: trial%4 == 3, Acceptor: trial%2 == 0})
		results, err := Check[W](f, &CheckOptions{MaxLength: 4, MaxPairs: 25, Limits: Limits{States: 500}})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			compared[r.Law] += r.Compared
			if r.Witness != "" {
				t.Errorf("trial %d: %s fails: %s", trial, r.Law, r.Witness)
			}
		}
	}
	if len(compared) < 25 {
		t.Errorf("%d laws", len(compared))
	}
	for law, n := range compared {
		if n < 20 {
			t.Errorf("%s: compared %d times only", law, n)
		}
	}
}

func TestCheckHolds(t *testing.T) {
	t.Run("tropical", func(t *testing.T) { checkHolds(t, drawTropical) })
	t.Run("log64", func(t *testing.T) { checkHolds(t, drawLog64) })
	t.Run("probability", func(t *testing.T) { checkHolds(t, drawProbability) })
}

// An operation that is wrong is found out, whether it loses a string, makes one up, or
// changes a weight, and with it the shortest pair for which it is.
func TestCheckFindsFaults(t *testing.T) {
	read := func(text string) *fst.Vector[semiring.Tropical] {
		return fsttest.Must(fst.ReadText[semiring.Tropical](strings.NewReader(text), nil))
	}
	f := read("0 1 1 1 1\n1 2 2 0 1\n2 2 0 0 0\n1 1\n2\n")
	for name, wrong := range map[string]string{
		"a string less":   "0 1 1 1 1\n1 2 2 0 1\n1 1\n",
		"another weight":  "0 1 1 1 1\n1 2 2 0 2\n1 1\n2\n",
		"a string more":   "0 1 1 1 1\n1 2 2 0 1\n1 1\n2 0.0\n2 1 2 2 0\n",
		"no string":       "",
		"an output moved": "0 1 1 0 1\n1 2 2 1 1\n1 1\n2\n",
	} {
		c := &checker[semiring.Tropical]{f: f, CheckOptions: CheckOptions{MaxLength: 5, MaxPairs: 50, Delta: 1e-6}}
		r := c.compare(relationLaw[semiring.Tropical]{name: name, apply: func(*fst.Vector[semiring.Tropical]) (*fst.Vector[semiring.Tropical], error) {
			return read(wrong), nil
		}})
		if r.Witness == "" || r.Skipped != nil {
			t.Errorf("%s: nothing found (%v)", name, r.Skipped)
		}
		r = c.compare(relationLaw[semiring.Tropical]{name: "right", apply: func(g *fst.Vector[semiring.Tropical]) (*fst.Vector[semiring.Tropical], error) { return g, nil }})
		if r.Witness != "" || r.Compared != 2 {
			t.Errorf("nothing done: %+v", r)
		}
	}
}

// A path that only reads gives Synchronize ever longer strings to hold: bytes are bounded
// before the states are so many that these take gigabytes.
func TestCheckBoundsBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	const n = 12_000
	f := fst.NewVector[semiring.Tropical](n)
	f.AddStates(n)
	f.SetStart(0)
	f.SetFinal(n-1, 0)
	for q := range fst.StateID(n - 1) {
		f.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: 1, NextState: q + 1})
	}
	results, err := Check(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Law == "synchronize keeps the relation" {
			var limit *LimitError
			if !errors.As(r.Skipped, &limit) || limit.Limit != "bytes" {
				t.Errorf("stopped by %v, want a limit on bytes", r.Skipped)
			}
			return
		}
	}
	t.Error("synchronize was not tried")
}
