// Package readme runs what README.md says that a user can run. It serves tests alone.
package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Run runs the commands of README.md that use the program, from the blocks marked console, in an
// empty folder with the repository's testdata. It compares what each prints with the lines that
// follow it. In those, ... stands for any text. root is the top of the repository. It returns how
// many commands were run.
func Run(t *testing.T, root, program string) int {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("README's lines are for a POSIX shell")
	}
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := filepath.Abs(filepath.Join(root, "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(data, filepath.Join(dir, "testdata")); err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, block := range Blocks(string(text), "console") {
		list := commands(block)
		if !slices.ContainsFunc(list, func(c command) bool { return uses(c.line, program) }) {
			continue
		}
		for _, c := range list {
			count++
			cmd := exec.Command("sh", "-c", c.line)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v\n%s", c.line, err, out)
				continue
			}
			if !matches(c.want, string(out)) {
				t.Errorf("%s\nprints\n%s\nREADME.md has\n%s", c.line, out, c.want)
			}
		}
	}
	return count
}

// Blocks returns the fenced blocks of a Markdown text that are marked with a language.
func Blocks(text, language string) []string {
	var out []string
	for {
		_, rest, ok := strings.Cut(text, "\n```"+language+"\n")
		if !ok {
			return out
		}
		block, after, ok := strings.Cut(rest, "\n```")
		if !ok {
			return out
		}
		out, text = append(out, block), "\n"+after
	}
}

// command is a line behind a prompt and what it prints.
type command struct{ line, want string }

func commands(block string) []command {
	var out []command
	for line := range strings.SplitSeq(block, "\n") {
		if c, ok := strings.CutPrefix(line, "$ "); ok {
			out = append(out, command{line: c})
		} else if n := len(out); n > 0 && strings.HasSuffix(out[n-1].line, "\\") && out[n-1].want == "" {
			out[n-1].line += "\n" + line
		} else if n > 0 {
			out[n-1].want += line + "\n"
		}
	}
	return out
}

// uses reports whether a line runs the program, at its beginning or behind a pipe.
func uses(line, program string) bool {
	for part := range strings.SplitSeq(line, "|") {
		if word, _, _ := strings.Cut(strings.TrimSpace(part), " "); word == program ||
			strings.HasPrefix(word, program) && program == "fst" {
			return true
		}
	}
	return false
}

// matches compares what was printed with what should be.
func matches(want, got string) bool {
	if want == "" { // nothing is said of it
		return true
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), `\.\.\.`, `[^\n]*`)
	return regexp.MustCompile("^" + pattern + "$").MatchString(got)
}
