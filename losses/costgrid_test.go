package losses

import (
	"fmt"
	"math"
	"testing"

	"github.com/tropica-fst/tropica/ops"
)

// Costs of any size make as many states on the general path as the same costs made
// small, where residuals that are equal in the reals are found to be, and the
// results of enumeration.
func TestGeneralOfLargeCosts(t *testing.T) {
	const alphabet, l = 3, 7
	ref := []int{0, 1, 0, 2, 1, 1}
	for _, base := range []Edit{
		{Sub: 1, Ins: 1, Del: 1},
		{Sub: 1.000001, Ins: 1, Del: 1}, // times 1e5: 1e5 and 1e5+.1
		{Sub: 1.0001931, Ins: 1, Del: 1.0000377},
		{Sub: .1, Ins: .37, Del: .21},
		{Match: -10, Sub: 1, Ins: 1, Del: 1},
		{Match: -9.9999971, Sub: .1000003, Ins: 1, Del: 1.0000007},
	} {
		plain := 0
		for _, scale := range []float64{1, 1 << 10, 1e5, 1e9} {
			loss := Edit{Match: base.Match * scale, Sub: base.Sub * scale, Ins: base.Ins * scale,
				Del: base.Del * scale}
			name := fmt.Sprintf("match %v sub %v ins %v del %v", loss.Match, loss.Sub, loss.Ins, loss.Del)
			a, err := generalAutomaton(loss, Strings(alphabet, l), ref, alphabet, nil)
			if err != nil {
				t.Fatal(err)
			}
			if plain == 0 {
				plain = a.States()
			}
			if a.States() != plain {
				t.Errorf("%s: %d states, and %d with costs smaller by %v", name, a.States(), plain, scale)
			}
			everyString(alphabet, l, func(u []int) {
				if got, want := a.Loss(u), loss.Value(u, ref); math.Abs(got-want) > 1e-9*math.Abs(want) &&
					math.Abs(got-want) > 1e-9*scale {
					t.Errorf("%s: loss of %v is %v, want %v", name, u, got, want)
				}
			})
			m, err := loss.Machine(ref, alphabet, l)
			if err != nil {
				t.Fatal(err)
			}
			for _, gamma := range []float64{1, -1, 1 / scale} {
				p := publishedPotentials(3, alphabet, l, 2)
				want := WantExpected | WantRisk | WantMaxAug
				if math.Abs(gamma)*scale <= 1 {
					want |= WantMarginals // else θ is lost beside the costs
				}
				var naive, direct Result
				if err := Naive(func(u []int) float64 { return loss.Value(u, ref) }, p, gamma, want, nil,
					&naive); err != nil {
					t.Fatal(err)
				}
				general, err := EvalGeneral(p, a, gamma, want, nil, ops.Limits{})
				if err != nil {
					t.Fatal(err)
				}
				if err := new(Evaluator).Eval(m, p, gamma, want, &direct); err != nil {
					t.Fatal(err)
				}
				for path, r := range map[string]*Result{"general": &general.Result, "direct": &direct} {
					r.ArgmaxAug = naive.ArgmaxAug // of strings that cost the same, any
					if err := compareResults(r, &naive, want); err != nil {
						t.Errorf("%s γ %v: %s: %v", name, gamma, path, err)
					}
				}
			}
		}
	}
}

// Costs that forbid leave the others as exact as without them, and the thesis'
// Smith-Waterman with a great gain is exact.
func TestCostGridOfForbiddingCosts(t *testing.T) {
	ref := []int{0, 1, 1, 0}
	for name, loss := range map[string]valued{
		"sub 1e300":   Edit{Sub: 1e300, Ins: .1, Del: .03},
		"sub 1e16":    Edit{Sub: 1e16, Ins: .1, Del: .03},
		"gaps 1e7":    Edit{Sub: .03, Ins: 1e7, Del: 1e7},
		"match -1e6":  Edit{Match: -1e6, Sub: 1, Ins: 1, Del: 1},
		"local 1e6":   Local{Match: 1e6, Sub: -.1, Ins: -1e5, Del: -.7},
		"gaps 1e-300": Edit{Sub: 1, Ins: 1e-300, Del: 1e-300},
		"all 1e-300":  Edit{Sub: 1e-300, Ins: 1e-300, Del: 1e-300},
		"none":        Edit{},
	} {
		a, err := generalAutomaton(loss, Strings(2, 5), ref, 2, nil)
		if err != nil {
			t.Fatal(err)
		}
		everyString(2, 5, func(u []int) {
			if got, want := a.Loss(u), loss.Value(u, ref); !near(got, want) {
				t.Errorf("%s: loss of %v is %v, want %v", name, u, got, want)
			}
		})
	}
}

// Decimals that are equal as sums are found to be: .1+.6 and .7 make the states of 1+6
// and 7.
func TestGeneralOfDecimals(t *testing.T) {
	states := func(e Edit) int {
		a, err := generalAutomaton(e, Strings(3, 7), []int{0, 1, 0, 2, 1, 1}, 3, nil)
		if err != nil {
			t.Fatal(err)
		}
		return a.States()
	}
	whole := Edit{Sub: 7, Ins: 1, Del: 6}
	for _, unit := range []float64{.1, .01, 1e-30, 1. / 3} {
		e := Edit{Sub: 7 * unit, Ins: unit, Del: 6 * unit}
		if got, want := states(e), states(whole); got != want {
			t.Errorf("%+v: %d states, and %d of whole numbers", e, got, want)
		}
	}
	if got, want := states(Edit{Sub: .7, Ins: .1, Del: .6}), states(whole); got != want {
		t.Errorf("decimals: %d states, and %d of whole numbers", got, want)
	}
}
