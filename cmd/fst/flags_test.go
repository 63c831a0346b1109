package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/fst/fsttest"
)

// Values of flags of every type are read as OpenFst's tools read them: fstdraw shows what they made
// of an integer, a number and a truth value, and of the seed of fstrandgen there is the exit
// status. What differs on purpose is in the package comment: integers beyond 32 bits, NaN, and the
// words of newer releases.
func TestFlagValuesAsOpenFst(t *testing.T) {
	o := fsttest.OpenFst(t)
	t.Chdir(t.TempDir())
	must(os.WriteFile("a.txt", []byte("0 1 1 2 0.5\n1\n"), 0o666))
	o.Do("fstcompile", "a.txt", "a.fst")
	values := []string{"0x10", "0X1F", "-0x10", "010", "08", "0", "1", " 5", "\t5", "5 ", "+5", "-5", "--5",
		"+-5", "1e3", "", "0x", "0x1g", "0x1p3", "1_0", "5.5", "5.", ".5", "1e", "1e999", "-1e999", "1e-400", "inf",
		"-Infinity", "INF", "nan", "99999999999", "99999999999999999999", "true", "false", "2", "on", "off",
		" true", "truex"}
	for _, flag := range []string{"fstdraw --fontsize", "fstdraw --width", "fstdraw --portrait",
		"fstrandgen --seed"} {
		tool, name, _ := strings.Cut(flag, " ")
		for _, v := range values {
			if v == "nan" || name == "--fontsize" && len(v) > 10 {
				continue // an error here
			}
			words := []string{name + "=" + v, "a.fst"}
			want := o.Run(tool, words...)
			var out, errs bytes.Buffer
			got := run(append([]string{tool}, words...), cli.Streams{In: bytes.NewReader(nil), Out: &out, Err: &errs})
			if got != want.Exit || tool == "fstdraw" && got == 0 && out.String() != want.Stdout {
				t.Errorf("%s %q: status %d, OpenFst %d: %s\n%s\nOpenFst:\n%s", tool, words, got, want.Exit, errs.String(),
					out.String(), want.Stdout)
			}
		}
	}
}

// A flag that is accepted without effect says so, and why; there are no others than these.
func TestFlagsWithoutEffect(t *testing.T) {
	library := []string{"fst_default_cache_gc", "fst_default_cache_gc_limit", "fst_error_fatal", "tmpdir"}
	own := map[string]string{"pdtshortestpath": "path_gc"}
	for _, x := range tools {
		if strings.HasPrefix(x.name, "far") && x.name != "farprintstrings" {
			own[x.name] = "far_field_separator"
		}
	}
	for _, x := range tools {
		c := x.newCall(cli.Streams{})
		x.setup(c.flags)
		want := slices.Clone(library)
		if f := own[x.name]; f != "" {
			want = append(want, f)
		}
		slices.Sort(want)
		var got []string
		for _, f := range c.flags.Flags() {
			if why, ok := strings.CutPrefix(f.Usage, "No effect here: "); ok && len(why) > 20 {
				got = append(got, f.Name)
			} else if strings.Contains(strings.ToLower(f.Usage), "effect") || strings.Contains(f.Usage, "compatib") {
				t.Errorf("%s --%s: %q", x.name, f.Name, f.Usage)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: without effect are %q, want %q", x.name, got, want)
		}
	}
}

// undrawn are flags that TestAsOpenFst does not draw, with the reason.
var undrawn = map[string]string{
	"pdtreplace --pdt_parentheses":       "every case has it, for the file of parentheses that is compared",
	"mpdtreverse --mpdt_new_parentheses": "every case has it, for the file of stacks that is compared",
}

// Every flag that OpenFst's tools list is drawn by TestAsOpenFst, for every tool that has it, or
// there is a reason.
func TestFlagsOfOpenFstAreDrawn(t *testing.T) {
	o := fsttest.OpenFst(t)
	drawn := map[string]bool{}
	for _, p := range peerTools {
		rng := rand.New(rand.NewPCG(6, 1))
		for range 2000 {
			c := &peerCase{tool: &p, inputs: p.inputs(rng, "standard"), flags: p.flags(rng)}
			drawTexts(rng, c)
			for _, f := range c.flags {
				name, _, _ := strings.Cut(f, "=")
				drawn[findTool(p.name).prog()+" "+name] = true
			}
		}
	}
	tools := 0
	for _, pattern := range []string{"fst*", "far*", "pdt*", "mpdt*"} {
		for _, path := range must1(filepath.Glob(filepath.Join(o.Dir(), pattern))) {
			prog := filepath.Base(path)
			help := o.Run(prog, "--help")
			if help.Exit != 1 || !strings.Contains(help.Stdout, "PROGRAM FLAGS:") {
				continue // another program
			}
			tools++
			_, flags, _ := strings.Cut(help.Stdout, "PROGRAM FLAGS:")
			for line := range strings.Lines(flags) {
				name, _, ok := strings.Cut(strings.TrimPrefix(line, "  "), ": type = ")
				if !ok || !strings.HasPrefix(name, "--") {
					continue
				}
				call := prog + " " + name
				if why := undrawn[call]; !drawn[call] && why == "" {
					t.Errorf("%s is not drawn", call)
				} else if drawn[call] && why != "" {
					t.Errorf("%s is drawn, and has a reason why not: %s", call, why)
				}
			}
		}
	}
	if tools < 50 {
		t.Errorf("%d tools of OpenFst's, which has 55", tools)
	}
}
