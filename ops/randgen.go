package ops

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops/internal/draw"
	"github.com/tropica-fst/tropica/ops/internal/run"
	"github.com/tropica-fst/tropica/ops/internal/sums"
	"github.com/tropica-fst/tropica/semiring"
)

// ArcSelector says how RandGen chooses among the arcs of a state and stopping.
type ArcSelector uint8

const (
	// SelectUniform gives every arc, and stopping at a final state, the same
	// chance.
	SelectUniform ArcSelector = iota
	// SelectLogProb takes weights as negative log probabilities (over Probability
	// as probabilities), normalised at each state.
	SelectLogProb
	// SelectFastLogProb chooses as SelectLogProb does, and keeps the sums of each
	// state: O(log arcs) a choice, for 8 bytes an arc of the states visited.
	SelectFastLogProb
)

// ParseArcSelector reads the names that the tools use: uniform, log_prob,
// fast_log_prob.
func ParseArcSelector(s string) (ArcSelector, error) {
	switch s {
	case "uniform":
		return SelectUniform, nil
	case "log_prob":
		return SelectLogProb, nil
	case "fast_log_prob":
		return SelectFastLogProb, nil
	}
	return 0, fmt.Errorf("unknown selection %q; one of uniform, log_prob, fast_log_prob is expected", s)
}

// RandGenOptions adjusts RandGen; nil is the same as the zero value.
type RandGenOptions struct {
	Select ArcSelector // zero is SelectUniform
	NPath  int         // paths to draw; zero is one, negative none
	// A path of MaxLength arcs or more is dropped, as in OpenFst. Zero is no bound; what is
	// above 2²⁴ is none where paths have no end (ErrNoEnd), which would take gigabytes to come
	// there. Negative allows no arc and no stopping, as a length of 0 does in OpenFst.
	MaxLength int
	// Weighted gives the tree of all paths drawn, weighted by how often they were. An arc has the
	// share of its state's draws that took it, a final weight the share that stopped times NPath,
	// as negative logarithms.
	Weighted          bool
	RemoveTotalWeight bool // with Weighted: leave out the NPath, so that the tree sums to at most one
	Limits
}

// RandGen draws random paths of f, with replacement. Each begins at the start state, and at each
// state takes an arc or, at a final state, may stop. A path that comes to a state with neither, or
// that grows too long, is dropped.
//
// The result is a machine with a chain from its start for each path that was not dropped, all
// weights 1̄. With Weighted it is a tree in which paths share their beginnings, and dropped paths
// are dead ends. States are numbered in the order in which they are first drawn. Empty paths make
// the start of the chains final, once. The chains come in the order of the tree, depth first. rng
// alone decides, so equal generators give equal results, though not those of OpenFst for its seeds.
//
// A path may also reach a state from which all arcs lead round cycles for ever. Either no arc
// leaves the cycles, or what leaves them has a chance of less than 2⁻⁴⁰, such as a final weight of
// 1000. MaxLength drops such a path, too. Without it the path is a StateError around ErrNoEnd, with
// the first state on it from which there is no end. Machines with such states are drawn from as
// long as no path comes to one, and draws are the same.
//
// The selections by weight and Weighted need one of Tropical, Tropical64, Log,
// Log64 and Probability: else the error is around ErrNoProbability.
//
// Cost: draws are made for all paths at a state together. That takes O(draws) a state, or
// O(arcs·log draws) where there are hundreds for each arc. Selecting by weight takes O(arcs) more.
// Limits also count the path that is being drawn, although it may be dropped in the end. The search
// for an end starts from a path of 1024 arcs and is repeated at each power of two. It reads no more
// arcs than states have been drawn so far.
func RandGen[W semiring.Weight[W]](f fst.Fst[W], rng *rand.Rand, opts *RandGenOptions) (*fst.Vector[W], error) {
	g := &randGen[W]{f: f, rng: rng, zero: semiring.Zero[W]()}
	if opts != nil {
		g.o = *opts
	}
	if g.o.NPath == 0 {
		g.o.NPath = 1
	}
	g.meter = g.o.Limits.meter("RandGen")
	var ok bool
	if g.cost, g.weight, ok = costsOf[W](); !ok && (g.o.Weighted || g.o.Select != SelectUniform) {
		return nil, fmt.Errorf("ops: RandGen: %w: %s", ErrNoProbability, weightName(g.zero))
	}
	if g.o.Select > SelectFastLogProb {
		return nil, fmt.Errorf("ops: RandGen: unknown selection %d", g.o.Select)
	}
	g.out = fst.NewVector[W](0)
	g.out.CopySymbols(f)
	if g.o.NPath > math.MaxInt32 {
		return nil, fmt.Errorf("ops: RandGen: %d paths asked for, more than 2³¹-1", g.o.NPath)
	}
	if f.Start() == fst.NoState || g.o.NPath < 0 {
		if err := fst.Err(f); err != nil {
			return nil, err
		}
		if g.o.Weighted && f.Start() != fst.NoState { // a tree with nothing but its root
			g.out.SetStart(g.out.AddState())
		}
		return g.out, nil
	}
	g.endless = (g.o.MaxLength == 0 || g.o.MaxLength > longestEndless) && knownProperties(f)&fst.Acyclic == 0
	var err error
	if g.o.Weighted {
		err = g.tree()
	} else {
		err = g.chains()
	}
	if err == nil {
		err = g.err
	}
	if err != nil {
		return nil, err
	}
	if err := fst.Err(f); err != nil {
		return nil, err
	}
	p := fst.Acyclic | fst.InitialAcyclic | fst.UnweightedCycles | fst.Accessible
	if !g.o.Weighted {
		p |= fst.Unweighted | fst.CoAccessible
	}
	g.out.LearnProperties(p)
	return g.out, nil
}

