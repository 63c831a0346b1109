package tree

import (
	"math"
	"slices"
)

// ordered maps a float to an integer of the same order; both zeros get one key.
// It must not be given NaN.
func ordered(v float32) uint32 {
	b := math.Float32bits(v + 0) // -0 + 0 is +0
	return b ^ (uint32(int32(b)>>31) | 1<<31)
}

func unordered(k uint32) float32 {
	return math.Float32frombits(k ^ (^uint32(int32(k)>>31) | 1<<31))
}

// Sketch is a bounded summary of a weighted multiset of numbers, from which
// quantiles can be read: the weighted quantile summary of T. Chen and C. Guestrin
// ("XGBoost", KDD 2016, supplement), after Greenwald and Khanna.
//
// For each number that it keeps it knows an interval [rmin, rmax] for ranks. rmin is at most the
// weight of smaller numbers, rmax at least the weight of smaller or equal ones. While there are no
// more than Size distinct numbers nothing is dropped, and all ranks are exact. Each pruning adds at
// most W/Size to the width of an interval, and a number goes through log2(n/chunk) of them. Ranks
// are therefore known within about W log2(n/65536)/Size. Memory is O(Size log n). The result
// depends only on the order in which numbers and sketches are added.
type Sketch struct {
	Size int // entries kept by a prune; 0 is 2048

	buffer []keyed
	parts  []*summary // binary counter: parts[i] covers 2^i chunks, or is nil
}

type keyed struct {
	key uint32
	w   float64
}

type rank struct {
	key        uint32
	rmin, rmax float64
	w          float64 // weight of exactly this number
}

type summary []rank

func (s summary) total() float64 {
	if len(s) == 0 {
		return 0
	}
	return s[len(s)-1].rmax
}

const sketchChunk = 1 << 16

func (s *Sketch) size() int {
	if s.Size <= 0 {
		return 2048
	}
	return max(s.Size, 2)
}

// Add counts v with weight w. NaN and weights that are not positive are left out.
func (s *Sketch) Add(v float32, w float64) {
	if v != v || !(w > 0) {
		return
	}
	s.buffer = append(s.buffer, keyed{ordered(v), w})
	if len(s.buffer) == sketchChunk {
		s.flush()
	}
}

// addColumn adds a whole column; w nil is all 1. Sorting bare keys is twice as
// fast as sorting them with weights.
func (s *Sketch) addColumn(values []float32, w []float64) {
	if w != nil {
		for i, v := range values {
			s.Add(v, w[i])
		}
		return
	}
	s.flush()
	keys := make([]uint32, 0, min(len(values), sketchChunk))
	other := make([]uint32, min(len(values), sketchChunk))
	for len(values) > 0 {
		n := min(len(values), sketchChunk)
		keys = keys[:0]
		for _, v := range values[:n] {
			if v == v {
				keys = append(keys, ordered(v))
			}
		}
		values = values[n:]
		s.push(summarize(radixSort(keys, other), s.size()))
	}
}

// summarize is the summary of sorted keys of weight 1, pruned: where there are more
// distinct ones than size, those at equally spaced ranks. All intervals are exact.
func summarize(sorted []uint32, size int) summary {
	n := len(sorted)
	distinct := min(n, 1)
	for i := 1; i < n; i++ {
		if sorted[i] != sorted[i-1] {
			distinct++
		}
	}
	part := make(summary, 0, min(distinct, size))
	entry := func(from, to int) {
		part = append(part, rank{sorted[from], float64(from), float64(to), float64(to - from)})
	}
	end := func(at int) int { // of the run of keys that at is in
		step := 1
		for at+step < n && sorted[at+step] == sorted[at] {
			at += step
			step *= 2
		}
		for ; step > 0; step /= 2 {
			if at+step < n && sorted[at+step] == sorted[at] {
				at += step
			}
		}
		return at + 1
	}
	if distinct <= size {
		for at := 0; at < n; {
			to := end(at)
			entry(at, to)
			at = to
		}
		return part
	}
	to := 0
	for k := range size {
		at := k * (n - 1) / (size - 1)
		if at < to {
			continue // in the run just taken
		}
		from := at
		for from > to && sorted[from-1] == sorted[at] {
			from--
		}
		to = end(at)
		entry(from, to)
	}
	return part
}

// radixSort sorts keys with other, of at least the same length, as room; it returns
// whichever of the two holds the result.
func radixSort(keys, other []uint32) []uint32 {
	if len(keys) < 256 {
		slices.Sort(keys)
		return keys
	}
	other = other[:len(keys)]
	var count [3][2048]uint32
	for _, k := range keys {
		count[0][k&2047]++
		count[1][k>>11&2047]++
		count[2][k>>22]++
	}
	for pass := range 3 {
		shift := 11 * pass
		c := &count[pass]
		if c[keys[0]>>shift&2047] == uint32(len(keys)) {
			continue // all alike here
		}
		sum := uint32(0)
		for i, n := range c {
			c[i] = sum
			sum += n
		}
		for _, k := range keys {
			d := k >> shift & 2047
			other[c[d]] = k
			c[d]++
		}
		keys, other = other, keys
	}
	return keys
}

