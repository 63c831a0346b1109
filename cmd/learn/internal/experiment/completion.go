package experiment

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/gemm"
	"github.com/tropica-fst/tropica/learn/kernel"
	"github.com/tropica-fst/tropica/learn/structured"
	"gonum.org/v1/gonum/blas"
)

// CompletionSheet shows some images with the lower halves that methods predict, for a picture.
type CompletionSheet struct {
	Side   int         // of an image, in pixels
	Names  []string    // of the rows: the truth first
	Images [][]float64 // of the first row, then the second, ...: side² greys from 0 to 1
}

// Completion predicts the lower half of images of digits from the upper, as in table 2 of
// Ciliberto, Rudi and Rosasco. 1000 images, balanced over digits, are for training, 5000 for
// testing. Lower halves are histograms of 128 bins. Algorithm 1 decodes the squared Hellinger loss.
// Kernel ridge regression predicts the mean, cut at 0 and scaled. Kernel dependency estimation
// climbs the Gaussian kernel of the outputs. Measures: the Gaussian loss, the squared Hellinger
// loss, and the error of a digit classifier on the completed images.
//
// Each method has its own kernel width and penalty, by five-fold cross-validation under the
// Hellinger loss, dependency estimation under the Gaussian one. The width of the Gaussian
// loss, which the paper does not give, is the median distance of the outputs.
func Completion(ctx context.Context, data fs.FS, o *PredictionOptions,
	sheet *CompletionSheet) (*PredictionReport, error) {
	d := folder{data}
	const file = "usps/usps-11000.csv.gz"
	if err := d.need("completion", []string{file}); err != nil {
		return nil, err
	}
	x, err := d.table(file, &table.Options{Target: "class", Task: table.Classification})
	if err != nil {
		return nil, err
	}
	c := &completion{side: 16, digits: len(x.Classes), workers: o.Workers, sheet: sheet}
	if len(x.Columns) != c.side*c.side {
		return nil, fmt.Errorf("experiment: %s has %d columns; there must be %d pixels", file,
			len(x.Columns), c.side*c.side)
	}
	for i := range x.Rows {
		row, sum := make([]float64, len(x.Columns)), 0.0
		for j := range row {
			row[j] = float64(x.Columns[j].Values[i]) / 255
			if j >= len(row)/2 {
				sum += row[j]
			}
		}
		if sum > 0 {
			c.images, c.class, c.mass = append(c.images, row), append(c.class, int(x.Target[i])), append(c.mass, sum)
		}
	}
	c.train, c.test, c.judges, c.climbed = 1000, 5000, 4000, 200
	repetitions := 10
	if o.Quick {
		c.train, c.test, c.judges, c.climbed, repetitions = 200, 200, 400, 30, 3
	}
	r, err := o.repeat(ctx, "Image completion on USPS",
		[]string{"Gaussian loss", "squared Hellinger", "classifier error"},
		[]string{fmt.Sprintf("%d training images", c.train)}, repetitions,
		func(ctx context.Context, _ string, rng *rand.Rand) ([]PredictionMethod, error) {
			return c.trial(ctx, rng)
		})
	if err == nil {
		r.Notes = append(r.Notes, "Settings by repetition are in the CSV. The last row is the classifier on the "+
			"true images.")
	}
	return r, err
}

type completion struct {
	side, digits int
	images       [][]float64
	class        []int
	mass         []float64 // of the lower half
	train, test  int
	judges       int // images that the classifier is trained on
	climbed      int // examples left out that the choice for dependency estimation decodes
	workers      int
	sheet        *CompletionSheet
}

// half returns the upper halves of some images as points, and the lower ones as histograms.
func (c *completion) half(rows []int) (*kernel.Matrix, [][]float64) {
	m := c.side * c.side / 2
	x := kernel.NewMatrix(len(rows), m, make([]float64, len(rows)*m))
	y := make([][]float64, len(rows))
	for r, i := range rows {
		copy(x.Row(r), c.images[i][:m])
		y[r] = make([]float64, m)
		for j, v := range c.images[i][m:] {
			y[r][j] = v / c.mass[i]
		}
	}
	return x, y
}

