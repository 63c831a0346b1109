package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/tropica-fst/tropica/learn/optim"
)

func init() {
	register.DoFn2x1[context.Context, []byte, error](&lookFn{})
	register.DoFn4x1[context.Context, []byte, []byte, func(int, []byte), error](&sumFn{})
	register.DoFn3x1[context.Context, int, func(*[]byte) bool, error](&addFn{})
	register.Emitter2[int, []byte]()
	register.Iter1[[]byte]()
	beam.RegisterType(reflect.TypeFor[spec]())
}

// engine asks shards, wherever they are.
type engine interface {
	// look asks all shards in a round.
	look(ctx context.Context, round int) ([][]byte, error)
	// sum is the sum over all shards, by the plan of a round.
	sum(ctx context.Context, round, dim int) optim.Objective
}

// here is the engine of this process, without Beam: what Beam's bits are compared with.
type here struct {
	job    *job
	shards []shard
}

func (h *here) look(ctx context.Context, round int) ([][]byte, error) {
	looks := make([][]byte, len(h.shards))
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
	if p.ctx.Err() != nil {
		return 0, context.Cause(p.ctx)
	}
	return p.job.eval(p.ctx, p.round, p.shards[k], x, grad)
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

// sideWeights is the most weights that travel as a side input, and whose gradients travel as
// bytes. More go to files of this version of the weights, and only their names travel: runners
// keep what travels in memory, several times over. Weights are no fields of a function, which
// would be sent, and kept, with the graph.
const sideWeights = 100000

// What a side input begins with.
const (
	numbersMark byte = iota
	fileMark
)

// stripeOf is how many coordinates one message of a shard covers: 8 MB of numbers. Stripes are
// added side by side.
const stripeOf = 1 << 20

// pipeline runs a graph, again where it fails otherwise than by the data or an interrupt: passes
// are functions of the weights, and can be made again.
func (e *onBeam) pipeline(ctx context.Context, what string, build func(s beam.Scope, shards beam.PCollection), read func() error) error {
	var elements [][]byte
	for _, s := range e.shards {
		b, err := json.Marshal(s)
		if err != nil {
			return err
		}
		elements = append(elements, b)
	}
	for n := 0; ; n++ {
		p, s := beam.NewPipelineWithRoot()
		build(s, beam.Reshuffle(s, beam.CreateList(s, elements)))
		_, err := beam.Run(ctx, e.runner, p)
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
	}
}

// failure is an error of the data, in the words of the worker that met it.
type failure struct{ text string }

func (f *failure) Error() string { return f.text }

func (e *onBeam) look(ctx context.Context, round int) ([][]byte, error) {
	looks := make([][]byte, len(e.shards))
	err := e.pipeline(ctx, "survey", func(s beam.Scope, shards beam.PCollection) {
		beam.ParDo0(s, &lookFn{Spec: *e.spec, Round: round}, shards)
	}, func() error {
		for k := range looks {
			b, err := readWhole(ctx, e.spec.lookFile(round, k)+"-*")
			if err != nil {
				return err
			}
			m, err := decode(b)
			if err != nil {
				return err
			}
			if m.kind == failureKind {
				return &failure{string(m.body)}
			}
			looks[k] = m.body
		}
		return nil
	})
	remove(ctx, e.spec.lookFile(round, 0)[:len(e.spec.lookFile(round, 0))-6]+"*")
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
	side := append([]byte{numbersMark}, floats(x)...)
	if len(x) > sideWeights {
		name := b.spec.weightsFile(version)
		if err := writeFile(b.ctx, name, sealed(side[1:])); err != nil {
			return math.NaN(), err
		}
		defer remove(b.ctx, name)
		side = append([]byte{fileMark}, name...)
	}
	stripes := 1
	if grad != nil {
		stripes = max(1, (len(x)+stripeOf-1)/stripeOf)
	}
	value := 0.0
	err := b.pipeline(b.ctx, fmt.Sprintf("pass %d", version), func(s beam.Scope, shards beam.PCollection) {
		w := beam.Create(s, side)
		sums := beam.ParDo(s, &sumFn{Spec: *b.spec, Round: b.round, Version: version, Dim: b.dim, Gradient: grad != nil}, shards, beam.SideInput{Input: w})
		beam.ParDo0(s, &addFn{Spec: *b.spec, Version: version, Dim: b.dim, Shards: len(b.shards), Gradient: grad != nil}, beam.GroupByKey(s, sums))
	}, func() error {
		for k := range stripes {
			data, err := readWhole(b.ctx, b.spec.sumFile(version, k)+"-*")
			if err != nil {
				return err
			}
			m, err := decode(data)
			if err != nil {
				return err
			}
			if m.kind == failureKind {
				return &failure{string(m.body)}
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

// lookFn asks a shard in a round, and writes its answer to a file.
type lookFn struct {
	Spec  spec
	Round int
}

// ProcessElement takes a shard as JSON.
func (f *lookFn) ProcessElement(ctx context.Context, element []byte) error {
	var s shard
	if err := json.Unmarshal(element, &s); err != nil {
		return err
	}
	j, err := jobOf(&f.Spec)
	if err != nil {
		return err
	}
	out, err := j.look(ctx, f.Round, s)
	answer := append(appendHead(nil, s.K, sumKind, 0), out...)
	if err != nil {
		if answer, err = failed(s.K, err); err != nil {
			return err
		}
	}
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

// ProcessElement takes a shard as JSON, and the weights as job.weightsOf reads them.
func (f *sumFn) ProcessElement(ctx context.Context, element, weights []byte, emit func(int, []byte)) error {
	var s shard
	if err := json.Unmarshal(element, &s); err != nil {
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
		if f.Dim <= sideWeights || grad == nil {
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
func (f *addFn) ProcessElement(ctx context.Context, stripe int, next func(*[]byte) bool) error {
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
			b, err := readFile(ctx, string(m.body))
			if err != nil {
				return err
			}
			var whole bool
			if m.body, whole = unsealed(b); !whole {
				return fmt.Errorf("the gradient of shard %d is not whole", m.shard)
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
		next, parts, done, err := t.plan(ctx, plan, looks)
		if err != nil {
			return 0, err
		}
		plan = next
		if err := writeFile(ctx, s.planFile(round), plan); err != nil {
			return 0, err
		}
		for k, p := range parts {
			if err := writeFile(ctx, s.partFile(k), p); err != nil {
				return 0, err
			}
		}
		if done {
			return round, nil
		}
	}
}
