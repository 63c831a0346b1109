package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/cmd/internal/lossspec"
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
		{"n of 10^9", three + `,"loss":{"kind":"ngram","n":1000000000,"c":1}`, "direct general naive",
			math.Log(8), ""},
		{"wide lattice", `"alphabet":20000,"yi":[0,1,0],"lattice":"` + lattice + `","loss":{"kind":"edit"}`,
			"general", onLattice, ""},
		{"wider lattice", `"alphabet":1000000000,"yi":[0,1,0],"lattice":"` + lattice + `","loss":{"kind":"edit"}`,
			"general", onLattice, ""},
		{"n-grams there", `"alphabet":1000000000,"yi":[0,1,0],"lattice":"` + lattice +
			`","loss":{"kind":"ngram","n":2,"c":1}`, "general", onLattice - 2, ""},
		{"label outside", `"alphabet":2,"yi":[0],"lattice":"` + outside + `","loss":{"kind":"edit"}`, "general", 0,
			"state 0 has an arc with label 3"},
		{"and n-grams", `"alphabet":2,"yi":[0],"lattice":"` + outside + `","loss":{"kind":"ngram","n":1,"c":1}`,
			"general", 0, "state 0 has an arc with label 3"},
		{"infinite weight", `"alphabet":2,"yi":[0],"lattice":"` + infinite + `","loss":{"kind":"edit"}`, "general",
			0, "negated potential"},
		{"gamma", three + `,"gamma":1e308,"loss":{"kind":"edit"}`, "direct general naive", 0, "float64"},
		{"theta", `"alphabet":2,"l":2,"q":1,"yi":[0,1],"theta":[[1e308,0],[1e308,0]],"loss":{"kind":"edit"}`,
			"direct general naive", 0, "float64"},
		{"n of 0", three + `,"loss":{"kind":"ngram","n":0}`, "direct general naive", 0, "n = 0"},
		{"c", three + `,"loss":{"kind":"ngram","n":1,"c":-1}`, "direct general naive", 0, "c = -1"},
		{"infinite cost", three + `,"loss":{"kind":"edit","sub":"inf"}`, "direct general naive", 0, "cost"},
		{"gaps that gain", three + `,"loss":{"kind":"local","ins":1}`, "direct general naive", 0, "positive"},
		{"other length", `"alphabet":2,"l":1,"q":1,"yi":[0,1],"theta":[[0,0]],"loss":{"kind":"hamming"}`,
			"direct general naive", 0, "2 symbols"},
		{"cap", three + `,"loss":{"kind":"edit","cap":1}`, "general naive", math.Log(1 + 7*math.E), ""},
		{"floats", `"alphabet":2.0,"l":3e0,"q":1.0,"yi":[0,1.0,0],"theta":[[0,0],[0,0],[0,0]],"loss":{"kind":"edit","sub":1e30,"band":0.0}`, "direct", 4.604494824249967, ""},
		{"no integer", `"alphabet":2.5,"l":3,"q":1,"yi":[0,1,0],"theta":[],"loss":{"kind":"edit"}`, "direct", 0,
			"2.5 is not an integer"},
		{"no symbols", `"alphabet":0,"l":3,"q":1,"yi":[],"theta":[],"loss":{"kind":"edit"}`, "direct", 0,
			"between 1 and"},
		{"tied", `"alphabet":1000,"l":1000000,"q":1,"yi":[],"tied":true,"w":[` + strings.Repeat("0,", 999) +
			`0],"loss":{"kind":"edit"}`, "direct", 0, "too many values"},
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
	answer, ok := evaluateLine(&losses.Evaluator{}, []byte(text), "test", 1,
		&lossOptions{path: "auto", limits: ops.Limits{Ctx: ctx}})
	if ok || !bytes.Contains(answer, []byte("context canceled")) {
		t.Errorf("%s", answer)
	}
}

// A panic is the error of its case, and standard error has the stack.
func TestLossRecovers(t *testing.T) {
	var errs bytes.Buffer
	line := `{"name":"x","alphabet":2,"l":1,"q":1,"yi":[0],"theta":[[0,0]],"loss":{"kind":"edit"}}`
	// no Evaluator: the defect
	answer, ok := evaluateLine(nil, []byte(line), "test", 7, &lossOptions{path: "direct", errs: &errs})
	var got map[string]string
	if err := json.Unmarshal(answer, &got); err != nil || ok {
		t.Fatalf("%s, %v", answer, err)
	}
	if got["name"] != "x" || !strings.Contains(got["error"], "line 7") ||
		!strings.Contains(errs.String(), "goroutine") {
		t.Errorf("%v, standard error %.100q", got, errs.String())
	}
}

