package tracking

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim/partition"
	"github.com/tropica-fst/tropica/learn/space"
)

// Annotation says what happens to some detections of a pair, or to all.
type Annotation struct {
	Chosen []int  // hypotheses that happen, ascending
	Known  []bool // of every detection, first frame first: its event is among Chosen; nil is all
}

// Annotation returns what is known of a pair's events: all of them, or those of some detections.
func (p *Pair) Annotation() *Annotation { return &Annotation{Chosen: p.Truth(), Known: p.known} }

// judged reports whether a hypothesis touches a detection whose event is told: the loss counts it.
func (a *Annotation) judged(p *Pair, h int) bool {
	if a.Known == nil {
		return true
	}
	for _, v := range p.cover.Members(h) {
		if a.Known[v] {
			return true
		}
	}
	return false
}

// Reveal returns the part of a pair's true events that touch the detections marked. All hypotheses
// that touch them are then settled, and so are their partners.
func (p *Pair) Reveal(marked []bool) *Annotation {
	a := &Annotation{Known: make([]bool, p.cover.Elements())}
	for _, h := range p.Truth() {
		m := p.cover.Members(h)
		for _, v := range m {
			if marked[v] {
				a.Chosen = append(a.Chosen, h)
				for _, x := range m {
					a.Known[x] = true
				}
				break
			}
		}
	}
	return a
}

// Space is the assignments of pairs, for learners. Outputs are hypotheses, ascending. It is a
// space.Space[*Pair, []int, *Annotation].
//
// The loss counts missed true events, times Miss, and false events, times Extra, over the number of
// true events. It counts only hypotheses that touch an annotated detection.
type Space struct {
	Miss, Extra float64 // 0 is 1
	Nodes       int     // of branch and bound, as in partition.Options
	// Prior, if not nil, is weights that are known: one more weight multiplies their score. Where
	// that weight is not penalised, what is learnt is how the others differ from the prior.
	Prior []float64
}

var _ space.Remembering[*Pair, []int, *Annotation] = (*Space)(nil)

func (s *Space) costs() (miss, extra float64) {
	miss, extra = s.Miss, s.Extra
	if miss == 0 {
		miss = 1
	}
	if extra == 0 {
		extra = 1
	}
	return
}

// Dim returns the number of weights: one more with a prior.
func (s *Space) Dim() int {
	if s.Prior != nil {
		return Dim() + 1
	}
	return Dim()
}

// Weights returns the weights of features that weights of the space come to.
func (s *Space) Weights(w []float64) []float64 {
	if s.Prior == nil {
		return w
	}
	out := slices.Clone(w[:Dim()])
	for j, v := range s.Prior {
		out[j] += w[Dim()] * v
	}
	return out
}

// Scores returns the score of every hypothesis.
func (p *Pair) Scores(w []float64) []float64 {
	out := make([]float64, len(p.Hypotheses))
	for h := range p.Hypotheses {
		x := &p.Hypotheses[h]
		block := w[offsets[x.block]:offsets[x.block+1]]
		v := 0.0
		for k, f := range x.features {
			v += f * block[k]
		}
		out[h] = v
	}
	return out
}

// solve solves a pair by scores, and reports what is infeasible by names.
func (s *Space) solve(ctx context.Context, p *Pair, score []float64,
	within bool) (space.Solution[[]int], error) {
	r, err := p.cover.Solve(ctx, score, &partition.Options{Nodes: s.Nodes})
	if err != nil {
		return space.Solution[[]int]{}, p.failed(err, within)
	}
	return space.Solution[[]int]{Y: r.Sets, Value: r.Value, UpperBound: r.Bound, Optimal: r.Optimal}, nil
}

// failed names the detection of an error.
func (p *Pair) failed(err error, within bool) error {
	var e *partition.InfeasibleError
	if !errors.As(err, &e) {
		return fmt.Errorf("tracking: %s: %w", p.Name, err)
	}
	place := p.Name
	if e.Element >= 0 {
		place = fmt.Sprintf("%s: %s", p.Name, p.element(e.Element))
	}
	return &space.EmptyError{Within: within, Place: place}
}

// element names a detection of either frame.
func (p *Pair) element(v int) string {
	if v < len(p.From) {
		return fmt.Sprintf("detection %d of the first frame", p.From[v].ID)
	}
	return fmt.Sprintf("detection %d of the second frame", p.To[v-len(p.From)].ID)
}

// Argmax implements space.Space.
func (s *Space) Argmax(ctx context.Context, p *Pair, w []float64) (space.Solution[[]int], error) {
	return s.solve(ctx, p, p.Scores(s.Weights(w)), false)
}

// Argmin implements space.Space.
func (s *Space) Argmin(ctx context.Context, p *Pair, w []float64) (space.Solution[[]int], error) {
	score := p.Scores(s.Weights(w))
	for h := range score {
		score[h] = -score[h]
	}
	r, err := s.solve(ctx, p, score, false)
	r.Value, r.UpperBound = -r.Value, -r.UpperBound
	return r, err
}

// preference is by how much more than once the loss counts in ArgmaxLoss: among outputs of equal
// value the one of larger loss wins.
const preference = 1e-8

