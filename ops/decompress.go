package ops

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

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
		return &fst.BinaryError{Source: name, Offset: int64(at), Err: fmt.Errorf(format+": %w", append(args, ErrCompressed)...)}
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

// others returns the codes of the arcs of state q that find no new state: entries and arcs were
// sorted each for themselves, and belong together in the way in which all arcs of the state
// are in order. An arc goes to the next entry, in the order of their last arcs, if it comes
// after that one's; else it begins anew.
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
	keys := make([]sortKey, n)
	for i, e := range entries {
		keys[i] = d.entries[e].arc.key()
		keys[i].at = e
	}
	introsort(keys)
	codes := make([]lzCode, 0, n)
	i := 0
	for _, a := range arcs {
		for i < n && keys[i].at == 0 {
			i++
		}
		c := lzCode{arc: a}
		if i < n && (a == lzArc{} || d.entries[keys[i].at].arc.less(a)) {
			c.entry = keys[i].at
			i++
		}
		codes = append(codes, c)
	}
	return codes
}
