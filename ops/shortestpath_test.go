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

func TestShortestPathAgainstOpenFst(t *testing.T) {
	p := fsttest.OpenFst(t)
	rng := rand.New(rand.NewPCG(8, 1))
	queues := []ops.Queue{ops.QueueAuto, ops.QueueAuto, ops.QueueAuto, ops.QueueFIFO, ops.QueueLIFO, ops.QueueShortestFirst, ops.QueueStateOrder, ops.QueueTopOrder}
	for i := range machines(t, 60) {
		s := randomShape(rng)
		unique := rng.IntN(3) == 0
		s.acceptor = s.acceptor || unique && rng.IntN(8) > 0
		if unique && rng.IntN(2) == 0 {
			s.arcs *= 2
		}
		f := draw[semiring.Tropical](rng, s)
		o := &ops.ShortestPathOptions[semiring.Tropical]{N: []int{1, 1, 3, 10}[rng.IntN(4)], Queue: queues[rng.IntN(len(queues))]}
		args := []string{fmt.Sprintf("--nshortest=%d", o.N), "--queue_type=" + o.Queue.String(), fmt.Sprintf("--unique=%v", unique)}
		if rng.IntN(4) == 0 {
			w := semiring.Tropical(rng.IntN(6)-1) / 2
			o.Threshold = &w
			args = append(args, "--weight="+number(float64(w), 9))
		}
		if rng.IntN(4) == 0 {
			o.States = 1 + rng.IntN(40)
			args = append(args, fmt.Sprintf("--nstate=%d", o.States))
		}
		what := fmt.Sprintf("machine %d: ShortestPath %v", i, args)
		in, out := fsttest.WriteFile(p, fst.Expanded[semiring.Tropical](f), nil), p.File()
		r := p.Run("fstshortestpath", append(args, in, out)...)
		var got *fst.Vector[semiring.Tropical]
		var err error
		if unique {
			got, err = ops.ShortestPathUnique(f, o)
		} else {
			got, err = ops.ShortestPath(f, o)
		}
		if (err == nil) != (r.Exit == 0) {
			t.Fatalf("%s: error %v, OpenFst exits %d\n%s", what, err, r.Exit, printText(f))
		}
		if err == nil {
			checkSame(t, what, f, got, fsttest.ReadFile[semiring.Tropical](p, out))
		}
	}
}
