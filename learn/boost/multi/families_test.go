package multi

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/run"
)

// signs are predictors of values ±1 on n rows, as unlike as chance makes them, right on a share
// of the rows.
func signs(rng *rand.Rand, y []float64, n int, right float64) dictionary {
	var d dictionary
	for range n {
		h := make([]float64, len(y))
		for i := range h {
			h[i] = y[i]
			if rng.Float64() > right {
				h[i] = -y[i]
			}
		}
		d = append(d, h)
	}
	return d
}

// familyOf is the family whose dictionary has a term's predictor, or its negative.
func familyOf(p boost.Predictor, n int, families []Family) int {
	h := make([]float64, n)
	x := byRow(make([]int32, n))
	p.Predict(h, x, 0)
	minus := make([]float64, n)
	for i, v := range h {
		minus[i] = -v
	}
	return slices.IndexFunc(families, func(f Family) bool {
		return slices.ContainsFunc(f.Learner.(dictionary),
			func(g []float64) bool { return slices.Equal(g, h) || slices.Equal(g, minus) })
	})
}

// familyProblem has three domains and two families: many predictors that are right more often,
// dear, and a few cheap ones.
func familyProblem(seed uint64) (*boost.Data, []Family) {
	rng := rand.New(rand.NewPCG(seed, 3))
	var source []int32
	var y []float64
	for k := range 3 {
		for range 30 + 10*k {
			source = append(source, int32(k))
			y = append(y, float64(2*rng.IntN(2)-1))
		}
	}
	return &boost.Data{X: byRow(source), Y: y}, []Family{{signs(rng, y, 5, 0.65), 1},
		{signs(rng, y, 20, 0.7), 3.5}}
}

// The objective that a round reports and lowers is that of section 4.4 with penalties by family,
// F_k + r_k Σ_j alpha_j charge(fam(j)), as it is computed from the model alone.
func TestFamilyPenaltiesAreInTheObjective(t *testing.T) {
	for name, o := range map[string]Options{
		"softmax":       {FixedMu: true, Mu: 7},
		"sum, greedy":   {Objective: Sum, Round: Greedy},
		"own, slots":    {FixedMu: true, Directions: Own, Slots: DomainsOnly},
		"decrease":      {FixedMu: true, Score: DecreaseScore, Round: Greedy},
		"max, line":     *Thesis(LineSearch),
		"max, bound":    *Thesis(Bound),
		"max, rescued":  {Objective: Max, Directions: Own, Slots: DomainsOnly, Round: Greedy},
		"closed":        {FixedMu: true, Step: Closed, Round: Greedy},
		"closed, alone": *Thesis(Closed),
	} {
		d, families := familyProblem(5)
		o.Families, o.L1, o.Q, o.Rounds = families, 0.15, Uniform{3}, 12
		taken := [2]int{}
		var progress []*Progress
		watch := func(p *Progress) error { progress = append(progress, p); return nil }
		m := watched(t, d, &o, watch)
		rows := d.X.SourceCounts()
		for n, p := range progress {
			slots := map[int]bool{}
			for _, a := range p.Terms {
				if slots[a.Slot] {
					t.Errorf("%s: round %d adds terms of two families to slot %d", name, n+1, a.Slot)
				}
				slots[a.Slot] = true
			}
			part := m.Prefix(n + 1)
			norm := 0.0
			for s, e := range part.Slots {
				cost := 1.0
				if s == 3 {
					cost = 3
				}
				for _, term := range e.Terms {
					f := familyOf(term.Predictor, len(d.Y), families)
					if f < 0 {
						t.Fatalf("%s: a term of no family", name)
					}
					norm += term.Weight * cost * families[f].Charge
					if n == len(progress)-1 {
						taken[f]++
					}
				}
			}
			f, err := part.Scores(d.X, nil)
			if err != nil {
				t.Fatal(err)
			}
			loss := make([]float64, 3)
			for i, v := range f {
				loss[d.X.Source[i]] += math.Exp(-d.Y[i]*v) / float64(rows[d.X.Source[i]])
			}
			for k := range loss {
				loss[k] += 0.15 / math.Sqrt(float64(rows[k])) * norm
			}
			mu := o.Mu
			if mu == 0 {
				mu = 5
			}
			a := &aggregate{kind: o.Objective, set: &o.Target, mu: mu}
			if a.kind == "" {
				a.kind = SoftMax
			}
			near(t, name, p.Objective, a.value(loss), 1e-9)
			if n > 0 && o.Step != Closed && !(p.Objective <= progress[n-1].Objective*(1+1e-12)) {
				t.Errorf("%s: round %d: the objective rises from %v to %v", name, n+1,
					progress[n-1].Objective, p.Objective)
			}
			if t.Failed() {
				t.FailNow()
			}
		}
		if strings.Contains(name, "softmax") && (taken[0] == 0 || taken[1] == 0) {
			t.Errorf("%s: terms by family %v: the case shows nothing", name, taken)
		}
	}
}

