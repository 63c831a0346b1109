// Package float64s compiles the suites of weights that are one float64.
package float64s

import (
	"github.com/tropica-fst/tropica/cmd/fst/internal/suite"
	"github.com/tropica-fst/tropica/semiring"
)

// The suites of these weights.
var (
	Log64       suite.Suite = suite.Component[semiring.Log64]{}
	Tropical64  suite.Suite = suite.Path[semiring.Tropical64]{}
	Probability suite.Suite = suite.Component[semiring.Probability]{}
)
