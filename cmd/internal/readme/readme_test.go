package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommands(t *testing.T) {
	text := "x\n```console\n$ learn a | head\n1\n2\n$ echo b | learn c \\\n    --d\n```\n```go\n$ " +
		"no\n```\n```console\n$ fst e\n```\n"
	var got []command
	for _, b := range Blocks(text, "console") {
		got = append(got, commands(b)...)
	}
	want := []command{{"learn a | head", "1\n2\n"}, {"echo b | learn c \\\n    --d", ""}, {"fst e", ""}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(command{})); diff != "" {
		t.Error(diff)
	}
	for line, program := range map[string]string{"learn a": "learn", "echo | learn c": "learn",
		"fstcompose a b": "fst", "fst compose": "fst"} {
		if !uses(line, program) {
			t.Errorf("%s does not use %s", line, program)
		}
	}
	if uses("learn fst", "fst") || uses("relearn a", "learn") {
		t.Error("a program that a line does not use")
	}
	if !matches("a ... c\n", "a b. c\n") || matches("a ... c\n", "a b\nc\n") || matches("a.c\n", "abc\n") {
		t.Error("matches")
	}
}

// README says what it says in at most 1300 words.
func TestWords(t *testing.T) {
	text, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(string(text))); n > 1300 {
		t.Errorf("README.md has %d words; at most 1300 are read", n)
	}
}

// The Go of README.md compiles and runs.
func TestGo(t *testing.T) {
	text, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := Blocks(string(text), "go")
	if len(blocks) != 1 {
		t.Fatalf("%d blocks of Go", len(blocks))
	}
	program := "package main\n\nimport " +
		"(\n\t\"fmt\"\n\n\t\"github.com/tropica-fst/tropica/losses\"\n)\n\nfunc main() {\n\treference, " +
		"alphabet, length := []int{0, 1, 1}, 3, 3\n\t" +
		strings.ReplaceAll(blocks[0], "err :=", "err =") + "\n\tfmt.Println(err, r.LogZ > 0, len(r.Marginals))\n}\n"
	program = strings.Replace(program, "m, err = ", "m, err := ", 1)
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "run", file)
	cmd.Dir = "../../.."
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "<nil> true 3\n" {
		t.Errorf("%v: %s\n%s", err, out, program)
	}
}
