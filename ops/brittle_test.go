package ops_test

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// brittle is Tropical, but for a fuse: the operation at which it has burned down panics.
type brittle struct{ semiring.Tropical }

// fuse is how many operations are left; 0 is no end. With lasting, all behind that one panic, too.
var (
	fuse    atomic.Int64
	lasting atomic.Bool
)

var errBrittle = errors.New("the weights broke")

func burn() {
	if fuse.Load() > 0 && fuse.Add(-1) == 0 {
		if lasting.Load() {
			fuse.Store(1)
		}
		panic(errBrittle)
	}
}

func (a brittle) number() semiring.Tropical { burn(); return a.Tropical }

func (a brittle) Plus(b brittle) brittle         { return brittle{a.number().Plus(b.Tropical)} }
func (a brittle) Times(b brittle) brittle        { return brittle{a.number().Times(b.Tropical)} }
func (a brittle) DivideLeft(b brittle) brittle   { return brittle{a.number().DivideLeft(b.Tropical)} }
func (a brittle) DivideRight(b brittle) brittle  { return brittle{a.number().DivideRight(b.Tropical)} }
func (a brittle) Equal(b brittle) bool           { return a.number().Equal(b.Tropical) }
func (a brittle) Less(b brittle) bool            { return a.number().Less(b.Tropical) }
func (a brittle) Near(b brittle, d float64) bool { return a.number().Near(b.Tropical, d) }
func (a brittle) AppendKey(dst []byte) []byte    { return a.number().AppendKey(dst) }
func (a brittle) Quantize(delta float64) brittle { return brittle{a.number().Quantize(delta)} }
func (a brittle) Power(x float64) brittle        { return brittle{a.number().Power(x)} }
func (a brittle) Star() (brittle, bool)          { w, ok := a.number().Star(); return brittle{w}, ok }
func (a brittle) Reverse() brittle               { return a }
func (a brittle) Zero() brittle                  { return brittle{a.Tropical.Zero()} }
func (a brittle) One() brittle                   { return brittle{0} }
func (a brittle) ParseText(s string) (brittle, error) {
	w, err := a.Tropical.ParseText(s)
	return brittle{w}, err
}
func (a brittle) ParseTextFormat(s string, f semiring.TextFormat) (brittle, error) {
	w, err := a.Tropical.ParseTextFormat(s, f)
	return brittle{w}, err
}
func (a brittle) DecodeBinary(src []byte) (brittle, int, error) {
	w, n, err := a.Tropical.DecodeBinary(src)
	return brittle{w}, n, err
}

// brittleOf is a machine with the same weights.
func brittleOf(f *fst.Vector[semiring.Tropical]) *fst.Vector[brittle] {
	v := fst.NewVector[brittle](f.NumStates())
	v.AddStates(f.NumStates())
	v.SetStart(f.Start())
	for q := range fst.StateID(f.NumStates()) {
		if fst.IsFinal[semiring.Tropical](f, q) {
			v.SetFinal(q, brittle{f.Final(q)})
		}
		for _, e := range f.Arcs(q) {
			v.AddArc(q, fst.Arc[brittle]{ILabel: e.ILabel, OLabel: e.OLabel, Weight: brittle{e.Weight}, NextState: e.NextState})
		}
	}
	return v
}

// called is an operation with a result that each call computes anew.
type called struct {
	name string
	run  func() (*fst.Vector[brittle], error)
}

// recovered runs an operation and returns what it panicked with.
func recovered(run func() (*fst.Vector[brittle], error)) (value any) {
	defer func() { value = recover() }()
	_, _ = run()
	return nil
}

// burned runs an operation that panics at the n-th operation on weights.
func burned(run func() (*fst.Vector[brittle], error), n int64) (value any) {
	fuse.Store(n)
	defer fuse.Store(0)
	value = recovered(run)
	return value
}

// operations counts the operations on weights.
func operations(run func() (*fst.Vector[brittle], error)) int64 {
	const many = 1 << 40
	fuse.Store(many)
	defer fuse.Store(0)
	recovered(run)
	return many - fuse.Load()
}

func sameBrittle(a, b *fst.Vector[brittle]) bool {
	if a.NumStates() != b.NumStates() || a.Start() != b.Start() {
		return false
	}
	for q := range fst.StateID(a.NumStates()) {
		if a.Final(q) != b.Final(q) || !slices.Equal(a.Arcs(q), b.Arcs(q)) {
			return false
		}
	}
	return true
}

