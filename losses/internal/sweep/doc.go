// Package sweep runs forward and backward over the graphs of loss machines.
//
// Whitening turns potentials into conditional probabilities, so that nothing overflows. A Sweeper
// does a Job over a graph: log Z, the mean of a functional, marginals and covariances. It reports
// whether the results are certain; where underflow may matter, a LogSweeper does the job in
// logarithms. MaxSweeper finds the best string, RiskSweeper the Hessian of the risk, and a Sampler
// draws strings. Lean is for small machines under factored potentials.
//
// The inner loops take one step, which has all that a position needs (kernels.go). Layers of a
// usual form go through assembly (vector.go), and those of large alphabets through products of
// matrices (alphabet.go). Each kernel has an equal in Go, and tests compare them.
//
// All types keep their memory from one call to the next, and serve one goroutine each.
package sweep
