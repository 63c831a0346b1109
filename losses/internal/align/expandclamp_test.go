package align

import (
	"math/rand/v2"
	"testing"
)

// The packed clamp is the definition D'[j] = min(D[j], H_j), with H_j over all lengths
// that may follow, in numbers.
func TestPackedClampIsItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 9))
	acted := 0
	for range 200000 {
		m := rng.IntN(65)
		if rng.IntN(3) > 0 {
			m = rng.IntN(9)
		}
		kmin := rng.IntN(m + 4)
		kmax := kmin + rng.IntN(m+4)
		var c packedColumn
		d := make([]int, m+1)
		for j := m; j > 0; j-- {
			step := rng.IntN(3) - 1
			switch step {
			case 1:
				c.up |= 1 << (j - 1)
			case -1:
				c.down |= 1 << (j - 1)
			}
			d[j-1] = d[j] - step
		}
		g := make([]int, kmax+1)
		for k := kmin; k <= kmax; k++ {
			g[k] = 1 << 30
			for j := range d {
				g[k] = min(g[k], d[j]+max(k, m-j))
			}
		}
		want := make([]int, m+1)
		for j := range d {
			h := -1 << 30
			for k := kmin; k <= kmax; k++ {
				h = max(h, g[k]-max(k-(m-j), (m-j)-k))
			}
			want[j] = min(d[j], h)
			if want[j] != d[j] {
				acted++
			}
		}
		got, lower := c.clamp(m, kmin, kmax)
		v := int(lower)
		for j := m; ; j-- {
			if v != want[j] {
				t.Fatalf("m %d, lengths %d to %d: %v is clamped to %d at %d, should be %v", m, kmin, kmax, d,
					v, j, want)
			}
			if j == 0 {
				break
			}
			v -= got.step(j)
		}
		if got.up&got.down != 0 || m < 64 && (got.up|got.down)>>m != 0 {
			t.Fatalf("m %d: steps %b and %b", m, got.up, got.down)
		}
	}
	if acted < 100000 {
		t.Errorf("the clamp acted on %d entries only", acted)
	}
}
