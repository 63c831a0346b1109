package ops_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

func TestShortestPathAgainstOpenFst(t *testing.T) {
	p := fsttest.OpenFst(t)
	rng := rand.New(rand.NewPCG(8, 1))
	queues := []ops.Queue{ops.QueueAuto, ops.QueueAuto, ops.QueueAuto, ops.QueueFIFO, ops.QueueLIFO, ops.QueueShortestFirst, ops.QueueStateOrder, ops.QueueTopOrder}
	for i := range machines(t, 20) {
		s := randomShape(rng)
		unique := rng.IntN(3) == 0
		s.acceptor = s.acceptor || unique && rng.IntN(8) > 0
		if unique && rng.IntN(2) == 0 {
			s.arcs *= 2
		}
		// The peer does not come back from some machines with cycles of weight 1̄.
		s.positive = unique && !s.acyclic && (s.coarse || s.unweighted)
		f := draw[semiring.Tropical](rng, s)
		o := &ops.ShortestPathOptions[semiring.Tropical]{N: []int{1, 1, 3, 10}[rng.IntN(4)], Queue: queues[rng.IntN(len(queues))]}
		args := []string{fmt.Sprintf("--nshortest=%d", o.N), "--queue_type=" + o.Queue.String(), fmt.Sprintf("--unique=%v", unique)}
		if rng.IntN(4) == 0 {
			w := semiring.Tropical(rng.IntN(6)-1) / 2
			o.Threshold = &w
			args = append(args, "--weight="+number(float64(w), 9))
		}
		if rng.IntN(4) == 0 {
			o.States = 1 + rng.IntN(40)
			args = append(args, fmt.Sprintf("--nstate=%d", o.States))
		}
		what := fmt.Sprintf("machine %d: ShortestPath %v", i, args)
		in, out := fsttest.WriteFile(p, fst.Expanded[semiring.Tropical](f), nil), p.File()
		r := p.Run("fstshortestpath", append(args, in, out)...)
		var got *fst.Vector[semiring.Tropical]
		var err error
		if unique {
			got, err = ops.ShortestPathUnique(f, o)
		} else {
			got, err = ops.ShortestPath(f, o)
		}
		if (err == nil) != (r.Exit == 0) {
			t.Fatalf("%s: error %v, OpenFst exits %d\n%s", what, err, r.Exit, printText(f))
		}
		if err == nil {
			checkSame(t, what, f, got, fsttest.ReadFile[semiring.Tropical](p, out))
		}
	}
}

// On this machine every search for distinct strings meets new subsets at the
// same distance for ever.
func TestShortestPathUniqueEnds(t *testing.T) {
	f := fst.NewVector[semiring.Tropical](3)
	f.AddStates(3)
	f.SetStart(0)
	f.SetFinal(2, 0)
	arc := func(p fst.StateID, l fst.Label, w semiring.Tropical, q fst.StateID) {
		f.AddArc(p, fst.Arc[semiring.Tropical]{ILabel: l, OLabel: l, Weight: w, NextState: q})
	}
	arc(0, 1, 0, 0)
	arc(0, 2, 0, 2)
	arc(0, 2, 0, 1)
	arc(1, 1, 1, 1)
	arc(0, 1, 0, 1)
	arc(1, 2, 0, 2)
	_, err := ops.ShortestPathUnique(f, &ops.ShortestPathOptions[semiring.Tropical]{N: 3, MaxVisits: 20000})
	if !errors.Is(err, ops.ErrEndless) {
		t.Fatalf("error %v, want ErrEndless", err)
	}
}

