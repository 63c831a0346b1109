package output

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

func TestWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	f, err := Create(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Write(bytes.Repeat([]byte("new"), 1<<16))
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("before Commit the file holds %d bytes, want the old 3", len(got))
	}
	f.Abort()
	if got := names(t, dir); got != "a" {
		t.Errorf("after Abort the folder holds %q", got)
	}

	f, err = Create(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte("new"))
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	f.Abort() // harmless after Commit
	if got, _ := os.ReadFile(path); string(got) != "new" {
		t.Errorf("after Commit the file holds %q", got)
	}
	if info, _ := os.Stat(path); runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, want the old file's", info.Mode().Perm())
	}
	if got := names(t, dir); got != "a" {
		t.Errorf("after Commit the folder holds %q", got)
	}
}

func TestLinkIsKept(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "a"), filepath.Join(dir, "l")
	os.WriteFile(path, []byte("old"), 0o600)
	if err := os.Symlink(path, link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	f, err := Create(link, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte("new"))
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "new" {
		t.Errorf("the link's target holds %q", got)
	}
	if info, _ := os.Lstat(link); info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced by a file")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := Create(dir, nil); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("creating over a folder: %v", err)
	}
	missing := filepath.Join(dir, "no", "such", "x")
	if _, err := Create(missing, nil); err == nil || !strings.Contains(err.Error(), missing) ||
		strings.Contains(err.Error(), ".tmp") {
		t.Errorf("creating in no folder: %v", err)
	}
	f, err := Create("-", full{})
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte("x"))
	if err := f.Commit(); err == nil || !strings.Contains(err.Error(), "standard output: disk full") {
		t.Errorf("a full disk: %v", err)
	}
}

// Stop removes what is half-written; what was about to be put in place is not, and
// nothing new is begun.
func TestStop(t *testing.T) {
	t.Cleanup(func() { unfinished.stopped = false })
	dir := t.TempDir()
	f, err := Create(filepath.Join(dir, "half"), nil)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(f, "half")
	Stop()
	if err := f.Commit(); !errors.Is(err, ErrStopped) {
		t.Errorf("Commit after Stop: %v", err)
	}
	if _, err := Create(filepath.Join(dir, "new"), nil); !errors.Is(err, ErrStopped) {
		t.Errorf("Create after Stop: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
