package ops_test

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// drawDeterministic makes a random machine that is deterministic on its input.
func drawDeterministic[W interface {
	semiring.Weight[W]
	~float32 | ~float64
}](rng *rand.Rand, s shape) *fst.Vector[W] {
	s.labels += rng.IntN(3)
	s.arcs *= 2
	f := draw[W](rng, s)
	for q := range fst.StateID(f.NumStates()) {
		seen := map[fst.Label]bool{}
		var kept []fst.Arc[W]
		for _, e := range f.Arcs(q) {
			if !seen[e.ILabel] {
				seen[e.ILabel] = true
				kept = append(kept, e)
			}
		}
		f.SetArcs(q, kept)
	}
	fst.PropertiesOf[W](f, fst.AllProperties)
	return f
}

func TestMinimizeAsOpenFst(t *testing.T) {
	t.Run("tropical", minimizeAsOpenFst[semiring.Tropical])
	t.Run("log64", minimizeAsOpenFst[semiring.Log64])
	t.Run("log", minimizeAsOpenFst[semiring.Log])
}

// Of machines that are not deterministic, those on which OpenFst stops too soon come out with more states here, the others as there.
func TestMinimizeNondeterministicAsOpenFst(t *testing.T) {
	p := newPeer(t)
	rng := rand.New(rand.NewPCG(1, 24))
	alike, more := 0, 0
	for i := range machines(t, 12) {
		s := randomShape(rng)
		s.acceptor, s.negative = true, false
		if s.unweighted = rng.IntN(3) > 0; s.unweighted {
			s.states, s.arcs, s.labels = 1+rng.IntN(20), rng.IntN(60), 1+rng.IntN(2)
		}
		f := draw[semiring.Tropical](rng, s)
		got, err := ops.Minimize(f, &ops.MinimizeOptions{ArcOrder: true, AllowNondet: true})
		if err != nil {
			t.Fatal(err)
		}
		write(p, "in", f)
		p.must("fstminimize", "--allow_nondet", "in", "out")
		_, info, _ := strings.Cut(p.must("fstinfo", "out"), "# of states")
		theirs, err := strconv.Atoi(strings.Fields(info)[0])
		if err != nil {
			t.Fatal(err)
		}
		if theirs < got.NumStates() {
			more++
			continue
		}
		alike++
		if !sameAs(p, "out", got, 1e-3) {
			t.Fatalf("machine %d, fstminimize --allow_nondet:\n%s", i, p.show("in", "out", "ours"))
		}
	}
	t.Logf("%d machines come out alike, %d with more states here", alike, more)
	if 2*more > alike {
		t.Errorf("only %d machines come out alike, and %d with more states here", alike, more)
	}
}

func minimizeAsOpenFst[W interface {
	semiring.Component[W]
	~float32 | ~float64
}](t *testing.T) {
	p := newPeer(t)
	rng := rand.New(rand.NewPCG(1, 23))
	_, path := any(W(0)).(semiring.Path[W])
	for i := range machines(t, 12) {
		s := randomShape(rng)
		s.acceptor = rng.IntN(2) == 0
		if rng.IntN(2) == 0 {
			s.states, s.arcs, s.unweighted = 1+rng.IntN(40), rng.IntN(100), true
		}
		s.negative = s.negative && !s.unweighted
		// Over log, the cycles that are pushed on must sum to less than one.
		s.acyclic = s.acyclic || !path && !(s.unweighted && s.acceptor)
		f := drawDeterministic[W](rng, s)
		write(p, "in", f)
		o := &ops.MinimizeOptions{ArcOrder: true}
		if s.acceptor || rng.IntN(2) == 0 {
			got, err := ops.Minimize(f, o)
			if err != nil {
				t.Fatalf("Minimize: %v\n%s", err, p.show("in"))
			}
			p.must("fstminimize", "in", "out")
			if !sameAs(p, "out", got, 1e-3) {
				t.Fatalf("machine %d, fstminimize:\n%s", i, p.show("in", "out", "ours"))
			}
			continue
		}
		got, strings, err := ops.MinimizeFactored(f, o)
		if errors.Is(err, ops.ErrAcceptor) {
			continue
		}
		if err != nil {
			t.Fatalf("MinimizeFactored: %v\n%s", err, p.show("in"))
		}
		p.must("fstminimize", "in", "out", "out2")
		if !sameAs(p, "out", got, 1e-3) || !sameAs(p, "out2", strings, 1e-3) {
			t.Fatalf("machine %d, fstminimize with two outputs:\n%s", i, p.show("in", "out", "out2"))
		}
	}
}
