package g2p

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// engineLattice is the lattice of one word as a machine: the paths of
// Compose(word, EMIT, phones). Its shape does not change from iteration to
// iteration, only the weights of EMIT do, so it is composed once.
type engineLattice struct {
	m     *fst.Vector[semiring.Log64]
	param []int32 // of each arc, state after state: the parameter that is its weight, or -1 for weight one
}

// emit is EMIT for one word, a transducer from letters to phone strings. It has one state, start
// and final, where a label of k phones is a loop of k arcs. The first arc reads the letter, and the
// last carries the weight. Letters and phone strings that the word does not have are left out; none
// of its alignments uses them.
func (em *emission) emit(i int) (m *fst.Vector[semiring.Log64], params [][]int32) {
	x, r := em.letters[i], em.phones[i]
	m = fst.NewVector[semiring.Log64](1)
	m.AddState()
	m.SetStart(0)
	m.SetFinal(0, 0)
	params = make([][]int32, 1)
	add := func(from fst.StateID, in fst.Label, phone int, param int32, to fst.StateID) {
		out := fst.Epsilon
		if phone >= 0 {
			out = fst.Label(phone + 1)
		}
		m.AddArc(from, fst.Arc[semiring.Log64]{ILabel: in, OLabel: out, NextState: to})
		params[from] = append(params[from], param)
	}
	seen := map[int32]bool{}
	for _, letter := range x {
		if seen[letter] {
			continue
		}
		seen[letter] = true
		// A trie of the substrings of r of at most k phones, whose leaves and inner
		// nodes all lead back.
		done := map[string]bool{}
		inner := map[string]fst.StateID{"": 0}
		var key []byte
		if id := em.find(letter, nil); id >= 0 {
			add(0, fst.Label(letter), -1, id, 0)
		}
		for j := range r {
			for k := 1; k <= em.k && j+k <= len(r); k++ {
				u := r[j : j+k]
				key = appendPhones(key[:0], u)
				if done[string(key)] {
					continue
				}
				done[string(key)] = true
				from := inner[string(appendPhones(nil, u[:k-1]))]
				in := fst.Epsilon
				if k == 1 {
					in = fst.Label(letter)
				}
				if id := em.find(letter, u); id >= 0 {
					add(from, in, u[k-1], id, 0)
				}
				if k < em.k {
					to := m.AddState()
					params = append(params, nil)
					inner[string(key)] = to
					add(from, in, u[k-1], -1, to)
				}
			}
		}
	}
	return m, params
}

// find returns the parameter of a letter and a phone string, or -1.
func (em *emission) find(letter int32, u []int) int32 {
	label, ok := em.labelID[string(appendPhones(nil, u))]
	if !ok {
		return -1
	}
	return int32(em.index.Find(uint64(letter)<<32 | uint64(label)))
}

// linear returns the acceptor of one string.
func linear[T int | int32](s []T, first T) *fst.Vector[semiring.Log64] {
	m := fst.NewVector[semiring.Log64](len(s) + 1)
	m.AddStates(len(s) + 1)
	m.SetStart(0)
	for t, a := range s {
		l := fst.Label(a + first)
		m.AddArc(fst.StateID(t), fst.Arc[semiring.Log64]{ILabel: l, OLabel: l, NextState: fst.StateID(t + 1)})
	}
	m.SetFinal(fst.StateID(len(s)), 0)
	return m
}

// compose builds the lattice of word i, and finds out through both traces which
// arc of EMIT each of its arcs came from.
func (em *emission) compose(i int) (*engineLattice, error) {
	emit, params := em.emit(i)
	var first, second ops.Trace
	left, err := ops.Compose[semiring.Log64](linear(em.letters[i], 0), emit, &ops.ComposeOptions{Trace: &first})
	if err != nil {
		return nil, err
	}
	m, err := ops.Compose[semiring.Log64](left, linear(em.phones[i], 1), &ops.ComposeOptions{Trace: &second})
	if err != nil {
		return nil, err
	}
	l := &engineLattice{m: m}
	for q := range fst.StateID(m.NumStates()) {
		inLeft, _ := second.States(q)
		_, inEmit := first.States(inLeft)
		_, emitArcs := first.Arcs(inLeft)
		leftArcs, _ := second.Arcs(q)
		for _, a := range leftArcs {
			// Neither the word nor the phones have ε-arcs, so every arc moves EMIT.
			l.param = append(l.param, params[inEmit][emitArcs[a]])
		}
	}
	return l, nil
}

// expectedEngine is expectedDirect on the engine. It gives every arc the weight of its parameter,
// and adds the arcs' expected counts to those of their parameters, in the order of the words for
// any number of workers.
func (em *emission) expectedEngine(ctx context.Context, counts []float64) (float64, error) {
	n := len(em.letters)
	if em.engine == nil {
		em.engine = make([]*engineLattice, n)
	}
	weight := make([]semiring.Log64, len(em.prob))
	for id, p := range em.prob {
		weight[id] = semiring.Log64(-math.Log(p))
	}
	expected, logZ, errs := make([][]float64, n), make([]float64, n), make([]error, n)
	run.Blocks(em.workers, n, 32, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			if i&31 == 0 && ctx.Err() != nil {
				return
			}
			if em.params[i] != nil {
				expected[i], logZ[i], errs[i] = em.expectWord(i, weight)
			}
		}
	})
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("g2p: alignment stopped: %w", err)
	}
	ll := 0.0
	for i, e := range expected {
		if errs[i] != nil {
			return 0, fmt.Errorf("g2p: %s: lattice: %w", em.pairs[i].where(i), errs[i])
		}
		if e == nil {
			continue
		}
		ll += logZ[i]
		for k, id := range em.engine[i].param {
			if id >= 0 {
				counts[id] += e[k]
			}
		}
	}
	return ll, nil
}

// expectWord returns the expected count of every arc of word i's lattice, nil
// when all its alignments have been pruned.
func (em *emission) expectWord(i int, weight []semiring.Log64) (expected []float64, logZ float64, err error) {
	if em.engine[i] == nil {
		if em.engine[i], err = em.compose(i); err != nil {
			return nil, 0, err
		}
	}
	l := em.engine[i]
	k := 0
	for q := range fst.StateID(l.m.NumStates()) {
		arcs := l.m.MutableArcs(q)
		for a := range arcs {
			if id := l.param[k]; id >= 0 {
				arcs[a].Weight = weight[id]
			}
			k++
		}
	}
	l.m.SetProperties(0, fst.Weighted|fst.Unweighted)
	expected, _, logZ, err = ops.ExpectedCounts(l.m, nil)
	if errors.Is(err, ops.ErrNoPath) {
		return nil, 0, nil
	}
	return expected, logZ, err
}
