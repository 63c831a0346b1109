package g2p

import (
	"context"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/fst"
)

// FeatureOptions says which features a model has; the zero value is right for
// up to 10000 words.
type FeatureOptions struct {
	Window   int     // letters to either side; 0 is 3, at most 5
	Damping  float64 // value of an n-gram feature is Damping^(n-1), as a stronger l2 for longer ones would do; 0 is .6
	MinCount int     // features seen less often in training are left out; 0 is 1
	Bare     bool    // no n-grams: label bigrams and letter pairs only, for networks
}

const maxWindow = 5

func (o *FeatureOptions) withDefaults() (FeatureOptions, error) {
	var d FeatureOptions
	if o != nil {
		d = *o
	}
	if d.Window == 0 {
		d.Window = 3
	}
	if d.Damping == 0 {
		d.Damping = 0.6
	}
	if d.MinCount == 0 {
		d.MinCount = 1
	}
	if d.Window < 0 || d.Window > maxWindow || !(d.Damping > 0 && d.Damping <= 1) || d.MinCount < 0 {
		return d, fmt.Errorf("g2p: features: window %d (0 to %d), damping %v (above 0, at most 1), least count %d",
			d.Window, maxWindow, d.Damping, d.MinCount)
	}
	return d, nil
}

// template is a set of positions near a letter, whose letters together are a
// feature: from … to, or the two ends only.
type template struct {
	from, to int
	ends     bool
	value    float64
}

// featureKey is a template's number and the letters it saw.
type featureKey struct {
	template uint16
	letters  [2*maxWindow + 1]uint16
}

func hashFeature(k featureKey) uint64 {
	h := uint64(k.template)
	for i := 0; i+3 < len(k.letters); i += 4 {
		l := k.letters[i : i+4 : i+4]
		h = fst.Mix(h ^ uint64(l[0])<<48 ^ uint64(l[1])<<32 ^ uint64(l[2])<<16 ^ uint64(l[3]))
	}
	l := k.letters[8:11:11]
	return fst.Mix(h ^ uint64(l[0])<<32 ^ uint64(l[1])<<16 ^ uint64(l[2]))
}

// Features numbers the features of a model and the weights that they own.
//
// A feature of letters contains the letter x_t that emits, and owns a block of |allowed(x_t)|
// weights. A pair of neighbouring letters owns a block of |allowed(x_{t-1})|·|allowed(x_t)|
// weights, and every pair of labels that can be neighbours owns one. Weights lie in this order:
// label bigrams, letter pairs, features. Each group is in the order of first occurrence in the
// training words, so the rare features of a word are neighbours in memory.
type Features struct {
	opts      FeatureOptions
	inv       *Inventory
	templates []template
	// inner has, for each template, those without its first and without its last letter, or -1. They
	// come before it.
	inner [][2]int8

	bigrams *fst.Table[uint64] // pairs of labels; noLabel stands for the start
	pairs   *fst.Table[uint64] // pairs of letters; boundary stands for the start
	grams   *fst.Table[featureKey]

	pairAt   []int32 // first weight of each pair of letters
	pairBig  []int32 // for each weight of a pair of letters, its label bigram; indexed from pairAt[0]
	gramAt   []int32 // first weight of each feature
	gramSize []int32
	dim      int
}

const noLabel = 0xffffffff // the start's label in a bigram

