package ops

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// Pushing labels and weights leaves the relation as it is, whichever machine looks.
func pushKeepsRelation[W semiring.Approx[W]](t *testing.T, draw func(*rand.Rand) W, weights bool) {
	rng := rand.New(rand.NewPCG(6, 16))
	pushed := 0
	for trial := range 400 {
		o := fsttest.Options{Epsilon: []float64{0, 0.3, 0.7}[trial%3], Labels: 4, Final: 0.25}
		a, b := fsttest.Random(rng, 1+rng.IntN(7), draw, o), fsttest.Random(rng, 1+rng.IntN(5), draw, fsttest.Options{Epsilon: 0.3 * float64(trial%2), Labels: 4, Final: 0.25})
		if trial%4 < 2 {
			a, b = b, a
		}
		a, b = sortedSides(a, b, 1+rng.IntN(3))
		want := fsttest.Relation(fsttest.Must(Compose[W](a, b, nil)), 6)
		for _, side := range []LookAheadSide{LookAheadAuto, LookAheadFirst, LookAheadSecond} {
			co := &ComposeOptions{KeepDead: rng.IntN(2) == 0, LookAhead: &LookAhead{Side: side, PushWeights: weights, PushLabels: true}}
			eager, err := Compose[W](a, b, co)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, fsttest.Relation(eager, 6), fsttest.Within[W](1e-9)); diff != "" {
				t.Fatalf("trial %d, side %d: mismatch (-want +got):\n%s", trial, side, diff)
			}
			co.KeepDead = true
			lazy, err := ComposeLazy[W](a, b, co, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, fsttest.Relation(lazy, 6), fsttest.Within[W](1e-9)); diff != "" {
				t.Fatalf("trial %d, side %d, lazily: mismatch (-want +got):\n%s", trial, side, diff)
			}
			c := fsttest.Must(newPushComposer(fsttest.Must(planCompose[W](a, b, co))))
			fsttest.Must(Materialize[W](c, Limits{}))
			for q := range fst.StateID(c.table.Len()) {
				if c.table.Key(q).label != fst.NoLabel {
					pushed++
				}
			}
		}
	}
	if pushed < 40 {
		t.Errorf("only %d states have a label that was pushed", pushed)
	}
}

func TestPushLabelsKeepsRelation(t *testing.T) {
	t.Run("tropical", func(t *testing.T) { pushKeepsRelation(t, drawTropical, false) })
	t.Run("tropical weights", func(t *testing.T) { pushKeepsRelation(t, drawTropical, true) })
	t.Run("log64 weights", func(t *testing.T) { pushKeepsRelation(t, drawLog64, true) })
	t.Run("probability", func(t *testing.T) { pushKeepsRelation(t, drawProbability, false) })
}

