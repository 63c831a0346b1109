package losses

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
)

// Banded losses are upper bounds, wider bands are closer, a band over all
// cells is exact, and what the result says of log Z' - log Z and of the
// marginals holds: certified bounds always, estimates within a tenth or so.
func TestBandBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	rng := rand.New(rand.NewPCG(19, 20))
	bounds, estimates, low := 0, 0, 0
	for i := range 210 {
		alphabet, l := 2+rng.IntN(4), 4+rng.IntN(7)
		// Where the wider band that is tried is nearly the whole, bounds are had
		// nearly always; estimates are of longer strings in narrow bands.
		long := i >= 120
		if long {
			l = 10 + rng.IntN(3)
		}
		m := l
		if rng.IntN(3) == 0 {
			m = max(0, l+rng.IntN(5)-2)
		}
		e := []Edit{Unit, SmithWaterman, {Sub: 1, Ins: 3, Del: 2}, {Sub: 1.7, Ins: 1, Del: 1}}[rng.IntN(4)]
		ref := randomRef(rng, m, alphabet)
		p := NewPotentials(alphabet, l, 2)
		sharp := 3 * rng.Float64()
		for t, row := range p.Theta {
			for i := range row {
				row[i] = rng.NormFloat64()
				if t < m && i%alphabet == ref[t] {
					row[i] += sharp // a model that knows something
				}
			}
		}
		gamma := []float64{1, 1, 0.3, -1, -2}[rng.IntN(5)]
		exact, err := e.Machine(ref, alphabet, l)
		if err != nil {
			t.Fatal(err)
		}
		if !exact.Exact() {
			t.Fatal("an exact machine says that it is not")
		}
		var ev Evaluator
		var want, got Result
		if err := ev.Eval(exact, p, gamma, WantMarginals|WantError, &want); err != nil {
			t.Fatal(err)
		}
		if want.LogZErrorKind != ErrorExact || want.LogZError != 0 {
			t.Fatalf("exact loss: %v %v", want.LogZError, want.LogZErrorKind)
		}
		for band := 1; band <= l+m; band++ {
			if long && band == 3 {
				band = l + m
			}
			e.Band = band
			mb, err := e.Machine(ref, alphabet, l)
			if err != nil {
				t.Fatal(err)
			}
			for range 20 {
				u := randomRef(rng, l, alphabet)
				if !near(mb.Loss(u), e.Value(u, ref)) || mb.Loss(u) < exact.Loss(u)-1e-9 {
					t.Fatalf("%+v ref %v: banded loss of %v is %v, by definition %v, exact %v", e, ref, u,
						mb.Loss(u), e.Value(u, ref), exact.Loss(u))
				}
			}
			if err := ev.Eval(mb, p, gamma, WantMarginals|WantError, &got); err != nil {
				t.Fatal(err)
			}
			delta := math.Abs(got.LogZ - want.LogZ)
			tv := 0.0
			for s := range want.Marginals {
				sum := 0.0
				for k, x := range want.Marginals[s] {
					sum += math.Abs(x - got.Marginals[s][k])
				}
				tv = max(tv, sum/2)
			}
			if tv > 1-math.Exp(-delta)+1e-9 {
				t.Errorf("case %d band %d: total variation %v beyond 1-exp(-%v)", i, band, tv, delta)
			}
			if got.LogZErrorKind == ErrorExact || mb.Exact() &&
				(got.LogZErrorKind != ErrorBound || got.LogZError != 0) {
				t.Fatalf("case %d %+v: %v, error %v", i, e, got.LogZErrorKind, got.LogZError)
			}
			switch {
			case mb.Exact():
				if delta > 1e-9 {
					t.Errorf("case %d %+v l %d m %d: said to be exact, off by %v", i, e, l, m, delta)
				}
				band = l + m
			case got.LogZErrorKind == ErrorBound:
				bounds++
				if delta > got.LogZError+1e-9 {
					t.Errorf("case %d %+v γ %v: off by %v, bound %v", i, e, gamma, delta, got.LogZError)
				}
			default:
				estimates++
				if got.LogZError < delta/2 {
					low++
				}
				if delta > 0 && got.LogZError == 0 {
					t.Errorf("case %d %+v γ %v: off by %v, estimate 0", i, e, gamma, delta)
				}
				if math.Abs(delta-got.LogZError) > 0.05+0.3*delta {
					t.Errorf("case %d %+v γ %v: off by %v, estimate %v", i, e, gamma, delta, got.LogZError)
				}
			}
		}
		if got.LogZErrorKind != ErrorBound || got.LogZError != 0 {
			t.Errorf("case %d: a band over everything is not exact", i)
		}
	}
	if low > estimates/20 {
		t.Errorf("%d of %d estimates are below half the truth", low, estimates)
	}
	t.Logf("%d bounds, %d estimates, %d of them below half", bounds, estimates, low)
	if bounds < 200 || estimates < 40 {
		t.Error("too few of one kind for the test to say much")
	}
}

