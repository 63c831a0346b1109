package experiment

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/g2p"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/resilient"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/sequence"
)

// sequenceIterations are those of L-BFGS, alike for all methods.
const sequenceIterations = 60

// structuredDraw is a draw of sentences or words, trained on by L-BFGS.
type structuredDraw struct {
	ctx   context.Context
	o     *CorruptedOptions
	draw  *CorruptedDraw
	e     resilient.Examples
	scale []float64 // preconditions; nil is none
	bad   []bool
	group func(i int) int
	test  func(x []float64) (float64, error)
	// lost are how many examples the learner could not take, those corrupted and all: they are the
	// first suspects of every method.
	lostBad, lost int
}

// minimize runs L-BFGS, watched every few iterations where watch is not nil.
func (d *structuredDraw) minimize(f optim.Objective, watch func(x []float64) error) ([]float64, error) {
	c := &run.Control{Ctx: d.ctx, Workers: d.o.Workers,
		Stop: run.Stop{Iterations: sequenceIterations, Relative: 1e-5}}
	scaled := func(z []float64) []float64 {
		x := slices.Clone(z)
		for i := range d.scale {
			x[i] *= d.scale[i]
		}
		return x
	}
	if watch != nil {
		c.CheckpointEvery = 3
		c.Checkpoint = func(k *run.Checkpoint) error { return watch(scaled(k.X)) }
	}
	if d.scale != nil {
		f = optim.Scaled(f, d.scale, d.o.Workers)
	}
	r, err := optim.OWLQN{Workers: d.o.Workers}.Minimize(f, make([]float64, f.Dim()), c)
	if err != nil {
		return nil, err
	}
	return scaled(r.X), nil
}

// only is the objective of the examples for which keep holds.
func (d *structuredDraw) only(keep func(i int) bool) optim.Objective {
	return optim.Func{N: d.e.Dim(), F: func(x, grad []float64) (float64, error) {
		return d.e.EvalWeighed(x, func(i int, loss float64) (float64, float64) {
			if !keep(i) {
				return 0, 0
			}
			return loss, 1
		}, nil, grad)
	}}
}

// early stops by a fifth held out: the weights of least mean loss there.
func (d *structuredDraw) early() ([]float64, error) {
	held := func(i int) bool { return i%5 == 0 } // examples are in random order
	losses, weights := make([]float64, d.e.Len()), d.e.Weights()
	least := math.Inf(1)
	var best []float64
	watch := func(x []float64) error {
		if _, err := d.e.EvalWeighed(x, nil, losses, nil); err != nil {
			return err
		}
		sum := 0.0
		for i, l := range losses {
			if held(i) {
				sum += weights[i] * l
			}
		}
		if sum < least {
			least, best = sum, x
		}
		return nil
	}
	x, err := d.minimize(d.only(func(i int) bool { return !held(i) }), watch)
	if err == nil {
		err = watch(x)
	}
	return best, err
}

// relaxations by name. Their scales bring the largest weight of Huber to 1, that of ordinary
// training, so that the penalty is the same. Quadratic weights are 1 at the largest delta.
func scaledRelaxations() []namedRelaxation {
	out := []namedRelaxation{{"quadratic", resilient.Quadratic{Scale: 1 / structuredDeltas[2]}}}
	for _, delta := range structuredDeltas {
		out = append(out, namedRelaxation{huberName(delta), resilient.Capped(delta, 0)})
	}
	return append(out, namedRelaxation{"cvar 0.5", resilient.CVaR{Tail: 0.5}})
}

type namedRelaxation struct {
	name string
	h    resilient.Relaxation
}

