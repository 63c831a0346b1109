package tracking

import (
	"context"
	"math"
	"reflect"
	"testing"

	"github.com/tropica-fst/tropica/learn/learner"
)

// The truth is feasible, only listed shapes occur, and training makes all of it candidates. The
// same seed gives the same movie.
func TestSimulatedTruth(t *testing.T) {
	for name, o := range Presets {
		for seed := range uint64(4) {
			m, cells, err := Simulate(&o, seed) // checks that every detection has one event a side
			if err != nil {
				t.Fatalf("%s, seed %d: %v", name, seed, err)
			}
			again, _, err := Simulate(&o, seed)
			if err != nil || !reflect.DeepEqual(m, again) {
				t.Fatalf("%s, seed %d: another movie the second time, %v", name, seed, err)
			}
			if len(cells.Frames) != len(m.Frames) || len(m.Frames) != 20 {
				t.Fatalf("%d frames, cells of %d", len(m.Frames), len(cells.Frames))
			}
			for f, events := range m.Events {
				for _, e := range events {
					if !e.fits() {
						t.Fatalf("%s: an event %s of %d and %d", name, e.Kind, len(e.From), len(e.To))
					}
					if name == "clean" && (e.Kind == Split || e.Kind == Merge) {
						t.Errorf("clean: a %s", e.Kind)
					}
				}
				p, err := m.pair(f, &Candidates{Neighbours: 1, Gate: 5, Unit: 8}, nil, events, true)
				if err != nil || len(p.Missed()) > 0 {
					t.Fatalf("%s: frame %d: true events that are no candidates: %v, %v", name, f, p.Missed(), err)
				}
			}
		}
	}
}

// Divisions, deaths, misses and clutter come at their rates, within four standard deviations.
func TestSimulatedRates(t *testing.T) {
	old, divisions, detections, over, frames := 0.0, 0.0, 0.0, 0.0, 0.0
	missed, cells, clutter := 0.0, 0.0, 0.0
	for seed := range uint64(12) {
		o := Simulation{Under: learner.None, Cells: 30, Width: 600, Frames: 30}
		m, truth, err := Simulate(&o, seed)
		if err != nil {
			t.Fatal(err)
		}
		age := map[int]int{}
		born := map[int]bool{}
		for f, list := range truth.Frames {
			frames++
			shown := map[int]bool{}
			for _, c := range list {
				cells++
				if mother := truth.Mother[c.ID]; mother >= 0 && !born[c.ID] && f > 0 {
					born[c.ID] = true
					divisions += 0.5
				}
				age[c.ID]++
				if truth.Mother[c.ID] >= 0 && age[c.ID] > 8 {
					old++ // such a one may have been told to divide two frames ago
				}
				switch len(c.Seen) {
				case 0:
					missed++
				case 2:
					over++
				}
				for _, d := range c.Seen {
					shown[d] = true
				}
			}
			clutter += float64(len(m.Frames[f]) - len(shown))
			detections += float64(len(m.Frames[f]))
		}
	}
	near := func(what string, got, mean float64) {
		t.Helper()
		if math.Abs(got-mean) > 4*math.Sqrt(mean) {
			t.Errorf("%s: %v, expected %v ± %.1f", what, got, mean, math.Sqrt(mean))
		}
	}
	near("misses", missed, 0.01*cells)
	near("clutter", clutter, 0.2*frames)
	near("cells seen as two", over, 0.03*cells)
	if divisions < 0.01*cells || divisions > 0.03*cells {
		t.Errorf("%v divisions of %v cells: at most 0.03 a frame, fewer as young cells do not divide",
			divisions, cells)
	}
}

// Without segmentation errors and with small motion, weights set by hand make no error.
func TestCleanIsEasy(t *testing.T) {
	o := Presets["clean"]
	o.Motion, o.Divide, o.Cells, o.Width = 0.3, 0.01, 20, 400
	for seed := range uint64(3) {
		m, _, err := Simulate(&o, seed)
		if err != nil {
			t.Fatal(err)
		}
		model, _, err := Train([]*Movie{m}, &Options{Method: "hand", Events: "divide"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := model.Predict(context.Background(), []*Movie{m}, 0)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Judge([]*Movie{m}, p, 0)
		if err != nil {
			t.Fatal(err)
		}
		if r.Loss != 0 {
			t.Errorf("seed %d: loss %v: %v", seed, r.Loss, r.ConfusionTable().Rows)
		}
	}
}

func TestSimulationRefuses(t *testing.T) {
	for _, o := range []Simulation{{Frames: 1}, {Over: 2}, {Motion: math.NaN()}, {Width: -3}} {
		if _, _, err := Simulate(&o, 1); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}
