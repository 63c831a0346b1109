package optim_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// matching fits y by sums of unit vectors: the oracle takes the largest residual, the step a half
// of it. Held-out loss is the distance from other numbers.
type matching struct {
	y, held, x []float64
	best       []float64
	fail       int // round that fails
}

var errOracle = errors.New("oracle")

func (m *matching) Round(number int) (*run.Row, bool, error) {
	if number == m.fail {
		return nil, false, errOracle
	}
	at, size := 0, 0.0
	for j, v := range m.y {
		if r := math.Abs(v - m.x[j]); r > size {
			at, size = j, r
		}
	}
	if size < 1e-3 {
		return nil, false, nil
	}
	m.x[at] += (m.y[at] - m.x[at]) / 2
	return &run.Row{Objective: distance(m.x, m.y)}, false, nil
}

func (m *matching) Held() (float64, bool) {
	if m.held == nil {
		return 0, false
	}
	return distance(m.x, m.held), true
}
func (m *matching) Keep() { m.best = append(m.best[:0], m.x...) }
func (m *matching) State() (*run.Checkpoint, error) {
	return &run.Checkpoint{X: append([]float64{}, m.x...)}, nil
}

func distance(x, y []float64) float64 {
	sum := 0.0
	for j, v := range x {
		sum += (v - y[j]) * (v - y[j])
	}
	return sum
}

func TestDescend(t *testing.T) {
	y := []float64{1, -2, 0.5}
	begin := func(c *run.Control) *run.Run { return run.Begin("matching", c, 100) }
	m := &matching{y: y, x: make([]float64, 3)}
	last := math.Inf(1)
	r, err := optim.Descend(begin(&run.Control{Recorder: run.RecorderFunc(func(row run.Row) error {
		if row.Objective >= last || row.Iteration != row.Evaluations {
			t.Errorf("%+v after %v", row, last)
		}
		last = row.Objective
		return nil
	})}), m, 7)
	// Residuals 1, 2 and 0.5 are halved until all are below 1e-3: 10, 11 and 9 times.
	if err != nil || r.Reason != run.Exhausted || r.Iterations != 30 || r.F != last || distance(m.x, y) > 3e-6 {
		t.Errorf("%+v, %v: %v", r, err, m.x)
	}
	// Nothing to do is no objective but the start's.
	if r, err := optim.Descend(begin(nil), &matching{y: y, x: y}, 7); err != nil || r.F != 7 ||
		r.Iterations != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	// Held-out examples at zero like the start best: patience ends the run, and Keep had its say.
	m = &matching{y: y, held: []float64{1, -1, 0}, x: make([]float64, 3)}
	r, err = optim.Descend(begin(&run.Control{Stop: run.Stop{Patience: 3}}), m, 0)
	if err != nil || r.Reason != run.OutOfPatience || distance(m.best, m.held) > distance(m.x, m.held) ||
		m.best == nil {
		t.Errorf("%+v, %v: best %v, last %v", r, err, m.best, m.x)
	}
	// An error of the oracle ends the run, with what there is.
	if r, err = optim.Descend(begin(nil), &matching{y: y, x: make([]float64, 3), fail: 4}, 0); !errors.Is(err,
		errOracle) ||
		r.Iterations != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	// A cancelled run saves its state; one round at a time takes it to the same end.
	ctx, cancel := context.WithCancel(context.Background())
	var kept *run.Checkpoint
	m = &matching{y: y, x: make([]float64, 3)}
	_, err = optim.Descend(begin(&run.Control{Ctx: ctx,
		Checkpoint: func(k *run.Checkpoint) error { kept = k; return nil },
		Recorder: run.RecorderFunc(func(row run.Row) error {
			if row.Iteration == 5 {
				cancel()
			}
			return nil
		})}), m, 0)
	if stopped := new(run.InterruptedError); !errors.As(err, &stopped) || kept == nil || kept.Iteration != 5 {
		t.Fatalf("%v, %+v", err, kept)
	}
	again := begin(&run.Control{Resume: kept})
	if _, err := again.Taken(); err != nil {
		t.Fatal(err)
	}
	m = &matching{y: y, x: kept.X}
	for {
		reason, err := optim.DescendOnce(again, m)
		if err != nil {
			t.Fatal(err)
		}
		if reason != "" {
			break
		}
	}
	if again.Steps() != 30 {
		t.Errorf("%d rounds after going on", again.Steps())
	}
}
