package ops

import (
	"cmp"
	"hash/maphash"
	"iter"
	"math"
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/subsets"
	"github.com/tropica-fst/tropica/semiring"
)

// residuals is the algebra in which the subset construction computes. R is what remains of the
// weight of the input paths to one state, after division by the weight of the deterministic path.
// For acceptors R is W; for functional transducers it is an output string and a weight.
type residuals[W, R any] interface {
	one() R
	zero() R
	isZero(r R) bool
	vanished(r R) bool            // a part of a weight of r is that of 0̄
	step(r R, e *fst.Arc[W]) R    // r ⊗ what e carries
	stop(r R, final W) R          // r ⊗ a final weight
	plus(a, b R) (sum R, ok bool) // not ok: the sum does not exist, the input is not functional
	divisor(d, r R) R             // common divisor; d is zero() at first
	divide(d, r R) R              // d\r
	member(r R) bool              // false for NaN and the like
	equal(a, b R) bool            // exact
	appendKey(dst []byte, r R) []byte
	begin()                 // drops what steps since the last begin allocated, but for what was kept
	keep(r R) R             // r made to last
	only(left iter.Seq[*R]) // forgets what was kept but for these, which may come to lie elsewhere
	bytes() int64
	failed() error // not nil: what steps and sums gave since then is nothing, for a limit
}

// adder is implemented by residuals that are summed better together than one by one.
type adder[R any] interface{ plusAll(rs []R) R }

// subsetArc is an arc of the deterministic machine, its weight in the algebra.
type subsetArc[R any] struct {
	label  fst.Label
	next   fst.StateID
	weight R
}

// subsetMachine is the weighted subset construction: its states are the subsets
// of table, its arcs are computed by expand.
type subsetMachine[W semiring.Weight[W], R any, A residuals[W, R]] struct {
	op       string
	f        fst.Fst[W]
	fails    fst.Failing // f, if reading it can fail; else nil
	alg      A
	many     adder[R]  // alg, if it is one; else nil
	delta    func(R) R // rounds residuals; nil keeps them exact
	compared func(R) R // rounds residuals only for subsets to be compared; nil compares them as they are
	factors  bool      // residuals can become 0̄ as they shrink
	table    subsets.Table[R]
	retained bool // the start may not be subset 0 any more
	guard    *twinsGuard[W]
	meter    run.Meter
	arcs     int64 // made so far
	work     int64 // arcs of the input looked at so far
	since    int   // candidates gone through since limits were looked at

	// Of states beside the subsets, that the caller of expand has made.
	more      int
	moreBytes int64
	besides   int64 // bytes that a disambiguation holds

	// Called for each new subset; nil is nothing.
	added func([]subsets.Element[R])

	// Only for disambiguation, else nil: whether two states share a future. Each subset then has a
	// head, and only the head's arcs leave it. An arc goes to the elements that share a future with
	// the head it leads to.
	related func(s, head fst.StateID) bool
	heads   []fst.StateID // of the subsets
	head    fst.StateID   // of the subset in next

	ahead warmer[W]

	order []subsets.Candidate
	spare []subsets.Candidate // for what is merged
	runs  []int32             // where keys do not increase in order, but for 0
	share []subsets.Candidate // of one head
	cand  []R                 // residuals of the candidates, in the order in which arcs were met
	next  []subsets.Element[R]
	key   []byte
	out   []subsetArc[R]
}

// warmer fetches what the next elements need from a machine too large for the caches. Subsets are
// expanded in the order in which they lie, so the next ones are known. Fetches that do not wait for
// one another take the time of one or two. That saves 23 % of the time on a lexicon of 780,000
// states (determinize_L_full of fst bench), and 11 % on one composed with a language model
// (determinize_LG).
type warmer[W semiring.Weight[W]] struct {
	f    *fst.Vector[W] // nil for other kinds, and for small machines
	page int32
	end  int32 // of the elements that were fetched, in the page
	sink fst.StateID
}

