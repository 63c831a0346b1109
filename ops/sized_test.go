package ops_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// chainOfPairs is a chain of n steps with two arcs each, which put out 1 or 2 on the given input, and one
// more with input and output 3: 2ⁿ outputs.
func chainOfPairs(n int, input fst.Label) *fst.Vector[semiring.Tropical] {
	f := fst.NewVector[semiring.Tropical](n + 2)
	f.AddStates(n + 2)
	f.SetStart(0)
	for q := range fst.StateID(n) {
		for l := range fst.Label(2) {
			f.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: input, OLabel: 1 + l, Weight: 0.5, NextState: q + 1})
		}
	}
	f.AddArc(fst.StateID(n), fst.Arc[semiring.Tropical]{ILabel: 3, OLabel: 3, NextState: fst.StateID(n + 1)})
	f.SetFinal(fst.StateID(n+1), 0)
	return f
}

// Limits.Bytes bounds what an operation works with, not only what it returns: each of these has a
// small input, and sets, strings or tables far beyond the limit on the way.
func TestLimitOfBytesBoundsWork(t *testing.T) {
	type W = semiring.Tropical
	lim := ops.Limits{Bytes: 1 << 20}
	subsets := fsttest.Must(fst.ReadText[W](strings.NewReader(func() string {
		var b strings.Builder
		b.WriteString("0 0 1\n0 0 2\n0 1 1\n")
		for i := range 30 { // what comes 31 labels before the end is 1
			fmt.Fprintf(&b, "%d %d 1\n%d %d 2\n", i+1, i+2, i+1, i+2)
		}
		return b.String() + "31\n"
	}()), &fst.ReadTextOptions{Acceptor: true}))
	delays := fst.NewVector[W](0)
	delays.AddStates(61)
	delays.SetStart(0)
	delays.SetFinal(60, 0)
	for q := range fst.StateID(30) {
		for l := range fst.Label(2) {
			delays.AddArc(q, fst.Arc[W]{ILabel: 1 + l, NextState: q + 1})
			delays.AddArc(q+30, fst.Arc[W]{OLabel: 1 + l, NextState: q + 31})
		}
	}
	chain := fst.NewVector[W](0) // whose distances, as strings, are quadratic
	chain.AddStates(5001)
	chain.SetStart(0)
	chain.SetFinal(5000, 0)
	for q := range fst.StateID(5000) {
		chain.AddArc(q, fst.Arc[W]{ILabel: 1 + fst.Label(q)%2, OLabel: 1 + fst.Label(q)%3, NextState: q + 1})
	}
	calls := make([]ops.Rule[W], 4) // 40 calls each of the next
	for i := range calls {
		f := fst.NewVector[W](0)
		f.AddStates(41)
		f.SetStart(0)
		f.SetFinal(40, 0)
		for q := range fst.StateID(40) {
			f.AddArc(q, fst.Arc[W]{ILabel: 1, OLabel: fst.Label(101 + i), NextState: q + 1})
		}
		calls[i] = ops.Rule[W]{Label: fst.Label(100 + i), F: f}
	}
	for _, c := range []struct {
		op string
		do func() error
	}{
		{"Determinize", func() error { _, err := ops.Determinize(subsets, &ops.DeterminizeOptions{Limits: lim}); return err }},
		{"Determinize", func() error {
			_, err := ops.Determinize(chainOfPairs(40, 1), &ops.DeterminizeOptions{Type: ops.DeterminizeNonFunctional, Limits: lim})
			return err
		}},
		{"Determinize", func() error {
			_, err := ops.DeterminizePruned(subsets, &ops.DeterminizePrunedOptions[W]{DeterminizeOptions: ops.DeterminizeOptions{Limits: lim}})
			return err
		}},
		{"EpsNormalize", func() error { _, err := ops.EpsNormalize(chainOfPairs(40, 0), ops.Input, lim); return err }},
		{"EpsNormalize", func() error { // few strings a set, and many states that owe one
			_, err := ops.EpsNormalize(chainOfPairs(13, 0), ops.Input, lim)
			return err
		}},
		{"Synchronize", func() error { _, err := ops.Synchronize(delays, lim); return err }},
		{"Push", func() error { _, err := ops.Push(chain, &ops.PushOptions{Labels: true, Limits: lim}); return err }},
		{"Push", func() error {
			_, err := ops.Push(chain, &ops.PushOptions{Labels: true, ToFinal: true, Limits: lim})
			return err
		}},
		{"Minimize", func() error { _, err := ops.Minimize(chain, &ops.MinimizeOptions{Limits: lim}); return err }},
		{"Replace", func() error { _, err := ops.Replace(calls, 100, &ops.ReplaceOptions{Limits: lim}); return err }},
	} {
		err := c.do()
		var l *ops.LimitError
		if !errors.As(err, &l) || !errors.Is(err, ops.ErrLimit) || l.Limit != "bytes" || l.Bound != lim.Bytes || l.Op != c.op || l.Built.Bytes <= lim.Bytes {
			t.Errorf("%s: %v", c.op, err)
		}
	}
}

// What just fits is as it is without a limit.
func TestLimitOfBytesChangesNoResult(t *testing.T) {
	f := chainOfPairs(6, 0)
	want := fsttest.Must(ops.EpsNormalize(f, ops.Input, ops.Limits{}))
	got := fsttest.Must(ops.EpsNormalize(f, ops.Input, ops.Limits{Bytes: 1 << 20}))
	if d := ops.Compare[semiring.Tropical](got, want, 0); d != nil || want.NumStates() < 64 {
		t.Errorf("EpsNormalize: %v, %d states", d, want.NumStates())
	}
	for _, toFinal := range []bool{false, true} {
		o := ops.PushOptions{Labels: true, ToFinal: toFinal}
		want := fsttest.Must(ops.Push(chainOfPairs(6, 1), &o))
		o.Limits = ops.Limits{Bytes: 1 << 20}
		got := fsttest.Must(ops.Push(chainOfPairs(6, 1), &o))
		if d := ops.Compare[semiring.Tropical](got, want, 0); d != nil {
			t.Errorf("Push, to final states %v: %v", toFinal, d)
		}
	}
}