// Many visits of the same states are no sign of a search without an end: all paths are equally good here, so that
// the search goes on until each state has been visited as often as paths are asked for.
func TestShortestPathUniqueOfTies(t *testing.T) {
	const length, paths = 60, 40
	for _, loop := range []bool{false, true} { // of weight 1: the machine is not acyclic, and yet determinizable
		f := fst.NewVector[semiring.Tropical](length + 1)
		f.AddStates(length + 1)
		f.SetStart(0)
		f.SetFinal(length, 0)
		for q := range fst.StateID(length) {
			for l := range fst.Label(6) {
				f.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: l + 1, OLabel: l + 1, Weight: 1, NextState: q + 1})
			}
		}
		if loop {
			f.AddArc(length, fst.Arc[semiring.Tropical]{ILabel: 7, OLabel: 7, Weight: 1, NextState: length})
		}
		out, err := ops.ShortestPathUnique(f, &ops.ShortestPathOptions[semiring.Tropical]{N: paths, MaxVisits: length + 2})
		if err != nil {
			t.Fatal(err)
		}
		strings := map[string]bool{}
		enumerate(out, func(path []ops.ArcRef, _ fst.StateID, w semiring.Tropical) {
			var s []fst.Label
			for _, r := range path {
				if e := out.Arcs(r.State)[r.Arc]; e.ILabel != 0 {
					s = append(s, e.ILabel)
				}
			}
			if len(s) != length || w != length {
				t.Fatalf("string %v of weight %v", s, w)
			}
			strings[fmt.Sprint(s)] = true
		})
		if len(strings) != paths {
			t.Errorf("%d strings, want %d", len(strings), paths)
		}
	}
}

// The n best paths are the n least weights of the enumerated paths, and the n
// best strings those of the enumerated strings.
func TestShortestPathByEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 1))
	for range 300 {
		s := randomShape(rng)
		s.acyclic, s.coarse, s.acceptor, s.arcs = true, true, true, min(s.arcs, 14)
		f := draw[semiring.Tropical](rng, s)
		collect := func(g fst.Expanded[semiring.Tropical], skip int, distinct bool) []float64 {
			var ws []float64
			best := map[string]float64{}
			enumerate(g, func(path []ops.ArcRef, _ fst.StateID, w semiring.Tropical) {
				str := ""
				for _, r := range path[min(skip, len(path)):] {
					str += fmt.Sprint(g.Arcs(r.State)[r.Arc].ILabel, " ")
				}
				if old, ok := best[str]; !ok || float64(w) < old {
					best[str] = float64(w)
				}
				ws = append(ws, float64(w))
			})
			if distinct {
				ws = slices.Collect(maps.Values(best))
			}
			slices.Sort(ws)
			return ws
		}
		for _, unique := range []bool{false, true} {
			all := collect(f, 0, unique)
			for _, n := range []int{1, 2, 5} {
				o := &ops.ShortestPathOptions[semiring.Tropical]{N: n}
				g, err := ops.ShortestPath(f, o)
				if unique {
					g, err = ops.ShortestPathUnique(f, o)
				}
				if err != nil {
					t.Fatal(err)
				}
				got, want := collect(g, 1, false), all[:min(n, len(all))]
				if !slices.Equal(got, want) {
					t.Fatalf("unique=%v n=%d: weights %v, want %v\n%s", unique, n, got, want, printText(f))
				}
			}
		}
	}
}

// With the queue shortest first and no negative arcs, stopping at the first
// path changes nothing.
func TestShortestPathFirstPath(t *testing.T) {
	rng := rand.New(rand.NewPCG(42, 1))
	for range 300 {
		s := randomShape(rng)
		s.negative, s.coarse = false, true
		f := draw[semiring.Tropical](rng, s)
		o := ops.ShortestPathOptions[semiring.Tropical]{Queue: ops.QueueShortestFirst}
		a, err := ops.ShortestPath(f, &o)
		o.FirstPath = true
		b, err1 := ops.ShortestPath(f, &o)
		if err != nil || err1 != nil {
			t.Fatal(err, err1)
		}
		if x, y := printText(a), printText(b); x != y {
			t.Fatalf("all\n%sfirst\n%s", x, y)
		}
	}
}