// ErrNoProbability reports a weight type whose weights cannot be read as
// probabilities.
var ErrNoProbability = errors.New("weights of this type are not probabilities or negative logarithms of such")

// ErrNoEnd reports a path that was drawn to where it goes on for ever.
var ErrNoEnd = errors.New("a path that came here has no end: from here on no final state is reached, or none with a chance worth the name (a bound on lengths drops such paths: MaxLength; --max_length)")

// costsOf returns how weights are read as negative log probabilities, and made
// of them.
func costsOf[W any]() (cost func(W) float64, weight func(float64) W, ok bool) {
	type pair[T any] struct {
		cost   func(T) float64
		weight func(float64) T
	}
	var p pair[W]
	switch p := any(&p).(type) {
	case *pair[semiring.Tropical]:
		p.cost, p.weight = costs[semiring.Tropical]()
	case *pair[semiring.Tropical64]:
		p.cost, p.weight = costs[semiring.Tropical64]()
	case *pair[semiring.Log]:
		p.cost, p.weight = costs[semiring.Log]()
	case *pair[semiring.Log64]:
		p.cost, p.weight = costs[semiring.Log64]()
	case *pair[semiring.Probability]:
		p.cost = func(w semiring.Probability) float64 { return -math.Log(float64(w)) }
		p.weight = func(c float64) semiring.Probability { return semiring.Probability(math.Exp(-c)) }
	default:
		return nil, nil, false
	}
	return p.cost, p.weight, true
}

func costs[T sums.Float]() (func(T) float64, func(float64) T) {
	return func(w T) float64 { return float64(w) }, func(c float64) T { return T(c) }
}

type randGen[W semiring.Weight[W]] struct {
	f      fst.Fst[W]
	rng    *rand.Rand
	o      RandGenOptions
	out    *fst.Vector[W]
	zero   W
	cost   func(W) float64
	weight func(float64) W
	meter  run.Meter
	arcs   int64

	sums   map[fst.StateID][]float64 // SelectFastLogProb: sums of chances up to each arc
	scaled []float64
	drawn  []int32
	single int   // draws that were made one by one since the context was looked at
	err    error // of a look within draws

	endless  bool                     // paths may have no end
	steps    int                      // states drawn at
	searched int                      // arcs looked at in search of an end
	dead     map[fst.StateID]struct{} // states from which there is none, once one is found
}

