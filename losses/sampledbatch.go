package losses

import "fmt"

// SampledCase is one evaluation of a SampledBatch: what Sampler.Eval is given.
type SampledCase struct {
	Sampler    *Sampler // one for each case
	Potentials *Potentials
	Gamma      float64
	Want       Want
	Result     *SampledResult // receives the outcome; one for each case
}

// SampledBatch evaluates samplers of several references side by side. The zero value uses as many
// workers as there are processors to run on. It serves one goroutine.
//
//	batch := losses.SampledBatch{}
//	for i, ref := range references {
//		s, err := losses.NewSampler(losses.Unit, ref, 10, 200, &losses.SampledOptions{Seed: uint64(i), Control: control})
//		…
//		cases[i] = losses.SampledCase{Sampler: s, Potentials: p[i], Gamma: 1, Want: losses.WantTied, Result: &results[i]}
//	}
//	err := batch.Eval(cases)
//	control.Refresh()
//
// Results have the same bits for any number of workers: each case is one worker's, with the random
// numbers of its own seed. A TiedControl that cases share is used as it is when the batch begins,
// and learns from all of them, in their order, at the end.
type SampledBatch struct {
	Workers int // zero is GOMAXPROCS
}

// Eval evaluates all cases. The error is that of the first case that has one; the others are
// evaluated all the same. Cases that share a Sampler or a Result are an error before any is
// evaluated.
func (b *SampledBatch) Eval(cases []SampledCase) error {
	samplers, results := map[*Sampler]int{}, map[*SampledResult]int{}
	for i, c := range cases {
		if c.Sampler == nil || c.Result == nil || c.Potentials == nil {
			return fmt.Errorf("losses: SampledBatch: case %d has no Sampler, no Potentials or no Result; give all "+
				"three", i)
		}
		if j, ok := samplers[c.Sampler]; ok {
			return fmt.Errorf("losses: SampledBatch: cases %d and %d have one Sampler; give each its own", j, i)
		}
		if j, ok := results[c.Result]; ok {
			return fmt.Errorf("losses: SampledBatch: cases %d and %d have one Result; give each its own", j, i)
		}
		samplers[c.Sampler], results[c.Result] = i, i
	}
	for _, c := range cases {
		if k := c.Sampler.o.Control; k != nil && c.Want&WantTied != 0 {
			k.fits(c.Potentials) // of several sizes, the last one is served
		}
	}
	err := eachCase(workersFor(b.Workers, len(cases)), len(cases), func(_, i int) error {
		c := &cases[i]
		s := c.Sampler
		s.batch, s.learnt = true, nil
		defer func() { s.batch = false }()
		return s.Eval(c.Potentials, c.Gamma, c.Want, c.Result)
	})
	for _, c := range cases {
		if s := c.Sampler; s.learnt != nil {
			s.o.Control.learn(s.learnt)
			s.learnt = nil
		}
	}
	return err
}
