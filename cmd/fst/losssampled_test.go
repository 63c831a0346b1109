package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// numbers flattens a JSON value into its numbers; "nan" is one.
func numbers(t *testing.T, x any) []float64 {
	t.Helper()
	switch v := x.(type) {
	case float64:
		return []float64{v}
	case string:
		if v == "nan" {
			return []float64{math.NaN()}
		}
	case []any:
		out := []float64{}
		for _, y := range v {
			out = append(out, numbers(t, y)...)
		}
		return out
	}
	t.Fatalf("%v is not of numbers", x)
	return nil
}

// tiedCase is a case of tied weights, with a direction where v says so.
func tiedCase(rng *rand.Rand, l, m, alphabet int, loss string, v bool) string {
	row := func(n int) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = rng.NormFloat64()
		}
		return out
	}
	yi := make([]int, m)
	for j := range yi {
		yi[j] = rng.IntN(alphabet)
	}
	c := map[string]any{"name": "c", "alphabet": alphabet, "l": l, "q": 2, "yi": yi, "tied": true,
		"w":    row(alphabet * alphabet),
		"loss": json.RawMessage(loss)}
	if v {
		rows := [][]float64{row(alphabet)}
		for len(rows) < l {
			rows = append(rows, row(alphabet*alphabet))
		}
		c["v"] = rows
	}
	b, _ := json.Marshal(c)
	return string(b)
}

// Every number of the sampled path is within three of its half intervals of the exact one, which a
// number of thousands exceeds by chance; and intervals are small. Seeds are fixed.
func TestLossSampled(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 32))
	for _, c := range []string{
		tiedCase(rng, 7, 7, 3, `{"kind":"edit"}`, false),
		tiedCase(rng, 6, 8, 4, `{"kind":"edit","match":-2}`, false),
		tiedCase(rng, 6, 6, 3, `{"kind":"local","match":2,"sub":-1,"ins":-1,"del":-1}`, false),
		tiedCase(rng, 8, 8, 3, `{"kind":"edit","sub":[[0,1.3,0.7],[1.1,0,2],[1,1,0]]}`, false),
	} {
		want := lossAnswer(t, c)
		got := lossAnswer(t, c, "--path=sampled", "--sweeps=1000", "--passes=200", "--sampled_band=-1", "--seed=4")
		for field, of := range map[string]string{"log_z": "log_z_error", "F": "log_z_error", "q": "q_error",
			"grad_w":   "grad_w_error",
			"exp_loss": "exp_loss_error", "risk": "risk_error", "risk_grad": "risk_grad_error"} {
			if field == "F" || field == "grad_w" {
				if want[field] == nil { // the lengths differ
					continue
				}
			}
			exact, x, half := numbers(t, want[field]), numbers(t, got[field]), numbers(t, got[of])
			if len(exact) != len(x) || len(x) != len(half) {
				t.Fatalf("%s: %d numbers and %d errors for %d", field, len(x), len(half), len(exact))
			}
			for i, h := range half {
				if math.IsNaN(h) {
					h = .004
				}
				if !(math.Abs(x[i]-exact[i]) <= 3*h+2e-4) || h > .2 {
					t.Errorf("%s: %s[%d] is %v ± %v, not %v", c, field, i, x[i], h, exact[i])
				}
			}
		}
		if got["log_z0"] == nil || agree(got["log_z0"], want["log_z0"]) != nil {
			t.Errorf("log_z0 %v, not %v", got["log_z0"], want["log_z0"])
		}
		for _, field := range unsampled {
			if _, ok := got[field]; ok {
				t.Errorf("sampled %s", field)
			}
		}
		quality, _ := got["sampled"].(map[string]any)
		if quality["mixed"] != true || quality["band_exact"] != true || got["exact"] != false ||
			got["log_z_error_kind"] != "interval" {
			t.Errorf("%v, exact %v, kind %v", quality, got["exact"], got["log_z_error_kind"])
		}
	}
}

// A lattice whose paths have one length is sampled too; others are refused.
func TestLossSampledLattice(t *testing.T) {
	dir := t.TempDir()
	compile := func(name, text string) string {
		in, out := filepath.Join(dir, name+".txt"), filepath.Join(dir, name+".fst")
		if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if status, _, errs := fstTool(t, "", "compile", "--arc_type=log64", in, out); status != 0 {
			t.Fatal(errs)
		}
		return out
	}
	layered := compile("a", "0 1 1 1 0.5\n0 1 2 2 0.1\n0 2 3 3 0.7\n1 3 1 1 0.2\n1 3 3 3 0.9\n2 3 2 2 0.3\n2 "+
		"3 1 1 0\n3 4 1 1 1\n3 4 2 2 0.4\n4 0.5\n")
	c := `{"name":"c","alphabet":3,"yi":[0,1,1],"loss":{"kind":"edit"},"lattice":"` + layered + `"}`
	want := lossAnswer(t, c)
	got := lossAnswer(t, c, "--path=sampled", "--sweeps=1000")
	for field, of := range map[string]string{"log_z": "log_z_error", "q": "q_error",
		"exp_loss": "exp_loss_error", "risk": "risk_error",
		"risk_grad": "risk_grad_error"} {
		exact, x, half := numbers(t, want[field]), numbers(t, got[field]), numbers(t, got[of])
		for i, h := range half {
			if !(math.Abs(x[i]-exact[i]) <= 3*h+2e-4) || h > .2 {
				t.Errorf("%s[%d] is %v ± %v, not %v", field, i, x[i], h, exact[i])
			}
		}
	}
	short := compile("b", "0 1 1 1\n1 2 1 1\n0 2 2 2\n2\n")
	got = lossAnswer(t, strings.ReplaceAll(c, layered, short), "--path=sampled")
	if s, _ := got["error"].(string); !strings.Contains(s, "different lengths") ||
		!strings.Contains(s, "--path=general") {
		t.Errorf("a lattice of two lengths: %v", got)
	}
}

