package minimax

import (
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// betweenSolver is the solver in checkpoints that are of no run: of what was known between
// the runs on one objective alone.
const betweenSolver = "between objectives alone"

// alone completes o.Offsets with what each objective reaches alone, its penalty included. The
// caller's recorders get the rows of these runs (see Alone), and the caller's checkpoints are
// of the one that runs, with the values of those before it; after each there is one, however
// few its rounds. A checkpoint of them in o.Control.Resume is used up.
func (m *Mixture) alone(o *MixtureOptions, start []float64) error {
	p := len(m.parts)
	known := o.Offsets
	var resume *run.Checkpoint
	if k := o.Control.Resume; k != nil && known == nil {
		known = slices.Clone(k.Arrays[offsetsArray])
		if number, single := k.Scalars[aloneScalar]; single {
			if number != float64(len(known)) || len(known) >= p && k.Solver != betweenSolver || len(known) > p {
				return fmt.Errorf("minimax: the checkpoint of a run on objective %v alone has %d offsets: it is not of %d objectives", number+1, len(known), p)
			}
			if o.Control.Resume = nil; k.Solver != betweenSolver {
				resume = k
			}
		} else if len(known) != p {
			return fmt.Errorf("minimax: the checkpoint has %d offsets for %d objectives: it belongs to another problem", len(known), p)
		}
		if !finite(known...) {
			return fmt.Errorf("minimax: the checkpoint's offsets %v are not all finite", known)
		}
	} else if known != nil && (len(known) != p || !finite(known...)) {
		return fmt.Errorf("minimax: %d offsets for %d objectives: there must be a finite one for each", len(known), p)
	}
	// of says in a checkpoint how far these runs have come.
	of := func(c *run.Checkpoint) *run.Checkpoint {
		keep(c, known)
		if c.Scalars == nil {
			c.Scalars = map[string]float64{}
		}
		c.Scalars[aloneScalar] = float64(len(known))
		return c
	}
	save := o.Control.Checkpoint
	for k := len(known); k < p; k++ {
		single := *o
		single.Normalization, single.Fixed, single.stage = Raw, make([]float64, p), m.parts[k].Name+aloneStage
		single.Control = run.Control{Ctx: o.Control.Ctx, Recorder: o.Control.Recorder, Live: o.Control.Live, CheckpointEvery: o.Control.CheckpointEvery, Resume: resume}
		resume = nil
		if save != nil {
			single.Control.Checkpoint = func(c *run.Checkpoint) error { return save(of(c)) }
		}
		if o.Solver == Auto || o.Solver == Smoothed {
			single.Steps = 0 // a run that is cut short by its rounds is not to be measured from the wrong place
		}
		single.Fixed[k] = 1
		f, err := m.solve(&single, start)
		if err != nil {
			return fmt.Errorf("minimax: the least %s alone, for regrets: %w", m.parts[k].Name, err)
		}
		sq := 0.0
		for _, x := range f.W {
			sq += x * x
		}
		// With the penalty: regrets, penalties included, are then never negative.
		known = append(known, f.Values[k]+m.beta1/2*sq)
		if save != nil {
			if err := save(of(&run.Checkpoint{Solver: betweenSolver, X: slices.Clone(start)})); err != nil {
				return fmt.Errorf("minimax: checkpoint: %w", err)
			}
		}
	}
	o.Offsets = known
	return nil
}

// tell completes the rows of a run: with its stage, the names of objectives, and no value
// for those that a fixed mixture leaves out and that were not evaluated.
func (m *Mixture) tell(o *MixtureOptions, c *run.Control) {
	stage := string(o.Solver)
	if o.Solver == Auto {
		stage = string(Smoothed)
	}
	var names []string
	for _, p := range m.parts {
		names = append(names, p.Name)
	}
	for _, r := range []*run.Recorder{&c.Recorder, &c.Live} {
		if recorder := *r; recorder != nil {
			*r = run.RecorderFunc(func(r run.Row) error {
				r.Stage = o.stage + stage
				if saddle.RowOf(r) != nil {
					saddle.RowOf(r).Names = names
					for k, v := range o.Fixed {
						if v == 0 && k < len(saddle.RowOf(r).Values) {
							saddle.RowOf(r).Values[k] = math.NaN()
						}
					}
				}
				return recorder.Record(r)
			})
		}
	}
}
