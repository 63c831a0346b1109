package encoder

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
)

// BiLSTM runs long short-term memory over each sequence in both directions (S. Hochreiter and J.
// Schmidhuber, 1997, with forget gates: F. Gers et al., 2000). A row's outputs are those of the
// forward direction, then those of the backward one.
//
// Its parameters are, for each direction, the weights of the inputs, those of the units of the step
// before (both in rows of four blocks: input, forget and output gate, candidate), and the biases.
// They start uniform within 1/√units, but for the biases of the forget gates, which start at 1.
type BiLSTM[T Float] struct {
	in, units int
	x         []T
	y, dx     []T
	steps     steps
	sides     [2]side[T]
}

// NewBiLSTM returns a layer of units units in each direction.
func NewBiLSTM[T Float](inputs, units int) *BiLSTM[T] {
	positive("NewBiLSTM", inputs, units)
	return &BiLSTM[T]{in: inputs, units: units}
}

func (l *BiLSTM[T]) Dim() int     { return 2 * l.side() }
func (l *BiLSTM[T]) Inputs() int  { return l.in }
func (l *BiLSTM[T]) Outputs() int { return 2 * l.units }

// side is the number of parameters of a direction.
func (l *BiLSTM[T]) side() int { return 4 * l.units * (l.in + l.units + 1) }

func (l *BiLSTM[T]) parts(v []T, side int) (w, u, bias []T) {
	v = v[side*l.side() : (side+1)*l.side()]
	n, m := 4*l.units*l.in, 4*l.units*(l.in+l.units)
	return v[:n], v[n:m], v[m:]
}

// Start implements Layer.
func (l *BiLSTM[T]) Start(params []T, rng *rand.Rand) {
	for side := range 2 {
		w, u, bias := l.parts(params, side)
		for _, v := range [][]T{w, u, bias} {
			uniform(v, 1/math.Sqrt(float64(l.units)), rng)
		}
		for i := l.units; i < 2*l.units; i++ {
			bias[i] = 1
		}
	}
}

// steps orders rows by step: step s has the rows of all sequences longer than s, the longest
// sequence first. Rows From[s] to From[s+1] of that order are step s, and row k of a step continues
// row k of the step before.
type steps struct {
	order []int    // sequences, the longest first
	from  []int    // by step
	row   [2][]int // for each direction, the batch's row at each place of the order
}

func (s *steps) of(b *Batch) {
	n := len(b.Starts) - 1
	length := func(i int) int { return b.Starts[i+1] - b.Starts[i] }
	s.order = s.order[:0]
	for i := range n {
		s.order = append(s.order, i)
	}
	slices.SortStableFunc(s.order, func(i, j int) int { return length(j) - length(i) })
	s.from = append(s.from[:0], 0)
	s.row[0], s.row[1] = s.row[0][:0], s.row[1][:0]
	running := n
	for t := 0; ; t++ {
		for running > 0 && length(s.order[running-1]) <= t {
			running--
		}
		if running == 0 {
			return
		}
		for _, i := range s.order[:running] {
			s.row[0] = append(s.row[0], b.Starts[i]+t)
			s.row[1] = append(s.row[1], b.Starts[i+1]-1-t)
		}
		s.from = append(s.from, len(s.row[0]))
	}
}

// side is the work space of a direction, in the order of steps.
type side[T Float] struct {
	x, gates, c, th, h []T
	zero, dGates       []T
	dh, dc, dx, before []T
}

