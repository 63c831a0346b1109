package kernel

import (
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Strings are sequences of symbols, numbered from 0.
type Strings [][]int

// NGram is the kernel Σ_g Weight(|g|) count_g(x) count_g(y) over all n-grams g of lengths Least to
// Order. It is the rational kernel of the transducer that counts n-grams (C. Cortes, P. Haffner and
// M. Mohri, "Rational kernels: theory and algorithms", JMLR 5, 2004). It is the same function as
// Rational{NGramCounter(...)}, computed by counting.
type NGram struct {
	Least, Order int     // lengths; zero is 1, and 3
	Decay        float64 // a length n counts Decay^n; zero is 1
	Alphabet     int     // symbols are below it; zero is any
	Normal       bool    // divides by √(k(x,x) k(y,y)); two strings without n-grams have 0
}

var _ Kernel[Strings] = NGram{}

func (k NGram) filled() NGram {
	if k.Least == 0 {
		k.Least = 1
	}
	if k.Order == 0 {
		k.Order = max(3, k.Least)
	}
	if k.Decay == 0 {
		k.Decay = 1
	}
	return k
}

// Name implements Kernel.
func (k NGram) Name() string {
	k = k.filled()
	s := fmt.Sprintf("ngram:%d-%d:%g", k.Least, k.Order, k.Decay)
	if k.Normal {
		s += "/normal"
	}
	return s
}

// Len implements Kernel.
func (k NGram) Len(x Strings) int { return len(x) }

// check returns an error that names the first symbol outside of the alphabet.
func (k NGram) check(x Strings) error {
	if k.Least < 1 || k.Order < k.Least || !(k.Decay > 0) || math.IsInf(k.Decay, 1) {
		return fmt.Errorf("kernel: n-grams of %d to %d symbols with decay %v: lengths must be at least 1 "+
			"and in order, the decay above 0", k.Least, k.Order, k.Decay)
	}
	return checkSymbols(x, k.Alphabet)
}

func checkSymbols(x Strings, alphabet int) error {
	for i, s := range x {
		for j, c := range s {
			if c < 0 || c >= math.MaxInt32 || alphabet > 0 && c >= alphabet {
				if alphabet > 0 {
					return fmt.Errorf("kernel: string %d: symbol %d at place %d is not in the alphabet of %d", i+1, c,
						j+1, alphabet)
				}
				return fmt.Errorf("kernel: string %d: %d at place %d is no symbol", i+1, c, j+1)
			}
		}
	}
	return nil
}

// Counts numbers the n-grams of strings and counts them: sparse rows whose inner products
// are the kernel. O(symbols·Order) time and entries.
type Counts struct {
	kernel NGram
	number map[gram]int32
}

// gram is an n-gram: the number of the one without its last symbol, and that symbol.
type gram struct{ prefix, symbol int32 }

// NewCounts returns a numbering without n-grams.
func (k NGram) NewCounts() *Counts {
	return &Counts{k.filled(), map[gram]int32{}}
}

// Points returns a row for each string, with a column for each n-gram. Those not seen before
// get the next columns if learn is set, and otherwise are left out. Rows are scaled so that
// inner products are the kernel, but for what Normal says.
func (c *Counts) Points(x Strings, learn bool) (*Matrix, error) {
	if err := c.kernel.check(x); err != nil {
		return nil, err
	}
	out := &Matrix{Rows: len(x), Start: make([]int, 1, len(x)+1)}
	row := map[int32]float64{}
	for _, s := range x {
		clear(row)
		for i := range s {
			prefix := int32(-1)
			for n := 1; n <= c.kernel.Order && i+n <= len(s); n++ {
				g := gram{prefix, int32(s[i+n-1])}
				at, ok := c.number[g]
				if !ok {
					if !learn {
						break // no longer one was seen either
					}
					at = int32(len(c.number))
					c.number[g] = at
				}
				if n >= c.kernel.Least {
					row[at] += math.Pow(c.kernel.Decay, float64(n)/2)
				}
				prefix = at
			}
		}
		from := len(out.Index)
		for at := range row {
			out.Index = append(out.Index, at)
		}
		slices.Sort(out.Index[from:])
		for _, at := range out.Index[from:] {
			out.Data = append(out.Data, row[at])
		}
		out.Start = append(out.Start, len(out.Data))
	}
	out.Cols = len(c.number)
	return out, nil
}

// Between implements Kernel.
func (k NGram) Between(x, y Strings) (Blocks, error) {
	c := k.NewCounts()
	b, err := c.Points(y, true)
	if err != nil {
		return nil, err
	}
	a := b
	if !sameStrings(x, y) {
		// N-grams of x alone meet none of y, but its norm counts them.
		if a, err = c.Points(x, k.Normal); err != nil {
			return nil, err
		}
		b.Cols = a.Cols
	}
	return Vector{Kind: Linear, Normal: k.Normal}.Between(a, b)
}

func sameStrings(x, y Strings) bool {
	return len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0])
}

// Diagonal implements Kernel.
func (k NGram) Diagonal(x Strings) ([]float64, error) {
	p, err := k.NewCounts().Points(x, true)
	if err != nil {
		return nil, err
	}
	return Vector{Kind: Linear, Normal: k.Normal}.Diagonal(p)
}

