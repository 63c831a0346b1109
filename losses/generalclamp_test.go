package losses

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/losses/internal/determinize"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// unclampedAutomaton is TropicalAutomaton by the determinization of package ops, without a clamp.
func unclampedAutomaton(y fst.Expanded[semiring.Log64], u fst.Expanded[semiring.Tropical64], ref []int,
	opts *GeneralOptions) (*Automaton, error) {
	if opts == nil {
		opts = &GeneralOptions{}
	}
	s := opts.stages()
	grid := determinize.CostGridOf(u, opts.Cap, longest(y)+len(ref))
	m, err := pairUp(s, y, grid.Machine(u), ref, opts)
	if err != nil {
		return nil, err
	}
	if opts.Cap != nil {
		if m, err = withConstant(s, m, grid.Round(semiring.Tropical64(*opts.Cap)), y, opts); err != nil {
			return nil, err
		}
	}
	det, err := determinizePlainly(s, m, grid.Step, opts)
	if err != nil {
		return nil, err
	}
	return &Automaton{L: det}, nil
}

// randomTransducer is any transducer over symbols, with cycles of ε that cost nothing or more, and
// costs of a kind: integers, decimals, reals, over many powers of ten, with forbidding ones.
func randomTransducer(rng *rand.Rand, symbols, kind int) *fst.Vector[semiring.Tropical64] {
	n := 1 + rng.IntN(4)
	cost := func(free bool) semiring.Tropical64 {
		low := 0
		if free && rng.IntN(3) == 0 {
			low = 3
		}
		switch kind {
		case 0:
			return semiring.Tropical64(rng.IntN(4) - low)
		case 1:
			return semiring.Tropical64(float64(rng.IntN(40)-10*low) / 10)
		case 2:
			return semiring.Tropical64(rng.Float64() * float64(3-low))
		case 3:
			return semiring.Tropical64(math.Pow(10, 12*rng.Float64()-6))
		}
		return semiring.Tropical64([]float64{0, 1, 2, 1e7, 1e300}[rng.IntN(5)])
	}
	u := fst.NewVector[semiring.Tropical64](n)
	u.AddStates(n)
	u.SetStart(0)
	for q := range fst.StateID(n) {
		if q == 0 || rng.IntN(2) == 0 {
			u.SetFinal(q, cost(true))
		}
		for range 2 + rng.IntN(8) {
			a, b := fst.Label(rng.IntN(symbols+1)), fst.Label(rng.IntN(symbols+1))
			u.AddArc(q, fst.Arc[semiring.Tropical64]{ILabel: a, OLabel: b, Weight: cost(a != 0),
				NextState: fst.StateID(rng.IntN(n))})
		}
	}
	return u
}

// leastByRelaxation is the least cost of a path of u from s to r, +Inf where there is none.
func leastByRelaxation(u *fst.Vector[semiring.Tropical64], s, r []int) float64 {
	n := u.NumStates()
	at := func(q fst.StateID, i, j int) int { return (int(q)*(len(s)+1)+i)*(len(r)+1) + j }
	d := make([]float64, n*(len(s)+1)*(len(r)+1))
	for i := range d {
		d[i] = math.Inf(1)
	}
	d[at(u.Start(), 0, 0)] = 0
	for changed := true; changed; {
		changed = false
		for q := range fst.StateID(n) {
			for i := range len(s) + 1 {
				for j := range len(r) + 1 {
					x := d[at(q, i, j)]
					if math.IsInf(x, 1) {
						continue
					}
					for _, e := range u.Arcs(q) {
						i, j := i, j
						if e.ILabel != 0 {
							if i == len(s) || fst.Label(s[i]+1) != e.ILabel {
								continue
							}
							i++
						}
						if e.OLabel != 0 {
							if j == len(r) || fst.Label(r[j]+1) != e.OLabel {
								continue
							}
							j++
						}
						if to := at(e.NextState, i, j); x+float64(e.Weight) < d[to] {
							d[to], changed = x+float64(e.Weight), true
						}
					}
				}
			}
		}
	}
	least := math.Inf(1)
	for q := range fst.StateID(n) {
		least = min(least, d[at(q, len(s), len(r))]+float64(u.Final(q)))
	}
	return least
}

