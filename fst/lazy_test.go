package fst

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tropica-fst/tropica/semiring"
)

// copying expands the states of a machine, which are numbered as they must be.
type copying struct {
	f      Expanded[semiring.Tropical]
	failAt StateID
	calls  int
}

var errExpand = errors.New("no more")

func (c *copying) Start() (StateID, error) {
	if c.failAt == NoState {
		return 0, errExpand
	}
	return c.f.Start(), nil
}

func (c *copying) Expand(q StateID, dst []Arc[semiring.Tropical]) (semiring.Tropical, []Arc[semiring.Tropical], error) {
	c.calls++
	if q == c.failAt {
		return 0, dst, errExpand
	}
	return c.f.Final(q), append(dst, c.f.Arcs(q)...), nil
}

const noFailure = 1 << 30

// chainy returns a machine whose state q+1 is first mentioned by state q, and
// with arcs back to anywhere.
func chainy(rng *rand.Rand, n int) *Vector[semiring.Tropical] {
	v := NewVector[semiring.Tropical](n)
	v.AddStates(n)
	v.SetStart(0)
	for q := range n {
		if q+1 < n {
			v.AddArc(StateID(q), Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: StateID(q + 1)})
		}
		for range rng.IntN(6) {
			v.AddArc(StateID(q), randomArc(rng, q+1))
		}
		v.SetFinal(StateID(q), randomTropical(rng))
	}
	return v
}

// accounts fails unless the cache is what its ring and its count of bytes say.
func (l *Lazy[W]) accounts(t *testing.T) {
	t.Helper()
	ring, bytes := map[StateID]bool{}, int64(0)
	if h := l.hand; h != nil {
		for s := h; ; s = s.next {
			if s.next.prev != s || ring[s.id] || l.cache[s.id] != s {
				t.Fatalf("state %d is out of order", s.id)
			}
			ring[s.id] = true
			bytes += l.size(s)
			if s.next == h {
				break
			}
		}
	}
	held := 0
	for _, s := range l.cache {
		if s != nil {
			held++
		}
	}
	if held != len(ring) || held != l.cached || bytes != l.bytes {
		t.Fatalf("%d states in the ring, %d in the index, %d counted; %d bytes, %d counted", len(ring), held, l.cached, bytes, l.bytes)
	}
	if l.max >= 0 && l.bytes > l.max && l.cached > 1 {
		t.Fatalf("%d bytes in %d states, over the bound of %d", l.bytes, l.cached, l.max)
	}
}

func TestLazyCache(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 61))
		v := chainy(rng, 1+rng.IntN(40))
		e := &copying{f: v, failAt: noFailure}
		bound := []int64{-1, 0, 1, 300, 1000, 4000}[rng.IntN(6)]
		l := NewLazy[semiring.Tropical](e, &LazyOptions{CacheBytes: bound})
		known := l.Start() + 1
		var kept []Arc[semiring.Tropical] // a slice outlives its state in the cache
		var of StateID
		for range 300 {
			q := StateID(rng.IntN(int(known)))
			if rng.IntN(2) == 0 {
				q = known - 1
			}
			arcs := l.Arcs(q)
			if !slices.Equal(arcs, v.Arcs(q)) || l.Final(q) != v.Final(q) || !slices.Equal(kept, v.Arcs(of)) && kept != nil {
				t.Fatalf("seed %d: state %d differs", seed, q)
			}
			for _, a := range arcs {
				known = max(known, a.NextState+1)
			}
			if rng.IntN(10) == 0 {
				kept, of = arcs, q
			}
			l.accounts(t)
		}
		if bound < 0 && e.calls > v.NumStates() {
			t.Fatalf("%d states expanded %d times though nothing is dropped", v.NumStates(), e.calls)
		}
	}
}

// What reads a machine to its end tells when that was not its end, at the start already.
func TestReadersTellErrors(t *testing.T) {
	for _, failAt := range []StateID{NoState, 0, 3} {
		for name, read := range map[string]func(Fst[semiring.Tropical]) error{
			"WriteText": func(f Fst[semiring.Tropical]) error { return WriteText(io.Discard, f, nil) },
			"WriteDOT":  func(f Fst[semiring.Tropical]) error { return WriteDOT(io.Discard, f, nil) },
			"WriteD2":   func(f Fst[semiring.Tropical]) error { return WriteD2(io.Discard, f, nil) },
			"WriteSVG":  func(f Fst[semiring.Tropical]) error { return WriteSVG(io.Discard, f, nil) },
			"ToString": func(f Fst[semiring.Tropical]) error {
				_, err := ToString(f, nil)
				return err
			},
		} {
			one := FromLabels[semiring.Tropical]([]Label{1, 2, 3, 4, 5})
			l := NewLazy[semiring.Tropical](&copying{f: one, failAt: failAt}, nil)
			if err := read(l); !errors.Is(err, errExpand) {
				t.Errorf("%s of a machine that fails at state %d: error %v", name, failAt, err)
			}
		}
	}
}

