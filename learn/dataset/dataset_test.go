package dataset_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/dataset"
)

func TestColumns(t *testing.T) {
	want := []dataset.Sentence{
		{Line: 2, Tokens: [][]string{{"The", "DT", "B"}, {"#", "é", "I"}}},
		{Line: 7, Tokens: [][]string{{"x", "y", "z"}}},
	}
	for name, in := range map[string]string{
		"blanks": "\nThe DT B\n# é I\n\n \t \nx y z\n\n",
		"CRLF":   "\r\nThe\tDT  B\r\n#\té\tI \r\n\r\n\r\n\r\nx \t y z",
		"BOM":    "\ufeff\n The DT B\n# é I\n\n\n\nx y z",
	} {
		for _, r := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in))} {
			want[1].Line = map[string]int{"blanks": 6, "CRLF": 7, "BOM": 7}[name]
			got, err := dataset.ReadColumns(r, name, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
	if got := want[0].Column(-1); !slices.Equal(got, []string{"B", "I"}) {
		t.Error(got)
	}
	got, err := dataset.ReadColumns(strings.NewReader("% note\na b\tc\n"), "tabs",
		&dataset.ColumnsOptions{Tabs: true, Comment: "%"})
	if err != nil || !slices.Equal(got[0].Tokens[0], []string{"a b", "c"}) {
		t.Errorf("%v, %v", got, err)
	}
	long := strings.Repeat("w", 300_000)
	got, err = dataset.ReadColumns(strings.NewReader("a b\n"+long+" c\n"), "long", nil)
	if err != nil || got[0].Tokens[1][0] != long {
		t.Errorf("long line: %v", err)
	}
}

func TestErrorsNameThePlace(t *testing.T) {
	columns := func(o *dataset.ColumnsOptions) func(io.Reader) error {
		return func(r io.Reader) error { _, err := dataset.ReadColumns(r, "f", o); return err }
	}
	conllu := func(r io.Reader) error { _, err := dataset.ReadCoNLLU(r, "f", nil); return err }
	pairs := func(r io.Reader) error {
		_, err := dataset.ReadTSV(r, "f", &dataset.TSVOptions{Fields: 2})
		return err
	}
	line := "1\ta\ta\tX\tX\t_\t0\troot\t_\t_\n"
	for _, x := range []struct {
		in           string
		read         func(io.Reader) error
		line, column int
	}{
		{"a b\nc\n", columns(nil), 2, 0},
		{"a b\n\nc d e\n", columns(nil), 3, 0},
		{"a b\n", columns(&dataset.ColumnsOptions{Columns: 3}), 1, 0},
		{"é\t\tb\n", columns(&dataset.ColumnsOptions{Tabs: true}), 1, 3},
		{"a b\né \xffc\n", columns(nil), 2, 3},
		{"a b\né d\rc e\n", columns(nil), 2, 4},
		{"a b\n" + strings.Repeat("x", 200), columns(&dataset.ColumnsOptions{MaxLine: 100}), 2, 0},
		{"a b\n" + strings.Repeat("x", 200_000), columns(&dataset.ColumnsOptions{MaxLine: 100_000}), 2, 0},
		{line + "3" + line[1:], conllu, 2, 1},
		{line + "2\tb\n", conllu, 2, 0},
		{line + "2\t\ta\tX\tX\t_\t0\troot\t_\t_\n", conllu, 2, 3},
		{line + "2-1" + line[1:], conllu, 2, 1},
		{line + "x.1" + line[1:], conllu, 2, 1},
		{line + "+2" + line[1:], conllu, 2, 1},
		{line + "0-1" + line[1:], conllu, 2, 1},
		{line + "2-" + line[1:], conllu, 2, 1},
		{line + "2-x" + line[1:], conllu, 2, 1},
		{line + "1.0" + line[1:], conllu, 2, 1},
		{line + "-1.1" + line[1:], conllu, 2, 1},
		{line + "1." + line[1:], conllu, 2, 1},
		{"a\tb\nc\n", pairs, 2, 0},
		{"a\tb\nc\td\te\n", pairs, 2, 0},
		{"ab\t\n", pairs, 1, 4},
	} {
		err := x.read(strings.NewReader(x.in))
		var s *dataset.SyntaxError
		if !errors.As(err, &s) || s.Line != x.line || s.Column != x.column || s.Name != "f" {
			t.Errorf("%.30q: %v, expected line %d, column %d", x.in, err, x.line, x.column)
		}
	}
	broken := errors.New("disk on fire")
	for _, read := range []func(io.Reader) error{columns(nil), conllu, pairs} {
		if err := read(io.MultiReader(strings.NewReader("a\tb\n"[:0]), iotest.ErrReader(broken))); !errors.Is(
			err, broken) {
			t.Errorf("reader's error: %v", err)
		}
	}
}

func TestCoNLLU(t *testing.T) {
	in := "# sent_id = 1\n1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n" +
		"1\tdo\tdo\tAUX\tVB\t_\t0\troot\t_\t_\n2\tn't\tnot\tPART\tRB\t_\t1\tadv\t_\t_\n2.1\tx\tx\tX\tX\t_\t_\t_\t1:x\t_\n\n\n" +
		"1\ta b\tc\tNOUN\tNN\t_\t0\troot\t_\t_"
	got, err := dataset.ReadCoNLLU(strings.NewReader(in), "f", nil)
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	if f := got[0].Column(dataset.Form); !slices.Equal(f, []string{"do", "n't"}) {
		t.Error(f)
	}
	if f := got[0].Column(dataset.UPOS); !slices.Equal(f, []string{"AUX", "PART"}) {
		t.Error(f)
	}
	if got[0].Line != 3 || got[1].Line != 8 || got[1].Tokens[0][dataset.Form] != "a b" {
		t.Errorf("%+v", got)
	}
}

// An empty node may stand before the first word (0.1), and a range may be of one word.
func TestCoNLLUSkipsNodesAndRanges(t *testing.T) {
	const rest = "\ta\ta\tX\tX\t_\t_\t_\t_\t_\n"
	in := "0.1" + rest + "1-1" + rest + "1" + rest + "1.1" + rest + "1.2" + rest + "2-3" + rest + "2" +
		rest + "3" + rest
	got, err := dataset.ReadCoNLLU(strings.NewReader(in), "f", nil)
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	if ids := got[0].Column(dataset.ID); !slices.Equal(ids, []string{"1", "2", "3"}) || got[0].Line != 3 {
		t.Errorf("words %q from line %d", ids, got[0].Line)
	}
}

func TestTSV(t *testing.T) {
	in := "word\tn\tnote\r\n; skipped\r\na\t1\t\r\n\r\nb\t2\tx y\r\n"
	got, err := dataset.ReadTSV(strings.NewReader(in), "f",
		&dataset.TSVOptions{Header: true, Comment: ";", Empty: true})
	want := []dataset.Record{{Line: 3, Fields: []string{"a", "1", ""}},
		{Line: 5, Fields: []string{"b", "2", "x y"}}}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func ExampleReadTSV() {
	rows, err := dataset.ReadTSV(strings.NewReader("hús\th uː s\nköttur\tcʰ œ h t ʏ r\n"), "icelandic.tsv", nil)
	if err != nil {
		fmt.Println(err)
	}
	for _, r := range rows {
		fmt.Println(r.Line, r.Fields[0], len(strings.Fields(r.Fields[1])))
	}
	_, err = dataset.ReadTSV(strings.NewReader("hús\th uː s\nköttur\n"), "icelandic.tsv", nil)
	fmt.Println(err)
	// Output:
	// 1 hús 3
	// 2 köttur 6
	// icelandic.tsv:2: 1 tab-separated fields, expected 2
}

func TestFolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, r := range []*rand.Rand{nil, rng} {
		folds, err := dataset.KFold(23, 5, r)
		if err != nil {
			t.Fatal(err)
		}
		var tested []int
		for _, f := range folds {
			if len(f.Test) < 4 || len(f.Test) > 5 || !slices.IsSorted(f.Train) || !slices.IsSorted(f.Test) {
				t.Errorf("%+v", f)
			}
			all := append(slices.Clone(f.Train), f.Test...)
			slices.Sort(all)
			if len(slices.Compact(all)) != 23 {
				t.Errorf("%+v does not cover", f)
			}
			tested = append(tested, f.Test...)
		}
		if slices.Sort(tested); len(slices.Compact(tested)) != 23 {
			t.Errorf("tested %v", tested)
		}
	}
	a, _ := dataset.KFold(23, 5, rand.New(rand.NewPCG(9, 1)))
	b, _ := dataset.KFold(23, 5, rand.New(rand.NewPCG(9, 1)))
	if diff := cmp.Diff(a, b); diff != "" {
		t.Error("the same seed gives other folds", diff)
	}
	if _, err := dataset.KFold(3, 4, nil); err == nil {
		t.Error("4 folds of 3 examples")
	}
	f, err := dataset.Split(10, 3, nil)
	if err != nil || !slices.Equal(f.Test, []int{7, 8, 9}) || len(f.Train) != 7 {
		t.Errorf("%+v, %v", f, err)
	}
	if got := dataset.Pick([]string{"a", "b", "c"}, []int{2, 0}); !slices.Equal(got, []string{"c", "a"}) {
		t.Error(got)
	}
}

// What a reader accepts, written again in its own form, reads back equal.
func FuzzReadColumns(f *testing.F) {
	f.Add("a b\nc d\n\ne f\n", false)
	f.Add("a\tb\r\n\r\n", true)
	f.Fuzz(func(t *testing.T, in string, tabs bool) {
		o := &dataset.ColumnsOptions{Tabs: tabs, MaxLine: 1000}
		got, err := dataset.ReadColumns(strings.NewReader(in), "f", o)
		if err != nil {
			return
		}
		var b strings.Builder
		b.WriteString("\n") // a byte order mark in the first token must stay
		for _, s := range got {
			for _, row := range s.Tokens {
				b.WriteString(strings.Join(row, "\t") + "\n")
			}
			b.WriteString("\n")
		}
		again, err := dataset.ReadColumns(strings.NewReader(b.String()), "f", o)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			got[i].Line, again[i].Line = 0, 0
		}
		if diff := cmp.Diff(got, again); diff != "" {
			t.Fatal(diff)
		}
	})
}

