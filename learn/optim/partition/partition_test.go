package partition

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// every calls found with each cover of the allowed sets.
func every(c *Cover, score []float64, found func(sets []int, value float64)) {
	covered := make([]bool, c.Elements())
	var sets []int
	var walk func(v int)
	walk = func(v int) {
		for v < len(covered) && covered[v] {
			v++
		}
		if v == len(covered) {
			all := slices.Sorted(slices.Values(sets))
			value := 0.0
			for _, h := range all {
				value += score[h]
			}
			found(all, value)
			return
		}
		for _, h := range c.Of(v) {
			if math.IsInf(score[h], -1) || slices.ContainsFunc(c.Members(int(h)),
				func(x int32) bool { return covered[x] }) {
				continue
			}
			for _, x := range c.Members(int(h)) {
				covered[x] = true
			}
			sets = append(sets, int(h))
			walk(v)
			sets = sets[:len(sets)-1]
			for _, x := range c.Members(int(h)) {
				covered[x] = false
			}
		}
	}
	walk(0)
}

// random draws a cover problem of frames of m and n detections: moves, pairs on either side, and
// singletons; each may be missing.
func random(rng *rand.Rand, m, n int, pairs bool, density, missing float64) (*Cover, []float64) {
	var sets [][]int32
	for i := range m {
		for j := range n {
			if rng.Float64() < density {
				sets = append(sets, []int32{int32(i), int32(m + j)})
			}
		}
	}
	if pairs {
		for i := range m {
			for j := range n {
				for k := range j {
					if rng.Float64() < density {
						sets = append(sets, []int32{int32(i), int32(m + j), int32(m + k)})
					}
				}
			}
		}
		for j := range n {
			for i := range m {
				for k := range i {
					if rng.Float64() < density {
						sets = append(sets, []int32{int32(m + j), int32(i), int32(k)})
					}
				}
			}
		}
	}
	for v := range m + n {
		if rng.Float64() >= missing {
			sets = append(sets, []int32{int32(v)})
		}
	}
	rng.Shuffle(len(sets), func(i, j int) { sets[i], sets[j] = sets[j], sets[i] })
	c, err := New(m+n, sets)
	if err != nil {
		panic(err)
	}
	score := make([]float64, len(sets))
	for h := range score {
		score[h] = 3*rng.NormFloat64() + float64(len(sets[h])) // singletons are rarely best
		if rng.IntN(20) == 0 {
			score[h] = math.Inf(-1)
		}
		if rng.IntN(3) == 0 && !math.IsInf(score[h], -1) {
			score[h] = math.Round(score[h]) // ties
		}
	}
	return c, score
}

func TestSolveAgainstEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	branched, infeasible := 0, 0
	for trial := range 2000 {
		c, score := random(rng, rng.IntN(6), rng.IntN(6), trial%3 > 0, 0.2+0.8*rng.Float64(),
			[]float64{0, 0.2, 0.9}[trial%3])
		best := math.Inf(-1)
		every(c, score, func(_ []int, v float64) { best = math.Max(best, v) })
		s, err := c.Solve(context.Background(), score, nil)
		if math.IsInf(best, -1) {
			infeasible++
			if !errors.Is(err, ErrInfeasible) {
				t.Fatalf("trial %d has no cover, Solve returns %v, %v", trial, s, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		check(t, c, s)
		if !s.Optimal || math.Abs(s.Value-best) > 1e-7 || s.Bound != s.Value {
			t.Fatalf("trial %d: value %v, bound %v, optimal %v; the best is %v", trial, s.Value,
				s.Bound, s.Optimal, best)
		}
		if s.Nodes > 3 {
			branched++
		}
	}
	if branched < 20 || infeasible < 20 {
		t.Errorf("%d trials branched, %d were infeasible: the test is too easy", branched, infeasible)
	}
}

// check fails unless the sets cover every element once.
func check(t *testing.T, c *Cover, s *Solution) {
	t.Helper()
	times := make([]int, c.Elements())
	for _, h := range s.Sets {
		for _, v := range c.Members(h) {
			times[v]++
		}
	}
	for v, n := range times {
		if n != 1 {
			t.Fatalf("element %d is covered %d times", v, n)
		}
	}
}

// Branch and bound, whose bound is not the assignment's, finds what augmenting paths find.
func TestAssignmentAgainstBranchAndBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for trial := range 200 {
		m, n := 1+rng.IntN(25), 1+rng.IntN(25)
		c, score := random(rng, m, n, false, 0.3, 0)
		for h := range score { // so that covers exist
			if math.IsInf(score[h], -1) {
				score[h] = -1
			}
		}
		s, err := c.Solve(context.Background(), score, nil)
		if err != nil {
			t.Fatal(err)
		}
		check(t, c, s)
		// A set of three elements, never worth while, keeps a component from being an assignment.
		sets := [][]int32{}
		for h := range c.Sets() {
			sets = append(sets, c.Members(h))
		}
		more := slices.Clone(score)
		for v := 0; v+2 < m+n; v++ {
			sets, more = append(sets, []int32{int32(v), int32(v + 1), int32(v + 2)}), append(more, -1e3)
		}
		general, err := New(m+n, sets)
		if err != nil {
			t.Fatal(err)
		}
		g, err := general.Solve(context.Background(), more, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !s.Optimal || !g.Optimal || math.Abs(s.Value-g.Value) > 1e-6 {
			t.Fatalf("trial %d: assignment %v, branch and bound %v", trial, s.Value, g.Value)
		}
	}
}

func TestBoundHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for trial := range 300 {
		c, score := random(rng, 1+rng.IntN(5), 1+rng.IntN(5), true, 0.7, 0)
		s, err := c.Solve(context.Background(), score, nil)
		if errors.Is(err, ErrInfeasible) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			u := make([]float64, c.Elements())
			for v := range u {
				u[v] = 3 * rng.NormFloat64()
			}
			if b := c.Bound(score, u); b < s.Value-1e-9 {
				t.Fatalf("trial %d: bound %v below the value %v", trial, b, s.Value)
			}
		}
	}
}

func TestKBestAgainstEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	for trial := range 400 {
		c, score := random(rng, rng.IntN(5), rng.IntN(5), trial%2 > 0, 0.2+0.6*rng.Float64(), 0.1)
		var values []float64
		every(c, score, func(_ []int, v float64) { values = append(values, v) })
		slices.SortFunc(values, func(a, b float64) int { return cmp.Compare(b, a) })
		k := 1 + rng.IntN(12)
		list, err := c.KBest(context.Background(), score, k, nil)
		if len(values) == 0 {
			if !errors.Is(err, ErrInfeasible) {
				t.Fatalf("trial %d: %v", trial, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != min(k, len(values)) {
			t.Fatalf("trial %d: %d covers of %d, %d asked for", trial, len(list), len(values), k)
		}
		for i, s := range list {
			check(t, c, s)
			if !s.Optimal || math.Abs(s.Value-values[i]) > 1e-7 {
				t.Fatalf("trial %d: cover %d has %v, by enumeration %v", trial, i+1, s.Value, values[i])
			}
			for _, other := range list[:i] {
				if slices.Equal(s.Sets, other.Sets) {
					t.Fatalf("trial %d: cover %d comes twice", trial, i+1)
				}
			}
		}
	}
}

// The linear relaxation is fractional: three sets of two around a triangle. Only branching proves
// the value.
func TestFractionalRelaxation(t *testing.T) {
	c, err := New(3, [][]int32{{0, 1}, {1, 2}, {0, 2}, {0}, {1}, {2}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Solve(context.Background(), []float64{2, 2, 2, 0, 0, 0}, nil)
	if err != nil || s.Value != 2 || !s.Optimal {
		t.Fatalf("%+v, %v", s, err)
	}
}

func TestLimitGivesIncumbentAndBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	open := 0
	for range 20 {
		c, score := random(rng, 12, 13, true, 0.9, 0)
		for h := range score {
			if math.IsInf(score[h], -1) {
				score[h] = -5
			}
		}
		exact, err := c.Solve(context.Background(), score, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.Solve(context.Background(), score, &Options{Nodes: 1})
		if err != nil {
			t.Fatal(err)
		}
		check(t, c, s)
		if s.Value > exact.Value+1e-7 || s.Bound < exact.Value-1e-7 {
			t.Fatalf("value %v, bound %v, exact %v", s.Value, s.Bound, exact.Value)
		}
		if !s.Optimal {
			open++
		}
	}
	if open == 0 {
		t.Error("no problem met the limit: the test is too easy")
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	rng := rand.New(rand.NewPCG(6, 1))
	c, score := random(rng, 20, 20, true, 0.5, 0)
	for h := range score {
		score[h] = math.Max(score[h], -10)
	}
	if _, err := c.Solve(ctx, score, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestMistakes(t *testing.T) {
	for _, sets := range [][][]int32{{{}}, {{0, 0}}, {{-1}}, {{2}}} {
		if _, err := New(2, sets); err == nil {
			t.Errorf("sets %v were taken", sets)
		}
	}
	c, err := New(2, [][]int32{{0}, {0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, score := range [][]float64{{1}, {math.NaN(), 0}, {math.Inf(1), 0}} {
		if _, err := c.Solve(context.Background(), score, nil); err == nil {
			t.Errorf("scores %v were taken", score)
		}
	}
	var e *InfeasibleError
	if _, err := c.Solve(context.Background(), []float64{1, math.Inf(-1)}, nil); !errors.As(
		err, &e) || e.Element != 1 {
		t.Errorf("%v", err)
	}
}
