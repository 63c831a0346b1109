package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// walk is the smallest learner: x moves half of the way to 1 in every step.
type walk struct {
	*Run
	x    float64
	kept float64 // x of the least held-out loss
	// Held-out losses by step; nil for none.
	valid []float64
	fail  func(step int) error
}

func (w *walk) train(c *Control) (Reason, error) {
	w.Run = Begin("walk", c, 8)
	k, err := w.Taken()
	if err != nil {
		return Interrupted, err
	}
	if k != nil {
		w.x, w.kept = k.X[0], k.Scalars["kept"]
	}
	return w.Loop(func() (*Row, Reason, error) {
		if w.fail != nil {
			if err := w.fail(w.Steps() + 1); err != nil {
				return nil, "", err
			}
		}
		if w.x == 1 {
			return nil, Exhausted, nil
		}
		w.x += (1 - w.x) / 2
		w.Evaluations++
		if w.valid != nil && w.Judge(w.Steps()+1, w.valid[w.Steps()]) {
			w.kept = w.x
		}
		return &Row{Objective: 1 - w.x}, "", nil
	}, func() (*Checkpoint, error) {
		return &Checkpoint{X: []float64{w.x}, Scalars: map[string]float64{"kept": w.kept}}, nil
	})
}

// history collects rows without their times.
func history(to *[]Row) Recorder {
	return RecorderFunc(func(r Row) error {
		r.Seconds, r.Rate = 0, 0
		*to = append(*to, r)
		return nil
	})
}

// A run that was interrupted after any step, written and read, goes on as if it had not been.
func TestResumedRunsRepeatTheUnbroken(t *testing.T) {
	valid := []float64{9, 5, 7, 4, 4, 6, 3, 8}
	var whole []Row
	unbroken := walk{valid: valid}
	if _, err := unbroken.train(&Control{Recorder: history(&whole), Problem: "walk to=1"}); err != nil {
		t.Fatal(err)
	}
	for stop := 1; stop < 8; stop++ {
		ctx, cancel := context.WithCancel(context.Background())
		var rows []Row
		var file bytes.Buffer
		saved := 0
		c := &Control{Ctx: ctx, Problem: "walk to=1", CheckpointEvery: 100,
			Recorder: Recorders(history(&rows), RecorderFunc(func(r Row) error {
				if r.Iteration == stop {
					cancel()
				}
				return nil
			})),
			Checkpoint: func(k *Checkpoint) error { saved++; return k.Write(&file) }}
		first := walk{valid: valid}
		reason, err := first.train(c)
		var interrupted *InterruptedError
		if reason != Interrupted || !errors.As(err, &interrupted) || interrupted.Steps != stop || !errors.Is(err, context.Canceled) || saved != 1 {
			t.Fatalf("stop %d: %v, %v, %d checkpoints", stop, reason, err, saved)
		}
		k, err := ReadCheckpoint(&file)
		if err != nil {
			t.Fatal(err)
		}
		second := walk{valid: valid}
		reason, err = second.train(&Control{Recorder: history(&rows), Problem: "walk to=1", Resume: k})
		if err != nil || reason != IterationLimit || second.x != unbroken.x || second.kept != unbroken.kept || second.Best != unbroken.Best {
			t.Errorf("stop %d: %v, %v; x %v, best %v, unbroken %v, %v", stop, reason, err, second.x, second.Best, unbroken.x, unbroken.Best)
		}
		if diff := cmp.Diff(whole, rows); diff != "" {
			t.Errorf("stop %d: rows (-unbroken +resumed):\n%s", stop, diff)
		}
		cancel()
	}
	if unbroken.Best.Step != 7 || unbroken.Best.Loss != 3 || unbroken.Best.Waited != 1 {
		t.Errorf("best %+v", unbroken.Best)
	}
}

