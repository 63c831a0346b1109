package losses

import (
	"fmt"

	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// Tensor is a view of a flat array of numbers by example, position and window, as arrays of other
// languages are laid out. It holds potentials θ, or the gradient with respect to them. Strides
// count elements. Element (b, t, w) is Data[b*BatchStride + t*RowStride + w].
//
// Row t of an example is laid out as Potentials.Theta[t]. Order q has alphabet^q windows. Positions
// before q-1, whose windows are shorter, use the first alphabet^(t+1) of them. Rows after the end
// of an example are padding.
type Tensor[F float32 | float64] struct {
	Data                  []F
	Batch, Length, Window int // the shape; all examples have room for Length positions
	BatchStride           int // 0 is Length rows
	RowStride             int // 0 is Window
}

// strides returns the strides with their defaults in place.
func (x *Tensor[F]) strides() (batch, row int) {
	if row = x.RowStride; row == 0 {
		row = x.Window
	}
	if batch = x.BatchStride; batch == 0 {
		batch = x.Length * row
	}
	return batch, row
}

// Row returns row t of example b, without its stride's rest.
func (x *Tensor[F]) Row(b, t int) []F {
	batch, row := x.strides()
	at := b*batch + t*row
	return x.Data[at : at+x.Window]
}

// check returns what is wrong with the shape.
func (x *Tensor[F]) check(name string) error {
	batch, row := x.strides()
	switch {
	case x.Batch < 0 || x.Length < 0 || x.Window < 0:
		return fmt.Errorf("losses: %s: the shape [%d, %d, %d] has a negative size", name, x.Batch, x.Length,
			x.Window)
	case row < x.Window:
		return fmt.Errorf("losses: %s: the row stride %d is below the row's %d windows: rows would overlap",
			name, row, x.Window)
	case x.Length > 0 && x.Batch > 1 && int64(batch) < int64(x.Length-1)*int64(row)+int64(x.Window):
		return fmt.Errorf("losses: %s: the batch stride %d is below an example's %d rows of %d: examples "+
			"would overlap", name, batch, x.Length, row)
	case x.Batch == 0 || x.Length == 0:
		return nil
	}
	need := float64(x.Batch-1)*float64(batch) + float64(x.Length-1)*float64(row) + float64(x.Window)
	if float64(len(x.Data)) < need {
		return fmt.Errorf("losses: %s: shape [%d, %d, %d] with strides %d and %d needs %.0f numbers, there "+
			"are %d", name, x.Batch, x.Length, x.Window, batch, row, need, len(x.Data))
	}
	return nil
}

// Potentials sets p to the first length positions of example b, over alphabet labels, reusing
// its memory. Numbers are copied, so that p stays when x changes.
func (x *Tensor[F]) Potentials(p *Potentials, b, length, alphabet, order int) error {
	if err := x.check("potentials"); err != nil {
		return err
	}
	if b < 0 || b >= x.Batch {
		return fmt.Errorf("losses: example %d of a batch of %d", b, x.Batch)
	}
	if err := windowsOf(x.Window, alphabet, order); err != nil {
		return err
	}
	if length < 0 || length > x.Length {
		return fmt.Errorf("losses: example %d: length %d, but the tensor has %d positions", b, length,
			x.Length)
	}
	x.copyTo(p, b, length, alphabet, order)
	return nil
}

// windowsOf checks that rows of the given number of windows are those of an order.
func windowsOf(windows, alphabet, order int) error {
	if order < 1 || order > 3 {
		return fmt.Errorf("losses: order %d: 1, 2 and 3 are supported", order)
	}
	if alphabet < 1 {
		return fmt.Errorf("losses: an alphabet of %d labels: there must be at least one", alphabet)
	}
	n := 1.0
	for range order {
		n *= float64(alphabet)
	}
	if float64(windows) != n {
		return fmt.Errorf("losses: rows have %d windows: order %d over %d labels has %.0f", windows, order,
			alphabet, n)
	}
	return nil
}

func (x *Tensor[F]) copyTo(p *Potentials, b, length, alphabet, order int) {
	p.Order = order
	p.Sizes = layered.Resize(p.Sizes, length)
	for t := range p.Sizes {
		p.Sizes[t] = alphabet
	}
	if cap(p.Theta) < length {
		p.Theta = append(p.Theta[:cap(p.Theta)], make([][]float64, length-cap(p.Theta))...)
	}
	p.Theta = p.Theta[:length]
	n := 1
	for t := range length {
		if t < order {
			n *= alphabet
		}
		p.Theta[t] = layered.Resize(p.Theta[t], n)
		for w, v := range x.Row(b, t)[:n] {
			p.Theta[t][w] = float64(v)
		}
	}
}
