package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
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

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
)

// peerTool says how a tool is drawn and compared.
type peerTool struct {
	name   string
	inputs func(rng *rand.Rand, arcType string) []*model
	flags  func(rng *rand.Rand) []string
	// 'a' an archive, or what its tools make of it, 'f' a machine, 't' text, 'd' distances, 'x' the
	// exit status alone, 'b' the best part of an expansion
	result byte
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

// toCompose are two machines; mostly one is sorted.
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
		if rng.IntN(10) == 0 {
			flags = append(flags, libraryFlags[rng.IntN(len(libraryFlags))])
		}
		return flags
	}
}

func words(s string) []string { return strings.Fields(s) }

// libraryFlags are the flags of every tool; most matter to some tools only.
var libraryFlags = []string{"--fst_align", "--fst_default_cache_gc=false", "--fst_default_cache_gc_limit=0",
	"--fst_read_mode=map", "--fst_read_mode=foo", "--fst_verify_properties",
	"--save_relabel_ipairs=OUT/pairs-in", "--save_relabel_opairs=OUT/pairs-out", "--fst_compat_symbols=false",
	"--fst_field_separator=,", "--fst_field_separator= ", "--fst_error_fatal", "--fst_weight_parentheses=()",
	"--fst_weight_separator=;", "--tmpdir=/nowhere", "--v=0", "--v=1", "--v=2", "--help", "--helpshort"}

var (
	thresholds = words("--weight=0.5 --weight=2 --weight=0 --weight=1e3 --weight=Infinity --weight=abc")
	nstates    = words("--nstate=1 --nstate=3 --nstate=10 --nstate=-1 --nstate=0")
	queues     = words("--queue_type=auto --queue_type=fifo --queue_type=lifo --queue_type=shortest " +
		"--queue_type=state --queue_type=top --queue_type=foo")
	shown = [][]string{
		words("--acceptor"), words("--numeric"), words("--show_weight_one --show_weight_one=false"),
		words("--isymbols=SYMS --isymbols=nosuchfile"),
		words("--osymbols=SYMS"), words("--ssymbols=SYMS"),
	}
	filters = words("--compose_filter=auto --compose_filter=sequence --compose_filter=alt_sequence " +
		"--compose_filter=match --compose_filter=no_match --compose_filter=null --compose_filter=trivial " +
		"--compose_filter=bogus")
	dfa = traits{acceptor: true, deterministic: true, noEpsilon: true}
)

