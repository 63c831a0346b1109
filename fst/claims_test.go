package fst

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/semiring"
)

// claimShapes are machines of n states, with arcs a state on average, that differ in what is
// true of them and in how a search finds it.
var claimShapes = []struct {
	name string
	next func(rng *rand.Rand, q, n int) int // of an arc of q; -1 for none
}{
	{"any", func(rng *rand.Rand, q, n int) int { return rng.IntN(n) }},
	{"up", func(rng *rand.Rand, q, n int) int { return q + 1 + rng.IntN(max(1, n-q-1)) }},
	{"down", func(rng *rand.Rand, q, n int) int { return rng.IntN(max(1, q)) - min(1, max(0, 1-q)) }},
	{"chain", func(rng *rand.Rand, q, n int) int { return q + 1 }},
	{"ring", func(rng *rand.Rand, q, n int) int { return (q + 1) % n }},
	{"backward ring", func(rng *rand.Rand, q, n int) int { return (q + n - 1) % n }},
	{"loops", func(rng *rand.Rand, q, n int) int { return q + rng.IntN(2) }},
	{"halves", func(rng *rand.Rand, q, n int) int { return q/((n+1)/2)*((n+1)/2) + rng.IntN((n+1)/2) }},
	{"pairs", func(rng *rand.Rand, q, n int) int { return q ^ 1 }},
	{"near", func(rng *rand.Rand, q, n int) int { return q - 2 + rng.IntN(5) }},
}

// claimMachine draws a machine of the shape, its states renumbered if mixed.
func claimMachine(rng *rand.Rand, shape, n int, mixed bool) *Vector[semiring.Tropical] {
	v := NewVector[semiring.Tropical](n)
	v.AddStates(n)
	if n == 0 {
		return v
	}
	to := make([]StateID, n)
	for q := range to {
		to[q] = StateID(q)
	}
	if mixed {
		rng.Shuffle(n, func(i, j int) { to[i], to[j] = to[j], to[i] })
	}
	switch rng.IntN(8) {
	case 0:
		v.SetStart(StateID(rng.IntN(n)))
	case 1:
	default:
		v.SetStart(to[0])
	}
	labels, weights, width := 1+rng.IntN(12), rng.IntN(3), 1+rng.IntN(3)
	for q := range n {
		for range rng.IntN(2) + rng.IntN(width)*rng.IntN(2) + 1 - rng.IntN(8)/7 {
			t := claimShapes[shape].next(rng, q, n)
			if t < 0 || t >= n {
				continue
			}
			e := Arc[semiring.Tropical]{ILabel: Label(rng.IntN(labels)), NextState: to[t]}
			e.OLabel = e.ILabel
			if rng.IntN(3) == 0 {
				e.OLabel = Label(rng.IntN(labels))
			}
			if weights == 1 && rng.IntN(6) == 0 || weights == 2 && t > q {
				e.Weight = semiring.Tropical(rng.IntN(3))
			}
			v.AddArc(to[q], e)
		}
		if rng.IntN(n) == 0 || rng.IntN(12) == 0 {
			v.SetFinal(to[q], semiring.Tropical(rng.IntN(2)))
		}
	}
	if rng.IntN(2) == 0 {
		v.SetFinal(to[n-1], 0)
	}
	return v
}

// factsOf gathers what reading would.
func factsOf(v Expanded[semiring.Tropical]) *arcFacts {
	a := newArcFacts[semiring.Tropical](v.Start())
	for q := range StateID(v.NumStates()) {
		a.begin()
		noteArcs(&a, v.Arcs(q), q, uint32(v.NumStates()))
		a.final(float64(v.Final(q)))
	}
	return &a
}

// Of every claim, true or false, alone or among others, what holds is what Compute finds.
func TestClaimsAgainstCompute(t *testing.T) {
	seen := map[int]Properties{}
	seeds := uint64(6000)
	if testing.Short() { // as under the race detector, ten times slower
		seeds = 600
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 41))
		shape := rng.IntN(len(claimShapes))
		n := rng.IntN(12) * (1 + rng.IntN(8))
		if seed%60 == 0 {
			n = 2000 + rng.IntN(4000) // a search may be long
		}
		v := claimMachine(rng, shape, n, rng.IntN(2) == 0)
		want, _ := Compute(v, trinaryProperties)
		want &= trinaryProperties
		seen[shape] |= want
		facts := factsOf(v)
		if p := facts.properties(); p&^want != 0 {
			t.Fatalf("seed %d: facts %x, true %x", seed, p, want)
		}
		var asked []Properties
		for p := Acceptor; p <= UnweightedCycles; p <<= 1 {
			asked = append(asked, p)
		}
		asked = append(asked, 0, want, trinaryProperties&^want, trinaryProperties)
		for range 16 {
			// One side of each pair, or of some; anything; some of what is true.
			yes, some := Properties(rng.Uint64())&positiveProperties, Properties(rng.Uint64())&positiveProperties
			asked = append(asked, yes|(positiveProperties&^yes)<<1, yes&some|some&^yes<<1, Properties(rng.Uint64()), want&Properties(rng.Uint64()))
		}
		for _, p := range asked {
			for i, got := range []Properties{hold(v, p, facts), hold(v, p, nil), hold(NewConst(v), p, facts)} {
				if got != p&want {
					t.Fatalf("seed %d, %s, way %d: of %x hold %x, true are %x", seed, claimShapes[shape].name, i, p, got, p&want)
				}
			}
		}
	}
	all := Properties(0)
	for _, p := range seen {
		all |= p
	}
	if all != trinaryProperties {
		t.Errorf("machines never showed %x", trinaryProperties&^all)
	}
}

