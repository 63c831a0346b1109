package tree

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/run"
)

// sparseBins are the codes of a sparse table: those of its entries. Every other cell has the code
// of the implicit value.
//
// They are kept by column, for the rows of a split, and by row, for histograms. By row they lie
// in stripes of columns, whose histograms of a node fit the second-level cache. A row then
// has the numbers of its entries' cells, one after the other.
type sparseBins struct {
	x        *table.Sparse
	codes    []uint8 // of the entries, by column
	implicit []uint8 // code of the implicit value, by column
	stripes  []stripe
}

// stripe is a range of columns.
type stripe struct {
	first, last int // columns
	// first cell of each column, and the end; a column has a cell for each code and one for what is
	// missing
	base    []int32
	owner   []int32 // column of each cell
	start   []int32 // of the entries of each row, and the end
	entries []int32 // the cell of each entry
}

// stripeCells is how many cells a stripe has at least: 16 bytes each.
const stripeCells = 1 << 14

// column is the entries of column j: rows and their codes.
func (s *sparseBins) column(j int) (rows []int32, codes []uint8) {
	from, to := s.x.Start[j], s.x.Start[j+1]
	return s.x.Rows[from:to], s.codes[from:to]
}

// code is the code of row i in column j.
func (s *sparseBins) code(i int32, j int) uint8 {
	rows, codes := s.column(j)
	if k, ok := slices.BinarySearch(rows, i); ok {
		return codes[k]
	}
	return s.implicit[j]
}

// binSparse is NewBins of a sparse table: the bins are those of the same table when it is dense.
func (b *Bins) binSparse(x *table.Table, most int, o *BinOptions) error {
	s := &sparseBins{x: x.Sparse, codes: make([]uint8, len(x.Sparse.Rows)),
		implicit: make([]uint8, len(x.Columns))}
	b.sparse = s
	weighed := x.Rows // rows with weight
	if o.Weights != nil {
		weighed = 0
		for _, w := range o.Weights {
			if w > 0 {
				weighed++
			}
		}
	}
	const task = 256 // columns
	errs := make([]error, (len(x.Columns)+task-1)/task)
	run.Jobs(o.Workers, len(errs), func(_, t int) {
		if errs[t] = cancelled(o.Ctx); errs[t] != nil {
			return
		}
		var room sparseRoom
		for j := t * task; j < min(len(x.Columns), (t+1)*task); j++ {
			if errs[t] = s.prepare(x, j, &b.columns[j], most, weighed, o, &room); errs[t] != nil {
				return
			}
		}
	})
	if errors.Join(errs...) != nil {
		return errs[slices.IndexFunc(errs, func(e error) bool { return e != nil })]
	}
	s.encode(x, b.columns, o.Workers)
	return nil
}

// sparseRoom is what preparing columns needs again and again.
type sparseRoom struct {
	keys   []uint32
	values []float32
}

// prepare finds the bins of column j and the codes of its entries.
func (s *sparseBins) prepare(x *table.Table, j int, c *column, most, weighed int, o *BinOptions,
	room *sparseRoom) error {
	c.name = x.Columns[j].Name
	rows, values := s.x.Column(j)
	implicit := s.x.Implicit
	present := weighed // rows with weight that have no entry
	room.keys = room.keys[:0]
	for k, v := range values {
		if math.IsInf(float64(v), 0) {
			return fmt.Errorf("tree: %s: %w: column %q is infinite", x.At(int(rows[k])), ErrData, c.name)
		}
		if o.Weights != nil && !(o.Weights[rows[k]] > 0) {
			continue
		}
		present--
		if v == v {
			room.keys = append(room.keys, ordered(v))
		}
	}
	if implicit != implicit {
		present = 0 // they are missing
	}
	slices.Sort(room.keys)
	distinct := slices.Compact(room.keys)
	if present > 0 {
		if at, ok := slices.BinarySearch(distinct, ordered(implicit)); !ok {
			distinct = slices.Insert(distinct, at, ordered(implicit))
		}
	}
	// cuts are the largest keys of the bins, least the smallest.
	cuts, least := distinct, distinct
	if len(distinct) > most {
		size := max(o.SketchSize, 0)
		sketch := Sketch{Size: size}
		if sketch.size() < 4*most {
			sketch.Size = 4 * most
		}
		if o.Weights == nil {
			sketch.addSparse(rows, values, implicit, x.Rows)
		} else {
			// Sums of weights are rounded in the order of the rows: all must be there.
			room.values = slices.Grow(room.values[:0], x.Rows)[:x.Rows]
			x.Fill(room.values, j, 0)
			sketch.addColumn(room.values, o.Weights)
		}
		cuts, least = nil, nil
		for _, v := range sketch.Cuts(most) {
			cuts = append(cuts, ordered(v))
		}
		for _, k := range distinct { // ascending
			if at, _ := slices.BinarySearch(cuts[:len(cuts)-1], k); at == len(least) {
				least = append(least, k)
			}
		}
	} else {
		cuts = slices.Clone(distinct) // what follows is kept
		least = cuts
	}
	c.values = len(cuts)
	edges := cuts[:max(len(cuts)-1, 0)]
	code := func(v float32) uint8 {
		if v != v {
			return uint8(c.values)
		}
		at, _ := slices.BinarySearch(edges, ordered(v))
		return uint8(at)
	}
	s.implicit[j] = code(implicit)
	from := s.x.Start[j]
	for k, v := range values {
		s.codes[from+k] = code(v)
	}
	if len(edges) > 0 {
		c.theta = make([]float64, len(edges))
		for i, e := range edges {
			c.theta[i] = middle(unordered(e), unordered(least[i+1]))
		}
	}
	return nil
}

