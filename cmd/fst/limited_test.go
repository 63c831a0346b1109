package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
)

// limitedTools are calls of tools that a limit means something for, on what timedInputs and
// limitedInputs write, but for the usual calls; a tool that does several things has several.
var limitedTools = []string{
	"arcsort --sort_type=olabel in/big.fst out/r", "bench in in/workloads.tsv one 1", "check in/sentence.fst",
	"compile in/big.txt out/r", "compose in/pairs.fst in/bigdfa.fst out/r",
	"compose in/sentence.fst in/tagger.fst out/r",
	"compress in/big.fst out/r", "compress --decode in/big.fstz out/r", "concat in/big.fst in/big.fst out/r",
	"convert --fst_type=const in/big.fst out/r", "convert --fst_type=olabel_lookahead " +
		"--save_relabel_opairs=out/p in/big.fst out/r",
	"determinize in/bigdfa.fst out/r", "difference in/bigacc.fst in/one.fst out/r",
	"disambiguate in/bigdfa.fst out/r",
	"draw in/big.fst out/r", "draw --format=d2 in/big.fst out/r", "draw --format=svg in/sentence.fst out/r",
	"encode --encode_labels --encode_weights in/big.fst out/m out/r",
	"encode --decode in/coded.fst in/mapper out/r",
	"epsnormalize in/bigdet.fst out/r", "equal in/big.fst in/big.fst",
	"equivalent in/bigdfa.fst in/bigdfa.fst", "equivalent --random --npath=10 in/big.fst in/big.fst",
	"explain in/bigdfa.fst",
	"farcompilestrings --symbols=in/syms.txt in/words.txt out/r", "farconvert in/a.far out/r",
	"farcreate in/big.fst in/bigacc.fst out/r",
	"farencode --encode_labels in/a.far out/m out/r", "farencode --decode in/coded.far in/farmapper out/r",
	"farequal in/a.far in/a.far",
	"farextract --filename_prefix=out/ in/a.far", "farextract --keys=bigacc.fst --filename_prefix=out/ in/a.far",
	"farinfo in/a.far",
	"farisomorphic in/a.far in/a.far", "farprintstrings in/strings.far",
	"farprintstrings --entry_type=file --filename_prefix=out/ in/strings.far",
	"info in/big.fst",
	"isomorphic in/bigdfa.fst in/bigdfa.fst", "linear --vocab=in/vocab.txt --out=out/r in/features.txt",
	"loglinearapply in/sentence.fst in/tagger.fst out/r",
	"loss in/cases.jsonl out/r", "loss --path=general in/few.jsonl out/r",
	"minimize in/bigdfa.fst out/r", "minimize in/bigdet.fst out/r out/s",
	"mpdtcompose --mpdt_parentheses=in/triples.txt in/bigdfa.fst in/bigdfa.fst out/r",
	"mpdtexpand --mpdt_parentheses=in/triples.txt in/bigdfa.fst out/r",
	"mpdtinfo --mpdt_parentheses=in/triples.txt in/big.fst", "mpdtreverse --mpdt_parentheses=in/triples.txt " +
		"--mpdt_new_parentheses=out/t in/big.fst out/r",
	"pdtcompose --pdt_parentheses=in/parens.txt in/bigdfa.fst in/bigdfa.fst out/r",
	"pdtexpand --pdt_parentheses=in/parens.txt in/bigdfa.fst out/r",
	"pdtinfo --pdt_parentheses=in/parens.txt in/big.fst", "pdtreplace --pdt_parentheses=out/p in/call.fst 91 " +
		"in/bigdfa.fst 90 out/r",
	"pdtreverse --pdt_parentheses=in/parens.txt in/big.fst out/r",
	"pdtshortestpath --pdt_parentheses=in/parens.txt in/sentence.fst out/r",
	"print in/big.fst out/r", "print --save_isymbols=out/s in/sentence.fst",
	"prune --weight=30 in/big.fst out/r",
	"push --push_weights in/big.fst out/r", "push --push_labels in/big.fst out/r",
	"randgen --npath=1000 --seed=1 in/big.fst out/r",
	"relabel --relabel_ipairs=in/relabel.txt in/big.fst out/r", "replace in/call.fst 91 in/bigacc.fst 90 out/r",
	"reweight in/big.fst in/potentials.txt out/r", "rmepsilon in/dense.fst out/r",
	"run --file=in/program.run in/bigdfa.fst", "run --file=in/look.run in/big.fst",
	"shortestdistance in/big.fst out/r", "shortestdistance --reverse in/biglog.fst",
	"shortestpath --nshortest=100 in/big.fst out/r",
	"special --fst_type=rho --rho_fst_rho_label=900 in/big.fst out/r",
	"symbols --save_isymbols=out/s in/sentence.fst out/r", "synchronize in/chain.fst out/r",
	"topsort in/chain.fst out/r", "union in/big.fst in/big.fst out/r",
}

