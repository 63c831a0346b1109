package ops

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// walk compares f with want along random paths, forgetting all but the states at hand every few steps.
func walk[W semiring.Weight[W]](t *testing.T, rng *rand.Rand, f *fst.Lazy[W], want fst.Fst[W], start fst.StateID) {
	t.Helper()
	type place struct{ ours, theirs fst.StateID }
	at := []place{{f.Start(), start}}
	for range 60 {
		var next []place
		for _, p := range at {
			a, b := f.Arcs(p.ours), want.Arcs(p.theirs)
			if len(a) != len(b) || !f.Final(p.ours).Equal(want.Final(p.theirs)) {
				t.Fatalf("state %d has %d arcs, not %d, or another final weight (%v)", p.ours, len(a), len(b), f.Err())
			}
			for i := range a {
				if a[i].ILabel != b[i].ILabel || a[i].OLabel != b[i].OLabel || !a[i].Weight.Equal(b[i].Weight) {
					t.Fatalf("arc %v, not %v", a[i], b[i])
				}
				if rng.IntN(2) == 0 && len(next) < 5 {
					next = append(next, place{a[i].NextState, b[i].NextState})
				}
			}
		}
		if len(next) == 0 || rng.IntN(10) == 0 {
			next = append(next, place{f.Start(), start})
		}
		if at = next; rng.IntN(3) == 0 {
			var live []fst.StateID
			for _, p := range at {
				live = append(live, p.ours)
			}
			rng.Shuffle(len(live), func(i, k int) { live[i], live[k] = live[k], live[i] })
			if !f.Retain(live) {
				t.Fatal("cannot forget")
			}
		}
	}
}

// What is left when states are forgotten is as before.
func TestRetain(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 1))
	type W = semiring.Tropical
	for trial := range 150 {
		o := fsttest.Options{Epsilon: 0.2, Cyclic: true, Labels: 3, Start: true}
		a, b := fsttest.Random(rng, 1+rng.IntN(8), drawTropical, o), fsttest.Random(rng, 1+rng.IntN(8), drawTropical, o)
		ArcSort(a, Output)
		ArcSort(b, Input)
		for _, o := range []*ComposeOptions{{KeepDead: true}, {KeepDead: true, LookAhead: &LookAhead{PushWeights: true}},
			{KeepDead: true, LookAhead: &LookAhead{PushLabels: true, PushWeights: true}}} {
			lazy := fsttest.Must(ComposeLazy[W](a, b, o, &fst.LazyOptions{CacheBytes: int64(200 * rng.IntN(9))}))
			whole := fsttest.Must(Compose[W](a, b, o))
			if whole.Start() != fst.NoState {
				walk(t, rng, lazy, whole, whole.Start())
			}
		}
		if acceptor := fsttest.Random(rng, 1+rng.IntN(8), drawTropical, fsttest.Options{Acceptor: true, Labels: 3, Start: true}); trial%2 == 0 {
			lazy := fsttest.Must(DeterminizeLazy[W](acceptor, nil, nil))
			whole := fsttest.Must(Determinize[W](acceptor, nil))
			walk(t, rng, lazy, whole, whole.Start())
			// A machine that does not say whether it is an acceptor.
			walk(t, rng, fsttest.Must(DeterminizeLazy[W](struct{ fst.Fst[W] }{acceptor}, nil, nil)), whole, whole.Start())
		}
		transducer := fsttest.Random(rng, 1+rng.IntN(6), drawTropical, fsttest.Options{Labels: 2, Start: true})
		if whole, err := Determinize[W](transducer, &DeterminizeOptions{Type: DeterminizeDisambiguate, Limits: Limits{States: 300}}); err == nil {
			walk(t, rng, fsttest.Must(DeterminizeLazy[W](transducer, &DeterminizeOptions{Type: DeterminizeDisambiguate}, nil)), whole, whole.Start())
		}
	}
	testRetainTables(t, rng)
	lazy := fst.NewLazy[W](fsttest.Must(NewComposer[W](fst.NewVector[W](0), fst.NewVector[W](0), nil)), nil)
	if lazy.Start() != fst.NoState || !lazy.Retain(nil) || lazy.Start() != fst.NoState {
		t.Error("an empty machine has a start")
	}
}

