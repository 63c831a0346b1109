// Package float32s compiles the suites of weights that are one float32.
package float32s

import (
	"github.com/tropica-fst/tropica/cmd/fst/internal/suite"
	"github.com/tropica-fst/tropica/semiring"
)

// The suites of these weights.
var (
	Tropical suite.Suite = suite.Path[semiring.Tropical]{}
	Log      suite.Suite = suite.Component[semiring.Log]{}
	MinMax   suite.Suite = suite.Path[semiring.MinMax]{}
)
