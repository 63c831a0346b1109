package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/fst/fsttest"
)

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
					text.WriteString(pick("a", "b", "c", "a b", " ", "\t", "1", "17", "0",
						pick("zzz", "a", "é", "minus", "-3")))
					text.WriteString(pick(" ", " ", "\t", ""))
				}
				text.WriteString("\n")
			}
			name := fmt.Sprintf("in%d.txt", k)
			must(os.WriteFile(name, []byte(text.String()), 0o666))
			inputs = append(inputs, name)
		}
		flags := []string{"--token_type=" + pick("symbol", "symbol", "byte", "utf8", pick("utf8", "words")),
			"--entry_type=" + pick("line", "line", "file"),
			"--far_type=" + pick("default", "stlist", "sttable", "fst"),
			"--arc_type=" + pick("standard", "log", "log64")}
		if rng.IntN(3) > 0 {
			flags = append(flags, "--symbols=syms.txt")
		}
		for _, f := range []string{"--keep_symbols", "--initial_symbols=false", "--unknown_symbol=<unk>",
			"--generate_keys=4", "--key_prefix=p-", "--key_suffix=.s", "--fst_type=compact", "--allow_negative_labels",
			"--unknown_symbol=nix"} {
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
			t.Fatalf("case %d: %q %q: exit status %d (%s), OpenFst's %d (%s)", i, flags, inputs, got, errs,
				want.Exit, want.Stderr)
		}
		if got != 0 {
			continue
		}
		a, b := must1(os.ReadFile("a.far")), must1(os.ReadFile("b.far"))
		if !bytes.Equal(a, b) {
			t.Fatalf("case %d: %q: wrote\n%x\nOpenFst\n%x", i, flags, a, b)
		}
		print := []string{flags[0], flags[1]}
		for _, f := range []string{"--symbols=syms.txt", "--print_key", "--print_weight", "--initial_symbols=false",
			"--begin_key=0", "--end_key=p-in1", "--generate_filenames=3"} {
			if rng.IntN(3) == 0 {
				print = append(print, f)
			}
		}
		must(os.RemoveAll("x"))
		must(os.MkdirAll("x", 0o777))
		theirs := o.Run("farprintstrings", append(slices.Concat(print, []string{"--filename_prefix=x/theirs-"}),
			"a.far")...)
		if strings.Contains(theirs.Stderr, "Find: Operation not supported") {
			continue // of lists OpenFst finds no key
		}
		if len(a) <= 24 || theirs.Exit != 0 && strings.Contains(theirs.Stderr, "Empty FST archive") {
			continue // of an empty archive OpenFst says that it is none
		}
		out, errs, got := run2(append(slices.Concat([]string{"farprintstrings"}, print,
			[]string{"--filename_prefix=x/ours-"}), "a.far")...)
		if got != theirs.Exit || out != theirs.Stdout {
			t.Fatalf("case %d: %q %q: printed (%d)\n%s%s\nOpenFst (%d)\n%s%s", i, flags, print, got, out, errs,
				theirs.Exit, theirs.Stdout, theirs.Stderr)
		}
		for _, name := range must1(filepath.Glob("x/theirs-*")) {
			if a, b := must1(os.ReadFile(name)), must1(
				os.ReadFile(strings.Replace(name, "theirs-", "ours-", 1))); !bytes.Equal(a, b) {
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
		flags := []string{"--far_type=" + typ, "--key_prefix=p-",
			[]string{"--generate_keys=3", "--key_suffix=.x"}[i/3%2]}
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
						if got, want := ours(0, "farinfo", "--list_fsts", begin, end, a),
							o.Do("farinfo", "--list_fsts", begin, end, a); got != want {
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
			if !bytes.Equal(must1(os.ReadFile(name)), must1(
				os.ReadFile(strings.Replace(name, "theirs-", "ours-", 1)))) {
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

// farconvert and farencode, which OpenFst 1.7.9 does not have: what they make of each machine is
// what OpenFst's fstconvert makes of it, and what its fstencode --decode takes back.
func TestArchivesConvertedAsOpenFst(t *testing.T) {
	o := fsttest.OpenFst(t)
	rng := rand.New(rand.NewPCG(5, 3))
	t.Chdir(t.TempDir())
	// ours runs a tool here, which may fail where OpenFst fails on one machine.
	ours := func(words ...string) (out string, status int) {
		var b, errs bytes.Buffer
		status = run(words, cli.Streams{In: bytes.NewReader(nil), Out: &b, Err: &errs})
		return b.String() + errs.String(), status
	}
	do := func(words ...string) string {
		t.Helper()
		out, status := ours(words...)
		if status != 0 {
			t.Fatalf("%q: exit status %d: %s", words, status, out)
		}
		return out
	}
	kinds := []string{"sttable", "stlist", "fst"}
	types := words("vector const compact_acceptor compact_unweighted compact_weighted_string edit")
	failed := 0
	for i := range 45 {
		arcType := []string{"standard", "log", "log64"}[rng.IntN(3)]
		kind, to := kinds[i%3], kinds[rng.IntN(3)]
		var names []string
		var ms []*model
		for k := range 1 + rng.IntN(4) {
			m := drawModel(rng, arcType, traits{acceptor: rng.IntN(2) == 0, unweighted: rng.IntN(3) == 0})
			m.doubled = false // OpenFst reads no tables of these again that it has written
			if k > 0 {        // a mapper has the tables of the last machine alone
				m.isyms, m.osyms, m.sparse = ms[0].isyms, ms[0].osyms, ms[0].sparse
			}
			dir := fmt.Sprintf("d%d", k)
			must(os.MkdirAll(dir, 0o777))
			name := filepath.Join(dir, fmt.Sprintf("in%d", k-k%(1+i%2))) // some keys twice
			must(os.WriteFile(name, m.encode(), 0o666))
			names, ms = append(names, name), append(ms, m)
			if kind == "fst" {
				break
			}
		}
		do(slices.Concat([]string{"farcreate", "--far_type=" + kind}, names, []string{"a.far"})...)
		extract := func(far, prefix string) (files []string) {
			t.Helper()
			must(os.RemoveAll(prefix))
			must(os.Mkdir(prefix, 0o777))
			do("farextract", "--generate_filenames=2", "--filename_prefix="+prefix+"/", far)
			return must1(filepath.Glob(prefix + "/*"))
		}
		// An archive of type fst holds the first machine alone, and its name.
		keep := len(names)
		if to == "fst" {
			keep = 1
		}

		fstType := types[rng.IntN(len(types))]
		if out, status := ours("farconvert", "--far_type="+to, "--fst_type="+fstType, "a.far",
			"b.far"); status != 0 {
			failed++
			if !slices.ContainsFunc(names, func(name string) bool {
				return o.Run("fstconvert", "--fst_type="+fstType, name, "one.fst").Exit != 0
			}) {
				t.Fatalf("case %d: farconvert --fst_type=%s: %s, and OpenFst converts each of %q", i, fstType, out, names)
			}
		} else {
			got := extract("b.far", "x")
			if len(got) != keep {
				t.Fatalf("case %d: %d machines of %d", i, len(got), keep)
			}
			for k, name := range got {
				o.Do("fstconvert", "--fst_type="+fstType, names[k], "one.fst")
				if d := compareFiles(must1(os.ReadFile(name)), must1(os.ReadFile("one.fst")), 0, 0); d != "" {
					t.Fatalf("case %d: farconvert --fst_type=%s: machine %d: %s", i, fstType, k, d)
				}
			}
			if to != "fst" && kind != "fst" {
				keys := func(far string) (keys []string) {
					for line := range strings.Lines(o.Do("farinfo", "--list_fsts", far)) {
						keys = append(keys, strings.Fields(line)[0])
					}
					return keys
				}
				if a, b := keys("a.far"), keys("b.far"); !slices.Equal(a, b) {
					t.Fatalf("case %d: keys %q, and had %q", i, b, a)
				}
			}
		}

		if slices.ContainsFunc(ms, (*model).hasNegativeZero) {
			continue // OpenFst's labels of weights 0 and -0 are two
		}
		flags := [][]string{{"--encode_labels"}, {"--encode_weights"},
			{"--encode_labels", "--encode_weights"}}[rng.IntN(3)]
		do(slices.Concat([]string{"farencode", "--far_type=" + to}, flags, []string{"a.far", "table", "c.far"})...)
		for k, name := range extract("c.far", "y") {
			// One machine after the other, with one table, is the same.
			one := slices.Concat([]string{"fstencode"}, flags, []string{names[k], "table2", "one.fst"})
			if k > 0 {
				one = []string{"fstencode", "--encode_reuse", names[k], "table2", "one.fst"}
			}
			do(one...)
			if d := compareFiles(must1(os.ReadFile(name)), must1(os.ReadFile("one.fst")), 0, 0); d != "" {
				t.Fatalf("case %d: farencode %q: machine %d is not that of fstencode: %s", i, flags, k, d)
			}
			// OpenFst trims what it decodes, and makes final weights of ε-arcs to ends.
			o.Do("fstencode", "--decode", name, "table", "back.fst")
			o.Do("fstconvert", names[k], "plain.fst") // of edit machines it removes no states
			o.Do("fstencode", slices.Concat(flags, []string{"plain.fst", "table3", "one.fst"})...)
			o.Do("fstencode", "--decode", "one.fst", "table3", "was.fst")
			if r := o.Run("fstequal", "--delta=0", "--v=1", "was.fst", "back.fst"); r.Exit != 0 {
				t.Fatalf("case %d: farencode %q: machine %d: OpenFst decodes another one: %+v\n%v%s", i, flags, k, r,
					ms[k], o.Do("fstprint", "back.fst"))
			}
			must(os.Rename("back.fst", fmt.Sprintf("back%d.fst", k)))
		}
		if keep == len(names) {
			if a, b := must1(os.ReadFile("table")), must1(os.ReadFile("table2")); !bytes.Equal(a, b) {
				t.Fatalf("case %d: farencode %q: a table of %d bytes, one by one of %d", i, flags, len(a), len(b))
			}
		}
		do("farencode", "--decode", "--far_type="+kind, "c.far", "table", "d.far")
		for k, name := range extract("d.far", "z") {
			if d := compareFiles(must1(os.ReadFile(name)),
				must1(os.ReadFile(fmt.Sprintf("back%d.fst", k))), 0, 0); d != "" {
				t.Fatalf("case %d: farencode --decode: machine %d is not that of OpenFst's fstencode: %s", i, k, d)
			}
		}
	}
	if failed == 0 || failed > 40 {
		t.Errorf("%d of 45 archives could not be converted", failed)
	}
}

// The random calls are of all of OpenFst's tools that are installed.
func TestEveryToolIsDrawn(t *testing.T) {
	o := fsttest.OpenFst(t)
	found := 0
	for _, name := range must1(filepath.Glob(filepath.Join(o.Dir(), "*"))) {
		name = filepath.Base(name)
		if findTool(strings.TrimPrefix(name, "fst")) == nil ||
			findTool(strings.TrimPrefix(name, "fst")).prog() != name {
			// not ours: is it one of theirs?
			if strings.HasPrefix(name, "fst") || strings.HasPrefix(name, "far") || strings.HasPrefix(name, "pdt") ||
				strings.HasPrefix(name, "mpdt") {
				if help, _ := exec.Command(filepath.Join(o.Dir(), name), "--help").CombinedOutput(); bytes.Contains(
					help, []byte("fst_verify_properties")) {
					t.Errorf("%s has no counterpart here", name)
				}
			}
			continue
		}
		found++
		if !slices.ContainsFunc(peerTools, func(p peerTool) bool { return findTool(p.name).prog() == name }) {
			t.Errorf("%s is never drawn", name)
		}
	}
	if found < 50 {
		t.Errorf("%d tools", found)
	}
}
