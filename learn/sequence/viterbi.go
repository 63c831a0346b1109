package sequence

// viterbi finds best label sequences where label pairs score the same at all
// positions (A. Viterbi, 1967); it is work space for one goroutine.
type viterbi struct {
	score, next []float64
	from        []int32
}

// best stores the best labels, whose score it returns: node has rows of stride,
// pair is D·D or nil. Ties go to the lowest numbers, last position first.
// O(len·D²).
func (v *viterbi) best(labels []int, node []float64, stride, d int, pair []float64) float64 {
	n := len(labels)
	if n == 0 {
		return 0
	}
	if cap(v.from) < n*d {
		v.from = make([]int32, n*d+n*d/2)
	}
	if cap(v.score) < d {
		v.score, v.next = make([]float64, d), make([]float64, d)
	}
	score, next := v.score[:d], v.next[:d]
	copy(score, node[:d])
	for t := 1; t < n; t++ {
		from := v.from[t*d:][:d]
		if pair == nil {
			a := argmax(score)
			for b := range next {
				next[b], from[b] = score[a], int32(a)
			}
		} else {
			clear(from)
			for b, p := range pair[:d] {
				next[b] = score[0] + p
			}
			for a := 1; a < d; a++ {
				sa := score[a]
				for b, p := range pair[a*d:][:d] {
					if x := sa + p; x > next[b] {
						next[b], from[b] = x, int32(a)
					}
				}
			}
		}
		for b, e := range node[t*stride:][:d] {
			next[b] += e
		}
		score, next = next, score
	}
	y := argmax(score)
	value := score[y]
	for t := n - 1; t >= 0; t-- {
		labels[t] = y
		if t > 0 {
			y = int(v.from[t*d+y])
		}
	}
	return value
}

func argmax(v []float64) int {
	best := 0
	for i, x := range v {
		if x > v[best] {
			best = i
		}
	}
	return best
}
