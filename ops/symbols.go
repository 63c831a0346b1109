package ops

import (
	"errors"
	"fmt"

	"github.com/tropica-fst/tropica/fst"
)

// ErrSymbols reports that two symbol tables which must agree do not.
var ErrSymbols = errors.New("symbol tables do not agree")

// compatibleSymbols returns an error that wraps ErrSymbols unless x and y agree:
// a missing table agrees with any, two tables if they map the same labels to the
// same symbols.
func compatibleSymbols(op, nameX, nameY string, x, y *fst.SymbolTable) error {
	if x == nil || y == nil || x == y {
		return nil
	}
	return fmt.Errorf("ops: %s: %s against %s: %w", op, nameX, nameY, ErrSymbols)
}

// knownProperties returns what f knows of itself without being looked at.
func knownProperties(f any) fst.Properties {
	if p, ok := f.(fst.Propertied); ok {
		return p.KnownProperties()
	}
	return 0
}
