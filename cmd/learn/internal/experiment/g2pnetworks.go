package experiment

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/g2p"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/run"
)

// NetworksOptions adjusts PronouncingNetworks; each zero field is the default given.
type NetworksOptions struct {
	Languages  []string // of the folder; ice, gre, ady
	Test       string   // the part that models are judged on: dev or test; dev
	Objectives []g2p.Kind
	Seeds      int // runs of every network; 3
	NoLinear   bool
	Networks   g2p.NetworkOptions
	Workers    int

	// Known results of the same settings are not made again. Save, if not nil, receives each new
	// one, and Done what was done, of so many in all.
	Known []NetworksResult
	Save  func(*NetworksResult) error
	Done  func(all int, what string)
}

// Methods of NetworksResult.
const (
	LinearMethod   = "linear"
	NetworkMethod  = "network"  // one network
	EnsembleMethod = "ensemble" // their mean
	PooledMethod   = "pooled"   // least expected edit distance over the best strings of all
)

// NetworksResult is what models of one training say of the test words of a language.
type NetworksResult struct {
	Language  string          `json:"language"`
	Objective g2p.Kind        `json:"objective"`
	Network   bool            `json:"network"`
	Seed      int             `json:"seed"`
	Phones    []int           `json:"phones"` // of the nearest reference, by word
	Outputs   []NetworksEdits `json:"outputs"`
	Seconds   float64         `json:"seconds"` // of training, by the clock
}

// NetworksEdits are the edits of one model's outputs to the nearest reference, by word.
type NetworksEdits struct {
	Method string `json:"method"`
	Edits  []int  `json:"edits"`
}

func (o *NetworksOptions) withDefaults() NetworksOptions {
	var p NetworksOptions
	if o != nil {
		p = *o
	}
	if p.Languages == nil {
		p.Languages = []string{"ice", "gre", "ady"}
	}
	if p.Test == "" {
		p.Test = "dev"
	}
	if p.Objectives == nil {
		p.Objectives = []g2p.Kind{g2p.CrossEntropy, g2p.HammingMargin, g2p.LatentMargin, g2p.RiskMix}
	}
	if p.Seeds == 0 {
		p.Seeds = 3
	}
	return p
}

// training is one training of an experiment.
type networksTraining struct {
	language  string
	objective g2p.Kind
	network   bool
	seed      int
}

func (t *networksTraining) String() string {
	if !t.network {
		return fmt.Sprintf("%s, linear, %s", t.language, t.objective)
	}
	return fmt.Sprintf("%s, networks, %s, seed %d", t.language, t.objective, t.seed)
}

// PronouncingNetworks trains linear models and networks of pronunciation on the official parts of
// languages, LANGUAGE_train.tsv of the folder and LANGUAGE_dev.tsv or LANGUAGE_test.tsv, for
// several objectives, and networks from several seeds. Linear models have the constants of
// g2p.DefaultObjective; networks have γ = 1.
func PronouncingNetworks(ctx context.Context, data fs.FS, opts *NetworksOptions) (*NetworksReport, error) {
	o := opts.withDefaults()
	var all []networksTraining
	for _, language := range o.Languages {
		for _, kind := range o.Objectives {
			if !o.NoLinear {
				all = append(all, networksTraining{language, kind, false, 0})
			}
			for seed := range o.Seeds {
				all = append(all, networksTraining{language, kind, true, seed + 1})
			}
		}
	}
	r := &NetworksReport{Test: o.Test, Languages: o.Languages}
	var x pronouncing
	for _, t := range all {
		k := slices.IndexFunc(o.Known, func(k NetworksResult) bool {
			return networksTraining{k.Language, k.Objective, k.Network, k.Seed} == t
		})
		if k >= 0 {
			r.results = append(r.results, o.Known[k])
		} else {
			one, err := x.fit(ctx, data, &o, &t)
			if err != nil {
				return nil, fmt.Errorf("experiment: %v: %w", &t, err)
			}
			r.results = append(r.results, *one)
			if o.Save != nil {
				if err := o.Save(one); err != nil {
					return nil, err
				}
			}
		}
		if o.Done != nil {
			o.Done(len(all), t.String())
		}
	}
	return r, r.sum()
}

// pronouncing keeps what trainings of one language share.
type pronouncing struct {
	language    string
	train, test []g2p.Pair
	problems    [2]*g2p.Problem // linear, and for networks
}

