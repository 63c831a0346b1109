package boost

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/run"
)

// Checkpoint is the state of a run between two rounds: what was learned so far and the scores of
// all rows. A resumed run gives the same bits as an unbroken one.
type Checkpoint struct {
	Ensemble *Ensemble
	Round    int // rounds finished, idle ones included
	Idle     int // idle rounds in a row
	Seconds  float64
	Scores   []float64 // of the training rows
	Data     uint64    // fingerprint of the training rows
	Best     []Term    // the terms of least validation loss; nil without validation rows
	Least    float64   // that loss
	Waited   int       // rounds since
	Valid    []float64 // scores of the validation rows
	// ValidData is the fingerprint of the validation rows; 0 without any.
	ValidData uint64
	Extra     map[string]float64
	// History has the rounds so far; nil in files of earlier programs.
	History []Progress
}

// ErrResume reports a checkpoint that belongs to other data or settings.
var ErrResume = errors.New("checkpoint of another run")

// checkpoint is the state at a checkpoint of the run.
func (r *training) checkpoint(at *run.Checkpoint) *Checkpoint {
	e := *r.e
	e.Terms = slices.Clone(r.e.Terms)
	c := &Checkpoint{Ensemble: &e, Round: at.Iteration, Idle: r.idle, Seconds: at.Seconds,
		Scores: slices.Clone(r.scores), Data: fingerprint(r.d), Extra: maps.Clone(r.extra),
		History: slices.Clone(r.history)}
	if r.valid != nil {
		c.ValidData = fingerprint(r.Control.Valid)
		c.Best, c.Least, c.Waited, c.Valid = append([]Term{}, r.bestOf...), r.run.Best.Loss, r.run.Best.Waited,
			slices.Clone(r.valid)
	}
	return c
}

// resume takes up a checkpoint.
func (r *training) resume(c *Checkpoint) error {
	e := c.Ensemble
	different, rounds := "", settingsOf(r.e).Rounds
	if e != nil {
		different = SettingsDifference(e.Settings, r.e.Settings)
	}
	switch {
	case e == nil || e.Algorithm != r.e.Algorithm:
		return fmt.Errorf("boost: %s: %w: it was written by %q", r.e.Algorithm, ErrResume, algorithmOf(e))
	case e.Loss.Name() != r.e.Loss.Name():
		return fmt.Errorf("boost: %s: %w: the settings differ: the loss was %s and is now %s", r.e.Algorithm,
			ErrResume, e.Loss.Name(), r.e.Loss.Name())
	case different != "":
		return fmt.Errorf("boost: %s: %w: the settings differ: %s", r.e.Algorithm, ErrResume, different)
	case rounds > 0 && c.Round > rounds:
		return fmt.Errorf("boost: %s: %w: it has %d rounds already, and %d are asked for; ask for as many or "+
			"more, or take a prefix of the finished model", r.e.Algorithm, ErrResume, c.Round, rounds)
	case len(c.Scores) != len(r.scores) || c.Data != fingerprint(r.d):
		return fmt.Errorf("boost: %s: %w: the training rows differ", r.e.Algorithm, ErrResume)
	case len(c.Valid) != len(r.valid):
		return fmt.Errorf("boost: %s: %w: %d validation scores, now %d", r.e.Algorithm, ErrResume,
			len(c.Valid), len(r.valid))
	case r.valid != nil && c.ValidData != fingerprint(r.Control.Valid):
		return fmt.Errorf("boost: %s: %w: the validation rows differ", r.e.Algorithm, ErrResume)
	case !slices.EqualFunc(e.Start, r.e.Start, func(a,
		b float64) bool {
		return math.Float64bits(a) == math.Float64bits(b)
	}):
		return fmt.Errorf("boost: %s: %w: the start scores differ", r.e.Algorithm, ErrResume)
	}
	r.e.Terms = slices.Clone(e.Terms)
	r.idle = c.Idle
	r.run.TakeUp(&run.Checkpoint{Iteration: c.Round, Seconds: c.Seconds})
	r.history = slices.Clone(c.History)
	copy(r.scores, c.Scores)
	if c.Extra != nil {
		r.extra = maps.Clone(c.Extra)
	}
	if r.valid != nil {
		copy(r.valid, c.Valid)
		r.bestOf = slices.Clone(c.Best)
		r.run.Best = run.Best{Loss: c.Least, Step: c.Round - c.Waited, Waited: c.Waited}
	}
	return nil
}

func algorithmOf(e *Ensemble) string {
	if e == nil {
		return ""
	}
	return e.Algorithm
}

