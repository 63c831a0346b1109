package mapping

import (
	"os"
	"syscall"
	"unsafe"
)

// kept is how many bytes from the beginning of a mapping Release leaves where they are.
const kept = 16 << 20

// Release returns the memory of a part of Bytes to the system: the pages that end in it. They can
// be read as before, and then come from the file again, which the system mostly has in memory.
// Release parts in order, so that a page in two of them goes with the second. It is made for
// fst.ReadOptions.Checked.
//
// The first 16 MiB stay (kept). Returning a page costs half of what it took to read it, and reading
// it again costs as much once more. Reading a lexicon of 30 MB gave the figures below (read_const_L
// of the benchmark, medians of 15 processes of each in turn). The file came from the disk in large
// pieces, or had just been written in small ones:
//
//	given back      from the disk   just written   most resident
//	nothing         2.1 ms          4.0 ms         39 MB
//	behind 16 MiB   2.2             4.1            27
//	all             2.5             6.1            11
//	OpenFst         2.7             5.1            34
func (m *File) Release(part []byte) {
	if len(part) == 0 || len(m.data) == 0 {
		return
	}
	page := uintptr(os.Getpagesize())
	lo := uintptr(unsafe.Pointer(&part[0])) - uintptr(unsafe.Pointer(&m.data[0]))
	hi := lo + uintptr(len(part))
	if lo > uintptr(len(m.data)) || hi > uintptr(len(m.data)) {
		return // not of this mapping: elsewhere the same call would clear memory
	}
	if lo, hi = max(lo, kept)&^(page-1), hi&^(page-1); lo < hi {
		syscall.Madvise(m.data[lo:hi], syscall.MADV_DONTNEED) // an error leaves the pages there
	}
}
