package run

import (
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/engine"
)

// Words numbers strings that grow at their end and shrink at their front. Equal strings have the
// same number, and 0 is the empty one. Strings that were made of each other share their labels.
// Each is the last labels on the way to a node of a tree, and so takes a few words of memory
// whatever its length.
//
// A string is found by a polynomial hash, which both ends change in constant time, and then
// compared. Nodes that were made one after the other lie side by side, and are passed, or compared,
// as a whole.
type Words struct {
	labels []fst.Label // of each node
	parent []int32     // of each node, -1 of those at the root
	run    []int32     // the first node of the way to each on which all are one after the other

	words  []word
	index  engine.Index // of words but the empty one
	powers []uint64     // of wordBase
}

// word is the last n labels on the way to node.
type word struct {
	node, n int32
	hash    uint64
}

const wordBase = 0x9e3779b97f4a7c15

func NewWords() Words {
	return Words{words: []word{{node: -1}}, powers: []uint64{1}}
}

// Bytes is what the strings take.
func (t *Words) Bytes() int64 {
	return t.index.Bytes() + int64(cap(t.labels)+cap(t.parent)+cap(t.run))*4 +
		int64(cap(t.words))*int64(unsafe.Sizeof(word{})) + int64(cap(t.powers))*8
}

// Push returns the number of string k followed by l, which is k where l is ε.
func (t *Words) Push(k int32, l fst.Label) int32 {
	if l == fst.Epsilon {
		return k
	}
	return t.extended(t.words[k], l)
}

// Pop returns the first label of string k followed by l, ε if there is none, and the number of what
// comes after it. O(1) time where labels lie side by side.
func (t *Words) Pop(k int32, l fst.Label) (first fst.Label, rest int32) {
	if k == 0 {
		return l, 0
	}
	w := t.words[k]
	w.n--
	first = t.labels[t.before(w.node, w.n)]
	if w.n == 0 {
		w.node = -1
	}
	for len(t.powers) <= int(w.n) {
		t.powers = append(t.powers, t.powers[len(t.powers)-1]*wordBase)
	}
	w.hash -= labelHash(first) * t.powers[w.n]
	if l != fst.Epsilon {
		return first, t.extended(w, l)
	}
	if w.n == 0 {
		return first, 0
	}
	return first, t.number(w)
}

// extended returns the number of w followed by l.
func (t *Words) extended(w word, l fst.Label) int32 {
	longer := word{node: int32(len(t.labels)), n: w.n + 1, hash: w.hash*wordBase + labelHash(l)}
	k, p := t.find(longer, func(c word) bool {
		return t.labels[c.node] == l &&
			t.alike(t.parent[c.node], w.node, w.n)
	})
	if k < 0 {
		t.addNode(w.node, l)
		k = t.add(longer, p)
	}
	return k
}

// addNode adds a node below parent.
func (t *Words) addNode(parent int32, l fst.Label) {
	run := int32(len(t.labels))
	if run > 0 && parent == run-1 {
		run = t.run[parent]
	}
	t.labels, t.parent, t.run = append(t.labels, l), append(t.parent, parent), append(t.run, run)
}

// Only returns a table of the strings with the numbers words alone, and their numbers there.
// O(words + labels) time, in whatever order they are.
func (t *Words) Only(words []int32) (Words, map[int32]int32) {
	need := make([]int32, len(t.labels)) // so many labels on the way to each node
	for _, k := range words {
		w := t.words[k]
		if w.n > 0 {
			need[w.node] = max(need[w.node], w.n)
		}
	}
	for node := len(need) - 1; node >= 0; node-- { // parents come before their children
		if n := need[node] - 1; n > 0 {
			parent := t.parent[node]
			need[parent] = max(need[parent], n)
		}
	}
	kept := NewWords()
	kept.powers = t.powers
	to := make([]int32, len(t.labels))
	for node, n := range need {
		parent := int32(-1)
		if n > 1 {
			parent = to[t.parent[node]]
		}
		if n > 0 {
			to[node] = int32(len(kept.labels))
			kept.addNode(parent, t.labels[node])
		}
	}
	now := map[int32]int32{0: 0}
	for _, k := range words {
		if _, ok := now[k]; !ok {
			w := t.words[k]
			w.node = to[w.node]
			now[k] = kept.number(w)
		}
	}
	return kept, now
}

func labelHash(l fst.Label) uint64 { return fst.Mix(uint64(uint32(l))) }

// find returns the number of the string with the hash and length of w that is the same, or -1 if
// there is none. It also returns where the search ended.
func (t *Words) find(w word, same func(word) bool) (int32, engine.Probe) {
	p := t.index.Probe(uint32(fst.Mix(w.hash)))
	for k := p.Next(); k >= 0; k = p.Next() {
		if c := t.words[k]; c.hash == w.hash && c.n == w.n && same(c) {
			return k, p
		}
	}
	return -1, p
}

// number returns the number of w, whose labels are there.
func (t *Words) number(w word) int32 {
	k, p := t.find(w, func(c word) bool { return t.alike(c.node, w.node, w.n) })
	if k < 0 {
		k = t.add(w, p)
	}
	return k
}

// add gives w, for which a search ended at p, the next number.
func (t *Words) add(w word, p engine.Probe) int32 {
	k := int32(len(t.words))
	t.words = append(t.words, w)
	t.index.AddAt(p, k)
	return k
}

// before returns the node k steps before a node.
func (t *Words) before(node, k int32) int32 {
	for node-t.run[node] < k {
		first := t.run[node]
		k -= node - first + 1
		node = t.parent[first]
	}
	return node - k
}

// alike reports whether the last n labels on the ways to a and b are the same.
func (t *Words) alike(a, b, n int32) bool {
	for n > 0 && a != b {
		k := min(n, a-t.run[a]+1, b-t.run[b]+1)
		if !slices.Equal(t.labels[a-k+1:a+1], t.labels[b-k+1:b+1]) {
			return false
		}
		if n -= k; n > 0 {
			a, b = t.before(a, k), t.before(b, k)
		}
	}
	return true
}
