// Package tree grows regression trees on gradients: the base predictors of the
// boosters in learn/boost.
//
// NewBins turns a table into one byte a cell; a Grower makes splits on it, best
// first or level by level, one at a time; Grower.Tree copies what has grown so far
// into a Tree, which predicts. NewExactGrower splits at every threshold instead of
// at those between bins. Start reading at Grower.
//
// What holds:
//
//   - A numeric split sends x <= threshold left, as real numbers; features are
//     float32, thresholds float64, in the middle between two values where there is
//     a choice. What is missing (NaN) goes to the side that gained more, tried both
//     ways, or with the heavier child where nothing was missing in training.
//   - Splits are compared by sums in fixed point (see Cell). The tree depends on
//     neither the number of goroutines nor the order in which they ran; a histogram
//     obtained by subtraction is the one that its rows would give; rows in
//     another order give the same splits.
//   - Among splits of equal gain the first column wins, then the lowest threshold,
//     then missing values on the right.
//   - The tree with n splits, grown best first, is a prefix of that with more.
//
// # Layout
//
// Eight columns form a block: eight codes in one word a row, eight histograms
// of 256 cells of 16 bytes in 32 KB. Eight blocks form a panel, whose words lie row by row:
// a row is one cache line for 64 columns. A node's rows go by in tiles of 4096, once a
// block, so that the block's histograms stay in the first-level cache and the tile's words
// and derivatives in the second. Rows are partitioned in place, so that a node's are together
// and ascending, by the codes of one column, which lie by themselves as well. Rivals that lost:
// one column at a time reads rows and derivatives once a column; one row at a
// time over all columns writes all over the second-level cache; blocks by themselves touch a
// line a row and block; sums
// of float32 or float64 depend on the order, and a chain of their additions into one
// cell takes four cycles each where that of integers takes one.
//
// A sparse table has another layout (see sparseBins): the cells of a row's entries in one list, and
// histograms of the entries alone. The implicit value's cell is the node's sum less theirs,
// and a column without an entry in a node is not looked at.
//
// References: T. Chen and C. Guestrin, "XGBoost: a scalable tree boosting system",
// KDD 2016; G. Ke et al., "LightGBM", NeurIPS 2017 (best-first growth, histogram
// subtraction).
package tree
