package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/boost/multi"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/federated"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/run"
)

// ClientSet is rows of two domains that are those of many clients.
type ClientSet struct {
	Name, Note string
	Load       func() (t *table.Table, client []string, err error)
}

// ClientSets are sets like those of table B.1. Digits 4 and 9, and 1 and 7, of MNIST are divided by
// writer, with school pupils and census staff as domains. Walking and jogging are divided by
// person; the domains are the halves of persons with lower and with higher mean acceleration.
func ClientSets(data fs.FS, names ...string) ([]ClientSet, error) {
	d := folder{data}
	sets := []ClientSet{
		{"4v9", "EMNIST of the thesis is not to be had; MNIST with its writers stands in",
			func() (*table.Table, []string, error) { return d.writers('4', '9') }},
		{"1v7", "as 4v9", func() (*table.Table, []string, error) { return d.writers('1', '7') }},
		{"3v8", "as 4v9; not of the thesis: settings were chosen on it",
			func() (*table.Table, []string, error) { return d.writers('3', '8') }},
		{"activity", "WISDM by person; not of the thesis", d.activityDomains},
	}
	if len(names) == 0 {
		names = []string{"4v9", "1v7", "activity"}
	}
	return choose(sets, func(s ClientSet) string { return s.Name }, names)
}

// writers reads two digits of MNIST, both parts, with their writers. Pixels that are 0 in all
// rows are left out.
func (d folder) writers(minus, plus byte) (*table.Table, []string, error) {
	var pixels [][]byte
	var target []float64
	var client []string
	var source []int32
	for _, part := range []struct{ images, labels, writers string }{
		{"mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz",
			"mnist/mnist-train-writers.tsv.gz"},
		{"mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-labels-idx1-ubyte.gz",
			"mnist/mnist-test-writers.tsv.gz"}} {
		images, _, _, label, err := d.images(part.images, part.labels)
		if err != nil {
			return nil, nil, err
		}
		w, err := d.table(part.writers, &table.Options{Task: table.Classification,
			ID: []string{"hsf", "writer"}})
		if err != nil {
			return nil, nil, err
		}
		if w.Rows != len(images) {
			return nil, nil, fmt.Errorf("experiment: %s: %d rows for %d images", part.writers, w.Rows,
				len(images))
		}
		for i, l := range label {
			if l != minus-'0' && l != plus-'0' {
				continue
			}
			pixels = append(pixels, images[i])
			target = append(target, map[bool]float64{true: 1}[l == plus-'0'])
			client = append(client, "w"+w.ID[1].Values[i])
			source = append(source, map[bool]int32{false: 1}[w.ID[0].Values[i] == "4"])
		}
	}
	t := pixelTable("mnist "+string(minus)+"v"+string(plus), pixels, target,
		[]string{string(minus), string(plus)})
	t.Columns = slices.DeleteFunc(t.Columns,
		func(c table.Column) bool { return slices.Max(c.Values) == slices.Min(c.Values) })
	t.Source, t.Sources, t.SourceName = source, []string{"school", "census"}, "hsf"
	return t, client, nil
}

// activity reads walking and jogging, or all activities, of WISDM with the persons.
func (d folder) activity(all bool) (*table.Table, []string, error) {
	o := &table.Options{Target: "class", Task: table.Classification, ID: []string{"user"},
		Drop: []string{"UNIQUE_ID"}}
	t, err := d.table("activity/wisdm-v1.1-transformed.csv.gz", o)
	if err != nil {
		return nil, nil, err
	}
	if !all {
		var rows []int
		for i, k := range t.Target {
			if c := t.Classes[int(k)]; c == "Walking" || c == "Jogging" {
				rows = append(rows, i)
			}
		}
		walking := float64(slices.Index(t.Classes, "Walking"))
		t = t.Subset(rows)
		t.Classes = []string{"Jogging", "Walking"}
		for i, k := range t.Target {
			t.Target[i] = map[bool]float64{true: 1}[k == walking]
		}
	}
	client := slices.Clone(t.ID[0].Values)
	t.ID = nil
	t.Columns = slices.DeleteFunc(t.Columns,
		func(c table.Column) bool { return c.Name == "XAVG" }) // 0 in all rows
	return t, client, nil
}

