package calls

import (
	"fmt"
	"unsafe"
)

// Memory is where addresses of a call lie.
type Memory interface {
	// At returns n bytes from an address, which stay valid while the call lasts.
	At(a Address, n int64) ([]byte, error)
}

// Process is the memory of this process: a caller of the C interface vouches for what its
// pointers point to.
type Process struct{}

// At implements Memory.
func (Process) At(a Address, n int64) ([]byte, error) {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&a)), n), nil
}

// Shared is memory shared with another process. Addresses count from Base, which is not 0.
type Shared []byte

// Base is the address of the first byte of Shared memory: 0 is no address.
const Base = 1 << 12

// At implements Memory. The error says that an array is not within the memory.
func (m Shared) At(a Address, n int64) ([]byte, error) {
	if a < Base || uint64(a-Base) > uint64(len(m)) || uint64(n) > uint64(len(m))-uint64(a-Base) {
		return nil, fmt.Errorf("%d bytes at %d are not within the %d bytes that are shared", n, a, len(m))
	}
	return m[a-Base:][:n:n], nil
}

// view returns count elements at an address. what names the argument in errors.
func view[T int32 | int64 | float32 | float64 | byte](m Memory, what string, a Address,
	count int64) ([]T, error) {
	var zero T
	size := int64(unsafe.Sizeof(zero))
	switch {
	case count < 0:
		return nil, fmt.Errorf("%s: %d elements", what, count)
	case count == 0:
		return nil, nil
	case a == 0:
		return nil, fmt.Errorf("%s: the pointer is null", what)
	case count > 1<<60/size:
		return nil, fmt.Errorf("%s: %d elements are more than any memory has", what, count)
	case uint64(a)%uint64(size) != 0:
		return nil, fmt.Errorf("%s: the pointer is not aligned to elements of %d bytes", what, size)
	}
	b, err := m.At(a, count*size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), count), nil
}

// optional is view of an output that may not be wanted: nil then.
func optional[T int32 | int64 | float32 | float64 | byte](m Memory, what string, a Address,
	count int64) ([]T, error) {
	if a == 0 {
		return nil, nil
	}
	return view[T](m, what, a, count)
}
