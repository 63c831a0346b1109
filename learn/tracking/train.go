package tracking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/margin"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/space"
)

// Options adjusts Train; zero fields are the defaults.
type Options struct {
	Method     string  `flag:"method" default:"margin" values:"margin,perceptron,local,symmetric,distance,hand,nearest" help:"How to learn: margin for whole frames at once, perceptron likewise and quicker, local by logistic regression of single events, symmetric by four costs of distances, for few divisions; distance, hand and nearest are baselines"`
	Neighbours int     `flag:"neighbours" default:"3" min:"1" max:"50" help:"Nearest detections of the other frame that may be linked"`
	Gate       float64 `flag:"gate" min:"0" help:"Largest distance of a link in pixels; 0 is a quarter more than the longest true link"`
	Events     string  `flag:"events" default:"auto" values:"auto,moves,divide,all" help:"Events beside moves, appearing and disappearing: auto is those of the training data, moves none, divide divisions, all divisions, splits and merges"`
	Prior      string  `flag:"prior" default:"symmetric" values:"symmetric,distance,none" help:"Weights that margin starts from and is pulled towards: those of symmetric, those of distance, or 0"`
	Miss       float64 `flag:"miss_cost" default:"1" above:"0" help:"Loss of a missed event" topic:"loss"`
	Extra      float64 `flag:"extra_cost" default:"1" above:"0" help:"Loss of a false event" topic:"loss"`
	Nodes      int     `flag:"nodes" default:"2000" min:"1" help:"Most subproblems of branch and bound for a component of a frame pair while learning" topic:"solver"`
	margin.PartialOptions
}

// Train learns to link from labelled movies. Movies that are Partial, or have events that no
// hypothesis expresses, are learnt from as far as they are known, by margin.Partial.
//
// Errors: no labels, unusable options, features that are not finite, and those of the run. Cost of
// a step of margin: one assignment of every frame pair.
func Train(movies []*Movie, opts *Options, c *run.Control) (*Model, *optim.Result, error) {
	t, err := begin(movies, opts, c)
	if err != nil {
		return nil, nil, err
	}
	if t.control.Resume != nil || t.control.Checkpoint != nil {
		t.control.Problem = fmt.Sprintf("tracking data=%016x %s", Fingerprint(movies), t.model.settings)
	}
	var r *optim.Result
	switch t.model.method {
	case MarginMethod, Perceptron:
		r, err = t.margin(movies)
	case Local:
		r, err = t.local()
	case Distance:
		r, err = t.distance(movies, false)
	case Symmetric:
		r, err = t.distance(movies, true)
	case HandSet:
		copy(t.model.w, handWeights())
		r = &optim.Result{X: t.model.w}
	case Nearest:
		r = &optim.Result{X: t.model.w}
	}
	if r == nil {
		return nil, nil, err
	}
	return t.model, r, err
}

// begin checks movies and options, and makes the assignment problems.
func begin(movies []*Movie, opts *Options, c *run.Control) (*trainer, error) {
	t := &trainer{}
	if err := learner.Complete(&t.Options, opts); err != nil {
		return nil, fmt.Errorf("tracking: %w", err)
	}
	for _, m := range movies {
		if !m.Labelled() {
			return nil, fmt.Errorf("tracking: %s: no tracks to learn from: give a column track, or events", m.title())
		}
		if err := m.Check(true); err != nil {
			return nil, err
		}
	}
	if c != nil {
		t.control = *c
	}
	t.model = &Model{method: Method(t.Method), settings: learner.Settings(&t.Options), w: make([]float64, Dim())}
	return t, t.prepare(movies)
}

// Samples makes the assignment problems of labelled movies as Train does, for learners of package
// margin. It also returns the space of their outputs, and a model whose weights are all 0.
// WithWeights sets the weights that a learner found.
func Samples(movies []*Movie, opts *Options, workers int) ([]space.Sample[*Pair, *Annotation],
	*Space, *Model, error) {
	t, err := begin(movies, opts, &run.Control{Workers: workers})
	if err != nil {
		return nil, nil, nil, err
	}
	return t.samples, t.space(), t.model, nil
}

