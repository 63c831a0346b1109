package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// What must hold of a result where OpenFst's own is off: the relation of the input, by enumeration,
// or by the inverse of I-A where there are infinitely many paths.

// unguided says why OpenFst's numbers are no guide to a result that keeps the relation of its
// input, "" if they are.
func (c *peerCase) unguided() string {
	m := c.inputs[0]
	if slices.ContainsFunc(c.flags, func(flag string) bool {
		name, _, _ := strings.Cut(flag, "=")
		// of an acceptor nothing is left over
		if (name == "--subsequential_label" || name == "--increment_subsequential_label") && m.acceptor() {
			return false
		}
		if name == "--nstate" && (c.nstate() <= 0 || m.beyond(math.MaxFloat32*c.delta())) { // see differs
			return false
		}
		if name == "--weight" && slices.Contains(c.flags, "--map_type=quantize") { // which has no use for it
			return false
		}
		return flag != "--det_type=functional" && flag != "--det_type=nonfunctional" && flag != "--weight=" &&
			flag != "--weight=Infinity" && slices.Contains(words("--weight --nstate --det_type "+
			"--subsequential_label --increment_subsequential_label"), name)
	}) {
		return ""
	}
	switch tool := c.tool.name; {
	case m.arcType != "standard" && (tool == "minimize" || tool == "determinize" || tool == "disambiguate") &&
		(m.cyclic() || m.hasZeroArc() || tool == "minimize" && (c.delta() > 1e-6 || m.beyond(math.MaxInt32))):
		// Of acyclic machines OpenFst's sums are as exact, but where --delta is so large that it
		// drops steps, or a weight so large that a double has no digits left for the comparison.
		return "sums are exact here, and of each step's rounding, which decides what residuals are the same"
	case m.arcType != "standard" && m.cyclic() &&
		(tool == "push" || tool == "epsnormalize" || tool == "rmepsilon"):
		return "sums over cycles are exact here"
	case m.arcType == "standard" && tool == "push" && m.negativeCycle():
		return "cycles that improve where no start leads leave weights as they are here"
	case m.arcType == "log" && tool == "push" && m.beyond(1e6):
		return "sums are rounded to a float32 once here, and of each step there"
	case tool == "rmepsilon" && m.arcType != "standard" && m.hasZeroEpsilon():
		return "arcs of weight 0̄ lead nowhere here"
	case m.hasZeroArc() && (tool == "determinize" || tool == "minimize" || tool == "push" ||
		tool == "epsnormalize"):
		return "arcs of weight 0̄ lead nowhere here"
	case m.arcType != "log64" && (tool == "minimize" || tool == "determinize" || tool == "disambiguate" ||
		tool == "map" && slices.Contains(c.flags, "--map_type=quantize")) && m.beyond(math.MaxFloat32*c.delta()):
		return "a weight is rounded to Infinity in OpenFst"
	case m.arcType != "log64" && (tool == "determinize" || tool == "disambiguate") &&
		m.beyond(c.delta()*(1<<22)) && math.Log2(float64(c.delta())) != math.Trunc(math.Log2(float64(c.delta()))):
		return "weights without digits finer than --delta stay as they are here"
	}
	return ""
}

// nstate returns the last --nstate among the flags, 0 for none.
func (c *peerCase) nstate() int { return c.number("--nstate") }

// number returns the last value of a flag, 0 for none.
func (c *peerCase) number(flag string) (n int) {
	for _, f := range c.flags {
		if v, ok := strings.CutPrefix(f, flag+"="); ok {
			n = must1(strconv.Atoi(v))
		}
	}
	return n
}

// threshold returns the last --weight among the flags, Infinity for none.
func (c *peerCase) threshold() float64 {
	t := math.Inf(1)
	for _, f := range c.flags {
		if v, ok := strings.CutPrefix(f, "--weight="); ok && v != "" {
			t = must1(strconv.ParseFloat(v, 64))
		}
	}
	return t
}

