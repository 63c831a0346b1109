package experiment

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/federated"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/run"
)

// RoundOptions adjusts OneRound; zeros are defaults.
type RoundOptions struct {
	Ctx     context.Context
	Trials  int // 0 is 10
	Workers int
	Seed    uint64

	Known  []RoundTrial
	Save   func(*RoundTrial) error
	Fitted func(all int, name string, trial int)
}

// RoundTrial is one method on one division of one set.
type RoundTrial struct {
	Set        string  `json:"set"`
	Trial      int     `json:"trial"`
	Seed       uint64  `json:"seed"`
	Method     string  `json:"method"`
	Accuracy   float64 `json:"accuracy"`
	Sent       float64 `json:"sent"` // share of the training rows
	Bytes      int64   `json:"bytes"`
	Kernels    int     `json:"kernels"`
	Violations int     `json:"violations"` // -1 where there is nothing to violate
	Width      float64 `json:"width"`
	Price      float64 `json:"price"`
}

// RoundSet is data with agents. Divide draws a division; agents are those of the training rows.
type RoundSet struct {
	Name   string
	Note   string
	Kernel federated.KernelOptions
	Widths []float64 // to choose from, by rows of agents held out; nil keeps the kernel's
	Prices []float64
	Means  bool // federated averaging is run too
	Load   func() (func(rng *rand.Rand) (*roundData, error), error)
}

// roundData is one division: rows of agents, and rows to test on.
type roundData struct {
	agents map[string]*table.Table
	test   *table.Table
}

// RoundSets are the sets of experiments like S1 and S2. One is two ellipses among nine agents with
// overlapping cells, of several sizes. The other is walking against jogging by person, from the
// three mean accelerations and from all features, on random rows and on held-out persons.
func RoundSets(data fs.FS, names ...string) ([]RoundSet, error) {
	var sets []RoundSet
	for _, n := range []int{90, 180, 360, 720} {
		sets = append(sets, RoundSet{Name: fmt.Sprintf("ellipses %d", n),
			Note: "S1: cells of 3×3 agents that overlap by a fifth; the domain, [-18, 10] × [-8, 18], is not in " +
				"the source",
			Kernel: federated.KernelOptions{Width: 2, Cost: "hinge", Price: 30, Eps: 0.01, Scale: "none",
				Accuracy: 1e-4, MarginTolerance: 1e-3},
			Load: func() (func(*rand.Rand) (*roundData, error), error) {
				return func(rng *rand.Rand) (*roundData, error) { return ellipses(rng, n), nil }, nil
			}})
	}
	for _, gamma := range []float64{1e-4, 1e-3, 1e-2} {
		sets = append(sets, RoundSet{Name: fmt.Sprintf("ellipses gamma %g", gamma),
			Note: "S1 with 360 samples and the integral over centres and widths in [0.5, 5]",
			Kernel: federated.KernelOptions{Cost: "hinge", Price: 30, Eps: 0.01, Scale: "none",
				Gamma: gamma, Widths: []float64{0.5, 5}, Lo: []float64{-20, -10}, Hi: []float64{12, 20},
				Points: 1500, Steps: 600, MarginTolerance: 1e-2},
			Load: func() (func(*rand.Rand) (*roundData, error), error) {
				return func(rng *rand.Rand) (*roundData, error) { return ellipses(rng, 360), nil }, nil
			}})
	}
	d := folder{data}
	for _, s := range []struct {
		name    string
		columns []string
		people  bool
		widths  []float64
	}{{"walking 3 rows", []string{"YAVG", "ZAVG"}, false, []float64{0.1, 0.3, 0.9}},
		{"walking 3 people", []string{"YAVG", "ZAVG"}, true, []float64{0.1, 0.3, 0.9}},
		{"walking 43 rows", nil, false, []float64{1.5, 3, 6}},
		{"walking 43 people", nil, true, []float64{1.5, 3, 6}}} {
		note := "S2: WISDM, a random fifth of the rows is tested on; rows of a person are on both sides"
		if s.people {
			note = "S2: WISDM, a fifth of the persons is tested on"
		}
		sets = append(sets, RoundSet{Name: s.name, Note: note + ". XAVG is 0 in all rows and left out",
			Means: true, Widths: s.widths, Prices: []float64{1, 10},
			Kernel: federated.KernelOptions{Cost: "hinge", Accuracy: 1e-3, MarginTolerance: 2e-3},
			Load: func() (func(*rand.Rand) (*roundData, error), error) {
				t, client, err := d.activity(false)
				if err != nil {
					return nil, err
				}
				if s.columns != nil {
					t.Columns = slices.DeleteFunc(t.Columns,
						func(c table.Column) bool { return !slices.Contains(s.columns, c.Name) })
				}
				return func(rng *rand.Rand) (*roundData, error) {
					return divide(rng, t, client, s.people),
						nil
				}, nil
			}})
	}
	return choose(sets, func(s RoundSet) string { return s.Name }, names)
}

