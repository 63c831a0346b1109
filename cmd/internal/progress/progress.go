// Package progress shows on a terminal how far a run is, and writes its history
// as CSV.
//
// Bars are drawn by go-pretty, on standard error, and only when that is a
// terminal: elsewhere a Bar is nil, and its methods do nothing.
package progress

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
	"golang.org/x/term"

	"github.com/tropica-fst/tropica/learn/run"
)

// Bar is one line with a bar, a percentage and a message.
type Bar struct {
	writer  progress.Writer
	tracker *progress.Tracker
	done    chan struct{}
}

// Start draws a bar on w if it is a terminal, and returns nil otherwise. Stop
// must be called before anything else is written there.
func Start(w io.Writer, message string) *Bar {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return start(f, message)
}

func start(w io.Writer, message string) *Bar {
	b := &Bar{writer: progress.NewWriter(), tracker: &progress.Tracker{Message: message}, done: make(chan struct{})}
	b.writer.SetOutputWriter(w)
	b.writer.SetUpdateFrequency(200 * time.Millisecond)
	b.writer.SetTrackerLength(20)
	style := progress.StyleDefault // a copy
	style.Options.Separator, style.Options.DoneString = " ", ""
	b.writer.SetStyle(style)
	v := &b.writer.Style().Visibility
	v.ETA, v.Speed, v.Time, v.Value, v.TrackerOverall = false, false, true, false, false
	b.writer.AppendTracker(b.tracker)
	go func() {
		b.writer.Render()
		close(b.done)
	}()
	// Stopping a writer that has not begun would leave it running.
	for !b.writer.IsRenderInProgress() {
		time.Sleep(time.Millisecond)
	}
	return b
}

// Set moves the bar to value out of total, with a message.
func (b *Bar) Set(value, total int, format string, args ...any) {
	if b == nil {
		return
	}
	b.tracker.UpdateMessage(fmt.Sprintf(format, args...))
	b.tracker.UpdateTotal(int64(max(total, value+1))) // what reaches its total is removed
	b.tracker.SetValue(int64(value))
}

// Counter returns a function that moves the bar on by one out of total, for use
// by any number of goroutines. The message ends with the time left, were the
// rest to go as what is done.
func (b *Bar) Counter() func(total int, format string, args ...any) {
	var mu sync.Mutex
	n, begin := 0, time.Now()
	return func(total int, format string, args ...any) {
		if b == nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		n++
		left := time.Since(begin) / time.Duration(n) * time.Duration(max(0, total-n))
		b.Set(n, total, "%s, about %v left", fmt.Sprintf(format, args...), left.Round(time.Second))
	}
}

// Stop draws the last state and gives the terminal back.
func (b *Bar) Stop() {
	if b == nil {
		return
	}
	b.tracker.MarkAsDone()
	b.writer.Stop()
	<-b.done
}

// Training returns a Recorder that shows an optimiser's rows: iteration,
// objective, largest gradient entry, examples a second, and about how long it
// will still take. stop is the rule that the solver was given.
func (b *Bar) Training(name string, stop run.Stop) run.Recorder {
	e := newEstimate(stop)
	var first *run.Row
	return run.RecorderFunc(func(r run.Row) error {
		if b == nil {
			return nil
		}
		if first == nil || first.Stage != r.Stage { // a stage counts from its own beginning
			first, e = &r, newEstimate(stop)
		}
		e.add(r)
		left := e.left()
		message := fmt.Sprintf("%s: iteration %d, objective %.6g, gradient %.2g", name, r.Iteration, r.Objective, r.GradNorm)
		if r.Detail != nil {
			if message = name + ": "; r.Stage != "" {
				message += r.Stage + " "
			}
			message += detail(r)
		}
		if r.Rate > 0 {
			message += fmt.Sprintf(", %.0f examples/s", r.Rate)
		}
		if n := r.Iteration - first.Iteration; n > 0 {
			each := (r.Seconds - first.Seconds) / float64(n)
			message += fmt.Sprintf(", about %v left", time.Duration(each*float64(left)*float64(time.Second)).Round(time.Second))
		}
		b.Set(r.Iteration, r.Iteration+left, "%s", message)
		return nil
	})
}

// Within returns a Recorder for run.Control.Live: it shows the rows within an iteration
// without moving on.
func (b *Bar) Within(name string) run.Recorder {
	if b == nil {
		return nil
	}
	return run.RecorderFunc(func(r run.Row) error {
		message := fmt.Sprintf("%s: iteration %d, objective %.6g", name, r.Iteration, r.Objective)
		if r.Detail != nil {
			message = fmt.Sprintf("%s: %s %s", name, r.Stage, detail(r))
		}
		b.tracker.UpdateMessage(fmt.Sprintf("%s, %d evaluations", message, r.Evaluations))
		return nil
	})
}

// detail is the number of the step and what the learner says of it.
func detail(r run.Row) string {
	m := strconv.Itoa(r.Iteration)
	if d := r.Detail.String(); d != "" {
		m += ", " + d
	}
	return m
}
