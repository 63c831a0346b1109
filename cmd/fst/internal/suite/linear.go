package suite

import (
	"io"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
)

// LinearModel is an fst.LinearModel over some weight type.
type LinearModel interface{ Type() string }

// LinearBuilder is an fst.LinearBuilder over some weight type.
type LinearBuilder interface {
	ReadVocabulary(r io.Reader, name string) error
	ReadFeatures(r io.Reader, name string) error
	InputSymbols() *fst.SymbolTable
	OutputSymbols() *fst.SymbolTable
	FeatureSymbols() *fst.SymbolTable
}

// Linear is what the tools for linear models can do.
type Linear interface {
	ReadLinear(s *fst.Stream, h *fst.Header) (LinearModel, error)
	// ExpandLinear returns the whole machine of a model.
	ExpandLinear(m LinearModel, lim ops.Limits) (Machine, error)
	ComposeLinear(a Machine, m LinearModel, o *ops.ComposeOptions) (Machine, error)
	NormalizeLinear(a, composed Machine, lim ops.Limits) (Machine, error)
	BuildLinear(o *fst.LinearOptions) LinearBuilder
	// WriteLinear writes the model of a builder.
	WriteLinear(w io.Writer, b LinearBuilder) error
}

func (Component[W]) ReadLinear(s *fst.Stream, h *fst.Header) (LinearModel, error) {
	return fst.ReadLinear[W](s, h)
}

func (Component[W]) ExpandLinear(m LinearModel, lim ops.Limits) (Machine, error) {
	l := m.(*fst.LinearModel[W])
	v, err := ops.Materialize[W](l.Expander(), lim)
	if err != nil {
		return nil, err
	}
	v.SetInputSymbols(l.InputSymbols())
	v.SetOutputSymbols(l.OutputSymbols())
	return v, nil
}

func (Component[W]) ComposeLinear(a Machine, m LinearModel, o *ops.ComposeOptions) (Machine, error) {
	return ops.ComposeLinear(a.(fst.Expanded[W]), m.(*fst.LinearModel[W]), o)
}

func (Component[W]) NormalizeLinear(a, composed Machine, lim ops.Limits) (Machine, error) {
	return ops.NormalizeLinear(a.(fst.Expanded[W]), composed.(*fst.Vector[W]), lim)
}

func (Component[W]) BuildLinear(o *fst.LinearOptions) LinearBuilder {
	return fst.NewLinearBuilder[W](o)
}

func (Component[W]) WriteLinear(w io.Writer, b LinearBuilder) error {
	m, err := b.(*fst.LinearBuilder[W]).Model()
	if err != nil {
		return err
	}
	return fst.WriteLinear(w, m)
}
