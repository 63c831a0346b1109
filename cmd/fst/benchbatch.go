package main

import (
	"fmt"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// removeDeterminizeMinimize is the usual treatment of a word lattice.
func removeDeterminizeMinimize(a stdF) (stdF, error) {
	v := copyOf(a)
	if err := ops.RmEpsilon(v, nil); err != nil {
		return nil, err
	}
	d, err := ops.Determinize(v, &ops.DeterminizeOptions{Delta: ops.DefaultDelta})
	if err != nil {
		return nil, err
	}
	return d, ops.MinimizeAcceptor(d, benchMinimizing)
}

// log64Lattices reads machines and converts them.
func (in *benchInputs) log64Lattices() ([]*fst.Vector[semiring.Log64], error) {
	var out []*fst.Vector[semiring.Log64]
	err := in.loadAll(in.in1, func(s *fst.Stream, m stdF) error {
		v, err := ops.Convert[semiring.Log64](m)
		out = append(out, v)
		fst.Recycle(s, m)
		return err
	})
	return out, err
}

func benchLatticeDistance(in *benchInputs) (*job, error) {
	all, err := in.log64Lattices()
	if err != nil {
		return nil, err
	}
	total := 0.0
	return &job{
		run: func() error {
			sums := make([]float64, len(all))
			err := ops.Batch(len(all), in.limits(), func(i int) error {
				d, err := ops.ShortestDistance(all[i], nil)
				if err != nil {
					return err
				}
				w := semiring.Zero[semiring.Log64]()
				for q := range d {
					w = w.Plus(d[q].Times(all[i].Final(fst.StateID(q))))
				}
				sums[i] = float64(w)
				return nil
			})
			total = 0
			for _, w := range sums { // in order, whichever finished first
				total += w
			}
			return err
		},
		note: func(r *benchResult) error { r.Value = total; return nil },
	}, nil
}

func benchLatticeIntersect(in *benchInputs) (*job, error) {
	b, err := in.load(in.in2)
	if err != nil {
		return nil, err
	}
	return batch(func(a stdF) (stdF, error) { return ops.Intersect(a, b, nil) })(in)
}

func benchLatticeDeterminize(in *benchInputs) (*job, error) {
	switch s := in.options["semiring"]; s {
	case "", "tropical":
		return batch(benchDeterminize[trop])(in)
	case "log64":
	default:
		return nil, fmt.Errorf("option semiring=%s is neither tropical nor log64", s)
	}
	all, err := in.log64Lattices()
	if err != nil {
		return nil, err
	}
	var out []fst.Expanded[semiring.Log64]
	return &job{
		run: func() error {
			out = make([]fst.Expanded[semiring.Log64], len(all))
			return ops.Batch(len(all), in.limits(), func(i int) (err error) {
				out[i], err = benchDeterminize[semiring.Log64](all[i])
				return err
			})
		},
		note: func(r *benchResult) error {
			for _, f := range out {
				if err := measure(r, f, true); err != nil {
					return err
				}
			}
			return nil
		},
		drop: func() { clear(out); out = out[:0] },
	}, nil
}

func benchLatticePaths(in *benchInputs) (*job, error) {
	find, err := in.pathFinder()
	if err != nil {
		return nil, err
	}
	return batch(find)(in)
}

// wordOp turns one word, as a chain of letters, into its best results.
type wordOp func(word stdV, a, b stdF, unique bool, find stdOp) (stdF, error)

// benchWords is an operation on each word of a list.
func benchWords(op wordOp) func(*benchInputs) (*job, error) {
	return func(in *benchInputs) (*job, error) {
		a, err := in.load(in.in1)
		if err != nil {
			return nil, err
		}
		var b stdF
		if in.in2 != "" {
			if b, err = in.load(in.in2); err != nil {
				return nil, err
			}
		}
		letters, err := in.symbols("letters.txt")
		if err != nil {
			return nil, err
		}
		limit, err := in.number("limit", 0)
		if err != nil {
			return nil, err
		}
		words, err := in.lines(in.options["words"], limit)
		if err != nil {
			return nil, err
		}
		find, err := in.pathFinder()
		if err != nil {
			return nil, err
		}
		unique := in.options["unique"] == "1"
		var out []stdF
		return results(&job{run: func() error {
			out = make([]stdF, len(words))
			return ops.Batch(len(words), in.limits(), func(i int) error {
				s, err := chain(words[i], letters)
				if err != nil {
					return err
				}
				out[i], err = op(s, a, b, unique, find)
				return err
			})
		}}, &out), nil
	}
}

// chain is the acceptor of one word.
func chain(word string, letters *fst.SymbolTable) (stdV, error) {
	v := fst.NewVector[trop](len(word) + 1)
	v.SetStart(v.AddState())
	for i := range len(word) {
		l, ok := letters.FindBytes([]byte{word[i]})
		if !ok {
			return nil, fmt.Errorf("word %q: letter %q is not in the table", word, word[i])
		}
		q := v.AddState()
		v.AddArc(q-1, fst.Arc[trop]{ILabel: l, OLabel: l, NextState: q})
	}
	v.SetFinal(fst.StateID(v.NumStates()-1), semiring.One[trop]())
	return v, nil
}

// spell corrects a word: word ∘ edits ∘ lexicon.
func spell(word stdV, edits, lexicon stdF, unique bool, find stdOp) (stdF, error) {
	ops.ArcSort(word, ops.Output)
	x, err := ops.Compose(word, edits, nil)
	if err != nil {
		return nil, err
	}
	ops.ArcSort(x, ops.Output)
	y, err := ops.Compose(x, lexicon, nil)
	if err != nil {
		return nil, err
	}
	if unique {
		ops.Project(y, ops.Output)
		if err := ops.RmEpsilon(y, nil); err != nil {
			return nil, err
		}
	}
	return find(y)
}

// spellLazy is spell for the one best correction; only the part that the search visits is computed.
func spellLazy(word stdV, edits, lexicon stdF, _ bool, _ stdOp) (stdF, error) {
	x, err := ops.ComposeLazy(word, edits, nil, nil)
	if err != nil {
		return nil, err
	}
	y, err := ops.ComposeLazy(x, lexicon, nil, nil)
	if err != nil {
		return nil, err
	}
	return ops.ShortestPathLazy(y, ops.Limits{})
}

// pronounce finds the pronunciation of a word: word ∘ model.
func pronounce(word stdV, model, _ stdF, _ bool, find stdOp) (stdF, error) {
	x, err := ops.Compose(word, model, nil)
	if err != nil {
		return nil, err
	}
	return find(x)
}