// What ReadCoNLLU accepts are the lines that a number alone begins, each sentence's in order and
// whole; written again, it reads back equal; ReadColumns reads the same of what is left when
// comments, ranges and nodes are.
func FuzzReadCoNLLU(f *testing.F) {
	f.Add("1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n1\ta\ta\tX\tX\t_\t0\troot\t_\t_\n\n")
	f.Add("# c\n1\ta\ta\tX\tX\t_\t0\troot\t_\t_\r\n1.1\tx\tx\tX\tX\t_\t_\t_\t1:x\t_\r\n")
	f.Fuzz(func(t *testing.T, in string) {
		got, err := dataset.ReadCoNLLU(strings.NewReader(in), "f", nil)
		if err != nil {
			return
		}
		var b strings.Builder
		b.WriteString("\n") // a byte order mark in the first field must stay
		for _, s := range got {
			if len(s.Tokens) == 0 {
				t.Fatal("an empty sentence")
			}
			for i, row := range s.Tokens {
				if n, err := strconv.Atoi(row[0]); len(row) != 10 || slices.Contains(row, "") || err != nil || n != i+1 {
					t.Fatalf("word %d: %q", i+1, row)
				}
				b.WriteString(strings.Join(row, "\t") + "\n")
			}
			b.WriteString("\n")
		}
		var kept strings.Builder
		for line := range strings.Lines(strings.TrimPrefix(in, "\ufeff")) {
			id, _, _ := strings.Cut(line, "\t")
			if line[0] != '#' && !strings.ContainsAny(id, "-.") {
				kept.WriteString(line)
			}
		}
		for text, read := range map[string]func(string) ([]dataset.Sentence, error){
			b.String(): func(s string) ([]dataset.Sentence,
				error) {
				return dataset.ReadCoNLLU(strings.NewReader(s), "f", nil)
			},
			"\n" + kept.String(): func(s string) ([]dataset.Sentence, error) {
				return dataset.ReadColumns(strings.NewReader(s), "f", &dataset.ColumnsOptions{Tabs: true})
			},
		} {
			again, err := read(text)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			for i := range again {
				again[i].Line = 0
			}
			want := slices.Clone(got)
			for i := range want {
				want[i].Line = 0
			}
			if diff := cmp.Diff(want, again); diff != "" {
				t.Fatalf("%q: %s", text, diff)
			}
		}
	})
}

