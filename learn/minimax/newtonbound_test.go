package minimax

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// numbersOf returns rows whose targets are a line of the first feature, and some noise.
func numbersOf(rows int, slope, noise float64) *Data {
	rng := rand.New(rand.NewPCG(7, 7))
	d := &Data{Rows: rows, Features: 2}
	for range rows {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		d.X = append(d.X, a, b)
		d.Y = append(d.Y, slope*a+noise*rng.NormFloat64())
	}
	return d
}

// Where the value at the start is thousands of times that of the solution, the gap that ends a
// run is held against the latter.
func TestNewtonFarTargets(t *testing.T) {
	d := numbersOf(200, 100, 1)
	for _, names := range []string{"squared,huber:1", "squared,1-norm", "3-norm,1-norm"} {
		for _, gap := range []float64{1e-3, 1e-5} {
			f, err := Train(d, &Options{Losses: parsed(t, names), Normalization: Raw, Beta1: 1e-4, Solver: Newton,
				Gap: gap, Workers: 1})
			if err != nil {
				t.Fatal(names, err)
			}
			if !(f.Gap() <= gap*math.Max(leastValue, f.Certificate.Upper)) || f.Reason != run.GapSmall {
				t.Errorf("%s: a gap of %v at %v, %v asked (%s)", names, f.Gap(), f.Certificate.Upper, gap, f.Reason)
			}
		}
	}
}

// What Newton's method takes for a lower bound is one at any w, however far from a minimum:
// dual ascent's value of the same mixture is never below it. Where nothing but the penalty is
// curved it is the minimum itself, so that one which is larger by anything is none.
func TestNewtonLowerBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	small := &Data{Rows: 60, Features: 3, Classes: 2}
	for i := range small.Rows {
		small.Class = append(small.Class, int32(i%2))
		for range small.Features {
			small.X = append(small.X, 0.1*(rng.NormFloat64()+float64(i%2)))
		}
	}
	far := numbersOf(80, 5, 1)
	for _, one := range []struct {
		name, losses string
		data         *Data
		beta1        float64
		tight        bool
	}{
		{"hinge before its kink", "hinge", small, 0.5, true},
		{"classes", "hinge,cross-entropy", small, 0.05, false},
		{"numbers", "squared,1-norm,huber:1", far, 0.1, false},
	} {
		losses := parsed(t, one.losses)
		lambda := make([]float64, len(losses))
		for k := range lambda {
			lambda[k] = 1 / float64(len(lambda))
		}
		o := Options{Losses: losses, Normalization: Raw, Beta1: one.beta1, Fixed: lambda, Gap: 1e-6,
			Solver: DualAscent, Workers: 1}
		least, err := Train(one.data, &o) // [Lower, Upper] holds min φ(·, λ)
		if err != nil {
			t.Fatal(one.name, err)
		}
		o.Fixed = nil
		g, _, _, err := NewGame(one.data, &o)
		if err != nil {
			t.Fatal(one.name, err)
		}
		for try := range 40 {
			below := saddle.Convex(g)
			if relaxed := g.relaxer(); relaxed != nil {
				below = relaxed(math.Pow(10, -float64(try%4)))
			}
			w := make([]float64, g.net.Dim())
			for j := range w {
				w[j] = least.Model.Params[j] + 0.3*float64(try)/40*rng.NormFloat64()
			}
			lower, err := saddle.Lower(below, nil, w, lambda)
			if err != nil {
				t.Fatal(err)
			}
			if !(lower <= least.Certificate.Upper+1e-12) {
				t.Errorf("%s: at distance %d a lower bound of %v, and dual ascent reaches %v", one.name, try, lower,
					least.Certificate.Upper)
			}
			if one.tight && try%4 == 3 && !(lower >= least.Certificate.Lower-2e-3) {
				t.Errorf("%s: at distance %d a lower bound of %v, where %v is known", one.name, try, lower,
					least.Certificate.Lower)
			}
		}
	}
}

