package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// peerTool says how a tool is drawn and compared.
type peerTool struct {
	name   string
	inputs func(rng *rand.Rand, arcType string) []*model
	flags  func(rng *rand.Rand) []string
	result byte // 'f' a machine, 't' text, 'd' distances, 'x' the exit status alone, 'b' the best part of an expansion
}

func one(of ...traits) func(*rand.Rand, string) []*model {
	return func(rng *rand.Rand, arcType string) []*model {
		t := traits{}
		if len(of) > 0 {
			t = of[rng.IntN(len(of))]
		}
		return []*model{drawModel(rng, arcType, t)}
	}
}

// named is a machine with symbols: without, OpenFst crashes when it is to relabel them.
func named(rng *rand.Rand, arcType string) []*model {
	m := drawModel(rng, arcType, traits{})
	m.isyms, m.osyms = 31, 31
	return []*model{m}
}

// oneTable is a machine with one table at most: OpenFst disambiguates no acceptor with
// different ones.
func oneTable(of ...traits) func(*rand.Rand, string) []*model {
	return func(rng *rand.Rand, arcType string) []*model {
		ms := one(of...)(rng, arcType)
		ms[0].osyms = 0
		return ms
	}
}

func two(rng *rand.Rand, arcType string) []*model {
	a, b := drawModel(rng, arcType, traits{}), drawModel(rng, arcType, traits{})
	if rng.IntN(3) != 0 { // tables that agree
		a.isyms, a.osyms, b.isyms, b.osyms = 0, 0, 0, 0
	}
	if rng.IntN(50) == 0 {
		b = drawModel(rng, "log", traits{})
	}
	return []*model{a, b}
}

// toCompose are two machines of which one is sorted, mostly.
func toCompose(acceptors bool) func(*rand.Rand, string) []*model {
	return func(rng *rand.Rand, arcType string) []*model {
		t := traits{acceptor: acceptors && rng.IntN(10) != 0}
		a, b := drawModel(rng, arcType, t), drawModel(rng, arcType, t)
		a.isyms, a.osyms, b.isyms, b.osyms = 0, 0, 0, 0
		if rng.IntN(4) == 0 {
			a.osyms, b.isyms = 40, 40-rng.IntN(2)
			a.isyms = 40
		}
		side := rng.IntN(4)
		if side&1 != 0 {
			a.sort('o')
		}
		if side&2 != 0 {
			b.sort('i')
		}
		return []*model{a, b}
	}
}

// toSubtract are an acceptor and mostly one that can be subtracted.
func toSubtract(rng *rand.Rand, arcType string) []*model {
	of := dfa
	of.unweighted, of.finite, of.sorted = true, true, 'i'
	switch rng.IntN(20) {
	case 0:
		of.unweighted = false
	case 1:
		of.sorted = 0
	case 2:
		of.deterministic = false
	case 3:
		of.acceptor = false
	}
	a, b := drawModel(rng, arcType, traits{acceptor: rng.IntN(20) != 0}), drawModel(rng, arcType, of)
	a.isyms, a.osyms, b.isyms, b.osyms = 0, 0, 0, 0
	return []*model{a, b}
}

// toReplace are two or three machines; drawn labels are those of rules.
func toReplace(rng *rand.Rand, arcType string) []*model {
	ms := []*model{drawModel(rng, arcType, traits{}), drawModel(rng, arcType, traits{})}
	if rng.IntN(2) == 0 {
		ms = append(ms, drawModel(rng, arcType, traits{}))
	}
	for i, m := range ms {
		m.isyms, m.osyms = 0, 0
		if i > 0 && rng.IntN(8) != 0 { // no label of a rule, mostly
			for k := range m.arcs {
				if m.arcs[k].out > 0 {
					m.arcs[k].out += 10
				}
			}
		}
	}
	return ms
}

// toCompare are two machines that are mostly alike.
func toCompare(of ...traits) func(*rand.Rand, string) []*model {
	return func(rng *rand.Rand, arcType string) []*model {
		a := drawModel(rng, arcType, of[rng.IntN(len(of))])
		b := a.alter(rng)
		if rng.IntN(10) == 0 {
			b = drawModel(rng, arcType, of[0])
		}
		return []*model{a, b}
	}
}

// toPush are a machine with parentheses on some arcs, mostly without a cycle, so that OpenFst comes
// to an end, and for a composition a finite one before or after it.
func toPush(composed int) func(*rand.Rand, string) []*model {
	return func(rng *rand.Rand, arcType string) []*model {
		m := drawModel(rng, arcType, traits{acyclic: true})
		m.isyms, m.osyms = 0, 0
		share := rng.Float64()
		for i := range m.arcs {
			if a := &m.arcs[i]; rng.Float64() < share {
				a.in = []fst.Label{10, 11, 13, 20, 6, 15}[rng.IntN(6)]
				a.out = a.in
			}
		}
		if composed == 0 {
			return []*model{m}
		}
		b := drawModel(rng, arcType, traits{acyclic: true})
		b.isyms, b.osyms = 0, 0
		if composed == 2 {
			m, b = b, m
		}
		side := 1 + rng.IntN(15)
		if side&1 != 0 {
			m.sort('o')
		}
		if side&2 != 0 {
			b.sort('i')
		}
		return []*model{m, b}
	}
}

// always prepends flags to those that are drawn.
func always(flag string, more func(*rand.Rand) []string) func(*rand.Rand) []string {
	return func(rng *rand.Rand) []string { return append(strings.Fields(flag), more(rng)...) }
}

// choose returns flags, at most one of each group.
func choose(groups ...[]string) func(*rand.Rand) []string {
	return func(rng *rand.Rand) []string {
		var flags []string
		for _, g := range groups {
			if rng.IntN(2) == 0 {
				flags = append(flags, g[rng.IntN(len(g))])
			}
		}
		if rng.IntN(40) == 0 {
			flags = append(flags, []string{"--bogus", "--v=x", "--fst_align=maybe"}[rng.IntN(3)])
		}
		return flags
	}
}

func words(s string) []string { return strings.Fields(s) }

var (
	thresholds = words("--weight=0.5 --weight=2 --weight=0 --weight=1e3 --weight=Infinity --weight=abc")
	nstates    = words("--nstate=1 --nstate=3 --nstate=10 --nstate=-1 --nstate=0")
	queues     = words("--queue_type=auto --queue_type=fifo --queue_type=lifo --queue_type=shortest --queue_type=state --queue_type=top --queue_type=foo")
	shown      = [][]string{
		words("--acceptor"), words("--numeric"), words("--show_weight_one --show_weight_one=false"), words("--isymbols=SYMS --isymbols=nosuchfile"),
		words("--osymbols=SYMS"), words("--ssymbols=SYMS"),
	}
	filters = words("--compose_filter=auto --compose_filter=sequence --compose_filter=alt_sequence --compose_filter=match --compose_filter=no_match --compose_filter=null --compose_filter=trivial --compose_filter=bogus")
	dfa     = traits{acceptor: true, deterministic: true, noEpsilon: true}
)

