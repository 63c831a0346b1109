package skpca

import (
	"math"
	"slices"
)

// Kappa is κ = 4(1 + √(ln(2p/δ)/2)) of theorem 7.4.
func Kappa(p int, delta float64) float64 {
	return 4 * (1 + math.Sqrt(math.Log(2*float64(p)/delta)/2))
}

// eta0 is e0 = (23/22)e⌈ln p⌉; for one kernel the printed form would be 0, and 1 is meant.
func eta0(p int) float64 {
	if p == 1 {
		return 1
	}
	return 23.0 / 22 * math.E * math.Ceil(math.Log(float64(p)))
}

// TransductiveBound is √(2Λ ln(2pm)/m), for projections from the labelled sample itself: lemma
// 7.3 without κ. The class of functions then depends on the sample, which theorem 7.5 does
// not cover.
func TransductiveBound(lambda float64, p, m int) float64 {
	return math.Sqrt(2 * lambda * math.Log(2*float64(p)*float64(m)) / float64(m))
}

// StatedBound is the bound of theorem 7.4 on the Rademacher complexity, for the gap Δ_r between the
// eigenvalues r and r+1. It is proved for one kernel only. For more, the gap that counts is that of
// the pooled spectrum, which vanishes on the borders of cells.
func StatedBound(lambda, nu, gap, delta float64, p, m int) float64 {
	kappa := Kappa(p, delta)
	return (math.Sqrt(2*(lambda+kappa)*math.Log(2*float64(p)*float64(m))) +
		8*kappa*nu/gap*math.Sqrt(eta0(p)/float64(m))) / math.Sqrt(float64(m))
}

// LowerBound is √(Λ/(2m)) of theorem 7.6: one kernel, Λ at most its first eigenvalue, and the
// projection from the sample itself.
func LowerBound(lambda float64, m int) float64 { return math.Sqrt(lambda / (2 * float64(m))) }

// IndependentBound bounds the Rademacher complexity on a labelled sample that the projections do
// not depend on, for any number of kernels. values are λ_kj, phi the first r features of
// the m labelled examples, by kernel.
//
// For counts c the supremum over w and μ is √(sup_μ Σ_k μ_k A_kc), where A_kc is Σ_{j≤c} (Σ_i σ_i
// φ_kj(x_i))². This is at most √(max_k A_kr) as Σμ ≤ 1, and at most √(Λ max A_kc/s_k(c)) by the
// Ky-Fan norm.
func IndependentBound(values, phi [][]float64, m, r int, lambda float64) (b1, b2 float64) {
	first, second, scale := 0.0, 0.0, 0.0
	for k, all := range values {
		squares, sum := 0.0, 0.0
		for j := range min(r, len(all)) {
			for i := range m {
				v := phi[k][i*len(all)+j]
				squares += v * v
			}
			sum += all[j]
			second = max(second, math.Sqrt(lambda*squares/sum))
			scale = max(scale, math.Sqrt(lambda/sum))
		}
		first = max(first, squares)
	}
	n, p := float64(m), float64(len(values))
	b1 = math.Sqrt(first)/n + math.Sqrt(2*math.Log(p)/n)
	b2 = second/n + scale*math.Sqrt(2*math.Log(p*float64(r))/n)
	return b1, b2
}

// Bounds is what the theory says of a fit with two classes.
type Bounds struct {
	Independent  bool      `json:"independent"` // the projections do not depend on the labelled rows
	Delta        float64   `json:"delta"`
	Lambda       float64   `json:"lambda"`
	B1           float64   `json:"b1"`
	B2           float64   `json:"b2"`
	Transductive float64   `json:"transductive"`
	Stated       float64   `json:"stated"` // 0 with nu infinite or no gap
	Gap          float64   `json:"gap"`    // plug-in estimate
	Lower        float64   `json:"lower"`  // 0 where it does not apply
	Rho          float64   `json:"rho"`    // margin of the least bound on the error
	MarginLoss   float64   `json:"margin_loss"`
	Risk         float64   `json:"risk"`
	Deciles      []float64 `json:"deciles"` // of the margins y h/‖w‖, from the least to the largest
}

// rhos are the margins among which the least bound is taken; the confidence is shared.
const rhos = 10

// boundsOf computes the bounds of a fit of one output, for the set that it is from.
func boundsOf(s *set, p *sample, f *fit, independent bool, delta float64) *Bounds {
	b := &Bounds{Independent: independent, Delta: delta, Lambda: s.lambda}
	kernels := len(s.values)
	most := 0.0
	for k := range s.values {
		most = max(most, s.partial(k, min(s.r, len(s.values[k]))))
	}
	b.Lambda = min(b.Lambda, most)
	b.B1, b.B2 = IndependentBound(s.values, p.phi, p.m, s.r, b.Lambda)
	b.Transductive = TransductiveBound(b.Lambda, kernels, p.m)
	b.Gap = math.Inf(1)
	for _, all := range s.values {
		inner, next := 0.0, 0.0
		if len(all) >= s.r {
			inner = all[s.r-1]
		}
		if len(all) > s.r {
			next = all[s.r]
		}
		b.Gap = min(b.Gap, inner-next)
	}
	if b.Gap > 0 && !math.IsInf(s.nu, 1) {
		b.Stated = StatedBound(b.Lambda, s.nu, b.Gap, delta, kernels, p.m)
	}
	if kernels == 1 && !independent && b.Lambda <= s.values[0][0] {
		b.Lower = LowerBound(b.Lambda, p.m)
	}
	rad := b.Transductive
	if independent {
		rad = min(b.B1, b.B2)
	}
	margins := p.margins(s.values, f)
	b.Deciles = deciles(margins)
	b.Risk = math.Inf(1)
	for i := range rhos {
		rho := math.Pow(2, -float64(i))
		loss := 0.0
		for _, v := range margins {
			loss += min(1, max(0, 1-v/rho)) / float64(len(margins))
		}
		if risk := loss + 2/rho*rad + 3*math.Sqrt(math.Log(2*rhos/delta)/(2*float64(p.m))); risk < b.Risk {
			b.Risk, b.Rho, b.MarginLoss = risk, rho, loss
		}
	}
	return b
}

// margins returns y h(x)/‖w‖ of the labelled examples.
func (s *sample) margins(values [][]float64, f *fit) []float64 {
	x := s.design(values, f.counts)
	d := len(x) / max(1, s.m)
	out := make([]float64, s.m)
	norm := math.Sqrt(f.norm)
	for i := range out {
		t := f.offset[0]
		for j, v := range f.theta[0] {
			t += v * x[i*d+j]
		}
		if norm > 0 {
			out[i] = s.y[0][i] * t / norm
		}
	}
	return out
}

// deciles returns eleven values: the least, the tenths between, and the largest.
func deciles(v []float64) []float64 {
	sorted := slices.Sorted(slices.Values(v))
	out := make([]float64, 11)
	for i := range out {
		out[i] = sorted[i*(len(sorted)-1)/10]
	}
	return out
}
