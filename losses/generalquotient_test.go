package losses

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/losses/internal/determinize"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// rationalStrings is what RationalAutomaton determinizes, over masses.
func rationalStrings(y fst.Expanded[semiring.Log64], u fst.Expanded[semiring.Probability], ref []int,
	c float64, opts *GeneralOptions) (*fst.Vector[semiring.Probability], error) {
	s := opts.stages()
	m, err := pairUp(s, y, u, ref, opts)
	if err == nil && c > 0 {
		m, err = withConstant(s, m, semiring.Probability(c), y, opts)
	}
	return m, err
}

// unquotientedAutomaton is RationalAutomaton by the determinization of package ops.
func unquotientedAutomaton(y fst.Expanded[semiring.Log64], u fst.Expanded[semiring.Probability], ref []int,
	c float64, opts *GeneralOptions) (*Automaton, error) {
	m, err := rationalStrings(y, u, ref, c, opts)
	if err != nil {
		return nil, err
	}
	det, err := determinized(opts.stages(), stageDeterminize, m, 0x1p-40, 0)
	if err != nil {
		return nil, err
	}
	return &Automaton{L: ops.MapInto(det,
		func(w semiring.Probability) semiring.Log64 { return semiring.Log64(-math.Log(float64(w))) })}, nil
}

// randomCounter is any transducer over symbols whose ε form no cycle, with weights of a kind:
// counts, halves, reals, reals over many powers of ten.
func randomCounter(rng *rand.Rand, symbols, kind int) *fst.Vector[semiring.Probability] {
	n := 1 + rng.IntN(4)
	weight := func() semiring.Probability {
		switch kind {
		case 0:
			return semiring.Probability(1 + rng.IntN(2))
		case 1:
			return semiring.Probability([]float64{.25, .5, 1, 1.5}[rng.IntN(4)])
		case 2:
			return semiring.Probability(1 - rng.Float64())
		}
		return semiring.Probability(math.Pow(10, -12*rng.Float64()))
	}
	u := fst.NewVector[semiring.Probability](n)
	u.AddStates(n)
	u.SetStart(0)
	for q := range fst.StateID(n) {
		if q == 0 || rng.IntN(2) == 0 {
			u.SetFinal(q, weight())
		}
		for range 2 + rng.IntN(8) {
			a, b := fst.Label(rng.IntN(symbols+1)), fst.Label(rng.IntN(symbols+1))
			to := fst.StateID(rng.IntN(n))
			if a == 0 && b == 0 {
				if q == fst.StateID(n)-1 {
					continue
				}
				to = q + 1 + fst.StateID(rng.IntN(n-int(q)-1))
			}
			u.AddArc(q, fst.Arc[semiring.Probability]{ILabel: a, OLabel: b, Weight: weight(), NextState: to})
		}
	}
	return u
}