// Labels at the limits are compared as they are.
func TestClaimsOfExtremeLabels(t *testing.T) {
	labels := []Label{-1 << 31, -1<<31 + 1, -1, 0, 1, 1<<31 - 1}
	for _, a := range labels {
		for _, b := range labels {
			v := NewVector[semiring.Tropical](1)
			v.SetStart(v.AddState())
			v.AddArc(0, Arc[semiring.Tropical]{ILabel: a, OLabel: b})
			v.AddArc(0, Arc[semiring.Tropical]{ILabel: b, OLabel: a})
			want, _ := Compute(v, trinaryProperties)
			if p := factsOf(v).properties(); p&^want != 0 {
				t.Errorf("labels %d and %d: facts %x, true %x", a, b, p, want)
			}
			if got := hold(v, want, factsOf(v)); got != want&trinaryProperties {
				t.Errorf("labels %d and %d: %x hold of %x", a, b, got, want)
			}
		}
	}
}

// A search that goes as deep as a machine has states does not exhaust the stack, nor take long.
func TestClaimsDeep(t *testing.T) {
	n := 1 << 20
	if testing.Short() {
		n = 1 << 17
	}
	for _, step := range []StateID{1, StateID(n) - 1, 3} {
		v := NewVector[semiring.Tropical](n)
		v.AddStates(n)
		v.SetStart(0)
		for q := range StateID(n) {
			v.AddArc(q, Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: (q + step) % StateID(n)})
		}
		v.AddArc(0, Arc[semiring.Tropical]{ILabel: 2, OLabel: 2, NextState: 0})
		facts := factsOf(v)
		for _, last := range []bool{false, true} {
			want := Cyclic | InitialCyclic | Accessible | NotCoAccessible | UnweightedCycles | NotString
			if last {
				v.SetFinal(StateID(n/2), 0)
				want ^= NotCoAccessible | CoAccessible
			}
			for _, p := range []Properties{want, want&^Cyclic | Acyclic, want ^ (InitialCyclic | InitialAcyclic), want ^ (Accessible | NotAccessible), want ^ (CoAccessible | NotCoAccessible)} {
				if got := hold(v, p, facts); got != p&want {
					t.Errorf("step %d: of %x hold %x, true are %x", step, p, got, want)
				}
			}
		}
	}
}

// claimsBench is a machine of 100,000 states and four arcs a state of a shape, its states renumbered if mixed.
func claimsBench(shape int, mixed bool) *Const[semiring.Tropical] {
	const n = 100_000
	rng := rand.New(rand.NewPCG(1, 1))
	to := rng.Perm(n)
	if !mixed {
		for q := range to {
			to[q] = q
		}
	}
	v := NewVector[semiring.Tropical](n)
	v.AddStates(n)
	v.SetStart(StateID(to[0]))
	for q := range n {
		for range 4 {
			t := min(max(claimShapes[shape].next(rng, q, n), 0), n-1)
			if claimShapes[shape].name == "up" && q == n-1 {
				break
			}
			v.AddArc(StateID(to[q]), Arc[semiring.Tropical]{Label(1 + rng.IntN(19)), Label(rng.IntN(20)), 1, StateID(to[t])})
		}
	}
	v.SetFinal(StateID(to[n-1]), 0)
	return NewConst(v)
}

// BenchmarkClaims tests what is claimed of a machine, beside what Compute takes to find it out.
func BenchmarkClaims(b *testing.B) {
	for _, shape := range []int{0, 1, 9} {
		for _, mixed := range []bool{false, true} {
			c := claimsBench(shape, mixed)
			claims, _ := Compute(c, trinaryProperties)
			facts := factsOf(c)
			b.Run(fmt.Sprintf("shape=%s/mixed=%v", claimShapes[shape].name, mixed), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if hold(c, claims, facts) != claims&trinaryProperties {
						b.Fatal("a true claim does not hold")
					}
				}
			})
			b.Run(fmt.Sprintf("shape=%s/mixed=%v/compute", claimShapes[shape].name, mixed), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					Compute(c, trinaryProperties&^facts.properties().Known())
				}
			})
		}
	}
}

// BenchmarkReadClaims reads a const machine with cycles whose header claims all that is true of it.
func BenchmarkReadClaims(b *testing.B) {
	var file bytes.Buffer
	if err := Write(&file, claimsBench(0, false), &WriteOptions{Type: "const"}); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(file.Len()))
	for b.Loop() {
		if _, err := Read[semiring.Tropical](bytes.NewReader(file.Bytes()), nil); err != nil {
			b.Fatal(err)
		}
	}
}
