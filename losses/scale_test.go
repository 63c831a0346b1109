package losses

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// scales are what costs are multiplied by where nothing may depend on their unit.
var scales = []float64{1e-200, 3e-101, 1.1e-12, 7e-5, 1, 3, 1e5, 1e12, 1e101, 1e200}

// scaled returns a loss with s times its costs.
func scaled(loss valued, s float64) valued {
	rows := func(in [][]float64) (out [][]float64) {
		for _, row := range in {
			var r []float64
			for _, x := range row {
				r = append(r, x*s)
			}
			out = append(out, r)
		}
		return out
	}
	row := func(in []float64) []float64 {
		if in == nil {
			return nil
		}
		return rows([][]float64{in})[0]
	}
	switch x := loss.(type) {
	case Edit:
		x.Match, x.Sub, x.Ins, x.Del = x.Match*s, x.Sub*s, x.Ins*s, x.Del*s
		x.SubTable, x.InsTable, x.DelTable = rows(x.SubTable), row(x.InsTable), row(x.DelTable)
		return x
	case Local:
		x.Match, x.Sub, x.Ins, x.Del = x.Match*s, x.Sub*s, x.Ins*s, x.Del*s
		return x
	case Hamming:
		x.Scale *= s
		return x
	}
	panic("no costs")
}

// Costs in another unit, with γ in the inverse of it, change nothing but the unit of
// the losses: on every path, log Z and the gradient are the same to 1e-9, E[L] and
// the risk to 1e-9 of the loss.
func TestUnitsOfCosts(t *testing.T) {
	const alphabet, l = 3, 4
	ref := []int{0, 1, 2, 1}
	limit := 1.7
	for name, c := range map[string]struct {
		loss valued
		cap  *float64
	}{
		"unit":         {loss: Unit},
		"decimal":      {loss: Edit{Match: .03, Sub: .1, Ins: .37, Del: .21}},
		"irrational":   {loss: Edit{Sub: math.Sqrt2, Ins: math.Pi / 3, Del: math.E / 3}},
		"small beside": {loss: Edit{Sub: 1, Ins: 1e-5, Del: 1.0000001}},
		"far apart":    {loss: Edit{Sub: 1, Ins: 3.7e-9, Del: 1.1e-9}},
		"both signs":   {loss: SmithWaterman},
		"tables": {loss: Edit{SubTable: [][]float64{{0, .7, 1.3}, {.2, 0, 1.1}, {1, .9, .1}},
			InsTable: []float64{1, .5, .3}, DelTable: []float64{.8, 1, .6}}},
		"local":   {loss: Local{Match: 1, Sub: -.3, Ins: -.7, Del: -1}},
		"hamming": {loss: Hamming{Scale: .7}},
		"capped":  {loss: Edit{Sub: .9, Ins: 1, Del: 1}, cap: &limit},
		"banded":  {loss: Edit{Sub: .9, Ins: 1, Del: 1, Band: 1}},
		"banded tables": {loss: Edit{SubTable: [][]float64{{0, .7, 1.3}, {.2, 0, 1.1}, {1, .9, .1}},
			InsTable: []float64{1, .5, .3}, DelTable: []float64{.8, 1, .6}, Band: 1}},
	} {
		p := publishedPotentials(3, alphabet, l, 2)
		for _, gamma := range []float64{1, -.8} {
			const want = WantMarginals | WantExpected | WantRisk | WantMaxAug
			value := func(u []int) float64 { return c.loss.Value(u, ref) }
			if c.cap != nil {
				value = func(u []int) float64 { return min(*c.cap, c.loss.Value(u, ref)) }
			}
			var naive Result
			if err := Naive(value, p, gamma, want, nil, &naive); err != nil {
				t.Fatal(err)
			}
			for _, s := range scales {
				loss := scaled(c.loss, s)
				opts := &GeneralOptions{}
				if c.cap != nil {
					x := *c.cap * s
					opts.Cap = &x
				}
				a, err := generalAutomaton(loss, Strings(alphabet, l), ref, alphabet, opts)
				if err != nil {
					t.Fatal(err)
				}
				general, err := EvalGeneral(p, a, gamma/s, want, nil, ops.Limits{})
				if err != nil {
					t.Errorf("%s times %v: general: %v", name, s, err)
					continue
				}
				paths := map[string]*Result{"general": &general.Result}
				swept, err := a.Machine(alphabet, l)
				if err != nil {
					t.Fatal(err)
				}
				machines := map[string]*Machine{"swept": swept}
				if c.cap == nil {
					if machines["direct"], err = loss.Machine(ref, alphabet, l); err != nil {
						t.Fatal(err)
					}
				}
				for path, m := range machines {
					paths[path] = &Result{}
					if err := new(Evaluator).Eval(m, p, gamma/s, want, paths[path]); err != nil {
						t.Errorf("%s times %v: %s: %v", name, s, path, err)
						delete(paths, path)
					}
				}
				for path, r := range paths {
					for _, x := range []struct {
						what        string
						got, wanted float64
					}{
						{"log Z", r.LogZ, naive.LogZ}, {"E[L]", r.Expected / s, naive.Expected},
						{"risk", r.Risk / s, naive.Risk}, {"max aug", r.MaxAug, naive.MaxAug},
					} {
						if !(math.Abs(x.got-x.wanted) <= 1e-9*max(1, math.Abs(x.wanted))) {
							t.Errorf("%s times %v, γ %v: %s: %s is %v, want %v", name, s, gamma, path, x.what,
								x.got, x.wanted)
						}
					}
					for i, row := range r.Marginals {
						for j, x := range row {
							if !(math.Abs(x-naive.Marginals[i][j]) <= 1e-9) {
								t.Errorf("%s times %v, γ %v: %s: marginal %d of row %d is %v, want %v", name,
									s, gamma, path, j, i, x, naive.Marginals[i][j])
							}
						}
					}
				}
			}
		}
	}
}

