package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
)

// processVariable makes the test's program another one: beam itself, or Prism's job server.
const processVariable = "TROPICA_BEAM_PROCESS"

func TestMain(m *testing.M) {
	switch os.Getenv(processVariable) {
	case "beam":
		main()
	case "prism":
		servePrism()
	}
	os.Exit(m.Run())
}

// servePrism is the SDK's command prism: a job server, here until its standard input ends.
func servePrism() {
	var port int
	if _, err := fmt.Sscan(os.Args[1], &port); err != nil {
		panic(err)
	}
	if _, err := prism.CreateJobServer(context.Background(), prism.Options{Port: port}); err != nil {
		panic(err)
	}
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// process is one that the test started, with what it has said on its standard error.
type process struct {
	*exec.Cmd
	mu   sync.Mutex
	said bytes.Buffer
}

// started starts this program as another one, which ends with the test.
func started(t *testing.T, as string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(must[string](t)(os.Executable()), args...)}
	p.Env = append(os.Environ(), processVariable+"="+as)
	must[io.WriteCloser](t)(p.StdinPipe())
	errs := must[io.ReadCloser](t)(p.StderrPipe())
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		lines := bufio.NewScanner(errs)
		for lines.Scan() {
			p.mu.Lock()
			fmt.Fprintln(&p.said, lines.Text())
			p.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		p.Process.Kill()
		p.Wait()
	})
	return p
}

// says waits until the process has said something that begins with words, and returns what follows
// on the line.
func (p *process) says(t *testing.T, words string) string {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		p.mu.Lock()
		text := p.said.String()
		p.mu.Unlock()
		if _, rest, ok := strings.Cut(text, words); ok {
			line, _, _ := strings.Cut(rest, "\n")
			return line
		}
	}
	t.Fatalf("it did not say %q, but %s", words, p.said.String())
	return ""
}

// runner starts Prism as a process of its own, and returns its address.
func runner(t *testing.T) string {
	t.Helper()
	l := must[net.Listener](t)(net.Listen("tcp", "localhost:0"))
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	started(t, "prism", fmt.Sprint(port))
	address := fmt.Sprintf("localhost:%d", port)
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			c.Close()
			return address
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// beamProcess runs beam as a process of its own, to its end.
func beamProcess(t *testing.T, words ...string) (said string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, must[string](t)(os.Executable()), words...)
	c.Env = append(os.Environ(), processVariable+"=beam")
	b, err := c.CombinedOutput()
	return string(b), err
}

// Runner, workers and driver may be processes of their own: the model has the bits of this one. The
// workers of EXTERNAL are those of `beam worker`, which stays from run to run.
func TestProcesses(t *testing.T) {
	endpoint := runner(t)
	worker := started(t, "beam", "worker", "--port=0")
	address := worker.says(t, "listening on ")
	dir := t.TempDir()
	for _, c := range corpora(t, dir)[:3] {
		want, _ := c.train(t, "--here")
		for _, how := range [][]string{
			{"--runner=universal", "--environment_type=EXTERNAL", "--environment_config=" + address, "--work=" + dir},
			{"--runner=universal", "--environment_type=LOOPBACK"},
			{"--runner=prism", "--environment_type=LOOPBACK"},
		} {
			model := filepath.Join(t.TempDir(), "model")
			words := append([]string{c.learner, "train", "--data", c.pattern, "--model", model, "--endpoint=" +
				endpoint}, how...)
			said, err := beamProcess(t, append(words, c.flags...)...)
			if err != nil {
				t.Fatalf("%s %v: %v: %s", c.learner, how, err, said)
			}
			if got := must[[]byte](t)(os.ReadFile(model)); !bytes.Equal(got, want) {
				t.Errorf("%s %v: the models differ", c.learner, how)
			}
		}
	}
	// The worker has done a good part of it, and ends in order.
	if err := worker.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := worker.Wait(); err != nil {
		t.Errorf("the worker ended with %v: %s", err, worker.said.String())
	}
	if used := worker.ProcessState.UserTime(); used < 50*time.Millisecond {
		t.Errorf("the worker computed for %v only", used)
	}
	// Without it the run ends, in words and soon.
	begin := time.Now()
	c := corpora(t, dir)[2]
	said, err := beamProcess(t, append([]string{c.learner, "train", "--data", c.pattern, "--model",
		filepath.Join(dir, "m"), "--endpoint=" + endpoint, "--runner=universal", "--environment_type=EXTERNAL",
		"--environment_config=" + address, "--work=" + dir, "--retries=1"}, c.flags...)...)
	if err == nil || !strings.Contains(said, "the runner failed 2 times") {
		t.Errorf("without a worker: %v: %s", err, said)
	}
	if spent := time.Since(begin); spent > 30*time.Second {
		t.Errorf("it took %v to say so", spent)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "2*")); len(left) > 0 {
		t.Errorf("--work still has %v", left)
	}
}

// A driver that is killed leaves no model, and its checkpoint is good to go on from.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	c := corpora(t, dir)[0]
	model, state := filepath.Join(dir, "m"), filepath.Join(dir, "state")
	words := []string{"sequence", "train", "--data", c.pattern, "--model", model, "--checkpoint", state,
		"--stop=0", "--iterations=1000", "--checkpoint_every=1"}
	p := started(t, "beam", words...)
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(state); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("no checkpoint: %s", p.said.String())
		}
	}
	p.Process.Kill()
	p.Wait()
	if _, err := os.Stat(model); err == nil {
		t.Error("there is a model")
	}
	out, errs, status := beamCall(t.Context(), append(words[:len(words)-2], "--iterations=1000",
		"--stop=0.01", "--resume")...)
	if status != 0 || !strings.Contains(out, "model: ") {
		t.Errorf("status %d: %s", status, errs)
	}
	b := must[[]byte](t)(os.ReadFile(state))
	for _, damage := range [][]byte{nil, b[:len(b)/2], append(bytes.Clone(b[:len(b)-1]), b[len(b)-1]^1)} {
		if err := os.WriteFile(state, damage, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, errs, status := beamCall(t.Context(), append(words, "--resume")...); status == 0 ||
			!strings.Contains(errs, state) {
			t.Errorf("a damaged checkpoint of %d bytes was read: %s", len(damage), errs)
		}
	}
}
