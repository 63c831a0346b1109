package tracking

import (
	"math"
)

// featureNames are those of each kind, in the order of Kinds. All are near 1 in size on movies
// whose unit is the radius of their objects.
var featureNames = [][]string{
	{"bias", "distance", "distance squared", "area change", "intensity change", "overlap", "beyond nearest",
		"beyond nearest back", "mutually nearest", "shape change", "turn"},
	divisionNames, divisionNames, divisionNames,
	{"bias", "border", "radius", "intensity", "nearest"},
	{"bias", "border", "radius", "intensity", "nearest"},
}

// divisionNames are those of one object that is two in the other frame.
var divisionNames = []string{"bias", "midpoint distance", "midpoint distance squared", "part distance",
	"area sum", "cosine", "intensity of one", "intensity change", "distances", "area difference",
	"length of one", "along one", "middle distance"}

// FeatureNames returns the names of the features of a kind.
func FeatureNames(k Kind) []string { return featureNames[k.block()] }

// offsets are where the weights of each kind begin; the last is their number.
var offsets = func() []int {
	out := []int{0}
	for _, names := range featureNames {
		out = append(out, out[len(out)-1]+len(names))
	}
	return out
}()

// Dim is the number of weights of a model.
func Dim() int { return offsets[len(Kinds)] }

// featurizer computes the features of a pair's events.
type featurizer struct {
	p             *Pair
	c             *Candidates
	forward, back []float64 // distance to the nearest of the other frame, at most the gate
}

func newFeaturizer(p *Pair, c *Candidates) *featurizer {
	least := func(a, b []Detection) []float64 {
		out := make([]float64, len(a))
		for i, list := range nearest(a, b, 1, c.Gate) {
			if out[i] = c.Gate; len(list) > 0 {
				out[i] = distance(&a[i], &b[list[0]])
			}
		}
		return out
	}
	return &featurizer{p: p, c: c, forward: least(p.From, p.To), back: least(p.To, p.From)}
}

// of returns the features of an event.
func (f *featurizer) of(e *Event) []float64 {
	p := f.p
	switch e.Kind {
	case Move:
		return f.move(e.From[0], e.To[0])
	case Divide, Split:
		return f.two(&p.From[e.From[0]], &p.To[e.To[0]], &p.To[e.To[1]])
	case Merge:
		return f.two(&p.To[e.To[0]], &p.From[e.From[0]], &p.From[e.From[1]])
	case Appear:
		return f.one(&p.To[e.To[0]], f.back[e.To[0]])
	}
	return f.one(&p.From[e.From[0]], f.forward[e.From[0]])
}

// light returns the intensity of an object beside the usual one; 1 where it is not known.
func (f *featurizer) light(d *Detection) float64 {
	if f.c.Light == 0 || d.Intensity == 0 {
		return 1
	}
	return d.Intensity / f.c.Light
}

// relative returns the difference of two sizes over their mean.
func relative(a, b float64) float64 {
	if a+b == 0 {
		return 0
	}
	return 2 * math.Abs(a-b) / (a + b)
}

func (f *featurizer) move(i, j int) []float64 {
	a, b, unit := &f.p.From[i], &f.p.To[j], f.c.Unit
	d := distance(a, b)
	overlap := 0.0
	if r := a.Radius() + b.Radius(); r > 0 {
		overlap = math.Max(0, 1-d/r)
	}
	mutual := 0.0
	if d <= f.forward[i] && d <= f.back[j] {
		mutual = 1
	}
	la, xa, ya := a.axis()
	lb, xb, yb := b.axis()
	return []float64{1, d / unit, d * d / (unit * unit), relative(a.Area, b.Area),
		math.Abs(f.light(a)-f.light(b)) / 0.1, overlap, (d - f.forward[i]) / unit, (d - f.back[j]) / unit, mutual,
		math.Abs(la-lb) / 0.2, math.Hypot(la*xa-lb*xb, la*ya-lb*yb) / 0.5}
}

// axis returns how much longer than wide a shape is, as (l-s)/(l+s) of the deviations along its
// axes, and the long axis as a direction of doubled angle, so that both of its ends are the same.
func (d *Detection) axis() (elongation, cos2, sin2 float64) {
	trace := d.VarX + d.VarY
	if trace == 0 {
		return 0, 0, 0
	}
	spread := math.Hypot(d.VarX-d.VarY, 2*d.CovXY)
	if spread == 0 {
		return 0, 0, 0
	}
	l, s := math.Sqrt((trace+spread)/2), math.Sqrt(math.Max(0, trace-spread)/2)
	return (l - s) / (l + s), (d.VarX - d.VarY) / spread, 2 * d.CovXY / spread
}

// two returns the features of one object that is two in the other frame.
func (f *featurizer) two(one, a, b *Detection) []float64 {
	unit := f.c.Unit
	wa, wb := a.Area, b.Area
	if wa+wb == 0 {
		wa, wb = 1, 1
	}
	mx, my := (wa*a.X+wb*b.X)/(wa+wb), (wa*a.Y+wb*b.Y)/(wa+wb)
	mid := math.Hypot(mx-one.X, my-one.Y) / unit
	apart := distance(a, b)
	r := one.Radius()
	if r == 0 {
		r = unit
	}
	ax, ay, bx, by := a.X-one.X, a.Y-one.Y, b.X-one.X, b.Y-one.Y
	da, db := math.Hypot(ax, ay), math.Hypot(bx, by)
	cosine := 0.0
	if da > 0 && db > 0 {
		cosine = (ax*bx + ay*by) / (da * db)
	}
	sum := 0.0
	if one.Area > 0 {
		sum = math.Min(math.Abs((a.Area+b.Area)/one.Area-1), 3)
	}
	part := (wa*f.light(a) + wb*f.light(b)) / (wa + wb)
	length, c, s := one.axis()
	along := 0.0
	if apart > 0 {
		x, y := (a.X-b.X)/apart, (a.Y-b.Y)/apart
		along = length * (c*(x*x-y*y) + s*2*x*y) / 0.2
	}
	return []float64{1, mid, mid * mid, apart / r, sum / 0.3, cosine, (f.light(one) - 1) / 0.1,
		math.Abs(f.light(one)-part) / 0.1, (da + db) / unit, relative(a.Area, b.Area), length / 0.2, along,
		math.Hypot(ax+bx, ay+by) / 2 / unit}
}

// one returns the features of an object that is in one frame only.
func (f *featurizer) one(d *Detection, near float64) []float64 {
	x0, y0, x1, y1 := f.c.Field[0], f.c.Field[1], f.c.Field[2], f.c.Field[3]
	border := math.Min(math.Min(d.X-x0, x1-d.X), math.Min(d.Y-y0, y1-d.Y))
	unit := f.c.Unit
	return []float64{1, math.Min(math.Max(border, 0)/unit, 5) / 2, d.Radius() / unit,
		(f.light(d) - 1) / 0.1, near / unit}
}
