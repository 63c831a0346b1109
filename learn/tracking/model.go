package tracking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/run"
)

// Method is how a model links.
type Method string

// The methods. All but Nearest solve the assignment problem; they differ in the weights.
const (
	MarginMethod Method = "margin"     // weights of largest margin, learnt for whole frames
	Local        Method = "local"      // logistic regression of each hypothesis by itself
	Symmetric    Method = "symmetric"  // likewise, with two more costs: daughters lie opposite
	Distance     Method = "distance"   // assignment by distances, with two costs chosen on the training data
	HandSet      Method = "hand"       // weights that no data changed
	Nearest      Method = "nearest"    // everything goes to the nearest; no assignment
	Perceptron   Method = "perceptron" // structured perceptron
)

// Model links detections of a frame with those of the next.
type Model struct {
	method     Method
	candidates Candidates // without Field and Include
	w          []float64
	settings   string
	pairs      int // trained on
	Nodes      int // of branch and bound for a component; 0 is 20000. It is not written
}

// Weights returns the weights of the features, by kind. They must not be changed.
func (m *Model) Weights() []float64 { return m.w }

// Method returns how the model links.
func (m *Model) Method() Method { return m.method }

// Candidates returns the hypotheses that the model considers in frames of a movie.
func (m *Model) Candidates(movie *Movie) *Candidates {
	c := m.candidates
	c.Field[0], c.Field[1], c.Field[2], c.Field[3] = movie.field()
	return &c
}

// Prediction is the output of a model for a movie.
type Prediction struct {
	Events [][]Event   // of each frame and the next
	Scores [][]float64 // of the events; nil for Nearest
	// Gap is how much more the best assignments may score, in all frames together. Open counts the
	// frame pairs that were not proved optimal, Solved those that were solved rather than copied.
	Gap          float64
	Open, Solved int
}

// Graph returns the prediction as a graph.
func (p *Prediction) Graph(m *Movie) *Graph { return &Graph{m.sizes(), EdgesOf(p.Events)} }

// Form implements learner.Model.
func (m *Model) Form() []*Movie { return nil }

