package multi

import (
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/linear"
)

// FirstComponent returns the projection of every row on the first principal component of the rows'
// standardised columns, and its share of the variance. Levels of categorical columns are columns of
// 0 and 1. It uses power iteration from a fixed start, until the direction turns by less than 1e-7
// or 300 times. The sign makes the entry of largest size positive. Memory is four bytes a cell,
// less where most are zero.
func FirstComponent(x *table.Table, workers int) (projection []float64, share float64, err error) {
	if x == nil {
		return nil, 0, fmt.Errorf("multi: principal component: %w: there is no table", boost.ErrData)
	}
	if x.Rows < 2 {
		return nil, 0, fmt.Errorf("multi: principal component: %w: %d rows", boost.ErrData, x.Rows)
	}
	w := make([]float64, x.Rows)
	for i := range w {
		w[i] = 1 / float64(x.Rows)
	}
	fs := linear.Features(x, w, workers)
	if len(fs) == 0 {
		return nil, 0, fmt.Errorf("multi: principal component: %s: %w: all columns are constant",
			x.Title(), boost.ErrData)
	}
	total := 0.0
	for j := range fs {
		// Rare columns too are centred here, and count with their own variance.
		f := &fs[j]
		if f.Mean == 0 && f.Scale == 1 {
			mean, sq := 0.0, 0.0
			for i := range x.Rows {
				v := f.Cell(x, i)
				mean += v * w[i]
				sq += v * v * w[i]
			}
			f.Mean = mean
			total += sq - mean*mean
		} else {
			total++
		}
	}
	d, shift := linear.NewDesign(x, fs, workers), linear.Shifts(fs)
	v := make([]float64, len(fs))
	for j := range v {
		v[j] = 1 + float64(j%7)/7 // of no symmetry that data would have
	}
	scale(v, 1/math.Sqrt(dot(v, v)))
	projection = make([]float64, x.Rows)
	parts := make([][]float64, blocksOf(x.Rows))
	for range 300 {
		project(d, shift, v, projection, workers)
		next := make([]float64, len(v))
		forBlocks(workers, x.Rows, func(block, from, to int) {
			if parts[block] == nil {
				parts[block] = make([]float64, len(v))
			}
			clear(parts[block])
			for i := from; i < to; i++ {
				d.Add(parts[block], i, projection[i:i+1])
			}
		})
		sum := 0.0
		for _, s := range projection {
			sum += s
		}
		for _, p := range parts {
			for j, g := range p {
				next[j] += g
			}
		}
		for j := range next {
			next[j] -= shift[j] * sum
		}
		size := math.Sqrt(dot(next, next))
		if size == 0 {
			break
		}
		scale(next, 1/size)
		turned := 0.0
		for j := range v {
			turned += (next[j] - v[j]) * (next[j] - v[j])
		}
		v = next
		if turned < 1e-14 {
			break
		}
	}
	top := 0
	for j := range v {
		if math.Abs(v[j]) > math.Abs(v[top]) {
			top = j
		}
	}
	if v[top] < 0 {
		scale(v, -1)
	}
	project(d, shift, v, projection, workers)
	return projection, dot(projection, projection) / float64(x.Rows) / total, nil
}

func project(d *linear.Design, shift, v, out []float64, workers int) {
	base := -dot(shift, v)
	forBlocks(workers, len(out), func(_, from, to int) {
		for i := from; i < to; i++ {
			out[i] = base
			d.Times(out[i:i+1], i, v)
		}
	})
}

func scale(v []float64, by float64) {
	for i := range v {
		v[i] *= by
	}
}
