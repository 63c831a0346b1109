package g2p

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/model"
)

// randomModel is a model of some words with random weights.
func randomModel(t testing.TB, language string, n int, scale float64) *Model {
	p, err := Prepare(context.Background(), words(t, language, "train", n), nil)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(8, 8))
	return &Model{Inventory: p.Inventory, Features: p.Features, Weights: random(rng, p.Features.Dim(), scale), Objective: DefaultObjective(LatentMargin)}
}

// The best label strings, their order and scores, the merged phone strings and
// the one of least expected edit distance are those of going through all
// label strings.
func TestDecodeByEnumeration(t *testing.T) {
	m := randomModel(t, "ady", 300, 0.6)
	all := m.Inventory.Backoff
	m.Inventory.Backoff = nil
	decodeByEnumeration(t, m, 6, 30)
	// Two labels that each letter backs off to, so likely that they matter.
	m.Inventory.Backoff = slices.Clone(all)
	for x := range m.Inventory.Backoff {
		b := &m.Inventory.Backoff[x]
		*b = Backoff{Labels: b.Labels[:2], Prob: []float64{0.2 / (1 + 0.011*float64(x)), 0.1 / (1 + 0.017*float64(x))}} // no ties
		b.sum()
	}
	decodeByEnumeration(t, m, 5, 20)
}

func decodeByEnumeration(t *testing.T, m *Model, letters, least int) {
	tested := 0
	for _, q := range short(words(t, "ady", "test", 100), letters) {
		x, err := m.Inventory.letters(q.Word)
		if err != nil {
			t.Fatal(err)
		}
		c := m.Features.compile(x)
		var s scores
		m.score(&c, &s)
		s.extend(m.Inventory, x)
		count := 1
		places := slices.Clone(s.sizes)
		for t, l := range x {
			if b := m.Inventory.backoffOf(l); b != nil {
				places[t] += len(b.Labels) - 1
			}
			count *= places[t]
		}
		if count > 20000 {
			continue
		}
		tested++
		var all []path
		u := make([]int32, len(x))
		for {
			v, left := 0.0, 0
			for k, b := range u {
				own := len(m.Inventory.Allowed[x[k]])
				if int(b) >= own {
					v += logSumExp(s.unary[s.shape.unary[k]:][:own]) + math.Log(m.Inventory.Backoff[x[k]].Prob[int(b)-own])
					left = -1
					continue
				}
				v += s.unary[s.shape.unary[k]+int(b)]
				if left >= 0 {
					v += s.binary[s.shape.pairs[k]+left*s.sizes[k]+int(b)]
				}
				left = int(b)
			}
			all = append(all, path{slices.Clone(u), v})
			k := len(u) - 1
			for ; k >= 0; k-- {
				if u[k]++; int(u[k]) < places[k] {
					break
				}
				u[k] = 0
			}
			if k < 0 {
				break
			}
		}
		slices.SortStableFunc(all, func(a, b path) int {
			switch {
			case a.score > b.score:
				return -1
			case a.score < b.score:
				return 1
			}
			return 0
		})
		z := 0.0
		for _, p := range all {
			z += math.Exp(p.score)
		}
		if got := s.logZ(); !(math.Abs(got-math.Log(z)) < 1e-10) {
			t.Fatalf("%q: log Z %v, by enumeration %v", q.Word, got, math.Log(z))
		}
		if got, v := s.viterbi(); !(math.Abs(v-all[0].score) < 1e-10) || !slices.Equal(got, all[0].labels) {
			t.Fatalf("%q: best %v (%v), by enumeration %v (%v)", q.Word, got, v, all[0].labels, all[0].score)
		}
		const n = 50
		best := s.nBest(n)
		if len(best) != min(n, len(all)) {
			t.Fatalf("%q: %d of %d best", q.Word, len(best), len(all))
		}
		weight := map[string]float64{}
		spelt := map[string][]int{}
		for i, p := range best {
			if !(math.Abs(p.score-all[i].score) < 1e-10) || !slices.Equal(p.labels, all[i].labels) {
				t.Fatalf("%q: number %d is %v, by enumeration %v", q.Word, i, p, all[i])
			}
			phones := m.spell(&s, p.labels)
			key := strings.Join(m.Inventory.names(phones), " ")
			spelt[key] = phones
		}
		every := map[string]bool{}
		for _, p := range all {
			key := join(m.Inventory.names(m.spell(&s, p.labels)))
			every[key] = true
			if _, ok := spelt[key]; ok {
				weight[key] += math.Exp(p.score)
			}
		}
		merged, err := m.NBest(q.Word, &DecodeOptions{Best: n})
		if err != nil || len(merged) != len(weight) {
			t.Fatalf("%q: %d phone strings, want %d (%v)", q.Word, len(merged), len(weight), err)
		}
		for i, h := range merged {
			if i > 0 && h.LogProb > merged[i-1].LogProb {
				t.Fatalf("%q: hypotheses out of order", q.Word)
			}
			if w := math.Log(weight[strings.Join(h.Phones, " ")] / z); !(math.Abs(h.LogProb-w) < 1e-9) {
				t.Fatalf("%q: log probability %v, want %v", q.Word, h.LogProb, w)
			}
		}
		// All phone strings have probability one together, some of them no more.
		for _, o := range []DecodeOptions{{Best: n}, {Best: n, Strings: n}, {Best: len(all)},
			{Best: 1, Strings: len(every)}} {
			list, err := m.NBest(q.Word, &o)
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for _, h := range list {
				sum += math.Exp(h.LogProb)
			}
			whole := len(list) == len(every)
			if sum > 1+1e-9 || whole != (sum > 1-1e-9) || o.Best == len(all) && !whole ||
				len(list) < min(o.Strings, len(every), maxDoublings) && o.Best*maxDoublings >= len(all) {
				t.Fatalf("%q, %+v: %d of %d phone strings have probability %v", q.Word, o, len(list), len(every), sum)
			}
		}
		top, err := m.Predict(q.Word, &DecodeOptions{Decoding: Merged})
		if err != nil || !slices.Equal(top, merged[0].Phones) {
			t.Fatalf("%q: merged best %v, want %v (%v)", q.Word, top, merged[0].Phones, err)
		}
		risk, want := math.Inf(1), ""
		for _, h := range merged[:min(20, len(merged))] {
			key := strings.Join(h.Phones, " ")
			sum := 0.0
			for other, w := range weight {
				sum += w * float64(table(spelt[key], spelt[other]))
			}
			if sum < risk*(1-1e-12) {
				risk, want = sum, key
			}
		}
		got, err := m.Predict(q.Word, &DecodeOptions{Decoding: MinRisk})
		if err != nil || strings.Join(got, " ") != want {
			t.Fatalf("%q: least risk %v, want %v (%v)", q.Word, got, want, err)
		}
	}
	if tested < least {
		t.Fatalf("only %d words were short enough", tested)
	}
}

