package main

import (
	"fmt"
	"sync"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/learn/g2p"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

const constraintHelp = "File of an acceptor of phones that outputs must be accepted by, with its symbol " +
	"table; weights " +
	"are costs, and the symbol " + g2p.OtherPhones + " is every phone that the machine does not name"

// constraint reads the machine of a flag; "" is none.
func (c *call) constraint(name string) (*g2p.Constraint, error) {
	if name == "" {
		return nil, nil
	}
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
	var wide *fst.Vector[semiring.Tropical64]
	switch h.ArcType {
	case "standard":
		f, err := fst.ReadBody[semiring.Tropical](s, h)
		if err != nil {
			return nil, err
		}
		wide = ops.MapInto(f, func(w semiring.Tropical) semiring.Tropical64 { return semiring.Tropical64(w) })
	case "tropical64":
		f, err := fst.ReadBody[semiring.Tropical64](s, h)
		if err != nil {
			return nil, err
		}
		wide = ops.MapInto(f, func(w semiring.Tropical64) semiring.Tropical64 { return w })
	default:
		return nil, fmt.Errorf("flag --constraint: %s: arc type %s: a constraint is over standard or tropical64",
			shown, h.ArcType)
	}
	symbols := wide.InputSymbols()
	if symbols == nil {
		return nil, fmt.Errorf("flag --constraint: %s has no symbol table, which names its phones: fst compile "+
			"keeps one with "+
			"--keep_isymbols", shown)
	}
	constraint, err := g2p.NewConstraint(wide, symbols)
	if err != nil {
		return nil, fmt.Errorf("flag --constraint: %s: %w", shown, err)
	}
	return constraint, nil
}

// constrained returns a model under the constraint of a flag; "" leaves it as it was trained.
func (c *call) constrained(m *g2p.Model, name string) (*g2p.Model, error) {
	constraint, err := c.constraint(name)
	if err != nil || constraint == nil {
		return m, err
	}
	if m, err = m.Constrain(constraint); err != nil {
		return nil, fmt.Errorf("flag --constraint: %s: %w", name, err)
	}
	return m, nil
}

// fallbacks warns of words without an output that the constraint accepts.
type fallbacks struct {
	sync.Mutex
	words int
}

const maxFallbacks = 20

// note is a g2p.DecodeOptions.Report.
func (f *fallbacks) note(c *call, word string, how g2p.Fallback) {
	if how != g2p.Unconstrained {
		return // accepted, with labels that training did not see there
	}
	f.Lock()
	defer f.Unlock()
	if f.words++; f.words <= maxFallbacks {
		c.Warn(c.prog, "%.60q has no output that the constraint accepts: it has the best one of all", word)
	}
}

func (f *fallbacks) report(c *call) {
	if f.words > maxFallbacks {
		c.Warn(c.prog, "%d words have no output that the constraint accepts", f.words)
	}
}
