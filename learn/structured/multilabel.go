package structured

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/run"
)

// Hamming decodes sets of labels under Σ_l w_l 1[y_l ≠ y'_l]. Exact.
type Hamming struct {
	labels int
	truths [][]bool
	weight []float64
	most   int
}

// NewHamming takes the labels of the training examples, positive weights of labels (nil is all 1),
// and the most labels of a prediction (0 is any).
func NewHamming(truths [][]bool, weight []float64, most int) (*Hamming, error) {
	l, err := labels(truths)
	if err != nil {
		return nil, err
	}
	if weight != nil && len(weight) != l {
		return nil, fmt.Errorf("structured: %d weights of %d labels", len(weight), l)
	}
	for k, w := range weight {
		if !(w > 0) || math.IsInf(w, 1) {
			return nil, fmt.Errorf("structured: the weight of label %d is %v; it must be positive", k+1, w)
		}
	}
	if most < 0 {
		return nil, fmt.Errorf("structured: at most %d labels", most)
	}
	if most == 0 {
		most = l
	}
	return &Hamming{l, truths, weight, most}, nil
}

// labels returns the number of labels, which all rows must have.
func labels(truths [][]bool) (int, error) {
	if len(truths) == 0 || len(truths[0]) == 0 {
		return 0, fmt.Errorf("%w: no example, or no label", ErrOutputs)
	}
	for i, y := range truths {
		if len(y) != len(truths[0]) {
			return 0, fmt.Errorf("%w: example %d has %d labels, the first %d", ErrOutputs, i+1, len(y), len(truths[0]))
		}
	}
	return len(truths[0]), nil
}

// Len implements Decoder.
func (h *Hamming) Len() int { return len(h.truths) }

// Loss is the loss that is decoded.
func (h *Hamming) Loss(prediction, truth []bool) float64 {
	f := 0.0
	for l, on := range prediction {
		if on != truth[l] {
			f += h.at(l)
		}
	}
	return f
}

func (h *Hamming) at(l int) float64 {
	if h.weight == nil {
		return 1
	}
	return h.weight[l]
}

// Decode implements Decoder: a label is on where Σ_i α_i (2y_il - 1) is positive; where too
// many are, those of the largest weighted sums. O(n·labels).
func (h *Hamming) Decode(_ context.Context, alpha []float64) (Decoded[[]bool], error) {
	if err := check(alpha, len(h.truths)); err != nil {
		return Decoded[[]bool]{}, err
	}
	on, off := make([]float64, h.labels), make([]float64, h.labels) // Σα with the label, without it
	for i, a := range alpha {
		for l, y := range h.truths[i] {
			if y {
				on[l] += a
			} else {
				off[l] += a
			}
		}
	}
	y := make([]bool, h.labels)
	var chosen []int
	for l := range y {
		if on[l] > off[l] {
			chosen = append(chosen, l)
		}
	}
	slices.SortStableFunc(chosen, func(a, b int) int {
		return cmp.Compare(h.at(b)*(on[b]-off[b]), h.at(a)*(on[a]-off[a]))
	})
	for _, l := range chosen[:min(len(chosen), h.most)] {
		y[l] = true
	}
	d := Decoded[[]bool]{Output: y, Exact: ExactOverSpace, Margin: math.Inf(1)}
	for l := range y {
		d.Margin = math.Min(d.Margin, h.at(l)*math.Abs(on[l]-off[l]))
		if y[l] {
			d.Value += h.at(l) * off[l]
		} else {
			d.Value += h.at(l) * on[l]
		}
	}
	if len(chosen) > h.most {
		d.Margin = math.NaN()
	}
	d.LowerBound = d.Value
	return d, nil
}

// SetLoss is a loss of sets that depends only on |y ∧ y'|, |y| and |y'|.
type SetLoss struct {
	Name  string
	Value func(both, prediction, truth int) float64
	// Linear says that for sets of fixed sizes the loss is linear in |y ∧ y'|, so that it is
	// decoded exactly.
	Linear bool
}

func ratio(a, b int, empty float64) float64 {
	if b == 0 {
		return empty
	}
	return float64(a) / float64(b)
}

// Losses of sets. Against an empty truth the empty set has the loss 0 in all of them.
var (
	F1        = SetLoss{"f1", func(both, p, t int) float64 { return 1 - ratio(2*both, p+t, 1) }, true}
	Precision = SetLoss{"precision", func(both, p, t int) float64 {
		if p == 0 {
			return min(1, float64(t))
		}
		return 1 - ratio(both, p, 1)
	}, true}
	Recall  = SetLoss{"recall", func(both, p, t int) float64 { return 1 - ratio(both, t, 1) }, true}
	Jaccard = SetLoss{"jaccard", func(both, p, t int) float64 { return 1 - ratio(both, p+t-both, 1) }, false}
)

// Of returns the loss of two sets of labels.
func (s SetLoss) Of(prediction, truth []bool) float64 {
	both, p, t := 0, 0, 0
	for l, on := range prediction {
		if on {
			p++
			if truth[l] {
				both++
			}
		}
	}
	for _, on := range truth {
		if on {
			t++
		}
	}
	return s.Value(both, p, t)
}

