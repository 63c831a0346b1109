package experiment

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/margin"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/sequence"
	"github.com/tropica-fst/tropica/learn/space"
)

// CheapTask is a task of tagging for Cheap, or of tracking.
type CheapTask struct {
	Name        string
	Movies      *CheapMovies // of tracking: nothing of the fields below is used then
	Train, Test []sequence.Example
	Templates   []*sequence.Template
	MinCount    int
	// Shift makes another domain of an input: the target of transfer.
	Shift func(e *sequence.Example, rng *rand.Rand)
}

// CheapOptions adjusts Cheap; zero fields are the defaults given.
type CheapOptions struct {
	Seeds     int    `flag:"seeds" default:"5" min:"1" help:"Seeds"`
	Seed      uint64 `flag:"seed" help:"First seed"`
	Sentences int    `flag:"sentences" default:"300" min:"10" help:"Training sentences of each seed"`
	// Tables are experiments after "Structured learning from cheap data": learners on complete
	// annotations; the annotated fraction; kept planes and coarse starts; active learning;
	// transfer.
	Tables []string `flag:"tables" default:"t1,t2,t3,t4,t5" values:"t1,t2,t3,t4,t5" help:"Tables"`
	// on a fifth of the training sentences
	Lambda  []float64 `flag:"lambda" default:"0.003,0.01,0.03,0.1" above:"0" help:"Penalties to choose from, beside the mean loss of a sentence"`
	Workers int
	Known   []CheapCell
	Save    func(*CheapCell) error
	Done    func(*CheapCell)
}

// CheapCell is one fit.
type CheapCell struct {
	Task     string  `json:"task"`
	Table    string  `json:"table"`
	Method   string  `json:"method"`
	Fraction float64 `json:"fraction"` // of tokens, sentences or target sentences, in percent
	Seed     int     `json:"seed"`
	Settings string  `json:"settings"` // all else that the result depends on

	Error   float64 `json:"error"` // percent of the test tokens
	Seconds float64 `json:"seconds"`
	Calls   int     `json:"inferences,omitempty"` // of one sentence
	J       float64 `json:"objective,omitempty"`
	Planes  int     `json:"planes,omitempty"`
	Stop    float64 `json:"stop,omitempty"`  // percent of the pool at which uncertainty settled; 0 is not
	Known   float64 `json:"known,omitempty"` // of t4, percent of the pool's tokens or detections
	// Path has, after every outer step of t3, inferences so far, those within annotations too, and
	// the objective.
	Path [][2]float64 `json:"path,omitempty"`
}

// CheapReport has all cells, by task, table, method, fraction and seed.
type CheapReport struct {
	Cells []CheapCell `json:"cells"`
}

// Fractions of the experiments, in percent.
var (
	t2Fractions = []float64{5, 10, 25, 50, 100}
	t4Fractions = []float64{5, 10, 17, 30, 40}
	t5Fractions = []float64{5, 10, 20, 30, 50}
)

// t3Variants leave out what saves inferences.
var t3Variants = []struct {
	name            string
	forget, precise bool
}{{"both", false, false}, {"recycling", false, true}, {"adaptive", true, false}, {"neither", true, true}}

// Cheap runs the experiments on the tasks. Every seed draws its own training sentences and what
// of them is known; the test sentences are the same.
func Cheap(ctx context.Context, tasks []CheapTask, o CheapOptions) (*CheapReport, error) {
	if err := learner.Complete(&o, &o); err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	r := &CheapReport{}
	for k := range tasks {
		for seed := range o.Seeds {
			cells := cheapCells{ctx: ctx, name: tasks[k].Name, o: &o, seed: seed, report: r}
			var do interface{ run() error }
			if m := tasks[k].Movies; m != nil {
				cells.settings = fmt.Sprintf("seed=%d %s lambda=%v", o.Seed, m.Settings, o.Lambda)
				c := &cheapMovies{cheapCells: cells, task: m}
				c.before, do = c.choose, c
			} else {
				cells.settings = fmt.Sprintf("seed=%d sentences=%d of=%d test=%d lambda=%v", o.Seed, o.Sentences,
					len(tasks[k].Train), len(tasks[k].Test), o.Lambda)
				c := &cheapRun{cheapCells: cells, task: &tasks[k]}
				c.before, do = c.choose, c
			}
			if err := do.run(); err != nil {
				return nil, fmt.Errorf("%s, seed %d: %w", tasks[k].Name, seed+1, err)
			}
		}
	}
	return r, nil
}

