package model

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"slices"
	"unicode/utf8"
)

// ReadOptions adjusts Read; nil is the same as the zero value.
type ReadOptions struct {
	MaxBytes int64 // refuse files that claim more; zero is no limit but the file's own size
}

// FormatError reports where a file departs from the layout.
type FormatError struct {
	Offset int64  // byte at which it was seen
	Msg    string // what was wrong, and what was expected
	Err    error  // ErrFormat, ErrChecksum, ErrVersion or the reader's own error
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("model: byte %d: %s (%v)", e.Offset, e.Msg, e.Err)
}
func (e *FormatError) Unwrap() error { return e.Err }

// Read reads one container and verifies its checksum. It reads exactly the
// container's bytes, plus what a buffer of its own may hold ahead when r is not
// a bufio.Reader; nothing may follow. The error says at which byte the file
// departs from the layout.
func Read(r io.Reader, opts *ReadOptions) (*Container, error) {
	if opts == nil {
		opts = &ReadOptions{}
	}
	d := &decoder{r: bufio.NewReaderSize(r, 1<<16), sum: sha256.New()}
	c, err := d.container(opts.MaxBytes)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// ReadKind reads a container that must be of the kind, with a version up to newest, and decodes its
// meta field into meta. It combines Read, Expect and Meta, and returns their first error.
func ReadKind(r io.Reader, kind string, newest int, meta any) (*Container, error) {
	c, err := Read(r, nil)
	if err != nil {
		return nil, err
	}
	if err := c.Expect(kind, newest); err != nil {
		return nil, err
	}
	if err := c.Meta(meta); err != nil {
		return nil, err
	}
	return c, nil
}

type decoder struct {
	r   *bufio.Reader
	sum hash.Hash
	at  int64 // bytes read so far
}

func (d *decoder) fail(err error, format string, args ...any) error {
	return &FormatError{d.at, fmt.Sprintf(format, args...), err}
}

// chunk bounds how much memory is taken before its bytes have arrived.
const chunk = 1 << 20

// bytes reads n bytes, growing as they come.
func (d *decoder) bytes(n int64, what string) ([]byte, error) {
	var buf []byte
	for int64(len(buf)) < n {
		k := min(n-int64(len(buf)), max(chunk, int64(len(buf)))) // double: linear in what came
		from := len(buf)
		if k > int64(math.MaxInt-from) { // on 32 bits
			return nil, d.fail(ErrFormat, "%s takes %d bytes, more than this system can address", what, n)
		}
		buf = slices.Grow(buf, int(k))[:from+int(k)]
		got, err := io.ReadFull(d.r, buf[from:])
		d.sum.Write(buf[from : from+got])
		d.at += int64(got)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil, d.fail(ErrFormat, "the file ends inside %s, %d bytes short", what, n-int64(from+got))
		}
		if err != nil {
			return nil, d.fail(err, "cannot read %s", what)
		}
	}
	return buf, nil
}

func (d *decoder) padding(what string) error {
	b, err := d.bytes(-d.at&(align-1), "the padding after "+what)
	if err != nil {
		return err
	}
	if len(bytes.Trim(b, "\x00")) > 0 {
		return d.fail(ErrFormat, "the padding after %s is not zero", what)
	}
	return nil
}