// Zero is printed without a sign.
func TestNumberZero(t *testing.T) {
	if b, err := lossspec.Number(math.Copysign(0, -1)).MarshalJSON(); err != nil || string(b) != "0" {
		t.Errorf("%s, %v", b, err)
	}
}

// A case without any string of a finite loss has its numbers, and a warning that
// names its line.
func TestLossWithoutStrings(t *testing.T) {
	for _, path := range []string{"direct", "general"} {
		var errs bytes.Buffer
		text := `{"name":"a","alphabet":2,"l":1,"q":1,"yi":[0],"loss":{"kind":"ngram","n":2,"c":0},"theta":[[0,0]]}`
		answer, ok := evaluateLine(&losses.Evaluator{}, []byte(text), "cases", 4,
			&lossOptions{path: path, errs: &errs})
		if !ok || !strings.Contains(string(answer), `"risk":"nan"`) ||
			!strings.Contains(errs.String(), "WARNING: fst loss: cases, line 4: no string has both a finite loss "+
				"and a potential") {
			t.Errorf("%s: %s; %s", path, answer, errs.String())
		}
	}
}

// A number is printed with what it is, a band with what it became, and a constant that
// means nothing to a loss is refused.
func TestLossSaysWhatWasUsed(t *testing.T) {
	const shape = `"alphabet":2,"l":2,"q":1,"theta":[[0,0],[0,0]],`
	const narrow = shape + `"yi":[0,1,0,1,0,1,0,1,0],"loss":{"kind":"edit","band":1}`
	_, out, errs := fstTool(t, "{"+narrow+"}\n", "loss", "--only=band,log_z_error")
	got := decodeLines(t, out)[0]
	if kind, _ := got["log_z_error_kind"].(string); kind != "bound" && kind != "estimate" {
		t.Errorf("log_z_error of kind %q: %s", kind, out)
	}
	if got["band"] != 2.0 || !strings.Contains(errs, "line 1: no alignment of 2 with 9 symbols is within the "+
		"band: band 2, the least that has one, was used") {
		t.Errorf("%s%s, want band 2 and a warning", out, errs)
	}
	for _, path := range []string{"direct", "general", "naive"} {
		_, wide, errs := fstTool(t, "{"+strings.Replace(narrow, `"band":1`, `"band":2`, 1)+"}\n", "loss",
			"--only=log_z", "--path="+path)
		_, out, _ := fstTool(t, "{"+narrow+"}\n", "loss", "--only=log_z", "--path="+path)
		if out != wide || errs != "" {
			t.Errorf("%s: band 1 gives %s, band 2 %s%s", path, out, wide, errs)
		}
	}
	_, out, _ = fstTool(t, `{"name":"n",`+shape+`"yi":[0,1],"loss":{"kind":"edit","band":1}}`, "loss")
	if strings.Contains(out, `"band"`) {
		t.Errorf("a band used as given is told: %s", out)
	}
	for loss, word := range map[string]string{
		`{"kind":"transducer","family":"tropical","file":"u.fst","c":1}`: `c = 1 belongs to ngram losses and rational transducers, not to transducers of family "tropical"`,
		`{"kind":"edit","c":1}`: `not to "edit"`,
	} {
		_, out, _ := fstTool(t, "{"+shape+`"yi":[0,1],"loss":`+loss+"}", "loss")
		if s, _ := decodeLines(t, out)[0]["error"].(string); !strings.Contains(s, word) {
			t.Errorf("%s: %q, want %q", loss, s, word)
		}
	}
}

