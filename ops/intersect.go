package ops

import (
	"errors"
	"fmt"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// ErrNotAcceptor reports a transducer where an acceptor is asked for.
var ErrNotAcceptor = errors.New("not an acceptor: some arc has different labels (Project makes one)")

// Intersect returns the acceptor of the strings that a and b both accept, with
// (a∩b)(x) = a(x) ⊗ b(x). Both must be acceptors, else the error wraps
// ErrNotAcceptor. It is composition of acceptors: for the rest see Compose.
func Intersect[W semiring.Weight[W]](a, b fst.Fst[W], opts *ComposeOptions) (*fst.Vector[W], error) {
	for i, f := range []fst.Fst[W]{a, b} {
		if !fst.PropertiesOf(f, fst.Acceptor).Has(fst.Acceptor) {
			return nil, fmt.Errorf("ops: Intersect: machine %d: %w", i+1, ErrNotAcceptor)
		}
	}
	return Compose(a, b, opts)
}
