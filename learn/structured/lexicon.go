package structured

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/gemm"
	"github.com/tropica-fst/tropica/learn/kernel"
	"github.com/tropica-fst/tropica/learn/run"
	"gonum.org/v1/gonum/blas"
)

// Lexicon is a list of candidate strings, up to millions of them, as a trie.
type Lexicon struct {
	words    [][]int
	alphabet int
	lattice  *Lattice
}

// NewLexicon takes strings of symbols below alphabet; repeats are dropped. O(symbols).
func NewLexicon(words [][]int, alphabet int) (*Lexicon, error) {
	l, err := WordLattice(words, alphabet)
	if err != nil {
		return nil, err
	}
	x := &Lexicon{words: slices.Clone(words), alphabet: alphabet, lattice: l}
	slices.SortFunc(x.words, slices.Compare[[]int])
	x.words = slices.CompactFunc(x.words, slices.Equal[[]int])
	return x, nil
}

// Words returns the strings, in lexicographic order.
func (x *Lexicon) Words() [][]int { return x.words }

// Within returns the words within some unit edits of a string, in order. Prefixes too far from
// all of its own are given up.
func (x *Lexicon) Within(s []int, edits int) [][]int {
	var out [][]int
	var prefix []int
	n := len(s)
	stack := [][]int{make([]int, n+1)}
	for j := range n + 1 {
		stack[0][j] = j
	}
	l := x.lattice
	var visit func(q int32)
	visit = func(q int32) {
		row := stack[len(prefix)]
		if l.final[q] && row[n] <= edits {
			out = append(out, slices.Clone(prefix))
		}
		for e := l.first[q]; e < l.first[q+1]; e++ {
			a := int(l.label[e])
			if len(stack) == len(prefix)+1 {
				stack = append(stack, make([]int, n+1))
			}
			next := stack[len(prefix)+1]
			next[0] = row[0] + 1
			least := next[0]
			for j, b := range s {
				c := row[j]
				if a != b {
					c++
				}
				next[j+1] = min(c, row[j+1]+1, next[j]+1)
				least = min(least, next[j+1])
			}
			if least <= edits {
				prefix = append(prefix, a)
				visit(l.next[e])
				prefix = prefix[:len(prefix)-1]
			}
		}
	}
	visit(0)
	return out
}

// SketchOptions adjusts NewSketch; nil is all defaults.
type SketchOptions struct {
	Landmarks int    // words whose losses describe all others; zero is 64
	Sample    int    // words by which training outputs are fitted; zero is 1000
	Short     int    // words that are rescored; zero is 200
	Seed      uint64 // draws landmarks and sample
	Workers   int    // zero is one a processor
}

// Sketch decodes over a lexicon of up to millions of words. Every word is described by its losses
// against some landmarks, and Δ(·, y_i) is fitted by a linear function of them. F is then one
// matrix product, which shortlists words. They are rescored by F itself, and the best of them
// prunes a search with bounds over the trie. Where the search ends within its budget the result is
// exact over the lexicon, however good the sketch is.
type Sketch struct {
	*Strings
	lexicon *Lexicon
	o       SketchOptions
	m       int
	table   []float32 // losses of words against landmarks, and 1: words × (m+1)
	fit     []float64 // (m+1) × n
}

// NewSketch describes the words of a lexicon by their losses against landmarks: O(words ·
// landmarks) losses with prefixes shared, and 4 bytes for each.
func NewSketch(s *Strings, x *Lexicon, opts *SketchOptions) (*Sketch, error) {
	k := &Sketch{Strings: s, lexicon: x}
	if opts != nil {
		k.o = *opts
	}
	for _, f := range []struct {
		v   *int
		def int
	}{{&k.o.Landmarks, 64}, {&k.o.Sample, 1000}, {&k.o.Short, 200}} {
		if *f.v < 0 {
			return nil, fmt.Errorf("structured: sketch: %d; numbers must not be negative", *f.v)
		}
		if *f.v == 0 {
			*f.v = f.def
		}
	}
	words := x.words
	k.m = min(k.o.Landmarks, len(words))
	var marks [][]int
	for _, i := range kernel.Draw(len(words), k.m, k.o.Seed) {
		marks = append(marks, words[i])
	}
	w := k.m + 1
	k.table = make([]float32, len(words)*w)
	r, ok := newRows(s.loss, marks, make([]float64, k.m))
	if ok {
		at := 0 // words come in the order of the list
		r.eachRow(x.lattice, func(_ []int, row []float64) bool {
			for j, ref := range marks {
				k.table[at*w+j] = float32(r.loss(row, j, len(ref)))
			}
			at++
			return true
		})
	} else {
		run.Blocks(k.o.Workers, len(words), 256, func(_, from, to int) {
			for i := from; i < to; i++ {
				for j, ref := range marks {
					k.table[i*w+j] = float32(s.Loss(words[i], ref))
				}
			}
		})
	}
	for i := range words {
		k.table[i*w+k.m] = 1
	}
	return k, k.learn()
}

