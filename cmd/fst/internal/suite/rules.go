package suite

import (
	"io"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Rules is what the tools for rewriting and for questions about a machine can do.
type Rules interface {
	AddTo(a *fst.ArchiveWriter, key string, m Machine, o *fst.WriteOptions) error
	Subtract(a, b Machine, o *ops.ComposeOptions) (Machine, error)
	EpsNormalize(m Machine, side ops.Side, lim ops.Limits) (Machine, error)
	Synchronize(m Machine, lim ops.Limits) (Machine, error)
	Relabel(m Machine, in, out []fst.LabelPair) error
	Replace(labels []fst.Label, rules []Machine, root fst.Label, o *ops.ReplaceOptions) (Machine, error)
	Reweight(m Machine, potentials io.Reader, o *fst.PotentialOptions, toFinal bool) error
	Idempotent() bool
	HasPath() bool                        // a ⊕ b is a or b, so that pruning means something
	Has(m Machine, p fst.Properties) bool // all of p, which is found out
	DeadEnd(m Machine) fst.StateID
	Ambiguous(m Machine, lim ops.Limits) (*ops.AmbiguousError, error)
	BoundedDelay(m Machine, lim ops.Limits) (*ops.DelayError, error)
	Functional(m Machine, lim ops.Limits) (*ops.FunctionalError, error)
	Twins(m Machine, lim ops.Limits) (*ops.TwinsError, error)
	Stochastic(m Machine, delta float64, lim ops.Limits) (*ops.StochasticError, error)
	Check(m Machine, o *ops.CheckOptions) ([]ops.CheckResult, error)
}

func (Component[W]) Subtract(a, b Machine, o *ops.ComposeOptions) (Machine, error) {
	return ops.Subtract(a.(fst.Expanded[W]), b.(fst.Expanded[W]), o)
}

func (Component[W]) EpsNormalize(m Machine, side ops.Side, lim ops.Limits) (Machine, error) {
	return ops.EpsNormalize(m.(fst.Expanded[W]), side, lim)
}

func (Component[W]) Synchronize(m Machine, lim ops.Limits) (Machine, error) {
	return ops.Synchronize(m.(fst.Fst[W]), lim)
}

func (Component[W]) Relabel(m Machine, in, out []fst.LabelPair) error {
	return ops.Relabel(m.(*fst.Vector[W]), in, out)
}

func (Component[W]) Replace(labels []fst.Label, ms []Machine, root fst.Label,
	o *ops.ReplaceOptions) (Machine, error) {
	rules := make([]ops.Rule[W], len(ms))
	for i, m := range ms {
		rules[i] = ops.Rule[W]{Label: labels[i], F: m.(fst.Expanded[W])}
	}
	return ops.Replace(rules, root, o)
}

func (Component[W]) Reweight(m Machine, r io.Reader, o *fst.PotentialOptions, toFinal bool) error {
	v := m.(*fst.Vector[W])
	o.States = v.NumStates()
	if v, ok := m.(*fst.Vector[semiring.Log]); ok { // all digits that there are
		potentials, err := fst.ReadPotentials[semiring.Log64](r, o)
		if err != nil {
			return err
		}
		return ops.ReweightLog(v, potentials, toFinal)
	}
	potentials, err := fst.ReadPotentials[W](r, o)
	if err != nil {
		return err
	}
	if toFinal {
		return ops.ReweightToFinal(v, potentials)
	}
	return ops.ReweightToInitial(v, potentials)
}

func (Component[W]) Idempotent() bool { return semiring.IsIdempotent[W]() }

func (Component[W]) HasPath() bool {
	var w W
	_, ok := any(w).(semiring.Path[W])
	return ok
}

func (Component[W]) Has(m Machine, p fst.Properties) bool {
	return fst.PropertiesOf[W](m.(fst.Expanded[W]), p)&p == p
}

func (Component[W]) DeadEnd(m Machine) fst.StateID { return ops.DeadEnd(m.(fst.Expanded[W])) }

func (Component[W]) Twins(m Machine, lim ops.Limits) (*ops.TwinsError, error) {
	return ops.Twins(m.(fst.Expanded[W]), &ops.TwinsOptions{Limits: lim})
}

func (Component[W]) Ambiguous(m Machine, lim ops.Limits) (*ops.AmbiguousError, error) {
	return ops.Unambiguous(m.(fst.Expanded[W]), &ops.SearchOptions{Limits: lim})
}

func (Component[W]) BoundedDelay(m Machine, lim ops.Limits) (*ops.DelayError, error) {
	return ops.BoundedDelay(m.(fst.Expanded[W]), lim)
}

func (Component[W]) Functional(m Machine, lim ops.Limits) (*ops.FunctionalError, error) {
	return ops.Functional(m.(fst.Expanded[W]), &ops.SearchOptions{Limits: lim})
}

func (Component[W]) Stochastic(m Machine, delta float64, lim ops.Limits) (*ops.StochasticError, error) {
	return ops.Stochastic(m.(fst.Expanded[W]), delta, lim)
}

func (Component[W]) AddTo(a *fst.ArchiveWriter, key string, m Machine, o *fst.WriteOptions) error {
	return fst.AddToArchive(a, key, m.(fst.Expanded[W]), o)
}

func (Component[W]) Check(m Machine, o *ops.CheckOptions) ([]ops.CheckResult, error) {
	return ops.Check(m.(fst.Expanded[W]), o)
}
