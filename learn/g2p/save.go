package g2p

import (
	"fmt"
	"io"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/nn/encoder"
	"github.com/tropica-fst/tropica/learn/resilient"
)

// Files are containers of package model of this kind and version.
// Version 2 added networks, and views of the whole output; a model without is written as version 1,
// which earlier programs read.
const (
	fileKind    = "g2p"
	fileVersion = 2
)

// fileMeta is the header's part of a file.
type fileMeta struct {
	Window   int       `json:"window"`
	Damping  float64   `json:"damping"`
	MinCount int       `json:"min_count"`
	Bare     bool      `json:"bare,omitempty"`
	Trained  Objective `json:"objective"`
	Views    *viewMeta `json:"views,omitempty"`

	Networks []memberMeta `json:"networks,omitempty"`
}

// memberMeta is the header's part of a network. Its parameters and the weights beside it are
// arrays.
type memberMeta struct {
	Kind  Networks      `json:"kind"`
	Share float64       `json:"share"`
	Shape encoder.Shape `json:"shape"`
}

func memberArrays(k int) (params, weights string) {
	return fmt.Sprintf("network%d", k), fmt.Sprintf("network%d_weights", k)
}

// Write writes the model. The file has these arrays: letters (code points; irregular ones, see
// Align, are of private use), phones, and labels (label_start, label_phones). Then follow what
// letters may emit (allowed_start, allowed, prob) and back off to (backoff_start, backoff,
// backoff_prob), the keys of label bigrams, letter pairs and
// features, and weights in the order that Features describes. Histories and the constraint, where
// there are any, have arrays of their own (see views.put), and their weights
// come last. Behind them are the n-gram model and the words of Lookup, if there are any (ngram_…,
// lookup_words, lookup_phones).
func (m *Model) Write(w io.Writer) error {
	c, err := m.container()
	if err != nil {
		return err
	}
	return c.Write(w)
}

func (m *Model) container() (*model.Container, error) {
	inv, f := m.Inventory, m.Features
	version := 1
	if m.views != nil || len(m.members) > 0 {
		version = fileVersion
	}
	meta := fileMeta{Window: f.opts.Window, Damping: f.opts.Damping, MinCount: f.opts.MinCount,
		Bare: f.opts.Bare, Trained: m.Objective}
	for k, b := range m.members {
		if b.kind == ownNetwork {
			return nil, fmt.Errorf("g2p: network %d is the caller's own: there is no file format for it", k)
		}
		meta.Networks = append(meta.Networks, memberMeta{b.kind, b.share, b.shape})
	}
	c := model.New(fileKind, version)
	var err error
	if meta.Views, err = m.views.put(c); err != nil {
		return nil, err
	}
	if err := c.SetMeta(meta); err != nil {
		return nil, err
	}
	letters := make([]uint32, len(inv.Letters))
	for i, r := range inv.Letters {
		letters[i] = uint32(r)
	}
	model.Put(c, "letters", letters)
	if err := c.PutStrings("phones", inv.Phones); err != nil {
		return nil, err
	}
	start, flat := []int32{0}, []int32{}
	for _, u := range inv.Labels {
		for _, p := range u {
			flat = append(flat, int32(p))
		}
		start = append(start, int32(len(flat)))
	}
	model.Put(c, "label_start", start)
	model.Put(c, "label_phones", flat)
	start, flat = []int32{0}, []int32{}
	var prob []float64
	for x, list := range inv.Allowed {
		flat = append(flat, list...)
		prob = append(prob, inv.Prob[x]...)
		start = append(start, int32(len(flat)))
	}
	model.Put(c, "allowed_start", start)
	model.Put(c, "allowed", flat)
	model.Put(c, "prob", prob)
	start, flat, prob = []int32{0}, nil, nil
	for _, b := range inv.Backoff {
		flat, prob = append(flat, b.Labels...), append(prob, b.Prob...)
		start = append(start, int32(len(flat)))
	}
	if len(flat) > 0 {
		model.Put(c, "backoff_start", start)
		model.Put(c, "backoff", flat)
		model.Put(c, "backoff_prob", prob)
	}
	model.Put(c, "bigrams", keysOf(f.bigrams))
	model.Put(c, "pairs", keysOf(f.pairs))
	grams := make([]uint64, 0, featureWords*f.grams.Len())
	for _, k := range keysOf(f.grams) {
		grams = k.append(grams)
	}
	model.Put(c, "features", grams, f.grams.Len(), featureWords)
	if len(m.members) == 0 {
		model.Put(c, "weights", m.Weights)
	}
	for k, b := range m.members {
		params, weights := memberArrays(k)
		model.Put(c, params, b.params)
		model.Put(c, weights, b.weights)
	}
	m.Ngrams.put(c)
	if err := m.Lookup.put(c); err != nil {
		return nil, err
	}
	return c, m.hard.Put(c)
}

