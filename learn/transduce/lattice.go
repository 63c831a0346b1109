package transduce

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/fst"
)

// arc is an operation in a lattice.
type arc struct {
	from, to    int32
	place, past int32 // pieces whose scores add up to the arc's
	out         rune  // what it puts out, 0 for nothing
	loss        float32
	cost        float32 // of the lexicon
	right, gold bool    // on a path that may end in the true output; on its best alignment
}

// lattice has the alignments of an input with outputs. State 0 is the start, the last one the only
// end. Arcs lead to higher states, and are in the order of the states that they lead to.
type lattice struct {
	states int
	arcs   []arc
	at     []int32 // arcs into state q: arcs[at[q]:at[q+1]]
	pieces []piece
	reach  bool // the true output is in the lattice
}

// piece is what the score of an arc depends on: an operation at a place of the input, or an
// operation after a history of outputs and operations.
type piece struct {
	past  bool
	i, k  int16  // place, of a history the number of the input character there; insertions so far
	kind  uint16 // of the operation before, with the length of a run of copies
	op    op
	out   uint16 // number of what it puts out
	prior uint64 // numbers of the last outputs, the last one lowest
}

// Kinds of histories: those of operations, with copies by the length of their run.
const (
	afterStart  = 0
	afterCopy   = 1
	longestCopy = 3 // lengths of runs are told apart up to this
	afterOther  = 3 // added to the kind of other operations
)

func after(kind uint16, o op) uint16 {
	if o != opCopy {
		return kindOf(o) + afterOther
	}
	if kind >= afterCopy && kind < afterCopy+longestCopy {
		return min(kind+1, afterCopy+longestCopy-1)
	}
	return afterCopy
}

// lossName says what the loss of an output is.
type lossName string

const (
	lossEdit    lossName = "edit"
	lossHamming lossName = "hamming"
	lossZeroOne lossName = "zero-one"
)

// builder makes the lattice of one input.
type builder struct {
	ctx     context.Context
	a       *alphabet
	t       *text
	p       *probs
	order   int
	beam    float64 // a path counts if the channel has it within this of the best one
	most    int     // arcs; 0 is any number
	lexicon *Lexicon
	weight  float64 // of the lexicon's costs

	// For training: the true output, its best alignment, and the loss; else nil.
	gold  *edits
	truth *truth
	loss  lossName

	rows    *rows
	rest    []float64 // best score of the channel from (place, insertions) on
	states  map[state]int32
	list    []state
	score   []float64 // best of the channel to the state
	buckets [][]int32
	arcs    []arc
	pieces  map[piece]int32
	table   []piece
	ends    bool // some path ends
	// The lattice had too many arcs, and has a narrower beam.
	narrowed bool
	best     float64 // of those that end, by the channel
}

// state of the search; see the fields of piece.
type state struct {
	i, k  int16
	kind  uint16
	right int16 // characters of the true output that were made, -1 when something else was
	gold  bool  // the best alignment so far
	row   int32
	node  fst.StateID
	prior uint64
}

// errLarge reports a lattice beyond the bound on its arcs.
var errLarge = errors.New("the lattice is too large")

func (b *builder) position(i, k int) int { return i*(b.p.k+1) + k }

// upper computes the best scores of the rest.
func (b *builder) upper() {
	n, p := len(b.t.in), b.p
	b.rest = make([]float64, (n+1)*(p.k+1))
	for i := n; i >= 0; i-- {
		next := 0.0
		if i < n {
			next = slices.Max(p.places(i)) + b.rest[b.position(i+1, 0)]
		}
		for k := p.k; k >= 0; k-- {
			row := p.gaps(i, k)
			v := row[0] + next
			if k < p.k {
				v = max(v, slices.Max(row[1:])+b.rest[b.position(i, k+1)])
			}
			b.rest[b.position(i, k)] = v
		}
	}
}

// build returns the lattice of all paths within the beam of the best one by the channel. With a
// lexicon that is the best path of its strings, and the lattice has no other. Paths of the true
// output are those within the beam of the best of them. The given alignment, which another channel
// chose, is always kept.
//
// Where the lattice has more than the most arcs, the beam shrinks by steps of a quarter, and with a
// lexicon the search for its strings by steps of a seventh.
func (b *builder) build() (*lattice, error) {
	b.upper()
	if b.gold != nil && b.loss == lossEdit {
		if len(b.t.y) > 250 {
			return nil, fmt.Errorf("an output of %d characters; the edit loss takes 250 at most", len(b.t.y))
		}
		b.rows = newRows(b.t.y)
	}
	whole, beam := b.rest[0], b.beam
	limit := whole - beam
	large, ended := math.Inf(-1), math.Inf(1) // limits that were too low, and that let a string end
	for range 100 {
		err := b.search(limit, beam)
		switch {
		case errors.Is(err, errLarge):
			b.narrowed = true
			if large = limit; b.lexicon == nil || limit >= whole-beam {
				beam *= 0.75
				limit = whole - beam
			} else if limit = whole - 0.85*(whole-limit); limit > ended {
				limit = ended
			}
			continue
		case err != nil:
			return nil, err
		case b.lexicon == nil:
		case !b.ends:
			if next := whole - 1.5*(whole-limit); next > large && whole-next < farthest {
				limit = next
				continue
			}
		default:
			ended = limit
			if next := b.best - beam; next < limit && large < next {
				limit = next
				continue
			}
		}
		return b.finish(), nil
	}
	return nil, errLarge
}

