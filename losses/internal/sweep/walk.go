package sweep

import (
	"math"
	"math/rand/v2"

	"github.com/tropica-fst/tropica/losses/internal/layered"
)

// Sampler walks forward with the backward values of every entry.
type Sampler struct {
	L      int // positions
	g      *layered.Graph
	w      *Whitening
	beta   []float64
	arc    []float64
	logs   bool
	weight []float64
}

// NewSampler makes the backward pass of j, by the linear sweep where linear says so and it is
// certain, else in logarithms.
func NewSampler(m *layered.Machine, g *layered.Graph, w *Whitening, j *Job, linear bool, sweep *Sweeper,
	logs *LogSweeper) *Sampler {
	s := &Sampler{L: len(m.Layers), g: g, w: w, weight: make([]float64, g.Most)}
	sweep.keep = layered.Resize(sweep.keep, g.Total)
	if linear && sweep.Run(m, g, w, j, true) {
		s.beta, s.arc = sweep.keep, sweep.w
	} else {
		logs.keep = layered.Resize(logs.keep, g.Total)
		logs.Run(m, g, w, j)
		s.beta, s.arc, s.logs = logs.keep, logs.arc, true
		logs.keep = logs.keep[:0]
	}
	sweep.keep = sweep.keep[:0]
	return s
}

// Draw appends a string to u.
func (s *Sampler) Draw(rng *rand.Rand, u []int) []int {
	entry := uint32(0)
	for t := range s.L {
		var y int
		y, entry = s.Step(rng, t, entry)
		u = append(u, y)
	}
	return u
}

// Step draws the symbol at position t, and returns it with the entry that it leads to.
func (s *Sampler) Step(rng *rand.Rand, t int, entry uint32) (int, uint32) {
	gl, next := &s.g.Layers[t], &s.g.Layers[t+1]
	row, o := gl.RowOf(entry)
	n := gl.Labels
	weight := s.weight[:n]
	p := s.w.fold[t][int(gl.Ctx[entry])*n:][:n]
	for k := range gl.Classes {
		to, v := gl.Arc(row*gl.Classes + k)
		size, cut := gl.Size[k], gl.Cut[k]
		at := next.At + int(to+o*size)
		for d := range size {
			x := s.beta[at+int(d)]
			switch {
			case v == layered.Excluded:
				x = 0
				if s.logs {
					x = math.Inf(-1)
				}
			case s.logs:
				x += s.arc[v]
			default:
				x *= s.arc[v]
			}
			weight[cut+d] = x
		}
	}
	if s.logs {
		// Potentials in logarithms, so that p0 that underflowed counts.
		s.fromLogs(t, int(gl.Ctx[entry]), weight)
	} else {
		for d, x := range p {
			weight[d] *= x
		}
	}
	d := Pick(rng, weight)
	var k int
	label := d
	if s.w.Order == 1 { // d is a class: draw the label within it
		k = d
		label = s.within(rng, gl, t, d)
	} else {
		k = int(gl.ClassOf[d])
	}
	to, _ := gl.Arc(row*gl.Classes + k)
	if s.w.Order > 1 {
		to += o*gl.Size[k] + uint32(d) - gl.Cut[k]
	}
	return int(gl.Perm[label]), to
}

// fromLogs turns log weights into weights, potentials included.
func (s *Sampler) fromLogs(t, ctx int, weight []float64) {
	top := math.Inf(-1)
	if s.w.Order == 1 {
		gl := &s.g.Layers[t]
		sum := make([]float64, len(weight))
		for k := range sum {
			sum[k] = math.Inf(-1)
		}
		for d, k := range gl.ClassOf {
			sum[k], _ = logAdd(sum[k], 0, s.w.Theta[t][d], 0)
		}
		for k, x := range sum {
			weight[k] += x
			top = max(top, weight[k])
		}
	} else {
		for d, x := range s.w.Theta[t][ctx*len(weight):][:len(weight)] {
			weight[d] += x
			top = max(top, weight[d])
		}
	}
	for d := range weight {
		weight[d] = math.Exp(weight[d] - top)
	}
}

// within draws a label of class k by its plain probability.
func (s *Sampler) within(rng *rand.Rand, gl *layered.GraphLayer, t, k int) int {
	total := math.Inf(-1)
	for d, c := range gl.ClassOf {
		if int(c) == k {
			total, _ = logAdd(total, 0, s.w.Theta[t][d], 0)
		}
	}
	x, last := rng.Float64(), 0
	for d, c := range gl.ClassOf {
		if int(c) != k || math.IsInf(s.w.Theta[t][d], -1) {
			continue
		}
		last = d
		if x -= math.Exp(s.w.Theta[t][d] - total); x < 0 {
			break
		}
	}
	return last
}

// Pick draws an index with probability proportional to its weight.
func Pick(rng *rand.Rand, weight []float64) int {
	sum := 0.0
	for _, x := range weight {
		sum += x
	}
	x, last := rng.Float64()*sum, 0
	for d, y := range weight {
		if y == 0 {
			continue
		}
		last = d
		if x -= y; x < 0 {
			break
		}
	}
	return last
}
