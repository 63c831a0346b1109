package encoder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/nn"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// Task is what a network is trained for: sequences, and a loss of each as a function of its scores.
// A task may have parameters of its own, the extra ones, such as scores of label pairs and of
// sparse features. Training starts them at zero.
type Task[X any] interface {
	Len() int            // sequences
	Input(i int) X       // sequence i
	Positions(i int) int // its rows of scores
	Extra() int          // extra parameters
	// Loss returns the loss of sequence i. It adds the derivatives by the scores to dScores, whose
	// entries are 0 before, and those by the extra parameters to dExtra. Calls with different
	// workers, numbered from 0 and below run.WorkersOf(Control.Workers), may be concurrent. The
	// result must not depend on the worker.
	Loss(worker, i int, scores, extra, dScores []float32, dExtra *SparseGradient) (float64, error)
}

// Beginner is a Task that is told when an epoch begins, counted from 0 within its stage, before
// any of its losses. A resumed run may tell it of the same epoch again.
type Beginner interface{ BeginEpoch(epoch int) }

// Stage is one part of a training: a task under options of its own, from where the stage before
// ended. Cross-entropy first and a loss that is not convex second is one use.
type Stage[X any] struct {
	Name    string // for rows; may be empty
	Task    Task[X]
	Options *Options
}

// Options adjusts Fit; nil is the same as the zero value.
type Options struct {
	Rate     float64 // of Adam, largest; zero is 0.002
	Epochs   int     // passes over the sequences; zero is 25
	Batch    int     // sequences of a step; zero is 32
	Block    int     // sequences that one goroutine evaluates together; zero is half a batch. Sums depend on it
	WarmUp   int     // steps over which the rate rises from 0; zero is 50, negative none
	Constant float64 // share of the steps before the rate falls linearly to 0; zero is 0.3, negative none
	Clip     float64 // largest norm of a gradient; zero is 5, negative any
	Seed     uint64  // of the start, the order and dropout

	// ExtraRate is the largest rate of the extra parameters; zero is Rate. Adam is lazy there: a
	// step changes only parameters that the batch touched, 16 at a time.
	ExtraRate float64

	// Start is where to start from: parameters of the network, then the extra ones. nil is the
	// network's own start, and zeros. Of stages after the first it is not used.
	Start []float32

	// Dev, if not nil, judges the parameters after every epoch, on held-out data; less is better.
	// Fit then returns those of the best epoch. Control.Stop.Patience is early stopping.
	Dev func(ctx context.Context, params []float32) (float64, error)
}

// AllEpochs is the reason of a run that took all epochs of its options: nothing is missing.
const AllEpochs = run.AllPasses

// Fit trains a network and the extra parameters of a task, by Adam on the mean loss of batches. It
// returns the parameters of the network, then the extra ones. When the run was interrupted, those
// reached so far are returned beside the error. Result.X is nil.
//
// A step of the Control is an epoch. The context is looked at between batches, a checkpoint may lie
// between two of them, and Control.Live has rows from the first batch on. Results have the same
// bits for any number of workers: blocks of sequences are evaluated apart, and their gradients
// added in order.
func Fit[X any](net Network[X], t Task[X], o *Options, c *run.Control) ([]float32, *optim.Result, error) {
	all, r, err := FitAll(net, 1, c, Stage[X]{Task: t, Options: o})
	if len(all) == 0 {
		return nil, r, err
	}
	return all[0], r, err
}

// FitAll is Fit with several stages, one after the other, for an ensemble of members: member k has
// the seeds of the options plus k. Stages share the extra parameters, and so must have as many.
// Each stage has a schedule of its own. Where Control.Stop.Patience ends a member, the next one
// begins.
func FitAll[X any](net Network[X], members int, c *run.Control,
	stages ...Stage[X]) ([][]float32, *optim.Result, error) {
	f, err := newFit(net, members, c, stages)
	if err != nil {
		return nil, nil, fmt.Errorf("encoder: %w", err)
	}
	reason, err := f.train()
	if err != nil && f.run.Cancelled() == nil {
		err = fmt.Errorf("encoder: %w", err)
	}
	r := &optim.Result{F: f.last, Iterations: f.run.Steps(), Evaluations: f.run.Evaluations, Reason: reason}
	return f.finished(), r, err
}

