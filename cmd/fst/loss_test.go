package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/lossspec"
	"github.com/tropica-fst/tropica/losses"
	"github.com/tropica-fst/tropica/ops"
)

// fstTool runs the tool in-process and returns its status and output.
func fstTool(t *testing.T, in string, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	status = run(append([]string{"fst"}, args...), cli.Streams{In: strings.NewReader(in), Out: &o, Err: &e})
	return status, o.String(), e.String()
}

func decodeLines(t *testing.T, s string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, line := range strings.Split(strings.TrimSpace(s), "\n") {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		out = append(out, m)
	}
	return out
}

// agree compares JSON values, numbers to 1e-9 of themselves (and of 1 where
// differences of larger numbers make small ones).
func agree(got, want any) error {
	switch w := want.(type) {
	case float64:
		g, ok := got.(float64)
		if !ok || math.Abs(g-w) > 1e-9*max(1, math.Abs(w)) {
			return fmt.Errorf("%v, want %v", got, want)
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Errorf("%v, want %v", got, want)
		}
		for i := range w {
			if err := agree(g[i], w[i]); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
	default:
		if !reflect.DeepEqual(got, want) {
			return fmt.Errorf("%v, want %v", got, want)
		}
	}
	return nil
}

// agreeGolden compares JSON values, numbers to 1e-9 of themselves however small they are, and of
// the shape's floor where there is one.
func agreeGolden(got, want, floor any) error {
	switch w := want.(type) {
	case float64:
		slack := 1e-9 * math.Abs(w)
		if f, ok := floor.(float64); ok {
			slack += f
		}
		if g, ok := got.(float64); !ok || !(math.Abs(g-w) <= slack) {
			return fmt.Errorf("%v, want %v to %.3g", got, want, slack)
		}
		return nil
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Errorf("%v, want %v", got, want)
		}
		for i := range w {
			var f any
			if of, ok := floor.([]any); ok {
				f = of[i]
			}
			if err := agreeGolden(g[i], w[i], f); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
		return nil
	}
	return agree(got, want)
}

// riskFloors is what cancellation leaves of the gradient of the risk of a case, a covariance: 2e-13
// of p0(window) max |L| (golden_test.go of package losses has why, and what was measured).
func riskFloors(t *testing.T, line string) []any {
	t.Helper()
	c := &lossCase{}
	if err := json.Unmarshal([]byte(line), c); err != nil {
		t.Fatal(err)
	}
	spec, err := lossspec.Parse(c.Loss)
	if err != nil {
		t.Fatal(err)
	}
	c.alphabet, c.l, c.q = int(c.Alphabet), int(c.L), int(c.Q)
	for _, k := range c.Ref {
		c.yi = append(c.yi, int(k))
	}
	p, err := c.potentials(0)
	if err != nil {
		t.Fatal(err)
	}
	most := 0.0
	var plain losses.Result
	if err := losses.Naive(func(u []int) float64 {
		if x := spec.Value(u, c.yi); !math.IsInf(x, 0) {
			most = max(most, math.Abs(x))
		}
		return 0
	}, p, 0, losses.WantMarginals, nil, &plain); err != nil {
		t.Fatal(err)
	}
	rows := []any{}
	for _, row := range plain.Marginals {
		r := []any{}
		for _, x := range row {
			r = append(r, 2e-13*most*x)
		}
		rows = append(rows, r)
	}
	return rows
}

const goldenFile = "../../testdata/golden/gradients.jsonl"

func TestLossGolden(t *testing.T) {
	text, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	cases := decodeLines(t, string(text))
	floors := make([]map[string]any, len(cases))
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		floors[i] = map[string]any{"risk_grad": riskFloors(t, line)}
	}
	for _, path := range []string{"direct", "general", "naive", "auto"} {
		t.Run(path, func(t *testing.T) {
			status, out, errs := fstTool(t, "", "loss", "--path="+path, "--workers=2", goldenFile)
			if status != 0 {
				t.Fatalf("status %d: %s", status, errs)
			}
			results := decodeLines(t, out)
			if len(results) != len(cases) {
				t.Fatalf("%d results for %d cases", len(results), len(cases))
			}
			for i, c := range cases {
				if results[i]["name"] != c["name"] {
					t.Fatalf("result %d is of %v, want %v", i, results[i]["name"], c["name"])
				}
				for field, want := range c["out"].(map[string]any) {
					got, ok := results[i][field]
					if !ok {
						t.Errorf("%v: %s is missing", c["name"], field)
					} else if err := agreeGolden(got, want, floors[i][field]); err != nil {
						t.Errorf("%v: %s: %v", c["name"], field, err)
					}
				}
			}
		})
	}
}

