package pdt_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/ops/pdt"
)

// benchForward returns a machine without cycles, of four arcs a state that lead at most
// 30 states on, a third of them parentheses, each of which can be closed. The first arc of
// a state is plain.
func benchForward(arcs, kinds int) (*fst.Vector[T], []fst.LabelPair) {
	rng := rand.New(rand.NewPCG(13, uint64(arcs)))
	n := arcs / 4
	pairs := make([]fst.LabelPair, kinds)
	for i := range pairs {
		pairs[i] = fst.LabelPair{From: fst.Label(100 + 2*i), To: fst.Label(101 + 2*i)}
	}
	f := fst.NewVector[T](n)
	f.AddStates(n)
	f.SetStart(0)
	f.SetFinal(fst.StateID(n-1), 0)
	add := func(q, to int, l fst.Label) {
		f.AddArc(fst.StateID(q), fst.Arc[T]{ILabel: l, OLabel: l, Weight: weightOf(rng), NextState: fst.StateID(to)})
	}
	for q := range n - 1 {
		add(q, q+1, 1)
		for range 3 {
			l := fst.Label(1 + rng.IntN(2))
			if p := pairs[rng.IntN(kinds)]; rng.IntN(3) == 0 {
				if l = p.From; q > n*4/5 || q > n/10 && rng.IntN(2) == 0 {
					l = p.To
				}
			}
			add(q, min(q+1+rng.IntN(30), n-1), l)
		}
	}
	for q := n - 2; q > n-2-kinds; q-- { // whatever is open
		add(q, q+1, pairs[n-2-q].To)
	}
	return f, pairs
}

// benchCalls returns rules, some of whose arcs call those of the next level. Within a
// rule there are cycles.
func benchCalls(levels, rules, states, calls int) []ops.Rule[T] {
	rng := rand.New(rand.NewPCG(14, uint64(levels)))
	label := func(level, i int) fst.Label { return fst.Label(1000 + 1000*level + i) }
	var all []ops.Rule[T]
	for level := range levels {
		for i := range rules {
			f := fst.NewVector[T](states)
			f.AddStates(states)
			f.SetStart(0)
			f.SetFinal(fst.StateID(states-1), 0)
			add := func(q, to int, l fst.Label) {
				f.AddArc(fst.StateID(q), fst.Arc[T]{ILabel: l, OLabel: l, Weight: weightOf(rng), NextState: fst.StateID(to)})
			}
			for q := range states {
				add(q, (q+1)%states, fst.Label(1+rng.IntN(3)))
				add(q, rng.IntN(states), fst.Label(1+rng.IntN(3)))
			}
			for range calls {
				if level+1 < levels {
					add(rng.IntN(states), rng.IntN(states), label(level+1, rng.IntN(rules)))
				}
			}
			all = append(all, ops.Rule[T]{Label: label(level, i), F: f})
			if level == 0 {
				break // the root
			}
		}
	}
	return all
}

// benchRecursive returns a random machine with degree arcs a state, a third of them parentheses of three kinds, and an unbounded
// stack; one state is final.
func benchRecursive(states, degree int, seed uint64) (*fst.Vector[T], []fst.LabelPair) {
	rng := rand.New(rand.NewPCG(16, seed))
	pairs := []fst.LabelPair{{From: 100, To: 101}, {From: 102, To: 103}, {From: 104, To: 105}}
	f := fst.NewVector[T](states)
	f.AddStates(states)
	f.SetStart(0)
	f.SetFinal(fst.StateID(rng.IntN(states)), 0)
	for range degree * states {
		l := fst.Label(1 + rng.IntN(5))
		if p := pairs[rng.IntN(len(pairs))]; rng.IntN(3) == 0 {
			l = []fst.Label{p.From, p.To}[rng.IntN(2)]
		}
		f.AddArc(fst.StateID(rng.IntN(states)), fst.Arc[T]{ILabel: l, OLabel: l, Weight: 8 * weightOf(rng) / 3, NextState: fst.StateID(rng.IntN(states))})
	}
	return f, pairs
}

func nsPerArc(b *testing.B, arcs int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(arcs), "ns/arc")
}

