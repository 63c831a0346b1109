package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/plot"
	"github.com/tropica-fst/tropica/cmd/internal/progress"
	"github.com/tropica-fst/tropica/cmd/internal/tables"
	"github.com/tropica-fst/tropica/learn/almo"
	"github.com/tropica-fst/tropica/learn/dataset/dense"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/minimax"
	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

var almoCurve = &command{
	name: "almo curve", args: "train.csv", min: 1, max: 1,
	summary: "Draws the trade-off between two losses, and the robust model on it (figure 5.1 of the thesis).",
	about: `
Trains a model on each of --points mixtures of the two --losses, from the second alone
to the first alone, and the robust model. For linear models every point is proved to be
optimal for its mixture to within --gap: nothing lies below and to the left of the
curve. The robust model is where the curve meets the diagonal, or at the end of the
curve nearer to it.

` + tables.Help + `

--plot draws one loss against the other, --plot_losses both and the larger of them
along the mixtures.

Example:

  learn almo curve testdata/tables/uci/adult-train.csv.gz --target income --losses cross-entropy,1-norm --plot curve.svg`,
	setup: func(fs *flags.Set) func(*call) error {
		var a almoFlags
		a.define(fs)
		points := fs.Int("points", 32, 21, "Mixtures, at least 2")
		passes := fs.Int("iterations", 32, 20, "Passes over the rows (steps with --batch 0)")
		picture := fs.String("plot", "", "File for a picture (SVG) of one loss against the other")
		both := fs.String("plot_losses", "", "File for a picture (SVG) of both losses along the mixtures")
		csvName := fs.String("csv", "", "File for the points")
		asJSON := fs.Bool("json", false, "Report as JSON")
		var rows multiTable
		rows.define(fs)
		return func(c *call) error {
			if err := c.idle("a curve is over all mixtures of its two losses", "min", "max", "vertices",
				"inequalities", "ball"); err != nil {
				return err
			}
			o, err := a.options(c)
			if err != nil {
				return err
			}
			if !c.flags.Given("losses") {
				return errors.New("flag --losses is needed: the two losses, such as cross-entropy,1-norm")
			}
			if len(o.Losses) != 2 || *points < 2 || *points > 10000 || *passes < 1 || o.Fixed != nil {
				return errors.New("flags: a curve is between two --losses, has 2 to 10000 --points and at least one " +
					"iteration, and takes no --mixture")
			}
			if a.Heldout > 0 {
				return errors.New("flag --heldout is not for curves: their points are of the training rows")
			}
			if err := apart(places("the data", c.args...),
				[]place{{"the picture", *picture}, {"the picture of both losses", *both},
					{"the table", *csvName}}); err != nil {
				return err
			}
			if o.Workers, err = rows.workers(); err != nil {
				return err
			}
			_, _, d, err := c.almoTable(&rows, a.Scaling)
			if err != nil {
				return err
			}
			o.Passes = int(*passes)
			if o.Solver == minimax.DualAscent && !c.flags.Given("iterations") {
				o.Passes = 0 // as many as it makes progress by
			}
			bar := progress.Start(c.Err, c.prog)
			trained, last, begins := 0, 0, "" // a point begins with the stage that the first began with
			o.Control = run.Control{Ctx: c.ctx, Recorder: run.RecorderFunc(func(r run.Row) error {
				switch {
				case minimax.Alone(r):
					bar.Set(0, int(*points)+1, "%s, %d", r.Stage, r.Iteration)
					return nil
				case begins == "":
					begins = r.Stage
				case r.Stage == begins && r.Iteration <= last:
					trained++
				}
				if r.Stage == begins {
					last = r.Iteration
				}
				bar.Set(min(trained, int(*points)), int(*points)+1, "losses %.4f, λ %.3f", saddle.RowOf(r).Values,
					saddle.RowOf(r).Lambda)
				return nil
			})}
			curve, robust, err := minimax.TradeOff(d, o, 0, 1, int(*points)-1)
			bar.Stop()
			if c.ctx.Err() != nil {
				return &stopped{"a curve has no state to keep; start it again, with fewer --points if it takes too long"}
			}
			if err != nil {
				return flagged(err)
			}
			return c.tradeOff(d, curve, robust, *picture, *both, *csvName, *asJSON)
		}
	},
}

