package experiment

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/tropica-fst/tropica/learn/nn"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/resilient"
	"github.com/tropica-fst/tropica/learn/resilient/network"
	"github.com/tropica-fst/tropica/learn/run"
)

// pictures are images of one shape with labels.
type pictures struct {
	pixels                  [][]byte
	height, width, channels int
	label                   []byte
}

// The network of images and how it is trained, alike for all methods.
const (
	imageClasses    = 10
	imageHidden     = 64
	imagePasses     = 100
	imageRate       = 0.02
	imageMomentum   = 0.9
	imageL2         = 5e-4
	imageMultiplier = 0.1
)

func loadCorruptedImages(files []string) func(folder) (drawing, error) {
	return func(d folder) (drawing, error) {
		var parts [2]pictures
		for i := range parts {
			p := &parts[i]
			var err error
			if p.pixels, p.height, p.width, p.label, err = d.images(files[2*i], files[2*i+1]); err != nil {
				return nil, err
			}
			p.channels = len(p.pixels[0]) / max(1, p.height*p.width)
			for _, l := range p.label {
				if l >= imageClasses {
					return nil, fmt.Errorf("%s: label %d is none of %d", files[2*i+1], l, imageClasses)
				}
			}
		}
		return func(ctx context.Context, o *CorruptedOptions, draw *CorruptedDraw) error {
			return corruptedImages(ctx, o, draw, &parts[0], &parts[1])
		}, nil
	}
}

// imageDraw is a draw of images.
type imageDraw struct {
	ctx     context.Context
	o       *CorruptedOptions
	draw    *CorruptedDraw
	train   *network.Rows
	test    *network.Rows
	bad     []bool
	blurred bool
}

func corruptedImages(ctx context.Context, o *CorruptedOptions, draw *CorruptedDraw, pool,
	tests *pictures) error {
	rng := o.rng(draw, 0)
	d, err := newImageDraw(ctx, o, draw, pool, tests, sampled(rng, len(pool.label), o.Train),
		sampled(rng, len(tests.label), o.Test))
	if err != nil {
		return err
	}
	return d.methods()
}

// newImageDraw makes the rows to train on, corrupted, and those to test on.
func newImageDraw(ctx context.Context, o *CorruptedOptions, draw *CorruptedDraw, pool, tests *pictures,
	chosen, tested []int) (*imageDraw, error) {
	noise := o.rng(draw, 1)
	d := &imageDraw{ctx: ctx, o: o, draw: draw, bad: make([]bool, len(chosen)),
		blurred: strings.HasPrefix(draw.Kind, "blur")}
	for _, i := range sampled(noise, len(chosen), int(math.Round(draw.Level*float64(len(chosen))))) {
		d.bad[i] = true
	}
	radius := 0.0
	if d.blurred {
		if _, err := fmt.Sscanf(draw.Kind, "blur %g", &radius); err != nil {
			return nil, fmt.Errorf("corruption %q has no radius", draw.Kind)
		}
	}
	var err error
	if d.train, err = pool.rows(chosen, func(k int) float64 {
		if d.bad[k] {
			return radius
		}
		return 0
	}); err != nil {
		return nil, err
	}
	if d.test, err = tests.rows(tested, func(int) float64 { return 0 }); err != nil {
		return nil, err
	}
	derangement := deranged(noise, imageClasses)
	for k := range d.train.Y {
		if !d.bad[k] {
			continue
		}
		y := int(d.train.Y[k])
		switch draw.Kind {
		case "flips":
			d.train.Y[k] = float64((y + 1 + noise.IntN(imageClasses-1)) % imageClasses)
		case "derangement":
			d.train.Y[k] = float64(derangement[y])
		}
	}
	return d, nil
}

// sampled draws the wanted count of n numbers, at most all, in random order.
func sampled(rng *rand.Rand, n, want int) []int { return rng.Perm(n)[:min(n, want)] }

// deranged is a permutation without a fixed point.
func deranged(rng *rand.Rand, n int) []int {
	for {
		p := rng.Perm(n)
		fixed := false
		for i, v := range p {
			fixed = fixed || i == v
		}
		if !fixed {
			return p
		}
	}
}

// pool is the side of the squares that pixels are averaged over. Grey images of 28 give 196 inputs,
// and coloured ones of 32 give 192.
func (p *pictures) pool() int {
	if p.channels > 1 {
		return 4
	}
	return 2
}

