package spacetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/space"
)

// Listed is a sample with all its outputs, and which of them agree with the annotation.
type Listed[X, Y, A any] struct {
	X       X
	A       A
	Outputs []Y // no two are equal
	Agree   []bool
}

// Check compares every call of a space with enumeration, at weights w. Values may differ by
// tol, relative to the size of the scores. Solutions that are not optimal must have valid bounds.
func Check[X, Y, A any](t *testing.T, s space.Space[X, Y, A], w []float64, l Listed[X, Y, A], tol float64) {
	t.Helper()
	ctx := context.Background()
	score := func(y Y) float64 {
		phi := make([]float64, s.Dim())
		s.AddPhi(phi, 1, l.X, y)
		return dot(w, phi)
	}
	all, within, outside := math.Inf(-1), math.Inf(-1), math.Inf(-1)
	augmented, least := math.Inf(-1), math.Inf(1)
	agree := 0
	var scores []float64
	for i, y := range l.Outputs {
		f, d := score(y), s.Delta(l.X, l.A, y)
		if d < 0 {
			t.Errorf("output %v has the loss %v", y, d)
		}
		scores = append(scores, f)
		all, least, augmented = math.Max(all, f), math.Min(least, f), math.Max(augmented, f+d)
		if l.Agree[i] {
			agree++
			within = math.Max(within, f)
			if s.LossZeroOnCompatible() && d != 0 {
				t.Errorf("output %v agrees with the annotation and has the loss %v", y, d)
			}
		} else {
			outside = math.Max(outside, f+d)
		}
	}
	compare := func(call string, got space.Solution[Y], err error, want float64, sign, loss float64) {
		t.Helper()
		if math.IsInf(want, 0) {
			if !errors.Is(err, space.ErrEmpty) {
				t.Errorf("%s: error %v of a set without outputs", call, err)
			}
			return
		}
		if err != nil {
			t.Errorf("%s: %v", call, err)
			return
		}
		near := tol * (1 + math.Abs(want))
		own := score(got.Y)
		if loss != 0 {
			own += s.Delta(l.X, l.A, got.Y)
		}
		switch {
		case math.Abs(own-got.Value) > near:
			t.Errorf("%s: the output %v has the value %v, not %v", call, got.Y, own, got.Value)
		case sign*(got.UpperBound-want) < -near:
			t.Errorf("%s: the bound %v does not hold for %v", call, got.UpperBound, want)
		case got.Optimal && math.Abs(got.Value-want) > near:
			t.Errorf("%s: %v is called optimal with %v; enumeration finds %v", call, got.Y, got.Value, want)
		case got.Optimal && math.Abs(got.UpperBound-got.Value) > near:
			t.Errorf("%s: an optimal value of %v with the bound %v", call, got.Value, got.UpperBound)
		}
	}
	y, err := s.Argmax(ctx, l.X, w)
	compare("Argmax", y, err, all, 1, 0)
	y, err = s.ArgmaxLoss(ctx, l.X, w, l.A)
	compare("ArgmaxLoss", y, err, augmented, 1, 1)
	y, err = s.ArgmaxWithin(ctx, l.X, w, l.A)
	compare("ArgmaxWithin", y, err, within, 1, 0)
	y, err = s.Argmin(ctx, l.X, w)
	compare("Argmin", y, err, least, -1, 0)
	if c, ok := s.(space.Complement[X, Y, A]); ok {
		y, err = c.ArgmaxLossOutside(ctx, l.X, w, l.A)
		compare("ArgmaxLossOutside", y, err, outside, 1, 1)
	}
	if got := s.Complete(l.X, l.A); got != (agree == 1) {
		t.Errorf("Complete is %v with %d outputs in agreement", got, agree)
	}
	checkKBest(t, s, w, l, scores, tol)
	if sum, ok := s.(space.Summing[X, Y, A]); ok {
		checkSums(t, sum, w, l, scores, tol)
	}
	if r, ok := s.(space.Remembering[X, Y, A]); ok && len(scores) > 0 {
		checkRemembering(t, r, w, l, tol)
	}
}

