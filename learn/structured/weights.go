package structured

import (
	"cmp"
	"math"
	"slices"
)

// Truncate sets the weights of least absolute value to zero in place, as long as those left
// keep the share 1 - drop of Σ|α_i|. It returns the sum of the absolute weights dropped.
//
// A decoded output's F exceeds the least by at most that sum times Range. Range bounds how much the
// losses of all outputs against one truth differ. O(n log n).
func Truncate(alpha []float64, drop float64) (dropped float64) {
	order := make([]int, len(alpha))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order,
		func(a, b int) int { return cmp.Compare(math.Abs(alpha[a]), math.Abs(alpha[b])) })
	budget := drop * norm1(alpha)
	for _, i := range order {
		a := math.Abs(alpha[i])
		if a > 0 && dropped+a > budget {
			break
		}
		dropped += a
		alpha[i] = 0
	}
	return dropped
}

// Influence is what one training output adds to F.
type Influence struct {
	Training int     // number of the training output
	Alpha    float64 // its weight
	Loss     float64 // Δ(prediction, truth)
}

// Influences returns the top training outputs by absolute weight, 0 for all, with the losses
// of a prediction against them: why it was made. O(n log n) and top losses.
func Influences(alpha []float64, top int, loss func(training int) float64) []Influence {
	order := support(alpha)
	slices.SortStableFunc(order,
		func(a, b int) int { return cmp.Compare(math.Abs(alpha[b]), math.Abs(alpha[a])) })
	if top > 0 && len(order) > top {
		order = order[:top]
	}
	var out []Influence
	for _, i := range order {
		out = append(out, Influence{i, alpha[i], loss(i)})
	}
	return out
}
