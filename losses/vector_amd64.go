package losses

import "unsafe"

// The offsets that the assembly has: another layout does not compile.
var (
	_ = [1]struct{}{}[unsafe.Offsetof(rowArgs{}.stride)-120]
	_ = [1]struct{}{}[unsafe.Offsetof(wordArgs{}.at)-168]
	_ = [1]struct{}{}[unsafe.Sizeof(wordSlot{})-16]
	_ = [1]struct{}{}[unsafe.Sizeof(pairSlot{})-24]
	_ = [1]struct{}{}[unsafe.Sizeof(movedPair{})-32]
	_ = [1]struct{}{}[unsafe.Offsetof(laneArgs{}.limAll)-120]
	_ = [1]struct{}{}[unsafe.Offsetof(tileArgs{}.add)-64]
)

// useVectors reports that the processor has AVX2, FMA and BMI2, and that the system keeps their
// registers.
var useVectors = haveVectors()

func haveVectors() bool {
	top, _, _, _ := cpuid(0, 0)
	if top < 7 {
		return false
	}
	const fma, osxsave, avx = 1 << 12, 1 << 27, 1 << 28
	if _, _, c, _ := cpuid(1, 0); c&(fma|osxsave|avx) != fma|osxsave|avx {
		return false
	}
	if lo, _ := xgetbv(); lo&6 != 6 {
		return false
	}
	const avx2, bmi2 = 1 << 5, 1 << 8
	_, b, _, _ := cpuid(7, 0)
	return b&(avx2|bmi2) == avx2|bmi2
}

// useLanes tells that the processor has what moveWords of AVX-512 needs too: F, DQ, CD, BW, VL and
// counting of bits, and that the system keeps the registers.
var useLanes = useVectors && haveLanes()

func haveLanes() bool {
	if lo, _ := xgetbv(); lo&0xe6 != 0xe6 {
		return false
	}
	const f, dq, cd, bw, vl, counts = 1 << 16, 1 << 17, 1 << 28, 1 << 30, 1 << 31, 1 << 14
	_, b, c, _ := cpuid(7, 0)
	return b&(f|dq|cd|bw|vl) == f|dq|cd|bw|vl && c&counts != 0
}

//go:noescape
func cpuid(leaf, sub uint32) (a, b, c, d uint32)

//go:noescape
func xgetbv() (lo, hi uint32)

//go:noescape
func forwardRows8(a *rowArgs)

//go:noescape
func forwardRows12(a *rowArgs)

//go:noescape
func forwardRows16(a *rowArgs)

//go:noescape
func forwardRowsN(a *rowArgs)

//go:noescape
func backwardRowsN(a *rowArgs)

//go:noescape
func backwardRows8(a *rowArgs)

//go:noescape
func backwardRows12(a *rowArgs)

//go:noescape
func backwardRows16(a *rowArgs)

//go:noescape
func countForwardVector(b, a, p *float64, gain *int32, d, stride, pad, lanes int)

//go:noescape
func countBackwardVector(x, beta, betaN, alpha, p *float64, gain *int32, d, stride, pad, lanes int)

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

//go:noescape
func tile512(a *tileArgs)

// prefetchSlots asks for the slots where the search for each of n keys begins.
//
//go:noescape
func prefetchSlots(keys *uint64, n int, slots *wordSlot, shift uint)

// prefetchPairs is prefetchSlots for columns of two words.
//
//go:noescape
func prefetchPairs(moved *movedPair, n int, slots *pairSlot, shift uint)

//go:noescape
func expVector(dst, src *float64, n int, shift float64)

//go:noescape
func rangeVector(src *float64, n int) (lo, hi float64, bad bool)
