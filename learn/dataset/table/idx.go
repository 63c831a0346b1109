package table

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/tropica-fst/tropica/learn/run"
)

// IDXTarget is the name of the target of IDX files with labels.
const IDXTarget = "label"

// idxSize returns the bytes of an element of the given type, 0 if there is none.
func idxSize(kind byte) int {
	switch kind {
	case 0x08, 0x09: // unsigned, signed byte
		return 1
	case 0x0b: // short
		return 2
	case 0x0c, 0x0d: // int, float
		return 4
	case 0x0e: // double
		return 8
	}
	return 0
}

// idxHeader is the part before the elements: two zero bytes, their type, the number of dimensions,
// and the dimensions, big-endian (Y. LeCun, C. Cortes and C. Burges, "The MNIST database of
// handwritten digits").
type idxHeader struct {
	kind byte
	dims []int
	each int // elements of one row: the product of all dimensions but the first
}

func readIDXHeader(r io.Reader, name string, maxCells int64) (h idxHeader, err error) {
	short := func(err error) error {
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return &Error{Name: name, Msg: "the header is cut short", Err: io.ErrUnexpectedEOF}
		}
		return &Error{Name: name, Msg: "reading: " + err.Error(), Err: err}
	}
	var magic [4]byte
	if _, err := io.ReadFull(r, magic[:]); err == io.EOF {
		return h, &Error{Name: name, Msg: "the input is empty", Err: ErrUseless}
	} else if err != nil {
		return h, short(err)
	}
	if magic[0] != 0 || magic[1] != 0 || idxSize(magic[2]) == 0 || magic[3] == 0 {
		return h, &Error{Name: name, Msg: fmt.Sprintf("does not begin as an IDX file does (% x)", magic),
			Err: ErrSyntax}
	}
	h.kind, h.each = magic[2], 1
	cells := int64(1)
	for k := range int(magic[3]) {
		var n [4]byte
		if _, err := io.ReadFull(r, n[:]); err != nil {
			return h, short(err)
		}
		d := int64(binary.BigEndian.Uint32(n[:]))
		if d == 0 {
			return h, &Error{Name: name, Msg: "a dimension is 0: there are no rows", Err: ErrUseless}
		}
		if cells *= d; cells > maxCells {
			return h, &Error{Name: name, Msg: fmt.Sprintf("more than %d elements", maxCells), Err: ErrTooLarge}
		}
		h.dims = append(h.dims, int(d))
		if k > 0 {
			h.each *= int(d)
		}
	}
	return h, nil
}

