package minimax

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/dense"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

func parsed(t *testing.T, names string) []Loss {
	t.Helper()
	var out []Loss
	for _, name := range strings.Split(names, ",") {
		l, err := score.ParsePointwise(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, l)
	}
	return out
}

func sonar(t *testing.T) *Data {
	t.Helper()
	tab, err := table.Open(os.DirFS("../../testdata/tables/uci"), "sonar.csv.gz",
		&table.Options{Target: "class", Task: table.Classification})
	if err != nil {
		t.Fatal(err)
	}
	e, err := dense.NewEncoder(tab, dense.Standard)
	if err != nil {
		t.Fatal(err)
	}
	d, err := e.Data(tab, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Mixtures of kinks and powers on real rows, where a feature has three or four of them: the
// default solver reaches the gap that it has by default, and Newton's method one a hundred
// times smaller. Steps are bounded: these are milliseconds.
func TestMixturesOfKinksAndPowers(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers alone, and many: what runs side by side is in TestDeterminism")
	}
	d := sonar(t)
	for _, names := range []string{"1-norm,2-norm,1.5-norm", "1-norm,1.5-norm,hinge", "1-norm,2-norm",
		"2-norm,1.5-norm", "1.5-norm,3-norm,cross-entropy", "zero-one,hinge,1-norm,cross-entropy", "8-norm,hinge",
		"1-norm", "hinge"} {
		for _, units := range []Normalization{Lipschitz, Raw} {
			for _, o := range []Options{{Losses: ThesisLosses()},
				{Losses: ThesisLosses(), Solver: Newton, Gap: 1e-5}} {
				o.Losses, o.Normalization, o.ScoreBound, o.Beta1, o.Workers = parsed(t, names), units, 3, 1e-4, 1
				last := run.Row{}
				o.Control.Recorder = run.RecorderFunc(func(r run.Row) error { last = r; return nil })
				f, err := Train(d, &o)
				if err != nil {
					t.Fatal(err)
				}
				asked := o.Gap
				if asked == 0 {
					asked = 1e-3
				}
				if !(f.Gap() <= asked*math.Max(leastValue, f.Certificate.Upper)) || f.Reason != run.GapSmall {
					t.Errorf("%s in units %s by %q: a gap of %.3g at %.6g (%s, %s)", names, units, o.Solver, f.Gap(),
						f.Certificate.Upper, last.Stage, f.Reason)
				}
				if o.Solver == Newton && last.Evaluations > 700 {
					t.Errorf("%s in units %s: %d steps", names, units, last.Evaluations)
				}
			}
		}
	}
}

// Newton's method, over preferences that are not the simplex, with weights of examples and
// several outputs, proves what dual ascent proves; with the same bits for any number of workers.
func TestNewtonAgrees(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	d := &Data{Rows: 300, Features: 6, Classes: 3}
	for i := range d.Rows {
		d.Class = append(d.Class, int32(i%3))
		d.Weight = append(d.Weight, float64(i%4))
		for j := range d.Features {
			v := rng.NormFloat64() + float64(i%3*j)/4
			if j == 2 {
				v = 0 // a feature that is nowhere
			}
			d.X = append(d.X, v)
		}
	}
	for name, o := range map[string]Options{
		"simplex": {Losses: ThesisLosses()},
		"bounds":  {Losses: ThesisLosses(), Preferences: Preferences{Lo: []float64{0.1}, Hi: []float64{0.6}}},
		"vertices": {Losses: ThesisLosses(), Preferences: Preferences{
			Vertices: [][]float64{{1, 0, 0, 0}, {0, 0.5, 0.5, 0}}}},
		"inequalities": {Losses: ThesisLosses(), Preferences: Preferences{A: [][]float64{{1, -2, 0, 0}},
			B: []float64{0.1}}},
		"ball":     {Losses: ThesisLosses(), Preferences: Preferences{Radius: 0.7}},
		"fixed":    {Losses: ThesisLosses(), Fixed: []float64{1, 2, 3, 4}},
		"regrets":  {Losses: ThesisLosses(), Normalization: Regret},
		"handicap": {Losses: ThesisLosses(), Beta2: 0.05},
	} {
		if testing.Short() && name != "simplex" {
			continue // one is enough to see what runs side by side
		}
		o.Beta1, o.Gap = 1e-2, 2e-4
		o.Solver = DualAscent
		want, err := Train(d, &o)
		if err != nil {
			t.Fatal(name, err)
		}
		o.Solver = Newton
		var fits []*Fit
		for _, o.Workers = range []int{1, 4} {
			f, err := Train(d, &o)
			if err != nil {
				t.Fatal(name, err)
			}
			fits = append(fits, f)
		}
		f := fits[0]
		if !slices.Equal(f.Model.Params, fits[1].Model.Params) || !slices.Equal(f.Lambda, fits[1].Lambda) {
			t.Errorf("%s: another model with four workers", name)
		}
		if f.Reason != run.GapSmall || f.Certificate.Lower > want.Certificate.Upper+1e-4 ||
			want.Certificate.Lower > f.Certificate.Upper+1e-4 {
			t.Errorf("%s: [%v, %v] (%s), dual ascent has [%v, %v]", name, f.Certificate.Lower, f.Certificate.Upper,
				f.Reason, want.Certificate.Lower, want.Certificate.Upper)
		}
	}
}

// The matrix that a solution for one λ comes with is minus the second derivative of
// D(λ) = min_w φ(w, λ), and the objectives there are its gradient.
func TestNewtonSecondDerivative(t *testing.T) {
	d := sonar(t)
	g, _, _, err := NewGame(d, &Options{Losses: parsed(t, "cross-entropy,2-norm,3-norm"), Beta1: 1e-2,
		ScoreBound: 3, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	s := g.newton(0)
	at := func(lambda []float64) (values, bend []float64) {
		w := make([]float64, g.net.Dim())
		bend, _, err := s.Minimize(t.Context(), g, w, lambda, 1e-22)
		if err != nil {
			t.Fatal(err)
		}
		values = make([]float64, len(lambda))
		if _, err := g.Eval(w, lambda, nil, values); err != nil {
			t.Fatal(err)
		}
		return values, bend
	}
	lambda := []float64{0.5, 0.3, 0.2}
	_, bend := at(lambda)
	for k := range lambda {
		const h = 1e-4
		up, down := slices.Clone(lambda), slices.Clone(lambda)
		up[k] += h
		down[k] -= h
		a, _ := at(up)
		b, _ := at(down)
		for l := range lambda {
			want := (a[l] - b[l]) / (2 * h)
			if got := -bend[k*3+l]; math.Abs(got-want) > 1e-4*(math.Abs(want)+1e-3) {
				t.Errorf("∂²D/∂λ_%d∂λ_%d is %v, by differences %v", k, l, got, want)
			}
		}
	}
}

// What Newton's method is not for is refused by name.
func TestNewtonRefuses(t *testing.T) {
	d := &Data{Rows: 6, Features: 1, Classes: 3, X: []float64{1, 2, 3, 4, 5, 6},
		Class: []int32{0, 1, 2, 0, 1, 2}}
	for name, o := range map[string]Options{
		"norm":    {Losses: ThesisLosses(), Beta1: 1, Norm: true},
		"ball":    {Losses: ThesisLosses(), Beta1: 1, Radius: 1},
		"softmax": {Losses: ThesisLosses(), Beta1: 1, MultiClass: Softmax}, "penalty": {Losses: ThesisLosses()},
		"convexity": {Losses: ThesisLosses(), Beta1: 1, ZeroOne: RampSurrogate},
	} {
		o.Solver = Newton
		if _, err := Train(d, &o); err == nil || !strings.Contains(err.Error(), "newton is for") {
			t.Errorf("%s: %v", name, err)
		}
	}
	o := Options{Losses: ThesisLosses(), Beta1: 1, Solver: Newton}
	o.Control.Resume = &run.Checkpoint{Solver: saddle.NewtonSolver}
	if _, err := Train(d, &o); err == nil {
		t.Error("an empty checkpoint was taken")
	}
	// Nor is one of a stage that the run does not have.
	for _, solver := range []string{string(Smoothed), normSolver, radialSolver, saddle.NewtonSolver,
		saddle.PlanesSolver} {
		for _, o := range []Options{{Beta1: 1, NoPolish: true}, {Radius: 1, NoPolish: true},
			{Beta1: 1, Norm: true, NoPolish: true}} {
			o.Control.Resume = &run.Checkpoint{Solver: solver}
			if _, err := Train(d, &o); !errors.Is(err, run.ErrOther) {
				t.Errorf("a checkpoint of %s: %v", solver, err)
			}
		}
	}
}
