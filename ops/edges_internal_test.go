package ops

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/semiring"
)

func edgeMachine[W semiring.Codec[W]](text string) *fst.Vector[W] {
	return fsttest.Must(fst.ReadText[W](strings.NewReader(text), nil))
}

// A meter looks at the context when a megabyte more is held, however few calls there were.
func TestMeterLooksWithEachMegabyte(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	m := Limits{Ctx: ctx}.meter("Test")
	if err := m.Check(run.Progress{}); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := m.Check(run.Progress{Bytes: 1000}); err != nil {
		t.Errorf("with a little more: %v", err)
	}
	if err := m.Check(run.Progress{Bytes: 2 << 20}); !isCancelled(err) {
		t.Errorf("with two megabytes more: %v", err)
	}
}

// A subset whose final weight or whose divisor is no member is an error, also where each weight of
// the machine is one.
func TestDeterminizeSumsNotMembers(t *testing.T) {
	type W = semiring.Tropical
	nan := W(math.NaN())
	for name, change := range map[string]func(f *fst.Vector[W]){
		"final weight": func(f *fst.Vector[W]) { f.SetFinal(1, nan) },
		"arc":          func(f *fst.Vector[W]) { f.MutableArcs(0)[0].Weight = nan },
	} {
		f := edgeMachine[W]("0 1 1 1 1\n1 2\n")
		change(f)
		f.SetProperties(fst.Acceptor, fst.AllProperties)
		if _, err := Determinize(f, nil); !errors.Is(err, ErrNotMember) {
			t.Errorf("%s: %v", name, err)
		}
		d := fsttest.Must(DeterminizeLazy[W](f, nil, nil)) // at the state itself, and not at the next
		if q := d.Start(); name == "final weight" {
			d.Arcs(d.Arcs(q)[0].NextState)
		} else {
			d.Arcs(q)
		}
		if err := d.Err(); !errors.Is(err, ErrNotMember) {
			t.Errorf("%s, lazily: %v", name, err)
		}
	}
}

// Arcs with the last label that there is are counted as they are made.
func TestArcsOfLastLabel(t *testing.T) {
	type W = semiring.Tropical
	arcs := func(labels ...fst.Label) (out []fst.Arc[W]) {
		for _, l := range labels {
			out = append(out, fst.Arc[W]{ILabel: l, OLabel: l})
		}
		return out
	}
	for _, sorted := range []bool{false, true} {
		r := &restOf[W]{in: arcs(5, math.MaxInt32), se: arcs(4, 5, math.MaxInt32, math.MaxInt32, math.MaxInt32),
			inLabel: outputLabels, seLabel: inputLabels, inSorted: sorted}
		if n := r.arcs(0, 0); n != 4 {
			t.Errorf("sorted %v: %d arcs, want 4", sorted, n)
		}
	}
}

// Weights of parallel arcs are summed before they are pushed.
func TestPushWeightsSumsParallelArcs(t *testing.T) {
	type W = semiring.Log64
	a := edgeMachine[W]("0 1 9 0\n1 2 8 1\n2\n")
	b := edgeMachine[W]("0 1 1 5 1\n0 1 1 6 1\n1\n")
	out := fsttest.Must(Compose(a, b, &ComposeOptions{LookAhead: &LookAhead{PushWeights: true}}))
	want := W(1 - math.Ln2)
	if w := out.Arcs(out.Start())[0].Weight; !w.Near(want, 1e-3) { // rounded as weights ahead are
		t.Errorf("%v goes ahead, want %v", w, want)
	}
	if total := fsttest.Must(TotalWeight(out, nil)); !total.Near(want, 1e-9) {
		t.Errorf("%v in all, want %v", total, want)
	}
}

// Arcs that one wide pair makes count while they are made.
func TestPushComposeWidePairWithinArcs(t *testing.T) {
	type W = semiring.Tropical
	a, b := fst.NewVector[W](2), fst.NewVector[W](2)
	for _, f := range []*fst.Vector[W]{a, b} {
		f.AddStates(2)
		f.SetStart(0)
		f.SetFinal(1, 0)
	}
	for range 200 {
		a.AddArc(0, fst.Arc[W]{ILabel: 1, OLabel: 1, NextState: 1})
		b.AddArc(0, fst.Arc[W]{ILabel: 1, OLabel: 1, NextState: 1})
	}
	_, err := Compose(a, b, &ComposeOptions{LookAhead: &LookAhead{PushWeights: true, PushLabels: true}, Limits: Limits{Arcs: 10}})
	var l *LimitError
	if !errors.As(err, &l) || l.Limit != "arcs" || l.Built.Arcs > 2*checkEvery {
		t.Errorf("40,000 arcs of one pair, with 10 allowed: %v", err)
	}
}

// The search for distinct strings ends where nothing that is left comes from the start, though it
// is without end.
func TestUniqueStringsBesideDeadBranch(t *testing.T) {
	f := edgeMachine[semiring.Tropical]("0 1 1 1 1\n2 2 5 5 1\n3 3 5 5 2\n2 1 6 6\n3 1 6 6\n1\n")
	out, err := ShortestPathUnique(f, &ShortestPathOptions[semiring.Tropical]{N: 5, MaxVisits: 100})
	if err != nil || out.Start() == fst.NoState || len(out.Arcs(out.Start())) != 1 {
		t.Errorf("%v: %v", out, err)
	}
}

