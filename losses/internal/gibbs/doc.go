// Package gibbs draws label strings u from P(u) ∝ exp(θ(u) + γ L(u)), where L aligns u with a
// reference: Gibbs sampling by sites, with Rao-Blackwell estimates of windows. Package losses turns
// what it counts into marginals, gradients and intervals.
//
// # Layout
//
// 64 chains run side by side, one a lane: whatever a chain has is lane c of an array of 64, and
// every step is the same operation on all lanes. u[t] is the symbols of position t.
//
// Row s of direction 0 is the dynamic program of the alignment of the first s symbols of u with
// prefixes of the reference; of direction 1, of the last s symbols with suffixes, both reversed. It
// holds the cells of a window about the diagonal. Direction 1 reads the reference
// backwards, so that one set of kernels serves both.
//
// A sweep visits all sites in one direction. At a site it has the row before (F, of this sweep) and
// the row after (G, of the last sweep, whose direction was the other one). The least of F[j]+G[j]
// and of F[j-1]+G[j], by the symbol at j, give the loss of all symbols of the site at once. Then it
// draws the symbol of each chain, adds the probabilities of all symbols to the counts, and makes
// the next row. So the rows that one sweep writes are the ones that the next one reads.
//
// A block sweep draws blocks of sites from the chain at γ = 0 given both neighbours, and accepts
// with probability min(1, exp(γ (L' - L))).
//
// # Two engines
//
// Bytes has rows of int8, relative to the diagonal of every few rows, and float32 weights: small
// integer costs, at most 32 labels, order 1 and 2. Kernels are in assembly for AVX-512 and AVX2,
// with a definition in Go. Where there are no vectors, rows are bits: see sliced.go for unit costs,
// and slicedcosts.go for those of up to 7. Random numbers and bits are the same.
//
// Floats has rows of fixed-point numbers of 32 bits and takes all else: cost tables, local scores,
// order 3, hundreds of labels, forbidden windows, labels that stand for symbols.
//
// # References
//
// S. Geman, D. Geman, "Stochastic relaxation, Gibbs distributions, and the Bayesian restoration of
// images", 1984; A. Gelfand, A. Smith, "Sampling-based approaches to calculating marginal
// densities", 1990 (Rao-Blackwell estimates); G. Myers, "A fast bit-vector algorithm for
// approximate string matching based on dynamic programming", 1999 (rows as differences); R. Neal,
// "Annealed importance sampling", 2001; A. Vehtari et al., "Rank-normalization, folding, and
// localization: an improved R-hat", 2021 (split R-hat); D. Blackman, S. Vigna, "Scrambled linear
// pseudorandom number generators", 2021 (xoshiro128+).
package gibbs
