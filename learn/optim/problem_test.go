package optim_test

import (
	"bytes"
	"crypto/sha256"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
)

func TestCheckpointBelongsTo(t *testing.T) {
	k := &run.Checkpoint{Problem: "sequence l2=1 loss=edit band=2"}
	for problem, want := range map[string]string{
		"sequence l2=1 loss=edit band=2":      "",
		"sequence l2=1 loss=edit band=3":      "its band is 2, here it is 3",
		"sequence l2=3 loss=edit":             "its l2 is 1, here it is 3; it has band=2, which this has not",
		"g2p l2=1 loss=edit band=2 data=ff00": "it has sequence, which this has not; it lacks g2p; it lacks data=ff00",
	} {
		got := ""
		if err := k.BelongsTo(problem); err != nil {
			got = err.Error()
			want = "the checkpoint belongs to another problem: " + want
		}
		if got != want {
			t.Errorf("%s: %q, should be %q", problem, got, want)
		}
	}
}

// What is read is written and read back the same; what is not is an error, and a solver
// that is given it does not panic.
func FuzzReadCheckpoint(f *testing.F) {
	for _, k := range []*run.Checkpoint{
		{Solver: "LBFGS", Problem: "p l2=1", Iteration: 3, Evaluations: 4, Seconds: 1.5, X: []float64{1, 2, 3, 4}},
		{Solver: "AdaGrad", Iteration: 1, X: []float64{1, 2, 3, 4}, Scalars: map[string]float64{"shrink": 1, "step": 5, "seed": 1, "batch": 1, "terms": 10},
			Arrays: map[string][]float64{"a": {1, 1, 1, 1}, "stepAt": {5, 5, 5, 5}, "rateAt": {1, 1, 1, 1}, "history": {1, 2}}},
	} {
		var b bytes.Buffer
		if err := k.Write(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
		f.Add(b.Bytes()[:b.Len()-3])
	}
	f.Add([]byte("TROPICA"))
	l := newLogistic(1, 4, 10, 2)
	f.Fuzz(func(t *testing.T, data []byte) {
		if n := len(data) - sha256.Size; n > 0 { // with the checksum that these bytes should have
			sum := sha256.Sum256(data[:n])
			data = append(data[:n:n], sum[:]...)
		}
		var k *run.Checkpoint
		var err error
		fsttest.Allocating(t, 2<<20+64*len(data), func() { k, err = run.ReadCheckpoint(bytes.NewReader(data)) })
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := k.Write(&b); err != nil {
			t.Fatalf("%+v: %v", k, err)
		}
		again, err := run.ReadCheckpoint(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Fatalf("%+v: %v", k, err)
		}
		bits := func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) } // of a NaN, too
		if again.Solver != k.Solver || again.Problem != k.Problem || again.Iteration != k.Iteration || again.Evaluations != k.Evaluations ||
			!bits(again.Seconds, k.Seconds) || !slices.EqualFunc(again.X, k.X, bits) || !maps.EqualFunc(again.Scalars, k.Scalars, bits) ||
			!maps.EqualFunc(again.Arrays, k.Arrays, func(a, b []float64) bool { return slices.EqualFunc(a, b, bits) }) {
			t.Fatalf("%+v came back as %+v", k, again)
		}
		var c bytes.Buffer
		if err := again.Write(&c); err != nil || !bytes.Equal(b.Bytes(), c.Bytes()) {
			t.Fatalf("%+v is not written the same again: %v", k, err)
		}
		stop := run.Stop{Iterations: 3, Evaluations: 10}
		for _, m := range solvers {
			m.Minimize(rosenbrock(4), nil, &run.Control{Resume: k, Stop: stop})
		}
		for _, method := range []optim.Method{optim.SGD, optim.AdaGrad, optim.Adam} {
			optim.Stochastic{Method: method, L2: 1, Seed: 1}.Minimize(l, nil, &run.Control{Resume: k, Stop: stop})
		}
	})
}