// draw draws a balanced training part, a test part, and images for the classifier.
func (c *completion) draw(rng *rand.Rand) (train, test, judge []int, err error) {
	each := c.train / c.digits
	count := make([]int, c.digits)
	var rest []int
	for _, i := range rng.Perm(len(c.images)) {
		if d := c.class[i]; count[d] < each {
			count[d]++
			train = append(train, i)
		} else {
			rest = append(rest, i)
		}
	}
	if len(train) < each*c.digits || len(rest) < c.test+c.judges {
		return nil, nil, nil, fmt.Errorf("there are %d images; %d are needed", len(c.images),
			c.train+c.test+c.judges)
	}
	return train, rest[:c.test], rest[c.test:][:c.judges], nil
}

var (
	completionWidths  = []float64{0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7} // of the median distance of the inputs
	completionLambdas = []float64{3e-5, 1e-4, 1.7e-4, 3e-4, 5.5e-4, 1e-3, 1.7e-3, 3e-3}
)

func (c *completion) trial(ctx context.Context, rng *rand.Rand) ([]PredictionMethod, error) {
	trainRows, testRows, judgeRows, err := c.draw(rng)
	if err != nil {
		return nil, err
	}
	x, y := c.half(trainRows)
	xt, yt := c.half(testRows)
	n := len(trainRows)
	blocks := heldBlocks(n, 5, rng)
	median, err := kernel.MedianDistance(x, kernel.Gaussian, nil, 0, 1)
	if err != nil {
		return nil, err
	}
	flat := make([]float64, 0, n*len(y[0]))
	for _, v := range y {
		flat = append(flat, v...)
	}
	apart, err := kernel.MedianDistance(kernel.NewMatrix(n, len(y[0]), flat), kernel.Gaussian, nil, 0, 1)
	if err != nil {
		return nil, err
	}
	gamma := 1 / (2 * apart * apart)
	gaussianLoss := structured.GaussianLoss(gamma)
	hellinger, err := structured.NewHistogram(y, structured.HellingerSq)
	if err != nil {
		return nil, err
	}
	gaussian, err := structured.NewGaussian(y, gamma, c.workers)
	if err != nil {
		return nil, err
	}
	methods := []completionMethod{
		{"Algorithm 1 (Hellinger)", structured.HellingerSq.Of, n, func(alpha []float64) ([]float64, error) {
			d, err := structured.Decode(ctx, hellinger, alpha)
			return d.Output, err
		}},
		{"kernel ridge", structured.HellingerSq.Of, n, func(alpha []float64) ([]float64, error) {
			p := make([]float64, len(y[0]))
			for i, a := range alpha {
				for j, v := range y[i] {
					p[j] += a * v
				}
			}
			return p, nil
		}},
		{"dependency estimation (Gaussian)", gaussianLoss, c.climbed, func(alpha []float64) ([]float64, error) {
			d, err := structured.Decode(ctx, gaussian, alpha)
			return d.Output, err
		}},
	}
	type setting struct{ width, lambda, score float64 }
	best := make([]setting, len(methods))
	for m := range best {
		best[m].score = math.Inf(1)
	}
	for _, width := range completionWidths {
		k := kernel.Kernel[*kernel.Matrix](kernel.Vector{Kind: kernel.Gaussian, Width: width * median})
		gram, err := kernel.Gram(k, x, &kernel.Options{Ctx: ctx, Workers: c.workers})
		if err != nil {
			return nil, err
		}
		for _, lambda := range completionLambdas {
			w, err := structured.NewWeights(k, x, gram, lambda, nil,
				&structured.WeightOptions{Options: kernel.Options{Ctx: ctx, Workers: c.workers}})
			if err != nil {
				return nil, err
			}
			alpha, err := leftOut(w, blocks)
			if err != nil {
				return nil, err
			}
			for m := range methods {
				p, err := c.predict(ctx, &methods[m], alpha, min(n, methods[m].sample))
				if err != nil {
					return nil, err
				}
				sum := 0.0
				for i := range p {
					sum += methods[m].loss(onSimplex(p[i]), y[i])
				}
				if s := sum / float64(len(p)); s < best[m].score {
					best[m] = setting{width, lambda, s}
				}
			}
		}
	}
	judge, err := c.classifier(ctx, judgeRows)
	if err != nil {
		return nil, err
	}
	var out []PredictionMethod
	show := c.sheet != nil && c.sheet.Images == nil
	if show {
		c.sheet.Side = c.side
		c.show("truth", testRows, yt)
	}
	for m := range methods {
		k := kernel.Kernel[*kernel.Matrix](kernel.Vector{Kind: kernel.Gaussian, Width: best[m].width * median})
		w, err := structured.NewWeights(k, x, nil, best[m].lambda, nil,
			&structured.WeightOptions{Options: kernel.Options{Ctx: ctx, Workers: c.workers}})
		if err != nil {
			return nil, err
		}
		alpha, err := w.Weights(ctx, xt, c.workers)
		if err != nil {
			return nil, err
		}
		p, err := c.predict(ctx, &methods[m], alpha, len(testRows))
		if err != nil {
			return nil, err
		}
		g, h := 0.0, 0.0
		for i := range p {
			// The Gaussian loss takes what was predicted, the others a histogram.
			g += gaussianLoss(p[i], yt[i]) / float64(len(p))
			p[i] = onSimplex(p[i])
			h += structured.HellingerSq.Of(p[i], yt[i]) / float64(len(p))
		}
		wrong, err := judge(ctx, testRows, p)
		if err != nil {
			return nil, err
		}
		out = append(out, PredictionMethod{methods[m].name, []float64{g, h, wrong},
			fmt.Sprintf("width=%g lambda=%g", best[m].width, best[m].lambda)})
		if show {
			c.show(methods[m].name, testRows, p)
		}
	}
	wrong, err := judge(ctx, testRows, yt)
	return append(out, PredictionMethod{"the truth", []float64{0, 0, wrong}, ""}), err
}

