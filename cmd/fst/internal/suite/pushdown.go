package suite

import (
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/ops/pdt"
	"github.com/tropica-fst/tropica/semiring"
)

// Parens are the pairs of parentheses of a pushdown transducer, and of an MPDT the
// stack of each; nil stacks make it a PDT.
type Parens struct {
	Pairs  []fst.LabelPair
	Stacks []int32
}

// Pushdown is what the tools for pushdown transducers can do.
type Pushdown interface {
	ExpandPDT(m Machine, p Parens, weight string, format semiring.TextFormat,
		o *pdt.ExpandOptions) (Machine, error)
	ComposePDT(a, b Machine, p Parens, o *pdt.ComposeOptions) (Machine, error)
	ReversePDT(m Machine, p Parens, lim ops.Limits) (Machine, []int32, error)
	CountPDT(m Machine, p Parens) ([]pdt.Counts, error)
	ReplacePDT(labels []fst.Label, rules []Machine, root fst.Label, o *pdt.ReplaceOptions) (Machine,
		[]fst.LabelPair, error)
	ShortestPathPDT(m Machine, p Parens, o *pdt.ShortestPathOptions) (Machine, error)
}

// ExpandPDT prunes where weight is one.
func (c Component[W]) ExpandPDT(m Machine, p Parens, weight string, format semiring.TextFormat,
	o *pdt.ExpandOptions) (Machine, error) {
	f := m.(fst.Expanded[W])
	if p.Stacks != nil {
		return pdt.ExpandMulti(f, p.Pairs, p.Stacks, o)
	}
	if weight != "" {
		w, err := parseWeight[W](weight, format)
		if err != nil {
			return nil, err
		}
		if !semiring.IsZero(w) {
			return nil, c.lacksPath("pruning by --weight")
		}
	}
	return pdt.Expand(f, p.Pairs, o)
}

func (c Path[W]) ExpandPDT(m Machine, p Parens, weight string, format semiring.TextFormat,
	o *pdt.ExpandOptions) (Machine, error) {
	if weight == "" || p.Stacks != nil {
		return c.Component.ExpandPDT(m, p, "", format, o)
	}
	w, err := parseWeight[W](weight, format)
	if err != nil {
		return nil, err
	}
	return pdt.ExpandPruned(m.(fst.Expanded[W]), p.Pairs, w, o)
}

func (Component[W]) ComposePDT(a, b Machine, p Parens, o *pdt.ComposeOptions) (Machine, error) {
	if p.Stacks != nil {
		return pdt.ComposeMulti(a.(fst.Expanded[W]), b.(fst.Expanded[W]), p.Pairs, p.Stacks, o)
	}
	return pdt.Compose(a.(fst.Expanded[W]), b.(fst.Expanded[W]), p.Pairs, o)
}

func (Component[W]) ReversePDT(m Machine, p Parens, lim ops.Limits) (Machine, []int32, error) {
	if p.Stacks != nil {
		return pdt.ReverseMulti[W, W](m.(fst.Expanded[W]), p.Pairs, p.Stacks, lim)
	}
	r, err := pdt.Reverse[W, W](m.(fst.Expanded[W]), p.Pairs, lim)
	return r, nil, err
}

// CountPDT counts by stack.
func (Component[W]) CountPDT(m Machine, p Parens) ([]pdt.Counts, error) {
	if p.Stacks == nil {
		return []pdt.Counts{pdt.Count(m.(fst.Expanded[W]), p.Pairs)}, nil
	}
	c, err := pdt.CountMulti(m.(fst.Expanded[W]), p.Pairs, p.Stacks)
	return c[:], err
}

func (Component[W]) ReplacePDT(labels []fst.Label, ms []Machine, root fst.Label,
	o *pdt.ReplaceOptions) (Machine, []fst.LabelPair, error) {
	rules := make([]ops.Rule[W], len(ms))
	for i, m := range ms {
		rules[i] = ops.Rule[W]{Label: labels[i], F: m.(fst.Expanded[W])}
	}
	return pdt.Replace(rules, root, o)
}

func (c Component[W]) ShortestPathPDT(Machine, Parens, *pdt.ShortestPathOptions) (Machine, error) {
	return nil, c.lacksPath("a shortest path")
}

func (Path[W]) ShortestPathPDT(m Machine, p Parens, o *pdt.ShortestPathOptions) (Machine, error) {
	return pdt.ShortestPath(m.(fst.Expanded[W]), p.Pairs, o)
}
