package minimax

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// noisy are 60 examples of two classes that no line parts.
func noisy() *Data {
	d := &Data{Rows: 60, Features: 2, Classes: 2}
	for i := range d.Rows {
		a, b := float64(i*37%61)/30-1, float64(i*17%59)/30-1
		d.X = append(d.X, a, b)
		class := int32(0)
		if a+b*b > 0.2 != (i%7 == 0) {
			class = 1
		}
		d.Class = append(d.Class, class)
	}
	return d
}

// uneven are 90 examples of three classes, a half of them of the last, which biases would say.
func uneven() *Data {
	d := &Data{Rows: 90, Features: 2, Classes: 3}
	for i := range d.Rows {
		class := []int32{0, 1, 2, 2}[i%4]
		d.X = append(d.X, float64(i*37%61)/30-1+0.5*float64(class),
			float64(i*17%59)/30-1-0.4*float64(class*class%3))
		d.Class = append(d.Class, class)
	}
	return d
}

// The norm as penalty with bounded biases (or without, 0), where losses do not separate by score:
// biases are within their bounds, at them, or all that there is, since the penalty leaves no
// weight. One mixture as a vertex is what it is as a mixture. L-BFGS alone left gaps of up to 0.4.
func TestNormOfSoftmaxWithBoundedBiases(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers alone, and many: what runs side by side is in TestDeterminism")
	}
	for _, c := range []struct {
		seed       uint64
		beta, bias float64
	}{{1, 0.5, 0}, {4, 1, 0}, {51, 0.5, 0}, {57, 1, 0}, {11, 0.4, 7}, {0, 1e-3, 0.5},
		{0, 0.02, 0.3}, {0, 2, 0.05}} {
		rng := rand.New(rand.NewPCG(5, c.seed))
		d := &Data{Rows: 14, Features: 1, Classes: 3}
		for i := range d.Rows {
			d.Class = append(d.Class, int32(i%3))
			d.X = append(d.X, 3*rng.NormFloat64())
		}
		o := Options{Losses: parsed(t, "zero-one,1-norm,cross-entropy"), Normalization: Raw, Beta1: c.beta,
			Norm: true, Bias: c.bias, MultiClass: Softmax, Workers: 1}
		f, err := Train(d, &o)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range f.Model.Params[d.Features*d.Classes:] {
			if c.bias > 0 && math.Abs(b) > c.bias {
				t.Errorf("%v|w|, biases to %v: a bias of %v", c.beta, c.bias, b)
			}
		}
		one := []float64{0.6, 0.25, 0.15}
		o.Preferences.Vertices = [][]float64{one}
		vertex, err := Train(d, &o)
		if err != nil {
			t.Fatal(err)
		}
		o.Preferences.Vertices, o.Fixed = nil, one
		mixture, err := Train(d, &o)
		if err != nil {
			t.Fatal(err)
		}
		for name, g := range map[string]*Fit{"all mixtures": f, "a vertex": vertex, "a mixture": mixture} {
			if g.Reason != run.GapSmall || !(g.Gap() <= 1e-3*g.Certificate.Upper) ||
				g.Certificate.Lower > g.Certificate.Upper {
				t.Errorf("%v|w|, biases to %v, %s: a gap of %v of %v (%s)", c.beta, c.bias, name, g.Gap(),
					g.Certificate.Upper, g.Reason)
			}
		}
		if v, m := vertex.Certificate, mixture.Certificate; v.Lower > m.Upper || m.Lower > v.Upper ||
			m.Lower > f.Certificate.Upper {
			t.Errorf("%v|w|, biases to %v: in [%v, %v] as a vertex, in [%v, %v] as a mixture, all mixtures to %v",
				c.beta, c.bias, v.Lower, v.Upper, m.Lower, m.Upper, f.Certificate.Upper)
		}
	}
}

