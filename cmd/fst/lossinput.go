package main

import (
	"fmt"
	"math"
	"os"

	"github.com/tropica-fst/tropica/cmd/fst/internal/arctypes"
	"github.com/tropica-fst/tropica/cmd/internal/lossspec"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/losses"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// arcDirection reads v for a lattice. It is shaped as the marginals that are printed: a row for
// each state in the order of fst print, with a value for each of its arcs. The result is by state.
func (ev *evaluation) arcDirection() ([][]float64, error) {
	n := ev.lattice.NumStates()
	if len(ev.c.V) != n {
		return nil, fmt.Errorf("v has %d rows for the %d states of %s (it needs a row for each, in the order of "+
			"fst print, with a value for each arc)", len(ev.c.V), n, ev.c.Lattice)
	}
	v := make([][]float64, n)
	for i, q := range ev.printOrder(n) {
		row := ev.c.V[i]
		if arcs := len(ev.lattice.Arcs(fst.StateID(q))); len(row) != arcs {
			return nil, fmt.Errorf("v[%d] has %d values for the %d arcs of state %d of %s", i, len(row),
				arcs, q, ev.c.Lattice)
		}
		v[q] = make([]float64, len(row))
		for j, x := range row {
			if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
				return nil, fmt.Errorf("v[%d][%d] is %v, not a finite number", i, j, f)
			}
			v[q][j] = float64(x)
		}
	}
	return v, nil
}

// potentials checks theta, or makes it of tied weights.
func (c *lossCase) potentials(limit int64) (*losses.Potentials, error) {
	if c.q < 1 || c.q > 3 {
		return nil, fmt.Errorf("q = %d; orders are 1, 2 and 3", c.q)
	}
	const most = 1 << 20
	switch {
	case c.alphabet < 1 || c.alphabet > most:
		return nil, fmt.Errorf("an alphabet of %d symbols; it must have between 1 and %d", c.alphabet, most)
	case c.l < 0 || c.l > most:
		return nil, fmt.Errorf("strings of length %d; lengths are between 0 and %d", c.l, most)
	}
	theta := c.Theta
	if theta == nil && c.Tied {
		n := 1
		for s := range min(c.l, c.q-1) {
			if n *= c.alphabet; n > 1<<24 {
				return nil, fmt.Errorf("an alphabet of %d symbols has too many windows of %d", c.alphabet, s+1)
			}
			theta = append(theta, make([]lossspec.Number, n))
		}
		for len(theta) < c.l {
			theta = append(theta, c.W)
		}
	}
	rows, err := c.rows("theta", theta, limit)
	if err != nil {
		return nil, err
	}
	sizes := make([]int, c.l)
	for t := range sizes {
		sizes[t] = c.alphabet
	}
	return &losses.Potentials{Sizes: sizes, Order: c.q, Theta: rows}, nil
}

// rows checks the shape of what has a value a window.
func (c *lossCase) rows(name string, in [][]lossspec.Number, limit int64) ([][]float64, error) {
	if len(in) != c.l {
		return nil, fmt.Errorf("%s has %d rows for strings of length %d", name, len(in), c.l)
	}
	out := make([][]float64, len(in))
	n, total := 1, int64(0)
	for s, row := range in {
		if s < c.q && n <= len(row) { // beyond it, n would only overflow
			n *= c.alphabet
		}
		if len(row) != n {
			return nil, fmt.Errorf("%s[%d] has %d values for %d windows", name, s, len(row), n)
		}
		// Marginals and their text have as many; rows of tied weights are one.
		if total += int64(n) * 32; limit > 0 && total > limit {
			return nil, fmt.Errorf("%s has too many values for %d bytes: they and their marginals would take more "+
				"at row %d of %d: %w", name, limit, s, len(in), losses.ErrBudget)
		}
		if s > 0 && len(in[s-1]) == n && &in[s-1][0] == &row[0] {
			out[s] = out[s-1]
			continue
		}
		out[s] = make([]float64, n)
		for i, x := range row {
			out[s][i] = float64(x)
		}
	}
	return out, nil
}

// readAny reads a machine whose arc type is one of types.
func readAny(name string, types []string) (machine, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := fst.NewStream(f, &fst.ReadOptions{Name: name})
	h, err := s.ReadHeader()
	if err != nil {
		return nil, err
	}
	for _, t := range types {
		if h.ArcType == t {
			su, err := arctypes.Of(t)
			if err != nil {
				return nil, err
			}
			return su.Read(s, h)
		}
	}
	return nil, fmt.Errorf("%s: arc type %s is none of %v", name, h.ArcType, types)
}

// readOver reads a machine of one of the arc types, converted to W.
func readOver[W semiring.Weight[W]](name string, types ...string) (fst.Expanded[W], error) {
	m, err := readAny(name, types)
	if err != nil {
		return nil, err
	}
	return over[W](m)
}

// over converts a machine to W.
func over[W semiring.Weight[W]](m machine) (fst.Expanded[W], error) {
	switch f := m.(type) {
	case fst.Expanded[W]:
		return f, nil
	case fst.Expanded[semiring.Tropical]:
		return ops.Convert[W](f)
	case fst.Expanded[semiring.Tropical64]:
		return ops.Convert[W](f)
	case fst.Expanded[semiring.Log]:
		return ops.Convert[W](f)
	case fst.Expanded[semiring.Log64]:
		return ops.Convert[W](f)
	case fst.Expanded[semiring.Probability]:
		return ops.Convert[W](f)
	}
	return nil, fmt.Errorf("no conversion from %T is defined", m)
}
