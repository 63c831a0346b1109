package sweep

import "unsafe"

// The offsets that the assembly has: another layout does not compile.
var (
	_ = [1]struct{}{}[unsafe.Offsetof(rowArgs{}.stride)-120]
	_ = [1]struct{}{}[unsafe.Offsetof(tileArgs{}.add)-64]
	_ = [1]struct{}{}[unsafe.Offsetof(columnArgs{}.out)-96]
)

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
func tile512(a *tileArgs)

//go:noescape
func expVector(dst, src *float64, n int, shift float64)

//go:noescape
func rangeVector(src *float64, n int) (lo, hi float64, bad bool)

//go:noescape
func scatterSingles(a *columnArgs)

//go:noescape
func sumColumns(a *columnArgs)

//go:noescape
func gatherSingles(a *columnArgs)

//go:noescape
func spreadColumns(a *columnArgs)

//go:noescape
func spreadEntries(a *columnArgs)

//go:noescape
func meetEntries(a *columnArgs)

//go:noescape
func multiplyRows(a *columnArgs)
