package main

import (
	"context"
	"fmt"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// boostMeasure is how well a model does on rows with labels.
type boostMeasure struct {
	Model   string   `json:"model,omitempty"`
	Rows    int      `json:"rows"`
	Rounds  int      `json:"rounds"`
	LossOf  string   `json:"loss_function"`
	Loss    float64  `json:"loss"`
	Error   float64  `json:"error"` // per cent; for regression the root of the mean squared error
	LogLoss *float64 `json:"log_loss,omitempty"`
	AUC     *float64 `json:"auc,omitempty"`
	MAE     *float64 `json:"mae,omitempty"`
	Note    string   `json:"note,omitempty"`

	// Where the table says which source each row is from; sources without rows are left out.
	Sources  []sourceMeasure `json:"sources,omitempty"`
	Uniform  *float64        `json:"uniform,omitempty"`  // mean of the sources' errors
	Agnostic *float64        `json:"agnostic,omitempty"` // the largest of them

	classify bool
}

// sourceMeasure is the error on the rows of one source.
type sourceMeasure struct {
	Source string  `json:"source"`
	Rows   int     `json:"rows"`
	Error  float64 `json:"error"`
}

func (m *boostMeasure) errorText() string {
	if m.classify {
		return fmt.Sprintf("error %.4g %%", m.Error)
	}
	return fmt.Sprintf("RMSE %.5g", m.Error)
}

// bySource measures the error of each source, in the order of their names.
func (m *boostMeasure) bySource(e *boost.Ensemble, d *boost.Data, f []float64) {
	k := e.Outputs()
	for s, name := range d.X.Sources {
		part := &boost.Data{}
		var scores []float64
		for i, from := range d.X.Source {
			if int(from) != s {
				continue
			}
			part.Y, scores = append(part.Y, d.Y[i]), append(scores, f[i*k:i*k+k]...)
			if d.W != nil {
				part.W = append(part.W, d.W[i])
			}
		}
		if len(part.Y) == 0 {
			continue
		}
		v := 0.0
		if m.classify {
			v = 100 * score.ErrorRate(e.Loss, part.Y, part.W, scores)
		} else {
			v = metrics.RMSE(scores, part.Y, part.W)
		}
		m.Sources = append(m.Sources, sourceMeasure{name, len(part.Y), v})
	}
	if len(m.Sources) == 0 {
		return
	}
	uniform, agnostic := 0.0, 0.0
	for _, s := range m.Sources {
		uniform += s.Error / float64(len(m.Sources))
		agnostic = max(agnostic, s.Error)
	}
	m.Uniform, m.Agnostic = &uniform, &agnostic
}

// measure predicts the rows and compares.
func measure(ctx context.Context, e *boost.Ensemble, d *boost.Data, workers int) (*boostMeasure, error) {
	f, err := e.Scores(d.X, &boost.PredictOptions{Workers: workers, Ctx: ctx})
	if err != nil {
		return nil, err
	}
	m := &boostMeasure{Rows: d.Rows(), Rounds: e.Rounds(), LossOf: e.Loss.Name(),
		Loss: score.Mean(e.Loss, d.Y, d.W, f, 1), classify: e.Classifies()}
	if d.X.Source != nil {
		m.bySource(e, d, f)
	}
	if !m.classify {
		m.Error = metrics.RMSE(f, d.Y, d.W)
		mae := metrics.MAE(f, d.Y, d.W)
		m.MAE = &mae
		return m, nil
	}
	m.Error = 100 * score.ErrorRate(e.Loss, d.Y, d.W, f)
	if e.Outputs() == 1 {
		auc := metrics.AUC(f, d.Y, d.W)
		if auc == auc {
			m.AUC = &auc
		}
	}
	if p, calibrated := score.Distribution(e.Loss, f); p != nil {
		y, k := d.Y, e.Outputs()
		if k == 1 {
			k, y = 2, make([]float64, len(f))
			for i, v := range d.Y {
				y[i] = (v + 1) / 2
			}
		}
		loss := metrics.LogLoss(p, y, d.W, k)
		m.LogLoss = &loss
		if !calibrated {
			m.Note = fmt.Sprintf("the %s loss is no likelihood: its probabilities order rows, and are not calibrated",
				e.Loss.Name())
		}
	}
	return m, nil
}

func boostEval(b *boost.Booster) *command {
	group, title := b.Name(), b.Title()
	return &command{
		name: group + " eval", args: "table ...", min: 1, max: -1,
		summary: fmt.Sprintf("Measures a model of %s on rows with labels.", title),
		about: `
Prints the error rate of the classes that predict names, loss, log-loss and area under the
ROC curve; for regression root mean squared and mean absolute error. Each table has one
line. Where --source (or the model) names a column of sources it has a second one: the
errors of each source, their mean (uniform) and the largest (agnostic).

Example:

  learn ` + group + ` eval test.csv --model my.model`,
		setup: func(fs *flags.Set) func(*call) error {
			var t tableFlags
			t.define(fs)
			name := fs.String("model", "", "File with the model; needed")
			first := stagedFlag(fs, b)
			asJSON := fs.Bool("json", false, "Report as JSON")
			return func(c *call) error {
				of, err := learnt(c, b, *name)
				if err == nil {
					of, err = first(c, of)
				}
				if err != nil {
					return err
				}
				m := of.(*boost.Ensemble)
				workers, err := t.workers()
				if err != nil {
					return err
				}
				var all []*boostMeasure
				for _, path := range c.args {
					x, err := t.likeForm(c, path, m.Form(), true)
					if err != nil {
						return err
					}
					d, err := boost.NewData(x, m.Loss)
					if err != nil {
						return err
					}
					r, err := measure(c.ctx, m, d, workers)
					if err != nil {
						return err
					}
					r.Model = *name
					all = append(all, r)
					if *asJSON {
						continue
					}
					fmt.Fprintf(c.Out, "%s: %d rows, %s, loss %.5g", path, r.Rows, r.errorText(), r.Loss)
					for _, v := range []struct {
						name string
						v    *float64
					}{{"log-loss", r.LogLoss}, {"AUC", r.AUC}, {"MAE", r.MAE}} {
						if v.v != nil {
							fmt.Fprintf(c.Out, ", %s %.5g", v.name, *v.v)
						}
					}
					fmt.Fprintln(c.Out)
					if r.Uniform != nil {
						unit := ""
						if r.classify {
							unit = " %"
						}
						fmt.Fprintf(c.Out, "by source: %.4g%s uniform, %.4g%s agnostic;", *r.Uniform, unit, *r.Agnostic, unit)
						for i, s := range r.Sources {
							if i > 0 {
								fmt.Fprint(c.Out, ",")
							}
							fmt.Fprintf(c.Out, " %s %.4g%s", s.Source, s.Error, unit)
						}
						fmt.Fprintln(c.Out)
					}
					if r.Note != "" {
						fmt.Fprintf(c.Out, "note: %s\n", r.Note)
					}
				}
				if *asJSON {
					return c.json(all)
				}
				return nil
			}
		},
	}
}
