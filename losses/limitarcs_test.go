package losses

import (
	"errors"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/ops"
)

// A transducer beyond a limit names the limit, of arcs or of bytes.
func TestTransducerLimits(t *testing.T) {
	for lim, want := range map[ops.Limits]string{{Arcs: 11}: "limit on arcs, 11", {Arcs: 12}: "",
		{Bytes: 100}: "100 bytes", {}: ""} {
		err := checkArcs(upTo(3), upTo(2), 1, lim)
		if (err == nil) != (want == "") || err != nil &&
			(!errors.Is(err, ErrBudget) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: %v, want %q", lim, err, want)
		}
	}
}
