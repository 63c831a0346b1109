package losses

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/losses/internal/align"
)

// localByEnumeration is the banded local loss by its definition: every alignment of pieces, whose
// steps all end in the band.
func localByEnumeration(x Local, y, ref []int) float64 {
	l, m := len(y), len(ref)
	first, last := align.BandWindows(l, m, x.Band)
	inside := func(t, j int) bool { return j >= first[t] && j <= last[t] }
	best := 0.0
	var walk func(t, j int, score float64)
	walk = func(t, j int, score float64) {
		best = max(best, score)
		step := func(t, j int, score float64) {
			if t <= l && j <= m && inside(t, j) {
				walk(t, j, score)
			}
		}
		step(t+1, j, score+x.Del)
		step(t, j+1, score+x.Ins)
		if t < l && j < m {
			gain := x.Sub
			if y[t] == ref[j] {
				gain = x.Match
			}
			step(t+1, j+1, score+gain)
		}
	}
	for t := range l + 1 {
		for j := range m + 1 {
			walk(t, j, 0)
		}
	}
	return 0 - best
}

// A banded local loss is what its definition says, by Value, by its machine and along the general
// path, and never below the exact loss.
func TestLocalBand(t *testing.T) {
	rng := rand.New(rand.NewPCG(92, 1))
	differs := 0
	for range 300 {
		alphabet, l := 1+rng.IntN(3), rng.IntN(6)
		ref := randomRef(rng, rng.IntN(7), alphabet)
		x := Local{Match: float64(1 + rng.IntN(3)), Sub: -float64(rng.IntN(3)),
			Ins: -float64(rng.IntN(3)) / 2, Del: -float64(rng.IntN(3)), Band: 1 + rng.IntN(3)}
		m, err := x.Machine(ref, alphabet, l)
		if err != nil {
			t.Fatal(err)
		}
		general, err := x.Automaton(Strings(alphabet, l), ref, alphabet, &GeneralOptions{Band: x.Band})
		if err != nil {
			t.Fatal(err)
		}
		exact := x
		exact.Band = 0
		for range 10 {
			u := randomRef(rng, l, alphabet)
			want := localByEnumeration(x, u, ref)
			for name, got := range map[string]float64{"Value": x.Value(u, ref), "machine": m.Loss(u),
				"general": general.Loss(u)} {
				if !near(got, want) {
					t.Fatalf("%+v, %s of %v against %v: %v, want %v", x, name, u, ref, got, want)
				}
			}
			if e := exact.Value(u, ref); want < e-1e-12 {
				t.Fatalf("%+v: %v below the exact %v", x, want, e)
			} else if want > e {
				differs++
			}
		}
		if m.Exact() != (x.Band >= len(ref)) {
			t.Errorf("%+v against %d symbols: exact is %v", x, len(ref), m.Exact())
		}
	}
	if differs < 50 {
		t.Errorf("%d losses that a band changes: this tests little", differs)
	}
	if _, err := (Local{Match: 1, Band: -1}).Machine(nil, 1, 1); err == nil ||
		!strings.Contains(err.Error(), "band -1") {
		t.Errorf("a negative band: %v", err)
	}
	if string((Local{Match: 1, Band: 1}).AppendKey(nil)) == string((Local{Match: 1}).AppendKey(nil)) {
		t.Error("a band makes no difference to the key of a cache")
	}
}

// What a band costs in log Z is estimated, and within reach of the truth.
func TestLocalBandError(t *testing.T) {
	ref := publishedRef(0, 9)
	for j := range ref {
		ref[j] %= 4
	}
	p := publishedPotentials(1, 4, 9, 2)
	x := Local{Match: 1, Sub: -1, Ins: -1, Del: -1}
	eval := func(band int, gamma float64) *Result {
		x.Band = band
		m, err := x.Machine(ref, 4, 9)
		if err != nil {
			t.Fatal(err)
		}
		r := new(Result)
		if err := new(Evaluator).Eval(m, p, gamma, WantError|WantMarginals, r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, gamma := range []float64{1, -1} {
		exact := eval(0, gamma)
		last := math.Inf(1)
		for band := 1; band <= 3; band++ {
			r := eval(band, gamma)
			off := math.Abs(r.LogZ - exact.LogZ)
			if gamma*(r.LogZ-exact.LogZ) < 0 || off > last {
				t.Errorf("γ %v, band %d: log Z %v, exactly %v; %v off with the band before", gamma, band,
					r.LogZ, exact.LogZ, last)
			}
			last = off
			if r.LogZErrorKind != ErrorEstimate || r.LogZError < off*0.7 || r.LogZError > 2*off+0.02 {
				t.Errorf("γ %v, band %d: off by %v, estimate %v (%v)", gamma, band, off, r.LogZError,
					r.LogZErrorKind)
			}
		}
		if r := eval(9, gamma); r.LogZError != 0 || r.LogZErrorKind == ErrorEstimate || r.LogZ != exact.LogZ {
			t.Errorf("a band of everything: %v ± %v", r.LogZ, r.LogZError)
		}
	}
}

// Sentences have a banded local loss, and the error of an exact one names the band.
func TestLocalBandOfSentences(t *testing.T) {
	ref := randomRef(rand.New(rand.NewPCG(92, 2)), 50, 15)
	x := Local{Match: 1, Sub: -1, Ins: -1, Del: -1}
	_, err := x.Machine(ref, 15, 50)
	var b *BudgetError
	if !errors.As(err, &b) || b.Band < 1 || !strings.Contains(err.Error(), "try band") {
		t.Fatalf("50 symbols: %v", err)
	}
	x.Band = b.Band
	m, err := x.Machine(ref, 15, 50)
	if err != nil {
		t.Fatal(err)
	}
	u := randomRef(rand.New(rand.NewPCG(92, 3)), 50, 15)
	if got, want := m.Loss(u), x.Value(u, ref); !near(got, want) {
		t.Errorf("loss %v, want %v", got, want)
	}
}

// leastDiagonal counts the states of the least deterministic machine of Local on the diagonal
// alone, with gains of 1 and -1, for l symbols: classes of (h, M) after t of them by how much M
// grows in all futures, from the last layer back.
func leastDiagonal(l int) int {
	type state struct{ h, m int }
	layers := []map[state]int{{{}: 0}}
	step := func(s state) [2]state { // on a match, and on a mismatch
		return [2]state{{s.h + 1, max(s.m, s.h+1)}, {max(s.h-1, 0), s.m}}
	}
	for t := range l {
		next := map[state]int{}
		for s := range layers[t] {
			for _, to := range step(s) {
				next[to] = 0
			}
		}
		layers = append(layers, next)
	}
	total := 1 // the last layer, where nothing grows any more
	for t := l - 1; t >= 0; t-- {
		classes := map[[3]int]int{}
		for s := range layers[t] {
			to := step(s)
			key := [3]int{to[0].m - s.m, layers[t+1][to[0]], layers[t+1][to[1]]}
			if _, ok := classes[key]; !ok {
				classes[key] = len(classes)
			}
			layers[t][s] = classes[key]
		}
		total += len(classes)
	}
	return total
}

// The figures behind the claim in Local's comment that no machine is linear, nor quadratic, in the
// length.
func TestLeastLocalMachine(t *testing.T) {
	for l, want := range map[int]int{20: 252, 40: 1575, 80: 10962, 160: 81675} {
		if got := leastDiagonal(l); got != want {
			t.Errorf("l = %d: %d states, the comment says %d", l, got, want)
		}
	}
}
