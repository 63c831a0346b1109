package g2p

import (
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/fst"
)

// Symbols of histories: the ends of a word, and behind them what the word is made of.
const (
	wordStart = iota
	wordEnd
	firstSymbol
)

// histories is the deterministic automaton of the n-grams of some strings, with back-off. A state
// is a string of at most order-1 symbols that was seen; reading a symbol leads to the longest
// suffix that was seen. The set is closed under prefixes and suffixes, so that this suffix is known
// from the state alone. A step pays the weights of all n-grams that end with it.
//
// It is the automaton of joint n-gram models (M. Bisani and H. Ney, "Joint-sequence models for
// grapheme-to-phoneme conversion", Speech Communication 50:434–451, 2008), and the label patterns
// of conditional random fields of variable order (N. Ye, W. S. Lee, H. L. Chieu and D. Wu,
// "Conditional random fields with features of high order for sequence labeling", NIPS 2009; N. V.
// Cuong, N. Ye, W. S. Lee and H. L. Chieu, "Conditional random field with high-order dependencies",
// JMLR 15, 2014).
type histories struct {
	order   int
	least   int     // length of the shortest n-gram that has a weight
	damping float64 // value of an n-gram is this to the power of its length less one

	child *fst.Table[uint64] // node<<32 | symbol; n-gram k of the table is node k+1, and 0 the empty one
	depth []uint8
	fail  []int32 // longest proper suffix
	byLen []int32 // nodes by length
}

// newHistories counts the n-grams of strings, and keeps those seen at least minCount times; shorter
// ones than least are kept all.
func newHistories(order, least, minCount int, damping float64, strings [][]int32) (*histories, error) {
	all := fst.NewTable[uint64](fst.Mix)
	var counts []int32
	depth := []uint8{0}
	padded := []int32{}
	for _, s := range strings {
		padded = append(append(append(padded[:0], wordStart), s...), wordEnd)
		for i := range padded {
			node := int32(0)
			for n := 1; n <= order && i+n <= len(padded); n++ {
				id, isNew := all.ID(uint64(node)<<32 | uint64(padded[i+n-1]))
				if isNew {
					counts = append(counts, 0)
					depth = append(depth, uint8(n))
				}
				if id >= math.MaxInt32-1 {
					return nil, fmt.Errorf("g2p: more than %d histories; lower their order", math.MaxInt32)
				}
				counts[id]++
				node = int32(id) + 1
			}
		}
	}
	h := &histories{order: order, least: least, damping: damping, child: fst.NewTable[uint64](fst.Mix)}
	number := make([]int32, len(depth)) // of nodes that are kept
	for id, n := range counts {
		if int(depth[id+1]) >= least && int(n) < minCount {
			continue
		}
		// What an n-gram begins with is at least as frequent, and came before.
		key := all.Key(fst.StateID(id))
		k, _ := h.child.ID(uint64(number[key>>32])<<32 | key&0xffffffff)
		number[id+1] = int32(k) + 1
	}
	return h, h.link()
}

// link completes an automaton from its n-grams, which may come from a file.
func (h *histories) link() error {
	n := h.child.Len() + 1
	h.depth, h.fail, h.byLen = make([]uint8, n), make([]int32, n), make([]int32, n)
	for node := 1; node < n; node++ {
		parent := h.child.Key(fst.StateID(node-1)) >> 32
		if parent >= uint64(node) || int(h.depth[parent]) >= h.order {
			return fmt.Errorf("history %d continues history %d, which is not before it or too long", node, parent)
		}
		h.depth[node] = h.depth[parent] + 1
		h.byLen[node] = int32(node)
	}
	slices.SortStableFunc(h.byLen, func(a, b int32) int { return int(h.depth[a]) - int(h.depth[b]) })
	for _, node := range h.byLen[1:] {
		if h.depth[node] == 1 {
			continue
		}
		key := h.child.Key(fst.StateID(node - 1))
		suffix := h.child.Find(uint64(h.fail[key>>32])<<32 | key&0xffffffff)
		if suffix == fst.NoState {
			return fmt.Errorf("history %d has a suffix that is not there", node)
		}
		h.fail[node] = int32(suffix) + 1
	}
	return nil
}

// size returns the number of nodes, the empty one included.
func (h *histories) size() int { return len(h.depth) }

// step reads a symbol. It returns the longest n-gram that ends with it, whose weights and those of
// its suffixes are to be paid, and the next state.
func (h *histories) step(state int32, symbol int32) (node, next int32) {
	for {
		if id := h.child.Find(uint64(state)<<32 | uint64(symbol)); id != fst.NoState {
			node = int32(id) + 1
			if int(h.depth[node]) < h.order {
				return node, node
			}
			return node, h.fail[node]
		}
		if state == 0 {
			return 0, 0
		}
		state = h.fail[state]
	}
}

// start returns the state at the beginning of a word.
func (h *histories) start() int32 {
	_, s := h.step(0, wordStart)
	return s
}

// value is that of the feature of a node, 0 where there is none.
func (h *histories) value(node int32) float64 {
	if n := int(h.depth[node]); n >= h.least {
		return math.Pow(h.damping, float64(n-1))
	}
	return 0
}

// cumulate stores in sum the scores of steps: those of a node and all its suffixes, times scale.
func (h *histories) cumulate(w, sum []float64, scale float64) {
	sum[0] = 0
	for _, node := range h.byLen[1:] {
		sum[node] = sum[h.fail[node]] + scale*h.value(node)*w[node]
	}
}

// gather adds to grad the gradient of nodes, given that of steps, which it changes.
func (h *histories) gather(steps, grad []float64) {
	for i := len(h.byLen) - 1; i > 0; i-- {
		node := h.byLen[i]
		grad[node] += h.value(node) * steps[node]
		steps[h.fail[node]] += steps[node]
	}
}