// The quotient changes no loss, and adds no state: on strings of one length, on lattices and behind
// expansions, with a constant and without, in masses and in logarithms.
func TestQuotientKeepsLosses(t *testing.T) {
	machines := 4000
	if testing.Short() {
		machines = 400
	}
	rng := rand.New(rand.NewPCG(32, 11))
	fewer, strings, none, states, before := 0, 0, 0, 0, 0
	for i := range machines {
		symbols := 1 + rng.IntN(3)
		l := rng.IntN(5)
		u, ref := randomCounter(rng, symbols, i/4%4), randomRef(rng, rng.IntN(6), symbols)
		y, opts := Strings(symbols, l), &GeneralOptions{}
		kind := i % 4
		switch kind {
		case 1:
			y = randomLattice(rng, 2+rng.IntN(5), symbols)
		case 2:
			y = sausage(rng, rng.IntN(6), 1+rng.IntN(4), symbols)
		case 3:
			opts.Expand = randomSpelling(rng, symbols, symbols)
		}
		c := []float64{0, 0, 1, .3}[rng.IntN(4)]
		name := fmt.Sprintf("machine %d, reference %v, c = %v", i, ref, c)
		got, err := RationalAutomaton(y, u, ref, c, opts)
		want, err2 := unquotientedAutomaton(y, u, ref, c, opts)
		if err2 != nil || err != nil && !(errors.Is(err, ErrNoString) && want.States() == 0) {
			t.Fatalf("%s: error %v with the quotient, %v without", name, err, err2)
		}
		if err != nil {
			none++
			continue
		}
		m, err := ops.Convert[semiring.Log64](u)
		if err != nil {
			t.Fatal(err)
		}
		logs, err := rational(y, m, semiring.Log64(-math.Log(c)), ref, opts, determinize.LogMasses{})
		if err != nil {
			t.Fatal(err)
		}
		states, before = states+got.States(), before+want.States()
		if got.States() < want.States() {
			fewer++
		}
		// Of reals some more may stay apart that differ in their last bits.
		if exact := i/4%4 < 2; exact && got.States() > want.States() ||
			float64(got.States()) > 1.05*float64(want.States()) {
			t.Errorf("%s: kind %d: %d states with the quotient, %d without", name, i/4%4, got.States(),
				want.States())
		}
		length := l
		if kind == 1 || kind == 2 {
			length = min(6, longest(y))
		}
		for n := range length + 1 {
			for _, s := range allStrings(symbols, n) {
				a, b, c := got.Loss(s), want.Loss(s), (&Automaton{L: logs}).Loss(s)
				if !closeCosts(a, b) && math.Abs(a-b) > 1e-9 || !closeCosts(a, c) && math.Abs(a-c) > 1e-9 {
					t.Fatalf("%s: L(%v) = %v with the quotient, %v without, %v in logarithms", name, s, a, b,
						c)
				}
				strings++
			}
		}
	}
	if fewer < machines/20 || none > machines/2 {
		t.Errorf("the quotient had an effect on %d machines, %d had no string", fewer, none)
	}
	t.Logf("%d strings of %d machines; fewer states in %d, none in %d; %d states for %d", strings, machines,
		fewer, none, states, before)
}

// The field of integers modulo the prime 2⁶¹-1, in which TestQuotientLikeLeast counts.
const fieldPrime = 1<<61 - 1

func fieldTimes(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	s := lo&fieldPrime + (lo>>61 | hi<<3)
	return (s&fieldPrime + s>>61) % fieldPrime
}

func fieldPlus(a, b uint64) uint64 { return (a + b) % fieldPrime }

func fieldInverse(a uint64) uint64 {
	r := uint64(1)
	for e := uint64(fieldPrime - 2); e > 0; e >>= 1 {
		if e&1 == 1 {
			r = fieldTimes(r, a)
		}
		a = fieldTimes(a, a)
	}
	return r
}

// fieldOf is w, a whole number over a power of two.
func fieldOf(w float64) uint64 {
	fraction, e := math.Frexp(w)
	r := uint64(fraction * (1 << 53))
	for ; e < 53; e++ {
		r = fieldTimes(r, 1<<60) // 1/2
	}
	for ; e > 53; e-- {
		r = fieldTimes(r, 2)
	}
	return r
}

