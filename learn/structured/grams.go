package structured

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/semiring"
)

// GramLoss compares the counts φ of n-grams of two strings.
type GramLoss string

// The losses of counts.
const (
	GramProduct GramLoss = "product" // -φ(y)·φ(y'): exact by one shortest path, and fond of long strings
	GramSquared GramLoss = "squared" // |φ(y) - φ(y')|²
	GramCosine  GramLoss = "cosine"  // 2 - 2 cos(φ(y), φ(y')); a string without n-grams is orthogonal to all
)

// GramStrings decodes strings of a lattice under a loss of n-gram counts. F depends on the training
// outputs only through v = Σ_i α_i φ(y_i).
//
// The product is additive over arcs of the lattice with histories of n-1 symbols: exact. The
// squared distance is bounded by linear functions for Σα > 0, tightened by subgradient steps;
// cosines are bounded by the least norm. Both then enumerate strings by the bound until
// nothing better can come.
type GramStrings struct {
	n      int
	loss   GramLoss
	truths [][]int
	grams  []map[string]float64
	o      StringOptions
}

// NewGramStrings takes the strings of the training examples. Budget and Bytes of the options
// bound the strings tried and the memory.
func NewGramStrings(truths [][]int, n int, loss GramLoss, opts *StringOptions) (*GramStrings, error) {
	if len(truths) == 0 || n < 1 || !slices.Contains([]GramLoss{GramProduct, GramSquared, GramCosine}, loss) {
		return nil, fmt.Errorf("%w: %d strings, n-grams of %d symbols, loss %q", ErrOutputs, len(truths), n, loss)
	}
	g := &GramStrings{n: n, loss: loss, truths: truths}
	if opts != nil {
		g.o = *opts
	}
	if g.o.Budget == 0 {
		g.o.Budget = 20000
	}
	if g.o.Bytes == 0 {
		g.o.Bytes = 256 << 20
	}
	for _, y := range truths {
		g.grams = append(g.grams, g.count(y))
	}
	return g, nil
}

func (g *GramStrings) count(y []int) map[string]float64 {
	c := map[string]float64{}
	var key []byte
	for i := g.n; i <= len(y); i++ {
		key = appendSymbols(key[:0], y[i-g.n:i])
		c[string(key)]++
	}
	return c
}

func dot(a, b map[string]float64) float64 {
	if len(b) < len(a) {
		a, b = b, a
	}
	s := 0.0 // counts are whole numbers, or one side is: sums of them in any order differ by rounding
	for _, k := range keysOf(a) {
		s += a[k] * b[k]
	}
	return s
}

