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

// spread keeps some of the rows: of each class in proportion, each next one the farthest from
// those that are kept, which is within a factor of two of the best cover (T. Gonzalez,
// "Clustering to minimize the maximum intercluster distance", Theoretical Computer Science 38,
// 1985). O(len(rows)·most·columns).
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
		far := slices.Repeat([]float64{math.Inf(1)}, len(own))
		at := 0
		for range max(1, most*len(own)/len(rows)) {
			if far[at] == 0 {
				break // the rest are duplicates
			}
			out = append(out, own[at])
			next := at
			for n, i := range own {
				d := 0.0
				for j, v := range k.x[own[at]] {
					d += (k.x[i][j] - v) * (k.x[i][j] - v)
				}
				if far[n] = math.Min(far[n], d); far[n] > far[next] {
					next = n
				}
			}
			at = next
		}
	}
	slices.Sort(out)
	return out
}

// nearest counts for each of the rows those of the agent's, of the same class, that no other
// one is nearer to, itself included.
func (a *Agent) nearest(k *kernelAgent, rows []int) []int32 {
	out := make([]int32, len(rows))
	for i, x := range k.x {
		best, least := -1, math.Inf(1)
		for n, row := range rows {
			if a.class[row] != a.class[i] {
				continue
			}
			d := 0.0
			for j, v := range k.x[row] {
				d += (x[j] - v) * (x[j] - v)
			}
			if d < least {
				best, least = n, d
			}
		}
		if best >= 0 {
			out[best]++
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
