package progress

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/tropica-fst/tropica/learn/optim/saddle"
	"github.com/tropica-fst/tropica/learn/run"
)

// A value that falls by a tenth of its distance to 1 in each iteration meets the
// rule at a known one, and the estimate is near it long before.
func TestEstimate(t *testing.T) {
	stop := run.Stop{Iterations: 1000, Relative: 1e-6, Window: 5}
	f := func(k int) float64 { return 1 + 100*math.Pow(0.9, float64(k)) }
	end := 5
	for (f(end-5)-f(end))/f(end) > stop.Relative {
		end++
	}
	e := newEstimate(stop)
	for k := range end {
		e.add(run.Row{Iteration: k, Objective: f(k)})
		if k > end/2 {
			if got := k + e.left(); got < end-20 || got > end+20 {
				t.Errorf("at iteration %d the end is guessed at %d, it is at %d", k, got, end)
			}
		}
	}
	e.add(run.Row{Iteration: 2000})
	if got := e.left(); got != 0 {
		t.Errorf("%d iterations left beyond the limit", got)
	}
}

// A value that rises is not about to settle.
func TestEstimateOfARise(t *testing.T) {
	e := newEstimate(run.Stop{Iterations: 1000, Relative: 1e-6, Window: 5})
	for k := range 20 {
		e.add(run.Row{Iteration: k, Objective: 100 + float64(k%3) + float64(k)})
	}
	if got := e.left(); got < 100 {
		t.Errorf("%d iterations left of a run that rises", got)
	}
}

// screen is a terminal of some columns: it knows what Bar writes, and fails on what would leave the
// line.
type screen struct {
	mu      sync.Mutex
	t       *testing.T
	columns int
	line    []rune
	at      int
	shown   int // longest line so far
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for text := []rune(string(p)); len(text) > 0; {
		switch {
		case text[0] == '\r':
			s.at = 0
			text = text[1:]
		case strings.HasPrefix(string(text), "\x1b[K"):
			s.line = s.line[:min(s.at, len(s.line))]
			text = text[3:]
		case text[0] < ' ':
			s.t.Errorf("%q is written to the terminal", text[0])
			return len(p), nil
		default:
			s.line = append(s.line[:min(s.at, len(s.line))],
				append([]rune{text[0]}, s.line[min(s.at+1, len(s.line)):]...)...)
			s.at++
			text = text[1:]
		}
		if s.shown = max(s.shown, len(s.line)); s.at >= s.columns {
			s.t.Errorf("column %d of %d is reached with %q", s.at, s.columns, string(s.line))
			return len(p), nil
		}
	}
	return len(p), nil
}

// The line fits any terminal, and is gone at the end.
func TestBarFits(t *testing.T) {
	for columns := 1; columns <= 200; columns++ {
		s := &screen{t: t, columns: columns}
		b := start(s, func() int { return columns }, "a message\nthat has\ttwo lines")
		for b.Set(0, 0, "begun"); ; time.Sleep(time.Millisecond) {
			s.mu.Lock()
			shown := s.shown
			s.mu.Unlock()
			if shown > 0 || columns == 1 {
				break
			}
		}
		for _, c := range [][2]int{{0, 0}, {0, 10}, {5, 10}, {10, 10}, {12, 10}} {
			b.Set(c[0], c[1], "round %d, a message of some length, with 日本語 in it, about 3m0s left, and more of it "+
				"to be cut off", c[0])
			line := b.line(83*time.Second + 999*time.Millisecond)
			if w := text.StringWidth(line); w >= columns {
				t.Errorf("%d columns: %q has %d", columns, line, w)
			}
			if strings.Contains(line, "???") || columns > 60 && !strings.Contains(line, " 1m23s round") &&
				!strings.HasPrefix(line, "1m23s round") {
				t.Errorf("%d columns: %q", columns, line)
			}
			if want := fmt.Sprintf("%d%% 1m23s", min(100, 10*c[0])); columns > 60 && c[1] > 0 &&
				!strings.Contains(line, want) {
				t.Errorf("%d columns: %q lacks %q", columns, line, want)
			}
		}
		b.Stop()
		b.Stop()
		if len(s.line) > 0 || s.at > 0 {
			t.Errorf("%d columns: the bar leaves %q behind", columns, string(s.line))
		}
	}
}

