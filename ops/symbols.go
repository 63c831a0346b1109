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
	if fst.Compatible(x, y) {
		return nil
	}
	return fmt.Errorf("ops: %s: %s (%q, %d symbols) against %s (%q, %d symbols): %w: %s",
		op, nameX, x.Name(), x.Len(), nameY, y.Name(), y.Len(), ErrSymbols, fst.Disagreement(x, y))
}

// CompatibleSymbols returns an error of op that wraps ErrSymbols unless the input tables of a and b
// agree, and the output tables too: what an operation that puts two machines side by side asks for.
// A missing table agrees with any; the names of tables and the order of symbols do not matter.
func CompatibleSymbols(op string, a, b any) error {
	if err := compatibleSymbols(op, "input symbols of the first machine", "input symbols of the second",
		fst.InputSymbols(a), fst.InputSymbols(b)); err != nil {
		return err
	}
	return compatibleSymbols(op, "output symbols of the first machine", "output symbols of the second",
		fst.OutputSymbols(a), fst.OutputSymbols(b))
}

// knownProperties returns what f knows of itself without being looked at.
func knownProperties(f any) fst.Properties {
	if p, ok := f.(fst.Propertied); ok {
		return p.KnownProperties()
	}
	return 0
}
