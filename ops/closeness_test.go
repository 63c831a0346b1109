package ops

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// drawScaled yields probabilities from 1e-30 to 1e30, and drawScaledValue with values of any sign and size below scale.
func drawScaled(rng *rand.Rand) semiring.Probability {
	return semiring.Probability(float64(1+rng.IntN(8)) / 8 * math.Pow(10, float64(30*(rng.IntN(3)-1))))
}

func drawScaledValue(scale float64) func(*rand.Rand) semiring.Expectation {
	return func(rng *rand.Rand) semiring.Expectation {
		p := float64(drawScaled(rng))
		return semiring.Expectation{P: p, R: p * scale * float64(rng.IntN(7)-3)}
	}
}

// inUnits makes values of 1 those of the given size.
func inUnits(size float64) func(semiring.Expectation) semiring.Expectation {
	return func(w semiring.Expectation) semiring.Expectation {
		w.R /= size
		return w
	}
}

// What makes states one by the closeness of weights keeps the relation of machines with weights of any size, each
// weight to a relative tolerance.
func keepsScaled[W semiring.Component[W]](t *testing.T, draw func(*rand.Rand) W, normal func(W) W) {
	rng := rand.New(rand.NewPCG(8, 8))
	delta := ClosenessOf[W](DefaultDelta)
	lim := Limits{States: 20_000}
	det := func(f *fst.Vector[W]) (*fst.Vector[W], error) {
		return Determinize(f, &DeterminizeOptions{Delta: delta, Limits: lim})
	}
	operations := map[string]func(f *fst.Vector[W]) (*fst.Vector[W], error){
		"determinize": det,
		"minimize": func(f *fst.Vector[W]) (*fst.Vector[W], error) {
			d, err := det(f)
			if err != nil {
				return nil, err
			}
			return Minimize(d, nil)
		},
		"disambiguate": func(f *fst.Vector[W]) (*fst.Vector[W], error) {
			return Disambiguate(f, &DisambiguateOptions{Delta: delta, Limits: lim})
		},
		"push":         func(f *fst.Vector[W]) (*fst.Vector[W], error) { return Push(f, &PushOptions{Limits: lim}) },
		"epsnormalize": func(f *fst.Vector[W]) (*fst.Vector[W], error) { return EpsNormalize(f, Input, lim) },
		"rmepsilon":    func(f *fst.Vector[W]) (*fst.Vector[W], error) { return f, RmEpsilon(f, &RmEpsilonOptions{Limits: lim}) },
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
			out, err := apply(copyOf(in))
			if errors.Is(err, ErrNotFunctional) {
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

func TestKeepsScaledRelations(t *testing.T) {
	same := func(w semiring.Probability) semiring.Probability { return w }
	t.Run("real64", func(t *testing.T) { keepsScaled(t, drawScaled, same) })
	for _, scale := range []float64{1e-30, 1, 1e30} {
		t.Run("expectation", func(t *testing.T) { keepsScaled(t, drawScaledValue(scale), inUnits(scale)) })
	}
	type pair = semiring.Product[semiring.Probability, semiring.Tropical]
	t.Run("product", func(t *testing.T) {
		keepsScaled(t, func(rng *rand.Rand) pair { return pair{First: drawScaled(rng), Second: drawTropical(rng)} }, func(w pair) pair { return w })
	})
	type power = semiring.Power[semiring.Probability, [2]semiring.Probability]
	t.Run("power", func(t *testing.T) {
		keepsScaled(t, func(rng *rand.Rand) power {
			return power{Values: [2]semiring.Probability{drawScaled(rng), drawScaled(rng)}}
		}, func(w power) power { return w })
	})
}

// weighString is the sum of the weights of all paths that a string of labels takes through f.
func weighString[W semiring.Component[W]](f *fst.Vector[W], labels []fst.Label) W {
	c := &checker[W]{}
	return fsttest.Must(c.weigh(ArcSorted(f, Input), labelPair{labels, labels}))
}

// Two copies of a machine, with the weights of each moved along its arcs by factors from 1e-30 to 1e30, have
// cycles of equal weights, but for rounding: what they are determinized into ends, and strings of a thousand labels
// have the weight that they had.
func TestDeterminizeScaledCycles(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	rng := rand.New(rand.NewPCG(1, 8))
	moved := func(f *fst.Vector[semiring.Expectation]) *fst.Vector[semiring.Expectation] {
		f = copyOf(f)
		v := make([]semiring.Expectation, f.NumStates())
		for q := range v {
			v[q] = drawScaledValue(0.3)(rng)
		}
		for q := range fst.StateID(f.NumStates()) {
			arcs := f.MutableArcs(q)
			for i := range arcs {
				arcs[i].Weight = v[q].DivideLeft(arcs[i].Weight.Times(v[arcs[i].NextState]))
			}
			if fst.IsFinal[semiring.Expectation](f, q) {
				f.SetFinal(q, v[q].DivideLeft(f.Final(q)))
			}
		}
		return f
	}
	long := 0
	for trial := range 60 {
		one := fsttest.Random(rng, 2+rng.IntN(4), func(rng *rand.Rand) semiring.Expectation {
			p := 0.2 + rng.Float64()/4
			return semiring.Expectation{P: p, R: p * (rng.Float64() - 0.3)}
		}, fsttest.Options{Labels: 2, Cyclic: true, Acceptor: true, Deterministic: true, Degree: 3})
		f := moved(one)
		if err := Union(f, moved(one), Limits{}); err != nil {
			t.Fatal(err)
		}
		if err := RmEpsilon(f, nil); err != nil {
			t.Fatal(err)
		}
		compareLong(t, trial, f, 2*one.NumStates()+4, 1e-6, &long)
		real := MapInto(f, func(w semiring.Expectation) semiring.Probability { return semiring.Probability(w.P) })
		compareLong(t, trial, real, 2*one.NumStates()+4, 1e-6, &long)
	}
	if long < 100 {
		t.Errorf("%d long strings only", long)
	}
}

func compareLong[W semiring.Component[W]](t *testing.T, trial int, f *fst.Vector[W], states int, delta float64, long *int) {
	t.Helper()
	d, err := Determinize(f, &DeterminizeOptions{Delta: FactorDelta, Limits: Limits{States: 5000}})
	if err != nil {
		t.Fatalf("trial %d: %v", trial, err)
	}
	if d.NumStates() > states {
		t.Errorf("trial %d: %d states, want at most %d", trial, d.NumStates(), states)
	}
	m := fsttest.Must(Minimize(d, nil))
	c := &checker[W]{CheckOptions: CheckOptions{MaxLength: 6, MaxPairs: 10}}
	found := fsttest.Must(c.find(t.Context(), f))
	for _, p := range append(found.short, found.long...) {
		if len(p.in) > longPath {
			*long++
		}
		want := weighString(f, p.in)
		for _, g := range []*fst.Vector[W]{d, m} {
			if got := weighString(g, p.in); !got.Near(want, delta) {
				t.Errorf("trial %d: a string of %d labels has weight %s, want %s", trial, len(p.in), weightText(got), weightText(want))
			}
		}
	}
}

// Where residuals shrink for ever, there is no end, whatever the weights are: neither since they come to be smaller than
// Delta nor since a float64 cannot be as small.
func TestDeterminizeFactorsHasNoEnd(t *testing.T) {
	for _, second := range []string{"0.8", "0.89999", "0.900001", "9e-30", "2", "1e30"} {
		for _, delta := range []float64{0, 1e-30, FactorDelta, 1e-7} {
			opts := &DeterminizeOptions{Delta: delta, Limits: Limits{States: 1_000_000}}
			text := "0 1 1 1 .5\n0 2 1 1 .5\n1 1 2 2 .9\n2 2 2 2 " + second + "\n1\n2\n"
			f := fsttest.Must(fst.ReadText[semiring.Probability](strings.NewReader(text), nil))
			hasNoEnd(t, f, opts)
			hasNoEnd(t, MapInto(f, func(w semiring.Probability) semiring.Expectation {
				return semiring.Expectation{P: float64(w), R: float64(w)}
			}), opts)
			type pair = semiring.Product[semiring.Probability, semiring.Probability]
			hasNoEnd(t, MapInto(f, func(w semiring.Probability) pair {
				if w == 0 {
					return pair{}
				}
				return pair{First: 1, Second: w * w}
			}), opts)
		}
	}
}

func hasNoEnd[W semiring.Component[W]](t *testing.T, f *fst.Vector[W], opts *DeterminizeOptions) {
	t.Helper()
	d, err := Determinize(f, opts)
	var twins *TwinsError
	if !errors.As(err, &twins) || !twins.Exact {
		t.Errorf("%s, factor %s, Delta %v: %v, want a proof that there is no end", weightName(semiring.Zero[W]()), weightText(f.Arcs(2)[0].Weight), opts.Delta, err)
		if err == nil {
			t.Errorf("%d states", d.NumStates())
		}
	}
}

// Weights come out as they were, not as multiples of something.
func TestFactorsStayExact(t *testing.T) {
	text := "0 1 1 1 .3\n0 2 1 1 .6\n1 3 2 2 .1\n2 3 2 2 .7\n3 3 1 1 .1\n3 .7\n"
	f := fsttest.Must(fst.ReadText[semiring.Probability](strings.NewReader(text), nil))
	d := fsttest.Must(Determinize(f, &DeterminizeOptions{Delta: DefaultDelta}))
	m := fsttest.Must(Minimize(d, &MinimizeOptions{Delta: DefaultDelta}))
	for _, g := range []*fst.Vector[semiring.Probability]{d, m} {
		if diff := cmp.Diff(fsttest.Relation(f, 9), fsttest.Relation(g, 9), fsttest.Within[semiring.Probability](1e-14)); diff != "" {
			t.Errorf("mismatch (-want +got):\n%s", diff)
		}
	}
}

// Weights below delta are compared as others are.
func TestEquivalentScales(t *testing.T) {
	read := func(text string) *fst.Vector[semiring.Probability] {
		return fsttest.Must(fst.ReadText[semiring.Probability](strings.NewReader(text), nil))
	}
	a, b, c := "0 1 1 1 1e-30\n0 1 2 2 1\n1\n", "0 1 1 1 2e-30\n0 1 2 2 1\n1\n", "0 1 2 2 .5\n0 1 1 1 5e-31\n1 2\n"
	if fsttest.Must(Equivalent(read(a), read(b), DefaultDelta)) || !fsttest.Must(Equivalent(read(a), read(c), DefaultDelta)) {
		t.Error("Equivalent")
	}
	if d := fsttest.Must(Distinguish(read(a), read(b), DefaultDelta)); d == nil || len(d.Labels) != 1 || d.Labels[0] != 1 {
		t.Errorf("Distinguish: %v", d)
	}
	if Equal(read(a), read(b), DefaultDelta) || !Equal(read(a), read(a), 0) {
		t.Error("Equal")
	}
	// The arcs in another order are to be told apart by their weights, all of them small.
	x, y := "0 1 1 1 1e-30\n0 2 1 1 2e-30\n1 1\n2 3\n", "0 2 1 1 1e-30\n0 1 1 1 2e-30\n1 3\n2 1\n"
	if !fsttest.Must(Isomorphic(read(x), read(y), DefaultDelta)) {
		t.Error("Isomorphic")
	}
}
