package transduce

import (
	"context"
	"math"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/learn/run"
)

// channel is a model of edit operations by counts. The distribution at a place is that of its
// widest context, mixed with those of narrower ones as I. Witten and T. Bell do (IEEE Transactions
// on Information Theory 37(4), 1991). It has no history of outputs, so the best rest of a string is
// known exactly everywhere. That makes it the bound by which lattices are pruned.
type channel struct {
	a        *alphabet
	inserts  int // most between two characters
	contexts *fst.Table[key]
	counts   [][]count
}

type count struct {
	choice int32
	n      float64
}

const (
	channelRounds = 2  // of aligning anew by the contexts
	placeLevels   = 5  // contexts of a character
	gapLevels     = 4  // contexts between characters
	far           = 3  // distances from either end are told apart up to this
	gapTemplate   = 64 // first template of contexts between characters
)

// placeContext is the context at character i; the template is its level.
func (c *channel) placeContext(t *text, i, level int) key {
	k := key{template: uint16(level)}
	start, end := uint16(min(i, far)), uint16(min(len(t.in)-i, far))
	switch level {
	case 0:
		k.seen = [6]uint16{t.in[i]}
	case 1:
		k.seen = [6]uint16{t.in[i], t.at(i + 1)}
	case 2:
		k.seen = [6]uint16{t.at(i - 1), t.in[i], t.at(i + 1)}
	case 3:
		k.seen = [6]uint16{t.list, start, end}
	case 4:
		k.seen = [6]uint16{t.list, start, end, t.in[i], t.at(i + 1)}
	}
	return k
}

// gapContext is the context before character i, after k insertions.
func (c *channel) gapContext(t *text, i, k, level int) key {
	q := key{template: uint16(gapTemplate + level)}
	start, end := uint16(min(i, far)), uint16(min(len(t.in)-i, far))
	switch level {
	case 0:
		q.seen = [6]uint16{uint16(min(k, 2))}
	case 1:
		q.seen = [6]uint16{uint16(k), t.at(i - 1), t.at(i)}
	case 2:
		q.seen = [6]uint16{uint16(k), t.list, start, end}
	case 3:
		q.seen = [6]uint16{uint16(k), t.list, start, end, t.at(i - 1)}
	}
	return q
}

// choices visits all choices of an alignment: the context levels of each, and its number.
func (c *channel) choices(t *text, e *edits, visit func(context key, choice int)) {
	for i := range e.insert {
		for k := 0; k <= len(e.insert[i]) && k <= c.inserts; k++ {
			choice := 0
			if k < len(e.insert[i]) {
				choice = int(e.insert[i][k].symbol())
			}
			for level := range gapLevels {
				visit(c.gapContext(t, i, k, level), choice)
			}
		}
		if i < len(e.at) {
			choice := int(e.at[i])
			if e.at[i].substitutes() {
				choice = 1 + int(e.at[i].symbol())
			}
			for level := range placeLevels {
				visit(c.placeContext(t, i, level), choice)
			}
		}
	}
}

// add counts an alignment.
func (c *channel) add(t *text, e *edits) {
	c.choices(t, e, func(context key, choice int) {
		id, isNew := c.contexts.ID(context)
		if isNew {
			c.counts = append(c.counts, nil)
		}
		list := c.counts[id]
		for k := range list {
			if list[k].choice == int32(choice) {
				list[k].n++
				return
			}
		}
		c.counts[id] = append(list, count{int32(choice), 1})
	})
}

// own are the counts that a pair has itself, which its own distribution leaves out.
type own map[ownKey]float64

type ownKey struct {
	context fst.StateID
	choice  int32
}

func (c *channel) own(t *text, e *edits) own {
	o := own{}
	c.choices(t, e, func(context key, choice int) {
		o[ownKey{c.contexts.Find(context), int32(choice)}]++
	})
	return o
}

// mix brings the distribution p one level on.
func (c *channel) mix(p []float64, context key, o own) {
	id := c.contexts.Find(context)
	if id == fst.NoState {
		return
	}
	types, total := 0.0, 0.0
	list := c.counts[id]
	var left [8]float64
	n := left[:0]
	for _, k := range list {
		v := k.n
		if o != nil {
			v -= o[ownKey{id, k.choice}]
		}
		if v > 0 {
			types++
			total += v
		}
		n = append(n, v)
	}
	if total == 0 {
		return
	}
	for j := range p {
		p[j] *= types / (total + types)
	}
	for k := range list {
		if n[k] > 0 {
			p[list[k].choice] += n[k] / (total + types)
		}
	}
}

// probs returns the distributions at all places of an input. own, if not nil, are counts to leave
// out. O(|x|·K·levels·characters).
func (c *channel) probs(t *text, o own) *probs {
	p := newProbs(len(t.in), c.inserts, len(c.a.runes))
	for i := range t.in {
		row := p.places(i)
		fill(row)
		if t.in[i] != 0 { // substitution by itself is copying
			row[0] += row[1+t.in[i]]
			row[1+t.in[i]] = 0
		}
		for level := range placeLevels {
			c.mix(row, c.placeContext(t, i, level), o)
		}
	}
	for i := range p.n + 1 {
		for k := range c.inserts + 1 {
			row := p.gaps(i, k)
			fill(row)
			for level := range gapLevels {
				c.mix(row, c.gapContext(t, i, k, level), o)
			}
			if k == c.inserts {
				clear(row)
				row[0] = 1
			}
		}
	}
	for j, v := range p.place {
		p.place[j] = math.Log(v)
	}
	for j, v := range p.gap {
		p.gap[j] = math.Log(v)
	}
	return p
}

func fill(row []float64) {
	for j := range row {
		row[j] = 1 / float64(len(row))
	}
}

// newChannel aligns the pairs and counts. It returns the alignments beside; that of a pair is nil
// where insertions are too few for it.
func newChannel(ctx context.Context, a *alphabet, texts []*text, inserts, workers int) (*channel,
	[]*edits, error) {
	al, err := newAligner(ctx, a, texts, workers)
	if err != nil {
		return nil, nil, err
	}
	aligned := make([]*edits, len(texts))
	align := func(of func(i int) *probs) error {
		run.Blocks(workers, len(texts), 16, func(_, from, to int) {
			for i := from; i < to && ctx.Err() == nil; i++ {
				p := of(i)
				aligned[i] = newTruth(texts[i], p).alignment(texts[i], p)
			}
		})
		return context.Cause(ctx)
	}
	if err := align(func(i int) *probs { return al.probs(texts[i], inserts) }); err != nil {
		return nil, nil, err
	}
	for round := 0; ; round++ {
		c := &channel{a: a, inserts: inserts, contexts: fst.NewTable(hashKey)}
		for i, t := range texts {
			if aligned[i] != nil {
				c.add(t, aligned[i])
			}
		}
		if round == channelRounds {
			return c, aligned, nil
		}
		before := aligned
		aligned = make([]*edits, len(texts))
		if err := align(func(i int) *probs {
			if before[i] == nil {
				return c.probs(texts[i], nil)
			}
			return c.probs(texts[i], c.own(texts[i], before[i]))
		}); err != nil {
			return nil, nil, err
		}
	}
}
