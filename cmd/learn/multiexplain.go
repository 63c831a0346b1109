package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/plot"
	"github.com/tropica-fst/tropica/learn/boost/multi"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/metrics"
)

// multiExplanation is what is known of a model.
type multiExplanation struct {
	Loss     string   `json:"loss"`
	Settings string   `json:"settings"`
	Sources  []string `json:"sources"`
	Rows     []int    `json:"training_rows"`
	Rounds   int      `json:"rounds"`
	// by slot; the last one is shared if there is one more than sources
	Terms    []int              `json:"terms"`
	Mass     []float64          `json:"mass"` // Σ alpha of each slot
	Shares   []float64          `json:"shares"`
	MeanQ    [][]float64        `json:"mean_q"`
	QLogLoss float64            `json:"q_log_loss,omitempty"`
	Columns  []columnUse        `json:"columns"`
	Warnings []string           `json:"warnings,omitempty"`
	Bound    *multi.BoundReport `json:"bound,omitempty"`
}

var multiExplain = &command{
	name: "multiboost explain", args: "[table]", min: 0, max: 1,
	summary: "Says what is in a model of MULTIBOOST, and what its bounds are.",
	about: `
Prints terms and weight of each source's slot, the columns that splits use, and how well Q
distinguishes the sources. With --bounds the table must hold the training rows: it adds
Theorems 4.4 and 4.5, their parts, and margins.

Pictures of --plot: mass, the share of each source in the weights (figure B.3); losses,
the surrogate loss of each source after each round, and steps, the weights of terms by
round (figure B.4); q, the mean Q of each source's rows along the first principal
component of the table (figure 4.3); margins and importance.

Example:

  learn multiboost explain train.csv --model my.model --bounds --picture q --plot q.svg`,
	setup: func(fs *flags.Set) func(*call) error {
		var t multiTable
		t.define(fs)
		name := fs.String("model", "", "File with the model; needed")
		bounds := fs.Bool("bounds", false, "Evaluate the bounds on the table, which must hold the training rows")
		delta := fs.Float("delta", 0.05, "Probability with which the bounds may fail")
		rho := fs.String("rho", "", "Margins of the bounds, separated by commas, chosen without a look at the "+
			"data; six fixed ones when not given")
		anyRho := fs.Bool("any_rho", false, "A bound for all margins at once (Theorem B.2, with the constants "+
			"that hold)")
		mixture := fs.String("mixture", "", "Mixture that the bounds are evaluated for: shares separated by "+
			"commas; even when not given")
		cover := fs.String("cover", "", "Cover of Theorem 4.5: mixtures separated by semicolons; the sources "+
			"themselves when not given")
		radius := fs.Float("radius", 0, "l1 distance from the cover that Theorem 4.5 allows")
		target := targetFlags(fs)
		top := fs.Int("top", 32, 20, "Columns to list, the most used first; 0 is all")
		bins := fs.Int("bins", 32, 20, "Bins of the first principal component")
		picture := fs.Enum("picture", "losses", []string{"losses", "steps", "mass", "q", "margins", "importance"},
			"What --plot draws")
		file := fs.String("plot", "", "File for a picture, as SVG")
		asJSON := fs.Bool("json", false, "Report as JSON")
		return func(c *call) error {
			if err := apart([]place{{"the data", c.arg(0)}, {"the model", *name}},
				places("the picture", *file)); err != nil {
				return err
			}
			if !*bounds {
				if err := c.idle("it is of --bounds", "delta", "rho", "any_rho", "mixture", "cover", "radius", "low",
					"high", "vertices"); err != nil {
					return err
				}
			}
			if err := within(fs, share("delta", delta)); err != nil {
				return err
			}
			m, err := c.multiModel(*name)
			if err != nil {
				return err
			}
			if *top < 0 || *bins < 1 || *bins > 10000 {
				return errors.New("flags --top and --bins: the first must not be negative, the second lies between 1 " +
					"and 10000")
			}
			needs := *bounds || *file != "" && (*picture == "q" || *picture == "margins")
			if len(c.args) == 0 && needs {
				return errors.New("bounds, margins and Q along the principal component need the table: give it as " +
					"argument")
			}
			x := explainMulti(m)
			var tab *table.Table
			workers, err := t.workers()
			if err != nil {
				return err
			}
			if len(c.args) > 0 {
				if tab, err = t.likeMulti(c, c.arg(0), m.Table(), needs && *picture != "q" || *bounds, true); err != nil {
					return err
				}
			}
			if *bounds || *file != "" && *picture == "margins" {
				o := &multi.BoundOptions{Delta: *delta, AnyRho: *anyRho, Radius: *radius}
				set, err := target()
				if err != nil {
					return err
				}
				o.Target = *set
				if *rho != "" {
					if o.Rho, err = numbers("rho", *rho); err != nil {
						return err
					}
				}
				if *mixture != "" {
					if o.Lambda, err = numbers("mixture", *mixture); err != nil {
						return err
					}
				}
				if *cover != "" {
					if o.Cover, err = points("cover", *cover); err != nil {
						return err
					}
				}
				d, err := multi.NewData(tab, m.Loss)
				if err != nil {
					return err
				}
				if x.Bound, err = multi.Bounds(m, d, o); err != nil {
					return err
				}
			}
			if *file != "" {
				chart, err := x.chart(m, tab, *picture, int(*top), int(*bins), workers)
				if err != nil {
					return err
				}
				if err := c.Output(*file, chart.Write); err != nil {
					return err
				}
			}
			if !*bounds {
				x.Bound = nil // it was there for the picture
			}
			if *asJSON {
				return c.json(x)
			}
			return x.write(c.Out, int(*top))
		}
	},
}