func (x *pronouncing) fit(ctx context.Context, data fs.FS, o *NetworksOptions,
	t *networksTraining) (*NetworksResult, error) {
	if err := x.open(data, t.language, o.Test); err != nil {
		return nil, err
	}
	p := &x.problems[0]
	prepare := &g2p.Options{Workers: o.Workers, Align: g2p.AlignOptions{Direct: true}}
	if t.network {
		p = &x.problems[1]
		o.Networks.Recipe(len(x.train), prepare)
	}
	var err error
	if *p == nil {
		if *p, err = g2p.Prepare(ctx, x.train, prepare); err != nil {
			return nil, err
		}
	}
	objective := g2p.DefaultObjective(t.objective)
	out := &NetworksResult{Language: t.language, Objective: t.objective, Network: t.network, Seed: t.seed}
	add := func(method string, m *g2p.Model, d *g2p.DecodeOptions) error {
		edits, phones, err := m.Edits(x.test, d, o.Workers)
		out.Outputs, out.Phones = append(out.Outputs, NetworksEdits{method, edits}), phones
		return err
	}
	begin := time.Now()
	if !t.network {
		m, _, err := (*p).Fit(ctx, objective, &g2p.FitOptions{Workers: o.Workers})
		if err != nil {
			return nil, err
		}
		out.Seconds = time.Since(begin).Seconds()
		return out, add(LinearMethod, m, nil)
	}
	if objective.Gamma != 0 {
		objective.Gamma = 1
	}
	n := o.Networks
	n.Seed = uint64(t.seed)
	m, _, err := (*p).FitNetworks(objective, &n, &run.Control{Ctx: ctx, Workers: o.Workers})
	if err != nil {
		return nil, err
	}
	out.Seconds = time.Since(begin).Seconds()
	members := len(m.Networks())
	for k := range members {
		one, err := m.Select(k)
		if err == nil {
			err = add(NetworkMethod, one, nil)
		}
		if err != nil {
			return nil, err
		}
	}
	if members == 1 {
		return out, nil
	}
	if err := add(EnsembleMethod, m, nil); err != nil {
		return nil, err
	}
	return out, add(PooledMethod, m, &g2p.DecodeOptions{Decoding: g2p.Pooled})
}

// open reads the words of a language, unless they were read last.
func (x *pronouncing) open(data fs.FS, language, test string) error {
	if x.language == language {
		return nil
	}
	*x = pronouncing{}
	d := folder{data}
	var err error
	if x.train, err = d.pairs(language + "_train.tsv"); err != nil {
		return err
	}
	if x.test, err = d.pairs(language + "_" + test + ".tsv"); err != nil {
		return err
	}
	x.language = language
	return nil
}

// pairs reads words with phones.
func (d folder) pairs(name string) ([]g2p.Pair, error) {
	f, found, err := d.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := table.Uncompressed(f, found)
	if err != nil {
		return nil, err
	}
	return g2p.ReadPairs(r, found)
}

// NetworksReport is a table of methods and objectives. A method that was run several times counts
// by the mean of its runs, word by word; so do single networks.
type NetworksReport struct {
	Test      string        `json:"test"`
	Languages []string      `json:"languages"`
	Words     []int         `json:"words"` // by language
	Rows      []NetworksRow `json:"rows"`

	results []NetworksResult
}

// NetworksRow is a method under an objective.
type NetworksRow struct {
	Method    string    `json:"method"`
	Objective g2p.Kind  `json:"objective"`
	WER       []float64 `json:"wer"`      // by language, in per cent
	Mean      float64   `json:"mean_wer"` // over the languages
	PER       float64   `json:"mean_per"`
	Seconds   float64   `json:"seconds"` // of a training, all languages together

	// Two-sided p-values of paired t-tests over all words: of the wrong words beside the first row,
	// and of wrong words and edits beside the same method under the Hamming margin.
	First        metrics.Maybe `json:"p_first"`
	Hamming      metrics.Maybe `json:"p_hamming"`
	HammingEdits metrics.Maybe `json:"p_hamming_edits"`

	wrong, edits []float64 // by word
}