var peerTools = []peerTool{
	{"arcsort", strange(one()), choose(words("--sort_type=ilabel --sort_type=olabel --sort_type=foo")), 'f'},
	{"closure", strange(one()), choose(words("--closure_plus --closure_plus=false --closure_plus=true")), 'f'},
	{"compose", toCompose(false), choose(filters, words("--connect=false --connect")), 'f'},
	{"concat", strange(two), choose(words("--fst_compat_symbols=false")), 'f'},
	{"connect", strange(one()), choose(), 'f'},
	{"convert", strange(one()), choose(words("--fst_type=const --fst_type=vector --fst_type=edit "+
		"--fst_type=compact_string --fst_type=compact_weighted_string --fst_type=compact_acceptor "+
		"--fst_type=compact_unweighted --fst_type=compact_unweighted_acceptor --fst_type=foo"),
		words("--fst_align")), 'f'},
	{"convert", one(traits{acceptor: true}, traits{acceptor: true, unweighted: true, finite: true}),
		choose(words("--fst_type=compact_acceptor --fst_type=compact_unweighted "+
			"--fst_type=compact_unweighted_acceptor --fst_type=edit"), words("--fst_align")), 'f'},
	// The types that OpenFst has in libraries of their own, with what they tell of the labels.
	{"convert", further, choose(furtherFlags, words("--fst_align"), words("--save_relabel_ipairs=OUT/pairs-in"),
		words("--save_relabel_opairs=OUT/pairs-out")), 'f'},
	{"convert", further, always("--fst_type=ngram", choose(words("--fst_align"))), 'f'},
	{"determinize", one(traits{acyclic: true}, traits{acyclic: true, acceptor: true},
		traits{acceptor: true}, traits{}), choose(words("--det_type=functional --det_type=nonfunctional "+
		"--det_type=disambiguate --det_type=foo"), thresholds[:1], nstates[:1],
		words("--subsequential_label=9 --subsequential_label=-2"), words("--increment_subsequential_label")), 'f'},
	{"determinize", one(traits{acceptor: true}), choose(thresholds, nstates), 'f'},
	{"difference", toSubtract, choose(filters, words("--connect=false --connect")), 'f'},
	{"disambiguate", oneTable(traits{acyclic: true, acceptor: true, finite: true},
		traits{acceptor: true, finite: true, unweighted: true}),
		choose(words("--delta=0.01 --delta=0.25"), words("--subsequential_label=9 --subsequential_label=-2"),
			words("--weight= --weight=abc")), 'f'},
	// After pruning, and where outputs are left over, OpenFst takes the heads of other states.
	{"disambiguate", oneTable(traits{acyclic: true, finite: true},
		traits{acceptor: true, finite: true, unweighted: true}),
		choose(thresholds, nstates, words("--subsequential_label=9 --subsequential_label=-2")), 'x'},
	{"encode", strange(one()), choose(words("--encode_labels"), words("--encode_labels"),
		words("--encode_weights"), words("--encode_weights")), 'f'},
	{"epsnormalize", one(traits{acyclic: true, finite: true}, traits{finite: true}),
		choose(words("--eps_norm_output")), 'f'},
	{"draw", strange(one()),
		choose(append([][]string{words("--portrait"), words("--vertical"), words("--title=T\\\"x"),
			words("--float_format=e --float_format=f --float_format=x"),
			words("--precision=3 --precision=9 --precision=-1 --precision=80"), words("--width=4 --height=1.25"),
			words("--ranksep=0.123456789"), words("--nodesep=2"), words("--fontsize=9")}, shown...)...), 't'},
	{"equal", strange(toCompare(traits{})), choose(words("--delta=0.1 --delta=0.00001"), words("--v=0")), 'x'},
	{"equivalent", toCompare(dfa, dfa, dfa, traits{}), choose(words("--delta=0.1 --delta=0.00001")), 'x'},
	{"info", strange(one()), choose(words("--arc_filter=any --arc_filter=epsilon --arc_filter=iepsilon "+
		"--arc_filter=oepsilon"),
		words("--info_type=long --info_type=short --info_type=auto --info_type=foo"),
		words("--test_properties=false"), words("--fst_verify=false")), 't'},
	{"intersect", toCompose(true), choose(filters, words("--connect=false --connect")), 'f'},
	{"invert", strange(one()), choose(), 'f'},
	{"isomorphic", strange(toCompare(traits{deterministic: true}, traits{})),
		choose(words("--delta=0.1 --delta=0.00001")), 'x'},
	{"map", strange(one()), choose(words("--map_type=identity --map_type=arc_sum --map_type=arc_unique "+
		"--map_type=input_epsilon --map_type=invert --map_type=output_epsilon --map_type=plus --map_type=power "+
		"--map_type=quantize --map_type=rmweight --map_type=superfinal --map_type=times --map_type=to_log "+
		"--map_type=to_log64 --map_type=to_std --map_type=foo"),
		words("--weight=0.5 --weight=2 --weight=abc"), words("--power=2 --power=0.5"), words("--delta=0.25")), 'f'},
	// OpenFst takes weights of 0̄ for ones when it merges states, and so changes the relation.
	{"minimize", one(traits{deterministic: true, finite: true}, traits{deterministic: true, finite: true},
		traits{deterministic: true, acceptor: true, finite: true}, traits{finite: true}),
		choose(words("--allow_nondet"), words("--delta=0.01")), 'f'},
	{"print", strange(one()), choose(append([][]string{words("--missing_symbol=???")}, shown...)...), 't'},
	{"project", strange(one()), choose(words("--project_type=input --project_type=output --project_type=foo")),
		'f'},
	{"prune", strange(one()), choose(thresholds, nstates), 'f'},
	{"push", one(), choose(words("--push_labels"), words("--push_weights"), words("--push_weights"),
		words("--remove_common_affix"), words("--remove_total_weight"), words("--to_final")), 'f'},
	{"randgen", one(traits{acyclic: true}), choose(words("--npath=3 --npath=0"), words("--max_length=2"),
		words("--select=log_prob --select=fast_log_prob --select=foo"), words("--weighted"), words("--seed=3")),
		'x'},
	{"relabel", strange(named), choose(words("--isymbols=SYMS"), words("--relabel_isymbols=OTHER"),
		words("--relabel_osymbols=OTHER"), words("--unknown_isymbol=i\"\\1 --unknown_isymbol=zzz"),
		words("--unknown_osymbol=i\"\\2")), 'f'},
	{"relabel", strange(one()), choose(words("--relabel_ipairs=PAIRS --relabel_ipairs=nosuchfile"),
		words("--relabel_opairs=PAIRS")), 'f'},
	{"replace", toReplace, choose(words("--call_arc_labeling=input --call_arc_labeling=output "+
		"--call_arc_labeling=both --call_arc_labeling=neither"),
		words("--return_arc_labeling=input --return_arc_labeling=output --return_arc_labeling=both "+
			"--return_arc_labeling=neither"), words("--return_label=7"), words("--epsilon_on_replace")), 'f'},
	{"reverse", strange(one()), choose(words("--require_superinitial=false --require_superinitial")), 'f'},
	{"reweight", strange(one()), choose(words("--to_final")), 'f'},
	{"rmepsilon", strange(one()), choose(words("--connect=false"), queues, words("--delta=0.00001")), 'f'},
	{"rmepsilon", strange(one()), choose(thresholds, nstates), 'f'},
	{"shortestdistance", strange(one()), choose(words("--reverse --reverse=false"), queues, nstates[:1]), 'd'},
	{"shortestpath", one(traits{}, traits{acceptor: true}), choose(words("--nshortest=2 --nshortest=5 "+
		"--nshortest=20 --nshortest=0"), words("--unique"), thresholds, nstates), 'f'},
	{"shortestpath", strange(one()), choose(queues), 'f'},
	{"symbols", strange(named), choose(words("--clear_isymbols"), words("--clear_osymbols"),
		words("--isymbols=SYMS"), words("--osymbols=SYMS"), words("--relabel_ipairs=PAIRS"),
		words("--relabel_opairs=PAIRS"), words("--verify")), 'f'},
	{"synchronize", one(traits{acyclic: true}, traits{acceptor: true}, traits{}), choose(), 'f'},
	{"topsort", strange(one()), choose(), 'f'},
	{"union", strange(two), choose(words("--fst_compat_symbols=false")), 'f'},

	// The pushdown tools where OpenFst's are right and end; package ops/pdt compares the others.
	{"pdtcompose", toPush(1), always("--pdt_parentheses=PARENS",
		choose(pushFilters, words("--connect=false --connect"))), 'f'},
	{"pdtcompose", toPush(2), always("--pdt_parentheses=PARENS --left_pdt=false",
		choose(pushFilters, words("--connect=false --connect"))), 'f'},
	{"pdtexpand", toPush(0), always("--pdt_parentheses=PARENS",
		choose(words("--keep_parentheses"), words("--connect=false --connect"))), 'f'},
	{"pdtexpand", toExpand, always("--pdt_parentheses=PARENS", choose(thresholds, words("--keep_parentheses"))),
		'b'},
	{"pdtshortestpath", toExpand, always("--pdt_parentheses=PARENS",
		choose(words("--keep_parentheses"), words("--queue_type=fifo --queue_type=lifo --queue_type=state "+
			"--queue_type=foo"), words("--path_gc=false"))), 'b'},
	{"pdtinfo", toPush(0), always("--pdt_parentheses=PARENS", choose()), 't'},
	{"pdtreverse", toPush(0), always("--pdt_parentheses=PARENS", choose()), 'f'},
	{"pdtreplace", toReplace, always("--start_paren_labels=200",
		choose(words("--pdt_parser_type=left --pdt_parser_type=foo"))), 'f'},
	{"mpdtcompose", toPush(1), always("--mpdt_parentheses=TRIPLES",
		choose(pushFilters, words("--connect=false --connect"))), 'f'},
	{"mpdtexpand", toPush(0), always("--mpdt_parentheses=TRIPLES",
		choose(words("--keep_parentheses"), words("--connect=false --connect"))), 'f'},
	{"mpdtinfo", toPush(0), always("--mpdt_parentheses=TRIPLES", choose()), 't'},
	{"mpdtreverse", toPush(0), always("--mpdt_parentheses=TRIPLES", choose()), 'f'},
}