func join(phones []string) string { return strings.Join(phones, " ") }

// Letters and neighbours that training did not have, words of no letters and of
// very many.
func TestPredictAnything(t *testing.T) {
	m := randomModel(t, "gre", 100, 0.3)
	for word, silent := range map[string]bool{"": true, "ж漢字": true, "αжλ": false, "ωψξ": false, strings.Repeat("αλφα", 5000): false} {
		for _, d := range []Decoding{"", Viterbi, Merged, MinRisk} {
			if len(word) > 100 && d != "" {
				continue
			}
			phones, err := m.Predict(word, &DecodeOptions{Decoding: d})
			if err != nil || silent && len(phones) > 0 {
				t.Errorf("%.20q is read %v (%v)", word, phones, err)
			}
		}
	}
	if _, err := m.Predict("\xff", nil); err == nil {
		t.Error("a word that is not UTF-8 was read")
	}
	if _, err := m.Predict("α", &DecodeOptions{Decoding: "loud"}); err == nil {
		t.Error("an unknown decoding was accepted")
	}
}

func TestSaveAndLoad(t *testing.T) {
	m := randomModel(t, "ice", 150, 0.5)
	m.Lookup = NewLookup([]Pair{{Word: "b", Phones: []string{"x", "y"}}, {Word: "a", Phones: []string{"x"}},
		{Word: "b", Phones: []string{"z"}}, {Word: "b", Phones: []string{"x", "y"}}})
	var file bytes.Buffer
	if err := m.Write(&file); err != nil {
		t.Fatal(err)
	}
	bytesOf := file.Bytes()
	n, err := Read(bytes.NewReader(bytesOf))
	if err != nil {
		t.Fatal(err)
	}
	if n.Objective != m.Objective {
		t.Errorf("trained for %v, came back as %v", m.Objective, n.Objective)
	}
	var again bytes.Buffer
	if err := n.Write(&again); err != nil || !bytes.Equal(again.Bytes(), bytesOf) {
		t.Errorf("saved again, the model has other bytes (%v)", err)
	}
	if diff := cmp.Diff([][]string{{"x", "y"}, {"z"}}, n.Lookup.Find("B")); diff != "" ||
		n.Lookup.Words() != 2 || n.Lookup.Find("c") != nil {
		t.Errorf("known words, of %d (-want +got):\n%s", n.Lookup.Words(), diff)
	}
	for _, q := range words(t, "ice", "test", 100) {
		a, err1 := m.NBest(q.Word, nil)
		b, err2 := n.NBest(q.Word, nil)
		if err1 != nil || err2 != nil || !slices.EqualFunc(a, b, func(x, y Hypothesis) bool {
			return x.LogProb == y.LogProb && slices.Equal(x.Phones, y.Phones)
		}) {
			t.Fatalf("%q is read otherwise after loading", q.Word)
		}
	}
}

