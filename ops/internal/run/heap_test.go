package run

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/fst"
)

// Heap pops what container/heap and sorting do, in order.
func TestHeapSorts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		h := NewHeap(func(a, b int) bool { return a < b })
		var want, got []int
		for range rng.IntN(60) {
			x := rng.IntN(40)
			h.Push(x)
			want = append(want, x)
		}
		for h.Len() > 0 {
			got = append(got, h.Pop())
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("popped %v, want %v", got, want)
		}
	}
}

// Values that compare as equal leave in the order of std::priority_queue. The model is the
// algorithm of bits/stl_heap.h, written with swaps.
func TestHeapTies(t *testing.T) {
	type item struct{ key, name int }
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		less := func(a, b item) bool { return a.key < b.key }
		h := NewHeap(less)
		var model []item
		for i := range 40 {
			x := item{rng.IntN(4), i}
			h.Push(x)
			model = append(model, x)
			for k := len(model) - 1; k > 0 && less(model[k], model[(k-1)/2]); k = (k - 1) / 2 {
				model[k], model[(k-1)/2] = model[(k-1)/2], model[k]
			}
		}
		for h.Len() > 0 {
			n := len(model) - 1
			want, last := model[0], model[n]
			model = model[:n]
			hole := 0
			for child := 2; hole < n; child = 2*hole + 2 { // always to a leaf, the right child unless the left is less
				if child < n && less(model[child-1], model[child]) || child == n {
					child--
				}
				if child >= n {
					break
				}
				model[hole] = model[child]
				hole = child
			}
			if n > 0 {
				model[hole] = last
				for k := hole; k > 0 && less(model[k], model[(k-1)/2]); k = (k - 1) / 2 {
					model[k], model[(k-1)/2] = model[(k-1)/2], model[k]
				}
			}
			if got := h.Pop(); got != want {
				t.Fatalf("popped %v, want %v", got, want)
			}
		}
	}
}

type byRank struct {
	states []fst.StateID
	rank   []int
}

func (b *byRank) Len() int           { return len(b.states) }
func (b *byRank) Less(i, k int) bool { return b.rank[b.states[i]] < b.rank[b.states[k]] }
func (b *byRank) Swap(i, k int)      { b.states[i], b.states[k] = b.states[k], b.states[i] }
func (b *byRank) Push(x any)         { b.states = append(b.states, x.(fst.StateID)) }
func (b *byRank) Pop() any {
	q := b.states[len(b.states)-1]
	b.states = b.states[:len(b.states)-1]
	return q
}

// A StateHeap with tracking pops by ranks that change while states wait.
func TestStateHeapUpdates(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		const n = 30
		rank := rng.Perm(n)
		h := NewStateHeap(rng.IntN(n), true, func(p, q fst.StateID) bool { return rank[p] < rank[q] })
		want := &byRank{rank: rank}
		for q := range fst.StateID(n) {
			h.Push(q)
			heap.Push(want, q)
		}
		for range 10 {
			p, q := rng.IntN(n), rng.IntN(n)
			rank[p] -= n * (1 + q) * n
			h.Update(fst.StateID(p))
			heap.Init(want)
		}
		for !h.Empty() {
			got, w := h.Pop(), heap.Pop(want).(fst.StateID)
			if rank[got] != rank[w] {
				t.Fatalf("popped state %d of rank %d, want rank %d", got, rank[got], rank[w])
			}
		}
	}
}
