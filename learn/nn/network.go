package nn

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tropica-fst/tropica/learn/gemm"
)

// Float is what networks compute in.
type Float = gemm.Float

// Network is the shape of a feed-forward network: sizes[0] inputs, then dense
// layers of sizes[1], sizes[2], …, the last being the outputs. It is immutable.
type Network struct {
	sizes []int
	at    []int // where a layer's parameters start; the last is their number
}

// maxParameters bounds a network, and a batch of its activations, to what 32-bit
// systems can index and a mistyped size cannot exhaust.
const maxParameters = 1 << 30

// New returns a network of the sizes given: inputs, hidden layers if any, outputs.
func New(sizes ...int) (*Network, error) {
	if len(sizes) < 2 {
		return nil, errors.New("nn: a network needs a number of inputs and one of outputs")
	}
	n := &Network{sizes: slices.Clone(sizes), at: []int{0}}
	for l, size := range sizes {
		if size < 1 {
			return nil, fmt.Errorf("nn: layer %d has size %d, which is not positive", l, size)
		}
		if l == 0 {
			continue
		}
		from := n.at[l-1]
		if size > (maxParameters-from)/(sizes[l-1]+1) || size > maxParameters {
			return nil, fmt.Errorf("nn: layer %d of %d by %d brings the network to more than %d parameters", l,
				sizes[l-1], size, maxParameters)
		}
		n.at = append(n.at, from+(sizes[l-1]+1)*size)
	}
	return n, nil
}

// Sizes returns the sizes of all layers, inputs first.
func (n *Network) Sizes() []int { return slices.Clone(n.sizes) }

// Layers returns the number of dense layers.
func (n *Network) Layers() int { return len(n.sizes) - 1 }

// Inputs returns the width of an example.
func (n *Network) Inputs() int { return n.sizes[0] }

// Outputs returns the number of scores.
func (n *Network) Outputs() int { return n.sizes[len(n.sizes)-1] }

// Dim returns the number of parameters.
func (n *Network) Dim() int { return n.at[len(n.at)-1] }

// Span is a run of coordinates, From ≤ j < To.
type Span struct{ From, To int }

// Weights returns the coordinates of layer l's weights, an input by output matrix
// in rows.
func (n *Network) Weights(l int) Span { return Span{n.at[l], n.at[l+1] - n.sizes[l+1]} }

// Biases returns the coordinates of layer l's biases, which follow its weights.
func (n *Network) Biases(l int) Span { return Span{n.at[l+1] - n.sizes[l+1], n.at[l+1]} }

// AllWeights returns the coordinates of all weights and of no bias, which is what
// penalties apply to.
func (n *Network) AllWeights() []Span {
	var spans []Span
	for l := range n.Layers() {
		spans = append(spans, n.Weights(l))
	}
	return spans
}

// Layer returns the parts of v that belong to layer l, for a vector v of parameters or a gradient.
// They are its weights, with a row for each input and a column for each output, and its biases.
// Both share memory with v.
func Layer[T Float](n *Network, l int, v []T) (weights, biases []T) {
	w, b := n.Weights(l), n.Biases(l)
	return v[w.From:w.To:w.To], v[b.From:b.To:b.To]
}

// He returns parameters to start from: weights are drawn from a normal distribution
// of variance 2/inputs, which keeps the scale of activations through rectified
// layers (K. He, X. Zhang, S. Ren and J. Sun, "Delving deep into rectifiers", ICCV
// 2015); biases are zero. float32 parameters are the float64 ones, rounded.
func He[T Float](n *Network, seed uint64) []T {
	v := make([]T, n.Dim())
	for l := range n.Layers() {
		rng := rand.New(rand.NewPCG(seed, uint64(l)))
		deviation := math.Sqrt(2 / float64(n.sizes[l]))
		weights, _ := Layer(n, l, v)
		for i := range weights {
			weights[i] = T(deviation * rng.NormFloat64())
		}
	}
	return v
}

// Gather copies the given rows of data, each of width elements, side by side into dst.
func Gather[T Float](dst, data []T, width int, rows []int) {
	for i, r := range rows {
		copy(dst[i*width:(i+1)*width], data[r*width:(r+1)*width])
	}
}

// Argmax returns the first of the largest scores of a row.
func Argmax[T Float](row []T) int {
	best := 0
	for j, s := range row {
		if s > row[best] {
			best = j
		}
	}
	return best
}
