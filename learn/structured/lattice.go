package structured

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/losses"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// Lattice is a finite set of strings of symbols 0 … Alphabet-1: a deterministic acyclic
// acceptor in which every state lies on a path. State 0 is the start, and arcs lead to higher
// numbers, sorted by symbol. It is immutable.
type Lattice struct {
	Alphabet int

	first []int32 // arcs of state q are first[q] … first[q+1]
	label []int32
	next  []int32
	final []bool
	// Least and most symbols from a state to the end of a string.
	short, long []int32
	tree        bool // no state is reached by two strings
	whole       bool // every string up to some length: the output space itself
}

// ErrEmpty reports a set of candidates without any string.
var ErrEmpty = errors.New("structured: there is no candidate string")

// NewLattice makes a lattice of the strings that an acyclic acceptor accepts, ignoring their
// weights. Label k+1 is symbol k, and ε is no symbol. The acceptor is determinized and minimized,
// within DefaultLatticeStates states.
func NewLattice(ctx context.Context, f fst.Expanded[semiring.Log64], alphabet int) (*Lattice, error) {
	if err := losses.CheckLattice(f); err != nil {
		return nil, fmt.Errorf("structured: lattice: %w", err)
	}
	if _, err := losses.Symbols(f, nil, alphabet); err != nil {
		return nil, fmt.Errorf("structured: lattice: %w", err)
	}
	v := fst.NewVector[semiring.Tropical64](f.NumStates())
	v.AddStates(f.NumStates())
	zero := semiring.Zero[semiring.Log64]()
	for q := range fst.StateID(f.NumStates()) {
		if !f.Final(q).Equal(zero) {
			v.SetFinal(q, 0)
		}
		for _, e := range f.Arcs(q) {
			if !e.Weight.Equal(zero) {
				v.AddArc(q, fst.Arc[semiring.Tropical64]{ILabel: e.ILabel, OLabel: e.ILabel, NextState: e.NextState})
			}
		}
	}
	if f.Start() != fst.NoState {
		v.SetStart(f.Start())
	}
	return ofMachine(ctx, v, alphabet)
}

// DefaultLatticeStates bounds the states of a lattice while it is made deterministic.
const DefaultLatticeStates = 1 << 20

// ofMachine makes a lattice of an unweighted acyclic acceptor, which it changes.
func ofMachine(ctx context.Context, v *fst.Vector[semiring.Tropical64], alphabet int) (*Lattice, error) {
	fail := func(err error) (*Lattice, error) { return nil, fmt.Errorf("structured: lattice: %w", err) }
	if err := ops.RmEpsilon(v, nil); err != nil {
		return fail(err)
	}
	d, err := ops.Determinize(v, &ops.DeterminizeOptions{
		Limits: ops.Limits{Ctx: ctx, States: DefaultLatticeStates}})
	if err != nil {
		return fail(err)
	}
	if d, err = ops.Minimize(d, nil); err != nil {
		return fail(err)
	}
	ops.Connect(d)
	if err := ops.TopSort(d); err != nil {
		return fail(err)
	}
	if d.Start() == fst.NoState {
		return nil, ErrEmpty
	}
	l := &Lattice{Alphabet: alphabet, first: []int32{0}}
	zero := semiring.Zero[semiring.Tropical64]()
	for q := range fst.StateID(d.NumStates()) {
		arcs := slices.Clone(d.Arcs(q))
		slices.SortFunc(arcs, func(a, b fst.Arc[semiring.Tropical64]) int { return int(a.ILabel) - int(b.ILabel) })
		for _, e := range arcs {
			l.label, l.next = append(l.label, int32(e.ILabel)-1), append(l.next, int32(e.NextState))
		}
		l.final = append(l.final, !d.Final(q).Equal(zero))
		l.first = append(l.first, int32(len(l.label)))
	}
	l.measure()
	return l, nil
}

// measure fills in what is known of lengths and paths.
func (l *Lattice) measure() {
	n := len(l.final)
	l.short, l.long = make([]int32, n), make([]int32, n)
	into := make([]int32, n)
	l.tree = true
	for q := n - 1; q >= 0; q-- {
		short, long := int32(math.MaxInt32), int32(0)
		if l.final[q] {
			short = 0
		}
		for e := l.first[q]; e < l.first[q+1]; e++ {
			t := l.next[e]
			short, long = min(short, l.short[t]+1), max(long, l.long[t]+1)
			if into[t]++; into[t] > 1 {
				l.tree = false
			}
		}
		l.short[q], l.long[q] = short, long
	}
}

