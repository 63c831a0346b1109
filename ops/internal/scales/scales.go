// Package scales has tests of operations of package ops over weights of any size, whatever they are made of.
//
// The packages below it run them, each over one kind of weights: a compiler that has the operations over several kinds at once
// takes gigabytes.
package scales

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Draw yields probabilities from 1e-30 to 1e30.
func Draw(rng *rand.Rand) semiring.Probability {
	return semiring.Probability(float64(1+rng.IntN(8)) / 8 * math.Pow(10, float64(30*(rng.IntN(3)-1))))
}

// DrawValue yields them with values of any sign and a size of up to 3 scales.
func DrawValue(scale float64) func(*rand.Rand) semiring.Expectation {
	return func(rng *rand.Rand) semiring.Expectation {
		p := float64(Draw(rng))
		return semiring.Expectation{P: p, R: p * scale * float64(rng.IntN(7)-3)}
	}
}

// InUnits makes values of 1 those of the given size.
func InUnits(size float64) func(semiring.Expectation) semiring.Expectation {
	return func(w semiring.Expectation) semiring.Expectation {
		w.R /= size
		return w
	}
}

// Keep tests that operations that merge states by the closeness of weights keep the relation of machines with weights of any size, each
// weight to a relative tolerance. normal scales weights for the comparison.
func Keep[W semiring.Component[W]](t *testing.T, draw func(*rand.Rand) W, normal func(W) W) {
	rng := rand.New(rand.NewPCG(8, 8))
	delta := ops.ClosenessOf[W](ops.DefaultDelta)
	lim := ops.Limits{States: 20_000}
	det := func(f *fst.Vector[W]) (*fst.Vector[W], error) {
		return ops.Determinize(f, &ops.DeterminizeOptions{Delta: delta, Limits: lim})
	}
	operations := map[string]func(f *fst.Vector[W]) (*fst.Vector[W], error){
		"determinize": det,
		"minimize": func(f *fst.Vector[W]) (*fst.Vector[W], error) {
			d, err := det(f)
			if err != nil {
				return nil, err
			}
			return ops.Minimize(d, nil)
		},
		"disambiguate": func(f *fst.Vector[W]) (*fst.Vector[W], error) {
			return ops.Disambiguate(f, &ops.DisambiguateOptions{Delta: delta, Limits: lim})
		},
		"push":         func(f *fst.Vector[W]) (*fst.Vector[W], error) { return ops.Push(f, &ops.PushOptions{Limits: lim}) },
		"epsnormalize": func(f *fst.Vector[W]) (*fst.Vector[W], error) { return ops.EpsNormalize(f, ops.Input, lim) },
		"rmepsilon": func(f *fst.Vector[W]) (*fst.Vector[W], error) {
			return f, ops.RmEpsilon(f, &ops.RmEpsilonOptions{Limits: lim})
		},
	}
	done := map[string]int{}
	for trial := range 150 {
		// Acyclic, so that all strings are enumerated, with ε in those that are pushed or rid of it.
		f := fsttest.Random(rng, 2+rng.IntN(6), draw, fsttest.Options{Labels: 2, Acceptor: trial%3 != 0})
		g := fsttest.Random(rng, 2+rng.IntN(6), draw, fsttest.Options{Labels: 2, Epsilon: 0.3, Acceptor: trial%3 != 0})
		for name, apply := range operations {
			in := f
			if name == "rmepsilon" || name == "epsnormalize" || name == "push" {
				in = g
			}
			out, err := apply(in.Clone())
			if errors.Is(err, ops.ErrNotFunctional) {
				continue
			}
			if err != nil {
				t.Fatalf("trial %d: %s: %v", trial, name, err)
			}
			done[name]++
			want, got := fsttest.Relation(in, -1), fsttest.Relation(out, -1)
			for _, r := range []map[fsttest.Pair]W{want, got} {
				for p, w := range r {
					r[p] = normal(w)
				}
			}
			if diff := cmp.Diff(want, got, fsttest.Within[W](1e-6)); diff != "" {
				t.Fatalf("trial %d: %s (-want +got):\n%s", trial, name, diff)
			}
		}
	}
	for name := range operations {
		if done[name] < 80 {
			t.Errorf("%s was tried %d times only", name, done[name])
		}
	}
}

// longString is how many labels the long strings have at least that Compare draws.
const longString = 400