// readIDX reads images, or other data with one row for each index of the first dimension. The
// columns are the elements of a row, named "p0", "p1", ... in the order of the file. The labels, if
// any, are classes.
func readIDX(r *bufio.Reader, name string, o *Options) (*Table, error) {
	if len(o.Drop) > 0 || o.Source != "" || o.Weight != "" || len(o.Categorical) > 0 {
		return nil, &Error{Name: name, Msg: "an IDX file has pixels only: no sources, weights, categorical " +
			"columns, or columns to drop", Err: ErrColumns}
	}
	if err := o.plainForm(name, "an IDX file"); err != nil {
		return nil, err
	}
	if o.Target != "" && (o.Target != IDXTarget || o.Labels == nil) {
		return nil, &Error{Name: name, Column: o.Target, Msg: fmt.Sprintf("the target of an IDX file comes from "+
			"a file of labels, and is called %q", IDXTarget), Err: ErrColumns}
	}
	h, err := readIDXHeader(r, name, o.MaxCells)
	if err != nil {
		return nil, err
	}
	t := &Table{Name: name, Rows: h.dims[0]}
	if o.MaxRows > 0 && t.Rows > o.MaxRows {
		return nil, &Error{Name: name, Msg: fmt.Sprintf("more than %d rows", o.MaxRows), Err: ErrTooLarge}
	}
	if o.MaxBytes > 0 && int64(t.Rows)*int64(h.each)*int64(idxSize(h.kind)) > o.MaxBytes {
		return nil, &Error{Name: name, Msg: fmt.Sprintf("more than %d bytes", o.MaxBytes), Err: ErrTooLarge}
	}
	if h.each > maxColumns {
		return nil, &Error{Name: name, Msg: fmt.Sprintf("rows of %d elements are more than %d", h.each, maxColumns),
			Err: ErrTooLarge}
	}
	// A first row, before there are as many columns as the header promises.
	var row bytes.Buffer
	if _, err := io.CopyN(&row, r, int64(h.each)*int64(idxSize(h.kind))); err != nil {
		return nil, t.short(0, err)
	}
	t.Columns = make([]Column, h.each)
	for j := range t.Columns {
		t.Columns[j].Name = "p" + strconv.Itoa(j)
	}
	if l := o.Like; l != nil {
		same := len(l.Columns) == len(t.Columns)
		for j := 0; same && j < len(l.Columns); j++ {
			same = l.Columns[j].Name == t.Columns[j].Name && l.Columns[j].Kind == Numeric
		}
		if !same {
			return nil, &Error{Name: name, Msg: fmt.Sprintf("%d elements a row; the model was trained on %d "+
				"columns, or on others", h.each, len(l.Columns)), Err: ErrColumns}
		}
	}
	if err := t.readPixels(io.MultiReader(&row, r), h, o); err != nil {
		return nil, err
	}
	if o.Labels != nil && !slices.Contains(o.Unread, IDXTarget) {
		if err := t.readLabels(o); err != nil {
			return nil, err
		}
	}
	_, known := o.known()
	if err := t.usable(known); err != nil {
		return nil, err
	}
	if o.Like == nil {
		t.describe(o)
	}
	return t, o.cancelled(name)
}

// short is the error of an input that ends within a row, or cannot be read there.
func (t *Table) short(row int, err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return &Error{Name: t.Name, Row: row + 1, Msg: fmt.Sprintf(
			"the input ends here, but the header promises %d rows; is the file cut short?", t.Rows),
			Err: io.ErrUnexpectedEOF}
	}
	return &Error{Name: t.Name, Row: row + 1, Msg: "reading: " + err.Error(), Err: err}
}

// readPixels reads the elements. They come row by row and are wanted column by column. Some hundred
// rows are read, and then transposed by all workers, each taking its columns. Memory grows with
// what was read, not with what the header promises.
func (t *Table) readPixels(r io.Reader, h idxHeader, o *Options) error {
	size := idxSize(h.kind)
	stripe := max(1, min(256, (4<<20)/(h.each*size)))
	buf := make([]byte, stripe*h.each*size)
	room := 0
	for from := 0; from < t.Rows; from += stripe {
		n := min(stripe, t.Rows-from)
		b := buf[:n*h.each*size]
		if got, err := io.ReadFull(r, b); err != nil {
			return t.short(from+got/(h.each*size), err)
		}
		if from+n > room {
			room = min(t.Rows, max(2*room, 4*stripe))
			if from >= 16*stripe {
				room = t.Rows // as long as this, it is no empty promise
			}
			for j := range t.Columns {
				v := make([]float32, room)
				copy(v, t.Columns[j].Values)
				t.Columns[j].Values = v
			}
		}
		bad := make([]int, o.Workers)
		run.Jobs(o.Workers, o.Workers, func(_, w int) {
			lo, hi := h.each*w/o.Workers, h.each*(w+1)/o.Workers
			bad[w] = t.turn(b, h.kind, from, n, lo, hi)
		})
		first := -1 // the same whichever worker met it
		for _, k := range bad {
			if k >= 0 && (first < 0 || k < first) {
				first = k
			}
		}
		if first >= 0 {
			return &Error{Name: t.Name, Row: from + first/h.each + 1, Column: t.Columns[first%h.each].Name,
				Msg: "the value is infinite, or beyond the range of float32", Err: ErrValue}
		}
	}
	if n, _ := io.CopyN(io.Discard, r, 1); n > 0 {
		return &Error{Name: t.Name, Msg: fmt.Sprintf("there is more after the %d rows that the header promises",
			t.Rows), Err: ErrSyntax}
	}
	return nil
}