func (o *Options) withDefaults() (Options, error) {
	var p Options
	if o != nil {
		p = *o
	}
	set := func(v *float64, zero float64) {
		if *v == 0 {
			*v = zero
		}
		*v = max(*v, 0)
	}
	setInt := func(v *int, zero int) {
		if *v == 0 {
			*v = zero
		}
	}
	switch {
	case !(p.Rate >= 0) || !(p.ExtraRate >= 0) || math.IsInf(p.Rate+p.ExtraRate, 0):
		return p, fmt.Errorf("rates %v and %v must be finite and not negative", p.Rate, p.ExtraRate)
	case p.Epochs < 0 || p.Batch < 0 || p.Block < 0:
		return p, fmt.Errorf("%d epochs, batches of %d, blocks of %d: none may be negative", p.Epochs, p.Batch,
			p.Block)
	case !(p.Constant < 1) || math.IsNaN(p.Clip):
		return p, fmt.Errorf("constant share %v and clip %v: the share must be below 1, and both numbers",
			p.Constant,
			p.Clip)
	}
	set(&p.Rate, 0.002)
	set(&p.ExtraRate, p.Rate)
	set(&p.Constant, 0.3)
	set(&p.Clip, 5)
	setInt(&p.Epochs, 25)
	setInt(&p.Batch, 32)
	setInt(&p.Block, (p.Batch+1)/2)
	setInt(&p.WarmUp, 50)
	p.Block = min(p.Block, p.Batch)
	return p, nil
}

// schedule returns the share of the rate at step 1, 2, … of a number of steps.
func (o *Options) schedule(steps int) func(step int) float64 {
	warm := float64(max(0, min(o.WarmUp, steps/10)))
	falling := float64(steps) * (1 - o.Constant)
	return func(step int) float64 {
		share := min(1, float64(steps-step+1)/falling)
		if warm > 0 {
			share = min(share, float64(step)/warm)
		}
		return share
	}
}

// fit is a training on its way.
type fit[X any] struct {
	net     Network[X]
	stages  []Stage[X]
	options []Options // with defaults
	members int
	extra   int
	sparse  int // parameters of the network, from the first on, on which steps are lazy
	run     *run.Run

	// Where it is: member, stage, epoch of the stage and batch of the epoch.
	member, stage, epoch, batch int
	total                       float64 // loss of the epoch's batches so far
	last                        float64 // mean loss of the last epoch
	judged                      float64 // what Dev said of it

	params    []float32
	best      []float32 // of the member, as Dev judges; nil without
	done      [][]float32
	optimizer *nn.Optimizer[float32]
	lazy      *nn.Optimizer[float32] // of the extra parameters; nil for none
	order     []int

	passes  []Pass[X] // by worker
	blocks  []block[X]
	grad    []float32
	squares []float64
	front   *SparseGradient // of the first block, as merged
	merged  *SparseGradient
	spans   []nn.Span
	saved   time.Time
	shown   time.Time
}

// block is a part of a batch, with a gradient of its own.
type block[X any] struct {
	inputs  []X
	grad    []float32
	front   *SparseGradient // the sparse part of grad
	extra   *SparseGradient
	dScores []float32
	loss    float64
}

func newFit[X any](net Network[X], members int, c *run.Control, stages []Stage[X]) (*fit[X], error) {
	if members < 1 || len(stages) == 0 {
		return nil, fmt.Errorf("%d members and %d stages: at least one of each is needed", members, len(stages))
	}
	f := &fit[X]{net: net, stages: stages, members: members, extra: stages[0].Task.Extra()}
	epochs, blocks := 0, 0
	for i, s := range stages {
		o, err := s.Options.withDefaults()
		if err != nil {
			return nil, err
		}
		if s.Task.Len() == 0 || s.Task.Extra() != f.extra {
			return nil, fmt.Errorf("stage %d has %d sequences and %d extra parameters: sequences are needed, and the "+
				"parameters of the first stage, %d", i+1, s.Task.Len(), s.Task.Extra(), f.extra)
		}
		if i == 0 && o.Start != nil && len(o.Start) != net.Dim()+f.extra {
			return nil, fmt.Errorf("Start has %d parameters, the network and the task %d", len(o.Start),
				net.Dim()+f.extra)
		}
		epochs += o.Epochs
		blocks = max(blocks, (o.Batch+o.Block-1)/o.Block)
		f.options = append(f.options, o)
	}
	f.run = run.Begin("encoder", c, members*epochs)
	f.run.Examples = stages[0].Task.Len()
	f.passes = make([]Pass[X], f.run.Workers)
	f.blocks = make([]block[X], blocks)
	if s, ok := net.(Sparse); ok {
		f.sparse = s.Sparse()
	}
	for i := range f.blocks {
		f.blocks[i].grad = make([]float32, net.Dim())
		f.blocks[i].front = newSparseGradient(f.blocks[i].grad[:f.sparse])
		f.blocks[i].extra = NewSparseGradient(f.extra)
	}
	f.grad = f.blocks[0].grad
	f.front, f.merged = f.blocks[0].front, f.blocks[0].extra
	f.squares = make([]float64, (net.Dim()+piece-1)/piece)
	f.begin()
	if err := f.beginStage(); err != nil {
		return nil, err
	}
	return f, f.resume()
}

