// Package spacetest has spaces whose outputs are listed, as oracles for learners, and a check
// of any space against the list of its outputs.
package spacetest

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tropica-fst/tropica/learn/space"
)

// Finite is a space whose inputs list their outputs. An output is its number in the list, and
// an annotation the numbers that are right.
type Finite struct {
	N       int  // weights
	NonZero bool // losses may be positive on right outputs
}

// Input lists the features of every output, and the loss of each under its annotation.
type Input struct {
	Phi  [][]float64
	Loss []float64
}

var (
	_ space.Complement[*Input, int, []int]  = Finite{}
	_ space.Summing[*Input, int, []int]     = Finite{}
	_ space.Remembering[*Input, int, []int] = Finite{}
)

// Dim implements space.Space.
func (s Finite) Dim() int { return s.N }

func dot(a, b []float64) float64 {
	v := 0.0
	for i, x := range a {
		v += x * b[i]
	}
	return v
}

// best returns the largest value over outputs that ok lets pass; ties by larger loss.
func (s Finite) best(x *Input, w []float64, sign, loss float64,
	ok func(int) bool) (space.Solution[int], error) {
	at, most := -1, math.Inf(-1)
	for y, phi := range x.Phi {
		if ok != nil && !ok(y) {
			continue
		}
		v := sign * dot(w, phi)
		if loss != 0 {
			v += loss * x.Loss[y]
		}
		if at < 0 || v > most || v == most && loss != 0 && x.Loss[y] > x.Loss[at] {
			at, most = y, v
		}
	}
	if at < 0 {
		return space.Solution[int]{}, &space.EmptyError{Within: len(x.Phi) > 0}
	}
	return space.Exact(at, sign*most), nil
}

// Argmax implements space.Space.
func (s Finite) Argmax(_ context.Context, x *Input, w []float64) (space.Solution[int], error) {
	return s.best(x, w, 1, 0, nil)
}

// ArgmaxLoss implements space.Space.
func (s Finite) ArgmaxLoss(_ context.Context, x *Input, w []float64, _ []int) (space.Solution[int], error) {
	return s.best(x, w, 1, 1, nil)
}

// ArgmaxWithin implements space.Space.
func (s Finite) ArgmaxWithin(_ context.Context, x *Input, w []float64, a []int) (space.Solution[int], error) {
	return s.best(x, w, 1, 0, func(y int) bool { return slices.Contains(a, y) })
}

// ArgmaxLossOutside implements space.Complement.
func (s Finite) ArgmaxLossOutside(_ context.Context, x *Input, w []float64,
	a []int) (space.Solution[int], error) {
	return s.best(x, w, 1, 1, func(y int) bool { return !slices.Contains(a, y) })
}

// Argmin implements space.Space.
func (s Finite) Argmin(_ context.Context, x *Input, w []float64) (space.Solution[int], error) {
	return s.best(x, w, -1, 0, nil)
}

// KBest implements space.Space.
func (s Finite) KBest(_ context.Context, x *Input, w []float64, k int) ([]space.Solution[int], error) {
	if len(x.Phi) == 0 {
		return nil, &space.EmptyError{}
	}
	var out []space.Solution[int]
	for y, phi := range x.Phi {
		out = append(out, space.Exact(y, dot(w, phi)))
	}
	slices.SortStableFunc(out, func(a, b space.Solution[int]) int {
		switch {
		case a.Value > b.Value:
			return -1
		case a.Value < b.Value:
			return 1
		}
		return 0
	})
	return out[:min(k, len(out))], nil
}

// AddPhi implements space.Space.
func (s Finite) AddPhi(dst []float64, scale float64, x *Input, y int) {
	for i, v := range x.Phi[y] {
		dst[i] += scale * v
	}
}

// Delta implements space.Space.
func (s Finite) Delta(x *Input, _ []int, y int) float64 { return x.Loss[y] }

// LossZeroOnCompatible implements space.Space.
func (s Finite) LossZeroOnCompatible() bool { return !s.NonZero }

// Complete implements space.Space.
func (s Finite) Complete(_ *Input, a []int) bool { return len(a) == 1 }

// LogZ implements space.Summing.
func (s Finite) LogZ(ctx context.Context, x *Input, w, dst []float64, scale float64) (float64, error) {
	return s.sum(x, w, dst, scale, nil)
}

// LogZWithin implements space.Summing.
func (s Finite) LogZWithin(ctx context.Context, x *Input, w []float64, a []int, dst []float64,
	scale float64) (float64, error) {
	return s.sum(x, w, dst, scale, func(y int) bool { return slices.Contains(a, y) })
}

func (s Finite) sum(x *Input, w, dst []float64, scale float64, ok func(int) bool) (float64, error) {
	top, err := s.best(x, w, 1, 0, ok)
	if err != nil {
		return 0, err
	}
	total := 0.0
	for y, phi := range x.Phi {
		if ok == nil || ok(y) {
			total += math.Exp(dot(w, phi) - top.Value)
		}
	}
	z := top.Value + math.Log(total)
	if dst != nil {
		for y, phi := range x.Phi {
			if ok == nil || ok(y) {
				s.AddPhi(dst, scale*math.Exp(dot(w, phi)-z), x, y)
			}
		}
	}
	return z, nil
}

// Entropy implements space.Summing.
func (s Finite) Entropy(ctx context.Context, x *Input, w []float64) (float64, error) {
	z, err := s.LogZ(ctx, x, w, nil, 0)
	if err != nil {
		return 0, err
	}
	h := 0.0
	for _, phi := range x.Phi {
		f := dot(w, phi)
		h += math.Exp(f-z) * (z - f)
	}
	return h, nil
}

// RandomFinite returns n samples of the space of dim weights, with at least two and at most
// outputs outputs each. One output is right, others with probability partial; right ones
// have no loss unless s.NonZero says so.
func RandomFinite(rng *rand.Rand, s Finite, n, outputs int, partial float64) []space.Sample[*Input, []int] {
	var out []space.Sample[*Input, []int]
	for range n {
		size := 2 + rng.IntN(outputs-1)
		right := rng.IntN(size)
		x, a := &Input{}, []int{right}
		for y := range size {
			phi := make([]float64, s.N)
			for j := range phi {
				phi[j] = rng.NormFloat64()
			}
			loss := rng.Float64() + 0.1
			if y != right && rng.Float64() < partial {
				a = append(a, y)
			}
			if slices.Contains(a, y) && (!s.NonZero || y == right) {
				loss = 0
			}
			x.Phi, x.Loss = append(x.Phi, phi), append(x.Loss, loss)
		}
		out = append(out, space.Sample[*Input, []int]{X: x, A: a})
	}
	return out
}

// Score implements space.Remembering.
func (s Finite) Score(x *Input, w []float64, y int) float64 { return dot(w, x.Phi[y]) }

// AppendOutput implements space.Remembering.
func (s Finite) AppendOutput(dst []byte, _ *Input, y int) []byte {
	return space.AppendNumbers(dst, []int{y})
}

// ReadOutput implements space.Remembering.
func (s Finite) ReadOutput(src []byte, x *Input) (int, []byte, error) {
	list, rest, err := space.ReadNumbers(src, 1, len(x.Phi))
	if err != nil || len(list) != 1 {
		return 0, nil, space.ErrOutput
	}
	return list[0], rest, nil
}
