package ops

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// CheckOptions adjusts Check; nil is the same as the zero value.
type CheckOptions struct {
	MaxLength int     // of input and of output strings; zero is 6
	MaxPairs  int     // pairs of strings that are compared; zero is 300
	MaxSteps  int64   // arcs to look at for each law, once to find pairs and once to weigh them; zero is 2,000,000
	Delta     float64 // difference of weights to pass over, more of them for long strings; zero is 1/1024

	// LawTime is how long one law may take; zero is without end. What it stops depends on the
	// machine that it runs on, while all else here does not.
	LawTime time.Duration

	Limits // of each machine that an operation builds; see below
}

// CheckResult is the outcome of one law.
type CheckResult struct {
	Law      string // "determinize keeps the relation"
	Compared int    // pairs of strings, or tuples of weights
	Witness  string // where it does not hold, in the machine's symbols; "" is nowhere
	Skipped  error  // why it was not tried
	Stopped  error  // why pairs were not all compared that MaxLength and MaxPairs ask for
	Cut      string // how far pairs were found, where MaxPairs or MaxSteps left some out; "" is all up to MaxLength

	// Off is how far weights were apart at most, beyond Delta, where rounding can explain it: that
	// of the operation, or of sums in float32. Zero is nowhere.
	Off float64
}

// Check tries the laws of weighted machines on f. The semiring's axioms hold for the weights it
// has. Operations that keep the relation, or turn it in a known way, do so on pairs of strings up
// to a length. It is for those who write a semiring, or wonder whether it is the machine or the
// program.
//
// Pairs are found by enumeration of the paths of f and of the result, shortest first. Where there
// are cycles, random paths of some hundred labels follow, on which small errors have added up. Each
// pair is weighed in both machines exactly, by composition and shortest distance, so that cycles of
// ε are no obstacle. Determinization is tried with exact residuals, and rounded as fst determinize
// rounds them. A string of n labels may be off by n/2 of the multiples that residuals are rounded
// to (roundingError has the proof). Off says what is beyond Delta. What cannot be applied to f
// (determinizing what has no deterministic equivalent, ...) is skipped with the reason. A result
// within the bounds is no proof.
//
// Some operations have no end, and the strings that their states hold may grow. So zero States are
// 100,000, or eight times those of f if these are more; zero Bytes 256 MiB, or thirty-two times
// what f takes. A law whose operation does not end within them, or within LawTime, has the
// LimitError in Skipped.
//
// Cost: for each operation its own, MaxSteps arcs to find pairs and as many to weigh them, each in
// a composition with strings. The error is the context's.
func Check[W semiring.Component[W]](f fst.Expanded[W], opts *CheckOptions) ([]CheckResult, error) {
	c := &checker[W]{f: copyOf(f)}
	if opts != nil {
		c.CheckOptions = *opts
	}
	if c.MaxLength <= 0 {
		c.MaxLength = 6
	}
	if c.MaxPairs <= 0 {
		c.MaxPairs = 300
	}
	if c.MaxSteps <= 0 {
		c.MaxSteps = 2_000_000
	}
	if c.Delta == 0 {
		c.Delta = DefaultDelta
	}
	if c.States == 0 {
		c.States = max(100_000, 8*c.f.NumStates())
	}
	if c.Bytes == 0 {
		c.Bytes = max(256<<20, 32*SizeOf[W](c.f.NumStates(), int64(c.f.NumArcs())).Bytes)
	}
	results := c.weightLaws()
	if c.LawTime > 0 {
		fst.PropertiesOf(c.f, fst.Acyclic) // many laws ask
	}
	for i := range relationLaws(c) {
		results = append(results, tryLaw(c, i))
		if c.Ctx != nil && c.Ctx.Err() != nil {
			return results[:len(results)-1], &LimitError{Op: "Check", Limit: "context", Cause: c.Ctx.Err()}
		}
	}
	return results, nil
}

// tryLaw tries the law of the given number, within LawTime.
func tryLaw[W semiring.Component[W]](c *checker[W], i int) CheckResult {
	timed := *c
	timed.all = c.Ctx
	if c.LawTime > 0 {
		parent := c.Ctx
		if parent == nil {
			parent = context.Background()
		}
		ctx, cancel := context.WithTimeout(parent, c.LawTime)
		defer cancel()
		timed.Ctx = ctx
	}
	r := timed.compare(relationLaws(&timed)[i])
	c.found = timed.found
	return r
}

