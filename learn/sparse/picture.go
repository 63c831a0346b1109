package sparse

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/learn/learner"
)

var (
	_ learner.Drawn    = Learner{}
	_ learner.Pictured = &Model{}
)

// PictureNames implements learner.Drawn.
func (Learner) PictureNames() []string { return []string{"alpha", "widths", "path"} }

// Picture draws the support of alpha over the first column of the centre and the width, with the
// kernels made of it. Others show how many kernels have at most a given width, or the kernels along
// the path of prices.
func (m *Model) Picture(name string) (*learner.Picture, bool) {
	if len(m.functions) == 0 {
		return nil, false
	}
	kernels := learner.Curve{Name: "kernels", Points: true}
	f := &m.features[0]
	column := m.form.Columns[f.Column].Name
	place := func(s *Sum, j int) float64 { return s.Center[j*s.Dim]/f.Scale + f.Mean }
	switch name {
	case "alpha":
		p := &learner.Picture{Title: "Support of alpha", Subtitle: fmt.Sprintf("centre and width of %d "+
			"functions", len(m.functions)), XLabel: column, YLabel: "width, in standard deviations"}
		curves := []learner.Curve{{Name: "α above 0, larger half"}, {Name: "α above 0, smaller half"},
			{Name: "α below 0, larger half"}, {Name: "α below 0, smaller half"}}
		for i := range m.functions {
			fn := &m.functions[i]
			sizes := make([]float64, fn.dense.Len())
			for j, a := range fn.dense.Coef {
				sizes[j] = math.Abs(a)
			}
			slices.Sort(sizes)
			for j, a := range fn.dense.Coef {
				at := 0
				if a < 0 {
					at = 2
				}
				if math.Abs(a) < sizes[len(sizes)/2] {
					at++
				}
				curves[at].X = append(curves[at].X, place(fn.dense, j))
				curves[at].Y = append(curves[at].Y, fn.dense.Width[j])
			}
			for j, w := range fn.sum.Width {
				kernels.X, kernels.Y = append(kernels.X, place(fn.sum, j)), append(kernels.Y, w)
			}
		}
		for _, c := range append(curves, kernels) {
			if c.Points = true; len(c.X) > 0 {
				p.Curves = append(p.Curves, c)
			}
		}
		return p, len(p.Curves) > 0
	case "widths":
		var widths []float64
		for i := range m.functions {
			widths = append(widths, m.functions[i].sum.Width...)
		}
		slices.Sort(widths)
		c := learner.Curve{Name: "kernels"}
		for i, w := range widths {
			c.X, c.Y = append(c.X, w, w), append(c.Y, float64(i), float64(i+1))
		}
		return &learner.Picture{Title: "Widths of the kernels", XLabel: "width, in standard deviations",
			YLabel: "kernels of at most that width", Curves: []learner.Curve{c}}, len(widths) > 0
	case "path":
		p := &learner.Picture{Title: "Kernels along the path of prices", XLabel: "gamma", YLabel: "kernels",
			LogX: true}
		for i := range m.functions {
			fn := &m.functions[i]
			c := learner.Curve{Name: m.title(fn)}
			rows := slices.Clone(fn.path)
			slices.SortStableFunc(rows, func(a, b []float64) int { return cmp.Compare(a[0], b[0]) })
			for _, r := range rows {
				if r[0] > 0 {
					c.X, c.Y = append(c.X, r[0]), append(c.Y, r[2])
				}
			}
			if len(c.X) > 1 {
				p.Curves = append(p.Curves, c)
			}
		}
		return p, len(p.Curves) > 0
	}
	return nil, false
}
