package g2p

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/fst"
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
				m.AddArc(q, fst.Arc[semiring.Tropical64]{ILabel: l, OLabel: l, Weight: semiring.Tropical64(cost), NextState: q + 1})
			}
		}
	}
	c, err := NewConstraint(m, symbols)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// With weights of zero, views change nothing: values and gradients are those of the chain, for every
// objective.
func TestViewsOfNoWeight(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	pairs := words(t, "ady", "train", 60)
	plain := prepared(t, pairs, &Options{MaxEdges: 2000})
	p := prepared(t, pairs, &Options{MaxEdges: 2000, Views: ViewOptions{History: 4, Phones: 3, Marks: []string{"a", "ʼ"}, MinCount: 1}})
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
	p := prepared(t, words(t, "gre", "train", 40), &Options{Views: ViewOptions{History: 5, Phones: 3, Marks: []string{"a", "s"}, MinCount: 1, Damping: 0.7,
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

// The score of a label string is that of the chain, and the weights of all n-grams that were seen and
// end at each of its labels and phones; the sum over the lattice is that over all label strings.
func TestViewsByEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 13))
	pairs := short(words(t, "ady", "train", 300), 5)[:60]
	const order, phoneOrder, least = 4, 3, 2
	c := atMost(t, 1, 0.5, "a")
	p := prepared(t, pairs, &Options{Views: ViewOptions{History: order, Phones: phoneOrder, MinCount: least, Damping: 0.5, Marks: []string{"ə"}, Constraint: c}})
	inv := p.Inventory
	o, _ := Objective{Kind: HammingMargin, Gamma: 2, L2: 0}.withDefaults()
	e := p.evaluation(o, 1)
	w := random(rng, e.Dim(), 0.5)
	if _, err := e.Eval(w, nil); err != nil {
		t.Fatal(err)
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
		score := logScores(e, word, w)
		total, gold := 0.0, 0.0
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
				total += math.Exp(v)
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
		if d := math.Log(total) - gold - e.value[i]; !(math.Abs(d) < 1e-9) {
			t.Fatalf("%q: value %v, by enumeration %v", pairs[word.index].Word, e.value[i], math.Log(total)-gold)
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
