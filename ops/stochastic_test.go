package ops_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

func TestStochastic(t *testing.T) {
	f := fst.NewVector[semiring.Log64](4)
	f.AddStates(4) // the last one is out of reach, and not stochastic
	f.SetStart(0)
	arc := func(from, to fst.StateID, p float64) {
		f.AddArc(from, fst.Arc[semiring.Log64]{ILabel: 1, OLabel: 1, Weight: semiring.Log64(-math.Log(p)), NextState: to})
	}
	arc(0, 1, 0.25)
	arc(0, 2, 0.75)
	arc(1, 2, 0.5)
	f.SetFinal(1, semiring.Log64(-math.Log(0.5)))
	f.SetFinal(2, semiring.One[semiring.Log64]())
	f.SetFinal(3, semiring.Log64(5))
	lim := ops.Limits{}
	if e, err := ops.Stochastic(f, 1e-9, lim); e != nil || err != nil {
		t.Fatalf("a stochastic machine: %v, %v", e, err)
	}
	arc(2, 0, 0.5)
	e, err := ops.Stochastic(f, 1e-9, lim)
	if err != nil || e == nil || e.State != 2 || e.Sum != string(semiring.Log64(-math.Log(1.5)).AppendText(nil)) {
		t.Fatalf("%+v, %v, want the sum of 1.5 at state 2", e, err)
	}
	if math.Abs(e.Probability-1.5) > 1e-9 || !strings.Contains(e.Error(), "state 2 sum to the probability 1.5 (weight -0.405") || !strings.Contains(e.Error(), "), not to 1: [") {
		t.Errorf("%v is not told as a probability of 1.5 (%v)", e, e.Probability)
	}
	if len(e.Path.States) != 2 || e.Path.States[1] != 2 {
		t.Errorf("path %v is not a shortest one to 2", e.Path.States)
	}
	if _, err := ops.Stochastic(f, 1e-9, ops.Limits{Bytes: 8}); err == nil {
		t.Error("eight bytes are enough")
	}
	// Of probabilities themselves, of what no float64 holds, and of weights that are no probabilities.
	for _, c := range []struct{ got, want string }{
		{stochasticText(t, semiring.Probability(0.5)), "sum to the probability 0.5 (weight 0.5), not to 1: "},
		{stochasticText(t, semiring.Log64(-1000)), "sum to a probability above 1e308 (weight -1000), not to 1: "},
		{stochasticText(t, semiring.Zero[semiring.Log]()), "sum to the probability 0 (weight Infinity), not to 1: "},
		{stochasticText(t, semiring.Tropical(2)), "sum to 2, not to one: "},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%q, want one with %q", c.got, c.want)
		}
	}
}

// stochasticText is what is said of a state whose final weight alone is w.
func stochasticText[W interface {
	semiring.Codec[W]
	semiring.Approx[W]
}](t *testing.T, w W) string {
	t.Helper()
	f := fst.NewVector[W](1)
	f.AddStates(1)
	f.SetStart(0)
	f.SetFinal(0, w)
	e, err := ops.Stochastic(f, 1e-9, ops.Limits{})
	if err != nil || e == nil {
		t.Fatal(e, err)
	}
	return e.Error()
}

// The state shown is the nearest of all that fail, and its path leads there by as few arcs as any.
func TestStochasticShortest(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 3))
	far := 0
	for range 2000 {
		f := fsttest.Random(rng, 2+rng.IntN(8), func(rng *rand.Rand) semiring.Log64 {
			return semiring.Log64(-math.Log(float64(rng.IntN(5)) / 4))
		}, fsttest.Options{Labels: 2, Degree: 1.3, Cyclic: rng.IntN(2) == 0})
		for q := range fst.StateID(f.NumStates()) { // most states are to sum to one
			if len(f.Arcs(q)) > 0 && rng.IntN(8) > 0 {
				f.SetFinal(q, semiring.Zero[semiring.Log64]())
				arcs := f.MutableArcs(q)
				for i := range arcs {
					arcs[i].Weight = semiring.Log64(math.Log(float64(len(arcs))))
				}
			} else if len(f.Arcs(q)) == 0 && rng.IntN(8) > 0 {
				f.SetFinal(q, 0)
			}
		}
		// By sweeps over all arcs, of which each takes one arc more.
		least := make([]int, f.NumStates())
		for q := range least {
			least[q] = math.MaxInt32
		}
		if f.Start() != fst.NoState {
			least[f.Start()] = 0
		}
		for range least {
			for q := range fst.StateID(f.NumStates()) {
				for _, e := range f.Arcs(q) {
					if !semiring.IsZero(e.Weight) {
						least[e.NextState] = min(least[e.NextState], least[q]+1)
					}
				}
			}
		}
		want := math.MaxInt32
		for q := range fst.StateID(f.NumStates()) {
			mass := math.Exp(-float64(f.Final(q)))
			for _, e := range f.Arcs(q) {
				mass += math.Exp(-float64(e.Weight))
			}
			if math.Abs(mass-1) > 1e-6 {
				want = min(want, least[q])
			}
		}
		e, err := ops.Stochastic(f, 1e-9, ops.Limits{})
		if err != nil || (e == nil) != (want == math.MaxInt32) {
			t.Fatalf("%v, %v, the nearest is %d arcs away", e, err, want)
		}
		if e == nil {
			continue
		}
		checkPath(t, f, &e.Path)
		if n := len(e.Path.ILabels); n != want || e.Path.States[n] != e.State {
			t.Fatalf("%v: the nearest is %d arcs away\n%s", e, want, printText(f))
		}
		if want > 1 {
			far++
		}
	}
	if far < 100 {
		t.Errorf("only %d further than an arc", far)
	}
}
