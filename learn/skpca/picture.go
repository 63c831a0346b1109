package skpca

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
func (Learner) PictureNames() []string { return []string{"projection", "spectrum", "weights"} }

// shownRows are the labelled rows, evenly chosen, whose place a model keeps for its picture, and
// shownSpectra the kernels of a picture at most.
const (
	shownRows    = 1000
	shownSpectra = 8
)

// places returns, for some labelled rows, the coordinates along the two used features of most
// variance, and the label: three numbers a row. With one feature the second coordinate is 0.
func (t *trainer) places(parts []*part, s *sample, f *fit) []float64 {
	type axis struct {
		k, j  int
		value float64
	}
	var axes []axis
	for k, c := range f.counts {
		for j := range c {
			axes = append(axes, axis{k, j, f.mu[k] * parts[k].values[j]})
		}
	}
	slices.SortStableFunc(axes, func(a, b axis) int { return cmp.Compare(b.value, a.value) })
	axes = axes[:min(2, len(axes))]
	n := min(shownRows, s.m)
	out := make([]float64, 0, 3*n)
	for r := range n {
		i := r * s.m / n
		var at [2]float64
		for d, a := range axes {
			at[d] = math.Sqrt(f.mu[a.k]) * s.phi[a.k][i*len(parts[a.k].values)+a.j]
		}
		out = append(out, at[0], at[1], t.table.Target[t.labelled[i]])
	}
	return out
}

// Picture draws training rows by their first two features, with their classes. Others show the
// eigenvalues of the heaviest kernels, times the weight, or the weights of all kernels.
func (m *Model) Picture(name string) (*learner.Picture, bool) {
	switch name {
	case "projection":
		if len(m.places) == 0 {
			return nil, false
		}
		p := &learner.Picture{Title: "Rows by their first two features",
			Subtitle: fmt.Sprintf("%d of %d labelled rows", len(m.places)/3, m.labelled), XLabel: "first feature",
			YLabel: "second feature"}
		curves := []learner.Curve{{Name: m.form.Target, Points: true}}
		if len(m.form.Classes) > 0 {
			curves = nil
			for _, c := range m.form.Classes {
				curves = append(curves, learner.Curve{Name: c, Points: true})
			}
		}
		for row := range slices.Chunk(m.places, 3) {
			c := &curves[0]
			if len(m.form.Classes) > 0 {
				c = &curves[int(row[2])]
			}
			c.X, c.Y = append(c.X, row[0]), append(c.Y, row[1])
		}
		for _, c := range curves {
			if len(c.X) > 0 {
				p.Curves = append(p.Curves, c)
			}
		}
		return p, true
	case "spectrum":
		p := &learner.Picture{Title: "Eigenvalues times the weight of their kernel",
			Subtitle: fmt.Sprintf("%d features are kept", len(m.fit.theta[0])), XLabel: "number in its kernel",
			YLabel: "μλ", LogY: true}
		order := make([]int, len(m.parts))
		for k := range order {
			order[k] = k
		}
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(m.fit.counts[b], m.fit.counts[a]), cmp.Compare(m.fit.mu[b], m.fit.mu[a]))
		})
		for _, k := range order[:min(len(order), shownSpectra)] {
			c := learner.Curve{Name: fmt.Sprintf("%s, %d kept", m.parts[k].name, m.fit.counts[k])}
			for j, v := range m.spectrum[k] {
				if v *= m.fit.mu[k]; v > 0 {
					c.X, c.Y = append(c.X, float64(j+1)), append(c.Y, v)
				}
			}
			if len(c.X) > 0 {
				p.Curves = append(p.Curves, c)
			}
		}
		return p, len(p.Curves) > 0
	case "weights":
		p := &learner.Picture{Title: "Weights of the kernels", XLabel: "kernel, in the order given", YLabel: "μ"}
		used, idle := learner.Curve{Name: "with features", Points: true},
			learner.Curve{Name: "without features", Points: true}
		for k, v := range m.fit.mu {
			c := &idle
			if m.fit.counts[k] > 0 {
				c = &used
			}
			c.X, c.Y = append(c.X, float64(k+1)), append(c.Y, v)
		}
		for _, c := range []learner.Curve{used, idle} {
			if len(c.X) > 0 {
				p.Curves = append(p.Curves, c)
			}
		}
		return p, true
	}
	return nil, false
}