// fewestStates counts the functions, up to a factor, that prefixes leave of the strings of m, which
// is acyclic and has no ε: the states of its smallest deterministic machine. Sums are exact, modulo
// a prime. Two functions are taken for one with a chance of about 2⁻⁶¹.
func fewestStates(m *fst.Vector[semiring.Probability]) int {
	if m.Start() == fst.NoState {
		return 0
	}
	n := m.NumStates()
	labels := map[fst.Label]bool{}
	for q := range fst.StateID(n) {
		for _, e := range m.Arcs(q) {
			labels[e.ILabel] = true
		}
	}
	type vector []uint64
	weight := func(w semiring.Probability) uint64 { return fieldOf(float64(w)) }
	// A basis of the functions of a suffix's mass by state, in echelon form.
	var basis []vector
	var pivots []int
	var ends []vector // those it was made of
	add := func(v vector) {
		r := append(vector(nil), v...)
		for i, b := range basis {
			if f := r[pivots[i]]; f != 0 {
				for k := range r {
					r[k] = fieldPlus(r[k], fieldPrime-fieldTimes(f, b[k]))
				}
			}
		}
		for k, x := range r {
			if x != 0 {
				f := fieldInverse(x)
				for j := range r {
					r[j] = fieldTimes(r[j], f)
				}
				basis, pivots, ends = append(basis, r), append(pivots, k), append(ends, v)
				return
			}
		}
	}
	final := make(vector, n)
	for q := range fst.StateID(n) {
		final[q] = weight(m.Final(q))
	}
	add(final)
	for i := 0; i < len(ends); i++ {
		for a := range labels {
			v := make(vector, n)
			for q := range fst.StateID(n) {
				for _, e := range m.Arcs(q) {
					if e.ILabel == a {
						v[q] = fieldPlus(v[q], fieldTimes(weight(e.Weight), ends[i][e.NextState]))
					}
				}
			}
			add(v)
		}
	}
	known := map[string]bool{}
	insert := func(v vector) bool {
		left := make(vector, len(basis))
		f := uint64(0)
		for i, b := range basis {
			for q, x := range v {
				left[i] = fieldPlus(left[i], fieldTimes(x, b[q]))
			}
			if f == 0 && left[i] != 0 {
				f = fieldInverse(left[i])
			}
			left[i] = fieldTimes(left[i], f)
		}
		key := fmt.Sprint(left)
		if f == 0 || known[key] { // no string follows, or the same
			return false
		}
		known[key] = true
		return true
	}
	start := make(vector, n)
	start[m.Start()] = 1
	insert(start)
	for queue := []vector{start}; len(queue) > 0; queue = queue[1:] {
		for a := range labels {
			v := make(vector, n)
			for q, x := range queue[0] {
				for _, e := range m.Arcs(fst.StateID(q)) {
					if e.ILabel == a {
						v[e.NextState] = fieldPlus(v[e.NextState], fieldTimes(x, weight(e.Weight)))
					}
				}
			}
			if insert(v) {
				queue = append(queue, v)
			}
		}
	}
	return len(known)
}

// rationalEdit is an edit transducer of masses: every alignment counts, a match, a substitution, an
// insertion and a deletion with so much each.
func rationalEdit(symbols int, match, sub, ins, del float64) *fst.Vector[semiring.Probability] {
	u := fst.NewVector[semiring.Probability](1)
	u.SetStart(u.AddState())
	u.SetFinal(0, 1)
	pairs(upTo(symbols), upTo(symbols), func(a, b int) {
		w := sub
		switch {
		case a == b:
			w = match
		case a < 0:
			w = ins
		case b < 0:
			w = del
		}
		u.AddArc(0, fst.Arc[semiring.Probability]{ILabel: fst.Label(a + 1), OLabel: fst.Label(b + 1),
			Weight: semiring.Probability(w)})
	})
	return u
}

