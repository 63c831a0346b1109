package main

import (
	"io"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
)

func (component[W]) subtract(a, b machine, o *ops.ComposeOptions) (machine, error) {
	return ops.Subtract(a.(fst.Expanded[W]), b.(fst.Expanded[W]), o)
}

func (component[W]) epsNormalize(m machine, side ops.Side, lim ops.Limits) (machine, error) {
	return ops.EpsNormalize(m.(fst.Expanded[W]), side, lim)
}

func (component[W]) synchronize(m machine, lim ops.Limits) (machine, error) {
	return ops.Synchronize(m.(fst.Fst[W]), lim)
}

func (component[W]) relabel(m machine, in, out []fst.LabelPair) error {
	return ops.Relabel(m.(*fst.Vector[W]), in, out)
}

func (component[W]) replace(labels []fst.Label, ms []machine, root fst.Label, o *ops.ReplaceOptions) (machine, error) {
	rules := make([]ops.Rule[W], len(ms))
	for i, m := range ms {
		rules[i] = ops.Rule[W]{Label: labels[i], F: m.(fst.Expanded[W])}
	}
	return ops.Replace(rules, root, o)
}

func (component[W]) reweight(m machine, r io.Reader, o *fst.PotentialOptions, toFinal bool) error {
	v := m.(*fst.Vector[W])
	o.States = v.NumStates()
	potentials, err := fst.ReadPotentials[W](r, o)
	if err != nil {
		return err
	}
	if toFinal {
		return ops.ReweightToFinal(v, potentials)
	}
	return ops.ReweightToInitial(v, potentials)
}

// encode encodes m with the table that r holds, a new one if r is nil, and
// returns what writes the table.
func (component[W]) encode(m machine, r io.Reader, name string, kind ops.EncodeKind) (func(io.Writer) error, error) {
	t := ops.NewEncodeTable[W](kind)
	if r != nil {
		var err error
		if t, err = ops.ReadEncodeTable[W](r, name); err != nil {
			return nil, err
		}
	}
	ops.Encode(m.(*fst.Vector[W]), t)
	return func(w io.Writer) error { return ops.WriteEncodeTable(w, t) }, nil
}

func (component[W]) decode(m machine, r io.Reader, name string) error {
	t, err := ops.ReadEncodeTable[W](r, name)
	if err != nil {
		return err
	}
	return ops.Decode(m.(*fst.Vector[W]), t)
}

func (component[W]) twins(m machine) (*ops.TwinsError, error) {
	return ops.Twins(m.(fst.Expanded[W]), nil)
}

func (component[W]) ambiguous(m machine) (*ops.AmbiguousError, error) {
	return ops.Unambiguous(m.(fst.Expanded[W]), nil)
}

func (component[W]) functional(m machine) (*ops.FunctionalError, error) {
	return ops.Functional(m.(fst.Expanded[W]), nil)
}

func (component[W]) addTo(a *fst.ArchiveWriter, key string, m machine, o *fst.WriteOptions) error {
	return fst.AddToArchive(a, key, m.(fst.Expanded[W]), o)
}
