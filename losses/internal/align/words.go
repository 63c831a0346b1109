package align

import (
	"math/bits"
	"sync"

	"github.com/tropica-fst/tropica/losses/internal/features"
	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// wordBuilder is Columns.generic for columns that fit one 64-bit word:
// gains hi and lo only, as constant costs have, and hi bits for each step. It
// gives the same machine, about fifteen times sooner.
//
// A step of s ≤ hi is written as s ones at the high end of its group of hi bits. Steps go from the
// low end of the word up. Then
//   - a score is a population count;
//   - raising the low cells to a common value is clearing ones from the low
//     end, and raising the high cells to the steepest slope is setting zeros
//     from the high end, one bit per unit: that is all the clamp does, for the
//     floor G - hi·min(r, m-j) is first flat and then has slope hi, while the
//     column has slopes between;
//   - one symbol moves a block of steps by a table: what leaves a block depends
//     on its steps, which of its cells match, and by how much the cell before
//     it rose (0 … hi); as in the method of four Russians.
//
// Moving and clamping is a dozen instructions a block and twenty more in
// assembly (moveWords), where PDEP finds the lowest ones and highest zeros. With
// AVX-512 eight columns move at a time, without tables: see asm/words.go.
type wordBuilder struct {
	*Columns
	hi, lo int
	tables *wordTables
}

// wordTables are the block tables of one pair of gains.
type wordTables struct {
	hi, lo int
	steps  int      // steps of a block
	width  uint     // bits of a block
	move   []uint16 // [match][carry][256 blocks]: block after | carry out << 8
	// by block: the greatest prefix sum of (step - lo), at least 0, << 8 | the
	// sum of all as a signed byte
	profile []uint16
}

var wordTablesOf struct {
	sync.Mutex
	made map[[2]int]*wordTables
}

// tablesFor returns the tables of a pair of gains; there are at most 44 pairs,
// so that they are kept for good.
func tablesFor(hi, lo int) *wordTables {
	c := &wordTablesOf
	c.Lock()
	defer c.Unlock()
	if t := c.made[[2]int{hi, lo}]; t != nil {
		return t
	}
	t := &wordTables{hi: hi, lo: lo, steps: [9]int{0, 4, 4, 2, 2, 1, 1, 1, 1}[hi]}
	t.width = uint(t.steps * hi)
	blocks := 1 << t.width
	t.move = make([]uint16, 256*(hi+1)<<t.steps)
	t.profile = make([]uint16, blocks)
	for block := range blocks {
		sum, rise := 0, 0
		for i := range t.steps {
			sum += t.step(block, i) - lo
			rise = max(rise, sum)
		}
		t.profile[block] = uint16(rise)<<8 | uint16(uint8(int8(sum)))
		for match := range 1 << t.steps {
			for carry := range hi + 1 {
				h, out := carry, 0
				for i := range t.steps {
					d, gain := t.step(block, i), lo
					if match>>i&1 != 0 {
						gain = hi
					}
					top := max(d, gain, h)
					e := top - h
					h = top - d
					out |= (1<<e - 1) << (hi - e) << (i * hi)
				}
				t.move[(match*(hi+1)+carry)<<8|block] = uint16(out | h<<8)
			}
		}
	}
	if c.made == nil {
		c.made = map[[2]int]*wordTables{}
	}
	c.made[[2]int{hi, lo}] = t
	return t
}

func (t *wordTables) step(block, i int) int {
	return bits.OnesCount(uint(block >> (i * t.hi) & (1<<t.hi - 1)))
}

// words returns the one-word builder when it covers the case, else nil.
func (b *Columns) words() *wordBuilder {
	hi, lo, ok := b.twoGains()
	if !ok {
		return nil
	}
	for t := range b.First {
		f, n := b.First[t], b.Last[t]
		if (n-f)*hi > 64 || t > 0 && (n-b.First[t-1])*hi > 64 {
			return nil
		}
	}
	return &wordBuilder{Columns: b, hi: hi, lo: lo, tables: tablesFor(hi, lo)}
}

// twoGains returns the two gains of a machine that has no others, and whether its bounds are as
// simple as those of constant costs.
func (b *Columns) twoGains() (hi, lo int, ok bool) {
	// Values are subtracted from the constant, whose units must be few. Its rounding is then far
	// below the least loss that is not 0.
	if b.up == nil || b.most < 1 || b.most > 8 || b.scale > 1<<12 ||
		max(b.fixed, -b.fixed) > int64(1<<12)*int64(b.l+b.m) {
		return 0, 0, false
	}
	most, least := b.most, b.most
	for _, row := range b.Gain {
		for _, g := range row {
			least = min(least, g)
		}
	}
	if least < 0 {
		return 0, 0, false
	}
	for _, row := range b.Gain {
		for _, g := range row {
			if g != most && g != least {
				return 0, 0, false
			}
		}
	}
	for t := range b.First {
		f, n := b.First[t], b.Last[t]
		if t > 0 && (f-b.First[t-1] > 1 || n-b.Last[t-1] > 1) {
			return 0, 0, false
		}
		for j := f; j <= n; j++ {
			k := int64(min(b.l-t, b.m-j))
			if b.up[t][j-f] != most*k || b.low[t][j-f] != least*k {
				return 0, 0, false
			}
		}
	}
	return int(most), int(least), true
}

// wordSlot is a slot of the table of one layer's columns.
type wordSlot struct {
	key uint64
	id  uint32
	in  uint32 // the ranks of the classes that lead here, or 1 for any; 0 in a free slot
}

// wordScratch is what a build needs beside its result.
type wordScratch struct {
	mover      wordMover
	slots      []wordSlot
	keys, next []uint64
	ways       []uint32
}

// pooled is the most slots, and keys, of what waits for the next build.
const pooled = 1 << 18

var wordScratches = sync.Pool{New: func() any { return &wordScratch{slots: make([]wordSlot, 1<<8)} }}

// build returns the machine, nil where it has a column or a value that is not foreseen here.
func (w *wordBuilder) build() (*layered.Machine, error) {
	b := w.Columns
	s := wordScratches.Get().(*wordScratch)
	defer func() {
		if len(s.slots) <= pooled && cap(s.next)+cap(s.keys) <= pooled {
			wordScratches.Put(s)
		}
	}()
	values := make([]float64, 2+2*w.hi)
	for o := range 1 + 2*w.hi {
		values[1+o] = 0 - float64(int64(o)*b.scale)*b.unit
	}
	g := b.newGainLayers(values)
	s.ways = g.ways(s.ways)
	first, raised := w.clampWord(w.clampAt(0), 0)
	g.m.Base = float64(b.fixed-int64(raised)*b.scale) * b.unit
	s.keys = append(s.keys[:0], first)
	for t := range b.l {
		arcs, err := w.layer(g, s, t)
		if arcs == nil || err != nil {
			return nil, err
		}
		err = g.close(t, len(s.keys), arcs, len(s.next), [2]float64{values[1+2*w.hi], 0},
			func(info []uint64) {
				for i := range s.slots {
					if e := &s.slots[i]; e.in != 0 {
						info[e.id] = uint64(e.in)
					}
				}
			})
		if err != nil {
			return nil, err
		}
		s.keys, s.next = s.next, s.keys
	}
	// No symbol is left, so that all columns were raised to one.
	for _, key := range s.keys {
		if key != 0 {
			return nil, nil
		}
	}
	return g.finish(len(s.keys), 1)
}

// layer moves the columns s.keys of layer t. It returns their arcs, column << shift | value, and
// fills s.next and s.slots. Arcs are nil where the machine has columns or values that are not
// foreseen here.
func (w *wordBuilder) layer(g *gainLayers, s *wordScratch, t int) ([]uint32, error) {
	n, classes := len(s.keys), len(w.Gain)
	if !g.fits(n) {
		return nil, nil
	}
	if err := g.room(t, n, 0, s.held(len(s.slots))); err != nil {
		return nil, err
	}
	arcs := make([]uint32, n*classes)
	mv := w.mover(s, t, w.clampAt(t+1))
	s.next = s.next[:0]
	s.begin(n, classes)
	ways, shift := s.ways, g.shift&31
	slots, mask, hashShift := s.slots, uint64(len(s.slots)-1), hashShiftOf(len(s.slots))
	for c := 0; c < n; c += wordPiece {
		piece := s.keys[c:min(c+wordPiece, n)]
		mv.move(piece)
		if len(slots) > cachedSlots && features.Vectors {
			prefetchSlots(&mv.out[0], mv.step*(classes-1)+mv.next*(len(piece)-1)+1, &slots[0], hashShift)
		}
		row := arcs[c*classes:][:len(piece)*classes]
		most := uint8(0)
		for i := range piece {
			for k := range classes {
				at := i*mv.next + k*mv.step
				key := mv.out[at]
				// Number the column.
				id := uint32(len(s.next))
				for i := (key * 0x9e3779b97f4a7c15) >> (hashShift & 63); ; i++ {
					e := &slots[i&mask]
					if e.in == 0 {
						*e = wordSlot{key, id, ways[k]}
						s.next = append(s.next, key)
						break
					}
					if e.key == key {
						e.in |= ways[k]
						id = e.id
						break
					}
				}
				most = max(most, mv.off[at])
				row[i*classes+k] = id<<shift | (uint32(mv.off[at]) + 1)
			}
		}
		if int(most) > 2*w.hi {
			return nil, nil
		}
		if more := min(wordPiece, n-c-len(piece)); uint64(len(s.next)+more*classes)*2 > mask {
			// The old table and the one of twice its size stand side by side.
			if err := g.room(t, n, len(s.next), s.held(3*len(slots))); err != nil {
				return nil, err
			}
			s.grow()
			slots, mask, hashShift = s.slots, uint64(len(s.slots)-1), hashShiftOf(len(s.slots))
		}
	}
	return arcs, g.room(t, n, len(s.next), 0)
}

// wordPiece is the number of columns moved at a time, a multiple of 8.
const wordPiece = 32

// cachedSlots is how many slots the second level of caches holds with what else is at hand.
const cachedSlots = 1 << 13

// wordMover moves columns of one layer over all classes.
type wordMover struct {
	args    wordArgs
	w       *wordBuilder
	lim     *wordLimits
	plane   []uint32 // by class and block: where its table begins
	classes int
	blocks  int
	drop    uint   // bits of the steps that leave the window at its low end
	all     uint64 // bits of the steps before they leave
	out     []uint64
	off     []uint8
	// out and off have an entry every next for each key, every step for each class
	next, step int

	lanes    func(*laneArgs) // moves eight columns at a time; may be nil
	laneArgs laneArgs
	match    []uint64 // by class
	eight    [8]uint64
}

// wordArgs is what the assembly reads; movewords_amd64.go checks the layout that is known there.
type wordArgs struct {
	keys            *uint64
	n               int
	out             *uint64
	off             *uint8
	planes          *uint32
	classes, blocks int
	move            *uint16
	width           int
	blockMask       uint64
	drop            int
	dropped, all    uint64
	before          uint64
	sure, turn      int
	profileBlocks   int
	profile         *uint16
	low, high       int
	limAll          uint64
	at              int // the column at hand; pointers are not moved, for the collector sees them
}

// mover sets up the move from layer t.
func (w *wordBuilder) mover(s *wordScratch, t int, lim *wordLimits) *wordMover {
	b, tab, mv := w.Columns, w.tables, &s.mover
	f, f1, e1 := b.First[t], b.First[t+1], b.Last[t+1]
	groups := e1 - f
	mv.w, mv.lim, mv.classes = w, lim, len(b.Gain)
	mv.blocks = (groups + tab.steps - 1) / tab.steps
	mv.drop, mv.all = uint(f1-f)*uint(w.hi), layered.Ones(groups*w.hi)
	mv.out, mv.off = layered.Resize(mv.out, wordPiece*mv.classes), layered.Resize(mv.off,
		wordPiece*mv.classes)
	mv.next, mv.step = mv.classes, 1
	if mv.lanes = lanesFor(w.hi, w.lo); mv.lanes != nil && mv.classes > 0 {
		mv.setLanes(f)
		return mv
	}
	mv.planes(f)
	if features.Vectors && mv.blocks > 0 && mv.classes > 0 {
		mv.args = wordArgs{
			out: &mv.out[0], off: &mv.off[0], planes: &mv.plane[0], classes: mv.classes, blocks: mv.blocks,
			move: &tab.move[0], width: int(tab.width), blockMask: uint64(1)<<tab.width - 1,
			drop: int(mv.drop), dropped: layered.Ones(int(mv.drop)), all: mv.all,
			before: lim.before, sure: lim.sure, turn: int(lim.turn), profileBlocks: lim.blocks,
			profile: &tab.profile[0],
			low:     lim.low, high: lim.high, limAll: lim.all,
		}
	}
	return mv
}

// setLanes sets up lanes for columns that begin at cell first.
func (mv *wordMover) setLanes(first int) {
	w, lim := mv.w, mv.lim
	mv.next, mv.step = 1, wordPiece
	mv.match = layered.Resize(mv.match, mv.classes)
	for k, g := range w.Gain {
		mv.match[k] = 0
		for j := first; j < min(w.m, first+64/w.hi); j++ {
			if g[j] == w.most {
				mv.match[k] |= 1 << ((j - first) * w.hi)
			}
		}
	}
	mv.laneArgs = laneArgs{
		out: &mv.out[0], off: &mv.off[0], match: &mv.match[0], classes: mv.classes, stride: wordPiece,
		dropped: layered.Ones(int(mv.drop)), drop: int(mv.drop), all: mv.all, before: lim.before,
		sure: lim.sure,
		turn: int(lim.turn), low: lim.low, high: lim.high, limAll: lim.all,
	}
}

// move fills out and off for each key and class.
func (mv *wordMover) move(keys []uint64) {
	if mv.lanes != nil && mv.classes > 0 {
		a := &mv.laneArgs
		if a.n = len(keys) &^ 7; a.n > 0 {
			a.keys = &keys[0]
			mv.lanes(a)
		}
		if odd := keys[a.n:]; len(odd) > 0 {
			clear(mv.eight[copy(mv.eight[:], odd):])
			b := *a
			b.keys, b.n, b.out, b.off = &mv.eight[0], 8, &mv.out[a.n], &mv.off[a.n]
			mv.lanes(&b)
		}
		a.keys = nil
		return
	}
	if features.Vectors && mv.blocks > 0 && mv.classes > 0 {
		mv.args.keys, mv.args.n = &keys[0], len(keys)
		moveWords(&mv.args)
		mv.args.keys = nil
		return
	}
	mv.moveGo(keys)
}

func (mv *wordMover) moveGo(keys []uint64) {
	tab := mv.w.tables
	move, width, blockMask := tab.move, tab.width&63, uint64(1)<<(tab.width&63)-1
	i := 0
	for _, key := range keys {
		planes := mv.plane
		for range mv.classes {
			left, x, at, out := key, uint32(0), uint(0), uint64(0)
			for _, p := range planes[:mv.blocks] {
				x = uint32(move[p+x&0xff00+uint32(left&blockMask)])
				left >>= width
				out |= uint64(x&255) << (at & 63)
				at += width
			}
			planes = planes[mv.blocks:]
			out &= mv.all
			offset := bits.OnesCount64(out & layered.Ones(int(mv.drop)))
			out, raised := mv.w.clampWord(mv.lim, out>>mv.drop)
			mv.out[i], mv.off[i] = out, uint8(offset+raised)
			i++
		}
	}
}

// planes sets where the table of each class and block begins.
func (mv *wordMover) planes(first int) {
	w := mv.w
	tab := w.tables
	mv.plane = mv.plane[:0]
	for _, g := range w.Gain {
		for i := range mv.blocks {
			match := 0
			for d := range tab.steps {
				j := first + i*tab.steps + d // the symbol before cell j+1
				if j < w.m && g[j] == w.most {
					match |= 1 << d
				}
			}
			mv.plane = append(mv.plane, uint32(match*(w.hi+1))<<8)
		}
	}
}

// wordLimits are the constants of one layer's clamp.
type wordLimits struct {
	turn      uint   // bits before the cell where the floor turns from flat to steep
	before    uint64 // those bits
	sure      int    // what is certain to be gained from that cell
	low, high int    // most to be gained from the first and from the last cell
	all       uint64 // bits of all steps
	blocks    int    // blocks of steps from turn on
}

// clampAt returns the constants of layer t.
func (w *wordBuilder) clampAt(t int) *wordLimits {
	r := w.l - t
	f, n := w.First[t], w.Last[t]
	turn := min(max(w.m-r, f), n)
	return &wordLimits{
		turn:   uint((turn - f) * w.hi),
		before: layered.Ones((turn - f) * w.hi),
		sure:   w.lo * min(r, w.m-turn),
		low:    w.hi * min(r, w.m-f),
		high:   w.hi * min(r, w.m-n),
		all:    layered.Ones((n - f) * w.hi),
		blocks: (n - turn + w.tables.steps - 1) / w.tables.steps,
	}
}

// clampWord raises a column, and returns by how much its first cell rose.
func (w *wordBuilder) clampWord(lim *wordLimits, key uint64) (uint64, int) {
	tab := w.tables
	// G - S[first], the greatest sum over j ≥ turn of S[j] + low(j).
	g := bits.OnesCount64(key&lim.before) + lim.sure
	if lim.turn < 64 {
		width, blockMask := tab.width&63, uint64(1)<<(tab.width&63)-1
		sum, best := 0, 0
		for left := key >> (lim.turn & 63); left != 0; left >>= width {
			x := tab.profile[left&blockMask]
			best = max(best, sum+int(x>>8))
			sum += int(int8(x))
		}
		g += best
	}
	top := g - lim.high - bits.OnesCount64(key)
	o := max(0, g-lim.low)
	for range o {
		key &= key - 1
	}
	for ; top > 0; top-- {
		key |= 1 << (bits.Len64(^key&lim.all) - 1)
	}
	return key, o
}

// held returns the bytes of so many slots and of the keys, where the pool does not keep them from
// one build to the next.
func (s *wordScratch) held(slots int) int64 {
	n := int64(0)
	if slots > pooled {
		n += 16 * int64(slots)
	}
	if keys := cap(s.next) + cap(s.keys); keys > pooled {
		n += 8 * int64(keys)
	}
	return n
}

// hashShiftOf returns the shift that leaves a slot of a hash.
func hashShiftOf(slots int) uint { return uint(64 - bits.Len(uint(slots-1))) }

// begin frees the table for a layer behind one of n columns, with room for what the first piece
// of it leads to.
func (s *wordScratch) begin(n, classes int) {
	// Small tables have three free slots in four: they stay in cache, and
	// most probes end at once.
	size := 1 << max(6, bits.Len(uint(2*max(n, min(n, wordPiece)*classes))))
	if size < 1<<15 {
		size *= 2
	}
	if cap(s.slots) < size {
		s.slots = make([]wordSlot, size)
		return
	}
	s.slots = s.slots[:size]
	clear(s.slots)
}

// grow doubles the table.
func (s *wordScratch) grow() {
	old := s.slots
	s.slots = make([]wordSlot, 2*len(old))
	mask, shift := uint64(len(s.slots)-1), hashShiftOf(len(s.slots))
	for _, e := range old {
		if e.in == 0 {
			continue
		}
		i := (e.key * 0x9e3779b97f4a7c15) >> (shift & 63)
		for s.slots[i&mask].in != 0 {
			i++
		}
		s.slots[i&mask] = e
	}
}
