package g2p

import (
	"fmt"

	"github.com/tropica-fst/tropica/learn/run"
)

// progress is the Detail of rows of preparation.
type progress struct {
	of        int
	objective float64 // of alignment; 0 is none
}

// Fields implements run.Detail.
func (p progress) Fields() []run.Field { return []run.Field{{Name: "of", Value: float64(p.of)}} }

func (p progress) String() string {
	if p.objective == 0 {
		return fmt.Sprintf("of %d", p.of)
	}
	return fmt.Sprintf("of %d, objective %.6g", p.of, p.objective)
}

// live tells r, unless it is nil, how many steps of a stage of preparation are done.
func live(r run.Recorder, stage string, done, of int, objective float64) error {
	if r == nil {
		return nil
	}
	row := run.Row{Stage: stage, Iteration: done, Objective: objective, Detail: progress{of, objective}}
	return r.Record(row)
}

// every is how many words lie between two rows of preparation.
const every = 4096
