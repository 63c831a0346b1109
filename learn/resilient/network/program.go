package network

import (
	"math/rand/v2"

	"github.com/tropica-fst/tropica/learn/nn"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/resilient"
)

// Rows are what a network is trained on: X has Net.Inputs() numbers a row.
type Rows struct {
	Net  *nn.Network
	Loss score.Loss
	X    []float32
	Y    []float64 // labels as the loss wants them
	W    []float64 // of mean 1; nil is all 1
	L2   float64   // weight of half the squared weights beside the mean loss
}

// chunk rows go through the network together.
const chunk = 256

// New returns the problem of fitting rows as a program with one constraint a row: its loss. It
// belongs to one goroutine at a time, and uses workers itself.
func New(r *Rows, workers int) resilient.Program {
	k := r.Net.Outputs()
	most := max(1, min(chunk, len(r.Y)))
	return &program{Rows: r, pass: nn.NewPass[float64](r.Net, most, &nn.Options[float64]{Workers: workers}),
		x: make([]float64, most*r.Net.Inputs()), y: make([]float64, most),
		g: make([]float64, most*k), part: make([]float64, r.Net.Dim())}
}

type program struct {
	*Rows
	pass          *nn.Pass[float64]
	x, y, g, part []float64 // of a chunk
}

// Dim implements resilient.Program.
func (p *program) Dim() int { return p.Net.Dim() }

// Len implements resilient.Program.
func (p *program) Len() int { return len(p.Y) }

// Constraints implements resilient.Program.
func (p *program) Constraints() (pointwise, mean int) { return 1, 0 }

// Weights implements resilient.Program.
func (p *program) Weights() []float64 { return p.W }

// Eval implements resilient.Program.
func (p *program) Eval(x []float64, rows []int, lambda, _ []float64, v *resilient.Values,
	grad []float64) error {
	d, k := p.Net.Inputs(), p.Net.Outputs()
	clear(grad)
	for from := 0; from < len(rows); from += p.pass.Most() {
		part := rows[from:min(len(rows), from+p.pass.Most())]
		for r, i := range part {
			in := p.x[r*d : (r+1)*d]
			for j, c := range p.X[i*d : (i+1)*d] {
				in[j] = float64(c)
			}
			p.y[r] = p.Y[i]
		}
		y, g := p.y[:len(part)], p.g[:len(part)*k]
		f := p.pass.Forward(x, p.x, len(part))
		p.Loss.Values(v.Point[from:from+len(part)], y, f)
		if grad == nil {
			continue
		}
		p.Loss.Gradients(g, nil, y, f)
		for r, i := range part {
			w := score.Weight(p.W, i) * lambda[from+r] / float64(len(rows))
			for c := range g[r*k : (r+1)*k] {
				g[r*k+c] *= w
			}
		}
		p.pass.Backward(x, g, p.part)
		for j, c := range p.part {
			grad[j] += c
		}
	}
	sum := 0.0
	for _, s := range p.Net.AllWeights() {
		for j := s.From; j < s.To; j++ {
			sum += x[j] * x[j]
			if grad != nil {
				grad[j] += p.L2 * x[j]
			}
		}
	}
	v.Objective = p.L2 / 2 * sum
	return nil
}

// start draws parameters; the constants of the last layer are the best scores without inputs.
func (r *Rows) start(seed uint64) []float64 {
	x := nn.He[float64](r.Net, seed)
	_, biases := nn.Layer(r.Net, r.Net.Layers()-1, x)
	copy(biases, r.Loss.Start(r.Y, r.W))
	return x
}

// Losses returns the losses of all rows at x.
func Losses(p resilient.Program, x []float64) ([]float64, error) {
	rows := make([]int, p.Len())
	for i := range rows {
		rows[i] = i
	}
	v := &resilient.Values{Point: make([]float64, len(rows))}
	return v.Point, p.Eval(x, rows, nil, nil, v, nil)
}

// MeanLoss returns the mean loss of all rows at x, by their weights.
func MeanLoss(p resilient.Program, x []float64) (float64, error) {
	losses, err := Losses(p, x)
	w := p.Weights()
	sum, total := 0.0, 0.0
	for i, l := range losses {
		sum += score.Weight(w, i) * l
		total += score.Weight(w, i)
	}
	return sum / total, err
}

// held draws the rows that are held out: a share of them, at least one, in their order.
func held(n int, share float64, seed uint64) (train, out []int) {
	if share == 0 {
		for i := range n {
			train = append(train, i)
		}
		return train, nil
	}
	order := rand.New(rand.NewPCG(seed, 0x68656c64)).Perm(n)
	is := make([]bool, n)
	for _, i := range order[:min(n-1, max(1, int(share*float64(n))))] {
		is[i] = true
	}
	for i := range n {
		if is[i] {
			out = append(out, i)
		} else {
			train = append(train, i)
		}
	}
	return train, out
}