// methods trains by all of them.
func (d *structuredDraw) methods() error {
	n := d.e.Len()
	losses, zero := make([]float64, n), make([]float64, n)
	note := func(name string, x []float64, losses, lambda []float64) error {
		e, err := d.test(x)
		if err != nil {
			return err
		}
		d.draw.Errors[name] = e
		if d.draw.Level > 0 && losses != nil {
			d.draw.Areas[name] = d.area(losses, lambda)
		}
		return nil
	}
	plain := func(name string, x []float64, err error) error {
		if err != nil {
			return err
		}
		if _, err := d.e.EvalWeighed(x, nil, losses, nil); err != nil {
			return err
		}
		if name == "oracle" {
			return note(name, x, nil, nil)
		}
		return note(name, x, losses, zero)
	}
	x, err := d.minimize(d.only(func(int) bool { return true }), nil)
	if err := plain("ordinary", x, err); err != nil {
		return err
	}
	x, err = d.minimize(d.only(func(i int) bool { return !d.bad[i] }), nil)
	if err := plain("oracle", x, err); err != nil {
		return err
	}
	x, err = d.early()
	if err := plain("early", x, err); err != nil {
		return err
	}
	for _, once := range []bool{false, true} {
		name := map[bool]string{false: "itlm", true: "trim"}[once]
		var e resilient.Examples = d.e
		if d.scale != nil {
			e = &scaledExamples{d.e, d.scale}
		}
		r, err := resilient.Trimming{Drop: d.draw.Level + 0.05, Every: 10, Once: once,
			Workers: d.o.Workers}.Minimize(e, make([]float64, d.e.Dim()), &run.Control{Ctx: d.ctx,
			Stop: run.Stop{Iterations: sequenceIterations}})
		if err == nil {
			for i := range d.scale {
				r.X[i] *= d.scale[i]
			}
			x = r.X
		}
		if err := plain(name, x, err); err != nil {
			return err
		}
	}
	for _, r := range scaledRelaxations() {
		f, err := resilient.NewObjective(d.e, r.h)
		if err != nil {
			return err
		}
		if x, err = d.minimize(f, nil); err != nil {
			return err
		}
		l, lambda, err := f.Multipliers(x)
		if err != nil {
			return err
		}
		if err := note(r.name, x, l, lambda); err != nil {
			return err
		}
	}
	if d.draw.Level == 0 {
		return nil
	}
	free := func(f optim.Objective) ([]float64, error) { return d.minimize(f, nil) }
	for _, r := range []namedRelaxation{{confidence, resilient.Linear{}},
		{outOfSample, scaledRelaxations()[1].h}} {
		l, lambda, err := resilient.OutOfSample(d.e, r.h, 5, uint64(d.draw.Repeat), d.group, free)
		if err != nil {
			return err
		}
		d.draw.Areas[r.name] = d.area(l, lambda)
	}
	return nil
}

// area is that of finding what is corrupted; examples that the learner could not take come first.
func (d *structuredDraw) area(losses, lambda []float64) float64 {
	l, m, bad := slices.Clone(losses), slices.Clone(lambda), slices.Clone(d.bad)
	for i := range d.lost {
		l, m, bad = append(l, math.Inf(1)), append(m, math.Inf(1)), append(bad, i < d.lostBad)
	}
	return area(l, m, bad)
}

// scaledExamples are Examples in preconditioned coordinates.
type scaledExamples struct {
	resilient.Examples
	scale []float64
}

func (s *scaledExamples) EvalWeighed(z []float64, weigh resilient.Weigh, losses, grad []float64) (float64,
	error) {
	x := make([]float64, len(z))
	for i, v := range z {
		x[i] = s.scale[i] * v
	}
	v, err := s.Examples.EvalWeighed(x, weigh, losses, grad)
	for i := range grad {
		grad[i] *= s.scale[i]
	}
	return v, err
}

// chunkingTemplates read words and tags in a window of three.
const chunkingTemplates = "U00:%x[-1,0]\nU01:%x[0,0]\nU02:%x[1,0]\nU10:%x[-2,1]\nU11:%x[-1,1]\nU12:%x[0,1]\nU13:%x[1,1]\nU14:%x[2,1]\nU15:%x[-1,1]|%x[0,1]\nU16:%x[0,1]|%x[1,1]\nU17:%x[-1,1]|%x[0,1]|%x[1,1]\n"

func loadCorruptedSentences(d folder) (drawing, error) {
	var parts [2][]sequence.Example
	for i, name := range []string{"chunking/conll2000-train.txt.gz", "chunking/conll2000-test.txt.gz"} {
		list, err := d.sentences(name)
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			parts[i] = append(parts[i], sequence.Example{Input: sequence.Input{Columns: s.Tokens,
				Source: fmt.Sprintf("%s:%d", name, s.Line)}, Labels: s.Column(-1)})
		}
	}
	templates, err := sequence.ParseTemplates(strings.NewReader(chunkingTemplates), "templates")
	if err != nil {
		return nil, err
	}
	labels := map[string]bool{}
	var names []string
	for _, e := range parts[0] {
		for _, y := range e.Labels {
			if !labels[y] {
				labels[y], names = true, append(names, y)
			}
		}
	}
	return func(ctx context.Context, o *CorruptedOptions, draw *CorruptedDraw) error {
		rng, noise := o.rng(draw, 0), o.rng(draw, 1)
		train := picked(parts[0], sampled(rng, len(parts[0]), o.Train))
		test := picked(parts[1], sampled(rng, len(parts[1]), o.Test))
		s := &structuredDraw{ctx: ctx, o: o, draw: draw, bad: make([]bool, len(train))}
		for _, i := range sampled(noise, len(train), int(math.Round(draw.Level*float64(len(train))))) {
			s.bad[i] = true
			train[i].Labels = relabelled(noise, train[i].Labels, names)
		}
		opts := &sequence.TrainOptions{Templates: templates, Workers: o.Workers,
			Format: sequence.Format{Form: "conll", Columns: len(train[0].Columns[0]),
				Label: len(train[0].Columns[0]) - 1}}
		p, err := sequence.Prepare(train, opts)
		if err != nil {
			return err
		}
		if s.e, err = p.Weighed(opts); err != nil {
			return err
		}
		joint, err := p.Joint(ctx, opts)
		if err != nil {
			return err
		}
		s.scale = joint.Scale(1)
		s.test = func(x []float64) (float64, error) {
			m, err := p.Model(x, "")
			if err != nil {
				return 0, err
			}
			t := m.Tagger()
			wrong, all := 0, 0
			for i := range test {
				u, err := t.Viterbi(&test[i].Input)
				if err != nil {
					return 0, err
				}
				for k, y := range test[i].Labels {
					if all++; u[k] != y {
						wrong++
					}
				}
			}
			return 100 * float64(wrong) / float64(all), nil
		}
		return s.methods()
	}, nil
}

