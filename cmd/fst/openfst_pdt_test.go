package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
)

// toExpand is a machine over the tropical semiring with parentheses, without cycles.
func toExpand(rng *rand.Rand, _ string) []*model { return toPush(0)(rng, "standard") }

// runPushdown compares pdtshortestpath and pdtexpand --weight with what they are by definition: the
// best path of the expansion, and what OpenFst's fstprune leaves of it, the expansion being that of
// OpenFst's pdtexpand. Its own pdtshortestpath aborts where nothing closes a parenthesis, and
// may miss the best path, as its pdtexpand does with --weight.
func (p *peers) runPushdown(c *peerCase, prog string, flags, args, ourArgs []string, stdin []byte) string {
	var out, errs bytes.Buffer
	words := append([]string{prog}, respell(rand.New(rand.NewPCG(c.spell, 0)), flags, ourArgs)...)
	got := run(append(words, "--limit_states=50000", "--timeout=20s"),
		cli.Streams{In: bytes.NewReader(stdin), Out: &out, Err: &errs})
	complain := func(format string, a ...any) string {
		return fmt.Sprintf("%s\nour words: %q\nour messages: %s", fmt.Sprintf(format, a...), words, errs.String())
	}
	threshold, invalid := "", false
	common := []string{}
	for _, f := range flags {
		switch {
		case strings.HasPrefix(f, "--weight="):
			threshold = strings.TrimPrefix(f, "--weight=")
			invalid = invalid || threshold == "abc"
		case strings.HasPrefix(f, "--pdt_parentheses=") || f == "--keep_parentheses":
			common = append(common, f)
		default:
			invalid = invalid || f == "--queue_type=foo" || f == "--bogus" || f == "--v=x" ||
				strings.HasPrefix(f, "--help") || f == "--fst_align=maybe"
		}
	}
	whole, part := filepath.Join(p.dir, "whole"), filepath.Join(p.dir, "part")
	p.words = [2][]string{slices.Concat([]string{"pdtexpand"}, common, args[:1], []string{whole}), words}
	if invalid {
		if got != 1 {
			return complain("exit status %d for an invalid flag", got)
		}
		return ""
	}
	if got != 0 {
		return complain("exit status %d", got)
	}
	must2 := func(tool string, args ...string) bool {
		_, _, status := p.openFst(tool, args, stdin)
		return status == 0
	}
	if !must2("pdtexpand", p.words[0][1:]...) {
		p.hung[c.tool.name]++
		return ""
	}
	ours := out.Bytes()
	if !c.stdout {
		ours = must1(os.ReadFile(filepath.Join(p.dir, "ours")))
	}
	if c.tool.name == "pdtexpand" {
		if threshold == "" || threshold == "Infinity" { // nothing is pruned; OpenFst trims as we do
			return compareFiles(ours, must1(os.ReadFile(whole)), 1.0/1024, 0)
		}
		if !must2("fstprune", "--weight="+threshold, whole, part) {
			p.hung[c.tool.name]++
			return ""
		}
		// States are numbered as they are found, best first here.
		mine := filepath.Join(p.dir, "mine")
		must(os.WriteFile(mine, ours, 0o666))
		a, b := printed(ours), printed(must1(os.ReadFile(part)))
		if _, _, status := p.openFst("fstisomorphic", []string{mine, part}, nil); status == 2 &&
			!c.inputs[0].hasZeroArc() && c.inputs[0].dyadic() && !sameProfiles(a, b) {
			return complain("not the same part of the expansion:\n%s\nOpenFst's:\n%s", a, b)
		}
		// The best path is that of the whole, since OpenFst's fstprune drops it where distances are
		// apart by less than its --delta, or by rounding.
		return compareBest(a, printed(must1(os.ReadFile(whole))), complain)
	}
	if !must2("fstshortestpath", whole, part) {
		p.hung[c.tool.name]++
		return ""
	}
	if d := compareBest(printed(ours), printed(must1(os.ReadFile(part))), complain); d != "" {
		return d
	}
	return pathOf(printed(ours), printed(must1(os.ReadFile(whole))), complain)
}

// sameProfiles tells whether two printed machines, one with states where the other has as many with
// the same arcs but for where they lead, may be isomorphic: fstisomorphic does not try out which of
// several arcs with the same labels and weight of a state goes with which.
func sameProfiles(a, b string) bool {
	profile := func(text string) []string {
		states := map[int][]string{}
		for _, x := range textArcs(text) {
			states[x.from] = append(states[x.from], fmt.Sprint(x.to < 0, x.labels, x.weight))
		}
		var all []string
		several := false
		for _, arcs := range states {
			slices.Sort(arcs)
			several = several || len(slices.Compact(slices.Clone(arcs))) < len(arcs)
			all = append(all, strings.Join(arcs, " "))
		}
		slices.Sort(all)
		if !several { // then fstisomorphic is right
			return []string{text}
		}
		return all
	}
	return slices.Equal(profile(a), profile(b))
}

