package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tropica-fst/tropica/cmd/internal/clock"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/ops"
)

var _ = offer(&tool{name: "bench", args: "corpus workloads.tsv id [reps]", min: 2, max: 4,
	own: true, without: noLimits[:3], // measures operations as they are
	summary: "Times one operation of the benchmark, or compares two runs of it.", about: `
Runs the workload id of workloads.tsv on the machines in the directory corpus. Prints one line of
JSON: times, memory, and what a peer's result must agree with. testdata/bench holds the
workloads, a driver for OpenFst and the scripts that make a corpus.

  fst bench build/text workloads.tsv compose_LG
  fst bench --compare ours.jsonl peer.jsonl

Loading inputs, and copying those that are changed in place, is not timed. Garbage collection is.
--cpuprofile writes a profile of the repetitions.

Time: that of the operation, reps times and once more.`,
	setup: func(fs *flags.Set) func(*call) error {
		compare := fs.Bool("compare", false, "Print the ratios of two files of results: ours, the peer's")
		newer := fs.String("newer", "", "With --compare: a file of a newer peer's recorded speed-ups, by which "+
			"the peer's times are divided")
		profile := fs.String("cpuprofile", "", "Write a profile of the repetitions, in Go's format")
		return func(c *call) error {
			if *compare {
				if len(c.args) != 2 {
					return errors.New("--compare takes two files: our results, the peer's")
				}
				return c.benchCompare(c.args[0], c.args[1], *newer)
			}
			if len(c.args) < 3 {
				return errors.New("three arguments are needed: the corpus, the list of workloads, and the id of one")
			}
			w, err := findWorkload(c.args[1], c.args[2])
			if err != nil {
				return err
			}
			if len(c.args) == 4 {
				if w.reps, err = strconv.Atoi(c.args[3]); err != nil || w.reps < 1 {
					return fmt.Errorf("%q is not a number of repetitions", c.args[3])
				}
			}
			w.workers = int(*c.lib.workers)
			r, err := w.run(c.args[0], *profile)
			if err != nil {
				return fmt.Errorf("%s: %w", w.id, err)
			}
			line, err := r.line()
			if err != nil {
				return err
			}
			return c.Output("", func(w io.Writer) error { _, err := w.Write(line); return err })
		}
	}})

// workload is one line of workloads.tsv.
type workload struct {
	id, op, in1, in2 string
	options          map[string]string
	reps             int
	workers          int
}

// findWorkload reads the list up to the workload id.
func findWorkload(name, id string) (*workload, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		cols := strings.Split(lines.Text(), "\t")
		if strings.HasPrefix(cols[0], "#") || cols[0] != id {
			continue
		}
		if len(cols) < 6 {
			return nil, fmt.Errorf("%s, line %d: %d columns, 6 are needed: id, op, in1, in2, options, reps",
				name, n, len(cols))
		}
		w := &workload{id: cols[0], op: cols[1], in1: cols[2], in2: cols[3], options: map[string]string{}}
		if w.reps, err = strconv.Atoi(cols[5]); err != nil || w.reps < 1 {
			return nil, fmt.Errorf("%s, line %d: %q is not a number of repetitions", name, n, cols[5])
		}
		for _, kv := range strings.Split(cols[4], ",") {
			if k, v, ok := strings.Cut(kv, "="); ok {
				w.options[k] = v
			}
		}
		return w, nil
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%s: no workload %q", name, id)
}

// number returns a numeric option.
func (w *workload) number(key string, def int) (int, error) {
	s, ok := w.options[key]
	if !ok {
		return def, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("option %s=%s is not a number", key, s)
	}
	return n, nil
}

// benchResult is a line of results, in the order of the protocol.
type benchResult struct {
	Impl    string  `json:"impl"`
	ID      string  `json:"id"`
	Op      string  `json:"op"`
	Reps    int     `json:"reps"`
	CPUMin  float64 `json:"cpu_min"`
	CPUMed  float64 `json:"cpu_med"`
	WallMin float64 `json:"wall_min"`
	WallMed float64 `json:"wall_med"`
	FreeMin float64 `json:"free_cpu_min"` // of a full collection after the result was dropped
	States  int64   `json:"states"`
	Arcs    int64   `json:"arcs"`
	Finals  int64   `json:"finals"`
	Value   float64 `json:"value"`
	RSSIn   int64   `json:"rss_in_kb"`
	RSSPeak int64   `json:"rss_peak_kb"`
	Failed  any     `json:"failed,omitempty"` // a reason or an exit status
}

func (r *benchResult) line() ([]byte, error) {
	b, err := json.Marshal(r)
	return append(b, '\n'), err
}

