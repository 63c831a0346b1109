package losses

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/losses/chunks"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// SpanCosts are what errors of spans cost. The zero value counts spans that are missing or
// spurious.
type SpanCosts struct {
	// Missing is the cost of a span of the reference that the prediction lacks. Spurious is that of
	// a span of the prediction that the reference lacks. Both 0 stand for 1 each.
	Missing, Spurious float64

	// Type is the cost of a predicted span that has the ends of a span of the reference but another
	// type. 0 stands for Missing + Spurious; a negative number for no cost.
	Type float64
}

// or returns c with its defaults in place; Type is the cost itself.
func (c SpanCosts) or() SpanCosts {
	if c.Missing == 0 && c.Spurious == 0 {
		c.Missing, c.Spurious = 1, 1
	}
	switch {
	case c.Type == 0:
		c.Type = c.Missing + c.Spurious
	case c.Type < 0:
		c.Type = 0
	}
	return c
}

// Span is the number of spans that are wrong: those of the reference that y lacks, and those of y
// that the reference lacks, each with its cost. A span is a stretch of positions with a type, such
// as a chunk or a name. Symbols are labels such as B-NP, I-NP and O; package chunks has the rules,
// which are those of the conlleval script. With costs of 1 the loss is |Y| + |R| - 2 |Y∩R| for the
// sets of spans of y and of the reference, and their F1 is 1 - Span/(|Y| + |R|).
//
// The loss is exact, and has few columns: whether a span is open at a position, its type, and
// whether it may still be one of the reference. That is two more than there are types, and a sweep
// costs hardly more than one without a loss.
type Span struct {
	labels []string
	of     []spanLabel // by symbol
	types  int
	cost   SpanCosts
}

// spanLabel is what the loss knows of a label.
type spanLabel struct {
	typ       int  // -1 outside
	continues bool // goes on with an open span of its type, where there is one
	last      bool // its span ends with it
}

// NewSpan returns the loss for labels by symbol: O, or one of the prefixes B, I, E and S with a
// hyphen and a type. It is an error if a label is anything else, or a cost negative or not finite.
func NewSpan(labels []string, costs SpanCosts) (*Span, error) {
	s := &Span{labels: labels, cost: costs.or()}
	for _, x := range []float64{costs.Missing, costs.Spurious, s.cost.Type} {
		if !(x >= 0 && x <= maxCost) {
			return nil, fmt.Errorf("losses: span: cost %v is not a finite number from 0 on, of moderate size",
				x)
		}
	}
	number := map[string]int{}
	for _, name := range labels {
		tag := chunks.Parse(name)
		l := spanLabel{typ: -1}
		if !tag.Outside() {
			switch tag.Prefix {
			case "B":
			case "I":
				l.continues = true
			case "E":
				l.continues, l.last = true, true
			case "[", "]":
				l.last = true
			default:
				return nil, fmt.Errorf("losses: span: the label %q is none of O, B-x, I-x, E-x and S-x, with x "+
					"the type of a span", name)
			}
			k, ok := number[tag.Type]
			if !ok {
				k = len(number)
				number[tag.Type] = k
			}
			l.typ = k
		}
		s.of = append(s.of, l)
	}
	s.types = len(number)
	if s.types == 0 {
		return nil, errors.New("losses: span: no label belongs to a span; labels of spans are B-x, I-x, E-x and " +
			"S-x")
	}
	return s, nil
}

// stretch is a span of symbols.
type stretch struct{ from, to, typ int }

// spans finds those of a string, in order.
func (s *Span) spans(u []int) []stretch {
	var out []stretch
	open := stretch{typ: -1}
	for t, k := range u {
		l := s.of[k]
		if open.typ >= 0 && !(l.continues && l.typ == open.typ) {
			open.to = t
			out, open.typ = append(out, open), -1
		}
		if open.typ < 0 && l.typ >= 0 {
			open = stretch{from: t, typ: l.typ}
		}
		if l.last {
			open.to = t + 1
			out, open.typ = append(out, open), -1
		}
	}
	if open.typ >= 0 {
		open.to = len(u)
		out = append(out, open)
	}
	return out
}

// found is the cost of a span of y with the ends of one of the reference, less what both cost as
// errors.
func (s *Span) found(same bool) float64 {
	if same {
		return -s.cost.Missing - s.cost.Spurious
	}
	return s.cost.Type - s.cost.Missing - s.cost.Spurious
}