// The name of a case is found as far as it can be read.
func TestLossNames(t *testing.T) {
	for text, want := range map[string]string{
		`{"name":"a","l":1} x`:                          "a",
		`{"l":[{"name":"b"}],"name":"a","theta":[[1,`:   "a",
		`{"theta":"name","name":"a"}}`:                  "a",
		`{"name":"a\u00e9","x":tru}`:                    "a\u00e9",
		`["name","a"]`:                                  "",
		`{"x":{"name":"b"}} {"name":"c"}`:               "",
		`{"name":{"name":"b"}}`:                         "",
		`{"name":`:                                      "",
		strings.Repeat("[", 1<<16):                      "",
		`{"x":` + strings.Repeat("[", 100) + `,"name":`: "",
		``:     "",
		`"x"`:  "",
		`{"na`: "",
	} {
		if got := nameOf([]byte(text)); got != want {
			t.Errorf("%.40s: name %q, want %q", text, got, want)
		}
	}
	_, out, _ := fstTool(t, `{"name":"mine","alphabet":2} and more`, "loss")
	if got := decodeLines(t, out)[0]; got["name"] != "mine" || got["error"] == nil {
		t.Errorf("%s", out)
	}
}

// A local loss of the length of a sentence is refused at once, with what to do.
func TestLossLocalIsRefusedSoon(t *testing.T) {
	var lines strings.Builder
	for l := 28; l <= 40; l += 4 { // 24 fit, and take half a minute
		ref, row := make([]string, l), "["+strings.Repeat("0,", 14)+"0]"
		for i := range ref {
			ref[i] = strconv.Itoa(i * i * 7 % 31 % 15)
		}
		fmt.Fprintf(&lines, `{"alphabet":15,"l":%d,"q":1,"yi":[%s],"theta":[%s],"loss":{"kind":"local","match":1,"sub":-1,"ins":-1,"del":-1}}`+"\n",
			l, strings.Join(ref, ","), strings.Repeat(row+",", l-1)+row)
	}
	_, out, _ := fstTool(t, lines.String(), "loss", "--only=log_z,columns")
	for i, got := range decodeLines(t, out) {
		var columns int
		s, _ := got["error"].(string)
		_, after, _ := strings.Cut(s, " with ")
		if _, err := fmt.Sscan(after, &columns); err != nil || columns > 1<<17 ||
			!strings.Contains(s, "try band ") {
			t.Errorf("%d symbols: %v", 28+4*i, got)
		}
	}
}

// A loss transducer with a cycle that diverges is named with its file and states.
func TestLossNamesDivergentCycle(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "u.txt"), filepath.Join(dir, "u.fst")
	if err := os.WriteFile(in, []byte("0 1 1 1 0\n1 1 0 0 -1\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := fstTool(t, "", "compile", in, out); status != 0 {
		t.Fatal(errs)
	}
	line := `{"alphabet":1,"l":1,"q":1,"yi":[0],"theta":[[0]],"loss":{"kind":"transducer","family":"tropical","file":"` + out + `"}}`
	for _, path := range []string{"direct", "general", "naive"} {
		_, got, _ := fstTool(t, line, "loss", "--path="+path)
		if s, _ := decodeLines(t, got)[0]["error"].(string); !strings.HasPrefix(s, out+": ") ||
			!strings.Contains(s, "through its states 1 -> 1,") {
			t.Errorf("%s: %s", path, s)
		}
	}
}

// A field that the loss does not have would be a cost without effect: it is named, and the case
// answered.
func TestLossFieldsThatAreIgnored(t *testing.T) {
	const of = `{"alphabet":2,"l":1,"q":1,"yi":[0],"theta":[[0,0]],"loss":%s}`
	for loss, want := range map[string]string{
		`{"kind":"edit","subs":2}`:                            `"subs", which edit losses do not have (they have match, sub, ins, del, band, cap)`,
		`{"kind":"hamming","match":1}`:                        `"match", which hamming losses do not have (they have scale)`,
		`{"kind":"edit","Sub":2,"c":0}`:                       "",
		`{"kind":"ngram","n":1,"c":1,"band":0}`:               "",
		`{"kind":"local","match":2,"sub":-1,"scale":1,"n":2}`: `"n", which local`,
	} {
		var errs bytes.Buffer
		answer, ok := evaluateLine(&losses.Evaluator{}, fmt.Appendf(nil, of, loss), "cases", 7,
			&lossOptions{path: "auto", errs: &errs})
		if got := errs.String(); !ok || want == "" && got != "" || want != "" &&
			!strings.Contains(got, "cases, line 7: the loss has the field "+want) {
			t.Errorf("%s: %s\nmessages %q, want %q", loss, answer, got, want)
		}
	}
}
