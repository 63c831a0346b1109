package losses

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/tropica-fst/tropica/losses/internal/features"
)

// Derivatives against central differences, on cases too large to enumerate.
func TestFiniteDifferences(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for _, loss := range []valued{Unit, SmithWaterman, Local{Match: 2, Sub: -1, Ins: -1, Del: -1},
		NGram{N: 2, C: 1}, NGram{N: 3, C: 0.5}, NGram{N: 2}} {
		for q := 1; q <= 3; q++ {
			l := 9
			ref := randomRef(rng, 8, 4)
			p := NewPotentials(4, l, q)
			v := NewPotentials(4, l, q).Theta
			for t, row := range p.Theta {
				for i := range row {
					row[i], v[t][i] = rng.NormFloat64(), rng.NormFloat64()
				}
			}
			m, err := loss.Machine(ref, 4, l)
			if err != nil {
				t.Fatal(err)
			}
			e := Evaluator{Direction: v}
			const gamma, h = 0.8, 1e-4
			var r, a, b Result
			if err := e.Eval(m, p, gamma, everything|WantHVP|WantRiskHVP, &r); err != nil {
				t.Fatal(err)
			}
			moved := func(s float64) *Potentials {
				n := NewPotentials(4, l, q)
				for t, row := range n.Theta {
					for i := range row {
						row[i] = p.Theta[t][i] + s*v[t][i]
					}
				}
				return n
			}
			inner := func(x [][]float64) float64 {
				s := 0.0
				for t, row := range x {
					for i := range row {
						s += row[i] * v[t][i]
					}
				}
				return s
			}
			e.Eval(m, moved(h), gamma, WantMarginals|WantRisk|WantRiskGradient, &a)
			e.Eval(m, moved(-h), gamma, WantMarginals|WantRisk|WantRiskGradient, &b)
			check := func(name string, got, want float64) {
				t.Helper()
				if math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
					t.Errorf("%T q %d: %s = %v, by differences %v", loss, q, name, got, want)
				}
			}
			check("gradient·v", inner(r.Marginals), (a.LogZ-b.LogZ)/(2*h))
			check("risk gradient·v", inner(r.RiskGradient), (a.Risk-b.Risk)/(2*h))
			for t := range v {
				for i := range v[t] {
					check("Hessian·v", r.HVP[t][i], (a.Marginals[t][i]-b.Marginals[t][i])/(2*h))
					check("risk Hessian·v", r.RiskHVP[t][i],
						(a.RiskGradient[t][i]-b.RiskGradient[t][i])/(2*h))
				}
			}
			e.Eval(m, p, gamma+h, 0, &a)
			e.Eval(m, p, gamma-h, 0, &b)
			check("E[L]", r.Expected, (a.LogZ-b.LogZ)/(2*h))
			// Marginals of each position sum to 1, and the best string scores
			// what it is said to.
			for t := range r.Marginals {
				sum := 0.0
				for _, x := range r.Marginals[t] {
					sum += x
				}
				check("sum of marginals", sum, 1)
			}
			check("max", p.Score(r.ArgmaxAug)+gamma*loss.Value(r.ArgmaxAug, ref), r.MaxAug)
			check("Viterbi", p.Score(r.Viterbi), r.MaxScore)
		}
	}
}

// The vector kernels against the Go ones.
func TestVectorKernels(t *testing.T) {
	if !features.Vectors {
		t.Skip("no vector kernels on this processor")
	}
	rng := rand.New(rand.NewPCG(15, 16))
	defer func() { features.Vectors = true }()
	for _, alphabet := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 31,
		32, 33, 50} {
		for _, loss := range []valued{Unit, SmithWaterman, Edit{Sub: 1, Ins: 1, Del: 1, Band: 2},
			NGram{N: 2, C: 1}, NGram{N: 1}, Edit{Sub: 1, Ins: 3, Del: 2}, Edit{Match: 3, Sub: 1, Ins: 3,
				Del: 2}} {
			for q := 1; q <= 2; q++ {
				l := 8
				if alphabet > 20 {
					l = 5
				}
				ref := randomRef(rng, 8, alphabet)
				p := NewPotentials(alphabet, l, q)
				for _, row := range p.Theta {
					for i := range row {
						row[i] = rng.NormFloat64()
					}
				}
				var r [2]Result
				for i := range r {
					features.Vectors = i == 0
					m, err := loss.Machine(ref, alphabet, l)
					if err != nil {
						t.Fatal(err)
					}
					var e Evaluator
					if err := e.Eval(m, p, 1.5, WantMarginals|WantExpected, &r[i]); err != nil {
						t.Fatal(err)
					}
				}
				if err := compareResults(&r[0], &r[1], WantMarginals|WantExpected); err != nil {
					t.Errorf("%T%+v alphabet %d q %d: %v", loss, loss, alphabet, q, err)
				}
			}
		}
	}
}

