package sparse

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tropica-fst/tropica/learn/run"
)

// Domain is the compact set of centres and widths that functions are built from: a box. WLo =
// WHi is one width, and the integral is then over centres alone.
type Domain struct {
	Lo, Hi   []float64 // of the centres, by coordinate
	WLo, WHi float64   // of the widths
}

// Around returns the box of points x, n × dim, made wider by a margin on all sides.
func Around(x []float64, dim int, margin, wlo, whi float64) Domain {
	d := Domain{Lo: slices.Clone(x[:dim]), Hi: slices.Clone(x[:dim]), WLo: wlo, WHi: whi}
	for i, v := range x {
		d.Lo[i%dim], d.Hi[i%dim] = math.Min(d.Lo[i%dim], v), math.Max(d.Hi[i%dim], v)
	}
	for j := range d.Lo {
		d.Lo[j] -= margin
		d.Hi[j] += margin
	}
	return d
}

func (d *Domain) check(dim int) error {
	if len(d.Lo) != dim || len(d.Hi) != dim {
		return fmt.Errorf("sparse: a domain of %d to %d coordinates for points of %d", len(d.Lo), len(d.Hi), dim)
	}
	for j := range d.Lo {
		if !(d.Lo[j] < d.Hi[j]) || math.IsInf(d.Lo[j], 0) || math.IsInf(d.Hi[j], 0) {
			return fmt.Errorf("sparse: the domain from %v to %v of coordinate %d holds no centres", d.Lo[j],
				d.Hi[j], j+1)
		}
	}
	return checkWidths(d.WLo, d.WHi)
}

// leastWidth and mostWidth keep the squares of widths, and their inverses, within float64.
const leastWidth, mostWidth = 1e-100, 1e100

func checkWidths(lo, hi float64) error {
	if !(lo >= leastWidth) || !(hi >= lo) || hi > mostWidth {
		return fmt.Errorf("sparse: widths from %v to %v: both must be from %g to %g, and the largest no smaller",
			lo, hi, leastWidth, mostWidth)
	}
	return nil
}

// maxCells bounds the bytes of a list of cells, before what their kernels take.
const maxCells = 1 << 30

// foresee returns an error if so many centres with so many widths each take too much memory.
func foresee(centres float64, widths, dim int) error {
	if bytes := 8 * centres * (float64(dim) + 2*float64(widths)); bytes > maxCells {
		return fmt.Errorf("sparse: %.4g centres of %d coordinates with %d widths take %.4g MB, beyond %d MB; "+
			"ask for fewer cells", centres, dim, widths, bytes/(1<<20), maxCells>>20)
	}
	return nil
}

// Cells are where an integral over centres and widths is taken: cell g has centre
// g/Per and a width and a volume of its own.
type Cells struct {
	Dim    int
	Center []float64 // centres × Dim
	Per    int       // cells of a centre
	Width  []float64 // of each cell
	Volume []float64
	// Shape has the numbers of cells along the axes of a grid, that of the widths last; nil where
	// cells are no grid.
	Shape  []int
	Domain Domain
}

// Len is the number of cells.
func (c *Cells) Len() int { return len(c.Width) }

// widthCells divides a range of widths into n cells of equal ratio; the measure is that of
// the widths themselves. One width has volume 1.
func widthCells(lo, hi float64, n int) (width, volume []float64) {
	if lo == hi {
		return []float64{lo}, []float64{1}
	}
	ratio := math.Log(hi / lo)
	edge := func(i float64) float64 { return lo * math.Exp(ratio*i/float64(n)) }
	for i := range n {
		width = append(width, edge(float64(i)+0.5))
		volume = append(volume, edge(float64(i+1))-edge(float64(i)))
	}
	return width, volume
}

// Grid divides the domain into cells: perAxis along every coordinate of the centres, widths of
// equal ratio along the widths. For at most three coordinates. Volumes are Lebesgue's.
func Grid(d Domain, perAxis, widths int) (*Cells, error) {
	dim := len(d.Lo)
	if err := d.check(dim); err != nil {
		return nil, err
	}
	if dim > 3 || perAxis < 1 || widths < 1 {
		return nil, fmt.Errorf("sparse: a grid of %d cells for each of %d coordinates and %d widths: at "+
			"least 1, and at most 3 coordinates; candidates take any number", perAxis, dim, widths)
	}
	if err := foresee(math.Pow(float64(perAxis), float64(dim)), widths, dim); err != nil {
		return nil, err
	}
	w, vw := widthCells(d.WLo, d.WHi, widths)
	c := &Cells{Dim: dim, Per: len(w), Domain: d}
	centres, volume := 1, 1.0
	for j := range dim {
		c.Shape = append(c.Shape, perAxis)
		centres *= perAxis
		volume *= (d.Hi[j] - d.Lo[j]) / float64(perAxis)
	}
	c.Shape = append(c.Shape, len(w))
	for m := range centres {
		at := make([]float64, dim)
		for j := dim - 1; j >= 0; j-- {
			at[j] = d.Lo[j] + (d.Hi[j]-d.Lo[j])*(float64(m%perAxis)+0.5)/float64(perAxis)
			m /= perAxis
		}
		c.Center = append(c.Center, at...)
		c.Width = append(c.Width, w...)
		for _, v := range vw {
			c.Volume = append(c.Volume, v*volume)
		}
	}
	return c, nil
}

