package losses

import (
	"context"
	"errors"
	"fmt"

	"github.com/tropica-fst/tropica/losses/internal/align"
)

// Expansions are the label lists of an input, position by position. Expansions[t][k] is the string
// that label k of position t spells, which may be empty. Symbols are any ints.
type Expansions [][][]int

// EditCosts are the costs of an edit distance between a string and a reference,
// in units of the caller's choice.
type EditCosts struct {
	Insert     int // a reference symbol that has no counterpart in the string
	Delete     int // a symbol of the string that has no counterpart in the reference
	Substitute int // two different symbols
	Match      int // two equal symbols
}

// UnitCosts are those of the Levenshtein distance.
var UnitCosts = EditCosts{Insert: 1, Delete: 1, Substitute: 1}

// ErrEdgeBudget reports a loss machine that outgrew its budget.
var ErrEdgeBudget = errors.New("the loss machine of expansions exceeds its budget")

// EdgeBudgetError says how far a loss machine had come when its budget was
// spent. Restrict the lists of labels, shorten the input or raise the budget.
type EdgeBudgetError struct {
	Edges     int   // edges allowed; 0 when it was the bytes that ran out
	Bytes     int64 // bytes allowed; 0 when it was the edges that ran out
	Position  int   // the position that was being built
	Positions int   // of how many
	Columns   int   // columns built
}

func (e *EdgeBudgetError) Error() string {
	what := fmt.Sprintf("%d column edges", e.Edges)
	if e.Bytes > 0 {
		what = fmt.Sprintf("%d bytes", e.Bytes)
	}
	return fmt.Sprintf("losses: loss machine of expansions: more than %s at position %d of %d (%d columns "+
		"so far); "+
		"offer fewer labels a position or raise the budget", what, e.Position, e.Positions, e.Columns)
}

func (e *EdgeBudgetError) Unwrap() error { return ErrEdgeBudget }

// ExpandOptions adjusts an ExpandBuilder; the zero value is right for most.
type ExpandOptions struct {
	Costs *EditCosts // nil is UnitCosts
	// budget of column edges (columns times classes of labels) before minimization; 0 is none
	MaxEdges   int
	MaxBytes   int64 // budget of memory while building; 0 is DefaultBytes, negative is none
	NoClamp    bool  // keep columns as they are: exact too, and larger by orders of magnitude
	NoMinimize bool  // keep the clamped columns
	Ctx        context.Context
}

// ExpandStats counts what a build did.
type ExpandStats struct {
	Built   int // columns before minimization, first and last included
	Edges   int // their edges, one for each class of labels
	Columns int // columns of the result
}

// An ExpandBuilder builds loss machines of expansions, for the edit distance (Build) and for
// n-grams (BuildNGram). It keeps its working memory from one build to the next. This matters when
// machines are small and many: words take 10 to 1000 µs each. It is not safe for concurrent use;
// its zero value is ready.
type ExpandBuilder struct {
	Stats ExpandStats // of the last build

	b    align.Expander
	arcs [2][]uint32
}

// Build returns the loss machine of labels against ref. Its strings are the choices of one label a
// position. The loss of a string is the edit distance of its expansion and ref, exactly. A position
// without labels leaves no string.
//
// The cost is O(edges · m) for unit costs and m ≤ 64, some 80 ns an edge at m = 6. In general it is
// O(edges · m · kmax), where the number of columns may double with every position: MaxEdges and
// MaxBytes bound it. The machine depends only on the arguments, so it serves any number of
// evaluations.
//
// Errors: *EdgeBudgetError, the context's error, costs out of range.
func (b *ExpandBuilder) Build(ref []int, labels Expansions, opts *ExpandOptions) (*Machine, error) {
	init, err := b.b.Build(ref, labels, opts.or())
	b.Stats = ExpandStats(b.b.Stats)
	if err != nil {
		return nil, edgeError(err)
	}
	c, err := b.b.Machine(init)
	if err != nil {
		return nil, err
	}
	return newMachine(c), nil
}

// ExpandEdit is Build of a fresh ExpandBuilder.
func ExpandEdit(ref []int, labels Expansions, opts *ExpandOptions) (*Machine, error) {
	var b ExpandBuilder
	return b.Build(ref, labels, opts)
}

// or returns the options with their defaults in place. o may be nil.
func (o *ExpandOptions) or() align.ExpandOptions {
	x := align.ExpandOptions{Costs: align.EditCosts(UnitCosts), MaxBytes: DefaultBytes}
	if o == nil {
		return x
	}
	if o.Costs != nil {
		x.Costs = align.EditCosts(*o.Costs)
	}
	if o.MaxBytes != 0 {
		x.MaxBytes = o.MaxBytes
	}
	x.MaxEdges, x.NoClamp, x.NoMinimize, x.Ctx = o.MaxEdges, o.NoClamp, o.NoMinimize, o.Ctx
	return x
}

// edgeError makes an *EdgeBudgetError of the error of a machine beyond its budget. Others stay as
// they are.
func edgeError(err error) error {
	var spent *align.Outspent
	if !errors.As(err, &spent) {
		return err
	}
	return (*EdgeBudgetError)(spent)
}