// mixed reports whether spans of different types may count as found.
func (s *Span) mixed() bool { return s.found(false) != 0 }

// Value returns the loss of y; +Inf when the lengths differ. O(len(y)).
func (s *Span) Value(y, ref []int) float64 {
	if len(y) != len(ref) {
		return infinity
	}
	a, b := s.spans(y), s.spans(ref)
	sum := s.cost.Spurious*float64(len(a)) + s.cost.Missing*float64(len(b))
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i].from == b[j].from && a[i].to == b[j].to:
			sum += s.found(a[i].typ == b[j].typ)
			i, j = i+1, j+1
		case a[i].to <= b[j].to:
			i++
		default:
			j++
		}
	}
	return sum
}

// Check returns the error that Machine has for a reference and shape that are meaningless.
func (s *Span) Check(ref []int, alphabet, l int) error {
	if err := checkShape(ref, alphabet, l); err != nil {
		return err
	}
	if len(ref) != l {
		return fmt.Errorf("losses: span: the reference has %d symbols, the strings %d", len(ref), l)
	}
	if alphabet > len(s.of) {
		return fmt.Errorf("losses: span: an alphabet of %d symbols, but %d labels", alphabet, len(s.of))
	}
	for j, r := range ref {
		if r >= len(s.of) {
			return fmt.Errorf("losses: span: symbol %d of the reference is %d, but there are %d labels", j, r,
				len(s.of))
		}
	}
	return nil
}

// Machine implements Loss. ref must have length l, and neither ref nor the alphabet symbols
// without a label. O(l · types · alphabet).
func (s *Span) Machine(ref []int, alphabet, l int) (*Machine, error) {
	if err := s.Check(ref, alphabet, l); err != nil {
		return nil, err
	}
	gold := s.spans(ref)
	var b Builder
	b.SetBase(s.cost.Missing * float64(len(gold)))
	nothing := stretch{typ: -1}
	before, at := nothing, nothing // the reference's spans at the positions t-1 and t
	from := s.states(true, before) // nothing is open
	for t := range l {
		for len(gold) > 0 && gold[0].to <= t {
			gold = gold[1:]
		}
		if at = nothing; len(gold) > 0 && gold[0].from <= t {
			at = gold[0]
		}
		to := s.states(t+1 == l, at)
		layer := Layer{Labels: alphabet, Columns: len(from.list)}
		for _, state := range from.list {
			for k := range alphabet {
				next, x := s.step(state, s.of[k], t, l, before, at)
				layer.Next, layer.Off = append(layer.Next, to.number(next)), append(layer.Off, b.Value(x))
			}
		}
		if err := b.Layer(layer); err != nil {
			return nil, err
		}
		before, from = at, to
	}
	return b.Finish([]uint32{b.Value(0)})
}

// spanState is a column: the type of the span that is open, -1 for none, and whether it began with
// the reference's span at the last position.
type spanState struct {
	typ   int
	found bool
}

// spanStates are the columns of a layer.
type spanStates struct {
	list []spanState
	last bool // all are one
	both int  // the first column of spans that began with the reference's; its type if not mixed
	one  bool // it is the only one
}

// states lists the columns behind a position at which the reference has the span at.
func (s *Span) states(last bool, at stretch) spanStates {
	out := spanStates{list: []spanState{{typ: -1}}, last: last}
	if last {
		return out
	}
	for k := range s.types {
		out.list = append(out.list, spanState{typ: k})
	}
	out.both, out.one = len(out.list), !s.mixed()
	for k := range s.types {
		if at.typ >= 0 && (k == at.typ || s.mixed()) {
			out.list = append(out.list, spanState{k, true})
		}
	}
	return out
}

func (c *spanStates) number(s spanState) uint32 {
	switch {
	case c.last || s.typ < 0:
		return 0
	case !s.found:
		return uint32(s.typ + 1)
	case c.one:
		return uint32(c.both)
	}
	return uint32(c.both + s.typ)
}

// step returns the state behind position t of l after a label there, and the cost of the label. The
// cost is beyond that of the reference's spans, which all count as missing at first. before and at
// are the reference's spans at t-1 and t.
func (s *Span) step(from spanState, label spanLabel, t, l int, before, at stretch) (spanState, float64) {
	cost := 0.0
	to := spanState{typ: label.typ}
	if goes := from.typ >= 0 && label.continues && label.typ == from.typ; goes {
		to.found = from.found && at == before
	} else {
		if from.found && before.to == t {
			cost += s.found(from.typ == before.typ)
		}
		if label.typ >= 0 {
			cost += s.cost.Spurious
			to.found = at.typ >= 0 && at.from == t && (label.typ == at.typ || s.mixed())
		}
	}
	if label.last || t+1 == l {
		if to.found && at.to == t+1 {
			cost += s.found(to.typ == at.typ)
		}
		to = spanState{typ: -1}
	}
	return to, cost
}

