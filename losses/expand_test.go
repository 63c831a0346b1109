package losses

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
)

// editByTable is the textbook table, for any costs.
func editByTable(x, r []int, c EditCosts) int {
	d := make([][]int, len(x)+1)
	for i := range d {
		d[i] = make([]int, len(r)+1)
		for j := range d[i] {
			switch {
			case i == 0 && j == 0:
			case i == 0:
				d[i][j] = d[i][j-1] + c.Insert
			case j == 0:
				d[i][j] = d[i-1][j] + c.Delete
			default:
				s := c.Substitute
				if x[i-1] == r[j-1] {
					s = c.Match
				}
				d[i][j] = min(d[i-1][j-1]+s, d[i-1][j]+c.Delete, d[i][j-1]+c.Insert)
			}
		}
	}
	return d[len(x)][len(r)]
}

// randomExpansions draws lists of 1 to 4 labels of length 0 to kmax over a small
// alphabet, and a reference of length 0 to 8.
func randomExpansions(rng *rand.Rand, n, kmax int) (ref []int, labels Expansions) {
	d := 1 + rng.IntN(4)
	for range rng.IntN(9) {
		ref = append(ref, rng.IntN(d))
	}
	for range n {
		var list [][]int
		for range 1 + rng.IntN(4) {
			e := make([]int, rng.IntN(kmax+1))
			for i := range e {
				e[i] = rng.IntN(d + 1) // one symbol never occurs in the reference
			}
			list = append(list, e)
		}
		labels = append(labels, list)
	}
	return ref, labels
}

// choices calls f with every string of labels and what it spells.
func choices(labels Expansions, f func(u, spelt []int)) {
	u := make([]int, len(labels))
	for {
		var spelt []int
		for t, k := range u {
			spelt = append(spelt, labels[t][k]...)
		}
		f(u, spelt)
		t := len(u) - 1
		for ; t >= 0; t-- {
			if u[t]++; u[t] < len(labels[t]) {
				break
			}
			u[t] = 0
		}
		if t < 0 {
			return
		}
	}
}

// Every string of every machine has its edit distance as loss, exactly, with and
// without clamp and minimization, by packed and by wide columns, for unit costs
// and for others.
func TestExpandEveryPath(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var b ExpandBuilder // one for all: what is left of a build must not matter
	for i := range 900 {
		ref, labels := randomExpansions(rng, rng.IntN(6), rng.IntN(4))
		costs := UnitCosts
		if i%3 == 2 {
			costs = EditCosts{Insert: rng.IntN(7) - 2, Delete: rng.IntN(7) - 2, Substitute: rng.IntN(6) - 1,
				Match: rng.IntN(6) - 3}
		}
		least := -1
		for _, o := range []ExpandOptions{{}, {NoClamp: true}, {NoMinimize: true},
			{NoClamp: true, NoMinimize: true}} {
			o.Costs = &costs
			m, err := b.Build(ref, labels, &o)
			if err != nil {
				t.Fatal(err)
			}
			choices(labels, func(u, spelt []int) {
				want := editByTable(spelt, ref, costs)
				if got := m.Loss(u); got != float64(want) {
					t.Fatalf("case %d %+v: ref %v labels %v: string %v spells %v: loss %v, want %d", i, o,
						ref, labels, u, spelt, got, want)
				}
			})
			// The minimal machine does not depend on what it was made from.
			if !o.NoMinimize {
				if least < 0 {
					least = b.Stats.Columns
				} else if least != b.Stats.Columns {
					t.Fatalf("case %d: %d columns with the clamp, %d without", i, least, b.Stats.Columns)
				}
			} else if least > b.Stats.Columns {
				t.Fatalf("case %d %+v: %d columns, fewer than the minimal %d", i, o, b.Stats.Columns, least)
			}
		}
	}
}

// The packed columns and the general ones are two ways to the same machine:
// the clamp of unit costs is the general one.
func TestExpandPackedIsWide(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 400 {
		ref, labels := randomExpansions(rng, 1+rng.IntN(7), 3)
		packed, wide := ExpandBuilder{}, ExpandBuilder{}
		if _, err := packed.Build(ref, labels, &ExpandOptions{NoMinimize: true}); err != nil {
			t.Fatal(err)
		}
		// Doubled costs have the same columns, doubled.
		if _, err := wide.Build(ref, labels, &ExpandOptions{NoMinimize: true,
			Costs: &EditCosts{Insert: 2, Delete: 2, Substitute: 2}}); err != nil {
			t.Fatal(err)
		}
		if packed.Stats != wide.Stats {
			t.Fatalf("ref %v labels %v: packed %+v, wide %+v", ref, labels, packed.Stats, wide.Stats)
		}
	}
}

