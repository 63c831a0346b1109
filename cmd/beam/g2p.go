package main

import (
	"context"
	"fmt"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/options"
	"github.com/tropica-fst/tropica/learn/g2p"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// g2pTask trains pronunciation. One round: every shard gives its pairs, which the driver aligns;
// a lexicon is small beside what is computed on it. Shards get their words with the features
// numbered.
type g2pTask struct {
	settings
	options   g2p.Settings
	problem   *g2p.Problem
	objective g2p.Objective
}

func (t *g2pTask) define(fs *flags.Set) { options.Define(fs, &t.options) }
func (t *g2pTask) files() []string      { return nil }

// parted says that shards have parts of their own.
func (t *g2pTask) parted() bool { return true }

func (t *g2pTask) look(ctx context.Context, _ []byte, s *reading) ([]byte, error) {
	r, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	l, err := g2p.ReadLexicon(r, s.Name)
	if err != nil {
		return nil, err
	}
	if len(l.Pairs) == 0 {
		return nil, fmt.Errorf("%s: no words: the input is empty", s.Name)
	}
	return encode(l.Pairs)
}

func (t *g2pTask) plan(ctx context.Context, _ []byte, looks [][]byte) (next []byte, parts [][]byte,
	done bool, err error) {
	var pairs []g2p.Pair
	var cuts []int
	for _, b := range looks {
		var list []g2p.Pair
		if err := decodeGob(b, &list); err != nil {
			return nil, nil, false, err
		}
		cuts = append(cuts, len(pairs))
		pairs = append(pairs, list...)
	}
	cuts = append(cuts, len(pairs))
	o, objective, err := t.options.Options(len(pairs))
	if err != nil {
		return nil, nil, false, err
	}
	o.Workers, t.objective = t.workers, objective
	if t.problem, err = g2p.Prepare(ctx, pairs, o); err != nil {
		return nil, nil, false, err
	}
	for k := range looks {
		b, err := t.problem.Shard(cuts[k], cuts[k+1]).MarshalBinary()
		if err != nil {
			return nil, nil, false, err
		}
		parts = append(parts, b)
	}
	next, err = t.problem.MarshalCommon()
	return next, parts, true, err
}

func (t *g2pTask) open(ctx context.Context, plan, part []byte, _ *reading) (optim.Objective, error) {
	o, objective, err := t.options.Options(0) // alignment is over
	if err != nil {
		return nil, err
	}
	o.Workers = t.workers
	s, err := g2p.UnmarshalShard(plan, part, o)
	if err != nil {
		return nil, err
	}
	return s.Objective(ctx, objective)
}

func (t *g2pTask) dim() int { return t.problem.Stats.Trained }

func (t *g2pTask) fit(sum optim.Objective, c *run.Control) (*fitted, error) {
	o := &g2p.FitOptions{Sum: sum, Stop: c.Stop, Recorder: c.Recorder, Workers: t.workers,
		Memory: t.options.Memory, CheckpointEvery: c.CheckpointEvery, Resume: c.Resume}
	if k := c.Resume; k != nil {
		if err := k.BelongsTo(c.Problem); err != nil {
			return nil, err
		}
	}
	if c.Checkpoint != nil {
		o.Checkpoint = func(k *run.Checkpoint) error { k.Problem = c.Problem; return c.Checkpoint(k) }
	}
	m, r, err := t.problem.Fit(c.Context(), t.objective, o)
	if err != nil {
		return nil, err
	}
	return &fitted{r, m.Write, fmt.Sprintf("%d words, %d labels, %d weights", t.problem.Words(),
		t.problem.Stats.Labels, t.problem.Stats.Trained)}, nil
}
