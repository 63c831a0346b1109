package saddle

import (
	"math"

	"github.com/tropica-fst/tropica/learn/optim"
)

// Walls are the bounds that a Box of a Product has for single coordinates, such as biases. L-BFGS,
// which follows gradients without constraints, skips a coordinate that is at its wall and would
// cross it, until the gradient points back. This is an active set. A coordinate that crosses a wall
// meanwhile is projected afterwards, and then skipped.

// eachWall calls f for every coordinate that a Box of a Product bounds on both sides.
func eachWall(set optim.Set, f func(j int, lo, hi float64)) {
	p, _ := set.(optim.Product)
	from := 0
	for _, block := range p {
		if box, ok := block.Set.(optim.Box); ok && len(box.Lo) > 0 && len(box.Hi) > 0 {
			for i := range block.Dim {
				f(from+i, box.Lo[min(i, len(box.Lo)-1)], box.Hi[min(i, len(box.Hi)-1)])
			}
		}
		from += block.Dim
	}
}

// walled reports whether set has walls.
func walled(set optim.Set) (yes bool) {
	eachWall(set, func(int, float64, float64) { yes = true })
	return yes
}

// wallsAt returns the coordinates of w that are at a wall, where -grad points out.
func wallsAt(set optim.Set, w, grad []float64) (held []int) {
	eachWall(set, func(j int, lo, hi float64) {
		near := 1e-9 * math.Max(math.Abs(lo), math.Abs(hi))
		if w[j] <= lo+near && grad[j] > 0 || w[j] >= hi-near && grad[j] < 0 {
			held = append(held, j)
		}
	})
	return held
}

// leave makes the gradient say nothing of coordinates that are left alone.
func leave(held []int, grad []float64) {
	for _, j := range held {
		grad[j] = 0
	}
}