// compileTo makes a binary machine of text.
func compileTo(t *testing.T, name, text string, flags ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	args := append([]string{"compile"}, flags...)
	if status, _, errs := fstTool(t, text, append(args, "-", path)...); status != 0 {
		t.Fatal(errs)
	}
	return path
}

// A transducer from a file is the loss that it spells out, under each arc type
// and path.
func TestLossTransducerFile(t *testing.T) {
	edit := "0 0 1 1 0\n0 0 2 2 0\n0 0 1 2 1\n0 0 2 1 1\n0 0 1 0 1\n0 0 2 0 1\n0 0 0 1 1\n0 0 0 2 1\n0\n"
	const shape = `"alphabet":2,"l":3,"q":2,"gamma":0.7,"yi":[0,1,1,0],"theta":[[0.1,0.2],[1,2,-1,"-inf"],[0.5,0,0,3]]`
	want, wantOut, errs := fstTool(
		t, `{"name":"a",`+shape+`,"loss":{"kind":"edit","match":0,"sub":1,"ins":1,"del":1}}`, "loss")
	if want != 0 {
		t.Fatal(errs)
	}
	ref := decodeLines(t, wantOut)[0]
	for _, arcType := range []string{"standard", "tropical64"} {
		file := compileTo(t, "u.fst", edit, "--arc_type="+arcType)
		for _, path := range []string{"auto", "general", "naive"} {
			in := `{"name":"a",` + shape + `,"loss":{"kind":"transducer","file":"` + file + `","family":"tropical"}}`
			status, out, errs := fstTool(t, in, "loss", "--path="+path)
			if status != 0 {
				t.Fatal(arcType, path, errs, out)
			}
			got := decodeLines(t, out)[0]
			for _, f := range []string{"log_z", "q", "exp_loss", "risk", "risk_grad", "max_aug", "argmax_aug"} {
				if err := agree(got[f], ref[f]); err != nil {
					t.Errorf("%s, %s: %s: %v", arcType, path, f, err)
				}
			}
		}
	}

	// A rational loss: common symbols, counted by the probability semiring.
	_, wantOut, _ = fstTool(t, `{"name":"a",`+shape+`,"loss":{"kind":"ngram","n":1,"c":0.5}}`, "loss")
	ref = decodeLines(t, wantOut)[0]
	for _, arcType := range []string{"probability", "log64", "log"} {
		// Skips can interleave in several orders: the counting must not. Fix an
		// order, input before output, with states of their own.
		text := "0 0 1 0\n0 0 2 0\n0 1 0 1\n0 1 0 2\n1 1 0 1\n1 1 0 2\n0 2 1 1\n0 2 2 2\n1 2 1 1\n1 2 2 2\n2 2 " +
			"1 0\n2 2 2 0\n2 3 0 1\n2 3 0 2\n3 3 0 1\n3 3 0 2\n2\n3\n"
		file := compileTo(t, "n.fst", text, "--arc_type="+arcType)
		in := `{"name":"a",` + shape + `,"loss":{"kind":"transducer","file":"` + file +
			`","family":"rational","c":0.5}}`
		status, out, errs := fstTool(t, in, "loss")
		if status != 0 {
			t.Fatal(arcType, errs, out)
		}
		got := decodeLines(t, out)[0]
		for _, f := range []string{"log_z", "q", "exp_loss", "risk"} {
			if err := agree(got[f], ref[f]); err != nil {
				t.Errorf("%s: %s: %v", arcType, f, err)
			}
		}
	}
}

