package ops_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// wideMachine has states, and at the first and some others, drawn at random, very many arcs, whose labels are below labels,
// some of them ε, and which lead anywhere.
func wideMachine(rng *rand.Rand, states, arcs, labels int) *fst.Vector[semiring.Tropical] {
	v := fst.NewVector[semiring.Tropical](states)
	v.AddStates(states)
	v.SetStart(0)
	for q := range fst.StateID(states) {
		n := rng.IntN(4)
		if rng.IntN(states) < 2 || q == 0 {
			n = arcs/2 + rng.IntN(arcs)
		}
		row := make([]fst.Arc[semiring.Tropical], n)
		for i := range row {
			row[i] = fst.Arc[semiring.Tropical]{ILabel: fst.Label(rng.IntN(labels)), OLabel: fst.Label(rng.IntN(labels)),
				Weight: semiring.Tropical(rng.IntN(9)) / 4, NextState: fst.StateID(rng.IntN(states))}
		}
		v.SetArcs(q, row)
		if rng.IntN(3) == 0 {
			v.SetFinal(q, semiring.Tropical(rng.IntN(3)))
		}
	}
	return v
}

// States whose arcs are made piece by piece, in arrays of their own, have the arcs that the loops for matchers, which know
// nothing of this, make one by one; whichever machine is searched, for every filter, for any number of workers, and on demand.
func TestComposeWide(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 5))
	type shape struct{ states1, arcs1, labels1, states2, arcs2, labels2 int }
	shapes := []shape{
		{3, 90_000, 60_000, 2, 90_000, 60_000}, // many labels, little in common
		{3, 300, 2, 3, 300, 2},                 // few labels: every arc with half of the others
		{2, 90_000, 90_000, 2, 3, 2},           // all ε or nothing
		{2, 20_000, 2, 3, 5, 4},                // a run that takes several pieces
		{4, 20_000, 9000, 3, 9000, 4000},
	}
	filters := []ops.Filter{ops.SequenceFilter, ops.AltSequenceFilter, ops.MatchFilter, ops.NoMatchFilter, ops.TrivialFilter, ops.NullFilter}
	cases, wide := 0, 0
	for i := range len(shapes) * len(filters) {
		s, filter := shapes[i%len(shapes)], filters[i/len(shapes)]
		if testing.Short() && i%4 != 0 {
			continue
		}
		cases++
		a, b := wideMachine(rng, s.states1, s.arcs1, s.labels1), wideMachine(rng, s.states2, s.arcs2, s.labels2)
		if rng.IntN(2) == 0 {
			a, b = b, a
		}
		ops.ArcSort(a, ops.Output)
		if rng.IntN(3) > 0 {
			ops.ArcSort(b, ops.Input)
		}
		what := fmt.Sprintf("%+v, %v", s, filter)
		plain := func(v *fst.Vector[semiring.Tropical], err error) *fst.Vector[semiring.Tropical] {
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			v.SetProperties(0, fst.AllProperties)
			return v
		}
		want := plain(ops.Compose(a, b, &ops.ComposeOptions{Filter: filter, First: &ops.Matcher{Kind: ops.MatchEpsilons}}))
		for q := range fst.StateID(want.NumStates()) {
			if want.OutDegree(q) > 1<<15 {
				wide++
			}
		}
		sameMachine(t, what, plain(ops.Compose(a, b, &ops.ComposeOptions{Filter: filter})), want)
		var trace ops.Trace
		sameMachine(t, what+", traced", plain(ops.Compose(a, b, &ops.ComposeOptions{Filter: filter, Trace: &trace})), want)
		lazy, err := ops.ComposeLazy[semiring.Tropical](a, b, &ops.ComposeOptions{Filter: filter}, nil)
		if err != nil {
			t.Fatal(err)
		}
		all := plain(ops.Collect[semiring.Tropical](lazy, ops.Limits{}))
		ops.Connect(all)
		sameMachine(t, what+", on demand", plain(all, nil), want)
	}
	if wide < cases/2 {
		t.Errorf("only %d states had many arcs, in %d compositions", wide, cases)
	}
}

// Workers leave states of very many arcs to the one that numbers them, and go on behind these.
func TestComposeWideWorkers(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 5))
	a := largeMachine(rng, 6000)
	for range 5 {
		q := 4500 + rng.IntN(1500)
		row := make([]fst.Arc[semiring.Tropical], 70_000)
		for i := range row {
			row[i] = fst.Arc[semiring.Tropical]{ILabel: 1, OLabel: fst.Label(rng.IntN(9)), NextState: fst.StateID(rng.IntN(6000))}
		}
		a.SetArcs(fst.StateID(q), row)
	}
	ops.ArcSort(a, ops.Output)
	b := smallMachine(rng)
	want, err := ops.Compose(a, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []int{2, 3, 8} {
		got, err := ops.Compose(a, b, &ops.ComposeOptions{Limits: ops.Limits{Workers: w}})
		if err != nil {
			t.Fatal(err)
		}
		sameMachine(t, fmt.Sprintf("%d workers", w), got, want)
	}
}

