package pdt_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/ops/pdt"
	"github.com/tropica-fst/tropica/semiring"
)

// upTo is the expansion of f without the stacks that are higher than height, by definition; nil beyond so many states.
func upTo(f *fst.Vector[T], pairs []fst.LabelPair, height, states int) *fst.Vector[T] {
	type at struct {
		q     fst.StateID
		stack string // of closing labels
	}
	number := map[at]fst.StateID{}
	var all []at
	out := fst.NewVector[T](0)
	id := func(a at) fst.StateID {
		n, ok := number[a]
		if !ok {
			n = out.AddState()
			number[a] = n
			all = append(all, a)
		}
		return n
	}
	out.SetStart(id(at{f.Start(), ""}))
	for i := 0; i < len(all); i++ {
		if len(all) > states {
			return nil
		}
		c := all[i]
		if c.stack == "" {
			out.SetFinal(fst.StateID(i), f.Final(c.q))
		}
		for _, a := range f.Arcs(c.q) {
			stack, allowed := c.stack, true
			for _, p := range pairs {
				switch a.ILabel {
				case p.From:
					stack += string(rune(p.To))
					allowed = len(stack) <= height
					a.ILabel, a.OLabel = 0, 0
				case p.To:
					allowed = strings.HasSuffix(stack, string(rune(p.To)))
					stack = strings.TrimSuffix(stack, string(rune(p.To)))
					a.ILabel, a.OLabel = 0, 0
				}
			}
			if allowed {
				a.NextState = id(at{a.NextState, stack})
				out.AddArc(fst.StateID(i), a)
			}
		}
	}
	return out
}

// near is what Prune leaves of upTo.
func near(f *fst.Vector[T], pairs []fst.LabelPair, threshold T, height, states int) *fst.Vector[T] {
	e := upTo(f, pairs, height, states)
	if e != nil {
		fsttest.Must(0, ops.Prune(e, &ops.PruneOptions[T]{Threshold: &threshold}))
	}
	return e
}

// reweighted moves weights by a potential of each state, so that some arcs are better than 1̄ and no cycle is that was not.
func reweighted(rng *rand.Rand, f *fst.Vector[T]) *fst.Vector[T] {
	g := f.Clone()
	v := make([]T, g.NumStates())
	for q := range v {
		v[q] = weightOf(rng)
	}
	for q := range fst.StateID(g.NumStates()) {
		for i := range g.MutableArcs(q) {
			a := &g.MutableArcs(q)[i]
			a.Weight += v[a.NextState] - v[q]
		}
	}
	g.SetProperties(0, fst.AllProperties)
	return g
}

// drawRecursive returns a machine with cycles, about half of whose arcs are parentheses, and most often an unbounded stack.
func drawRecursive(rng *rand.Rand, states int, weightOf func(*rand.Rand) T) (*fst.Vector[T], []fst.LabelPair) {
	f := fst.NewVector[T](states)
	f.AddStates(states)
	f.SetStart(0)
	f.SetFinal(fst.StateID(rng.IntN(states)), weightOf(rng))
	pairs := []fst.LabelPair{{From: 10, To: 11}, {From: 13, To: 20}, {From: 6, To: 15}}[:1+rng.IntN(3)]
	degree := 1.5 + 1.5*rng.Float64()
	for range int(degree * float64(states)) {
		l := fst.Label(rng.IntN(4))
		if p := pairs[rng.IntN(len(pairs))]; rng.IntN(2) == 0 {
			l = []fst.Label{p.From, p.To}[rng.IntN(2)]
		}
		f.AddArc(fst.StateID(rng.IntN(states)), fst.Arc[T]{ILabel: l, OLabel: l, Weight: weightOf(rng), NextState: fst.StateID(rng.IntN(states))})
	}
	return f, pairs
}

// Where the stack is not bounded, ExpandPruned leaves what Prune does of the expansion up to some height; or that has ever more
// within the threshold, the higher it is.
func TestExpandPrunedUnbounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 1))
	same, empty, endless, large, undecided, deepest := 0, 0, 0, 0, 0, 0
	for i := range 3000 {
		weights := [][]T{{0, 0.25, 0.5, 1, 2}, {0.25, 0.5, 0.75, 1}, {0, 0, 0.5}, {0}}[rng.IntN(8)&3]
		f, pairs := drawRecursive(rng, 2+rng.IntN(9), func(rng *rand.Rand) T { return weights[rng.IntN(len(weights))] })
		if i%3 == 1 {
			f = reweighted(rng, f)
		}
		if pdt.Bounded(f, pairs, ops.Limits{}) == nil {
			continue
		}
		threshold := T(rng.IntN(13)-1) / 4
		got, err := pdt.ExpandPruned(f, pairs, threshold, &pdt.ExpandOptions{Limits: ops.Limits{States: 5000}})
		show := func(format string, a ...any) {
			t.Helper()
			t.Fatalf("%s\n%v, threshold %v, got %v\nof\n%s", fmt.Sprintf(format, a...), pairs, threshold, err, text(f))
		}
		const states = 20000
		switch {
		case errors.Is(err, pdt.ErrUnbounded):
			was, last := -1, -1
			for height := 4; height < 40 && last < 3; height += 3 {
				e := near(f, pairs, threshold, height, states)
				if e == nil {
					break
				}
				if was == e.NumStates() {
					last = -1 << 20
				} else if was >= 0 {
					last++
				}
				was = e.NumStates()
			}
			if last < -1 {
				show("within the threshold are no more than %d states", was)
			}
			var state *ops.StateError
			if !errors.As(err, &state) || state.Op != "pdt.ExpandPruned" {
				show("no state")
			}
			endless++
		case errors.Is(err, ops.ErrLimit):
			large++
		case err != nil:
			show("another error")
		default:
			text1 := arcsBetween(got)
			for height := 1; ; height++ {
				want := near(f, pairs, threshold, height, states)
				if want == nil {
					undecided++
					break
				}
				if got.NumStates() == want.NumStates() && slices.Equal(text1, arcsBetween(want)) {
					// and it stays so
					if more := near(f, pairs, threshold, height+2, states); more != nil && more.NumStates() != want.NumStates() {
						continue
					}
					deepest = max(deepest, height)
					break
				}
				if height > 60 {
					show("not\n%s\nbut\n%s", text(want), text(got))
				}
			}
			if same++; got.NumStates() == 0 {
				empty++
			}
		}
	}
	t.Logf("%d the same, %d of them empty, as deep as %d; %d endless, %d large, %d undecided", same, empty, deepest, endless, large, undecided)
	if same-empty < 500 || endless < 100 || deepest < 8 || undecided > same/10 {
		t.Error("the draw is no good")
	}
}