// Rational is the kernel (T∘T⁻¹)(x, y) of a transducer T over strings whose symbols are labels less
// 1. Its value is the sum of the weights of all paths through X∘T∘T⁻¹∘Y. Such a kernel is positive
// semidefinite. The operations of package ops compute it, one pair of strings at a time, for any T;
// NGram only counts.
type Rational struct {
	Transducer *fst.Vector[semiring.Probability]
	Title      string // for Name; "" is rational
	Normal     bool
}

var _ Kernel[Strings] = Rational{}

// Name implements Kernel.
func (k Rational) Name() string {
	s := k.Title
	if s == "" {
		s = "rational"
	}
	if k.Normal {
		s += "/normal"
	}
	return s
}

// Len implements Kernel.
func (k Rational) Len(x Strings) int { return len(x) }

// images returns the machines X∘T with outputs alone, sorted.
func (k Rational) images(x Strings) ([]*fst.Vector[semiring.Probability], error) {
	if err := checkSymbols(x, 0); err != nil {
		return nil, err
	}
	t := k.Transducer.Clone()
	ops.ArcSort(t, ops.Input)
	out := make([]*fst.Vector[semiring.Probability], len(x))
	for i, s := range x {
		labels := make([]fst.Label, len(s))
		for j, c := range s {
			labels[j] = fst.Label(c + 1)
		}
		m, err := ops.Compose(fst.FromLabels[semiring.Probability](labels), t, nil)
		if err != nil {
			return nil, fmt.Errorf("kernel: %s: string %d: %w", k.Name(), i+1, err)
		}
		ops.Project(m, ops.Output)
		if err := ops.RmEpsilon(m, nil); err != nil {
			return nil, fmt.Errorf("kernel: %s: string %d: %w", k.Name(), i+1, err)
		}
		ops.ArcSort(m, ops.Input)
		out[i] = m
	}
	return out, nil
}

// total returns the weight of all paths that two images share.
func (k Rational) total(a, b *fst.Vector[semiring.Probability]) (float64, error) {
	m, err := ops.Compose(a, b, nil)
	if err != nil {
		return 0, err
	}
	d, err := ops.ShortestDistance(m, &ops.ShortestDistanceOptions{Reverse: true})
	if err != nil || m.Start() == fst.NoState {
		return 0, err
	}
	return float64(d[m.Start()]), nil
}

// Between implements Kernel. A pair that the operations refuse, since its paths have no sum,
// has the value NaN, which is an error of Gram and Cross.
func (k Rational) Between(x, y Strings) (Blocks, error) {
	a, err := k.images(x)
	if err != nil {
		return nil, err
	}
	b, da := a, []float64(nil)
	if !sameStrings(x, y) {
		if b, err = k.images(y); err != nil {
			return nil, err
		}
	}
	var db []float64
	if k.Normal {
		da, db = k.selves(a), k.selves(b)
	}
	return func(dst []float64, stride, i0, i1, j0, j1 int) {
		for i := i0; i < i1; i++ {
			for j := j0; j < j1; j++ {
				v, err := k.total(a[i], b[j])
				switch {
				case err != nil:
					v = math.NaN()
				case k.Normal && da[i] > 0 && db[j] > 0:
					v /= math.Sqrt(da[i] * db[j])
				case k.Normal:
					v = 0
				}
				dst[(i-i0)*stride+j-j0] = v
			}
		}
	}, nil
}

// selves returns the weight of each image with itself.
func (k Rational) selves(images []*fst.Vector[semiring.Probability]) []float64 {
	out := make([]float64, len(images))
	for i, m := range images {
		v, err := k.total(m, m)
		if err != nil {
			v = math.NaN()
		}
		out[i] = v
	}
	return out
}

// Diagonal implements Kernel.
func (k Rational) Diagonal(x Strings) ([]float64, error) {
	images, err := k.images(x)
	if err != nil {
		return nil, err
	}
	out := k.selves(images)
	for i, v := range out {
		if v != v {
			return nil, fmt.Errorf("kernel: %s: the paths of string %d have no sum", k.Name(), i+1)
		}
		if k.Normal && v > 0 {
			out[i] = 1
		}
	}
	return out, nil
}

// NGramCounter returns the transducer that maps a string to its n-grams of least to order symbols,
// each as often as it occurs, with weight decay^(n/2). Rational of it is NGram. It has order+2
// states and (order+2)·alphabet arcs.
func NGramCounter(alphabet, least, order int, decay float64) *fst.Vector[semiring.Probability] {
	t := fst.NewVector[semiring.Probability](order + 2)
	t.AddStates(order + 2)
	end := fst.StateID(order + 1) // the rest of the string is skipped
	t.SetStart(0)
	root := semiring.Probability(math.Sqrt(decay))
	for c := range alphabet {
		a := fst.Label(c + 1)
		t.AddArc(0, fst.Arc[semiring.Probability]{ILabel: a, Weight: 1, NextState: 0})
		t.AddArc(end, fst.Arc[semiring.Probability]{ILabel: a, Weight: 1, NextState: end})
		for n := range order {
			t.AddArc(fst.StateID(n), fst.Arc[semiring.Probability]{ILabel: a, OLabel: a, Weight: root,
				NextState: fst.StateID(n + 1)})
			if n+1 >= least {
				t.AddArc(fst.StateID(n+1), fst.Arc[semiring.Probability]{ILabel: a, Weight: 1, NextState: end})
			}
		}
	}
	for n := least; n <= order+1; n++ {
		t.SetFinal(fst.StateID(n), 1)
	}
	return t
}
