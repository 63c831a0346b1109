package experiment

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/tropica-fst/tropica/cmd/internal/plot"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/resilient"
)

// CorruptedOptions adjusts Corrupted; zero fields have the defaults given.
type CorruptedOptions struct {
	Tasks   []string // of CorruptedTasks; all whose files are there
	Kinds   []string // of corruption; all that a task has
	Repeats int      `flag:"repeats" default:"8" min:"1" help:"Draws of the data"`
	Seed    uint64   `flag:"seed" help:"Seed of the draws"`
	Train   int      `flag:"train" min:"0" help:"Examples to train on; 0 is 2000 images, 800 sentences, 1500 words"`
	Test    int      `flag:"test" default:"2000" min:"1" help:"Examples to test on, at most"`
	Workers int
	// Known draws are not made again; Save, if not nil, receives each new one, and Done is called
	// after each.
	Known []CorruptedDraw
	Save  func(*CorruptedDraw) error
	Done  func(all int, what string)
}

// CorruptedDraw is what all methods made of one draw of the data with one corruption.
type CorruptedDraw struct {
	Task     string  `json:"task"`
	Kind     string  `json:"kind"` // of corruption; "" for none
	Level    float64 `json:"level"`
	Repeat   int     `json:"repeat"`
	Settings string  `json:"settings"`
	// Errors are test errors in per cent, Areas those under the ROC of finding what is corrupted,
	// both by the names of methods.
	Errors map[string]float64 `json:"errors"`
	Areas  map[string]float64 `json:"areas,omitempty"`
}

// corruptedTask is a data set with what corrupts it.
type corruptedTask struct {
	name, error string // error names what is measured
	files       []string
	kinds       []corruption
	methods     []string
	train       int
	load        func(d folder) (drawing, error)
}

// drawing fills in what all methods make of a draw.
type drawing func(ctx context.Context, o *CorruptedOptions, draw *CorruptedDraw) error

type corruption struct {
	name   string
	levels []float64
}

// The ways of finding what is corrupted that have no model of their own.
const (
	confidence  = "self-confidence" // out-of-sample, of ordinary training: what cleanlab ranks by
	outOfSample = "out-of-sample multipliers"
)

// huberDeltas are the caps of Huber's relaxation that are compared: of images, and of sentences and
// words, where the first is the default of --resilient_delta.
var (
	huberDeltas      = []float64{0.2, 0.5}
	structuredDeltas = []float64{0.05, 0.2, 0.5}
)

func huberName(delta float64) string { return fmt.Sprintf("huber %v", delta) }

// Methods of images that choose by rows left out: the strength of the relaxation, or the rate.
const (
	chosenName = "chosen"
	chosenRate = "chosen rate"
)

var imageMethods = []string{"ordinary", "slow", "oracle", "early", "itlm", "trim", "quadratic",
	huberName(0.2),
	huberName(0.5), "cvar 0.5", chosenName, chosenRate}

var structuredMethods = []string{"ordinary", "oracle", "early", "itlm", "trim", "quadratic", huberName(0.05),
	huberName(0.2), huberName(0.5), "cvar 0.5"}

// corruptedTasks are in the order of reports.
func corruptedTasks() []corruptedTask {
	flips := corruption{"flips", []float64{0.1, 0.2, 0.4}}
	derangement := corruption{"derangement", []float64{0.1, 0.2, 0.4}}
	blur := func(radius string) corruption { return corruption{"blur " + radius, []float64{0.2, 0.5, 0.8}} }
	images := []corruption{flips, derangement, blur("0.7"), blur("1.5")}
	labels := []corruption{{"annotation", []float64{0.05, 0.1, 0.2}}}
	cifar := []string{"cifar10/cifar10-train4000-images-idx4-ubyte.gz",
		"cifar10/cifar10-train4000-labels-idx1-ubyte.gz", "cifar10/cifar10-test1000-images-idx4-ubyte.gz",
		"cifar10/cifar10-test1000-labels-idx1-ubyte.gz"}
	return []corruptedTask{
		{"fashion", "images wrong, %", mnistFiles("fashion-mnist"), images, imageMethods, 2000,
			loadCorruptedImages(mnistFiles("fashion-mnist"))},
		{"cifar", "images wrong, %", cifar, images, imageMethods, 2000, loadCorruptedImages(cifar)},
		{"chunking", "labels wrong, %", []string{"chunking/conll2000-train.txt.gz",
			"chunking/conll2000-test.txt.gz"}, labels, structuredMethods, 800, loadCorruptedSentences},
		{"g2p", "phones wrong, %", []string{"g2p/dut_train.tsv", "g2p/dut_test.tsv"}, labels,
			structuredMethods, 1500, loadCorruptedWords},
	}
}

