package losses

type logSweeper struct{}

func (s *logSweeper) run(m *Machine, g *graph, w *whitening, j *job) { panic("later") }