// warmFrom is the number of states from which on a machine is too large; warmStep is how many
// elements are fetched at a time.
const warmFrom, warmStep = 1 << 14, 32

// warmed returns how many elements of subset q have been fetched.
func (m *subsetMachine[W, R, A]) warmed(q fst.StateID) int {
	if m.ahead.f == nil {
		return math.MaxInt
	}
	page, at := m.table.Place(q)
	if page != m.ahead.page {
		m.ahead.page, m.ahead.end = page, at
	}
	return int(m.ahead.end - at)
}

// warm fetches what elements need, from the i-th of subset q on and of the subsets behind it. It
// returns for how many.
func (m *subsetMachine[W, R, A]) warm(q fst.StateID, i int) int {
	page := m.table.From(q, i)
	page = page[:min(len(page), warmStep)]
	f, sum := m.ahead.f, m.ahead.sink
	for k := range page {
		sum ^= fst.StateID(f.OutDegree(page[k].State))
	}
	for k := range page {
		if arcs := f.Arcs(page[k].State); len(arcs) > 0 {
			sum ^= arcs[0].NextState
		}
	}
	m.ahead.sink = sum // or nothing of this would be done
	_, at := m.table.Place(q)
	m.ahead.end = at + int32(i+len(page))
	return len(page)
}

// round makes q round residuals, where they are multiplied as numbers only to compare them; nil is
// exact.
func (m *subsetMachine[W, R, A]) round(q func(R) R, factors bool) {
	if m.factors = factors; factors {
		m.compared = q
	} else {
		m.delta = q
	}
}

// operandErr returns the error of f, if reading it can fail and has.
func (m *subsetMachine[W, R, A]) operandErr() error {
	if m.fails == nil {
		return nil
	}
	if err := m.fails.Err(); err != nil {
		return &partError{m.op, err}
	}
	return nil
}

// start returns the subset of the start state.
func (m *subsetMachine[W, R, A]) start() (fst.StateID, error) {
	m.fails, _ = m.f.(fst.Failing)
	m.many, _ = any(m.alg).(adder[R])
	s := m.f.Start()
	if err := m.operandErr(); err != nil {
		return fst.NoState, err
	}
	if s == fst.NoState || m.table.Len() > 0 && !m.retained {
		return min(s, 0), nil
	}
	if e, ok := m.f.(fst.Expanded[W]); ok && m.related == nil && !m.retained {
		n := e.NumStates()
		m.table.Alone = slices.Grow(m.table.Alone[:0], n)[:n]
	}
	if v, ok := m.f.(*fst.Vector[W]); ok && v.NumStates() >= warmFrom {
		m.ahead.f = v
	}
	m.next, m.head = append(m.next[:0], subsets.Element[R]{State: s, Residual: m.alg.one()}), s
	return m.id(fst.NoState, fst.NoLabel), nil
}

// subsetScratch is the work space of a subset construction, when none is under way.
type subsetScratch[R any] struct {
	table subsets.Table[R]
	order []subsets.Candidate
	spare []subsets.Candidate
	runs  []int32
	cand  []R
	next  []subsets.Element[R]
	key   []byte
	out   []subsetArc[R]
}

// borrow makes the work space of m that of an earlier construction. How many bytes are held then
// depends on what went before, so that constructions with limits, which tell that
// in their errors, should not.
func (m *subsetMachine[W, R, A]) borrow() {
	s := run.Scratch[subsetScratch[R]]().Get().(*subsetScratch[R])
	if cap(s.table.Refs) > 0 {
		m.table = s.table
	}
	m.order, m.spare, m.runs, m.cand, m.next, m.key, m.out = s.order, s.spare, s.runs, s.cand, s.next, s.key,
		s.out
}

