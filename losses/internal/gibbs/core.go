package gibbs

import (
	"math"
	"math/rand/v2"
)

// Lanes is the number of chains.
const Lanes = 64

// Groups is the number of groups of chains that are counted apart.
const Groups = 4

// Alignment is a loss: the least cost of an alignment with the reference in windows of cells.
type Alignment struct {
	Ref                  []int // symbols; one outside the alphabet matches nothing
	Match, Sub, Ins, Del float64
	SubTable             [][]float64 // [symbol of u][symbol of Ref], or nil
	InsTable, DelTable   []float64   // or nil
	Local                bool        // ends are free: cells are at most 0, and the least of them counts
	First, Last          []int       // by position 0 … l, the window of cells 0 … len(Ref)
}

// Model is the distribution at γ = 0.
type Model struct {
	Sizes   []int
	Order   int
	Theta   [][]float64 // as in losses.Potentials
	Cond    [][]float64 // P(label | context), shaped as Theta
	Symbols [][]int     // by position and label, or nil where a label is its symbol
}

func (m *Model) symbol(t, k int) int {
	if m.Symbols == nil {
		return k
	}
	return m.Symbols[t][k]
}

// context returns the index of the window that ends at t, without its last label, for labels
// u(t-q+1) … u(t-1).
func (m *Model) context(t int, u func(t int) int) int {
	i := 0
	for s := max(0, t-m.Order+1); s < t; s++ {
		i = i*m.Sizes[s] + u(s)
	}
	return i
}

// Engine runs 64 chains.
type Engine interface {
	// Start sets all chains to strings drawn at γ = 0, and makes their rows.
	Start()
	// SetGamma changes γ.
	SetGamma(gamma float64)
	// Sweep draws every site once, in the direction that is due.
	Sweep(count bool)
	// Block draws blocks of sites, cut as partition part has them.
	Block(part int)
	// Losses returns the loss of each chain, within the windows.
	Losses() *[Lanes]float64
	// String appends the labels of chain c.
	String(dst []int, c int) []int
	// Take returns the counts since the last Take, by group of chains.
	Take() []*Counts
	// AddRaw adds the pairs of neighbours to raw counts, and TakeRaw returns those by group, and
	// clears them.
	AddRaw()
	TakeRaw() [][]float64
	// Weigh visits all sites without drawing. For every site and chain it calls visit with the
	// probabilities of all labels given the others, and their losses; both are reused.
	Weigh(visit func(t, c int, p, loss []float64))
	// Accepted returns the number of block moves tried and accepted.
	Accepted() (tried, accepted int)
}

// Partitions is the number of ways that a string is cut into blocks.
const Partitions = 4

// blockBounds cuts l sites into blocks of size sites; the first is of another length in each
// partition.
//
// In the last one blocks are four times as long: where the model is nearly deterministic, short
// ones hardly move.
func blockBounds(l, size, part int) []int {
	bounds := []int{0}
	if part == Partitions-1 {
		size *= 4
	}
	for t := max(1, size*(part+1)/Partitions); t < l; t += size {
		bounds = append(bounds, t)
	}
	return append(bounds, l)
}

// kernel is what an engine's core needs of it.
type kernel[S uint8 | uint16] interface {
	site(d, s int, count bool) // draws site s of direction d
	// row s+1 from row s by symbols k
	step(d, s int, k *[Lanes]S)
	propose(part, block, from, to int, prop [][Lanes]S, extra *[Lanes]float64) // labels of sites from … to-1
	// the losses, from row e of direction d and the one it meets
	meet(d, e int, loss *[Lanes]float64)
	// the losses, from the last row of direction d
	total(d int, loss *[Lanes]float64)
}

// core is what both engines do alike.
type core[S uint8 | uint16] struct {
	kern   kernel[S]
	model  *Model
	l      int
	gamma  float64
	rng    *rand.Rand
	dir    int // of the next sweep
	u      [][Lanes]S
	prop   [][Lanes]S
	bounds [Partitions][]int
	loss   [Lanes]float64
	raw    [Groups][]uint32

	tried, accepted int
	halted          func() bool // looked at between sites where a sweep may take long; nil is never
}

func (c *core[S]) init(k kernel[S], m *Model, block int, seed uint64) {
	c.kern, c.model, c.l = k, m, len(m.Sizes)
	c.rng = rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	block = max(1, block)
	for part := range c.bounds {
		c.bounds[part] = blockBounds(c.l, block, part)
	}
	c.prop = make([][Lanes]S, min(block, c.l))
}

// stopped tells a sweep to end where it is: who runs the engine finds out why, and uses it no more.
func (c *core[S]) stopped() bool { return c.halted != nil && c.halted() }

