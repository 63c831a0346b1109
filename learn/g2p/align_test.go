package g2p

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func align(t *testing.T, pairs []Pair, o *AlignOptions) *Alignment {
	t.Helper()
	a, err := Align(context.Background(), pairs, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The engine and the loop beside it give the same counts in every iteration,
// and in the end the same alignments.
func TestAlignEngineIsDirect(t *testing.T) {
	for _, language := range []string{"ice", "gre", "ady"} {
		for _, phones := range []int{1, 2, 3} {
			pairs := words(t, language, "dev", 60)
			em := &emission{k: phones, workers: 1 + phones}
			letters, names, err := collect(pairs, phones)
			if err != nil {
				t.Fatal(err)
			}
			em.inv = &Inventory{Letters: letters, Phones: names}
			if err := em.build(pairs); err != nil {
				t.Fatal(err)
			}
			for it := range 7 {
				direct, engine := make([]float64, len(em.prob)), make([]float64, len(em.prob))
				l1, err1 := em.expectedDirect(context.Background(), direct)
				l2, err2 := em.expectedEngine(context.Background(), engine)
				if err1 != nil || err2 != nil || !(math.Abs(l1-l2) < 1e-9) {
					t.Fatalf("%s, %d phones, iteration %d: log-likelihood %v and %v (%v, %v)", language, phones, it, l1, l2, err1, err2)
				}
				for id := range direct {
					if !(math.Abs(direct[id]-engine[id]) < 1e-9) {
						t.Fatalf("%s, %d phones, iteration %d: parameter %d counts %v and %v", language, phones, it, id, direct[id], engine[id])
					}
				}
				em.normalize(direct, it >= 4, 1, 0.01)
			}
			a, b := align(t, pairs, &AlignOptions{MaxPhones: phones, Direct: true}), align(t, pairs, &AlignOptions{MaxPhones: phones})
			if !slices.Equal(a.Lost, b.Lost) || !slices.EqualFunc(a.Labels, b.Labels, slices.Equal) {
				t.Fatalf("%s, %d phones: other alignments", language, phones)
			}
		}
	}
}

// Expected counts by going through every way to share out the phones.
func TestExpectedCountsByEnumeration(t *testing.T) {
	pairs := short(words(t, "ady", "train", 300), 5)
	for _, phones := range []int{1, 2, 3} {
		letters, names, err := collect(pairs, phones)
		if err != nil {
			t.Fatal(err)
		}
		em := &emission{k: phones, inv: &Inventory{Letters: letters, Phones: names}}
		if err := em.build(pairs); err != nil {
			t.Fatal(err)
		}
		want := make([]float64, len(em.prob))
		ll := 0.0
		for i := range pairs {
			x, r := em.letters[i], em.phones[i]
			counts := map[int32]float64{}
			total := 0.0
			var used []int32
			var walk func(t, j int, w float64)
			walk = func(t, j int, w float64) {
				if t == len(x) {
					if j == len(r) {
						total += w
						for _, id := range used {
							counts[id] += w
						}
					}
					return
				}
				for k := 0; k <= phones && j+k <= len(r); k++ {
					if id := em.find(x[t], r[j:j+k]); id >= 0 {
						used = append(used, id)
						walk(t+1, j+k, w*firstWeight(k))
						used = used[:len(used)-1]
					}
				}
			}
			walk(0, 0, 1)
			if total > 0 {
				ll += math.Log(total)
				for id, c := range counts {
					want[id] += c / total
				}
			}
		}
		got := make([]float64, len(em.prob))
		gotLL, err := em.expectedDirect(context.Background(), got)
		if err != nil || !(math.Abs(gotLL-ll) < 1e-9*math.Abs(ll)) {
			t.Fatalf("log-likelihood %v, by enumeration %v (%v)", gotLL, ll, err)
		}
		for id := range want {
			if !(math.Abs(got[id]-want[id]) < 1e-9) {
				t.Fatalf("parameter %d counts %v, by enumeration %v", id, got[id], want[id])
			}
		}
	}
}

// What is aligned spells the reference, with labels that its letters may emit;
// the likelihood rises until labels are dropped.
func TestAlignment(t *testing.T) {
	pairs := words(t, "ice", "train", 800)
	a := align(t, pairs, &AlignOptions{Direct: true})
	inv := a.Inventory
	for i := 1; i < 4; i++ {
		if i > 1 && a.LogLik[i] < a.LogLik[i-1] {
			t.Errorf("iteration %d lowered the likelihood from %v to %v", i+1, a.LogLik[i-1], a.LogLik[i])
		}
	}
	unaligned := 0
	for i, u := range a.Labels {
		if u == nil {
			unaligned++
			continue
		}
		x, err := inv.letters(pairs[i].Word)
		if err != nil {
			t.Fatal(err)
		}
		var spelt []int
		for k, l := range u {
			spelt = append(spelt, inv.Labels[l]...)
			if !slices.Contains(inv.Allowed[x[k]], l) {
				t.Errorf("%q: letter %d emits a label that it may not", pairs[i].Word, k)
			}
		}
		if got := inv.names(spelt); !slices.Equal(got, pairs[i].Phones) {
			t.Errorf("%q is aligned with %v, not %v", pairs[i].Word, got, pairs[i].Phones)
		}
	}
	if unaligned != 0 || len(a.Lost) != 0 {
		t.Errorf("%d pairs without alignment, lost: %v", unaligned, a.Lost)
	}
	for x, list := range inv.Allowed {
		sum := 0.0
		for _, p := range inv.Prob[x] {
			sum += p
		}
		if !slices.IsSorted(list) || !(sum <= 1+1e-9) {
			t.Errorf("letter %d may emit %v with probability %v", x, list, sum)
		}
	}
}

// Two letters to a phone, two phones to a letter, and pairs that cannot be
// aligned at all.
func TestAlignSmall(t *testing.T) {
	var pairs []Pair
	for range 3 {
		pairs = append(pairs, Pair{Word: "sha", Phones: []string{"S", "a"}}, Pair{Word: "sa", Phones: []string{"s", "a"}}, Pair{Word: "ha", Phones: []string{"h", "a"}},
			Pair{Word: "xa", Phones: []string{"k", "s", "a"}}, Pair{Word: "ax", Phones: []string{"a", "k", "s"}}, Pair{Word: "x", Phones: []string{"k", "s"}})
	}
	pairs = append(pairs, Pair{Word: "a", Phones: []string{"a", "b", "c"}}, Pair{Word: "", Phones: []string{"a"}}, Pair{Word: "", Phones: nil})
	a := align(t, pairs, nil)
	inv := a.Inventory
	spell := func(i int) (out []string) {
		for _, l := range a.Labels[i] {
			s := ""
			for _, p := range inv.names(inv.Labels[l]) {
				s += p
			}
			out = append(out, s)
		}
		return out
	}
	// Which of s and h says S is for the data to decide; a is always a.
	if got := spell(0); len(got) != 3 || got[2] != "a" || got[0]+got[1] != "S" {
		t.Errorf("sha is aligned as %q", got)
	}
	if got := spell(3); !slices.Equal(got, []string{"ks", "a"}) {
		t.Errorf("xa is aligned as %q", got)
	}
	// "" with no phones is aligned with nothing, "" with one cannot be. A letter of three phones is
	// irregular.
	if !slices.Equal(a.Lost, []int{19}) || a.Labels[19] != nil || a.Labels[20] == nil {
		t.Errorf("lost %v: %v", a.Lost, a.Labels[18:])
	}
	if got := spell(18); !slices.Equal(got, []string{"abc"}) || len(inv.of) != 1 {
		t.Errorf("a is aligned as %q, with %d irregular letters", got, len(inv.of))
	}
	long := Pair{Word: strings.Repeat("a", 9000), Phones: slices.Repeat([]string{"a"}, 9000)}
	if _, err := Align(context.Background(), []Pair{long}, nil); err == nil {
		t.Error("a word of 9000 letters and as many phones was accepted")
	}
	if _, err := Align(context.Background(), pairs, &AlignOptions{MaxPhones: 100}); err == nil {
		t.Error("labels of 100 phones were accepted")
	}
	if _, err := Align(context.Background(), []Pair{{Word: "\xff", Phones: []string{"a"}}}, nil); err == nil {
		t.Error("a word that is not UTF-8 was accepted")
	}
	if _, err := Prepare(context.Background(), []Pair{{Word: "a", Phones: []string{"a", "b", "c"}}}, nil); err == nil {
		t.Error("a problem without any aligned pair was accepted")
	}
}

// What occurs once is trained on: no pair is lost that has an alignment, whatever labels
// are dropped. Checked on data where letters and labels of one word are many.
func TestNothingAlignableIsLost(t *testing.T) {
	welsh := []Pair{
		{Word: "tad", Phones: []string{"t", "aː", "d"}},
		{Word: "dydd", Phones: []string{"d", "iː", "ð"}},
		{Word: "nid", Phones: []string{"n", "ɪ", "d"}},
		{Word: "dŷ", Phones: []string{"d", "ɨː"}},
		{Word: "tan", Phones: []string{"t", "a", "n"}},
		{Word: "dal", Phones: []string{"d", "a", "l"}},
		{Word: "add", Phones: []string{"a", "ð"}},
		{Word: "ddu", Phones: []string{"ð", "ɨː"}},
		{Word: "hedd", Phones: []string{"h", "e", "ð"}},
		{Word: "www", Phones: strings.Split("d ʌ b l j uː d ʌ b", " ")},
	}
	a := align(t, welsh, nil)
	if len(a.Lost) > 0 {
		t.Errorf("lost %v", a.Lost)
	}
	if inv := a.Inventory; slices.Contains(inv.Letters, 'w') || !slices.Contains(inv.Phones, "ʌ") ||
		inv.Unseen("w") == nil {
		t.Errorf("letters %q and phones %q: w has irregular labels only, and ʌ is a phone", inv.Letters, inv.Phones)
	}
	m, err := Train(context.Background(), welsh, DefaultObjective(LatentMargin), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := m.Predict("tŷ", nil); err != nil || !slices.Equal(p, []string{"t", "ɨː"}) {
		t.Errorf("tŷ is read as %q, %v", p, err)
	}
	p, err := Prepare(context.Background(), welsh, nil)
	if err != nil || p.Stats.Unaligned != 0 || p.Stats.Irregular != 1 {
		t.Errorf("lost %q, %d irregular, %v; www is irregular", p.Stats.Lost, p.Stats.Irregular, err)
	}
	if p, err := Prepare(context.Background(), append(welsh, Pair{Word: "a", Phones: slices.Repeat([]string{"a"}, 65)}), nil); err != nil || !slices.Equal(p.Stats.Lost, []string{`pair 11 "a"`}) {
		t.Errorf("lost %q, %v; should be the letter of 65 phones", p.Stats.Lost, err)
	}

	rng := rand.New(rand.NewPCG(3, 3))
	for _, language := range []string{"ice", "gre", "ady"} {
		pairs := words(t, language, "train", 200)
		// Noise: phones that no other word explains.
		for range 20 {
			w, r := pairs[rng.IntN(len(pairs))].Word, pairs[rng.IntN(len(pairs))].Phones
			pairs = append(pairs, Pair{Word: w, Phones: r})
		}
		for _, o := range []AlignOptions{{}, {MaxPhones: 1}, {MaxPhones: 3, MinProb: 0.2}, {MinCount: 5}, {MinCount: 1e9}, {MinProb: 1}, {MinCount: -1, MinProb: -1}, {PruneFrom: 1}} {
			o.Direct = true
			a := align(t, pairs, &o)
			for i, u := range a.Labels {
				r := pairs[i].Phones
				if lost := u == nil; lost || slices.Contains(a.Lost, i) {
					t.Fatalf("%s, %+v: %q with %d phones is lost: %v", language, o, pairs[i].Word, len(r), lost)
				}
				var spelt []int
				for _, l := range u {
					spelt = append(spelt, a.Inventory.Labels[l]...)
				}
				if got := a.Inventory.names(spelt); !slices.Equal(got, r) {
					t.Fatalf("%s, %+v: %q is aligned with %v, not %v", language, o, pairs[i].Word, got, r)
				}
			}
		}
	}
}

// Labels below MinProb that pairs need are those of irregular letters: all pairs are trained
// on, no such label is predicted, and features see the letters that stand in the words.
func TestIrregularLetters(t *testing.T) {
	var pairs []Pair
	for range 40 {
		pairs = append(pairs, words(t, "gre", "train", 60)...)
	}
	odd := []Pair{{Word: "αβγ", Phones: []string{"q", "v", "w"}}, {Word: "\u0436α", Phones: []string{"ʐ", "a"}}}
	pairs = append(pairs, odd...)
	p, err := Prepare(context.Background(), pairs, &Options{Align: AlignOptions{MinProb: 0.01, MinCount: -1}})
	if err != nil {
		t.Fatal(err)
	}
	inv := p.Inventory
	if p.Words() != len(pairs) || p.Stats.Unaligned != 0 || p.Stats.Irregular != 1 || len(inv.of) != 2 {
		t.Fatalf("%d of %d pairs, %d unaligned, %d irregular, irregular letters of %v; should be all, 0, 1 (the first odd one), and two", p.Words(), len(pairs), p.Stats.Unaligned, p.Stats.Irregular, inv.of)
	}
	for k, x := range inv.of {
		letter := inv.Letters[x-1]
		label := inv.names(inv.Labels[inv.Allowed[inv.regular+1+k][0]])
		if want := map[rune]string{'α': "q", 'γ': "w"}[letter]; len(label) != 1 || label[0] != want {
			t.Errorf("%q is irregular for %q", letter, label)
		}
	}
	for x := 1; x <= inv.regular; x++ {
		for k, l := range inv.Allowed[x] {
			if inv.Prob[x][k] < 0.01 {
				t.Errorf("%q may emit %q, whose probability is %v", inv.Letters[x-1], inv.names(inv.Labels[l]), inv.Prob[x][k])
			}
		}
	}
	for _, k := range keysOf(p.Features.grams) {
		for _, x := range k.letters {
			if x != boundary && int(x) > inv.regular {
				t.Fatalf("a feature has the irregular letter %d", x)
			}
		}
	}
	m, _, err := p.Fit(context.Background(), DefaultObjective(LatentMargin), nil)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	again, err := Read(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range append(words(t, "gre", "test", 30), odd...) {
		got, err := m.Predict(q.Word, nil)
		back, err2 := again.Predict(q.Word, nil)
		if err != nil || err2 != nil || !slices.Equal(got, back) {
			t.Errorf("%q is %q, and %q once saved (%v, %v)", q.Word, got, back, err, err2)
		}
		if slices.Contains(got, "q") || slices.Contains(got, "w") {
			t.Errorf("%q is %q, with phones that are too rare", q.Word, got)
		}
	}
	// A letter with nothing but rare labels keeps them.
	if got, err := m.Predict("\u0436α", nil); err != nil || !slices.Equal(got, []string{"ʐ", "a"}) {
		t.Errorf("the letter seen once is read as %q, %v", got, err)
	}
}
