package mapping

import (
	"os"
	"syscall"
	"unsafe"
)

// Release gives the memory of a part of Bytes back: of the pages that end in it. They are to be read as before, and
// then come from the file again, which the system mostly has in memory. Parts are to be released in order, for
// the page that is in two of them to go with the second. It is made for fst.ReadOptions.Checked.
//
// Of a lexicon of 30 MB nothing stays resident behind the check; reading takes 2.0 ms for 1.65, and
// shortest distances afterwards about 100 with and without.
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
	if lo, hi = lo&^(page-1), hi&^(page-1); lo < hi {
		syscall.Madvise(m.data[lo:hi], syscall.MADV_DONTNEED) // an error leaves the pages there
	}
}