// The n-gram dynamic program against the count automaton.
func TestNGramAgainstAutomaton(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	const few = WantMarginals | WantExpected | WantPlain | WantRisk | WantRiskGradient
	for range 60 {
		loss := NGram{N: 1 + rng.IntN(2), C: []float64{0, 0.3, 1}[rng.IntN(3)]}
		alphabet, l := 1+rng.IntN(12), 1+rng.IntN(30)
		ref := randomRef(rng, rng.IntN(40), 1+rng.IntN(alphabet))
		p := NewPotentials(alphabet, l, 1+rng.IntN(2))
		for _, row := range p.Theta {
			for i := range row {
				row[i] = rng.NormFloat64()
			}
		}
		m, err := loss.Machine(ref, alphabet, l)
		if err != nil {
			t.Fatal(err)
		}
		gamma := []float64{1, -1, 2.5, 0}[rng.IntN(4)]
		var e Evaluator
		var a, b Result
		if err := e.Eval(m, p, gamma, few, &a); err != nil {
			t.Fatal(err)
		}
		if err := e.Eval(m, p, gamma, few|WantViterbi, &b); err != nil {
			t.Fatal(err)
		}
		if err := compareResults(&a, &b, few); err != nil {
			t.Errorf("%+v ref %v alphabet %d l %d γ %v: %v", loss, ref, alphabet, l, gamma, err)
		}
	}
}

// Where all three sweeps can, they agree; where underflow could matter, the
// linear ones refuse.
func TestSweepsAgree(t *testing.T) {
	for _, gamma := range []float64{1, -3, 30, -200, 1000} {
		p, ref := publishedPotentials(4, 10, 10, 2), publishedRef(1, 10)
		m, err := Unit.Machine(ref, 10, 10)
		if err != nil {
			t.Fatal(err)
		}
		var r [3]Result
		for i := range r {
			e := Evaluator{scaleOnly: i == 1, logOnly: i == 2}
			if err := e.Eval(m, p, gamma, everything, &r[i]); err != nil {
				t.Fatal(err)
			}
			if err := compareResults(&r[i], &r[0], everything); err != nil {
				t.Errorf("γ %v, sweep %d: %v", gamma, i, err)
			}
		}
		if !r[2].LogSpace || r[0].LogSpace && math.Abs(gamma) < 50 {
			t.Errorf("γ %v: in logs: %v, %v", gamma, r[0].LogSpace, r[2].LogSpace)
		}
	}
}

