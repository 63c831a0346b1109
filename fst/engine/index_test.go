package engine

import (
	"math/rand/v2"
	"testing"
)

// An index finds what a map has, whether hashes are spread or collide, and after all that empties
// it.
func TestIndexAgainstMap(t *testing.T) {
	for name, hash := range map[string]func(uint32) uint32{
		"spread": func(k uint32) uint32 { return k * 0x9e3779b1 },
		"few":    func(k uint32) uint32 { return k & 7 },
		"one":    func(uint32) uint32 { return 1<<32 - 1 }, // and the search goes round the end
		"zero":   func(uint32) uint32 { return 0 },
	} {
		rng := rand.New(rand.NewPCG(7, 31))
		var x Index
		var keys []uint32
		numbers := map[uint32]int32{}
		find := func(k uint32) int32 {
			for p := x.Probe(hash(k)); ; {
				if n := p.Next(); n < 0 || keys[n] == k {
					return n
				}
			}
		}
		n := 20_000
		if name != "spread" {
			n = 1200
		}
		for round := range 4 {
			if find(3) >= 0 {
				t.Fatalf("%s, round %d: not empty", name, round)
			}
			for range n {
				k := rng.Uint32N(uint32(n))
				want, known := numbers[k]
				if !known {
					want = -1
				}
				if got := find(k); got != want {
					t.Fatalf("%s, round %d: %d has the number %d, want %d", name, round, k, got, want)
				}
				if !known {
					numbers[k] = int32(len(keys))
					if k%2 == 0 {
						x.Add(hash(k), int32(len(keys)))
					} else {
						p := x.Probe(hash(k))
						for p.Next() >= 0 {
						}
						x.AddAt(p, int32(len(keys)))
					}
					keys = append(keys, k)
				}
			}
			if x.Bytes() != 8*int64(x.Size()) || 4*len(keys) > 3*x.Size() {
				t.Fatalf("%s: %d keys in %d slots of %d bytes", name, len(keys), x.Size(), x.Bytes())
			}
			size := x.Size()
			switch round {
			case 0:
				if x.Clear(); x.Size() != size {
					t.Errorf("%s: %d slots are %d when they are cleared", name, size, x.Size())
				}
			case 1:
				if x.Reset(n / 10); IndexBytes(n/10) != 8*int64(x.Size()) || x.Bytes() != 8*int64(size) {
					t.Errorf("%s: %d slots for %d numbers", name, x.Size(), n/10)
				}
			case 2:
				x = Index{}
				x.Reserve(n)
				size = x.Size()
				defer func() {
					if x.Size() != size {
						t.Errorf("%s: room for %d numbers has grown from %d to %d", name, n, size, x.Size())
					}
				}()
			}
			keys = keys[:0]
			clear(numbers)
		}
	}
}
