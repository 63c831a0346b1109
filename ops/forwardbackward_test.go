package ops_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// enumerate calls each with the arcs of every successful path of an acyclic f,
// its end and its weight.
func enumerate[W semiring.Weight[W]](f fst.Expanded[W], each func(path []ops.ArcRef, end fst.StateID, w W)) {
	var path []ops.ArcRef
	var walk func(q fst.StateID, w W)
	walk = func(q fst.StateID, w W) {
		if fst.IsFinal(fst.Fst[W](f), q) {
			each(path, q, w.Times(f.Final(q)))
		}
		for i, e := range f.Arcs(q) {
			path = append(path, ops.ArcRef{State: q, Arc: i})
			walk(e.NextState, w.Times(e.Weight))
			path = path[:len(path)-1]
		}
	}
	if f.Start() != fst.NoState {
		walk(f.Start(), semiring.One[W]())
	}
}

// Posteriors are ratios of sums over the enumerated paths.
func TestForwardBackwardByEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 1))
	seen := 0
	for range 300 {
		s := randomShape(rng)
		s.acyclic, s.arcs = true, min(s.arcs, 16)
		f := draw[semiring.Log64](rng, s)
		total := semiring.Zero[semiring.Log64]()
		arcs, ends := map[ops.ArcRef]semiring.Log64{}, map[fst.StateID]semiring.Log64{}
		enumerate(fst.Expanded[semiring.Log64](f), func(path []ops.ArcRef, end fst.StateID, w semiring.Log64) {
			total = total.Plus(w)
			for _, r := range path {
				if old, ok := arcs[r]; ok {
					w := old.Plus(w)
					arcs[r] = w
				} else {
					arcs[r] = w
				}
			}
			if old, ok := ends[end]; ok {
				w = old.Plus(w)
			}
			ends[end] = w
		})
		post, err := ops.Posteriors(f, nil)
		if semiring.IsZero(total) {
			if !errors.Is(err, ops.ErrNoPath) {
				t.Fatalf("error %v, want ErrNoPath", err)
			}
			continue
		}
		seen++
		flow, err1 := ops.ForwardBackward(f, nil)
		counts, finals, logTotal, err2 := ops.ExpectedCounts(f, nil)
		if err := errors.Join(err, err1, err2); err != nil {
			t.Fatal(err)
		}
		if !within(logTotal, -float64(total), 1e-12) {
			t.Fatalf("log total %v, want %v", logTotal, -float64(total))
		}
		k := 0
		for q := range fst.StateID(f.NumStates()) {
			for i := range f.Arcs(q) {
				want, ok := arcs[ops.ArcRef{State: q, Arc: i}]
				if !ok {
					want = semiring.Zero[semiring.Log64]()
				}
				p := math.Exp(float64(total - want))
				if !within(counts[k], p, 1e-11) || !within(math.Exp(-float64(post.Arcs(q)[i])), p, 1e-11) ||
					!within(float64(flow.Arcs(q)[i]), float64(want), 1e-11) {
					t.Fatalf("arc %d of state %d: count %v, posterior %v, flow %v; want %v\n%s", i, q, counts[k], post.Arcs(q)[i], flow.Arcs(q)[i], p, printText(f))
				}
				k++
			}
			want := 0.0
			if w, ok := ends[q]; ok {
				want = math.Exp(float64(total - w))
			}
			if !within(finals[q], want, 1e-11) || !within(math.Exp(-float64(post.Final[q])), want, 1e-11) {
				t.Fatalf("end %d: %v and %v, want %v", q, finals[q], post.Final[q], want)
			}
		}
	}
	if seen < 50 {
		t.Fatalf("only %d machines with paths", seen)
	}
}

// With cycles, expected counts are derivatives: of the logarithm of the total by
// the logarithm of an arc's weight (central differences).
func TestExpectedCountsAreDerivatives(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 1))
	for range 60 {
		f := closed[semiring.Probability](rng)
		counts, _, _, err := ops.ExpectedCounts(f, nil)
		if errors.Is(err, ops.ErrNoPath) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		k := 0
		for q := range fst.StateID(f.NumStates()) {
			for i := range f.Arcs(q) {
				const h = 1e-5
				e := &f.MutableArcs(q)[i]
				w := e.Weight
				at := func(x float64) float64 {
					e.Weight = w * semiring.Probability(math.Exp(x))
					z, err := ops.TotalWeight(f, nil)
					if err != nil {
						t.Fatal(err)
					}
					return math.Log(float64(z))
				}
				want := (at(h) - at(-h)) / (2 * h)
				e.Weight = w
				if !within(counts[k], want, 1e-5) {
					t.Fatalf("arc %d of state %d: %v, derivative %v\n%s", i, q, counts[k], want, printText(f))
				}
				k++
			}
		}
	}
}

// Over the tropical semirings the passage of an arc is the best path through it.
func TestMinMarginals(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 1))
	for range 200 {
		s := randomShape(rng)
		s.acyclic, s.coarse, s.arcs = true, true, min(s.arcs, 16)
		f := draw[semiring.Tropical](rng, s)
		best := map[ops.ArcRef]semiring.Tropical{}
		enumerate(fst.Expanded[semiring.Tropical](f), func(path []ops.ArcRef, _ fst.StateID, w semiring.Tropical) {
			for _, r := range path {
				if old, ok := best[r]; !ok || w < old {
					best[r] = w
				}
			}
		})
		p, err := ops.ForwardBackward(f, nil)
		if err != nil {
			t.Fatal(err)
		}
		for q := range fst.StateID(f.NumStates()) {
			for i := range f.Arcs(q) {
				want, ok := best[ops.ArcRef{State: q, Arc: i}]
				if !ok {
					want = want.Zero()
				}
				if p.Arcs(q)[i] != want {
					t.Fatalf("arc %d of state %d: %v, want %v", i, q, p.Arcs(q)[i], want)
				}
			}
		}
	}
}