func TestPotentialErrors(t *testing.T) {
	m, err := Unit.Machine([]int{0, 1}, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	var e Evaluator
	var r Result
	good := func() *Potentials { return NewPotentials(2, 2, 2) }
	for name, change := range map[string]func(p *Potentials){
		"nan":    func(p *Potentials) { p.Theta[1][2] = math.NaN() },
		"inf":    func(p *Potentials) { p.Theta[0][1] = math.Inf(1) },
		"order":  func(p *Potentials) { p.Order = 4 },
		"short":  func(p *Potentials) { p.Theta[1] = p.Theta[1][:3] },
		"length": func(p *Potentials) { *p = *NewPotentials(2, 3, 2) },
		"labels": func(p *Potentials) { *p = *NewPotentials(3, 2, 2) },
	} {
		p := good()
		change(p)
		if err := e.Eval(m, p, 1, WantMarginals, &r); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := e.Eval(m, good(), math.NaN(), 0, &r); err == nil {
		t.Error("γ = NaN accepted")
	}
	if err := e.Eval(m, good(), 1, WantHVP, &r); err == nil {
		t.Error("a Hessian product without direction")
	}
	// Nothing allowed is no error.
	p := good()
	for i := range p.Theta[1] {
		p.Theta[1][i] = math.Inf(-1)
	}
	if err := e.Eval(m, p, 1, everything, &r); err != nil || !math.IsInf(r.LogZ, -1) ||
		!math.IsNaN(r.Expected) || r.Marginals[0][0] != 0 || len(r.Viterbi) != 0 {
		t.Errorf("nothing allowed: %v, %+v", err, r)
	}
	if err := e.Sample(m, p, 1, rand.New(rand.NewPCG(1, 1)), make([][]int, 1)); !errors.Is(err, ErrNoString) {
		t.Errorf("sample of nothing: %v", err)
	}
}

func TestAllocationFree(t *testing.T) {
	ref := publishedRef(0, 9)
	for _, loss := range []valued{Unit, SmithWaterman, NGram{N: 2, C: 1}, NGram{N: 2}, NGram{N: 3, C: 1},
		Edit{Sub: 1, Ins: 1, Del: 1, Band: 1}, Hamming{Scale: 1}} {
		for q := 1; q <= 3; q++ {
			p := NewPotentials(10, 9, q)
			m, err := loss.Machine(ref, 10, 9)
			if err != nil {
				t.Fatal(err)
			}
			e := Evaluator{Direction: p.Theta}
			var r Result
			for _, want := range []Want{0, WantMarginals, everything | WantHVP | WantRiskHVP} {
				if n := testing.AllocsPerRun(3, func() {
					if err := e.Eval(m, p, 1, want, &r); err != nil {
						t.Fatal(err)
					}
				}); n != 0 {
					t.Errorf("%T%+v q %d: %v allocations for %b", loss, loss, q, n, want)
				}
			}
		}
	}
}

// The same machine and cache in several goroutines give the same results; run
// with -race.
func TestParallel(t *testing.T) {
	cache := NewCache(1 << 22)
	var want [6]float64
	run := func() error {
		var e Evaluator
		var r Result
		for i := range want {
			loss := []valued{Unit, SmithWaterman, NGram{N: 2}}[i%3]
			p, ref := publishedPotentials(i, 10, 7, 1+i%3), publishedRef(i%3, 7)
			m, err := cache.Machine(loss, ref, 10, 7)
			if err != nil {
				return err
			}
			if err := e.Eval(m, p, 1, WantMarginals|WantMaxAug, &r); err != nil {
				return err
			}
			if want[i] != 0 && r.LogZ != want[i] {
				return fmt.Errorf("case %d: log Z %v, alone %v", i, r.LogZ, want[i])
			}
			if want[i] == 0 {
				want[i] = r.LogZ
			}
		}
		return nil
	}
	if err := run(); err != nil {
		t.Fatal(err)
	}
	cache = NewCache(1 << 22)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 3 {
				if err := run(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if s := cache.Stats(); s.Hits == 0 || s.Machines == 0 {
		t.Errorf("cache: %+v", s)
	}
}

func TestCacheBounded(t *testing.T) {
	const limit = 200_000
	cache := NewCache(limit)
	var e Evaluator
	var r Result
	for i := range 60 {
		ref := randomRef(rand.New(rand.NewPCG(uint64(i%40), 1)), 9, 10)
		m, err := cache.Machine(Unit, ref, 10, 9)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Eval(m, NewPotentials(10, 9, 2), 1, 0, &r); err != nil { // the machine grows by its graph
			t.Fatal(err)
		}
		if s := cache.Stats(); s.Bytes > limit {
			t.Fatalf("%d bytes in a cache of %d", s.Bytes, limit)
		}
	}
	if s := cache.Stats(); s.Machines < 2 || s.Machines > 30 {
		t.Errorf("%+v", s)
	}
	// What was used last is still there; what is larger than the cache is not kept.
	before := cache.Stats().Hits
	ref := randomRef(rand.New(rand.NewPCG(59%40, 1)), 9, 10)
	a, _ := cache.Machine(Unit, ref, 10, 9)
	b, _ := cache.Machine(Unit, ref, 10, 9)
	if a != b || cache.Stats().Hits != before+2 {
		t.Error("a recent machine was built again")
	}
	small := NewCache(1000)
	if _, err := small.Machine(Unit, ref, 10, 9); err != nil || small.Stats().Machines != 0 ||
		small.Stats().Bytes != 0 {
		t.Errorf("%v, %+v", err, small.Stats())
	}
	// Nor does it, or one that grows beyond the limit, take the place of others.
	kept := NewCache(60_000)
	first, err := kept.Machine(Unit, ref[:4], 10, 4)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := kept.Machine(Unit, ref, 10, 9); err != nil ||
		e.Eval(m, NewPotentials(10, 9, 3), 1, 0, &r) != nil || m.Bytes() < 60_000 {
		t.Fatalf("%v, %d bytes: no machine beyond the limit", err, m.Bytes())
	}
	if s := kept.Stats(); s.Machines != 1 || s.Bytes > 60_000 {
		t.Errorf("%+v", s)
	}
	if again, err := kept.Machine(Unit, ref[:4], 10, 4); err != nil || again != first {
		t.Errorf("a machine that fits was dropped for one that does not (%v)", err)
	}
}