func TestCheckpointOfAnotherRun(t *testing.T) {
	k := &Checkpoint{Solver: "walk", Problem: "walk to=1", Iteration: 3, X: []float64{0}}
	for _, c := range []struct {
		change func(*Checkpoint)
		want   string
	}{
		{func(k *Checkpoint) { k.Solver = "crawl" }, "it was written by crawl"},
		{func(k *Checkpoint) { k.Problem = "walk to=2" }, "its to is 2, here it is 1"},
		{func(k *Checkpoint) { k.Iteration = 9 }, "it has 9 steps already, and 8 are asked for"},
	} {
		other := *k
		c.change(&other)
		var w walk
		if _, err := w.train(&Control{Problem: "walk to=1", Resume: &other}); !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestLoopEnds(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		w      walk
		c      Control
		reason Reason
		steps  int
		err    error
	}{
		"limit":      {c: Control{Stop: Stop{Iterations: 5}}, reason: IterationLimit, steps: 5},
		"own limit":  {reason: IterationLimit, steps: 8},
		"patience":   {w: walk{valid: []float64{2, 1, 1, 3, 0, 0, 0, 0}}, c: Control{Stop: Stop{Patience: 2}}, reason: OutOfPatience, steps: 4},
		"time":       {c: Control{Stop: Stop{Time: 1}}, reason: TimeLimit, steps: 1},
		"exhausted":  {w: walk{x: 1}, reason: Exhausted, steps: 0},
		"error":      {w: walk{fail: func(step int) error { return map[int]error{3: broken}[step] }}, reason: Interrupted, steps: 2, err: broken},
		"recorder":   {c: Control{Recorder: RecorderFunc(func(r Row) error { return map[int]error{2: broken}[r.Iteration] })}, reason: Interrupted, steps: 2, err: broken},
		"checkpoint": {c: Control{CheckpointEvery: 4, Checkpoint: func(*Checkpoint) error { return broken }}, reason: Interrupted, steps: 4, err: broken},
	} {
		t.Run(name, func(t *testing.T) {
			reason, err := c.w.train(&c.c)
			if reason != c.reason || c.w.Steps() != c.steps || !errors.Is(err, c.err) {
				t.Errorf("%v after %d steps, error %v", reason, c.w.Steps(), err)
			}
		})
	}
}

func TestCheckpointsAreSavedOnTime(t *testing.T) {
	var at []int
	var w walk
	if _, err := w.train(&Control{CheckpointEvery: 3, Checkpoint: func(k *Checkpoint) error { at = append(at, k.Iteration); return nil }}); err != nil || !slices.Equal(at, []int{3, 6}) {
		t.Errorf("after %v, %v", at, err)
	}
}

func TestCheckpointFile(t *testing.T) {
	k := &Checkpoint{Solver: "walk", Problem: "a=1", Iteration: 4, Evaluations: 9, Seconds: 1.5, Best: &Best{0.25, 3, 1},
		X: []float64{1, math.Inf(1)}, Scalars: map[string]float64{"s": 0.1}, Arrays: map[string][]float64{"a": {2}}, Files: map[string][]byte{"model": []byte("bytes")}}
	var file bytes.Buffer
	if err := k.Write(&file); err != nil {
		t.Fatal(err)
	}
	got, err := ReadCheckpoint(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(k, got); diff != "" {
		t.Error(diff)
	}
	for n := range file.Len() {
		if _, err := ReadCheckpoint(bytes.NewReader(file.Bytes()[:n])); err == nil {
			t.Fatalf("a file cut after %d bytes was read", n)
		}
	}
}

// The time of what went before counts.
func TestTimeLimitOfAResumedRun(t *testing.T) {
	var w walk
	k := &Checkpoint{Solver: "walk", Iteration: 2, Seconds: 3600, X: []float64{0.75}}
	if reason, err := w.train(&Control{Resume: k, Stop: Stop{Time: time.Minute}}); reason != TimeLimit || err != nil || w.Steps() != 3 {
		t.Errorf("%v, %v after %d steps", reason, err, w.Steps())
	}
}

func ExampleRun_Loop() {
	x := 16.0
	r := Begin("halving", &Control{Recorder: RecorderFunc(func(r Row) error {
		fmt.Println(r.Iteration, r.Objective)
		return nil
	})}, 100)
	reason, err := r.Loop(func() (*Row, Reason, error) {
		if x /= 2; x < 2 {
			return &Row{Objective: x}, ImprovementSmall, nil
		}
		return &Row{Objective: x}, "", nil
	}, func() (*Checkpoint, error) { return &Checkpoint{X: []float64{x}}, nil })
	fmt.Println(reason, err)
	// Output:
	// 1 8
	// 2 4
	// 3 2
	// 4 1
	// improvement small <nil>
}
