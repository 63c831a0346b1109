package main

import (
	"fmt"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/plot"
	"github.com/tropica-fst/tropica/learn/evaluate"
	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/metrics"
)

// pictureFlags defines the flags of pictures for learners that have some, and returns what
// draws the one that was asked for.
func pictureFlags(fs *flags.Set, l any) func(c *call, m any, model string) error {
	d, ok := l.(learner.Drawn)
	if !ok {
		return func(*call, any, string) error { return nil }
	}
	names := d.PictureNames()
	which := fs.Enum("picture", names[0], names, "What --plot draws")
	file := fs.String("plot", "", "File for a picture, as SVG")
	return func(c *call, m any, model string) error {
		if *file == "" {
			return c.idle("without --plot nothing is drawn", "picture")
		}
		if err := apart(places("the model", model), places("the picture", *file)); err != nil {
			return err
		}
		p, ok := (*learner.Picture)(nil), false
		if m, drawn := m.(learner.Pictured); drawn {
			p, ok = m.Picture(*which)
		}
		if !ok {
			return fmt.Errorf("flag --picture: the model has nothing to draw of its %s", *which)
		}
		chart := chartOf(p)
		chart.Legend = len(p.Curves) > 1
		return c.Output(*file, chart.Write)
	}
}

func chartOf(p *learner.Picture) *plot.Chart {
	chart := &plot.Chart{Title: p.Title, Subtitle: p.Subtitle, XLabel: p.XLabel, YLabel: p.YLabel, LogX: p.LogX,
		LogY: p.LogY}
	for _, s := range p.Curves {
		k := plot.Series{Name: s.Name, X: s.X, Y: s.Y}
		if s.Points {
			k.Kind = plot.Points
		}
		chart.Series = append(chart.Series, k)
	}
	return chart
}

// errorsChart draws the first measure of a cross-validation, with a standard deviation to each
// side.
func errorsChart(r *evaluate.Report) *plot.Chart {
	c := &plot.Chart{Title: "Errors in cross-validation", Subtitle: "mean over trials, and the standard " +
		"deviation to each side", XLabel: r.Measures[0], Horizontal: true}
	s := plot.Series{Name: r.Measures[0], Kind: plot.Bars}
	for _, k := range r.Standings {
		mean, sd := metrics.MeanSD(k.Values[0])
		c.Categories = append(c.Categories, k.Name)
		s.Y = append(s.Y, mean)
		s.Low, s.High = append(s.Low, max(0, mean-sd)), append(s.High, mean+sd)
	}
	c.Series = []plot.Series{s}
	return c
}
