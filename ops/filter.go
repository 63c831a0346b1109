package ops

import "fmt"

// Filter decides how the ε-moves of two composed machines interleave. Where A's output and B's
// input are both ε on some path, A can move first, or B, or both at once. Counting more than one of
// these orders multiplies the weight of the path in every semiring that is not idempotent. A filter
// keeps exactly one order, at the price of up to three copies of a pair of states.
//
// The filters are those of C. Allauzen, M. Riley and J. Schalkwyk, "A generalized
// composition algorithm for weighted finite-state transducers", Interspeech 2009,
// after F. Pereira and M. Riley, "Speech recognition by composition of weighted
// finite automata", 1997.
type Filter uint8

const (
	// AutoFilter is SequenceFilter.
	AutoFilter Filter = iota
	// SequenceFilter lets A's ε-moves go before B's. Exact in every semiring.
	SequenceFilter
	// AltSequenceFilter lets B's ε-moves go before A's. Exact in every semiring.
	AltSequenceFilter
	// MatchFilter moves both at once as long as both can, then one alone. Exact
	// in every semiring; shorter paths, and up to three filter states.
	MatchFilter
	// NoMatchFilter allows every order of single ε-moves. Exact if the semiring
	// is idempotent, or A has no output ε, or B has no input ε.
	NoMatchFilter
	// TrivialFilter allows every order and both at once. Exact as NoMatchFilter.
	TrivialFilter
	// NullFilter matches ε as if it were a symbol: neither machine moves alone.
	NullFilter
)

var filterNames = [...]string{"auto", "sequence", "alt_sequence", "match", "no_match", "trivial", "null"}

// String returns the name that OpenFst's tools give to the filter.
func (f Filter) String() string {
	if int(f) < len(filterNames) {
		return filterNames[f]
	}
	return fmt.Sprintf("Filter(%d)", uint8(f))
}

// ParseFilter returns the filter with the given name: auto, sequence,
// alt_sequence, match, no_match, trivial or null.
func ParseFilter(name string) (Filter, error) {
	for i, n := range filterNames {
		if n == name {
			return Filter(i), nil
		}
	}
	return 0, fmt.Errorf("ops: ParseFilter: unknown compose filter %q: want one of %q", name, filterNames)
}

// blocked is the successor of a filter state under a move that is not allowed.
const blocked = -1

// moves holds the filter's successor state, or blocked, for each kind of move
// from one triple of states. It depends on nothing else, so a triple's arcs are
// made without asking the filter again.
type moves struct {
	alone1 int8 // A moves on output ε, B waits
	alone2 int8 // B moves on input ε, A waits
	both   int8 // both move on ε
	// A move of both on a symbol is always allowed, and leads to filter state 0.
}

// moves returns the moves allowed at filter state fs. x and y describe the states of A (its output
// side) and B (its input side).
func (f Filter) moves(fs int8, x, y sideInfo) moves {
	switch f {
	case AltSequenceFilter:
		m := moves{alone1: 1, alone2: 0, both: blocked}
		if y&sideNoEps != 0 {
			m.alone1 = 0 // B has nothing to do before A here: no need to remember
		}
		if y&sideAllEps != 0 {
			m.alone1 = blocked // after A, B could not move or end: a dead end
		}
		if fs == 1 {
			m.alone2 = blocked
		}
		return m
	case MatchFilter:
		m := moves{alone1: blocked, alone2: blocked, both: blocked}
		switch fs {
		case 0:
			m = moves{alone1: 1, alone2: 2}
			switch {
			case y&sideNoEps != 0:
				m.alone1 = 0
			case y&sideAllEps != 0:
				m.alone1 = blocked
			}
			switch {
			case x&sideNoEps != 0:
				m.alone2 = 0
			case x&sideAllEps != 0:
				m.alone2 = blocked
			}
		case 1:
			m.alone1 = 1
		case 2:
			m.alone2 = 2
		}
		return m
	case NoMatchFilter:
		return moves{both: blocked}
	case TrivialFilter:
		return moves{}
	case NullFilter:
		return moves{alone1: blocked, alone2: blocked}
	default: // AutoFilter, SequenceFilter
		m := moves{alone1: 0, alone2: 1, both: blocked}
		if x&sideNoEps != 0 {
			m.alone2 = 0
		}
		if x&sideAllEps != 0 {
			m.alone2 = blocked
		}
		if fs != 0 {
			m.alone1 = blocked
		}
		return m
	}
}