// rows are images as inputs: blurred by a radius in pixels, pooled, from -0.5 to 0.5.
func (p *pictures) rows(numbers []int, radius func(k int) float64) (*network.Rows, error) {
	side := p.pool()
	h, w := p.height/side, p.width/side
	net, err := nn.New(h*w*p.channels, imageHidden, imageClasses)
	if err != nil {
		return nil, err
	}
	r := &network.Rows{Net: net, Loss: score.SoftMax{Classes: imageClasses}, L2: imageL2}
	plane := make([]float64, p.height*p.width)
	for k, i := range numbers {
		for c := range p.channels {
			for at := range plane {
				plane[at] = float64(p.pixels[i][at*p.channels+c]) / 255
			}
			blur(plane, p.height, p.width, radius(k))
			for y := range h {
				for x := range w {
					sum := 0.0
					for v := range side {
						for u := range side {
							sum += plane[(side*y+v)*p.width+side*x+u]
						}
					}
					r.X = append(r.X, float32(sum/float64(side*side)-0.5))
				}
			}
		}
		r.Y = append(r.Y, float64(p.label[i]))
	}
	return r, nil
}

// blur convolves a plane with a Gaussian of that radius, out to three of them; what is outside is
// the nearest pixel inside.
func blur(plane []float64, height, width int, radius float64) {
	if radius <= 0 {
		return
	}
	reach := int(math.Ceil(3 * radius))
	kernel, total := make([]float64, 2*reach+1), 0.0
	for i := range kernel {
		z := float64(i-reach) / radius
		kernel[i] = math.Exp(-z * z / 2)
		total += kernel[i]
	}
	line := func(start, step, n int) {
		in := make([]float64, n)
		for i := range in {
			in[i] = plane[start+i*step]
		}
		for i := range in {
			sum := 0.0
			for k, v := range kernel {
				sum += v * in[min(max(i+k-reach, 0), n-1)]
			}
			plane[start+i*step] = sum / total
		}
	}
	for y := range height {
		line(y*width, 1, width)
	}
	for x := range width {
		line(x, width, height)
	}
}

// descent is how all methods train.
func (d *imageDraw) descent() resilient.Descent {
	return resilient.Descent{Rate: imageRate, Momentum: imageMomentum, RateMultiplier: imageMultiplier,
		Batch: 64, Seed: uint64(d.draw.Repeat), Drop: d.draw.Level + 0.05, Every: 10}
}

// chosenWays are ordinary training, and Huber's relaxation with largest weights of 1, 0.2 and 0.04.
func chosenWays() []network.Way {
	list := []network.Way{{Method: resilient.Plain, H: resilient.Linear{}}}
	for _, most := range []float64{1, 0.2, 0.04} {
		list = append(list, network.Way{Method: resilient.Resilient,
			H: resilient.Capped(huberDeltas[0], most/huberDeltas[0])})
	}
	return list
}

// chosenRates are ordinary training at rates that are as much smaller.
func chosenRates() []network.Way {
	var list []network.Way
	for _, share := range []float64{1, 0.2, 0.04} {
		list = append(list, network.Way{Method: resilient.Plain, H: resilient.Linear{}, Rate: share * imageRate})
	}
	return list
}

// fit trains a network and returns its weights, with losses and multipliers of the rows.
func (d *imageDraw) fit(rows *network.Rows, method resilient.Method, h resilient.Relaxation, rate float64,
	valid *network.Rows) ([]float64, *resilient.Outcome, error) {
	descent := d.descent()
	descent.Method, descent.Rate = method, rate
	stop := run.Stop{Iterations: imagePasses}
	if valid != nil {
		p := network.New(valid, d.o.Workers)
		descent.Valid = func(x []float64) (float64, error) { return network.MeanLoss(p, x) }
		stop.Patience = 10
	}
	start := nn.He[float64](rows.Net, uint64(d.draw.Repeat))
	r, out, err := descent.Minimize(network.New(rows, d.o.Workers), h, start,
		&run.Control{Ctx: d.ctx, Workers: d.o.Workers, Stop: stop})
	if err != nil {
		return nil, nil, err
	}
	return r.X, out, nil
}

// tested is the error on the test images, in per cent.
func (d *imageDraw) tested(x []float64) float64 {
	scores := network.Scores(d.test, x, d.o.Workers)
	wrong := 0
	for i, y := range d.test.Y {
		if nn.Argmax(scores[i*imageClasses:(i+1)*imageClasses]) != int(y) {
			wrong++
		}
	}
	return 100 * float64(wrong) / float64(len(d.test.Y))
}

