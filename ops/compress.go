package ops

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// A compressed machine is a table of its pairs of labels, as of Encode, then a string of bits with
// its states and arcs, then its weights, if any. States are numbered breadth first. The arcs of a
// state that find a new state come first, and need only their labels. The others follow, sorted by
// next state and label. Both are written as codes of J. Ziv and A. Lempel, "Compression of
// individual sequences via variable-rate coding", IEEE Trans. Information Theory 24(5):530-536,
// 1978. Each has one dictionary for the whole machine. Of the other arcs, the numbers of dictionary
// entries and the last arcs of the codes are sorted separately, and written as differences. Numbers
// are in the delta code of P. Elias, "Universal codeword sets and representations of the integers",
// IEEE Trans. Information Theory 21(2):194-203, 1975.
const compressMagic = 1858869554

// ErrCompressed reports a compressed machine that cannot be taken apart.
var ErrCompressed = errors.New("not a compressed machine")

// lzArc is an arc as the dictionaries have it; of arcs to new states next is 0.
type lzArc struct {
	next  fst.StateID
	label fst.Label
}

func (a lzArc) key() run.SortKey { return run.LabelKey(fst.Label(a.next), a.label) }

func (a lzArc) less(b lzArc) bool { return a.key().Less(b.key()) }

// lzCode is an entry of the dictionary, 0 for none, and an arc after it, the zero value
// for none.
type lzCode struct {
	entry int32
	arc   lzArc
}

// lzEncoder is a dictionary, as a tree.
type lzEncoder struct {
	child map[lzCode]int32
}

// encode appends the codes of arcs, and adds to the dictionary what is new.
func (d *lzEncoder) encode(dst []lzCode, arcs []lzArc) []lzCode {
	entry := int32(0)
	for _, a := range arcs {
		c := lzCode{entry, a}
		if next, ok := d.child[c]; ok {
			entry = next
			continue
		}
		dst = append(dst, c)
		d.child[c] = int32(len(d.child)) + 1
		entry = 0
	}
	if entry != 0 {
		dst = append(dst, lzCode{entry: entry})
	}
	return dst
}

// lzDecoder is a dictionary as codes: entry 0 is empty.
type lzDecoder struct{ entries []lzCode }

// decode appends the arcs of a code, and adds it to the dictionary if it is new.
func (d *lzDecoder) decode(dst []lzArc, c lzCode) ([]lzArc, bool) {
	if c.entry < 0 || int(c.entry) >= len(d.entries) {
		return dst, false
	}
	from := len(dst)
	if c.arc != (lzArc{}) {
		dst = append(dst, c.arc)
	}
	for e := c.entry; e != 0; e = d.entries[e].entry {
		dst = append(dst, d.entries[e].arc)
	}
	slices.Reverse(dst[from:])
	if c.arc != (lzArc{}) {
		d.entries = append(d.entries, c)
	}
	return dst, true
}

// bitWriter writes numbers in the delta code, bits from the high end of each byte.
type bitWriter struct {
	out  []byte
	free int // bits still free in the last byte
}

func (w *bitWriter) bits(x uint64, n int) {
	for n > 0 {
		if w.free == 0 {
			w.out = append(w.out, 0)
			w.free = 8
		}
		k := min(n, w.free)
		w.out[len(w.out)-1] |= byte(x>>(n-k)&(1<<k-1)) << (w.free - k)
		n -= k
		w.free -= k
	}
}

// number writes x, which is not negative: the length of the length in zeros, the length, and
// x+1 without its first bit.
func (w *bitWriter) number(x int32) {
	v := uint64(x) + 1
	n := bits.Len64(v)
	w.bits(0, bits.Len(uint(n))-1)
	w.bits(uint64(n), bits.Len(uint(n)))
	w.bits(v, n-1)
}