func TestPushLabelsErrors(t *testing.T) {
	a := fsttest.Random(rand.New(rand.NewPCG(1, 1)), 4, drawTropical, fsttest.Options{})
	ArcSort(a, Output)
	ahead := &LookAhead{Side: LookAheadFirst, PushLabels: true}
	for _, o := range []*ComposeOptions{
		{LookAhead: ahead, Filter: MatchFilter},
		{LookAhead: ahead, Trace: &Trace{}},
		{LookAhead: ahead, First: &Matcher{Kind: MatchPhi, Label: 1}},
		{LookAhead: ahead, Limits: Limits{Bytes: 1}},
	} {
		if _, err := Compose[semiring.Tropical](a, a, o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	lazy := fst.NewLazy[semiring.Tropical](fsttest.Must(NewComposer[semiring.Tropical](a, a, nil)), nil)
	if _, err := Compose[semiring.Tropical](lazy, a, &ComposeOptions{LookAhead: ahead}); err == nil {
		t.Error("a machine on demand cannot look ahead")
	}
	if _, err := Compose[semiring.Tropical](a, a, &ComposeOptions{LookAhead: ahead, Limits: Limits{States: 1}}); a.NumStates() > 1 && err != nil && !errors.Is(err, ErrLimit) {
		t.Error(err)
	}
}

// Composing with a file of a look-ahead type gives OpenFst's states and arcs.
func composeFilesAsOpenFst[W semiring.Component[W]](t *testing.T, draw func(*rand.Rand) W) {
	o := fsttest.OpenFst(t)
	if !o.PlugIns() {
		t.Skip("skipped: OpenFst's look-ahead types are not installed")
	}
	rng := rand.New(rand.NewPCG(6, 17))
	fewer := 0
	for trial := range 36 {
		kind := []string{"olabel_lookahead", "ilabel_lookahead", "arc_lookahead"}[trial%3]
		looks := fsttest.Random(rng, 1+rng.IntN(12), draw, fsttest.Options{Epsilon: 0.6, Labels: 5, Final: 0.2, Cyclic: rng.IntN(3) == 0, Acceptor: rng.IntN(2) == 0})
		other := fsttest.Random(rng, 1+rng.IntN(8), draw, fsttest.Options{Epsilon: 0.2 * float64(rng.IntN(2)), Labels: 5, Final: 0.3, Cyclic: rng.IntN(3) == 0})
		first := kind == "olabel_lookahead" || kind == "arc_lookahead" && rng.IntN(2) == 0
		if first {
			ArcSort(looks, Output)
		} else {
			ArcSort(looks, Input)
		}
		in, ahead, pairs := fsttest.WriteFile[W](o, looks, nil), o.File(), o.File()
		save := map[bool]string{true: "--save_relabel_opairs=", false: "--save_relabel_ipairs="}[first]
		o.Do("fstconvert", "--fst_type="+kind, save+pairs, in, ahead)
		second := fsttest.WriteFile[W](o, other, nil)
		relabeled, sorted := o.File(), o.File()
		by := map[bool][2]string{true: {"--relabel_ipairs=", "--sort_type=ilabel"}, false: {"--relabel_opairs=", "--sort_type=olabel"}}[first]
		if kind == "arc_lookahead" {
			relabeled = second
		} else {
			o.Do("fstrelabel", by[0]+pairs, second, relabeled)
		}
		o.Do("fstarcsort", by[1], relabeled, sorted)
		left, right := ahead, sorted
		if !first {
			left, right = sorted, ahead
		}
		out := o.File()
		r := o.Run("fstcompose", "--connect=false", left, right, out)
		if r.Exit != 0 {
			t.Fatalf("trial %d: %s", trial, r.Stderr)
		}
		theirs := fsttest.ReadFile[W](o, out)
		ours, err := Compose[W](fsttest.ReadFile[W](o, left), fsttest.ReadFile[W](o, right), &ComposeOptions{KeepDead: true})
		if err != nil {
			t.Fatal(err)
		}
		if d := Compare[W](ours, theirs, 2*DefaultDelta); d != nil {
			t.Fatalf("trial %d, %s: %v\nours:\n%v\ntheirs:\n%v\nfirst:\n%s\nsecond:\n%s", trial, kind, d, printed(ours), printed(theirs),
				printed(fsttest.ReadFile[W](o, left)), printed(fsttest.ReadFile[W](o, right)))
		}
		plain := fsttest.Must(Compose[W](fsttest.ReadFile[W](o, left), fsttest.ReadFile[W](o, right), &ComposeOptions{KeepDead: true, Filter: SequenceFilter}))
		fewer += plain.NumStates() - ours.NumStates()
	}
	if fewer < 20 {
		t.Errorf("only %d states were saved", fewer)
	}
}

func printed[W semiring.Component[W]](f fst.Expanded[W]) string {
	s := fmt.Sprintln("start", f.Start())
	for q := range fst.StateID(f.NumStates()) {
		for _, e := range f.Arcs(q) {
			s += fmt.Sprintln(q, e.NextState, e.ILabel, e.OLabel, e.Weight)
		}
		if fst.IsFinal[W](f, q) {
			s += fmt.Sprintln(q, f.Final(q))
		}
	}
	return s
}

func TestLookAheadFilesAsOpenFst(t *testing.T) {
	fsttest.OneGoroutine(t)
	t.Run("standard", func(t *testing.T) {
		composeFilesAsOpenFst(t, func(rng *rand.Rand) semiring.Tropical { return semiring.Tropical(rng.IntN(9)) / 4 })
	})
	t.Run("log", func(t *testing.T) {
		composeFilesAsOpenFst(t, func(rng *rand.Rand) semiring.Log { return semiring.Log(rng.IntN(9)) / 4 })
	})
	t.Run("log64", func(t *testing.T) {
		composeFilesAsOpenFst(t, func(rng *rand.Rand) semiring.Log64 { return semiring.Log64(rng.IntN(9)) / 4 })
	})
}

// A file of a look-ahead type of which neither side can look ahead composes as its machine does.
func TestLookAheadFilesThatCannotLook(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 18))
	through := func(f *fst.Vector[semiring.Tropical]) fst.Expanded[semiring.Tropical] {
		var file bytes.Buffer
		if err := fst.Write(&file, f, &fst.WriteOptions{Type: "arc_lookahead"}); err != nil {
			t.Fatal(err)
		}
		return fsttest.Must(fst.Read[semiring.Tropical](&file, nil))
	}
	draw := func(rng *rand.Rand) semiring.Tropical { return semiring.Tropical(rng.IntN(9)) / 4 }
	cannot := 0
	for trial := range 200 {
		a, b := fsttest.Random(rng, 6, draw), fsttest.Random(rng, 6, draw)
		x, y := fst.Expanded[semiring.Tropical](a), fst.Expanded[semiring.Tropical](b)
		if trial%2 == 0 {
			ArcSort(b, Input)
			x = through(a)
		} else {
			ArcSort(a, Output)
			y = through(b)
		}
		if _, ok := lookAheadFile[semiring.Tropical](x, y); ok {
			continue
		}
		cannot++
		for _, o := range []*ComposeOptions{nil, {KeepDead: true}, {Limits: Limits{States: 1000}}} {
			want := fsttest.Must(Compose[semiring.Tropical](a, b, o))
			got, err := Compose[semiring.Tropical](x, y, o)
			if err != nil {
				t.Fatalf("trial %d: %v", trial, err)
			}
			if d := Compare[semiring.Tropical](want, got, 0); d != nil {
				t.Fatalf("trial %d: %v", trial, d)
			}
		}
		l := fsttest.Must(ComposeLazy[semiring.Tropical](x, y, nil, nil))
		if l.Start(); l.Err() != nil {
			t.Fatalf("trial %d: %v", trial, l.Err())
		}
	}
	if cannot < 50 {
		t.Errorf("only %d files could not look ahead", cannot)
	}
}
