package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/losses"
	"github.com/tropica-fst/tropica/ops"
)

// compiled writes a machine of text over log64 and returns its name.
func compiled(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "a.txt"), filepath.Join(dir, "a.fst")
	if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := fstTool(t, "", "compile", "--arc_type=log64", in, out); status != 0 {
		t.Fatal(errs)
	}
	return out
}

// Cases that had wrong answers, different ones by path, or brought the program
// down: each has its value or its error, the same on every path that covers it.
func TestLossHostileCases(t *testing.T) {
	lattice := compiled(t, "0 1 1 1 0.5\n0 1 2 2 0.2\n1\n")
	outside := compiled(t, "0 1 3 3 0.5\n0 1 1 1 0.2\n1\n")
	infinite := compiled(t, "0 1 1 1 0.5\n0 1 2 2 -Infinity\n1\n")
	const three = `"alphabet":2,"l":3,"q":1,"yi":[0,1,0],"theta":[[0,0],[0,0],[0,0]]`
	onLattice := math.Log(math.Exp(-.5+2) + math.Exp(-.2+2))
	for _, c := range []struct {
		name, line, paths string
		want              float64 // of log_z
		word              string  // of the error, when it is one
	}{
		{"forbidding", three + `,"loss":{"kind":"edit","sub":1e30}`, "direct general naive", 4.604494824249967, ""},
		{"band of everything", `"alphabet":2,"l":1,"q":1,"yi":[0],"theta":[[0,0]],"loss":{"kind":"edit","band":9223372036854775807}`, "direct general naive", 1.313261687518223, ""},
		{"shorter reference", `"alphabet":2,"l":3,"q":1,"yi":[0,1],"theta":[[0,0],[0,0],[0,0]],"loss":{"kind":"edit","band":9223372036854775807}`, "direct general naive", 3.699556048638114, ""},
		{"n of 10^9", three + `,"loss":{"kind":"ngram","n":1000000000,"c":1}`, "direct general naive", math.Log(8), ""},
		{"wide lattice", `"alphabet":20000,"yi":[0,1,0],"lattice":"` + lattice + `","loss":{"kind":"edit"}`, "general", onLattice, ""},
		{"wider lattice", `"alphabet":1000000000,"yi":[0,1,0],"lattice":"` + lattice + `","loss":{"kind":"edit"}`, "general", onLattice, ""},
		{"n-grams there", `"alphabet":1000000000,"yi":[0,1,0],"lattice":"` + lattice + `","loss":{"kind":"ngram","n":2,"c":1}`, "general", onLattice - 2, ""},
		{"label outside", `"alphabet":2,"yi":[0],"lattice":"` + outside + `","loss":{"kind":"edit"}`, "general", 0, "state 0 has an arc with label 3"},
		{"and n-grams", `"alphabet":2,"yi":[0],"lattice":"` + outside + `","loss":{"kind":"ngram","n":1,"c":1}`, "general", 0, "state 0 has an arc with label 3"},
		{"infinite weight", `"alphabet":2,"yi":[0],"lattice":"` + infinite + `","loss":{"kind":"edit"}`, "general", 0, "negated potential"},
		{"gamma", three + `,"gamma":1e308,"loss":{"kind":"edit"}`, "direct general naive", 0, "float64"},
		{"theta", `"alphabet":2,"l":2,"q":1,"yi":[0,1],"theta":[[1e308,0],[1e308,0]],"loss":{"kind":"edit"}`, "direct general naive", 0, "float64"},
		{"n of 0", three + `,"loss":{"kind":"ngram","n":0}`, "direct general naive", 0, "n = 0"},
		{"c", three + `,"loss":{"kind":"ngram","n":1,"c":-1}`, "direct general naive", 0, "c = -1"},
		{"infinite cost", three + `,"loss":{"kind":"edit","sub":"inf"}`, "direct general naive", 0, "cost"},
		{"gaps that gain", three + `,"loss":{"kind":"local","ins":1}`, "direct general naive", 0, "positive"},
		{"other length", `"alphabet":2,"l":1,"q":1,"yi":[0,1],"theta":[[0,0]],"loss":{"kind":"hamming"}`, "direct general naive", 0, "2 symbols"},
		{"cap", three + `,"loss":{"kind":"edit","cap":1}`, "general naive", math.Log(1 + 7*math.E), ""},
		{"floats", `"alphabet":2.0,"l":3e0,"q":1.0,"yi":[0,1.0,0],"theta":[[0,0],[0,0],[0,0]],"loss":{"kind":"edit","sub":1e30,"band":0.0}`, "direct", 4.604494824249967, ""},
		{"no integer", `"alphabet":2.5,"l":3,"q":1,"yi":[0,1,0],"theta":[],"loss":{"kind":"edit"}`, "direct", 0, "2.5 is not an integer"},
		{"no symbols", `"alphabet":0,"l":3,"q":1,"yi":[],"theta":[],"loss":{"kind":"edit"}`, "direct", 0, "between 1 and"},
		{"tied", `"alphabet":1000,"l":1000000,"q":1,"yi":[],"tied":true,"w":[` + strings.Repeat("0,", 999) + `0],"loss":{"kind":"edit"}`, "direct", 0, "too many values"},
	} {
		for _, path := range strings.Fields(c.paths) {
			start := time.Now()
			_, out, _ := fstTool(t, "{"+c.line+"}\n", "loss", "--only=log_z", "--path="+path)
			got := decodeLines(t, out)[0]
			if c.word != "" {
				if s, _ := got["error"].(string); !strings.Contains(s, c.word) {
					t.Errorf("%s, %s: %v, want an error of %q", c.name, path, got, c.word)
				}
			} else if err := agree(got["log_z"], c.want); err != nil {
				t.Errorf("%s, %s: %v (%v)", c.name, path, err, got["error"])
			}
			if d := time.Since(start); d > 20*time.Second {
				t.Errorf("%s, %s: %v", c.name, path, d)
			}
		}
	}
}