func newFeatures(inv *Inventory, o FeatureOptions) *Features {
	f := &Features{
		opts: o, inv: inv,
		bigrams: fst.NewTable[uint64](fst.Mix), pairs: fst.NewTable[uint64](fst.Mix), grams: fst.NewTable(hashFeature),
	}
	if o.Bare {
		return f
	}
	for length := 1; length <= 2*o.Window+1; length++ {
		for from := -o.Window; from <= 0; from++ {
			if to := from + length - 1; to >= 0 && to <= o.Window {
				f.templates = append(f.templates, template{from: from, to: to, value: math.Pow(o.Damping, float64(length-1))})
			}
		}
	}
	at := map[[2]int]int8{}
	for i, p := range f.templates {
		in := [2]int8{-1, -1}
		if p.from < 0 {
			in[0] = at[[2]int{p.from + 1, p.to}]
		}
		if p.to > 0 {
			in[1] = at[[2]int{p.from, p.to - 1}]
		}
		f.inner = append(f.inner, in)
		at[[2]int{p.from, p.to}] = int8(i)
	}
	for d := 2; d <= o.Window; d++ {
		f.inner = append(f.inner, [2]int8{-1, -1}, [2]int8{-1, -1})
		f.templates = append(f.templates,
			template{from: -d, ends: true, value: o.Damping},
			template{to: d, ends: true, value: o.Damping})
	}
	return f
}

// key returns the key of template i at letter t, and whether it lies within the
// word and its two boundary marks. An irregular letter has no features of its own, since
// it has one label; others see it as the letter it stands for.
func (f *Features) key(i int, x []int32, t int) (featureKey, bool) {
	p := &f.templates[i]
	k := featureKey{template: uint16(i)}
	if _, irregular := f.inv.base(x[t]); irregular || t+p.from < -1 || t+p.to > len(x) {
		return k, false
	}
	at := func(s int) uint16 {
		if s < 0 || s >= len(x) {
			return boundary
		}
		letter, _ := f.inv.base(x[s])
		return uint16(letter)
	}
	if p.ends {
		k.letters[0], k.letters[1] = at(t+p.from), at(t+p.to)
		return k, true
	}
	for s := p.from; s <= p.to; s++ {
		k.letters[s-p.from] = at(t + s)
	}
	return k, true
}

// pairKey is the key of the letters t-1 and t.
func pairKey(x []int32, t int) uint64 {
	left := uint64(boundary)
	if t > 0 {
		left = uint64(x[t-1])
	}
	return left<<32 | uint64(x[t])
}

// leftLabels returns what may stand to the left of letter t.
func (f *Features) leftLabels(x []int32, t int) []int32 {
	if t == 0 {
		return startLabels
	}
	return f.inv.Allowed[x[t-1]]
}

var startLabels = []int32{-1}

// collect numbers the features of training words.
func (f *Features) collect(ctx context.Context, words [][]int32) error {
	counts := []int{}
	all := fst.NewTable(hashFeature)
	var sizes []int32
	for i, x := range words {
		if err := stopped(ctx, i); err != nil {
			return err
		}
		for t := range x {
			if _, isNew := f.pairs.ID(pairKey(x, t)); isNew {
				for _, a := range f.leftLabels(x, t) {
					for _, b := range f.inv.Allowed[x[t]] {
						f.bigrams.ID(uint64(uint32(a))<<32 | uint64(b))
					}
				}
			}
			for i := range f.templates {
				if k, ok := f.key(i, x, t); ok {
					id, isNew := all.ID(k)
					if isNew {
						counts = append(counts, 0)
						sizes = append(sizes, int32(len(f.inv.Allowed[x[t]])))
					}
					counts[id]++
				}
			}
		}
	}
	kept := make([]int32, 0, len(sizes))
	for id, n := range counts {
		if n >= f.opts.MinCount {
			f.grams.ID(all.Key(fst.StateID(id)))
			kept = append(kept, sizes[id])
		}
	}
	return f.layout(kept)
}

var errTooMany = fmt.Errorf("g2p: more than %d weights; drop rare labels (AlignOptions) or features (FeatureOptions)", math.MaxInt32)