// CorruptedTasks lists the names of tasks.
func CorruptedTasks() []string {
	var names []string
	for _, t := range corruptedTasks() {
		names = append(names, t.name)
	}
	return names
}

// Corrupted is an experiment of resilient learning. Draws of each task are left clean, or get each
// corruption at each level. It trains by every method and measures the test error, and how well
// methods find corrupted examples.
//
//   - fashion, cifar: 2000 images, averaged over squares to some 200 inputs, a network with one
//     hidden layer of 64. Labels become another class at random (flips) or by one derangement of
//     the classes. Or images are blurred by a Gaussian of the given radius in pixels, with labels
//     unchanged.
//   - chunking: 800 sentences, a conditional random field. In a corrupted sentence each label
//     becomes another with probability 0.3, one at least.
//   - g2p: 1500 Dutch words, cross-entropy. In a corrupted pronunciation a fifth of the phones, one
//     at least, are substituted, left out, or followed by another.
//
// Huber's relaxation of images has no scale, as in the source: its largest weight is its delta, and
// its steps are as much smaller. slow is ordinary training at 0.2 times the rate of ordinary, to
// separate the effect of the step. chosen takes ordinary training or one of three strengths of the
// relaxation by network.Choose, and chosen rate one of three rates of ordinary training.
//
// ordinary trains on all examples, oracle on the correct ones, and early stops by a fifth held out.
// itlm and trim know the share of corrupted examples. The tasks' files are read from data, a
// folder.
func Corrupted(ctx context.Context, data fs.FS, o *CorruptedOptions) (*CorruptedReport, error) {
	var p CorruptedOptions
	if o != nil {
		p = *o
	}
	p.Repeats, p.Test = cmp.Or(p.Repeats, 8), cmp.Or(p.Test, 2000)
	if p.Repeats < 1 || p.Train < 0 || p.Test < 1 || p.Train > 0 && p.Train < 50 {
		return nil,
			fmt.Errorf("experiment: %d repetitions, %d examples to train on and %d to test on: there must be at "+
				"least 1, 50 and 1",
				p.Repeats, p.Train, p.Test)
	}
	d := folder{data}
	all := corruptedTasks()
	chosen := all
	if len(p.Tasks) > 0 {
		var err error
		if chosen, err = choose(all, func(t corruptedTask) string { return t.name }, p.Tasks); err != nil {
			return nil, err
		}
	}
	r := &CorruptedReport{Repeats: p.Repeats}
	for _, t := range chosen {
		if l := d.lacks(t.files); len(l) > 0 {
			if len(p.Tasks) == 0 {
				r.Missing = append(r.Missing, fmt.Sprintf("%s: the folder has no %s", t.name, l[0]))
				continue
			}
			return nil, d.need(t.name, t.files)
		}
		if err := p.task(ctx, d, &t, r); err != nil {
			return nil, fmt.Errorf("experiment: %s: %w", t.name, err)
		}
	}
	if len(r.Tasks) == 0 {
		return nil, errors.New("experiment: the folder has the files of no task")
	}
	return r, nil
}

// task makes all draws of a task.
func (o *CorruptedOptions) task(ctx context.Context, d folder, t *corruptedTask, r *CorruptedReport) error {
	of := *o
	of.Train = cmp.Or(o.Train, t.train)
	var run drawing
	kinds := t.kinds
	if len(o.Kinds) > 0 {
		kinds = slices.DeleteFunc(slices.Clone(kinds),
			func(k corruption) bool { return !slices.Contains(o.Kinds, k.name) })
		if len(kinds) == 0 {
			return fmt.Errorf("none of its corruptions is among %s", strings.Join(o.Kinds, ", "))
		}
	}
	var draws []CorruptedDraw
	settings := fmt.Sprintf("seed=%d train=%d test=%d", of.Seed, of.Train, of.Test)
	for _, k := range append([]corruption{{"", []float64{0}}}, kinds...) {
		for _, level := range k.levels {
			for repeat := range of.Repeats {
				draws = append(draws, CorruptedDraw{Task: t.name, Kind: k.name, Level: level,
					Repeat: repeat, Settings: settings})
			}
		}
	}
	for i := range draws {
		one := &draws[i]
		known := slices.IndexFunc(o.Known, func(k CorruptedDraw) bool {
			return k.Task == one.Task && k.Kind == one.Kind && k.Level == one.Level &&
				k.Repeat == one.Repeat && k.Settings == one.Settings
		})
		if known >= 0 {
			*one = o.Known[known]
		} else {
			if run == nil {
				var err error
				if run, err = t.load(d); err != nil {
					return err
				}
			}
			one.Errors, one.Areas = map[string]float64{}, map[string]float64{}
			if err := run(ctx, &of, one); err != nil {
				return err
			}
			if o.Save != nil {
				if err := o.Save(one); err != nil {
					return err
				}
			}
		}
		if o.Done != nil {
			o.Done(len(draws), fmt.Sprintf("%s %s %v, draw %d", t.name, one.Kind, one.Level, one.Repeat+1))
		}
	}
	r.Tasks = append(r.Tasks, CorruptedTaskReport{Task: t.name, Measure: t.error, Methods: t.methods,
		Draws: draws})
	return nil
}

