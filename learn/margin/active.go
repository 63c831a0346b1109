package margin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/space"
)

// Annotator answers what is right for inputs of a pool: a person behind a queue, or a
// simulation that knows.
type Annotator[A any] interface {
	// Annotate returns the annotation of input i, complete or partial. It may wait, and obeys the
	// context. known is false for an input to skip. Asked again for the same input, it answers the
	// same: a run that is resumed asks again for what it had.
	Annotate(ctx context.Context, i int) (a A, known bool, err error)
	// Ask announces inputs that Annotate will be called for, in that order.
	Ask(batch []int) error
}

// Simulation is an Annotator that knows all answers.
type Simulation[A any] []A

// Annotate implements Annotator.
func (s Simulation[A]) Annotate(_ context.Context, i int) (A, bool, error) { return s[i], true, nil }

// Ask implements Annotator.
func (s Simulation[A]) Ask([]int) error { return nil }

// ActiveOptions adjusts Active; zero fields are the defaults.
type ActiveOptions struct {
	Measure   string  `flag:"measure" default:"best-vs-second" values:"random,scoring,best-vs-worst,best-vs-second,entropy" help:"What inputs are chosen by"`
	Queries   int     `flag:"queries" min:"0" help:"Inputs to ask about, at most; 0 is all"`
	Window    int     `flag:"window" default:"80" min:"2" help:"Queries over which the change of the mean uncertainty is judged"`
	Threshold float64 `flag:"threshold" default:"1e-4" min:"0" help:"Change of the mean uncertainty at which to stop; 0 is never"`
	Batch     int     `flag:"batch" default:"1" min:"1" help:"Inputs asked about at a time"`
	Alike     float64 `flag:"alike" default:"0.98" above:"0" max:"1" help:"Cosine of features from which two inputs are too alike for one batch"`
	Normalise bool    `flag:"normalise" help:"Divide scores by the norm of the weights, which perceptrons do not bound, before they are measured"`
	Averaged  bool    `flag:"averaged" help:"Return the mean of the perceptron's weights in place of the last ones"`
	Retrain   int     `flag:"retrain" min:"0" help:"Train with margins on the annotated inputs after every N queries, and continue from there; 0 is never"`
	Combine   bool    `flag:"combine" help:"Train with margins on what was annotated, at the end"`
	Seed      uint64  `flag:"seed" default:"1" help:"Seed of random choices"`
	Margin    PartialOptions
	Init      []float64
}

// Query is one question of Active and what it came to.
type Query struct {
	Input   int     // in the pool
	Skipped bool    // the annotator gave no answer
	Mean    float64 // mean uncertainty of the inputs left, after learning from it
	Change  float64 // of its robust mean over the window; NaN before there is one
	Norm    float64 // of the weights
}

// ActiveResult is what Active came to.
type ActiveResult[X, A any] struct {
	Perceptron *Linear
	Combined   *Linear // trained with margins on Data; nil unless Combine
	Queries    []Query
	Data       []space.Sample[X, A] // annotated, in the order asked
}

// Model returns the combined model where there is one, else the perceptron's.
func (r *ActiveResult[X, A]) Model() *Linear {
	if r.Combined != nil {
		return r.Combined
	}
	return r.Perceptron
}