// WithWeights returns a model like m with other weights.
func (m *Model) WithWeights(w []float64) (*Model, error) {
	if err := optim.CheckStart("weights", Dim(), w); err != nil {
		return nil, fmt.Errorf("tracking: %w", err)
	}
	c := *m
	c.w = slices.Clone(w)
	return &c, nil
}

func (t *trainer) space() *Space { return &Space{Miss: t.Miss, Extra: t.Extra, Nodes: t.Nodes} }

type trainer struct {
	Options
	model   *Model
	control run.Control
	samples []space.Sample[*Pair, *Annotation]
	partial bool
	reach   float64 // pixels: the gate, or what it is by default where that is less
}

// prepare chooses units, gate and events, and makes the assignment problems.
func (t *trainer) prepare(movies []*Movie) error {
	c := &t.model.candidates
	c.Neighbours = t.Neighbours
	c.Unit, c.Light = units(movies)
	longest, lengths := 0.0, 0
	occurs := map[Kind]bool{}
	for _, m := range movies {
		for f, events := range m.Events {
			for _, e := range events {
				occurs[e.Kind] = true
				for _, i := range e.From {
					for _, j := range e.To {
						longest = math.Max(longest, distance(&m.Frames[f][i], &m.Frames[f+1][j]))
						lengths++
					}
				}
			}
		}
	}
	if lengths == 0 {
		return errors.New("tracking: no link to learn from")
	}
	if c.Gate = t.Gate; c.Gate == 0 {
		c.Gate = math.Max(1.25*longest, c.Unit)
	}
	t.reach = math.Min(c.Gate, math.Max(1.25*longest, c.Unit))
	for _, k := range []Kind{Divide, Split, Merge} {
		if t.Events == "all" || t.Events == "divide" && k == Divide || t.Events == "auto" && occurs[k] {
			c.Kinds = append(c.Kinds, k)
		}
	}
	var jobs []job
	for _, m := range movies {
		for f := range m.Events {
			jobs = append(jobs, job{m, f})
		}
	}
	t.model.pairs = len(jobs)
	t.samples = make([]space.Sample[*Pair, *Annotation], len(jobs))
	err := run.Each(t.control.Workers, len(jobs), func(_, i int) error {
		if ctx := t.control.Context(); ctx.Err() != nil {
			return context.Cause(ctx)
		}
		m, f := jobs[i].m, jobs[i].f
		truth := m.Events[f]
		if t.Events == "moves" || t.Events == "divide" {
			truth = slices.DeleteFunc(slices.Clone(truth),
				func(e Event) bool { return !slices.Contains(t.model.kinds(), e.Kind) })
		}
		p, err := m.pair(f, t.model.Candidates(m), nil, truth, true)
		if err != nil {
			return err
		}
		t.samples[i] = space.Sample[*Pair, *Annotation]{X: p, A: p.Annotation(), Name: p.Name}
		return nil
	})
	for i := range t.samples {
		t.partial = t.partial || err == nil && t.samples[i].A.Known != nil
	}
	return err
}

type job struct {
	m *Movie
	f int
}

// units returns the mean radius of the detections, 8 where areas are not known, and their mean
// intensity.
func units(movies []*Movie) (length, light float64) {
	radius, n, bright, lit := 0.0, 0, 0.0, 0
	for _, m := range movies {
		for _, f := range m.Frames {
			for i := range f {
				if f[i].Area > 0 {
					radius += f[i].Radius()
					n++
				}
				if f[i].Intensity > 0 {
					bright += f[i].Intensity
					lit++
				}
			}
		}
	}
	length = 8
	if n > 0 {
		length = radius / float64(n)
	}
	if lit > 0 {
		light = bright / float64(lit)
	}
	return
}