// The clamp changes no loss, and adds no state. 10^4 random transducers, on strings of one length,
// on lattices, with expansions, under caps and in bands, are compared with the determinization of
// package ops. Where strings are all of a length they are compared with the definition, too.
func TestClampKeepsLosses(t *testing.T) {
	machines := 10000
	if testing.Short() {
		machines = 1000
	}
	rng := rand.New(rand.NewPCG(32, 1))
	fewer, strings, none := 0, 0, 0
	for i := range machines {
		symbols := 1 + rng.IntN(3)
		l := rng.IntN(5)
		u, ref := randomTransducer(rng, symbols, i/6%5), randomRef(rng, rng.IntN(6), symbols)
		y, opts := Strings(symbols, l), &GeneralOptions{}
		kind := i % 6
		switch kind {
		case 1:
			y = randomLattice(rng, 2+rng.IntN(5), symbols)
		case 2:
			y = sausage(rng, rng.IntN(6), 1+rng.IntN(4), symbols)
		case 3:
			opts.Expand = randomSpelling(rng, symbols, symbols)
			if rng.IntN(2) == 0 {
				opts.Expand.(*fst.Vector[semiring.Tropical64]).AddArc(0,
					fst.Arc[semiring.Tropical64]{ILabel: 1, OLabel: 1, NextState: 0})
			}
		case 4:
			most := float64(rng.IntN(8)) / 2
			opts.Cap = &most
		case 5:
			opts.Band = 1 + rng.IntN(2)
		}
		name := fmt.Sprintf("machine %d, reference %v", i, ref)
		got, err := TropicalAutomaton(y, u, ref, opts)
		want, err2 := unclampedAutomaton(y, u, ref, opts)
		if err2 != nil || err != nil && !(errors.Is(err, ErrNoString) && want.States() == 0) {
			t.Fatalf("%s: error %v with the clamp, %v without", name, err, err2)
		}
		if err != nil {
			none++
			continue
		}
		if got.States() > want.States() && i/6%5 < 3 { // beyond them costs have no grid
			t.Errorf("%s: kind %d: %d states with the clamp, %d without", name, i/6%5, got.States(),
				want.States())
		}
		if got.States() < want.States() {
			fewer++
		}
		length := l
		if kind == 1 || kind == 2 {
			length = min(6, longest(y))
		}
		for n := range length + 1 {
			for _, s := range allStrings(symbols, n) {
				a, b := got.Loss(s), want.Loss(s)
				if !closeCosts(a, b) {
					t.Fatalf("%s: L(%v) = %v with the clamp, %v without", name, s, a, b)
				}
				if kind == 0 && n == l {
					if c := leastByRelaxation(u, s, ref); !closeCosts(a, c) {
						t.Fatalf("%s: L(%v) = %v, by definition %v", name, s, a, c)
					}
				}
				strings++
			}
		}
	}
	if fewer < machines/50 || none > machines/2 {
		t.Errorf("the clamp had an effect on %d machines, %d had no string", fewer, none)
	}
	t.Logf("%d strings of %d machines; fewer states in %d, none in %d", strings, machines, fewer, none)
}

func closeCosts(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-9*max(1e-3, math.Abs(a), math.Abs(b))
}

// allStrings returns the strings of n symbols.
func allStrings(symbols, n int) [][]int {
	out := [][]int{{}}
	for range n {
		var next [][]int
		for _, s := range out {
			for k := range symbols {
				next = append(next, append(s[:len(s):len(s)], k))
			}
		}
		out = next
	}
	return out
}

