package score

import (
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim"
)

// RowKind says what a pointwise loss becomes for a row of scores, one for each class.
type RowKind int

// The kinds of rows.
const (
	NoRow      RowKind = iota // each score has its own target
	RowSoftMax                // the multiple of log Σ_c exp(s_c) - s_y
	RowHinge                  // max(0, 1 + max_{c≠y} s_c - s_y)
	RowSum                    // Σ_c of the loss of s_c against 1 for y and 0, or -1 for losses of margins
)

// RowKind returns the kind that suits the loss.
func (l *Pointwise) RowKind() RowKind {
	switch {
	case l.Multiple != 0:
		return RowSoftMax
	case l.Name == "hinge":
		return RowHinge
	}
	return RowSum
}

// RowConstants returns a Lipschitz constant in the Euclidean norm of a row of scores, and the
// largest value, for scores up to b in absolute value.
func (l *Pointwise) RowConstants(outputs int, b float64) (lipschitz, bound float64) {
	switch l.RowKind() {
	case RowSoftMax: // |softmax - e_y| ≤ √2
		return math.Sqrt2 * l.Multiple, l.Multiple * (math.Log(float64(outputs)) + 2*b)
	case RowHinge:
		return math.Sqrt2, 1 + 2*b
	}
	return l.Lipschitz(b) * math.Sqrt(float64(outputs)), l.Bound(b) * float64(outputs)
}

// Row returns the loss of a row of class y, and adds a times its derivative to d unless that is
// nil. under selects the line below the loss that was relaxed; see Pointwise.Under. space has room
// for two rows.
func (l *Pointwise) Row(kind RowKind, row []float64, y int, a float64, d []float64, under bool,
	space []float64) float64 {
	switch kind {
	case RowSoftMax:
		most, z := slices.Max(row), 0.0
		for _, v := range row {
			z += math.Exp(v - most)
		}
		if d != nil {
			for c, v := range row {
				d[c] += a * l.Multiple * math.Exp(v-most) / z
			}
			d[y] -= a * l.Multiple
		}
		return l.Multiple * (most + math.Log(z) - row[y])
	case RowHinge:
		if l.Width > 0 {
			return l.smoothRow(row, y, a, d, under, space)
		}
		best := -1
		for c, v := range row {
			if c != y && (best < 0 || v > row[best]) {
				best = c
			}
		}
		v := 1 + row[best] - row[y]
		if !(v > 0) {
			return 0
		}
		if d != nil {
			d[best] += a
			d[y] -= a
		}
		return v
	}
	at, sum := l.At, 0.0
	if under && l.Under != nil {
		at = l.Under
	}
	for c, v := range row {
		target := 0.0
		if c == y {
			target = 1
		}
		if l.Margin {
			target = 2*target - 1
		}
		value, slope := at(v, target)
		sum += value
		if d != nil {
			d[c] += a * slope
		}
	}
	return sum
}

// smoothRow is the hinge of a row with its maximum smoothed (Yu. Nesterov, "Smooth minimization of
// non-smooth functions", Math. Programming 103, 2005). For z_y = 0 and z_c = 1 + s_c - s_y it is
// the largest ⟨p, z⟩ - width/2 |p|² over the p of the simplex, at most width/2 below the largest
// z_c. With under it is ⟨p, z⟩ for that p: linear in the scores, and nowhere above the largest z_c.
// It adds a times the derivative p to d unless that is nil.
func (l *Pointwise) smoothRow(row []float64, y int, a float64, d []float64, under bool,
	space []float64) float64 {
	z, p := space[:len(row)], space[len(row):2*len(row)]
	most := 0.0
	for c, v := range row {
		z[c] = 1 + v - row[y]
		if c == y {
			z[c] = 0
		}
		most = math.Max(most, z[c])
	}
	if optim.FirstNotFinite(z) >= 0 {
		return math.Inf(1) // solvers turn back from there
	}
	for c, v := range z { // only differences matter, and large numbers lose them
		p[c] = (v - most) / l.Width
	}
	optim.Simplex{}.Project(p)
	value, sq := 0.0, 0.0
	for c, q := range p {
		value, sq = value+q*z[c], sq+q*q
		if d != nil {
			d[c] += a * q
			d[y] -= a * q
		}
	}
	if !under {
		value -= l.Width / 2 * sq
	}
	return value
}
