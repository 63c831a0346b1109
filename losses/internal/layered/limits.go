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
	// Likely refuses what is likely to exceed the bytes, and not only what is certain to.
	Likely bool
}

// Oversize reports a machine that would be larger than its limits. The fields are those of
// losses.BudgetError.
type Oversize struct {
	Columns       int
	Bytes, Limit  int64
	Length, Layer int
	Likely        bool // Bytes is what the machine would likely take
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

// Outgrown returns the error of an exact build that is certain, or likely, to exceed the bytes, as
// soon as that is known. Layer t+1 has the given number of columns, of the given number of bytes,
// and layer t the number before. Symbols are those of the alphabet, or classes of them.
//
// Columns grow until the middle of the shorter string, or two thirds of it over two symbols, ever
// more slowly. Here the logarithm of the growth falls in a straight line to 0 at that peak. The
// certain size ends there, with an early peak: it is mostly a fifth of all columns. The likely
// size goes on beyond the peak, to the end: it is .7 to 1.3 times all columns for half of the
// random references, and at most twice. Bands grow otherwise.
func (b Limits) Outgrown(l, m, symbols, t, before, columns, total int, column int64) error {
	if b.Bytes <= 0 || columns < 1<<11 || columns <= before {
		return nil
	}
	growth := math.Log(float64(columns) / float64(before))
	over := func(ahead float64, likely bool) error {
		size := (float64(total) + ahead) * float64(column)
		if ahead == 0 || size <= float64(b.Bytes) {
			return nil
		}
		// How far beyond the budget is neither needed nor known.
		return &Oversize{Columns: total, Bytes: int64(min(size, 1000*float64(b.Bytes), 1<<62)),
			Limit: b.Bytes, Length: l, Layer: t + 1, Likely: likely}
	}
	if err := over(certain(min(l, m), symbols, t, columns, growth), false); err != nil {
		return err
	}
	if !b.Likely || columns < 1<<12 {
		return nil
	}
	// Estimates are best from the first layers: near the peak growth falls faster.
	slack := 1.1
	if total > 1<<18 {
		slack = 1.6
	}
	return over(expected(l, min(l, m), symbols, t, columns, growth)/slack, true)
}

// certain returns a number of columns behind layer t+1 that exact builds exceed.
func certain(short, symbols, t, columns int, growth float64) float64 {
	peak := short / 2
	if symbols <= 2 {
		peak = short * 3 / 5
	}
	layers := peak - t - 1
	ahead := 0.0
	for i := 1.0; i <= float64(layers); i++ {
		ahead += float64(columns) * math.Exp(growth*(i-i*i/float64(2*layers)))
	}
	if columns >= 1<<14 {
		ahead *= 1.5
	}
	return ahead
}

// expected estimates the number of columns behind layer t+1, by peaks fitted to random references.
func expected(l, short, symbols, t, columns int, growth float64) float64 {
	share := .57
	switch {
	case symbols <= 2:
		share = .66
	case symbols == 3:
		share = .62
	case symbols == 4:
		share = .60
	}
	layers := share*float64(short) - float64(t+1)
	if layers < .5 {
		return 0
	}
	ahead := 0.0
	for i := 1.0; i <= float64(l-t-1); i++ {
		ahead += float64(columns) * math.Exp(growth*(i-i*i/(2*layers)))
	}
	return ahead
}

// WithGraph estimates the bytes of a layer with its graph of order 2 and the values of one sweep.
// Limits are to hold these as well.
func WithGraph(arcs, columns int) int64 { return 8*int64(arcs) + 32*int64(columns) }

// WithOwnGraph is WithGraph for a machine whose arcs are those of its graph.
func WithOwnGraph(arcs, columns int) int64 { return 4*int64(arcs) + 32*int64(columns) }
