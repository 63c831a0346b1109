package ops_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// selection is the chance of each arc of q and of stopping, by definition.
func selection(f fst.Expanded[semiring.Log64], q fst.StateID, sel ops.ArcSelector) (arcs []float64, stop float64) {
	sum := 0.0
	for _, e := range f.Arcs(q) {
		p := 1.0
		if sel != ops.SelectUniform {
			p = math.Exp(-float64(e.Weight))
		}
		arcs = append(arcs, p)
		sum += p
	}
	if w := f.Final(q); !semiring.IsZero(w) {
		stop = 1
		if sel != ops.SelectUniform {
			stop = math.Exp(-float64(w))
		}
		sum += stop
	}
	for i := range arcs {
		arcs[i] /= sum
	}
	return arcs, stop / sum
}

// The paths drawn follow the distribution of the selection: χ² against the
// enumerated paths, for every selection, weighted and not.
func TestRandGenDistribution(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 1))
	const draws = 4000
	tests := 0
	for machine := range 60 {
		s := randomShape(rng)
		s.acyclic, s.coarse, s.arcs, s.labels = true, true, min(s.arcs, 12), 1
		f := draw[semiring.Log64](rng, s)
		for q := range fst.StateID(f.NumStates()) { // labels that name arcs
			arcs := f.MutableArcs(q)
			for i := range arcs {
				arcs[i].ILabel = fst.Label(q)*100 + fst.Label(i) + 1
				arcs[i].OLabel = arcs[i].ILabel
			}
		}
		for sel := ops.SelectUniform; sel <= ops.SelectFastLogProb; sel++ {
			want := map[string]float64{}
			enumerate(fst.Expanded[semiring.Log64](f), func(path []ops.ArcRef, end fst.StateID, _ semiring.Log64) {
				p, name := 1.0, ""
				for _, r := range path {
					arcs, _ := selection(f, r.State, sel)
					p *= arcs[r.Arc]
					name += fmt.Sprint(f.Arcs(r.State)[r.Arc].ILabel, " ")
				}
				_, stop := selection(f, end, sel)
				want[name] += p * stop
			})
			for _, weighted := range []bool{false, true} {
				if !weighted && fst.IsFinal(fst.Fst[semiring.Log64](f), f.Start()) {
					continue // empty paths are drawn, but not counted by chains
				}
				g, err := ops.RandGen(fst.Fst[semiring.Log64](f), rng, &ops.RandGenOptions{Select: sel, NPath: draws, Weighted: weighted})
				if err != nil {
					t.Fatal(err)
				}
				checkProperties(t, "RandGen", fst.Expanded[semiring.Log64](g))
				got := map[string]float64{}
				enumerate(fst.Expanded[semiring.Log64](g), func(path []ops.ArcRef, _ fst.StateID, w semiring.Log64) {
					name := ""
					for _, r := range path {
						name += fmt.Sprint(g.Arcs(r.State)[r.Arc].ILabel, " ")
					}
					if n := math.Exp(-float64(w)); weighted {
						got[name] += n
					} else {
						got[name]++
					}
				})
				chi, cells, rest, n := 0.0, 0, 1.0, 0.0
				for name, p := range want {
					rest -= p
					n += got[name]
					if e := p * draws; e >= 5 {
						chi += (got[name] - e) * (got[name] - e) / e
						cells++
					}
				}
				for name := range got {
					if _, ok := want[name]; !ok {
						t.Fatalf("drew %q, which is no path of\n%s", name, printText(f))
					}
				}
				if e := rest * draws; e >= 5 { // paths that came to a dead end
					chi += (draws - n - e) * (draws - n - e) / e
					cells++
				}
				if cells > 1 {
					tests++
					// Beyond the 1-10⁻⁷ quantile, roughly, by Wilson and Hilferty.
					k := float64(cells - 1)
					if limit := k * math.Pow(1-2/(9*k)+5.2*math.Sqrt(2/(9*k)), 3); chi > limit {
						t.Fatalf("machine %d, selection %d, weighted %v: χ² = %.1f over %d cells, limit %.1f", machine, sel, weighted, chi, cells, limit)
					}
				}
			}
		}
	}
	if tests < 60 {
		t.Fatalf("only %d tests had more than one path", tests)
	}
}