func (d folder) activityDomains() (*table.Table, []string, error) {
	t, client, err := d.activity(false)
	if err != nil {
		return nil, nil, err
	}
	column := t.Column("RESULTANT")
	if column < 0 {
		return nil, nil, errors.New("experiment: the activity data have no column RESULTANT")
	}
	sum, n := map[string]float64{}, map[string]float64{}
	for i, c := range client {
		sum[c] += float64(t.Columns[column].Values[i])
		n[c]++
	}
	var means []float64
	for c := range sum {
		means = append(means, sum[c]/n[c])
	}
	slices.Sort(means)
	t.Sources, t.SourceName = []string{"calm", "lively"}, "group"
	for _, c := range client {
		t.Source = append(t.Source, map[bool]int32{true: 1}[sum[c]/n[c] >= means[len(means)/2]])
	}
	return t, client, nil
}

// ClientOptions adjusts Clients; zeros are defaults.
type ClientOptions struct {
	Ctx     context.Context
	Folds   int `flag:"folds" default:"10" min:"2" help:"Folds of clients"`
	First   int `flag:"first" min:"0" help:"Run only this many folds, the first ones; 0 is all"`
	Rounds  int `flag:"rounds" default:"500" min:"1" help:"Rounds"`
	Clients int `flag:"clients" default:"20" min:"2" help:"Clients of a round, of all domains"`
	MinRows int // 0 is 5
	Workers int
	Seed    uint64                 `flag:"seed" help:"Seed of folds and draws"`
	Boost   federated.BoostOptions // of FEDMULTIBOOST
	Methods []string               // of the table; nil is all

	Known  []ClientTrial
	Save   func(*ClientTrial) error
	Fitted func(all int, name string, fold int)
}

// clientMethods are in the order of the table.
var clientMethods = []string{"FEDADABOOST-1", "FEDADABOOST-2", "FEDADABOOST-all", "FEDMULTIBOOST",
	"MULTIBOOST, one term a round", "MULTIBOOST"}

// ClientTrial is one method on one fold.
type ClientTrial struct {
	Set     string     `json:"set"`
	Fold    int        `json:"fold"`
	Method  string     `json:"method"`
	Setting string     `json:"setting"`
	Errors  [2]float64 `json:"errors"` // of the domains' test rows
	Terms   int        `json:"terms"`
	Down    int64      `json:"bytes_down"`
	Up      int64      `json:"bytes_up"`
}

func (t *ClientTrial) uniform() float64 { return (t.Errors[0] + t.Errors[1]) / 2 }
func (t *ClientTrial) worst() float64   { return math.Max(t.Errors[0], t.Errors[1]) }

// ClientReport is the table of one set.
type ClientReport struct {
	Set    string        `json:"set"`
	Note   string        `json:"note,omitempty"`
	Rows   [2]int        `json:"rows"`
	Number [2]int        `json:"clients"`
	Trials []ClientTrial `json:"trials"`
}

func (o *ClientOptions) withDefaults() ClientOptions {
	d := *o
	for _, f := range []struct {
		v    *int
		zero int
	}{{&d.Folds, 10}, {&d.Rounds, 500}, {&d.Clients, 20}, {&d.MinRows, 5}} {
		if *f.v == 0 {
			*f.v = f.zero
		}
	}
	if d.First == 0 {
		d.First = d.Folds
	}
	if d.Ctx == nil {
		d.Ctx = context.Background()
	}
	return d
}

// Clients runs an experiment like table B.1 on one set. Folds are of clients, each domain dealt by
// itself, and a fold's clients are tested on by models of all others.
func Clients(s ClientSet, opts *ClientOptions) (*ClientReport, error) {
	o := opts.withDefaults()
	for _, m := range o.Methods {
		if !slices.Contains(clientMethods, m) {
			return nil, fmt.Errorf("experiment: there is no method %q; there are %s", m,
				strings.Join(clientMethods, "; "))
		}
	}
	t, client, err := s.Load()
	if err != nil {
		return nil, err
	}
	of := map[string][]int{}
	for i, c := range client {
		of[c] = append(of[c], i)
	}
	byDomain := [2][]string{}
	rep := &ClientReport{Set: s.Name, Note: s.Note}
	for c, rows := range of {
		if len(rows) >= o.MinRows {
			k := t.Source[rows[0]]
			byDomain[k] = append(byDomain[k], c)
			rep.Rows[k] += len(rows)
			rep.Number[k]++
		}
	}
	fold := map[string]int{}
	rng := rand.New(rand.NewPCG(o.Seed, 0xb1))
	for k := range byDomain {
		slices.Sort(byDomain[k])
		rng.Shuffle(len(byDomain[k]), func(i, j int) {
			byDomain[k][i], byDomain[k][j] = byDomain[k][j],
				byDomain[k][i]
		})
		for i, c := range byDomain[k] {
			fold[c] = i % o.Folds
		}
	}
	all := o.First * len(clientMethods)
	for f := range min(o.First, o.Folds) {
		x := &clientFold{ClientOptions: &o, t: t, of: of, f: f}
		for _, list := range byDomain {
			for _, c := range list {
				if fold[c] == f {
					x.test = append(x.test, of[c]...)
				} else {
					x.agents = append(x.agents, c)
				}
			}
		}
		for _, method := range clientMethods {
			if o.Methods != nil && !slices.Contains(o.Methods, method) {
				continue
			}
			name := x.setting(method)
			i := slices.IndexFunc(o.Known, func(k ClientTrial) bool {
				return k.Set == s.Name && k.Fold == f && k.Method == method && k.Setting == name
			})
			if i >= 0 {
				rep.Trials = append(rep.Trials, o.Known[i])
				continue
			}
			r, err := x.run(method)
			if err != nil {
				return nil, fmt.Errorf("%s, fold %d, %s: %w", s.Name, f+1, method, err)
			}
			r.Set, r.Fold, r.Method, r.Setting = s.Name, f, method, name
			if o.Save != nil {
				if err := o.Save(r); err != nil {
					return nil, err
				}
			}
			rep.Trials = append(rep.Trials, *r)
			if o.Fitted != nil {
				o.Fitted(all, method, f)
			}
		}
	}
	return rep, nil
}

