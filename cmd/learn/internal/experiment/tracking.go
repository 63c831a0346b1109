package experiment

import (
	"context"
	"encoding/csv"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/tracking"
)

// TrackingTask is movies to learn from and to judge by, in trials that are paired over methods.
type TrackingTask struct {
	Name   string
	Trials []TrackingTrial
	Kinds  string // of tracking.Options.Events; "" is auto
}

// TrackingTrial is one division. Folds divide Train to choose the penalty.
type TrackingTrial struct {
	Train [][]*tracking.Movie // groups that share no frames
	Test  []*tracking.Movie
}

// TrackingOptions says what Tracking compares. Tags are those of package learner.
type TrackingOptions struct {
	// distance is tuned on the training movies; optimistic is the same tuned on the test movies
	// themselves, which no method could be.
	Methods   []string  `flag:"methods" default:"nearest,distance,optimistic,hand,local,symmetric,margin-l1,margin-distance,margin" values:"nearest,distance,optimistic,hand,local,symmetric,margin-l1,margin-distance,margin" help:"Methods"`
	Lambda    []float64 `flag:"lambda" default:"0.3,0.1,0.03,0.01,0.003" above:"0" help:"Penalties to choose from"`
	Tolerance int       `flag:"tolerance" default:"1" min:"0" help:"Frames by which a division may be found earlier or later"`
	Workers   int
	Known     []TrackingCell
	Save      func(*TrackingCell) error
	Done      func(task string, trial int, method string)
}

// settings is all that the results of a task depend on.
func (t *TrackingTask) settings() string {
	h := fnv.New64a()
	for _, x := range t.Trials {
		fmt.Fprintf(h, "%x %x ", tracking.Fingerprint(all(x.Train, -1)), tracking.Fingerprint(x.Test))
	}
	return fmt.Sprintf("movies=%x kinds=%s", h.Sum64(), t.Kinds)
}

// TrackingCell is what one method came to in one trial.
type TrackingCell struct {
	Task     string          `json:"task"`
	Trial    int             `json:"trial"`
	Method   string          `json:"method"`
	Settings string          `json:"settings"` // all else that the result depends on
	Lambda   float64         `json:"lambda"`   // chosen
	Loss     float64         `json:"loss"`
	Missed   float64         `json:"missed"` // share of true events
	Counts   tracking.Counts `json:"counts"`
}

// TrackingReport is all cells, in the order of tasks, methods and trials.
type TrackingReport struct {
	Cells []*TrackingCell `json:"cells"`
	order [][2]string     // task and method
}

// Tracking trains every method on every trial of every task.
func Tracking(ctx context.Context, tasks []TrackingTask, o *TrackingOptions) (*TrackingReport, error) {
	r := &TrackingReport{}
	for _, t := range tasks {
		settings := fmt.Sprintf("%s lambda=%v tolerance=%d", t.settings(), o.Lambda, o.Tolerance)
		for _, method := range o.Methods {
			r.order = append(r.order, [2]string{t.Name, method})
			for i := range t.Trials {
				k := slices.IndexFunc(o.Known, func(c TrackingCell) bool {
					return c.Task == t.Name && c.Method == method && c.Trial == i+1 && c.Settings == settings
				})
				if k >= 0 {
					r.Cells = append(r.Cells, &o.Known[k])
					continue
				}
				c, err := trackingCell(ctx, &t, i, method, o)
				if err != nil {
					return nil, fmt.Errorf("%s, trial %d, %s: %w", t.Name, i+1, method, err)
				}
				c.Settings = settings
				r.Cells = append(r.Cells, c)
				if o.Save != nil {
					if err := o.Save(c); err != nil {
						return nil, err
					}
				}
				if o.Done != nil {
					o.Done(t.Name, i+1, method)
				}
			}
		}
	}
	return r, nil
}

func trackingCell(ctx context.Context, t *TrackingTask, trial int, method string,
	o *TrackingOptions) (*TrackingCell, error) {
	x := &t.Trials[trial]
	train := all(x.Train, -1)
	options := &tracking.Options{Method: method, Events: t.Kinds}
	learnt := false
	switch method {
	case "optimistic":
		options.Method, train = "distance", x.Test
	case "margin-l1":
		options.Method, options.Norm, learnt = "margin", "l1", true
	case "margin-distance":
		options.Method, options.Prior, learnt = "margin", "distance", true
	case "margin", "local":
		learnt = true
	}
	fit := func(lambda float64, train, test []*tracking.Movie) (*tracking.Report, error) {
		options.Lambda = lambda
		m, _, err := tracking.Train(train, options, &run.Control{Ctx: ctx, Workers: o.Workers})
		if err != nil {
			return nil, err
		}
		p, err := m.Predict(ctx, test, o.Workers)
		if err != nil {
			return nil, err
		}
		return tracking.Judge(test, p, o.Tolerance)
	}
	lambda := o.Lambda[0]
	if learnt && len(o.Lambda) > 1 {
		best := math.Inf(1)
		for _, v := range o.Lambda {
			cost := 0.0
			for g := range x.Train {
				r, err := fit(v, all(x.Train, g), x.Train[g])
				if err != nil {
					return nil, err
				}
				cost += r.Loss * float64(r.Pairs)
			}
			if cost < best {
				best, lambda = cost, v
			}
		}
	}
	r, err := fit(lambda, train, x.Test)
	if err != nil {
		return nil, err
	}
	return &TrackingCell{Task: t.Name, Trial: trial + 1, Method: method, Lambda: lambda, Loss: r.Loss,
		Missed: r.MissedShare(), Counts: r.Counts}, nil
}

