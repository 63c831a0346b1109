package g2p

import (
	"math"
	"slices"
)

// logWeight returns the log of the sum of exp of the scores of all label strings that spell
// phones: the states of the sum are the phones spelt and the last label. -Inf is none.
// O(letters · phones · labels²).
func (m *Model) logWeight(s *scores, phones []int) float64 {
	width := len(phones) + 1
	// alpha[j·left+a]: of label strings that spelt j phones and end with a.
	alpha, left := make([]float64, width), 1
	for j := range alpha {
		alpha[j] = math.Inf(-1)
	}
	alpha[0] = 0
	for t, size := range s.sizes {
		next := make([]float64, width*size)
		for i := range next {
			next[i] = math.Inf(-1)
		}
		row := s.binary[s.shape.pairs[t]:]
		// emit adds the strings that end with the label u, of the score own, at place b.
		emit := func(b int, u []int, own float64) {
			for j := 0; j+len(u) < width; j++ {
				if !slices.Equal(phones[j:j+len(u)], u) {
					continue
				}
				most := math.Inf(-1)
				for a, v := range alpha[j*left : (j+1)*left] {
					most = max(most, v+row[a*size+b])
				}
				if math.IsInf(most, -1) {
					continue
				}
				sum := 0.0
				for a, v := range alpha[j*left : (j+1)*left] {
					sum += math.Exp(v + row[a*size+b] - most)
				}
				at := &next[(j+len(u))*size+b]
				*at = logAddZero(*at, most+math.Log(sum)+own)
			}
		}
		for b, l := range s.lists[t] {
			emit(b, m.Inventory.Labels[l], s.unary[s.shape.unary[t]+b])
		}
		if last := size - 1; s.backsOff(t, last) != nil {
			of := s.back[t]
			for k, l := range of.Labels {
				emit(last, m.Inventory.Labels[l], s.unary[s.shape.unary[t]+last]+math.Log(of.Prob[k]/of.Prob[0]))
			}
		}
		alpha, left = next, size
	}
	all := math.Inf(-1)
	for _, v := range alpha[len(phones)*left:] {
		all = logAddZero(all, v)
	}
	return all
}

// logAddZero is logAdd of numbers that may be -Inf.
func logAddZero(a, b float64) float64 {
	if math.IsInf(min(a, b), -1) {
		return max(a, b)
	}
	return logAdd(a, b)
}