// layout gives every block its weights. gramSize are the sizes of the blocks of
// f.grams.
func (f *Features) layout(gramSize []int32) error {
	n := f.bigrams.Len()
	for id := range f.pairs.Len() {
		f.pairAt = append(f.pairAt, int32(n))
		key := f.pairs.Key(fst.StateID(id))
		left := startLabels
		if a := key >> 32; a != boundary {
			left = f.inv.Allowed[a]
		}
		for _, a := range left {
			for _, b := range f.inv.Allowed[uint32(key)] {
				big := f.bigrams.Find(uint64(uint32(a))<<32 | uint64(b))
				f.pairBig = append(f.pairBig, int32(big))
				n++
			}
		}
		if n > math.MaxInt32 {
			return errTooMany
		}
	}
	f.gramSize = gramSize
	for _, size := range gramSize {
		f.gramAt = append(f.gramAt, int32(n))
		n += int(size)
		if n > math.MaxInt32 {
			return errTooMany
		}
	}
	f.dim = n
	return nil
}

// gramValue returns the value of a feature.
func (f *Features) gramValue(id int) float64 {
	return f.templates[f.grams.Key(fst.StateID(id)).template].value
}

// Dim returns the number of weights.
func (f *Features) Dim() int { return f.dim }

// Count returns the numbers of label bigrams, letter pairs and features.
func (f *Features) Count() (bigrams, pairs, grams int) {
	return f.bigrams.Len(), f.pairs.Len(), f.grams.Len()
}

// compiled is a word with its blocks looked up.
type compiled struct {
	x     []int32
	start []int32 // features of letter t: start[t] … start[t+1]
	gram  []int32 // ids in Features.grams
	tmpl  []uint8
	pair  []int32 // id in Features.pairs, or -1
}

// compile looks up the blocks of a word. An n-gram is no more frequent than those within it: where
// one of these is not there, it is not looked up.
func (f *Features) compile(x []int32) compiled {
	c := compiled{x: x, start: make([]int32, 1, len(x)+1), pair: make([]int32, len(x))}
	c.gram = make([]int32, 0, len(x)*len(f.templates))
	c.tmpl = make([]uint8, 0, len(x)*len(f.templates))
	var have [(maxWindow+1)*(maxWindow+1) + 2*maxWindow]bool
	for t := range x {
		for i, in := range f.inner {
			if have[i] = false; in[0] >= 0 && !have[in[0]] || in[1] >= 0 && !have[in[1]] {
				continue
			}
			if k, ok := f.key(i, x, t); ok {
				if id := f.grams.Find(k); id != fst.NoState {
					have[i] = true
					c.gram = append(c.gram, int32(id))
					c.tmpl = append(c.tmpl, uint8(i))
				}
			}
		}
		c.start = append(c.start, int32(len(c.gram)))
		c.pair[t] = int32(f.pairs.Find(pairKey(x, t)))
	}
	return c
}

// unary stores in u the scores of the labels of letter t, without bigrams.
func (f *Features) unary(w []float64, c *compiled, t int, u []float64) {
	clear(u)
	for i := c.start[t]; i < c.start[t+1]; i++ {
		block := w[f.gramAt[c.gram[i]]:]
		block = block[:len(u)]
		v := f.templates[c.tmpl[i]].value
		for b, wb := range block {
			u[b] += v * wb
		}
	}
}

// binary stores in s the bigram scores of the labels of letters t-1 and t.
func (f *Features) binary(w []float64, c *compiled, t int, s []float64) {
	if id := c.pair[t]; id >= 0 {
		at := f.pairAt[id]
		big := f.pairBig[at-int32(f.bigrams.Len()):]
		for i := range s {
			s[i] = w[big[i]] + w[int(at)+i]
		}
		return
	}
	// Letters that were never neighbours in training: their labels may have been.
	i := 0
	for _, a := range f.leftLabels(c.x, t) {
		for _, b := range f.inv.Allowed[c.x[t]] {
			s[i] = 0
			if big := f.bigrams.Find(uint64(uint32(a))<<32 | uint64(b)); big != fst.NoState {
				s[i] = w[big]
			}
			i++
		}
	}
}
