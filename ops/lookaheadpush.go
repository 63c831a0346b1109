package ops

import (
	"cmp"
	"errors"
	"slices"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// pushComposer is the Expander of a composition that looks ahead and pushes labels and weights to
// where they are seen. A state has a pair, the state of the ε-filter, and the weight and the label
// taken in advance. While there is such a label, the machine that looks ahead follows its own arcs
// until it comes to the label. The other one waits.
//
// The construction is the one of OpenFst's PushLabelsComposeFilter over PushWeightsComposeFilter
// over LookAheadComposeFilter, after C. Allauzen, M. Riley and J. Schalkwyk, "A generalized
// composition algorithm for weighted finite-state transducers", Interspeech 2009; states are
// numbered as it does. A weight that is taken is rounded to 1/1024, so that states meet again. What
// is divided out further on is what was taken, so that the relation does not change. (OpenFst
// rounds what it divides by alone, and so is off by up to half that for each arc.)
type pushComposer[W semiring.Weight[W]] struct {
	first  bool // the first machine looks, at the second
	looks  side[W]
	other  side[W]
	a, b   *side[W]
	filter Filter
	match  matchSide
	reach  reachability[W]

	weights, labels bool // are pushed
	divide          func(by, w W) W
	quantize        func(W) W
	one             W

	table *fst.Table[pushState]
	taken *fst.Table[string] // keys of weights that have been taken in advance
	ahead []W                // by the ids of taken
	key   []byte
	meter run.Meter
	arcs  int64
}

// pushState is a state of the result.
type pushState struct {
	pair  uint64    // triple
	taken int32     // weight
	label fst.Label // NoLabel if none
}

func hashPushState(s pushState) uint64 {
	return fst.Mix(s.pair ^ fst.Mix(uint64(s.taken)<<32|uint64(uint32(s.label))))
}

// seen is what looking ahead from a pair of states finds.
type seen[W any] struct {
	meets  bool
	weight W           // of all that is met
	prefix *fst.Arc[W] // of the other machine, if nothing else is met
}

// reachability tells what the machine that looks meets.
type reachability[W semiring.Weight[W]] interface {
	// look tells what q, a state of the machine that looks, meets at r.
	look(q, r fst.StateID, weights, labels bool) seen[W]
	// reaches tells whether q comes to label l of the other machine.
	reaches(q fst.StateID, l fst.Label) bool
	// always tells whether to look at every arc, and not only those with ε.
	always() bool
	// held is how many bytes are kept of what was learnt of the other machine, forget drops it
	// where it is much.
	held() int64
	forget()
}

// lookAheadFile is the look-ahead that a file of one of the machines asks for. As in OpenFst, it is
// the first machine's by its output labels, else the second's by its input labels.
func lookAheadFile[W semiring.Weight[W]](a, b fst.Fst[W]) (first, ok bool) {
	asks := func(f fst.Fst[W], input bool) bool {
		g, ok := f.(interface{ AddOn() *fst.AddOn })
		if !ok || g.AddOn() == nil {
			return false
		}
		x := g.AddOn()
		if x.Type == "arc_lookahead" {
			return true
		}
		data := x.Output
		if input {
			data = x.Input
		}
		return data != nil && data.Reach != nil && data.Reach.Input == input
	}
	if asks(a, false) && fst.PropertiesOf(a, fst.OLabelSorted).Has(fst.OLabelSorted) {
		return true, true
	}
	return false, asks(b, true) && fst.PropertiesOf(b, fst.ILabelSorted).Has(fst.ILabelSorted)
}

// newPushComposer makes the composer of a plan to push.
func newPushComposer[W semiring.Weight[W]](p *composePlan[W]) (*pushComposer[W], error) {
	c := &pushComposer[W]{first: p.first, filter: SequenceFilter, match: p.match, one: semiring.One[W](),
		looks: p.b, other: p.a,
		meter: p.Limits.meter("Compose"),
		table: fst.NewTable(hashPushState),
		taken: fst.NewTable[string](nil)}
	c.a, c.b = &c.other, &c.looks
	if p.first {
		c.filter = AltSequenceFilter
		c.looks, c.other = p.a, p.b
		c.a, c.b = &c.looks, &c.other
	}
	if p.byFile {
		c.weights = filesPush[W]()
		c.labels = c.weights
	} else {
		c.weights, c.labels = p.LookAhead.PushWeights, p.LookAhead.PushLabels
	}
	_, canDivide := any(c.one).(semiring.Divisible[W])
	_, canRound := any(c.one).(semiring.Quantizable[W])
	_, commutes := any(c.one).(semiring.Commutative[W])
	if c.weights && !(canDivide && canRound && commutes) {
		if !p.byFile {
			return nil, errors.New("ops: Compose: only weights that commute and can be divided and rounded can be pushed")
		}
		c.weights = false
	}
	if c.weights {
		c.divide = func(by, w W) W { return any(by).(semiring.Divisible[W]).DivideLeft(w) }
		c.quantize = func(w W) W { return any(w).(semiring.Quantizable[W]).Quantize(DefaultDelta) }
	}
	if p.byFile {
		c.reach = fileReach(c)
		return c, nil
	}
	side := LookAheadSecond
	if p.first {
		side = LookAheadFirst
	}
	l, err := newLookAhead(p, &LookAhead{Side: side})
	if err != nil {
		return nil, err
	}
	c.reach = &labelReach[W]{l: l, other: &c.other, sum: sumAhead[W]()}
	return c, nil
}

// filesPush reports whether files of look-ahead types push labels and weights: over OpenFst's arc
// types standard and log. Over others they look ahead alone, as there.
func filesPush[W semiring.Weight[W]]() bool {
	var w W
	switch any(w).(type) {
	case semiring.Tropical, semiring.Log:
		return true
	}
	return false
}

// fileReach is what the file of the machine that looks says.
func fileReach[W semiring.Weight[W]](c *pushComposer[W]) reachability[W] {
	x := c.looks.f.(interface{ AddOn() *fst.AddOn }).AddOn()
	if x.Type == "arc_lookahead" {
		return &arcReach[W]{looks: &c.looks, other: &c.other}
	}
	data := x.Input
	if c.first {
		data = x.Output
	}
	return &labelReach[W]{l: &lookAhead[W]{final: data.Reach.Final, sets: data.Reach.Sets, of: func(q fst.StateID) fst.StateID { return q }},
		other: &c.other, sum: sumAhead[W]()}
}

// sumAhead returns the sum of weights that are met ahead; any divisor would do. Weights that are
// negative logarithms are summed as probabilities, also over the tropical semiring, as in OpenFst.
// That is a better guess of what is to come, since the rest is then the same whichever way is
// taken.
func sumAhead[W semiring.Weight[W]]() func(x, y W) W {
	var w W
	switch any(w).(type) {
	case semiring.Tropical:
		return func(x, y W) W {
			return any(semiring.Tropical(semiring.Log(any(x).(semiring.Tropical)).Plus(semiring.Log(any(y).(semiring.Tropical))))).(W)
		}
	case semiring.Tropical64:
		return func(x, y W) W {
			return any(semiring.Tropical64(semiring.Log64(any(x).(semiring.Tropical64)).Plus(semiring.Log64(any(y).(semiring.Tropical64))))).(W)
		}
	}
	return func(x, y W) W { return x.Plus(y) }
}

// labelReach looks by labels: the arcs of the other machine whose labels are in the set that a
// state of the machine that looks reaches.
type labelReach[W semiring.Weight[W]] struct {
	l     *lookAhead[W]
	other *side[W]
	sum   func(x, y W) W
	known []reachState
	bytes int64 // of known
}

func (r *labelReach[W]) held() int64 { return r.bytes }

// forget drops what is known of the other machine, if it is much.
func (r *labelReach[W]) forget() {
	if r.bytes > heldAhead {
		r.known, r.bytes = nil, 0
	}
}

// reachState is what is known of a state of the other machine: its arcs in the order of their
// labels, as the machine that looks ahead numbers them.
type reachState struct {
	known  bool
	labels []fst.Label
	at     []int32
}

func (r *labelReach[W]) always() bool { return false }

// number is the label that the machine that looks has for one of the other machine; ok is false if
// it has none.
func (r *labelReach[W]) number(l fst.Label) (n fst.Label, ok bool) {
	if r.l.number == nil { // the labels of a file are those of its sets
		return l, true
	}
	n, ok = r.l.number[l]
	return n, ok
}

func (r *labelReach[W]) reaches(q fst.StateID, l fst.Label) bool {
	n, ok := r.number(l)
	return ok && inIntervals(r.l.sets[r.l.of(q)], n)
}

func (r *labelReach[W]) at(s fst.StateID, arcs []fst.Arc[W]) *reachState {
	if int(s) >= len(r.known) {
		had := cap(r.known)
		r.known = slices.Grow(r.known, int(s)+1-len(r.known))[:s+1]
		r.bytes += int64(cap(r.known)-had) * int64(unsafe.Sizeof(reachState{}))
	}
	x := &r.known[s]
	if x.known {
		return x
	}
	x.known = true
	for i := range arcs {
		l := label(&arcs[i], r.other.labels)
		if n, ok := r.number(l); ok && l != fst.Epsilon {
			x.labels, x.at = append(x.labels, n), append(x.at, int32(i))
		}
	}
	if !slices.IsSorted(x.labels) {
		order := make([]int, len(x.labels))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, k int) int { return cmp.Compare(x.labels[i], x.labels[k]) })
		labels, at := slices.Clone(x.labels), slices.Clone(x.at)
		for i, k := range order {
			labels[i], at[i] = x.labels[k], x.at[k]
		}
		x.labels, x.at = labels, at
	}
	r.bytes += 4 * int64(cap(x.labels)+cap(x.at))
	return x
}