func TestBar(t *testing.T) {
	if Start(io.Discard, "x") != nil {
		t.Error("a bar on what is no terminal")
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if Start(null, "x") != nil {
		t.Error("a bar on the null device")
	}
	var none *Bar
	none.Set(1, 2, "x")
	if err := none.Training("x", run.Stop{}).Record(run.Row{}); err != nil {
		t.Error(err)
	}
	none.Counter()(3, "x")
	none.Stop()

	b := start(io.Discard, func() int { return 200 }, "begin")
	r := b.Training("edit", run.Stop{Iterations: 10, Relative: 1e-5})
	for k := range 3 {
		if err := r.Record(run.Row{Iteration: k, Objective: 12.5, GradNorm: 0.25, Rate: 777,
			Seconds: float64(k)}); err != nil {
			t.Fatal(err)
		}
	}
	b.Stop()
	got := b.line(0)
	for _, want := range []string{"edit: iteration 2", "objective 12.5", "gradient 0.25", "777 examples/s",
		"about 8s left"} {
		if !strings.Contains(got, want) {
			t.Errorf("the bar lacks %q:\n%s", want, got)
		}
	}
}

func TestBarOfStages(t *testing.T) {
	b := start(io.Discard, func() int { return 200 }, "begin")
	r := b.Training("almo", run.Stop{Iterations: 10})
	for k := range 5 {
		if err := r.Record(run.Row{Stage: "gda", Iteration: 10 + k, Seconds: float64(100 * k),
			Detail: &saddle.Row{}}); err != nil {
			t.Fatal(err)
		}
	}
	// Each stage has an estimate of its own, and a name.
	game := func(k int) run.Row {
		return run.Row{Stage: "hinge alone: gda", Iteration: k, Seconds: float64(k),
			Detail: &saddle.Row{Names: []string{"hinge"}, Values: []float64{0.5}, Lambda: []float64{1},
				Upper: math.Inf(1)}}
	}
	for k := range 3 {
		if err := r.Record(game(k)); err != nil {
			t.Fatal(err)
		}
	}
	b.Stop()
	if got := b.line(0); !strings.Contains(
		got, "almo: hinge alone: gda 2, hinge 0.5000 (λ 1.00), about 8s left") {
		t.Error(got)
	}
}

func TestCounter(t *testing.T) {
	b := start(io.Discard, func() int { return 200 }, "begin")
	done := b.Counter()
	for k := range 3 {
		done(4, "fold %d", k+1)
	}
	b.Stop()
	if got := b.line(0); !strings.Contains(got, "fold 3, about 0s left") {
		t.Error(got)
	}
}

func TestCSV(t *testing.T) {
	var out bytes.Buffer
	r := CSV(&out, nil)
	for k := range 2 {
		if err := r.Record(run.Row{Iteration: k, Objective: 0.1, Evaluations: 3}); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(rows) != 3 || rows[0][1] != "objective" || rows[2][0] != "1" || rows[2][1] != "0.1" ||
		rows[2][4] != "3" {
		t.Errorf("%v (%v)", rows, err)
	}
}

// A history goes on from its checkpoint: rows before it stay, later ones are dropped.
func TestCSVGoesOn(t *testing.T) {
	record := func(earlier io.Reader, rows ...run.Row) (string, error) {
		var out bytes.Buffer
		r := CSV(&out, earlier)
		for _, row := range rows {
			if err := r.Record(row); err != nil {
				return "", err
			}
		}
		return out.String(), nil
	}
	row := func(stage string, k int) run.Row {
		return run.Row{Stage: stage, Iteration: k, Objective: 100 - float64(k)}
	}
	all := []run.Row{row("", 0), row("", 1), row("", 2), row("", 3)}
	whole, _ := record(nil, all...)
	for _, c := range [][]run.Row{all, all[1:], all[2:], all[3:]} {
		if got, err := record(strings.NewReader(whole), c...); err != nil || got != whole {
			t.Errorf("from %v: %q, %v", c[0], got, err)
		}
	}
	if got, err := record(strings.NewReader(""), all...); err != nil || got != whole {
		t.Errorf("after an empty history: %q, %v", got, err)
	}
	staged := []run.Row{row("a", 0), row("a", 1), row("a", 2), row("b", 0), row("b", 1)}
	whole, _ = record(nil, staged...)
	for i := range staged {
		if got, err := record(strings.NewReader(whole), staged[i:]...); err != nil || got != whole {
			t.Errorf("from %v: %q, %v", staged[i], got, err)
		}
	}
	for _, bad := range []string{"a,b\n", whole, strings.Join(csvHeader, ",") + "\nx,1,1,1,1,1,1\n", "\"",
		strings.Replace(strings.Join(csvHeader, ","), "step", "leap", 1) + "\n"} {
		if got, err := record(strings.NewReader(bad), all...); err == nil {
			t.Errorf("%q was taken for a history: %q", bad, got)
		}
	}
}
