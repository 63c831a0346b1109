package g2p

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/metrics"
)

// Constants are chosen by edits, and by words only where edits are equal: found by
// fitting and counting again, over seeds among which the two disagree.
func TestConstantsAreChosenByEdits(t *testing.T) {
	fsttest.OneGoroutine(t)
	pairs := words(t, "ice", "train", 120)
	objectives := []Objective{DefaultObjective(CrossEntropy)}
	grid := &Grid{L2: []float64{0.03, 0.1}, Gamma: []float64{1}, Folds: 3}
	disagreed := 0
	for seed := uint64(2); seed < 60; seed++ {
		o, err := (&CompareOptions{Objectives: objectives, Grid: grid, Seed: seed, Workers: 1}).withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		x := &experiment{o: o}
		u := &unit{dataset: "x", train: pairs}
		got, err := x.choose(context.Background(), u, 1)
		if err != nil {
			t.Fatal(err)
		}
		var edits, wrong []int
		for _, l2 := range grid.L2 {
			e, w := countHeldOut(t, x, u, Objective{Kind: CrossEntropy, L2: l2})
			edits, wrong = append(edits, e), append(wrong, w)
		}
		best := 0
		for i := range edits {
			if edits[i] < edits[best] || edits[i] == edits[best] && wrong[i] < wrong[best] {
				best = i
			}
		}
		if got[0].L2 != grid.L2[best] {
			t.Errorf("seed %d: chose l2 %v; edits %v, words %v of %v", seed, got[0].L2, edits, wrong, grid.L2)
		}
		if wrong[best] > slices.Min(wrong) {
			disagreed++
		}
		if disagreed > 0 {
			return
		}
	}
	t.Error("edits and words never disagreed: the test says nothing")
}

// A held-out word is counted once, whatever is unseen in it.
func TestUnseenLetters(t *testing.T) {
	p := prepared(t, []Pair{{Word: "ab", Phones: []string{"a", "b"}}, {Word: "ba", Phones: []string{"b", "a"}}}, nil)
	h, err := newHeldOut(p.Inventory, p.Features, []Pair{
		{Word: "ab", Phones: []string{"a", "b"}}, {Word: "ac", Phones: []string{"a", "c"}}, {Word: "cc", Phones: []string{"a"}}, {Word: "xyz", Phones: []string{"z"}}, {Word: "", Phones: nil},
	})
	if err != nil {
		t.Fatal(err)
	}
	// An unseen letter says nothing, but by back-off; and z is no phone.
	if h.unseen != 3 || h.seen != 2 || h.reachable != 3 || len(h.outside) != 2 {
		t.Errorf("%d words with unseen letters, there are 3; %d and %d references within reach, there are 2 and "+
			"3; outside are %q", h.unseen, h.seen, h.reachable, h.outside)
	}
}

// Case is folded where training has none of that case, and only there.
func TestCaseFolding(t *testing.T) {
	small := []Pair{{Word: "hús", Phones: []string{"h", "uː", "s"}}, {Word: "sú", Phones: []string{"s", "uː"}}, {Word: "λός", Phones: []string{"l", "o", "s"}}, {Word: "σσ", Phones: []string{"s:"}}, {Word: "ὁ", Phones: []string{"o"}}}
	var capitals []Pair
	for _, p := range small {
		capitals = append(capitals, Pair{Word: strings.ToUpper(p.Word), Phones: p.Phones})
	}
	mixed := append(slices.Clone(small), Pair{Word: "Q", Phones: []string{"k"}})
	for _, c := range []struct {
		name   string
		train  []Pair
		word   string
		as     string // a word that is read the same
		unseen []rune
	}{
		{"capitals for a model of small letters", small, "HÚs", "hús", nil},
		{"a sigma at the end", small, "ΛΌΣ", "λός", nil},
		{"a sigma before a hyphen", small, "ΣΣ-Σ", "σς-Σ", []rune{'-'}},
		{"small letters for a model of capitals", capitals, "hús", "HÚS", nil},
		{"a model of both", mixed, "Hús", "Hús", []rune{'H'}},
		{"neither case is known", small, "Xhúx", "xhúx", []rune{'X', 'x'}},
		{"named once", small, "aabhab", "aabhab", []rune{'a', 'b'}},
	} {
		letters, phones, err := collect(c.train, 2)
		if err != nil {
			t.Fatal(err)
		}
		inv := &Inventory{Letters: letters, Phones: phones}
		got, err1 := inv.letters(c.word)
		want, err2 := inv.letters(c.as)
		if err1 != nil || err2 != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q is read as %v, %q as %v (%v, %v)", c.name, c.word, got, c.as, want, err1, err2)
		}
		if got := inv.Unseen(c.word); !slices.Equal(got, c.unseen) {
			t.Errorf("%s: unseen are %q", c.name, got)
		}
		if c.unseen == nil && slices.Contains(got, noLetter) {
			t.Errorf("%s: %q has letters that are not known: %v", c.name, c.word, got)
		}
	}
}