// choice is a position among the arcs of a state, or their number for stopping,
// and how many draws fell on it.
type choice struct{ at, n int32 }

// draw makes n draws at state q, at which paths have the given length, and
// appends what they fell on, in order of positions.
func (g *randGen[W]) draw(q fst.StateID, n, length int, to []choice) []choice {
	g.steps++
	arcs := g.f.Arcs(q)
	final := g.f.Final(q)
	stops := !final.Equal(g.zero)
	if len(arcs) == 0 && !stops || g.o.MaxLength > 0 && length >= g.o.MaxLength || g.o.MaxLength < 0 {
		return to
	}
	ways := len(arcs)
	if stops {
		ways++
	}
	var sums []float64
	if g.o.Select != SelectUniform {
		if sums = g.chances(q, arcs, final, ways); sums == nil {
			return to
		}
	}
	one := func() int32 {
		if sums == nil {
			return int32(g.rng.IntN(ways))
		}
		x := g.rng.Float64() * sums[ways-1]
		return int32(sort.Search(ways-1, func(i int) bool { return sums[i] > x }))
	}
	if n < ways {
		g.drawn = g.drawn[:0]
		for range n {
			g.drawn = append(g.drawn, one())
		}
		g.drew(n)
		slices.Sort(g.drawn)
		for i, at := range g.drawn {
			if i > 0 && at == g.drawn[i-1] {
				to[len(to)-1].n++
			} else {
				to = append(to, choice{at, 1})
			}
		}
		return to
	}
	if n/splitDraws >= ways {
		return g.split(n, ways, sums, to)
	}
	counts := make([]int32, ways)
	for range n {
		counts[one()]++
	}
	g.drew(n)
	for at, n := range counts {
		if n > 0 {
			to = append(to, choice{int32(at), n})
		}
	}
	return to
}

// splitDraws is how many draws a way there must be for their numbers to be drawn in place of each
// draw.
const splitDraws = 256

// split makes n draws among so many ways by drawing how many fall on each: a draw.Binomial number
// of those that are left.
func (g *randGen[W]) split(n, ways int, sums []float64, to []choice) []choice {
	g.drew(ways)
	before := 0.0
	for at := 0; at < ways && n > 0; at++ {
		p := 1 / float64(ways-at)
		if sums != nil {
			p = (sums[at] - before) / (sums[ways-1] - before)
			before = sums[at]
		}
		if k := draw.Binomial(g.rng, n, p); k > 0 {
			to = append(to, choice{int32(at), int32(k)})
			n -= k
		}
	}
	return to
}

// drew counts draws, and looks at the context every million of them.
func (g *randGen[W]) drew(n int) {
	if g.single += n; g.single >= 1<<20 && g.err == nil {
		g.single = 0
		g.err = g.meter.CheckNow(run.Progress{States: g.out.NumStates(), Arcs: g.arcs})
	}
}

// chances returns running sums of the chances of arcs and stopping, scaled so that the greatest is
// 1; nil when all are 0. An arc without a chance has the sum of what comes before it. So a search
// for the first sum above a number below the last never finds it.
func (g *randGen[W]) chances(q fst.StateID, arcs []fst.Arc[W], final W, ways int) []float64 {
	if s, ok := g.sums[q]; ok {
		return s
	}
	if cap(g.scaled) < ways {
		g.scaled = make([]float64, 2*ways)
	}
	s := g.scaled[:ways]
	if g.o.Select == SelectFastLogProb {
		s = make([]float64, ways)
	}
	s = g.sumChances(s, arcs, final)
	if g.o.Select == SelectFastLogProb {
		if g.sums == nil {
			g.sums = map[fst.StateID][]float64{}
		}
		g.sums[q] = s
	}
	return s
}

