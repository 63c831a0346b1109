package ops_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// twinsDelay is a pair of states with how far the right one of two paths is behind the
// left one, in outputs and in weight.
type twinsDelay struct {
	left, right       fst.StateID
	outLeft, outRight string
	weight            semiring.Tropical
}

// twinsSteps yields what one more label makes of x: two arcs with it, of states that reach final ones,
// where there are no two arcs between the same states with the same labels.
func twinsSteps(f *fst.Vector[semiring.Tropical], live []bool, x twinsDelay, yield func(twinsDelay)) {
	for _, a := range f.Arcs(x.left) {
		for _, b := range f.Arcs(x.right) {
			if a.ILabel != b.ILabel || semiring.IsZero(a.Weight) || semiring.IsZero(b.Weight) || !live[a.NextState] || !live[b.NextState] {
				continue
			}
			y := x
			y.left, y.right, y.weight = a.NextState, b.NextState, x.weight+b.Weight-a.Weight
			y.outLeft, y.outRight = x.outLeft+key([]fst.Label{a.OLabel}, false), x.outRight+key([]fst.Label{b.OLabel}, false)
			for y.outLeft != "" && y.outRight != "" && y.outLeft[0] == y.outRight[0] {
				y.outLeft, y.outRight = y.outLeft[1:], y.outRight[1:]
			}
			yield(y)
		}
	}
}

// shortestBreach is the least number of labels, up to most, of a way to two states and a loop there
// that changes the delay, and 0 if there is none: by all delays there are.
func shortestBreach(f *fst.Vector[semiring.Tropical], most int) int {
	f = f.Clone()
	ops.ArcSum(f)
	live := make([]bool, f.NumStates())
	for range f.NumStates() {
		for q := range fst.StateID(f.NumStates()) {
			live[q] = live[q] || fst.IsFinal[semiring.Tropical](f, q) || slices.ContainsFunc(f.Arcs(q), func(e fst.Arc[semiring.Tropical]) bool {
				return live[e.NextState] && !semiring.IsZero(e.Weight)
			})
		}
	}
	if f.Start() == fst.NoState || !live[f.Start()] {
		return 0
	}
	levels := func(from twinsDelay, most int, visit func(at twinsDelay, steps int) (done bool)) {
		seen := map[twinsDelay]bool{from: true}
		level := []twinsDelay{from}
		for n := 0; n <= most && len(level) > 0; n++ {
			var next []twinsDelay
			for _, x := range level {
				if visit(x, n) {
					return
				}
				twinsSteps(f, live, x, func(y twinsDelay) {
					if !seen[y] {
						seen[y] = true
						next = append(next, y)
					}
				})
			}
			level = next
		}
	}
	best := most + 1
	accessed := map[twinsDelay]bool{}
	levels(twinsDelay{left: f.Start(), right: f.Start()}, most, func(v twinsDelay, access int) bool {
		v.weight = 0
		if accessed[v] {
			return false
		}
		accessed[v] = true
		levels(v, best-1-access, func(u twinsDelay, loop int) bool {
			if u.left != v.left || u.right != v.right || u == v {
				return false
			}
			best = access + loop
			return true
		})
		return false
	})
	if best > most {
		return 0
	}
	return best
}

// The evidence against the twins property is the shortest there is.
func TestTwinsShortest(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	var holds, fails, late, deep int
	for trial := range 12000 {
		o := fsttest.Options{Labels: 1 + rng.IntN(3), Degree: 0.8 + 1.2*rng.Float64(), Cyclic: true, Acceptor: trial%3 != 0, Epsilon: 0.2 * float64(rng.IntN(2))}
		weights := 1 + rng.IntN(3)
		f := fsttest.Random(rng, 2+rng.IntN(6), func(rng *rand.Rand) semiring.Tropical {
			if rng.IntN(12) == 0 {
				return semiring.Zero[semiring.Tropical]()
			}
			return semiring.Tropical(rng.IntN(weights))
		}, o)
		if rng.IntN(4) == 0 {
			multiply(rng, f, o.Acceptor)
		}
		got, err := ops.Twins(f, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got == nil {
			holds++
			if n := shortestBreach(f, 7); n > 0 {
				t.Fatalf("trial %d: a breach of %d labels was not found\n%s", trial, n, printText(f))
			}
			continue
		}
		fails++
		checkPath(t, f, &got.Left)
		checkPath(t, f, &got.Right)
		n := len(got.Left.ILabels)
		if !slices.Equal(got.Left.ILabels, got.Right.ILabels) || got.Cycle >= n ||
			got.Left.States[got.Cycle] != got.Left.States[n] || got.Right.States[got.Cycle] != got.Right.States[n] || got.LeftFactor == got.RightFactor && !conjugate(got) {
			t.Fatalf("trial %d: no evidence: %v", trial, got)
		}
		if least := shortestBreach(f, n); least != n || !got.Shortest {
			t.Fatalf("trial %d: %d labels (said to be the fewest: %v), but %d are enough: %v\n%s", trial, n, got.Shortest, least, got, printText(f))
		}
		if n > 4 {
			late++
		}
		if n > got.Cycle+2 {
			deep++
		}
	}
	t.Logf("%d hold, %d do not: %d with more than 4 labels, %d with loops of more than 2", holds, fails, late, deep)
	if holds < 300 || fails < 300 || late < 100 || deep < 100 {
		t.Errorf("one-sided")
	}
}