// tradePoint is a line of the report.
type tradePoint struct {
	Model  string     `json:"model"`
	Lambda float64    `json:"lambda"` // of the first loss
	Values [2]float64 `json:"values"`
	Worst  float64    `json:"worst"`
	Gap    *float64   `json:"gap,omitempty"`
}

func (c *call) tradeOff(d *minimax.Data, curve []minimax.TradePoint, robust minimax.TradePoint, picture, both,
	csvName string, asJSON bool) error {
	names := robust.Fit.Objectives
	point := func(model string, t minimax.TradePoint) tradePoint {
		p := tradePoint{Model: model, Lambda: t.Lambda, Values: t.Values, Worst: max(t.Values[0], t.Values[1])}
		if g := t.Fit.Gap(); !math.IsInf(g, 1) {
			p.Gap = &g
		}
		return p
	}
	var list []tradePoint
	frontier := plot.Series{Name: "mixtures"}
	along := []plot.Series{{Name: names[0]}, {Name: names[1]}, {Name: "the larger", Dashed: true}}
	low, most := math.Inf(1), [2]float64{math.Inf(-1), math.Inf(-1)}
	for _, t := range curve {
		p := point("mixture", t)
		list = append(list, p)
		frontier.X, frontier.Y = append(frontier.X, t.Values[0]), append(frontier.Y, t.Values[1])
		for k, v := range []float64{t.Values[0], t.Values[1], p.Worst} {
			along[k].X, along[k].Y = append(along[k].X, t.Lambda), append(along[k].Y, v)
		}
		low = min(low, t.Values[0], t.Values[1])
		most[0], most[1] = max(most[0], t.Values[0]), max(most[1], t.Values[1])
	}
	r := point("almo", robust)
	list = append(list, r)
	if csvName != "" {
		err := c.Output(csvName, func(w io.Writer) error {
			fmt.Fprintf(w, "model,lambda %s,%s,%s,worst,gap\n", names[0], names[0], names[1])
			for _, p := range list {
				gap := ""
				if p.Gap != nil {
					gap = fmt.Sprint(*p.Gap)
				}
				if _, err := fmt.Fprintf(w, "%s,%v,%v,%v,%v,%s\n", p.Model, p.Lambda, p.Values[0], p.Values[1], p.Worst,
					gap); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	robustPoint := plot.Series{Name: "almo", Kind: plot.Points, X: robust.Values[:1], Y: robust.Values[1:]}
	high := min(most[0], most[1]) // farther out the diagonal would only flatten the curve
	diagonal := plot.Series{Name: "equal", X: []float64{low, high}, Y: []float64{low, high}, Dashed: true}
	for _, p := range []struct {
		file  string
		chart plot.Chart
	}{
		{picture, plot.Chart{Title: "Trade-off of two losses", XLabel: names[0], YLabel: names[1],
			Series: []plot.Series{frontier, diagonal, robustPoint}, Legend: true}},
		{both, plot.Chart{Title: "Losses along the mixtures", XLabel: "λ of " + names[0], YLabel: "loss",
			Series: append(along, plot.Series{Name: "almo", Kind: plot.Points, X: []float64{robust.Lambda},
				Y: []float64{r.Worst}}), Legend: true}},
	} {
		if p.file != "" {
			if err := c.Output(p.file, p.chart.Write); err != nil {
				return err
			}
		}
	}
	if asJSON {
		return c.json(map[string]any{"rows": d.Rows, "losses": names, "points": list})
	}
	return c.Output("", func(w io.Writer) error {
		t := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
		fmt.Fprintf(t, "%s\n", strings.Join([]string{"model", "λ of " + names[0], names[0], names[1],
			"larger", "gap"}, "\t"))
		for _, p := range list {
			gap := ""
			if p.Gap != nil {
				gap = fmt.Sprintf("%.1e", *p.Gap)
			}
			fmt.Fprintf(t, "%s\t%.4f\t%.6f\t%.6f\t%.6f\t%s\n", p.Model, p.Lambda, p.Values[0],
				p.Values[1], p.Worst, gap)
		}
		return t.Flush()
	})
}

// almoTable reads the training table of the command line, and encodes it.
func (c *call) almoTable(t *multiTable, scaling dense.Scaling) (*table.Table, *dense.Encoder, *minimax.Data,
	error) {
	x, err := t.labelled(c, c.arg(0))
	if err != nil {
		return nil, nil, nil, err
	}
	encoder, d, err := almo.Encode(x, scaling)
	return x, encoder, d, err
}
