package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// FuzzFarStrings: whatever text and archive the tools for archives of strings are given, there is
// no panic; what farcompilestrings takes byte by byte, or as UTF-8, farprintstrings gives back; and
// whatever is printed makes the same archive again.
func FuzzFarStrings(f *testing.F) {
	f.Add("a b\nc\n", "<eps> 0\na 1\nb 2\nc 3\n", 0)
	f.Add("h\u00e9llo\n\n\xff\n", "", 1)
	f.Add("h\u00e9llo \U0001f600\n", "", 2)
	f.Add("1 2 -3\n99999999999\n", "", 0)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text, symbols string, token int) {
		in, syms, far := filepath.Join(dir, "in.txt"), filepath.Join(dir, "syms.txt"), filepath.Join(dir, "out.far")
		must(os.WriteFile(in, []byte(text), 0o666))
		must(os.WriteFile(syms, []byte(symbols), 0o666))
		os.Remove(far)
		flags := []string{"--token_type=" + []string{"symbol", "byte", "utf8"}[uint(token)%3]}
		if symbols != "" {
			flags = append(flags, "--symbols="+syms)
		}
		status, _, _ := fstTool(t, "", append(append([]string{"farcompilestrings"}, flags...), in, far)...)
		if status != 0 {
			if _, err := os.Stat(far); err == nil {
				t.Fatal("failed, and left an archive")
			}
			// The text as an archive: refused, or printed.
			fstTool(t, "", append(append([]string{"farprintstrings"}, flags...), in)...)
			return
		}
		status, out, errs := fstTool(t, "", append(append([]string{"farprintstrings"}, flags...), far)...)
		if symbols == "" && uint(token)%3 > 0 && text != "" {
			want := text
			if !strings.HasSuffix(want, "\n") {
				want += "\n"
			}
			if status != 0 || out != strings.ReplaceAll(want, "\r\n", "\n") && !strings.ContainsAny(text, "\x00\r") {
				t.Fatalf("status %d, %q for %q: %s", status, out, want, errs)
			}
		}
		if status != 0 {
			return
		}
		// Labels of 0 are no part of a string, and not printed.
		whole := must1(os.ReadFile(far))
		for r := must1(fst.NewArchiveReader(bytes.NewReader(whole), nil)); ; {
			_, h, err := r.Next()
			if err == io.EOF {
				break
			}
			must(err)
			m := must1(fst.ReadBody[semiring.Tropical](r.Stream(), h))
			for q := range fst.StateID(m.NumStates()) {
				if arcs := m.Arcs(q); len(arcs) > 0 && arcs[0].ILabel == 0 {
					whole = nil
				}
			}
		}
		must(os.WriteFile(in, []byte(out), 0o666))
		status, _, errs = fstTool(t, "", append(append([]string{"farcompilestrings"}, flags...), in, far)...)
		if again := must1(os.ReadFile(far)); status != 0 || whole != nil && !bytes.Equal(whole, again) {
			t.Fatalf("%q with %q is printed as %q, of which the archive is (%d) %q, not %q: %s", text, symbols, out,
				status, again, whole, errs)
		}
		if status, twice, errs := fstTool(t, "", append(append([]string{"farprintstrings"}, flags...),
			far)...); status != 0 || twice != out {
			t.Fatalf("%q with %q is printed as %q, and that as (%d) %q: %s", text, symbols, out, status, twice, errs)
		}
	})
}
