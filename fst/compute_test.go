package fst

import (
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/semiring"
)

// plainProperties follows the definitions word by word, with reachability by
// transitive closure.
func plainProperties(f Expanded[semiring.Tropical]) Properties {
	n := f.NumStates()
	reach := make([][]bool, n) // by one arc or more
	for p := range reach {
		reach[p] = make([]bool, n)
		for _, e := range f.Arcs(StateID(p)) {
			reach[p][e.NextState] = true
		}
	}
	for k := range n {
		for p := range n {
			for q := range n {
				reach[p][q] = reach[p][q] || reach[p][k] && reach[k][q]
			}
		}
	}
	var p Properties
	pick := func(b bool, yes Properties) {
		if b {
			p |= yes
		} else {
			p |= yes << 1
		}
	}
	trivial := func(w semiring.Tropical) bool { return semiring.IsZero(w) || semiring.IsOne(w) }
	var differ, iTwice, oTwice, eps, iEps, oEps, iUnsorted, oUnsorted, weighted, back, weightedCycles bool
	for q := range StateID(n) {
		arcs := f.Arcs(q)
		weighted = weighted || !trivial(f.Final(q))
		for i, e := range arcs {
			differ = differ || e.ILabel != e.OLabel
			eps = eps || e.ILabel == 0 && e.OLabel == 0
			iEps = iEps || e.ILabel == 0
			oEps = oEps || e.OLabel == 0
			weighted = weighted || !trivial(e.Weight)
			back = back || e.NextState <= q
			weightedCycles = weightedCycles || !trivial(e.Weight) && (e.NextState == q || reach[e.NextState][q])
			for _, d := range arcs[:i] {
				iTwice = iTwice || d.ILabel == e.ILabel
				oTwice = oTwice || d.OLabel == e.OLabel
				iUnsorted = iUnsorted || d.ILabel > e.ILabel
				oUnsorted = oUnsorted || d.OLabel > e.OLabel
			}
		}
	}
	cyclic, accessible, coaccessible, isString := false, true, true, n == 0 || f.Start() == 0
	for q := range n {
		cyclic = cyclic || reach[q][q]
		accessible = accessible && f.Start() != NoState && (StateID(q) == f.Start() || reach[f.Start()][q])
		final := false
		for r := range n {
			final = final || (r == q || reach[q][r]) && !semiring.IsZero(f.Final(StateID(r)))
		}
		coaccessible = coaccessible && final
		arcs := f.Arcs(StateID(q))
		if q == n-1 {
			isString = isString && len(arcs) == 0 && !semiring.IsZero(f.Final(StateID(q)))
		} else {
			isString = isString && len(arcs) == 1 && int(arcs[0].NextState) == q+1 && semiring.IsZero(f.Final(StateID(q)))
		}
	}
	pick(!differ, Acceptor)
	pick(!iTwice, IDeterministic)
	pick(!oTwice, ODeterministic)
	pick(eps, Epsilons)
	pick(iEps, IEpsilons)
	pick(oEps, OEpsilons)
	pick(!iUnsorted, ILabelSorted)
	pick(!oUnsorted, OLabelSorted)
	pick(weighted, Weighted)
	pick(cyclic, Cyclic)
	pick(f.Start() != NoState && reach[f.Start()][f.Start()], InitialCyclic)
	pick(!back, TopSorted)
	pick(accessible, Accessible)
	pick(coaccessible, CoAccessible)
	pick(isString, String)
	pick(weightedCycles, WeightedCycles)
	return p
}