// farthest is how much worse than the best path, by the channel, strings of a lexicon are looked
// for.
const farthest = 400

// search makes states and arcs of paths whose channel score may reach limit, and of paths of the
// true output within the beam.
func (b *builder) search(limit, beam float64) error {
	n := len(b.t.in)
	if b.states == nil {
		b.states, b.pieces = map[state]int32{}, map[piece]int32{}
	}
	clear(b.states)
	clear(b.pieces)
	b.list, b.score, b.arcs, b.table = b.list[:0], b.score[:0], b.arcs[:0], b.table[:0]
	b.buckets = sized(b.buckets, (n+1)*(b.p.k+1))
	for i := range b.buckets {
		b.buckets[i] = b.buckets[i][:0]
	}
	b.ends, b.best = false, math.Inf(-1)
	start := state{kind: afterStart, right: -1, node: fst.NoState}
	for range b.order {
		start.prior = start.prior<<16 | edge
	}
	if b.lexicon != nil {
		start.node = b.lexicon.f.Start()
	}
	rightLimit := math.Inf(1)
	if b.gold != nil {
		start.right, start.gold = 0, true
		rightLimit = *b.truth.at(0, 0, 0) - beam
	}
	b.put(start, 0)
	for _, bucket := range b.buckets {
		if b.ctx != nil && b.ctx.Err() != nil {
			return context.Cause(b.ctx)
		}
		for at := range bucket {
			b.expand(bucket[at], limit, rightLimit)
			if b.most > 0 && len(b.arcs) > b.most {
				return errLarge
			}
		}
	}
	return nil
}

// put returns the number of a state that a path of the given score reaches.
func (b *builder) put(s state, score float64) int32 {
	id, ok := b.states[s]
	if !ok {
		id = int32(len(b.list))
		b.states[s] = id
		b.list, b.score = append(b.list, s), append(b.score, score)
		at := b.position(int(s.i), int(s.k))
		b.buckets[at] = append(b.buckets[at], id)
	} else if score > b.score[id] {
		b.score[id] = score
	}
	return id
}

func (b *builder) piece(p piece) int32 {
	id, ok := b.pieces[p]
	if !ok {
		id = int32(len(b.table))
		b.pieces[p] = id
		b.table = append(b.table, p)
	}
	return id
}

// expand makes the arcs of a state.
func (b *builder) expand(id int32, limit, rightLimit float64) {
	s := b.list[id]
	i, k := int(s.i), int(s.k)
	here := b.score[id]
	gaps := b.p.gaps(i, k)
	if k < b.p.k {
		for c, lp := range gaps[1:] {
			b.try(id, s, insertion(uint16(c+1)), here+lp, i, k+1, limit, rightLimit)
		}
	}
	if i == len(b.t.in) {
		b.end(id, s, here+gaps[0], limit, rightLimit)
		return
	}
	here += gaps[0]
	for c, lp := range b.p.places(i) {
		o := op(c)
		if c > 1 {
			o = substitution(uint16(c - 1))
		}
		b.try(id, s, o, here+lp, i+1, 0, limit, rightLimit)
	}
}

// try makes the arc of one operation, which leads to place i with k insertions, if some path
// through it is to be kept.
func (b *builder) try(id int32, s state, o op, score float64, i, k int, limit, rightLimit float64) {
	within := score+b.rest[b.position(i, k)] >= limit
	if !within && s.right < 0 {
		return
	}
	at := int(s.i)
	r, number := b.a.emits(b.t, at, o)
	next := state{i: int16(i), k: int16(k), kind: after(s.kind, o), right: s.right, row: s.row,
		node: s.node, prior: s.prior}
	if s.right >= 0 && r != 0 {
		if int(s.right) < len(b.t.y) && b.t.y[s.right] == r {
			next.right++
		} else {
			next.right = -1
		}
	}
	next.gold = s.gold && b.golden(at, int(s.k), o)
	if !within && !next.gold && (next.right < 0 || score+*b.truth.at(i, k, int(next.right)) < rightLimit) {
		return
	}
	e := arc{from: id, out: r}
	if r != 0 {
		if b.order > 0 {
			next.prior = s.prior<<16 | uint64(number)
			if b.order < 4 {
				next.prior &= 1<<(16*b.order) - 1
			}
		}
		if b.lexicon != nil {
			var c float64
			if next.node, c = b.lexicon.next(s.node, r); next.node == fst.NoState && next.right < 0 {
				return
			}
			e.cost = float32(b.weight * c)
		}
		if b.rows != nil {
			var more float64
			next.row, more = b.rows.next(s.row, r)
			e.loss = float32(more)
		}
	}
	if b.gold != nil && b.loss == lossHamming {
		e.loss = b.hamming(at, int(s.k), o)
	}
	e.right, e.gold = next.right >= 0, next.gold
	e.place = b.piece(piece{i: s.i, k: int16(min(s.k, far)), op: o})
	p := piece{past: true, i: int16(b.t.at(at)), k: int16(min(s.k, 1)), kind: s.kind, op: o, out: number,
		prior: s.prior}
	e.past = b.piece(p)
	e.to = b.put(next, score)
	b.arcs = append(b.arcs, e)
}

