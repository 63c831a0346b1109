package federated

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/linear"
	"github.com/tropica-fst/tropica/learn/model"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// AverageModel is multinomial logistic regression by federated averaging, on columns as they
// are scaled or on random Fourier features of the Gaussian kernel. W has the weights by
// feature and class, the constants behind.
type AverageModel struct {
	Options  AverageOptions
	Seed     uint64 // of the random features
	Run      string
	Schema   boost.Schema
	Features []linear.Feature
	W        []float64
}

// inputs is a table of what the linear model sees: scaled columns, or √2 cos(w·x + b) of
// random w and b (A. Rahimi and B. Recht, "Random features for large-scale kernel machines",
// NIPS 2007).
func (o *AverageOptions) inputs(x *table.Table, fs []linear.Feature, seed uint64) *table.Table {
	points := scaledRows(rawRows(x, fs), fs)
	out := &table.Table{Rows: x.Rows, Name: x.Name}
	if o.Features == 0 {
		for j := range fs {
			v := make([]float32, x.Rows)
			for i, p := range points {
				v[i] = float32(p[j])
			}
			out.Columns = append(out.Columns, table.Column{Name: fmt.Sprint(j), Values: v})
		}
		return out
	}
	rng := rand.New(rand.NewPCG(seed, 0xf0))
	w := make([]float64, len(fs))
	scale := math.Sqrt(2 / float64(o.Features))
	for range o.Features {
		for j := range w {
			w[j] = rng.NormFloat64() / o.Width
		}
		b := 2 * math.Pi * rng.Float64()
		v := make([]float32, x.Rows)
		for i, p := range points {
			s := b
			for j, a := range p {
				s += w[j] * a
			}
			v[i] = float32(scale * math.Cos(s))
		}
		out.Columns = append(out.Columns, table.Column{Name: fmt.Sprint(len(out.Columns)), Values: v})
	}
	return out
}

// loss is soft-max over all classes.
func lossOf(classes int) score.Loss { return score.SoftMax{Classes: classes} }

// local takes some steps of L-BFGS from the mean weights on the agent's rows.
func (a *Agent) local(ctx context.Context, m *Message, h Head) (*Message, error) {
	o := &a.c.Average
	fs, err := getFeatures(m, len(a.x.Columns))
	if err != nil {
		return nil, err
	}
	x := o.inputs(a.x, fs, a.c.Seed)
	d, k := len(x.Columns), len(a.c.Classes)
	w, err := floats(m, "w", (d+1)*k)
	if err != nil {
		return nil, err
	}
	weight := make([]float64, x.Rows)
	for i := range weight {
		weight[i] = 1 / float64(x.Rows)
	}
	problem := linear.Problem{X: linear.NewDesign(x, plain(d), 1), Loss: lossOf(k), Y: a.class, W: weight,
		L2: o.L2, Workers: 1}
	r, err := optim.LBFGS{}.Minimize(problem.Objective(), w,
		&run.Control{Ctx: ctx, Workers: 1, Stop: run.Stop{Iterations: o.Local}})
	if err != nil {
		return nil, err
	}
	out := newMessage(h, nil)
	put(out, "w", r.X)
	return out, nil
}

