package minimax

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/run"
)

// Names of what checkpoints hold about regrets: the L_k* found so far, which a resumed run need not
// find again, and bounds on their excess over the minimum (-1 where unknown). Then follow the
// objective in training, and the solver's name in a checkpoint taken between two objectives.
const (
	offsetsArray  = "offsets"
	errorsArray   = "offset errors"
	aloneScalar   = "alone"
	betweenSolver = "between objectives alone"
)

// aloneStage parts the objective from the solver in the names of stages.
const aloneStage = " alone: "

// Alone reports whether a row belongs to a run on one objective. Such runs measure what regrets are
// relative to, and come before the game itself.
func Alone(r run.Row) bool { return strings.Contains(r.Stage, aloneStage) }

// solo finds what each objective reaches alone, by a run on one after the other.
type solo struct {
	names   []string
	proved  bool               // whether errors are known and kept
	problem func(k int) string // what the run on objective k is of, the game behind them; nil is not compared
	start   []float64          // if not nil, there is a checkpoint between runs as well, with these weights
	train   func(k int, c run.Control) (value, off float64, err error)

	values, errors []float64 // so far
}

// find makes the runs that are missing. The control's recorders get their rows (see Alone), and its
// checkpoints are of the one that runs, with the values of those before it. A checkpoint of them in
// Resume is used up.
func (s *solo) find(c *run.Control) error {
	resume, err := s.resume(c)
	if err != nil {
		return err
	}
	save := c.Checkpoint
	for k := len(s.values); k < len(s.names); k++ {
		own := run.Control{Ctx: c.Ctx, Recorder: c.Recorder, Live: c.Live, CheckpointEvery: c.CheckpointEvery,
			Resume: resume}
		resume = nil
		if save != nil {
			own.Checkpoint = func(q *run.Checkpoint) error { return save(s.mark(q)) }
		}
		value, off, err := s.train(k, own)
		if err != nil {
			return fmt.Errorf("minimax: the least %s alone, for regrets: %w", s.names[k], err)
		}
		s.values, s.errors = append(s.values, value), append(s.errors, off)
		if save != nil && s.start != nil {
			if err := save(s.mark(&run.Checkpoint{Solver: betweenSolver, X: slices.Clone(s.start)})); err != nil {
				return fmt.Errorf("minimax: checkpoint: %w", err)
			}
		}
	}
	return nil
}

// mark says in a checkpoint how far these runs have come.
func (s *solo) mark(k *run.Checkpoint) *run.Checkpoint {
	s.keep(k)
	if k.Scalars == nil {
		k.Scalars = map[string]float64{}
	}
	k.Scalars[aloneScalar] = float64(len(s.values))
	return k
}

// keep writes what is known into a checkpoint.
func (s *solo) keep(k *run.Checkpoint) {
	if k.Arrays == nil {
		k.Arrays = map[string][]float64{}
	}
	if k.Arrays[offsetsArray] = slices.Clone(s.values); s.proved {
		k.Arrays[errorsArray] = slices.Clone(s.errors)
	}
}

// resume reads what the control's checkpoint says is known, and returns it if it is of a run on one
// objective alone.
func (s *solo) resume(c *run.Control) (*run.Checkpoint, error) {
	k := c.Resume
	if k == nil {
		return nil, nil
	}
	s.values, s.errors = slices.Clone(k.Arrays[offsetsArray]), slices.Clone(k.Arrays[errorsArray])
	n, p := len(s.values), len(s.names)
	number, single := k.Scalars[aloneScalar]
	switch {
	case !s.proved:
		s.errors = slices.Repeat([]float64{-1}, n)
	case len(s.errors) != n:
		return nil, errors.New("minimax: the checkpoint does not say how near its offsets for regrets are: " +
			"it is of an earlier version; start afresh")
	}
	switch {
	case !finite(s.values...):
		return nil, fmt.Errorf("minimax: the checkpoint's offsets %v are not all finite", s.values)
	case single && (number != float64(n) || n > p || n == p && k.Solver != betweenSolver):
		return nil, fmt.Errorf("minimax: the checkpoint of a run on objective %v alone has %d offsets: it is not "+
			"of %d objectives", number+1, n, p)
	}
	if s.problem != nil && (single || n != p) {
		of := p
		if single {
			of = n
		}
		if err := k.BelongsTo(s.problem(of)); err != nil {
			return nil, fmt.Errorf("minimax: %w", err)
		}
	}
	if !single && n != p {
		return nil, fmt.Errorf("minimax: the checkpoint has %d offsets for regrets of %d objectives; start afresh",
			n, p)
	}
	if !single {
		return nil, nil
	}
	if c.Resume = nil; k.Solver == betweenSolver {
		return nil, nil
	}
	return k, nil
}

// aloneShare is the part of the gap asked for that a linear model on one objective alone may
// be from the least.
const aloneShare = 0.25

// findOffsets finds the least value of each objective and stores it in Offsets. It trains on that
// objective with the solver and the budget of the game. For linear models the penalty is included:
// a certificate bounds the distance of that sum from its least value (offsetGap). The loss at a w
// within ε of the optimum varies by the root of ε. For networks, where nothing is proved and
// penalties hardly differ, it is the loss.
func (t *trainer) findOffsets() error {
	t.solo = &solo{names: t.names(), proved: true, train: func(k int, c run.Control) (float64, float64, error) {
		s := *t
		s.Normalization, s.solo, s.Control = Lipschitz, nil, c
		s.objectives = slices.Clone(t.objectives)
		s.Fixed = make([]float64, len(t.objectives))
		s.Fixed[k] = 1
		if len(s.Hidden) == 0 && s.Gap > 0 {
			s.Gap *= aloneShare
		}
		s.prefix = t.objectives[k].Name + aloneStage
		if t.solo.problem != nil {
			s.single = t.solo.problem(k)
		}
		f, err := s.train()
		if err != nil {
			return 0, 0, err
		}
		reached, off := f.Values[k], -1.0
		if len(s.Hidden) == 0 {
			reached += f.Penalty
		}
		if f.Certified {
			off = f.Gap()
		}
		return reached, off, nil
	}}
	if t.Control.Resume != nil || t.Control.Checkpoint != nil {
		of := t.identity()
		t.solo.problem = func(k int) string {
			if k == len(t.objectives) {
				return of
			}
			return fmt.Sprintf("%s alone=%s", of, strings.ReplaceAll(t.objectives[k].Name, " ", "_"))
		}
	}
	err := t.solo.find(&t.Control)
	t.Offsets = t.solo.values
	return err
}

// offsetGap is what offsets that were sought may be above the least, +Inf where that is not known.
func (t *trainer) offsetGap() float64 {
	most := 0.0
	if t.solo != nil {
		for _, v := range t.solo.errors {
			if v < 0 {
				return math.Inf(1)
			}
			most = math.Max(most, v)
		}
	}
	return most
}

// known returns the offsets of a fit by regrets, for further runs on the same objectives.
func (f *Fit) known() []float64 {
	var out []float64
	for _, u := range f.Model.Objectives {
		out = append(out, u.Offset)
	}
	return out
}