// Whatever is changed in a file that passes the container's checksum, Load says
// what is wrong, or the model it gives can be used.
func TestLoadHostile(t *testing.T) {
	m := randomModel(t, "ice", 40, 0.5)
	m.Lookup = NewLookup(words(t, "ice", "train", 5))
	rng := rand.New(rand.NewPCG(9, 9))
	refused := 0
	for i := range 400 {
		c, err := m.container()
		if err != nil {
			t.Fatal(err)
		}
		names := c.Names()
		name := names[i%len(names)]
		switch name {
		case "phones":
			if err := c.PutStrings(name, []string{"b", "a"}[:rng.IntN(3)]); err != nil {
				t.Fatal(err)
			}
		case "letters":
			mutate[uint32](t, c, rng, name)
		case "label_start", "label_phones", "allowed_start", "allowed", "backoff_start", "backoff":
			mutate[int32](t, c, rng, name)
		case "lookup_words", "lookup_phones":
			list, err := c.Strings(name)
			if err != nil {
				t.Fatal(err)
			}
			if list[rng.IntN(len(list))] = " "; rng.IntN(2) == 0 {
				list = list[1:]
			}
			if err := c.PutStrings(name, list); err != nil {
				t.Fatal(err)
			}
		case "prob", "weights", "backoff_prob":
			mutate[float64](t, c, rng, name)
		case "bigrams", "pairs", "features":
			mutate[uint64](t, c, rng, name)
		default:
			t.Fatalf("array %q is not tested", name)
		}
		n, err := fromContainer(c)
		if err != nil {
			if !errors.Is(err, model.ErrFormat) && !errors.Is(err, model.ErrMissing) {
				t.Fatalf("%s: %v", name, err)
			}
			refused++
			continue
		}
		for _, w := range []string{"afar", "æðþ", "bakki"} {
			if _, err := n.Predict(w, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if refused < 200 {
		t.Errorf("only %d of 400 changed files were refused", refused)
	}
	c := model.New("sequence", 1)
	if _, err := fromContainer(c); !errors.Is(err, model.ErrKind) {
		t.Errorf("a file of another kind: %v", err)
	}
	if _, err := Read(strings.NewReader("not a model")); err == nil {
		t.Error("text was loaded")
	}
}

// mutate cuts an array, or makes one of its entries another one or an extreme.
func mutate[T model.Element](t *testing.T, c *model.Container, rng *rand.Rand, name string) {
	old, err := model.Get[T](c, name)
	if err != nil {
		t.Fatal(err)
	}
	data := slices.Clone(old)
	if shape, _ := c.Shape(name); len(shape) == 2 || rng.IntN(3) > 0 {
		i := rng.IntN(len(data))
		switch rng.IntN(3) {
		case 0:
			data[i] = data[rng.IntN(len(data))] + T(rng.IntN(3))
		case 1:
			data[i] = T(rng.IntN(1 << 30))
		case 2:
			data[i] += 1
		}
		model.Put(c, name, data, shape...)
		return
	}
	data = data[:rng.IntN(len(data))]
	model.Put(c, name, data)
}
