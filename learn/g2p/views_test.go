package g2p

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// atMost is a constraint: at most n of the phones named, each at a cost.
func atMost(t testing.TB, n int, cost float64, names ...string) *Constraint {
	symbols := fst.NewSymbolTable("phones")
	symbols.AddLabel("<eps>", fst.Epsilon)
	other := symbols.Add(OtherPhones)
	m := fst.NewVector[semiring.Tropical64](n + 1)
	m.AddStates(n + 1)
	m.SetStart(0)
	for q := range fst.StateID(n + 1) {
		m.SetFinal(q, 0)
		m.AddArc(q, fst.Arc[semiring.Tropical64]{ILabel: other, OLabel: other, NextState: q})
		for _, name := range names {
			if l := symbols.Add(name); int(q) < n {
				m.AddArc(q, fst.Arc[semiring.Tropical64]{ILabel: l, OLabel: l, Weight: semiring.Tropical64(cost),
					NextState: q + 1})
			}
		}
	}
	c, err := NewConstraint(m, symbols)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// With weights of zero, views change nothing: values and gradients are those of the chain, for
// every objective.
func TestViewsOfNoWeight(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	pairs := words(t, "ady", "train", 60)
	plain := prepared(t, pairs, &Options{MaxEdges: 2000})
	p := prepared(t, pairs, &Options{MaxEdges: 2000, Views: ViewOptions{History: 4, Phones: 3,
		Marks: []string{"a", "ʼ"}, MinCount: 1}})
	if p.views.size() < 100 || p.events.len() < 100 {
		t.Fatalf("%d weights of views, %d events", p.views.size(), p.events.len())
	}
	for _, o := range objectives() {
		o, err := o.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.need(context.Background(), o.Kind); err != nil {
			t.Fatal(err)
		}
		a, b := plain.evaluation(o, 1), p.evaluation(o, 2)
		w := random(rng, a.Dim(), 0.3)
		g, h := make([]float64, a.Dim()), make([]float64, b.Dim())
		v, err1 := a.Eval(w, g)
		u, err2 := b.Eval(slices.Concat(w, make([]float64, p.views.size())), h)
		if err1 != nil || err2 != nil || !(math.Abs(u-v) < 1e-9*math.Abs(v)) {
			t.Fatalf("%v: value %v with views, %v without (%v, %v)", o, u, v, err1, err2)
		}
		for i := range g {
			if !(math.Abs(g[i]-h[i]) < 1e-8) {
				t.Fatalf("%v: gradient %d is %v with views, %v without", o, i, h[i], g[i])
			}
		}
	}
}

// Gradients are slopes, with all views at once and for every objective.
func TestViewGradients(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 12))
	p := prepared(t, words(t, "gre", "train", 40),
		&Options{Views: ViewOptions{History: 5, Phones: 3, Marks: []string{"a", "s"}, MinCount: 1, Damping: 0.7,
			Constraint: atMost(t, 2, 0.3, "a", "o")}})
	if len(p.Stats.Rejected) == 0 || p.Words()+len(p.Stats.Rejected) != 40 {
		t.Fatalf("%d words and %q rejected", p.Words(), p.Stats.Rejected)
	}
	for _, o := range objectives() {
		o, err := o.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.need(context.Background(), o.Kind); err != nil {
			t.Fatal(err)
		}
		e := p.evaluation(o, 1)
		checkGradient(t, e, random(rng, e.Dim(), 0.3), rng, 1e-6)
	}
}

