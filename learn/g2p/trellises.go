package g2p

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/losses"
)

// eventTable numbers events in the order in which one goroutine meets them.
type eventTable struct {
	number map[string]int32
	keys   []string
	key    []byte
}

func (e *eventTable) event(entries []int32, cost float64) int32 {
	e.key = binary.LittleEndian.AppendUint64(e.key[:0], math.Float64bits(cost))
	for _, x := range entries {
		e.key = binary.LittleEndian.AppendUint32(e.key, uint32(x))
	}
	id, ok := e.number[string(e.key)]
	if !ok {
		if e.number == nil {
			e.number = map[string]int32{}
		}
		k := string(e.key)
		id = int32(len(e.keys))
		e.number[k] = id
		e.keys = append(e.keys, k)
	}
	return id
}

// lists returns the labels of the letters of a word.
func (p *Problem) lists(w *word) [][]int32 {
	lists := make([][]int32, len(w.x))
	for t, x := range w.x {
		lists[t] = p.Inventory.Allowed[x]
	}
	return lists
}

// build makes a trellis of every word and machine that of asks for, and returns the events of each
// worker. set receives the trellis and the worker.
func (p *Problem) build(ctx context.Context, tables []*eventTable, of func(w *word) []*losses.Machine,
	set func(w *word, m *losses.Machine, l *trellis, worker int)) error {
	builders := make([]trellisBuilder, len(tables))
	for i := range builders {
		builders[i] = trellisBuilder{views: p.views, inv: p.Inventory, event: tables[i].event}
	}
	limit := p.opts.Views.MaxArcs
	errs := make([]error, len(p.words))
	arcs := make([]int, len(p.words))
	run.Blocks(len(tables), len(p.words), 8, func(worker, lo, hi int) {
		for i := lo; i < hi && ctx.Err() == nil; i++ {
			w := &p.words[i]
			for _, m := range of(w) {
				l, err := builders[worker].build(p.lists(w), m, limit)
				if err != nil {
					errs[i] = err
					return
				}
				arcs[i] += len(l.to)
				set(w, m, l, worker)
			}
		}
	})
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("g2p: stopped while the lattices of histories were built: %w", context.Cause(ctx))
	}
	for i, err := range errs {
		p.arcs += arcs[i]
		if errors.Is(err, errArcs) || p.arcs > limit {
			return fmt.Errorf("%w (%s is the word that was one too many)", tooLarge(limit),
				p.given[p.words[i].index].name(p.words[i].index))
		}
		if err != nil {
			return fmt.Errorf("g2p: %s: %w", p.where(i), err)
		}
	}
	return nil
}

// buildTrellises makes the trellises of all words. Events are numbered in the order of their
// contents, whatever workers met them first.
func (p *Problem) buildTrellises(ctx context.Context) error {
	workers := max(1, min(p.opts.Workers, len(p.words)))
	tables := make([]*eventTable, workers)
	for i := range tables {
		tables[i] = &eventTable{}
	}
	by := make([]int, len(p.words)) // worker
	err := p.build(ctx, tables, func(*word) []*losses.Machine { return []*losses.Machine{nil} },
		func(w *word, _ *losses.Machine, l *trellis, worker int) {
			w.trellis = l
			by[w.at] = worker
		})
	if err != nil {
		return err
	}
	var keys []string
	for _, t := range tables {
		keys = append(keys, t.keys...)
	}
	slices.SortFunc(keys, strings.Compare)
	keys = slices.Compact(keys)
	all := &eventTable{number: make(map[string]int32, len(keys)), keys: keys}
	e := &p.events
	e.start = []int32{0}
	for id, k := range keys {
		all.number[k] = int32(id)
		b := []byte(k)
		e.cost = append(e.cost, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		for b = b[8:]; len(b) > 0; b = b[4:] {
			e.entries = append(e.entries, int32(binary.LittleEndian.Uint32(b)))
		}
		e.start = append(e.start, int32(len(e.entries)))
	}
	to := make([][]int32, workers)
	for i, t := range tables {
		for _, k := range t.keys {
			to[i] = append(to[i], all.number[k])
		}
	}
	p.number = all.number
	run.Blocks(workers, len(p.words), 64, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			w := &p.words[i]
			number := to[by[i]]
			for k, x := range w.trellis.pays {
				// Arcs that lead nowhere pay what no one looks at.
				if x >= 0 && (k >= len(w.trellis.to) || w.trellis.to[k] >= 0) {
					w.trellis.pays[k] = number[x]
				}
			}
			arcs, end, ok := w.trellis.gold(w.gold)
			if !ok {
				panic("g2p: the aligned labels of a word are not in its lattice")
			}
			for _, at := range append(arcs, end) {
				w.goldPays = append(w.goldPays, w.trellis.pays[at])
			}
		}
	})
	return nil
}

// buildProducts makes the products of words' trellises with machines, unless they exist.
func (p *Problem) buildProducts(ctx context.Context, of func(w *word) []*losses.Machine) error {
	p.graphs.Lock()
	defer p.graphs.Unlock()
	workers := max(1, min(p.opts.Workers, len(p.words)))
	tables := make([]*eventTable, workers)
	for i := range tables { // every event of a product is one of the trellis: tables are only read
		tables[i] = &eventTable{number: p.number}
	}
	return p.build(ctx, tables, func(w *word) []*losses.Machine {
		var missing []*losses.Machine
		for _, m := range of(w) {
			if m != nil && w.products[m] == nil {
				missing = append(missing, m)
			}
		}
		return missing
	}, func(w *word, m *losses.Machine, l *trellis, _ int) {
		if w.products == nil {
			w.products = map[*losses.Machine]*trellis{}
		}
		w.products[m] = l
	})
}