// reached are the states of an acceptor that a string leads to, with the least weight of each.
type reached map[int]float64

// after returns what r reaches by one more label, ε being one.
func (m *model) after(r reached, label fst.Label) reached {
	next := reached{}
	for _, a := range m.arcs {
		w, ok := r[a.from]
		if !ok || a.in != label || math.IsInf(a.weight, 1) {
			continue
		}
		if old, ok := next[a.to]; !ok || w+a.weight < old {
			next[a.to] = w + a.weight
		}
	}
	return next
}

// least returns the least sum of r's weights and those of the states.
func (r reached) least(of []float64) float64 {
	best := math.Inf(1)
	for q, w := range r {
		best = min(best, w+of[q])
	}
	return best
}

// bestStrings returns the weights of the n best strings of an acceptor over tropical weights, ε
// being a label like others, none worse than the best by more than threshold: A* on the strings,
// with the exact distances to the end. The search stops with fewer, and ok is false, where there
// are more than a thousand prefixes to continue: others may then be as good.
func (m *model) bestStrings(n int, threshold float64) (weights []float64, ok bool) {
	toEnd := slices.Clone(m.finals)
	for range toEnd {
		for _, a := range m.arcs {
			toEnd[a.from] = min(toEnd[a.from], a.weight+toEnd[a.to])
		}
	}
	type item struct {
		r     reached
		ended bool
		bound float64
	}
	if m.start < 0 || math.IsInf(toEnd[m.start], 1) {
		return nil, true
	}
	todo := []item{{reached{m.start: 0}, false, toEnd[m.start]}}
	limit := toEnd[m.start] + threshold
	for len(todo) > 0 && len(weights) < n {
		if len(todo) > 1000 {
			return weights, false
		}
		at := 0
		for i := range todo {
			if todo[i].bound < todo[at].bound {
				at = i
			}
		}
		x := todo[at]
		todo = slices.Delete(todo, at, at+1)
		if x.bound > limit {
			break
		}
		if x.ended {
			weights = append(weights, x.bound)
			continue
		}
		if w := x.r.least(m.finals); !math.IsInf(w, 1) {
			todo = append(todo, item{ended: true, bound: w})
		}
		tried := map[fst.Label]bool{}
		for _, a := range m.arcs {
			if _, ok := x.r[a.from]; ok && !tried[a.in] {
				tried[a.in] = true
				if r := m.after(x.r, a.in); !math.IsInf(r.least(toEnd), 1) {
					todo = append(todo, item{r: r, bound: r.least(toEnd)})
				}
			}
		}
	}
	return weights, true
}

// notBestStrings says why a tree of paths, as fstshortestpath --unique writes it for n of at least
// 2, is not one of the n best strings of an acceptor: each must have its weight there, and all
// together those of the best. Which of equally good ones there are is free.
func (m *model) notBestStrings(b []byte, n int, threshold float64) string {
	r := modelOf(b)
	if d := r.twoPaths(); d != "" {
		return d
	}
	if r.cyclic() {
		return "it has cycles"
	}
	var got []float64
	wrong := ""
	var follow func(q int, w float64, labels []fst.Label)
	follow = func(q int, w float64, labels []fst.Label) {
		if !math.IsInf(r.finals[q], 1) {
			// The first two arcs of a path and the last are of ε, made by taking the machine, and
			// the determinized one, in reverse.
			in, k := reached{m.start: 0}, len(labels)
			if k < 3 || labels[0]+labels[1]+labels[k-1] != 0 {
				wrong = fmt.Sprintf("a path %v", labels)
				return
			}
			for _, l := range labels[2 : k-1] {
				in = m.after(in, l)
			}
			w := w + r.finals[q]
			if best := in.least(m.finals); !near(w, best) {
				wrong = fmt.Sprintf("the string %v has %v, and in the input %v", labels[2:k-1], w, best)
			}
			got = append(got, w)
		}
		for _, a := range r.arcs {
			if a.from == q {
				follow(a.to, w+a.weight, append(labels[:len(labels):len(labels)], a.in))
			}
		}
	}
	if r.start >= 0 {
		follow(r.start, 0, nil)
	}
	slices.Sort(got)
	want, all := m.bestStrings(n, threshold)
	if len(got) != len(want) && all || len(got) < len(want) {
		return fmt.Sprintf("%d strings, and the best are %v", len(got), want)
	}
	for i, w := range want {
		if !near(w, got[i]) {
			return fmt.Sprintf("strings with %v, and the best have %v", got, want)
		}
	}
	return wrong
}

