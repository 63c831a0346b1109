package main

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
)

// What explain says of determinization is what determinize does: a "y" ends with a machine, an "n"
// with an error of functionality, or not before a limit. Random machines with cycles, acceptors and
// transducers, over a semiring that is idempotent and one that is not.
func TestExplainKnowsWhatDeterminizeDoes(t *testing.T) {
	if testing.Short() {
		t.Skip("some hundred determinizations that do not end before a limit")
	}
	said := map[string]int{}
	for i := range uint64(3000) {
		rng := rand.New(rand.NewPCG(i, 7))
		arcType := []string{"standard", "log"}[rng.IntN(2)]
		m := drawModel(rng, arcType, traits{noEpsilon: rng.IntN(2) == 0})
		if i%20 == 0 { // two ways of one input, told apart by its end, with a cycle each
			w := func() float64 { return []float64{0, 0.5, 2}[rng.IntN(3)] }
			m = &model{arcType: arcType, finals: []float64{math.Inf(1), math.Inf(1), math.Inf(1), w()}}
			for q := 1; q <= 2; q++ {
				m.arcs = append(m.arcs, modelArc{from: 0, to: q, in: 1, out: 1, weight: w()},
					modelArc{from: q, to: q, in: 2, out: 2, weight: w()},
					modelArc{from: q, to: 3, in: fst.Label(2 + q), out: 1, weight: w()},
					modelArc{from: 3, to: rng.IntN(4), in: fst.Label(4 + q), out: 1, weight: w()})
			}
		}
		m.fstType, m.isyms, m.osyms = "vector", 0, 0
		file := m.encode()
		call := func(words ...string) (string, int) {
			var out, errs bytes.Buffer
			status := run(words, cli.Streams{In: bytes.NewReader(file), Out: &out, Err: &errs})
			return out.String() + errs.String(), status
		}
		text, status := call("fst", "explain")
		if status != 0 {
			t.Fatalf("machine %d: explain: %s\n%v", i, text, m)
		}
		_, verdict, _ := strings.Cut(text, "determinizable ")
		verdict, _, _ = strings.Cut(strings.TrimSpace(verdict), "\n")
		kind, _, _ := strings.Cut(verdict, " (")
		kind, _, _ = strings.Cut(kind, ", such as")
		said[kind]++
		if kind != "y" { // states that lead nowhere are no part of what is said
			connected, status := call("fst", "connect")
			if status != 0 {
				t.Fatalf("machine %d: connect: %s", i, connected)
			}
			file = []byte(connected)
		}
		got, status := call("fst", "determinize", "--limit_states=3000")
		ok := true
		switch kind {
		case "y", "y, once fst connect has removed what leads to no final state":
			ok = status == 0 || strings.Contains(got, "3000")
		case "n: not functional":
			ok = status == 1 && strings.Contains(got, "not functional")
		case "n: no twins property":
			ok = status == 1
		}
		if !ok {
			t.Errorf("machine %d: explain says %q, determinize has status %d: %q\n%v", i, verdict, status, got, m)
		}
	}
	t.Log(said)
	for _, kind := range []string{"y", "y, once fst connect has removed what leads to no final state",
		"n: not functional", "n: no twins property"} {
		if said[kind] < 20 {
			t.Errorf("%q was said %d times: the machines that are drawn are not those that this is about",
				kind, said[kind])
		}
	}
}

// flushes is a writer that keeps what was there when it was flushed.
type flushes struct {
	bytes.Buffer
	seen []string
}

func (f *flushes) Flush() error {
	f.seen = append(f.seen, f.String())
	return nil
}

// Answers are printed as soon as they are known, each question has its share of the time whatever
// those before it took, and one that does not come back is left behind when the time is over: what
// was known by then stays, and of the others it says why.
func TestExplainSharesTime(t *testing.T) {
	const all = 400 * time.Millisecond
	var out flushes
	begin := func() (*inquiry, context.CancelFunc) {
		out = flushes{}
		ctx, cancel := context.WithTimeout(context.Background(), all)
		return &inquiry{Limits: ops.Limits{Ctx: ctx}, leave: time.Now().Add(all + all/4),
			text: func(e *ops.LimitError) string { return "limit " + e.Limit }}, cancel
	}
	quick := func(ops.Limits) (string, error, error) { return "y", nil, nil }
	long := func(lim ops.Limits) (string, error, error) { // to the end of its time
		<-lim.Ctx.Done()
		return "", nil, &ops.LimitError{Op: "Twins", Limit: "context", Cause: lim.Ctx.Err()}
	}
	in, cancel := begin()
	defer cancel()
	late := errors.New("")
	open, err := in.report(&out, []question{{"one", long}, {"two", long},
		{"three", func(lim ops.Limits) (string, error, error) {
			late = lim.Ctx.Err()
			return "n", errors.New("ops: Twins: the proof"), nil
		}}})
	if want := "one not known: limit context\ntwo not known: limit context\nthree n\n    the proof\n"; err != nil || !errors.Is(open, context.DeadlineExceeded) || squeezed(out.String()) != want {
		t.Errorf("%v, %v:\n%s", open, err, out.String())
	}
	if late != nil {
		t.Errorf("no time is left for the last question: %v", late)
	}
	if len(out.seen) != 3 || squeezed(out.seen[0]) != "one not known: limit context\n" {
		t.Errorf("flushed: %q", out.seen)
	}

	in, cancel = begin()
	defer cancel()
	forever := make(chan bool)
	defer close(forever)
	open, err = in.report(&out, []question{{"one", quick},
		{"two", func(ops.Limits) (string, error, error) { <-forever; return "", nil, nil }}, {"three", quick}})
	if want := "one y\ntwo not known: the time was over (--timeout)\nthree not known: the time was over " +
		"(--timeout)\n"; err != nil || !errors.Is(open, context.DeadlineExceeded) ||
		squeezed(out.String()) != want {
		t.Errorf("%v, %v:\n%s", open, err, out.String())
	}

	in, cancel = begin()
	defer cancel()
	defer func() {
		var p *ops.WorkerPanic
		if err, _ := recover().(error); !errors.As(err, &p) || p.Value != "bug" {
			t.Errorf("a panic came as %v", err)
		}
	}()
	in.report(&out, []question{{"one", func(ops.Limits) (string, error, error) { panic("bug") }}})
}

// squeezed is text with one space for several, but at the beginnings of lines.
func squeezed(text string) string {
	return regexp.MustCompile(`(\S) +`).ReplaceAllString(text, "$1 ")
}