func keysOf[K comparable](t *fst.Table[K]) []K {
	keys := make([]K, t.Len())
	for i := range keys {
		keys[i] = t.Key(fst.StateID(i))
	}
	return keys
}

// A feature's key is kept in three words of four 16-bit numbers: the template
// and eleven letters, least significant first.
const featureWords = 3

func (k featureKey) append(dst []uint64) []uint64 {
	all := append([]uint16{k.template}, k.letters[:]...)
	for i := 0; i < len(all); i += 4 {
		dst = append(dst, uint64(all[i])|uint64(all[i+1])<<16|uint64(all[i+2])<<32|uint64(all[i+3])<<48)
	}
	return dst
}

func featureKeyOf(words []uint64) (k featureKey) {
	k.template = uint16(words[0])
	for i := range k.letters {
		k.letters[i] = uint16(words[(i+1)/4] >> (16 * ((i + 1) % 4)))
	}
	return k
}

// Read reads a model that Write wrote, by this version of the program or an
// older one. It trusts nothing: every departure is an error wrapping
// model.ErrFormat or one of model's other reasons, and memory grows with the
// file.
func Read(r io.Reader) (*Model, error) {
	c, err := model.Read(r, nil)
	if err != nil {
		return nil, err
	}
	return fromContainer(c)
}

func fromContainer(c *model.Container) (*Model, error) {
	if err := c.Expect(fileKind, fileVersion); err != nil {
		return nil, err
	}
	var meta fileMeta
	if err := c.Meta(&meta); err != nil {
		return nil, err
	}
	l := loader{c: c}
	opts, err := (&FeatureOptions{meta.Window, meta.Damping, meta.MinCount, meta.Bare}).withDefaults()
	if err != nil {
		return nil, l.bad("%v", err)
	}
	objective, err := meta.Trained, error(nil)
	if objective.Kind != Mixture {
		objective, err = objective.withDefaults()
	}
	if err != nil {
		return nil, l.bad("%v", err)
	}
	inv, err := l.inventory()
	if err != nil {
		return nil, err
	}
	members, err := l.members(&meta, inv)
	if err != nil {
		return nil, err
	}
	var weights []float64
	if len(members) > 0 {
		weights = members[0].weights
	} else if weights, err = finite[float64](&l, "weights"); err != nil {
		return nil, err
	}
	views, err := l.views(inv, meta.Views)
	if err != nil {
		return nil, err
	}
	if views.size() > len(weights) {
		return nil, l.bad("%d weights, histories and marks have %d", len(weights), views.size())
	}
	f, err := l.features(newFeatures(inv, opts), len(weights)-views.size())
	if err != nil {
		return nil, err
	}
	hard, err := resilient.GetDifficulty(c)
	if err != nil {
		return nil, err
	}
	lookup, err := getLookup(c)
	if err != nil {
		return nil, err
	}
	ngrams, err := l.ngrams()
	if err != nil {
		return nil, err
	}
	m := &Model{Inventory: inv, Features: f, Weights: weights, Objective: objective, hard: hard, views: views,
		Lookup: lookup, Ngrams: ngrams}
	if len(members) > 0 {
		m.setMembers(members)
	}
	m.ready()
	return m, nil
}

// finite returns an array of finite numbers.
func finite[T float32 | float64](l *loader, name string, shape ...int) ([]T, error) {
	list, err := model.Get[T](l.c, name, shape...)
	if err != nil {
		return nil, err
	}
	for i, x := range list {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return nil, l.bad("%s[%d] is %v", name, i, x)
		}
	}
	return list, nil
}