// sum makes the rows of the results.
func (r *NetworksReport) sum() error {
	type key struct {
		method    string
		objective g2p.Kind
	}
	var keys []key
	for _, one := range r.results {
		for _, out := range one.Outputs {
			if k := (key{out.Method, one.Objective}); !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	methods := []string{LinearMethod, NetworkMethod, EnsembleMethod, PooledMethod}
	slices.SortStableFunc(keys, func(a, b key) int {
		return slices.Index(methods,
			a.method) - slices.Index(methods, b.method)
	})
	for _, k := range keys {
		row := NetworksRow{Method: k.method, Objective: k.objective}
		for _, language := range r.Languages {
			if err := row.add(r.results, language); err != nil {
				return err
			}
		}
		r.Rows = append(r.Rows, row)
	}
	for _, language := range r.Languages {
		for _, one := range r.results {
			if one.Language == language {
				r.Words = append(r.Words, len(one.Phones))
				break
			}
		}
	}
	p := func(a, b []float64) metrics.Maybe {
		t, err := metrics.PairedT(a, b)
		if err != nil {
			return 1
		}
		return t.P
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		row.Mean /= float64(len(r.Languages))
		row.PER /= float64(len(r.Languages))
		row.First = p(row.wrong, r.Rows[0].wrong)
		row.Hamming, row.HammingEdits = 1, 1
		for k := range r.Rows {
			if h := &r.Rows[k]; h.Method == row.Method && h.Objective == g2p.HammingMargin {
				row.Hamming, row.HammingEdits = p(row.wrong, h.wrong), p(row.edits, h.edits)
			}
		}
	}
	return nil
}

// add adds the results of a language.
func (row *NetworksRow) add(results []NetworksResult, language string) error {
	var wrong, edits []float64
	runs, phones, trainings := 0.0, 0, 0.0
	seconds := 0.0
	for _, one := range results {
		if one.Language != language || one.Objective != row.Objective {
			continue
		}
		mine := false
		for _, out := range one.Outputs {
			if out.Method != row.Method {
				continue
			}
			if wrong == nil {
				wrong, edits = make([]float64, len(out.Edits)), make([]float64, len(out.Edits))
			}
			if len(out.Edits) != len(wrong) || len(one.Phones) != len(wrong) {
				return fmt.Errorf("experiment: results of %s on %d and %d words", language, len(out.Edits), len(wrong))
			}
			mine = true
			runs++
			for i, e := range out.Edits {
				edits[i] += float64(e)
				if e > 0 {
					wrong[i]++
				}
			}
		}
		if mine {
			seconds += one.Seconds
			trainings++
			phones = 0
			for _, n := range one.Phones {
				phones += n
			}
		}
	}
	if runs == 0 {
		return fmt.Errorf("experiment: no result of %s under %s in %s", row.Method, row.Objective, language)
	}
	sumWrong, sumEdits := 0.0, 0.0
	for i := range wrong {
		wrong[i] /= runs
		edits[i] /= runs
		sumWrong += wrong[i]
		sumEdits += edits[i]
	}
	wer := 100 * sumWrong / float64(len(wrong))
	row.WER = append(row.WER, wer)
	row.Mean += wer
	row.PER += 100 * sumEdits / float64(phones)
	row.Seconds += seconds / trainings
	row.wrong, row.edits = append(row.wrong, wrong...), append(row.edits, edits...)
	return nil
}

// WriteTable writes the report for people.
func (r *NetworksReport) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "wrong words in per cent, on %s\n", r.Test)
	t := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	fmt.Fprint(t, "method\tobjective")
	for i, language := range r.Languages {
		fmt.Fprintf(t, "\t%s (%d)", language, r.Words[i])
	}
	fmt.Fprintln(t, "\tmean\tphones\tp first\tp hamming\tp hamming (edits)\tseconds")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%s", row.Method, row.Objective)
		for _, v := range row.WER {
			fmt.Fprintf(t, "\t%.1f", v)
		}
		fmt.Fprintf(t, "\t%.2f\t%.2f\t%s\t%s\t%s\t%.0f\n", row.Mean, row.PER, row.First.Text("%.2g"),
			row.Hamming.Text("%.2g"),
			row.HammingEdits.Text("%.2g"), row.Seconds)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "p: paired t-tests over all words, of wrong words beside the first row, and of "+
		"wrong words and edits\n"+
		"beside the same method under the Hamming margin; seconds of one training by the clock")
	return err
}

// WriteCSV writes the report for programs: a row for each method, objective and language.
func (r *NetworksReport) WriteCSV(w io.Writer) error {
	rows := [][]string{{"method", "objective", "language", "words", "wer", "mean_wer", "mean_per", "p_first",
		"p_hamming", "p_hamming_edits", "seconds"}}
	g := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for _, row := range r.Rows {
		for i, language := range r.Languages {
			rows = append(rows, []string{row.Method, string(row.Objective), language, strconv.Itoa(r.Words[i]),
				g(row.WER[i]),
				g(row.Mean), g(row.PER), g(float64(row.First)), g(float64(row.Hamming)), g(float64(row.HammingEdits)),
				g(row.Seconds)})
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// NetworksIdentity spells the settings on which results depend, for files that keep them.
func (o *NetworksOptions) NetworksIdentity() string {
	p := o.withDefaults()
	return fmt.Sprintf("test=%s networks=%s", p.Test, strings.ReplaceAll(fmt.Sprintf("%+v", p.Networks), " ",
		","))
}
