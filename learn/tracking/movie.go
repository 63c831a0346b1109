package tracking

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Detection is an object seen in one frame. Lengths are in pixels.
type Detection struct {
	ID        int // of the frame's detections
	X, Y      float64
	Area      float64 // 0 where it is not known
	Intensity float64 // mean of the object; 0 where it is not known
	// VarX, VarY and CovXY are the second central moments of the shape; all 0 where not known.
	VarX, VarY, CovXY float64
}

// Radius returns that of the disc of the same area.
func (d *Detection) Radius() float64 { return math.Sqrt(d.Area / math.Pi) }

// distance returns that of two centres.
func distance(a, b *Detection) float64 { return math.Hypot(a.X-b.X, a.Y-b.Y) }

// Kind is what happens to detections from one frame to the next.
type Kind string

// The kinds of events. Divide and Split have the same shape: a mother has two daughters, an object
// breaks into two detections of it.
const (
	Move      Kind = "move"      // 1 to 1
	Divide    Kind = "divide"    // 1 to 2
	Split     Kind = "split"     // 1 to 2
	Merge     Kind = "merge"     // 2 to 1
	Appear    Kind = "appear"    // 0 to 1
	Disappear Kind = "disappear" // 1 to 0
)

// Kinds are all of them, in the order of the weights.
var Kinds = []Kind{Move, Divide, Split, Merge, Appear, Disappear}

// block returns the place in Kinds.
func (k Kind) block() int { return slices.Index(Kinds, k) }

// Event is a kind with the detections that take part, by their places in the two frames, ascending.
type Event struct {
	Kind     Kind
	From, To []int
}

// fits reports whether the numbers of detections are those of the kind.
func (e *Event) fits() bool {
	shape := [2]int{len(e.From), len(e.To)}
	switch e.Kind {
	case Move:
		return shape == [2]int{1, 1}
	case Divide, Split:
		return shape == [2]int{1, 2}
	case Merge:
		return shape == [2]int{2, 1}
	case Appear:
		return shape == [2]int{0, 1}
	case Disappear:
		return shape == [2]int{1, 0}
	}
	return false
}

// compareEvents orders events by what they do to the first frame, then the second.
func compareEvents(a, b Event) int {
	return cmp.Or(-cmp.Compare(min(len(a.From), 1), min(len(b.From), 1)), slices.Compare(a.From, b.From),
		slices.Compare(a.To, b.To), cmp.Compare(a.Kind.block(), b.Kind.block()))
}

// Node is a detection of a movie: a place among the frames, and one in the frame.
type Node struct{ Frame, Index int }

// Edge joins a detection to what it is, or becomes, in a later frame. Parent marks edges between
// tracks: from a mother to a daughter, for example.
type Edge struct {
	From, To Node
	Parent   bool
	Split    bool // to parts of one object, or from them: no division
}

func compareEdges(a, b Edge) int {
	return cmp.Or(cmp.Compare(a.From.Frame, b.From.Frame), cmp.Compare(a.From.Index, b.From.Index),
		cmp.Compare(a.To.Frame, b.To.Frame), cmp.Compare(a.To.Index, b.To.Index))
}

// Movie is frames of detections, and what is known of their tracks.
type Movie struct {
	Name          string
	Sequence      string  // of a file with several
	Width, Height float64 // of the field; 0 where they are not known
	First         int     // number of Frames[0]; frame i is First + i·Stride
	Stride        int     // of frame numbers; 0 is 1
	Frames        [][]Detection
	// Events has, for each frame but the last, what happens to the next: every detection of both
	// frames has one part. nil where the movie is not labelled.
	Events [][]Event
	// Partial says that Events has not the parts of all detections: the others are not annotated.
	Partial bool
	// Edges is the true graph. It may have what events cannot express: gaps, three daughters.
	Edges []Edge
}

// Number returns the number of a frame.
func (m *Movie) Number(frame int) int { return m.First + frame*max(m.Stride, 1) }

// Labelled reports whether the tracks are known.
func (m *Movie) Labelled() bool { return m.Events != nil }

// Detections returns how many there are in all frames.
func (m *Movie) Detections() int {
	n := 0
	for _, f := range m.Frames {
		n += len(f)
	}
	return n
}

// field returns the borders: those given, else those of the centres.
func (m *Movie) field() (x0, y0, x1, y1 float64) {
	if m.Width > 0 && m.Height > 0 {
		return 0, 0, m.Width, m.Height
	}
	x0, y0, x1, y1 = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, f := range m.Frames {
		for i := range f {
			d := &f[i]
			x0, y0, x1, y1 = math.Min(x0, d.X), math.Min(y0, d.Y), math.Max(x1, d.X), math.Max(y1, d.Y)
		}
	}
	return
}