// giveBack ends the use of m.
func (m *subsetMachine[W, R, A]) giveBack() {
	m.table.Reset()
	clear(m.cand[:cap(m.cand)])
	clear(m.next[:cap(m.next)])
	clear(m.out[:cap(m.out)])
	if cap(m.cand) > run.KeptScratch {
		m.order, m.spare, m.runs, m.cand, m.next, m.out = nil, nil, nil, nil, nil, nil
	}
	run.Scratch[subsetScratch[R]]().Put(&subsetScratch[R]{m.table, m.order, m.spare, m.runs, m.cand, m.next,
		m.key[:0], m.out})
	m.table, m.order, m.spare, m.runs = subsets.NewTable[R](), nil, nil, nil
	m.cand, m.next, m.key, m.out = nil, nil, nil, nil
}

// id returns the number of the subset in m.next.
func (m *subsetMachine[W, R, A]) id(parent fst.StateID, label fst.Label) fst.StateID {
	if len(m.next) == 1 && int(m.next[0].State) < len(m.table.Alone) &&
		(m.alg.equal(m.next[0].Residual, m.alg.one()) || m.compared != nil &&
			m.alike(m.next[0].Residual, m.alg.one())) {
		at := &m.table.Alone[m.next[0].State]
		if *at == 0 {
			*at = fst.StateID(m.table.Len() + 1)
			m.keep(m.table.Append(1, parent, label))
		}
		return *at - 1
	}
	p := m.table.Probe(m.hash(m.next, m.head))
	for k := p.Next(); k >= 0; k = p.Next() {
		if q := fst.StateID(k); m.same(q) {
			return q
		}
	}
	m.keep(m.table.Add(p, len(m.next), parent, label))
	return fst.StateID(m.table.Len() - 1)
}

// hash is of what same compares: the states and the residuals of a subset, and the head of one that
// has a head.
func (m *subsetMachine[W, R, A]) hash(subset []subsets.Element[R], head fst.StateID) uint32 {
	key := m.key[:0]
	if m.related != nil {
		key = append(key, byte(head), byte(head>>8), byte(head>>16), byte(head>>24))
	}
	for i := range subset {
		e := &subset[i]
		key = append(key, byte(e.State), byte(e.State>>8), byte(e.State>>16), byte(e.State>>24))
		if m.compared != nil {
			key = m.alg.appendKey(key, m.compared(e.Residual))
		} else {
			key = m.alg.appendKey(key, e.Residual)
		}
	}
	m.key = key
	return uint32(maphash.Bytes(m.table.Seed, key))
}

// keep fills the place of a new subset with m.next.
func (m *subsetMachine[W, R, A]) keep(place []subsets.Element[R]) {
	for i, e := range m.next {
		place[i] = subsets.Element[R]{State: e.State, Residual: m.alg.keep(e.Residual)}
	}
	if m.added != nil {
		m.added(place)
	}
	if m.related != nil {
		m.heads = append(m.heads, m.head)
	}
}

// same reports whether q is the subset in m.next.
func (m *subsetMachine[W, R, A]) same(q fst.StateID) bool {
	s := m.table.Of(q)
	if len(s) != len(m.next) || m.related != nil && m.heads[q] != m.head {
		return false
	}
	for i := range s {
		if s[i].State != m.next[i].State {
			return false
		}
		if a, b := s[i].Residual, m.next[i].Residual; !m.alg.equal(a, b) && (m.compared == nil || !m.alike(a, b)) {
			return false
		}
	}
	return true
}

// alike reports whether subsets that differ in these residuals alone are one.
func (m *subsetMachine[W, R, A]) alike(a, b R) bool {
	return m.alg.equal(a, b) || m.compared != nil && m.alg.equal(m.compared(a), m.compared(b))
}

