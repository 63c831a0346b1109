package losses

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func batchOf(t testing.TB, n, l int) ([]Case, []Result) {
	results := make([]Result, n)
	cases := make([]Case, n)
	for i := range cases {
		m, err := Unit.Machine(publishedRef(i%3, l), 10, l)
		if err != nil {
			t.Fatal(err)
		}
		cases[i] = Case{Machine: m, Potentials: publishedPotentials(i, 10, l, 2), Gamma: 1,
			Want: WantMarginals | WantRiskGradient, Result: &results[i]}
	}
	return cases, results
}

// The same bits (as printed: what was not asked for may be NaN) for any number
// of workers, and those of an Evaluator.
func TestBatch(t *testing.T) {
	cases, first := batchOf(t, 17, 6)
	if err := (&Batch{Workers: 1}).Eval(cases); err != nil {
		t.Fatal(err)
	}
	var e Evaluator
	var r Result
	if err := e.Eval(cases[5].Machine, cases[5].Potentials, 1, cases[5].Want, &r); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(r) != fmt.Sprint(first[5]) {
		t.Error("a batch differs from an evaluation")
	}
	for _, workers := range []int{0, 2, 5, 40} {
		again, second := batchOf(t, 17, 6)
		if err := (&Batch{Workers: workers}).Eval(again); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(first) != fmt.Sprint(second) {
			t.Errorf("%d workers give another result than one", workers)
		}
	}
	if err := (&Batch{}).Eval(nil); err != nil {
		t.Error(err)
	}
	cases[3].Gamma, cases[9].Gamma = math.NaN(), math.NaN()
	cases[16].Result.LogZ = 0
	if err := (&Batch{Workers: 3}).Eval(cases); err == nil || !strings.HasPrefix(err.Error(), "case 3:") {
		t.Errorf("error %v, want that of case 3", err)
	}
	if first[16].LogZ == 0 {
		t.Error("a case after one that failed was not evaluated")
	}
}

// BenchmarkBatch times 64 evaluations of length 10: two workers on two cores
// should take little more than half of one's time.
func BenchmarkBatch(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("loss=edit/l=10/D=10/q=2/cases=64/workers=%d", workers), func(b *testing.B) {
			cases, _ := batchOf(b, 64, 10)
			for i := range cases {
				cases[i].Want = WantMarginals
			}
			batch := &Batch{Workers: workers}
			if err := batch.Eval(cases); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := batch.Eval(cases); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*64/b.Elapsed().Seconds(), "gradients/s")
		})
	}
}
