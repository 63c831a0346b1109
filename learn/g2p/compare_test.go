package g2p

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/run"
)

func ExampleCompare() {
	read := func(part string) []Pair {
		f, err := os.Open("../../testdata/g2p/gre_" + part + ".tsv")
		if err != nil {
			panic(err)
		}
		defer f.Close()
		pairs, err := ReadPairs(f, f.Name())
		if err != nil {
			panic(err)
		}
		return pairs
	}
	report, err := Compare(context.Background(), "Greek", read("train"), read("test"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range report.Pooled.Models {
		fmt.Printf("%-8s phone error rate below 5%%: %v, word error rate below 30%%: %v, converged: %v\n", m.Kind, m.PER < 5, m.WER < 30, m.Converged)
	}
	// Output:
	// ce       phone error rate below 5%: true, word error rate below 30%: true, converged: true
	// hamming  phone error rate below 5%: true, word error rate below 30%: true, converged: true
	// latent   phone error rate below 5%: true, word error rate below 30%: true, converged: true
}

// counter counts events, and cancels after some.
type counter struct {
	stages map[Stage]int
	limit  int
	cancel context.CancelFunc
}

func (c *counter) Event(e Event) {
	if c.stages == nil {
		c.stages = map[Stage]int{}
	}
	c.stages[e.Stage]++
	if c.cancel != nil && c.stages[Fitting] == c.limit {
		c.cancel()
	}
}

func TestCrossValidate(t *testing.T) {
	sets := []Dataset{{"Icelandic", words(t, "ice", "train", 90)}, {"Greek", words(t, "gre", "train", 60)}}
	options := func(workers int) *CompareOptions {
		return &CompareOptions{Folds: 3, Seed: 7, Workers: workers, Stop: run.Stop{Iterations: 12},
			Grid: &Grid{L2: []float64{0.3, 1}, Gamma: []float64{1}, Folds: 2}, Monitor: &counter{}}
	}
	o := options(1)
	a, err := CrossValidate(context.Background(), sets, o)
	if err != nil {
		t.Fatal(err)
	}
	stages := o.Monitor.(*counter).stages
	if stages[Done] != 6 || stages[Choosing] != 6*2*6 || stages[Evaluating] != 6*3 {
		t.Errorf("events %v", stages)
	}
	b, err := CrossValidate(context.Background(), sets, options(3))
	if err != nil {
		t.Fatal(err)
	}
	a.Seconds, b.Seconds = 0, 0
	if !reflect.DeepEqual(a, b) {
		t.Error("three workers gave another report than one")
	}
	if len(a.Sections) != 2 || a.Pooled.Words != 150 || a.Sections[0].Words != 90 || a.Pooled.Trained != 300 {
		t.Errorf("sections of %+v", a.Sections)
	}
	for i, m := range a.Pooled.Models {
		if m.Edits != a.Sections[0].Models[i].Edits+a.Sections[1].Models[i].Edits || m.Edits == 0 || len(m.Versus) != i || m.Wrong > m.Edits {
			t.Errorf("model %d: %+v", i, m)
		}
		for _, c := range m.Versus {
			if d := m.Wrong - a.Pooled.Models[0].Wrong; c.Kind == CrossEntropy && c.Broken-c.Fixed != d {
				t.Errorf("%s against %s: %d fixed, %d broken, but %d more wrong", m.Kind, c.Kind, c.Fixed, c.Broken, d)
			}
		}
	}
	if a.Pooled.Reachable == 0 || a.Pooled.Reachable >= 150 {
		t.Errorf("%d of 150 references are within reach", a.Pooled.Reachable)
	}
	var text bytes.Buffer
	if err := a.WriteTable(&text); err != nil || !strings.Contains(text.String(), "pooled (150)") {
		t.Errorf("table (%v):\n%s", err, text.String())
	}
	raw, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(raw, &back); err != nil || !reflect.DeepEqual(&back, a) {
		t.Errorf("the report did not survive JSON (%v)", err)
	}
}

func TestCrossValidateStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	sets := []Dataset{{"Greek", words(t, "gre", "train", 60)}}
	_, err := CrossValidate(ctx, sets, &CompareOptions{Monitor: &counter{limit: 5, cancel: cancel}, Workers: 2})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for _, o := range []CompareOptions{{Folds: 100}, {Folds: 1}, {Objectives: []Objective{{Kind: "x"}}}, {Objectives: []Objective{}},
		{Decode: DecodeOptions{Decoding: "x"}}, {Grid: &Grid{Folds: 1000}}} {
		if _, err := CrossValidate(context.Background(), sets, &o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}

// Models evaluated one by one or together get the rates that Compare gives.
func TestEvaluate(t *testing.T) {
	train, test := words(t, "gre", "train", 150), words(t, "gre", "dev", 100)
	o := &CompareOptions{Objectives: []Objective{{Kind: CrossEntropy, L2: 1}, {Kind: LatentMargin, Gamma: 1, L2: 1}}}
	want, err := Compare(context.Background(), "x", train, test, o)
	if err != nil {
		t.Fatal(err)
	}
	var models []*Model
	for _, c := range o.Objectives {
		m, err := Train(context.Background(), train, c, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		models = append(models, m)
	}
	got, err := Evaluate("x", models, test, nil, 1)
	if err != nil || !reflect.DeepEqual(got.Pooled.Models, want.Pooled.Models) || got.Pooled.Reachable != want.Pooled.Reachable {
		t.Errorf("evaluated %+v, compared %+v (%v)", got, want, err)
	}
	if _, err := Evaluate("x", nil, test, nil, 1); err == nil {
		t.Error("no models were evaluated")
	}
}

func TestReadPairs(t *testing.T) {
	pairs, err := ReadPairs(strings.NewReader("af\taː v\r\nð\tð\n"), "x.tsv")
	if err != nil || !reflect.DeepEqual(pairs, []Pair{{"af", []string{"aː", "v"}, "x.tsv:1"}, {"ð", []string{"ð"}, "x.tsv:2"}}) {
		t.Errorf("read %v, %v", pairs, err)
	}
	for text, where := range map[string]string{
		"af\n":               "x.tsv:1: the word \"af\" has no phones",
		"a\ta\naf aː v\n":    "x.tsv:2: no tab",
		"af aː v\na\ta\n":    "x.tsv:2: a tab, but line 1",
		"af\ta\nb\t  \n":     "x.tsv:2: the word \"b\" has no phones",
		"a\tb\tc\n":          "x.tsv:1: 3 tab-separated fields",
		"a\t\xff\n":          "x.tsv:1",
		"\ta\n":              "x.tsv:1: no word",
		"b b\n\na # place\n": "x.tsv:3: the word \"a\" has no phones",
	} {
		if _, err := ReadPairs(strings.NewReader(text), "x.tsv"); err == nil || !strings.HasPrefix(err.Error(), where) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The CMU dictionary in its present form and that of 0.7b; what looks like it in tables with
// tabs.
func TestReadLexicon(t *testing.T) {
	for text, want := range map[string]Lexicon{
		"aalborg AO1 L # place, danish\naalborg(2) AA1 L\n'bout B AW1 T\n": {Blanks: true, Remarks: 1, Pairs: []Pair{
			{"aalborg", []string{"AO1", "L"}, "x:1"}, {"aalborg", []string{"AA1", "L"}, "x:2"}, {"'bout", []string{"B", "AW1", "T"}, "x:3"}}},
		";;; # CMUdict\n;;;\n#HASH-MARK  HH AE1 SH\n(PAREN  P ER0\nBATH(1)  B AE1 TH\n;SEMI-COLON(1)  S\n": {Blanks: true, Pairs: []Pair{
			{"#HASH-MARK", []string{"HH", "AE1", "SH"}, "x:3"}, {"(PAREN", []string{"P", "ER0"}, "x:4"}, {"BATH", []string{"B", "AE1", "TH"}, "x:5"}, {";SEMI-COLON", []string{"S"}, "x:6"}}},
		"# made by hand\n#note\na\tA #\n#\th\nb c\tB\nb c(12)\tC\n(2)\tD\n#\n": {Pairs: []Pair{
			{"a", []string{"A", "#"}, "x:3"}, {"#", []string{"h"}, "x:4"}, {"b c", []string{"B"}, "x:5"}, {"b c", []string{"C"}, "x:6"}, {"(2)", []string{"D"}, "x:7"}}},
		"# nothing\n\n": {},
	} {
		if got, err := ReadLexicon(strings.NewReader(text), "x"); err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%q: read %v, %v", text, got, err)
		}
	}
}

// A word with two references is one word, right when either is given, and its edits are
// to the nearest.
func TestBestOfReferences(t *testing.T) {
	train := words(t, "gre", "train", 150)
	m, err := Train(context.Background(), train, Objective{Kind: CrossEntropy, L2: 1}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := func(word string) []string {
		p, err := m.Predict(word, nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a, b := train[3].Word, train[7].Word
	right, other := out(a), out(b)
	test := []Pair{
		{Word: a, Phones: append(right[:len(right):len(right)], "x", "y")}, // two edits
		{Word: b, Phones: append(other[:len(other):len(other)], "x", "y", "z")},
		{Word: a, Phones: right},                                     // none
		{Word: b, Phones: other[1:]},                                 // one edit, the nearest
		{Word: b, Phones: append([]string{"x"}, other...)},           // one, too
		{Word: b, Phones: append([]string{"x", "y", "z"}, other...)}, // three
	}
	r, err := Evaluate("x", []*Model{m}, test, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := r.Pooled
	phones := len(right) + len(other) - 1
	if got := s.Models[0]; s.Words != 2 || s.References != 6 || got.Edits != 1 || got.Wrong != 1 || got.Phones != phones || got.PER != 100/float64(phones) || got.WER != 50 {
		t.Errorf("%d words, %d references, %+v; there is one edit in %d phones", s.Words, s.References, got, phones)
	}
	var text bytes.Buffer
	if err := r.WriteTable(&text); err != nil || !strings.Contains(text.String(), "2 words with 6 pronunciations: a word is counted against the nearest") {
		t.Errorf("the report does not say how words are counted (%v):\n%s", err, text.String())
	}
}

// A word is held out with all its pronunciations.
func TestFoldsKeepWordsWhole(t *testing.T) {
	var pairs []Pair
	for i, p := range words(t, "gre", "train", 40) {
		pairs = append(pairs, p)
		if i%3 == 0 {
			pairs = append(pairs, Pair{Word: p.Word, Phones: append(p.Phones[:len(p.Phones):len(p.Phones)], p.Phones[0])})
		}
	}
	list := entries(pairs)
	if len(list) != 40 {
		t.Fatalf("%d words, there are 40", len(list))
	}
	part := pick(pairs, list, []int{0, 1, 3})
	if len(part) != 5 || part[0].Word != part[1].Word || part[3].Word != part[4].Word {
		t.Errorf("words 0, 1 and 3 are %v", part)
	}
	if got := Words(pairs, 2); !reflect.DeepEqual(got, pairs[:3]) {
		t.Errorf("the first two words are %v", got)
	}
	if got := Words(pairs, 1000); !reflect.DeepEqual(got, pairs) {
		t.Errorf("1000 words are %d of %d pairs", len(got), len(pairs))
	}
	o := &CompareOptions{Folds: 4, Objectives: []Objective{DefaultObjective(CrossEntropy)}, Stop: run.Stop{Iterations: 3}, Workers: 1, Grid: &Grid{L2: []float64{1, 2}, Folds: 2}}
	r, err := CrossValidate(context.Background(), []Dataset{{"x", pairs}}, o)
	if err != nil {
		t.Fatal(err)
	}
	// Three folds train on each word: with a pronunciation of a held-out word among the
	// training pairs there would be more than three times as many as pairs.
	if s := r.Pooled; s.Words != 40 || s.References != len(pairs) || s.Trained != 3*len(pairs) {
		t.Errorf("%d words, %d references of %d, %d training pairs", s.Words, s.References, len(pairs), s.Trained)
	}
}
