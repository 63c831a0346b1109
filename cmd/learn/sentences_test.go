package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/sequence"
)

// Parts of an input are those of the whole: the same sentences, lines and text, however
// the input comes in.
func TestEachPartIsTheWhole(t *testing.T) {
	var columnsText, conlluText strings.Builder
	for k := range 6000 {
		fmt.Fprintf(&columnsText, "w%d\tT\nv  X\r\n%s\n", k, strings.Repeat(" \n", k%3))
		fmt.Fprintf(&conlluText,
			"# %d\n1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n1\ta%d\t_\tX\t_\t_\t_\t_\t_\t_\n2\tb\t_\tY\t_\t_\t_\t_\t_\t_\n\n",
			k, k)
	}
	for format, text := range map[string]string{columns: "\ufeff" + columnsText.String() + "end Z",
		conllu: conlluText.String()} {
		want, err := parse(strings.NewReader(text), "x", format, false)
		if err != nil {
			t.Fatal(err)
		}
		for name, in := range map[string]io.Reader{"at once": strings.NewReader(text),
			"in pieces": &pieces{text: text, size: 997}} {
			c := &call{ctx: context.Background(), Streams: cli.Streams{In: in}}
			s := &sentences{format: &format, label: new(string)}
			var list []dataset.Sentence
			var whole bytes.Buffer
			parts := 0
			err := s.eachPart(c, "", &wrongLines{}, func(u *unlabelled) error {
				parts++
				list = append(list, u.list...)
				whole.Write(u.text)
				return nil
			})
			if err != nil || parts < 2 {
				t.Fatalf("%s %s: %d parts, %v", format, name, parts, err)
			}
			if whole.String() != text {
				t.Errorf("%s %s: the text has changed", format, name)
			}
			if len(list) != len(want) {
				t.Fatalf("%s %s: %d sentences, should be %d", format, name, len(list), len(want))
			}
			for k := range list {
				if list[k].Line != want[k].Line || fmt.Sprint(list[k].Column(1)) != fmt.Sprint(want[k].Column(1)) {
					t.Fatalf("%s %s: sentence %d is %v, should be %v", format, name, k, list[k], want[k])
				}
			}
			bad := text + "\n\none\n"
			lines := strings.Count(bad, "\n")
			c.In = strings.NewReader(bad)
			if err := s.eachPart(c, "", &wrongLines{}, func(*unlabelled) error { return nil }); err == nil ||
				!strings.Contains(err.Error(), fmt.Sprintf("standard input:%d: ", lines)) {
				t.Errorf("%s: a bad last line: %v, should be of line %d", format, err, lines)
			}
		}
	}
}

type pieces struct {
	text string
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	n := copy(b[:min(len(b), p.size)], p.text)
	p.text = p.text[n:]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// What was read so far is answered before more comes.
func TestPredictStreams(t *testing.T) {
	dir := t.TempDir()
	data, model := filepath.Join(dir, "d"), filepath.Join(dir, "m")
	if err := os.WriteFile(data, []byte("a X\nb Y\n\nb Y\na X\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	if execute(context.Background(), []string{"sequence", "train", data, "--model", model},
		cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &errs}) != 0 {
		t.Fatal(errs.String())
	}
	in, feed := io.Pipe()
	answers, out := io.Pipe()
	done := make(chan int)
	go func() {
		status := execute(context.Background(), []string{"sequence", "predict", "--model", model},
			cli.Streams{In: in, Out: out, Err: &errs})
		out.Close()
		done <- status
	}()
	for range 3 {
		fmt.Fprint(feed, "a\nb\n\n")
		got := make(chan string)
		go func() {
			b := make([]byte, 9)
			io.ReadFull(answers, b)
			got <- string(b)
		}()
		select {
		case s := <-got:
			if s != "a X\nb Y\n\n" {
				t.Fatalf("%q", s)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("no answer before the input ended")
		}
	}
	feed.Close()
	io.Copy(io.Discard, answers)
	if status := <-done; status != 0 {
		t.Fatal(errs.String())
	}
}

// An interrupt ends a decoding that takes long.
func TestMinRiskStops(t *testing.T) {
	dir := t.TempDir()
	data, model, long := filepath.Join(dir, "d"), filepath.Join(dir, "m"), filepath.Join(dir, "l")
	for name, text := range map[string]string{data: "a X\nb Y\n\nb Y\na X\n",
		long: strings.Repeat("a\nb\nc\n", 60)} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var errs bytes.Buffer
	if execute(context.Background(), []string{"sequence", "train", data, "--model", model},
		cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &errs}) != 0 {
		t.Fatal(errs.String())
	}
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	begin := time.Now()
	status := execute(ctx, []string{"sequence", "predict", long, "--model", model, "--decode", "min-risk",
		"--loss", "edit", "--list", "5000"}, cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &errs})
	if status != 1 || !strings.Contains(errs.String(), "interrupted") || time.Since(begin) > 20*time.Second {
		t.Errorf("status %d after %v: %s", status, time.Since(begin), errs.String())
	}
}

