package main

import (
	"github.com/tropica-fst/tropica/cmd/internal/plot"
	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/metrics"
)

// roundsChart draws the losses of a run by round: of the training rows, and of the
// validation rows where there are any.
func roundsChart(algorithm, loss string, curve []boost.Progress) plot.Chart {
	c := plot.Chart{Title: "Loss by round", Subtitle: algorithm, XLabel: "round", YLabel: loss + " loss"}
	training, valid := plot.Series{Name: "training"}, plot.Series{Name: "validation"}
	for _, p := range curve {
		x := float64(p.Round)
		training.X, training.Y = append(training.X, x), append(training.Y, p.Loss)
		if p.Valid == p.Valid { // NaN without validation rows
			valid.X, valid.Y = append(valid.X, x), append(valid.Y, p.Valid)
		}
	}
	c.Series = []plot.Series{training}
	if len(valid.X) > 0 {
		c.Series = append(c.Series, valid)
	}
	return c
}

// errorsChart draws the errors of a cross-validation, with a standard deviation to each
// side.
func errorsChart(r *boost.CVReport) plot.Chart {
	c := plot.Chart{Title: "Errors in cross-validation", Subtitle: "mean over trials, and the standard " +
		"deviation to each side", XLabel: "error, %", Horizontal: true}
	scale := 100.0
	if !r.Classify {
		scale, c.XLabel = 1, "root of the mean squared error"
	}
	s := plot.Series{Name: "error", Kind: plot.Bars}
	for _, k := range r.Contestants {
		mean, sd := metrics.MeanSD(k.Error)
		c.Categories = append(c.Categories, k.Name)
		s.Y = append(s.Y, scale*mean)
		s.Low, s.High = append(s.Low, scale*max(0, mean-sd)), append(s.High, scale*(mean+sd))
	}
	c.Series = []plot.Series{s}
	return c
}
