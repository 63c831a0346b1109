// Package progress shows on a terminal how far a run is, and writes its history
// as CSV.
//
// A Bar is one line of standard error, and exists only when that is a terminal that can move its
// cursor. Elsewhere a Bar is nil, and its methods do nothing.
package progress

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"github.com/tropica-fst/tropica/learn/run"
)

// Bar is a line with a bar, a percentage, the time since Start and a message. The line fits a
// terminal of any width, and is removed by Stop.
type Bar struct {
	w     io.Writer
	width func() int // of the terminal, in columns
	begin time.Time
	once  sync.Once
	end   chan struct{} // closed by Stop
	done  chan struct{} // closed when nothing will be written any more

	mu           sync.Mutex
	message      string
	value, total int // total is 0 where it is not known
}

// Start draws a bar on w if it is a terminal, and returns nil otherwise. Stop
// must be called before anything else is written there.
func Start(w io.Writer, message string) *Bar {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return start(f, func() int {
		width, _, err := term.GetSize(int(f.Fd()))
		if err != nil || width <= 0 {
			return 80
		}
		return width
	}, message)
}

func start(w io.Writer, width func() int, message string) *Bar {
	b := &Bar{w: w, width: width, message: message, begin: time.Now(), end: make(chan struct{}),
		done: make(chan struct{})}
	go func() {
		defer close(b.done)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		drawn := ""
		for {
			if line := b.line(time.Since(b.begin)); line != drawn {
				fmt.Fprint(b.w, "\r"+line+eraseRight)
				drawn = line
			}
			select {
			case <-tick.C:
			case <-b.end:
				fmt.Fprint(b.w, "\r"+eraseRight)
				return
			}
		}
	}()
	return b
}

// eraseRight makes a terminal clear the line from the cursor on.
const eraseRight = "\x1b[K"

// line is what the bar shows after some time. It leaves the last column free: a full line would
// move the cursor on.
func (b *Bar) line(since time.Duration) string {
	b.mu.Lock()
	message, value, total := b.message, b.value, b.total
	b.mu.Unlock()
	line := since.Truncate(time.Second).String() + " " + strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, message)
	room := b.width() - 1
	if total > 0 {
		share := min(1, float64(value)/float64(total))
		line = fmt.Sprintf("%3d%% %s", int(100*share), line)
		// The bar goes first where there is no room for all.
		if cells := min(20, room-text.StringWidth(line)-3); cells >= 8 {
			full := int(share * float64(cells))
			line = "[" + strings.Repeat("#", full) + strings.Repeat(".", cells-full) + "] " + line
		}
	}
	if text.StringWidth(line) > room {
		line = text.Trim(line, max(0, room))
	}
	return line
}

// Set moves the bar to value out of total, with a message.
func (b *Bar) Set(value, total int, format string, args ...any) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.value, b.total, b.message = value, total, fmt.Sprintf(format, args...)
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

// Stop clears the line and gives the terminal back.
func (b *Bar) Stop() {
	if b == nil {
		return
	}
	b.once.Do(func() { close(b.end) })
	<-b.done
}

// Training returns a Recorder that shows an optimiser's rows: iteration,
// objective, largest gradient entry, examples a second, and about how long it
// will still take. stop is the rule that the solver was given.
func (b *Bar) Training(name string, stop run.Stop) run.Recorder { return b.TrainingUntil(name, &stop) }

// TrainingUntil is Training for a rule that is known only when a stage begins: stop is read at its
// first row.
func (b *Bar) TrainingUntil(name string, stop *run.Stop) run.Recorder {
	var e *estimate
	var first *run.Row
	return run.RecorderFunc(func(r run.Row) error {
		if b == nil {
			return nil
		}
		if first == nil || first.Stage != r.Stage { // a stage counts from its own beginning
			first, e = &r, newEstimate(*stop)
		}
		e.add(r)
		left := e.left()
		message := fmt.Sprintf("%s: iteration %d, objective %.6g, gradient %.2g", name, r.Iteration,
			r.Objective, r.GradNorm)
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
			message += fmt.Sprintf(", about %v left", time.Duration(
				each*float64(left)*float64(time.Second)).Round(time.Second))
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
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.message = message; r.Evaluations > 0 {
			b.message += fmt.Sprintf(", %d evaluations", r.Evaluations)
		}
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
