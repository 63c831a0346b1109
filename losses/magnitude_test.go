package losses

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exactEdit is the definition of Edit in numbers that do not round.
func exactEdit(e Edit, y, ref []int) *big.Float {
	num := func(x float64) *big.Float { return new(big.Float).SetPrec(2400).SetFloat64(x) }
	add := func(x *big.Float, c float64) *big.Float { return new(big.Float).SetPrec(2400).Add(x, num(c)) }
	var before []*big.Float
	for t := range len(y) + 1 {
		row := make([]*big.Float, len(ref)+1)
		for j := range row {
			offer := func(x *big.Float) {
				if row[j] == nil || x.Cmp(row[j]) < 0 {
					row[j] = x
				}
			}
			if t+j == 0 {
				offer(num(0))
			}
			if j > 0 {
				offer(add(row[j-1], e.cost(-1, ref[j-1])))
			}
			if t > 0 {
				offer(add(before[j], e.cost(y[t-1], -1)))
			}
			if t > 0 && j > 0 {
				offer(add(before[j-1], e.cost(y[t-1], ref[j-1])))
			}
		}
		before = row
	}
	return before[len(ref)]
}

// everyString calls f for every string of l symbols.
func everyString(alphabet, l int, f func(u []int)) {
	u := make([]int, l)
	for {
		f(u)
		t := l - 1
		for ; t >= 0; t-- {
			if u[t]++; u[t] < alphabet {
				break
			}
			u[t] = 0
		}
		if t < 0 {
			return
		}
	}
}

// A cost that forbids an operation leaves the others as they are.
func TestForbiddingCosts(t *testing.T) {
	table := func(x float64) [][]float64 { return [][]float64{{0, 1, 1}, {1, 0, x}, {1, 1, 0}} }
	ref := []int{0, 1, 0}
	for name, loss := range map[string]valued{
		"sub 1e30":         Edit{Sub: 1e30, Ins: 1, Del: 1},
		"sub 1e16":         Edit{Sub: 1e16, Ins: 1, Del: 1},
		"sub 1e300":        Edit{Sub: 1e300, Ins: 1, Del: 1},
		"entry 1e18":       Edit{SubTable: table(1e18), Ins: 1, Del: 1},
		"entry 1e14":       Edit{SubTable: table(1e14), Ins: 1, Del: 1},
		"entry 1e18, gaps": Edit{SubTable: table(1e18), Ins: 1e18, Del: 1e18},
		"gaps 1e7":         Edit{Sub: 1, Ins: 1e7, Del: 1e7},
		"gaps 1e10":        Edit{Sub: 1, Ins: 1e10, Del: 1e10},
		"gaps 1e17":        Edit{Sub: 1, Ins: 1e17, Del: 1e17},
		"gaps .1e17":       Edit{Sub: .1, Ins: .1e17, Del: .1e17, Match: .03},
		"gaps -1e16":       Edit{Sub: 1, Ins: -1e16, Del: -1e16},
		"match -1e17":      Edit{Match: -1e17, Sub: 1, Ins: 1, Del: 1},
		"all 1e17":         Edit{Sub: 2e17, Ins: 1e17, Del: 1e17},
		"sub 1e-20":        Edit{Sub: 1e-20, Ins: 1, Del: 1},
		"ins 1e300":        Edit{Sub: 1e-300, Ins: 1e300, Del: 1},
		"local sub -1e20":  Local{Match: 1, Sub: -1e20, Ins: -1, Del: -1},
		"local gaps -1e16": Local{Match: 1, Sub: -.3, Ins: -1e16, Del: -1e16},
		"local both":       Local{Match: 1, Sub: 1e12, Ins: -1, Del: -1},
	} {
		for _, alphabet := range []int{2, 3} {
			for _, l := range []int{3, 4} {
				m, err := loss.Machine(ref, alphabetOf(loss, alphabet), l)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				p := publishedPotentials(1, alphabetOf(loss, alphabet), l, 1)
				for _, gamma := range []float64{1, -1, .25} {
					want := WantMarginals | WantExpected | WantRisk
					var e Evaluator
					var got, ref1 Result
					if err := e.Eval(m, p, gamma, want, &got); err != nil {
						t.Errorf("%s γ %v: %v", name, gamma, err)
						continue
					}
					if err := Naive(func(u []int) float64 { return loss.Value(u, ref) }, p, gamma, want, nil,
						&ref1); err != nil {
						t.Fatal(err)
					}
					for what, x := range map[string][2]float64{"log Z": {got.LogZ, ref1.LogZ},
						"E[L]": {got.Expected, ref1.Expected}, "risk": {got.Risk, ref1.Risk}} {
						if !(math.Abs(x[0]-x[1]) <= 1e-10*math.Abs(x[1])) {
							t.Errorf("%s alphabet %d l %d γ %v: %s %v, want %v", name, alphabet, l, gamma,
								what, x[0], x[1])
						}
					}
					if math.Abs(ref1.LogZ) > 1e4 {
						continue // θ was lost beside it
					}
					if err := compareRows("marginals", got.Marginals, ref1.Marginals); err != nil {
						t.Errorf("%s γ %v: %v", name, gamma, err)
					}
				}
			}
		}
	}
}

