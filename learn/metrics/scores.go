package metrics

import (
	"fmt"
	"math"
	"slices"
)

// The functions of this file judge what a model says of the rows of a table. A
// weight of nil is 1 for each row. They panic when lengths differ.

func sameLength(op string, n int, others ...int) {
	for _, m := range others {
		if m != n {
			panic(fmt.Sprintf("metrics: %s: slices of %d and %d", op, n, m))
		}
	}
}

func weightOf(weight []float64, i int) float64 {
	if weight == nil {
		return 1
	}
	return weight[i]
}

// Signs counts errors of real scores. target is 1 for the positive class and 0 for the other; a
// score is right when it has the sign of its class. A score of 0 decides nothing, and is an error,
// as is NaN.
func Signs(score, target []float64) Rate {
	sameLength("Signs", len(score), len(target))
	r := Rate{Base: len(score)}
	for i, s := range score {
		if !(s > 0 && target[i] > 0 || s < 0 && target[i] <= 0) {
			r.Errors++
		}
	}
	return r
}

// WeightedError is the share of the weight on rows whose prediction is not the
// target; 0 if there is no weight.
func WeightedError(prediction, target, weight []float64) float64 {
	sameLength("WeightedError", len(prediction), len(target))
	bad, all := 0.0, 0.0
	for i, p := range prediction {
		w := weightOf(weight, i)
		all += w
		if p != target[i] {
			bad += w
		}
	}
	if all == 0 {
		return 0
	}
	return bad / all
}

// logFloor is the least probability that LogLoss believes: the cost of being
// certain and wrong is 36 nats, not infinite.
const logFloor = 0x1p-52

// LogLoss is the mean of -ln of the probability given to the class of each row.
// p has the probabilities of row i at p[i·classes ...]; with one class it has those
// of the positive class, target 1. Probabilities are kept from 0 and 1 by 2⁻⁵².
func LogLoss(p, target, weight []float64, classes int) float64 {
	if classes == 1 {
		sameLength("LogLoss", len(p), len(target))
	} else {
		sameLength("LogLoss", len(p), len(target)*classes)
	}
	sum, all := 0.0, 0.0
	for i, y := range target {
		q := 0.0
		switch {
		case classes != 1:
			q = p[i*classes+int(y)]
		case y > 0:
			q = p[i]
		default:
			q = 1 - p[i]
		}
		w := weightOf(weight, i)
		sum -= w * math.Log(math.Min(math.Max(q, logFloor), 1)) // NaN stays NaN
		all += w
	}
	if all == 0 {
		return 0
	}
	return sum / all
}

// AUC is the area under the receiver operating characteristic. It is the probability that a row of
// the positive class (target 1) has a greater score than a row of the other, where equal scores
// count one half. It is exact, with ties and weights, in O(n log n) (J. Hanley and B. McNeil,
// Radiology 143:29-36, 1982). It is NaN when a class has no weight, or a score is NaN.
func AUC(score, target, weight []float64) float64 {
	sameLength("AUC", len(score), len(target))
	order := make([]int, len(score))
	for i, s := range score {
		if math.IsNaN(s) {
			return math.NaN()
		}
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case score[a] < score[b]:
			return -1
		case score[a] > score[b]:
			return 1
		}
		return a - b // the order of the sums is then the same on every run
	})
	wins, below, positive := 0.0, 0.0, 0.0 // below: weight of the other class with lesser scores
	for i := 0; i < len(order); {
		p, n := 0.0, 0.0
		j := i
		for ; j < len(order) && score[order[j]] == score[order[i]]; j++ {
			if w := weightOf(weight, order[j]); target[order[j]] > 0 {
				p += w
			} else {
				n += w
			}
		}
		wins += p * (below + n/2)
		below += n
		positive += p
		i = j
	}
	return wins / (below * positive) // 0/0 is NaN, as promised
}

// MeanAUC is the mean over the classes of the AUC of that class against the rest.
// score has the scores of row i at score[i·classes ...]. Classes without rows are
// left out; NaN if that is all but one.
func MeanAUC(score, target, weight []float64, classes int) float64 {
	sameLength("MeanAUC", len(score), len(target)*classes)
	one, is := make([]float64, len(target)), make([]float64, len(target))
	sum, n := 0.0, 0
	for c := range classes {
		for i, y := range target {
			one[i], is[i] = score[i*classes+c], 0
			if int(y) == c {
				is[i] = 1
			}
		}
		if !slices.Contains(is, 1) {
			continue
		}
		sum += AUC(one, is, weight)
		n++
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}

// RMSE is the root of the mean squared error.
func RMSE(prediction, target, weight []float64) float64 {
	return math.Sqrt(meanOf("RMSE", prediction, target, weight, func(d float64) float64 { return d * d }))
}

// MAE is the mean absolute error.
func MAE(prediction, target, weight []float64) float64 {
	return meanOf("MAE", prediction, target, weight, math.Abs)
}

func meanOf(op string, prediction, target, weight []float64, cost func(float64) float64) float64 {
	sameLength(op, len(prediction), len(target))
	sum, all := 0.0, 0.0
	for i, p := range prediction {
		w := weightOf(weight, i)
		sum += w * cost(p-target[i])
		all += w
	}
	if all == 0 {
		return 0
	}
	return sum / all
}

// Confusion counts rows by their class and the class predicted: c[class][predicted].
type Confusion [][]int

// NewConfusion counts predictions; classes are numbered from 0.
func NewConfusion(prediction, target []int, classes int) Confusion {
	sameLength("NewConfusion", len(prediction), len(target))
	c := make(Confusion, classes)
	for k := range c {
		c[k] = make([]int, classes)
	}
	for i, p := range prediction {
		c[target[i]][p]++
	}
	return c
}

// Add adds the counts of d, which has as many classes.
func (c Confusion) Add(d Confusion) {
	sameLength("Confusion.Add", len(c), len(d))
	for k := range c {
		for j := range c[k] {
			c[k][j] += d[k][j]
		}
	}
}

// Rate is the error rate: what is off the diagonal, out of all.
func (c Confusion) Rate() Rate {
	var r Rate
	for k := range c {
		for j, n := range c[k] {
			r.Base += n
			if j != k {
				r.Errors += n
			}
		}
	}
	return r
}

// Recall is the share of the rows of a class that were found; 0 without any.
func (c Confusion) Recall(class int) float64 {
	all := 0
	for _, n := range c[class] {
		all += n
	}
	return ratio(c[class][class], all)
}

// Precision is the share of the predictions of a class that are right; 0 without any.
func (c Confusion) Precision(class int) float64 {
	all := 0
	for k := range c {
		all += c[k][class]
	}
	return ratio(c[class][class], all)
}

// F1 is the harmonic mean of a class' precision and recall; 0 when both are.
func (c Confusion) F1(class int) float64 {
	predicted, there := 0, 0
	for k := range c {
		predicted += c[k][class]
		there += c[class][k]
	}
	return ratio(2*c[class][class], predicted+there)
}
