package minimax

import (
	"math"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// With steps of w that are too short to change anything, λ of a network moves as plain projected
// ascent on the objectives and ±β_2 M_k does, by the decreasing steps of the passes.
func TestNetworkMovesLambda(t *testing.T) {
	d := noisy()
	square, _ := score.QNorm(2)
	for _, penalty := range []Penalty{Handicap, Shy} {
		for _, constant := range []bool{false, true} {
			o := &Options{Losses: []Loss{score.Hinge(), square}, Normalization: Raw, ScoreBound: 3, Beta2: 0.1,
				Penalty: penalty, Hidden: []int{3}, Batch: d.Rows, Passes: 4, StepW: 1e-20, StepLambda: 0.02,
				Network: Network{Constant: constant}, Workers: 1}
			f, err := Train(d, o)
			if err != nil {
				t.Fatal(err)
			}
			sign := map[Penalty]float64{Handicap: 1, Shy: -1}[penalty]
			// Of two objectives on the simplex half of the difference of gradients is what moves.
			slope := (f.Values[0] - f.Values[1] + sign*0.1*(1-8)) / 2
			want := 0.5
			for pass := range o.Passes {
				rate := 1 / math.Sqrt(1+float64(pass))
				if constant {
					rate = 1
				}
				want += 0.02 * rate * slope
			}
			if got := f.LastLambda[0]; math.Abs(got-want) > 1e-6 {
				t.Errorf("%s, constant %v: λ is %v after 4 passes, should be %v", penalty, constant, got, want)
			}
		}
	}
}

// The pass that held-out rows choose is the one whose worst mixture of objectives, with what β_2
// adds, is the least there.
func TestNetworkKeepsByTheGame(t *testing.T) {
	d := noisy()
	var train, held []int
	for i := range d.Rows {
		if i%3 == 0 {
			held = append(held, i)
		} else {
			train = append(train, i)
		}
	}
	a, b := d.Subset(train), d.Subset(held)
	square, _ := score.QNorm(2)
	differ := false
	for seed := range uint64(4) {
		o := Options{Losses: []Loss{score.Hinge(), square}, Normalization: Raw, ScoreBound: 3, Beta2: 0.1,
			Penalty: Shy, Hidden: []int{4}, Batch: 8, StepW: 0.3, Network: Network{Constant: true},
			Seed: seed, Workers: 1}
		const passes = 12
		var params [passes][]float64
		var worst, plain [passes]float64
		for p := range passes {
			o.Passes = p + 1
			f, err := Train(a, &o)
			if err != nil {
				t.Fatal(err)
			}
			s, err := f.Model.Evaluate(b, 1)
			if err != nil {
				t.Fatal(err)
			}
			params[p], worst[p], plain[p] = f.Model.Params, math.Max(s.Values[0]-0.1, s.Values[1]-0.8),
				slices.Max(s.Values)
		}
		best := slices.Index(worst[:], slices.Min(worst[:]))
		differ = differ || best != slices.Index(plain[:], slices.Min(plain[:]))
		o.Network.Heldout = b
		f, err := Train(a, &o)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(f.Model.Params, params[best]) {
			t.Errorf("seed %d: kept is not pass %d, of the least worst mixture in %v", seed, best+1, worst)
		}
	}
	if !differ {
		t.Error("no seed tells the game's objective from the losses alone")
	}
}

// A run without a lower worst objective on held-out data for some passes ends, with the model of
// the best; one that goes on from a checkpoint between has waited as long.
func TestNetworkPatience(t *testing.T) {
	d := noisy()
	held := *d
	held.Class = slices.Clone(d.Class)
	for i := range held.Class {
		held.Class[i] = 1 - held.Class[i] // what is learnt is wrong here
	}
	var first *run.Checkpoint
	o := Options{Losses: []Loss{score.Hinge(), score.CrossEntropy()}, Hidden: []int{3}, Passes: 40, Workers: 1,
		Network: Network{Heldout: &held}}
	o.Control.Stop.Patience, o.Control.CheckpointEvery = 5, 1
	o.Control.Checkpoint = func(k *run.Checkpoint) error {
		if k.Best != nil && k.Best.Waited == 3 {
			first = k
		}
		return nil
	}
	whole, err := Train(d, &o)
	if err != nil {
		t.Fatal(err)
	}
	if whole.Reason != run.OutOfPatience || whole.Passes >= 40 || first == nil ||
		first.Best.Step != whole.Passes-5 {
		t.Fatalf("%d passes, %s; %+v", whole.Passes, whole.Reason, first)
	}
	o.Control.Resume, o.Control.Checkpoint = first, nil
	again, err := Train(d, &o)
	if err != nil || again.Reason != run.OutOfPatience || again.Passes != whole.Passes ||
		!slices.Equal(again.Model.Params, whole.Model.Params) {
		t.Errorf("resumed: %v, %v", again, err)
	}
	o.Control = run.Control{}
	o.Passes = first.Best.Step
	best, err := Train(d, &o)
	if err != nil || !slices.Equal(best.Model.Params, whole.Model.Params) {
		t.Errorf("the model is not that of pass %d: %v", first.Best.Step, err)
	}
}
