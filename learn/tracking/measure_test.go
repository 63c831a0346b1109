package tracking

import (
	"math"
	"testing"
)

// line makes the edges of a track through single vertices.
func line(parent bool, nodes ...Node) []Edge {
	var out []Edge
	for i := range nodes[1:] {
		out = append(out, Edge{From: nodes[i], To: nodes[i+1], Parent: parent})
	}
	return out
}

// A reference of three frames with two vertices each, in two straight tracks; computed graphs
// with known defects. The sums are by hand, with the weights 5, 10, 1; 1, 1.5, 1.
func TestAcyclicGraphMeasures(t *testing.T) {
	a := []Node{{0, 0}, {1, 0}, {2, 0}}
	b := []Node{{0, 1}, {1, 1}, {2, 1}}
	reference := &Graph{Vertices: []int{2, 2, 2}, Edges: append(line(false, a...), line(false, b...)...)}
	same := Same(reference)
	for _, c := range []struct {
		name          string
		vertices      []int
		edges         []Edge
		match         Matching
		want          Counts
		det, lnk, tra float64
	}{
		{"perfect", []int{2, 2, 2}, reference.Edges, same, Counts{Vertices: 6, Edges: 4, Found: 4}, 1, 1, 1},
		{"nothing", []int{0, 0, 0}, nil, Matching{{}, {}, {}},
			Counts{Vertices: 6, Edges: 4, MissedVertices: 6, MissedEdges: 4}, 0, 0, 0},
		{"no edges", []int{2, 2, 2}, nil, same, Counts{Vertices: 6, Edges: 4, MissedEdges: 4}, 1, 0, 60.0 / 66},
		// Tracks change places after the first frame: 2 edges to delete, 2 to add.
		{"crossed", []int{2, 2, 2}, []Edge{{From: a[0], To: b[1]}, {From: b[0], To: a[1]}, {From: a[1], To: a[2]},
			{From: b[1], To: b[2]}}, same, Counts{Vertices: 6, Edges: 4, Found: 2, FalseEdges: 2, MissedEdges: 2}, 1,
			1 - 5.0/6, 1 - 5.0/66},
		// One edge is a parent's: its meaning is to be changed.
		{"meaning", []int{2, 2, 2}, append(line(true, a[0], a[1]),
			append(line(false, a[1], a[2]), line(false, b...)...)...), same,
			Counts{Vertices: 6, Edges: 4, Found: 4, WrongEdges: 1}, 1, 1 - 1.0/6, 1 - 1.0/66},
		// Both objects of the middle frame are one, which is split; its edges go with it, and all
		// four are added.
		{"merged", []int{2, 1, 2}, []Edge{{From: a[0], To: Node{1, 0}}, {From: Node{1, 0}, To: a[2]}},
			Matching{{{0}, {1}}, {{0, 1}}, {{0}, {1}}}, Counts{Vertices: 6, Edges: 4, Splits: 1, MissedEdges: 4},
			1 - 5.0/60, 0, 1 - 11.0/66},
		// A vertex that is none, with an edge: one to delete, the edge goes with it.
		{"clutter", []int{2, 2, 3}, append([]Edge{{From: b[1], To: Node{2, 2}}}, reference.Edges...),
			Matching{{{0}, {1}}, {{0}, {1}}, {{0}, {1}, nil}},
			Counts{Vertices: 6, Edges: 4, FalseVertices: 1, Found: 4, DivisionsFalse: 1}, 1 - 1.0/60, 1, 1 - 1.0/66},
	} {
		n, err := Compare(&Graph{Vertices: c.vertices, Edges: c.edges}, reference, c.match, 0)
		if err != nil {
			t.Fatal(err)
		}
		if *n != c.want {
			t.Errorf("%s: %+v, by hand %+v", c.name, *n, c.want)
		}
		for _, v := range []struct {
			name      string
			got, want float64
		}{{"DET", n.DET(Challenge), c.det}, {"LNK", n.LNK(Challenge), c.lnk}, {"TRA", n.TRA(Challenge), c.tra}} {
			if math.Abs(v.got-v.want) > 1e-12 {
				t.Errorf("%s: %s %v, by hand %v", c.name, v.name, v.got, v.want)
			}
		}
	}
}

