package federated

import (
	"context"
	"math"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/linear"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

// union is what a server has of samples.
type union struct {
	s     *server
	fs    []linear.Feature
	index map[string]int
	raw   []float32
	samples
	total float64 // rows of all agents that answered
}

// oneround is Algorithm 4: one exchange for the critical samples, the problem of their union
// from their multipliers, and the model; then the certificate and repairs, where they are asked
// for.
func (s *server) oneround() (*KernelModel, error) {
	o := &s.c.OneRound
	un := &union{s: s, index: map[string]int{}}
	if o.Scale == "agents" {
		if err := s.join(); err != nil {
			return nil, err
		}
		d := len(s.columns)
		got, err := s.sum(sumCall{phase: phaseMoments, groups: [][]string{s.c.names()},
			dim:     func(int) int { return 3 * d },
			request: func(string, int) (*Message, error) { return newMessage(Head{}, nil), nil }})
		if err != nil {
			return nil, err
		}
		if un.fs, err = featuresOf(got.total[0]); err != nil {
			return nil, err
		}
	}
	answers, err := s.ask(Call{Phase: phaseSolve, To: s.c.names(), Limit: mostUpload,
		Request: func(string, int) (*Message, error) {
			m := newMessage(Head{}, nil)
			if un.fs != nil {
				putFeatures(m, un.fs)
			}
			return m, nil
		},
		Accept: func(m *Message) error { _, err := s.acceptUpload(m, un.fs); return err }})
	if err != nil {
		return nil, err
	}
	s.rep.Samples = 0
	for _, m := range answers {
		b, err := s.acceptUpload(m, un.fs)
		if err != nil {
			return nil, err
		}
		if s.columns == nil {
			s.columns, s.names = b.Columns, fingerprint(b.Columns)
		} else if diff := difference(s.columns, b.Columns); diff != "" {
			return nil, fail(OtherColumns, m.Agent, "its columns are not those of agent %s: %s",
				answers[0].Agent, diff)
		}
		if un.fs == nil {
			un.fs = plain(len(s.columns))
		}
		un.total += float64(m.Rows)
		s.rep.Samples += m.Rows
		if err := un.add(m); err != nil {
			return nil, err
		}
	}
	model, err := un.solve()
	if err != nil {
		return nil, err
	}
	for try := 0; o.Verify || o.Repair > 0; try++ {
		n, err := s.verified(model)
		if err != nil {
			return nil, err
		}
		s.rep.Violations = append(s.rep.Violations, n)
		if n == 0 || try >= o.Repair {
			if n > 0 {
				s.warn("%d samples of agents violate the model's constraints: it is not that of the centralised "+
					"problem; repair has them sent",
					n)
			}
			break
		}
		answers, err := s.ask(Call{Phase: phaseRepair, Round: try + 1, To: s.c.names(), Limit: mostUpload,
			Request: model.request,
			Accept:  func(m *Message) error { _, err := s.acceptUpload(m, un.fs); return err }})
		if err != nil {
			return nil, err
		}
		for _, m := range answers {
			if err := un.add(m); err != nil {
				return nil, err
			}
		}
		if model, err = un.solve(); err != nil {
			return nil, err
		}
	}
	s.rep.Kernels = model.Kernels()
	return model, nil
}

// mostUpload bounds the samples of an agent.
const mostUpload = 256 << 20

func (m *KernelModel) request(string, int) (*Message, error) {
	out := newMessage(Head{}, nil)
	m.put(out.c)
	return out, nil
}

// verified asks all agents for the number of their violations.
func (s *server) verified(m *KernelModel) (int, error) {
	answers, err := s.ask(Call{Phase: phaseVerify, Round: len(s.rep.Violations) + 1, To: s.c.names(),
		Limit: slack, Request: m.request,
		Accept: func(m *Message) error { _, err := get[int64](m, "violations", 1); return err }})
	if err != nil {
		return 0, err
	}
	total := 0
	for _, a := range answers {
		n, err := get[int64](a, "violations", 1)
		if err != nil {
			return 0, err
		}
		total += int(n[0])
	}
	if len(answers) < len(s.c.Agents) {
		s.warn("%d of %d agents counted their violations: the certificate is of their rows alone",
			len(answers), len(s.c.Agents))
	}
	return total, nil
}

func (s *server) acceptUpload(m *Message, fs []linear.Feature) (*solved, error) {
	b := &solved{}
	if err := m.body(b); err != nil {
		return nil, err
	}
	d := len(b.Columns)
	if fs != nil {
		d = len(fs)
	}
	x, err := get[float32](m, "x", -1, d)
	if err != nil {
		return nil, err
	}
	for i, v := range x {
		if math.IsInf(float64(v), 0) {
			return nil, fail(NotFinite, m.Agent, "number %d of its samples is %v", i+1, v)
		}
	}
	n := 0
	if d > 0 {
		n = len(x) / d
	}
	class, err := get[int32](m, "class", n)
	if err != nil {
		return nil, err
	}
	for i, k := range class {
		if k < 0 || int(k) >= len(s.c.Classes) {
			return nil, fail(WrongShape, m.Agent, "sample %d is of class %d of %d", i+1, k+1,
				len(s.c.Classes))
		}
	}
	if n > m.Rows {
		return nil, fail(WrongShape, m.Agent, "%d samples of %d rows", n, m.Rows)
	}
	if s.c.OneRound.Counts && m.Phase == phaseSolve {
		counts, err := get[int32](m, "count", n)
		if err != nil {
			return nil, err
		}
		for i, c := range counts {
			if c < 0 || int(c) > m.Rows {
				return nil, fail(NotFinite, m.Agent, "sample %d counts for %d rows of %d", i+1, c, m.Rows)
			}
		}
	}
	u, err := floats(m, "u", n, len(s.c.Classes)-1)
	if err != nil {
		return nil, err
	}
	for i, v := range u {
		if v < 0 {
			return nil, fail(NotFinite, m.Agent, "multiplier %d is %v", i+1, v)
		}
	}
	return b, nil
}

// add takes up the samples of an upload; of duplicates the multipliers are added.
func (un *union) add(m *Message) error {
	d := len(un.fs)
	x, err := get[float32](m, "x", -1, d)
	if err != nil {
		return err
	}
	class, err := get[int32](m, "class")
	if err != nil {
		return err
	}
	u, err := get[float64](m, "u", len(class), len(un.s.c.Classes)-1)
	if err != nil {
		return err
	}
	var counts []int32
	if un.s.c.OneRound.Counts && m.Phase == phaseSolve {
		if counts, err = get[int32](m, "count", len(class)); err != nil {
			return err
		}
	}
	un.s.rep.Uploaded += len(class)
	list := pairs(len(un.s.c.Classes))
	for i, k := range class {
		raw := x[i*d : (i+1)*d]
		id := key(int(k), raw)
		at, ok := un.index[id]
		if !ok {
			at = len(un.class)
			un.index[id] = at
			un.raw = append(un.raw, raw...)
			un.class, un.count, un.u = append(un.class, int(k)), append(un.count, 0),
				append(un.u, make([]float64, len(list)))
		}
		if counts != nil {
			un.count[at] += math.Max(1, float64(counts[i])) // of duplicates one may have all the rows
		} else {
			un.count[at]++
		}
		n := i * (len(un.s.c.Classes) - 1)
		for p, pair := range list {
			if pair[0] == int(k) || pair[1] == int(k) {
				un.u[at][p] += u[n]
				n++
			}
		}
	}
	return nil
}

// solve solves the problems of all pairs on the union, from the multipliers that it has, and
// keeps the new ones.
func (un *union) solve() (*KernelModel, error) {
	s := un.s
	un.x = scaledRows(un.raw, un.fs)
	m, steps, err := s.c.OneRound.fit(s.ctx, &un.samples, un.fs, un.raw, len(s.c.Classes), un.total,
		s.loop.Workers)
	if err != nil {
		return nil, err
	}
	m.Run, m.Schema = s.run, s.schema()
	m.Schema.Classes = s.c.Classes
	return m, s.loop.Record(run.Row{Stage: "solve", Iteration: len(s.rep.Violations),
		Objective: float64(len(un.class)), Step: float64(steps)})
}

// fit solves all pairs of samples and makes a model of those that have multipliers.
func (o *KernelOptions) fit(ctx context.Context, s *samples, fs []linear.Feature, raw []float32,
	classes int, total float64, workers int) (*KernelModel, int, error) {
	list := pairs(classes)
	coef := make([][]float64, len(list))
	m := &KernelModel{Options: *o, Features: fs, Price: make([]float64, len(list))}
	if s.u == nil {
		s.u = make([][]float64, len(s.class))
		for i := range s.u {
			s.u[i] = make([]float64, len(list))
		}
	}
	steps := 0
	solutions := make([]*solution, len(list))
	for p, pair := range list {
		rows, _ := s.of(pair)
		u := make([]float64, len(rows))
		for i, k := range rows {
			u[i] = s.u[k][p]
		}
		r, err := o.solve(ctx, s, pair, u, total, workers)
		if err != nil {
			return nil, steps, err
		}
		steps += r.steps
		coef[p] = make([]float64, len(s.class))
		m.Price[p] = r.price
		for i, k := range r.rows {
			s.u[k][p] = r.u[i]
			coef[p][k] = r.y[i] * r.u[i]
		}
		solutions[p] = r
	}
	d := len(fs)
	m.Coef = make([][]float64, len(list))
	for i, k := range s.class {
		used := false
		for p := range list {
			used = used || coef[p][i] != 0
		}
		if !used {
			continue
		}
		m.Raw, m.X, m.Class = append(m.Raw, raw[i*d:(i+1)*d]...), append(m.X, s.x[i]), append(m.Class, k)
		for p := range list {
			m.Coef[p] = append(m.Coef[p], coef[p][i])
		}
	}
	switch {
	case len(m.X) > 0:
	case o.Cost == "total-hinge" && len(s.class) > 0:
		return nil, steps, fail(BadConfig, "", "a mean hinge loss of %v allows the function 0; lower the field "+
			"hinge",
			o.Hinge)
	default:
		return nil, steps, fail(BadTable, "", "no agent sent a sample")
	}
	if o.Gamma > 0 {
		return m, steps, o.integral(m, s, solutions)
	}
	return m, steps, nil
}

// integral gives the model the points whose coefficients are not 0 in some pair.
func (o *KernelOptions) integral(m *KernelModel, s *samples, solutions []*solution) error {
	points, volume, err := o.points(len(m.Features))
	if err != nil {
		return err
	}
	alpha := make([][]float64, len(solutions))
	for p, r := range solutions {
		alpha[p] = make([]float64, len(points))
		for i, row := range r.rows {
			if r.u[i] != 0 {
				for g, z := range points {
					alpha[p][g] += r.u[i] * r.y[i] * gauss(s.x[row], z)
				}
			}
		}
		for g, a := range alpha[p] {
			if a*a <= 2*o.Gamma {
				alpha[p][g] = 0
			}
		}
	}
	m.Weight = make([][]float64, len(solutions))
	m.Points = [][]float64{}
	for g, z := range points {
		used := false
		for p := range alpha {
			used = used || alpha[p][g] != 0
		}
		if !used {
			continue
		}
		m.Points = append(m.Points, z)
		for p := range alpha {
			m.Weight[p] = append(m.Weight[p], volume*alpha[p][g])
		}
	}
	if len(m.Points) == 0 {
		return fail(BadConfig, "", "gamma %v leaves no point of the integral; lower it", o.Gamma)
	}
	return nil
}

// TrainKernel solves the centralised problem (PC) on the rows of a table whose columns are numbers.
// Classification in one round is compared with it. On one agent's rows it gives what that agent
// would have by itself. Its columns are standardised by their own moments unless Scale is none. A
// row of weight 2 counts as two rows, but not for the moments; rows of weight 0 are left out.
//
// Memory is 8 bytes for every pair of rows of two classes.
func TrainKernel(t *table.Table, opts *KernelOptions, c *run.Control) (*KernelModel, *optim.Result, error) {
	var o KernelOptions
	if err := learner.Complete(&o, opts); err != nil {
		return nil, nil, &Error{Code: BadConfig, Err: err}
	}
	x, err := t.Dense(0)
	if err != nil {
		return nil, nil, err
	}
	if x.Weight != nil {
		var rows []int
		for i, w := range x.Weight {
			if w > 0 {
				rows = append(rows, i)
			}
		}
		x = x.Subset(rows)
	}
	if len(x.Classes) < 2 || len(x.Target) != x.Rows {
		return nil, nil, fail(BadTable, "", "%s has no target of two classes or more", t.Title())
	}
	for j := range x.Columns {
		if x.Columns[j].Kind != table.Numeric {
			return nil, nil, fail(BadTable, "", "%s: column %q is of words", t.Title(), x.Columns[j].Name)
		}
	}
	a := &Agent{x: x}
	fs := plain(len(x.Columns))
	if o.Scale == "agents" {
		if fs, err = featuresOf(a.moments()); err != nil {
			return nil, nil, err
		}
	}
	s := &samples{count: make([]float64, x.Rows)}
	total := 0.0
	for i, k := range x.Target {
		s.class = append(s.class, int(k))
		s.count[i] = score.Weight(x.Weight, i)
		total += s.count[i]
	}
	raw := rawRows(x, fs)
	s.x = scaledRows(raw, fs)
	workers := 0
	if c != nil {
		workers = c.Workers
	}
	m, steps, err := o.fit(c.Context(), s, fs, raw, len(x.Classes), total, workers)
	if err != nil {
		return nil, nil, err
	}
	m.Schema = boost.SchemaOf(x)
	return m, &optim.Result{Iterations: steps, Reason: run.GapSmall}, nil
}
