package run

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/model"
)

// Checkpoint is the state of a run between two steps. What X, Scalars, Arrays and Files hold
// is the business of the learner that wrote it. Solver, Problem, Iteration, Evaluations,
// Seconds and Best are filled in by the run.
type Checkpoint struct {
	Solver  string // the learner or solver that wrote it
	Problem string // what is learnt from what; see Control

	Iteration   int // steps finished
	Evaluations int
	Seconds     float64
	Best        *Best // least loss on held-out examples; nil without any

	X       []float64 // the current point, of learners that have one
	Scalars map[string]float64
	Arrays  map[string][]float64
	Files   map[string][]byte // models and other parts in their own format
}

// ErrOther reports a checkpoint of another run.
var ErrOther = errors.New("checkpoint of another run")

const checkpointKind = "checkpoint"

// checkpointVersion counts the changes in what a checkpoint holds. Version 2 added Best and
// Files; one that has neither is written as version 1, which earlier programs read.
const checkpointVersion = 2

type checkpointMeta struct {
	Solver      string             `json:"solver"`
	Problem     string             `json:"problem,omitempty"`
	Iteration   int                `json:"iteration"`
	Evaluations int                `json:"evaluations"`
	Seconds     float64            `json:"seconds"`
	Scalars     map[string]float64 `json:"scalars,omitempty"` // Go prints floats so that they read back equal
	Best        *bestMeta          `json:"best,omitempty"`
}

type bestMeta struct {
	Loss   float64 `json:"loss"`
	Step   int     `json:"step"`
	Waited int     `json:"waited"`
}

// Write writes the checkpoint as a model file of kind "checkpoint". Numbers of any value
// read back as they were, but Scalars and Best must be finite.
func (c *Checkpoint) Write(w io.Writer) error {
	version := checkpointVersion
	if c.Best == nil && len(c.Files) == 0 {
		version = 1
	}
	f := model.New(checkpointKind, version)
	m := checkpointMeta{c.Solver, c.Problem, c.Iteration, c.Evaluations, c.Seconds, c.Scalars, nil}
	if b := c.Best; b != nil {
		m.Best = &bestMeta{b.Loss, b.Step, b.Waited}
	}
	if err := f.SetMeta(m); err != nil {
		return fmt.Errorf("run: checkpoint: %w", err)
	}
	model.Put(f, "x", c.X)
	for _, name := range slices.Sorted(maps.Keys(c.Arrays)) {
		model.Put(f, "state/"+name, c.Arrays[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		model.Put(f, "file/"+name, c.Files[name])
	}
	return f.Write(w)
}

// ReadCheckpoint reads what Write wrote.
func ReadCheckpoint(r io.Reader) (*Checkpoint, error) {
	var m checkpointMeta
	f, err := model.Read(r, nil)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(f.Kind, "-"+checkpointKind) {
		return nil, fmt.Errorf("run: %w: it is of the kind %q, and an earlier program wrote it; begin the run "+
			"again",
			ErrOther, f.Kind)
	}
	if err := f.Expect(checkpointKind, checkpointVersion); err != nil {
		return nil, err
	}
	if err := f.Meta(&m); err != nil {
		return nil, err
	}
	c := &Checkpoint{Solver: m.Solver, Problem: m.Problem, Iteration: m.Iteration, Evaluations: m.Evaluations, Seconds: m.Seconds,
		Scalars: m.Scalars, Arrays: map[string][]float64{}, Files: map[string][]byte{}}
	if b := m.Best; b != nil {
		c.Best = &Best{b.Loss, b.Step, b.Waited}
	}
	if c.X, err = model.Get[float64](f, "x"); err != nil {
		return nil, err
	}
	for _, name := range f.Names() {
		if key, ok := strings.CutPrefix(name, "state/"); ok {
			if c.Arrays[key], err = model.Get[float64](f, name); err != nil {
				return nil, err
			}
		} else if key, ok := strings.CutPrefix(name, "file/"); ok {
			if c.Files[key], err = model.Get[uint8](f, name); err != nil {
				return nil, err
			}
		}
	}
	if b := c.Best; c.Iteration < 0 || c.Evaluations < 0 || b != nil && (b.Step < 0 || b.Step > c.Iteration || b.Waited < 0 || math.IsNaN(b.Loss)) {
		return nil, fmt.Errorf("run: checkpoint: %w: iteration %d, evaluations %d, best %v", model.ErrFormat, c.Iteration, c.Evaluations, b)
	}
	return c, nil
}

// Fits checks that a checkpoint has dim coordinates and as many numbers in each of the
// arrays named.
func (c *Checkpoint) Fits(dim int, arrays ...string) error {
	if len(c.X) != dim {
		return fmt.Errorf("%s: %w: the checkpoint has %d coordinates, the objective %d: it belongs to another problem", c.Solver, ErrOther, len(c.X), dim)
	}
	for _, name := range arrays {
		if len(c.Arrays[name]) != dim {
			return fmt.Errorf("%s: %w: the checkpoint's array %q has %d coordinates, expected %d", c.Solver, ErrOther, name, len(c.Arrays[name]), dim)
		}
	}
	return nil
}

// BelongsTo returns nil if the checkpoint was written for the problem that is
// described, and otherwise an error that names what differs. A description is a list
// of words key=value with blanks between them; a word without = is a key of its own.
func (c *Checkpoint) BelongsTo(problem string) error {
	if c.Problem == problem {
		return nil
	}
	have, keys := words(c.Problem)
	want, more := words(problem)
	var differ []string
	for _, k := range keys {
		if v, ok := want[k]; !ok {
			differ = append(differ, fmt.Sprintf("it has %s, which this has not", word(k, have[k])))
		} else if v != have[k] {
			differ = append(differ, fmt.Sprintf("its %s is %s, here it is %s", k, have[k], v))
		}
	}
	for _, k := range more {
		if _, ok := have[k]; !ok {
			differ = append(differ, fmt.Sprintf("it lacks %s", word(k, want[k])))
		}
	}
	if differ == nil { // the same words in another order, or twice
		return nil
	}
	return &OtherError{differ}
}

// OtherError is an ErrOther that says in what the problems differ.
type OtherError struct{ Differences []string }

func (e *OtherError) Error() string {
	return "the checkpoint belongs to another problem: " + strings.Join(e.Differences, "; ")
}

// Unwrap returns ErrOther.
func (e *OtherError) Unwrap() error { return ErrOther }

func words(s string) (values map[string]string, keys []string) {
	values = map[string]string{}
	for _, w := range strings.Fields(s) {
		k, v, _ := strings.Cut(w, "=")
		if _, ok := values[k]; !ok {
			keys = append(keys, k)
		}
		values[k] = v
	}
	return values, keys
}

func word(k, v string) string {
	if v == "" {
		return k
	}
	return k + "=" + v
}
