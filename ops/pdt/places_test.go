package pdt

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/fst"
)

// Against a map, and an array's room at most.
func TestPlaces(t *testing.T) {
	for _, bound := range []int{1, 7, 100, 5000} {
		rng := rand.New(rand.NewPCG(16, uint64(bound)))
		for _, keys := range []int{1, bound / 10, bound} {
			var p places
			held, want := int64(0), map[int32]int32{}
			for range keys {
				key := int32(rng.IntN(bound))
				if got := p.find(key); got != want[key] {
					t.Fatalf("key %d has number %d, not %d", key, got, want[key])
				}
				if want[key] == 0 {
					want[key] = int32(len(want) + 1)
				}
				if at := p.at(key, bound, &held); *at != 0 && *at != want[key] {
					t.Fatalf("key %d has number %d, not %d", key, *at, want[key])
				} else {
					*at = want[key]
				}
			}
			for key := range int32(bound) {
				if got := p.find(key); got != want[key] {
					t.Fatalf("key %d has number %d, not %d", key, got, want[key])
				}
			}
			if held != p.bytes() || held > max(numberSize*int64(bound), placeSize*firstSlots) {
				t.Errorf("%d of %d keys take %d bytes, and hold %d", len(want), bound, p.bytes(), held)
			}
		}
	}
}

func TestLabelIndex(t *testing.T) {
	for _, list := range [][]fst.Label{nil, {5}, {3, 4, 3}, {-7, 100, 50}, {1, math.MaxInt32}, {math.MinInt32, math.MaxInt32, 0}} {
		x, want := newLabelIndex(list), map[fst.Label]int32{}
		for i, l := range list {
			want[l] = int32(i)
		}
		for _, l := range slices.Concat(slices.Collect(maps.Keys(want)), []fst.Label{math.MinInt32, -1, 0, 1, 2, 6, 99, 101, math.MaxInt32}) {
			i, ok := want[l]
			if !ok {
				i = none
			}
			if got := x.of(l); got != i {
				t.Errorf("%v: label %d has %d, not %d", list, l, got, i)
			}
		}
	}
}

func TestOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 1))
	o := newOrder()
	var want []fst.StateID
	for range 5000 {
		if !o.empty() && rng.IntN(5) < 2 {
			slices.Sort(want)
			if got := o.pop(); got != want[0] {
				t.Fatalf("state %d before %d", got, want[0])
			}
			want = want[1:]
			continue
		}
		q := fst.StateID(rng.IntN(1000))
		o.push(q)
		want = append(want, q)
	}
}