// average is federated averaging: in every round all agents start from the mean weights, and
// the new mean is that of theirs by rows (H. B. McMahan et al., "Communication-efficient
// learning of deep networks from decentralized data", AISTATS 2017).
func (s *server) average() (*AverageModel, error) {
	if err := s.join(); err != nil {
		return nil, err
	}
	o := &s.c.Average
	d := len(s.columns)
	got, err := s.sum(sumCall{phase: phaseMoments, groups: [][]string{s.c.names()},
		dim:     func(int) int { return 3 * d },
		request: func(string, int) (*Message, error) { return newMessage(Head{}, nil), nil }})
	if err != nil {
		return nil, err
	}
	fs, err := featuresOf(got.total[0])
	if err != nil {
		return nil, err
	}
	inputs := len(fs)
	if o.Features > 0 {
		inputs = o.Features
	}
	m := &AverageModel{Options: *o, Seed: s.c.Seed, Run: s.run, Schema: s.schema(), Features: fs,
		W: make([]float64, (inputs+1)*len(s.c.Classes))}
	s.reason, err = s.loop.Loop(func() (*run.Row, run.Reason, error) {
		at := slices.Clone(m.W)
		answers, err := s.ask(Call{Phase: phaseLocal, Round: s.loop.Steps() + 1, To: s.c.names(),
			Limit: int64(8*len(at)) + slack,
			Request: func(string, int) (*Message, error) {
				q := newMessage(Head{}, nil)
				putFeatures(q, fs)
				put(q, "w", at)
				return q, nil
			},
			Accept: func(q *Message) error { _, err := floats(q, "w", len(at)); return err }})
		if err != nil {
			return nil, "", err
		}
		clear(m.W)
		total := 0.0
		for _, q := range answers {
			total += float64(s.rows[q.Agent])
		}
		for _, q := range answers {
			w, err := get[float64](q, "w")
			if err != nil {
				return nil, "", err
			}
			share := float64(s.rows[q.Agent]) / total
			for i, v := range w {
				m.W[i] += share * v
			}
		}
		moved := 0.0
		for i, v := range m.W {
			moved += (v - at[i]) * (v - at[i])
		}
		return &run.Row{Objective: math.Sqrt(moved)}, "", nil
	}, nil)
	var interrupted *run.InterruptedError
	if err != nil && !errors.As(err, &interrupted) {
		return nil, err
	}
	return m, err
}

// Predict returns scores: of two classes their difference, of more one of each.
func (m *AverageModel) Predict(ctx context.Context, x *table.Table, workers int) (*learner.Scores, error) {
	if err := m.Schema.Match(x); err != nil {
		return nil, err
	}
	x, err := x.Dense(0)
	if err != nil {
		return nil, err
	}
	in := m.Options.inputs(x, m.Features, m.Seed)
	d, k := len(in.Columns), len(m.Schema.Classes)
	all := make([]float64, x.Rows*k)
	for i := range x.Rows {
		copy(all[i*k:], m.W[d*k:])
		for j := range in.Columns {
			v := float64(in.Columns[j].Values[i])
			for c := range k {
				all[i*k+c] += v * m.W[j*k+c]
			}
		}
	}
	if k > 2 {
		return &learner.Scores{Outputs: k, Score: all, Calibrated: true}, ctx.Err()
	}
	out := &learner.Scores{Outputs: 1, Score: make([]float64, x.Rows), Calibrated: true}
	for i := range out.Score {
		out.Score[i] = all[2*i+1] - all[2*i]
	}
	return out, ctx.Err()
}

const averageKind = "federated average"

type averageMeta struct {
	Run     string         `json:"run"`
	Options AverageOptions `json:"options"`
	Seed    uint64         `json:"seed"`
	Schema  boost.Schema   `json:"schema"`
}

// Write writes the model file.
func (m *AverageModel) Write(w io.Writer) error {
	q := &Message{c: model.New(averageKind, 1)}
	meta, err := json.Marshal(averageMeta{m.Run, m.Options, m.Seed, m.Schema})
	if err != nil {
		return err
	}
	if err := q.c.SetMeta(json.RawMessage(meta)); err != nil {
		return err
	}
	putFeatures(q, m.Features)
	put(q, "w", m.W)
	return q.c.Write(w)
}

// ReadAverage reads a model that Write wrote.
func ReadAverage(r io.Reader) (*AverageModel, error) {
	c, err := model.Read(r, nil)
	if err != nil {
		return nil, err
	}
	return averageOf(c)
}

func averageOf(c *model.Container) (*AverageModel, error) {
	var meta averageMeta
	err := c.Expect(averageKind, 1)
	if err != nil {
		return nil, err
	}
	if err := c.Meta(&meta); err != nil {
		return nil, err
	}
	q := &Message{c: c}
	m := &AverageModel{Options: meta.Options, Seed: meta.Seed, Run: meta.Run, Schema: meta.Schema}
	if err := complete(&m.Options); err != nil {
		return nil, fmt.Errorf("federated: %w: %w", model.ErrFormat, err)
	}
	if m.Features, err = getFeatures(q, len(meta.Schema.Columns)); err != nil {
		return nil, err
	}
	n := len(m.Features)
	if m.Options.Features > 0 {
		n = m.Options.Features
	}
	if len(meta.Schema.Classes) < 2 {
		return nil, fmt.Errorf("federated: %w: %d classes", model.ErrFormat, len(meta.Schema.Classes))
	}
	m.W, err = floats(q, "w", (n+1)*len(meta.Schema.Classes))
	return m, err
}
