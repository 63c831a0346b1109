package align

import (
	"math"

	"github.com/tropica-fst/tropica/losses/internal/layered"
	"github.com/tropica-fst/tropica/losses/internal/units"
)

// Columns builds the machine of an alignment loss from columns of scores.
//
// Since the lengths are fixed, deleting all of y and inserting all of the reference costs a
// constant. Aligning y_t with r_j gains g = del + ins - sub over it; not aligning them gains
// nothing:
//
//	L(y) = Σ_t del(y_t) + Σ_j ins(r_j) - S(y),   S = max Σ of gains.
//
// A gain below 0 counts as 0: deleting y_t and inserting r_j is then at least as good. That needs
// one of the two cells between, (t, j+1) or (t+1, j), in the band. Neither does where two windows
// meet in a corner only (pinches): all alignments pass there and pay what it costs.
//
// The column S_t[j] is the best score of t symbols of y with j of the reference. Its steps lie in
// [0, greatest gain], with a band too: S_t[j] ≥ S_t[j-1] by an insertion. Leaving out r_j keeps an
// alignment in the band, as the layers of a cell j are consecutive.
//
// Clamp. With r = l-t symbols to come, any continuation f adds low_t(j) ≤ R_j(f) ≤ up_t(j) from
// entry j. Both bounds come from small dynamic programs over the least and the most that a symbol
// may gain. G = max_j S[j] + low(j) is reached whatever follows. Raising S[j] to G - up(j)
// therefore changes no final score: the raised entry ends at G at most. Then S[first] is subtracted
// and put on the arc. Columns that differ only in what cannot matter become equal; Ukkonen's band
// is a weak special case.
type Columns struct {
	l, m   int
	limits layered.Limits
	class  []uint32 // of each symbol
	unit   float64  // of the costs below
	del    []int64  // by class
	ins    []int64  // by symbol of the reference
	sub    [][]int64
	Exact  *exactCosts // costs that do not fit; del, ins, sub are nil then
	Gain   [][]int64   // by class and symbol of the reference, where costs are on a grid
	most   int64       // greatest gain
	scale  int64       // units of a gain
	base   float64     // of the machine of gains: all deletions and insertions
	fixed  int64       // the same in units

	First    []int // window of layer t: first[t] ≤ j ≤ last[t]
	Last     []int
	up, low  [][]int64 // by layer and j-first[t]
	whole    bool      // all cells are in the windows
	NoClamp  bool      // for tests
	noWords  bool      // for tests, and for machines of no cancellation: never the one-word path
	constant bool      // del is the same in every class
}

// Problem is an alignment loss for one reference.
type Problem struct {
	Ref      []int // symbols outside of the alphabet match nothing
	Alphabet int
	Length   int // of the strings
	// of aligning y with r, of deleting y where r is -1, of inserting r where y is -1
	Cost   func(y, r int) float64
	Tables bool // symbols that ref lacks may differ in their costs
	Band   int  // 0 is none
	Limits layered.Limits
}

// New puts the costs into integers and finds symbols that act alike.
func New(p Problem) *Columns {
	ref, l, m := p.Ref, p.Length, len(p.Ref)
	b := &Columns{l: l, m: m, limits: p.Limits, constant: true}
	// Symbols that act alike: without tables those that ref lacks; with tables
	// those of equal rows.
	var representative []int
	if !p.Tables {
		b.class, representative = ReferenceClasses(ref, p.Alphabet)
	} else {
		b.class, representative = rowClasses(p.Alphabet, func(y int) []float64 {
			row := make([]float64, 0, m+1)
			for _, r := range ref {
				row = append(row, p.Cost(y, r))
			}
			return append(row, p.Cost(y, -1))
		})
	}
	b.First, b.Last = BandWindows(l, m, p.Band)
	b.whole = p.Band == 0
	// A few costs are used many times: number those that are.
	var seen units.Index
	del, ins, sub := make([]int32, len(representative)), make([]int32, m), make([][]int32,
		len(representative))
	for j, r := range ref {
		ins[j] = seen.Add(p.Cost(-1, r))
	}
	for k, y := range representative {
		del[k] = seen.Add(p.Cost(y, -1))
		b.constant = b.constant && del[k] == del[0]
		sub[k] = make([]int32, m)
		for j, r := range ref {
			sub[k][j] = seen.Add(p.Cost(y, r))
		}
	}
	room := l + m + 2
	unit, multiples, onGrid := units.Grid(seen.Costs)
	if !onGrid {
		var ok bool
		if unit, multiples, ok = units.Rounded(seen.Costs, room); !ok {
			b.Exact = newExactCosts(seen.Costs, del, ins, sub)
			return b
		}
	}
	b.unit = unit
	pick := func(of []int32) []int64 {
		x := make([]int64, len(of))
		for i, c := range of {
			x[i] = multiples[c]
		}
		return x
	}
	b.del, b.ins = pick(del), pick(ins)
	b.sub = make([][]int64, len(sub))
	for k := range sub {
		b.sub[k] = pick(sub[k])
	}
	b.gains()
	if onGrid && b.constant {
		b.bounds()
	}
	return b
}

