package align

import (
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// A graph made with its machine is the one that is made from the machine's columns, at every order.
func TestFusedEqualsLaidOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for i := range 40 {
		alphabet, l := 1+rng.IntN(12), 1+rng.IntN(9)
		ref := randomString(rng, max(1, l+rng.IntN(3)-1), alphabet)
		e := []edits{{sub: 1, ins: 1, del: 1}, {match: -2, sub: 1, ins: 1, del: 1},
			{sub: 1, ins: 1, del: 1, band: 2}}[i%3]
		m, _, err := New(e.problem(ref, alphabet, l)).Build()
		if err != nil {
			t.Fatal(err)
		}
		if m.Fused == nil {
			continue
		}
		plain := m.Columned()
		for s := range m.Layers {
			for c := range m.Layers[s].Columns {
				for k := range m.Layers[s].Classes {
					a, v := m.Layers[s].Arc(c*m.Layers[s].Classes + k)
					b, w := plain.Layers[s].Arc(c*m.Layers[s].Classes + k)
					if a != b || v != w {
						t.Fatalf("layer %d column %d class %d: arc to %d with value %d, by entries %d, %d", s,
							c, k, b, w, a, v)
					}
				}
			}
		}
		laid, err := layered.NewGraph(plain, 2, layered.Limits{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		for s := range laid.Layers {
			a, b := &m.Fused.Layers[s], &laid.Layers[s]
			if len(a.Start) != len(b.Start) || len(a.Ctx) != len(b.Ctx) || a.At != b.At ||
				a.Contexts != b.Contexts {
				t.Fatalf("layer %d: %d rows of %d entries at %d, laid out %d of %d at %d", s, len(a.Start),
					len(a.Ctx), a.At, len(b.Start), len(b.Ctx), b.At)
			}
			for i := range a.Start {
				if a.Start[i] != b.Start[i] {
					t.Fatalf("layer %d: row %d starts at %d, laid out %d", s, i, a.Start[i], b.Start[i])
				}
			}
			for i := range a.Ctx {
				if a.Ctx[i] != b.Ctx[i] {
					t.Fatalf("layer %d: entry %d has context %d, laid out %d", s, i, a.Ctx[i], b.Ctx[i])
				}
			}
			for i := range a.Narrow {
				p, v := a.Arc(i)
				q, w := b.Arc(i)
				if p != q || v != w {
					t.Fatalf("layer %d: arc %d leads to %d with value %d, laid out %d, %d", s, i, p, v, q, w)
				}
			}
		}
	}
}
