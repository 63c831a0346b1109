package ops_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// uncertain is Tropical, but does not tell that its weights cancel.
type uncertain float32

func (a uncertain) in() semiring.Tropical             { return semiring.Tropical(a) }
func (a uncertain) Plus(b uncertain) uncertain        { return min(a, b) }
func (a uncertain) Times(b uncertain) uncertain       { return a + b }
func (a uncertain) DivideLeft(b uncertain) uncertain  { return b - a }
func (a uncertain) DivideRight(b uncertain) uncertain { return a - b }
func (a uncertain) Zero() uncertain                   { return uncertain(a.in().Zero()) }
func (a uncertain) One() uncertain                    { return 0 }
func (a uncertain) Equal(b uncertain) bool            { return a == b }
func (a uncertain) Member() bool                      { return a.in().Member() }
func (a uncertain) Near(b uncertain, d float64) bool  { return a.in().Near(b.in(), d) }
func (a uncertain) AppendKey(dst []byte) []byte       { return a.in().AppendKey(dst) }
func (a uncertain) Quantize(delta float64) uncertain  { return uncertain(a.in().Quantize(delta)) }
func (a uncertain) Commutes()                         {}
func (a uncertain) Idempotent()                       {}

// What weights lack that Equivalent asks for at run time, its error names.
func TestEquivalentNamesCancels(t *testing.T) {
	f := fst.FromLabels[uncertain]([]fst.Label{1, 2})
	if same, err := ops.Equivalent(f, f.Clone(), 0); err != nil || !same {
		t.Errorf("without weights: %v, %v", same, err)
	}
	f.SetFinal(2, 1)
	_, err := ops.Equivalent(f, f.Clone(), 0)
	if !errors.Is(err, ops.ErrCapability) || !strings.Contains(err.Error(), "semiring.Cancellative") || !strings.Contains(err.Error(), "Cancels() bool") {
		t.Errorf("%v", err)
	}
}
