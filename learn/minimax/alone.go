package minimax

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/optim"
)

const (
	// offsetsArray is that of checkpoints with the L_k* that are known: a run that goes on
	// need not find them again.
	offsetsArray = "offsets"
	// aloneScalar says which objective the checkpoint of a run for regrets is of.
	aloneScalar = "alone"
	// aloneStage parts the objective from the solver in the names of stages.
	aloneStage = " alone: "
)

// keep writes offsets into a checkpoint.
func keep(k *optim.Checkpoint, offsets []float64) {
	if k.Arrays == nil {
		k.Arrays = map[string][]float64{}
	}
	k.Arrays[offsetsArray] = slices.Clone(offsets)
}

// Alone reports whether a row is of a run on one objective alone, which measures what
// regrets are over: such runs come before the game itself.
func Alone(r optim.Row) bool { return strings.Contains(r.Stage, aloneStage) }

// alone returns the least value of each objective, which a run on it alone finds by the
// solver and the budget of the game. The caller's recorder gets the rows of these runs, and
// the caller's checkpoints are of the one that runs, with the values of those before it.
// Where the caller resumes from such a checkpoint, Control.Resume is used up.
func (t *trainer) alone() ([]float64, error) {
	var known []float64
	var resume *optim.Checkpoint
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
		number, single := k.Scalars[aloneScalar]
		switch {
		case single:
			j := len(known)
			if number != float64(j) || j >= len(t.objectives) {
				return nil, fmt.Errorf("minimax: the checkpoint of a run on objective %v alone has %d offsets: it is not of %d objectives", number+1, j, len(t.objectives))
			}
			if err := k.BelongsTo(at(j)); err != nil {
				return nil, fmt.Errorf("minimax: %w", err)
			}
			resume, t.Control.Resume = k, nil
		case len(known) != len(t.objectives):
			if err := k.BelongsTo(of); err != nil {
				return nil, fmt.Errorf("minimax: %w", err)
			}
			return nil, errors.New("minimax: the checkpoint has no offsets for regrets; start afresh")
		}
		if !finite(known...) {
			return nil, fmt.Errorf("minimax: the checkpoint's offsets %v are not all finite", known)
		}
	}
	for k := len(known); k < len(t.objectives); k++ {
		s := *t
		s.Normalization = Lipschitz
		s.objectives = slices.Clone(t.objectives)
		s.Fixed = make([]float64, len(t.objectives))
		s.Fixed[k] = 1
		s.single, s.prefix = at(k), t.objectives[k].Name+aloneStage
		s.Control = optim.Control{Ctx: t.Control.Ctx, Recorder: t.Control.Recorder, CheckpointEvery: t.Control.CheckpointEvery, Resume: resume}
		resume = nil
		if save := t.Control.Checkpoint; save != nil {
			s.Control.Checkpoint = func(c *optim.Checkpoint) error {
				keep(c, known)
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
			return nil, fmt.Errorf("minimax: the least %s alone, for regrets: %w", t.objectives[k].Name, err)
		}
		known = append(known, f.Values[k])
	}
	return known, nil
}

// known returns the offsets of a fit by regrets, for further runs on the same objectives.
func (f *Fit) known() []float64 {
	var out []float64
	for _, u := range f.Model.Objectives {
		out = append(out, u.Offset)
	}
	return out
}
