//go:build amd64 && !purego

package sequence

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// forms calls f for Go's form of the kernels, and each form in assembly that the
// processor has.
func forms(f func(name string)) {
	avx2, avx512 := hasAVX2, hasAVX512
	defer func() { hasAVX2, hasAVX512 = avx2, avx512 }()
	hasAVX2, hasAVX512 = false, false
	f("Go")
	if avx2 {
		hasAVX2 = true
		f("AVX2")
	}
	if avx512 {
		hasAVX512 = true
		f("AVX-512")
	}
}

// All forms of the chain give the same, at all widths of rows and for sequences longer
// than one call of assembly may take.
func TestChainForms(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for d := 1; d <= 42; d++ {
		lengths := []int{1, 2, 3, 40}
		if d == 3 || d == 22 {
			lengths = append(lengths, chainPiece, chainPiece+1, 2*chainPiece+7)
		}
		for _, n := range lengths {
			score := random(rng, d*d)
			nodes := random(rng, n*d)
			if n == 40 { // near what the scaled recursions may be asked for, and beyond
				size := 100 * rng.Float64()
				for i := range score {
					score[i] *= size
				}
				size = 100 * rng.Float64()
				for i := range nodes {
					nodes[i] *= size
				}
			}
			var z float64
			var post, expect []float64
			forms(func(name string) {
				c := newChain(d)
				c.transitions(score)
				node := c.begin(n)
				for t := range n {
					copy(node[t*c.stride:], nodes[t*d:][:d])
				}
				pairs := pairSums{scaled: newPairs(d, c.stride)}
				gotPost, got := make([]float64, n*c.stride), make([]float64, d*d)
				gotZ := c.marginals(gotPost, &pairs)
				c.finish(got, &pairs)
				if name == "Go" {
					z, post, expect = gotZ, gotPost, got
					return
				}
				if math.Abs(gotZ-z) > 1e-12*(1+math.Abs(z)) || !near(gotPost, post, 1e-11) || !near(got, expect, 1e-11) {
					t.Fatalf("%s, %d labels, %d positions: log Z %v, in Go %v", name, d, n, gotZ, z)
				}
			})
		}
	}
}

// Scores too far apart are noticed by every form, wherever they stand in a row.
func TestChainFormsNoticeSpread(t *testing.T) {
	for _, d := range []int{1, 2, 8, 9, 22, 32, 40} {
		for _, at := range []int{0, d / 2, d - 1} {
			forms(func(name string) {
				c := newChain(d)
				c.transitions(nil)
				node := c.begin(3)
				node[c.stride+at] = -1000
				tops, spread := c.expRows(3)
				want, top := 1000.0, 0.0
				if d == 1 {
					want, top = 0, -1000
				}
				if spread != want || tops != top {
					t.Errorf("%s, %d labels: spread %v, tops %v", name, d, spread, tops)
				}
			})
		}
	}
}

// Rows that stand behind those asked for are fetched, not added; and the products of
// rows are those of Go.
func TestRowForms(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	w := random(rng, 2*fetchFrom)
	for n := 1; n <= 70; n++ {
		rows := make([]int32, 60)
		for i := range rows {
			rows[i] = int32(rng.IntN(len(w) / n))
		}
		for _, count := range []int{1, 5, 36, 37, 60} {
			var want []float64
			forms(func(name string) {
				got := make([]float64, n)
				sumRowsOf(got, w, rows, count, n)
				if name == "Go" {
					want = got
				} else if !near(got, want, 1e-13) {
					t.Fatalf("%s: %d rows of %d differ", name, count, n)
				}
			})
		}
		a, e := random(rng, n), random(rng, n)
		var want []float64
		forms(func(name string) {
			got := slices.Clone(a)
			sum := mulSum(got, e)
			mul(got, got, e, 0.3)
			scale(got, 1.7)
			got = append(got, sum)
			if name == "Go" {
				want = got
			} else if !near(got, want, 1e-13) {
				t.Fatalf("%s: products of rows of %d: %v, want %v", name, n, got, want)
			}
		})
	}
}

// What a position keeps of the forward mass may be all that matters later, whichever
// form finds it.
func TestChainFormsKeepWhatIsSmall(t *testing.T) {
	for _, span := range []float64{100, 299, 301, 450, 590} {
		const d, n = 3, 12
		score := make([]float64, d*d)
		for i := range score {
			if i%d != i/d {
				score[i] = -span
			}
		}
		var want float64
		forms(func(name string) {
			c := newChain(d)
			c.transitions(score)
			node := c.begin(n)
			for t := range n { // the best label changes at every position
				for y := range d {
					if y != t%d {
						node[t*c.stride+y] = -9
					}
				}
			}
			z := c.marginals(make([]float64, n*c.stride), &pairSums{scaled: newPairs(d, c.stride)})
			if name == "Go" {
				logs := newChain(d)
				logs.transitions(score)
				copy(logs.begin(n), node)
				want = logs.inLogs(make([]float64, n*c.stride), &pairSums{})
			}
			if math.Abs(z-want) > 1e-10*math.Abs(want) {
				t.Errorf("%s, transitions %v apart: log Z %v, in logarithms %v", name, span, z, want)
			}
		})
	}
}
