package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The Hessian product of a lattice is the derivative of its marginals along v, row by row in the
// order in which both are printed, on a lattice whose start is not its first state and whose labels
// expand.
func TestLossLatticeHVP(t *testing.T) {
	type arc struct {
		from, to, label int
		weight, v       float64
	}
	// State 2 is the start, and printed first.
	arcs := []arc{{2, 0, 1, .5, 1}, {2, 0, 2, .2, -.5}, {2, 1, 3, .9, .25}, {0, 1, 1, .1, 2}, {0, 1, 2, .7, 0},
		{1, 3, 3, .4, -1}, {1, 3, 1, 0, .5}, {0, 3, 2, .6, 1.5}}
	dir := t.TempDir()
	compile := func(name, text string, flags ...string) string {
		in, out := filepath.Join(dir, name+".txt"), filepath.Join(dir, name+".fst")
		if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if status, _, errs := fstTool(t, "", append(append([]string{"compile"}, flags...), in,
			out)...); status != 0 {
			t.Fatal(errs)
		}
		return out
	}
	lattice := func(name string, step float64) string {
		var text strings.Builder
		for _, a := range arcs {
			// a weight is a negated potential
			fmt.Fprintf(&text, "%d %d %d %d %v\n", a.from, a.to, a.label, a.label, a.weight-step*a.v)
		}
		text.WriteString("3 0.3\n0 1.5\n")
		return compile(name, text.String(), "--arc_type=log64", "--keep_state_numbering")
	}
	expand := compile("e", "0 0 1 1\n0 1 2 2\n1 0 0 1\n0 0 3 0\n0\n")
	rows := func(got map[string]any, field string) [][]float64 {
		t.Helper()
		b, _ := json.Marshal(got[field])
		var out [][]float64
		if err := json.Unmarshal(b, &out); err != nil || len(out) != 4 {
			t.Fatalf("%s of %v: %v", field, got, err)
		}
		return out
	}
	direction := "[[1,-0.5,0.25],[2,0,1.5],[-1,0.5],[]]"
	for _, rest := range []string{
		`"alphabet":3,"yi":[0,1,0],"loss":{"kind":"edit","sub":1.5}`,
		`"alphabet":3,"yi":[0,1,0],"gamma":-0.7,"loss":{"kind":"ngram","n":1,"c":1}`,
		`"alphabet":2,"yi":[0,1,0],"loss":{"kind":"edit","match":-2},"expand":"` + expand + `"`,
	} {
		file := lattice("a", 0)
		got := lossAnswer(t, `{"lattice":"`+file+`",`+rest+`,"v":`+direction+`}`)
		for field, of := range map[string]string{"hvp": "q", "risk_hvp": "risk_grad"} {
			at := func(step float64) [][]float64 {
				return rows(lossAnswer(t, `{"lattice":"`+lattice("a", step)+`",`+rest+`}`, "--only="+of), of)
			}
			hvp := rows(got, field)
			const h = 1e-5
			up, down := at(h), at(-h)
			moved := 0.0
			for q := range hvp {
				if len(hvp[q]) != len(up[q]) {
					t.Fatalf("%s: row %d of %s has %d values, of %s %d", rest, q, field, len(hvp[q]), of, len(up[q]))
				}
				for i := range hvp[q] {
					want := (up[q][i] - down[q][i]) / (2 * h)
					if math.Abs(hvp[q][i]-want) > 1e-7 {
						t.Errorf("%s: %s[%d][%d] = %v, by differences %v", rest, field, q, i, hvp[q][i], want)
					}
					moved = max(moved, math.Abs(want))
				}
			}
			if moved < 1e-2 {
				t.Errorf("%s: %s: nothing moves: this tests nothing", rest, field)
			}
			if _, ok := lossAnswer(t, `{"lattice":"`+file+`",`+rest+`}`)[field]; ok {
				t.Errorf("%s: %s without v", rest, field)
			}
		}
		for _, bad := range []struct{ v, word string }{
			{"[[1]]", "1 rows for the 4 states"}, {"[[1,-0.5,0.25],[2,0],[-1,0.5],[]]",
				"v[1] has 2 values for the 3 arcs of state 0"},
			{`[[1,-0.5,0.25],[2,0,"inf"],[-1,0.5],[]]`, "v[1][2]"},
		} {
			if s, _ := lossAnswer(t, `{"lattice":"`+lattice("a", 0)+`",`+rest+`,"v":`+bad.v+`}`)["error"].(string); !strings.Contains(s, bad.word) {
				t.Errorf("v %s: %v", bad.v, s)
			}
		}
	}
}
