package transduce

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Lexicon is a set of output strings with costs: a deterministic acceptor whose labels are code
// points. It need not be finite. It is immutable.
type Lexicon struct {
	f    *fst.Vector[semiring.Tropical64]
	hash uint64
}

// Entry is a string of a lexicon.
type Entry struct {
	Word string
	Cost float64 // such as the negative logarithm of a probability
}

// NewLexicon makes the minimal acceptor of words. Of a repeated word the least cost counts. Errors:
// an empty list, a cost that is not finite. O(characters).
func NewLexicon(entries []Entry) (*Lexicon, error) {
	if len(entries) == 0 {
		return nil, fmt.Errorf("transduce: lexicon: there is no word")
	}
	sorted := slices.Clone(entries)
	slices.SortStableFunc(sorted, func(a, b Entry) int { return compareRunes(a.Word, b.Word) })
	f := fst.NewVector[semiring.Tropical64](1)
	f.AddState()
	f.SetStart(0)
	var prefix []rune
	path := []fst.StateID{0}
	for _, e := range sorted {
		if math.IsNaN(e.Cost) || math.IsInf(e.Cost, 0) {
			return nil, fmt.Errorf("transduce: lexicon: the cost of %.60q is %v", e.Word, e.Cost)
		}
		w := []rune(e.Word)
		n := 0
		for n < len(w) && n < len(prefix) && w[n] == prefix[n] {
			n++
		}
		path = path[:n+1]
		for _, r := range w[n:] {
			if r == 0 {
				return nil, fmt.Errorf("transduce: lexicon: %.60q has the character 0", e.Word)
			}
			q := f.AddState()
			f.AddArc(path[len(path)-1], fst.Arc[semiring.Tropical64]{ILabel: fst.Label(r), OLabel: fst.Label(r),
				NextState: q})
			path = append(path, q)
		}
		prefix = w
		end := path[len(path)-1]
		f.SetFinal(end, f.Final(end).Plus(semiring.Tropical64(e.Cost)))
	}
	return LexiconOf(f)
}

func compareRunes(a, b string) int { return slices.Compare([]rune(a), []rune(b)) }

// LexiconOf makes a lexicon of an acceptor whose labels are code points, and ε as 0. It is
// determinised and, where it has no cycle, minimised. Errors: a transducer, labels that are no code
// points, and machines without a deterministic equivalent.
func LexiconOf(f fst.Expanded[semiring.Tropical64]) (*Lexicon, error) {
	const most = 1 << 24
	g := ops.MapInto(f, func(w semiring.Tropical64) semiring.Tropical64 { return w })
	for q := range fst.StateID(g.NumStates()) {
		for i, e := range g.Arcs(q) {
			if e.ILabel != e.OLabel {
				return nil,
					fmt.Errorf("transduce: lexicon: arc %d of state %d reads %d and writes %d; a lexicon is an acceptor",
						i, q, e.ILabel, e.OLabel)
			}
			if e.ILabel < 0 || e.ILabel > '\U0010ffff' {
				return nil,
					fmt.Errorf("transduce: lexicon: arc %d of state %d has the label %d, which is no code point", i, q,
						e.ILabel)
			}
		}
	}
	if err := ops.RmEpsilon(g, nil); err != nil {
		return nil, fmt.Errorf("transduce: lexicon: %w", err)
	}
	d, err := ops.Determinize[semiring.Tropical64](g, &ops.DeterminizeOptions{Limits: ops.Limits{States: most}})
	if err != nil {
		return nil, fmt.Errorf("transduce: lexicon: %w", err)
	}
	if err := ops.MinimizeAcceptor(d, nil); err != nil {
		return nil, fmt.Errorf("transduce: lexicon: %w", err)
	}
	// Minimising moves costs towards the start, and what all strings share onto an arc of ε before
	// it. It goes to the ends.
	if arcs := d.Arcs(max(d.Start(), 0)); d.Start() != fst.NoState && len(arcs) == 1 &&
		arcs[0].ILabel == fst.Epsilon {
		shared := arcs[0].Weight
		d.SetStart(arcs[0].NextState)
		for q := range fst.StateID(d.NumStates()) {
			d.SetFinal(q, d.Final(q).Times(shared))
		}
		ops.Connect(d)
	}
	x := &Lexicon{f: d}
	for q := range fst.StateID(d.NumStates()) {
		arcs := slices.Clone(d.Arcs(q))
		slices.SortFunc(arcs, func(a, b fst.Arc[semiring.Tropical64]) int { return int(a.ILabel - b.ILabel) })
		d.SetArcs(q, arcs)
	}
	x.hash = x.sum()
	if d.Start() == fst.NoState {
		return nil, fmt.Errorf("transduce: lexicon: the machine accepts no string")
	}
	return x, nil
}

// States returns the number of states.
func (x *Lexicon) States() int { return x.f.NumStates() }

func (x *Lexicon) fingerprint() uint64 {
	if x == nil {
		return 0
	}
	return x.hash
}

// symbols returns the code points, with repeats.
func (x *Lexicon) symbols() []rune {
	if x == nil {
		return nil
	}
	seen := map[rune]bool{}
	for q := range fst.StateID(x.f.NumStates()) {
		for _, e := range x.f.Arcs(q) {
			seen[rune(e.ILabel)] = true
		}
	}
	return sortedKeys(seen)
}

// next returns where a character leads from a state, and its cost; NoState is nowhere.
func (x *Lexicon) next(q fst.StateID, r rune) (fst.StateID, float64) {
	if q == fst.NoState {
		return fst.NoState, 0
	}
	arcs := x.f.Arcs(q)
	i, ok := slices.BinarySearchFunc(arcs, fst.Label(r),
		func(e fst.Arc[semiring.Tropical64], l fst.Label) int { return int(e.ILabel - l) })
	if !ok {
		return fst.NoState, 0
	}
	return arcs[i].NextState, float64(arcs[i].Weight)
}

// Has reports whether a string is in the lexicon.
func (x *Lexicon) Has(word string) bool {
	q := x.f.Start()
	for _, r := range word {
		if q, _ = x.next(q, r); q == fst.NoState {
			return false
		}
	}
	return !math.IsInf(float64(x.f.Final(q)), 1)
}

// sum is a hash of the machine.
func (x *Lexicon) sum() uint64 {
	h := fnv.New64a()
	for q := range fst.StateID(x.f.NumStates()) {
		fmt.Fprintf(h, "%d %v\n", q, x.f.Final(q))
		for _, e := range x.f.Arcs(q) {
			fmt.Fprintf(h, "%d %v %d\n", e.ILabel, e.Weight, e.NextState)
		}
	}
	return h.Sum64()
}
