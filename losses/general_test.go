package losses

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// generalAutomaton prepares a loss along the general path.
func generalAutomaton(loss valued, y fst.Expanded[semiring.Log64], ref []int, alphabet int,
	opts *GeneralOptions) (*Automaton, error) {
	switch x := loss.(type) {
	case NGram:
		return x.Automaton(y, ref, alphabet, opts)
	case Edit:
		if opts == nil {
			opts = &GeneralOptions{}
		}
		opts.Band = x.Band
	}
	u, err := loss.(interface {
		Transducer(int) (*fst.Vector[semiring.Tropical64], error)
	}).Transducer(alphabet)
	if err != nil {
		return nil, err
	}
	return TropicalAutomaton(y, u, ref, opts)
}

func TestGoldenGeneral(t *testing.T) {
	for _, c := range readGolden(t) {
		t.Run(c.Name, func(t *testing.T) {
			p := c.potentials()
			b, err := generalAutomaton(c.loss(t), Strings(c.Alphabet, c.L), c.Yi, c.Alphabet, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := everything
			if c.V != nil {
				want |= WantHVP
			}
			r, err := EvalGeneral(p, b, c.Gamma, want, c.V, ops.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.compare(t, &r.Result, p); err != nil {
				t.Error(err)
			}
		})
	}
}

// The general path, the automaton it ends in, and a sweep over that automaton,
// against enumeration.
func TestGeneralAgainstNaive(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const all = everything | WantHVP | WantRiskHVP
	for i := range 250 {
		alphabet, l, m := 1+rng.IntN(3), rng.IntN(5), rng.IntN(6)
		loss := randomLoss(rng, alphabet)
		if _, ok := loss.(Hamming); ok {
			m = l
		}
		ref := make([]int, m)
		for j := range ref {
			ref[j] = rng.IntN(alphabet)
		}
		sizes := slices.Repeat([]int{alphabet}, l)
		p := randomPotentials(rng, sizes, 1+rng.IntN(3))
		gamma := gammas[rng.IntN(len(gammas))]
		name := fmt.Sprintf("case %d: %T%+v ref %v alphabet %d l %d q %d γ %v", i, loss, loss, ref, alphabet,
			l, p.Order, gamma)
		v := randomPotentials(rng, sizes, p.Order).Theta
		for _, row := range v {
			for k := range row {
				row[k] = rng.NormFloat64()
			}
		}
		var want Result
		if err := Naive(func(u []int) float64 { return loss.Value(u, ref) }, p, gamma, all, v,
			&want); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		b, err := generalAutomaton(loss, Strings(alphabet, l), ref, alphabet, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := EvalGeneral(p, b, gamma, all, v, ops.Limits{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := compareResults(&got.Result, &want, all); err != nil {
			t.Fatalf("%s: general: %v", name, err)
		}
		machine, err := b.Machine(alphabet, l)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var swept Result
		if err := (&Evaluator{Direction: v}).Eval(machine, p, gamma, all, &swept); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := compareResults(&swept, &want, all); err != nil {
			t.Fatalf("%s: machine of the automaton: %v", name, err)
		}
	}
}

// Rational losses of random transducers, in the probability and the log semiring, with cycles of ε
// that converge.
func TestRationalTransducers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for i := range 80 {
		const alphabet, l = 2, 3
		n := 1 + rng.IntN(3)
		span := []float64{0, 0, 3, 13, 25}[rng.IntN(5)] // weights over this many powers of ten
		weight := func() semiring.Probability {
			return semiring.Probability(rng.Float64() / 8 * math.Pow(10, -span*rng.Float64()))
		}
		u := fst.NewVector[semiring.Probability](n)
		u.AddStates(n)
		u.SetStart(0)
		for q := range fst.StateID(n) {
			if rng.IntN(2) == 0 || q == 0 {
				u.SetFinal(q, weight())
			}
			for range 1 + rng.IntN(5) {
				u.AddArc(q, fst.Arc[semiring.Probability]{
					ILabel: fst.Label(rng.IntN(alphabet + 1)), OLabel: fst.Label(rng.IntN(alphabet + 1)),
					Weight: weight(), NextState: fst.StateID(rng.IntN(n)),
				})
			}
		}
		ref := []int{rng.IntN(alphabet), rng.IntN(alphabet)}
		c := []float64{0, 0.3}[rng.IntN(2)]
		logs, err := ops.Convert[semiring.Log64](u)
		if err != nil {
			t.Fatal(err)
		}
		a, err := RationalAutomaton(Strings(alphabet, l), u, ref, c, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := RationalAutomaton(Strings(alphabet, l), logs, ref, c, nil)
		if err != nil {
			t.Fatal(err)
		}
		// The definition: the mass of all paths of U from y to the reference.
		y := make([]int, l)
		for k := range 1 << l {
			for s := range y {
				y[s] = k >> s & 1
			}
			want := -math.Log(massByIteration(u, y, ref) + c)
			for _, got := range []float64{a.Loss(y), b.Loss(y)} {
				if !near(got, want) && !(math.IsInf(want, 1) && math.IsInf(got, 1)) {
					t.Fatalf("case %d: L(%v) = %v, want %v", i, y, got, want)
				}
			}
		}
	}
}

// massByIteration sums U's paths from y to r over (state, read, written) by
// repeated relaxation, far beyond convergence.
func massByIteration(u *fst.Vector[semiring.Probability], y, r []int) float64 {
	type place struct {
		q    fst.StateID
		i, j int
	}
	mass := map[place]float64{{u.Start(), 0, 0}: 1}
	total := 0.0
	for range 200 {
		next := map[place]float64{}
		for p, w := range mass {
			if p.i == len(y) && p.j == len(r) {
				total += w * float64(u.Final(p.q))
			}
			for _, e := range u.Arcs(p.q) {
				i, j := p.i, p.j
				if e.ILabel != 0 {
					if i == len(y) || fst.Label(y[i]+1) != e.ILabel {
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
				next[place{e.NextState, i, j}] += w * float64(e.Weight)
			}
		}
		mass = next
	}
	return total
}

func TestDivergingTransducer(t *testing.T) {
	u := fst.NewVector[semiring.Probability](1)
	u.SetStart(u.AddState())
	u.SetFinal(0, 1)
	u.AddArc(0, fst.Arc[semiring.Probability]{ILabel: 1, OLabel: 1, Weight: 1})
	u.AddArc(0, fst.Arc[semiring.Probability]{Weight: 1})
	_, err := RationalAutomaton(Strings(1, 2), u, []int{0, 0}, 0, nil)
	if !errors.Is(err, ops.ErrNotClosed) {
		t.Errorf("a cycle of ε of weight 1: %v, want ErrNotClosed", err)
	}
}

// randomLattice makes an acyclic acceptor, sometimes ambiguous.
func randomLattice(rng *rand.Rand, n, labels int) *fst.Vector[semiring.Log64] {
	a := fst.NewVector[semiring.Log64](n)
	a.AddStates(n)
	a.SetStart(0)
	for q := range n {
		if q == n-1 || rng.IntN(4) == 0 {
			a.SetFinal(fst.StateID(q), semiring.Log64(rng.NormFloat64()))
		}
		for range rng.IntN(5) {
			if q+1 < n {
				k := fst.Label(rng.IntN(labels + 1)) // ε too
				a.AddArc(fst.StateID(q), fst.Arc[semiring.Log64]{ILabel: k, OLabel: k,
					Weight: semiring.Log64(rng.NormFloat64()), NextState: fst.StateID(q + 1 + rng.IntN(n-q-1))})
			}
		}
	}
	return a
}

// latticePath is one path of a lattice, and the strings that its labels expand to.
type latticePath struct {
	theta  float64
	arcs   [][2]int
	labels []int
}

func latticePaths(a *fst.Vector[semiring.Log64]) []latticePath {
	var out []latticePath
	var walk func(q fst.StateID, p latticePath)
	walk = func(q fst.StateID, p latticePath) {
		if fst.IsFinal(a, q) {
			done := latticePath{p.theta - float64(a.Final(q)), slices.Clone(p.arcs), slices.Clone(p.labels)}
			out = append(out, done)
		}
		for i, e := range a.Arcs(q) {
			labels := slices.Clone(p.labels)
			if e.ILabel != fst.Epsilon {
				labels = append(labels, int(e.ILabel)-1)
			}
			walk(e.NextState, latticePath{p.theta - float64(e.Weight),
				append(slices.Clone(p.arcs), [2]int{int(q), i}), labels})
		}
	}
	walk(a.Start(), latticePath{})
	return out
}

// Lattices, ambiguous ones among them, whose labels expand to strings of no,
// one or several symbols, against the enumeration of their paths.
func TestLatticeAgainstPaths(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	const all = everything | WantHVP | WantRiskHVP
	evaluated := 0
	for i := range 200 {
		const labels, alphabet = 4, 3
		a := randomLattice(rng, 2+rng.IntN(5), labels)
		expansion := make([][]int, labels)
		var expand *fst.Vector[semiring.Tropical64]
		for k := range expansion {
			expansion[k] = []int{k % alphabet}
		}
		if rng.IntN(3) > 0 {
			for k := range expansion {
				expansion[k] = make([]int, rng.IntN(4))
				for s := range expansion[k] {
					expansion[k][s] = rng.IntN(alphabet)
				}
			}
		}
		expand = expansions(expansion)
		ref := make([]int, rng.IntN(5))
		for j := range ref {
			ref[j] = rng.IntN(alphabet)
		}
		loss := randomLoss(rng, alphabet)
		if e, ok := loss.(Edit); ok {
			e.Band = 0
			loss = e
		}
		if _, ok := loss.(Hamming); ok {
			continue // lengths differ
		}
		gamma := gammas[rng.IntN(len(gammas))]
		if math.Abs(gamma) > 100 {
			gamma /= 20 // at 500, γL is 5000 and its last bit 1e-12
		}
		name := fmt.Sprintf("case %d: %T%+v γ %v ref %v expansions %v", i, loss, loss, gamma, ref, expansion)
		b, err := generalAutomaton(loss, a, ref, alphabet, &GeneralOptions{Expand: expand})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		v := make([][]float64, a.NumStates())
		for q := range v {
			v[q] = make([]float64, len(a.Arcs(fst.StateID(q))))
			for k := range v[q] {
				v[q][k] = rng.NormFloat64()
			}
		}
		got, err := (&Lattice{A: a, V: v}).Eval(b, gamma, all, ops.Limits{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want, n := pathSums(a, gamma, v, func(labels []int) float64 {
			var y []int
			for _, k := range labels {
				y = append(y, expansion[k]...)
			}
			return loss.Value(y, ref)
		})
		if n == 0 {
			if !math.IsInf(got.LogZ, -1) {
				t.Fatalf("%s: log Z = %v without a path", name, got.LogZ)
			}
			continue
		}
		evaluated++
		if err := compareResults(&got.Result, want, all); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if evaluated < 100 {
		t.Errorf("only %d lattices had paths", evaluated)
	}
}

// expansions is the transducer from labels to strings of symbols.
func expansions(to [][]int) *fst.Vector[semiring.Tropical64] {
	u := fst.NewVector[semiring.Tropical64](1)
	u.SetStart(u.AddState())
	u.SetFinal(0, 0)
	for k, s := range to {
		q, in := fst.StateID(0), fst.Label(k+1)
		for i := range max(1, len(s)) {
			next, out := fst.StateID(0), fst.Epsilon
			if i < len(s) {
				out = fst.Label(s[i] + 1)
			}
			if i+1 < len(s) {
				next = u.AddState()
			}
			u.AddArc(q, fst.Arc[semiring.Tropical64]{ILabel: in, OLabel: out, NextState: next})
			q, in = next, fst.Epsilon
		}
	}
	return u
}

// pathSums evaluates a lattice path by path, sums shifted by their greatest term.
func pathSums(a *fst.Vector[semiring.Log64], gamma float64, v [][]float64,
	loss func([]int) float64) (*Result, int) {
	r := &Result{LogZ: math.Inf(-1), MaxAug: math.Inf(-1), MaxAugGap: math.Inf(1), MaxScore: math.Inf(-1),
		MaxScoreGap: math.Inf(1)}
	rows := func() [][]float64 {
		out := make([][]float64, len(v))
		for q := range out {
			out[q] = make([]float64, len(v[q]))
		}
		return out
	}
	r.Marginals, r.RiskGradient, r.HVP, r.RiskHVP = rows(), rows(), rows(), rows()
	type scored struct {
		latticePath
		aug, l, along float64
	}
	var ps []scored
	for _, p := range latticePaths(a) {
		l := loss(p.labels)
		if math.IsInf(l, 1) {
			continue
		}
		s := scored{latticePath: p, aug: p.theta + gamma*l, l: l}
		for _, e := range p.arcs {
			s.along += v[e[0]][e[1]]
		}
		ps = append(ps, s)
		offer := func(score float64, best, gap *float64, u *[]int) {
			switch {
			case score > *best:
				*gap, *best, *u = score-*best, score, p.labels
			case *best-score < *gap:
				*gap = *best - score
			}
		}
		offer(s.aug, &r.MaxAug, &r.MaxAugGap, &r.ArgmaxAug)
		offer(s.theta, &r.MaxScore, &r.MaxScoreGap, &r.Viterbi)
	}
	var z, z0, mean, mean0, along, along0, cov float64
	for _, p := range ps {
		z += math.Exp(p.aug - r.MaxAug)
		z0 += math.Exp(p.theta - r.MaxScore)
	}
	r.LogZ, r.LogZ0 = math.Log(z)+r.MaxAug, math.Log(z0)+r.MaxScore
	for _, p := range ps {
		mean += math.Exp(p.aug-r.LogZ) * p.l
		mean0 += math.Exp(p.theta-r.LogZ0) * p.l
		along += math.Exp(p.aug-r.LogZ) * p.along
		along0 += math.Exp(p.theta-r.LogZ0) * p.along
	}
	for _, p := range ps {
		cov += math.Exp(p.theta-r.LogZ0) * (p.l - mean0) * (p.along - along0)
	}
	r.Expected, r.Risk = mean, mean0
	for _, p := range ps {
		w, w0 := math.Exp(p.aug-r.LogZ), math.Exp(p.theta-r.LogZ0)
		for _, e := range p.arcs {
			r.Marginals[e[0]][e[1]] += w
			r.RiskGradient[e[0]][e[1]] += w0 * (p.l - mean0)
			r.HVP[e[0]][e[1]] += w * (p.along - along)
			r.RiskHVP[e[0]][e[1]] += w0 * ((p.l-mean0)*(p.along-along0) - cov)
		}
	}
	return r, len(ps)
}

// T1∘T2 is the edit transducer: as relations, and composed on the fly between
// two strings, which the factoring is for.
func TestEditFactors(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for range 60 {
		const alphabet = 3
		e := Edit{Match: -float64(rng.IntN(3)), Sub: float64(rng.IntN(3)), Ins: rng.Float64(),
			Del: rng.Float64()}
		t1, t2, err := e.Factors(alphabet)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := len(t1.Arcs(0))+len(t2.Arcs(0)), 4*alphabet+2; a > b+2*alphabet {
			t.Fatalf("%d arcs in the factors of an alphabet of %d", a, alphabet)
		}
		random := func() []int {
			s := make([]int, rng.IntN(6))
			for i := range s {
				s[i] = rng.IntN(alphabet)
			}
			return s
		}
		y, r := random(), random()
		ops.ArcSort(t1, ops.Input)
		ops.ArcSort(t2, ops.Output)
		left, err := ops.ComposeLazy[semiring.Tropical64](chain[semiring.Tropical64](y), t1, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		right, err := ops.Compose[semiring.Tropical64](t2, chain[semiring.Tropical64](r), nil)
		if err != nil {
			t.Fatal(err)
		}
		ops.ArcSort(right, ops.Input)
		both, err := ops.Compose[semiring.Tropical64](left, right, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ops.TotalWeight(both, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := e.Value(y, r); !near(float64(got), want) {
			t.Fatalf("%+v: %v to %v costs %v, want %v", e, y, r, got, want)
		}
	}
	if _, _, err := (Edit{Match: 1}).Factors(2); err == nil {
		t.Error("a match dearer than a substitution was factored")
	}
	if _, _, err := (Edit{InsTable: []float64{1, 1}}).Factors(2); err == nil {
		t.Error("costs by symbol were factored")
	}
}

func TestCappedLoss(t *testing.T) {
	u, err := Unit.Transducer(2)
	if err != nil {
		t.Fatal(err)
	}
	limit := 1.5
	b, err := TropicalAutomaton(Strings(2, 4), u, []int{0, 1, 0}, &GeneralOptions{Cap: &limit})
	if err != nil {
		t.Fatal(err)
	}
	for k := range 16 {
		y := []int{k & 1, k >> 1 & 1, k >> 2 & 1, k >> 3}
		if got, want := b.Loss(y), min(Unit.Value(y, []int{0, 1, 0}), limit); got != want {
			t.Errorf("L(%v) = %v, want %v", y, got, want)
		}
	}
}

// Strings drawn from a lattice have the frequencies of its paths.
func TestLatticeSample(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	const n = 20000
	seen := 0
	for i := range 12 {
		a := randomLattice(rng, 4, 3)
		b, err := Unit.Automaton(a, []int{0, 1, 0}, 3, nil)
		if err != nil {
			t.Fatal(err)
		}
		const gamma = 0.8
		l := &Lattice{A: a}
		us := make([][]int, n)
		err = l.Sample(b, gamma, rng, us, ops.Limits{})
		// The definition: every path of the lattice, by its labels.
		mass, total := map[string]float64{}, 0.0
		var walk func(q fst.StateID, score float64, u []int)
		walk = func(q fst.StateID, score float64, u []int) {
			if w := float64(a.Final(q)); !math.IsInf(w, 1) {
				x := math.Exp(score - w + gamma*Unit.Value(u, []int{0, 1, 0}))
				mass[fmt.Sprint(u)] += x
				total += x
			}
			for _, e := range a.Arcs(q) {
				v := u
				if e.ILabel != 0 {
					v = append(u[:len(u):len(u)], int(e.ILabel)-1)
				}
				walk(e.NextState, score-float64(e.Weight), v)
			}
		}
		if a.Start() != fst.NoState {
			walk(a.Start(), 0, nil)
		}
		if total == 0 {
			if !errors.Is(err, ErrNoString) {
				t.Errorf("case %d: a sample of nothing: %v", i, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		seen++
		count := map[string]float64{}
		for _, u := range us {
			count[fmt.Sprint(u)]++
		}
		for u, x := range mass {
			x /= total
			if sd := math.Sqrt(x*(1-x)/n) + 1e-9; math.Abs(count[u]/n-x) > 5*sd {
				t.Errorf("case %d: %s in %v of samples, probability %v", i, u, count[u]/n, x)
			}
		}
		for u := range count {
			if mass[u] == 0 {
				t.Errorf("case %d: %s was drawn, and is impossible", i, u)
			}
		}
	}
	if seen < 6 {
		t.Errorf("only %d lattices with a path", seen)
	}
}

func TestLatticeErrors(t *testing.T) {
	arc := func(q int, e fst.Arc[semiring.Log64]) *fst.Vector[semiring.Log64] {
		a := fst.NewVector[semiring.Log64](2)
		a.AddStates(2)
		a.SetStart(0)
		a.SetFinal(1, 0)
		a.AddArc(0, fst.Arc[semiring.Log64]{ILabel: 1, OLabel: 1, NextState: 1})
		a.AddArc(fst.StateID(q), e)
		return a
	}
	tests := []struct {
		name string
		a    *fst.Vector[semiring.Log64]
		want string
	}{
		{"cycle", arc(1, fst.Arc[semiring.Log64]{ILabel: 1, OLabel: 1}), "cycle"},
		{"transducer", arc(0, fst.Arc[semiring.Log64]{ILabel: 1, OLabel: 2, NextState: 1}),
			"arc 1 of state 0 reads 1 and writes 2"},
		{"label", arc(0, fst.Arc[semiring.Log64]{ILabel: -2, OLabel: -2, NextState: 1}), "negative label -2"},
		{"NaN", arc(0, fst.Arc[semiring.Log64]{ILabel: 1, OLabel: 1, Weight: semiring.Log64(math.NaN()),
			NextState: 1}), "weight NaN"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := (&Lattice{A: tt.a}).Eval(nil, 0, 0, ops.Limits{})
			reason := ErrNotLattice
			if tt.name == "NaN" {
				reason = ErrNotPotential
			}
			if !errors.Is(err, reason) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %v with %q", err, reason, tt.want)
			}
		})
	}
}

func TestGeneralLimits(t *testing.T) {
	u, err := Unit.Transducer(10)
	if err != nil {
		t.Fatal(err)
	}
	_, err = TropicalAutomaton(Strings(10, 8), u, publishedRef(0, 8),
		&GeneralOptions{Limits: ops.Limits{States: 200}})
	if !errors.Is(err, ops.ErrLimit) {
		t.Errorf("263 states with a limit of 200: %v", err)
	}
}

// The sizes of the published construction, on the published instance: what
// OpenFst builds for it, and what of that is left by the clamp and the quotient.
func TestPublishedSizes(t *testing.T) {
	for _, c := range []struct {
		loss            valued
		l               int
		states, reduced int
	}{{Unit, 4, 92, 14}, {Unit, 6, 895, 65}, {SmithWaterman, 6, 3397, 346}, {NGram{N: 2}, 6, 343, 78}} {
		b, err := generalAutomaton(c.loss, Strings(10, c.l), publishedRef(0, c.l), 10, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b.States() != c.reduced {
			t.Errorf("%+v at l = %d: %d states, want %d", c.loss, c.l, b.States(), c.reduced)
		}
		switch loss := c.loss.(type) {
		case Edit:
			u, err2 := loss.Transducer(10)
			if err2 != nil {
				t.Fatal(err2)
			}
			b, err = unclampedAutomaton(Strings(10, c.l), u, publishedRef(0, c.l), nil)
		case NGram:
			b, err = unquotientedAutomaton(Strings(10, c.l), must(loss.Transducer(10)), publishedRef(0, c.l),
				loss.C, &GeneralOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		if b.States() != c.states {
			t.Errorf("%+v at l = %d, not reduced: %d states, want %d", c.loss, c.l, b.States(), c.states)
		}
	}
}
