package minimax

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/run"
)

const (
	// offsetsArray is that of checkpoints with the L_k* that are known: a run that goes on
	// need not find them again.
	offsetsArray = "offsets"
	// errorsArray is that of what those may be above the least, -1 where that is not known.
	errorsArray = "offset errors"
	// aloneScalar says which objective the checkpoint of a run for regrets is of.
	aloneScalar = "alone"
	// aloneStage parts the objective from the solver in the names of stages.
	aloneStage = " alone: "
)

// keep writes offsets into a checkpoint.
func keep(k *run.Checkpoint, offsets []float64) {
	if k.Arrays == nil {
		k.Arrays = map[string][]float64{}
	}
	k.Arrays[offsetsArray] = slices.Clone(offsets)
}

// Alone reports whether a row is of a run on one objective alone, which measures what
// regrets are over: such runs come before the game itself.
func Alone(r run.Row) bool { return strings.Contains(r.Stage, aloneStage) }

// aloneShare is the part of the gap asked for that a linear model on one objective alone may
// be from the least.
const aloneShare = 0.25

// alone finds the least value of each objective, by runs on it alone with the solver and the
// budget of the game, and stores it in Offsets. For linear models the penalty is counted: of
// that sum a certificate proves how far the least can be (offsetGap), while what the loss
// itself is at a w that is within ε of the least varies by the root of ε. Of networks, where
// nothing is proved and penalties are much the same, it is the loss. The caller's recorder gets the rows of these runs, and
// the caller's checkpoints are of the one that runs, with the values of those before it.
// Where the caller resumes from such a checkpoint, Control.Resume is used up.
func (t *trainer) alone() error {
	var known, errs []float64
	var resume *run.Checkpoint
	of := "" // what checkpoints are of
	if t.Control.Resume != nil || t.Control.Checkpoint != nil {
		of = t.identity()
	}
	at := func(k int) string {
		if of == "" {
			return ""
		}
		return fmt.Sprintf("%s alone=%s", of, strings.ReplaceAll(t.objectives[k].Name, " ", "_"))
	}
	if k := t.Control.Resume; k != nil {
		known = slices.Clone(k.Arrays[offsetsArray])
		if errs = slices.Clone(k.Arrays[errorsArray]); len(errs) != len(known) {
			return errors.New("minimax: the checkpoint does not say how near its offsets for regrets are: it is of an earlier version; start afresh")
		}
		number, single := k.Scalars[aloneScalar]
		switch {
		case single:
			j := len(known)
			if number != float64(j) || j >= len(t.objectives) {
				return fmt.Errorf("minimax: the checkpoint of a run on objective %v alone has %d offsets: it is not of %d objectives", number+1, j, len(t.objectives))
			}
			if err := k.BelongsTo(at(j)); err != nil {
				return fmt.Errorf("minimax: %w", err)
			}
			resume, t.Control.Resume = k, nil
		case len(known) != len(t.objectives):
			if err := k.BelongsTo(of); err != nil {
				return fmt.Errorf("minimax: %w", err)
			}
			return errors.New("minimax: the checkpoint has no offsets for regrets; start afresh")
		}
		if !finite(known...) {
			return fmt.Errorf("minimax: the checkpoint's offsets %v are not all finite", known)
		}
	}
	for k := len(known); k < len(t.objectives); k++ {
		s := *t
		s.Normalization = Lipschitz
		s.objectives = slices.Clone(t.objectives)
		s.Fixed = make([]float64, len(t.objectives))
		s.Fixed[k] = 1
		if len(s.Hidden) == 0 && s.Gap > 0 {
			s.Gap *= aloneShare
		}
		s.single, s.prefix = at(k), t.objectives[k].Name+aloneStage
		s.Control = run.Control{Ctx: t.Control.Ctx, Recorder: t.Control.Recorder, CheckpointEvery: t.Control.CheckpointEvery, Resume: resume}
		resume = nil
		if save := t.Control.Checkpoint; save != nil {
			s.Control.Checkpoint = func(c *run.Checkpoint) error {
				keep(c, known)
				c.Arrays[errorsArray] = slices.Clone(errs)
				if c.Scalars == nil {
					c.Scalars = map[string]float64{}
				}
				c.Scalars[aloneScalar] = float64(k)
				return save(c)
			}
		}
		var f *Fit
		var err error
		if len(s.Hidden) > 0 {
			f, err = s.network()
		} else {
			f, err = s.linear()
		}
		if err != nil {
			return fmt.Errorf("minimax: the least %s alone, for regrets: %w", t.objectives[k].Name, err)
		}
		reached, off := f.Values[k], -1.0
		if len(s.Hidden) == 0 {
			reached += f.Penalty
		}
		if f.Certified {
			off = f.Gap()
		}
		known, errs = append(known, reached), append(errs, off)
	}
	t.Offsets, t.offsetErrors = known, errs
	return nil
}

// offsetGap is what offsets that were sought may be above the least, +Inf where that is not known.
func (t *trainer) offsetGap() float64 {
	most := 0.0
	for _, v := range t.offsetErrors {
		if v < 0 {
			return math.Inf(1)
		}
		most = math.Max(most, v)
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