// acceptor tells whether all arcs have the same label on both sides.
func (m *model) acceptor() bool {
	return !slices.ContainsFunc(m.arcs, func(a modelArc) bool { return a.in != a.out })
}

// differs says where a result has lost what it must keep: the relation, or where its strings are
// cut, the total. Nor may it lack what the operation is for.
func (c *peerCase) differs(b []byte) string {
	m := c.expected()
	// where fewer will do for the relation, nothing was to be pruned
	if n := c.nstate(); n > 0 && len(modelOf(b).finals) > n {
		return fmt.Sprintf("%d states, of which %d may be", len(modelOf(b).finals), n)
	}
	switch tool := c.tool.name; {
	case tool == "determinize" && !slices.Contains(c.flags, "--det_type=nonfunctional"), tool == "minimize" &&
		!slices.Contains(c.flags, "--allow_nondet"):
		if d := modelOf(b).choice(); d != "" {
			return d
		}
	case tool == "disambiguate" || tool == "shortestpath":
		if d := modelOf(b).twoPaths(); d != "" {
			return d
		}
	}
	if c.tool.name != "push" || !slices.Contains(c.flags, "--push_labels") ||
		!slices.Contains(c.flags, "--remove_common_affix") {
		return keepsRelation(b, m, c.rounding())
	}
	r := modelOf(b)
	if m.start < 0 || r.start < 0 {
		return ""
	}
	got, want := r.distances(r.start, true)[r.start], m.distances(m.start, true)[m.start]
	if got == want || math.Abs(got-want) <= 1e-4*max(1, math.Abs(want)) || math.IsInf(want, 1) {
		return ""
	}
	return fmt.Sprintf("a total of %v, and in the input %v", got, want)
}

// expected returns the input, without its total weight where that is removed.
func (c *peerCase) expected() *model {
	m := c.inputs[0].decoded()
	if c.tool.name != "push" || !slices.Contains(c.flags, "--remove_total_weight") ||
		!slices.Contains(c.flags, "--push_weights") || m.start < 0 {
		return m
	}
	e := m.clone()
	e.fstType = "vector"
	if total := m.distances(m.start, true)[m.start]; !math.IsInf(total, 1) {
		for q := range e.finals {
			e.finals[q] -= total
		}
	}
	return e
}

// rounding returns the steps that weights of results are multiples of, 0 for none.
func (c *peerCase) rounding() float64 {
	switch c.tool.name {
	case "minimize", "determinize", "disambiguate", "map":
		return float64(c.delta())
	}
	return 0
}

// misjudged says why two deterministic acceptors are not equivalent, or are, as was said. By
// definition they are when their weights, pushed to the start, are the same but for --delta: pairs
// of states that one string reaches are compared, with sums over all paths that are solved here for
// all states at once. Where weights differ by no more than --delta, but by more than arithmetic
// makes, either may be said, since rounding to multiples of --delta takes some of these for the
// same.
func (c *peerCase) misjudged(equivalent bool) string {
	why, off := c.inputs[0].compare(c.inputs[1])
	switch {
	case equivalent && why != "":
		return why
	case equivalent && off > 1.001*float64(c.delta()):
		return fmt.Sprintf("pushed weights are apart by %v", off)
	case !equivalent && why == "" && off < 1e-6:
		return fmt.Sprintf("no pushed weights are further apart than %v", off)
	}
	return ""
}

