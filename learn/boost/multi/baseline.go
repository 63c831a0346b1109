package multi

import (
	"fmt"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

// TrainBaseline trains AdaBoost with the exponential loss on the rows of one source, or of all
// (source < 0). Section 4.6 compares MULTIBOOST with these. learner nil is Stumps.
func TrainBaseline(d *boost.Data, source, rounds int, learner boost.Learner,
	c *run.Control) (*boost.Ensemble, *optim.Result, error) {
	if learner == nil {
		learner = Stumps{}
	}
	if source >= 0 {
		var rows []int
		for i, s := range d.X.Source {
			if int(s) == source {
				rows = append(rows, i)
			}
		}
		if len(rows) == 0 {
			return nil, nil, fmt.Errorf("multi: %s: %w: source %d has no rows", d.X.Title(), boost.ErrData, source+1)
		}
		d = d.Subset(rows)
	}
	return boost.TrainAdaBoost(d, &boost.AdaBoostOptions{Rounds: rounds, Learner: learner}, c)
}
