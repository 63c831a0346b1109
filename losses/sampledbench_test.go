package losses

import (
	"math"
	"math/rand/v2"
	"testing"
)

// sampledTruth is a long run: E[window] of all windows and of tied ones.
func sampledTruth(b testing.TB, ref []int, p *Potentials, sweeps, band int) *SampledResult {
	s, err := NewSampler(Unit, ref, 10, len(ref), &SampledOptions{Sweeps: sweeps, Burn: 500, Seed: 99,
		Band: band})
	if err != nil {
		b.Fatal(err)
	}
	r := &SampledResult{}
	if err := s.Eval(p, 1, WantMarginals|WantTied|WantExpected, r); err != nil {
		b.Fatal(err)
	}
	return r
}

// publishedSampled returns an instance of the published setting: 10 labels, weights of N(0, scale²)
// tied over positions.
func publishedSampled(seed, l int, scale float64) ([]int, *Potentials) {
	rng := rand.New(rand.NewPCG(uint64(seed), 32))
	ref := uniformRef(rng, 10, l)
	return ref, gaussianPotentials(rng, 10, l, 2, scale, true)
}

// BenchmarkSampled measures, against a long run: processor milliseconds, the L1 error of marginals
// a position, the relative L1 error of the tied gradient, and the coverage of intervals where there
// are intervals.
func BenchmarkSampled(b *testing.B) {
	for _, c := range []struct {
		name   string
		l      int
		scale  float64
		sweeps int
		want   Want
		learn  bool
		truth  int
	}{
		{"l=100/tied/learned", 100, 1, 72, WantTied, true, 60000},
		{"l=100/tied", 100, 1, 120, WantTied, false, 60000},
		{"l=100/cells", 100, 1, 185, WantMarginals | WantTied, false, 60000},
		{"l=100/cells/long", 100, 1, 1200, WantMarginals | WantTied, false, 60000},
		{"l=500/tied/learned", 500, 1, 24, WantTied, true, 8000},
		{"l=500/cells", 500, 1, 200, WantMarginals | WantTied, false, 8000},
		{"l=100/theta=3", 100, 3, 160, WantMarginals | WantTied, false, 60000},
		{"l=100/theta=3/learned", 100, 3, 120, WantTied, true, 60000},
		{"l=100/theta=5", 100, 5, 160, WantMarginals | WantTied, false, 60000},
	} {
		for seed := 1; seed <= 3; seed++ {
			b.Run(c.name+"/seed="+string(rune('0'+seed)), func(b *testing.B) {
				ref, p := publishedSampled(seed, c.l, c.scale)
				truth := sampledTruth(b, ref, p, c.truth, 0)
				o := &SampledOptions{Sweeps: c.sweeps}
				if c.learn {
					o.Control = &TiedControl{}
					rng := rand.New(rand.NewPCG(77, 1))
					refs := 100
					if c.l > 200 {
						refs = 15
					}
					for i := range refs {
						s, err := NewSampler(Unit, uniformRef(rng, 10, c.l), 10, c.l,
							&SampledOptions{Sweeps: 160, Seed: uint64(i), Control: o.Control})
						if err != nil {
							b.Fatal(err)
						}
						if err := s.Eval(p, 1, WantTied, &SampledResult{}); err != nil {
							b.Fatal(err)
						}
					}
					o.Control.Refresh()
				}
				var r SampledResult
				ms, l1, rel, n, mixed := 0.0, 0.0, 0.0, 0, 0
				var in, all, inTied, allTied, rare float64
				sum := 0.0
				for _, x := range truth.Tied {
					sum += x
				}
				for b.Loop() {
					o.Seed = uint64(1000 + n)
					n++
					begin := userTime()
					s, err := NewSampler(Unit, ref, 10, c.l, o)
					if err != nil {
						b.Fatal(err)
					}
					if err := s.Eval(p, 1, c.want, &r); err != nil {
						b.Fatal(err)
					}
					ms += 1e3 * (userTime() - begin)
					if r.Mixed {
						mixed++
					}
					for t, row := range r.Marginals {
						if c.want&WantMarginals == 0 {
							break
						}
						for i, x := range row {
							d := math.Abs(x - truth.Marginals[t][i])
							l1 += d / float64(c.l)
							if half := r.MarginalsError[t][i]; !math.IsNaN(half) {
								all++
								if d <= half {
									in++
								}
							} else {
								rare++
							}
						}
					}
					for i, x := range r.Tied {
						d := math.Abs(x - truth.Tied[i])
						rel += d / sum
						if half := r.TiedError[i]; !math.IsNaN(half) && truth.Tied[i] > .05 {
							allTied++
							if d <= half {
								inTied++
							}
						}
					}
				}
				k := float64(n)
				b.ReportMetric(ms/k, "cpu-ms")
				if c.want&WantMarginals != 0 {
					b.ReportMetric(l1/k, "L1/position")
					b.ReportMetric(in/all, "coverage")
					b.ReportMetric(rare/(rare+all), "rare")
				}
				b.ReportMetric(100*rel/k, "tied-%")
				b.ReportMetric(inTied/allTied, "tied-coverage")
				b.ReportMetric(float64(mixed)/k, "mixed")
				b.ReportMetric(r.Accepted, "accepted")
			})
		}
	}
}
