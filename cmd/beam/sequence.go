package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/options"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/sequence"
)

// sequenceTask trains labellers of sequences. One round: every shard says which labels and
// features it has.
type sequenceTask struct {
	settings
	options sequence.Settings
	made    *sequence.Plan

	mu     sync.Mutex
	opened map[string]*opening // plans of a worker, by their bytes
}

// opening is a plan as a worker has it, decoded once for all shards.
type opening struct {
	format sequence.Format
	plan   *sequence.Plan
}

// decoded returns the plan that bytes hold.
func (t *sequenceTask) decoded(plan []byte) (*opening, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := sha256.Sum256(plan)
	if o := t.opened[string(key[:])]; o != nil {
		return o, nil
	}
	var p planned
	if err := decodeGob(plan, &p); err != nil {
		return nil, err
	}
	o, err := t.trainOptions(p.Format)
	if err != nil {
		return nil, err
	}
	made, err := sequence.UnmarshalPlan(p.Plan, o)
	if err != nil {
		return nil, err
	}
	t.opened = map[string]*opening{string(key[:]): {p.Format, made}}
	return t.opened[string(key[:])], nil
}

func (t *sequenceTask) define(fs *flags.Set) { options.Define(fs, &t.options) }

// check refuses what the options cannot tell from their defaults, and flags that do nothing.
func (t *sequenceTask) check(fs *flags.Set) error {
	if x, err := strconv.ParseFloat(fs.Value("gamma"), 64); err == nil && x == 0 {
		return errors.New("flag --gamma: a weight of 0 leaves no loss; use --objective cross-entropy")
	}
	if t.options.Objective == "" || t.options.Objective == "cross-entropy" {
		for _, name := range []string{"loss", "gamma", "beta"} {
			if fs.Given(name) {
				return fmt.Errorf("flag --%s has no effect: cross-entropy has no loss; give an --objective", name)
			}
		}
	}
	return nil
}

func (t *sequenceTask) files() []string {
	if sequence.IsPreset(t.options.Templates) || t.options.Templates == "" {
		return nil
	}
	return []string{"templates"}
}

// trainOptions are those for data of a format.
func (t *sequenceTask) trainOptions(f sequence.Format) (*sequence.TrainOptions, error) {
	o, err := t.options.TrainOptions(f, t.text["templates"])
	if err != nil {
		return nil, err
	}
	o.Workers = t.workers
	return o, nil
}

// surveyed is what a shard says.
type surveyed struct {
	Name   string
	Format sequence.Format
	Survey *sequence.Survey
}

func (t *sequenceTask) read(ctx context.Context, s *reading, like sequence.Format) ([]sequence.Example,
	sequence.Format, error) {
	r, err := s.open(ctx)
	if err != nil {
		return nil, like, err
	}
	defer r.Close()
	return t.options.Read(r, s.Name, like)
}

func (t *sequenceTask) look(ctx context.Context, _ []byte, s *reading) ([]byte, error) {
	examples, format, err := t.read(ctx, s, sequence.Format{})
	if err != nil {
		return nil, err
	}
	o, err := t.trainOptions(format)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	survey, err := sequence.SurveyOf(examples, o)
	if err != nil {
		return nil, err
	}
	return encode(&surveyed{s.Name, format, survey})
}

// planned is the plan that shards get.
type planned struct {
	Format sequence.Format
	Plan   []byte
}

func (t *sequenceTask) plan(_ context.Context, _ []byte, looks [][]byte) (next []byte, parts [][]byte,
	done bool, err error) {
	var surveys []*sequence.Survey
	var first surveyed
	for k, b := range looks {
		var s surveyed
		if err := decodeGob(b, &s); err != nil {
			return nil, nil, false, err
		}
		if k == 0 {
			first = s
		}
		if s.Format != first.Format {
			return nil, nil, false, fmt.Errorf("%s: the format is %v, and that of %s is %v: all shards must be "+
				"alike", s.Name, s.Format, first.Name, first.Format)
		}
		surveys = append(surveys, s.Survey)
	}
	o, err := t.trainOptions(first.Format)
	if err != nil {
		return nil, nil, false, err
	}
	if tpl := sequence.ReadsLabel(o.Templates, first.Format); tpl != nil {
		return nil, nil, false, fmt.Errorf("flag --templates: %q looks at column %d, which has the labels", tpl,
			first.Format.Label+1)
	}
	if t.made, err = sequence.NewPlan(surveys, o); err != nil {
		return nil, nil, false, err
	}
	p := planned{Format: first.Format}
	if p.Plan, err = t.made.MarshalBinary(); err != nil {
		return nil, nil, false, err
	}
	next, err = encode(&p)
	return next, nil, true, err
}

func (t *sequenceTask) open(ctx context.Context, plan, _ []byte, s *reading) (optim.Objective, error) {
	o, err := t.decoded(plan)
	if err != nil {
		return nil, err
	}
	examples, _, err := t.read(ctx, s, o.format)
	if err != nil {
		return nil, err
	}
	return o.plan.Shard(examples)
}

func (t *sequenceTask) dim() int { return t.made.Dim() }

func (t *sequenceTask) fit(sum optim.Objective, c *run.Control) (*fitted, error) {
	m, r, err := t.made.Train(sum, c)
	if err != nil {
		return nil, err
	}
	return &fitted{r, m.Write, fmt.Sprintf("%d sequences of %d tokens, %d labels, %d weights",
		t.made.Examples(), t.made.Positions(), t.made.Labels(), t.made.Dim())}, nil
}

// encode and decodeGob are for what driver and workers tell each other; both are one program.

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(v)
	return b.Bytes(), err
}

func decodeGob(b []byte, v any) error {
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(v); err != nil {
		return fmt.Errorf("what a worker and the driver tell each other: %w", err)
	}
	return nil
}
