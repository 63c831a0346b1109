package main

import (
	"bytes"
	coding "encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/clock"
)

// hostileTool is a call of a tool: words in/NAME are inputs that hostile ones take the place of,
// out/NAME what it makes.
type hostileTool struct {
	words string
	exit  int // of the call with good inputs
}

// usualCalls calls the tools that are not in a list with machines of the usual kinds: a new tool
// that makes one machine of one, or of two, is tried without a line in the tests.
func usualCalls(listed map[string]bool, one, two string) (calls []string) {
	for _, t := range tools {
		switch {
		case listed[t.name]:
		case t.args == "[in.fst [out.fst]]":
			calls = append(calls, t.name+" "+one+" out/r")
		case t.args == "in1.fst in2.fst [out.fst]":
			calls = append(calls, t.name+" "+two+" out/r")
		}
	}
	return calls
}

// allHostileTools is hostileTools and the usual calls of the other tools.
func allHostileTools() []hostileTool {
	listed := map[string]bool{}
	for _, h := range hostileTools {
		listed[strings.Fields(h.words)[0]] = true
	}
	all := slices.Clone(hostileTools)
	for _, words := range usualCalls(listed, "in/a.fst", "in/a.fst in/b.fst") {
		all = append(all, hostileTool{words, 0})
	}
	return all
}

// hostileTools are calls of tools that read something, each of their inputs once at least, but for
// the usual calls.
var hostileTools = []hostileTool{
	{"bench in in/workloads.tsv one 1", 1},
	{"bench --compare in/results.jsonl in/results.jsonl", 0},
	{"check --max_length=2 --max_pairs=3 --limit_states=1000 in/a.fst", 0},
	{"compile --isymbols=in/syms.txt --osymbols=in/syms.txt in/named.txt out/r", 0},
	{"compile --acceptor in/a.txt out/r", 0},
	{"compose in/a.fst in/b.fst out/r", 0},
	{"compose --lookahead=auto in/a.fst in/b.fst out/r", 0},
	{"compose in/a.fst in/const.fst out/r", 0},
	{"compose in/a.fst in/tagger.fst out/r", 0},
	{"compress in/a.fst out/r", 0},
	{"compress --decode in/a.fstz out/r", 0},
	{"convert --fst_type=const in/compact.fst out/r", 0},
	{"convert --fst_type=edit in/ahead.fst out/r", 0},
	{"special --fst_type=phi --phi_fst_phi_label=9 in/b.fst out/r", 0},
	{"determinize --limit_states=1000 in/a.fst out/r", 0},
	{"difference in/a.fst in/plain.fst out/r", 0},
	{"disambiguate --limit_states=1000 in/a.fst out/r", 0},
	{"draw in/a.fst out/r", 0},
	{"draw --format=svg in/a.fst out/r", 0},
	{"encode --encode_labels in/a.fst out/m out/r", 0},
	{"encode --decode in/coded.fst in/mapper out/r", 0},
	{"epsnormalize --limit_states=1000 in/a.fst out/r", 0},
	{"equal in/a.fst in/b.fst", 2},
	{"equivalent in/a.fst in/a.fst", 0},
	{"explain --limit_states=1000 in/a.fst", 0},
	{"farcompilestrings --symbols=in/syms.txt in/strings.txt out/r", 0},
	{"farconvert in/a.far out/r", 0},
	{"farcreate in/a.fst in/b.fst out/r", 0},
	{"farencode --encode_labels in/a.far out/m out/r", 0},
	{"farencode --decode in/coded.far in/farmapper out/r", 0},
	{"farequal in/a.far in/a.far", 0},
	{"farextract --filename_prefix=out/ in/one.far", 0},
	{"farinfo in/a.far", 0},
	{"farisomorphic in/a.far in/a.far", 0},
	{"farprintstrings --symbols=in/syms.txt in/strings.far", 0},
	{"info in/a.fst", 0},
	{"isomorphic in/a.fst in/b.fst", 2},
	{"linear --vocab=in/vocab.txt --out=out/r in/features.txt", 0},
	{"loglinearapply in/a.fst in/tagger.fst out/r", 0},
	{"loss in/cases.jsonl out/r", 0},
	{"minimize in/plain.fst out/r", 0},
	{"mpdtcompose --mpdt_parentheses=in/triples.txt --limit_states=1000 in/pdt.fst in/a.fst out/r", 0},
	{"mpdtexpand --mpdt_parentheses=in/triples.txt --limit_states=1000 in/pdt.fst out/r", 0},
	{"mpdtinfo --mpdt_parentheses=in/triples.txt in/pdt.fst", 0},
	{"mpdtreverse --mpdt_parentheses=in/triples.txt --mpdt_new_parentheses=out/t in/pdt.fst out/r", 0},
	{"pdtcompose --pdt_parentheses=in/pairs.txt --limit_states=1000 in/pdt.fst in/a.fst out/r", 0},
	{"pdtexpand --pdt_parentheses=in/pairs.txt --limit_states=1000 in/pdt.fst out/r", 0},
	{"pdtinfo --pdt_parentheses=in/pairs.txt in/pdt.fst", 0},
	{"pdtreplace in/a.fst 10 in/b.fst 11 out/r", 0},
	{"pdtreverse --pdt_parentheses=in/pairs.txt in/pdt.fst out/r", 0},
	{"pdtshortestpath --pdt_parentheses=in/pairs.txt in/pdt.fst out/r", 0},
	{"print --isymbols=in/syms.txt in/a.fst out/r", 0},
	{"prune --weight=1 in/a.fst out/r", 0},
	{"push --push_weights in/a.fst out/r", 0},
	{"randgen --seed=1 --max_length=9 in/a.fst out/r", 0},
	{"relabel --relabel_ipairs=in/pairs.txt in/a.fst out/r", 0},
	{"relabel --relabel_isymbols=in/syms.txt --isymbols=in/syms.txt in/a.fst out/r", 0},
	{"replace --limit_states=1000 in/a.fst 10 in/b.fst 11 out/r", 0},
	{"reweight in/a.fst in/potentials.txt out/r", 0},
	{"run --file=in/program.run in/a.fst out/r", 0},
	{"shortestdistance in/a.fst out/r", 0},
	{"shortestpath --nshortest=2 in/a.fst out/r", 0},
	{"symbols --isymbols=in/syms.txt in/a.fst out/r", 0},
	{"synchronize --limit_states=1000 in/a.fst out/r", 0},
}

