package losses

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/tropica-fst/tropica/ops"
)

// benchLosses are the published losses by the names used in benchmarks.
var benchLosses = []struct {
	name    string
	loss    valued
	general int // greatest length for the general path: seconds
}{
	{"edit", Unit, 16},
	{"smith-waterman", SmithWaterman, 12},
	{"bigram", NGram{N: 2}, 30},
	{"bigram-c1", NGram{N: 2, C: 1}, 30},
}

// publishedPotentials are those of the published experiment: bigram features,
// w ~ N(0,1), tied over positions.
func publishedPotentials(seed, alphabet, l, q int) *Potentials {
	rng := rand.New(rand.NewPCG(uint64(seed), 1))
	p := NewPotentials(alphabet, l, q)
	n := 1
	for range q {
		n *= alphabet
	}
	w := make([]float64, n)
	for i := range w {
		w[i] = rng.NormFloat64()
	}
	for t := q - 1; t < l; t++ {
		copy(p.Theta[t], w)
	}
	return p
}

// BenchmarkGradient times one evaluation of log Z and its gradient. The
// instances are three references a length, and ns/op is the median of their mean
// times. cold prepares the machine of the reference each time, warm has it.
func BenchmarkGradient(b *testing.B) {
	for _, c := range benchLosses {
		for _, l := range []int{2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 25, 30} {
			if c.name == "edit" && l > 20 || c.name == "smith-waterman" && l > 14 {
				continue // 2 to 3 times the time per symbol
			}
			if l <= 6 || l == 8 && !testing.Short() { // 10^8 strings of 8
				b.Run(fmt.Sprintf("loss=%s/l=%d/D=10/q=2/path=naive", c.name, l), func(b *testing.B) {
					benchInstances(b, l, func(p *Potentials, ref []int, r *Result) error {
						return Naive(func(u []int) float64 { return c.loss.Value(u, ref) }, p, 1,
							WantMarginals, nil, r)
					}, nil)
				})
			}
			if l <= c.general {
				b.Run(fmt.Sprintf("loss=%s/l=%d/D=10/q=2/path=general/cache=cold", c.name, l),
					func(b *testing.B) {
						benchInstances(b, l, func(p *Potentials, ref []int, r *Result) error {
							a, err := generalAutomaton(c.loss, Strings(10, l), ref, 10, nil)
							if err != nil {
								return err
							}
							_, err = EvalGeneral(p, a, 1, WantMarginals, nil, ops.Limits{})
							return err
						}, nil)
					})
				b.Run(fmt.Sprintf("loss=%s/l=%d/D=10/q=2/path=general/cache=warm", c.name, l),
					func(b *testing.B) {
						var a *Automaton
						benchInstances(b, l, func(p *Potentials, ref []int, r *Result) error {
							_, err := EvalGeneral(p, a, 1, WantMarginals, nil, ops.Limits{})
							return err
						}, func(p *Potentials, ref []int, r *Result) error {
							var err error
							a, err = generalAutomaton(c.loss, Strings(10, l), ref, 10, nil)
							return err
						})
					})
			}
			b.Run(fmt.Sprintf("loss=%s/l=%d/D=10/q=2/path=direct/cache=cold", c.name, l), func(b *testing.B) {
				var e Evaluator
				benchInstances(b, l, func(p *Potentials, ref []int, r *Result) error {
					m, err := c.loss.Machine(ref, 10, l)
					if err != nil {
						return err
					}
					return e.Eval(m, p, 1, WantMarginals, r)
				}, nil)
			})
			b.Run(fmt.Sprintf("loss=%s/l=%d/D=10/q=2/path=direct/cache=warm", c.name, l), func(b *testing.B) {
				var e Evaluator
				var m *Machine
				benchInstances(b, l, func(p *Potentials, ref []int, r *Result) error {
					return e.Eval(m, p, 1, WantMarginals, r)
				}, func(p *Potentials, ref []int, r *Result) error {
					var err error
					if m, err = c.loss.Machine(ref, 10, l); err != nil {
						return err
					}
					return e.Eval(m, p, 1, WantMarginals, r)
				})
			})
		}
	}
}

// benchInstances runs the three instances in turn, b.N times each, and reports
// the median of their mean times, and what one evaluation allocates, in the mean over
// all three. TestAllocationFree asserts that this is nothing on warm direct paths.
func benchInstances(b *testing.B, l int, run, before func(*Potentials, []int, *Result) error) {
	b.ReportAllocs() // prints what ReportMetric puts in place below
	var mallocs, bytes uint64
	var at0, at1 runtime.MemStats
	var r Result
	var means []float64
	for seed := range 3 {
		p, ref := publishedPotentials(seed+1, 10, l, 2), publishedRef(seed, l)
		b.StopTimer()
		if before != nil {
			if err := before(p, ref, &r); err != nil {
				b.Fatal(err)
			}
			if err := run(p, ref, &r); err != nil {
				b.Fatal(err)
			}
		}
		runtime.ReadMemStats(&at0)
		b.StartTimer()
		at := b.Elapsed()
		for range b.N {
			if err := run(p, ref, &r); err != nil {
				b.Fatal(err)
			}
		}
		b.StopTimer()
		means = append(means, float64((b.Elapsed()-at).Nanoseconds())/float64(b.N))
		runtime.ReadMemStats(&at1)
		mallocs, bytes = mallocs+at1.Mallocs-at0.Mallocs, bytes+at1.TotalAlloc-at0.TotalAlloc
	}
	evaluations := uint64(3 * b.N) // whole numbers, as the testing package has them
	b.ReportMetric(float64(mallocs/evaluations), "allocs/op")
	b.ReportMetric(float64(bytes/evaluations), "B/op")
	b.ReportMetric(median3(means), "ns/op") // in place of the time of all three
}

func median3(x []float64) float64 {
	return max(min(x[0], x[1]), min(max(x[0], x[1]), x[2]))
}