var peerTools = []peerTool{
	{"arcsort", one(), choose(words("--sort_type=ilabel --sort_type=olabel --sort_type=foo")), 'f'},
	{"closure", one(), choose(words("--closure_plus --closure_plus=false --closure_plus=true")), 'f'},
	{"compose", toCompose(false), choose(filters, words("--connect=false --connect")), 'f'},
	{"concat", two, choose(words("--fst_compat_symbols=false")), 'f'},
	{"connect", one(), choose(), 'f'},
	{"convert", one(), choose(words("--fst_type=const --fst_type=vector --fst_type=edit --fst_type=compact_string --fst_type=compact_weighted_string --fst_type=compact_acceptor --fst_type=compact_unweighted --fst_type=compact_unweighted_acceptor --fst_type=foo"), words("--fst_align")), 'f'},
	{"convert", one(traits{acceptor: true}, traits{acceptor: true, unweighted: true, finite: true}), choose(words("--fst_type=compact_acceptor --fst_type=compact_unweighted --fst_type=compact_unweighted_acceptor --fst_type=edit"), words("--fst_align")), 'f'},
	{"determinize", one(traits{acyclic: true}, traits{acyclic: true, acceptor: true}, traits{acceptor: true}, traits{}),
		choose(words("--det_type=functional --det_type=nonfunctional --det_type=disambiguate --det_type=foo"), thresholds[:1], nstates[:1],
			words("--subsequential_label=9 --subsequential_label=-2"), words("--increment_subsequential_label")), 'f'},
	{"determinize", one(traits{acceptor: true}), choose(thresholds, nstates), 'f'},
	{"difference", toSubtract, choose(filters, words("--connect=false --connect")), 'f'},
	{"disambiguate", oneTable(traits{acyclic: true, acceptor: true, finite: true}, traits{acceptor: true, finite: true, unweighted: true}),
		choose(words("--delta=0.01 --delta=0.25"), words("--subsequential_label=9 --subsequential_label=-2"), words("--weight= --weight=abc")), 'f'},
	// After pruning, and where outputs are left over, OpenFst takes the heads of other states.
	{"disambiguate", oneTable(traits{acyclic: true, finite: true}, traits{acceptor: true, finite: true, unweighted: true}),
		choose(thresholds, nstates, words("--subsequential_label=9 --subsequential_label=-2")), 'x'},
	{"encode", one(), choose(words("--encode_labels"), words("--encode_labels"), words("--encode_weights"), words("--encode_weights")), 'f'},
	{"epsnormalize", one(traits{acyclic: true, finite: true}, traits{finite: true}), choose(words("--eps_norm_output")), 'f'},
	{"draw", one(), choose(append([][]string{words("--portrait"), words("--vertical"), words("--title=T\\\"x"), words("--float_format=e --float_format=f --float_format=x"),
		words("--precision=3 --precision=9 --precision=-1 --precision=80"), words("--width=4 --height=1.25"), words("--ranksep=0.123456789"), words("--nodesep=2"), words("--fontsize=9")}, shown...)...), 't'},
	{"equal", toCompare(traits{}), choose(words("--delta=0.1 --delta=0.00001"), words("--v=0")), 'x'},
	{"equivalent", toCompare(dfa, dfa, dfa, traits{}), choose(words("--delta=0.1 --delta=0.00001")), 'x'},
	{"info", one(), choose(words("--arc_filter=any --arc_filter=epsilon --arc_filter=iepsilon --arc_filter=oepsilon"),
		words("--info_type=long --info_type=short --info_type=auto --info_type=foo"), words("--test_properties=false"), words("--fst_verify=false")), 't'},
	{"intersect", toCompose(true), choose(filters, words("--connect=false --connect")), 'f'},
	{"invert", one(), choose(), 'f'},
	{"isomorphic", toCompare(traits{deterministic: true}, traits{}), choose(words("--delta=0.1 --delta=0.00001")), 'x'},
	{"map", one(), choose(words("--map_type=identity --map_type=arc_sum --map_type=arc_unique --map_type=input_epsilon --map_type=invert --map_type=output_epsilon --map_type=plus --map_type=power --map_type=quantize --map_type=rmweight --map_type=superfinal --map_type=times --map_type=to_log --map_type=to_log64 --map_type=to_std --map_type=foo"),
		words("--weight=0.5 --weight=2 --weight=abc"), words("--power=2 --power=0.5"), words("--delta=0.25")), 'f'},
	// OpenFst takes weights of 0̄ for ones when it merges states, and so changes the relation.
	{"minimize", one(traits{deterministic: true, finite: true}, traits{deterministic: true, finite: true}, traits{deterministic: true, acceptor: true, finite: true}, traits{finite: true}),
		choose(words("--allow_nondet"), words("--delta=0.01")), 'f'},
	{"print", one(), choose(append([][]string{words("--missing_symbol=???")}, shown...)...), 't'},
	{"project", one(), choose(words("--project_type=input --project_type=output --project_type=foo")), 'f'},
	{"prune", one(), choose(thresholds, nstates), 'f'},
	{"push", one(), choose(words("--push_labels"), words("--push_weights"), words("--push_weights"), words("--remove_common_affix"), words("--remove_total_weight"), words("--to_final")), 'f'},
	{"randgen", one(traits{acyclic: true}), choose(words("--npath=3 --npath=0"), words("--max_length=2"), words("--select=log_prob --select=fast_log_prob --select=foo"), words("--weighted"), words("--seed=3")), 'x'},
	{"relabel", named, choose(words("--isymbols=SYMS"), words("--relabel_isymbols=OTHER"), words("--relabel_osymbols=OTHER"), words("--unknown_isymbol=i\"\\1 --unknown_isymbol=zzz"), words("--unknown_osymbol=i\"\\2")), 'f'},
	{"relabel", one(), choose(words("--relabel_ipairs=PAIRS --relabel_ipairs=nosuchfile"), words("--relabel_opairs=PAIRS")), 'f'},
	{"replace", toReplace, choose(words("--call_arc_labeling=input --call_arc_labeling=output --call_arc_labeling=both --call_arc_labeling=neither"),
		words("--return_arc_labeling=input --return_arc_labeling=output --return_arc_labeling=both --return_arc_labeling=neither"), words("--return_label=7"), words("--epsilon_on_replace")), 'f'},
	{"reverse", one(), choose(words("--require_superinitial=false --require_superinitial")), 'f'},
	{"reweight", one(), choose(words("--to_final")), 'f'},
	{"rmepsilon", one(), choose(words("--connect=false"), queues, words("--delta=0.00001")), 'f'},
	{"rmepsilon", one(), choose(thresholds, nstates), 'f'},
	{"shortestdistance", one(), choose(words("--reverse --reverse=false"), queues, nstates[:1]), 'd'},
	{"shortestpath", one(traits{}, traits{acceptor: true}), choose(words("--nshortest=2 --nshortest=5 --nshortest=20 --nshortest=0"), words("--unique"), thresholds, nstates), 'f'},
	{"shortestpath", one(), choose(queues), 'f'},
	{"symbols", named, choose(words("--clear_isymbols"), words("--clear_osymbols"), words("--isymbols=SYMS"), words("--osymbols=SYMS"),
		words("--relabel_ipairs=PAIRS"), words("--relabel_opairs=PAIRS"), words("--verify")), 'f'},
	{"synchronize", one(traits{acyclic: true}, traits{acceptor: true}, traits{}), choose(), 'f'},
	{"topsort", one(), choose(), 'f'},
	{"union", two, choose(words("--fst_compat_symbols=false")), 'f'},

	// The pushdown tools where OpenFst's are right and end; package ops/pdt compares the others.
	{"pdtcompose", toPush(1), always("--pdt_parentheses=PARENS", choose(pushFilters, words("--connect=false --connect"))), 'f'},
	{"pdtcompose", toPush(2), always("--pdt_parentheses=PARENS --left_pdt=false", choose(pushFilters, words("--connect=false --connect"))), 'f'},
	{"pdtexpand", toPush(0), always("--pdt_parentheses=PARENS", choose(words("--keep_parentheses"), words("--connect=false --connect"))), 'f'},
	{"pdtexpand", toExpand, always("--pdt_parentheses=PARENS", choose(thresholds, words("--keep_parentheses"))), 'b'},
	{"pdtshortestpath", toExpand, always("--pdt_parentheses=PARENS", choose(words("--keep_parentheses"), words("--queue_type=fifo --queue_type=lifo --queue_type=state --queue_type=foo"), words("--path_gc=false"))), 'b'},
	{"pdtinfo", toPush(0), always("--pdt_parentheses=PARENS", choose()), 't'},
	{"pdtreverse", toPush(0), always("--pdt_parentheses=PARENS", choose()), 'f'},
	{"pdtreplace", toReplace, always("--start_paren_labels=200", choose(words("--pdt_parser_type=left --pdt_parser_type=foo"))), 'f'},
	{"mpdtcompose", toPush(1), always("--mpdt_parentheses=TRIPLES", choose(pushFilters, words("--connect=false --connect"))), 'f'},
	{"mpdtexpand", toPush(0), always("--mpdt_parentheses=TRIPLES", choose(words("--keep_parentheses"), words("--connect=false --connect"))), 'f'},
	{"mpdtinfo", toPush(0), always("--mpdt_parentheses=TRIPLES", choose()), 't'},
	{"mpdtreverse", toPush(0), always("--mpdt_parentheses=TRIPLES", choose()), 'f'},
}

