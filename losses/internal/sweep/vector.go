package sweep

import (
	"math"

	"github.com/tropica-fst/tropica/losses/internal/features"
	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// rowArgs is what the kernels in assembly read; its layout is known there.
type rowArgs struct {
	start *uint32  // of the first row
	ctx   *uint32  // of entry 0
	arcs  *uint32  // of the first row
	p     *float64 // rows padded to whole vectors with zeros
	alpha *float64 // of entry 0
	next  *float64 // forward values of the next layer, or its backward values
	w     *float64
	v     *float64 // as long as a row of p, zero beyond the labels
	x     *float64 // shaped as p
	beta  *float64
	rows  int
	// classes of one label, then at most one class of tail labels
	single int
	tail   int
	shift  int
	mask   int
	stride int // bytes of a row of p
}

// rowKernels runs layers in vector registers. With at most 16 labels (as the kernels see them) the
// vector of flow stays in them. With more it goes 16 labels at a time. Rows are taken in pieces,
// since assembly cannot be preempted.
type rowKernels struct {
	args rowArgs
	v    []float64
	p, x []float64
}

const rowPiece = 4096

// fits reports whether the kernels can do the layer.
func (k *rowKernels) fits(gl *layered.GraphLayer) bool {
	if !features.Vectors || !gl.Trailing || gl.Narrow == nil || gl.Width != nil || gl.Labels == 0 ||
		len(gl.Ctx) == 0 {
		return false
	}
	// Padding potentials costs as much as two entries each.
	return gl.Labels <= 16 || len(gl.Ctx) > 2*gl.Contexts
}

// padded returns the row length of the kernel for n labels.
func padded(n int) int {
	if n > 16 {
		return (n + 15) &^ 15
	}
	return max(8, (n+3)&^3)
}

// prepare sets what forward and backward have in common.
func (k *rowKernels) prepare(s *step) {
	gl, p, a, w := s.gl, s.p.x, s.alpha.x, s.w.x
	n, m := gl.Labels, padded(gl.Labels)
	k.v = layered.Resize(k.v, m)
	k.args.stride = 8 * m
	if n == m {
		k.args.p = &p[0]
	} else {
		if need := gl.Contexts * m; len(k.p) < need {
			k.p = make([]float64, need)
		}
		for c := range gl.Contexts {
			row := k.p[c*m : (c+1)*m]
			copy(row, p[c*n:(c+1)*n])
			clear(row[n:])
		}
		k.args.p = &k.p[0]
	}
	k.args.ctx, k.args.alpha, k.args.w, k.args.v = &gl.Ctx[0], &a[0], &w[0], &k.v[0]
	k.args.shift, k.args.mask = int(gl.Shift), 1<<gl.Shift-1
	k.args.single, k.args.tail = gl.Classes, 0
	if gl.Single < gl.Classes {
		k.args.single, k.args.tail = gl.Classes-1, gl.Labels-gl.Classes+1
	}
}

// piece sets what differs between pieces of the rows from r on.
func (k *rowKernels) piece(gl *layered.GraphLayer, r int) {
	k.args.start = &gl.Start[r]
	k.args.arcs = &gl.Narrow[r*gl.Classes]
	k.args.rows = min(rowPiece, len(gl.Start)-1-r)
}

// forward is the function forward for layers that fit.
func (k *rowKernels) forward(s *step) {
	gl := s.gl
	k.prepare(s)
	k.args.next = &s.next.x[0]
	for r := 0; r < len(gl.Start)-1; r += rowPiece {
		k.piece(gl, r)
		switch padded(gl.Labels) {
		case 8:
			forwardRows8(&k.args)
		case 12:
			forwardRows12(&k.args)
		case 16:
			forwardRows16(&k.args)
		default:
			forwardRowsN(&k.args)
		}
	}
	k.args = rowArgs{} // keeps no machine alive
}

// backward is the function backward for layers that fit.
func (k *rowKernels) backward(s *step) {
	gl, x := s.gl, s.flow.x
	n, m := gl.Labels, padded(gl.Labels)
	k.prepare(s)
	k.args.next, k.args.beta = &s.next.x[0], &s.beta.x[0]
	clear(k.v)
	if n == m {
		k.args.x = &x[0]
	} else {
		if need := gl.Contexts * m; len(k.x) < need {
			k.x = make([]float64, need)
		}
		clear(k.x[:gl.Contexts*m])
		k.args.x = &k.x[0]
	}
	for r := 0; r < len(gl.Start)-1; r += rowPiece {
		k.piece(gl, r)
		switch m {
		case 8:
			backwardRows8(&k.args)
		case 12:
			backwardRows12(&k.args)
		case 16:
			backwardRows16(&k.args)
		default:
			backwardRowsN(&k.args)
		}
	}
	k.args = rowArgs{}
	if n != m {
		for c := range gl.Contexts {
			copy(x[c*n:(c+1)*n], k.x[c*m:])
		}
	}
}

// ExpShifted sets dst to exp(src - shift); what is below exp(-708) may be 0. A
// quarter of the cost of an evaluation on words was math.Exp (10 ns each; 1.5
// in vectors).
func ExpShifted(dst, src []float64, shift float64) {
	n := 0
	if features.Vectors {
		if n = len(src) &^ 3; n > 0 {
			expVector(&dst[0], &src[0], n, shift)
		}
	}
	for i, x := range src[n:] {
		dst[n+i] = math.Exp(x - shift)
	}
}

// RangeOf returns the least value that is not -Inf, the greatest, and whether
// there is a NaN or +Inf.
func RangeOf(row []float64) (lo, hi float64, bad bool) {
	lo, hi = math.Inf(1), math.Inf(-1)
	n := 0
	if features.Vectors {
		if n = len(row) &^ 3; n > 0 {
			lo, hi, bad = rangeVector(&row[0], n)
		}
	}
	for _, x := range row[n:] {
		switch {
		case !(x <= math.MaxFloat64):
			bad = true
		case x >= -math.MaxFloat64:
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	return lo, hi, bad
}
