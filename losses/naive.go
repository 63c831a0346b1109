package losses

import (
	"errors"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/losses/internal/sweep"
)

// Naive computes what Eval does by enumerating all strings: GRAD-NAIVE of the
// thesis, the baseline that the other methods are compared with. loss gives
// L(u), +Inf for an excluded u; it must not keep u. direction is V of WantHVP and
// WantRiskHVP.
//
// Cost: the product of all label counts times the cost of loss. Of equally
// good strings the lexicographically first is the best. With an error r is cleared, as Eval does.
func Naive(loss func(u []int) float64, p *Potentials, gamma float64, want Want, direction [][]float64,
	r *Result) error {
	if r == nil {
		return errors.New("losses: Naive: the result is nil; give a *Result to fill")
	}
	err := naive(loss, p, gamma, want, direction, r)
	if err != nil {
		r.reset()
	}
	return err
}

// naive is Naive, which may leave what it has come to in r with an error.
func naive(loss func(u []int) float64, p *Potentials, gamma float64, want Want, direction [][]float64,
	r *Result) error {
	if math.IsNaN(gamma) || math.IsInf(gamma, 0) {
		return fmt.Errorf("losses: γ is %v", gamma)
	}
	var w sweep.Whitening
	if err := p.check(&w); err != nil {
		return err
	}
	if want&(WantHVP|WantRiskHVP) != 0 {
		if err := checkShapeOf(direction, p); err != nil {
			return err
		}
	}
	r.clear()
	l := len(p.Sizes)
	aug, plain := &tally{}, &tally{}
	if want&WantMarginals != 0 || want&WantHVP != 0 {
		aug.window = shapeLike(nil, p)
	}
	if want&WantHVP != 0 {
		aug.product = shapeLike(nil, p)
	}
	if want&WantRiskGradient != 0 {
		plain.window, plain.product = shapeLike(nil, p), shapeLike(nil, p)
	}
	var along3 [3]*tally // of the plain distribution: for F = L, V, L V
	if want&WantRiskHVP != 0 {
		for i := range along3 {
			along3[i] = &tally{window: shapeLike(nil, p), product: shapeLike(nil, p)}
			along3[i].clear()
		}
	}
	needPlain := want&(WantPlain|WantRisk|WantRiskGradient|WantViterbi) != 0
	aug.clear()
	plain.clear()

	u := make([]int, l)
	at := make([]int, l)          // window indices of u
	score := make([]float64, l+1) // θ of the prefixes
	along := make([]float64, l+1) // V of the prefixes
	for t := range u {
		if p.Sizes[t] == 0 {
			r.Marginals, r.RiskGradient, r.HVP = aug.window, plain.product, aug.product
			if want&WantRiskHVP != 0 {
				r.RiskHVP = along3[0].product
			}
			r.nothing()
			return nil
		}
	}
	for t := 0; ; {
		// u has a new label at t; complete it with the first labels.
		for ; t < l; t++ {
			at[t] = p.Window(u, t)
			score[t+1] = score[t] + p.Theta[t][at[t]]
			if want&(WantHVP|WantRiskHVP) != 0 {
				along[t+1] = along[t] + direction[t][at[t]]
			}
		}
		if theta := score[l]; !math.IsInf(theta, -1) {
			if x := loss(u); !math.IsInf(x, 1) {
				aug.add(theta+gamma*x, x, along[l], at, u)
				if needPlain {
					plain.add(theta, x, x, at, u)
				}
				if want&WantRiskHVP != 0 {
					for i, f := range [3]float64{x, along[l], x * along[l]} {
						along3[i].add(theta, x, f, at, u)
					}
				}
			}
		}
		for t = l - 1; t >= 0; t-- {
			if u[t]++; u[t] < p.Sizes[t] {
				break
			}
			u[t] = 0
		}
		if t < 0 {
			break
		}
	}
	r.LogZ, r.Expected = aug.logSum(), aug.loss/aug.sum
	r.MaxAug, r.ArgmaxAug, r.MaxAugGap = aug.best, append(r.ArgmaxAug[:0], aug.arg...), aug.best-aug.second
	if needPlain {
		r.LogZ0, r.Risk = plain.logSum(), plain.loss/plain.sum
		r.MaxScore, r.Viterbi, r.MaxScoreGap = plain.best, append(r.Viterbi[:0],
			plain.arg...), plain.best-plain.second
	}
	aug.finish()
	plain.finish()
	r.Marginals, r.HVP, r.RiskGradient = aug.window, aug.product, plain.product
	if want&WantRiskHVP != 0 {
		r.RiskHVP = thirdCumulants(along3)
	}
	if math.IsInf(r.LogZ, -1) {
		r.nothing()
		if aug.lost {
			return fmt.Errorf("losses: γ = %v times the losses: %w", gamma, ErrRange)
		}
		return nil
	}
	return (&Machine{}).certain(gamma, r.LogZ)
}

// tally sums e^score, with the greatest score so far taken out.
type tally struct {
	top             float64
	sum, loss, f    float64 // Σ e, Σ e·L, Σ e·F
	window, product [][]float64
	best, second    float64
	arg             []int
	lost            bool // some score was beyond the range of float64
}

func (a *tally) clear() {
	a.top, a.best, a.second = math.Inf(-1), math.Inf(-1), math.Inf(-1)
	sweep.ClearRows(a.window)
	sweep.ClearRows(a.product)
}

func (a *tally) add(score, loss, f float64, at, u []int) {
	if math.IsInf(score, -1) {
		a.lost = true // γ L overflowed: no share of any sum
		return
	}
	switch {
	case score > a.best:
		a.best, a.second = score, a.best
		a.arg = append(a.arg[:0], u...)
	case score > a.second:
		a.second = score
	}
	if score > a.top {
		s := math.Exp(a.top - score)
		a.sum, a.loss, a.f = a.sum*s, a.loss*s, a.f*s
		for _, rows := range [][][]float64{a.window, a.product} {
			for _, row := range rows {
				for i := range row {
					row[i] *= s
				}
			}
		}
		a.top = score
	}
	e := math.Exp(score - a.top)
	a.sum += e
	a.loss += e * loss
	a.f += e * f
	for t, row := range a.window {
		row[at[t]] += e
	}
	for t, row := range a.product {
		row[at[t]] += e * f
	}
}

func (a *tally) logSum() float64 { return a.top + math.Log(a.sum) }

// finish divides by the sum, and turns products into covariances.
func (a *tally) finish() {
	if a.sum == 0 {
		return
	}
	for t, row := range a.window {
		for i := range row {
			row[i] /= a.sum
			if a.product != nil {
				a.product[t][i] = a.product[t][i]/a.sum - row[i]*(a.f/a.sum)
			}
		}
	}
}

// thirdCumulants returns those of L, V and each window, from tallies for F = L, V and L V.
func thirdCumulants(of [3]*tally) [][]float64 {
	l, v, lv := of[0], of[1], of[2]
	for _, a := range of {
		a.finish()
	}
	if lv.sum == 0 {
		return lv.product
	}
	meanL, meanV := l.f/l.sum, v.f/v.sum
	for t, row := range lv.product {
		for i := range row {
			row[i] -= meanL*v.product[t][i] + meanV*l.product[t][i]
		}
	}
	return lv.product
}
