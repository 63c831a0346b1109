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
	if err != nil || !reflect.DeepEqual(pairs, []Pair{{"af", []string{"aː", "v"}}, {"ð", []string{"ð"}}}) {
		t.Errorf("read %v, %v", pairs, err)
	}
	for text, where := range map[string]string{"af aː v\n": "x.tsv:1", "af\ta\nb\t  \n": "x.tsv:2", "a\tb\tc\n": "x.tsv:1", "a\t\xff\n": "x.tsv:1"} {
		if _, err := ReadPairs(strings.NewReader(text), "x.tsv"); err == nil || !strings.Contains(err.Error(), where) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
