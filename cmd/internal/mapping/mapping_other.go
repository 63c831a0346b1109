//go:build !unix

// Package mapping has the contents of files for machines that are used where they are in
// their file: see fst.ReadBytes.
package mapping

import (
	"io"
	"os"
)

// File is the contents of a file. On this system they are read, not mapped.
type File struct{ data []byte }

// Map reads f.
func Map(f *os.File) (*File, error) {
	data, err := io.ReadAll(f)
	return &File{data}, err
}

// Bytes returns the contents of the file, to be read only, until Close.
func (m *File) Bytes() []byte { return m.data }

// Close gives the contents up.
func (m *File) Close() error { m.data = nil; return nil }
