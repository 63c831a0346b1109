package optim

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Norm is how large weights are counted.
type Norm string

// The norms of bundle methods.
const (
	L2 Norm = "l2" // half the squares
	L1 Norm = "l1" // the absolute values
)

// master is the model of an objective over points w¹ … w^D of n coordinates each, one for
// every task:
//
//	Ω(w¹, …, w^D) + Σ_d max_k (⟨a_k, w^d⟩ + b_k) + Σ_d ⟨v^d, w^d⟩,   k over the planes of task d.
//
// With the norm L2, Ω is half the quadratic form of the inverse of couple. The minimum is w^d =
// -Σ_e couple[d][e] s^e with s^e = v^e + Σ α_k a_k, where α solves the dual program. With L1 there
// is one task, and Ω = lambda |w|₁.
type master struct {
	n      int
	norm   Norm
	lambda float64     // of L1
	couple [][]float64 // of L2
	apart  [][]float64 // its inverse
	linear [][]float64 // v; entries may be nil
	keep   int         // planes of a task before some become one
	cuts   *Cuts
	alpha  []float64
	idle   []int       // how often in a row a plane had no share in the minimum
	next   [][]float64 // where the model is least
}

func newMaster(n, tasks, keep int, cuts *Cuts) (*master, error) {
	if keep == 0 {
		keep = 200
	}
	if cuts == nil {
		cuts = &Cuts{}
	}
	for i := range cuts.Planes {
		if p := &cuts.Planes[i]; !p.fits(n) || p.Task < 0 || p.Task >= tasks {
			return nil, fmt.Errorf("optim: bundle: plane %d does not fit %d coordinates and %d tasks", i, n, tasks)
		}
	}
	m := &master{n: n, norm: L2, keep: keep, cuts: cuts, linear: make([][]float64, tasks),
		alpha: make([]float64, len(cuts.Planes)),
		idle:  make([]int, len(cuts.Planes))}
	for range tasks {
		m.next = append(m.next, make([]float64, n))
	}
	return m, nil
}

// around is the objective at w beside the risks.
func (m *master) around(w [][]float64) float64 {
	v := 0.0
	for d := range w {
		if m.norm == L1 {
			v += m.lambda * floats.Norm(w[d], 1)
		} else {
			v += m.apart[d][d] / 2 * floats.Dot(w[d], w[d])
			for e := range d {
				v += m.apart[d][e] * floats.Dot(w[d], w[e])
			}
		}
		if m.linear[d] != nil {
			v += floats.Dot(m.linear[d], w[d])
		}
	}
	return v
}

// add appends a plane, without solving.
func (m *master) add(p Plane) {
	m.cuts.Add(p, m.n)
	m.alpha, m.idle = append(m.alpha, 0), append(m.idle, 0)
}

// solve finds the minimum of the model to within tol, stores its position, and returns a lower
// bound of it. The bound is the value of the dual, which holds for any α.
func (m *master) solve(tol float64) (lower float64, err error) {
	m.aggregate()
	if m.norm == L1 {
		return m.solveL1(tol)
	}
	tasks := len(m.next)
	// Planes by task, since the program has its blocks one after the other.
	order := make([]int, 0, len(m.cuts.Planes))
	blocks := make([]int, tasks)
	for d := range tasks {
		for i := range m.cuts.Planes {
			if m.cuts.Planes[i].Task == d {
				order = append(order, i)
				blocks[d]++
			}
		}
	}
	// Σ_e couple[d][e] v^e, what the linear parts move w^d by.
	shift := make([][]float64, tasks)
	constant := 0.0
	for d := range tasks {
		for e, v := range m.linear {
			if v == nil {
				continue
			}
			if shift[d] == nil {
				shift[d] = make([]float64, m.n)
			}
			floats.AddScaled(shift[d], m.couple[d][e], v)
		}
		if m.linear[d] != nil {
			constant += floats.Dot(m.linear[d], shift[d]) / 2
		}
	}
	k := len(order)
	q := &SimplexQP{H: make([][]float64, k), C: make([]float64, k), Blocks: blocks}
	alpha := make([]float64, k)
	for x, i := range order {
		p := &m.cuts.Planes[i]
		alpha[x], q.C[x] = m.alpha[i], p.B
		if s := shift[p.Task]; s != nil {
			q.C[x] -= p.Dot(s)
		}
		q.H[x] = make([]float64, x+1)
		for y, j := range order[:x+1] {
			q.H[x][y] = m.couple[p.Task][m.cuts.Planes[j].Task] * m.cuts.gram[max(i, j)][min(i, j)]
		}
	}
	if _, err := q.Maximize(alpha, tol); err != nil && !errors.Is(err, ErrSteps) {
		return 0, err
	}
	lower = q.Value(alpha) - constant
	for d := range tasks {
		clear(m.next[d])
		if shift[d] != nil {
			floats.AddScaled(m.next[d], -1, shift[d])
		}
	}
	for x, i := range order {
		m.alpha[i] = alpha[x]
		if alpha[x] == 0 {
			continue
		}
		p := &m.cuts.Planes[i]
		for d := range tasks {
			if c := m.couple[d][p.Task]; c != 0 {
				p.AddTo(m.next[d], -c*alpha[x])
			}
		}
	}
	m.forget()
	return lower, nil
}

