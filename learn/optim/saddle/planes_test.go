package saddle

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/optim/separable"
	"github.com/tropica-fst/tropica/learn/run"
)

// A checkpoint, through a file, holds all that a run of planes depends on: in the middle of a
// round too.
func TestPlanesState(t *testing.T) {
	p := &separable.Problem{X: []float64{1, 2, 3, 4, 5, 6}, Y: []float64{-1, 1, -1, 1, -1, 1}, Rows: 6,
		Features: 1, Outputs: 1, Signs: true, Workers: 1,
		Terms: []separable.Term{{Loss: score.CrossEntropy(), Scale: 1}, {Loss: score.Hinge(), Scale: 1}}}
	game := Func{W: 2, Lambda: 2, F: func(w, lambda, gw, gl []float64) (float64, error) {
		v := 0.0
		for k, term := range p.Terms {
			mean := 0.0
			for i, x := range p.X {
				l, _ := term.Loss.At(w[0]*x+w[1], p.Y[i])
				mean += l / 6
			}
			v += lambda[k] * mean
			gl[k] = mean
		}
		return v, nil
	}}
	begin := func(c *run.Control) *planesRun {
		m := Planes{Inner: separable.NewAscent(p, make([]float64, 6), 30, 1e-3, 0), Lambda: optim.Simplex{},
			Gap: 1e-3, Least: 0.01, Patience: 30, Share: 0.5}
		r := &planesRun{Planes: m, p: game, trust: firstTrust,
			Proof: Proof{Mix: []float64{0.25, 0.75}, Least: 0.01}}
		r.Begin(PlanesSolver, c, mostRounds)
		return r
	}
	var file bytes.Buffer
	r := begin(&run.Control{Checkpoint: func(k *run.Checkpoint) error { return k.Write(&file) }})
	if _, err := r.addCut([]float64{0, 0}); err != nil {
		t.Fatal(err)
	}
	r.turn()
	for range 3 {
		r.Inner.Pass()
		r.inRound++
	}
	r.Proved(r.Inner.Bound(), r.Mix)
	if _, err := r.addCut(r.Inner.Point()); err != nil {
		t.Fatal(err)
	}
	r.stuck()
	r.next, r.trust, r.gained = 4, 0.0625, 1
	r.Run.TakeUp(&run.Checkpoint{Iteration: 2, Evaluations: r.Run.Evaluations})
	if err := r.Run.Save(true, r.state); err != nil {
		t.Fatal(err)
	}
	k, err := run.ReadCheckpoint(&file)
	if err != nil {
		t.Fatal(err)
	}
	s := begin(&run.Control{Resume: k})
	if resumed, err := s.resume(2); err != nil || !resumed {
		t.Fatal(resumed, err)
	}
	type state struct {
		Round, InRound, Next, Gained, Evals, Passes int
		Open                                        bool
		Trust, Gain, Bound                          float64
		Lambda, W                                   []float64
		Cuts                                        []cut
		Best                                        Certificate
	}
	of := func(r *planesRun) state {
		return state{r.Run.Steps(), r.inRound, r.next, r.gained, r.Run.Evaluations, r.Inner.Passes(), r.open,
			r.trust, r.gain, r.Inner.Bound(), r.Mix, r.Inner.Point(), r.cuts, r.Best}
	}
	if got, want := of(s), of(r); !reflect.DeepEqual(got, want) || want.Gain == 0 || !want.Open {
		t.Errorf("resumed as %+v\nfrom %+v", got, want)
	}
}
