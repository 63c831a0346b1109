package ops_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

func TestPruneAgainstOpenFst(t *testing.T) {
	p := newPeer(t)
	rng := rand.New(rand.NewPCG(9, 1))
	for i := range machines(t, 60) {
		f := draw[semiring.Tropical](rng, randomShape(rng))
		write(p, "in", f)
		o := &ops.PruneOptions[semiring.Tropical]{Delta: 1.0 / 1024}
		var args []string
		if rng.IntN(5) > 0 {
			w := semiring.Tropical(rng.IntN(10)-1) / 2
			o.Threshold = &w
			args = append(args, "--weight="+number(float64(w), 9))
		}
		if rng.IntN(3) == 0 {
			o.States = rng.IntN(8)
			args = append(args, fmt.Sprintf("--nstate=%d", o.States))
			if o.States == 0 {
				o.States = -1
			}
		}
		p.must("fstprune", append(args, "in", "want")...)
		if err := ops.Prune(f, o); err != nil {
			t.Fatal(err)
		}
		if !sameAs(p, "want", f, 0) {
			t.Fatalf("machine %d %v: Prune differs\n%s", i, args, p.show("in", "want", "ours"))
		}
	}
}

func TestReweightAgainstOpenFst(t *testing.T) {
	p := newPeer(t)
	rng := rand.New(rand.NewPCG(10, 1))
	for i := range machines(t, 60) {
		f := draw[semiring.Tropical](rng, randomShape(rng))
		write(p, "in", f)
		v := make([]semiring.Tropical, rng.IntN(f.NumStates()+1))
		text := ""
		for q := range v {
			v[q] = semiring.Tropical(rng.IntN(8)-2) / 2
			if rng.IntN(6) == 0 {
				v[q] = v[q].Zero()
			}
			text += fmt.Sprintf("%d\t%s\n", q, number(float64(v[q]), 9))
		}
		if err := os.WriteFile(filepath.Join(p.dir, "v"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		var err error
		if rng.IntN(2) == 0 {
			p.must("fstreweight", "in", "v", "want")
			err = ops.ReweightToInitial(f, v)
		} else {
			p.must("fstreweight", "--to_final", "in", "v", "want")
			err = ops.ReweightToFinal(f, v)
		}
		if err != nil {
			t.Fatal(err)
		}
		if !sameAs(p, "want", f, 0) {
			t.Fatalf("machine %d: Reweight differs\n%s%s", i, text, p.show("in", "want", "ours"))
		}
	}
}
