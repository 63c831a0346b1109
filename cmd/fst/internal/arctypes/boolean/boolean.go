// Package boolean compiles the suite of truth values.
package boolean

import (
	"github.com/tropica-fst/tropica/cmd/fst/internal/suite"
	"github.com/tropica-fst/tropica/semiring"
)

// Boolean is the suite of unweighted machines.
var Boolean suite.Suite = suite.Path[semiring.Boolean]{}