// testRetainTables walks through the delayed forms with a table of their own beside composition and
// determinization.
func testRetainTables(t *testing.T, rng *rand.Rand) {
	type W = semiring.Tropical
	cache := func() *fst.LazyOptions { return &fst.LazyOptions{CacheBytes: int64(200 * rng.IntN(9))} }
	check := func(lazy, again *fst.Lazy[W]) {
		t.Helper()
		whole := fsttest.Must(Collect[W](again, Limits{}))
		if whole.Start() != fst.NoState {
			walk(t, rng, lazy, whole, whole.Start())
		}
	}
	for range 100 {
		a := fsttest.Random(rng, 1+rng.IntN(6), drawTropical, fsttest.Options{Epsilon: 0.2, Labels: 3, Start: true})
		b := fsttest.Random(rng, 1+rng.IntN(6), drawTropical, fsttest.Options{Epsilon: 0.2, Labels: 3, Cyclic: true})
		check(SynchronizeLazy[W](a, cache()), SynchronizeLazy[W](a, nil))
		union := func(o *fst.LazyOptions) *fst.Lazy[W] { return fsttest.Must(UnionLazy(o, fst.Fst[W](a), fst.Fst[W](b))) }
		check(union(cache()), union(nil))
		// Calls of calls: a calls b, which calls c.
		c := fsttest.Random(rng, 1+rng.IntN(4), drawTropical, fsttest.Options{Labels: 3})
		rules := []Rule[W]{{Label: 9, F: a}, {Label: 1, F: relabelled(b, 1, 8)}, {Label: 8, F: relabelled(c, 1, 7)}}
		replaced := func(o *fst.LazyOptions) *fst.Lazy[W] { return fsttest.Must(ReplaceLazy(rules, 9, nil, o)) }
		check(replaced(cache()), replaced(nil))
		factored := func(o *fst.LazyOptions) *fst.Lazy[W] {
			return fsttest.Must(FactorWeightLazy[W](a, func(w W) []Factors[W] {
				if w <= 1 {
					return nil
				}
				return []Factors[W]{{First: 1, Rest: w - 1}}
			}, nil, o))
		}
		check(factored(cache()), factored(nil))
		less := func(o *fst.LazyOptions) *fst.Lazy[W] {
			return fsttest.Must(SubtractLazy[W](Projected[W](a, Input), fsttest.String[W](1, 2), o))
		}
		check(less(cache()), less(nil))
	}
}

// relabelled is f with one output label for another.
func relabelled(f *fst.Vector[semiring.Tropical], from, to fst.Label) *fst.Vector[semiring.Tropical] {
	f = f.Clone()
	if err := Relabel(f, nil, []fst.LabelPair{{From: from, To: to}}); err != nil {
		panic(err)
	}
	return f
}

// counter is a machine whose state q has arcs to q+1 … q+k under the labels 1 … k; it ends at the last.
type counter struct{ k, last fst.StateID }

