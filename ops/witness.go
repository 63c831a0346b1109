package ops

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/square"
	"github.com/tropica-fst/tropica/semiring"
)

// Reasons for which a machine has no deterministic equivalent, or none that the
// subset construction can find.
var (
	// ErrTwins reports two states that one string reaches and that have cycles
	// with one label string but different weights (or outputs).
	ErrTwins = errors.New("the twins property does not hold")
	// ErrNotFunctional reports two outputs for one input string.
	ErrNotFunctional = errors.New("the transducer is not functional")
	// ErrAmbiguous reports two paths with the same labels.
	ErrAmbiguous = errors.New("the machine is ambiguous")
)

// Path is a path of a machine, as evidence: len(States) is one more than the
// number of arcs.
type Path struct {
	States  []fst.StateID
	ILabels []fst.Label
	OLabels []fst.Label
	Weight  string // ⊗ of the arcs, and of the final weight where the path is said to end in one

	isyms, osyms *fst.SymbolTable // of the machine, for String; nil prints numbers
}

// Output returns the output labels without epsilons.
func (p *Path) Output() []fst.Label {
	var out []fst.Label
	for _, l := range p.OLabels {
		if l != fst.Epsilon {
			out = append(out, l)
		}
	}
	return out
}

// inputText and outputText print the labels without epsilons.
func (p *Path) inputText() string  { return shortSymbols(p.isyms, withoutEpsilons(p.ILabels)) }
func (p *Path) outputText() string { return shortSymbols(p.osyms, p.Output()) }

// outputTo prints the output of the first n arcs.
func (p *Path) outputTo(n int) string {
	before := Path{OLabels: p.OLabels[:n], osyms: p.osyms}
	return before.outputText()
}

// String prints the path as states and labels: "0 -1:2-> 4 -3-> 5 / 0.5", with symbols for labels
// where the machine has them. The middle of a long path is left out.
func (p *Path) String() string {
	const ends = 12 // arcs printed at either end
	var b strings.Builder
	n := len(p.ILabels)
	for i, q := range p.States {
		if n > 2*ends && i == ends {
			fmt.Fprintf(&b, "%d … (%d arcs) … ", q, n-2*ends)
		}
		if n > 2*ends && i >= ends && i < n-ends {
			continue
		}
		fmt.Fprintf(&b, "%d", q)
		if i < n {
			in, out := symbolText(p.isyms, p.ILabels[i]), symbolText(p.osyms, p.OLabels[i])
			if p.ILabels[i] == p.OLabels[i] && in == out {
				fmt.Fprintf(&b, " -%s-> ", in)
			} else {
				fmt.Fprintf(&b, " -%s:%s-> ", in, out)
			}
		}
	}
	if p.Weight != "" {
		fmt.Fprintf(&b, " / %s", p.Weight)
	}
	return b.String()
}

// TwinsError is the evidence that a machine lacks the twins property. Both paths carry the same
// input labels, and each goes round a cycle of its own from arc number Cycle on. Each further turn
// multiplies the two weights by different factors, or appends different outputs. So the residuals
// of the two end states drift apart for ever.
type TwinsError struct {
	Op          string
	Left, Right Path
	Cycle       int // arcs before the cycles begin

	// LeftFactor and RightFactor are the weights of the two cycles, with their
	// outputs where the machine is a transducer.
	LeftFactor, RightFactor string

	// Exact is true when this proves that determinization does not end. There are three proofs. The
	// factors differ by more than rounding, and no two paths lead from the start to one state with
	// the same labels, parallel arcs counted as one. Or the cycles are the cheapest of all that
	// lead there with these labels. Or all outputs are kept, and theirs differ. Otherwise it only
	// may not end.
	Exact bool

	// Dead is true where one of the cycles leads to no final state: Connect takes it away.
	Dead bool

	// Shortest is true when it is proved that no two such paths are shorter, cycles included.
	Shortest bool

	// States is how many states a construction had when it stopped for this
	// reason; zero when none ran.
	States int
}

