package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/options"
	"github.com/tropica-fst/tropica/cmd/internal/tables"
	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/linear"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/resilient/network"
	"github.com/tropica-fst/tropica/learn/run"
)

// tableTask plans the learners of tables in two rounds. Each shard first returns its form. Read
// in the merged form, it then returns the moments of its columns.
type tableTask struct {
	settings
	fs      *flags.Set
	reading func() (*table.Options, error)
	classes *string
	made    *linear.Plan
}

func (t *tableTask) defineTable(fs *flags.Set) {
	t.fs, t.reading = fs, tables.Flags(fs)
	t.classes = fs.String("classes", "", "All classes of the target, separated by commas; needed where a "+
		"shard has rows of one class only")
}

func (t *tableTask) files() []string { return nil }

// read reads a shard, like a form unless that is nil.
func (t *tableTask) read(ctx context.Context, s *reading, like *table.Table) (*table.Table, error) {
	o, err := t.reading()
	if err != nil {
		return nil, err
	}
	o.Ctx, o.Like, o.Workers = ctx, like, t.workers
	if *t.classes != "" && like == nil {
		o.Classes = strings.Split(*t.classes, ",")
	}
	r, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	x, err := table.Read(r, s.Name, o)
	if err != nil {
		return nil, tables.Advise(t.fs, err)
	}
	return x, nil
}

// tablePlan is the plan of a round: first the form alone.
type tablePlan struct {
	Form boost.Schema
	Plan *linear.Plan
}

func (t *tableTask) look(ctx context.Context, plan []byte, s *reading) ([]byte, error) {
	if plan == nil {
		x, err := t.read(ctx, s, nil)
		if err != nil {
			return nil, err
		}
		return encode(&namedForm{s.Name, boost.SchemaOf(x)})
	}
	var p tablePlan
	if err := decodeGob(plan, &p); err != nil {
		return nil, err
	}
	x, err := t.read(ctx, s, p.Form.Table())
	if err != nil {
		return nil, err
	}
	m, err := linear.MomentsOf(x)
	if err != nil {
		return nil, err
	}
	return encode(m)
}

type namedForm struct {
	Name string
	Form boost.Schema
}

// planTable is plan; raw is the learner's option.
func (t *tableTask) planTable(plan []byte, looks [][]byte, raw bool) (next []byte, parts [][]byte,
	done bool, err error) {
	if plan == nil {
		var forms []*table.Table
		for _, b := range looks {
			var f namedForm
			if err := decodeGob(b, &f); err != nil {
				return nil, nil, false, err
			}
			form := f.Form.Table()
			form.Name = f.Name
			forms = append(forms, form)
		}
		form, err := table.MergeForms(forms...)
		if err != nil {
			return nil, nil, false, tables.Advise(t.fs, err)
		}
		next, err = encode(&tablePlan{Form: boost.SchemaOf(form)})
		return next, nil, false, err
	}
	var p tablePlan
	if err := decodeGob(plan, &p); err != nil {
		return nil, nil, false, err
	}
	var moments []*linear.Moments
	for _, b := range looks {
		m := &linear.Moments{}
		if err := decodeGob(b, m); err != nil {
			return nil, nil, false, err
		}
		moments = append(moments, m)
	}
	if t.made, err = linear.NewPlan(p.Form.Table(), moments, raw); err != nil {
		return nil, nil, false, err
	}
	p.Plan = t.made
	next, err = encode(&p)
	return next, nil, true, err
}

// opened reads a shard like the plan.
func (t *tableTask) opened(ctx context.Context, plan []byte, s *reading) (*linear.Plan, *table.Table, error) {
	var p tablePlan
	if err := decodeGob(plan, &p); err != nil {
		return nil, nil, err
	}
	if p.Plan == nil {
		return nil, nil, errors.New("the plan is not done")
	}
	x, err := t.read(ctx, s, p.Form.Table())
	return p.Plan, x, err
}

// about describes a fit.
func (t *tableTask) about(weights int) string {
	return fmt.Sprintf("%d rows, %d inputs, %d weights", t.made.Moments.Rows, len(t.made.Features), weights)
}

// linearTask trains logistic and ridge regression.
type linearTask struct {
	tableTask
	options linear.Options
}

func (t *linearTask) define(fs *flags.Set) {
	t.defineTable(fs)
	options.Define(fs, &t.options)
}

func (t *linearTask) plan(_ context.Context, plan []byte, looks [][]byte) (next []byte, parts [][]byte,
	done bool, err error) {
	next, parts, done, err = t.planTable(plan, looks, t.options.Raw)
	if err == nil && done {
		_, err = t.made.Dim(&t.options)
	}
	return next, parts, done, err
}

func (t *linearTask) open(ctx context.Context, plan, _ []byte, s *reading) (optim.Objective, error) {
	p, x, err := t.opened(ctx, plan, s)
	if err != nil {
		return nil, err
	}
	return p.Shard(x, &t.options, t.workers)
}

func (t *linearTask) dim() int {
	n, _ := t.made.Dim(&t.options) // plan has seen that it has no error
	return n
}

func (t *linearTask) fit(sum optim.Objective, c *run.Control) (*fitted, error) {
	m, r, err := t.made.Train(sum, &t.options, c)
	if err != nil {
		return nil, err
	}
	return &fitted{r, m.Write, t.about(t.dim())}, nil
}

// networkTask trains networks.
type networkTask struct {
	tableTask
	options network.ShardOptions
	shards  *network.Shards
}

func (t *networkTask) define(fs *flags.Set) {
	t.defineTable(fs)
	options.Define(fs, &t.options)
}

func (t *networkTask) plan(_ context.Context, plan []byte, looks [][]byte) (next []byte, parts [][]byte,
	done bool, err error) {
	next, parts, done, err = t.planTable(plan, looks, t.options.Raw)
	if err == nil && done {
		t.shards, err = network.NewShards(t.made, &t.options)
	}
	return next, parts, done, err
}

func (t *networkTask) open(ctx context.Context, plan, _ []byte, s *reading) (optim.Objective, error) {
	p, x, err := t.opened(ctx, plan, s)
	if err != nil {
		return nil, err
	}
	shards, err := network.NewShards(p, &t.options)
	if err != nil {
		return nil, err
	}
	return shards.Shard(x, t.workers)
}

func (t *networkTask) dim() int { return t.shards.Dim() }

func (t *networkTask) fit(sum optim.Objective, c *run.Control) (*fitted, error) {
	m, r, err := t.shards.Train(sum, c)
	if err != nil {
		return nil, err
	}
	return &fitted{r, m.Write, t.about(t.dim())}, nil
}