// cheapCells makes the cells of one task and seed.
type cheapCells struct {
	ctx      context.Context
	name     string // of the task
	o        *CheapOptions
	seed     int
	report   *CheapReport
	settings string
	before   func() error // what the first cell that is made needs
}

// cheapRun is the experiments of tagging.
type cheapRun struct {
	cheapCells
	task *CheapTask

	train  []sequence.Example
	labels []string
	lambda float64 // chosen for max-margin; 0 is not yet
	l2     float64 // of likelihoods, beside the mean

	weightsOf int // of a model
}

// fit is one cell, unless it is known.
func (c *cheapCells) fit(table, method string, fraction float64, do func(cell *CheapCell) error) error {
	if !slices.Contains(c.o.Tables, table) {
		return nil
	}
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	cell := CheapCell{Task: c.name, Table: table, Method: method, Fraction: fraction, Seed: c.seed + 1,
		Settings: c.settings}
	for _, k := range c.o.Known {
		if k.Task == cell.Task && k.Table == table && k.Method == method && k.Fraction == fraction &&
			k.Seed == cell.Seed && k.Settings == cell.Settings {
			c.report.Cells = append(c.report.Cells, k)
			return nil
		}
	}
	if err := c.before(); err != nil {
		return err
	}
	begin := time.Now()
	if err := do(&cell); err != nil {
		return fmt.Errorf("%s, %s: %w", table, method, err)
	}
	if cell.Seconds == 0 {
		cell.Seconds = time.Since(begin).Seconds()
	}
	c.report.Cells = append(c.report.Cells, cell)
	if c.o.Done != nil {
		c.o.Done(&cell)
	}
	if c.o.Save != nil {
		return c.o.Save(&cell)
	}
	return nil
}

func (c *cheapCells) rng(stream uint64) *rand.Rand {
	return rand.New(rand.NewPCG(c.o.Seed+uint64(c.seed)*1000, stream))
}

func (c *cheapCells) control() *run.Control { return &run.Control{Ctx: c.ctx, Workers: c.o.Workers} }

// tagging is a problem with its space.
type tagging struct {
	*sequence.Problem
	s *sequence.Space
}

// prepare numbers examples; some labels may be "".
func (c *cheapRun) prepare(examples []sequence.Example) (*tagging, error) {
	p, err := sequence.Prepare(examples, c.options())
	if err != nil {
		return nil, err
	}
	s, err := p.Space(false)
	return &tagging{p, s}, err
}

func (c *cheapRun) options() *sequence.TrainOptions {
	return &sequence.TrainOptions{Partial: true, Templates: c.task.Templates, MinCount: c.task.MinCount,
		Observed: false, Labels: c.labels, Workers: c.o.Workers, Control: *c.control()}
}

// wrong returns the percentage of tokens that a model labels wrong.
func (c *cheapRun) wrong(m *sequence.Model, test []sequence.Example) (float64, error) {
	t := m.Tagger()
	wrong, all := 0, 0
	for i := range test {
		got, err := t.Viterbi(&test[i].Input)
		if err != nil {
			return 0, err
		}
		for k, y := range test[i].Labels {
			all++
			if got[k] != y {
				wrong++
			}
		}
	}
	return 100 * float64(wrong) / float64(max(1, all)), nil
}

