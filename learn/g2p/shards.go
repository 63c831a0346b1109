package g2p

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/optim"
)

// A lexicon fits on one machine, and so does its alignment. What takes the time of training are
// the lattices of its words, and these are divided: a Shard is the words of some pairs, with the
// weights numbered as in the whole Problem. Their sum, made by optim.Reducer or elsewhere, is
// what FitOptions.Sum takes.

// Shard is a stretch of the pairs of a Problem, as an objective sees it.
type Shard struct{ p *Problem }

// Shard returns the pairs from number from up to to, those that could not be aligned left out.
func (p *Problem) Shard(from, to int) *Shard {
	s := &Problem{Inventory: p.Inventory, Features: p.Features, opts: p.opts, given: p.given[from:to], groups: p.groups}
	for i := range p.words {
		w := &p.words[i]
		if w.index >= from && w.index < to {
			s.words = append(s.words, word{compiled: w.compiled, shape: w.shape, index: w.index - from, gold: w.gold,
				ref: w.ref,
				at:  len(s.words), trellis: w.trellis, goldPays: w.goldPays})
		}
	}
	s.views, s.events, s.number = p.views, p.events, p.number
	s.place()
	return &Shard{s}
}

// place lays out the scores of the words, and finds which of them every block collects.
func (p *Problem) place() {
	p.unary = 0
	for i := range p.words {
		w := &p.words[i]
		w.unaryAt = p.unary
		p.unary += w.shape.unary[len(w.x)]
	}
	p.occur()
}

// Objective returns the sum over the words of the shard, without the penalty, as a function of
// the weights. It builds the loss machines that o needs; ctx ends that. The value belongs to one
// goroutine at a time, and uses the Workers of the Problem's options.
func (s *Shard) Objective(ctx context.Context, o Objective) (optim.Objective, error) {
	o.L2 = 0
	return s.p.Objective(ctx, o)
}

// Words returns the number of words.
func (s *Shard) Words() int { return s.p.Words() }

// commonData is what all shards of a Problem share, as bytes hold it.
type commonData struct {
	Inventory       Inventory
	Regular         int
	Of              []int32
	Bigrams         []uint64
	PairAt, PairBig []int32
	PairKeys        []uint64
	First, Dim      int
	At, Size        []int32
	Value           []float64
	Views           []byte // a container, empty where there are none
}

const viewsKind = "g2p views"

// wordData are the words of a shard.
type wordData struct {
	Pairs []Pair
	Words []compiledWord
}

type compiledWord struct {
	Index                      int
	X, Start, Gram, Pair, Gold []int32
	Ref                        []int
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(v)
	return b.Bytes(), err
}

// MarshalCommon returns what all shards share, for UnmarshalShard.
func (p *Problem) MarshalCommon() ([]byte, error) {
	var views []byte
	if p.views != nil {
		c := model.New(viewsKind, 1)
		meta, err := p.views.put(c)
		if err == nil {
			err = c.SetMeta(meta)
		}
		var b bytes.Buffer
		if err == nil {
			err = c.Write(&b)
		}
		if err != nil {
			return nil, err
		}
		views = b.Bytes()
	}
	f, g := p.Features, &p.groups
	inv := *p.Inventory
	inv.Backoff = nil // for predictions only
	return encode(&commonData{Inventory: inv, Views: views, Regular: p.Inventory.regular, Of: p.Inventory.of,
		Bigrams: keysOf(f.bigrams), PairKeys: keysOf(f.pairs), PairAt: f.pairAt, PairBig: f.pairBig,
		First: g.first, Dim: g.dim, At: g.at, Size: g.size, Value: g.value})
}

// MarshalBinary implements encoding.BinaryMarshaler.
func (s *Shard) MarshalBinary() ([]byte, error) {
	d := wordData{Pairs: s.p.given}
	for i := range s.p.words {
		w := &s.p.words[i]
		d.Words = append(d.Words, compiledWord{w.index, w.x, w.start, w.gram, w.pair, w.gold, w.ref})
	}
	return encode(&d)
}

// UnmarshalShard reads a shard and what it shares with others, with the options of its Problem.
// The bytes are trusted: they come from the process that asks for the sum.
func UnmarshalShard(common, shard []byte, opts *Options) (*Shard, error) {
	var c commonData
	if err := gob.NewDecoder(bytes.NewReader(common)).Decode(&c); err != nil {
		return nil, fmt.Errorf("g2p: shared part of the shards: %w", err)
	}
	var d wordData
	if err := gob.NewDecoder(bytes.NewReader(shard)).Decode(&d); err != nil {
		return nil, fmt.Errorf("g2p: shard: %w", err)
	}
	inv := &c.Inventory
	inv.regular, inv.of = c.Regular, c.Of
	f := &Features{inv: inv, bigrams: fst.NewTable[uint64](fst.Mix), pairs: fst.NewTable[uint64](fst.Mix), pairAt: c.PairAt, pairBig: c.PairBig}
	for _, k := range c.Bigrams {
		f.bigrams.ID(k)
	}
	for _, k := range c.PairKeys {
		f.pairs.ID(k)
	}
	p := &Problem{Inventory: inv, Features: f, opts: opts.withDefaults(), given: d.Pairs}
	var err error
	if p.opts.Views, err = p.opts.Views.withDefaults(0); err != nil {
		return nil, err
	}
	p.groups = groups{first: c.First, at: c.At, size: c.Size, value: c.Value, dim: c.Dim}
	for _, w := range d.Words {
		sizes := make([]int, len(w.X))
		for t, x := range w.X {
			sizes[t] = len(inv.Allowed[x])
		}
		p.words = append(p.words, word{at: len(p.words), compiled: compiled{x: w.X, start: w.Start, gram: w.Gram,
			pair: w.Pair}, shape: newShape(sizes), index: w.Index, gold: w.Gold, ref: w.Ref})
	}
	p.place()
	if len(c.Views) > 0 {
		box, err := model.Read(bytes.NewReader(c.Views), nil)
		if err != nil {
			return nil, err
		}
		meta := &viewMeta{}
		if err := box.Meta(meta); err != nil {
			return nil, err
		}
		if p.views, err = (&loader{c: box}).views(inv, meta); err != nil {
			return nil, err
		}
		if err := p.buildTrellises(context.Background()); err != nil {
			return nil, err
		}
	}
	return &Shard{p}, nil
}
