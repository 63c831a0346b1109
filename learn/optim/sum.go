package optim

import (
	"fmt"
	"math"

	"github.com/tropica-fst/tropica/learn/run"
)

// Terms is a sum over examples, f(x) = Σ_i f_i(x), seen one term at a time.
type Terms interface {
	Dim() int
	Len() int
	// Worker returns an evaluator for one goroutine, with work space of its
	// own. It is called from one goroutine.
	Worker() Worker
}

// Worker evaluates terms.
type Worker interface {
	// Eval returns f_i(x) and, unless g is nil, adds its gradient to g. It must
	// give the same floats, added in the same order, whichever worker it is.
	Eval(i int, x []float64, g *Gradient) (float64, error)
}

// Supported is implemented by Terms that know which coordinates each term reads and adds to. The
// stochastic solvers then skip the others.
type Supported interface {
	// Support calls visit(at, n) for runs of coordinates that cover those of f_i.
	Support(i int, visit func(at, n int))
}

// SumOptions adjusts NewSum; nil is the same as the zero value.
type SumOptions struct {
	Workers int     // goroutines; zero is GOMAXPROCS
	Scale   float64 // multiplies the sum: 1/Len() gives the mean; zero is 1

	// Dense is for terms whose gradients touch most coordinates. Examples are then added in 16
	// contiguous blocks, each with its own gradient, and the blocks in a fixed tree. This takes
	// 16·Dim floats, and gives other bits than the sparse way.
	Dense bool
}

// Sum is the data-parallel sum of Terms. Its value is added in a fixed tree over
// the examples. Its gradient has the bits of the loop that adds one example after
// the other (or of the fixed blocks, see Dense). Neither depends on Workers.
//
// Sparse gradients of several workers go through logs (see Gradient), each addition being written
// once and read once in order. This pays where a term costs more than its additions. BenchmarkSum,
// where all of the cost is adding 200 rows of 22 numbers an example into 10^6 weights, gains
// little.
//
// A Sum is not for use by several goroutines at once.
type Sum struct {
	terms   Terms
	scale   float64
	dense   bool
	workers []Worker
	values  []float64
	logs    []*gradientLog
	round   int      // blocks of a round of logged
	blocks  *Reducer // of a dense sum
}

// NewSum returns the sum of t as an Objective.
func NewSum(t Terms, opts *SumOptions) *Sum {
	if opts == nil {
		opts = &SumOptions{}
	}
	s := &Sum{terms: t, scale: opts.Scale, dense: opts.Dense, values: make([]float64, t.Len())}
	if s.scale == 0 {
		s.scale = 1
	}
	n := run.WorkersOf(opts.Workers)
	for range n {
		s.workers = append(s.workers, t.Worker())
	}
	if s.dense {
		s.blocks = NewReducer(denseBlocks{s}, &ReducerOptions{Workers: n, Tree: true})
	}
	return s
}

// Dim returns the number of coordinates.
func (s *Sum) Dim() int { return s.terms.Dim() }

// Examples returns the number of terms.
func (s *Sum) Examples() int { return len(s.values) }

// Eval implements Objective.
func (s *Sum) Eval(x, grad []float64) (float64, error) {
	clear(grad)
	var err error
	switch {
	case grad == nil:
		err = s.plain(x)
	case s.dense:
		_, err = s.blocks.Eval(x, grad)
	case len(s.workers) == 1:
		err = s.serial(x, grad)
	default:
		err = s.logged(x, grad)
	}
	if err != nil {
		return math.NaN(), err
	}
	if s.scale != 1 {
		for i := range grad {
			grad[i] *= s.scale
		}
	}
	return s.scale * TreeSum(s.values), nil
}

func (s *Sum) one(w Worker, i int, x []float64, g *Gradient) error {
	v, err := w.Eval(i, x, g)
	if err != nil {
		return fmt.Errorf("example %d: %w", i+1, err)
	}
	s.values[i] = v
	return nil
}

func (s *Sum) serial(x, grad []float64) error {
	g := &Gradient{dense: grad}
	for i := range s.values {
		if err := s.one(s.workers[0], i, x, g); err != nil {
			return err
		}
	}
	return nil
}

// blockLen is how many examples a worker takes at a time: few, so that the logs
// of a round stay small.
const blockLen = 4

func (s *Sum) plain(x []float64) error {
	n := len(s.values)
	return s.share((n+blockLen-1)/blockLen, func(w, b int) error {
		for i := b * blockLen; i < min(n, (b+1)*blockLen); i++ {
			if err := s.one(s.workers[w], i, x, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// logged evaluates blocks of examples in rounds. In each round workers fill one log a block, then
// replay all logs of the round stripe by stripe, in order. Where rounds end does not affect the
// result. Their length follows the size of the logs, which must stay in cache: with rounds of 36 MB
// two workers took longer than one in BenchmarkSum.
func (s *Sum) logged(x, grad []float64) error {
	const smallest, largest = 1 << 18, 1 << 20 // bytes logged in a round
	n := len(s.values)
	blocks := (n + blockLen - 1) / blockLen
	if s.round == 0 {
		s.round = 4 * len(s.workers)
	}
	for from := 0; from < blocks; {
		for len(s.logs) < s.round {
			s.logs = append(s.logs, newGradientLog(len(grad)))
		}
		logs := s.logs[:min(s.round, blocks-from)]
		err := s.share(len(logs), func(w, k int) error {
			logs[k].reset()
			g := &Gradient{log: logs[k]}
			for i := (from + k) * blockLen; i < min(n, (from+k+1)*blockLen); i++ {
				if err := s.one(s.workers[w], i, x, g); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		s.share(len(logs[0].parts), func(_, part int) error { // cannot fail
			for _, l := range logs {
				l.replay(part, grad)
			}
			return nil
		})
		bytes := 0
		for _, l := range logs {
			bytes += l.bytes()
		}
		if bytes < smallest && s.round < 1024*len(s.workers) {
			s.round *= 2
		} else if bytes > largest && s.round > len(s.workers) {
			s.round = max(len(s.workers), s.round/2)
		}
		from += len(logs)
	}
	return nil
}

// lanes is the number of blocks with a gradient of their own in dense sums.
const lanes = 16

// denseBlocks are the blocks of a dense Sum as parts of a Reducer.
type denseBlocks struct{ *Sum }

func (b denseBlocks) Parts() int { return lanes }

func (b denseBlocks) Part(w, k int, x, grad []float64) (float64, error) {
	g := &Gradient{dense: grad}
	n := len(b.values)
	for i := n * k / lanes; i < n*(k+1)/lanes; i++ {
		if err := b.one(b.workers[w], i, x, g); err != nil {
			return 0, err
		}
	}
	return 0, nil // Sum has the values of examples
}

func (s *Sum) share(jobs int, f func(w, job int) error) error {
	return run.Each(len(s.workers), jobs, f)
}

// TreeSum adds pairwise, halving: the error grows with the logarithm of the length.
func TreeSum(v []float64) float64 {
	if len(v) <= 64 {
		sum := 0.0
		for _, x := range v {
			sum += x
		}
		return sum
	}
	h := len(v) / 2 // depth log2(len/64)
	return TreeSum(v[:h]) + TreeSum(v[h:])
}

func examplesOf(f Objective) int {
	if e, ok := f.(interface{ Examples() int }); ok {
		return e.Examples()
	}
	return 0
}

// Examples passes on the number of the wrapped objective.
func (r ridge) Examples() int { return examplesOf(r.Objective) }