// The score of a label string is that of the chain, and the weights of all n-grams that were seen
// and end at each of its labels and phones. Objectives are sums over all label strings, with their
// edit distances where they have a loss.
func TestViewsByEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 13))
	pairs := short(words(t, "ady", "train", 300), 5)[:60]
	const order, phoneOrder, least = 4, 3, 2
	c := atMost(t, 1, 0.5, "a")
	p := prepared(t, pairs, &Options{Views: ViewOptions{History: order, Phones: phoneOrder, MinCount: least,
		Damping: 0.5, Marks: []string{"ə"}, Constraint: c}})
	inv := p.Inventory
	w := random(rng, p.dim(), 0.5)
	var evaluations []*evaluation
	for _, o := range []Objective{{Kind: HammingMargin, Gamma: 2}, {Kind: SoftmaxMargin, Gamma: 0.5},
		{Kind: LatentMargin, Gamma: -0.5}, {Kind: RiskMix, Mix: 0.3}} {
		if err := p.need(context.Background(), o.Kind); err != nil {
			t.Fatal(err)
		}
		e := p.evaluation(o, 1)
		if _, err := e.Eval(w, nil); err != nil {
			t.Fatal(err)
		}
		evaluations = append(evaluations, e)
	}
	// N-grams by brute force. Symbols are those of histories.
	grams := func(strings [][]int32, order int) map[string]int {
		n := map[string]int{}
		for _, s := range strings {
			s = append(append([]int32{wordStart}, s...), wordEnd)
			for i := range s {
				for k := i + 1; k <= min(len(s), i+order); k++ {
					n[string(rune32(s[i:k]))]++
				}
			}
		}
		return n
	}
	symbols := func(u []int32) (labels, phones []int32) {
		for _, l := range u {
			labels = append(labels, l+firstSymbol)
			for _, q := range inv.Labels[l] {
				phones = append(phones, int32(q)+firstSymbol)
			}
		}
		return labels, phones
	}
	var allLabels, allPhones [][]int32
	for i := range pairs {
		l, q := symbols(p.Alignment.Labels[i])
		allLabels, allPhones = append(allLabels, l), append(allPhones, q)
	}
	labelGrams, phoneGrams := grams(allLabels, order), grams(allPhones, phoneOrder)
	weights := w[p.groups.dim:]
	phonesAt, marksAt, _ := p.views.offsets()
	// weightOf finds an n-gram by walking the automaton's tree.
	weightOf := func(h *histories, gram []int32, at int) float64 {
		node := uint64(0)
		for _, x := range gram {
			id := h.child.Find(node<<32 | uint64(uint32(x)))
			if id == fst.NoState {
				t.Fatalf("the n-gram %v was seen, and is not there", gram)
			}
			node = uint64(id) + 1
		}
		return math.Pow(0.5, float64(len(gram)-1)) * weights[at+int(node)]
	}
	sum := func(h *histories, seen map[string]int, s []int32, at int) (total float64) {
		s = append(append([]int32{wordStart}, s...), wordEnd)
		for k := 1; k <= len(s); k++ {
			for i := max(0, k-h.order); i+h.least <= k; i++ {
				if g := s[i:k]; seen[string(rune32(g))] >= least {
					total += weightOf(h, g, at)
				}
			}
		}
		return total
	}
	a, schwa := slices.Index(inv.Phones, "a"), slices.Index(inv.Phones, "ə")
	tested, forbidden := 0, 0
	for i := range p.words {
		word := &p.words[i]
		plain := evaluations[3]
		plain.o.Kind = CrossEntropy
		score := logScores(plain, word, w)
		var hamming, margin, latent, right, total, risk, gold float64
		u := make([]int32, len(word.x))
		strings := 1
		for _, n := range word.sizes {
			strings *= n
		}
		if strings > 3000 {
			continue
		}
		tested++
		for {
			v, left := 0.0, 0
			labels := make([]int32, len(u))
			for t, b := range u {
				v += score[word.shape.pairs[t]+left*word.sizes[t]+int(b)]
				left = int(b)
				labels[t] = inv.Allowed[word.x[t]][b]
			}
			ls, ps := symbols(labels)
			v += sum(p.views.labels, labelGrams, ls, 0) + sum(p.views.phones, phoneGrams, ps, phonesAt)
			as, schwas := 0, 0
			for _, q := range ps {
				switch int(q) - firstSymbol {
				case a:
					as++
				case schwa:
					v += weights[marksAt+min(schwas, 2)]
					schwas++
				}
			}
			v += weights[marksAt+3+min(schwas, 2)] - 0.5*float64(as)
			if as <= 1 {
				phones := make([]int, len(ps))
				for k, q := range ps {
					phones[k] = int(q) - firstSymbol
				}
				loss, differ := float64(table(phones, word.ref)), 0.0
				for k := range u {
					if u[k] != word.gold[k] {
						differ++
					}
				}
				hamming += math.Exp(v + 2*differ)
				margin += math.Exp(v + 0.5*loss)
				latent += math.Exp(v - 0.5*loss)
				total += math.Exp(v)
				risk += loss * math.Exp(v)
				if loss == 0 {
					right += math.Exp(v)
				}
			} else {
				forbidden++
			}
			if slices.Equal(u, word.gold) {
				gold = v
			}
			k := len(u) - 1
			for ; k >= 0; k-- {
				if u[k]++; int(u[k]) < word.sizes[k] {
					break
				}
				u[k] = 0
			}
			if k < 0 {
				break
			}
		}
		for k, want := range []float64{math.Log(hamming) - gold, math.Log(margin) - gold,
			math.Log(latent) - math.Log(right),
			0.7*(math.Log(total)-gold) + 0.3*risk/total} {
			if got := evaluations[k].value[i]; !(math.Abs(got-want) < 1e-9*max(1, math.Abs(want))) {
				t.Fatalf("%v, %q: value %v, by enumeration %v", evaluations[k].o, pairs[word.index].Word, got, want)
			}
		}
	}
	if tested < 20 || forbidden == 0 {
		t.Fatalf("%d words tested, %d strings forbidden", tested, forbidden)
	}
}

