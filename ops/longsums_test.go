package ops_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// The sums of a long chain are large beside its arcs: a float32 sum of 240,000 keeps one digit behind the point.

// chainOf is a machine of n positions with 4 parallel arcs each, weights drawn between low and high. exact is the logarithm of what
// each position sums to, negated; the sum over all is taken from the smallest, so that it is right to some units of float64.
type chainOf struct {
	f     *fst.Vector[semiring.Log]
	exact []float64
}

func (c chainOf) total() float64 {
	sorted := slices.SortedFunc(slices.Values(c.exact), func(a, b float64) int { return int(math.Copysign(1, math.Abs(a)-math.Abs(b))) })
	sum, lost := 0.0, 0.0 // Neumaier's
	for _, x := range sorted {
		t := sum + x
		if math.Abs(sum) >= math.Abs(x) {
			lost += (sum - t) + x
		} else {
			lost += (x - t) + sum
		}
		sum = t
	}
	return sum + lost
}

func chainMachine(rng *rand.Rand, n int, low, high float64, label func(i, k int) (in, out fst.Label)) chainOf {
	c := chainOf{f: fst.NewVector[semiring.Log](n + 1), exact: make([]float64, n)}
	for range n + 1 {
		c.f.AddState()
	}
	c.f.SetStart(0)
	c.f.SetFinal(fst.StateID(n), 0)
	for i := range n {
		w := make([]float64, 4)
		for k := range w {
			x := semiring.Log(low + (high-low)*rng.Float64())
			w[k] = float64(x)
			in, out := label(i, k)
			c.f.AddArc(fst.StateID(i), fst.Arc[semiring.Log]{ILabel: in, OLabel: out, Weight: x, NextState: fst.StateID(i + 1)})
		}
		least := slices.Min(w)
		sum := 0.0
		for _, x := range w {
			sum += math.Exp(least - x)
		}
		c.exact[i] = least - math.Log(sum)
	}
	return c
}

func acceptorLabel(_, k int) (in, out fst.Label) { return fst.Label(k + 1), fst.Label(k + 1) }

var longChains = []struct {
	name      string
	n         int
	low, high float64
}{
	{"0 to 60", 20_000, 0, 60},
	{"-400 to -300", 20_000, -400, -300},
	{"fifteen seconds of speech", 1_500, 50, 100},
}

// eachLongChain also gives the same machines with a loop on their first state and an arc that leads back on one position, which are no
// paths of weight: sums are then those of components.
func eachLongChain(t *testing.T, do func(t *testing.T, c chainOf, n int)) {
	for _, long := range longChains {
		for _, cyclic := range []bool{false, true} {
			name := long.name
			if cyclic {
				name += ", cycles"
			}
			t.Run(name, func(t *testing.T) {
				c := chainMachine(rand.New(rand.NewPCG(25, 1)), long.n, long.low, long.high, acceptorLabel)
				if cyclic {
					back := semiring.Log(1e5)
					c.f.AddArc(0, fst.Arc[semiring.Log]{ILabel: 9, OLabel: 9, Weight: back, NextState: 0})
					c.f.AddArc(fst.StateID(long.n/2), fst.Arc[semiring.Log]{ILabel: 9, OLabel: 9, Weight: back, NextState: fst.StateID(long.n/2 - 100)})
				}
				do(t, c, long.n)
			})
		}
	}
}

// withinUlp reports whether got is the float32 next to want, or a neighbour of that.
func withinUlp(got semiring.Log, want float64) bool {
	x := float32(want)
	ulp := math.Nextafter32(float32(math.Abs(want)), math.MaxFloat32) - float32(math.Abs(want))
	return math.Abs(float64(got)-float64(x)) <= float64(ulp)
}

func TestLongSumsBothWays(t *testing.T) {
	eachLongChain(t, func(t *testing.T, c chainOf, n int) {
		want := c.total()
		for _, reverse := range []bool{false, true} {
			o := &ops.ShortestDistanceOptions{Reverse: reverse}
			d := fsttest.Must(ops.ShortestDistance(c.f, o))
			got := d[n]
			if reverse {
				got = d[0]
			}
			if !withinUlp(got, want) {
				t.Errorf("reverse %v: ShortestDistance is %.9g, want %.12g", reverse, got, want)
			}
			if got := fsttest.Must(ops.TotalWeight(c.f, o)); !withinUlp(got, want) {
				t.Errorf("reverse %v: TotalWeight is %.9g, want %.12g", reverse, got, want)
			}
			if fst.PropertiesOf(c.f, fst.Acyclic)&fst.Acyclic != 0 {
				d := fsttest.Must(ops.ShortestDistanceAcyclic(c.f, reverse))
				if got := d[0] + d[n]; !withinUlp(got, want) { // one of them is 0
					t.Errorf("reverse %v: ShortestDistanceAcyclic is %.9g, want %.12g", reverse, got, want)
				}
			}
			wide := fsttest.Must(ops.ShortestDistanceLog64(c.f, o))
			if got := float64(wide[0] + wide[n]); math.Abs(got-want) > 1e-9*math.Abs(want) {
				t.Errorf("reverse %v: ShortestDistanceLog64 is %.15g, want %.15g", reverse, got, want)
			}
		}
	})
}

