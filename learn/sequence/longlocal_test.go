package sequence_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/sequence"
	"github.com/tropica-fst/tropica/losses"
)

// A long local loss is exact for short sequences and banded beyond, by the widest band up to the one asked for
// that fits the budget.
func TestLongLocal(t *testing.T) {
	local := losses.Local{Match: 1, Sub: -1, Ins: -1, Del: -1, Budget: losses.Budget{Columns: 100_000}}
	rng := rand.New(rand.NewPCG(3, 3))
	random := func(n int) []int {
		s := make([]int, n)
		for i := range s {
			s[i] = rng.IntN(10)
		}
		return s
	}
	for _, c := range []struct{ l, band, used int }{{8, 2, 0}, {9, 2, 2}, {20, 3, 3}, {50, 3, 1}, {50, 1, 1}} {
		ref := random(c.l)
		long := sequence.LongLocal{Local: local, Band: c.band}
		m, err := long.Machine(ref, 10, c.l)
		if err != nil {
			t.Fatalf("%d labels: %v", c.l, err)
		}
		want := local
		want.Band = c.used
		for range 50 {
			u := append([]int(nil), ref[c.l/5:]...) // the reference, moved and changed, so that bands matter
			u = append(u, random(c.l-len(u))...)
			u[rng.IntN(c.l)] = rng.IntN(10)
			if got, want := m.Loss(u), want.Value(u, ref); got != want {
				t.Fatalf("%d labels, band %d: loss %v, with band %d %v", c.l, c.band, got, c.used, want)
			}
		}
	}
	tight := local
	tight.Columns = 50
	if _, err := (sequence.LongLocal{Local: tight}).Machine(random(40), 10, 40); !errors.Is(err, losses.ErrBudget) {
		t.Errorf("no band fits: %v", err)
	}
	a, b := sequence.LongLocal{Local: local, Band: 1}, sequence.LongLocal{Local: local, Band: 2}
	if string(a.AppendKey(nil)) == string(b.AppendKey(nil)) || string(b.AppendKey(nil)) != string(sequence.LongLocal{Local: local}.AppendKey(nil)) {
		t.Error("keys do not tell the bands, or not the default")
	}
}
