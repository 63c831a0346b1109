package ops_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// closureSums returns the distances from the start by Kleene's algorithm over
// all pairs, with plain ⊕ and ⊗: another algorithm than any in the package. ok
// is false when a cycle's sum diverges.
func closureSums[W semiring.Star[W]](f fst.Expanded[W]) (alpha, beta []W, ok bool) {
	n := f.NumStates()
	a := make([][]W, n)
	for p := range a {
		a[p] = make([]W, n)
		for q := range a[p] {
			a[p][q] = semiring.Zero[W]()
		}
		for _, e := range f.Arcs(fst.StateID(p)) {
			a[p][e.NextState] = a[p][e.NextState].Plus(e.Weight)
		}
	}
	ok = true
	for k := range n {
		s, closes := a[k][k].Star()
		ok = ok && closes
		b := make([][]W, n)
		for p := range n {
			b[p] = make([]W, n)
			for q := range n {
				b[p][q] = a[p][q].Plus(a[p][k].Times(s).Times(a[k][q]))
			}
		}
		a = b
	}
	zero := semiring.Zero[W]()
	alpha, beta = make([]W, n), make([]W, n)
	for p := range n {
		alpha[p] = a[f.Start()][p]
		if fst.StateID(p) == f.Start() {
			alpha[p] = alpha[p].Plus(zero.One())
		}
		beta[p] = f.Final(fst.StateID(p))
		for q := range n {
			beta[p] = beta[p].Plus(a[p][q].Times(f.Final(fst.StateID(q))))
		}
	}
	return alpha, beta, ok
}

// closed draws a machine whose cycles sum to less than one: the weights that
// leave a state sum to at most 0.95.
func closed[W semiring.Log | semiring.Log64 | semiring.Probability](rng *rand.Rand) *fst.Vector[semiring.Probability] {
	s := randomShape(rng)
	s.negative = false
	f := draw[semiring.Probability](rng, s)
	for q := range fst.StateID(f.NumStates()) {
		arcs := f.MutableArcs(q)
		sum := 0.0
		for i := range arcs {
			arcs[i].Weight += 0.01
			sum += float64(arcs[i].Weight)
		}
		for i := range arcs {
			arcs[i].Weight *= semiring.Probability(0.95 * rng.Float64() / sum)
		}
	}
	return f
}

// as maps weights one by one.
func as[V, W semiring.Weight[W]](f *fst.Vector[semiring.Probability], to func(semiring.Probability) W) *fst.Vector[W] {
	g := fst.NewVector[W](f.NumStates())
	for q := range fst.StateID(f.NumStates()) {
		var arcs []fst.Arc[W]
		for _, e := range f.Arcs(q) {
			arcs = append(arcs, fst.Arc[W]{ILabel: e.ILabel, OLabel: e.OLabel, Weight: to(e.Weight), NextState: e.NextState})
		}
		g.PushState(to(f.Final(q)), arcs)
	}
	g.SetStart(f.Start())
	return g
}

func within(a, b, tol float64) bool { return a == b || math.Abs(a-b) <= tol*max(1, math.Abs(b)) }

// Elimination, sweeps and row sums against Kleene's algorithm, in the three
// numeric semirings that are not idempotent, forward and in reverse.
func TestSumsOverCycles(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	for range 400 {
		f := closed[semiring.Probability](rng)
		alpha, beta, ok := closureSums(fst.Expanded[semiring.Probability](f))
		if !ok {
			t.Fatal("the machine is not closed")
		}
		f64 := as[semiring.Log64](f, func(p semiring.Probability) semiring.Log64 { return semiring.Log64(-math.Log(float64(p))) })
		f32 := as[semiring.Log](f, func(p semiring.Probability) semiring.Log { return semiring.Log(-math.Log(float64(p))) })
		for _, reverse := range []bool{false, true} {
			want := alpha
			if reverse {
				want = beta
			}
			o := &ops.ShortestDistanceOptions{Reverse: reverse}
			p, err := ops.ShortestDistance(f, o)
			l64, err1 := ops.ShortestDistance(f64, o)
			l32, err2 := ops.ShortestDistance(f32, o)
			if err := errors.Join(err, err1, err2); err != nil {
				t.Fatal(err)
			}
			for q := range want {
				w := float64(want[q])
				if !within(float64(p[q]), w, 1e-12) || !within(math.Exp(-float64(l64[q])), w, 1e-11) || !within(math.Exp(-float64(l32[q])), w, 1e-4) {
					t.Fatalf("state %d reverse=%v: Probability %v, Log64 %v, Log %v; want %v\n%s", q, reverse, p[q],
						math.Exp(-float64(l64[q])), math.Exp(-float64(l32[q])), w, printText(f))
				}
			}
		}
	}
}

