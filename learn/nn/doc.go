// Package nn holds feed-forward networks as plain layers on matrix products, with
// a backward pass written by hand.
//
// A Network is a list of sizes: dense layers with rectified linear units between them, and none
// after the last. A loss of the caller's takes the outputs (logits, or scores). Without hidden
// layers it is multi-class linear regression, or logistic regression. A Network holds no
// parameters. They are one flat vector, laid out by Network.Layer, so that solvers, projections and
// files handle one vector. A Pass holds the work space of one batch and evaluates; an Optimizer
// turns gradients into steps.
//
//	net, err := nn.New(784, 1024, 512, 128, 10)
//	w := nn.He[float64](net, seed)
//	pass := nn.NewPass[float64](net, 128, nil)
//	logits := pass.Forward(w, x, 128)          // x: 128 rows of 784
//	score.SoftMax{Classes: 10}.Gradients(dlogits, nil, labels, logits)
//	pass.Backward(w, dlogits, grad)            // all of grad is overwritten
//	err = opt.Step(w, grad)
//
// The loss, one of package score or the caller's own, receives scores and returns its derivative
// with respect to them. Mixing several objectives there costs only one backward pass.
//
// # What may be relied on
//
//   - The same inputs give the same bits for any number of workers: products and loops are split
//     over their results, never over sums.
//   - After the first batch nothing is allocated.
//   - NaN passes through a rectifier, so that a loss sees that a run diverged;
//     Optimizer.Step refuses a gradient that is not finite.
//   - Where a unit's input is zero, the derivative taken is zero.
//
// # Why it is so
//
// Layers as objects behind an interface, each with its own Forward and Backward, read well but
// prevent fusion. Here the bias and the rectifier are one loop after the product. The mask and the
// gradient of the bias are one loop after the other. Automatic differentiation would find the same
// products and none of the fusions.
package nn