// compare compares deterministic acceptors over log weights: what one has and the other has not,
// and by how much pushed weights, and the sums of all paths, are apart at most.
func (m *model) compare(o *model) (why string, off float64) {
	of := [2]*model{m, o}
	var total [2][]float64
	var arcs [2]map[[2]int]modelArc // by state and label, those that lead to final states
	var at [2]int
	for i, x := range of {
		if x.start < 0 {
			return fmt.Sprintf("machine %d has no start", i+1), 0
		}
		total[i] = x.distances(x.start, true)
		arcs[i] = map[[2]int]modelArc{}
		for _, a := range x.arcs {
			if !math.IsInf(a.weight, 1) && !math.IsInf(total[i][a.to], 1) {
				arcs[i][[2]int{a.from, int(a.in)}] = a
			}
		}
		at[i] = x.start
	}
	apart := func(a, b float64, what string, args ...any) {
		switch {
		case math.IsInf(a, 1) != math.IsInf(b, 1):
			why = fmt.Sprintf("%s: %v against %v", fmt.Sprintf(what, args...), a, b)
		case !math.IsInf(a, 1):
			off = max(off, math.Abs(a-b))
		}
	}
	apart(total[0][at[0]], total[1][at[1]], "all paths")
	if math.IsInf(total[0][at[0]], 1) || why != "" {
		return why, off
	}
	seen := map[[2]int]bool{at: true}
	for todo := [][2]int{at}; len(todo) > 0; todo = todo[1:] {
		at := todo[0]
		final := func(i int) float64 { return of[i].finals[at[i]] - total[i][at[i]] }
		apart(final(0), final(1), "final weights of states %v", at)
		for i := range of {
			for key, a := range arcs[i] {
				if key[0] != at[i] {
					continue
				}
				b, ok := arcs[1-i][[2]int{at[1-i], key[1]}]
				if !ok {
					return fmt.Sprintf("one of states %v has no label %d", at, key[1]), off
				}
				apart(a.weight+total[i][a.to]-total[i][a.from], b.weight+total[1-i][b.to]-total[1-i][b.from],
					"label %d", key[1])
				to := [2]int{a.to, b.to}
				if i == 1 {
					to = [2]int{b.to, a.to}
				}
				if !seen[to] {
					seen[to] = true
					todo = append(todo, to)
				}
			}
		}
	}
	return why, off
}

// beyond reports whether a finite weight is at least as large as w, so that its quotient by --delta
// may overflow.
func (m *model) beyond(w float32) bool {
	large := func(x float64) bool { return !math.IsInf(x, 0) && math.Abs(x) >= float64(w)/8 } // sums of some
	return slices.ContainsFunc(m.finals, large) ||
		slices.ContainsFunc(m.arcs, func(a modelArc) bool { return large(a.weight) })
}

func (m *model) hasNegativeZero() bool {
	negative := func(x float64) bool { return x == 0 && math.Signbit(x) }
	return slices.ContainsFunc(m.finals, negative) ||
		slices.ContainsFunc(m.arcs, func(a modelArc) bool { return negative(a.weight) })
}

func (m *model) withoutNegativeZeros() *model {
	c := m.clone()
	for q := range c.finals {
		c.finals[q] += 0
	}
	for i := range c.arcs {
		c.arcs[i].weight += 0
	}
	return c
}

// keepsRelation says where a machine has lost the relation of a model whose weights have been
// rounded to multiples of step, so that each is off by half of it at most: of the pairs of strings
// of up to three labels.
func keepsRelation(b []byte, m *model, step float64) string {
	arcs := 7 * len(m.finals) // six labels, ε-arcs around each, and the final weight
	if !m.cyclic() {
		arcs = len(m.finals)
	}
	slack := step / 2 * float64(arcs)
	switch m.arcType {
	case "log":
		return differentRelation[semiring.Log](b, m, slack+1e-4, step)
	case "log64":
		return differentRelation[semiring.Log64](b, m, slack+1e-4, step)
	}
	return differentRelation[semiring.Tropical](b, m, slack+1e-5, step)
}

