package lattice_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/learn/margin"
	"github.com/tropica-fst/tropica/learn/space"
	"github.com/tropica-fst/tropica/learn/space/lattice"
	"github.com/tropica-fst/tropica/learn/space/spacetest"
	"github.com/tropica-fst/tropica/losses"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

type weight = semiring.Tropical64

const dim = 7

func random(rng *rand.Rand) []float64 {
	w := make([]float64, dim)
	for j := range w {
		w[j] = rng.NormFloat64()
	}
	return w
}

func features(rng *rand.Rand) []lattice.Feature {
	return []lattice.Feature{{At: int32(rng.IntN(dim)), Value: rng.NormFloat64()},
		{At: int32(rng.IntN(dim)), Value: 1}}
}

// dag draws a lattice; a deterministic one has no two arcs of one label from a state.
func dag(rng *rand.Rand, deterministic bool) *lattice.Lattice {
	n := 3 + rng.IntN(3)
	b := lattice.NewBuilder(n)
	for q := range n {
		for y := fst.Label(1); y <= 3; y++ {
			for range 2 {
				if q+1 < n && rng.Float64() < 0.5 {
					b.Arc(q, q+1+rng.IntN(n-q-1), y, features(rng)...)
					if deterministic {
						break
					}
				}
			}
		}
		if q == n-1 || rng.Float64() < 0.3 {
			b.Final(q, features(rng)...)
		}
	}
	l, err := b.Lattice()
	if err != nil {
		panic(err)
	}
	return l
}

// listed lists the strings of a lattice through a search for all of them, and checks their number
// by another way: no string twice, and none left out, is what KBest is compared with.
func listed(t *testing.T, s lattice.Space, l *lattice.Lattice, a *lattice.Annotation,
	right func([]fst.Label) bool) spacetest.Listed[*lattice.Lattice, lattice.Path, *lattice.Annotation] {
	t.Helper()
	out := spacetest.Listed[*lattice.Lattice, lattice.Path, *lattice.Annotation]{X: l, A: a}
	for _, labels := range all(l.Labels(), map[bool]int{true: 6, false: 4}[len(l.Labels()) < 3]) {
		c := fst.FromLabels[weight](labels)
		one, err := l.Annotate(&lattice.Constraint{Right: c})
		if err != nil {
			t.Fatal(err)
		}
		y, err := s.ArgmaxWithin(context.Background(), l, make([]float64, dim), one)
		if errors.Is(err, space.ErrEmpty) {
			continue
		}
		if err != nil || !slices.Equal(y.Y.Labels, labels) {
			t.Fatalf("%v: %v, %v", labels, y, err)
		}
		out.Outputs, out.Agree = append(out.Outputs, y.Y), append(out.Agree, right(labels))
	}
	return out
}

func all(labels []fst.Label, most int) [][]fst.Label {
	out := [][]fst.Label{{}}
	from := 0
	for range most {
		to := len(out)
		for _, u := range out[from:to] {
			for _, y := range labels {
				out = append(out, append(slices.Clone(u), y))
			}
		}
		from = to
	}
	return out
}

// abc accepts 1⁺ 2* 3*.
func abc() *fst.Vector[weight] {
	m := states(3)
	m.SetStart(0)
	for _, e := range [][3]int{{0, 1, 1}, {1, 1, 1}, {1, 2, 2}, {2, 2, 2}, {1, 3, 0}, {2, 3, 0}} {
		to := fst.StateID(e[2])
		if e[1] == 3 {
			to = fst.StateID(3)
		}
		m.AddArc(fst.StateID(e[0]), fst.Arc[weight]{ILabel: fst.Label(e[1]),
			OLabel: fst.Label(e[1]), NextState: to})
		if int(to) == m.NumStates() {
			m.AddState()
		}
	}
	m.AddArc(3, fst.Arc[weight]{ILabel: 3, OLabel: 3, NextState: 3})
	for q := 1; q <= 3; q++ {
		m.SetFinal(fst.StateID(q), 0)
	}
	return m
}

func isABC(u []fst.Label) bool {
	return len(u) > 0 && u[0] == 1 && slices.IsSorted(u)
}

func TestLatticesAgainstEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	edit, err := losses.Edit{Sub: 1, Ins: 0.7, Del: 1.2}.Transducer(3)
	if err != nil {
		t.Fatal(err)
	}
	satisfied := 0
	for range 25 {
		l := dag(rng, true)
		s := lattice.Space{Weights: dim}
		w := random(rng)
		// A regular language with a constant for what is not in it.
		a, err := l.Annotate(&lattice.Constraint{Right: abc(), Wrong: 0.6})
		if err != nil {
			t.Fatal(err)
		}
		list := listed(t, s, l, a, isABC)
		for _, agree := range list.Agree {
			if agree {
				satisfied++
				break
			}
		}
		spacetest.Check(t, s, w, list, 1e-9)
		// A loss that is a minimum over alignments.
		right := []fst.Label{1, 3}
		if a, err = l.Annotate(lattice.Transduced(right, edit)); err != nil {
			t.Fatal(err)
		}
		list.A = a
		for i, y := range list.Outputs {
			list.Agree[i] = slices.Equal(y.Labels, right)
			var u, v []int
			for _, x := range y.Labels {
				u = append(u, int(x)-1)
			}
			for _, x := range right {
				v = append(v, int(x)-1)
			}
			want := losses.Edit{Sub: 1, Ins: 0.7, Del: 1.2}.Value(u, v)
			if got := s.Delta(l, a, y); math.Abs(got-want) > 1e-12 {
				t.Errorf("the loss of %v is %v, want %v", y, got, want)
			}
		}
		spacetest.Check(t, s, w, list, 1e-9)
	}
	if satisfied < 5 {
		t.Errorf("the language was met by %d lattices", satisfied)
	}
}

// Chains of up to six positions, with sets of labels known at some.
func TestChains(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	for trial := range 12 {
		n := 1 + trial%6
		l, err := lattice.Chain(n, 2, func(t int, y fst.Label) []lattice.Feature { return features(rng) },
			func(_ int, a, y fst.Label) []lattice.Feature { return features(rng) })
		if err != nil {
			t.Fatal(err)
		}
		allowed := map[int][]fst.Label{n / 2: {2}}
		if n > 2 {
			allowed[0] = []fst.Label{1, 2}
		}
		c, err := lattice.Positions(n, allowed, l.Labels())
		if err != nil {
			t.Fatal(err)
		}
		a, err := l.Annotate(c)
		if err != nil {
			t.Fatal(err)
		}
		s := lattice.Space{Weights: dim}
		spacetest.Check(t, s, random(rng), listed(t, s, l, a, func(u []fst.Label) bool { return u[n/2] == 2 }),
			1e-9)
	}
}

// A long chain against Viterbi's recursion.
func TestChainAgainstViterbi(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const n, d = 60, 5
	node := make([][]float64, n)
	for k := range node {
		for range d {
			node[k] = append(node[k], rng.NormFloat64())
		}
	}
	pair := make([]float64, d*d)
	for k := range pair {
		pair[k] = rng.NormFloat64()
	}
	l, err := lattice.Chain(n, d, func(t int, y fst.Label) []lattice.Feature {
		return []lattice.Feature{{At: 0, Value: node[t][y-1]}}
	}, func(_ int, a, y fst.Label) []lattice.Feature {
		return []lattice.Feature{{At: 1, Value: pair[int(a-1)*d+int(y-1)]}}
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := lattice.Space{Weights: 2}.Argmax(context.Background(), l, []float64{2, 0.5})
	if err != nil {
		t.Fatal(err)
	}
	best := make([]float64, d)
	for t := range n {
		next := make([]float64, d)
		for y := range d {
			next[y] = math.Inf(-1)
			for a := range d {
				v := best[a]
				if t > 0 {
					v += 0.5 * pair[a*d+y]
				}
				next[y] = math.Max(next[y], v)
			}
			next[y] += 2 * node[t][y]
		}
		best = next
	}
	if want := slices.Max(best); math.Abs(got.Value-want) > 1e-9 {
		t.Errorf("%v, by Viterbi %v", got.Value, want)
	}
}

// Strings with several paths: none is found twice, and the worst string is the one whose best
// path is worst.
func TestSeveralPathsForAString(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 3))
	s := lattice.Space{Weights: dim}
	for range 20 {
		l := dag(rng, false)
		w := random(rng)
		list := listed(t, s, l, nil, isABC)
		var scores []float64
		for _, y := range list.Outputs {
			one, err := l.Annotate(&lattice.Constraint{Right: fst.FromLabels[weight](y.Labels)})
			if err != nil {
				t.Fatal(err)
			}
			v, err := s.ArgmaxWithin(context.Background(), l, w, one)
			if err != nil || !s.Complete(l, one) {
				t.Fatal(err)
			}
			scores = append(scores, v.Value)
		}
		slices.Sort(scores)
		slices.Reverse(scores)
		got, err := s.KBest(context.Background(), l, w, len(scores)+3)
		if err != nil || len(got) != len(scores) {
			t.Fatalf("%d strings of %d: %v", len(got), len(scores), err)
		}
		seen := map[string]bool{}
		for i, y := range got {
			if seen[y.Y.String()] || math.Abs(y.Value-scores[i]) > 1e-9 {
				t.Errorf("number %d: %v with %v, want %v", i, y.Y, y.Value, scores[i])
			}
			seen[y.Y.String()] = true
		}
		worst, err := s.Argmin(context.Background(), l, w)
		if err != nil || math.Abs(worst.Value-scores[len(scores)-1]) > 1e-9 {
			t.Errorf("the worst: %v, %v, want %v", worst, err, scores[len(scores)-1])
		}
	}
}

