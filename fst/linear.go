package fst

import (
	"errors"
	"fmt"

	"github.com/tropica-fst/tropica/fst/engine"
	"github.com/tropica-fst/tropica/semiring"
)

// LinearModel is a log-linear model of sequences, as a machine whose arcs are computed
// from tables of features and not kept. A tagger reads words and puts out a tag for
// each, future words late; a classifier puts out a class first, and then reads. The
// weight of a path is the product of the weights of the features that fire on it.
//
// Features come in groups; a word has at most one feature in a group. Each group has a trie of
// contexts: pairs of a feature and an output, the newest last. A context falls back to its longest
// suffix in the trie, as in a back-off n-gram model. The tables, the machine that they stand for,
// its numbering and the files (linear-tagger, linear-classifier) are those of OpenFst's extension
// linear.
//
// A LinearModel does not change; it may be shared by goroutines. Expander makes the machine
// of it. LinearBuilder makes a model from text, ReadLinear reads one from a file.
type LinearModel[W semiring.Weight[W]] struct {
	classes  int   // of a classifier; 0 of a tagger
	future   int   // words that the longest window looks ahead
	maxInput Label // words are 1 … maxInput
	groups   []linearGroup[W]
	words    []linearRange // of a word: its possible outputs, in pool; all outputs where that is empty
	pool     []Label
	outputs  []Label // all
	features []Label // features[word·len(groups)+g], NoLabel where a word has none

	isyms, osyms *SymbolTable
}

// Labels beside the real ones in contexts: of the start and the end of a sentence.
const (
	linearStart Label = -3
	linearEnd   Label = -2
)

// Bounds on what a model may ask for without having it: the window that states hold, and
// the entries of the table of features, which is as large as words times groups.
const (
	maxLinearFuture = 1 << 10
	maxLinearTable  = 1 << 28
)

type linearRange struct{ begin, length int64 }

// linearGroup is a trie of contexts. Node 0 is the empty context; an edge of the trie is
// entry child-1 of edges.
type linearGroup[W semiring.Weight[W]] struct {
	delay int   // how much less it looks ahead than the longest window
	start int32 // node before a sentence
	edges *Table[linearEdge]
	nodes []linearNode[W]
	next  []int32 // where to go on after a node: one without children is left at once
}

type linearEdge struct {
	parent  int32
	in, out Label
}

type linearNode[W any] struct {
	back          int32 // the context that it falls back to; -1 of the empty one
	weight, final W     // fallen back to, too
}

const noNode int32 = -1

func hashLinearEdge(e linearEdge) uint64 {
	return Mix(uint64(uint32(e.parent))<<32|uint64(uint32(e.in))) ^ Mix(uint64(uint32(e.out)))
}

// find returns the child under (in, out) of the first node with one, from node on along what it
// falls back to; noNode if there is none. The edge (NoLabel, NoLabel) to the start is
// none that is found.
func (g *linearGroup[W]) find(in, out Label, node int32) int32 {
	if in == NoLabel && out == NoLabel {
		return noNode
	}
	for ; node != noNode; node = g.nodes[node].back {
		if i := g.edges.Find(linearEdge{node, in, out}); i != NoState {
			return int32(i) + 1
		}
	}
	return noNode
}

// walk follows a feature and an output from a node, and multiplies the weight onto w.
func (g *linearGroup[W]) walk(node int32, in, out Label, w W) (int32, W) {
	if in == linearStart {
		return g.start, w // the group looks ahead less than others: its first word has not come yet
	}
	next := g.find(in, out, node)
	if next == noNode {
		next = g.find(in, NoLabel, node)
	}
	if next == noNode {
		next = g.find(NoLabel, out, node)
	}
	if next == noNode {
		next = 0
	}
	return g.next[next], w.Times(g.nodes[next].weight)
}

// step is walk in a group for a word, or a mark of the sentence's bounds.
func (m *LinearModel[W]) step(group int, node int32, word, out Label, w W) (int32, W) {
	feature := word
	if word >= 0 {
		feature = m.features[int(word)*len(m.groups)+group]
	}
	return m.groups[group].walk(node, feature, out, w)
}

