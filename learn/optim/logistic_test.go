package optim_test

import (
	"math"
	"math/rand/v2"

	"github.com/tropica-fst/tropica/learn/optim"
)

// logistic is the sum of log(1+exp(-y ⟨w,x⟩)) over sparse examples.
type logistic struct {
	dim int
	at  [][]int
	val [][]float64
	y   []float64
	err map[int]error // by example
}

func newLogistic(seed uint64, dim, n, k int) *logistic {
	rng := rand.New(rand.NewPCG(seed, 3))
	l := &logistic{dim: dim}
	for range n {
		var at []int
		var val []float64
		score := 0.0
		for range k {
			j := int(float64(dim) * math.Pow(rng.Float64(), 2))
			v := rng.NormFloat64()
			at, val = append(at, j), append(val, v)
			score += v * math.Sin(float64(j))
		}
		y := 1.0
		if score+rng.NormFloat64() < 0 {
			y = -1
		}
		l.at, l.val, l.y = append(l.at, at), append(l.val, val), append(l.y, y)
	}
	return l
}

func (l *logistic) Dim() int             { return l.dim }
func (l *logistic) Len() int             { return len(l.y) }
func (l *logistic) Worker() optim.Worker { return l }
func (l *logistic) Support(i int, visit func(at, n int)) {
	for _, j := range l.at[i] {
		visit(j, 1)
	}
}

func (l *logistic) Eval(i int, x []float64, g *optim.Gradient) (float64, error) {
	if l.err[i] != nil {
		return 0, l.err[i]
	}
	s := 0.0
	for k, j := range l.at[i] {
		s += x[j] * l.val[i][k]
	}
	s *= l.y[i]
	if g != nil {
		c := -l.y[i] / (1 + math.Exp(s))
		for k, j := range l.at[i] {
			if k%2 == 0 {
				g.Add(j, c*l.val[i][k])
			} else {
				g.AddRow(j, []float64{c * l.val[i][k]})
			}
		}
	}
	if s < -30 {
		return -s, nil
	}
	return math.Log1p(math.Exp(-s)), nil
}
