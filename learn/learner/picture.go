package learner

// Drawn is implemented by learners whose models can be drawn; those are Pictured.
type Drawn interface {
	// PictureNames lists the pictures that can be drawn, the default first.
	PictureNames() []string
}

// Pictured is implemented by models that can be drawn.
type Pictured interface {
	// Picture returns the picture of a name that Drawn lists; false where the model has none.
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