// References of 63, 64 and 65 symbols: the last packed ones and the first wide.
func TestExpandLongReferences(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, m := range []int{63, 64, 65, 130} {
		ref := make([]int, m)
		for j := range ref {
			ref[j] = rng.IntN(3)
		}
		for _, n := range []int{1, 30, m, 2 * m} {
			labels := make(Expansions, n)
			for s := range labels {
				if s < 4 || s >= n-4 {
					labels[s] = [][]int{{}, {rng.IntN(3)}, {rng.IntN(3), rng.IntN(4)}}
				} else {
					labels[s] = [][]int{{rng.IntN(4)}}
				}
			}
			machine, err := ExpandEdit(ref, labels, nil)
			if err != nil {
				t.Fatal(err)
			}
			for range 50 {
				u := make([]int, n)
				var spelt []int
				for s := range u {
					u[s] = rng.IntN(len(labels[s]))
					spelt = append(spelt, labels[s][u[s]]...)
				}
				if got, want := machine.Loss(u), editByTable(spelt, ref, UnitCosts); got != float64(want) {
					t.Fatalf("m=%d n=%d: loss %v, want %d", m, n, got, want)
				}
			}
		}
	}
}

func TestExpandEdges(t *testing.T) {
	m, err := ExpandEdit([]int{1, 2, 3}, nil, nil)
	if err != nil || m.Loss(nil) != 3 {
		t.Fatalf("no positions: %v, %v", m.Loss(nil), err)
	}
	m, err = ExpandEdit([]int{1}, Expansions{{{1}}, {}, {{2}}}, nil)
	if err != nil || m.TotalColumns() != 0 {
		t.Fatalf("a position without labels leaves %d columns, %v", m.TotalColumns(), err)
	}
	if _, err = ExpandEdit(nil, nil, &ExpandOptions{Costs: &EditCosts{Insert: 1 << 20}}); err == nil {
		t.Fatal("a huge cost was accepted")
	}
	wide := make(Expansions, 14)
	for s := range wide {
		wide[s] = [][]int{{}, {s}, {s + 1}, {s, s + 2}}
	}
	ref := make([]int, 14)
	for j := range ref {
		ref[j] = j
	}
	_, err = ExpandEdit(ref, wide, &ExpandOptions{MaxEdges: 5000})
	var over *EdgeBudgetError
	if !errors.Is(err, ErrEdgeBudget) || !errors.As(err, &over) || over.Edges != 5000 ||
		over.Positions != 14 {
		t.Fatalf("the budget gave %v", err)
	}
	for _, costs := range []*EditCosts{nil, {Insert: 2, Delete: 3, Substitute: 4}} {
		_, err = ExpandEdit(ref, wide, &ExpandOptions{MaxBytes: 5000, Costs: costs, NoClamp: true})
		if over = nil; !errors.As(err, &over) || over.Bytes != 5000 || over.Edges != 0 {
			t.Fatalf("the budget of bytes gave %v", err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err = ExpandEdit(ref, wide, &ExpandOptions{Ctx: ctx}); !errors.Is(err, context.Canceled) {
		t.Fatalf("a cancelled context gave %v", err)
	}
}

// A budget below what the edges of a build take ends it.
func TestExpandCountsEdges(t *testing.T) {
	var b ExpandBuilder
	ref := []int{0, 1, 2, 1, 0, 2}
	labels := make(Expansions, 7)
	for i := range labels {
		labels[i] = [][]int{{}, {0}, {1}, {2, 1}}
	}
	if _, err := b.Build(ref, labels, nil); err != nil {
		t.Fatal(err)
	}
	edges := int64(8 * b.Stats.Edges)
	if _, err := b.Build(ref, labels, &ExpandOptions{MaxBytes: edges - 1}); !errors.Is(err, ErrEdgeBudget) {
		t.Errorf("less than the edges take: %v", err)
	}
}