// D bounds differences of losses, state by state and string by string, and satisfies the triangle
// inequality.
func TestClampBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 2))
	pairs, tight := 0, 0
	for range 300 {
		symbols := 1 + rng.IntN(2)
		l := 2 + rng.IntN(3)
		u, ref := randomTransducer(rng, symbols, rng.IntN(4)), randomRef(rng, rng.IntN(5), symbols)
		m, err := pairUp((&GeneralOptions{}).stages(), Strings(symbols, l),
			fst.Expanded[semiring.Tropical64](u), ref, &GeneralOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if m.Start() == fst.NoState {
			continue
		}
		ops.ArcSort(m, ops.Input)
		a, err := determinize.Layers(m, determinize.NewClampedCosts(1<<30), func(int64) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range a.Classes {
			k := len(c.States)
			for i := range k {
				if c.D == nil {
					break
				}
				for j := range k {
					most := math.Inf(-1)
					for n := range l + 1 {
						for _, s := range allStrings(symbols, n) {
							if x := costFrom(m, c.States[i], s); !math.IsInf(x, 1) {
								most = max(most, costFrom(m, c.States[j], s)-x)
							}
						}
					}
					d := c.D[i*k+j]
					slack := 1e-9 * max(1, math.Abs(d))
					if most > d+slack {
						t.Errorf("D(%d, %d) = %v, but losses differ by %v", c.States[i], c.States[j], d, most)
					}
					if pairs++; i != j && !math.IsInf(d, 1) && most >= d-slack {
						tight++
					}
					for x := range k {
						if e := c.D[i*k+x] + c.D[x*k+j]; d > e+1e-9*max(1, math.Abs(e)) && !math.IsNaN(e) {
							t.Errorf("D(%d, %d) = %v by way of %d, directly %v", i, j, e, x, d)
						}
					}
				}
			}
		}
	}
	if pairs < 1000 || tight < 100 {
		t.Errorf("%d pairs, in %d of which D is reached", pairs, tight)
	}
}

// costFrom is the least cost of reading s from q to an end.
func costFrom(m *fst.Vector[semiring.Tropical64], q fst.StateID, s []int) float64 {
	if len(s) == 0 {
		return float64(m.Final(q))
	}
	least := math.Inf(1)
	for _, e := range m.Arcs(q) {
		if int(e.ILabel) == s[0]+1 {
			least = min(least, float64(e.Weight)+costFrom(m, e.NextState, s[1:]))
		}
	}
	return least
}

// gradedTable has costs by symbol from a few values.
func gradedTable(rng *rand.Rand, symbols int) Edit {
	row := func(from ...float64) []float64 {
		x := make([]float64, symbols)
		for i := range x {
			x[i] = from[rng.IntN(len(from))]
		}
		return x
	}
	e := Edit{InsTable: row(1, 1.5), DelTable: row(1, 1.5)}
	for a := range symbols {
		r := row(1, 1.5, 2)
		r[a] = 0
		e.SubTable = append(e.SubTable, r)
	}
	return e
}

// A loss given as a transducer has hardly more states than the direct machine has columns, and the
// same losses, on strings drawn at random and near the reference.
func TestClampedLikeDirect(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 4))
	worst := 0.0
	for _, c := range []struct {
		name    string
		edit    Edit
		symbols int
		lengths []int
	}{
		{"unit", Unit, 10, []int{6, 8, 10, 12}},
		{"smith-waterman", SmithWaterman, 10, []int{6, 8, 10}},
		{"table", gradedTable(rng, 3), 3, []int{6, 8, 10, 12}},
		{"table", gradedTable(rng, 10), 10, []int{6}},
		{"weighted", Edit{Sub: 1.7, Ins: 1.1, Del: .9}, 4, []int{6, 8}},
	} {
		for _, l := range c.lengths {
			ref := randomRef(rng, l+rng.IntN(3)-1, c.symbols)
			u, err := c.edit.Transducer(c.symbols)
			if err != nil {
				t.Fatal(err)
			}
			a, err := TropicalAutomaton(Strings(c.symbols, l), u, ref, nil)
			if err != nil {
				t.Fatal(err)
			}
			m, err := c.edit.Machine(ref, c.symbols, l)
			if err != nil {
				t.Fatal(err)
			}
			ratio := float64(a.States()) / float64(m.TotalColumns())
			if worst = max(worst, ratio); ratio > 1.5 {
				t.Errorf("%s, %d symbols: %d states, the direct machine has %d columns", c.name, l,
					a.States(), m.TotalColumns())
			}
			for range 500 {
				s := randomRef(rng, l, c.symbols)
				if at := rng.IntN(l); at < len(ref) {
					copy(s[:at], ref[len(ref)-at:]) // a piece of the reference, moved
				}
				if got, want := a.Loss(s), m.Loss(s); !closeCosts(got, want) && math.Abs(got-want) > 1e-9 {
					t.Fatalf("%s: L(%v) = %v, on the direct path %v", c.name, s, got, want)
				}
			}
		}
	}
	t.Logf("at most %.2f of the direct machine", worst)
}

