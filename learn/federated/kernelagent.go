package federated

import (
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/linear"
)

// kernelAgent is what an agent keeps of classification in one round.
type kernelAgent struct {
	features []linear.Feature
	raw      []float32
	x        [][]float64
}

// scaling returns the agent's rows under the features of a message, its columns as they are
// where it has none.
func (a *Agent) scaling(m *Message) (*kernelAgent, error) {
	k := &kernelAgent{features: plain(len(a.x.Columns))}
	if _, ok := m.c.Shape("feature/column"); ok {
		var err error
		if k.features, err = getFeatures(m, len(a.x.Columns)); err != nil {
			return nil, err
		}
	}
	k.raw = rawRows(a.x, k.features)
	k.x = scaledRows(k.raw, k.features)
	return k, nil
}

// solved is what an upload says beside its samples.
type solved struct {
	Columns []string `json:"columns"`
	Steps   int      `json:"steps"`
}

// solve is Algorithm 3 at an agent: it solves its own problem and sends the critical samples
// with their multipliers. For a repair it sends the samples that violate the model.
func (a *Agent) solve(ctx context.Context, m *Message, h Head) (*Message, error) {
	o := a.c.OneRound
	if o.AgentPrice > 0 {
		o.Price = o.AgentPrice
	}
	if m.Phase == phaseRepair {
		model, err := a.modelOf(m)
		if err != nil {
			return nil, err
		}
		rows := a.violators(model)
		return a.upload(h, &kernelAgent{features: model.Features, raw: rawRows(a.x, model.Features)}, rows,
			nil, nil, 0)
	}
	k, err := a.scaling(m)
	if err != nil {
		return nil, err
	}
	s := &samples{x: k.x, count: make([]float64, a.x.Rows)}
	for i, c := range a.class {
		s.class = append(s.class, int(c))
		s.count[i] = 1
	}
	list := pairs(len(a.c.Classes))
	critical := make([]bool, a.x.Rows)
	u := make([][]float64, a.x.Rows)
	steps := 0
	for p, pair := range list {
		r, err := o.solve(ctx, s, pair, nil, float64(len(s.class)), 1)
		if err != nil {
			return nil, err
		}
		if len(r.rows) == 0 {
			continue
		}
		steps += r.steps
		for i, c := range o.critical(r) {
			row := r.rows[i]
			if u[row] == nil {
				u[row] = make([]float64, len(list))
			}
			u[row][p] = r.u[i]
			critical[row] = critical[row] || c
		}
	}
	var rows []int
	for i, c := range critical {
		if c {
			rows = append(rows, i)
		}
	}
	if most := int(math.Ceil(o.Most * float64(a.x.Rows))); o.Most > 0 && len(rows) > most {
		rows = a.spread(k, rows, most)
	}
	var counts []int32
	if o.Counts {
		counts = a.nearest(k, rows)
	}
	return a.upload(h, k, rows, u, counts, steps)
}

// spread keeps some of the rows: of each class in proportion, at first each next one the farthest
// from those that are kept (T. Gonzalez, "Clustering to minimize the maximum intercluster
// distance", Theoretical Computer Science 38, 1985). Then each moves to the row nearest to the mean
// of the rows that it is nearest to, a few times: the farthest rows are rare ones, and those kept
// are to stand for the others. O(len(rows)·most·columns).
func (a *Agent) spread(k *kernelAgent, rows []int, most int) []int {
	var out []int
	for c := range a.c.Classes {
		var own []int
		for _, i := range rows {
			if int(a.class[i]) == c {
				own = append(own, i)
			}
		}
		if len(own) == 0 {
			continue
		}
		kept := farthest(k.x, own, max(1, most*len(own)/len(rows)))
		for range medoidSteps {
			if !recentre(k.x, own, kept) {
				break
			}
		}
		out = append(out, kept...)
	}
	slices.Sort(out)
	return out
}

// medoidSteps bounds the moves of spread. Few rows move after some.
const medoidSteps = 20

// farthest returns up to n of the rows, the first, and each next one the farthest from those
// before.
func farthest(x [][]float64, rows []int, n int) []int {
	var kept []int
	far := slices.Repeat([]float64{math.Inf(1)}, len(rows))
	at := 0
	for range n {
		if far[at] == 0 {
			break // the rest are duplicates
		}
		kept = append(kept, rows[at])
		next := at
		for m, i := range rows {
			if far[m] = math.Min(far[m], distance(x[i], x[rows[at]])); far[m] > far[next] {
				next = m
			}
		}
		at = next
	}
	return kept
}

// recentre moves each of the rows kept to the row nearest to the mean of its cluster, which are the
// rows that no other one kept is nearer to. It reports whether one moved.
func recentre(x [][]float64, rows, kept []int) bool {
	cluster := make([][]int, len(kept))
	for _, i := range rows {
		n := closest(x, x[i], kept)
		cluster[n] = append(cluster[n], i)
	}
	moved := false
	for n, list := range cluster {
		mean := make([]float64, len(x[kept[n]]))
		for _, i := range list {
			for j, v := range x[i] {
				mean[j] += v / float64(len(list))
			}
		}
		if m := closest(x, mean, list); m >= 0 && distance(x[list[m]], mean) < distance(x[kept[n]], mean) {
			kept[n], moved = list[m], true
		}
	}
	return moved
}

