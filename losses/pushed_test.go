package losses

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// enumerateFrom is Naive with the greatest γ L taken out before a potential is added,
// which GRAD-NAIVE does not do: the sums θ + γ L of the others lose places of θ.
func enumerateFrom(e Edit, ref []int, p *Potentials, gamma float64) *Result {
	var us [][]int
	u := make([]int, len(p.Sizes))
	for t := 0; t >= 0; {
		us = append(us, slices.Clone(u))
		for t = len(u) - 1; t >= 0; t-- {
			if u[t]++; u[t] < p.Sizes[t] {
				break
			}
			u[t] = 0
		}
	}
	top := e.Value(us[0], ref)
	for _, u := range us {
		if x := e.Value(u, ref); gamma > 0 && x > top || gamma < 0 && x < top {
			top = x
		}
	}
	r := &Result{MaxAug: math.Inf(-1)}
	r.Marginals = shapeLike(nil, p)
	z, z0, best := 0.0, 0.0, math.Inf(-1)
	for _, u := range us {
		x, theta := e.Value(u, ref), p.Score(u)
		w := math.Exp(theta + gamma*(x-top)) // no loss exceeds top
		z, r.Expected = z+w, r.Expected+w*x
		z0, r.Risk = z0+math.Exp(theta), r.Risk+math.Exp(theta)*x
		for s := range r.Marginals {
			r.Marginals[s][p.Window(u, s)] += w
		}
		if y := theta + gamma*(x-top); y > best {
			best, r.ArgmaxAug = y, u
		}
	}
	for _, row := range r.Marginals {
		for k := range row {
			row[k] /= z
		}
	}
	r.Expected, r.Risk = r.Expected/z, r.Risk/z0
	r.LogZ, r.MaxAug = gamma*top+math.Log(z), gamma*top+best
	return r
}

// With costs of both signs and γ so large that the constant of a machine, the least
// loss of all, leaves no place for a potential, results are those of enumeration: the
// losses that count are found without a subtraction.
func TestPushedAgainstEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	pushed, zeros := 0, 0
	for i := range 300 {
		alphabet, l := 2+rng.IntN(2), 1+rng.IntN(4)
		ref := randomRef(rng, rng.IntN(6), alphabet)
		e := Edit{Match: -float64(rng.IntN(9)) / 4, Sub: float64(rng.IntN(9)-2) / 4,
			Ins: float64(rng.IntN(9)-1) / 4, Del: float64(rng.IntN(9)-1) / 4}
		gamma := math.Copysign(math.Pow(10, 5+9*rng.Float64()), float64(rng.IntN(2))-0.5)
		if i%10 == 0 {
			gamma = math.Copysign(1e300, gamma)
		}
		m, err := e.Machine(ref, alphabet, l)
		if err != nil {
			t.Fatal(err)
		}
		p := publishedPotentials(i, alphabet, l, 1+rng.IntN(2))
		var ev Evaluator
		var got Result
		want := enumerateFrom(e, ref, p, gamma)
		if math.IsInf(want.LogZ, 0) {
			if err := ev.Eval(m, p, gamma, 0, &got); !errors.Is(err, ErrRange) {
				t.Errorf("case %d %+v γ %v: %v, γ L is beyond the range", i, e, gamma, err)
			}
			continue
		}
		if err := ev.Eval(m, p, gamma, WantMarginals|WantExpected|WantMaxAug|WantRisk, &got); err != nil {
			t.Errorf("case %d %+v ref %v l %d γ %v: %v, by enumeration %v", i, e, ref, l, gamma, err,
				want.LogZ)
			continue
		}
		suited, err := m.suited(gamma)
		if err != nil {
			t.Fatal(err)
		}
		if q := suited.pushed(gamma); q != suited {
			pushed++
			for range 5 {
				if u := randomRef(rng, l, alphabet); q.Loss(u) != e.Value(u, ref) {
					t.Fatalf("case %d: the pushed loss of %v is %v, should be %v", i, u, q.Loss(u),
						e.Value(u, ref))
				}
			}
			if want.Expected == 0 {
				zeros++
			}
		}
		for name, x := range map[string][2]float64{"log Z": {got.LogZ, want.LogZ},
			"E[L]": {got.Expected, want.Expected}, "risk": {got.Risk, want.Risk}, "max": {got.MaxAug,
				want.MaxAug}} {
			if !(math.Abs(x[0]-x[1]) <= 1e-10*math.Max(1, math.Abs(x[1]))) {
				t.Errorf("case %d %+v ref %v l %d γ %v: %s %v, by enumeration %v", i, e, ref, l, gamma, name,
					x[0], x[1])
			}
		}
		for s, row := range want.Marginals {
			for k, x := range row {
				if !(math.Abs(got.Marginals[s][k]-x) <= 1e-10) {
					t.Errorf("case %d %+v γ %v: marginal %d %d is %v, by enumeration %v", i, e, gamma, s, k,
						got.Marginals[s][k], x)
				}
			}
		}
		us := make([][]int, 3)
		if err := ev.Sample(m, p, gamma, rng, us); err != nil {
			t.Errorf("case %d %+v γ %v: sample: %v", i, e, gamma, err)
		}
		best := e.Value(want.ArgmaxAug, ref)
		for _, u := range us { // losses are quarters: no other than the greatest γ L has any mass
			if e.Value(u, ref) != best {
				t.Errorf("case %d %+v γ %v: sample %v of loss %v, the greatest is %v", i, e, gamma, u,
					e.Value(u, ref), best)
			}
		}
	}
	if pushed < 100 || zeros < 10 {
		t.Errorf("%d machines were pushed, %d with a result near 0: the test says little", pushed, zeros)
	}
}

// Costs whose sums are rounded are not pushed: times such a γ, the loss itself is in
// doubt, and where log Z is its difference from a constant, that is said.
func TestPushedOnlyWhereExact(t *testing.T) {
	e := Edit{Match: -0.7, Sub: 0.1, Ins: 0.3, Del: 0.3}
	m, err := e.Machine([]int{0, 1, 0, 1}, 2, 4)
	if err != nil {
		t.Fatal(err)
	}
	var r Result
	p := publishedPotentials(1, 2, 4, 1)
	for _, gamma := range []float64{1, 1e12} {
		err := new(Evaluator).Eval(m, p, gamma, 0, &r)
		var want Result
		if err := Naive(func(u []int) float64 { return e.Value(u, []int{0, 1, 0, 1}) }, p, gamma, 0, nil,
			&want); err != nil {
			t.Fatal(err)
		}
		if err != nil && !errors.Is(err, ErrRange) || err == nil &&
			math.Abs(r.LogZ-want.LogZ) > 1e-9*math.Abs(want.LogZ) || gamma == 1 && err != nil {
			t.Errorf("γ %v: %v, %v; by enumeration %v", gamma, r.LogZ, err, want.LogZ)
		}
	}
}