// draw yields the labels of a path of f, which is trim and has no ε. It has at least the given number of arcs, and ends at the
// first final state from there on; ok is false when the path comes to an end before.
func draw[W semiring.Component[W]](rng *rand.Rand, f *fst.Vector[W], least int) (labels []fst.Label, ok bool) {
	q := f.Start()
	for len(labels) < least || !fst.IsFinal[W](f, q) {
		arcs := f.Arcs(q)
		if len(arcs) == 0 || len(labels) > 2*longString {
			return nil, false
		}
		e := arcs[rng.IntN(len(arcs))]
		labels, q = append(labels, e.ILabel), e.NextState
	}
	return labels, true
}

// weigh returns the sum of the weights of all paths of a string through f, which has no ε.
func weigh[W semiring.Component[W]](f *fst.Vector[W], labels []fst.Label) W {
	zero := semiring.Zero[W]()
	alpha := slices.Repeat([]W{zero}, f.NumStates())
	alpha[f.Start()] = semiring.One[W]()
	for _, l := range labels {
		next := slices.Repeat([]W{zero}, len(alpha))
		for q, w := range alpha {
			for _, e := range f.Arcs(fst.StateID(q)) {
				if e.ILabel == l {
					next[e.NextState] = next[e.NextState].Plus(w.Times(e.Weight))
				}
			}
		}
		alpha = next
	}
	sum := zero
	for q, w := range alpha {
		sum = sum.Plus(w.Times(f.Final(fst.StateID(q))))
	}
	return sum
}

// Compare tests that f, an acceptor without ε, is determinized into at most the given number of states, and that strings of any
// length have the weight that they had, also when the result is minimized. It returns the number of long strings.
func Compare[W semiring.Component[W]](t *testing.T, rng *rand.Rand, f *fst.Vector[W], states int, delta float64) (long int) {
	t.Helper()
	d, err := ops.Determinize(f, &ops.DeterminizeOptions{Delta: ops.FactorDelta, Limits: ops.Limits{States: 5000}})
	if err != nil {
		t.Fatal(err)
	}
	if d.NumStates() > states {
		t.Errorf("%d states, want at most %d", d.NumStates(), states)
	}
	m := fsttest.Must(ops.Minimize(d, nil))
	trim := f.Clone()
	ops.Connect(trim)
	if trim.Start() == fst.NoState {
		return 0
	}
	for k := range 16 {
		least := k % 6
		if k >= 10 {
			least = longString
		}
		labels, ok := draw(rng, trim, least)
		if !ok {
			continue
		}
		if len(labels) >= longString {
			long++
		}
		want := weigh(f, labels)
		for _, g := range []*fst.Vector[W]{d, m} {
			if got := weigh(g, labels); !got.Near(want, delta) {
				t.Errorf("a string of %d labels has weight %v, want %v", len(labels), got, want)
			}
		}
	}
	return long
}

// HaveNoEnd tests that residuals that shrink for ever have no end, whatever the weights are: neither since they come to be
// smaller than Delta nor since a float64 cannot be as small. to makes weights of probabilities.
func HaveNoEnd[W semiring.Component[W]](t *testing.T, to func(semiring.Probability) W) {
	t.Helper()
	for _, second := range []string{"0.8", "0.89999", "0.900001", "9e-30", "2", "1e30"} {
		for _, delta := range []float64{0, 1e-30, ops.FactorDelta, 1e-7} {
			opts := &ops.DeterminizeOptions{Delta: delta, Limits: ops.Limits{States: 1_000_000}}
			text := "0 1 1 1 .5\n0 2 1 1 .5\n1 1 2 2 .9\n2 2 2 2 " + second + "\n1\n2\n"
			f := fsttest.Must(fst.ReadText[semiring.Probability](strings.NewReader(text), nil))
			hasNoEnd(t, ops.MapInto(f, to), opts)
		}
	}
}

func hasNoEnd[W semiring.Component[W]](t *testing.T, f *fst.Vector[W], opts *ops.DeterminizeOptions) {
	t.Helper()
	d, err := ops.Determinize(f, opts)
	var twins *ops.TwinsError
	if !errors.As(err, &twins) || !twins.Exact {
		t.Errorf("%T, factor %v, Delta %v: %v, want a proof that there is no end", semiring.Zero[W](), f.Arcs(2)[0].Weight, opts.Delta, err)
		if err == nil {
			t.Errorf("%d states", d.NumStates())
		}
	}
}