// possible returns the outputs that a word can have.
func (m *LinearModel[W]) possible(word Label) []Label {
	if word >= 0 {
		if r := m.words[word]; r.length > 0 {
			return m.pool[r.begin : r.begin+r.length]
		}
	}
	return m.outputs
}

// Type is the type of its file: linear-tagger or linear-classifier.
func (m *LinearModel[W]) Type() string {
	if m.classes > 0 {
		return "linear-classifier"
	}
	return "linear-tagger"
}

// Words returns the highest label of a word. Others have no arcs.
func (m *LinearModel[W]) Words() Label { return m.maxInput }

// Groups returns the number of groups of features; a classifier has one for each class
// and each file of features.
func (m *LinearModel[W]) Groups() int { return len(m.groups) }

// InputSymbols returns the table that names words, or nil.
func (m *LinearModel[W]) InputSymbols() *SymbolTable { return m.isyms }

// OutputSymbols returns the table that names tags or classes, or nil.
func (m *LinearModel[W]) OutputSymbols() *SymbolTable { return m.osyms }

// ErrLinearStates reports a machine of a linear model with more states than can be numbered.
var ErrLinearStates = errors.New("fst: the machine of a linear model has more states than can be numbered")

// LinearExpander computes the machine of a model. Its states are what is still needed of
// the past: of a tagger the words of the window and a node for each group, of a
// classifier the class and a node for each of its groups. It is no shared thing, as no
// Expander is.
type LinearExpander[W semiring.Weight[W]] struct {
	m      *LinearModel[W]
	states tupleTable
	state  []int32 // at hand
	next   []int32
	one    W
}

// Expander returns an Expander of the machine: arcs are in the order of their input
// labels. All of it is large, one arc for each word and output at each state: where a
// few words are needed, Match has them.
func (m *LinearModel[W]) Expander() *LinearExpander[W] {
	width := m.future + len(m.groups)
	if m.classes > 0 {
		width = 1 + len(m.groups)/m.classes
	}
	return &LinearExpander[W]{m: m, states: tupleTable{width: width}, state: make([]int32, width), next: make([]int32, width), one: semiring.One[W]()}
}

// Start returns the start state.
func (x *LinearExpander[W]) Start() (StateID, error) {
	s := x.next
	if x.m.classes > 0 {
		for i := range s {
			s[i] = -1
		}
		return x.states.id(s)
	}
	for i := range x.m.future {
		s[i] = int32(linearStart)
	}
	for g := range x.m.groups {
		s[x.m.future+g] = x.m.groups[g].start
	}
	return x.states.id(s)
}

// Expand returns the final weight of q and appends its arcs to dst.
//
// Cost: O(words · outputs · groups · length of contexts).
func (x *LinearExpander[W]) Expand(q StateID, dst []Arc[W]) (W, []Arc[W], error) {
	final := x.Final(q)
	dst, err := x.Match(q, Epsilon, dst)
	for l := Label(1); l <= x.m.maxInput && err == nil; l++ {
		dst, err = x.Match(q, l, dst)
	}
	return final, dst, err
}

// Final returns the final weight of q.
func (x *LinearExpander[W]) Final(q StateID) W {
	m, s := x.m, x.states.at(q)
	w := x.one
	switch {
	case m.classes > 0 && s[0] < 0:
		return semiring.Zero[W]()
	case m.classes > 0:
		for i, node := range s[1:] {
			w = w.Times(m.groups[m.groupOf(s[0], i)].nodes[node].final)
		}
	case !x.flushed(s):
		return semiring.Zero[W]()
	default:
		for g, node := range s[m.future:] {
			w = w.Times(m.groups[g].nodes[node].final)
		}
	}
	return w
}

// groupOf returns the number of a class' group i.
func (m *LinearModel[W]) groupOf(class int32, i int) int { return i*m.classes + int(class) - 1 }

// flushed reports whether no word is left in the window.
func (x *LinearExpander[W]) flushed(s []int32) bool {
	f := x.m.future
	return f == 0 || Label(s[f-1]) == linearStart || Label(s[0]) == linearEnd
}

