package losses

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/losses/internal/gibbs"
)

var compareRisk = flag.Bool("sampled.compare", false, "run TestSampledCompared, which prints a table")

// riskOf is a way to estimate the gradient of the risk for tied weights, in about so many processor
// milliseconds.
type riskOf func(ref []int, p *Potentials, ms float64, seed uint64) []float64

// drawn samples strings at γ = 0 until the time is up, and scores them by bit vectors.
func drawn(ref []int, p *Potentials, ms float64, seed uint64) (us [][]int, loss []float64) {
	begin := userTime()
	var e Evaluator
	rng := rand.New(rand.NewPCG(seed, 5))
	distance := gibbs.NewEditDistance(ref)
	batch := make([][]int, 16)
	for len(us) == 0 || 1e3*(userTime()-begin) < ms {
		clear(batch)
		if err := e.Sample(nil, p, 0, rng, batch); err != nil {
			panic(err)
		}
		for _, u := range batch {
			us, loss = append(us, u), append(loss, float64(distance.Of(u)))
		}
	}
	return us, loss
}

// spreadRisk is Σ w (L - mean) · counts of windows, for weights that sum to 1.
func spreadRisk(us [][]int, loss, w []float64, p *Potentials, scale float64) []float64 {
	mean := 0.0
	for i, x := range loss {
		mean += w[i] * x
	}
	n := p.Sizes[0]
	g := make([]float64, n*n)
	for i, u := range us {
		x := scale * w[i] * (loss[i] - mean)
		for t := 1; t < len(u); t++ {
			g[u[t-1]*n+u[t]] += x
		}
	}
	return g
}

// baselineRisk is the score function's estimate, with the mean loss of the sample as baseline
// (n/(n-1) makes it unbiased).
func baselineRisk(ref []int, p *Potentials, ms float64, seed uint64) []float64 {
	us, loss := drawn(ref, p, ms, seed)
	n := float64(len(us))
	return spreadRisk(us, loss, slices.Repeat([]float64{1 / n}, len(us)), p, n/(n-1))
}

// nbestRisk renormalises the probabilities of the different strings of the sample, as minimum word
// error rate training on n-best lists does.
func nbestRisk(ref []int, p *Potentials, ms float64, seed uint64) []float64 {
	us, loss := drawn(ref, p, ms, seed)
	seen := map[string]bool{}
	var kept [][]int
	var losses, w []float64
	top := math.Inf(-1)
	for i, u := range us {
		key := string(appendInts(nil, u...))
		if !seen[key] {
			seen[key] = true
			kept, losses, w = append(kept, u), append(losses, loss[i]), append(w, p.Score(u))
			top = max(top, w[len(w)-1])
		}
	}
	sum := 0.0
	for i, x := range w {
		w[i] = math.Exp(x - top)
		sum += w[i]
	}
	for i := range w {
		w[i] /= sum
	}
	return spreadRisk(kept, losses, w, p, 1)
}

// rowsRisk is the Sampler's.
func rowsRisk(passes map[int]float64) riskOf {
	return func(ref []int, p *Potentials, ms float64, seed uint64) []float64 {
		l := len(p.Sizes)
		eval := func(n int) (*SampledResult, float64) {
			begin := userTime()
			s, err := NewSampler(Unit, ref, p.Sizes[0], l, &SampledOptions{Seed: seed, Passes: n})
			if err != nil {
				panic(err)
			}
			r := &SampledResult{}
			if err := s.Eval(p, 0, WantRiskGradient, r); err != nil {
				panic(err)
			}
			return r, 1e3 * (userTime() - begin)
		}
		if passes[l] == 0 {
			_, took := eval(40)
			passes[l] = took / 40
		}
		r, _ := eval(max(1, int(ms/passes[l])))
		return r.TiedRisk
	}
}

// TestSampledCompared prints how far estimates of the gradient of the risk are off, at equal
// processor time, in parts of the gradient's L1 norm: 10 labels, order 2, weights of N(0, scale²),
// unit edit distance.
//
//	go test ./losses -run SampledCompared -sampled.compare -v
func TestSampledCompared(t *testing.T) {
	if !*compareRisk {
		t.Skip("prints a table; -sampled.compare runs it")
	}
	methods := []struct {
		name string
		of   riskOf
	}{{"n-best renormalised", nbestRisk}, {"Monte Carlo with a baseline", baselineRisk}, {"rows (Sampler)",
		rowsRisk(map[int]float64{})}}
	fmt.Println("| l | weights | processor ms | method | mean relative L1 error | of the mean of all " +
		"estimates |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, c := range []struct {
		l     int
		scale float64
	}{{20, 1}, {20, 3}, {100, 1}, {100, 3}} {
		ref, p := publishedSampled(1, c.l, c.scale)
		var truth []float64
		if c.l == 20 {
			m, err := Unit.Machine(ref, 10, c.l)
			if err != nil {
				t.Fatal(err)
			}
			var r Result
			if err := new(Evaluator).Eval(m, p, 0, WantRiskGradient, &r); err != nil {
				t.Fatal(err)
			}
			truth = make([]float64, 100)
			for _, row := range r.RiskGradient[1:] {
				for i, x := range row {
					truth[i] += x
				}
			}
		} else {
			s, err := NewSampler(Unit, ref, 10, c.l, &SampledOptions{Seed: 12345, Passes: 8000})
			if err != nil {
				t.Fatal(err)
			}
			var r SampledResult
			if err := s.Eval(p, 0, WantRiskGradient, &r); err != nil {
				t.Fatal(err)
			}
			truth = r.TiedRisk
		}
		norm := 0.0
		for _, x := range truth {
			norm += math.Abs(x)
		}
		for _, ms := range []float64{5, 50} {
			for _, m := range methods {
				const times = 12
				each, mean := 0.0, make([]float64, len(truth))
				for i := range times {
					for k, x := range m.of(ref, p, ms, uint64(i+1)) {
						each += math.Abs(x-truth[k]) / norm / times
						mean[k] += x / times
					}
				}
				all := 0.0
				for k, x := range mean {
					all += math.Abs(x-truth[k]) / norm
				}
				fmt.Printf("| %d | × %v | %v | %s | %.3f | %.3f |\n", c.l, c.scale, ms, m.name, each, all)
			}
		}
	}
}