// begin sets the parameters where a member starts.
func (f *fit[X]) begin() {
	o := &f.options[0]
	f.params = make([]float32, f.net.Dim()+f.extra)
	if o.Start != nil {
		copy(f.params, o.Start)
	} else {
		f.net.Start(f.params[:f.net.Dim():f.net.Dim()], o.Seed+uint64(f.member))
	}
	f.best = nil
	f.run.Best = run.Best{Loss: math.Inf(1)}
}

func (f *fit[X]) o() *Options   { return &f.options[f.stage] }
func (f *fit[X]) task() Task[X] { return f.stages[f.stage].Task }

// batches returns the number of batches of an epoch.
func (f *fit[X]) batches() int { return (f.task().Len() + f.o().Batch - 1) / f.o().Batch }

// beginStage makes the optimizers.
func (f *fit[X]) beginStage() error {
	o := f.o()
	schedule := o.schedule(f.batches() * o.Epochs)
	var err error
	f.optimizer, err = nn.NewOptimizer[float32](f.net.Dim(), &nn.OptimizerOptions{Method: optim.Adam,
		Rate:     o.Rate,
		Schedule: schedule, Workers: f.run.Workers})
	if err == nil && f.extra > 0 {
		f.lazy, err = nn.NewOptimizer[float32](f.extra, &nn.OptimizerOptions{Method: optim.Adam, Rate: o.ExtraRate,
			Schedule: schedule, Workers: 1})
	}
	return err
}

// train takes epochs until all members are done.
func (f *fit[X]) train() (run.Reason, error) {
	if f.run.Steps() > f.run.Stop.Iterations {
		return f.run.Loop(nil, nil) // which says so
	}
	early := false // a member ended before its last epoch
	for f.member < f.members && f.run.Steps() < f.run.Stop.Iterations {
		reason, err := f.run.Next(f.runEpoch, f.state)
		switch {
		case err != nil:
			return reason, err
		case reason == run.OutOfPatience:
			if f.stage < len(f.stages) {
				early = true
			}
			f.endMember()
		case reason != "":
			return reason, nil
		}
		if f.member < f.members && f.stage == len(f.stages) {
			f.endMember()
		}
		if f.epoch == 0 && f.member < f.members {
			if err := f.beginStage(); err != nil {
				return run.Interrupted, err
			}
		}
	}
	switch {
	case f.member < f.members:
		return run.IterationLimit, nil
	case early:
		return run.OutOfPatience, nil
	}
	return AllEpochs, nil
}

// endMember keeps the member's parameters and begins the next one.
func (f *fit[X]) endMember() {
	if f.best != nil {
		f.params = f.best
	}
	f.done = append(f.done, f.params)
	f.member, f.stage, f.epoch, f.batch = f.member+1, 0, 0, 0
	f.params = nil
	if f.member < f.members {
		f.begin()
	}
}

// finished returns the parameters of all members, the one on its way included.
func (f *fit[X]) finished() [][]float32 {
	if f.params == nil {
		return f.done
	}
	if f.best != nil {
		return append(f.done, f.best)
	}
	return append(f.done, f.params)
}

// name is the stage in rows.
func (f *fit[X]) name() string {
	name := f.stages[f.stage].Name
	if f.members == 1 {
		return name
	}
	if name != "" {
		name = " " + name
	}
	return fmt.Sprintf("member %d%s", f.member+1, name)
}

// seeds of the order of an epoch, and of dropout in a block.
func (f *fit[X]) random(kind, number int) *rand.Rand {
	return rand.New(rand.NewPCG(f.o().Seed+uint64(f.member),
		uint64(kind)<<62|uint64(f.stage)<<52|uint64(number)))
}