// expand returns the final weight and the arcs of subset q, by increasing
// label. The arcs are valid until the next call.
//
// The order of the sums is OpenFst's: elements by state, and those of one state in the reverse of
// the order in which their arcs were met. So rounding is the same too.
func (m *subsetMachine[W, R, A]) expand(q fst.StateID) (R, []subsetArc[R], error) {
	final := m.alg.zero()
	m.alg.begin()
	m.order, m.cand, m.out, m.runs = m.order[:0], m.cand[:0], m.out[:0], m.runs[:0]
	last := uint64(0)
	subset := m.table.Of(q)
	many := m.many
	all := many != nil
	var finals []R
	ends := m.related == nil || fst.IsFinal(m.f, m.heads[q])
	warmed := m.warmed(q)
	for i := range subset {
		e := &subset[i]
		if i >= warmed {
			warmed += m.warm(q, i)
		}
		if ends && all {
			finals = append(finals, m.alg.stop(e.Residual, m.f.Final(e.State)))
		} else if ends {
			sum, ok := m.alg.plus(final, m.alg.stop(e.Residual, m.f.Final(e.State)))
			if !ok {
				return final, nil, m.conflict(q, fst.NoLabel, i, -1)
			}
			final = sum
		}
		arcs := m.f.Arcs(e.State)
		if m.since += len(arcs); m.since >= candidatesALook {
			if err := m.look(); err != nil {
				return final, nil, err
			}
		}
		if len(m.cand)+len(arcs) > run.MostArcs {
			return final, nil, m.limited(&LimitError{Limit: "arcs", Bound: int64(run.MostArcs), Cause: ErrLimit,
				Hint: run.HintArcs})
		}
		for k := range arcs {
			a := &arcs[k]
			key := subsets.Key(a.ILabel, a.NextState)
			if key <= last && len(m.order) > 0 {
				m.runs = append(m.runs, int32(len(m.order)))
			}
			last = key
			m.order = append(m.order, subsets.Candidate{Key: key, Index: int32(len(m.cand))})
			m.cand = append(m.cand, m.alg.step(e.Residual, a))
		}
	}
	if all {
		final = many.plusAll(finals)
	}
	m.work += int64(len(m.cand)) + 1
	if err := m.operandErr(); err != nil {
		return final, nil, err
	}
	if !m.alg.member(final) {
		return final, nil, &StateError{Op: m.op, State: subset[0].State, Err: ErrNotMember}
	}
	if len(m.runs) > 0 {
		m.order, m.spare = subsets.Order(m.order, m.spare, m.runs)
	}
	for lo := 0; lo < len(m.order); {
		label := m.order[lo].Label()
		hi := lo + 1
		for hi < len(m.order) && m.order[hi].Label() == label {
			hi++
		}
		if m.since += hi - lo; m.since >= candidatesALook {
			if err := m.look(); err != nil {
				return final, nil, err
			}
		}
		var err error
		if m.related == nil {
			err = m.arc(q, label, m.order[lo:hi])
		} else {
			err = m.arcsFor(q, label, m.order[lo:hi])
		}
		if err != nil {
			return final, nil, err
		}
		lo = hi
	}
	m.arcs += int64(len(m.out))
	return final, m.out, m.check()
}

// arc appends the arc of subset q with the given label, to the subset of the
// given candidates.
func (m *subsetMachine[W, R, A]) arc(q fst.StateID, label fst.Label, group []subsets.Candidate) error {
	weight := m.alg.zero()
	m.next = m.next[:0]
	many := m.many
	all := many != nil
	for i, last := 0, 0; all && i < len(group); i = last {
		var rs []R // of one state
		for last = i; last < len(group) && group[last].State() == group[i].State(); last++ {
			r := m.cand[group[last].Index]
			weight = m.alg.divisor(weight, r)
			rs = append(rs, r)
		}
		m.next = append(m.next, subsets.Element[R]{State: group[i].State(), Residual: many.plusAll(rs)})
	}
	for i, c := range group {
		if all {
			break
		}
		r := m.cand[c.Index]
		weight = m.alg.divisor(weight, r)
		if n := len(m.next); n > 0 && m.next[n-1].State == c.State() {
			sum, ok := m.alg.plus(m.next[n-1].Residual, r)
			if !ok {
				other := i - 1
				for m.alg.isZero(m.cand[group[other].Index]) {
					other-- // the sum is without it
				}
				return m.conflict(q, label, int(group[other].Index), int(c.Index))
			}
			m.next[n-1].Residual = sum
			continue
		}
		m.next = append(m.next, subsets.Element[R]{State: c.State(), Residual: r})
	}
	if !m.alg.member(weight) {
		return &StateError{Op: m.op, State: m.next[0].State, Err: ErrNotMember}
	}
	if m.alg.isZero(weight) {
		return nil // paths of weight 0̄ are none, and 0̄ divides nothing
	}
	for i := range m.next {
		r := &m.next[i].Residual
		*r = m.alg.divide(weight, *r)
		if m.factors && m.alg.vanished(*r) {
			if err := m.guard.vanished(m.op, m.table.Len()); err != nil {
				return err
			}
		}
		if m.delta != nil {
			*r = m.delta(*r)
		}
	}
	m.out = append(m.out, subsetArc[R]{label, m.id(q, label), weight})
	return nil
}