func (r *labelReach[W]) look(q, s fst.StateID, weights, labels bool) seen[W] {
	arcs := r.other.f.Arcs(s)
	x := r.at(s, arcs)
	set := r.l.sets[r.l.of(q)]
	out := seen[W]{weight: semiring.One[W]()}
	met := 0
	var only int32
	sum := semiring.Zero[W]()
	meet := func(i int) {
		if met++; met == 1 {
			only = x.at[i]
		}
		if weights {
			if w := arcs[x.at[i]].Weight; met == 1 {
				sum = w
			} else {
				sum = r.sum(sum, w)
			}
		}
	}
	if len(set) <= len(x.labels) {
		k := 0
		for _, i := range set {
			n, _ := slices.BinarySearch(x.labels[k:], i.Begin)
			for k += n; k < len(x.labels) && x.labels[k] < i.End; k++ {
				meet(k)
			}
		}
	} else {
		for i, l := range x.labels {
			if inIntervals(set, l) {
				meet(i)
			}
		}
	}
	final := r.other.f.Final(s)
	ends := !semiring.IsZero(final) && r.l.final != fst.NoLabel && inIntervals(set, r.l.final)
	out.meets = met > 0 || ends
	if labels && met == 1 && !ends {
		out.prefix = &arcs[only]
		return out
	}
	if weights {
		switch {
		case met > 0 && ends:
			out.weight = sum.Plus(final)
		case met > 0:
			out.weight = sum
		case ends:
			out.weight = final
		}
	}
	return out
}