// sentences reads columns at blanks.
func (d folder) sentences(name string) ([]dataset.Sentence, error) {
	f, found, err := d.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := table.Uncompressed(f, found)
	if err != nil {
		return nil, err
	}
	return dataset.ReadColumns(r, found, nil)
}

func picked[T any](list []T, numbers []int) []T {
	out := make([]T, len(numbers))
	for k, i := range numbers {
		out[k] = list[i]
	}
	return out
}

// relabelled changes each label to another with probability 0.3, and one at least.
func relabelled(rng *rand.Rand, labels, names []string) []string {
	out := slices.Clone(labels)
	must := rng.IntN(len(out))
	for t := range out {
		if t == must || rng.Float64() < 0.3 {
			for out[t] == labels[t] {
				out[t] = names[rng.IntN(len(names))]
			}
		}
	}
	return out
}

func loadCorruptedWords(d folder) (drawing, error) {
	var parts [2][]g2p.Pair
	for i, name := range []string{"g2p/dut_train.tsv", "g2p/dut_test.tsv"} {
		f, found, err := d.open(name)
		if err != nil {
			return nil, err
		}
		parts[i], err = g2p.ReadPairs(f, found)
		f.Close()
		if err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{}
	var phones []string
	for _, p := range parts[0] {
		for _, x := range p.Phones {
			if !seen[x] {
				seen[x], phones = true, append(phones, x)
			}
		}
	}
	return func(ctx context.Context, o *CorruptedOptions, draw *CorruptedDraw) error {
		rng, noise := o.rng(draw, 0), o.rng(draw, 1)
		train := picked(parts[0], sampled(rng, len(parts[0]), o.Train))
		test := picked(parts[1], sampled(rng, len(parts[1]), o.Test))
		wrong := make([]bool, len(train))
		for _, i := range sampled(noise, len(train), int(math.Round(draw.Level*float64(len(train))))) {
			wrong[i] = true
			train[i].Phones = misspoken(noise, train[i].Phones, phones)
		}
		p, err := g2p.Prepare(ctx, train, &g2p.Options{Workers: o.Workers})
		if err != nil {
			return err
		}
		objective := g2p.DefaultObjective(g2p.CrossEntropy)
		objective.L2 = 1
		s := &structuredDraw{ctx: ctx, o: o, draw: draw}
		if s.e, err = p.Weighed(ctx, objective); err != nil {
			return err
		}
		taken := make([]bool, len(train))
		for i := range p.Words() {
			s.bad = append(s.bad, wrong[p.Word(i)])
			taken[p.Word(i)] = true
		}
		for i, t := range taken {
			if !t {
				s.lost++
				if wrong[i] {
					s.lostBad++
				}
			}
		}
		number := map[string]int{}
		s.group = func(i int) int {
			word := train[p.Word(i)].Word
			if _, ok := number[word]; !ok {
				number[word] = len(number)
			}
			return number[word]
		}
		s.test = func(x []float64) (float64, error) {
			r, err := g2p.Evaluate("test", []*g2p.Model{p.Model(objective, x)}, test, nil, o.Workers)
			if err != nil {
				return 0, err
			}
			return r.Pooled.Models[0].PER, nil
		}
		return s.methods()
	}, nil
}

// misspoken changes a fifth of the phones, one at least: to another, to nothing, or to itself and
// another behind it. It never gives what it was given, nor nothing.
func misspoken(rng *rand.Rand, phones, all []string) []string {
	for {
		out := slices.Clone(phones)
		for range max(1, len(phones)/5) {
			at := rng.IntN(len(out))
			other := all[rng.IntN(len(all))]
			switch rng.IntN(3) {
			case 0:
				out[at] = other
			case 1:
				if len(out) > 1 {
					out = slices.Delete(out, at, at+1)
				}
			default:
				out = slices.Insert(out, at+1, other)
			}
		}
		if !slices.Equal(out, phones) {
			return out
		}
	}
}