// limitedInputs adds to what timedInputs writes.
func limitedInputs(t *testing.T, n int) {
	t.Helper()
	write := func(name string, lines int, line func(i int) string) {
		var b strings.Builder
		for i := range lines {
			b.WriteString(line(i))
		}
		must(os.WriteFile("in/"+name, []byte(b.String()), 0o666))
	}
	write("potentials.txt", n, func(q int) string { return fmt.Sprintf("%d\t1\n", q) })
	write("syms.txt", 50, func(i int) string { return fmt.Sprintf("s%d %d\n", i, i) })
	write("words.txt", 2, func(i int) string { return strings.Repeat(fmt.Sprintf("s%d s3 ", i+1), n) + "\n" })
	write("vocab.txt", 50, func(i int) string { return fmt.Sprintf("s%d f%d <empty>\n", i, i) })
	write("features.txt", 51, func(i int) string {
		if i == 0 {
			return "0\n"
		}
		return fmt.Sprintf("f%d|<empty> T%d 1\n", i-1, i%5)
	})
	write("sentence.txt", n+1, func(i int) string {
		if i == n {
			return fmt.Sprintf("%d\n", n)
		}
		return fmt.Sprintf("%d %d s%d\n", i, i+1, i%50)
	})
	losses := func(l int) string {
		return fmt.Sprintf(`{"alphabet":2,"l":%d,"q":1,"yi":[0,1,0,1,1],"theta":[%s[0,0]],"loss":{"kind":"edit"}}`+"\n", l, strings.Repeat("[0,0],", l-1))
	}
	for name, text := range map[string]string{
		"call.txt":      "0 1 1 90\n1\n",
		"triples.txt":   "45 46 1\n47 48 2\n",
		"relabel.txt":   "1 2\n",
		"look.run":      "print $1 > out/r\n",
		"workloads.tsv": "one\tarcsort\tbig.fst\t\t\t1\n",
		"one.txt":       "0 1 1 1\n1\n",
		"cases.jsonl":   losses(50),
		"few.jsonl":     losses(4),
	} {
		must(os.WriteFile("in/"+name, []byte(text), 0o666))
	}
	good(t, []string{
		"compile in/call.txt in/call.fst", "compile in/one.txt in/one.fst", "compress in/big.fst in/big.fstz",
		"encode --encode_labels in/big.fst in/mapper in/coded.fst",
		"farcreate in/big.fst in/bigacc.fst in/a.far", "farencode --encode_labels in/a.far in/farmapper " +
			"in/coded.far",
		"farcompilestrings --symbols=in/syms.txt --keep_symbols in/words.txt in/strings.far",
		"linear --vocab=in/vocab.txt --out=in/tagger.fst --save_isymbols=in/isyms.txt in/features.txt",
		"compile --acceptor --keep_isymbols --isymbols=in/isyms.txt in/sentence.txt in/sentence.fst",
	})
}