// arcsFor handles each state that the head of subset q has an arc to under the label. It appends an
// arc to the candidates that share a future with that state. The arcs of the machine are sorted by
// label, then next state.
func (m *subsetMachine[W, R, A]) arcsFor(q fst.StateID, label fst.Label, group []subsets.Candidate) error {
	arcs := m.f.Arcs(m.heads[q])
	first, _ := slices.BinarySearchFunc(arcs, label, func(e fst.Arc[W], l fst.Label) int { return cmp.Compare(e.ILabel, l) })
	last := fst.NoState
	for _, e := range arcs[first:] {
		if e.ILabel != label {
			break
		}
		if e.NextState == last {
			continue
		}
		last = e.NextState
		if m.since += len(group); m.since >= candidatesALook {
			if err := m.look(); err != nil {
				return err
			}
		}
		m.share = m.share[:0]
		for _, c := range group {
			if m.related(c.State(), last) {
				m.share = append(m.share, c)
			}
		}
		m.head = last
		if err := m.arc(q, label, m.share); err != nil {
			return err
		}
	}
	return nil
}

// check meets the limits, and from time to time looks whether the construction
// can end at all.
func (m *subsetMachine[W, R, A]) check() error {
	p := m.built()
	if err := m.meter.Check(p); err != nil {
		return m.limited(err)
	}
	if err := m.alg.failed(); err != nil {
		return m.limited(err)
	}
	if g := m.guard; g != nil && (p.States >= g.next || m.alg.bytes() >= g.nextBytes) {
		return g.look(m.op, p, m.alg.bytes(), m.work, m.drift)
	}
	return nil
}

// built is what has been made, of the state at hand too.
func (m *subsetMachine[W, R, A]) built() run.Progress {
	p := run.Progress{States: m.table.Len() + m.more, Arcs: m.arcs}
	p.Bytes = m.table.Bytes() + 4*int64(cap(m.heads)) + m.alg.bytes() +
		m.arcs*int64(unsafe.Sizeof(fst.Arc[W]{})) + int64(p.States)*24 +
		m.workBytes() + m.moreBytes + m.besides
	return p
}

// workBytes is what the work space of expand takes.
func (m *subsetMachine[W, R, A]) workBytes() int64 {
	var r R
	return int64(cap(m.order)+cap(m.spare)+cap(m.share))*int64(unsafe.Sizeof(subsets.Candidate{})) +
		4*int64(cap(m.runs)) + int64(cap(m.cand))*int64(unsafe.Sizeof(r)) +
		int64(cap(m.next))*int64(unsafe.Sizeof(subsets.Element[R]{})) +
		int64(cap(m.out))*int64(unsafe.Sizeof(subsetArc[R]{})) + int64(cap(m.key))
}

// candidatesALook is how many candidates of one subset are gone through between two looks at the
// limits. Subsets of all states, with millions of arcs, would otherwise take longer than any
// timeout.
const candidatesALook = 1 << 16

// look looks at the limits now.
func (m *subsetMachine[W, R, A]) look() error {
	m.since = 0
	if err := m.meter.CheckNow(m.built()); err != nil {
		return m.limited(err)
	}
	return nil
}