// Files of encode tables with a triple twice, or with a weight that is none, are refused.
func TestReadEncodeTableRefuses(t *testing.T) {
	type W = semiring.Tropical
	table := NewEncodeTable[W](EncodeLabels | EncodeWeights)
	table.Add(1, 2, 0.5)
	table.Add(1, 3, 0.5)
	var b bytes.Buffer
	if err := WriteEncodeTable(&b, table); err != nil {
		t.Fatal(err)
	}
	const triple = 12
	at := b.Len() - 2*triple
	for what, change := range map[string]func(data []byte){
		"":     func([]byte) {},
		"same": func(data []byte) { copy(data[at+triple:], data[at:at+triple]) },
		"not a number": func(data []byte) {
			copy(data[at+8:], []byte{0, 0, 0xc0, 0x7f})
		},
	} {
		data := bytes.Clone(b.Bytes())
		change(data)
		_, err := ReadEncodeTable[W](bytes.NewReader(data), "file")
		var e *fst.BinaryError
		if what == "" && err != nil || what != "" && (!errors.As(err, &e) || !strings.Contains(err.Error(), what)) {
			t.Errorf("%q: %v", what, err)
		}
	}
}

// States that were forgotten do not count when the next one is expanded.
func TestRetainedStatesCount(t *testing.T) {
	type W = semiring.Tropical
	const rests, wide = 40, 100
	f := fst.NewVector[W](0)
	f.AddStates(3)
	f.SetStart(0)
	q := fst.StateID(1) // with an output that lags behind that of the other way to the same end
	late := []fst.Label{}
	for i := range fst.Label(rests) {
		to := f.AddState()
		f.AddArc(q, fst.Arc[W]{ILabel: 1, OLabel: 100 + i, NextState: to})
		late = append(late, 1)
		q = to
	}
	f.SetFinal(q, 0)
	p := fst.StateID(0)
	for range late { // the same number of steps with nothing but another end
		to := f.AddState()
		f.AddArc(p, fst.Arc[W]{ILabel: 1, NextState: to})
		p = to
	}
	f.AddArc(0, fst.Arc[W]{ILabel: 1, NextState: 1})
	to := f.AddState()
	f.AddArc(p, fst.Arc[W]{ILabel: 1, OLabel: 99, NextState: to})
	f.AddArc(0, fst.Arc[W]{ILabel: 2, NextState: 2})
	for l := range fst.Label(wide) {
		to := f.AddState()
		f.AddArc(2, fst.Arc[W]{ILabel: 1 + l, OLabel: 1, NextState: to})
		f.SetFinal(to, 0)
	}
	// All of it, to know what there is; then only the wide state, with room for it alone.
	lazy := func(states int) *fst.Lazy[W] {
		return fsttest.Must(DeterminizeLazy[W](f, &DeterminizeOptions{Limits: Limits{States: states}}, nil))
	}
	walk := func(d *fst.Lazy[W]) (wide fst.StateID, n fst.StateID) {
		arcs := d.Arcs(d.Start())
		wide = arcs[1].NextState
		for q := arcs[0].NextState; ; {
			n = max(n, q)
			arcs := d.Arcs(q)
			if len(arcs) == 0 || d.Err() != nil {
				return wide, n
			}
			q = arcs[0].NextState
		}
	}
	d := lazy(0)
	_, top := walk(d)
	if err := d.Err(); err != nil || top < 2*rests || top > wide {
		t.Fatalf("%d states: %v", top, err)
	}
	d = lazy(wide + 5)
	w, _ := walk(d)
	if !d.Retain([]fst.StateID{w}) {
		t.Fatal("cannot forget")
	}
	if n := len(d.Arcs(w)); n != wide || d.Err() != nil {
		t.Errorf("%d arcs: %v", n, d.Err())
	}
}

// Where sums overflow, a weight that takes no part in them is not named.
func TestOverflowNamesNoDeadArc(t *testing.T) {
	f := edgeMachine[semiring.Tropical]("0 3 9 9 1\n0 1 1 1 -3e38\n1 2 1 1 -3e38\n2\n")
	f.MutableArcs(0)[0].Weight = semiring.Tropical(math.NaN()) // into a dead state
	f.SetProperties(0, fst.AllProperties)
	_, err := ShortestDistanceAcyclic(f, true)
	var at *StateError
	var arc *ArcError
	if !errors.Is(err, ErrNotMember) || !errors.As(err, &at) || errors.As(err, &arc) {
		t.Errorf("%v", err)
	}
}

// Of rivals at one head the second keeps its place.
func TestRivalsOfOneHead(t *testing.T) {
	d := &disambiguator[semiring.Tropical]{heads: []fst.StateID{4, 4, 3}}
	a, b, c := arcID{0, 0}, arcID{1, 0}, arcID{2, 0}
	d.add(a, b)
	d.add(a, c)
	d.add(c, a)
	for i, want := range []rivals{{b, a}, {a, c}, {a, c}} {
		if d.rival[i] != want {
			t.Errorf("rivals %d: %v, want %v", i, d.rival[i], want)
		}
	}
}
