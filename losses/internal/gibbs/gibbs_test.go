package gibbs

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// problem makes a random problem that bytes can do.
func problem(rng *rand.Rand, l, m, labels, order, band int, tied bool) (*Model, *Alignment) {
	model := &Model{Order: order}
	for t := range l {
		model.Sizes = append(model.Sizes, labels)
		n := labels
		if order == 2 && t > 0 {
			n *= labels
		}
		row := make([]float64, n)
		if tied && t > 1 {
			row = model.Theta[t-1]
		} else {
			for i := range row {
				row[i] = rng.NormFloat64()
			}
		}
		model.Theta = append(model.Theta, row)
		cond := make([]float64, n)
		for c := 0; c < n; c += labels {
			sum := 0.0
			for i := range labels {
				cond[c+i] = math.Exp(row[c+i])
				sum += cond[c+i]
			}
			for i := range labels {
				cond[c+i] /= sum
			}
		}
		model.Cond = append(model.Cond, cond)
	}
	a := &Alignment{Sub: 1, Ins: 1, Del: 1}
	for range m {
		a.Ref = append(a.Ref, rng.IntN(labels+1)) // one symbol is outside the alphabet
	}
	for t := range l + 1 {
		c := centreOf(t, l, m)
		a.First, a.Last = append(a.First, max(0, c-band)), append(a.Last, min(m, c+band))
	}
	return model, a
}

// All kernels leave the same bits as those in Go that define them: states, counts, random numbers
// and losses, for all numbers of labels, lengths and costs; and, where they have them, rows.
func TestKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	compared, costs := map[int]int{}, 0
	for i := range 90 {
		l := 1 + rng.IntN(40)
		m := max(0, l+rng.IntN(9)-4)
		if i%5 == 4 {
			m = rng.IntN(3 * l)
		}
		labels, order := 1+rng.IntN(16), 1+rng.IntN(2)
		if i%4 == 3 {
			labels = 17 + rng.IntN(16)
		}
		u := Units{Sub: 1, Ins: 1, Del: 1, Unit: 1}
		if i%3 == 2 {
			u = Units{Sub: 1 + rng.IntN(5), Ins: rng.IntN(4), Del: 1 + rng.IntN(3), Unit: 0.25, Shift: -1}
		}
		model, a := problem(rng, l, m, labels, order, 1+rng.IntN(9), i%2 == 0)
		gamma := 2*rng.Float64() - 0.5
		if !u.Fits(model, a, gamma) {
			t.Logf("%d: does not fit", i)
			continue
		}
		block, seed := 1+rng.IntN(9), rng.Uint64()
		run := func(isa int) *Bytes {
			b := newBytes(model, a, u, gamma, block, seed, i%4 == 1, isa)
			b.Start()
			for i := range 9 {
				if i%3 == 2 {
					b.Block(i)
				} else {
					b.Sweep(i > 3)
				}
			}
			b.AddRaw()
			return b
		}
		want := run(isaGo)
		wantCounts := want.Take()
		for isa := isaSliced; isa <= max(best, isaSliced); isa++ {
			if isa == isaAVX2 && labels > 16 || isa == isaSliced && !u.slices() {
				continue // it has no such kernels
			}
			compared[isa]++
			if isa == isaSliced && !u.ones() {
				costs++
			}
			got := run(isa)
			pairs := map[string][2]any{
				"states": {want.u, got.u}, "random numbers": {want.random, got.random},
				"losses": {*want.Losses(), *got.Losses()}, "counts": {wantCounts, got.Take()},
			}
			if isa != isaSliced {
				pairs["prefix rows"] = [2]any{want.row[0], got.row[0]}
				pairs["suffix rows"] = [2]any{want.row[1], got.row[1]}
				pairs["shifts"] = [2]any{want.shift, got.shift}
			}
			for what, pair := range pairs {
				if !reflect.DeepEqual(pair[0], pair[1]) {
					t.Errorf("case %d (l %d, m %d, %d labels, order %d, %+v), kernels %d: %s differ", i, l,
						m, labels, order, u, isa, what)
				}
			}
		}
	}
	if compared[isaSliced] < 20 || costs < 10 {
		t.Errorf("%d cases of bits, %d of costs that are not 1", compared[isaSliced], costs)
	}
}