// A budget of bytes reaches the library, and so does a context.
func TestLossBudget(t *testing.T) {
	row := "[" + strings.Repeat("0,", 9) + "0]"
	text := `{"alphabet":10,"l":30,"q":1,"yi":[8,2,0,6,4,9,8,5,8,4,6,3,7,7,0,3,9,0,3,0,3,7,8,7,7,4,9,7,0,0],"theta":[` + strings.Repeat(row+",", 29) + row + `],"loss":{"kind":"edit","match":-2}}`
	_, out, _ := fstTool(t, text, "loss", "--limit_bytes=50000000")
	if s, _ := decodeLines(t, out)[0]["error"].(string); !strings.Contains(s, "try band") {
		t.Errorf("Smith-Waterman of 30 within 50 MB: %v", s)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	answer, ok := evaluateLine(&losses.Evaluator{}, []byte(text), "test", 1, &lossOptions{path: "auto", limits: ops.Limits{Ctx: ctx}})
	if ok || !bytes.Contains(answer, []byte("context canceled")) {
		t.Errorf("%s", answer)
	}
}

// A panic is the error of its case, and standard error has the stack.
func TestLossRecovers(t *testing.T) {
	var errs bytes.Buffer
	line := `{"name":"x","alphabet":2,"l":1,"q":1,"yi":[0],"theta":[[0,0]],"loss":{"kind":"edit"}}`
	answer, ok := evaluateLine(nil, []byte(line), "test", 7, &lossOptions{path: "direct", errs: &errs}) // no Evaluator: the defect
	var got map[string]string
	if err := json.Unmarshal(answer, &got); err != nil || ok {
		t.Fatalf("%s, %v", answer, err)
	}
	if got["name"] != "x" || !strings.Contains(got["error"], "line 7") || !strings.Contains(errs.String(), "goroutine") {
		t.Errorf("%v, standard error %.100q", got, errs.String())
	}
}

// Zero is printed without a sign.
func TestNumberZero(t *testing.T) {
	if b, err := number(math.Copysign(0, -1)).MarshalJSON(); err != nil || string(b) != "0" {
		t.Errorf("%s, %v", b, err)
	}
}

// A case without any string of a finite loss has its numbers, and a warning that
// names its line.
func TestLossWithoutStrings(t *testing.T) {
	for _, path := range []string{"direct", "general"} {
		var errs bytes.Buffer
		text := `{"name":"a","alphabet":2,"l":1,"q":1,"yi":[0],"loss":{"kind":"ngram","n":2,"c":0},"theta":[[0,0]]}`
		answer, ok := evaluateLine(&losses.Evaluator{}, []byte(text), "cases", 4, &lossOptions{path: path, errs: &errs})
		if !ok || !strings.Contains(string(answer), `"risk":"nan"`) || !strings.Contains(errs.String(), "WARNING: fst loss: cases, line 4: the loss is infinite for every string") {
			t.Errorf("%s: %s; %s", path, answer, errs.String())
		}
	}
}
