package optim

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/model"
)

// Checkpoint is the state of a solver between two steps. What the arrays and scalars
// mean is the solver's business. X is the current point; of a stochastic solver with
// penalties, whose steps on a coordinate wait until it is next read, it is the point
// without those that still wait, and of use to that solver only.
type Checkpoint struct {
	Solver  string // LBFGS, OWLQN, SGD, AdaGrad or Adam
	Problem string // set by the caller if it likes; ReadCheckpoint hands it back

	Iteration   int // steps or passes finished
	Evaluations int
	Seconds     float64

	X       []float64
	Scalars map[string]float64
	Arrays  map[string][]float64
}

const checkpointKind = "checkpoint"

// checkpointVersion counts the changes in what a checkpoint holds.
const checkpointVersion = 1

type checkpointMeta struct {
	Solver      string             `json:"solver"`
	Problem     string             `json:"problem,omitempty"`
	Iteration   int                `json:"iteration"`
	Evaluations int                `json:"evaluations"`
	Seconds     float64            `json:"seconds"`
	Scalars     map[string]float64 `json:"scalars,omitempty"` // Go prints floats so that they read back equal
}

// Write writes the checkpoint as a model file of kind "checkpoint".
func (c *Checkpoint) Write(w io.Writer) error {
	f := model.New(checkpointKind, checkpointVersion)
	if err := f.SetMeta(checkpointMeta{c.Solver, c.Problem, c.Iteration, c.Evaluations, c.Seconds, c.Scalars}); err != nil {
		return fmt.Errorf("optim: checkpoint: %w", err)
	}
	model.Put(f, "x", c.X)
	for _, name := range slices.Sorted(maps.Keys(c.Arrays)) {
		model.Put(f, "state/"+name, c.Arrays[name])
	}
	return f.Write(w)
}

// ReadCheckpoint reads what Write wrote.
func ReadCheckpoint(r io.Reader) (*Checkpoint, error) {
	var m checkpointMeta
	f, err := model.ReadKind(r, checkpointKind, checkpointVersion, &m)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{m.Solver, m.Problem, m.Iteration, m.Evaluations, m.Seconds, nil, m.Scalars, map[string][]float64{}}
	if c.X, err = model.Get[float64](f, "x"); err != nil {
		return nil, err
	}
	for _, name := range f.Names() {
		if key, ok := strings.CutPrefix(name, "state/"); ok {
			if c.Arrays[key], err = model.Get[float64](f, name); err != nil {
				return nil, err
			}
		}
	}
	if c.Iteration < 0 || c.Evaluations < 0 {
		return nil, fmt.Errorf("optim: checkpoint: %w: iteration %d, evaluations %d", model.ErrFormat, c.Iteration, c.Evaluations)
	}
	return c, nil
}

// resume checks that a checkpoint belongs to this solver and dimension.
func (c *Checkpoint) resume(solver string, dim int, arrays ...string) error {
	if c.Solver != solver {
		return fmt.Errorf("optim: %s: the checkpoint was written by %s", solver, c.Solver)
	}
	if len(c.X) != dim {
		return fmt.Errorf("optim: %s: the checkpoint has %d coordinates, the objective %d: it belongs to another problem", solver, len(c.X), dim)
	}
	for _, name := range arrays {
		if len(c.Arrays[name]) != dim {
			return fmt.Errorf("optim: %s: the checkpoint's array %q has %d coordinates, expected %d", solver, name, len(c.Arrays[name]), dim)
		}
	}
	return nil
}
