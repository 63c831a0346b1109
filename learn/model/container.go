package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Element is implemented by the numbers that an array may hold.
type Element interface {
	float64 | float32 | int64 | int32 | uint64 | uint32 | uint8
}

// Names of element types in the header.
const (
	typeFloat64 = "float64"
	typeFloat32 = "float32"
	typeInt64   = "int64"
	typeInt32   = "int32"
	typeUint64  = "uint64"
	typeUint32  = "uint32"
	typeUint8   = "uint8"
	typeUTF8    = "utf8"
)

// Reasons that errors of this package carry; found by errors.Is.
var (
	ErrFormat   = errors.New("malformed model file")          // not this layout, cut short, or inconsistent
	ErrChecksum = errors.New("checksum does not match")       // the layout is right but some bytes changed
	ErrKind     = errors.New("model file of another kind")    // Expect: another learner's file
	ErrVersion  = errors.New("model file of a newer version") // this program is too old for the file
	ErrMissing  = errors.New("no such array in model file")   // Get, Strings: name or element type absent
)

// Container is a set of named arrays with a header. The zero value is not
// usable; New and Read make one.
type Container struct {
	Kind    string // what the file is: "sequence", "checkpoint", ...
	Version int    // of the kind, from 1

	meta   json.RawMessage
	arrays []array
	byName map[string]int
}

type array struct {
	name  string
	dtype string
	shape []int
	data  any // []T of the element type, or []string
}

// New returns an empty container of the kind.
func New(kind string, version int) *Container {
	return &Container{Kind: kind, Version: version, byName: map[string]int{}}
}

// SetMeta stores v, which must encode to a JSON object, as the meta field.
func (c *Container) SetMeta(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("model: meta: %w", err)
	}
	if len(b) == 0 || b[0] != '{' {
		return fmt.Errorf("model: meta must be a JSON object, not %.20s", b)
	}
	c.meta = b
	return nil
}

// Meta decodes the meta field into v; fields that v lacks are ignored.
func (c *Container) Meta(v any) error {
	if len(c.meta) == 0 {
		return fmt.Errorf("model: %w: the header of this %q file has no meta field", ErrFormat, c.Kind)
	}
	if err := json.Unmarshal(c.meta, v); err != nil {
		return fmt.Errorf("model: %w: meta: %w", ErrFormat, err)
	}
	return nil
}

// Expect returns an error unless c is of the kind, with a version up to newest.
func (c *Container) Expect(kind string, newest int) error {
	switch {
	case c.Kind != kind:
		return fmt.Errorf("model: %w: it is %q, wanted %q", ErrKind, c.Kind, kind)
	case c.Version > newest:
		return fmt.Errorf("model: %w: version %d of %q, this program reads up to %d", ErrVersion,
			c.Version, kind, newest)
	case c.Version < 1:
		return fmt.Errorf("model: %w: version %d of %q", ErrFormat, c.Version, kind)
	}
	return nil
}

// Names lists the arrays in file order.
func (c *Container) Names() []string {
	names := make([]string, len(c.arrays))
	for i := range c.arrays {
		names[i] = c.arrays[i].name
	}
	return names
}

// Shape returns the shape of an array, and whether there is one of that name.
func (c *Container) Shape(name string) ([]int, bool) {
	i, ok := c.byName[name]
	if !ok {
		return nil, false
	}
	return slices.Clone(c.arrays[i].shape), true
}

// Put adds an array, or replaces the one of that name. Without a shape it is
// one-dimensional. The data are kept, not copied. Put panics when the shape does
// not fit the data or the name is empty: both are bugs of the caller.
func Put[T Element](c *Container, name string, data []T, shape ...int) {
	c.put(name, dtypeOf[T](), data, len(data), shape)
}

// PutStrings adds an array of strings, which must be valid UTF-8.
func (c *Container) PutStrings(name string, data []string) error {
	for i, s := range data {
		if !utf8.ValidString(s) {
			return fmt.Errorf("model: string %d of array %q is not valid UTF-8: %q", i, name, s)
		}
	}
	c.put(name, typeUTF8, data, len(data), nil)
	return nil
}

func (c *Container) put(name, dtype string, data any, n int, shape []int) {
	if name == "" || !utf8.ValidString(name) {
		panic(fmt.Sprintf("model: bad array name %q", name))
	}
	if len(shape) == 0 {
		shape = []int{n}
	}
	if k, ok := elements(shape); !ok || k != int64(n) {
		panic(fmt.Sprintf("model: array %q has %d elements, which do not fit the shape %v", name, n, shape))
	}
	a := array{name, dtype, slices.Clone(shape), data}
	if i, ok := c.byName[name]; ok {
		c.arrays[i] = a
		return
	}
	c.byName[name] = len(c.arrays)
	c.arrays = append(c.arrays, a)
}

// Get returns the array of that name and element type; with a shape given, one
// of exactly that shape (-1 stands for any extent). It is shared with c.
func Get[T Element](c *Container, name string, shape ...int) ([]T, error) {
	a, err := c.find(name, dtypeOf[T](), shape)
	if err != nil {
		return nil, err
	}
	return a.data.([]T), nil
}

// Strings returns the array of strings of that name. It is shared with c.
func (c *Container) Strings(name string) ([]string, error) {
	a, err := c.find(name, typeUTF8, nil)
	if err != nil {
		return nil, err
	}
	return a.data.([]string), nil
}

func (c *Container) find(name, dtype string, shape []int) (*array, error) {
	i, ok := c.byName[name]
	if !ok {
		return nil, fmt.Errorf("model: %w: %q in a file of kind %q", ErrMissing, name, c.Kind)
	}
	a := &c.arrays[i]
	if a.dtype != dtype {
		return nil, fmt.Errorf("model: %w: %q holds %s, wanted %s", ErrMissing, name, a.dtype, dtype)
	}
	if len(shape) == 0 {
		return a, nil
	}
	fits := len(shape) == len(a.shape)
	for i := range shape {
		fits = fits && (shape[i] == -1 || shape[i] == a.shape[i])
	}
	if !fits {
		return nil, fmt.Errorf("model: %w: array %q has shape %v, wanted %v", ErrFormat, name, a.shape, shape)
	}
	return a, nil
}

func dtypeOf[T Element]() string {
	switch any(*new(T)).(type) {
	case float64:
		return typeFloat64
	case float32:
		return typeFloat32
	case int64:
		return typeInt64
	case int32:
		return typeInt32
	case uint64:
		return typeUint64
	case uint32:
		return typeUint32
	}
	return typeUint8
}

// elements multiplies a shape out; ok is false when an extent is negative or
// the product exceeds 2^48, more than any file here can hold.
func elements(shape []int) (n int64, ok bool) {
	n = 1
	for _, d := range shape {
		if d < 0 || int64(d) > 1<<48 {
			return 0, false
		}
		if d != 0 && n > (1<<48)/int64(d) {
			return 0, false
		}
		n *= int64(d)
	}
	return n, len(shape) > 0
}

// ArrayBytes is the size of all arrays, without header, padding and checksum.
func (c *Container) ArrayBytes() int64 {
	n := int64(0)
	for i := range c.arrays {
		b, err := c.arrays[i].bytes()
		if err == nil {
			n += b
		}
	}
	return n
}
