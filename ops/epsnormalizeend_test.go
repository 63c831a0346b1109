package ops

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops/internal/graph"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// The verdict before is compared with what happens without it, within limits: EpsNormalize refuses
// exactly what goes beyond every limit, and what ends is the same machine.
func TestEpsNormalizeEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	rng := rand.New(rand.NewPCG(74, 3))
	count := map[string]int{}
	for i := range 1200 {
		side := Side(i % 2)
		f := fsttest.Random(rng, 1+rng.IntN(5), func(rng *rand.Rand) semiring.Tropical {
			if rng.IntN(12) == 0 {
				return semiring.Zero[semiring.Tropical]()
			}
			return semiring.Tropical(rng.IntN(8)) / 4
		}, fsttest.Options{Epsilon: []float64{0.2, 0.5, 0.7}[i%3], Labels: 2, Degree: []float64{0.8, 1.2, 1.6}[rng.IntN(3)], Cyclic: true, Final: 0.3, Start: i%5 == 0})
		got, err := EpsNormalize(f, side, Limits{})
		var unbounded *UnboundedOutputError
		if errors.As(err, &unbounded) {
			checkUnboundedOutput(t, f, side, unbounded)
			if count[unbounded.Err.Error()]++; count[unbounded.Err.Error()] > 100 {
				continue // each of these takes its time
			}
		}
		var want *fst.Vector[semiring.Tropical]
		var how error
		switch {
		case errors.Is(err, ErrNotClosed):
			if !manyStrings(f, side) {
				t.Fatalf("case %d: on the %s: %v; the strings of the ways by ε are few", i, side, err)
			}
			continue
		case errors.Is(err, ErrUnboundedDelay):
			_, how = epsNormalizedUnchecked(f, side, Limits{States: 3000})
		default:
			want, how = epsNormalizedUnchecked(f, side, Limits{})
		}
		switch {
		case unbounded != nil:
			if !errors.Is(how, ErrLimit) {
				t.Fatalf("case %d: on the %s: %v; without looking first: %v", i, side, err, how)
			}
		case err != nil || how != nil:
			t.Fatalf("case %d: on the %s: %v; without looking first: %v", i, side, err, how)
		default:
			if diff := cmp.Diff(fsttest.Relation[semiring.Tropical](want, 5), fsttest.Relation[semiring.Tropical](got, 5)); diff != "" || want.NumStates() != got.NumStates() || want.NumArcs() != got.NumArcs() {
				t.Fatalf("case %d: the result is another: %s", i, diff)
			}
			count["ends"]++
		}
	}
	if len(count) != 3 {
		t.Errorf("not all that may come has come: %v", count)
	}
}

// manyStrings follows the arcs with ε on the side from each state that one with a label leads to,
// and counts the strings of the other side with which states are reached; none of these machines
// has so many unless there is no end to them.
func manyStrings(f *fst.Vector[semiring.Tropical], side Side) bool {
	in := f.Clone()
	if side == Output {
		Invert(in)
	}
	dead := graph.Useless(in, 1)
	entered := make([]bool, in.NumStates())
	entered[in.Start()] = true
	for q := range fst.StateID(in.NumStates()) {
		for _, e := range in.Arcs(q) {
			entered[e.NextState] = entered[e.NextState] || e.ILabel != 0
		}
	}
	type reach struct {
		q fst.StateID
		s string
	}
	for source := range fst.StateID(in.NumStates()) {
		if !entered[source] || dead != nil && dead[source] {
			continue
		}
		seen := map[reach]bool{{source, ""}: true}
		todo := []reach{{source, ""}}
		for head := 0; head < len(todo); head++ {
			if head > 5000 {
				return true
			}
			for _, e := range in.Arcs(todo[head].q) {
				r := reach{e.NextState, todo[head].s}
				if e.OLabel != 0 {
					r.s += string(rune('a' + e.OLabel))
				}
				if e.ILabel == 0 && !semiring.IsZero(e.Weight) && !seen[r] && (dead == nil || !dead[r.q]) {
					seen[r] = true
					todo = append(todo, r)
				}
			}
		}
	}
	return false
}