// A rule that calls itself: S -> a S b, S -> c. Each turn costs turn in front and back behind, and c other.
func selfCalling[W semiring.Weight[W]](turn, back, other W) (*fst.Vector[W], []fst.LabelPair) {
	f, one := fst.NewVector[W](6), semiring.One[W]()
	f.AddStates(6)
	f.SetStart(0)
	f.SetFinal(5, one)
	add := func(q fst.StateID, l fst.Label, w W, next fst.StateID) {
		f.AddArc(q, fst.Arc[W]{ILabel: l, OLabel: l, Weight: w, NextState: next})
	}
	add(0, 8, one, 1)
	add(1, 1, turn, 2)
	add(2, 10, one, 1)
	add(1, 3, other, 4)
	add(4, 11, one, 3)
	add(3, 2, back, 4)
	add(4, 9, one, 5)
	return f, []fst.LabelPair{{From: 8, To: 9}, {From: 10, To: 11}}
}

func TestExpandPrunedGrammar(t *testing.T) {
	for _, c := range []struct {
		turn, back, threshold T
		turns                 int // -1 without end
	}{
		{1, 0, 0, 0}, {1, 0, 0.75, 0}, {1, 0, 1, 1}, {0.25, 0.25, 10, 20}, {0, 0.5, 2, 4},
		{0, 0, 0, -1}, {0, 0, 3, -1}, {-1, 1, 3, -1}, {2, -2, 0, -1}, {2, -1.5, 2, 4}, {0, 0, -1, 0},
	} {
		f, pairs := selfCalling(c.turn, c.back, 2)
		e, err := pdt.ExpandPruned(f, pairs, c.threshold, nil)
		if c.threshold < 0 {
			if err != nil || e.NumStates() != 0 {
				t.Errorf("%+v: %v, not empty", c, err)
			}
			continue
		}
		if c.turns < 0 {
			var state *ops.StateError
			if !errors.Is(err, pdt.ErrUnbounded) || !errors.As(err, &state) || state.State != 1 || !strings.Contains(err.Error(), "parenthesis 10 leads back") {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		// Four states of each turn, and four without.
		if want := 4 + 4*c.turns; e.NumStates() != want {
			t.Errorf("%+v: %d states, not %d\n%s", c, e.NumStates(), want, text(e))
		}
		if rel := fsttest.Relation[T](e, -1); len(rel) != c.turns+1 {
			t.Errorf("%+v: strings %v", c, rel)
		}
	}
}

// Without a limit, or at it: there is an end.
func TestExpandPrunedUnboundedLimits(t *testing.T) {
	f, pairs := selfCalling[T](1.0/(1<<20), 0, 2) // a million turns within a threshold of 1
	late, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	for name, lim := range map[string]ops.Limits{"states": {States: 1000}, "arcs": {Arcs: 1000}, "bytes": {Bytes: 1 << 20}, "context": {Ctx: late}} {
		var limit *ops.LimitError
		if _, err := pdt.ExpandPruned(f, pairs, 1, &pdt.ExpandOptions{Limits: lim}); !errors.As(err, &limit) || limit.Limit != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Weights that cancel out but for rounding.
	f, pairs = selfCalling[T](0.1, -0.1, 2)
	if _, err := pdt.ExpandPruned(f, pairs, 1, &pdt.ExpandOptions{Limits: ops.Limits{States: 1000}}); !errors.Is(err, ops.ErrLimit) && !errors.Is(err, pdt.ErrUnbounded) {
		t.Errorf("%v", err)
	}
	// A path may be as deep as there are turns.
	f, pairs = selfCalling[T](1.0/1024, 0, 2)
	e, err := pdt.ExpandPruned(f, pairs, 4, nil)
	if err != nil || e.NumStates() != 4+4*4096 {
		t.Errorf("%v", err)
	}
}

// With weights of which the worst one counts, what is no worse than the limit is free: nothing gets worse by being put around again.
func TestExpandPrunedMinMax(t *testing.T) {
	g, pairs := selfCalling[semiring.MinMax](3, 1, 2)
	e, err := pdt.ExpandPruned(g, pairs, 2.5, nil)
	if err != nil || e.NumStates() != 4 {
		t.Errorf("a turn is worse than the limit: %v", err)
	}
	if _, err := pdt.ExpandPruned(g, pairs, 3, nil); !errors.Is(err, pdt.ErrUnbounded) {
		t.Errorf("no turn is worse than the limit: %v", err)
	}
}
