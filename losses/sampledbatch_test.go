package losses

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
)

// A batch gives what its cases give one by one, learned controls included, whatever the workers.
func TestSampledBatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 2))
	p := gaussianPotentials(rng, 4, 25, 2, 1, true)
	refs := make([][]int, 7)
	for i := range refs {
		refs[i] = uniformRef(rng, 4, 22+i)
	}
	other := gaussianPotentials(rng, 4, 25, 1, 1, true) // a control passes it over
	cases := func(c *TiedControl) ([]SampledCase, []SampledResult) {
		results := make([]SampledResult, len(refs))
		out := make([]SampledCase, len(refs))
		for i, ref := range refs {
			s, err := NewSampler(Unit, ref, 4, 25, &SampledOptions{Seed: uint64(i), Sweeps: 40, Control: c})
			if err != nil {
				t.Fatal(err)
			}
			out[i] = SampledCase{Sampler: s, Potentials: p, Gamma: 1, Want: WantTied | WantExpected,
				Result: &results[i]}
			if i == 3 {
				out[i].Potentials = other
			}
		}
		return out, results
	}
	// Two rounds, so that the second one has coefficients.
	run := func(eval func([]SampledCase) error) string {
		control := &TiedControl{}
		text := ""
		for range 2 {
			list, results := cases(control)
			if err := eval(list); err != nil {
				t.Fatal(err)
			}
			control.Refresh()
			text += fmt.Sprint(results, control.Runs(), control.solution)
		}
		return text
	}
	want := run(func(list []SampledCase) error {
		for _, c := range list {
			if err := c.Sampler.Eval(c.Potentials, c.Gamma, c.Want, c.Result); err != nil {
				return err
			}
		}
		return nil
	})
	for _, workers := range []int{1, 2, 5, 0} {
		if got := run((&SampledBatch{Workers: workers}).Eval); got != want {
			t.Errorf("%d workers: another result than one by one", workers)
		}
	}

	// The error is that of the first case that has one; the others are evaluated.
	list, results := cases(nil)
	list[2].Potentials = NewPotentials(4, 24, 2)
	list[5].Want = WantHVP
	err := (&SampledBatch{}).Eval(list)
	if err == nil || err.Error()[:6] != "case 2" || len(results[6].Tied) == 0 || len(results[2].Tied) > 0 {
		t.Errorf("case 2 is wrong: %v, %d and %d numbers", err, len(results[6].Tied), len(results[2].Tied))
	}
	for name, spoil := range map[string]func(){
		"one sampler for two":  func() { list[1].Sampler = list[4].Sampler },
		"one result for two":   func() { list[1].Result = list[4].Result },
		"no sampler":           func() { list[6].Sampler = nil },
		"no potentials at all": func() { list[0].Potentials = nil },
	} {
		list, results = cases(nil)
		spoil()
		if err := (&SampledBatch{}).Eval(list); err == nil || !reflect.DeepEqual(results,
			make([]SampledResult, len(refs))) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if err := (&SampledBatch{}).Eval(nil); err != nil {
		t.Error(errors.Join(errors.New("no cases"), err))
	}
}

// Without intervals the estimate is as good, and says that it has none.
func TestSampledNoIntervals(t *testing.T) {
	ref, p := publishedSampled(2, 40, 1)
	eval := func(o SampledOptions) *SampledResult {
		s, err := NewSampler(Unit, ref, 10, 40, &o)
		if err != nil {
			t.Fatal(err)
		}
		r := &SampledResult{}
		if err := s.Eval(p, 1, WantMarginals|WantTied, r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	with, without := eval(SampledOptions{Sweeps: 80}), eval(SampledOptions{Sweeps: 80, NoIntervals: true})
	worst := 0.0
	for i, row := range with.Marginals {
		for k, x := range row {
			worst = max(worst, x-without.Marginals[i][k], without.Marginals[i][k]-x)
			if y := without.MarginalsError[i][k]; y == y {
				t.Fatalf("an error of %v", y)
			}
		}
	}
	// The rounds of control variates may differ: both come from the same counts.
	if worst > .02 || without.Rare > 0 || without.RareTied > 0 || without.TiedError[3] == without.TiedError[3] {
		t.Errorf("marginals differ by %v; %d rare cells, errors %v", worst, without.Rare, without.TiedError[3])
	}
}
