package optim

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/run"
)

// Plane is the affine function ⟨a, ·⟩ + B. Where most of a is zero, At has the places of
// Values; else At is nil.
type Plane struct {
	At     []int32
	Values []float64
	B      float64
	Task   int // whose risk it is below; 0 where there is one
}

// NewPlane makes a plane, and copies a. O(len(a)).
func NewPlane(a []float64, b float64) Plane {
	nonzero := 0
	for _, v := range a {
		if v != 0 {
			nonzero++
		}
	}
	if nonzero > len(a)/3 {
		return Plane{Values: slices.Clone(a), B: b}
	}
	p := Plane{At: make([]int32, 0, nonzero), Values: make([]float64, 0, nonzero), B: b}
	for j, v := range a {
		if v != 0 {
			p.At, p.Values = append(p.At, int32(j)), append(p.Values, v)
		}
	}
	return p
}

// Dot returns ⟨a, w⟩.
func (p *Plane) Dot(w []float64) float64 {
	if p.At == nil && len(p.Values) > 0 {
		return floats.Dot(p.Values, w)
	}
	v := 0.0
	for i, j := range p.At {
		v += p.Values[i] * w[j]
	}
	return v
}

// Value returns ⟨a, w⟩ + B.
func (p *Plane) Value(w []float64) float64 { return p.Dot(w) + p.B }

// AddTo adds scale·a to dst.
func (p *Plane) AddTo(dst []float64, scale float64) {
	if p.At == nil && len(p.Values) > 0 {
		floats.AddScaled(dst, scale, p.Values)
		return
	}
	for i, j := range p.At {
		dst[j] += scale * p.Values[i]
	}
}

func (p *Plane) fits(n int) bool {
	if len(p.At) == 0 {
		return len(p.Values) == n || len(p.Values) == 0
	}
	return len(p.At) == len(p.Values) && p.At[0] >= 0 && int(p.At[len(p.At)-1]) < n
}

// Cuts are planes that lie below a risk everywhere. They stay valid when the rest of an
// objective changes, and so are worth keeping for the next problem. The zero value has none.
type Cuts struct {
	Planes []Plane

	gram [][]float64 // inner products, lower triangle
}

// Add appends a plane of dim coordinates. O(dim) and what is not zero in all planes.
func (c *Cuts) Add(p Plane, dim int) {
	row := make([]float64, len(c.Planes)+1)
	dense := p.Values
	if len(p.Values) != dim {
		dense = make([]float64, dim)
		p.AddTo(dense, 1)
	}
	for k := range c.Planes {
		row[k] = c.Planes[k].Dot(dense)
	}
	row[len(c.Planes)] = p.Dot(dense)
	c.Planes, c.gram = append(c.Planes, p), append(c.gram, row)
}

// keep drops all planes but those given, in ascending order.
func (c *Cuts) keep(which []int) {
	out := Cuts{}
	for _, i := range which {
		row := make([]float64, 0, len(out.Planes)+1)
		for _, j := range which[:len(out.Planes)+1] {
			row = append(row, c.gram[i][j])
		}
		out.Planes, out.gram = append(out.Planes, c.Planes[i]), append(out.gram, row)
	}
	*c = out
}

// store puts the planes into a checkpoint.
func (c *Cuts) store(k *run.Checkpoint) {
	var size, at, slopes, heights, tasks []float64
	for i := range c.Planes {
		p := &c.Planes[i]
		n := float64(len(p.Values))
		if p.At == nil && len(p.Values) > 0 {
			n = -n
		}
		size, heights, tasks = append(size, n), append(heights, p.B), append(tasks, float64(p.Task))
		for _, j := range p.At {
			at = append(at, float64(j))
		}
		slopes = append(slopes, p.Values...)
	}
	k.Arrays["plane sizes"], k.Arrays["plane places"], k.Arrays["plane slopes"] = size, at, slopes
	k.Arrays["plane heights"], k.Arrays["plane tasks"] = heights, tasks
}

// restoreCuts reads what store has put into a checkpoint, of planes of n coordinates.
func restoreCuts(k *run.Checkpoint, n, tasks int) (*Cuts, error) {
	size, at, slopes := k.Arrays["plane sizes"], k.Arrays["plane places"], k.Arrays["plane slopes"]
	heights, of := k.Arrays["plane heights"], k.Arrays["plane tasks"]
	bad := fmt.Errorf("optim: %s: %w: its planes do not fit", k.Solver, run.ErrOther)
	if len(heights) != len(size) || len(of) != len(size) {
		return nil, bad
	}
	c := &Cuts{}
	for i, s := range size {
		p := Plane{B: heights[i], Task: int(of[i])}
		m := int(max(s, -s))
		if m > len(slopes) || p.Task < 0 || p.Task >= tasks {
			return nil, bad
		}
		p.Values, slopes = slices.Clone(slopes[:m]), slopes[m:]
		if s > 0 {
			if m > len(at) {
				return nil, bad
			}
			last := int32(-1)
			for _, v := range at[:m] {
				j := int32(v)
				if j <= last || int(j) >= n {
					return nil, bad
				}
				p.At, last = append(p.At, j), j
			}
			at = at[m:]
		} else if m != n && m != 0 {
			return nil, bad
		}
		c.Add(p, n)
	}
	return c, nil
}