func differentRelation[W interface {
	semiring.Codec[W]
	~float32 | ~float64
}](b []byte, m *model, slack, step float64) string {
	relation := func(file []byte, shown bool) (r map[fsttest.Pair]W, err any) {
		defer func() { err = recover() }() // a cycle gives infinitely many paths
		v := must1(fst.Read[W](bytes.NewReader(file), nil)).(*fst.Vector[W])
		if shown {
			for q := range fst.StateID(v.NumStates()) {
				arcs := v.MutableArcs(q)
				for i := range arcs {
					if arcs[i].ILabel == 0 && arcs[i].OLabel == 0 {
						arcs[i].ILabel, arcs[i].OLabel = 7777, 7777
					}
				}
			}
		}
		return fsttest.Relation[W](v, 3), nil
	}
	plain := m.clone()
	plain.fstType = "vector"
	want, err := relation(plain.encode(), false)
	shown := err != nil
	if shown {
		totals := "infinitely many paths"
		if m.arcType != "standard" {
			totals = m.differentTotals(b, step/2)
		}
		if totals == "" || !m.acceptor() {
			return totals
		}
		// Where weights are rounded, totals differ. Of an acceptor, ε may be a label like others,
		// for the tools that take it for one.
		if want, err = relation(plain.encode(), true); err != nil {
			return fmt.Sprint(err)
		}
	}
	got, err := relation(b, shown)
	if err != nil {
		return fmt.Sprint(err)
	}
	for p, w := range want {
		if g, ok := got[p]; !(math.Abs(float64(g-w)) <= slack*max(1, math.Abs(float64(w)))) || !ok {
			return fmt.Sprintf("%q has %v, and in the input %v", p, g, w)
		}
	}
	for p, g := range got {
		if _, ok := want[p]; !ok {
			return fmt.Sprintf("%q has %v, and in the input nothing", p, g)
		}
	}
	return ""
}

// modelOf reads a machine.
func modelOf(b []byte) *model {
	m := &model{arcType: "log", start: -1}
	state := func(s string) int {
		q := must1(strconv.Atoi(s))
		for len(m.finals) <= q {
			m.finals = append(m.finals, math.Inf(1))
		}
		if m.start < 0 {
			m.start = q
		}
		return q
	}
	weight := func(fields []string) float64 {
		if len(fields) == 0 {
			return 0
		}
		return must1(strconv.ParseFloat(fields[0], 64))
	}
	for line := range strings.Lines(printed(b)) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
		case len(f) <= 2:
			q := state(f[0])
			m.finals[q] = weight(f[1:])
		case len(f) == 3: // of an acceptor, which fstprint does not make of itself
			panic(line)
		default:
			from := state(f[0])
			m.arcs = append(m.arcs, modelArc{from: from, to: state(f[1]), in: fst.Label(must1(strconv.Atoi(f[2]))),
				out: fst.Label(must1(strconv.Atoi(f[3]))), weight: weight(f[4:])})
		}
	}
	return m
}

// choice says which state has two arcs with the same input label, ε included.
func (m *model) choice() string {
	seen := map[[2]int]bool{}
	for _, a := range m.arcs {
		key := [2]int{a.from, int(a.in)}
		if seen[key] {
			return fmt.Sprintf("state %d has two arcs with the label %d", a.from, a.in)
		}
		seen[key] = true
	}
	return ""
}

