// Package kernel is what kernel learners share: kernels of rows and of strings, their
// matrices, eigenvectors and ridge regression.
//
//	k := kernel.Vector{Kind: kernel.Gaussian, Width: 2}
//	x := kernel.NewMatrix(rows, columns, data)
//	gram, err := kernel.Gram(k, x, nil)                       // n×n
//	ridge, err := kernel.NewRidge(gram, x.Rows, 0.1, nil)     // K + 0.1 I, factored
//	err = ridge.Solve(alpha, outputs)                         // labels become weights
//	cross, err := kernel.Cross(k, test, x, nil)               // predictions are cross·alpha
//	s, err := kernel.Top(gram, x.Rows, 50, nil)               // 50 eigenpairs
//
// # The types to know
//
// Kernel[P] is a kernel between collections P of examples. Vector is one of rows of numbers,
// dense or sparse (Points; Matrix in float64); NGram and Rational are kernels of Strings;
// Precomputed is a matrix. Gram and Cross compute matrices of any of them.
//
// # What may be relied on
//
//   - Matrices are row by row, and Gram matrices symmetric to the bit. A value depends on its
//     two examples and on the mean of the second collection, not on its place or its block.
//   - Results have the same bits for any number of workers.
//   - Memory is foreseen: a *MemoryError comes before anything is allocated, and says how many
//     landmarks the limit allows for.
//   - What is not positive semidefinite is a *NotPositiveError with the smallest eigenvalue.
//   - Values that are not finite are errors that name the example.
package kernel
