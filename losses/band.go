package losses

type banded struct{}

type bandSweeper struct{}

func (s *bandSweeper) bound(e *Evaluator, m *Machine, p *Potentials, gamma float64, r *Result) error {
	return nil
}
