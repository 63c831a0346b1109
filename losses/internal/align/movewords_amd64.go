package align

import "unsafe"

// The offsets that the assembly has: another layout does not compile.
var (
	_ = [1]struct{}{}[unsafe.Offsetof(wordArgs{}.at)-168]
	_ = [1]struct{}{}[unsafe.Sizeof(wordSlot{})-16]
	_ = [1]struct{}{}[unsafe.Sizeof(pairSlot{})-24]
	_ = [1]struct{}{}[unsafe.Sizeof(movedPair{})-32]
	_ = [1]struct{}{}[unsafe.Offsetof(laneArgs{}.limAll)-120]
)

//go:noescape
func moveWords(a *wordArgs)

//go:noescape
func moveWords10(a *laneArgs)

//go:noescape
func moveWords21(a *laneArgs)

//go:noescape
func moveWords41(a *laneArgs)

//go:noescape
func moveWords43(a *laneArgs)

// prefetchSlots asks for the slots where the search for each of n keys begins.
//
//go:noescape
func prefetchSlots(keys *uint64, n int, slots *wordSlot, shift uint)

// prefetchPairs is prefetchSlots for columns of two words.
//
//go:noescape
func prefetchPairs(moved *movedPair, n int, slots *pairSlot, shift uint)