// ellipses draws S1: one class in either ellipse, the other around them, by points that are then
// moved a little.
func ellipses(rng *rand.Rand, n int) *roundData {
	const lowX, highX, lowY, highY = -18, 10, -8, 18
	draw := func(fromX, toX, fromY, toY float64, n int) *table.Table {
		t := &table.Table{Name: "ellipses", Rows: n, Classes: []string{"ellipse", "outside"},
			TargetName: "y", Target: make([]float64, n),
			Columns: []table.Column{{Name: "x1", Values: make([]float32, n)},
				{Name: "x2", Values: make([]float32, n)}}}
		for i := range n {
			x, y := fromX+(toX-fromX)*rng.Float64(), fromY+(toY-fromY)*rng.Float64()
			inside := func(cx, cy, r float64) bool { return (x-cx)*(x-cx)+0.25*(y-cy)*(y-cy) <= r }
			if !inside(3, 0, 9) && !inside(-10, 6, 30) {
				t.Target[i] = 1
			}
			t.Columns[0].Values[i], t.Columns[1].Values[i] = float32(x+math.Sqrt(0.2)*rng.NormFloat64()),
				float32(y+math.Sqrt(0.2)*rng.NormFloat64())
		}
		return t
	}
	d := &roundData{agents: map[string]*table.Table{}, test: draw(lowX, highX, lowY, highY, 1000)}
	w, h := float64(highX-lowX)/3, float64(highY-lowY)/3
	for a := range 9 {
		x, y := lowX+w*float64(a%3), lowY+h*float64(a/3)
		d.agents[fmt.Sprintf("cell%d", a)] = draw(x-0.1*w, x+1.1*w, y-0.1*h, y+1.1*h, n/9)
	}
	return d
}

