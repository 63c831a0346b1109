package transduce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

type stateID = fst.StateID

// Decoding says which output a model gives.
type Decoding string

const (
	// Best takes the output of the best alignment. The default.
	Best Decoding = "best"
	// Merged takes the output whose alignments have the greatest probability together.
	Merged Decoding = "merged"
	// MinRisk takes, of the most probable outputs, the one with the least expected edit distance
	// to all of them.
	MinRisk Decoding = "min-risk"
)

// Decodings lists the ways to decode, the default first.
func Decodings() []Decoding { return []Decoding{Best, Merged, MinRisk} }

// DecodeOptions adjusts predictions; the zero value is right.
type DecodeOptions struct {
	Decoding   Decoding // "" is Best
	Candidates int      // outputs that MinRisk chooses from; 0 is 20
	NBest      int      // outputs to list; 0 is the predicted one alone
	Beam       float64  // of the lattice; 0 is that of training
}

func (o DecodeOptions) withDefaults() (DecodeOptions, error) {
	o.Decoding = cmp.Or(o.Decoding, Best)
	o.Candidates = cmp.Or(o.Candidates, 20)
	switch {
	case !slices.Contains(Decodings(), o.Decoding):
		return o, fmt.Errorf("transduce: there is no decoding %q; there are %v", o.Decoding, Decodings())
	case o.Candidates < 1 || o.NBest < 0 || !(o.Beam >= 0):
		return o,
			fmt.Errorf("transduce: decoding: %d candidates, %d outputs to list, beam %v; they must not be negative",
				o.Candidates, o.NBest, o.Beam)
	}
	return o, nil
}

// Hypothesis is an output.
type Hypothesis struct {
	Output  string  `json:"output"`
	LogProb float64 `json:"log_prob"` // of its alignments together
}

// Prediction is what a model says of an input.
type Prediction struct {
	Output string
	// Found is false where the lattice has no output: with a lexicon, where none of its strings
	// can be made.
	Found bool
	NBest []Hypothesis // most probable first
}

// scored is the lattice of an input with the scores of its arcs.
type scored struct {
	*lattice
	score []float64
}

func (s *scored) of(e *arc) float64 { return s.score[e.place] + s.score[e.past] - float64(e.cost) }

// lattice returns the lattice of an input, empty where no output can be made.
func (m *Model) lattice(ctx context.Context, t *text, x *Lexicon, beam float64) (*scored, error) {
	p := &Problem{o: m.o, a: m.a, f: m.f, lexicon: x}
	b := p.builder(ctx, t)
	if beam > 0 {
		b.beam = beam
	}
	b.p = m.channel.probs(t, nil)
	l, err := b.build()
	if err != nil {
		return nil, err
	}
	s := &scored{lattice: l, score: make([]float64, len(l.pieces))}
	for i := range l.pieces {
		sum := 0.0
		m.f.visit(t, &l.pieces[i], func(k key) {
			if id := m.f.table.Find(k); id != fst.NoState {
				sum += m.weights[id]
			}
		})
		s.score[i] = sum
	}
	return s, nil
}

// best returns for every state the best score of the paths to it, the arc that has it, and the
// best of those to the end.
func (s *scored) best() (to []float64, by []int32) {
	to, by = make([]float64, s.states), make([]int32, s.states)
	for q := 1; q < s.states; q++ {
		to[q] = math.Inf(-1)
		for k := s.at[q]; k < s.at[q+1]; k++ {
			e := &s.arcs[k]
			if v := to[e.from] + s.of(e); v > to[q] {
				to[q], by[q] = v, k
			}
		}
	}
	return to, by
}

// viterbi returns the output of the best path. Of equally good ones the first in order wins.
func (s *scored) viterbi() string {
	_, by := s.best()
	var out []rune
	for q := int32(s.states - 1); q > 0; {
		e := &s.arcs[by[q]]
		if e.out != 0 {
			out = append(out, e.out)
		}
		q = e.from
	}
	slices.Reverse(out)
	return string(out)
}

// Bounds on merging alignments: what is much less probable than the best path is left out, and
// machines of many outputs are cut further.
const (
	mergeWithin = 9.0
	mergeStates = 20000
)

// merged returns the n most probable outputs with the log-probability of all their alignments that
// are within exp(-9) of the best one. The engine removes ε, determinises in the log semiring, where
// equal strings come together, and takes the n best paths, each a string of its own.
func (s *scored) merged(ctx context.Context, n int) ([]Hypothesis, error) {
	var sums sweep
	z, _ := sums.forward(s.lattice, s.score, 1, 0, nil, false)
	forward, _ := s.best()
	backward := make([]float64, s.states)
	for q := range backward {
		backward[q] = math.Inf(-1)
	}
	last := s.states - 1
	backward[last] = 0
	for k := len(s.arcs) - 1; k >= 0; k-- {
		e := &s.arcs[k]
		backward[e.from] = max(backward[e.from], s.of(e)+backward[e.to])
	}
	for within := mergeWithin; ; within *= 0.7 {
		f := fst.NewVector[semiring.Log64](s.states)
		f.AddStates(s.states)
		f.SetStart(0)
		f.SetFinal(fst.StateID(last), 0)
		for k := range s.arcs {
			e := &s.arcs[k]
			if v := s.of(e); forward[e.from]+v+backward[e.to] >= forward[last]-within {
				f.AddArc(fst.StateID(e.from), fst.Arc[semiring.Log64]{ILabel: fst.Label(e.out), OLabel: fst.Label(e.out),
					Weight: semiring.Log64(-v), NextState: fst.StateID(e.to)})
			}
		}
		if err := ops.RmEpsilon(f, &ops.RmEpsilonOptions{Limits: ops.Limits{Ctx: ctx}}); err != nil {
			return nil, err
		}
		d, err := ops.Determinize[semiring.Log64](f, &ops.DeterminizeOptions{Limits: ops.Limits{Ctx: ctx,
			States: mergeStates}})
		if errors.Is(err, ops.ErrLimit) && within > 0.01 {
			continue
		}
		if err != nil {
			return nil, err
		}
		paths, err := ops.ShortestPath(ops.MapInto(d,
			func(w semiring.Log64) semiring.Tropical64 { return semiring.Tropical64(w) }),
			&ops.ShortestPathOptions[semiring.Tropical64]{N: max(n, 2), Limits: ops.Limits{Ctx: ctx}})
		if err != nil {
			return nil, err
		}
		var out []Hypothesis
		for p := range fst.Paths[semiring.Tropical64](paths, nil) {
			var text []rune
			for _, l := range p.Output() {
				text = append(text, rune(l))
			}
			out = append(out, Hypothesis{string(text), -float64(p.Weight) - z})
		}
		slices.SortStableFunc(out, func(a, b Hypothesis) int {
			return cmp.Or(cmp.Compare(b.LogProb, a.LogProb), cmp.Compare(a.Output, b.Output))
		})
		return out[:min(n, len(out))], nil
	}
}