// Components beyond elimination: a ring of n states with a way out has closed
// form. Weights far outside e^±300 must not lose anything either.
func TestSumsOverALargeRing(t *testing.T) {
	for _, n := range []int{3, 64, 65, 1000} {
		for _, far := range []semiring.Log64{0, 500, -250} {
			f := fst.NewVector[semiring.Log64](n)
			f.AddStates(n)
			f.SetStart(0)
			// Arcs of weight ±far in turn, and the last closes with mass 1/2.
			total := semiring.Log64(0)
			for q := range fst.StateID(n) {
				w := far
				if q%2 == 1 {
					w = -far
				}
				if int(q) == n-1 {
					w = semiring.Log64(math.Ln2) - total
				}
				total += w
				f.AddArc(q, fst.Arc[semiring.Log64]{ILabel: 1, OLabel: 1, Weight: w, NextState: (q + 1) % fst.StateID(n)})
			}
			d, err := ops.ShortestDistance(f, nil)
			if err != nil {
				t.Fatalf("n=%d far=%v: %v", n, far, err)
			}
			// Each state is passed 1 + 1/2 + 1/4 + … = 2 times.
			along := semiring.Log64(0)
			for q := range fst.StateID(n) {
				want := along - math.Ln2
				if !within(float64(d[q]), float64(want), 1e-6) {
					t.Fatalf("n=%d far=%v state %d: %v, want %v", n, far, q, d[q], want)
				}
				along += f.Arcs(q)[0].Weight
			}
		}
	}
}

func TestSumsThatDiverge(t *testing.T) {
	for _, n := range []int{1, 3, 64, 65, 300} {
		f := fst.NewVector[semiring.Log64](n)
		f.AddStates(n)
		f.SetStart(0)
		for q := range fst.StateID(n) {
			f.AddArc(q, fst.Arc[semiring.Log64]{ILabel: 1, OLabel: 1, Weight: -0.01, NextState: (q + 1) % fst.StateID(n)})
		}
		f.SetFinal(0, 0)
		for _, o := range []*ops.ShortestDistanceOptions{nil, {Reverse: true}, {Queue: ops.QueueFIFO, MaxVisits: 100000}} {
			_, err := ops.ShortestDistance(f, o)
			var s *ops.StateError
			var c *ops.CycleError
			if !errors.Is(err, ops.ErrNotClosed) || !errors.As(err, &s) && !errors.As(err, &c) {
				t.Fatalf("n=%d %+v: error %v, want ErrNotClosed at a state or round a cycle", n, o, err)
			}
			if bounded := o != nil && o.MaxVisits != 0; !bounded && (c == nil || len(c.Cycle) != n) {
				t.Errorf("n=%d %+v: %v, want the cycle", n, o, err)
			}
		}
	}
}

