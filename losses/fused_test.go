package losses

import (
	"math/rand/v2"
	"testing"
)

// A graph made with its machine is the one that is made from the machine's columns, at every order.
func TestFusedEqualsLaidOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for i := range 40 {
		alphabet, l := 1+rng.IntN(12), 1+rng.IntN(9)
		ref := randomString(rng, max(1, l+rng.IntN(3)-1), alphabet)
		e := []edits{{sub: 1, ins: 1, del: 1}, {match: -2, sub: 1, ins: 1, del: 1}, {sub: 1, ins: 1, del: 1, band: 2}}[i%3]
		m, _, err := newColumns(e.problem(ref, alphabet, l)).build()
		if err != nil {
			t.Fatal(err)
		}
		if m.fused == nil {
			continue
		}
		plain := m.columned()
		for s := range m.layers {
			for c := range m.layers[s].columns {
				for k := range m.layers[s].classes {
					a, v := m.layers[s].arc(c*m.layers[s].classes + k)
					b, w := plain.layers[s].arc(c*m.layers[s].classes + k)
					if a != b || v != w {
						t.Fatalf("layer %d column %d class %d: arc to %d with value %d, by entries %d, %d", s, c, k, b, w, a, v)
					}
				}
			}
		}
		laid, err := newGraph(plain, 2, limits{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		for s := range laid.layers {
			a, b := &m.fused.layers[s], &laid.layers[s]
			if len(a.start) != len(b.start) || len(a.ctx) != len(b.ctx) || a.at != b.at || a.contexts != b.contexts {
				t.Fatalf("layer %d: %d rows of %d entries at %d, laid out %d of %d at %d", s, len(a.start), len(a.ctx), a.at, len(b.start), len(b.ctx), b.at)
			}
			for i := range a.start {
				if a.start[i] != b.start[i] {
					t.Fatalf("layer %d: row %d starts at %d, laid out %d", s, i, a.start[i], b.start[i])
				}
			}
			for i := range a.ctx {
				if a.ctx[i] != b.ctx[i] {
					t.Fatalf("layer %d: entry %d has context %d, laid out %d", s, i, a.ctx[i], b.ctx[i])
				}
			}
			for i := range a.narrow {
				p, v := a.arc(i)
				q, w := b.arc(i)
				if p != q || v != w {
					t.Fatalf("layer %d: arc %d leads to %d with value %d, laid out %d, %d", s, i, p, v, q, w)
				}
			}
		}
	}
}
