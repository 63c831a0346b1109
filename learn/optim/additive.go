package optim

import "github.com/tropica-fst/tropica/learn/run"

// Additive is a function Σ_j a_j h_j of base functions from a dictionary that is too large to list:
// trees, stumps. An oracle finds those along which the objective falls fastest. Boosting fits such
// functions; its algorithms are the oracle, the rule of steps, and the penalty on the a_j.
type Additive interface {
	// Round takes the round of a number: it asks the oracle, steps along what that found, and adds
	// it. last says that no further round can help. A nil row is a round that found nothing.
	Round(number int) (row *run.Row, last bool, err error)
	// Held returns the loss on held-out examples after the last round; false without any.
	Held() (loss float64, ok bool)
	// Keep marks the function after the last round as that of the least loss on held-out examples.
	Keep()
	// State is the state between two rounds; nil while there is nothing to save.
	State() (*run.Checkpoint, error)
}

// Descend takes rounds until the run ends: coordinate descent over a dictionary. The result has the
// objective of the last round, or what it was given as a start.
//
// Errors: those of rounds, and *run.InterruptedError; the function so far stands beside both.
func Descend(r *run.Run, f Additive, start float64) (*Result, error) {
	s := &additive{r, f, start}
	reason, err := r.Loop(s.step, f.State)
	return &Result{F: s.objective, Iterations: r.Steps(), Evaluations: r.Steps(), Reason: reason}, err
}

// DescendOnce takes one round, for runs side by side. It returns the reason to stop, "" to go on.
func DescendOnce(r *run.Run, f Additive) (run.Reason, error) {
	return r.Next((&additive{run: r, f: f}).step, f.State)
}

type additive struct {
	run       *run.Run
	f         Additive
	objective float64
}

func (s *additive) step() (*run.Row, run.Reason, error) {
	n := s.run.Steps() + 1
	row, last, err := s.f.Round(n)
	if err != nil {
		return nil, "", err
	}
	if row == nil {
		return nil, run.Exhausted, nil
	}
	if loss, ok := s.f.Held(); ok && s.run.Judge(n, loss) {
		s.f.Keep()
	}
	s.objective, row.Evaluations = row.Objective, n
	if last {
		return row, run.Exhausted, nil
	}
	return row, "", nil
}
