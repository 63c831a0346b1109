package fst

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/semiring"
)

// An ngram file is a back-off language model as OpenGrm makes them: an acceptor in
// which a state is the words it remembers, an arc reads the next word, and an ε-arc,
// the first of each state but one, forgets the oldest word. The file holds two trees as
// bits (LOUDS: for each state in breadth-first order a 1 for each child, then a 0): of
// the contexts, where a child remembers one word more than its parent, older than all;
// and, of depth one, of the words that each state can read. Where an arc leads follows
// from the words: to the longest context that is remembered.
//
// After J. Sorensen and C. Allauzen, "Unary data structures for language models",
// Interspeech 2011.
type ngramTree struct {
	parent []StateID // of each context
	word   []Label   // the oldest of each context
	first  []StateID // children of context s: first[s] … first[s+1]-1
}

// child returns the child of s whose oldest word is w.
func (t *ngramTree) child(s StateID, w Label) (StateID, bool) {
	from, to := t.first[s], t.first[s+1]
	i, ok := slices.BinarySearch(t.word[from:to], w)
	return from + StateID(i), ok
}

// next returns the longest context that ends w after the words of s, and the number
// of its words before w.
func (t *ngramTree) next(s StateID, w Label) (to StateID, words int32) {
	// The words of s from the newest to the oldest are those on the way down to it.
	var path []Label
	for q := s; q != 0; q = t.parent[q] {
		path = append(path, t.word[q])
	}
	to, ok := t.child(0, w)
	if !ok {
		return 0, 0
	}
	for i := len(path) - 1; i >= 0; i-- {
		q, ok := t.child(to, path[i])
		if !ok {
			break
		}
		to, words = q, words+1
	}
	return to, words
}

const ngramVersion = 4

// ngramFile is what the body of an ngram file holds.
type ngramFile[W semiring.Weight[W]] struct {
	contexts      ngramTree
	words         []Label // that each context can read, one context after the other
	futures       bitmap  // for each context a 1 for each word, then a 0
	final         bitmap
	back, ends, w []W // of backing off, of ending, of reading a word
}

// ngram reads the body of an ngram file.
func (b *bodyReader[W]) ngram() (*Const[W], error) {
	if b.h.Version != ngramVersion {
		return nil, b.fail("version %d of the ngram format; %d is what can be read", b.h.Version, ngramVersion)
	}
	if size := b.layout.size; size == 0 || size&(size-1) != 0 {
		return nil, b.fail("an ngram machine cannot have arcs of type %q", b.h.ArcType)
	}
	b.facts.kind = 0
	f, err := b.ngramFile()
	if err != nil {
		return nil, err
	}
	return b.ngramMachine(f)
}

// ngramFile reads the parts of the file. Of the words it checks only that they are labels.
func (b *bodyReader[W]) ngramFile() (*ngramFile[W], error) {
	var counts [3]int64
	for i := range counts {
		var err error
		if counts[i], err = b.int64(); err != nil {
			return nil, err
		}
		if counts[i] < 0 || counts[i] > maxState {
			b.pos -= 8
			return nil, b.fail("%d %s", counts[i], [...]string{"states", "words after contexts", "final states"}[i])
		}
	}
	n, futures, finals := counts[0], counts[1], counts[2]
	if n < 2 || n != b.h.NumStates || finals > n {
		return nil, b.fail("%d states, %d of them final, where the header says %d and two are the least", n, finals, b.h.NumStates)
	}
	f := &ngramFile[W]{}
	read := int64(24) // bytes since the counts began
	contextBits, err := b.bits(2*n+1, &read)
	if err != nil {
		return nil, err
	}
	if f.futures, err = b.bits(futures+n+1, &read); err != nil {
		return nil, err
	}
	if f.final, err = b.bits(n, &read); err != nil {
		return nil, err
	}
	if err := b.ngramContexts(&f.contexts, contextBits, n); err != nil {
		return nil, err
	}
	t := &f.contexts
	if t.word, err = b.labels(n+1, &read); err != nil {
		return nil, err
	}
	t.word = t.word[:n]
	for s := range n {
		for k := t.first[s] + 1; k < t.first[s+1]; k++ {
			if t.word[k-1] >= t.word[k] {
				return nil, b.fail("the contexts after %d are not in order of their words", s)
			}
		}
	}
	if f.words, err = b.labels(futures, &read); err != nil {
		return nil, err
	}
	if k := int(read % int64(b.layout.size)); k != 0 {
		if _, err := b.take(b.layout.size - k); err != nil {
			return nil, err
		}
	}
	for _, part := range []struct {
		weights *[]W
		n       int64
	}{{&f.back, n + 1}, {&f.ends, finals}, {&f.w, futures + 1}} {
		*part.weights = make([]W, 0, b.room(part.n, b.layout.size))
		for range part.n {
			w, err := b.weight()
			if err != nil {
				return nil, err
			}
			*part.weights = append(*part.weights, w)
		}
	}
	return f, nil
}

