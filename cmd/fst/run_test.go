package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
)

// The documented command makes the figures as they are in testdata, byte for byte.
func TestFigures(t *testing.T) {
	dir, err := filepath.Abs(filepath.Join("..", "..", "testdata", "figures"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	inputs, _ := filepath.Glob(filepath.Join(dir, "*.txt"))
	for _, name := range append(inputs, filepath.Join(dir, "figures.run")) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Base(name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	if status := run([]string{"fst", "run", "--file=figures.run"},
		cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}); status != 0 {
		t.Fatalf("status %d\n%s", status, errs.String())
	}
	made, _ := filepath.Glob("*.svg")
	kept, _ := filepath.Glob(filepath.Join(dir, "*.svg"))
	if len(made) != 9 || len(kept) != 9 {
		t.Fatalf("%d figures made and %d kept, want 9", len(made), len(kept))
	}
	for _, name := range made {
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if os.Getenv("TROPICA_UPDATE") != "" {
			if err := os.WriteFile(path, got, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs from the one in testdata (%v); TROPICA_UPDATE=1 rewrites it", name, err)
		}
	}
}

func TestParseRun(t *testing.T) {
	for _, c := range []struct{ program, want string }{
		{"", ""},
		{" ; # nothing\n;;", ""},
		{"a b|c 'd e' > f", "[a b][c d e]>f;"},
		{"x = < f g; y=1 z", "x=<f[g];[y=1 z];"},
		{`a "b\"\\\n" c\ d''`, `[a b"\\n c d];`},
		{"a |\n\n b\nc", "[a][b];[c];"},
		{"a $x --f=$y z$w --$z $2", "[a $x --f=$y z$w --$z two];"},
		{"< f | a", "<f[a];"},
		{"x = y", "x=[y];"},
		{"a \\\n b", "[a b];"},
	} {
		got, err := parseRun(c.program, []string{"one", "two"})
		if err != nil {
			t.Errorf("%q: %v", c.program, err)
			continue
		}
		if s := showRun(got); s != c.want {
			t.Errorf("%q is read as %s, want %s", c.program, s, c.want)
		}
	}
	for _, bad := range []string{"|", "a |", "a | ; b", "a >", "a > > b", "a > b c", "a > b | c", "a < b < c",
		"a | b < c", "'", "\"", "\\", "$", "a $3", "a $x$y", "a $x.y", "x-y = a", "x = a > b", "a > b > c", "\x00",
		"a '\x00'", "a \\\x00x", "x =", "> f"} {
		if got, err := parseRun(bad, []string{"one", "two"}); err == nil {
			t.Errorf("%q is read as %s, want an error", bad, showRun(got))
		}
	}
}

// What a shell has and fst run has not is said to be so, with what to do instead; quoted it is a
// name as any other.
func TestParseRunShellSigns(t *testing.T) {
	for program, want := range map[string]string{
		"compose <(print a.fst) b.fst": "line 1: fst run has no <(...): ",
		"a\nprint a.fst >(cat)":        "line 2: fst run has no >(...): ",
		"print a.fst 2> messages":      "line 1: fst run has no 2>: ",
		"print $(ls)":                  "line 1: fst run has no $(...): ",
		"print `ls`":                   "line 1: fst run has no `...`: ",
		"print ${x}":                   "line 1: fst run has no ${...}, but $name: ",
		"print $3":                     "line 1: $3: 2 arguments are given behind the program",
	} {
		if got, err := parseRun(program, []string{"one", "two"}); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %s, %v, want %q", program, showRun(got), err, want)
		}
	}
	for program, want := range map[string]string{
		"print '`a`' '$(b)' \\${ \">(\" x2>y": "[print `a` $(b) ${ >( x2]>y;",
		"prune --nstate=2>y":                  "[prune --nstate=2]>y;",
		"print $1>y":                          "[print one]>y;", "print $2>y": "[print two]>y;",
	} {
		if got, err := parseRun(program, []string{"one", "two"}); err != nil || showRun(got) != want {
			t.Errorf("%q: %s, %v, want %s", program, showRun(got), err, want)
		}
	}
}

func showRun(statements []runStatement) string {
	var b strings.Builder
	for _, s := range statements {
		if s.name != "" {
			b.WriteString(s.name + "=")
		}
		if s.in != "" {
			b.WriteString("<" + s.in)
		}
		for _, st := range s.stages {
			b.WriteString("[" + strings.Join(st.words, " ") + "]")
		}
		if s.out != "" {
			b.WriteString(">" + s.out)
		}
		b.WriteString(";")
	}
	return shownWords(b.String())
}

// quotedRun writes statements as a program in which every word is quoted, but for variables.
func quotedRun(statements []runStatement) string {
	word := func(s string) string {
		value, name, ok := strings.Cut(s, variable)
		q := "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
		if ok {
			return value + "$" + name // value is nothing, or a flag
		}
		return q
	}
	var b strings.Builder
	for _, s := range statements {
		if s.name != "" {
			b.WriteString(s.name + " = ")
		}
		if s.in != "" {
			b.WriteString("< " + word(s.in))
		}
		for i, st := range s.stages {
			if i > 0 || s.in != "" {
				b.WriteString(" | ")
			}
			for _, w := range st.words {
				b.WriteString(word(w) + " ")
			}
		}
		if s.out != "" {
			b.WriteString(" > " + word(s.out))
		}
		b.WriteString(";\n")
	}
	return b.String()
}

// Whatever is typed is read or refused; a program has no more words than bytes, and says the same
// when each of its words is quoted.
func FuzzParseRun(f *testing.F) {
	f.Add("a.fst | compose - b.fst | minimize > out.fst")
	f.Add("x = compile $1 'a b' \"c\\\"d\" # e\n\\\n print $x; < f | g --h=$i")
	f.Fuzz(func(t *testing.T, program string) {
		statements, err := parseRun(program, []string{"one"})
		words := 0
		for _, s := range statements {
			for _, st := range s.stages {
				words += len(st.words)
				if len(st.words) == 0 {
					t.Fatalf("%q: a stage without words", program)
				}
			}
		}
		if err != nil {
			return
		}
		if words > len(program) {
			t.Fatalf("%q: %d words", program, words)
		}
		quoted := quotedRun(statements)
		again, err := parseRun(quoted, []string{"one"})
		if err != nil || showRun(again) != showRun(statements) {
			t.Fatalf("%q is read as %s, and %q as %s: %v", program, showRun(statements), quoted, showRun(again), err)
		}
	})
}