func TestLazyErrors(t *testing.T) {
	v := chainy(rand.New(rand.NewPCG(1, 1)), 5)
	l := NewLazy[semiring.Tropical](&copying{f: v, failAt: 3}, nil)
	if Err(l) != nil || l.Start() != 0 {
		t.Fatal("fails before it is read")
	}
	for q := range StateID(3) {
		if !slices.Equal(l.Arcs(q), v.Arcs(q)) {
			t.Fatalf("state %d", q)
		}
	}
	if l.Arcs(3) != nil || !semiring.IsZero(l.Final(3)) || !errors.Is(Err(l), errExpand) {
		t.Fatalf("state 3: %v, %v", l.Arcs(3), Err(l))
	}
	if !slices.Equal(l.Arcs(2), v.Arcs(2)) {
		t.Fatal("what is cached stays")
	}
	if l := NewLazy[semiring.Tropical](&copying{f: v, failAt: NoState}, nil); l.Start() != NoState || !errors.Is(l.Err(), errExpand) {
		t.Fatal("an error at the start")
	}
	for _, q := range []StateID{4, NoState} {
		func() {
			defer func() {
				if s, ok := recover().(string); !ok || !strings.Contains(s, fmt.Sprintf("state %d of a machine", q)) {
					t.Fatalf("state %d, which was never mentioned, must panic: %q", q, s)
				}
			}()
			NewLazy[semiring.Tropical](&copying{f: v, failAt: noFailure}, nil).Arcs(q)
		}()
	}
}

// star leads from state 0 to n others, and counts how often each is expanded.
type star struct{ expanded []int }

func (s *star) Start() (StateID, error) { return 0, nil }

func (s *star) Expand(q StateID, dst []Arc[semiring.Tropical]) (semiring.Tropical, []Arc[semiring.Tropical], error) {
	s.expanded[q]++
	for i := range s.expanded { // all alike in size
		dst = append(dst, Arc[semiring.Tropical]{ILabel: 1, OLabel: 1, NextState: StateID(i)})
	}
	return 0, dst, nil
}

// A state that is used again and again stays in the cache while others pass through it: it has a
// second chance, where first in, first out would drop it each time round.
func TestLazySecondChance(t *testing.T) {
	const n, held = 400, 8
	s := &star{expanded: make([]int, n)}
	one := NewLazy[semiring.Tropical](s, nil)
	one.Arcs(one.Start())
	l := NewLazy[semiring.Tropical](s, &LazyOptions{CacheBytes: held * one.bytes})
	clear(s.expanded)
	l.Start()
	for q := range StateID(n) {
		l.Arcs(0)
		l.Arcs(q)
	}
	// First in, first out drops state 0 once for every held-1 others.
	if got, fifo := s.expanded[0], n/(held-1); got > 3 || fifo < 10 {
		t.Errorf("the state that is always used was expanded %d times, of %d by first in, first out", got, fifo)
	}
	for q := 1; q < n; q++ {
		if s.expanded[q] != 1 {
			t.Fatalf("state %d was expanded %d times", q, s.expanded[q])
		}
	}
	if l.cached > held {
		t.Errorf("%d states are cached, and room is for %d", l.cached, held)
	}
}

func TestLazyShared(t *testing.T) {
	v := chainy(rand.New(rand.NewPCG(2, 1)), 200)
	l := NewLazy[semiring.Tropical](&copying{f: v, failAt: noFailure}, &LazyOptions{CacheBytes: 2000})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			_ = l.Start()
			for q := range StateID(200) {
				if !slices.Equal(l.Arcs(q), v.Arcs(q)) {
					t.Errorf("goroutine %d: state %d differs", g, q)
					return
				}
			}
		})
	}
	wg.Wait()
	l.accounts(t)
}

// Learning what is known of a machine may go on beside reading it.
func TestLearnPropertiesShared(t *testing.T) {
	v := chainy(rand.New(rand.NewPCG(3, 1)), 100)
	c := NewConst[semiring.Tropical](v)
	truth, _ := Compute[semiring.Tropical](v, AllProperties)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(4, uint64(g)))
			for range 50 {
				mask := Properties(rng.Uint64()) & trinaryProperties
				if p := PropertiesOf[semiring.Tropical](v, mask); p&^truth != 0 {
					t.Errorf("vector: %x, true %x", p, truth)
				}
				if p := PropertiesOf[semiring.Tropical](c, mask); p&^truth != 0 {
					t.Errorf("const: %x, true %x", p, truth)
				}
			}
		})
	}
	wg.Wait()
}
