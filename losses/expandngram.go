package losses

import (
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/losses/internal/align"
)

// BuildNGram returns the loss machine of labels for an n-gram loss. Its strings are the choices of
// one label a position. The loss of a string is NGram's of its expansion, exactly. With C = 0
// strings that share no n-gram with ref are excluded. A position without labels leaves no string.
//
// A column is a state of the automaton of the reference's n-grams, with the count so far. The state
// is the longest suffix of the symbols so far that begins an n-gram. The last arc carries the loss.
// Columns are at most the states times the counts, both polynomial in the lengths. Edges are
// columns times classes of labels. Labels are in one class when they spell the same, apart from
// symbols that are not in ref. MaxEdges and MaxBytes bound them; Costs, NoClamp and NoMinimize
// belong to edit distances and are not read.
//
// Cost: O(edges) table operations after O(states · symbols of the labels) a position.
//
// Errors: *EdgeBudgetError, the context's error, an n below 1, a C that is negative or not finite.
// ErrBudget reports an automaton beyond the loss' Budget.
func (b *ExpandBuilder) BuildNGram(ref []int, labels Expansions, loss NGram,
	opts *ExpandOptions) (*Machine, error) {
	if err := loss.Budget.check("ngram"); err != nil {
		return nil, err
	}
	if err := loss.check(); err != nil {
		return nil, err
	}
	b.b.Begin(ref, labels, opts.or())
	defer func() { b.Stats = ExpandStats(b.b.Stats) }()
	longest := 0
	for t := range labels {
		most := 0
		for _, e := range labels[t] {
			most = max(most, len(e))
		}
		longest += most
	}
	if len(ref)+longest >= align.MaxExpandLength {
		return nil, fmt.Errorf("losses: n-grams of expansions: a reference of %d symbols against up to %d: "+
			"too long", len(ref), longest)
	}
	// Symbols by their order in the reference, and one number for all others.
	number := map[int]int{}
	plain := make([]int, len(ref))
	for j, r := range ref {
		id, ok := number[r]
		if !ok {
			id = len(number)
			number[r] = id
		}
		plain[j] = id
	}
	p := &ngramPlan{loss: loss, alphabet: len(number) + 1, length: longest}
	if err := p.index(plain); err != nil {
		return nil, err
	}
	if p.top > 0 && int64(longest) > math.MaxUint32/int64(p.top) {
		return nil, fmt.Errorf("losses: n-grams of expansions: up to %d symbols against a reference that "+
			"has an n-gram %d times: too long", longest, p.top)
	}
	var out Builder
	zero := out.Value(0)
	columns := []uint64{0} // state<<32 | count
	for t := range labels {
		l, err := b.b.Position(t, len(columns))
		if err != nil {
			return nil, edgeError(err)
		}
		moves := b.ngramMoves(p, number, l.Classes)
		last := t+1 == len(labels)
		table := fst.NewTable[uint64](fst.Mix)
		b.arcs = [2][]uint32{b.arcs[0][:0], b.arcs[1][:0]}
		for _, c := range columns {
			q, count := uint32(c>>32), uint32(c)
			for k := range l.Classes {
				to := moves[k*p.states+int(q)]
				if last {
					b.arcs[0] = append(b.arcs[0], 0)
					b.arcs[1] = append(b.arcs[1], out.Value(loss.of(int(count+uint32(to)))))
					continue
				}
				id, isNew := table.ID(to>>32<<32 | uint64(count+uint32(to)))
				b.arcs[0], b.arcs[1] = append(b.arcs[0], uint32(id)), append(b.arcs[1], zero)
				if n := table.Len(); isNew && n&1023 == 0 {
					if err := b.b.Check(t, n, 16); err != nil {
						return nil, edgeError(err)
					}
				}
			}
		}
		if err := out.Layer(Layer{Labels: len(l.Class), Class: l.Class, Classes: l.Classes,
			Columns: len(columns), Next: b.arcs[0], Off: b.arcs[1]}); err != nil {
			return nil, err
		}
		columns = columns[:0]
		if last {
			break
		}
		for id := range table.Len() {
			columns = append(columns, table.Key(fst.StateID(id)))
		}
	}
	b.b.Stats.Built++
	b.b.Stats.Columns = b.b.Stats.Built
	final := []uint32{zero}
	switch {
	case len(labels) == 0:
		final[0] = out.Value(loss.of(0))
	case b.dead():
		final = nil
	}
	return out.Finish(final)
}

// dead reports whether some position has no labels.
func (b *ExpandBuilder) dead() bool {
	for _, list := range b.b.Labels {
		if len(list) == 0 {
			return true
		}
	}
	return false
}

// ngramMoves returns, by class, the effect of the symbols of a class on each state: the state
// reached <<32 | n-grams met on the way. Each n-gram counts as often as the reference has it.
func (b *ExpandBuilder) ngramMoves(p *ngramPlan, number map[int]int, classes int) []uint64 {
	moves := make([]uint64, classes*p.states)
	for k := range classes {
		row := moves[k*p.states : (k+1)*p.states]
		for q := range row {
			at, count := uint32(q), uint64(0)
			for _, where := range b.b.Symbols(k) {
				symbol := len(number)
				if where >= 0 {
					symbol = number[b.b.Ref[where]]
				}
				e := int(at)*p.classes + int(p.class[symbol])
				count += uint64(p.gain[e])
				at = p.delta[e]
			}
			row[q] = uint64(at)<<32 | count
		}
	}
	return moves
}