// limitFlags are the limits with the least that each allows, and with much.
var limitFlags = []struct{ name, least, much string }{
	{"limit_states", "1", "1000000000"}, {"limit_arcs", "1", "1000000000"}, {"limit_bytes", "1", "1000000000"},
	{"timeout", "1ns", "1h"},
}

// Every tool takes the limits that mean something for it, and no other; at the least of each it
// ends with status 1, says which limit it was and writes nothing, and where much is allowed it goes
// as without.
func TestLimitsHoldInEveryTool(t *testing.T) {
	t.Chdir(t.TempDir())
	const n = 3000
	timedInputs(t, n)
	limitedInputs(t, n)
	called := map[string]bool{}
	for _, line := range limitedTools {
		called[strings.Fields(line)[0]] = true
	}
	for _, line := range slices.Concat(limitedTools, usualCalls(called, "in/big.fst",
		"in/sentence.fst in/sentence.fst")) {
		words := strings.Fields(line)
		called[words[0]] = true
		much := []string{"fst"}
		much = append(much, words...)
		for _, f := range limitFlags {
			if slices.Contains(findTool(words[0]).without, f.name) {
				continue
			}
			much = append(much, "--"+f.name+"="+f.much)
			limitedCall(t, words, f.name, f.least)
		}
		emptyOut()
		var errs bytes.Buffer
		if status := run(much, cli.Streams{In: bytes.NewReader(nil), Out: &bytes.Buffer{},
			Err: &errs}); status != 0 {
			t.Errorf("%q: status %d: %s", much, status, errs.String())
		}
	}
	for _, line := range timedTools { // what takes long elsewhere
		limitedCall(t, strings.Fields(line), "timeout", "1ns")
	}
	for _, tool := range tools {
		without := tool.without
		if !called[tool.name] && len(without) < len(limitFlags) {
			t.Errorf("fst %s is not called here", tool.name)
		}
		var help bytes.Buffer
		run([]string{"fst", tool.name, "--help"}, cli.Streams{Out: &help, Err: &help})
		for _, f := range limitFlags {
			means := !slices.Contains(without, f.name)
			if offers := strings.Contains(help.String(), "  --"+f.name+": type"); offers != means {
				t.Errorf("help of fst %s: offers --%s: %v, want %v", tool.name, f.name, offers, means)
			}
			var errs bytes.Buffer
			if !means && (run([]string{"fst", tool.name, "--" + f.name + "=" + f.much},
				cli.Streams{Out: &errs, Err: &errs}) != 1 || !strings.Contains(errs.String(), "unknown flag")) {
				t.Errorf("fst %s --%s: %s", tool.name, f.name, errs.String())
			}
		}
	}
}

// bounds are those of the limits that a tool takes.
func bounds(prog string, limits ...string) []string {
	return slices.DeleteFunc(limits, func(l string) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(l, "--"), "=")
		return slices.Contains(findTool(prog).without, name)
	})
}

// withheld reports whether a tool that came to a limit printed nothing or, explain, its whole
// report with what is not known in it.
func withheld(tool, printed string) bool {
	if tool != "explain" || printed == "" {
		return printed == ""
	}
	for _, question := range []string{"unambiguous", "functional", "twins property", "determinizable",
		"bounded delay", "stochastic"} {
		if !strings.Contains("\n"+printed, "\n"+question+" ") {
			return false
		}
	}
	return strings.HasSuffix(printed, "\n") && strings.Contains(printed, "not known: ") &&
		strings.Contains(printed, " (--")
}