// dyadic tells whether sums of the machine's weights are exact.
func (m *model) dyadic() bool {
	exact := func(x float64) bool { return math.IsInf(x, 0) || x*16 == math.Trunc(x*16) && math.Abs(x) < 1<<14 }
	return !slices.ContainsFunc(m.finals, func(x float64) bool { return !exact(x) }) &&
		!slices.ContainsFunc(m.arcs, func(a modelArc) bool { return !exact(a.weight) })
}

// textArc is a line of a printed machine: an arc, or a final state.
type textArc struct {
	from, to int // -1 is the end
	labels   string
	weight   float64
}

func textArcs(text string) (arcs []textArc) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		a := textArc{from: must1(strconv.Atoi(f[0])), to: -1}
		f = f[1:]
		if len(f) > 2 {
			a.to, a.labels, f = must1(strconv.Atoi(f[0])), f[1]+":"+f[2], f[3:]
		}
		if len(f) > 0 {
			a.weight = must1(strconv.ParseFloat(f[0], 64))
		}
		arcs = append(arcs, a)
	}
	return arcs
}

// bestOf is the least weight of a path of an acyclic machine, of one with the given labels on its
// arcs if any; the first line has the start.
func bestOf(arcs []textArc, labels []string) float64 {
	best := math.Inf(1)
	if len(arcs) == 0 {
		return best
	}
	at := map[int]float64{arcs[0].from: 0}
	for step := 0; len(at) > 0; step++ {
		next := map[int]float64{}
		for _, a := range arcs {
			w, ok := at[a.from]
			switch {
			case !ok:
			case a.to < 0:
				if labels == nil || step == len(labels) {
					best = min(best, w+a.weight)
				}
			case labels == nil || step < len(labels) && labels[step] == a.labels:
				if old, ok := next[a.to]; !ok || w+a.weight < old {
					next[a.to] = w + a.weight
				}
			}
		}
		at = next
	}
	return best
}

// near compares two weights up to rounding.
func near(x, y float64) bool {
	return x == y || !math.IsInf(x-y, 0) && math.Abs(x-y) <= 1e-4*max(1, math.Abs(x), math.Abs(y))
}

// compareBest compares the best weights of two printed acyclic machines.
func compareBest(ours, theirs string, complain func(string, ...any) string) string {
	if x, y := bestOf(textArcs(ours), nil), bestOf(textArcs(theirs), nil); !near(x, y) {
		return complain("best weight %v, OpenFst's %v:\n%s\nOpenFst's:\n%s", x, y, ours, theirs)
	}
	return ""
}

// pathOf checks that a printed path is one of a printed acyclic machine, with its weight.
func pathOf(path, machine string, complain func(string, ...any) string) string {
	arcs := textArcs(path)
	if len(arcs) == 0 {
		return ""
	}
	out := map[int]textArc{}
	for _, a := range arcs {
		if _, ok := out[a.from]; ok {
			return complain("not one path:\n%s", path)
		}
		out[a.from] = a
	}
	labels, weight := []string{}, 0.0
	for q := arcs[0].from; q >= 0; q = out[q].to {
		if weight += out[q].weight; out[q].to >= 0 {
			labels = append(labels, out[q].labels)
		}
	}
	if w := bestOf(textArcs(machine), labels); !near(w, weight) {
		return complain("the path has weight %v, in the expansion %v:\n%s\nof\n%s", weight, w, path, machine)
	}
	return ""
}

// The comparisons of pushdown results find what they are to find.
func TestPushdownComparisons(t *testing.T) {
	complain := func(format string, a ...any) string { return fmt.Sprintf(format, a...) }
	machine := "0\t1\t1\t2\t0.5\n0\t1\t1\t2\t0.25\n0\t2\t1\t3\n1\t2\t0\t0\t1\n2\t3\n"
	for _, c := range []struct {
		path     string
		best, is bool // no complaint
	}{
		{"2\t1\t1\t2\t0.25\n1\t0\t0\t0\t1\n0\t3\n", false, true},
		{"0\t1\t1\t3\n1\t3\n", true, true},
		{"0\t1\t1\t3\t0.25\n1\t3\n", false, false}, // another weight
		{"0\t1\t1\t2\n1\t3\n", true, false},        // no such path
		{"0\t1\t1\t3\n0\t1\t1\t3\n1\t3\n", true, false},
		{"", false, true},
	} {
		if d := compareBest(c.path, machine, complain); (d == "") != c.best {
			t.Errorf("%q: compareBest: %q", c.path, d)
		}
		if d := pathOf(c.path, machine, complain); (d == "") != c.is {
			t.Errorf("%q: pathOf: %q", c.path, d)
		}
	}
}