// aggregate replaces planes beyond keep, task by task. Their mean weighted by α has the value of
// the dual, so that no bound is lost. The newest planes, and those of the largest α, are kept
// beside it.
func (m *master) aggregate() {
	for d := range m.next {
		var own []int
		for i := range m.cuts.Planes {
			if m.cuts.Planes[i].Task == d {
				own = append(own, i)
			}
		}
		if len(own) <= m.keep {
			continue
		}
		mean, height := make([]float64, m.n), 0.0
		for _, i := range own {
			m.cuts.Planes[i].AddTo(mean, m.alpha[i])
			height += m.alpha[i] * m.cuts.Planes[i].B
		}
		order := slices.Clone(own[:len(own)-1]) // but for the newest
		if m.norm == L1 {
			// The plane that starts the linear program stays.
			order = slices.DeleteFunc(order, func(i int) bool { return m.slope(&m.cuts.Planes[i]) <= 1e-9*m.lambda })
		}
		slices.SortStableFunc(order, func(x, y int) int {
			switch {
			case m.alpha[x] > m.alpha[y]:
				return -1
			case m.alpha[x] < m.alpha[y]:
				return 1
			}
			return y - x // the newer
		})
		gone := make([]bool, len(m.alpha))
		for _, i := range order[min(len(order), m.keep/2):] {
			gone[i] = true
		}
		for _, i := range own {
			m.alpha[i] = 0
		}
		m.drop(gone)
		p := NewPlane(mean, height)
		p.Task = d
		m.add(p)
		m.alpha[len(m.alpha)-1] = 1
	}
}

// patience is how often in a row a plane may have no share in the minimum before it is dropped.
const patience = 50

// forget drops planes that had no share in the minimum for long. The minimum is still the same.
func (m *master) forget() {
	gone, some := make([]bool, len(m.alpha)), false
	for i, a := range m.alpha {
		if m.idle[i]++; a > 0 {
			m.idle[i] = 0
		}
		gone[i] = m.idle[i] >= patience
		some = some || gone[i]
	}
	if some {
		m.drop(gone)
	}
}

// drop leaves out planes.
func (m *master) drop(gone []bool) {
	var stay, idle []int
	var alpha []float64
	for i, g := range gone {
		if !g {
			stay, alpha, idle = append(stay, i), append(alpha, m.alpha[i]), append(idle, m.idle[i])
		}
	}
	m.cuts.keep(stay)
	m.alpha, m.idle = alpha, idle
}

// slope returns the largest entry of the slope of a plane beside the linear part.
func (m *master) slope(p *Plane) float64 {
	row := make([]float64, m.n)
	copy(row, m.linear[p.Task])
	p.AddTo(row, 1)
	return MaxAbs(row)
}

// tight returns how exactly to solve a model: a fraction of the tolerance of a run, and nearly
// exactly while there is no point to compare with.
func tight(best, tolerance float64) float64 {
	if math.IsInf(best, 1) {
		return 1e-9
	}
	return 0.05 * tolerance
}
