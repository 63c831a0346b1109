package fst

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"strings"
	"sync"
	"unsafe"

	"github.com/tropica-fst/tropica/semiring"
)

// layout tells how weights of a type lie in files, and whether memory holds
// them in the same way, so that arcs can be copied whole.
type layout struct {
	raw   bool         // the bytes in memory are those of the file: numbers only, no padding, little-endian
	size  int          // bytes of a weight in a file, where that is fixed; else 0
	align int          // of the weight in OpenFst's structs
	float reflect.Kind // Float32 or Float64 if that is what the weight is
}

// layoutOf finds the layout of W by its kind and by trial: weights of known
// bytes must be encoded as just these. On a machine of the other byte order, or
// for a weight with a form of its own, nothing is copied raw. Each type is looked at once.
func layoutOf[W semiring.Codec[W]]() layout {
	t := reflect.TypeFor[W]()
	if l, ok := layouts.Load(t); ok {
		return l.(layout)
	}
	l := findLayout[W](t)
	layouts.Store(t, l)
	return l
}

// layouts holds the layout of each type of weights that was asked for: archives ask for each
// machine.
var layouts sync.Map

func findLayout[W semiring.Codec[W]](t reflect.Type) layout {
	l := layout{align: alignment(t)}
	if t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64 {
		l.float = t.Kind()
	}
	if numbers(t) == t.Size() && t.Size() > 0 {
		l.raw = rawCodec[W]()
	}
	switch {
	case l.raw:
		l.size = int(t.Size())
	case t.Kind() == reflect.Bool && oneByte[W]():
		l.size = 1
	default:
		l.float = 0
	}
	return l
}

// oneByte reports whether W, a bool, encodes to one byte, as it lies in memory. It is not raw all
// the same: a byte other than 0 and 1 must not get there.
func oneByte[W semiring.Codec[W]]() bool {
	var w W
	for _, w := range []W{w.Zero(), w.One()} {
		if len(w.AppendBinary(nil)) != 1 {
			return false
		}
	}
	return true
}

// rawCodec reports whether W, made of numbers only, encodes to its own bytes.
func rawCodec[W semiring.Codec[W]]() bool {
	for trial := range uint32(4) {
		var w W
		mem := unsafe.Slice((*byte)(unsafe.Pointer(&w)), unsafe.Sizeof(w))
		// Words that make ordinary numbers as float32 and in float64's upper half.
		for i := 0; i+4 <= len(mem); i += 4 {
			binary.LittleEndian.PutUint32(mem[i:], 0x3f800000+0x10101*trial+0x9731*uint32(i))
		}
		enc := w.AppendBinary(nil)
		if !bytes.Equal(enc, mem) {
			return false
		}
		if v, n, err := w.DecodeBinary(enc); err != nil || n != len(mem) || !v.Equal(w) {
			return false
		}
	}
	return true
}

// numbers returns how many bytes of t are numbers that may hold any bits, or
// a size that t does not have if t holds anything else. Padding in the struct that
// OpenFst has on 64-bit machines is something else, also where Go has none, on 32-bit ones.
func numbers(t reflect.Type) uintptr {
	const no = 1 << 30
	switch t.Kind() {
	case reflect.Float32, reflect.Float64, reflect.Int32, reflect.Uint32, reflect.Int64, reflect.Uint64:
		return t.Size()
	case reflect.Array:
		return uintptr(t.Len()) * numbers(t.Elem())
	case reflect.Struct:
		n := uintptr(0)
		for i := range t.NumField() {
			field := t.Field(i).Type
			if k := uintptr(alignment(field)); k == 0 || n%k != 0 {
				return no
			}
			n += numbers(field)
		}
		if k := uintptr(alignment(t)); n%k != 0 {
			return no
		}
		return n
	}
	return no
}

// alignment is that of t, made of numbers, in a C struct on the 64-bit machines
// that write files; Go's on a 32-bit one may be less.
func alignment(t reflect.Type) int {
	switch t.Kind() {
	case reflect.Array:
		return alignment(t.Elem())
	case reflect.Struct:
		n := 1
		for i := range t.NumField() {
			n = max(n, alignment(t.Field(i).Type))
		}
		return n
	}
	return int(t.Size())
}

// arcSize is the size of an arc in the arrays of const files, where it is a C
// struct: padded to the alignment of the weight.
func (l layout) arcSize() int { return roundUp(12+l.size, max(4, l.align)) }

// weightAt is the offset of the weight in that struct. Two labels come before
// it, eight bytes, so that no alignment up to 8 needs padding.
const weightAt = 8

// nextAt is the offset of the next state, behind the weight.
func (l layout) nextAt() int { return roundUp(weightAt+l.size, 4) }

func roundUp(n, k int) int { return (n + k - 1) / k * k }

// rawArcs returns the memory of arcs as bytes if it lies as in const files
// (and, with weights of 4 bytes, vector files), else nil.
func rawArcs[W any](l layout, arcs []Arc[W]) []byte {
	var e Arc[W]
	if !l.raw || len(arcs) == 0 || int(unsafe.Sizeof(e)) != l.arcSize() ||
		unsafe.Offsetof(e.Weight) != weightAt || int(unsafe.Offsetof(e.NextState)) != l.nextAt() || l.align > 8 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&arcs[0])), len(arcs)*int(unsafe.Sizeof(e)))
}

// badWeight reports whether w is no number or no string at all: what prints as
// BadNumber or BadString and could not be read back. Other weights outside the
// semiring, such as -∞ in the tropical one, OpenFst's files may hold.
func badWeight[W semiring.Codec[W]](w W) bool {
	return !w.Member() && (!w.Equal(w) || bytes.Contains(w.AppendText(nil), []byte("Bad")))
}

// badNumber is badWeight where the weight is a float.
func badNumber[W any](l layout, w *W) bool {
	if l.float == reflect.Float32 {
		x := *(*float32)(unsafe.Pointer(w))
		return x != x
	}
	return math.IsNaN(*(*float64)(unsafe.Pointer(w)))
}

// unwritten returns an empty slice with room for n items, to be had without
// growing. When the room is large and T, made of numbers only, is all written before
// it is read, as a reader does, it is memory that is not cleared first: clearing
// took a tenth of the reading of a const machine of 30 MB.
func unwritten[T any](n int) []T {
	var t T
	size := int(unsafe.Sizeof(t))
	if n < 64<<10 || numbers(reflect.TypeFor[T]()) != uintptr(size) {
		return make([]T, 0, n)
	}
	// A strings.Builder has the one door to such memory. Objects of this size
	// start at a page, so that any number is aligned in them.
	var mem strings.Builder
	mem.Grow(n * size)
	mem.WriteByte(0)
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.StringData(mem.String()))), n)[:0]
}
