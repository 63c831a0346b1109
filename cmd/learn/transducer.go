package main

import (
	"fmt"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/losses"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// transducerLoss reads the loss that a machine in a file defines between labels. Symbol tables of
// the machine name the labels; without one, label k+1 is that of index k. Errors name the origin of
// the labels.
func transducerLoss(c *call, name string, plus float64, names []string,
	origin string) (*losses.Transducer, error) {
	r, shown, err := c.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	s := fst.NewStream(r, &fst.ReadOptions{Name: shown})
	h, err := s.ReadHeader()
	if err != nil {
		return nil, err
	}
	labels := fst.NewSymbolTable("labels")
	labels.AddLabel("<eps>", fst.Epsilon)
	for i, y := range names {
		labels.AddLabel(y, fst.Label(i+1))
	}
	switch h.ArcType {
	case "standard":
		u, err := overLabels[semiring.Tropical](s, h, shown, labels, origin)
		if err != nil {
			return nil, err
		}
		wide, err := ops.Convert[semiring.Tropical64](u)
		if err != nil {
			return nil, err
		}
		return losses.TropicalTransducer(wide)
	case "tropical64":
		u, err := overLabels[semiring.Tropical64](s, h, shown, labels, origin)
		if err != nil {
			return nil, err
		}
		return losses.TropicalTransducer(u)
	case "real64":
		return rationalLoss[semiring.Probability](s, h, shown, labels, origin, plus)
	case "log":
		return rationalLoss[semiring.Log](s, h, shown, labels, origin, plus)
	case "log64":
		return rationalLoss[semiring.Log64](s, h, shown, labels, origin, plus)
	}
	return nil, fmt.Errorf("%s: arc type %s: a loss is over standard or tropical64 (a least cost), or "+
		"real64, log or log64 (a sum)", shown, h.ArcType)
}

func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

func rationalLoss[W semiring.Codec[W]](s *fst.Stream, h *fst.Header, shown string, labels *fst.SymbolTable,
	origin string, plus float64) (*losses.Transducer, error) {
	u, err := overLabels[W](s, h, shown, labels, origin)
	if err != nil {
		return nil, err
	}
	return losses.RationalTransducer(u, plus)
}

// overLabels reads the rest of a machine and numbers its labels as labels does.
func overLabels[W semiring.Codec[W]](s *fst.Stream, h *fst.Header, shown string, labels *fst.SymbolTable,
	origin string) (*fst.Vector[W], error) {
	f, err := fst.ReadBody[W](s, h)
	if err != nil {
		return nil, err
	}
	u := ops.MapInto(f, func(w W) W { return w })
	in, err := renumber(u.InputSymbols(), labels, shown, "input", origin)
	if err != nil {
		return nil, err
	}
	out, err := renumber(u.OutputSymbols(), labels, shown, "output", origin)
	if err != nil {
		return nil, err
	}
	for q := range u.NumStates() { // what no table names could be taken for another label
		for _, e := range u.Arcs(fst.StateID(q)) {
			for _, side := range []struct {
				l     fst.Label
				table *fst.SymbolTable
			}{{e.ILabel, u.InputSymbols()}, {e.OLabel, u.OutputSymbols()}} {
				if side.table != nil && side.l != fst.Epsilon && !side.table.Has(side.l) {
					return nil, fmt.Errorf("%s: state %d: label %d is not in the symbol table", shown, q, side.l)
				}
			}
		}
	}
	if err := ops.Relabel(u, in, out); err != nil {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	u.SetInputSymbols(nil)
	u.SetOutputSymbols(nil)
	return u, nil
}

// renumber pairs the labels of a machine's table with those of the examples, or of a
// model. Symbols that these lack get labels beyond; one of theirs without a symbol is
// an error, since no path could ever read it.
func renumber(table, labels *fst.SymbolTable, shown, side, origin string) ([]fst.LabelPair, error) {
	if table == nil {
		return nil, nil
	}
	for y := range labels.All() {
		if _, ok := table.Find(y); !ok && y != "<eps>" {
			return nil, fmt.Errorf("%s: the %s symbols lack the label %q %s", shown, side, y, origin)
		}
	}
	var pairs []fst.LabelPair
	next := fst.Label(labels.Len())
	for y, l := range table.All() {
		to, ok := labels.Find(y)
		if !ok || y == "<eps>" {
			to = next
			next++
		}
		if l == fst.Epsilon {
			continue
		}
		pairs = append(pairs, fst.LabelPair{From: l, To: to})
	}
	return pairs, nil
}
