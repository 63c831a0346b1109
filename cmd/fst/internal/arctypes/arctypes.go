// Package arctypes lists the weight types that files may have, each with its
// [suite.Suite].
//
// Each subpackage compiles the operations for weights of one memory layout, which the
// Go compiler shares among types. A weight type of a known layout costs little there;
// one of a new layout needs a subpackage of its own. They are packages so that
// compilers run side by side, each in moderate memory.
package arctypes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/cmd/fst/internal/arctypes/boolean"
	"github.com/tropica-fst/tropica/cmd/fst/internal/arctypes/expectation"
	"github.com/tropica-fst/tropica/cmd/fst/internal/arctypes/float32s"
	"github.com/tropica-fst/tropica/cmd/fst/internal/arctypes/float64s"
	"github.com/tropica-fst/tropica/cmd/fst/internal/arctypes/mixed"
	"github.com/tropica-fst/tropica/cmd/fst/internal/arctypes/pairs"
	"github.com/tropica-fst/tropica/cmd/fst/internal/suite"
	"github.com/tropica-fst/tropica/semiring"
)

// All lists the suites of all weight types: one line each.
var All = []suite.Suite{
	float32s.Tropical,
	float32s.Log,
	float64s.Log64,
	float64s.Tropical64,
	float64s.Probability,
	boolean.Boolean,
	float32s.MinMax,
	pairs.Product,
	mixed.Product,
	pairs.Lexicographic,
	expectation.Expectation,
}

// Of returns the suite of an arc type, under OpenFst's name for it or an alias.
func Of(arcType string) (suite.Suite, error) {
	name := semiring.CanonicalArcType(arcType)
	i := slices.IndexFunc(All, func(s suite.Suite) bool { return s.ArcType() == name })
	if i < 0 {
		return nil, fmt.Errorf("unknown arc type %q (known are %s, and probability for real64, expectation for "+
			"expectation_real64_real64)", arcType, strings.Join(Names(), ", "))
	}
	return All[i], nil
}

// Names returns the names of all arc types.
func Names() []string {
	var known []string
	for _, s := range All {
		known = append(known, s.ArcType())
	}
	return known
}
