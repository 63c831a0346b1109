package optim

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/run"
)

// randomMaster is a model of some planes, with a linear part, for one task or several.
func randomMaster(t *testing.T, rng *rand.Rand, n, planes, tasks int) *master {
	t.Helper()
	m, err := newMaster(n, tasks, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if tasks == 1 {
		m.couple, m.apart = [][]float64{{1 / 0.3}}, [][]float64{{0.3}}
	} else {
		m.coupled(0.3, 0.7)
	}
	for d := range tasks {
		m.linear[d] = make([]float64, n)
		for j := range n {
			m.linear[d][j] = rng.NormFloat64()
		}
		for k := range planes {
			a := make([]float64, n)
			for j := range a {
				if a[j] = rng.NormFloat64(); k%2 == 1 && j%4 > 0 {
					a[j] = 0 // a sparse one
				}
			}
			p := NewPlane(a, rng.NormFloat64())
			p.Task = d
			m.add(p)
		}
	}
	return m
}

// The dual with the term of the linear part is the primal at the minimum, and a bound elsewhere.
func TestDualOfTheModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	for trial := range 20 {
		m := randomMaster(t, rng, 6, 1+trial, 1+trial%3)
		lower, err := m.solve(1e-12)
		if err != nil {
			t.Fatal(err)
		}
		primal := func(w [][]float64) float64 {
			v := m.around(w)
			for d := range w {
				most := math.Inf(-1)
				for k := range m.cuts.Planes {
					if p := &m.cuts.Planes[k]; p.Task == d {
						most = math.Max(most, p.Value(w[d]))
					}
				}
				v += most
			}
			return v
		}
		if v := primal(m.next); math.Abs(v-lower) > 1e-8 {
			t.Errorf("trial %d: primal %v, dual %v", trial, v, lower)
		}
		for range 100 {
			w := copies(m.next)
			for d := range w {
				for j := range w[d] {
					w[d][j] += 0.1 * rng.NormFloat64()
				}
			}
			if v := primal(w); v < lower-1e-9 {
				t.Fatalf("trial %d: %v, below the bound %v", trial, v, lower)
			}
		}
	}
}

// Planes read back from a checkpoint bit by bit, and what does not fit is refused.
func TestStoredPlanes(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 7))
	m := randomMaster(t, rng, 9, 8, 2)
	m.add(Plane{B: 0.25, Task: 1}) // of slope 0
	if _, err := m.solve(1e-6); err != nil {
		t.Fatal(err)
	}
	k := &run.Checkpoint{Arrays: map[string][]float64{}}
	m.store(k)
	again, err := newMaster(9, 2, 0, nil)
	if err == nil {
		err = again.restore(k)
	}
	if err != nil {
		t.Fatal(err)
	}
	same := slices.EqualFunc(m.cuts.Planes, again.cuts.Planes, func(a, b Plane) bool {
		return a.B == b.B && a.Task == b.Task && slices.Equal(a.At, b.At) && slices.Equal(a.Values, b.Values)
	})
	if !same || !slices.Equal(m.alpha, again.alpha) || !slices.Equal(m.idle, again.idle) {
		t.Errorf("%v read back as %v", m.cuts.Planes, again.cuts.Planes)
	}
	for n := 0; n < len(k.Files["planes"]); n += 7 {
		cut := &run.Checkpoint{Arrays: k.Arrays, Files: map[string][]byte{"planes": k.Files["planes"][:n]}}
		if err := again.restore(cut); err == nil {
			t.Errorf("%d bytes of planes were taken", n)
		}
	}
	small, _ := newMaster(5, 2, 0, nil)
	if err := small.restore(k); err == nil {
		t.Error("planes of 9 coordinates were taken for 5")
	}
}

// Planes without a share in the minimum are dropped after a while, and the minimum stays.
func TestIdlePlanes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 7))
	m := randomMaster(t, rng, 4, 30, 1)
	first, err := m.solve(1e-12)
	if err != nil {
		t.Fatal(err)
	}
	used := 0
	for _, a := range m.alpha {
		if a > 0 {
			used++
		}
	}
	for range patience {
		if _, err = m.solve(1e-12); err != nil {
			t.Fatal(err)
		}
	}
	last, err := m.solve(1e-12)
	if err != nil || math.Abs(first-last) > 1e-9 || len(m.alpha) > used+2 || len(m.alpha) != len(m.cuts.Planes) {
		t.Errorf("%v: minimum %v, then %v; %d planes, %d have a share", err, first, last, len(m.alpha), used)
	}
}
