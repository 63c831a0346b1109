package resilient

import "fmt"

// Options are the flags of learners that can be resilient, to be embedded in theirs.
type Options struct {
	Resilient string  `flag:"resilient" default:"none" values:"none,quadratic,huber,cvar" help:"Weight examples by their losses: quadratic weights hard ones more, huber up to --resilient_delta, cvar only the hardest --resilient_tail. explain then lists those with the largest multipliers"`
	Delta     float64 `flag:"resilient_delta" default:"0.05" above:"0" help:"Loss from which on an example of --resilient huber counts no more" topic:"resilience"`
	Tail      float64 `flag:"resilient_tail" default:"0.2" above:"0" max:"1" help:"Share of the examples that --resilient cvar looks at" topic:"resilience"`
	Scale     float64 `flag:"resilient_scale" min:"0" help:"Multiplies the weights of --resilient quadratic and huber, against the penalties; 0 is 1/--resilient_delta for huber, whose largest weight is then 1 as in ordinary training, and 1 for quadratic" topic:"resilience"`
	Folds     int     `flag:"resilient_folds" min:"0" help:"Rank the training examples by multipliers of models that did not see them, one for each of this many folds. That is sharper where a model fits everything, and takes as many more fits, which a resumed run repeats. 0 uses the model's own" topic:"resilience"`
}

// Relaxation returns the relaxation that completed options ask for, nil for none. An option that
// the relaxation does not read is an error.
func (o *Options) Relaxation() (Relaxation, error) {
	for _, p := range []struct {
		name          string
		value, usual  float64
		first, second string
	}{
		{"resilient_delta", o.Delta, 0.05, "huber", "huber"},
		{"resilient_tail", o.Tail, 0.2, "cvar", "cvar"},
		{"resilient_scale", o.Scale, 0, "quadratic", "huber"},
	} {
		if p.value != p.usual && o.Resilient != p.first && o.Resilient != p.second {
			return nil, fmt.Errorf("%s: it has no effect with resilient=%s; %s reads it", p.name,
				o.Resilient, p.first)
		}
	}
	if o.Folds == 1 || o.Folds > 0 && o.Resilient == "none" {
		return nil, fmt.Errorf("resilient_folds: %d: there are at least 2, of a resilient model", o.Folds)
	}
	var r Relaxation
	switch o.Resilient {
	case "quadratic":
		r = Quadratic{Scale: o.Scale}
	case "huber":
		r = Capped(o.Delta, o.Scale)
	case "cvar":
		r = CVaR{Tail: o.Tail}
	default:
		return nil, nil
	}
	return r, Usable(r)
}