// Sums that diverge are told with the shortest cycle through a state where they do, with its labels, whichever way they are summed
// and whatever operation sums; what is not on it, or has no weight, is not.
func TestDivergingSumsShowTheCycle(t *testing.T) {
	syms := fst.NewSymbolTable("words")
	for _, s := range []string{"ε", "how", "now"} {
		syms.Add(s)
	}
	// 3 -> 4 -> 3 weighs less than 1̄; 1 -> 2 -> 1 more, and there are longer ways round.
	read := func(labels string) *fst.Vector[semiring.Log] {
		text := strings.NewReplacer("X", labels[:1], "Y", labels[1:]).Replace(
			"0 1 1 1 1\n1 2 X X -1\n1 1 Y Y Infinity\n2 1 Y Y 0.5\n0 3 1 1 1\n3 4 1 1 2\n4 3 2 2 2\n4 1 1 1 1\n1 5 Y Y 9\n5 2 X X 9\n2 6 2 2\n6\n")
		f := fsttest.Must(fst.ReadText[semiring.Log](strings.NewReader(text), nil))
		f.SetInputSymbols(syms)
		f.SetOutputSymbols(syms)
		return f
	}
	const advice = ", weight -0.5; change weights on it, for all cycles through a state must together sum to less than 1̄, which is 0"
	for name, try := range map[string]func(f *fst.Vector[semiring.Log]) error{
		"ShortestDistance": func(f *fst.Vector[semiring.Log]) error { _, err := ops.ShortestDistance(f, nil); return err },
		"ShortestDistance, first in first out": func(f *fst.Vector[semiring.Log]) error {
			_, err := ops.ShortestDistance(f, &ops.ShortestDistanceOptions{Queue: ops.QueueFIFO})
			return err
		},
		"ShortestDistance, reverse": func(f *fst.Vector[semiring.Log]) error {
			_, err := ops.ShortestDistance(f, &ops.ShortestDistanceOptions{Reverse: true})
			return err
		},
		"Push":      func(f *fst.Vector[semiring.Log]) error { _, err := ops.Push(f, nil); return err },
		"RmEpsilon": func(f *fst.Vector[semiring.Log]) error { return ops.RmEpsilon(f, nil) },
	} {
		labels, along := "12", "labels how now"
		if name == "RmEpsilon" {
			labels, along = "00", "labels ε ε"
		}
		err := try(read(labels))
		var c *ops.CycleError
		if !errors.As(err, &c) || !errors.Is(err, ops.ErrNotClosed) || len(c.Cycle) != 2 {
			t.Errorf("%s: %v, want a cycle of two arcs", name, err)
			continue
		}
		from := func(p fst.StateID) string { return fmt.Sprintf("states %d -> %d -> %d, ", p, 3-p, p) }
		turned := "labels " + strings.Join([]string{strings.Fields(along)[2], strings.Fields(along)[1]}, " ")
		if !strings.Contains(err.Error(), from(1)+along+advice) && !strings.Contains(err.Error(), from(2)+turned+advice) {
			t.Errorf("%s: %v, want the cycle 1 -> 2 -> 1 with %s%s", name, err, along, advice)
		}
	}
}

// Every queue gives the same distances, and they are those of Kleene's
// algorithm; negative weights without negative cycles included.
func TestQueuesAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	for range 400 {
		s := randomShape(rng)
		s.coarse = true // exact in float32
		f := draw[semiring.Tropical](rng, s)
		alpha, beta, ok := closureSums(fst.Expanded[semiring.Tropical](f))
		if !ok {
			t.Fatal("drew a negative cycle")
		}
		for q := ops.QueueAuto; q <= ops.QueueSCC; q++ {
			d, err := ops.ShortestDistance(f, &ops.ShortestDistanceOptions{Queue: q})
			if q == ops.QueueTopOrder && errors.Is(err, ops.ErrCyclic) {
				continue
			}
			if err != nil {
				t.Fatal(q, err)
			}
			for k := range d {
				if d[k] != alpha[k] {
					t.Fatalf("queue %v, state %d: %v, want %v\n%s", q, k, d[k], alpha[k], printText(f))
				}
			}
		}
		d, err := ops.ShortestDistance(f, &ops.ShortestDistanceOptions{Reverse: true})
		if err != nil {
			t.Fatal(err)
		}
		for k := range d {
			if d[k] != beta[k] {
				t.Fatalf("reverse, state %d: %v, want %v\n%s", k, d[k], beta[k], printText(f))
			}
		}
	}
}

