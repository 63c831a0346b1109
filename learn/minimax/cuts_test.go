package minimax

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// A checkpoint, through a file, holds all that a run depends on: in the middle of a round
// and within a radius that does not hold.
func TestCutRunState(t *testing.T) {
	d := &Data{Rows: 6, Features: 1, Classes: 2, X: []float64{1, 2, 3, 4, 5, 6}, Class: []int32{0, 1, 0, 1, 0, 1}}
	o, err := (&Options{Radius: 30, Losses: []Loss{CrossEntropy(), Hinge()}, Workers: 1}).withDefaults(d)
	if err != nil {
		t.Fatal(err)
	}
	begin := func() *cutRun {
		tr, err := newTrainer(d, &o)
		if err != nil {
			t.Fatal(err)
		}
		g := tr.game()
		a, err := tr.ascent(g, tr.preferences, tr.start(), 1e-3)
		if err != nil || a == nil {
			t.Fatal(a, err)
		}
		return &cutRun{trainer: tr, g: g, set: tr.preferences, a: a, certified: certified{lambda: []float64{0.25, 0.75}, begin: time.Now()}, trust: firstTrust}
	}
	r := begin()
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
	r.idle, r.next, r.round, r.trust, r.gained = 7, 4, 2, 0.0625, 1
	var file bytes.Buffer
	if err := r.save(&run.Control{Checkpoint: func(k *run.Checkpoint) error { return k.Write(&file) }}, true); err != nil {
		t.Fatal(err)
	}
	k, err := run.ReadCheckpoint(&file)
	if err != nil {
		t.Fatal(err)
	}
	s := begin()
	if err := s.resume(k); err != nil {
		t.Fatal(err)
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
		return state{r.round, r.inRound, r.next, r.idle, r.gained, r.evals, r.a.passes, r.open, r.trust, r.gain, r.a.beta, r.a.floor, r.lambda, r.a.w, r.a.s, r.a.alpha, r.cuts, r.best, r.a.rest}
	}
	if got, want := of(s), of(r); !reflect.DeepEqual(got, want) || want.Gain == 0 || want.Floor == 0 || !want.Open {
		t.Errorf("resumed as %+v\nfrom %+v", got, want)
	}
}
