package suite

import (
	"io"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Forms is what the tools for other forms of machines can do: strings, archives, encoded labels.
type Forms interface {
	FromLabels(labels []fst.Label) Machine
	ToString(m Machine, o *fst.StringOptions) (string, error)
	Total(m Machine, format semiring.TextFormat) (string, error) // the ⊕-sum of all paths
	LabelLookAhead(m Machine, side ops.Side, lim ops.Limits) (Machine, []fst.LabelPair, error)
	Compress(w io.Writer, m Machine) error
	Decompress(r io.Reader, name string, lim ops.Limits) (Machine, error)
	EncodeTable(r io.Reader, name string, kind ops.EncodeKind) (EncodeTable, error) // a new one where r is nil
}

func (Component[W]) FromLabels(labels []fst.Label) Machine { return fst.FromLabels[W](labels) }

func (Component[W]) ToString(m Machine, o *fst.StringOptions) (string, error) {
	return fst.ToString(m.(fst.Fst[W]), o)
}

func (Component[W]) Total(m Machine, format semiring.TextFormat) (string, error) {
	f := m.(fst.Expanded[W])
	total := semiring.Zero[W]()
	if f.Start() != fst.NoState {
		// of near ties the first, as shortestdistance
		d, err := ops.ShortestDistance(f, &ops.ShortestDistanceOptions{Delta: ops.ShortestDelta})
		if err != nil {
			return "", err
		}
		for q, x := range d {
			total = total.Plus(x.Times(f.Final(fst.StateID(q))))
		}
	}
	return string(total.AppendTextFormat(nil, format)), nil
}

func (Component[W]) LabelLookAhead(m Machine, side ops.Side, lim ops.Limits) (Machine,
	[]fst.LabelPair, error) {
	return ops.LabelLookAhead(m.(fst.Expanded[W]), side, lim)
}

func (Component[W]) Compress(w io.Writer, m Machine) error {
	return ops.Compress(w, m.(fst.Expanded[W]))
}

func (Component[W]) Decompress(r io.Reader, name string, lim ops.Limits) (Machine, error) {
	return ops.Decompress[W](r, name, lim)
}

func (Component[W]) EncodeTable(r io.Reader, name string, kind ops.EncodeKind) (EncodeTable, error) {
	t := ops.NewEncodeTable[W](kind)
	if r != nil {
		var err error
		if t, err = ops.ReadEncodeTable[W](r, name); err != nil {
			return nil, err
		}
	}
	return encodeTable[W]{t}, nil
}

type encodeTable[W semiring.Component[W]] struct{ t *ops.EncodeTable[W] }

func (t encodeTable[W]) Encode(m Machine)        { ops.Encode(m.(*fst.Vector[W]), t.t) }
func (t encodeTable[W]) Decode(m Machine) error  { return ops.Decode(m.(*fst.Vector[W]), t.t) }
func (t encodeTable[W]) Len() int                { return t.t.Len() }
func (t encodeTable[W]) Write(w io.Writer) error { return ops.WriteEncodeTable(w, t.t) }
