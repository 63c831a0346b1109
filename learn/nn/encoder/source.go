package encoder

import (
	"math/rand/v2"
)

// deviation is that of vectors at the start.
const deviation = 0.3

// Embedding looks up vectors: of number k the row k of its table, of a number that is not in the
// table row 0. Its parameters are the table, which starts normal with deviation .3.
type Embedding[T Float] struct {
	size, width int
	ids         []int32
	y           []T
}

// NewEmbedding returns a table of size vectors of the given width.
func NewEmbedding[T Float](size, width int) *Embedding[T] {
	positive("NewEmbedding", size, width)
	return &Embedding[T]{size: size, width: width}
}

func (e *Embedding[T]) Dim() int     { return e.size * e.width }
func (e *Embedding[T]) Outputs() int { return e.width }

// Start stores the parameters where training starts.
func (e *Embedding[T]) Start(params []T, rng *rand.Rand) { normal(params, deviation, rng) }

// Forward returns the rows of ids, which must stay as they are until Backward.
func (e *Embedding[T]) Forward(params []T, ids []int32) []T {
	e.ids, e.y = ids, grown(e.y, len(ids)*e.width)
	for k, id := range ids {
		copy(e.y[k*e.width:(k+1)*e.width], params[e.at(id):])
	}
	return e.y
}

func (e *Embedding[T]) at(id int32) int {
	if id < 0 || int(id) >= e.size {
		return 0
	}
	return int(id) * e.width
}

// Backward adds the gradient to grad, where dy is that by the rows, each of stride entries, from
// the first.
func (e *Embedding[T]) Backward(dy []T, stride int, grad []T) {
	for k, id := range e.ids {
		at := e.at(id)
		add(grad[at:at+e.width], dy[k*stride:k*stride+e.width])
	}
}

// tokenSource looks up the numbers of words in several tables and encodes their characters. A
// row has the vectors side by side. Marks are two numbers behind those of a table.
type tokenSource[T Float] struct {
	shape  *Shape
	tables []*Embedding[T]
	chars  *charEncoder[T] // nil for none
	marks  int
	width  int

	ids [][]int32
	y   []T
}

func newTokenSource[T Float](s *Shape) *tokenSource[T] {
	t := &tokenSource[T]{shape: s}
	if s.Marks {
		t.marks = 1
	}
	for _, table := range s.Tables {
		t.tables = append(t.tables, NewEmbedding[T](table.Size+2*t.marks, table.Width))
		t.width += table.Width
	}
	t.ids = make([][]int32, len(t.tables))
	if s.Chars.Size > 0 {
		t.chars = newCharEncoder[T](&s.Chars)
		t.width += s.Chars.Filters
	}
	return t
}

func (t *tokenSource[T]) Dim() int {
	n := 0
	for _, e := range t.tables {
		n += e.Dim()
	}
	if t.chars != nil {
		n += t.chars.dim()
	}
	return n
}
func (t *tokenSource[T]) Outputs() int { return t.width }
func (t *tokenSource[T]) Marks() int   { return t.marks }

// Start implements Source.
func (t *tokenSource[T]) Start(params []T, rng *rand.Rand) {
	for _, e := range t.tables {
		e.Start(params[:e.Dim()], rng)
		params = params[e.Dim():]
	}
	if t.chars != nil {
		t.chars.start(params, rng)
	}
}

// sparseFrom is the number of parameters of tables from which on steps on them are lazy.
const sparseFrom = 1 << 16

// Sparse implements Sparse.
func (t *tokenSource[T]) Sparse() int {
	n := 0
	for _, e := range t.tables {
		n += e.Dim()
	}
	if n < sparseFrom {
		return 0
	}
	return n
}

// Touched implements Touching.
func (t *tokenSource[T]) Touched(visit func(at, n int)) {
	from := 0
	for c, e := range t.tables {
		for _, id := range t.ids[c] {
			visit(from+e.at(id), e.width)
		}
		from += e.Dim()
	}
}

// Forward implements Source.
func (t *tokenSource[T]) Forward(params []T, batch []Tokens, b *Batch) []T {
	b.Starts = append(b.Starts[:0], 0)
	rows := 0
	for i := range batch {
		rows += batch[i].Len() + 2*t.marks
		b.Starts = append(b.Starts, rows)
	}
	t.y = grown(t.y, rows*t.width)
	column := 0
	for c, e := range t.tables {
		ids := t.ids[c][:0]
		for i := range batch {
			ids = t.channel(ids, batch[i].IDs[c], t.shape.Tables[c].Size, b)
		}
		t.ids[c] = ids
		t.place(e.Forward(params[:e.Dim()], ids), column, e.width)
		params, column = params[e.Dim():], column+e.width
	}
	if t.chars != nil {
		t.place(t.chars.forward(params, batch, t.marks), column, t.shape.Chars.Filters)
	}
	return t.y
}

