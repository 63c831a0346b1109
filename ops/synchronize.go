package ops

import (
	"encoding/binary"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// Synchronize returns a transducer with the relation of f in which, on each path,
// the input and output labels keep step as long as both last: an arc has labels on
// both sides, or on neither, but for the end of the path, where the longer string
// goes on alone.
//
// The delay between input and output must be bounded along the paths of f: round
// each cycle as many input labels as output labels are read. Otherwise the error is a DelayError with a
// cycle that shows it, before the work begins.
//
// States are a state of f with the labels that one side is ahead by, numbered as
// they are first reached, as in OpenFst. Cost: O(states + arcs) of the result,
// times the largest delay.
//
// After M. Mohri, "Edit-distance of weighted automata: general definitions and
// algorithms", Int. J. Foundations of Computer Science 14(6):957-982, 2003.
func Synchronize[W semiring.Weight[W]](f fst.Fst[W], lim Limits) (*fst.Vector[W], error) {
	g, ok := f.(fst.Expanded[W])
	if !ok { // the result has each state of f, too
		v, err := Collect(f, lim)
		if err != nil {
			return nil, renamed(err, "Synchronize")
		}
		g = v
	}
	unbounded, err := boundedDelay("Synchronize", g, lim)
	if err != nil {
		return nil, err
	}
	if unbounded != nil {
		return nil, unbounded
	}
	out, err := Materialize[W](newSynchronizer[W](g), lim)
	if err != nil {
		return nil, renamed(err, "Synchronize")
	}
	out.CopySymbols(f)
	out.LearnProperties(knownProperties(f) & (fst.Acceptor | fst.Acyclic | fst.InitialAcyclic | fst.Unweighted))
	return out, nil
}

// SynchronizeLazy is Synchronize, to be computed where it is looked at, and so also where delays are not
// bounded. cache adjusts the result's cache; nil is the default.
func SynchronizeLazy[W semiring.Weight[W]](f fst.Fst[W], cache *fst.LazyOptions) *fst.Lazy[W] {
	return fst.NewLazy[W](newSynchronizer(f), withSymbols(cache, f, f))
}

// delayed is a state of f, NoState past its end, with the strings that are still to
// be put out, as numbers.
type delayed struct {
	q       fst.StateID
	in, out int32
}

type synchronizer[W semiring.Weight[W]] struct {
	f      fst.Fst[W]
	table  *fst.Table[delayed]
	words  map[string]int32 // strings to their numbers, 0 for the empty one
	labels [][]fst.Label    // and back
	key    []byte
	word   []fst.Label
	held   int64 // bytes of words and labels
}

func newSynchronizer[W semiring.Weight[W]](f fst.Fst[W]) *synchronizer[W] {
	return &synchronizer[W]{f: f, table: fst.NewTable[delayed](nil), words: map[string]int32{"": 0}, labels: [][]fst.Label{nil}}
}

// Bytes is what the table of states and the strings take.
func (s *synchronizer[W]) Bytes() int64 { return s.table.Bytes() + s.held }

func (s *synchronizer[W]) id(d delayed) fst.StateID {
	id, _ := s.table.ID(d)
	return id
}

func (s *synchronizer[W]) Start() (fst.StateID, error) {
	if s.f.Start() == fst.NoState {
		return fst.NoState, fst.Err(s.f)
	}
	return s.id(delayed{q: s.f.Start()}), nil
}

// intern returns the number of a string.
func (s *synchronizer[W]) intern(word []fst.Label) int32 {
	s.key = s.key[:0]
	for _, l := range word {
		s.key = binary.LittleEndian.AppendUint32(s.key, uint32(l))
	}
	if n, ok := s.words[string(s.key)]; ok {
		return n
	}
	n := int32(len(s.labels))
	s.words[string(s.key)] = n
	s.labels = append(s.labels, slices.Clone(word))
	s.held += 96 + 8*int64(len(word)) // twice the string, its header, the map's entry and room to grow
	return n
}

// push returns the string of number n followed by l.
func (s *synchronizer[W]) push(n int32, l fst.Label) int32 {
	if l == fst.Epsilon {
		return n
	}
	s.word = append(append(s.word[:0], s.labels[n]...), l)
	return s.intern(s.word)
}

// pop returns the first label of the string of number n followed by l, ε if there
// is none, and the number of what comes after it.
func (s *synchronizer[W]) pop(n int32, l fst.Label) (first fst.Label, rest int32) {
	if n == 0 {
		return l, 0
	}
	word := s.labels[n]
	s.word = append(s.word[:0], word[1:]...)
	if l != fst.Epsilon {
		s.word = append(s.word, l)
	}
	return word[0], s.intern(s.word)
}

func (s *synchronizer[W]) Expand(q fst.StateID, dst []fst.Arc[W]) (W, []fst.Arc[W], error) {
	zero := semiring.Zero[W]()
	d := s.table.Key(q)
	final := zero.One()
	if d.q != fst.NoState {
		final = s.f.Final(d.q)
		for _, e := range s.f.Arcs(d.q) {
			to := delayed{q: e.NextState}
			if (d.in == 0 && e.ILabel == fst.Epsilon) || (d.out == 0 && e.OLabel == fst.Epsilon) {
				to.in, to.out = s.push(d.in, e.ILabel), s.push(d.out, e.OLabel)
				e.ILabel, e.OLabel = fst.Epsilon, fst.Epsilon
			} else {
				e.ILabel, to.in = s.pop(d.in, e.ILabel)
				e.OLabel, to.out = s.pop(d.out, e.OLabel)
			}
			e.NextState = s.id(to)
			dst = append(dst, e)
		}
	}
	if (d.in != 0 || d.out != 0) && !final.Equal(zero) {
		e := fst.Arc[W]{Weight: final}
		to := delayed{q: fst.NoState}
		e.ILabel, to.in = s.pop(d.in, fst.Epsilon)
		e.OLabel, to.out = s.pop(d.out, fst.Epsilon)
		e.NextState = s.id(to)
		dst = append(dst, e)
		final = zero
	}
	return final, dst, fst.Err(s.f)
}
