package output

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// write puts text at path, and returns the first error.
func write(path, text string) error {
	f, err := Create(path, nil)
	if err != nil {
		return err
	}
	defer f.Abort()
	io.WriteString(f, text)
	return f.Commit()
}

// expect checks what files hold, by name.
func expect(t *testing.T, want map[string]string) {
	t.Helper()
	for path, text := range want {
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%s holds %q, %v; want %q", filepath.Base(path), got, err, text)
		}
	}
}

// A link to nothing, by way of links to links and to folders, leads to the new file.
func TestDanglingLink(t *testing.T) {
	dir := t.TempDir()
	at := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	if err := os.MkdirAll(at("deep", "folder"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, l := range [][2]string{
		{"nowhere", "one"}, {"one", "two"},
		{filepath.Join("deep", "folder"), "down"}, {"down/../beside", "through"}, // .. of deep/folder
		{at("absolute"), "abs"}, {"b", "a"}, {"a", "b"},
	} {
		if err := os.Symlink(l[0], at(l[1])); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	for _, name := range []string{"two", "through", "abs"} {
		if err := write(at(name), name); err != nil {
			t.Error(err)
		}
		if info, err := os.Lstat(at(name)); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("the link %s was replaced", name)
		}
	}
	expect(t, map[string]string{at("nowhere"): "two", at("deep", "beside"): "through", at("absolute"): "abs"})
	if err := write(at("a"), ""); err == nil || !strings.Contains(err.Error(), "links") {
		t.Errorf("links in a circle: %v", err)
	}
}

// All names of a file see what is written, and its mode stays.
func TestHardLinks(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := os.WriteFile(a, []byte("long old text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(a, b); err != nil {
		t.Skip("no links here:", err)
	}
	if err := os.Chmod(a, 0o666); err != nil { // whatever the mask is
		t.Fatal(err)
	}
	f, err := Create(a, nil)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(f, strings.Repeat("x", 1<<17))
	expect(t, map[string]string{a: "long old text"})
	f.Abort()
	expect(t, map[string]string{a: "long old text"})
	if err := write(a, "new"); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		expect(t, map[string]string{a: "new", b: "new"})
	}
	if got := names(t, dir); got != "a b" {
		t.Errorf("the folder holds %q", got)
	}
	if err := os.Remove(b); err != nil { // one name: replaced as a whole, but with its mode
		t.Fatal(err)
	}
	if err := write(a, "newer"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(a); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// Names as long as the file system takes have temporary ones, too.
func TestLongNames(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []int{longest, longest + 1, 255} {
		path := filepath.Join(dir, strings.Repeat("n", n))
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Skip("no such names here:", err)
		}
		os.Remove(path)
		if err := write(path, "new"); err != nil {
			t.Error(err)
		}
		if err := write(path, "newer"); err != nil {
			t.Error(err)
		}
		expect(t, map[string]string{path: "newer"})
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 3 {
		t.Errorf("%d files, want 3", len(entries))
	}
}