// Check returns the first error in a movie, by frame and detection. It finds numbers that are not
// finite, negative areas, centres outside the field, two detections of one id, frames without
// detections, and events that do not have every detection once.
func (m *Movie) Check(emptyFrames bool) error {
	fail := func(f int, format string, args ...any) error {
		return fmt.Errorf("tracking: %s: frame %d: %s", m.title(), m.Number(f), fmt.Sprintf(format, args...))
	}
	for f, list := range m.Frames {
		if len(list) == 0 && !emptyFrames {
			return fail(f, "no detections: if that is right, say so (AllowEmpty, --allow_empty); all tracks end there")
		}
		seen := make(map[int]int, len(list))
		for i := range list {
			d := &list[i]
			for _, v := range []struct {
				name  string
				value float64
			}{{"x", d.X}, {"y", d.Y}, {"area", d.Area}, {"intensity", d.Intensity}, {"var_x", d.VarX},
				{"var_y", d.VarY}, {"cov_xy", d.CovXY}} {
				if v.value-v.value != 0 {
					return fail(f, "detection %d: %s is %v", d.ID, v.name, v.value)
				}
			}
			if d.Area < 0 || d.VarX < 0 || d.VarY < 0 {
				return fail(f, "detection %d: a negative area or variance", d.ID)
			}
			if m.Width > 0 && m.Height > 0 && (d.X < 0 || d.Y < 0 || d.X > m.Width || d.Y > m.Height) {
				return fail(f, "detection %d at (%g, %g) is outside the field of %g by %g", d.ID, d.X, d.Y,
					m.Width, m.Height)
			}
			if _, twice := seen[d.ID]; twice {
				return fail(f, "two detections have the id %d", d.ID)
			}
			seen[d.ID] = i
		}
	}
	if m.Events == nil {
		return nil
	}
	if len(m.Events) != max(len(m.Frames)-1, 0) {
		return fmt.Errorf("tracking: %s: events of %d frame pairs, there are %d frames", m.title(),
			len(m.Events), len(m.Frames))
	}
	for t, events := range m.Events {
		if err := m.checkEvents(t, events); err != nil {
			return err
		}
	}
	return nil
}

func (m *Movie) checkEvents(t int, events []Event) error {
	sides := [2][]Detection{m.Frames[t], m.Frames[t+1]}
	times := [2][]int{make([]int, len(sides[0])), make([]int, len(sides[1]))}
	for _, e := range events {
		if !e.fits() {
			return fmt.Errorf("tracking: %s: frames %d and %d: an event %s of %d detections and %d", m.title(),
				m.Number(t), m.Number(t+1), e.Kind, len(e.From), len(e.To))
		}
		for side, list := range [2][]int{e.From, e.To} {
			for _, i := range list {
				if i < 0 || i >= len(times[side]) {
					return fmt.Errorf("tracking: %s: frame %d has no detection at place %d", m.title(), m.Number(t+side), i)
				}
				if times[side][i]++; times[side][i] > 1 {
					return fmt.Errorf("tracking: %s: frame %d: detection %d takes part in two events %s", m.title(),
						m.Number(t+side), sides[side][i].ID, []string{"towards the next frame", "from the last frame"}[side])
				}
			}
		}
	}
	for side := range times {
		for i, n := range times[side] {
			if n == 0 && !m.Partial {
				return fmt.Errorf("tracking: %s: frame %d: detection %d has no event %s", m.title(), m.Number(t+side),
					sides[side][i].ID, []string{"towards the next frame", "from the last frame"}[side])
			}
		}
	}
	return nil
}

func (m *Movie) title() string { return cmp.Or(m.Name, "movie") }

// edgesOf returns the edges of events between frames t and t+1, sorted.
func edgesOf(t int, events []Event) []Edge {
	var out []Edge
	for _, e := range events {
		for _, i := range e.From {
			for _, j := range e.To {
				out = append(out, Edge{Node{t, i}, Node{t + 1, j}, e.Kind != Move, e.Kind == Split || e.Kind == Merge})
			}
		}
	}
	slices.SortFunc(out, compareEdges)
	return out
}

// EdgesOf returns the graph of events between all frames, sorted. Edges of a move stay within a
// track, all others are between tracks.
func EdgesOf(events [][]Event) []Edge {
	var out []Edge
	for t, list := range events {
		out = append(out, edgesOf(t, list)...)
	}
	return out
}

