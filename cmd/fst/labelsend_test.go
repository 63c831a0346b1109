package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
)

// More final arcs than labels from --subsequential_label on are an error, and no arc below zero.
func TestSubsequentialLabelsEnd(t *testing.T) {
	t.Chdir(t.TempDir())
	must(os.WriteFile("two.txt", []byte("0 1 1 5\n0 1 1 6\n1\n"), 0o666))
	try := func(words string) (int, string) {
		var errs bytes.Buffer
		status := run(strings.Fields(words), cli.Streams{Out: new(bytes.Buffer), Err: &errs})
		return status, errs.String()
	}
	if status, errs := try("fstcompile two.txt two.fst"); status != 0 {
		t.Fatal(errs)
	}
	const determinize = "fstdeterminize --det_type=nonfunctional --increment_subsequential_label two.fst " +
		"out.fst --subsequential_label="
	if status, errs := try(determinize + "2147483646"); status != 0 {
		t.Errorf("status %d: %s", status, errs)
	}
	if status, errs := try(determinize + "2147483647"); status != 1 ||
		!strings.Contains(errs, "take a smaller one") {
		t.Errorf("status %d: %s", status, errs)
	}
}