// Biases that are at their bounds are certified where losses do not separate by score, which is
// L-BFGS's: what it found without minding the bounds, projected, was far from the least.
func TestBoundedBiasesOfSoftmax(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers alone, and many: what runs side by side is in TestDeterminism")
	}
	d := uneven()
	for _, bias := range []float64{0.001, 0.05, 0.2} {
		for _, beta := range []float64{1e-4, 1e-2} {
			f, err := Train(d, &Options{Losses: ThesisLosses(), Beta1: beta, Bias: bias,
				MultiClass: Softmax, Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			if c := f.Certificate; f.Reason != run.GapSmall || !(f.Gap() <= 1e-3*c.Upper) || !(c.Lower > 0) {
				t.Errorf("biases to %v, β %v: %v (%s)", bias, beta, c.Gap(), f.Reason)
			}
			at := 0
			for _, b := range f.Model.Params[d.Features*d.Classes:] {
				if math.Abs(b) > bias {
					t.Errorf("a bias of %v", b)
				}
				if math.Abs(b) == bias {
					at++
				}
			}
			if at == 0 {
				t.Errorf("biases to %v: none is at its bound", bias)
			}
			// What holds back less is no worse.
			free, err := Train(d, &Options{Losses: ThesisLosses(), Beta1: beta, Bias: 2 * bias,
				MultiClass: Softmax, Workers: 1})
			if err != nil || free.Certificate.Lower > f.Certificate.Upper {
				t.Errorf("biases to %v reach %v, to %v no less than %v, %v", bias, f.Certificate.Upper, 2*bias,
					free.Certificate.Lower, err)
			}
		}
	}
}

// A run that is interrupted after any row of any stage goes on to the rows and the model of one
// that was not.
func TestStagesGoOn(t *testing.T) {
	one, _ := score.QNorm(1)
	for _, c := range []struct {
		stages string
		o      Options
	}{
		{"mirror-prox dual-ascent newton", Options{Losses: ThesisLosses(), Beta1: 0.01, Passes: 3, Batch: 16}},
		{"mirror-prox dual-ascent", Options{Losses: ThesisLosses(), Beta1: 0.01, Radius: 1, Passes: 3, Batch: 16}},
		{"newton", Options{Losses: ThesisLosses(), Beta1: 0.01, Solver: Newton, Gap: 1e-6}},
		{"mirror-prox newton", Options{Beta1: 0.01, Passes: 3, Batch: 16, Bias: 2,
			Losses: []Loss{score.CrossEntropy(), one}}},
		{"mirror-prox newton-norm", Options{Beta1: 0.01, Passes: 3, Batch: 16, Norm: true,
			Losses: []Loss{score.CrossEntropy(), one}}},
		{"mirror-prox smoothed", Options{Beta1: 0.01, Passes: 3, Batch: 16, Normalization: Raw,
			Losses: []Loss{score.SquaredError(), score.CrossEntropy()}}},
		{"smoothed", Options{Losses: ThesisLosses(), Beta1: 0.01, Radius: 1, Solver: Smoothed}},
		{"mirror-prox smoothed", Options{Losses: ThesisLosses(), Beta1: 0.01, Passes: 3, Batch: 16, Bias: 0.02,
			MultiClass: Softmax}},
	} {
		o, d := c.o, noisy()
		if o.MultiClass == Softmax {
			d = uneven()
		}
		var stages []string
		train := func(resume *run.Checkpoint, after int) (f *Fit, rows []string, last *run.Checkpoint, err error) {
			o := o
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o.Workers = 1
			o.Control = run.Control{Ctx: ctx, Resume: resume,
				Recorder: run.RecorderFunc(func(r run.Row) error {
					rows = append(rows, fmt.Sprint(r.Stage, r.Iteration, r.Evaluations, r.Objective, *saddle.RowOf(r)))
					if !slices.Contains(stages, r.Stage) {
						stages = append(stages, r.Stage)
					}
					if len(rows) == after {
						cancel()
					}
					return nil
				}),
				Checkpoint: func(k *run.Checkpoint) error { last = k; return nil }}
			f, err = Train(d, &o)
			return f, rows, last, err
		}
		whole, rows, _, err := train(nil, -1)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(stages, " "); got != c.stages || len(rows) < len(stages)+2 {
			t.Errorf("%d rows of stages %s, should be of %s", len(rows), got, c.stages)
		}
		for after := 1; after < len(rows); after++ {
			_, first, k, err := train(nil, after)
			if !errors.Is(err, context.Canceled) || k == nil {
				t.Fatalf("interrupted after row %d: %v, state %v", after, err, k)
			}
			f, second, _, err := train(k, -1)
			if err != nil {
				t.Fatalf("from row %d: %v", after, err)
			}
			if got := append(first, second...); !slices.Equal(got, rows) {
				t.Errorf("interrupted after row %d of %d: %s", after, len(rows), cmp.Diff(rows, got))
			}
			if !slices.Equal(f.Model.Params, whole.Model.Params) || !slices.Equal(f.Lambda, whole.Lambda) {
				t.Errorf("interrupted after row %d of %d: another model", after, len(rows))
			}
		}
	}
}

// A run for regrets goes on from any of its checkpoints, those of the runs on one objective
// alone among them, to the same model and the same rows; what was found is not sought again.
func TestRegretsGoOn(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers alone, and many: what runs side by side is in TestDeterminism")
	}
	d := noisy()
	one, _ := score.QNorm(1)
	for _, o := range []Options{
		{Losses: ThesisLosses(), Beta1: 0.1, Passes: 4, Batch: 16, Solver: MirrorProx, Gap: -1},
		{Losses: ThesisLosses(), Beta1: 0.1, Passes: 3, Batch: 16},
		{Losses: ThesisLosses(), Beta1: 0.01, Passes: 3, Batch: 16, Hidden: []int{3}},
	} {
		o.Normalization, o.Losses, o.Workers = Regret, []Loss{score.Hinge(), one, score.CrossEntropy()}, 1
		type saved struct {
			k    *run.Checkpoint
			rows int // that were recorded before
		}
		train := func(resume *run.Checkpoint) (*Fit, []string, []saved, error) {
			var rows []string
			var list []saved
			o := o
			o.Control = run.Control{Resume: resume, CheckpointEvery: 1,
				Recorder: run.RecorderFunc(func(r run.Row) error {
					rows = append(rows, fmt.Sprint(r.Stage, Alone(r), r.Iteration, r.Objective, saddle.RowOf(r).Values,
						saddle.RowOf(r).Lambda))
					return nil
				}),
				Checkpoint: func(k *run.Checkpoint) error { list = append(list, saved{k, len(rows)}); return nil }}
			f, err := Train(d, &o)
			return f, rows, list, err
		}
		f, rows, list, err := train(nil)
		if err != nil {
			t.Fatal(err)
		}
		alone := slices.DeleteFunc(slices.Clone(rows),
			func(r string) bool { return !strings.Contains(r, "cross-entropy alone: ") })
		if len(alone) < o.Passes || len(list) < 4*min(o.Passes, 3) {
			t.Errorf("hidden %v: %d rows of cross-entropy alone, %d checkpoints", o.Hidden, len(alone), len(list))
		}
		for i, at := range list {
			g, more, _, err := train(at.k)
			if err != nil {
				t.Fatalf("hidden %v: from checkpoint %d of %d: %v", o.Hidden, i+1, len(list), err)
			}
			if d := cmp.Diff(f.Model.Params, g.Model.Params); d != "" || !slices.Equal(f.Lambda, g.Lambda) {
				t.Errorf("hidden %v: from checkpoint %d of %d: another model: %s", o.Hidden, i+1, len(list), d)
			}
			if !slices.Equal(rows[at.rows:], more) {
				t.Errorf("hidden %v: from checkpoint %d of %d: other rows: %s", o.Hidden, i+1, len(list),
					cmp.Diff(rows[at.rows:], more))
			}
		}
		// A checkpoint names its problem, also before all offsets are known.
		o.Beta1 = 0.2
		for _, at := range []saved{list[0], list[len(list)-1]} {
			if _, _, _, err := train(at.k); err == nil ||
				!strings.Contains(err.Error(), "another problem: its l2 is 0.") {
				t.Errorf("with another penalty: %v", err)
			}
		}
		o.Beta1 /= 2
	}
}