// Work space that an operation borrows is not given back by a panic of the weights, of a machine or of a
// function, wherever it comes: what the next operation makes is as if there had been none.
func TestPanicsKeepWorkSpace(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	acceptor := brittleOf(layers(rng, 6, 3))
	transducer := acceptor.Clone()
	for q := range fst.StateID(transducer.NumStates()) {
		arcs := transducer.MutableArcs(q)
		for i := range arcs {
			arcs[i].OLabel = arcs[i].ILabel%2 + 1
		}
	}
	transducer.SetProperties(0, fst.AllProperties)
	cyclic := brittleOf(largeMachine(rng, 40))
	second := brittleOf(smallMachine(rng))
	in := func(do func(f *fst.Vector[brittle]) error) func() (*fst.Vector[brittle], error) {
		return func() (*fst.Vector[brittle], error) {
			f := cyclic.Clone()
			return f, do(f)
		}
	}
	factor := func(w brittle) []ops.Factors[brittle] {
		burn()
		if w.Tropical <= 1 {
			return nil
		}
		return []ops.Factors[brittle]{{First: brittle{1}, Rest: brittle{w.Tropical - 1}}}
	}
	all := []called{
		{"Determinize", func() (*fst.Vector[brittle], error) { return ops.Determinize(acceptor, nil) }},
		{"Determinize, disambiguating", func() (*fst.Vector[brittle], error) {
			return ops.Determinize(transducer, &ops.DeterminizeOptions{Type: ops.DeterminizeDisambiguate})
		}},
		{"Determinize, not functional", func() (*fst.Vector[brittle], error) {
			return ops.Determinize(transducer, &ops.DeterminizeOptions{Type: ops.DeterminizeNonFunctional})
		}},
		{"Determinize a machine that breaks", func() (*fst.Vector[brittle], error) { return ops.Determinize(breaks{acceptor}, nil) }},
		{"DeterminizePruned", func() (*fst.Vector[brittle], error) { return ops.DeterminizePruned(acceptor, nil) }},
		{"Disambiguate", func() (*fst.Vector[brittle], error) { return ops.Disambiguate(acceptor, nil) }},
		{"FactorWeight", func() (*fst.Vector[brittle], error) { return ops.FactorWeight(acceptor, factor, nil) }},
		{"Compose", func() (*fst.Vector[brittle], error) { return ops.Compose(cyclic, second, nil) }},
		{"Compose a machine that breaks", func() (*fst.Vector[brittle], error) { return ops.Compose(breaks{cyclic}, second, nil) }},
		{"ShortestPathLazy", func() (*fst.Vector[brittle], error) { return ops.ShortestPathLazy(cyclic, ops.Limits{}) }},
		{"ShortestPathLazy of a machine that breaks", func() (*fst.Vector[brittle], error) { return ops.ShortestPathLazy(breaks{cyclic}, ops.Limits{}) }},
		{"ShortestPath", func() (*fst.Vector[brittle], error) {
			return ops.ShortestPath(cyclic, &ops.ShortestPathOptions[brittle]{N: 3})
		}},
		{"Minimize", func() (*fst.Vector[brittle], error) {
			return ops.Minimize(acceptor, &ops.MinimizeOptions{AllowNondet: true})
		}},
		{"RmEpsilon", in(func(f *fst.Vector[brittle]) error { return ops.RmEpsilon(f, nil) })},
		{"Connect", in(func(f *fst.Vector[brittle]) error { ops.Connect(f); return nil })},
		{"Push", func() (*fst.Vector[brittle], error) { return ops.Push(cyclic, nil) }},
	}
	want := make([]*fst.Vector[brittle], len(all))
	for i, o := range all {
		var err error
		if want[i], err = o.run(); err != nil {
			t.Fatalf("%s: %v", o.name, err)
		}
	}
	for _, o := range all {
		total := operations(o.run)
		if total < 10 {
			t.Errorf("%s: only %d operations on weights", o.name, total)
		}
		for n := int64(1); n <= total; n += 1 + total/20 {
			if value := burned(o.run, n); value != errBrittle {
				t.Fatalf("%s: at operation %d of %d: %v", o.name, n, total, value)
			}
			for i, p := range all {
				if got, err := p.run(); err != nil || !sameBrittle(got, want[i]) {
					t.Fatalf("%s after a panic in %s at operation %d of %d: %d states, not %d (%v)", p.name, o.name, n, total,
						got.NumStates(), want[i].NumStates(), err)
				}
			}
		}
	}
}

