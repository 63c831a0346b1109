package losses

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// The machine's loss of every choice of labels is that of what it spells.
func TestBuildNGramByEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	var b ExpandBuilder
	finite, excluded, merged := 0, 0, 0
	for range 300 {
		loss := NGram{N: 1 + rng.IntN(3), C: []float64{0, 1, 0.25}[rng.IntN(3)]}
		symbols := 1 + rng.IntN(4)
		word := func(most int) []int {
			w := make([]int, rng.IntN(most+1))
			for i := range w {
				w[i] = -3 + 7*rng.IntN(symbols) // any ints, some of them not in the reference
			}
			return w
		}
		ref := word(6)
		labels := make(Expansions, rng.IntN(5))
		total := 1
		for p := range labels {
			for range 1 + rng.IntN(4) {
				labels[p] = append(labels[p], word(3))
			}
			total *= len(labels[p])
		}
		m, err := b.BuildNGram(ref, labels, loss, nil)
		if err != nil {
			t.Fatal(err)
		}
		if m.Len() != len(labels) || m.TotalColumns() != b.Stats.Columns {
			t.Fatalf("%d positions, %d columns for %d of %+v", m.Len(), m.TotalColumns(), len(labels),
				b.Stats)
		}
		u := make([]int, len(labels))
		for i := range total {
			var spelt []int
			for p := range u {
				u[p] = i % len(labels[p])
				i /= len(labels[p])
				spelt = append(spelt, labels[p][u[p]]...)
			}
			got, want := m.Loss(u), loss.Value(spelt, ref)
			if got != want && !(math.Abs(got-want) < 1e-15) {
				t.Fatalf("%+v: %v spells %v, loss %v, %v by definition (reference %v)", loss, u, spelt, got,
					want, ref)
			}
			if math.IsInf(want, 1) {
				excluded++
			} else {
				finite++
			}
		}
		if b.Stats.Columns < total {
			merged++
		}
	}
	if finite == 0 || excluded == 0 || merged == 0 {
		t.Errorf("%d finite losses, %d excluded, %d machines that merge: the test says little", finite,
			excluded, merged)
	}
}

func TestBuildNGramRefuses(t *testing.T) {
	labels := Expansions{{{1}, {2}, {1, 2}}, {{1}, {2}, {2, 1}}, {{1}, {2}}}
	ref := []int{1, 2, 1, 2}
	var b ExpandBuilder
	var budget *EdgeBudgetError
	if _, err := b.BuildNGram(ref, labels, NGram{N: 2, C: 1}, &ExpandOptions{MaxEdges: 5}); !errors.As(err,
		&budget) || !errors.Is(err, ErrEdgeBudget) {
		t.Errorf("edges: %v", err)
	}
	if _, err := b.BuildNGram(ref, labels, NGram{N: 2, C: 1}, &ExpandOptions{MaxBytes: 10}); !errors.As(err,
		&budget) {
		t.Errorf("bytes: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.BuildNGram(ref, labels, NGram{N: 2, C: 1}, &ExpandOptions{Ctx: ctx}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("context: %v", err)
	}
	for _, n := range []NGram{{N: 0, C: 1}, {N: 2, C: -1}, {N: 2, C: math.NaN()}} {
		if _, err := b.BuildNGram(ref, labels, n, nil); err == nil {
			t.Errorf("%+v was taken", n)
		}
	}
	// A position without labels leaves no string; no positions leave the empty one.
	m, err := b.BuildNGram(ref, Expansions{{{1}}, {}, {{2}}}, NGram{N: 1, C: 1}, nil)
	if err != nil || m.Columns(3) != 0 {
		t.Errorf("a position without labels: %v", err)
	}
	m, err = b.BuildNGram(ref, nil, NGram{N: 1, C: 0.5}, nil)
	if err != nil || m.Loss(nil) != -math.Log(0.5) {
		t.Errorf("no positions: %v", err)
	}
	// Long repetitions: counts grow as the product of the lengths, columns as their number.
	long := make([]int, 3000)
	if m, err = b.BuildNGram(long, Expansions{{long}, {long}}, NGram{N: 2, C: 1}, nil); err != nil ||
		m.Loss([]int{0, 0}) != -math.Log(1+2999*5999) {
		t.Errorf("repetitions: %v", err)
	}
}