// members reads the networks.
func (l *loader) members(meta *fileMeta, inv *Inventory) ([]*member, error) {
	var out []*member
	shares := 0.0
	for k, n := range meta.Networks {
		b := &member{kind: n.Kind, share: n.Share, shape: n.Shape}
		if n.Kind != Convolutional && n.Kind != Recurrent {
			return nil, l.bad("network %d is of kind %q", k, n.Kind)
		}
		if len(n.Shape.Tables) != 1 || n.Shape.Tables[0].Size != 1+len(inv.Letters) ||
			n.Shape.Outputs != len(inv.Labels) {
			return nil, l.bad("network %d is not one of %d letters and %d labels", k, len(inv.Letters),
				len(inv.Labels))
		}
		if !(n.Share > 0 && n.Share <= 1) {
			return nil, l.bad("network %d has the share %v", k, n.Share)
		}
		shares += n.Share
		var err error
		if b.net, err = n.Shape.Letters(); err != nil {
			return nil, l.bad("network %d: %v", k, err)
		}
		params, weights := memberArrays(k)
		if b.params, err = finite[float32](l, params, b.net.Dim()); err != nil {
			return nil, err
		}
		if b.weights, err = finite[float64](l, weights); err != nil {
			return nil, err
		}
		if k > 0 && len(b.weights) != len(out[0].weights) {
			return nil, l.bad("network %d has %d weights beside it, the first %d", k, len(b.weights),
				len(out[0].weights))
		}
		out = append(out, b)
	}
	if len(out) > 0 && math.Abs(shares-1) > 1e-9 {
		return nil, l.bad("the shares of the networks sum to %v", shares)
	}
	return out, nil
}

type loader struct{ c *model.Container }

func (l *loader) bad(format string, args ...any) error {
	return fmt.Errorf("g2p: %w: %s", model.ErrFormat, fmt.Sprintf(format, args...))
}

// lists returns the rows of a flat array.
func (l *loader) lists(name string, below int) (start []int32, flat []int32, err error) {
	startName := name + "_start"
	if name == "label_phones" {
		startName = "label_start"
	}
	if start, err = model.Get[int32](l.c, startName); err != nil {
		return nil, nil, err
	}
	if flat, err = model.Get[int32](l.c, name); err != nil {
		return nil, nil, err
	}
	if len(start) == 0 || start[0] != 0 || int(start[len(start)-1]) != len(flat) || !slices.IsSorted(start) {
		return nil, nil, l.bad("array %q does not divide %q into rows", startName, name)
	}
	for i, v := range flat {
		if v < 0 || int(v) >= below {
			return nil, nil, l.bad("%s[%d] is %d, not below %d", name, i, v, below)
		}
	}
	return start, flat, nil
}

func (l *loader) inventory() (*Inventory, error) {
	inv := &Inventory{}
	letters, err := model.Get[uint32](l.c, "letters")
	if err != nil {
		return nil, err
	}
	if len(letters) >= boundary {
		return nil, l.bad("%d letters", len(letters))
	}
	for i, r := range letters {
		if r > utf8.MaxRune || !utf8.ValidRune(rune(r)) || i > 0 && r <= letters[i-1] {
			return nil, l.bad("letter %d is %#x: letters are code points in ascending order", i, r)
		}
		inv.Letters = append(inv.Letters, rune(r))
	}
	if inv.Phones, err = l.c.Strings("phones"); err != nil {
		return nil, err
	}
	for i := 1; i < len(inv.Phones); i++ {
		if inv.Phones[i] <= inv.Phones[i-1] {
			return nil, l.bad("phone %d, %q, is out of order", i, inv.Phones[i])
		}
	}
	start, flat, err := l.lists("label_phones", len(inv.Phones))
	if err != nil {
		return nil, err
	}
	for i := range len(start) - 1 {
		u := make([]int, 0, start[i+1]-start[i])
		for _, p := range flat[start[i]:start[i+1]] {
			u = append(u, int(p))
		}
		if i > 0 && slices.Compare(inv.Labels[i-1], u) >= 0 {
			return nil, l.bad("label %d is out of order", i)
		}
		inv.Labels = append(inv.Labels, u)
	}
	if len(inv.Labels) == 0 || len(inv.Labels[0]) != 0 {
		return nil, l.bad("label 0 is not the empty one")
	}
	start, flat, err = l.lists("allowed", len(inv.Labels))
	if err != nil {
		return nil, err
	}
	prob, err := model.Get[float64](l.c, "prob", len(flat))
	if err != nil {
		return nil, err
	}
	if len(start)-1 != len(inv.Letters)+1 {
		return nil, l.bad("%d lists of labels for %d letters and the unknown one", len(start)-1, len(inv.Letters))
	}
	for x := range len(start) - 1 {
		list := flat[start[x]:start[x+1]]
		for i := range list {
			if i > 0 && list[i] <= list[i-1] {
				return nil, l.bad("the labels of letter %d are out of order", x)
			}
		}
		if len(list) == 0 || x == noLetter && (len(list) != 1 || list[0] != 0) {
			return nil, l.bad("letter %d has %d labels", x, len(list))
		}
		inv.Allowed = append(inv.Allowed, list)
		inv.Prob = append(inv.Prob, prob[start[x]:start[x+1]])
	}
	return inv, l.backoff(inv)
}

