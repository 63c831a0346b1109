package layered

import (
	"context"
	"fmt"
	"math"
)

// Limits bound what a construction may take. The zero value is no bound.
type Limits struct {
	Ctx     context.Context // nil is none
	Columns int             // most columns of a machine, all layers together; 0 is no bound
	Bytes   int64           // most bytes, as estimated while building; 0 is no bound
}

// Oversize reports a machine that would be larger than its limits. The fields are those of
// losses.BudgetError.
type Oversize struct {
	Columns       int
	Bytes, Limit  int64
	Length, Layer int
}

// Error says where the build stopped.
func (e *Oversize) Error() string {
	return fmt.Sprintf("losses: layer %d of %d: %d columns, %d bytes of %d allowed", e.Layer, e.Length,
		e.Columns, e.Bytes, e.Limit)
}

// Over returns an *Oversize where a build of length l exceeds the limits at layer t, or the error
// of a context that is done. It returns nil while the build may continue.
func (b Limits) Over(l, t, columns int, bytes int64) error {
	switch {
	case b.Columns > 0 && columns > b.Columns:
		return &Oversize{Columns: columns, Bytes: bytes, Length: l, Layer: t}
	case b.Bytes > 0 && bytes > b.Bytes:
		return &Oversize{Columns: columns, Bytes: bytes, Limit: b.Bytes, Length: l, Layer: t}
	}
	return b.Stopped(l, t)
}

// Stopped returns the error of a context that is done.
func (b Limits) Stopped(l, t int) error {
	if b.Ctx != nil {
		if err := b.Ctx.Err(); err != nil {
			return fmt.Errorf("losses: stopped at position %d of %d: %w", t, l, err)
		}
	}
	return nil
}

// Outgrown returns the error of an exact build that is certain to exceed the bytes, as soon as that
// is known. Layer t+1 has the given number of columns, of the given number of bytes, and layer t
// the number before. Symbols are those of the alphabet, or classes of them.
//
// Columns grow until the middle of the shorter string, or two thirds of it over two symbols, ever
// more slowly. Here the logarithm of the growth falls in a straight line to 0 at the middle, or at
// .6. Later layers are not counted, or by half once a layer has enough columns to tell. That is
// less than all columns there are, mostly a fifth of them. Bands grow otherwise.
func (b Limits) Outgrown(l, m, symbols, t, before, columns, total int, column int64) error {
	peak := min(l, m) / 2
	if symbols <= 2 {
		peak = min(l, m) * 3 / 5
	}
	layers := peak - t - 1
	if columns < 1<<11 || layers <= 0 || columns <= before {
		return nil
	}
	growth := math.Log(float64(columns) / float64(before))
	ahead := 0.0
	for i := 1.0; i <= float64(layers); i++ {
		ahead += float64(columns) * math.Exp(growth*(i-i*i/float64(2*layers)))
	}
	if columns >= 1<<14 {
		ahead *= 1.5
	}
	all := float64(total) + ahead
	if size := all * float64(column); size > float64(b.Bytes) && b.Bytes > 0 {
		// How far beyond the budget is neither needed nor known.
		return &Oversize{Columns: total, Bytes: int64(min(size, 1000*float64(b.Bytes), 1<<62)),
			Limit: b.Bytes, Length: l, Layer: t + 1}
	}
	return nil
}

// WithGraph estimates the bytes of a layer with its graph of order 2 and the values of one sweep.
// Limits are to hold these as well.
func WithGraph(arcs, columns int) int64 { return 8*int64(arcs) + 32*int64(columns) }

// WithOwnGraph is WithGraph for a machine whose arcs are those of its graph.
func WithOwnGraph(arcs, columns int) int64 { return 4*int64(arcs) + 32*int64(columns) }
