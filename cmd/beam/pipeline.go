package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/tropica-fst/tropica/learn/optim"
)

func init() {
	register.DoFn3x1[context.Context, []byte, func(int, []byte), error](&lookFn{})
	register.DoFn3x1[context.Context, []byte, func(int, []byte), error](&sumFn{})
	register.DoFn4x1[context.Context, int, func(*[]byte) bool, func(int, []byte), error](&addFn{})
	register.DoFn2x0[int, func(*[]byte) bool](&endFn{})
	register.Emitter2[int, []byte]()
	register.Iter1[[]byte]()
	beam.RegisterType(reflect.TypeFor[spec]())
}

// engine asks shards, wherever they are.
type engine interface {
	// look asks all shards in a round.
	look(ctx context.Context, round int) ([]seen, error)
	// sum is the sum over all shards, by the plan of a round.
	sum(ctx context.Context, round, dim int) optim.Objective
}

// here is the engine of this process, without Beam: what Beam's bits are compared with.
type here struct {
	job    *job
	shards []shard
}

func (h *here) look(ctx context.Context, round int) ([]seen, error) {
	looks := make([]seen, len(h.shards))
	for k, s := range h.shards {
		var err error
		if looks[k], err = h.job.look(ctx, round, s); err != nil {
			return nil, err
		}
	}
	return looks, nil
}

func (h *here) sum(ctx context.Context, round, dim int) optim.Objective {
	return optim.NewReducer(&hereParts{h, ctx, round, dim}, &optim.ReducerOptions{Workers: 1})
}

// hereParts are the shards as parts of a Reducer. Each uses the workers itself.
type hereParts struct {
	*here
	ctx        context.Context
	round, dim int
}

func (p *hereParts) Dim() int   { return p.dim }
func (p *hereParts) Parts() int { return len(p.shards) }
func (p *hereParts) Part(_, k int, x, grad []float64) (float64, error) {
	type answer struct {
		value float64
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		v, err := p.job.eval(p.ctx, p.round, p.shards[k], x, grad)
		done <- answer{v, err}
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-p.ctx.Done(): // the run is over, and grad is not read
		return 0, context.Cause(p.ctx)
	}
}

// onBeam is the engine of a Beam runner.
type onBeam struct {
	spec    *spec
	shards  []shard
	runner  string
	retries int
	version int
	warn    func(format string, args ...any)
}

// carried is the most weights that travel with each shard. More go to a file of this version of the
// weights, and only its name travels. They are no side input: Prism looks for work without pause
// while a step with one is at work, which took a processor of its own.
const carried = 1000

// travelling is the most weights whose gradients travel as bytes. Those of more go to files, too:
// runners keep what travels in memory, several times over.
const travelling = 100000

// What weights begin with.
const (
	numbersMark byte = iota
	fileMark
)

// stripeOf is how many coordinates one message of a shard covers: 8 MB of numbers. Stripes are
// added side by side.
const stripeOf = 1 << 20

