// Package plot draws charts as SVG: lines with bands, steps, points, bars and
// histograms, on linear or logarithmic axes.
//
// A Chart is a value; Write draws it. The result is one XML file without scripts, fonts or links.
// It suits light and dark pages (it follows prefers-color-scheme), and has the same bytes for the
// same chart. Values that are not finite, or not positive on a logarithmic axis, leave gaps.
// Readers with colour blindness can distinguish the colours (after M. Okabe and K. Ito, 2002). A
// picture works in grey, too: lines differ by their dashes, points by their shapes, bars by
// hatches. Where lines coincide, each shows through the gaps of the later ones.
package plot

import (
	"fmt"
	"io"
	"math"
)

// Kind is how a series is drawn.
type Kind uint8

const (
	Line   Kind = iota
	Steps       // constant from each X to the next: cumulative distributions
	Points      // marks: scatter plots
	Bars        // one bar for each category, or between X[i] and X[i+1] for a histogram
	Boxes       // a box plot for each category; see Box
)

// Series is one set of values.
type Series struct {
	Name string
	Kind Kind
	// X and Y have one entry a point. With Chart.Categories X is nil and Y has one entry
	// a category. Bars without categories are those of a histogram: X has the edges,
	// one more than Y.
	X, Y []float64
	// Low and High, if not nil, are a band around a line, or whiskers on bars and points.
	Low, High []float64
	Dashed    bool // for what is only there to compare with

	from, to []float64   // of Boxes: the quartiles
	beyond   [][]float64 // of Boxes: what lies beyond the whiskers
}

// Rule is a straight line across the chart.
type Rule struct {
	At    float64
	Label string
}

// Chart is a picture of one or more series.
type Chart struct {
	Title    string
	Subtitle string
	XLabel   string
	YLabel   string
	Series   []Series

	Categories []string // of bars, in order; nil for numbers on the X axis
	Horizontal bool     // bars to the right, categories one under the other: for many, or long names

	LogX, LogY bool
	ZeroY      bool        // the Y axis has 0 (bars always do, unless LogY)
	XRange     *[2]float64 // limits of the axes; nil: those of the data
	YRange     *[2]float64
	HRules     []Rule // horizontal lines, at values of Y
	VRules     []Rule // vertical lines, at values of X
	Legend     bool   // a legend even where lines have room for their names at their ends

	Width, Height int // in pixels; zero: 720, and 440 or what bars need
}

const (
	fontSize   = 12.0
	titleSize  = 16.0
	maxSide    = 1 << 14
	maxDirect  = 8 // lines that are named at their ends
	maxCells   = 200000
	categoryPx = 22.0
)

// Write draws the chart. It is an error if a series has slices of different
// lengths, or if w fails.
func (c Chart) Write(w io.Writer) error {
	if err := c.check(); err != nil {
		return err
	}
	d := &drawing{Chart: &c}
	d.measure()
	d.draw()
	_, err := w.Write(d.out.bytes())
	return err
}

func (c *Chart) check() error {
	if c.Width < 0 || c.Height < 0 || c.Width > maxSide || c.Height > maxSide {
		return fmt.Errorf("plot: %d by %d pixels cannot be", c.Width, c.Height)
	}
	cells := 0
	for _, s := range c.Series {
		n := len(s.Y)
		cells += n
		switch {
		case c.Categories != nil && (s.X != nil || n != len(c.Categories)):
			return fmt.Errorf("plot: series %q: %d values of Y (and %d of X) for %d categories", s.Name, n, len(s.X),
				len(c.Categories))
		case c.Categories == nil && s.Kind == Bars && len(s.X) != n+1:
			return fmt.Errorf("plot: series %q: %d edges for %d bars; there is one more edge than bars",
				s.Name, len(s.X), n)
		case c.Categories == nil && s.Kind != Bars && len(s.X) != n:
			return fmt.Errorf("plot: series %q: %d values of X, %d of Y", s.Name, len(s.X), n)
		case s.Kind == Boxes && (c.Categories == nil || c.Horizontal || len(s.from) != n || len(s.to) != n ||
			len(s.beyond) != n):
			return fmt.Errorf("plot: series %q: boxes are made by Box, and stand upright over categories", s.Name)
		case (s.Low == nil) != (s.High == nil) || s.Low != nil && (len(s.Low) != n || len(s.High) != n):
			return fmt.Errorf("plot: series %q: %d lower and %d upper limits for %d values", s.Name,
				len(s.Low), len(s.High), n)
		}
	}
	if c.Categories != nil && len(c.Categories)*max(1, len(c.Series)) > maxCells {
		return fmt.Errorf("plot: %d categories are too many to be seen", len(c.Categories))
	}
	if c.Horizontal && c.Categories == nil {
		return fmt.Errorf("plot: a horizontal chart has categories")
	}
	for _, r := range []*[2]float64{c.XRange, c.YRange} {
		if r != nil && !(r[0] < r[1] && r[1]-r[0] < math.Inf(1)) {
			return fmt.Errorf("plot: %v to %v is no range", r[0], r[1])
		}
	}
	return nil
}

// direct reports whether series are named at their ends.
func (c *Chart) direct() bool {
	if c.Legend || c.Categories != nil || len(c.Series) > maxDirect || len(c.Series) < 2 {
		return false
	}
	for _, s := range c.Series {
		if s.Kind != Line && s.Kind != Steps || s.Name == "" {
			return false
		}
	}
	return true
}
