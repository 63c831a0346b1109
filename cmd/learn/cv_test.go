package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/learn/evaluate"
	"github.com/tropica-fst/tropica/learn/metrics"
)

// Two trials that differ by the same number are no evidence: the table has - for t and p, and
// the report as JSON is one.
func TestComparisonWithoutSpread(t *testing.T) {
	a, b := []float64{30, 20}, []float64{20, 10}
	plain, err := metrics.PairedT(b, a)
	if err != nil {
		t.Fatal(err)
	}
	corrected, err := metrics.CorrectedT(b, a, 1, 4)
	if err != nil {
		t.Fatal(err)
	}
	r := &evaluate.Report{Measures: []string{"error"}, Trials: 2, Standings: []evaluate.Standing{
		{Name: "rgb", Values: [][]float64{a}, BestValues: a, Best: "default"},
		{Name: "gb", Values: [][]float64{b}, BestValues: b, Best: "default", Plain: []metrics.TTest{plain},
			Corrected: []metrics.TTest{corrected}}}}
	var out bytes.Buffer
	if err := writeComparison(&out, r, "10 rows"); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if got := strings.Join(strings.Fields(lines[2]), " "); got != "gb 15.0000 (7.0711) -10.0000 - "+
		"- - - - 15.0000 (7.0711) (default)" {
		t.Errorf("%q", got)
	}
	if !strings.Contains(lines[0], "one-tailed p") {
		t.Error(out.String())
	}
	if text, err := json.Marshal(r); err != nil || !bytes.Contains(text, []byte(`"T":null,"DF":1,"P":null`)) {
		t.Errorf("%s, %v", text, err)
	}
	// With spread there are numbers.
	if r.Standings[1].Plain[0], err = metrics.PairedT([]float64{20, 15}, a); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := writeComparison(&out, r, "10 rows"); err != nil || !strings.Contains(out.String(),
		"-3.00  0.205  0.102") {
		t.Error(out.String(), err)
	}
}

// A row of weight 0 is a row that is not there, and one of weight 3 is three: inner folds count by
// their weight.
func TestComparisonCountsRowsByWeight(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	var weighted, repeated, trials, same strings.Builder
	for _, b := range []*strings.Builder{&weighted, &repeated} {
		b.WriteString("a,b,class,w\n")
	}
	for range 120 {
		a, b, w := rng.NormFloat64(), rng.NormFloat64(), rng.IntN(4)
		class := "no"
		if a*b+0.5*rng.NormFloat64() > 0 {
			class = "yes"
		}
		division := []string{"-0", "0-", "1-", "-1"}[rng.IntN(4)]
		fmt.Fprintf(&weighted, "%g,%g,%s,%d\n", a, b, class, w)
		fmt.Fprintln(&trials, division)
		for range w {
			fmt.Fprintf(&repeated, "%g,%g,%s,1\n", a, b, class)
			fmt.Fprintln(&same, division)
		}
	}
	var reports []evaluate.Report
	dir := t.TempDir()
	for k, texts := range [][2]string{{weighted.String(), trials.String()}, {repeated.String(), same.String()}} {
		data, divisions := filepath.Join(dir, fmt.Sprint(k, ".csv")), filepath.Join(dir, fmt.Sprint(k, ".trials"))
		for name, text := range map[string]string{data: texts[0], divisions: texts[1]} {
			if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		var out, errs bytes.Buffer
		if execute(context.Background(), []string{"gb", "cv", data, "--target", "class", "--weight", "w",
			"--trials",
			divisions, "--grid", "rounds=2,20", "--rate", "0.5", "--min_rows", "1", "--min_weight", "0", "--l2", "0",
			"--json"}, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}) != 0 {
			t.Fatal(errs.String())
		}
		var r evaluate.Report
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		reports = append(reports, r)
	}
	x, y := reports[0].Standings[0], reports[1].Standings[0]
	if !slices.Equal(x.Chosen, y.Chosen) {
		t.Errorf("chosen: %v, without weights %v", x.Chosen, y.Chosen)
	}
	for m := range x.Values {
		for i, v := range x.Values[m] {
			if w := y.Values[m][i]; math.Abs(v-w) > 1e-9*max(1, v) {
				t.Errorf("%s of trial %d: %v, without weights %v", reports[0].Measures[m], i+1, v, w)
			}
		}
	}
}