// breaks is a machine that is read with the fuse.
type breaks struct{ *fst.Vector[brittle] }

func (b breaks) Arcs(q fst.StateID) []fst.Arc[brittle] { burn(); return b.Vector.Arcs(q) }

// A panic in any of the workers comes to the one that called, when nobody is at work any more, and leaves nothing behind:
// with one operation on weights that panics, or from one on all.
func TestWorkersPanic(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 9))
	large, second := brittleOf(largeMachine(rng, 9000)), brittleOf(smallMachine(rng))
	few := brittleOf(layers(rng, 3, 2))
	for _, workers := range []int{2, 4} {
		lim := ops.Limits{Workers: workers}
		all := []called{
			{"Compose", func() (*fst.Vector[brittle], error) {
				return ops.Compose(large, second, &ops.ComposeOptions{Limits: lim})
			}},
			{"RmEpsilon", func() (*fst.Vector[brittle], error) {
				f := large.Clone()
				return f, ops.RmEpsilon(f, &ops.RmEpsilonOptions{Limits: lim})
			}},
			{"ConnectWorkers", func() (*fst.Vector[brittle], error) {
				f := large.Clone()
				ops.ConnectWorkers(f, workers)
				return f, nil
			}},
			{"Batch", func() (*fst.Vector[brittle], error) {
				out := make([]*fst.Vector[brittle], 60)
				err := ops.Batch(len(out), lim, func(i int) (err error) {
					out[i], err = ops.Determinize(few, nil)
					return err
				})
				return out[0], err
			}},
		}
		for _, o := range all {
			want, err := o.run()
			if err != nil {
				t.Fatalf("%s: %v", o.name, err)
			}
			total, elsewhere := operations(o.run), 0
			for trial := range 8 {
				before, n := runtime.NumGoroutine(), 1+rng.Int64N(total*9/10) // there may be fewer when the workers share them otherwise
				lasting.Store(trial%2 == 1)
				value := burned(o.run, n)
				lasting.Store(false)
				for i := 0; runtime.NumGoroutine() > before && i < 100; i++ {
					time.Sleep(time.Millisecond) // one that has ended may still be counted
				}
				if n := runtime.NumGoroutine(); n > before {
					t.Fatalf("%s: %d goroutines are left, of %d", o.name, n, before)
				}
				err, ok := value.(error)
				if !ok || !errors.Is(err, errBrittle) {
					t.Fatalf("%s, %d workers: at operation %d of %d: %v", o.name, workers, n, total, value)
				}
				var other *ops.WorkerPanic
				if errors.As(err, &other) {
					elsewhere++
					if other.Value != errBrittle || !strings.Contains(string(other.Stack), "brittle") || !strings.Contains(err.Error(), errBrittle.Error()) {
						t.Fatalf("%s: %v", o.name, err)
					}
				}
				if trial%4 != 3 {
					continue
				}
				if got, err := o.run(); err != nil || !sameBrittle(got, want) {
					t.Fatalf("%s after a panic at operation %d of %d: %d states, not %d (%v)", o.name, n, total, got.NumStates(), want.NumStates(), err)
				}
			}
			t.Logf("%s, %d workers: %d of 8 panics were in another goroutine, of %d operations", o.name, workers, elsewhere, total)
		}
	}
}

// What ends one of the goroutines of a batch, as a test does that fails, ends the one that called.
func TestBatchExit(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		var returned, ran atomic.Int64
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = ops.Batch(200, ops.Limits{Workers: workers}, func(i int) error {
				if i == 3 {
					runtime.Goexit()
				}
				ran.Add(1)
				time.Sleep(100 * time.Microsecond)
				return nil
			})
			returned.Add(1)
		}()
		<-done
		if returned.Load() > 0 || ran.Load() > 100 {
			t.Errorf("%d workers: Batch returned %d times, after %d pieces", workers, returned.Load(), ran.Load())
		}
	}
}