// noInput are the tools that read nothing.
var noInput = []string{"completion", "links", "man", "serve"} // package calls tests the requests of serve

// hostileInputs writes the good inputs into in/.
func hostileInputs(t *testing.T) {
	t.Helper()
	must(os.MkdirAll("in", 0o777))
	for name, text := range map[string]string{
		"a.txt":          "0 1 1 .5\n0 2 2\n1 2 2 1\n2 0.25\n",
		"b.txt":          "0 0 1\n0 1 2\n1\n",
		"plain.txt":      "0 1 1\n1 1 2\n1\n",
		"named.txt":      "0 1 a b 0.5\n1\n",
		"pdt.txt":        "0 1 10\n1 2 1 .5\n2 3 11\n3\n",
		"syms.txt":       "<eps> 0\na 1\nb 2\nc 3\n",
		"pairs.txt":      "10 11\n",
		"triples.txt":    "10 11 1\n12 13 2\n",
		"potentials.txt": "0 0\n1 0.5\n2 1\n",
		"strings.txt":    "a b\nc\n",
		"vocab.txt":      "w f <empty>\n",
		"features.txt":   "1\nf|f X 1\n",
		"program.run":    "$1 | invert | connect > $2\n",
		"workloads.tsv":  "one\tarcsort\ta.fst\n",
		"cases.jsonl":    `{"alphabet":2,"l":1,"q":1,"yi":[0],"theta":[[0,0]],"loss":{"kind":"edit"}}` + "\n",
		"results.jsonl": `{"id":"one","cpu_min":1,"value":0,"states":1,"arcs":1,"finals":1,"rss_peak_kb":1}` +
			"\n",
	} {
		must(os.WriteFile("in/"+name, []byte(text), 0o666))
	}
	for _, words := range []string{
		"compile --acceptor in/a.txt in/a.fst", "compile --acceptor in/b.txt in/b.fst",
		"compile --acceptor in/plain.txt in/plain.fst", "compile --acceptor in/pdt.txt in/pdt.fst",
		"convert --fst_type=const in/b.fst in/const.fst", "convert --fst_type=compact_acceptor in/a.fst " +
			"in/compact.fst", "convert --fst_type=olabel_lookahead in/a.fst in/ahead.fst",
		"symbols --isymbols=in/syms.txt in/a.fst in/a.fst",
		"compress in/a.fst in/a.fstz", "encode --encode_labels in/a.fst in/mapper in/coded.fst",
		"linear --vocab=in/vocab.txt --out=in/tagger.fst in/features.txt",
		"farcreate in/a.fst in/b.fst in/a.far", "farcreate in/a.fst in/one.far",
		"farencode --encode_labels in/a.far in/farmapper in/coded.far",
		"farcompilestrings --symbols=in/syms.txt in/strings.txt in/strings.far",
	} {
		var errs bytes.Buffer
		if status := run(append([]string{"fst"}, strings.Fields(words)...),
			cli.Streams{In: bytes.NewReader(nil), Out: &errs, Err: &errs}); status != 0 {
			t.Fatalf("%s: %d %s", words, status, errs.String())
		}
	}
	must(os.MkdirAll("in/dir", 0o777))
}

