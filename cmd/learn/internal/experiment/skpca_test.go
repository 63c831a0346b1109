package experiment

import (
	"context"
	"math"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/skpca"
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

// The mean of one kernel is that kernel: kernel PCA of it has the errors and losses of the kernel's
// own features, centred or not.
func TestMeanKernel(t *testing.T) {
	sets, err := SKPCASets(fstest.MapFS{}, "nuisance-2")
	if err != nil {
		t.Fatal(err)
	}
	x, trials, err := sets[0].Load()
	if err != nil {
		t.Fatal(err)
	}
	trial := thinned(&trials[0], 80)
	for _, centre := range []bool{false, true} {
		c := &projections{o: &SKPCAOptions{Ctx: context.Background(), Ranks: []int{2, 5}}, table: x,
			families: []family{{"one", skpca.Options{Kernels: []string{"gaussian:0.7"}, Rank: []int{2, 5},
				Centre: centre, Raw: true}}}, names: [][]string{{"gaussian:0.7"}},
			measured: map[string][][]float64{}, known: map[string]*decomposed{}}
		for _, r := range c.o.Ranks {
			side := candidate{search: skpca.TwoStage, nu: math.Inf(1)}
			mean := side
			mean.mean = true
			want, err := c.path(context.Background(), side, 5, r, trial.Fold)
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.path(context.Background(), mean, 5, r, trial.Fold)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if math.Abs(got[i][0]-want[i][0]) > 1e-9 || math.Abs(got[i][1]-want[i][1]) > 1e-4 {
					t.Errorf("centred %v, rank %d, penalty %d: %v, want %v", centre, r, i+1, got[i], want[i])
				}
			}
		}
	}
}
