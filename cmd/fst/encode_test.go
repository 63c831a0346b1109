package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
)

// With --encode_reuse the table is written again only where it has become longer. Jobs may
// therefore share a table that has all their labels, even a read-only one.
func TestEncodeReuse(t *testing.T) {
	t.Chdir(t.TempDir())
	call := func(want int, words ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		if got := run(words, cli.Streams{In: bytes.NewReader(nil), Out: &out, Err: &errs}); got != want {
			t.Fatalf("%q: exit status %d: %s", words, got, errs.String())
		}
	}
	must(os.WriteFile("a.txt", []byte("0 1 1 2\n1 2 2 1\n2\n"), 0o666))
	must(os.WriteFile("b.txt", []byte("0 1 3 3\n1\n"), 0o666))
	call(0, "fstcompile", "a.txt", "a.fst")
	call(0, "fstcompile", "b.txt", "b.fst")
	call(0, "farcreate", "a.fst", "a.far")
	call(0, "farcreate", "b.fst", "b.far")
	call(0, "fstencode", "--encode_labels", "a.fst", "table", "encoded.fst")
	long := time.Unix(1, 0)
	for _, x := range []struct{ tool, same, longer, out, equal string }{
		{"fstencode", "a.fst", "b.fst", "out.fst", "fstequal"},
		{"farencode", "a.far", "b.far", "out.far", "farequal"},
	} {
		must(os.WriteFile("shared", must1(os.ReadFile("table")), 0o666))
		must(os.Chtimes("shared", long, long))
		call(0, x.tool, "--encode_reuse", x.same, "shared", x.out)
		if at := must1(os.Stat("shared")).ModTime(); !at.Equal(long) {
			t.Errorf("%s: a table that has all labels was written", x.tool)
		}
		call(0, x.tool, "--encode_reuse", x.longer, "shared", x.out)
		call(0, x.tool, "--decode", x.out, "shared", "back"+filepath.Ext(x.out))
		call(0, x.equal, x.longer, "back"+filepath.Ext(x.out))
	}
}

// A machine whose table cannot be written is lost, and so is not written either.
func TestEncodeWithoutTable(t *testing.T) {
	t.Chdir(t.TempDir())
	must(os.WriteFile("a.txt", []byte("0 1 1 2\n1\n"), 0o666))
	std := cli.Streams{In: bytes.NewReader(nil), Out: new(bytes.Buffer), Err: new(bytes.Buffer)}
	run([]string{"fstcompile", "a.txt", "a.fst"}, std)
	run([]string{"farcreate", "a.fst", "a.far"}, std)
	for _, words := range [][]string{{"fstencode", "a.fst"}, {"farencode", "a.far"}} {
		if got := run(append(words, filepath.Join("nowhere", "table"), "out"), std); got != 1 {
			t.Errorf("%q: exit status %d", words, got)
		}
		if _, err := os.Stat("out"); err == nil {
			t.Errorf("%q: a result without a table", words)
		}
	}
}
