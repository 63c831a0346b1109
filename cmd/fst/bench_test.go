package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
)

// smallCorpus writes machines and tables of the kinds that the workloads take.
func smallCorpus(t *testing.T) string {
	dir := t.TempDir()
	put := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	binary := func(name string, kind string, ms ...stdF) {
		var b bytes.Buffer
		for _, m := range ms {
			if err := fst.Write(&b, m, &fst.WriteOptions{Type: kind}); err != nil {
				t.Fatal(err)
			}
		}
		put(name, b.Bytes())
	}
	rng := rand.New(rand.NewPCG(3, 3))
	// layered has no cycle, one label a state and input, and multiples of 1/8.
	layered := func(states, arcs, labels int) stdV {
		v := fst.NewVector[trop](states)
		v.AddStates(states)
		v.SetStart(0)
		for q := range fst.StateID(states - 1) {
			for k := range arcs {
				l := fst.Label(1 + k%labels)
				v.AddArc(q, fst.Arc[trop]{ILabel: l, OLabel: l, Weight: trop(rng.IntN(16)) / 8,
					NextState: q + 1 + fst.StateID(rng.IntN(min(3, states-1-int(q))))})
			}
		}
		v.SetFinal(fst.StateID(states-1), 0)
		return v
	}
	a := layered(40, 3, 5)
	put("letters.txt", []byte("<eps>\t0\na\t1\nb\t2\nc\t3\nd\t4\ne\t5\n"))
	put("words.txt", []byte("abc\ncab\n"))
	binary("a.fst", "vector", a)
	binary("b.fst", "vector", layered(30, 3, 5))
	binary("a.const.fst", "const", a)
	binary("lats.fsts", "vector", layered(10, 3, 3), layered(12, 2, 2), layered(14, 3, 3))
	loop := fst.NewVector[trop](1)
	loop.SetStart(loop.AddState())
	loop.SetFinal(0, 0)
	for l := range fst.Label(6) {
		for m := range fst.Label(6) {
			if l != 0 || m != 0 {
				w := trop(1)
				if l == m {
					w = 0
				}
				loop.AddArc(0, fst.Arc[trop]{ILabel: l, OLabel: m, Weight: w, NextState: 0})
			}
		}
	}
	byOutput := loop.Clone()
	ops.ArcSort(byOutput, ops.Output)
	binary("edits.fst", "vector", byOutput)
	closed := a.Clone()
	if err := ops.Closure(closed, ops.Star, ops.Limits{}); err != nil {
		t.Fatal(err)
	}
	ops.ArcSort(closed, ops.Input)
	binary("lexicon.fst", "vector", closed)
	var text bytes.Buffer
	letters := fst.SymbolsOf("<eps>", "a", "b", "c", "d", "e")
	if err := fst.WriteText(&text, fst.Fst[trop](a),
		&fst.WriteTextOptions{InputSymbols: letters, OutputSymbols: letters}); err != nil {
		t.Fatal(err)
	}
	put("a.txt", text.Bytes())
	return dir
}

