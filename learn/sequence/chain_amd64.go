//go:build amd64 && !purego

package sequence

//go:noescape
func forwardAVX512(alpha, exp, trans, scale *float64, labels, stride, steps int)

//go:noescape
func backwardAVX512(alpha, exp, trans, scale, post, beta *float64, labels, stride, steps int)

//go:noescape
func addOutersAVX512(m, a, r *float64, rows, stride, steps int)

//go:noescape
func expRowsAVX512(dst, src *float64, labels, stride, rows int, out *[2]float64)

// chainPiece bounds the positions of one call: assembly cannot be preempted.
const chainPiece = 4096

// useRows is whether the recursions run in assembly for rows of stride floats.
func useRows(stride int) bool { return hasAVX512 && stride <= 32 }

// expRows is a chain's expRows in assembly.
func (c *chain) expRowsFast(n int) (tops, spread float64) {
	s := c.stride
	var out [2]float64
	for t := 0; t < n; t += chainPiece {
		k := min(chainPiece, n-t)
		_ = c.exp[(t+k)*s-1]
		expRowsAVX512(&c.exp[t*s], &c.node[t*s], c.labels, s, k, &out)
	}
	return out[0], out[1]
}

// forwardFast makes rows 1 to n-1 of alpha.
func (c *chain) forwardFast(n int) {
	s := c.stride
	_ = c.alpha[n*s-1]
	for t := 1; t < n; t += chainPiece {
		forwardAVX512(&c.alpha[(t-1)*s], &c.exp[t*s], &c.trans[0], &c.scale[t], c.labels, s, min(chainPiece, n-t))
	}
}

// backwardFast makes rows 0 to n-2 of post, and what is summed in pairs.
func (c *chain) backwardFast(n int, post []float64, pairs *pairSums) {
	s := c.stride
	_ = post[(n-1)*s-1]
	for t := n - 1; t > 0; t -= chainPiece {
		backwardAVX512(&c.alpha[(t-1)*s], &c.exp[t*s], &c.transT[0], &c.scale[t], &post[(t-1)*s], &c.beta[0], c.labels, s, min(chainPiece, t))
	}
	rows := (c.labels + 3) &^ 3
	_ = pairs.scaled[rows*s-1]
	for t := 1; t < n; t += chainPiece {
		addOutersAVX512(&pairs.scaled[0], &c.alpha[(t-1)*s], &c.exp[t*s], rows, s, min(chainPiece, n-t))
	}
}