func explainMulti(m *multi.Model) *multiExplanation {
	x := &multiExplanation{Loss: m.Loss.Name(), Settings: m.Settings, Sources: m.Sources, Rows: m.Rows,
		Rounds: m.Trained, Mass: m.Mass(), Shares: m.Shares(), MeanQ: m.MeanQ, QLogLoss: m.QLogLoss,
		Warnings: m.Warnings}
	for s, e := range m.Slots {
		x.Terms = append(x.Terms, len(e.Terms))
		for j, imp := range e.Importance() {
			if s == 0 {
				x.Columns = append(x.Columns, columnUse{Importance: imp})
				continue
			}
			x.Columns[j].Gain += imp.Gain
			x.Columns[j].Splits += imp.Splits
		}
	}
	// By splits: gains of different rounds and slots are in units of their own.
	slices.SortStableFunc(x.Columns, func(a, b columnUse) int { return cmp.Compare(b.Splits, a.Splits) })
	return x
}

func (x *multiExplanation) write(w io.Writer, top int) error {
	fmt.Fprintf(w, "multiboost: %s loss, %d rounds\nsettings: %s\n\n", x.Loss, x.Rounds,
		settingsText("multiboost", x.Settings))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "slot\trows\tterms\tΣ alpha\tshare of ||alpha||_1")
	for s, n := range x.Terms {
		if s < len(x.Sources) {
			fmt.Fprintf(t, "%s\t%d\t%d\t%.4g\t%.4f\n", x.Sources[s], x.Rows[s], n, x.Mass[s], x.Shares[s])
		} else {
			fmt.Fprintf(t, "(shared)\t\t%d\t%.4g\tin all of the above\n", n, x.Mass[s])
		}
	}
	fmt.Fprint(t, "\ncolumn\tsplits\n")
	for i, c := range x.Columns {
		if top > 0 && i == top || c.Splits == 0 {
			break
		}
		fmt.Fprintf(t, "%s\t%d\n", c.Column, c.Splits)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := writeMeanQ(w, x.Sources, x.MeanQ); err != nil {
		return err
	}
	for _, v := range x.Warnings {
		fmt.Fprintf(w, "warning: %s\n", v)
	}
	if x.Bound != nil {
		fmt.Fprintln(w)
		return x.Bound.Write(w)
	}
	return nil
}

// chart draws one of the pictures.
func (x *multiExplanation) chart(m *multi.Model, tab *table.Table, what string, top, bins,
	workers int) (plot.Chart, error) {
	switch what {
	case "mass":
		return plot.Chart{Title: "Weight of each source", XLabel: "source", YLabel: "share of ||α||₁",
				Categories: x.Sources, ZeroY: true, Series: []plot.Series{{Name: "share", Kind: plot.Bars, Y: x.Shares}}},
			nil
	case "importance":
		c := plot.Chart{Title: "Columns of the splits", XLabel: "splits", Horizontal: true}
		s := plot.Series{Name: "splits", Kind: plot.Bars}
		for i, u := range x.Columns {
			if top > 0 && i == top {
				break
			}
			c.Categories, s.Y = append(c.Categories, u.Column), append(s.Y, float64(u.Splits))
		}
		c.Series = []plot.Series{s}
		return c, nil
	case "steps":
		c := plot.Chart{Title: "Steps", XLabel: "round", YLabel: "weight of the term", ZeroY: true, Legend: true}
		for s, e := range m.Slots {
			name := "shared"
			if s < len(x.Sources) {
				name = x.Sources[s]
			}
			series := plot.Series{Name: name, Kind: plot.Points}
			for _, t := range e.Terms {
				series.X, series.Y = append(series.X, float64(t.Round+1)), append(series.Y, t.Weight)
			}
			c.Series = append(c.Series, series)
		}
		return c, nil
	case "margins":
		c := plot.Chart{Title: "Distribution of margins", XLabel: "margin y f(x) / ||α||₁",
			YLabel: "share of the source's rows at most there", VRules: []plot.Rule{{At: 0, Label: "errors end"}}}
		for k, name := range x.Sources {
			c.Series = append(c.Series, plot.Cumulative(name, x.Bound.MarginsOf(k)))
		}
		return c, nil
	case "q":
		return chartQ(m, tab, bins, workers)
	}
	return lossesChart(m), nil
}