var pushFilters = words("--compose_filter=paren --compose_filter=expand --compose_filter=expand_paren --compose_filter=bogus")

// peerCase is one call through both.
type peerCase struct {
	tool   *peerTool
	inputs []*model
	flags  []string
	stdin  bool   // the first input comes by standard input
	stdout bool   // the result goes to standard output
	spell  uint64 // seed of our spelling of the flags
}

func (c *peerCase) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "fst%s %q (stdin %v, stdout %v, spelling %d)\n", c.tool.name, c.flags, c.stdin, c.stdout, c.spell)
	for i, m := range c.inputs {
		fmt.Fprintf(&b, "input %d: %v", i+1, m)
	}
	return b.String()
}

// source returns the state that fstshortestdistance measures from.
func (c *peerCase) source() int {
	source := c.inputs[0].start
	for _, f := range c.flags {
		if v, ok := strings.CutPrefix(f, "--nstate="); ok {
			source = must1(strconv.Atoi(v))
		}
	}
	return source
}

// delta returns the last --delta among the flags, as OpenFst rounds it, or the tool's default.
func (c *peerCase) delta() float32 {
	delta := float32(1.0 / 1024)
	if c.tool.name == "minimize" {
		delta = 1e-6
	}
	for _, f := range c.flags {
		if v, ok := strings.CutPrefix(f, "--delta="); ok {
			if d, err := strconv.ParseFloat(v, 32); err == nil {
				delta = float32(d)
			}
		}
	}
	return delta
}

// peers runs calls through OpenFst's tools and ours.
type peers struct {
	bin, dir  string
	hung      map[string]int // calls that OpenFst did not finish, or crashed on, by tool
	diverged  int            // sums that we refuse
	unordered int            // comparisons by what is no order
	emptied   int            // affixes, and outputs, of what accepts nothing
	rounded   int            // residuals that differ because sums over cycles are exact here
	judged    map[string]int // results judged by the input's relation, by why
	words     [2][]string    // of the last case: OpenFst's and ours
}

// script is a shell script that shows the difference of the case that ran last: its files, and both calls.
func (p *peers) script(c *peerCase) string {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n# Theirs and ours, with this project's command first in PATH as fst.\n")
	for i, m := range c.inputs {
		for line := range strings.Lines(m.String()) {
			fmt.Fprintf(&b, "# in%d.fst: %s", i, line)
		}
		fmt.Fprintf(&b, "base64 -d >in%d.fst <<'END'\n%s\nEND\n", i, base64.StdEncoding.EncodeToString(m.encode()))
	}
	quoted := func(words []string) string {
		var out []string
		for _, w := range words {
			out = append(out, "'"+strings.ReplaceAll(strings.ReplaceAll(w, p.dir+string(filepath.Separator), ""), "'", `'\''`)+"'")
		}
		return strings.Join(out, " ")
	}
	for _, name := range must1(filepath.Glob(filepath.Join(p.dir, "*.txt"))) {
		if strings.Contains(strings.Join(p.words[0], " "), name) {
			fmt.Fprintf(&b, "cat >%s <<'END'\n%sEND\n", filepath.Base(name), must1(os.ReadFile(name)))
		}
	}
	stdin := ""
	if c.stdin {
		stdin = " <in0.fst"
	}
	fmt.Fprintf(&b, "%s%s >theirs.out; echo \"theirs: $?\"\n", quoted(p.words[0]), stdin)
	fmt.Fprintf(&b, "fst %s%s >ours.out; echo \"ours: $?\"\n", quoted(append([]string{c.tool.name}, p.words[1][1:]...)), stdin)
	return b.String()
}

