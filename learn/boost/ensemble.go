package boost

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/resilient"
	"github.com/tropica-fst/tropica/learn/run"
)

// Ensemble is a trained model: scores F(x) = Start + Σ_t Weight_t h_t(x). Every booster of this
// package returns one. Several goroutines may use it at once while none changes it.
type Ensemble struct {
	Algorithm string // which booster made it: "rgb", "adaboost", "gb", ...
	Settings  string // the booster's settings as JSON, for the record; may be empty
	Loss      Loss
	Schema    Schema
	Start     []float64 // F0, one a score
	Terms     []Term    // in the order they were added
	Families  []Family  // the grid that Term.Family points into; may be empty
	Rows      int       // training rows, for bounds

	// Joint reports that rounds changed the weights of earlier terms, as penalised coordinate
	// descent does. The terms have their final weights and the number of the last round, so the
	// model after earlier rounds is unknown.
	Joint bool

	Run *TrainingRun // how it was trained; nil in a model that was read

	Hard *resilient.Difficulty // training rows with the largest multipliers; nil unless they were relaxed
}

// Term is one base predictor of an ensemble.
type Term struct {
	Weight    float64
	Predictor Predictor
	Output    int // which score it adds to
	Family    int // index into Families; -1 when there are none
	Round     int // from 0; the terms of one round were added together
}

// Outputs is the number of scores a row.
func (e *Ensemble) Outputs() int { return e.Loss.Outputs() }

// Rounds is the number of rounds that added terms: one more than the last
// term's round.
func (e *Ensemble) Rounds() int {
	if len(e.Terms) == 0 {
		return 0
	}
	return e.Terms[len(e.Terms)-1].Round + 1
}

// ErrPrefix reports a request for the state of a Joint ensemble after some of its rounds.
var ErrPrefix = errors.New("the model has no prefixes: its rounds changed the weights of earlier terms")

// CheckRounds returns an error unless the ensemble after that many rounds is known: ErrPrefix where
// it is Joint, another for a negative number.
func (e *Ensemble) CheckRounds(rounds int) error {
	if rounds < 0 {
		return fmt.Errorf("boost: %s: the model after %d rounds: the number must not be negative",
			e.Algorithm, rounds)
	}
	if e.Joint && rounds < e.Rounds() {
		return fmt.Errorf("boost: %s: %d rounds of %d: %w", e.Algorithm, rounds, e.Rounds(), ErrPrefix)
	}
	return nil
}

// Prefix returns the ensemble after the given number of rounds, sharing its predictors. CheckRounds
// reports whether there is one; of a Joint ensemble all terms belong to the last round.
func (e *Ensemble) Prefix(rounds int) *Ensemble {
	p := *e
	n, _ := slices.BinarySearchFunc(e.Terms, rounds, func(t Term, r int) int { return t.Round - r })
	p.Terms = e.Terms[:n:n]
	return &p
}

// PredictOptions adjusts prediction; nil is the zero value.
type PredictOptions struct {
	// use the terms of this many rounds; 0 is all, negative an error. Fewer than all of a Joint
	// ensemble are ErrPrefix
	Rounds  int
	Workers int // goroutines; 0 is GOMAXPROCS. Results do not depend on it

	Ctx context.Context // when it is cancelled, prediction ends with its error; nil is never cancelled
}

// Scores returns the scores of every row of x, row by row. The columns of x must
// be those of the training table; see Schema.Match.
func (e *Ensemble) Scores(x *table.Table, o *PredictOptions) ([]float64, error) {
	if o == nil {
		o = &PredictOptions{}
	}
	if err := e.Schema.Match(x); err != nil {
		return nil, err
	}
	if o.Rounds != 0 {
		if err := e.CheckRounds(o.Rounds); err != nil {
			return nil, err
		}
		e = e.Prefix(o.Rounds)
	}
	k := e.Outputs()
	f := make([]float64, x.Rows*k)
	if forest := e.forest(); forest != nil && x.Rows >= predictBlock {
		for i := range f {
			f[i] = e.Start[i%k]
		}
		forest.Ctx = o.Ctx
		return f, forest.Predict(f, x, o.Workers)
	}
	run.Blocks(o.Workers, x.Rows, predictBlock, func(_, from, to int) {
		if o.Ctx != nil && o.Ctx.Err() != nil {
			return
		}
		e.addTo(f[from*k:to*k], x, from)
	})
	if o.Ctx != nil && o.Ctx.Err() != nil {
		return nil, fmt.Errorf("boost: prediction was stopped: %w", o.Ctx.Err())
	}
	return f, nil
}

