package ops

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// Matcher gives labels of one machine a meaning of their own in composition, on the side on which
// it is matched. That is the output side of the first machine, and the input side of the second.
// The machine must be sorted on that side, and is the one that is searched where a state has such a
// label. The other machine must not have the label there, which would be a StateError.
//
// The matchers are those of C. Allauzen, M. Riley, J. Schalkwyk, W. Skut and M. Mohri, "OpenFst: a
// general and efficient weighted finite-state transducer library", CIAA 2007, with the semantics
// of OpenFst's matcher.h.
type Matcher struct {
	Kind MatcherKind

	// Label is phi's, rho's or sigma's. Only phi may be ε: then the machine has failures
	// in the place of ε-arcs, and none of those.
	Label fst.Label

	// NoLoop has phi arcs that are loops followed like others, and so be an error. Otherwise such a
	// loop matches any label that nothing else matched, and puts it in the place of phi, as rho
	// does. Automata of Aho and Corasick have it at their start.
	NoLoop bool

	// Rewrite says whether what rho, sigma or a loop of phi matched takes the label's place on both
	// sides of an arc. By default it does if the machine is an acceptor.
	Rewrite fst.Rewrite

	// Labels are those of MatchEpsilons.
	Labels []fst.Label
}

// MatcherKind is the meaning of a Matcher's labels.
type MatcherKind uint8

const (
	// MatchPhi is failure. When no arc of a state has the wanted label, which is not ε, matching
	// follows the phi arc with its weight and looks for the label at the next state. A state that
	// is not final takes its final weight from there likewise. A state has at most one such arc.
	MatchPhi MatcherKind = iota + 1
	// MatchRho is the rest: the arcs with rho match where no other arc of the state does.
	MatchRho
	// MatchSigma is any: the arcs with sigma match every label but ε, besides those that have
	// it.
	MatchSigma
	// MatchEpsilons has several labels that are matched by nothing, as ε is, on either machine
	// whichever has the matcher.
	MatchEpsilons
)

var matcherNames = [...]string{"none", "phi", "rho", "sigma", "epsilons"}

// String returns phi, rho, sigma or epsilons.
func (k MatcherKind) String() string {
	if int(k) < len(matcherNames) {
		return matcherNames[k]
	}
	return fmt.Sprintf("MatcherKind(%d)", uint8(k))
}

// ErrMatcher reports labels that a matcher cannot match.
var ErrMatcher = errors.New("label with a meaning of its own")

func (m *Matcher) check(which string) error {
	switch {
	case m == nil:
	case m.Kind < MatchPhi || m.Kind > MatchEpsilons:
		return fmt.Errorf("ops: Compose: matcher of the %s machine: unknown kind %v", which, m.Kind)
	case m.Kind == MatchEpsilons:
		if slices.Contains(m.Labels, fst.Epsilon) {
			return fmt.Errorf("ops: Compose: matcher of the %s machine: %w: ε is matched by nothing anyway", which, ErrMatcher)
		}
	case m.Label == fst.Epsilon && m.Kind != MatchPhi:
		return fmt.Errorf("ops: Compose: matcher of the %s machine: %w: ε cannot be %v", which, ErrMatcher, m.Kind)
	}
	return nil
}

// matcherOf is the matcher that a machine's file asks for, nil if none.
func matcherOf(f any, l labels) *Matcher {
	g, ok := f.(interface{ AddOn() *fst.AddOn })
	if !ok || g.AddOn() == nil {
		return nil
	}
	data := g.AddOn().Input
	if l == outputLabels {
		data = g.AddOn().Output
	}
	if data == nil || data.Special == nil || data.Special.Label == fst.NoLabel {
		return nil
	}
	s := data.Special
	m := &Matcher{Label: s.Label, NoLoop: !s.Loop, Rewrite: s.Rewrite}
	// Files have the label on both sides, whichever it is special on.
	kind, other := g.AddOn().Type, "output_"
	if l == outputLabels {
		other = "input_"
	}
	if strings.HasPrefix(kind, other) {
		return nil
	}
	switch kind[strings.IndexByte(kind, '_')+1:] {
	case "phi":
		m.Kind = MatchPhi
	case "rho":
		m.Kind = MatchRho
	case "sigma":
		m.Kind = MatchSigma
	default:
		return nil
	}
	return m
}

// matcherSide is an operand with its matcher.
type matcherSide[W semiring.Weight[W]] struct {
	side[W]
	m        *Matcher // nil is none
	both     bool     // rewrite both labels
	epsilons []fst.Label
	name     string // for messages
}