// predict decodes one input.
func (m *Model) predict(ctx context.Context, pair *Pair, x *Lexicon, o *DecodeOptions) (Prediction, error) {
	t := m.a.text(pair)
	if len(t.x) == 0 || len(t.x) > maxLength {
		return Prediction{}, fmt.Errorf("an input of %d characters; it has 1 to %d", len(t.x), maxLength)
	}
	s, err := m.lattice(ctx, t, x, o.Beam)
	if err != nil || s.states == 0 {
		return Prediction{}, err
	}
	p := Prediction{Found: true}
	if o.Decoding == Best {
		p.Output = s.viterbi()
	}
	if o.Decoding == Best && o.NBest == 0 {
		return p, nil
	}
	n := o.NBest
	switch o.Decoding {
	case Merged:
		n = max(n, 1)
	case MinRisk:
		n = max(n, o.Candidates)
	}
	list, err := s.merged(ctx, n)
	if err != nil {
		return Prediction{}, err
	}
	switch o.Decoding {
	case Merged:
		p.Output = list[0].Output
	case MinRisk:
		p.Output = leastRisk(list[:min(len(list), o.Candidates)])
	}
	p.NBest = list[:min(len(list), o.NBest)]
	return p, nil
}

// leastRisk returns the output with the least expected edit distance, the first of equals.
func leastRisk(list []Hypothesis) string {
	runes := make([][]rune, len(list))
	for i := range list {
		runes[i] = []rune(list[i].Output)
	}
	best, least := 0, math.Inf(1)
	for i := range list {
		r := 0.0
		for j := range list {
			r += math.Exp(list[j].LogProb-list[0].LogProb) * float64(metrics.EditDistance(runes[i], runes[j]))
		}
		if r < least {
			best, least = i, r
		}
	}
	return list[best].Output
}

// Predictions are those of examples, in their order.
type Predictions struct{ Each []Prediction }

// Predict predicts an output for every input, with the lexicon and the decoding of d; where d has
// no lexicon, that of the model counts. It obeys the context between inputs and within lattices.
func (m *Model) Predict(ctx context.Context, d *Data, workers int) (*Predictions, error) {
	o, err := d.Decode.withDefaults()
	if err != nil {
		return nil, err
	}
	x := cmp.Or(d.Lexicon, m.lexicon)
	out := &Predictions{Each: make([]Prediction, len(d.Pairs))}
	err = run.Each(run.WorkersOf(workers), len(d.Pairs), func(_, i int) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p, err := m.predict(ctx, &d.Pairs[i], x, &o)
		if err != nil {
			return fmt.Errorf("transduce: %s: %.60q: %w", d.Pairs[i].where(i), d.Pairs[i].Input, err)
		}
		out.Each[i] = p
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Measure is a figure of an evaluation; less is better.
type Measure struct {
	Name  string
	Value float64
	Unit  string // "%" or none
}

// MeasureNames lists the measures, first what settings are chosen by.
func MeasureNames() []string { return []string{"wrong", "edits", "edit rate"} }

// Wrong returns for every pair whether its prediction is wrong, and the edits to its output.
func (p *Predictions) Wrong(d *Data) (wrong []bool, edits []float64) {
	wrong, edits = make([]bool, len(p.Each)), make([]float64, len(p.Each))
	for i := range p.Each {
		y := d.Pairs[i].Output
		wrong[i] = p.Each[i].Output != y || !p.Each[i].Found
		edits[i] = float64(metrics.EditDistance([]rune(p.Each[i].Output), []rune(y)))
	}
	return wrong, edits
}

// Judge measures predictions against the outputs of d: the share of wrong ones, edits a pair, and
// edits in percent of the characters.
func (p *Predictions) Judge(d *Data) []Measure {
	wrong, edits := p.Wrong(d)
	bad, sum, characters := 0.0, 0.0, 0.0
	for i := range wrong {
		if wrong[i] {
			bad++
		}
		sum += edits[i]
		characters += float64(len([]rune(d.Pairs[i].Output)))
	}
	n := math.Max(1, float64(len(wrong)))
	names := MeasureNames()
	return []Measure{{names[0], 100 * bad / n, "%"}, {names[1], sum / n, ""}, {names[2],
		100 * sum / math.Max(1, characters), "%"}}
}
