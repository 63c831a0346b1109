package losses

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Frequencies of windows in samples agree with the marginals, by either sweep.
func TestSample(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 26))
	const n = 20000
	for _, loss := range []valued{Unit, NGram{N: 2}, Local{Match: 1, Sub: -1, Ins: -1, Del: -1}, nil} {
		for q := 1; q <= 3; q++ {
			for _, logs := range []bool{false, true} {
				l := 5
				ref := []int{0, 1, 2, 1, 0}
				p := randomPotentials(rng, []int{3, 3, 3, 3, 3}, q)
				for _, row := range p.Theta { // tame, but keep what is forbidden
					for i := range row {
						row[i] = max(-3, min(3, row[i]))
						if rng.IntN(10) == 0 {
							row[i] = math.Inf(-1)
						}
					}
				}
				var m *Machine
				if loss != nil {
					var err error
					if m, err = loss.Machine(ref, 3, l); err != nil {
						t.Fatal(err)
					}
				}
				e := Evaluator{logOnly: logs}
				us := make([][]int, n)
				var r Result
				if err := e.Eval(m, p, 0.7, WantMarginals, &r); err != nil {
					t.Fatal(err)
				}
				if math.IsInf(r.LogZ, -1) {
					continue
				}
				if err := e.Sample(m, p, 0.7, rng, us); err != nil {
					t.Fatal(err)
				}
				count := NewPotentials(3, l, q).Theta
				for _, u := range us {
					for s := range u {
						count[s][p.Window(u, s)]++
					}
				}
				for s, row := range r.Marginals {
					for i, x := range row {
						sd := math.Sqrt(x*(1-x)/n) + 1e-9
						if got := count[s][i] / n; math.Abs(got-x) > 5*sd || x == 0 && got > 0 {
							t.Errorf("%T q %d logs %v: window %d at %d in %v of samples, probability %v",
								loss, q, logs, i, s, got, x)
						}
					}
				}
			}
		}
	}
}