// AllStrings is the lattice of all strings of at most length symbols: a whole output space.
func AllStrings(alphabet, length int) (*Lattice, error) {
	if alphabet < 1 || length < 0 || (length+1)*(alphabet+1) > 1<<30 {
		return nil, fmt.Errorf("structured: strings of up to %d of %d symbols", length, alphabet)
	}
	l := &Lattice{Alphabet: alphabet, first: []int32{0}, whole: true}
	for q := range length + 1 {
		if q < length {
			for a := range alphabet {
				l.label, l.next = append(l.label, int32(a)), append(l.next, int32(q+1))
			}
		}
		l.final, l.first = append(l.final, true), append(l.first, int32(len(l.label)))
	}
	l.measure()
	return l, nil
}

// WordLattice is the trie of listed strings, which may repeat. It is not minimized, so that
// lists of a million strings take O(symbols) time and some 20 bytes a symbol.
func WordLattice(words [][]int, alphabet int) (*Lattice, error) {
	if len(words) == 0 {
		return nil, ErrEmpty
	}
	sorted := slices.Clone(words)
	slices.SortFunc(sorted, slices.Compare[[]int])
	sorted = slices.CompactFunc(sorted, slices.Equal[[]int])
	for _, w := range sorted {
		for _, a := range w {
			if a < 0 || a >= alphabet {
				return nil, fmt.Errorf("structured: a candidate has symbol %d; the alphabet has %d", a, alphabet)
			}
		}
	}
	// Breadth first: the strings of a state are a range of the list, and its children's ranges
	// follow one another.
	type span struct{ from, to, depth int }
	l := &Lattice{Alphabet: alphabet, first: []int32{0}}
	queue := []span{{0, len(sorted), 0}}
	for q := 0; q < len(queue); q++ {
		s := queue[q]
		l.final = append(l.final, len(sorted[s.from]) == s.depth)
		at := s.from
		if l.final[q] {
			at++
		}
		for at < s.to {
			a, end := sorted[at][s.depth], at+1
			for end < s.to && sorted[end][s.depth] == a {
				end++
			}
			if len(queue) == math.MaxInt32 {
				return nil, fmt.Errorf("structured: a trie of more than %d states", math.MaxInt32)
			}
			l.label, l.next = append(l.label, int32(a)), append(l.next, int32(len(queue)))
			queue = append(queue, span{at, end, s.depth + 1})
			at = end
		}
		l.first = append(l.first, int32(len(l.label)))
	}
	l.measure()
	return l, nil
}

// Near is the lattice of the strings within some edits of x, of symbols below alphabet.
// allowed, if not nil, restricts them: every n-gram of a string must be one of its.
func Near(ctx context.Context, x []int, edits, alphabet int, allowed *Grams) (*Lattice, error) {
	if edits < 0 || alphabet < 1 {
		return nil, fmt.Errorf("structured: strings of %d symbols within %d edits", alphabet, edits)
	}
	if float64(len(x)+1)*(float64(edits)+1) > DefaultLatticeStates {
		return nil, fmt.Errorf("structured: %d edits of a string of %d symbols need more than %d states; ask "+
			"for fewer edits", edits, len(x), DefaultLatticeStates)
	}
	type arc = fst.Arc[semiring.Tropical64]
	n := len(x)
	v := fst.NewVector[semiring.Tropical64]((n + 1) * (edits + 1))
	v.AddStates((n + 1) * (edits + 1))
	at := func(i, e int) fst.StateID { return fst.StateID(i*(edits+1) + e) }
	add := func(from fst.StateID, a int, to fst.StateID) {
		v.AddArc(from, arc{ILabel: fst.Label(a), OLabel: fst.Label(a), NextState: to})
	}
	for i := range n + 1 {
		for e := range edits + 1 {
			q := at(i, e)
			if i == n {
				v.SetFinal(q, 0)
			}
			if i < n && x[i] >= 0 && x[i] < alphabet {
				add(q, x[i]+1, at(i+1, e))
			}
			if e == edits {
				continue
			}
			for a := range alphabet {
				add(q, a+1, at(i, e+1)) // one more symbol than x
				if i < n && a != x[i] {
					add(q, a+1, at(i+1, e+1))
				}
			}
			if i < n {
				add(q, 0, at(i+1, e+1)) // one symbol less
			}
		}
	}
	v.SetStart(at(0, 0))
	if allowed == nil {
		return ofMachine(ctx, v, alphabet)
	}
	if err := ops.RmEpsilon(v, nil); err != nil {
		return nil, fmt.Errorf("structured: lattice: %w", err)
	}
	both, err := ops.Intersect(v, allowed.machine,
		&ops.ComposeOptions{Limits: ops.Limits{Ctx: ctx, States: DefaultLatticeStates}})
	if err != nil {
		return nil, fmt.Errorf("structured: lattice: %w", err)
	}
	return ofMachine(ctx, both, alphabet)
}