// limitedCall calls a tool with a limit that it cannot keep to.
func limitedCall(t *testing.T, words []string, limit, value string) {
	t.Helper()
	emptyOut()
	flag := "--" + limit + "=" + value
	var out, errs bytes.Buffer
	status := run(slices.Concat([]string{"fst", words[0], flag}, words[1:]),
		cli.Streams{In: bytes.NewReader(nil), Out: &out, Err: &errs})
	what := "more than " + value + " " + strings.TrimPrefix(limit, "limit_")
	if limit == "timeout" {
		what = flag
	}
	want, text, files := 1, errs.String(), 0
	switch {
	case words[0] == "check" && limit != "timeout":
		// Bounds what it tries: a law that comes to it is skipped, and the others are not.
		want, text = 0, out.String()
		if !strings.Contains(errs.String(), "not tried to the end") {
			t.Errorf("%q %s: no warning", words, flag)
		}
		out.Reset()
	case words[0] == "loss" && limit == "limit_arcs" && words[1] != "--path=general":
		return // columns of direct paths are no lists of arcs
	case words[0] == "loss":
		// Each case has an answer, and those that come to the limit that for one.
		files, text = 1, string(must1(os.ReadFile("out/r")))
		if what = "budget"; limit == "timeout" {
			what = "deadline"
		}
	}
	if status != want || !strings.Contains(text, what) {
		t.Errorf("%q %s: status %d, want %d: %q, want %q", words, flag, status, want, text, what)
	}
	if names := left(); len(names) != files || !withheld(words[0], out.String()) {
		t.Errorf("%q %s: left %q, printed %d bytes", words, flag, names, out.Len())
	}
}

// What is complete after its time is not written: no file, nothing on standard output, no status 0.
// Two files that belong together are both there or neither.
func TestOutputAfterTimeout(t *testing.T) {
	t.Chdir(t.TempDir())
	var out bytes.Buffer
	begin := func() *call {
		c := findTool("print").newCall(cli.Streams{In: bytes.NewReader(nil), Out: &out, Err: &out})
		*c.lib.timeout = time.Hour
		return c
	}
	over := func(c *call) { c.lib.started = time.Now().Add(-2 * time.Hour) }
	text := func(w io.Writer) error { _, err := io.WriteString(w, "text"); return err }
	for _, name := range []string{"late", "-", ""} {
		c := begin()
		if err := c.finish(c.Output(name, func(w io.Writer) error { defer over(c); return text(w) })); !errors.Is(
			err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "--timeout=1h") {
			t.Errorf("%q, complete after its time: %v", name, err)
		}
		c = begin()
		if err := c.Output(name, func(w io.Writer) error { over(c); text(w); return nil }); !errors.Is(
			err, context.DeadlineExceeded) {
			t.Errorf("%q, written after its time: %v", name, err)
		}
	}
	c := begin()
	if err := c.Output("outer", func(w io.Writer) error { over(c); return c.Output("inner", text) }); !errors.Is(
		err, context.DeadlineExceeded) {
		t.Errorf("the inner of two files after its time: %v", err)
	}
	if names := must1(os.ReadDir(".")); len(names) > 0 || out.Len() > 0 {
		t.Errorf("left %v, printed %q", names, out.String())
	}
	c = begin()
	err := c.Output("outer", func(w io.Writer) error {
		defer over(c)
		text(w)
		return c.Output("inner", text)
	})
	if names := must1(os.ReadDir(".")); err != nil || len(names) != 2 {
		t.Errorf("the outer of two files after its time: %v, left %v", err, names)
	}
	for name, ended := range map[string]error{"same": nil, "different": errDifferent} {
		c := begin()
		if over(c); !errors.Is(c.finish(ended), context.DeadlineExceeded) {
			t.Errorf("%s: compared after the time, without an error", name)
		}
		if c.delivered = 1; c.finish(ended) != ended {
			t.Errorf("%s: an error after all was written", name)
		}
	}
}

