package ops_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

func TestPruneAgainstOpenFst(t *testing.T) {
	p := fsttest.OpenFst(t)
	rng := rand.New(rand.NewPCG(9, 1))
	for i := range machines(t, 20) {
		f := draw[semiring.Tropical](rng, randomShape(rng))
		in := f.Clone()
		o := &ops.PruneOptions[semiring.Tropical]{Delta: 1.0 / 1024}
		var args []string
		if rng.IntN(5) > 0 {
			w := semiring.Tropical(rng.IntN(10)-1) / 2
			o.Threshold = &w
			args = append(args, "--weight="+number(float64(w), 9))
		}
		if rng.IntN(3) == 0 {
			o.States = rng.IntN(8)
			args = append(args, fmt.Sprintf("--nstate=%d", o.States))
			if o.States == 0 {
				o.States = -1
			}
		}
		want := fsttest.Apply(p, "fstprune", args, fst.Expanded[semiring.Tropical](f))
		if err := ops.Prune(f, o); err != nil {
			t.Fatal(err)
		}
		checkSame(t, fmt.Sprintf("machine %d: Prune %v", i, args), in, f, want)
	}
}

func TestReweightAgainstOpenFst(t *testing.T) {
	p := fsttest.OpenFst(t)
	rng := rand.New(rand.NewPCG(10, 1))
	for i := range machines(t, 20) {
		f := draw[semiring.Tropical](rng, randomShape(rng))
		in := f.Clone()
		file, out := fsttest.WriteFile(p, fst.Expanded[semiring.Tropical](f), nil), p.File()
		v := make([]semiring.Tropical, rng.IntN(f.NumStates()+1))
		text := ""
		for q := range v {
			v[q] = semiring.Tropical(rng.IntN(8)-2) / 2
			if rng.IntN(6) == 0 {
				v[q] = v[q].Zero()
			}
			text += fmt.Sprintf("%d\t%s\n", q, number(float64(v[q]), 9))
		}
		var err error
		if rng.IntN(2) == 0 {
			p.Do("fstreweight", file, p.Text(text), out)
			err = ops.ReweightToInitial(f, v)
		} else {
			p.Do("fstreweight", "--to_final", file, p.Text(text), out)
			err = ops.ReweightToFinal(f, v)
		}
		if err != nil {
			t.Fatal(err)
		}
		checkSame(t, fmt.Sprintf("machine %d: Reweight by\n%s", i, text), in, f, fsttest.ReadFile[semiring.Tropical](p, out))
	}
}

// Prune keeps exactly the paths within the threshold, of those of an acyclic
// machine, and every arc left lies on one.
func TestPruneByEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 1))
	for range 300 {
		s := randomShape(rng)
		s.acyclic, s.coarse, s.arcs = true, true, min(s.arcs, 14)
		f := draw[semiring.Tropical](rng, s)
		threshold := semiring.Tropical(rng.IntN(6)) / 2
		weights := func(g fst.Expanded[semiring.Tropical]) map[semiring.Tropical]int {
			m := map[semiring.Tropical]int{}
			enumerate(g, func(_ []ops.ArcRef, _ fst.StateID, w semiring.Tropical) { m[w]++ })
			return m
		}
		all := weights(f)
		best := threshold.Zero()
		for w := range all {
			best = min(best, w)
		}
		if err := ops.Prune(f, &ops.PruneOptions[semiring.Tropical]{Threshold: &threshold}); err != nil {
			t.Fatal(err)
		}
		left := weights(f)
		for w, n := range all {
			if w <= best+threshold && left[w] != n {
				t.Fatalf("%d of %d paths of weight %v are left", left[w], n, w)
			}
		}
		p, err := ops.ForwardBackward(f, nil)
		if err != nil {
			t.Fatal(err)
		}
		for q := range fst.StateID(f.NumStates()) {
			for i, w := range p.Arcs(q) {
				if w > best+threshold {
					t.Fatalf("arc %d of state %d is left, its best path weighs %v, the limit is %v", i, q, w, best+threshold)
				}
			}
		}
	}
}

// Whatever the potentials, path weights stay.
func TestReweightKeepsPathWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(52, 1))
	for range 300 {
		s := randomShape(rng)
		s.acyclic, s.coarse, s.arcs = true, true, min(s.arcs, 14)
		f := draw[semiring.Tropical](rng, s)
		sum := func(g fst.Expanded[semiring.Tropical]) (ws []semiring.Tropical) {
			enumerate(g, func(_ []ops.ArcRef, _ fst.StateID, w semiring.Tropical) { ws = append(ws, w) })
			return ws
		}
		v := make([]semiring.Tropical, f.NumStates())
		for q := range v {
			v[q] = semiring.Tropical(rng.IntN(9)-4) / 2
		}
		want := sum(f)
		g := f.Clone()
		if err := ops.ReweightToInitial(f, v); err != nil {
			t.Fatal(err)
		}
		if err := ops.ReweightToFinal(g, v); err != nil {
			t.Fatal(err)
		}
		if a, b := sum(f), sum(g); !slices.Equal(a, want) || !slices.Equal(b, want) {
			t.Fatalf("path weights %v became %v and %v", want, a, b)
		}
	}
}
