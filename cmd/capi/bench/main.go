// Bench evaluates a batch with losses.Batch as often as it is told: what bench.py compares the
// Python package with.
//
// The first line of its input is the problem in JSON. Each line that follows is a number of
// repetitions, and is answered by the seconds and the seconds of processor time that they took.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/tropica-fst/tropica/losses"
)

type problem struct {
	Alphabet   int
	Band       int // of the edit distance; 0 is none
	Workers    int
	References [][]int
	Theta      [][]float64 // by example: positions one after the other
}

func main() {
	log.SetFlags(0)
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<28)
	if !in.Scan() {
		log.Fatal("bench: no problem")
	}
	var p problem
	if err := json.Unmarshal(in.Bytes(), &p); err != nil {
		log.Fatal("bench: ", err)
	}
	cases := make([]losses.Case, len(p.References))
	for i, ref := range p.References {
		m, err := losses.Edit{Band: p.Band}.Machine(ref, p.Alphabet, len(ref))
		if err != nil {
			log.Fatal("bench: ", err)
		}
		theta := losses.NewPotentials(p.Alphabet, len(ref), 1)
		for t := range ref {
			copy(theta.Theta[t], p.Theta[i][t*p.Alphabet:])
		}
		cases[i] = losses.Case{Machine: m, Potentials: theta, Gamma: 1, Want: losses.WantMarginals, Result: &losses.Result{}}
	}
	batch := losses.Batch{Workers: p.Workers}
	for in.Scan() {
		var n int
		if _, err := fmt.Sscan(in.Text(), &n); err != nil {
			log.Fatal("bench: ", err)
		}
		runtime.GC()
		begin, used := time.Now(), processor()
		for range n {
			if err := batch.Eval(cases); err != nil {
				log.Fatal("bench: ", err)
			}
		}
		fmt.Println(time.Since(begin).Seconds(), processor()-used)
	}
}

// processor returns the seconds of processor time of this process.
func processor() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal("bench: ", err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + 1e-6*float64(u.Utime.Usec+u.Stime.Usec)
}
