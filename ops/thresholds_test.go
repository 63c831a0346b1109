package ops_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/ops/pdt"
	"github.com/tropica-fst/tropica/semiring"
)

// Thresholds that are no weights are errors, and change nothing.
func TestThresholdsNotMembers(t *testing.T) {
	type W = semiring.Tropical
	f := machineOf[W]("0 1 1 1 0.5\n0 2 1 1 1\n1 2 0 0 0.25\n2 0\n")
	for _, bad := range []W{W(math.NaN()), W(math.Inf(-1))} {
		prune := ops.PruneOptions[W]{Threshold: &bad}
		for name, do := range map[string]func(f *fst.Vector[W]) error{
			"Prune": func(f *fst.Vector[W]) error { return ops.Prune(f, &prune) },
			"RmEpsilonPruned": func(f *fst.Vector[W]) error {
				return ops.RmEpsilonPruned(f, &ops.RmEpsilonPrunedOptions[W]{Prune: prune})
			},
			"DeterminizePruned": func(f *fst.Vector[W]) error {
				_, err := ops.DeterminizePruned(f, &ops.DeterminizePrunedOptions[W]{Prune: prune})
				return err
			},
			"DisambiguatePruned": func(f *fst.Vector[W]) error {
				_, err := ops.DisambiguatePruned(f, &ops.DisambiguatePrunedOptions[W]{Prune: prune})
				return err
			},
			"ShortestPath": func(f *fst.Vector[W]) error {
				_, err := ops.ShortestPath(f, &ops.ShortestPathOptions[W]{N: 2, Threshold: &bad})
				return err
			},
			"ShortestPathUnique": func(f *fst.Vector[W]) error {
				_, err := ops.ShortestPathUnique(f, &ops.ShortestPathOptions[W]{N: 2, Threshold: &bad})
				return err
			},
			"pdt.ExpandPruned": func(f *fst.Vector[W]) error {
				_, err := pdt.ExpandPruned(f, []fst.LabelPair{{From: 8, To: 9}}, bad, nil)
				return err
			},
		} {
			g := f.Clone()
			if err := do(g); !errors.Is(err, ops.ErrNotMember) {
				t.Errorf("%s within %v: %v", name, bad, err)
			}
			if !ops.Equal(f, g, 0) {
				t.Errorf("%s within %v has changed the machine", name, bad)
			}
		}
	}
}

// Distances and potentials that are missing at the end are 0̄.
func TestMissingDistances(t *testing.T) {
	type W = semiring.Tropical
	zero := semiring.Zero[W]()
	f := machineOf[W]("0 1 1 1 1\n0 2 2 2 1\n1 2\n2 2\n")
	threshold := W(100)
	full := []W{3, 2, zero}
	for _, n := range []int{3, 2} {
		g := f.Clone()
		if err := ops.Prune(g, &ops.PruneOptions[W]{Threshold: &threshold, Distances: full[:n]}); err != nil {
			t.Fatal(err)
		}
		if want := machineOf[W]("0 1 1 1 1\n1 2\n"); !ops.Equal(want, g, 0) {
			t.Errorf("Prune by %v: %v", full[:n], g)
		}
		g = f.Clone()
		if err := ops.ReweightToInitial(g, full[:n]); err != nil {
			t.Fatal(err)
		}
		if want := machineOf[W]("0 1 1 1 3\n0 2 2 2 4\n1\n2 2\n"); !ops.Equal(want, g, 0) {
			t.Errorf("ReweightToInitial by %v: %v", full[:n], g)
		}
	}
	for _, none := range [][]W{{}, {zero}} { // no path
		g := f.Clone()
		if err := ops.Prune(g, &ops.PruneOptions[W]{Distances: none}); err != nil || g.NumStates() != 0 {
			t.Errorf("Prune by %v: %v, %d states", none, err, g.NumStates())
		}
	}
}

// machineOf reads a transducer.
func machineOf[W semiring.Codec[W]](text string) *fst.Vector[W] {
	return fsttest.Must(fst.ReadText[W](strings.NewReader(text), nil))
}