// The cost of a band is the same in every unit, on the direct path, on the general one and for a
// user's transducer.
func TestUnitsOfBandErrors(t *testing.T) {
	fsttest.OneGoroutine(t)
	const alphabet, l = 3, 9
	ref := []int{0, 1, 1, 2, 0, 2, 1, 0, 0, 1}
	kinds := map[ErrorKind]int{}
	for name, base := range map[string]Edit{
		"constants": {Sub: 1.5, Ins: 1, Del: .8, Band: 1},
		"tables":    {Sub: 1.5, InsTable: []float64{1, .5, .9}, DelTable: []float64{.8, 1, .6}, Band: 1},
		"no gaps":   {Match: -1, Sub: 1, Band: 1},
	} {
		for k, gamma := range []float64{1, -1, 1, -1} {
			p := publishedPotentials(3, alphabet, l, 1)
			if k > 1 { // one that knows the reference, for which bounds are certified
				for t, row := range p.Theta {
					row[ref[t]] += 12
				}
			}
			var first [3]Result
			for i, s := range append([]float64{1}, scales...) {
				e := scaled(base, s).(Edit)
				m, err := e.Machine(ref, alphabet, l)
				if err != nil {
					t.Fatal(err)
				}
				var r [3]Result
				if err := new(Evaluator).Eval(m, p, gamma/s, WantError, &r[0]); err != nil {
					t.Fatal(err)
				}
				model, err := Model(p)
				if err != nil {
					t.Fatal(err)
				}
				e.Band = 0
				u, err := e.Transducer(alphabet)
				if err != nil {
					t.Fatal(err)
				}
				opts := &GeneralOptions{Band: 1}
				own, err := e.Automaton(Strings(alphabet, l), ref, alphabet, opts)
				if err != nil {
					t.Fatal(err)
				}
				users, err := TropicalAutomaton(Strings(alphabet, l), u, ref, opts)
				if err != nil {
					t.Fatal(err)
				}
				for k, a := range []*Automaton{own, users} {
					x, err := (&Lattice{A: model}).Eval(a, gamma/s, WantError, ops.Limits{})
					if err != nil {
						t.Fatal(err)
					}
					r[k+1] = x.Result
				}
				if i == 0 {
					first = r
				}
				kinds[first[0].LogZErrorKind]++
				for k, path := range []string{"direct", "general", "transducer"} {
					within := 1e-9
					if first[k].LogZErrorKind == ErrorEstimate {
						within = 0.03 // rounding may change a string that is drawn
					}
					if r[k].LogZErrorKind != first[k].LogZErrorKind ||
						!(math.Abs(r[k].LogZError-first[k].LogZError) <= within*first[k].LogZError) {
						t.Errorf("%s times %v, γ %v: %s: %v %v, and %v %v in their own unit", name, s, gamma,
							path, r[k].LogZErrorKind, r[k].LogZError, first[k].LogZErrorKind, first[k].LogZError)
					}
				}
			}
		}
	}
	if kinds[ErrorBound] == 0 || kinds[ErrorEstimate] == 0 {
		t.Errorf("direct evaluations were of the kinds %v: bounds and estimates are both to be told", kinds)
	}
}

// A user's transducer of any weights, in any unit, against enumeration.
func TestUnitsOfTransducers(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 2))
	for i := range 60 {
		alphabet, l := 1+rng.IntN(3), 1+rng.IntN(4)
		ref := randomRef(rng, rng.IntN(5), alphabet)
		// An edit distance with costs of its own for each pair.
		row := func() []float64 {
			r := make([]float64, alphabet)
			for k := range r {
				r[k] = rng.ExpFloat64() * math.Pow(10, float64(-rng.IntN(4)))
			}
			return r
		}
		e := Edit{InsTable: row(), DelTable: row()}
		for range alphabet {
			e.SubTable = append(e.SubTable, row())
		}
		p := randomPotentials(rng, NewPotentials(alphabet, l, 1).Sizes, 2)
		var naive Result
		if err := Naive(func(u []int) float64 { return e.Value(u, ref) }, p, 1, WantMarginals, nil,
			&naive); err != nil {
			t.Fatal(err)
		}
		for _, s := range scales {
			u, err := scaled(e, s).(Edit).Transducer(alphabet)
			if err != nil {
				t.Fatal(err)
			}
			// A second state, so that it is not the library's own.
			u.AddArc(0, fst.Arc[semiring.Tropical64]{ILabel: 1, OLabel: 1,
				Weight: semiring.Tropical64(100 * s), NextState: u.AddState()})
			u.SetFinal(1, 0)
			a, err := TropicalAutomaton(Strings(alphabet, l), u, ref, nil)
			if err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprintf("case %d times %v", i, s)
			everyString(alphabet, l, func(y []int) {
				if got, want := a.Loss(y)/s, e.Value(y, ref); !(math.Abs(got-want) <= 1e-9*want) {
					t.Errorf("%s: loss of %v is %v, want %v", name, y, got, want)
				}
			})
			r, err := EvalGeneral(p, a, 1/s, WantMarginals, nil, ops.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if !(math.Abs(r.LogZ-naive.LogZ) <= 1e-9*max(1, math.Abs(naive.LogZ))) && r.LogZ != naive.LogZ {
				t.Errorf("%s: log Z is %v, want %v", name, r.LogZ, naive.LogZ)
			}
		}
	}
}
