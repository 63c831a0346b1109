package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// job is a run in the process of a worker: its plan, and the shards that it has opened. It lives
// from one pass to the next, so that a shard is read once, and its features are numbered once.
type job struct {
	spec *spec
	task task

	turns chan struct{} // room for the shards that are worked at

	mu    sync.Mutex
	plan  []byte
	marks []uint64 // of the shards' texts, as they were surveyed
	round int      // of plan
	held  map[int]*held
	grads sync.Pool
	clock int64

	weights []float64 // of version
	version int
}

// held is a shard that is open.
type held struct {
	mu    sync.Mutex // a shard belongs to one goroutine at a time
	f     optim.Objective
	bytes int64
	used  int64
	busy  int
}

// jobs are those of the process. A worker serves one run after the other.
var jobs struct {
	sync.Mutex
	of map[string]*job
}

// mostJobs is how many jobs a worker keeps, the newest: drivers do not report the end of a run.
const mostJobs = 2

// jobOf returns the job of a run, which it makes where there is none.
func jobOf(s *spec) (*job, error) {
	jobs.Lock()
	defer jobs.Unlock()
	if j := jobs.of[s.Run]; j != nil {
		return j, nil
	}
	t, err := s.task()
	if err != nil {
		return nil, err
	}
	for len(jobs.of) >= mostJobs {
		oldest := ""
		for name := range jobs.of { // names of runs begin with their time
			if oldest == "" || name < oldest {
				oldest = name
			}
		}
		delete(jobs.of, oldest)
	}
	if jobs.of == nil {
		jobs.of = map[string]*job{}
	}
	j := &job{spec: s, task: t, round: -1, held: map[int]*held{}}
	j.turns = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/run.WorkersOf(s.Workers)))
	jobs.of[s.Run] = j
	return j, nil
}

// turn waits for the turn of a shard, which ends with the function returned. A shard is worked at
// by all goroutines of --workers: several at once would take the cache from each other, and a
// gradient each.
func (j *job) turn(ctx context.Context) (end func(), err error) {
	select {
	case j.turns <- struct{}{}:
		return func() { <-j.turns }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// planOf returns the plan of a round, and the marks of the shards that it was made of.
func (j *job) planOf(ctx context.Context, round int) ([]byte, []uint64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if round < 0 {
		return nil, nil, nil
	}
	if j.round != round {
		b, err := readPlan(ctx, j.spec, round)
		if err != nil {
			return nil, nil, err
		}
		j.plan, j.marks, j.round = b.plan, b.marks, round
	}
	return j.plan, j.marks, nil
}

// planFile is what a file of a plan holds.
type planFile struct {
	marks []uint64 // of the shards
	plan  []byte   // the task's
}

// readPlan reads the plan of a round.
func readPlan(ctx context.Context, s *spec, round int) (*planFile, error) {
	b, err := readSealed(ctx, s.planFile(round))
	if err != nil {
		return nil, err
	}
	if len(b) < 8*s.Shards {
		return nil, fmt.Errorf("%s: %d bytes for %d shards", s.planFile(round), len(b), s.Shards)
	}
	p := &planFile{plan: b[8*s.Shards:]}
	for k := range s.Shards {
		p.marks = append(p.marks, binary.LittleEndian.Uint64(b[8*k:]))
	}
	return p, nil
}

// same refuses a text that is not the one that was surveyed.
func (r *reading) same(marks []uint64) error {
	if r.mark() != 0 && marks != nil && r.mark() != marks[r.K] {
		return fmt.Errorf("%s: it is no longer the file that was surveyed; start the run again", r.Name)
	}
	return nil
}

// passing is an error that another attempt may not have: of storage, or a worker's own.
type passing struct{ err error }

func (p *passing) Error() string { return p.err.Error() }
func (p *passing) Unwrap() error { return p.err }

// attempts are made at a shard within a worker. Beyond, the runner or the driver start again.
const attempts = 3

// try calls f until it gives a result or an error that will not pass. A panic passes: what is
// wrong with a worker's memory is gone with it.
func try(ctx context.Context, f func() error) error {
	var err error
	for n := range attempts {
		if n > 0 {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(time.Duration(n) * 100 * time.Millisecond):
			}
		}
		err = safely(f)
		var p *passing
		if err == nil || !errors.As(err, &p) {
			return err
		}
	}
	return err
}

func safely(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &passing{fmt.Errorf("panic: %v\n%s", v, debug.Stack())}
		}
	}()
	return f()
}

