package ops

import (
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

// What byCost makes of a queue by components serves the same states in the same order, also when
// states already wait and when distances change while they do: the order decides which of two sums
// that are nearly equal is kept.
func TestByCostServesAsTheQueueItComesFrom(t *testing.T) {
	const n = 40
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		d := make([]semiring.Tropical, n)
		for i := range d {
			d[i] = semiring.Tropical(rng.IntN(8))
		}
		of := make([]int32, n)
		for i := range of {
			of[i] = int32(rng.IntN(30))
		}
		fresh := func() sums.Queue {
			queues := make([]sums.Queue, 30)
			seen := make([]int, len(queues))
			for _, k := range of {
				if seen[k]++; seen[k] == 2 {
					queues[k] = sums.NearestCost(d)(n, false)
				}
			}
			return sums.NewSCCQueue(of, queues)
		}
		want, from := fresh(), fresh()
		waiting := make([]bool, n)
		for range rng.IntN(3) {
			q := fst.StateID(rng.IntN(n))
			if !waiting[q] {
				waiting[q] = true
				want.Push(q)
				from.Push(q)
			}
		}
		got := sums.ByCost[semiring.Tropical](from)
		if got == nil {
			t.Fatalf("seed %d: a queue of heaps is not taken", seed)
		}
		served := int32(0) // no arc leads back from there to a component before it
		for range 300 {
			if q := fst.StateID(rng.IntN(n)); rng.IntN(3) > 0 {
				if of[q] < served {
					continue
				}
				d[q] -= semiring.Tropical(rng.IntN(2))
				if waiting[q] {
					want.Update(q) // does nothing where heaps do not move
				} else {
					waiting[q] = true
					want.Push(q)
					got.Push(q)
				}
				continue
			}
			w := fst.NoState
			if !want.Empty() {
				w = want.Pop()
				waiting[w] = false
				served = of[w]
			}
			if g := got.Pop(); g != w {
				t.Fatalf("seed %d: state %d is served, want %d", seed, g, w)
			}
		}
	}
	for _, other := range []sums.Queue{&sums.FIFOQueue{}, sums.NewSCCQueue([]int32{0},
		[]sums.Queue{&sums.FIFOQueue{}}), sums.NewSCCQueue([]int32{0},
		[]sums.Queue{sums.NearestCost([]semiring.Tropical{0})(1, true)})} {
		if sums.ByCost[semiring.Tropical](other) != nil {
			t.Errorf("%T is taken for one of heaps in which nothing moves", other)
		}
	}
}