// Every operation of the benchmark runs on a small corpus, and its line has what
// the protocol asks for.
func TestBenchEveryOperation(t *testing.T) {
	dir := smallCorpus(t)
	inputs := map[string]string{
		"compile":       "a.txt\t\tisyms=letters.txt,osyms=letters.txt",
		"print":         "a.fst\t\tisyms=letters.txt,osyms=letters.txt",
		"read_const":    "a.const.fst\t\t",
		"arcsort":       "a.fst\t\tby=olabel",
		"push":          "a.fst\t\tfinal=0",
		"sp":            "a.fst\t\tn=3,unique=1",
		"prune":         "a.fst\t\tt=2",
		"lat_sd_log":    "lats.fsts\t\t",
		"lat_intersect": "lats.fsts\tlexicon.fst\t",
		"lat_det":       "lats.fsts\t\tsemiring=log64",
		"lat_rdm":       "lats.fsts\t\t",
		"lat_sp":        "lats.fsts\t\tn=4,unique=1",
		"spell":         "edits.fst\tlexicon.fst\twords=words.txt,n=2,unique=1",
		"spell_lazy":    "edits.fst\tlexicon.fst\twords=words.txt,limit=1",
		"g2p":           "edits.fst\t\twords=words.txt",
	}
	var list strings.Builder
	for op := range benchOps {
		in, ok := inputs[op]
		if !ok {
			in = "a.fst\tb.fst\t"
		}
		fmt.Fprintf(&list, "%s\t%s\t%s\t2\t\n", op, op, in)
	}
	name := filepath.Join(dir, "workloads.tsv")
	if err := os.WriteFile(name, []byte(list.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	lines := map[string]map[string]any{}
	for op := range benchOps {
		var out, errs bytes.Buffer
		if code := run([]string{"fst", "bench", dir, name, op}, cli.Streams{Out: &out, Err: &errs}); code != 0 {
			t.Errorf("%s: status %d: %s", op, code, &errs)
			continue
		}
		var r map[string]any
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Errorf("%s: %v in %s", op, err, &out)
			continue
		}
		lines[op] = r
		for _, key := range strings.Fields("impl id op reps cpu_min cpu_med wall_min wall_med free_cpu_min " +
			"states arcs finals value rss_in_kb rss_peak_kb") {
			if _, ok := r[key]; !ok {
				t.Errorf("%s: no %s in %s", op, key, &out)
			}
		}
		if n := strings.Count(out.String(), "\n"); n != 1 {
			t.Errorf("%s: %d lines", op, n)
		}
	}
	// The same machine, however it comes in; a lazy search finds what an eager one does.
	for _, op := range []string{"compile", "read", "arcsort"} {
		if got, want := lines[op]["arcs"], lines["read_const"]["arcs"]; got != want || got == 0.0 {
			t.Errorf("%s: %v arcs, the const machine has %v", op, got, want)
		}
	}
	if got := lines["equivalent"]["value"]; got != 0.0 {
		t.Errorf("two random machines are equivalent: %v", got)
	}
	if a, b := lines["sp"]["value"], lines["determinize"]["value"]; a != b {
		t.Errorf("best path %v, of the determinized machine %v", a, b)
	}
}

func TestBenchCompare(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return name
	}
	line := func(impl, id, op string, cpu float64, arcs, peak int, value float64) string {
		b, _ := json.Marshal(benchResult{Impl: impl, ID: id, Op: op, CPUMin: cpu, Arcs: int64(arcs),
			RSSPeak: int64(peak), Value: value})
		return string(b) + "\n"
	}
	ours := file("ours", line("tropica", "a", "compose", 1, 10, 50<<10, 7)+line("tropica", "b", "lat_det", 1,
		1000, 100<<10, 3))
	peer := file("peer", line("openfst", "a", "compose", 4, 10, 100<<10, 7.0001)+line("openfst", "b", "lat_det",
		1, 1001, 50<<10, 3))
	newer := file("newer", "# comment\na\t2\nb\t0.5\n")
	var out, errs bytes.Buffer
	if code := run([]string{"fst", "bench", "--compare", "--newer=" + newer, ours, peer},
		cli.Streams{Out: &out, Err: &errs}); code != 0 {
		t.Fatalf("status %d: %s", code, &errs)
	}
	for _, want := range []string{"| a | 2 | 1 | 2.00 | 100 | 50 | 0.50 | agree |", "| b | 1 | 1 | 1.00 |",
		"in time: 1.41 over 2", "32 MB: 1.00 over 2", "larger than a peer above 32 MB: b 2.00"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	// One arc too many of a composition does not pass.
	ours = file("ours", line("tropica", "a", "compose", 1, 11, 50<<10, 7))
	out.Reset()
	if code := run([]string{"fst", "bench", "--compare", ours, peer},
		cli.Streams{Out: &out, Err: &errs}); code != 2 || !strings.Contains(out.String(), "arcs 11, peer 10") {
		t.Errorf("status %d:\n%s", code, &out)
	}
	// Of several lines the median counts, wherever it stands; one that failed is not outvoted.
	lines := line("tropica", "a", "compose", 9, 10, 90<<10, 7) + line("tropica", "a", "compose", 2, 10, 20<<10,
		7) + line("tropica", "a", "compose", 1, 10, 10<<10, 7)
	ours = file("ours", lines)
	out.Reset()
	if code := run([]string{"fst", "bench", "--compare", ours, peer},
		cli.Streams{Out: &out, Err: &errs}); code != 0 ||
		!strings.Contains(out.String(), "| a | 4 | 2 | 2.00 | 100 | 20 |") {
		t.Errorf("status %d:\n%s", code, &out)
	}
	ours = file("ours", lines+`{"impl":"tropica","id":"a","failed":124}`+"\n"+lines)
	out.Reset()
	if code := run([]string{"fst", "bench", "--compare", ours, peer},
		cli.Streams{Out: &out, Err: &errs}); code != 2 || !strings.Contains(out.String(), "failed: ours 124") {
		t.Errorf("status %d:\n%s", code, &out)
	}
}
