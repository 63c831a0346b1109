// Package tree grows regression trees on gradients: the base predictors of the boosters in
// learn/boost.
//
// NewBins turns a table into one byte a cell. A Grower makes splits on it one at a time, best first
// or level by level. Grower.Tree copies what has grown so far into a Tree, which predicts.
// NewExactGrower splits at every threshold instead of at those between bins. Start reading at
// Grower.
//
//	bins, err := tree.NewBins(x, nil) // x is a *table.Table
//	if err != nil {
//		return err
//	}
//	g, err := tree.NewGrower(bins, tree.Options{MaxLeaves: 31})
//	if err != nil {
//		return err
//	}
//	if err := g.Grow(ctx, &tree.Target{G: gradients}); err != nil {
//		return err
//	}
//	g.Tree(g.Splits()).Predict(out, x, 0) // from row 0 on
//
// # What may be relied on
//
//   - A numeric split sends x <= threshold left, as real numbers. Features are float32, thresholds
//     float64, midway between two values where there is a choice.
//   - Missing values (NaN) go to the side that gains more, tried both ways. Where nothing was
//     missing in training they go to the heavier child.
//   - Splits are compared by sums in fixed point (see Cell). The tree depends neither on the number
//     of goroutines nor on the order in which they ran nor on the order of the rows. A histogram
//     obtained by subtraction equals the one that its rows would give.
//   - Among splits of equal gain the first column wins, then the lowest threshold, then missing
//     values on the right.
//   - The tree with n splits, grown best first, is a prefix of the tree with more.
//
// # Layout
//
// Eight columns form a block: eight codes in one word a row, and eight histograms of 256 cells of
// 16 bytes in 32 KB. Eight blocks form a panel, whose words lie row by row: a row is one cache line
// for 64 columns.
//
// A node's rows pass in tiles of 4096, once for each block. The block's histograms then stay in the
// first-level cache, the tile's words and derivatives in the second. Rows are partitioned in place
// by the codes of one column, which also lie separately; a node's rows stay adjacent and ascending.
//
// These alternatives were slower:
//
//   - One column at a time reads rows and derivatives once for every column.
//   - One row at a time over all columns writes all over the second-level cache.
//   - Blocks without panels touch a cache line for every row and block.
//   - Sums of float32 or float64 depend on the order. A chain of their additions into one cell
//     takes four cycles each, integers one.
//
// A sparse table has another layout (see sparseBins): one list of the cells of each row's entries,
// and histograms of the entries only. The implicit value's cell is the node's sum less theirs. A
// column without an entry in a node is skipped.
//
// References: T. Chen and C. Guestrin, "XGBoost: a scalable tree boosting system",
// KDD 2016; G. Ke et al., "LightGBM", NeurIPS 2017 (best-first growth, histogram
// subtraction).
package tree
