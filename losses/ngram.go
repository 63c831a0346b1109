package losses

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/tropica-fst/tropica/losses/internal/align"
	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// NGram is L = -log(U + C), where U = Σ_u (times u occurs in y)·(times u occurs
// in the reference) over the strings u of N symbols.
//
// With C = 0 a y that shares no N-gram with the reference has no finite loss. It is left out of
// every sum and maximum, as the thesis' construction does without saying so. C > 0 gives a finite
// loss to all.
//
// Exact. The machine is a count automaton. A column is the longest suffix read that begins an
// N-gram of the reference, with the count so far. Columns are polynomial in the lengths. For N, q ≤
// 2 evaluations do not build it but run the same dynamic program over vectors of counts.
type NGram struct {
	N int
	C float64

	// Budget bounds the machine, which for N ≤ 2 is built only for evaluations that
	// need it.
	Budget
}

// Machine implements Loss. It takes next to no time; layers are built when
// first needed.
func (n NGram) Machine(ref []int, alphabet, l int) (*Machine, error) {
	if err := n.Check(ref, alphabet, l); err != nil {
		return nil, err
	}
	p := &ngramPlan{loss: n, alphabet: alphabet, length: l}
	if err := p.index(ref); err != nil {
		return nil, err
	}
	if err := p.count(); err != nil {
		return nil, err
	}
	m := &Machine{ngram: p}
	if n.N > 2 {
		if err := p.build(m, n.Ctx); err != nil {
			return nil, err
		}
	}
	p.loss.Ctx = nil // it may be done when the machine is used
	m.bytes = 1024 + int64(len(p.delta))*8
	return m, nil
}

// Check is as for Edit.
func (n NGram) Check(ref []int, alphabet, l int) error {
	if err := checkShape(ref, alphabet, l); err != nil {
		return err
	}
	if err := n.Budget.check("ngram"); err != nil {
		return err
	}
	return n.check()
}

func (n NGram) check() error {
	if n.N < 1 {
		return fmt.Errorf("losses: ngram: n = %d, not at least 1", n.N)
	}
	if !(n.C >= 0) || math.IsInf(n.C, 0) {
		return fmt.Errorf("losses: ngram: c = %v, not a finite number of at least 0", n.C)
	}
	return nil
}

// Value returns the loss of y as it is defined; +Inf where U + C is 0.
func (n NGram) Value(y, ref []int) float64 {
	u := 0
	for i := n.N; i <= len(y); i++ {
		for j := n.N; j <= len(ref); j++ {
			same := 1
			for k := range n.N {
				if y[i-1-k] != ref[j-1-k] {
					same = 0
					break
				}
			}
			u += same
		}
	}
	return n.of(u)
}

// of returns -log(k + C).
func (n NGram) of(k int) float64 {
	if k == 0 && n.C == 0 {
		return infinity
	}
	return -math.Log(float64(k) + n.C)
}

// AppendKey implements Loss.
func (n NGram) AppendKey(dst []byte) []byte {
	return appendFloats(appendInts(n.Budget.appendKey(append(dst, 'n')), n.N), n.C)
}

// ngramPlan is the automaton of Aho and Corasick for the reference's N-grams,
// over classes of symbols, and what the dynamic program needs.
type ngramPlan struct {
	loss     NGram
	alphabet int
	length   int
	class    []uint32
	classes  int
	states   int
	delta    []uint32 // state × class: next state
	gain     []uint32 // state × class: occurrences in the reference of the N-gram completed
	most     []int    // by position: the greatest count after it
	top      int      // greatest gain
	mu       sync.Mutex
	done     bool
	err      error
}