// Sets decodes sets of labels under a SetLoss. Linear losses are exact: for each size of the
// prediction the loss is a constant less a sum over its labels. The largest terms are taken, and
// the best of all sizes is kept. Other losses are heuristic: a search flips labels, starting from
// the training outputs of lowest F.
type Sets struct {
	labels int
	truths [][]bool
	size   []int
	loss   SetLoss
}

// NewSets takes the labels of the training examples.
func NewSets(truths [][]bool, loss SetLoss) (*Sets, error) {
	l, err := labels(truths)
	if err != nil {
		return nil, err
	}
	s := &Sets{labels: l, truths: truths, loss: loss}
	for _, y := range truths {
		n := 0
		for _, on := range y {
			if on {
				n++
			}
		}
		s.size = append(s.size, n)
	}
	return s, nil
}

// Len implements Decoder.
func (s *Sets) Len() int { return len(s.truths) }

// Loss is the loss that is decoded.
func (s *Sets) Loss(prediction, truth []bool) float64 { return s.loss.Of(prediction, truth) }

// Decode implements Decoder. A linear loss takes O(n·labels + labels³), since truths of one
// size are added up first; a search O(n·labels²) a sweep.
func (s *Sets) Decode(ctx context.Context, alpha []float64) (Decoded[[]bool], error) {
	if err := check(alpha, len(s.truths)); err != nil {
		return Decoded[[]bool]{}, err
	}
	if !s.loss.Linear {
		return s.search(ctx, alpha)
	}
	// By size t of the truth: Σα, and Σα of the truths that have the label.
	mass, with := make([]float64, s.labels+1), make([]float64, (s.labels+1)*s.labels)
	for i, a := range alpha {
		t := s.size[i]
		mass[t] += a
		if a == 0 {
			continue
		}
		row := with[t*s.labels:][:s.labels]
		for l, on := range s.truths[i] {
			if on {
				row[l] += a
			}
		}
	}
	best, order, gain := Decoded[[]bool]{Value: math.Inf(1)}, make([]int, s.labels), make([]float64, s.labels)
	var chosen []int
	for p := range s.labels + 1 {
		f := 0.0
		clear(gain)
		for t, m := range mass {
			f += m * s.loss.Value(0, p, t)
			if p == 0 || t == 0 {
				continue
			}
			step := s.loss.Value(1, p, t) - s.loss.Value(0, p, t)
			for l, a := range with[t*s.labels:][:s.labels] {
				gain[l] += a * step
			}
		}
		for l := range order {
			order[l] = l
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(gain[a], gain[b]) })
		for _, l := range order[:p] {
			f += gain[l]
		}
		if f < best.Value {
			best.Value, chosen = f, slices.Clone(order[:p])
		}
	}
	best.Output = make([]bool, s.labels)
	for _, l := range chosen {
		best.Output[l] = true
	}
	best.LowerBound, best.Margin, best.Exact = best.Value, math.NaN(), ExactOverSpace
	return best, nil
}

// starts is how many of the best training outputs a local search begins at.
const starts = 5

// search flips labels of the best training outputs as long as F falls.
func (s *Sets) search(ctx context.Context, alpha []float64) (Decoded[[]bool], error) {
	used := support(alpha)
	both, size := make([]int, len(used)), 0
	value := func(l int, delta int) float64 { // of the set at hand, after label l was flipped
		f := 0.0
		for k, i := range used {
			b := both[k]
			if l >= 0 && s.truths[i][l] {
				b += delta
			}
			f += alpha[i] * s.loss.Value(b, size+delta, s.size[i])
		}
		return f
	}
	var from [][]bool
	for _, i := range bestOf(
		used, starts, func(i int) float64 { return Risk(s.loss.Of, s.truths[i], s.truths, alpha) }) {
		from = append(from, s.truths[i])
	}
	from = append(from, make([]bool, s.labels))
	best := Decoded[[]bool]{Value: math.Inf(1), LowerBound: math.Inf(-1), Margin: math.NaN(), Exact: Heuristic}
	for _, y := range from {
		y = slices.Clone(y)
		size = 0
		clear(both)
		for l, on := range y {
			if on {
				size++
				for k, i := range used {
					if s.truths[i][l] {
						both[k]++
					}
				}
			}
		}
		f := value(-1, 0)
		for again := true; again; {
			again = false
			if ctx.Err() != nil {
				return best, &run.InterruptedError{Name: "structured", Err: context.Cause(ctx)}
			}
			for l := range y {
				delta := 1
				if y[l] {
					delta = -1
				}
				if g := value(l, delta); g < f-1e-12*math.Abs(f) {
					f, y[l], again = g, !y[l], true
					size += delta
					for k, i := range used {
						if s.truths[i][l] {
							both[k] += delta
						}
					}
				}
			}
			best.Steps++
		}
		if f < best.Value {
			best.Value, best.Output = f, y
		}
	}
	return best, nil
}

// bestOf returns up to n of the items with the lowest values, in order. Each value is
// computed once.
func bestOf(items []int, n int, value func(i int) float64) []int {
	type valued struct {
		item  int
		value float64
	}
	all := make([]valued, len(items))
	for k, i := range items {
		all[k] = valued{i, value(i)}
	}
	slices.SortStableFunc(all, func(a, b valued) int { return cmp.Compare(a.value, b.value) })
	out := make([]int, min(n, len(all)))
	for k := range out {
		out[k] = all[k].item
	}
	return out
}
