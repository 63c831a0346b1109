package fst

import "github.com/tropica-fst/tropica/semiring"

// StateID numbers a state. The states of an Expanded machine are dense from 0.
type StateID int32

// NoState is the start of a machine without states, and the answer where there
// is no state.
const NoState StateID = -1

// Label numbers a symbol. Epsilon is 0; files may hold any int32.
type Label int32

const (
	Epsilon Label = 0  // the empty string
	NoLabel Label = -1 // no label at all; never on an arc of a well-formed machine
)

// Arc is a transition. With 4-byte weights it takes 16 bytes.
type Arc[W any] struct {
	ILabel, OLabel Label
	Weight         W
	NextState      StateID
}

// Fst is a weighted transducer seen one state at a time. Vector (mutable),
// Const (flat, immutable) and Lazy (computed on demand) implement it. An
// acceptor is a transducer whose arcs all have equal labels.
type Fst[W any] interface {
	Start() StateID          // NoState when the machine is empty
	Final(q StateID) W       // 0̄ when q is not final
	Arcs(q StateID) []Arc[W] // read-only; valid until the machine changes
}

// Expanded is an Fst whose states are all known: 0 … NumStates()-1.
type Expanded[W any] interface {
	Fst[W]
	NumStates() int
}

// Symboled is implemented by machines that may carry symbol tables; nil is none.
type Symboled interface {
	InputSymbols() *SymbolTable
	OutputSymbols() *SymbolTable
}

// Propertied is implemented by machines that remember which properties they have.
type Propertied interface {
	// KnownProperties returns what is known without looking at the machine:
	// of a trinary property at most one side is set.
	KnownProperties() Properties
	// LearnProperties adds facts that were found out about the machine. It is
	// safe to call while other goroutines read the machine.
	LearnProperties(Properties)
}

// Failing is implemented by machines computed on demand, which can fail while they are read. Err
// returns the first error; from then on states have no arcs.
type Failing interface{ Err() error }

// Err returns the error of a machine that can have one, else nil.
func Err(f any) error {
	if g, ok := f.(Failing); ok {
		return g.Err()
	}
	return nil
}

// InputSymbols returns the input symbol table of f, or nil.
func InputSymbols(f any) *SymbolTable {
	if g, ok := f.(Symboled); ok {
		return g.InputSymbols()
	}
	return nil
}

// OutputSymbols returns the output symbol table of f, or nil.
func OutputSymbols(f any) *SymbolTable {
	if g, ok := f.(Symboled); ok {
		return g.OutputSymbols()
	}
	return nil
}

// NumArcs counts the arcs of f, in O(states).
func NumArcs[W any](f Expanded[W]) int {
	n := 0
	for q := range f.NumStates() {
		n += len(f.Arcs(StateID(q)))
	}
	return n
}

// IsFinal reports whether q is final.
func IsFinal[W semiring.Weight[W]](f Fst[W], q StateID) bool { return !semiring.IsZero(f.Final(q)) }
