package align

import (
	"math/bits"

	"github.com/tropica-fst/tropica/losses/internal/features"
	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// pairBuilder is wordBuilder for columns of two words. Gains are two units and one, as for unit
// costs, and references have at most 64 symbols and no band. Columns and their moves are those of
// Expander for labels of one symbol each. With t symbols and j of the reference, its D[j] is t + j
// less the score. It takes a tenth of the time of the columns of least costs.
type pairBuilder struct{ *Columns }

// pairs returns the two-word builder when it covers the case, else nil.
func (b *Columns) pairs() *pairBuilder {
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

// number returns the number of a column with a hash, a new one if it was not there, and notes the
// way to it.
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

// mostPair is the most that a move with its clamp changes D[m] by. One symbol changes no loss by
// more than 1, and the guarantee of what is to come by no more than 2.
const mostPair = 3

// build returns the machine, nil where it has a column or a value that is not foreseen here.
func (b *pairBuilder) build() (*layered.Machine, error) {
	l, m := b.l, b.m
	values := make([]float64, 2+2*mostPair)
	for d := -mostPair; d <= mostPair; d++ {
		values[1+mostPair+d] = float64(int64(d)*b.scale) * b.unit
	}
	g := b.newGainLayers(values)
	mv := pairMover{m: m, ways: g.ways(nil), match: make([]uint64, len(b.Gain))}
	for k, row := range b.Gain {
		for j, x := range row {
			if x == b.most {
				mv.match[k] |= 1 << j
			}
		}
	}
	first, lower := packedColumn{up: ^uint64(0) >> (64 - m)}.clamp(m, l, l)
	g.m.Base = float64(b.fixed-int64(l-int(lower))*b.scale) * b.unit
	mv.from = []packedColumn{first}
	for t := range l {
		n := len(mv.from)
		arcs, err := mv.layer(g, t, l-t-1)
		if arcs == nil || err != nil {
			return nil, err
		}
		reach := [2]float64{values[1+mostPair+mv.low], values[1+mostPair+mv.high]}
		err = g.close(t, n, arcs, len(mv.to.keys), reach, func(info []uint64) {
			for i := range mv.to.slots {
				if e := &mv.to.slots[i]; e.in != 0 {
					info[e.id] = uint64(e.in)
				}
			}
		})
		if err != nil {
			return nil, err
		}
		mv.from, mv.to.keys = mv.to.keys, mv.from
	}
	return g.finish(1, 1+mostPair)
}

// pairMover moves the columns of a layer.
type pairMover struct {
	m     int
	match []uint64 // by class: the symbols of the reference that it matches
	ways  []uint32 // by class: what the table notes of it
	from  []packedColumn
	to    pairTable
	moved []movedPair

	low, high int // least and greatest rise of the layer
}

// layer returns the arcs of layer t, with so many symbols to come after it, and fills to. Arcs are
// nil where the machine has columns or values that are not foreseen here.
func (mv *pairMover) layer(g *gainLayers, t, left int) ([]uint32, error) {
	n, classes, s := len(mv.from), len(mv.match), &mv.to
	if !g.fits(n) {
		return nil, nil
	}
	s.begin(n)
	arcs := make([]uint32, n*classes)
	mv.low, mv.high = 0, 0
	e, shift := 0, g.shift&31
	for at := 0; at < n; at += pairPiece {
		if at&4095 == 0 {
			if err := g.room(t, n, len(s.keys), s.bytes()); err != nil {
				return nil, err
			}
		}
		mv.move(mv.from[at:min(at+pairPiece, n)], left)
		if len(s.slots) > cachedSlots && features.Vectors {
			prefetchPairs(&mv.moved[0], len(mv.moved), &s.slots[0], hashShiftOf(len(s.slots)))
		}
		for i := range mv.moved {
			c := &mv.moved[i]
			arcs[e] = s.number(c.key, c.hash,
				mv.ways[i%classes])<<shift | uint32(1+mostPair+c.rise)&(1<<shift-1)
			e++
		}
	}
	if mv.low < -mostPair || mv.high > mostPair {
		return nil, nil
	}
	return arcs, nil
}

// move fills moved, column by column and class by class.
func (mv *pairMover) move(columns []packedColumn, left int) {
	m := mv.m
	mask, top := ^uint64(0)>>(64-m), uint64(1)<<(m-1)
	low, high := mv.low, mv.high
	mv.moved = mv.moved[:0]
	for _, from := range columns {
		for _, eq := range mv.match {
			c, d := from, 0
			// Myers' update, as in Expander.packedLayer.
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
			if left == 0 {
				c = packedColumn{} // all columns end alike: the loss is D[m]
			} else {
				var lower int32
				c, lower = c.clamp(m, left, left)
				d += int(lower)
			}
			low, high = min(low, d), max(high, d)
			mv.moved = append(mv.moved, movedPair{c, c.spread(), d})
		}
	}
	mv.low, mv.high = low, high
}
