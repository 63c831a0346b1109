// Command solve times the assignments of simulated movies, and writes the problems for milp.py:
//
//	go run ./testdata/bench/tracking -o problems.jsonl
//
// For each preset, weights are learnt on four movies and the pairs of five others are solved; a
// last movie has 1,000 cells a frame. Then without a gate, with six neighbours.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"slices"
	"time"

	"github.com/tropica-fst/tropica/learn/tracking"
)

// problem is what milp.py reads: sets over elements, their scores, and what was found here.
type problem struct {
	Preset   string    `json:"preset"`
	Elements int       `json:"elements"`
	Sets     [][]int   `json:"sets"`
	Scores   []float64 `json:"scores"`
	Value    float64   `json:"value"`
	Seconds  float64   `json:"seconds"`
}

func main() {
	out := flag.String("o", "problems.jsonl", "file for the problems")
	nodes := flag.Int("nodes", 0, "most subproblems of a component; 0 is the default")
	flag.Parse()
	log.SetFlags(0)
	f, err := os.Create(*out)
	check(err)
	w := bufio.NewWriter(f)
	enc := json.NewEncoder(w)
	for _, preset := range []string{"default", "hard"} {
		model := train(preset)
		o := tracking.Presets[preset]
		for _, c := range []struct {
			name              string
			movies, cells     int
			neighbours, gated int
		}{
			{"", 5, 40, 3, 1}, {" 1000", 1, 1000, 3, 1},
			{" ungated", 2, 40, 6, 0}, {" 1000 ungated", 1, 1000, 6, 0}, // one component, four times the hypotheses
		} {
			if preset == "hard" && c.gated == 0 && c.cells == 1000 {
				continue // not proved within minutes: see the notes
			}
			if o.Cells = c.cells; c.cells == 1000 {
				o.Width, o.Frames = 256*5, 3
			} else {
				o.Width, o.Frames = 256, 20
			}
			list := movies(o, 100, c.movies)
			gate := 1e6
			if c.gated == 1 {
				gate = model.Candidates(list[0]).Gate
			}
			run(enc, preset+c.name, model, list, &tracking.Options{Neighbours: c.neighbours, Gate: gate, Events: "all"}, *nodes)
		}
	}
	check(w.Flush())
	check(f.Close())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func movies(o tracking.Simulation, seed uint64, n int) []*tracking.Movie {
	var out []*tracking.Movie
	for i := range n {
		m, _, err := tracking.Simulate(&o, seed+uint64(i))
		check(err)
		out = append(out, m)
	}
	return out
}

func train(preset string) *tracking.Model {
	o := &tracking.Options{}
	o.Lambda = 0.001
	m, _, err := tracking.Train(movies(tracking.Presets[preset], 1, 4), o, nil)
	check(err)
	return m
}

// run solves every pair five times and takes the median.
func run(enc *json.Encoder, name string, m *tracking.Model, list []*tracking.Movie, o *tracking.Options, nodes int) {
	samples, space, _, err := tracking.Samples(list, o, 0)
	check(err)
	space.Nodes = nodes
	w := m.Weights()
	var times []float64
	proved := 0
	for _, s := range samples {
		p := s.X
		var runs []float64
		var x problem
		for range 5 {
			start := time.Now()
			y, err := space.Argmax(context.Background(), p, w)
			check(err)
			runs = append(runs, time.Since(start).Seconds())
			x.Value = y.Value
			if y.Optimal && len(runs) == 1 {
				proved++
			}
		}
		slices.Sort(runs)
		x.Preset, x.Seconds, x.Elements, x.Scores = name, runs[len(runs)/2], len(p.From)+len(p.To), p.Scores(w)
		for _, h := range p.Hypotheses {
			set := slices.Clone(h.From)
			for _, j := range h.To {
				set = append(set, len(p.From)+j)
			}
			x.Sets = append(x.Sets, set)
		}
		times = append(times, x.Seconds)
		check(enc.Encode(&x))
	}
	mean, worst := 0.0, 0.0
	for _, t := range times {
		mean += t / float64(len(times))
		worst = math.Max(worst, t)
	}
	fmt.Printf("%-20s %4d pairs, %d proved optimal, mean %.3f ms, worst %.3f ms\n", name, len(times), proved, 1e3*mean, 1e3*worst)
}