// clientFold is one division of the clients.
type clientFold struct {
	*ClientOptions
	t      *table.Table
	of     map[string][]int
	f      int
	agents []string
	test   []int
}

func (x *clientFold) setting(method string) string {
	b := x.Boost
	more := ""
	if b.QFolds > 1 {
		more = fmt.Sprintf(" q_folds=%d", b.QFolds)
	}
	return fmt.Sprintf("T=%d r=%d s=%d proposals=%d step=%v mu=%v shared=%v objective=%s q=%s seed=%d folds=%d",
		x.Rounds, x.Clients, b.Candidates, b.Proposals, b.Step, b.Mu, b.Shared, b.Objective, b.Q, x.Seed,
		x.Folds) + more
}

// config is the federated run of an algorithm.
func (x *clientFold) config(a federated.Algorithm) *federated.Config {
	c := &federated.Config{Algorithm: a, Target: "y", Classes: x.t.Classes, Seed: x.Seed + uint64(x.f),
		MinRows: x.MinRows, MultiBoost: x.Boost}
	for _, n := range x.agents {
		c.Agents = append(c.Agents, federated.Member{Name: n, Domain: x.t.Sources[x.t.Source[x.of[n][0]]]})
	}
	c.MultiBoost.Rounds = x.Rounds
	c.MultiBoost.Clients = x.Clients
	return c
}

func (x *clientFold) federate(c *federated.Config) (*federated.Result, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	l := &federated.Local{Agents: map[string]*federated.Agent{}, Workers: x.Workers}
	for _, m := range c.Agents {
		a, err := federated.NewAgent(c, m.Name, x.t.Subset(x.of[m.Name]))
		if err != nil {
			return nil, err
		}
		l.Agents[m.Name] = a
	}
	return federated.Train(c, &federated.Journal{Exchange: l}, &run.Control{Ctx: x.Ctx, Workers: x.Workers})
}

