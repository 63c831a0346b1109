package g2p

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// best returns the phones on the best path of a word composed with the parts, and its weight.
func (e *Export) best(t *testing.T, letters []string) ([]string, float64) {
	t.Helper()
	v := fst.NewVector[semiring.Tropical](len(letters) + 1)
	v.AddStates(len(letters) + 1)
	v.SetStart(0)
	v.SetFinal(fst.StateID(len(letters)), 0)
	for i, s := range letters {
		l, ok := e.Letters.Find(s)
		if !ok {
			t.Fatalf("no symbol %q", s)
		}
		v.AddArc(fst.StateID(i), fst.Arc[semiring.Tropical]{ILabel: l, OLabel: l, NextState: fst.StateID(i + 1)})
	}
	var err error
	for _, p := range e.Parts {
		if v, err = ops.Compose[semiring.Tropical](v, p, nil); err != nil {
			t.Fatal(err)
		}
	}
	if v, err = ops.ShortestPath(v, nil); err != nil {
		t.Fatal(err)
	}
	var phones []string
	total := 0.0
	q := v.Start()
	if q == fst.NoState {
		t.Fatalf("%q is not read", letters)
	}
	for len(v.Arcs(q)) > 0 {
		a := v.Arcs(q)[0]
		if a.OLabel != fst.Epsilon {
			s, _ := e.Phones.Symbol(a.OLabel)
			phones = append(phones, s)
		}
		total += float64(a.Weight)
		q = a.NextState
	}
	return phones, total + float64(v.Final(q))
}

// score returns the score of the best labels of a word.
func (m *Model) score1(t *testing.T, word string) float64 {
	t.Helper()
	x, err := m.Inventory.letters(word)
	if err != nil {
		t.Fatal(err)
	}
	c := m.Features.compile(x)
	var s scores
	m.score(&c, &s)
	_, v := s.viterbi()
	return v
}

// The best path of a word through the parts is the model's prediction with its score, for test
// words and for strings that are no words, of letters of all windows, with random weights. Random
// weights leave no feature that would not matter.
func TestExport(t *testing.T) {
	for _, language := range []string{"ady", "gre"} {
		for _, window := range map[string][]int{"ady": {1, 3}, "gre": {2, 4}}[language] {
			p := prepared(t, words(t, language, "train", 60),
				&Options{Features: FeatureOptions{Window: window, MinCount: 1 + window%2}})
			m := &Model{Inventory: p.Inventory, Features: p.Features, Objective: DefaultObjective(CrossEntropy),
				Weights: random(rand.New(rand.NewPCG(uint64(window), 1)), p.Features.Dim(), 1)}
			e, err := m.Export(nil)
			if err != nil {
				t.Fatal(err)
			}
			list := []string{"", "a"}
			for _, q := range words(t, language, "test", 25) {
				list = append(list, q.Word)
			}
			rng := rand.New(rand.NewPCG(7, 7))
			for range 10 {
				var b strings.Builder
				for range 1 + rng.IntN(9) {
					b.WriteRune(m.Inventory.Letters[rng.IntN(len(m.Inventory.Letters))])
				}
				list = append(list, b.String())
			}
			for _, word := range list {
				var letters []string
				for _, r := range word {
					s := string(r)
					if m.Inventory.letter(r) == noLetter {
						s = unknownSymbol
					}
					letters = append(letters, s)
				}
				got, weight := e.best(t, letters)
				want := m.own(t, word)
				if score := m.score1(t, word); !slices.Equal(got, want) ||
					!(math.Abs(weight+score) < 1e-5*(1+math.Abs(score))) {
					t.Fatalf("%s, window %d: %q is %v of weight %v, predicted %v of score %v", language, window, word, got,
						weight, want, score)
				}
			}
			if window > 1 {
				continue
			}
			one, err := e.Compose(t.Context(), 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			whole := &Export{Parts: []*fst.Vector[semiring.Tropical]{one}, Letters: e.Letters, Phones: e.Phones}
			for _, q := range words(t, language, "test", 25) {
				if strings.ContainsFunc(q.Word, func(r rune) bool { return m.Inventory.letter(r) == noLetter }) {
					continue
				}
				got, _ := whole.best(t, strings.Split(q.Word, ""))
				if want, _ := m.Predict(q.Word, nil); !slices.Equal(got, want) {
					t.Fatalf("%s: %q is %v in one machine, predicted %v", language, q.Word, got, want)
				}
			}
			if _, err := e.Compose(t.Context(), 10); !errors.Is(err, ops.ErrLimit) {
				t.Errorf("one machine of 10 arcs: %v", err)
			}
			if _, err := m.Export(&ExportOptions{MaxArcs: 10}); err == nil {
				t.Error("parts of 10 arcs")
			}
		}
	}
}

// own returns the best phones of a word by labels that training saw at their letters: Predict
// without back-off.
func (m *Model) own(t *testing.T, word string) []string {
	x, err := m.Inventory.letters(word)
	if err != nil {
		t.Fatal(err)
	}
	c, s := m.Features.compile(x), new(scores)
	m.linear(&c, s)
	u, _ := s.viterbi()
	return m.Inventory.names(m.spell(s, u))
}

// On test words back-off changes hardly any prediction, so that what is exported predicts as the
// model does.
func TestExportedWithoutBackoff(t *testing.T) {
	other, all := 0, 0
	for _, language := range []string{"ice", "gre", "ady"} {
		m, err := Train(t.Context(), words(t, language, "train", 800), Objective{Kind: CrossEntropy, L2: .3}, nil,
			&FitOptions{
				Stop: run.Stop{Iterations: 40}})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range words(t, language, "test", 100) {
			got, err := m.Predict(p.Word, nil)
			if err != nil {
				t.Fatal(err)
			}
			if all++; !slices.Equal(got, m.own(t, p.Word)) {
				other++
			}
		}
	}
	if other > 3 {
		t.Errorf("%d of %d words have other phones with back-off", other, all)
	}
	t.Logf("%d of %d", other, all)
}