// Interrupted in a run on one objective alone, training says so and leaves its state.
func TestRegretsInterrupted(t *testing.T) {
	d := &Data{X: []float64{1, 2, 3, 4}, Rows: 4, Features: 1, Class: []int32{0, 1, 0, 1}, Classes: 2}
	ctx, cancel := context.WithCancel(t.Context())
	var last *run.Checkpoint
	_, err := Train(d, &Options{Normalization: Regret, Losses: []Loss{score.Hinge(), score.CrossEntropy()},
		Beta1: 0.1, Passes: 5, Solver: MirrorProx, Gap: -1,
		Control: run.Control{Ctx: ctx, Recorder: run.RecorderFunc(func(r run.Row) error {
			if strings.HasPrefix(r.Stage, "cross-entropy alone") && r.Iteration == 2 {
				cancel()
			}
			return nil
		}),
			Checkpoint: func(k *run.Checkpoint) error { last = k; return nil }}})
	cancel()
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "the least cross-entropy alone, "+
		"for regrets") {
		t.Error(err)
	}
	if last == nil || len(last.Arrays["offsets"]) != 1 || last.Iteration != 2 {
		t.Errorf("state: %+v", last)
	}
}

// What each objective reaches alone is sought once for all points of a curve and all baselines.
func TestRegretsOnce(t *testing.T) {
	passes := 0
	o := &Options{Normalization: Regret, Losses: []Loss{score.Hinge(), score.CrossEntropy()}, Beta1: 0.1,
		Passes: 2, NoPolish: true, Control: run.Control{Recorder: run.RecorderFunc(func(r run.Row) error {
			if Alone(r) {
				passes++
			}
			return nil
		})}}
	curve, robust, err := TradeOff(noisy(), o, 0, 1, 3)
	if err != nil || passes != 4 {
		t.Errorf("%d passes on one objective alone for a curve, %v", passes, err)
	}
	for _, p := range curve {
		if !slices.Equal(p.Fit.known(), robust.Fit.known()) {
			t.Errorf("offsets %v and %v", p.Fit.known(), robust.Fit.known())
		}
	}
	passes = 0
	if _, err := Baselines(noisy(), o); err != nil || passes != 4 {
		t.Errorf("%d passes on one objective alone for baselines, %v", passes, err)
	}
	if o.Offsets != nil {
		t.Error("the caller's options were changed")
	}
}