func (s *Sketch) flush() {
	if len(s.buffer) == 0 {
		return
	}
	slices.SortStableFunc(s.buffer, func(a, b keyed) int {
		switch {
		case a.key < b.key:
			return -1
		case a.key > b.key:
			return 1
		}
		return 0
	})
	var part summary
	sum := 0.0
	for _, e := range s.buffer {
		if n := len(part); n > 0 && part[n-1].key == e.key {
			part[n-1].w += e.w
			sum += e.w
			part[n-1].rmax = sum
			continue
		}
		part = append(part, rank{e.key, sum, sum + e.w, e.w})
		sum += e.w
	}
	s.buffer = s.buffer[:0]
	s.push(part.prune(s.size()))
}

// push adds the summary of a chunk as a carry into the binary counter.
func (s *Sketch) push(part summary) {
	for i := 0; ; i++ {
		if i == len(s.parts) {
			s.parts = append(s.parts, nil)
		}
		if s.parts[i] == nil {
			s.parts[i] = &part
			return
		}
		part = merge(*s.parts[i], part).prune(s.size())
		s.parts[i] = nil
	}
}

// Merge adds what another sketch has seen.
func (s *Sketch) Merge(other *Sketch) {
	s.flush()
	s.push(other.summary())
}

func (s *Sketch) summary() summary {
	s.flush()
	var all summary
	for _, p := range s.parts {
		if p != nil {
			all = merge(all, *p)
		}
	}
	return all.prune(s.size())
}

func merge(a, b summary) summary {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	out := make(summary, 0, len(a)+len(b))
	i, j := 0, 0
	var belowA, belowB float64 // weight surely less than what comes next, of either
	aboveA, aboveB := a.total(), b.total()
	for i < len(a) || j < len(b) {
		switch {
		case j == len(b) || i < len(a) && a[i].key < b[j].key:
			e, top := a[i], aboveB
			if j < len(b) {
				top = b[j].rmax - b[j].w
			}
			out = append(out, rank{e.key, e.rmin + belowB, e.rmax + top, e.w})
			belowA = e.rmin + e.w
			i++
		case i == len(a) || b[j].key < a[i].key:
			e, top := b[j], aboveA
			if i < len(a) {
				top = a[i].rmax - a[i].w
			}
			out = append(out, rank{e.key, e.rmin + belowA, e.rmax + top, e.w})
			belowB = e.rmin + e.w
			j++
		default:
			x, y := a[i], b[j]
			out = append(out, rank{x.key, x.rmin + y.rmin, x.rmax + y.rmax, x.w + y.w})
			belowA, belowB = x.rmin+x.w, y.rmin+y.w
			i++
			j++
		}
	}
	return out
}

// prune keeps at most size entries: both ends, and those nearest to equally spaced
// ranks.
func (s summary) prune(size int) summary {
	if len(s) <= size {
		return s
	}
	out := make(summary, 0, size)
	out = append(out, s[0])
	total, at := s.total(), 1
	for k := 1; k < size-1; k++ {
		d := 2 * total * float64(k) / float64(size-1)
		for at < len(s)-1 && s[at+1].rmin+s[at+1].rmax <= d {
			at++
		}
		// The interval's middle brackets d between at and at+1: the nearer one.
		pick := at
		if at+1 < len(s)-1 && s[at+1].rmin+s[at+1].rmax-d < d-(s[at].rmin+s[at].rmax) {
			pick = at + 1
		}
		if s[pick].key > out[len(out)-1].key {
			out = append(out, s[pick])
		}
	}
	return append(out, s[len(s)-1])
}

// Cuts divides the numbers into at most bins intervals of about equal weight and
// returns the largest number of each, ascending. With no more than bins distinct
// numbers every one gets its own; a number heavier than its share does too.
func (s *Sketch) Cuts(bins int) []float32 {
	all := s.summary()
	var cuts []float32
	if len(all) <= bins {
		for _, e := range all {
			cuts = append(cuts, unordered(e.key))
		}
		return cuts
	}
	upTo := func(i int) float64 { return (all[i].rmin + all[i].w + all[i].rmax) / 2 }
	left, start := bins, 0.0
	for i := range all {
		if i == len(all)-1 || len(all)-i <= left {
			// The last, or as many bins as numbers left: each its own.
			cuts = append(cuts, unordered(all[i].key))
			left--
			start = upTo(i)
			continue
		}
		if left == 1 {
			continue
		}
		share := (all.total() - start) / float64(left)
		here := upTo(i) - start
		// Close the bin when it is full, or when the next number alone would
		// carry it further past its share than it now falls short.
		next := upTo(i+1) - start
		if here >= share || next-share > share-here && next > share {
			cuts = append(cuts, unordered(all[i].key))
			left--
			start = upTo(i)
		}
	}
	return cuts
}