var pushFilters = words("--compose_filter=paren --compose_filter=expand --compose_filter=expand_paren " +
	"--compose_filter=bogus")

// peerCase is one call through both.
type peerCase struct {
	tool   *peerTool
	inputs []*model
	flags  []string
	stdin  bool   // the first input comes by standard input
	stdout bool   // the result goes to standard output
	spell  uint64 // seed of our spelling of the flags
	texts  []string
	far    *farForm // of the inputs of tools of archives
	order  []int    // of the inputs of a tool that makes an archive, modulo their number; nil is as they are
}

func (c *peerCase) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "fst%s %q (stdin %v, stdout %v, spelling %d)\n", c.tool.name, c.flags, c.stdin,
		c.stdout, c.spell)
	for i, m := range c.inputs {
		fmt.Fprintf(&b, "input %d: %v", i+1, m)
	}
	for i, text := range c.texts {
		fmt.Fprintf(&b, "text %d: %q\n", i, text)
	}
	if c.far != nil {
		fmt.Fprintf(&b, "%+v\n", *c.far)
	}
	if c.order != nil {
		fmt.Fprintf(&b, "in order %v\n", c.order)
	}
	return b.String()
}

// source returns the state that fstshortestdistance measures from.
func (c *peerCase) source() int {
	source := c.inputs[0].decoded().start
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
	lib       string         // directory of OpenFst's libraries of further types, "" for none
	hung      map[string]int // calls that OpenFst did not finish, or crashed on, by tool
	diverged  int            // sums that we refuse
	unordered int            // comparisons by what is no order
	emptied   int            // affixes, and outputs, of what accepts nothing
	// comparisons in which OpenFst is wrong, or rounding decides, about sums over cycles
	rounded  int
	judged   map[string]int // results judged by the input's relation, by why
	statuses map[string]int // exit statuses that differ on purpose, by why
	words    [2][]string    // of the last case: OpenFst's and ours
	files    []string       // and its inputs
	mapper   []byte         // of fstencode, where it takes one
}