func TestLongPosteriors(t *testing.T) {
	eachLongChain(t, func(t *testing.T, c chainOf, n int) {
		want := c.total()
		counts, _, logTotal, err := ops.ExpectedCounts(c.f, nil)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(logTotal+want) > 1e-9*math.Abs(want) {
			t.Errorf("ExpectedCounts: the logarithm of the total is %.15g, want %.15g", logTotal, -want)
		}
		p := fsttest.Must(ops.Posteriors(c.f, nil))
		fb := fsttest.Must(ops.ForwardBackward(c.f, nil))
		if !withinUlp(p.Total, want) || !withinUlp(p.Alpha[n], want) || !withinUlp(p.Beta[0], want) {
			t.Errorf("Posteriors: total %.9g, alpha %.9g, beta %.9g; want %.12g", p.Total, p.Alpha[n], p.Beta[0], want)
		}
		at := 0
		for q := range fst.StateID(n) {
			arcs := c.f.Arcs(q)
			expected, posterior, passing := 0.0, 0.0, semiring.LogSum{}
			for i := range arcs {
				if arcs[i].NextState == q+1 {
					expected += counts[at+i]
					posterior += math.Exp(-float64(p.Arcs(q)[i]))
					passing.Add(float64(fb.Arcs(q)[i]))
				}
			}
			at += len(arcs)
			if math.Abs(expected-1) > 1e-4 || math.Abs(posterior-1) > 1e-4 {
				t.Fatalf("position %d: expected counts sum to %g, posteriors to %g", q, expected, posterior)
			}
			// Passages are weights, as large as the total, and have its digits.
			if got := semiring.Log(passing.Sum()); !withinUlp(got, want) {
				t.Fatalf("position %d: what passes is %.9g, want %.12g", q, got, want)
			}
		}
	})
}

// statesSum returns how far from 1 the weights are that leave a state, or enter it, at most, of those states that have any.
func statesSum(f fst.Expanded[semiring.Log], entering bool) float64 {
	sums := make([]semiring.LogSum, f.NumStates())
	for q := range fst.StateID(f.NumStates()) {
		for _, e := range f.Arcs(q) {
			if entering {
				sums[e.NextState].Add(float64(e.Weight))
			} else {
				sums[q].Add(float64(e.Weight))
			}
		}
		if !entering {
			sums[q].Add(float64(f.Final(q)))
		} else if q == f.Start() {
			sums[q].Add(0)
		}
	}
	worst := 0.0
	for q := range sums {
		if x := sums[q].Sum(); !math.IsInf(x, 1) {
			worst = max(worst, math.Abs(math.Exp(-x)-1))
		}
	}
	return worst
}

func TestLongPushes(t *testing.T) {
	eachLongChain(t, func(t *testing.T, c chainOf, n int) {
		for _, toFinal := range []bool{false, true} {
			o := &ops.PushOptions{RemoveTotalWeight: true, ToFinal: toFinal}
			g := c.f.Clone()
			if err := ops.PushWeights(g, o); err != nil {
				t.Fatal(err)
			}
			if off := statesSum(g, toFinal); off > 1e-4 {
				t.Errorf("to final %v: states sum to 1 but for %g", toFinal, off)
			}
			// By hand, from the distances.
			d := fsttest.Must(ops.ShortestDistanceLog64(c.f, &ops.ShortestDistanceOptions{Reverse: !toFinal}))
			h := c.f.Clone()
			if err := ops.ReweightLog(h, d, toFinal); err != nil {
				t.Fatal(err)
			}
			for q := range fst.StateID(n) {
				if q == h.Start() || q == 0 { // what comes in front is put there
					continue
				}
				for i, e := range h.Arcs(q) {
					if want := g.Arcs(q)[i].Weight; !e.Weight.Near(want, 1e-4) {
						t.Fatalf("to final %v: ReweightLog leaves %v on arc %d of state %d, PushWeights %v", toFinal, e.Weight, i, q, want)
					}
				}
			}
		}
	})
}