// turn stores columns lo … hi-1 of n rows. It returns the position in b, in elements, of the first
// unusable value, or -1 if there is none.
func (t *Table) turn(b []byte, kind byte, from, n, lo, hi int) int {
	each, bad := len(t.Columns), -1
	if kind == 0x08 {
		for j := lo; j < hi; j++ {
			v := t.Columns[j].Values[from : from+n]
			for i, k := 0, j; i < n; i, k = i+1, k+each {
				v[i] = float32(b[k])
			}
		}
		return bad
	}
	size := idxSize(kind)
	for j := lo; j < hi; j++ {
		v := t.Columns[j].Values[from : from+n]
		for i := range v {
			k := i*each + j
			v[i] = float32(idxValue(b[k*size:], kind))
			if math.IsInf(float64(v[i]), 0) && (bad < 0 || k < bad) {
				bad = k
			}
		}
	}
	return bad
}

func idxValue(b []byte, kind byte) float64 {
	switch kind {
	case 0x08:
		return float64(b[0])
	case 0x09:
		return float64(int8(b[0]))
	case 0x0b:
		return float64(int16(binary.BigEndian.Uint16(b)))
	case 0x0c:
		return float64(int32(binary.BigEndian.Uint32(b)))
	case 0x0d:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.BigEndian.Uint64(b))
}

// readLabels reads the classes of the rows.
func (t *Table) readLabels(o *Options) error {
	name := o.LabelsName
	if name == "" {
		name = "labels of " + t.Name
	}
	in, err := open(o.Labels, name)
	if err != nil {
		return err
	}
	h, err := readIDXHeader(in, name, o.MaxCells)
	if err != nil {
		return err
	}
	if len(h.dims) != 1 {
		return &Error{Name: name, Msg: fmt.Sprintf("%d dimensions; labels have one", len(h.dims)), Err: ErrSyntax}
	}
	if h.dims[0] != t.Rows {
		return &Error{Name: name, Msg: fmt.Sprintf("%d labels for the %d rows of %s", h.dims[0], t.Rows, t.Name),
			Err: ErrColumns}
	}
	size := idxSize(h.kind)
	b, err := io.ReadAll(io.LimitReader(in, int64(t.Rows*size)+1))
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return &Error{Name: name, Msg: "reading: " + err.Error(), Err: err}
	}
	if len(b) < t.Rows*size || err != nil {
		return &Error{Name: name, Row: len(b)/size + 1, Msg: fmt.Sprintf("the input ends here, but the header "+
			"promises %d labels; is the file cut short?", t.Rows), Err: io.ErrUnexpectedEOF}
	}
	if len(b) > t.Rows*size {
		return &Error{Name: name, Msg: fmt.Sprintf("there is more after the %d labels that the header promises",
			t.Rows), Err: ErrSyntax}
	}
	t.TargetName = IDXTarget
	t.Target = make([]float64, t.Rows)
	rule := newTargetRule(o)
	rule.labels = true
	c := &chunk{}
	for i := range t.Rows {
		text := strconv.AppendFloat(nil, idxValue(b[i*size:], h.kind), 'g', -1, 64)
		if !rule.store(c, i, IDXTarget, text) {
			c.err.Name, c.err.Row = name, i+1
			return c.err
		}
	}
	if classes, ok := o.known(); ok {
		t.Target, t.Classes = c.numbers, classes
		return nil
	}
	d := &builder{layout: &layout{out: t}, o: o, rule: rule, classes: c.classes, classOf: c.classOf,
		over: c.overflow}
	t.Target = append(t.Target[:0], c.numbers...)
	return d.decideTarget()
}