func (x *clientFold) run(method string) (*ClientTrial, error) {
	test := x.t.Subset(x.test)
	out := &ClientTrial{}
	var scores []float64
	var err error
	switch method {
	case "MULTIBOOST", "MULTIBOOST, one term a round":
		var rows []int
		for _, n := range x.agents {
			rows = append(rows, x.of[n]...)
		}
		slices.Sort(rows)
		d, err := multi.NewData(x.t.Subset(rows), boost.Exponential{})
		if err != nil {
			return nil, err
		}
		mo := &multi.Options{Rounds: x.Rounds}
		if method != "MULTIBOOST" {
			mo = multi.EqualTerms()
			mo.Rounds = x.Rounds
		}
		m, _, err := multi.Train(d, mo, &run.Control{Ctx: x.Ctx, Workers: x.Workers})
		if err != nil {
			return nil, err
		}
		out.Terms = m.Terms()
		if scores, err = m.Scores(test, &multi.PredictOptions{Workers: x.Workers}); err != nil {
			return nil, err
		}
	case "FEDMULTIBOOST":
		c := x.config(federated.MultiBoost)
		c.MultiBoost.Clients = max(1, x.Clients/2) // of each domain
		r, err := x.federate(c)
		if err != nil {
			return nil, err
		}
		out.Terms, out.Down, out.Up = r.Multi.Terms(), r.Report.Down, r.Report.Up
		if scores, err = r.Multi.Scores(test, &multi.PredictOptions{Workers: x.Workers}); err != nil {
			return nil, err
		}
	default:
		c := x.config(federated.AdaBoost)
		if k := strings.TrimPrefix(method, "FEDADABOOST-"); k != "all" {
			c.MultiBoost.Only = x.t.Sources[k[0]-'1']
		}
		r, err := x.federate(c)
		if err != nil {
			return nil, err
		}
		out.Terms, out.Down, out.Up = len(r.Ensemble.Terms), r.Report.Down, r.Report.Up
		if scores, err = r.Ensemble.Scores(test, nil); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	d, err := multi.NewData(test, boost.Exponential{})
	if err != nil {
		return nil, err
	}
	e, err := multi.ErrorRates(d, scores, nil)
	if err != nil {
		return nil, err
	}
	out.Errors = [2]float64{e.Domain[0], e.Domain[1]}
	return out, nil
}

// tableB1 are the errors of the thesis, in per cent: FEDADABOOST-1, -2, -all, FEDMULTIBOOST;
// of the domains, their mean, the largest.
var tableB1 = map[string][4][4]float64{
	"4v9": {{7.5, 13.3, 10.4, 13.3}, {9.5, 9.6, 9.5, 9.6}, {7.6, 12.5, 10.1, 12.5}, {6.4, 7.6, 7.0, 7.6}},
	"1v7": {{2.9, 5.0, 3.9, 5.0}, {6.2, 3.0, 4.6, 6.2}, {3.2, 4.3, 3.7, 4.3}, {3.0, 3.5, 3.2, 3.5}},
}

// of lists the trials of a method, by fold.
func (r *ClientReport) of(method string) []ClientTrial {
	var out []ClientTrial
	for _, t := range r.Trials {
		if t.Method == method {
			out = append(out, t)
		}
	}
	return out
}

// WriteClients prints reports in the form of table B.1.
func WriteClients(w io.Writer, reports []*ClientReport) error {
	for _, r := range reports {
		fmt.Fprintf(w, "%s: %d and %d clients, %d and %d rows, %d folds of clients. %s.\n", r.Set,
			r.Number[0], r.Number[1], r.Rows[0], r.Rows[1], len(r.of("FEDMULTIBOOST")), r.Note)
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "error, %\tE1\tE2\tuniform\tworst\tterms\tdown\tup\tthesis")
		for i, m := range clientMethods {
			list := r.of(m)
			if len(list) == 0 {
				continue
			}
			column := func(f func(*ClientTrial) float64) []float64 {
				var v []float64
				for j := range list {
					v = append(v, f(&list[j]))
				}
				return v
			}
			fmt.Fprint(tw, m)
			for _, f := range []func(*ClientTrial) float64{func(t *ClientTrial) float64 { return t.Errors[0] },
				func(t *ClientTrial) float64 { return t.Errors[1] }, (*ClientTrial).uniform,
				(*ClientTrial).worst} {
				fmt.Fprintf(tw, "\t%s", metrics.FormatMeanSD(column(f), 100, 2))
			}
			mean := func(f func(*ClientTrial) float64) float64 { m, _ := metrics.MeanSD(column(f)); return m }
			fmt.Fprintf(tw, "\t%.0f\t%.1f MB\t%.1f MB",
				mean(func(t *ClientTrial) float64 { return float64(t.Terms) }),
				mean(func(t *ClientTrial) float64 { return float64(t.Down) / 1e6 }),
				mean(func(t *ClientTrial) float64 { return float64(t.Up) / 1e6 }))
			if b, ok := tableB1[r.Set]; ok && i < 4 {
				fmt.Fprintf(tw, "\t%.1f %.1f %.1f %.1f", b[i][0], b[i][1], b[i][2], b[i][3])
			}
			fmt.Fprintln(tw)
		}
		if err := tw.Flush(); err != nil {
			return err
		}
		worst := func(m string) []float64 {
			var v []float64
			for _, t := range r.of(m) {
				v = append(v, t.worst())
			}
			return v
		}
		ours := worst("FEDMULTIBOOST")
		if len(ours) == 0 {
			continue
		}
		for _, m := range []string{"FEDADABOOST-all", "MULTIBOOST, one term a round", "MULTIBOOST"} {
			other := worst(m)
			if len(other) != len(ours) {
				continue
			}
			a, _ := metrics.MeanSD(ours)
			b, _ := metrics.MeanSD(other)
			fmt.Fprintf(w, "worst domain, FEDMULTIBOOST beside %s: %+.2f points, %+.1f %%", m, 100*(a-b),
				100*(a/b-1))
			if t, err := metrics.PairedT(ours, other); err == nil {
				fmt.Fprintf(w, ", paired t p = %s", t.P.Text("%.2g"))
			}
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w)
	}
	return nil
}