// EventsOf returns the events of frames t and t+1 that a graph has: components of edges between the
// two, by their shape. A mother of two is a Divide. Of a component that no event expresses, the
// longest edges are left out until one does.
func (m *Movie) EventsOf(t int, edges []Edge) []Event {
	from, to := m.Frames[t], m.Frames[t+1]
	var links [][2]int
	for _, e := range edges {
		if e.From.Frame == t && e.To.Frame == t+1 {
			links = append(links, [2]int{e.From.Index, e.To.Index})
		}
	}
	slices.SortStableFunc(links, func(a, b [2]int) int {
		return cmp.Compare(distance(&from[a[0]], &to[a[1]]), distance(&from[b[0]], &to[b[1]]))
	})
	// Edges are taken shortest first, as long as every component can be expressed.
	next, last := make([][]int, len(from)), make([][]int, len(to))
	for _, l := range links {
		i, j := l[0], l[1]
		switch a, b := len(next[i]), len(last[j]); {
		case a == 0 && b == 0:
		case a == 1 && b == 0 && len(last[next[i][0]]) == 1: // a second daughter
		case a == 0 && b == 1 && len(next[last[j][0]]) == 1: // a second source
		default:
			continue
		}
		next[i], last[j] = append(next[i], j), append(last[j], i)
	}
	var out []Event
	for i := range from {
		slices.Sort(next[i])
		switch len(next[i]) {
		case 0:
			out = append(out, Event{Disappear, []int{i}, nil})
		case 2:
			out = append(out, Event{Divide, []int{i}, next[i]})
		case 1:
			j := next[i][0]
			slices.Sort(last[j])
			if len(last[j]) == 1 {
				out = append(out, Event{Move, []int{i}, []int{j}})
			} else if last[j][0] == i {
				out = append(out, Event{Merge, last[j], []int{j}})
			}
		}
	}
	for j := range to {
		if len(last[j]) == 0 {
			out = append(out, Event{Appear, nil, []int{j}})
		}
	}
	slices.SortFunc(out, compareEvents)
	return out
}

// Every returns the movie of frames offset, offset+stride and so on. Edges join a detection to its
// nearest descendants among the frames that stay, and events are those of the edges.
func (m *Movie) Every(stride, offset int) (*Movie, error) {
	if stride < 1 || offset < 0 || offset >= max(stride, 1) {
		return nil, fmt.Errorf("tracking: stride %d must be at least 1, and offset %d from 0 to less than that",
			stride, offset)
	}
	out := &Movie{Name: m.Name, Sequence: m.Sequence, Width: m.Width, Height: m.Height, First: m.Number(offset),
		Stride: stride * max(m.Stride, 1)}
	if stride > 1 {
		out.Name = fmt.Sprintf("%s every %d from %d", m.title(), stride, m.Number(offset))
	}
	for f := offset; f < len(m.Frames); f += stride {
		out.Frames = append(out.Frames, m.Frames[f])
	}
	if !m.Labelled() {
		return out, nil
	}
	if stride == 1 {
		out.Events, out.Edges, out.Partial = m.Events, m.Edges, m.Partial
		return out, nil
	}
	if m.Partial {
		return nil, fmt.Errorf("tracking: %s: events of some detections only cannot be followed over %d frames",
			m.title(), stride)
	}
	after := map[Node][]Edge{}
	for _, e := range m.Edges {
		after[e.From] = append(after[e.From], e)
	}
	kept := func(f int) bool { return f >= offset && (f-offset)%stride == 0 }
	seen := map[[2]Node]bool{}
	var follow func(from, at Node, parent, split bool)
	follow = func(from, at Node, parent, split bool) {
		for _, e := range after[at] {
			p, s := parent || e.Parent, split || e.Split
			if !kept(e.To.Frame) {
				follow(from, e.To, p, s)
				continue
			}
			a, b := Node{(from.Frame - offset) / stride, from.Index}, Node{(e.To.Frame - offset) / stride, e.To.Index}
			if !seen[[2]Node{a, b}] {
				seen[[2]Node{a, b}] = true
				out.Edges = append(out.Edges, Edge{a, b, p, s})
			}
		}
	}
	for f := range m.Frames {
		if kept(f) {
			for i := range m.Frames[f] {
				follow(Node{f, i}, Node{f, i}, false, false)
			}
		}
	}
	slices.SortFunc(out.Edges, compareEdges)
	out.Events = make([][]Event, max(len(out.Frames)-1, 0))
	for t := range out.Events {
		out.Events[t] = out.EventsOf(t, out.Edges)
	}
	return out, nil
}

// Cut returns the frames from one on and before another, with their events and edges.
func (m *Movie) Cut(from, to int) *Movie {
	out := &Movie{Name: fmt.Sprintf("%s frames %d to %d", m.title(), m.Number(from), m.Number(to-1)),
		Sequence: m.Sequence, Width: m.Width, Height: m.Height, First: m.Number(from), Stride: m.Stride,
		Frames: m.Frames[from:to], Partial: m.Partial}
	if m.Labelled() {
		out.Events = m.Events[from : to-1]
		for _, e := range m.Edges {
			if e.From.Frame >= from && e.To.Frame < to {
				out.Edges = append(out.Edges, Edge{Node{e.From.Frame - from, e.From.Index},
					Node{e.To.Frame - from, e.To.Index}, e.Parent, e.Split})
			}
		}
	}
	return out
}

// String describes a movie in a few words.
func (m *Movie) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d frames, %d detections", m.title(), len(m.Frames), m.Detections())
	if m.Labelled() {
		fmt.Fprintf(&b, ", %d links", len(m.Edges))
	}
	return b.String()
}
