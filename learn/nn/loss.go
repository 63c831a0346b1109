package nn

import (
	"fmt"
	"math"
)

// Losses of a batch. Each returns the sum over rows, in float64 and in the order of
// rows, and stores in grad, unless it is nil, the derivative of the sum with respect
// to the scores, times scale: 1/rows gives the gradient of the mean. grad may be scores.

// SoftmaxCrossEntropy is Σ_i -ln softmax(scores_i)[labels_i], each row of scores having
// classes elements. It panics when a label is not below classes.
func SoftmaxCrossEntropy[T Float](scores []T, labels []int, classes int, scale float64, grad []T) float64 {
	total := 0.0
	for i, label := range labels {
		checkLabel(label, classes)
		row := scores[i*classes:][:classes]
		top := row[0]
		for _, s := range row[1:] {
			if s > top || s != s {
				top = s
			}
		}
		sum, at := 0.0, float64(row[label])
		if grad == nil {
			for _, s := range row {
				sum += math.Exp(float64(s - top))
			}
		} else {
			d := grad[i*classes:][:classes]
			for j, s := range row {
				e := math.Exp(float64(s - top))
				sum += e
				d[j] = T(e)
			}
			f := T(scale / sum)
			for j := range d {
				d[j] *= f
			}
			d[label] -= T(scale)
		}
		total += math.Log(sum) + float64(top) - at
	}
	return total
}

// OneVsAll is Σ_i Σ_c ln(1+e^{-y s_ic}), where y is 1 for c = labels_i and -1 for the
// other classes: a logistic regression for each class. It panics when a label is not
// below classes.
func OneVsAll[T Float](scores []T, labels []int, classes int, scale float64, grad []T) float64 {
	total := 0.0
	for i, label := range labels {
		checkLabel(label, classes)
		for c, s := range scores[i*classes:][:classes] {
			// With z = y s, ln(1+e^{-z}) = max(-z,0) + ln(1+e^{-|z|}), and the
			// derivative in z is -e^{-z}/(1+e^{-z}).
			y := -1.0
			if c == label {
				y = 1
			}
			z := y * float64(s)
			e := math.Exp(-math.Abs(z))
			total += math.Log1p(e)
			p := e / (1 + e)
			if z < 0 {
				total -= z
				p = 1 / (1 + e)
			}
			if grad != nil {
				grad[i*classes+c] = T(-y * p * scale)
			}
		}
	}
	return total
}

// SquaredError is Σ_i |scores_i - targets_i|²/2, over as many elements as there are
// targets.
func SquaredError[T Float](scores, targets []T, scale float64, grad []T) float64 {
	total := 0.0
	for i, t := range targets {
		d := float64(scores[i]) - float64(t)
		total += d * d / 2
		if grad != nil {
			grad[i] = T(scale * d)
		}
	}
	return total
}

// Softmax stores the distribution of each row of scores in dst, which may be scores.
func Softmax[T Float](dst, scores []T, classes int) {
	for i := 0; i+classes <= len(scores); i += classes {
		row, out := scores[i:i+classes], dst[i:i+classes]
		top := row[0]
		for _, s := range row[1:] {
			top = max(top, s)
		}
		sum := 0.0
		for j, s := range row {
			e := math.Exp(float64(s - top))
			sum += e
			out[j] = T(e)
		}
		for j := range out {
			out[j] = T(float64(out[j]) / sum)
		}
	}
}

// Argmax returns the first of the largest scores of a row.
func Argmax[T Float](row []T) int {
	best := 0
	for j, s := range row {
		if s > row[best] {
			best = j
		}
	}
	return best
}

func checkLabel(label, classes int) {
	if label < 0 || label >= classes {
		panic(fmt.Sprintf("nn: label %d of %d classes", label, classes))
	}
}
