package align

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// limbColumns builds with cells of several words, least first. It is for costs that are so unequal
// that both the largest and the smallest matter.
type limbColumns struct {
	reducer *reducer[large]
	n       int // words of a cell

	sum, bound []uint64 // room for a cell each
}

func (c *limbColumns) limbs(x []large) []uint64 {
	y := make([]uint64, len(x)*c.n)
	for i, v := range x {
		var w [8]byte
		raw := v.Bytes() // not negative; most significant first
		for k := range c.n {
			clear(w[:])
			end := len(raw) - 8*k
			if end <= 0 {
				break
			}
			part := raw[max(0, end-8):end]
			copy(w[8-len(part):], part)
			for _, byte := range w {
				y[i*c.n+k] = y[i*c.n+k]<<8 | uint64(byte)
			}
		}
	}
	return y
}

func lessLimbs(a, b []uint64) bool {
	for i := len(a) - 1; i >= 0; i-- {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

func addLimbs(dst, a, b []uint64) {
	carry := uint64(0)
	for i := range dst {
		dst[i], carry = bits.Add64(a[i], b[i], carry)
	}
}

func subLimbs(dst, a, b []uint64) {
	borrow := uint64(0)
	for i := range dst {
		dst[i], borrow = bits.Sub64(a[i], b[i], borrow)
	}
}

// limbsFloat returns a·2^exponent, rounded once.
func limbsFloat(a []uint64, exponent int) float64 {
	top := len(a) - 1
	for top > 0 && a[top] == 0 {
		top--
	}
	x, e := a[top], exponent+64*top
	if top > 0 && x != 0 {
		// 64 bits from the first that is set; what follows them only tells a tie.
		z := bits.LeadingZeros64(x)
		x, e = x<<z|a[top-1]>>(64-z)&(1<<z-1), e-z
		if a[top-1]<<z != 0 {
			x |= 1
		}
	}
	return math.Ldexp(float64(x), e)
}

// least sets g to min_i s[i] + risk[i], or without risk to the least cell.
func (c *limbColumns) least(g, s, risk []uint64) {
	x := c.sum
	for i := 0; i < len(s); i += c.n {
		if risk == nil {
			copy(x, s[i:i+c.n])
		} else {
			addLimbs(x, s[i:i+c.n], risk[i:i+c.n])
		}
		if i == 0 || lessLimbs(x, g) {
			copy(g, x)
		}
	}
}

// clamp lowers the cells of a column as far as no final loss changes, and subtracts the least from
// all, which o receives.
func (c *limbColumns) clamp(s, risk, o []uint64) {
	if !c.reducer.b.NoClamp {
		c.least(c.bound, s, risk)
		for i := 0; i < len(s); i += c.n {
			if lessLimbs(c.bound, s[i:i+c.n]) {
				copy(s[i:i+c.n], c.bound)
			}
		}
	}
	c.least(o, s, nil)
	for i := 0; i < len(s); i += c.n {
		subLimbs(s[i:i+c.n], s[i:i+c.n], o)
	}
}

// move is moveWhole for cells of several words.
func (c *limbColumns) move(d, s []uint64, shift int, ins, del, sub []uint64) {
	n := c.n
	for i := 0; i < len(d); i += n {
		have := false
		offer := func(a, b []uint64) {
			addLimbs(c.sum, a, b)
			if !have || lessLimbs(c.sum, d[i:i+n]) {
				copy(d[i:i+n], c.sum)
				have = true
			}
		}
		if i > 0 {
			offer(d[i-n:i], ins[i:i+n])
		}
		j := i + shift*n
		if j < len(s) {
			offer(s[j:j+n], del[i:i+n])
		}
		if j > 0 && j <= len(s) {
			offer(s[j-n:j], sub[i:i+n])
		}
	}
}

// start returns the column of layer 0, of the costs of insertions alone.
func (c *limbColumns) start(ins, risk []uint64) []uint64 {
	s := make([]uint64, len(ins))
	top := c.limbs([]large{c.reducer.top})
	for i := c.n; i < len(ins); i += c.n {
		addLimbs(s[i:i+c.n], s[i-c.n:i], ins[i:i+c.n])
		if lessLimbs(top, s[i:i+c.n]) {
			copy(s[i:i+c.n], top) // at least the guarantee, which the clamp would lower it to
		}
	}
	c.clamp(s, risk, make([]uint64, c.n))
	return s
}

func (c *limbColumns) build() (*layered.Machine, error) {
	r := c.reducer
	b := r.b
	c.n = (r.top.BitLen() + 3 + 63) / 64
	c.sum, c.bound = make([]uint64, c.n), make([]uint64, c.n)
	after, o, from := make([]uint64, c.n), make([]uint64, c.n), make([]uint64, c.n)
	exponent := b.Exact.exponent

	mv, risk := r.layer(0), c.limbs(r.risk[0])
	start := c.start(c.limbs(mv.ins), risk)
	c.least(after, start, risk)
	guarantee := new(big.Int)
	for i := c.n - 1; i >= 0; i-- {
		guarantee.Lsh(guarantee, 64).Or(guarantee, new(big.Int).SetUint64(after[i]))
	}
	down, base := downward(r, large{guarantee})
	g := layered.NewKeyed(b.limits, b.l, b.class, len(r.del))
	g.SetBase(bigFloat(base.Int, exponent))
	g.Start(start)
	for t := range b.l {
		riskBefore := risk
		mv, risk = r.layer(t+1), c.limbs(r.risk[t+1])
		ins := c.limbs(mv.ins)
		del, sub := make([][]uint64, g.Classes), make([][]uint64, g.Classes)
		for k := range g.Classes {
			del[k], sub[k] = c.limbs(mv.del[k]), c.limbs(mv.sub[k])
		}
		d := make([]uint64, len(ins))
		shift := b.First[t+1] - b.First[t]
		n := g.Open(len(d))
		for q := range n {
			s := g.Tab.Key(q)
			if down {
				c.least(from, s, riskBefore)
			}
			for k := range g.Classes {
				c.move(d, s, shift, ins, del[k], sub[k])
				c.clamp(d, risk, o)
				x := 0.0
				if down { // G before - h - G after, which is not negative
					c.least(after, d, risk)
					addLimbs(after, after, o)
					subLimbs(after, from, after)
					x = 0 - limbsFloat(after, exponent)
				} else {
					x = limbsFloat(o, exponent)
				}
				g.Arc(d, g.Value(x))
			}
			if q&63 == 0 {
				if err := g.Room(); err != nil {
					return nil, err
				}
			}
		}
		if err := g.Close(); err != nil {
			return nil, err
		}
	}
	return g.Finish()
}
