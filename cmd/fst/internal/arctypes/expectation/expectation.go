// Package expectation compiles the suite of pairs of a probability and an expectation.
package expectation

import (
	"github.com/tropica-fst/tropica/cmd/fst/internal/suite"
	"github.com/tropica-fst/tropica/semiring"
)

// Expectation is the suite of the expectation semiring.
var Expectation suite.Suite = suite.Component[semiring.Expectation]{}