func TestLongLabelPushes(t *testing.T) {
	for _, long := range longChains {
		n := min(long.n, 400) // distances are strings, each held by itself
		for _, toFinal := range []bool{false, true} {
			c := chainMachine(rand.New(rand.NewPCG(25, 2)), n, long.low, long.high, func(i, k int) (in, out fst.Label) {
				if k > 0 && i%2 == 0 {
					return fst.Label(k), 0
				}
				return fst.Label(k + 1), 7
			})
			got := fsttest.Must(ops.Push(c.f, &ops.PushOptions{Labels: true, ToFinal: toFinal, RemoveTotalWeight: true}))
			if off := statesSum(got, toFinal); off > 1e-4 {
				t.Errorf("%s, to final %v: states sum to 1 but for %g", long.name, toFinal, off)
			}
		}
	}
}

// Over pairs of a tropical and a log weight the second parts are sums like those over log.
func TestLongProducts(t *testing.T) {
	type product = semiring.Product[semiring.Tropical, semiring.Log]
	for _, long := range longChains {
		c := chainMachine(rand.New(rand.NewPCG(25, 3)), long.n, long.low, long.high, acceptorLabel)
		f := ops.MapInto(c.f, func(w semiring.Log) product {
			if semiring.IsZero(w) {
				return semiring.Zero[product]()
			}
			return product{Second: w}
		})
		for _, reverse := range []bool{false, true} {
			got := fsttest.Must(ops.TotalWeight(f, &ops.ShortestDistanceOptions{Reverse: reverse})).Second
			if !withinUlp(got, c.total()) {
				t.Errorf("%s, reverse %v: total %.9g, want %.12g", long.name, reverse, got, c.total())
			}
		}
		if err := ops.PushWeights(f, &ops.PushOptions{RemoveTotalWeight: true}); err != nil {
			t.Fatal(err)
		}
		second := ops.MapInto(f, func(w product) semiring.Log { return w.Second })
		if off := statesSum(second, false); off > 1e-4 {
			t.Errorf("%s: pushed states sum to 1 but for %g", long.name, off)
		}
	}
}

// A chain of ε-arcs becomes one arc with the sum of all of its paths.
func TestLongEpsilonSums(t *testing.T) {
	for _, long := range longChains {
		c := chainMachine(rand.New(rand.NewPCG(25, 4)), long.n, long.low, long.high, func(int, int) (in, out fst.Label) { return 0, 0 })
		last := fst.StateID(long.n)
		c.f.SetFinal(last, semiring.Zero[semiring.Log]())
		end := c.f.AddState()
		c.f.SetFinal(end, 0)
		c.f.AddArc(last, fst.Arc[semiring.Log]{ILabel: 1, OLabel: 1, Weight: 0, NextState: end})
		lazy := fsttest.Must(ops.RmEpsilonLazy[semiring.Log](c.f.Clone(), nil, nil))
		if arcs := lazy.Arcs(lazy.Start()); len(arcs) != 1 || !withinUlp(arcs[0].Weight, c.total()) {
			t.Errorf("%s: RmEpsilonLazy leaves %v, want %.12g", long.name, arcs, c.total())
		}
		normal := fsttest.Must(ops.EpsNormalize(fst.Expanded[semiring.Log](c.f), ops.Input, ops.Limits{}))
		if got := fsttest.Must(ops.TotalWeight(normal, nil)); !withinUlp(got, c.total()) {
			t.Errorf("%s: EpsNormalize leaves %.9g in all, want %.12g", long.name, got, c.total())
		}
		if err := ops.RmEpsilon(c.f, nil); err != nil {
			t.Fatal(err)
		}
		if arcs := c.f.Arcs(c.f.Start()); len(arcs) != 1 || !withinUlp(arcs[0].Weight, c.total()) {
			t.Errorf("%s: RmEpsilon leaves %v, want %.12g", long.name, arcs, c.total())
		}
	}
}

// A million equal arcs of weight 16 sum to 16 - log 10⁶; added up one by one in float32 they would not.
func TestManyArcsSum(t *testing.T) {
	const n = 1_000_000
	f := fst.NewVector[semiring.Log](2)
	f.AddState()
	f.AddState()
	f.SetStart(0)
	f.SetFinal(1, 0)
	rng := rand.New(rand.NewPCG(25, 5))
	var sum semiring.LogSum
	for range n {
		w := semiring.Log(16 + rng.Float64())
		sum.Add(float64(w))
		f.AddArc(0, fst.Arc[semiring.Log]{ILabel: 1, OLabel: 1, Weight: w, NextState: 1})
	}
	want := sum.Sum()
	ops.ArcSum(f)
	if arcs := f.Arcs(0); len(arcs) != 1 || !withinUlp(arcs[0].Weight, want) {
		t.Errorf("ArcSum: %v, want %.9g", arcs, want)
	}
}
