package output

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// What a killed process left is gone when the same file is written again; what a living
// one is writing, and files that are no temporary ones, are let be.
func TestAbandonedIsRemoved(t *testing.T) {
	if path := os.Getenv("OUTPUT_TEST_WRITE"); path != "" {
		f, err := Create(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, strings.Repeat("half", 1<<16))
		fmt.Println("ready")
		time.Sleep(time.Minute)
		t.Fatal("not killed")
	}
	if !locks {
		t.Skip("no file locks on this system")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	for _, other := range []string{"a.tmp", "a.0.tmp", "b.tropica0.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, other), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var killed []*exec.Cmd
	for range 3 {
		c := exec.Command(os.Args[0], "-test.run", "^TestAbandonedIsRemoved$")
		c.Env = append(os.Environ(), "OUTPUT_TEST_WRITE="+path)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
			t.Fatalf("%q, %v", line, err)
		}
		killed = append(killed, c)
	}
	living, err := Create(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(living, "living")
	const others = "a.0.tmp a.tmp "
	if got := names(t, dir); got != others+"a.tropica0.tmp a.tropica1.tmp a.tropica2.tmp a.tropica3.tmp "+
		"b.tropica0.tmp" {
		t.Fatalf("four writers: the folder holds %q", got)
	}
	for _, c := range killed {
		c.Process.Kill()
		c.Wait()
	}
	f, err := Create(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); got != others+"a.tropica0.tmp a.tropica3.tmp b.tropica0.tmp" {
		t.Errorf("after three were killed, the folder holds %q", got)
	}
	io.WriteString(f, "new")
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := living.Commit(); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "living" {
		t.Errorf("the file holds %q, not what was put there last", got)
	}
	if got := names(t, dir); got != "a "+others+"b.tropica0.tmp" {
		t.Errorf("in the end the folder holds %q", got)
	}
}

// More writers of one file than there are names, at once: each puts its own in place,
// whole, and nothing is left.
func TestManyWriters(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	var wait sync.WaitGroup
	for i := range 4 * slots {
		wait.Go(func() {
			for range 10 {
				f, err := Create(path, nil)
				if err != nil {
					t.Error(err)
					return
				}
				io.WriteString(f, strings.Repeat(string(rune('a'+i%26)), 1<<17))
				if i%5 == 0 {
					f.Abort()
				} else if err := f.Commit(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	got, err := os.ReadFile(path)
	if err != nil || len(got) != 1<<17 || strings.Count(string(got), string(got[:1])) != 1<<17 {
		t.Errorf("%d bytes, %v: not one writer's", len(got), err)
	}
	if got := names(t, dir); got != "a" {
		t.Errorf("the folder holds %q", got)
	}
}

// A process that writes many files into a folder still finds leftovers beside each, by reading the
// folder once. Files that other processes leave there meanwhile do no harm.
func TestManyFilesOfAFolder(t *testing.T) {
	dir := t.TempDir()
	path := func(i int) string { return filepath.Join(dir, fmt.Sprintf("file%d", i)) }
	abandon := func(name string) {
		if err := os.WriteFile(name, []byte("half"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, i := range []int{0, 1, 2} {
		abandon(slotName(path(i), 0))
		abandon(slotName(path(i), 5))
	}
	for i := range 5 {
		if i == 3 { // too late to be seen
			abandon(slotName(path(4), 0))
		}
		f, err := Create(path(i), nil)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(f, i)
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(nil); err == nil {
			t.Error("a file is written to after Commit")
		}
		if err := f.Commit(); err == nil {
			t.Error("a file is committed twice")
		}
		if b, err := os.ReadFile(path(i)); err != nil || string(b) != fmt.Sprint(i) {
			t.Errorf("%d: %q, %v", i, b, err)
		}
	}
	want := []string{"file0", "file1", "file2", "file3", "file4", "file4.tropica0.tmp"}
	if !locks { // none can be told from one in use
		for i := range 3 {
			want = append(want, filepath.Base(slotName(path(i), 0)), filepath.Base(slotName(path(i), 5)))
		}
		slices.Sort(want)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("left %v, want %v", got, want)
	}
}