func alphabetOf(x any, n int) int {
	if e, ok := x.(Edit); ok && e.SubTable != nil {
		return len(e.SubTable)
	}
	return n
}

// Costs of all magnitudes mixed: the loss of every string, against the
// definition in exact arithmetic. Where costs have one sign the machine is right
// to the last places; where they have both, it loses no more than the definition
// does in float64s, or says so.
func TestCostMagnitudes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 17))
	for i := range 400 {
		spread := []float64{2, 12, 20, 40, 300}[rng.IntN(5)]
		signs := i % 3 // 0: positive, 1: negative, 2: both
		cost := func() float64 {
			x := math.Pow(10, spread*(2*rng.Float64()-1))
			switch rng.IntN(6) {
			case 0:
				x = 0
			case 1:
				x = math.Pow(10, math.Round(spread*(2*rng.Float64()-1)))
			}
			if signs == 1 || signs == 2 && rng.IntN(2) == 0 {
				x = -x
			}
			return x
		}
		d := 2 + rng.IntN(2)
		l, m := rng.IntN(5), rng.IntN(5)
		e := Edit{Match: cost(), Sub: cost(), Ins: cost(), Del: cost()}
		row := func() []float64 {
			x := make([]float64, d)
			for k := range x {
				x[k] = cost()
			}
			return x
		}
		if i%2 == 0 {
			for range d {
				e.SubTable = append(e.SubTable, row())
			}
		}
		if i%5 == 0 {
			e.InsTable, e.DelTable = row(), row()
		}
		ref := randomRef(rng, m, d)
		machine, err := e.Machine(ref, d, l)
		if err != nil {
			t.Fatalf("case %d %+v: %v", i, e, err)
		}
		b := e.columns(ref, d, l)
		b.NoClamp = true
		var plain *Machine
		if b.Exact == nil {
			if plain, err = built(b); err != nil {
				t.Fatal(err)
			}
		}
		everyString(d, l, func(u []int) {
			exact := exactEdit(e, u, ref)
			want, _ := exact.Float64()
			slack := 1e-10 * math.Abs(want)
			if signs == 2 {
				slack += 1e-14 * math.Abs(machine.Base())
			}
			for name, got := range map[string]*Machine{"clamped": machine, "plain": plain} {
				if got != nil && !(math.Abs(got.Loss(u)-want) <= slack) {
					t.Fatalf("case %d %s %+v ref %v: loss of %v is %v, want %v (in float64s %v)", i, name, e,
						ref, u, got.Loss(u), want, e.Value(u, ref))
				}
			}
		})
	}
}

func ExampleEdit_forbidding() {
	m, err := Edit{Sub: 1e30, Ins: 1, Del: 1}.Machine([]int{0, 1, 0}, 2, 3)
	if err != nil {
		panic(err)
	}
	var r Result
	if err := new(Evaluator).Eval(m, NewPotentials(2, 3, 1), 1, WantExpected, &r); err != nil {
		panic(err)
	}
	fmt.Printf("%.4f\n", r.LogZ)
	// Output: 4.6045
}
