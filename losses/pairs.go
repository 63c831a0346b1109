package losses

import "math/bits"

// pairBuilder is wordBuilder for columns of two words: gains of two units and of one, as unit costs
// have, and references of at most 64 symbols without a band. Columns and their moves are those of
// ExpandBuilder for labels of one symbol each; with t symbols and j of the reference, its D[j] is t + j
// less the score. It takes a tenth of the time of the columns of least costs.
type pairBuilder struct{ *columnBuilder }

// pairs returns the two-word builder when it covers the case, else nil.
func (b *columnBuilder) pairs() *pairBuilder {
	if hi, lo, ok := b.twoGains(); !ok || hi != 2 || lo != 1 || !b.whole || b.m > 64 || b.m < 1 {
		return nil
	}
	return &pairBuilder{b}
}

// pairSlot is a slot of the table of one layer's columns; see wordSlot.
type pairSlot struct {
	key    packedColumn
	id, in uint32
}

// pairTable numbers the columns of a layer.
type pairTable struct {
	slots []pairSlot
	keys  []packedColumn
}

// spread hashes a column; its high bits are the best.
func (c packedColumn) spread() uint64 {
	x := c.up*0x9e3779b97f4a7c15 ^ bits.RotateLeft64(c.down*0xd6e8feb86659fd93, 32)
	return (x ^ x>>29) * 0xbf58476d1ce4e5b9
}

func (s *pairTable) begin(n int) {
	s.keys = s.keys[:0]
	size := 1 << max(8, bits.Len(uint(2*n)))
	if cap(s.slots) < size {
		s.slots = make([]pairSlot, size)
		return
	}
	s.slots = s.slots[:size]
	clear(s.slots)
}

// number returns the number of a column with a hash, a new one if it was not there, and notes the way
// to it.
func (s *pairTable) number(key packedColumn, hash uint64, way uint32) uint32 {
	if 2*len(s.keys) >= len(s.slots) {
		s.grow()
	}
	mask, shift := uint64(len(s.slots)-1), hashShiftOf(len(s.slots))
	for i := hash >> (shift & 63); ; i++ {
		e := &s.slots[i&mask]
		if e.in == 0 {
			*e = pairSlot{key, uint32(len(s.keys)), way}
			s.keys = append(s.keys, key)
			return e.id
		}
		if e.key == key {
			e.in |= way
			return e.id
		}
	}
}

func (s *pairTable) grow() {
	old := s.slots
	s.slots = make([]pairSlot, 2*len(old))
	mask, shift := uint64(len(s.slots)-1), hashShiftOf(len(s.slots))
	for _, e := range old {
		if e.in == 0 {
			continue
		}
		i := e.key.spread() >> (shift & 63)
		for s.slots[i&mask].in != 0 {
			i++
		}
		s.slots[i&mask] = e
	}
}

func (s *pairTable) bytes() int64 { return 24*int64(len(s.slots)) + 16*int64(cap(s.keys)) }

// movedPair is a column that was moved, with its hash and what D[m] rose by.
type movedPair struct {
	key  packedColumn
	hash uint64
	rise int
}

// pairPiece is the number of columns moved at a time.
const pairPiece = 64

// mostPair is the most that a move with its clamp changes D[m] by: one symbol changes no loss by more than 1,
// and the guarantee of those to come by no more than 2.
const mostPair = 3

func (b *pairBuilder) build() (*Machine, error) {
	l, m, classes := b.l, b.m, len(b.gain)
	made := &Machine{layers: make([]layer, l), values: make([]float64, 2+2*mostPair)}
	made.values[Excluded] = infinity
	for d := -mostPair; d <= mostPair; d++ {
		made.values[1+mostPair+d] = float64(int64(d)*b.scale) * b.unit
	}
	shift := uint8(bits.Len(uint(len(made.values) - 1)))
	mask := ^uint64(0) >> (64 - m)
	top := uint64(1) << (m - 1)
	match := make([]uint64, classes)
	for k, g := range b.gain {
		for j, x := range g {
			if x == b.most {
				match[k] |= 1 << j
			}
		}
	}
	fused := newFusing(l, b.class, classes)
	ways, size := waysOf(nil, classes, fused), withGraph
	if fused != nil {
		size = withOwnGraph
	}
	first, lower := packedColumn{up: mask}.clamp(m, l, l)
	made.base = float64(b.fixed-int64(l-int(lower))*b.scale) * b.unit
	keys := []packedColumn{first}
	var s pairTable
	var moved []movedPair
	total := 1
	for t := range l {
		n := len(keys)
		if n*classes > 0 && bits.Len(uint(n*classes))+int(shift) > 32 {
			return b.generic()
		}
		s.begin(n)
		if err := b.budget.over(l, t, total, made.bytes+size(n*classes, n)+s.bytes()); err != nil {
			return nil, err
		}
		arcs := make([]uint32, n*classes)
		last, low, high, e := t+1 == l, 0, 0, 0
		for at := 0; at < n; at += pairPiece {
			if at&4095 == 0 {
				if err := b.budget.over(l, t, total+len(s.keys), made.bytes+size(len(arcs), n)+s.bytes()); err != nil {
					return nil, err
				}
			}
			moved = moved[:0]
			for _, from := range keys[at:min(at+pairPiece, n)] {
				for _, eq := range match {
					c, d := from, 0
					// Myers' update, as in ExpandBuilder.packedLayer.
					xv := eq | c.down
					xh := (((eq & c.up) + c.up) ^ c.up) | eq
					hu, hd := c.down|^(xh|c.up), c.up&xh
					if hu&top != 0 {
						d++
					} else if hd&top != 0 {
						d--
					}
					hu, hd = hu<<1|1, hd<<1
					c.up, c.down = (hd|^(xv|hu))&mask, hu&xv&mask
					if last {
						c = packedColumn{} // all columns end alike: the loss is D[m]
					} else {
						var lower int32
						c, lower = c.clamp(m, l-t-1, l-t-1)
						d += int(lower)
					}
					low, high = min(low, d), max(high, d)
					moved = append(moved, movedPair{c, c.spread(), d})
				}
			}
			if len(s.slots) > cachedSlots && useVectors {
				prefetchPairs(&moved[0], len(moved), &s.slots[0], hashShiftOf(len(s.slots)))
			}
			for i := range moved {
				c := &moved[i]
				arcs[e] = s.number(c.key, c.hash, ways[i%classes])<<shift | uint32(1+mostPair+c.rise)&(1<<shift-1)
				e++
			}
		}
		if low < -mostPair || high > mostPair {
			return b.generic()
		}
		ly := &made.layers[t]
		*ly = layer{columns: n, classes: classes, class: b.class, narrow: arcs, shift: shift}
		ly.lo, ly.hi = made.values[1+mostPair+low], made.values[1+mostPair+high]
		if fused != nil {
			info := fused.columns(len(s.keys))
			for i := range s.slots {
				if e := &s.slots[i]; e.in != 0 {
					info[e.id] = uint64(e.in)
				}
			}
			if fused.layer(t, arcs, shift) {
				ly.enter = fused.graph.layers[t+1].start
			} else {
				fused = nil
			}
		}
		made.bytes += size(len(arcs), n)
		total += len(s.keys)
		if err := b.budget.outgrown(l, m, classes, t, n, len(s.keys), total, size(classes, 1)); err != nil {
			return nil, err
		}
		keys, s.keys = s.keys, keys
	}
	made.final = []uint32{1 + mostPair}
	return b.finish(made, fused)
}
