package readme

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommands(t *testing.T) {
	text := "x\n```console\n$ learn a | head\n1\n2\n$ echo b | learn c \\\n    --d\n```\n```go\n$ no\n```\n```console\n$ fst e\n```\n"
	var got []command
	for _, b := range Blocks(text, "console") {
		got = append(got, commands(b)...)
	}
	want := []command{{"learn a | head", "1\n2\n"}, {"echo b | learn c \\\n    --d", ""}, {"fst e", ""}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(command{})); diff != "" {
		t.Error(diff)
	}
	for line, program := range map[string]string{"learn a": "learn", "echo | learn c": "learn", "fstcompose a b": "fst", "fst compose": "fst"} {
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