// run returns what differs, "" if nothing does.
func (p *peers) run(c *peerCase) string {
	var files []string
	for i, m := range c.inputs {
		name := filepath.Join(p.dir, fmt.Sprintf("in%d.fst", i))
		must(os.WriteFile(name, m.encode(), 0o666))
		files = append(files, name)
	}
	stdin := []byte(nil)
	args := slices.Clone(files)
	if c.stdin {
		stdin = must1(os.ReadFile(files[0]))
		args[0] = "-"
	}
	theirs, ours := filepath.Join(p.dir, "theirs"), filepath.Join(p.dir, "ours")
	os.Remove(theirs)
	os.Remove(ours)
	var theirArgs, ourArgs []string
	mapper := [2]string{filepath.Join(p.dir, "mapper0"), filepath.Join(p.dir, "mapper1")}
	middle := func(int) []string { return nil } // what stands between input and output
	made := func(int) []string { return nil }   // flags for a second result
	switch c.tool.name {
	case "replace", "pdtreplace":
		for i := len(args); i > 0; i-- {
			args = slices.Insert(args, i, []string{"100", "1", "2"}[i-1])
		}
		if c.tool.name == "pdtreplace" {
			made = func(i int) []string { return []string{"--pdt_parentheses=" + mapper[i]} }
		}
	case "mpdtreverse":
		made = func(i int) []string { return []string{"--mpdt_new_parentheses=" + mapper[i]} }
	case "encode":
		middle = func(i int) []string { return mapper[i : i+1] }
	case "reweight":
		potentials := filepath.Join(p.dir, "potentials.txt")
		var b bytes.Buffer
		for q := range len(c.inputs[0].finals) + int(c.spell>>60&3) { // also of states that there are not
			fmt.Fprintf(&b, "%d\t%v\n", q, []string{"0", "0.5", "1.25", "3", "Infinity"}[(c.spell>>(3*q%60)&7)%5])
		}
		must(os.WriteFile(potentials, b.Bytes(), 0o666))
		middle = func(int) []string { return []string{potentials} }
	}
	if (c.tool.result == 'f' || c.tool.result == 'b') && !c.stdout {
		theirArgs, ourArgs = slices.Concat(args, middle(0), []string{theirs}), slices.Concat(args, middle(1), []string{ours})
	} else {
		theirArgs, ourArgs = slices.Concat(args, middle(0)), slices.Concat(args, middle(1))
	}
	os.Remove(mapper[0])
	os.Remove(mapper[1])
	flags := slices.Clone(c.flags)
	for i, f := range flags {
		f = strings.Replace(f, "PARENS", filepath.Join(p.dir, "parens.txt"), 1)
		f = strings.Replace(f, "TRIPLES", filepath.Join(p.dir, "triples.txt"), 1)
		f = strings.Replace(f, "SYMS", filepath.Join(p.dir, "syms.txt"), 1)
		f = strings.Replace(f, "OTHER", filepath.Join(p.dir, "other.txt"), 1)
		flags[i] = strings.Replace(f, "PAIRS", filepath.Join(p.dir, "pairs.txt"), 1)
	}
	prog := findTool(c.tool.name).prog()
	if c.tool.result == 'b' {
		return p.runPushdown(c, prog, flags, args, ourArgs, stdin)
	}
	theirWords := slices.Concat([]string{prog}, flags, made(0), theirArgs)
	wantOut, wantErr, want := p.openFst(prog, theirWords[1:], stdin)
	var out, errs bytes.Buffer
	rng := rand.New(rand.NewPCG(c.spell, 0))
	words := append([]string{prog}, respell(rng, slices.Concat(flags, made(1)), ourArgs)...)
	p.words = [2][]string{theirWords, words}
	got := run(append(words, "--limit_states=50000", "--timeout=20s"), cli.Streams{In: bytes.NewReader(stdin), Out: &out, Err: &errs})
	complain := func(format string, a ...any) string {
		return fmt.Sprintf("%s\nour words: %q\nour messages: %s\nOpenFst's: %s", fmt.Sprintf(format, a...), words, errs.String(), wantErr)
	}
	if want < 0 || want > 2 { // killed or crashed
		p.hung[c.tool.name]++
		return ""
	}
	if got == 1 && want != 1 && strings.Contains(errs.String(), "not k-closed") && (strings.HasPrefix(c.inputs[0].arcType, "log") || slices.ContainsFunc(c.inputs, (*model).negativeCycle)) {
		// OpenFst sums what diverges until a term is below its delta, and goes round a
		// negative cycle until float32 counts no further, which takes it about a second.
		p.diverged++
		return ""
	}
	if c.tool.name == "shortestdistance" && got == 1 && want != 1 && c.source() >= len(c.inputs[0].finals) && strings.Contains(errs.String(), "flag --nstate: there is no state ") {
		p.hung[c.tool.name]++ // OpenFst writes beyond its arrays there; mostly it crashes
		return ""
	}
	if c.tool.name == "isomorphic" && got+want == 2 && got != 1 && c.inputs[0].unordered(c.delta()) {
		p.unordered++
		return ""
	}
	if want == 1 && got == 0 && strings.Contains(wantErr, "FromGallicMapper: Unrepresentable weight") {
		p.emptied++ // a common affix or weight of no path at all, which OpenFst takes for an error
		return ""
	}
	if want == 1 && got == 0 && c.tool.name == "determinize" && c.inputs[0].hasZeroArc() && strings.Contains(wantErr, "StringWeight::Plus: Unequal") {
		p.emptied++ // an output of weight 0̄, which is none here
		return ""
	}
	if got == 1 && want == 0 && strings.Contains(errs.String(), "more than 50000 states") {
		large := []byte(wantOut)
		if !c.stdout {
			large, _ = os.ReadFile(theirs)
		}
		if h, err := fst.NewMemoryStream(large, nil).ReadHeader(); err == nil && h.NumStates > 50000 {
			p.hung[c.tool.name]++ // ends, but beyond the limit that we were given
			return ""
		}
	}
	if c.tool.name == "equivalent" && got+want == 2 && got != 1 && c.inputs[0].arcType != "standard" && slices.ContainsFunc(c.inputs, (*model).cyclic) {
		p.rounded++ // sums over cycles are exact here, and decide which weights are the same
		return ""
	}
	if got == 0 && strings.Contains(wantErr, "Can't determine stream position") || want == 1 && got == 0 && strings.Contains(wantErr, "EditFstImpl::DeleteStates") {
		return "" // OpenFst aligns no standard output, whatever its status, and deletes no states of an edit machine
	}
	if got != want {
		return complain("exit status %d, OpenFst's %d", got, want)
	}
	if want != 0 {
		return ""
	}
	switch c.tool.result {
	case 't':
		if c.tool.name == "info" && c.inputs[0].fstType == "edit" && slices.Contains(c.flags, "--test_properties=false") {
			return "" // what an edit machine knows of itself without a look is no result
		}
		if out.String() != wantOut {
			return complain("printed\n%s\nOpenFst printed\n%s", out.String(), wantOut)
		}
	case 'd':
		if d := compareDistances(out.String(), wantOut, c); d != "" {
			return complain("%s\nprinted\n%s\nOpenFst printed\n%s", d, out.String(), wantOut)
		}
	case 'f':
		a, b := out.Bytes(), []byte(wantOut)
		if !c.stdout {
			a, b = must1(os.ReadFile(ours)), must1(os.ReadFile(theirs))
		}
		// Sums over cycles are exact here, and within a delta at each step there.
		delta := 1e-5
		if c.inputs[0].arcType != "standard" {
			delta = 1e-3
			if c.tool.name == "push" || c.tool.name == "rmepsilon" {
				delta = 1e-2
			}
		}
		step := float32(0)
		if c.inputs[0].arcType != "log64" && (c.tool.name == "minimize" || c.tool.name == "disambiguate" || slices.Contains(c.flags, "--map_type=quantize")) {
			step = c.delta()
		}
		if d := compareFiles(a, b, delta, step); d != "" {
			if strings.HasPrefix(d, "OpenFst's file") && strings.Contains(d, "BadNumber") {
				return "" // which it makes by dividing 0̄ by 0̄
			}
			// Ours must have the input's relation where OpenFst's numbers are no guide.
			if why := c.unguided(); why != "" {
				differ := c.differs(a)
				if differ == "" {
					p.judged[c.tool.name+": "+why]++
					return ""
				}
				d += "\n" + why + ", and ours has not the relation of the input: " + differ
			}
			// Of 0 and -0, which are equal, OpenFst makes two labels.
			if c.tool.name == "encode" && c.inputs[0].hasNegativeZero() {
				sound := *c
				sound.inputs = []*model{c.inputs[0].withoutNegativeZeros()}
				return p.run(&sound)
			}
			// What only ε-arcs of weight 0̄ lead to OpenFst may take for an end of weight 1̄. Without these arcs, which are
			// no paths, it says what the relation is.
			if c.tool.name == "rmepsilon" && c.inputs[0].arcType == "standard" && c.inputs[0].hasZeroEpsilon() {
				sound := c.inputs[0].clone()
				sound.arcs = slices.DeleteFunc(sound.arcs, func(a modelArc) bool { return math.IsInf(a.weight, 1) })
				name := filepath.Join(p.dir, "sound.fst")
				must(os.WriteFile(name, sound.encode(), 0o666))
				if out, errs, status := p.openFst(prog, slices.Concat(flags, []string{name}), nil); status != 0 {
					d += "\nand of the input without arcs of weight 0̄ OpenFst has status " + strconv.Itoa(status) + ": " + errs
				} else if differ := sameRelation(a, []byte(out), 3); differ == "" {
					p.emptied++
					return ""
				} else {
					d += "\nand of the input without arcs of weight 0̄ OpenFst has another relation: " + differ
				}
			}
			return complain("%s\nours:\n%s\nOpenFst's:\n%s", d, printed(a), printed(b))
		}
		if made(0) != nil || c.tool.name == "encode" {
			if a, b := must1(os.ReadFile(mapper[1])), must1(os.ReadFile(mapper[0])); !bytes.Equal(a, b) {
				return complain("the second result is %q, OpenFst's %q", a, b)
			}
		}
	}
	return ""
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func must1[T any](v T, err error) T {
	must(err)
	return v
}

// openFst runs a tool with bounds on its time and memory, since there are inputs
// on which it never ends.
func (p *peers) openFst(tool string, args []string, stdin []byte) (out, errs string, status int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", `ulimit -v 300000; exec "$@"`, "sh", filepath.Join(p.bin, tool)}, args...)...)
	var o, e bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &o, &e
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		panic(err)
	}
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

// respell writes flags as either generation allows, before or after arguments.
func respell(rng *rand.Rand, flags, args []string) []string {
	var before, after []string
	for _, f := range flags {
		to := &before
		if rng.IntN(4) == 0 {
			to = &after
		}
		name, value, has := strings.Cut(f, "=")
		switch {
		case f == "--closure_plus":
			f = []string{f, "--closure_type=plus"}[rng.IntN(2)]
		case f == "--to_final":
			f = []string{f, "--reweight_type=to_final"}[rng.IntN(2)]
		case has && value == "false" && rng.IntN(2) == 0:
			f = "--no" + name[2:]
		case has && value != "false" && value != "true" && value != "maybe" && rng.IntN(3) == 0:
			*to = append(*to, name, value)
			continue
		}
		if rng.IntN(3) == 0 {
			f = f[1:]
		}
		*to = append(*to, f)
	}
	return slices.Concat(before, args, after)
}

// readTyped reads a machine from memory.
func readTyped(b []byte) (*typed, error) {
	c := findTool("print").newCall(cli.Streams{In: bytes.NewReader(b), Out: io.Discard, Err: io.Discard})
	return c.readMachine("")
}

// compareFiles compares two machines as fstequal does, with their types and symbols. A step above 0 says that
// weights have been rounded to multiples of it: see sameButRounding.
func compareFiles(a, b []byte, delta float64, step float32) string {
	x, err := readTyped(a)
	if err != nil {
		return fmt.Sprint("our file: ", err)
	}
	y, err := readTyped(b)
	if err != nil {
		return fmt.Sprint("OpenFst's file: ", err)
	}
	// What is changed in place of an edit machine stays one in OpenFst.
	if x.ArcType() != y.ArcType() || x.fstType != y.fstType && y.fstType != "edit" {
		return fmt.Sprintf("a %s over %s against a %s over %s", x.fstType, x.ArcType(), y.fstType, y.ArcType())
	}
	if d := x.Equal(x.m, y.m, delta); d != nil && (step == 0 || !sameButRounding(printed(a), printed(b), delta, step)) {
		return d.String()
	}
	for i, side := range []func(any) *fst.SymbolTable{fst.InputSymbols, fst.OutputSymbols} {
		s, t := side(x.m), side(y.m)
		if (s == nil) != (t == nil) || s != nil && !bytes.Equal(s.AppendBinary(nil), t.AppendBinary(nil)) {
			return fmt.Sprintf("symbols of side %d: %v against %v", i, s, t)
		}
	}
	return ""
}

// printed is the text of a machine, for messages.
func printed(b []byte) string {
	var out bytes.Buffer
	run([]string{"fstprint", "--numeric"}, cli.Streams{In: bytes.NewReader(b), Out: &out, Err: &out})
	return out.String()
}

// sameRelation says what differs between the pairs of strings of up to n labels that two machines over tropical
// weights have.
func sameRelation(a, b []byte, n int) string {
	var of [2]map[fsttest.Pair]semiring.Tropical
	for i, file := range [][]byte{a, b} {
		m, err := fst.Read[semiring.Tropical](bytes.NewReader(file), nil)
		if err != nil {
			return err.Error()
		}
		of[i] = fsttest.Relation[semiring.Tropical](m, n)
	}
	return cmp.Diff(of[0], of[1], fsttest.Within[semiring.Tropical](1e-5))
}

// sameButRounding reports whether printed machines differ in weights only, by delta, or where the first's is one
// that a float32 cannot round to multiples of step, and so left alone here: OpenFst goes through with it, and of
// the quotient, the sum and the product each is rounded to a float32. The second must be just that.
func sameButRounding(a, b string, delta float64, step float32) bool {
	la, lb := strings.Split(a, "\n"), strings.Split(b, "\n")
	if len(la) != len(lb) {
		return false
	}
	for i := range la {
		fa, fb := strings.Split(la[i], "\t"), strings.Split(lb[i], "\t")
		// Weights are the last of two or five fields, and left out where they are 1̄.
		n := len(fa)
		if n != len(fb) || n > 1 && !slices.Equal(fa[:n-1], fb[:n-1]) {
			return false
		}
		if fa[n-1] == fb[n-1] {
			continue
		}
		x, err1 := strconv.ParseFloat(fa[n-1], 32)
		y, err2 := strconv.ParseFloat(fb[n-1], 32)
		if err1 != nil || err2 != nil || n != 2 && n != 5 {
			return false
		}
		quotient := float32(x) / step
		whole := float32(math.Floor(float64(float32(quotient + 0.5))))
		if !(math.Abs(x-y) <= delta) && !(math.Abs(float64(quotient)) >= 1<<22 && float32(y) == whole*step) {
			return false
		}
	}
	return true
}

// compareDistances compares printed distances: to the byte with the path property,
// otherwise to a thousandth, for OpenFst does not pass on what is below its delta. What it drops
// adds up to more where a cycle loses little mass: there ours must be the exact sum, and
// OpenFst's less of it.
func compareDistances(a, b string, c *peerCase) string {
	if c.inputs[0].arcType == "standard" {
		if a != b {
			return "distances differ"
		}
		return ""
	}
	la, lb := strings.Split(a, "\n"), strings.Split(b, "\n")
	if len(la) != len(lb) {
		return fmt.Sprintf("%d lines against %d", len(la), len(lb))
	}
	var exact []float64
	for i := range la {
		qa, wa, _ := strings.Cut(la[i], "\t")
		qb, wb, _ := strings.Cut(lb[i], "\t")
		x, _ := strconv.ParseFloat(wa, 64)
		y, _ := strconv.ParseFloat(wb, 64)
		if qa == qb && (wa == wb || math.Abs(x-y) <= 1e-3*max(1, math.Abs(y))) {
			continue
		}
		if exact == nil {
			exact = c.inputs[0].distances(c.source(), slices.Contains(c.flags, "--reverse"))
		}
		if q, err := strconv.Atoi(qa); qa == qb && err == nil && q < len(exact) && math.Abs(x-exact[q]) <= 1e-5*max(1, math.Abs(x)) && y > x {
			continue
		}
		return fmt.Sprintf("line %d: %q against %q, exact %v", i+1, la[i], lb[i], exact)
	}
	return ""
}

// shrink returns a smaller case that fails too.
func (p *peers) shrink(c *peerCase) *peerCase {
	deadline := time.Now().Add(20 * time.Second)
	for again := true; again; {
		again = false
		try := func(d *peerCase) bool {
			if time.Now().After(deadline) || p.run(d) == "" {
				return false
			}
			c, again = d, true
			return true
		}
		for i := range c.flags {
			d := *c
			d.flags = slices.Delete(slices.Clone(c.flags), i, i+1)
			if try(&d) {
				break
			}
		}
		if c.stdin || c.stdout {
			d := *c
			d.stdin, d.stdout = false, false
			try(&d)
		}
		for i := range c.inputs {
			for m := range c.inputs[i].smaller {
				d := *c
				d.inputs = slices.Clone(c.inputs)
				d.inputs[i] = m
				if try(&d) {
					break
				}
			}
		}
	}
	return c
}

// rounds is how often TestAsOpenFst has run in this process.
var rounds uint64

// Every tool against OpenFst's of the same name: random machines of many shapes
// over three semirings, random options of both generations, valid and not, through
// files and standard streams. Compared are the exit status, results as fstequal
// does, and printed text to the byte. A case that differs is made as small as can be, and
// printed with a script that shows it.
//
// TROPICA_CASES sets how many, TROPICA_SEED which, TROPICA_TOOL of which tool alone; with -count=N the N rounds
// have cases of their own. A million take some hours of two cores, and so go test's -timeout=0.
func TestAsOpenFst(t *testing.T) {
	o := fsttest.OpenFst(t) // or skip
	exit = func(int) { panic("a call went on after its --timeout; the stacks below say which") }
	defer func() { exit = os.Exit }()
	n := 200
	if s := os.Getenv("TROPICA_CASES"); s != "" {
		n = must1(strconv.Atoi(s))
	}
	seed := uint64(1)
	if s := os.Getenv("TROPICA_SEED"); s != "" {
		seed = must1(strconv.ParseUint(s, 10, 64))
	}
	seed += rounds << 32 // each of -count draws others
	rounds++
	tools := peerTools
	if only := os.Getenv("TROPICA_TOOL"); only != "" {
		tools = slices.DeleteFunc(slices.Clone(tools), func(x peerTool) bool { return x.name != only })
	}
	failed, ended, judged := map[string]int{}, map[string]int{}, map[string]int{}
	diverged, rounded := 0, 0
	var mu sync.Mutex
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		p := &peers{hung: map[string]int{}, judged: map[string]int{}, bin: o.Dir(), dir: t.TempDir()}
		p.writeTables()
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				rng := rand.New(rand.NewPCG(seed, uint64(i)))
				c := drawCase(rng, tools)
				if p.run(c) == "" {
					continue
				}
				mu.Lock()
				failed[c.tool.name]++
				few := failed[c.tool.name] <= 2
				mu.Unlock()
				if few {
					c = p.shrink(c)
					d := p.run(c)
					t.Errorf("case %d: %v%s\n%s", i, c, d, p.script(c))
				} else {
					t.Errorf("case %d: fst%s %q", i, c.tool.name, c.flags)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for tool, k := range p.hung {
				ended[tool] += k
			}
			diverged += p.diverged
			rounded += p.rounded
			for why, k := range p.judged {
				judged[why] += k
			}
		})
	}
	wg.Wait()
	t.Logf("%d cases; OpenFst did not end or crashed on %v, summed what diverges on %d, rounded sums over cycles on %d; judged by the input's relation: %v; failures: %v", n, ended, diverged, rounded, judged, failed)
	hung := 0
	for _, k := range ended {
		hung += k
	}
	if hung > 10+n/50 {
		t.Errorf("%d of %d cases compare nothing", hung, n)
	}
	// Some cases in ten thousand are judged so; many would mean that numbers of states, say, are not compared any more.
	alone := 0
	for _, k := range judged {
		alone += k
	}
	if alone > 5+n/200 {
		t.Errorf("%d of %d results are judged by the input's relation alone", alone, n)
	}
}

