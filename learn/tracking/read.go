package tracking

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// sheet is a table of text with named columns, separated by tabs or commas, one line a time.
type sheet struct {
	name   string
	r      *csv.Reader
	column map[string]int
	row    []string
}

// newSheet reads the header. Columns needed must be there.
func newSheet(r io.Reader, name string, needed ...string) (*sheet, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	head, err := b.Peek(4096)
	if err != nil && len(head) == 0 {
		if errors.Is(err, io.EOF) {
			err = errors.New("the file is empty; a header with the names of columns is needed")
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	first, _, _ := strings.Cut(string(head), "\n")
	s := &sheet{name: name, r: csv.NewReader(b), column: map[string]int{}}
	if strings.ContainsRune(first, '\t') {
		s.r.Comma = '\t'
	}
	s.r.ReuseRecord = true
	header, err := s.r.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for i, h := range header {
		h = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(h, "\ufeff")))
		if _, twice := s.column[h]; twice {
			return nil, fmt.Errorf("%s: line 1: two columns are named %q", name, h)
		}
		s.column[h] = i
	}
	for _, n := range needed {
		if !s.has(n) {
			return nil, fmt.Errorf("%s: line 1: there is no column %q; the header names %s", name, n,
				strings.Join(header, ", "))
		}
	}
	return s, nil
}

func (s *sheet) has(column string) bool { _, ok := s.column[column]; return ok }

// next reads a line; false at the end.
func (s *sheet) next() (bool, error) {
	row, err := s.r.Read()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", s.name, err)
	}
	s.row = row
	return true, nil
}

// line returns the number of the line that next read.
func (s *sheet) line() int {
	n, _ := s.r.FieldPos(0)
	return n
}

// text returns a column's cell, "" where there is no such column.
func (s *sheet) text(column string) string {
	if i, ok := s.column[column]; ok {
		return strings.TrimSpace(s.row[i])
	}
	return ""
}

func (s *sheet) fail(format string, args ...any) error {
	return fmt.Errorf("%s: line %d: %s", s.name, s.line(), fmt.Sprintf(format, args...))
}

// number returns a column's finite number, otherwise where there is no such column.
func (s *sheet) number(column string, otherwise float64) (float64, error) {
	if !s.has(column) {
		return otherwise, nil
	}
	v, err := strconv.ParseFloat(s.text(column), 64)
	if err != nil || v-v != 0 {
		return 0, s.fail("column %s: %q is not a finite number", column, s.text(column))
	}
	return v, nil
}

// integer returns a column's whole number from least to 2³¹-1.
func (s *sheet) integer(column string, least, otherwise int) (int, error) {
	if !s.has(column) {
		return otherwise, nil
	}
	v, err := strconv.ParseInt(s.text(column), 10, 32)
	if err != nil || v < int64(least) {
		return 0, s.fail("column %s: %q is not a whole number from %d on", column, s.text(column), least)
	}
	return int(v), nil
}

// ReadOptions says how movies are read; nil is the same as the zero value.
type ReadOptions struct {
	Width, Height float64 // of the field; 0 where they are not known
	Sequence      string  // the only one to read; "" is all
	Series        string  // of files with a column series, the only one to read; "" where there is none or one
	AllowEmpty    bool    // frames without detections may stand between others
	// Parents has the parents of tracks by sequence, as ReadLineage returns them; nil is none.
	Parents map[string]map[int]int
}

// located is a detection with what its line says beside.
type located struct {
	Detection
	frame, track, line int
}