func TestComputeAgainstDefinitions(t *testing.T) {
	seen := Properties(0)
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		n := rng.IntN(6)
		v := NewVector[semiring.Tropical](n)
		v.AddStates(n)
		if n > 0 {
			v.SetStart(StateID(rng.IntN(n+1)) - 1)
			for range rng.IntN(2 * n) {
				q := rng.IntN(n)
				e := randomArc(rng, n)
				if seed%3 == 0 && q < n-1 {
					e.NextState = StateID(q + 1 + rng.IntN(n-1-q))
				}
				v.AddArc(StateID(q), e)
			}
			v.SetFinal(StateID(rng.IntN(n)), randomTropical(rng))
		}
		if seed%7 == 0 { // strings are rare among random machines
			v.Clear()
			v.AddStates(n + 1)
			v.SetStart(0)
			for q := range StateID(n) {
				v.AddArc(q, Arc[semiring.Tropical]{NextState: q + 1})
			}
			v.SetFinal(StateID(n), 0)
		}
		for range rng.IntN(12) { // wide states take another way to determinism
			if n > 0 {
				v.AddArc(0, Arc[semiring.Tropical]{ILabel: Label(rng.IntN(40)), OLabel: Label(rng.IntN(40)), NextState: StateID(rng.IntN(n))})
			}
		}
		want := plainProperties(v)
		got, known := Compute(v, AllProperties)
		if got&trinaryProperties != want || known != AllProperties {
			t.Fatalf("seed %d: got %x, known %x, want %x", seed, got, known, want)
		}
		seen |= want
		// Parts of the question get parts of the same answer.
		mask := Properties(rng.Uint64()) & trinaryProperties
		got, known = Compute(v, mask)
		if got&trinaryProperties&^want != 0 || mask&^known != 0 {
			t.Fatalf("seed %d: mask %x: got %x, known %x, want %x", seed, mask, got, known, want)
		}
		p := PropertiesOf(v, mask)
		if p&trinaryProperties&^want != 0 || mask&^p.Known() != 0 || mask&^v.KnownProperties().Known() != 0 {
			t.Fatalf("seed %d: PropertiesOf(%x) = %x; remembered %x, want %x", seed, mask, p, v.KnownProperties(), want)
		}
	}
	if seen != trinaryProperties {
		t.Fatalf("cases never showed %x", trinaryProperties&^seen)
	}
}

// A long chain must not exhaust the stack.
func TestComputeDeep(t *testing.T) {
	const n = 1 << 20
	v := NewVector[semiring.Tropical](n)
	v.AddStates(n)
	v.SetStart(0)
	for q := range StateID(n - 1) {
		v.AddArc(q, Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: q + 1})
	}
	v.SetFinal(n-1, 0)
	if p, _ := Compute(v, AllProperties); !p.Has(String | Acyclic | Accessible | CoAccessible | UnweightedCycles) {
		t.Fatalf("chain: %x", p)
	}
	v.AddArc(n-1, Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, Weight: 2, NextState: 0})
	if p, _ := Compute(v, AllProperties); !p.Has(NotString | Cyclic | InitialCyclic | WeightedCycles | NotTopSorted) {
		t.Fatalf("ring: %x", p)
	}
}

// hidden hides that the states can be counted.
type hidden[W any] struct{ Fst[W] }

func TestComputeUnexpanded(t *testing.T) {
	v := &Vector[semiring.Tropical]{}
	v.AddStates(3)
	v.SetStart(0)
	v.AddArc(0, Arc[semiring.Tropical]{ILabel: 1, OLabel: 2, NextState: 1})
	v.AddArc(1, Arc[semiring.Tropical]{ILabel: 1, OLabel: 2, NextState: 2})
	v.SetFinal(2, 1)
	p, _ := Compute[semiring.Tropical](hidden[semiring.Tropical]{v}, AllProperties)
	q, _ := Compute(v, AllProperties)
	if p&trinaryProperties != q&trinaryProperties {
		t.Fatalf("got %x, want %x", p, q)
	}
	if p := PropertiesOf[semiring.Tropical](hidden[semiring.Tropical]{v}, Cyclic); !p.Has(Acyclic) {
		t.Fatalf("PropertiesOf: %x", p)
	}
}