// noNgramTree is the error of bits that are no tree.
func (b *bodyReader[W]) noNgramTree(of string) error { return b.fail("a tree of %s that is none", of) }

// ngramContexts sets the parents and children of n contexts.
func (b *bodyReader[W]) ngramContexts(t *ngramTree, bits bitmap, n int64) error {
	t.parent = make([]StateID, 1, b.room(n, 1)+1)
	t.first = make([]StateID, 0, b.room(n, 1)+1)
	// The root is the child of a state that is none.
	if !bits.at(0) || bits.at(1) {
		return b.noNgramTree("contexts")
	}
	at := int64(2)
	for s := StateID(0); int64(s) < n; s++ {
		t.first = append(t.first, StateID(len(t.parent)))
		for ; at < 2*n+1 && bits.at(at); at++ {
			t.parent = append(t.parent, s)
		}
		at++
		if int64(len(t.parent)) > n || int64(s)+1 < n && int64(len(t.parent)) <= int64(s)+1 {
			return b.noNgramTree("contexts")
		}
	}
	t.first = append(t.first, StateID(len(t.parent)))
	if at != 2*n+1 || int64(len(t.parent)) != n || t.first[1] == t.first[0] {
		return b.noNgramTree("contexts")
	}
	return nil
}

// ngramMachine makes the arcs.
func (b *bodyReader[W]) ngramMachine(f *ngramFile[W]) (*Const[W], error) {
	t, words := &f.contexts, f.words
	n, futures := int64(len(t.parent)), int64(len(words))
	c := &Const[W]{start: 1, isyms: b.h.InputSymbols, osyms: b.h.OutputSymbols}
	c.finals = make([]W, n)
	c.offset = make([]int64, 1, n+1)
	c.arcs = make([]Arc[W], 0, futures+n-1)
	if f.futures.at(0) {
		return nil, b.noNgramTree("words")
	}
	zero := semiring.Zero[W]()
	at := int64(1) // in futures
	final, word := 0, 0
	look := ngramLookup{tree: t, words: words, depth: make([]int32, n), place: make([]int, 1, n+1), stays: make([]int32, 0, futures), budget: 64*(n+futures) + 1<<20}
	for s := range StateID(n) {
		c.finals[s] = zero
		if f.final.at(int64(s)) {
			if final == len(f.ends) {
				return nil, b.fail("more final states than %d", len(f.ends))
			}
			c.finals[s] = f.ends[final]
			final++
		}
		p := t.parent[s]
		var shorter []Arc[W] // that read the words of the parent
		if s > 0 {
			look.depth[s] = look.depth[p] + 1
			c.arcs = append(c.arcs, Arc[W]{Weight: f.back[s], NextState: p})
			shorter = c.arcs[c.offset[p]:c.offset[p+1]]
			if p > 0 {
				shorter = shorter[1:] // backing off
			}
		}
		for ; at < futures+n+1 && f.futures.at(at); at++ {
			if word == len(words) {
				return nil, b.noNgramTree("words")
			}
			w := words[word]
			if word > look.place[s] && words[word-1] >= w {
				return nil, b.fail("the words after context %d are not in order", s)
			}
			to, stay := StateID(0), int32(0)
			if i, ok := look.shorter(s, w); ok {
				to, stay = look.longer(s, shorter[i].NextState, look.stays[look.place[p]+i])
			} else if to, stay, ok = look.next(s, w); !ok {
				return nil, b.fail("state %d: contexts too long to look up", s)
			}
			c.arcs = append(c.arcs, Arc[W]{w, w, f.w[word], to})
			look.stays = append(look.stays, stay)
			word++
		}
		at++
		look.place = append(look.place, word)
		c.offset = append(c.offset, int64(len(c.arcs)))
	}
	if at != futures+n+1 || word != len(words) || final != len(f.ends) {
		return nil, b.noNgramTree("words")
	}
	c.props.Store(uint64(b.properties(c)))
	return c, nil
}

