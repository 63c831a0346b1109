package fsttest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// Tools runs OpenFst's own tools on files in a directory of the test's.
type Tools struct {
	tb  testing.TB
	bin string // directory of the tools
	dir string
	lib string // directory of the libraries that PlugIns makes known, "" for none
	n   int
}

// PlugIns lets the tools read and write the types of machines that OpenFst keeps in
// libraries of their own, const8 for one. Debian installs these under names that the
// tools do not look for. It reports whether they are there.
//
// TROPICA_PLUGINS may name a directory of further ones, TYPE-fst.so each, of types that
// Debian does not build: phi, rho, sigma and the linear models. Has tells which are known.
func (o *Tools) PlugIns() bool {
	o.tb.Helper()
	dir := o.tb.TempDir()
	for lib, types := range map[string][]string{
		"const":     {"const8", "const16", "const64"},
		"lookahead": {"arc_lookahead", "ilabel_lookahead", "olabel_lookahead"},
		"ngram":     {"ngram"},
		"compact":   nil,
	} {
		found, _ := filepath.Glob("/usr/lib/*/libfst" + lib + ".so*")
		if len(found) == 0 {
			return false
		}
		if lib == "compact" {
			for _, u := range []string{"8", "16", "64"} {
				for _, k := range []string{"string", "weighted_string", "acceptor", "unweighted", "unweighted_acceptor"} {
					types = append(types, "compact"+u+"_"+k)
				}
			}
		}
		for _, t := range types {
			if err := os.Symlink(found[0], filepath.Join(dir, t+"-fst.so")); err != nil {
				return false
			}
		}
	}
	if more := os.Getenv("TROPICA_PLUGINS"); more != "" {
		found, _ := filepath.Glob(filepath.Join(more, "*-fst.so"))
		for _, lib := range found {
			if err := os.Symlink(lib, filepath.Join(dir, filepath.Base(lib))); err != nil {
				return false
			}
		}
	}
	o.lib = dir
	return true
}

// Has reports whether PlugIns has found a library of the given type of file.
func (o *Tools) Has(fstType string) bool {
	_, err := os.Stat(filepath.Join(o.lib, fstType+"-fst.so"))
	return o.lib != "" && err == nil
}

// Libraries returns the directory of the libraries that PlugIns has found, which the tools search
// when LD_LIBRARY_PATH names it; "" is none.
func (o *Tools) Libraries() string { return o.lib }

// findTools returns the directory of OpenFst's tools, "" if there are none.
// This project's command answers to the same names, and may come first: it knows
// --version, which OpenFst's tools refuse.
var findTools = sync.OnceValue(func() string {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, "fstcompose")
		help, err := exec.Command(path, "--help").CombinedOutput() // exits 1 by design
		if _, ran := err.(*exec.ExitError); !ran || !bytes.Contains(help, []byte("PROGRAM FLAGS")) {
			continue
		}
		if exec.Command(path, "--version").Run() != nil {
			return dir
		}
	}
	return ""
})

// Dir returns the directory of the tools.
func (o *Tools) Dir() string { return o.bin }

// OpenFst returns OpenFst's tools, or skips the test where they are missing. It skips the test with
// the race detector too: comparing results takes minutes there and finds no race that the tests of
// workers miss.
func OpenFst(tb testing.TB) *Tools {
	tb.Helper()
	OneGoroutine(tb)
	bin := findTools()
	if bin == "" {
		tb.Skip("skipped: OpenFst's own tools (Debian: libfst-tools) are not installed")
	}
	return &Tools{tb: tb, bin: bin, dir: tb.TempDir()}
}

// File returns the path of a new file name in the test's directory.
func (o *Tools) File() string {
	o.n++
	return filepath.Join(o.dir, strconv.Itoa(o.n))
}

// Text writes a new file and returns its path.
func (o *Tools) Text(content string) string {
	o.tb.Helper()
	path := o.File()
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		o.tb.Fatal(err)
	}
	return path
}

// Result is what a tool did.
type Result struct {
	Stdout, Stderr string
	Exit           int
}

// Run runs a tool to its end, whatever that is.
func (o *Tools) Run(tool string, args ...string) Result {
	o.tb.Helper()
	cmd := exec.Command(filepath.Join(o.bin, tool), args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if o.lib != "" {
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+o.lib)
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		o.tb.Fatalf("%s: %v", tool, err)
	}
	return Result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// Do runs a tool that must succeed, and returns its standard output.
func (o *Tools) Do(tool string, args ...string) string {
	o.tb.Helper()
	r := o.Run(tool, args...)
	if r.Exit != 0 {
		o.tb.Fatalf("%s %q: exit %d: %s", tool, args, r.Exit, r.Stderr)
	}
	return r.Stdout
}

// WriteFile writes f to a new file for the tools and returns its path.
func WriteFile[W semiring.Codec[W]](o *Tools, f fst.Expanded[W], opts *fst.WriteOptions) string {
	o.tb.Helper()
	var b bytes.Buffer
	if err := fst.Write(&b, f, opts); err != nil {
		o.tb.Fatal(err)
	}
	return o.Text(b.String())
}

// ReadFile reads a machine that a tool wrote.
func ReadFile[W semiring.Codec[W]](o *Tools, path string) fst.Expanded[W] {
	o.tb.Helper()
	file, err := os.Open(path)
	if err != nil {
		o.tb.Fatal(err)
	}
	defer file.Close()
	f, err := fst.Read[W](file, &fst.ReadOptions{Name: path})
	if err != nil {
		o.tb.Fatal(err)
	}
	return f
}

// Apply runs a tool as TOOL FLAGS... INPUTS... OUTPUT and returns the machine
// that it wrote.
func Apply[W semiring.Codec[W]](o *Tools, tool string, flags []string, inputs ...fst.Expanded[W]) *fst.Vector[W] {
	o.tb.Helper()
	args := append([]string(nil), flags...)
	for _, f := range inputs {
		args = append(args, WriteFile(o, f, nil))
	}
	out := o.File()
	o.Do(tool, append(args, out)...)
	f := ReadFile[W](o, out)
	if v, ok := f.(*fst.Vector[W]); ok {
		return v
	}
	o.tb.Fatalf("%s wrote a %T", tool, f)
	return nil
}
