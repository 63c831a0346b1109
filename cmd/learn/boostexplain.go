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
	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// explanation is what is known of a model.
type explanation struct {
	Algorithm  string             `json:"algorithm"`
	Loss       string             `json:"loss"`
	Settings   string             `json:"settings"`
	Rows       int                `json:"training_rows"`
	Rounds     int                `json:"rounds"`
	Terms      int                `json:"terms"`
	Weight     float64            `json:"weight_sum"`
	Columns    []columnUse        `json:"columns"`
	Bound      *boost.BoundReport `json:"bound,omitempty"`
	BoundError string             `json:"bound_error,omitempty"`
	Curve      []curvePoint       `json:"curve,omitempty"`

	Hard []learner.Section `json:"hardest_rows,omitempty"`

	margins []float64
	joint   bool // there is no curve but its last point
}

type columnUse struct {
	boost.Importance
	Permuted *boost.Permuted `json:"permuted,omitempty"`
}

type curvePoint struct {
	Round int     `json:"round"`
	Loss  float64 `json:"loss"`
	Error float64 `json:"error"`
}

func boostExplain(b *boost.Booster) *command {
	group, title := b.Name(), b.Title()
	return &command{
		name: group + " explain", args: "[table]", min: 0, max: 1,
		summary: fmt.Sprintf("Says what is in a model of %s, and what its bound is.", title),
		about: `
Prints which columns the splits use. With a table it adds by how much the loss rises when a
column is shuffled, loss and error after every round, and margins. With --bounds the table
must hold the training rows: it adds the generalisation bound of Theorem 3.2, its parts, and
the families (Theorem 3.1).

Example:

  learn ` + group + ` explain train.csv --model my.model --bounds --picture margins --plot margins.svg`,
		setup: func(fs *flags.Set) func(*call) error {
			var t tableFlags
			t.define(fs)
			name := fs.String("model", "", "File with the model; needed")
			bounds := fs.Bool("bounds", false, "Evaluate the generalisation bound on the table, which must hold "+
				"the training rows")
			delta := fs.Float("delta", 0.05, "Probability with which the bound may fail")
			rho := fs.String("rho", "", "Margins of the bound, separated by commas, chosen without a look at the "+
				"data; when not given, a fixed grid of halvings down to the margins that the model has")
			bound := fs.Enum("bound", "vc", []string{"vc", "count"}, "Bound of the families' Rademacher complexity")
			q := fs.Float("q", 0, "Norm of leaf vectors in the families; 0 is that of the model")
			repeats := fs.Int("repeats", 32, 5, "Shuffles of each column; 0 is none")
			seed := fs.Uint("seed", 1, "Seed of the shuffles")
			top := fs.Int("top", 32, 20, "Columns to list, the most used first; 0 is all")
			picture := fs.Enum("picture", "curve", []string{"curve", "importance", "margins"}, "What --plot draws")
			file := fs.String("plot", "", "File for a picture, as SVG")
			asJSON := fs.Bool("json", false, "Report as JSON")
			return func(c *call) error {
				if err := apart([]place{{"the data", c.arg(0)}, {"the model", *name}},
					places("the picture", *file)); err != nil {
					return err
				}
				if !*bounds {
					if err := c.idle("it is of --bounds", "delta", "rho", "bound", "q"); err != nil {
						return err
					}
				}
				if err := within(fs, share("delta", delta)); err != nil {
					return err
				}
				of, err := learnt(c, b, *name)
				if err != nil {
					return err
				}
				m := of.(*boost.Ensemble)
				if *repeats < 0 || *top < 0 {
					return errors.New("flags --repeats and --top must not be negative")
				}
				if m.Joint && *file != "" && *picture == "curve" {
					return fmt.Errorf("flag --picture: there is no curve: %w; importance and margins can be drawn",
						boost.ErrPrefix)
				}
				if len(c.args) == 0 && (*bounds || *file != "" && *picture != "importance") {
					return errors.New("bounds, curves and margins need the table: give it as argument")
				}
				x := explain(m)
				if len(c.args) > 0 {
					tab, err := t.likeForm(c, c.arg(0), m.Form(), true)
					if err != nil {
						return err
					}
					d, err := boost.NewData(tab, m.Loss)
					if err != nil {
						return err
					}
					workers, err := t.workers()
					if err != nil {
						return err
					}
					if err := x.measure(c, m, d, int(*repeats), *seed, workers); err != nil {
						return err
					}
					if *bounds {
						o := &boost.BoundOptions{Delta: *delta, Q: *q,
							Bound: boost.ComplexityBound(map[string]string{"count": "count"}[*bound])}
						if *rho != "" {
							if o.Rho, err = numbers("rho", *rho); err != nil {
								return err
							}
						}
						if x.Bound, err = boost.Bounds(m, d, o); err != nil {
							return err
						}
					}
				}
				slices.SortStableFunc(x.Columns, func(a, b columnUse) int { return cmp.Compare(b.Gain, a.Gain) })
				if *file != "" {
					if err := c.Output(*file, x.chart(*picture, int(*top)).Write); err != nil {
						return err
					}
				}
				if *asJSON {
					return c.json(x)
				}
				return x.write(c.Out, int(*top))
			}
		},
	}
}

func explain(m *boost.Ensemble) *explanation {
	x := &explanation{Algorithm: m.Algorithm, Loss: m.Loss.Name(), Settings: m.Settings, Rows: m.Rows,
		Rounds: m.Rounds(), Terms: len(m.Terms), Hard: m.Hard.Section(), joint: m.Joint}
	for i := range m.Terms {
		x.Weight += m.Terms[i].Weight
	}
	for _, imp := range m.Importance() {
		x.Columns = append(x.Columns, columnUse{Importance: imp})
	}
	return x
}