var errNothingToCompare = errors.New("there is no accepting path, or none with strings so short: nothing to compare")

var errCheckCyclic = errors.New("tried on machines without cycles only")

type checker[W semiring.Component[W]] struct {
	CheckOptions
	f     *fst.Vector[W]
	found *pairsFound[W]  // of f
	all   context.Context // that of all laws, where Ctx is that of one; may be nil
	left  int64           // arcs that weigh may still make
}

// relationLaw is an operation and its effect on the relation. The weight of a pair in the result is
// that of the pair turned back in f.
type relationLaw[W semiring.Component[W]] struct {
	name  string
	apply func(g *fst.Vector[W]) (*fst.Vector[W], error) // may change g
	turn  func(p labelPair) labelPair                    // nil is as it is
	twice bool                                           // a pair counts twice

	// What rounding may make of the weight of a string of n input labels, to pass over besides;
	// nil is nothing. The law is about the machine whose input ε are labels then: each step
	// rounds, those of ε too.
	slack func(n int) float64
}

type labelPair struct{ in, out []fst.Label }

func (p labelPair) reversed() labelPair {
	r := labelPair{slices.Clone(p.in), slices.Clone(p.out)}
	slices.Reverse(r.in)
	slices.Reverse(r.out)
	return r
}

// relationLaws is not a method. Go compiles all methods of a type that is mentioned, and for the
// wide weights of compare that would compile every operation again.
func relationLaws[W semiring.Component[W]](c *checker[W]) []relationLaw[W] {
	lim := c.Limits
	inPlace := func(do func(g *fst.Vector[W]) error) func(*fst.Vector[W]) (*fst.Vector[W], error) {
		return func(g *fst.Vector[W]) (*fst.Vector[W], error) { return g, do(g) }
	}
	encoded := func(do func(g *fst.Vector[W]) (*fst.Vector[W], error)) func(*fst.Vector[W]) (*fst.Vector[W], error) {
		return func(g *fst.Vector[W]) (*fst.Vector[W], error) {
			t := NewEncodeTable[W](EncodeLabels)
			Encode(g, t)
			g, err := do(g)
			if err != nil {
				return nil, err
			}
			return g, Decode(g, t)
		}
	}
	reverse := func(g *fst.Vector[W]) (*fst.Vector[W], error) {
		return Reverse[W, W](g, &ReverseOptions{Limits: lim})
	}
	push := func(o PushOptions) func(g *fst.Vector[W]) (*fst.Vector[W], error) {
		o.Limits = lim
		return func(g *fst.Vector[W]) (*fst.Vector[W], error) { return Push(g, &o) }
	}
	determinize := func(g *fst.Vector[W]) (*fst.Vector[W], error) {
		return Determinize(g, &DeterminizeOptions{Limits: lim})
	}
	rounding := ClosenessOf[W](DefaultDelta)
	rmEpsilon := func(g *fst.Vector[W]) error { return RmEpsilon(g, &RmEpsilonOptions{Limits: lim}) }
	return []relationLaw[W]{
		{name: "connect keeps the relation", apply: inPlace(func(g *fst.Vector[W]) error { Connect(g); return nil })},
		{name: "arcsort keeps the relation", apply: inPlace(func(g *fst.Vector[W]) error { ArcSort(g, Output); return nil })},
		{name: "topsort keeps the relation", apply: inPlace(TopSort[W])},
		{name: "rmepsilon keeps the relation", apply: inPlace(rmEpsilon)},
		{name: "epsnormalize keeps the relation", apply: func(g *fst.Vector[W]) (*fst.Vector[W], error) { return EpsNormalize(g, Input, lim) }},
		{name: "synchronize keeps the relation", apply: func(g *fst.Vector[W]) (*fst.Vector[W], error) { return Synchronize(g, lim) }},
		{name: "pushing weights to the start keeps the relation", apply: push(PushOptions{})},
		{name: "pushing weights to the end keeps the relation", apply: push(PushOptions{ToFinal: true})},
		{name: "pushing labels keeps the relation", apply: func(g *fst.Vector[W]) (*fst.Vector[W], error) {
			// Round cycles without input, common prefixes of outputs can take for ever
			// to settle.
			if !fst.PropertiesOf(g, fst.Acyclic).Has(fst.Acyclic) {
				return nil, errCheckCyclic
			}
			return push(PushOptions{Labels: true, KeepWeights: true})(g)
		}},
		{name: "determinize keeps the relation", apply: determinize},
		{name: "determinize of encoded labels keeps the relation", apply: encoded(determinize)},
		{name: "determinize with rounded residuals keeps the relation", slack: roundingError[W](rounding), apply: func(g *fst.Vector[W]) (*fst.Vector[W], error) {
			return Determinize(g, &DeterminizeOptions{Delta: rounding, Limits: lim})
		}},
		{name: "rmepsilon, determinize and minimize keep the relation", apply: func(g *fst.Vector[W]) (*fst.Vector[W], error) {
			if err := rmEpsilon(g); err != nil {
				return nil, err
			}
			return encoded(func(g *fst.Vector[W]) (*fst.Vector[W], error) {
				d, err := determinize(g)
				if err != nil {
					return nil, err
				}
				return Minimize(d, &MinimizeOptions{Limits: lim})
			})(g)
		}},
		{name: "disambiguate keeps the relation", apply: func(g *fst.Vector[W]) (*fst.Vector[W], error) {
			return Disambiguate(g, &DisambiguateOptions{Limits: lim})
		}},
		{name: "encode and decode keep the relation", apply: inPlace(func(g *fst.Vector[W]) error {
			t := NewEncodeTable[W](EncodeLabels | EncodeWeights)
			Encode(g, t)
			return Decode(g, t)
		})},
		{name: "composition with all strings keeps the relation", apply: func(g *fst.Vector[W]) (*fst.Vector[W], error) {
			return Compose[W](g, anyString(g), &ComposeOptions{Limits: lim})
		}},
		{name: "reverse turns strings round", apply: reverse, turn: labelPair.reversed},
		{name: "reverse twice keeps the relation", apply: func(g *fst.Vector[W]) (*fst.Vector[W], error) {
			g, err := reverse(g)
			if err != nil {
				return nil, err
			}
			return reverse(g)
		}},
		{name: "invert exchanges strings", apply: inPlace(func(g *fst.Vector[W]) error { Invert(g); return nil }),
			turn: func(p labelPair) labelPair { return labelPair{p.out, p.in} }},
		{name: "union with itself doubles weights", apply: func(g *fst.Vector[W]) (*fst.Vector[W], error) { return g, Union(g, c.f, lim) }, twice: true},
	}
}