// ngramLookup finds where arcs lead, for one context after the other, parents first.
type ngramLookup struct {
	tree   *ngramTree
	words  []Label
	depth  []int32 // words of each context
	place  []int   // of the first word that each context reads
	stays  []int32 // how much of its context each word's arc keeps
	budget int64   // words of contexts that may be looked up one by one
}

// shorter finds w among the words of the parent of s.
func (l *ngramLookup) shorter(s StateID, w Label) (int, bool) {
	if s == 0 {
		return 0, false
	}
	p := l.tree.parent[s]
	return slices.BinarySearch(l.words[l.place[p]:l.place[p+1]], w)
}

// longer returns where a word leads from s that leads from its parent to the context to, and
// keeps stay words: to one word more, if that is remembered.
func (l *ngramLookup) longer(s, to StateID, stay int32) (StateID, int32) {
	if to != 0 && stay == l.depth[l.tree.parent[s]] {
		if q, ok := l.tree.child(to, l.tree.word[s]); ok {
			return q, stay + 1
		}
	}
	return to, stay
}

// next looks w up from the newest word on; false says that the budget is spent.
func (l *ngramLookup) next(s StateID, w Label) (StateID, int32, bool) {
	if l.budget -= int64(l.depth[s]) + 1; l.budget < 0 {
		return 0, 0, false
	}
	to, stay := l.tree.next(s, w)
	return to, stay, true
}

// bitmap is bits in words of 64, the lowest first.
type bitmap []uint64

func (m bitmap) at(i int64) bool { return m[i>>6]>>(i&63)&1 != 0 }
func (m bitmap) set(i int64)     { m[i>>6] |= 1 << (i & 63) }

func newBitmap(n int64) bitmap { return make(bitmap, (n+63)/64) }

// bits reads n bits, rounded up to whole words.
func (b *bodyReader[W]) bits(n int64, read *int64) (bitmap, error) {
	words := (n + 63) / 64
	m := make(bitmap, 0, b.room(words, 8))
	for range words {
		x, err := b.int64()
		if err != nil {
			return nil, err
		}
		m = append(m, uint64(x))
		*read += 8
	}
	return m, nil
}

// labels reads n labels.
func (b *bodyReader[W]) labels(n int64, read *int64) ([]Label, error) {
	l := make([]Label, 0, b.room(n, 4))
	for range n {
		x, err := b.int32()
		if err != nil {
			return nil, err
		}
		l = append(l, Label(x))
		*read += 4
	}
	return l, nil
}

// ngram writes f as an ngram file, its states in the order of the tree of contexts.
func (b *bodyWriter[W]) ngram(f Expanded[W], h *Header) error {
	size := b.layout.size
	if size == 0 || size&(size-1) != 0 {
		return fmt.Errorf("fst: an ngram file cannot hold arcs of type %q", h.ArcType)
	}
	t, order, err := ngramContexts(f)
	if err != nil {
		return err
	}
	n := int64(f.NumStates())
	zero := semiring.Zero[W]()
	var futures, finals int64
	for q := range StateID(n) {
		for _, e := range f.Arcs(q) {
			if e.ILabel != Epsilon {
				futures++
			}
		}
		if !f.Final(q).Equal(zero) {
			finals++
		}
	}
	contextBits, futureBits, finalBits := newBitmap(2*n+1), newBitmap(futures+n+1), newBitmap(n)
	contextBits.set(0)
	var words, weights [3][]byte // of contexts, of futures; of backing off, of ending, of reading a word
	le := binary.LittleEndian
	words[0] = le.AppendUint32(nil, ^uint32(0))
	weights[0] = zero.AppendBinary(nil)
	context, future := int64(2), int64(1)
	for s, q := range order {
		if w := f.Final(q); !w.Equal(zero) {
			finalBits.set(int64(s))
			weights[1] = w.AppendBinary(weights[1])
		}
		for k := t.first[s]; k < t.first[s+1]; k++ {
			contextBits.set(context)
			context++
			words[0] = le.AppendUint32(words[0], uint32(t.word[k]))
			weights[0] = f.Arcs(order[k])[0].Weight.AppendBinary(weights[0])
		}
		context++
		for _, e := range f.Arcs(q) {
			if e.ILabel != Epsilon {
				futureBits.set(future)
				future++
				words[1] = le.AppendUint32(words[1], uint32(e.ILabel))
				weights[2] = e.Weight.AppendBinary(weights[2])
			}
		}
		future++
	}
	words[0] = le.AppendUint32(words[0], 0) // there is room for one more than there are
	weights[0] = append(weights[0], make([]byte, size)...)
	weights[2] = append(weights[2], make([]byte, size)...)
	h.Version, h.Start, h.NumStates = ngramVersion, 1, n
	h.Properties = Expandable | Acceptor | IDeterministic | ODeterministic | Epsilons | IEpsilons | OEpsilons | ILabelSorted | OLabelSorted |
		Weighted | Cyclic | InitialAcyclic | NotTopSorted | Accessible | CoAccessible | NotString
	out := h.appendBinary(nil)
	begin := len(out)
	for _, x := range []int64{n, futures, finals} {
		out = le.AppendUint64(out, uint64(x))
	}
	for _, m := range []bitmap{contextBits, futureBits, finalBits} {
		for _, x := range m {
			out = le.AppendUint64(out, x)
		}
	}
	out = append(append(out, words[0]...), words[1]...)
	for (len(out)-begin)%size != 0 {
		out = append(out, 0)
	}
	for _, w := range weights {
		out = append(out, w...)
	}
	return b.write(out)
}

