// Package dense holds examples as numbers: a row of float64 each, with a class, a number to
// predict, and a weight. It is for learners whose inner loops are products of matrices.
//
//	e, err := dense.NewEncoder(t, dense.Standard) // of the training table
//	d, err := e.Data(t, nil)                      // d.X has d.Rows rows of d.Features numbers
//
// # The types to know
//
//   - Data are the examples.
//   - Encoder makes Data of tables: it is fitted to the training table, and belongs in a model's
//     file. A categorical column becomes a number for each level.
//
// # What may be relied on
//
//   - Data that pass Check have finite numbers, classes in range, and weights with a positive sum.
//   - An encoder makes the same numbers of the same row in any table.
package dense
