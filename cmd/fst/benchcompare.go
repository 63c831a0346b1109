package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// benchLines reads lines of results. Of several for one workload the one with the median time
// counts, of two the faster; a failed one takes precedence.
func benchLines(name string) (map[string]*benchResult, []string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	all, ids := map[string][]*benchResult{}, []string{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var r benchResult
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, nil, fmt.Errorf("%s, line %d: %w", name, n, err)
		}
		if r.Failed == nil && !(r.CPUMin > 0) {
			return nil, nil, fmt.Errorf("%s, line %d: workload %q has no cpu_min, the seconds that it took",
				name, n, r.ID)
		}
		if all[r.ID] == nil {
			ids = append(ids, r.ID)
		}
		all[r.ID] = append(all[r.ID], &r)
	}
	rows := map[string]*benchResult{}
	for id, of := range all {
		slices.SortStableFunc(of, func(a, b *benchResult) int { return cmp.Compare(a.CPUMin, b.CPUMin) })
		rows[id] = of[(len(of)-1)/2]
		if i := slices.IndexFunc(of, func(r *benchResult) bool { return r.Failed != nil }); i >= 0 {
			rows[id] = of[i]
		}
	}
	return rows, ids, lines.Err()
}

// newerPeer divides the times of a peer by the speed-up recorded for a newer release of it, where
// there is one. No file name means none.
func newerPeer(name string, peer map[string]*benchResult) error {
	if name == "" {
		return nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	n := 0
	for l := range strings.Lines(string(data)) {
		n++
		l = strings.TrimSpace(l)
		if l == "" || l[0] == '#' {
			continue
		}
		id, ratio, _ := strings.Cut(l, "\t")
		x, err := strconv.ParseFloat(ratio, 64)
		if err != nil || !(x > 0) {
			return fmt.Errorf("%s, line %d: %q is not a ratio", name, n, ratio)
		}
		if r := peer[id]; r != nil && x > 1 {
			r.CPUMin /= x
		}
	}
	return nil
}

// geometric is a running geometric mean.
type geometric struct {
	logs float64
	n    int
}

func (g *geometric) add(x float64) { g.logs += math.Log(x); g.n++ }

func (g *geometric) String() string {
	if g.n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f over %d", math.Exp(g.logs/float64(g.n)), g.n)
}

// benchCompare prints a Markdown table of our results beside a peer's: ratios of time and peak
// memory with their geometric means, and disagreements. It ends in errDifferent when something does
// not.
func (c *call) benchCompare(ours, theirs, newer string) error {
	mine, ids, err := benchLines(ours)
	if err != nil {
		return err
	}
	peer, theirIDs, err := benchLines(theirs)
	if err != nil {
		return err
	}
	if err := newerPeer(newer, peer); err != nil {
		return err
	}
	if err := c.lib.late(); err != nil {
		return err
	}
	c.delivered++
	w := bufio.NewWriter(c.Out)
	same := compareRows(w, ids, mine, peer)
	for _, x := range []struct {
		ids      []string
		in       map[string]*benchResult
		here, no string
	}{{ids, peer, ours, theirs}, {theirIDs, mine, theirs, ours}} {
		only := slices.DeleteFunc(x.ids, func(id string) bool { return x.in[id] != nil })
		if len(only) > 0 {
			fmt.Fprintf(w, "in %s, but not in %s: %s\n", x.here, x.no, strings.Join(only, ", "))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(mine)), func(id string) bool { return peer[id] != nil }) {
		return fmt.Errorf("%s and %s have no workload in common", ours, theirs)
	}
	if !same {
		return errDifferent
	}
	return nil
}

// largeKB is the peer's peak from which on memory is judged: below it, a process
// is mostly its code.
const largeKB = 32 << 10

func compareRows(w io.Writer, ids []string, mine, peer map[string]*benchResult) bool {
	var times, memory, largest geometric
	same := true
	slower, larger := []string{}, []string{}
	fmt.Fprintln(w, "| workload | peer cpu s | ours cpu s | ratio | peer peak MB | ours peak MB | ours/peer "+
		"| results |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|")
	for _, id := range ids {
		a, b := mine[id], peer[id]
		switch {
		case b == nil:
			continue
		case a.Failed != nil || b.Failed != nil:
			fmt.Fprintf(w, "| %s | | | | | | | failed: ours %v, peer %v |\n", id, a.Failed, b.Failed)
			same = same && a.Failed == nil
			continue
		}
		ratio := b.CPUMin / max(a.CPUMin, 1e-6)
		mem := float64(a.RSSPeak) / float64(max(b.RSSPeak, 1))
		verdict := "agree"
		if d := disagreement(a, b); d != "" {
			verdict, same = d, false
		}
		fmt.Fprintf(w, "| %s | %.4g | %.4g | %.2f | %.0f | %.0f | %.2f | %s |\n", id, b.CPUMin, a.CPUMin, ratio,
			float64(b.RSSPeak)/1024, float64(a.RSSPeak)/1024, mem, verdict)
		times.add(ratio)
		memory.add(mem)
		if ratio < 1 {
			slower = append(slower, fmt.Sprintf("%s %.2f", id, ratio))
		}
		if b.RSSPeak > largeKB {
			largest.add(mem)
			if mem > 1 {
				larger = append(larger, fmt.Sprintf("%s %.2f", id, mem))
			}
		}
	}
	fmt.Fprintf(w, "\ngeometric mean of peer/ours in time: %s\n", &times)
	fmt.Fprintf(w, "geometric mean of ours/peer in peak memory: %s; where the peer's exceeds 32 MB: %s\n",
		&memory, &largest)
	fmt.Fprintf(w, "slower than the peer: %s\n", orNoneOf(slower))
	fmt.Fprintf(w, "larger than a peer above 32 MB: %s\n", orNoneOf(larger))
	return same
}

func orNoneOf(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// exactSizes are the operations whose results have one size.
var exactSizes = map[string]bool{"compile": true, "read": true, "read_const": true, "convert_const": true,
	"arcsort": true, "compose": true, "minimize": true, "topsort": true, "connect": true, "determinize": true,
	"equivalent": true, "encdetmin": true, "reverse": true, "union": true, "concat": true, "closure": true,
	"rmepsilon": true, "lat_intersect": true}

// disagreement reports differences that must not be. The value may differ by a ten-thousandth;
// sizes must be equal where the operation has one result. For determinized lattices (residual
// weights are compared after rounding) and prunings sizes may differ by 1 %.
func disagreement(a, b *benchResult) string {
	var out []string
	if d := math.Abs(a.Value - b.Value); d > 1e-4*max(math.Abs(a.Value), math.Abs(b.Value)) {
		out = append(out, fmt.Sprintf("value %.6g, peer %.6g", a.Value, b.Value))
	}
	slack := -1.0
	switch {
	case exactSizes[a.Op]:
		slack = 0
	case a.Op == "lat_det" || a.Op == "prune":
		slack = 0.01
	}
	for _, s := range []struct {
		name string
		a, b int64
	}{{"states", a.States, b.States}, {"arcs", a.Arcs, b.Arcs}, {"finals", a.Finals, b.Finals}} {
		if slack >= 0 && math.Abs(float64(s.a-s.b)) > slack*float64(max(s.a, s.b)) {
			out = append(out, fmt.Sprintf("%s %d, peer %d", s.name, s.a, s.b))
		}
	}
	return strings.Join(out, "; ")
}
