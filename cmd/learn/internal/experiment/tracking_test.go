package experiment

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// On simulated movies the table has every method, paired with the assignment by distance, which
// learnt weights beat.
func TestTracking(t *testing.T) {
	task, err := TrackingGenerated("default", 2, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	cut, err := TrackingParts("parts", task.Trials[0].Test[0], 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Tracking(context.Background(), []TrackingTask{task, cut},
		&TrackingOptions{Methods: []string{"nearest", "distance", "optimistic", "local"},
			Lambda: []float64{0.03, 0.003}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Cells) != 4*2+4*3 {
		t.Fatalf("%d cells", len(r.Cells))
	}
	for i, c := range r.of("default", "local") {
		d, o := r.of("default", "distance")[i], r.of("default", "optimistic")[i]
		if c.Loss > d.Loss/2 {
			t.Errorf("trial %d: loss %v of local, %v of distance", i+1, c.Loss, d.Loss)
		}
		if o.Counts.Edges != d.Counts.Edges || o.Counts.Edges == 0 {
			t.Errorf("trial %d: methods were judged by other movies", i+1)
		}
	}
	var table, cells bytes.Buffer
	if err := r.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteCSV(&cells); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(table.String(), "\n"); n != 9 {
		t.Errorf("%d lines:\n%s", n, table.String())
	}
	if n := strings.Count(cells.String(), "\n"); n != 21 {
		t.Errorf("%d lines of CSV", n)
	}
}