// index builds the automaton, unless its trie exceeds the budget.
func (p *ngramPlan) index(ref []int) error {
	var rep []int
	p.class, rep = align.ReferenceClasses(ref, p.alphabet)
	p.classes = len(rep)
	n, k := p.loss.N, p.classes
	const none = math.MaxUint32
	// A trie of the N-grams; its inner nodes are the states, the root state 0.
	var child []uint32
	var count []uint32
	grow := func() uint32 {
		for range k {
			child = append(child, none)
		}
		count = append(count, 0)
		return uint32(len(count) - 1)
	}
	grow()
	depth := []int{0}
	if n > p.length {
		ref = nil // no y contains any
	}
gram:
	for j := n; j <= len(ref); j++ {
		if err := p.loss.over(p.length, 0, 0, 16*int64(len(child))); err != nil {
			return fmt.Errorf("losses: ngram: the n-grams of a reference of %d symbols: %w", len(ref), err)
		}
		for _, r := range ref[j-n : j] {
			if r >= p.alphabet {
				continue gram // no y contains it
			}
		}
		q := uint32(0)
		for _, r := range ref[j-n : j] {
			e := int(q)*k + int(p.class[r])
			if child[e] == none {
				child[e] = grow()
				depth = append(depth, depth[q]+1)
			}
			q = child[e]
		}
		count[q]++
	}
	// Breadth first: failure of a node is the longest proper end of it that is
	// a node. Full N-grams are not states: reading one leads to its failure.
	fail := make([]uint32, len(count))
	order := []uint32{0}
	number := make([]uint32, len(count))
	for i := 0; i < len(order); i++ {
		q := order[i]
		for a := range k {
			c := child[int(q)*k+a]
			via := uint32(0)
			if q != 0 {
				via = child[int(fail[q])*k+a] // complete: fail[q] is shallower
			}
			if c == none {
				child[int(q)*k+a] = via
				continue
			}
			fail[c] = via
			order = append(order, c)
		}
	}
	for _, q := range order {
		if depth[q] < n {
			number[q] = uint32(p.states)
			p.states++
		}
	}
	p.delta, p.gain = make([]uint32, p.states*k), make([]uint32, p.states*k)
	for _, q := range order {
		if depth[q] == n {
			continue
		}
		for a := range k {
			to := child[int(q)*k+a]
			e := int(number[q])*k + a
			if depth[to] == n {
				p.gain[e] = count[to]
				p.top = max(p.top, int(count[to]))
				to = fail[to]
			}
			p.delta[e] = number[to]
		}
	}
	return nil
}

// count finds the greatest count after each position.
func (p *ngramPlan) count() error {
	const none = -1
	best, next := make([]int, p.states), make([]int, p.states)
	for q := range best {
		best[q] = none
	}
	best[0] = 0
	p.most = make([]int, p.length+1)
	for t := range p.length {
		if t&63 == 0 {
			if err := p.loss.stopped(p.length, t); err != nil {
				return err
			}
		}
		for q := range next {
			next[q] = none
		}
		for q, x := range best {
			if x == none {
				continue
			}
			for a := range p.classes {
				e := q*p.classes + a
				to := p.delta[e]
				next[to] = max(next[to], x+int(p.gain[e]))
				p.most[t+1] = max(p.most[t+1], next[to])
			}
		}
		best, next = next, best
	}
	// What finds the columns of the last layer; vectors would have more.
	if found := 4 * int64(p.states) * int64(p.most[p.length]+1); found > p.loss.allowance() {
		return fmt.Errorf("losses: ngram: %d positions with counts up to %d are too many: %w", p.length,
			p.most[p.length], ErrBudget)
	}
	return nil
}

// build makes the layers of m: columns are (state, count). ctx is the caller's and may be nil; the
// context of the loss may be done long ago.
func (p *ngramPlan) build(m *Machine, ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.done {
		p.loss.Ctx = ctx
		err := p.layers(m)
		p.loss.Ctx = nil
		if err != nil && (Budget{Ctx: ctx}).stopped(0, 0) != nil {
			return err // of the context, and no property of the loss
		}
		p.done, p.err = true, err
	}
	return p.err
}

func (p *ngramPlan) layers(m *Machine) error {
	var b Builder
	zero := b.Value(0)
	k := p.classes
	columns := []uint64{0} // state<<32 | count
	total, bytes := 1, int64(0)
	for t := range p.length {
		width := p.most[t+1] + 1
		if err := p.loss.over(p.length, t, total, bytes+4*int64(p.states)*int64(width)); err != nil {
			return err
		}
		id := make([]uint32, p.states*width) // id + 1
		var next []uint64
		to, off := make([]uint32, 0, len(columns)*k), make([]uint32, len(columns)*k)
		for i := range off {
			off[i] = zero
		}
		for _, c := range columns {
			q, n := int(c>>32), int(uint32(c))
			for a := range k {
				q1, n1 := int(p.delta[q*k+a]), n+int(p.gain[q*k+a])
				if t+1 == p.length {
					q1 = 0 // what was read last no longer matters
				}
				e := &id[q1*width+n1]
				if *e == 0 {
					next = append(next, uint64(q1)<<32|uint64(n1))
					*e = uint32(len(next))
				}
				to = append(to, *e-1)
			}
		}
		bytes += layered.WithGraph(len(to), len(columns))
		total += len(next)
		if err := p.loss.over(p.length, t, total, bytes+int64(len(id))*4+int64(cap(next))*8); err != nil {
			return err
		}
		if err := b.Layer(Layer{Labels: p.alphabet, Class: p.class, Classes: k, Columns: len(columns),
			Next: to, Off: off}); err != nil {
			return err
		}
		columns = next
	}
	final := make([]uint32, len(columns))
	for i, c := range columns {
		final[i] = b.Value(p.loss.of(int(uint32(c))))
	}
	made, err := b.Finish(final)
	if err != nil {
		return err
	}
	m.core = made.core
	m.mu.Lock()
	m.bytes += made.bytes
	m.mu.Unlock()
	return nil
}
