package tracking

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const twoTracks = "frame,track,x,y,area\n0,1,10,10,100\n1,1,11,10,100\n2,2,8,10,50\n2,3,14,10,50\n0,4,50,50,90\n1,4,50,51,90\n2,4,50,52,90\n"

func TestReadTracks(t *testing.T) {
	parents, err := ReadLineage(strings.NewReader("1 0 1 0\n2 2 2 1\n3 2 2 1\n4 0 2 0\n"), "man_track.txt")
	if err != nil {
		t.Fatal(err)
	}
	list, err := ReadMovies(strings.NewReader(twoTracks), "m.csv", &ReadOptions{Parents: parents})
	if err != nil {
		t.Fatal(err)
	}
	m := list[0]
	if err := m.Check(false); err != nil {
		t.Fatal(err)
	}
	want := [][]Event{
		{{Move, []int{0}, []int{0}}, {Move, []int{1}, []int{1}}},
		{{Divide, []int{0}, []int{0, 1}}, {Move, []int{1}, []int{2}}},
	}
	if diff := cmp.Diff(want, m.Events); diff != "" {
		t.Error(diff)
	}
	// What is written reads back: detections, events and tracks.
	p := []*Prediction{{Events: m.Events}}
	var detections, events, tracks, challenge bytes.Buffer
	for _, err := range []error{WriteMovies(&detections, list), WriteEvents(&events, list, p),
		WriteTracks(&tracks, list, p), WriteChallenge(&challenge, m, Tracks(m, m.Events))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	again, err := ReadMovies(&detections, "again", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := ReadEvents(&events, "events", again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m.Events, again[0].Events); diff != "" || again[0].Partial {
		t.Error(diff)
	}
	back, err := ReadMovies(&tracks, "tracks", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := back[0].Graph().Edges, m.Graph().Edges; len(got) != len(want) {
		t.Errorf("%v, want %v", got, want)
	}
	if want := "1 0 1 0\n2 0 2 0\n3 2 2 1\n4 2 2 1\n"; challenge.String() != want {
		t.Errorf("res_track.txt:\n%swant:\n%s", challenge.String(), want)
	}
}

// Events over several frames: a daughter that moves on, a division between two frames that stay,
// and three daughters: the farthest is left out.
func TestEvery(t *testing.T) {
	text := "frame,track,parent,x,y\n0,1,0,0,0\n1,1,0,0,0\n2,2,1,-5,0\n2,3,1,5,0\n3,2,1,-6,0\n3,4,3,6,1\n3,5,3,60,-1\n4,2,1,-7,0\n4,4,3,6,1\n4,5,3,60,-1\n"
	list, err := ReadMovies(strings.NewReader(text), "m.csv", nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := list[0].Every(4, 0)
	if err != nil {
		t.Fatal(err)
	}
	if want := [][]Event{{{Divide, []int{0}, []int{0, 1}}, {Appear, nil, []int{2}}}}; cmp.Diff(
		want, m.Events) != "" || len(m.Edges) != 3 || m.Number(1) != 4 {
		t.Errorf("%v, %v", m.Events, m.Edges)
	}
	if m, err = list[0].Every(2, 1); err != nil ||
		cmp.Diff([][]Event{{{Divide, []int{0}, []int{0, 1}}, {Appear, nil, []int{2}}}}, m.Events) != "" ||
		m.Number(0) != 1 {
		t.Errorf("%v, %v", m.Events, err)
	}
	if c := list[0].Cut(1, 3); c.Check(false) != nil || len(c.Edges) != 2 || c.First != 1 {
		t.Errorf("%+v", c)
	}
}

func TestBadMovies(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "m.csv: the file is empty; a header"},
		{"frame,x\n0,1\n", `m.csv: line 1: there is no column "y"; the header names frame, x`},
		{"frame,x,y,x\n", `line 1: two columns are named "x"`},
		{"frame,x,y\n", "m.csv: no detections"},
		{"frame,x,y\n0,1,NaN\n", `m.csv: line 2: column y: "NaN" is not a finite number`},
		{"frame,x,y\n0,1,2\n-1,1,2\n", `line 3: column frame: "-1" is not a whole number from 0 on`},
		{"frame,x,y\n0,1\n", "m.csv: record on line 2: wrong number of fields"},
		{"frame,x,y\n0,1,2\n2,1,2\n", "line 3: no detections in frame 1, between frames 0 and 2: if that is " +
			"right, say so"},
		{"frame,x,y\n0,1,2\n2000000000,1,2\n", "no detections in frame 1, between"},
		{"frame,id,x,y\n0,7,1,2\n0,7,5,5\n", "m.csv: line 3: frame 0 has a detection of id 7 already, from line 2"},
		{"frame,x,y\n0,101,2\n", "line 2: (101, 2) is outside the field of 100 by 50"},
		{"frame,x,y,area\n0,1,2,-1\n", "line 2: a negative area"},
		{"frame,track,parent,x,y\n0,1,9,1,1\n1,1,9,1,1\n", "track 1 has the parent 9, which is no other track"},
		{"frame,track,parent,x,y\n0,1,0,1,1\n1,2,1,1,1\n1,1,0,5,5\n",
			"track 2 begins in frame 1, and its parent 1 goes on to frame 1"},
		{"frame,track,parent,x,y\n0,1,0,1,1\n1,1,3,1,1\n", "line 3: track 1 has the parent 3 here, and 0 above"},
		{"frame,series,x,y\n0,a,1,1\n0,b,1,1\n", "line 3: there are the series a and b: name one"},
	} {
		o := &ReadOptions{Width: 100, Height: 50}
		if _, err := ReadMovies(strings.NewReader(c.text), "m.csv", o); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
	gap := "frame,x,y\n0,1,2\n2,1,2\n"
	m, err := ReadMovies(strings.NewReader(gap), "m.csv", &ReadOptions{AllowEmpty: true})
	if err != nil || len(m[0].Frames) != 3 || len(m[0].Frames[1]) != 0 {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := ReadMovies(strings.NewReader("frame,x,y\n0,1,2\n2000000000,1,2\n"), "m.csv",
		&ReadOptions{AllowEmpty: true}); err == nil {
		t.Error("two billion frames were taken")
	}
}

func TestBadEvents(t *testing.T) {
	movie := "frame,id,x,y\n0,1,1,1\n0,2,9,9\n1,1,1,2\n1,2,9,8\n"
	for _, c := range []struct{ text, want string }{
		{"frame,event,from,to\n0,move,1,3\n", "e.csv: line 2: frame 1 has no detection 3"},
		{"frame,event,from,to\n1,move,1,1\n", "line 2: frame 1 has no next frame among 0 to 1"},
		{"frame,event,from,to\n0,jump,1,1\n", `column event: "jump" is none of move`},
		{"frame,event,from,to\n0,divide,1,2\n", "line 2: a divide of 1 detections to 1; it takes 1 to 2"},
		{"frame,event,from,to\n0,move,1,1\n0,move,2,1\n", "line 3: detection 1 of frame 1 takes part in another " +
			"event from the last frame already, in line 2: the annotations contradict each other"},
		{"frame,event,from,to\n0,move,x,1\n", `column from: "x" is not an id`},
		{"frame,event,from,to\n0,divide,1,2+2\n", "takes part in another event"},
	} {
		m, err := ReadMovies(strings.NewReader(movie), "m.csv", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := ReadEvents(strings.NewReader(c.text), "e.csv", m); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"1 2 3\n", "line 1: 3 numbers, not the 4"}, {"1 0 3 x\n", `"x" is not a whole number`},
		{"1 0 1 0\n1 0 2 0\n", "line 2: track 1 is there already"},
	} {
		if _, err := ReadLineage(strings.NewReader(c.text), "l"); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}

// Readers never panic, and what they accept passes the check and reads back the same.
func FuzzReadMovies(f *testing.F) {
	f.Add(twoTracks)
	f.Add("sequence,frame,id,x,y,area,intensity\n1,0,1,1,1,5,1\n2,0,1,1,1,5,1\n")
	f.Add("frame\tx\ty\n0\t1\t2\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ReadMovies(strings.NewReader(text), "m", nil)
		if err != nil {
			return
		}
		for _, m := range list {
			if err := m.Check(false); err != nil {
				t.Fatal(err)
			}
		}
		var b bytes.Buffer
		if err := WriteMovies(&b, list); err != nil {
			t.Fatal(err)
		}
		again, err := ReadMovies(&b, "m", nil)
		if err != nil || len(again) != len(list) {
			t.Fatal(fmt.Sprint(err), len(again), len(list))
		}
	})
}

// A lineage of other sequences is not taken for one without divisions.
func TestReadParentsBySequence(t *testing.T) {
	named := "sequence,frame,track,x,y\n01,0,1,1,1\n01,1,2,1,1\n01,1,3,2,1\n"
	plain := "frame,track,x,y\n0,1,1,1\n1,2,1,1\n1,3,2,1\n"
	parents := map[int]int{2: 1, 3: 1}
	for _, test := range []struct {
		movie   string
		lineage string
		edges   int // negative for an error
	}{{named, "01", 2}, {named, "", 2}, {plain, "", 2}, {plain, "01", 2}, {named, "02", -1}} {
		list, err := ReadMovies(strings.NewReader(test.movie), "m.csv",
			&ReadOptions{Parents: map[string]map[int]int{test.lineage: parents}})
		if (err != nil) != (test.edges < 0) {
			t.Errorf("lineage of %q: %v", test.lineage, err)
		} else if err == nil && len(list[0].Edges) != test.edges {
			t.Errorf("lineage of %q: %d edges, want %d", test.lineage, len(list[0].Edges), test.edges)
		}
	}
}

// Events of other sequences than the one that was read are left out.
func TestReadEventsOfOneSequence(t *testing.T) {
	read := func(sequence string) (*Movie, error) {
		list, err := ReadMovies(strings.NewReader("sequence,frame,id,x,y\n2,0,1,1,1\n2,1,1,1,1\n"), "m", nil)
		if err != nil {
			t.Fatal(err)
		}
		events := "sequence,frame,event,from,to\n1,0,disappear,1,\n1,0,appear,,1\n" + sequence + ",0,move,1,1\n"
		return list[0], ReadEvents(strings.NewReader(events), "e", list)
	}
	m, err := read("2")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]Event{{{Move, []int{0}, []int{0}}}}, m.Events); diff != "" || m.Partial {
		t.Error(diff)
	}
	if _, err := read("3"); err == nil {
		t.Error("events of another sequence were accepted")
	}
}

// Positions are written as they were read, in any unit.
func TestWriteTracksExactly(t *testing.T) {
	m := &Movie{Frames: [][]Detection{{{ID: 1, X: 1.23456789e-7, Y: 2.00012345}}}}
	var b bytes.Buffer
	if err := WriteTracks(&b, []*Movie{m}, []*Prediction{{Events: [][]Event{}}}); err != nil {
		t.Fatal(err)
	}
	back, err := ReadMovies(&b, "tracks", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := back[0].Frames[0][0]; got.X != 1.23456789e-7 || got.Y != 2.00012345 {
		t.Errorf("%v, %v", got.X, got.Y)
	}
}
