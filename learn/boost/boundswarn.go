package boost

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// warn reports where a report's numbers are no guarantee (section 6 of the specification). It says
// what is vacuous and why, and which assumptions of the theorem the model or the rows violate.
func (r *BoundReport) warn(e *Ensemble, d *Data, o *BoundOptions, derived bool) {
	add := func(format string, v ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, v...)) }
	if r.Vacuous {
		add("the bound is vacuous: its parts add up to %.3g, and no error exceeds 1; %s",
			r.Terms[r.Best].Sum, r.advice())
	}
	if derived {
		add("the model has no grid of families of its own: the %d families and the range %.4g were made to fit "+
			"the trained model, and the theorem wants them chosen before it saw the data", r.GridSize, r.Range)
	}
	s := settingsOf(e)
	if d.W != nil || e.Schema.Weight != "" || o.Sampled {
		add("rows are weighted or selected: the theorem is about rows drawn independently from one " +
			"distribution, each counted once")
	}
	if s.Rows > 0 && s.Rows < 1 {
		add("each round was trained on a share %.4g of the rows, drawn anew: the bound is of the whole table, "+
			"and says nothing of what the draws chose", s.Rows)
	}
	if n := e.Rounds(); s.Rounds > 0 && n < s.Rounds {
		add("the model was stopped early, after %d of %d rounds: the bound holds for any stopping rule, but the "+
			"error on the rows that chose when to stop is no estimate of the error on new ones", n, s.Rounds)
	}
	if o.LabelledBins {
		add("features were chosen or binned with the help of labels: the families then depend on the sample, " +
			"which the theorem excludes")
	} else if e.Algorithm == "xgboost" {
		add("thresholds of an imported model may come from bins that were weighted with derivatives of the " +
			"loss, hence made with the help of labels: the families then depend on the sample, which the theorem " +
			"excludes")
	}
	if c := widest(d.X); c != nil {
		add("column %q has %d levels, and a split may divide them in any way: each counts in the complexity of "+
			"the families like a doubling of the columns; fewer levels would lower it", c.Name, len(c.Levels))
	}
	switch {
	case e.Rows != 0 && e.Rows != d.Rows():
		add("the model was trained on %d rows and these are %d: the bound holds for the rows that it was trained on", e.Rows, d.Rows())
	case e.Rows == 0:
		add("the model does not say how many rows it was trained on: the bound holds if they are these %d",
			d.Rows())
	}
}

// advice names the part that keeps a vacuous bound from falling below 1.
func (r *BoundReport) advice() string {
	if r.TrainError >= 0.5 {
		return fmt.Sprintf("the training error alone is %.3g", r.TrainError)
	}
	// Where rho exceeds most margins the empirical part is large, and a smaller rho would be
	// expensive. The reason is the larger of the other parts at the largest rho that most rows
	// exceed.
	t := r.Terms[r.Best]
	for _, u := range r.Terms {
		if t = u; u.Empirical < 0.5 {
			break
		}
	}
	if t.Complexity >= t.Confidence {
		return fmt.Sprintf("most of it is the complexity of the families at the margins that the model reaches "+
			"(%.3g at rho = %.3g): smaller trees, a smaller lambda or more rows would lower it", t.Complexity, t.Rho)
	}
	if r.GridSize == 1 {
		return fmt.Sprintf("most of it is the confidence part (%.3g at rho = %.3g): more rows would lower it",
			t.Confidence, t.Rho)
	}
	return fmt.Sprintf("most of it is the confidence part at the margins that the model reaches (%.3g at rho "+
		"= %.3g), which grows with the number of families (%d) and with their range (%.3g) over the margins: "+
		"more rows, or a grid without large lambda, would lower it", t.Confidence, t.Rho, r.GridSize, r.Range)
}

// trainedWith is what reports read from the settings that boosters leave in models.
type trainedWith struct {
	Rounds int     `json:"rounds"`
	Rows   float64 `json:"rowSample"`
	Exact  bool    `json:"exact"`
	Bins   int     `json:"bins"`

	Learner string `json:"learner"` // of AdaBoost and its kin
}

// bins is how many levels of a column trees tell apart.
func (s trainedWith) bins() int {
	if s.Exact || s.Bins == 0 {
		return tree.MaxBins
	}
	return s.Bins
}

func settingsOf(e *Ensemble) trainedWith {
	var s trainedWith
	if e.Settings == "" || json.Unmarshal([]byte(e.Settings), &s) != nil {
		return trainedWith{} // a user's own settings say nothing here
	}
	return s
}

// widest returns the categorical column with the most levels (the first among equals) if it has
// more divisions than a numeric column can have thresholds. Otherwise it returns nil.
func widest(x *table.Table) *table.Column {
	var most *table.Column
	for j := range x.Columns {
		if c := &x.Columns[j]; c.Kind == table.Categorical && (most == nil || len(c.Levels) > len(most.Levels)) {
			most = c
		}
	}
	if most == nil || float64(min(len(most.Levels), x.Rows)-1) <= math.Log2(float64(x.Rows)) {
		return nil
	}
	return most
}
