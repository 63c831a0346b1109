package losses

import (
	"math"

	"github.com/tropica-fst/tropica/losses/internal/gibbs"
)

// risk estimates E[L] at γ = 0, and its gradient Cov(L, [window at t is z]), from exact samples.
//
// The losses of all symbols of a site give, for a sample of the others, the sum over the site's
// symbol of p (L - c): its mean is E[(L - c) [window]] with the site's own share of the variance
// taken out. From it goes (Risk - c) times the probability of the window, which is known at γ = 0.
// c is the mean loss of a first sample that is not counted. Both neighbours' forms are averaged, as
// at γ.
func (e *run) risk(want Want, r *SampledResult) error {
	const groups = 8
	passes := e.s.o.Passes
	if passes == 0 {
		passes = 64
	}
	gradient := want&WantRiskGradient != 0
	engine, err := e.engine(0, !gradient, e.s.o.Seed+0x51ed)
	if err != nil {
		return err
	}
	engine.SetGamma(0)
	engine.Start()
	center, spread := 0.0, 0.0 // spread is the greatest |L - c| seen
	for _, x := range engine.Losses() {
		center += x / gibbs.Lanes
	}
	p := e.p
	sums := make([][][]float64, groups) // of p (L - c), by group of chains
	for g := range sums {
		if gradient {
			sums[g] = NewLatticePotentials(p.Sizes, p.Order).Theta
		}
	}
	var loss [gibbs.Lanes]float64 // L - c, summed over passes
	var strings [gibbs.Lanes][]int
	fast, _ := engine.(*gibbs.Bytes)
	var counts []*gibbs.Counts
	if fast != nil && gradient {
		for range groups {
			counts = append(counts, gibbs.NewCounts(e.model, false))
		}
	}
	for range passes {
		if err := e.stopped(); err != nil {
			return err
		}
		engine.Start()
		for c, x := range engine.Losses() {
			loss[c] += x - center
			spread = max(spread, math.Abs(x-center))
		}
		if !gradient {
			continue
		}
		if fast != nil {
			fast.WeighCounts(center, counts)
			continue
		}
		for c := range strings {
			strings[c] = engine.String(strings[c][:0], c)
		}
		engine.Weigh(func(t, c int, prob, costs []float64) {
			g := c * groups / gibbs.Lanes
			u := strings[c]
			last := min(len(u), t+p.Order)
			for s := t; s < last; s++ {
				// The window that ends at s holds the site: a form of its own for each of its
				// sites.
				share := 1 / float64(min(p.Order, s+1))
				stride := 1
				for i := t + 1; i <= s; i++ {
					stride *= p.Sizes[i]
				}
				base := p.Window(u, s) - u[t]*stride
				row := sums[g][s]
				for a, x := range prob {
					row[base+a*stride] += share * x * (costs[a] - center)
				}
			}
		})
	}
	if err := e.stopped(); err != nil { // the last pass may not have been whole
		return err
	}
	for g, c := range counts {
		c.Sums(e.model, sums[g])
	}
	n := float64(passes)
	mean, square := 0.0, 0.0
	var of [groups]float64
	for c, x := range loss {
		x /= n
		mean += x / gibbs.Lanes
		square += x * x / gibbs.Lanes
		of[c*groups/gibbs.Lanes] += x * groups / gibbs.Lanes
	}
	r.Risk = center + mean
	r.RiskError = student63 * math.Sqrt(max(0, square-mean*mean)/(gibbs.Lanes-1))
	e.checkBand(engine, r)
	if !gradient {
		return nil
	}
	per := n * gibbs.Lanes / groups
	w := &e.s.white
	tied, _ := tiedWindows(p) // 0 where positions differ
	var by [groups][]float64
	for g := range by {
		by[g] = make([]float64, tied)
	}
	for t, row := range r.RiskGradient {
		size := p.Sizes[t]
		for i := range row {
			q := e.before[t][i/size] * w.P[t][i]
			x, v := 0.0, 0.0
			for g := range sums {
				y := sums[g][t][i]/per - of[g]*q
				x += y / groups
				v += y * y / groups
				if t >= p.Order-1 && tied > 0 {
					by[g][i] += y
				}
			}
			row[i] = x
			half := student(groups-1) * math.Sqrt(max(0, v-x*x)/(groups-1))
			// Samples may all miss a window that is expected fewer than three times, and then
			// agree. Its gradient is q (E[L | window] - Risk).
			if p.Order > 1 && q < 3/(n*gibbs.Lanes) {
				half = max(half, q*spread+math.Abs(x))
			}
			r.RiskGradientError[t][i] = half
		}
	}
	for i := range tied {
		x, v := 0.0, 0.0
		for g := range by {
			x += by[g][i] / groups
		}
		for g := range by {
			v += (by[g][i] - x) * (by[g][i] - x) / groups
		}
		r.TiedRisk = append(r.TiedRisk, x)
		r.TiedRiskError = append(r.TiedRiskError, student(groups-1)*math.Sqrt(v/(groups-1)))
	}
	return nil
}
