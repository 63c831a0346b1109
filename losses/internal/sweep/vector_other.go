//go:build !amd64

package sweep

func forwardRows8(*rowArgs)   { panic("losses: no vectors") }
func forwardRows12(*rowArgs)  { panic("losses: no vectors") }
func forwardRows16(*rowArgs)  { panic("losses: no vectors") }
func forwardRowsN(*rowArgs)   { panic("losses: no vectors") }
func backwardRowsN(*rowArgs)  { panic("losses: no vectors") }
func backwardRows8(*rowArgs)  { panic("losses: no vectors") }
func backwardRows12(*rowArgs) { panic("losses: no vectors") }
func backwardRows16(*rowArgs) { panic("losses: no vectors") }

func countForwardVector(b, a, p *float64, gain *int32, d, stride, pad, lanes int) {
	panic("losses: no vectors")
}

func countBackwardVector(x, beta, betaN, alpha, p *float64, gain *int32, d, stride, pad, lanes int) {
	panic("losses: no vectors")
}

func tile512(*tileArgs) { panic("losses: no vectors") }

func expVector(dst, src *float64, n int, shift float64) { panic("losses: no vectors") }

func rangeVector(src *float64, n int) (lo, hi float64, bad bool) {
	panic("losses: no vectors")
}

func scatterSingles(*columnArgs) { panic("losses: no vectors") }
func sumColumns(*columnArgs)     { panic("losses: no vectors") }
func gatherSingles(*columnArgs)  { panic("losses: no vectors") }
func spreadColumns(*columnArgs)  { panic("losses: no vectors") }
func spreadEntries(*columnArgs)  { panic("losses: no vectors") }
func meetEntries(*columnArgs)    { panic("losses: no vectors") }
func multiplyRows(*columnArgs)   { panic("losses: no vectors") }
