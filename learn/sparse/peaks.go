package sparse

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// bar is abar(z, w) = Σ λ_n k(x_n, z; w), of the samples whose multiplier is not 0.
type bar struct {
	f      Family
	dim    int
	x      []float64
	lambda []float64
}

func newBar(p *Problem, s *Solution) *bar {
	b := &bar{f: s.Family, dim: p.Dim}
	least := 1e-12 * optim.MaxAbs(s.Lambda)
	for i, l := range s.Lambda {
		if math.Abs(l) > least {
			b.x = append(b.x, p.X[i*p.Dim:][:p.Dim]...)
			b.lambda = append(b.lambda, l)
		}
	}
	return b
}

// at returns abar, and adds its derivatives by z to dz, unless that is nil.
func (b *bar) at(z []float64, w float64, dz []float64) (value, dw float64) {
	for n, l := range b.lambda {
		x, sq := b.x[n*b.dim:][:b.dim], 0.0
		for j, v := range x {
			sq += (v - z[j]) * (v - z[j])
		}
		if dz == nil {
			value += l * b.f.Value(sq, w)
			continue
		}
		k, bySquare, byWidth := b.f.Slopes(sq, w)
		value += l * k
		dw += l * byWidth
		for j, v := range x {
			dz[j] += 2 * l * bySquare * (z[j] - v)
		}
	}
	return value, dw
}

// Peak is a maximum of |abar|: a kernel of a discrete model.
type Peak struct {
	Center []float64
	Width  float64
	Value  float64 // abar
	Edge   bool    // on the boundary of the domain: a larger one may have a higher peak
}

// Peaks returns the maxima of |abar| within the support, the highest first. On a grid these are
// cells above their neighbours, of candidates the best width of each centre in use, of samples all
// cells in use. Unless fixed, each is then moved to the exact maximum by projected ascent within
// the domain. Of peaks closer than half a width one stays. The error is that of a cancelled
// context.
func (s *Solution) Peaks(ctx context.Context, p *Problem, fixed bool, workers int) ([]Peak, error) {
	b := newBar(p, s)
	var cells []int
	switch {
	case s.Cells.Shape != nil:
		cells = s.gridPeaks(b)
	case s.Cells.Per > 1:
		for from := 0; from < len(s.Alpha); from += s.Cells.Per {
			best := from
			for g := from; g < from+s.Cells.Per; g++ {
				if math.Abs(s.Alpha[g]) > math.Abs(s.Alpha[best]) {
					best = g
				}
			}
			if s.Alpha[best] != 0 {
				cells = append(cells, best)
			}
		}
	default:
		for g, a := range s.Alpha {
			if a != 0 {
				cells = append(cells, g)
			}
		}
	}
	peaks := make([]Peak, len(cells))
	err := run.Each(workers, len(cells), func(_, i int) error {
		c := Peak{Center: slices.Clone(s.Cells.at(cells[i])), Width: s.Cells.Width[cells[i]]}
		c.Value, _ = b.at(c.Center, c.Width, nil)
		if !fixed {
			b.climb(ctx, &c, &s.Cells.Domain)
		}
		peaks[i] = c
		return interrupted(ctx)
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(peaks, func(a, b Peak) int {
		return cmp.Compare(math.Abs(b.Value), math.Abs(a.Value))
	})
	if fixed {
		return peaks, nil
	}
	var out []Peak
	for _, c := range peaks {
		if !slices.ContainsFunc(out, func(o Peak) bool { return same(&c, &o) }) {
			out = append(out, c)
		}
	}
	return out, nil
}

// same tells peaks that are one: of the same sign, with centres within half a width, and
// widths within a factor of 1.5 or so.
func same(a, b *Peak) bool {
	if a.Value*b.Value < 0 {
		return false
	}
	sq := 0.0
	for j, v := range a.Center {
		sq += (v - b.Center[j]) * (v - b.Center[j])
	}
	w, l := math.Min(a.Width, b.Width), math.Log(a.Width/b.Width)
	return sq/(w*w)+l*l < 0.25
}

// gridPeaks returns the cells in use whose |abar| no neighbour exceeds; of equal ones the first.
func (s *Solution) gridPeaks(b *bar) []int {
	shape := s.Cells.Shape
	stride := make([]int, len(shape))
	for j, n := len(shape)-1, 1; j >= 0; j-- {
		stride[j] = n
		n *= shape[j]
	}
	// Cells in use in part know their abar no better than by computing it.
	value := make([]float64, len(s.Alpha))
	for g, a := range s.Alpha {
		if a != 0 {
			v, _ := b.at(s.Cells.at(g), s.Cells.Width[g], nil)
			value[g] = math.Abs(v)
		}
	}
	var out []int
	at, by := make([]int, len(shape)), make([]int, len(shape))
	for g, v := range value {
		if v == 0 {
			continue
		}
		for j := range shape {
			at[j] = g / stride[j] % shape[j]
			by[j] = -1
		}
		top := true
		for top {
			o, inside := 0, true
			for j, d := range by {
				c := at[j] + d
				inside = inside && c >= 0 && c < shape[j]
				o += c * stride[j]
			}
			if inside && o != g && (value[o] > v || value[o] == v && o < g) {
				top = false
			}
			j := 0
			for ; j < len(by); j++ { // the next neighbour
				if by[j]++; by[j] <= 1 {
					break
				}
				by[j] = -1
			}
			if j == len(by) {
				break
			}
		}
		if top {
			out = append(out, g)
		}
	}
	return out
}

// climb moves a peak to a maximum of |abar| in the domain. Centres count in widths, and widths by
// their logarithms.
func (b *bar) climb(ctx context.Context, c *Peak, d *Domain) {
	dim, unit := b.dim, c.Width
	sign := math.Copysign(1, c.Value)
	height := math.Abs(c.Value)
	if height == 0 {
		return
	}
	z := make([]float64, dim)
	f := optim.Func{N: dim + 1, F: func(x, grad []float64) (float64, error) {
		w := unit * math.Exp(x[dim])
		for j := range z {
			z[j] = c.Center[j] + x[j]*unit
		}
		if grad == nil {
			v, _ := b.at(z, w, nil)
			return -sign * v / height, nil
		}
		clear(grad)
		v, dw := b.at(z, w, grad[:dim])
		for j := range dim {
			grad[j] *= -sign * unit / height
		}
		grad[dim] = -sign * dw * w / height
		return -sign * v / height, nil
	}}
	lo, hi := make([]float64, dim+1), make([]float64, dim+1)
	for j, v := range c.Center {
		lo[j], hi[j] = (d.Lo[j]-v)/unit, (d.Hi[j]-v)/unit
	}
	lo[dim], hi[dim] = math.Log(d.WLo/unit), math.Log(d.WHi/unit)
	set := optim.Box{Lo: lo, Hi: hi}
	r, err := optim.Proximal{}.Minimize(optim.Within(f, set), make([]float64, dim+1),
		&run.Control{Ctx: ctx, Stop: run.Stop{Iterations: 300, Relative: 1e-13}})
	if err != nil {
		return // where it was found, which is a peak of cells
	}
	for j := range c.Center {
		c.Center[j] += r.X[j] * unit
		c.Edge = c.Edge || r.X[j] <= lo[j] || r.X[j] >= hi[j]
	}
	c.Width *= math.Exp(r.X[dim])
	if d.WHi > d.WLo {
		c.Edge = c.Edge || r.X[dim] <= lo[dim] || r.X[dim] >= hi[dim]
	}
	c.Value, _ = b.at(c.Center, c.Width, nil)
}