// job is a workload made ready: prepare runs untimed before each repetition,
// run is timed, note records the last result and drop forgets it.
type job struct {
	prepare, run func() error
	note         func(*benchResult) error
	drop         func()
}

// run loads the inputs, repeats the operation and measures it.
func (w *workload) run(corpus, profile string) (*benchResult, error) {
	make, ok := benchOps[w.op]
	if !ok {
		return nil, fmt.Errorf("unknown operation %q", w.op)
	}
	j, err := make(&benchInputs{workload: w, dir: corpus})
	if err != nil {
		return nil, err
	}
	// What loading left behind is no part of what is measured.
	debug.FreeOSMemory()
	r := &benchResult{Impl: "tropica", ID: w.id, Op: w.op, Reps: w.reps, RSSIn: residentKB()}
	stop, err := startProfile(profile)
	if err != nil {
		return nil, err
	}
	defer stop()
	var cpu, wall, free []float64
	for i := range w.reps {
		if j.prepare != nil {
			if err := j.prepare(); err != nil {
				return nil, err
			}
		}
		benchSettle(i == 0)
		w0, c0 := time.Now(), clock.Processor()
		if err := j.run(); err != nil {
			return nil, err
		}
		c1, w1 := clock.Processor(), time.Now()
		cpu, wall = append(cpu, (c1-c0).Seconds()), append(wall, w1.Sub(w0).Seconds())
		if i == 0 {
			r.RSSPeak = peakKB()
		}
		if i == w.reps-1 {
			if err := j.note(r); err != nil {
				return nil, err
			}
		}
		if j.drop != nil {
			j.drop()
		}
		f0 := clock.Processor()
		benchSettle(false)
		free = append(free, (clock.Processor() - f0).Seconds())
	}
	r.CPUMin, r.CPUMed = slices.Min(cpu), middle(cpu)
	r.WallMin, r.WallMed = slices.Min(wall), middle(wall)
	r.FreeMin = slices.Min(free)
	return r, nil
}

// benchSettle frees what the last repetition left, if that is as much as a collector would stir
// for: each repetition pays for its own garbage. Background work of a collection gets a moment to
// finish. Then some milliseconds pass without rest: for the first one after idling, the runtime's
// monitor wakes every 20 µs, and its thread's time is counted, too. (Searches of 35 µs by the clock
// came out as 50.) A shorter wait leaves the caches as warm as the peer's: a search of 70 µs took
// 120 after a forced collection.
func benchSettle(always bool) {
	var m [1]metrics.Sample
	m[0].Name = "/memory/classes/heap/objects:bytes"
	metrics.Read(m[:])
	if now := m[0].Value.Uint64(); always || now > benchSettled+1<<20 {
		runtime.GC()
		time.Sleep(2 * time.Millisecond)
		for begin := time.Now(); time.Since(begin) < 3*time.Millisecond; {
			runtime.Gosched()
		}
		metrics.Read(m[:])
		benchSettled = m[0].Value.Uint64()
	}
}

// benchSettled is how much was in use after the last collection.
var benchSettled uint64

func middle(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// benchInputs opens what a workload names.
type benchInputs struct {
	*workload
	dir string
}

// limits has no limit but the number of workers.
func (in *benchInputs) limits() ops.Limits { return ops.Limits{Workers: in.workers} }

func (in *benchInputs) path(name string) string { return filepath.Join(in.dir, name) }

// lines returns the non-empty lines of a file, at most limit of them; zero is
// no limit.
func (in *benchInputs) lines(name string, limit int) ([]string, error) {
	data, err := os.ReadFile(in.path(name))
	if err != nil {
		return nil, err
	}
	var words []string
	for l := range strings.Lines(string(data)) {
		if l = strings.TrimRight(l, "\r\n"); l != "" && (limit == 0 || len(words) < limit) {
			words = append(words, l)
		}
	}
	return words, nil
}

// textBuffer keeps what is written, as the peer's string stream does, in blocks
// that are never copied.
type textBuffer struct {
	blocks [][]byte
	n      int64
}

func (b *textBuffer) Write(p []byte) (int, error) {
	b.n += int64(len(p))
	for rest := p; len(rest) > 0; {
		if k := len(b.blocks); k == 0 || len(b.blocks[k-1]) == cap(b.blocks[k-1]) {
			b.blocks = append(b.blocks, make([]byte, 0, 1<<20))
		}
		last := &b.blocks[len(b.blocks)-1]
		k := min(len(rest), cap(*last)-len(*last))
		*last = append(*last, rest[:k]...)
		rest = rest[k:]
	}
	return len(p), nil
}