// The least probability of a label depends on the number of words.
func TestAlignDefaults(t *testing.T) {
	for words, want := range map[int]float64{0: 0, 2000: 0, 2001: 0.001, 20000: 0.001, 20001: 0.004, 1e6: 0.004} {
		if got := (*AlignOptions)(nil).withDefaults(words).MinProb; got != want {
			t.Errorf("%d words: labels below %v are dropped, should be below %v", words, got, want)
		}
	}
	if got := (&AlignOptions{MinProb: 0.2}).withDefaults(5000).MinProb; got != 0.2 {
		t.Errorf("0.2 was asked for, and became %v", got)
	}
}

func FuzzReadPairs(f *testing.F) {
	f.Add("af\taː v\nð\tð\n")
	f.Add("a\tb  c \r\n\r\n")
	f.Add("\ta\n")
	f.Add("a\t\xff\n")
	f.Add(";;; x\n#A  a\na(2) b # c\n")
	f.Add("#\ta\n# b\tc\na(2)(3)\tb\n")
	f.Fuzz(func(t *testing.T, text string) {
		pairs, err := ReadPairs(strings.NewReader(text), "x")
		if err != nil {
			if !strings.Contains(err.Error(), "x") {
				t.Fatalf("%v does not name the input", err)
			}
			return
		}
		var b strings.Builder
		for _, p := range pairs {
			fmt.Fprintf(&b, "%s\t%s\n", p.Word, strings.Join(p.Phones, " "))
		}
		again, err := ReadPairs(strings.NewReader(b.String()), "x")
		for i := range pairs { // lines may have moved
			pairs[i].Source = ""
		}
		for i := range again {
			again[i].Source = ""
		}
		if err != nil || fmt.Sprint(again) != fmt.Sprint(pairs) {
			t.Fatalf("%q: %v printed and read back as %v, %v", text, pairs, again, err)
		}
	})
}

// Whatever loads can be used.
func FuzzLoad(f *testing.F) {
	m, err := Train(context.Background(), []Pair{{Word: "ab", Phones: []string{"a", "b"}}, {Word: "ba", Phones: []string{"b", "a"}}, {Word: "x", Phones: []string{"k", "s"}}}, DefaultObjective(CrossEntropy), nil, nil)
	if err != nil {
		f.Fatal(err)
	}
	var b strings.Builder
	if err := m.Write(&b); err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(b.String()))
	f.Add([]byte(b.String())[:b.Len()/2])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if n := len(data) - sha256.Size; n > 0 { // with the checksum that these bytes should have
			sum := sha256.Sum256(data[:n])
			data = append(data[:n:n], sum[:]...)
		}
		var m *Model
		var err error
		fsttest.Allocating(t, 2<<20+256*len(data), func() { m, err = Read(bytes.NewReader(data)) })
		if err != nil {
			return
		}
		var out, twice bytes.Buffer
		if err := m.Write(&out); err != nil {
			t.Fatal(err)
		}
		again, err := Read(bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatalf("what was saved is not loaded: %v", err)
		}
		if err := again.Write(&twice); err != nil || !bytes.Equal(out.Bytes(), twice.Bytes()) {
			t.Fatalf("what was saved and loaded is saved otherwise: %v", err)
		}
		for _, w := range []string{"", "ab", "axbq"} {
			p, err := m.Predict(w, nil)
			if err != nil {
				t.Fatalf("%q: %v", w, err)
			}
			if q, err := again.Predict(w, nil); err != nil || !slices.Equal(p, q) {
				t.Fatalf("%q is %q, and %q once saved: %v", w, p, q, err)
			}
		}
	})
}

// countHeldOut fits an objective on the inner folds of a unit and counts.
func countHeldOut(t *testing.T, x *experiment, u *unit, o Objective) (edits, wrong int) {
	t.Helper()
	folds, err := dataset.KFold(len(u.train), x.o.Grid.Folds, rand.New(rand.NewPCG(x.o.Seed, uint64(u.fold)+1)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folds {
		m, err := Train(context.Background(), dataset.Pick(u.train, f.Train), o, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range dataset.Pick(u.train, f.Test) {
			got, err := m.Predict(q.Word, nil)
			if err != nil {
				t.Fatal(err)
			}
			if e := metrics.Edits(got, q.Phones).Errors; e > 0 {
				edits, wrong = edits+e, wrong+1
			}
		}
	}
	return edits, wrong
}
