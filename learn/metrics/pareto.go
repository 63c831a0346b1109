package metrics

import "math"

// IsDominated reports whether some other list of losses is nowhere larger than the
// candidate's, by more than tol, and somewhere smaller by more than tol.
//
// A minimiser of the largest mixture over the simplex is weakly Pareto-optimal: nothing is smaller
// in all losses. It may be dominated unless it is unique, or the saddle point's λ is positive
// everywhere: both A = (1, 0.5) and B = (1, 0.2) minimise the maximum. Proposition 5.1 as printed
// claims otherwise.
func IsDominated(candidate []float64, others [][]float64, tol float64) bool {
	for _, o := range others {
		below, above := false, false
		for k, v := range candidate {
			above = above || o[k] > v+tol
			below = below || o[k] < v-tol
		}
		if below && !above {
			return true
		}
	}
	return false
}

// Choose returns the index of the candidate with the smallest largest loss. Among those within tol
// of it the smallest sum of losses decides; no candidate within tol dominates that one. It is -1
// for no candidates.
func Choose(candidates [][]float64, tol float64) int {
	worst := func(v []float64) float64 {
		m := math.Inf(-1)
		for _, x := range v {
			m = math.Max(m, x)
		}
		return m
	}
	least := math.Inf(1)
	for _, c := range candidates {
		least = math.Min(least, worst(c))
	}
	best, sum := -1, 0.0
	for i, c := range candidates {
		if worst(c) > least+tol {
			continue
		}
		s := 0.0
		for _, v := range c {
			s += v
		}
		if best < 0 || s < sum {
			best, sum = i, s
		}
	}
	return best
}

// Slack returns by how much a point (w, λ) of a game over the simplex violates complementarity. At
// a saddle point every objective with λ_k > 0 has the value of the game, and the others do not
// exceed it. It is Σ_k λ_k (max_j L_j - L_k), which is zero exactly then.
func Slack(values, lambda []float64) float64 {
	most, s := math.Inf(-1), 0.0
	for _, v := range values {
		most = math.Max(most, v)
	}
	for k, v := range values {
		s += lambda[k] * (most - v)
	}
	return s
}
