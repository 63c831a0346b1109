package optim

import (
	"math"

	"gonum.org/v1/gonum/optimize"
)

// retreat is the Moré-Thuente line search for functions that may be +Inf along the line. That
// search interpolates values and slopes, and fails on infinite ones. This type handles a step to
// +Inf. The next step is a tenth of the way from the longest step with a finite value. From the
// first finite value on the search starts anew, and never goes as far as the shortest infinite
// step. Each retreat at least halves the distance of the two, so there are few.
type retreat struct {
	search     optimize.MoreThuente
	f, g       float64 // value and slope where the line begins
	step       float64 // being tried
	good, bad  float64 // longest step known to be finite, shortest known not to be
	retreating bool
}

const sufficientDecrease = 1e-4 // OWLQN's, too

func (l *retreat) Init(f, g, step float64) optimize.Operation {
	*l = retreat{f: f, g: g, step: step, bad: math.Inf(1)}
	return l.search.Init(f, g, step)
}

func (l *retreat) Iterate(f, g float64) (optimize.Operation, float64, error) {
	if math.IsInf(f, 1) {
		l.bad = l.step
		fraction := 0.1
		if l.good > 0 {
			fraction = 0.5
		}
		l.step = l.good + fraction*(l.bad-l.good)
		if !(l.step > l.good && l.step < l.bad) {
			return optimize.NoOperation, l.step, optimize.ErrLinesearcherFailure
		}
		l.retreating = true
		return optimize.FuncEvaluation | optimize.GradEvaluation, l.step, nil
	}
	l.good = math.Max(l.good, l.step)
	if l.retreating {
		l.retreating = false
		l.search = optimize.MoreThuente{MaximumStep: (l.step + l.bad) / 2}
		l.search.Init(l.f, l.g, l.step)
	}
	op, step, err := l.search.Iterate(f, g)
	if err == optimize.ErrLinesearcherBound && f <= l.f+sufficientDecrease*l.step*l.g {
		// Lower, though the slope would lead on, to where the value is infinite.
		return optimize.MajorIteration, l.step, nil
	}
	l.step = step
	return op, step, err
}
