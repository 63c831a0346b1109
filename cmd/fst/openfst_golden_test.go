package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/fst/fsttest"
)

// goldenDir holds what OpenFst's tools did with a few small machines, so that results can be
// compared where OpenFst is not installed. machines.txtar has the machines as text; of each
// tool there is a file whose members are command lines, with the exit status and what the
// result prints. OpenFst's own pdtshortestpath and pdtexpand --weight may miss the best path, or
// abort: for these the files have the best path of the expansion, and what fstprune leaves of it.
var goldenDir = filepath.Join("..", "..", "testdata", "openfst")

// goldenTool is a tool, by what follows fst in its name if that begins so, with the flags, one set
// a case, and the machines that it is called with.
type goldenTool struct {
	tool  string
	flags []string // words of a case; each is used with each input
	in    []string // inputs, separated by spaces where there are two
	text  bool     // prints text
}

var (
	goldenAll  = []string{"chain", "transducer", "cyclic", "nondet", "dfa", "dead", "empty", "wide", "logs"}
	goldenAcc  = []string{"chain", "nondet", "dfa", "empty", "ambiguous"}
	goldenPush = []string{"nested", "open", "shared", "recalled", "unclosed", "bounded", "transducer", "empty"}
	goldenPair = []string{"transducer sorted", "chain sorted", "nondet dfa", "cyclic sorted",
		"empty sorted", "dfa dfa"}
)

// The flags that name the parentheses of machines.txtar.
const (
	goldenPairs   = "--pdt_parentheses=parens.pairs"
	goldenTriples = "--mpdt_parentheses=parens.triples"
)

var goldenTools = []goldenTool{
	{"arcsort", []string{"", "--sort_type=olabel"}, goldenAll, false},
	{"closure", []string{"", "--closure_plus"}, goldenAll, false},
	{"compose", []string{"", "--connect=false", "--compose_filter=alt_sequence", "--compose_filter=match",
		"--compose_filter=trivial"}, goldenPair, false},
	{"concat", []string{""}, []string{"transducer chain", "cyclic nondet", "empty dfa", "dfa empty"}, false},
	{"connect", []string{""}, goldenAll, false},
	{"convert", []string{"--fst_type=const", "--fst_type=compact_acceptor", "--fst_type=compact_string",
		"--fst_type=edit"}, goldenAll, false},
	{"determinize", []string{"", "--det_type=nonfunctional"},
		[]string{"chain", "transducer", "nondet", "dfa", "dead", "empty", "functional"}, false},
	{"determinize", []string{"--nstate=2", "--weight=1"}, goldenAcc, false},
	{"difference", []string{""}, []string{"nondet plain", "chain plain", "nondet chain"}, false},
	{"disambiguate", []string{"", "--delta=0.5"}, goldenAcc, false},
	{"draw", []string{"", "--portrait", "--acceptor --show_weight_one"}, goldenAll, true},
	{"epsnormalize", []string{"", "--eps_norm_output"},
		[]string{"chain", "transducer", "dead", "functional"}, false},
	{"equal", []string{"", "--delta=10"}, []string{"chain chain", "chain nondet", "sorted transducer"}, true},
	{"equivalent", []string{""}, []string{"dfa dfa", "dfa plain", "nondet dfa"}, true},
	{"info", []string{"", "--info_type=short", "--test_properties=false", "--arc_filter=epsilon"},
		goldenAll, true},
	{"intersect", []string{"", "--connect=false"}, []string{"nondet dfa", "dfa dfa", "ambiguous plain"}, false},
	{"invert", []string{""}, goldenAll, false},
	{"isomorphic", []string{""}, []string{"dfa dfa", "dfa plain", "chain dfa"}, true},
	{"map", []string{"--map_type=arc_sum", "--map_type=arc_unique", "--map_type=invert",
		"--map_type=plus --weight=1", "--map_type=times --weight=2", "--map_type=quantize --delta=0.5",
		"--map_type=rmweight", "--map_type=superfinal", "--map_type=to_log", "--map_type=input_epsilon"},
		[]string{"transducer", "cyclic", "ambiguous", "empty"}, false},
	{"minimize", []string{"", "--allow_nondet"},
		[]string{"dfa", "chain", "plain", "nondet", "functional", "empty"}, false},
	{"mpdtexpand", []string{goldenTriples, goldenTriples + " --keep_parentheses"},
		[]string{"nested", "open", "shared", "bounded"}, false},
	{"mpdtinfo", []string{goldenTriples}, goldenPush, true},
	{"pdtcompose", []string{goldenPairs, goldenPairs + " --compose_filter=expand",
		goldenPairs + " --compose_filter=expand_paren --connect=false"},
		[]string{"nested plain", "shared sorted", "bounded sorted"}, false},
	{"pdtexpand", []string{goldenPairs, goldenPairs + " --keep_parentheses", goldenPairs + " --connect=false"},
		goldenPush, false},
	{"pdtexpand", []string{goldenPairs + " --weight=0", goldenPairs + " --weight=0.5",
		goldenPairs + " --weight=2 --keep_parentheses", goldenPairs + " --weight=4"}, goldenPush, false},
	{"pdtinfo", []string{goldenPairs}, goldenPush, true},
	{"pdtreverse", []string{goldenPairs}, goldenPush, false},
	{"pdtshortestpath", []string{goldenPairs, goldenPairs + " --keep_parentheses",
		goldenPairs + " --queue_type=lifo", goldenPairs + " --queue_type=state"}, goldenPush, false},
	{"print", []string{"", "--acceptor", "--show_weight_one"}, goldenAll, true},
	{"project", []string{"", "--project_type=output"}, goldenAll, false},
	{"prune", []string{"--weight=1", "--weight=0", "--nstate=2"}, goldenAll, false},
	{"push", []string{"--push_weights", "--push_weights --to_final", "--push_labels",
		"--push_labels --push_weights --remove_common_affix", "--push_weights --remove_total_weight"},
		[]string{"chain", "transducer", "nondet", "dfa", "functional"}, false},
	{"reverse", []string{"", "--require_superinitial=false"}, goldenAll, false},
	{"rmepsilon", []string{"", "--connect=false", "--queue_type=fifo"},
		[]string{"chain", "transducer", "cyclic", "nondet", "dead", "empty", "wide"}, false},
	{"shortestdistance", []string{"", "--reverse"}, []string{"chain", "transducer", "cyclic", "nondet", "dead",
		"empty", "wide"}, true},
	{"shortestpath", []string{"", "--nshortest=3", "--nshortest=3 --unique"},
		[]string{"chain", "nondet", "cyclic", "ambiguous", "dfa", "empty"}, false},
	{"synchronize", []string{""}, []string{"chain", "transducer", "functional", "empty"}, false},
	{"topsort", []string{""}, goldenAll, false},
	{"union", []string{""}, []string{"transducer chain", "cyclic nondet", "empty dfa", "dfa empty",
		"chain logs"}, false},
}