// weights measures weights of a problem on test sentences.
func (c *cheapRun) weights(cell *CheapCell, p *tagging, m *margin.Linear, test []sequence.Example) error {
	model, err := p.Model(m.W, "")
	if err != nil {
		return err
	}
	cell.Calls, cell.Planes = m.Report.Calls, m.Report.Planes
	if cell.Table == "t3" {
		for _, o := range m.Report.Outer {
			cell.Path = append(cell.Path, [2]float64{float64((o.Tangents + len(cell.Path) + 2) * p.Examples()), o.J})
		}
	}
	cell.Error, err = c.wrong(model, test)
	return err
}

// gap is the accuracy of objectives, in wrong tokens a sentence.
const cheapGap = 0.02

func (c *cheapRun) margins(lambda float64) margin.Options {
	return margin.Options{Lambda: lambda, Gap: cheapGap}
}

// choose picks the penalties of margins and likelihoods on a fifth of the training sentences.
func (c *cheapRun) choose() error {
	if c.lambda > 0 {
		return nil
	}
	n := len(c.train) * 4 / 5
	p, err := c.prepare(c.train[:n])
	if err != nil {
		return err
	}
	c.weightsOf = p.Dim()
	best := [2]float64{math.Inf(1), math.Inf(1)}
	for _, lambda := range c.o.Lambda {
		m, _, err := margin.MaxMargin(p.s, p.s.Samples(), ptr(c.margins(lambda)), c.control())
		if err != nil {
			return err
		}
		var cell CheapCell
		if err := c.weights(&cell, p, m, c.train[n:]); err != nil {
			return err
		}
		if cell.Error < best[0] {
			best[0], c.lambda = cell.Error, lambda
		}
		o := c.options()
		o.L2 = lambda * float64(n)
		crf, _, err := sequence.Train(c.train[:n], o)
		if err != nil {
			return err
		}
		e, err := c.wrong(crf, c.train[n:])
		if err != nil {
			return err
		}
		if e < best[1] {
			best[1], c.l2 = e, lambda
		}
	}
	return nil
}

func ptr[T any](v T) *T { return &v }

// masked hides labels: each is known with the given probability.
func masked(examples []sequence.Example, percent float64, rng *rand.Rand) []sequence.Example {
	out := slices.Clone(examples)
	for i := range out {
		out[i].Labels = slices.Clone(out[i].Labels)
		for k := range out[i].Labels {
			if 100*rng.Float64() >= percent {
				out[i].Labels[k] = ""
			}
		}
	}
	return out
}