// writeTables writes the files that flags name.
func (p *peers) writeTables() {
	var syms bytes.Buffer
	must(modelSymbols("extra", 40).WriteText(&syms, nil))
	must(os.WriteFile(filepath.Join(p.dir, "syms.txt"), syms.Bytes(), 0o666))
	// The symbols of named machines on either side, but for two, in another order.
	var other strings.Builder
	for i := 28; i > 0; i-- {
		fmt.Fprintf(&other, "i\"\\%d\t%d\no\"\\%d\t%d\n", i, 100+i, i, 200-i)
	}
	must(os.WriteFile(filepath.Join(p.dir, "other.txt"), []byte("<eps>\t0\n"+other.String()), 0o666))
	must(os.WriteFile(filepath.Join(p.dir, "parens.txt"), []byte("10\t11\n13\t20\n6\t15\n"), 0o666))
	must(os.WriteFile(filepath.Join(p.dir, "triples.txt"), []byte("10\t11\t1\n13\t20\t2\n6\t15\t1\n"), 0o666))
	must(os.WriteFile(filepath.Join(p.dir, "pairs.txt"), []byte("# old new\n1 2\n2 1\n\n3\t30\n"), 0o666))
}

// drawCase draws a tool, machines and options. The arc types are all that OpenFst's packaged tools know: any other,
// also tropical and real64, they look for in a library NAME-arc.so, of which none is installed with them.
func drawCase(rng *rand.Rand, tools []peerTool) *peerCase {
	arcType := []string{"standard", "standard", "log", "log64"}[rng.IntN(4)]
	tool := &tools[rng.IntN(len(tools))]
	// OpenFst's replace and reweight read no standard input.
	return &peerCase{tool: tool, inputs: tool.inputs(rng, arcType), flags: tool.flags(rng),
		stdin: rng.IntN(3) == 0 && tool.name != "replace" && tool.name != "reweight" && tool.name != "pdtreplace", stdout: rng.IntN(2) == 0, spell: rng.Uint64()}
}