// arcReach looks one arc ahead on either side.
type arcReach[W semiring.Weight[W]] struct {
	looks, other *side[W]
}

func (r *arcReach[W]) always() bool { return true }
func (r *arcReach[W]) held() int64  { return 0 }
func (r *arcReach[W]) forget()      {}

func (r *arcReach[W]) reaches(q fst.StateID, l fst.Label) bool {
	return len(equalTo(r.looks.f.Arcs(q), r.looks.labels, l)) > 0
}

func (r *arcReach[W]) look(q, s fst.StateID, weights, labels bool) seen[W] {
	arcs, others := r.looks.f.Arcs(q), r.other.f.Arcs(s)
	one := semiring.One[W]()
	out := seen[W]{weight: one}
	sum, met := one, 0 // with one added, as OpenFst has it: any divisor would do
	if x, y := r.looks.f.Final(q), r.other.f.Final(s); !semiring.IsZero(x) && !semiring.IsZero(y) {
		met++
		sum = sum.Plus(x.Times(y))
	}
	if eps := equalTo(arcs, r.looks.labels, fst.Epsilon); len(eps) > 0 {
		met++
		for i := range eps {
			sum = sum.Plus(eps[i].Weight)
		}
	}
	for i := range others {
		e := &others[i]
		l := label(e, r.other.labels)
		if l == fst.Epsilon {
			met++
			sum = sum.Plus(e.Weight)
			continue
		}
		found := equalTo(arcs, r.looks.labels, l)
		for k := range found {
			met++
			sum = sum.Plus(e.Weight.Times(found[k].Weight))
			if met == 1 {
				out.prefix = e
			}
		}
	}
	out.meets = met > 0
	if met != 1 || !labels {
		out.prefix = nil
		if met > 0 && weights {
			out.weight = sum
		}
	}
	return out
}

