// Package pairs compiles the suites of pairs of tropical weights.
package pairs

import (
	"github.com/tropica-fst/tropica/cmd/fst/internal/suite"
	"github.com/tropica-fst/tropica/semiring"
)

// The suites of these weights: component by component, and by the first component first.
var (
	Product       suite.Suite = suite.Component[semiring.Product[semiring.Tropical, semiring.Tropical]]{}
	Lexicographic suite.Suite = suite.Path[semiring.Lexicographic[semiring.Tropical, semiring.Tropical]]{}
)