// sumChances writes the running sums of chances to s, one for each arc and for stopping if there is
// room for it.
func (g *randGen[W]) sumChances(s []float64, arcs []fst.Arc[W], final W) []float64 {
	least := math.Inf(1)
	for i := range s {
		if i < len(arcs) {
			s[i] = g.cost(arcs[i].Weight)
		} else {
			s[i] = g.cost(final)
		}
		least = min(least, s[i])
	}
	if !(math.Abs(least) <= math.MaxFloat64) {
		s = nil
	}
	sum := 0.0
	last := 0
	for i := range s {
		if p := math.Exp(least - s[i]); p > 0 {
			sum += p
			last = i
		}
		s[i] = sum
	}
	// Rounding must not let a number reach what comes after the last chance.
	for i := last; i < len(s); i++ {
		s[i] = math.Nextafter(sum, math.Inf(1))
	}
	return s
}

const (
	// longestEndless is the length up to which paths without end are drawn, to be dropped
	// there.
	longestEndless = 1 << 24
	// leastChance is what an arc must have to be taken into account in search of an end. Where
	// all that leaves a set of states is less likely, paths through it have some 10¹² arcs or
	// more.
	leastChance = 0x1p-40
)

// ends tells whether a path may come to an end from q: by stopping, or where it is dropped. What is
// found when it may not is in g.dead. The search gives up, with true, when it has looked at as many
// arcs as budget says.
func (g *randGen[W]) ends(q fst.StateID, budget int) (bool, error) {
	seen := map[fst.StateID]struct{}{q: {}}
	todo := []fst.StateID{q}
	var sums []float64
	for head := 0; head < len(todo); head++ {
		p := todo[head]
		arcs, final := g.f.Arcs(p), g.f.Final(p)
		ways := len(arcs)
		if !final.Equal(g.zero) {
			ways++
		}
		g.searched += ways
		if budget -= ways; budget < 0 || ways == 0 {
			return true, fst.Err(g.f)
		}
		if head&255 == 255 {
			if err := g.meter.CheckNow(run.Progress{States: g.out.NumStates(), Arcs: g.arcs}); err != nil {
				return true, err
			}
		}
		least := 0.0
		if g.o.Select != SelectUniform {
			if cap(sums) < ways {
				sums = make([]float64, 2*ways)
			}
			if sums = g.sumChances(sums[:ways], arcs, final); sums == nil {
				return true, nil // paths are dropped here
			}
			least = leastChance * sums[ways-1]
		}
		before := 0.0
		for i := range ways {
			if sums != nil {
				chance := sums[i] - before
				before = sums[i]
				if chance < least {
					continue
				}
			}
			if i == len(arcs) {
				return true, nil
			}
			n := arcs[i].NextState
			if _, ok := g.dead[n]; ok {
				continue
			}
			if _, ok := seen[n]; !ok {
				seen[n] = struct{}{}
				todo = append(todo, n)
			}
		}
	}
	if g.dead == nil {
		g.dead = seen
	}
	for _, p := range todo {
		g.dead[p] = struct{}{}
	}
	return false, nil
}

// mayEnd checks whether a path that has come to q may have an end, when it is time for it: length
// or count is a power of two. way returns the earlier states of the path, the last first. The error
// has the first state from which there is no end.
func (g *randGen[W]) mayEnd(q fst.StateID, length, count int, way func() []fst.StateID) error {
	const early = 1024
	due := func(n int) bool { return n >= early && n&(n-1) == 0 }
	if !g.endless || !due(length) && !due(count) {
		return nil
	}
	ends, err := g.ends(q, early+g.steps-g.searched)
	if ends || err != nil {
		return err
	}
	for _, p := range way() {
		if _, dead := g.dead[p]; !dead {
			if ends, err := g.ends(p, early+g.steps); err != nil {
				return err
			} else if ends {
				break
			}
		}
		q = p
	}
	return &StateError{Op: "RandGen", State: q, Err: ErrNoEnd}
}

// node is a state of the tree of draws.
type node struct {
	q         fst.StateID
	n, length int32
}

func (g *randGen[W]) check() error {
	if g.err != nil {
		return g.err
	}
	states := g.out.NumStates()
	return g.meter.Check(run.Progress{States: states, Arcs: g.arcs, Bytes: int64(states)*24 + g.arcs*24})
}