// Grams are the n-grams that some strings have, with their beginnings and ends.
type Grams struct {
	machine *fst.Vector[semiring.Tropical64]
}

// NewGrams collects the n-grams of strings, n ≥ 2. A string passes if every n consecutive symbols
// of it occurred consecutively. Strings count with n-1 marks before them and one mark after.
func NewGrams(strings [][]int, n int) (*Grams, error) {
	if n < 2 || len(strings) == 0 {
		return nil, fmt.Errorf("structured: n-grams of %d symbols of %d strings: there must be strings, and "+
			"2 symbols", n, len(strings))
	}
	v := fst.NewVector[semiring.Tropical64](0)
	states := map[string]fst.StateID{}
	state := func(history []int) fst.StateID { // the last n-1 symbols
		key := string(appendSymbols(nil, history))
		q, ok := states[key]
		if !ok {
			q = v.AddState()
			states[key] = q
		}
		return q
	}
	v.SetStart(state(nil))
	seen := map[[3]int]bool{}
	for _, s := range strings {
		for i := range len(s) + 1 {
			from := state(s[max(0, i-n+1):i])
			if i == len(s) {
				v.SetFinal(from, 0)
				break
			}
			to := state(s[max(0, i-n+2) : i+1])
			if e := [3]int{int(from), s[i], int(to)}; !seen[e] {
				seen[e] = true
				v.AddArc(from, fst.Arc[semiring.Tropical64]{ILabel: fst.Label(s[i] + 1),
					OLabel: fst.Label(s[i] + 1), NextState: to})
			}
		}
	}
	ops.ArcSort(v, ops.Input)
	return &Grams{v}, nil
}

// appendSymbols appends a key of symbols.
func appendSymbols(dst []byte, s []int) []byte {
	for _, a := range s {
		dst = append(dst, byte(a), byte(a>>8), byte(a>>16), byte(a>>24))
	}
	return dst
}

// States returns the number of states.
func (l *Lattice) States() int { return len(l.final) }

// Lengths returns the lengths of the shortest and the longest string.
func (l *Lattice) Lengths() (shortest, longest int) { return int(l.short[0]), int(l.long[0]) }

// Count returns the number of strings, +Inf beyond what float64 holds.
func (l *Lattice) Count() float64 {
	n := make([]float64, len(l.final))
	for q := len(n) - 1; q >= 0; q-- {
		if l.final[q] {
			n[q] = 1
		}
		for e := l.first[q]; e < l.first[q+1]; e++ {
			n[q] += n[l.next[e]]
		}
	}
	return n[0]
}

// step returns the state after a symbol, -1 where there is none.
func (l *Lattice) step(q int32, a int) int32 {
	k, ok := slices.BinarySearch(l.label[l.first[q]:l.first[q+1]], int32(a))
	if !ok {
		return -1
	}
	return l.next[l.first[q]+int32(k)]
}

// Has reports whether a string is a candidate.
func (l *Lattice) Has(s []int) bool {
	q := int32(0)
	for _, a := range s {
		if q = l.step(q, a); q < 0 {
			return false
		}
	}
	return l.final[q]
}

// Strings calls f with every string in lexicographic order, until it returns false. f must
// not keep the string.
func (l *Lattice) Strings(f func(s []int) bool) {
	var s []int
	var visit func(q int32) bool
	visit = func(q int32) bool {
		if l.final[q] && !f(s) {
			return false
		}
		for e := l.first[q]; e < l.first[q+1]; e++ {
			s = append(s, int(l.label[e]))
			if !visit(l.next[e]) {
				return false
			}
			s = s[:len(s)-1]
		}
		return true
	}
	visit(0)
}

// Acceptor returns the lattice as a machine of the engine, label k+1 for symbol k.
func (l *Lattice) Acceptor() *fst.Vector[semiring.Log64] { return acceptor[semiring.Log64](l) }

func acceptor[W semiring.Weight[W]](l *Lattice) *fst.Vector[W] {
	one := semiring.One[W]()
	v := fst.NewVector[W](len(l.final))
	v.AddStates(len(l.final))
	v.SetStart(0)
	for q := range l.final {
		if l.final[q] {
			v.SetFinal(fst.StateID(q), one)
		}
		for e := l.first[q]; e < l.first[q+1]; e++ {
			a := fst.Label(l.label[e] + 1)
			v.AddArc(fst.StateID(q), fst.Arc[W]{ILabel: a, OLabel: a, Weight: one, NextState: fst.StateID(l.next[e])})
		}
	}
	return v
}

// exactness is what an exact search over the lattice has shown.
func (l *Lattice) exactness() Exactness {
	if l.whole {
		return ExactOverSpace
	}
	return ExactOverCandidates
}