// AppendKey implements Loss.
func (s *Span) AppendKey(dst []byte) []byte {
	dst = appendFloats(append(dst, "span"...), s.cost.Missing, s.cost.Spurious, s.cost.Type)
	dst = appendInts(dst, len(s.labels))
	return append(append(dst, strings.Join(s.labels, "\x00")...), 0)
}

// Transducer returns the loss as a transducer between strings of symbols below alphabet and
// references of all labels. It has about types² states and labels arcs, squared, at each.
func (s *Span) Transducer(alphabet int) (*fst.Vector[semiring.Tropical64], error) {
	if err := s.Check(nil, alphabet, 0); err != nil {
		return nil, err
	}
	return s.transducer(upTo(alphabet), upTo(len(s.of)), ops.Limits{})
}

// Automaton is Edit.Automaton for this loss. Strings of another length than the reference are left
// out.
func (s *Span) Automaton(y fst.Expanded[semiring.Log64], ref []int, alphabet int,
	opts *GeneralOptions) (*Automaton, error) {
	ys, rs, opts, err := used(y, ref, alphabet, opts)
	if err != nil {
		return nil, err
	}
	if err := s.Check(ref, alphabet, len(ref)); err != nil {
		return nil, err
	}
	u, err := s.transducer(ys, rs, opts.Limits)
	if err != nil {
		return nil, err
	}
	return TropicalAutomaton(y, u, ref, opts)
}

// spanPair is a state of the transducer: the types of the spans that are open on both sides, -1 for
// none, and whether they began together and may still be one stretch. Then one of them, or both,
// may have ended with a label that says so.
type spanPair struct {
	y, r  int
	found bool
	same  bool // their types agree; false unless found
}

func (s *Span) transducer(ys, rs []int, lim ops.Limits) (*fst.Vector[semiring.Tropical64], error) {
	if err := checkArcs(ys, rs, 2*(s.types+1)*(s.types+1), lim); err != nil {
		return nil, err
	}
	u := fst.NewVector[semiring.Tropical64](0)
	number := map[spanPair]fst.StateID{}
	var list []spanPair
	id := func(p spanPair) fst.StateID {
		q, ok := number[p]
		if !ok {
			q = u.AddState()
			number[p], list = q, append(list, p)
			x := 0.0
			if p.found { // both end here
				x = s.found(p.same)
			}
			u.SetFinal(q, semiring.Tropical64(x))
		}
		return q
	}
	u.SetStart(id(spanPair{y: -1, r: -1}))
	for q := 0; q < len(list); q++ {
		for _, a := range ys {
			for _, b := range rs {
				to, x := s.pair(list[q], s.of[a], s.of[b])
				u.AddArc(fst.StateID(q), fst.Arc[semiring.Tropical64]{ILabel: fst.Label(a + 1),
					OLabel: fst.Label(b + 1), Weight: semiring.Tropical64(x), NextState: id(to)})
			}
		}
	}
	return u, nil
}

// pair returns the state after a label on each side, and what they cost.
func (s *Span) pair(p spanPair, a, b spanLabel) (to spanPair, cost float64) {
	goesY := p.y >= 0 && a.continues && a.typ == p.y
	goesR := p.r >= 0 && b.continues && b.typ == p.r
	if p.found && !goesY && !goesR { // both have ended at the last position, if not before it
		cost += s.found(p.same)
	}
	to = spanPair{y: a.typ, r: b.typ}
	startY, startR := a.typ >= 0 && !goesY, b.typ >= 0 && !goesR
	if startY {
		cost += s.cost.Spurious
	}
	if startR {
		cost += s.cost.Missing
	}
	switch {
	case goesY && goesR:
		to.found, to.same = p.found, p.same
	case startY && startR:
		to.same = a.typ == b.typ
		to.found = to.same || s.mixed()
	}
	if a.last {
		to.y = -1
	}
	if b.last {
		to.r = -1
	}
	if !to.found {
		to.same = false
	}
	return to, cost
}