func (c *cheapRun) run() error {
	order := c.rng(1).Perm(len(c.task.Train))
	for _, i := range order[:min(len(order), c.o.Sentences)] {
		c.train = append(c.train, c.task.Train[i])
	}
	for i := range c.task.Train {
		c.labels = append(c.labels, c.task.Train[i].Labels...)
	}
	slices.Sort(c.labels)
	c.labels = slices.Compact(c.labels)
	for _, part := range []func() error{c.complete, c.fraction, c.recycling, c.active, c.transfer} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// sequences fits a model of package sequence.
func (c *cheapRun) sequences(table, method string, fraction float64, examples []sequence.Example,
	change func(o *sequence.TrainOptions)) error {
	return c.fit(table, method, fraction, func(cell *CheapCell) error {
		o := c.options()
		o.L2 = c.l2 * float64(len(examples))
		change(o)
		begin := time.Now()
		m, r, err := sequence.Train(examples, o)
		if err != nil {
			return err
		}
		cell.Seconds, cell.Calls = time.Since(begin).Seconds(), r.Evaluations*len(examples)
		cell.Error, err = c.wrong(m, c.task.Test)
		return err
	})
}

// margin fits a learner of package margin.
func (c *cheapRun) margin(table, method string, fraction float64, examples []sequence.Example,
	train func(s *sequence.Space, data []space.Sample[int, []int]) (*margin.Linear, float64, error)) error {
	return c.fit(table, method, fraction, func(cell *CheapCell) error {
		p, err := c.prepare(examples)
		if err != nil {
			return err
		}
		begin := time.Now()
		m, j, err := train(p.s, p.s.Samples())
		if err != nil {
			return err
		}
		cell.Seconds, cell.J = time.Since(begin).Seconds(), j
		return c.weights(cell, p, m, c.task.Test)
	})
}

// complete is T1: learners on complete annotations.
func (c *cheapRun) complete() error {
	if err := c.sequences("t1", "local classifier", 100, c.train,
		func(o *sequence.TrainOptions) { o.Order = 1 }); err != nil {
		return err
	}
	if err := c.margin("t1", "perceptron", 100, c.train,
		func(s *sequence.Space, data []space.Sample[int, []int]) (*margin.Linear, float64, error) {
			m, _, err := margin.Perceptron(s, data, &margin.PerceptronOptions{Averaged: true, Passes: 15}, c.control())
			return m, 0, err
		}); err != nil {
		return err
	}
	if err := c.sequences("t1", "crf", 100, c.train, func(o *sequence.TrainOptions) {}); err != nil {
		return err
	}
	if err := c.sequences("t1", "smooth max-margin", 100, c.train,
		func(o *sequence.TrainOptions) { o.Kind, o.L2 = sequence.MaxMargin, c.lambda*float64(len(c.train)) }); err != nil {
		return err
	}
	for _, norm := range []string{"l1", "l2"} {
		if norm == "l1" && c.weightsOf > 2000 {
			continue // its linear programs take planes² · weights
		}
		if err := c.margin("t1", "max-margin "+norm, 100, c.train,
			func(s *sequence.Space, data []space.Sample[int, []int]) (*margin.Linear, float64, error) {
				o := c.margins(c.lambda)
				if o.Norm = norm; norm == "l1" {
					// A penalty of the same size for weights of about 0.2.
					o.Lambda = c.lambda / 10
					o.Gap, o.Keep, o.Pull = 3*cheapGap, 60, 0.8
				}
				control := c.control()
				control.Stop.Iterations = 200 // l1 swings: see the objective for how far it came
				m, r, err := margin.MaxMargin(s, data, &o, control)
				if err != nil {
					return nil, 0, err
				}
				return m, r.F, nil
			}); err != nil {
			return err
		}
	}
	return nil
}

// fraction is T2: error against the annotated fraction of tokens.
func (c *cheapRun) fraction() error {
	if err := c.margin("t2", "all annotated", 100, c.train,
		func(s *sequence.Space, data []space.Sample[int, []int]) (*margin.Linear, float64, error) {
			m, r, err := margin.MaxMargin(s, data, ptr(c.margins(c.lambda)), c.control())
			if err != nil {
				return nil, 0, err
			}
			return m, r.F, nil
		}); err != nil {
		return err
	}
	for _, f := range t2Fractions {
		examples := masked(c.train, f, c.rng(2))
		if err := c.margin("t2", "bridge", f, examples,
			func(s *sequence.Space, data []space.Sample[int, []int]) (*margin.Linear, float64, error) {
				m, r, err := margin.Partial(s, data, &margin.PartialOptions{Options: c.margins(c.lambda)}, c.control())
				if err != nil {
					return nil, 0, err
				}
				return m, r.F, nil
			}); err != nil {
			return err
		}
		if err := c.margin("t2", "perceptron", f, examples,
			func(s *sequence.Space, data []space.Sample[int, []int]) (*margin.Linear, float64, error) {
				m, r, err := margin.Perceptron(s, data, &margin.PerceptronOptions{Averaged: true, Passes: 15},
					c.control())
				if err != nil {
					return nil, 0, err
				}
				return m, r.F, nil
			}); err != nil {
			return err
		}
		if err := c.sequences("t2", "likelihood", f, examples, func(o *sequence.TrainOptions) {}); err != nil {
			return err
		}
		if err := c.sequences("t2", "smooth bridge", f, examples, func(o *sequence.TrainOptions) {
			o.Kind, o.L2 = sequence.MaxMargin, c.lambda*float64(len(examples))
		}); err != nil {
			return err
		}
	}
	return nil
}

// recycling is T3: what planes that are kept and coarse beginnings save.
func (c *cheapRun) recycling() error {
	examples := masked(c.train, 25, c.rng(2))
	o := c.margins(c.lambda)
	o.Gap = 2.5 * cheapGap
	for _, v := range t3Variants {
		if err := c.margin("t3", v.name, 25, examples,
			func(s *sequence.Space, data []space.Sample[int, []int]) (*margin.Linear, float64, error) {
				m, r, err := margin.Partial(s, data, &margin.PartialOptions{Options: o, Forget: v.forget,
					Precise: v.precise}, c.control())
				if err != nil {
					return nil, 0, err
				}
				return m, r.F, nil
			}); err != nil {
			return err
		}
	}
	return nil
}

// active is T4: what is asked about, by measure and share of the pool.
func (c *cheapRun) active() error {
	hidden := slices.Clone(c.train)
	for i := range hidden {
		hidden[i].Labels = make([]string, len(hidden[i].Labels))
	}
	for _, m := range margin.Measures {
		for _, f := range t4Fractions {
			var combined *CheapCell
			if err := c.fit("t4", string(m)+", perceptron", f, func(cell *CheapCell) error {
				return c.ask(cell, hidden, m, f, &combined)
			}); err != nil {
				return err
			}
			if err := c.fit("t4", string(m)+", combined", f, func(cell *CheapCell) error {
				if combined == nil { // the perceptron was known
					var other CheapCell
					if err := c.ask(&other, hidden, m, f, &combined); err != nil {
						return err
					}
				}
				cell.Error, cell.Calls, cell.Seconds, cell.Known = combined.Error, combined.Calls, combined.Seconds,
					combined.Known
				return nil
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// ask runs active learning up to a share of the pool.
func (c *cheapRun) ask(cell *CheapCell, hidden []sequence.Example, measure margin.Measure, percent float64,
	combined **CheapCell) error {
	p, err := c.prepare(hidden)
	if err != nil {
		return err
	}
	truth, err := c.prepare(c.train)
	if err != nil {
		return err
	}
	pool, answers := make([]int, len(hidden)), margin.Simulation[[]int]{}
	for i := range pool {
		pool[i] = i
		answers = append(answers, truth.s.Labels(i))
	}
	begin := time.Now()
	var annotator margin.Annotator[[]int] = answers
	o := &margin.ActiveOptions{Measure: string(measure), Queries: max(1, int(percent/100*float64(len(pool)))),
		Averaged: true, Threshold: -1, Window: min(80, len(pool)/5+2), Seed: uint64(c.seed + 1)}
	r, _, err := margin.Active(p.s, pool, nil, annotator, o, c.control())
	if err != nil {
		return err
	}
	cell.Seconds = time.Since(begin).Seconds()
	for t, q := range r.Queries {
		if q.Change <= 1e-4 && measure != margin.Random {
			cell.Stop = 100 * float64(t+1) / float64(len(pool))
			break
		}
	}
	known, all := 0, 0
	for i := range pool {
		all += len(answers[i])
	}
	for _, q := range r.Queries {
		known += len(answers[q.Input])
	}
	cell.Known = 100 * float64(known) / float64(max(1, all))
	if err := c.weights(cell, p, r.Perceptron, c.task.Test); err != nil {
		return err
	}
	begin = time.Now()
	m, _, err := margin.MaxMargin(p.s, r.Data, ptr(c.margins(c.lambda)), c.control())
	if err != nil {
		return err
	}
	*combined = &CheapCell{Seconds: time.Since(begin).Seconds(), Known: cell.Known}
	return c.weights(*combined, p, m, c.task.Test)
}

// transfer is T5: a source of another domain, and some of the target.
func (c *cheapRun) transfer() error {
	if c.task.Shift == nil {
		return nil
	}
	rng := c.rng(5)
	shifted := func(list []sequence.Example) []sequence.Example {
		out := slices.Clone(list)
		for i := range out {
			c.task.Shift(&out[i], rng)
		}
		return out
	}
	n := len(c.train) / 2
	source, target, test := c.train[:n], shifted(c.train[n:]), shifted(c.task.Test)
	examples := append(slices.Clone(source), target...)
	var p *tagging
	one := func(method string, f float64, train func(data []space.Sample[int, []int],
		some int) (*margin.Linear, error)) error {
		return c.fit("t5", method, f, func(cell *CheapCell) error {
			var err error
			if p == nil {
				if p, err = c.prepare(examples); err != nil {
					return err
				}
			}
			begin := time.Now()
			m, err := train(p.s.Samples(), max(2, int(f/100*float64(len(target)))))
			if err != nil {
				return err
			}
			cell.Seconds = time.Since(begin).Seconds()
			return c.weights(cell, p, m, test)
		})
	}
	maxMargin := func(data []space.Sample[int, []int]) (*margin.Linear, error) {
		m, _, err := margin.MaxMargin(p.s, data, ptr(c.margins(c.lambda)), c.control())
		return m, err
	}
	if err := one("all source", 0, func(d []space.Sample[int, []int], _ int) (*margin.Linear,
		error) {
		return maxMargin(d[:n])
	}); err != nil {
		return err
	}
	if err := one("all target", 100, func(d []space.Sample[int, []int], _ int) (*margin.Linear,
		error) {
		return maxMargin(d[n:])
	}); err != nil {
		return err
	}
	for _, f := range t5Fractions {
		if err := one("partial target", f, func(d []space.Sample[int, []int], some int) (*margin.Linear,
			error) {
			return maxMargin(d[n : n+some])
		}); err != nil {
			return err
		}
		if err := one("union", f, func(d []space.Sample[int, []int], some int) (*margin.Linear,
			error) {
			return maxMargin(d[:n+some])
		}); err != nil {
			return err
		}
		if err := one("transfer", f, func(d []space.Sample[int, []int], some int) (*margin.Linear, error) {
			// The published ratios of penalties: 0.5 and 2.5 beside 1 of the union. Weights by
			// size make the limit of a large rho the union.
			share := float64(n) / float64(n+some)
			_, per, _, err := margin.Transfer(p.s, [][]space.Sample[int, []int]{d[:n], d[n : n+some]},
				&margin.TransferOptions{Lambda: 0.5 * c.lambda, Rho: 2.5 * c.lambda, Gap: cheapGap,
					Weights: []float64{share, 1 - share}}, c.control())
			if err != nil {
				return nil, err
			}
			return per[1], nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// CheapMean is a method at a fraction, over seeds.
type CheapMean struct {
	Task, Table, Method       string
	Fraction                  float64
	Error, Deviation          float64
	Seconds, Calls, J, Planes float64
	Stop                      float64 // mean over the seeds that settled
	Known                     float64
	Seeds                     int
	settled                   int
	squares                   float64
}

// Means returns the cells over seeds, in the order in which they first come.
func (r *CheapReport) Means() []CheapMean {
	var out []CheapMean
	for _, c := range r.Cells {
		i := slices.IndexFunc(out, func(m CheapMean) bool {
			return m.Task == c.Task && m.Table == c.Table && m.Method == c.Method && m.Fraction == c.Fraction
		})
		if i < 0 {
			i = len(out)
			out = append(out, CheapMean{Task: c.Task, Table: c.Table, Method: c.Method, Fraction: c.Fraction})
		}
		m := &out[i]
		m.Seeds++
		m.Error += c.Error
		m.squares += c.Error * c.Error
		m.Seconds += c.Seconds
		m.Calls += float64(c.Calls)
		m.J += c.J
		m.Planes += float64(c.Planes)
		m.Known += c.Known
		if c.Stop > 0 {
			m.Stop += c.Stop
			m.settled++
		}
	}
	for i := range out {
		m := &out[i]
		n := float64(m.Seeds)
		m.Error /= n
		if n > 1 {
			m.Deviation = math.Sqrt(math.Max(0, (m.squares-n*m.Error*m.Error)/(n-1)))
		}
		m.Seconds, m.Calls, m.J, m.Planes = m.Seconds/n, m.Calls/n, m.J/n, m.Planes/n
		m.Known /= n
		m.Stop /= math.Max(1, float64(m.settled))
	}
	return out
}

// Reaching returns, for the methods of t3 of a task, the mean over seeds of the inferences within
// outer steps until the objective is within 1 % of the final value of "neither". It is NaN where a
// seed did not reach that.
func (r *CheapReport) Reaching(task string) map[string]float64 {
	goal := map[int]float64{}
	for _, c := range r.Cells {
		if c.Task == task && c.Table == "t3" && c.Method == "neither" {
			goal[c.Seed] = 1.01 * c.J
		}
	}
	sum, n := map[string]float64{}, map[string]float64{}
	for _, c := range r.Cells {
		j, ok := goal[c.Seed]
		if c.Task != task || c.Table != "t3" || !ok {
			continue
		}
		at := math.NaN()
		last := [2]float64{0, math.Inf(1)}
		for _, p := range c.Path {
			if p[1] <= j {
				// Between two outer steps the objective is taken to fall evenly.
				at = p[0]
				if !math.IsInf(last[1], 1) && last[1] > p[1] {
					at = last[0] + (p[0]-last[0])*(last[1]-j)/(last[1]-p[1])
				}
				break
			}
			last = p
		}
		sum[c.Method] += at
		n[c.Method]++
	}
	for m := range sum {
		sum[m] /= n[m]
	}
	return sum
}

// Saving returns, of t4 of a task, at which share of the pool a method reaches the mean error that
// another has at each of its shares, in percent. It interpolates linearly between shares, and is
// NaN where the method does not reach that.
func (r *CheapReport) Saving(task, method, other string) [][2]float64 {
	var own, than []CheapMean
	for _, m := range r.Means() {
		if m.Task == task && m.Table == "t4" && m.Method == method {
			own = append(own, m)
		}
		if m.Task == task && m.Table == "t4" && m.Method == other {
			than = append(than, m)
		}
	}
	var out [][2]float64
	for _, o := range than {
		at := math.NaN()
		for k, m := range own {
			if m.Error > o.Error {
				continue
			}
			if at = m.Fraction; k > 0 {
				p := own[k-1]
				at = p.Fraction + (m.Fraction-p.Fraction)*(p.Error-o.Error)/(p.Error-m.Error)
			}
			break
		}
		out = append(out, [2]float64{o.Fraction, at})
	}
	return out
}

// WriteTable writes means and standard deviations.
func (r *CheapReport) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	last := ""
	reaching := func(task string) {
		to := r.Reaching(task)
		fmt.Fprintf(t, "(inferences until 1 %% above the objective that neither ends with:")
		for _, m := range []string{"both", "recycling", "adaptive", "neither"} {
			fmt.Fprintf(t, " %s %.0f", m, to[m])
		}
		fmt.Fprintln(t, ")")
	}
	saving := func(task string) {
		for _, m := range margin.Measures {
			if m == margin.Random {
				continue
			}
			for _, by := range []string{", perceptron", ", combined"} {
				list := r.Saving(task, string(m)+by, string(margin.Random)+by)
				if len(list) == 0 {
					continue
				}
				fmt.Fprintf(t, "(%s%s: the error of random at", m, by)
				for _, x := range list {
					fmt.Fprintf(t, " %g", x[0])
				}
				fmt.Fprint(t, " % of the pool is reached at")
				for _, x := range list {
					fmt.Fprintf(t, " %.3g", x[1])
				}
				fmt.Fprintln(t, ")")
			}
		}
	}
	ended := func(table, task string) {
		switch table {
		case "t3":
			reaching(task)
		case "t4":
			saving(task)
		}
	}
	var before CheapMean
	for _, m := range r.Means() {
		if m.Table != before.Table || m.Task != before.Task {
			ended(before.Table, before.Task)
		}
		before = m
		if key := m.Task + " " + m.Table; key != last {
			if last != "" {
				fmt.Fprintln(t)
			}
			last = key
			fmt.Fprintf(t, "%s, %s\t%%\terror %%\t±\tseconds\tinferences\tobjective\tplanes\tknown %%\tsettled at "+
				"%%\n", m.Task,
				strings.ToUpper(m.Table))
		}
		settled := ""
		if m.Stop > 0 {
			settled = fmt.Sprintf("%.0f", m.Stop)
		}
		known := ""
		if m.Known > 0 {
			known = fmt.Sprintf("%.0f", m.Known)
		}
		fmt.Fprintf(t, "%s\t%g\t%.2f\t%.2f\t%.2f\t%.0f\t%.4g\t%.0f\t%s\t%s\n", m.Method, m.Fraction, m.Error,
			m.Deviation, m.Seconds, m.Calls, m.J, m.Planes, known, settled)
	}
	ended(before.Table, before.Task)
	return t.Flush()
}

// WriteCSV writes all cells.
func (r *CheapReport) WriteCSV(w io.Writer) error {
	t := csv.NewWriter(w)
	t.Write([]string{"task", "table", "method", "fraction", "seed", "error", "seconds", "inferences",
		"objective", "planes", "settled"})
	f := func(v float64) string { return strconv.FormatFloat(v, 'g', 8, 64) }
	for _, c := range r.Cells {
		t.Write([]string{c.Task, c.Table, c.Method, f(c.Fraction), strconv.Itoa(c.Seed), f(c.Error), f(c.Seconds),
			strconv.Itoa(c.Calls), f(c.J), strconv.Itoa(c.Planes), f(c.Stop)})
	}
	t.Flush()
	return t.Error()
}

// CheapGenerator draws sentences of a hidden Markov chain: labels that follow one another, words
// that tell them more or less, and some that tell nothing.
func CheapGenerator(train, test int, seed uint64) CheapTask {
	rng := rand.New(rand.NewPCG(seed, 77))
	const labels, words = 6, 120
	chain := make([][]float64, labels)
	for a := range chain {
		chain[a] = make([]float64, labels)
		for b := range chain[a] {
			chain[a][b] = math.Exp(1.5 * rng.NormFloat64())
		}
	}
	draw := func(weights []float64) int {
		total := 0.0
		for _, v := range weights {
			total += v
		}
		x := rng.Float64() * total
		for k, v := range weights {
			if x -= v; x < 0 {
				return k
			}
		}
		return len(weights) - 1
	}
	emit := make([][]float64, labels)
	for y := range emit {
		emit[y] = make([]float64, words)
		for v := range emit[y] {
			emit[y][v] = math.Exp(2.2 * rng.NormFloat64())
		}
	}
	sentences := func(n int) []sequence.Example {
		var out []sequence.Example
		for range n {
			e := sequence.Example{}
			y := rng.IntN(labels)
			for range 5 + rng.IntN(11) {
				y = draw(chain[y])
				e.Labels = append(e.Labels, "L"+strconv.Itoa(y))
				e.Attributes = append(e.Attributes, []sequence.Attribute{
					{Name: "w" + strconv.Itoa(draw(emit[y])), Value: 1},
					{Name: "v" + strconv.Itoa(draw(emit[y])/8), Value: 1}})
			}
			out = append(out, e)
		}
		return out
	}
	return CheapTask{Name: "generator", Train: sentences(train), Test: sentences(test), MinCount: 1,
		Shift: func(e *sequence.Example, rng *rand.Rand) {
			// The other domain has other words for a third of what it says.
			e.Attributes = slices.Clone(e.Attributes)
			for t, row := range e.Attributes {
				row = slices.Clone(row)
				if v, err := strconv.Atoi(row[0].Name[1:]); err == nil && v%3 == 0 {
					row[0].Name = "w" + strconv.Itoa((v+37)%words)
				}
				e.Attributes[t] = row
			}
		}}
}
