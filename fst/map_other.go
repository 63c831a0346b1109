//go:build !unix

package fst

import (
	"io"
	"os"
)

// Mapping is the contents of a file. On this system they are read, not mapped.
type Mapping struct{ data []byte }

// Map reads f.
func Map(f *os.File) (*Mapping, error) {
	data, err := io.ReadAll(f)
	return &Mapping{data}, err
}

// Bytes returns the contents of the file, to be read only, until Close.
func (m *Mapping) Bytes() []byte { return m.data }

// Close gives the contents up.
func (m *Mapping) Close() error { m.data = nil; return nil }