// Off the grid sums round: negative costs beyond it are left to the determinization without a
// clamp.
func TestClampLeavesCancellation(t *testing.T) {
	u := fst.NewVector[semiring.Tropical64](1)
	u.SetStart(u.AddState())
	u.SetFinal(0, 0)
	for _, w := range []semiring.Tropical64{1, 1e300} {
		u.AddArc(0, fst.Arc[semiring.Tropical64]{ILabel: 1, OLabel: 1, Weight: w})
	}
	if g := determinize.CostGridOf(u, nil, 8); g.Cancels(u) {
		t.Errorf("costs 1 and 1e300 cancel nothing, top %v", g.Top)
	}
	u.AddArc(0, fst.Arc[semiring.Tropical64]{ILabel: 1, OLabel: 0, Weight: -1e300})
	if g := determinize.CostGridOf(u, nil, 8); !g.Cancels(u) {
		t.Errorf("-1e300 cancels 1e300, top %v", g.Top)
	}
}

// BenchmarkClamp makes the automaton of a loss given as a transducer, for all strings of a length,
// with the clamp and without, and the direct machine beside it.
func BenchmarkClamp(b *testing.B) {
	for _, c := range []struct {
		name    string
		edit    Edit
		symbols int
		lengths []int
		plain   int // greatest length without the clamp
	}{
		{"edit", Unit, 10, []int{6, 8, 10, 12, 16, 18}, 10},
		{"smith-waterman", SmithWaterman, 10, []int{6, 8, 10, 12}, 8},
		{"table", gradedTable(rand.New(rand.NewPCG(1, 3)), 3), 3, []int{6, 8, 10, 12, 16}, 10},
		{"table", gradedTable(rand.New(rand.NewPCG(1, 10)), 10), 10, []int{6, 8, 10}, 6},
	} {
		for _, l := range c.lengths {
			ref := randomRef(rand.New(rand.NewPCG(2, uint64(l))), l, c.symbols)
			u, err := c.edit.Transducer(c.symbols)
			if err != nil {
				b.Fatal(err)
			}
			run := func(path string, states func() (int, error)) {
				b.Run(fmt.Sprintf("loss=%s/D=%d/l=%d/path=%s", c.name, c.symbols, l, path),
					func(b *testing.B) {
						b.ReportAllocs()
						n := 0
						for b.Loop() {
							if n, err = states(); err != nil {
								b.Fatal(err)
							}
						}
						b.ReportMetric(float64(n), "states")
					})
			}
			count := func(make func(fst.Expanded[semiring.Log64], fst.Expanded[semiring.Tropical64], []int,
				*GeneralOptions) (*Automaton, error)) func() (int, error) {
				return func() (int, error) {
					a, err := make(Strings(c.symbols, l), u, ref, nil)
					if err != nil {
						return 0, err
					}
					return a.States(), nil
				}
			}
			run("clamped", count(TropicalAutomaton))
			if l <= c.plain {
				run("unclamped", count(unclampedAutomaton))
			}
			run("direct", func() (int, error) {
				m, err := c.edit.Machine(ref, c.symbols, l)
				if err != nil {
					return 0, err
				}
				return m.TotalColumns(), nil
			})
		}
	}
}
