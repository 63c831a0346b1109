package nn_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/tropica-fst/tropica/learn/nn"
	"github.com/tropica-fst/tropica/learn/optim"
)

// BenchmarkBatch is a step of 784-1024-512-128-10 on 128 examples in float32: gather,
// forward, loss, backward, update. An epoch on 60,000 examples is 469 of them.
func BenchmarkBatch(b *testing.B) {
	for _, workers := range []int{1, 2} {
		for _, method := range []optim.Method{optim.SGD, optim.Adam} {
			b.Run(fmt.Sprintf("method=%v/workers=%d", method, workers), func(b *testing.B) {
				benchmarkBatch(b, method, &nn.Options[float32]{Workers: workers}, 784, 1024, 512, 128, 10)
			})
		}
	}
	b.Run("method=SGD/kernels=gonum", func(b *testing.B) {
		benchmarkBatch(b, optim.SGD, &nn.Options[float32]{Product: gonumProduct}, 784, 1024, 512, 128, 10)
	})
	b.Run("logistic/workers=1", func(b *testing.B) {
		benchmarkBatch(b, optim.SGD, &nn.Options[float32]{Workers: 1}, 784, 10)
	})
}

func gonumProduct(tA, tB blas.Transpose, m, n, k int, a []float32, lda int, b []float32, ldb int,
	beta float32, c []float32, ldc int) {
	gonum.Implementation{}.Sgemm(tA, tB, m, n, k, 1, a, lda, b, ldb, beta, c, ldc)
}

func benchmarkBatch(b *testing.B, method optim.Method, opts *nn.Options[float32], sizes ...int) {
	const examples, batch, width, classes = 10_000, 128, 784, 10
	rng := rand.New(rand.NewPCG(1, 1))
	net := must(nn.New(sizes...))
	data, all := make([]float32, examples*width), labels(rng, examples, classes)
	for i := range data {
		if rng.IntN(5) == 0 { // as many pixels are not white
			data[i] = rng.Float32()
		}
	}
	order := rng.Perm(examples)
	pass := nn.NewPass(net, batch, opts)
	opt := must(nn.NewOptimizer[float32](net.Dim(),
		&nn.OptimizerOptions{Method: method, Rate: 1e-3, Workers: opts.Workers}))
	w, g := nn.He[float32](net, 1), make([]float32, net.Dim())
	x, d, l := make([]float32, batch*width), make([]float32, batch*classes), make([]float64, batch)
	var loss softmax[float32]
	at := 0
	for b.Loop() {
		if at+batch > examples {
			at = 0
		}
		rows := order[at : at+batch]
		at += batch
		nn.Gather(x, data, width, rows)
		for i, r := range rows {
			l[i] = all[r]
		}
		loss.gradient(pass.Forward(w, x, batch), l, 1./batch, d)
		pass.Backward(w, d, g)
		if err := opt.Step(w, g); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*60_000/batch, "s/epoch")
}