type completionMethod struct {
	name    string
	loss    func(prediction, truth []float64) float64
	sample  int // examples left out that a setting is judged by
	predict func(alpha []float64) ([]float64, error)
}

func (c *completion) predict(ctx context.Context, m *completionMethod, alpha []float64,
	queries int) ([][]float64, error) {
	n := c.train / c.digits * c.digits
	out := make([][]float64, queries)
	err := eachOf(ctx, c.workers, queries, func(i int) (err error) {
		out[i], err = m.predict(alpha[i*n:][:n])
		return err
	})
	return out, err
}

// onSimplex cuts at 0 and scales; what has no mass is even.
func onSimplex(p []float64) []float64 {
	out, sum := make([]float64, len(p)), 0.0
	for j, v := range p {
		out[j] = math.Max(v, 0)
		sum += out[j]
	}
	for j := range out {
		if sum > 0 {
			out[j] /= sum
		} else {
			out[j] = 1 / float64(len(p))
		}
	}
	return out
}

// whole are features of images with their upper halves, and lower ones scaled to one mass.
func (c *completion) whole(rows []int, lower [][]float64) *kernel.Matrix {
	side := c.side * c.side
	x := kernel.NewMatrix(len(rows), side, make([]float64, len(rows)*side))
	for r, i := range rows {
		copy(x.Row(r), c.images[i][:side/2])
		for j, v := range lower[r] {
			x.Row(r)[side/2+j] = v * lowerMass
		}
	}
	return x
}

// lowerMass is about what the lower half of an image has.
const lowerMass = 32