// Bytes and Floats find the same losses of the same strings, and the same losses of all labels of a
// site; those are what a dynamic program of the whole string finds.
func TestLosses(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 6))
	for i := range 20 {
		l := 2 + rng.IntN(60)
		m := max(1, l+rng.IntN(7)-3)
		labels := 2 + rng.IntN(9)
		model, a := problem(rng, l, m, labels, 2, l+m, true)
		for t := range a.First {
			a.First[t], a.Last[t] = 0, m
		}
		u := Units{Sub: 1, Ins: 1, Del: 1, Unit: 1}
		engines := []Engine{NewFloats(model, a, 1, 4, 1, false, nil)}
		if u.Fits(model, a, 1) {
			engines = append(engines, NewBytes(model, a, u, 1, 4, 1, false),
				newBytes(model, a, u, 1, 4, 1, false, isaGo), newBytes(model, a, u, 1, 4, 1, false, isaSliced))
		} else if l < 40 {
			t.Errorf("length %d does not fit", l)
		}
		distance := NewEditDistance(a.Ref)
		for _, e := range engines {
			e.Start()
			for k := range 4 {
				if k == 2 {
					e.Block(k)
				} else {
					e.Sweep(true)
				}
			}
			losses := *e.Losses()
			var strings [Lanes][]int
			for c := range Lanes {
				strings[c] = e.String(nil, c)
				if want := levenshtein(strings[c], a.Ref); losses[c] != float64(want) ||
					distance.Of(strings[c]) != want {
					t.Fatalf("case %d: %T: loss %v, bit vectors %d, not %d", i, e, losses[c],
						distance.Of(strings[c]), want)
				}
			}
			e.Weigh(func(at, c int, p, loss []float64) {
				if (at+c)%7 > 0 {
					return
				}
				s := slices.Clone(strings[c])
				sum := 0.0
				for k, x := range loss {
					s[at] = k
					if want := levenshtein(s, a.Ref); x != float64(want) {
						t.Fatalf("case %d: %T: position %d: loss %v of label %d, not %d", i, e, at, x, k,
							want)
					}
					sum += p[k]
				}
				if math.Abs(sum-1) > 1e-9 {
					t.Fatalf("probabilities sum to %v", sum)
				}
			})
		}
	}
}

func levenshtein(u, ref []int) int {
	row := make([]int, len(ref)+1)
	for j := range row {
		row[j] = j
	}
	for _, y := range u {
		diagonal := row[0]
		row[0]++
		for j, r := range ref {
			x := diagonal
			if y != r {
				x++
			}
			diagonal = row[j+1]
			row[j+1] = min(x, row[j]+1, diagonal+1)
		}
	}
	return row[len(ref)]
}

func BenchmarkSweep(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	model, a := problem(rng, 100, 100, 10, 2, 20, true)
	for _, costs := range []struct {
		name string
		u    Units
	}{{"unit", Units{Sub: 1, Ins: 1, Del: 1, Unit: 1}}, {"smith-waterman",
		Units{Sub: 3, Ins: 2, Del: 2, Unit: 1}}} {
		for i, name := range []string{"Go", "bits", "AVX2", "AVX512"} {
			if i > max(best, isaSliced) {
				continue
			}
			for _, what := range []string{"count", "draw", "block"} {
				b.Run(costs.name+"/"+name+"/"+what, func(b *testing.B) {
					e := newBytes(model, a, costs.u, 1, 16, 1, false, i)
					e.Start()
					for b.Loop() {
						if what == "block" {
							e.Block(0)
						} else {
							e.Sweep(what == "count")
						}
					}
				})
			}
		}
		b.Run(costs.name+"/floats", func(b *testing.B) {
			a := *a
			a.Sub, a.Ins, a.Del = float64(costs.u.Sub), float64(costs.u.Ins), float64(costs.u.Del)
			e := NewFloats(model, &a, 1, 16, 1, false, nil)
			e.Start()
			for b.Loop() {
				e.Sweep(true)
			}
		})
	}
}

// Counts that are taken before they overflow are those that are taken at the end.
func TestFlush(t *testing.T) {
	model, a := problem(rand.New(rand.NewPCG(3, 6)), 9, 9, 5, 2, 9, true)
	for _, shared := range []bool{false, true} {
		var taken [2][]*Counts
		for i := range taken {
			b := NewBytes(model, a, Units{Sub: 1, Ins: 1, Del: 1, Unit: 1}, 1, 4, 1, shared)
			if i == 1 {
				b.most = 3
			}
			b.Start()
			for range 10 {
				b.Sweep(true)
			}
			taken[i] = b.Take()
		}
		for g := range taken[0] {
			for i, x := range taken[0][g].Data {
				if y := taken[1][g].Data[i]; math.Abs(float64(x-y)) > 1e-4 {
					t.Fatalf("group %d: %v, and %v by parts", g, x, y)
				}
			}
			if taken[0][g].N != 160 || taken[1][g].N != 160 {
				t.Errorf("%v and %v samples, not 160", taken[0][g].N, taken[1][g].N)
			}
		}
	}
}
