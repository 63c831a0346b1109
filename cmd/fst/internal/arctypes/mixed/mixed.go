// Package mixed compiles the suite of pairs of a tropical and a log weight.
package mixed

import (
	"github.com/tropica-fst/tropica/cmd/fst/internal/suite"
	"github.com/tropica-fst/tropica/semiring"
)

// Product is the suite of these pairs, component by component.
var Product suite.Suite = suite.Component[semiring.Product[semiring.Tropical, semiring.Log]]{}