// Which model is right where, and by how much, stays with the model.
func TestAgainst(t *testing.T) {
	words := func(s string) []string { return strings.Fields(s) }
	var examples []sequence.Example
	var first, second [][]string
	for _, x := range []struct{ truth, a, b string }{
		{"A B A B", "A B A B", "B A B A"}, // only a right; positions 4 wrong, edits 2
		{"A A", "A A", "A B"},             // only a right
		{"B B", "B A", "B B"},             // only b right
		{"A B A B", "B A B A", "A A B B"}, // both wrong
		{"A", "A", "A"},
	} {
		examples = append(examples, sequence.Example{Labels: words(x.truth)})
		first, second = append(first, words(x.a)), append(second, words(x.b))
	}
	a, b := count(first, examples), count(second, examples)
	s := newEvalScore("b", b, false)
	s.against("a", b, a)
	v := s.Versus[0]
	if v.Fixed != 1 || v.Broken != 2 || v.Model != "a" {
		t.Errorf("b against a fixes %d and breaks %d, should be 1 and 2", v.Fixed, v.Broken)
	}
	test := func(x, y []float64) metrics.Maybe {
		r, err := metrics.PairedT(x, y)
		if err != nil {
			t.Fatal(err)
		}
		return r.P
	}
	positions := test([]float64{4, 1, 0, 2, 0}, []float64{0, 0, 1, 4, 0})
	edits := test([]float64{2, 1, 0, 2, 0}, []float64{0, 0, 1, 2, 0})
	if v.TokensP != positions || v.EditsP != edits || positions == edits {
		t.Errorf("p %v of positions and %v of edits, should be %v and %v", v.TokensP, v.EditsP, positions, edits)
	}
	if s.TokenError != 100*7.0/13 || s.SequenceError != 60 {
		t.Errorf("%+v", s)
	}
	var flagsOf decoder
	flagsOf.define(flags.New()) // flags of decoding do not collide
}

// Models that do not say what they were trained on, as older files, take any columns that
// their templates find.
func TestPredictOlderModel(t *testing.T) {
	templates, err := sequence.ParseTemplates(strings.NewReader("U0:%x[0,0]\n"), "t")
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := sequence.Train([]sequence.Example{
		{Input: sequence.Input{Columns: [][]string{{"a"}, {"b"}}}, Labels: []string{"X", "Y"}}},
		&sequence.TrainOptions{Templates: templates})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "m")
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{"a\nb\n": "a X\nb Y\n", "a 1 2\nb 3 4\n": "a 1 2 X\nb 3 4 Y\n"} {
		var out, errs bytes.Buffer
		if execute(context.Background(), []string{"sequence", "predict", "--model", name},
			cli.Streams{In: strings.NewReader(in), Out: &out, Err: &errs}) != 0 || out.String() != want {
			t.Errorf("%q became %q: %s", in, out.String(), errs.String())
		}
	}
}

// A wrong byte costs its sentence alone, in every form, and lines keep their numbers.
func TestWrongBytes(t *testing.T) {
	row := func(format, word string) string {
		if format == conllu {
			return "1\t" + word + "\t_\tX\t_\t_\t_\t_\t_\t_\n"
		}
		return word + "\tX\n"
	}
	for _, format := range []string{columns, tabs, conllu} {
		text := row(format, "one") + "\n" + row(format, "t\xffo") + row(format, "three") + "\n" +
			row(format, "fo\x00r") +
			"\n\n" + row(format, "five")
		want := row(format, "one") + "\n\n\n\n\n\n\n" + row(format, "five")
		c := &call{ctx: context.Background(), Streams: cli.Streams{In: strings.NewReader(text)}}
		s := &sentences{format: &format, label: new(string)}
		wrong := wrongLines{what: "lines"}
		var whole strings.Builder
		var lines []int
		err := s.eachPart(c, "", &wrong, func(u *unlabelled) error {
			whole.Write(u.text)
			for k := range u.list {
				lines = append(lines, u.list[k].Line)
			}
			return nil
		})
		if err != nil || whole.String() != want || fmt.Sprint(lines) != "[1 9]" {
			t.Errorf("%s: sentences at lines %v of %q, should be of %q (%v)", format, lines, whole.String(), want, err)
		}
		err = wrong.err()
		if err == nil || !strings.Contains(err.Error(), "standard input:3:") ||
			!strings.Contains(err.Error(), "standard input:6:") ||
			wrong.n != 2 {
			t.Errorf("%s: what is wrong is %v", format, err)
		}
	}
}
