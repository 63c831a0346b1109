// Package clitest holds tests, shared by both commands, of how a process ends.
package clitest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// ClosedPipe runs a command line whose standard output is a pipe whose reader has closed it. It
// must end silently, and in a shell, which reports an end by a signal, with the status of SIGPIPE.
func ClosedPipe(t *testing.T, words ...string) {
	t.Helper()
	if runtime.GOOS == "windows" || runtime.GOOS == "plan9" {
		t.Skip("the test asks a Unix shell for the status")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	var errs bytes.Buffer
	direct := exec.Command(words[0], words[1:]...)
	direct.Stdout, direct.Stderr = w, &errs
	if err := direct.Run(); err == nil || !strings.Contains(
		err.Error(), "signal: broken pipe") || errs.Len() > 0 {
		t.Errorf("%q ends with %v and says %q; want an end by SIGPIPE in silence", words, err, &errs)
	}
	errs.Reset()
	shell := exec.Command("sh", append([]string{"-c", `"$@"; echo $? >&2`, "sh"}, words...)...)
	shell.Stdout, shell.Stderr = w, &errs
	if err := shell.Run(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
	if last := lines[len(lines)-1]; last != "141" {
		t.Errorf("%q: the shell reports status %s, want 141", words, errs.String())
	}
}

// FullDisk runs a command line whose standard output takes nothing. It must say so, and end with
// status 1.
func FullDisk(t *testing.T, words ...string) {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no device here is always full")
	}
	defer full.Close()
	var errs bytes.Buffer
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = full, &errs
	err = cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 ||
		!strings.Contains(errs.String(), "writing standard output: no space left on device") {
		t.Errorf("%q ends with %v and says %q; want status 1 and that the disk is full", words, err, &errs)
	}
}
