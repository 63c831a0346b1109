package ops

import (
	"errors"
	"fmt"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

// ErrNotMember reports a weight outside its semiring: one of the machine, which an ArcError names,
// or one that was computed.
var ErrNotMember = errors.New("a weight or a sum of weights is outside its semiring (NaN, or a number out of range)")

// Inner loops do not ask whether weights are members: what is none, and not annihilated by a 0̄,
// remains in sums. The sums are looked at in the end, and only then is it searched for.

// membersOnly returns the error of distances that are no members: the arc or final weight that is
// none and took part in them, or else the first state whose distance went out of range.
func membersOnly[W semiring.Weight[W], D semiring.Weight[D]](op string, f fst.Expanded[W], d []D, reverse bool) error {
	bad := sums.OutsideOf[D]()(d)
	if bad < 0 {
		return nil
	}
	zero := semiring.Zero[D]()
	if err := notMember(op, f, reverse, func(q fst.StateID) bool { return !d[q].Equal(zero) }); err != nil {
		return err
	}
	return &StateError{Op: op, State: fst.StateID(bad), Err: ErrNotMember}
}

// notMember returns the error of the first arc whose weight is no member, of those that leave a
// state which is live or, in reverse, lead to one; and in reverse of final weights. nil is none.
func notMember[W semiring.Weight[W]](op string, f fst.Expanded[W], reverse bool, live func(fst.StateID) bool) error {
	for q := range fst.StateID(f.NumStates()) {
		if !reverse && !live(q) {
			continue
		}
		for i, e := range f.Arcs(q) {
			if !e.Weight.Member() && (!reverse || live(e.NextState)) {
				return arcNotMember(op, q, i, e.Weight)
			}
		}
		if w := f.Final(q); reverse && !w.Member() {
			return arcNotMember(op, q, -1, w)
		}
	}
	return nil
}

func arcNotMember[W semiring.Weight[W]](op string, q fst.StateID, arc int, w W) error {
	return &StateError{Op: op, State: q, Err: &ArcError{Arc: arc, Weight: weightText(w), Err: ErrNotMember}}
}

// thresholdMember returns the error of a threshold, nil if there is none, that is no member: what
// it leaves of a machine would be nothing, or all, as comparisons with NaN happen to be written.
func thresholdMember[W semiring.Weight[W]](op string, threshold *W) error {
	if threshold == nil || (*threshold).Member() {
		return nil
	}
	return fmt.Errorf("ops: %s: Threshold %s: %w", op, weightText(*threshold), ErrNotMember)
}