// runEpoch takes the steps of an epoch that are left.
func (f *fit[X]) runEpoch() (*run.Row, run.Reason, error) {
	t, o := f.task(), f.o()
	if b, ok := t.(Beginner); ok {
		b.BeginEpoch(f.epoch)
	}
	if cap(f.order) < t.Len() {
		f.order = make([]int, t.Len())
	}
	f.order = f.order[:t.Len()]
	for i := range f.order {
		f.order[i] = i
	}
	f.random(1, f.epoch).Shuffle(len(f.order), func(i, j int) {
		f.order[i], f.order[j] = f.order[j],
			f.order[i]
	})
	f.saved = time.Now()
	rate := 0.0
	for f.batch < f.batches() {
		if err := f.run.Cancelled(); err != nil {
			return nil, "", err
		}
		rate = f.optimizer.Rate()
		from := f.batch * o.Batch
		sequences := f.order[from:min(len(f.order), from+o.Batch)]
		loss, err := f.step(sequences)
		if err != nil {
			return nil, "", err
		}
		f.total += loss
		f.batch++
		if err := f.show(from+len(sequences), rate); err != nil {
			return nil, "", err
		}
		if time.Since(f.saved) > time.Minute {
			if err := f.run.Save(true, f.state); err != nil {
				return nil, "", err
			}
			f.saved = time.Now()
		}
	}
	f.last = f.total / float64(t.Len())
	if o.Dev != nil {
		loss, err := o.Dev(f.run.Ctx, f.params)
		if err != nil {
			return nil, "", err
		}
		f.judged = loss
		if f.run.Judge(f.run.Steps()+1, loss) || f.best == nil {
			f.best = append(f.best[:0], f.params...)
		}
	}
	row := &run.Row{Stage: f.name(), Objective: f.last, Step: rate}
	if o.Dev != nil {
		row.Detail = heldOut{f.last, f.judged}
	}
	f.run.Evaluations++
	f.total, f.batch = 0, 0
	if f.epoch++; f.epoch == o.Epochs {
		f.epoch, f.stage = 0, f.stage+1
	}
	return row, "", nil
}

// heldOut is what rows of a run with held-out data say.
type heldOut struct{ objective, loss float64 }

func (h heldOut) Fields() []run.Field { return []run.Field{{Name: "held_out", Value: h.loss}} }
func (h heldOut) String() string {
	return fmt.Sprintf("objective %.6g, held out %.4g", h.objective, h.loss)
}

// show reports progress within an epoch; seen sequences are done.
func (f *fit[X]) show(seen int, rate float64) error {
	if f.run.Live == nil || f.batch > 1 && time.Since(f.shown) < time.Second/4 {
		return nil
	}
	f.shown = time.Now()
	return f.run.Live.Record(run.Row{Stage: f.name(), Iteration: f.run.Steps() + 1,
		Objective: f.total / float64(seen),
		Step:      rate, Evaluations: f.run.Evaluations, Seconds: f.run.Seconds()})
}

// piece is the number of parameters that one goroutine adds up at a time.
const piece = 1 << 16