// limited is the error of a limit with the evidence for why it was met. A *LimitError without a
// name is one of this operation.
func (m *subsetMachine[W, R, A]) limited(err error) error {
	limit, ok := err.(*LimitError)
	if !ok {
		return err
	}
	if limit.Op == "" {
		limit.Op, limit.Built = m.op, Progress(m.built())
	}
	effort, timeOver := int64(1<<20), limit.Limit == "context"
	if timeOver { // no more than in proportion to what was done
		effort = min(effort, 4*m.work+1<<14)
	}
	return &DeterminizeError{Limit: limit, Twins: m.guard.evidence(m.op, effort, timeOver), Growing: m.largest()}
}

// labels returns the labels on the path by which subset q was first reached, from the subset root.
func (m *subsetMachine[W, R, A]) labels(q fst.StateID) (l []fst.Label, root fst.StateID) {
	for r := m.table.Refs[q]; r.Parent != fst.NoState; r = m.table.Refs[q] {
		l = append(l, r.Label)
		q = r.Parent
	}
	slices.Reverse(l)
	return l, q
}

// forgotten reports whether root, a subset without a parent, is another than that of the start.
// What leads to it is then not known any more.
func (m *subsetMachine[W, R, A]) forgotten(root fst.StateID) bool {
	if !m.retained {
		return false
	}
	s := m.table.Of(root)
	return len(s) != 1 || s[0].State != m.f.Start() || !m.alike(s[0].Residual, m.alg.one())
}

// largest describes the largest subset.
func (m *subsetMachine[W, R, A]) largest() *Subset {
	if m.table.Len() == 0 {
		return nil
	}
	labels, root := m.labels(m.table.Largest)
	s := &Subset{Labels: labels, Kept: m.forgotten(root), isyms: fst.InputSymbols(m.f)}
	for _, e := range m.table.Of(m.table.Largest) {
		s.States = append(s.States, e.State)
	}
	return s
}

// conflict makes the evidence when a sum does not exist: two paths with the same input labels and
// different outputs. They end with candidates i and k of subset q. For label NoLabel they end at
// elements of q: i, and an earlier one that is final.
//
// The states on the way are read again for it. Where that fails, as a machine
// computed on demand may that has dropped them since, its error is the result.
func (m *subsetMachine[W, R, A]) conflict(q fst.StateID, label fst.Label, i, k int) error {
	if err := m.operandErr(); err != nil {
		return err
	}
	if err := m.alg.failed(); err != nil {
		return m.limited(err)
	}
	e := &FunctionalError{Op: m.op, Final: label == fst.NoLabel}
	subset := m.table.Of(q)
	var left, right []int32
	var l, r subsets.Element[R] // with which they begin
	if e.Final {
		r, right = m.trace(q, subset[i].State)
		for j := range i {
			if !m.alg.isZero(m.alg.stop(subset[j].Residual, m.f.Final(subset[j].State))) {
				l, left = m.trace(q, subset[j].State)
				break
			}
		}
	} else {
		l, left = m.origin(q, subset, k)
		r, right = m.origin(q, subset, i)
	}
	if err := m.operandErr(); err != nil {
		return err
	}
	if _, root := m.labels(q); m.forgotten(root) {
		e.Kept = true
		if before, ok := any(m.alg).(interface{ outputBefore(R) []fst.Label }); ok {
			e.LeftBefore, e.RightBefore = slices.Clone(before.outputBefore(l.Residual)),
				slices.Clone(before.outputBefore(r.Residual))
		}
	}
	e.Left, e.Right = pathOf(m.f, l.State, left), pathOf(m.f, r.State, right)
	if err := m.operandErr(); err != nil {
		return err
	}
	if !e.Final {
		// Where the state leads to a final one, let both paths go there: the
		// evidence is then two outputs for one accepted string.
		if rest, ok := pathToFinal(m.f, e.Left.States[len(left)]); ok {
			e.Left = pathOf(m.f, l.State, append(left, rest...))
			e.Right = pathOf(m.f, r.State, append(right, rest...))
			e.Final = true
		}
	}
	if err := m.operandErr(); err != nil {
		return err
	}
	return e
}