// classifier trains kernel ridge regression of the digits on other images, and returns what
// judges completed ones.
func (c *completion) classifier(ctx context.Context,
	rows []int) (func(context.Context, []int, [][]float64) (float64, error), error) {
	_, y := c.half(rows)
	x := c.whole(rows, y)
	median, err := kernel.MedianDistance(x, kernel.Gaussian, nil, 0, 1)
	if err != nil {
		return nil, err
	}
	k := kernel.Kernel[*kernel.Matrix](kernel.Vector{Kind: kernel.Gaussian, Width: 0.5 * median})
	ko := &kernel.Options{Ctx: ctx, Workers: c.workers}
	gram, err := kernel.Gram(k, x, ko)
	if err != nil {
		return nil, err
	}
	n := len(rows)
	ridge, err := kernel.NewRidge(gram, n, 1e-2, ko)
	if err != nil {
		return nil, err
	}
	weights := make([]float64, n*c.digits)
	for r, i := range rows {
		weights[r*c.digits+c.class[i]] = 1
	}
	if err := ridge.Solve(weights, c.digits); err != nil {
		return nil, err
	}
	return func(ctx context.Context, test []int, lower [][]float64) (float64, error) {
		cross, err := kernel.Cross(k, c.whole(test, lower), x, ko)
		if err != nil {
			return 0, err
		}
		score := make([]float64, len(test)*c.digits)
		gemm.Gemm(c.workers, blas.NoTrans, blas.NoTrans, len(test), c.digits, n, 1, cross, n, weights, c.digits,
			0, score, c.digits)
		wrong := 0
		for r, i := range test {
			row, best := score[r*c.digits:][:c.digits], 0
			for d, v := range row {
				if v > row[best] {
					best = d
				}
			}
			if best != c.class[i] {
				wrong++
			}
		}
		return float64(wrong) / float64(len(test)), nil
	}, nil
}

// shown images are on a sheet.
const shown = 12

func (c *completion) show(name string, rows []int, lower [][]float64) {
	c.sheet.Names = append(c.sheet.Names, name)
	for r := range min(shown, len(rows)) {
		i := rows[r]
		image := make([]float64, c.side*c.side)
		copy(image, c.images[i][:len(image)/2])
		for j, v := range lower[r] {
			image[len(image)/2+j] = math.Min(1, v*c.mass[i])
		}
		c.sheet.Images = append(c.sheet.Images, image)
	}
}

// WriteSVG draws the sheet: a row of images for each method.
func (s *CompletionSheet) WriteSVG(w io.Writer) error {
	const cell, margin, text = 4, 6, 16
	per := len(s.Images) / max(1, len(s.Names))
	size := s.Side*cell + margin
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" `+
		`font-size="12">`+"\n", per*size+margin, len(s.Names)*(size+text)+margin)
	fmt.Fprintln(out, `<rect width="100%" height="100%" fill="white"/>`)
	for r, name := range s.Names {
		top := r*(size+text) + margin
		fmt.Fprintf(out, `<text x="%d" y="%d">%s</text>`+"\n", margin, top+text-5, name)
		for k := range per {
			image := s.Images[r*per+k]
			x0, y0 := k*size+margin, top+text
			fmt.Fprintf(out, `<rect x="%d" y="%d" width="%d" height="%d" fill="black"/>`+"\n", x0, y0,
				s.Side*cell, s.Side*cell)
			for p, v := range image {
				if g := int(math.Round(255 * math.Min(1, math.Max(0, v)))); g > 0 {
					fmt.Fprintf(out, `<rect x="%d" y="%d" width="%d" height="%d" fill="#%02x%02x%02x"/>`+"\n",
						x0+p%s.Side*cell, y0+p/s.Side*cell, cell, cell, g, g, g)
				}
			}
			fmt.Fprintf(out, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#e69f00"/>`+"\n", x0, y0+s.Side*cell/2,
				x0+s.Side*cell, y0+s.Side*cell/2)
		}
	}
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}
