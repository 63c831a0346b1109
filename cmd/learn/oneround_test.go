package main

import (
	"bytes"
	"testing"

	"github.com/tropica-fst/tropica/cmd/learn/internal/experiment"
)

// The picture of accuracy against bytes has as many series as there are marks that differ.
func TestRoundChart(t *testing.T) {
	r := &experiment.RoundReport{Set: "set"}
	for i, m := range []string{"central", "local", "one round", "one round, repaired once",
		"one round, repaired",
		"one round, with counts", "one round, with counts, at most 16 %", "one round, with counts, at most 28 %",
		"one round, with counts, price at agents 100", "averaging, linear, 1 rounds",
		"averaging, linear, 10 rounds",
		"averaging, linear, 100 rounds", "averaging, kernel, 1 rounds", "averaging, kernel, 10 rounds",
		"averaging, kernel, 100 rounds"} {
		r.Trials = append(r.Trials, experiment.RoundTrial{Method: m, Accuracy: 0.5 + float64(i)/100,
			Bytes: int64(1000 * (i + 1))})
	}
	c := roundChart(r)
	points := 0
	for _, s := range c.Series {
		points += len(s.X)
	}
	if len(c.Series) != 5 || points != 13 || len(c.HRules) != 2 {
		t.Errorf("%d series of %d points, %d rules", len(c.Series), points, len(c.HRules))
	}
	var b bytes.Buffer
	if err := c.Write(&b); err != nil || b.Len() == 0 {
		t.Error(err)
	}
}