// deltaNumbers returns the numbers in data up to its end; ones that fill up the last byte read as
// zeros.
func deltaNumbers(data []byte) ([]int32, error) {
	var out []int32
	at, end := 0, 8*len(data)
	bad := fmt.Errorf("a number that is cut or too large: %w", ErrCompressed)
	bit := func() uint64 {
		b := uint64(data[at>>3] >> (7 - at&7) & 1)
		at++
		return b
	}
	for at < end {
		zeros := 0
		for at < end && bit() == 0 {
			zeros++
		}
		if zeros > 5 || at+zeros > end || data[(at-1)>>3]>>(7-(at-1)&7)&1 == 0 {
			return nil, bad
		}
		n := uint64(1)
		for range zeros {
			n = n<<1 | bit()
		}
		if n > 32 || at+int(n)-1 > end {
			return nil, bad
		}
		x := uint64(1)
		for range n - 1 {
			x = x<<1 | bit()
		}
		if x > 1<<31 {
			return nil, bad
		}
		out = append(out, int32(x-1))
	}
	return out, nil
}

// breadthFirst returns f with its states in breadth-first order, from the start and then from each
// state not yet found.
func breadthFirst[W semiring.Weight[W]](f *fst.Vector[W]) *fst.Vector[W] {
	n := f.NumStates()
	number := slices.Repeat([]fst.StateID{fst.NoState}, n)
	order := make([]fst.StateID, 0, n)
	find := func(q fst.StateID) {
		if number[q] == fst.NoState {
			number[q] = fst.StateID(len(order))
			order = append(order, q)
		}
	}
	head := 0
	for root := fst.StateID(-1); int(root) < n; root++ {
		if root < 0 {
			find(f.Start())
		} else {
			find(root)
		}
		for ; head < len(order); head++ {
			for _, e := range f.Arcs(order[head]) {
				find(e.NextState)
			}
		}
	}
	out := fst.NewVector[W](n)
	var arcs []fst.Arc[W]
	for _, q := range order {
		arcs = append(arcs[:0], f.Arcs(q)...)
		for i := range arcs {
			arcs[i].NextState = number[arcs[i].NextState]
		}
		out.PushState(f.Final(q), arcs)
	}
	out.SetStart(0)
	return out
}

// Compress writes f in the compressed form of OpenFst's fstcompress. Decompress gives f back with
// its states renumbered and the arcs of states in another order. A machine without a start state
// comes back empty. Machines that have several arcs with the same labels between two states may not
// come back, for the format can confuse these. That is found out, and is an error that wraps
// ErrCompressed.
//
// Cost: O(|Q| + |E| log |E|).
func Compress[W semiring.Codec[W]](w io.Writer, f fst.Expanded[W]) error {
	t := NewEncodeTable[W](EncodeLabels)
	v := fst.NewVector[W](0)
	if f.Start() != fst.NoState {
		v = copyOf(f)
		Encode(v, t)
		v = breadthFirst(v)
	}
	var b bitWriter
	arcWeights, finalWeights, err := compressArcs(&b, v)
	if err != nil {
		return err
	}
	for b.free > 0 {
		b.bits(1, 1)
	}
	head := binary.LittleEndian.AppendUint32(nil, compressMagic)
	if _, err := w.Write(head); err != nil {
		return err
	}
	if err := WriteEncodeTable(w, t); err != nil {
		return err
	}
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(b.out)))
	out = append(out, b.out...)
	if fst.PropertiesOf[W](v, fst.Unweighted)&fst.Unweighted != 0 {
		out = append(out, 1)
	} else {
		out = append(out, 0)
		for _, ws := range [][]W{arcWeights, finalWeights} {
			out = binary.LittleEndian.AppendUint64(out, uint64(len(ws)))
			for _, x := range ws {
				out = x.AppendBinary(out)
			}
		}
	}
	_, err = w.Write(out)
	return err
}

