package boost

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/run"
)

// numeric makes a table of numeric columns named x0, x1, ...
func numeric(columns ...[]float32) *table.Table {
	t := &table.Table{Name: "test", Rows: len(columns[0])}
	for j, c := range columns {
		t.Columns = append(t.Columns, table.Column{Name: "x" + string(rune('0'+j)), Values: c})
	}
	return t
}

// golden is the example of six rows for AdaBoost.
func golden() *Data {
	return &Data{X: numeric([]float32{1, 2, 3, 4, 5, 6}), Y: []float64{1, 1, -1, -1, 1, -1}}
}

// randomData draws rows whose label depends on two columns, with noise; values are
// coarse where steps > 0, so that ties and duplicates occur.
func randomData(rng *rand.Rand, rows, columns int, steps float64) *Data {
	x := make([][]float32, columns)
	for j := range x {
		x[j] = make([]float32, rows)
		for i := range x[j] {
			v := rng.NormFloat64()
			if steps > 0 {
				v = math.Round(v*steps) / steps
			}
			x[j][i] = float32(v)
		}
	}
	d := &Data{X: numeric(x...), Y: make([]float64, rows)}
	for i := range d.Y {
		d.Y[i] = -1
		if float64(x[0][i])+float64(x[columns-1][i])*float64(x[0][i])+0.5*rng.NormFloat64() > 0 {
			d.Y[i] = 1
		}
	}
	return d
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
		t.Errorf("%s: %.12g, want %.12g", what, got, want)
	}
}

func must[T any](t *testing.T) func(v T, err error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// control is how a test watches a run; Valid is an option of every booster.
type control struct {
	Ctx             context.Context
	Workers         int
	Watch           func(*Progress) error
	Warn            func(string)
	Valid           *Data
	Patience        int
	Checkpoint      func(*run.Checkpoint) error
	CheckpointEvery int
	Resume          *run.Checkpoint
}

// run makes a run's control of those of a test, at most one, and stores its validation rows.
func of(list []control, valid **Data) *run.Control {
	if len(list) == 0 {
		return nil
	}
	c := list[0]
	if c.Valid != nil {
		*valid = c.Valid
	}
	out := &run.Control{Ctx: c.Ctx, Workers: c.Workers, Warn: c.Warn, Stop: run.Stop{Patience: c.Patience},
		Checkpoint: c.Checkpoint, CheckpointEvery: c.CheckpointEvery, Resume: c.Resume}
	if c.Watch != nil {
		out.Recorder = run.RecorderFunc(func(r run.Row) error { return c.Watch(r.Detail.(*Progress)) })
		out.Live = out.Recorder
	}
	return out
}

func copied[O any](o *O) *O {
	to := new(O)
	if o != nil {
		*to = *o
	}
	return to
}

func trainRGB(d *Data, o *RGBOptions, c ...control) (*Ensemble, error) {
	o = copied(o)
	e, _, err := TrainRGB(d, o, of(c, &o.Valid))
	return e, err
}

func trainGradient(d *Data, o *GradientOptions, c ...control) (*Ensemble, error) {
	o = copied(o)
	e, _, err := TrainGradient(d, o, of(c, &o.Valid))
	return e, err
}

func trainAdaBoost(d *Data, o *AdaBoostOptions, c ...control) (*Ensemble, error) {
	o = copied(o)
	e, _, err := TrainAdaBoost(d, o, of(c, &o.Valid))
	return e, err
}

// ofCheckpoint is the ensemble of a checkpoint.
func ofCheckpoint(t *testing.T, k *run.Checkpoint) *Ensemble {
	t.Helper()
	return must[*Ensemble](t)(Read(bytes.NewReader(k.Files[partModel])))
}
