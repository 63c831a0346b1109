package run

// GroupBy lists the members of each of n groups: those of group k are
// order[first[k]:first[k+1]], increasing.
func GroupBy(group []int32, n int) (order []int32, first []int32) {
	first = make([]int32, n+2)
	for _, k := range group {
		first[k+2]++
	}
	for k := range n {
		first[k+2] += first[k+1]
	}
	order = make([]int32, len(group))
	for p, k := range group {
		order[first[k+1]] = int32(p)
		first[k+1]++
	}
	return order, first[:n+1]
}