// learn fits the losses against every training output on a sample of words, by least squares
// with a little ridge.
func (k *Sketch) learn() error {
	words, n, w := k.lexicon.words, len(k.truths), k.m+1
	some := kernel.Draw(len(words), min(k.o.Sample, len(words)), k.o.Seed+1)
	a := make([]float64, len(some)*w)
	y := make([]float64, len(some)*n)
	run.Blocks(k.o.Workers, len(some), 8, func(_, from, to int) {
		for r := from; r < to; r++ {
			for j, v := range k.table[some[r]*w:][:w] {
				a[r*w+j] = float64(v)
			}
			for i, t := range k.truths {
				y[r*n+i] = k.Loss(words[some[r]], t)
			}
		}
	})
	square := make([]float64, w*w)
	k.fit = make([]float64, w*n)
	s := len(some)
	gemm.Gemm(k.o.Workers, blas.Trans, blas.NoTrans, w, w, s, 1, a, w, a, w, 0, square, w)
	gemm.Gemm(k.o.Workers, blas.Trans, blas.NoTrans, w, n, s, 1, a, w, y, n, 0, k.fit, n)
	ridge := 1e-3 * meanDiagonal(square, w)
	for i := range w {
		square[i*w+i] += ridge
	}
	if !gemm.Cholesky(k.o.Workers, w, square, w) {
		return fmt.Errorf("structured: sketch: losses that are not finite")
	}
	gemm.CholeskySolve(k.o.Workers, w, n, square, w, k.fit, n)
	return nil
}

// Shortlist returns the words of the least sketched F, best first. O(words·landmarks).
func (k *Sketch) Shortlist(alpha []float64, count int) [][]int {
	n, w := len(k.truths), k.m+1
	u := make([]float32, w)
	for j := range u {
		s := 0.0
		for i, a := range alpha {
			s += a * k.fit[j*n+i]
		}
		u[j] = float32(s)
	}
	words := k.lexicon.words
	f := make([]float32, len(words))
	gemm.Gemm(1, blas.NoTrans, blas.Trans, len(words), 1, w, 1, k.table, w, u, w, 0, f, 1)
	type scored struct {
		f    float32
		word int
	}
	var best []scored // sorted, at most twice as many as are asked for
	limit := float32(math.Inf(1))
	tidy := func() {
		slices.SortFunc(best, func(a,
			b scored) int {
			return cmp.Or(cmp.Compare(a.f, b.f), cmp.Compare(a.word, b.word))
		})
		if len(best) > count {
			best = best[:count]
			limit = best[count-1].f
		}
	}
	for i, v := range f {
		if v < limit {
			if best = append(best, scored{v, i}); len(best) >= 2*count {
				tidy()
			}
		}
	}
	tidy()
	out := make([][]int, len(best))
	for r, b := range best {
		out[r] = words[b.word]
	}
	return out
}

// Decode implements Decoder.
func (k *Sketch) Decode(ctx context.Context, alpha []float64) (Decoded[[]int], error) {
	d := Decoded[[]int]{Value: math.Inf(1), LowerBound: math.Inf(-1), Margin: math.NaN()}
	if err := check(alpha, len(k.truths)); err != nil {
		return d, err
	}
	w := k.weighted(alpha)
	for _, y := range k.Shortlist(alpha, k.o.Short) {
		offer(&d, y, k.value(w, y))
		d.Steps++
		if ctx.Err() != nil {
			return d, cancelled(ctx, d.Steps)
		}
	}
	if err := k.bestFirst(ctx, k.lexicon.lattice, w, &d); err != nil {
		return d, err
	}
	if err := cancelled(ctx, d.Steps); err != nil {
		return d, err
	}
	d.settle(w.l1, ExactOverCandidates)
	return d, nil
}
