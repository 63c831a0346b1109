package ops

import (
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// Synchronize returns a transducer with the relation of f whose paths read and write in step as
// long as both sides have labels: an arc has labels on both sides, or on neither, but for the end
// of the path, where the longer string goes on alone.
//
// The delay between input and output must be bounded along the paths of f: round each cycle as many
// input labels as output labels are read. Otherwise the error is a DelayError with a cycle that
// shows it, before the work begins.
//
// States are a state of f with the labels that one side is ahead by, numbered as they are first
// reached, as in OpenFst. Cost: O(states + arcs) of the result, times the largest delay at worst;
// strings share their labels, so that memory is O(states + arcs) whatever the delay.
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

// SynchronizeLazy is Synchronize, to be computed where it is looked at, and so also where delays
// are not bounded. cache adjusts the result's cache; nil is the default.
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
	f     fst.Fst[W]
	table *fst.Table[delayed]
	words wordTable
}

func newSynchronizer[W semiring.Weight[W]](f fst.Fst[W]) *synchronizer[W] {
	return &synchronizer[W]{f: f, table: fst.NewTable[delayed](nil), words: newWordTable()}
}

// Bytes is what the table of states and the strings take.
func (s *synchronizer[W]) Bytes() int64 { return s.table.Bytes() + s.words.bytes() }

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

func (s *synchronizer[W]) Expand(q fst.StateID, dst []fst.Arc[W]) (W, []fst.Arc[W], error) {
	zero := semiring.Zero[W]()
	d := s.table.Key(q)
	final := zero.One()
	if d.q != fst.NoState {
		final = s.f.Final(d.q)
		for _, e := range s.f.Arcs(d.q) {
			to := delayed{q: e.NextState}
			if (d.in == 0 && e.ILabel == fst.Epsilon) || (d.out == 0 && e.OLabel == fst.Epsilon) {
				to.in, to.out = s.words.push(d.in, e.ILabel), s.words.push(d.out, e.OLabel)
				e.ILabel, e.OLabel = fst.Epsilon, fst.Epsilon
			} else {
				e.ILabel, to.in = s.words.pop(d.in, e.ILabel)
				e.OLabel, to.out = s.words.pop(d.out, e.OLabel)
			}
			e.NextState = s.id(to)
			dst = append(dst, e)
		}
	}
	if (d.in != 0 || d.out != 0) && !final.Equal(zero) {
		e := fst.Arc[W]{Weight: final}
		to := delayed{q: fst.NoState}
		e.ILabel, to.in = s.words.pop(d.in, fst.Epsilon)
		e.OLabel, to.out = s.words.pop(d.out, fst.Epsilon)
		e.NextState = s.id(to)
		dst = append(dst, e)
		final = zero
	}
	return final, dst, fst.Err(s.f)
}