// compressArcs writes the states and arcs of f, and returns its weights in the order in which
// reading comes to them.
func compressArcs[W semiring.Weight[W]](b *bitWriter, f *fst.Vector[W]) (arcWeights, finalWeights []W, err error) {
	n := f.NumStates()
	b.number(int32(n))
	found := lzEncoder{map[lzCode]int32{}}
	known := lzEncoder{map[lzCode]int32{}}
	reader := lzDecoder{make([]lzCode, 1)} // what a reader makes of known
	var finals []fst.StateID
	var fresh, others []lzArc
	var codes []lzCode
	var old []fst.Arc[W]
	var sorter run.ArcSorter[W]
	seen := fst.StateID(0) // the highest state found so far
	zero := semiring.Zero[W]()
	for q := range fst.StateID(n) {
		seen = max(seen, q)
		if x := f.Final(q); !x.Equal(zero) {
			finals, finalWeights = append(finals, q), append(finalWeights, x)
		}
		fresh, old = fresh[:0], old[:0]
		for _, e := range f.Arcs(q) {
			if e.NextState > seen {
				seen++
				fresh = append(fresh, lzArc{label: e.ILabel})
				arcWeights = append(arcWeights, e.Weight)
			} else {
				old = append(old, e)
			}
		}
		codes = found.encode(codes[:0], fresh)
		b.number(int32(len(codes)))
		for _, c := range codes {
			b.number(c.entry)
			b.number(int32(c.arc.label))
		}
		sorter.Sort(old, func(e *fst.Arc[W]) run.SortKey { return lzArc{e.NextState, e.ILabel}.key() })
		others = others[:0]
		for _, e := range old {
			arcWeights = append(arcWeights, e.Weight)
			others = append(others, lzArc{e.NextState, e.ILabel})
		}
		codes = known.encode(codes[:0], others)
		b.number(int32(len(codes)))
		entries, arcs := make([]int32, len(codes)), make([]lzArc, 0, len(codes))
		for i, c := range codes {
			entries[i] = c.entry
			if c.arc != (lzArc{}) {
				arcs = append(arcs, c.arc)
			}
		}
		b.number(int32(len(codes) - len(arcs))) // 1 where the last code ends without an arc of its own
		slices.Sort(entries)
		slices.SortFunc(arcs, func(x, y lzArc) int {
			if x.less(y) {
				return -1
			}
			return 1
		})
		if len(arcs) < len(codes) {
			arcs = append(arcs, lzArc{})
		}
		// Entries of this very state come too late for a reader.
		late := len(entries) > 0 && int(entries[len(entries)-1]) >= len(reader.entries)
		if late || !slices.Equal(reader.pair(entries, arcs), codes) {
			return nil, nil, &StateError{Op: "Compress", State: q, Err: fmt.Errorf("several arcs with the same labels to one state: %w", ErrCompressed)}
		}
		for _, c := range codes {
			if c.arc == (lzArc{}) {
				arcs = arcs[:len(arcs)-1]
				break
			}
			reader.entries = append(reader.entries, c)
		}
		last := int32(0)
		for _, e := range entries {
			b.number(e - last)
			last = e
		}
		next := fst.StateID(0)
		for _, a := range arcs {
			b.number(int32(a.next - next))
			b.number(int32(a.label))
			next = a.next
		}
	}
	b.number(int32(len(finals)))
	for _, q := range finals {
		b.number(int32(q))
	}
	return arcWeights, finalWeights, nil
}