// pipeline runs a graph, again where it fails otherwise than by the data or an interrupt: passes
// are functions of the weights, and can be made again.
//
// What is behind a shard's name in its element is more.
func (e *onBeam) pipeline(ctx context.Context, what string, more []byte,
	build func(s beam.Scope, shards beam.PCollection) beam.PCollection, read func() error) error {
	var elements [][]byte
	for _, s := range e.shards {
		b, err := json.Marshal(s)
		if err != nil {
			return err
		}
		elements = append(elements, append(append(binary.AppendUvarint(nil, uint64(len(b))), b...), more...))
	}
	for n := 0; ; n++ {
		err := e.attempt(ctx, elements, build)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil {
			err = read()
		}
		var f *failure
		if err == nil || errors.As(err, &f) {
			return err
		}
		if n == e.retries {
			return fmt.Errorf("%s: the runner failed %d times: %w", what, n+1, err)
		}
		e.warn("%s: the runner failed, and starts again: %v", what, err)
		select { // whatever it was may pass
		case <-time.After(250 * time.Millisecond << min(n, 6)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// attempt runs a graph.
func (e *onBeam) attempt(ctx context.Context, elements [][]byte,
	build func(s beam.Scope, shards beam.PCollection) beam.PCollection) error {
	if err := reachable(*jobopts.Endpoint); err != nil {
		return err
	}
	p, s := beam.NewPipelineWithRoot()
	out := build(s, beam.Reshuffle(s, beam.CreateList(s, elements)))
	beam.ParDo0(s, &endFn{}, beam.GroupByKey(s, out))
	_, err := beam.Run(ctx, e.runner, p)
	return err
}

// reachable reports whether something listens at the address of a runner, "" being the runner of
// this process: Beam itself waits for minutes.
func reachable(address string) error {
	if address == "" {
		return nil
	}
	c, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		return fmt.Errorf("the runner cannot be reached: %w", err)
	}
	return c.Close()
}

// failure is an error of the data, in the words of the worker that met it.
type failure struct{ text string }

func (f *failure) Error() string { return f.text }

// answer returns the message that a worker wrote to a file, whose name has an end of its own.
func answer(ctx context.Context, name string) (*message, error) {
	b, err := readWhole(ctx, name+"-*")
	if err != nil {
		return nil, err
	}
	m, err := decode(b)
	if err == nil && m.kind == failureKind {
		err = &failure{string(m.body)}
	}
	return &m, err
}

func (e *onBeam) look(ctx context.Context, round int) ([]seen, error) {
	looks := make([]seen, len(e.shards))
	err := e.pipeline(ctx, "survey", nil, func(s beam.Scope, shards beam.PCollection) beam.PCollection {
		return beam.ParDo(s, &lookFn{Spec: *e.spec, Round: round}, shards)
	}, func() error {
		for k := range looks {
			m, err := answer(ctx, e.spec.lookFile(round, k))
			if err != nil {
				return err
			}
			if looks[k], err = decodeSeen(m.body); err != nil {
				return err
			}
		}
		return nil
	})
	remove(ctx, strings.TrimSuffix(e.spec.lookFile(round, 0), "000000")+"*")
	return looks, err
}

func (e *onBeam) sum(ctx context.Context, round, dim int) optim.Objective {
	return &beamSum{onBeam: e, ctx: ctx, round: round, dim: dim}
}

// beamSum is the sum over the shards as an objective: a pipeline for every evaluation.
type beamSum struct {
	*onBeam
	ctx        context.Context
	round, dim int
}

func (b *beamSum) Dim() int { return b.dim }

func (b *beamSum) Eval(x, grad []float64) (float64, error) {
	b.version++
	version := b.version
	weights := append([]byte{numbersMark}, floats(x)...)
	if len(x) > carried {
		name := b.spec.weightsFile(version)
		if err := writeFile(b.ctx, name, sealed(weights[1:])); err != nil {
			return math.NaN(), err
		}
		defer remove(b.ctx, name)
		weights = append([]byte{fileMark}, name...)
	}
	stripes := 1
	if grad != nil {
		stripes = max(1, (len(x)+stripeOf-1)/stripeOf)
	}
	value := 0.0
	pass := fmt.Sprintf("pass %d", version)
	err := b.pipeline(b.ctx, pass, weights, func(s beam.Scope, shards beam.PCollection) beam.PCollection {
		sum := &sumFn{Spec: *b.spec, Round: b.round, Version: version, Dim: b.dim, Gradient: grad != nil}
		add := &addFn{Spec: *b.spec, Version: version, Dim: b.dim, Shards: len(b.shards), Gradient: grad != nil}
		return beam.ParDo(s, add, beam.GroupByKey(s, beam.ParDo(s, sum, shards)))
	}, func() error {
		for k := range stripes {
			m, err := answer(b.ctx, b.spec.sumFile(version, k))
			if err != nil {
				return err
			}
			if k == 0 {
				value = m.value
			}
			if grad == nil {
				continue
			}
			part := grad[k*stripeOf : min(len(grad), (k+1)*stripeOf)]
			if len(m.body) != 8*len(part) {
				return errMessage
			}
			g, err := numbers(m.body)
			if err != nil {
				return err
			}
			copy(part, g)
		}
		return nil
	})
	for _, name := range []string{b.spec.sumFile(version, 0), b.spec.gradientFile(version, 0, 0)} {
		before, _, _ := strings.Cut(name, fmt.Sprintf("%08d", version))
		remove(b.ctx, before+fmt.Sprintf("%08d-*", version))
	}
	return value, err
}

// unique returns a name's end that no other attempt has.
func unique() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// endFn ends a graph. Steps without an output are not for work that takes long: while they are at
// it, Prism looks without pause whether they have ended.
type endFn struct{}

// ProcessElement does nothing.
func (*endFn) ProcessElement(int, func(*[]byte) bool) {}

// shardOf takes an element apart.
func shardOf(element []byte) (s shard, more []byte, err error) {
	n, head := binary.Uvarint(element)
	if head <= 0 || n > uint64(len(element)-head) {
		return s, nil, errMessage
	}
	name, more := element[head:][:n], element[head+int(n):]
	err = json.Unmarshal(name, &s)
	return s, more, err
}

// lookFn asks a shard in a round, and writes its answer to a file.
type lookFn struct {
	Spec  spec
	Round int
}

// ProcessElement takes an element of shardOf.
func (f *lookFn) ProcessElement(ctx context.Context, element []byte, emit func(int, []byte)) error {
	s, _, err := shardOf(element)
	if err != nil {
		return err
	}
	j, err := jobOf(&f.Spec)
	if err != nil {
		return err
	}
	end, err := j.turn(ctx)
	if err != nil {
		return err
	}
	defer end()
	out, err := j.look(ctx, f.Round, s)
	answer := out.append(appendHead(nil, s.K, sumKind, 0))
	if err != nil {
		if answer, err = failed(s.K, err); err != nil {
			return err
		}
	}
	emit(0, nil)
	return writeFile(ctx, f.Spec.lookFile(f.Round, s.K)+"-"+unique(), sealed(answer))
}

// failed makes a message of an error that will not pass, and returns others.
func failed(k int, err error) ([]byte, error) {
	var p *passing
	if errors.As(err, &p) || errors.Is(err, context.Canceled) {
		return nil, err
	}
	return append(appendHead(nil, k, failureKind, math.NaN()), err.Error()...), nil
}

// sumFn adds up the examples of a shard. The sum leaves it as bytes, a message for each stripe of
// the coordinates.
type sumFn struct {
	Spec                spec
	Round, Version, Dim int
	Gradient            bool
}

// ProcessElement takes an element of shardOf, with the weights as job.weightsOf reads them.
func (f *sumFn) ProcessElement(ctx context.Context, element []byte, emit func(int, []byte)) error {
	s, weights, err := shardOf(element)
	if err != nil {
		return err
	}
	j, err := jobOf(&f.Spec)
	if err != nil {
		return err
	}
	x, err := j.weightsOf(ctx, f.Version, weights)
	if err != nil {
		return err
	}
	end, err := j.turn(ctx)
	if err != nil {
		return err
	}
	defer end()
	var grad []float64
	stripes := 1
	if f.Gradient {
		grad = j.gradient(f.Dim)
		defer j.grads.Put(grad)
		stripes = max(1, (f.Dim+stripeOf-1)/stripeOf)
	}
	value, err := j.eval(ctx, f.Round, s, x, grad)
	if err != nil {
		message, err := failed(s.K, err)
		if err != nil {
			return err
		}
		for k := range stripes {
			emit(k, message)
		}
		return nil
	}
	for k := range stripes {
		var part []float64
		if grad != nil {
			part = grad[k*stripeOf : min(f.Dim, (k+1)*stripeOf)]
		}
		if f.Dim <= travelling || grad == nil {
			emit(k, appendRuns(appendHead(nil, s.K, sumKind, value), part))
			continue
		}
		name := f.Spec.gradientFile(f.Version, s.K, k) + "-" + unique()
		if err := writeFile(ctx, name, sealed(appendRuns(nil, part))); err != nil {
			return err
		}
		emit(k, append(appendHead(nil, s.K, fileKind, value), name...))
	}
	return nil
}

// addFn adds up the messages of a stripe in the order of the shards, and writes the sum to a file.
type addFn struct {
	Spec                 spec
	Version, Dim, Shards int
	Gradient             bool
}

// ProcessElement takes the messages of all shards.
func (f *addFn) ProcessElement(ctx context.Context, stripe int, next func(*[]byte) bool,
	emit func(int, []byte)) error {
	messages := make([]message, 0, f.Shards)
	var b []byte
	for b = nil; next(&b); b = nil { // each into memory of its own
		m, err := decode(b)
		if err != nil {
			return err
		}
		messages = append(messages, m)
	}
	slices.SortFunc(messages, func(a, b message) int { return cmp.Compare(a.shard, b.shard) })
	value := 0.0
	var sum []float64
	if f.Gradient {
		sum = make([]float64, min(f.Dim, (stripe+1)*stripeOf)-stripe*stripeOf)
	}
	out := []byte(nil)
	for k := range messages {
		m := &messages[k]
		if m.shard != k {
			return fmt.Errorf("stripe %d of pass %d has shard %d in place of shard %d", stripe, f.Version, m.shard, k)
		}
		if m.kind == failureKind {
			out = append(appendHead(nil, m.shard, failureKind, m.value), m.body...)
			break
		}
		value += m.value
		if m.kind == fileKind {
			var err error
			if m.body, err = readSealed(ctx, string(m.body)); err != nil {
				return err
			}
		}
		if err := m.add(sum); err != nil {
			return err
		}
	}
	if out == nil {
		if len(messages) != f.Shards {
			return fmt.Errorf("stripe %d of pass %d has %d shards of %d", stripe, f.Version, len(messages), f.Shards)
		}
		out = append(appendHead(nil, 0, sumKind, value), floats(sum)...)
	}
	emit(0, nil)
	return writeFile(ctx, f.Spec.sumFile(f.Version, stripe)+"-"+unique(), sealed(out))
}

// prepare runs the rounds of a task until it has its plan, whose number it returns.
func prepare(ctx context.Context, t task, s *spec, e engine) (round int, err error) {
	var plan []byte
	for round = 0; ; round++ {
		looks, err := e.look(ctx, round)
		if err != nil {
			return 0, err
		}
		var said [][]byte
		var marks []byte
		for _, l := range looks {
			said, marks = append(said, l.said), binary.LittleEndian.AppendUint64(marks, l.mark)
		}
		next, parts, done, err := t.plan(ctx, plan, said)
		if err != nil {
			return 0, err
		}
		plan = next
		if err := writeFile(ctx, s.planFile(round), sealed(append(marks, plan...))); err != nil {
			return 0, err
		}
		for k, p := range parts {
			if err := writeFile(ctx, s.partFile(k), sealed(p)); err != nil {
				return 0, err
			}
		}
		if done {
			return round, nil
		}
	}
}