// gains sets what the machine of gains needs: gains in their greatest unit, and
// the constant.
func (b *Columns) gains() {
	pinched := b.Pinches()
	b.Gain = make([][]int64, len(b.sub))
	for k, row := range b.sub {
		b.Gain[k] = make([]int64, b.m)
		for j, s := range row {
			g := b.del[k] + b.ins[j] - s
			if g < 0 && !pinched[j] {
				g = 0 // aligning them is never better
			}
			b.Gain[k][j] = g
			b.scale = units.GCD(b.scale, max(g, -g))
			b.most = max(b.most, g)
		}
	}
	b.scale = max(1, b.scale)
	b.most /= b.scale
	for _, row := range b.Gain {
		for j := range row {
			row[j] /= b.scale
		}
	}
	b.fixed = 0
	if len(b.del) > 0 {
		b.fixed = b.del[0] * int64(b.l)
	}
	for _, x := range b.ins {
		b.fixed += x
	}
	b.base = float64(b.fixed) * b.unit
}

// Pinches says for each symbol of the reference whether some alignment has to
// align it: the windows of two layers meet in a corner there. It takes a
// reference much longer than y.
func (b *Columns) Pinches() []bool {
	pinched := make([]bool, b.m)
	for t := range b.l {
		if j := b.Last[t]; b.First[t+1] == j+1 {
			pinched[j] = true
		}
	}
	return pinched
}

// bounds fills up and low backwards from the end, which every cell of the
// windows reaches.
func (b *Columns) bounds() {
	l, m := b.l, b.m
	best, worst := make([]int64, m), make([]int64, m)
	for j := range m {
		for k, g := range b.Gain {
			if k == 0 {
				best[j], worst[j] = g[j], g[j]
			}
			best[j], worst[j] = max(best[j], g[j]), min(worst[j], g[j])
		}
	}
	b.up, b.low = make([][]int64, l+1), make([][]int64, l+1)
	for t := l; t >= 0; t-- {
		f, n := b.First[t], b.Last[t]
		up, low := make([]int64, n-f+1), make([]int64, n-f+1)
		for j := n; j >= f; j-- {
			i := j - f
			u, w := int64(math.MinInt64/2), int64(math.MinInt64/2)
			switch {
			case j < n:
				u, w = up[i+1], low[i+1]
			case t == l:
				u, w = 0, 0
			}
			if t < l {
				f1, n1 := b.First[t+1], b.Last[t+1]
				if j >= f1 && j <= n1 {
					u, w = max(u, b.up[t+1][j-f1]), max(w, b.low[t+1][j-f1])
				}
				if j+1 >= f1 && j+1 <= n1 {
					u, w = max(u, b.up[t+1][j+1-f1]+best[j]), max(w, b.low[t+1][j+1-f1]+worst[j])
				}
			}
			up[i], low[i] = u, w
		}
		b.up[t], b.low[t] = up, low
	}
}

// Build returns the machine, and whether it is one of gains, which subtracts from a constant. The
// error is an *layered.Oversize, or the context's.
func (b *Columns) Build() (m *layered.Machine, subtracts bool, err error) {
	if !b.noWords && !b.NoClamp {
		if w := b.words(); w != nil {
			m, err = w.build()
		} else if p := b.pairs(); p != nil {
			m, err = p.build()
		}
		if m != nil || err != nil {
			return m, true, err
		}
	}
	m, err = b.generic()
	return m, false, err
}

// Careful returns a builder of the same losses whose machine subtracts from no constant. It keeps
// no context.
func (b *Columns) Careful() *Columns {
	c := *b
	c.noWords = true
	c.limits.Ctx = nil // it may be done when the machine is used
	return &c
}