// measure measures the model on rows with labels.
func (x *explanation) measure(c *call, m *boost.Ensemble, d *boost.Data, repeats int, seed uint64,
	workers int) error {
	if repeats > 0 {
		p, err := m.Permutation(d, &boost.PermutationOptions{Repeats: repeats, Seed: seed,
			Workers: workers, Ctx: c.ctx})
		if err != nil {
			return err
		}
		for j := range p {
			x.Columns[j].Permuted = &p[j]
		}
	}
	classify := m.Classifies()
	var last []float64
	err := m.Staged(d.X, func(round int, f []float64) bool {
		p := curvePoint{Round: round, Loss: score.Mean(m.Loss, d.Y, d.W, f, 1)}
		if classify {
			p.Error = 100 * score.ErrorRate(m.Loss, d.Y, d.W, f)
		}
		x.Curve = append(x.Curve, p)
		last = f
		return c.ctx.Err() == nil
	})
	if err != nil {
		return err
	}
	if c.ctx.Err() != nil {
		return &stopped{"nothing was written"}
	}
	if classify && last != nil {
		k := m.Outputs()
		for i, y := range d.Y {
			x.margins = append(x.margins, score.Margin(k, y, last[i*k:i*k+k])/max(
				x.Weight, math.SmallestNonzeroFloat64))
		}
	}
	return nil
}

func (x *explanation) write(w io.Writer, top int) error {
	fmt.Fprintf(w, "%s: %s loss, %d training rows, %d rounds, %d terms, weights that sum to %.4g\n", x.Algorithm,
		x.Loss, x.Rows, x.Rounds, x.Terms, x.Weight)
	if x.Settings != "" {
		fmt.Fprintf(w, "settings: %s\n", settingsText(x.Algorithm, x.Settings))
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "\ncolumn\tgain %\tsplits")
	shuffled := len(x.Columns) > 0 && x.Columns[0].Permuted != nil
	if shuffled {
		fmt.Fprint(t, "\tloss when shuffled\terror when shuffled")
	}
	fmt.Fprintln(t)
	total := 0.0
	for _, c := range x.Columns {
		total += c.Gain
	}
	for i, c := range x.Columns {
		if top > 0 && i == top {
			break
		}
		fmt.Fprintf(t, "%s\t%.2f\t%d", c.Column, 100*c.Gain/max(total, math.SmallestNonzeroFloat64), c.Splits)
		if p := c.Permuted; shuffled {
			fmt.Fprintf(t, "\t%+.4f ± %.4f\t%+.2f ± %.2f %%", p.Loss, p.LossStd, 100*p.Error, 100*p.ErrorStd)
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if top > 0 && len(x.Columns) > top {
		fmt.Fprintf(w, "(%d more columns; --top 0 lists all)\n", len(x.Columns)-top)
	}
	if n := len(x.Curve); n > 0 {
		if x.joint {
			fmt.Fprintf(w, "\nloss %.5g after all %d rounds; what it was after fewer is not known, since rounds of "+
				"penalised coordinate descent change the weights of earlier terms\n", x.Curve[n-1].Loss,
				x.Curve[n-1].Round)
			n = 0
		}
		best := slices.MinFunc(x.Curve, func(a, b curvePoint) int { return cmp.Compare(a.Loss, b.Loss) })
		if n > 0 {
			fmt.Fprintf(w, "\nloss %.5g after all %d rounds; least %.5g after %d\n", x.Curve[n-1].Loss,
				x.Curve[n-1].Round, best.Loss, best.Round)
		}
	}
	for _, s := range x.Hard {
		fmt.Fprintln(w)
		if err := writeSection(w, &s, top); err != nil {
			return err
		}
	}
	if x.Bound != nil {
		fmt.Fprintln(w)
		return x.Bound.Write(w)
	}
	return nil
}

// chart draws one of the pictures.
func (x *explanation) chart(what string, top int) plot.Chart {
	switch what {
	case "importance":
		c := plot.Chart{Title: "Importance of columns", Subtitle: x.Algorithm,
			XLabel: "share of all splits' gain, %", Horizontal: true}
		total := 0.0
		for _, u := range x.Columns {
			total += u.Gain
		}
		s := plot.Series{Name: "gain", Kind: plot.Bars}
		for i, u := range x.Columns {
			if top > 0 && i == top {
				break
			}
			c.Categories = append(c.Categories, u.Column)
			s.Y = append(s.Y, 100*u.Gain/max(total, math.SmallestNonzeroFloat64))
		}
		c.Series = []plot.Series{s}
		return c
	case "margins":
		return plot.Chart{Title: "Distribution of margins", Subtitle: x.Algorithm, XLabel: "margin y F(x) / Σ|α|",
			YLabel: "share of rows at most there", Series: []plot.Series{plot.Cumulative("margin", x.margins)},
			VRules: []plot.Rule{{At: 0, Label: "errors end"}}}
	}
	c := plot.Chart{Title: "Loss after each round", Subtitle: x.Algorithm, XLabel: "round",
		YLabel: x.Loss + " loss"}
	s := plot.Series{Name: "loss"}
	for _, p := range x.Curve {
		s.X, s.Y = append(s.X, float64(p.Round)), append(s.Y, p.Loss)
	}
	c.Series = []plot.Series{s}
	return c
}