// addSparse is addColumn of n rows that have the implicit value where there is no entry.
func (s *Sketch) addSparse(rows []int32, values []float32, implicit float32, n int) {
	s.flush()
	var keys []uint32
	for from := 0; from < n; from += sketchChunk {
		to := min(n, from+sketchChunk)
		keys = keys[:0]
		k := 0
		for k < len(rows) && int(rows[k]) < to {
			if v := values[k]; v == v {
				keys = append(keys, ordered(v))
			}
			k++
		}
		run := to - from - k
		if implicit != implicit {
			run = 0
		}
		rows, values = rows[k:], values[k:]
		slices.Sort(keys)
		s.push(summarizeRun(keys, ordered(implicit+0), run, s.size()))
	}
}

// summarizeRun is summarize of sorted keys and a run of another one, which is not written out
// unless there are too many distinct keys.
func summarizeRun(keys []uint32, key uint32, run, size int) summary {
	if run == 0 {
		return summarize(keys, size)
	}
	at, _ := slices.BinarySearch(keys, key)
	distinct := 1
	for i := range keys {
		if (i == 0 || keys[i] != keys[i-1]) && keys[i] != key {
			distinct++
		}
	}
	if distinct > size {
		all := make([]uint32, 0, len(keys)+run)
		all = append(all, keys[:at]...)
		for range run {
			all = append(all, key)
		}
		return summarize(append(all, keys[at:]...), size)
	}
	part := make(summary, 0, distinct)
	seen := 0
	entry := func(key uint32, n int) {
		part = append(part, rank{key, float64(seen), float64(seen + n), float64(n)})
		seen += n
	}
	for i := 0; i < len(keys) || run > 0; {
		if run > 0 && i >= at {
			n := run
			for run = 0; i < len(keys) && keys[i] == key; i++ {
				n++
			}
			entry(key, n)
			continue
		}
		from := i
		for i < len(keys) && keys[i] == keys[from] {
			i++
		}
		entry(keys[from], i-from)
	}
	return part
}

// encode lays the codes out by row.
func (s *sparseBins) encode(x *table.Table, columns []column, workers int) {
	cells := 0
	for j := range columns {
		if s.x.Start[j+1] > s.x.Start[j] {
			cells += columns[j].values + 1
		}
	}
	// A row should have some entries in a stripe: its place in each stripe costs four bytes.
	each := max(stripeCells, int(4*float64(cells)*float64(x.Rows)/float64(max(len(s.x.Rows), 1))))
	var st *stripe
	for j := range columns {
		if st == nil || len(st.owner) >= each {
			s.stripes = append(s.stripes, stripe{first: j})
			st = &s.stripes[len(s.stripes)-1]
		}
		st.base = append(st.base, int32(len(st.owner)))
		if s.x.Start[j+1] > s.x.Start[j] {
			for range columns[j].values + 1 {
				st.owner = append(st.owner, int32(j))
			}
		}
		st.last = j + 1
	}
	run.Jobs(workers, len(s.stripes), func(_, k int) {
		st := &s.stripes[k]
		st.base = append(st.base, int32(len(st.owner)))
		st.start = make([]int32, x.Rows+1)
		from, to := s.x.Start[st.first], s.x.Start[st.last]
		for _, i := range s.x.Rows[from:to] {
			st.start[i+1]++
		}
		for i := range x.Rows {
			st.start[i+1] += st.start[i]
		}
		st.entries = make([]int32, to-from)
		at := slices.Clone(st.start)
		for j := st.first; j < st.last; j++ {
			rows, codes := s.column(j)
			base := st.base[j-st.first]
			for e, i := range rows {
				st.entries[at[i]] = base + int32(codes[e])
				at[i]++
			}
		}
	})
}

// withSparse is With for sparse bins and a sparse table.
func (b *Bins) withSparse(x *table.Table, workers int) (*Bins, error) {
	out := &Bins{rows: x.Rows, columns: b.columns}
	s := &sparseBins{x: x.Sparse, codes: make([]uint8, len(x.Sparse.Rows)),
		implicit: make([]uint8, len(x.Columns))}
	for j := range x.Columns {
		c := &b.columns[j]
		if x.Columns[j].Name != c.name {
			return nil, fmt.Errorf("tree: %s: %w: column %d is %q, the bins have %q there", x.Title(), ErrData, j+1,
				x.Columns[j].Name, c.name)
		}
		rows, values := x.Sparse.Column(j)
		for k, v := range values {
			if math.IsInf(float64(v), 0) {
				return nil, fmt.Errorf("tree: %s: %w: column %q is infinite", x.At(int(rows[k])), ErrData, c.name)
			}
			s.codes[x.Sparse.Start[j]+k] = c.find(v)
		}
		s.implicit[j] = c.find(x.Sparse.Implicit)
	}
	s.encode(x, b.columns, workers)
	out.sparse = s
	return out, nil
}

// find is code where there is no search table.
func (c *column) find(v float32) uint8 {
	if v != v {
		return uint8(c.values)
	}
	at, _ := slices.BinarySearch(c.theta, float64(v))
	return uint8(at)
}
