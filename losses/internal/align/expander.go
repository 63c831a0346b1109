package align

import (
	"context"
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// Edit distance when labels expand to strings.
//
// Position t of an input offers a list of labels; label k expands to a string
// of zero or more symbols. A choice of labels u spells e(u), the concatenation,
// and its loss is the edit distance of e(u) and a reference r_1 … r_m.
//
// The loss machine of such a lattice is built forwards. Its states at depth t are the columns D[j]
// = ed(expansion of u_1 … u_t, r_1 … r_j), j = 0 … m. D[m] is subtracted from them and put on the
// arcs. A label applies the usual row update once for each of its symbols. That alone is exact and
// far too large, since the columns remember everything spelt so far. Every new column is therefore
// clamped.
//
// # Clamp
//
// Let k range over [kmin, kmax], the lengths that the labels of the remaining positions can spell.
// Let s_j = m-j and c_j(f) = ed(f, r_{j+1} … r_m), so that a completion f of length k ends with the
// loss min_j D[j] + c_j(f). For bounds best(j,k) ≤ c_j(f) ≤ worst(j,k) let
//
//	G_k  = min_j D[j] + worst(j,k)       a loss that is guaranteed, whatever f of length k follows
//	H_j  = max_k G_k - best(j,k)
//	D'[j] = min(D[j], H_j)
//
// Then D' and D have the same final loss with every completion. Lowering can only lower it. An
// entry that was lowered to H_j contributes H_j + c_j(f) ≥ G_k - best(j,k) + c_j(f) ≥ G_k, no less
// than the final loss. So D may be replaced by D', and columns that differ only where it cannot
// matter become equal.
//
// For unit costs best = |k-s_j| and worst = max(k,s_j). H_j needs only the k nearest to s_j,
// because G_k grows by 0 or 1 when k grows by 1. The steps D[j]-D[j-1] of a column are -1, 0 or 1;
// D' keeps this, and the clamp never acts where kmin ≤ s_j ≤ kmax. There D[j] ≤ H_j by the bound on
// steps. So for unit costs a column is two bit vectors. The row update is that of G. Myers ("A fast
// bit-vector algorithm for approximate string matching based on dynamic programming", J. ACM
// 46(3):395–415, 1999) in its form for global distances (H. Hyyrö, "A bit-vector algorithm for
// computing Levenshtein and Damerau edit distances", Nordic J. Computing 10:29–39, 2003). The clamp
// replaces the steps at the two ends of the column by +1 and by -1.
//
// # Minimization
//
// A backward pass merges columns that have the same losses up to a constant for all completions.
// phi(c) is the loss of the path from c that takes the first class of labels everywhere. Two
// columns are equal when each class leads to equal columns with equal offset + phi(target) -
// phi(c). This is weighted minimization by pushing and merging (M. Mohri, "Minimization algorithms
// for sequential transducers", Theoretical Computer Science 234:177–201, 2000). Its functional
// costs one addition a column instead of the least loss. The result is the smallest deterministic
// machine of the lattice.

// EditCosts are those of losses.EditCosts.
type EditCosts struct{ Insert, Delete, Substitute, Match int }

var unitCosts = EditCosts{Insert: 1, Delete: 1, Substitute: 1}

// Costs and lengths are bounded so that all sums of the clamp fit into an int32:
// at most 4·maxEditCost for each of maxExpandLength symbols.
const (
	maxEditCost     = 1 << 10
	MaxExpandLength = 1 << 18
)

// ExpandOptions are those of losses.ExpandOptions, with their defaults in place.
type ExpandOptions struct {
	Costs      EditCosts
	MaxEdges   int   // 0 is none
	MaxBytes   int64 // at most 0 is none
	NoClamp    bool
	NoMinimize bool
	Ctx        context.Context // may be nil
}

// expandStats are those of losses.ExpandStats.
type expandStats struct{ Built, Edges, Columns int }

// Outspent reports a machine that outgrew its budget. The fields are those of
// losses.EdgeBudgetError.
type Outspent struct {
	Edges               int
	Bytes               int64
	Position, Positions int
	Columns             int
}

// Error says where the build stopped.
func (e *Outspent) Error() string {
	return fmt.Sprintf("losses: loss machine of expansions: position %d of %d with %d columns", e.Position,
		e.Positions, e.Columns)
}

// Expander builds the layers of loss machines of expansions. It keeps its working memory from one
// build to the next.
type Expander struct {
	Stats expandStats // of the last build

	opts   ExpandOptions
	Ref    []int
	Labels [][][]int
	kmin   []int // kmin[t], kmax[t]: least and greatest length spelt by positions t …
	kmax   []int

	layers []expandLayer
	spent  int // layers in use

	// Columns of unit costs: bit j-1 of pv (mv) is set where D[j]-D[j-1] is 1 (-1).
	cur, next []packedColumn
	// Columns of any costs: m+1 numbers each, the last of them 0.
	curWide, nextWide []int32
	wide              wideScratch

	table  []int32
	phi    [2][]int32 // of minimize
	merged [2][]int32
	values []uint32
	arcs   [2][]uint32

	classes classScratch
}

// expandLayer holds the transitions that read one position.
type expandLayer struct {
	Class   []uint32 // label to class
	Classes int
	columns int
	next    []int32 // next[c*classes+k]: the column reached from c by class k
	offset  []int32 // loss added on the way; of either sign
}

// Begin starts a build.
func (b *Expander) Begin(ref []int, labels [][][]int, opts ExpandOptions) {
	b.opts, b.Ref, b.Labels = opts, ref, labels
	b.Stats = expandStats{}
	b.spent = 0
}

// Build fills b.layers[:len(labels)], and returns the constant of every loss.
func (b *Expander) Build(ref []int, labels [][][]int, opts ExpandOptions) (init int32, err error) {
	costs := opts.Costs
	for _, c := range []int{costs.Insert, costs.Delete, costs.Substitute, costs.Match} {
		if c < -maxEditCost || c > maxEditCost {
			return 0, fmt.Errorf("losses: edit distance of expansions: cost %d is outside [-%d, %d]", c,
				maxEditCost, maxEditCost)
		}
	}
	b.Begin(ref, labels, opts)
	n := len(labels)
	b.kmin, b.kmax = grown(b.kmin, n+1), grown(b.kmax, n+1)
	b.kmin[n], b.kmax[n] = 0, 0
	dead := false
	for t := n - 1; t >= 0; t-- {
		lo, hi := 0, 0
		for k, e := range labels[t] {
			if k == 0 || len(e) < lo {
				lo = len(e)
			}
			hi = max(hi, len(e))
		}
		b.kmin[t], b.kmax[t] = b.kmin[t+1]+lo, b.kmax[t+1]+hi
		dead = dead || len(labels[t]) == 0
	}
	if dead {
		for t := range n {
			b.classify(t, b.newLayer(0))
		}
		return 0, nil
	}
	if len(ref)+b.kmax[0] >= MaxExpandLength {
		return 0, fmt.Errorf("losses: edit distance of expansions: a reference of %d symbols against up to "+
			"%d: too long", len(ref), b.kmax[0])
	}
	if costs == unitCosts && len(ref) <= 64 {
		init, err = b.buildPacked()
	} else {
		init, err = b.buildWide(costs)
	}
	if err != nil {
		return 0, err
	}
	b.Stats.Built++ // the last column
	b.Stats.Columns = b.Stats.Built
	if !b.opts.NoMinimize {
		init += b.minimize()
		b.Stats.Columns = 1
		for t := range b.layers[:n] {
			b.Stats.Columns += b.layers[t].columns
		}
	}
	return init, nil
}

// Machine makes a core of the layers.
func (b *Expander) Machine(init int32) (*layered.Machine, error) {
	var out layered.Builder
	out.SetBase(float64(init))
	zero := out.Value(0)
	// Offsets to indices of values, through a table over their range.
	lo, hi := int32(0), int32(0)
	layers := b.layers[:b.spent]
	for t := range layers {
		for _, o := range layers[t].offset {
			lo, hi = min(lo, o), max(hi, o)
		}
	}
	b.values = grown(b.values, int(hi-lo)+1)
	clear(b.values) // excluded stands for not yet
	live := true
	for t := range layers {
		l := &layers[t]
		live = live && l.columns > 0
		for i, o := range l.offset {
			v := &b.values[o-lo]
			if *v == layered.Excluded {
				*v = out.Value(float64(o))
			}
			l.offset[i] = int32(*v)
		}
		b.arcs = [2][]uint32{b.arcs[0][:0], b.arcs[1][:0]}
		for i, q := range l.next {
			b.arcs[0] = append(b.arcs[0], uint32(q))
			b.arcs[1] = append(b.arcs[1], uint32(l.offset[i]))
		}
		if err := out.Layer(layered.Spec{
			Labels: len(l.Class), Class: l.Class, Classes: l.Classes, Columns: l.columns,
			Next: b.arcs[0], Off: b.arcs[1],
		}); err != nil {
			return nil, err
		}
	}
	if !live {
		return out.Finish(nil)
	}
	return out.Finish([]uint32{zero})
}

// newLayer starts the layer of the next position.
func (b *Expander) newLayer(columns int) *expandLayer {
	if b.spent == len(b.layers) {
		b.layers = append(b.layers, expandLayer{})
	}
	l := &b.layers[b.spent]
	l.columns = columns
	l.next, l.offset = l.next[:0], l.offset[:0]
	b.spent++
	return l
}

// charge counts the edges of the layer that is about to be built.
func (b *Expander) charge(t, columns, edges int) error {
	b.Stats.Built += columns
	b.Stats.Edges += edges
	if b.opts.MaxEdges > 0 && b.Stats.Edges > b.opts.MaxEdges {
		return &Outspent{Edges: b.opts.MaxEdges, Position: t, Positions: len(b.Labels),
			Columns: b.Stats.Built}
	}
	return b.Check(t, 0, 0)
}

// Check compares the memory in use with its budget, and checks the context. Call it at the start of
// a layer and whenever its columns have doubled.
func (b *Expander) Check(t, columns, columnBytes int) error {
	limit := b.opts.MaxBytes
	bytes := 8*int64(b.Stats.Edges) + 8*int64(columns) + 2*int64(columns)*int64(columnBytes)
	if limit > 0 && bytes > limit {
		return &Outspent{Bytes: limit, Position: t, Positions: len(b.Labels),
			Columns: b.Stats.Built + columns}
	}
	if b.opts.Ctx != nil {
		if err := b.opts.Ctx.Err(); err != nil {
			return fmt.Errorf("losses: loss machine of expansions: stopped at position %d of %d: %w", t,
				len(b.Labels), err)
		}
	}
	return nil
}

// classScratch numbers the labels of one position by how they act on columns.
type classScratch struct {
	where []int32 // first positions in the reference of the symbols of all classes, -1 where absent
	ends  []int32 // of class k: where[ends[k]:ends[k+1]]
	seen  []int32 // the same for the label at hand
	masks []uint64
}

// classify fills l.class and l.classes for the labels of position t. Two labels are in one class
// when their symbols have, one by one, the same first occurrence in the reference, or none. Symbols
// outside of the reference act alike. Classes are numbered in order of first appearance.
func (b *Expander) classify(t int, l *expandLayer) {
	s := &b.classes
	s.where, s.ends = s.where[:0], append(s.ends[:0], 0)
	l.Class = l.Class[:0]
	l.Classes = 0
	for _, e := range b.Labels[t] {
		s.seen = s.seen[:0]
		for _, p := range e {
			s.seen = append(s.seen, int32(slices.Index(b.Ref, p)))
		}
		k := 0
		for k < l.Classes && !slices.Equal(s.seen, s.where[s.ends[k]:s.ends[k+1]]) {
			k++
		}
		if k == l.Classes {
			s.where = append(s.where, s.seen...)
			s.ends = append(s.ends, int32(len(s.where)))
			l.Classes++
		}
		l.Class = append(l.Class, uint32(k))
	}
}

// Position starts the next layer, of so many columns, and returns its classes of labels.
func (b *Expander) Position(t, columns int) (*expandLayer, error) {
	l := b.newLayer(columns)
	b.classify(t, l)
	return l, b.charge(t, columns, columns*l.Classes)
}

// Symbols returns, for class k of the layer at hand, where the reference has the symbols of its
// labels first; -1 where it lacks one.
func (b *Expander) Symbols(k int) []int32 {
	s := &b.classes
	return s.where[s.ends[k]:s.ends[k+1]]
}

// grown returns s with length n; its contents are arbitrary.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n+n/2)[:n]
	}
	return s[:n]
}
