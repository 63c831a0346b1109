package ops

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

// The solvers of large components say what elimination of all states one after the other says of
// small ones.
func TestLargeSolversAgainstElimination(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 2))
	var tried, gaveUp, diverged int
	for range 4000 {
		n := 2 + rng.IntN(40)
		var arcs, costs []sums.InnerArc[float64]
		scale := 0.1 + 1.2*rng.Float64() // of what leaves a state
		for p := range int32(n) {
			out := 1 + rng.IntN(4)
			for range out {
				w := scale * rng.Float64() * 2 / float64(out)
				e := sums.InnerArc[float64]{From: p, To: (p + 1 + int32(rng.IntN(1+rng.IntN(n)))) % int32(n), W: w}
				arcs = append(arcs, e)
				e.W = -math.Log(w)
				costs = append(costs, e)
			}
		}
		want := make([]float64, n)
		for range 1 + rng.IntN(3) {
			want[rng.IntN(n)] = rng.Float64()
		}
		x, y, b := make([]sums.Wide, n), append([]float64(nil), want...), make([]semiring.Log64, n)
		for q := range n {
			b[q] = semiring.Log64(-math.Log(want[q]))
			x[q] = sums.WideOf(float64(b[q]))
		}
		o := (&ShortestDistanceOptions{}).sums("")
		bad := sums.SolveLinear(sums.RealList(arcs), want, 0, o)
		if bad == sums.Solved && largest(want) > 1e9 {
			continue // rounding decides
		}
		same := func(how string, got int, at func(q int) float64) {
			if (got == sums.Solved) != (bad == sums.Solved) {
				t.Fatalf("%s: %d, by elimination %d, of %v", how, got, bad, arcs)
			}
			for q := range n {
				if got == sums.Solved && !(math.Abs(at(q)-want[q]) <= 1e-9*want[q]) {
					t.Fatalf("%s: state %d has %v, want %v", how, q, at(q), want[q])
				}
			}
		}
		tried++
		if bad != sums.Solved {
			diverged++
		}
		if got := sums.EliminateSparse(sums.RealList(costs), sums.WideOf, x, o); got == sums.NotTried {
			gaveUp++
		} else {
			same("sparse elimination", got, func(q int) float64 { return x[q].Value() })
		}
		same("sweeps", sums.SweepLinear(sums.RealList(arcs), y, 0, o), func(q int) float64 { return y[q] })
		same("sweeps over costs", sums.SweepCosts(sums.RealList(costs), b, o),
			func(q int) float64 { return math.Exp(-float64(b[q])) })
	}
	if diverged < tried/5 || diverged > tried*4/5 || gaveUp > tried/100 {
		t.Errorf("%d systems: %d diverge, %d given up", tried, diverged, gaveUp)
	}
}

func largest(x []float64) (m float64) {
	for _, x := range x {
		m = max(m, x)
	}
	return m
}

// ring draws arcs from each state to the next and to the one seven further on, round n states that
// are numbered by number.
func ring(rng *rand.Rand, n int, least float64, number func(int) int) (f *fst.Vector[semiring.Log64], next, far []float64) {
	f = fst.NewVector[semiring.Log64](n)
	f.AddStates(n)
	f.SetStart(fst.StateID(number(0)))
	f.SetFinal(fst.StateID(number(n-1)), 0.5)
	for q := range n {
		next, far = append(next, least+rng.Float64()), append(far, 5*rng.Float64())
		for i, to := range []int{(q + 1) % n, (q + 7) % n} {
			w := [][]float64{next, far}[i][q]
			f.AddArc(fst.StateID(number(q)), fst.Arc[semiring.Log64]{ILabel: 1, OLabel: 1, Weight: semiring.Log64(w), NextState: fst.StateID(number(to))})
		}
	}
	return f, next, far
}

// Round a large ring there is a sum, though numbers of one size are at no two ends of it: nearly
// nothing comes round. What comes to each state can be summed in their order, and is found in
// whatever order they are numbered, and in reverse.
func TestSumsRoundLargeRing(t *testing.T) {
	fsttest.OneGoroutine(t)
	const n = 20000
	rng := rand.New(rand.NewPCG(72, 1))
	shuffled := rng.Perm(n)
	for name, number := range map[string]func(int) int{
		"along":    func(q int) int { return q },
		"against":  func(q int) int { return n - 1 - q },
		"shuffled": func(q int) int { return shuffled[q] },
	} {
		f, next, far := ring(rng, n, 0.01, number)
		want := make([]float64, n)
		for q := 1; q < n; q++ {
			want[q] = want[q-1] + next[q-1]
			if q >= 7 {
				a, b := want[q], want[q-7]+far[q-7]
				want[q] = min(a, b) - math.Log1p(math.Exp(-math.Abs(a-b)))
			}
		}
		d, err := ShortestDistance[semiring.Log64](f, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		for q := range n {
			if got := float64(d[number(q)]); !(math.Abs(got-want[q]) <= 1e-9*(1+want[q])) {
				t.Fatalf("%s: state %d has %v, want %v", name, q, got, want[q])
			}
		}
		d, err = ShortestDistance[semiring.Log64](f, &ShortestDistanceOptions{Reverse: true})
		if err != nil {
			t.Fatal(name, err)
		}
		if got := float64(d[number(0)]); !(math.Abs(got-want[n-1]-0.5) <= 1e-9*want[n-1]) {
			t.Errorf("%s: %v in reverse, want %v", name, got, want[n-1]+0.5)
		}
	}
}

// Where there is none that is said, and before long: visits are not bounded here, and would else
// end in the same error. The context ends what has swept 100 times and not seen it.
func TestNoSumRoundLargeRing(t *testing.T) {
	const n = 20000
	rng := rand.New(rand.NewPCG(72, 2))
	for name, least := range map[string]float64{"a little": -0.3, "by far": -3} {
		f, _, _ := ring(rng, n, least, func(q int) int { return q })
		o := &ShortestDistanceOptions{MaxVisits: math.MaxInt64, Limits: Limits{Ctx: &countdown{context.Background(), 100}}}
		if _, err := ShortestDistance[semiring.Log64](f, o); !errors.Is(err, ErrNotClosed) {
			t.Error(name, err)
		}
		t.Log(name, o.Ctx.(*countdown).left)
	}
}