// Archives of strings: the same bytes, and the same strings back.
func TestStringArchivesAsOpenFst(t *testing.T) {
	o := fsttest.OpenFst(t)
	rng := rand.New(rand.NewPCG(5, 2))
	dir := t.TempDir()
	t.Chdir(dir)
	must(os.WriteFile("syms.txt", []byte("<eps> 0\na 1\nb 2\nc 3\n<unk> 4\nminus -5\n"), 0o666))
	pick := func(xs ...string) string { return xs[rng.IntN(len(xs))] }
	for i := range 60 {
		var inputs []string
		for k := range 1 + rng.IntN(3) {
			var text strings.Builder
			for range rng.IntN(14) {
				for range rng.IntN(5) {
					text.WriteString(pick("a", "b", "c", "a b", " ", "\t", "1", "17", "0", pick("zzz", "a", "é", "minus", "-3")))
					text.WriteString(pick(" ", " ", "\t", ""))
				}
				text.WriteString("\n")
			}
			name := fmt.Sprintf("in%d.txt", k)
			must(os.WriteFile(name, []byte(text.String()), 0o666))
			inputs = append(inputs, name)
		}
		flags := []string{"--token_type=" + pick("symbol", "symbol", "byte", "utf8", pick("utf8", "words")), "--entry_type=" + pick("line", "line", "file"),
			"--far_type=" + pick("default", "stlist", "sttable", "fst"), "--arc_type=" + pick("standard", "log", "log64")}
		if rng.IntN(3) > 0 {
			flags = append(flags, "--symbols=syms.txt")
		}
		for _, f := range []string{"--keep_symbols", "--initial_symbols=false", "--unknown_symbol=<unk>", "--generate_keys=4", "--key_prefix=p-", "--key_suffix=.s",
			"--fst_type=compact", "--allow_negative_labels", "--unknown_symbol=nix"} {
			if n := rng.IntN(4); n == 0 && (f != "--unknown_symbol=nix" || rng.IntN(4) == 0) {
				flags = append(flags, f)
			}
		}
		run2 := func(words ...string) (string, string, int) {
			var out, errs bytes.Buffer
			got := run(words, cli.Streams{In: bytes.NewReader(nil), Out: &out, Err: &errs})
			return out.String(), errs.String(), got
		}
		want := o.Run("farcompilestrings", slices.Concat(flags, inputs, []string{"b.far"})...)
		_, errs, got := run2(slices.Concat([]string{"farcompilestrings"}, flags, inputs, []string{"a.far"})...)
		if got == 1 && strings.Contains(want.Stderr, "Error reading symbol table") {
			continue // OpenFst says so, and exits with 0
		}
		if got != want.Exit {
			t.Fatalf("case %d: %q %q: exit status %d (%s), OpenFst's %d (%s)", i, flags, inputs, got, errs, want.Exit, want.Stderr)
		}
		if got != 0 {
			continue
		}
		a, b := must1(os.ReadFile("a.far")), must1(os.ReadFile("b.far"))
		if !bytes.Equal(a, b) {
			t.Fatalf("case %d: %q: wrote\n%x\nOpenFst\n%x", i, flags, a, b)
		}
		print := []string{flags[0], flags[1]}
		for _, f := range []string{"--symbols=syms.txt", "--print_key", "--print_weight", "--initial_symbols=false", "--begin_key=0", "--end_key=p-in1", "--generate_filenames=3"} {
			if rng.IntN(3) == 0 {
				print = append(print, f)
			}
		}
		must(os.RemoveAll("x"))
		must(os.MkdirAll("x", 0o777))
		theirs := o.Run("farprintstrings", append(slices.Concat(print, []string{"--filename_prefix=x/theirs-"}), "a.far")...)
		if strings.Contains(theirs.Stderr, "Find: Operation not supported") {
			continue // of lists OpenFst finds no key
		}
		if len(a) <= 24 || theirs.Exit != 0 && strings.Contains(theirs.Stderr, "Empty FST archive") {
			continue // of an empty archive OpenFst says that it is none
		}
		out, errs, got := run2(append(slices.Concat([]string{"farprintstrings"}, print, []string{"--filename_prefix=x/ours-"}), "a.far")...)
		if got != theirs.Exit || out != theirs.Stdout {
			t.Fatalf("case %d: %q %q: printed (%d)\n%s%s\nOpenFst (%d)\n%s%s", i, flags, print, got, out, errs, theirs.Exit, theirs.Stdout, theirs.Stderr)
		}
		for _, name := range must1(filepath.Glob("x/theirs-*")) {
			if a, b := must1(os.ReadFile(name)), must1(os.ReadFile(strings.Replace(name, "theirs-", "ours-", 1))); !bytes.Equal(a, b) {
				t.Fatalf("case %d: %q: %s: %q, OpenFst %q", i, print, name, b, a)
			}
		}
	}
}

