package losses

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Transducer is the loss that a user's transducer U defines, as a Loss: what trains
// with an edit distance trains with it. U's input side reads y, its output side the
// reference, both with symbol k as label k+1. A string that U has no path for is left
// out of every sum and maximum.
//
// A machine is made along the general path, by composition and determinization, and
// may be as large as that makes it: exponential in the length for losses like an edit
// distance. Direct constructions exist for Edit, Local and NGram.
type Transducer struct {
	// Limits bounds what is built for a reference.
	Limits ops.Limits

	automaton func(y fst.Expanded[semiring.Log64], ref []int, opts *GeneralOptions) (*Automaton, error)
	key       [sha256.Size]byte
}

// TropicalTransducer is the loss min over the paths of U for y and the reference of
// their weight. It copies u. O(|U|) time.
func TropicalTransducer(u fst.Expanded[semiring.Tropical64]) (*Transducer, error) {
	key, err := keyOf(u, 0)
	if err != nil {
		return nil, err
	}
	v := fst.NewConst(u) // for goroutines to share
	return &Transducer{key: key, automaton: func(y fst.Expanded[semiring.Log64], ref []int, opts *GeneralOptions) (*Automaton, error) {
		return TropicalAutomaton(y, v, ref, opts)
	}}, nil
}

// RationalTransducer is the loss -log(c + the sum over the paths of U for y and the
// reference of their weight), for a U over the probability semiring, or over log
// weights, which stand for exp(-w). It copies u. O(|U|) time.
func RationalTransducer[W semiring.Codec[W]](u fst.Expanded[W], c float64) (*Transducer, error) {
	if !(c >= 0) || math.IsInf(c, 1) {
		return nil, fmt.Errorf("losses: rational: c = %v is not a non-negative number", c)
	}
	key, err := keyOf(u, c)
	if err != nil {
		return nil, err
	}
	v := fst.NewConst(u) // for goroutines to share
	return &Transducer{key: key, automaton: func(y fst.Expanded[semiring.Log64], ref []int, opts *GeneralOptions) (*Automaton, error) {
		return RationalAutomaton(y, v, ref, c, opts)
	}}, nil
}

// keyOf is a digest of a machine and a constant.
func keyOf[W semiring.Codec[W]](u fst.Expanded[W], c float64) (key [sha256.Size]byte, err error) {
	h := sha256.New()
	h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(c)))
	if err := fst.Write(h, u, nil); err != nil {
		return key, fmt.Errorf("losses: transducer: %w", err)
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// Machine implements Loss.
func (t *Transducer) Machine(ref []int, alphabet, l int) (*Machine, error) {
	if err := checkShape(ref, alphabet, l); err != nil {
		return nil, err
	}
	a, err := t.automaton(Strings(alphabet, l), ref, &GeneralOptions{Limits: t.Limits})
	if err != nil {
		return nil, err
	}
	return a.Machine(alphabet, l)
}

// AppendKey implements Loss.
func (t *Transducer) AppendKey(dst []byte) []byte {
	return append(append(dst, "transducer"...), t.key[:]...)
}