// Of losses that count or align, the automaton has the fewest states that any deterministic machine
// has, and of random machines few more.
func TestQuotientLikeLeast(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 13))
	compare := func(name string, u *fst.Vector[semiring.Probability], l, symbols int, ref []int,
		c float64) (got, before, least int) {
		t.Helper()
		strings := Strings(symbols, l)
		a, err := RationalAutomaton(strings, u, ref, c, nil)
		if err != nil && !errors.Is(err, ErrNoString) {
			t.Fatalf("%s: %v", name, err)
		}
		b, err2 := unquotientedAutomaton(strings, u, ref, c, &GeneralOptions{})
		m, err3 := rationalStrings(strings, u, ref, c, &GeneralOptions{})
		if err2 != nil || err3 != nil {
			t.Fatalf("%s: %v, %v", name, err2, err3)
		}
		if err == nil {
			got = a.States()
		}
		return got, b.States(), fewestStates(m)
	}
	for _, c := range []struct {
		name       string
		u          *fst.Vector[semiring.Probability]
		symbols, l int
		c          float64
	}{
		{"bigrams", must(NGram{N: 2}.Transducer(10)), 10, 6, 0},
		{"bigrams", must(NGram{N: 2}.Transducer(10)), 10, 6, 1},
		{"trigrams", must(NGram{N: 3}.Transducer(3)), 3, 6, 1},
		{"alignments", rationalEdit(3, 1, .5, .25, .25), 3, 5, 0},
		{"alignments", rationalEdit(10, 1, .5, .25, .25), 10, 4, 0},
		{"matches", rationalEdit(3, 4, 1, 1, 1), 3, 5, 0},
	} {
		ref := randomRef(rng, c.l, c.symbols)
		got, before, least := compare(c.name, c.u, c.l, c.symbols, ref, c.c)
		if got != least || least >= before {
			t.Errorf("%s, %d symbols, l = %d, c = %v: %d states, where %d are the fewest, and %d without "+
				"the quotient", c.name, c.symbols, c.l, c.c, got, least, before)
		}
		t.Logf("%s, %d symbols, l = %d, c = %v: %d states, %d without the quotient, %d at least", c.name,
			c.symbols, c.l, c.c, got, before, least)
	}
	var all, before, least, over int
	for i := range 400 {
		symbols, l := 1+rng.IntN(3), 1+rng.IntN(4)
		u, ref := randomCounter(rng, symbols, i%2), randomRef(rng, rng.IntN(6), symbols)
		a, b, c := compare(fmt.Sprint("machine ", i), u, l, symbols, ref, float64(rng.IntN(2)))
		if a < c {
			t.Errorf("machine %d: %d states, where %d are the fewest", i, a, c)
		}
		all, before, least = all+a, before+b, least+c
		if a > c {
			over++
		}
	}
	if over > 40 || 10*(all-least) > before-least {
		t.Errorf("random: %d states, where %d are the fewest; more than those in %d machines of 400", all,
			least, over)
	}
	t.Logf("random: %d states, %d without the quotient, %d at least; more than those in %d", all, before,
		least, over)
}

func must(u *fst.Vector[semiring.Probability], err error) *fst.Vector[semiring.Probability] {
	if err != nil {
		panic(err)
	}
	return u
}

// The arithmetic of the field, against big integers.
func TestField(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 12))
	p := new(big.Int).SetUint64(fieldPrime)
	for range 10000 {
		a, b := rng.Uint64N(fieldPrime), rng.Uint64N(fieldPrime)
		want := new(big.Int).Mul(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b))
		if got := fieldTimes(a, b); want.Mod(want, p).Cmp(new(big.Int).SetUint64(got)) != 0 {
			t.Fatalf("%d · %d = %d, want %v", a, b, got, want)
		}
		if a != 0 && fieldTimes(a, fieldInverse(a)) != 1 {
			t.Fatalf("the inverse of %d", a)
		}
	}
	if fieldTimes(fieldOf(0.375), 8) != 3 || fieldOf(12) != 12 || fieldOf(0) != 0 {
		t.Error("weights in the field")
	}
}

// Masses that float64 does not hold side by side are left to logarithms, with the same losses.
func TestQuotientOutOfRange(t *testing.T) {
	// One arc by another is in range, as are all paths, but not one path by another.
	const symbols, l = 2, 7
	u := rationalEdit(symbols, 3e13, 3e-14, 3e-14, 3e-14)
	for _, ref := range [][]int{{0, 1, 0, 0, 1, 1, 0}, {1, 1}, {0, 0, 1, 0, 1}} {
		if _, err := rational(Strings(symbols, l), u, 0, ref, &GeneralOptions{},
			determinize.Masses{}); len(ref) == l && !errors.Is(err, determinize.ErrMassRange) {
			t.Errorf("reference %v: error %v, the masses should be out of range", ref, err)
		}
		a, err := RationalAutomaton(Strings(symbols, l), u, ref, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range allStrings(symbols, l) {
			if got, want := a.Loss(s), -math.Log(massByIteration(u, s, ref)); !near(got, want) {
				t.Errorf("reference %v: L(%v) = %v, want %v", ref, s, got, want)
			}
		}
	}
}