// Match appends to dst the arcs of q with input label l, in order; those with ε where l is
// ε. They are what Expand has of them; but states are numbered as they are mentioned.
//
// Cost: O(outputs · groups · length of contexts).
func (x *LinearExpander[W]) Match(q StateID, l Label, dst []Arc[W]) ([]Arc[W], error) {
	m := x.m
	if l < 0 || l > m.maxInput {
		return dst, nil
	}
	s := append(x.state[:0], x.states.at(q)...)
	if m.classes > 0 {
		return x.classify(s, l, dst)
	}
	in := l
	if l == Epsilon {
		if x.flushed(s) {
			return dst, nil
		}
		in = linearEnd
	} else if m.future > 0 && Label(s[m.future-1]) == linearEnd {
		return dst, nil
	}
	seen := in // the word that gets its output now
	if m.future > 0 {
		seen = Label(s[0])
	}
	if seen == linearStart {
		return x.arc(s, in, linearStart, dst)
	}
	for _, out := range m.possible(seen) {
		var err error
		if dst, err = x.arc(s, in, out, dst); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// arc appends a tagger's arc.
func (x *LinearExpander[W]) arc(s []int32, in, out Label, dst []Arc[W]) ([]Arc[W], error) {
	m := x.m
	next := x.next
	if m.future > 0 {
		copy(next, s[1:m.future])
		next[m.future-1] = int32(in)
	}
	w := x.one
	for g := range m.groups {
		word := in
		if d := m.groups[g].delay; d > 0 {
			word = Label(s[m.future-d])
		}
		next[m.future+g], w = m.step(g, s[m.future+g], word, out, w)
	}
	t, err := x.states.id(next)
	return append(dst, Arc[W]{ILabel: max(in, 0), OLabel: max(out, 0), Weight: w, NextState: t}), err
}

// classify is Match of a classifier.
func (x *LinearExpander[W]) classify(s []int32, l Label, dst []Arc[W]) ([]Arc[W], error) {
	m, next := x.m, x.next
	if s[0] < 0 {
		if l != Epsilon {
			return dst, nil
		}
		for class := int32(1); class <= int32(m.classes); class++ {
			next[0] = class
			for i := range next[1:] {
				next[1+i] = m.groups[m.groupOf(class, i)].start
			}
			t, err := x.states.id(next)
			if err != nil {
				return dst, err
			}
			dst = append(dst, Arc[W]{OLabel: Label(class), Weight: x.one, NextState: t})
		}
		return dst, nil
	}
	if l == Epsilon {
		return dst, nil
	}
	w := x.one
	next[0] = s[0]
	for i := range next[1:] {
		next[1+i], w = m.step(m.groupOf(s[0], i), s[1+i], l, Label(s[0]), w)
	}
	t, err := x.states.id(next)
	return append(dst, Arc[W]{ILabel: l, Weight: w, NextState: t}), err
}

// Bytes returns how much memory the table of states holds.
func (x *LinearExpander[W]) Bytes() int64 {
	return 4*int64(cap(x.states.tuples)) + x.states.index.Bytes()
}

// tupleTable numbers tuples of one width in the order in which they first appear, as Table does
// keys of one type.
type tupleTable struct {
	width  int
	n      int
	tuples []int32
	index  engine.Index
}

func (t *tupleTable) at(q StateID) []int32 {
	if int(q) >= t.n {
		panic(fmt.Sprintf("fst: state %d of a machine that has mentioned %d states", q, t.n))
	}
	return t.tuples[int(q)*t.width:][:t.width:t.width]
}

func hashTuple(s []int32) uint64 {
	h := uint64(0)
	for _, x := range s {
		h = Mix(h ^ uint64(uint32(x)))
	}
	return h
}

// id returns the number of s, which is copied if it is new.
func (t *tupleTable) id(s []int32) (StateID, error) {
	p := t.index.Probe(uint32(hashTuple(s)))
	for q := p.Next(); q >= 0; q = p.Next() {
		if equalTuples(t.at(StateID(q)), s) {
			return StateID(q), nil
		}
	}
	if t.n > maxState {
		return NoState, ErrLinearStates
	}
	t.tuples = append(t.tuples, s...)
	t.index.AddAt(p, int32(t.n))
	t.n++
	return StateID(t.n - 1), nil
}

func equalTuples(a, b []int32) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
