package g2p

import (
	"context"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/fst"
)

// groups merges features that occur at exactly the same letters of the training
// words. Long n-grams are rare, so most features of a word have such company.
//
// With features of values v_1 … v_k at the same places, scores depend on Σ v_i w_i only. Among
// weights with the same sum those proportional to v have the least norm, and gradients are
// proportional to v as well. One feature of value |v| therefore replaces all of them: the optimum
// is the same, and L-BFGS from zero makes the same steps, up to rounding. w_i = v_i/|v| times its
// weight gives the features back.
//
// Of the 1191945 weights of 8000 Dutch words 468051 remain, and fits take half the time.
type groups struct {
	first int     // weights before the groups' own: label bigrams and letter pairs
	of    []int32 // group of each feature
	at    []int32 // first weight of each group
	size  []int32
	value []float64
	dim   int
}

// group merges features by their occurrences, and numbers groups by their first
// feature.
func (f *Features) group(ctx context.Context, occ *occurrences) (groups, error) {
	g := groups{first: f.bigrams.Len() + len(f.pairBig), of: make([]int32, len(f.gramAt))}
	square := []float64{}
	var firstGram []int
	byHash := map[uint64][]int32{}
	list := func(id int) []int32 { return occ.at[occ.start[id]:occ.start[id+1]] }
	for id := range g.of {
		if err := stopped(ctx, id); err != nil {
			return g, err
		}
		h := uint64(0)
		for _, at := range list(id) {
			h = fst.Mix(h ^ uint64(at))
		}
		k := int32(-1)
		for _, c := range byHash[h] {
			if slices.Equal(list(firstGram[c]), list(id)) {
				k = c
				break
			}
		}
		if k < 0 {
			k = int32(len(firstGram))
			byHash[h] = append(byHash[h], k)
			firstGram = append(firstGram, id)
			square = append(square, 0)
			g.size = append(g.size, f.gramSize[id])
		}
		g.of[id] = k
		v := f.gramValue(id)
		square[k] += v * v
	}
	g.dim = g.first
	for k, s := range square {
		g.value = append(g.value, math.Sqrt(s))
		g.at = append(g.at, int32(g.dim))
		g.dim += int(g.size[k])
	}
	return g, nil
}

// expand returns the weights of all features, given those of groups.
func (f *Features) expand(g *groups, w []float64) []float64 {
	out := make([]float64, f.dim)
	copy(out, w[:g.first])
	for id, k := range g.of {
		v := f.gramValue(id) / g.value[k]
		for b := range int(g.size[k]) {
			out[int(f.gramAt[id])+b] = v * w[int(g.at[k])+b]
		}
	}
	return out
}

// project returns the weights of groups that come nearest to given weights of
// all features; those that expand gave come back as they were.
func (f *Features) project(g *groups, w []float64) []float64 {
	out := make([]float64, g.dim)
	copy(out, w[:g.first])
	for id, k := range g.of {
		v := f.gramValue(id) / g.value[k]
		for b := range int(g.size[k]) {
			out[int(g.at[k])+b] += v * w[int(f.gramAt[id])+b]
		}
	}
	return out
}

// regroup replaces a word's features by their groups, each once a letter.
func (c *compiled) regroup(g *groups) {
	var gram []int32
	start := make([]int32, 1, len(c.start))
	for t := range c.x {
		from := len(gram)
		for _, id := range c.gram[c.start[t]:c.start[t+1]] {
			if k := g.of[id]; !slices.Contains(gram[from:], k) {
				gram = append(gram, k)
			}
		}
		start = append(start, int32(len(gram)))
	}
	c.gram, c.start, c.tmpl = gram, start, nil
}

// groupUnary stores in u the scores of the labels of letter t, without bigrams.
func groupUnary[T float32 | float64](g *groups, w []T, c *compiled, t int, u []float64) {
	clear(u)
	for _, k := range c.gram[c.start[t]:c.start[t+1]] {
		block := w[g.at[k]:]
		block = block[:len(u)]
		v := g.value[k]
		for b, wb := range block {
			u[b] += v * float64(wb)
		}
	}
}