// step takes one step along the gradient of a batch, and returns the sum of the losses.
func (f *fit[X]) step(sequences []int) (float64, error) {
	o, size := f.o(), f.o().Block
	number := f.epoch*f.batches() + f.batch
	n := (len(sequences) + size - 1) / size
	err := run.Each(f.run.Workers, n, func(worker, k int) error {
		part := sequences[k*size : min(len(sequences), (k+1)*size)]
		return f.evaluate(worker, k, part, f.random(2, number*len(f.blocks)+k))
	})
	if err != nil {
		return 0, err
	}
	loss := 0.0
	for k := range n {
		loss += f.blocks[k].loss
	}
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return 0, fmt.Errorf("epoch %d: the loss of batch %d is %v: %w; a smaller rate may help", f.epoch+1,
			f.batch+1, loss, optim.ErrNotFinite)
	}
	dense := f.grad[f.sparse:]
	run.Blocks(f.run.Workers, len(dense), piece, func(_, from, to int) {
		for k := 1; k < n; k++ {
			add(dense[from:to], f.blocks[k].grad[f.sparse+from:f.sparse+to])
		}
		f.squares[from/piece] = squared(dense[from:to])
	})
	for k := 1; k < n; k++ {
		f.front.add(f.blocks[k].front)
		f.merged.add(f.blocks[k].extra)
	}
	square := f.front.squared() + f.merged.squared()
	for _, s := range f.squares {
		square += s
	}
	factor := 1 / float64(o.Batch)
	if norm := math.Sqrt(square) * factor; o.Clip > 0 && norm > o.Clip {
		factor *= o.Clip / norm
	}
	run.Blocks(f.run.Workers, len(dense), piece, func(_, from,
		to int) {
		scale(dense[from:to], float32(factor))
	})
	if f.sparse == 0 {
		err = f.optimizer.Step(f.params[:f.net.Dim()], f.grad)
	} else {
		f.spans = append(f.front.scaled(f.spans[:0], factor), nn.Span{From: f.sparse, To: len(f.grad)})
		err = f.optimizer.StepSpans(f.params[:f.net.Dim()], f.grad, f.spans)
	}
	if err != nil {
		return 0, fmt.Errorf("epoch %d: %w; a smaller rate may help", f.epoch+1, err)
	}
	if f.lazy == nil {
		return loss, nil
	}
	f.spans = f.merged.scaled(f.spans[:0], factor)
	if err := f.lazy.StepSpans(f.params[f.net.Dim():], f.merged.sum, f.spans); err != nil {
		return 0, fmt.Errorf("epoch %d: extra parameters: %w; a smaller rate may help", f.epoch+1, err)
	}
	return loss, nil
}

// evaluate stores the loss and the gradient of a block.
func (f *fit[X]) evaluate(worker, k int, sequences []int, drop *rand.Rand) error {
	b, t := &f.blocks[k], f.task()
	b.inputs, b.loss = b.inputs[:0], 0
	positions := 0
	for _, i := range sequences {
		b.inputs = append(b.inputs, t.Input(i))
		positions += t.Positions(i)
	}
	clear(b.grad[f.sparse:])
	b.front.clear()
	b.extra.clear()
	if f.passes[worker] == nil {
		f.passes[worker] = f.net.NewPass()
	}
	p, dim, width := f.passes[worker], f.net.Dim(), f.net.Outputs()
	scores := p.Forward(f.params[:dim:dim], b.inputs, drop)
	if len(scores) != positions*width {
		return fmt.Errorf("the network returned %d scores for %d positions, each of %d", len(scores), positions,
			width)
	}
	b.dScores = grown(b.dScores, len(scores))
	clear(b.dScores)
	at := 0
	for _, i := range sequences {
		if err := f.run.Cancelled(); err != nil {
			return err
		}
		end := at + t.Positions(i)*width
		v, err := t.Loss(worker, i, scores[at:end:end], f.params[dim:], b.dScores[at:end:end], b.extra)
		if err != nil {
			return err
		}
		b.loss += v
		at = end
	}
	p.Backward(f.params[:dim:dim], b.dScores, b.grad)
	if f.sparse > 0 {
		p.(Touching).Touched(func(at, n int) { b.front.Row(at, n) })
	}
	return nil
}

// State of a run, in a checkpoint.
const (
	stateFile    = "encoder"
	stateKind    = "encoder state"
	stateVersion = 1
)

type position struct {
	Member, Stage, Epoch, Batch int
	Total                       float64
	Step                        int // of the optimizers
}

func (f *fit[X]) state() (*run.Checkpoint, error) {
	c := model.New(stateKind, stateVersion)
	if err := c.SetMeta(position{f.member, f.stage, f.epoch, f.batch, f.total,
		f.optimizer.Steps()}); err != nil {
		return nil, err
	}
	for i, v := range f.done {
		model.Put(c, fmt.Sprintf("member %d", i), v)
	}
	if f.params != nil {
		model.Put(c, "parameters", f.params)
		s := f.optimizer.State()
		model.Put(c, "first", s.A)
		model.Put(c, "second", s.B)
		if f.lazy != nil {
			s := f.lazy.State()
			model.Put(c, "extra first", s.A)
			model.Put(c, "extra second", s.B)
		}
	}
	if f.best != nil {
		model.Put(c, "best", f.best)
	}
	var file bytes.Buffer
	if err := c.Write(&file); err != nil {
		return nil, err
	}
	return &run.Checkpoint{Files: map[string][]byte{stateFile: file.Bytes()}}, nil
}