// isText reports text inputs, where a part may be valid.
func isText(name string) bool {
	return strings.HasSuffix(name, ".txt") || strings.HasSuffix(name, ".run") ||
		strings.HasSuffix(name, ".tsv") || strings.HasSuffix(name, ".jsonl")
}

// hostileVariants yields what takes the place of a good file; bad says that it cannot be read as
// one.
func hostileVariants(name string, good []byte, yield func(what string, data []byte, bad bool) bool) {
	for cut := range len(good) {
		if !yield(fmt.Sprintf("cut at byte %d", cut), good[:cut], !isText(name)) {
			return
		}
	}
	set := func(at int, with ...byte) []byte {
		b := slices.Clone(good)
		copy(b[at:], with)
		return b
	}
	if isText(name) {
		for at := range good {
			for _, c := range []byte{0, '\n', '-', '9', 0xff} {
				if !yield(fmt.Sprintf("byte %d is %q", at, c), set(at, c), false) {
					return
				}
			}
		}
		lines := bytes.SplitAfter(good, []byte("\n"))
		for i, l := range lines {
			for what, line := range map[string][]byte{
				"twice":                   slices.Concat(l, l),
				"of labels at the limits": bytes.ReplaceAll(l, []byte("1"), []byte("2147483647")),
				"beyond the limits":       bytes.ReplaceAll(l, []byte("1"), []byte("99999999999999999999")),
				"with NaN":                bytes.ReplaceAll(l, []byte(".5"), []byte("NaN")),
				"with long fields":        bytes.Repeat(bytes.TrimRight(l, "\n"), 3000),
			} {
				if !yield(fmt.Sprintf("line %d %s", i+1, what),
					bytes.Join(slices.Replace(slices.Clone(lines), i, i+1, line), nil), false) {
					return
				}
			}
		}
		return
	}
	if !yield("wrong magic", set(0, 'n', 'o'), true) || !yield("text", []byte("0 1 1 1\n1\n"), true) {
		return
	}
	for at := range good {
		if !yield(fmt.Sprintf("byte %d is 255", at), set(at, 0xff), false) ||
			!yield(fmt.Sprintf("byte %d is 127", at), set(at, 0x7f), false) {
			return
		}
		if at+8 <= len(good) {
			for _, n := range []uint64{1 << 62, 1<<31 - 1, 1<<64 - 2} {
				if !yield(fmt.Sprintf("count %d at byte %d", int64(n), at),
					set(at, coding.LittleEndian.AppendUint64(nil, n)...), false) {
					return
				}
			}
		}
	}
	for at := 0; at+4 <= len(good); at += 2 { // NaN, for 32 bits
		if !yield(fmt.Sprintf("NaN at byte %d", at), set(at, 0, 0, 0xc0, 0x7f), false) {
			return
		}
	}
}