// Where the machine has no parentheses on cycles, and where it has, so that the stack is
// tested beside the expansion.
func BenchmarkExpand(b *testing.B) {
	run := func(name string, f *fst.Vector[T], pairs []fst.LabelPair) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			arcs := 0
			for b.Loop() {
				arcs = fsttest.Must(pdt.Expand(f, pairs, nil)).NumArcs()
			}
			nsPerArc(b, arcs)
		})
	}
	for _, size := range []int{500, 2000, 8000} {
		f, pairs := benchForward(size, 1)
		run(fmt.Sprintf("arcs=%d/machine=acyclic/weight=tropical", size), f, pairs)
	}
	f, pairs, err := pdt.Replace(benchCalls(4, 10, 30, 10), 1000, nil)
	if err != nil {
		b.Fatal(err)
	}
	run(fmt.Sprintf("arcs=%d/machine=calls/weight=tropical", f.NumArcs()), f, pairs)
}

func BenchmarkExpandPruned(b *testing.B) {
	for _, size := range []int{3000, 12000} { // unbounded
		f, pairs := benchRecursive(size/4, 4, 1)
		b.Run(fmt.Sprintf("arcs=%d/machine=recursive/threshold=1/weight=tropical", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				fsttest.Must(pdt.ExpandPruned(f, pairs, 1, nil))
			}
			nsPerArc(b, size)
		})
	}
	for _, size := range []int{500, 2000} {
		f, pairs := benchForward(size, 1)
		for _, threshold := range []T{1, 8} {
			b.Run(fmt.Sprintf("arcs=%d/threshold=%v/weight=tropical", size, threshold), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					fsttest.Must(pdt.ExpandPruned(f, pairs, threshold, nil))
				}
				nsPerArc(b, f.NumArcs())
			})
		}
	}
}

func BenchmarkShortestPath(b *testing.B) {
	for _, size := range []int{3000, 12000} {
		f, pairs := benchRecursive(size/4, 4, 1)
		b.Run(fmt.Sprintf("arcs=%d/machine=recursive/weight=tropical", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				fsttest.Must(pdt.ShortestPath(f, pairs, nil))
			}
			nsPerArc(b, size)
		})
	}
	for _, size := range []int{500, 1000, 2000} {
		f, pairs := benchForward(size, 3)
		for _, queue := range []ops.Queue{ops.QueueFIFO, ops.QueueLIFO, ops.QueueStateOrder} {
			b.Run(fmt.Sprintf("arcs=%d/queue=%v/weight=tropical", size, queue), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					fsttest.Must(pdt.ShortestPath(f, pairs, &pdt.ShortestPathOptions{Queue: queue}))
				}
				nsPerArc(b, size)
			})
		}
	}
}

func BenchmarkCompose(b *testing.B) {
	rng := rand.New(rand.NewPCG(15, 1))
	g := fst.NewVector[T](100)
	g.AddStates(100)
	g.SetStart(0)
	g.SetFinal(99, 0)
	for q := range fst.StateID(100) {
		for range 4 {
			g.AddArc(q, fst.Arc[T]{ILabel: fst.Label(rng.IntN(3)), OLabel: 1, Weight: weightOf(rng), NextState: fst.StateID(rng.IntN(100))})
		}
	}
	ops.ArcSort(g, ops.Input)
	for _, size := range []int{500, 2000, 8000} {
		f, pairs := benchForward(size, 1)
		for _, filter := range []pdt.Filter{pdt.ParenFilter, pdt.ExpandFilter} {
			if filter == pdt.ExpandFilter && size > 500 {
				continue // too large
			}
			b.Run(fmt.Sprintf("arcs=%d/filter=%d/weight=tropical", size, filter), func(b *testing.B) {
				b.ReportAllocs()
				arcs := 0
				for b.Loop() {
					arcs = fsttest.Must(pdt.Compose(f, g, pairs, &pdt.ComposeOptions{Filter: filter})).NumArcs()
				}
				nsPerArc(b, arcs)
			})
		}
	}
}

func BenchmarkReplace(b *testing.B) {
	for _, states := range []int{10, 100, 1000} {
		rules := benchCalls(4, 10, states, states)
		for _, parser := range []pdt.Parser{pdt.LeftParser, pdt.LeftSRParser} {
			b.Run(fmt.Sprintf("rules=%d/states=%d/parser=%d/weight=tropical", len(rules), states, parser), func(b *testing.B) {
				b.ReportAllocs()
				arcs := 0
				for b.Loop() {
					f, _, err := pdt.Replace(rules, 1000, &pdt.ReplaceOptions{Parser: parser})
					if err != nil {
						b.Fatal(err)
					}
					arcs = f.NumArcs()
				}
				nsPerArc(b, arcs)
			})
		}
	}
}