// ArgmaxLoss implements space.Space.
func (s *Space) ArgmaxLoss(ctx context.Context, p *Pair, w []float64,
	a *Annotation) (space.Solution[[]int], error) {
	score := p.Scores(s.Weights(w))
	z := 1 / math.Max(1, float64(len(a.Chosen)))
	miss, extra := s.costs()
	constant := miss * z * float64(len(a.Chosen))
	chosen := marks(len(score), a.Chosen)
	for h := range score {
		switch {
		case chosen[h]:
			score[h] -= (1 + preference) * miss * z
		case a.judged(p, h):
			score[h] += (1 + preference) * extra * z
		}
	}
	r, err := s.solve(ctx, p, score, false)
	if err != nil {
		return r, err
	}
	loss := s.Delta(p, a, r.Y)
	gap := r.UpperBound - r.Value
	r.Value += constant - preference*(loss-constant)
	r.UpperBound = r.Value + gap
	if r.Optimal {
		r.UpperBound = r.Value
	} else {
		r.UpperBound += preference * (constant + extra*float64(p.cover.Elements())*z)
	}
	return r, nil
}

func marks(n int, list []int) []bool {
	out := make([]bool, n)
	for _, h := range list {
		out[h] = true
	}
	return out
}

// ArgmaxWithin implements space.Space.
func (s *Space) ArgmaxWithin(ctx context.Context, p *Pair, w []float64,
	a *Annotation) (space.Solution[[]int], error) {
	score := p.Scores(s.Weights(w))
	s.restrict(score, p, a)
	return s.solve(ctx, p, score, true)
}

// restrict forbids what does not agree with an annotation.
func (s *Space) restrict(score []float64, p *Pair, a *Annotation) {
	chosen := marks(len(score), a.Chosen)
	for h := range score {
		if !chosen[h] && a.judged(p, h) {
			score[h] = math.Inf(-1)
		}
	}
	for _, h := range a.Chosen {
		p.cover.Force(score, h)
	}
}

// KBest implements space.Space.
func (s *Space) KBest(ctx context.Context, p *Pair, w []float64, k int) ([]space.Solution[[]int], error) {
	list, err := p.cover.KBest(ctx, p.Scores(s.Weights(w)), k, &partition.Options{Nodes: s.Nodes})
	if err != nil {
		return nil, p.failed(err, false)
	}
	var out []space.Solution[[]int]
	for _, r := range list {
		out = append(out, space.Solution[[]int]{Y: r.Sets, Value: r.Value, UpperBound: r.Bound, Optimal: r.Optimal})
	}
	return out, nil
}

// AddPhi implements space.Space.
func (s *Space) AddPhi(dst []float64, scale float64, p *Pair, y []int) {
	for _, h := range y {
		x := &p.Hypotheses[h]
		from := offsets[x.block]
		for k, f := range x.features {
			dst[from+k] += scale * f
			if s.Prior != nil {
				dst[Dim()] += scale * f * s.Prior[from+k]
			}
		}
	}
}

// Delta implements space.Space.
func (s *Space) Delta(p *Pair, a *Annotation, y []int) float64 {
	miss, extra := s.costs()
	chosen := marks(len(p.Hypotheses), a.Chosen)
	wrong, hit := 0, 0
	for _, h := range y {
		if chosen[h] {
			hit++
		} else if a.judged(p, h) {
			wrong++
		}
	}
	return (miss*float64(len(a.Chosen)-hit) + extra*float64(wrong)) / math.Max(1, float64(len(a.Chosen)))
}

// LossZeroOnCompatible implements space.Space: hypotheses that agree on the annotated detections
// are not counted.
func (s *Space) LossZeroOnCompatible() bool { return true }

// Complete implements space.Space. Detections that are not annotated can always appear and
// disappear: nothing is left open only if that is all they can do.
func (s *Space) Complete(p *Pair, a *Annotation) bool {
	if a.Known == nil {
		return true
	}
	for h := range p.Hypotheses {
		if !a.judged(p, h) && len(p.cover.Members(h)) > 1 {
			return false
		}
	}
	return true
}

// Score implements space.Remembering.
func (s *Space) Score(p *Pair, w []float64, y []int) float64 {
	v, prior := 0.0, 0.0
	for _, h := range y {
		x := &p.Hypotheses[h]
		block := w[offsets[x.block]:offsets[x.block+1]]
		for k, f := range x.features {
			v += f * block[k]
		}
		if s.Prior != nil {
			block = s.Prior[offsets[x.block]:offsets[x.block+1]]
			for k, f := range x.features {
				prior += f * block[k]
			}
		}
	}
	if s.Prior != nil {
		v += w[Dim()] * prior
	}
	return v
}

// AppendOutput implements space.Remembering.
func (s *Space) AppendOutput(dst []byte, _ *Pair, y []int) []byte { return space.AppendNumbers(dst, y) }

// ReadOutput implements space.Remembering.
func (s *Space) ReadOutput(src []byte, p *Pair) ([]int, []byte, error) {
	y, rest, err := space.ReadNumbers(src, len(p.Hypotheses), len(p.Hypotheses))
	if err != nil {
		return nil, nil, err
	}
	covered := 0
	for _, h := range y {
		covered += len(p.cover.Members(h))
	}
	if covered != p.cover.Elements() {
		err = space.ErrOutput
	}
	return y, rest, err
}
