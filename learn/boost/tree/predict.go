package tree

import (
	"context"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/run"
)

// packed is a node as prediction wants it: twelve bytes, its children next to each
// other. A number goes to the left child, at child, unless it is above bound, and to
// the next otherwise. A leaf is its own left child and has the bound +Inf, so that
// rows may wait there for others.
type packed struct {
	bound   float32
	feature uint32 // and the flags below
	child   int32
}

const (
	featureMask  = 1<<30 - 1
	missingRight = 1 << 31
	levelBit     = 1 << 30
)

// flat is a tree for prediction.
type flat struct {
	nodes  []packed
	values []float64 // by node of nodes
	origin []int32   // node of the Tree that each was
	levels bool      // some split is categorical
	depth  int       // longest path
	most   int       // path length that most rows do not exceed
}

// flatten packs t level by level; leaf values are multiplied by weight.
func flatten(t *Tree, weight float64) flat {
	f := flat{nodes: make([]packed, 1, len(t.Feature)), values: make([]float64, len(t.Feature)),
		origin: make([]int32, 1, len(t.Feature))}
	depth := make([]int, 1, len(t.Feature))
	mean, leaves := 0, 0
	for at := 0; at < len(f.nodes); at++ {
		n := f.origin[at]
		f.depth = max(f.depth, depth[at])
		if t.Feature[n] < 0 {
			f.nodes[at] = packed{bound: float32(math.Inf(1)), child: int32(at)}
			f.values[at] = weight * t.Value[n]
			mean += depth[at]
			leaves++
			continue
		}
		p := packed{bound: floor32(t.Threshold[n]), feature: uint32(t.Feature[n]), child: int32(len(f.nodes))}
		if t.Flags[n]&MissingLeft == 0 {
			p.feature |= missingRight
		}
		if t.set(int(n)) >= 0 {
			p.feature |= levelBit
			f.levels = true
		}
		f.nodes[at] = p
		f.nodes = append(f.nodes, packed{}, packed{})
		f.origin = append(f.origin, t.Left[n], t.Right[n])
		depth = append(depth, depth[at]+1, depth[at]+1)
	}
	f.most = min(f.depth, mean/leaves+2)
	return f
}

// Forest predicts with many trees at once. out[o] of a row is the sum of Weight·h over the trees
// added to output o, in the order of addition, each term rounded before it is added. It must not be
// changed while it predicts; several goroutines may predict at a time.
type Forest struct {
	Ctx context.Context // when it is cancelled, Predict ends with its error; nil is never cancelled

	outputs int
	trees   []forestTree
	columns []int32 // that some tree reads
	slot    map[int32]uint32
}

type forestTree struct {
	flat
	tree   *Tree
	output int
}

// NewForest returns an empty forest of that many outputs.
func NewForest(outputs int) *Forest {
	return &Forest{outputs: outputs, slot: map[int32]uint32{}}
}

// Add adds a tree and keeps what prediction needs of it.
func (f *Forest) Add(t *Tree, weight float64, output int) {
	ft := forestTree{flat: flatten(t, weight), tree: t, output: output}
	for at := range ft.nodes {
		p := &ft.nodes[at]
		if t.Feature[ft.origin[at]] < 0 {
			continue
		}
		j := int32(p.feature & featureMask)
		s, ok := f.slot[j]
		if !ok {
			s = uint32(len(f.columns))
			f.slot[j] = s
			f.columns = append(f.columns, j)
		}
		p.feature = p.feature&^featureMask | s
	}
	f.trees = append(f.trees, ft)
}

// forestRows rows descend a tree together. That is enough to hide the latency of each step, and few
// enough for their features to stay in the cache.
const forestRows = 128

// predictRows rows are one task: half a millisecond with a hundred small trees, so that a
// few thousand rows keep several workers busy.
const predictRows = 8 * forestRows

// Predict adds the forest's outputs for all rows of x to dst, row by row. The
// columns of x must be those that the trees were grown on. workers is a number of
// goroutines, 0 for one a processor; results do not depend on it.
func (f *Forest) Predict(dst []float64, x *table.Table, workers int) error {
	if len(dst) != x.Rows*f.outputs {
		return fmt.Errorf("tree: %w: room for %d scores, %d rows have %d each", ErrData, len(dst),
			x.Rows, f.outputs)
	}
	for _, j := range f.columns {
		if int(j) >= len(x.Columns) || x.Sparse == nil && len(x.Columns[j].Values) != x.Rows {
			return fmt.Errorf("tree: %s: %w: the trees read column %d of %d, with a value for each of %d rows",
				x.Title(), ErrData, j, len(x.Columns), x.Rows)
		}
	}
	tasks := (x.Rows + predictRows - 1) / predictRows
	scratch := make([]walk, min(run.WorkersOf(workers), tasks))
	run.Jobs(workers, tasks, func(w, task int) {
		if cancelled(f.Ctx) != nil {
			return
		}
		s := &scratch[w]
		if s.features == nil {
			s.features = make([]float32, forestRows*max(len(f.columns), 1))
		}
		from, to := task*predictRows, min(x.Rows, (task+1)*predictRows)
		for ; from < to; from += forestRows {
			n := min(forestRows, to-from)
			f.block(s, dst[from*f.outputs:(from+n)*f.outputs], x, from, n)
		}
	})
	return cancelled(f.Ctx)
}

