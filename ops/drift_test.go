package ops_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// costsAfter returns the least costs from the start to each state by a string of input labels.
func costsAfter(f *fst.Vector[semiring.Tropical], labels []fst.Label) []float64 {
	none := func() []float64 {
		d := make([]float64, f.NumStates())
		for q := range d {
			d[q] = math.Inf(1)
		}
		return d
	}
	d := none()
	d[f.Start()] = 0
	for _, l := range labels {
		next := none()
		for p := range fst.StateID(f.NumStates()) {
			for _, e := range f.Arcs(p) {
				if e.ILabel == l {
					next[e.NextState] = min(next[e.NextState], d[p]+float64(e.Weight))
				}
			}
		}
		d = next
	}
	return d
}

// checkDrift fails unless the costs of the two states of the evidence are farther apart with each turn.
func checkDrift(t *testing.T, f *fst.Vector[semiring.Tropical], e *ops.TwinsError) {
	t.Helper()
	checkPath(t, f, &e.Left)
	checkPath(t, f, &e.Right)
	apart := func(turns int) float64 {
		labels := e.Left.ILabels[:e.Cycle:e.Cycle]
		for range turns {
			labels = append(labels, e.Left.ILabels[e.Cycle:]...)
		}
		d := costsAfter(f, labels)
		return math.Abs(d[e.Right.States[e.Cycle]] - d[e.Left.States[e.Cycle]])
	}
	if a, b, c := apart(30), apart(60), apart(90); !(b >= a+30./4 && c >= b+30./4) {
		t.Fatalf("after 30, 60 and 90 turns costs are %v, %v and %v apart: %v\n%s", a, b, c, e, printText(f))
	}
}

// Ambiguous machines whose subsets grow for ever are proved to, before there are many.
func TestDeterminizeProvesAmbiguousEndless(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	ends, endless := 0, 0
	for range 1500 {
		f := fsttest.Random(rng, 2+rng.IntN(5), quarters, fsttest.Options{Labels: 1 + rng.IntN(3), Degree: 1 + 2*rng.Float64(), Cyclic: true, Acceptor: true})
		ops.Connect(f)
		_, err := ops.Determinize(f, &ops.DeterminizeOptions{Delta: openfstDelta})
		var e *ops.TwinsError
		switch {
		case err == nil:
			ends++
		case !errors.As(err, &e) || !e.Exact || e.States > 1<<16:
			t.Fatalf("Determinize: %v\n%s", err, printText(f))
		default:
			endless++
			checkDrift(t, f, e)
		}
	}
	t.Logf("%d end, %d do not", ends, endless)
	if ends < 300 || endless < 50 {
		t.Errorf("%d end, %d do not", ends, endless)
	}
}

// With a threshold, what costs nothing on one side and something on the other goes on for ever; all else ends.
func TestDeterminizePrunedProvesEndless(t *testing.T) {
	const text = "0 1 1 1\n0 2 1 1\n1 1 2 2\n2 2 2 2 1\n1 3 3 3\n2 3 3 3\n3\n"
	f, err := fst.ReadText[semiring.Tropical](strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	five := semiring.Tropical(5)
	o := &ops.DeterminizePrunedOptions[semiring.Tropical]{Prune: ops.PruneOptions[semiring.Tropical]{Threshold: &five}}
	var twins *ops.TwinsError
	if _, err := ops.DeterminizePruned(f, o); !errors.As(err, &twins) || !twins.Exact || twins.States > 1000 {
		t.Fatalf("DeterminizePruned: %v", err)
	}
	checkDrift(t, f, twins)

	coarse := func(rng *rand.Rand) semiring.Tropical { return semiring.Tropical(max(0, rng.IntN(6)-2)) / 2 }
	rng := rand.New(rand.NewPCG(2, 10))
	ends, endless := 0, 0
	for range 1500 {
		f := fsttest.Random(rng, 2+rng.IntN(5), coarse, fsttest.Options{Labels: 1 + rng.IntN(3), Degree: 1 + 1.5*rng.Float64(), Cyclic: true, Acceptor: true})
		w := semiring.Tropical(rng.IntN(8)) / 2
		o := &ops.DeterminizePrunedOptions[semiring.Tropical]{Prune: ops.PruneOptions[semiring.Tropical]{Threshold: &w}}
		o.Delta = openfstDelta
		_, err := ops.DeterminizePruned(f, o)
		var e *ops.TwinsError
		switch {
		case err == nil:
			ends++
		case !errors.As(err, &e) || !e.Exact || e.States > 1<<16:
			t.Fatalf("DeterminizePruned within %v: %v\n%s", w, err, printText(f))
		default:
			endless++
			checkDrift(t, f, e)
			if e.LeftFactor != "0" {
				t.Fatalf("the left cycle costs something: %v", e)
			}
			best, way := costsAfter(f, e.Left.ILabels)[e.Left.States[e.Cycle]], 0.0
			d, err := ops.ShortestDistance(f, &ops.ShortestDistanceOptions{Reverse: true})
			if err != nil {
				t.Fatal(err)
			}
			if way = best + float64(d[e.Left.States[e.Cycle]]); way > float64(d[f.Start()]+w) {
				t.Fatalf("the way of cost %v is beyond %v: %v\n%s", way, d[f.Start()]+w, e, printText(f))
			}
		}
	}
	t.Logf("%d end, %d do not", ends, endless)
	if ends < 300 || endless < 50 {
		t.Errorf("%d end, %d do not", ends, endless)
	}
}

// All outputs of an input are kept, so that cycles with one input and two outputs make ever larger sets.
func TestDeterminizeProvesOutputsEndless(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 11))
	ends, endless := 0, 0
	for range 400 {
		f := fsttest.Random(rng, 2+rng.IntN(4), quarters, fsttest.Options{Labels: 1 + rng.IntN(2), Degree: 1 + rng.Float64(), Cyclic: true})
		ops.Connect(f)
		_, err := ops.Determinize(f, &ops.DeterminizeOptions{Type: ops.DeterminizeNonFunctional, Delta: openfstDelta})
		var e *ops.TwinsError
		switch {
		case err == nil:
			ends++
		case !errors.As(err, &e) || !e.Exact || e.States > 1<<14:
			t.Fatalf("Determinize: %v\n%s", err, printText(f))
		default:
			endless++
			checkPath(t, f, &e.Left)
			checkPath(t, f, &e.Right)
			if n := len(e.Left.States) - 1; !slices.Equal(e.Left.ILabels, e.Right.ILabels) || e.Left.States[n] != e.Left.States[e.Cycle] || e.Right.States[n] != e.Right.States[e.Cycle] {
				t.Fatalf("no evidence: %v", e)
			}
		}
	}
	t.Logf("%d end, %d do not", ends, endless)
	if ends < 100 || endless < 50 {
		t.Errorf("%d end, %d do not", ends, endless)
	}
}
