//go:build unix

// Package mapping puts files into the address space, for machines that are used where they are in
// their file: see fst.ReadBytes.
package mapping

import (
	"fmt"
	"math"
	"os"
	"syscall"
)

// File is a file in the address space, for reading: what the system has of it in memory
// already is not read or copied again.
type File struct{ data []byte }

// Map maps f, which must be a regular file and can be closed afterwards.
//
// The file must not be truncated while the mapping is used: as with any mapping, accessing a
// missing page kills the program by a fault. If you cannot rule that out, use fst.Read, which
// copies. On systems without mappings the file is read.
func Map(f *os.File) (*File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: only a regular file can be mapped", f.Name())
	}
	if info.Size() == 0 {
		return &File{}, nil // which systems refuse to map
	}
	if info.Size() > math.MaxInt {
		return nil, fmt.Errorf("%s: %d bytes are more than the address space holds", f.Name(), info.Size())
	}
	data, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		return nil, &os.PathError{Op: "map", Path: f.Name(), Err: err}
	}
	return &File{data}, nil
}

// Bytes returns the contents of the file, to be read only, until Close.
func (m *File) Bytes() []byte { return m.data }

// Close ends the mapping. Machines that fst.ReadBytes made of it, and slices of their arcs, must
// not be used any more. Only the caller knows when the last is gone, which is why the garbage
// collector does not close mappings.
func (m *File) Close() error {
	if m.data == nil {
		return nil
	}
	data := m.data
	m.data = nil
	return syscall.Munmap(data)
}
