package tree

import (
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// Flags of a node.
const (
	MissingLeft uint8 = 1 << iota // what is missing goes left
	OutsideLeft                   // a level beyond the node's set goes left
)

// Tree is a binary tree in arrays with one entry a node; node 0 is the root. At an inner node a
// number x goes left if x <= Threshold as real numbers, and a level if it is in the node's set.
// Missing values (NaN) go as the flags say.
//
// Several goroutines may use a tree at once while none changes it. After changing Feature,
// Threshold, Left, Right, Flags or sets call Check; leaf values may be changed freely.
type Tree struct {
	Feature   []int32 // column of the split; -1 at a leaf
	Threshold []float64
	Left      []int32 // children, always of a higher number; -1 at a leaf
	Right     []int32
	Flags     []uint8
	Value     []float64 // of leaves

	Gain  []float64 // of inner nodes' splits
	Cover []float64 // Σ H of the node's training rows
	Count []int32   // number of them

	Set  []int32    // categorical split: index into Sets; else -1. nil if there is none
	Sets [][]uint64 // levels that go left, level l in bit l%64 of word l/64

}

func newTree(nodes int) *Tree {
	t := &Tree{
		Feature: make([]int32, nodes), Threshold: make([]float64, nodes), Left: make([]int32, nodes),
		Right: make([]int32, nodes),
		Flags: make([]uint8, nodes), Value: make([]float64, nodes), Gain: make([]float64, nodes),
		Cover: make([]float64, nodes), Count: make([]int32, nodes),
	}
	for i := range t.Feature {
		t.Feature[i], t.Left[i], t.Right[i] = -1, -1, -1
	}
	return t
}

// SetLevels makes the split at node at one by levels: those in set, level l in bit
// l%64 of word l/64, go left.
func (t *Tree) SetLevels(at int, set []uint64) {
	if t.Set == nil {
		t.Set = slices.Repeat([]int32{-1}, len(t.Feature))
	}
	t.Set[at] = int32(len(t.Sets))
	t.Sets = append(t.Sets, set)
}

// Splits is the number of inner nodes.
func (t *Tree) Splits() int { return len(t.Feature) / 2 }

// Leaves returns the values of the leaves, in the order of their nodes.
func (t *Tree) Leaves() []float64 {
	var w []float64
	for at, f := range t.Feature {
		if f < 0 {
			w = append(w, t.Value[at])
		}
	}
	return w
}

// Scale multiplies all leaf values by a.
func (t *Tree) Scale(a float64) {
	for at, f := range t.Feature {
		if f < 0 {
			t.Value[at] *= a
		}
	}
}

// Check returns an error unless the arrays describe a tree over that many columns. Call it before
// using a tree that was not made by a Grower.
func (t *Tree) Check(columns int) error {
	n := len(t.Feature)
	if n == 0 || n%2 == 0 || n > math.MaxInt32 {
		return fmt.Errorf("tree: %w: %d nodes; a binary tree has an odd number", ErrData, n)
	}
	for i, got := range []int{len(t.Threshold), len(t.Left), len(t.Right), len(t.Flags), len(t.Value),
		len(t.Gain), len(t.Cover), len(t.Count)} {
		if got != n {
			name := []string{"Threshold", "Left", "Right", "Flags", "Value", "Gain", "Cover", "Count"}[i]
			return fmt.Errorf("tree: %w: %s has %d entries for %d nodes", ErrData, name, got, n)
		}
	}
	if t.Set != nil && len(t.Set) != n {
		return fmt.Errorf("tree: %w: %d set numbers for %d nodes", ErrData, len(t.Set), n)
	}
	seen := make([]bool, n)
	for at := range n {
		if t.Feature[at] < 0 {
			if t.Left[at] != -1 || t.Right[at] != -1 {
				return fmt.Errorf("tree: node %d: %w: a leaf with children", at, ErrData)
			}
			if v := t.Value[at]; v-v != 0 {
				return fmt.Errorf("tree: node %d: %w: leaf value %v", at, ErrData, v)
			}
			continue
		}
		if int(t.Feature[at]) >= columns {
			return fmt.Errorf("tree: node %d: %w: it splits on column %d of %d", at, ErrData, t.Feature[at], columns)
		}
		for _, c := range []int32{t.Left[at], t.Right[at]} {
			if int(c) <= at || int(c) >= n || seen[c] {
				return fmt.Errorf("tree: node %d: %w: child %d is not a later node of its own", at, ErrData, c)
			}
			seen[c] = true
		}
		if s := t.set(at); s >= len(t.Sets) {
			return fmt.Errorf("tree: node %d: %w: set %d of %d", at, ErrData, s, len(t.Sets))
		} else if s < 0 && math.IsNaN(t.Threshold[at]) {
			return fmt.Errorf("tree: node %d: %w: the threshold is not a number", at, ErrData)
		}
	}
	for at := 1; at < n; at++ {
		if !seen[at] {
			return fmt.Errorf("tree: node %d: %w: no parent", at, ErrData)
		}
	}
	return nil
}

func (t *Tree) set(at int) int {
	if t.Set == nil {
		return -1
	}
	return int(t.Set[at])
}

// Depth is the number of edges of the longest path.
func (t *Tree) Depth() int {
	depth, most := make([]int, len(t.Feature)), 0
	for at, f := range t.Feature {
		most = max(most, depth[at])
		if f >= 0 {
			depth[t.Left[at]], depth[t.Right[at]] = depth[at]+1, depth[at]+1
		}
	}
	return most
}

// goesLeft is the rule at inner node at.
func (t *Tree) goesLeft(at int32, x float32) bool {
	if x != x {
		return t.Flags[at]&MissingLeft != 0
	}
	if s := t.set(int(at)); s >= 0 {
		set := t.Sets[s]
		if !(x >= 0 && x < float32(64*len(set))) {
			return t.Flags[at]&OutsideLeft != 0
		}
		l := int(x)
		return set[l>>6]>>(l&63)&1 == 1
	}
	return float64(x) <= t.Threshold[at]
}

// Leaf returns the leaf that a row of features belongs to. O(depth).
func (t *Tree) Leaf(row []float32) int {
	at := int32(0)
	for t.Feature[at] >= 0 {
		if t.goesLeft(at, row[t.Feature[at]]) {
			at = t.Left[at]
		} else {
			at = t.Right[at]
		}
	}
	return int(at)
}

// Predict stores the tree's values of the rows from, from+1, … of x in dst. x must
// have the columns that the tree was grown on.
func (t *Tree) Predict(dst []float64, x *table.Table, from int) {
	t.predict(dst, x, from)
}