// keysOf returns the keys in order, so that sums have the same bits every time.
func keysOf(a map[string]float64) []string {
	keys := make([]string, 0, len(a))
	for k := range a {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Len returns the number of training outputs.
func (g *GramStrings) Len() int { return len(g.truths) }

// Loss is the loss that is decoded.
func (g *GramStrings) Loss(prediction, truth []int) float64 {
	return g.between(g.count(prediction), g.count(truth))
}

func (g *GramStrings) between(p, t map[string]float64) float64 {
	both := dot(p, t)
	switch g.loss {
	case GramProduct:
		return -both
	case GramSquared:
		return dot(p, p) - 2*both + dot(t, t)
	}
	if both == 0 {
		return 2
	}
	return 2 - 2*both/math.Sqrt(dot(p, p)*dot(t, t))
}

// Among is a decoder of strings of one lattice.
func (g *GramStrings) Among(l *Lattice) Decoder[[]int] { return &gramsAmong{g, l} }

type gramsAmong struct {
	*GramStrings
	lattice *Lattice
}

// Decode implements Decoder.
func (a *gramsAmong) Decode(ctx context.Context, alpha []float64) (Decoded[[]int], error) {
	return a.DecodeIn(ctx, a.lattice, alpha)
}

// DecodeIn finds the string of a lattice with the least F. Of the product it takes
// O(arcs·histories).
func (g *GramStrings) DecodeIn(ctx context.Context, l *Lattice, alpha []float64) (Decoded[[]int], error) {
	d := Decoded[[]int]{Value: math.Inf(1), LowerBound: math.Inf(-1), Margin: math.NaN()}
	if err := check(alpha, len(g.truths)); err != nil {
		return d, err
	}
	total, constant, scale := 0.0, 0.0, 0.0 // Σα; terms without y; size
	v := map[string]float64{}
	for i, a := range alpha {
		if a == 0 {
			continue
		}
		t, norm := g.grams[i], dot(g.grams[i], g.grams[i])
		total += a
		scale += math.Abs(a) * (1 + norm)
		switch {
		case g.loss == GramSquared:
			constant += a * norm
		case g.loss == GramCosine && norm > 0:
			a /= math.Sqrt(norm)
		}
		for k, c := range t { // each key once: the order does not matter
			v[k] += a * c
		}
	}
	value := func(y []int) float64 {
		c := g.count(y)
		switch g.loss {
		case GramProduct:
			return -dot(c, v)
		case GramSquared:
			return total*dot(c, c) - 2*dot(c, v) + constant
		}
		if norm := dot(c, c); norm > 0 {
			return 2*total - 2*dot(c, v)/math.Sqrt(norm)
		}
		return 2 * total
	}
	finish := func(err error) (Decoded[[]int], error) {
		switch {
		case ctx.Err() != nil:
			return d, &run.InterruptedError{Name: "structured", Steps: d.Steps, Err: context.Cause(ctx)}
		case err != nil:
			return d, err
		}
		d.settle(scale, l.exactness())
		return d, nil
	}
	linear := func(gain func(gram string) float64) (*fst.Vector[semiring.Tropical64], error) {
		return g.unfold(l, gain)
	}
	switch g.loss {
	case GramProduct:
		b, err := linear(func(k string) float64 { return -v[k] })
		if err != nil {
			return d, err
		}
		y, _, err := shortest(b)
		if err != nil {
			return d, err
		}
		d.Output, d.Value = y, value(y)
		d.LowerBound = d.Value
		return finish(nil)
	case GramCosine:
		b, err := linear(func(k string) float64 { return -v[k] })
		if err != nil {
			return d, err
		}
		// |φ(y)|² is at least the number of n-grams of y.
		short, _ := l.Lengths()
		least := math.Sqrt(float64(max(1, short-g.n+1)))
		bound := func(f float64) float64 { return 2*total + math.Min(0, 2*f/least) }
		return finish(rescore(ctx, b, g.o.Budget, g.o.Bytes, bound, value, &d))
	}
	if total < 0 {
		// Concave in φ: no linear bound from below. |φ|² is at most the square of the number
		// of n-grams.
		b, err := linear(func(k string) float64 { return -2 * v[k] })
		if err != nil {
			return d, err
		}
		_, long := l.Lengths()
		most := float64(max(0, long-g.n+1))
		bound := func(f float64) float64 { return f + total*most*most + constant }
		return finish(rescore(ctx, b, g.o.Budget, g.o.Bytes, bound, value, &d))
	}
	// F(y) ≥ φ(y)·(2A c - 2v) - A|c|² + constant for every c, with equality at c = φ(y).
	c, best := map[string]float64{}, math.Inf(-1)
	var bestC map[string]float64
	for step := range gramSteps {
		if ctx.Err() != nil {
			break
		}
		b, err := linear(func(k string) float64 { return 2*total*c[k] - 2*v[k] })
		if err != nil {
			return d, err
		}
		y, f, err := shortest(b)
		if err != nil {
			return d, err
		}
		if low := f - total*dot(c, c) + constant; low > best {
			best, bestC = low, c
		}
		offer(&d, y, value(y))
		if total == 0 || d.Value-best <= 1e-9*scale {
			break
		}
		// The subgradient of the bound at c points to φ of the path found.
		next := map[string]float64{}
		t := 1 / float64(step+1)
		phi := g.count(y)
		for k, x := range c {
			next[k] += (1 - t) * x
		}
		for k, x := range phi {
			next[k] += t * x
		}
		c = next
	}
	d.LowerBound = math.Min(best, d.Value)
	if ctx.Err() != nil || d.Gap() <= 1e-9*scale {
		return finish(nil)
	}
	b, err := linear(func(k string) float64 { return 2*total*bestC[k] - 2*v[k] })
	if err != nil {
		return d, err
	}
	off := constant - total*dot(bestC, bestC)
	return finish(rescore(ctx, b, g.o.Budget, g.o.Bytes, func(f float64) float64 { return f + off }, value, &d))
}

// gramSteps are the subgradient steps that tighten a bound.
const gramSteps = 60

// gramStates bounds the unfolded lattice.
const gramStates = 1 << 22

// unfold returns the lattice with states that know the last n-1 symbols, and on every arc that
// completes an n-gram its gain.
func (g *GramStrings) unfold(l *Lattice, gain func(gram string) float64) (*fst.Vector[semiring.Tropical64],
	error) {
	type arc = fst.Arc[semiring.Tropical64]
	type key struct {
		state   int32
		history string
	}
	v := fst.NewVector[semiring.Tropical64](0)
	states := map[key]fst.StateID{}
	var queue []key
	state := func(k key) fst.StateID {
		id, ok := states[k]
		if !ok {
			id = v.AddState()
			states[k] = id
			queue = append(queue, k)
		}
		return id
	}
	v.SetStart(state(key{0, ""}))
	const symbol = 4 // bytes
	for i := 0; i < len(queue); i++ {
		if len(queue) > gramStates {
			return nil, fmt.Errorf("structured: the lattice with histories of %d symbols has more than %d states; "+
				"take shorter n-grams", g.n-1, gramStates)
		}
		k := queue[i]
		if l.final[k.state] {
			v.SetFinal(fst.StateID(i), 0)
		}
		for e := l.first[k.state]; e < l.first[k.state+1]; e++ {
			a := int(l.label[e])
			gram := k.history + string(appendSymbols(nil, []int{a}))
			w, history := 0.0, gram
			if len(gram) == g.n*symbol {
				w, history = gain(gram), gram[symbol:]
			}
			to := state(key{l.next[e], history})
			v.AddArc(fst.StateID(i), arc{ILabel: fst.Label(a + 1), OLabel: fst.Label(a + 1),
				Weight: semiring.Tropical64(w), NextState: to})
		}
	}
	return v, nil
}
