package structured

import (
	"fmt"

	"github.com/tropica-fst/tropica/learn/learner"
)

var (
	_ learner.Drawn    = Learner{}
	_ learner.Pictured = &Model{}
)

// PictureNames implements learner.Drawn.
func (Learner) PictureNames() []string { return []string{"lambda", "difficult"} }

// Picture draws the loss on examples left out by lambda, with a standard error on both sides.
// Another shows the losses of training examples, each predicted from the others.
func (m *Model) Picture(name string) (*learner.Picture, bool) {
	switch {
	case name == "lambda" && len(m.tried) > 1:
		mean := learner.Curve{Name: "loss on examples left out"}
		low, high := learner.Curve{Name: "less a standard error"}, learner.Curve{Name: "plus a standard error"}
		chosen := learner.Curve{Name: "chosen", Points: true}
		for _, t := range m.tried {
			for _, c := range []struct {
				to *learner.Curve
				y  float64
			}{{&mean, t.Loss}, {&low, t.Loss - t.Error}, {&high, t.Loss + t.Error}} {
				c.to.X, c.to.Y = append(c.to.X, t.Lambda), append(c.to.Y, c.y)
			}
			if t.Lambda == m.lambda {
				chosen.X, chosen.Y = []float64{t.Lambda}, []float64{t.Loss}
			}
		}
		return &learner.Picture{Title: "Choice of lambda", Subtitle: fmt.Sprintf("%d training examples",
			m.data.Rows()), XLabel: "lambda", YLabel: "loss", LogX: true,
			Curves: []learner.Curve{mean, low, high, chosen}}, true
	case name == "difficult" && len(m.held) > 0:
		all := make([]int, len(m.held))
		for i := range all {
			all[i] = i
		}
		c := learner.Curve{Name: "loss left out"}
		for r, i := range bestOf(all, len(all), func(i int) float64 { return -m.held[i] }) {
			c.X, c.Y = append(c.X, float64(r+1)), append(c.Y, m.held[i])
		}
		return &learner.Picture{Title: "Losses of training examples",
			Subtitle: "each predicted from the others", XLabel: "examples, the hardest first", YLabel: "loss",
			Curves: []learner.Curve{c}}, true
	}
	return nil, false
}