// anyString is the acceptor of all strings of the output labels of f, with weight 1̄.
func anyString[W semiring.Weight[W]](f *fst.Vector[W]) *fst.Vector[W] {
	var labels []fst.Label
	for q := range fst.StateID(f.NumStates()) {
		for _, e := range f.Arcs(q) {
			labels = append(labels, e.OLabel)
		}
	}
	slices.Sort(labels)
	g := fst.NewVector[W](0)
	g.AddState()
	g.SetStart(0)
	g.SetFinal(0, semiring.One[W]())
	for _, l := range slices.Compact(labels) {
		if l != fst.Epsilon {
			g.AddArc(0, fst.Arc[W]{ILabel: l, OLabel: l, Weight: semiring.One[W](), NextState: 0})
		}
	}
	return g
}

// compare applies an operation, and weighs pairs of strings in f and in what it made.
func (c *checker[W]) compare(law relationLaw[W]) CheckResult {
	r := CheckResult{Law: law.name}
	f, silent := c.f, fst.NoLabel
	if law.slack != nil {
		g, label, err := epsilonAsLabel(f)
		if err != nil {
			r.Skipped = err
			return r
		}
		f, silent = g, label
	}
	if r.Skipped = c.late(c.Ctx); r.Skipped != nil {
		return r
	}
	g, err := law.apply(copyOf[W](f))
	if err == nil {
		err = c.late(c.Ctx)
	}
	var mine, its *pairsFound[W]
	if err == nil {
		if mine = c.found; mine == nil || f != c.f {
			ctx := c.Ctx
			if f == c.f {
				ctx = c.all // for all laws: not given up with this one
			}
			if mine, err = c.find(ctx, f); err == nil && f == c.f {
				c.found = mine
			}
		}
	}
	if err == nil {
		its, err = c.find(c.Ctx, g)
	}
	if err != nil {
		r.Skipped = err
		return r
	}
	turn := law.turn
	if turn == nil {
		turn = func(p labelPair) labelPair { return p }
	}
	sides := [2]*fst.Vector[W]{mine.sorted, its.sorted}
	pairs := slices.Clone(mine.short)
	seen := map[string]bool{}
	for _, p := range pairs {
		seen[p.key()] = true
	}
	for _, p := range its.short { // turning is its own inverse
		if q := turn(p); !seen[q.key()] {
			pairs = append(pairs, q)
		}
	}
	pairs = append(pairs, mine.long...)
	for _, p := range its.long {
		pairs = append(pairs, turn(p))
	}
	if len(pairs) == 0 {
		r.Skipped = errNothingToCompare
		return r
	}
	if r.Cut = mine.cut; r.Cut == "" {
		r.Cut = its.cut
	}
	show := func(p labelPair) string {
		text := func(table *fst.SymbolTable, labels []fst.Label) string {
			labels = slices.Clone(labels)
			for i, l := range labels {
				if l == silent {
					labels[i] = fst.Epsilon
				}
			}
			return shortSymbols(table, labels)
		}
		return fmt.Sprintf("input %s, output %s", text(c.f.InputSymbols(), p.in), text(c.f.OutputSymbols(), p.out))
	}
	// Of long strings, sums in float32 are wrong in a way that says nothing about the machines.
	switch sides := any(sides).(type) {
	case [2]*fst.Vector[semiring.Tropical]:
		wide := widened(sides, func(w semiring.Tropical) semiring.Tropical64 { return semiring.Tropical64(w) })
		weighAll(c.CheckOptions, wide, pairs, turn, show, law.twice, float32Error(wide[0], law.slack), &r)
	case [2]*fst.Vector[semiring.Log]:
		wide := widened(sides, func(w semiring.Log) semiring.Log64 { return semiring.Log64(w) })
		weighAll(c.CheckOptions, wide, pairs, turn, show, law.twice, float32Error(wide[0], law.slack), &r)
	default:
		weighAll(c.CheckOptions, any(sides).([2]*fst.Vector[W]), pairs, turn, show, law.twice, law.slack, &r)
	}
	return r
}