// lossesChart is figure B.4's: the surrogate loss of each source after each round.
func lossesChart(m *multi.Model) plot.Chart {
	c := plot.Chart{Title: "Surrogate loss of each source", XLabel: "round", YLabel: m.Loss.Name() + " loss"}
	for k, name := range m.Sources {
		s := plot.Series{Name: name}
		for round, f := range m.History {
			s.X, s.Y = append(s.X, float64(round+1)), append(s.Y, f[k])
		}
		c.Series = append(c.Series, s)
	}
	if len(m.ValidHistory) > 0 { // of a model that was trained just now
		s := plot.Series{Name: "largest, validation"}
		for round, f := range m.ValidHistory {
			s.X, s.Y = append(s.X, float64(round+1)), append(s.Y, f)
		}
		c.Series = append(c.Series, s)
	}
	return c
}

// multiErrorsChart draws the uniform and the agnostic errors of a cross-validation, with a standard
// deviation to each side.
func multiErrorsChart(r *multi.CVReport) plot.Chart {
	c := plot.Chart{Title: "Errors in cross-validation", Subtitle: "mean over trials, and the standard " +
		"deviation to each side", XLabel: "error, %", Horizontal: true, Legend: true}
	uniform, agnostic := plot.Series{Name: "uniform", Kind: plot.Bars},
		plot.Series{Name: "agnostic", Kind: plot.Bars}
	for _, m := range r.Models {
		c.Categories = append(c.Categories, m.Name)
		for _, x := range []struct {
			s *plot.Series
			v []float64
		}{{&uniform, m.Uniform}, {&agnostic, m.Agnostic}} {
			mean, sd := metrics.MeanSD(x.v)
			x.s.Y = append(x.s.Y, 100*mean)
			x.s.Low, x.s.High = append(x.s.Low, 100*max(0, mean-sd)), append(x.s.High, 100*(mean+sd))
		}
	}
	c.Series = []plot.Series{uniform, agnostic}
	return c
}

// chartQ is figure 4.3: for the rows of each source, the mean of Q of that source along the
// first principal component of all rows.
func chartQ(m *multi.Model, tab *table.Table, bins, workers int) (plot.Chart, error) {
	c := plot.Chart{Title: "Q along the first principal component",
		YLabel: "mean Q(k | x) over the rows of source k", YRange: &[2]float64{0, 1}}
	at, share, err := multi.FirstComponent(tab, workers)
	if err != nil {
		return c, err
	}
	q, err := m.QOf(tab, workers)
	if err != nil {
		return c, err
	}
	c.XLabel = fmt.Sprintf("first principal component (%.3g %% of the variance)", 100*share)
	lo, hi := slices.Min(at), slices.Max(at)
	if lo == hi {
		hi = lo + 1
	}
	p := m.Domains()
	sum, rows := make([]float64, bins*p), make([]float64, bins*p)
	for i, v := range at {
		b := min(int((v-lo)/(hi-lo)*float64(bins)), bins-1)
		k := int(tab.Source[i])
		sum[b*p+k] += q[i*p+k]
		rows[b*p+k]++
	}
	for k, name := range m.Sources {
		s := plot.Series{Name: name}
		for b := range bins {
			v := math.NaN() // a gap where the source has no rows
			if n := rows[b*p+k]; n > 0 {
				v = sum[b*p+k] / n
			}
			s.X, s.Y = append(s.X, lo+(hi-lo)*(float64(b)+0.5)/float64(bins)), append(s.Y, v)
		}
		c.Series = append(c.Series, s)
	}
	return c, nil
}