// twoPaths says where two accepting paths with the same input labels, ε included, end: a search of
// pairs of states from that of the start with itself, which have been on the same path so far or
// not.
func (m *model) twoPaths() string {
	if m.start < 0 {
		return ""
	}
	of := make([][]modelArc, len(m.finals))
	for _, a := range m.arcs {
		if !math.IsInf(a.weight, 1) {
			of[a.from] = append(of[a.from], a)
		}
	}
	type pair struct {
		p, q int
		same bool
	}
	todo := []pair{{m.start, m.start, true}}
	seen := map[pair]bool{todo[0]: true}
	for ; len(todo) > 0; todo = todo[1:] {
		at := todo[0]
		if !at.same && !math.IsInf(m.finals[at.p], 1) && !math.IsInf(m.finals[at.q], 1) {
			return fmt.Sprintf("two paths with the same labels end in states %d and %d", at.p, at.q)
		}
		for i, a := range of[at.p] {
			for j, b := range of[at.q] {
				to := pair{a.to, b.to, at.same && i == j}
				if a.in == b.in && !seen[to] {
					seen[to] = true
					todo = append(todo, to)
				}
			}
		}
	}
	return ""
}

// totalOf returns the log weight of all paths that have a string on one side.
func (m *model) totalOf(s []fst.Label, output bool) float64 {
	if m.start < 0 {
		return math.Inf(1)
	}
	n := len(m.finals)
	// state q with k labels read is k n + q
	product := &model{finals: slices.Repeat([]float64{math.Inf(1)}, n*(len(s)+1))}
	copy(product.finals[n*len(s):], m.finals)
	for k := range len(s) + 1 {
		for _, a := range m.arcs {
			l := a.in
			if output {
				l = a.out
			}
			if l == 0 {
				product.arcs = append(product.arcs, modelArc{from: k*n + a.from, to: k*n + a.to, weight: a.weight})
			} else if k < len(s) && l == s[k] {
				product.arcs = append(product.arcs, modelArc{from: k*n + a.from, to: (k+1)*n + a.to, weight: a.weight})
			}
		}
	}
	return product.distances(m.start, true)[m.start]
}

// shifted adds w to all weights.
func (m *model) shifted(w float64) *model {
	c := m.clone()
	for q := range c.finals {
		c.finals[q] += w
	}
	for i := range c.arcs {
		c.arcs[i].weight += w
	}
	return c
}

// differentTotals says for which string of up to two labels, of the first three that there are, on
// either side a machine over log weights has another total than m, of which each weight may be off
// by w: the total is between those of all that much less and more. Where less diverges there is no
// such bound.
func (m *model) differentTotals(b []byte, w float64) string {
	r, less, more := modelOf(b), m.shifted(-w), m.shifted(w)
	for _, output := range []bool{false, true} {
		var labels []fst.Label
		for _, a := range m.arcs {
			l := a.in
			if output {
				l = a.out
			}
			if l != 0 && !slices.Contains(labels, l) && len(labels) < 3 {
				labels = append(labels, l)
			}
		}
		strs := [][]fst.Label{nil}
		for _, x := range labels {
			strs = append(strs, []fst.Label{x})
			for _, y := range labels {
				strs = append(strs, []fst.Label{x, y})
			}
		}
		for _, s := range strs {
			got, low, high := r.totalOf(s, output), less.totalOf(s, output), more.totalOf(s, output)
			if off := 1e-4 * max(1, math.Abs(low)); low == low && got != low && !(low-off <= got && got <= high+off) {
				return fmt.Sprintf("%v (output %v) has a total of %v, and in the input %v to %v", s,
					output, got, low, high)
			}
		}
	}
	return ""
}