func (e *TwinsError) Error() string {
	how := "determinization may not end"
	if e.Exact {
		how = "determinization does not end"
	}
	if e.Op == opDisambiguate {
		how = "disambiguation may not end"
	}
	what := fmt.Sprintf("but factors %s and %s", e.LeftFactor, e.RightFactor)
	if e.LeftFactor == e.RightFactor { // what one is behind by is moved past it, and comes out another
		what = fmt.Sprintf("and both factors %s, but with outputs %s and %s on the way in, whose difference each turn changes",
			e.LeftFactor, e.Left.outputTo(e.Cycle), e.Right.outputTo(e.Cycle))
	}
	s := fmt.Sprintf("ops: %s: %v, %s: states %d and %d are reached with the same labels and go round cycles with the same labels (from arc %d on) %s: [%s] against [%s]",
		e.Op, ErrTwins, how, e.Left.States[e.Cycle], e.Right.States[e.Cycle], e.Cycle, what, e.Left.String(), e.Right.String())
	if e.Dead {
		s += "; one of these states leads to no final state, and is no obstacle once that is removed (Connect)"
	}
	if e.Op == opTwins && !e.Shortest {
		s += "; there may be a shorter way to show it"
	}
	if e.States > 0 && !e.Exact {
		s += fmt.Sprintf("; stopped at %d states; with a limit on bytes it goes on as far as that allows", e.States)
	}
	return s
}

func (e *TwinsError) Unwrap() error { return ErrTwins }

// FunctionalError is the evidence that a transducer is not functional: two
// paths with the same input and different outputs. They end in one state or,
// when Final is true, both in final states.
type FunctionalError struct {
	Op          string
	Left, Right Path
	Final       bool

	// Kept is true where a delayed determinization has forgotten how it came here
	// (fst.Lazy.Retain). The paths then do not begin at the start, but each at a state of the
	// subset that was kept. One string takes the start to both, with outputs that are the same but
	// for LeftBefore and RightBefore, which come last in them.
	Kept                    bool
	LeftBefore, RightBefore []fst.Label
}

func (e *FunctionalError) Error() string {
	where := "both in final states"
	if !e.Final {
		where = fmt.Sprintf("both in state %d", e.Left.States[len(e.Left.States)-1])
	}
	if e.Kept {
		before := func(l []fst.Label) string { return shortSymbols(e.Left.osyms, l) }
		where += fmt.Sprintf("; these come after %s and %s, which are left of the outputs of one string to states %d and %d (how it leads there has been forgotten by Retain)",
			before(e.LeftBefore), before(e.RightBefore), e.Left.States[0], e.Right.States[0])
	}
	return fmt.Sprintf("ops: %s: %v: outputs %s and %s for input %s, ending %s: [%s] against [%s]",
		e.Op, ErrNotFunctional, e.Left.outputText(), e.Right.outputText(), e.Left.inputText(), where, e.Left.String(), e.Right.String())
}

func (e *FunctionalError) Unwrap() error { return ErrNotFunctional }

// AmbiguousError is the evidence that a machine is ambiguous: two different
// accepting paths with the same labels.
type AmbiguousError struct {
	Op          string
	Left, Right Path
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("ops: %s: %v: [%s] against [%s]", e.Op, ErrAmbiguous, e.Left.String(), e.Right.String())
}

func (e *AmbiguousError) Unwrap() error { return ErrAmbiguous }

// Subset is a state of the subset construction: the input states that the
// labels reach.
type Subset struct {
	Labels []fst.Label
	States []fst.StateID
	Kept   bool // the labels lead there from a subset that Retain has kept, and not from the start

	isyms *fst.SymbolTable // for String
}

func (s *Subset) String() string {
	from := ""
	if s.Kept {
		from = " from a state that Retain has kept"
	}
	return fmt.Sprintf("labels %s%s reach a subset of %d states %v", shortSymbols(s.isyms, s.Labels), from, len(s.States), shortLabels(s.States))
}