// rng is the generator of a draw: of the data, which are the same for every corruption, or of the
// corruption.
func (o *CorruptedOptions) rng(draw *CorruptedDraw, stream uint64) *rand.Rand {
	return rand.New(rand.NewPCG(o.Seed+1, uint64(draw.Repeat)<<8|stream))
}

// area is the area under the ROC of the order of suspicion that losses and multipliers give.
func area(losses, lambda []float64, bad []bool) float64 {
	score, target := make([]float64, len(losses)), make([]float64, len(losses))
	order := resilient.Rank(losses, lambda)
	for at, i := range order {
		score[i] = float64(len(order) - at)
		if at > 0 { // what is equal in both is a tie
			if j := order[at-1]; losses[i] == losses[j] && lambda[i] == lambda[j] {
				score[i] = score[j]
			}
		}
		if bad[i] {
			target[i] = 1
		}
	}
	return metrics.AUC(score, target, nil)
}

// CorruptedReport is what Corrupted found.
type CorruptedReport struct {
	Repeats int                   `json:"repeats"`
	Tasks   []CorruptedTaskReport `json:"tasks"`
	Missing []string              `json:"missing,omitempty"` // tasks without files
}

// CorruptedTaskReport has the draws of a task.
type CorruptedTaskReport struct {
	Task    string          `json:"task"`
	Measure string          `json:"measure"`
	Methods []string        `json:"methods"`
	Draws   []CorruptedDraw `json:"draws"`
}

// kinds lists the corruptions, in their order, with their levels.
func (t *CorruptedTaskReport) kinds() []corruption {
	var out []corruption
	for _, d := range t.Draws {
		if d.Kind == "" {
			continue
		}
		i := slices.IndexFunc(out, func(k corruption) bool { return k.name == d.Kind })
		if i < 0 {
			i, out = len(out), append(out, corruption{name: d.Kind})
		}
		if !slices.Contains(out[i].levels, d.Level) {
			out[i].levels = append(out[i].levels, d.Level)
		}
	}
	return out
}

// values are those of a method by draw: test errors, or areas.
func (t *CorruptedTaskReport) values(kind string, level float64, of func(*CorruptedDraw) map[string]float64,
	method string) []float64 {
	var out []float64
	for i := range t.Draws {
		if d := &t.Draws[i]; d.Kind == kind && d.Level == level {
			if v, ok := of(d)[method]; ok {
				out = append(out, v)
			}
		}
	}
	return out
}

func (t *CorruptedTaskReport) errors(kind string, level float64, method string) []float64 {
	return t.values(kind, level, func(d *CorruptedDraw) map[string]float64 { return d.Errors }, method)
}

func (t *CorruptedTaskReport) areas(kind string, level float64, method string) []float64 {
	return t.values(kind, level, func(d *CorruptedDraw) map[string]float64 { return d.Areas }, method)
}

// drops are the errors less those on clean data, draw by draw.
func (t *CorruptedTaskReport) drops(kind string, level float64, method string) []float64 {
	dirty, clean := t.errors(kind, level, method), t.errors("", 0, method)
	out := make([]float64, min(len(dirty), len(clean)))
	for i := range out {
		out[i] = dirty[i] - clean[i]
	}
	return out
}