// hostileCall runs a tool on words; a panic is a failure, and so is much processor time.
func hostileCall(t *testing.T, words []string, what string, std cli.Streams) (status int, errs string) {
	t.Helper()
	var e bytes.Buffer
	std.Err = &e
	defer func() {
		if p := recover(); p != nil {
			t.Fatalf("%q, %s: panic: %v", words, what, p)
		}
	}()
	begin := clock.Processor()
	status = run(append([]string{"fst"}, words...), std)
	if d := clock.Processor() - begin; d > 20*time.Second { // of processor: others may work here, too
		t.Errorf("%q, %s: took %v", words, what, d)
	}
	return status, e.String()
}

// left lists the files that a call left behind under out.
func left() (names []string) {
	must(filepath.WalkDir("out", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	}))
	return names
}

func emptyOut() {
	must(os.RemoveAll("out"))
	must(os.MkdirAll("out", 0o777))
}

// Every tool on inputs that are missing, directories, empty, cut at each byte, with wrong magic,
// absurd counts, NaN, labels at and beyond the limits, lines twice: no panic, bounded time and
// memory, and where it fails status 1, a message with the name of the file, and nothing
// half-written.
func TestHostileInputs(t *testing.T) {
	t.Chdir(t.TempDir())
	hostileInputs(t)
	covered := map[string]bool{}
	done := map[string]bool{} // inputs that a tool has read completely
	calls := 0
	for _, h := range allHostileTools() {
		words := strings.Fields(h.words)
		covered[words[0]] = true
		emptyOut()
		var out bytes.Buffer
		if status, errs := hostileCall(t, words, "good inputs",
			cli.Streams{In: bytes.NewReader(nil), Out: &out}); status != h.exit {
			t.Errorf("%s: status %d: %s", h.words, status, errs)
			continue
		}
		for i, w := range words {
			flag, name, isFlag := strings.Cut(w, "=")
			if !isFlag {
				flag, name = "", w
			}
			if !strings.HasPrefix(name, "in/") || slices.Contains(words[:i], w) {
				continue
			}
			base := filepath.Base(name)
			hostile := "hostile-" + base
			with := slices.Clone(words)
			for k, x := range with { // everywhere that it stands
				if x == w {
					with[k] = hostile
					if isFlag {
						with[k] = flag + "=" + hostile
					}
				}
			}
			try := func(what string, bad bool) {
				calls++
				for _, name := range left() {
					must(os.Remove(name))
				}
				status, errs := hostileCall(t, append(slices.Clone(with), "--timeout=10s"), what,
					cli.Streams{In: bytes.NewReader(nil), Out: &out})
				out.Reset()
				switch {
				case status == 0 && !bad || status == 2 && !bad && h.exit != 0 || status == 2 && !bad &&
					strings.Contains("equal equivalent isomorphic farequal farisomorphic check", words[0]):
					return
				case status != 1:
					t.Fatalf("%q, %s: status %d: %s", with, what, status, errs)
				case bad && !strings.Contains(errs, hostile) && words[0] != "bench" && words[0] != "loss":
					t.Fatalf("%q, %s: no word of the file: %s", with, what, errs)
				case errs == "" && words[0] != "loss":
					t.Fatalf("%q, %s: no message", with, what)
				}
				// A case of fst loss has its own error in the results; the pairs of a result
				// may be there before the result is found to be impossible.
				if names := left(); len(names) > 0 && words[0] != "loss" && words[0] != "farextract" &&
					words[0] != "mpdtreverse" && words[0] != "encode" && words[0] != "farencode" {
					t.Fatalf("%q, %s: left %q: %s", with, what, names, errs)
				}
			}
			os.Remove(hostile)
			try("missing", true)
			must(os.Mkdir(hostile, 0o777))
			try("a directory", true)
			must(os.Remove(hostile))
			good := must1(os.ReadFile(name))
			// All of it goes to the first tool that reads the file; to the others, which have the
			// same readers, a part.
			whole := !done[base]
			done[base] = true
			n := 0
			hostileVariants(base, good, func(what string, data []byte, bad bool) bool {
				if n++; !whole && n%29 != 0 && what != "wrong magic" && what != "cut at byte 0" || n%4 != 0 &&
					len(good) > 400 && !strings.HasPrefix(what, "cut") {
					return true
				}
				must(os.WriteFile(hostile, data, 0o666))
				try(what, bad)
				return !t.Failed()
			})
			os.Remove(hostile)
		}
	}
	for _, x := range tools {
		if !covered[x.name] && !slices.Contains(noInput, x.name) {
			t.Errorf("%s: no hostile input is tried", x.name)
		}
	}
	t.Logf("%d calls", calls)
}