// A loss that is a minimum over alignments enters a maximum: negated without being determinized
// it would be that of the worst alignment.
func TestLossesAreDeterminizedBeforeTheyAreMaximised(t *testing.T) {
	b := lattice.NewBuilder(4)
	b.Arc(0, 1, 1) // ab
	b.Arc(1, 3, 2)
	b.Arc(0, 2, 2) // ba
	b.Arc(2, 3, 1)
	b.Final(3)
	l, err := b.Lattice()
	if err != nil {
		t.Fatal(err)
	}
	edit, err := losses.Unit.Transducer(2)
	if err != nil {
		t.Fatal(err)
	}
	right := []fst.Label{1, 2}
	a, err := l.Annotate(lattice.Transduced(right, edit))
	if err != nil {
		t.Fatal(err)
	}
	y, err := lattice.Space{Weights: 1}.ArgmaxLoss(context.Background(), l, []float64{0}, a)
	if err != nil || y.Value != 2 || fmt.Sprint(y.Y.Labels) != "[2 1]" {
		t.Errorf("%v, %v; ba has the distance 2", y, err)
	}
	// Without determinization: the longest of the alignments of ab with itself deletes and
	// inserts everything.
	chain := fst.FromLabels[weight](right)
	m, err := ops.Compose(fst.Fst[weight](chain), fst.Fst[weight](edit), nil)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = ops.Compose(fst.Fst[weight](m), fst.Fst[weight](chain), nil); err != nil {
		t.Fatal(err)
	}
	if err := ops.TopSort(m); err != nil {
		t.Fatal(err)
	}
	longest := make([]float64, m.NumStates())
	for q := m.NumStates() - 1; q >= 0; q-- {
		for _, e := range m.Arcs(fst.StateID(q)) {
			longest[q] = math.Max(longest[q], float64(e.Weight)+longest[e.NextState])
		}
	}
	if longest[m.Start()] <= 2 {
		t.Errorf("the worst alignment has %v: the example shows nothing", longest[m.Start()])
	}
	// Beyond its limits a loss is that of the best strings, without a bound.
	c := lattice.Transduced(right, edit)
	c.Limits.States = 3
	if _, err := l.Annotate(c); !errors.Is(err, ops.ErrLimit) {
		t.Errorf("beyond the limit: %v", err)
	}
	c.Rescore = 1
	if a, err = l.Annotate(c); err != nil {
		t.Fatal(err)
	}
	y, err = lattice.Space{Weights: 1}.ArgmaxLoss(context.Background(), l, []float64{0}, a)
	if err != nil || y.Optimal || !math.IsInf(y.UpperBound, 1) {
		t.Errorf("%+v, %v", y, err)
	}
	c.Rescore = 5
	if a, err = l.Annotate(c); err != nil {
		t.Fatal(err)
	}
	y, err = lattice.Space{Weights: 1}.ArgmaxLoss(context.Background(), l, []float64{0}, a)
	if err != nil || !y.Optimal || y.Value != 2 {
		t.Errorf("%+v, %v", y, err)
	}
}

