package optim

import (
	"slices"

	"gonum.org/v1/gonum/floats"
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
