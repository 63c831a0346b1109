package learner

// Drawn is met by learners whose models can be drawn; those are Pictured.
type Drawn interface {
	// PictureNames lists what there is to draw, the default first.
	PictureNames() []string
}

// Pictured is met by models that can be drawn.
type Pictured interface {
	// Picture returns the picture of a name that Drawn lists; false where the model has
	// nothing of it.
	Picture(name string) (*Picture, bool)
}

// Picture is lines and points over two axes.
type Picture struct {
	Title, Subtitle string
	XLabel, YLabel  string
	LogX, LogY      bool
	Curves          []Curve
}

// Curve is a line of a picture, or points.
type Curve struct {
	Name   string
	Points bool
	X, Y   []float64
}
