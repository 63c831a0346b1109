package ops_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

func TestPruneAgainstOpenFst(t *testing.T) {
	p := fsttest.OpenFst(t)
	rng := rand.New(rand.NewPCG(9, 1))
	for i := range machines(t, 60) {
		f := draw[semiring.Tropical](rng, randomShape(rng))
		in := f.Clone()
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
		want := fsttest.Apply(p, "fstprune", args, fst.Expanded[semiring.Tropical](f))
		if err := ops.Prune(f, o); err != nil {
			t.Fatal(err)
		}
		checkSame(t, fmt.Sprintf("machine %d: Prune %v", i, args), in, f, want)
	}
}

func TestReweightAgainstOpenFst(t *testing.T) {
	p := fsttest.OpenFst(t)
	rng := rand.New(rand.NewPCG(10, 1))
	for i := range machines(t, 60) {
		f := draw[semiring.Tropical](rng, randomShape(rng))
		in := f.Clone()
		file, out := fsttest.WriteFile(p, fst.Expanded[semiring.Tropical](f), nil), p.File()
		v := make([]semiring.Tropical, rng.IntN(f.NumStates()+1))
		text := ""
		for q := range v {
			v[q] = semiring.Tropical(rng.IntN(8)-2) / 2
			if rng.IntN(6) == 0 {
				v[q] = v[q].Zero()
			}
			text += fmt.Sprintf("%d\t%s\n", q, number(float64(v[q]), 9))
		}
		var err error
		if rng.IntN(2) == 0 {
			p.Do("fstreweight", file, p.Text(text), out)
			err = ops.ReweightToInitial(f, v)
		} else {
			p.Do("fstreweight", "--to_final", file, p.Text(text), out)
			err = ops.ReweightToFinal(f, v)
		}
		if err != nil {
			t.Fatal(err)
		}
		checkSame(t, fmt.Sprintf("machine %d: Reweight by\n%s", i, text), in, f, fsttest.ReadFile[semiring.Tropical](p, out))
	}
}
