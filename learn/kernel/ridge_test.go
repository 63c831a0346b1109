package kernel

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// Examples that are added and removed leave the factor that a new one has, and so the predictions.
func TestRidgeAppendRemove(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	const all, d, c = 40, 3, 0.3
	x := NewMatrix(all, d, make([]float64, all*d))
	for i := range x.Data {
		x.Data[i] = rng.NormFloat64()
	}
	gram, err := Gram[*Matrix](Vector{Kind: Gaussian, Width: 1}, x, nil)
	if err != nil {
		t.Fatal(err)
	}
	of := func(list []int) []float64 {
		var out []float64
		for _, i := range list {
			for _, j := range list {
				out = append(out, gram[i*all+j])
			}
		}
		return out
	}
	list := []int{3}
	r, err := NewRidge(of(list), 1, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	for step := range 120 {
		if len(list) > 1 && rng.IntN(3) == 0 {
			at := rng.IntN(len(list))
			if step%10 == 0 {
				at = len(list) - 1
			}
			list = append(list[:at:at], list[at+1:]...)
			err = r.Remove(at)
		} else {
			i := rng.IntN(all) // copies of an example too
			var k []float64
			for _, j := range list {
				k = append(k, gram[i*all+j])
			}
			list = append(list, i)
			err = r.Append(k, gram[i*all+i])
		}
		if err != nil {
			t.Fatal(err)
		}
		want, err := NewRidge(of(list), len(list), c, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, b := make([]float64, len(list)), make([]float64, len(list))
		for i := range a {
			a[i] = rng.NormFloat64()
		}
		copy(b, a)
		left, err := r.LeaveOneOut(a, 1)
		if err != nil {
			t.Fatal(err)
		}
		left2, err := want.LeaveOneOut(b, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range left {
			if math.Abs(left[i]-left2[i]) > 1e-10 {
				t.Fatalf("step %d, %d examples: %v and %v", step, len(list), left, left2)
			}
		}
	}
	var e *NotPositiveError
	if err := r.Append(make([]float64, r.Len()), -1); !errors.As(err, &e) {
		t.Error(err)
	}
	if r.Append(nil, 1) == nil || r.Append(append(make([]float64, r.Len()-1), math.NaN()), 1) == nil ||
		r.Remove(r.Len()) == nil {
		t.Error("an example that is not there, or not finite")
	}
}

// Asymmetry counts by the size of the matrix, however small its units are.
func TestPrecomputedUnits(t *testing.T) {
	for _, unit := range []float64{1e-12, 1, 1e12} {
		if _, err := NewPrecomputed([]float64{2 * unit, unit, 1.001 * unit, 2 * unit}, 2, "", nil); err == nil {
			t.Errorf("entries of %g that differ by a thousandth are taken for symmetric", unit)
		}
		if _, err := NewPrecomputed([]float64{2 * unit, unit, unit * (1 + 1e-13), 2 * unit}, 2, "",
			nil); err != nil {
			t.Error(err)
		}
	}
}
