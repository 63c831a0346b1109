package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/metrics"
)

// Two trials that differ by the same number are no evidence: the table has - for t and p, and
// the report as JSON is one.
func TestCrossValidationWithoutSpread(t *testing.T) {
	a, b := []float64{0.3, 0.2}, []float64{0.2, 0.1}
	plain, err := metrics.PairedT(b, a)
	if err != nil {
		t.Fatal(err)
	}
	corrected, err := metrics.CorrectedT(b, a, 1, 4)
	if err != nil {
		t.Fatal(err)
	}
	r := &boost.CVReport{Rows: 10, Trials: 2, Classify: true, Contestants: []boost.CVContestant{
		{Name: "rgb", Error: a, Loss: a, BestError: a, Best: "default"},
		{Name: "gb", Error: b, Loss: b, BestError: b, Best: "default", Plain: &plain, Corrected: &corrected}}}
	var out bytes.Buffer
	if err := writeCV(&out, r); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if got := strings.Join(strings.Fields(lines[2]), " "); got != "gb 15.00 (7.07) 0.1500 (0.0707) -10.00 - "+
		"- - - - 15.00 (7.07) (default)" {
		t.Errorf("%q", got)
	}
	if !strings.Contains(lines[0], "one-tailed p") || !strings.Contains(out.String(), "the test of the thesis") {
		t.Error(out.String())
	}
	if text, err := json.Marshal(r); err != nil || !bytes.Contains(text, []byte(`"T":null,"DF":1,"P":null`)) {
		t.Errorf("%s, %v", text, err)
	}
	// With spread there are numbers.
	if plain, err = metrics.PairedT([]float64{0.2, 0.15}, a); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := writeCV(&out, r); err != nil || !strings.Contains(out.String(), "-3.00  0.205  0.102") {
		t.Error(out.String(), err)
	}
}
