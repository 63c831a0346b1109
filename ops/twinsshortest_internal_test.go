package ops

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/square"
	"github.com/tropica-fst/tropica/semiring"
)

// With little effort, or memory, there is evidence all the same, and it is said to be the shortest
// only where it is.
func TestShortestTwinsWithinBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 2))
	draw := func(rng *rand.Rand) semiring.Tropical { return semiring.Tropical(rng.IntN(3)) }
	longer := 0
	for range 2000 {
		f := fsttest.Random(rng, 3+rng.IntN(5), draw, fsttest.Options{Labels: 2, Degree: 1.2, Cyclic: true, Acceptor: true})
		least, err := Twins(f, nil)
		if err != nil {
			t.Fatal(err)
		}
		if least == nil {
			continue
		}
		for effort := int64(1); effort < 1<<12; effort *= 4 {
			s, err := square.New[semiring.Tropical](f, true, 0, &run.Stopwatch{})
			if err != nil {
				t.Fatal(err)
			}
			b, err := searchTwins(opTwins, s, square.NewWeightDelays[semiring.Tropical](), semiring.Tropical.Equal,
				effort)
			if err != nil || b == nil || b.LeftFactor == b.RightFactor {
				t.Fatalf("effort %d: %v, %v", effort, b, err)
			}
			if n, m := len(b.Left.ILabels), len(least.Left.ILabels); n < m || b.Shortest && n > m {
				t.Fatalf("effort %d: %d labels, said to be the fewest: %v; %d are enough", effort, n, b.Shortest, m)
			} else if n > m {
				longer++
			}
			if b.Shortest == strings.Contains(b.Error(), "may be a shorter") {
				t.Fatalf("effort %d: %v, %v", effort, b.Shortest, b)
			}
		}
	}
	if longer < 50 {
		t.Errorf("effort told in %d searches only", longer)
	}
}

// Two rings of n and n+1 states: the only loop that changes a delay goes through all n(n+1) pairs.
func twinRings(n int) *fst.Vector[semiring.Tropical] {
	f := fst.NewVector[semiring.Tropical](2*n + 2)
	f.AddStates(2*n + 2)
	f.SetStart(0)
	add := func(p, q int, w semiring.Tropical) {
		f.AddArc(fst.StateID(p), fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, Weight: w, NextState: fst.StateID(q)})
	}
	for _, ring := range [][2]int{{1, n}, {n + 1, n + 1}} {
		first, length := ring[0], ring[1]
		add(0, first, 0)
		for i := range length {
			add(first+i, first+(i+1)%length, semiring.Tropical(i%2)*semiring.Tropical(length-n))
			f.SetFinal(fst.StateID(first+i), 0)
		}
	}
	return f
}

// A limit on bytes that the verdict keeps to is no reason not to give it.
func TestShortestTwinsWithinMemory(t *testing.T) {
	f := twinRings(60)
	full, err := Twins(f, nil)
	if err != nil || full == nil || !full.Shortest || len(full.Left.ILabels) != 1+60*61 {
		t.Fatalf("%v, %v", full, err)
	}
	some := false
	for bytes := int64(1 << 18); ; bytes += 1 << 16 {
		b, err := Twins(f, &TwinsOptions{Limits: Limits{Bytes: bytes}})
		if b != nil && b.Shortest {
			break
		}
		if b == nil && err == nil || b != nil && err != nil {
			t.Fatalf("%d bytes: %v, %v", bytes, b, err)
		}
		some = some || b != nil
	}
	if !some {
		t.Error("no limit was enough for the verdict alone")
	}
}

// A time that is over before the shortest breach is found is no reason not to tell of the one that
// was.
func TestShortestTwinsWithinTime(t *testing.T) {
	fsttest.OneGoroutine(t)
	f := twinRings(150)
	none, open := 0, 0
	for looks := 1; ; looks++ {
		b, err := Twins(f, &TwinsOptions{Limits: Limits{Ctx: &countdown{context.Background(), looks}}})
		if b != nil && b.Shortest {
			break
		}
		switch {
		case b != nil && err == nil:
			open++
		case b == nil && errors.Is(err, context.DeadlineExceeded):
			none++
		default:
			t.Fatalf("%d looks at the time: %v, %v", looks, b, err)
		}
	}
	if open == 0 || none == 0 {
		t.Errorf("%d times were too short for any breach, %d for the shortest alone", none, open)
	}
}
