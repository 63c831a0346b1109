// Command logistic trains ten logistic regressions, one for each class against the
// others, on MNIST with package nn, until their mean objective
//
//	1/10 Σ_c ( 1/n Σ_i ln(1+e^{-y_ic s_ic}) + alpha/2 |w_c|² )
//
// is at or below a target, and prints the seconds that the training took, by the clock and
// of processors. The objective is evaluated -parts times a pass, while both stand still.
package main

import (
	"compress/gzip"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/tropica-fst/tropica/learn/nn"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// sign returns 1 where score i is that of its row's label, else -1.
func sign(i int, labels []int, classes int) float64 {
	if labels[i/classes] == i%classes {
		return 1
	}
	return -1
}

// oneVsAll returns the sum of the logistic losses of scores.
func oneVsAll(scores []float32, labels []int, classes int) float64 {
	sum := 0.0
	for i, s := range scores {
		sum += score.Softplus(-sign(i, labels, classes) * float64(s))
	}
	return sum
}

func main() {
	log.SetFlags(0)
	data := flag.String("data", "", "folder of train-images-idx3-ubyte.gz and train-labels-idx1-ubyte.gz")
	target := flag.Float64("target", 0, "objective to reach")
	alpha := flag.Float64("alpha", 1e-4, "weight of the penalty")
	method := flag.String("method", "SGD", "SGD, AdaGrad or Adam")
	rate := flag.Float64("rate", 0.5, "of the first step")
	decay := flag.Float64("decay", 0, "of the rate, a step")
	momentum := flag.Float64("momentum", 0, "of SGD")
	batch := flag.Int("batch", 32, "examples of a step")
	passes := flag.Int("passes", 50, "give up after so many")
	parts := flag.Int("parts", 20, "of a pass, after each of which the objective is evaluated")
	workers := flag.Int("workers", 0, "goroutines")
	flag.Parse()

	images, labels := readMNIST(*data)
	n := len(labels)
	const width, classes = 784, 10
	net, err := nn.New(width, classes)
	check(err)
	const most = 1000
	pass := nn.NewPass(net, max(most, *batch), &nn.Options[float32]{Workers: *workers})
	opts := nn.OptimizerOptions{Rate: *rate, Decay: *decay, Momentum: *momentum, L2: *alpha, Penalised: net.AllWeights(), Workers: *workers}
	for _, m := range []optim.Method{optim.SGD, optim.AdaGrad, optim.Adam} {
		if strings.EqualFold(m.String(), *method) {
			opts.Method = m
		}
	}
	opt, err := nn.NewOptimizer[float32](net.Dim(), &opts)
	check(err)
	w, grad := make([]float32, net.Dim()), make([]float32, net.Dim())
	x, d, l := make([]float32, *batch*width), make([]float32, *batch*classes), make([]int, *batch)
	objective := func() float64 {
		sum := 0.0
		for at := 0; at < n; at += most {
			rows := min(most, n-at)
			sum += oneVsAll(pass.Forward(w, images[at*width:], rows), labels[at:at+rows], classes)
		}
		weights, _ := nn.Layer(net, 0, w)
		sq := 0.0
		for _, v := range weights {
			sq += float64(v) * float64(v)
		}
		return (sum/float64(n) + *alpha/2*sq) / classes
	}
	every := max(1, (n / *batch)/max(1, *parts))
	var spent, processor time.Duration
	start, before := time.Now(), cpu()
	for epoch := range *passes {
		order := rand.New(rand.NewPCG(1, uint64(epoch))).Perm(n)
		for at, step := 0, 1; at < n; at, step = at+*batch, step+1 {
			rows := order[at:min(n, at+*batch)]
			nn.Gather(x, images, width, rows)
			for i, r := range rows {
				l[i] = labels[r]
			}
			scores := pass.Forward(w, x, len(rows))
			for i, s := range scores {
				y := sign(i, l, classes)
				d[i] = float32(-y * score.Sigmoid(-y*float64(s)) / float64(len(rows)))
			}
			pass.Backward(w, d[:len(scores)], grad)
			check(opt.Step(w, grad))
			if step%every != 0 && at+*batch < n {
				continue
			}
			spent, processor = spent+time.Since(start), processor+cpu()-before
			f := objective()
			fmt.Printf("pass %.2f: objective %.6f, %.3f s, processors %.3f s\n", float64(epoch)+float64(at+len(rows))/float64(n), f, spent.Seconds(), processor.Seconds())
			if f <= *target {
				return
			}
			start, before = time.Now(), cpu()
		}
	}
	log.Fatalf("the target %v was not reached in %d passes", *target, *passes)
}

// cpu returns the processor time of the process so far.
func cpu() time.Duration {
	var u syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func readMNIST(dir string) ([]float32, []int) {
	pixels := read(filepath.Join(dir, "train-images-idx3-ubyte.gz"), 16)
	classes := read(filepath.Join(dir, "train-labels-idx1-ubyte.gz"), 8)
	images, labels := make([]float32, len(pixels)), make([]int, len(classes))
	for i, v := range pixels {
		images[i] = float32(v) / 255
	}
	for i, v := range classes {
		labels[i] = int(v)
	}
	if len(images) != 784*len(labels) {
		log.Fatalf("%s: %d pixels for %d labels", dir, len(images), len(labels))
	}
	return images, labels
}

// read returns what follows the header of a file in idx format.
func read(path string, header int) []byte {
	f, err := os.Open(path)
	check(err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	check(err)
	b, err := io.ReadAll(z)
	check(err)
	if len(b) < header || binary.BigEndian.Uint32(b)>>8 != 8 {
		log.Fatalf("%s is not an idx file of bytes", path)
	}
	return b[header:]
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