// late returns the error of a context that is done.
func (c *checker[W]) late(ctx context.Context) error {
	if ctx != nil && ctx.Err() != nil {
		return &LimitError{Op: "Check", Limit: "context", Cause: ctx.Err()}
	}
	return nil
}

func widened[V semiring.Weight[V], W semiring.Weight[W]](sides [2]*fst.Vector[V], wide func(V) W) [2]*fst.Vector[W] {
	return [2]*fst.Vector[W]{MapInto(sides[0], wide), MapInto(sides[1], wide)}
}

// weighAll compares the weights of pairs in the machine and, turned, in the result, until two
// differ, which r then shows.
func weighAll[W semiring.Component[W]](o CheckOptions, sides [2]*fst.Vector[W], pairs []labelPair, turn func(labelPair) labelPair, show func(labelPair) string, twice bool, slack func(n int) float64, r *CheckResult) {
	c := &checker[W]{CheckOptions: o}
	near := nearIn[W](valueUnit[W](sides[0]))
	c.left = o.MaxSteps
	for _, p := range pairs {
		want, err := c.weigh(sides[0], p)
		if err == nil && twice {
			want = want.Plus(want)
		}
		var got W
		if err == nil {
			got, err = c.weigh(sides[1], turn(p))
		}
		if errors.Is(err, ErrNotClosed) {
			continue
		}
		if err != nil {
			if r.Stopped = err; r.Compared == 0 {
				r.Skipped, r.Stopped = fmt.Errorf("no pair was weighed: %w", err), nil
			}
			return
		}
		r.Compared++
		n := len(p.in) + len(p.out)
		delta := c.Delta * (1 + float64(n)/64)
		if got.Equal(want) || near(got, want, delta) {
			continue
		}
		if slack != nil {
			if most := delta + slack(len(p.in)); near(got, want, most) {
				r.Off = max(r.Off, apart(func(d float64) bool { return near(got, want, d) }, delta, most))
				continue
			}
		}
		r.Witness = fmt.Sprintf("%s of the machine: weight %s by the law, %s in the result", show(p), weightText(want), weightText(got))
		return
	}
}

