package experiment

import (
	"context"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// A comparison that goes on from fits of another one comes to the same report, whichever fits it
// knows. Whatever is chosen, an unsupervised side with more kernels never lacks a setting.
func TestProjectionsGoOn(t *testing.T) {
	sets, err := SKPCASets(fstest.MapFS{}, "nuisance-10")
	if err != nil {
		t.Fatal(err)
	}
	var kept []ProjectionFit
	o := &SKPCAOptions{Ctx: context.Background(), Ranks: []int{2}, Nu: []float64{2}, Trials: 2, MaxRows: 60,
		Save: func(f *ProjectionFit) error { kept = append(kept, *f); return nil }}
	want, err := Projections(sets[0], o)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(want.Reports[0].Standings); n != 6 || len(kept) < 100 {
		t.Fatalf("%d contestants, %d fits kept", n, len(kept))
	}
	for step := 2; step < 4; step++ {
		again := *o
		again.Known, again.Save = nil, nil
		for i, f := range kept {
			switch {
			case i%step == 0:
				again.Known = append(again.Known, f)
			case i%step == 1: // one that had fewer penalties
				f.Measures = f.Measures[:1]
				again.Known = append(again.Known, f)
			}
		}
		got, err := Projections(sets[0], &again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with every %d-th fit known: %s", step, diff)
		}
	}
}