// margin learns weights for whole frames.
func (t *trainer) margin(movies []*Movie) (*optim.Result, error) {
	s := t.space()
	if t.Prior != "none" && t.model.method == MarginMethod {
		prior, err := t.prior(movies)
		if err != nil {
			return nil, err
		}
		for j := range prior {
			prior[j] *= priorScale
		}
		s.Prior = prior
		t.Init = make([]float64, Dim()+1)
		t.Init[Dim()] = 1 / priorScale
	}
	var l *margin.Linear
	var r *optim.Result
	var err error
	switch {
	case t.model.method == Perceptron:
		l, r, err = margin.Perceptron(s, t.samples, &margin.PerceptronOptions{Averaged: true}, &t.control)
	case t.partial:
		l, r, err = margin.Partial(s, t.samples, &t.PartialOptions, &t.control)
	default:
		l, r, err = margin.MaxMargin(s, t.samples, &t.PartialOptions.Options, &t.control)
	}
	if l != nil {
		t.model.w = s.Weights(l.W)
	}
	return r, err
}

// priorScale makes the weight of the prior's score small, and so nearly free of the penalty.
const priorScale = 10

// prior returns the weights of the best assignment by distances. Splits and merges score there as
// divisions do.
func (t *trainer) prior(movies []*Movie) ([]float64, error) {
	d := &trainer{Options: t.Options, model: &Model{method: Distance, candidates: t.model.candidates},
		control: t.control, reach: t.reach}
	if _, err := d.distance(movies, t.Prior == "symmetric"); err != nil {
		return nil, err
	}
	w := d.model.w
	divide := w[offsets[Divide.block()]:offsets[Divide.block()+1]]
	if len(d.model.candidates.Kinds) == 0 {
		divide = distanceWeights(costs{second: 0.5}, true)[offsets[Divide.block()]:offsets[Divide.block()+1]]
	}
	for _, k := range []Kind{Split, Merge} {
		copy(w[offsets[k.block()]:], divide)
	}
	return w, nil
}

// local fits a logistic regression to every hypothesis by itself: the score of an event is then the
// logarithm of its odds.
func (t *trainer) local() (*optim.Result, error) {
	dim := Dim()
	rows := 0
	for i := range t.samples {
		rows += len(t.samples[i].X.Hypotheses)
	}
	f := optim.Func{N: dim, F: func(w, grad []float64) (float64, error) {
		total := 0.0
		clear(grad)
		for i := range t.samples {
			p, a := t.samples[i].X, t.samples[i].A
			scores, chosen := p.Scores(w), marks(len(p.Hypotheses), a.Chosen)
			for h, v := range scores {
				if !chosen[h] && !a.judged(p, h) {
					continue
				}
				x := &p.Hypotheses[h]
				sign := -1.0
				if chosen[h] {
					sign = 1
				}
				total += score.Softplus(-sign * v)
				if grad == nil {
					continue
				}
				slope := -sign * score.Sigmoid(-sign*v)
				for k, z := range x.features {
					grad[offsets[x.block]+k] += slope * z
				}
			}
		}
		return total, nil
	}}
	control := t.control
	r, err := optim.LBFGS{}.Minimize(optim.Ridge(f, t.Lambda*float64(len(t.samples))), t.model.w, &control)
	if r != nil && r.X != nil {
		t.model.w = r.X
	}
	return r, err
}

// costs are those of an assignment by distances, in units of length. What is not linked costs as
// much as a link of the length alone. Two daughters cost their distances from the mother, and
// second in addition. A share symmetry of the distances is replaced by twice that of their middle
// from the mother: daughters move apart, to opposite sides. bent is for the sides: it is the cost
// of a right angle.
type costs struct {
	alone, second, symmetry, bent float64
}