// A negative cycle that the start reaches is always found, and nothing else is
// taken for one.
func TestNegativeCyclesAreFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 1))
	bad := 0
	for range 1500 {
		s := randomShape(rng)
		s.coarse, s.negative = true, false
		f := draw[semiring.Tropical](rng, s)
		for q := range fst.StateID(f.NumStates()) {
			arcs := f.MutableArcs(q)
			for k := range arcs {
				arcs[k].Weight -= 1
			}
		}
		// Bellman and Ford: does a round n still improve anything?
		n := f.NumStates()
		d := make([]float64, n)
		for q := range d {
			d[q] = math.Inf(1)
		}
		d[f.Start()] = 0
		negative := false
		for range n + 1 {
			negative = false
			for p := range d {
				for _, e := range f.Arcs(fst.StateID(p)) {
					if x := d[p] + float64(e.Weight); x < d[e.NextState] {
						d[e.NextState], negative = x, true
					}
				}
			}
		}
		if negative {
			bad++
		}
		_, err := ops.ShortestDistance(f, nil)
		if errors.Is(err, ops.ErrNotClosed) != negative {
			t.Fatalf("error %v, but there is a negative cycle: %v\n%s", err, negative, printText(f))
		}
		if _, err := ops.ShortestPath(f, nil); errors.Is(err, ops.ErrNotClosed) != negative {
			t.Fatalf("ShortestPath: error %v, but there is a negative cycle: %v\n%s", err, negative, printText(f))
		}
	}
	if bad < 200 {
		t.Fatalf("only %d machines with a negative cycle", bad)
	}
}

// userCost is the tropical semiring under another name, so that the generic
// loops run.
type userCost float64

func (a userCost) Plus(b userCost) userCost { return min(a, b) }
func (a userCost) Times(b userCost) userCost {
	return userCost(semiring.Tropical64(a).Times(semiring.Tropical64(b)))
}
func (userCost) Zero() userCost              { return userCost(math.Inf(1)) }
func (userCost) One() userCost               { return 0 }
func (a userCost) Equal(b userCost) bool     { return a == b }
func (a userCost) Less(b userCost) bool      { return a < b }
func (a userCost) Member() bool              { return a == a && a > userCost(math.Inf(-1)) }
func (userCost) Idempotent()                 {}
func (userCost) Commutes()                   {}
func (a userCost) AppendKey(b []byte) []byte { return semiring.Tropical64(a).AppendKey(b) }
func (a userCost) DivideLeft(c userCost) userCost {
	return userCost(semiring.Tropical64(a).DivideLeft(semiring.Tropical64(c)))
}
func (a userCost) Near(b userCost, delta float64) bool {
	return semiring.Tropical64(a).Near(semiring.Tropical64(b), delta)
}

// userLog is Log64 under another name.
type userLog float64

func (a userLog) Plus(b userLog) userLog    { return userLog(semiring.Log64(a).Plus(semiring.Log64(b))) }
func (a userLog) Times(b userLog) userLog   { return userLog(semiring.Log64(a).Times(semiring.Log64(b))) }
func (userLog) Zero() userLog               { return userLog(math.Inf(1)) }
func (userLog) One() userLog                { return 0 }
func (a userLog) Equal(b userLog) bool      { return a == b }
func (a userLog) Member() bool              { return a == a && a > userLog(math.Inf(-1)) }
func (a userLog) AppendKey(b []byte) []byte { return semiring.Log64(a).AppendKey(b) }
func (a userLog) Near(b userLog, delta float64) bool {
	return semiring.Log64(a).Near(semiring.Log64(b), delta)
}
func (a userLog) Star() (userLog, bool) {
	s, ok := semiring.Log64(a).Star()
	return userLog(s), ok
}

