package align

import (
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/losses/internal/features"
)

// Moves of eight columns at a time equal those by tables, and both the loop over cells that
// clampWord and the tables stand for, on columns that a build can meet.
func TestLanesEqualTables(t *testing.T) {
	if !features.Lanes {
		t.Skip("no AVX-512 here")
	}
	rng := rand.New(rand.NewPCG(5, 6))
	used := 0
	for _, e := range []edits{
		{sub: 2, ins: 1, del: 1}, {sub: 1, ins: 1, del: 1}, {match: -2, sub: 1, ins: 1, del: 1},
		{match: -1, sub: 0, ins: 1, del: 2}, {sub: 1, ins: 1, del: 1, band: 3}, {match: -2, sub: 1, ins: 1,
			del: 1, band: 2},
	} {
		for range 100 {
			alphabet, l := 1+rng.IntN(6), 1+rng.IntN(16)
			m := max(1, l+rng.IntN(5)-2)
			ref := make([]int, m)
			for j := range ref {
				ref[j] = rng.IntN(alphabet + 1)
			}
			w := New(e.problem(ref, alphabet, l)).words()
			if w == nil {
				continue
			}
			var fast, slow wordScratch
			keys := []uint64{0}
			keys[0], _ = w.clampWord(w.clampAt(0), 0)
			for s := range l {
				if len(keys) > 45 {
					keys = keys[:45] // pieces that are not full
				}
				a := w.mover(&fast, s, w.clampAt(s+1))
				if a.lanes == nil {
					break // no symbol matches
				}
				used++
				features.Lanes = false
				b := w.mover(&slow, s, w.clampAt(s+1))
				features.Lanes = true
				var next []uint64
				for c := 0; c < len(keys); c += wordPiece {
					piece := keys[c:min(c+wordPiece, len(keys))]
					a.move(piece)
					b.moveGo(piece)
					for i := range piece {
						for k := range a.classes {
							x, y := i*a.next+k*a.step, i*b.next+k*b.step
							if a.out[x] != b.out[y] || a.off[x] != b.off[y] {
								t.Fatalf("%+v ref %v l %d layer %d class %d: column %#x becomes %#x, "+
									"offset %d; by tables %#x, %d",
									e, ref, l, s, k, piece[i], a.out[x], a.off[x], b.out[y], b.off[y])
							}
							next = append(next, b.out[y])
						}
					}
				}
				rng.Shuffle(len(next), func(i, j int) { next[i], next[j] = next[j], next[i] })
				keys = next
			}
		}
	}
	if used < 500 {
		t.Errorf("lanes served only %d layers", used)
	}
}
