package multi

import (
	"bytes"
	"encoding"
	"fmt"
	"io"
	"math"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/linear"
	"github.com/tropica-fst/tropica/learn/model"
)

const (
	fileKind    = "multiboost"
	fileVersion = 1
)

// fileMeta is the header's part of a file: all but the numbers.
type fileMeta struct {
	Settings    string   `json:"settings"`
	Sources     []string `json:"sources"`
	Rows        []int    `json:"rows"`
	Learners    []string `json:"learners"`
	Shared      bool     `json:"shared"`
	Trained     int      `json:"trained"`
	CrossFitted bool     `json:"cross_fitted"`
	Apart       bool     `json:"apart"`
	Warnings    []string `json:"warnings,omitempty"`
	Q           string   `json:"q"` // kind of the domain classifier; "" is none
}

// Write writes the model; Read reads it back so that all scores are the same to the last
// bit. Each slot is a file of package boost within this one, so that predictors of a
// user's type are saved under the same condition: boost.RegisterPredictor. A
// classifier of a user's type must be registered too (RegisterClassifier).
func (m *Model) Write(w io.Writer) error {
	c := model.New(fileKind, fileVersion)
	meta := fileMeta{m.Settings, m.Sources, m.Rows, m.Learners, m.Shared, m.Trained, m.CrossFitted,
		m.Apart, m.Warnings, ""}
	p := m.Domains()
	switch q := m.Q.(type) {
	case nil:
	case Uniform:
		meta.Q = "uniform"
	case TrueSource:
		meta.Q = "source"
	case *Logistic:
		meta.Q = "logistic"
		q.put(c)
	default:
		name, ok := classifiers.Load(fmt.Sprintf("%T", q))
		b, marshals := q.(encoding.BinaryMarshaler)
		if !ok || !marshals {
			return fmt.Errorf("multi: the domain classifier cannot be saved: its type %T is not registered "+
				"(RegisterClassifier)", q)
		}
		data, err := b.MarshalBinary()
		if err != nil {
			return fmt.Errorf("multi: the domain classifier cannot be saved: %w", err)
		}
		meta.Q = "user:" + name.(string)
		model.Put(c, "q/user", data)
	}
	if err := c.SetMeta(meta); err != nil {
		return fmt.Errorf("multi: %w", err)
	}
	for s, e := range m.Slots {
		var b bytes.Buffer
		if err := e.Write(&b); err != nil {
			return fmt.Errorf("multi: slot %d: %w", s+1, err)
		}
		model.Put(c, fmt.Sprintf("slot/%d", s), b.Bytes())
	}
	mean, history := make([]float64, 0, p*p), make([]float64, 0, p*len(m.History))
	for _, row := range m.MeanQ {
		mean = append(mean, row...)
	}
	for _, row := range m.History {
		history = append(history, row...)
	}
	model.Put(c, "mean_q", mean)
	model.Put(c, "history", history)
	model.Put(c, "numbers", []float64{m.QLambda, m.QLogLoss})
	return c.Write(w)
}

// put stores the numbers of a logistic regression.
func (l *Logistic) put(c *model.Container) {
	n := len(l.Features)
	column, level := make([]int32, n), make([]int32, n)
	mean, scale := make([]float64, n), make([]float64, n)
	for j, f := range l.Features {
		column[j], level[j], mean[j], scale[j] = int32(f.Column), int32(f.Level), f.Mean, f.Scale
	}
	model.Put(c, "q/column", column)
	model.Put(c, "q/level", level)
	model.Put(c, "q/mean", mean)
	model.Put(c, "q/scale", scale)
	model.Put(c, "q/w", l.W)
	model.Put(c, "q/bias", l.Bias)
	model.Put(c, "q/numbers", []float64{l.Temperature, l.Floor})
}

