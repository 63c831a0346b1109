package ops

import (
	"errors"
	"fmt"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// ErrNotAcceptor reports a transducer where an acceptor is asked for.
var ErrNotAcceptor = errors.New("not an acceptor: some arc has different labels (Project makes one; fst project)")

// Intersect returns the acceptor of the strings that a and b both accept, with
// (a∩b)(x) = a(x) ⊗ b(x). Both must be acceptors, else the error wraps
// ErrNotAcceptor. It is composition of acceptors: for the rest see Compose.
//
// Of a machine that is computed on demand, and that says nothing of itself, no more is looked at
// than composition asks for. An arc there that no acceptor has is then the error, as a StateError.
func Intersect[W semiring.Weight[W]](a, b fst.Fst[W], opts *ComposeOptions) (*fst.Vector[W], error) {
	if err := acceptors("Intersect", &a, &b); err != nil {
		return nil, err
	}
	return Compose(a, b, opts)
}

// IntersectLazy is Intersect, to be computed where it is looked at: see ComposeLazy.
func IntersectLazy[W semiring.Weight[W]](a, b fst.Fst[W], opts *ComposeOptions, cache *fst.LazyOptions) (*fst.Lazy[W], error) {
	if err := acceptors("IntersectLazy", &a, &b); err != nil {
		return nil, err
	}
	return ComposeLazy(a, b, opts, cache)
}

// acceptors returns an error if a machine is no acceptor. A machine whose labels are not known is
// replaced by one that fails at the first arc with two labels.
func acceptors[W semiring.Weight[W]](op string, fs ...*fst.Fst[W]) error {
	for i, f := range fs {
		acceptor, known := isAcceptor(*f)
		if !known {
			*f = &acceptorOnly[W]{Fst: *f, op: op}
		} else if !acceptor {
			return fmt.Errorf("ops: %s: machine %d: %w", op, i+1, ErrNotAcceptor)
		}
	}
	return nil
}

// isAcceptor reports whether f is an acceptor. It is not known of a machine that is
// computed on demand and does not say: that may have no end.
func isAcceptor[W semiring.Weight[W]](f fst.Fst[W]) (acceptor, known bool) {
	if _, whole := f.(fst.Expanded[W]); whole {
		return fst.PropertiesOf(f, fst.Acceptor).Has(fst.Acceptor), true
	}
	p := knownProperties(f)
	return p.Has(fst.Acceptor), p&(fst.Acceptor|fst.NotAcceptor) != 0
}

// acceptorOnly is a machine computed on demand that fails at the first arc with two
// different labels. It is for one goroutine at a time.
type acceptorOnly[W semiring.Weight[W]] struct {
	fst.Fst[W]
	op  string
	err error
}

// Arcs returns the arcs of q; none once the machine has failed.
func (f *acceptorOnly[W]) Arcs(q fst.StateID) []fst.Arc[W] {
	if f.err != nil {
		return nil
	}
	arcs := f.Fst.Arcs(q)
	for i := range arcs {
		if e := &arcs[i]; e.ILabel != e.OLabel {
			f.err = &StateError{Op: f.op, State: q, Err: fmt.Errorf("arc %d, with the labels %d and %d: %w", i, e.ILabel, e.OLabel, ErrNotAcceptor)}
			return nil
		}
	}
	return arcs
}

// Err returns the error of the machine itself, or that of an arc.
func (f *acceptorOnly[W]) Err() error {
	if err := fst.Err(f.Fst); err != nil {
		return err
	}
	return f.err
}

// InputSymbols returns the machine's own.
func (f *acceptorOnly[W]) InputSymbols() *fst.SymbolTable { return fst.InputSymbols(f.Fst) }

// OutputSymbols returns the machine's own.
func (f *acceptorOnly[W]) OutputSymbols() *fst.SymbolTable { return fst.OutputSymbols(f.Fst) }