// float32Error adds to slack the possible error of sums in float32; a nil slack is 0. An operation
// adds up weights along a path, through all states at most. Each sum is rounded to 24 bits, and is
// at most far, the largest distance by sizes of weights from the start or to the end. far is
// computed when it is first asked for, since most laws hold without it. Pushing adds two roundings
// an arc, and some laws have three operations.
func float32Error[W interface {
	~float64
	semiring.Weight[W]
}](f *fst.Vector[W], slack func(n int) float64) func(n int) float64 {
	far := sync.OnceValue(func() (far float64) {
		sizes := MapInto(f, func(w W) semiring.Tropical64 { return semiring.Tropical64(math.Abs(float64(w))) })
		for _, reverse := range []bool{false, true} {
			d, err := ShortestDistance[semiring.Tropical64](sizes, &ShortestDistanceOptions{Reverse: reverse})
			if err != nil {
				return 0 // nothing is passed over
			}
			for _, d := range d {
				if d := float64(d); d <= math.MaxFloat64 {
					far = max(far, d)
				}
			}
		}
		return far
	})
	states := f.NumStates()
	return func(n int) float64 {
		off := 4 * float64(states+2*n) * 0x1p-24 * far()
		if slack != nil {
			off += slack(n)
		}
		return off
	}
}

