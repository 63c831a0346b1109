package losses

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/losses/internal/align"
)

// The rows of a herd end with the distances, whatever the costs, lengths and windows.
func TestHerdRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	for i := range 500 {
		alphabet, l, m := 1+rng.IntN(4), 1+rng.IntN(12), rng.IntN(14)
		e := randomEdit(rng, alphabet)
		e.Band = rng.IntN(4)
		ref, u := randomRef(rng, m, alphabet), randomRef(rng, l, alphabet)
		r := rows{e: e, ref: ref}
		r.first, r.last = align.BandWindows(l, m, e.Band)
		row, next := r.start(nil), []float64(nil)
		for s, y := range u {
			row, next = r.after(s, y, row, next), row
		}
		if got, want := r.diagonal(l, row), e.Value(u, ref); !near(got, want) {
			t.Fatalf("case %d %+v: %v against %v costs %v, by its rows %v", i, e, u, ref, want, got)
		}
	}
}

// A herd finds what a band costs, for orders 1 to 3, and strings of one length but references of
// another.
func TestHerd(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 54))
	for i := range 12 {
		const alphabet, l = 3, 9
		m := 7 + i%5
		e := []Edit{Unit, {Sub: 1.5, Ins: 1, Del: 0.8}}[i%2]
		ref, p := randomRef(rng, m, alphabet), publishedPotentials(i, alphabet, l, 1+i%3)
		gamma := []float64{1, 2, -0.5}[i/2%3]
		logZ := func(band int) (*Machine, float64) {
			e.Band = band
			machine, err := e.Machine(ref, alphabet, l)
			if err != nil {
				t.Fatal(err)
			}
			var r Result
			if err := new(Evaluator).Eval(machine, p, gamma, 0, &r); err != nil {
				t.Fatal(err)
			}
			return machine, r.LogZ
		}
		_, exact := logZ(0)
		machine, banded := logZ(1)
		h := herd{gamma: gamma, whole: rows{e: e, ref: ref}, band: rows{e: e, ref: ref}}
		h.whole.first, h.whole.last = align.BandWindows(l, m, 0)
		h.band.first, h.band.last = align.BandWindows(l, m, 1)
		ev := new(Evaluator)
		s, err := ev.sampler(machine, p, gamma)
		if err != nil {
			t.Fatal(err)
		}
		got, spread, err := h.shortfall(s, rng, 8, 500, func() error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if want := exact - banded; math.Abs(got-want) > 0.02+4*spread || spread > 0.1+0.1*math.Abs(want) {
			t.Errorf("case %d γ %v: log Z - log Z' is %v, a herd says %v ± %v", i, gamma, want, got, spread)
		}
	}
}

// For hundreds of symbols, what an estimate says is no less than what wider bands make up for,
// and the estimates of two bands differ by what lies between these: with a plain sample they
// said 6 for 400 symbols where the next bands made up for 106.
func TestBandErrorGrows(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	const alphabet, l = 10, 200
	rng := rand.New(rand.NewPCG(55, 56))
	ref, p := randomRef(rng, l, alphabet), publishedPotentials(1, alphabet, l, 2)
	for i, gamma := range []float64{1, 1, -1} {
		e := []Edit{Unit, SmithWaterman, SmithWaterman}[i]
		var r [4]Result
		for band := 1; band <= 3; band++ {
			e.Band = band
			m, err := e.Machine(ref, alphabet, l)
			if err != nil {
				t.Fatal(err)
			}
			want := WantError
			if band == 3 {
				want = 0
			}
			if err := new(Evaluator).Eval(m, p, gamma, want, &r[band]); err != nil {
				t.Fatal(err)
			}
		}
		for band := 1; band <= 2; band++ {
			least := math.Abs(r[band].LogZ - r[3].LogZ)
			if r[band].LogZError < least {
				t.Errorf("match %v γ %v band %d: error %v, but band 3 makes up for %v", e.Match, gamma, band,
					r[band].LogZError, least)
			}
		}
		apart, errors := math.Abs(r[1].LogZ-r[2].LogZ), r[1].LogZError-r[2].LogZError
		if math.Abs(apart-errors) > 0.3*apart {
			t.Errorf("match %v γ %v: bands 1 and 2 are %v apart, what is said of them %v", e.Match, gamma,
				apart, errors)
		}
	}
}

// Where no string of a sample has a weight that counts, the estimate is the mean of what the
// strings are off by, at most, and not the logarithm of their number.
func TestShortfallRare(t *testing.T) {
	x, sure, err := shortfall(1, 100, math.Inf(1), func(i int) (float64, error) {
		return -50 - float64(i%7),
			nil
	})
	if err != nil || sure || x < 50 || x > 54 {
		t.Errorf("off by 50 to 56: estimate %v, sure %v, %v", x, sure, err)
	}
}
