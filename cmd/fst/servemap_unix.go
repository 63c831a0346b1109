//go:build unix

package main

import (
	"fmt"
	"math"
	"os"
	"syscall"

	"github.com/tropica-fst/tropica/cmd/internal/calls"
)

// mapped maps a file into memory, to read and to write.
func mapped(name string) (calls.Shared, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() == 0 || info.Size() > math.MaxInt {
		return nil, fmt.Errorf("%s: %d bytes of mode %v cannot be mapped", name, info.Size(), info.Mode())
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}
