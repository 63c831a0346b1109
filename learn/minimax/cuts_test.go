package minimax

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// A checkpoint, through a file, holds all that a run depends on: in the middle of a round
// and within a radius that does not hold.
func TestCutRunState(t *testing.T) {
	d := &Data{Rows: 6, Features: 1, Classes: 2, X: []float64{1, 2, 3, 4, 5, 6}, Class: []int32{0, 1, 0, 1, 0, 1}}
	o, err := (&Options{Radius: 30, Losses: []Loss{score.CrossEntropy(), score.Hinge()}, Workers: 1}).withDefaults(d)
	if err != nil {
		t.Fatal(err)
	}
	begin := func(c *run.Control) *cutRun {
		tr, err := newTrainer(d, &o)
		if err != nil {
			t.Fatal(err)
		}
		g := tr.game()
		a, err := tr.ascent(g, tr.preferences, tr.start(), 1e-3)
		if err != nil || a == nil {
			t.Fatal(a, err)
		}
		r := &cutRun{trainer: tr, g: g, set: tr.preferences, a: a, certified: certified{lambda: []float64{0.25, 0.75}}, trust: firstTrust}
		r.begin(cutSolver, c, mostRounds)
		return r
	}
	var file bytes.Buffer
	r := begin(&run.Control{Checkpoint: func(k *run.Checkpoint) error { return k.Write(&file) }})
	if _, err := r.look(r.start()); err != nil {
		t.Fatal(err)
	}
	r.turn()
	for range 3 {
		r.a.pass()
		r.inRound++
		r.slack()
	}
	r.best.Lower, r.best.Lambda = r.a.bound(r.lambda), []float64{0.25, 0.75}
	if _, err := r.look(r.a.params()); err != nil {
		t.Fatal(err)
	}
	r.stuck()
	r.a.rest[2] = 3
	r.idle, r.next, r.trust, r.gained = 7, 4, 0.0625, 1
	r.run.TakeUp(&run.Checkpoint{Iteration: 2, Evaluations: r.run.Evaluations})
	if err := r.run.Save(true, r.state); err != nil {
		t.Fatal(err)
	}
	k, err := run.ReadCheckpoint(&file)
	if err != nil {
		t.Fatal(err)
	}
	s := begin(&run.Control{Resume: k})
	if resumed, err := s.resume(); err != nil || !resumed {
		t.Fatal(resumed, err)
	}
	type state struct {
		Round, InRound, Next, Idle, Gained, Evals, Passes int
		Open                                              bool
		Trust, Gain, Beta, Floor                          float64
		Lambda, W, S, Alpha                               []float64
		Cuts                                              []cut
		Best                                              saddle.Certificate
		Rest                                              []uint8
	}
	of := func(r *cutRun) state {
		return state{r.run.Steps(), r.inRound, r.next, r.idle, r.gained, r.run.Evaluations, r.a.passes, r.open, r.trust, r.gain, r.a.beta, r.a.floor, r.lambda, r.a.w, r.a.s, r.a.alpha, r.cuts, r.best, r.a.rest}
	}
	if got, want := of(s), of(r); !reflect.DeepEqual(got, want) || want.Gain == 0 || want.Floor == 0 || !want.Open {
		t.Errorf("resumed as %+v\nfrom %+v", got, want)
	}
}