// Predict links the frames of every movie. Frame pairs are solved side by side on workers
// goroutines, 0 for one a processor.
func (m *Model) Predict(ctx context.Context, movies []*Movie, workers int) ([]*Prediction, error) {
	var out []*Prediction
	for _, movie := range movies {
		p, err := m.Link(ctx, movie, nil, workers)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// LinkOptions adjusts Link; nil is the same as the zero value.
type LinkOptions struct {
	// Corrections are obeyed.
	Corrections []Correction
	// Previous are events of the same movie, by the same model with some of the corrections, or
	// none. Events that no correction can change are copied from them. nil is none.
	Previous [][]Event
}

// Link links the frames of a movie.
func (m *Model) Link(ctx context.Context, movie *Movie, o *LinkOptions, workers int) (*Prediction, error) {
	if err := movie.Check(true); err != nil {
		return nil, err
	}
	if o == nil {
		o = &LinkOptions{}
	}
	n := max(len(movie.Frames)-1, 0)
	if o.Previous != nil && len(o.Previous) != n {
		return nil, fmt.Errorf("tracking: %s: the previous events are of %d frame pairs, the movie has %d",
			movie.title(), len(o.Previous), n)
	}
	rules, err := movie.rules(o.Corrections)
	if err != nil {
		return nil, err
	}
	if m.method == Nearest && len(o.Corrections) > 0 {
		return nil, errors.New("tracking: corrections need a model that solves assignments; nearest does not")
	}
	p := &Prediction{Events: make([][]Event, n), Scores: make([][]float64, n)}
	gaps := make([]float64, n)
	solved := make([]bool, n)
	c := m.Candidates(movie)
	err = run.Each(workers, n, func(_, t int) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if m.method == Nearest {
			p.Events[t] = linkNearest(movie.Frames[t], movie.Frames[t+1], c)
			solved[t] = true
			return nil
		}
		var previous []Event
		if o.Previous != nil {
			previous = o.Previous[t]
		}
		r, err := m.linkPair(ctx, movie, t, c, rules[t], previous)
		if err != nil {
			return err
		}
		p.Events[t], p.Scores[t], gaps[t], solved[t] = r.events, r.scores, r.gap, r.solved
		return nil
	})
	if err != nil {
		return nil, err
	}
	for t := range n {
		p.Gap += gaps[t]
		if gaps[t] > 0 {
			p.Open++
		}
		if solved[t] {
			p.Solved++
		}
	}
	if m.method == Nearest {
		p.Scores = nil
	}
	return p, nil
}

type linked struct {
	events []Event
	scores []float64
	gap    float64
	solved bool
}

// linkPair solves frames t and t+1.
func (m *Model) linkPair(ctx context.Context, movie *Movie, t int, c *Candidates, r *rules,
	previous []Event) (*linked, error) {
	if previous != nil && r == nil {
		return m.kept(movie, t, c, previous)
	}
	pair, err := movie.pair(t, c, r, nil, false)
	if err != nil {
		return nil, err
	}
	score := pair.Scores(m.w)
	if previous == nil {
		return m.solve(ctx, pair, score, r)
	}
	old := make([]int, 0, len(previous))
	for _, e := range previous {
		h := pair.Find(e)
		if h < 0 { // another model, or a correction that was taken back: nothing is known
			return m.solve(ctx, pair, score, r)
		}
		old = append(old, h)
	}
	slices.Sort(old)
	return m.again(ctx, pair, score, r, old)
}

// kept takes events over as they are: no correction is about them.
func (m *Model) kept(movie *Movie, t int, c *Candidates, events []Event) (*linked, error) {
	if err := (&Movie{Name: movie.Name, First: movie.First, Stride: movie.Stride,
		Frames: movie.Frames}).checkEvents(t, events); err != nil {
		return nil, fmt.Errorf("%w (of the previous events)", err)
	}
	f := newFeaturizer(&Pair{From: movie.Frames[t], To: movie.Frames[t+1]}, c)
	out := &linked{events: events}
	for i := range events {
		v := 0.0
		for k, x := range f.of(&events[i]) {
			v += x * m.w[offsets[events[i].Kind.block()]+k]
		}
		out.scores = append(out.scores, v)
	}
	return out, nil
}

// solve solves a pair under rules.
func (m *Model) solve(ctx context.Context, p *Pair, score []float64, r *rules) (*linked, error) {
	allowed := slices.Clone(score)
	if err := r.apply(p, allowed); err != nil {
		return nil, err
	}
	s := Space{Nodes: m.Nodes}
	y, err := s.solve(ctx, p, allowed, r != nil)
	if err != nil {
		return nil, r.explain(err)
	}
	return p.linked(y.Y, score, y.UpperBound-y.Value, true), nil
}

func (p *Pair) linked(y []int, score []float64, gap float64, solved bool) *linked {
	out := &linked{events: p.Events(y), gap: gap, solved: solved}
	for _, e := range out.events {
		out.scores = append(out.scores, score[p.Find(e)])
	}
	return out
}

// linkNearest links every detection to the nearest of the other frame that is free: closest pairs
// first, and then each that is left to the nearest in the frame before, which divides.
func linkNearest(from, to []Detection, c *Candidates) []Event {
	type link struct {
		d    float64
		i, j int
	}
	var links []link
	for i, list := range nearest(from, to, max(c.Neighbours, 1), c.Gate) {
		for _, j := range list {
			links = append(links, link{distance(&from[i], &to[j]), i, j})
		}
	}
	slices.SortFunc(links, func(a, b link) int {
		return cmp.Or(cmp.Compare(a.d, b.d), cmp.Compare(a.i, b.i), cmp.Compare(a.j, b.j))
	})
	next, last := make([][]int, len(from)), make([]int, len(to))
	for j := range last {
		last[j] = -1
	}
	for _, l := range links {
		if len(next[l.i]) == 0 && last[l.j] < 0 {
			next[l.i], last[l.j] = []int{l.j}, l.i
		}
	}
	if slices.Contains(c.Kinds, Divide) {
		for _, l := range links {
			if len(next[l.i]) == 1 && last[l.j] < 0 {
				next[l.i], last[l.j] = append(next[l.i], l.j), l.i
			}
		}
	}
	var out []Event
	for i := range from {
		slices.Sort(next[i])
		out = append(out, Event{[]Kind{Disappear, Move, Divide}[len(next[i])], []int{i}, next[i]})
	}
	for j := range to {
		if last[j] < 0 {
			out = append(out, Event{Appear, nil, []int{j}})
		}
	}
	slices.SortFunc(out, compareEvents)
	return out
}

// Explain implements learner.Model.
func (m *Model) Explain() []learner.Section {
	c := &m.candidates
	facts := learner.Section{Title: "model", Columns: []string{"what", "value"}, Rows: [][]any{
		{"method", string(m.method)}, {"settings", cmp.Or(m.settings, "defaults")},
		{"frame pairs of training", m.pairs},
		{"neighbours", c.Neighbours}, {"gate, pixels", c.Gate}, {"unit of length, pixels", c.Unit},
		{"unit of intensity", c.Light}, {"events", fmt.Sprint(m.kinds())}}}
	weights := learner.Section{Title: "weights", Columns: []string{"event", "feature", "weight"},
		Note: "an assignment's score is the sum over its events of weighted features; lengths are in units"}
	type row struct {
		kind Kind
		name string
		w    float64
	}
	var rows []row
	for b, k := range Kinds {
		for j, name := range featureNames[b] {
			if w := m.w[offsets[b]+j]; w != 0 {
				rows = append(rows, row{k, name, w})
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(math.Abs(b.w), math.Abs(a.w)) })
	for _, r := range rows {
		weights.Rows = append(weights.Rows, []any{string(r.kind), r.name, r.w})
	}
	return []learner.Section{facts, weights}
}

func (m *Model) kinds() []Kind {
	return append(slices.Clone(m.candidates.Kinds), Move, Appear, Disappear)
}

const (
	modelKind    = "tracking"
	modelVersion = 1
)

type modelMeta struct {
	Method     Method   `json:"method"`
	Neighbours int      `json:"neighbours"`
	Gate       float64  `json:"gate"`
	Unit       float64  `json:"unit"`
	Light      float64  `json:"light"`
	Kinds      []Kind   `json:"kinds"`
	Settings   string   `json:"settings"`
	Pairs      int      `json:"pairs"`
	Events     []Kind   `json:"events"`
	Features   []string `json:"features"`
}

func allFeatures() []string {
	var out []string
	for b, k := range Kinds {
		for _, name := range featureNames[b] {
			out = append(out, string(k)+"/"+name)
		}
	}
	return out
}

// Write writes the model as a file of kind "tracking".
func (m *Model) Write(w io.Writer) error {
	f := model.New(modelKind, modelVersion)
	c := &m.candidates
	if err := f.SetMeta(modelMeta{m.method, c.Neighbours, c.Gate, c.Unit, c.Light, c.Kinds, m.settings, m.pairs,
		Kinds, allFeatures()}); err != nil {
		return fmt.Errorf("tracking: %w", err)
	}
	model.Put(f, "weights", m.w)
	return f.Write(w)
}

// Read reads what Write wrote.
func Read(r io.Reader) (*Model, error) {
	var meta modelMeta
	f, err := model.ReadKind(r, modelKind, modelVersion, &meta)
	if err != nil {
		return nil, err
	}
	if want := allFeatures(); !slices.Equal(meta.Features, want) {
		return nil, fmt.Errorf("tracking: %w: its features are not those of this program", model.ErrFormat)
	}
	m := &Model{method: meta.Method, settings: meta.Settings, pairs: meta.Pairs,
		candidates: Candidates{Neighbours: meta.Neighbours, Gate: meta.Gate, Unit: meta.Unit, Light: meta.Light,
			Kinds: meta.Kinds}}
	if m.w, err = model.Get[float64](f, "weights", Dim()); err != nil {
		return nil, err
	}
	for _, v := range append([]float64{meta.Gate, meta.Unit, meta.Light}, m.w...) {
		if v-v != 0 {
			return nil, fmt.Errorf("tracking: %w: a number is not finite", model.ErrFormat)
		}
	}
	for _, k := range meta.Kinds {
		if k.block() < 0 {
			return nil, fmt.Errorf("tracking: %w: an event %q", model.ErrFormat, k)
		}
	}
	if meta.Neighbours < 1 || meta.Neighbours > 1000 || !(meta.Gate > 0) || !(meta.Unit > 0) || meta.Light < 0 {
		return nil, fmt.Errorf("tracking: %w: %d neighbours within %v pixels, in units of %v", model.ErrFormat,
			meta.Neighbours, meta.Gate, meta.Unit)
	}
	return m, nil
}