// resume takes up the checkpoint of the control, if there is one.
func (f *fit[X]) resume() error {
	k, err := f.run.Taken()
	if err != nil || k == nil {
		return err
	}
	var at position
	c, err := model.ReadKind(bytes.NewReader(k.Files[stateFile]), stateKind, stateVersion, &at)
	if err != nil {
		return err
	}
	if at.Member < 0 || at.Member > f.members || at.Stage < 0 || at.Stage > len(f.stages) || at.Epoch < 0 ||
		at.Batch < 0 || at.Step < 0 {
		return fmt.Errorf("%w: it is at member %d, stage %d, epoch %d, batch %d", run.ErrOther, at.Member,
			at.Stage, at.Epoch, at.Batch)
	}
	dim := f.net.Dim() + f.extra
	get := func(name string, n int) []float32 {
		v, e := model.Get[float32](c, name, n)
		err = errors.Join(err, e)
		return v
	}
	for i := range at.Member {
		f.done = append(f.done, get(fmt.Sprintf("member %d", i), dim))
	}
	f.member, f.params = at.Member, nil
	if at.Member == f.members || err != nil {
		return err
	}
	f.stage, f.epoch, f.batch, f.total = at.Stage, at.Epoch, at.Batch, at.Total
	f.params = get("parameters", dim)
	if _, ok := c.Shape("best"); ok {
		f.best = get("best", dim)
	}
	s := nn.OptimizerState[float32]{Step: at.Step, A: get("first", f.net.Dim()), B: get("second", f.net.Dim())}
	if err != nil {
		return err
	}
	if f.stage == len(f.stages) {
		f.endMember()
	}
	if f.member == f.members {
		return nil
	}
	if err := f.beginStage(); err != nil || f.epoch == 0 && f.batch == 0 {
		return err
	}
	if err := f.optimizer.Restore(s); err != nil || f.lazy == nil {
		return err
	}
	s.A, s.B = get("extra first", f.extra), get("extra second", f.extra)
	return errors.Join(err, f.lazy.Restore(s))
}

// SparseGradient gathers derivatives by the extra parameters. A batch may touch few of them.
type SparseGradient struct {
	sum     []float32
	touched []bool  // by chunk
	chunks  []int32 // those touched
}

// chunk is the number of parameters that are touched together: a cache line.
const chunk = 16

// Row returns the derivatives by parameters at … at+n-1, for adding to.
func (g *SparseGradient) Row(at, n int) []float32 {
	for k := at / chunk; k*chunk < at+n; k++ {
		if !g.touched[k] {
			g.touched[k] = true
			g.chunks = append(g.chunks, int32(k))
		}
	}
	return g.sum[at : at+n : at+n]
}

// NewSparseGradient returns a gradient of n parameters that is zero.
func NewSparseGradient(n int) *SparseGradient {
	return newSparseGradient(make([]float32, n))
}

// newSparseGradient keeps its sums in a slice of the caller's.
func newSparseGradient(sum []float32) *SparseGradient {
	return &SparseGradient{sum: sum, touched: make([]bool, (len(sum)+chunk-1)/chunk)}
}

// span is the part of chunk k.
func (g *SparseGradient) span(k int32) nn.Span {
	return nn.Span{From: int(k) * chunk, To: min(len(g.sum), int(k+1)*chunk)}
}

// squared returns the sum of the squares.
func (g *SparseGradient) squared() float64 {
	sum := 0.0
	for _, k := range g.chunks {
		s := g.span(k)
		sum += squared(g.sum[s.From:s.To])
	}
	return sum
}

// scaled multiplies the derivatives, and appends the parts that were touched to spans.
func (g *SparseGradient) scaled(spans []nn.Span, factor float64) []nn.Span {
	for _, k := range g.chunks {
		s := g.span(k)
		scale(g.sum[s.From:s.To], float32(factor))
		spans = append(spans, s)
	}
	return spans
}

func (g *SparseGradient) clear() {
	for _, k := range g.chunks {
		g.touched[k] = false
		s := g.span(k)
		clear(g.sum[s.From:s.To])
	}
	g.chunks = g.chunks[:0]
}

// add adds the derivatives of h, which is as long.
func (g *SparseGradient) add(h *SparseGradient) {
	for _, k := range h.chunks {
		s := g.span(k)
		add(g.Row(s.From, s.To-s.From), h.sum[s.From:s.To])
	}
}