// A mother of five frames whose daughters begin in frame 3; computed divisions one frame late, one
// early, elsewhere and not at all.
func TestDivisionsWithTolerance(t *testing.T) {
	m := []Node{{0, 0}, {1, 0}, {2, 0}}
	x, y := []Node{{3, 0}, {4, 0}}, []Node{{3, 1}, {4, 1}}
	edges := append(line(false, m...), append(line(true, m[2], x[0]), line(true, m[2], y[0])...)...)
	reference := &Graph{Vertices: []int{1, 1, 1, 2, 2},
		Edges: append(edges, append(line(false, x...), line(false, y...)...)...)}
	late := append(line(false, append(m, x[0])...), append(line(true, x[0], x[1]), line(true, x[0], y[1])...)...)
	other := append(line(false, append(m, x...)...), Edge{From: Node{3, 1}, To: Node{4, 1}})
	for _, c := range []struct {
		name              string
		edges             []Edge
		tolerance         int
		found, falseFound int
		f1                float64
	}{
		{"exact", reference.Edges, 0, 1, 0, 1},
		{"late", late, 0, 0, 1, 0},
		{"late within 1", late, 1, 1, 0, 1},
		{"none", other, 2, 0, 0, 0},
	} {
		n, err := Compare(&Graph{Vertices: reference.Vertices, Edges: c.edges}, reference,
			Same(reference), c.tolerance)
		if err != nil {
			t.Fatal(err)
		}
		if n.Divisions != 1 || n.DivisionsFound != c.found || n.DivisionsFalse != c.falseFound ||
			n.DivisionF1() != c.f1 {
			t.Errorf("%s: %d found, %d false of %d, F1 %v", c.name, n.DivisionsFound, n.DivisionsFalse,
				n.Divisions, n.DivisionF1())
		}
	}
	// An early one: the reference is late, and the computed graph divides where reference did above.
	n, err := Compare(reference, &Graph{Vertices: reference.Vertices,
		Edges: append(late, Edge{From: Node{2, 0}, To: Node{3, 1}, Parent: true})}, Same(reference), 1)
	if err != nil {
		t.Fatal(err)
	}
	if n.Divisions != 2 || n.DivisionsFound != 1 {
		t.Errorf("early: %+v", n)
	}
}

// Links from an end to a beginning are distinguished from other false ones.
func TestFalseJoins(t *testing.T) {
	reference := &Graph{Vertices: []int{2, 2}, Edges: line(false, Node{0, 0}, Node{1, 0})}
	n, err := Compare(&Graph{Vertices: []int{2, 2},
		Edges: append(line(false, Node{0, 1}, Node{1, 1}), line(false, Node{0, 0}, Node{1, 0})...)}, reference,
		Same(reference), 0)
	if err != nil || n.FalseEdges != 1 || n.FalseJoins != 1 {
		t.Errorf("%+v, %v", n, err)
	}
	n, err = Compare(&Graph{Vertices: []int{2, 2}, Edges: line(false, Node{0, 1}, Node{1, 0})}, reference,
		Same(reference), 0)
	if err != nil || n.FalseEdges != 1 || n.FalseJoins != 0 {
		t.Errorf("%+v, %v", n, err)
	}
}

// Against the cells themselves, a perfect tracker of detections without segmentation errors is
// perfect, and one of detections with errors lacks what they hide.
func TestCellsAsReference(t *testing.T) {
	for _, preset := range []string{"clean", "hard"} {
		o := Presets[preset]
		m, cells, err := Simulate(&o, 5)
		if err != nil {
			t.Fatal(err)
		}
		reference, match := cells.Reference(m)
		n, err := Compare(m.Graph(), reference, match, 0)
		if err != nil {
			t.Fatal(err)
		}
		missed, merged := 0, 0
		for f, list := range cells.Frames {
			shows := make([]int, len(m.Frames[f]))
			for _, c := range list {
				if len(c.Seen) == 0 {
					missed++
				}
				if len(c.Seen) == 1 {
					shows[c.Seen[0]]++
				}
			}
			for _, k := range shows {
				if k == 2 {
					merged++
				}
			}
		}
		if n.MissedVertices != missed || n.Splits != merged {
			t.Errorf("%s: %+v; %d cells are not seen, %d seen with another", preset, n, missed, merged)
		}
		// A mother whose other daughter left at once moves, to the detections.
		if preset == "clean" && (n.FalseEdges+n.MissedEdges > 0 || n.DET(Challenge) != 1 || n.WrongEdges > 2 ||
			n.DivisionsFound != n.Divisions || n.Divisions == 0) {
			t.Errorf("clean: %+v", n)
		}
		if preset == "hard" && (n.DET(Challenge) > 0.99 || n.DET(Challenge) < 0.7 || merged == 0) {
			t.Errorf("hard: DET %v, %+v", n.DET(Challenge), n)
		}
	}
}