// epsNormalizedUnchecked is EpsNormalize that looks at nothing beforehand.
func epsNormalizedUnchecked(f *fst.Vector[semiring.Tropical], side Side, lim Limits) (*fst.Vector[semiring.Tropical], error) {
	in := f.Clone()
	if side == Output {
		Invert(in)
	}
	g, err := toGallic[semiring.Tropical](in, unionPair[semiring.Tropical], &run.Stopwatch{})
	if err != nil {
		return nil, err
	}
	if err := RmEpsilon(g, &RmEpsilonOptions{Limits: lim.workspace()}); err != nil {
		return nil, err
	}
	factored, err := FactorWeight(g, factorGallicUnion[semiring.Tropical], &FactorWeightOptions{Limits: lim})
	if err != nil {
		return nil, err
	}
	out, err := fromGallic(factored, splitUnion[semiring.Tropical])
	if err == nil && side == Output {
		Invert(out)
	}
	return out, err
}

// checkUnboundedOutput follows the witness arc by arc.
func checkUnboundedOutput(t *testing.T, f *fst.Vector[semiring.Tropical], side Side, e *UnboundedOutputError) {
	t.Helper()
	p := e.Path
	inputs, outputs := 0, 0
	for i, q := range p.States[:len(p.States)-1] {
		found := false
		for _, a := range f.Arcs(q) {
			found = found || a.NextState == p.States[i+1] && a.ILabel == p.ILabels[i] && a.OLabel == p.OLabels[i]
		}
		if !found {
			t.Fatalf("arc %d of %v is not of the machine", i, p.String())
		}
		in, out := p.ILabels[i], p.OLabels[i]
		if side == Output {
			in, out = out, in
		}
		if i >= e.Cycle && in != 0 {
			inputs++
		}
		if i >= e.Cycle && out != 0 {
			outputs++
		}
	}
	if p.States[0] != f.Start() || p.States[e.Cycle] != p.States[len(p.States)-1] || len(p.States) < e.Cycle+2 {
		t.Fatalf("no path from the start round a cycle: %v", e)
	}
	if inputs != e.Inputs || outputs != e.Outputs || outputs <= inputs || errors.Is(e, ErrNotClosed) != (inputs == 0) {
		t.Fatalf("%d inputs and %d outputs on the cycle: %v", inputs, outputs, e)
	}
}

// A large machine, whose cycle of gain is 6,000 arcs long and gains one label, and one where it
// gains none.
func TestEpsNormalizeLongCycle(t *testing.T) {
	const n = 6000
	f := fst.NewVector[semiring.Tropical](n)
	f.AddStates(n)
	f.SetStart(0)
	f.SetFinal(n/2, 0)
	for q := range fst.StateID(n) {
		e := fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 2, NextState: (q + 1) % n}
		if q%2 == 0 && q < n/2 {
			e.ILabel = fst.Epsilon
		} else if q%2 == 0 && q > n/2 {
			e.OLabel = fst.Epsilon
		}
		f.AddArc(q, e)
	}
	_, err := EpsNormalize(f, Input, Limits{})
	var unbounded *UnboundedOutputError
	if !errors.As(err, &unbounded) || unbounded.Outputs != unbounded.Inputs+1 || !errors.Is(err, ErrUnboundedDelay) {
		t.Fatalf("a long cycle: %v", err)
	}
	if told := fmt.Sprintf("has %d labels on the output and %d on the input", unbounded.Outputs, unbounded.Inputs); !strings.Contains(err.Error(), told) {
		t.Errorf("%v: does not tell %q", err, told)
	}
	f.MutableArcs(n / 2)[0].OLabel = fst.Epsilon
	g, err := EpsNormalize(f, Input, Limits{})
	if err != nil || g.NumStates() == 0 {
		t.Fatalf("as many inputs as outputs: %v", err)
	}
}