// divide holds a fifth of the rows, or of the persons, out.
func divide(rng *rand.Rand, t *table.Table, client []string, people bool) *roundData {
	var names []string
	of := map[string][]int{}
	var test []int
	for i, c := range client {
		if of[c] == nil {
			names = append(names, c)
		}
		if !people && rng.IntN(5) == 0 {
			test = append(test, i)
			continue
		}
		of[c] = append(of[c], i)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if people {
		rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, c := range names[:len(names)/5] {
			test = append(test, of[c]...)
			delete(of, c)
		}
	}
	d := &roundData{agents: map[string]*table.Table{}, test: t.Subset(test)}
	for c, rows := range of {
		if len(rows) >= 5 {
			d.agents["p"+c] = t.Subset(rows)
		}
	}
	return d
}

// RoundReport is what came of one set.
type RoundReport struct {
	Set    string       `json:"set"`
	Note   string       `json:"note"`
	Trials []RoundTrial `json:"trials"`
}

func roundMethods(means bool) []string {
	out := []string{"central", "local", "one round", "one round, repaired once", "one round, repaired"}
	if means {
		out = append(out, "one round, with counts", "one round, with counts, at most 16 %",
			"one round, with counts, at most 28 %", "one round, with counts, price at agents 100")
		for _, kind := range []string{"linear", "kernel"} {
			for _, n := range []int{1, 10, 100} {
				out = append(out, fmt.Sprintf("averaging, %s, %d rounds", kind, n))
			}
		}
	}
	return out
}

// OneRound runs a set.
func OneRound(s RoundSet, opts *RoundOptions) (*RoundReport, error) {
	o := *opts
	if o.Trials == 0 {
		o.Trials = 10
	}
	if o.Ctx == nil {
		o.Ctx = context.Background()
	}
	division, err := s.Load()
	if err != nil {
		return nil, err
	}
	rep := &RoundReport{Set: s.Name, Note: s.Note}
	methods := roundMethods(s.Means)
	for trial := range o.Trials {
		known := map[string]*RoundTrial{}
		for i := range o.Known {
			if k := &o.Known[i]; k.Set == s.Name && k.Trial == trial && k.Seed == o.Seed {
				known[k.Method] = k
			}
		}
		r := &roundRun{RoundOptions: &o, kernel: s.Kernel}
		for _, method := range methods {
			if k := known[method]; k != nil {
				rep.Trials = append(rep.Trials, *k)
				continue
			}
			if r.roundData == nil {
				rng := rand.New(rand.NewPCG(o.Seed, uint64(trial)))
				if r.roundData, err = division(rng); err != nil {
					return nil, err
				}
				if err := r.choose(rng, s.Widths, s.Prices); err != nil {
					return nil, err
				}
			}
			t, err := r.run(method)
			if err != nil {
				return nil, fmt.Errorf("%s, trial %d, %s: %w", s.Name, trial+1, method, err)
			}
			t.Set, t.Trial, t.Seed, t.Method, t.Width, t.Price = s.Name, trial, o.Seed, method,
				r.kernel.Width, r.kernel.Price
			if o.Save != nil {
				if err := o.Save(t); err != nil {
					return nil, err
				}
			}
			rep.Trials = append(rep.Trials, *t)
			if o.Fitted != nil {
				o.Fitted(o.Trials*len(methods), method, trial)
			}
		}
	}
	return rep, nil
}

// roundRun is one division.
type roundRun struct {
	*RoundOptions
	*roundData
	kernel federated.KernelOptions
}

func (r *roundRun) names() []string {
	var out []string
	for n := range r.agents {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// pooled are the rows of some agents.
func (r *roundRun) pooled(names []string, most int, rng *rand.Rand) (*table.Table, error) {
	var all []*table.Table
	for _, n := range names {
		all = append(all, r.agents[n])
	}
	t, err := table.Concat(all...)
	if err != nil || most == 0 || t.Rows <= most {
		return t, err
	}
	rows := rng.Perm(t.Rows)[:most]
	slices.Sort(rows)
	return t.Subset(rows), nil
}

// choose takes width and price by the centralised model's accuracy on a quarter of the
// training agents, from at most 1000 rows of the others.
func (r *roundRun) choose(rng *rand.Rand, widths, prices []float64) error {
	if widths == nil {
		return nil
	}
	names := r.names()
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	held, err := r.pooled(names[:len(names)/4], 1500, rng)
	if err != nil {
		return err
	}
	rest, err := r.pooled(names[len(names)/4:], 1000, rng)
	if err != nil {
		return err
	}
	best := -1.0
	for _, w := range widths {
		for _, p := range prices {
			o := r.kernel
			o.Width, o.Price = w, p
			m, _, err := federated.TrainKernel(rest, &o, &run.Control{Ctx: r.Ctx, Workers: r.Workers})
			if err != nil {
				return err
			}
			a, err := r.accuracy(m, held)
			if err != nil {
				return err
			}
			if a > best {
				best, r.kernel.Width, r.kernel.Price = a, w, p
			}
		}
	}
	return nil
}

type predictor interface {
	Predict(ctx context.Context, x *table.Table, workers int) (*learner.Scores, error)
}

func (r *roundRun) accuracy(m predictor, x *table.Table) (float64, error) {
	s, err := m.Predict(r.Ctx, x, r.Workers)
	if err != nil {
		return 0, err
	}
	right := 0
	for i, k := range x.Target {
		if s.Class(i) == int(k) {
			right++
		}
	}
	return float64(right) / float64(x.Rows), nil
}

func (r *roundRun) config(a federated.Algorithm) *federated.Config {
	c := &federated.Config{Algorithm: a, Target: "y", Classes: r.test.Classes, Seed: r.Seed,
		OneRound: r.kernel}
	for _, n := range r.names() {
		c.Agents = append(c.Agents, federated.Member{Name: n})
	}
	return c
}

func (r *roundRun) federate(c *federated.Config) (*federated.Result, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	l := &federated.Local{Agents: map[string]*federated.Agent{}, Workers: r.Workers}
	for n, t := range r.agents {
		a, err := federated.NewAgent(c, n, t)
		if err != nil {
			return nil, err
		}
		l.Agents[n] = a
	}
	return federated.Train(c, &federated.Journal{Exchange: l}, &run.Control{Ctx: r.Ctx, Workers: r.Workers})
}

func (r *roundRun) run(method string) (*RoundTrial, error) {
	out := &RoundTrial{Violations: -1}
	var err error
	control := &run.Control{Ctx: r.Ctx, Workers: r.Workers}
	switch {
	case method == "central":
		all, err := r.pooled(r.names(), 0, nil)
		if err != nil {
			return nil, err
		}
		m, _, err := federated.TrainKernel(all, &r.kernel, control)
		if err != nil {
			return nil, err
		}
		out.Sent, out.Kernels = 1, m.Kernels()
		out.Bytes = int64(all.Rows) * int64(4*len(all.Columns)+4)
		out.Accuracy, err = r.accuracy(m, r.test)
		return out, err
	case method == "local":
		for _, n := range r.names() {
			m, _, err := federated.TrainKernel(r.agents[n], &r.kernel, control)
			if err != nil {
				return nil, err
			}
			a, err := r.accuracy(m, r.test)
			if err != nil {
				return nil, err
			}
			out.Accuracy += a / float64(len(r.agents))
			out.Kernels += m.Kernels()
		}
		return out, nil
	case strings.HasPrefix(method, "one round"):
		c := r.config(federated.OneRound)
		if strings.HasSuffix(method, "repaired once") {
			c.OneRound.Repair = 1
		} else if strings.HasSuffix(method, "repaired") {
			c.OneRound.Repair = 20
		}
		c.OneRound.Counts = strings.Contains(method, "with counts")
		if _, most, ok := strings.Cut(method, "at most "); ok {
			fmt.Sscanf(most, "%g", &c.OneRound.Most)
			c.OneRound.Most /= 100 // of each agent's rows
		}
		if strings.HasSuffix(method, "price at agents 100") {
			c.OneRound.AgentPrice = 100 * c.OneRound.Price
		}
		res, err := r.federate(c)
		if err != nil {
			return nil, err
		}
		out.Sent, out.Kernels = float64(res.Report.Uploaded)/float64(res.Report.Samples), res.Report.Kernels
		out.Bytes = res.Report.Up + res.Report.Down
		out.Violations = 0
		for _, t := range r.agents {
			n, err := res.Kernel.Violations(t)
			if err != nil {
				return nil, err
			}
			out.Violations += n
		}
		out.Accuracy, err = r.accuracy(res.Kernel, r.test)
		return out, err
	}
	c := r.config(federated.Average)
	var kind string
	fmt.Sscanf(strings.TrimPrefix(method, "averaging, "), "%s %d rounds", &kind, &c.Average.Rounds)
	if kind == "kernel," {
		c.Average.Features, c.Average.Width = 200, r.kernel.Width*math.Sqrt2 // the width of the overlap
	}
	res, err := r.federate(c)
	if err != nil {
		return nil, err
	}
	out.Bytes = res.Report.Up + res.Report.Down
	out.Accuracy, err = r.accuracy(res.Average, r.test)
	return out, err
}

// Means are the figures of a method over trials.
func (r *RoundReport) of(method string) (acc, sent, bytes, kernels, violations []float64) {
	for _, t := range r.Trials {
		if t.Method == method {
			acc, sent, bytes = append(acc, t.Accuracy), append(sent, t.Sent), append(bytes, float64(t.Bytes))
			kernels, violations = append(kernels, float64(t.Kernels)),
				append(violations, float64(t.Violations))
		}
	}
	return
}

// Methods lists the methods of a report in order.
func (r *RoundReport) Methods() []string {
	var out []string
	for _, t := range r.Trials {
		if !slices.Contains(out, t.Method) {
			out = append(out, t.Method)
		}
	}
	return out
}

// Points are mean bytes and mean accuracy of a method, for a picture.
func (r *RoundReport) Points(method string) (bytes, accuracy float64) {
	a, _, b, _, _ := r.of(method)
	accuracy, _ = metrics.MeanSD(a)
	bytes, _ = metrics.MeanSD(b)
	return bytes, accuracy
}

// WriteOneRound prints a report.
func WriteOneRound(w io.Writer, r *RoundReport) error {
	central, _, _, _, _ := r.of("central")
	fmt.Fprintf(w, "%s: %d trials. %s.\n", r.Set, len(central), r.Note)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "method\taccuracy, %\tbeside central\trows sent\tbytes\tkernels\tviolations")
	for _, m := range r.Methods() {
		acc, sent, bytes, kernels, violations := r.of(m)
		mean := func(v []float64) float64 { m, _ := metrics.MeanSD(v); return m }
		fmt.Fprintf(tw, "%s\t%s", m, metrics.FormatMeanSD(acc, 100, 2))
		if t, err := metrics.PairedT(acc, central); m != "central" && err == nil && len(acc) > 1 {
			fmt.Fprintf(tw, "\t%+.2f (p %s)", 100*(mean(acc)-mean(central)), t.P.Text("%.2g"))
		} else {
			fmt.Fprint(tw, "\t")
		}
		cell := func(v float64, format string, scale float64) {
			if v > 0 {
				fmt.Fprintf(tw, "\t"+format, scale*v)
			} else {
				fmt.Fprint(tw, "\t")
			}
		}
		cell(mean(sent), "%.1f %%", 100)
		cell(mean(bytes), "%.1f kB", 1e-3)
		cell(mean(kernels), "%.0f", 1)
		if mean(violations) >= 0 {
			fmt.Fprintf(tw, "\t%.1f", mean(violations))
		}
		fmt.Fprintln(tw)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}