// origin returns the arcs of a path to the end of candidate i of subset q, and what it begins with.
func (m *subsetMachine[W, R, A]) origin(q fst.StateID, subset []subsets.Element[R],
	i int) (subsets.Element[R], []int32) {
	for _, e := range subset {
		if n := len(m.f.Arcs(e.State)); i >= n {
			i -= n
			continue
		}
		from, arcs := m.trace(q, e.State)
		return from, append(arcs, int32(i))
	}
	return m.lost("ops: no such candidate")
}

// lost returns nothing. It is called where a path that must be there is not. That happens only when
// the machine fails while it is read again; otherwise it panics.
func (m *subsetMachine[W, R, A]) lost(what string) (subsets.Element[R], []int32) {
	if m.operandErr() == nil {
		panic(what)
	}
	return subsets.Element[R]{}, nil
}

// trace returns the arcs of a path to state s of subset q, along the labels by which q was first
// reached. The path begins at the start. Where Retain has forgotten subsets on the way, it begins
// at the element that trace returns, of a subset that was kept. While all sums exist, every such
// path has the same output.
func (m *subsetMachine[W, R, A]) trace(q fst.StateID, s fst.StateID) (subsets.Element[R], []int32) {
	var arcs []int32
	for r := m.table.Refs[q]; r.Parent != fst.NoState; r = m.table.Refs[q] {
		s = func() fst.StateID {
			for _, e := range m.table.Of(r.Parent) {
				arcsOf := m.f.Arcs(e.State)
				for k := range arcsOf {
					a := &arcsOf[k]
					if a.ILabel == r.Label && a.NextState == s && !m.alg.isZero(m.alg.step(e.Residual, a)) {
						arcs = append(arcs, int32(k))
						return e.State
					}
				}
			}
			return fst.NoState
		}()
		if s == fst.NoState {
			return m.lost("ops: no way back")
		}
		q = r.Parent
	}
	slices.Reverse(arcs)
	for _, e := range m.table.Of(q) {
		if e.State == s {
			return e, arcs
		}
	}
	return m.lost("ops: no such state")
}

func (m *subsetMachine[W, R, A]) retain(live []fst.StateID) {
	old := m.table
	m.table, m.arcs, m.retained = subsets.NewTable[R](), 0, true
	for _, q := range live {
		subset := old.Of(q)
		p := m.table.Probe(m.hash(subset, fst.NoState))
		for p.Next() >= 0 { // live subsets differ
		}
		copy(m.table.Add(p, len(subset), fst.NoState, fst.NoLabel), subset)
	}
	m.ahead = warmer[W]{f: m.ahead.f} // which was somewhere in the old pages
	m.alg.only(func(yield func(*R) bool) {
		for q := range live {
			subset := m.table.Of(fst.StateID(q))
			for i := range subset {
				if !yield(&subset[i].Residual) {
					return
				}
			}
		}
	})
}

// pathToFinal returns the arcs of a shortest path from q to a final state; it
// gives up after a million states.
func pathToFinal[W semiring.Weight[W]](f fst.Fst[W], q fst.StateID) ([]int32, bool) {
	type step struct {
		from fst.StateID
		arc  int32
	}
	via := map[fst.StateID]step{q: {from: fst.NoState}}
	queue := []fst.StateID{q}
	for head := 0; head < len(queue) && head < 1<<20; head++ {
		s := queue[head]
		if fst.IsFinal(f, s) {
			var arcs []int32
			for ; via[s].from != fst.NoState; s = via[s].from {
				arcs = append(arcs, via[s].arc)
			}
			slices.Reverse(arcs)
			return arcs, true
		}
		for k, e := range f.Arcs(s) {
			if _, seen := via[e.NextState]; !seen && !semiring.IsZero(e.Weight) {
				via[e.NextState] = step{s, int32(k)}
				queue = append(queue, e.NextState)
			}
		}
	}
	return nil, false
}