// checkRemembering compares scores of outputs that calls return with ⟨w, Φ⟩, also after they were
// written and read. What is cut short must be refused.
func checkRemembering[X, Y, A any](t *testing.T, s space.Remembering[X, Y, A], w []float64, l Listed[X, Y, A],
	tol float64) {
	t.Helper()
	list, err := s.KBest(context.Background(), l.X, w, 3)
	if err != nil {
		t.Errorf("KBest: %v", err)
	}
	var file []byte
	for _, y := range list {
		file = s.AppendOutput(file, l.X, y.Y)
	}
	rest := file
	for i, y := range list {
		var again Y
		if again, rest, err = s.ReadOutput(rest, l.X); err != nil {
			t.Errorf("ReadOutput: %v of output %d", err, i)
			return
		}
		for _, o := range []Y{y.Y, again} {
			if got := s.Score(l.X, w, o); math.Abs(got-y.Value) > tol*(1+math.Abs(y.Value)) {
				t.Errorf("Score of %v is %v, its value %v", o, got, y.Value)
			}
		}
		if a, b := fmt.Sprint(again), fmt.Sprint(y.Y); a != b {
			t.Errorf("%s reads back as %s", b, a)
		}
	}
	if len(rest) > 0 {
		t.Errorf("%d bytes are left of %d outputs", len(rest), len(list))
	}
	one := s.AppendOutput(nil, l.X, list[0].Y)
	for n := range one {
		if _, _, err := s.ReadOutput(one[:n], l.X); !errors.Is(err, space.ErrOutput) {
			t.Errorf("%d bytes of an output of %d are read, with the error %v", n, len(one), err)
		}
	}
}

func checkKBest[X, Y, A any](t *testing.T, s space.Space[X, Y, A], w []float64, l Listed[X, Y, A],
	scores []float64, tol float64) {
	t.Helper()
	sorted := descending(scores)
	for _, k := range []int{1, 2, 3, len(scores), len(scores) + 2} {
		if k == 0 || len(scores) == 0 {
			continue
		}
		list, err := s.KBest(context.Background(), l.X, w, k)
		if err != nil || len(list) != min(k, len(scores)) {
			t.Errorf("KBest(%d) of %d outputs gives %d, %v", k, len(scores), len(list), err)
			continue
		}
		seen := map[string]bool{}
		for i, y := range list {
			if key := fmt.Sprint(y.Y); seen[key] {
				t.Errorf("KBest(%d) has %v twice", k, key)
			} else {
				seen[key] = true
			}
			if math.Abs(y.Value-sorted[i]) > tol*(1+math.Abs(sorted[i])) {
				t.Errorf("KBest(%d): number %d has %v, enumeration %v", k, i, y.Value, sorted[i])
			}
		}
	}
}

// checkSums compares sums, and expectations by finite differences.
func checkSums[X, Y, A any](t *testing.T, s space.Summing[X, Y, A], w []float64, l Listed[X, Y, A],
	scores []float64, tol float64) {
	t.Helper()
	ctx := context.Background()
	all, within, entropy := math.Inf(-1), math.Inf(-1), 0.0
	for i, f := range scores {
		all = logAdd(all, f)
		if l.Agree[i] {
			within = logAdd(within, f)
		}
	}
	mean, meanWithin := make([]float64, s.Dim()), make([]float64, s.Dim())
	for i, f := range scores {
		entropy += math.Exp(f-all) * (all - f)
		s.AddPhi(mean, 0.5*math.Exp(f-all), l.X, l.Outputs[i])
		if l.Agree[i] {
			s.AddPhi(meanWithin, 0.5*math.Exp(f-within), l.X, l.Outputs[i])
		}
	}
	compare := func(call string, got float64, err error, want float64, dst, expect []float64) {
		t.Helper()
		if math.IsInf(want, -1) {
			if !errors.Is(err, space.ErrEmpty) {
				t.Errorf("%s: error %v of a set without outputs", call, err)
			}
			return
		}
		if err != nil || math.Abs(got-want) > tol*(1+math.Abs(want)) {
			t.Errorf("%s: %v, %v; enumeration %v", call, got, err, want)
		}
		for j := range expect {
			if math.Abs(dst[j]-expect[j]) > tol*(1+math.Abs(expect[j])) {
				t.Errorf("%s: expectation %d is %v, enumeration %v", call, j, dst[j], expect[j])
			}
		}
	}
	dst := make([]float64, s.Dim())
	z, err := s.LogZ(ctx, l.X, w, dst, 0.5)
	compare("LogZ", z, err, all, dst, mean)
	clear(dst)
	z, err = s.LogZWithin(ctx, l.X, w, l.A, dst, 0.5)
	compare("LogZWithin", z, err, within, dst, meanWithin)
	if len(scores) > 0 {
		h, err := s.Entropy(ctx, l.X, w)
		compare("Entropy", h, err, entropy, nil, nil)
	}
}

func logAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(a, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}

func descending(v []float64) []float64 {
	out := slices.Clone(v)
	slices.Sort(out)
	slices.Reverse(out)
	return out
}
