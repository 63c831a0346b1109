package ops_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

func TestShortestPathAgainstOpenFst(t *testing.T) {
	p := newPeer(t)
	rng := rand.New(rand.NewPCG(8, 1))
	queues := []ops.Queue{ops.QueueAuto, ops.QueueAuto, ops.QueueAuto, ops.QueueFIFO, ops.QueueLIFO, ops.QueueShortestFirst, ops.QueueStateOrder, ops.QueueTopOrder}
	for i := range machines(t, 80) {
		f := draw[semiring.Tropical](rng, randomShape(rng))
		write(p, "in", f)
		o := &ops.ShortestPathOptions[semiring.Tropical]{N: []int{1, 1, 3, 10}[rng.IntN(4)], Queue: queues[rng.IntN(len(queues))]}
		args := []string{fmt.Sprintf("--nshortest=%d", o.N), "--queue_type=" + o.Queue.String()}
		if rng.IntN(4) == 0 {
			w := semiring.Tropical(rng.IntN(6)-1) / 2
			o.Threshold = &w
			args = append(args, "--weight="+number(float64(w), 9))
		}
		if rng.IntN(4) == 0 {
			o.States = 1 + rng.IntN(40)
			args = append(args, fmt.Sprintf("--nstate=%d", o.States))
		}
		_, ok := p.run("fstshortestpath", append(args, "in", "want")...)
		got, err := ops.ShortestPath(f, o)
		if (err == nil) != ok {
			t.Fatalf("machine %d %v: error %v, OpenFst ok %v\n%s", i, args, err, ok, p.show("in"))
		}
		if err == nil && !sameAs(p, "want", got, 0) {
			t.Fatalf("machine %d %v: differs\n%s", i, args, p.show("in", "want", "ours"))
		}
	}
}
