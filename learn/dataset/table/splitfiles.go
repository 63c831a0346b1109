package table

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// ReadTrials reads a file of trials. Line i is row i and has one character for each trial: "-"
// where it is a test row, else its inner fold, 0 to 9. Lines that begin with # are comments. It may
// be compressed with gzip. rows, unless negative, is how many there must be.
func ReadTrials(r io.Reader, name string, rows int) ([]Trial, error) {
	in, err := open(r, name)
	if err != nil {
		return nil, err
	}
	var trials []Trial
	row := 0
	err = eachLine(in, name, func(line int, text []byte) error {
		if bytes.HasPrefix(text, []byte{'#'}) {
			return nil
		}
		if row == 0 {
			if len(text) > 1<<16 {
				return &Error{Name: name, Line: line, Msg: "too many trials", Err: ErrTooLarge}
			}
			trials = make([]Trial, len(text))
		}
		if err := addToTrials(trials, text, row); err != "" {
			return &Error{Name: name, Line: line, Msg: err, Err: ErrSyntax}
		}
		row++
		return nil
	})
	if err != nil {
		return nil, err
	}
	return trials, checkTrials(trials, name, row, rows)
}

func addToTrials(trials []Trial, text []byte, row int) string {
	if len(text) != len(trials) || len(text) == 0 {
		return fmt.Sprintf("%d characters where there should be one for each of %d trials", len(text), len(trials))
	}
	for k, c := range text {
		t := &trials[k]
		switch {
		case c == '-':
			t.Test = append(t.Test, row)
		case c-'0' <= 9:
			t.Train, t.Inner = append(t.Train, row), append(t.Inner, int(c-'0'))
		default:
			return fmt.Sprintf("%q is neither - nor a digit", c)
		}
	}
	return ""
}

func checkTrials(trials []Trial, name string, got, rows int) error {
	if got == 0 {
		return &Error{Name: name, Msg: "there are no rows", Err: ErrUseless}
	}
	if rows >= 0 && got != rows {
		return &Error{Name: name, Msg: fmt.Sprintf("%d rows, but the table has %d", got, rows), Err: ErrColumns}
	}
	for k, t := range trials {
		if len(t.Test) == 0 || len(t.Train) == 0 {
			return &Error{Name: name, Msg: fmt.Sprintf("trial %d has %d rows to train on and %d to test on", k+1,
				len(t.Train), len(t.Test)), Err: ErrUseless}
		}
	}
	return nil
}

// SourceSplits is the contents of a file of several sources. For each row of the data set it says
// which source the row is from, and where the row is found.
type SourceSplits struct {
	Source []int // 1, 2, ...; 0: the row is not used
	Label  []int // +1 or -1
	File   []string
	Row    []int // in that file, from 0
	// Fold is by name of the column: "fold", "fold_sub". -1: the row is not used. Trial
	// t tests on fold t and trains on the others.
	Fold map[string][]int
	// Trials is the content of a column "trials", as in ReadTrials, except for rows of source 0,
	// which are excluded.
	Trials []Trial
}

// ReadSourceSplits reads a table of tab-separated values with the columns source,
// label, file, row, any that begin with fold, and perhaps trials. Lines that begin
// with ## are comments. It may be compressed.
func ReadSourceSplits(r io.Reader, name string) (*SourceSplits, error) {
	in, err := open(r, name)
	if err != nil {
		return nil, err
	}
	s := &SourceSplits{Fold: map[string][]int{}}
	var head []string
	files := map[string]string{} // one copy of each name
	err = eachLine(in, name, func(line int, text []byte) error {
		if bytes.HasPrefix(text, []byte("##")) {
			return nil
		}
		fail := func(column, format string, args ...any) error {
			return &Error{Name: name, Line: line, Column: column, Msg: fmt.Sprintf(format, args...), Err: ErrSyntax}
		}
		fields := strings.Split(string(text), "\t")
		if head == nil {
			head = fields
			for _, must := range []string{"source", "label", "file", "row"} {
				if !slices.Contains(head, must) {
					return fail("", "there is no column %q (the columns are %s)", must, names(head))
				}
			}
			return nil
		}
		if len(fields) != len(head) {
			return fail("", "%d fields where there should be %d", len(fields), len(head))
		}
		row := len(s.Source)
		for k, f := range fields {
			column := head[k]
			if column == "file" {
				if _, ok := files[f]; !ok {
					files[f] = strings.Clone(f)
				}
				s.File = append(s.File, files[f])
				continue
			}
			if column == "trials" {
				if row == 0 {
					s.Trials = make([]Trial, len(f))
				}
				if msg := addToTrials(s.Trials, []byte(f), row); msg != "" {
					return fail(column, "%s", msg)
				}
				continue
			}
			fold := strings.HasPrefix(column, "fold")
			n, err := strconv.Atoi(f)
			if fold && f == "-" {
				n, err = -1, nil
			}
			if err != nil || n < -1 || n < 0 && !fold && column != "label" || n > 1<<30 {
				return fail(column, "%s cannot be", quote(f))
			}
			switch {
			case fold:
				if n > 1<<16 {
					return fail(column, "%s cannot be", quote(f))
				}
				s.Fold[column] = append(s.Fold[column], n)
			case column == "source":
				s.Source = append(s.Source, n)
			case column == "row":
				s.Row = append(s.Row, n)
			case column == "label":
				if n != 1 && n != -1 {
					return fail(column, "%s is neither +1 nor -1", quote(f))
				}
				s.Label = append(s.Label, n)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(s.Source) == 0 {
		return nil, &Error{Name: name, Msg: "there are no rows", Err: ErrUseless}
	}
	for k := range s.Trials {
		s.Trials[k] = s.Trials[k].without(func(i int) bool { return s.Source[i] == 0 })
	}
	return s, nil
}

// without leaves rows out.
func (t Trial) without(out func(row int) bool) Trial {
	var u Trial
	for k, i := range t.Train {
		if !out(i) {
			u.Train = append(u.Train, i)
			if t.Inner != nil {
				u.Inner = append(u.Inner, t.Inner[k])
			}
		}
	}
	for _, i := range t.Test {
		if !out(i) {
			u.Test = append(u.Test, i)
		}
	}
	return u
}

// eachLine calls f with every line that is not empty.
func eachLine(in *bufio.Reader, name string, f func(line int, text []byte) error) error {
	s := bufio.NewScanner(in)
	s.Buffer(nil, 1<<20)
	line := 0
	for s.Scan() {
		line++
		text := bytes.TrimSuffix(s.Bytes(), []byte{'\r'})
		if len(text) == 0 {
			continue
		}
		if err := f(line, text); err != nil {
			return err
		}
	}
	if err := s.Err(); err != nil {
		return &Error{Name: name, Line: line + 1, Msg: "reading: " + err.Error(), Err: err}
	}
	return nil
}