// methods trains by all of them. Blurred images are not errors of annotation, so finding them is
// not measured.
func (d *imageDraw) methods() error {
	n := len(d.train.Y)
	var right, kept, held []int
	for i := range n {
		if !d.bad[i] {
			right = append(right, i)
		}
		if i%5 == 0 { // rows are in random order
			held = append(held, i)
		} else {
			kept = append(kept, i)
		}
	}
	find := !d.blurred && d.draw.Level > 0
	note := func(name string, x []float64, losses, lambda []float64) {
		d.draw.Errors[name] = d.tested(x)
		if find && losses != nil {
			d.draw.Areas[name] = area(losses, lambda, d.bad)
		}
	}
	zero := make([]float64, n)
	rate := imageRate
	one := func(name string, rows *network.Rows, method resilient.Method, h resilient.Relaxation,
		valid *network.Rows) error {
		x, out, err := d.fit(rows, method, h, rate, valid)
		if err != nil {
			return err
		}
		switch {
		case len(rows.Y) < n: // of the oracle and early stopping: the losses of all at the end
			losses, err := network.Losses(network.New(d.train, d.o.Workers), x)
			if err != nil {
				return err
			}
			if name == "oracle" {
				losses = nil
			}
			note(name, x, losses, zero)
		case method != resilient.Resilient:
			note(name, x, out.Losses, zero)
		default:
			note(name, x, out.Losses, out.Lambda)
		}
		return nil
	}
	if err := one("ordinary", d.train, resilient.Plain, nil, nil); err != nil {
		return err
	}
	// Huber's largest weight is its delta: the same step is as much smaller. slow tells that from
	// the weights.
	rate = imageRate * huberDeltas[0]
	if err := one("slow", d.train, resilient.Plain, nil, nil); err != nil {
		return err
	}
	rate = imageRate
	if err := one("oracle", d.train.Part(right), resilient.Plain, nil, nil); err != nil {
		return err
	}
	if err := one("early", d.train.Part(kept), resilient.Plain, nil, d.train.Part(held)); err != nil {
		return err
	}
	if err := one("itlm", d.train, resilient.ITLM, nil, nil); err != nil {
		return err
	}
	if err := one("trim", d.train, resilient.Trim, nil, nil); err != nil {
		return err
	}
	if err := one("quadratic", d.train, resilient.Resilient, resilient.Quadratic{}, nil); err != nil {
		return err
	}
	for _, delta := range huberDeltas {
		if err := one(huberName(delta), d.train, resilient.Resilient, resilient.Huber{Delta: delta},
			nil); err != nil {
			return err
		}
	}
	if err := one("cvar 0.5", d.train, resilient.Resilient, resilient.CVaR{Tail: 0.5}, nil); err != nil {
		return err
	}
	// The choice among strengths of Huber's relaxation, and that among rates of ordinary training:
	// is it the relaxation, or the rate?
	for name, ways := range map[string][]network.Way{chosenName: chosenWays(), chosenRate: chosenRates()} {
		c, err := network.Choose(d.ctx, d.train, ways, d.descent(), imagePasses, 5, uint64(d.draw.Repeat),
			d.o.Workers)
		if err != nil {
			return err
		}
		w := ways[c.Best]
		x, _, err := d.fit(d.train, w.Method, w.H, cmp.Or(w.Rate, imageRate), nil)
		if err != nil {
			return err
		}
		note(name, x, c.Losses[c.Best], zero)
	}
	if !find {
		return nil
	}
	// Out of sample, five folds: ordinary training, and Huber's relaxation.
	fold, _ := resilient.Folds(n, 5, uint64(d.draw.Repeat), nil)
	for name, of := range map[string]struct {
		method resilient.Method
		h      resilient.Relaxation
	}{confidence: {resilient.Plain, nil}, outOfSample: {resilient.Resilient,
		resilient.Huber{Delta: huberDeltas[0]}}} {
		losses := make([]float64, n)
		for k := range 5 {
			var in, out []int
			for i, f := range fold {
				if f == k {
					out = append(out, i)
				} else {
					in = append(in, i)
				}
			}
			x, _, err := d.fit(d.train.Part(in), of.method, of.h, imageRate, nil)
			if err != nil {
				return err
			}
			l, err := network.Losses(network.New(d.train.Part(out), d.o.Workers), x)
			if err != nil {
				return err
			}
			for j, i := range out {
				losses[i] = l[j]
			}
		}
		d.draw.Areas[name] = area(losses, zero, d.bad)
	}
	return nil
}