// Active learns from a pool of inputs without annotations. It asks about the input that a
// perceptron is least certain of, and then passes over all annotated inputs in the order asked. It
// stops when the mean uncertainty of the inputs left no longer changes, the pool is empty, or
// Queries were asked. A step is one query. It takes one inference of every input that is left and
// two of every annotated one, O(N²) in all for a pool of N.
//
// Samples of data are annotated already. Patches of large inputs should be inputs of their own.
//
// A checkpoint holds the order of the questions, not the answers: a resumed run asks the
// annotator again for those it had.
func Active[X, Y, A any](s space.Space[X, Y, A], pool []X, data []space.Sample[X, A], annotator Annotator[A],
	opts *ActiveOptions, c *run.Control) (*ActiveResult[X, A], *optim.Result, error) {
	var o ActiveOptions
	if err := learner.Complete(&o, opts); err != nil {
		return nil, nil, fmt.Errorf("margin: active: %w", err)
	}
	if len(pool) == 0 {
		return nil, nil, errors.New("margin: active: the pool has no inputs")
	}
	control, _, err := begin("active", c, make([]space.Sample[X, A], len(pool)),
		learner.Settings(&o)+" "+learner.Settings(&o.Margin))
	if err != nil {
		return nil, nil, fmt.Errorf("margin: active: %w", err)
	}
	n := s.Dim()
	r := run.Begin("active", control, len(pool)+1)
	a := &active[X, Y, A]{s: s, o: &o, pool: pool, annotator: annotator, r: r, data: slices.Clone(data),
		gone: make([]bool, len(pool)), perceptron: perceptron[X, Y, A]{s: s, w: make([]float64, n),
			moved: make([]float64, n), report: &Report{Lower: math.Inf(-1)}}}
	if o.Init != nil {
		if err := optim.CheckStart("margin: active", n, o.Init); err != nil {
			return nil, nil, err
		}
		copy(a.w, o.Init)
	}
	k, err := r.Point(n, "moved")
	if err == nil && k != nil {
		err = a.restore(k)
	}
	if err == nil && k == nil {
		// What is annotated already is learnt from first.
		if err = a.pass(); err == nil {
			err = a.measure()
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("margin: active: %w", err)
	}
	reason, err := r.Loop(a.step, a.checkpoint)
	if err != nil {
		err = fmt.Errorf("margin: %w", err)
	}
	result := &ActiveResult[X, A]{Perceptron: &Linear{W: slices.Clone(a.w), Report: *a.report},
		Queries: a.queries, Data: a.data}
	if o.Averaged {
		result.Perceptron.W = a.mean()
	}
	if err == nil && o.Combine && len(a.data) > 0 {
		result.Combined, err = a.combined()
	}
	f := math.NaN()
	if q := a.queries; len(q) > 0 {
		f = q[len(q)-1].Mean
	}
	return result, &optim.Result{X: result.Model().W, F: f, Iterations: r.Steps(), Evaluations: r.Evaluations,
		Reason: reason}, err
}

// Settled ends a run of Active whose mean uncertainty no longer changes.
const Settled run.Reason = "uncertainty settled"

// active is a run of Active.
type active[X, Y, A any] struct {
	perceptron[X, Y, A]
	s         space.Space[X, Y, A]
	o         *ActiveOptions
	pool      []X
	annotator Annotator[A]
	r         *run.Run

	data    []space.Sample[X, A]
	gone    []bool // asked about
	queries []Query
	means   []float64
	batch   []int     // asked about, not yet answered
	rank    []float64 // of every input left, at the present weights
}

func (a *active[X, Y, A]) left() int { return len(a.pool) - len(a.queries) }

// step asks one question and learns from the answer.
func (a *active[X, Y, A]) step() (*run.Row, run.Reason, error) {
	if a.left() == 0 || a.o.Queries > 0 && len(a.queries) >= a.o.Queries {
		return nil, run.Exhausted, nil
	}
	if len(a.batch) == 0 {
		a.choose()
		if err := a.annotator.Ask(a.batch); err != nil {
			return nil, "", fmt.Errorf("active: %w", err)
		}
	}
	i := a.batch[0]
	annotation, known, err := a.annotator.Annotate(a.r.Ctx, i)
	if err != nil {
		return nil, "", fmt.Errorf("active: input %d: %w", i, err)
	}
	w, moved, seen, size := slices.Clone(a.w), slices.Clone(a.moved), a.seen, len(a.data)
	undo := func() { a.w, a.moved, a.seen, a.data, a.gone[i] = w, moved, seen, a.data[:size], false }
	a.gone[i] = true
	if known {
		a.data = append(a.data, space.Sample[X, A]{X: a.pool[i], A: annotation, Name: fmt.Sprintf("input %d", i)})
		err = a.pass()
		if m := a.o.Retrain; err == nil && m > 0 && len(a.data)%m == 0 {
			var l *Linear
			if l, err = a.combined(); err == nil {
				copy(a.w, l.W)
				clear(a.moved)
				a.seen = 0
			}
		}
	}
	if err == nil {
		err = a.measure()
	}
	if err != nil {
		undo()
		return nil, "", err
	}
	a.batch = a.batch[1:]
	q := Query{Input: i, Skipped: !known, Mean: a.means[len(a.means)-1], Change: change(a.means, a.o.Window),
		Norm: floats.Norm(a.w, 2)}
	a.queries = append(a.queries, q)
	row := &run.Row{Objective: q.Mean, Detail: &ActiveRow{q, len(a.data)}}
	if t := a.o.Threshold; a.o.Measure != string(Random) && t > 0 && q.Change <= t {
		return row, Settled, nil
	}
	return row, "", nil
}

// ActiveRow is what a run of Active adds to its rows. The objective is the mean uncertainty.
type ActiveRow struct {
	Query
	Annotated int
}

// Fields implements run.Detail.
func (r *ActiveRow) Fields() []run.Field {
	return []run.Field{{Name: "input", Value: float64(r.Input)},
		{Name: "annotated", Value: float64(r.Annotated)}, {Name: "change", Value: r.Change},
		{Name: "norm", Value: r.Norm}}
}

// String implements run.Detail.
func (r *ActiveRow) String() string {
	return fmt.Sprintf("%d annotated, change %.3g, norm of the weights %.3g", r.Annotated, r.Change, r.Norm)
}

// pass learns from all that is annotated, in the order asked.
func (a *active[X, Y, A]) pass() error {
	for i := range a.data {
		if _, err := a.learn(a.r.Ctx, &a.data[i], i); err != nil {
			return err
		}
	}
	return nil
}

// combined trains with margins on what is annotated.
func (a *active[X, Y, A]) combined() (*Linear, error) {
	own := &run.Control{Ctx: a.r.Ctx, Workers: a.r.Workers, Live: a.r.Live}
	complete := true
	for i := range a.data {
		complete = complete && a.s.Complete(a.data[i].X, a.data[i].A)
	}
	var l *Linear
	var err error
	if o := a.o.Margin; complete {
		l, _, err = MaxMargin(a.s, a.data, &o.Options, own)
	} else {
		l, _, err = Partial(a.s, a.data, &o, own)
	}
	if err != nil {
		return nil, err
	}
	a.report.Calls += l.Report.Calls
	return l, nil
}

// measure finds how uncertain every input left is, and their mean.
func (a *active[X, Y, A]) measure() error {
	norm := 1.0
	if a.o.Normalise {
		norm = floats.Norm(a.w, 2)
	}
	n := len(a.pool)
	rank, q := make([]float64, n), make([]float64, n)
	if a.o.Measure == string(Random) {
		rng := rand.New(rand.NewPCG(a.o.Seed, uint64(len(a.queries))))
		for i := range rank {
			rank[i] = rng.Float64()
			q[i] = rank[i]
		}
	} else {
		err := run.Each(a.r.Workers, n, func(_, i int) error {
			if a.r.Ctx.Err() != nil {
				return context.Cause(a.r.Ctx)
			}
			if a.gone[i] {
				return nil
			}
			var err error
			if rank[i], q[i], err = uncertainty(a.r.Ctx, a.s, Measure(a.o.Measure), a.pool[i], a.w, norm); err != nil {
				return fmt.Errorf("input %d: %w", i, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	sum, left := 0.0, 0
	for i := range q {
		if !a.gone[i] {
			sum += q[i]
			left++
		}
	}
	a.report.Calls += left
	a.r.Evaluations++
	a.rank, a.means = rank, append(a.means, sum/math.Max(1, float64(left)))
	return nil
}

// choose picks the inputs of the next batch, by uncertainty, the first of equals. Of those
// beyond the first, it leaves out what is too like another: Φ of their best outputs.
func (a *active[X, Y, A]) choose() {
	var order []int
	for i := range a.pool {
		if !a.gone[i] {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case a.rank[i] > a.rank[j]:
			return -1
		case a.rank[i] < a.rank[j]:
			return 1
		}
		return 0
	})
	size := min(a.o.Batch, len(order))
	if a.o.Queries > 0 { // no question whose answer would not be read
		size = min(size, a.o.Queries-len(a.queries))
	}
	if size == 1 {
		a.batch = []int{order[0]}
		return
	}
	var chosen [][]float64
	var alike []int
	a.batch = nil
	for _, i := range order {
		if len(a.batch) == size || len(a.batch)+len(alike) > 10*size {
			break
		}
		y, err := a.s.Argmax(a.r.Ctx, a.pool[i], a.w)
		if err != nil {
			alike = append(alike, i) // its own turn will say what is wrong
			continue
		}
		phi := make([]float64, a.s.Dim())
		a.s.AddPhi(phi, 1, a.pool[i], y.Y)
		if length := floats.Norm(phi, 2); length > 0 {
			floats.Scale(1/length, phi)
		}
		if slices.ContainsFunc(chosen, func(other []float64) bool { return floats.Dot(phi, other) >= a.o.Alike }) {
			alike = append(alike, i)
			continue
		}
		chosen, a.batch = append(chosen, phi), append(a.batch, i)
	}
	if len(a.batch) == 0 {
		a.batch = order[:1]
	}
}

func (a *active[X, Y, A]) checkpoint() (*run.Checkpoint, error) {
	k := &run.Checkpoint{X: slices.Clone(a.w), Scalars: map[string]float64{"seen": a.seen,
		"calls": float64(a.report.Calls)}, Arrays: map[string][]float64{"moved": slices.Clone(a.moved),
		"means": slices.Clone(a.means), "rank": slices.Clone(a.rank)}}
	for _, i := range a.batch {
		k.Arrays["batch"] = append(k.Arrays["batch"], float64(i))
	}
	for _, q := range a.queries {
		skipped := 0.0
		if q.Skipped {
			skipped = 1
		}
		k.Arrays["queries"] = append(k.Arrays["queries"], float64(q.Input), skipped, q.Mean, q.Change, q.Norm)
	}
	return k, nil
}

// restore takes up a checkpoint, and asks again for the answers.
func (a *active[X, Y, A]) restore(k *run.Checkpoint) error {
	a.w, a.moved, a.seen = slices.Clone(k.X), slices.Clone(k.Arrays["moved"]), k.Scalars["seen"]
	a.report.Calls = int(k.Scalars["calls"])
	a.means, a.rank = slices.Clone(k.Arrays["means"]), slices.Clone(k.Arrays["rank"])
	queries := k.Arrays["queries"]
	if len(a.rank) != len(a.pool) || len(queries)%5 != 0 {
		return fmt.Errorf("%w: it has a pool of %d inputs, here are %d", run.ErrOther, len(a.rank), len(a.pool))
	}
	for ; len(queries) > 0; queries = queries[5:] {
		i := int(queries[0])
		if i < 0 || i >= len(a.pool) || a.gone[i] {
			return fmt.Errorf("%w: it asked about input %d of %d", run.ErrOther, i, len(a.pool))
		}
		a.gone[i] = true
		a.queries = append(a.queries, Query{i, queries[1] == 1, queries[2], queries[3], queries[4]})
		if queries[1] == 1 {
			continue
		}
		annotation, known, err := a.annotator.Annotate(a.r.Ctx, i)
		if err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
		if !known {
			return fmt.Errorf("input %d was annotated when the checkpoint was written, and is not now: %w",
				i, errAnswers)
		}
		a.data = append(a.data, space.Sample[X, A]{X: a.pool[i], A: annotation, Name: fmt.Sprintf("input %d", i)})
	}
	for _, v := range k.Arrays["batch"] {
		if i := int(v); i >= 0 && i < len(a.pool) && !a.gone[i] {
			a.batch = append(a.batch, i)
		}
	}
	return nil
}

var errAnswers = errors.New("the answers have changed")
