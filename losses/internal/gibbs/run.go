package gibbs

import "math"

// Plan says how an engine is run.
type Plan struct {
	Burn, Sweeps int          // sweeps before counting, and counted ones, blocks among them
	Period       int          // every so many sweeps one of blocks; 0 is none
	Count        bool         // counts of windows
	Raw          bool         // raw counts of pairs beside them
	Parts        int          // parts that are counted apart, each by Groups groups of chains; 0 is 2
	Stop         func() error // looked at before each sweep
}

// Sample is what a run saw.
type Sample struct {
	Counts  []*Counts // Parts·Groups of them
	Raw     [][]float64
	Loss    float64 // mean over chains and sweeps
	LossErr float64 // its standard error, from the chains
	RHat    float64 // split R-hat of the loss
}

// Run burns in and counts. Chains go on from where they are.
func Run(e Engine, p *Plan) (*Sample, error) {
	s := &Sample{}
	trace := make([][Lanes]float64, 0, p.Sweeps)
	part, parts := 0, p.Parts
	if parts == 0 {
		parts = 2
	}
	for i := range p.Burn + p.Sweeps {
		if err := p.Stop(); err != nil {
			return nil, err
		}
		counting := i >= p.Burn
		if p.Period > 0 && i%p.Period == p.Period-1 {
			e.Block(i / p.Period)
		} else {
			e.Sweep(counting && p.Count)
			if counting && p.Raw {
				e.AddRaw()
			}
		}
		if !counting {
			continue
		}
		trace = append(trace, *e.Losses())
		if p.Count && i+1 == p.Burn+p.Sweeps*(part+1)/parts {
			part++
			s.Counts = append(s.Counts, e.Take()...)
			if p.Raw {
				s.Raw = append(s.Raw, e.TakeRaw()...)
			}
		}
	}
	if err := p.Stop(); err != nil { // the last sweep may not have been whole
		return nil, err
	}
	s.summary(trace)
	return s, nil
}

// summary fills in the mean of the loss and split R-hat: the variance of the means of 128 half
// chains beside the variance within them.
func (s *Sample) summary(trace [][Lanes]float64) {
	n := len(trace) / 2
	if n == 0 {
		s.RHat = math.Inf(1)
		return
	}
	within, mean, square, chain := 0.0, 0.0, 0.0, 0.0
	const parts = 2 * Lanes
	for c := range Lanes {
		both := 0.0
		for h := range 2 {
			a, v := 0.0, 0.0
			for i := range n {
				a += trace[h*n+i][c]
			}
			a /= float64(n)
			for i := range n {
				d := trace[h*n+i][c] - a
				v += d * d
			}
			within += v / float64(max(1, n-1)) / parts
			mean += a / parts
			square += a * a / parts
			both += a / 2
		}
		chain += both * both / Lanes
	}
	s.Loss = mean
	s.LossErr = math.Sqrt(max(0, chain-mean*mean) / (Lanes - 1))
	between := max(0, square-mean*mean) * parts / (parts - 1)
	switch {
	case between <= 1e-18*(1+mean*mean): // all chains agree: a distribution of one loss
		s.RHat = 1
	case within == 0:
		s.RHat = math.Inf(1)
	default:
		s.RHat = math.Sqrt(float64(n-1)/float64(n) + between/within)
	}
}

// Anneal takes the chains from γ = 0, where they are exact, to gamma in so many steps, and returns
// the log weights of the chains: the mean of their exponentials estimates Z over the Z at γ = 0,
// without bias. Each step raises γ, and moves the chains by a sweep, every period-th one of blocks.
func Anneal(e Engine, gamma float64, steps, period int, stop func() error) (*[Lanes]float64, error) {
	var w [Lanes]float64
	e.SetGamma(0)
	e.Start()
	at := 0.0
	for i := range steps {
		if err := stop(); err != nil {
			return nil, err
		}
		to := gamma * float64(i+1) / float64(steps)
		for c, x := range e.Losses() {
			w[c] += (to - at) * x
		}
		at = to
		e.SetGamma(at)
		if i+1 == steps {
			break
		}
		if period > 0 && i%period == period-1 {
			e.Block(i / period)
		} else {
			e.Sweep(false)
		}
	}
	return &w, stop()
}