// A state with very many arcs takes the memory of its arcs and a fixed share for work: it is not copied, nor are its numbers
// looked up all at once. With one array that grew, and was copied to the result in the end, it took 91 MB beside 12 of arcs.
func TestComposeWideMemory(t *testing.T) {
	if fsttest.RaceDetector {
		t.Skip("the race detector takes memory of its own")
	}
	const n = 1 << 19
	row := make([]fst.Arc[semiring.Tropical], n)
	for i := range row {
		row[i] = fst.Arc[semiring.Tropical]{ILabel: fst.Label(i + 1), OLabel: fst.Label(i + 1), NextState: fst.StateID(i % 2)}
	}
	a, b := fst.NewVector[semiring.Tropical](2), fst.NewVector[semiring.Tropical](1)
	a.AddStates(2)
	a.SetStart(0)
	a.SetFinal(1, 0)
	a.SetArcs(0, row)
	a.SetArcs(1, row[:n/2])
	for i := range row {
		row[i].NextState = 0
	}
	b.AddState()
	b.SetStart(0)
	b.SetFinal(0, 0)
	b.SetArcs(0, row)
	ops.ArcSort(a, ops.Output)
	ops.ArcSort(b, ops.Input)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c, err := ops.Compose(a, b, nil)
	runtime.ReadMemStats(&after)
	if err != nil || c.NumArcs() != n*3/2 {
		t.Fatal(c.NumArcs(), err)
	}
	arcs := float64(c.NumArcs()) * float64(unsafe.Sizeof(row[0]))
	took := float64(after.TotalAlloc-before.TotalAlloc) - arcs
	t.Logf("%.1f MB beside %.1f MB of arcs", took/(1<<20), arcs/(1<<20))
	if took > 5<<20 {
		t.Errorf("%.1f MB beside %.1f MB of arcs", took/(1<<20), arcs/(1<<20))
	}
}

// A state of the result that goes beyond a limit is not made: of two states with 46,000 equal labels each
// there would be 2·10⁹ arcs, 34 GB. Where it is not counted first, the work ends soon behind the limit.
func TestComposeWideLimits(t *testing.T) {
	const n = 46_000
	fan := func(label fst.Label) *fst.Vector[semiring.Tropical] {
		v := fst.NewVector[semiring.Tropical](2)
		v.AddStates(2)
		v.SetStart(0)
		v.SetFinal(1, 0)
		row := make([]fst.Arc[semiring.Tropical], n)
		for i := range row {
			row[i] = fst.Arc[semiring.Tropical]{ILabel: label, OLabel: label, Weight: semiring.Tropical(i), NextState: 1}
		}
		v.SetArcs(0, row)
		return v
	}
	labelled, silent := fan(1), fan(fst.Epsilon)
	sigma := &ops.Matcher{Kind: ops.MatchSigma, Label: 9}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		name string
		of   *fst.Vector[semiring.Tropical]
		opts ops.ComposeOptions
	}{
		{"plain", labelled, ops.ComposeOptions{}},
		{"two workers", labelled, ops.ComposeOptions{Limits: ops.Limits{Workers: 2}}},
		{"ε", silent, ops.ComposeOptions{Filter: ops.MatchFilter}},
		{"looking ahead", labelled, ops.ComposeOptions{LookAhead: &ops.LookAhead{}}},
		{"pushing", labelled, ops.ComposeOptions{LookAhead: &ops.LookAhead{PushLabels: true}}},
		{"matcher", labelled, ops.ComposeOptions{Second: sigma}},
	} {
		for limit, lim := range map[string]ops.Limits{"arcs": {Arcs: 100_000}, "bytes": {Bytes: 4 << 20}, "context": {Ctx: canceled}} {
			o := c.opts
			lim.Workers = o.Workers
			o.Limits = lim
			var over *ops.LimitError
			var err error
			fsttest.Allocating(t, 64<<20, func() { _, err = ops.Compose[semiring.Tropical](c.of, c.of, &o) })
			if !errors.As(err, &over) || over.Limit != limit {
				t.Errorf("%s: error %v, want the limit on %s", c.name, err, limit)
			}
		}
	}
}
