package lines

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/tropica-fst/tropica/ops"
)

// echo answers a line with its number and itself, and takes its time over some.
func echo(calls *atomic.Int64) func() Worker {
	return func() Worker {
		rng := rand.New(rand.NewPCG(1, uint64(calls.Add(1)))) // of its own: a worker runs in one goroutine
		return func(text []byte, number int) ([]byte, bool) {
			if rng.IntN(20) == 0 {
				time.Sleep(time.Millisecond)
			}
			return fmt.Appendf(nil, "%d %s", number, text), text[0] != '!'
		}
	}
}

func TestAnswerKeepsTheOrder(t *testing.T) {
	var in, want strings.Builder
	in.WriteString("\ufeff")
	failed := 0
	for number := 1; number <= 3000; number++ {
		switch {
		case number%7 == 0:
			in.WriteString(" \t\r\n")
		case number%11 == 0:
			failed++
			fmt.Fprintf(&in, "! %d\r\n", number)
			fmt.Fprintf(&want, "%d ! %d\n", number, number)
		default:
			fmt.Fprintf(&in, "  line %d\n", number)
			fmt.Fprintf(&want, "%d line %d\n", number, number)
		}
	}
	in.WriteString("the last has no end")
	want.WriteString("3001 the last has no end\n")
	for _, workers := range []int{1, 2, 7} {
		var calls atomic.Int64
		var out bytes.Buffer
		got, err := Answer(strings.NewReader(in.String()), "in", &out, workers, echo(&calls))
		if err != nil || got != failed || out.String() != want.String() || calls.Load() != int64(workers) {
			t.Errorf("%d workers: %d failed, want %d; %d were made; error %v; answers as they should be: %v", workers,
				got, failed, calls.Load(), err, out.String() == want.String())
		}
	}
}

// Who sends a line after having read the answer to the one before gets it, however large the
// buffer.
func TestAnswerDoesNotKeepAnswersBack(t *testing.T) {
	ask, in := io.Pipe()
	out, answers := io.Pipe()
	done := make(chan error, 1)
	go func() {
		var calls atomic.Int64
		_, err := Answer(ask, "in", bufio.NewWriterSize(answers, 1<<20), 2, echo(&calls))
		done <- err
	}()
	got := bufio.NewReader(out)
	for number := 1; number <= 50; number++ {
		if _, err := fmt.Fprintf(in, "x%d\n", number); err != nil {
			t.Fatal(err)
		}
		if line, err := got.ReadString('\n'); err != nil || line != fmt.Sprintf("%d x%d\n", number, number) {
			t.Fatalf("%q, %v", line, err)
		}
	}
	in.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// An answer does not wait for the next one, which takes long.
func TestAnswerPassesOnWhatIsBeforeALongOne(t *testing.T) {
	out, answers := io.Pipe()
	seen := make(chan bool)
	done := make(chan error, 1)
	go func() {
		_, err := Answer(strings.NewReader("short\nlong\n"), "in", bufio.NewWriterSize(answers, 1<<20),
			1, func() Worker {
				return func(text []byte, _ int) ([]byte, bool) {
					if string(text) == "long" {
						<-seen
					}
					return text, true
				}
			})
		done <- err
	}()
	got := bufio.NewReader(out)
	if line, err := got.ReadString('\n'); err != nil || line != "short\n" {
		t.Fatalf("%q, %v", line, err)
	}
	close(seen)
	if line, err := got.ReadString('\n'); err != nil || line != "long\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAnswerErrors(t *testing.T) {
	var calls atomic.Int64
	var out bytes.Buffer
	broken := errors.New("broken")
	r := io.MultiReader(strings.NewReader("a\n!b\nc"), iotest.ErrReader(broken))
	if failed, err := Answer(r, "the.file", &out, 2, echo(&calls)); failed != 1 || !errors.Is(err, broken) ||
		err.Error() != "the.file, line 3: broken" || out.String() != "1 a\n2 !b\n3 c\n" {
		t.Errorf("reading: %d, %v, %q", failed, err, out.String())
	}
	r = strings.NewReader(strings.Repeat("!x\n", 1000))
	full := &fullWriter{after: 10, err: broken}
	if failed, err := Answer(r, "in", full, 3, echo(&calls)); failed != 1000 || !errors.Is(err, broken) ||
		full.calls != 11 {
		t.Errorf("writing: %d, %v, %d writes", failed, err, full.calls)
	}
}

// fullWriter accepts a number of lines.
type fullWriter struct {
	after, calls int
	err          error
}

func (f *fullWriter) Write(b []byte) (int, error) {
	if f.calls++; f.calls > f.after {
		return 0, f.err
	}
	return len(b), nil
}

// A panic of a worker comes to who asked, behind the answers before it.
func TestAnswerHandsPanicsOn(t *testing.T) {
	for _, workers := range []int{1, 3} {
		var out strings.Builder
		func() {
			defer func() {
				var bug *ops.WorkerPanic
				if err, _ := recover().(error); !errors.As(err, &bug) || bug.Value != "bug" ||
					!bytes.Contains(bug.Stack, []byte("TestAnswerHandsPanicsOn")) {
					t.Errorf("%d workers: %v", workers, err)
				}
			}()
			Answer(strings.NewReader("a\nb\nc\nd\n"), "in", &out, workers, func() Worker {
				return func(text []byte, _ int) ([]byte, bool) {
					if string(text) == "c" {
						panic("bug")
					}
					return text, true
				}
			})
		}()
		if out.String() != "a\nb\n" {
			t.Errorf("%d workers: %q before the panic", workers, out.String())
		}
	}
}
