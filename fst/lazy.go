package fst

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tropica-fst/tropica/semiring"
)

// Expander computes a machine one state at a time. It is how every constructive operation is
// written: Lazy caches it for on-the-fly use, ops.Materialize runs it to the end. Both call it from
// one goroutine at a time, and not again after an error, which is Lazy's Err.
type Expander[W semiring.Weight[W]] interface {
	// Start returns the start state, NoState if there is none.
	Start() (StateID, error)
	// Expand returns the final weight of q and appends its arcs to dst, which it may grow.
	// States are numbered in the order in which Start and Expand first mention them; q has been
	// mentioned before. It may be asked for again, when a cache has dropped it, and has the
	// same arcs then.
	Expand(q StateID, dst []Arc[W]) (final W, arcs []Arc[W], err error)
}

// Lazy is an Fst whose states are computed by an Expander when they are first
// asked for, and kept in a cache bounded in bytes; beside it, each state that
// was ever mentioned costs 8 bytes and what the Expander remembers of it. A
// slice that Arcs returned stays valid after its state has left the cache. Retain
// frees also the 8 bytes, and what the Expander remembers, of states no longer needed.
// Safe for several goroutines, which take turns.
//
// A state may only be asked for after Start or Arcs has mentioned it.
type Lazy[W semiring.Weight[W]] struct {
	mu    sync.Mutex
	e     Expander[W]
	err   error
	start StateID
	begun bool

	cache      []*lazyState[W] // by state, nil where not cached; as long as there are states mentioned
	cached     int
	hand       *lazyState[W] // clock hand in the ring of cached states
	bytes, max int64
	scratch    []Arc[W]
	names      *renamed // of states, once some have been forgotten; else nil

	isyms, osyms *SymbolTable
	known        atomic.Uint64 // Properties
}

type lazyState[W any] struct {
	id         StateID
	used       bool // since the hand last came by
	final      W
	arcs       []Arc[W]
	next, prev *lazyState[W]
}

// LazyOptions adjusts NewLazy; nil is the same as the zero value.
type LazyOptions struct {
	CacheBytes    int64 // bound on cached states; zero is 64 MiB, negative is none
	InputSymbols  *SymbolTable
	OutputSymbols *SymbolTable
	Properties    Properties // what is known of the machine beforehand
}

// NewLazy returns the machine that e computes, state by state as it is asked for; nothing is
// computed yet. What fails later is told by Err, since Start and Arcs cannot.
func NewLazy[W semiring.Weight[W]](e Expander[W], opts *LazyOptions) *Lazy[W] {
	l := &Lazy[W]{e: e, max: 64 << 20}
	if opts != nil {
		if opts.CacheBytes != 0 {
			l.max = opts.CacheBytes
		}
		l.isyms, l.osyms = opts.InputSymbols, opts.OutputSymbols
		l.LearnProperties(opts.Properties)
	}
	return l
}

// KnownProperties returns what is known without computing a state.
func (l *Lazy[W]) KnownProperties() Properties { return Properties(l.known.Load()) }

// LearnProperties adds facts that were found out about the machine.
func (l *Lazy[W]) LearnProperties(p Properties) { l.known.Or(uint64(p)) }

// Start returns the start state, or NoState.
func (l *Lazy[W]) Start() StateID {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.begun {
		l.begun = true
		l.start, l.err = l.e.Start()
		if l.err != nil {
			l.start = NoState
		}
		if l.names != nil && l.start != NoState {
			l.start = l.names.show(l.start)
		}
		l.mention(l.start)
	}
	return l.start
}

// mention makes room for state q in the cache's index.
func (l *Lazy[W]) mention(q StateID) {
	if n := int(q) + 1; n > len(l.cache) {
		l.cache = slices.Grow(l.cache, n-len(l.cache))[:n]
	}
}

// Final returns the final weight of q, 0̄ when q is not final.
func (l *Lazy[W]) Final(q StateID) W {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state(q).final
}

// Arcs returns the arcs of q, for reading.
func (l *Lazy[W]) Arcs(q StateID) []Arc[W] {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state(q).arcs
}

// Err returns the first error of the expander. From then on states that were
// not cached have no arcs and are not final.
func (l *Lazy[W]) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// InputSymbols returns the table that names input labels, or nil.
func (l *Lazy[W]) InputSymbols() *SymbolTable { return l.isyms }

// OutputSymbols returns the table that names output labels, or nil.
func (l *Lazy[W]) OutputSymbols() *SymbolTable { return l.osyms }

func (l *Lazy[W]) state(q StateID) *lazyState[W] {
	if q < 0 || int(q) >= len(l.cache) {
		panic(fmt.Sprintf("fst: state %d of a machine that has mentioned %d states", q, len(l.cache)))
	}
	if s := l.cache[q]; s != nil {
		s.used = true
		return s
	}
	s := &lazyState[W]{id: q, used: true, final: semiring.Zero[W]()}
	if l.err != nil {
		return s
	}
	in := q
	if l.names != nil {
		if in = l.names.inner[q]; in == NoState {
			panic(fmt.Sprintf("fst: state %d of a machine that has forgotten it", q))
		}
	}
	final, arcs, err := l.e.Expand(in, l.scratch[:0])
	l.scratch = arcs
	if err != nil {
		l.err = err
		return s
	}
	if l.names != nil {
		for i := range arcs {
			arcs[i].NextState = l.names.show(arcs[i].NextState)
		}
	}
	s.final = final
	if len(arcs) > 0 {
		s.arcs = make([]Arc[W], len(arcs))
		copy(s.arcs, arcs)
		most := NoState
		for i := range arcs {
			most = max(most, arcs[i].NextState)
		}
		l.mention(most)
	}
	l.insert(s)
	return s
}

// insert puts s behind the hand, so that it is the last to be looked at, and
// frees unused states (second chance) until the cache is within its bound.
func (l *Lazy[W]) insert(s *lazyState[W]) {
	l.cache[s.id] = s
	l.cached++
	if l.hand == nil {
		s.next, s.prev = s, s
		l.hand = s
	} else {
		s.next, s.prev = l.hand, l.hand.prev
		s.prev.next, s.next.prev = s, s
	}
	l.bytes += l.size(s)
	for l.max >= 0 && l.bytes > l.max && l.cached > 1 {
		h := l.hand
		l.hand = h.next
		if h.used {
			h.used = false
			continue
		}
		h.prev.next, h.next.prev = h.next, h.prev
		l.cache[h.id] = nil
		l.cached--
		l.bytes -= l.size(h)
	}
	// Being computed is no use yet: else all states would have been used when the hand
	// comes by, those that are never asked for again too, and the oldest would go.
	s.used = false
}

// size is what a cached state holds.
func (l *Lazy[W]) size(s *lazyState[W]) int64 {
	return int64(unsafe.Sizeof(*s)) + int64(cap(s.arcs))*int64(unsafe.Sizeof(Arc[W]{}))
}