// closest returns which of the rows is nearest to a point, the first of equals; -1 of none.
func closest(x [][]float64, point []float64, rows []int) int {
	best, least := -1, math.Inf(1)
	for n, i := range rows {
		if d := distance(x[i], point); d < least {
			best, least = n, d
		}
	}
	return best
}

// distance is the squared distance of two points.
func distance(a, b []float64) float64 {
	d := 0.0
	for j, v := range a {
		d += (v - b[j]) * (v - b[j])
	}
	return d
}

// nearest counts for each of the rows those of the agent's, of the same class, that no other
// one is nearer to, itself included.
func (a *Agent) nearest(k *kernelAgent, rows []int) []int32 {
	out := make([]int32, len(rows))
	for c := range a.c.Classes {
		var own, place []int
		for n, row := range rows {
			if int(a.class[row]) == c {
				own, place = append(own, row), append(place, n)
			}
		}
		for i, x := range k.x {
			if int(a.class[i]) != c {
				continue
			}
			if n := closest(k.x, x, own); n >= 0 {
				out[place[n]]++
			}
		}
	}
	return out
}

// upload is the message of some samples: numbers as the table has them, classes, and the
// multipliers of the pairs of each one's class.
func (a *Agent) upload(h Head, k *kernelAgent, rows []int, u [][]float64, counts []int32,
	steps int) (*Message, error) {
	d := len(k.features)
	j := a.join()
	out := newMessage(h, solved{Columns: j.Columns, Steps: steps})
	x, class := make([]float32, 0, len(rows)*d), make([]int32, 0, len(rows))
	list := pairs(len(a.c.Classes))
	var mult []float64
	for _, i := range rows {
		x = append(x, k.raw[i*d:(i+1)*d]...)
		class = append(class, int32(a.class[i]))
		for p, pair := range list {
			if pair[0] != int(a.class[i]) && pair[1] != int(a.class[i]) {
				continue
			}
			v := 0.0
			if u != nil {
				v = u[i][p]
			}
			mult = append(mult, v)
		}
	}
	put(out, "x", x, len(rows), d)
	put(out, "class", class)
	put(out, "u", mult, len(rows), len(a.c.Classes)-1)
	if counts != nil {
		put(out, "count", counts)
	}
	return out, nil
}

// modelOf reads the model that a message carries.
func (a *Agent) modelOf(m *Message) (*KernelModel, error) {
	meta := kernelMeta{Run: m.Run, Options: a.c.OneRound}
	meta.Schema.Classes = a.c.Classes
	for j := range a.x.Columns {
		meta.Schema.Columns = append(meta.Schema.Columns, boost.Column{Name: a.x.Columns[j].Name})
	}
	return kernelOf(m.c, &meta)
}

// key identifies a sample: two with the same are one.
func key(class int, raw []float32) string {
	b := binary.LittleEndian.AppendUint32(nil, uint32(class))
	for _, v := range raw {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return string(b)
}

// violators are the agent's rows that the model has not, and whose constraints it violates:
// without any, at all agents, the model is that of the centralised problem.
func (a *Agent) violators(m *KernelModel) []int {
	return m.violators(a.x, a.class)
}

// Violations counts rows of a table that violate a constraint: they are not samples of the model,
// and their margin in the function of some pair falls short of 1-eps by more than the option's
// tolerance. Where no agent has any, the model solves the centralised problem: it has fewer
// constraints, and satisfies them all.
func (m *KernelModel) Violations(t *table.Table) (int, error) {
	if err := m.Schema.Match(t); err != nil {
		return 0, err
	}
	x, err := t.Dense(0)
	if err != nil {
		return 0, err
	}
	if len(x.Target) != x.Rows || !slices.Equal(x.Classes, m.Schema.Classes) {
		return 0, fail(BadTable, "", "%s has no target of the model's classes", t.Title())
	}
	return len(m.violators(x, x.Target)), nil
}

func (m *KernelModel) violators(t *table.Table, class []float64) []int {
	d := len(m.Features)
	known := map[string]bool{}
	for i, k := range m.Class {
		known[key(k, m.Raw[i*d:(i+1)*d])] = true
	}
	raw := rawRows(t, m.Features)
	points := scaledRows(raw, m.Features)
	list := pairs(len(m.Schema.Classes))
	f := make([]float64, len(list))
	margin := 1 - learner.Amount(m.Options.Eps)
	var out []int
	for i, x := range points {
		k := int(class[i])
		if known[key(k, raw[i*d:(i+1)*d])] {
			continue
		}
		m.functions(f, x)
		for p, pair := range list {
			if k == pair[1] && margin-f[p] > m.Options.MarginTolerance || k == pair[0] &&
				margin+f[p] > m.Options.MarginTolerance {
				out = append(out, i)
				break
			}
		}
	}
	return out
}

// verify answers how many rows violate the model.
func (a *Agent) verify(_ context.Context, m *Message, h Head) (*Message, error) {
	model, err := a.modelOf(m)
	if err != nil {
		return nil, err
	}
	out := newMessage(h, nil)
	put(out, "violations", []int64{int64(len(a.violators(model)))})
	return out, nil
}