func newMatcherSide[W semiring.Weight[W]](of side[W], m *Matcher) matcherSide[W] {
	s := matcherSide[W]{side: of, m: m, name: "first machine"}
	if of.labels == inputLabels {
		s.name = "second machine"
	}
	if m == nil {
		return s
	}
	switch m.Rewrite {
	case fst.RewriteAlways:
		s.both = true
	case fst.RewriteAuto:
		if _, ok := of.f.(fst.Expanded[W]); ok {
			s.both = fst.PropertiesOf(of.f, fst.Acceptor).Has(fst.Acceptor)
		} else {
			s.both = of.known.Has(fst.Acceptor)
		}
	}
	return s
}

// special reports whether one of the arcs has phi, rho or sigma.
func (s *matcherSide[W]) special(arcs []fst.Arc[W], sorted bool) bool {
	if s.m == nil || s.m.Kind == MatchEpsilons {
		return false
	}
	if !sorted {
		return slices.ContainsFunc(arcs, func(e fst.Arc[W]) bool { return label(&e, s.labels) == s.m.Label })
	}
	k := bisect(arcs, s.labels, s.m.Label)
	return k < len(arcs) && label(&arcs[k], s.labels) == s.m.Label
}

// waits reports whether nothing matches l, as ε.
func (s *matcherSide[W]) waits(l fst.Label) bool {
	if l == fst.Epsilon {
		return true
	}
	_, ok := slices.BinarySearch(s.epsilons, l)
	return ok
}

// of is side.of, where labels that nothing matches count as ε, and failures by ε do not.
func (s *matcherSide[W]) of(q fst.StateID, arcs []fst.Arc[W]) sideInfo {
	if len(s.epsilons) == 0 && !s.failsByEpsilon() {
		return s.side.of(q, arcs)
	}
	if x := s.kept(q); x != 0 {
		return x
	}
	x := s.side.of(q, arcs)
	waiting := 0
	for i := range arcs {
		if l := label(&arcs[i], s.labels); s.waits(l) && !(l == fst.Epsilon && s.failsByEpsilon()) {
			waiting++
		}
	}
	x &^= sideNoEps | sideAllEps
	if waiting == 0 {
		x |= sideNoEps
	}
	if waiting == len(arcs) && !fst.IsFinal(s.f, q) {
		x |= sideAllEps
	}
	s.keep(q, x)
	return x
}

// alone appends the arcs of a state that nothing matches: those of other labels than ε first.
func (s *matcherSide[W]) alone(arcs []fst.Arc[W], dst []fst.Arc[W]) []fst.Arc[W] {
	for _, l := range s.epsilons {
		dst = append(dst, equalTo(arcs, s.labels, l)...)
	}
	return append(dst, s.epsilonArcs(arcs)...)
}

// failsByEpsilon reports whether ε is phi.
func (s *matcherSide[W]) failsByEpsilon() bool {
	return s.m != nil && s.m.Kind == MatchPhi && s.m.Label == fst.Epsilon
}

// epsilonArcs returns the ε-arcs of arcs in order, none where ε is phi.
func (s *matcherSide[W]) epsilonArcs(arcs []fst.Arc[W]) []fst.Arc[W] {
	if s.failsByEpsilon() {
		return nil
	}
	return equalTo(arcs, s.labels, fst.Epsilon)
}

// equalTo returns the arcs with label l, of arcs in order.
func equalTo[W any](arcs []fst.Arc[W], side labels, l fst.Label) []fst.Arc[W] {
	k := bisect(arcs, side, l)
	end := k
	for end < len(arcs) && label(&arcs[end], side) == l {
		end++
	}
	return arcs[k:end]
}

func (s *matcherSide[W]) fail(q fst.StateID, format string, args ...any) error {
	return &StateError{Op: "Compose", State: q, Err: fmt.Errorf("%s: "+format+": %w", append(append([]any{s.name}, args...), ErrMatcher)...)}
}

// sortedArcs are the arcs of a state, checked to be in order.
func (s *matcherSide[W]) sortedArcs(q fst.StateID) ([]fst.Arc[W], error) {
	arcs := s.f.Arcs(q)
	if err := s.err(); err != nil {
		return nil, err
	}
	if s.of(q, arcs)&sideSorted == 0 {
		return nil, s.unsorted(q)
	}
	return arcs, nil
}