// brokenPipe is a stream whose reader has closed it.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// What cannot be written is an error of status 1 that names it: a full disk.
// A pipe whose reader has closed it ends the tool in silence.
func TestHostileOutputs(t *testing.T) {
	t.Chdir(t.TempDir())
	hostileInputs(t)
	prints := []hostileTool{{"completion bash", 0}, {"man", 0}}
	for _, h := range slices.Concat(allHostileTools(), prints) {
		words := strings.Fields(h.words)
		emptyOut()
		var out bytes.Buffer
		status, _ := hostileCall(t, words, "good inputs", cli.Streams{In: bytes.NewReader(nil), Out: &out})
		if status == 1 {
			continue // has no good call here
		}
		if out.Len() > 0 {
			if status, errs := hostileCall(t, words, "a closed pipe",
				cli.Streams{In: bytes.NewReader(nil), Out: brokenPipe{}}); status != cli.StatusPipe || errs != "" &&
				words[0] != "bench" {
				t.Errorf("%s: a closed pipe: status %d: %s", h.words, status, errs)
			}
		}
		for i, w := range words {
			flag, name, isFlag := strings.Cut(w, "=")
			if !isFlag {
				flag, name = "", w
			}
			if !strings.HasPrefix(name, "out/") || words[0] == "farextract" {
				continue
			}
			for _, bad := range []string{"/dev/full", "out/none/such", "in/dir"} {
				if _, err := os.Stat("/dev/full"); err != nil && bad == "/dev/full" {
					continue
				}
				with := slices.Clone(words)
				if with[i] = bad; isFlag {
					with[i] = flag + "=" + bad
				}
				emptyOut()
				status, errs := hostileCall(t, with, "output", cli.Streams{In: bytes.NewReader(nil), Out: &out})
				if status != 1 || !strings.Contains(errs, bad) {
					t.Errorf("%q: status %d: %s", with, status, errs)
				}
			}
		}
	}
}

// Help of every tool has a definition, an example, what it costs, and the defaults of its flags;
// and the shells complete its name and flags.
func TestHelpOfEveryTool(t *testing.T) {
	completion := map[string]string{}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		_, completion[shell], _ = fstTool(t, "", "completion", shell)
	}
	for _, x := range tools {
		status, help, errs := fstTool(t, "", "help", x.name)
		if status != 0 || errs != "" {
			t.Errorf("help %s: status %d, %s", x.name, status, errs)
		}
		if !strings.HasSuffix(x.summary, ".") || !strings.Contains(help, x.summary) {
			t.Errorf("%s: no summary that is a sentence: %q", x.name, x.summary)
		}
		example := slices.ContainsFunc(strings.Split(x.about, "\n"), func(line string) bool {
			return strings.HasPrefix(line, "  fst "+x.name) || strings.HasPrefix(line, "  "+x.prog()+" ") ||
				strings.HasPrefix(line, "  "+x.name+" ")
		})
		if !example {
			t.Errorf("%s: no example", x.name)
		}
		if !strings.Contains(x.about, "Time") {
			t.Errorf("%s: no word of what it costs", x.name)
		}
		c := x.newCall(cli.Streams{})
		x.setup(c.flags)
		for _, f := range c.flags.Flags() {
			if f.Library {
				continue
			}
			if f.Usage == "" || !strings.Contains(help, fmt.Sprintf("  --%s: type = %s, default = %s\n  %s\n", f.Name,
				f.Type, f.Default, f.Usage)) {
				t.Errorf("%s: --%s: no type, default and use in the help", x.name, f.Name)
			}
			for shell, script := range completion {
				if !strings.Contains(script, f.Name) {
					t.Errorf("%s: %s does not complete --%s", x.name, shell, f.Name)
				}
			}
		}
		for shell, script := range completion {
			if !strings.Contains(script, x.name) {
				t.Errorf("%s does not complete %s", shell, x.name)
			}
		}
	}
}