// Start returns the pair of start states, NoState if one is missing.
func (c *pushComposer[W]) Start() (fst.StateID, error) {
	s1, s2 := c.a.f.Start(), c.b.f.Start()
	if err := errors.Join(c.a.err(), c.b.err()); err != nil || s1 == fst.NoState || s2 == fst.NoState {
		return fst.NoState, err
	}
	id, _ := c.table.ID(pushState{run.Triple(s1, s2, 0), c.take(c.one), fst.NoLabel})
	return id, nil
}

// take returns the number of a weight that is taken in advance.
func (c *pushComposer[W]) take(w W) int32 {
	c.key = w.AppendKey(c.key[:0])
	id, isNew := c.taken.ID(string(c.key))
	if isNew {
		c.ahead = append(c.ahead, w)
	}
	return int32(id)
}

// pushMove is a move of one machine: an arc, or waiting.
type pushMove[W any] struct {
	fst.Arc[W]
	waits bool
}

// Expand makes the arcs of q in OpenFst's order. First one machine waits, and then for each of its
// arcs come those of the other that match.
func (c *pushComposer[W]) Expand(q fst.StateID, dst []fst.Arc[W]) (final W, arcs []fst.Arc[W], err error) {
	key := c.table.Key(q)
	s1, s2, fs := run.Untriple(key.pair)
	arcs1, arcs2 := c.a.f.Arcs(s1), c.b.f.Arcs(s2)
	if err := errors.Join(c.a.err(), c.b.err()); err != nil {
		return semiring.Zero[W](), dst, err
	}
	x := pushExpansion[W]{c: c, key: key, s1: s1, s2: s2, fs: fs, dst: dst, base: len(dst),
		moves: c.filter.moves(fs, c.a.of(s1, arcs1), c.b.of(s2, arcs2))}
	x.alone = len(arcs1) == 1
	if !c.first {
		x.alone = len(arcs2) == 1
	}
	final = c.a.f.Final(s1)
	if !semiring.IsZero(final) {
		switch final2 := c.b.f.Final(s2); {
		case key.label != fst.NoLabel || semiring.IsZero(final2):
			final = semiring.Zero[W]()
		default:
			final = final.Times(final2)
			if c.weights {
				final = c.divide(c.ahead[key.taken], final)
			}
		}
	}
	inFirst := c.match == matchSecond || c.match == matchEither && len(arcs1) <= len(arcs2)
	in, se, inArcs, seArcs, inState, seState := c.b, c.a, arcs2, arcs1, s2, s1
	if inFirst {
		in, se, inArcs, seArcs, inState, seState = c.a, c.b, arcs1, arcs2, s1, s2
	}
	if se.of(seState, seArcs)&sideSorted == 0 {
		return final, dst, se.unsorted(seState)
	}
	pair := func(e, f pushMove[W]) error { // e of the iterated, f of the searched machine
		if inFirst {
			return x.add(e, f)
		}
		return x.add(f, e)
	}
	each := func(e pushMove[W], l fst.Label) error {
		for _, f := range equalTo(seArcs, se.labels, l) {
			if err := pair(e, pushMove[W]{Arc: f}); err != nil {
				return err
			}
		}
		return nil
	}
	waitIn := pushMove[W]{Arc: fst.Arc[W]{Weight: c.one, NextState: inState}, waits: true}
	waitSe := pushMove[W]{Arc: fst.Arc[W]{Weight: c.one, NextState: seState}, waits: true}
	// The label that has been taken counts as ε of the machine that looks.
	if key.label != fst.NoLabel && se == c.side(true) {
		if err := each(waitIn, key.label); err != nil {
			return final, x.dst, err
		}
	}
	if err := each(waitIn, fst.Epsilon); err != nil {
		return final, x.dst, err
	}
	for i := range inArcs {
		e := pushMove[W]{Arc: inArcs[i]}
		l := label(&inArcs[i], in.labels)
		switch {
		case l == fst.Epsilon:
			if err := pair(e, waitSe); err != nil {
				return final, x.dst, err
			}
			err = each(e, l)
		case l == key.label && se == c.side(false):
			err = pair(e, waitSe)
		default:
			err = each(e, l)
		}
		if err != nil {
			return final, x.dst, err
		}
	}
	// States that were looked at ahead are read here, and nowhere else if nothing meets there.
	if err := errors.Join(c.a.err(), c.b.err()); err != nil {
		return final, x.dst, err
	}
	c.arcs += int64(len(x.dst) - x.base)
	return final, x.dst, c.check(0)
}

// side is the machine that looks, or the other one.
func (c *pushComposer[W]) side(looks bool) *side[W] {
	if looks {
		return &c.looks
	}
	return &c.other
}