// walk is one worker's rows on their way.
type walk struct {
	features []float32 // row by row, the forest's columns
	at       [forestRows]int32
}

func (f *Forest) block(s *walk, dst []float64, x *table.Table, from, n int) {
	stride := len(f.columns)
	if x.Sparse != nil {
		f.walkAll(s, dst, n, s.gather(f.columns, x, from, n))
		return
	}
	sum := float32(0) // NaN if any feature is
	for k, j := range f.columns {
		at := k
		for _, v := range x.Columns[j].Values[from : from+n] {
			s.features[at] = v
			sum += v - v // 0, or NaN for what is missing or infinite
			at += stride
		}
	}
	f.walkAll(s, dst, n, sum == sum)
}

// walkAll adds the outputs of all trees for n rows whose features s has; whole says that none is
// missing.
func (f *Forest) walkAll(s *walk, dst []float64, n int, whole bool) {
	stride := len(f.columns)
	for i := range f.trees {
		t := &f.trees[i]
		switch {
		case t.levels:
			s.levels(t, stride, n)
		case whole:
			s.numbers(&t.flat, stride, n)
		default:
			s.missing(&t.flat, stride, n)
		}
		out := dst[t.output:]
		if f.outputs == 1 {
			for i, at := range s.at[:n] {
				out[i] += t.values[at]
			}
			continue
		}
		for i, at := range s.at[:n] {
			out[i*f.outputs] += t.values[at]
		}
	}
}

// numbers descends trees where nothing is missing and nothing categorical. It moves all rows a
// level at a time, so that their chains of loads overlap, and the few left on deep trees one by
// one.
func (s *walk) numbers(t *flat, stride, n int) {
	nodes, features := t.nodes, s.features
	state := s.at[:n]
	clear(state)
	for range t.most {
		row := 0
		for i, at := range state {
			p := &nodes[at]
			next := p.child
			if features[row+int(p.feature&featureMask)] > p.bound {
				next++
			}
			state[i] = next
			row += stride
		}
	}
	if t.most == t.depth {
		return
	}
	for i, at := range state {
		for nodes[at].child != at {
			p := &nodes[at]
			at = p.child
			if features[i*stride+int(p.feature&featureMask)] > p.bound {
				at++
			}
		}
		state[i] = at
	}
}

// missing is numbers where something may be missing.
func (s *walk) missing(t *flat, stride, n int) {
	for i := range s.at[:n] {
		at := int32(0)
		for t.nodes[at].child != at {
			p := &t.nodes[at]
			at = p.child
			if v := s.features[i*stride+int(p.feature&featureMask)]; v > p.bound || v != v &&
				p.feature&missingRight != 0 {
				at++
			}
		}
		s.at[i] = at
	}
}

// levels walks down a tree with categorical splits.
func (s *walk) levels(t *forestTree, stride, n int) {
	for i := range s.at[:n] {
		at := int32(0)
		for t.nodes[at].child != at {
			p := &t.nodes[at]
			if !t.tree.goesLeft(t.origin[at], s.features[i*stride+int(p.feature&featureMask)]) {
				at = p.child + 1
			} else {
				at = p.child
			}
		}
		s.at[i] = at
	}
}

// predict walks down the columns: where there are many rows and no levels, all of them
// a level at a time, as numbers does.
func (t *Tree) predict(dst []float64, x *table.Table, from int) {
	if x.Sparse != nil {
		t.predictSparse(dst, x, from)
		return
	}
	if len(dst) < 64 || t.Set != nil {
		for i := range dst {
			at := int32(0)
			for t.Feature[at] >= 0 {
				if t.goesLeft(at, x.Columns[t.Feature[at]].Values[from+i]) {
					at = t.Left[at]
				} else {
					at = t.Right[at]
				}
			}
			dst[i] = t.Value[at]
		}
		return
	}
	f := flatten(t, 1)
	columns := make([][]float32, len(x.Columns))
	for j := range columns {
		columns[j] = x.Columns[j].Values[from : from+len(dst)]
	}
	var state [forestRows]int32
	for start := 0; start < len(dst); start += forestRows {
		out := dst[start:min(start+forestRows, len(dst))]
		at := state[:len(out)]
		clear(at)
		for range f.depth {
			moved := int32(0)
			for i, was := range at {
				p := &f.nodes[was]
				v, next := columns[p.feature&featureMask][start+i], p.child
				if v > p.bound {
					next++
				}
				if v != v {
					next = p.child + int32(p.feature>>31)
				}
				at[i] = next
				moved |= next ^ was
			}
			if moved == 0 {
				break
			}
		}
		for i, leaf := range at {
			out[i] = f.values[leaf]
		}
	}
}