// What ReadTSV accepts, written again, reads back equal.
func FuzzReadTSV(f *testing.F) {
	f.Add("a\tb\nc\td\r\n", false, false)
	f.Add("\ufeffw\tx y\n\n# z\t\n", true, true)
	f.Fuzz(func(t *testing.T, in string, header, empty bool) {
		o := &dataset.TSVOptions{Header: header, Empty: empty, MaxLine: 1000}
		got, err := dataset.ReadTSV(strings.NewReader(in), "f", o)
		if err != nil {
			return
		}
		var b strings.Builder
		if len(got) > 0 {
			b.WriteString("\n") // a byte order mark in the first field must stay
		}
		for _, r := range got {
			b.WriteString(strings.Join(r.Fields, "\t") + "\n")
		}
		again, err := dataset.ReadTSV(strings.NewReader(b.String()), "f",
			&dataset.TSVOptions{Empty: empty, MaxLine: 1000})
		if len(got) > 0 && len(got[0].Fields) == 1 && empty { // one empty field is a blank line
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(again) != len(got) {
			t.Fatalf("%d lines, then %d", len(got), len(again))
		}
		for i := range got {
			if !slices.Equal(got[i].Fields, again[i].Fields) {
				t.Fatalf("%q, then %q", got[i].Fields, again[i].Fields)
			}
		}
	})
}

// A line that is not text costs that line alone: those before and behind it come as they are.
func TestAllLines(t *testing.T) {
	const in = "\ufeffone\r\ntwo\xff\nth\x00ree\n\nfo\rur\nfive"
	type row struct {
		Line dataset.Line
		Err  string
	}
	var got []row
	for line, err := range dataset.AllLines(strings.NewReader(in), "x") {
		r := row{Line: line}
		if err != nil {
			r.Err = err.Error()
		}
		got = append(got, r)
	}
	want := []row{{dataset.Line{1, "one"}, ""},
		{dataset.Line{2, ""}, "x:2:4: byte 0xff is not UTF-8; convert the input first, as with iconv -f latin1 " +
			"-t utf-8"},
		{dataset.Line{3, ""}, "x:3:3: a NUL byte, which no text has"}, {dataset.Line{4, ""}, ""},
		{dataset.Line{5, ""}, "x:5:3: a carriage return inside the line; lines end in LF or CRLF"},
		{dataset.Line{6, "five"}, ""}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	long := strings.Repeat("a", dataset.DefaultMaxLine+1<<17)
	var lines []string
	wrong := 0
	for line, err := range dataset.AllLines(strings.NewReader("b\n"+long+"\nc\n"+long), "x") {
		if lines = append(lines, line.Text); err != nil {
			wrong++
		}
	}
	if diff := cmp.Diff([]string{"b", "", "c", ""}, lines); diff != "" || wrong != 2 {
		t.Errorf("%d lines are too long (-want +got):\n%s", wrong, diff)
	}
}