// find appends what matches label l at state q, whose arcs are given, and which is no ε. Arcs with
// labels put in their place, and the weights of failures before.
func (s *matcherSide[W]) find(q fst.StateID, arcs []fst.Arc[W], l fst.Label, dst []fst.Arc[W]) ([]fst.Arc[W], error) {
	if s.m != nil && s.m.Kind != MatchEpsilons && l == s.m.Label {
		return dst, s.fail(q, "label %d is %v here, and the other machine has it, too", l, s.m.Kind)
	}
	found := equalTo(arcs, s.labels, l)
	if s.m == nil || s.m.Kind == MatchEpsilons {
		return append(dst, found...), nil
	}
	switch s.m.Kind {
	case MatchRho:
		if len(found) > 0 {
			return append(dst, found...), nil
		}
		return s.rewritten(equalTo(arcs, s.labels, s.m.Label), l, dst), nil
	case MatchSigma:
		return s.rewritten(equalTo(arcs, s.labels, s.m.Label), l, append(dst, found...)), nil
	}
	if len(found) > 0 {
		return append(dst, found...), nil
	}
	var weight W
	failed := false
	walk := failures[W]{s: s, q: q}
	for len(found) == 0 {
		e, err := walk.next(arcs)
		if err != nil || e == nil {
			return dst, err
		}
		if e.NextState == walk.q && !s.m.NoLoop {
			base := len(dst)
			dst = s.rewritten([]fst.Arc[W]{*e}, l, dst)
			if failed {
				dst[base].Weight = weight.Times(e.Weight)
			}
			return dst, nil
		}
		if failed {
			weight = weight.Times(e.Weight)
		} else {
			weight, failed = e.Weight, true
		}
		if arcs, err = walk.follow(e); err != nil {
			return dst, err
		}
		found = equalTo(arcs, s.labels, l)
	}
	base := len(dst)
	dst = append(dst, found...)
	for i := base; i < len(dst); i++ {
		dst[i].Weight = weight.Times(dst[i].Weight)
	}
	return dst, nil
}

// rewritten appends arcs with l in the place of the special label.
func (s *matcherSide[W]) rewritten(arcs []fst.Arc[W], l fst.Label, dst []fst.Arc[W]) []fst.Arc[W] {
	for _, e := range arcs {
		if s.labels == inputLabels || s.both && e.ILabel == s.m.Label {
			e.ILabel = l
		}
		if s.labels == outputLabels || s.both && e.OLabel == s.m.Label {
			e.OLabel = l
		}
		dst = append(dst, e)
	}
	return dst
}

// final is the final weight of q: with phi, that of the first final state that failures
// lead to, if q is not final.
func (s *matcherSide[W]) final(q fst.StateID) (W, error) {
	w := s.f.Final(q)
	if s.m == nil || s.m.Kind != MatchPhi || !semiring.IsZero(w) {
		return w, nil
	}
	walk := failures[W]{s: s, q: q}
	total := w.One()
	arcs, err := s.sortedArcs(q)
	for err == nil {
		var e *fst.Arc[W]
		e, err = walk.next(arcs)
		if err != nil || e == nil || e.NextState == walk.q && !s.m.NoLoop {
			return semiring.Zero[W](), err
		}
		total = total.Times(e.Weight)
		if arcs, err = walk.follow(e); err != nil {
			break
		}
		if w = s.f.Final(walk.q); !semiring.IsZero(w) {
			return total.Times(w), nil
		}
	}
	return semiring.Zero[W](), err
}

// failures follows phi arcs, and notices when they go in a circle. It compares the walk with one of
// its earlier states, renewed after 1, 2, 4, ... steps (R. Brent, 1980).
type failures[W semiring.Weight[W]] struct {
	s *matcherSide[W]
	q fst.StateID

	mark        fst.StateID
	steps, turn int
}

// next returns the phi arc of the state that the walk is at, nil if there is none.
func (f *failures[W]) next(arcs []fst.Arc[W]) (*fst.Arc[W], error) {
	found := equalTo(arcs, f.s.labels, f.s.m.Label)
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return &found[0], nil
	}
	return nil, f.s.fail(f.q, "%d arcs with phi (%d), where one may be", len(found), f.s.m.Label)
}

func (f *failures[W]) follow(e *fst.Arc[W]) ([]fst.Arc[W], error) {
	if f.steps == f.turn {
		f.mark, f.turn, f.steps = f.q, 2*f.turn+1, 0
	}
	f.steps++
	if e.NextState == f.mark {
		return nil, f.s.fail(f.q, "arcs with phi (%d) lead in a circle", f.s.m.Label)
	}
	f.q = e.NextState
	return f.s.sortedArcs(f.q)
}
