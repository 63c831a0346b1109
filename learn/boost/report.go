package boost

import (
	"context"
	"fmt"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// TrainingRun is how an ensemble was trained.
type TrainingRun struct {
	History  []Progress // rounds, those before it was resumed included
	Chosen   bool       // the number of rounds was chosen on held-out rows
	Choosing float64    // seconds that this took; 0 where a run was resumed after it
}

// Report is what training reports of an ensemble.
type Report struct {
	Model     string  `json:"model"`
	Algorithm string  `json:"algorithm"`
	Loss      string  `json:"loss"`
	Rows      int     `json:"rows"`
	Columns   int     `json:"columns"`
	Rounds    int     `json:"rounds"`
	Chosen    bool    `json:"rounds_chosen"` // on held-out rows, Rounds being 0 and without validation rows
	Terms     int     `json:"terms"`
	Objective any     `json:"objective"` // null where there is no round
	Training  float64 `json:"training_loss"`
	Error     float64 `json:"training_error"`   // per cent; root of the mean squared error for regression
	Valid     any     `json:"validation_loss"`  // of the model; null without validation rows
	Seconds   float64 `json:"seconds"`          // of the rounds of the model
	Choosing  float64 `json:"choosing_seconds"` // before these: of the choice of their number
}

// Report implements learner.Reporter.
func (e *Ensemble) Report(ctx context.Context, file string, t, valid *table.Table,
	workers int) (*learner.Report,
	error) {
	d, v, err := data(t, valid, e.Loss)
	if err != nil {
		return nil, err
	}
	o := &PredictOptions{Workers: workers, Ctx: ctx}
	f, err := e.Scores(d.X, o)
	if err != nil {
		return nil, err
	}
	r := &Report{Model: file, Algorithm: e.Algorithm, Loss: e.Loss.Name(), Rows: d.Rows(),
		Columns: len(t.Columns),
		Rounds:  e.Rounds(), Terms: len(e.Terms), Training: score.Mean(e.Loss, d.Y, d.W, f, 1)}
	text := ""
	if r.Error = e.ErrorOf(d, f); e.Classifies() {
		text = fmt.Sprintf("error %.4g %%", r.Error)
	} else {
		text = fmt.Sprintf("RMSE %.5g", r.Error)
	}
	picture := &learner.Picture{Title: "Loss by round", Subtitle: e.Algorithm, XLabel: "round",
		YLabel: r.Loss + " loss", Curves: []learner.Curve{{Name: "training"}, {Name: "validation"}}}
	rounds := 0
	if how := e.Run; how != nil {
		r.Chosen, r.Choosing = how.Chosen, how.Choosing
		for _, p := range how.History {
			rounds, r.Seconds = p.Round, p.Seconds
			if p.Round == r.Rounds && p.Objective == p.Objective { // early stopping leaves out the last rounds
				r.Objective = p.Objective
			}
			for k, y := range []float64{p.Loss, p.Valid} {
				if c := &picture.Curves[k]; y == y {
					c.X, c.Y = append(c.X, float64(p.Round)), append(c.Y, y)
				}
			}
		}
	}
	if len(picture.Curves[1].X) == 0 {
		picture.Curves = picture.Curves[:1]
	}
	chosen := ""
	if r.Chosen {
		chosen = " (chosen on held-out rows)"
		if r.Choosing > 0 {
			chosen = fmt.Sprintf(" (chosen on held-out rows in %.1f s)", r.Choosing)
		}
	}
	lines := []string{fmt.Sprintf("%s: %d rows, %d columns; %d rounds%s, %d terms, %.1f s", r.Algorithm, r.Rows,
		r.Columns, r.Rounds, chosen, r.Terms, r.Seconds),
		fmt.Sprintf("training: loss (%s) %.5g, %s", r.Loss, r.Training, text)}
	if v != nil {
		g, err := e.Scores(v.X, o)
		if err != nil {
			return nil, err
		}
		loss := score.Mean(e.Loss, v.Y, v.W, g, 1)
		r.Valid = loss
		lines = append(lines, fmt.Sprintf("validation: loss %.5g after the best %d of %d rounds", loss, r.Rounds,
			rounds))
	}
	return &learner.Report{Data: r, Lines: lines, Picture: picture}, nil
}

// ErrorOf returns the error of scores of the rows of d: per cent of wrong classes, or the root of
// the mean squared error.
func (e *Ensemble) ErrorOf(d *Data, f []float64) float64 {
	if e.Classifies() {
		return 100 * score.ErrorRate(e.Loss, d.Y, d.W, f)
	}
	return metrics.RMSE(f, d.Y, d.W)
}