// Read reads a model that Write wrote. It trusts nothing: every departure is an error
// with one of package model's reasons, and memory grows with the file.
func Read(r io.Reader) (*Model, error) {
	var meta fileMeta
	c, err := model.ReadKind(r, fileKind, fileVersion, &meta)
	if err != nil {
		return nil, err
	}
	bad := func(format string, v ...any) error {
		return fmt.Errorf("multi: %w: %s", model.ErrFormat, fmt.Sprintf(format, v...))
	}
	p := len(meta.Sources)
	slots := p
	if meta.Shared {
		slots++
	}
	if p == 0 || len(meta.Rows) != p || len(meta.Learners) != slots || meta.Trained < 0 {
		return nil, bad("%d sources, %d counts of rows, %d learners, %d rounds", p, len(meta.Rows),
			len(meta.Learners), meta.Trained)
	}
	m := &Model{Settings: meta.Settings, Sources: meta.Sources, Rows: meta.Rows, Learners: meta.Learners,
		Shared: meta.Shared, Trained: meta.Trained, CrossFitted: meta.CrossFitted, Apart: meta.Apart,
		Warnings: meta.Warnings}
	for s := range slots {
		b, err := model.Get[uint8](c, fmt.Sprintf("slot/%d", s))
		if err != nil {
			return nil, err
		}
		e, err := boost.Read(bytes.NewReader(b))
		if err != nil {
			return nil, fmt.Errorf("multi: slot %d: %w", s+1, err)
		}
		if len(e.Start) != 1 || e.Start[0] != 0 || e.Rounds() > meta.Trained {
			return nil, bad("slot %d starts from %v and has %d of %d rounds", s+1, e.Start, e.Rounds(), meta.Trained)
		}
		if s > 0 && (e.Loss.Name() != m.Loss.Name() || len(e.Schema.Columns) != len(m.Schema.Columns)) {
			return nil, bad("slot %d has another loss or other columns than the first", s+1)
		}
		if s == 0 {
			m.Loss, m.Schema = e.Loss, e.Schema
			if _, err := phiOf(e.Loss); err != nil {
				return nil, bad("%v", err)
			}
		}
		m.Slots = append(m.Slots, e)
	}
	mean, err := model.Get[float64](c, "mean_q", p*p)
	if err != nil {
		return nil, err
	}
	for k := range p {
		m.MeanQ = append(m.MeanQ, mean[k*p:(k+1)*p:(k+1)*p])
	}
	history, err := model.Get[float64](c, "history")
	if err != nil {
		return nil, err
	}
	if len(history)%p != 0 {
		return nil, bad("a history of %d numbers for %d domains", len(history), p)
	}
	for at := 0; at < len(history); at += p {
		m.History = append(m.History, history[at:at+p:at+p])
	}
	numbers, err := model.Get[float64](c, "numbers", 2)
	if err != nil {
		return nil, err
	}
	m.QLambda, m.QLogLoss = numbers[0], numbers[1]
	return m, m.loadQ(c, meta.Q)
}

func (m *Model) loadQ(c *model.Container, kind string) error {
	p := m.Domains()
	switch {
	case kind == "":
	case kind == "uniform":
		m.Q = Uniform{p}
	case kind == "source":
		m.Q = TrueSource{p}
	case kind == "logistic":
		l, err := getLogistic(c, p, &m.Schema)
		if err != nil {
			return err
		}
		m.Q = l
	case len(kind) > 5 && kind[:5] == "user:":
		decode, ok := classifiers.Load("name:" + kind[5:])
		if !ok {
			return fmt.Errorf("multi: the model has a domain classifier of kind %q, which this program does not "+
				"know (RegisterClassifier)", kind[5:])
		}
		b, err := model.Get[uint8](c, "q/user")
		if err != nil {
			return err
		}
		if m.Q, err = decode.(func([]byte) (Classifier, error))(b); err != nil {
			return fmt.Errorf("multi: domain classifier of kind %q: %w", kind[5:], err)
		}
	default:
		return fmt.Errorf("multi: %w: domain classifier of kind %q", model.ErrFormat, kind)
	}
	return nil
}

func getLogistic(c *model.Container, p int, s *boost.Schema) (*Logistic, error) {
	column, err := model.Get[int32](c, "q/column")
	if err != nil {
		return nil, err
	}
	n := len(column)
	level, err := model.Get[int32](c, "q/level", n)
	if err != nil {
		return nil, err
	}
	var lists [5][]float64
	for i, l := range []struct {
		name string
		n    int
	}{{"q/mean", n}, {"q/scale", n}, {"q/w", n * p}, {"q/bias", p}, {"q/numbers", 2}} {
		if lists[i], err = model.Get[float64](c, l.name, l.n); err != nil {
			return nil, err
		}
		for _, v := range lists[i] {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("multi: %w: %s has %v", model.ErrFormat, l.name, v)
			}
		}
	}
	l := &Logistic{P: p, W: lists[2], Bias: lists[3], Temperature: lists[4][0], Floor: lists[4][1]}
	if !(l.Temperature > 0) || !(l.Floor >= 0 && l.Floor < 1) {
		return nil, fmt.Errorf("multi: %w: temperature %v and floor %v of Q", model.ErrFormat,
			l.Temperature, l.Floor)
	}
	for j := range n {
		f := linear.Feature{Column: int(column[j]), Level: int(level[j]), Mean: lists[0][j], Scale: lists[1][j]}
		if f.Column < 0 || f.Column >= len(s.Columns) || f.Level < -1 ||
			(f.Level >= 0) != s.Columns[f.Column].Categorical {
			return nil, fmt.Errorf("multi: %w: feature %d of Q is level %d of column %d of %d", model.ErrFormat, j,
				f.Level, f.Column, len(s.Columns))
		}
		l.Features = append(l.Features, f)
	}
	l.prepare()
	return l, nil
}