// apart is the least difference for which within holds, to a thousandth of high, for which it does.
func apart(within func(delta float64) bool, low, high float64) float64 {
	for range 10 {
		if mid := (low + high) / 2; within(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// roundingError returns the largest possible error of the weight of a string of n labels when
// Determinize is given delta. It is a difference or, where weights are multiplied as numbers, a
// factor less 1.
//
// Let r be the residuals of a subset, and w(q) the weight of the rest of the string from state q.
// From the subset the rest has the weight F(r) = ⊕ r(q)⊗w(q). If no residual is off by more than ε,
// then neither is F: over log weights F(r+ε) = F(r)+ε, and F grows with each residual. The same
// holds for min, and with a factor for a sum of numbers. Each arc of the result computes its
// residuals from those of the subset before, without loss, and rounds them once. Rounding to the
// nearest multiple is off by delta/2 at most. Rounding to those of the first subset with the same
// multiples is off by a factor of 1+delta at most. So one arc adds delta/2 to the error of the
// string, or multiplies it by 1+delta. The start and the final weights add nothing.
//
// The bound is tight for machines that can be determinized, even with cycles. Over log weights,
// residuals that settle between two multiples are rounded the same way at each turn of the cycle.
// So strings cannot tell whether a machine without a deterministic equivalent got one by rounding;
// Twins and exact residuals tell.
func roundingError[W semiring.Weight[W]](delta float64) func(n int) float64 {
	if proportional[W]() {
		return func(n int) float64 { return math.Expm1(float64(n) * math.Log1p(delta)) }
	}
	return func(n int) float64 { return delta / 2 * float64(n) }
}

// epsilonAsLabel returns f with a new label in place of ε on the input, and on the output if f is
// an acceptor. Neither f nor its symbol table has that label. It is fst.NoLabel if f has no ε
// there.
func epsilonAsLabel[W semiring.Weight[W]](f *fst.Vector[W]) (*fst.Vector[W], fst.Label, error) {
	p := fst.PropertiesOf[W](f, fst.NoIEpsilons|fst.Acceptor)
	if p.Has(fst.NoIEpsilons) {
		return f, fst.NoLabel, nil
	}
	used := map[fst.Label]bool{}
	for q := range fst.StateID(f.NumStates()) {
		for _, e := range f.Arcs(q) {
			used[e.ILabel] = true
		}
	}
	named := func(l fst.Label) bool {
		if f.InputSymbols() == nil {
			return false
		}
		_, ok := f.InputSymbols().Symbol(l)
		return ok
	}
	free := fst.Label(1)
	for used[free] || named(free) {
		free++
	}
	in, out := []fst.LabelPair{{From: fst.Epsilon, To: free}}, []fst.LabelPair(nil)
	if p.Has(fst.Acceptor) {
		out = in
	}
	g := copyOf(f)
	return g, free, Relabel(g, in, out)
}

// key tells pairs apart.
func (p labelPair) key() string {
	key := binary.AppendUvarint(make([]byte, 0, 4*(1+len(p.in)+len(p.out))), uint64(len(p.in)))
	for _, labels := range [][]fst.Label{p.in, p.out} {
		for _, l := range labels {
			key = binary.AppendVarint(key, int64(l))
		}
	}
	return string(key)
}

func (c *checker[W]) near(a, b W) bool { return a.Equal(b) || a.Near(b, c.Delta) }

// weightLaws tries the axioms on weights of f, at most a dozen different ones, with 0̄ and 1̄.
func (c *checker[W]) weightLaws() []CheckResult {
	zero, one := semiring.Zero[W](), semiring.One[W]()
	pool := []W{zero, one}
	seen := map[string]bool{string(zero.AppendKey(nil)): true, string(one.AppendKey(nil)): true}
	add := func(w W) {
		if k := string(w.AppendKey(nil)); len(pool) < 14 && !seen[k] {
			seen[k] = true
			pool = append(pool, w)
		}
	}
	for q := range fst.StateID(c.f.NumStates()) {
		add(c.f.Final(q))
		for _, e := range c.f.Arcs(q) {
			add(e.Weight)
		}
	}
	idempotent := semiring.IsIdempotent[W]()
	_, hasPath := any(one).(semiring.Path[W])
	laws := []struct {
		name string
		n    int  // weights that the law is about
		asks bool // whether the weights claim it
		try  func(a, b, d W) (got, want W)
	}{
		{"⊕ is associative", 3, true, func(a, b, d W) (W, W) { return a.Plus(b).Plus(d), a.Plus(b.Plus(d)) }},
		{"⊕ commutes", 2, true, func(a, b, _ W) (W, W) { return a.Plus(b), b.Plus(a) }},
		{"0̄ is the identity of ⊕", 1, true, func(a, _, _ W) (W, W) { return a.Plus(zero), a }},
		{"⊗ is associative", 3, true, func(a, b, d W) (W, W) { return a.Times(b).Times(d), a.Times(b.Times(d)) }},
		{"⊗ commutes", 2, true, func(a, b, _ W) (W, W) { return a.Times(b), b.Times(a) }},
		{"1̄ is the identity of ⊗", 1, true, func(a, _, _ W) (W, W) { return one.Times(a), a }},
		{"0̄ annihilates", 1, true, func(a, _, _ W) (W, W) { return a.Times(zero), zero }},
		{"⊗ distributes over ⊕", 3, true, func(a, b, d W) (W, W) { return a.Times(b.Plus(d)), a.Times(b).Plus(a.Times(d)) }},
		{"⊕ is idempotent", 1, idempotent, func(a, _, _ W) (W, W) { return a.Plus(a), a }},
		{"⊕ chooses one of two", 2, hasPath, func(a, b, _ W) (W, W) {
			if s := a.Plus(b); s.Equal(b) {
				return s, b
			} else {
				return s, a
			}
		}},
		{"division undoes ⊗", 2, true, func(a, b, _ W) (W, W) {
			if semiring.IsZero(a) {
				return one, one
			}
			p := a.Times(b)
			return a.Times(a.DivideLeft(p)), p
		}},
	}
	var out []CheckResult
	for _, law := range laws {
		if !law.asks {
			continue
		}
		r := CheckResult{Law: law.name}
		bs, ds := pool, pool
		if law.n < 3 {
			ds = pool[:1]
		}
		if law.n < 2 {
			bs = pool[:1]
		}
	tuples:
		for _, a := range pool {
			for _, b := range bs {
				for _, d := range ds {
					r.Compared++
					if got, want := law.try(a, b, d); !c.near(got, want) {
						var ws []string
						for _, w := range []W{a, b, d}[:law.n] {
							ws = append(ws, weightText(w))
						}
						r.Witness = fmt.Sprintf("for %s: %s, not %s", strings.Join(ws, ", "), weightText(got), weightText(want))
						break tuples
					}
				}
			}
		}
		out = append(out, r)
	}
	return out
}