// Results of OpenFst for fixed machines. TROPICA_UPDATE=1 takes them anew from OpenFst's tools.
func TestGoldenOfOpenFst(t *testing.T) {
	dir := t.TempDir()
	machines := must1(txtar.ParseFile(filepath.Join(goldenDir, "machines.txtar")))
	for _, f := range machines.Files {
		flags := []string{"fstcompile"}
		name, arcType, typed := strings.Cut(f.Name, ".")
		if name == "parens" {
			must(os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o666))
			continue
		}
		if typed {
			flags = append(flags, "--arc_type="+arcType)
		}
		text := filepath.Join(dir, name+".txt")
		must(os.WriteFile(text, f.Data, 0o666))
		if status := run(append(flags, text, filepath.Join(dir, name)),
			cli.Streams{Out: os.Stdout, Err: os.Stderr}); status != 0 {
			t.Fatalf("machine %s: exit status %d", name, status)
		}
	}
	if os.Getenv("TROPICA_UPDATE") != "" {
		updateGolden(t, dir)
	}
	cases := 0
	for _, path := range must1(filepath.Glob(filepath.Join(goldenDir, "*.txtar"))) {
		tool := strings.TrimSuffix(filepath.Base(path), ".txtar")
		if tool == "machines" {
			continue
		}
		for _, f := range must1(txtar.ParseFile(path)).Files {
			cases++
			words := strings.Fields(f.Name)
			var out, errs bytes.Buffer
			status := run(slices.Concat([]string{goldenName(tool)}, goldenWords(dir, words)),
				cli.Streams{In: bytes.NewReader(nil), Out: &out, Err: &errs})
			got := out.String()
			if status == 0 && !goldenPrints(tool) {
				got = printed(out.Bytes())
			} else if status != 0 {
				got = ""
			}
			got = goldenResult(status, got)
			same := got == string(f.Data)
			if !same && goldenByDefinition(tool, words) {
				same = sameButNumbers(dir, got, string(f.Data))
			}
			if !same {
				t.Errorf("%s %s: %s\nOpenFst's:\n%s\nmessages: %s", goldenName(tool), f.Name, got, f.Data, errs.String())
			}
		}
	}
	if cases < 300 {
		t.Errorf("only %d cases", cases)
	}
}