// One family of charge 1 is the learner alone; a charge is a factor of the penalty; of a
// family that is dear enough there are no terms, though without the charge there are.
func TestFamilyCharges(t *testing.T) {
	d, families := familyProblem(6)
	for _, base := range []Options{{}, {Round: Greedy}, *Thesis(Closed), *Thesis(Bound),
		{Objective: Max, Directions: Own, Slots: DomainsOnly, Round: Greedy}} {
		base.Q, base.Rounds, base.L1 = Uniform{3}, 8, 0.05
		terms := func(change func(o *Options)) []boost.Term {
			o := base
			change(&o)
			var out []boost.Term
			for _, e := range trained(t, d, &o).Slots {
				out = append(out, e.Terms...)
			}
			return out
		}
		same := func(what string, a, b []boost.Term) {
			t.Helper()
			if len(a) != len(b) || len(a) == 0 {
				t.Fatalf("%s: %d terms and %d", what, len(a), len(b))
			}
			for j := range a {
				near(t, what, a[j].Weight, b[j].Weight, 1e-12)
				if familyOf(a[j].Predictor, len(d.Y), families) != familyOf(b[j].Predictor, len(d.Y), families) {
					t.Errorf("%s: term %d is another", what, j)
				}
			}
		}
		one := families[1].Learner
		same("one family", terms(func(o *Options) { o.Families = []Family{{one, 1}} }),
			terms(func(o *Options) { o.Learner = one }))
		same("a charge of 2", terms(func(o *Options) { o.Families = []Family{{one, 2}} }),
			terms(func(o *Options) { o.Learner, o.L1 = one, 0.1 }))
		for _, charge := range []float64{1, 64} {
			dear := 0
			for _, term := range terms(func(o *Options) { o.Families = []Family{families[0], {one, charge}} }) {
				if familyOf(term.Predictor, len(d.Y), families) == 1 {
					dear++
				}
			}
			if (dear > 0) != (charge == 1) {
				t.Errorf("charge %v: %d terms of that family", charge, dear)
			}
		}
	}
}

// In the literal algorithm the charge counts where predictors are compared, and in the closed
// step: of edges 0.4 at 0.1 and 0.6 at 0.4 the first is taken.
func TestFamilyChargesOwnScore(t *testing.T) {
	y := slices.Repeat([]float64{1}, 10)
	h := [][]float64{slices.Clone(y), slices.Clone(y)}
	for i := range 3 {
		h[0][i] = -1
		h[1][min(i, 1)] = -1
	}
	o := Thesis(Closed)
	o.Rounds, o.Q, o.Penalty = 1, Uniform{1}, []float64{0.1}
	o.Families = []Family{{dictionary{h[0]}, 1}, {dictionary{h[1]}, 4}}
	d := &boost.Data{X: byRow(make([]int32, 10)), Y: y}
	m := trained(t, d, o)
	if f := familyOf(m.Slots[0].Terms[0].Predictor, 10, o.Families); f != 0 {
		t.Errorf("family %d", f+1)
	}
	near(t, "step", m.Slots[0].Terms[0].Weight, closedStep(0.3, 0.1, 5), 1e-12)
	o.Families[1].Charge = 2 // 0.6 - 0.2 is more than 0.4 - 0.1
	m = trained(t, d, o)
	if f := familyOf(m.Slots[0].Terms[0].Predictor, 10, o.Families); f != 1 {
		t.Errorf("family %d", f+1)
	}
	near(t, "step", m.Slots[0].Terms[0].Weight, closedStep(0.2, 0.2, 5), 1e-12)
}