// script is a shell script that shows the difference of the case that ran last: its files, and both
// calls.
func (p *peers) script(c *peerCase) string {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n# Theirs and ours, with this project's command first in PATH as fst.\nmkdir -p " +
		"out0 out1\n")
	for i, m := range c.inputs {
		for line := range strings.Lines(m.String()) {
			fmt.Fprintf(&b, "# in%d.fst: %s", i, line)
		}
	}
	for _, name := range p.files {
		fmt.Fprintf(&b, "base64 -d >%s <<'END'\n%s\nEND\n", filepath.Base(name),
			base64.StdEncoding.EncodeToString(must1(os.ReadFile(name))))
	}
	quoted := func(words []string) string {
		var out []string
		for _, w := range words {
			out = append(out, "'"+strings.ReplaceAll(strings.ReplaceAll(w, p.dir+string(filepath.Separator), ""),
				"'", `'\''`)+"'")
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
		stdin = " <" + filepath.Base(p.files[0])
	}
	fmt.Fprintf(&b, "%s%s >theirs.out; echo \"theirs: $?\"\n", quoted(p.words[0]), stdin)
	fmt.Fprintf(&b, "fst %s%s >ours.out; echo \"ours: $?\"\n",
		quoted(append([]string{c.tool.name}, p.words[1][1:]...)), stdin)
	return b.String()
}

