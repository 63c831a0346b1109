package align

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// What fits the bytes is built, and what is far beyond them is refused early: growth is no reason
// to refuse a machine that the same bytes hold when growth is not looked at. What is likely to be
// too large is refused early at a third of the bytes, and built at twice as many, or at eight times
// as many where the reference has a pattern.
func TestBothSidesOfTheBorder(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	rng := rand.New(rand.NewPCG(87, 88))
	squares := func(m int) []int {
		ref := make([]int, m)
		for j := range ref {
			ref[j] = j * j % 7
		}
		return ref
	}
	unit := edits{sub: 1, ins: 1, del: 1}
	for i, c := range []struct {
		e      edits
		ref    []int
		d, l   int
		beyond int64 // bytes that are refused at once, as a share of those needed
		spare  int64 // bytes that are likely to be enough, as a multiple
	}{
		{unit, randomString(rng, 31, 2), 2, 31, 40, 2},
		{unit, squares(22), 7, 22, 10, 8},
		{edits{sub: 2, ins: 1, del: 1}, squares(28), 7, 28, 10, 8},
		{unit, randomString(rng, 17, 10), 10, 17, 10, 2},
		{edits{match: -2, sub: 1, ins: 1, del: 1}, randomString(rng, 12, 5), 5, 12, 10, 2},
		{edits{sub: 1.7, ins: 1.1, del: .9}, randomString(rng, 12, 4), 4, 12, 10, 2},
	} {
		p := c.e.problem(c.ref, c.d, c.l)
		likely := false
		build := func(bytes int64, foresee bool) (*layered.Machine, error) {
			p.Limits = layered.Limits{Bytes: bytes, Likely: likely}
			b := New(p)
			b.whole = b.whole && foresee
			m, _, err := b.Build()
			return m, err
		}
		m, err := build(0, true)
		if err != nil {
			t.Fatal(err)
		}
		lo, hi := m.Bytes/4, 8*m.Bytes
		for hi-lo > hi/100 {
			if mid := (lo + hi) / 2; errors.As(second(build(mid, false)), new(*layered.Oversize)) {
				lo = mid
			} else {
				hi = mid
			}
		}
		if _, err := build(hi, true); err != nil {
			t.Errorf("case %d: %d bytes are enough, but growth is held against %d columns: %v", i, hi,
				m.TotalColumns(), err)
		}
		var over *layered.Oversize
		if _, err := build(hi/c.beyond, true); !errors.As(err, &over) || over.Columns > m.TotalColumns()/6 {
			t.Errorf("case %d: %d columns in a %dth of their bytes: %v", i, m.TotalColumns(), c.beyond, err)
		}
		likely = true
		if _, err := build(c.spare*hi, true); err != nil {
			t.Errorf("case %d: %d columns in %d times their bytes: %v", i, m.TotalColumns(), c.spare, err)
		}
		if m.TotalColumns() < 1<<17 {
			continue // its layers are too small to tell
		}
		if _, err := build(hi/3, true); !errors.As(err, &over) || over.Columns > m.TotalColumns()/6 {
			t.Errorf("case %d: %d columns in a third of their bytes: %v", i, m.TotalColumns(), err)
		}
	}
}

func second[A any](_ A, err error) error { return err }