func (c counter) Start() fst.StateID { return 0 }
func (c counter) Final(q fst.StateID) semiring.Tropical {
	if q == c.last {
		return 0
	}
	return semiring.Zero[semiring.Tropical]()
}
func (c counter) Arcs(q fst.StateID) []fst.Arc[semiring.Tropical] {
	arcs := make([]fst.Arc[semiring.Tropical], 0, c.k)
	for i := range c.k {
		if q+i+1 <= c.last {
			arcs = append(arcs, fst.Arc[semiring.Tropical]{ILabel: fst.Label(i + 1), OLabel: fst.Label(i + 1), Weight: semiring.Tropical(i + 1), NextState: q + i + 1})
		}
	}
	return arcs
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A walk through a hundred thousand pairs holds what is at hand: the table of pairs is freed, too.
func TestRetainBoundsMemory(t *testing.T) {
	a := counter{2, 1 << 30}
	walkOn := func(retain bool) uint64 {
		e := fsttest.Must(NewComposer[semiring.Tropical](a, a, nil))
		lazy := fst.NewLazy[semiring.Tropical](e, &fst.LazyOptions{CacheBytes: 1 << 16})
		before := heapInUse()
		q := lazy.Start()
		most := fst.StateID(0)
		for i := range 60_000 {
			q = lazy.Arcs(q)[1].NextState
			if most = max(most, q); retain && i%1000 == 0 {
				lazy.Retain([]fst.StateID{q})
			}
		}
		held := int64(heapInUse()) - int64(before)
		if retain && most > 5000 {
			t.Errorf("states are numbered up to %d, where 1000 are held", most)
		}
		runtime.KeepAlive(lazy)
		return uint64(max(held, 0))
	}
	with, without := walkOn(true), walkOn(false)
	t.Logf("%d bytes held, %d without forgetting", with, without)
	if with > 1<<20 || without < 2<<20 {
		t.Errorf("%d bytes held, %d without forgetting", with, without)
	}
}

// Limits hold for what there is: arcs, and sets of outputs, of states that were forgotten count no more.
func TestLimitsForgetWithStates(t *testing.T) {
	type W = semiring.Tropical
	f := fst.NewVector[W](3) // which output 1 has is known one label later
	f.AddStates(3)
	f.SetStart(0)
	f.SetFinal(0, 0)
	for _, e := range []struct {
		from    fst.StateID
		in, out fst.Label
		w       W
		to      fst.StateID
	}{{0, 1, 5, 1, 1}, {0, 1, 6, 1, 2}, {1, 2, 1, 0, 0}, {2, 3, 1, 0, 0}} {
		f.AddArc(e.from, fst.Arc[W]{ILabel: e.in, OLabel: e.out, Weight: e.w, NextState: e.to})
	}
	late := fst.NewVector[W](0) // which outputs three labels have is known two labels later
	late.AddStates(7)
	late.SetStart(0)
	late.SetFinal(0, 0)
	for _, side := range []fst.StateID{0, 3} {
		for i := range fst.StateID(3) {
			from, to := side+i, side+i+1
			if i == 0 {
				from = 0
			}
			late.AddArc(from, fst.Arc[W]{ILabel: 1, OLabel: 5 + fst.Label(side), NextState: to})
		}
		late.AddArc(side+3, fst.Arc[W]{ILabel: 2 + fst.Label(side), OLabel: 1, NextState: 0})
	}
	acceptor := Projected[W](f, Input)
	g := fst.NewVector[W](1) // accepts all outputs
	g.SetStart(g.AddState())
	g.SetFinal(0, 0)
	for _, l := range []fst.Label{1, 5, 6} {
		g.AddArc(0, fst.Arc[W]{ILabel: l, OLabel: l, NextState: 0})
	}
	lim := Limits{Arcs: 100, Bytes: 1 << 16}
	for name, begin := range map[string]func() (*fst.Lazy[W], error){
		"Determinize": func() (*fst.Lazy[W], error) {
			return DeterminizeLazy[W](acceptor, &DeterminizeOptions{Limits: lim}, nil)
		},
		"Determinize transducer":   func() (*fst.Lazy[W], error) { return DeterminizeLazy[W](f, &DeterminizeOptions{Limits: lim}, nil) },
		"Determinize long strings": func() (*fst.Lazy[W], error) { return DeterminizeLazy[W](late, &DeterminizeOptions{Limits: lim}, nil) },
		"Determinize sets": func() (*fst.Lazy[W], error) {
			return DeterminizeLazy[W](f, &DeterminizeOptions{Type: DeterminizeNonFunctional, Limits: lim}, nil)
		},
		"Compose": func() (*fst.Lazy[W], error) { return ComposeLazy[W](f, g, &ComposeOptions{Limits: lim}, nil) },
		"Compose, look-ahead": func() (*fst.Lazy[W], error) {
			return ComposeLazy[W](f, g, &ComposeOptions{LookAhead: &LookAhead{}, Limits: lim}, nil)
		},
		"Compose, labels pushed": func() (*fst.Lazy[W], error) {
			return ComposeLazy[W](f, g, &ComposeOptions{LookAhead: &LookAhead{PushWeights: true, PushLabels: true}, Limits: lim}, nil)
		},
		"FactorWeight": func() (*fst.Lazy[W], error) {
			return FactorWeightLazy[W](f, FactorOne[W], &FactorWeightOptions{Limits: lim}, nil)
		},
	} {
		lazy := fsttest.Must(begin())
		q := lazy.Start()
		for i := range 20_000 {
			arcs := lazy.Arcs(q)
			if lazy.Err() != nil {
				t.Errorf("%s: stopped at state %d: %v", name, i, lazy.Err())
				break
			}
			q = arcs[0].NextState
			if i%10 == 0 && !lazy.Retain([]fst.StateID{q}) {
				t.Fatal("cannot forget")
			}
		}
	}
}

// The best path of a machine with ten million pairs of states, of which a search meets few, takes no more
// memory than these.
func TestLazySearchBoundsMemory(t *testing.T) {
	type W = semiring.Tropical
	const n = 3200 // n² pairs
	ladder := func(l fst.StateID) *fst.Vector[W] {
		v := fst.NewVector[W](n)
		v.AddStates(n)
		v.SetStart(0)
		v.SetFinal(n-1, 0)
		for q := range fst.StateID(n) {
			for k, to := range []fst.StateID{q + 1, (q + 7*l) % n, (q*5 + l) % n} {
				if to < n {
					v.AddArc(q, fst.Arc[W]{ILabel: fst.Label(k + 1), OLabel: fst.Label(k + 1), Weight: W(20 * k), NextState: to})
				}
			}
		}
		ArcSort(v, Input)
		return v
	}
	a, b := ladder(1), ladder(2)
	before := heapInUse()
	lazy := fsttest.Must(ComposeLazy[W](a, b, nil, &fst.LazyOptions{CacheBytes: 1 << 20}))
	path, err := ShortestPathLazy(lazy, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	held := int64(heapInUse()) - int64(before)
	if total, err := TotalWeight(path, nil); err != nil || total != 0 || path.NumStates() != n {
		t.Fatalf("a path of %d states and weight %v (%v)", path.NumStates(), total, err)
	}
	runtime.KeepAlive(lazy)
	if held > 8<<20 {
		t.Errorf("%d bytes held", held)
	}
}

func TestShortestDistanceLazy(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 2))
	type W = semiring.Log64
	for range 200 {
		a := fsttest.Random(rng, 1+rng.IntN(8), drawLog64, fsttest.Options{Epsilon: 0.2, Labels: 3})
		b := fsttest.Random(rng, 1+rng.IntN(8), drawLog64, fsttest.Options{Epsilon: 0.2, Labels: 3})
		ArcSort(a, Output)
		whole := fsttest.Must(Compose[W](a, b, &ComposeOptions{KeepDead: true}))
		want := fsttest.Must(ShortestDistance[W](whole, nil))
		got, err := ShortestDistanceLazy[W](fsttest.Must(ComposeLazy[W](a, b, nil, &fst.LazyOptions{CacheBytes: 1000})), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(got, want, func(x, y W) bool { return x.Near(y, 1e-5) }) {
			t.Fatalf("%v, not %v", got, want)
		}
	}
	v := fst.NewVector[semiring.Tropical](1)
	v.AddState()
	v.SetStart(0)
	v.AddArc(0, fst.Arc[semiring.Tropical]{Weight: -1})
	if _, err := ShortestDistanceLazy[semiring.Tropical](v, nil); !errors.Is(err, ErrNotClosed) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ShortestDistanceLazy[semiring.Tropical](v, &ShortestDistanceOptions{Limits: Limits{Ctx: ctx}}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A rule that calls itself has as many open calls as the walk is deep. Each Retain, of one state, leaves what the walk is
// told as it is, keeps no more than twice the calls that are open, and goes through all of them only for as many new ones.
func TestRetainOpenCalls(t *testing.T) {
	type W = semiring.Tropical
	// An arc with 1, a call of itself, and an arc with 2, before which one with 3 may lead to another call.
	f := fsttest.Must(fst.ReadText[W](strings.NewReader("0 1 1 1\n1 2 0 9\n2 3 2 2\n2 1 3 3\n0\n3\n"), nil))
	r := fsttest.Must(newReplacer("ReplaceLazy", []Rule[W]{{Label: 9, F: f}}, 9, nil))
	lazy := fst.NewLazy[W](r, &fst.LazyOptions{CacheBytes: 1})
	q, depth, calls, through := lazy.Start(), 0, 0, 0
	step := func(label fst.Label) {
		t.Helper()
		arcs, before := lazy.Arcs(q), r.stacks
		i := slices.IndexFunc(arcs, func(e fst.Arc[W]) bool { return e.ILabel == label })
		if i < 0 {
			t.Fatalf("no arc with %d at depth %d: %v (%v)", label, depth, arcs, lazy.Err())
		}
		if q = arcs[i].NextState; !lazy.Retain([]fst.StateID{q}) {
			t.Fatal("cannot forget")
		}
		if r.stacks != before {
			through += r.left
		}
		if most := 2*r.left + retainedLeast + 1; r.stacks.Len() > most || r.stacks != before && r.left > depth+2 {
			t.Fatalf("of %d calls %d are kept, %d the last time", depth, r.stacks.Len(), r.left)
		}
	}
	for range 4 {
		for depth < 2000 {
			step(1)
			step(fst.Epsilon)
			depth++
			calls++
		}
		step(fst.Epsilon) // back from a call of nothing
		depth--
		for depth > 500 {
			step(2)
			step(fst.Epsilon)
			depth--
		}
		step(3)
		step(fst.Epsilon)
		depth++
		calls++
	}
	if through > 3*calls {
		t.Errorf("%d calls were gone through for %d new ones", through, calls)
	}
	// There are as many ends as open calls.
	step(fst.Epsilon)
	for depth--; depth > 0; depth-- {
		step(2)
		step(fst.Epsilon)
	}
	if step(2); !fst.IsFinal[W](lazy, q) || len(lazy.Arcs(q)) > 0 {
		t.Error("no end after the last call")
	}
}