// ReadMovies reads detections, a line each, from a table with a header, separated by tabs or
// commas. Columns: frame, x and y are needed. id numbers the detections of a frame; without it
// track does, and otherwise their order. track joins detections of one object, and makes a movie
// labelled; parent names the track that a track came from, 0 for none. area, intensity, var_x,
// var_y and cov_xy describe the object. sequence and series tell movies in one file apart. Other
// columns are not changed.
//
// Errors name the line, or the movie and the frame.
func ReadMovies(r io.Reader, name string, opts *ReadOptions) ([]*Movie, error) {
	o := ReadOptions{}
	if opts != nil {
		o = *opts
	}
	s, err := newSheet(r, name, "frame", "x", "y")
	if err != nil {
		return nil, err
	}
	rows := map[string][]located{}
	parents := map[string]map[int]int{}
	series := ""
	for {
		more, err := s.next()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		sequence := s.text("sequence")
		if o.Sequence != "" && sequence != o.Sequence || o.Series != "" && s.text("series") != o.Series {
			continue
		}
		if o.Series == "" && s.has("series") {
			if at := s.text("series"); series != "" && at != series {
				return nil, s.fail("there are the series %s and %s: name one of them", series, at)
			}
			series = s.text("series")
		}
		d, parent, err := s.detection(len(rows[sequence]))
		if err != nil {
			return nil, err
		}
		if s.has("parent") && d.track > 0 {
			if parents[sequence] == nil {
				parents[sequence] = map[int]int{}
			}
			if p, ok := parents[sequence][d.track]; ok && p != parent {
				return nil, s.fail("track %d has the parent %d here, and %d above", d.track, parent, p)
			}
			parents[sequence][d.track] = parent
		}
		rows[sequence] = append(rows[sequence], d)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s: no detections%s", name, filtered(&o))
	}
	var out []*Movie
	for _, sequence := range sortedKeys(rows) {
		p := parents[sequence]
		if o.Parents != nil {
			if p, err = o.parents(sequence, rows); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		m, err := movieOf(name, sequence, rows[sequence], s.has("track"), p, &o)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

func filtered(o *ReadOptions) string {
	switch {
	case o.Sequence != "" && o.Series != "":
		return fmt.Sprintf(" of sequence %s and series %s", o.Sequence, o.Series)
	case o.Sequence != "":
		return " of sequence " + o.Sequence
	case o.Series != "":
		return " of series " + o.Series
	}
	return ""
}

// parents returns those of a sequence. Where it is the only one, and the lineage has one only, a
// name that just one of them has does not matter. Sequences without a line have no parents if
// others have one: else the lineage is of another file.
func (o *ReadOptions) parents(sequence string, rows map[string][]located) (map[int]int, error) {
	p, ok := o.Parents[sequence]
	if ok || len(o.Parents) == 0 {
		return p, nil
	}
	for name, other := range o.Parents {
		if _, ok := rows[name]; ok {
			return nil, nil
		}
		if len(o.Parents) == 1 && len(rows) == 1 && (name == "" || sequence == "") {
			return other, nil
		}
	}
	return nil, fmt.Errorf("the lineage is of the sequences %q, and not of %q", sortedKeys(o.Parents),
		sortedKeys(rows))
}

func sortedKeys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// detection reads a line.
func (s *sheet) detection(n int) (d located, parent int, err error) {
	d.line = s.line()
	for _, f := range []struct {
		to     *float64
		column string
	}{{&d.X, "x"}, {&d.Y, "y"}, {&d.Area, "area"}, {&d.Intensity, "intensity"}, {&d.VarX, "var_x"},
		{&d.VarY, "var_y"}, {&d.CovXY, "cov_xy"}} {
		if *f.to, err = s.number(f.column, 0); err != nil {
			return
		}
	}
	if d.frame, err = s.integer("frame", 0, 0); err != nil {
		return
	}
	if d.track, err = s.integer("track", 0, 0); err != nil {
		return
	}
	if parent, err = s.integer("parent", 0, 0); err != nil {
		return
	}
	otherwise := n + 1
	if s.has("track") {
		otherwise = d.track
	}
	d.ID, err = s.integer("id", 0, otherwise)
	return
}

// movieOf puts the detections of a sequence into frames, and joins them by their tracks.
func movieOf(file, sequence string, rows []located, labelled bool, parents map[int]int,
	o *ReadOptions) (*Movie, error) {
	m := &Movie{Name: file, Sequence: sequence, Width: o.Width, Height: o.Height}
	if sequence != "" {
		m.Name += " sequence " + sequence
	}
	slices.SortStableFunc(rows, func(a, b located) int { return cmp.Compare(a.frame, b.frame) })
	for i, d := range rows[1:] {
		if gap := d.frame - rows[i].frame; gap > 1 && (!o.AllowEmpty || gap > len(rows)) {
			return nil, fmt.Errorf("%s: line %d: no detections in frame %d, between frames %d and %d: if that is "+
				"right, say so (AllowEmpty, --allow_empty); all tracks end there", m.Name, d.line, rows[i].frame+1,
				rows[i].frame, d.frame)
		}
	}
	m.First = rows[0].frame
	m.Frames = make([][]Detection, rows[len(rows)-1].frame-m.First+1)
	tracks := map[int][]Node{}
	type place struct{ frame, id int }
	lines := make(map[place]int, len(rows))
	for _, d := range rows {
		f := d.frame - m.First
		at := place{f, d.ID}
		if l, twice := lines[at]; twice {
			return nil, fmt.Errorf("%s: line %d: frame %d has a detection of id %d already, from line %d", file,
				d.line, d.frame, d.ID, l)
		}
		lines[at] = d.line
		if d.Area < 0 || d.VarX < 0 || d.VarY < 0 {
			return nil, fmt.Errorf("%s: line %d: a negative area or variance", file, d.line)
		}
		if o.Width > 0 && o.Height > 0 && (d.X < 0 || d.Y < 0 || d.X > o.Width || d.Y > o.Height) {
			return nil, fmt.Errorf("%s: line %d: (%g, %g) is outside the field of %g by %g", file, d.line, d.X, d.Y,
				o.Width, o.Height)
		}
		if labelled && d.track > 0 {
			tracks[d.track] = append(tracks[d.track], Node{f, len(m.Frames[f])})
		}
		m.Frames[f] = append(m.Frames[f], d.Detection)
	}
	if !labelled {
		return m, nil
	}
	for id, list := range tracks {
		for i := range list[1:] {
			if list[i].Frame == list[i+1].Frame {
				return nil, fmt.Errorf("%s: frame %d: track %d has two detections", m.Name, m.Number(list[i].Frame), id)
			}
			m.Edges = append(m.Edges, Edge{From: list[i], To: list[i+1]})
		}
		p := parents[id]
		if p == 0 {
			continue
		}
		mother, ok := tracks[p]
		if !ok || p == id {
			return nil, fmt.Errorf("%s: track %d has the parent %d, which is no other track of it", m.Name, id, p)
		}
		last := mother[len(mother)-1]
		if last.Frame >= list[0].Frame {
			return nil, fmt.Errorf("%s: track %d begins in frame %d, and its parent %d goes on to frame %d", m.Name,
				id, m.Number(list[0].Frame), p, m.Number(last.Frame))
		}
		m.Edges = append(m.Edges, Edge{From: last, To: list[0], Parent: true})
	}
	slices.SortFunc(m.Edges, compareEdges)
	m.Events = make([][]Event, max(len(m.Frames)-1, 0))
	for t := range m.Events {
		m.Events[t] = m.EventsOf(t, m.Edges)
	}
	return m, nil
}

// ReadLineage reads the parents of tracks, by sequence. It reads a table with columns track and
// parent (0 is none), and sequence where there are several. It also reads a man_track.txt of the
// Cell Tracking Challenge, whose lines are track, first frame, last frame and parent.
func ReadLineage(r io.Reader, name string) (map[string]map[int]int, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	head, _ := b.Peek(1)
	if len(head) == 1 && head[0] >= '0' && head[0] <= '9' {
		return readManTrack(b, name)
	}
	s, err := newSheet(b, name, "track", "parent")
	if err != nil {
		return nil, err
	}
	out := map[string]map[int]int{}
	for {
		more, err := s.next()
		if err != nil || !more {
			return out, err
		}
		track, err := s.integer("track", 1, 0)
		if err != nil {
			return nil, err
		}
		parent, err := s.integer("parent", 0, 0)
		if err != nil {
			return nil, err
		}
		if err := addParent(out, s.text("sequence"), track, parent); err != nil {
			return nil, s.fail("%v", err)
		}
	}
}

func addParent(to map[string]map[int]int, sequence string, track, parent int) error {
	if to[sequence] == nil {
		to[sequence] = map[int]int{}
	}
	if _, twice := to[sequence][track]; twice {
		return fmt.Errorf("track %d is there already", track)
	}
	to[sequence][track] = parent
	return nil
}

func readManTrack(r io.Reader, name string) (map[string]map[int]int, error) {
	out := map[string]map[int]int{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}
		var v [4]int
		for i := range v {
			if len(words) != 4 {
				return nil, fmt.Errorf("%s: line %d: %d numbers, not the 4 of track, first frame, last frame and parent",
					name, n, len(words))
			}
			x, err := strconv.ParseInt(words[i], 10, 32)
			if err != nil || x < 0 {
				return nil, fmt.Errorf("%s: line %d: %q is not a whole number from 0 on", name, n, words[i])
			}
			v[i] = int(x)
		}
		if err := addParent(out, "", v[0], v[3]); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// ReadEvents reads what happens between frames, and stores it in the events and edges of movies.
// The table has columns frame (of the first of two), event (a Kind), from and to (ids, two joined
// by +, none for nothing), and sequence where there are several movies. For one movie, lines of
// other sequences are left out. Detections without a line are not annotated, and the movie is
// Partial then.
//
// Errors name the line: unknown ids, events of the wrong shape, and annotations that contradict
// each other.
func ReadEvents(r io.Reader, name string, movies []*Movie) error {
	s, err := newSheet(r, name, "frame", "event", "from", "to")
	if err != nil {
		return err
	}
	type part struct {
		movie, side int
		node        Node
	}
	taken := map[part]int{} // line
	index := make([]map[Node]int, len(movies))
	for k, m := range movies {
		m.Events, m.Edges = make([][]Event, max(len(m.Frames)-1, 0)), nil
		index[k] = map[Node]int{} // Index of keys is the id
		for f := range m.Frames {
			for i := range m.Frames[f] {
				index[k][Node{f, m.Frames[f][i].ID}] = i
			}
		}
	}
	lines, others := 0, 0
	for {
		more, err := s.next()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		k, sequence := 0, s.text("sequence")
		if sequence != "" || len(movies) > 1 {
			k = slices.IndexFunc(movies, func(m *Movie) bool { return m.Sequence == sequence })
		}
		switch {
		case k < 0 && len(movies) == 1:
			others++ // the file has several sequences, and one was read
			continue
		case k < 0:
			return s.fail("there is no sequence %q", sequence)
		}
		lines++
		m := movies[k]
		frame, err := s.integer("frame", 0, 0)
		if err != nil {
			return err
		}
		stride := max(m.Stride, 1)
		t := (frame - m.First) / stride
		if frame < m.First || (frame-m.First)%stride != 0 || t >= len(m.Events) {
			return s.fail("frame %d has no next frame among %d to %d", frame, m.First, m.Number(len(m.Frames)-1))
		}
		e := Event{Kind: Kind(strings.ToLower(s.text("event")))}
		if e.Kind.block() < 0 {
			return s.fail("column event: %q is none of move, divide, split, merge, appear, disappear", s.text("event"))
		}
		for side, list := range []*[]int{&e.From, &e.To} {
			column := []string{"from", "to"}[side]
			for word := range strings.SplitSeq(s.text(column), "+") {
				if word == "" {
					continue
				}
				id, err := strconv.Atoi(word)
				if err != nil {
					return s.fail("column %s: %q is not an id, or two joined by +", column, s.text(column))
				}
				i, ok := index[k][Node{t + side, id}]
				if !ok {
					return s.fail("frame %d has no detection %d", m.Number(t+side), id)
				}
				if l, ok := taken[part{k, side, Node{t + side, i}}]; ok {
					return s.fail("detection %d of frame %d takes part in another event %s already, in line %d: the "+
						"annotations contradict each other", id, m.Number(t+side),
						[]string{"towards the next frame", "from the last frame"}[side], l)
				}
				taken[part{k, side, Node{t + side, i}}] = s.line()
				*list = append(*list, i)
			}
			slices.Sort(*list)
		}
		if !e.fits() {
			return s.fail("a %s of %d detections to %d; it takes %s", e.Kind, len(e.From), len(e.To), shapes[e.Kind])
		}
		m.Events[t] = append(m.Events[t], e)
	}
	if lines == 0 && others > 0 {
		return fmt.Errorf("%s: none of its %d events is of the sequence %q", name, others, movies[0].Sequence)
	}
	for k, m := range movies {
		parts := 0
		for t := range m.Events {
			slices.SortFunc(m.Events[t], compareEvents)
			parts += len(m.Frames[t]) + len(m.Frames[t+1])
		}
		for p := range taken {
			if p.movie == k {
				parts--
			}
		}
		m.Partial = parts > 0
		m.Edges = EdgesOf(m.Events)
	}
	return nil
}

var shapes = map[Kind]string{Move: "1 to 1", Divide: "1 to 2", Split: "1 to 2", Merge: "2 to 1",
	Appear: "0 to 1", Disappear: "1 to 0"}

// ReadCorrections reads a user's corrections of links, one a line. Columns are action (force or
// forbid), frame (of the first of two), from and to (ids). An empty from is an appearance, an empty
// to a disappearance.
func ReadCorrections(r io.Reader, name string) ([]Correction, error) {
	s, err := newSheet(r, name, "action", "frame", "from", "to")
	if err != nil {
		return nil, err
	}
	var out []Correction
	for {
		more, err := s.next()
		if err != nil || !more {
			return out, err
		}
		c := Correction{Sequence: s.text("sequence"), From: -1, To: -1,
			Place: fmt.Sprintf("%s: line %d", name, s.line())}
		switch action := strings.ToLower(s.text("action")); action {
		case "force":
			c.Force = true
		case "forbid":
		default:
			return nil, s.fail("column action: %q is neither force nor forbid", action)
		}
		if c.Frame, err = s.integer("frame", 0, 0); err != nil {
			return nil, err
		}
		for column, to := range map[string]*int{"from": &c.From, "to": &c.To} {
			if s.text(column) != "" {
				if *to, err = s.integer(column, 0, -1); err != nil {
					return nil, err
				}
			}
		}
		if c.From < 0 && c.To < 0 {
			return nil, s.fail("neither from nor to is given")
		}
		out = append(out, c)
	}
}

// WriteMovies writes detections with a header, as ReadMovies reads them; several movies have a
// column sequence, which numbers them from 1.
func WriteMovies(w io.Writer, movies []*Movie) error {
	b := bufio.NewWriter(w)
	shape, light, area := false, false, false
	for _, m := range movies {
		for _, f := range m.Frames {
			for i := range f {
				d := &f[i]
				shape, light, area = shape || d.VarX+d.VarY > 0, light || d.Intensity != 0, area || d.Area > 0
			}
		}
	}
	if len(movies) > 1 {
		fmt.Fprint(b, "sequence,")
	}
	fmt.Fprint(b, "frame,id,x,y")
	for _, c := range []struct {
		there bool
		names string
	}{{area, ",area"}, {light, ",intensity"}, {shape, ",var_x,var_y,cov_xy"}} {
		if c.there {
			fmt.Fprint(b, c.names)
		}
	}
	fmt.Fprintln(b)
	for k, m := range movies {
		for f := range m.Frames {
			for i := range m.Frames[f] {
				d := &m.Frames[f][i]
				if len(movies) > 1 {
					fmt.Fprintf(b, "%d,", k+1)
				}
				fmt.Fprintf(b, "%d,%d,%s,%s", m.Number(f), d.ID, short(d.X), short(d.Y))
				if area {
					fmt.Fprint(b, ",", short(d.Area))
				}
				if light {
					fmt.Fprint(b, ",", strconv.FormatFloat(d.Intensity, 'g', 5, 64))
				}
				if shape {
					fmt.Fprintf(b, ",%s,%s,%s", short(d.VarX), short(d.VarY), short(d.CovXY))
				}
				fmt.Fprintln(b)
			}
		}
	}
	return b.Flush()
}

// short writes a number to a thousandth, and to six digits what is less than 1 or huge.
func short(v float64) string {
	if a := math.Abs(v); a < 1 || a > 1e9 {
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64)
}

// WriteEvents writes events of movies as ReadEvents reads them, with their scores where those are
// given.
func WriteEvents(w io.Writer, movies []*Movie, predictions []*Prediction) error {
	b := bufio.NewWriter(w)
	scored := len(predictions) > 0 && predictions[0].Scores != nil
	if len(movies) > 1 {
		fmt.Fprint(b, "sequence,")
	}
	fmt.Fprint(b, "frame,event,from,to")
	if scored {
		fmt.Fprint(b, ",score")
	}
	fmt.Fprintln(b)
	for k, m := range movies {
		for t, list := range predictions[k].Events {
			for i, e := range list {
				if len(movies) > 1 {
					fmt.Fprintf(b, "%s,", m.sequence(k))
				}
				fmt.Fprintf(b, "%d,%s,%s,%s", m.Number(t), e.Kind, ids(m.Frames[t], e.From), ids(m.Frames[t+1], e.To))
				if scored {
					fmt.Fprintf(b, ",%s", strconv.FormatFloat(predictions[k].Scores[t][i], 'g', 6, 64))
				}
				fmt.Fprintln(b)
			}
		}
	}
	return b.Flush()
}

// sequence returns the name of a movie among others, its number from 1 where it has none.
func (m *Movie) sequence(k int) string {
	if m.Sequence != "" {
		return m.Sequence
	}
	return strconv.Itoa(k + 1)
}

func ids(of []Detection, places []int) string {
	var words []string
	for _, i := range places {
		words = append(words, strconv.Itoa(of[i].ID))
	}
	return strings.Join(words, "+")
}