// Decompress reads what Compress, or OpenFst's fstcompress, wrote. Errors are
// fst.BinaryErrors, around ErrCompressed where the format is broken; name is the source's, for
// them. Compressed arcs can be many more than bytes: the limits bound the machine.
func Decompress[W semiring.Codec[W]](r io.Reader, name string, lim Limits) (*fst.Vector[W], error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	at := 0
	fail := func(format string, args ...any) error {
		return &fst.BinaryError{Source: name, Offset: int64(at), Err: fmt.Errorf(format+": %w",
			append(args, ErrCompressed)...)}
	}
	le := binary.LittleEndian
	if len(data) < 4 || le.Uint32(data) != compressMagic {
		return nil, fail("it does not start with %#08x", compressMagic)
	}
	t, at, err := parseEncodeTable[W](data, 4, name)
	if err != nil {
		return nil, err
	}
	if t.Kind() != EncodeLabels {
		return nil, fail("its table is not one of labels alone")
	}
	count := func() (int, bool) {
		if len(data)-at < 8 {
			return 0, false
		}
		n := le.Uint64(data[at:])
		if n > uint64(len(data)-at-8) {
			return 0, false
		}
		at += 8
		return int(n), true
	}
	n, ok := count()
	if !ok || at+n == len(data) {
		return nil, fail("it is cut")
	}
	numbers, err := deltaNumbers(data[at : at+n])
	if err != nil {
		return nil, fail("%v", err)
	}
	at += n
	d := &decompressor[W]{numbers: numbers, out: fst.NewVector[W](0), t: t,
		meter: lim.meter("Decompress").AtOnce()}
	var weights [2][]W // of arcs, of final states
	d.unweighted = data[at] != 0
	at++
	if !d.unweighted {
		zero := semiring.Zero[W]()
		for i := range weights {
			n, ok := count()
			if !ok {
				return nil, fail("it is cut, or counts more weights than there are")
			}
			for range n {
				x, used, err := zero.DecodeBinary(data[at:])
				if err != nil || used == 0 || !x.Member() {
					return nil, fail("a weight that is none")
				}
				weights[i] = append(weights[i], x)
				at += used
			}
		}
	}
	d.arcWeights = weights[0]
	if err := d.run(weights[1]); err != nil {
		if d.limit != nil {
			return nil, err
		}
		return nil, fail("%v", err)
	}
	d.out.SetInputSymbols(t.isyms)
	d.out.SetOutputSymbols(t.osyms)
	return d.out, nil
}

// decompressor makes the machine of a list of numbers.
type decompressor[W semiring.Codec[W]] struct {
	numbers    []int32
	at         int
	out        *fst.Vector[W]
	t          *EncodeTable[W]
	unweighted bool
	arcWeights []W
	meter      run.Meter
	limit      error // if a limit was met

	short bool // the numbers came to their end
}

// next returns the next number, 0 after the end.
func (d *decompressor[W]) next() int32 {
	if d.at == len(d.numbers) {
		d.short = true
		return 0
	}
	d.at++
	return d.numbers[d.at-1]
}

// many returns the next number if so many items of some numbers each may follow.
func (d *decompressor[W]) many(each int) int {
	n := int(d.next())
	if n > (len(d.numbers)-d.at)/each {
		d.short = true
		return 0
	}
	return n
}

var errNumbers = errors.New("its numbers end too early")

func (d *decompressor[W]) run(finalWeights []W) error {
	n := d.many(3) // a state has two counts and a mark at least
	d.out.AddStates(n)
	if n > 0 {
		d.out.SetStart(0)
	}
	found, known := lzDecoder{make([]lzCode, 1)}, lzDecoder{make([]lzCode, 1)}
	seen := 1
	var arcs []lzArc
	var arcsOut []fst.Arc[W]
	for q := range n {
		seen = max(seen, q+1)
		arcs, arcsOut = arcs[:0], arcsOut[:0]
		ok := true
		for range d.many(2) {
			c := lzCode{entry: d.next()}
			c.arc.label = fst.Label(d.next())
			if arcs, ok = found.decode(arcs, c); !ok {
				return fmt.Errorf("state %d: code %d of %d", q, c.entry, len(found.entries))
			}
			if seen+len(arcs) > n {
				return fmt.Errorf("state %d: an arc to a state beyond %d", q, n)
			}
		}
		for _, a := range arcs {
			if err := d.arc(&arcsOut, a.label, fst.StateID(seen), n); err != nil {
				return err
			}
			seen++
		}
		codes, err := d.others(q, &known)
		if err != nil {
			return err
		}
		arcs = arcs[:0]
		for _, c := range codes {
			if arcs, ok = known.decode(arcs, c); !ok {
				return fmt.Errorf("state %d: code %d of %d", q, c.entry, len(known.entries))
			}
			if err := d.check(int64(len(arcs))); err != nil {
				return err
			}
		}
		for _, a := range arcs {
			if err := d.arc(&arcsOut, a.label, a.next, n); err != nil {
				return err
			}
		}
		d.out.SetArcs(fst.StateID(q), arcsOut)
		if err := d.check(0); err != nil {
			return err
		}
		if d.short {
			return errNumbers
		}
	}
	one := semiring.One[W]()
	for i := range d.many(1) {
		q := d.next()
		if int(q) >= n || !d.unweighted && i >= len(finalWeights) {
			return fmt.Errorf("final state %d of %d, or more than %d weights for them", q, n, len(finalWeights))
		}
		w := one
		if !d.unweighted {
			w = finalWeights[i]
		}
		d.out.SetFinal(fst.StateID(q), w)
	}
	if d.short {
		return errNumbers
	}
	return nil
}

