package losses

import "unsafe"

// The offsets that the assembly has: another layout does not compile.
var (
	_ = [1]struct{}{}[unsafe.Offsetof(rowArgs{}.stride)-120]
	_ = [1]struct{}{}[unsafe.Offsetof(wordArgs{}.at)-168]
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
func expVector(dst, src *float64, n int, shift float64)

//go:noescape
func rangeVector(src *float64, n int) (lo, hi float64, bad bool)