func distanceWeights(c costs, divide bool) []float64 {
	w := make([]float64, Dim())
	set := func(k Kind, feature string, v float64) {
		w[offsets[k.block()]+slices.Index(FeatureNames(k), feature)] = v
	}
	set(Move, "distance", -1)
	set(Appear, "bias", -c.alone)
	set(Disappear, "bias", -c.alone)
	if divide {
		set(Divide, "distances", c.symmetry-1)
		set(Divide, "middle distance", -2*c.symmetry)
		set(Divide, "cosine", -c.bent)
		set(Divide, "bias", -c.second-c.bent)
	}
	return w
}

// distance chooses the costs by the loss on the training data: of alone and second all pairs of a
// grid; the two of symmetry, if asked for, and then the first two again, by turns.
func (t *trainer) distance(movies []*Movie, symmetric bool) (*optim.Result, error) {
	c := &t.model.candidates
	divide := slices.Contains(c.Kinds, Divide)
	c.Kinds = nil
	if divide {
		c.Kinds = []Kind{Divide}
	}
	var pairs []*Pair
	for _, m := range movies {
		for f := range m.Events {
			p, err := m.pair(f, t.model.Candidates(m), nil, nil, false)
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, p)
		}
	}
	best, at, tried := math.Inf(1), costs{}, 0
	try := func(c costs) error {
		loss, err := t.unlinked(movies, pairs, distanceWeights(c, divide))
		if tried++; err == nil && loss < best {
			best, at = loss, c
		}
		return err
	}
	reach := t.reach / c.Unit
	grid := func(from costs) error {
		seconds := []float64{0}
		if divide {
			seconds = []float64{-1, -0.5, -0.25, 0, 0.25, 0.5, 1, 2}
		}
		for _, share := range []float64{0.15, 0.25, 0.35, 0.5, 0.7, 1} {
			for _, second := range seconds {
				from.alone, from.second = share*reach, second
				if err := try(from); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := grid(costs{}); err != nil {
		return nil, err
	}
	for range 2 {
		if !symmetric || !divide {
			break
		}
		from := at
		for _, symmetry := range []float64{0, 0.25, 0.5, 0.75, 1} {
			for _, bent := range []float64{0, 0.25, 0.5, 1} {
				from.symmetry, from.bent = symmetry, bent
				if err := try(from); err != nil {
					return nil, err
				}
			}
		}
		if err := grid(at); err != nil {
			return nil, err
		}
	}
	t.model.w = distanceWeights(at, divide)
	return &optim.Result{X: t.model.w, F: best, Iterations: tried}, nil
}

// unlinked returns 1 - LNK of weights on movies, whose frame pairs are given in order.
func (t *trainer) unlinked(movies []*Movie, pairs []*Pair, w []float64) (float64, error) {
	s, ctx := t.space(), t.control.Context()
	found := make([][]Event, len(pairs))
	err := run.Each(t.control.Workers, len(pairs), func(_, i int) error {
		y, err := s.Argmax(ctx, pairs[i], w)
		found[i] = pairs[i].Events(y.Y)
		return err
	})
	if err != nil {
		return 0, err
	}
	total := &Counts{}
	for _, m := range movies {
		events := found[:len(m.Events)]
		found = found[len(m.Events):]
		n, err := Compare(&Graph{m.sizes(), EdgesOf(events)}, m.Graph(), Same(m.Graph()), 0)
		if err != nil {
			return 0, err
		}
		total.Add(n)
	}
	return 1 - total.LNK(Challenge), nil
}

// handWeights are set by hand, for radii as units.
func handWeights() []float64 {
	w := make([]float64, Dim())
	set := func(k Kind, values map[string]float64) {
		for name, v := range values {
			w[offsets[k.block()]+slices.Index(FeatureNames(k), name)] = v
		}
	}
	set(Move, map[string]float64{"bias": 3, "distance": -1.5, "area change": -1, "intensity change": -0.3})
	set(Divide, map[string]float64{"bias": 3, "midpoint distance": -2, "cosine": -2, "area sum": -0.5,
		"intensity of one": 0.3, "part distance": -0.5})
	set(Split, map[string]float64{"bias": 3, "midpoint distance": -2, "area sum": -0.5, "intensity change": -0.3,
		"part distance": -0.5})
	set(Merge, map[string]float64{"bias": 3, "midpoint distance": -2, "area sum": -0.5, "intensity change": -0.3,
		"part distance": -0.5})
	set(Appear, map[string]float64{"bias": -1, "border": -0.5})
	set(Disappear, map[string]float64{"bias": -1, "border": -0.5})
	return w
}

// Fingerprint identifies labelled movies.
func Fingerprint(movies []*Movie) uint64 {
	h := fnv.New64a()
	for _, m := range movies {
		fmt.Fprintln(h, m.First, m.Stride, m.Width, m.Height, m.Frames, m.Events)
	}
	return h.Sum64()
}

// Judge compares predictions with labelled movies, all together.
func Judge(movies []*Movie, predictions []*Prediction, tolerance int) (*Report, error) {
	r := &Report{Confusion: map[[2]Kind]int{}}
	for k, m := range movies {
		if !m.Labelled() || m.Partial {
			return nil, fmt.Errorf("tracking: %s: the tracks are not all known: nothing can be judged", m.title())
		}
		n, err := Compare(predictions[k].Graph(m), m.Graph(), Same(m.Graph()), tolerance)
		if err != nil {
			return nil, err
		}
		r.Counts.Add(n)
		for t, truth := range m.Events {
			got := predictions[k].Events[t]
			r.Pairs++
			hit := 0
			for _, e := range truth {
				if i, ok := slices.BinarySearchFunc(got, e, compareEvents); ok && equalEvents(got[i], e) {
					hit++
				}
			}
			r.Loss += float64(len(truth)+len(got)-2*hit) / math.Max(1, float64(len(truth)))
			r.Events += len(truth)
			r.Missed += len(truth) - hit
			r.confuse(truth, got)
		}
	}
	r.Loss /= math.Max(1, float64(r.Pairs))
	return r, nil
}

func equalEvents(a, b Event) bool { return compareEvents(a, b) == 0 }

// Report is how good predictions are.
type Report struct {
	Counts
	Pairs  int
	Loss   float64 // the mean over frame pairs of the loss of Space with both costs 1
	Events int     // true ones
	Missed int     // of them
	// Confusion counts true events by their kind and that of the events found: the same event, or
	// else what was found for its first detection.
	Confusion map[[2]Kind]int
}

func (r *Report) confuse(truth, got []Event) {
	by := map[[2]int]Kind{}
	for _, e := range got {
		for _, i := range e.From {
			by[[2]int{0, i}] = e.Kind
		}
		for _, j := range e.To {
			by[[2]int{1, j}] = e.Kind
		}
	}
	for _, e := range truth {
		key := [2]int{1, 0}
		if len(e.From) > 0 {
			key = [2]int{0, e.From[0]}
		} else {
			key[1] = e.To[0]
		}
		r.Confusion[[2]Kind{e.Kind, by[key]}]++
	}
}

// ConfusionTable returns the confusion as a table, true kinds in rows.
func (r *Report) ConfusionTable() learner.Section {
	s := learner.Section{Title: "events", Columns: []string{"true"},
		Note: "columns are the events found for the first detection of a true one"}
	for _, k := range Kinds {
		s.Columns = append(s.Columns, string(k))
	}
	for _, k := range Kinds {
		row := []any{string(k)}
		for _, g := range Kinds {
			row = append(row, r.Confusion[[2]Kind{k, g}])
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}

// MissedShare returns the share of true events that are missed.
func (r *Report) MissedShare() float64 { return float64(r.Missed) / float64(cmp.Or(r.Events, 1)) }
