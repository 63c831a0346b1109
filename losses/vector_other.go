package losses

const useVectors = false

func countForwardVector(b, a, p *float64, gain *int32, d, stride, pad, lanes int) {}

func countBackwardVector(x, beta, betaN, alpha, p *float64, gain *int32, d, stride, pad, lanes int) {}
