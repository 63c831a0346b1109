package structured

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
)

// Ratings are one person's ratings of some items: higher is better. Items are in ascending order,
// without repeats.
type Ratings struct {
	Item  []int32
	Value []float64
}

// ranks says what a pair of rated items counts: the difference of its ratings, or 1.
type ranks bool

const (
	byDifference ranks = false
	byOrder      ranks = true // Kendall's distance, by pairs
)

func (k ranks) of(d float64) float64 {
	if k == byDifference || d == 0 {
		return d
	}
	return math.Copysign(1, d)
}

// RankLoss returns the rank loss of scores (larger is ranked higher) against ratings. For each pair
// of rated items that the scores order wrongly it adds the difference of the ratings, and half of
// that for ties. total is the loss of the worst order, which normalises it: 0 is perfect, 1
// reversed, 1/2 an order at random. O(items²).
//
// This is Δ_rank of Ciliberto, Rudi, Rosasco, with the positive parts of the differences. The
// differences themselves give twice this less a constant of the truth, and the same orders.
func RankLoss(score []float64, r Ratings) (loss, total float64) {
	return rankLoss(score, r, byDifference)
}

func rankLoss(score []float64, r Ratings, count ranks) (loss, total float64) {
	for a, i := range r.Item {
		for b, j := range r.Item[:a] {
			d := count.of(r.Value[a] - r.Value[b]) // of i over j
			total += math.Abs(d)
			switch s := score[i] - score[j]; {
			case s == 0:
				loss += math.Abs(d) / 2
			case s > 0 != (d > 0):
				loss += math.Abs(d)
			}
		}
	}
	return loss, total
}

// OrderScores returns a score for each item of an order, best first: the number of items from
// it on. RankLoss takes scores, not positions.
func OrderScores(order []int) []float64 {
	s := make([]float64, len(order))
	for p, i := range order {
		s[i] = float64(len(order) - p)
	}
	return s
}

// FAS says how a minimum weighted feedback arc set is sought.
type FAS string

// The ways to seek it.
const (
	FASHeuristic FAS = "heuristic" // of Eades, Lin and Smyth
	FASSift      FAS = "sift"      // improved by moves of single items; the default
	FASExact     FAS = "exact"     // by dynamic programming over subsets of each component
)

// exactItems is the largest strongly connected component that is solved exactly: 2^20 subsets
// of 8 bytes.
const exactItems = 20

// MaxItems bounds the items of a Ranking: a decoding takes two matrices of items² float64.
const MaxItems = 8192

// Ranking decodes orders of items, best first, under RankLoss. The weights reduce to arcs i→j of
// weight N_ij = max(W_ij - W_ji, 0), W_ij = Σ_t α_t max(r_ti - r_tj, 0). The best order has the
// least sum of arcs that lead upwards, a minimum feedback arc set. Strongly connected components of
// up to 20 items are solved exactly by FASExact. Larger ones, and other methods, have a lower bound
// from disjoint cycles.
type Ranking struct {
	items  int
	truths []Ratings
	o      RankingOptions
	full   bool      // all rated all, and differences count
	spread []float64 // Σ |r_i - r_j| over pairs, by truth, where full
	scale  []float64 // of the loss, by truth; nil is 1
}

// RankingOptions adjusts NewRanking; nil is all defaults.
type RankingOptions struct {
	Method FAS // "" is FASSift
	// Kendall decodes KendallLoss in place of RankLoss.
	Kendall bool
	// Normal divides the loss by that of the worst order, truth by truth, as it is usually
	// reported: everybody then counts the same. Truths of equal ratings have no loss.
	Normal bool
}

// NewRanking takes the ratings of the training examples.
func NewRanking(truths []Ratings, items int, opts *RankingOptions) (*Ranking, error) {
	var o RankingOptions
	if opts != nil {
		o = *opts
	}
	if items < 1 || items > MaxItems || len(truths) == 0 {
		return nil, fmt.Errorf("%w: ratings of %d examples of %d items; there must be examples, and 1 to %d items",
			ErrOutputs, len(truths), items, MaxItems)
	}
	switch o.Method {
	case "":
		o.Method = FASSift
	case FASHeuristic, FASSift, FASExact:
	default:
		return nil, fmt.Errorf("structured: %q is none of %s, %s, %s", o.Method, FASHeuristic, FASSift, FASExact)
	}
	r := &Ranking{items: items, truths: truths, o: o, full: !o.Kendall}
	for t, y := range truths {
		if len(y.Item) != len(y.Value) {
			return nil, fmt.Errorf("%w: example %d has %d items and %d ratings", ErrOutputs, t+1,
				len(y.Item), len(y.Value))
		}
		for k, i := range y.Item {
			switch {
			case i < 0 || int(i) >= items || k > 0 && i <= y.Item[k-1]:
				return nil, fmt.Errorf("%w: example %d rates item %d of %d, out of range or out of order",
					ErrOutputs, t+1, i+1, items)
			case y.Value[k]-y.Value[k] != 0:
				return nil, fmt.Errorf("%w: example %d rates item %d %v", ErrOutputs, t+1, i+1, y.Value[k])
			}
		}
		r.full = r.full && len(y.Item) == items
	}
	if o.Normal {
		for _, y := range truths {
			scale := 0.0
			if _, total := r.LossOf(make([]float64, items), y); total > 0 {
				scale = 1 / total
			}
			r.scale = append(r.scale, scale)
		}
	}
	if r.full {
		for _, y := range truths {
			_, total := RankLoss(make([]float64, items), y)
			r.spread = append(r.spread, total)
		}
	}
	return r, nil
}

