package ops

import "github.com/tropica-fst/tropica/ops/internal/run"

// subsetScratch is the work space of a subset construction, when none is under way.
type subsetScratch[R any] struct {
	table subsetTable[R]
	order []candidate
	spare []candidate
	runs  []int32
	cand  []R
	next  []element[R]
	key   []byte
	out   []subsetArc[R]
}

// borrow makes the work space of m that of an earlier construction. How many bytes are held then
// depends on what went before, so that constructions with limits, which tell that
// in their errors, should not.
func (m *subsetMachine[W, R, A]) borrow() {
	s := run.Scratch[subsetScratch[R]]().Get().(*subsetScratch[R])
	if cap(s.table.refs) > 0 {
		m.table = s.table
	}
	m.order, m.spare, m.runs, m.cand, m.next, m.key, m.out = s.order, s.spare, s.runs, s.cand, s.next, s.key, s.out
}

// giveBack ends the use of m.
func (m *subsetMachine[W, R, A]) giveBack() {
	m.table.reset()
	clear(m.cand[:cap(m.cand)])
	clear(m.next[:cap(m.next)])
	clear(m.out[:cap(m.out)])
	if cap(m.cand) > run.KeptScratch {
		m.order, m.spare, m.runs, m.cand, m.next, m.out = nil, nil, nil, nil, nil, nil
	}
	run.Scratch[subsetScratch[R]]().Put(&subsetScratch[R]{m.table, m.order, m.spare, m.runs, m.cand, m.next, m.key[:0], m.out})
	m.table, m.order, m.spare, m.runs = newSubsetTable[R](), nil, nil, nil
	m.cand, m.next, m.key, m.out = nil, nil, nil, nil
}

// reset empties the table and keeps some of its memory.
func (t *subsetTable[R]) reset() {
	kept := 0
	spare := t.spare[:0]
	for _, p := range append(t.pages, t.spare...) {
		if kept += cap(p); kept <= run.KeptScratch {
			clear(p)
			spare = append(spare, p[:0])
		}
	}
	slots, refs := t.slots, t.refs[:0]
	clear(slots)
	if len(slots) > run.KeptScratch {
		slots, refs = nil, nil
	}
	alone := t.alone
	clear(alone)
	if cap(alone) > run.KeptScratch {
		alone = nil
	}
	*t = subsetTable[R]{spare: spare, refs: refs, slots: slots, alone: alone[:0], seed: t.seed}
}