// channel appends the numbers of a sequence with its marks. Where there is dropout, a share of them
// becomes unknown.
func (t *tokenSource[T]) channel(ids, of []int32, size int, b *Batch) []int32 {
	if t.marks > 0 {
		ids = append(ids, int32(size))
	}
	for _, id := range of {
		if id < 0 || int(id) >= size || b.Drop != nil && t.shape.Unknown > 0 && b.Drop.Float64() < t.shape.Unknown {
			id = 0
		}
		ids = append(ids, id)
	}
	if t.marks > 0 {
		ids = append(ids, int32(size+1))
	}
	return ids
}

// place stores rows of the given width from a column on.
func (t *tokenSource[T]) place(rows []T, column, width int) {
	if width == t.width {
		copy(t.y, rows)
		return
	}
	for k := range len(rows) / width {
		copy(t.y[k*t.width+column:][:width], rows[k*width:])
	}
}

// Backward implements Source.
func (t *tokenSource[T]) Backward(params, dy, grad []T) {
	column := 0
	for _, e := range t.tables {
		e.Backward(dy[column:], t.width, grad[:e.Dim()])
		params, grad, column = params[e.Dim():], grad[e.Dim():], column+e.width
	}
	if t.chars != nil {
		t.chars.backward(params, dy[column:], t.width, grad)
	}
}

// NewLetters returns a source of vectors of the numbers 0 … size-1, and with marks of one before
// and one behind each sequence.
func NewLetters[T Float](size, width int, marks bool) Source[[]int32, T] {
	positive("NewLetters", size, width)
	return letterSource[T]{newTokenSource[T](&Shape{Tables: []Table{{size, width}}, Marks: marks})}
}

// letterSource is a tokenSource of sequences of one channel.
type letterSource[T Float] struct{ *tokenSource[T] }

// Forward implements Source.
func (t letterSource[T]) Forward(params []T, batch [][]int32, b *Batch) []T {
	tokens := make([]Tokens, len(batch))
	for i := range batch {
		tokens[i] = Tokens{IDs: batch[i : i+1 : i+1]}
	}
	return t.tokenSource.Forward(params, tokens, b)
}

// charEncoder encodes words: vectors of characters, with marks at both ends, a convolution, a
// rectifier, and the largest value over the word. Rows of marks of sentences are zero.
type charEncoder[T Float] struct {
	shape *CharShape
	table *Embedding[T]
	conv  *Conv1D[T]

	b    Batch
	ids  []int32
	word []int32 // of each row, its word in b; -1 for a mark
	best []int32 // of each word and filter, the row of the largest value; -1 when it is not positive
	y, d []T
}

func newCharEncoder[T Float](s *CharShape) *charEncoder[T] {
	return &charEncoder[T]{shape: s, table: NewEmbedding[T](s.Size+2, s.Width),
		conv: NewConv1D[T](s.Width, s.Filters, s.Reach)}
}

func (c *charEncoder[T]) dim() int { return c.table.Dim() + c.conv.Dim() }

func (c *charEncoder[T]) start(params []T, rng *rand.Rand) {
	c.table.Start(params[:c.table.Dim()], rng)
	c.conv.Start(params[c.table.Dim():], rng)
}

func (c *charEncoder[T]) forward(params []T, batch []Tokens, marks int) []T {
	c.b.Starts, c.ids, c.word = append(c.b.Starts[:0], 0), c.ids[:0], c.word[:0]
	size := c.shape.Size
	for i := range batch {
		for range marks {
			c.word = append(c.word, -1)
		}
		for _, chars := range batch[i].Chars {
			c.word = append(c.word, int32(len(c.b.Starts)-1))
			c.ids = append(c.ids, int32(size))
			for _, id := range chars {
				if id < 0 || int(id) >= size {
					id = 0
				}
				c.ids = append(c.ids, id)
			}
			c.ids = append(c.ids, int32(size+1))
			c.b.Starts = append(c.b.Starts, len(c.ids))
		}
		for range marks {
			c.word = append(c.word, -1)
		}
	}
	f := c.shape.Filters
	words := len(c.b.Starts) - 1
	n := c.table.Dim()
	h := c.conv.Forward(params[n:], c.table.Forward(params[:n], c.ids), &c.b)
	c.y, c.best = grown(c.y, len(c.word)*f), grown(c.best, words*f)
	for k, w := range c.word {
		row := c.y[k*f : (k+1)*f]
		clear(row)
		if w < 0 {
			continue
		}
		best := c.best[int(w)*f : (int(w)+1)*f]
		for j := range best {
			best[j] = -1
		}
		for r := c.b.Starts[w]; r < c.b.Starts[w+1]; r++ {
			for j, v := range h[r*f : (r+1)*f] {
				if v > row[j] || v != v {
					row[j], best[j] = v, int32(r)
				}
			}
		}
	}
	return c.y
}

func (c *charEncoder[T]) backward(params, dy []T, stride int, grad []T) {
	f, n := c.shape.Filters, c.table.Dim()
	c.d = grown(c.d, len(c.ids)*f)
	clear(c.d)
	for k, w := range c.word {
		if w < 0 {
			continue
		}
		for j, r := range c.best[int(w)*f : (int(w)+1)*f] {
			if r >= 0 {
				c.d[int(r)*f+j] += dy[k*stride+j]
			}
		}
	}
	c.table.Backward(c.conv.Backward(params[n:], c.d, grad[n:], &c.b), c.shape.Width, grad[:n])
}