// A file that exceeds a limit by its header is rejected there. The machine after the header, which
// is missing here, is not read.
func TestLimitsHoldAtHeaders(t *testing.T) {
	t.Chdir(t.TempDir())
	var text strings.Builder
	for q := range 1000 {
		fmt.Fprintf(&text, "%d\t%d\t1\t1\n", q, q+1)
	}
	text.WriteString("1000\n")
	must(os.WriteFile("in.txt", []byte(text.String()), 0o666))
	var ngram strings.Builder // a context for each word, and that of none
	for q := 1; q <= 1000; q++ {
		fmt.Fprintf(&ngram, "%d\t0\t0\t0\t1\n0\t%d\t%d\t%d\t1\n", q, q, q, q)
	}
	ngram.WriteString("0\t1\n")
	must(os.WriteFile("ngram.txt", []byte(ngram.String()), 0o666))
	call := func(words ...string) (int, string) {
		var out, errs bytes.Buffer
		status := run(append([]string{"fst"}, words...),
			cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		return status, errs.String()
	}
	for _, kind := range []string{"vector", "const", "const64", "compact_acceptor", "compact_unweighted",
		"compact_string", "edit", "ngram"} {
		in := "in.txt"
		if kind == "ngram" {
			in = "ngram.txt"
		}
		if status, text := call("compile", "--fst_type="+kind, in, "whole.fst"); status != 0 {
			t.Fatal(kind, text)
		}
		whole, err := os.ReadFile("whole.fst")
		must(err)
		must(os.WriteFile("cut.fst", whole[:100], 0o666))
		for limit, refused := range map[string]bool{"limit_states=999": true, "limit_states=1001": false,
			"limit_bytes=5000": true, "limit_arcs=999": strings.HasPrefix(kind, "co"), "limit_arcs=1000": false} {
			if kind == "ngram" && strings.HasPrefix(limit, "limit_arcs") {
				continue // has others
			}
			for _, tool := range []string{"info", "print", "draw"} {
				status, text := call(tool, "--"+limit, "cut.fst")
				name, _, _ := strings.Cut(limit, "=")
				if status != 1 || strings.Contains(text, "--"+name) != refused {
					t.Errorf("%s, fst %s --%s: status %d, %q", kind, tool, limit, status, text)
				}
				if status, text := call(tool, "--"+limit, "whole.fst"); (status == 0) != (limit == "limit_states=1001" ||
					limit == "limit_arcs=1000") {
					t.Errorf("%s, fst %s --%s of the whole: status %d, %q", kind, tool, limit, status, text)
				}
			}
		}
	}

	// The first machine of an archive is small; of the second there is its header.
	must(os.WriteFile("small.txt", []byte("0\n"), 0o666))
	for _, kind := range []string{"vector", "const", "compact_acceptor", "edit"} {
		for in, out := range map[string]string{"small.txt": "a", "in.txt": "b"} {
			if status, text := call("compile", "--fst_type="+kind, in, out); status != 0 {
				t.Fatal(text)
			}
		}
		for _, format := range []string{"stlist", "sttable"} {
			if status, text := call("farcreate", "--far_type="+format, "a", "b", "whole.far"); status != 0 {
				t.Fatal(text)
			}
			whole, err := os.ReadFile("whole.far")
			must(err)
			large, err := os.ReadFile("b")
			must(err)
			at := bytes.LastIndex(whole, large[:60])
			if at < 0 {
				t.Fatalf("%s, %s: no such header in the archive", kind, format)
			}
			for i := at + 100; i < at+len(large); i++ { // no state can be read
				whole[i] = 0xff
			}
			must(os.WriteFile("broken.far", whole, 0o666))
			for _, words := range [][]string{{"farinfo"}, {"farprintstrings"}, {"farextract"},
				{"farequal", "broken.far"}, {"farconvert", "--fst_type=vector"}} {
				words = append(words, "--limit_states=1000", "broken.far")
				if words[0] == "farconvert" {
					words = append(words, "out.far")
				}
				if status, text := call(words...); status != 1 ||
					!strings.Contains(text, "--limit_states allows: 1001") || !strings.Contains(text, `key "b"`) {
					t.Errorf("%s, %s, fst %q: status %d, %q", kind, format, words, status, text)
				}
			}
		}
	}
}