// And where the largest losses fall only along a common direction: a charge of 2 is twice the
// penalty there too.
func TestFamilyChargesCommonDirection(t *testing.T) {
	d, learners := stallA()
	h := dictionary{learners[0].(dictionary)[0], learners[1].(dictionary)[0]}
	h[0][21] = 1 // no symmetry
	train := func(charge, penalty float64) *Model {
		rescued := false
		o := &Options{Objective: Max, Directions: Own, Slots: DomainsOnly, Round: Greedy, Q: Uniform{2}, Rounds: 2,
			Penalty: []float64{penalty, 3 * penalty}, Families: []Family{{h, charge}}}
		watch := func(p *Progress) error {
			rescued = rescued ||
				p.Rescued == "a common direction of descent"
			return nil
		}
		m := watched(t, d, o, watch)
		if !rescued {
			t.Error("no step was along a common direction: the case shows nothing")
		}
		return m
	}
	a, b := train(2, 0.003), train(1, 0.006)
	for s := range a.Slots {
		if len(a.Slots[s].Terms) != len(b.Slots[s].Terms) || len(a.Slots[s].Terms) == 0 {
			t.Fatalf("slot %d: %d terms and %d", s+1, len(a.Slots[s].Terms), len(b.Slots[s].Terms))
		}
		for j := range a.Slots[s].Terms {
			near(t, "weight", a.Slots[s].Terms[j].Weight, b.Slots[s].Terms[j].Weight, 1e-12)
		}
	}
}

// A run with families goes on from its checkpoint as if it had not stopped, and its model is
// saved, loaded and judged like others.
func TestFamiliesResume(t *testing.T) {
	d := mixed(8, 3, 120, 3, 0.1)
	o := func() *Options {
		return &Options{Rounds: 8, L1: 0.05, Q: Uniform{3}, Families: TreeFamilies(d.X, []int{4, 1, 2}, 0)}
	}
	f := o().Families
	if f[1].Charge != 1 || !(f[0].Charge > f[2].Charge && f[2].Charge > 1) ||
		math.Abs(f[0].Charge-math.Sqrt(18.0/6)) > 1e-12 {
		t.Errorf("charges %v", f)
	}
	whole := trained(t, d, o())
	var file bytes.Buffer
	if _, _, err := Train(d, o(), &run.Control{CheckpointEvery: 3, Checkpoint: func(c *run.Checkpoint) error {
		if file.Len() > 0 {
			return nil
		}
		return c.Write(&file)
	}}); err != nil {
		t.Fatal(err)
	}
	c, err := run.ReadCheckpoint(&file)
	if err != nil {
		t.Fatal(err)
	}
	resumed, _, err := Train(d, o(), &run.Control{Resume: c})
	if err != nil {
		t.Fatal(err)
	}
	var a, b bytes.Buffer
	if err := whole.Write(&a); err != nil {
		t.Fatal(err)
	}
	if err := resumed.Write(&b); err != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Errorf("the resumed run's model is another: %v", err)
	}
	other := o()
	other.Families[0].Charge = 9
	if _, _, err := Train(d, other, &run.Control{Resume: c}); err == nil ||
		!strings.Contains(err.Error(), "families") {
		t.Errorf("other charges: %v", err)
	}
	if _, err := Bounds(whole, d, nil); err != nil {
		t.Error(err)
	}
	for _, bad := range []Options{{Families: []Family{}}, {Families: f, Learner: Stumps{}},
		{Families: []Family{{nil, 1}}}, {Families: []Family{{Stumps{}, -1}}},
		{Families: []Family{{Stumps{}, math.NaN()}}}} {
		bad.Q = Uniform{3}
		if _, _, err := Train(d, &bad, nil); err == nil {
			t.Errorf("%+v was accepted", bad.Families)
		}
	}
}
