package tracking

import (
	"context"
	"math"
	"reflect"
	"slices"
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

// Divisions, deaths, entries, misses, double sights and clutter come at their rates, within four
// standard deviations.
func TestSimulatedRates(t *testing.T) {
	const frames, width, radius = 40, 600.0, 8.0
	var divisions, ready, deaths, inner, entries, over, missed, cells, clutter, all float64
	for seed := range uint64(14) {
		o := Simulation{Under: learner.None, Cells: 30, Width: width, Frames: frames}
		m, truth, err := Simulate(&o, seed)
		if err != nil {
			t.Fatal(err)
		}
		first, divides := map[int]int{}, map[int]int{} // frame of a cell's birth, and of its daughters'
		for f, list := range truth.Frames {
			for _, c := range list {
				if _, ok := first[c.ID]; !ok {
					if first[c.ID] = f; truth.Mother[c.ID] >= 0 {
						divides[truth.Mother[c.ID]] = f
					} else if f > 0 {
						entries++
					}
				}
			}
		}
		present := func(f, id int) bool {
			return f < frames && slices.ContainsFunc(truth.Frames[f], func(c Cell) bool { return c.ID == id })
		}
		for f, list := range truth.Frames {
			all++
			shown := map[int]bool{}
			for _, c := range list {
				cells++
				switch len(c.Seen) {
				case 0:
					missed++
				case 2:
					over++
				}
				for _, d := range c.Seen {
					shown[d] = true
				}
				margin := math.Min(math.Min(c.X, width-c.X), math.Min(c.Y, width-c.Y))
				end, dividing := divides[c.ID]
				if f+1 < frames && margin > 5*radius && (!dividing || end > f+1) {
					// Too far inside to leave: what is gone is dead.
					if inner++; !present(f+1, c.ID) {
						deaths++
					}
				}
				// At an age of 6 on, a cell that is not about to divide decides to, and has
				// daughters two frames later if it lives. Ages of the first cells are drawn, below
				// 12.
				age := f - first[c.ID]
				if f+2 < frames && age >= 6 && truth.Mother[c.ID] >= 0 {
					switch {
					case dividing && end == f+2:
						divisions++
						ready++
					case present(f+1, c.ID) && present(f+2, c.ID) && (!dividing || end > f+2):
						ready++
					}
				}
			}
			clutter += float64(len(m.Frames[f]) - len(shown))
		}
	}
	near := func(what string, got, mean float64) {
		t.Helper()
		if math.Abs(got-mean) > 4*math.Sqrt(mean) {
			t.Errorf("%s: %v, expected %v ± %.1f", what, got, mean, math.Sqrt(mean))
		}
	}
	near("misses", missed, 0.01*cells)
	near("clutter", clutter, 0.2*all)
	near("cells seen as two", over, 0.03*cells)
	near("divisions", divisions, 0.03*ready)
	near("deaths", deaths, 0.005*inner)
	near("entries", entries, 0.3*(all-14))
	if divisions < 50 || deaths < 20 || entries < 50 {
		t.Errorf("%v divisions, %v deaths and %v entries are too few for this test", divisions, deaths, entries)
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