// all joins groups but for one.
func all(groups [][]*tracking.Movie, without int) []*tracking.Movie {
	var out []*tracking.Movie
	for i, g := range groups {
		if i != without {
			out = append(out, g...)
		}
	}
	return out
}

// TrackingGenerated makes a task of a preset of the simulator: for each seed movies to learn from
// and as many others.
func TrackingGenerated(preset string, seeds, movies int, seed uint64) (TrackingTask, error) {
	t := TrackingTask{Name: preset}
	o := tracking.Presets[preset]
	for s := range seeds {
		var x TrackingTrial
		for i := range 2 * movies {
			m, _, err := tracking.Simulate(&o, seed+uint64(1000*s+i))
			if err != nil {
				return t, err
			}
			if i < movies {
				x.Train = append(x.Train, []*tracking.Movie{m})
			} else {
				x.Test = append(x.Test, m)
			}
		}
		t.Trials = append(t.Trials, x)
	}
	return t, nil
}

// TrackingParts makes a task of one movie at a stride. Its frames are cut into parts, and each of
// them is the test of one trial, with all offsets.
func TrackingParts(name string, m *tracking.Movie, stride, parts int) (TrackingTask, error) {
	t := TrackingTask{Name: name}
	groups := make([][]*tracking.Movie, parts)
	for offset := range stride {
		x, err := m.Every(stride, offset)
		if err != nil {
			return t, err
		}
		n := len(x.Frames) - 1
		if n < parts {
			return t, fmt.Errorf("%s: %d frames at stride %d cannot be cut into %d parts", name, n+1, stride, parts)
		}
		for k := range parts {
			groups[k] = append(groups[k], x.Cut(k*n/parts, (k+1)*n/parts+1))
		}
	}
	for k := range parts {
		var x TrackingTrial
		for g := range parts {
			if g != k {
				x.Train = append(x.Train, groups[g])
			}
		}
		x.Test = groups[k]
		t.Trials = append(t.Trials, x)
	}
	return t, nil
}

// TrackingHeldOut makes a task of two movies, each tested on by what the other taught.
func TrackingHeldOut(name string, a, b *tracking.Movie, stride int, kinds string) (TrackingTask, error) {
	t := TrackingTask{Name: name, Kinds: kinds}
	var sides [2][][]*tracking.Movie
	for i, m := range []*tracking.Movie{a, b} {
		x, err := m.Every(stride, 0)
		if err != nil {
			return t, err
		}
		half := len(x.Frames) / 2
		sides[i] = [][]*tracking.Movie{{x.Cut(0, half+1)}, {x.Cut(half, len(x.Frames))}}
	}
	t.Trials = []TrackingTrial{{sides[0], all(sides[1], -1)}, {sides[1], all(sides[0], -1)}}
	return t, nil
}

// of returns the cells of a task and a method, by trial.
func (r *TrackingReport) of(task, method string) []*TrackingCell {
	var out []*TrackingCell
	for _, c := range r.Cells {
		if c.Task == task && c.Method == method {
			out = append(out, c)
		}
	}
	return out
}

// WriteTable writes a line for each task and method: means and deviations of the loss over trials,
// and the measures of all trials together. A test paired over trials compares 1 - LNK with that of
// distance.
func (r *TrackingReport) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "task\tmethod\tloss, %\t1-LNK, %\tof distance\tp\tdivision "+
		"F1\tfound\tfalse\tjoins\tmissed\tmeaning\tdivisions\tmissed\tfalse")
	for _, k := range r.order {
		cells := r.of(k[0], k[1])
		var loss, lnk, other []float64
		c := &tracking.Counts{}
		for _, x := range cells {
			loss, lnk = append(loss, 100*x.Loss), append(lnk, 1-x.Counts.LNK(tracking.Challenge))
			c.Add(&x.Counts)
		}
		base := &tracking.Counts{}
		for _, x := range r.of(k[0], "distance") {
			base.Add(&x.Counts)
			other = append(other, 1-x.Counts.LNK(tracking.Challenge))
		}
		ratio, p := "", ""
		if len(other) == len(lnk) && k[1] != "distance" {
			ratio = fmt.Sprintf("%.2f", (1-c.LNK(tracking.Challenge))/(1-base.LNK(tracking.Challenge)))
			if test, err := metrics.PairedT(lnk, other); err == nil && len(lnk) > 2 {
				p = fmt.Sprintf("%.3g", test.P)
			}
		}
		mean, sd := metrics.MeanSD(loss)
		fmt.Fprintf(t, "%s\t%s\t%.2f ± %.2f\t%.3f\t%s\t%s\t%.3f\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", k[0], k[1],
			mean, sd, 100*(1-c.LNK(tracking.Challenge)), ratio, p, c.DivisionF1(), c.Found, c.FalseEdges, c.FalseJoins,
			c.MissedEdges, c.WrongEdges, c.DivisionsFound, c.Divisions-c.DivisionsFound, c.DivisionsFalse)
	}
	return t.Flush()
}

// WriteCSV writes all cells.
func (r *TrackingReport) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{"task", "trial", "method", "lambda", "loss", "missed_events", "lnk", "division_f1"})
	g := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	for _, c := range r.Cells {
		out.Write([]string{c.Task, strconv.Itoa(c.Trial), c.Method, g(c.Lambda), g(c.Loss), g(c.Missed),
			g(c.Counts.LNK(tracking.Challenge)), g(c.Counts.DivisionF1())})
	}
	out.Flush()
	return out.Error()
}
