// Package lines answers the lines of a stream, several at a time and in their order.
package lines

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"runtime/debug"
	"sync"

	"github.com/tropica-fst/tropica/ops"
)

// Worker answers one line, which has no space at its ends and is not empty; number counts all lines
// from 1. ok reports whether the answer is as requested; other answers are written, too, and
// counted.
type Worker func(text []byte, number int) (answer []byte, ok bool)

// Answer writes the answer to each line of r as a line of w, in order. Empty lines have none, and a
// byte order mark before the first is not part of it. worker is called once for each of the given
// number of goroutines (at least 1), so that a Worker may reuse memory.
//
// Answers do not wait for a slow line, nor for more lines: where w has a method Flush, it is called
// before either.
//
// The error is the first of reading, prefixed with name and line, or of writing. Lines read by then
// are answered and counted all the same. A panic of a worker continues in the goroutine of the
// caller as an ops.WorkerPanic. The other workers are abandoned, since the process is expected to
// end.
func Answer(r io.Reader, name string, w io.Writer, workers int,
	worker func() Worker) (failed int, err error) {
	type job struct {
		number int
		text   []byte
		answer chan []byte
		failed bool // read behind answer
		bug    *ops.WorkerPanic
	}
	jobs := make(chan *job)
	queue := make(chan *job, 4*workers)
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			do := worker()
			for j := range jobs {
				func() {
					defer func() {
						if v := recover(); v != nil {
							j.bug = &ops.WorkerPanic{Value: v, Stack: debug.Stack()}
							j.answer <- nil
						}
					}()
					text, ok := do(j.text, j.number)
					j.failed = !ok
					j.answer <- text
				}()
			}
		})
	}
	var readErr error // read behind the end of queue
	go func() {
		defer close(queue)
		defer close(jobs)
		br := bufio.NewReaderSize(r, 1<<16)
		for number := 1; ; number++ {
			text, err := br.ReadBytes('\n')
			if number == 1 {
				text = bytes.TrimPrefix(text, []byte("\ufeff"))
			}
			if text = bytes.TrimSpace(text); len(text) > 0 {
				j := &job{number: number, text: text, answer: make(chan []byte, 1)}
				queue <- j
				jobs <- j
			}
			if err != nil {
				if err != io.EOF {
					readErr = fmt.Errorf("%s, line %d: %w", name, number, err)
				}
				return
			}
		}
	}()
	flush := func() {
		if f, ok := w.(interface{ Flush() error }); ok && err == nil {
			err = f.Flush()
		}
	}
	for j := range queue {
		var text []byte
		select {
		case text = <-j.answer:
		default:
			flush()
			text = <-j.answer
		}
		if j.bug != nil {
			panic(j.bug)
		}
		if j.failed {
			failed++
		}
		if err == nil {
			_, err = w.Write(append(text, '\n'))
		}
		if len(queue) == 0 {
			flush()
		}
	}
	running.Wait()
	if err == nil {
		err = readErr
	}
	return failed, err
}