// ngramContexts finds the tree of contexts of a back-off model, and its states in
// breadth-first order of that tree, children by their oldest words. The start comes
// first among the children of the root: its word is ε.
func ngramContexts[W semiring.Weight[W]](f Expanded[W]) (*ngramTree, []StateID, error) {
	fail := func(format string, args ...any) (*ngramTree, []StateID, error) {
		return nil, nil, fmt.Errorf("fst: a file of type ngram holds a back-off model: "+format+": %w", append(args, ErrCompact)...)
	}
	const needs = Acceptor | IDeterministic | ILabelSorted | IEpsilons | Accessible
	if !PropertiesOf[W](f, needs).Has(needs) {
		return fail("an accessible deterministic acceptor with ε-arcs, sorted")
	}
	n := f.NumStates()
	backoff := func(q StateID) (StateID, bool) {
		if arcs := f.Arcs(q); len(arcs) > 0 && arcs[0].ILabel == Epsilon {
			return arcs[0].NextState, true
		}
		return NoState, false
	}
	root := f.Start()
	for steps := 0; ; steps++ {
		next, ok := backoff(root)
		if !ok {
			break
		}
		if steps == n {
			return fail("backing off from the start state does not end")
		}
		root = next
	}
	if root == f.Start() {
		return fail("the start state must back off")
	}
	// The oldest word of a context is the word by which its path leaves the root.
	word := make([]Label, n)
	seen := make([]bool, n)
	type visit struct {
		q StateID
		w Label
	}
	queue := []visit{{f.Start(), 0}}
	for _, e := range f.Arcs(root) {
		queue = append(queue, visit{e.NextState, e.ILabel})
	}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		if seen[v.q] {
			continue
		}
		seen[v.q] = true
		word[v.q] = v.w
		for _, e := range f.Arcs(v.q) {
			if e.ILabel != Epsilon && !seen[e.NextState] {
				queue = append(queue, visit{e.NextState, v.w})
			}
		}
	}
	word[f.Start()] = 0
	children := make([][]StateID, n)
	for q := range StateID(n) {
		p, ok := backoff(q)
		if !ok {
			if q != root {
				return fail("state %d does not back off", q)
			}
			continue
		}
		children[p] = append(children[p], q)
	}
	t := &ngramTree{}
	order := []StateID{root}
	t.word, t.parent = []Label{NoLabel}, []StateID{0}
	for s := 0; s < len(order); s++ {
		t.first = append(t.first, StateID(len(order)))
		k := children[order[s]]
		slices.SortFunc(k, func(p, q StateID) int { return ascending(word[p], word[q]) })
		for i, q := range k {
			if i > 0 && word[k[i-1]] == word[q] {
				return fail("states %d and %d remember the same words", k[i-1], q)
			}
			order = append(order, q)
			t.word = append(t.word, word[q])
			t.parent = append(t.parent, StateID(s))
		}
	}
	t.first = append(t.first, StateID(len(order)))
	if len(order) != n {
		return fail("%d of %d states back off to the first in the end", len(order), n)
	}
	if len(order) < 2 || order[1] != f.Start() {
		return fail("the start state must back off to the state that remembers no words")
	}
	return t, order, nil
}

func ascending(a, b Label) int { return cmp.Compare(a, b) }
