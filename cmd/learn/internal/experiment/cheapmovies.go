package experiment

import (
	"fmt"
	"math"
	"time"

	"github.com/tropica-fst/tropica/learn/margin"
	"github.com/tropica-fst/tropica/learn/space"
	"github.com/tropica-fst/tropica/learn/tracking"
)

// CheapMovies is a task of tracking for Cheap. Errors are losses of events, in percent.
type CheapMovies struct {
	Settings string // all that the movies depend on
	// Make returns the movies of a seed: to learn from, to test on, and of another laboratory, the
	// target of transfer, likewise. Without the latter there is no t5.
	Make func(seed int) (train, test, targetTrain, targetTest []*tracking.Movie, err error)
	// Patch is the side of the squares that the pool of active learning is cut into, in pixels.
	Patch float64
}

// CheapCells is the task of simulated cells: default as the source, and shifted as the target.
func CheapCells(movies int, seed uint64) CheapTask {
	settings := fmt.Sprintf("cells movies=%d", movies)
	return CheapTask{Name: "cells", Movies: &CheapMovies{Settings: settings, Patch: 64,
		Make: func(s int) (train, test, targetTrain, targetTest []*tracking.Movie, err error) {
			for k, list := range []*[]*tracking.Movie{&train, &test, &targetTrain, &targetTest} {
				preset := tracking.Presets["default"]
				if k >= 2 {
					preset = tracking.Presets["shifted"]
				}
				for i := range movies {
					m, _, err := tracking.Simulate(&preset, seed+uint64(1000*s+100*k+i))
					if err != nil {
						return nil, nil, nil, nil, err
					}
					*list = append(*list, m)
				}
			}
			return train, test, targetTrain, targetTest, nil
		}}}
}

// CheapTrials is the task of movies that are divided into trials; a seed takes the next trial.
func CheapTrials(t TrackingTask, patch float64) CheapTask {
	return CheapTask{Name: t.Name, Movies: &CheapMovies{Settings: t.settings(), Patch: patch,
		Make: func(s int) (train, test, targetTrain, targetTest []*tracking.Movie, err error) {
			x := &t.Trials[s%len(t.Trials)]
			return all(x.Train, -1), x.Test, nil, nil, nil
		}}}
}

type (
	trackingSample = space.Sample[*tracking.Pair, *tracking.Annotation]
	trackingPool   = margin.Simulation[*tracking.Annotation]
)

// cheapMovies is the experiments of tracking.
type cheapMovies struct {
	cheapCells
	task *CheapMovies

	train, test, targetTrain, targetTest []*tracking.Movie

	samples []trackingSample // of train
	space   *tracking.Space
	model   *tracking.Model
	lambda  float64 // chosen for margins; 0 is not yet
}