// tree writes the weighted tree, level by level as states get their numbers.
func (g *randGen[W]) tree() error {
	nodes := []node{{q: g.f.Start(), n: int32(g.o.NPath)}}
	g.out.SetStart(g.out.AddState())
	var to []choice
	for p := 0; p < len(nodes); p++ {
		v := nodes[p]
		err := g.mayEnd(v.q, int(v.length), p, func() (way []fst.StateID) {
			below := fst.StateID(p)
			for i := below - 1; i >= 0; i-- { // parents come in the order of what is below them
				if slices.ContainsFunc(g.out.Arcs(i), func(e fst.Arc[W]) bool { return e.NextState == below }) {
					way = append(way, nodes[i].q)
					below = i
				}
			}
			return way
		})
		if err != nil {
			return err
		}
		to = g.draw(v.q, int(v.n), int(v.length), to[:0])
		arcs := g.f.Arcs(v.q)
		for _, c := range to {
			share := -math.Log(float64(c.n) / float64(v.n))
			if int(c.at) == len(arcs) {
				if !g.o.RemoveTotalWeight {
					share = -math.Log(float64(c.n) / float64(v.n) * float64(g.o.NPath))
				}
				g.out.SetFinal(fst.StateID(p), g.weight(share))
				continue
			}
			e := arcs[c.at]
			nodes = append(nodes, node{e.NextState, c.n, v.length + 1})
			e.Weight, e.NextState = g.weight(share), g.out.AddState()
			g.out.AddArc(fst.StateID(p), e)
			g.arcs++
			if err := g.check(); err != nil {
				return err
			}
		}
	}
	return nil
}

// chains writes a chain for each path, going through the tree depth first.
func (g *randGen[W]) chains() error {
	type level struct {
		node
		todo []choice
	}
	var path []fst.Arc[W]
	stack := []level{{node: node{q: g.f.Start(), n: int32(g.o.NPath)}}}
	stack[0].todo = g.draw(stack[0].q, g.o.NPath, 0, nil)
	one := semiring.One[W]()
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if len(top.todo) == 0 {
			stack = stack[:len(stack)-1]
			if len(path) > 0 {
				path = path[:len(path)-1]
			}
			continue
		}
		c := top.todo[0]
		top.todo = top.todo[1:]
		arcs := g.f.Arcs(top.q)
		if g.err != nil {
			return g.err
		}
		// The path under way is part of the result, if it comes to an end: one that does
		// not must meet the limits.
		under := len(path)
		if g.out.Start() == fst.NoState {
			under++
		}
		if err := g.meter.Check(run.Progress{States: g.out.NumStates() + under, Arcs: g.arcs + int64(len(path)),
			Bytes: int64(len(stack))*64 + g.arcs*48}); err != nil {
			return err
		}
		if int(c.at) < len(arcs) {
			e := arcs[c.at]
			e.Weight = one
			path = append(path, e)
			below := level{node: node{e.NextState, c.n, top.length + 1}}
			err := g.mayEnd(below.q, int(below.length), 0, func() (way []fst.StateID) {
				for i := len(stack) - 1; i >= 0; i-- {
					way = append(way, stack[i].q)
				}
				return way
			})
			if err != nil {
				return err
			}
			below.todo = g.draw(below.q, int(c.n), int(below.length), nil)
			stack = append(stack, below)
			continue
		}
		if len(path) == 0 {
			c.n = 1 // all empty paths are one
		}
		for range c.n {
			if g.out.Start() == fst.NoState {
				g.out.SetStart(g.out.AddState())
			}
			p := g.out.Start()
			for _, e := range path {
				e.NextState = g.out.AddState()
				g.out.AddArc(p, e)
				p = e.NextState
				g.arcs++
				if err := g.check(); err != nil { // one path may be longer than all that is allowed
					return err
				}
			}
			g.out.SetFinal(p, one)
			if err := g.check(); err != nil {
				return err
			}
		}
	}
	return nil
}