// Forward implements Layer.
func (l *BiLSTM[T]) Forward(params, x []T, b *Batch) []T {
	rows, n, g := b.Rows(), l.units, 4*l.units
	l.x, l.y = x, grown(l.y, rows*2*n)
	l.steps.of(b)
	for d := range l.sides {
		s := &l.sides[d]
		w, u, bias := l.parts(params, d)
		s.x, s.gates = grown(s.x, rows*l.in), grown(s.gates, rows*g)
		for k, r := range l.steps.row[d] {
			copy(s.x[k*l.in:(k+1)*l.in], x[r*l.in:])
		}
		fillRows(s.gates, bias)
		multiply(blas.NoTrans, blas.NoTrans, rows, g, l.in, s.x, w, 1, s.gates)
		s.c, s.th, s.h = grown(s.c, rows*n), grown(s.th, rows*n), grown(s.h, rows*n)
		s.zero = grown(s.zero, n)
		clear(s.zero)
		for t := range len(l.steps.from) - 1 {
			from, to := l.steps.from[t], l.steps.from[t+1]
			before := 0
			if t > 0 {
				before = l.steps.from[t-1]
				multiply(blas.NoTrans, blas.NoTrans, to-from, g, n, s.h[before*n:], u, 1, s.gates[from*g:to*g])
			}
			for k := from; k < to; k++ {
				cells := s.zero
				if t > 0 {
					at := before + k - from
					cells = s.c[at*n : (at+1)*n]
				}
				cell(s.gates[k*g:(k+1)*g], cells, s.c[k*n:(k+1)*n], s.th[k*n:(k+1)*n], s.h[k*n:(k+1)*n])
			}
		}
		for k, r := range l.steps.row[d] {
			copy(l.y[(2*r+d)*n:(2*r+d+1)*n], s.h[k*n:])
		}
	}
	return l.y
}

// Backward implements Layer.
func (l *BiLSTM[T]) Backward(params, dy, grad []T, b *Batch) []T {
	rows, n, g := b.Rows(), l.units, 4*l.units
	l.dx = grown(l.dx, rows*l.in)
	clear(l.dx)
	last := len(l.steps.from) - 2
	for d := range l.sides {
		s := &l.sides[d]
		w, u, _ := l.parts(params, d)
		dw, du, dBias := l.parts(grad, d)
		s.dGates, s.dh = grown(s.dGates, rows*g), grown(s.dh, rows*n)
		for k, r := range l.steps.row[d] {
			copy(s.dh[k*n:(k+1)*n], dy[(2*r+d)*n:])
		}
		s.dc = grown(s.dc, (len(b.Starts)-1)*n)
		clear(s.dc)
		for t := last; t >= 0; t-- {
			from, to := l.steps.from[t], l.steps.from[t+1]
			if t < last {
				next := l.steps.from[t+2]
				multiply(blas.NoTrans, blas.Trans, next-to, n, g, s.dGates[to*g:next*g], u, 1, s.dh[from*n:(from+next-to)*n])
			}
			for k := from; k < to; k++ {
				cells := s.zero
				if t > 0 {
					at := l.steps.from[t-1] + k - from
					cells = s.c[at*n : (at+1)*n]
				}
				cellBack(s.dGates[k*g:(k+1)*g], s.gates[k*g:(k+1)*g], cells, s.th[k*n:(k+1)*n],
					s.dh[k*n:(k+1)*n], s.dc[(k-from)*n:(k-from+1)*n])
			}
		}
		multiply(blas.Trans, blas.NoTrans, l.in, g, rows, s.x, s.dGates, 1, dw)
		addRows(dBias, s.dGates)
		if last > 0 {
			// One product for all steps, of the outputs of the steps before.
			first := l.steps.from[1]
			s.before = grown(s.before, (rows-first)*n)
			for t := 1; t <= last; t++ {
				before, from, to := l.steps.from[t-1], l.steps.from[t], l.steps.from[t+1]
				copy(s.before[(from-first)*n:], s.h[before*n:(before+to-from)*n])
			}
			multiply(blas.Trans, blas.NoTrans, n, g, rows-first, s.before, s.dGates[first*g:], 1, du)
		}
		s.dx = grown(s.dx, rows*l.in)
		multiply(blas.NoTrans, blas.Trans, rows, l.in, g, s.dGates, w, 0, s.dx)
		for k, r := range l.steps.row[d] {
			add(l.dx[r*l.in:(r+1)*l.in], s.dx[k*l.in:(k+1)*l.in])
		}
	}
	return l.dx
}