func TestContradictions(t *testing.T) {
	l, err := lattice.Chain(4, 2, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := lattice.Space{}
	for right, want := range map[string]string{"1 2 3 1": "position 3: label", "1 2": "position 3: label",
		"1 1 1 1 1": "position 5: the annotation goes on"} {
		var labels []fst.Label
		for _, f := range strings.Fields(right) {
			labels = append(labels, fst.Label(f[0]-'0'))
		}
		a, err := l.Annotate(&lattice.Constraint{Right: fst.FromLabels[weight](labels)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.ArgmaxWithin(context.Background(), l, nil, a)
		if !errors.Is(err, space.ErrEmpty) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", right, err, want)
		}
	}
	b := lattice.NewBuilder(2)
	b.Arc(0, 1, 1)
	b.Arc(1, 0, 1)
	b.Final(1)
	if _, err := b.Lattice(); err == nil || !strings.Contains(err.Error(), "cycl") {
		t.Errorf("a cycle: %v", err)
	}
	b = lattice.NewBuilder(1)
	b.Arc(0, 1, 0)
	if _, err := b.Lattice(); err == nil {
		t.Error("ε was taken")
	}
	b = lattice.NewBuilder(2)
	if l, err = b.Lattice(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Argmax(context.Background(), l, nil); !errors.Is(err, space.ErrEmpty) {
		t.Errorf("no path: %v", err)
	}
}

// Learning from label sequences whose times are unknown.
func TestLearningFromRegularLanguages(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 3))
	var data []space.Sample[*lattice.Lattice, *lattice.Annotation]
	var truth [][]fst.Label
	for range 40 {
		n := 5 + rng.IntN(4)
		one, two := 1+rng.IntN(n-3), 0
		two = one + 1 + rng.IntN(n-one-1)
		var labels []fst.Label
		seen := make([]int, n)
		for k := range n {
			y := fst.Label(1)
			if k >= one {
				y = 2
			}
			if k >= two {
				y = 3
			}
			labels = append(labels, y)
			if seen[k] = int(y) - 1; rng.Float64() < 0.15 {
				seen[k] = rng.IntN(3)
			}
		}
		l, err := lattice.Chain(n, 3, func(t int, y fst.Label) []lattice.Feature {
			return []lattice.Feature{{At: int32(3*seen[t] + int(y) - 1), Value: 1}}
		}, func(_ int, a, y fst.Label) []lattice.Feature {
			return []lattice.Feature{{At: int32(9 + 3*int(a-1) + int(y-1)), Value: 1}}
		})
		if err != nil {
			t.Fatal(err)
		}
		a, err := l.Annotate(&lattice.Constraint{Right: abc()})
		if err != nil {
			t.Fatal(err)
		}
		if len(data) < 8 { // a few with all their times
			if a, err = l.Annotate(&lattice.Constraint{Right: fst.FromLabels[weight](labels)}); err != nil {
				t.Fatal(err)
			}
		}
		data = append(data, space.Sample[*lattice.Lattice, *lattice.Annotation]{X: l, A: a})
		truth = append(truth, labels)
	}
	s := lattice.Space{Weights: 18}
	wrong := func(w []float64) float64 {
		n, all := 0, 0
		for i := range data {
			y, err := s.Argmax(context.Background(), data[i].X, w)
			if err != nil {
				t.Fatal(err)
			}
			for k, label := range y.Y.Labels {
				all++
				if label != truth[i][k] {
					n++
				}
			}
		}
		return float64(n) / float64(all)
	}
	m, _, err := margin.Partial(s, data, &margin.PartialOptions{Options: margin.Options{Lambda: 0.01}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if e := wrong(m.W); e > 0.12 {
		t.Errorf("max-margin: %.3f of the labels are wrong", e)
	}
	m, _, err = margin.Likelihood(s, data, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if e := wrong(m.W); e > 0.12 {
		t.Errorf("likelihood: %.3f of the labels are wrong", e)
	}
}

func states(n int) *fst.Vector[weight] {
	m := fst.NewVector[weight](n)
	m.AddStates(n)
	return m
}