// fingerprint is that of features and domains by name, labels and weights.
func fingerprint(d *Data) uint64 { return d.X.Fingerprint(d.Y, d.W) }

const (
	checkpointKind    = "boost-checkpoint"
	checkpointVersion = 1
)

type checkpointMeta struct {
	Model   ensembleMeta `json:"model"`
	Round   int          `json:"round"`
	Idle    int          `json:"idle"`
	Seconds float64      `json:"seconds"`
	Data    uint64       `json:"data,string"`
	// 0 in files of earlier programs, which fit no validation rows
	Valid   uint64             `json:"valid,string"`
	HasBest bool               `json:"has_best"`
	Waited  int                `json:"waited"`
	Extra   map[string]float64 `json:"extra,omitempty"`
}

// Write writes the checkpoint as a model file of kind "boost-checkpoint".
func (c *Checkpoint) Write(w io.Writer) error {
	f := model.New(checkpointKind, checkpointVersion)
	meta, err := c.Ensemble.meta()
	if err != nil {
		return err
	}
	if err := f.SetMeta(checkpointMeta{meta, c.Round, c.Idle, c.Seconds, c.Data, c.ValidData, c.Best != nil,
		c.Waited, c.Extra}); err != nil {
		return fmt.Errorf("boost: checkpoint: %w", err)
	}
	if err := putTerms(f, "", c.Ensemble); err != nil {
		return err
	}
	model.Put(f, "scores", c.Scores)
	if len(c.History) > 0 {
		model.Put(f, "history", historyNumbers(c.History), len(c.History), progressNumbers)
	}
	if c.Best != nil {
		best := *c.Ensemble
		best.Terms = c.Best
		if err := putTerms(f, "best/", &best); err != nil {
			return err
		}
		model.Put(f, "valid", c.Valid)
		model.Put(f, "least", []float64{c.Least})
	}
	return f.Write(w)
}

// ReadCheckpoint reads what Write wrote. Families with learners are those of the
// run that resumes.
func ReadCheckpoint(r io.Reader) (*Checkpoint, error) {
	var m checkpointMeta
	f, err := model.ReadKind(r, checkpointKind, checkpointVersion, &m)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{Round: m.Round, Idle: m.Idle, Seconds: m.Seconds, Data: m.Data, ValidData: m.Valid,
		Waited: m.Waited, Extra: m.Extra}
	if c.Ensemble, err = m.Model.ensemble(); err != nil {
		return nil, err
	}
	if err := getTerms(f, "", c.Ensemble); err != nil {
		return nil, err
	}
	if c.Scores, err = model.Get[float64](f, "scores"); err != nil {
		return nil, err
	}
	if c.Round < 0 || c.Idle < 0 {
		return nil, fmt.Errorf("boost: checkpoint: %w: round %d, idle %d", model.ErrFormat, c.Round, c.Idle)
	}
	if shape, ok := f.Shape("history"); ok {
		if len(shape) != 2 {
			return nil, fmt.Errorf("boost: checkpoint: %w: the history has %d dimensions", model.ErrFormat, len(shape))
		}
		numbers, err := model.Get[float64](f, "history", shape[0], progressNumbers)
		if err != nil {
			return nil, err
		}
		c.History = historyOf(numbers)
	}
	if m.HasBest {
		best := *c.Ensemble
		if err := getTerms(f, "best/", &best); err != nil {
			return nil, err
		}
		least, err := model.Get[float64](f, "least", 1)
		if err != nil {
			return nil, err
		}
		if c.Valid, err = model.Get[float64](f, "valid"); err != nil {
			return nil, err
		}
		c.Best, c.Least = append([]Term{}, best.Terms...), least[0]
	}
	return c, nil
}

// progressNumbers is how many numbers a file has for a round of the history.
const progressNumbers = 10

func historyNumbers(h []Progress) []float64 {
	var out []float64
	for _, p := range h {
		out = append(out, float64(p.Round), p.Loss, p.Objective, p.Valid, p.Derivative, p.Curvature, p.Step,
			float64(p.Family), float64(p.Splits), p.Seconds)
	}
	return out
}

// historyOf is the inverse. The numbers are for reports alone: no run depends on them.
func historyOf(numbers []float64) []Progress {
	var out []Progress
	for v := range slices.Chunk(numbers, progressNumbers) {
		out = append(out, Progress{Round: int(v[0]), Loss: v[1], Objective: v[2], Valid: v[3], Derivative: v[4],
			Curvature: v[5], Step: v[6], Family: int(v[7]), Splits: int(v[8]), Seconds: v[9]})
	}
	return out
}