// The judges find what is as it should be so, and what is not not.
func TestJudges(t *testing.T) {
	inf := math.Inf(1)
	for name, m := range map[string]*model{
		"acyclic": {arcType: "log", finals: []float64{inf, 1, 0},
			arcs: []modelArc{{0, 1, 1, 2, 0.5}, {0, 2, 1, 2, 0.25}, {1, 2, 0, 3, 1}}},
		"tropical": {arcType: "standard", finals: []float64{inf, 1e36, 0},
			arcs: []modelArc{{0, 1, 1, 2, 1e36}, {0, 2, 1, 2, 1.5e36}, {1, 2, 3, 3, 1e36}}},
		"ε-cycle": {arcType: "log64", finals: []float64{inf, 1},
			arcs: []modelArc{{0, 1, 1, 2, 0.5}, {0, 0, 0, 0, 1}, {1, 0, 0, 0, 1.5}}},
		"ε-cycle, one tape": {arcType: "log", finals: []float64{inf, 1},
			arcs: []modelArc{{0, 1, 1, 1, 0.5}, {0, 0, 0, 0, 1}, {1, 0, 0, 0, 1.5}}},
	} {
		m.fstType = "vector"
		if d := keepsRelation(m.encode(), m, 0); d != "" {
			t.Errorf("%s: not its own relation: %s", name, d)
		}
		for i := range m.arcs {
			other := m.clone()
			other.arcs[i].weight += 0.01 * max(1, other.arcs[i].weight)
			if d := keepsRelation(other.encode(), m, 0); d == "" {
				t.Errorf("%s: another weight of arc %d is not noticed", name, i)
			}
			other = m.clone()
			other.arcs[i].out = 5
			if d := keepsRelation(other.encode(), m, 0); d == "" {
				t.Errorf("%s: another output of arc %d is not noticed", name, i)
			}
			other.arcs = slices.Delete(m.clone().arcs, i, i+1)
			if d := keepsRelation(other.encode(), m, 0.01); d == "" {
				t.Errorf("%s: that arc %d is missing is not noticed", name, i)
			}
		}
	}
}

// What determinize and disambiguate are for is asked of results that are judged.
func TestJudgesOfProperties(t *testing.T) {
	inf := math.Inf(1)
	m := &model{finals: []float64{inf, 0, 0}, arcs: []modelArc{{0, 1, 1, 1, 0}, {0, 2, 2, 2, 0},
		{1, 1, 0, 0, 0}}}
	if d := m.choice() + m.twoPaths(); d != "" {
		t.Error(d)
	}
	m.arcs[1].in = 1
	if m.choice() == "" || m.twoPaths() == "" {
		t.Error("two paths of a label are not noticed")
	}
	m.finals[2] = inf
	if d := m.twoPaths(); d != "" || m.choice() == "" {
		t.Errorf("a path that ends nowhere: %q", d)
	}
	m.arcs[1] = m.arcs[0]
	if m.twoPaths() == "" {
		t.Error("the same arc twice is not noticed")
	}
}

// What is said of two deterministic machines is found to be wrong where it is.
func TestJudgeOfEquivalence(t *testing.T) {
	inf := math.Inf(1)
	a := &model{arcType: "log", finals: []float64{inf, 1, inf},
		arcs: []modelArc{{0, 1, 1, 1, 0.5}, {1, 1, 1, 1, 2}, {1, 0, 2, 2, 1.5}, {1, 2, 3, 3, 0}}}
	for name, c := range map[string]struct {
		change     func(b *model)
		equivalent bool
	}{
		"the same":           {func(*model) {}, true},
		"weights moved":      {func(b *model) { b.arcs[0].weight, b.arcs[2].weight, b.finals[1] = 0.75, 1.25, 0.75 }, true},
		"what leads nowhere": {func(b *model) { b.arcs = b.arcs[:3] }, true},
		"a loop twice": {func(b *model) {
			b.finals = append(b.finals, 1)
			b.arcs[1].to = 3
			b.arcs = append(b.arcs, modelArc{3, 1, 1, 1, 2}, modelArc{3, 0, 2, 2, 1.5})
		}, true},
		"another weight in a cycle":    {func(b *model) { b.arcs[1].weight += 0.01 }, false},
		"another final weight":         {func(b *model) { b.finals[1] += 0.01 }, false},
		"another label":                {func(b *model) { b.arcs[2].in, b.arcs[2].out = 5, 5 }, false},
		"an end more":                  {func(b *model) { b.finals[0] = 3 }, false},
		"an end of what leads nowhere": {func(b *model) { b.finals[2] = 3 }, false},
		"an arc less":                  {func(b *model) { b.arcs = b.arcs[:2] }, false},
		"no start":                     {func(b *model) { b.start = -1 }, false},
	} {
		b := a.clone()
		c.change(b)
		for _, inputs := range [][]*model{{a, b}, {b, a}} {
			call := &peerCase{tool: &peerTool{name: "equivalent"}, inputs: inputs}
			if wrong := call.misjudged(c.equivalent); wrong != "" {
				t.Errorf("%s: equivalent %v: %s", name, c.equivalent, wrong)
			}
			if call.misjudged(!c.equivalent) == "" {
				t.Errorf("%s: equivalent %v is not noticed", name, !c.equivalent)
			}
		}
	}
}

