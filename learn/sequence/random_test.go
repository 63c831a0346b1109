package sequence

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/losses"
)

// randomExamples draws sequences of up to 5 positions with up to 4 attributes.
func randomExamples(rng *rand.Rand, n, labels int, valued bool) []Example {
	out := make([]Example, n)
	for i := range out {
		e := &out[i]
		for range rng.IntN(6) {
			var attributes []Attribute
			for range rng.IntN(5) {
				v := 1.0
				if valued {
					v = rng.NormFloat64()
				}
				attributes = append(attributes, Attribute{Name: fmt.Sprintf("a%d", rng.IntN(6)), Value: v})
			}
			e.Attributes = append(e.Attributes, attributes)
			e.Columns = append(e.Columns, []string{fmt.Sprintf("w%d", rng.IntN(3)), fmt.Sprint(rng.NormFloat64())})
			e.Labels = append(e.Labels, fmt.Sprintf("y%d", rng.IntN(labels)))
		}
	}
	out[0] = Example{} // no positions at all
	return out
}

func templates(t testing.TB, lines ...string) []*Template {
	var out []*Template
	for _, s := range lines {
		p, err := ParseTemplate(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// setting is one way of training, small enough to enumerate.
type setting struct {
	name string
	opts TrainOptions
}

func settings(t testing.TB) []setting {
	pair := templates(t, "U0:%x[-1,0]", "B0:%x[0,0]", "B1:%x[-1,0]%v[0,1]", "B")
	edit := losses.Unit
	bigrams := losses.NGram{N: 2, C: 1}
	var out []setting
	for order := 1; order <= 3; order++ {
		for _, observed := range []bool{false, true} {
			add := func(name string, o TrainOptions) {
				o.Order, o.Observed, o.L2 = order, observed, 0.3
				out = append(out, setting{fmt.Sprintf("%s/order=%d/observed=%v", name, order, observed), o})
			}
			add("cross-entropy", TrainOptions{})
			add("hamming margin", TrainOptions{Kind: SoftmaxMargin, Gamma: 1.5})
			add("reward", TrainOptions{Kind: SoftmaxMargin, Gamma: -0.7})
			add("edit margin", TrainOptions{Kind: SoftmaxMargin, Loss: edit})
			add("bigram margin", TrainOptions{Kind: SoftmaxMargin, Loss: bigrams, Gamma: 0.5})
			add("max-margin", TrainOptions{Kind: MaxMargin})
			add("edit max-margin", TrainOptions{Kind: MaxMargin, Loss: edit, Gamma: 2})
			add("smoothed", TrainOptions{Kind: MaxMargin, Beta: 2})
			add("edit smoothed", TrainOptions{Kind: MaxMargin, Beta: 3, Loss: edit})
			add("hamming risk", TrainOptions{Kind: Risk})
			add("edit risk", TrainOptions{Kind: Risk, Loss: edit})
			if order >= 2 && !observed {
				add("pairs", TrainOptions{Templates: pair})
				add("pairs and margin", TrainOptions{Templates: pair, Kind: SoftmaxMargin})
				add("pairs and max-margin", TrainOptions{Templates: pair, Kind: MaxMargin, Loss: edit})
				add("pairs and risk", TrainOptions{Templates: pair, Kind: Risk})
			}
		}
	}
	return out
}

// scoreOf is θ(u) of sequence i, from the weights and the definition alone.
func scoreOf(m *Model, c *corpus, w []float64, i int, u []int) float64 {
	l := m.layout
	d := l.labels
	score := 0.0
	for t := range u {
		p := c.start[i] + t
		ids, values := c.single.row(p)
		for k, a := range ids {
			v := 1.0
			if values != nil {
				v = values[k]
			}
			from, to := l.row(int(a))
			for at := from; at < to; at++ {
				y := at - from
				if l.ptr != nil {
					y = int(l.seen[at])
				}
				if y == u[t] {
					score += v * w[at]
				}
			}
		}
		score += w[l.at1+u[t]]
		if l.order >= 2 && t >= 1 {
			score += w[l.at2+u[t-1]*d+u[t]]
			ids, values := c.pair.row(p)
			for k, a := range ids {
				v := 1.0
				if values != nil {
					v = values[k]
				}
				from, _ := l.pairRow(int(a))
				score += v * w[from+u[t-1]*d+u[t]]
			}
		}
		if l.order >= 3 && t >= 2 {
			score += w[l.at3+(u[t-2]*d+u[t-1])*d+u[t]]
		}
	}
	return score
}

// all calls f with every label sequence of length n.
func all(n, d int, f func(u []int)) {
	u := make([]int, n)
	for {
		f(u)
		k := n - 1
		for k >= 0 && u[k] == d-1 {
			u[k] = 0
			k--
		}
		if k < 0 {
			return
		}
		u[k]++
	}
}

// lossBy is L(u, y) by definition.
func lossBy(t testing.TB, loss losses.Loss, u, y []int, labels int) float64 {
	if loss == nil {
		n := 0.0
		for i := range u {
			if u[i] != y[i] {
				n++
			}
		}
		return n
	}
	m, err := loss.Machine(y, labels, len(u))
	if err != nil {
		t.Fatal(err)
	}
	return m.Loss(u)
}

// enumerated is the training objective by its definition.
func enumerated(t testing.TB, m *Model, c *corpus, o *TrainOptions, w []float64) float64 {
	total := 0.0
	for i := range c.sequences() {
		n := c.start[i+1] - c.start[i]
		if n == 0 {
			continue
		}
		y := make([]int, n)
		for k := range y {
			y[k] = int(c.labels[c.start[i]+k])
		}
		beta, gamma := 1.0, o.Gamma
		if o.Kind == MaxMargin && o.Beta > 0 {
			beta = o.Beta
		}
		if o.Kind == CrossEntropy {
			gamma = 0
		}
		var scores, risks []float64
		all(n, len(m.labels), func(u []int) {
			l := lossBy(t, o.Loss, u, y, len(m.labels))
			s := scoreOf(m, c, w, i, u)
			if o.Kind == Risk {
				scores, risks = append(scores, s), append(risks, l)
			} else {
				scores = append(scores, beta*(s+gamma*l))
			}
		})
		reference := scoreOf(m, c, w, i, y)
		z := logSum(scores)
		switch {
		case o.Kind == Risk:
			for k, s := range scores {
				total += math.Exp(s-z) * risks[k]
			}
		case o.Kind == MaxMargin && o.Beta == 0:
			best := math.Inf(-1)
			for _, s := range scores {
				best = math.Max(best, s)
			}
			total += best - reference
		default:
			total += z/beta - reference
		}
	}
	for _, v := range w {
		total += o.L2 / 2 * v * v
	}
	return total
}
