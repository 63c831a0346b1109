package sequence

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"unicode/utf8"

	"github.com/tropica-fst/tropica/learn/dataset"
)

// Attribute is an observed property of a position, with a value that multiplies
// its weights. Attributes of one name at one position add.
type Attribute = dataset.Attribute

// Input is a sequence to be labelled. Templates read Columns; attributes may be
// given beside or instead of them. Whichever are there have the same length.
type Input struct {
	Columns    [][]string    // Columns[t][c]
	Attributes [][]Attribute // Attributes[t]; combined with the label of position t
	Source     string        // where it begins, as "train.conll:12", for messages; may be empty
}

// Len is the number of positions.
func (in *Input) Len() int { return max(len(in.Columns), len(in.Attributes)) }

// Example is an input with its labels.
type Example struct {
	Input
	Labels []string
}

// dictionary numbers the attributes of one kind (single or pair).
type dictionary struct {
	names []string
	index map[string]int32 // nil while it is not needed; numbers has it
	once  sync.Once
}

func newDictionary(names []string) *dictionary {
	d := &dictionary{names: names}
	d.numbers()
	return d
}

// numbers returns the numbers of the names.
func (d *dictionary) numbers() map[string]int32 {
	d.once.Do(func() {
		d.index = make(map[string]int32, len(d.names))
		for i, s := range d.names {
			d.index[s] = int32(i)
		}
	})
	return d.index
}

// forget frees the numbers until they are asked for again. Nobody else may use d meanwhile.
func (d *dictionary) forget() { d.index, d.once = nil, sync.Once{} }

// add numbers a new name; false when it is not UTF-8, which a model file could
// not hold.
func (d *dictionary) add(name []byte) (int32, bool) {
	if !utf8.Valid(name) {
		return 0, false
	}
	id := int32(len(d.names))
	s := string(name)
	d.names = append(d.names, s)
	d.numbers()[s] = id
	return id, true
}

// sparse holds the attributes of positions in rows, one after the other.
type sparse struct {
	ptr    []int // row r is ids[ptr[r]:ptr[r+1]]
	ids    []int32
	values []float64 // nil when all are one
}

func newSparse() sparse { return sparse{ptr: []int{0}} }

func (s *sparse) add(id int32, value float64) {
	if s.values == nil && value != 1 {
		s.values = make([]float64, len(s.ids), cap(s.ids))
		for i := range s.values {
			s.values[i] = 1
		}
	}
	s.ids = append(s.ids, id)
	if s.values != nil {
		s.values = append(s.values, value)
	}
}

func (s *sparse) endRow() { s.ptr = append(s.ptr, len(s.ids)) }

func (s *sparse) rows() int { return len(s.ptr) - 1 }

// row returns ids and values of row r; values is nil when all are one.
func (s *sparse) row(r int) ([]int32, []float64) {
	ids := s.ids[s.ptr[r]:s.ptr[r+1]]
	if s.values == nil {
		return ids, nil
	}
	return ids, s.values[s.ptr[r]:s.ptr[r+1]]
}

// corpus is a set of inputs as numbers: positions of all sequences in one row.
type corpus struct {
	source []string // of each sequence; see Input
	start  []int    // positions of sequence i are start[i] … start[i+1]-1
	single sparse   // attributes combined with one label
	pair   sparse   // with two
	labels []int32  // of all positions; nil without
}

// name says which sequence this is, for messages.
func (c *corpus) name(i int) string { return nameOf(c.source[i], i) }

func nameOf(source string, i int) string {
	if source != "" {
		return source
	}
	return fmt.Sprintf("example %d", i+1)
}

func (c *corpus) sequences() int { return len(c.start) - 1 }
func (c *corpus) positions() int { return c.start[len(c.start)-1] }

// encoder turns inputs into numbers.
type encoder struct {
	templates []*Template
	single    *dictionary
	pair      *dictionary
	grow      bool // add unseen attributes; else leave them out
	buf       []byte
}

// enter appends the attribute named in buf to the rows, if it is known or may be added.
func (e *encoder) enter(d *dictionary, rows *sparse, value float64) error {
	id, ok := d.numbers()[string(e.buf)]
	if !ok && e.grow {
		if id, ok = d.add(e.buf); !ok {
			return fmt.Errorf("attribute %q is not UTF-8", e.buf)
		}
	}
	if ok {
		rows.add(id, value)
	}
	return nil
}