func (d *decoder) container(limit int64) (*Container, error) {
	b, err := d.bytes(16, "the first 16 bytes")
	if err != nil {
		return nil, err
	}
	if string(b[:8]) != magic {
		return nil, &FormatError{0, fmt.Sprintf("this is not a model file: it begins with %q, not %q", b[:8],
			magic), ErrFormat}
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != layoutVersion {
		return nil, &FormatError{8, fmt.Sprintf("layout version %d, this program reads version %d", v,
			layoutVersion), ErrVersion}
	}
	n := int64(binary.LittleEndian.Uint32(b[12:]))
	if n > maxHeader || limit > 0 && n > limit {
		return nil, &FormatError{12, fmt.Sprintf("a header of %d bytes is too long", n), ErrFormat}
	}
	head, err := d.bytes(n, "the header")
	if err != nil {
		return nil, err
	}
	var h header
	if err := json.Unmarshal(head, &h); err != nil {
		return nil, &FormatError{16, "the header is not the JSON that it should be: " + err.Error(), ErrFormat}
	}
	if err := d.padding("the header"); err != nil {
		return nil, err
	}
	if h.Version < 1 {
		return nil, &FormatError{16, fmt.Sprintf("version %d of kind %q, expected 1 or more", h.Version, h.Kind),
			ErrFormat}
	}
	if len(h.Meta) > 0 && h.Meta[0] != '{' {
		return nil, &FormatError{16, "meta is not a JSON object", ErrFormat}
	}

	c := New(h.Kind, h.Version)
	c.meta = h.Meta
	total := d.at
	for i, e := range h.Arrays {
		if err := e.check(c); err != nil {
			return nil, &FormatError{16, fmt.Sprintf("array %d: %v", i, err), ErrFormat}
		}
		if total += e.Bytes; total < 0 || limit > 0 && total > limit {
			return nil, &FormatError{16, fmt.Sprintf("the arrays up to %q exceed the limit of %d bytes", e.Name,
				limit), ErrFormat}
		}
		c.byName[e.Name] = len(c.arrays)
		c.arrays = append(c.arrays, array{name: e.Name, dtype: e.DType, shape: e.Shape})
	}
	for i, e := range h.Arrays {
		what := fmt.Sprintf("array %q", e.Name)
		raw, err := d.bytes(e.Bytes, what)
		if err != nil {
			return nil, err
		}
		if c.arrays[i].data, err = decode(e, raw); err != nil {
			return nil, d.fail(ErrFormat, "%s: %v", what, err)
		}
		if err := d.padding(what); err != nil {
			return nil, err
		}
	}
	want := d.sum.Sum(nil)
	got, err := d.bytes(int64(len(want)), "the checksum")
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(got, want) {
		return nil, d.fail(ErrChecksum, "the file was changed or damaged after it was written")
	}
	if _, err := d.r.ReadByte(); err == nil {
		return nil, d.fail(ErrFormat, "bytes follow the checksum")
	} else if err != io.EOF {
		return nil, d.fail(err, "cannot read to the end")
	}
	return c, nil
}

// check verifies one line of the directory.
func (e *entry) check(c *Container) error {
	if e.Name == "" {
		return errors.New("it has no name")
	}
	if _, twice := c.byName[e.Name]; twice {
		return fmt.Errorf("a second one is named %q", e.Name)
	}
	n, ok := elements(e.Shape)
	if !ok {
		return fmt.Errorf("%q: impossible shape %v", e.Name, e.Shape)
	}
	if e.DType == typeUTF8 {
		if len(e.Shape) != 1 || e.Bytes < 4*n {
			return fmt.Errorf("%q: %d bytes cannot hold strings of shape %v", e.Name, e.Bytes, e.Shape)
		}
		return nil
	}
	width, ok := widths[e.DType]
	if !ok {
		return fmt.Errorf("%q: unknown element type %q", e.Name, e.DType)
	}
	if e.Bytes != n*int64(width) {
		return fmt.Errorf("%q: %d bytes for shape %v of %s, expected %d", e.Name, e.Bytes, e.Shape,
			e.DType, n*int64(width))
	}
	return nil
}

func decode(e entry, raw []byte) (any, error) {
	n, _ := elements(e.Shape)
	switch e.DType {
	case typeFloat64:
		return decoded(raw, 8, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }), nil
	case typeFloat32:
		return decoded(raw, 4, func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }), nil
	case typeInt64:
		return decoded(raw, 8, func(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) }), nil
	case typeInt32:
		return decoded(raw, 4, func(b []byte) int32 { return int32(binary.LittleEndian.Uint32(b)) }), nil
	case typeUint64:
		return decoded(raw, 8, binary.LittleEndian.Uint64), nil
	case typeUint32:
		return decoded(raw, 4, binary.LittleEndian.Uint32), nil
	case typeUint8:
		return append([]uint8{}, raw...), nil
	}
	text := string(raw[4*n:])
	list := make([]string, n)
	for i := range list {
		k := int64(binary.LittleEndian.Uint32(raw[4*i:]))
		if k > int64(len(text)) {
			return nil, fmt.Errorf("string %d has %d bytes, only %d are left", i, k, len(text))
		}
		list[i], text = text[:k], text[k:]
		if !utf8.ValidString(list[i]) {
			return nil, fmt.Errorf("string %d is not valid UTF-8", i)
		}
	}
	if len(text) > 0 {
		return nil, fmt.Errorf("%d bytes are left after the last string", len(text))
	}
	return list, nil
}

func decoded[T Element](raw []byte, width int, one func([]byte) T) []T {
	out := make([]T, len(raw)/width)
	for i := range out {
		out[i] = one(raw[i*width:])
	}
	return out
}