// Archives: the same bytes, the same listings, the same verdicts.
func TestArchivesAsOpenFst(t *testing.T) {
	o := fsttest.OpenFst(t)
	rng := rand.New(rand.NewPCG(5, 1))
	t.Chdir(t.TempDir()) // keys of plain machines are names of files, as they are given
	dir := "."
	ours := func(want int, words ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if got := run(words, cli.Streams{In: bytes.NewReader(nil), Out: &out, Err: &errs}); got != want {
			t.Fatalf("%q: exit status %d, OpenFst's %d: %s", words, got, want, errs.String())
		}
		return out.String()
	}
	for i := range 9 {
		typ := []string{"sttable", "stlist", "fst"}[i%3]
		var names []string
		for k := range 1 + rng.IntN(4) {
			m := drawModel(rng, "log64", traits{})
			m.fstType = "vector"
			name := filepath.Join(dir, fmt.Sprintf("in%d", k))
			must(os.WriteFile(name, m.encode(), 0o666))
			names = append(names, name)
		}
		a, b := filepath.Join(dir, "a.far"), filepath.Join(dir, "b.far")
		flags := []string{"--far_type=" + typ, "--key_prefix=p-", []string{"--generate_keys=3", "--key_suffix=.x"}[i/3%2]}
		o.Do("farcreate", slices.Concat(flags, names, []string{b})...)
		ours(0, slices.Concat([]string{"farcreate"}, flags, names, []string{a})...)
		if !bytes.Equal(must1(os.ReadFile(a)), must1(os.ReadFile(b))) {
			t.Fatalf("%q: other bytes", flags)
		}
		for _, flag := range []string{"--list_fsts", "--list_fsts=false"} {
			if got, want := ours(0, "farinfo", flag, a), o.Do("farinfo", flag, a); got != want {
				t.Fatalf("farinfo %s:\n%s\nOpenFst's:\n%s", flag, got, want)
			}
		}
		c := filepath.Join(dir, "c.far")
		ours(0, slices.Concat([]string{"farcreate"}, flags, names[:1], []string{c})...)
		for _, tool := range []string{"farequal", "farisomorphic"} {
			for _, other := range []string{b, c} {
				ours(o.Run(tool, a, other).Exit, tool, a, other)
			}
		}
		if typ == "sttable" { // OpenFst has no ranges of others; it takes the last machine for a range behind all
			last := fmt.Sprintf("p-%03d", len(names))
			if i/3%2 == 1 {
				last = fmt.Sprintf("p-in%d.x", len(names)-1)
			}
			for _, begin := range []string{"p-002", "p-in0.x", "p-0", "p-", "a", "p-0011", "z"} {
				behind := begin > last
				begin = "--begin_key=" + begin
				for _, end := range []string{"", "p-002", "p-in1.x", "a"} {
					end = "--end_key=" + end
					if !behind {
						if got, want := ours(0, "farinfo", "--list_fsts", begin, end, a), o.Do("farinfo", "--list_fsts", begin, end, a); got != want {
							t.Fatalf("farinfo %s %s:\n%s\nOpenFst's:\n%s", begin, end, got, want)
						}
					}
					for _, tool := range []string{"farequal", "farisomorphic"} {
						for _, other := range []string{b, c} {
							ours(o.Run(tool, begin, end, a, other).Exit, tool, begin, end, a, other)
						}
					}
				}
			}
		}
		prefix := filepath.Join(dir, "x-")
		o.Do("farextract", "--filename_prefix="+prefix+"theirs-", a)
		ours(0, "farextract", "--filename_prefix="+prefix+"ours-", a)
		for _, name := range must1(filepath.Glob(prefix + "theirs-*")) {
			if !bytes.Equal(must1(os.ReadFile(name)), must1(os.ReadFile(strings.Replace(name, "theirs-", "ours-", 1)))) {
				t.Fatalf("%s: other bytes", name)
			}
			must(os.Remove(name))
		}
		if typ != "fst" {
			continue
		}
		// Plain machines: the key is the name of the file, as it was given.
		for _, flag := range []string{"--list_fsts", "--begin_key=zz", "--end_key=a"} {
			if got, want := ours(0, "farinfo", flag, names[0], a), o.Do("farinfo", flag, names[0], a); got != want {
				t.Fatalf("farinfo %s of plain machines:\n%s\nOpenFst's:\n%s", flag, got, want)
			}
		}
		ours(o.Run("farequal", "--begin_key=zz", a, a).Exit, "farequal", "--begin_key=zz", a, a)
	}
}