// backoff reads what letters back off to; older files have none.
func (l *loader) backoff(inv *Inventory) error {
	if _, ok := l.c.Shape("backoff"); !ok {
		return nil
	}
	start, flat, err := l.lists("backoff", len(inv.Labels))
	if err != nil {
		return err
	}
	prob, err := model.Get[float64](l.c, "backoff_prob", len(flat))
	if err != nil {
		return err
	}
	if len(start)-1 != len(inv.Letters)+1 {
		return l.bad("%d lists of back-off labels for %d letters and the unknown one", len(start)-1,
			len(inv.Letters))
	}
	for x := range len(start) - 1 {
		b := Backoff{Labels: flat[start[x]:start[x+1]], Prob: prob[start[x]:start[x+1]]}
		for k, p := range b.Prob {
			if !(p > 0 && p <= 1) || k > 0 && p > b.Prob[k-1] || inv.allows(x, b.Labels[k]) {
				return l.bad("back-off label %d of letter %d has the probability %v: it is at most 1, falls along the "+
					"list, "+
					"and the letter has no such label of its own", k, x, p)
			}
		}
		b.sum()
		inv.Backoff = append(inv.Backoff, b)
	}
	return nil
}

// features fills the tables of f. The number of weights bounds what is laid
// out.
func (l *loader) features(f *Features, weights int) (*Features, error) {
	inv := f.inv
	bigrams, err := model.Get[uint64](l.c, "bigrams")
	if err != nil {
		return nil, err
	}
	for i, k := range bigrams {
		if a, b := k>>32, k&0xffffffff; a != noLabel && a >= uint64(len(inv.Labels)) || b >= uint64(len(inv.Labels)) {
			return nil, l.bad("bigram %d is of labels %d and %d of %d", i, a, b, len(inv.Labels))
		}
		if _, isNew := f.bigrams.ID(k); !isNew {
			return nil, l.bad("bigram %d is there twice", i)
		}
	}
	known := func(x uint64) bool { return x >= 1 && x <= uint64(len(inv.Letters)) }
	pairs, err := model.Get[uint64](l.c, "pairs")
	if err != nil {
		return nil, err
	}
	total := len(bigrams)
	for i, k := range pairs {
		a, b := k>>32, k&0xffffffff
		if a != boundary && !known(a) || !known(b) {
			return nil, l.bad("pair %d is of letters %d and %d of %d", i, a, b, len(inv.Letters))
		}
		if _, isNew := f.pairs.ID(k); !isNew {
			return nil, l.bad("pair %d is there twice", i)
		}
		left := startLabels
		if a != boundary {
			left = inv.Allowed[a]
		}
		if total += len(left) * len(inv.Allowed[b]); total > weights {
			return nil, l.bad("%d weights are too few for %d pairs of letters", weights, len(pairs))
		}
		for _, la := range left {
			for _, lb := range inv.Allowed[b] {
				if f.bigrams.Find(uint64(uint32(la))<<32|uint64(lb)) == fst.NoState {
					return nil, l.bad("pair %d needs a bigram of labels %d and %d, which is not there", i, la, lb)
				}
			}
		}
	}
	grams, err := model.Get[uint64](l.c, "features", -1, featureWords)
	if err != nil {
		return nil, err
	}
	var sizes []int32
	for i := 0; i < len(grams); i += featureWords {
		k := featureKeyOf(grams[i : i+featureWords])
		if int(k.template) >= len(f.templates) {
			return nil, l.bad("feature %d has template %d of %d", i/featureWords, k.template, len(f.templates))
		}
		x := f.templates[k.template].center(&k)
		if !known(uint64(x)) {
			return nil, l.bad("feature %d is of letter %d of %d", i/featureWords, x, len(inv.Letters))
		}
		if _, isNew := f.grams.ID(k); !isNew {
			return nil, l.bad("feature %d is there twice", i/featureWords)
		}
		sizes = append(sizes, int32(len(inv.Allowed[x])))
	}
	if err := f.layout(sizes); err != nil {
		return nil, err
	}
	if f.dim != weights {
		return nil, l.bad("%d weights, the features have %d", weights, f.dim)
	}
	return f, nil
}

// center returns the letter x_t of a key.
func (p *template) center(k *featureKey) uint16 {
	if p.ends {
		if p.from < 0 {
			return k.letters[1]
		}
		return k.letters[0]
	}
	return k.letters[-p.from]
}
