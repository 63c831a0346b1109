package federated

import (
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/linear"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// moments are for each column the number of values, their sum, and the sum of squares.
func (a *Agent) moments() []float64 {
	d := len(a.x.Columns)
	out := make([]float64, 3*d)
	for j := range a.x.Columns {
		for _, v := range a.x.Columns[j].Values {
			if x := float64(v); x == x {
				out[j]++
				out[d+j] += x
				out[2*d+j] += x * x
			}
		}
	}
	return out
}

// gradient is that of the agent's log losses under a domain classifier, and their sum behind.
func (a *Agent) gradient(m *Message) ([]float64, error) {
	if a.features == nil {
		return nil, fail(LostState, "", "the request counts on features that the agent does not have")
	}
	p := len(a.c.Domains())
	w, err := floats(m, "w", (len(a.features)+1)*p)
	if err != nil {
		return nil, err
	}
	if a.domainLoss == nil {
		y := make([]float64, a.x.Rows)
		for i := range y {
			y[i] = float64(slices.Index(a.c.Domains(), a.member.Domain))
		}
		problem := linear.Problem{X: linear.NewDesign(a.x, a.features, 1), Shift: linear.Shifts(a.features),
			Loss: score.SoftMax{Classes: p}, Y: y, Workers: 1}
		a.domainLoss = problem.Objective()
	}
	out := make([]float64, len(w)+1)
	out[len(w)], err = a.domainLoss.Eval(w, out[:len(w)])
	return out, err
}

// putFeatures adds how inputs are standardised.
func putFeatures(m *Message, fs []linear.Feature) {
	column, mean, scale := make([]int32, len(fs)), make([]float64, len(fs)), make([]float64, len(fs))
	for i, f := range fs {
		column[i], mean[i], scale[i] = int32(f.Column), f.Mean, f.Scale
	}
	put(m, "feature/column", column)
	put(m, "feature/mean", mean)
	put(m, "feature/scale", scale)
}

func getFeatures(m *Message, columns int) ([]linear.Feature, error) {
	column, err := get[int32](m, "feature/column")
	if err != nil {
		return nil, err
	}
	mean, err := floats(m, "feature/mean", len(column))
	if err != nil {
		return nil, err
	}
	scale, err := floats(m, "feature/scale", len(column))
	if err != nil {
		return nil, err
	}
	out := make([]linear.Feature, len(column))
	for i := range out {
		if column[i] < 0 || int(column[i]) >= columns {
			return nil, fail(WrongShape, m.Agent, "a feature of column %d of %d", column[i]+1, columns)
		}
		out[i] = linear.Feature{Column: int(column[i]), Level: -1, Mean: mean[i], Scale: scale[i]}
	}
	return out, nil
}

// featuresOf standardises columns by their moments: counts, sums and sums of squares. Columns
// that do not vary give none.
func featuresOf(moments []float64) ([]linear.Feature, error) {
	d := len(moments) / 3
	var out []linear.Feature
	for j := range d {
		n, mean := moments[j], 0.0
		if n > 0 {
			mean = moments[d+j] / n
		}
		variance := 0.0
		if n > 0 {
			variance = moments[2*d+j]/n - mean*mean
		}
		if variance > 1e-12*mean*mean && variance > 0 {
			out = append(out, linear.Feature{Column: j, Level: -1, Mean: mean,
				Scale: 1 / math.Sqrt(variance)})
		}
	}
	if out == nil {
		return nil,
			&Error{Code: BadTable,
				Msg: fmt.Sprintf("all %d columns are the same in every row of every agent", d)}
	}
	return out, nil
}
