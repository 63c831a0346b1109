package multi

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/run"
)

// numeric makes a table of numeric columns with sources.
func numeric(sources []int32, columns ...[]float32) *table.Table {
	t := &table.Table{Name: "test", Rows: len(columns[0]), Source: sources, SourceName: "source",
		TargetName: "y", Classes: []string{"-1", "+1"}}
	p := int32(0)
	for _, s := range sources {
		p = max(p, s+1)
	}
	for k := range p {
		t.Sources = append(t.Sources, string(rune('A'+k)))
	}
	for j, c := range columns {
		t.Columns = append(t.Columns, table.Column{Name: "x" + string(rune('0'+j)), Values: c})
	}
	return t
}

// mixed draws p domains with different means and, on two columns, different labelling
// functions; noise > 0 turns labels round.
func mixed(seed uint64, p, rows, columns int, noise float64) *boost.Data {
	rng := rand.New(rand.NewPCG(seed, 7))
	var source []int32
	x := make([][]float32, columns)
	var y []float64
	for k := range p {
		for range rows + 17*k {
			source = append(source, int32(k))
			v := make([]float64, columns)
			for j := range v {
				v[j] = math.Round(4*(rng.NormFloat64()+1.5*float64((k>>(j%2))%3)))/4 + 0
				x[j] = append(x[j], float32(v[j]))
			}
			label := -1.0
			if v[k%columns]+0.5*v[(k+1)%columns] > 1.2+0.7*float64(k) {
				label = 1
			}
			if rng.Float64() < noise {
				label = -label
			}
			y = append(y, label)
		}
	}
	return &boost.Data{X: numeric(source, x...), Y: y}
}

// dictionary is a finite class of predictors and their negatives, as values on the rows
// of a table whose first column numbers them.
type dictionary [][]float64

func (dictionary) Name() string                                     { return "dictionary" }
func (d dictionary) Prepare(*boost.Data, int) (boost.Fitter, error) { return d, nil }
func (d dictionary) Fit(_ context.Context, p *boost.Direction) (*boost.Fit, error) {
	best, top, sign := 0, -1.0, 1.0
	for j, h := range d {
		e := 0.0
		for i, v := range h {
			if p.Rows == nil {
				e += p.SignedWeight(i) * v
			}
		}
		for _, i := range p.Rows {
			e += p.SignedWeight(int(i)) * h[i]
		}
		if math.Abs(e) > top {
			best, top, sign = j, math.Abs(e), 1
			if e < 0 {
				sign = -1
			}
		}
	}
	v := make([]float64, len(d[best]))
	for i := range v {
		v[i] = sign * d[best][i]
	}
	return &boost.Fit{Predictor: vector(v), Values: v}, nil
}

type vector []float64

func (v vector) Predict(dst []float64, x *table.Table, from int) {
	for i := range dst {
		dst[i] = v[int(x.Columns[0].Values[from+i])]
	}
}

// byRow makes a table whose only column numbers the rows.
func byRow(source []int32) *table.Table {
	v := make([]float32, len(source))
	for i := range v {
		v[i] = float32(i)
	}
	return numeric(source, v)
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
		t.Errorf("%s: %.12g, want %.12g", what, got, want)
	}
}

func trained(t *testing.T, d *boost.Data, o *Options) *Model {
	t.Helper()
	m, _, err := Train(d, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// watched is trained with a watch on the rounds.
func watched(t *testing.T, d *boost.Data, o *Options, watch func(*Progress) error) *Model {
	t.Helper()
	m, _, err := Train(d, o, &run.Control{Recorder: watcher(watch)})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func watcher(watch func(*Progress) error) run.Recorder {
	return run.RecorderFunc(func(r run.Row) error { return watch(r.Detail.(*Progress)) })
}
