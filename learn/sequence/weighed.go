package sequence

import (
	"strings"

	"github.com/tropica-fst/tropica/learn/resilient"
)

// weighed is scorer.sequence for sequences weighted by their loss. It stores the mean loss over the
// positions, passes it to weigh, and multiplies everything of the sequence by the weight returned.
// It also subtracts the reference's pairs. A nil weigh weighs nothing.
func (s *scorer) weighed(weigh resilient.Weigh, losses []float64, x []float64, i int, residual []float64,
	lane *laneSums, pairs []float64) (float64, error) {
	own := lane
	if weigh != nil {
		if s.lane.label == nil {
			s.lane = newLane(s.layout, s.loss)
		}
		s.lane.clear()
		own = &s.lane
	}
	v, err := s.sequence(x, i, residual, own, pairs)
	from, to := s.corpus.start[i], s.corpus.start[i+1]
	if err != nil || from == to {
		return v, err
	}
	n := float64(to - from)
	if losses != nil {
		losses[i] = v / n
	}
	if weigh == nil {
		return v, nil
	}
	value, weight := weigh(i, v/n)
	scaleBy(residual, weight)
	d := s.layout.labels
	if pairs != nil {
		scaleBy(pairs[:(to-from)*d*d], weight)
	}
	if s.layout.order >= 2 && s.loss.referencePairs != nil {
		labels := s.corpus.labels[from:to]
		for t := 1; t < len(labels); t++ {
			own.two.addExact(d*s.loss.stride, int(labels[t-1])*s.loss.stride+int(labels[t]), -1)
		}
	}
	lane.add(own, weight)
	return n * value, nil
}

func scaleBy(v []float64, f float64) {
	for i := range v {
		v[i] *= f
	}
}

// add adds f times the sums of o.
func (l *laneSums) add(o *laneSums, f float64) {
	addTimes(l.label, o.label, f)
	addTimes(l.two.scaled, o.two.scaled, f)
	addTimes(l.three, o.three, f)
	if o.two.exact != nil {
		if l.two.exact == nil {
			l.two.exact = make([]float64, len(o.two.exact))
		}
		addTimes(l.two.exact, o.two.exact, f)
	}
}

func addTimes(dst, v []float64, f float64) {
	for i, x := range v {
		dst[i] += f * x
	}
}

// Len implements resilient.Examples.
func (o *objective) Len() int { return o.corpus.sequences() }

// Weights implements resilient.Examples: the lengths.
func (o *objective) Weights() []float64 {
	w := make([]float64, o.corpus.sequences())
	for i := range w {
		w[i] = float64(o.corpus.start[i+1] - o.corpus.start[i])
	}
	return w
}

// EvalWeighed implements resilient.Examples. The loss of a sequence is the mean over its positions,
// and counts by their number, so that weights of 1 change nothing.
func (o *objective) EvalWeighed(x []float64, weigh resilient.Weigh, losses, grad []float64) (float64, error) {
	o.weigh, o.losses = weigh, losses
	defer func() { o.weigh, o.losses = nil, nil }()
	clear(losses)
	return o.Eval(x, grad)
}

var _ resilient.Examples = (*objective)(nil)

// difficulty lists the sequences by their multipliers at x, which are weights as the objective has
// them.
func (p *Problem) difficulty(o *resilient.Objective, x []float64,
	minimize resilient.Minimizer) (*resilient.Difficulty, error) {
	return o.Difficulty(x, p.opts.RelaxFolds, nil, minimize, func(i int) (string, string) {
		return p.corpus.name(i), p.examples[i].words(p.opts.Format)
	})
}

// words shows a sequence with its labels: "word/label word/label".
func (e *Example) words(f Format) string {
	var b strings.Builder
	column := f.word()
	for t, y := range e.Labels {
		if t > 0 {
			b.WriteByte(' ')
		}
		if t < len(e.Columns) && column < len(e.Columns[t]) {
			b.WriteString(e.Columns[t][column])
			b.WriteByte('/')
		}
		b.WriteString(y)
		if b.Len() > 400 {
			break
		}
	}
	return b.String()
}