// What cannot be sampled, or should not be believed, is said.
func TestLossSampledSays(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 32))
	long := tiedCase(rng, 60, 60, 10, `{"kind":"edit"}`, false)
	status, out, errs := fstTool(t, long, "loss", "--path=sampled", "--only=grad_w", "--sampled_band=3")
	if status != 0 || !strings.Contains(errs, "WARNING: fst loss: standard input, line 1: of ") ||
		!strings.Contains(errs, "--sampled_band") {
		t.Errorf("a narrow band: %d, %s", status, errs)
	}
	if got := decodeLines(t, out)[0]; len(numbers(t, got["grad_w"])) != 100 || got["q"] != nil ||
		got["log_z"] != nil {
		t.Errorf("--only=grad_w: %v", got)
	}
	if _, again, _ := fstTool(t, long, "loss", "--path=sampled", "--only=grad_w",
		"--sampled_band=3"); again != out {
		t.Error("one seed, two answers")
	}
	if _, other, _ := fstTool(t, long, "loss", "--path=sampled", "--only=grad_w", "--sampled_band=3",
		"--seed=8"); other == out {
		t.Error("two seeds, one answer")
	}
	if status, _, errs = fstTool(t, long, "loss", "--path=sampled", "--only=grad_w"); status != 0 || errs != "" {
		t.Errorf("the band it takes by itself: %d, %s", status, errs)
	}
	for c, word := range map[string]string{
		tiedCase(rng, 5, 5, 3, `{"kind":"ngram","n":2,"c":1}`, false): "exact machine",
		tiedCase(rng, 5, 5, 3, `{"kind":"edit","cap":2}`, false):      "--path=general",
	} {
		if s, _ := lossAnswer(t, c, "--path=sampled")["error"].(string); !strings.Contains(s, word) {
			t.Errorf("%s: %s", c, s)
		}
	}
	for _, args := range [][]string{{"--path=sampled", "--only=max_aug"}, {"--path=sampled", "--sweeps=1"},
		{"--sweeps=9"}} {
		if status, _, errs := fstTool(t, long, append([]string{"loss"}, args...)...); status == 0 ||
			!strings.Contains(errs, "flag") {
			t.Errorf("%v: %d, %s", args, status, errs)
		}
	}
}

// risk_hvp is the derivative of risk_grad along v, on every exact path.
func TestLossRiskHVP(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 32))
	line := tiedCase(rng, 4, 4, 3, `{"kind":"edit","sub":1.5}`, true)
	var c map[string]any
	if err := json.Unmarshal([]byte(line), &c); err != nil {
		t.Fatal(err)
	}
	v := c["v"].([]any)
	w := c["w"].([]any)
	at := func(step float64) []float64 {
		theta := [][]float64{make([]float64, 3)}
		for len(theta) < 4 {
			theta = append(theta, numbers(t, w))
		}
		for s, row := range theta {
			for i := range row {
				row[i] += step * v[s].([]any)[i].(float64)
			}
		}
		moved := map[string]any{"name": "c", "alphabet": 3, "l": 4, "q": 2, "yi": c["yi"], "theta": theta,
			"loss": c["loss"]}
		b, _ := json.Marshal(moved)
		return numbers(t, lossAnswer(t, string(b), "--only=risk_grad")["risk_grad"])
	}
	const h = 1e-5
	up, down := at(h), at(-h)
	for _, path := range []string{"direct", "general", "naive"} {
		got := numbers(t, lossAnswer(t, line, "--path="+path, "--only=risk_hvp")["risk_hvp"])
		if len(got) != len(up) {
			t.Fatalf("%s: %d numbers for %d", path, len(got), len(up))
		}
		for i, x := range got {
			if want := (up[i] - down[i]) / (2 * h); math.Abs(x-want) > 1e-7 {
				t.Errorf("%s: risk_hvp %d is %v, by differences %v", path, i, x, want)
			}
		}
	}
	if got := fmt.Sprint(lossAnswer(t, tiedCase(rng, 4, 4, 3, `{"kind":"edit"}`, false))["risk_hvp"]); got != "<nil>" {
		t.Errorf("without v: %s", got)
	}
}
