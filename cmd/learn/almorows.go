package main

import (
	"maps"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/cmd/internal/plot"
	"github.com/tropica-fst/tropica/learn/minimax"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// gameRows are the rows of a game that pictures are drawn from. They go into checkpoints, so that
// the picture of a resumed run begins where the run began.
type gameRows struct {
	names []string // of the objectives
	rows  []run.Row
	old   int // rows of the run that goes on, at the front of rows
}

// The state in checkpoints: for each row the number of its stage, its iteration, its values
// and its weights. A scalar for each stage has the name.
const (
	drawnArray = "drawn"
	drawnStage = "drawn stage "
)

// watch takes the rows of the run that control resumes, and returns a control that collects
// those to come.
func (g *gameRows) watch(control run.Control, names []string) run.Control {
	g.names = names
	if k := control.Resume; k != nil {
		g.restore(k)
	}
	recorder, save := control.Recorder, control.Checkpoint
	control.Recorder = run.RecorderFunc(func(r run.Row) error {
		g.add(r)
		if recorder == nil {
			return nil
		}
		return recorder.Record(r)
	})
	if save != nil {
		control.Checkpoint = func(k *run.Checkpoint) error {
			g.store(k)
			return save(k)
		}
	}
	return control
}

// add appends a row. The first new one drops what it repeats.
func (g *gameRows) add(r run.Row) {
	if saddle.RowOf(r) == nil || minimax.Alone(r) {
		return
	}
	if g.old > 0 {
		i := slices.IndexFunc(g.rows[:g.old],
			func(q run.Row) bool { return q.Stage == r.Stage && q.Iteration >= r.Iteration })
		if i >= 0 {
			g.rows = g.rows[:i]
		}
		g.old = 0
	}
	g.rows = append(g.rows, r)
}

func (g *gameRows) store(k *run.Checkpoint) {
	if k.Scalars == nil {
		k.Scalars = map[string]float64{}
	}
	if k.Arrays == nil {
		k.Arrays = map[string][]float64{}
	}
	stages := map[string]int{}
	var list []float64
	for _, r := range g.rows {
		n, ok := stages[r.Stage]
		if !ok {
			n = len(stages)
			stages[r.Stage] = n
			k.Scalars[drawnStage+r.Stage] = float64(n)
		}
		list = append(list, float64(n), float64(r.Iteration))
		list = append(append(list, saddle.RowOf(r).Values...), saddle.RowOf(r).Lambda...)
	}
	k.Arrays[drawnArray] = list
}

// restore takes the rows of a checkpoint. Where they do not fit the objectives there are none: the
// checkpoint is of another problem then, which the solver says better.
func (g *gameRows) restore(k *run.Checkpoint) {
	p := len(g.names)
	list := k.Arrays[drawnArray]
	stages := map[float64]string{}
	for _, name := range slices.Sorted(maps.Keys(k.Scalars)) {
		if len(name) >= len(drawnStage) && name[:len(drawnStage)] == drawnStage {
			stages[k.Scalars[name]] = name[len(drawnStage):]
		}
	}
	if len(list)%(2+2*p) != 0 {
		return
	}
	for row := range slices.Chunk(list, 2+2*p) {
		stage, ok := stages[row[0]]
		if !ok || !(row[1] >= 0 && row[1] < 1<<53) {
			g.rows = nil
			return
		}
		g.rows = append(g.rows, run.Row{Stage: stage, Iteration: int(row[1]),
			Detail: &saddle.Row{Names: g.names, Values: row[2 : 2+p], Lambda: row[2+p:], Upper: math.Inf(1),
				Lower: math.Inf(-1)}})
	}
	g.old = len(g.rows)
}

// pictures draws how the weights of objectives moved, and the objectives.
func (g *gameRows) pictures(c *call, picture, losses string) error {
	for _, p := range []struct {
		file, title, label string
		of                 func(*saddle.Row) []float64
	}{{picture, "Weights of the objectives", "λ", func(s *saddle.Row) []float64 { return s.Lambda }},
		{losses, "Objectives", "value", func(s *saddle.Row) []float64 { return s.Values }}} {
		if p.file == "" {
			continue
		}
		chart := plot.Chart{Title: p.title, XLabel: "pass", YLabel: p.label, ZeroY: true}
		for i, r := range g.rows {
			for k, v := range p.of(saddle.RowOf(r)) {
				if k >= len(chart.Series) {
					chart.Series = append(chart.Series, plot.Series{Name: g.names[k]})
				}
				s := &chart.Series[k]
				s.X, s.Y = append(s.X, float64(i+1)), append(s.Y, v)
			}
		}
		if err := c.Output(p.file, chart.Write); err != nil {
			return err
		}
	}
	return nil
}