// Candidates are given centres, each with widths of equal ratio: (PII”), for any number of
// coordinates. The measure is that of the widths, so that gamma is a price of width.
func Candidates(centers []float64, dim int, wlo, whi float64, widths int) (*Cells, error) {
	if dim < 1 || len(centers) == 0 || len(centers)%dim != 0 || widths < 1 {
		return nil, fmt.Errorf("sparse: %d numbers are no centres of %d coordinates with %d widths",
			len(centers), dim, widths)
	}
	if err := checkWidths(wlo, whi); err != nil {
		return nil, err
	}
	if err := foresee(float64(len(centers)/dim), widths, dim); err != nil {
		return nil, err
	}
	w, vw := widthCells(wlo, whi, widths)
	c := &Cells{Dim: dim, Center: centers, Per: len(w), Domain: Around(centers, dim, 0, wlo, whi)}
	for range len(centers) / dim {
		c.Width = append(c.Width, w...)
		c.Volume = append(c.Volume, vw...)
	}
	return c, nil
}

// FixedSample covers the domain by n points of a sequence of low discrepancy: the additive
// recurrence of the generalised golden ratio (M. Roberts, 2018). All have the same volume.
func FixedSample(d Domain, n int) (*Cells, error) {
	phi := 1.0
	for range 50 { // the root of φ^(d+1) = φ + 1 for d coordinates
		phi = math.Pow(1+phi, 1/float64(len(d.Lo)+2))
	}
	i := 0.0
	return sample(d, n, func(axis int) float64 {
		if axis == 0 {
			i++
		}
		return math.Mod(0.5+i*math.Pow(phi, -float64(axis+1)), 1)
	})
}

// MonteCarlo draws n cells of the domain at random.
func MonteCarlo(d Domain, n int, rng *rand.Rand) (*Cells, error) {
	return sample(d, n, func(int) float64 { return rng.Float64() })
}

func sample(d Domain, n int, next func(axis int) float64) (*Cells, error) {
	dim := len(d.Lo)
	if err := d.check(dim); err != nil {
		return nil, err
	}
	if n < 1 {
		return nil, fmt.Errorf("sparse: a sample of %d cells", n)
	}
	if err := foresee(float64(n), 1, dim); err != nil {
		return nil, err
	}
	volume := 1 / float64(n)
	for j := range dim {
		volume *= d.Hi[j] - d.Lo[j]
	}
	if d.WHi > d.WLo {
		volume *= d.WHi - d.WLo
	}
	c := &Cells{Dim: dim, Per: 1, Domain: d}
	for range n {
		for j := range dim {
			c.Center = append(c.Center, d.Lo[j]+next(j)*(d.Hi[j]-d.Lo[j]))
		}
		c.Width = append(c.Width, d.WLo+next(dim)*(d.WHi-d.WLo))
		c.Volume = append(c.Volume, volume)
	}
	return c, nil
}

// Normalise scales the measure to a total of 1. Gamma then means another price: volumes v/V
// with gamma do as volumes v with gamma·V², and multipliers V times as large.
func (c *Cells) Normalise() {
	total := 0.0
	for _, v := range c.Volume {
		total += v
	}
	for g := range c.Volume {
		c.Volume[g] /= total
	}
}

// Values returns K: the values of the cells' kernels at points x, n × Len.
func (c *Cells) Values(workers int, f Family, x []float64) []float64 {
	n, m, g := len(x)/c.Dim, len(c.Center)/c.Dim, c.Len()
	k, d := make([]float64, n*g), make([]float64, n*m)
	squares(workers, c.Dim, x, c.Center, d)
	run.Blocks(workers, n, 64, func(_, from, to int) {
		for i := from; i < to; i++ {
			row := k[i*g:][:g]
			for j, sq := range d[i*m:][:m] {
				for l := j * c.Per; l < (j+1)*c.Per; l++ {
					row[l] = f.Value(sq, c.Width[l])
				}
			}
		}
	})
	return k
}

// at returns the centre of cell g.
func (c *Cells) at(g int) []float64 { return c.Center[g/c.Per*c.Dim:][:c.Dim] }

// dense returns Σ v α k over the cells where α is not 0.
func (c *Cells) dense(f Family, alpha []float64) *Sum {
	s := &Sum{Family: f, Dim: c.Dim}
	for g, a := range alpha {
		if a != 0 {
			s.Center = append(s.Center, c.at(g)...)
			s.Width = append(s.Width, c.Width[g])
			s.Coef = append(s.Coef, a*c.Volume[g])
		}
	}
	return s
}
