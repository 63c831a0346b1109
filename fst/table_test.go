package fst

import (
	"math/rand/v2"
	"testing"
)

func TestTableAgainstMap(t *testing.T) {
	hashes := map[string]func(uint64) uint64{
		"general": nil, "mix": Mix,
		"bad":  func(x uint64) uint64 { return x & 7 }, // every key collides with many
		"same": func(uint64) uint64 { return 0xdeadbeef },
	}
	for name, h := range hashes {
		n := 20_000
		if name == "bad" || name == "same" {
			n = 1500
		}
		rng := rand.New(rand.NewPCG(1, 1))
		table := NewTable(h)
		m := map[uint64]StateID{}
		var keys []uint64
		if table.Find(1) != NoState || table.Len() != 0 {
			t.Fatalf("%s: not empty", name)
		}
		for range n {
			k := rng.Uint64N(uint64(n))
			want, old := m[k]
			if !old {
				want = StateID(len(m))
				if got := table.Find(k); got != NoState {
					t.Fatalf("%s: Find(%d) = %d before it is there", name, k, got)
				}
				m[k] = want
				keys = append(keys, k)
			}
			if id, isNew := table.ID(k); id != want || isNew == old {
				t.Fatalf("%s: ID(%d) = %d, %v; want %d, %v", name, k, id, isNew, want, !old)
			}
		}
		for id, k := range keys {
			if table.Find(k) != StateID(id) || table.Key(StateID(id)) != k {
				t.Fatalf("%s: key %d lost", name, k)
			}
		}
		if table.Len() != len(keys) || table.Bytes() < int64(8*len(keys)) {
			t.Fatalf("%s: %d keys in %d bytes, want %d", name, table.Len(), table.Bytes(), len(keys))
		}
	}
}

// Numbering does not depend on the hash, which has a random seed.
func TestTableOfTuples(t *testing.T) {
	type pair struct {
		p, q StateID
		f    int8
	}
	a, b := NewTable[pair](nil), NewTable(func(k pair) uint64 { return Mix(uint64(k.p)<<32 | uint64(k.q)) })
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		k := pair{StateID(rng.IntN(50)), StateID(rng.IntN(50)), int8(rng.IntN(3))}
		i, _ := a.ID(k)
		j, _ := b.ID(k)
		if i != j {
			t.Fatalf("%v is %d and %d", k, i, j)
		}
	}
}

func BenchmarkTable(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	keys := make([]uint64, 1<<16)
	for i := range keys {
		keys[i] = rng.Uint64N(1 << 15)
	}
	b.Run("keys=uint64/of=table", func(b *testing.B) {
		for b.Loop() {
			t := NewTable(Mix)
			for _, k := range keys {
				t.ID(k)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(keys)), "ns/key")
	})
	b.Run("keys=uint64/of=map", func(b *testing.B) {
		for b.Loop() {
			m := map[uint64]StateID{}
			for _, k := range keys {
				if _, ok := m[k]; !ok {
					m[k] = StateID(len(m))
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(keys)), "ns/key")
	})
}
