package boost

import (
	"math"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// Questions are what a node of a tree may ask of a row: a threshold on a numeric column, on which
// side of it missing values go, and a set of levels of a categorical column. Theorem 3.1 and
// CountBound cover thresholds only. The other questions reduce to them by expanding the table into
// numeric columns whose thresholds are those questions:
//
//   - a column with missing values becomes two, in which these are below and above all
//     others: a learned direction is the choice between the two;
//   - a column of L levels becomes 2^(L-1) - 1 columns of 0 and 1, one for each division of the
//     levels in two (missing values count as one more level).
//
// A tree of n splits over the table is a tree of n thresholds over the expanded columns, so both
// bounds hold with their number in place of d. Which columns have missing values, and which levels
// exist, is read from the table. For the bounds to hold strictly this must be known of the task,
// not only of the sample.
type Questions struct {
	whole, gaps int   // columns of numbers without missing values, and with some
	groups      []int // of each categorical column: its levels, and missing values
}

// QuestionsOf returns the questions of a table's columns. O(rows·columns).
func QuestionsOf(x *table.Table) Questions {
	var q Questions
	for j := range x.Columns {
		c := &x.Columns[j]
		missing := 0
		if x.HasMissing(j) {
			missing = 1
		}
		switch {
		case c.Kind == table.Categorical:
			q.groups = append(q.groups, len(c.Levels)+missing)
		case missing > 0:
			q.gaps++
		default:
			q.whole++
		}
	}
	return q
}

// LogColumns is the logarithm of the number of columns written out; -Inf without any.
func (q Questions) LogColumns() float64 { return q.log(math.MaxInt, 1) }

// LogDivisions bounds the logarithm of the number of ways in which one question, or none, divides m
// rows. For d numeric columns without missing values it is ln(d(m-1)+1).
func (q Questions) LogDivisions(m int) float64 {
	return logAdd(0, q.log(m, float64(max(m, 1)-1)))
}

// log is the logarithm of the sum over columns written out: cuts for one of numbers, and 1
// for a division of levels. Of m rows at most m levels differ. Numbers of divisions of a
// thousand levels are beyond float64, so sums are of logarithms.
func (q Questions) log(m int, cuts float64) float64 {
	sum := math.Log(float64(q.whole+2*q.gaps) * cuts)
	for _, g := range q.groups {
		if n := float64(min(g, m) - 1); n > 0 {
			sum = logAdd(sum, n*math.Ln2+math.Log1p(-math.Exp2(-n)))
		}
	}
	return sum
}

func logAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}

// Omega bounds the Rademacher complexity of trees with at most n internal nodes that ask these
// questions. It agrees with the function Omega where there are no levels and nothing is missing.
func (q Questions) Omega(b ComplexityBound, n int, lambda float64, m int) float64 {
	if q.gaps == 0 && len(q.groups) == 0 {
		return Omega(b, n, lambda, q.whole, m)
	}
	if m < 1 {
		return math.Inf(1)
	}
	f, rows := float64(n), float64(m)
	if b == CountBound {
		return lambda * math.Sqrt(2*(logCatalan(n)+f*q.LogDivisions(m)+(f+1)*math.Ln2)/rows)
	}
	columns := logAdd(q.LogColumns(), math.Ln2) / math.Ln2 // log2(d+2)
	return lambda * math.Sqrt((4*f+2)*columns*math.Log(rows+1)/rows)
}