// check meets the limits, with so many arcs still to be added.
func (d *decompressor[W]) check(arcs int64) error {
	d.limit = d.meter.Check(run.SizeOf[W](d.out.NumStates(), int64(d.out.NumArcs())+arcs))
	return d.limit
}

// arc appends an arc with the labels that l stands for.
func (d *decompressor[W]) arc(dst *[]fst.Arc[W], l fst.Label, next fst.StateID, n int) error {
	in, out, _, ok := d.t.Triple(l)
	if !ok || int(next) >= n {
		return fmt.Errorf("an arc to state %d of %d with pair %d of %d", next, n, l, d.t.Len())
	}
	w := semiring.One[W]()
	if !d.unweighted {
		if len(d.arcWeights) == 0 {
			return fmt.Errorf("fewer weights than arcs")
		}
		w, d.arcWeights = d.arcWeights[0], d.arcWeights[1:]
	}
	*dst = append(*dst, fst.Arc[W]{ILabel: in, OLabel: out, Weight: w, NextState: next})
	return nil
}

// others returns the codes of the arcs of state q that find no new state. Entries and last arcs
// were sorted separately. They are paired so that all arcs of the state are in order: an arc goes
// to the next entry, by last arcs, if it comes after that entry's; otherwise it begins anew.
func (d *decompressor[W]) others(q int, known *lzDecoder) ([]lzCode, error) {
	n := d.many(1)
	open := int(d.next())
	if open > min(n, 1) {
		return nil, fmt.Errorf("state %d: a mark of %d", q, open)
	}
	entries := make([]int32, n)
	last := int64(0)
	for i := range entries {
		last += int64(d.next())
		if last >= int64(len(known.entries)) {
			return nil, fmt.Errorf("state %d: entry %d of %d", q, last, len(known.entries))
		}
		entries[i] = int32(last)
	}
	if n-open > (len(d.numbers)-d.at)/2 {
		return nil, errNumbers
	}
	arcs := make([]lzArc, n-open)
	next := int64(0)
	for i := range arcs {
		next += int64(d.next())
		if next >= int64(d.out.NumStates()) {
			return nil, fmt.Errorf("state %d: an arc to state %d of %d", q, next, d.out.NumStates())
		}
		arcs[i] = lzArc{fst.StateID(next), fst.Label(d.next())}
	}
	if open == 1 {
		arcs = append(arcs, lzArc{}) // ends an entry as it is
	}
	return known.pair(entries, arcs), nil
}

// pair makes codes of entries and of arcs, the last ones of codes, which are both in order.
func (d *lzDecoder) pair(entries []int32, arcs []lzArc) []lzCode {
	n := len(entries)
	// Entries that end in the same arc are in the order in which OpenFst's library leaves
	// them.
	keys := make([]run.SortKey, n)
	for i, e := range entries {
		keys[i] = d.entries[e].arc.key()
		keys[i].At = e
	}
	run.Introsort(keys)
	codes := make([]lzCode, 0, n)
	i := 0
	for _, a := range arcs {
		for i < n && keys[i].At == 0 {
			i++
		}
		c := lzCode{arc: a}
		if i < n && (a == lzArc{} || d.entries[keys[i].At].arc.less(a)) {
			c.entry = keys[i].At
			i++
		}
		codes = append(codes, c)
	}
	return codes
}
