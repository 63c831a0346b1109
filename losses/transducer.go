package losses

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"io"
	"math"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Transducer is the loss that a user's transducer U defines, as a Loss. Everything that trains with
// an edit distance trains with it. U's input side reads y, its output side the reference, both with
// symbol k as label k+1. A string that U has no path for is left out of every sum and maximum;
// where that is every string, Machine returns ErrNoString.
//
// A machine is made along the general path, by composition and determinization. Its size is that of
// the determinized automaton: exponential in the length for losses like an edit distance. Direct
// constructions exist for Edit, Local and NGram.
type Transducer struct {
	// Limits bounds what is built for a reference, as those of GeneralOptions do: zero
	// Bytes are DefaultBytes, and beyond them is a *BudgetError.
	Limits ops.Limits

	// Name is what errors call the machine, such as its file; empty is nothing.
	Name string

	automaton func(y fst.Expanded[semiring.Log64], ref []int, opts *GeneralOptions) (*Automaton, error)
	key       digest
}

// TropicalTransducer is the loss min over the paths of U for y and the reference of
// their weight. It copies u. O(|U|) time.
func TropicalTransducer(u fst.Expanded[semiring.Tropical64]) (*Transducer, error) {
	key, err := keyOf(u, 0)
	if err != nil {
		return nil, err
	}
	v := fst.NewConst(u) // for goroutines to share
	return &Transducer{key: key, automaton: func(y fst.Expanded[semiring.Log64], ref []int,
		opts *GeneralOptions) (*Automaton, error) {
		return TropicalAutomaton(y, v, ref, opts)
	}}, nil
}

// RationalTransducer is the loss -log(c + the sum of the weights of U's paths for y and the
// reference). U is over the probability semiring, or over log weights, which stand for exp(-w). It
// copies u. O(|U|) time.
func RationalTransducer[W semiring.Codec[W]](u fst.Expanded[W], c float64) (*Transducer, error) {
	if !(c >= 0) || math.IsInf(c, 1) {
		return nil, fmt.Errorf("losses: rational: c = %v is not a non-negative number", c)
	}
	key, err := keyOf(u, c)
	if err != nil {
		return nil, err
	}
	v := fst.NewConst(u) // for goroutines to share
	return &Transducer{key: key, automaton: func(y fst.Expanded[semiring.Log64], ref []int,
		opts *GeneralOptions) (*Automaton, error) {
		return RationalAutomaton(y, v, ref, c, opts)
	}}, nil
}

// digest identifies machines by 128 bits under two keys that are drawn when the process starts.
// Nobody can prepare two machines with one digest.
//
// It avoids crypto/sha256: that package and its imports initialize code and tables at the start of
// every program that has them.
type digest [16]byte

var digestKeys = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// keyOf is a digest of a machine and a constant.
func keyOf[W semiring.Codec[W]](u fst.Expanded[W], c float64) (key digest, err error) {
	var h [2]maphash.Hash
	for i := range h {
		h[i].SetSeed(digestKeys[i])
	}
	w := io.MultiWriter(&h[0], &h[1])
	w.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(c)))
	if err := fst.Write(w, u, nil); err != nil {
		return key, fmt.Errorf("losses: transducer: %w", err)
	}
	for i := range h {
		binary.LittleEndian.PutUint64(key[8*i:], h[i].Sum64())
	}
	return key, nil
}

// Machine implements Loss.
func (t *Transducer) Machine(ref []int, alphabet, l int) (*Machine, error) {
	if err := checkShape(ref, alphabet, l); err != nil {
		return nil, err
	}
	a, err := t.automaton(Strings(alphabet, l), ref, &GeneralOptions{Limits: t.Limits})
	if err != nil {
		if t.Name != "" {
			err = fmt.Errorf("%s: %w", t.Name, err)
		}
		return nil, err
	}
	m, err := a.Machine(alphabet, l)
	if err == nil && l > 0 && alphabet > 0 && a.L.Start() == fst.NoState {
		name := t.Name
		if name != "" {
			name += ": "
		}
		return nil, fmt.Errorf("%slosses: transducer: %w: no path reads a string of %d labels from 1 to %d "+
			"(label k+1 is symbol k) and writes the reference %v", name, ErrNoString, l, alphabet, brief(ref))
	}
	return m, err
}

// brief returns the first labels of a reference, as a machine has them.
func brief(ref []int) string {
	const most = 8
	labels := make([]int, min(len(ref), most))
	for j := range labels {
		labels[j] = ref[j] + 1
	}
	s := fmt.Sprint(labels)
	if len(ref) > most {
		s = s[:len(s)-1] + " …]"
	}
	return s
}

// Among returns the losses of the given strings against a reference, +Inf for those left out. They
// equal the losses of Machine, without a machine of all strings. The general path runs once, over a
// trie of the strings, and its result has no more states than that. Besides, it goes through U
// once, O(|U| log|U|).
func (t *Transducer) Among(strings [][]int, ref []int) ([]float64, error) {
	y := fst.NewVector[semiring.Log64](1)
	y.SetStart(y.AddState())
	type edge struct {
		from fst.StateID
		k    int
	}
	next := map[edge]fst.StateID{}
	for i, u := range strings {
		q := y.Start()
		for _, k := range u {
			if err := checkSymbol(k); err != nil {
				return nil, fmt.Errorf("losses: transducer: string %d: %w", i, err)
			}
			to, ok := next[edge{q, k}]
			if !ok {
				to = y.AddState()
				next[edge{q, k}] = to
				a := fst.Label(k + 1)
				y.AddArc(q, fst.Arc[semiring.Log64]{ILabel: a, OLabel: a, NextState: to})
			}
			q = to
		}
		y.SetFinal(q, semiring.One[semiring.Log64]())
	}
	for _, k := range ref {
		if err := checkSymbol(k); err != nil {
			return nil, fmt.Errorf("losses: transducer: reference: %w", err)
		}
	}
	ops.ArcSort(y, ops.Input)
	a, err := t.automaton(y, ref, &GeneralOptions{Limits: t.Limits})
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(strings))
	for i, u := range strings {
		out[i] = a.Loss(u)
	}
	return out, nil
}

func checkSymbol(k int) error {
	if k < 0 || k >= math.MaxInt32 {
		return fmt.Errorf("symbol %d is no symbol: they count from 0 to %d", k, math.MaxInt32-1)
	}
	return nil
}

// AppendKey implements Loss.
func (t *Transducer) AppendKey(dst []byte) []byte {
	return append(append(dst, "transducer"...), t.key[:]...)
}
