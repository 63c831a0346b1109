package g2p

import (
	"errors"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/losses"
)

// A word over the budget loses its rarest labels, no more of them than it must: the
// bound on p(u|x) goes through a fixed series, and the first at which the machine
// fits is taken. Models and their reports depend on it.
func TestBudgetTakesTheRarestLabels(t *testing.T) {
	bounds := []float64{0.01, 0.016, 0.0256, 0.04096, 0.065536, 0.1048576, 0.16777216, 0.268435456, 0.4294967296, 0.68719476736, 1.099511627776}
	const budget = 150
	p := prepared(t, words(t, "ady", "train", 800), &Options{MaxEdges: budget})
	if err := p.BuildGraphs(t.Context()); err != nil {
		t.Fatal(err)
	}
	inv := p.Inventory
	steps := map[int]int{}
	for i := range p.words {
		w := &p.words[i]
		if w.full == nil {
			continue
		}
		found := -1
		for step, least := range bounds {
			labels, want := make(losses.Expansions, len(w.x)), make([][]int32, len(w.x))
			for j, x := range w.x {
				for k, l := range inv.Allowed[x] {
					place := int32(-1)
					if inv.Prob[x][k] >= least || k == int(w.gold[j]) {
						place = int32(len(labels[j]))
						labels[j] = append(labels[j], inv.Labels[l])
					}
					want[j] = append(want[j], place)
				}
			}
			if slices.EqualFunc(want, w.full, slices.Equal) {
				found = step
				break
			}
			var b losses.ExpandBuilder
			if _, err := b.Build(w.ref, labels, &losses.ExpandOptions{MaxEdges: budget}); !errors.Is(err, losses.ErrEdgeBudget) {
				t.Fatalf("word %d: labels of %v and more fit the budget (%v), but fewer were kept", i, least, err)
			}
		}
		if found < 0 {
			t.Fatalf("word %d: the labels kept are those of no bound", i)
		}
		steps[found]++
	}
	t.Log(steps)
	if len(steps) < 6 {
		t.Fatalf("words by bound: %v: too few bounds were needed to tell the series from another", steps)
	}
}