func TestRandGenOptions(t *testing.T) {
	f := fst.NewVector[semiring.Tropical](1)
	f.AddState()
	f.SetStart(0)
	f.SetFinal(0, 0)
	f.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: 0})
	draw := func(seed uint64, o ops.RandGenOptions) *fst.Vector[semiring.Tropical] {
		g, err := ops.RandGen(fst.Fst[semiring.Tropical](f), rand.New(rand.NewPCG(seed, 0)), &o)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	if a, b := printText(draw(1, ops.RandGenOptions{NPath: 20})), printText(draw(1, ops.RandGenOptions{NPath: 20})); a != b {
		t.Fatalf("one seed gave\n%sand\n%s", a, b)
	}
	longest := 0
	enumerate(fst.Expanded[semiring.Tropical](draw(2, ops.RandGenOptions{NPath: 500, MaxLength: 3})), func(path []ops.ArcRef, _ fst.StateID, _ semiring.Tropical) {
		longest = max(longest, len(path))
	})
	if longest != 2 { // a path of length 3 may take no further draw, so it cannot stop either
		t.Fatalf("longest path %d with MaxLength 3, want 2", longest)
	}
	tree := draw(3, ops.RandGenOptions{NPath: 64, Weighted: true})
	rest := draw(3, ops.RandGenOptions{NPath: 64, Weighted: true, RemoveTotalWeight: true})
	total := func(g *fst.Vector[semiring.Tropical]) float64 {
		sum := 0.0
		enumerate(fst.Expanded[semiring.Tropical](g), func(_ []ops.ArcRef, _ fst.StateID, w semiring.Tropical) { sum += math.Exp(-float64(w)) })
		return sum
	}
	if a, b := total(tree), total(rest); !within(a, 64, 1e-5) || !within(b, 1, 1e-5) {
		t.Fatalf("weighted trees sum to %v and %v, want 64 and 1", a, b)
	}
	if in := slices.Max(indegrees(tree)); in > 1 {
		t.Fatalf("a state of the tree has %d arcs in", in)
	}
	f.SetFinal(0, f.Final(0).Zero())
	for _, o := range []ops.RandGenOptions{
		{Weighted: true, Limits: ops.Limits{States: 1000}},
		{Limits: ops.Limits{States: 1000}},
		{Limits: ops.Limits{Arcs: 1000}},
		{Limits: ops.Limits{Bytes: 1 << 15}}, // of a longer path it is known that it has no end
		{NPath: math.MaxInt32, Limits: ops.Limits{States: 10}},
	} {
		var limit *ops.LimitError
		if _, err := ops.RandGen(fst.Fst[semiring.Tropical](f), rand.New(rand.NewPCG(1, 0)), &o); !errors.As(err, &limit) || limit.Built.States > 20_000 {
			t.Fatalf("%+v: a path without end gave error %v, want ErrLimit", o, err)
		}
	}
	_, err := ops.RandGen(fst.Fst[semiring.Boolean](fst.NewVector[semiring.Boolean](0)), rand.New(rand.NewPCG(1, 0)), &ops.RandGenOptions{Select: ops.SelectLogProb})
	if !errors.Is(err, ops.ErrNoProbability) {
		t.Fatalf("Boolean log_prob gave error %v, want ErrNoProbability", err)
	}
}

// A path that comes to where none ends is an error that says so, whether what it could take does not exist or has no
// chance, and however it comes there; with a bound on lengths it is dropped. Where no path comes there nothing changes.
func TestRandGenNoEnd(t *testing.T) {
	fsttest.OneGoroutine(t)
	read := func(text string) *fst.Vector[semiring.Log64] {
		return fsttest.Must(fst.ReadText[semiring.Log64](strings.NewReader(text), nil))
	}
	ring := ""
	for i := range 5000 { // the arcs that a search looks at must not be more than were drawn
		ring += fmt.Sprintf("%d %d 1 1 0\n%[1]d %d 2 2 0\n", i+1, (i+1)%5000+1, (i+7)%5000+1)
	}
	tests := []struct {
		name, text string
		sel        ops.ArcSelector
		state      fst.StateID // from which no path ends, NoState if there is none
	}{
		{"loop", "0 0 1 1\n1\n", ops.SelectUniform, 0},
		{"loop by chance", "0 0 1 1\n1\n", ops.SelectLogProb, 0},
		{"behind others", "0 1 1 1\n0 4 1 1 20\n1 2 1 1\n1 4 1 1 50\n2 3 1 1\n3 2 2 2\n3 3 1 1\n4\n", ops.SelectLogProb, 1},
		{"large", "0 1 1 1\n0 9999 1 1 20\n" + ring + "9999\n", ops.SelectLogProb, 1},
		{"final weight without a chance", "0 1 1 1\n1 1 1 1 0\n1 1000\n", ops.SelectLogProb, 0},
		{"final weight without a chance worth the name", "0 1 1 1\n1 1 1 1 0\n1 50\n", ops.SelectFastLogProb, 0},
		{"arc without a chance", "0 0 1 1 0\n0 1 2 2 Infinity\n1\n", ops.SelectFastLogProb, 0},
		{"final weight that all the same counts", "0 1 1 1\n1 1 1 1 0\n1 1000\n", ops.SelectUniform, fst.NoState},
		{"dead end", "0 0 1 1\n0 1 1 1\n2\n", ops.SelectUniform, fst.NoState},
		{"no chance at all", "0 1 1 1\n1 1 1 1 Infinity\n2\n", ops.SelectLogProb, fst.NoState},
		{"long before it ends", "0 0 1 1 0\n0 9\n", ops.SelectLogProb, fst.NoState}, // some 8000 arcs
	}
	for _, test := range tests {
		f := read(test.text)
		lazy := veiled[semiring.Log64]{f} // may be computed on demand, for all that shows
		for _, g := range []fst.Fst[semiring.Log64]{f, lazy} {
			for _, n := range []int{1, 300} {
				for _, weighted := range []bool{false, true} {
					o := ops.RandGenOptions{Select: test.sel, NPath: n, Weighted: weighted, Limits: ops.Limits{Bytes: 1 << 29}}
					_, err := ops.RandGen(g, rand.New(rand.NewPCG(1, 1)), &o)
					var at *ops.StateError
					switch {
					case test.state == fst.NoState:
						if err != nil {
							t.Errorf("%s: %d paths, weighted %v: %v", test.name, n, weighted, err)
						}
						continue
					case !errors.As(err, &at) || !errors.Is(err, ops.ErrNoEnd) || at.State != test.state:
						t.Errorf("%s: %d paths, weighted %v: error %v, want no end from state %d", test.name, n, weighted, err, test.state)
						continue
					}
					o.MaxLength = 3000
					if n > 1 {
						o.MaxLength = 20
					}
					r, err := ops.RandGen(g, rand.New(rand.NewPCG(1, 1)), &o)
					if err != nil || (r.NumStates() == 0) == weighted {
						t.Errorf("%s: %d paths, weighted %v, with a bound: %d states, error %v", test.name, n, weighted, r.NumStates(), err)
					}
				}
			}
		}
	}
	// State 2 is never left, but it may take many paths until one comes to it.
	f := read("0 1 1 1 0\n0 2 1 1 3\n1 0 1 1\n2 2 1 1\n1\n")
	drawn, failed := 0, 0
	for seed := range uint64(100) {
		gen := func(o ops.RandGenOptions) (*fst.Vector[semiring.Log64], error) {
			o.Select, o.NPath = ops.SelectLogProb, 5
			return ops.RandGen(fst.Fst[semiring.Log64](f), rand.New(rand.NewPCG(seed, 1)), &o)
		}
		got, err := gen(ops.RandGenOptions{})
		if errors.Is(err, ops.ErrNoEnd) {
			failed++
			continue
		}
		want, errBounded := gen(ops.RandGenOptions{MaxLength: 1000})
		if err != nil || errBounded != nil || printText(got) != printText(want) {
			t.Fatalf("seed %d: errors %v and %v, results\n%sand\n%s", seed, err, errBounded, printText(got), printText(want))
		}
		drawn++
	}
	if drawn < 20 || failed < 20 {
		t.Fatalf("%d draws, %d that came to where none ends", drawn, failed)
	}
}

