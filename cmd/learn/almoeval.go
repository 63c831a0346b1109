package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/almo"
	"github.com/tropica-fst/tropica/learn/minimax"
)

// almoRows reads a model, and the table that is the call's first argument as it is for that model.
func (c *call) almoRows(name string, rows *multiTable) (*almo.Model, *minimax.Data, error) {
	m, _, err := load(c, name, "almo train", almo.Read)
	if err != nil {
		return nil, nil, err
	}
	t, err := rows.likeForm(c, c.arg(0), m.Form(), true)
	if err != nil {
		return nil, nil, err
	}
	d, err := m.Encoder.Data(t, m.ClassNames)
	return m, d, err
}

var almoEval = &command{
	name: "almo eval", args: "[test.csv]", min: 0, max: 1,
	summary: "Tells a model's losses, errors and AUC on the rows of a table.",
	about: `
Losses are those that the model was trained on, raw and in the units of training.
"worst" is the worst mixture among the model's preferences (--min, --max,
--vertices), "largest" the largest of the losses where that differs.

--bound gives a bound on the worst mixture on new rows, in the same units, that fails
with at most that probability. It holds when the rows given are those of training, for
linear models trained within a --radius (give the same here) on losses of bounded slope.
It is theory: few data sets are large enough for a useful bound.

--pareto searches for models that are better in some losses and worse in none. It tries
those of --against, on the same losses, and random changes of the parameters within the
bounds of training. On the training rows a certified model should have none that is better in
all losses, and none at all where all λ are positive. A model of --against that was trained
within wider bounds may well be better in all.

Examples:

  learn almo eval testdata/tables/uci/adult-test.csv.gz --target income --model adult.model
  learn almo eval testdata/tables/uci/adult-train.csv.gz --target income --model within1.model --bound 0.05 --radius 1
  learn almo eval testdata/tables/uci/adult-train.csv.gz --target income --model adult.model --pareto --against even.model`,
	setup: func(fs *flags.Set) func(*call) error {
		model := fs.String("model", "", "File of the model; needed")
		delta := fs.Float("bound", 0, "Chance that the bound on new rows fails, 0.05 say; 0 tells no bound")
		radius := fs.Float("radius", 0, "For --bound: the --radius of training")
		pareto := fs.Bool("pareto", false, "Look for what is better in some losses and worse in none")
		against := fs.String("against", "", "For --pareto: files of other models, separated by commas")
		asJSON := fs.Bool("json", false, "Report as JSON")
		var rows multiTable
		rows.define(fs)
		return func(c *call) error {
			workers, err := rows.workers()
			if err != nil {
				return err
			}
			if *against != "" && !*pareto {
				return errors.New("flag --against is of --pareto")
			}
			if *against != "" && (len(c.args) == 0 || cli.IsStandard(c.args[0])) {
				return errors.New("flag --against: the rows are read for each model: name a file of them, not " +
					"standard input")
			}
			m, d, err := c.almoRows(*model, &rows)
			if err != nil {
				return err
			}
			s, err := m.Evaluate(d, workers)
			if err != nil {
				return err
			}
			var b *minimax.Bound
			if *delta != 0 {
				if *radius == 0 {
					return errors.New("flag --bound needs --radius, that of training: a bound is for all models within")
				}
				if b, err = m.Bound(d, s, *radius, *delta); err != nil {
					return fmt.Errorf("flag --bound: %w", err)
				}
			} else if *radius != 0 {
				return errors.New("flag --radius is of --bound")
			}
			var check *minimax.ParetoCheck
			if *pareto {
				p := &minimax.ParetoOptions{Workers: workers, Seed: 1}
				for _, name := range list(*against) {
					r, err := c.rival(name, &rows, workers)
					if err != nil {
						return fmt.Errorf("flag --against: %w", err)
					}
					p.Rivals = append(p.Rivals, r)
				}
				if check, err = m.CheckPareto(d, p); err != nil {
					return fmt.Errorf("flag --pareto: %w", err)
				}
			}
			if *asJSON {
				return c.json(scoredJSON(m, s, b, check, d.Rows))
			}
			return c.Output("", func(w io.Writer) error {
				fmt.Fprintf(w, "%d rows; units: %s\n", d.Rows, m.Normalized)
				for k, u := range m.Objectives {
					fmt.Fprintf(w, "%-16s %.6f  in units of training %.6f  λ %.4f\n", u.Name, s.Raw[k],
						s.Values[k], m.Lambda[k])
				}
				fmt.Fprintf(w, "%-16s %.6f\n", "worst", s.Worst)
				if s.Largest != s.Worst {
					fmt.Fprintf(w, "%-16s %.6f\n", "largest", s.Largest)
				}
				if m.Classes > 0 {
					auc := "-" // of rows of one class there is none
					if !math.IsNaN(s.AUC) {
						auc = fmt.Sprintf("%.6f", s.AUC)
					}
					fmt.Fprintf(w, "%-16s %.6f\n%-16s %.6f\n%-16s %s\n", "error", s.Error, "1-norm of prob",
						s.Prob, "AUC", auc)
				}
				if b != nil {
					fmt.Fprintf(w, "With probability %g, if the model was trained on these rows, the worst on new ones "+
						"is at most %.6f\n", 1-b.Delta, b.Vertex)
					fmt.Fprintf(w, "(%.6f as theorem 5.3 of the thesis has it; the scores' Rademacher complexity is at "+
						"most %.6f).\n", b.Cover, b.Rademacher)
				}
				if check != nil {
					writePareto(w, check)
				}
				return nil
			})
		}
	},
}