// goldenName is the name of a tool.
func goldenName(tool string) string {
	if strings.HasPrefix(tool, "pdt") || strings.HasPrefix(tool, "mpdt") {
		return tool
	}
	return "fst" + tool
}

// goldenByDefinition tells for which cases OpenFst's own result is not the reference.
func goldenByDefinition(tool string, words []string) bool {
	return tool == "pdtshortestpath" ||
		tool == "pdtexpand" && slices.ContainsFunc(
			words, func(w string) bool { return strings.HasPrefix(w, "--weight=") })
}

// sameButNumbers compares two results of exit status 0 but for the numbers of states, which are
// those of the search.
func sameButNumbers(dir, a, b string) bool {
	var files []string
	for i, result := range []string{a, b} {
		text, ok := strings.CutPrefix(result, "0\n")
		if !ok {
			return false
		}
		in, out := filepath.Join(dir, fmt.Sprint("text", i)), filepath.Join(dir, fmt.Sprint("machine", i))
		must(os.WriteFile(in, []byte(text), 0o666))
		if run([]string{"fstcompile", in, out}, cli.Streams{Out: os.Stdout, Err: os.Stderr}) != 0 {
			return false
		}
		files = append(files, out)
	}
	return run(append([]string{"fstisomorphic", "--delta=0"}, files...),
		cli.Streams{Out: os.Stdout, Err: os.Stderr}) == 0
}

// goldenWords puts the paths of machines for their names.
func goldenWords(dir string, words []string) []string {
	words = slices.Clone(words)
	for i, w := range words {
		if flag, name, ok := strings.Cut(w, "=parens."); ok {
			words[i] = flag + "=" + filepath.Join(dir, "parens."+name)
		} else if w[0] != '-' {
			words[i] = filepath.Join(dir, w)
		}
	}
	return words
}

func goldenPrints(tool string) bool {
	return slices.ContainsFunc(goldenTools, func(g goldenTool) bool { return g.tool == tool && g.text })
}

// goldenResult is what a case holds: the exit status, and what was printed.
func goldenResult(status int, text string) string {
	return string(txtar.Format(&txtar.Archive{Comment: []byte(fmt.Sprintf("%d\n%s", status, text))}))
}

// goldenNotes go on with the comment of a file.
var goldenNotes = map[string]string{
	"pdtexpand": "With --weight: what its fstprune leaves of its expansion; the numbers of states may " +
		"be others.\n",
	"pdtshortestpath": "Here: what its fstshortestpath finds in its expansion; the numbers of states may be " +
		"others.\n",
}

// defined makes with OpenFst's other tools what a tool should, which may be wrong itself.
func defined(o *fsttest.Tools, tool string, words []string, dir, file string) fsttest.Result {
	expand, after := []string{}, []string{"fstshortestpath"}
	for _, w := range words {
		switch {
		case strings.HasPrefix(w, "--weight="):
			after = []string{"fstprune", w}
		case !strings.HasPrefix(w, "--queue_type="):
			expand = append(expand, w)
		}
	}
	whole := o.File()
	o.Do("pdtexpand", append(goldenWords(dir, expand), whole)...)
	return o.Run(after[0], append(after[1:], whole, file)...)
}

// updateGolden writes the files of cases with what OpenFst's tools do.
func updateGolden(t *testing.T, dir string) {
	o := fsttest.OpenFst(t)
	archives := map[string]*txtar.Archive{}
	for _, g := range goldenTools {
		a := archives[g.tool]
		if a == nil {
			a = &txtar.Archive{Comment: []byte("What " + goldenName(g.tool) +
				" of OpenFst 1.7.9 does: its exit status, and what its result prints.\n" + goldenNotes[g.tool])}
			archives[g.tool] = a
		}
		for _, in := range g.in {
			for _, flags := range g.flags {
				words := append(strings.Fields(flags), strings.Fields(in)...)
				args := goldenWords(dir, words)
				file := o.File()
				if !g.text {
					args = append(args, file)
				}
				var r fsttest.Result
				if goldenByDefinition(g.tool, words) {
					r = defined(o, g.tool, words, dir, file)
				} else {
					r = o.Run(goldenName(g.tool), args...)
				}
				switch {
				case r.Exit < 0 || r.Exit > 2:
					continue // crashed
				case r.Exit != 0:
					r.Stdout = ""
				case !g.text:
					r.Stdout = o.Do("fstprint", file)
				}
				a.Files = append(a.Files, txtar.File{Name: strings.Join(words, " "),
					Data: []byte(goldenResult(r.Exit, r.Stdout))})
			}
		}
	}
	for tool, a := range archives {
		must(os.WriteFile(filepath.Join(goldenDir, tool+".txtar"), txtar.Format(a), 0o666))
	}
}