// at returns the position of site s of direction d.
func (c *core[S]) at(d, s int) int {
	if d == 1 {
		return c.l - 1 - s
	}
	return s
}

// Start implements Engine.
func (c *core[S]) Start() {
	for t := range c.l {
		n, cond, u := c.model.Sizes[t], c.model.Cond[t], &c.u[t]
		for lane := range u {
			ctx := 0
			switch {
			case t > 0 && c.model.Order == 2:
				ctx = int(c.u[t-1][lane])
			case c.model.Order == 3:
				ctx = c.model.context(t, func(s int) int { return int(c.u[s][lane]) })
			}
			x, last := c.rng.Float64(), 0
			for a, p := range cond[ctx*n:][:n] { // sums to 1, but for rounding
				if p > 0 {
					last = a
					if x -= p; x < 0 {
						break
					}
				}
			}
			u[lane] = S(last)
		}
	}
	for s := range c.l {
		if c.stopped() {
			return
		}
		c.kern.step(1, s, &c.u[c.l-1-s])
	}
	c.dir = 0
}

// pick returns the first index where the running sum of p exceeds x of it all; never one with p =
// 0.
func pick(x float64, p []float64) int {
	sum := 0.0
	for _, y := range p {
		sum += y
	}
	x *= sum
	last := 0
	for i, y := range p {
		if y > 0 {
			last = i
			if x -= y; x < 0 {
				break
			}
		}
	}
	return last
}

// Sweep implements Engine.
func (c *core[S]) Sweep(count bool) {
	d := c.dir
	for s := range c.l {
		if c.stopped() {
			return
		}
		c.kern.site(d, s, count)
		c.kern.step(d, s, &c.u[c.at(d, s)])
	}
	c.dir = 1 - d
}

// Block implements Engine.
func (c *core[S]) Block(part int) {
	d := c.dir
	bounds := c.bounds[part%Partitions]
	c.kern.total(1-d, &c.loss)
	var made, extra [Lanes]float64
	for i := range len(bounds) - 1 {
		if c.stopped() {
			return
		}
		block := i
		if d == 1 {
			block = len(bounds) - 2 - i
		}
		from, to := bounds[block], bounds[block+1]
		n := to - from
		for len(c.prop) < n {
			c.prop = append(c.prop, [Lanes]S{})
		}
		c.kern.propose(part%Partitions, block, from, to, c.prop[:n], &extra)
		first := from // of the block, as direction d counts sites
		if d == 1 {
			first = c.l - to
		}
		for k := range n {
			c.kern.step(d, first+k, &c.prop[c.at(d, first+k)-from])
		}
		c.kern.meet(d, first+n, &made)
		c.tried += Lanes
		taken := 0
		var keep [Lanes]bool
		for lane := range Lanes {
			x := c.gamma*(made[lane]-c.loss[lane]) + extra[lane]
			if r := c.rng.Float64(); x >= 0 || r < math.Exp(x) {
				keep[lane] = true
				c.loss[lane] = made[lane]
				taken++
			}
		}
		c.accepted += taken
		for k := range n {
			u, p := &c.u[from+k], &c.prop[k]
			for lane, yes := range keep {
				if yes {
					u[lane] = p[lane]
				}
			}
		}
		if taken == Lanes {
			continue
		}
		for k := range n {
			c.kern.step(d, first+k, &c.u[c.at(d, first+k)])
		}
	}
	c.dir = 1 - d
}

// Losses implements Engine.
func (c *core[S]) Losses() *[Lanes]float64 {
	c.kern.total(1-c.dir, &c.loss)
	return &c.loss
}

// String implements Engine.
func (c *core[S]) String(dst []int, lane int) []int {
	for t := range c.u {
		dst = append(dst, int(c.u[t][lane]))
	}
	return dst
}

// Accepted implements Engine.
func (c *core[S]) Accepted() (tried, accepted int) { return c.tried, c.accepted }

// AddRaw implements Engine. Sizes are all the same.
func (c *core[S]) AddRaw() {
	n := c.model.Sizes[0]
	for g := range Groups {
		if c.raw[g] == nil {
			c.raw[g] = make([]uint32, n*n)
		}
		raw := c.raw[g]
		for t := 1; t < c.l; t++ {
			left, at := c.u[t-1][g*16:][:16], c.u[t][g*16:][:16]
			for i, a := range at {
				raw[int(left[i])*n+int(a)]++
			}
		}
	}
}

// TakeRaw implements Engine.
func (c *core[S]) TakeRaw() [][]float64 {
	out := make([][]float64, Groups)
	for g := range out {
		out[g] = make([]float64, len(c.raw[g]))
		for i, x := range c.raw[g] {
			out[g][i] = float64(x)
		}
		clear(c.raw[g])
	}
	return out
}