// What an objective reaches alone, its penalty counted, is known as closely as OffsetGap says:
// what is proved by rough offsets and by fine ones agrees.
func TestRegretsProved(t *testing.T) {
	if testing.Short() {
		t.Skip("numbers alone, and many: what runs side by side is in TestDeterminism")
	}
	d := sonar(t)
	for name, o := range map[string]Options{
		"penalty": {Beta1: 0.1, Losses: parsed(t, "2-norm,1.5-norm,squared,1-norm")},
		"default": {Losses: ThesisLosses(), Beta1: 0.01, Preferences: Preferences{Lo: []float64{0.1}}},
		"radius":  {Radius: 2, Losses: parsed(t, "squared-hinge,hinge,cross-entropy")},
	} {
		var fits []*Fit
		for _, gap := range []float64{1e-2, 1e-5} {
			o.Normalization, o.Gap, o.Workers, o.Offsets = Regret, gap, 1, nil
			f, err := Train(d, &o)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if f.Reason != run.GapSmall || !(f.OffsetGap > 0) || !(f.OffsetGap < gap) {
				t.Errorf("%s: %s, gap %v, offsets within %v", name, f.Reason, f.Gap(), f.OffsetGap)
			}
			for k, v := range f.Values {
				if v+f.Penalty < -f.OffsetGap {
					t.Errorf("%s: a regret of %v with a penalty of %v for objective %d, offsets within %v", name, v,
						f.Penalty, k, f.OffsetGap)
				}
			}
			fits = append(fits, f)
			o.Offsets = f.known()
			given, err := Train(d, &o)
			if err != nil || given.OffsetGap != 0 || !slices.Equal(given.Model.Params, f.Model.Params) {
				t.Errorf("%s: with the offsets given: %v, within %v, another model", name, err, given.OffsetGap)
			}
		}
		rough, fine := fits[0], fits[1]
		for k, v := range fine.known() {
			if was := rough.known()[k]; was-v > rough.OffsetGap+1e-12 || v-was > fine.OffsetGap+1e-12 {
				t.Errorf("%s: offset %d is %v within %v, and %v within %v", name, k, was, rough.OffsetGap,
					v, fine.OffsetGap)
			}
		}
		if fine.Certificate.Lower > rough.Certificate.Upper+rough.OffsetGap ||
			rough.Certificate.Lower > fine.Certificate.Upper+fine.OffsetGap {
			t.Errorf("%s: the value is in %v within %v, and in %v within %v", name, rough.Certificate, rough.OffsetGap,
				fine.Certificate, fine.OffsetGap)
		}
	}
	o := Options{Losses: ThesisLosses(), Normalization: Regret, Hidden: []int{3}, Passes: 2, Workers: 1}
	if f, err := Train(noisy(), &o); err != nil || !math.IsInf(f.OffsetGap, 1) {
		t.Errorf("a network's offsets are within %v, %v", f.OffsetGap, err)
	}
}

// A network that is to go on for more passes than before: fine where nothing hangs on their
// number, refused where what each objective reaches alone does.
func TestNetworkRegretsPasses(t *testing.T) {
	for _, n := range []Normalization{Lipschitz, Regret} {
		var first, last *run.Checkpoint
		o := Options{Normalization: n, Losses: []Loss{score.Hinge(), score.CrossEntropy()}, Hidden: []int{3},
			Passes: 2, Workers: 1}
		o.Control.CheckpointEvery = 1
		o.Control.Checkpoint = func(k *run.Checkpoint) error {
			if first == nil {
				first = k
			}
			last = k
			return nil
		}
		if _, err := Train(noisy(), &o); err != nil {
			t.Fatal(err)
		}
		o.Control.Checkpoint, o.Passes = nil, 4
		for _, k := range []*run.Checkpoint{first, last} {
			o.Control.Resume = k
			_, err := Train(noisy(), &o)
			if refused := err != nil && strings.Contains(
				err.Error(), "another problem: its iterations is 2, here it is 4"); refused != (n == Regret) ||
				err != nil && !refused {
				t.Errorf("%s: %v", n, err)
			}
		}
	}
}