// seen is what a shard says of itself in a round, and the mark of its text.
type seen struct {
	mark uint64
	said []byte
}

func (s seen) append(dst []byte) []byte {
	return append(binary.LittleEndian.AppendUint64(dst, s.mark), s.said...)
}

// decodeSeen is the inverse of append; what was said shares the memory.
func decodeSeen(b []byte) (seen, error) {
	if len(b) < 8 {
		return seen{}, errMessage
	}
	return seen{binary.LittleEndian.Uint64(b), b[8:]}, nil
}

// look asks a shard in a round.
func (j *job) look(ctx context.Context, round int, s shard) (out seen, err error) {
	err = try(ctx, func() error {
		plan, marks, err := j.planOf(ctx, round-1)
		if err != nil {
			return err
		}
		r := &reading{shard: s}
		said, err := j.task.look(ctx, plan, r)
		if err == nil {
			err = r.same(marks)
		}
		out = seen{r.mark(), said}
		return r.judge(err)
	})
	return out, err
}

// judge says whether an error of a reading may pass.
func (r *reading) judge(err error) error {
	if err != nil && r.failed != nil {
		return &passing{err}
	}
	return err
}

// eval returns the value of a shard's sum at x, and adds its gradient to grad unless that is nil.
// round is that of the plan.
func (j *job) eval(ctx context.Context, round int, s shard, x, grad []float64) (value float64, err error) {
	err = try(ctx, func() error {
		h := j.take(s.K)
		defer j.give(h)
		h.mu.Lock()
		defer h.mu.Unlock()
		done := false
		defer func() {
			if !done {
				h.f = nil // what a panic left is not to be trusted
			}
		}()
		if h.f == nil {
			if err := j.open(ctx, round, s, h); err != nil {
				return err
			}
		}
		clear(grad)
		var err error
		value, err = h.f.Eval(x, grad)
		done = true
		return err
	})
	return value, err
}

// open opens a shard.
func (j *job) open(ctx context.Context, round int, s shard, h *held) error {
	plan, marks, err := j.planOf(ctx, round)
	if err != nil {
		return err
	}
	r := &reading{shard: s}
	var part []byte
	if p, ok := j.task.(interface{ parted() bool }); ok && p.parted() {
		if part, err = readSealed(ctx, j.spec.partFile(s.K)); err != nil {
			return err
		}
	}
	f, err := j.task.open(ctx, plan, part, r)
	if err == nil {
		err = r.same(marks)
	}
	if err != nil {
		return r.judge(err)
	}
	h.f = f
	j.mu.Lock()
	h.bytes = max(r.bytes, int64(len(part)))
	j.mu.Unlock()
	return nil
}

// take returns the place of a shard, and lets others go where there are too many.
func (j *job) take(k int) *held {
	j.mu.Lock()
	defer j.mu.Unlock()
	h := j.held[k]
	if h == nil {
		h = &held{}
		j.held[k] = h
	}
	j.clock++
	h.used = j.clock
	h.busy++
	return h
}

// give says that a shard is at rest. Of those at rest, the ones that were used last stay.
func (j *job) give(h *held) {
	j.mu.Lock()
	defer j.mu.Unlock()
	h.busy--
	if j.spec.Keep <= 0 {
		return
	}
	total := int64(0)
	var rest []int
	for k, h := range j.held {
		total += h.bytes
		if h.busy == 0 {
			rest = append(rest, k)
		}
	}
	slices.SortFunc(rest, func(a, b int) int { return cmp.Compare(j.held[a].used, j.held[b].used) })
	for _, k := range rest {
		if total <= j.spec.Keep {
			return
		}
		total -= j.held[k].bytes
		delete(j.held, k)
	}
}

// gradient returns room for a gradient.
func (j *job) gradient(n int) []float64 {
	if g, ok := j.grads.Get().([]float64); ok && len(g) == n {
		return g
	}
	return make([]float64, n)
}

// weightsOf returns the weights of a version, from what travels with a shard: the numbers, or
// behind fileMark the name of the file that has them.
func (j *job) weightsOf(ctx context.Context, version int, b []byte) ([]float64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.version == version && j.weights != nil {
		return j.weights, nil
	}
	if len(b) == 0 {
		return nil, errors.New("there are no weights")
	}
	mark, b := b[0], b[1:]
	if mark == fileMark {
		var err error
		if b, err = readSealed(ctx, string(b)); err != nil {
			return nil, err
		}
	}
	x, err := numbers(b)
	if err != nil {
		return nil, err
	}
	j.weights, j.version = x, version
	return x, nil
}