// DeterminizeError reports that a limit stopped a determinization, with what is known about the
// reason. That is a failure of the twins property, if one was found, and the largest subset.
type DeterminizeError struct {
	Limit   *LimitError
	Twins   *TwinsError // nil when none was found
	Growing *Subset
}

func (e *DeterminizeError) Error() string {
	s := e.Limit.Error()
	if e.Twins != nil {
		s += "; " + e.Twins.Error()
	}
	if e.Growing != nil {
		s += "; largest: " + e.Growing.String()
	}
	return s
}

// Unwrap gives errors.Is and errors.As the limit and the evidence.
func (e *DeterminizeError) Unwrap() []error {
	if e.Twins != nil {
		return []error{e.Limit, e.Twins}
	}
	return []error{e.Limit}
}

// shortLabels formats a long list by its ends.
func shortLabels[L ~int32](l []L) string {
	return short(l, func(l []L) string { return fmt.Sprint(l) })
}

// short formats a long list by its ends.
func short[T any](l []T, format func([]T) string) string {
	const ends = 10
	if n := len(l); n > 2*ends {
		return fmt.Sprintf("%s … (%d) … %s", format(l[:ends]), n-2*ends, format(l[n-ends:]))
	}
	return format(l)
}

// symbolText is what a machine's table calls a label, or its number.
func symbolText(table *fst.SymbolTable, l fst.Label) string {
	if table != nil {
		if s, ok := table.Symbol(l); ok {
			return s
		}
	}
	return strconv.Itoa(int(l))
}

// shortSymbols is shortLabels with the symbols of a table; nil has none.
func shortSymbols(table *fst.SymbolTable, labels []fst.Label) string {
	return short(labels, func(labels []fst.Label) string {
		words := make([]string, len(labels))
		for i, l := range labels {
			words[i] = symbolText(table, l)
		}
		return "[" + strings.Join(words, " ") + "]"
	})
}

func withoutEpsilons(l []fst.Label) []fst.Label {
	var out []fst.Label
	for _, x := range l {
		if x != fst.Epsilon {
			out = append(out, x)
		}
	}
	return out
}

// weightText prints a weight as files have it where it has such a form.
func weightText[W any](w W) string {
	if t, ok := any(w).(interface{ AppendText([]byte) []byte }); ok {
		return string(t.AppendText(nil))
	}
	return fmt.Sprint(w)
}

// pathOf follows arcs, one index a step, from the state q, as far as they go. If a machine computed
// on demand fails meanwhile, the path ends there.
func pathOf[W semiring.Weight[W]](f fst.Fst[W], q fst.StateID, arcs []int32) Path {
	p := Path{States: []fst.StateID{q}, isyms: fst.InputSymbols(f), osyms: fst.OutputSymbols(f)}
	w := semiring.One[W]()
	for _, k := range arcs {
		out := f.Arcs(q)
		if int(k) >= len(out) && fst.Err(f) != nil {
			break
		}
		e := &out[k]
		p.ILabels, p.OLabels = append(p.ILabels, e.ILabel), append(p.OLabels, e.OLabel)
		w, q = w.Times(e.Weight), e.NextState
		p.States = append(p.States, q)
	}
	p.Weight = weightText(w)
	return p
}

// pathsOf turns steps of the square from pair 0 into the two paths of f.
func pathsOf[W semiring.Weight[W]](s *square.Square[W], steps []square.Step) (left, right Path) {
	var l, r []int32
	for _, st := range steps {
		if st.Arc.Left >= 0 {
			l = append(l, st.Arc.Left)
		}
		if st.Arc.Right >= 0 {
			r = append(r, st.Arc.Right)
		}
	}
	start := s.F.Start()
	return pathOf[W](s.F, start, l), pathOf[W](s.F, start, r)
}