// golden tells whether an operation is that of the best alignment.
func (b *builder) golden(i, k int, o op) bool {
	in := b.gold.insert[i]
	switch {
	case o.inserts():
		return k < len(in) && in[k] == o
	case o == opEnd:
		return k == len(in)
	}
	return k == len(in) && b.gold.at[i] == o
}

// hamming counts what differs from the best alignment: an operation, or missing insertions.
func (b *builder) hamming(i, k int, o op) float32 {
	in := b.gold.insert[i]
	switch {
	case o.inserts():
		if k < len(in) && in[k] == o {
			return 0
		}
		return 1
	case o == opEnd:
		return float32(max(0, len(in)-k))
	}
	missing := float32(max(0, len(in)-k))
	if b.gold.at[i] != o {
		missing++
	}
	return missing
}

// end makes the arc to the end.
func (b *builder) end(id int32, s state, score, limit, rightLimit float64) {
	right := b.gold != nil && int(s.right) == len(b.t.y)
	gold := right && s.gold && b.golden(int(s.i), int(s.k), opEnd)
	if score < limit && !gold && !(right && score >= rightLimit) {
		return
	}
	e := arc{from: id, to: -1, right: right, gold: gold}
	if b.lexicon != nil {
		final := math.Inf(1)
		if s.node != fst.NoState {
			final = float64(b.lexicon.f.Final(s.node))
		}
		switch {
		case !math.IsInf(final, 1):
			e.cost = float32(b.weight * final)
			b.ends = true
			b.best = max(b.best, score)
		case !right:
			return
		}
	}
	if b.gold != nil {
		switch {
		case b.rows != nil:
			e.loss = float32(b.rows.end(s.row))
		case b.loss == lossHamming:
			e.loss = b.hamming(int(s.i), int(s.k), opEnd)
		case b.loss == lossZeroOne && !right:
			e.loss = 1
		}
	}
	e.place = b.piece(piece{i: s.i, k: int16(min(s.k, far)), op: opEnd})
	e.past = b.piece(piece{past: true, i: int16(b.t.at(int(s.i))), k: int16(min(s.k, 1)), kind: s.kind,
		op: opEnd, prior: s.prior})
	b.arcs = append(b.arcs, e)
}

// finish drops what reaches no end, and numbers states so that arcs lead to higher ones.
func (b *builder) finish() *lattice {
	order := make([]int32, 0, len(b.list))
	for _, bucket := range b.buckets {
		order = append(order, bucket...)
	}
	rank := make([]int32, len(b.list))
	for at, id := range order {
		rank[id] = int32(at)
	}
	// Arcs were made state by state in this order, so the last are the latest.
	alive, rightly := make([]bool, len(b.list)), make([]bool, len(b.list))
	for at := len(b.arcs) - 1; at >= 0; at-- {
		e := &b.arcs[at]
		if e.to < 0 || alive[e.to] {
			alive[e.from] = true
		}
		e.right = e.right && (e.to < 0 || rightly[e.to])
		rightly[e.from] = rightly[e.from] || e.right
	}
	l := &lattice{}
	number := make([]int32, len(b.list))
	for _, id := range order {
		number[id] = int32(l.states)
		if alive[id] {
			l.states++
		}
	}
	if l.states == 0 {
		return l
	}
	end := int32(l.states)
	l.states++
	l.reach = rightly[0]
	used := make([]int32, len(b.table))
	keep := func(p int32) int32 {
		if used[p] == 0 {
			l.pieces = append(l.pieces, b.table[p])
			used[p] = int32(len(l.pieces))
		}
		return used[p] - 1
	}
	l.at = make([]int32, l.states+1)
	count := 0
	for _, e := range b.arcs {
		if to := e.to; to < 0 || alive[to] {
			count++
			if to < 0 {
				l.at[end+1]++
			} else {
				l.at[number[to]+1]++
			}
		}
	}
	for q := range l.states {
		l.at[q+1] += l.at[q]
	}
	next := slices.Clone(l.at)
	l.arcs = make([]arc, count)
	for _, e := range b.arcs {
		if e.to >= 0 && !alive[e.to] {
			continue
		}
		e.from = number[e.from]
		if e.to < 0 {
			e.to = end
		} else {
			e.to = number[e.to]
		}
		e.place, e.past = keep(e.place), keep(e.past)
		l.arcs[next[e.to]] = e
		next[e.to]++
	}
	return l
}
