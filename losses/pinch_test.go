package losses

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// alignments returns the least cost of an alignment of y with ref in the band,
// by walking through all of them, and by the definition of Edit.Band as it is
// written: |j - t m/l| ≤ band in every cell, with the least band that has any.
func alignments(e Edit, y, ref []int) float64 {
	l, m := len(y), len(ref)
	inside := func(t, j, band int) bool {
		return band == 0 || l == 0 || math.Abs(float64(j*l-t*m)) <= float64(band*l)
	}
	var walk func(t, j, band int) float64
	walk = func(t, j, band int) float64 {
		if !inside(t, j, band) {
			return math.Inf(1)
		}
		if t == l && j == m {
			return 0
		}
		best := math.Inf(1)
		del, ins := e.Del, e.Ins
		if t < l && e.DelTable != nil {
			del = e.DelTable[y[t]]
		}
		if j < m && e.InsTable != nil {
			ins = e.InsTable[ref[j]]
		}
		if t < l {
			best = min(best, del+walk(t+1, j, band))
		}
		if j < m {
			best = min(best, ins+walk(t, j+1, band))
		}
		if t < l && j < m {
			sub := e.Sub
			if y[t] == ref[j] {
				sub = e.Match
			}
			if e.SubTable != nil {
				sub = e.SubTable[y[t]][ref[j]]
			}
			best = min(best, sub+walk(t+1, j+1, band))
		}
		return best
	}
	if e.Band == 0 {
		return walk(0, 0, 0)
	}
	for band := e.Band; ; band++ {
		if x := walk(0, 0, band); !math.IsInf(x, 1) {
			return x
		}
	}
}

// Where windows meet in a corner, an alignment has to substitute even at a cost
// above that of deleting and inserting.
func TestBandPinched(t *testing.T) {
	ref := []int{0, 0, 1, 0, 1, 1, 1, 1}
	e := Edit{Sub: 2, Ins: 0.3, Del: 1, Band: 1}
	m, err := e.Machine(ref, 2, 5)
	if err != nil {
		t.Fatal(err)
	}
	y := []int{1, 0, 0, 0, 0}
	if got, want := m.Loss(y), 7.5; math.Abs(got-want) > 1e-12 {
		t.Errorf("loss %v, want %v", got, want)
	}
	var r Result
	p := NewPotentials(2, 5, 1)
	if err := new(Evaluator).Eval(m, p, 1, 0, &r); err != nil {
		t.Fatal(err)
	}
	if want := 8.929020; math.Abs(r.LogZ-want) > 1e-6 {
		t.Errorf("log Z %v, want %v", r.LogZ, want)
	}
}

// Losses of banded machines of all shapes and costs against all alignments.
func TestBandAlignments(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 1))
	pinched, onGrid, offGrid := 0, 0, 0
	for i := range 1500 {
		d := 1 + rng.IntN(3)
		l, m := rng.IntN(6), rng.IntN(9)
		ref := make([]int, m)
		for j := range ref {
			ref[j] = rng.IntN(d)
		}
		cost := func() float64 { return float64(rng.IntN(9)-2) / 4 }
		if i%3 == 0 {
			cost = rng.NormFloat64
		}
		e := Edit{Match: cost(), Sub: cost(), Ins: cost(), Del: cost(), Band: 1 + rng.IntN(3)}
		if i%2 == 0 { // dearer than the detour
			e.Match = e.Ins + e.Del + math.Abs(cost())
			e.Sub = e.Ins + e.Del + math.Abs(cost())
		}
		row := func() []float64 {
			x := make([]float64, d)
			for k := range x {
				x[k] = cost()
			}
			return x
		}
		if i%5 < 2 {
			for range d {
				e.SubTable = append(e.SubTable, row())
			}
		}
		if i%5 == 1 {
			e.InsTable, e.DelTable = row(), row()
		}
		b := e.columns(ref, d, l)
		// What a pinch forces is a substitution dearer than its detour: columns
		// of gains have it as a gain below 0, those off the grid have no gains.
		forced := 0
		pinches := b.Pinches()
		if slices.Contains(pinches, true) {
			pinched++
		}
		for j, r := range ref {
			for y := range d {
				if sub, detour := e.cost(y, r), e.cost(y, -1)+e.cost(-1, r); pinches[j] && sub > detour+1e-9 {
					forced++
				}
			}
		}
		below := 0
		for _, g := range b.Gain {
			for _, x := range g {
				if x < 0 {
					below++
				}
			}
		}
		switch {
		case b.Exact != nil:
			offGrid += forced
		case (forced > 0) != (below > 0):
			t.Fatalf("case %d %+v ref %v: %d substitutions are dearer than the detour at a pinch, %d gains "+
				"are below 0", i, e, ref, forced, below)
		default:
			onGrid += forced
		}
		got, err := e.Machine(ref, d, l)
		if err != nil {
			t.Fatal(err)
		}
		b.NoClamp = true
		plain, err := built(b)
		if err != nil {
			t.Fatal(err)
		}
		y := make([]int, l)
		for range 8 {
			for k := range y {
				y[k] = rng.IntN(d)
			}
			want := alignments(e, y, ref)
			for name, x := range map[string]float64{"Value": e.Value(y, ref), "machine": got.Loss(y),
				"without the clamp": plain.Loss(y)} {
				if !(math.Abs(x-want) <= 1e-9) {
					t.Fatalf("case %d %+v: %s(%v | %v) = %v, want %v", i, e, name, y, ref, x, want)
				}
			}
		}
	}
	if t.Logf("%d cases with a pinch; forced substitutions: %d on the grid, %d off it", pinched, onGrid,
		offGrid); pinched < 100 || onGrid < 90 || offGrid < 20 {
		t.Error("too few of some kind for the test to say much")
	}
}