// Hundreds of symbols with a band: columns and memory linear in the length.
func TestBandLong(t *testing.T) {
	e := Edit{Sub: 1, Ins: 1, Del: 1, Band: 2}
	rng := rand.New(rand.NewPCG(21, 22))
	ref := randomRef(rng, 800, 10)
	var perSymbol [2]float64
	var heap [2]float64
	for i, l := range []int{400, 800} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		m, err := e.Machine(ref[:l], 10, l)
		if err != nil {
			t.Fatal(err)
		}
		var ev Evaluator
		var r Result
		p := publishedPotentials(1, 10, l, 2)
		if err := ev.Eval(m, p, 1, WantMarginals|WantExpected|WantRisk|WantMaxAug, &r); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		perSymbol[i] = float64(m.TotalColumns()) / float64(l)
		heap[i] = float64(after.HeapAlloc-before.HeapAlloc) / float64(l)
		if math.IsNaN(r.LogZ) || math.IsInf(r.LogZ, 0) || r.Expected < r.Risk || r.Expected > float64(l) {
			t.Errorf("l %d: log Z %v, E[L] %v, risk %v", l, r.LogZ, r.Expected, r.Risk)
		}
		if r.LogSpace {
			t.Errorf("l %d: the scaled sweep should do", l)
		}
		for s, row := range r.Marginals {
			sum := 0.0
			for _, x := range row {
				sum += x
			}
			if math.Abs(sum-1) > 1e-9 {
				t.Fatalf("l %d: marginals at %d sum to %v", l, s, sum)
			}
		}
		runtime.KeepAlive(m)
	}
	if perSymbol[1] > 1.2*perSymbol[0] || heap[1] > 1.3*heap[0] {
		t.Errorf("columns a symbol %v, bytes a symbol %v", perSymbol, heap)
	}
}

// The cost of a band is estimated in time linear in the length, and above 0: four times the length
// takes four times the time, not sixteen.
func TestBandErrorLong(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	rng := rand.New(rand.NewPCG(41, 42))
	e := Edit{Sub: 1, Ins: 1, Del: 1, Band: 1}
	var least [2]time.Duration // of two runs, since other work may come between
	for i, l := range []int{1000, 4000} {
		ref := randomRef(rng, l, 4)
		p := publishedPotentials(1, 4, l, 1)
		for run := range 2 {
			start := time.Now()
			m, err := e.Machine(ref, 4, l)
			if err != nil {
				t.Fatal(err)
			}
			var r Result
			if err := new(Evaluator).Eval(m, p, 1, WantError, &r); err != nil {
				t.Fatal(err)
			}
			if r.LogZErrorKind != ErrorEstimate || !(r.LogZError > 0) {
				t.Errorf("error %v, %v", r.LogZError, r.LogZErrorKind)
			}
			if d := time.Since(start); run == 0 || d < least[i] {
				least[i] = d
			}
		}
	}
	if least[1] > 10*least[0] {
		t.Errorf("%v for 1000 symbols, %v for 4000", least[0], least[1])
	}
}

// Where long strings have their threshold from a bound, it is one.
func TestBandAround(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	for i := range 300 {
		d := 1 + rng.IntN(3)
		l, m := 1+rng.IntN(12), rng.IntN(20)
		e := randomEdit(rng, d)
		e.Band = 1 + rng.IntN(3)
		ref := randomRef(rng, m, d)
		b := e.columns(ref, d, l)
		exact := e.outside(b.First, b.Last, ref, d)
		del, ins, diag := e.cheapest(ref, d)
		if x := around(b.First, b.Last, del, ins, diag); x > exact+1e-9*math.Abs(exact) {
			t.Errorf("case %d %+v l %d ref %v: %v, but an alignment outside costs %v", i, e, l, ref, x, exact)
		}
	}
}

// Lengths that differ widely, bands too narrow to connect.
func TestBandShapes(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	for range 200 {
		l, m := rng.IntN(12), rng.IntN(40)
		e := Edit{Match: -1, Sub: 1, Ins: 1, Del: 2, Band: 1 + rng.IntN(3)}
		ref := randomRef(rng, m, 3)
		machine, err := e.Machine(ref, 3, l)
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			u := randomRef(rng, l, 3)
			if got, want := machine.Loss(u), e.Value(u, ref); !near(got, want) || math.IsInf(want, 0) {
				t.Fatalf("l %d m %d band %d: %v, want %v", l, m, e.Band, got, want)
			}
		}
	}
}