// Len implements Decoder.
func (r *Ranking) Len() int { return len(r.truths) }

// Items returns the number of items.
func (r *Ranking) Items() int { return r.items }

// Loss is the loss of an order, best first, that is decoded.
func (r *Ranking) Loss(order []int, truth Ratings) float64 {
	return r.lossOf(OrderScores(order), truth)
}

func (r *Ranking) lossOf(score []float64, truth Ratings) float64 {
	loss, total := r.LossOf(score, truth)
	if r.o.Normal && total > 0 {
		loss /= total
	}
	return loss
}

// LossOf is the loss of scores, not normalised, and that of the worst order.
func (r *Ranking) LossOf(score []float64, truth Ratings) (loss, total float64) {
	return rankLoss(score, truth, ranks(r.o.Kendall))
}

// Decode implements Decoder: O(Σ rated² + items²), times the sweeps of sifting. Where all rated
// all items it sorts, exactly, in O(n·items).
func (r *Ranking) Decode(ctx context.Context, alpha []float64) (Decoded[[]int], error) {
	if err := check(alpha, len(r.truths)); err != nil {
		return Decoded[[]int]{}, err
	}
	if r.full {
		return r.sorted(r.scaled(alpha)), nil
	}
	w := r.Pairs(alpha)
	m := r.items
	g := newArcs(w, m)
	d := Decoded[[]int]{Margin: math.NaN()}
	scale := norm1(w)
	base := 0.0
	for i := range m {
		for j := range i {
			base += min(w[i*m+j], w[j*m+i])
		}
	}
	order, bound, sweeps, err := g.solve(ctx, r.o.Method)
	if err != nil {
		return Decoded[[]int]{}, err
	}
	d.Output, d.Steps = order, sweeps
	for a, i := range order {
		for _, j := range order[a+1:] {
			d.Value += w[j*m+i]
		}
	}
	d.LowerBound = base + bound
	d.settle(scale, ExactOverSpace)
	return d, nil
}

// Pairs returns W, items by items: W_ij = Σ_t α_t max(r_ti - r_tj, 0), the cost of j above i.
// Under the Kendall loss positive differences count 1.
func (r *Ranking) Pairs(alpha []float64) []float64 {
	m := r.items
	w := make([]float64, m*m)
	for t, a := range r.scaled(alpha) {
		if a == 0 {
			continue
		}
		y := &r.truths[t]
		for p, i := range y.Item {
			for q, j := range y.Item[:p] {
				switch d := ranks(r.o.Kendall).of(y.Value[p] - y.Value[q]); {
				case d > 0:
					w[int(i)*m+int(j)] += a * d
				case d < 0:
					w[int(j)*m+int(i)] -= a * d
				}
			}
		}
	}
	return w
}

// scaled are the weights times the scales of the losses.
func (r *Ranking) scaled(alpha []float64) []float64 {
	if r.scale == nil {
		return alpha
	}
	out := make([]float64, len(alpha))
	for t, a := range alpha {
		out[t] = a * r.scale[t]
	}
	return out
}

// sorted decodes where W_ij - W_ji = s_i - s_j.
func (r *Ranking) sorted(alpha []float64) Decoded[[]int] {
	s, spread := make([]float64, r.items), 0.0
	for t, a := range alpha {
		spread += a * r.spread[t]
		for i, v := range r.truths[t].Value {
			s[i] += a * v
		}
	}
	d := Decoded[[]int]{Output: make([]int, r.items), Exact: ExactOverSpace, Margin: math.Inf(1)}
	for i := range d.Output {
		d.Output[i] = i
	}
	slices.SortStableFunc(d.Output, func(a, b int) int { return cmp.Compare(s[b], s[a]) })
	signed := 0.0 // Σ over i below j of s_i - s_j
	for p, i := range d.Output {
		signed += float64(2*p-(r.items-1)) * s[i]
		if p > 0 {
			d.Margin = math.Min(d.Margin, s[d.Output[p-1]]-s[i])
		}
	}
	d.Value = (signed + spread) / 2
	d.LowerBound = d.Value
	return d
}