// WriteTable writes a table for each task and corruption: mean test errors (standard deviations),
// their rise from clean data at the highest level, and areas under the ROC. Two-sided paired tests
// compare the rise with ordinary training and ITLM.
func (r *CorruptedReport) WriteTable(w io.Writer) error {
	for i := range r.Tasks {
		t := &r.Tasks[i]
		for _, k := range t.kinds() {
			tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
			fmt.Fprintf(tw, "%s, %s: %s\tclean", t.Task, k.name, t.Measure)
			for _, l := range k.levels {
				fmt.Fprintf(tw, "\t%v %%", 100*l)
			}
			last := k.levels[len(k.levels)-1]
			fmt.Fprintf(tw, "\tclean, p\trise to %v %%\tp ordinary\tp itlm\n", 100*last)
			for _, m := range t.Methods {
				clean := t.errors("", 0, m)
				fmt.Fprintf(tw, "%s\t%s", m, metrics.FormatMeanSD(clean, 1, 2))
				for _, l := range k.levels {
					fmt.Fprintf(tw, "\t%s", metrics.FormatMeanSD(t.errors(k.name, l, m), 1, 2))
				}
				rise := t.drops(k.name, last, m)
				mean, _ := metrics.MeanSD(rise)
				fmt.Fprintf(tw, "\t%s\t%+.2f\t%s\t%s\n", pairedP(clean, t.errors("", 0, "ordinary")), mean,
					pairedP(rise, t.drops(k.name, last, "ordinary")),
					pairedP(rise, t.drops(k.name, last, "itlm")))
			}
			if err := tw.Flush(); err != nil {
				return err
			}
			if err := t.writeAreas(w, k); err != nil {
				return err
			}
			fmt.Fprintln(w)
		}
	}
	_, err := fmt.Fprintf(w, "%d draws of the data; tests are paired by draw and two-sided, "+
		"of draws that overlap in their examples\n", r.Repeats)
	return err
}

// writeAreas writes how well what is corrupted is found, beside self-confidence.
func (t *CorruptedTaskReport) writeAreas(w io.Writer, k corruption) error {
	methods := append(slices.Clone(t.Methods), confidence, outOfSample)
	methods = slices.DeleteFunc(methods, func(m string) bool {
		return len(t.areas(k.name, k.levels[0], m)) == 0
	})
	if len(methods) == 0 {
		return nil
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "area under the ROC")
	for _, l := range k.levels {
		fmt.Fprintf(tw, "\t%v %%\tp", 100*l)
	}
	fmt.Fprintln(tw)
	for _, m := range methods {
		fmt.Fprint(tw, m)
		for _, l := range k.levels {
			a := t.areas(k.name, l, m)
			fmt.Fprintf(tw, "\t%s\t%s", metrics.FormatMeanSD(a, 1, 3),
				pairedP(a, t.areas(k.name, l, confidence)))
		}
		fmt.Fprintln(tw)
	}
	return tw.Flush()
}

// pairedP is the two-sided p of a paired test; "" where there is none.
func pairedP(a, b []float64) string {
	if len(a) != len(b) || slices.Equal(a, b) {
		return ""
	}
	t, err := metrics.PairedT(a, b)
	if err != nil {
		return ""
	}
	return t.P.Text("%.2g")
}

// WriteCSV writes every figure: what box plots are made of.
func (r *CorruptedReport) WriteCSV(w io.Writer) error {
	rows := [][]string{{"task", "corruption", "level", "draw", "method", "error", "area"}}
	number := func(v float64, ok bool) string {
		if !ok || math.IsNaN(v) {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	for i := range r.Tasks {
		t := &r.Tasks[i]
		for _, d := range t.Draws {
			for _, m := range append(slices.Clone(t.Methods), confidence, outOfSample) {
				e, hasError := d.Errors[m]
				a, hasArea := d.Areas[m]
				if hasError || hasArea {
					rows = append(rows, []string{d.Task, d.Kind, strconv.FormatFloat(d.Level, 'g', -1, 64),
						strconv.Itoa(d.Repeat + 1), m, number(e, hasError), number(a, hasArea)})
				}
			}
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// Charts returns box plots of the test errors, by task and corruption, with names for files.
func (r *CorruptedReport) Charts() (names []string, charts []plot.Chart) {
	for i := range r.Tasks {
		t := &r.Tasks[i]
		for _, k := range t.kinds() {
			c := plot.Chart{Title: fmt.Sprintf("%s: %s", t.Task, k.name),
				Subtitle: fmt.Sprintf("%d draws of the data", r.Repeats), YLabel: t.Measure,
				XLabel: "share of what is corrupted", Categories: []string{"clean"}, Width: 1080}
			for _, l := range k.levels {
				c.Categories = append(c.Categories, fmt.Sprintf("%v %%", 100*l))
			}
			for _, m := range t.Methods {
				values := [][]float64{t.errors("", 0, m)}
				for _, l := range k.levels {
					values = append(values, t.errors(k.name, l, m))
				}
				c.Series = append(c.Series, plot.Box(m, values))
			}
			names, charts = append(names, t.Task+"-"+strings.ReplaceAll(k.name, " ", "-")), append(charts, c)
		}
	}
	return names, charts
}