// Two thousand million draws take no longer than their tree, or come to a limit at once.
func TestRandGenManyPaths(t *testing.T) {
	f := fst.NewVector[semiring.Log64](2)
	f.AddStates(3)
	f.SetStart(0)
	f.SetFinal(0, 1.5)
	f.SetFinal(2, 0)
	shares := []float64{0.5, 0, 0.125, 0.2}
	for i, p := range shares {
		f.AddArc(0, fst.Arc[semiring.Log64]{ILabel: fst.Label(1 + i), OLabel: 1, Weight: semiring.Log64(-math.Log(p)), NextState: fst.StateID(1 + i%2)})
	}
	f.AddArc(1, fst.Arc[semiring.Log64]{ILabel: 9, OLabel: 9, NextState: 2})
	const n = 2_000_000_000
	sum := math.Exp(-1.5)
	for _, p := range shares {
		sum += p
	}
	for _, selected := range []ops.ArcSelector{ops.SelectUniform, ops.SelectLogProb, ops.SelectFastLogProb} {
		g, err := ops.RandGen(fst.Fst[semiring.Log64](f), rand.New(rand.NewPCG(7, 1)), &ops.RandGenOptions{Select: selected, NPath: n, Weighted: true, Limits: ops.Limits{States: 100}})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range g.Arcs(0) {
			want := shares[e.ILabel-1] / sum
			if selected == ops.SelectUniform {
				want = 0.2
			}
			if got := math.Exp(-float64(e.Weight)); math.Abs(got-want) > 8/math.Sqrt(n) {
				t.Errorf("selection %d: label %d has a share of %v, want %v", selected, e.ILabel, got, want)
			}
		}
		if want := 4; selected == ops.SelectUniform && len(g.Arcs(0)) != want || selected != ops.SelectUniform && len(g.Arcs(0)) != want-1 {
			t.Errorf("selection %d: %d arcs at the root", selected, len(g.Arcs(0)))
		}
		_, err = ops.RandGen(fst.Fst[semiring.Log64](f), rand.New(rand.NewPCG(7, 1)), &ops.RandGenOptions{Select: selected, NPath: n, Limits: ops.Limits{States: 10}})
		if !errors.Is(err, ops.ErrLimit) {
			t.Errorf("selection %d: %v", selected, err)
		}
	}
}

func indegrees[W semiring.Weight[W]](f *fst.Vector[W]) []int {
	in := make([]int, f.NumStates())
	for q := range in {
		for _, e := range f.Arcs(fst.StateID(q)) {
			in[e.NextState]++
		}
	}
	return in
}
