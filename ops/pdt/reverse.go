package pdt

import (
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// Reverse returns the PDT of the reversed strings: the reverse of the machine, in
// which what opened closes and the other way round. It has the same pairs. For the
// states see ops.Reverse; O(states + arcs) time.
func Reverse[W semiring.Reversible[W, R], R semiring.Weight[R]](f fst.Expanded[W], pairs []fst.LabelPair, lim ops.Limits) (*fst.Vector[R], error) {
	out, err := ops.Reverse[W, R](f, &ops.ReverseOptions{Limits: lim})
	if err != nil {
		return nil, run.Errors.Renamed(err, "pdt.Reverse")
	}
	swap := make([]fst.LabelPair, 0, 2*len(pairs))
	for _, p := range pairs {
		swap = append(swap, p, fst.LabelPair{From: p.To, To: p.From})
	}
	return out, ops.Relabel(out, swap, swap)
}

// ReverseMulti returns the MPDT of the reversed strings and the stacks of its pairs,
// which are exchanged: what was read last is now read first. Where all pairs belong
// to one stack they stay there.
func ReverseMulti[W semiring.Reversible[W, R], R semiring.Weight[R]](f fst.Expanded[W], pairs []fst.LabelPair, stack []int32, lim ops.Limits) (*fst.Vector[R], []int32, error) {
	if err := CheckStacks("pdt.ReverseMulti", pairs, stack); err != nil {
		return nil, nil, err
	}
	out, err := Reverse[W, R](f, pairs, lim)
	if err != nil {
		return nil, nil, run.Errors.Renamed(err, "pdt.ReverseMulti")
	}
	lo, hi := int32(Stacks), int32(1)
	for _, s := range stack {
		lo, hi = min(lo, s), max(hi, s)
	}
	turned := make([]int32, len(stack))
	for i, s := range stack {
		turned[i] = hi - s + lo
	}
	return out, turned, nil
}