// rival evaluates another model on the rows of the call.
func (c *call) rival(name string, rows *multiTable, workers int) (minimax.Rival, error) {
	m, d, err := c.almoRows(name, rows)
	if err != nil {
		return minimax.Rival{}, err
	}
	s, err := m.Evaluate(d, workers)
	if err != nil {
		return minimax.Rival{}, err
	}
	r := minimax.Rival{Name: name, Raw: map[string]float64{}}
	for k, u := range m.Objectives {
		r.Raw[u.Name] = s.Raw[k]
	}
	return r, nil
}

// writePareto says what was found of who dominates whom, for people.
func writePareto(w io.Writer, p *minimax.ParetoCheck) {
	fmt.Fprintf(w, "Pareto check, losses that differ by more than %.3g:\n", p.Tolerance)
	switch { // theory speaks of what was proved to be near the best alone
	case !p.Certified:
		fmt.Fprintf(w, "  the model is not certified: there may be better ones in all losses\n")
	case len(p.Weightless) == 0:
		fmt.Fprintf(w, "  certified, and all λ are positive: the best model for them is dominated by none, "+
			"penalties counted\n")
	default:
		fmt.Fprintf(w, "  certified, no λ for %s: the best model for the others is bettered by none in all "+
			"losses, penalties counted, but may be dominated\n", strings.Join(p.Weightless, ", "))
	}
	if p.Slack != nil {
		fmt.Fprintf(w, "  complementarity is missed by %.3g (by which the mixture λ is below the worst one that "+
			"it was robust to)\n", *p.Slack)
	}
	for _, r := range p.Rivals {
		how := "neither dominates the other"
		switch {
		case r.Dominates:
			how = "dominates this model"
		case r.Dominated:
			how = "is dominated by this model"
		}
		fmt.Fprintf(w, "  %s: %s (%.4f)\n", r.Name, how, r.Values)
	}
	fmt.Fprintf(w, "  of %d changes of the parameters, %d dominate this model, %d are better in all losses, "+
		"penalties counted\n", p.Changes, p.Dominating, p.Better)
}

// scoredJSON leaves out the rates that regression has not; one that these rows do not determine,
// such as the AUC of one class, is null.
func scoredJSON(m *almo.Model, s *minimax.Scored, b *minimax.Bound, p *minimax.ParetoCheck, rows int) any {
	type loss struct {
		Name   string  `json:"name"`
		Raw    float64 `json:"raw"`
		Value  float64 `json:"value"`
		Lambda float64 `json:"lambda"`
	}
	out := struct {
		Rows   int                        `json:"rows"`
		Units  minimax.Normalization      `json:"units"`
		Losses []loss                     `json:"losses"`
		Worst  float64                    `json:"worst"`
		Most   float64                    `json:"largest"`
		Mixed  float64                    `json:"mixed"`
		Rates  map[string]json.RawMessage `json:"rates,omitempty"`
		Bound  *minimax.Bound             `json:"bound,omitempty"`
		Pareto *minimax.ParetoCheck       `json:"pareto,omitempty"`
	}{Bound: b, Pareto: p, Rows: rows, Units: m.Normalized, Worst: s.Worst, Most: s.Largest, Mixed: s.Mixed,
		Rates: map[string]json.RawMessage{}}
	for k, u := range m.Objectives {
		out.Losses = append(out.Losses, loss{u.Name, s.Raw[k], s.Values[k], m.Lambda[k]})
	}
	for name, v := range map[string]float64{"error": s.Error, "auc": s.AUC, "prob": s.Prob} {
		switch {
		case m.Classes == 0:
		case math.IsNaN(v):
			out.Rates[name] = json.RawMessage("null")
		default:
			out.Rates[name] = json.RawMessage(strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	return out
}