func (c *cheapMovies) run() error {
	var err error
	if c.train, c.test, c.targetTrain, c.targetTest, err = c.task.Make(c.seed); err != nil {
		return err
	}
	if c.samples, c.space, c.model, err = tracking.Samples(c.train, nil, c.o.Workers); err != nil {
		return err
	}
	for _, part := range []func() error{c.complete, c.fraction, c.recycling, c.active, c.transfer} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// trackingGap is the accuracy of objectives, in losses of events.
const trackingGap = 0.005

func (c *cheapMovies) margins() margin.Options {
	return margin.Options{Lambda: c.lambda, Gap: trackingGap}
}

// choose picks the penalty of margins: it learns from most movies, and looks at the last.
func (c *cheapMovies) choose() error {
	if c.lambda > 0 {
		return nil
	}
	n := max(1, len(c.train)*3/4)
	samples, s, model, err := tracking.Samples(c.train[:n], nil, c.o.Workers)
	if err != nil {
		return err
	}
	held := c.train[n:]
	if len(held) == 0 {
		held = c.train
	}
	best, chosen := math.Inf(1), 0.0
	for _, lambda := range c.o.Lambda {
		m, _, err := margin.MaxMargin(s, samples, &margin.Options{Lambda: lambda, Gap: trackingGap}, c.control())
		if err != nil {
			return err
		}
		e, err := c.loss(s, model, m.W, held)
		if err != nil {
			return err
		}
		if e < best {
			best, chosen = e, lambda
		}
	}
	c.lambda = chosen
	return nil
}

// loss returns the loss of events of weights on movies, in percent.
func (c *cheapMovies) loss(s *tracking.Space, model *tracking.Model, w []float64,
	movies []*tracking.Movie) (float64, error) {
	m, err := model.WithWeights(s.Weights(w))
	if err != nil {
		return 0, err
	}
	return c.judged(m, movies)
}

func (c *cheapMovies) judged(m *tracking.Model, movies []*tracking.Movie) (float64, error) {
	p, err := m.Predict(c.ctx, movies, c.o.Workers)
	if err != nil {
		return 0, err
	}
	r, err := tracking.Judge(movies, p, 1)
	if err != nil {
		return 0, err
	}
	return 100 * r.Loss, nil
}

// margin fits a learner of package margin to samples, and tests it.
func (c *cheapMovies) margin(table, method string, fraction float64,
	train func(cell *CheapCell) (*margin.Linear, error)) error {
	return c.fit(table, method, fraction, func(cell *CheapCell) error {
		begin := time.Now()
		m, err := train(cell)
		if err != nil {
			return err
		}
		cell.Seconds = time.Since(begin).Seconds()
		return c.measure(cell, m, c.model, c.test)
	})
}

// measure fills in what a cell says of weights.
func (c *cheapMovies) measure(cell *CheapCell, m *margin.Linear, model *tracking.Model,
	test []*tracking.Movie) (err error) {
	cell.Calls, cell.Planes = m.Report.Calls, m.Report.Planes
	if cell.Table == "t3" {
		for k, o := range m.Report.Outer {
			cell.Path = append(cell.Path, [2]float64{float64((o.Tangents + k + 2) * len(c.samples)), o.J})
		}
	}
	cell.Error, err = c.loss(c.space, model, m.W, test)
	return err
}

// complete is T1: learners on complete annotations.
func (c *cheapMovies) complete() error {
	for _, method := range []string{"nearest", "hand", "local"} {
		if err := c.fit("t1", method, 100, func(cell *CheapCell) error {
			o := &tracking.Options{Method: method}
			o.Lambda = c.lambda
			m, _, err := tracking.Train(c.train, o, c.control())
			if err != nil {
				return err
			}
			cell.Error, err = c.judged(m, c.test)
			return err
		}); err != nil {
			return err
		}
	}
	for _, norm := range []string{"l1", "l2"} {
		if err := c.margin("t1", "max-margin "+norm, 100, func(cell *CheapCell) (*margin.Linear, error) {
			o := c.margins()
			if o.Norm = norm; norm == "l1" {
				o.Lambda /= 10 // a penalty of the same size for weights of about 0.2
			}
			m, r, err := margin.MaxMargin(c.space, c.samples, &o, c.control())
			if err == nil {
				cell.J = r.F
			}
			return m, err
		}); err != nil {
			return err
		}
	}
	return c.margin("t1", "perceptron", 100, func(*CheapCell) (*margin.Linear, error) {
		return c.perceptron(c.samples)
	})
}

func (c *cheapMovies) perceptron(samples []trackingSample) (*margin.Linear, error) {
	m, _, err := margin.Perceptron(c.space, samples, &margin.PerceptronOptions{Averaged: true, Passes: 15},
		c.control())
	return m, err
}

// revealed says of each detection whether its event is told, with the probability given.
func (c *cheapMovies) revealed(percent float64) []trackingSample {
	rng := c.rng(2)
	out := make([]trackingSample, len(c.samples))
	for i, e := range c.samples {
		marked := make([]bool, len(e.X.From)+len(e.X.To))
		for v := range marked {
			marked[v] = 100*rng.Float64() < percent
		}
		out[i] = trackingSample{X: e.X, A: e.X.Reveal(marked), Name: e.Name}
		if percent >= 100 {
			out[i].A = e.A
		}
	}
	return out
}

// fraction is T2: loss against the share of detections whose event is told.
func (c *cheapMovies) fraction() error {
	if err := c.margin("t2", "all annotated", 100, func(cell *CheapCell) (*margin.Linear, error) {
		o := c.margins()
		m, r, err := margin.MaxMargin(c.space, c.samples, &o, c.control())
		if err == nil {
			cell.J = r.F
		}
		return m, err
	}); err != nil {
		return err
	}
	for _, f := range t2Fractions {
		samples := c.revealed(f)
		if err := c.margin("t2", "bridge", f, func(cell *CheapCell) (*margin.Linear, error) {
			m, r, err := margin.Partial(c.space, samples, &margin.PartialOptions{Options: c.margins()}, c.control())
			if err == nil {
				cell.J = r.F
			}
			return m, err
		}); err != nil {
			return err
		}
		if err := c.margin("t2", "perceptron", f, func(*CheapCell) (*margin.Linear, error) {
			return c.perceptron(samples)
		}); err != nil {
			return err
		}
	}
	return nil
}

// recycling is T3: what planes that are kept and coarse beginnings save.
func (c *cheapMovies) recycling() error {
	samples := c.revealed(25)
	for _, v := range t3Variants {
		if err := c.margin("t3", v.name, 25, func(cell *CheapCell) (*margin.Linear, error) {
			o := margin.PartialOptions{Options: c.margins(), Forget: v.forget, Precise: v.precise}
			o.Gap = 2 * trackingGap
			m, r, err := margin.Partial(c.space, samples, &o, c.control())
			if err == nil {
				cell.J = r.F
			}
			return m, err
		}); err != nil {
			return err
		}
	}
	return nil
}

// active is T4: what is asked about, by measure and share of the pool. The pool is patches of frame
// pairs.
func (c *cheapMovies) active() error {
	var pool []*tracking.Pair
	var answers trackingPool
	all := 0
	for _, e := range c.samples {
		patches, err := e.X.Patches(c.task.Patch)
		if err != nil {
			return err
		}
		for _, q := range patches {
			pool, answers = append(pool, q), append(answers, q.Annotation())
			all += len(q.From) + len(q.To)
		}
	}
	for _, measure := range margin.Measures {
		if measure == margin.Entropy {
			continue // nothing sums over assignments
		}
		for _, f := range t4Fractions {
			var asked *margin.ActiveResult[*tracking.Pair, *tracking.Annotation]
			ask := func(cell *CheapCell) error {
				if asked != nil {
					return nil
				}
				o := &margin.ActiveOptions{Measure: string(measure), Queries: max(1, int(f/100*float64(len(pool)))),
					Averaged: true, Threshold: -1, Window: min(80, len(pool)/5+2), Seed: uint64(c.seed + 1)}
				var err error
				asked, _, err = margin.Active(c.space, pool, nil, margin.Annotator[*tracking.Annotation](answers), o,
					c.control())
				return err
			}
			known := func() float64 {
				n := 0
				for _, q := range asked.Queries {
					n += len(pool[q.Input].From) + len(pool[q.Input].To)
				}
				return 100 * float64(n) / float64(max(1, all))
			}
			if err := c.margin("t4", string(measure)+", perceptron", f, func(cell *CheapCell) (*margin.Linear, error) {
				if err := ask(cell); err != nil {
					return nil, err
				}
				cell.Known = known()
				for t, q := range asked.Queries {
					if q.Change <= 1e-4 && measure != margin.Random {
						cell.Stop = 100 * float64(t+1) / float64(len(pool))
						break
					}
				}
				return asked.Perceptron, nil
			}); err != nil {
				return err
			}
			if err := c.margin("t4", string(measure)+", combined", f, func(cell *CheapCell) (*margin.Linear, error) {
				if err := ask(cell); err != nil {
					return nil, err
				}
				cell.Known = known()
				o := c.margins()
				m, _, err := margin.MaxMargin(c.space, asked.Data, &o, c.control())
				return m, err
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// transfer is T5: movies of one laboratory, and some frame pairs of another.
func (c *cheapMovies) transfer() error {
	if c.targetTrain == nil {
		return nil
	}
	var samples []trackingSample
	var s *tracking.Space
	var model *tracking.Model
	n := len(c.samples)
	order := c.rng(5)
	one := func(method string, f float64, train func(d []trackingSample, some int) (*margin.Linear,
		error)) error {
		return c.fit("t5", method, f, func(cell *CheapCell) error {
			if samples == nil {
				var err error
				if samples, s, model, err = tracking.Samples(append(c.train[:len(c.train):len(c.train)],
					c.targetTrain...), nil,
					c.o.Workers); err != nil {
					return err
				}
				target := samples[n:]
				order.Shuffle(len(target), func(i, j int) { target[i], target[j] = target[j], target[i] })
			}
			begin := time.Now()
			m, err := train(samples, max(2, int(f/100*float64(len(samples)-n))))
			if err != nil {
				return err
			}
			cell.Seconds, cell.Calls, cell.Planes = time.Since(begin).Seconds(), m.Report.Calls, m.Report.Planes
			cell.Error, err = c.loss(s, model, m.W, c.targetTest)
			return err
		})
	}
	maxMargin := func(d []trackingSample) (*margin.Linear, error) {
		o := c.margins()
		m, _, err := margin.MaxMargin(s, d, &o, c.control())
		return m, err
	}
	if err := one("all source", 0, func(d []trackingSample, _ int) (*margin.Linear, error) {
		return maxMargin(d[:n])
	}); err != nil {
		return err
	}
	if err := one("all target", 100, func(d []trackingSample, _ int) (*margin.Linear, error) {
		return maxMargin(d[n:])
	}); err != nil {
		return err
	}
	for _, f := range t5Fractions {
		if err := one("partial target", f, func(d []trackingSample, some int) (*margin.Linear, error) {
			return maxMargin(d[n : n+some])
		}); err != nil {
			return err
		}
		if err := one("union", f, func(d []trackingSample, some int) (*margin.Linear, error) {
			return maxMargin(d[:n+some])
		}); err != nil {
			return err
		}
		if err := one("transfer", f, func(d []trackingSample, some int) (*margin.Linear, error) {
			share := float64(n) / float64(n+some)
			_, per, _, err := margin.Transfer(s, [][]trackingSample{d[:n], d[n : n+some]},
				&margin.TransferOptions{Lambda: 0.5 * c.lambda, Rho: 2.5 * c.lambda, Gap: trackingGap,
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