// forest packs an ensemble of trees for fast prediction, to the same bits; it is nil
// when there are other predictors.
func (e *Ensemble) forest() *tree.Forest {
	f := tree.NewForest(e.Outputs())
	for i := range e.Terms {
		t, ok := e.Terms[i].Predictor.(*tree.Tree)
		if !ok {
			return nil
		}
		f.Add(t, e.Terms[i].Weight, e.Terms[i].Output)
	}
	return f
}

// predictBlock rows are scored together, tree after tree: their features stay in
// the second-level cache.
const predictBlock = 512

// addTo stores the scores of rows from … in f.
func (e *Ensemble) addTo(f []float64, x *table.Table, from int) {
	k := len(e.Start)
	for i := range f {
		f[i] = e.Start[i%k]
	}
	h := make([]float64, len(f)/k)
	for i := range e.Terms {
		t := &e.Terms[i]
		t.Predictor.Predict(h, x, from)
		addScaled(f, h, t.Weight, t.Output, k)
	}
}

// addScaled adds a h to one of k scores of each row. The product is rounded before
// the sum, on every processor: a fused multiplication would give other bits.
func addScaled(f, h []float64, a float64, output, k int) {
	out := f[output:]
	for j, v := range h {
		out[j*k] += float64(a * v)
	}
}

// Staged calls see with the scores of all rows after each round, from 1 on; see must not keep or
// change them. It stops when see returns false. It costs one prediction with the whole ensemble. A
// Joint ensemble is seen after its last round only.
func (e *Ensemble) Staged(x *table.Table, see func(rounds int, scores []float64) bool) error {
	if err := e.Schema.Match(x); err != nil {
		return err
	}
	k := e.Outputs()
	f := make([]float64, x.Rows*k)
	for i := range f {
		f[i] = e.Start[i%k]
	}
	h := make([]float64, x.Rows)
	for i := 0; i < len(e.Terms); {
		round := e.Terms[i].Round
		for ; i < len(e.Terms) && e.Terms[i].Round == round; i++ {
			t := &e.Terms[i]
			t.Predictor.Predict(h, x, 0)
			addScaled(f, h, t.Weight, t.Output, k)
		}
		if !see(round+1, f) {
			return nil
		}
	}
	return nil
}

// ErrNoProbability reports a loss that determines none.
var ErrNoProbability = errors.New("this loss determines no probabilities")

// Probabilities returns P(y = +1 | x) of every row, or with more than one score
// the probabilities of all classes, row by row. Whether the loss is a
// likelihood, see Probabilistic.
func (e *Ensemble) Probabilities(x *table.Table, o *PredictOptions) ([]float64, error) {
	l, ok := e.Loss.(Probabilistic)
	if !ok {
		return nil, fmt.Errorf("boost: %w: %s", ErrNoProbability, e.Loss.Name())
	}
	f, err := e.Scores(x, o)
	if err != nil {
		return nil, err
	}
	p := make([]float64, len(f))
	l.Probabilities(p, f)
	return p, nil
}

// Classes returns the class of each row as an index into Schema.Classes. With one score it is 1
// where the score is positive, else 0; with several it is the highest, the first among equals.
func (e *Ensemble) Classes(scores []float64) []int {
	k := e.Outputs()
	out := make([]int, len(scores)/k)
	for i := range out {
		out[i] = score.ClassOf(scores[i*k : i*k+k])
	}
	return out
}