// A lattice that is a model of order 1, and one whose labels expand.
func TestLossLattice(t *testing.T) {
	file := compileTo(t, "a.fst", "0 1 1 -0.5\n0 1 2 0\n1 2 1 0\n1 2 2 -1\n2\n", "--acceptor",
		"--arc_type=log64")
	in := `{"name":"x","alphabet":2,"yi":[0,0],"lattice":"` + file +
		`","loss":{"kind":"edit","match":0,"sub":1,"ins":1,"del":1}}`
	_, wantOut, _ := fstTool(
		t, `{"name":"x","alphabet":2,"l":2,"q":1,"yi":[0,0],"theta":[[0.5,0],[0,1]],"loss":{"kind":"edit"}}`,
		"loss")
	ref := decodeLines(t, wantOut)[0]
	status, out, errs := fstTool(t, in, "loss")
	if status != 0 {
		t.Fatal(errs, out)
	}
	got := decodeLines(t, out)[0]
	for _, f := range []string{"log_z", "exp_loss", "risk", "max_aug", "argmax_aug"} {
		if err := agree(got[f], ref[f]); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
	q := got["q"].([]any)
	for s := range 2 {
		if err := agree(q[s], ref["q"].([]any)[s]); err != nil {
			t.Errorf("q of state %d: %v", s, err)
		}
	}

	// Label 1 is the string 0 1, label 2 is empty.
	expand := compileTo(t, "e.fst", "0 1 1 1\n1 0 0 2\n0 0 2 0\n0\n")
	in = strings.Replace(in, `"lattice"`, `"expand":"`+expand+`","lattice"`, 1)
	status, out, errs = fstTool(t, in, "loss", "--only=log_z,risk,exact")
	if status != 0 {
		t.Fatal(errs, out)
	}
	got = decodeLines(t, out)[0]
	// 0101, 01, 01 and the empty string against 00: losses 2, 1, 1, 2.
	z := math.Exp(0.5+2) + math.Exp(0.5+1+1) + math.Exp(1) + math.Exp(1+2)
	if err := agree(got["log_z"], math.Log(z)); err != nil {
		t.Errorf("log_z: %v", err)
	}
	if len(got) != 4 {
		t.Errorf("--only=log_z,risk,exact gave %v", got)
	}
}

func TestLossBandBudgetTime(t *testing.T) {
	long := make([]string, 60)
	theta := make([]string, 60)
	for i := range long {
		long[i] = fmt.Sprint(i * 7 % 10)
		theta[i] = "[0,0,0,0,0,0,0,0,0,0]"
	}
	shape := `"alphabet":10,"l":60,"q":1,"yi":[` + strings.Join(long, ",") + `],"theta":[` +
		strings.Join(theta, ",") + `]`
	status, out, _ := fstTool(
		t, `{"name":"big",`+shape+`,"loss":{"kind":"edit"}}`+"\n"+`{"name":"small","alphabet":1,"l":1,"q":1,"yi":[0],"theta":[[0]],"loss":{"kind":"edit"}}`, "loss", "--budget_columns=20000")
	res := decodeLines(t, out)
	if status != 1 || len(res) != 2 || !strings.Contains(fmt.Sprint(res[0]["error"]), "band") ||
		res[1]["log_z"] != 0.0 {
		t.Errorf("beyond the budget: status %d, %s", status, out)
	}
	status, out, errs := fstTool(t, `{"name":"banded",`+shape+`,"loss":{"kind":"edit","band":2}}`, "loss",
		"--time", "--only=log_z,columns,exact,log_z_error,log_z_error_kind")
	if status != 0 {
		t.Fatal(errs)
	}
	got := decodeLines(t, out)[0]
	if got["exact"] != false || got["log_z_error"] == nil || got["log_z_error_kind"] != "bound" &&
		got["log_z_error_kind"] != "estimate" {
		t.Errorf("a banded result without its error: %v", got)
	}
	if c, w := got["cold_ns"].(float64), got["warm_ns"].(float64); c <= 0 || w <= 0 {
		t.Errorf("cold %v ns, warm %v ns", c, w)
	}
}

func TestLossErrors(t *testing.T) {
	const shape = `"alphabet":2,"l":1,"q":1,"yi":[0],"theta":[[0,1]]`
	dir := t.TempDir()
	cyclic := compileTo(t, "c.fst", "0 0 1\n0\n", "--acceptor", "--arc_type=log64")
	standard := compileTo(t, "s.fst", "0 1 1\n1\n", "--acceptor")
	tests := []struct{ name, in, want string }{
		{"not JSON", `{"name":"x",`, "line 1"},
		{"no loss", `{"name":"x",` + shape + `}`, "loss: missing"},
		{"kind", `{"name":"x",` + shape + `,"loss":{"kind":"bogus"}}`,
			"is none of edit, local, ngram, hamming, span, transducer"},
		{"order", `{"name":"x","alphabet":2,"l":1,"q":4,"yi":[0],"theta":[[0,1]],"loss":{"kind":"edit"}}`, "q = 4"},
		{"row", `{"name":"x","alphabet":2,"l":1,"q":1,"yi":[0],"theta":[[0]],"loss":{"kind":"edit"}}`,
			"theta[0] has 1 values for 2 windows"},
		{"rows", `{"name":"x","alphabet":2,"l":2,"q":1,"yi":[0],"theta":[[0,0]],"loss":{"kind":"edit"}}`,
			"theta has 1 rows"},
		{"symbol", `{"name":"x","alphabet":2,"l":1,"q":1,"yi":[7],"theta":[[0,1]],"loss":{"kind":"edit"}}`,
			"yi[0] = 7"},
		{"NaN", `{"name":"x","alphabet":2,"l":1,"q":1,"yi":[0],"theta":[["nan",1]],"loss":{"kind":"edit"}}`, "NaN"},
		{"gamma", `{"name":"x","gamma":"inf",` + shape + `,"loss":{"kind":"edit"}}`, "gamma"},
		{"missing file", `{"name":"x",` + shape + `,"loss":{"kind":"transducer","family":"tropical","file":"` +
			filepath.ToSlash(dir) + `/none.fst"}}`, "none.fst"},
		{"family", `{"name":"x",` + shape + `,"loss":{"kind":"transducer","file":"u.fst"}}`, "family"},
		{"arc type", `{"name":"x",` + shape + `,"loss":{"kind":"transducer","family":"rational","file":"` +
			standard + `"}}`, "arc type standard"},
		{"cyclic lattice", `{"name":"x","alphabet":2,"yi":[0],"lattice":"` + cyclic +
			`","loss":{"kind":"edit"}}`, "cycle"},
		{"c", `{"name":"x",` + shape + `,"loss":{"kind":"ngram","n":1,"c":-1}}`, "c = -1"},
		{"no alphabet", `{"name":"x","alphabet":0,"l":1,"q":1,"yi":[],"theta":[[]],"loss":{"kind":"edit"}}`,
			"alphabet"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, out, errs := fstTool(t, strings.ReplaceAll(tt.in, `\`, `\\`), "loss")
			if status != 1 || !strings.Contains(out, tt.want) ||
				!strings.Contains(errs, "1 cases could not be evaluated") {
				t.Errorf("status %d, out %q, want one with %q; %s", status, out, tt.want, errs)
			}
		})
	}
	for _, args := range [][]string{{"--only=bogus"}, {"--path=bogus"}, {"--workers=0"}, {"--budget_columns=-1"},
		{filepath.Join(dir, "none")}} {
		if status, _, errs := fstTool(t, "", append([]string{"loss"}, args...)...); status != 1 || errs == "" {
			t.Errorf("%v: status %d, %q", args, status, errs)
		}
	}
}

// Whatever a line of cases holds, it is answered with one line of JSON, soon, within the memory
// that it may take and without a defect; the same again when the evaluator has seen it; and where
// two paths are exact they agree.
func FuzzLossLine(f *testing.F) {
	file, err := os.ReadFile(goldenFile)
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(file) {
		if len(line) < 4000 {
			f.Add(bytes.TrimSpace(line), uint8(len(line)))
		}
	}
	f.Add([]byte(`{"name":"x","alphabet":1000000000,"l":1000000000,"q":3,"yi":[0],"loss":{"kind":"edit","match":0,"sub":1,"ins":1,"del":1},"theta":[]}`), uint8(1))
	f.Add([]byte(`{"name":"x","alphabet":2,"l":2,"q":1,"yi":[],"loss":{"kind":"edit","match":0,"sub":1,"ins":1e300,"del":-1e300,"band":1,"cap":1e308},"theta":[[0,0],[1,"-inf"]]}`), uint8(2))
	f.Fuzz(func(t *testing.T, line []byte, path uint8) {
		var e losses.Evaluator
		evaluate := func(path string) (answer []byte, ok bool) {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			o := &lossOptions{path: path, columns: 1 << 9,
				limits: ops.Limits{Ctx: ctx, States: 1 << 9, Bytes: 1 << 24}}
			start := time.Now()
			answer, ok = evaluateLine(&e, line, "fuzz", 1, o)
			if !json.Valid(answer) || bytes.Contains(answer, []byte("a defect of this program")) {
				t.Fatalf("answer %q", answer)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Fatalf("took %v", took)
			}
			return answer, ok
		}
		first := []string{"direct", "general"}[path%2]
		answer, ok := evaluate(first)
		if !ok {
			return // in time or not, the reason is given
		}
		if again, ok := evaluate(first); ok && !bytes.Equal(again, answer) {
			t.Fatalf("%s: first %s\nthen %s", first, answer, again)
		}
		other, ok := evaluate([]string{"general", "direct"}[path%2])
		if !ok {
			return
		}
		var x, y struct {
			Exact bool            `json:"exact"`
			LogZ  lossspec.Number `json:"log_z"`
		}
		must(json.Unmarshal(answer, &x))
		must(json.Unmarshal(other, &y))
		a, b := float64(x.LogZ), float64(y.LogZ)
		if x.Exact && y.Exact && a != b && !(math.IsNaN(a) && math.IsNaN(b)) &&
			!(math.Abs(a-b) <= 1e-6*max(1, math.Abs(a))) {
			t.Fatalf("%s: %s\nthe other path: %s", first, answer, other)
		}
	})
}

// Every path reports the cost of a band, and it is the same.
func TestLossBandErrorOnEveryPath(t *testing.T) {
	const line = `{"name":"b","alphabet":2,"l":5,"q":1,"gamma":1,"yi":[0,1,0,1,1,0],"loss":{"kind":"edit","match":0,"sub":1,"ins":1,"del":1,"band":1},"theta":[[0.3,0],[0,1],[0,-1],[2,0],[0,0.5]]}`
	var want map[string]any
	for _, path := range []string{"direct", "general", "naive"} {
		_, out, errs := fstTool(t, line, "loss", "--path="+path, "--only=log_z,log_z_error,log_z_error_kind")
		got := decodeLines(t, out)[0]
		if _, ok := got["log_z_error"]; !ok || errs != "" {
			t.Fatalf("%s: %v %s", path, got, errs)
		}
		if want == nil {
			want = got
		} else if err := agree(got, any(want)); err != nil && got["log_z_error"] != want["log_z_error"] {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

// Enumeration meets strings of labels that a transducer does not read. The loss leaves them out, as
// on the other paths; a transducer that reads no symbol at all is an error on each.
func TestLossNaiveTransducerReadsSome(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ name, text string }{{"some", "0 0 2 1 2\n0 .5\n"},
		{"none", "0 0 9 9 1\n0 0\n"}} {
		file := filepath.Join(dir, c.name+".fst")
		if _, _, errs := fstTool(t, c.text, "compile", "--arc_type=tropical64", "-", file); errs != "" {
			t.Fatal(errs)
		}
		line := fmt.Sprintf(`{"name":"u","alphabet":2,"l":2,"q":1,"yi":[0,0],"theta":[[1,2],[0,1]],`+
			`"loss":{"kind":"transducer","file":%q,"family":"tropical"}}`, file)
		for _, path := range []string{"direct", "general", "naive"} {
			_, out, _ := fstTool(t, line, "loss", "--path="+path, "--only=log_z")
			got := decodeLines(t, out)[0]
			z, ok := got["log_z"].(float64)
			if c.name == "some" && !(ok && math.Abs(z-7.5) < 1e-8) || c.name == "none" && got["error"] == nil {
				t.Errorf("%s, %s: %v", path, c.name, got)
			}
		}
	}
}

// The loss of wrong spans, by all paths; its fields are checked.
func TestLossSpan(t *testing.T) {
	const shape = `"alphabet":3,"l":2,"q":2,"yi":[1,2],"theta":[[0,1,-1],[0.5,0,0,1,2,3,-1,0,1]]`
	var first float64
	for i, path := range []string{"direct", "general", "naive"} {
		status, out, errs := fstTool(t, `{`+shape+`,"loss":{"kind":"span","labels":["O","B-x","I-x"],"missing":2}}`, "loss",
			"--path="+path, "--only=log_z,exp_loss")
		if status != 0 {
			t.Fatal(errs)
		}
		z := decodeLines(t, out)[0]["log_z"].(float64)
		if i == 0 {
			first = z
		}
		if math.Abs(z-first) > 1e-9 {
			t.Errorf("%s: log Z %v, want %v", path, z, first)
		}
	}
	for loss, want := range map[string]string{
		`{"kind":"span"}`:                                               "labels is missing",
		`{"kind":"span","labels":["O","NN","VB"]}`:                      `the label \"NN\"`,
		`{"kind":"span","labels":["O","B-x","I-x"],"type":-1}`:          "type is -1",
		`{"kind":"span","labels":["O","B-x"]}`:                          "alphabet of 3 symbols, but 2 labels",
		`{"kind":"span","labels":["O","B-x"],"missing":0,"spurious":0}`: "all its costs are 0",
	} {
		if status, out, _ := fstTool(t, `{`+shape+`,"loss":`+loss+`}`, "loss"); status != 1 || !strings.Contains(out, want) {
			t.Errorf("%s: status %d, %s, want %q", loss, status, out, want)
		}
	}
}
