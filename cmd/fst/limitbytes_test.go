package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
)

// peakHeap runs do and returns how far the heap grew meanwhile, with what was not collected
// yet, collecting as the command does.
func peakHeap(do func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	tuneMemory()
	old := holdTo
	holdTo = holdMemory
	defer func() { ballast, holdTo = nil, old }()
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	read := func() uint64 { metrics.Read(sample); return sample[0].Value.Uint64() }
	before, peak := read(), uint64(0)
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
				peak = max(peak, read())
			}
		}
	}()
	do()
	close(done)
	<-stopped
	return max(peak, before) - before
}

// --limit_bytes bounds what a tool works with, not only the result: on small machines from which
// more comes than any memory holds, it ends with an error before it has half as much again and 30
// MB.
func TestLimitBytesBoundsMemory(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) { must(os.WriteFile(name, []byte(text), 0o666)) }
	var subsets, pairs, delays, chain strings.Builder
	subsets.WriteString("0 0 1 1\n0 0 2 2\n0 1 1 1\n") // 2⁴⁰ subsets
	for i := range 40 {
		fmt.Fprintf(&subsets, "%d %d 1 1\n%d %d 2 2\n", i+1, i+2, i+1, i+2)
		fmt.Fprintf(&pairs, "%d %d 0 1 .5\n%d %d 0 2 .5\n", i, i+1, i, i+1) // 2⁴⁰ strings
		fmt.Fprintf(&delays, "%d %d 1 0\n%d %d 2 0\n", i, i+1, i, i+1)      // and as many delays
	}
	for i := range 40 {
		fmt.Fprintf(&delays, "%d %d 0 1\n%d %d 0 2\n", i+40, i+41, i+40, i+41)
	}
	for i := range 30000 { // 4.5·10⁸ labels in distances
		fmt.Fprintf(&chain, "%d %d %d %d\n", i, i+1, 1+i%2, 1+i%3)
	}
	var many, leads, ladder, sausage strings.Builder
	for i := range 25000 { // 8²⁵⁰⁰⁰ paths
		for l := range 8 {
			fmt.Fprintf(&sausage, "%d %d %d %d %d.%d\n", i, i+1, l+1, l+1, (7*i+5*l)%10, (i+3*l)%10)
		}
	}
	write("sausage.txt", sausage.String()+"25000\n")
	for i := range 2000 { // 4·10⁶ pairs
		fmt.Fprintf(&many, "%d %d 1 1\n%d %d 1 1\n%d\n", i, (i+1)%2000, i, (7*i+3)%2000, i)
	}
	for i := range 30000 { // one output is ahead of the other by up to this many labels
		fmt.Fprintf(&leads, "%d %d 1 1\n%d %d 1 0\n", i+1, i+2, i+40001, i+40002)
	}
	for i := range 40 { // ways into each component with as many delays as there are strings
		fmt.Fprintf(&ladder, "%d %d 1 1\n%d %d 1 2\n%d %d 2 1\n%d %d 2 2\n%d %d 3 0\n", i, i+1, i, i+1, i,
			i+1, i, i+1, i, i)
	}
	write("many.txt", many.String())
	write("leads.txt", "0 1 1 1\n0 40001 1 0\n"+leads.String()+"30001 90000 2 0\n70001 90000 3 0\n90000\n")
	write("ladder.txt", ladder.String()+"40\n")
	write("subsets.txt", subsets.String()+"41\n")
	write("pairs.txt", pairs.String()+"40 41 3 3\n41\n")
	write("delays.txt", delays.String()+"80\n")
	write("chain.txt", chain.String()+"30000\n")
	for _, name := range []string{"subsets", "pairs", "delays", "chain", "many", "leads", "ladder", "sausage"} {
		if status := run([]string{"fstcompile", name + ".txt", name + ".fst"},
			cli.Streams{Out: os.Stdout, Err: os.Stderr}); status != 0 {
			t.Fatal(name, status)
		}
	}
	for _, c := range []struct {
		words string
		limit uint64
	}{
		{"determinize subsets.fst out", 50000000},
		{"determinize --weight=1000 subsets.fst out", 20000000},
		{"determinize --det_type=nonfunctional pairs.fst out", 20000000},
		{"epsnormalize pairs.fst out", 50000000},
		{"epsnormalize pairs.fst out", 20000000},
		{"synchronize delays.fst out", 20000000},
		{"push --push_labels chain.fst out", 20000000},
		{"minimize chain.fst out", 20000000},
		{"shortestpath --nshortest=1000000 sausage.fst out", 200000000},
		{"randgen --npath=100000000 --max_length=50000 sausage.fst out", 200000000},
		{"compose many.fst many.fst out", 100000000},
		{"explain many.fst", 20000000},
		{"explain leads.fst", 20000000},
		{"explain ladder.fst", 20000000},
	} {
		var errs bytes.Buffer
		status := 0
		peak := peakHeap(func() {
			status = run(append([]string{"fst"}, append(strings.Fields(c.words),
				fmt.Sprintf("--limit_bytes=%d", c.limit))...), cli.Streams{Out: &errs, Err: &errs})
		})
		want := fmt.Sprintf("more than %d bytes", c.limit)
		if _, err := os.Stat("out"); err == nil || status != 1 || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: status %d, %v: %s, want %q", c.words, status, err, errs.String(), want)
		}
		if peak > min(3*c.limit, c.limit*3/2+30<<20) {
			t.Errorf("%s: %d bytes of memory with --limit_bytes=%d", c.words, peak, c.limit)
		}
		t.Logf("%s --limit_bytes=%d: peak %.2f times that", c.words, c.limit, float64(peak)/float64(c.limit))
	}
}