// run returns what differs, "" if nothing does.
func (p *peers) run(c *peerCase) string {
	files := p.writeInputs(c)
	plain := p.readable(c, files)
	stdin, theirStdin := []byte(nil), []byte(nil)
	args, theirPlain := slices.Clone(files), slices.Clone(plain)
	if c.stdin {
		stdin, theirStdin = must1(os.ReadFile(files[0])), must1(os.ReadFile(plain[0]))
		args[0], theirPlain[0] = "-", "-"
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
		theirPlain = args
		if c.tool.name == "pdtreplace" {
			made = func(i int) []string { return []string{"--pdt_parentheses=" + mapper[i]} }
		}
	case "mpdtreverse":
		made = func(i int) []string { return []string{"--mpdt_new_parentheses=" + mapper[i]} }
	case "linear":
		args = args[1:] // --vocab has the first
		theirPlain = args
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
		theirArgs, ourArgs = slices.Concat(theirPlain, middle(0), []string{theirs}),
			slices.Concat(args, middle(1), []string{ours})
	} else {
		theirArgs, ourArgs = slices.Concat(theirPlain, middle(0)), slices.Concat(args, middle(1))
	}
	os.Remove(mapper[0])
	os.Remove(mapper[1])
	if p.mapper != nil {
		must(os.WriteFile(mapper[0], p.mapper, 0o666))
		must(os.WriteFile(mapper[1], p.mapper, 0o666))
	}
	flags, ourFlags := p.place(c, 0), p.place(c, 1)
	prog := findTool(c.tool.name).prog()
	if c.tool.result == 'b' {
		return p.runPushdown(c, prog, flags, args, ourArgs, stdin)
	}
	if c.tool.result == 'a' {
		return p.runArchives(c, prog, flags, ourFlags, files, stdin)
	}
	theirWords := slices.Concat([]string{prog}, flags, made(0), theirArgs)
	wantOut, wantErr, want := p.openFst(prog, theirWords[1:], theirStdin)
	var out, errs bytes.Buffer
	rng := rand.New(rand.NewPCG(c.spell, 0))
	words := append([]string{prog}, respell(rng, slices.Concat(ourFlags, made(1)), ourArgs)...)
	p.words = [2][]string{theirWords, words}
	got := run(append(words, bounds(prog, "--limit_states=50000", "--timeout=20s")...),
		cli.Streams{In: bytes.NewReader(stdin), Out: &out, Err: &errs})
	// what OpenFst has an end of, we have, too
	if got == 1 && want == 0 && strings.Contains(errs.String(), "more than 50000 states") {
		out.Reset()
		errs.Reset()
		got = run(append(words, bounds(prog, "--limit_states=5000000", "--timeout=20s")...),
			cli.Streams{In: bytes.NewReader(stdin), Out: &out, Err: &errs})
	}
	complain := func(format string, a ...any) string {
		return fmt.Sprintf("%s\nour words: %q\nour messages: %s\nOpenFst's: %s", fmt.Sprintf(format, a...), words,
			errs.String(), wantErr)
	}
	if want < 0 || want > 2 { // killed or crashed
		p.hung[c.tool.name]++
		return ""
	}
	if got == 1 && want != 1 && strings.Contains(errs.String(), "not k-closed") &&
		(strings.HasPrefix(c.inputs[0].arcType, "log") || slices.ContainsFunc(c.inputs, (*model).negativeCycle)) {
		// OpenFst sums what diverges until a term is below its delta, and goes round a
		// negative cycle until float32 counts no further, which takes it about a second.
		p.diverged++
		return ""
	}
	if c.tool.name == "shortestdistance" && got == 1 && want != 1 && c.source() >= len(c.inputs[0].finals) &&
		strings.Contains(errs.String(), "flag --nstate: there is no state ") {
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
	if want == 1 && got == 0 && c.tool.name == "determinize" && c.inputs[0].hasZeroArc() &&
		strings.Contains(wantErr, "StringWeight::Plus: Unequal") {
		p.emptied++ // an output of weight 0̄, which is none here
		return ""
	}
	large := func(m *model) bool { return m.beyond(math.MaxFloat32 * c.delta()) }
	if c.tool.name == "equivalent" && got+want == 2 && got != 1 && c.inputs[0].arcType != "standard" &&
		(slices.ContainsFunc(c.inputs, (*model).cyclic) || slices.ContainsFunc(c.inputs, large)) {
		// Sums over cycles are exact here, and decide which weights are the same; and large weights stay.
		if wrong := c.misjudged(got == 0); wrong != "" {
			return complain("exit status %d, OpenFst's %d: %s", got, want, wrong)
		}
		p.rounded++
		return ""
	}
	if got == 0 && want == 1 && strings.Contains(wantErr, "Unknown FST type ngram (arc type log64)") {
		p.statuses[c.tool.name+": OpenFst has no ngram machines over log64"]++
		return ""
	}
	if got == 0 && want == 1 && slices.Contains(c.flags, "--fst_verify_properties") &&
		strings.Contains(wantErr, "stored FST properties incorrect") &&
		slices.ContainsFunc(c.inputs, p.refusedAsNgram) {
		p.statuses[c.tool.name+": OpenFst finds the properties false that it writes into ngram files"]++
		return ""
	}
	unverified := c.tool.name == "info" && slices.Contains(c.flags, "--fst_verify=false")
	if got == 0 && (want == 1 && strings.Contains(wantErr, "Stored FST properties incorrect") || want == 0 &&
		unverified) && slices.ContainsFunc(c.inputs, p.refusedAsNgram) {
		p.statuses[c.tool.name+": OpenFst finds the properties false that it writes into ngram files"]++
		return ""
	}
	if got == 1 && want == 0 && strings.Contains(errs.String(), "the start state must back off") {
		p.statuses[c.tool.name+": OpenFst writes an ngram machine with another start"]++
		return ""
	}
	if got == 1 && want == 0 && strings.Contains(errs.String(), "whose first arc has label -1") {
		p.statuses[c.tool.name+": OpenFst writes the arc so that it reads a final weight"]++
		return ""
	}
	if got == 1 && want == 0 && strings.Contains(errs.String(), "arcs with phi (") &&
		strings.Contains(errs.String(), ", where one may be") {
		p.statuses[c.tool.name+": OpenFst takes the first of two failures where it looks for a final weight"]++
		return ""
	}
	if got == 1 && want == 0 && strings.Contains(errs.String(), "_fst_rewrite_mode: ") {
		p.statuses[c.tool.name+": OpenFst takes a rewrite mode that there is not for auto"]++
		return ""
	}
	if got == 1 && want == 0 && (c.tool.name == "symbols" || c.tool.name == "relabel") &&
		strings.Contains(wantErr, "ERROR: SymbolTable::ReadText") {
		p.statuses[c.tool.name+": OpenFst has a message, and status 0"]++
		return ""
	}
	if got != 1 && strings.Contains(wantErr, "Can't determine stream position") || want == 1 && got == 0 &&
		strings.Contains(wantErr, "EditFstImpl::DeleteStates") {
		// OpenFst aligns no standard output, whatever its status, and deletes no states of an edit
		// machine
		return ""
	}
	if want == 1 && got == 0 && c.tool.name == "difference" &&
		strings.Contains(wantErr, "stored FST properties incorrect") &&
		(!c.inputs[1].known || slices.ContainsFunc(c.inputs[1].arcs, func(a modelArc) bool { return a.in < -2 })) {
		p.statuses[c.tool.name+": OpenFst claims of its complement what is not so"]++
		return ""
	}
	if want == 1 && got == 0 && strings.Contains(wantErr, "ReachInit: Fst is not sorted") {
		result := out.Bytes()
		if !c.stdout {
			result = must1(os.ReadFile(ours))
		}
		if d := p.withoutLookAhead(c, flags, result); d != "" {
			return complain("%s", d)
		}
		p.statuses[c.tool.name+": OpenFst looks ahead into what is sorted"]++
		return ""
	}
	if got != want {
		return complain("exit status %d, OpenFst's %d", got, want)
	}
	if want != 0 {
		return ""
	}
	if d := p.compareSaved(); d != "" {
		return complain("%s", d)
	}
	switch c.tool.result {
	case 't':
		if c.tool.name == "info" && c.inputs[0].fstType == "edit" &&
			slices.Contains(c.flags, "--test_properties=false") {
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
		if c.inputs[0].arcType == "log" && c.tool.name == "minimize" || c.inputs[0].arcType != "log64" &&
			c.tool.name == "disambiguate" {
			step = c.delta()
		}
		if d := compareFiles(a, b, delta, step); d != "" {
			if strings.HasPrefix(d, "OpenFst's file") && strings.Contains(d, "BadNumber") {
				return "" // which it makes by dividing 0̄ by 0̄
			}
			if _, errs, status := p.openFst("fstinfo", nil, b); status != 0 || strings.Contains(errs, "Read failed") {
				p.statuses[c.tool.name+": OpenFst cannot read what it has written"]++
				return ""
			}
			// It has "weighted" for true of them where no weight is, and takes the way for such machines.
			if c.tool.name == "minimize" && slices.ContainsFunc(c.inputs, p.refusedAsNgram) {
				their := filepath.Join(p.dir, "ngram.fst")
				must(os.WriteFile(their, b, 0o644))
				if _, _, status := p.openFst("fstisomorphic", []string{"-", their}, a); status == 0 {
					p.statuses[c.tool.name+": OpenFst goes by the properties that it finds false itself of ngram files"]++
					return ""
				}
			}
			// OpenFst rounds the weights that look-ahead composition has pushed where it takes them
			// off again.
			if len(c.inputs) == 2 && (strings.HasSuffix(c.inputs[0].fstType, "label_lookahead") ||
				strings.HasSuffix(c.inputs[1].fstType, "label_lookahead")) && compareFiles(a, b, 1.0/256, 0) == "" {
				differ := p.withoutLookAhead(c, flags, a)
				if differ == "" {
					p.judged[c.tool.name+": OpenFst's paths are off by the rounding of what is pushed"]++
					return ""
				}
				d += "\nand ours has not the relation of plain composition: " + differ
			}
			// The divisor is a machine over sums of floats, minimal up to steps of 1/1024: rounding
			// decides what is the same.
			if c.tool.name == "loglinearapply" {
				differ := sameSums(a, b)
				if differ == "" {
					p.judged[c.tool.name+": rounding decides which sums are the same"]++
					return ""
				}
				d += "\n" + differ
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
			// OpenFst has states of its determinization behind arcs of weight 0̄, which change the
			// order of equally good strings; and large weights become Infinity in it.
			if in := c.inputs[0]; c.tool.name == "shortestpath" && slices.Contains(c.flags, "--unique") &&
				c.number("--nshortest") > 1 && c.nstate() <= 0 &&
				(in.hasZeroArc() || in.beyond(math.MaxFloat32*c.delta())) {
				differ := in.decoded().notBestStrings(a, c.number("--nshortest"), c.threshold())
				if differ == "" {
					p.judged[c.tool.name+": arcs of weight 0̄ lead nowhere here, and large weights stay"]++
					return ""
				}
				d += "\nand ours are not the best strings: " + differ
			}
			// What only ε-arcs of weight 0̄ lead to OpenFst may take for an end of weight 1̄.
			// Without these arcs, which are no paths, it says what the relation is.
			if in := c.inputs[0]; c.tool.name == "rmepsilon" && in.arcType == "standard" && in.hasZeroEpsilon() {
				sound := c.inputs[0].decoded().clone()
				sound.arcs = slices.DeleteFunc(sound.arcs, func(a modelArc) bool { return math.IsInf(a.weight, 1) })
				name := filepath.Join(p.dir, "sound.fst")
				must(os.WriteFile(name, sound.encode(), 0o666))
				if out, errs, status := p.openFst(prog, slices.Concat(flags, []string{name}), nil); status != 0 {
					d += "\nand of the input without arcs of weight 0̄ OpenFst has status " +
						strconv.Itoa(status) + ": " + errs
				} else if differ := sameRelation(a, []byte(out), 3); differ == "" {
					p.emptied++
					return ""
				} else {
					d += "\nand of the input without arcs of weight 0̄ OpenFst has another relation: " + differ
				}
			}
			return complain("%s\nours:\n%s\nOpenFst's:\n%s", d, printed(a), printed(b))
		}
		// With --encode_reuse OpenFst leaves the mapper as it was.
		if made(0) != nil || c.tool.name == "encode" && !slices.Contains(c.flags, "--encode_reuse") {
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

// openFst runs a tool with bounds on its time and memory, since there are inputs on which it never
// ends. The status is -1 where either is at its bound: some tools catch what the allocator throws
// and exit with 1, others are killed, and which bound comes first is the machine's speed.
func (p *peers) openFst(tool string, args []string, stdin []byte) (out, errs string, status int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	call := append([]string{"-c", `ulimit -v 300000; exec "$@"`, "sh"}, p.preload(tool, args)...)
	cmd := exec.CommandContext(ctx, "/bin/sh", append(append(call, filepath.Join(p.bin, tool)), args...)...)
	cmd.Dir = p.dir
	var o, e bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &o, &e
	if p.lib != "" {
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+p.lib)
	}
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		panic(err)
	}
	status = cmd.ProcessState.ExitCode()
	if strings.Contains(e.String(), "Memory allocation failed") {
		status = -1
	}
	return o.String(), e.String(), status
}

// preload puts OpenFst's libraries of special types before a call that has flags of theirs: a tool
// that loads them when it needs them has read its flags by then. (OpenFst has a program fstspecial
// for this, not packaged either.)
func (p *peers) preload(tool string, args []string) []string {
	if tool != "fstconvert" || !slices.ContainsFunc(args, func(a string) bool {
		return strings.HasPrefix(a, "--phi_fst_") || strings.HasPrefix(a, "--rho_fst_") ||
			strings.HasPrefix(a, "--sigma_fst_")
	}) {
		return nil
	}
	return []string{"env", "LD_PRELOAD=phi-fst.so rho-fst.so sigma-fst.so"}
}

// refusedAsNgram reports whether m is in a file of type ngram, and OpenFst refuses its own
// conversion of it, too.
func (p *peers) refusedAsNgram(m *model) bool {
	if m.fstType != "ngram" {
		return false
	}
	plain := *m
	plain.fstType = "vector"
	theirs := filepath.Join(p.dir, "ngram.fst")
	if _, _, status := p.openFst("fstconvert", []string{"--fst_type=ngram", "-", theirs},
		plain.encode()); status != 0 {
		return false
	}
	_, errs, _ := p.openFst("fstinfo", []string{theirs}, nil)
	return strings.Contains(errs, "Stored FST properties incorrect")
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
		for i, f := range c.flags {
			// Without, files would be written elsewhere, or what differs would be something else,
			// on purpose.
			if strings.Contains(f, "=OUT/") || strings.Contains(f, "pdt_parentheses") ||
				f == "--allow_negative_labels" {
				continue
			}
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
		for d := range c.fewer {
			if try(d) {
				break
			}
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
// Machines are in files of all types that OpenFst's tools can be had with, those of its libraries
// of const, compact, look-ahead and ngram machines among them, which are written here and read
// there. The types phi, rho and sigma are compared where TROPICA_PLUGINS names a directory with
// their libraries, which are not packaged: see specialTypes. So are files of linear models;
// without, of fstlinear the files are compared with ours, and fstloglinearapply is given the models
// as machines.
//
// TROPICA_CASES sets how many, TROPICA_SEED which, TROPICA_CASE only one of them, TROPICA_TOOL only
// one tool. With -count=N the N rounds have cases of their own. A million take some hours of two
// cores, and so go test's -timeout=0.
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
	plugIns := o.PlugIns()
	tools := slices.Clone(peerTools)
	if plugIns {
		furtherTypes = slices.Clone(plugInTypes)
		defer func() { furtherTypes = nil }()
		if o.Has("phi") {
			furtherTypes = append(furtherTypes, specialTypes...)
			tools = append(tools, specialTools...)
		}
		if o.Has("linear_tagger") {
			tools = append(tools, linearTools...)
		}
	} else {
		t.Log("OpenFst's libraries of further types are not installed, and so files of such types not drawn")
	}
	if only := os.Getenv("TROPICA_TOOL"); only != "" {
		tools = slices.DeleteFunc(tools, func(x peerTool) bool { return x.name != only })
		if len(tools) == 0 {
			t.Fatalf("TROPICA_TOOL=%s: no tool that is compared has this name", only)
		}
	}
	from := int64(0)
	if s := os.Getenv("TROPICA_CASE"); s != "" {
		from = must1(strconv.ParseInt(s, 10, 64))
		n = int(from) + 1
	}
	failed, ended, judged, statuses := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	diverged, rounded := 0, 0
	var mu sync.Mutex
	var next atomic.Int64
	next.Store(from)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		p := &peers{hung: map[string]int{}, judged: map[string]int{}, statuses: map[string]int{}, bin: o.Dir(),
			lib: o.Libraries(), dir: t.TempDir()}
		p.writeTables()
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				rng := rand.New(rand.NewPCG(seed, uint64(i)))
				c := drawCase(rng, tools)
				first := p.run(c)
				if first == "" {
					continue
				}
				mu.Lock()
				failed[c.tool.name]++
				few := failed[c.tool.name] <= 2
				mu.Unlock()
				if few {
					c = p.shrink(c)
					d := p.run(c)
					if d == "" {
						d = "and not again: " + first
					}
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
			for why, k := range p.statuses {
				statuses[why] += k
			}
		})
	}
	wg.Wait()
	t.Logf("%d cases; OpenFst did not end or crashed on %v, summed what diverges on %d, rounded sums over "+
		"cycles on %d; judged by the input's relation: %v; other exit statuses: %v; failures: %v", n, ended,
		diverged, rounded, judged, statuses, failed)
	hung := 0
	for _, k := range ended {
		hung += k
	}
	if os.Getenv("TROPICA_TOOL") != "" || from > 0 { // the shares that follow are those of all tools
		return
	}
	if hung > 10+n/50 {
		t.Errorf("%d of %d cases compare nothing", hung, n)
	}
	differ := 0
	for _, k := range statuses {
		differ += k
	}
	if differ > 10+n/40 {
		t.Errorf("of %d of %d cases the exit status alone is compared, with a difference that is on purpose",
			differ, n)
	}
	// Some cases in ten thousand are judged so; many would mean that numbers of states, say, are
	// not compared any more.
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
	must(os.WriteFile(filepath.Join(p.dir, "doubled.txt"),
		[]byte("<eps>\t0\nx\t1\ny\t1\nx\t2\nz\t3\nminus\t-3\nless -2\n w 2\n"), 0o666))
	must(os.WriteFile(filepath.Join(p.dir, "pairs.txt"), []byte("# old new\n1 2\n2 1\n\n3\t30\n"), 0o666))
}

// drawCase draws a tool, machines and options. The arc types are all that OpenFst's packaged tools
// know: for any other, also tropical and real64, they need a library NAME-arc.so, and none is
// installed with them.
func drawCase(rng *rand.Rand, tools []peerTool) *peerCase {
	arcType := []string{"standard", "standard", "log", "log64"}[rng.IntN(4)]
	tool := &tools[rng.IntN(len(tools))]
	// OpenFst's replace and reweight read no standard input.
	c := &peerCase{tool: tool, inputs: tool.inputs(rng, arcType), flags: tool.flags(rng),
		stdin:  rng.IntN(3) == 0 && tool.name != "replace" && tool.name != "reweight" && tool.name != "pdtreplace",
		stdout: rng.IntN(2) == 0, spell: rng.Uint64()}
	drawTexts(rng, c)
	return c
}
