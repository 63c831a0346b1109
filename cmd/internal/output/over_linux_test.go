package output

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// asNobody runs f without the rights of root, if the test has them: those of a thread,
// which ends with f.
func asNobody(t *testing.T, f func(t *testing.T)) {
	t.Run("nobody", func(t *testing.T) {
		if os.Geteuid() == 0 {
			runtime.LockOSThread()
			for _, set := range []func(int) error{syscall.Setfsgid, syscall.Setfsuid} {
				if err := set(65534); err != nil {
					t.Skip("cannot give up rights:", err)
				}
			}
		}
		f(t)
	})
}

// folder makes a folder that everybody finds, with a file for everybody to write.
func folder(t *testing.T, mode os.FileMode) (dir, path string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "output")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		os.Chmod(dir, 0o777)
		os.RemoveAll(dir)
	})
	path = filepath.Join(dir, "a")
	if err := os.WriteFile(path, []byte("old and long"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{path: 0o666, dir: mode} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	return dir, path
}

// What may be written is written, though its folder takes no other files, or does not let
// files of others be replaced.
func TestFolderOfOthers(t *testing.T) {
	for _, x := range []struct {
		name  string
		mode  os.FileMode
		temps string // TMPDIR
	}{
		{"read-only", 0o555, ""},
		{"read-only, nowhere to put temporary files", 0o555, "/nowhere"},
		{"sticky", 0o777 | os.ModeSticky, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			dir, path := folder(t, x.mode)
			before, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if x.temps != "" {
				t.Setenv("TMPDIR", x.temps)
			}
			asNobody(t, func(t *testing.T) { writeAmongOthers(t, dir, path, before) })
		})
	}
}

func writeAmongOthers(t *testing.T, dir, path string, before os.FileInfo) {
	f, err := Create(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte(strings.Repeat("half", 1<<16)))
	expect(t, map[string]string{path: "old and long"})
	f.Abort()
	expect(t, map[string]string{path: "old and long"})
	if err := write(path, "new"); err != nil {
		t.Fatal(err)
	}
	expect(t, map[string]string{path: "new"})
	after, err := os.Stat(path)
	if err != nil || stateOf(before).uid != stateOf(after).uid || before.Mode() != after.Mode() {
		t.Errorf("owner or mode are not kept: %v, %v", after, err)
	}
	if got := names(t, dir); got != "a" {
		t.Errorf("the folder holds %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "a.tropica?.tmp")); left != nil {
		t.Errorf("left behind: %q", left)
	}
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := write(filepath.Join(dir, "b"), "new"); info.Mode().Perm() == 0o555 &&
		(err == nil || !strings.Contains(err.Error(), "permission denied")) {
		t.Errorf("a new file in a folder that takes none: %v", err)
	}
}

// Files keep their owner, if root writes them.
func TestOwnerIsKept(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may give files away")
	}
	_, path := folder(t, 0o755)
	if err := os.Chown(path, 1234, 2345); err != nil {
		t.Skip("no owners here:", err)
	}
	if err := write(path, "new"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if s := stateOf(info); s.uid != 1234 || s.gid != 2345 || s.perm != 0o666 {
		t.Errorf("now %+v", *s)
	}
}

// A full disk under what can only be written over is said to have destroyed it.
func TestOverwriteFails(t *testing.T) {
	_, path := folder(t, 0o755)
	if err := os.Link(path, path+"2"); err != nil {
		t.Skip("no links here:", err)
	}
	f, err := Create(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte(strings.Repeat("x", 1<<16)))
	f.w.Flush()
	// As much is allowed in a file as the temporary one has not: only the copy is too long.
	if err := os.Truncate(f.temp, 1<<17); err != nil {
		t.Fatal(err)
	}
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	limit := was
	limit.Cur = 1 << 15
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	err = f.Commit()
	if e := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); e != nil {
		t.Fatal(e)
	}
	if err == nil || !strings.Contains(err.Error(), "incomplete") || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v", err)
	}
}

// What goes to a descriptor by its number goes through it: what others write there stays, before
// and behind.
func TestOpenDescriptors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	shared, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer shared.Close()
	write := func(w io.Writer, s string) {
		t.Helper()
		if _, err := io.WriteString(w, s); err != nil {
			t.Fatal(err)
		}
	}
	write(shared, "before ")
	for _, dir := range []string{"/dev/fd", "/proc/self/fd"} {
		f, err := Create(fmt.Sprintf("%s/%d", dir, shared.Fd()), nil)
		if err != nil {
			t.Fatal(err)
		}
		write(f, "result ")
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	write(shared, "behind")
	if got, _ := os.ReadFile(path); string(got) != "before result result behind" {
		t.Errorf("the file holds %q", got)
	}
	var out bytes.Buffer
	f, err := Create("/dev/stdout", &out)
	if err != nil {
		t.Fatal(err)
	}
	write(f, "result")
	if err := f.Commit(); err != nil || out.String() != "result" {
		t.Errorf("/dev/stdout got %q, %v", out.String(), err)
	}
	if _, err := Create("/dev/fd/1234", nil); err == nil {
		t.Error("a descriptor that is not open was opened")
	}
}
