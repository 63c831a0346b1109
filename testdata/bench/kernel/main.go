// Program main times the kernel package on what compare.py times scikit-learn and scipy on. It
// prints seconds by the clock, processor seconds, and a figure to check.
//
//	go run ./testdata/bench/kernel TASK MNIST-FOLDER [rows]
package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/kernel"
)

func main() {
	rows := 0
	if len(os.Args) > 3 {
		rows, _ = strconv.Atoi(os.Args[3])
	}
	if err := run(os.Args[1], os.Args[2], rows); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// images reads the first rows of MNIST, as numbers from 0 to 1; 0 is all.
func images(folder, part string, rows int) (*kernel.Matrix, []int, error) {
	t, err := table.Open(os.DirFS(folder), part+"-images-idx3-ubyte.gz", &table.Options{Task: table.Classification})
	if err != nil {
		return nil, nil, err
	}
	if rows == 0 {
		rows = t.Rows
	}
	d := len(t.Columns)
	x := kernel.NewMatrix(rows, d, make([]float64, rows*d))
	for j := range t.Columns {
		for i := range rows {
			x.Data[i*d+j] = float64(t.Columns[j].Values[i]) / 255
		}
	}
	y := make([]int, rows)
	for i := range y {
		y[i], _ = strconv.Atoi(t.Classes[int(t.Target[i])])
	}
	return x, y, nil
}

// timed prints what a step takes.
func timed(step func() (float64, error)) error {
	var before, after syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	start := time.Now()
	check, err := step()
	clock := time.Since(start).Seconds()
	syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	if err != nil {
		return err
	}
	seconds := func(r *syscall.Rusage) float64 {
		return time.Duration(r.Utime.Nano() + r.Stime.Nano()).Seconds()
	}
	fmt.Printf("%.4f %.4f %.6g\n", clock, seconds(&after)-seconds(&before), check)
	return nil
}

func run(task, folder string, rows int) error {
	n := map[string]int{"gram": 10000, "top": 5000, "ridge": 5000, "nystrom": 0}[task]
	if rows > 0 {
		n = rows
	}
	x, y, err := images(folder, "train", n)
	if err != nil {
		return err
	}
	n = x.Rows
	k := kernel.Vector{Kind: kernel.Gaussian, Width: 5}
	switch task {
	case "gram":
		return timed(func() (float64, error) {
			g, err := kernel.Gram(k, x, nil)
			if err != nil {
				return 0, err
			}
			return g[1], nil
		})
	case "top":
		g, err := kernel.Gram(k, x, nil)
		if err != nil {
			return err
		}
		return timed(func() (float64, error) {
			c := slices.Clone(g) // as KernelPCA does
			kernel.NewCentring(c, n).Gram(c)
			s, err := kernel.Top(c, n, 50, nil)
			if err != nil {
				return 0, err
			}
			return s.Values[49], nil
		})
	case "ridge":
		g, err := kernel.Gram(k, x, nil)
		if err != nil {
			return err
		}
		labels := oneOf(y)
		return timed(func() (float64, error) {
			r, err := kernel.NewRidge(g, n, 0.1, nil)
			if err != nil {
				return 0, err
			}
			if err := r.Solve(labels, 10); err != nil {
				return 0, err
			}
			return labels[0], nil
		})
	case "nystrom":
		test, truth, err := images(folder, "t10k", 0)
		if err != nil {
			return err
		}
		labels := oneOf(y)
		return timed(func() (float64, error) {
			z := x.Subset(kernel.Draw(n, 2000, 1))
			r, err := kernel.LandmarkRidge(k, x, z, labels, 10, 0.1, &kernel.LandmarkOptions{Single: true})
			if err != nil {
				return 0, err
			}
			p, err := kernel.Times[*kernel.Matrix](k, test, z, nil, r.Weights, 10, &kernel.Options{Ctx: context.Background()})
			if err != nil {
				return 0, err
			}
			wrong := 0
			for i, c := range truth {
				row := p[i*10 : (i+1)*10]
				if slices.Index(row, slices.Max(row)) != c {
					wrong++
				}
			}
			return 100 * float64(wrong) / float64(len(truth)), nil
		})
	}
	return fmt.Errorf("there is no task %q", task)
}

// oneOf makes ten columns of -1 and 1.
func oneOf(y []int) []float64 {
	out := make([]float64, 10*len(y))
	for i := range out {
		out[i] = -1
	}
	for i, c := range y {
		out[10*i+c] = 1
	}
	return out
}