func rune32(s []int32) (out []rune) {
	for _, x := range s {
		out = append(out, rune(x+1))
	}
	return out
}

// Predictions under views are those of going through all label strings of the trellis: the best
// one, the 30 best with what back-off stands for, and the sum. A model read back predicts the same.
func TestViewDecoding(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 14))
	for k, o := range []ViewOptions{
		{History: 4, MinCount: 1}, {Phones: 3, Marks: []string{"a+ə", "ʷ"}},
		{History: 3, Phones: 2, Constraint: atMost(t, 1, 0.2, "a", "ə", "aː", "w", "j", "s", "x", "m", "ħ")},
	} {
		p, err := Prepare(context.Background(), words(t, "ady", "train", 250), &Options{Views: o})
		if err != nil {
			t.Fatal(err)
		}
		m := p.Model(DefaultObjective(HammingMargin), random(rng, p.dim(), 0.5))
		for x := range m.Inventory.Backoff { // so likely that they matter
			if b := &m.Inventory.Backoff[x]; len(b.Labels) > 2 {
				*b = Backoff{Labels: b.Labels[:2], Prob: []float64{0.2 / (1 + 0.011*float64(x)),
					0.1 / (1 + 0.017*float64(x))}}
				b.sum()
			}
		}
		var file bytes.Buffer
		if err := m.Write(&file); err != nil {
			t.Fatal(err)
		}
		again, err := Read(bytes.NewReader(file.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		tested, fell := 0, 0
		for _, q := range short(words(t, "ady", "test", 100), 4) {
			tested++
			inv := m.Inventory
			x, err := inv.letters(q.Word)
			if err != nil {
				t.Fatal(err)
			}
			c := m.Features.compile(x)
			var s scores
			m.score(&c, &s)
			unseen := make([]bool, len(x)) // whether the place is of back-off
			var all []path
			weight := map[string]float64{}
			z := 0.0
			// Labels seen there, and back-off labels beside them where there is no constraint, or
			// where it accepts no others.
			for _, backoff := range []bool{o.Constraint == nil, true} {
				var walk func(t int, pos position, left int, v float64, places []int32, phones []int)
				walk = func(t int, pos position, left int, v float64, places []int32, phones []int) {
					pay := func(entries []int32) (sum float64) {
						for _, e := range entries {
							sum += m.pays[e]
						}
						return sum
					}
					if t == len(x) {
						entries, cost, ok := m.views.end(pos, nil)
						if !ok {
							return
						}
						v += pay(entries) - cost
						all = append(all, path{slices.Clone(places), v})
						weight[string(appendPhones(nil, phones))] += math.Exp(v)
						z += math.Exp(v)
						return
					}
					own := inv.Allowed[x[t]]
					list := own
					if backoff && inv.backoffOf(x[t]) != nil {
						list = slices.Concat(own, inv.Backoff[x[t]].Labels)
					}
					for b, l := range list {
						w := v
						if unseen[t] = b >= len(own); unseen[t] {
							w += logSumExp(s.unary[s.shape.unary[t]:s.shape.unary[t+1]]) +
								math.Log(inv.Backoff[x[t]].Prob[b-len(own)])
						} else if w += s.unary[s.shape.unary[t]+b]; t == 0 || !unseen[t-1] {
							w += s.binary[s.shape.pairs[t]+left*len(own)+b]
						}
						next, entries, cost, ok := pos.unknown(), []int32(nil), 0.0, true
						if !unseen[t] || o.Constraint != nil {
							next, entries, cost, ok = m.views.step(pos, l, inv.Labels[l], nil)
						}
						if ok {
							walk(t+1, next, b, w+pay(entries)-cost, append(places, int32(b)), append(phones, inv.Labels[l]...))
						}
					}
				}
				if walk(0, m.views.start(), 0, 0, nil, nil); len(all) > 0 {
					break
				}
				fell++
			}
			slices.SortStableFunc(all, func(a, b path) int { return cmp.Compare(b.score, a.score) })
			var found search
			m.prepare(&c, &found)
			if len(all) == 0 {
				if found.fallback != Unconstrained {
					t.Fatalf("%d, %q has no output, and fell back to %q", k, q.Word, found.fallback)
				}
				continue
			}
			if got := found.best(); !slices.Equal(got, all[0].labels) {
				t.Fatalf("%d, %q: best %v, by enumeration %v", k, q.Word, got, all[0])
			}
			if got := found.total(); !(math.Abs(got-math.Log(z)) < 1e-9) {
				t.Fatalf("%d, %q: log Z %v, by enumeration %v", k, q.Word, got, math.Log(z))
			}
			const n = 30
			best := found.paths(n)
			if len(best) != min(n, len(all)) {
				t.Fatalf("%d, %q: %d best of %d", k, q.Word, len(best), len(all))
			}
			for i, b := range best {
				if !(math.Abs(b.score-all[i].score) < 1e-9) || !slices.Equal(b.labels, all[i].labels) {
					t.Fatalf("%d, %q: number %d is %v, by enumeration %v", k, q.Word, i, b, all[i])
				}
			}
			list, err1 := m.NBest(q.Word, nil)
			back, err2 := again.NBest(q.Word, nil)
			if err1 != nil || err2 != nil || !slices.EqualFunc(list, back, func(a, b Hypothesis) bool {
				return a.LogProb == b.LogProb && slices.Equal(a.Phones, b.Phones)
			}) {
				t.Fatalf("%d, %q is read otherwise after loading (%v, %v)", k, q.Word, err1, err2)
			}
		}
		if tested < 10 || o.Constraint != nil && fell == 0 {
			t.Errorf("%d words tested, %d fell back", tested, fell)
		}
	}
}

// A constraint is the machine that the engine composes with: costs of phone strings are those of
// Compose, whether the machine is deterministic or not.
func TestConstraintIsComposition(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 15))
	phones := []string{"a", "b", "c", "d"}
	symbols := fst.NewSymbolTable("phones")
	symbols.AddLabel("<eps>", fst.Epsilon)
	for _, p := range phones[:3] {
		symbols.Add(p)
	}
	rejected, accepted := 0, 0
	for range 30 {
		// States only lead forward, ε-arcs and ambiguity included, and loops are free of cost: such
		// a machine can be made deterministic.
		m := fst.NewVector[semiring.Tropical64](4)
		m.AddStates(4)
		m.SetStart(0)
		for range 14 {
			q := rng.IntN(4)
			to, l, w := q+rng.IntN(4-q), fst.Label(1+rng.IntN(3)), float64(rng.IntN(4))
			if q == to {
				w = 0
			} else if rng.IntN(4) == 0 {
				l = fst.Epsilon
			}
			m.AddArc(fst.StateID(q), fst.Arc[semiring.Tropical64]{ILabel: l, OLabel: l,
				Weight: semiring.Tropical64(w), NextState: fst.StateID(to)})
		}
		m.SetFinal(3, 1)
		m.SetFinal(fst.StateID(rng.IntN(4)), 0)
		given, err := NewConstraint(m, symbols)
		if err != nil {
			continue // it accepts nothing
		}
		c, err := given.over(phones)
		if err != nil {
			continue // not every such machine is determinizable
		}
		for range 20 {
			s := make([]int, rng.IntN(5))
			for i := range s {
				s[i] = rng.IntN(len(phones))
			}
			got, q, ok := 0.0, c.start, true
			for _, p := range s {
				var w float64
				if q, w, ok = c.step(q, p); !ok {
					break
				}
				got += w
			}
			if ok {
				var w float64
				if w, ok = c.final(q); ok {
					got += w
				}
			}
			chain := fst.NewVector[semiring.Tropical64](len(s) + 1)
			chain.AddStates(len(s) + 1)
			chain.SetStart(0)
			for i, p := range s {
				l := fst.Label(p + 1)
				chain.AddArc(fst.StateID(i), fst.Arc[semiring.Tropical64]{ILabel: l, OLabel: l,
					NextState: fst.StateID(i + 1)})
			}
			chain.SetFinal(fst.StateID(len(s)), 0)
			both, err := ops.Compose[semiring.Tropical64](chain, m, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := math.Inf(1)
			if both.NumStates() > 0 {
				d, err := ops.ShortestDistance(both, nil)
				if err != nil {
					t.Fatal(err)
				}
				for q, x := range d {
					want = min(want, float64(x)+float64(both.Final(fst.StateID(q))))
				}
			}
			if ok != !math.IsInf(want, 1) || ok && got != want {
				t.Fatalf("%v costs %v (%v), composed %v", s, got, ok, want)
			}
			if ok {
				accepted++
			} else {
				rejected++
			}
		}
	}
	if accepted < 30 || rejected < 30 {
		t.Errorf("%d strings accepted, %d rejected", accepted, rejected)
	}
}

// Auto finds marks that tell phones apart, and not what else phones are made of.
func TestMarks(t *testing.T) {
	phones := []string{"AA0", "AA1", "AA2", "B", "K", "a", "á", "a᷇", "t͡s", "ts", "o̞", "oː", "o", "ˈe", "e",
		"1"}
	kinds, err := markKinds(phones, []string{AutoMarks})
	if err != nil || len(kinds) != 3 || !slices.Equal(kinds[0], []int{7}) &&
		!slices.Equal(kinds[0], []int{6, 7}) ||
		!slices.Equal(kinds[1], []int{1, 13}) || !slices.Equal(kinds[2], []int{2}) {
		t.Errorf("kinds %v (%v)", kinds, err)
	}
	kinds, err = markKinds(phones, []string{"ː", "B", "\u031e+͡"})
	if err != nil || len(kinds) != 3 || !slices.Equal(kinds[0], []int{11}) ||
		!slices.Equal(kinds[1], []int{3}) || !slices.Equal(kinds[2], []int{8, 10}) {
		t.Errorf("kinds %v (%v)", kinds, err)
	}
	if _, err := markKinds(phones, []string{"x"}); err == nil {
		t.Error("a mark that no phone has was accepted")
	}
}