// retype copies a machine to a weight of the same representation.
func retype[W semiring.Weight[W], V interface {
	~float64
	semiring.Weight[V]
}](f *fst.Vector[V], to func(V) W) *fst.Vector[W] {
	g := fst.NewVector[W](f.NumStates())
	g.AddStates(f.NumStates())
	g.SetStart(f.Start())
	for q := range fst.StateID(f.NumStates()) {
		for _, e := range f.Arcs(q) {
			g.AddArc(q, fst.Arc[W]{ILabel: e.ILabel, OLabel: e.OLabel, Weight: to(e.Weight), NextState: e.NextState})
		}
		g.SetFinal(q, to(f.Final(q)))
	}
	return g
}

// Concrete kernels and generic loops give the same, to the last bit over costs.
func TestKernelsAgreeWithGenericLoops(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 1))
	for range 400 {
		s := randomShape(rng)
		s.coarse = true
		f := draw[semiring.Tropical64](rng, s)
		g := retype(f, func(w semiring.Tropical64) userCost { return userCost(w) })
		for q := ops.QueueAuto; q <= ops.QueueSCC; q++ {
			for _, reverse := range []bool{false, true} {
				o := &ops.ShortestDistanceOptions{Queue: q, Reverse: reverse}
				d, err := ops.ShortestDistance(f, o)
				e, err1 := ops.ShortestDistance(g, o)
				if (err == nil) != (err1 == nil) {
					t.Fatal(err, err1)
				}
				for k := range d {
					if float64(d[k]) != float64(e[k]) {
						t.Fatalf("queue %v state %d: kernel %v, generic %v", q, k, d[k], e[k])
					}
				}
			}
		}
		for _, n := range []int{1, 4} {
			a, err := ops.ShortestPath(f, &ops.ShortestPathOptions[semiring.Tropical64]{N: n})
			b, err1 := ops.ShortestPath(g, &ops.ShortestPathOptions[userCost]{N: n})
			if err != nil || err1 != nil {
				t.Fatal(err, err1)
			}
			if x, y := printText(a), printText(b); x != y {
				t.Fatalf("n=%d: kernel\n%sgeneric\n%s", n, x, y)
			}
		}
		p := closed[semiring.Log64](rng)
		l := as[semiring.Log64](p, func(p semiring.Probability) semiring.Log64 { return semiring.Log64(-math.Log(float64(p))) })
		u := retype(l, func(w semiring.Log64) userLog { return userLog(w) })
		for _, reverse := range []bool{false, true} {
			o := &ops.ShortestDistanceOptions{Reverse: reverse}
			d, err := ops.ShortestDistance(l, o)
			e, err1 := ops.ShortestDistance(u, o)
			if err != nil || err1 != nil {
				t.Fatal(err, err1)
			}
			for k := range d {
				if !within(float64(d[k]), float64(e[k]), 1e-12) {
					t.Fatalf("reverse=%v state %d: kernel %v, generic %v", reverse, k, d[k], e[k])
				}
			}
		}
	}
}

func TestShortestDistanceAcyclicIsShortestDistance(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 1))
	cyclic := 0
	for range 400 {
		s := randomShape(rng)
		s.coarse = true
		s.acyclic = rng.IntN(4) > 0
		f := draw[semiring.Tropical](rng, s)
		for _, reverse := range []bool{false, true} {
			d, err := ops.ShortestDistanceAcyclic(f, reverse)
			if errors.Is(err, ops.ErrCyclic) {
				cyclic++
				continue
			}
			want, err1 := ops.ShortestDistance(f, &ops.ShortestDistanceOptions{Reverse: reverse})
			if err != nil || err1 != nil {
				t.Fatal(err, err1)
			}
			for q := range d {
				if d[q] != want[q] {
					t.Fatalf("reverse=%v state %d: %v, want %v", reverse, q, d[q], want[q])
				}
			}
		}
	}
	if cyclic < 20 {
		t.Fatal("no cyclic machines were drawn")
	}
}
