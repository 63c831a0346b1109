package tracking

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/space"
)

type sample = space.Sample[*Pair, *Annotation]

func handModel(t testing.TB, movies []*Movie) *Model {
	t.Helper()
	m, _, err := Train(movies, &Options{Method: "hand"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// obeys tells whether events keep a correction.
func obeys(events []Event, i, j int, force bool) bool {
	has := false
	for _, e := range events {
		switch {
		case i < 0:
			has = has || len(e.From) == 0 && slices.Contains(e.To, j)
		case j < 0:
			has = has || len(e.To) == 0 && slices.Contains(e.From, i)
		default:
			has = has || slices.Contains(e.From, i) && slices.Contains(e.To, j)
		}
	}
	return has == force
}

// Random corrections are obeyed, what is linked then is the best of what obeys them, and taking the
// rest from earlier events comes to the same.
func TestCorrectionsAreObeyed(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	o := Presets["hard"]
	o.Frames, o.Cells, o.Width = 6, 25, 400
	movie, _, err := Simulate(&o, 3)
	if err != nil {
		t.Fatal(err)
	}
	m := handModel(t, []*Movie{movie})
	ctx := context.Background()
	before, err := m.Link(ctx, movie, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	forced, kept := 0, 0
	for range 60 {
		f := rng.IntN(len(movie.Frames) - 1)
		c := Correction{Frame: f, From: -1, To: -1, Force: rng.IntN(2) == 0}
		i, j := -1, -1
		if rng.IntN(5) > 0 {
			i = rng.IntN(len(movie.Frames[f]))
			c.From = movie.Frames[f][i].ID
		}
		if i < 0 || rng.IntN(5) > 0 {
			j = rng.IntN(len(movie.Frames[f+1]))
			c.To = movie.Frames[f+1][j].ID
		}
		all, err := m.Link(ctx, movie, &LinkOptions{Corrections: []Correction{c}}, 0)
		if !c.Force && (i < 0 || j < 0) && err != nil &&
			strings.Contains(err.Error(), "obeys the corrections: "+c.String()) {
			continue // what has no neighbour has to appear
		}
		if err != nil {
			t.Fatal(err)
		}
		if !obeys(all.Events[f], i, j, c.Force) {
			t.Fatalf("%v is not obeyed", &c)
		}
		again, err := m.Link(ctx, movie, &LinkOptions{Corrections: []Correction{c}, Previous: before.Events}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if again.Solved != 1 {
			t.Fatalf("%d frame pairs were solved again for one correction", again.Solved)
		}
		total := func(p *Prediction) float64 {
			sum := 0.0
			for _, list := range p.Scores {
				for _, v := range list {
					sum += v
				}
			}
			return sum
		}
		if math.Abs(total(all)-total(again)) > 1e-9 {
			t.Fatalf("%v: %v when all is solved, %v when the rest is kept", &c, total(all), total(again))
		}
		for g := range movie.Events {
			if g != f && cmp.Diff(again.Events[g], before.Events[g]) != "" {
				t.Fatalf("%v changed frame %d", &c, g)
			}
		}
		if c.Force && i >= 0 && j >= 0 {
			forced++
		}
		if obeys(before.Events[f], i, j, c.Force) {
			kept++
		}
	}
	if forced < 10 || kept == 60 {
		t.Errorf("%d links were forced, %d corrections changed nothing", forced, kept)
	}
}

// Two forced daughters make a division or a split, however far; a third one is a contradiction.
func TestForcedDaughters(t *testing.T) {
	movie := &Movie{Frames: [][]Detection{
		{{ID: 1, X: 50, Y: 50, Area: 200}},
		{{ID: 1, X: 51, Y: 50, Area: 200}, {ID: 2, X: 90, Y: 50, Area: 200}, {ID: 3, X: 90, Y: 90, Area: 200}},
	}}
	m := handModel(t, simulated(t, "default", 1))
	ctx := context.Background()
	two := []Correction{{Frame: 0, From: 1, To: 2, Force: true}, {Frame: 0, From: 1, To: 3, Force: true}}
	p, err := m.Link(ctx, movie, &LinkOptions{Corrections: two}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if e := p.Events[0][0]; !slices.Equal(e.To, []int{1, 2}) {
		t.Errorf("%v", p.Events[0])
	}
	for _, c := range []struct {
		more Correction
		want []string
	}{
		{Correction{Frame: 0, From: 1, To: 1, Force: true, Place: "c.csv: line 4"},
			[]string{"detection 1 of the first frame", "c.csv: line 4: force 1 to 1 after frame 0", "force 1 to 2"}},
		{Correction{Frame: 0, From: 1, To: 2}, []string{"contradict each other: force 1 to 2 after frame 0; " +
			"forbid 1 to 2 after frame 0"}},
		{Correction{Frame: 3, From: 1, To: 2}, []string{"no such frame with a next one; they are 0 to 0"}},
		{Correction{Frame: 0, From: 8, To: 2}, []string{"frame 0 has no detection 8"}},
	} {
		_, err := m.Link(ctx, movie, &LinkOptions{Corrections: append(slices.Clone(two), c.more)}, 0)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %v, want %s", &c.more, err, want)
			}
		}
	}
}

func TestBadCorrections(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"action,frame,from,to\nadd,0,1,1\n", `c: line 2: column action: "add" is neither force nor forbid`},
		{"action,frame,from,to\nforce,0,,\n", "line 2: neither from nor to is given"},
		{"action,frame,from,to\nforce,x,1,1\n", `column frame: "x" is not a whole number`},
		{"action,frame,from\n", `no column "to"`},
	} {
		if _, err := ReadCorrections(strings.NewReader(c.text), "c"); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
	list, err := ReadCorrections(strings.NewReader("action,frame,from,to\nforce,3,4,\nforbid,3,,5\n"), "c")
	want := []Correction{{Frame: 3, From: 4, To: -1, Force: true, Place: "c: line 2"},
		{Frame: 3, From: -1, To: 5, Place: "c: line 3"}}
	if diff := cmp.Diff(want, list); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