// pushExpansion is a state that is being expanded.
type pushExpansion[W semiring.Weight[W]] struct {
	c      *pushComposer[W]
	key    pushState
	s1, s2 fst.StateID
	fs     int8
	moves  moves
	alone  bool // the machine that looks has one arc here
	dst    []fst.Arc[W]
	base   int
	tried  int // pairs of moves since limits were looked at
}

// add appends the arc that a move of each machine makes, if the filters let it.
func (x *pushExpansion[W]) add(e, f pushMove[W]) error {
	c := x.c
	if x.tried++; x.tried == checkEvery {
		x.tried = 0
		if err := c.check(len(x.dst) - x.base); err != nil {
			return err
		}
	}
	looks, other := &e, &f
	if !c.first {
		looks, other = &f, &e
	}
	next := x.key
	if x.key.label != fst.NoLabel {
		// The other machine is behind the arc with the label already, and waits.
		if !other.waits || looks.waits {
			return nil
		}
		switch l := *labelOf(&looks.Arc, c.looks.side()); {
		case l == x.key.label:
			next = pushState{run.Triple(0, 0, 0), c.take(c.one), fst.NoLabel}
		case l != fst.Epsilon:
			return nil
		case !x.alone && !c.reach.reaches(looks.NextState, x.key.label):
			return nil
		}
	} else {
		fs := int8(0)
		switch {
		case e.waits:
			fs = x.moves.alone2
		case f.waits:
			fs = x.moves.alone1
		case e.OLabel == fst.Epsilon:
			fs = x.moves.both
		}
		if fs == blocked {
			return nil
		}
		silent := !looks.waits && *labelOf(&looks.Arc, c.looks.side()) == fst.Epsilon
		ahead := seen[W]{weight: c.one}
		if silent || c.reach.always() {
			if ahead = c.reach.look(looks.NextState, other.NextState, c.weights, c.labels); !ahead.meets {
				return nil
			}
		}
		next = pushState{run.Triple(0, 0, fs), 0, fst.NoLabel}
		taken := c.one
		if c.weights {
			if semiring.IsZero(ahead.weight) {
				return nil
			}
			if taken = c.quantize(ahead.weight); !taken.Member() || semiring.IsZero(taken) {
				taken = ahead.weight
			}
			f.Weight = c.divide(c.ahead[x.key.taken], f.Weight.Times(taken))
		}
		next.taken = c.take(taken)
		if p := ahead.prefix; p != nil && *labelOf(&other.Arc, 1-c.other.side()) == fst.Epsilon {
			other.ILabel, other.OLabel, other.NextState = p.ILabel, p.OLabel, p.NextState
			other.Weight = other.Weight.Times(p.Weight)
			next.label = *labelOf(&other.Arc, c.other.side())
		}
	}
	_, _, fs := run.Untriple(next.pair)
	next.pair = run.Triple(e.NextState, f.NextState, fs)
	id, _ := c.table.ID(next)
	x.dst = append(x.dst, fst.Arc[W]{ILabel: e.ILabel, OLabel: f.OLabel, Weight: e.Weight.Times(f.Weight), NextState: id})
	return nil
}

// side is the side of the labels that are matched.
func (s *side[W]) side() Side {
	if s.labels == inputLabels {
		return Input
	}
	return Output
}

// check compares with the limits what has been built, with n arcs of the state at hand.
func (c *pushComposer[W]) check(n int) error {
	p := run.SizeOf[W](c.table.Len(), c.arcs+int64(n))
	p.Bytes += c.table.Bytes() + c.taken.Bytes() + c.reach.held()
	return c.meter.Check(p)
}

// Tuple returns the pair of states that make state q.
func (c *pushComposer[W]) Tuple(q fst.StateID) (s1, s2 fst.StateID) {
	s1, s2, _ = run.Untriple(c.table.Key(q).pair)
	return s1, s2
}

var _ fst.Retainer = (*pushComposer[semiring.Tropical])(nil)

// Retain forgets all states but live.
func (c *pushComposer[W]) Retain(live []fst.StateID) {
	old, weights := c.table, c.ahead
	c.table, c.taken, c.ahead, c.arcs = fst.NewTable(hashPushState), fst.NewTable[string](nil), nil, 0
	for _, q := range live {
		s := old.Key(q)
		s.taken = c.take(weights[s.taken])
		c.table.ID(s)
	}
	c.reach.forget()
}
