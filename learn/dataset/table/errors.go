package table

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tropica-fst/tropica/learn/metrics"
)

// Reasons for which data are refused, for errors.Is.
var (
	ErrSyntax   = errors.New("not the form of a table")
	ErrValue    = errors.New("a value that cannot be used")
	ErrColumns  = errors.New("columns that do not fit")
	ErrTooLarge = errors.New("larger than the limit")
	ErrUseless  = errors.New("nothing can be learned from it")
)

// Error says what is wrong with a table, and where.
type Error struct {
	Name   string // of the input
	Line   int    // from 1; 0 when no line is meant, or there are none
	Row    int    // of the data, from 1 (the header is not a row); 0 when no row is meant
	Column string // name of the column; "" when no column is meant
	Msg    string // what is wrong
	Fixes  []Fix  // options that would help, one or the other of them
	Option string // of Options, where what it says is wrong; "" for all else
	Err    error  // one of the reasons above, or the reader's own error
}

// Fix is a field of Options that would have input read as it is meant.
type Fix struct {
	Option string // the field
	Value  string // what it should be
	And    []Fix  // other fields that are needed with it
	Effect string // what that does: "1,5 is then 1.5"; may be empty
}

// String names the field and the value.
func (f Fix) String() string {
	s := "Options." + f.Option + " " + quote(f.Value)
	for _, g := range f.And {
		s += " with " + g.String()
	}
	if f.Effect != "" {
		s += " (" + f.Effect + ")"
	}
	return s
}

// Advice lists fixes as say writes them. It omits those for which say returns "".
func Advice(fixes []Fix, say func(Fix) string) string {
	var parts []string
	for _, f := range fixes {
		if s := say(f); s != "" {
			parts = append(parts, s)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "; use " + strings.Join(parts, ", or ")
}

// Error describes what is wrong, with the fields of Options that would help.
func (e *Error) Error() string { return e.Text(Fix.String) }

// Text is Error with fixes as say writes them, such as flags of a command.
func (e *Error) Text(say func(Fix) string) string {
	var b strings.Builder
	b.WriteString(e.Name)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
		if e.Row > 0 {
			fmt.Fprintf(&b, " (row %d)", e.Row)
		}
	} else if e.Row > 0 {
		fmt.Fprintf(&b, ": row %d", e.Row)
	}
	if e.Column != "" {
		fmt.Fprintf(&b, ": column %s", quote(e.Column))
	}
	return b.String() + ": " + e.Msg + Advice(e.Fixes, say)
}

func (e *Error) Unwrap() error { return e.Err }

// quote shows text from the input, shortened and on one line.
func quote(s string) string {
	const most = 60
	if len(s) > most {
		n := most
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		return fmt.Sprintf("%q…", s[:n])
	}
	return fmt.Sprintf("%q", s)
}

// names lists names for a message, the first few of many.
func names(list []string) string {
	const most = 12
	var b strings.Builder
	for i, s := range list {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(list)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quote(s))
	}
	if len(list) == 0 {
		return "none"
	}
	return b.String()
}

// nearest returns the name that is spelt most like s, "" when none comes close:
// more than a third of the letters would have to change.
func nearest(s string, list []string) string {
	best, at := (len(s)+1)/3, ""
	if len(s) > 200 {
		return ""
	}
	low := strings.ToLower(s)
	for i, n := range list {
		if i == 10000 { // enough for a hint
			break
		}
		if len(n) > len(s)+best || len(n)+best < len(s) {
			continue
		}
		if d := metrics.EditDistance([]byte(low), []byte(strings.ToLower(n))); d <= best && (at == "" || d < best) {
			best, at = d, n
		}
	}
	return at
}