// Values that cannot be written end a run with an error that says where, and never with a
// model.
func TestNewtonDiverges(t *testing.T) {
	far := numbersOf(20, 1, 1)
	for i := range far.Y {
		far.Y[i] = math.Copysign(1e300, far.Y[i])
	}
	bad := score.SquaredError()
	bad.Name = "bad"
	bad.At = func(s, y float64) (float64, float64) { return math.NaN(), s - y }
	for name, one := range map[string]struct {
		data   *Data
		losses []Loss
	}{"overflow": {far, parsed(t, "squared,1-norm")},
		"not a number": {numbersOf(20, 1, 1), []Loss{bad, score.SquaredError()}}} {
		for _, solver := range []Solver{Newton, Smoothed, Auto, DualAscent} {
			f, err := Train(one.data, &Options{Losses: one.losses, Normalization: Raw, Beta1: 1e-4,
				Solver: solver, Workers: 1})
			if !errors.Is(err, optim.ErrNotFinite) {
				t.Errorf("%s by %q: %v", name, solver, err)
			}
			if f != nil && !finite(f.Model.Params...) {
				t.Errorf("%s by %q: a fit with weights %v", name, solver, f.Model.Params)
			}
			var at *saddle.DivergenceError
			if solver == Newton && (!errors.As(err, &at) || at.Solver != saddle.NewtonSolver || at.Step < 1) {
				t.Errorf("%s by %q: %v does not say where", name, solver, err)
			}
		}
	}
}

// Iterations of Newton's method and of L-BFGS are limited by Passes, and a run that did not
// reach its gap has not converged, whatever ended it.
func TestUnreachedGaps(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers alone, and many: what runs side by side is in TestDeterminism")
	}
	d := sonar(t)
	for _, solver := range []Solver{Newton, Smoothed, DualAscent} {
		o := Options{Losses: parsed(t, "1-norm,2-norm,hinge"), Beta1: 1e-4, ScoreBound: 3, Solver: solver,
			Passes: 2, Workers: 1}
		rows := 0
		o.Control.Recorder = run.RecorderFunc(func(run.Row) error { rows++; return nil })
		f, err := Train(d, &o)
		if err != nil {
			t.Fatal(err)
		}
		if f.Reason != run.IterationLimit || rows > 2 {
			t.Errorf("%s: %d rows, %s", solver, rows, f.Reason)
		}
		// A gap that rounding does not let anything prove.
		o.Passes, o.Gap = 0, 1e-300
		o.Control.Stop.Time = time.Minute
		if f, err = Train(d.Subset([]int{0, 1, 2, 3, 4, 5, 150, 151, 152, 153, 154, 155}), &o); err != nil {
			t.Fatal(err)
		}
		if f.Reason.Converged() || f.Reason != run.GapMissed && f.Reason != run.RoundLimit {
			t.Errorf("%s: a gap of %v ends with %q", solver, f.Gap(), f.Reason)
		}
	}
}

// Newton's rounds that end by the caller's limit go on from their checkpoint to the same end.
func TestNewtonGoesOnFromItsLimit(t *testing.T) {
	d := sonar(t)
	o := Options{Losses: parsed(t, "1-norm,2-norm"), Beta1: 1e-4, ScoreBound: 3, Solver: Newton, Workers: 1}
	whole, err := Train(d, &o)
	if err != nil {
		t.Fatal(err)
	}
	var at *run.Checkpoint
	o.Control.Checkpoint = func(k *run.Checkpoint) error { at = k; return nil }
	o.Passes = 3
	if _, err := Train(d, &o); err != nil || at == nil {
		t.Fatal(at, err)
	}
	o.Passes, o.Control.Resume = 0, at
	f, err := Train(d, &o)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := fmt.Sprint(f.Model.Params), fmt.Sprint(whole.Model.Params); a != b || f.Passes != whole.Passes {
		t.Errorf("%d rounds to another model than in %d", f.Passes, whole.Passes)
	}
}

// No data are refused wherever data go in.
func TestNoData(t *testing.T) {
	_, train := Train(nil, nil)
	_, baselines := Baselines(nil, nil)
	_, _, _, game := NewGame(nil, nil)
	_, _, curve := TradeOff(nil, nil, 0, 1, 3)
	f, err := Train(numbersOf(20, 1, 1), &Options{Losses: parsed(t, "1-norm"), Beta1: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	_, evaluate := f.Model.Evaluate(nil, 1)
	_, check := f.Model.CheckPareto(nil, nil)
	for i, err := range []error{train, baselines, game, curve, evaluate, check} {
		if err == nil || !strings.Contains(err.Error(), "no data") {
			t.Errorf("%d: %v", i, err)
		}
	}
}