// What is no list of the best strings is found to be none.
func TestJudgeOfBestStrings(t *testing.T) {
	inf := math.Inf(1)
	// a: 1, or 1.5 the other way; b: 2; ab: 3.5; ε: 9.
	m := &model{arcType: "standard", finals: []float64{9, 0.5, 0, 0},
		arcs: []modelArc{{0, 1, 1, 1, 0.5}, {0, 2, 1, 1, 1.5}, {0, 2, 2, 2, 2}, {1, 3, 2, 2, 3}, {0, 3, 3, 3, inf}}}
	if got, ok := m.bestStrings(9, inf); !ok || !slices.Equal(got, []float64{1, 2, 3.5, 9}) {
		t.Errorf("bestStrings: %v %v", got, ok)
	}
	if got, ok := m.bestStrings(9, 2.5); !ok || !slices.Equal(got, []float64{1, 2, 3.5}) {
		t.Errorf("bestStrings within 2.5: %v %v", got, ok)
	}
	tree := func(paths ...[]float64) []byte { // each is a weight, and labels
		r := &model{arcType: "standard", fstType: "vector", finals: []float64{inf, 0}}
		for _, p := range paths {
			at := 0
			for _, l := range append([]float64{0, 0}, p[1:]...) {
				r.finals = append(r.finals, inf)
				r.arcs = append(r.arcs, modelArc{at, len(r.finals) - 1, fst.Label(l), fst.Label(l), 0})
				at = len(r.finals) - 1
			}
			r.arcs = append(r.arcs, modelArc{at, 1, 0, 0, p[0]})
		}
		return r.encode()
	}
	a, b, ab, empty := []float64{1, 1}, []float64{2, 2}, []float64{3.5, 1, 2}, []float64{9}
	for name, c := range map[string]struct {
		n         int
		threshold float64
		paths     [][]float64
		best      bool
	}{
		"two":              {2, inf, [][]float64{a, b}, true},
		"two, turned":      {2, inf, [][]float64{b, a}, true},
		"all":              {9, inf, [][]float64{a, b, ab, empty}, true},
		"near the best":    {9, 2, [][]float64{a, b}, true},
		"one less":         {3, inf, [][]float64{a, b}, false},
		"one more":         {2, inf, [][]float64{a, b, ab}, false},
		"not the best":     {2, inf, [][]float64{a, ab}, false},
		"twice the same":   {2, inf, [][]float64{a, a}, false},
		"another weight":   {2, inf, [][]float64{a, {2.5, 2}}, false},
		"the other path":   {1, inf, [][]float64{{1.5, 1}}, false},
		"no such string":   {2, inf, [][]float64{a, {2, 2, 2}}, false},
		"beyond what's to": {9, 1, [][]float64{a, b, ab}, false},
	} {
		if d := m.notBestStrings(tree(c.paths...), c.n, c.threshold); (d == "") != c.best {
			t.Errorf("%s: %q", name, d)
		}
	}
}
