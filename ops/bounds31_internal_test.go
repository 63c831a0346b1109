package ops

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

// atMost sets a bound of numbers for a test.
func atMost(t *testing.T, bound *int, n int) {
	old := *bound
	*bound = n
	t.Cleanup(func() { *bound = old })
}

// hinted fails unless err is of the given limit, with a hint what to do.
func hinted(t *testing.T, what string, err error, limit string, bound int) {
	t.Helper()
	var l *LimitError
	if !errors.As(err, &l) || !errors.Is(err, ErrLimit) {
		t.Errorf("%s: %v, and no limit", what, err)
	} else if l.Limit != limit || l.Bound != int64(bound) || l.Hint == "" || l.Op == "" || !strings.Contains(err.Error(), l.Hint) {
		t.Errorf("%s: %v (%+v)", what, err, l)
	}
}

// More states than numbers tell apart are an error, whatever makes them.
func TestMostStates(t *testing.T) {
	type W = semiring.Tropical
	const n = 40
	f := fst.NewVector[W](n + 1)
	f.AddStates(n + 1)
	f.SetStart(0)
	for q := range fst.StateID(n) {
		f.AddArc(q, fst.Arc[W]{ILabel: 1, OLabel: 1, Weight: 1, NextState: q + 1})
	}
	f.SetFinal(n, 0)
	g := f.Clone() // the same with the last output first, as ε before
	for q := range fst.StateID(n) {
		g.MutableArcs(q)[0].OLabel = 2 * fst.Label(q&1)
	}
	late := fst.NewVector[W](1) // one label in, and n out at the end
	late.SetStart(late.AddState())
	for side := range fst.Label(2) {
		from := fst.StateID(0)
		for i := range fst.Label(n / 2) {
			to := late.AddState()
			in := fst.Label(1)
			if i == n/2-1 {
				in += side
			}
			late.AddArc(from, fst.Arc[W]{ILabel: in, OLabel: 5 + side, NextState: to})
			from = to
		}
		late.SetFinal(from, 0)
	}
	all := map[string]func() error{
		"Determinize":            func() error { _, err := Determinize[W](f, nil); return err },
		"Determinize transducer": func() error { _, err := Determinize[W](g, nil); return err },
		"Determinize rests":      func() error { _, err := Determinize[W](late, nil); return err },
		"Determinize sets": func() error {
			_, err := Determinize[W](g, &DeterminizeOptions{Type: DeterminizeNonFunctional})
			return err
		},
		"DeterminizePruned":       func() error { _, err := DeterminizePruned[W](f, nil); return err },
		"Disambiguate":            func() error { _, err := Disambiguate[W](f, nil); return err },
		"Disambiguate transducer": func() error { _, err := Disambiguate[W](g, nil); return err },
		"Compose":                 func() error { _, err := Compose[W](f, f, nil); return err },
		"Synchronize":             func() error { _, err := Synchronize[W](g, Limits{}); return err },
		"EpsNormalize":            func() error { _, err := EpsNormalize[W](g, Output, Limits{}); return err },
		"FactorWeight": func() error {
			_, err := FactorWeight[W](f, FactorOne[W], &FactorWeightOptions{KeepFinals: true})
			return err
		},
		"Replace":                  func() error { _, err := Replace([]Rule[W]{{Label: 9, F: f}}, 9, nil); return err },
		"Reverse":                  func() error { _, err := Reverse[W](f, nil); return err },
		"Twins (which has a pair)": func() error { _, err := Twins[W](f, nil); return err },
	}
	for what, run := range all {
		if err := run(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	// Rests of outputs come after all subsets.
	whole := fsttest.Must(Determinize[W](late, nil)).NumStates()
	atMost(t, &run.MostStates, whole-5)
	hinted(t, "Determinize rests", all["Determinize rests"](), "states", whole-5)
	run.MostStates = 12
	for what, run := range all {
		hinted(t, what, run(), "states", 12)
	}
	// What is delayed goes on as long as no more are held.
	lazy := fsttest.Must(DeterminizeLazy[W](f, nil, nil))
	q := lazy.Start()
	for range n {
		q = lazy.Arcs(q)[0].NextState
		lazy.Retain([]fst.StateID{q})
	}
	if !fst.IsFinal[W](lazy, q) || lazy.Err() != nil {
		t.Errorf("with states forgotten: %v", lazy.Err())
	}
}

// So are more output labels, of subsets that are kept and of the one at hand, and more arcs of one
// subset.
func TestMostLabels(t *testing.T) {
	type W = semiring.Tropical
	const n = 30
	f := fst.NewVector[W](1)
	f.SetStart(f.AddState())
	for side := range fst.Label(2) {
		from := fst.StateID(0)
		for i := range fst.Label(n) {
			to := f.AddState()
			in := fst.Label(1)
			if i == n-1 {
				in += side
			}
			f.AddArc(from, fst.Arc[W]{ILabel: in, OLabel: 5 + side, NextState: to})
			from = to
		}
		f.SetFinal(from, 0)
	}
	want := fsttest.Must(Determinize[W](f, nil))
	for _, most := range []int{2, 3, 10, 50, 100, 500} {
		atMost(t, &run.MostLabels, most)
		_, err := Determinize[W](f, nil)
		hinted(t, "Determinize", err, "labels", most)
	}
	run.MostLabels = n * (n + 1)
	if got, err := Determinize[W](f, nil); err != nil || !Equal[W](got, want, 0) {
		t.Errorf("with as many as there are: %v", err)
	}
	atMost(t, &run.MostArcs, 1)
	_, err := Determinize[W](f, nil)
	hinted(t, "Determinize", err, "arcs", 1)
}

// countingContext is cancelled when it has been asked so many times.
type countingContext struct {
	context.Context
	asked, most int
}

func (c *countingContext) Err() error {
	if c.asked++; c.asked > c.most {
		return context.Canceled
	}
	return nil
}

// One state that takes long is left in the middle when the context is done.
func TestWideSubsetsAreCancelled(t *testing.T) {
	type W = semiring.Tropical
	const n = 1000
	f := fst.NewVector[W](n + 2)
	f.AddStates(n + 2)
	f.SetStart(0)
	f.SetFinal(n+1, 0)
	for q := range fst.StateID(n) {
		f.AddArc(0, fst.Arc[W]{ILabel: 1, OLabel: 1, Weight: W(q), NextState: q + 1})
		for range n {
			f.AddArc(q+1, fst.Arc[W]{ILabel: 1, OLabel: 1, NextState: n + 1})
		}
	}
	ctx := &countingContext{context.Background(), 0, 10}
	if _, err := Determinize[W](f, &DeterminizeOptions{Limits: Limits{Ctx: ctx}}); !errors.Is(err, context.Canceled) {
		t.Errorf("Determinize: %v", err)
	}
	// Two states of a disambiguation, whose arcs all have one label.
	out := fst.NewVector[W](4)
	out.AddStates(4)
	out.SetStart(0)
	out.SetFinal(3, 0)
	for q := range fst.StateID(2) {
		out.AddArc(0, fst.Arc[W]{ILabel: 1, OLabel: 1, NextState: q + 1})
		for range n {
			out.AddArc(q+1, fst.Arc[W]{ILabel: 1, OLabel: 1, NextState: 3})
		}
	}
	ctx = &countingContext{context.Background(), 0, 10}
	d := &disambiguator[W]{out: out, heads: []fst.StateID{0, 1, 2, 3},
		meter: Limits{Ctx: ctx}.meter(opDisambiguate).AtOnce()}
	if err := d.findRivals(); !errors.Is(err, context.Canceled) {
		t.Errorf("findRivals: %v", err)
	}
}

// Sets of strings that one state would make beyond the limit on bytes are not made.
func TestWideSetsAreLimited(t *testing.T) {
	type W = semiring.Tropical
	const doublings, fan = 12, 1024
	f := fst.NewVector[W](doublings + 2)
	f.AddStates(doublings + 2)
	f.SetStart(0)
	for q := range fst.StateID(doublings) {
		for out := range fst.Label(2) {
			f.AddArc(q, fst.Arc[W]{ILabel: 1, OLabel: out + 1, NextState: q + 1})
		}
	}
	for i := range fst.Label(fan) {
		f.AddArc(doublings, fst.Arc[W]{ILabel: 1, OLabel: i + 1, NextState: doublings + 1})
	}
	f.SetFinal(doublings+1, 0)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Determinize[W](f, &DeterminizeOptions{Type: DeterminizeNonFunctional, Limits: Limits{Bytes: 4 << 20}})
	runtime.ReadMemStats(&after)
	var limit *LimitError
	if !errors.As(err, &limit) || limit.Limit != "bytes" {
		t.Fatal(err)
	}
	if made := after.TotalAlloc - before.TotalAlloc; made > 64<<20 {
		t.Errorf("%d bytes were made with a limit of 4 MiB", made)
	}
	ctx := &countingContext{context.Background(), 0, 20}
	if _, err := Determinize[W](f, &DeterminizeOptions{Type: DeterminizeNonFunctional, Limits: Limits{Ctx: ctx}}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// What is left of an output of n labels takes n places, and its states count for the limit.
func TestRestsOfOutputs(t *testing.T) {
	type W = semiring.Tropical
	d := fsttest.Must(newOutputDeterminizer[W](fst.NewVector[W](0), &DeterminizeOptions{Limits: Limits{States: 4500}}, &outputResiduals[W]{})).(*outputDeterminizer[W, outResidual[W], *outputResiduals[W]])
	labels := make([]fst.Label, 5000)
	for i := range labels {
		labels[i] = fst.Label(1 + i%7)
	}
	q := d.rest(labels)
	for i := range labels {
		_, arcs, err := d.Expand(q, nil)
		if err != nil {
			var limit *LimitError
			if !errors.As(err, &limit) || limit.Limit != "states" || i < 4400 {
				t.Fatal(i, err)
			}
			break
		}
		if len(arcs) != 1 || arcs[0].OLabel != labels[i] {
			t.Fatalf("arc %d: %v", i, arcs)
		}
		q = arcs[0].NextState
	}
	if n := d.rests.Len(); n != len(labels) || len(d.states) > 4501 {
		t.Errorf("%d rests of %d labels, %d states", n, len(labels), len(d.states))
	}
}
