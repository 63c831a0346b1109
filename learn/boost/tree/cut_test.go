package tree

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The short test of plainCut loses no cut: it finds what scores of all cuts find, whatever the
// sizes of the sums, ties and nearly equal cuts among them.
func TestPlainCutAgainstAllScores(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	found := 0
	for trial := range 20000 {
		n := 2 + rng.IntN(30)
		cells, occupied := make([]Cell, 256), make([]uint8, n)
		magnitude := rng.IntN(50)
		total := Cell{}
		for k := range n {
			occupied[k] = uint8(k * 8)
			spread := rng.IntN(9)
			c := Cell{G: rng.Int64N(2<<magnitude<<spread) - 1<<magnitude<<spread,
				H: 1 + rng.Int64N(1<<magnitude<<rng.IntN(9))}
			switch rng.IntN(4) {
			case 0:
				c.G = -c.H // leaves in proportion: gains of nothing but rounding
			case 1:
				if k > 0 {
					c = cells[occupied[k-1]]
				}
			}
			cells[occupied[k]] = c
			total = total.plus(c)
		}
		o := Options{MinGain: 1e-12, L2: []float64{0, 1, 1e12}[rng.IntN(3)], MinWeight: float64(rng.IntN(3)) * 0.1 *
			float64(total.H)}
		s := newGains(&o, Scale{G: 1, H: 1}, total, math.Inf(-1), math.Inf(1))
		start := s.least
		if rng.IntN(2) == 0 {
			start = s.parent // as close as can be to what rounding may lose
		}
		want, at, left := start, -1, Cell{}
		for k := range n {
			left = left.plus(cells[occupied[k]])
			right := total.minus(left)
			if left.H < s.minH || right.H < s.minH || right.H <= 0 {
				continue
			}
			gl, gr := float64(left.G), float64(right.G)
			if score := gl*gl/(float64(left.H)+s.l2) + gr*gr/(float64(right.H)+s.l2); score > want {
				want, at = score, k
			}
		}
		got, gotAt, sum := s.plainCut(start, occupied, cells, Cell{})
		if got != want || gotAt != at {
			t.Fatalf("trial %d: plainCut finds %v at %d of %d cells; the scores of all have %v at %d", trial, got,
				gotAt, n, want, at)
		}
		if at >= 0 {
			found++
			for _, code := range occupied[:at+1] {
				sum = sum.minus(cells[code])
			}
			if sum != (Cell{}) {
				t.Fatalf("trial %d: the sums left of the cut are off by %v", trial, sum)
			}
		}
	}
	if found < 5000 {
		t.Fatalf("only %d of 20000 nodes had a cut", found)
	}
}
