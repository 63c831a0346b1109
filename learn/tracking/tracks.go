package tracking

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Track is an object from the frame where it appears, or its parent becomes it, to the last.
type Track struct {
	ID     int   // from 1
	First  int   // frame
	Index  []int // its detection in the first frame and each after it
	Parent int   // id, 0 for none
}

// Last returns the last frame.
func (t *Track) Last() int { return t.First + len(t.Index) - 1 }

// Tracks joins events to tracks, in the order of first frames and detections. A division or a split
// begins two tracks with the one as parent. A merge begins a track as well. Its parent is the
// nearer of the two, since the files of the Cell Tracking Challenge have only one parent.
func Tracks(m *Movie, events [][]Event) []*Track {
	var out []*Track
	of := make([][]*Track, len(m.Frames)) // of every detection
	begin := func(f, i int, parent *Track) {
		t := &Track{ID: len(out) + 1, First: f, Index: []int{i}}
		if parent != nil {
			t.Parent = parent.ID
		}
		out = append(out, t)
		of[f][i] = t
	}
	for f := range m.Frames {
		of[f] = make([]*Track, len(m.Frames[f]))
		if f > 0 {
			starts := map[int]*Track{} // parents of detections that begin tracks
			for _, e := range events[f-1] {
				switch {
				case e.Kind == Move:
					t := of[f-1][e.From[0]]
					t.Index = append(t.Index, e.To[0])
					of[f][e.To[0]] = t
				case e.Kind == Merge:
					a, b, to := e.From[0], e.From[1], &m.Frames[f][e.To[0]]
					if distance(&m.Frames[f-1][b], to) < distance(&m.Frames[f-1][a], to) {
						a = b
					}
					starts[e.To[0]] = of[f-1][a]
				case len(e.To) == 2:
					starts[e.To[0]], starts[e.To[1]] = of[f-1][e.From[0]], of[f-1][e.From[0]]
				}
			}
			for i := range m.Frames[f] {
				if of[f][i] == nil {
					begin(f, i, starts[i])
				}
			}
			continue
		}
		for i := range m.Frames[f] {
			begin(f, i, nil)
		}
	}
	return out
}

// WriteTracks writes a line for each detection of movies: track, parent, frame, id, x and y, by
// track, and the sequence where there are several.
func WriteTracks(w io.Writer, movies []*Movie, predictions []*Prediction) error {
	b := bufio.NewWriter(w)
	if len(movies) > 1 {
		fmt.Fprint(b, "sequence,")
	}
	fmt.Fprintln(b, "track,parent,frame,id,x,y")
	for n, m := range movies {
		for _, t := range Tracks(m, predictions[n].Events) {
			for k, i := range t.Index {
				d := &m.Frames[t.First+k][i]
				if len(movies) > 1 {
					fmt.Fprintf(b, "%s,", m.sequence(n))
				}
				fmt.Fprintf(b, "%d,%d,%d,%d,%s,%s\n", t.ID, t.Parent, m.Number(t.First+k), d.ID, exact(d.X), exact(d.Y))
			}
		}
	}
	return b.Flush()
}

// exact writes a number with as many digits as it takes to read the same again.
func exact(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// WriteChallenge writes tracks as a res_track.txt of the Cell Tracking Challenge: track, first
// frame, last frame and parent.
func WriteChallenge(w io.Writer, m *Movie, tracks []*Track) error {
	b := bufio.NewWriter(w)
	sorted := slices.Clone(tracks)
	slices.SortFunc(sorted, func(a, b *Track) int { return cmp.Compare(a.ID, b.ID) })
	for _, t := range sorted {
		fmt.Fprintf(b, "%d %d %d %d\n", t.ID, m.Number(t.First), m.Number(t.Last()), t.Parent)
	}
	return b.Flush()
}