// encode appends a sequence to c.
func (e *encoder) encode(c *corpus, in *Input) error {
	n := in.Len()
	if in.Columns != nil && len(in.Columns) != n || in.Attributes != nil && len(in.Attributes) != n {
		return fmt.Errorf("%d positions with columns, %d with attributes", len(in.Columns), len(in.Attributes))
	}
	if in.Columns == nil && len(e.templates) > 0 && n > 0 && in.Attributes == nil {
		return fmt.Errorf("neither columns nor attributes")
	}
	for t := range n {
		if in.Columns != nil {
			for _, tpl := range e.templates {
				var value float64
				var err error
				if e.buf, value, err = tpl.append(e.buf[:0], in.Columns, t); err != nil {
					return fmt.Errorf("token %d: %w", t+1, err)
				}
				if value == 0 {
					continue
				}
				if tpl.single {
					err = e.enter(e.single, &c.single, value)
				}
				if tpl.pair && t > 0 && !tpl.bare() { // the bare bigram is there anyway
					err = errors.Join(err, e.enter(e.pair, &c.pair, value))
				}
				if err != nil {
					return fmt.Errorf("token %d: %w", t+1, err)
				}
			}
		}
		if in.Attributes != nil {
			for _, a := range in.Attributes[t] {
				if math.IsNaN(a.Value) || math.IsInf(a.Value, 0) {
					return fmt.Errorf("token %d: attribute %q has value %v", t+1, a.Name, a.Value)
				}
				if a.Value == 0 {
					continue
				}
				e.buf = append(e.buf[:0], a.Name...)
				if err := e.enter(e.single, &c.single, a.Value); err != nil {
					return fmt.Errorf("token %d: %w", t+1, err)
				}
			}
		}
		c.single.endRow()
		c.pair.endRow()
	}
	c.start = append(c.start, c.positions()+n)
	c.source = append(c.source, in.Source)
	return nil
}

func newCorpus() *corpus { return &corpus{start: []int{0}, single: newSparse(), pair: newSparse()} }

// atLeast drops attributes seen at fewer than count positions from d and from the rows. It
// renumbers the others in the order of their first appearance.
func (s *sparse) atLeast(d *dictionary, count int) *dictionary {
	if count <= 1 {
		return d
	}
	seen := make([]int, len(d.names))
	for r := range s.rows() {
		ids, _ := s.row(r)
		for _, id := range ids {
			seen[id]++
		}
	}
	to := make([]int32, len(d.names))
	var kept []string
	for id, name := range d.names {
		to[id] = -1
		if seen[id] >= count {
			to[id] = int32(len(kept))
			kept = append(kept, name)
		}
	}
	w, from := 0, 0
	for r := range s.rows() {
		end := s.ptr[r+1]
		for i := from; i < end; i++ {
			if id := to[s.ids[i]]; id >= 0 {
				s.ids[w] = id
				if s.values != nil {
					s.values[w] = s.values[i]
				}
				w++
			}
		}
		from = end
		s.ptr[r+1] = w
	}
	s.ids = s.ids[:w]
	if s.values != nil {
		s.values = s.values[:w]
	}
	return newDictionary(kept)
}

// without returns the rows that are not to be dropped; those are empty.
func (s *sparse) without(drop []bool) sparse {
	entries := 0
	for r, gone := range drop {
		if !gone {
			entries += s.ptr[r+1] - s.ptr[r]
		}
	}
	t := sparse{ptr: make([]int, 1, len(s.ptr)), ids: make([]int32, 0, entries)}
	if s.values != nil {
		t.values = make([]float64, 0, entries)
	}
	for r, gone := range drop {
		if !gone {
			ids, values := s.row(r)
			t.ids, t.values = append(t.ids, ids...), append(t.values, values...)
		}
		t.endRow()
	}
	return t
}

// transposed returns, for each of n ids, the rows that hold it, in order.
func (s *sparse) transposed(n int) sparse {
	t := sparse{ptr: make([]int, n+1), ids: make([]int32, len(s.ids))}
	for _, id := range s.ids {
		t.ptr[id+1]++
	}
	for i := range n {
		t.ptr[i+1] += t.ptr[i]
	}
	if s.values != nil {
		t.values = make([]float64, len(s.ids))
	}
	next := append([]int(nil), t.ptr[:n]...)
	for r := range s.rows() {
		for i := s.ptr[r]; i < s.ptr[r+1]; i++ {
			at := next[s.ids[i]]
			next[s.ids[i]]++
			t.ids[at] = int32(r)
			if s.values != nil {
				t.values[at] = s.values[i]
			}
		}
	}
	return t
}
